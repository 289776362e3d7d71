/*
 * core.c - what is in memory, and what has to go.
 *
 *	PARAMactive 2		1000-1 waits until 70, 1001-1 until 9000
 *	1002-1 comes in		1001-1 is evicted: its stub is due at 9000
 *
 * A small machine must not fall over a large queue.  There are two bounds,
 * both of the configuration: PARAMactive messages in core, and PARAMrecipients
 * recipients of theirs.  This module says who may come in and who has to go;
 * intake.c does the reading, and later.c keeps what is known of the others.
 *
 * Recipients.  One pool is shared by all.  A channel has work when some of its
 * recipients are in core, or some of a message are to be read on; its share is
 * an equal part of the pool.  It may have more while that is free in the pool
 * and not what others with less than their shares are to read on; and up to its
 * share in any case.  Where the pool has no room for that, channels with more
 * than their shares give way: of their large messages, those recipients leave
 * core that wait for an agent.  So a channel that hangs with the whole pool
 * comes down to its share as soon as another one has work.
 *
 * A new message gets what is free in the pool, but at least the minimum; what
 * does not fit stays unread, as a part for each channel.  A part has its own
 * place in the file, so no channel of a message waits for another.  It is read
 * on when PARAMrefill recipients fit, or after PARAMrefilldelay, so
 * that no file is read line by line: the channel's oldest part takes what the
 * channel may have, one that has preempted others half of that, and any
 * message takes up to its minimum again when it has used half of it.  One that
 * has preempted others may have half of what is left of an extra share on top
 * of its minimum.  So there are never more in core than
 *
 *	recipients + active * minimum + extra
 *
 * but for one corner: what an agent has in hand stays, and so does what is kept
 * for one that is starting.  When channels have more than their shares with
 * agents alone, others still get their shares beside that.
 *
 * What waits must not keep the rest of its message out.  Of a part, jobs that
 * wait for their next try leave core, with memos, when there is no room for
 * more.  When all of the part was read and the first of them is due, the file
 * is gone through for them once more, a lap.  It takes those that are due; the
 * others keep their times, places and reasons.
 *
 * Messages.  When the core is full and mail waits on disk, of ten messages that
 * can go the one that is farthest from its next try is evicted: its stub has
 * the time of that.
 * Nothing goes that an agent has or could have now, or that is held by its
 * name, or due soon, or of which there is something to tell.
 *
 * What is over, but may not be told of yet, waits for that like any other: its
 * vertex on the channel dsn is due when the pause of its sender ends.  Else the
 * failures of one sender under PARAMbouncelimit would fill core.
 *
 * What an operator asks for by its name comes in, if need be as one more.
 *
 * What is blocked waits for no time but for a T line, a clause with a command
 * or the end of a hold on its address.  It is evicted for an hour at a time,
 * and called when that comes.  Else a channel on hold would fill core, and keep
 * all other mail out.
 *
 * Costs.  To evict a message is O(1), and O(vertices) of those that are looked
 * at.  A file is read once for each channel with a part of it in a
 * lap; to find what to read next is O(channels) for each that has some unread.
 * To give way is O(messages) at worst, and when it is in vain not done again
 * for a second.
 */
#include "scheduler.h"

#define READ_MOST	5000	/* recipients read at once, after the first */
#define FEW		100	/* vertices of a message that may be gone
				 * through at any time */
#define NEAR		30	/* seconds; what is due so soon stays */
#define BLOCKED		3600	/* seconds until what is blocked is looked at
				 * again */
#define TRIES		100	/* parts looked at to find one to read */
#define CHOICE		10	/* messages that could go, of which one does */
#define LOOKS		1000	/* ... looked at to find them, in */
#define BUCKETS		10000	/* so many buckets of the hash table */

/* ---- recipients ------------------------------------------------------ */

/* Nothing of it may be read now. */
static int
rests(const struct part *p)
{
	return (p->msg->held && p->msg->doom == DOOM_NONE) ||
	    (double)p->later > now.mono;
}

/* The share of a channel. */
static unsigned
share(void)
{
	unsigned all = (unsigned)q.config->recipients, n = 0;
	const struct chan *c;

	for (c = q.chans; c != NULL; c = c->next)
		n += c->rcpts > 0 || c->partial != NULL;
	return all == 0 ? UINT_MAX : n == 0 ? all : all / n;
}

/* What is free in the pool, without what other channels lack of their shares
 * and are to read on. */
static unsigned
pool_room(const struct chan *c)
{
	unsigned room = (unsigned)q.config->recipients, its = share(), lack;
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
	unsigned n = (unsigned)q.config->refill, its = share();
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
	unsigned pool = pool_room(p->chan), room = share();

	room = room > p->chan->rcpts ? room - p->chan->rcpts : 0;
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

/* ---- vertices that leave core ---------------------------------------- */

/* Until when the vertex is not wanted in core, mono; 0: it is.  It comes in to
 * expire, too. */
static double
leaves_until(const struct vertex *v, enum why *why)
{
	const struct setting *s = &v->thread->ring->conf->v;
	double at, end = (double)(v->msg->born + s->expiry);

	*why = th_why(v, &at);
	if (v->ta != NULL || v->doom != DOOM_NONE ||
	    (v->state != V_WAIT && v->state != V_READY))
		return 0;
	if (WHY_BLOCKED(*why))
		at = now.mono + BLOCKED;
	if (at <= now.mono)
		return 0;
	if (*why == WHY_HELD || s->expiry == 0)
		return at;
	if (end <= now.mono)
		end += (double)s->expiry2;
	return end > now.mono && end < at ? end : at;
}

void
core_leave(struct part *p, unsigned n, long until)
{
	if (p->evicted == 0 || until < p->again)
		p->again = until;
	p->evicted += n;
}

static void
leave(struct part *p, struct vertex *v, enum why why, double until)
{
	memo_keep(v, why, (long)until);
	core_leave(p, v->left, (long)until);
	q_done(v);
}

/* ---- messages that are partly in core -------------------------------- */

/* Jobs of the part that wait for their next try leave core.  They come in when
 * their delay is to be reported. */
static void
evict_some(struct part *p)
{
	double until, report = (double)notice_delay(p->msg);
	struct vertex *v;
	enum why why;

	if (report != 0 && report <= now.mono)
		return;
	for (v = msg_first(p->msg); v != NULL; v = msg_next(v))
		if (v->state != V_DONE && v->thread->ring->chan == p->chan &&
		    (until = leaves_until(v, &why)) != 0)
			leave(p, v, why, report != 0 && report < until ?
			    report : until);
}

/* All was read once, some of it was evicted: a lap begins when that is due. */
static void
next_lap(struct part *p)
{
	unsigned n = p->evicted;

	if ((double)p->again > now.mono) {
		heap_set(&q.look, &p->look, (double)p->again);
		return;
	}
	p->next = 0;
	p->evicted = 0;
	q_unread(p, n);
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
		evict_some(p);
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

/* ---- channels that give way ------------------------------------------ */

/* May the vertex leave core for another channel's sake? */
static int
may_give(const struct vertex *v, unsigned its)
{
	return v->state == V_READY && v->ta == NULL && v->doom == DOOM_NONE &&
	    !th_is_dsn(v->thread) && v->thread->ring->chan->rcpts > its;
}

/* The part of the channel, made when there is none; NULL without memory. */
static struct part *
part_for(struct message *m, struct chan *c)
{
	struct part *p = msg_part_for(m, c);

	if (heap_room(&q.look, q.look.n + 1) < 0)
		return NULL;
	return p != NULL ? p : msg_make_part(m, c);
}

/* So many of the message's recipients leave core, the last ones, as far as
 * their channels have more than that each: how many it were. */
static unsigned
give(struct message *m, unsigned n, unsigned its)
{
	unsigned keep = 0, was = m->rcpts;
	struct vertex *v;
	struct part *p;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (may_give(v, its))
			keep += v->left;
	keep = keep > n ? keep - n : 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (m->rcpts <= (unsigned)q.config->rcptminimum)
			break;
		if (!may_give(v, its))
			continue;
		if (keep >= v->left)
			keep -= v->left;
		else if ((p = part_for(m, v->thread->ring->chan)) != NULL)
			leave(p, v, WHY_NOT, now.mono);
	}
	return was - m->rcpts;
}

/* So many recipients leave core, as many as there are to be had. */
static void
take_from_others(unsigned n)
{
	static double failed = NEVER;	/* mono */
	unsigned i, given, its = share();
	struct message *m;
	struct hlink *l;

	if (now.mono < failed + 1)
		return;
	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			if (m->rcpts <= (unsigned)q.config->rcptminimum ||
			    m->swept)
				continue;
			given = give(m, n, its);
			if (given >= n)
				return;
			n -= given;
		}
	failed = now.mono;
}

void
core_give_way(const struct part *p, unsigned n)
{
	unsigned most = (unsigned)q.config->recipients;

	n = n < p->unread ? n : p->unread;
	if (most > 0 && q.rcpts + n > most && p->chan->rcpts + n <= share())
		take_from_others(q.rcpts + n - most);
}

/* ---- messages that come and go --------------------------------------- */

int
core_full(void)
{
	return q.config->active > 0 &&
	    q.nmessages - q.nkept >= (unsigned)q.config->active;
}

/* Is this far enough off for the vertex to leave core? */
static int
is_far(const struct vertex *v, double at)
{
	long near = v->thread->ring->conf->v.interval / 2;

	return at > now.mono + (double)(near < NEAR ? near : NEAR);
}

/* When the message is wanted in core again, mono; 0: it cannot go. */
static double
next_look(const struct message *m)
{
	const struct vertex *v;
	const struct part *p;
	double at, first = 0;
	enum why why;

	if (msg_unread(m) > 0 || m->held || m->doom != DOOM_NONE || m->swept ||
	    notice_pending(m))
		return 0;
	for (p = msg_part(m); p != NULL; p = p->other) {
		if (p->evicted == 0)
			continue;
		if ((double)p->again < now.mono + NEAR)
			return 0;
		if (first == 0 || (double)p->again < first)
			first = (double)p->again;
	}
	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (v->state == V_DONE)
			continue;
		at = leaves_until(v, &why);
		if (at == 0 || !is_far(v, at))
			return 0;
		if (first == 0 || at < first)
			first = at;
	}
	/* it comes in when its sender is to be told */
	at = notice_next(m);
	if (at > 0 && at < first)
		first = at < now.mono + NEAR ? 0 : at;
	return first;
}

/* It leaves core until then. */
static void
evict(struct message *m, double due)
{
	struct vertex *v;
	struct stub *s;
	enum why why;
	double until;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE) {
			until = leaves_until(v, &why);
			memo_keep(v, why, (long)until);
		}
	s = later_put(m->name, due);
	if (s != NULL) {
		s->why = NULL;
		s->loaded = m->loaded;
		s->born = m->born;
		s->aged = m->aged;
		s->queued = m->queued;
	}
	log_info("evict msg=%s for=%ld rcpts=%u msgs=%u%s", m->name,
	    (long)(due - now.mono), m->rcpts + msg_evicted(m), q.nmessages,
	    s == NULL ? " beyond PARAMevicted" : "");
	q_forget(m);
	q.evicted++;
}

/*
 * Evicts one: a walk goes on over all messages, and of the next that can go
 * takes the one that is farthest from its next try.  So what is due soon stays,
 * mostly, and nothing has to be kept in the order of it.
 */
int
core_make_room(void)
{
	static unsigned bucket;
	struct message *m, *best = NULL;
	double at, due = 0;
	unsigned i, looked = 0, n = 0;
	struct hlink *l;

	for (i = 0; i < BUCKETS && looked < LOOKS && n < CHOICE; i++) {
		bucket = (bucket + 1) % q.messages.size;
		for (l = q.messages.v[bucket]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			at = next_look(m);
			looked++;
			n += at != 0;
			if (at > due) {
				due = at;
				best = m;
			}
		}
	}
	if (best != NULL)
		evict(best, due);
	return best != NULL;
}
