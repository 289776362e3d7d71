/*
 * clock.c - a wall clock and a host name that a test can set.
 *
 * Linked before libc's, so the scheduler or mailq that is built with it reads
 * the time plus the number of seconds in the file $WALL, which may be missing.
 * Its host is $NODE, and with $PERIOD it looks at destination records that
 * often.
 */
#include "../lib/util.h"
#include <sys/utsname.h>

extern double dest_period;

time_t	time(time_t *);

static int
fill(struct utsname *u)
{
	const char *node = getenv("NODE");

	memset(u, 0, sizeof(*u));
	text_fmt(u->nodename, sizeof(u->nodename), "%s",
	    node == NULL ? "node" : node);
	return 0;
}

#ifdef __FreeBSD__	/* its uname is inline, and calls this */
int
__xuname(int size, void *u)
{
	(void)size;
	return fill(u);
}
#else
int
uname(struct utsname *u)
{
	return fill(u);
}
#endif

time_t
time(time_t *where)
{
	struct timeval tv;
	const char *path = getenv("WALL");
	FILE *f = path == NULL ? NULL : fopen(path, "r");
	long by = 0;
	time_t t;

	if (getenv("PERIOD") != NULL)
		dest_period = atof(getenv("PERIOD"));
	gettimeofday(&tv, NULL);
	if (f != NULL) {
		if (fscanf(f, "%ld", &by) != 1)
			by = 0;
		fclose(f);
	}
	t = (time_t)((unsigned long)tv.tv_sec + (unsigned long)by);
	if (where != NULL)
		*where = t;
	return t;
}
