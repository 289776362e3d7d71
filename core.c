/*
 * core.c - what is in memory, and what stays on disk.
 *
 * A small machine must not fall over a large queue.  There are two bounds,
 * both of the configuration: PARAMactive messages in core, and PARAMrecipients
 * recipients of theirs.  This module says who may come in and who has to go;
 * intake.c does the reading.
 *
 * Recipients.  One pool is shared by all.  A channel has work when some of its
 * recipients are in core, or some of a message are to be read on; its share is
 * an equal part of the pool.  It may have more while that is free in the pool
 * and not what others with less than their shares are to read on; and up to its
 * share in any case.  So a channel that hangs with the whole pool stays at what
 * it has, the next one gets its share beside that, and as recipients finish
 * both come down to their shares.
 *
 * A new message gets of each channel what that may have, but at least the
 * minimum; what does not fit stays unread, as a part for each channel.  A part
 * has its own place in the file, so no channel of a message waits for another.
 * It is read on when PARAMrefill recipients fit, or after PARAMrefilldelay, so
 * that no file is read line by line: the channel's oldest part takes what the
 * channel may have, one that has preempted others half of that, and any
 * message takes up to its minimum again when it has used half of it.  One that
 * has preempted others may have half of what is left of an extra share on top
 * of its minimum.  With n channels that have work there are never more in core
 * than
 *
 *	recipients * (1 + 1/2 + ... + 1/n) + active * minimum + extra
 *
 * since whoever has more than the minimum got it while the pool held it, or up
 * to its share.  Of any k channels one got its last up to a k-th of the pool,
 * so the one with the k-th most has no more than that.  The sum is 1 for one
 * channel, 1.5 for two and 2.3 for five; to reach it each has to hang with all
 * that it has while the next one comes to have work.
 *
 * What waits must not keep the rest of its message out.  Of a part, jobs that
 * wait for their next try are passed: they leave core, and when all the rest
 * of the part is over the file is gone through for it once more, a lap, not
 * before the first of them is due or the configuration is another.
 *
 * Messages.  When the core is full and mail waits on disk, the message that is
 * farthest from its next try is put off: it leaves core, and its control file
 * gets the time of that try as its time of modification.  spool.c does not
 * offer it before then.  Nothing goes that an agent has or could have now, or
 * that is held by its name, or due soon, or of which there is something to
 * tell.  A machine whose clock is not to be believed puts nothing off, as it
 * could not tell when.  Retry positions are not kept; they are found again
 * from the message's age.
 *
 * What is over, but may not be told of yet, waits for that like any other: its
 * vertex on the channel dsn is due when the pause of its sender ends.  Else the
 * failures of one sender under PARAMbouncelimit would fill core.
 *
 * What an operator asks for by its name comes in, if need be as one more.
 *
 * What waits for no time but for a T line, a clause with a command or the end
 * of a hold on its address is put off for an hour at a time, with a mark, and
 * is called back when that comes.  Else a channel on hold would fill core, and
 * keep all other mail out.
 *
 * Costs.  The heap of who could go holds those that were put off once, with
 * estimates, each at least as far as the truth; the first of them is looked
 * at, and goes, finds its right place, or leaves the heap when it cannot go.
 * The others, and what has left the heap, are looked at in turn by a walk over
 * all messages, a few at a time.  So O(log n), and O(vertices) of those that
 * are looked at.  A file is read once for each channel with a part of it in a
 * lap; to find what to read next is O(channels) for each that has some unread.
 */
#include "scheduler.h"

#define READ_MOST	5000	/* recipients read at once, after the first */
#define FEW		100	/* vertices of a message that may be gone
				 * through at any time */
#define NEAR		30	/* seconds; what is due so soon stays */
#define BLOCKED		3600	/* seconds until what waits for no time is
				 * looked at again */
#define DISK_AGAIN	60	/* ... a disk that refused is tried again */
#define TRIES		100	/* messages looked at to find one to go */
#define LOOKS		10	/* ... of those that nothing is known of, in */
#define BUCKETS		1000	/* so many buckets of the hash table */

/* ---- recipients ------------------------------------------------------ */

/* Nothing of it may be read now. */
static int
rests(const struct part *p)
{
	return (p->msg->held && p->msg->doom == DOOM_NONE) ||
	    (double)p->later > now.mono;
}

/* The share of a channel, when so many more come to have work. */
static unsigned
share(unsigned more)
{
	unsigned all = (unsigned)q.config->recipients, n = more;
	const struct chan *c;

	for (c = q.chans; c != NULL; c = c->next)
		n += c->rcpts > 0 || c->partial != NULL;
	return all == 0 ? UINT_MAX : n == 0 ? all : all / n;
}

unsigned
core_least(const struct chan *c, unsigned more)
{
	unsigned its = share(more);

	return its > c->rcpts ? its - c->rcpts : 0;
}

/* What is free in the pool, without what other channels lack of their shares
 * and are to read on. */
static unsigned
pool_room(const struct chan *c)
{
	unsigned room = (unsigned)q.config->recipients, its = share(0), lack;
	const struct chan *o;

	if (room == 0)
		return UINT_MAX;
	room = room > q.rcpts ? room - q.rcpts : 0;
	for (o = q.chans; o != NULL; o = o->next) {
		if (o == c || o->partial == NULL || rests(o->partial) ||
		    o->rcpts >= its)
			continue;
		lack = its - o->rcpts;
		room = room > lack ? room - lack : 0;
	}
	return room;
}

unsigned
core_room(void)
{
	unsigned pool = pool_room(NULL), own = (unsigned)q.config->rcptminimum;

	return own > pool ? own : pool;
}

/* One that has preempted another gets its share of the extra ones. */
static void
take_extra(struct message *m)
{
	unsigned all = (unsigned)q.config->rcptextra;

	if (!m->preempts || m->more->extra > 0 || q.extra >= all)
		return;
	m->more->extra = (all - q.extra + 1) / 2;
	q.extra += m->more->extra;
}

/* From how many recipients on the part is read: PARAMrefill, or more when more
 * of core has to be gone through for it; but a channel is not to be out of
 * work before. */
static unsigned
worth(const struct part *p)
{
	unsigned n = (unsigned)q.config->refill, its = share(0);
	unsigned half = its - its / 2;

	if (n < p->msg->left / 4)
		n = p->msg->left / 4;
	if (n > half)
		n = half;
	if (n > p->unread)
		n = p->unread;
	return p->read + q.config->refilldelay <= (long)now.mono ? 0 : n;
}

/* How many recipients of the part are to be read now; first: it is the oldest
 * of its channel with some unread. */
static unsigned
wanted(struct part *p, int first)
{
	struct message *m = p->msg;
	unsigned own, n = 0;
	unsigned room = core_least(p->chan, 0), pool = pool_room(p->chan);

	take_extra(m);
	own = (unsigned)q.config->rcptminimum + m->more->extra;
	if (m->rcpts <= own / 2)
		n = own - m->rcpts;
	if (room < pool)
		room = pool;
	if (!first)
		room = m->preempts ? room / 2 : 0;
	if (room > n && room >= worth(p))
		n = room;
	return n < READ_MOST ? n : READ_MOST;
}

/* ---- how far a vertex is from its next try --------------------------- */

/* Its next try, mono; 0: an agent has it or may have it now, or it is held by
 * its name.
 * *blocked is set when it waits for no time. */
static double
try_at(const struct vertex *v, int *blocked)
{
	const struct thread *t = v->thread;
	const struct ring *r = t->ring;
	const struct setting *s = &r->conf->v;
	double at = v->state == V_WAIT ? (double)v->wakeup : 0;

	if ((v->state != V_WAIT && v->state != V_READY) || v->ta != NULL ||
	    v->doom != DOOM_NONE)
		return 0;
	if (s->command == NULL || !t->picked || t->held != NULL ||
	    (s->queueonly && !t->triggered)) {
		*blocked = 1;
		return now.mono + BLOCKED;
	}
	if (t->sleep > at)
		at = t->sleep;
	if (r->dead > at)
		at = r->dead;
	return at > now.mono ? at : 0;
}

/* ---- messages that are partly in core -------------------------------- */

/* Jobs of the part that wait for their next try leave core. */
static void
pass(struct part *p)
{
	struct vertex *v;
	int blocked = 0;
	double at;

	for (v = msg_first(p->msg); v != NULL; v = msg_next(v)) {
		if (v->state == V_DONE || v->thread->ring->chan != p->chan ||
		    (at = try_at(v, &blocked)) == 0)
			continue;
		if (p->passed == 0 || (long)at < p->again)
			p->again = (long)at;
		p->passed += v->left;
		p->blocked |= (unsigned char)blocked;
		q_done(v);
	}
}

/* All was read once, some of it was passed. */
static void
next_lap(struct part *p)
{
	if (p->left > 0 && (double)p->again <= now.mono)
		pass(p);
	if (p->left > 0)
		return;
	if ((double)p->again > now.mono) {
		heap_set(&q.look, &p->look, (double)p->again);
		heap_set(&q.far, &p->msg->more->far, -(double)p->again);
		return;
	}
	p->next = 0;
	p->msg->aged = 1;
	q_unread(p, p->passed);
	p->passed = 0;
	p->blocked = 0;
}

/* The part is seen to: how many of its recipients are to be read. */
static unsigned
see_to(struct part *p)
{
	unsigned n;

	heap_set(&q.look, &p->look, now.mono + (double)q.config->refilldelay);
	if (rests(p))
		return 0;
	if (p->unread == 0)
		next_lap(p);
	if (p->unread == 0)
		return 0;
	n = wanted(p, p == p->chan->partial);
	if (n == 0 && (p->msg->left < FEW || p->walked != (long)now.mono)) {
		p->walked = (long)now.mono;
		pass(p);
		n = wanted(p, p == p->chan->partial);
	}
	return n;
}

/* The channel's oldest part that may be read, and is worth it; or NULL. */
static struct part *
oldest(struct chan *c, unsigned *most)
{
	int i;

	for (i = 0; i < TRIES && c->partial != NULL && rests(c->partial); i++)
		q_rotate(c);
	if (c->partial == NULL || rests(c->partial))
		return NULL;
	*most = wanted(c->partial, 1);
	return *most > 0 ? c->partial : NULL;
}

struct part *
core_next(unsigned *most)
{
	struct part *p;
	struct chan *c;
	struct timer *t;
	int i;

	for (c = q.chans; c != NULL; c = c->next)
		if ((p = oldest(c, most)) != NULL)
			return p;
	for (i = 0; i < TRIES; i++) {
		t = heap_first(&q.look);
		if (t == NULL || heap_when(&q.look, t) > now.mono)
			return NULL;
		p = OWNER(struct part, look, t);
		*most = see_to(p);
		if (*most > 0)
			return p;
	}
	return NULL;
}

void
core_later(struct part *p, int seconds)
{
	p->later = (long)now.mono + seconds;
	heap_set(&q.look, &p->look, (double)p->later);
}

double
core_wait(void)
{
	struct timer *t = heap_first(&q.look);
	double when = t == NULL ? now.mono + 3600 : heap_when(&q.look, t);

	return when > now.mono ? when - now.mono : 0;
}

/* ---- messages that come and go --------------------------------------- */

int
core_full(void)
{
	return q.config->active > 0 && q.nmessages >= (unsigned)q.config->active;
}

/* Is this far enough off for the vertex to leave core? */
static int
is_far(const struct vertex *v, double at)
{
	long near = v->thread->ring->conf->v.interval / 2;

	return at > now.mono + (double)(near < NEAR ? near : NEAR);
}

/* When the message is next to be tried, mono; 0: it cannot go. */
static double
next_try(const struct message *m, int *blocked)
{
	const struct part *p;
	double at, first = 0, last = 0;
	const struct vertex *v;

	if (msg_unread(m) > 0 || m->held || m->doom != DOOM_NONE || m->swept ||
	    notice_pending(m))
		return 0;
	for (p = msg_part(m); p != NULL; p = p->other) {
		if (p->passed == 0)
			continue;
		if ((double)p->again < now.mono + NEAR)
			return 0;
		*blocked |= p->blocked;
		if (first == 0 || (double)p->again < first)
			first = (double)p->again;
	}
	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (v->state == V_DONE)
			continue;
		at = try_at(v, blocked);
		if (at == 0 || !is_far(v, at))
			return 0;
		if (first == 0 || at < first)
			first = at;
		if (v->dated && at > last)
			last = at;
	}
	/* it comes in when its sender is to be told */
	at = notice_next(m);
	if (at > 0 && at < first)
		first = at < now.mono + NEAR ? 0 : at;
	/* when it comes back all of it is tried: not before a retryat */
	return last > first ? 0 : first;
}

/* It leaves core until then: 0 or -1. */
static int
put_off(struct message *m, double at, int blocked)
{
	long wait = (long)(at - now.mono) + 1;

	if (wait > q.config->longest ||
	    spool_put_off(m->name, wait, blocked) < 0)
		return -1;
	log_info("put-off msg=%s for=%ld rcpts=%u msgs=%u", m->name, wait,
	    m->rcpts + msg_passed(m), q.nmessages);
	q_forget(m);
	q.put_off++;
	return 0;
}

/* Looks at one that might go: 1 it went, 0 it did not, -1 the disk would not
 * have it.  In the heap it finds its right place, or leaves that. */
static int
try_one(struct message *m)
{
	struct timer *t = m->more == NULL ? NULL : &m->more->far;
	int blocked = 0;
	double at = next_try(m, &blocked);

	if (at != 0 && t != NULL && t->pos != 0 &&
	    -heap_when(&q.far, t) > at + 1) {
		heap_set(&q.far, t, -at);
		return 0;
	}
	if (at != 0 && put_off(m, at, blocked) == 0)
		return 1;
	if (t != NULL)
		heap_del(&q.far, t);
	return at != 0 ? -1 : 0;
}

/* Goes on with the walk over all messages, and looks at some that are not in
 * the heap: as try_one. */
static int
try_others(void)
{
	static unsigned bucket;
	int i, looked = 0, came;
	struct message *m;
	struct hlink *l;

	for (i = 0; i < BUCKETS && looked < LOOKS; i++) {
		bucket = (bucket + 1) % q.messages.size;
		for (l = q.messages.v[bucket]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			if (m->more != NULL && m->more->far.pos != 0)
				continue;
			looked++;
			if ((came = try_one(m)) != 0)
				return came;
		}
	}
	return 0;
}

int
core_make_room(void)
{
	static double refused = -DISK_AGAIN;	/* mono */
	int i, came = 0;
	struct timer *t;

	if (now.wall < SANE_WALL || now.mono < refused + DISK_AGAIN)
		return 0;
	for (i = 0; i < TRIES && came == 0; i++) {
		t = heap_first(&q.far);
		if (t == NULL)
			break;
		came = try_one(OWNER(struct more, far, t)->msg);
	}
	if (came == 0)
		came = try_others();
	if (came < 0)
		refused = now.mono;
	return came > 0;
}

void
core_recall(int all)
{
	struct part *p;
	struct hlink *l;
	unsigned i;

	spool_recall(all);
	for (i = 0; q.look.n > 0 && i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next) {
			p = msg_part(OWNER(struct message, link, l));
			for (; p != NULL; p = p->other)
				if (p->passed > 0 && (all || p->blocked)) {
					p->again = (long)now.mono;
					heap_set(&q.look, &p->look, 0);
				}
		}
}
