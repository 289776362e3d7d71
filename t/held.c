/*
 * held.c - the locks of agents on a control file, for tests.
 *
 *	held FILE PID		"held", "free", or "unknown": that agent's lock
 *	held -g FILE		has the guard until it is ended; says "guard"
 *	held -a FILE		has all of it, as anybody may who can read it
 *
 * Exit: 0, 1 when the file or the guard cannot be had.
 */
#include "../lib/line.h"

int
main(int argc, char **argv)
{
	static const char *const word[] = { "unknown", "free", "held" };
	int fd;

	if (argc != 3)
		return 1;
	if (argv[1][0] != '-') {
		fd = open(argv[1], O_RDWR);
		puts(word[line_held(fd, (long)num_of(argv[2], NULL)) + 1]);
		return fd < 0;
	}
	fd = open(argv[2], O_RDWR);
	if ((argv[1][1] == 'a' ? fd_lock(fd) : line_guard(fd, 1)) < 0)
		return 1;
	puts("guard");
	fflush(stdout);
	for (;;)
		pause();
}
