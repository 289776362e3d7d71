/*
 * recover.c - completes queue entries that a crash interrupted.
 *
 * A crash can leave a control file under its dot name, see entry.c.  If its
 * message is in queue/, the control file is complete and on disk, and is
 * renamed.  If not, the message is where it was and will be taken again; the
 * control file is removed.
 *
 * A process at work leaves the same picture for a moment.  Its lock on the
 * control file decides; its number, which the dot name has, does so only in a
 * file system without locks.  A process with that number may be another, as
 * small numbers come again after each boot; and a process in another container
 * is not seen.
 *
 * Only names that entry_name makes are considered.  Only dot files without a
 * message are removed.
 */
#include "submit.h"
#include <dirent.h>
#include <signal.h>

#define PATH_SIZE	800

/* Is nobody at work on the control file?  dead: its process is gone, as far as
 * we see. */
static int
is_abandoned(const char *dot, int dead)
{
	struct stat st;
	int fd = fd_plain(dot, O_RDWR, &st), alone;

	if (fd < 0)
		return dead;
	alone = fd_lock(fd) == 0 ||
	    (dead && errno != EACCES && errno != EAGAIN);
	close(fd);
	return alone;
}

/* Is it a name of entry_name?  *dead is set if its process is gone. */
static int
is_ours(const char *name, int *dead)
{
	const char *p, *dash;
	long pid;

	num_of(name, &dash);
	if (dash == name || *dash != '-')
		return 0;
	pid = (long)num_of(dash + 1, &p);
	if (*p != '\0' || pid < 1)
		return 0;
	*dead = kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	return 1;
}

/* Recovers one dot file: 1 if it stays as it is. */
static int
recover(const char *po, const char *name, int dead)
{
	char dot[PATH_SIZE], ctl[PATH_SIZE], msg[PATH_SIZE];
	int alone;

	text_fmt(dot, sizeof(dot), "%s/transport/.%s", po, name);
	text_fmt(ctl, sizeof(ctl), "%s/transport/%s", po, name);
	text_fmt(msg, sizeof(msg), "%s/queue/%s", po, name);
	alone = is_abandoned(dot, dead);
	if (!entry_exists(msg))
		return !dead || !alone || unlink(dot) < 0;
	if (!alone || entry_exists(ctl) || rename(dot, ctl) < 0)
		return 1;
	say("%s: queued now, after a crash", ctl);
	entry_notify(po, name);
	return 0;
}

int
entry_recover(const char *po)
{
	char path[PATH_SIZE];
	int dead, left = 0;
	struct dirent *e;
	DIR *d;

	text_fmt(path, sizeof(path), "%s/transport", po);
	d = opendir(path);
	if (d == NULL)
		return 1;
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] == '.' && is_ours(e->d_name + 1, &dead))
			left |= recover(po, e->d_name + 1, dead);
	closedir(d);
	return left;
}
