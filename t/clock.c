/*
 * clock.c - a wall clock that a test can set.
 *
 * Linked before libc's, so the scheduler that is built with it reads the
 * time plus the number of seconds in the file $WALL, which may be missing.
 */
#include "../util.h"

time_t	time(time_t *);

time_t
time(time_t *where)
{
	struct timeval tv;
	const char *path = getenv("WALL");
	FILE *f = path == NULL ? NULL : fopen(path, "r");
	long by = 0;
	time_t t;

	gettimeofday(&tv, NULL);
	if (f != NULL) {
		if (fscanf(f, "%ld", &by) != 1)
			by = 0;
		fclose(f);
	}
	t = tv.tv_sec + by;
	if (where != NULL)
		*where = t;
	return t;
}
