/*
 * agent.c - system calls and small helpers for all programs but the daemon.
 *
 * It writes the process number of a lock, syncs a directory after a file was
 * named in it, and has what is needed around a child: pipes, users, signals,
 * waiting.  ctlfile.c describes the locks and reads them; the fcntl locks are
 * set by calls in agent.h.
 */
#include "agent.h"
#include <signal.h>
#include <sys/wait.h>
#ifndef NO_INITGROUPS
#include <grp.h>
#endif
#ifndef NO_PWD
#include <pwd.h>
#endif

#define NOBODY		65534	/* uid of nobody if no user has this name */
#define LOCK_MOST	999999L	/* the largest number of six digits */

void
lock_print(char field[7], long pid)
{
	static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	int i;

	if (pid <= LOCK_MOST) {
		text_fmt(field, 7, "%6ld", pid);
		return;
	}
	field[0] = 'a';
	for (i = 5; i > 0; i--, pid /= 36)
		field[i] = digits[pid % 36];
	field[6] = '\0';
}

enum wait_result
fd_wait(int fd, int writing, double seconds)
{
	struct timeval tv;
	fd_set set;

	if (seconds > 3600)
		seconds = 3600;		/* some systems take no more */
	tv.tv_sec = (long)seconds;
	tv.tv_usec = (long)((seconds - (double)tv.tv_sec) * 1e6);
	FD_ZERO(&set);
	if (fd >= 0)
		FD_SET(fd, &set);
	/* for one descriptor, the numbers are those of the enum */
	return select(fd + 1, writing ? NULL : &set, writing ? &set : NULL,
	    NULL, &tv);
}

int
pipes_close(const int *fd, int npipes)
{
	int err = errno;

	for (npipes *= 2; npipes-- > 0; fd++)
		if (*fd >= 0)
			close(*fd);
	errno = err;
	return -1;
}

int
pipes_make(int *fd, int npipes)
{
	int i;

	for (i = 0; i < 2 * npipes; i++)
		fd[i] = -1;
	for (i = 0; i < 2 * npipes; i++) {
		if (i % 2 == 0 && pipe(fd + i) < 0)
			return pipes_close(fd, npipes);
		errno = EMFILE;
		if (fd[i] < 3 || fd[i] >= FD_SETSIZE || fd_cloexec(fd[i]) < 0)
			return pipes_close(fd, npipes);
	}
	return 0;
}

int
child_wait_or_kill(pid_t pid, double until)
{
	int status = -1, stopped;
	pid_t p;

	for (;;) {
		p = waitpid(pid, &status, WNOHANG | WUNTRACED);
		stopped = p == pid && WIFSTOPPED(status);
		if ((p < 0 && errno != EINTR) || (p == pid && !stopped))
			return p < 0 ? -1 : status;
		clock_read();
		if (stopped || now.mono >= until)
			kill(pid, SIGKILL);
		fd_wait(-1, 0, 0.01);
	}
}

int
size_parse(const char *s, unsigned long most, unsigned long *size)
{
	static const char units[] = "kmg";
	const char *unit;
	unsigned long n;
	int shift = 0;

	if (num_upto(s, most, &n, &s) < 0)
		return -1;
	if (*s != '\0') {
		unit = strchr(units, *s | 32);
		if (unit == NULL || s[1] != '\0')
			return -1;
		shift = 10 * (int)(unit - units + 1);
	}
	if (n > most >> shift)
		return -1;
	*size = n << shift;
	return 0;
}

int
user_find_ids(const char *name, uid_t *uid, gid_t *gid)
{
	unsigned long n;
	int known = num_upto(name, 999999999UL, &n, NULL) == 0;
#ifndef NO_PWD
	struct passwd *pw = user_find(known ? NULL : name, (long)n);

	if (pw == NULL && errno != 0)
		return -1;
	if (pw != NULL) {
		*uid = pw->pw_uid;
		*gid = pw->pw_gid;
		return 0;
	}
#endif
	if (strcmp(name, "nobody") == 0) {
		known = 1;
		n = NOBODY;
	}
	errno = 0;
	if (!known)
		return -1;
	*uid = (uid_t)n;
	*gid = (gid_t)n;
	return 0;
}

int
user_become(const char *user, uid_t uid, gid_t gid)
{
#ifndef NO_INITGROUPS
	char name[300];		/* a copy: initgroups of some systems takes no
				 * const */

	if (text_fmt(name, sizeof(name), "%s", user != NULL ? user : "") < 0 ||
	    (user != NULL ? initgroups(name, gid) : groups_leave(gid)) < 0)
		return -1;
#else
	(void)user;
#endif
	if (setgid(gid) < 0 || setuid(uid) < 0)
		return -1;
	errno = EPERM;		/* if the process can become root again */
	return uid != 0 && setuid(0) == 0 ? -1 : 0;
}

void
signal_set(int sig, void (*handler)(int))
{
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = handler;
	sigaction(sig, &sa, NULL);
}

void
signal_set_unless_ignored(int sig, void (*handler)(int))
{
	struct sigaction was;

	if (sigaction(sig, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
		signal_set(sig, handler);
}

#define FD_MOST	65536L	/* descriptors that -N can allow an agent */

void
fd_close_from(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

	for (; fd < FD_MOST && (most < 0 || fd < most); fd++)
		close(fd);
}

/* Returns 1 for the errno of a system or file system that cannot sync a
 * directory, or of a user who may not read it. */
static int
is_unsupported(int error)
{
#ifdef ENOTSUP
	if (error == ENOTSUP)
		return 1;
#endif
#ifdef EOPNOTSUPP
	if (error == EOPNOTSUPP)
		return 1;
#endif
	return error == EINVAL || error == EBADF || error == EISDIR ||
	    error == EACCES || error == EPERM || error == ENOSYS;
}

enum dir_result
dir_sync(const char *path)
{
	int error = 0, fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0 || fd_sync(fd) < 0)
		error = errno;
	if (fd >= 0)
		close(fd);
	errno = error;
	if (error == 0)
		return DIR_SYNCED;
	return is_unsupported(error) ? DIR_CANNOT : DIR_ERROR;
}
