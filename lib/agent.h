/*
 * agent.h - system calls for agents and submit: see agent.c.
 */
#ifndef AGENT_H
#define AGENT_H

#include "ctlfile.h"

/* OpenBSD: a process says what it will still do and open. */
#ifndef HAVE_PLEDGE
#define pledge(promises, later) 0
#define unveil(path, rights) ((void)(path))
#endif

/* The six bytes of a lock for a process number; ctlfile.c reads them. */
void	lock_print(char field[7], long pid);
/* Sets our fcntl lock on the control file of a job; ctlfile.c asks for it.
 * Closing any descriptor of the file ends it.  0, or -1 with errno: another
 * process has the lock, or there are no locks. */
int	lock_set(int fd);
/* Locks byte CONTROL_MAX itself, the guard of agents that take recipients,
 * without waiting; or unlocks it.  0, or -1 with errno. */
int	lock_guard(int fd, int on);

/* Waits until fd, unless it is -1, can be read or written, for so many seconds
 * at most: 1, 0, or -1 with errno. */
int	fd_wait(int fd, int writing, double seconds);
/* Makes n pipes above 2, which an exec closes: 0, or -1 with errno. */
int	pipes_make(int *fd, int n);
/* Closes what is open of n pipes: -1, and errno stays. */
int	pipes_close(const int *fd, int n);
int	fd_null(void);	/* 0, 1 and 2 become /dev/null: 0 or -1 */
/* Waits for the end of a child, which is killed at that time (mono) or when it
 * is stopped: its status, or -1. */
int	child_wait(pid_t, double until);
/* A number of bytes up to most, with k, M or G behind it: 0 or -1. */
int	size_parse(const char *, unsigned long most, unsigned long *);
/* The ids of a user, given by name or number: 0; or -1 and errno is 0 if there
 * is no such user, else nobody knows now. */
int	user_ids(const char *name, uid_t *, gid_t *);
/* As root, becomes this user for good, with his groups, for a name of NULL with
 * gid alone: 0, or -1 with errno. */
int	user_become(const char *name, uid_t, gid_t);

void	fd_close_from(int fd);	/* it and all above, before an exec */
/* Syncs the directory, so that new names in it are on disk: 0; 1 if this is not
 * possible here or for us; -1 with errno. */
int	dir_sync(const char *path);

#endif
