/*
 * serve.c - plays the scheduler that mailq asks.
 *
 *	serve [-1] [-b] [-c] [-l bytes] [-s] -t portfile file
 *	serve -d -t portfile file
 *	serve [-1] [-b] [-c] [-l bytes] [-s] -q pipe [-r base] file
 *	serve -u uid program [argument ...]
 *
 * Sends the bytes of a file to each asker: by TCP, on a port that is written
 * into portfile, or by pipes, for requests that come through a pipe that it
 * makes.  The answer to a request goes to base.SUFFIX, base being the pipe's
 * own path unless -r says otherwise; the request is appended to pipe.log.
 *
 *	-1	for one asker only
 *	-b	byte by byte
 *	-d	a dialogue: lines "S ..." of the file are sent, lines "C ..."
 *		must come; another one gets an error
 *	-c	cut: the first asker gets no byte, the next one byte, ...
 *	-l	... all get so many bytes
 *	-s	stall: nothing more comes then, and it is not closed
 *	-u	runs the program with this uid and gid, and no other powers
 */
#include "../lib/util.h"
#include <signal.h>
#ifndef NO_INITGROUPS
#include <grp.h>
#endif
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#endif

static struct {
	int	once, bytewise, cut, stall, dialogue;
	long	limit;
	const char *port, *pipe, *base;
} arg = { 0, 0, 0, 0, 0, -1, NULL, NULL, NULL };

static char *data;
static long size;

static void
die(const char *what)
{
	perror(what);
	exit(1);
}

static void
load(const char *path)
{
	FILE *f = fopen(path, "r");

	if (f == NULL || fseek(f, 0, SEEK_END) != 0)
		die(path);
	size = ftell(f);
	rewind(f);
	data = mem_get((size_t)size + 1);
	if (fread(data, 1, (size_t)size, f) != (size_t)size)
		die(path);
	data[size] = '\0';
	fclose(f);
}

/* One asker gets its answer. */
static void
serve(int fd)
{
	static long asker;
	long i, n = arg.cut ? asker : arg.limit >= 0 ? arg.limit : size;

	asker++;
	n = n > size ? size : n;
	if (!arg.bytewise)
		fd_write(fd, data, (size_t)n);
	for (i = 0; arg.bytewise && i < n; i++)
		fd_write(fd, data + i, 1);
	if (!arg.stall)
		close(fd);
}

#ifndef NO_TCP

/* The port appears in its file when it is whole. */
static void
tell_port(unsigned port)
{
	char tmp[1024];
	FILE *f;

	text_fmt(tmp, sizeof(tmp), "%s.new", arg.port);
	f = fopen(tmp, "w");
	if (f == NULL)
		die(tmp);
	fprintf(f, "%u\n", port);
	fclose(f);
	if (rename(tmp, arg.port) != 0)
		die(arg.port);
}

/* Does the asker send this? */
static int
comes(int fd, const char *want)
{
	char got[1024];
	size_t n;

	for (n = 0; n + 1 < sizeof(got) && read(fd, got + n, 1) == 1 &&
	    got[n] != '\n'; )
		n++;
	got[n] = '\0';
	if (strcmp(got, want) == 0)
		return 1;
	fd_write(fd, "-not: ", 6);
	fd_write(fd, got, n);
	fd_write(fd, "\n", 1);
	return 0;
}

static void
hold_dialogue(int fd)
{
	char line[1024];
	const char *p = data, *end;

	for (; (end = strchr(p, '\n')) != NULL; p = end + 1) {
		text_fmt(line, sizeof(line), "%.*s", (int)(end - p), p);
		if (line[0] == 'C' && !comes(fd, line + 2))
			break;
		if (line[0] == 'S') {
			fd_write(fd, line + 2, strlen(line + 2));
			fd_write(fd, "\n", 1);
		}
	}
	close(fd);
}

static void
by_tcp(void)
{
	struct sockaddr_in sin;
	unsigned port = 20000 + (unsigned)getpid() % 20000;
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = -1, tries = 0;

	memset(&sin, 0, sizeof(sin));
	sin.sin_family = AF_INET;
	sin.sin_addr.s_addr = inet_addr("127.0.0.1");
	do
		sin.sin_port = htons((unsigned short)++port);
	while (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0 &&
	    ++tries < 1000);
	if (tries == 1000 || listen(fd, 20) < 0)
		die("bind");
	tell_port(port);
	do {
		one = accept(fd, NULL, NULL);
		if (one >= 0 && arg.dialogue)
			hold_dialogue(one);
		else if (one >= 0)
			serve(one);
	} while (!arg.once);
	while (arg.stall)
		pause();
}

#else

static void
by_tcp(void)
{
	exit(1);
}

#endif

/* A request is one line, whose last word is the suffix. */
static void
answer(const char *line)
{
	char path[1024], log[1024];
	const char *suffix = strrchr(line, ' ');
	FILE *f;
	int fd;

	text_fmt(log, sizeof(log), "%s.log", arg.pipe);
	f = fopen(log, "a");
	if (f == NULL)
		die(log);
	fprintf(f, "%s\n", line);
	fclose(f);
	text_fmt(path, sizeof(path), "%s.%s", arg.base, suffix == NULL ?
	    "" : suffix + 1);
	fd = open(path, O_WRONLY);
	if (fd >= 0)
		serve(fd);
}

static void
by_pipe(void)
{
	char line[1024], fresh[1024];
	FILE *f;
	int fd;

	/* whoever sees the pipe can open it */
	text_fmt(fresh, sizeof(fresh), "%s.new", arg.pipe);
	umask(0);
	if (mkfifo(fresh, 0622) < 0)
		die(fresh);
	umask(022);
	fd = open(fresh, O_RDWR);	/* never sees an end */
	if (fd < 0 || rename(fresh, arg.pipe) != 0)
		die(arg.pipe);
	f = fdopen(fd, "r");
	if (f == NULL)
		die(arg.pipe);
	do {
		if (fgets(line, sizeof(line), f) == NULL)
			continue;
		line[strcspn(line, "\n")] = '\0';
		answer(line);
	} while (!arg.once);
	while (arg.stall)
		pause();
}

static int
as_user(long uid, char **argv)
{
#ifndef NO_INITGROUPS
	setgroups(0, NULL);
#endif
	if (setgid((gid_t)uid) < 0 || setuid((uid_t)uid) < 0)
		die("setuid");
	execvp(argv[0], argv);
	perror(argv[0]);
	return 126;
}

int
main(int argc, char **argv)
{
	int c;

	if (argc > 3 && strcmp(argv[1], "-u") == 0)
		return as_user(atol(argv[2]), argv + 3);
	while ((c = getopt(argc, argv, "1bcdl:sq:r:t:")) != -1)
		switch (c) {
		case '1': arg.once = 1; break;
		case 'b': arg.bytewise = 1; break;
		case 'c': arg.cut = 1; break;
		case 'd': arg.dialogue = 1; break;
		case 'l': arg.limit = atol(optarg); break;
		case 's': arg.stall = 1; break;
		case 'q': arg.pipe = optarg; break;
		case 'r': arg.base = optarg; break;
		case 't': arg.port = optarg; break;
		default: return X_USAGE;
		}
	if (argc - optind != 1 || (arg.port == NULL) == (arg.pipe == NULL))
		return X_USAGE;
	if (arg.base == NULL)
		arg.base = arg.pipe;
	signal(SIGPIPE, SIG_IGN);
	load(argv[optind]);
	if (arg.port != NULL)
		by_tcp();
	by_pipe();
	return 0;
}
