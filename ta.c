/*
 * ta.c - transport agents: limits, start, feeding, reports, the idle pool.
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
 * An agent stays on its thread while that has vertices ready, but gives way
 * after a stretch when others wait; then it takes the ring's next thread.  If
 * there is none it is idle, until idlemax.  A thread takes the idle agent that
 * served it last, else any of its ring, else a new one is started.
 *
 * Limits.  maxta, at first what descriptors allow, counts all agents that are
 * not yet gone, idle and ending ones too; so do maxchannel and maxring.  Rings
 * that wait for a slot get it in turns.  For them the agent that has been
 * idle longest elsewhere is ended; and where a ring has more than its share,
 * agents that leave a thread end instead of taking the next.
 *
 * Trouble.  An agent that cannot be run, or dies before its first #hungry,
 * stops its ring for an interval, with one line in the log.  One that dies
 * later loses nothing: the tags on disk decide (q_job_over).  One that is
 * silent for the clause's timeout with work in hand is ended.
 *
 * Costs: one pass O(rings + agents), as select itself.
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
#define STRETCH		100	/* jobs after which it gives way to others */
#define GREETING	300L	/* seconds that it has for its first #hungry */
#define GRACE		30	/* seconds from closing to SIGTERM */
#define MERCY		10	/* seconds from SIGTERM to SIGKILL */
#define FORK_AGAIN	10	/* seconds until a failed fork is repeated */
#define LINE_MOST	65536	/* bytes in a line that an agent may say */
#define NOISE_MOST	100	/* lines outside the protocol that are logged */
#define READS		4	/* of sizeof(inbuf) in one pass */

static unsigned most;		/* agents that descriptors allow */
static unsigned nagents, nidle, nclosing;
static unsigned nwait;		/* rings that wait for any agent to go */
static struct heap due;		/* agents, by timer */
static unsigned long served;	/* new agents so far */

static char inbuf[16384];

/* ---- limits -------------------------------------------------------------- */

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

void
ta_init(void)
{
	long n = descriptors();

	most = n > FDS_KEPT + FDS_EACH ?
	    (unsigned)((n - FDS_KEPT) / FDS_EACH) : 1;
	log_info("limits maxta=%u descriptors=%ld for each agent=%d", most, n,
	    FDS_EACH);
#ifdef NO_INITGROUPS
	if (geteuid() == 0)
		log_info("limits agents keep our supplementary groups: built "
		    "without setgroups");
#endif
}

unsigned
ta_count(void)
{
	return nagents;
}

/* The limit that keeps a thread from a new agent, or NULL. */
static const char *
limit(const struct ring *r, const struct thread *t)
{
	const struct setting *s = &r->conf->v;
	unsigned here = r->conf->bound ? t->nref : r->nta;

	if (s->maxring > 0 && here >= (unsigned)s->maxring)
		return "maxring";
	if (s->maxchannel > 0 && r->chan->nta >= (unsigned)s->maxchannel)
		return "maxchannel";
	if (nagents >= most || (s->maxta > 0 && nagents >= (unsigned)s->maxta))
		return "maxta";
	return NULL;
}

/*
 * Should this agent's slot go to another ring?  When others wait for one and
 * its ring has more than an equal share; so under a full load every ring
 * comes to its share and no agent is ended for nothing.
 */
static int
should_yield(const struct ta *ta)
{
	const struct ring *r = ta->ring;
	unsigned total = nwait, chan = r->chan->nwait;

	if (nclosing > 0)
		return 0;	/* one slot is coming already */
	if (r->pending != NULL && !r->conf->bound) {
		total -= strcmp(r->pending, "maxta") == 0;
		chan -= strcmp(r->pending, "maxchannel") == 0;
	}
	return (total > 0 && r->nta * (total + 1) > nagents) ||
	    (chan > 0 && r->nta * (chan + 1) > r->chan->nta);
}

/* ---- starting one ----------------------------------------------------------- */

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

/* Makes both ends; [0] is read from, [1] written to: 0 or -1. */
static int
make_channel(int ours[2], int theirs[2])
{
	int i;
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
	for (i = 0; i < 2; i++) {
		fd_cloexec(ours[i]);
		fd_cloexec(theirs[i]);
		fd_nonblock(ours[i]);
	}
	return 0;
}

static void
close_both(int fd[2])
{
	close(fd[0]);
	if (fd[1] != fd[0])
		close(fd[1]);
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
run(const struct setting *s, char **argv, char **env, const int theirs[2])
{
	static const int reset[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE,
	    SIGALRM, SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD };
	char line[PATH_MAX_ + 200];
	const char *what;
	size_t i;

	for (i = 0; i < sizeof(reset) / sizeof(reset[0]); i++)
		signal(reset[i], SIG_DFL);
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

/* The whole environment of an agent: 0 or -1. */
static int
environment(struct command *c, char **env, char *mem, size_t size)
{
	static const char *const passed[] = { "TZ", "PATH", "ZCONFIG" };
	const char *value[3];
	struct text t;
	int i, n;

	for (n = 0; n < c->nenv; n++)
		env[n] = c->env[n];
	value[0] = getenv("TZ");
	value[1] = ta_var("PATH");
	value[2] = opt.envfile;
	text_init(&t, mem, size);
	for (i = 0; i < 3; i++) {
		if (value[i] == NULL)
			continue;
		env[n++] = t.s + t.len;
		text_add(&t, "%s=%s", passed[i], value[i]);
		text_put(&t, "", 1);
	}
	env[n] = NULL;
	return t.cut ? -1 : 0;
}

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
	text_init(&t, span, sizeof(span));
	span_add(&t, seconds);
	log_err("agent channel=%s command=\"%s\" %s; its mail waits for %s",
	    r->chan->name, r->conf->v.command, why, span);
}

static void
enlist(struct ta *ta, struct ring *r)
{
	ta->ring = r;
	ta->next = q.agents;
	if (q.agents != NULL)
		q.agents->prev = ta;
	q.agents = ta;
	nagents++;
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
	char *env[CMD_WORDS + 4], mem[PATH_MAX_ * 4], path[PATH_MAX_];
	int ours[2], theirs[2];
	const char *why;
	struct ta *ta;

	why = cf_command(r->conf, r->chan->name, t->host, ta_var, &c);
	if (why == NULL && (environment(&c, env, mem, sizeof(mem)) < 0 ||
	    text_fmt(path, sizeof(path), "%s%s%s",
	    c.argv[0][0] == '/' ? "" : opt.mailbin,
	    c.argv[0][0] == '/' ? "" : "/ta/", c.argv[0]) < 0))
		why = "makes too long a path or environment";
	if (why != NULL) {
		stop_ring(r, s->interval, why);
		return NULL;
	}
	c.argv[0] = path;
	ta = mem_get(sizeof(*ta));
	if (ta == NULL || heap_room(&due, nagents + 1) < 0 ||
	    make_channel(ours, theirs) < 0) {
		stop_ring(r, FORK_AGAIN, strerror(errno));
		free(ta);
		return NULL;
	}
	if (ours[0] >= FD_SETSIZE || ours[1] >= FD_SETSIZE) {
		errno = EMFILE;
		ta->pid = -1;
	} else {
		log_flush();
		ta->pid = (int)fork();
	}
	if (ta->pid == 0)
		run(s, c.argv, env, theirs);
	close_both(theirs);
	if (ta->pid < 0) {
		stop_ring(r, FORK_AGAIN, strerror(errno));
		close_both(ours);
		free(ta);
		return NULL;
	}
	ta->in = ours[0];
	ta->out = ours[1];
	ta->heard = now.mono;
	enlist(ta, r);
	heap_set(&due, &ta->timer, now.mono +
	    (double)(s->timeout < GREETING ? s->timeout : GREETING));
	log_info("agent-start pid=%d channel=%s host=%s agents=%u", ta->pid,
	    r->chan->name, t->host, nagents);
	return ta;
}

/* ---- the idle pool ------------------------------------------------------------ */

static void
pool_add(struct ta *ta)
{
	struct ring *r = ta->ring;
	struct thread *t = ta->thread;

	ta->rprev = ta->tprev = NULL;
	ta->rnext = r->idle;
	if (r->idle != NULL)
		r->idle->rprev = ta;
	r->idle = ta;
	ta->tnext = t->idle;
	if (t->idle != NULL)
		t->idle->tprev = ta;
	t->idle = ta;
	nidle++;
}

static void
pool_del(struct ta *ta)
{
	if (ta->rnext != NULL)
		ta->rnext->rprev = ta->rprev;
	if (ta->rprev != NULL)
		ta->rprev->rnext = ta->rnext;
	else
		ta->ring->idle = ta->rnext;
	if (ta->tnext != NULL)
		ta->tnext->tprev = ta->tprev;
	if (ta->tprev != NULL)
		ta->tprev->tnext = ta->tnext;
	else
		ta->thread->idle = ta->tnext;
	nidle--;
}

/* ---- talking to one -------------------------------------------------------- */

/* Writes what can be written without waiting. */
static void
flush(struct ta *ta)
{
	size_t done = 0;
	long n;

	while (ta->out >= 0 && done < ta->nout) {
		n = (long)write(ta->out, ta->outbuf + done, ta->nout - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK)
			n = (long)(ta->nout - done);	/* it is gone */
		if (n < 0)
			break;
		done += (size_t)n;
	}
	ta->nout -= done;
	if (done > 0)
		memmove(ta->outbuf, ta->outbuf + done, ta->nout);
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

/* It is to end: politely with grace, else by signal. */
static void
end(struct ta *ta, int grace)
{
	if (ta->state == TA_CLOSING)
		return;
	if (ta->state == TA_IDLE)
		pool_del(ta);
	ta->state = TA_CLOSING;
	nclosing++;
	heap_set(&due, &ta->timer, now.mono + GRACE);
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
	return 0;
}

/* ---- feeding ------------------------------------------------------------------ */

static void
say_job(struct ta *ta, const struct vertex *v)
{
	char line[NAME_MAX_ + WORD_MAX_ + 4], note[80];
	const char *name = v->msg->name;

	if (ta->ring->conf->bound == 2)
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

/* How many jobs it may have at once.  With maxthr the ready vertices are
 * shared with the agents that may still come. */
static unsigned
portion(const struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;
	const struct thread *t = ta->thread;
	unsigned n = (unsigned)s->overfeed + 1, share;

	if (s->maxthr <= (long)t->nta)
		return n;
	share = ta->jobs.n + t->ready.n /
	    (unsigned)(s->maxthr - (long)t->nta + 1);
	if (share == 0)
		share = 1;
	return share < n ? share : n;
}

/* It has had its stretch, and somebody else could use it. */
static int
gives_way(const struct ta *ta)
{
	const struct ring *r = ta->ring;

	return ta->stretch >= STRETCH &&
	    ((!r->conf->bound && th_turn(r) != NULL) || should_yield(ta));
}

static void
feed(struct ta *ta)
{
	unsigned n;
	struct vertex *v;

	if (q.hold || ta->state != TA_BUSY ||
	    ta->jobs.n > (unsigned)ta->ring->conf->v.overfeed / 2)
		return;
	for (n = portion(ta); ta->jobs.n < n && !gives_way(ta); ) {
		v = th_feed(ta);
		if (v == NULL)
			break;
		say_job(ta, v);
	}
	flush(ta);
}

static void
put_to_work(struct ta *ta, struct thread *t)
{
	const struct setting *s = &ta->ring->conf->v;

	if (ta->state == TA_IDLE) {
		pool_del(ta);
		ta->state = TA_BUSY;
		ta->heard = now.mono;
		heap_set(&due, &ta->timer, now.mono + (double)s->timeout);
	}
	th_join(ta, t);
	feed(ta);
}

/* It has no job: the next thread of its ring, or the idle pool, or the end. */
static void
go_on(struct ta *ta)
{
	struct ring *r = ta->ring;
	struct thread *t;

	feed(ta);
	if (ta->state != TA_BUSY || ta->jobs.n > 0)
		return;
	th_leave(ta);
	if (q.hold || r->old || should_yield(ta)) {
		end(ta, 1);
		return;
	}
	t = th_turn(r);
	if (t != NULL && (!r->conf->bound || t == ta->thread)) {
		put_to_work(ta, t);
		if (ta->state != TA_BUSY || ta->jobs.n > 0)
			return;
		th_leave(ta);
	}
	if (say(ta, "#idle\n") < 0)
		return;
	ta->skip++;
	ta->state = TA_IDLE;
	flush(ta);
	pool_add(ta);
	heap_set(&due, &ta->timer, now.mono + (double)r->conf->v.idlemax);
}

/* ---- hearing it ----------------------------------------------------------------- */

static void
noise(struct ta *ta, const char *what, const char *line)
{
	text_fmt(ta->last, sizeof(ta->last), "%s", line);
	if (ta->noise++ < NOISE_MOST)
		log_info("agent-says pid=%d channel=%s %s%s", ta->pid,
		    ta->ring->chan->name, what, line);
	else if (ta->noise == NOISE_MOST + 1)
		log_warn("agent-says pid=%d channel=%s too much; no more of "
		    "it is logged", ta->pid, ta->ring->chan->name);
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
		noise(ta, "hungry, but it has no job", "");
		return;
	} else {
		q_job_over(ta, "transport agent did not report on it");
	}
	go_on(ta);
}

/* INUM/OFFSET \t NOTARY \t STATUS [TEXT] */
static void
report(struct ta *ta, char *line)
{
	unsigned long num, off;
	const char *slash, *after;
	char *notary, *status, *text;

	num = num_of(line, &slash);
	if (slash == line || *slash != '/') {
		noise(ta, "garbled: ", line);
		return;
	}
	off = num_of(slash + 1, &after);
	status = *after == '\t' ? strchr(after + 1, '\t') : NULL;
	if (after == slash + 1 || status == NULL) {
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
	q_report(ta, num, off, notary, status, text);
}

static void
hear_line(struct ta *ta, char *line)
{
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
		ta->heard = now.mono;
		hear(ta, inbuf, (size_t)n);
		if ((size_t)n < sizeof(inbuf))
			return;
	}
}

/* ---- the end of one ------------------------------------------------------------ */

/* How it ended, in words. */
static void
epitaph(const struct ta *ta, char *s, size_t size)
{
	struct text t;

	text_init(&t, s, size);
	if (ta->kills > 0)
		text_add(&t, "was silent and had to be ended");
	else if (WIFSIGNALED(ta->status))
		text_add(&t, "died of signal %d", WTERMSIG(ta->status));
	else
		text_add(&t, "died with exit code %d",
		    WEXITSTATUS(ta->status));
	if (ta->last[0] != '\0')
		text_add(&t, ": %s", ta->last);
}

/* It is dead and has been heard to the end: what it leaves behind. */
static void
bury(struct ta *ta)
{
	struct ring *r = ta->ring;
	char how[300], reason[340];

	epitaph(ta, how, sizeof(how));
	text_fmt(reason, sizeof(reason), "transport agent %s", how);
	if (ta->jobs.n > 0 || ta->kills > 0 || ta->status != 0)
		log_warn("agent-lost pid=%d channel=%s host=%s jobs=%u it %s",
		    ta->pid, r->chan->name, ta->thread->host, ta->jobs.n, how);
	else
		log_info("agent-end pid=%d channel=%s agents=%u", ta->pid,
		    r->chan->name, nagents - 1);
	if (!ta->spoke && !q.hold)
		stop_ring(r, r->conf->v.interval, how);
	while (ta->jobs.n > 0)
		q_job_over(ta, reason);
	th_leave(ta);
	if (ta->state == TA_IDLE)
		pool_del(ta);
	if (ta->state == TA_CLOSING)
		nclosing--;
	heap_del(&due, &ta->timer);
	ta->thread->nref--;
	th_suspect(ta->thread);
	r->nta--;
	r->chan->nta--;
	nagents--;
}

/* Takes it off the list, when it is gone. */
static void
gone(struct ta *ta)
{
	if (!ta->reaped || ta->in >= 0)
		return;
	bury(ta);
	if (ta->next != NULL)
		ta->next->prev = ta->prev;
	if (ta->prev != NULL)
		ta->prev->next = ta->next;
	else
		q.agents = ta->next;
	free(ta->part);
	free(ta->outbuf);
	free(ta);
}

void
ta_reap(void)
{
	struct ta *ta;
	int status, pid;

	while ((pid = (int)waitpid(-1, &status, WNOHANG)) > 0) {
		for (ta = q.agents; ta != NULL && ta->pid != pid; )
			ta = ta->next;
		if (ta == NULL || ta->reaped)
			continue;
		ta->reaped = 1;
		ta->status = status;
		/* somebody it left behind may hold the other end: what is
		 * there now is all that we wait for */
		listen_to(ta, 64);
		if (ta->npart > 0)
			noise(ta, "garbled: ", ta->part);
		close_fds(ta);
		gone(ta);
	}
}

void
ta_timers(void)
{
	struct timer *t;
	struct ta *ta;
	double limits;

	while ((t = heap_first(&due)) != NULL && t->when <= now.mono) {
		ta = OWNER(struct ta, timer, t);
		limits = (double)ta->ring->conf->v.timeout;
		if (ta->state == TA_IDLE)
			end(ta, 1);
		else if (ta->state == TA_CLOSING)
			signal_it(ta);
		else if (ta->state == TA_BUSY &&
		    ta->heard + limits > now.mono)
			heap_set(&due, &ta->timer, ta->heard + limits);
		else
			end(ta, 0);
	}
}

/* ---- who gets one ---------------------------------------------------------------- */

static void
wake_up(struct ta *ta, struct thread *t)
{
	put_to_work(ta, t);
	if (ta->state == TA_BUSY && ta->jobs.n == 0)
		go_on(ta);
}

/* Idle agents take what is ready in their ring. */
static void
use_idle(struct ring *r)
{
	struct ta *ta, *next;
	struct thread *t;

	if (r->conf->bound) {	/* ... each on its own thread only */
		for (ta = r->idle; ta != NULL; ta = next) {
			next = ta->rnext;
			if (ta->thread->turn.pos != 0)
				wake_up(ta, ta->thread);
		}
		return;
	}
	while (r->idle != NULL && (t = th_turn(r)) != NULL)
		wake_up(t->idle != NULL ? t->idle : r->idle, t);
}

/* -R: may another one be started in this second? */
static int
may_fork(int count)
{
	static double since = -10;
	static long n;

	if (now.mono - since >= 1) {
		since = now.mono;
		n = 0;
	}
	n += count;
	return n < opt.forkrate;
}

/* Notes what the ring waits for: 1 when it may have a new agent now. */
static int
may_start(struct ring *r)
{
	struct thread *t = th_turn(r);

	r->pending = NULL;
	if (t == NULL)
		return 0;
	if (r->dead > now.mono)
		r->pending = "an agent that can be started";
	else
		r->pending = limit(r, t);
	if (r->pending == NULL && !may_fork(0))
		r->pending = "forkrate";
	return r->pending == NULL;
}

/* The ring that may have a new agent and had its last one longest ago. */
static struct ring *
next_ring(void)
{
	struct ring *r, *best = NULL;

	for (r = q.rings; r != NULL; r = r->next)
		if (may_start(r) && (best == NULL || r->served < best->served))
			best = r;
	return best;
}

/* Counts the rings that wait for a slot, and ends the agent that has been
 * idle longest where that gives one. */
static void
make_room(void)
{
	struct ta *ta, *victim = NULL;
	struct ring *r;

	nwait = 0;
	for (r = q.rings; r != NULL; r = r->next)
		r->chan->nwait = 0;
	for (r = q.rings; r != NULL; r = r->next) {
		if (r->pending == NULL)
			continue;
		nwait += strcmp(r->pending, "maxta") == 0;
		r->chan->nwait += strcmp(r->pending, "maxchannel") == 0;
	}
	if (nidle == 0 || nclosing > 0)
		return;
	for (ta = q.agents; ta != NULL; ta = ta->next)
		if (ta->state == TA_IDLE && (nwait > 0 ||
		    ta->ring->chan->nwait > 0) &&
		    (victim == NULL || ta->heard < victim->heard))
			victim = ta;
	if (victim != NULL)
		end(victim, 1);
}

void
ta_run(void)
{
	struct ring *r;
	struct thread *t;
	struct ta *ta;

	if (q.hold || opt.freeze)
		return;
	for (r = q.rings; r != NULL; r = r->next) {
		while (r->old && r->idle != NULL)
			end(r->idle, 1);
		use_idle(r);
	}
	while ((r = next_ring()) != NULL) {
		t = th_turn(r);
		ta = start(r, t);
		if (ta == NULL)
			continue;
		may_fork(1);
		th_join(ta, t);
	}
	make_room();
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

/* ---- the loop's verbs -------------------------------------------------------------- */

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
	struct ring *r;

	if (t != NULL && t->when < when)
		when = t->when;
	for (r = q.rings; r != NULL && !q.hold; r = r->next) {
		if (r->pending == NULL || th_turn(r) == NULL)
			continue;
		if (r->dead > now.mono && r->dead < when)
			when = r->dead;
		else if (strcmp(r->pending, "forkrate") == 0 &&
		    now.mono + 0.25 < when)
			when = now.mono + 0.25;
	}
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
