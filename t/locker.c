/*
 * locker.c - an agent of somebody else, that has a recipient locked.
 *
 *	locker FILE OFFSET [f]
 *
 * Writes the tag '~' and its process number into the recipient line at that
 * offset of the control file; with "f" it also holds the fcntl lock that agents
 * hold.  Then it says so, and stays until it is killed.
 */
#include "../lib/line.h"

int
main(int argc, char **argv)
{
	char field[8];
	int fd = argc > 2 ? open(argv[1], O_RDWR) : -1;

	if (fd < 0 || (argc > 3 && line_hold(fd) < 0))
		return X_NOINPUT;
	field[0] = '~';
	line_lock(field + 1, (long)getpid());
	if (lseek(fd, (off_t)num_of(argv[2], NULL) + 1, SEEK_SET) < 0 ||
	    fd_write(fd, field, 7) < 0)
		return X_IOERR;
	puts("locked");
	fflush(stdout);
	for (;;)
		select(0, NULL, NULL, NULL, NULL);
}
