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
 * gets the first of these agents that exists (seed: Finch):
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
 * and -R starts in a second.  An agent that is ending counts until it is gone.
 * maxta and -R do not count the agent of the channel dsn.  Rings that wait for
 * a slot get new agents in turns: the agent of another ring that was idle
 * longest is ended.  In a ring with more than an equal part of the slots each
 * agent ends when it leaves a thread; but not in its first 100 jobs and 5
 * seconds while its ring has mail, so that not every job costs a start.
 *
 * An agent stays on its thread while that has READY vertices.  If other
 * threads wait it leaves after 100 jobs, or after one for local mailboxes; in
 * the preemptive order it leaves when it has no job ahead.  Then it is free,
 * and idle until idlemax if the same pass has no vertex for it.  An agent that
 * has reached maxage or maxjobs ends instead.
 *
 * Trouble.  A failed fork stops the ring for 10 seconds.  An agent that dies
 * before its first #hungry stops it for an interval (or only the thread, if the
 * command names the host), with one line in the log.  An agent that ends before
 * it begins a job does the same for 1 second, doubled each time to 5 minutes.
 * When an agent dies later, the tags on disk decide (q_end_job): the job in
 * work is deferred; jobs that it had not begun are ready again and count no
 * try.  An agent with jobs that is silent for the clause's timeout is ended.
 * After 100 lines outside the protocol, or 100 lines "#step" and repeated
 * reports in a row, only #hungry and new reports are signs of life.
 *
 * Costs: a pass O(agents), as select itself, and O(rings) for each ring, of
 * which there are about as many as clauses; a report O(jobs of the agent) and
 * O(log n) of the recipients of its job; a job O(rings), and O(agents of the
 * host) for the one with the fewest jobs.
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
#define OUT_MOST	5000	/* bytes for an agent that are not read yet */
#define LINE_MOST	65536	/* bytes in a line of an agent */
#define READ_MOST	16384	/* bytes in one read */
#define READS		4	/* reads from an agent in one pass */
#define NOISE_MOST	100	/* lines of noise of an agent in the log, and
				 * #step lines that count as signs of life */

static unsigned long started;	/* new agents so far */
static struct {
	double	since;		/* mono; beginning of the present second */
	long	n;		/* starts that -R counts in this second */
} forks = { -NEVER, 0 };

static char inbuf[LINE_MOST + READ_MOST];

static long
least(long a, long b)
{
	return a < b ? a : b;
}

/* ---- limits ---------------------------------------------------------- */

/* Returns the slots that the limit counts for the ring.  maxta does not count
 * the agent of the channel dsn. */
static struct counts *
limit_counts(struct ring *r, int limit)
{
	static struct counts dsn;

	return limit == MAXRING ? &r->counts :
	    limit == MAXCHANNEL ? &r->chan->counts :
	    r->conf->dsn ? &dsn : &q.counts;
}

/* Returns the number of agents that the limit allows. */
static long
limit_value(const struct ring *r, int limit)
{
	const struct setting *s = &r->conf->v;
	long n = limit == MAXRING ? s->maxring :
	    limit == MAXCHANNEL ? s->maxchannel : s->maxta;

	if (n == 0)
		n = LONG_MAX;
	return limit == MAXTA ? least(n, opt.agents) : n;
}

/* Adds to the three counts of each limit: agents, idle ones, ending ones. */
static void
count_agents(struct ring *r, int nta, int nidle, int nending)
{
	int i;

	for (i = MAXRING; i <= MAXTA; i++) {
		limit_counts(r, i)->nta += nta;
		limit_counts(r, i)->nidle += nidle;
		limit_counts(r, i)->nending += nending;
	}
}

/* Returns the number of agents that the ring could have beside those at
 * work. */
static long
count_free_agents(struct ring *r)
{
	long n = LONG_MAX;
	int i;

	for (i = r->conf->bound ? MAXCHANNEL : MAXRING; i <= MAXTA; i++)
		n = least(n, limit_value(r, i) - limit_counts(r, i)->nta +
		    limit_counts(r, i)->nidle);
	return n;
}

/* Returns why the thread may have no new agent, or NO_LIMIT. */
static enum limit
start_limit(struct ring *r, const struct thread *t)
{
	int i;

	if (r->start_at > now.mono)
		return NO_START;
	for (i = MAXRING; i <= MAXTA; i++)
		if (limit_value(r, i) <= (i == MAXRING && r->conf->bound ?
		    (long)t->nref : limit_counts(r, i)->nta))
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
	const struct counts *s = limit_counts(r, limit);
	struct ring *o;
	long n = 0;

	for (o = s->nending > 0 ? NULL : q.rings; o != NULL; o = o->next)
		n += (int)o->stopped_by == limit &&
		    limit_counts(o, limit) == s &&
		    s->nta <= limit_value(o, limit) &&
		    (o != r || r->conf->bound);
	return n;
}

/* Returns 1 if the ring has more than an equal share of the slots that other
 * rings wait for.  So under full load every ring gets its share. */
static int
should_yield(struct ring *r)
{
	long n;
	int i;

	for (i = MAXCHANNEL; i <= MAXTA; i++) {
		n = count_waiting_rings(r, i);
		if (n > 0 && r->counts.nta * (n + 1) > limit_counts(r, i)->nta)
			return 1;
	}
	return 0;
}

/* ---- start ----------------------------------------------------------- */

/* Stops the ring for some seconds after a failed start, with one line in the
 * log.  If each thread has agents of its own, or the host is the reason (0
 * seconds), only the thread stops.  t NULL: the machine is the reason. */
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
	reason_copy(&r->trouble, why);
	text_init(&s, words, sizeof(words));
	span_add(&s, seconds, 2);
	log_err("agent channel=%s command=\"%s\" %s%s; its mail waits for %s",
	    r->chan->name, r->conf->v.command, t == NULL ?
	    "cannot be started: " : "", why, words);
}

static void
add_agent(struct ta *ta, struct ring *r)
{
	ta->ring = r;
	ta->born = ta->heard = now.mono;
	ta->fed_at = -1;		/* never; mono begins at 0 */
	ta->portions = r->portions;
	PREPEND(q.agents, ta, next, prev);
	q.nagents++;
	count_agents(r, 1, 0, 0);
	r->started = ++started;
}

/* Starts the command for this channel, and sets ours to the descriptors from
 * and to it.  Returns its process number, or -1 with errno. */
static long
start_program(struct command *c, const struct setting *s, const char *channel,
    int ours[2])
{
	int bare = c->argv[0][0] != '/';
	char path[PATH_MAX_];

	errno = E2BIG;
	if (cmd_set_env(c, "TZ", getenv("TZ")) < 0 ||
	    cmd_set_env(c, "PATH", cf_get_var("PATH")) < 0 ||
	    cmd_set_env(c, "ZCONFIG", opt.envfile) < 0 ||
	    cmd_set_env(c, "MAILBIN", opt.mailbin) < 0 ||
	    cmd_set_env(c, "MAILSHARE", opt.mailshare) < 0 ||
	    cmd_set_env(c, "MAILBOX", cf_get_var("MAILBOX")) < 0 ||
	    cmd_set_env(c, "CHANNEL", channel) < 0 ||
	    cmd_set_env(c, "MAILNAME", q.config->mailname) < 0 ||
	    text_fmt(path, sizeof(path), "%s%s%s", bare ? opt.mailbin : "",
	    bare ? "/ta/" : "", c->argv[0]) < 0)
		return -1;
	c->argv[0] = path;
	c->uid = s->uid;
	c->gid = s->gid;
	c->nice = s->nice;
	c->files = opt.agentfiles;
	return cmd_start(c, ours);
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
	const char *why;
	struct ta *ta;
	long pid = -1;
	int fd[2];

	why = cmd_split(s->command, r->chan->name, t->host, cf_get_var, &c);
	if (why != NULL) {
		stop_after_failure(r, t, 0, why);
		return;
	}
	ta = mem_get(sizeof(*ta));
	if (ta != NULL)
		pid = start_program(&c, s, r->chan->name, fd);
	if (pid < 0) {
		stop_after_failure(r, NULL, FORK_AGAIN, strerror(errno));
		free(ta);
		return;
	}
	ta->pid = pid;
	ta->in = fd[0];
	ta->out = fd[1];
	add_agent(ta, r);
	ta->due = now.mono + least(s->timeout, GREETING);
	log_info("agent-start pid=%d channel=%s host=%s agents=%u", ta->pid,
	    r->chan->name, t->host, q.nagents);
	th_feed(ta, v);
	forks.n += !r->conf->dsn;
}

/* ---- lines for an agent ---------------------------------------------- */

static void end_agent(struct ta *, int grace);	/* calls flush_output */

/* Returns 1 if read or write has failed only for now. */
static int
is_later(int err)
{
	return err == EINTR || err == EAGAIN || err == EWOULDBLOCK;
}

/* Writes as much to the agent as it takes without waiting.  If the agent has
 * closed its end, nothing is done, as it is about to end by itself.  After any
 * other error the agent is ended, as it would wait for lost lines for ever. */
static void
flush_output(struct ta *ta)
{
	long n = 0;

	if (ta->out >= 0 && ta->nout > 0)
		n = write(ta->out, ta->outbuf, ta->nout);
	if (n > 0) {
		ta->nout -= n;
		memmove(ta->outbuf, ta->outbuf + n, ta->nout);
	} else if (n < 0 && !is_later(errno)) {
		ta->nout = 0;
		if (errno != EPIPE && errno != ECONNRESET &&
		    ta->state != TA_CLOSING) {
			log_err("agent pid=%d is ended, as a write to it "
			    "fails: %s", ta->pid, strerror(errno));
			end_agent(ta, 0);
		}
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

/* Sends a signal to the agent and its children. */
static void
signal_agent(struct ta *ta)
{
	int sig = ta->kills++ == 0 ? SIGTERM : SIGKILL;

	if (!ta->reaped && kill(-ta->pid, sig) < 0)
		kill(ta->pid, sig);
	ta->due = now.mono + MERCY;
}

/* An idle agent is in the list of its ring, and in that of the thread that it
 * served last, the newest first. */
static void
idle_add(struct ta *ta)
{
	PREPEND(ta->ring->idle, ta, rnext, rprev);
	PREPEND(ta->thread->idle, ta, tnext, tprev);
	ta->thread->nidle++;
	count_agents(ta->ring, 0, 1, 0);
}

static void
idle_del(struct ta *ta)
{
	REMOVE(ta->ring->idle, ta, rnext, rprev);
	REMOVE(ta->thread->idle, ta, tnext, tprev);
	ta->thread->nidle--;
	count_agents(ta->ring, 0, -1, 0);
}

/* Counts the agent as ending; or, with 0, no longer, as its end takes too
 * long. */
static void
count_ending(struct ta *ta, int ending)
{
	count_agents(ta->ring, 0, 0, ending - ta->ending);
	ta->ending = ending;
}

/* Appends the line, for which there is room: 0, or -1 without memory. */
static int
append_output(struct ta *ta, const char *line)
{
	size_t n = strlen(line);
	char *buf = realloc(ta->outbuf, ta->nout + n);

	if (buf == NULL)
		return -1;
	ta->outbuf = buf;
	memcpy(buf + ta->nout, line, n);
	ta->nout += n;
	return 0;
}

/* Ends the agent: with grace by an empty line, else by a signal. */
static void
end_agent(struct ta *ta, int grace)
{
	if (ta->state == TA_CLOSING)
		return;
	if (ta->state == TA_IDLE)
		idle_del(ta);
	ta->state = TA_CLOSING;
	count_ending(ta, 1);
	th_update(ta->thread);
	ta->due = now.mono + SOON;
	grace = grace && append_output(ta, "\n") == 0;
	flush_output(ta);
	if (!grace)
		signal_agent(ta);
}

/* Appends the line to the output for the agent: 0; or -1 without memory, or
 * without room, as the agent has not read earlier lines. */
static int
send_line(struct ta *ta, const char *line)
{
	size_t n = strlen(line);

	/* end_agent needs one byte more */
	if (ta->nout + n >= OUT_MOST || append_output(ta, line) < 0) {
		log_err("agent pid=%d is ended, as %s", ta->pid,
		    ta->nout + n >= OUT_MOST ? "it does not read its lines" :
		    "there is no memory for a line to it");
		end_agent(ta, 0);
		return -1;
	}
	log_debug("to pid=%d %.*s", ta->pid, (int)n - 1, line);
	return 0;
}

/* ---- feeding --------------------------------------------------------- */

/* Sends the job line of the vertex.  Recipients that the line has no room to
 * name, as there was no memory to split the vertex, will have no report. */
static void
send_job(struct ta *ta, const struct vertex *v)
{
	int portion = v->portion && ta->portions;
	const struct rcpt *r, *end = v->r + (portion ? v->nr : 0);
	char line[JOB_MOST], note[80];
	const char *name = v->msg->name;
	struct text t;
	unsigned n = 0;

	text_init(&t, line, sizeof(line));
	text_add(&t, "%s", name);
	if (portion || ta->ring->conf->bound != CMD_AS_WORD)
		text_add(&t, "\t%s", ta->thread->host);
	for (r = v->r; r < end && n < PORTION_MOST; r++)
		if (r->state == RC_PENDING)
			text_add(&t, "%c%u", n++ == 0 ? '\t' : ',',
			    (unsigned)r->off);
	text_add(&t, "\n");
	if (v->msg->verbose) {
		text_fmt(note, sizeof(note), "scheduler feeds it to agent %d",
		    ta->pid);
		spool_log_verbose(name, note);
	}
	send_line(ta, line);
	ta->fed_at = now.mono;
}

/* Returns 1 if jobs are fed one by one: for a mailbox, as a job may show that
 * the mailbox takes none; with a rate, as a job ahead would not begin at its
 * time. */
static int
is_fed_singly(const struct thread *t)
{
	return th_is_local(t) || t->fb->rate.n > 0;
}

/* Returns the number of jobs that the agent may have at once, at least backlog
 * and at most overfeed + 1.  If the window has room for more agents, the jobs
 * ahead are no more than the agent's share of the READY vertices. */
static unsigned
jobs_allowed(const struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;
	const struct thread *t = ta->thread;
	unsigned low = s->backlog > 0 ? s->backlog : 1, share;
	unsigned high = s->overfeed + 1;
	long room = fb_agents_left(t, t->nta);

	if (is_fed_singly(t))
		return 1;
	if (high < low)
		high = low;
	share = room <= 0 ? high :
	    ta->jobs.n + t->ready.n / (unsigned)(room + 1);
	return share < low ? low : share < high ? share : high;
}

/* Returns 1 if the agent has reached maxage or maxjobs.  A new agent in its
 * place may find another machine of the host, and has leaked no memory yet. */
static int
is_worn_out(const struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;

	return (s->maxjobs > 0 && ta->njobs >= (unsigned long)s->maxjobs) ||
	    (s->maxage > 0 && now.mono - ta->born >= s->maxage);
}

/* Returns 1 if the agent may get more jobs.  After a reload its clause may have
 * another command. */
static int
can_get_jobs(const struct ta *ta)
{
	return !q.no_feeding && !ta->reaped && ta->state == TA_BUSY &&
	    !ring_is_old(ta->ring) && !is_worn_out(ta) &&
	    ta->nout + JOB_MOST < OUT_MOST;
}

/* Returns 1 if the agent may get more jobs of its thread.  The agent leaves
 * after STRETCH jobs when another thread or ring could use it. */
static int
can_stay_on_thread(const struct ta *ta)
{
	struct ring *r = ta->ring;
	unsigned stretch = th_is_local(ta->thread) ? 1 : STRETCH;

	return can_get_jobs(ta) && (ta->stretch < stretch ||
	    ((r->conf->bound || !order_has_work(r)) && !should_yield(r)));
}

/* Returns 1 if the agent has a job of another message with the same number, by
 * which alone reports name a message. */
static int
has_twin_job(const struct ta *ta, const struct vertex *v)
{
	const struct vertex *j = v->msg->has_twin ? ta->jobs.head : NULL;

	while (j != NULL && (j->msg == v->msg ||
	    j->msg->link.hash != v->msg->link.hash))
		j = j->next;
	return j != NULL;
}

/* Gives the agent further jobs of its thread, as jobs ahead. */
static void
feed_ahead(struct ta *ta)
{
	const struct setting *s = &ta->ring->conf->v;
	struct vertex *v;
	unsigned n;

	if (ta->jobs.n > (unsigned)s->overfeed / 2 &&
	    ta->jobs.n >= (unsigned)s->backlog)
		return;
	/* order_next_vertex chooses each job, except for jobs ahead */
	if (s->order == ORDER_PREEMPT && ta->jobs.n == 0)
		return;
	n = jobs_allowed(ta);
	while (ta->jobs.n < n && can_stay_on_thread(ta) &&
	    (v = th_next_job(ta)) != NULL && !has_twin_job(ta, v)) {
		th_feed(ta, v);
		send_job(ta, v);
	}
	flush_output(ta);
}

static void
set_busy(struct ta *ta)
{
	ta->state = TA_BUSY;
	ta->heard = now.mono;
	ta->due = now.mono + ta->ring->conf->v.timeout;
}

/* Gives the vertex to a busy agent of its thread. */
static void
feed_busy(struct ta *ta, struct vertex *v)
{
	th_feed(ta, v);
	send_job(ta, v);
	flush_output(ta);
}

/* Gives the vertex to an idle agent. */
static void
feed_idle(struct ta *ta, struct vertex *v)
{
	idle_del(ta);
	set_busy(ta);
	feed_busy(ta, v);
	feed_ahead(ta);
}

/* Feeds the agent.  Without a job it becomes idle, or ends, by maxage or
 * maxjobs or for another ring.  While its own ring has mail it is not ended for
 * another ring in its first STRETCH jobs and SLOT_LEAST seconds, or each job
 * would cost a start. */
static void
feed_or_release(struct ta *ta)
{
	int stays;

	feed_ahead(ta);
	if (ta->state != TA_BUSY || ta->jobs.n > 0)
		return;
	th_detach_agent(ta);
	stays = (ta->njobs < STRETCH && now.mono - ta->born < SLOT_LEAST &&
	    order_has_work(ta->ring)) || !should_yield(ta->ring);
	if (!can_get_jobs(ta) || !stays) {
		end_agent(ta, 1);
		return;
	}
	ta->state = TA_IDLE;
	ta->idle_sent = 0;
	idle_add(ta);
	th_update(ta->thread);
}

/* ---- lines of an agent ----------------------------------------------- */

/* Counts a line outside the protocol.  Returns 1 if the line is to be
 * logged. */
static int
count_noise(struct ta *ta)
{
	if (ta->noise++ == NOISE_MOST)
		log_warn("agent-says pid=%d channel=%s too much; no more of "
		    "it is logged", ta->pid, ta->ring->chan->name);
	return ta->noise <= NOISE_MOST;
}

/* Keeps and logs a line outside the protocol.  The first of several is kept as
 * the reason, as the others mostly explain it. */
static void
note_noise(struct ta *ta, const char *what, const char *line)
{
	line += strspn(line, " ");
	if (ta->complaint[0] == '\0')
		text_fmt(ta->complaint, sizeof(ta->complaint), "%s", line);
	/* before #hungry such lines mostly explain why the agent ends, and the
	 * log has the first one in that reason */
	if (ta->started && count_noise(ta))
		log_info("agent-says pid=%d channel=%s %s%s", ta->pid,
		    ta->ring->chan->name, what, line);
}

/* Clears the complaint and the number of steps, as the agent has gone on with
 * its work. */
static void
clear_complaint(struct ta *ta)
{
	ta->steps = 0;
	ta->complaint[0] = '\0';
}

/* Sends a new agent its first job line, unless an operator has held or ended
 * the job by now. */
static void
send_first(struct ta *ta)
{
	const struct vertex *v = ta->jobs.head;

	set_busy(ta);
	if (v->cancel != CANCEL_NONE || v->msg->end >= END_DROP ||
	    v->msg->held || v->thread->held != NULL)
		q_end_job(ta, NULL);
	else
		send_job(ta, v);
}

/* Acts on "#hungry" and the words behind it: ends the oldest job, or sends the
 * first one. */
static void
handle_hungry(struct ta *ta, const char *words)
{
	if (ta->state == TA_STARTING) {
		ta->portions = ta->ring->portions =
		    strcmp(words, " offsets") == 0;
		th_agent_started(ta);
	}
	ta->step[0] = '\0';
	clear_complaint(ta);
	if (ta->state == TA_STARTING) {
		send_first(ta);
	} else if (ta->unanswered > 0) {
		ta->unanswered--;
		return;
	} else if (ta->jobs.n == 0 || ta->fed_at < 0) {
		/* a closing agent may not have read the empty line yet */
		if (ta->state != TA_CLOSING)
			note_noise(ta, "hungry, but it has no job", "");
		return;
	} else {
		ta->heard = now.mono;
		ta->ring->failures = 0;
		q_end_job(ta, "transport agent did not report on it");
	}
	feed_or_release(ta);
}

/* Acts on a report: INUM/OFFSET \t NOTARY \t STATUS [TEXT]. */
static void
handle_report(struct ta *ta, char *line)
{
	unsigned long num, off;
	const char *s, *notary, *why;
	char *status, *text;

	num = num_of(line, &s);
	if (s == line || *s != '/' ||
	    num_upto(s + 1, CONTROL_MAX, &off, &notary) < 0 ||
	    *notary++ != '\t' || (status = ctl_notary_end(notary)) == NULL) {
		note_noise(ta, "garbled: ", line);
		return;
	}
	*status++ = '\0';
	text = status + strcspn(status, " \t");
	if (*text != '\0')
		*text++ = '\0';
	if (ta->jobs.n > 0)
		ta->unanswered = 0;	/* an answer to #idle would have come
					 * before this report: none will come */
	why = ta->fed_at < 0 ? "before it got a job" :
	    q_apply_report(ta, num, off, notary, status,
	    text + strspn(text, " "));
	if (why == NULL && ta->repeated) {
		ta->steps++;	/* too many are no sign of life */
	} else if (why == NULL) {
		ta->heard = now.mono;
		clear_complaint(ta);
	} else if (count_noise(ta))
		log_warn("report agent=%d num=%lu rcpt=%lu status=%s %s",
		    ta->pid, num, off, status, why);
}

static void
handle_line(struct ta *ta, char *line)
{
	log_debug("from pid=%d %s", ta->pid, line);
	if (strncmp(line, "#hungry", 7) == 0)
		handle_hungry(ta, line + 7);
	else if (strncmp(line, "#resync", 7) == 0)
		note_noise(ta, "found nothing to do in: ", line + 7);
	else if (strncmp(line, "#step ", 6) == 0) {
		ta->steps++;
		text_fmt(ta->step, sizeof(ta->step), "%s", line + 6 +
		    strspn(line + 6, " "));
	} else if (*line == '#')
		note_noise(ta, "", line + 1);
	else if (*line != '\0')
		handle_report(ta, line);
}

/* Acts on the lines that are whole after n new bytes in inbuf, which stand
 * behind room for the npart bytes that were kept of the same line.  Keeps the
 * beginning of the next line; drops a line that is too long. */
static void
handle_lines(struct ta *ta, size_t n)
{
	char *s = inbuf, *end_of_line;

	if (ta->npart > 0)
		memcpy(inbuf, ta->part, ta->npart);
	for (n += ta->npart; (end_of_line = memchr(s, '\n', n)) != NULL;
	    s = end_of_line + 1) {
		*end_of_line = '\0';
		if (!ta->overlong)
			handle_line(ta, s);
		ta->overlong = 0;
		n -= end_of_line + 1 - s;
	}
	free(ta->part);
	ta->part = NULL;
	ta->npart = 0;
	if (n == 0 || ta->overlong)
		return;
	ta->part = n > LINE_MOST ? NULL : mem_get(n + 1);
	if (ta->part != NULL) {
		memcpy(ta->part, s, n);
		ta->npart = n;
	} else {
		note_noise(ta, "garbled: ", "a line that is too long");
		ta->overlong = 1;
	}
}

static void
close_agent(struct ta *ta)
{
	cmd_close(ta->in, ta->out);
	ta->in = ta->out = -1;
}

/* Reads lines of the agent, at most so many buffers full. */
static void
read_lines(struct ta *ta, int reads)
{
	long n = READ_MOST;

	while (ta->in >= 0 && reads-- > 0 && n == READ_MOST) {
		n = read(ta->in, inbuf + ta->npart, READ_MOST);
		if (n < 0 && is_later(errno))
			return;
		if (n <= 0) {
			close_agent(ta);
			if (!ta->reaped)
				end_agent(ta, 1);
			return;
		}
		/* too much noise and too many steps are no sign of life */
		if (ta->noise < NOISE_MOST && ta->steps < NOISE_MOST)
			ta->heard = now.mono;
		handle_lines(ta, n);
	}
}

/* ---- the end of an agent --------------------------------------------- */

/* Writes in words how the agent ended. */
static void
format_end(const struct ta *ta, int status, char *s, size_t size)
{
	struct text t;

	text_init(&t, s, size);
	if (ta->timed_out)
		text_add(&t, "was silent too long and had to be ended");
	else if (ta->kills > 0)
		text_add(&t, "%shad to be ended", ta->started &&
		    ta->jobs.n == 0 ? "did not leave and " : "");
	else if (WIFSIGNALED(status))
		text_add(&t, "died of signal %d", WTERMSIG(status));
	else
		text_add(&t, "died with exit code %d", WEXITSTATUS(status));
	if (ta->complaint[0] != '\0')
		text_add(&t, ": %s", ta->complaint);
	else if (ta->step[0] != '\0')
		text_add(&t, " while at this: %s", ta->step);
}

/* Returns 1 if the agent has begun its oldest job: it has reported or set a
 * tag.  The agent dsn sets no tags, and counts as if it had begun. */
static int
has_begun(const struct ta *ta)
{
	const struct vertex *v = ta->jobs.head;
	int tag;

	if (v->host_bits != 0 || th_is_dsn(v->thread))
		return 1;
	tag = ctl_read_tag(v->msg->name, v->r[0].off, NULL);
	return tag == '~' || tag == '+' || tag == '-';
}

/* Frees the jobs and the slot of a dead agent whose output was read. */
static void
release_jobs(struct ta *ta, int status)
{
	struct ring *r = ta->ring;
	unsigned jobs = ta->fed_at < 0 ? 0 : ta->jobs.n;	/* jobs sent */
	int begun = ta->kills > 0 || (jobs > 0 && has_begun(ta));
	int finished_some = ta->njobs > ta->jobs.n;
	int in_use = !q.no_feeding && !ring_is_old(r);
	int stopped = r->start_at > now.mono;
	char how[300], reason[340];

	format_end(ta, status, how, sizeof(how));
	text_fmt(reason, sizeof(reason), "transport agent %s", how);
	if (!ta->started && in_use) {
		stop_after_failure(r, ta->thread, r->conf->v.interval, how);
	} else if (jobs > 0 && !finished_some && !begun && in_use) {
		stop_after_failure(r, ta->thread,
		    least(FAILED_MOST, 1L << r->failures), how);
		if (r->failures < 16 && !stopped)
			r->failures++;
	} else if (jobs > 0 || ta->kills > 0 || status != 0) {
		log_warn("agent-lost pid=%d channel=%s host=%s jobs=%u it %s",
		    ta->pid, r->chan->name, ta->thread->host, jobs, how);
	} else {
		log_info("agent-end pid=%d channel=%s agents=%u", ta->pid,
		    r->chan->name, q.nagents - 1);
	}
	/* An agent that sets no tags may have begun, too.  If it has finished
	 * jobs, it was at work if the job was the oldest one when an earlier
	 * agent ended; else if more than FAILURES agents in a row have begun
	 * no job. */
	if (jobs > 0 && (begun || (finished_some ? ta->jobs.head->returned :
	    r->failures > FAILURES)))
		q_end_job(ta, reason);
	else if (jobs > 0)
		ta->jobs.head->returned = 1;
	while (ta->jobs.n > 0)
		q_end_job(ta, NULL);
	th_detach_agent(ta);
	if (ta->state == TA_IDLE)
		idle_del(ta);
	ta->thread->nref--;
	th_update(ta->thread);
	count_agents(r, -1, 0, -ta->ending);
	q.nagents--;
}

int
ta_reap(long pid, int status)
{
	struct ta *ta = q.agents;

	while (ta != NULL && ta->pid != (int)pid)
		ta = ta->next;
	if (ta == NULL)
		return -1;
	ta->reaped = 1;
	/* a child of the agent may keep its end open: only bytes that have come
	 * by now are read */
	read_lines(ta, 64);
	if (ta->npart > 0)
		note_noise(ta, "garbled: ", ta->part);
	close_agent(ta);
	release_jobs(ta, status);
	REMOVE(q.agents, ta, next, prev);
	free(ta->part);
	free(ta->outbuf);
	free(ta);
	return 0;
}

/* Acts on the timer of the agent: ends it if it was idle or silent for too
 * long.  An agent that does not end in time is first no longer counted as
 * ending, and then gets signals. */
static void
run_timer(struct ta *ta)
{
	double silent_end = ta->heard + ta->ring->conf->v.timeout;

	if (ta->state == TA_BUSY && silent_end > now.mono) {
		ta->due = silent_end;
	} else if (ta->state != TA_CLOSING) {
		ta->timed_out = ta->state != TA_IDLE;
		end_agent(ta, ta->state == TA_IDLE);
	} else {
		if (ta->ending && ta->kills == 0)
			ta->due = now.mono + GRACE;
		else
			signal_agent(ta);
		count_ending(ta, 0);
	}
}

/* ---- one vertex ------------------------------------------------------ */

/* Gives the vertex to the busy agent of its host that has the fewest jobs, the
 * newest of several.  Only an agent counts that has fewer jobs than this number
 * and that can_get_jobs allows.  Returns 0, or -1 if there is none. */
static int
feed_least_busy(struct vertex *v, long jobs)
{
	struct ta *ta, *best = NULL;

	if (jobs == 0 || is_fed_singly(v->thread))
		return -1;
	for (ta = v->thread->busy; ta != NULL; ta = ta->tnext)
		if ((long)ta->jobs.n < jobs && can_get_jobs(ta) &&
		    !has_twin_job(ta, v)) {
			best = ta;
			jobs = ta->jobs.n;
		}
	if (best == NULL)
		return -1;
	feed_busy(best, v);
	return 0;
}

/* Gives the next vertex of the ring to an agent, or blocks it if its message is
 * at its share: 0, or -1 if there is no vertex or no agent.  When agents are
 * free, a blocked vertex may be the next. */
static int
feed_next(struct ring *r)
{
	const struct setting *s = &r->conf->v;
	struct vertex *v;
	struct ta *idle;

	r->stopped_by = NO_LIMIT;
	while ((v = order_next_vertex(r)) == NULL) {
		v = order_unblock_claim(r, count_free_agents(r));
		if (v == NULL)
			return -1;
		th_update(v->thread);
	}
	if (feed_least_busy(v, s->backlog) == 0)
		return 0;
	if (!r->conf->dsn &&
	    !order_is_below_share(v->msg, count_free_agents(r)) &&
	    (feed_least_busy(v, s->overfeed + 1) == 0 ||
	    order_block_vertex(v) == 0)) {
		th_update(v->thread);
		return 0;
	}
	idle = v->thread->idle;
	if (idle == NULL && !r->conf->bound)
		idle = r->idle == NULL ? NULL : r->idle->rprev;
	if (idle != NULL) {
		feed_idle(idle, v);
		return 0;
	}
	r->stopped_by = start_limit(r, v->thread);
	if (r->stopped_by != NO_LIMIT)
		return feed_least_busy(v, s->overfeed + 1);
	start_agent(v);
	return 0;
}

/* Gives READY vertices to idle agents that are bound to their thread. */
static void
feed_bound(struct ring *r)
{
	struct ta *ta, *next;

	for (ta = r->idle; ta != NULL; ta = next) {
		next = ta->rnext;
		if (ta->thread->turn.pos == 0)
			continue;
		order_sort_thread(ta->thread);
		feed_idle(ta, ta->thread->ready.head);
	}
}

/* Sends "#idle" to agents that stay idle; idlemax or maxage ends them. */
static void
send_idle(struct ring *r)
{
	const struct setting *s = &r->conf->v;
	struct ta *ta, *next;

	for (ta = r->idle; ta != NULL && !ta->idle_sent; ta = next) {
		next = ta->rnext;
		if (send_line(ta, "#idle\n") < 0)
			continue;
		ta->idle_sent = 1;
		ta->unanswered++;
		flush_output(ta);
		ta->due = now.mono + s->idlemax;
		if (s->maxage > 0 && ta->born + s->maxage < ta->due)
			ta->due = ta->born + s->maxage;
	}
}

/* ---- room ------------------------------------------------------------ */

/* Ends the agent that has been idle longest, of those whose slot another ring
 * waits for. */
static void
end_longest_idle(void)
{
	struct ta *last, *victim = NULL;
	struct ring *r;

	for (r = q.rings; r != NULL; r = r->next) {
		last = r->idle == NULL ? NULL : r->idle->rprev;
		if (last != NULL &&
		    (victim == NULL || last->heard < victim->heard) &&
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
next_ring(void)
{
	struct ring *r, *best = NULL;

	for (r = q.rings; r != NULL; r = r->next)
		if (!r->pass_done &&
		    (best == NULL || r->started < best->started))
			best = r;
	return best;
}

void
ta_feed_rings(void)
{
	struct ring *r;

	if (q.no_feeding || opt.freeze)
		return;
	for (r = q.rings; r != NULL; r = r->next) {
		r->pass_done = ring_is_old(r);
		if (r->pass_done)
			r->stopped_by = NO_LIMIT;
		else if (r->conf->bound)
			feed_bound(r);
		while (r->pass_done && r->idle != NULL)
			end_agent(r->idle, 1);
	}
	while ((r = next_ring()) != NULL)
		r->pass_done = feed_next(r) < 0;
	for (r = q.rings; r != NULL; r = r->next)
		send_idle(r);
	end_longest_idle();
}

double
ta_prep(fd_set *in, fd_set *out, int *max)
{
	double wait = NEVER, again;
	struct ring *r;
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next) {
		if (ta->due < now.mono + wait)
			wait = ta->due - now.mono;
		fd_watch(ta->in, in, max);
		if (ta->nout > 0)
			fd_watch(ta->out, out, max);
	}
	for (r = q.rings; r != NULL && !q.no_feeding; r = r->next) {
		if (r->stopped_by == NO_LIMIT || !order_has_work(r))
			continue;
		again = r->start_at > now.mono ? r->start_at - now.mono :
		    r->stopped_by == FORKRATE ? FORKRATE_AGAIN : wait;
		if (again < wait)
			wait = again;
	}
	return wait;
}

void
ta_do(fd_set *in, fd_set *out)
{
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next) {
		if (ta->out >= 0 && FD_ISSET(ta->out, out))
			flush_output(ta);
		if (ta->in >= 0 && FD_ISSET(ta->in, in))
			read_lines(ta, READS);
		if (ta->due <= now.mono)
			run_timer(ta);
	}
}

void
ta_end_all(int kill)
{
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next)
		if (kill)
			signal_agent(ta);
		else if (ta->state == TA_IDLE || ta->state == TA_STARTING)
			end_agent(ta, 1);
}
