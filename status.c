/*
 * status.c - the doors at which mailq asks.
 *
 *	a TCP port	whoever connects gets a dump (PARAMmailqsock)
 *	a named pipe	"dump SUFFIX": the dump goes into the asker's own
 *			pipe, which is called like this one and .SUFFIX
 *	another one	in the post office, for its owner and group: "VERB
 *			WHAT SUFFIX", answered through a pipe in public/
 *
 * A dump is made by a child process (dump.c), so the queue is never waited
 * for and never waits.  There are so many of them at a time; further askers
 * wait in line, as open descriptors, and further still outside the door.  A
 * child whose reader takes nothing ends by itself; when others wait for its
 * place it is ended sooner.
 *
 * Nothing that an asker says is trusted: a request is one short line of known
 * words, and a suffix is letters and digits.  What is opened for writing is a
 * pipe or nothing: looked at before and after, never by a link, never waiting
 * for a reader.  Who gave a command is the owner of his pipe.
 *
 * The descriptors that read requests also have a writer of ours, so that they
 * never see an end.
 */
#include "scheduler.h"
#include <signal.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <netdb.h>
#endif
#ifdef NO_SYMLINK
#define lstat stat
#endif

#define PORT		174	/* where ZMailer's mailq asks */
#define DUMPS		16	/* at one time */
#define ASKERS		16	/* that wait for one */
#define EACH		4	/* of both together for one user, us and root
				 * excepted */
#define PATIENCE	3	/* seconds for a dump when others wait */
#define BIND_AGAIN	30	/* seconds until a taken port is tried again */
#define OPEN_AGAIN	3	/* ... a taken pipe */
#define REQUEST_MOST	2100	/* bytes in a request */
#define SUFFIX_MOST	20
#define TMP_PIPE	"/usr/tmp/.mailq.text"

/* A pipe for requests. */
struct door {
	char	path[PATH_MAX_];
	char	reply[PATH_MAX_];	/* of answers, up to the suffix */
	int	in, keep;		/* our ends, -1: closed */
	int	overlong;		/* the line at hand is thrown away */
	size_t	used;
	char	part[REQUEST_MOST];	/* a line not yet ended */
};

static struct {
	int	tcp;			/* listens, or -1 */
	double	bind_at;		/* mono; try again then, 0: no need */
	int	bind_said;		/* that it cannot be had */
	int	found;			/* as of address_of */
#ifndef NO_TCP
	struct sockaddr_in at;
#endif
	double	rest;			/* mono; no caller is taken until */
	struct door ask, order;
	double	open_at;		/* mono; try the pipes again, 0: no need */
	int	open_said;		/* that one cannot be had */
	struct {
		long	pid;		/* 0: free */
		long	uid;		/* of the asker, -1: not known */
		double	since;		/* mono */
	} dump[DUMPS];
	struct {
		int	fd;
		long	uid;
	} asker[ASKERS];		/* the first nasker wait */
	unsigned nasker;
	double	said;			/* mono; when rubbish was last logged */
} st;

/* ---- the port -------------------------------------------------------- */

#ifdef NO_TCP
static void
bind_port(void)
{
}

void
status_listen(void)
{
}
#else
/* Where to listen, by PARAMmailqsock: 1, 0 nowhere, -1 the host is not
 * known. */
static int
address_of(struct sockaddr_in *a)
{
	const char *s = q.config->mailqsock, *port;
	struct hostent *h;
	char host[256];

	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->sin_port = htons(PORT);
	if (s == NULL)
		return 1;
	if (strcmp(s, "none") == 0)
		return 0;
	s += strlen("TCP:");
	port = strchr(s, ':');
	if (port == NULL) {
		a->sin_port = htons((unsigned short)num_of(s, NULL));
		return 1;
	}
	text_fmt(host, sizeof(host), "%.*s", (int)(port - s), s);
	a->sin_port = htons((unsigned short)num_of(port + 1, NULL));
	h = gethostbyname(host);
	if (h == NULL || h->h_addrtype != AF_INET)
		return -1;
	memcpy(&a->sin_addr, h->h_addr_list[0], sizeof(a->sin_addr));
	return 1;
}

/* Takes the port; a name was looked up before, since that may last. */
static void
bind_port(void)
{
	int on = 1;

	if (st.tcp >= 0)
		close(st.tcp);
	st.tcp = -1;
	st.bind_at = 0;
	if (st.found == 0)
		return;
	errno = 0;
	if (st.found > 0)
		st.tcp = socket(AF_INET, SOCK_STREAM, 0);
	if (st.tcp >= 0 && setsockopt(st.tcp, SOL_SOCKET, SO_REUSEADDR,
	    (void *)&on, sizeof(on)) == 0 &&
	    bind(st.tcp, (struct sockaddr *)(void *)&st.at,
	    sizeof(st.at)) == 0 &&
	    listen(st.tcp, 5) == 0 && fd_nonblock(st.tcp) == 0 &&
	    fd_cloexec(st.tcp) == 0) {
		st.bind_said = 0;
		return;
	}
	/* without root the usual port is not to be had: no fault */
	if (!st.bind_said && (errno != EACCES || q.config->mailqsock != NULL))
		log_err("mailq port=%u %s; mailq can ask at pipe=%s",
		    (unsigned)ntohs(st.at.sin_port), st.found < 0 ?
		    "the host is not known until the next reload" :
		    strerror(errno), st.ask.path);
	st.bind_said = 1;
	if (errno != EACCES && st.found > 0)
		st.bind_at = now.mono + BIND_AGAIN;
	if (st.tcp >= 0)
		close(st.tcp);
	st.tcp = -1;
}

void
status_listen(void)
{
	struct sockaddr_in was = st.at;

	st.found = address_of(&st.at);
	if (st.tcp < 0 || st.found <= 0 ||
	    was.sin_port != st.at.sin_port ||
	    was.sin_addr.s_addr != st.at.sin_addr.s_addr)
		bind_port();
}
#endif

/* ---- dumps ----------------------------------------------------------- */

/* May it be logged?  Once a second at most, or whoever can ask could fill the
 * disk. */
static int
may_say(void)
{
	if (st.said + 1 > now.mono)
		return 0;
	st.said = now.mono;
	return 1;
}

/* A dump that goes into a file, which gets its name when it is whole. */
struct file {
	char	fresh[PATH_MAX_], path[PATH_MAX_];
};

/* The child's whole life, with nothing of ours but the queue. */
static void
be_dump(int fd, const struct file *file)
{
	int bad;

	static const int ours[] = { SIGCHLD, SIGHUP, SIGUSR1, SIGUSR2, SIGTERM,
	    SIGINT, SIGQUIT, SIGALRM };
	size_t k;
	int i;

	for (k = 0; k < sizeof(ours) / sizeof(ours[0]); k++)
		signal(ours[k], SIG_DFL);
	for (i = 3; i < FD_SETSIZE; i++)	/* all that select can wait for */
		if (i != fd)
			close(i);
	fcntl(fd, F_SETFL, 0);	/* from here on it may block */
	bad = dump_queue(fd) < 0;
	if (file != NULL && !bad)
		bad = rename(file->fresh, file->path) < 0;
	_exit(bad);
}

/* A dump for whoever reads fd, which is closed: 0, or -1 with errno. */
static int
start_dump(int fd, long uid, const struct file *file)
{
	long pid;
	int i, err;

	for (i = 0; st.dump[i].pid != 0; i++)
		;
	log_flush();		/* or it is written twice */
	pid = (long)fork();
	err = errno;
	if (pid == 0)
		be_dump(fd, file);
	if (pid < 0)
		fd_write(fd, "busy no process for a dump now\n", 31);
	close(fd);
	errno = err;
	if (pid < 0)
		return -1;
	st.dump[i].pid = pid;
	st.dump[i].uid = uid;
	st.dump[i].since = now.mono;
	return 0;
}

static int
free_dump(void)
{
	int i;

	for (i = 0; i < DUMPS; i++)
		if (st.dump[i].pid == 0)
			return 1;
	return 0;
}

/* Whoever waits gets what is free. */
static void
serve(void)
{
	unsigned i;

	for (i = 0; i < st.nasker && free_dump(); i++)
		if (start_dump(st.asker[i].fd, st.asker[i].uid, NULL) < 0 &&
		    may_say())
			log_warn("mailq fork %s", strerror(errno));
	memmove(st.asker, st.asker + i, (st.nasker - i) * sizeof(*st.asker));
	st.nasker -= i;
}

/* Has this user more dumps and places in the line than are his?  Those who
 * have not got any shall not wait for him. */
static int
too_many(long uid)
{
	unsigned i, n = 0;

	if (uid <= 0 || uid == (long)geteuid())
		return 0;
	for (i = 0; i < DUMPS; i++)
		n += st.dump[i].pid != 0 && st.dump[i].uid == uid;
	for (i = 0; i < st.nasker; i++)
		n += st.asker[i].uid == uid;
	return n >= EACH;
}

static void
enqueue(int fd, long uid)
{
	static const char busy[] = "busy you have asked too often at once\n";

	if (too_many(uid)) {
		fd_write(fd, busy, sizeof(busy) - 1);
		close(fd);
		return;
	}
	st.asker[st.nasker].fd = fd;
	st.asker[st.nasker++].uid = uid;
	serve();
}

int
status_reaped(long pid)
{
	int i;

	for (i = 0; i < DUMPS; i++)
		if (st.dump[i].pid == pid) {
			st.dump[i].pid = 0;
			serve();
			return 1;
		}
	return 0;
}

/* The dump that has taken longest. */
static int
slowest(void)
{
	int i, worst = 0;

	for (i = 1; i < DUMPS; i++)
		if (st.dump[i].since < st.dump[worst].since)
			worst = i;
	return worst;
}

/* SIGUSR2: a dump for a person, beside the log. */
void
status_file(void)
{
	struct file file;
	const char *dir = opt.logdir, *slash = opt.logfile == NULL ? NULL :
	    strrchr(opt.logfile, '/');
	int fd, n = (int)strlen(dir);

	if (slash != NULL) {
		dir = opt.logfile;
		n = (int)(slash - dir);
	}
	if (!free_dump()) {
		log_err("dump too many are being made");
		return;
	}
	text_fmt(file.path, sizeof(file.path), "%.*s/scheduler.queue", n, dir);
	text_fmt(file.fresh, sizeof(file.fresh), "%s.new", file.path);
	unlink(file.fresh);
	fd = fd_own(file.fresh, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || start_dump(fd, 0, &file) < 0) {
		log_err("dump file=%s %s", file.path, strerror(errno));
		unlink(file.fresh);
	} else {
		log_info("dump file=%s", file.path);
	}
}

/* ---- callers --------------------------------------------------------- */

static void
take_callers(void)
{
#ifndef NO_TCP
	int fd = 0;

	while (st.nasker < ASKERS && (fd = accept(st.tcp, NULL, NULL)) >= 0) {
		fd_cloexec(fd);
		enqueue(fd, -1);
	}
	/* with no descriptor left it would be told of them all the time */
	if (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK &&
	    errno != EINTR)
		st.rest = now.mono + 1;
#endif
}

/* ---- pipes ----------------------------------------------------------- */

static int
open_fifo(const char *path, int flags)
{
#ifdef O_NOFOLLOW
	flags |= O_NOFOLLOW;
#endif
	return open(path, flags | O_NONBLOCK | O_NOCTTY);
}

/* An asker's pipe, whose owner is told: -1 when it is none, or has nobody
 * who reads. */
static int
open_reply(const struct door *d, const char *suffix, long *uid)
{
	char path[PATH_MAX_ + SUFFIX_MOST + 2];
	struct stat before, st1;
	int fd;

	text_fmt(path, sizeof(path), "%s.%s", d->reply, suffix);
	if (lstat(path, &before) < 0 || !S_ISFIFO(before.st_mode))
		return -1;
	fd = open_fifo(path, O_WRONLY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st1) < 0 || !S_ISFIFO(st1.st_mode) ||
	    st1.st_ino != before.st_ino || st1.st_dev != before.st_dev) {
		close(fd);
		return -1;
	}
	fd_cloexec(fd);
	*uid = (long)st1.st_uid;
	return fd;
}

static void
close_door(struct door *d)
{
	if (d->in < 0)
		return;
	close(d->in);
	close(d->keep);
	unlink(d->path);
	d->in = d->keep = -1;
}

/* A pipe that nobody reads was left behind, and goes.  0; -1: the name is
 * taken. */
static int
clear_way(const char *path)
{
	struct stat there;
	int fd;

	if (lstat(path, &there) < 0)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISFIFO(there.st_mode)) {
		errno = EEXIST;
		return -1;
	}
	fd = open_fifo(path, O_WRONLY);
	if (fd >= 0) {
		close(fd);
		errno = EBUSY;
		return -1;
	}
	return unlink(path);
}

/* Makes the pipe and opens it: 0, or -1 with errno. */
static int
open_door(struct door *d, const char *path, const char *reply, int mode)
{
	struct stat there;
	mode_t mask;
	int made;

	if (text_fmt(d->path, sizeof(d->path), "%s", path) < 0 ||
	    text_fmt(d->reply, sizeof(d->reply), "%s", reply) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (clear_way(path) < 0)
		return -1;
	mask = umask(0);
	made = mkfifo(path, (mode_t)mode);
	umask(mask);
	if (made < 0)
		return -1;
	d->in = open_fifo(path, O_RDONLY);
	d->keep = d->in < 0 ? -1 : open_fifo(path, O_WRONLY);
	if (d->keep >= 0 && fstat(d->in, &there) == 0 &&
	    S_ISFIFO(there.st_mode) && there.st_uid == geteuid() &&
	    fd_cloexec(d->in) == 0 && fd_cloexec(d->keep) == 0)
		return 0;
	if (d->in >= 0)
		close(d->in);
	if (d->keep >= 0)
		close(d->keep);
	d->in = d->keep = -1;
	return -1;
}

static void
open_ask(void)
{
	char path[PATH_MAX_];
	const char *pipe = opt.rendezvous != NULL ? opt.rendezvous : TMP_PIPE;
	int err;

	if (open_door(&st.ask, pipe, pipe, 0622) == 0)
		return;
	err = errno;
	if (!st.open_said && (opt.rendezvous != NULL ||
	    (err != ENOENT && err != EBUSY)))
		log_err("mailq pipe=%s %s", pipe, strerror(err));
	text_fmt(path, sizeof(path), "%s/public/.mailq.text", opt.postoffice);
	if (open_door(&st.ask, path, path, 0622) < 0 && !st.open_said)
		log_err("mailq pipe=%s %s", path, strerror(errno));
}

static void
open_order(void)
{
	char path[PATH_MAX_], reply[PATH_MAX_];
	struct stat office;

	text_fmt(path, sizeof(path), "%s/.mailq.command", opt.postoffice);
	text_fmt(reply, sizeof(reply), "%s/public/.mailq.command",
	    opt.postoffice);
	if (open_door(&st.order, path, reply, 0620) < 0) {
		if (!st.open_said)
			log_err("mailq pipe=%s %s", path, strerror(errno));
		return;
	}
	if (stat(opt.postoffice, &office) < 0 ||
	    fchown(st.order.in, geteuid() == 0 ? office.st_uid :
	    (uid_t)-1, office.st_gid) < 0)
		log_warn("mailq pipe=%s cannot get the owner of the post "
		    "office: %s", path, strerror(errno));
}

/* Opens the doors that are not open.  After a crash somebody may still hold
 * what was left behind for a moment: then it is tried again. */
static void
open_doors(void)
{
	int closed;

	if (st.ask.in < 0)
		open_ask();
	if (st.order.in < 0)
		open_order();
	closed = st.ask.in < 0 || st.order.in < 0;
	st.open_at = closed ? now.mono + OPEN_AGAIN : 0;
	if (!closed || !st.open_said)
		log_info("mailq pipe=%s commands=%s", st.ask.in < 0 ? "none" :
		    st.ask.path, st.order.in < 0 ? "none" : st.order.path);
	st.open_said = closed;
}

/* ---- requests -------------------------------------------------------- */

static void
rubbish(const struct door *d, const char *why, const char *line)
{
	if (may_say())
		log_warn("mailq pipe=%s %s: %.100s", d->path, why, line);
}

static int
is_suffix(const char *s)
{
	size_t n = strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789");

	return n > 0 && n <= SUFFIX_MOST && s[n] == '\0';
}

/* Splits at single blanks into n words: 0 or -1. */
static int
split(char *line, char *word[], int n)
{
	int i;

	for (i = 0; i < n; i++) {
		word[i] = line;
		line += strcspn(line, " ");
		if (word[i] == line || (*line == '\0') != (i == n - 1))
			return -1;
		*line++ = '\0';
	}
	return 0;
}

static int
is_clean(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 127)
			return 0;
	return 1;
}

static void
asked(struct door *d, char *line)
{
	char *word[2];
	long uid;
	int fd;

	if (split(line, word, 2) < 0 || strcmp(word[0], "dump") != 0 ||
	    !is_suffix(word[1])) {
		rubbish(d, "not a request", line);
		return;
	}
	fd = open_reply(d, word[1], &uid);
	if (fd < 0)
		rubbish(d, "no pipe of an asker", word[1]);
	else
		enqueue(fd, uid);
}

static void
ordered(struct door *d, char *line)
{
	char answer[1200], *word[3];
	struct text t;
	long uid;
	int fd;

	if (split(line, word, 3) < 0 || !is_suffix(word[2])) {
		rubbish(d, "not a command", line);
		return;
	}
	fd = open_reply(d, word[2], &uid);
	if (fd < 0) {
		rubbish(d, "no pipe of an asker, nothing done", word[2]);
		return;
	}
	text_init(&t, answer, sizeof(answer) - 1);
	admin_do(word[0], word[1], uid, &t);
	answer[t.len++] = '\n';
	fd_write(fd, answer, t.len);	/* less than a pipe always takes */
	close(fd);
}

/* The bytes that have come, line by line. */
static void
take(struct door *d, const char *s, size_t n,
    void (*act)(struct door *, char *))
{
	for (; n > 0; s++, n--) {
		if (*s != '\n') {
			if (d->used < sizeof(d->part) - 1 && *s != '\0')
				d->part[d->used++] = *s;
			else
				d->overlong = 1;
			continue;
		}
		d->part[d->used] = '\0';
		if (d->overlong || !is_clean(d->part))
			rubbish(d, "a line too long or not of text", "");
		else
			act(d, d->part);
		d->used = 0;
		d->overlong = 0;
	}
}

#define SHORTEST	7	/* bytes: "dump 1\n" */

/* Reads no more requests than there is room for askers. */
static void
read_door(struct door *d, void (*act)(struct door *, char *), unsigned room)
{
	char buf[512];
	size_t most = room * SHORTEST;
	long n;

	n = (long)read(d->in, buf, most < sizeof(buf) ? most : sizeof(buf));
	if (n > 0)
		take(d, buf, (size_t)n, act);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		rubbish(d, "cannot be read", strerror(errno));
}

/* ---- the loop's verbs ------------------------------------------------ */

static void
add(int fd, fd_set *in, int *max)
{
	if (fd < 0 || fd >= FD_SETSIZE)
		return;
	FD_SET(fd, in);
	if (fd > *max)
		*max = fd;
}

void
status_prep(fd_set *in, int *max)
{
	if (st.nasker < ASKERS) {
		if (st.rest <= now.mono)
			add(st.tcp, in, max);
		add(st.ask.in, in, max);
	}
	add(st.order.in, in, max);
}

void
status_do(fd_set *in)
{
	if (st.tcp >= 0 && FD_ISSET(st.tcp, in))
		take_callers();
	if (st.ask.in >= 0 && FD_ISSET(st.ask.in, in) && st.nasker < ASKERS)
		read_door(&st.ask, asked, ASKERS - st.nasker);
	if (st.order.in >= 0 && FD_ISSET(st.order.in, in))
		read_door(&st.order, ordered, ASKERS);
}

/* Others wait: one that takes too long has to go. */
void
status_timers(void)
{
	int i = slowest();

	if (st.bind_at > 0 && st.bind_at <= now.mono)
		bind_port();
	if (st.open_at > 0 && st.open_at <= now.mono)
		open_doors();
	if (st.nasker == 0 || st.dump[i].pid == 0 ||
	    st.dump[i].since + PATIENCE > now.mono)
		return;
	if (may_say())
		log_info("mailq pid=%ld uid=%ld reads too slowly while others "
		    "wait", st.dump[i].pid, st.dump[i].uid);
	kill((pid_t)st.dump[i].pid, SIGKILL);
	st.dump[i].since = now.mono;	/* its end will be told to us */
}

double
status_wait(void)
{
	double when = now.mono + 3600;

	if (st.rest > now.mono)
		when = st.rest;
	if (st.bind_at > 0 && st.bind_at < when)
		when = st.bind_at;
	if (st.open_at > 0 && st.open_at < when)
		when = st.open_at;
	if (st.nasker > 0 && st.dump[slowest()].since + PATIENCE < when)
		when = st.dump[slowest()].since + PATIENCE;
	return when > now.mono ? when - now.mono : 0;
}

void
status_open(void)
{
	st.tcp = st.ask.in = st.ask.keep = st.order.in = st.order.keep = -1;
	st.said = -1000;
	open_doors();
	status_listen();
}

void
status_close(void)
{
	int i;

	for (i = 0; i < DUMPS; i++)
		if (st.dump[i].pid != 0)
			kill((pid_t)st.dump[i].pid, SIGKILL);
	close_door(&st.ask);
	close_door(&st.order);
}
