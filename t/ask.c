/*
 * ask.c - asks the scheduler as mailq does, and shows the bytes that come.  Or
 * waits for a line of its log.
 *
 *	ask tcp PORT		a dump
 *	ask bare PORT		as ZMailer's mailq, whose side stays open
 *	ask pipe PATH		the same by the named pipe
 *	ask order PO VERB WHAT	a command, and its answer
 *	ask stuck tcp PORT N	N askers that never read; says "ready" and stays
 *	ask stuck pipe PATH N
 *	ask log FILE ERE SECONDS
 *				waits for a line of FILE that matches; else 1
 *
 * Exit 0, or 1 with a line on standard error.
 */
#include "../lib/util.h"
/* glibc declares regexec with an array of variable length for C99 */
#if defined(__TINYC__) && !defined(__STDC_NO_VLA__)
#define __STDC_NO_VLA__	1
#endif
#include <regex.h>
#include <signal.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#endif

static char fifo[1100];		/* ours, to be removed */

static void
die(const char *what)
{
	fprintf(stderr, "ask: %s: %s\n", what, strerror(errno));
	if (fifo[0] != '\0')
		unlink(fifo);
	exit(1);
}

static int
call(const char *port)
{
#ifdef NO_TCP
	errno = ENOSYS;
	die(port);
	return -1;
#else
	struct sockaddr_in a;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons((unsigned short)num_of(port, NULL));
	if (fd < 0 || connect(fd, (struct sockaddr *)(void *)&a,
	    sizeof(a)) < 0)
		die(port);
	return fd;
#endif
}

/* Nothing more comes from us. */
static int
hush(int fd)
{
#ifndef NO_TCP
	if (shutdown(fd, 1) < 0)
		die("shutdown");
#endif
	return fd;
}

/* Writes the request, the suffix behind it, to pipe: the open answer. */
static int
request(const char *pipe_, const char *answers, const char *what, int n)
{
	char suffix[21], line[2600];
	int fd, out;

	text_fmt(suffix, sizeof(suffix), "%ldx%d", (long)getpid(), n);
	text_fmt(fifo, sizeof(fifo), "%s.%s", answers, suffix);
	umask(0);
	if (mkfifo(fifo, 0622) < 0)
		die(fifo);
	fd = open(fifo, O_RDONLY | O_NONBLOCK);
	out = open(pipe_, O_WRONLY | O_NONBLOCK);
	if (fd < 0 || out < 0)
		die(pipe_);
	text_fmt(line, sizeof(line), "%s %s\n", what, suffix);
	if (fd_write(out, line, strlen(line)) < 0)
		die(pipe_);
	close(out);
	return fd;
}

/* Everything that comes, to standard output. */
static void
show(int fd)
{
	char buf[4096];
	int tries = 0, come = 0;
	long n;

	while (tries < 3000) {	/* 30 seconds */
		n = (long)read(fd, buf, sizeof(buf));
		if (n > 0) {
			come = 1;
			fd_write(1, buf, (size_t)n);
		} else if (n == 0 && come) {
			return;
		} else if (n == 0 || errno == EAGAIN || errno == EINTR) {
			struct timeval tv;

			tries++;
			tv.tv_sec = 0;
			tv.tv_usec = 10000;
			select(0, NULL, NULL, NULL, &tv);
		} else {
			die("read");
		}
	}
	errno = ETIMEDOUT;
	die("answer");
}

static void
on_term(int sig)
{
	(void)sig;
	_exit(0);
}

static void
stuck(const char *kind, const char *where, int n)
{
	int i;

	signal(SIGTERM, on_term);
	for (i = 0; i < n; i++)
		if (strcmp(kind, "tcp") == 0) {
			call(where);
		} else {
			request(where, where, "dump", i);
			/* the scheduler may come to it later */
		}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}

/* Does one of the lines that have come match?  What is no whole line yet is
 * looked at again. */
static int
match(const regex_t *re, FILE *f)
{
	static char line[65536];
	static size_t n;
	int c;

	clearerr(f);
	while ((c = getc(f)) != EOF) {
		if (c != '\n') {
			if (n < sizeof(line) - 1)
				line[n++] = (char)c;
			continue;
		}
		line[n] = '\0';
		n = 0;
		if (regexec(re, line, 0, NULL, 0) == 0)
			return 1;
	}
	return 0;
}

/* Naps are counted, as a clock may be set; a busy machine makes them longer. */
static int
await(const char *path, const char *ere, long seconds)
{
	regex_t re;
	FILE *f = NULL;
	struct timeval tv;
	long naps = seconds * 50;

	if (regcomp(&re, ere, REG_EXTENDED | REG_NOSUB) != 0) {
		errno = EINVAL;
		die(ere);
	}
	for (;;) {
		if (f == NULL)
			f = fopen(path, "r");
		if (f != NULL && match(&re, f))
			return 0;
		if (naps-- <= 0)
			return 1;
		tv.tv_sec = 0;
		tv.tv_usec = 20000;
		select(0, NULL, NULL, NULL, &tv);
	}
}

int
main(int argc, char **argv)
{
	char path[1000], answers[1000], what[2500];

	if (argc == 3 && strcmp(argv[1], "tcp") == 0) {
		show(hush(call(argv[2])));
	} else if (argc == 3 && strcmp(argv[1], "bare") == 0) {
		show(call(argv[2]));
	} else if (argc == 3 && strcmp(argv[1], "pipe") == 0) {
		show(request(argv[2], argv[2], "dump", 0));
	} else if (argc == 5 && strcmp(argv[1], "order") == 0) {
		text_fmt(path, sizeof(path), "%s/.mailq.command", argv[2]);
		text_fmt(answers, sizeof(answers), "%s/public/.mailq.command",
		    argv[2]);
		text_fmt(what, sizeof(what), "%s %s", argv[3], argv[4]);
		show(request(path, answers, what, 0));
	} else if (argc == 5 && strcmp(argv[1], "stuck") == 0) {
		stuck(argv[2], argv[3], (int)num_of(argv[4], NULL));
	} else if (argc == 5 && strcmp(argv[1], "log") == 0) {
		return await(argv[2], argv[3], num_of(argv[4], NULL));
	} else {
		fputs("usage: ask tcp|bare PORT | pipe PATH | order PO VERB "
		    "WHAT | stuck tcp|pipe WHERE N | log FILE ERE SECONDS\n",
		    stderr);
		return 64;
	}
	if (fifo[0] != '\0')
		unlink(fifo);
	return 0;
}
