/*
 * held.c - the locks of agents on a control file, for tests.
 *
 *	held FILE PID		"held", "free", or "unknown": that agent's lock
 *	held -g FILE		has the guard; says "guard"
 *	held -a FILE		has all of it, as anybody may who can read it;
 *				says "guard"
 *	held -r FILE		the same by a lock for reading
 *	held -t FILE OFFSET [f]	writes its number with the tag '~' into the
 *				recipient line there, as an agent of somebody
 *				else; with "f" it has the fcntl lock of
 *				agents, too; says "locked"
 *
 * What has something stays until it is killed.
 * Exit: 0, 1 when that cannot be had.
 */
#include "../lib/agent.h"

/* Writes our lock: 0 or -1. */
static int
tag(int fd, unsigned long off)
{
	char field[8];

	field[0] = '~';
	lock_print(field + 1, (long)getpid());
	return lseek(fd, (off_t)off + 1, SEEK_SET) < 0 ? -1 :
	    fd_write(fd, field, 7);
}

/* Has that process its lock on the file? */
static const char *
is_held(int fd, long pid)
{
	long who = fd_lock_at(fd, F_GETLK, F_WRLCK, LOCK_BYTE(pid));

	return who == 0 ? "free" : who == pid ? "held" : "unknown";
}

int
main(int argc, char **argv)
{
	int fd, how = argc > 2 && argv[1][0] == '-' ? argv[1][1] : 0, bad;

	if (argc < (how == 't' ? 4 : 3))
		return 1;
	fd = open(argv[how == 0 ? 1 : 2], how == 'r' ? O_RDONLY : O_RDWR);
	if (how == 0) {
		puts(is_held(fd, (long)num_of(argv[2], NULL)));
		return fd < 0;
	}
	if (how == 't')
		bad = (argc > 4 && lock_set(fd) < 0) ||
		    tag(fd, num_of(argv[3], NULL)) < 0;
	else
		bad = (how == 'a' ? fd_lock(fd) : how == 'r' ? (int)
		    fd_lock_at(fd, F_SETLK, F_RDLCK, 0) :
		    lock_guard(fd, 1)) < 0;
	if (bad)
		return 1;
	puts(how == 't' ? "locked" : "guard");
	fflush(stdout);
	for (;;)
		pause();
}
