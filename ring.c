/*
 * ring.c - which threads share their agents.
 *
 * A ring is the threads that one agent can be switched between: those with
 * the same conf and channel.  Rings belong to one reading of the configuration
 * and keep that alive.  After another one they are old: their threads move to
 * new rings, their agents end when they have done what they were given, and
 * they go when they have neither.
 *
 * Agents of a ring that have nothing to do rest with it, and with the thread
 * that they served last, the newest first.
 *
 * Finding a ring is O(rings), of which there are about as many as clauses.
 */
#include "scheduler.h"

struct queue q;

static int any_old;		/* ring_sweep has something to look for */

static struct ring *
ring_get(struct conf *conf, struct chan *chan)
{
	struct ring *r;

	for (r = q.rings; r != NULL; r = r->next)
		if (r->conf == conf && r->chan == chan)
			return r;
	r = mem_get(sizeof(*r));
	if (r == NULL)
		return NULL;
	r->conf = conf;
	r->chan = chan;
	conf->config->refs++;
	r->next = q.rings;
	q.rings = r;
	if (conf->v.command == NULL)
		log_warn("no-command channel=%s no clause with a command "
		    "matches; this mail waits", chan->name);
	return r;
}

struct ring *
ring_for(const char *channel, const char *host)
{
	struct conf *conf = cf_match(q.config, channel, host);
	struct chan *chan = dest_chan(channel);
	struct ring *r;

	if (conf == NULL || chan == NULL)
		return NULL;
	r = ring_get(conf, chan);
	if (r == NULL || heap_room(&r->ready, r->nthreads + 1) < 0)
		return NULL;
	return r;
}

void
ring_config(struct config *config)
{
	struct config *was = q.config;
	struct ring *r;

	config->refs++;
	q.config = config;
	if (was != NULL && --was->refs == 0)
		cf_free(was);
	for (r = q.rings; r != NULL; r = r->next)
		r->old = 1;
	any_old = 1;
}

void
ring_sweep(void)
{
	struct ring **p, *r;
	struct config *c;

	if (!any_old)
		return;
	any_old = 0;
	for (p = &q.rings; (r = *p) != NULL; ) {
		if (!r->old || r->nthreads > 0 || r->nta > 0) {
			any_old |= r->old;
			p = &r->next;
			continue;
		}
		*p = r->next;
		c = r->conf->config;
		if (--c->refs == 0)
			cf_free(c);
		free(r->trouble);
		free(r->ready.v);
		free(r->jobs.v);
		free(r->shares.v);
		free(r);
	}
}

void
ring_rest(struct ta *ta)
{
	struct ring *r = ta->ring;
	struct thread *t = ta->thread;

	ta->rprev = ta->tprev = NULL;
	ta->rnext = r->idle;
	if (r->idle != NULL)
		r->idle->rprev = ta;
	else
		r->rested = ta;
	r->idle = ta;
	ta->tnext = t->idle;
	if (t->idle != NULL)
		t->idle->tprev = ta;
	t->idle = ta;
	t->nidle++;
	r->nidle++;
	r->chan->nidle++;
	q.nidle++;
}

void
ring_unrest(struct ta *ta)
{
	struct ring *r = ta->ring;

	if (ta->rnext != NULL)
		ta->rnext->rprev = ta->rprev;
	else
		r->rested = ta->rprev;
	if (ta->rprev != NULL)
		ta->rprev->rnext = ta->rnext;
	else
		r->idle = ta->rnext;
	if (ta->tnext != NULL)
		ta->tnext->tprev = ta->tprev;
	if (ta->tprev != NULL)
		ta->tprev->tnext = ta->tnext;
	else
		ta->thread->idle = ta->tnext;
	ta->thread->nidle--;
	r->nidle--;
	r->chan->nidle--;
	q.nidle--;
}
