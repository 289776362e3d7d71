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
 * kept here too: without mail it is no less down.  Only what is known of a
 * mailbox of this machine goes with its thread.
 *
 * What is known, what comes of it, and how long it is kept is feedback.c's.
 * All costs O(1), but for a look at all of the list once a second.
 */
#include "scheduler.h"

#define UNUSED_MOST	1000	/* a small machine has other uses for memory */

/* Destinations without a thread, unused for longest first. */
static struct {
	struct dest *first, *last;
	unsigned n;
	unsigned most;		/* more at a start, until mail has come in */
} unused;

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

static struct dest *
make(struct chan *chan, const char *host, const struct setting *s,
    const struct feedback *f)
{
	struct dest *d = mem_get(sizeof(*d) + strlen(host));

	if (d == NULL)
		return NULL;
	strcpy(d->host, host);
	d->chan = chan;
	d->keep = fb_keep(f, (double)s->forget);
	fb_init(d, f, now.mono);
	return d;
}

static void
enter(struct dest *d)
{
	hash_add(&q.dests, &d->link, dest_hash(d->chan, d->host));
}

static void
drop(struct dest *d)
{
	free(d->reason);
	free(d);
}

int
dest_take(struct thread *t)
{
	struct ring *r = t->ring;
	int local = t->fb != &r->conf->v.fb;
	struct dest *d = local ? NULL : dest_find(r->chan, t->host);

	if (d != NULL)
		no_longer_unused(d);
	else if ((d = make(r->chan, t->host, &r->conf->v, t->fb)) == NULL)
		return -1;
	else if (!local)
		enter(d);
	d->local = (unsigned char)local;
	d->thread = t;
	t->dest = d;
	fb_wake(d, t->fb, 0, now.mono);
	if (d->window == 0)
		t->sleep = d->until;
	return 0;
}

void
dest_leave(struct thread *t)
{
	struct dest *d = t->dest;

	if (d->local) {
		drop(d);
		return;
	}
	d->thread = NULL;
	d->used = now.mono;
	d->keep = fb_keep(t->fb, (double)t->ring->conf->v.forget);
	now_unused(d);
}

struct dest *
dest_add(struct chan *chan, const char *host, const struct setting *s)
{
	struct dest *d = make(chan, host, s, &s->fb);

	if (d == NULL)
		return NULL;
	enter(d);
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

static void
forget(struct dest *d)
{
	no_longer_unused(d);
	hash_del(&q.dests, &d->link);
	drop(d);
}

/* Once a second all are looked at: one that is kept for long, or is dead, has
 * others behind it that are not. */
void
dest_forget(void)
{
	static double looked = NEVER;	/* mono */
	struct dest *d, *next;

	if (unused.most > unused.n)
		unused.most = unused.n;
	if (unused.most < UNUSED_MOST)
		unused.most = UNUSED_MOST;
	while (unused.n > unused.most)
		forget(unused.first);
	if (now.mono - looked < 1)
		return;
	looked = now.mono;
	for (d = unused.first; d != NULL; d = next) {
		next = d->next;
		if (fb_forget(d, now.mono))
			forget(d);
	}
}
