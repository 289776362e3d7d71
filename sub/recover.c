/*
 * recover.c - completes queue entries that a crash interrupted.
 *
 * A crash can leave a control file under its first name, .submit:NAME, see
 * entry.c.  If its message is in queue/, the control file is complete and on
 * disk, and is renamed.  If not, the message is where it was and will be taken
 * again; the control file is removed.
 *
 * A process at work has the same files for a moment.  It is known by its lock
 * on the control file; in a file system without locks, by its process number,
 * which is at the end of the name.  This number can be wrong: another process
 * may have it, as small numbers come again after each boot, and a process in
 * another container is not seen.
 *
 * A control file without a message is removed only if it is not locked and no
 * process has the number: a process may have just made the file and not have
 * locked it yet.
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <dirent.h>
#include <signal.h>

int
entry_is_abandoned(const char *path, int dead)
{
	struct stat st;
	int fd = fd_open_plain(path, O_RDWR, &st), abandoned;

	if (fd < 0)
		return dead;
	abandoned = fd_lock(fd) == 0 ||
	    (dead && errno != EACCES && errno != EAGAIN);
	close(fd);
	return abandoned;
}

/* Recovers one control file: 0, or -1 if the file stays as it is. */
static int
recover_entry(const char *po, const char *name)
{
	const char *dot = path_in(po, "transport/" SUBMIT_MARK "%s", name);
	const char *ctl = path_in(po, "transport/%s", name);
	const char *msg = path_in(po, "queue/%s", name);
	const char *dash;
	int abandoned, dead;
	unsigned long pid;

	if (num_upto(name, ULONG_MAX, &pid, &dash) < 0 || *dash != '-' ||
	    num_upto(dash + 1, LONG_MAX, &pid, NULL) < 0 || pid == 0)
		return 0;	/* no name of entry_make_name */
	dead = kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	abandoned = entry_is_abandoned(dot, dead);
	if (!path_may_exist(msg))
		return dead && abandoned ? unlink(dot) : -1;
	if (!abandoned || path_may_exist(ctl) || rename(dot, ctl) < 0)
		return -1;
	say("%s: queued now, after a crash", ctl);
	entry_notify(po, name);
	return 0;
}

int
entry_recover(const char *po)
{
	const size_t skip = sizeof(SUBMIT_MARK) - 1;
	DIR *d = opendir(path_in(po, "transport"));
	struct dirent *e;
	int left = 0;

	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, SUBMIT_MARK, skip) == 0)
			left |= recover_entry(po, e->d_name + skip) < 0;
	closedir(d);
	return left ? -1 : 0;
}
