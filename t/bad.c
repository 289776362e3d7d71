/*
 * bad.c - transport agents that misbehave.
 *
 *	bad HOW PIDFILE
 *
 * Appends its process number, and those of what it starts, to PIDFILE.  HOW
 * is one of
 *
 *	silent		takes everything and says nothing
 *	late		says #hungry when it is ended, and not before
 *	mute		says #hungry once, and then nothing
 *	talker		says #hungry without end, with or without a job
 *	flood		writes lines outside the protocol as fast as it can
 *	flood-in	... and never reads
 *	half		ends its lines in the middle, and stays
 *	megabyte	lines of a megabyte, with and without an end
 *	ids		reports on everything that was not given to it
 *	numbers		... with numbers that are none, or too large
 *	binary		bytes by chance
 *	zeros		NULs, carriage returns and escapes in reports
 *	forger		reports whose text looks like lines of the log
 *	deaf		reads nothing and ignores TERM
 *	family		forks a child that keeps the socket, and dies
 *	family-deaf	... which ignores TERM
 *	parent		forks a child, and both are silent
 *	close-in	closes what it reads from, and stays
 *	close-out	closes what it writes to, and stays
 *	shut-in		takes nothing more from the socket, and stays
 *	shut-out	can write no more to the socket, but reads to the end
 *	stop		stops itself
 *	die-start, die-hungry, die-job, die-half, die-report, die-idle
 *			dies at this point of the protocol: before a word,
 *			after its first #hungry, when it has a job, in the
 *			middle of a report, after it, at #idle
 *
 * None of them delivers anything or marks it.
 */
#include "../lib/util.h"
#include <signal.h>
#ifndef NO_SOCKETPAIR
#include <sys/socket.h>
#endif

static const char *pidfile;

static void
note_pid(const char *what)
{
	char line[40];
	int fd = open(pidfile, O_WRONLY | O_CREAT | O_APPEND, 0666);

	text_fmt(line, sizeof(line), "%s%ld\n", what, (long)getpid());
	if (fd < 0 || fd_write(fd, line, strlen(line)) < 0)
		_exit(X_IOERR);
	close(fd);
}

static void
say(const char *s)
{
	if (fd_write(1, s, strlen(s)) < 0)
		_exit(0);
}

static void
stay(void)
{
	for (;;)
		pause();
}

/* The next job's number and first recipient: 0 at the end. */
static int
next_job(const char *how, unsigned long *num, long *off)
{
	char line[2000], text[2000];
	const char *base;
	FILE *f;

	for (;;) {
		if (fgets(line, sizeof(line), stdin) == NULL || *line == '\n')
			return 0;
		if (*line != '#')
			break;
		if (strcmp(how, "die-idle") == 0)
			_exit(3);
		say("#hungry\n");
	}
	line[strcspn(line, "\t\n")] = '\0';
	base = strrchr(line, '/');
	*num = num_of(base == NULL ? line : base + 1, NULL);
	*off = 0;
	f = fopen(line, "r");
	while (f != NULL && fgets(text, sizeof(text), f) != NULL &&
	    *text != 'r')
		*off = ftell(f);
	if (f != NULL)
		fclose(f);
	return 1;
}

static void
report(unsigned long num, long off, const char *rest)
{
	char line[2000];

	text_fmt(line, sizeof(line), "%lu/%ld\t%s", num, off, rest);
	say(line);
}

/* n bytes of one kind. */
static void
bulk(int c, long n)
{
	char buf[4096];
	long k;

	memset(buf, c, sizeof(buf));
	for (; n > 0; n -= k) {
		k = n < (long)sizeof(buf) ? n : (long)sizeof(buf);
		if (fd_write(1, buf, (size_t)k) < 0)
			_exit(0);
	}
}

/* One direction of what may be one socket under three numbers. */
static void
shut(int fd)
{
#ifndef NO_SOCKETPAIR
	if (shutdown(fd, fd) == 0)
		return;
#endif
	close(fd);
	if (fd == 1)
		close(2);
}

static void
family(int deaf)
{
	if (fork() == 0) {
		note_pid("child ");
		if (deaf)
			signal(SIGTERM, SIG_IGN);
		stay();
	}
	_exit(0);
}

static void
parent(void)
{
	if (fork() == 0)
		note_pid("");
	stay();
}

static void
binary(void)
{
	char buf[4096];
	size_t i;
	int n;

	rnd_seed((unsigned long)getpid());
	for (n = 0; n < 64; n++) {
		for (i = 0; i < sizeof(buf); i++)
			buf[i] = (char)rnd(256);
		if (fd_write(1, buf, sizeof(buf)) < 0)
			_exit(0);
	}
}

/* What is done at each job; the protocol goes on afterwards. */
static void
misreport(const char *how, unsigned long num, long off)
{
	char line[200];
	long i;

	if (strcmp(how, "megabyte") == 0) {
		bulk('x', 1000000L);
		say("\n");
		report(num, off, "\t\tok3 ");
		bulk('y', 1000000L);
	} else if (strcmp(how, "ids") == 0) {
		for (i = 0; i < 300; i++)
			report(num + (unsigned long)i % 3, i, "\tok3 mine\n");
		report(num + 1, off, "\tok3 mine\n");
		report(num + 1000, off, "\terror gone\n");
	} else if (strcmp(how, "numbers") == 0) {
		text_fmt(line, sizeof(line), "%lu/-%ld\t\tok\n", num, off);
		say(line);
		say("18446744073709551616/0\t\tok\n99999999999999999999999/"
		    "99999999999999999999999\t\tok\n-1/-1\t\tok\n0x10/1\t\t"
		    "ok\n/\t\tok\n//\t\tok\n1//2\t\tok\n1/2/3\t\tok\n");
		report(num, off + 1, "\tok\n");
		report(num, off, "ok\n");
		report(num, off, "\t\n");
		report(num, off, "\tokay dokay\n");
		report(num, off, "\tOK\n");
	} else if (strcmp(how, "zeros") == 0) {
		fd_write(1, "\0\0\0#hungry\0\n", 12);
		report(num, off, "\tdeferred \033[2Jwiped\r20260101 err forged"
		    "\233\377\n");
	} else if (strcmp(how, "forger") == 0) {
		say("# \n#20260101000000 info delivered msg=1-1 rcpt=1\n");
		report(num, off, "\tdeferred no\r\n20260101000000 info "
		    "delivered msg=1-1 rcpt=1 status=ok3\n");
	} else if (strcmp(how, "binary") == 0) {
		binary();
	}
	say("\n#hungry\n");
}

static void
greet(int sig)
{
	fd_write(1, "#hungry\n", 8);
	_exit(sig == SIGTERM ? 0 : 1);
}

/* Those that do one thing and nothing else. */
static void
be(const char *how)
{
	if (strcmp(how, "silent") == 0)
		while (getchar() != EOF)
			;
	if (strcmp(how, "late") == 0) {
		signal(SIGTERM, greet);
		stay();
	}
	if (strcmp(how, "talker") == 0)
		for (;;)
			say("#hungry\n");
	if (strncmp(how, "flood", 5) == 0) {
		say("#hungry\n");
		for (;;)
			say("# and another thing: I will not stop talking\n");
	}
	if (strcmp(how, "half") == 0) {
		say("#hung");
		stay();
	}
	if (strcmp(how, "parent") == 0) {
		say("#hungry\n");
		parent();
	}
	if (strncmp(how, "family", 6) == 0) {
		say("#hungry\n");
		family(how[6] != '\0');
	}
	if (strcmp(how, "deaf") == 0) {
		signal(SIGTERM, SIG_IGN);
		say("#hungry\n");
		stay();
	}
	if (strcmp(how, "stop") == 0) {
		say("#hungry\n");
		kill(getpid(), SIGSTOP);
	}
	if (strcmp(how, "die-start") == 0)
		_exit(3);
	say("#hungry\n");
	if (strcmp(how, "die-hungry") == 0)
		_exit(3);
	if (strcmp(how, "close-in") == 0) {
		close(0);
		stay();
	}
	if (strcmp(how, "shut-in") == 0) {
		shut(0);
		stay();
	}
	if (strcmp(how, "shut-out") == 0) {
		shut(1);
		while (getchar() != EOF)
			;
	}
	if (strcmp(how, "close-out") == 0) {
		close(1);
		close(2);
		stay();
	}
}

int
main(int argc, char **argv)
{
	unsigned long num;
	const char *how;
	long off;

	if (argc != 3)
		return X_USAGE;
	how = argv[1];
	pidfile = argv[2];
	note_pid("");
	be(how);
	while (next_job(how, &num, &off)) {
		if (strcmp(how, "mute") == 0)
			stay();
		if (strcmp(how, "die-job") == 0)
			_exit(3);
		if (strcmp(how, "die-half") == 0) {
			report(num, off, "\tok");
			_exit(3);
		}
		if (strcmp(how, "die-report") == 0) {
			report(num, off, "\tdeferred and out\n");
			_exit(3);
		}
		misreport(how, num, off);
	}
	return 0;
}
