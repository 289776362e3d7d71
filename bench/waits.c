/*
 * waits.c - a transport agent that does nothing but look how long it has to
 * wait for its next job.
 *
 *	waits CHANNEL FILE
 *
 * With overfeed=0 each job takes a pass of the scheduler's loop, so the
 * longest wait while there is work is the longest time for which the loop was
 * held.  At its end it writes to FILE: jobs, the longest wait and the sum of
 * all, in microseconds.
 */
#include "../lib/util.h"

static double
clock_us(void)
{
	struct timeval tv;

	gettimeofday(&tv, NULL);
	return (double)tv.tv_sec * 1e6 + (double)tv.tv_usec;
}

/* Reports each recipient of the channel, whatever its host: how many. */
static int
report(const char *job, const char *channel)
{
	char line[2000], said[100];
	unsigned long off = 0;
	const char *base = strrchr(job, '/');
	int n = 0, fd;
	FILE *f = fopen(job, "r");

	if (f == NULL)
		return 0;
	fd = open(job, O_WRONLY);
	for (; fgets(line, sizeof(line), f) != NULL; off += strlen(line)) {
		if (line[0] != 'r' || line[1] != ' ' || strncmp(line + 12,
		    channel, strlen(channel)) != 0)
			continue;
		text_fmt(said, sizeof(said), "%lu/%lu\t\tok3 \n",
		    num_of(base == NULL ? job : base + 1, NULL), off);
		fd_write(1, said, strlen(said));
		if (lseek(fd, (off_t)off + 1, SEEK_SET) >= 0)
			fd_write(fd, "+", 1);
		n++;
	}
	fclose(f);
	close(fd);
	return n;
}

int
main(int argc, char **argv)
{
	char line[2000];
	double since, waited, longest = 0, sum = 0;
	long jobs = 0;
	FILE *out;

	if (argc != 3)
		return 64;
	fd_write(1, "#hungry\n", 8);
	since = 0;
	while (fgets(line, sizeof(line), stdin) != NULL && line[0] != '\n') {
		waited = clock_us() - since;
		line[strcspn(line, "\t\n")] = '\0';
		if (line[0] != '#') {
			if (since > 0) {
				jobs++;
				sum += waited;
				longest = waited > longest ? waited : longest;
			}
			report(line, argv[1]);
			since = clock_us();
		} else {
			since = 0;	/* there was no work: nobody's fault */
		}
		fd_write(1, "#hungry\n", 8);
	}
	out = fopen(argv[2], "w");
	if (out == NULL)
		return 1;
	fprintf(out, "%ld %.0f %.0f\n", jobs, longest, sum);
	fclose(out);
	return 0;
}
