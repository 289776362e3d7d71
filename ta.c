/*
 * ta.c - transport agents: starts and ends them, feeds them, reads reports.
 *
 * An agent is a program that delivers, started without a shell.  It has one
 * socket (or two pipes) as its descriptors 0, 1 and 2, and talks in lines:
 *
 *	agent		scheduler
 *	#hungry				I am up, or: the oldest job is over
 *			NAME\tHOST	a job: this message for this host
 *			NAME\tHOST\t88,140	for these recipients there
 *	123/456\tNOTARY\tSTATUS TEXT	report on the recipient at offset 456
 *			#idle		there is no job now; the #hungry that
 *					answers it ends no job
 *			(empty line)	exit
 *	#step TEXT			what the agent does now, for mailq
 *	#resync NAME			the job has no recipient for the agent
 *
 * A job covers all recipients of a message with the agent's channel and that
 * host, or those at the offsets that its line has: only an agent whose first
 * line was "#hungry offsets" gets such lines.  Jobs are fed ahead by overfeed,
 * topped up when half of them are done, and answered in order.  A line outside
 * the protocol, on standard error too, is logged and changes nothing.
 *
 * order.c and thread.c choose the vertex of a ring that is next.  The vertex
 * gets the first of these agents that exists (an idea of Tony Finch):
 *
 *	1  a busy one of its host with fewer jobs than the clause's backlog
 *	2  the idle one that last worked for the host
 *	3  the idle one of the ring that has been idle longest
 *	4  a new one, if every limit allows it
 *	5  a busy one of its host, as a job ahead (overfeed)
 *
 * With backlog=2, overfeed=4 and maxta=2, agent 7 has two jobs for host a, and
 * agent 8 is idle and last worked for host b:
 *
 *	vertex for a	7 has its backlog, 8 is idle in the ring: 8 gets it
 *	vertex for a	8 has one job, less than the backlog: 8 gets it
 *	vertex for b	no agent is idle, and maxta allows no third one: it
 *			waits
 *	a third for a	both have two jobs: 8, the newer agent of the host,
 *			gets it as a job ahead
 *
 * A new agent has its job from the start; the job line is sent after its first
 * #hungry.
 *
 * Cases 2 to 4 give the message one more agent, which order_is_below_share must
 * permit.  If it does not, the vertex becomes a job ahead as in 5; or it waits
 * until the message has fewer agents, or more agents are free.
 *
 * The limits are maxta (at most what descriptors allow), maxchannel, maxring,
 * and the number of starts in a second that -R sets.  An agent that is ending
 * counts until it is gone.  maxta and -R do not count the agent of the channel
 * dsn.  A slot is the place of one agent under a limit.  Rings that wait for a
 * slot get new agents in turns.  To free a slot, the agent that has been idle
 * longest in the other rings is ended.  In a ring with more than an equal part
 * of the slots each agent ends when it leaves a thread; but not while it has
 * had fewer than 100 jobs, is younger than 5 seconds and its ring has mail, so
 * that not every job costs a start.
 *
 * An agent stays on its thread while that has READY vertices.  If other
 * threads wait it leaves after 100 jobs, or after one for local mailboxes; in
 * the preemptive order it leaves when it has no job ahead.  Then it is free,
 * and idle until idlemax if the same pass has no vertex for it.  An agent that
 * has reached maxage or maxjobs ends instead.
 *
 * Trouble.  A failed fork stops the ring for 10 seconds.  An agent that dies
 * before its first #hungry stops the ring for an interval, with one line in the
 * log.  An agent that ends after its first #hungry, but before it begins a job,
 * stops the ring for 1 second; the time doubles with each such agent, up to 5
 * minutes.  If the command names the host, agents of both kinds do not stop the
 * ring, but the thread, for the next wait of its retry list.  When an agent
 * dies later, the tags on disk decide (q_end_first_job): the job in work is
 * deferred; jobs that it had not begun are ready again and count no try.  An
 * agent with jobs that is silent for the clause's timeout is ended.  After 100
 * lines outside the protocol, or 100 lines in a row that are a #step or a
 * repeated report, only #hungry and new reports are signs of life.
 *
 * Costs: a pass O(agents), as select itself, and O(rings) for each ring, of
 * which there are about as many as clauses; a report O(jobs of the agent) and
 * O(log n) of the recipients of its job; a job O(rings), and O(agents of the
 * host) to find the agent with the fewest jobs.
 */
#include "scheduler.h"
#include <signal.h>
#include <sys/wait.h>

#ifndef NO_SOCKETPAIR
#include <sys/socket.h>
#endif

#define STRETCH		100	/* jobs after which an agent leaves its thread
				 * if other threads wait */
#define SLOT_LEAST	5	/* seconds after the start of an agent in which
				 * the agent keeps its slot if it has work */
#define GREETING	300	/* seconds from start to the first #hungry */
#define SOON		3	/* seconds in which an agent that was told to
				 * end should be gone */
#define GRACE		30	/* seconds from the end of SOON to SIGTERM */
#define MERCY		10	/* seconds from SIGTERM to SIGKILL */
#define FAILED_MOST	300L	/* seconds; longest stop of a ring whose agents
				 * end before they begin a job */
#define FAILURES	3	/* agents in a row that begin no job, after
				 * which the oldest job counts as the cause */
#define FORK_AGAIN	10	/* seconds until a failed fork is repeated */
#define FORKRATE_AGAIN	0.25	/* seconds until a start that -R did not allow
				 * is tried again */
#define JOB_MOST	(NAME_MAX_ + WORD_MAX_ + 4 + 9 * PORTION_MOST)
				/* bytes of a job line; less than 2048, as every
				 * system can read lines of that length */
#define OUT_MOST	5000	/* bytes not yet written to an agent */
#define LINE_MOST	65536	/* bytes in a line of an agent */
#define READ_MOST	16384	/* bytes in one read */
#define READS		4	/* reads from an agent in one pass */
#define NOISE_MOST	100	/* lines of an agent: so many lines outside the
				 * protocol are logged; after so many of them,
				 * or so many #step and repeated reports in a
				 * row, only #hungry and new reports are signs
				 * of life */

static unsigned long nstarts;	/* new agents so far */
static struct {
	double	since;		/* mono; beginning of the present second */
	long	n;		/* starts that -R counts in this second */
} forks = { -NEVER, 0 };

/* agent: an agent, with the members that this module alone uses. */
struct agent {
	struct ta ta;		/* the first member: AGENT converts */
	struct agent *rnext, *rprev;	/* IDLE: of the ring */
	double	due;		/* mono; when run_timer acts on the agent */
	double	start_time;	/* mono; when the process was started */
	int	in, out;	/* descriptors from and to the agent, one
				 * socket or two pipes; -1: closed */
	unsigned unanswered;	/* #idle lines that no #hungry has answered */
	unsigned noise;		/* lines outside the protocol, and reports
				 * that fit no job of the agent */
	unsigned steps;		/* #step and repeated reports since the last
				 * new report or #hungry */
	unsigned char reaped;	/* 1: the process has ended */
	unsigned char idle_sent;	/* IDLE: 1: #idle was sent */
	unsigned char ending;	/* 1: counted by nending */
	unsigned char kills;	/* signals sent: TERM, then KILL */
	unsigned char timed_out;	/* 1: ended, as silent for too long */
	unsigned char overlong;	/* 1: the rest of the line is ignored */
	char	*part;		/* npart bytes of a line not yet ended */
	size_t	npart;
	char	*outbuf;	/* nout bytes are not written yet; or NULL */
	size_t	nout;
	char	complaint[200];	/* the first line outside the protocol since the
				 * last new report or #hungry */
};

#define AGENT(p) ((struct agent *)(p))	/* NULL stays NULL */

/* pool: the members of a ring that this module alone uses.  The first pass that
 * sees the ring makes the pool; thread.c frees the pool with the ring. */
struct pool {
	struct agent *idle;	/* idle agents, newest first */
	unsigned long last_start;	/* nstarts at the last start */
	unsigned char pass_done;	/* 1: no more feeding in this pass */
	unsigned char failures;	/* agents in a row that began no job */
	unsigned char portions;	/* 1: the agent started last takes portions */
};

static char inbuf[LINE_MOST + READ_MOST];

static long
least(long a, long b)
{
	return a < b ? a : b;
}

/* ---- limits ---------------------------------------------------------- */

/* Returns the numbers of agents that the limit counts for the ring.  maxta does
 * not count the agent of the channel dsn. */
static struct counts *
get_counts(struct ring *r, int limit)
{
	static struct counts dsn;	/* of the channel dsn */

	if (limit == MAXRING)
		return &r->counts;
	if (limit == MAXCHANNEL)
		return &r->chan->counts;
	return r->conf->dsn ? &dsn : &q.counts;
}

/* Returns the number of agents that the limit allows. */
static long
get_limit(const struct ring *r, int limit)
{
	const struct setting *s = &r->conf->v;
	long n = s->maxta;

	if (limit == MAXRING)
		n = s->maxring;
	if (limit == MAXCHANNEL)
		n = s->maxchannel;
	if (n == 0)
		n = LONG_MAX;
	return limit == MAXTA ? least(n, opt.agents) : n;
}

/* Adds to the numbers of agents, of idle agents and of ending agents that each
 * limit counts. */
static void
count_agents(struct ring *r, int nta, int nidle, int nending)
{
	int i;

	for (i = MAXRING; i <= MAXTA; i++) {
		get_counts(r, i)->nta += nta;
		get_counts(r, i)->nidle += nidle;
		get_counts(r, i)->nending += nending;
	}
}

/* Returns the number of agents that the ring could have beside those at
 * work. */
static long
count_free_slots(struct ring *r)
{
	long n = LONG_MAX;
	int i;

	for (i = r->conf->bound ? MAXCHANNEL : MAXRING; i <= MAXTA; i++)
		n = least(n, get_limit(r, i) - get_counts(r, i)->nta +
		    get_counts(r, i)->nidle);
	return n;
}

/* Returns why the thread may have no new agent, or NO_LIMIT. */
static enum limit
find_start_limit(struct ring *r, const struct thread *t)
{
	int i;

	if (r->start_at > now.mono)
		return NO_START;
	for (i = MAXRING; i <= MAXTA; i++)
		if (get_limit(r, i) <= (i == MAXRING && r->conf->bound ?
		    (long)t->nref : get_counts(r, i)->nta))
			return i;
	if (now.mono - forks.since >= 1) {
		forks.since = now.mono;
		forks.n = 0;
	}
	return r->conf->dsn || forks.n < opt.forkrate ? NO_LIMIT : FORKRATE;
}

/* Returns the number of other rings that the limit stops and that could start
 * an agent if one ended; 0 while an agent is ending.  A ring whose agents are
 * bound to threads counts itself, too. */
static long
count_waiting_rings(struct ring *r, int limit)
{
	const struct counts *s = get_counts(r, limit);
	struct ring *o;
	long n = 0;

	for (o = s->nending > 0 ? NULL : q.rings; o != NULL; o = o->next)
		n += (int)o->stopped_by == limit &&
		    get_counts(o, limit) == s &&
		    s->nta <= get_limit(o, limit) &&
		    (o != r || r->conf->bound);
	return n;
}

/* Returns 1 if the ring has more than an equal share of the slots that other
 * rings wait for.  So under full load every ring gets its share. */
static int
has_more_than_share(struct ring *r)
{
	long n;
	int i;

	for (i = MAXCHANNEL; i <= MAXTA; i++) {
		n = count_waiting_rings(r, i);
		if (n > 0 && r->counts.nta * (n + 1) > get_counts(r, i)->nta)
			return 1;
	}
	return 0;
}

/* ---- start ----------------------------------------------------------- */

/* Stops the ring for some seconds, with one line in the log, after a failed
 * start or the end of an agent that began no job.  Only the thread stops, as a
 * dead destination, if each thread has agents of its own, or if seconds is 0,
 * which stands for a command that cannot be used for the host.  t NULL: the
 * machine is the reason. */
static void
stop_after_failure(struct ring *r, struct thread *t, long seconds,
    const char *why)
{
	char words[400];
	struct text s;

	if (t != NULL && (r->conf->bound || seconds == 0)) {
		text_fmt(words, sizeof(words), "the %s %s",
		    seconds == 0 ? "command" : "agent", why);
		reason_copy(&t->reason, words);
		th_sleep(t);
		return;
	}
	r->stopped_by = NO_START;
	if (r->start_at > now.mono)
		return;
	r->start_at = now.mono + seconds;
	note_leaver(0);
	reason_copy(&r->trouble, why);
	text_init(&s, words, sizeof(words));
	span_add(&s, seconds, 2);
	log_err("agent channel=%s command=\"%s\" %s%s; its mail waits for %s",
	    r->chan->name, r->conf->v.command, t == NULL ?
	    "cannot be started: " : "", why, words);
}

int
ta_set_env(struct command *c, const char *channel, const struct config *config,
    char *path)
{
	int bare = c->argv[0][0] != '/';

	errno = E2BIG;
	if (text_fmt(path, PATH_MAX_, "%s%s%s", bare ? opt.mailbin : "",
	    bare ? "/ta/" : "", c->argv[0]) < 0 ||
	    cmd_default_env(c, "TZ", getenv("TZ")) < 0 ||
	    cmd_default_env(c, "PATH", cf_get_var("PATH")) < 0 ||
	    cmd_default_env(c, "ZCONFIG", opt.envfile) < 0 ||
	    cmd_default_env(c, "MAILBIN", opt.mailbin) < 0 ||
	    cmd_default_env(c, "MAILSHARE", opt.mailshare) < 0 ||
	    cmd_default_env(c, "MAILBOX", cf_get_var("MAILBOX")) < 0 ||
	    cmd_default_env(c, "CHANNEL", channel) < 0 ||
	    cmd_default_env(c, "MAILNAME", config->mailname) < 0)
		return -1;
	return 0;
}

/* Starts an agent for the vertex; on failure its ring or thread stops for a
 * while. */
static void
start_agent(struct vertex *v)
{
	static struct command c;
	struct thread *t = v->thread;
	struct ring *r = t->ring;
	const struct setting *s = &r->conf->v;
	char path[PATH_MAX_];
	const char *why;
	struct agent *a;
	long pid = -1;
	int fd[2];

	why = cmd_split(s->command, r->chan->name, t->host, cf_get_var, &c);
	if (why != NULL) {
		stop_after_failure(r, t, 0, why);
		return;
	}
	c.uid = s->uid;
	c.gid = s->gid;
	c.nice = s->nice;
	c.files = opt.agentfiles;
	a = mem_get(sizeof(*a));
	if (a != NULL &&
	    ta_set_env(&c, r->chan->name, q.config, path) == 0) {
		c.argv[0] = path;
		pid = cmd_start(&c, fd);
	}
	if (pid < 0) {
		stop_after_failure(r, NULL, FORK_AGAIN, strerror(errno));
		free(a);
		return;
	}
	a->ta.pid = pid;
	a->ta.ring = r;
	a->ta.fed_at = -1;		/* never; mono begins at 0 */
	a->ta.portions = r->pool->portions;
	a->in = fd[0];
	a->out = fd[1];
	a->start_time = a->ta.heard = now.mono;
	a->due = now.mono + least(s->timeout, GREETING);
	PREPEND(q.agents, &a->ta, next, prev);
	q.nagents++;
	count_agents(r, 1, 0, 0);
	r->pool->last_start = ++nstarts;
	log_info("agent-start pid=%d channel=%s host=%s agents=%u", a->ta.pid,
	    r->chan->name, t->host, q.nagents);
	th_feed(&a->ta, v);
	forks.n += !r->conf->dsn;
}

/* ---- lines for an agent ---------------------------------------------- */

/* flush_output_or_end calls end_agent, and the other way round. */
static void end_agent(struct agent *, int by_line);

/* Returns 1 if read or write has failed only for now. */
static int
is_temporary(int err)
{
	return err == EINTR || err == EAGAIN || err == EWOULDBLOCK;
}

/* Writes as much to the agent as it takes without waiting.  If the agent has
 * closed its end, nothing is done, as it is about to end by itself.  After any
 * other error the agent is ended, as it would wait for lost lines for ever. */
static void
flush_output_or_end(struct agent *a)
{
	long n = 0;

	if (a->out >= 0 && a->nout > 0)
		n = write(a->out, a->outbuf, a->nout);
	if (n > 0) {
		a->nout -= n;
		memmove(a->outbuf, a->outbuf + n, a->nout);
	} else if (n < 0 && !is_temporary(errno)) {
		a->nout = 0;
		if (errno != EPIPE && errno != ECONNRESET &&
		    a->ta.state != TA_CLOSING) {
			log_err("agent pid=%d is ended, as a write to it "
			    "fails: %s", a->ta.pid, strerror(errno));
			end_agent(a, 0);
		}
	}
	if (a->ta.state != TA_CLOSING || a->nout > 0 || a->out < 0)
		return;
#ifdef NO_SOCKETPAIR
	close(a->out);
#else
	shutdown(a->out, 1);
#endif
	a->out = -1;
}

/* Sends a signal to the agent and its children. */
static void
signal_agent(struct agent *a)
{
	int sig = a->kills++ == 0 ? SIGTERM : SIGKILL;

	if (!a->reaped && kill(-a->ta.pid, sig) < 0)
		kill(a->ta.pid, sig);
	a->due = now.mono + MERCY;
}

/* An idle agent is in the list of its ring, and in that of the thread that it
 * served last, the newest first. */
static void
add_idle(struct agent *a)
{
	PREPEND(a->ta.ring->pool->idle, a, rnext, rprev);
	PREPEND(a->ta.thread->idle, &a->ta, tnext, tprev);
	a->ta.thread->nidle++;
	count_agents(a->ta.ring, 0, 1, 0);
}

static void
remove_idle(struct agent *a)
{
	REMOVE(a->ta.ring->pool->idle, a, rnext, rprev);
	REMOVE(a->ta.thread->idle, &a->ta, tnext, tprev);
	a->ta.thread->nidle--;
	count_agents(a->ta.ring, 0, -1, 0);
}

/* Counts the agent as ending; or, with 0, no longer counts an agent whose end
 * takes too long. */
static void
count_ending(struct agent *a, int ending)
{
	count_agents(a->ta.ring, 0, 0, ending - a->ending);
	a->ending = ending;
}

/* Appends the line, for which there is room: 0, or -1 without memory. */
static int
append_output(struct agent *a, const char *line)
{
	size_t n = strlen(line);
	char *buf = realloc(a->outbuf, a->nout + n);

	if (buf == NULL)
		return -1;
	a->outbuf = buf;
	memcpy(buf + a->nout, line, n);
	a->nout += n;
	return 0;
}

/* Ends the agent: with by_line by an empty line, if there is memory for that
 * line; else by a signal. */
static void
end_agent(struct agent *a, int by_line)
{
	if (a->ta.state == TA_CLOSING)
		return;
	if (a->ta.state == TA_IDLE)
		remove_idle(a);
	a->ta.state = TA_CLOSING;
	count_ending(a, 1);
	th_update(a->ta.thread);
	a->due = now.mono + SOON;
	by_line = by_line && append_output(a, "\n") == 0;
	flush_output_or_end(a);
	if (!by_line)
		signal_agent(a);
}

/* Appends the line to the output for the agent.  Returns 0; or -1 after it has
 * ended the agent, as there is no memory, or no room, since the agent has not
 * read earlier lines. */
static int
send_line_or_end(struct agent *a, const char *line)
{
	size_t n = strlen(line);

	/* end_agent needs one byte more */
	if (a->nout + n >= OUT_MOST || append_output(a, line) < 0) {
		log_err("agent pid=%d is ended, as %s", a->ta.pid,
		    a->nout + n >= OUT_MOST ? "it does not read its lines" :
		    "there is no memory for a line to it");
		end_agent(a, 0);
		return -1;
	}
	log_debug("to pid=%d %.*s", a->ta.pid, (int)n - 1, line);
	return 0;
}

/* ---- feeding --------------------------------------------------------- */

/* Sends the job line of the vertex.  Recipients that the line has no room to
 * name, as there was no memory to split the vertex, will have no report. */
static void
send_job(struct agent *a, const struct vertex *v)
{
	int portion = v->portion && a->ta.portions;
	const struct rcpt *r, *end = v->r + (portion ? v->nr : 0);
	char line[JOB_MOST], note[80];
	const char *name = v->msg->name;
	struct text t;
	unsigned n = 0;

	text_init(&t, line, sizeof(line));
	text_add(&t, "%s", name);
	if (portion || a->ta.ring->conf->bound != CMD_AS_WORD)
		text_add(&t, "\t%s", a->ta.thread->host);
	for (r = v->r; r < end && n < PORTION_MOST; r++)
		if (r->state == RC_PENDING)
			text_add(&t, "%c%u", n++ == 0 ? '\t' : ',',
			    (unsigned)r->off);
	text_add(&t, "\n");
	if (v->msg->verbose) {
		text_fmt(note, sizeof(note), "scheduler feeds it to agent %d",
		    a->ta.pid);
		spool_log_verbose(name, note);
	}
	send_line_or_end(a, line);
	a->ta.fed_at = now.mono;
}

/* Returns 1 if jobs are fed one by one: for a mailbox, as a job may show that
 * the mailbox takes no mail now; with a rate, as a job ahead would not begin at
 * its time. */
static int
is_fed_singly(const struct thread *t)
{
	return th_is_local(t) || t->fb->rate.n > 0;
}

/* Returns the number of jobs that the agent may have at once: 1 if jobs are fed
 * one by one; else overfeed + 1, or backlog if that is more.  If the window has
 * room for more agents, the agent gets jobs beyond backlog only up to its share
 * of the READY vertices. */
static unsigned
count_allowed_jobs(const struct agent *a)
{
	const struct setting *s = &a->ta.ring->conf->v;
	const struct thread *t = a->ta.thread;
	long low = s->backlog > 0 ? s->backlog : 1, high = s->overfeed + 1;
	long room = fb_agents_left(t, t->nta);

	if (is_fed_singly(t))
		return 1;
	if (room > 0)
		high = least(high, a->ta.jobs.n + t->ready.n / (room + 1));
	return high > low ? high : low;
}

/* Returns 1 if the agent has reached maxage or maxjobs.  A new agent in its
 * place may find another machine of the host, and has leaked no memory yet. */
static int
is_worn_out(const struct agent *a)
{
	const struct setting *s = &a->ta.ring->conf->v;

	return (s->maxjobs > 0 && a->ta.njobs >= (unsigned long)s->maxjobs) ||
	    (s->maxage > 0 && now.mono - a->start_time >= s->maxage);
}

/* Returns 1 if the agent may get more jobs.  An agent of an old ring may not:
 * its clause may have another command since the reload. */
static int
can_get_jobs(const struct agent *a)
{
	return !q.no_feeding && !a->reaped && a->ta.state == TA_BUSY &&
	    !ring_is_old(a->ta.ring) && !is_worn_out(a) &&
	    a->nout + JOB_MOST < OUT_MOST;
}

/* Returns 1 if the agent may get more jobs of its thread.  The agent leaves
 * after STRETCH jobs when another thread or ring could use it. */
static int
can_stay_on_thread(const struct agent *a)
{
	struct ring *r = a->ta.ring;
	unsigned stretch = th_is_local(a->ta.thread) ? 1 : STRETCH;

	return can_get_jobs(a) && (a->ta.stretch < stretch ||
	    ((r->conf->bound || !order_has_work(r)) &&
	    !has_more_than_share(r)));
}

/* Returns 1 if the agent has a job of another message with the same number, by
 * which alone reports name a message. */
static int
has_job_of_same_number(const struct agent *a, const struct vertex *v)
{
	const struct vertex *j = v->msg->has_twin ? a->ta.jobs.head : NULL;

	while (j != NULL && (j->msg == v->msg ||
	    j->msg->link.hash != v->msg->link.hash))
		j = j->next;
	return j != NULL;
}

/* Tops up the jobs of an agent that has at most half of overfeed, or fewer than
 * backlog, with jobs of its thread. */
static void
top_up_jobs(struct agent *a)
{
	const struct setting *s = &a->ta.ring->conf->v;
	struct vertex *v;
	unsigned n;

	if (a->ta.jobs.n > (unsigned)s->overfeed / 2 &&
	    a->ta.jobs.n >= (unsigned)s->backlog)
		return;
	/* with order=preempt, order_next_vertex chooses each job that is not a
	 * job ahead */
	if (s->order == ORDER_PREEMPT && a->ta.jobs.n == 0)
		return;
	n = count_allowed_jobs(a);
	while (a->ta.jobs.n < n && can_stay_on_thread(a) &&
	    (v = th_next_job(&a->ta)) != NULL &&
	    !has_job_of_same_number(a, v)) {
		th_feed(&a->ta, v);
		send_job(a, v);
	}
	flush_output_or_end(a);
}

static void
set_busy(struct agent *a)
{
	a->ta.state = TA_BUSY;
	a->ta.heard = now.mono;
	a->due = now.mono + a->ta.ring->conf->v.timeout;
}

/* Gives the vertex to an idle agent, or to a busy one of its thread.  An idle
 * agent gets jobs ahead, too. */
static void
feed_agent(struct agent *a, struct vertex *v)
{
	int was_idle = a->ta.state == TA_IDLE;

	if (was_idle) {
		remove_idle(a);
		set_busy(a);
	}
	th_feed(&a->ta, v);
	send_job(a, v);
	flush_output_or_end(a);
	if (was_idle)
		top_up_jobs(a);
}

/* Feeds the agent.  Without a job it becomes idle, or ends, by maxage or
 * maxjobs or for another ring.  For another ring it is not ended while it has
 * had fewer than STRETCH jobs, is younger than SLOT_LEAST seconds and its own
 * ring has mail: otherwise each job would cost a start. */
static void
feed_or_release(struct agent *a)
{
	int stays;

	top_up_jobs(a);
	if (a->ta.state != TA_BUSY || a->ta.jobs.n > 0)
		return;
	th_detach_agent(&a->ta);
	stays = (a->ta.njobs < STRETCH &&
	    now.mono - a->start_time < SLOT_LEAST &&
	    order_has_work(a->ta.ring)) || !has_more_than_share(a->ta.ring);
	if (!can_get_jobs(a) || !stays) {
		end_agent(a, 1);
		return;
	}
	a->ta.state = TA_IDLE;
	a->idle_sent = 0;
	add_idle(a);
	th_update(a->ta.thread);
}

/* ---- lines of an agent ----------------------------------------------- */

/* Counts a line outside the protocol.  Returns 1 if the line may be logged. */
static int
count_and_allow_noise(struct agent *a)
{
	if (a->noise++ == NOISE_MOST)
		log_warn("agent-says pid=%d channel=%s too much; no more of "
		    "it is logged", a->ta.pid, a->ta.ring->chan->name);
	return a->noise <= NOISE_MOST;
}

/* Keeps and logs a line outside the protocol.  The first of several is kept as
 * the reason, as the others mostly explain it. */
static void
note_noise(struct agent *a, const char *what, const char *line)
{
	line += strspn(line, " ");
	if (a->complaint[0] == '\0')
		text_fmt(a->complaint, sizeof(a->complaint), "%s", line);
	/* before #hungry such lines mostly explain why the agent ends, and the
	 * log has the first one in that reason */
	if (a->ta.started && count_and_allow_noise(a))
		log_info("agent-says pid=%d channel=%s %s%s", a->ta.pid,
		    a->ta.ring->chan->name, what, line);
}

/* Clears the complaint and the number of steps, as the agent has gone on with
 * its work. */
static void
clear_complaint(struct agent *a)
{
	a->steps = 0;
	a->complaint[0] = '\0';
}

/* Sends a new agent its first job line, unless an operator has held or ended
 * the job by now. */
static void
send_first_job(struct agent *a)
{
	const struct vertex *v = a->ta.jobs.head;

	set_busy(a);
	if (v->cancel != CANCEL_NONE || v->msg->end >= END_DROP ||
	    v->msg->held || v->thread->held != NULL)
		q_end_first_job(&a->ta, NULL);
	else
		send_job(a, v);
}

/* Acts on "#hungry" and the words behind it: ends the oldest job, or sends the
 * first one. */
static void
handle_hungry(struct agent *a, const char *words)
{
	a->ta.step[0] = '\0';
	clear_complaint(a);
	if (a->ta.state == TA_STARTING) {
		a->ta.portions = a->ta.ring->pool->portions =
		    strcmp(words, " offsets") == 0;
		th_note_first_hungry(&a->ta);
		send_first_job(a);
	} else if (a->unanswered > 0) {
		a->unanswered--;
		return;
	} else if (a->ta.jobs.n == 0 || a->ta.fed_at < 0) {
		/* a closing agent may not have read the empty line yet */
		if (a->ta.state != TA_CLOSING)
			note_noise(a, "hungry, but it has no job", "");
		return;
	} else {
		a->ta.heard = now.mono;
		a->ta.ring->pool->failures = 0;
		q_end_first_job(&a->ta, "transport agent did not report on it");
	}
	feed_or_release(a);
}

/* Acts on a report: INUM/OFFSET \t NOTARY \t STATUS [TEXT]. */
static void
handle_report(struct agent *a, char *line)
{
	unsigned long num, off;
	const char *s, *notary, *why;
	char *status, *text;

	num = num_of(line, &s);
	if (s == line || *s != '/' ||
	    num_upto(s + 1, CONTROL_MAX, &off, &notary) < 0 ||
	    *notary++ != '\t' || (status = ctl_notary_end(notary)) == NULL) {
		note_noise(a, "garbled: ", line);
		return;
	}
	*status++ = '\0';
	text = status + strcspn(status, " \t");
	if (*text != '\0')
		*text++ = '\0';
	if (a->ta.jobs.n > 0)
		a->unanswered = 0;	/* an answer to #idle would have come
					 * before this report: none will come */
	why = a->ta.fed_at < 0 ? "before it got a job" :
	    q_apply_report(&a->ta, num, off, notary, status,
	    text + strspn(text, " "));
	if (why == NULL && a->ta.repeated) {
		a->steps++;	/* too many are no sign of life */
	} else if (why == NULL) {
		a->ta.heard = now.mono;
		clear_complaint(a);
	} else if (count_and_allow_noise(a))
		log_warn("report agent=%d num=%lu rcpt=%lu status=%s %s",
		    a->ta.pid, num, off, status, why);
}

static void
handle_line(struct agent *a, char *line)
{
	log_debug("from pid=%d %s", a->ta.pid, line);
	if (strncmp(line, "#hungry", 7) == 0)
		handle_hungry(a, line + 7);
	else if (strncmp(line, "#resync", 7) == 0)
		note_noise(a, "found nothing to do in: ", line + 7);
	else if (strncmp(line, "#step ", 6) == 0) {
		a->steps++;
		text_fmt(a->ta.step, sizeof(a->ta.step), "%s", line + 6 +
		    strspn(line + 6, " "));
	} else if (*line == '#')
		note_noise(a, "", line + 1);
	else if (*line != '\0')
		handle_report(a, line);
}

/* Acts on the whole lines among the npart bytes that were kept and n new ones,
 * which are in inbuf from the index npart on.  Keeps the beginning of the next
 * line; drops a line that is too long. */
static void
handle_lines(struct agent *a, size_t n)
{
	char *s = inbuf, *end_of_line;

	if (a->npart > 0)
		memcpy(inbuf, a->part, a->npart);
	for (n += a->npart; (end_of_line = memchr(s, '\n', n)) != NULL;
	    s = end_of_line + 1) {
		*end_of_line = '\0';
		if (!a->overlong)
			handle_line(a, s);
		a->overlong = 0;
		n -= end_of_line + 1 - s;
	}
	free(a->part);
	a->part = NULL;
	a->npart = 0;
	if (n == 0 || a->overlong)
		return;
	a->part = n > LINE_MOST ? NULL : mem_get(n + 1);
	if (a->part != NULL) {
		memcpy(a->part, s, n);
		a->npart = n;
	} else {
		note_noise(a, "garbled: ", "a line that is too long");
		a->overlong = 1;
	}
}

static void
close_descriptors(struct agent *a)
{
	cmd_close(a->in, a->out);
	a->in = a->out = -1;
}

/* Reads lines of the agent by at most this number of reads. */
static void
read_lines(struct agent *a, int reads)
{
	long n = READ_MOST;

	while (a->in >= 0 && reads-- > 0 && n == READ_MOST) {
		n = read(a->in, inbuf + a->npart, READ_MOST);
		if (n < 0 && is_temporary(errno))
			return;
		if (n <= 0) {
			close_descriptors(a);
			if (!a->reaped)
				end_agent(a, 1);
			return;
		}
		/* too much noise and too many steps are no sign of life */
		if (a->noise < NOISE_MOST && a->steps < NOISE_MOST)
			a->ta.heard = now.mono;
		handle_lines(a, n);
	}
}

/* ---- the end of an agent --------------------------------------------- */

/* Writes in words how the agent ended. */
static void
format_end(const struct agent *a, int status, char *s, size_t size)
{
	struct text t;

	text_init(&t, s, size);
	if (a->timed_out)
		text_add(&t, "was silent too long and had to be ended");
	else if (a->kills > 0)
		text_add(&t, "%shad to be ended", a->ta.started &&
		    a->ta.jobs.n == 0 ? "did not leave and " : "");
	else if (WIFSIGNALED(status))
		text_add(&t, "died of signal %d", WTERMSIG(status));
	else
		text_add(&t, "died with exit code %d", WEXITSTATUS(status));
	if (a->complaint[0] != '\0')
		text_add(&t, ": %s", a->complaint);
	else if (a->ta.step[0] != '\0')
		text_add(&t, " while at this: %s", a->ta.step);
}

/* Returns 1 if the agent has begun its oldest job: it has reported or set a
 * tag.  The agent dsn sets no tags, and counts as if it had begun. */
static int
has_begun(const struct agent *a)
{
	const struct vertex *v = a->ta.jobs.head;
	int tag;

	if (v->host_bits != 0 || th_is_dsn(v->thread))
		return 1;
	tag = ctl_read_tag(v->msg->name, v->r[0].off, NULL);
	return tag == '~' || tag == '+' || tag == '-';
}

/* Logs the end of a dead agent whose output was read, ends or returns its jobs,
 * and takes it from all counts. */
static void
note_agent_death(struct agent *a, int status)
{
	struct ring *r = a->ta.ring;
	unsigned jobs = a->ta.fed_at < 0 ? 0 : a->ta.jobs.n;	/* jobs sent */
	int begun = a->kills > 0 || (jobs > 0 && has_begun(a));
	int finished_some = a->ta.njobs > a->ta.jobs.n;
	int in_use = !q.no_feeding && !ring_is_old(r);
	int stopped = r->start_at > now.mono;
	char how[300], reason[340];

	format_end(a, status, how, sizeof(how));
	text_fmt(reason, sizeof(reason), "transport agent %s", how);
	if (!a->ta.started && in_use) {
		stop_after_failure(r, a->ta.thread, r->conf->v.interval, how);
	} else if (jobs > 0 && !finished_some && !begun && in_use) {
		stop_after_failure(r, a->ta.thread,
		    least(FAILED_MOST, 1L << r->pool->failures), how);
		/* agents that end during one stop count once */
		if (r->pool->failures < 16 && !stopped)
			r->pool->failures++;
	} else if (jobs > 0 || a->kills > 0 || status != 0) {
		log_warn("agent-lost pid=%d channel=%s host=%s jobs=%u it %s",
		    a->ta.pid, r->chan->name, a->ta.thread->host, jobs, how);
	} else {
		log_info("agent-end pid=%d channel=%s agents=%u", a->ta.pid,
		    r->chan->name, q.nagents - 1);
	}
	/* An agent that sets no tags may have begun its oldest job unseen.  If
	 * the agent has finished other jobs, the oldest job counts as begun
	 * when an earlier agent, too, ended while that job was its oldest.  If
	 * the agent has finished none, the oldest job counts as begun when more
	 * than FAILURES agents in a row have begun no job. */
	if (jobs > 0 && (begun || (finished_some ? a->ta.jobs.head->returned :
	    r->pool->failures > FAILURES)))
		q_end_first_job(&a->ta, reason);
	else if (jobs > 0)
		a->ta.jobs.head->returned = 1;
	while (a->ta.jobs.n > 0)
		q_end_first_job(&a->ta, NULL);
	th_detach_agent(&a->ta);
	if (a->ta.state == TA_IDLE)
		remove_idle(a);
	a->ta.thread->nref--;
	th_update(a->ta.thread);
	count_agents(r, -1, 0, -a->ending);
	q.nagents--;
}

int
ta_reap(long pid, int status)
{
	struct agent *a = AGENT(q.agents);

	while (a != NULL && a->ta.pid != (int)pid)
		a = AGENT(a->ta.next);
	if (a == NULL)
		return 0;
	a->reaped = 1;
	/* a child of the agent may keep the other side of the socket open, so
	 * that no end of file comes: only bytes that have come by now are
	 * read */
	read_lines(a, 64);
	if (a->npart > 0)
		note_noise(a, "garbled: ", a->part);
	close_descriptors(a);
	note_agent_death(a, status);
	REMOVE(q.agents, &a->ta, next, prev);
	free(a->part);
	free(a->outbuf);
	free(a);
	return 1;
}

/* Acts on the timer of the agent: ends it if it was idle or silent for too
 * long.  If the agent is closing, its end takes too long: it no longer counts
 * as ending, and gets its next signal; or, the first time, GRACE seconds more
 * if it has had no signal yet. */
static void
run_timer(struct agent *a)
{
	double silent_end = a->ta.heard + a->ta.ring->conf->v.timeout;

	if (a->ta.state == TA_BUSY && silent_end > now.mono) {
		a->due = silent_end;
	} else if (a->ta.state != TA_CLOSING) {
		a->timed_out = a->ta.state != TA_IDLE;
		end_agent(a, a->ta.state == TA_IDLE);
	} else {
		if (a->ending && a->kills == 0)
			a->due = now.mono + GRACE;
		else
			signal_agent(a);
		count_ending(a, 0);
	}
}

/* ---- one vertex ------------------------------------------------------ */

/* Returns the busy agent of the vertex's host that has the fewest jobs, the
 * newest of several.  The agent must have fewer jobs than this number, none of
 * a twin of the message, and be one that can_get_jobs allows.  Returns NULL if
 * there is none. */
static struct agent *
find_least_busy(const struct vertex *v, long jobs)
{
	struct agent *a, *best = NULL;

	if (jobs == 0 || is_fed_singly(v->thread))
		return NULL;
	for (a = AGENT(v->thread->busy); a != NULL; a = AGENT(a->ta.tnext))
		if ((long)a->ta.jobs.n < jobs && can_get_jobs(a) &&
		    !has_job_of_same_number(a, v)) {
			best = a;
			jobs = a->ta.jobs.n;
		}
	return best;
}

/* Gives the next vertex of the ring to an agent, which may be a new one, or
 * blocks the vertex if its message is at its share.  When agents are free, a
 * blocked vertex may be the next.  Sets pass_done if there is no vertex or no
 * agent. */
static void
feed_next_vertex(struct ring *r)
{
	const struct setting *s = &r->conf->v;
	struct vertex *v;
	struct agent *a;

	r->stopped_by = NO_LIMIT;
	while ((v = order_next_vertex(r)) == NULL &&
	    (v = order_unblock_claim(r, count_free_slots(r))) != NULL)
		th_update(v->thread);
	if (v == NULL) {
		r->pool->pass_done = 1;
		return;
	}
	a = find_least_busy(v, s->backlog);
	if (a == NULL && !r->conf->dsn &&
	    !order_is_below_share(v->msg, count_free_slots(r))) {
		a = find_least_busy(v, s->overfeed + 1);
		if (a == NULL && order_block_vertex(v) == 0) {
			th_update(v->thread);
			return;
		}
	}
	if (a == NULL)
		a = AGENT(v->thread->idle);
	if (a == NULL && !r->conf->bound && r->pool->idle != NULL)
		a = r->pool->idle->rprev;
	if (a == NULL)
		r->stopped_by = find_start_limit(r, v->thread);
	if (r->stopped_by != NO_LIMIT)
		a = find_least_busy(v, s->overfeed + 1);
	if (a != NULL)
		feed_agent(a, v);
	else if (r->stopped_by == NO_LIMIT)
		start_agent(v);
	else
		r->pool->pass_done = 1;
}

/* Gives READY vertices to idle agents that are bound to their thread. */
static void
feed_bound_agents(struct ring *r)
{
	struct agent *a, *next;

	for (a = r->pool->idle; a != NULL; a = next) {
		next = a->rnext;
		if (a->ta.thread->turn.pos == 0)
			continue;
		order_sort_thread(a->ta.thread);
		feed_agent(a, a->ta.thread->ready.head);
	}
}

/* Sends "#idle" to agents that stay idle; idlemax or maxage ends them. */
static void
send_idle_lines(struct ring *r)
{
	const struct setting *s = &r->conf->v;
	struct agent *a, *next;

	for (a = r->pool->idle; a != NULL && !a->idle_sent; a = next) {
		next = a->rnext;
		if (send_line_or_end(a, "#idle\n") < 0)
			continue;
		a->idle_sent = 1;
		a->unanswered++;
		flush_output_or_end(a);
		a->due = now.mono + s->idlemax;
		if (s->maxage > 0 && a->start_time + s->maxage < a->due)
			a->due = a->start_time + s->maxage;
	}
}

/* ---- room ------------------------------------------------------------ */

/* Ends the agent that has been idle longest, of those whose slot another ring
 * waits for. */
static void
end_longest_idle(void)
{
	struct agent *last, *victim = NULL;
	struct ring *r;

	for (r = q.rings; r != NULL; r = r->next) {
		last = r->pool->idle == NULL ? NULL : r->pool->idle->rprev;
		if (last != NULL &&
		    (victim == NULL || last->ta.heard < victim->ta.heard) &&
		    count_waiting_rings(r, MAXTA) +
		    count_waiting_rings(r, MAXCHANNEL) > 0)
			victim = last;
	}
	if (victim != NULL)
		end_agent(victim, 1);
}

/* ---- what the loop calls --------------------------------------------- */

/* Returns the ring that got its last new agent longest ago, of those that are
 * not done in this pass; or NULL. */
static struct ring *
choose_ring(void)
{
	struct ring *r, *best = NULL;

	for (r = q.rings; r != NULL; r = r->next)
		if (!r->pool->pass_done &&
		    (best == NULL ||
		    r->pool->last_start < best->pool->last_start))
			best = r;
	return best;
}

void
ta_feed_rings(void)
{
	struct ring *r;

	if (q.no_feeding || opt.freeze)
		return;
	/* without memory for a pool, all is left to the next pass */
	for (r = q.rings; r != NULL; r = r->next)
		if (r->pool == NULL &&
		    (r->pool = mem_get(sizeof(*r->pool))) == NULL)
			return;
	for (r = q.rings; r != NULL; r = r->next) {
		r->pool->pass_done = ring_is_old(r);
		if (r->pool->pass_done)
			r->stopped_by = NO_LIMIT;
		else if (r->conf->bound)
			feed_bound_agents(r);
		while (r->pool->pass_done && r->pool->idle != NULL)
			end_agent(r->pool->idle, 1);
	}
	while ((r = choose_ring()) != NULL)
		feed_next_vertex(r);
	for (r = q.rings; r != NULL; r = r->next)
		send_idle_lines(r);
	end_longest_idle();
}

double
ta_prep_wait(fd_set *in, fd_set *out, int *max)
{
	double wait = NEVER, again;
	struct ring *r;
	struct agent *a;

	for (a = AGENT(q.agents); a != NULL; a = AGENT(a->ta.next)) {
		if (a->due < now.mono + wait)
			wait = a->due - now.mono;
		fd_watch(a->in, in, max);
		if (a->nout > 0)
			fd_watch(a->out, out, max);
	}
	for (r = q.rings; r != NULL && !q.no_feeding; r = r->next) {
		if (r->stopped_by == NO_LIMIT || !order_has_work(r))
			continue;
		again = r->stopped_by == FORKRATE ? FORKRATE_AGAIN : wait;
		if (r->start_at > now.mono)
			again = r->start_at - now.mono;
		if (again < wait)
			wait = again;
	}
	return wait;
}

void
ta_do(fd_set *in, fd_set *out)
{
	struct agent *a;

	for (a = AGENT(q.agents); a != NULL; a = AGENT(a->ta.next)) {
		if (a->out >= 0 && FD_ISSET(a->out, out))
			flush_output_or_end(a);
		if (a->in >= 0 && FD_ISSET(a->in, in))
			read_lines(a, READS);
		if (a->due <= now.mono)
			run_timer(a);
	}
}

void
ta_end_all(int by_signal)
{
	struct agent *a;

	for (a = AGENT(q.agents); a != NULL; a = AGENT(a->ta.next))
		if (by_signal)
			signal_agent(a);
		else if (a->ta.state == TA_IDLE || a->ta.state == TA_STARTING)
			end_agent(a, 1);
}
