/*
 * recover.c - completes queue entries that a crash interrupted.
 *
 * A crash can leave a control file under its first name, .submit:NAME, see
 * entry.c.  If its message is in queue/, the control file is complete and on
 * disk, and is renamed.  If not, the message is where it was and will be taken
 * again; the control file is removed.
 *
 * A process at work leaves the same picture for a moment.  Its lock on the
 * control file decides; its number, which the name ends in, does so only in a
 * file system without locks.  A process with that number may be another, as
 * small numbers come again after each boot; and a process in another container
 * is not seen.
 *
 * Programs of another make write their control files as .NAME, and so did
 * submit 0.1.  Nothing shows whether such a file is complete, or its
 * writer alive.  If it stays for a day of this process, unchanged and not
 * locked, it and its message are set aside in postman/.
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <dirent.h>
#include <signal.h>

#define PATH_SIZE	800
#define DAY		86400.0	/* seconds that a file of others may stay */
#define SEEN_MOST	20	/* files of others whose days are counted */

/* Is nobody at work on the control file?  dead: its process is gone, as far as
 * we see. */
static int
is_abandoned(const char *path, int dead)
{
	struct stat st;
	int fd = fd_plain(path, O_RDWR, &st), alone;

	if (fd < 0)
		return dead;
	alone = fd_lock(fd) == 0 ||
	    (dead && errno != EACCES && errno != EAGAIN);
	close(fd);
	return alone;
}

/* ---- files of submit ------------------------------------------------- */

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

/* Recovers one control file: 1 if it stays as it is. */
static int
recover(const char *po, const char *name)
{
	char dot[PATH_SIZE], ctl[PATH_SIZE], msg[PATH_SIZE];
	int alone, dead;

	if (!is_ours(name, &dead))
		return 0;
	text_fmt(dot, sizeof(dot), "%s/transport/" SUBMIT_MARK "%s", po, name);
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

/* ---- files of others ------------------------------------------------- */

/* Those that this look or the one before has met. */
static struct {
	unsigned hash;		/* of path and lstat */
	unsigned look;		/* that met it last */
	double	first;		/* mono */
} seen[SEEN_MOST];
static unsigned look = 1;

/* Has the file been there for a day, unchanged?  When the table is full, its
 * day begins later. */
static int
is_old(const char *path)
{
	char what[PATH_SIZE + 80];
	struct stat st;
	unsigned hash;
	int i, at = -1;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	text_fmt(what, sizeof(what), "%lu %lu %ld %s",
	    (unsigned long)st.st_ino, (unsigned long)st.st_size,
	    (long)st.st_mtime, path);
	hash = hash_text(what, 0);
	for (i = 0; i < SEEN_MOST; i++)
		if (seen[i].look + 1 < look)
			at = at < 0 ? i : at;
		else if (seen[i].hash == hash)
			break;
	if (i == SEEN_MOST && at < 0)
		return 0;
	if (i == SEEN_MOST) {
		i = at;
		seen[i].hash = hash;
		seen[i].first = now.mono;
	}
	seen[i].look = look;
	return now.mono - seen[i].first >= DAY;
}

/* Moves a file that is old to postman/, and then its message: 1 if it stays.
 * If a crash leaves the message, it is an orphan, which is set aside, too. */
static int
set_aside(const char *po, const char *name)
{
	char dot[PATH_SIZE], to[PATH_SIZE], ctl[PATH_SIZE], msg[PATH_SIZE];
	struct stat st;
	int i;

	text_fmt(dot, sizeof(dot), "%s/transport/.%s", po, name);
	text_fmt(msg, sizeof(msg), "%s/queue/%s", po, name);
	if (!is_old(dot) || !is_abandoned(dot, 1))
		return 1;
	text_fmt(to, sizeof(to), "%s/postman/%s", po, name);
	for (i = 1; ; i++) {
		text_fmt(ctl, sizeof(ctl), "%s.control", to);
		if (lstat(to, &st) < 0 && lstat(ctl, &st) < 0)
			break;
		text_fmt(to, sizeof(to), "%s/postman/%s.%d", po, name, i);
	}
	if (rename(dot, ctl) < 0)
		return 1;
	if (office_is_orphan(po, name) && rename(msg, to) < 0 &&
	    errno != ENOENT)
		say_cannot("rename to", to);
	say("%s: it was unfinished for a day; it is now %s", dot, ctl);
	return 0;
}

int
entry_recover(const char *po)
{
	const size_t mark = sizeof(SUBMIT_MARK) - 1;
	char path[PATH_SIZE];
	int left = 0;
	struct dirent *e;
	DIR *d;

	text_fmt(path, sizeof(path), "%s/transport", po);
	d = opendir(path);
	if (d == NULL)
		return 1;
	look++;
	while ((e = readdir(d)) != NULL)
		if (strncmp(e->d_name, SUBMIT_MARK, mark) == 0)
			left |= recover(po, e->d_name + mark);
		else if (e->d_name[0] == '.' && name_in(e->d_name + 1) != NULL)
			left |= set_aside(po, e->d_name + 1);
	closedir(d);
	return left;
}
