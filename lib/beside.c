/*
 * beside.c - mail of a post office that is not in its queue.
 *
 *	router/1057616			a message that is not routed yet
 *	deferred/1057617		a message that could not be routed
 *	postman/101-1			a message that was set aside, and
 *	postman/101-1.control		... its control file
 *	postman/9-1.bounce-17-3		a double bounce
 *
 * The scheduler counts these directories when mailq queries it; mailq counts
 * them itself when no scheduler answers.  Both do it here, so both give the
 * same numbers.  A message and its control file count as one.
 *
 * The age of a message is the wall clock less the modification time of its
 * file.  While the clock is not set, the age is unknown.  A count costs one
 * pass over the directory and an lstat for each entry.
 */
#include "beside.h"
#include "util.h"
#include <ctype.h>
#include <dirent.h>

#define PATH_SIZE	1024
#define CONTROL		".control"
#define BOUNCE		".bounce-"

/* Is this entry of router/ or deferred/ a message?  Other names belong to files
 * still being written, or to the reasons of deferred messages. */
static int
is_mail(const char *entry)
{
	return *entry != '\0' && entry[strspn(entry, "0123456789")] == '\0';
}

/* Is the file at path, in postman/, the control file of a message that is there
 * too?  The pair counts once. */
static int
is_second(const char *path)
{
	char other[PATH_SIZE];
	struct stat st;
	size_t n = strlen(path), k = sizeof(CONTROL) - 1;

	return n > k && strcmp(path + n - k, CONTROL) == 0 &&
	    text_fmt(other, sizeof(other), "%.*s", (int)(n - k), path) == 0 &&
	    lstat(other, &st) == 0;
}

static int
is_bounce(const char *entry)
{
	const char *p = strstr(entry, BOUNCE);

	return p != NULL && isdigit((unsigned char)p[sizeof(BOUNCE) - 1]);
}

/* Counts the file; its age may be the largest so far. */
static void
count(struct beside *b, const struct stat *st)
{
	long wall = (long)time(NULL), then = (long)st->st_mtime;

	b->n++;
	if (wall >= SANE_WALL && then >= 0 && then <= wall &&
	    wall - then > b->oldest)
		b->oldest = wall - then;
}

int
beside_count(const char *office, const char *dir, struct beside *b)
{
	int router = strcmp(dir, "postman") != 0;
	char path[PATH_SIZE];
	struct dirent *e;
	struct stat st;
	DIR *d = NULL;

	memset(b, 0, sizeof(*b));
	b->oldest = -1;
	errno = ENAMETOOLONG;
	if (text_fmt(path, sizeof(path), "%s/%s", office, dir) == 0)
		d = opendir(path);
	if (d == NULL)	/* deferred/ may not exist yet */
		return errno == ENOENT && *dir == 'd' ? 0 : -1;
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.' || (router && !is_mail(e->d_name)) ||
		    text_fmt(path, sizeof(path), "%s/%s/%s", office, dir,
		    e->d_name) < 0 || lstat(path, &st) < 0 ||
		    (router && !S_ISREG(st.st_mode)) ||
		    (!router && is_second(path)))
			continue;
		count(b, &st);
		b->bounces += !router && is_bounce(e->d_name);
	}
	closedir(d);
	return 0;
}
