/*
 * pool.c - who gets an agent.
 *
 * A thread whose turn it is takes the idle agent that served it last, else
 * any idle one of its ring, else a new one is started, if every limit allows:
 *
 *	maxta		all agents; at most what descriptors allow
 *	maxchannel	those of the channel
 *	maxring		those of the ring
 *	-R		starts in a second
 *
 * Limits count every agent that is not yet gone, idle and ending ones too.
 * Rings that wait for a slot get new agents in turns.  So that they get any,
 * the agent that has been idle longest elsewhere is ended, and agents of a
 * ring with more than its share end when they leave a thread (ta.c).
 *
 * What a ring waits for is noted in it (pending).  Each pass of the loop
 * comes here, and an agent that goes makes a pass; only for the starts in a
 * second the clock is waited for.
 *
 * Costs: one pass O(rings), and O(agents) when some ring waits while agents
 * are idle.
 */
#include "scheduler.h"

static unsigned most;		/* agents that descriptors allow */

void
pool_init(void)
{
	most = child_most();
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
	if (q.nagents >= most ||
	    (s->maxta > 0 && q.nagents >= (unsigned)s->maxta))
		return "maxta";
	return NULL;
}

/* ---- idle ones ------------------------------------------------------- */

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
				ta_wake(ta, ta->thread);
		}
		return;
	}
	while (r->idle != NULL && (t = th_turn(r)) != NULL)
		ta_wake(t->idle != NULL ? t->idle : r->idle, t);
}

/* ---- new ones -------------------------------------------------------- */

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
	if (t == NULL || r->old)
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

/* ---- room ------------------------------------------------------------ */

/* Would one agent less let the ring have one?  1: any agent, 2: one of its
 * channel, 0: it takes more than one, or something else. */
static int
waits_for(const struct ring *r)
{
	const struct setting *s = &r->conf->v;
	unsigned n = most;

	if (r->pending == NULL)
		return 0;
	if (s->maxta > 0 && s->maxta < (long)n)
		n = (unsigned)s->maxta;
	if (strcmp(r->pending, "maxta") == 0)
		return q.nagents - 1 < n;
	if (strcmp(r->pending, "maxchannel") == 0)
		return r->chan->nta - 1 < (unsigned)s->maxchannel ? 2 : 0;
	return 0;
}

/* Counts the rings that wait for a slot, and ends the agent that has been
 * idle longest where that gives one. */
static void
make_room(void)
{
	struct ta *ta, *victim = NULL;
	struct ring *r;

	q.nwait = 0;
	for (r = q.rings; r != NULL; r = r->next)
		r->chan->nwait = 0;
	for (r = q.rings; r != NULL; r = r->next) {
		r->waits = (unsigned char)waits_for(r);
		q.nwait += r->waits == 1;
		r->chan->nwait += r->waits == 2;
	}
	for (ta = q.nidle > 0 ? q.agents : NULL; ta != NULL; ta = ta->next) {
		struct chan *c = ta->ring->chan;

		if (ta->state == TA_IDLE &&
		    ((q.nwait > 0 && q.ncoming == 0) ||
		    (c->nwait > 0 && c->ncoming == 0)) &&
		    (victim == NULL || ta->heard < victim->heard))
			victim = ta;
	}
	if (victim != NULL)
		ta_end(victim);
}

/* ---- the step -------------------------------------------------------- */

void
pool_run(void)
{
	struct ring *r;

	if (q.hold || opt.freeze)
		return;
	for (r = q.rings; r != NULL; r = r->next) {
		while (r->old && r->idle != NULL)
			ta_end(r->idle);
		use_idle(r);
	}
	while ((r = next_ring()) != NULL)
		if (ta_start(r, th_turn(r)) == 0)
			may_fork(1);
	make_room();
}

double
pool_wait(void)
{
	double when = now.mono + 3600;
	struct ring *r;

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
