/*
 * message.c - a message in core: its vertices, and what few messages have.
 *
 * Most messages have one recipient, are delivered at the first try and have
 * nothing to be told of.  Such a one is a single piece of memory: the message,
 * with its first vertex inside, with its only recipient inside that, and the
 * name at the end.  Other vertices are pieces of their own, linked to each
 * other; recipients of a vertex that has several are an array.  Whatever else
 * a message may come to need is in struct more, and what one needs that is not
 * read whole in a struct part for each channel; each is made when it is first
 * wanted.
 *
 * Bytes where pointers have eight: 143 and the name for a message, 96 for each
 * vertex after the first, 64 for struct more, 112 for struct part.
 *
 * The place of the first vertex is used again when that is over and more of
 * the message is read.
 *
 * Costs: O(1); O(recipients) to widen or narrow; O(parts) to find one, or to
 * count.  Nothing here knows states, lists or times.
 */
#include "scheduler.h"

struct other {			/* a vertex that is not the first */
	struct vertex v;
	struct other *next, *prev;
};

/* ---- what few have --------------------------------------------------- */

struct more *
msg_more(struct message *m)
{
	if (m->more != NULL)
		return m->more;
	m->more = mem_get(sizeof(*m->more));
	if (m->more == NULL)
		return NULL;
	m->more->msg = m;
	m->more->since = (int)now.mono;
	m->more->warned = -1;
	return m->more;
}

struct part *
msg_part(const struct message *m)
{
	return m->more == NULL ? NULL : m->more->parts;
}

struct part *
msg_part_for(const struct message *m, const struct chan *c)
{
	struct part *p = msg_part(m);

	while (p != NULL && p->chan != c)
		p = p->other;
	return p;
}

struct part *
msg_make_part(struct message *m, struct chan *c)
{
	struct part *p;

	if (msg_more(m) == NULL || (p = mem_get(sizeof(*p))) == NULL)
		return NULL;
	p->msg = m;
	p->chan = c;
	p->other = m->more->parts;
	m->more->parts = p;
	return p;
}

unsigned
msg_unread(const struct message *m)
{
	const struct part *p;
	unsigned n = 0;

	for (p = msg_part(m); p != NULL; p = p->other)
		n += p->unread;
	return n;
}

unsigned
msg_passed(const struct message *m)
{
	const struct part *p;
	unsigned n = 0;

	for (p = msg_part(m); p != NULL; p = p->other)
		n += p->passed;
	return n;
}

/* ---- vertices -------------------------------------------------------- */

struct vertex *
msg_first(const struct message *m)
{
	if (m->first.msg != NULL)
		return (struct vertex *)&m->first;
	return m->more != NULL && m->more->others != NULL ?
	    &m->more->others->v : NULL;
}

struct vertex *
msg_next(const struct vertex *v)
{
	const struct message *m = v->msg;
	const struct other *o;

	if (v == &m->first)
		o = m->more == NULL ? NULL : m->more->others;
	else
		o = OWNER(struct other, v, v)->next;
	return o == NULL ? NULL : (struct vertex *)&o->v;
}

static struct vertex *
make_other(struct message *m)
{
	struct other *o = msg_more(m) == NULL ? NULL : mem_get(sizeof(*o));

	if (o == NULL)
		return NULL;
	o->prev = m->more->last;
	if (o->prev != NULL)
		o->prev->next = o;
	else
		m->more->others = o;
	m->more->last = o;
	return &o->v;
}

struct vertex *
msg_vertex(struct message *m, struct thread *t, unsigned nr)
{
	struct vertex *v = m->first.msg == NULL ? &m->first : make_other(m);

	if (v == NULL)
		return NULL;
	v->msg = m;
	v->thread = t;
	v->r = &v->one;
	if (msg_widen(v, nr) == 0)
		return v;
	msg_vertex_free(v);
	return NULL;
}

void
msg_vertex_free(struct vertex *v)
{
	struct message *m = v->msg;
	struct other *o;

	if (v->r != &v->one)
		free(v->r);
	if (v == &m->first) {
		memset(v, 0, sizeof(*v));
		return;
	}
	o = OWNER(struct other, v, v);
	if (o->next != NULL)
		o->next->prev = o->prev;
	else
		m->more->last = o->prev;
	if (o->prev != NULL)
		o->prev->next = o->next;
	else
		m->more->others = o->next;
	free(o);
}

int
msg_widen(struct vertex *v, unsigned more)
{
	unsigned n = v->nr + more;
	struct rcpt *r;

	if (n <= 1)
		return 0;
	r = realloc(v->r == &v->one ? NULL : v->r, n * sizeof(*r));
	if (r == NULL) {
		log_err("memory msg=%s rcpts=%u none to be had",
		    v->msg->name, n);
		return -1;
	}
	if (v->r == &v->one)
		*r = v->one;
	v->r = r;
	return 0;
}

struct rcpt *
msg_rcpt(const struct vertex *v, unsigned long off)
{
	unsigned lo = 0, hi = v->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v->r[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->nr && v->r[lo].off == off ? &v->r[lo] : NULL;
}

void
msg_narrow(struct vertex *v)
{
	unsigned i, n = 0;
	struct rcpt *r;

	for (i = 0; i < v->nr; i++)
		if (v->r[i].state == RC_PENDING)
			v->r[n++] = v->r[i];
	if (n > 1 && n < v->nr / 2 &&
	    (r = realloc(v->r, n * sizeof(*r))) != NULL)
		v->r = r;
	v->nr = n;
}

void
msg_free(struct message *m)
{
	struct vertex *v;
	struct part *p;

	while ((v = msg_first(m)) != NULL)
		msg_vertex_free(v);
	while ((p = msg_part(m)) != NULL) {
		m->more->parts = p->other;
		free(p);
	}
	free(m->more);
	free(m);
}
