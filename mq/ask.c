/*
 * ask.c - connects to a scheduler and asks for a dump.
 *
 * With a host or a port only TCP is used, with the path of a pipe only that
 * pipe.  Otherwise the post office's own pipe, the pipe at the rendezvous, and
 * port 174 of this machine are tried in turn, until one sends a byte.
 *
 * TCP: once we are connected, the scheduler sends its dump without a request.
 * We shut down our side of the connection at once: a scheduler of this package
 * takes that as a request for facts.  If the scheduler has protocol 2, we
 * connect once more and leave our side open, for commands.
 *
 * Pipes: the scheduler reads requests from a pipe at a known path, the request
 * pipe.  We make a pipe of our own next to it, PATH.SUFFIX, open it for
 * reading, and write a line with our suffix into the request pipe; the answer
 * comes through our pipe.  We remove our pipe when the first byte has come,
 * when none comes, or at a signal; a later mailq of the same user removes what
 * SIGKILL leaves.  Another user could have made the file at a known path:
 * unless an operator has named the path, the file is used only if it is a pipe
 * and belongs to root, to us, or to the post office's owner.
 *
 * Commands use pipes, too: the request pipe is .mailq.command in the post
 * office, and may belong to anybody; we make our own pipe in public/.
 *
 * Each wait has a limit: 10 seconds for a connection and a first byte, 60
 * seconds for silence after that.  While our pipe exists, a wait is a select of
 * at most a second, so that a signal is noticed.
 *
 * This module does not look into answers.
 */
#include "mq.h"
#include "../lib/agent.h"
#include <dirent.h>
#include <signal.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <netdb.h>
#endif

#define FIRST		10	/* seconds for a connection or a first byte */
#define SILENCE		60	/* seconds without a byte after the first one */
#define NAP		100000L	/* most microseconds between two reads */
#define REQUEST_MAX	512	/* bytes of a request; PIPE_BUF is never less */
#define LEFT_AGE	60	/* seconds; a younger pipe may be in use */
#define RENDEZVOUS	"/usr/tmp/.mailq.text"
#define PORT		"174"
#define TCP		2	/* number of the place after both pipes */

/* ---- waiting --------------------------------------------------------- */

static char fifo_path[MQ_PATH_MAX];	/* our pipe; "": none */
static volatile sig_atomic_t stopped;	/* the signal that ends us */
static const int stops[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM };

static void
keep_signal(int sig)
{
	stopped = sig;
}

static void
set_handlers(void (*handler)(int))
{
	size_t i;

	for (i = 0; i < sizeof(stops) / sizeof(*stops); i++)
		signal_set_unless_ignored(stops[i], handler);
	signal(SIGPIPE, handler == SIG_DFL ? SIG_DFL : SIG_IGN);
}

/* Removes our pipe, restores the handling of signals, and raises the signal
 * that has come meanwhile. */
static void
unlink_and_restore_signals(void)
{
	if (fifo_path[0] != '\0')
		unlink(fifo_path);
	fifo_path[0] = '\0';
	set_handlers(SIG_DFL);
	if (stopped)
		raise(stopped);
}

/* Sleeps until fd can be read, a signal comes, or the microseconds are over.
 * If fd is negative, only sleeps. */
static void
sleep_for(int fd, long us)
{
	fd_wait(fd, 0, (double)us / 1e6);
	if (stopped)
		unlink_and_restore_signals();
}

/* Returns the descriptor.  Closes a descriptor that is too large for select,
 * and returns -1 with errno. */
static int
refuse_large_fd(int fd)
{
	if (fd < FD_SETSIZE)
		return fd;
	close(fd);
	errno = EMFILE;
	return -1;
}

/* Returns the seconds of the span in $MAILQ_WAIT.  If it has no span, returns
 * the argument usual. */
static long
env_wait_limit(long usual)
{
	const char *s = getenv("MAILQ_WAIT");
	long span;

	if (s != NULL && span_parse(s, &span) == 0 && span > 0)
		return span;
	return usual;
}

/* ---- reading --------------------------------------------------------- */

/* Fills the buffer: 0, or -1 at the end or with an error in why. */
static int
fill_buffer(struct mq_in *in)
{
	long n, us = NAP / 64;
	long most = env_wait_limit(in->begun ? SILENCE : in->first);
	double until;

	clock_read();
	until = now.mono + (double)most;
	for (;;) {
		n = (long)read(in->fd, in->buf, sizeof(in->buf));
		if (n > 0)
			break;
		if (n == 0 && (in->begun || !in->fifo))
			return -1;
		if (n < 0 && errno != EINTR && errno != EAGAIN &&
		    errno != EWOULDBLOCK) {
			text_fmt(in->why, sizeof(in->why), "%s",
			    strerror(errno));
			return -1;
		}
		clock_read();
		if (now.mono >= until) {
			text_fmt(in->why, sizeof(in->why), "nothing came for "
			    "%ld seconds", most);
			in->silent = 1;
			return -1;
		}
		if (n < 0) {
			sleep_for(in->fd, 1000000L);
			continue;
		}
		sleep_for(-1, us);		/* our pipe has no writer yet */
		us = us < NAP / 2 ? us * 2 : NAP;
	}
	/* the scheduler has opened our pipe and no longer needs its path */
	if (!in->begun && in->fifo)
		unlink_and_restore_signals();
	in->begun = 1;
	in->have = (size_t)n;
	in->used = 0;
	return 0;
}

int
mq_read_byte(struct mq_in *in)
{
	if (in->used == in->have &&
	    (in->why[0] != '\0' || fill_buffer(in) < 0))
		return -1;
	return (unsigned char)in->buf[in->used++];
}

static void
in_start(struct mq_in *in, int fd, int fifo)
{
	in->fd = fd;
	in->fifo = fifo;
	in->begun = in->silent = 0;
	in->first = FIRST;
	in->have = in->used = 0;
	in->why[0] = '\0';
}

void
mq_ask_add_why(struct mq_ask *a, const char *f, ...)
{
	struct text t;
	va_list ap;
	size_t n = strlen(a->why);

	text_init(&t, a->why + n, sizeof(a->why) - n);
	if (n > 0)
		text_add(&t, "; ");
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
}

void
mq_ask_close(struct mq_ask *a)
{
	if (a->in.fd >= 0)
		close(a->in.fd);
	a->in.fd = -1;
	if (fifo_path[0] != '\0')
		unlink_and_restore_signals();
}

/* Waits for the first bytes: 0, or -1 after closing the connection and adding a
 * reason to a->why. */
static int
wait_answer(struct mq_ask *a, const char *where)
{
	if (fill_buffer(&a->in) == 0)
		return 0;
	a->silent |= a->in.silent;
	mq_ask_add_why(a, "%s: %s", where, a->in.why[0] != '\0' ? a->in.why :
	    "closed without an answer");
	mq_ask_close(a);
	return -1;
}

/* ---- pipes ----------------------------------------------------------- */

/* Opens the request pipe.  Returns a descriptor, or -1 with the reason in why;
 * NULL: the reason is errno. */
static int
open_request(struct mq_ask *a, const char *path, int trusted,
    const char **why)
{
	struct stat st, now_st, office;
	int fd;

	*why = NULL;
	if (lstat(path, &st) < 0) {
		if (errno == ENOENT)
			*why = "no scheduler has made it";
		return -1;
	}
	errno = EINVAL;		/* fail_pipe takes EACCES for a denied pipe, and
				 * errno may have it from an earlier call */
	if (!S_ISFIFO(st.st_mode)) {
		*why = "it is no pipe";
		return -1;
	}
	if (!trusted && st.st_uid != 0 && st.st_uid != geteuid() &&
	    (stat(a->postoffice, &office) < 0 ||
	    st.st_uid != office.st_uid)) {
		*why = "it is somebody else's; if you trust it, name it with "
		    "-q";
		return -1;
	}
	fd = open(path, O_WRONLY | O_NONBLOCK);
	if (fd < 0 && errno == ENXIO)
		*why = "no scheduler reads it";
	if (fd < 0)
		return -1;
	if (fstat(fd, &now_st) < 0 || !is_same_file(&now_st, &st)) {
		close(fd);
		errno = EINVAL;
		*why = "it was replaced meanwhile";
		return -1;
	}
	fd_cloexec(fd);
	return fd;
}

/* Returns 1 for a pipe of ours whose mailq was killed.  Such a pipe has no
 * reader and is old.  A young pipe without a reader may belong to a mailq that
 * has just made it and is about to open it. */
static int
is_left_pipe(const char *path, const char *suffix)
{
	const char *end;
	struct stat st;
	int fd;

	num_of(suffix, &end);
	if (end == suffix || *end != 'x' || lstat(path, &st) < 0 ||
	    !S_ISFIFO(st.st_mode) || st.st_uid != geteuid() ||
	    file_age((long)st.st_mtime) < LEFT_AGE)
		return 0;
	fd = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
	if (fd >= 0)
		close(fd);
	return fd < 0 && errno == ENXIO;
}

/* Removes pipes of killed runs beside base. */
static void
remove_left_pipes(const char *base)
{
	char path[MQ_PATH_MAX];
	const char *name = name_base(base);
	size_t dir = (size_t)(name - base), n = strlen(name);
	struct dirent *e;
	DIR *d = NULL;

	clock_read();
	if (text_fmt(path, sizeof(path), "%.*s.", (int)dir, base) == 0)
		d = opendir(path);
	while (d != NULL && (e = readdir(d)) != NULL)
		if (strncmp(e->d_name, name, n) == 0 && e->d_name[n] == '.' &&
		    text_fmt(path, sizeof(path), "%.*s%s", (int)dir, base,
		    e->d_name) == 0 && is_left_pipe(path, e->d_name + n + 1))
			unlink(path);
	if (d != NULL)
		closedir(d);
}

/* Makes our pipe, base.SUFFIX, and opens it.  Returns a descriptor, or -1 with
 * errno. */
static int
open_own(const char *base, char suffix[24], mode_t mode)
{
	mode_t mask = umask(0);
	int fd, i, err, made = -1;

	rnd_seed((unsigned long)time(NULL) ^ ((unsigned long)getpid() << 16));
	set_handlers(keep_signal);	/* before there is a pipe to remove */
	for (i = 0; i < 20 && made < 0; i++) {
		text_fmt(suffix, 24, "%lux%lu", (unsigned long)getpid() %
		    1000000000UL, rnd(1000000000UL));
		if (text_fmt(fifo_path, sizeof(fifo_path), "%s.%s", base,
		    suffix) < 0) {
			errno = ENAMETOOLONG;
			break;
		}
		made = mkfifo(fifo_path, mode);
		if (made < 0 && errno != EEXIST)
			break;
	}
	umask(mask);
	if (made < 0) {
		err = errno;
		fifo_path[0] = '\0';
		unlink_and_restore_signals();
		errno = err;
		return -1;
	}
	fd = refuse_large_fd(open(fifo_path, O_RDONLY | O_NONBLOCK));
	if (fd >= 0)
		fd_cloexec(fd);
	return fd;
}

/* Writes the words and our suffix by one write, and waits while the pipe is
 * full: 0, or -1 with errno.  The LF before the words ends a line that another
 * program left unfinished. */
static int
send_request(int fd, const char *words, const char *suffix)
{
	char line[REQUEST_MAX + 1];
	double until;
	size_t n;
	long k;

	if (text_fmt(line, sizeof(line), "\n%s %s\n", words, suffix) < 0) {
		errno = E2BIG;
		return -1;
	}
	n = strlen(line);
	clock_read();
	until = now.mono + (double)env_wait_limit(FIRST);
	while ((k = (long)write(fd, line, n)) < 0 &&
	    (errno == EAGAIN || errno == EINTR)) {
		clock_read();
		if (now.mono >= until)
			break;
		sleep_for(-1, NAP);
	}
	return k == (long)n ? 0 : -1;
}

/* Adds why the pipe cannot be used, by errno if why is NULL.  Returns -1. */
static int
fail_pipe(struct mq_ask *a, const char *path, const char *why)
{
	a->denied |= errno == EACCES;
	mq_ask_add_why(a, "%s: %s", path, why != NULL ? why : strerror(errno));
	mq_ask_close(a);
	return -1;
}

/* Writes a request to the request pipe at path, and lets a->in read the answer
 * from our pipe, base.SUFFIX: 0, or -1 with a reason in a->why.  base is path,
 * or for a command a path in public/. */
static int
send_words(struct mq_ask *a, const char *path, const char *base, int trusted,
    const char *words)
{
	const char *why;
	char suffix[24];
	int request = open_request(a, path, trusted, &why), ours, rc;
	struct stat st;

	if (request < 0)
		return fail_pipe(a, path, why);
	if (!a->cleared)
		remove_left_pipes(base);
	a->cleared = 1;
	/* a scheduler of another user must be able to write to our pipe */
	ours = fstat(request, &st) == 0 &&
	    (st.st_uid == 0 || st.st_uid == geteuid());
	in_start(&a->in, open_own(base, suffix, ours ? 0600 : 0622), 1);
	if (a->in.fd < 0) {
		rc = fail_pipe(a, base, errno != EACCES ? NULL :
		    "you may not make a pipe next to it");
	} else {
		rc = send_request(request, words, suffix);
		if (rc < 0)
			fail_pipe(a, path, errno != EAGAIN ? NULL :
			    "it is full of requests; try again");
	}
	close(request);
	return rc;
}

/* Asks for a dump: 0 if the pipe answers, else -1 with a reason in a->why. */
static int
ask_pipe(struct mq_ask *a, const char *path, int trusted)
{
	a->local = 1;
	if (send_words(a, path, path, trusted, "dump") < 0)
		return -1;
	return wait_answer(a, path);
}

/* ---- TCP ------------------------------------------------------------- */

#ifndef NO_TCP

/* Waits until the connection is made or refused.  Returns 0 for both, as the
 * first read tells which it was; or -1 with errno. */
static int
wait_connect_end(int fd)
{
	enum wait_result waited;

	do
		waited = fd_wait(fd, 1, (double)env_wait_limit(FIRST));
	while (waited == WAIT_FAILED && errno == EINTR);
	if (waited == WAIT_TIMEOUT)
		errno = ETIMEDOUT;
	return waited == WAIT_READY ? 0 : -1;
}

static int
connect_to(const struct sockaddr_in *sin)
{
	int was, fd = refuse_large_fd(socket(AF_INET, SOCK_STREAM, 0));

	if (fd < 0)
		return -1;
	fd_nonblock(fd);
	if (connect(fd, (const struct sockaddr *)sin, sizeof(*sin)) == 0 ||
	    ((errno == EINPROGRESS || errno == EINTR) &&
	    wait_connect_end(fd) == 0))
		return fd;
	was = errno;
	close(fd);
	errno = was;
	return -1;
}

/* Returns the port in network order, or 0. */
static int
find_port(const char *s)
{
	struct servent *service;
	unsigned long n;

	if (num_upto(s, 65535UL, &n, NULL) == 0)
		return htons((unsigned short)n);
	service = getservbyname(s, "tcp");
	return service == NULL ? 0 : service->s_port;
}

/* Connects to the next addresses of the host: 0 if one answers, -1 if none is
 * left. */
static int
ask_tcp(struct mq_ask *a, const char *host, const char *port)
{
	char where[400];
	struct sockaddr_in sin;
	struct hostent *h;
	const char *hint = "";
	int number = find_port(port);

	if (number == 0) {
		mq_ask_add_why(a, "there is no port %.100s", port);
		return -1;
	}
	for (;;) {
		h = gethostbyname(host);
		if (h == NULL || h->h_addrtype != AF_INET) {
			/* five digits: probably the name of a message */
			if (strspn(host, "0123456789") > 4)
				hint = "; to see a message: mailq show NAME";
			else if (strchr(host, '.') == NULL)
				hint = ", and no command has this name";
			mq_ask_add_why(a, "%.200s: the host is not known%s",
			    host, hint);
			return -1;
		}
		if (h->h_addr_list[a->address] == NULL)
			return -1;
		memset(&sin, 0, sizeof(sin));
		sin.sin_family = AF_INET;
		sin.sin_port = (unsigned short)number;
		memcpy(&sin.sin_addr, h->h_addr_list[a->address++],
		    sizeof(sin.sin_addr));
		a->local = (ntohl(sin.sin_addr.s_addr) >> 24) == 127;
		text_fmt(where, sizeof(where), "port %.100s of %s", port,
		    inet_ntoa(sin.sin_addr));
		in_start(&a->in, connect_to(&sin), 0);
		if (a->in.fd >= 0 && !a->two)
			shutdown(a->in.fd, 1);
		if (a->in.fd < 0)
			mq_ask_add_why(a, "%s: %s", where, strerror(errno));
		else if (wait_answer(a, where) == 0)
			return 0;
	}
}

#else

static int
ask_tcp(struct mq_ask *a, const char *host, const char *port)
{
	(void)host;
	(void)port;
	mq_ask_add_why(a, "this mailq was built without TCP");
	return -1;
}

#endif

/* ---- in turn --------------------------------------------------------- */

int
mq_ask_next(struct mq_ask *a)
{
	const char *path;

	mq_ask_close(a);
	if (a->host != NULL || a->port != NULL)
		a->place = TCP;
	else if (a->pipe != NULL)
		return a->place++ == 0 ? ask_pipe(a, a->pipe, 1) : -1;
	while (a->place < TCP) {
		path = a->rendezvous != NULL ? a->rendezvous : RENDEZVOUS;
		if (a->place++ == 0)
			path = path_in(a->postoffice, "public/.mailq.text");
		if (ask_pipe(a, path, 0) == 0)
			return 0;
	}
	return ask_tcp(a, a->host != NULL ? a->host : "127.0.0.1",
	    a->port != NULL ? a->port : PORT);
}

int
mq_ask_again(struct mq_ask *a)
{
	a->two = 1;
	a->address--;
	return mq_ask_next(a);
}

int
mq_ask_command(struct mq_ask *a, const char *verb, const char *what)
{
	const char *path = path_in(a->postoffice, ".mailq.command");
	const char *base = path_in(a->postoffice, "public/.mailq.command");
	char words[REQUEST_MAX];

	if (text_fmt(words, sizeof(words), "%s %s", verb, what) < 0) {
		mq_ask_add_why(a, "the command is too long");
		return -1;
	}
	if (send_words(a, path, base, 1, words) < 0)
		return -1;
	a->in.first = SILENCE;	/* the command may take long */
	return wait_answer(a, path);
}
