/*
 * status.c - queries and commands: what mailq asks, and what operators order.
 *
 *	dump 7f		into the named pipe of queries; the queue in writing
 *			goes into the pipe of the same name and ".7f"
 *	hold smtp/a.test 7f
 *			into the pipe of commands; "ok smtp/a.test is held,
 *			3 jobs" goes into public/.mailq.command.7f
 *
 * Whoever connects to the TCP port of PARAMmailqsock gets the queue, too.  The
 * pipe of commands is in the post office, for its owner and group.
 *
 * The queue is written by a child process (dump.c), so it is never waited for
 * and never waits.  There are four of them at most, and a fifth for our own
 * user and root.  When all are at work the next query waits, and any further
 * one is told that we are busy; a child whose reader takes nothing for two
 * seconds then ends.
 *
 *	flush	what waits is tried now: times of its own, a dead host, a
 *		T line not come; limits and holds stay
 *	hold	nothing more of it is given to agents, nor expires
 *	release	ends such a hold
 *	delete	nobody gets it, nobody is told; what failed before is told all
 *		the same, unless that is all there is left of a message
 *	bounce	it expires now
 *
 * A command is on a message, by its name, or on addresses, by a pattern for
 * channel/host; flush and release also on all.  A job that an agent has is not
 * taken from it: what is wanted happens when it is reported.  A command may go
 * over everything in core, but what needs the disk is worked off beside the
 * mail (queue.c) when it is much.  Each gets an answer for people, which begins
 * with "ok" or "no", and a line in the log with who gave it.
 *
 * Nothing that comes in is trusted: a request is one short line of known words,
 * and a suffix is letters and digits.  What is opened for writing is a pipe or
 * nothing: looked at before and after, never by a link, never waiting for a
 * reader.  Who gave a command is the owner of his pipe.
 */
#include "scheduler.h"
#include <ctype.h>
#include <signal.h>
#include <sys/wait.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#endif
#ifdef NO_SYMLINK
#define lstat stat
#endif

#define PORT		174	/* where ZMailer's mailq asks */
#define DUMPS		4	/* at one time, and one for us and root */
#define HURRY		1	/* seconds until they are told again that
				 * somebody waits */
#define BIND_AGAIN	30	/* seconds until a taken port is tried again */
#define OPEN_AGAIN	3	/* ... a taken pipe */
#define REQUEST_MOST	2100	/* bytes in a request */
#define SUFFIX_MOST	20
#define TMP_PIPE	"/usr/tmp/.mailq.text"
#define AT_ONCE	100	/* jobs ended before the answer: more would hold up
			 * mail */

/* A pipe for requests.  It has a writer of ours, so that it never ends. */
struct inlet {
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
#ifndef NO_TCP
	struct sockaddr_in at;		/* where; no family: nowhere */
#endif
	double	rest;			/* mono; no caller is taken until */
	struct inlet query, command;
	double	open_at;		/* mono; try the pipes again, 0: no need */
	int	open_said;		/* that one cannot be had */
	long	dump[DUMPS + 1];	/* process numbers, 0: free; the last is
					 * for us and root */
	int	next;			/* the query that waits, -1: none */
	double	hurry_at;		/* mono; with a next */
	double	said;			/* mono; when rubbish was last logged */
} st;

/* ---- commands: what they are about ------------------------------------ */

/* A command while it is being done. */
struct operation {
	const char *what;
	struct message *msg;	/* it names a message, or NULL */
	char	**patterns;	/* it names addresses, or NULL; neither: all */
	struct text *answer;
	unsigned done, later, soon, failed;	/* vertices */
	unsigned held;			/* ... that a flush does not touch */
	unsigned evicted;		/* ... that are called in for it */
};

static struct message *
find_message(const char *name)
{
	struct message *m = q_find(num_of(name, NULL), NULL);

	while (m != NULL && strcmp(name_base(m->name), name) != 0)
		m = q_find(m->link.hash, m);
	return m;
}

/* Is this channel and host meant? */
static int
matches(const void *operation, const struct chan *chan, const char *host)
{
	const struct operation *r = operation;
	char address[2 * WORD_MAX_];
	char **p = r->patterns;

	if (p == NULL)
		return 1;
	text_fmt(address, sizeof(address), "%s/%s", chan->name, host);
	while (*p != NULL && !pat_means(*p, address))
		p++;
	return *p != NULL;
}

/* Does act with each vertex that is meant and not done. */
static void
each_vertex(struct operation *r,
    void (*act)(struct operation *, struct vertex *))
{
	struct message *m;
	struct vertex *v;
	struct hlink *l;
	unsigned i;

	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			if (r->msg != NULL && r->msg != m)
				continue;
			for (v = msg_first(m); v != NULL; v = msg_next(v))
				if (v->state != V_DONE &&
				    matches(r, v->thread->ring->chan,
				    v->thread->host))
					act(r, v);
		}
}

/* ---- commands: verbs -------------------------------------------------- */

static void
say_how_many(struct operation *r, const char *did)
{
	if (r->done + r->later + r->soon + r->failed == 0) {
		text_add(r->answer, "no nothing in the queue is %s", r->what);
		return;
	}
	text_add(r->answer, "%s %u %s", r->failed > 0 ? "no" : "ok", r->done,
	    did);
	if (r->soon > 0)
		text_add(r->answer, ", %u more are being worked off", r->soon);
	if (r->later > 0)
		text_add(r->answer, ", %u when their agents have reported",
		    r->later);
	if (r->failed > 0)
		text_add(r->answer, ", %u not: the spool cannot be written to",
		    r->failed);
}

/* What a flush finds: held, with an agent, or to be tried. */
static void
flush_one(struct operation *r, struct vertex *v)
{
	if (v->state == V_HELD || v->thread->held != NULL) {
		r->held++;
	} else if (v->state == V_FED) {
		r->later++;
	} else {
		r->done++;
		if (r->msg != NULL)
			th_flush_one(v);
	}
}

static void
say_flushed(struct operation *r)
{
	if (r->done + r->later + r->held + r->evicted == 0) {
		if (r->patterns != NULL)
			say_how_many(r, "");
		else
			text_add(r->answer, "ok nothing waits");
		return;
	}
	text_add(r->answer, "ok %u jobs flushed", r->done);
	if (r->evicted > 0)
		text_add(r->answer, ", %u come in from disk", r->evicted);
	if (r->later > 0)
		text_add(r->answer, ", %u are with agents", r->later);
	if (r->held > 0)
		text_add(r->answer, ", %u are held", r->held);
}

static void
do_flush(struct operation *r)
{
	struct thread *t;

	each_vertex(r, flush_one);
	if (r->msg != NULL) {
		r->evicted = later_call_one(r->msg, CALL_START);
	} else {
		dest_lift(matches, r);	/* their mail may be on disk */
		r->evicted = later_call(matches, r, CALL_START);
	}
	for (t = q.all; t != NULL && r->msg == NULL; t = t->next)
		if ((th_nready(t) + t->wait.n > 0 || t->sleep > now.mono) &&
		    t->held == NULL && matches(r, t->ring->chan, t->host))
			th_flush(t);
	say_flushed(r);
}

static void
count_one(struct operation *r, struct vertex *v)
{
	if (v->state == V_FED)
		r->later++;
	else
		r->done++;
}

/* A hold on addresses has come or gone. */
static void
rehold_all(void)
{
	struct thread *t;
	struct hlink *l;
	unsigned i, ended = 0;

	for (t = q.all; t != NULL; t = t->next)
		ended += (unsigned)th_rehold(t);
	if (ended == 0)
		return;
	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next)
			q_rearm(OWNER(struct message, link, l));
}

static void
cannot_write(struct operation *r)
{
	text_add(r->answer, "no %s/.mailq.holds cannot be written: %s",
	    opt.postoffice, strerror(errno));
}

static void
do_hold(struct operation *r)
{
	int n = held_add(r->patterns != NULL, r->what);

	if (n < 0) {
		cannot_write(r);
		return;
	}
	if (r->msg != NULL)
		q_hold(r->msg, 1);
	else
		rehold_all();
	each_vertex(r, count_one);
	text_add(r->answer, "ok %s is %sheld, %u jobs", r->what,
	    n > 0 ? "already " : "", r->done);
	if (r->later > 0)
		text_add(r->answer, " and %u when their agents have reported",
		    r->later);
}

/* What was evicted from these addresses is held no more. */
static void
call_released(const char *what)
{
	struct operation r;

	memset(&r, 0, sizeof(r));
	r.patterns = pat_expand(what);
	if (r.patterns == NULL)
		return;
	later_call(matches, &r, CALL_RELEASED);
	pat_free(r.patterns);
}

/* 0, or -1 after saying why. */
static int
release_one(struct operation *r, int address, const char *what)
{
	struct message *m;
	int n = held_del(address, what);

	if (n < 0) {
		cannot_write(r);
		return -1;
	}
	m = address ? NULL : find_message(what);
	if (m != NULL) {
		q_hold(m, 0);
		later_call_one(m, CALL_RELEASED);
	}
	if (address && n == 0)
		call_released(what);
	r->done += n == 0;
	return 0;
}

static void
do_release(struct operation *r)
{
	char name[2 * WORD_MAX_];
	const char *text;
	int kind, bad = 0;

	if (r->msg != NULL || r->patterns != NULL) {
		if (release_one(r, r->patterns != NULL, r->what) < 0)
			return;
	} else {
		for (kind = 0; kind < 2; kind++)
			while (!bad && (text = held_first(kind)) != NULL) {
				text_fmt(name, sizeof(name), "%s", text);
				if (release_one(r, kind, name) < 0)
					bad = 1;
			}
	}
	rehold_all();	/* threads point to holds that are gone */
	if (bad)
		return;
	if (r->done > 0)
		text_add(r->answer, "ok %u holds released", r->done);
	else
		text_add(r->answer, "no there is no hold on %s", r->what);
}

static void
doom_one(struct operation *r, struct vertex *v, enum doom how)
{
	int n;

	/* what has failed is told all the same, unless that is what is meant */
	if (th_is_dsn(v->thread) && (r->msg != NULL || how == DOOM_BOUNCE))
		return;
	n = q_doom(v, how, r->done >= AT_ONCE);
	if (n == 0)
		r->done++;
	else if (n == 1)
		r->later++;
	else if (n == 2)
		r->soon++;
	else
		r->failed++;
}

static void
delete_one(struct operation *r, struct vertex *v)
{
	doom_one(r, v, DOOM_DELETE);
}

static void
bounce_one(struct operation *r, struct vertex *v)
{
	doom_one(r, v, DOOM_BOUNCE);
}

/* What is not in core of a message that was named follows as it is read. */
static void
doom_rest(struct operation *r, enum doom how)
{
	if (r->msg == NULL)
		return;
	q_doom_rest(r->msg, how);
	r->soon += msg_unread(r->msg) + msg_evicted(r->msg);
}

static void
do_delete(struct operation *r)
{
	if (r->msg != NULL && q_untold(r->msg)) {
		q_drop(r->msg, "its report is not wanted");
		text_add(r->answer, "ok its report is deleted");
		return;
	}
	each_vertex(r, delete_one);
	doom_rest(r, DOOM_DELETE);
	say_how_many(r, "jobs deleted");
}

static void
do_bounce(struct operation *r)
{
	if (r->msg != NULL && q_untold(r->msg)) {
		text_add(r->answer, "no all of %s is over, its report is yet "
		    "to be sent", r->what);
		return;
	}
	each_vertex(r, bounce_one);
	doom_rest(r, DOOM_BOUNCE);
	say_how_many(r, "jobs bounced");
}

static const struct {
	const char *verb;
	void	(*act)(struct operation *);
	int	all;		/* "all" makes sense */
} verbs[] = {
	{ "flush", do_flush, 1 },
	{ "hold", do_hold, 0 },
	{ "release", do_release, 1 },
	{ "delete", do_delete, 0 },
	{ "bounce", do_bounce, 0 }
};

/* Finds out what is meant: 0, or -1 after saying why. */
static int
understand(struct operation *r, int all)
{
	const char *name = name_in(r->what), *why;

	if (name != NULL) {
		r->what = name;
		r->msg = find_message(name);
		if (r->msg == NULL) {
			in_fetch(name);
			r->msg = find_message(name);
		}
		if (r->msg == NULL)
			text_add(r->answer, "no there is no message %s", name);
		return r->msg == NULL ? -1 : 0;
	}
	if (strcmp(r->what, "all") == 0 && all)
		return 0;
	if (strlen(r->what) >= WORD_MAX_) {	/* a line of held.c's file */
		text_add(r->answer, "no that pattern is too long");
		return -1;
	}
	why = strchr(r->what, '/') == NULL ? "is neither the name of a message "
	    "nor channel/host" : pat_check(r->what);
	if (why == NULL && (r->patterns = pat_expand(r->what)) == NULL)
		why = "makes too many alternatives";
	if (why != NULL)
		text_add(r->answer, "no %s %s", r->what, why);
	return why != NULL ? -1 : 0;
}

/* Does it, logs it, and leaves an answer. */
static void
do_command(const char *verb, const char *what, long uid, struct text *answer)
{
	struct operation r;
	size_t i, n = sizeof(verbs) / sizeof(verbs[0]);

	memset(&r, 0, sizeof(r));
	r.what = what;
	r.answer = answer;
	for (i = 0; i < n && strcmp(verb, verbs[i].verb) != 0; i++)
		;
	if (i == n)
		text_add(answer, "no %s is no command", verb);
	else if (understand(&r, verbs[i].all) == 0)
		verbs[i].act(&r);
	if (r.patterns != NULL)
		pat_free(r.patterns);
	log_info("command uid=%ld verb=%s what=%s %s", uid, verb, what,
	    answer->s);
}

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
/* Where to listen, by PARAMmailqsock. */
static struct sockaddr_in
address(void)
{
	const char *s = q.config->mailqsock, *port;
	struct sockaddr_in a;
	char host[20];

	memset(&a, 0, sizeof(a));
	if (s != NULL && strcmp(s, "none") == 0)
		return a;
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a.sin_port = htons(PORT);
	if (s == NULL)
		return a;
	s += strlen("TCP:");
	port = strchr(s, ':');
	if (port != NULL) {
		text_fmt(host, sizeof(host), "%.*s", (int)(port - s), s);
		a.sin_addr.s_addr = inet_addr(host);
		s = port + 1;
	}
	a.sin_port = htons((unsigned short)num_of(s, NULL));
	return a;
}

static void
bind_port(void)
{
	int on = 1;

	if (st.tcp >= 0)
		close(st.tcp);
	st.tcp = -1;
	st.bind_at = 0;
	if (st.at.sin_family == 0)
		return;
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
		    (unsigned)ntohs(st.at.sin_port), strerror(errno),
		    st.query.path);
	st.bind_said = 1;
	if (errno != EACCES)
		st.bind_at = now.mono + BIND_AGAIN;
	if (st.tcp >= 0)
		close(st.tcp);
	st.tcp = -1;
}

void
status_listen(void)
{
	struct sockaddr_in at = address();

	if (st.tcp >= 0 && memcmp(&at, &st.at, sizeof(at)) == 0)
		return;
	st.at = at;
	bind_port();
}
#endif

/* ---- queries --------------------------------------------------------- */

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
	static const int ours[] = { SIGCHLD, SIGHUP, SIGUSR1, SIGUSR2, SIGTERM,
	    SIGINT, SIGQUIT, SIGALRM };
	size_t k;
	int i, bad;

	ctl_forget();
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

/* A place for one more, whose number is returned; -1: there is none. */
static int
free_dump(long uid)
{
	int i, most = uid == 0 || uid == (long)geteuid() ? DUMPS + 1 : DUMPS;

	for (i = 0; i < most; i++)
		if (st.dump[i] == 0)
			return i;
	return -1;
}

/* A dump for whoever reads fd, which is closed: 0, or -1 with errno. */
static int
start_dump(int place, int fd, const struct file *file)
{
	long pid;
	int err;

	log_flush();		/* or it is written twice */
	pid = (long)fork();
	err = errno;
	if (pid == 0)
		be_dump(fd, file);
	if (pid < 0)
		fd_write(fd, "busy no process for a dump now\n", 31);
	else
		st.dump[place] = pid;
	close(fd);
	errno = err;
	return pid < 0 ? -1 : 0;
}

static void
answer_query(int place, int fd)
{
	if (start_dump(place, fd, NULL) < 0 && may_say())
		log_warn("mailq fork %s", strerror(errno));
}

/* Somebody waits: those at work are to end when nobody reads them. */
static void
hurry(void)
{
	int i;

	for (i = 0; i <= DUMPS; i++)
		if (st.dump[i] != 0)
			kill((pid_t)st.dump[i], SIGCONT);
	st.hurry_at = now.mono + HURRY;
}

static void
take_query(int fd, long uid)
{
	static const char busy[] = "busy others are being answered, ask "
	    "again\n";
	int place = free_dump(uid);

	if (place >= 0) {
		answer_query(place, fd);
		return;
	}
	hurry();
	if (st.next < 0) {
		st.next = fd;
		return;
	}
	fd_write(fd, busy, sizeof(busy) - 1);
	close(fd);
}

int
status_reaped(long pid, int status)
{
	int i;

	for (i = 0; i <= DUMPS && st.dump[i] != pid; i++)
		;
	if (i > DUMPS)
		return 0;
	st.dump[i] = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && may_say())
		log_info("mailq pid=%ld its reader took nothing and is given "
		    "up", pid);
	if (st.next >= 0 && i < DUMPS) {
		answer_query(i, st.next);
		st.next = -1;
	}
	return 1;
}

/* SIGUSR2: a dump for a person, beside the log. */
void
status_file(void)
{
	struct file file;
	const char *dir = opt.logdir, *slash = opt.logfile == NULL ? NULL :
	    strrchr(opt.logfile, '/');
	int fd, n = (int)strlen(dir), place = free_dump(0);

	if (slash != NULL) {
		dir = opt.logfile;
		n = (int)(slash - dir);
	}
	if (place < 0) {
		log_err("dump too many are being made");
		return;
	}
	text_fmt(file.path, sizeof(file.path), "%.*s/scheduler.queue", n, dir);
	text_fmt(file.fresh, sizeof(file.fresh), "%s.new", file.path);
	unlink(file.fresh);
	fd = fd_own(file.fresh, O_WRONLY | O_CREAT | O_EXCL, 0644);
	if (fd < 0 || start_dump(place, fd, &file) < 0) {
		log_err("dump file=%s %s", file.path, strerror(errno));
		unlink(file.fresh);
	} else {
		log_info("dump file=%s", file.path);
	}
}

static void
take_callers(void)
{
#ifndef NO_TCP
	int fd = 0;

	while (st.next < 0 && (fd = accept(st.tcp, NULL, NULL)) >= 0) {
		fd_cloexec(fd);
		take_query(fd, -1);
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

/* The pipe of an answer, whose owner is told: -1 when it is none, or has nobody
 * who reads. */
static int
open_reply(const struct inlet *d, const char *suffix, long *uid)
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
close_inlet(struct inlet *d)
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
open_inlet(struct inlet *d, const char *path, const char *reply, int mode)
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
open_query(void)
{
	char path[PATH_MAX_];
	const char *pipe = opt.rendezvous != NULL ? opt.rendezvous : TMP_PIPE;
	int err;

	if (open_inlet(&st.query, pipe, pipe, 0622) == 0)
		return;
	err = errno;
	if (!st.open_said && (opt.rendezvous != NULL ||
	    (err != ENOENT && err != EBUSY)))
		log_err("mailq pipe=%s %s", pipe, strerror(err));
	text_fmt(path, sizeof(path), "%s/public/.mailq.text", opt.postoffice);
	if (open_inlet(&st.query, path, path, 0622) < 0 && !st.open_said)
		log_err("mailq pipe=%s %s", path, strerror(errno));
}

static void
open_command(void)
{
	char path[PATH_MAX_], reply[PATH_MAX_];
	struct stat office;

	text_fmt(path, sizeof(path), "%s/.mailq.command", opt.postoffice);
	text_fmt(reply, sizeof(reply), "%s/public/.mailq.command",
	    opt.postoffice);
	if (open_inlet(&st.command, path, reply, 0620) < 0) {
		if (!st.open_said)
			log_err("mailq pipe=%s %s", path, strerror(errno));
		return;
	}
	if (stat(opt.postoffice, &office) < 0 ||
	    fchown(st.command.in, geteuid() == 0 ? office.st_uid :
	    (uid_t)-1, office.st_gid) < 0)
		log_warn("mailq pipe=%s cannot get the owner of the post "
		    "office: %s", path, strerror(errno));
}

/* Opens the pipes that are not open.  After a crash somebody may still hold
 * what was left behind for a moment: then it is tried again. */
static void
open_inlets(void)
{
	int closed;

	if (st.query.in < 0)
		open_query();
	if (st.command.in < 0)
		open_command();
	closed = st.query.in < 0 || st.command.in < 0;
	st.open_at = closed ? now.mono + OPEN_AGAIN : 0;
	if (!closed || !st.open_said)
		log_info("mailq pipe=%s commands=%s",
		    st.query.in < 0 ? "none" : st.query.path,
		    st.command.in < 0 ? "none" : st.command.path);
	st.open_said = closed;
}

/* ---- requests -------------------------------------------------------- */

static void
rubbish(const struct inlet *d, const char *why, const char *line)
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
query(struct inlet *d, char *line)
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
		rubbish(d, "no pipe for an answer", word[1]);
	else
		take_query(fd, uid);
}

static void
command(struct inlet *d, char *line)
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
		rubbish(d, "no pipe for an answer, nothing done", word[2]);
		return;
	}
	text_init(&t, answer, sizeof(answer) - 1);
	do_command(word[0], word[1], uid, &t);
	answer[t.len++] = '\n';
	fd_write(fd, answer, t.len);	/* less than a pipe always takes */
	close(fd);
}

/* The bytes that have come, line by line. */
static void
take(struct inlet *d, const char *s, size_t n,
    void (*act)(struct inlet *, char *))
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

/* A few requests at a time. */
static void
read_inlet(struct inlet *d, void (*act)(struct inlet *, char *))
{
	char buf[112];
	long n = (long)read(d->in, buf, sizeof(buf));

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
	if (st.next < 0 && st.rest <= now.mono)
		add(st.tcp, in, max);
	add(st.query.in, in, max);
	add(st.command.in, in, max);
}

void
status_do(fd_set *in)
{
	if (st.tcp >= 0 && FD_ISSET(st.tcp, in))
		take_callers();
	if (st.query.in >= 0 && FD_ISSET(st.query.in, in))
		read_inlet(&st.query, query);
	if (st.command.in >= 0 && FD_ISSET(st.command.in, in))
		read_inlet(&st.command, command);
}

void
status_timers(void)
{
	if (st.bind_at > 0 && st.bind_at <= now.mono)
		bind_port();
	if (st.open_at > 0 && st.open_at <= now.mono)
		open_inlets();
	if (st.next >= 0 && st.hurry_at <= now.mono)
		hurry();
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
	if (st.next >= 0 && st.hurry_at < when)
		when = st.hurry_at;
	return when > now.mono ? when - now.mono : 0;
}

void
status_open(void)
{
	st.tcp = st.next = -1;
	st.query.in = st.query.keep = -1;
	st.command.in = st.command.keep = -1;
	st.said = -1000;
	open_inlets();
	status_listen();
}

void
status_close(void)
{
	int i;

	for (i = 0; i <= DUMPS; i++)
		if (st.dump[i] != 0)
			kill((pid_t)st.dump[i], SIGKILL);
	close_inlet(&st.query);
	close_inlet(&st.command);
}
