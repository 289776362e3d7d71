/*
 * defer.c - moves mail that cannot be routed yet to deferred/.
 *
 * If a run cannot take a file for now, it moves the file to deferred/, where
 * later runs try it again; other files do not have to wait for it:
 *
 *	router/1057616		cannot be read: Permission denied
 *	deferred/1057616	the same file
 *	deferred/1057616.why	1 1795392000 cannot be read: Permission denied
 *
 * See lib/deferred.c for the pauses between tries.  When the table changes, all
 * files are due, since the table may have been the reason.  The reason is
 * written before the file is moved: a crash leaves a reason without a file,
 * which a later run removes.  If a step fails, the file stays where it is.
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <dirent.h>

#define PATH_SIZE	800

int
defer_any(const char *po)
{
	char path[PATH_SIZE];
	struct stat st;

	text_fmt(path, sizeof(path), "%s/" DEFERRED, po);
	return stat(path, &st) == 0;
}

int
defer(const char *po, const char *path, const char *base,
    unsigned long mark, const char *why)
{
	char to[PATH_SIZE];
	struct deferred d;
	struct stat st;
	int there;

	text_fmt(to, sizeof(to), "%s/" DEFERRED "/%s", po, base);
	there = strcmp(path, to) == 0;
	if (rights_dir(po, DEFERRED, 022) < 0)
		return -1;
	if (!there && lstat(to, &st) == 0) {
		say("stays, as %s is there already", to);
		return -1;
	}
	if (!there || deferred_read(po, base, &d) < 0)
		d.tries = 0;
	d.tries++;
	d.table = mark;
	text_fmt(d.reason, sizeof(d.reason), "%s", why);
	if (deferred_write(po, base, &d) < 0)
		return say_cannot("write the reason for", to);
	if (there || rename(path, to) == 0)
		return 0;
	say_cannot("move it to", to);
	deferred_forget(po, base);
	return -1;
}

unsigned
defer_all(const char *po, const char *dir, unsigned long mark,
    const char *why)
{
	int again = strcmp(dir, DEFERRED) == 0;
	char path[PATH_SIZE];
	struct scan scan;
	struct stat st;
	unsigned i, n = 0;

	if (scan_read(&scan, po, dir, deferred_name) < 0)
		return 0;
	for (i = 0; i < scan.n; i++) {
		text_fmt(path, sizeof(path), "%s/%s/%s", po, dir,
		    scan.v[i].name);
		if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
		    (again && !defer_due(po, scan.v[i].name, mark)))
			continue;
		n += defer(po, path, scan.v[i].name, mark, why) == 0;
	}
	scan_free(&scan);
	return n;
}

int
defer_due(const char *po, const char *base, unsigned long mark)
{
	struct deferred d;
	long wall = (long)time(NULL);

	return deferred_read(po, base, &d) < 0 || mark != d.table ||
	    wall < d.last || wall >= d.next;
}

static void
clean(const char *po, const char *entry)
{
	char path[PATH_SIZE], num[64];
	struct stat st;

	if (deferred_of(entry, num, sizeof(num)) == NULL)
		return;
	text_fmt(path, sizeof(path), "%s/" DEFERRED "/%s", po, num);
	if (lstat(path, &st) < 0 && errno == ENOENT)
		deferred_forget(po, num);
}

long
defer_wait(const char *po, unsigned long mark)
{
	long wall = (long)time(NULL), wait = -1, left;
	char path[PATH_SIZE];
	struct deferred d;
	struct dirent *e;
	DIR *dir;

	text_fmt(path, sizeof(path), "%s/" DEFERRED, po);
	dir = opendir(path);
	while (dir != NULL && (e = readdir(dir)) != NULL) {
		clean(po, e->d_name);
		if (!deferred_name(e->d_name))
			continue;
		left = defer_due(po, e->d_name, mark) ||
		    deferred_read(po, e->d_name, &d) < 0 ? 0 : d.next - wall;
		if (wait < 0 || left < wait)
			wait = left;
	}
	if (dir != NULL)
		closedir(dir);
	return wait;
}
