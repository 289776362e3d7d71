/*
 * agent.h - system calls and small helpers for all programs but the daemon: see
 * agent.c.
 */
#ifndef AGENT_H
#define AGENT_H

#include "ctlfile.h"

/* OpenBSD's calls by which a process gives up system calls and paths. */
#ifndef HAVE_PLEDGE
#define pledge(promises, later) 0
#define unveil(path, rights) ((void)(path))
#endif

/* Writes a process number as the six bytes of a lock, which ctlfile.c reads. */
void	lock_print(char field[7], long pid);
/* Sets our fcntl lock on the control file of a job, on the LOCK_BYTE of our
 * process number; ctlfile.c tests for it.  Closing any descriptor of the file
 * ends the lock.  0, or -1 with errno: another process has the lock, or there
 * are no locks. */
#define lock_set(fd) \
	fd_lock_at(fd, F_SETLK, F_WRLCK, LOCK_BYTE((long)getpid()))
/* Locks, without waiting, LOCK_BYTE(0), the byte of no process: the guard that
 * an agent has while it locks recipients.  With on 0, unlocks that byte.  0, or
 * -1 with errno; EACCES and EAGAIN mean that another process has the guard. */
#define lock_guard(fd, on) \
	fd_lock_at(fd, F_SETLK, (on) ? F_WRLCK : F_UNLCK, LOCK_BYTE(0))

/* Waits at most that many seconds, and at most an hour, until fd can be read,
 * or, if writing is 1, can be written.  With fd -1, there is no descriptor to
 * wait for.  WAIT_FAILED sets errno, to EINTR after a signal. */
enum wait_result { WAIT_FAILED = -1, WAIT_TIMEOUT, WAIT_READY };
enum wait_result fd_wait(int fd, int writing, double seconds);
/* Makes pipes, two descriptors each, which an exec closes: 0, or -1 with errno;
 * EMFILE also means that a descriptor would be below 3 or too large for select.
 */
int	pipes_make(int *fd, int npipes);
/* Closes the descriptors of pipes_make, except those that are -1, and keeps
 * errno.  Returns -1. */
int	pipes_close(const int *fd, int npipes);
/* Waits for the end of a child and returns its status, or -1.  Kills the child
 * when now.mono reaches until, or when the child is stopped. */
int	child_wait_or_kill(pid_t, double until);
/* Parses a size in bytes, such as 500, 64k, 1M or 2G: 0, or -1 if the text is
 * no size or the size is above most, the limit. */
int	size_parse(const char *, unsigned long most, unsigned long *);
/* Sets the ids of a user, given by name or number: 0, or -1 and no ids are set.
 * A number that no user has is taken as uid and gid.  errno 0 means that there
 * is no such user; another errno, that users cannot be looked up now. */
int	user_find_ids(const char *name, uid_t *, gid_t *);
/* As root, becomes this user for good, with the groups of the user, or with gid
 * alone if name is NULL: 0, or -1 with errno. */
int	user_become(const char *name, uid_t, gid_t);

/* Sets the handler of a signal; a system call that the signal interrupts fails
 * with EINTR.  signal_set_unless_ignored leaves an ignored signal as it is. */
void	signal_set(int sig, void (*handler)(int));
void	signal_set_unless_ignored(int sig, void (*handler)(int));

void	fd_close_from(int fd);	/* closes fd and all larger ones, for an exec */
/* Syncs the directory, so that new names in it are on disk.  DIR_ERROR sets
 * errno; DIR_CANNOT means that the system cannot sync a directory, or that this
 * user may not read it. */
enum dir_result { DIR_ERROR = -1, DIR_SYNCED, DIR_CANNOT };
enum dir_result dir_sync(const char *path);

#endif
