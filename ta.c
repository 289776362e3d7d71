/*
 * ta.c - transport agents: how they are started, what is said to them and what
 * they say.
 *
 * An agent is a program that delivers.  It has one socket (or two pipes) on
 * its descriptors 0, 1 and 2, and talks in lines:
 *
 *	agent		scheduler
 *	#hungry				I am up, or: the oldest job is over
 *			NAME\tHOST	a job: this message for this host
 *	123/456\tNOTARY\tSTATUS TEXT	what became of the recipient at 456
 *			#idle		there is nothing more now
 *			(empty line)	go
 *
 * A job covers all recipients of a message with the agent's channel and that
 * host.  Jobs are fed ahead by overfeed, topped up when half of them are
 * done, and answered in order.  What an agent says outside the protocol, on
 * its standard error too, is logged and changes nothing.
 *
 * Its descriptors 0, 1 and 2 are all that it inherits: everything else that is
 * open here has a close-on-exec mark.  No shell is involved: the command is
 * words, so no host name can become a command.  Its environment is the
 * NAME=value words of its command; TZ, PATH, CHANNEL (for which it works), and
 * ZCONFIG when there is a -Z file, unless the command sets them.  Its directory
 * is ours, transport/.  As root we become group first, then user, with no other
 * group left; anybody else can only stay what he is.  What goes wrong before
 * the program runs is told by an exit code of its own and a line on the socket.
 *
 * How many agents there can be follows from how many descriptors we may
 * have (seed 22, note 1): the soft limit is raised to the hard one first, and
 * select sets a bound of its own.
 *
 * An agent stays on its thread while that has vertices ready, but gives way
 * after a stretch when others wait; in the preemptive order it leaves after
 * each job.  Then it is free, until pool.c has something for it in the same
 * pass; if there is nothing it is told so, and is idle until idlemax.  One
 * that has reached maxage or maxjobs ends when it would become free.
 *
 * Trouble.  An agent that cannot be run, or dies before its first #hungry,
 * stops its ring for an interval, with one line in the log; where the command
 * names the host, its thread alone.  So does one that ends before it has begun
 * any job, for 1 second, doubled each time up to 5 minutes.  One that dies
 * later loses nothing: the tags on disk decide (q_job_over).  The job in work
 * is deferred; those that it had not begun are ready again and count no
 * attempt.  One that is silent for the clause's timeout with work in hand is
 * ended; after too many lines outside the protocol, further ones are no better
 * than silence.
 *
 * Costs: one pass O(agents), as select itself; a report O(jobs that the agent
 * has) and O(log n) of the recipients of its own.
 */
#include "scheduler.h"
#include <grp.h>
#include <signal.h>
#include <sys/wait.h>

#ifndef NO_RLIMIT
#include <sys/resource.h>
#endif
#ifdef NO_SOCKETPAIR
#define FDS_EACH 2
#else
#include <sys/socket.h>
#define FDS_EACH 1
#endif

#define FDS_KEPT	30	/* descriptors not for agents (seed 22, [1]) */
/* What we cannot do without: the first three, log, syslog, the pipe of signals
 * (2), pid file, statistics, the socket and port, both named pipes (4); for a
 * moment two scans, a look around, and two control files (5); and both
 * ends of one agent. */
#define FDS_LEAST	(15 + 8 + 2 * FDS_EACH)
#define PASSED		5	/* names of the environment that we set */
#define SIGNALS		32	/* those with names, on any system */

#define STRETCH		100	/* jobs after which it gives way to others */
#define STRETCH_MOST	5	/* ... seconds, where others wait for its slot */
#define GREETING	300L	/* seconds that it has for its first #hungry */
#define SOON		3	/* seconds in which one that ends should go */
#define GRACE		30	/* seconds from then to SIGTERM */
#define MERCY		10	/* seconds from SIGTERM to SIGKILL */
#define FAILED_MOST	300L	/* ... for which its ring stops when agents end
				 * before they begin a job: 1, 2, 4, ... */
#define FAILURES	3	/* such ends after which it may be the oldest
				 * job that agents cannot bear */
#define FORK_AGAIN	10	/* seconds until a failed fork is repeated */
#define LINE_MOST	65536	/* bytes in a line that an agent may say */
#define READS		4	/* of sizeof(inbuf) in one pass */

static struct heap due;		/* agents, by timer */
static unsigned long served;	/* new agents so far */

static char inbuf[16384];

/* ---- how many --------------------------------------------------------- */

/* How many descriptors we may have, as many as we can get. */
static long
descriptors(void)
{
	long n = -1;
#ifndef NO_RLIMIT
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		if (rl.rlim_cur > (rlim_t)FD_SETSIZE)
			rl.rlim_cur = (rlim_t)FD_SETSIZE;
		setrlimit(RLIMIT_NOFILE, &rl);
		if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
			n = rl.rlim_cur > (rlim_t)FD_SETSIZE ? FD_SETSIZE :
			    (long)rl.rlim_cur;
	}
#endif
	if (n < 0)
		n = sysconf(_SC_OPEN_MAX);
	if (n < 0)
		n = 64;
	return n > FD_SETSIZE ? FD_SETSIZE : n;
}

int
ta_room(long *most)
{
	*most = descriptors();
	return *most < FDS_LEAST ? FDS_LEAST : 0;
}

unsigned
ta_most(void)
{
	long n = descriptors();
	unsigned most = 1;

	if (n > FDS_KEPT + FDS_EACH)
		most = (unsigned)((n - FDS_KEPT) / FDS_EACH);
	log_info("limits maxta=%u descriptors=%ld for each agent=%d", most, n,
	    FDS_EACH);
#ifdef NO_INITGROUPS
	if (geteuid() == 0)
		log_info("limits agents keep our supplementary groups: built "
		    "without setgroups");
#endif
	return most;
}

/* ---- what it is given ------------------------------------------------ */

const char *
ta_var(const char *name)
{
	static const struct {
		const char *name;
		char	**value;
	} known[] = {
		{ "POSTOFFICE", &opt.postoffice },
		{ "MAILBIN", &opt.mailbin },
		{ "MAILSHARE", &opt.mailshare },
		{ "LOGDIR", &opt.logdir }
	};
	size_t i, n = strlen(name);

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0 &&
		    *known[i].value != NULL)
			return *known[i].value;
	for (i = 0; opt.vars != NULL && opt.vars[i] != NULL; i++)
		if (strncmp(opt.vars[i], name, n) == 0 &&
		    opt.vars[i][n] == '=')
			return opt.vars[i] + n + 1;
	return strcmp(name, "PATH") == 0 ? opt.path : NULL;
}

/* Does the command itself set this name? */
static int
is_set(const struct command *c, const char *name)
{
	size_t n = strlen(name);
	int i;

	for (i = 0; i < c->nenv; i++)
		if (strncmp(c->env[i], name, n) == 0 && c->env[i][n] == '=')
			return 1;
	return 0;
}

/* The whole environment of an agent: 0 or -1. */
static int
environment(struct command *c, const char *channel, char **env, char *mem,
    size_t size)
{
	static const char *const passed[PASSED] = { "TZ", "PATH", "ZCONFIG",
	    "CHANNEL", "MAILNAME" };
	const char *value[PASSED];
	struct text t;
	int i, n;

	for (n = 0; n < c->nenv; n++)
		env[n] = c->env[n];
	value[0] = getenv("TZ");
	value[1] = ta_var("PATH");
	value[2] = opt.envfile;
	value[3] = channel;
	value[4] = q.config->mailname;
	text_init(&t, mem, size);
	for (i = 0; i < PASSED; i++) {
		if (value[i] == NULL || is_set(c, passed[i]))
			continue;
		env[n++] = t.s + t.len;
		text_add(&t, "%s=%s", passed[i], value[i]);
		text_put(&t, "", 1);
	}
	env[n] = NULL;
	return t.cut ? -1 : 0;
}

/* ---- a program is started -------------------------------------------- */

static void
close_both(int fd[2])
{
	close(fd[0]);
	if (fd[1] != fd[0])
		close(fd[1]);
}

/* Makes both ends; [0] is read from, [1] written to: 0 or -1.  An end that
 * another agent had too would hide that this one is gone, and one on which we
 * waited would stop everything. */
static int
make_channel(int ours[2], int theirs[2])
{
	int i, bad = 0, err;
#ifdef NO_SOCKETPAIR
	int to[2], from[2];

	if (pipe(to) < 0)
		return -1;
	if (pipe(from) < 0) {
		close(to[0]);
		close(to[1]);
		return -1;
	}
	ours[0] = from[0];
	ours[1] = to[1];
	theirs[0] = to[0];
	theirs[1] = from[1];
#else
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		return -1;
	ours[0] = ours[1] = s[0];
	theirs[0] = theirs[1] = s[1];
#endif
	for (i = 0; i < 2; i++)
		bad |= fd_cloexec(ours[i]) < 0 || fd_cloexec(theirs[i]) < 0 ||
		    fd_nonblock(ours[i]) < 0;
	if (bad) {
		err = errno;
		close_both(ours);
		close_both(theirs);
		errno = err;
	}
	return bad ? -1 : 0;
}

/* In the child: who it is to be.  NULL, or what could not be done. */
static const char *
become(const struct setting *s)
{
#ifndef NO_RLIMIT
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = (rlim_t)opt.agentfiles;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
#endif
	errno = 0;
	if (s->nice != 0 && nice((int)s->nice) == -1 && errno != 0)
		return "nice";
	if (geteuid() != 0)
		return NULL;	/* we can be nobody else */
#ifndef NO_INITGROUPS
	{
		gid_t gid = (gid_t)s->gid;

		if (setgroups(1, &gid) < 0)
			return "setgroups";
	}
#endif
	if (setgid((gid_t)s->gid) < 0)
		return "setgid";
	if (setuid((uid_t)s->uid) < 0)
		return "setuid";
	return NULL;
}

/* In the child: becomes the agent.  Says why when it cannot. */
static void
become_agent(const struct setting *s, char **argv, char **env,
    const int theirs[2])
{
	char line[PATH_MAX_ + 200];
	const char *what;
	int sig;

	/* what we catch or ignore, and what our parent had us ignore */
	for (sig = 1; sig < SIGNALS; sig++)
		signal(sig, SIG_DFL);
	setpgid(0, 0);		/* a terminal's ^C is for the scheduler */
	if (dup2(theirs[0], 0) < 0 || dup2(theirs[1], 1) < 0 ||
	    dup2(theirs[1], 2) < 0)
		_exit(X_OSERR);
	what = become(s);
	if (what == NULL) {
		execve(argv[0], argv, env);
		what = "execute";
	}
	text_fmt(line, sizeof(line), "# cannot %s %s: %s\n", what, argv[0],
	    strerror(errno));
	fd_write(1, line, strlen(line));
	_exit(X_OSFILE);
}

/* The path of the command, made in path: 0 or -1. */
static int
find_program(const struct command *c, char *path, size_t size)
{
	if (c->argv[0][0] == '/')
		return text_fmt(path, size, "%s", c->argv[0]);
	return text_fmt(path, size, "%s/ta/%s", opt.mailbin, c->argv[0]);
}

/* Starts the command as an agent for this channel: its process number, and our
 * ends in ours; -1 with errno when that cannot be. */
static long
start_program(const struct setting *s, struct command *c, const char *channel,
    int ours[2])
{
	char *env[CMD_WORDS + PASSED + 1], mem[PATH_MAX_ * 5], path[PATH_MAX_];
	int theirs[2];
	long pid = -1;

	if (environment(c, channel, env, mem, sizeof(mem)) < 0 ||
	    find_program(c, path, sizeof(path)) < 0) {
		errno = E2BIG;
		return -1;
	}
	if (make_channel(ours, theirs) < 0)
		return -1;
	if (ours[0] >= FD_SETSIZE || ours[1] >= FD_SETSIZE) {
		errno = EMFILE;
	} else {
		log_flush();
		pid = (long)fork();
	}
	c->argv[0] = path;
	if (pid == 0)
		become_agent(s, c->argv, env, theirs);
	close_both(theirs);
	if (pid < 0)
		close_both(ours);
	return pid;
}

/* ---- coming to be ---------------------------------------------------- */

/* Nothing of this ring is started for some seconds; said once. */
static void
stop_ring(struct ring *r, long seconds, const char *why)
{
	struct text t;
	char span[40];

	r->pending = "an agent that can be started";
	if (r->dead > now.mono)
		return;
	r->dead = now.mono + (double)seconds;
	reason_copy(&r->trouble, why);
	text_init(&t, span, sizeof(span));
	span_add(&t, seconds);
	log_err("agent channel=%s command=\"%s\" %s; its mail waits for %s",
	    r->chan->name, r->conf->v.command, why, span);
}

/* An agent could not be started for the thread: its ring stops for some
 * seconds.  Where each thread has agents of its own, or the host is the reason
 * (0 seconds), no other has to wait for that. */
static void
cannot_start(struct ring *r, struct thread *t, long seconds, const char *why)
{
	char reason[400];

	if (!r->conf->bound && seconds > 0) {
		stop_ring(r, seconds, why);
		return;
	}
	text_fmt(reason, sizeof(reason), "the agent %s", why);
	reason_copy(&t->dest->reason, reason);
	th_sleep(t);
}

static void
enlist(struct ta *ta, struct ring *r)
{
	ta->ring = r;
	LINK(q.agents, ta, next, prev);
	q.nagents++;
	q.nspare += (unsigned)r->conf->dsn;
	r->nta++;
	r->chan->nta++;
	r->served = ++served;
}

/* A new agent for the thread, or NULL after stopping the ring. */
static struct ta *
start(struct ring *r, struct thread *t)
{
	const struct setting *s = &r->conf->v;
	static struct command c;
	int fd[2];
	long pid = -1;
	const char *why;
	struct ta *ta;

	why = cmd_split(s->command, r->chan->name, t->host, ta_var, &c);
	if (why != NULL) {
		cannot_start(r, t, 0, why);
		return NULL;
	}
	ta = mem_get(sizeof(*ta));
	if (ta != NULL && heap_room(&due, q.nagents + 1) == 0)
		pid = start_program(s, &c, r->chan->name, fd);
	if (pid < 0) {
		stop_ring(r, FORK_AGAIN, strerror(errno));
		free(ta);
		return NULL;
	}
	ta->pid = (int)pid;
	ta->in = fd[0];
	ta->out = fd[1];
	ta->born = ta->heard = now.mono;
	enlist(ta, r);
	heap_set(&due, &ta->timer, now.mono +
	    (double)(s->timeout < GREETING ? s->timeout : GREETING));
	log_info("agent-start pid=%d channel=%s host=%s agents=%u", ta->pid,
	    r->chan->name, t->host, q.nagents);
	return ta;
}

int
ta_start(struct vertex *v)
{
	struct thread *t = v->thread;
	struct ring *r = t->ring;
	struct ta *ta = start(r, t);

	if (ta == NULL)
		return -1;
	th_keep(ta, v);
	th_join(ta, t);
	return 0;
}

/* ---- talking to one -------------------------------------------------- */

static void end(struct ta *, int grace);	/* which flushes, too */

/* Writes what can be written without waiting.  Nobody who reads: its end will
 * be told to us.  Any other error: it would wait for ever for what is lost. */
static void
flush(struct ta *ta)
{
	size_t done = 0;
	int lost = 0;
	long n;

	while (ta->out >= 0 && done < ta->nout) {
		n = (long)write(ta->out, ta->outbuf + done, ta->nout - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			break;
		if (n < 0) {
			lost = errno != EPIPE && errno != ECONNRESET ?
			    errno : 0;
			n = (long)(ta->nout - done);
		}
		done += (size_t)n;
	}
	ta->nout -= done;
	if (done > 0)
		memmove(ta->outbuf, ta->outbuf + done, ta->nout);
	if (lost && ta->state != TA_CLOSING) {
		log_err("agent pid=%d cannot be talked to and is ended: %s",
		    ta->pid, strerror(lost));
		end(ta, 0);
	}
	if (ta->state != TA_CLOSING || ta->nout > 0 || ta->out < 0)
		return;
#ifdef NO_SOCKETPAIR
	close(ta->out);
#else
	shutdown(ta->out, 1);
#endif
	ta->out = -1;
}

/* Sends a signal to it and to what it has started. */
static void
signal_it(struct ta *ta)
{
	int sig = ta->kills++ == 0 ? SIGTERM : SIGKILL;

	if (!ta->reaped && kill(-ta->pid, sig) < 0)
		kill(ta->pid, sig);
	heap_set(&due, &ta->timer, now.mono + MERCY);
}

/* It is gone, or takes its time: nobody is to count on its slot. */
static void
not_coming(struct ta *ta)
{
	if (!ta->coming)
		return;
	ta->coming = 0;
	q.ncoming--;
	ta->ring->chan->ncoming--;
}

/* It is to end: politely with grace, else by signal. */
static void
end(struct ta *ta, int grace)
{
	if (ta->state == TA_CLOSING)
		return;
	if (ta->state == TA_IDLE)
		th_unidle(ta);
	ta->state = TA_CLOSING;
	ta->coming = 1;
	q.ncoming++;
	ta->ring->chan->ncoming++;
	th_update(ta->thread);
	heap_set(&due, &ta->timer, now.mono + SOON);
	if (grace && ta->nout < ta->outsize)
		ta->outbuf[ta->nout++] = '\n';
	flush(ta);
	if (!grace)
		signal_it(ta);
}

/* Appends to what is to be written: 0; -1 when there is no memory. */
static int
say(struct ta *ta, const char *s)
{
	size_t n = strlen(s), size = ta->nout + n + 1;	/* 1: end's newline */
	char *bigger;

	if (size > ta->outsize) {
		size += size / 2;
		bigger = realloc(ta->outbuf, size);
		if (bigger == NULL) {
			log_err("agent pid=%d no memory to talk to it; it is "
			    "ended", ta->pid);
			end(ta, 0);
			return -1;
		}
		ta->outbuf = bigger;
		ta->outsize = size;
	}
	memcpy(ta->outbuf + ta->nout, s, n);
	ta->nout += n;
	log_debug("to pid=%d %.*s", ta->pid, (int)n - 1, s);
	return 0;
}

/* ---- feeding --------------------------------------------------------- */

static void
say_job(struct ta *ta, const struct vertex *v)
{
	char line[NAME_MAX_ + WORD_MAX_ + 4], note[80];
	const char *name = v->msg->name;

	if (ta->ring->conf->bound == CMD_AS_WORD)
		text_fmt(line, sizeof(line), "%s\n", name);
	else
		text_fmt(line, sizeof(line), "%s\t%s\n", name,
		    ta->thread->host);
	if (v->msg->verbose) {
		text_fmt(note, sizeof(note), "scheduler feeds it to agent %d",
		    ta->pid);
		spool_verbose(name, note);
	}
	say(ta, line);
}

/* How many jobs it may have at once.  Mail for a mailbox goes one by one, as
 * one job may show that the box takes none.  In a wide window the ready ones
 * are shared with the agents that may still come, beyond the backlog. */
static unsigned
portion(const struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;
	const struct thread *t = ta->thread;
	unsigned n = (unsigned)s->overfeed + 1, share;
	long room;

	if (th_is_local(t))
		return 1;
	if (n < (unsigned)s->backlog)
		n = (unsigned)s->backlog;
	room = fb_room(t->dest, t->fb, (long)t->nta);
	if (room <= 0)
		return n;
	share = ta->jobs.n + t->ready.n / (unsigned)(room + 1);
	if (share == 0)
		share = 1;
	if (share < (unsigned)s->backlog)
		share = (unsigned)s->backlog;
	return share < n ? share : n;
}

/*
 * Should this agent's slot go to another ring?  When others wait for just one
 * and its ring has more than an equal share; so under a full load every ring
 * comes to its share.
 */
static int
should_yield(const struct ta *ta)
{
	const struct ring *r = ta->ring;
	unsigned total = q.nwait, chan = r->chan->nwait;

	if (r->conf->dsn)
		total = 0;	/* its slot is of use to that channel alone */
	if (r->waits != WAITS_NOT && !r->conf->bound) {
		total -= r->waits == WAITS_ANY;
		chan -= r->waits == WAITS_CHAN;
	}
	if (total > 0 && q.ncoming == 0 && r->nta * (total + 1) >
	    q.nagents - q.nspare)
		return 1;
	return chan > 0 && r->chan->ncoming == 0 &&
	    r->nta * (chan + 1) > r->chan->nta;
}

/* Its slot is to go to another ring now.  While its own has mail it keeps it
 * for a stretch, or each job would cost a start. */
static int
is_done(const struct ta *ta)
{
	return should_yield(ta) && (ta->njobs >= STRETCH ||
	    now.mono - ta->born >= STRETCH_MOST || !th_waits(ta->ring));
}

/* It has had its stretch, and somebody else could use it. */
static int
gives_way(const struct ta *ta)
{
	const struct ring *r = ta->ring;
	unsigned most = th_is_local(ta->thread) ? 1 : STRETCH;

	return ta->stretch >= most &&
	    ((!r->conf->bound && th_waits(r)) || should_yield(ta));
}

/* Has it worked long enough?  A new one may meet another machine of its host,
 * and what it has lost of memory is found again. */
static int
worn_out(const struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;

	return (s->maxjobs > 0 && ta->njobs >= (unsigned long)s->maxjobs) ||
	    (s->maxage > 0 && now.mono - ta->born >= (double)s->maxage);
}

/* May it be given more, now or ahead?  Not where its command may no longer be
 * that of its clause. */
static int
is_at_work(const struct ta *ta)
{
	return !q.hold && !ta->reaped && ta->state == TA_BUSY &&
	    !ta->ring->old;
}

static void
feed(struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;
	unsigned n;
	struct vertex *v;

	if (!is_at_work(ta) || (ta->jobs.n > (unsigned)s->overfeed / 2 &&
	    ta->jobs.n >= (unsigned)s->backlog))
		return;
	/* each job is a choice anew, but for those to be done ahead */
	if (s->order == ORDER_PREEMPT && ta->jobs.n == 0 && !ta->unfed)
		return;
	for (n = portion(ta); ta->jobs.n < n && !gives_way(ta) &&
	    !worn_out(ta); ) {
		v = th_feed(ta);
		if (v == NULL)
			break;
		say_job(ta, v);
		ta->fed = now.mono;
	}
	flush(ta);
}

/* It has no job: it is free, or ends. */
static void
go_on(struct ta *ta)
{
	struct ring *r = ta->ring;

	feed(ta);
	if (ta->state != TA_BUSY || ta->jobs.n > 0)
		return;
	th_leave(ta);
	if (q.hold || r->old || ta->reaped || is_done(ta) || worn_out(ta)) {
		end(ta, 1);
		return;
	}
	ta->state = TA_IDLE;
	ta->said_idle = 0;
	th_idle(ta);
	th_update(ta->thread);
}

/* ---- hearing it ------------------------------------------------------ */

/* The agent has said what does not fit: 1 when that is to be logged. */
static int
is_logged(struct ta *ta)
{
	if (ta->noise > NOISE_MOST)
		return 0;
	if (++ta->noise > NOISE_MOST)
		log_warn("agent-says pid=%d channel=%s too much; no more of "
		    "it is logged", ta->pid, ta->ring->chan->name);
	return ta->noise <= NOISE_MOST;
}

/* A line outside the protocol. */
static void
noise(struct ta *ta, const char *what, const char *line)
{
	while (*line == ' ')
		line++;
	text_fmt(ta->last, sizeof(ta->last), "%s", line);
	if (!ta->spoke)
		return;		/* it comes with the reason if it dies */
	if (is_logged(ta))
		log_info("agent-says pid=%d channel=%s %s%s", ta->pid,
		    ta->ring->chan->name, what, line);
}

static void
hungry(struct ta *ta)
{
	ta->spoke = 1;
	if (ta->state == TA_STARTING) {
		ta->state = TA_BUSY;
		heap_set(&due, &ta->timer, now.mono +
		    (double)ta->ring->conf->v.timeout);
	} else if (ta->skip > 0) {
		ta->skip--;
		return;
	} else if (ta->jobs.n == 0) {
		if (ta->state == TA_CLOSING)
			return;		/* it has not yet read that it is */
		noise(ta, "hungry, but it has no job", "");
		return;
	} else {
		ta->heard = now.mono;
		ta->ring->failures = 0;
		q_job_over(ta, "transport agent did not report on it");
	}
	go_on(ta);
}

/* INUM/OFFSET \t NOTARY \t STATUS [TEXT] */
static void
report(struct ta *ta, char *line)
{
	unsigned long num, off;
	const char *slash, *after, *why;
	char *notary, *status, *text;

	num = num_of(line, &slash);
	if (slash == line || *slash != '/') {
		noise(ta, "garbled: ", line);
		return;
	}
	if (num_upto(slash + 1, CONTROL_MAX, &off, &after) < 0 ||
	    *after != '\t' || (status = strchr(after + 1, '\t')) == NULL) {
		noise(ta, "garbled: ", line);
		return;
	}
	notary = line + (after - line) + 1;
	*status++ = '\0';
	text = status + strcspn(status, " \t");
	if (*text != '\0')
		*text++ = '\0';
	while (*text == ' ')
		text++;
	if (ta->jobs.n > 0)
		ta->skip = 0;	/* it is at a job, #idle is behind it */
	why = q_report(ta, num, off, notary, status, text);
	if (why == NULL)
		ta->heard = now.mono;
	else if (is_logged(ta))
		log_warn("report agent=%d num=%lu rcpt=%lu status=%s %s",
		    ta->pid, num, off, status, why);
}

static void
hear_line(struct ta *ta, char *line)
{
	log_debug("from pid=%d %s", ta->pid, line);
	if (strncmp(line, "#hungry", 7) == 0)
		hungry(ta);
	else if (strncmp(line, "#resync", 7) == 0)
		noise(ta, "found nothing to do in: ", line + 7);
	else if (*line == '#')
		noise(ta, "", line + 1);
	else if (*line != '\0')
		report(ta, line);
}

/* Keeps the beginning of a line whose end has not come yet. */
static void
keep_part(struct ta *ta, const char *s, size_t n)
{
	char *bigger;

	if (ta->overlong || n == 0)
		return;
	bigger = ta->npart + n > LINE_MOST ? NULL :
	    realloc(ta->part, ta->npart + n + 1);
	if (bigger == NULL) {
		noise(ta, "garbled: ", "a line that is too long");
		ta->overlong = 1;
		ta->npart = 0;
		return;
	}
	memcpy(bigger + ta->npart, s, n);
	ta->part = bigger;
	ta->npart += n;
	ta->part[ta->npart] = '\0';
}

static void
hear(struct ta *ta, char *s, size_t n)
{
	char *end_of_line;
	size_t len;

	while ((end_of_line = memchr(s, '\n', n)) != NULL) {
		len = (size_t)(end_of_line - s);
		*end_of_line = '\0';
		if (ta->npart > 0)
			keep_part(ta, s, len);
		if (ta->overlong)
			ta->overlong = 0;
		else if (ta->npart > 0)
			hear_line(ta, ta->part);
		else
			hear_line(ta, s);
		ta->npart = 0;
		s += len + 1;
		n -= len + 1;
	}
	keep_part(ta, s, n);
	if (ta->npart == 0) {
		free(ta->part);
		ta->part = NULL;
	}
}

static void
close_fds(struct ta *ta)
{
	if (ta->out >= 0 && ta->out != ta->in)
		close(ta->out);
	if (ta->in >= 0)
		close(ta->in);
	ta->in = ta->out = -1;
}

/* Reads what it says, at most so many buffers full. */
static void
listen_to(struct ta *ta, int reads)
{
	long n;

	while (ta->in >= 0 && reads-- > 0) {
		n = (long)read(ta->in, inbuf, sizeof(inbuf));
		if (n < 0 && (errno == EINTR || errno == EAGAIN ||
		    errno == EWOULDBLOCK))
			return;
		if (n <= 0) {
			close_fds(ta);
			if (!ta->reaped)
				end(ta, 1);
			return;
		}
		if (ta->noise < NOISE_MOST)	/* idle talk is no work */
			ta->heard = now.mono;
		hear(ta, inbuf, (size_t)n);
		if ((size_t)n < sizeof(inbuf))
			return;
	}
}

/* ---- the end of one -------------------------------------------------- */

/* How it ended, in words. */
static void
epitaph(const struct ta *ta, char *s, size_t size)
{
	struct text t;

	text_init(&t, s, size);
	if (ta->kills > 0 && ta->spoke && ta->jobs.n == 0)
		text_add(&t, "did not leave and had to be ended");
	else if (ta->kills > 0)
		text_add(&t, "was silent too long and had to be ended");
	else if (WIFSIGNALED(ta->status))
		text_add(&t, "died of signal %d", WTERMSIG(ta->status));
	else
		text_add(&t, "died with exit code %d",
		    WEXITSTATUS(ta->status));
	if (ta->last[0] != '\0')
		text_add(&t, ": %s", ta->last);
}

/* Has it begun a job? */
static int
has_worked(const struct ta *ta)
{
	return ta->njobs > ta->jobs.n || ta->kills > 0 ||
	    q_has_begun(ta->jobs.head);
}

/* Was its oldest job in work when it ended?  Its reports and tags tell, and
 * that it was silent.  An agent may set no tags, so the second time that the
 * job is found so, it was; where agents begin no job at all, some times later.
 */
static int
was_in_work(const struct ta *ta)
{
	const struct vertex *v = ta->jobs.head;

	return ta->kills > 0 || q_has_begun(v) || (ta->njobs > ta->jobs.n ?
	    v->returned : ta->ring->failures > FAILURES);
}

/* It took jobs and ended before it began one; the next may do the same. */
static void
did_nothing(struct ta *ta, const char *how)
{
	struct ring *r = ta->ring;
	long seconds = FAILED_MOST;

	if (r->dead > now.mono)
		return;
	if (1L << r->failures < FAILED_MOST)
		seconds = 1L << r->failures;
	if (r->failures < 16)
		r->failures++;
	cannot_start(r, ta->thread, seconds, how);
}

/* It is dead and has been heard to the end: what it leaves behind. */
static void
bury(struct ta *ta)
{
	struct ring *r = ta->ring;
	char how[300], reason[340];

	epitaph(ta, how, sizeof(how));
	text_fmt(reason, sizeof(reason), "transport agent %s", how);
	if (!ta->spoke && !q.hold && !r->old)
		cannot_start(r, ta->thread, r->conf->v.interval, how);
	else if (ta->jobs.n > 0 && !has_worked(ta) && !q.hold && !r->old)
		did_nothing(ta, how);
	else if (ta->jobs.n > 0 || ta->kills > 0 || ta->status != 0)
		log_warn("agent-lost pid=%d channel=%s host=%s jobs=%u it %s",
		    ta->pid, r->chan->name, ta->thread->host, ta->jobs.n, how);
	else
		log_info("agent-end pid=%d channel=%s agents=%u", ta->pid,
		    r->chan->name, q.nagents - 1);
	if (ta->jobs.n > 0 && was_in_work(ta))
		q_job_over(ta, reason);
	else if (ta->jobs.n > 0)
		ta->jobs.head->returned = 1;
	while (ta->jobs.n > 0)
		q_job_over(ta, NULL);
	th_leave(ta);
	if (ta->state == TA_IDLE)
		th_unidle(ta);
	not_coming(ta);
	heap_del(&due, &ta->timer);
	ta->thread->nref--;
	th_update(ta->thread);
	th_suspect(ta->thread);
	r->nta--;
	r->chan->nta--;
	q.nagents--;
	q.nspare -= (unsigned)r->conf->dsn;
}

/* Takes it off the list, when it is gone. */
static void
gone(struct ta *ta)
{
	if (!ta->reaped || ta->in >= 0)
		return;
	bury(ta);
	UNLINK(q.agents, ta, next, prev);
	free(ta->part);
	free(ta->outbuf);
	free(ta);
}

int
ta_reaped(long pid, int status)
{
	struct ta *ta = q.agents;

	while (ta != NULL && (ta->pid != (int)pid || ta->reaped))
		ta = ta->next;
	if (ta == NULL)
		return 0;
	ta->reaped = 1;
	ta->status = status;
	/* somebody it left behind may hold the other end: what is there now
	 * is all that we wait for */
	listen_to(ta, 64);
	if (ta->npart > 0)
		noise(ta, "garbled: ", ta->part);
	close_fds(ta);
	gone(ta);
	return 1;
}

/* It is still there after it was told to end. */
static void
linger(struct ta *ta)
{
	if (ta->coming && ta->kills == 0) {
		not_coming(ta);
		heap_set(&due, &ta->timer, now.mono + GRACE);
		return;
	}
	not_coming(ta);
	signal_it(ta);
}

void
ta_timers(void)
{
	struct timer *t;
	struct ta *ta;
	double limits;

	while ((t = heap_first(&due)) != NULL &&
	    heap_when(&due, t) <= now.mono) {
		ta = OWNER(struct ta, timer, t);
		limits = (double)ta->ring->conf->v.timeout;
		if (ta->state == TA_IDLE)
			end(ta, 1);
		else if (ta->state == TA_CLOSING)
			linger(ta);
		else if (ta->state == TA_BUSY &&
		    ta->heard + limits > now.mono)
			heap_set(&due, &ta->timer, ta->heard + limits);
		else
			end(ta, 0);
	}
}

/* ---- for those above ------------------------------------------------- */

void
ta_feed(struct ta *ta, struct vertex *v)
{
	th_give(ta, v);
	say_job(ta, v);
	ta->fed = now.mono;
	flush(ta);
}

void
ta_wake(struct ta *ta, struct vertex *v)
{
	const struct setting *s = &ta->ring->conf->v;

	th_unidle(ta);
	ta->state = TA_BUSY;
	ta->heard = now.mono;
	heap_set(&due, &ta->timer, now.mono + (double)s->timeout);
	th_join(ta, v->thread);
	ta_feed(ta, v);
	feed(ta);
}

/* May the agent get the vertex as one more job, if it has fewer? */
static int
may_load(const struct ta *ta, const struct vertex *v, unsigned jobs)
{
	if (th_is_local(v->thread))
		return 0;	/* its box may take none */
	return ta->jobs.n < jobs && is_at_work(ta) && !worn_out(ta) &&
	    !th_clashes(ta, v);
}

struct ta *
ta_newest(const struct vertex *v, unsigned jobs)
{
	struct ta *ta = jobs > 0 ? v->thread->busy : NULL;

	while (ta != NULL && !may_load(ta, v, jobs))
		ta = ta->tnext;
	return ta;
}

struct ta *
ta_lightest(const struct vertex *v, unsigned jobs)
{
	struct ta *ta, *best = NULL;

	for (ta = v->thread->busy; ta != NULL; ta = ta->tnext)
		if (may_load(ta, v, jobs) &&
		    (best == NULL || ta->jobs.n < best->jobs.n))
			best = ta;
	return best;
}

/* Idle agents end by idlemax, and by maxage. */
static double
until_worn(const struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;
	double when = now.mono + (double)s->idlemax;

	if (s->maxage > 0 && ta->born + (double)s->maxage < when)
		when = ta->born + (double)s->maxage;
	return when;
}

void
ta_rest(struct ring *r)
{
	struct ta *ta, *next;

	for (ta = r->idle; ta != NULL && !ta->said_idle; ta = next) {
		next = ta->rnext;
		if (say(ta, "#idle\n") < 0)
			continue;
		ta->said_idle = 1;
		ta->skip++;
		flush(ta);
		heap_set(&due, &ta->timer, until_worn(ta));
	}
}

void
ta_end(struct ta *ta)
{
	end(ta, 1);
}

void
ta_finish(void)
{
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next)
		if (ta->state == TA_IDLE || ta->state == TA_STARTING)
			end(ta, 1);
}

void
ta_kill(void)
{
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next)
		signal_it(ta);
}

/* ---- the loop's verbs ------------------------------------------------ */

void
ta_prep(fd_set *in, fd_set *out, int *max)
{
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next) {
		if (ta->in >= 0) {
			FD_SET(ta->in, in);
			if (ta->in > *max)
				*max = ta->in;
		}
		if (ta->out >= 0 && ta->nout > 0) {
			FD_SET(ta->out, out);
			if (ta->out > *max)
				*max = ta->out;
		}
	}
}

double
ta_wait(void)
{
	struct timer *t = heap_first(&due);
	double when = now.mono + 3600;

	if (t != NULL && heap_when(&due, t) < when)
		when = heap_when(&due, t);
	return when > now.mono ? when - now.mono : 0;
}

void
ta_do(fd_set *in, fd_set *out)
{
	struct ta *ta, *next;

	for (ta = q.agents; ta != NULL; ta = next) {
		next = ta->next;
		if (ta->out >= 0 && FD_ISSET(ta->out, out))
			flush(ta);
		if (ta->in >= 0 && FD_ISSET(ta->in, in))
			listen_to(ta, READS);
		gone(ta);
	}
}
