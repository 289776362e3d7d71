/*
 * core.c - what is in memory, and what stays on disk.
 *
 * A small machine must not fall over a large queue.  There are two bounds,
 * both of the configuration: PARAMactive messages in core, and PARAMrecipients
 * recipients of theirs.  This module says who may come in and who has to go;
 * intake.c does the reading.
 *
 * Recipients.  One pool is shared by all.  A new message gets what is free in
 * it, but at least the minimum; what does not fit stays unread.  The rest is
 * read when a good part of it fits, so that no file is read line by line:
 * the oldest message that is not read whole takes from the pool, and any of
 * them takes up to its minimum again when it has used half of that.  One that
 * has preempted others may have half of what is left of an extra share on top
 * of its minimum.  So there are never more in core than
 *
 *	recipients + active * minimum + extra
 *
 * since whoever has more than the minimum got it while the pool held it.
 *
 * What waits must not keep the rest of its message out.  Of one that is not
 * read whole, jobs that wait for their next try are passed: they leave core,
 * and when all the rest is over the file is gone through once more, a
 * lap, not before the first of them is due.
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
 * What is over, but has a report that may not be sent yet, goes first.  Its
 * tags are on disk; the next scan finds that nothing is left to deliver, and
 * it is kept by its name alone.  Else the failures of one sender under
 * PARAMbouncelimit would fill core.
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
 * are looked at.
 */
#include "scheduler.h"

#define READ_MOST	5000	/* recipients read at once, after the first */
#define PART		100	/* recipients that are worth reading */
#define NEAR		30	/* seconds; what is due so soon stays */
#define BLOCKED		3600	/* seconds until what waits for no time is
				 * looked at again */
#define LOOK_AGAIN	5	/* seconds until one partly read is seen to */
#define DISK_AGAIN	60	/* ... a disk that refused is tried again */
#define TRIES		100	/* messages looked at to find one to go */
#define LOOKS		10	/* ... of those that nothing is known of, in */
#define BUCKETS		1000	/* so many buckets of the hash table */

/* ---- recipients ------------------------------------------------------ */

static unsigned
pool_room(void)
{
	unsigned most = (unsigned)q.config->recipients;

	if (most == 0)
		return UINT_MAX;
	return most > q.rcpts ? most - q.rcpts : 0;
}

/* What the message may have beside the pool. */
static unsigned
own_share(const struct message *m)
{
	return (unsigned)q.config->rcptminimum +
	    (m == NULL ? 0 : m->more->part->extra);
}

unsigned
core_room(const struct message *m)
{
	unsigned pool = pool_room(), own = own_share(m);
	unsigned has = m == NULL ? 0 : m->rcpts;

	own = own > has ? own - has : 0;
	return own > pool ? own : pool;
}

/* One that has preempted another gets its share of the extra ones. */
static void
take_extra(struct part *p)
{
	unsigned all = (unsigned)q.config->rcptextra;

	if (!p->msg->preempts || p->extra > 0 || q.extra >= all)
		return;
	p->extra = (all - q.extra + 1) / 2;
	q.extra += p->extra;
}

/* How many recipients of the message are to be read now; first: it is the
 * oldest of those with some unread. */
static unsigned
wanted(struct part *p, int first)
{
	const struct message *m = p->msg;
	unsigned pool = pool_room(), own, part = PART, n;
	unsigned half = ((unsigned)q.config->recipients + 1) / 2;

	take_extra(p);
	own = own_share(m);
	if (part > half && half > 0)
		part = half;
	if (part < m->rcpts / 4)
		part = m->rcpts / 4;	/* core is gone through for it, too */
	n = own > m->rcpts && m->rcpts <= own / 2 ? own - m->rcpts : 0;
	if (first && (pool >= part || pool >= p->unread) && pool > n)
		n = pool;
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

/* Jobs that wait for their next try leave core. */
static void
pass(struct part *p)
{
	struct vertex *v;
	int blocked = 0;
	double at;

	for (v = msg_first(p->msg); v != NULL; v = msg_next(v)) {
		at = v->state == V_DONE ? 0 : try_at(v, &blocked);
		if (at == 0)
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
	struct message *m = p->msg;

	if (m->left > 0 && (double)p->again <= now.mono)
		pass(p);
	if (m->left > 0)
		return;
	if ((double)p->again > now.mono) {
		heap_set(&q.look, &p->look, (double)p->again);
		heap_set(&q.far, &m->more->far, -(double)p->again);
		return;
	}
	p->next = 0;
	q_unread(p, p->passed);
	p->passed = 0;
	p->blocked = 0;
}

/* Nothing of it may be read now. */
static int
rests(const struct part *p)
{
	return (p->msg->held && p->msg->doom == DOOM_NONE) ||
	    (double)p->later > now.mono;
}

/* The message is seen to: how many of its recipients are to be read. */
static unsigned
see_to(struct part *p)
{
	unsigned n;

	heap_set(&q.look, &p->look, now.mono + LOOK_AGAIN);
	if (rests(p))
		return 0;
	if (p->unread == 0)
		next_lap(p);
	if (p->unread == 0)
		return 0;
	n = wanted(p, p == q.partial);
	if (n == 0 && (p->msg->left < PART || p->walked != (long)now.mono)) {
		p->walked = (long)now.mono;
		pass(p);
		n = wanted(p, p == q.partial);
	}
	return n;
}

struct message *
core_next(unsigned *most)
{
	struct part *p;
	struct timer *t;
	int i;

	for (i = 0; i < TRIES && q.partial != NULL && rests(q.partial); i++)
		q_rotate();
	p = q.partial;
	if (p != NULL && !rests(p) && (*most = wanted(p, 1)) > 0)
		return p->msg;
	for (i = 0; i < TRIES; i++) {
		t = heap_first(&q.look);
		if (t == NULL || heap_when(&q.look, t) > now.mono)
			return NULL;
		p = OWNER(struct part, look, t);
		*most = see_to(p);
		if (*most > 0)
			return p->msg;
	}
	return NULL;
}

void
core_later(struct message *m, int seconds)
{
	struct part *p = m->more->part;

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
	const struct part *p = msg_part(m);
	unsigned passed = msg_passed(m);
	double at, first = 0;
	const struct vertex *v;

	if (msg_unread(m) > 0 || m->held || m->doom != DOOM_NONE || m->swept ||
	    notice_pending(m))
		return 0;
	*blocked = p != NULL && p->blocked;
	if (passed > 0)
		first = (double)p->again;
	if (passed > 0 && first < now.mono + NEAR)
		return 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (v->state == V_DONE)
			continue;
		at = try_at(v, blocked);
		if (at == 0 || !is_far(v, at))
			return 0;
		if (first == 0 || at < first)
			first = at;
	}
	/* it comes in for its report */
	at = notice_next(m);
	if (at > 0 && at < first)
		first = at < now.mono + NEAR ? 0 : at;
	return first;
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

	if (m->waits && !m->swept && !m->held) {
		log_info("put-off msg=%s until it may be told", m->name);
		q_forget(m);
		return 1;
	}
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
			if (p == NULL || p->passed == 0 ||
			    !(all || p->blocked))
				continue;
			p->again = (long)now.mono;
			heap_set(&q.look, &p->look, 0);
		}
}
