/*
 * pool.c - who gets an agent.
 *
 * order.c and thread.c say which vertex of a ring is next.  For that one the
 * best agent is looked for (seed: Finch), in this order:
 *
 *	one that works for its host and has fewer jobs than the clause's
 *	backlog, the newest first;
 *	the idle one that last worked for the host, the newest first;
 *	the idle one of the ring that has rested longest;
 *	a new one, if every limit allows;
 *	one that works for its host, as one more job ahead (overfeed), the
 *	one with the fewest first.
 *
 * All but the first and the last bring one more agent to the message, and
 * that needs that the message may have it (order_allowed); if not, it is set
 * aside.  So what has more than its share still gets a free ride.
 *
 * Limits on agents are
 *
 *	maxta		all agents; at most what descriptors allow
 *	maxchannel	those of the channel
 *	maxring		those of the ring
 *	-R		starts in a second
 *
 * Limits count every agent that is not yet gone, idle and ending ones too; but
 * the one of the channel dsn, which tells senders, has a slot of its own.  That
 * is one for all rings of the channel, as if it had maxchannel=1: an agent
 * knows of no pause that another keeps.
 * Rings that wait for a slot get new agents in turns.  So that they get any,
 * the agent that has been idle longest elsewhere is ended, and agents of a
 * ring with more than its share end when they leave a thread (ta.c).
 *
 * What a ring waits for is noted in it (pending).  Each pass of the loop
 * comes here, and an agent that goes makes a pass; only for the starts in a
 * second the clock is waited for.
 *
 * Costs: O(rings) for each agent that gets to work, O(agents of the host) to
 * find the one with the fewest jobs, and O(agents) when some ring waits while
 * agents are idle.
 */
#include "scheduler.h"

static unsigned most;		/* agents that descriptors allow */

void
pool_init(void)
{
	most = ta_most();
}

/* ---- limits ---------------------------------------------------------- */

/* All agents that there may be by this clause. */
static unsigned
most_by(const struct setting *s)
{
	return s->maxta > 0 && s->maxta < (long)most ? (unsigned)s->maxta :
	    most;
}

/* Agents that maxta and -R count: all but that of the channel dsn. */
static unsigned
counted(void)
{
	return q.nagents - q.nspare;
}

/* The limit that keeps a thread from a new agent, or NULL. */
static const char *
limit(const struct ring *r, const struct thread *t)
{
	const struct setting *s = &r->conf->v;
	unsigned here = r->conf->bound ? t->nref : r->nta;

	if (s->maxring > 0 && here >= (unsigned)s->maxring)
		return "maxring";
	if (r->conf->dsn)
		return r->chan->nta > 0 ? "maxchannel" : NULL;
	if (s->maxchannel > 0 && r->chan->nta >= (unsigned)s->maxchannel)
		return "maxchannel";
	if (counted() >= most_by(s))
		return "maxta";
	return NULL;
}

static long
least(long a, long b)
{
	return a < b ? a : b;
}

/* Agents that the ring could have at work beside those that are. */
static long
nfree(const struct ring *r)
{
	const struct setting *s = &r->conf->v;
	long n = (long)most_by(s) - (long)(counted() - q.nidle);

	if (s->maxchannel > 0)
		n = least(n, s->maxchannel -
		    (long)(r->chan->nta - r->chan->nidle));
	if (s->maxring > 0 && !r->conf->bound)
		n = least(n, s->maxring - (long)(r->nta - r->nidle));
	return n;
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

/* What keeps a new agent from the thread, or NULL. */
static const char *
obstacle(const struct ring *r, const struct thread *t)
{
	const char *why;

	if (r->dead > now.mono)
		return "an agent that can be started";
	why = limit(r, t);
	return why == NULL && !r->conf->dsn && !may_fork(0) ? "forkrate" : why;
}

/* ---- one vertex ------------------------------------------------------ */

/* The vertex that is next, among those blocked too when agents are free. */
static struct vertex *
next_vertex(struct ring *r)
{
	struct vertex *v;

	while ((v = th_next(r)) == NULL)
		if (!th_unblock(r, nfree(r)))
			return NULL;
	return v;
}

/* A busy agent of the host gets it as one more job: 1 or 0. */
static int
load_on(struct ta *ta, struct vertex *v)
{
	if (ta == NULL)
		return 0;
	ta_feed(ta, v);
	return 1;
}

/* An agent that has nothing to do gets it, or a new one: 1 or 0. */
static int
bring(struct ring *r, struct vertex *v)
{
	struct thread *t = v->thread;

	struct ta *idle = t->idle != NULL || r->conf->bound ? t->idle :
	    r->rested;

	if (idle != NULL) {
		ta_wake(idle, v);
		return 1;
	}
	r->pending = obstacle(r, t);
	if (r->pending != NULL)
		return 0;
	if (ta_start(v) == 0 && !r->conf->dsn)
		may_fork(1);
	return 1;	/* if it could not, the ring or thread stops */
}

/* One vertex of the ring goes to an agent, or is blocked: 1; 0 when there
 * is none, or no agent. */
static int
serve(struct ring *r)
{
	const struct setting *s = &r->conf->v;
	struct vertex *v = next_vertex(r);

	r->pending = NULL;
	if (v == NULL)
		return 0;
	if (load_on(ta_newest(v, (unsigned)s->backlog), v))
		return 1;
	if (!r->conf->dsn && !order_allowed(v->msg, nfree(r))) {
		if (load_on(ta_lightest(v,
		    (unsigned)s->overfeed + 1), v) || th_block(v) == 0)
			return 1;
	}
	return bring(r, v) || load_on(ta_lightest(v,
	    (unsigned)s->overfeed + 1), v);
}

/* Where agents are bound to their threads, those that are idle take what has
 * come for them. */
static void
use_own(struct ring *r)
{
	struct ta *ta, *next;

	for (ta = r->idle; ta != NULL; ta = next) {
		next = ta->rnext;
		if (ta->thread->turn.pos == 0)
			continue;
		order_run(ta->thread);
		ta_wake(ta, ta->thread->ready.head);
	}
}

/* ---- room ------------------------------------------------------------ */

/* Would one agent less let the ring have one? */
static enum ring_waits
waits_for(const struct ring *r)
{
	const struct setting *s = &r->conf->v;

	if (r->pending == NULL)
		return WAITS_NOT;
	if (strcmp(r->pending, "maxta") == 0 && counted() - 1 < most_by(s))
		return WAITS_ANY;
	if (strcmp(r->pending, "maxchannel") == 0 && r->chan->nta - 1 <
	    (r->conf->dsn ? 1U : (unsigned)s->maxchannel))
		return WAITS_CHAN;
	return WAITS_NOT;
}

/* Counts the rings that wait for a slot, and ends the agent that has been
 * idle longest where that gives one. */
static void
make_room(void)
{
	struct ta *ta, *victim = NULL;
	struct ring *r;
	int dsn = 0;

	q.nwait = 0;
	for (r = q.rings; r != NULL; r = r->next)
		r->chan->nwait = 0;
	for (r = q.rings; r != NULL; r = r->next) {
		r->waits = waits_for(r);
		q.nwait += r->waits == WAITS_ANY;
		r->chan->nwait += r->waits == WAITS_CHAN;
		dsn |= r->conf->dsn && r->waits == WAITS_CHAN;
	}
	ta = q.nidle > 0 || dsn ? q.agents : NULL;
	for (; ta != NULL; ta = ta->next) {
		struct chan *c = ta->ring->chan;

		if (ta->state == TA_IDLE && ((q.nwait > 0 &&
		    q.ncoming == 0 && !ta->ring->conf->dsn) ||
		    (c->nwait > 0 && c->ncoming == 0)) &&
		    (victim == NULL || ta->heard < victim->heard))
			victim = ta;
	}
	if (victim != NULL)
		ta_end(victim);
}

/* ---- the step -------------------------------------------------------- */

/* The ring that is not yet done with in this pass and got its last new agent
 * longest ago. */
static struct ring *
next_ring(void)
{
	struct ring *r, *best = NULL;

	for (r = q.rings; r != NULL; r = r->next)
		if (!r->done && (best == NULL || r->served < best->served))
			best = r;
	return best;
}

void
pool_run(void)
{
	struct ring *r;

	if (q.hold || opt.freeze)
		return;
	for (r = q.rings; r != NULL; r = r->next) {
		while (r->old && r->idle != NULL)
			ta_end(r->idle);
		r->done = r->old;
		if (r->old)
			r->pending = NULL;
		else if (r->conf->bound)
			use_own(r);
	}
	while ((r = next_ring()) != NULL)
		r->done = (unsigned char)!serve(r);
	for (r = q.rings; r != NULL; r = r->next)
		ta_rest(r);
	make_room();
}

double
pool_wait(void)
{
	double when = now.mono + 3600;
	struct ring *r;

	for (r = q.rings; r != NULL && !q.hold; r = r->next) {
		if (r->pending == NULL || !th_waits(r))
			continue;
		if (r->dead > now.mono && r->dead < when)
			when = r->dead;
		else if (strcmp(r->pending, "forkrate") == 0 &&
		    now.mono + 0.25 < when)
			when = now.mono + 0.25;
	}
	return when > now.mono ? when - now.mono : 0;
}
