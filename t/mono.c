/*
 * mono.c - the clock that never jumps, made to, for a test.
 *
 * Linked before libc's.  The seconds in the file $MONO, which may be missing,
 * are added to it: a machine that slept, or a process that was stopped.  Behind
 * a blank there may be a second number: so many more with each reading; or -1:
 * the clock stands still at the first number.  How often it was read, which is
 * once in each pass of the loop, is kept in the file $PASSES.
 */
#include "../lib/util.h"
#include <sys/times.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

static int still;

static long
ahead(void)
{
	static long passes;
	const char *path = getenv("MONO"), *count = getenv("PASSES");
	static long strides;
	char line[40];
	FILE *f;
	long by = 0, stride = 0;
	int fd;

	if (path != NULL && (f = fopen(path, "r")) != NULL) {
		if (fscanf(f, "%ld %ld", &by, &stride) < 1)
			by = 0;
		fclose(f);
	}
	still = stride < 0;
	strides += still ? 0 : stride;
	fd = count == NULL ? -1 : open(count, O_WRONLY | O_CREAT, 0666);
	if (fd >= 0) {
		text_fmt(line, sizeof(line), "%12ld\n", ++passes);
		fd_write(fd, line, strlen(line));
		close(fd);
	}
	return by + strides;
}

#ifdef NO_MONOTONIC
clock_t	times(struct tms *);

clock_t
times(struct tms *unused)
{
	struct timeval tv;
	unsigned long hz = (unsigned long)sysconf(_SC_CLK_TCK);
	unsigned long by = (unsigned long)ahead();

	(void)unused;
	gettimeofday(&tv, NULL);
	if (still)
		tv.tv_sec = tv.tv_usec = 0;
	return (clock_t)(((unsigned long)tv.tv_sec + by) * hz +
	    (unsigned long)tv.tv_usec * hz / 1000000UL);
}
#else
int	clock_gettime(clockid_t, struct timespec *);

/* Not by gettimeofday where that asks for this clock in turn. */
int
clock_gettime(clockid_t id, struct timespec *ts)
{
	long by;
#ifdef SYS_clock_gettime
	long t[2];

	if (syscall(SYS_clock_gettime, (long)id, t) < 0)
		return -1;
	ts->tv_sec = (time_t)t[0];
	ts->tv_nsec = t[1];
#else
	struct timeval tv;

	gettimeofday(&tv, NULL);
	ts->tv_sec = tv.tv_sec;
	ts->tv_nsec = tv.tv_usec * 1000L;
#endif
	if (id == CLOCK_REALTIME)
		return 0;
	by = ahead();
	if (still)
		ts->tv_sec = ts->tv_nsec = 0;
	ts->tv_sec += by;
	return 0;
}
#endif
