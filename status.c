/*
 * status.c - answers queries of mailq and obeys commands of operators.
 *
 *	dump 7f		a query; the queue as text goes into the pipe whose name
 *			is the name of the pipe for queries followed by ".7f"
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
 * flush and release take "all", too.  A job that an agent has is not flushed;
 * hold, delete and bounce affect it after the agent's report.  delete and
 * bounce write to disk: after 100 jobs, later passes do the rest.  Each command
 * gets one line as its answer, which begins with "ok" or "no", and one line in
 * the log, with the owner of the answer pipe.  Who gave the command is not
 * known: whoever may write to the pipe for commands may name any answer pipe.
 *
 * Requests are not trusted.  A request is one short line of known words, and a
 * suffix consists of letters and digits.  mailq writes it in one piece, with an
 * end of line in front, so a line that another process has begun to write does
 * not join the request.  Only a named pipe is opened for an answer: the file is
 * checked before and after the open, links are not followed, and the scheduler
 * does not wait for a reader of the pipe.
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

#define PORT		174	/* the port of ZMailer's mailq */
#define DUMPS		5	/* dumps for all users at one time */
#define PLACES		(DUMPS + 1)	/* dumps at one time, the last place for
					 * root and the scheduler's own user */
#define RETRY_PAUSE	1	/* seconds between tries to open pipes and port,
				 * and between signals to slow dumps */
#define REQUEST_MOST	2100	/* bytes in a request */
#define READ_SIZE	112	/* bytes of one read: a few requests */
#define SUFFIX_MOST	20	/* bytes */
#define TMP_PIPE	"/usr/tmp/.mailq.text"
#define CANCELS_AT_ONCE	100	/* jobs that a command ends and syncs before its
				 * answer; more would delay mail */

/* A pipe for requests.  The scheduler also opens it for writing, so that read
 * never returns 0 when clients close the pipe. */
struct inlet {
	char	*path;			/* PATH_MAX_ bytes */
	int	in, writer;		/* descriptors, -1: closed */
	char	*part;			/* a line not yet ended */
	size_t	used;			/* bytes in part */
	int	overlong;		/* 1: the current line is dropped */
};

static char paths[2][PATH_MAX_], parts[2][REQUEST_MOST + READ_SIZE];
static struct inlet queries = { paths[0], -1, -1, parts[0], 0, 0 };
static struct inlet commands = { paths[1], -1, -1, parts[1], 0, 0 };
static int port_fd = -1;		/* the listening socket, or -1 */

static struct {
	struct port at;			/* the port of port_fd */
	double	retry_at;		/* mono; the end of RETRY_PAUSE */
	int	accept_failed;		/* 1: the port is not watched until
					 * retry_at */
	int	missing;		/* 1: a pipe or the port could not be
					 * opened; this was logged */
	long	dump_pid[PLACES];	/* process numbers, 0: free */
	double	next_log;		/* mono; can_log_request returns 0 until
					 * then */
} st;

/* ---- commands: their targets ------------------------------------------ */

/*
 * operation: a command that is carried out.  Its target is a message, or
 * addresses; without both it is "all".
 *
 * "bounce smtp/a.test" has the verb bounce and one pattern; of three vertices
 * that match, one with an agent, n[OUT_DONE] is 2 and n[OUT_REPORT] is 1, and
 * the answer is "ok 2 jobs bounced, 1 when their agents have reported".
 */
struct operation {
	const struct verb *verb;
	const char *what;	/* the target as text */
	struct message *msg;	/* the message, or NULL */
	char	**patterns;	/* patterns for the addresses, or NULL */
	struct text *answer;
	unsigned n[OUTCOMES];	/* vertices of each outcome; release: holds */
	long	nfiles;		/* files of forgotten mail to read; -1: there
				 * was no room for a request */
};

struct verb {
	const char *name;
	void	(*run)(struct operation *);
	int	takes_all;	/* 1: "all" is a target, too */
	const char *done;	/* what has become of the jobs, in the answer */
	enum cancel cancel;	/* of delete and bounce */
};

/* Returns the message in core whose files have this name without directories,
 * or NULL.  Other messages may have the same number. */
static struct message *
find_message_in_core(const char *name)
{
	struct message *m = msg_find_number(num_of(name, NULL), NULL);

	while (m != NULL && strcmp(name_base(m->name), name) != 0)
		m = msg_find_number(m->link.hash, m);
	return m;
}

/* Calls visit for each vertex of the target that is not DONE.  O(vertices),
 * which an operator's command may cost.  visit may end a vertex, which stays
 * linked until the sweep. */
static void
visit_vertices(struct operation *op,
    void (*visit)(struct operation *, struct vertex *))
{
	struct hlink *l = NULL;
	struct vertex *v;

	while ((l = hash_each(&q.messages, l)) != NULL) {
		v = msg_first_vertex(OWNER(struct message, link, l));
		for (; v != NULL; v = msg_next_vertex(v))
			if (v->state != V_DONE &&
			    (op->msg == NULL || op->msg == v->msg) &&
			    th_is_matched(v->thread, op->patterns))
				visit(op, v);
	}
}

static const char *
plural_ending(unsigned n)
{
	return n == 1 ? "" : "s";
}

/* Answers a flush, delete or bounce with the numbers of jobs.  The answer is
 * "no" if the disk could not be written for one of them. */
static void
answer_counts(struct operation *op)
{
	/* by enum outcome */
	static const char *const texts[] = { NULL, "more will follow",
	    "when their agents have reported", "not flushed (no command)",
	    "not flushed (with agents)", "not flushed (held)",
	    "failed: the spool cannot be written to" };
	unsigned sum = 0;
	int i;

	for (i = 0; i < OUTCOMES; i++)
		sum += op->n[i];
	if (sum == 0 && op->nfiles == 0) {
		if (op->verb->cancel == CANCEL_NONE && op->patterns == NULL)
			text_add(op->answer, "ok nothing waits");
		else
			text_add(op->answer, "no nothing in the queue is for "
			    "%s", op->what);
		return;
	}
	text_add(op->answer, "%s %u job%s %s",
	    op->n[OUT_FAILED] > 0 ? "no" : "ok", op->n[OUT_DONE],
	    plural_ending(op->n[OUT_DONE]), op->verb->done);
	for (i = OUT_PASS; i < OUTCOMES; i++)
		if (op->n[i] > 0)
			text_add(op->answer, ", %u %s", op->n[i], texts[i]);
	if (op->nfiles > 0)
		text_add(op->answer, "; %ld file%s to be read",
		    op->nfiles, plural_ending(op->nfiles));
	if (op->nfiles < 0)
		text_add(op->answer, "; forgotten mail cannot be read now");
}

/* Makes a request for the forgotten mail of addresses that match the pattern;
 * NULL: of all. */
static void
request_forgotten(struct operation *op, enum request_kind kind,
    const char *pattern)
{
	char **patterns = NULL;

	if (pattern != NULL && pat_expand(pattern, &patterns) != NULL)
		op->nfiles = -1;
	else
		op->nfiles = in_add_request(kind, patterns);
}

/* ---- commands: verbs -------------------------------------------------- */

/* Counts the vertex, and flushes it if the target is a message.  do_flush
 * flushes threads. */
static void
count_and_flush_vertex(struct operation *op, struct vertex *v)
{
	enum outcome what = OUT_DONE;

	if (v->state == V_PINNED && v->cancel != CANCEL_NONE)
		return;			/* the vertex is about to end */
	if (v->state == V_PINNED && !v->msg->held)
		what = OUT_FAILED;	/* its tags are not written yet */
	else if (v->state == V_PINNED || v->thread->held != NULL)
		what = OUT_HELD;
	else if (v->state == V_FED)
		what = OUT_FED;
	else if (v->thread->ring->conf->v.command == NULL)
		what = OUT_NO_COMMAND;
	else if (op->msg != NULL)
		th_flush(v->thread, v, 1);
	op->n[what]++;
}

/* Flushes the vertices of a message, or the threads of addresses.  A flush of a
 * thread also ends the dead time of the host for new mail. */
static void
do_flush(struct operation *op)
{
	struct thread *t;

	visit_vertices(op, count_and_flush_vertex);
	for (t = q.all; t != NULL && op->msg == NULL; t = t->next)
		if (t->held == NULL && th_is_matched(t, op->patterns))
			th_flush(t, NULL, 1);
	/* unused threads can be of dead hosts with forgotten mail */
	for (t = q.unused; t != NULL && op->msg == NULL; t = t->next)
		if (t->until > now.mono && th_is_matched(t, op->patterns))
			t->until = now.mono;
	if (op->msg == NULL)
		request_forgotten(op, REQUEST_FLUSH,
		    op->patterns == NULL ? NULL : op->what);
	answer_counts(op);
}

/* Counts a vertex that a hold affects: at once, or after the report of its
 * agent. */
static void
count_held(struct operation *op, struct vertex *v)
{
	op->n[v->state == V_FED ? OUT_REPORT : OUT_DONE]++;
}

/* Applies changed holds to each thread and each held message.  If a hold on an
 * address has ended, the timers of messages run, as messages may expire now. */
static void
update_holds(void)
{
	struct thread *t;
	struct hlink *l = NULL;
	struct message *m;
	unsigned nended = 0;	/* threads that are not held any more */

	note_leaver(0);
	for (t = q.all; t != NULL; t = t->next)
		nended += th_update_hold(t);
	while ((l = hash_each(&q.messages, l)) != NULL) {
		m = OWNER(struct message, link, l);
		if (m->held && held_get(0, m->name) == NULL)
			q_hold_message(m, 0);
		else if (nended > 0)
			q_run_message_timer(m);
	}
}

/* Answers that the list of holds cannot be written, by errno. */
static void
answer_holds_error(struct operation *op)
{
	text_add(op->answer, "no %s/.mailq.holds cannot be written: %s",
	    opt.postoffice, strerror(errno));
}

/* Holds the target.  The hold is written to disk before any job is held. */
static void
do_hold(struct operation *op)
{
	int is_address = op->patterns != NULL;
	int was_held = held_get(is_address, op->what) != NULL;

	if (held_set(is_address, op->what, 1) < 0) {
		answer_holds_error(op);
		return;
	}
	if (op->msg != NULL)
		q_hold_message(op->msg, 1);
	else
		update_holds();
	visit_vertices(op, count_held);
	text_add(op->answer, "ok %s is %sheld, %u job%s", op->what,
	    was_held ? "already " : "", op->n[OUT_DONE],
	    plural_ending(op->n[OUT_DONE]));
	if (op->n[OUT_REPORT] > 0)
		text_add(op->answer, " and %u when their agents have reported",
		    op->n[OUT_REPORT]);
}

/* Releases holds.  If the disk fails, holds released so far stay released. */
static void
do_release(struct operation *op)
{
	int is_all = op->msg == NULL && op->patterns == NULL;
	const struct hold *h;

	for (;;) {
		h = is_all ? q.holds : held_get(op->patterns != NULL, op->what);
		if (h == NULL)
			break;
		/* messages that are held by name are in core */
		if (h->patterns != NULL)
			request_forgotten(op, REQUEST_WAKE, h->text);
		if (held_set(h->patterns != NULL, h->text, 0) < 0)
			break;
		op->n[OUT_DONE]++;
	}
	if (h != NULL)
		answer_holds_error(op);
	else if (op->n[OUT_DONE] > 0)
		text_add(op->answer, "ok %u hold%s released", op->n[OUT_DONE],
		    plural_ending(op->n[OUT_DONE]));
	else if (is_all)
		text_add(op->answer, "ok nothing is on hold");
	else
		text_add(op->answer, "no there is no hold on %s", op->what);
	update_holds();	/* threads still point to the freed holds */
}

/* Deletes or bounces a vertex; beyond CANCELS_AT_ONCE queue.c does so in a
 * later pass. */
static void
cancel_vertex(struct operation *op, struct vertex *v)
{
	enum cancel how = op->verb->cancel;

	/* a DSN on earlier failures is still sent, unless the command is a
	 * delete with a pattern for the channel dsn */
	if (th_is_dsn(v->thread) && (op->msg != NULL || how == CANCEL_BOUNCE))
		return;
	op->n[q_cancel_vertex(v, how,
	    op->n[OUT_DONE] + op->n[OUT_REPORT] >= CANCELS_AT_ONCE)]++;
}

/* Does delete and bounce. */
static void
do_cancel(struct operation *op)
{
	int has_dsn = op->msg != NULL &&
	    (op->msg->ndsn > 0 || op->msg->dsn_due);

	if (op->msg != NULL && q_has_only_dsns(op->msg)) {
		if (op->verb->cancel == CANCEL_BOUNCE) {
			text_add(op->answer, "no all recipients of %s are done"
			    "%s", op->what, has_dsn ? ", its DSN is still to "
			    "be sent" : "");
			return;
		}
		q_discard_message(op->msg, "deleted by a command");
		text_add(op->answer, has_dsn ? "ok the DSN of %s is deleted" :
		    "ok %s is removed: all its recipients are done", op->what);
		return;
	}
	visit_vertices(op, cancel_vertex);
	if (op->msg == NULL)
		request_forgotten(op, op->verb->cancel == CANCEL_DELETE ?
		    REQUEST_DELETE : REQUEST_BOUNCE, op->what);
	answer_counts(op);
}

static const struct verb verbs[] = {
	{ "flush", do_flush, 1, "flushed", CANCEL_NONE },
	{ "hold", do_hold, 0, NULL, CANCEL_NONE },
	{ "release", do_release, 1, NULL, CANCEL_NONE },
	{ "delete", do_cancel, 0, "deleted", CANCEL_DELETE },
	{ "bounce", do_cancel, 0, "bounced", CANCEL_BOUNCE },
	{ NULL, NULL, 0, NULL, CANCEL_NONE }
};

/* Sets the target of the command: 0, or -1 with the reason in the answer.
 * Loads a message that is forgotten or not loaded yet. */
static int
resolve_target(struct operation *op)
{
	const char *name = name_parse(op->what), *why = NULL;

	if (name != NULL) {
		op->what = name;
		why = in_load_named(name);
		op->msg = find_message_in_core(name);
		if (op->msg == NULL && why != NULL)
			text_add(op->answer, "no %s is skipped: %s", name, why);
		else if (op->msg == NULL)
			text_add(op->answer, "no there is no message %s", name);
		return op->msg == NULL ? -1 : 0;
	}
	if (strcmp(op->what, "all") == 0 && op->verb->takes_all)
		return 0;
	if (strlen(op->what) >= WORD_MAX_) {	/* too long for a hold */
		text_add(op->answer, "no that pattern is too long");
		return -1;
	}
	if (strchr(op->what, '/') == NULL)
		why = "it is neither the name of a message nor channel/host";
	else
		why = pat_expand(op->what, &op->patterns);
	if (why != NULL)
		text_add(op->answer, "no %s: %s", op->what, why);
	return why != NULL ? -1 : 0;
}

/* Runs the command, logs it, and writes its answer to fd.  If the client has
 * ended by then, the log has the answer.  The words have no control bytes
 * (read_inlet), and so the answer has none. */
static void
run_command(const char *verb, const char *what, long uid, int fd)
{
	struct operation op;
	struct text answer;
	char line[1200];

	text_init(&answer, line, sizeof(line) - 1);
	memset(&op, 0, sizeof(op));
	op.what = what;
	op.answer = &answer;
	for (op.verb = verbs; op.verb->name != NULL; op.verb++)
		if (strcmp(verb, op.verb->name) == 0)
			break;
	if (op.verb->name == NULL)
		text_add(&answer, "no %s is no command", verb);
	else if (resolve_target(&op) == 0)
		op.verb->run(&op);
	pat_free(op.patterns);
	log_info("command answer-to=%ld verb=%s what=%s %s", uid, verb, what,
	    line);
	line[answer.len++] = '\n';
	fd_write(fd, line, answer.len);	/* fits into any pipe */
	close(fd);
}

/* ---- queries --------------------------------------------------------- */

/* Returns 1 on the first call in each second, so that no client fills the disk
 * with log lines. */
static int
can_log_request(void)
{
	if (st.next_log > now.mono)
		return 0;
	st.next_log = now.mono + 1;
	return 1;
}

/* Returns the index of a free place among the first nplaces, or -1. */
static int
find_free_place(int nplaces)
{
	int i;

	for (i = 0; i < nplaces; i++)
		if (st.dump_pid[i] == 0)
			return i;
	return -1;
}

/* Starts a child that writes a dump to fd: 0, or -1 with errno. */
static int
start_dump(int place, int fd)
{
	long pid;
	int i;

	q_sweep_ended();		/* the dump shows no finished mail */
	log_flush();		/* the child gets an empty buffer */
	pid = fork();
	if (pid == 0) {
		ctl_close_kept();
		logs.level = -1;	/* the log belongs to the parent */
		for (i = 1; i < SIGNALS; i++)
			signal(i, SIG_DFL);
		for (i = 3; i < FD_SETSIZE; i++)	/* all descriptors */
			if (i != fd)
				close(i);
		fcntl(fd, F_SETFL, 0);	/* blocking: the child may wait */
		_exit(dump_queue(fd) < 0);
	}
	if (pid > 0)
		st.dump_pid[place] = pid;
	return pid < 0 ? -1 : 0;
}

static void
signal_dumps(int sig)
{
	int i;

	for (i = 0; i < PLACES; i++)
		if (st.dump_pid[i] != 0)
			kill((pid_t)st.dump_pid[i], sig);
}

/* Answers the query by a dump, or by "busy" if the first nplaces places are
 * taken.  A query costs the scheduler a fork at most. */
static void
answer_query(int fd, int nplaces)
{
	int place = find_free_place(nplaces);
	const char *answer = NULL;

	if (place < 0) {
		answer = "busy others are being answered, ask again later\n";
	} else if (start_dump(place, fd) < 0) {
		answer = "busy a process for the dump cannot be started\n";
		if (can_log_request())
			log_warn("mailq fork %s", strerror(errno));
	}
	if (answer != NULL)
		fd_write(fd, answer, strlen(answer));
	close(fd);
}

void
status_reap(long pid, int status)
{
	int i;

	for (i = 0; i < PLACES; i++)
		if (st.dump_pid[i] == pid)
			st.dump_pid[i] = 0;
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM &&
	    can_log_request())
		log_info("mailq pid=%ld the dump has ended, as its client "
		    "reads nothing", pid);
}

/* ---- the port -------------------------------------------------------- */

/* Opens the port.  Returns -1 if a later try may succeed, or 0 if the port is
 * open, not wanted, or not permitted. */
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
	/* only root can open the default port; others get no error */
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
answer_port_clients(void)
{
#ifndef NO_TCP
	int fd = 0;

	while (find_free_place(DUMPS) >= 0 &&
	    (fd = accept(port_fd, NULL, NULL)) >= 0) {
		fd_cloexec(fd);
		answer_query(fd, DUMPS);
	}
	/* while descriptors are used up, select would always return at once */
	if (fd < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
		st.accept_failed = 1;
#endif
}

/* ---- pipes ----------------------------------------------------------- */

static int
open_fifo(const char *path, int flags)
{
	return open(path, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
}

/* Opens the answer pipe and sets *uid to its owner.  Returns the descriptor, or
 * -1 if the file is no pipe or has no reader. */
static int
open_answer_pipe(const struct inlet *d, const char *suffix, long *uid)
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

/* Removes a pipe without a reader, which a crash has left behind: 0; or -1 with
 * errno if the path cannot be used. */
static int
remove_stale_pipe(const char *path)
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

/* Makes the pipe and opens it: 0; or -1 with errno, EPERM if another user has
 * replaced the pipe.  Its path is dir and name, joined.  A pipe that cannot be
 * opened is removed by the next call. */
static int
open_inlet(struct inlet *d, const char *dir, const char *name, int mode)
{
	struct stat there;
	mode_t mask;
	int rc, error;

	if (text_fmt(d->path, PATH_MAX_, "%s%s", dir, name) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (remove_stale_pipe(d->path) < 0)
		return -1;
	mask = umask(0);
	rc = mkfifo(d->path, (mode_t)mode);
	umask(mask);
	if (rc < 0)
		return -1;
	d->in = open_fifo(d->path, O_RDONLY);
	d->writer = d->in < 0 ? -1 : open_fifo(d->path, O_WRONLY);
	/* another user may have replaced the pipe in a public directory */
	if (d->writer >= 0 && fd_cloexec(d->in) == 0 &&
	    fd_cloexec(d->writer) == 0 && fstat(d->in, &there) == 0) {
		if (S_ISFIFO(there.st_mode) && there.st_uid == geteuid())
			return 0;
		errno = EPERM;
	}
	error = errno;
	cmd_close(d->in, d->writer);
	d->in = d->writer = -1;
	errno = error;
	return -1;
}

/* Logs the error of an open, unless the last open_missing has logged one. */
static void
log_open_error(const struct inlet *d)
{
	if (!st.missing)
		log_err("mailq pipe=%s %s", d->path, fd_open_own_error());
}

/* Opens the pipe for queries at the usual place if that is free, else in the
 * post office, where mailq tries first. */
static void
open_query_pipe(void)
{
	const char *pipe = opt.rendezvous != NULL ? opt.rendezvous : TMP_PIPE;

	if (open_inlet(&queries, pipe, "", 0622) == 0)
		return;
	/* it is normal that the directory is missing, or that another scheduler
	 * uses the pipe */
	if (opt.rendezvous != NULL || (errno != ENOENT && errno != EBUSY))
		log_open_error(&queries);
	if (open_inlet(&queries, opt.postoffice, "/public/.mailq.text",
	    0622) < 0)
		log_open_error(&queries);
}

/* Opens the pipe for commands, for the owner and group of the post office. */
static void
open_command_pipe(void)
{
	struct stat office;

	if (open_inlet(&commands, opt.postoffice, "/.mailq.command",
	    0620) < 0)
		log_open_error(&commands);
	else if (stat(opt.postoffice, &office) < 0 ||
	    fchown(commands.in, geteuid() == 0 ? office.st_uid :
	    (uid_t)-1, office.st_gid) < 0)
		log_warn("mailq pipe=%s cannot get the owner of the post "
		    "office: %s", commands.path, strerror(errno));
}

/* Opens the pipes and the port that are not open.  After a failure status_do
 * repeats the call: another process may have a pipe open after a crash. */
static void
open_missing(void)
{
	int had_pipes = queries.in >= 0 && commands.in >= 0, has_pipes;

	if (queries.in < 0)
		open_query_pipe();
	if (commands.in < 0)
		open_command_pipe();
	has_pipes = queries.in >= 0 && commands.in >= 0;
	/* at the start and after a reload the line shows a missing pipe as
	 * "none"; a repeated call logs the line only if both pipes are open */
	if (!had_pipes && (has_pipes || !st.missing))
		log_info("mailq pipe=%s commands=%s",
		    queries.in < 0 ? "none" : queries.path,
		    commands.in < 0 ? "none" : commands.path);
	st.missing = open_port() < 0 || !has_pipes;
}

/* ---- requests -------------------------------------------------------- */

static void
log_bad_request(const struct inlet *d, const char *why, const char *line)
{
	if (can_log_request())
		log_warn("mailq pipe=%s %s%s", d->path, why, line);
}

/* Returns 1 if the word consists of letters and digits and is not longer than
 * SUFFIX_MOST, so that it can be a part of a path. */
static int
is_pipe_suffix(const char *s)
{
	size_t n = 0;

	while (isalnum((unsigned char)s[n]))
		n++;
	return n > 0 && n <= SUFFIX_MOST && s[n] == '\0';
}

/* Carries out a request: "dump suffix" in the pipe of queries, "verb target
 * suffix" in the pipe of commands. */
static void
handle_request(struct inlet *d, char *line)
{
	int is_query = d == &queries, nwords = is_query ? 2 : 3, n = 0, fd;
	char *word[4], *w, shown[101];	/* the line in the log */
	long uid;

	text_fmt(shown, sizeof(shown), "%s", line);
	for (w = strtok(line, " "); w != NULL && n <= nwords;
	    w = strtok(NULL, " "))
		word[n++] = w;
	if (n != nwords || !is_pipe_suffix(word[n - 1]) ||
	    (is_query && strcmp(word[0], "dump") != 0)) {
		log_bad_request(d, "not a request: ", shown);
		return;
	}
	fd = open_answer_pipe(d, word[n - 1], &uid);
	if (fd < 0)
		log_bad_request(d, "no pipe for an answer, nothing done: ",
		    word[n - 1]);
	else if (is_query)
		answer_query(fd, uid == 0 || uid == (long)geteuid() ? PLACES :
		    DUMPS);
	else
		run_command(word[0], word[1], uid, fd);
}

/* Returns 1 if the text up to end has no control bytes. */
static int
is_clean(const char *s, const char *end)
{
	while (s < end && (unsigned char)*s >= ' ' && *s != 127)
		s++;
	return s == end;
}

/* Reads at most READ_SIZE bytes, so that a client that writes without end does
 * not delay mail, and carries out the requests that are complete.  A line that
 * is longer than a request is dropped.  When the pipe is empty, a line without
 * its end is dropped, too, as clients write a request in one piece. */
static void
read_inlet(struct inlet *d)
{
	long n = read(d->in, d->part + d->used, READ_SIZE);
	char *s = d->part, *end;

	if (n < 0 && errno != EAGAIN && errno != EINTR)
		log_bad_request(d, "cannot be read: ", strerror(errno));
	if (n <= 0)
		return;
	d->used += n;
	for (; (end = memchr(s, '\n', d->used)) != NULL; s = end + 1) {
		d->used -= end + 1 - s;
		*end = '\0';
		if (d->overlong || !is_clean(s, end))
			log_bad_request(d, "a line too long or with control "
			    "bytes", "");
		else if (s < end)
			handle_request(d, s);
		d->overlong = 0;
	}
	if (n < READ_SIZE && d->used > 0 && !d->overlong) {
		log_bad_request(d, "a line without its end", "");
		d->used = 0;
	}
	memmove(d->part, s, d->used);
	if (d->used > REQUEST_MOST) {
		d->overlong = 1;
		d->used = 0;
	}
}

/* ---- for the loop ---------------------------------------------------- */

double
status_prep_wait(fd_set *in, int *max)
{
	int is_paused = st.accept_failed || find_free_place(DUMPS) < 0;

	if (!is_paused)
		fd_watch(port_fd, in, max);
	fd_watch(queries.in, in, max);
	fd_watch(commands.in, in, max);
	return is_paused || st.missing ? st.retry_at - now.mono : 3600;
}

void
status_do(fd_set *in)
{
	if (port_fd >= 0 && FD_ISSET(port_fd, in))
		answer_port_clients();
	if (queries.in >= 0 && FD_ISSET(queries.in, in))
		read_inlet(&queries);
	if (commands.in >= 0 && FD_ISSET(commands.in, in))
		read_inlet(&commands);
	if (st.retry_at > now.mono)
		return;
	st.retry_at = now.mono + RETRY_PAUSE;
	st.accept_failed = 0;
	if (st.missing)
		open_missing();
	if (find_free_place(DUMPS) < 0)
		signal_dumps(SIGCONT);
}

/* Opens pipes and port at the start and after a reload.  A port that has not
 * changed stays open, so that no client is refused. */
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
	open_missing();
}

/* Ends the dumps; a client sees that the line "End:" is missing.  The pipes are
 * removed, so that mailq reports at once that no scheduler answers. */
void
status_close(void)
{
	signal_dumps(SIGKILL);
	if (queries.in >= 0)
		unlink(queries.path);
	if (commands.in >= 0)
		unlink(commands.path);
}
