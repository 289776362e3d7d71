/*
 * path.c - the paths of names in a post office.
 *
 *	path_in("/var/spool/postoffice", "queue/%s", "123-45")
 *		/var/spool/postoffice/queue/123-45
 *
 * The texts lie in a ring, so that the caller needs no memory for a path that
 * it uses at once.  A caller that keeps a path for later copies it.
 *
 * A path of more than SIZE bytes would be cut, and a cut path may name another
 * file.  So the path is then "", which is the name of no file.
 */
#include "path.h"
#include "office.h"
#include <dirent.h>

#define RING	16
#define SIZE	(2 * PATH_MAX_)	/* bytes of a path, with NUL */

const char *
path_in(const char *po, const char *format, ...)
{
	static char ring[RING][SIZE];
	static int turn;
	struct text t;
	va_list ap;

	turn = (turn + 1) % RING;
	text_init(&t, ring[turn], SIZE);
	text_add(&t, "%s/", po);
	va_start(ap, format);
	text_vadd(&t, format, ap);
	va_end(ap);
	return t.cut ? "" : t.s;
}

int
path_walk_messages(const char *po, const char *dir,
    void (*each)(void *, const char *), void *arg)
{
	char name[NAME_MAX_];
	int i, error = 0;
	struct dirent *e;
	DIR *d;

	for (i = 0; i < OFFICE_DIRS; i++) {
		d = opendir(path_in(po, "%s/%s", dir, office_hash_dir(i)));
		if (d == NULL) {
			if (i == 0 || (errno != ENOENT && errno != ENOTDIR))
				error = errno;
			continue;
		}
		while (errno = 0, (e = readdir(d)) != NULL)
			if (name_parse(e->d_name) != NULL && text_fmt(name,
			    sizeof(name), "%s%s", office_hash_dir(i),
			    e->d_name) == 0)
				each(arg, name);
		if (errno != 0)
			error = errno;
		closedir(d);
	}
	errno = error;
	return error != 0 ? -1 : 0;
}

int
path_may_exist(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}
