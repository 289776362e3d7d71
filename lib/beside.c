/*
 * beside.c - what waits in a post office beside its queue.
 *
 *	router/1057616			one message that nobody has routed yet
 *	deferred/1057617		one that could not be routed yet
 *	postman/101-1			one that was set aside, and
 *	postman/101-1.control		... the same one's control file
 *	postman/9-1.bounce-17-3		a double bounce
 *
 * The directories are counted the same by the scheduler, for whom asks it, and
 * by mailq where there is none.  An age is that of a file by its time of
 * modification and the wall clock, and is not known while that clock is not
 * set.  A look costs a reading of the directory and an lstat for each file.
 */
#include "beside.h"
#include "util.h"
#include <ctype.h>
#include <dirent.h>

#define PATH_SIZE	1024
#define CONTROL		".control"
#define BOUNCE		".bounce-"

/* Is the entry of router/ or deferred/ mail?  Others are being written, or tell
 * of mail. */
static int
is_mail(const char *entry)
{
	return *entry != '\0' && entry[strspn(entry, "0123456789")] == '\0';
}

/* Is the entry of postman/, whose path that is, the control file of a message
 * that is there? */
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

/* The file counts with its age. */
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
	if (d == NULL)	/* deferred/ is made when it is needed */
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
