/*
 * limit.c - a small server that serves only a few at once, and the transport
 * agent that delivers to it.
 *
 *	limit -s SLOTS [-t MS] PORTFILE		the server
 *	limit -c CHANNEL PORTFILE		the agent
 *
 * The server listens on a TCP port of its own and writes its number to
 * PORTFILE.  Each connection takes one slot for MS milliseconds (100), a
 * twentieth more or less at random, so that those who came together do not
 * stay together.  Then it is told 250 and closed.  When all slots are taken it
 * is told 421 at once.  A slot is free before anybody hears of it: who comes
 * back with the next delivery is served.
 *
 * The agent makes one connection for each job.  250 means that all of its
 * recipients have been delivered; 421, or no answer, that the host cannot
 * take them now, 4.3.2.
 */
#include "../ta/lib.h"
#include <signal.h>

#ifdef NO_TCP

int
main(void)
{
	fputs("limit: built without TCP\n", stderr);
	return X_UNAVAILABLE;
}

#else

#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>

#define MOST		64	/* slots */
#define JITTER		20	/* the time of a delivery differs by 1/JITTER */

static const char *portfile;

static void
local(struct sockaddr_in *sin, unsigned port)
{
	memset(sin, 0, sizeof(*sin));
	sin->sin_family = AF_INET;
	sin->sin_addr.s_addr = inet_addr("127.0.0.1");
	sin->sin_port = htons((unsigned short)port);
}

/* ---- the server ------------------------------------------------------ */

static struct {
	long	slots, ms;	/* ms: of one delivery */
	int	listener, n;	/* n slots are taken */
	int	fd[MOST];
	double	end[MOST];	/* mono; when the delivery is over */
} server = { 0, 100, -1, 0, { 0 }, { 0 } };

static void
die(const char *what)
{
	perror(what);
	exit(X_OSERR);
}

static void
answer(int fd, const char *s)
{
	fd_write(fd, s, strlen(s));
	close(fd);
}

/* Under another name first: it is there when it is complete. */
static void
tell_port(unsigned port)
{
	char part[1024];
	FILE *f;

	text_fmt(part, sizeof(part), "%s.part", portfile);
	f = fopen(part, "w");
	if (f == NULL)
		die(part);
	fprintf(f, "%u\n", port);
	if (fclose(f) != 0 || rename(part, portfile) != 0)
		die(portfile);
}

static void
open_port(void)
{
	struct sockaddr_in sin;
	socklen_t len = sizeof(sin);

	local(&sin, 0);
	server.listener = socket(AF_INET, SOCK_STREAM, 0);
	if (server.listener < 0 || bind(server.listener,
	    (struct sockaddr *)&sin, sizeof(sin)) < 0 ||
	    listen(server.listener, MOST) < 0 ||
	    getsockname(server.listener, (struct sockaddr *)&sin, &len) < 0)
		die("socket");
	fd_nonblock(server.listener);
	tell_port(ntohs(sin.sin_port));
}

static double
duration(void)
{
	double s = (double)server.ms / 1000;

	return s + s / JITTER * ((double)rnd(2001) / 1000 - 1);
}

static void
finish_due(void)
{
	int i, fd;

	for (i = 0; i < server.n; )
		if (server.end[i] > now.mono) {
			i++;
		} else {
			fd = server.fd[i];
			server.n--;
			server.fd[i] = server.fd[server.n];
			server.end[i] = server.end[server.n];
			answer(fd, "250 delivered\n");
		}
}

static void
take_new(void)
{
	int fd;

	while ((fd = accept(server.listener, NULL, NULL)) >= 0)
		if (server.n >= (int)server.slots) {
			answer(fd, "421 too many connections\n");
		} else {
			server.fd[server.n] = fd;
			server.end[server.n++] = now.mono + duration();
		}
}

/* Seconds until the next delivery is over. */
static double
due_in(void)
{
	double when = now.mono + 60;
	int i;

	for (i = 0; i < server.n; i++)
		if (server.end[i] < when)
			when = server.end[i];
	return when > now.mono ? when - now.mono : 0;
}

static void
serve(void)
{
	struct timeval tv;
	fd_set in;
	double wait;

	clock_read();
	rnd_seed((unsigned long)now.wall ^ (unsigned long)getpid() << 8);
	open_port();
	for (;;) {
		wait = due_in();
		tv.tv_sec = (long)wait;
		tv.tv_usec = (long)((wait - (double)tv.tv_sec) * 1e6);
		FD_ZERO(&in);
		FD_SET(server.listener, &in);
		select(server.listener + 1, &in, NULL, NULL, &tv);
		clock_read();
		finish_due();
		take_new();
	}
}

/* ---- the agent ------------------------------------------------------- */

static unsigned
read_port(void)
{
	char line[40];
	FILE *f = fopen(portfile, "r");

	if (f == NULL)
		return 0;
	if (fgets(line, sizeof(line), f) == NULL)
		line[0] = '\0';
	fclose(f);
	return (unsigned)num_of(line, NULL);
}

/* What the server says, at most size - 1 bytes of it. */
static void
deliver(char *said, size_t size)
{
	struct sockaddr_in sin;
	size_t n = 0;
	long got = 1;
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	local(&sin, read_port());
	if (fd < 0 || connect(fd, (struct sockaddr *)&sin, sizeof(sin)) < 0) {
		text_fmt(said, size, "no connection: %s", strerror(errno));
	} else {
		while (n + 1 < size && got > 0) {
			got = (long)read(fd, said + n, size - 1 - n);
			n += got > 0 ? (size_t)got : 0;
		}
		said[n] = '\0';
		said[strcspn(said, "\n")] = '\0';
	}
	if (fd >= 0)
		close(fd);
}

static void
work(struct lib_job *job)
{
	struct lib_rcpt *r;
	char said[200];

	deliver(said, sizeof(said));
	for (r = job->rcpts; r != NULL; r = r->next)
		if (strncmp(said, "250", 3) == 0)
			lib_report(job, r, 0, NULL, said, 0);
		else
			lib_report(job, r, X_TEMPFAIL, "4.3.2", said, 0);
}

int
main(int argc, char **argv)
{
	const char *channel = NULL;
	int c;

	while ((c = getopt(argc, argv, "c:s:t:")) != -1)
		switch (c) {
		case 'c': channel = optarg; break;
		case 's': server.slots = atol(optarg); break;
		case 't': server.ms = atol(optarg); break;
		default: return X_USAGE;
		}
	if (argc - optind != 1 || server.slots < 0 || server.slots > MOST ||
	    server.ms < 1 || (channel == NULL) == (server.slots == 0))
		return X_USAGE;
	portfile = argv[optind];
	signal(SIGPIPE, SIG_IGN);
	if (channel != NULL)
		return lib_run(channel, NULL, work);
	serve();
	return 0;
}

#endif
