/*
 * later.c - the table of what is not in core and is wanted there later.
 *
 *	stub 1000-1  due=70  evicted			heap, by due time:
 *	   memo smtp/a.example  until=70  step=2  why=3	   1000-1  70
 *	   memo smtp/b.example  until=900 dated		   1001-1  85
 *	stub 1001-1  due=85  "a recipient is locked by another process"
 *
 * A stub stands for a message whose file was looked at and is not to be looked
 * at before it is due: evicted to make room, or skipped as it could not be
 * used (intake.c).  A message of which some is in core and some was
 * evicted has its stub, too, which is not due then.  A memo has what must not
 * be forgotten of a vertex that left core: its own time, its place in the retry
 * list, its tries and its reason.  Recipients of one vertex with several
 * reasons have a memo each, for the reason alone.
 *
 * A T line, a flush and a release go over all memos; those with their channel
 * and host become due at once.
 *
 * The table is bounded by PARAMevicted, which counts stubs and memos.  Beyond
 * that, and without memory, a file is forgotten: its directory is read again
 * when it is due (spool.c), and then it has the place of its age.
 *
 * Where pointers have eight bytes a stub has 73 bytes and the name, a memo 80
 * and the host.  With its places in the heap and the hash tables an evicted
 * message with one vertex takes 270 (bench/core), so the bound of 100000 is 13
 * megabytes at most.  One in core takes as much, and has part in threads, jobs
 * and lists, which is where the work is.
 *
 * Costs: finding a stub or a memo O(1), the next that is due O(log stubs);
 * a T line or a command O(all).
 */
#include "scheduler.h"

#define HELD	3600		/* seconds until a part that is held is looked
				 * at, unless its release comes before */
#define FIRST	1e15		/* more than any number of an event */

static struct {
	struct hash stubs;	/* by num */
	struct hash memos;	/* by num, channel, host and offset */
	struct heap due;	/* stubs of messages that are not in core */
} table;

int
later_init(void)
{
	return hash_init(&table.stubs, 64) < 0 ||
	    hash_init(&table.memos, 64) < 0 ? -1 : 0;
}

static int
is_full(void)
{
	return q.config->evicted > 0 &&
	    q.nlater >= (unsigned)q.config->evicted;
}

/* ---- stubs ------------------------------------------------------------ */

struct stub *
later_find(const char *name)
{
	struct hlink *l = table.stubs.n == 0 ? NULL :
	    hash_first(&table.stubs, name_num(name));

	while (l != NULL &&
	    strcmp(OWNER(struct stub, link, l)->name, name) != 0)
		l = hash_next(l);
	return l == NULL ? NULL : OWNER(struct stub, link, l);
}

static struct stub *
make(const char *name)
{
	struct stub *s;

	if (is_full() || heap_room(&table.due, table.stubs.n + 1) < 0 ||
	    (s = mem_get(sizeof(*s) + strlen(name))) == NULL)
		return NULL;
	strcpy(s->name, name);
	hash_add(&table.stubs, &s->link, name_num(name));
	q.nlater++;
	return s;
}

struct stub *
later_put(const char *name, double due)
{
	struct stub *s = later_find(name);

	if (s == NULL && (s = make(name)) == NULL) {
		spool_again(name, due);
		return NULL;
	}
	if (s->msg != NULL)
		s->msg->more->stub = NULL;
	s->msg = NULL;
	heap_set(&table.due, &s->due, due);
	return s;
}

int
later_come(struct stub *s, struct message *m)
{
	if (msg_more(m) == NULL)
		return -1;
	heap_del(&table.due, &s->due);
	m->more->stub = s;
	s->msg = m;
	return 0;
}

void
later_end(struct stub *s)
{
	struct memo *m;

	while ((m = s->memos) != NULL) {
		s->memos = m->next;
		reason_drop(m->why);
		hash_del(&table.memos, &m->link);
		q.nlater--;
		free(m);
	}
	if (s->msg != NULL)
		s->msg->more->stub = NULL;
	heap_del(&table.due, &s->due);
	hash_del(&table.stubs, &s->link);
	q.nlater--;
	free(s);
}

struct stub *
later_due(void)
{
	return later_wait() > 0 ? NULL :
	    OWNER(struct stub, due, heap_first(&table.due));
}

double
later_wait(void)
{
	struct timer *t = heap_first(&table.due);
	double when = t == NULL ? now.mono + 3600 : heap_when(&table.due, t);

	return when > now.mono ? when - now.mono : 0;
}

unsigned
later_each(void (*show)(const struct stub *, long next))
{
	const struct stub *s;
	unsigned i, n = 0;

	for (i = 0; i < table.due.n; i++) {
		s = OWNER(struct stub, due, table.due.v[i].timer);
		if (s->why != NULL)
			show(s, (long)(table.due.v[i].when - now.mono));
		else
			n++;
	}
	return n;
}

/* ---- memos ------------------------------------------------------------ */

static struct stub *
stub_of(const struct message *m)
{
	return m->more == NULL ? NULL : m->more->stub;
}

static unsigned
memo_hash(const struct stub *s, const struct chan *chan, const char *host,
    unsigned off)
{
	return hash_text(host, hash_text(chan->name,
	    (unsigned)s->link.hash + off * 2654435761U));
}

static struct memo *
find(const struct stub *s, const struct chan *chan, const char *host,
    unsigned off)
{
	struct memo *m;
	struct hlink *l;

	if (s == NULL || s->memos == NULL)
		return NULL;
	l = hash_first(&table.memos, memo_hash(s, chan, host, off));
	for (; l != NULL; l = hash_next(l)) {
		m = OWNER(struct memo, link, l);
		if (m->stub == s && m->chan == chan && m->off == off &&
		    strcmp(m->host, host) == 0)
			return m;
	}
	return NULL;
}

/* The memo of the vertex, or for one of its recipients, made when there is
 * none; or NULL. */
static struct memo *
get(const struct vertex *v, unsigned off)
{
	struct chan *chan = v->thread->ring->chan;
	const char *host = v->thread->host;
	struct more *more = msg_more(v->msg);
	struct memo *m;

	if (more == NULL)
		return NULL;
	if (more->stub == NULL && (more->stub = make(v->msg->name)) != NULL)
		more->stub->msg = v->msg;
	m = find(more->stub, chan, host, off);
	if (m != NULL || more->stub == NULL || is_full() ||
	    (m = mem_get(sizeof(*m) + strlen(host))) == NULL)
		return m;
	strcpy(m->host, host);
	m->chan = chan;
	m->off = off;
	m->stub = more->stub;
	m->next = m->stub->memos;
	m->stub->memos = m;
	hash_add(&table.memos, &m->link, memo_hash(m->stub, chan, host, off));
	q.nlater++;
	return m;
}

static void
set_why(struct memo *m, const struct rcpt *r)
{
	reason_drop(m->why);
	m->why = reason_keep(r->why);
}

void
memo_keep(const struct vertex *v, double until)
{
	const struct rcpt *r, *end = v->r + v->nr;
	struct memo *m = get(v, 0), *own;
	double at;

	if (m == NULL)
		return;
	m->wakeup = v->state == V_WAIT ? v->wakeup : 0;
	m->until = (int)until;
	m->box = v->thread->box;
	m->tried = v->tried;
	m->tries = v->tries;
	m->step = v->step;
	m->dated = v->dated;
	m->host_said = v->host;
	m->blocked = WHY_BLOCKED(th_why(v, &at));
	m->started = 0;
	/* up to last, who has no memo of his own has that of the first */
	set_why(m, v->r);
	m->last = end[-1].off;
	for (r = v->r; r < end; r++) {
		own = r->why != m->why ? get(v, r->off) :
		    find(m->stub, m->chan, m->host, r->off);
		if (own != NULL)
			set_why(own, r);
		else if (r->why != m->why && m->last > r[-1].off)
			m->last = r[-1].off;	/* there was no room */
	}
}

const struct memo *
memo_find(const struct message *m, const struct chan *chan, const char *host)
{
	return find(stub_of(m), chan, host, 0);
}

void
memo_reason(const struct vertex *v, struct rcpt *r)
{
	const struct stub *s = stub_of(v->msg);
	const struct chan *chan = v->thread->ring->chan;
	const struct memo *m = find(s, chan, v->thread->host, r->off);

	if (m == NULL && (m = find(s, chan, v->thread->host, 0)) != NULL &&
	    r->off > m->last)
		m = NULL;	/* it was never heard of */
	if (m != NULL)
		r->why = reason_keep(m->why);
}

void
memo_heard(const struct vertex *v, unsigned long off, const char *text)
{
	struct memo *m = get(v, (unsigned)off);
	struct rcpt r;

	if (m == NULL)
		return;
	r.why = m->why;
	reason_set(&r, text);
	m->why = r.why;
}

/* ---- parts ------------------------------------------------------------ */

void
later_place(struct part *p)
{
	const struct message *m = p->msg;
	unsigned own = (unsigned)q.config->rcptminimum + m->more->extra;
	double at = p->unread == 0 && p->again > p->later ? p->again : p->later;
	struct heap *h;

	if (m->held && m->cancel == CANCEL_NONE)
		at = now.mono + HELD;
	heap_del(p->readable ? &p->chan->parts : &q.look, &p->look);
	if (p->unread + p->evicted == 0)
		return;
	p->readable = at <= now.mono;
	h = p->readable ? &p->chan->parts : &q.look;
	if (p->readable)
		at = m->loaded - (m->preempts || m->rcpts <= own / 2 ?
		    FIRST : 0);
	heap_set(h, &p->look, at);
	q.readable |= p->readable;
}

/* ---- what is wanted now ------------------------------------------------ */

/* Has its host answered? */
static int
has_answered(const struct memo *m)
{
	const struct thread *t = dest_find(m->chan, m->host, m->box);

	return t != NULL && t->answered;
}

/* Does the command concern the memo? */
static int
is_meant(const struct memo *m, chan_meant *meant, const void *arg,
    enum call how)
{
	if (m->off != 0)
		return 0;
	if (how == CALL_ANSWERED)
		return !m->blocked && has_answered(m);
	return meant == NULL || meant(arg, m->chan, m->host);
}

/* Does it wait by its own time, even when its host has answered? */
static int
is_own(const struct memo *m)
{
	return m->wakeup > now.mono &&
	    (m->dated || !(m->host_said & HOST_BAD));
}

/* The memo becomes due at once, or at its own time: that, mono. */
static int
call_memo(struct memo *m, enum call how)
{
	int own = how == CALL_ANSWERED && is_own(m);
	int at = own ? m->wakeup : (int)now.mono;

	if (at < m->until)
		m->until = at;
	if (how != CALL_LOOK && !own)
		m->wakeup = 0;
	m->started = how == CALL_START;
	return m->until;
}

/* Memos that are meant become due: how many. */
static unsigned
call(struct stub *s, chan_meant *meant, const void *arg, enum call how)
{
	struct part *p = s->msg == NULL ? NULL : msg_part(s->msg);
	struct memo *m;
	unsigned n = 0;
	int at, first = 0;

	for (m = s->memos; m != NULL; m = m->next) {
		if (!is_meant(m, meant, arg, how))
			continue;
		at = call_memo(m, how);
		if (n++ == 0 || at < first)
			first = at;
	}
	if (n > 0 && s->msg == NULL && first < heap_when(&table.due, &s->due))
		heap_set(&table.due, &s->due, first);
	for (; n > 0 && p != NULL; p = p->other) {
		if (first < p->again)
			p->again = first;
		later_place(p);
	}
	return n;
}

unsigned
later_call_one(struct message *m, enum call how)
{
	return stub_of(m) == NULL ? 0 : call(stub_of(m), NULL, NULL, how);
}

unsigned
later_call(chan_meant *meant, const void *arg, enum call how)
{
	struct hlink *l = NULL;
	unsigned n = 0;

	while ((l = hash_each(&table.stubs, l)) != NULL)
		n += call(OWNER(struct stub, link, l), meant, arg, how);
	return n;
}

#define ANSWERS_EVERY	5.0	/* seconds; each costs a walk over the table */

void
later_answered(void)
{
	static double last = -ANSWERS_EVERY;	/* mono */
	struct thread *t;

	if (!q.answered || now.mono < last + ANSWERS_EVERY)
		return;
	last = now.mono;
	later_call(NULL, NULL, CALL_ANSWERED);
	for (t = q.all; t != NULL; t = t->next)
		if (t->answered) {
			t->answered = 0;
			th_update(t);
		}
	q.answered = 0;
}
