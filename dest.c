/*
 * dest.c - where destinations are kept.
 *
 * What is known of a channel and host outlives the thread that is its queue,
 * so that a window that was learned, a death, or the next slot of a rate is
 * not lost when the last message goes.  Destinations without a thread stand in
 * a list, those unused for longest first.  They are forgotten after a silence,
 * which is a setting of the clause, and when they are too many: a host that
 * has sent to every machine of the world once need not remember them all.
 * The last words of a host that is down, and its place in the retry list, are
 * kept here too: without mail it is no less down.
 *
 * What is known, and what comes of it, is feedback.c's.  All costs O(1).
 */
#include "scheduler.h"

#define UNUSED_MOST	1000	/* a small machine has other uses for memory */

/* Destinations without a thread, unused for longest first. */
static struct {
	struct dest *first, *last;
	unsigned n;
	unsigned most;		/* more at a start, until mail has come in */
} unused;

/* ---- words ------------------------------------------------------------ */

void
reason_free(struct reason *r)
{
	if (r != NULL && --r->refs == 0)
		free(r);
}

/* Points *slot to the text.  A second slot that says the same is shared, so
 * ten thousand vertices of a dead host hold its words once. */
void
reason_set(struct reason **slot, const char *s, struct reason **shared)
{
	struct reason *r;
	size_t n = strlen(s);

	if (*slot != NULL && strcmp((*slot)->s, s) == 0)
		return;
	if (*shared != NULL && strcmp((*shared)->s, s) == 0) {
		r = *shared;
	} else {
		r = mem_get(sizeof(*r) + n);
		if (r == NULL)
			return;		/* the old words must do */
		memcpy(r->s, s, n + 1);
		if (shared != slot) {
			reason_free(*shared);
			*shared = r;
			r->refs++;
		}
	}
	r->refs++;
	reason_free(*slot);
	*slot = r;
}

/* ---- the table -------------------------------------------------------- */

static unsigned
dest_hash(const struct chan *chan, const char *host)
{
	return hash_text(host, hash_text(chan->name, 0));
}

struct dest *
dest_find(const struct chan *chan, const char *host)
{
	struct hlink *l;
	struct dest *d;

	for (l = hash_first(&q.dests, dest_hash(chan, host)); l != NULL;
	    l = hash_next(l)) {
		d = OWNER(struct dest, link, l);
		if (d->chan == chan && strcmp(d->host, host) == 0)
			return d;
	}
	return NULL;
}

static void
no_longer_unused(struct dest *d)
{
	if (d->next != NULL)
		d->next->prev = d->prev;
	else
		unused.last = d->prev;
	if (d->prev != NULL)
		d->prev->next = d->next;
	else
		unused.first = d->next;
	d->next = d->prev = NULL;
	unused.n--;
}

static void
now_unused(struct dest *d)
{
	d->prev = unused.last;
	if (unused.last != NULL)
		unused.last->next = d;
	else
		unused.first = d;
	unused.last = d;
	unused.n++;
}

static double
keep_for(const struct setting *s)
{
	double keep = (double)s->forget;

	if (s->fb.rate.n > 0 && keep < (double)s->fb.rate.per)
		keep = (double)s->fb.rate.per;
	return keep;
}

static struct dest *
make(struct chan *chan, const char *host, const struct setting *s)
{
	struct dest *d = mem_get(sizeof(*d) + strlen(host));

	if (d == NULL)
		return NULL;
	strcpy(d->host, host);
	d->chan = chan;
	d->keep = keep_for(s);
	fb_init(d, &s->fb, now.mono);
	hash_add(&q.dests, &d->link, dest_hash(chan, host));
	return d;
}

int
dest_take(struct thread *t)
{
	struct dest *d = dest_find(t->ring->chan, t->host);

	if (d != NULL)
		no_longer_unused(d);
	else
		d = make(t->ring->chan, t->host, &t->ring->conf->v);
	if (d == NULL)
		return -1;
	d->thread = t;
	t->dest = d;
	fb_wake(d, &t->ring->conf->v.fb, 0, now.mono);
	if (d->window == 0)
		t->sleep = d->until;
	return 0;
}

void
dest_leave(struct thread *t)
{
	struct dest *d = t->dest;

	d->thread = NULL;
	d->used = now.mono;
	d->keep = keep_for(&t->ring->conf->v);
	now_unused(d);
}

struct dest *
dest_add(struct chan *chan, const char *host, const struct setting *s)
{
	struct dest *d = make(chan, host, s);

	if (d == NULL)
		return NULL;
	now_unused(d);
	if (unused.most < unused.n)
		unused.most = unused.n;
	return d;
}

int
dest_room(void)
{
	return unused.n < UNUSED_MOST;
}

struct dest *
dest_unused(void)
{
	return unused.first;
}

void
dest_lift(void)
{
	struct dest *d;

	for (d = unused.first; d != NULL; d = d->next)
		if (d->until > now.mono)
			d->until = now.mono;	/* fb_wake will see */
}

void
dest_forget(void)
{
	struct dest *d;

	if (unused.most > unused.n)
		unused.most = unused.n;
	if (unused.most < UNUSED_MOST)
		unused.most = UNUSED_MOST;
	while ((d = unused.first) != NULL && (unused.n > unused.most ||
	    ((d->window > 0 || d->until <= now.mono) &&
	    now.mono - d->used >= d->keep))) {
		no_longer_unused(d);
		hash_del(&q.dests, &d->link);
		reason_free(d->reason);
		free(d);
	}
}
