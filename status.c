/*
 * status.c - answers queries of mailq and obeys commands of operators.
 *
 *	dump 7f		a query; the queue as text goes into the pipe with the
 *			same name and ".7f"
 *	hold smtp/a.test 7f
 *			a command; "ok smtp/a.test is held, 3 jobs" goes into
 *			public/.mailq.command.7f
 *
 * 7f is a suffix that mailq has chosen for its own pipe, the answer pipe.
 * There is one named pipe for queries and one for commands.  The pipe for
 * commands is in the post office, for its owner and group.  A client that
 * connects to the TCP port of PARAMmailqsock gets the queue, too.
 *
 * Queries.  A child process writes the queue (dump.c), so the scheduler and
 * the client never wait for each other.  At most five such children run, and
 * a sixth for root and the scheduler's own user.  Further queries get the
 * answer "busy".  While five run, a child whose client reads nothing for two
 * seconds ends.
 *
 * Commands.
 *
 *	flush	jobs are tried now in spite of their next try, a dead host or
 *		queueonly; limits and holds stay
 *	hold	no job is fed, and none expires
 *	release	ends a hold
 *	delete	the recipients get no mail, and the sender no DSN on them; a
 *		DSN on earlier failures is still sent.  When only that DSN is
 *		left of a message, the command deletes it.
 *	bounce	the jobs expire now
 *
 * A command names a message, or addresses by a pattern for channel/host.
 * flush and release take "all", too.  A flush does nothing to a job that an
 * agent has; the others wait for its report.  delete and bounce write to disk:
 * beyond 100 jobs, queue.c does the rest in several passes.  Each command
 * gets one line as its answer, which begins with "ok" or "no", and one line in
 * the log, with the owner of the answer pipe.  Who gave the command is not
 * known: whoever may write to the pipe for commands may name any answer pipe.
 *
 * Requests are not trusted.  A request is one short line of known words, and a
 * suffix consists of letters and digits.  mailq writes it at once, with an end
 * of line in front, so nothing that others have begun to write joins it.  Only
 * a named pipe is opened for an answer: it is checked before and after the
 * open, links are not followed, and a pipe without a reader is not waited for.
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

#define PORT		174	/* where ZMailer's mailq asks */
#define DUMPS		5	/* at one time */
#define AGAIN		1	/* seconds until a failed open is repeated, and
				 * between signals to the children while no
				 * place is free */
#define REQUEST_MOST	2100	/* bytes in a request */
#define AT_A_TIME	112	/* bytes read at once: a few requests */
#define SUFFIX_MOST	20
#define TMP_PIPE	"/usr/tmp/.mailq.text"
#define ANYBODY		(-1L)	/* the uid of a caller by the port */
#define SIGNALS		32	/* more than any signal's number in POSIX.1 */
#define AT_ONCE	100	/* jobs that a command ends and syncs before its
			 * answer; more would delay mail */

#define PLACES	(DUMPS + 1)	/* children that write dumps; one is kept for
				 * root and our own user */

/* A pipe for requests.  It has a writer of ours, so that it never ends. */
struct inlet {
	char	*path;			/* PATH_MAX_ bytes */
	int	in, keep;		/* our ends, -1: closed */
	char	*part;			/* a line not yet ended */
	size_t	used;			/* bytes in part */
	int	overlong;		/* the current line is dropped */
};

static char paths[2][PATH_MAX_], parts[2][REQUEST_MOST + AT_A_TIME];
static struct inlet queries = { paths[0], -1, -1, parts[0], 0, 0 };
static struct inlet commands = { paths[1], -1, -1, parts[1], 0, 0 };
static int port_fd = -1;		/* listens, or -1 */

static struct {
	struct port at;			/* where port_fd listens */
	double	again;			/* mono; the end of AGAIN seconds */
	int	deaf;			/* 1: no descriptor for a caller */
	int	missing;		/* a pipe or port is not open, and that
					 * was logged */
	long	dump[PLACES];		/* process numbers, 0: free */
	double	log_at;			/* mono; when the next request may be
					 * logged */
} st;

/* ---- commands: what they name ----------------------------------------- */

/*
 * operation: a command while it is being done.
 *
 * "bounce smtp/a.test" has the verb bounce and one pattern; of three vertices
 * that match, one with an agent, n[OUT_DONE] is 2 and n[OUT_REPORT] is 1, and
 * the answer is "ok 2 jobs bounced, 1 when their agents have reported".
 */
struct operation {
	const struct verb *verb;
	const char *what;
	struct message *msg;	/* it names a message, or NULL */
	char	**patterns;	/* it names addresses, or NULL; neither: all */
	struct text *answer;
	unsigned n[OUTCOMES];	/* vertices; of release: holds */
	long	read;		/* files of forgotten mail that are read for it,
				 * -1: there is no memory for that */
};

struct verb {
	const char *name;
	void	(*act)(struct operation *);
	int	all;		/* it may be given "all" */
	const char *done;	/* the word for its jobs in the answer */
	enum cancel cancel;
};

/* Returns the message whose files have this name without directories, or NULL.
 * Other messages may have the same number. */
static struct message *
find_message(const char *name)
{
	struct message *m = msg_find_number(num_of(name, NULL), NULL);

	while (m != NULL && strcmp(name_base(m->name), name) != 0)
		m = msg_find_number(m->link.hash, m);
	return m;
}

/* Calls act for each vertex that the command names and that is not done.
 * O(vertices), which an operator's command may cost.  None that is in core is
 * freed meanwhile, as the sweep comes later. */
static void
each_vertex(struct operation *r,
    void (*act)(struct operation *, struct vertex *))
{
	struct hlink *l = NULL;
	struct vertex *v;

	while ((l = hash_each(&q.messages, l)) != NULL) {
		v = msg_first_vertex(OWNER(struct message, link, l));
		for (; v != NULL; v = msg_next_vertex(v))
			if (v->state != V_DONE &&
			    (r->msg == NULL || r->msg == v->msg) &&
			    th_is_matched(v->thread, r->patterns))
				act(r, v);
	}
}

static const char *
plural(unsigned n)
{
	return n == 1 ? "" : "s";
}

/* The answer to a flush, delete or bounce.  It is "no" if the disk could not be
 * written for some of the jobs, though the others are done. */
static void
say_how_many(struct operation *r)
{
	int flush = r->verb->cancel == CANCEL_NONE, i;
	const char *are[OUTCOMES] = { NULL, "more to be worked off",
	    "when their agents have reported", "held",
	    "not: the spool cannot be written to" };
	unsigned sum = 0;

	if (flush)
		are[OUT_REPORT] = "with agents";
	for (i = 0; i < OUTCOMES; i++)
		sum += r->n[i];
	if (sum == 0 && r->read == 0) {
		if (flush && r->patterns == NULL)
			text_add(r->answer, "ok nothing waits");
		else
			text_add(r->answer, "no nothing in the queue is %s",
			    r->what);
		return;
	}
	text_add(r->answer, "%s %u job%s %s",
	    r->n[OUT_FAILED] > 0 ? "no" : "ok", r->n[OUT_DONE],
	    plural(r->n[OUT_DONE]), r->verb->done);
	for (i = OUT_PASS; i < OUTCOMES; i++)
		if (r->n[i] > 0)
			text_add(r->answer, ", %u %s", r->n[i], are[i]);
	if (r->read > 0)
		text_add(r->answer, "; %ld file%s of evicted mail to be read",
		    r->read, plural(r->read));
	else if (r->read < 0)
		text_add(r->answer, "; no memory to read evicted mail");
}

/* Makes a request for forgotten mail of a command on addresses. */
static void
ask_stubs(struct operation *r, enum ask what)
{
	char **patterns = NULL;

	if (r->patterns != NULL && pat_read(r->what, &patterns) != NULL)
		r->read = -1;
	else
		r->read = in_add_request(what, patterns);
}

/* ---- commands: verbs -------------------------------------------------- */

/* Counts a vertex of a flush, and flushes it if the command names a message. */
static void
flush_one(struct operation *r, struct vertex *v)
{
	enum outcome what = v->state == V_HELD || v->thread->held != NULL ?
	    OUT_HELD : v->state == V_FED ? OUT_REPORT : OUT_DONE;

	r->n[what]++;
	if (what == OUT_DONE && r->msg != NULL)
		th_flush(v->thread, v);
}

/* A message is flushed vertex by vertex, addresses thread by thread: that ends
 * the dead time of the host, too, so that new mail does not wait for it. */
static void
do_flush(struct operation *r)
{
	struct thread *t;

	each_vertex(r, flush_one);
	for (t = q.all; t != NULL && r->msg == NULL; t = t->next)
		if (t->held == NULL && th_is_matched(t, r->patterns))
			th_flush(t, NULL);
	/* hosts that have mail on disk only */
	for (t = q.unused; t != NULL && r->msg == NULL; t = t->next)
		if (t->until > now.mono && th_is_matched(t, r->patterns))
			t->until = now.mono;
	if (r->msg == NULL)
		ask_stubs(r, ASK_FLUSH);
	say_how_many(r);
}

/* A hold takes effect at once, except for jobs that agents have. */
static void
count_one(struct operation *r, struct vertex *v)
{
	r->n[v->state == V_FED ? OUT_REPORT : OUT_DONE]++;
}

/* Holds on addresses have changed, or holds were released: each thread and each
 * held message is checked again.  Where a hold on an address has ended, the
 * timers of messages run again, so that they may expire. */
static void
rehold_all(void)
{
	struct thread *t;
	struct hlink *l = NULL;
	struct message *m;
	unsigned ended = 0;

	for (t = q.all; t != NULL; t = t->next)
		ended += th_update_hold(t);
	while ((l = hash_each(&q.messages, l)) != NULL) {
		m = OWNER(struct message, link, l);
		if (m->held && held_get(0, m->name) == NULL)
			q_hold_message(m, 0);
		else if (ended > 0)
			q_run_timer(m);
	}
}

static void
cannot_write(struct operation *r)
{
	text_add(r->answer, "no %s/.mailq.holds cannot be written: %s",
	    opt.postoffice, strerror(errno));
}

/* The hold is on disk before any job is held: see held.c. */
static void
do_hold(struct operation *r)
{
	int address = r->patterns != NULL;
	int is_held = held_get(address, r->what) != NULL;

	if (held_set(address, r->what, 1) < 0) {
		cannot_write(r);
		return;
	}
	if (r->msg != NULL)
		q_hold_message(r->msg, 1);
	else
		rehold_all();
	each_vertex(r, count_one);
	text_add(r->answer, "ok %s is %sheld, %u job%s", r->what,
	    is_held ? "already " : "", r->n[OUT_DONE],
	    plural(r->n[OUT_DONE]));
	if (r->n[OUT_REPORT] > 0)
		text_add(r->answer, " and %u when their agents have reported",
		    r->n[OUT_REPORT]);
}

/* The next hold that a release is to end, or NULL. */
static const struct hold *
next_hold(const struct operation *r)
{
	return r->msg == NULL && r->patterns == NULL ? q.holds :
	    held_get(r->patterns != NULL, r->what);
}

/* Holds that are released before the disk fails stay released. */
static void
do_release(struct operation *r)
{
	const struct hold *h;

	while ((h = next_hold(r)) != NULL &&
	    held_set(h->patterns != NULL, h->text, 0) == 0)
		r->n[OUT_DONE]++;
	if (r->n[OUT_DONE] > 0 && r->msg == NULL)
		ask_stubs(r, ASK_WAKE);	/* a release tries at once */
	if (h != NULL)
		cannot_write(r);
	else if (r->n[OUT_DONE] > 0)
		text_add(r->answer, "ok %u hold%s released", r->n[OUT_DONE],
		    plural(r->n[OUT_DONE]));
	else if (r->msg == NULL && r->patterns == NULL)
		text_add(r->answer, "ok nothing is on hold");
	else
		text_add(r->answer, "no there is no hold on %s", r->what);
	rehold_all();	/* threads point to holds that are gone */
}

/* Ends a vertex, by delete or bounce; after the first AT_ONCE it is only
 * marked, and queue.c ends it in a later pass. */
static void
cancel_one(struct operation *r, struct vertex *v)
{
	enum cancel how = r->verb->cancel;

	/* a DSN on earlier failures is still sent, unless the pattern is for
	 * the channel dsn */
	if (th_is_dsn(v->thread) && (r->msg != NULL || how == CANCEL_BOUNCE))
		return;
	r->n[q_cancel_vertex(v, how,
	    r->n[OUT_DONE] + r->n[OUT_REPORT] >= AT_ONCE)]++;
}

/* Does delete and bounce. */
static void
do_cancel(struct operation *r)
{
	int owes = r->msg != NULL && (r->msg->ndsn > 0 || r->msg->dsn_due);

	if (r->msg != NULL && q_has_only_dsns(r->msg)) {
		if (r->verb->cancel == CANCEL_BOUNCE) {
			text_add(r->answer, "no all recipients of %s are done"
			    "%s", r->what, owes ? ", its DSN is still to be "
			    "sent" : "");
			return;
		}
		q_drop_message(r->msg, "what is left of it is not wanted");
		text_add(r->answer, owes ? "ok its DSN is deleted" :
		    "ok all its recipients are done");
		return;
	}
	each_vertex(r, cancel_one);
	if (r->msg == NULL)
		ask_stubs(r, r->verb->cancel == CANCEL_DELETE ? ASK_DELETE :
		    ASK_BOUNCE);
	say_how_many(r);
}

static const struct verb verbs[] = {
	{ "flush", do_flush, 1, "flushed", CANCEL_NONE },
	{ "hold", do_hold, 0, NULL, CANCEL_NONE },
	{ "release", do_release, 1, NULL, CANCEL_NONE },
	{ "delete", do_cancel, 0, "deleted", CANCEL_DELETE },
	{ "bounce", do_cancel, 0, "bounced", CANCEL_BOUNCE },
	{ NULL, NULL, 0, NULL, CANCEL_NONE }
};

/* Finds what the command names: 0, or -1 with the reason in the answer.  A
 * message that was evicted, or is not loaded yet, is loaded for it. */
static int
understand(struct operation *r)
{
	const char *name = name_parse(r->what), *why = NULL;

	if (name != NULL) {
		r->what = name;
		why = in_load_named(name);
		r->msg = find_message(name);
		if (r->msg == NULL && why != NULL)
			text_add(r->answer, "no %s is skipped: %s", name, why);
		else if (r->msg == NULL)
			text_add(r->answer, "no there is no message %s", name);
		return r->msg == NULL ? -1 : 0;
	}
	if (strcmp(r->what, "all") == 0 && r->verb->all)
		return 0;
	if (strlen(r->what) >= WORD_MAX_) {	/* a line of held.c's file */
		text_add(r->answer, "no that pattern is too long");
		return -1;
	}
	if (strchr(r->what, '/') == NULL)
		why = "it is neither the name of a message nor channel/host";
	else
		why = pat_read(r->what, &r->patterns);
	if (why != NULL)
		text_add(r->answer, "no %s: %s", r->what, why);
	return why != NULL ? -1 : 0;
}

/* Obeys the command, logs it, and makes the answer.  Its words are not trusted:
 * the log shows control bytes as \ooo, and the answer has none, as the request
 * had none. */
static void
do_command(const char *verb, const char *what, long uid, struct text *answer)
{
	struct operation r;

	memset(&r, 0, sizeof(r));
	r.what = what;
	r.answer = answer;
	for (r.verb = verbs; r.verb->name != NULL; r.verb++)
		if (strcmp(verb, r.verb->name) == 0)
			break;
	if (r.verb->name == NULL)
		text_add(answer, "no %s is no command", verb);
	else if (understand(&r) == 0)
		r.verb->act(&r);
	pat_free(r.patterns);
	log_info("command answer-to=%ld verb=%s what=%s %s", uid, verb, what,
	    answer->s);
}

/* ---- queries --------------------------------------------------------- */

/* Returns 1 if a request may be logged: once a second at most, or a client
 * could fill the disk. */
static int
may_log(void)
{
	if (st.log_at > now.mono)
		return 0;
	st.log_at = now.mono + 1;
	return 1;
}

/* The child: closes our descriptors, writes the dump and exits. */
static void
be_dump(int fd)
{
	int i;

	ctl_close_kept();
	log_level = -1;		/* nothing: the log is our parent's */
	for (i = 1; i < SIGNALS; i++)
		signal(i, SIG_DFL);
	for (i = 3; i < FD_SETSIZE; i++)	/* all that select takes */
		if (i != fd)
			close(i);
	fcntl(fd, F_SETFL, 0);	/* from here on it may block */
	_exit(dump_queue(fd) < 0);
}

/* Returns the number of a free place for a dump; -1: there is none. */
static int
free_dump(long uid)
{
	int i, most = uid == 0 || uid == (long)geteuid() ? PLACES : DUMPS;

	for (i = 0; i < most; i++)
		if (st.dump[i] == 0)
			return i;
	return -1;
}

/* Starts a child that writes a dump to fd: 0, or -1 with errno. */
static int
start_dump(int place, int fd)
{
	long pid;

	q_sweep();		/* the dump shows no mail that is over */
	log_flush();		/* the child writes no line again */
	pid = fork();
	if (pid == 0)
		be_dump(fd);
	if (pid > 0)
		st.dump[place] = pid;
	return pid < 0 ? -1 : 0;
}

static void
kill_dumps(int sig)
{
	int i;

	for (i = 0; i < PLACES; i++)
		if (st.dump[i] != 0)
			kill((pid_t)st.dump[i], sig);
}

/* Answers the query, or says "busy": it never costs more than a fork. */
static void
take_query(int fd, long uid)
{
	int place = free_dump(uid);
	const char *why = NULL;

	if (place < 0) {
		why = "busy others are being answered, ask again\n";
	} else if (start_dump(place, fd) < 0) {
		why = "busy no process for a dump now\n";
		if (may_log())
			log_warn("mailq fork %s", strerror(errno));
	}
	if (why != NULL)
		fd_write(fd, why, strlen(why));
	close(fd);
}

void
status_reap(long pid, int status)
{
	int i = 0;

	while (i < PLACES && st.dump[i] != pid)
		i++;
	if (i < PLACES)
		st.dump[i] = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM && may_log())
		log_info("mailq pid=%ld its reader took nothing and is given "
		    "up", pid);
}

/* ---- the port -------------------------------------------------------- */

/* Opens the port: 0; or -1 if a later call may succeed. */
static int
open_port(void)
{
#ifdef NO_TCP
	return 0;
#else
	long number = st.at.number > 0 ? st.at.number : PORT;
	struct sockaddr_in a;
	int on = 1, err;

	if (port_fd >= 0 || st.at.number < 0)
		return 0;
	memset(&a, 0, sizeof(a));
	a.sin_family = AF_INET;
	a.sin_addr.s_addr = *st.at.address != '\0' ?
	    inet_addr(st.at.address) : htonl(INADDR_LOOPBACK);
	a.sin_port = htons(number);
	port_fd = socket(AF_INET, SOCK_STREAM, 0);
	if (port_fd >= 0 && setsockopt(port_fd, SOL_SOCKET, SO_REUSEADDR,
	    (void *)&on, sizeof(on)) == 0 &&
	    bind(port_fd, (struct sockaddr *)(void *)&a, sizeof(a)) == 0 &&
	    listen(port_fd, 5) == 0 && fd_nonblock(port_fd) == 0)
		return 0;
	err = errno;
	/* the default port needs root: no error without it */
	if (!st.missing && (err != EACCES || st.at.number > 0))
		log_err("mailq port=%ld %s; mailq can ask at pipe=%s", number,
		    strerror(err), queries.path);
	if (port_fd >= 0)
		close(port_fd);
	port_fd = -1;
	return err == EACCES ? 0 : -1;
#endif
}

static void
take_callers(void)
{
#ifndef NO_TCP
	int fd = 0;

	while (free_dump(ANYBODY) >= 0 &&
	    (fd = accept(port_fd, NULL, NULL)) >= 0) {
		fd_cloexec(fd);
		take_query(fd, ANYBODY);
	}
	/* without a free descriptor select would return at once, always */
	if (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		st.deaf = 1;
#endif
}

/* ---- pipes ----------------------------------------------------------- */

static int
open_fifo(const char *path, int flags)
{
	return open(path, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

/* Opens the answer pipe and sets *uid to its owner: -1 if it is no pipe or has
 * no reader. */
static int
open_reply(const struct inlet *d, const char *suffix, long *uid)
{
	char path[PATH_MAX_];
	struct stat before, opened;
	int fd;

	if (text_fmt(path, sizeof(path), "%s%s.%s",
	    d == &commands ? opt.postoffice : d->path,
	    d == &commands ? "/public/.mailq.command" : "", suffix) < 0 ||
	    lstat(path, &before) < 0 || !S_ISFIFO(before.st_mode))
		return -1;
	fd = open_fifo(path, O_WRONLY);
	if (fd < 0)
		return -1;
	if (fstat(fd, &opened) < 0 || !is_same_file(&opened, &before) ||
	    fd_cloexec(fd) < 0) {
		close(fd);
		return -1;
	}
	*uid = opened.st_uid;
	return fd;
}

/* Removes a pipe without a reader, which a crash left.  0; -1 with errno: the
 * name is in use. */
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
	if (fd < 0)
		return unlink(path);
	close(fd);
	errno = EBUSY;
	return -1;
}

/* Makes the pipe at dir and name, one path, and opens it: 0, or -1 with errno.
 * If that fails its name stays, until it is found here without a reader. */
static int
open_inlet(struct inlet *d, const char *dir, const char *name, int mode)
{
	struct stat there;
	mode_t mask;
	int bad;

	if (text_fmt(d->path, PATH_MAX_, "%s%s", dir, name) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (clear_way(d->path) < 0)
		return -1;
	mask = umask(0);
	bad = mkfifo(d->path, (mode_t)mode) < 0;
	umask(mask);
	if (bad)
		return -1;
	d->in = open_fifo(d->path, O_RDONLY);
	d->keep = d->in < 0 ? -1 : open_fifo(d->path, O_WRONLY);
	/* somebody may have put another one in its place meanwhile */
	if (d->keep >= 0 && fstat(d->in, &there) == 0 &&
	    S_ISFIFO(there.st_mode) && there.st_uid == geteuid() &&
	    fd_cloexec(d->in) == 0 && fd_cloexec(d->keep) == 0)
		return 0;
	cmd_close(d->in, d->keep);
	d->in = d->keep = -1;
	return -1;
}

static void
cannot_open(const struct inlet *d)
{
	if (!st.missing)
		log_err("mailq pipe=%s %s", d->path, strerror(errno));
}

/* Opens the pipe for queries at the usual place if that is free, else in the
 * post office, where mailq tries first. */
static void
open_query(void)
{
	const char *pipe = opt.rendezvous != NULL ? opt.rendezvous : TMP_PIPE;

	if (open_inlet(&queries, pipe, "", 0622) == 0)
		return;
	/* no such directory, or another scheduler's: no error */
	if (opt.rendezvous != NULL || (errno != ENOENT && errno != EBUSY))
		cannot_open(&queries);
	if (open_inlet(&queries, opt.postoffice, "/public/.mailq.text",
	    0622) < 0)
		cannot_open(&queries);
}

/* Opens the pipe for commands, for the owner and group of the post office. */
static void
open_command(void)
{
	struct stat office;

	if (open_inlet(&commands, opt.postoffice, "/.mailq.command",
	    0620) < 0)
		cannot_open(&commands);
	else if (stat(opt.postoffice, &office) < 0 ||
	    fchown(commands.in, geteuid() == 0 ? office.st_uid :
	    (uid_t)-1, office.st_gid) < 0)
		log_warn("mailq pipe=%s cannot get the owner of the post "
		    "office: %s", commands.path, strerror(errno));
}

/* Opens the pipes and the port that are not open.  After a crash another
 * process may have one of them open for a moment: then it is tried again. */
static void
open_all(void)
{
	int was = queries.in >= 0 && commands.in >= 0, is;

	if (queries.in < 0)
		open_query();
	if (commands.in < 0)
		open_command();
	is = queries.in >= 0 && commands.in >= 0;
	if (!was && (is || !st.missing))
		log_info("mailq pipe=%s commands=%s",
		    queries.in < 0 ? "none" : queries.path,
		    commands.in < 0 ? "none" : commands.path);
	st.missing = open_port() < 0 || !is;
}

/* ---- requests -------------------------------------------------------- */

static void
refuse(const struct inlet *d, const char *why, const char *line)
{
	if (may_log())
		log_warn("mailq pipe=%s %s: %.100s", d->path, why, line);
}

/* Returns 1 if the word may become a part of a path: letters and digits, at
 * most SUFFIX_MOST. */
static int
is_suffix(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]))
		n++;
	return n > 0 && n <= SUFFIX_MOST && s[n] == '\0';
}

/* The command takes effect before its answer; a client that has ended by then
 * finds it in the log. */
static void
answer_command(int fd, char *const *word, long uid)
{
	char answer[1200];
	struct text t;

	text_init(&t, answer, sizeof(answer) - 1);
	do_command(word[0], word[1], uid, &t);
	answer[t.len++] = '\n';
	fd_write(fd, answer, t.len);	/* less than a pipe always takes */
	close(fd);
}

/* "dump suffix" to the pipe of queries, "verb what suffix" to the other. */
static void
request(struct inlet *d, char *line)
{
	int query = d == &queries, want = query ? 2 : 3, n = 0, fd;
	char *word[4];
	long uid;

	word[0] = strtok(line, " ");
	while (word[n] != NULL && n < want)
		word[++n] = strtok(NULL, " ");
	if (n < want || word[n] != NULL || !is_suffix(word[n - 1]) ||
	    (query && strcmp(word[0], "dump") != 0)) {
		refuse(d, query ? "not a request" : "not a command", line);
		return;
	}
	fd = open_reply(d, word[n - 1], &uid);
	if (fd < 0)
		refuse(d, query ? "no pipe for an answer" :
		    "no pipe for an answer, nothing done", word[n - 1]);
	else if (query)
		take_query(fd, uid);
	else
		answer_command(fd, word, uid);
}

/* Returns 1 if the text up to end has no control bytes. */
static int
is_clean(const char *s, const char *end)
{
	while (s < end && (unsigned char)*s >= ' ' && *s != 127)
		s++;
	return s == end;
}

/* Reads at most AT_A_TIME bytes, so that a client that writes without end does
 * not delay mail, and obeys the lines that they complete.  A line longer than a
 * request is dropped up to its end; a part of a line behind which the pipe is
 * empty is dropped, too, as requests are written at once. */
static void
read_inlet(struct inlet *d)
{
	long n = read(d->in, d->part + d->used, AT_A_TIME);
	char *s = d->part, *end;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		refuse(d, "cannot be read", strerror(errno));
	if (n <= 0)
		return;
	d->used += n;
	for (; (end = memchr(s, '\n', d->used)) != NULL; s = end + 1) {
		d->used -= end + 1 - s;
		*end = '\0';
		if (d->overlong || !is_clean(s, end))
			refuse(d, "a line too long or not of text", "");
		else if (s < end)
			request(d, s);
		d->overlong = 0;
	}
	if (n < AT_A_TIME && d->used > 0 && !d->overlong) {
		refuse(d, "a part of a line", "");
		d->used = 0;
	}
	memmove(d->part, s, d->used);
	if (d->used > REQUEST_MOST) {
		d->overlong = 1;
		d->used = 0;
	}
}

/* ---- the loop's verbs ------------------------------------------------ */

double
status_prep(fd_set *in, int *max)
{
	int full = free_dump(ANYBODY) < 0;

	if (!full && !st.deaf)
		fd_watch(port_fd, in, max);
	fd_watch(queries.in, in, max);
	fd_watch(commands.in, in, max);
	return full || st.deaf || st.missing ? st.again - now.mono : 3600;
}

void
status_do(fd_set *in)
{
	if (port_fd >= 0 && FD_ISSET(port_fd, in))
		take_callers();
	if (queries.in >= 0 && FD_ISSET(queries.in, in))
		read_inlet(&queries);
	if (commands.in >= 0 && FD_ISSET(commands.in, in))
		read_inlet(&commands);
	if (st.again > now.mono)
		return;
	st.again = now.mono + AGAIN;
	st.deaf = 0;
	if (st.missing)
		open_all();
	if (free_dump(ANYBODY) < 0)
		kill_dumps(SIGCONT);
}

/* At the start and after each reload; a port that has not changed stays open,
 * so that no client is refused. */
void
status_listen(void)
{
	const struct port *p = &q.config->mailqsock;

	if (port_fd >= 0 && (p->number != st.at.number ||
	    strcmp(p->address, st.at.address) != 0)) {
		close(port_fd);
		port_fd = -1;
	}
	st.at = *p;
	st.missing = 0;
	open_all();
}

/* Ends the dumps; a client sees that the line "End:" is missing.  The pipes are
 * removed, so that mailq reports at once that no scheduler answers. */
void
status_close(void)
{
	kill_dumps(SIGKILL);
	if (queries.in >= 0)
		unlink(queries.path);
	if (commands.in >= 0)
		unlink(commands.path);
}
