/*
 * later.c - the table of what is not in core and is wanted there later.
 *
 *	stub 1000-1  due=70  evicted			heap, by due time:
 *	   memo smtp/a.example  until=70  step=2  why=3	   1000-1  70
 *	   memo smtp/b.example  until=900 dated		   1001-1  85
 *	stub 1001-1  due=85  "a recipient is locked by another process"
 *
 * A stub stands for a message whose file was looked at and is not to be looked
 * at before it is due: evicted to make room (core.c), or skipped as it could
 * not be used (intake.c).  A memo has what must not be forgotten of a vertex
 * that left core: its own time, its place in the retry list, its tries and its
 * reason.  Recipients of one vertex with several reasons have a memo each, for
 * the reason alone.  Stubs have memos, and so have messages of which some is in
 * core and some was evicted.
 *
 * Memos share their addresses, a channel and a host.  By these a T line, a
 * flush and a release find what they are about: it becomes due at once.
 *
 * The table is bounded by PARAMevicted, which counts stubs and memos.  Beyond
 * that, and without memory, a file is forgotten: its directory is read again
 * when it is due (spool.c), and then it has the place of its age.
 *
 * Where pointers have eight bytes a stub has 72 bytes and the name, a memo 40,
 * an address 40 and the host.  With its places in the heap and the hash table
 * an evicted message with one vertex takes 200 (bench/core).  One in core takes
 * about as much, and has part in threads, jobs and lists, which is where the
 * work is.  So the bound of 100000 is 10 megabytes at most.
 *
 * Costs: finding a stub or a memo O(1), the next that is due O(log stubs);
 * a T line or a command O(all).
 */
#include "scheduler.h"

struct address {
	struct hlink link;
	struct chan *chan;
	unsigned refs;		/* memos */
	int	called;		/* by the command at hand */
	char	host[1];
};

static struct {
	struct hash stubs;	/* by num */
	struct heap due;
	struct hash addresses;
} table;

/* Is there room for so many more? */
static int
has_room(unsigned n)
{
	return q.config->evicted == 0 ||
	    q.nlater + n <= (unsigned)q.config->evicted;
}

/* ---- addresses -------------------------------------------------------- */

static struct address *
find_address(const struct chan *chan, const char *host)
{
	struct hlink *l;
	struct address *a;

	if (table.addresses.n == 0)
		return NULL;
	for (l = hash_first(&table.addresses, hash_text(host,
	    hash_text(chan->name, 0))); l != NULL; l = hash_next(l)) {
		a = OWNER(struct address, link, l);
		if (a->chan == chan && strcmp(a->host, host) == 0)
			return a;
	}
	return NULL;
}

/* ... made when there is none; NULL without memory. */
static struct address *
get_address(struct chan *chan, const char *host)
{
	struct address *a = find_address(chan, host);

	if (a != NULL)
		return a;
	if ((table.addresses.v == NULL &&
	    hash_init(&table.addresses, 64) < 0) ||
	    (a = mem_get(sizeof(*a) + strlen(host))) == NULL)
		return NULL;
	strcpy(a->host, host);
	a->chan = chan;
	hash_add(&table.addresses, &a->link,
	    hash_text(host, hash_text(chan->name, 0)));
	return a;
}

/* ---- memos ------------------------------------------------------------ */

/* The place of this memo: it is there, or free; NULL: all are taken. */
static struct memo *
place(const struct memos *ms, const struct address *to, unsigned off)
{
	unsigned i, at = (unsigned)to->link.hash + off * 2654435761U;

	for (i = 0; i < ms->size; i++, at++) {
		struct memo *m = &ms->v[at & (ms->size - 1)];

		if (m->to == NULL || (m->to == to && m->off == off))
			return m;
	}
	return NULL;
}

/* Makes room for another: 0, or -1 without memory. */
static int
grow(struct memos *ms)
{
	struct memos more;
	unsigned i;

	if (ms->n < 4 ? ms->n < ms->size : ms->n < ms->size / 4 * 3)
		return 0;
	more.n = ms->n;
	more.size = ms->size == 0 ? 1 : ms->size * 2;
	more.v = mem_get(more.size * sizeof(*more.v));
	if (more.v == NULL)
		return -1;
	for (i = 0; i < ms->size; i++)
		if (ms->v[i].to != NULL)
			*place(&more, ms->v[i].to, ms->v[i].off) = ms->v[i];
	free(ms->v);
	*ms = more;
	return 0;
}

/* The memo, made when there is none; or NULL. */
static struct memo *
get_memo(struct memos *ms, struct address *to, unsigned off)
{
	struct memo *m = place(ms, to, off);

	if (m != NULL && m->to != NULL)
		return m;
	if (!has_room(1) || grow(ms) < 0)
		return NULL;
	m = place(ms, to, off);
	m->to = to;
	m->off = off;
	to->refs++;
	ms->n++;
	q.nlater++;
	return m;
}

static const struct rcpt *
first_pending(const struct vertex *v)
{
	const struct rcpt *r = v->r;

	while (r < v->r + v->nr && r->state != RC_PENDING)
		r++;
	return r < v->r + v->nr ? r : NULL;
}

static void
set_why(struct memo *m, const struct rcpt *r)
{
	reason_drop(m->why);
	m->why = reason_keep(r->why);
}

/* The reasons of the vertex's recipients: one, and those that differ.  A
 * recipient without a memo of its own takes the vertex's. */
static void
keep_reasons(struct memos *ms, struct memo *m, const struct vertex *v)
{
	struct address *to = m->to;
	const struct rcpt *r, *first = first_pending(v);
	struct memo *own;

	if (first == NULL)
		return;
	set_why(m, first);
	m->last = v->r[v->nr - 1].off;
	for (r = first + 1; r < v->r + v->nr; r++) {
		if (r->state != RC_PENDING)
			continue;
		own = place(ms, to, r->off);
		if ((own == NULL || own->to == NULL) && r->why != first->why)
			own = get_memo(ms, to, r->off);
		if (own != NULL && own->to != NULL)
			set_why(own, r);
	}
}

/* The memo for this address and offset, made when there is none; or NULL. */
static struct memo *
memo_at(struct memos *ms, struct chan *chan, const char *host, unsigned off)
{
	struct address *to = get_address(chan, host);
	struct memo *m = to == NULL ? NULL : get_memo(ms, to, off);

	if (to != NULL && to->refs == 0) {
		hash_del(&table.addresses, &to->link);
		free(to);
	}
	return m;
}

int
memo_keep(struct memos *ms, const struct vertex *v, enum why why, long until)
{
	const struct thread *t = v->thread;
	struct memo *m = memo_at(ms, t->ring->chan, t->host, 0);

	if (m == NULL)
		return -1;
	m->wakeup = v->state == V_WAIT ? v->wakeup : 0;
	m->until = (int)until;
	m->tried = v->tried;
	m->tries = v->tries;
	m->step = v->step;
	m->dated = v->dated;
	m->host = v->host;
	m->blocked = WHY_BLOCKED(why);
	m->started = 0;
	keep_reasons(ms, m, v);
	return 0;
}

const struct memo *
memo_find(const struct memos *ms, const struct chan *chan, const char *host)
{
	const struct address *to = ms->n == 0 ? NULL :
	    find_address(chan, host);
	const struct memo *m = to == NULL ? NULL : place(ms, to, 0);

	return m != NULL && m->to != NULL ? m : NULL;
}

void
memo_reason(const struct memos *ms, const struct vertex *v, struct rcpt *r)
{
	const struct thread *t = v->thread;
	const struct address *to = ms->n == 0 ? NULL :
	    find_address(t->ring->chan, t->host);
	const struct memo *own, *all;

	if (to == NULL)
		return;
	own = place(ms, to, r->off);
	all = place(ms, to, 0);
	if (own != NULL && own->to != NULL)
		r->why = reason_keep(own->why);
	else if (all != NULL && all->to != NULL && r->off <= all->last)
		r->why = reason_keep(all->why);
}

void
memo_heard(struct memos *ms, const struct vertex *v, unsigned long off,
    const char *text)
{
	const struct thread *t = v->thread;
	struct memo *m = memo_at(ms, t->ring->chan, t->host, (unsigned)off);
	struct rcpt r;

	if (m == NULL)
		return;
	r.why = m->why;
	reason_set(&r, text);
	m->why = r.why;
}

void
memo_free(struct memos *ms)
{
	struct address *to;
	unsigned i;

	for (i = 0; i < ms->size; i++) {
		if ((to = ms->v[i].to) == NULL)
			continue;
		reason_drop(ms->v[i].why);
		if (--to->refs > 0)
			continue;
		hash_del(&table.addresses, &to->link);
		free(to);
	}
	q.nlater -= ms->n;
	free(ms->v);
	memset(ms, 0, sizeof(*ms));
}

/* ---- stubs ------------------------------------------------------------ */

struct stub *
later_find(const char *name)
{
	struct hlink *l;
	struct stub *s;

	if (table.stubs.n == 0)
		return NULL;
	for (l = hash_first(&table.stubs, name_num(name)); l != NULL;
	    l = hash_next(l)) {
		s = OWNER(struct stub, link, l);
		if (strcmp(s->name, name) == 0)
			return s;
	}
	return NULL;
}

static struct stub *
make(const char *name)
{
	struct stub *s;

	if (!has_room(1) || (table.stubs.v == NULL &&
	    hash_init(&table.stubs, 64) < 0) ||
	    heap_room(&table.due, table.stubs.n + 1) < 0 ||
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
	heap_set(&table.due, &s->due, due);
	return s;
}

struct stub *
later_due(void)
{
	struct timer *t = heap_first(&table.due);

	return t == NULL || heap_when(&table.due, t) > now.mono ? NULL :
	    OWNER(struct stub, due, t);
}

void
later_end(struct stub *s)
{
	memo_free(&s->memos);
	heap_del(&table.due, &s->due);
	hash_del(&table.stubs, &s->link);
	q.nlater--;
	free(s);
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

/* ---- what is wanted now ------------------------------------------------ */

/* Is the memo of a vertex that waits for its host alone? */
static int
is_for_host(const struct memo *m)
{
	return !m->dated && !m->blocked &&
	    (m->wakeup == 0 || m->host & HOST_BAD);
}

/* Those of the memos that are meant become due: how many. */
static unsigned
call(struct memos *ms, enum call how, int all)
{
	struct memo *m;
	unsigned n = 0;

	for (m = ms->v; m < ms->v + ms->size; m++) {
		if (m->to == NULL || m->off != 0 || (!all && !m->to->called) ||
		    (how == CALL_ANSWERED && !is_for_host(m)))
			continue;
		m->until = (int)now.mono;
		if (how != CALL_LOOK)
			m->wakeup = 0;
		m->started = how == CALL_START;
		n++;
	}
	return n;
}

/* Marks the addresses that are meant. */
static void
mark(int (*meant)(const void *, const struct chan *, const char *),
    const void *arg)
{
	struct hlink *l;
	struct address *a;
	unsigned i;

	for (i = 0; i < table.addresses.size; i++)
		for (l = table.addresses.v[i]; l != NULL; l = l->next) {
			a = OWNER(struct address, link, l);
			a->called = meant == NULL ||
			    meant(arg, a->chan, a->host);
		}
}

/* The same of a message that is in core, in part or whole. */
static unsigned
call_parts(struct message *m, enum call how, int all)
{
	struct part *p = msg_part(m);
	unsigned n = p == NULL ? 0 : call(&m->more->memos, how, all);

	for (; n > 0 && p != NULL; p = p->other) {
		p->again = (long)now.mono;
		if (p->look.pos != 0)
			heap_set(&q.look, &p->look, 0);
	}
	return n;
}

unsigned
later_call_one(struct message *m, enum call how)
{
	return call_parts(m, how, 1);
}

unsigned
later_call(int (*meant)(const void *, const struct chan *, const char *),
    const void *arg, enum call how)
{
	unsigned i, n, all = 0;
	struct hlink *l, *next;
	struct stub *s;

	mark(meant, arg);
	for (i = 0; i < table.stubs.size; i++)
		for (l = table.stubs.v[i]; l != NULL; l = next) {
			next = l->next;
			s = OWNER(struct stub, link, l);
			all += n = call(&s->memos, how, 0);
			if (n > 0)
				heap_set(&table.due, &s->due, now.mono);
		}
	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next)
			all += call_parts(OWNER(struct message, link, l), how,
			    0);
	return all;
}
