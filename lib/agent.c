/*
 * agent.c - system calls that agents and submit use and the daemon does not.
 *
 * It sets fcntl locks on control files, writes the process number of a lock,
 * syncs a directory after a file was named in it, and closes descriptors before
 * an exec.  ctlfile.c describes the locks and reads them.
 */
#include "agent.h"

#define LOCK_MOST	999999L	/* the largest number of six digits */

void
line_lock(char field[7], long pid)
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

int
line_hold(int fd)
{
	return fd_lock_at(fd, F_SETLK, F_WRLCK, LOCK_BYTE((long)getpid()));
}

int
line_guard(int fd, int on)
{
	return fd_lock_at(fd, F_SETLK, on ? F_WRLCK : F_UNLCK, LOCK_BYTE(0));
}

#define FD_MOST	65536L	/* no descriptor is higher than that */

void
fd_close_from(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (most < 0 || most > FD_MOST)
		most = FD_MOST;
	for (; fd < most; fd++)
		close(fd);
}

/* Is this the error of a system or file system that cannot sync a directory, or
 * of a user who may not read it? */
static int
is_never(int error)
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

int
dir_sync(const char *path)
{
	int bad, error, fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return is_never(errno) ? 1 : -1;
	bad = fd_sync(fd) < 0;
	error = errno;
	close(fd);
	if (!bad)
		return 0;
	errno = error;
	return is_never(error) ? 1 : -1;
}
