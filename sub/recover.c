/*
 * recover.c - what a crash kept from the queue.
 *
 * entry.c says what a crash can leave: a control file under its dot name.
 * Either its message is in queue/, and the control file, which was on disk
 * before, needs only its name; or the message is where it was, somebody will
 * take it once more, and the control file is of no use.
 *
 * What looks the same is somebody at work just now.  The name has the number
 * of the process, and when there is none, nobody is.  When there is one, it may
 * be another with the same number, as small ones come again after each start of
 * a machine; then the lock that goes with the control file decides.
 *
 * Only names that entry_name makes are looked at.  Nothing but a dot file
 * without a message is ever removed.
 */
#include "submit.h"
#include <dirent.h>
#include <signal.h>

#define PATH_SIZE	800

/* Has nobody the lock of the control file?  Without locks on its file system
 * that is not known, and it is left. */
static int
is_abandoned(const char *dot)
{
	struct stat st;
	int fd = fd_plain(dot, O_RDWR, &st), alone;

	if (fd < 0)
		return 0;
	alone = fd_lock(fd) == 0;
	close(fd);
	return alone;
}

/* Is it a name that we give?  *dead is set when its process is gone. */
static int
is_ours(const char *name, int *dead)
{
	const char *p, *dash;
	long pid;

	num_of(name, &dash);
	if (dash == name || *dash != '-')
		return 0;
	pid = (long)num_of(dash + 1, &p);
	if (*p != '\0' || pid <= 1)
		return 0;
	*dead = kill((pid_t)pid, 0) < 0 && errno == ESRCH;
	return 1;
}

/* One dot file: 1 when it stays as it is. */
static int
recover(const char *po, const char *name, int dead)
{
	char dot[PATH_SIZE], ctl[PATH_SIZE], msg[PATH_SIZE];

	text_fmt(dot, sizeof(dot), "%s/transport/.%s", po, name);
	text_fmt(ctl, sizeof(ctl), "%s/transport/%s", po, name);
	text_fmt(msg, sizeof(msg), "%s/queue/%s", po, name);
	if (!entry_exists(msg))
		return !dead || unlink(dot) < 0;
	if ((!dead && !is_abandoned(dot)) || entry_exists(ctl) ||
	    rename(dot, ctl) < 0)
		return 1;
	say("%s: a crash had kept it from the queue", ctl);
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
