/*
 * message.c - a message in core: its vertices, what few messages have, and why
 * each recipient was deferred last.
 *
 * Most messages have one recipient, are delivered at the first try and have
 * nothing to be told of.  Such a one is a single piece of memory: the message,
 * with its first vertex inside, with its only recipient inside that, and the
 * name at the end.  Other vertices are pieces of their own; recipients of a
 * vertex that has several are an array.  Whatever else a message may come to
 * need is in struct more, and what one needs that is not read whole in a struct
 * part for each channel; each is made when it is first wanted.
 *
 * Bytes where pointers have eight: 174 and the name for a message, 104 for each
 * vertex after the first, 16 for each recipient of several.
 *
 * The place of the first vertex is used again when that is over and more of
 * the message is read.
 *
 * A reason is a text that recipients share:
 *
 *	r[0].why ---+
 *	r[1].why -+ +--> "451 greylisted"    refs=1
 *	r[2].why -+----> "452 mailbox full"  refs=2
 *	r[3].why = NULL	     (none is known)
 *
 * Each text is kept once, for all recipients and memos that have it, and goes
 * with the last of them.  There are PARAMreasons texts at most.  When there may
 * be no other, or no memory, the recipient gets the text unkept, which says
 * that the log has the words; it never keeps older words, nor shows those of
 * another recipient.  The words of a host or a ring are copies of its own
 * (reason_copy).
 *
 * Costs: O(1); O(recipients) to narrow; O(log recipients) to find one, or to
 * add one behind the others, which is nearly always its place; O(parts) to find one, or to
 * count; a reason O(length of the text), by a hash.  Nothing here knows states,
 * lists or times.
 */
#include "scheduler.h"

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
msg_part_for(struct message *m, struct chan *c)
{
	struct part *p = msg_part(m);

	while (p != NULL && p->chan != c)
		p = p->other;
	if (p != NULL || msg_more(m) == NULL ||
	    heap_room(&q.look, q.nparts + 1) < 0 ||
	    heap_room(&c->parts, c->nparts + 1) < 0 ||
	    (p = mem_get(sizeof(*p))) == NULL)
		return p;
	p->msg = m;
	p->chan = c;
	p->other = m->more->parts;
	m->more->parts = p;
	q.nparts++;
	c->nparts++;
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
msg_evicted(const struct message *m)
{
	const struct part *p;
	unsigned n = 0;

	for (p = msg_part(m); p != NULL; p = p->other)
		n += p->evicted;
	return n;
}

/* ---- vertices -------------------------------------------------------- */

struct vertex *
msg_vertex(struct message *m, struct thread *t)
{
	struct vertex *v = &m->first;

	if (v->msg != NULL && (v = mem_get(sizeof(*v))) == NULL)
		return NULL;
	v->msg = m;
	v->thread = t;
	v->r = &v->one;
	APPEND(m->vertices, v, other, before);
	return v;
}

void
msg_vertex_free(struct vertex *v)
{
	struct message *m = v->msg;

	REMOVE(m->vertices, v, other, before);
	if (v->r != &v->one)
		free(v->r);
	if (v == &m->first)
		memset(v, 0, sizeof(*v));
	else
		free(v);
}

/* The first of its recipients that is not before off. */
static unsigned
place(const struct vertex *v, unsigned long off)
{
	unsigned lo = 0, hi = v->nr, mid;

	if (hi > 0 && v->r[hi - 1].off < off)
		return hi;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v->r[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct rcpt *
msg_rcpt(const struct vertex *v, unsigned long off)
{
	unsigned i = place(v, off);

	return i < v->nr && v->r[i].off == off ? &v->r[i] : NULL;
}

/* An array has room for the next power of two. */
struct rcpt *
msg_add(struct vertex *v, unsigned long off)
{
	unsigned i = place(v, off), n = v->nr;
	struct rcpt *r = v->r;

	if (i < n && r[i].off == off)
		return &r[i];
	if (n > 0 && (n & (n - 1)) == 0) {
		r = realloc(r == &v->one ? NULL : r, 2 * n * sizeof(*r));
		if (r == NULL) {
			log_err("memory msg=%s rcpts=%u none to be had",
			    v->msg->name, 2 * n);
			return NULL;
		}
		if (v->r == &v->one)
			*r = v->one;
		v->r = r;
	}
	memmove(&r[i + 1], &r[i], (n - i) * sizeof(*r));
	memset(&r[i], 0, sizeof(*r));
	r[i].off = (unsigned)off & 0x3fffffff;
	v->nr++;
	return &r[i];
}

void
msg_narrow(struct vertex *v)
{
	unsigned i, n = 0, size = 2;
	struct rcpt *r;

	for (i = 0; i < v->nr; i++)
		if (v->r[i].state == RC_PENDING)
			v->r[n++] = v->r[i];
	while (size < n)
		size *= 2;
	if (n > 1 && size < v->nr &&
	    (r = realloc(v->r, size * sizeof(*r))) != NULL)
		v->r = r;
	v->nr = n;
}

void
msg_free(struct message *m)
{
	struct vertex *v;
	struct part *p;

	while ((v = m->vertices) != NULL)
		msg_vertex_free(v);
	while ((p = msg_part(m)) != NULL) {
		m->more->parts = p->other;
		q.nparts--;
		p->chan->nparts--;
		free(p);
	}
	free(m->more);
	free(m);
}

/* ---- reasons ---------------------------------------------------------- */

struct reason {
	struct hlink link;	/* by its text */
	unsigned refs;
	unsigned round;		/* of reason_all, in which it was seen last */
	const char *s;		/* behind this */
};

static struct hash reasons;
static struct reason unkept = { { NULL, 0 }, 1, 0,
    "the reason is in the log of the mail system" };

static struct reason *
find(const char *s, unsigned hash)
{
	struct hlink *l = reasons.n == 0 ? NULL : hash_first(&reasons, hash);

	while (l != NULL && strcmp(OWNER(struct reason, link, l)->s, s) != 0)
		l = hash_next(l);
	return l == NULL ? NULL : OWNER(struct reason, link, l);
}

/* A new text, or unkept.  After a reload there may be more than now may be. */
static struct reason *
add(const char *s, unsigned hash)
{
	struct reason *r;

	if (reasons.n >= (unsigned)q.config->reasons ||
	    (reasons.v == NULL && hash_init(&reasons, 64) < 0) ||
	    (r = mem_get(sizeof(*r) + strlen(s) + 1)) == NULL)
		return &unkept;
	r->s = strcpy((char *)(r + 1), s);
	hash_add(&reasons, &r->link, hash);
	return r;
}

struct reason *
reason_keep(struct reason *r)
{
	if (r != NULL)
		r->refs++;
	return r;
}

void
reason_drop(struct reason *r)
{
	if (r == NULL || --r->refs > 0)
		return;
	hash_del(&reasons, &r->link);
	free(r);
}

void
reason_free(struct rcpt *rcpt)
{
	reason_drop(rcpt->why);
	rcpt->why = NULL;
}

int
reason_set(struct rcpt *rcpt, const char *text)
{
	char s[REASON_MOST + 1];
	unsigned hash;
	struct reason *r;

	text_fmt(s, sizeof(s), "%s", text);
	hash = hash_text(s, 0);
	r = reason_keep(find(s, hash));
	reason_free(rcpt);	/* that may give room */
	rcpt->why = r != NULL ? r : reason_keep(add(s, hash));
	return rcpt->why == &unkept ? -1 : 0;
}

const char *
reason_of(const struct rcpt *r)
{
	return r->why == NULL ? NULL : r->why->s;
}

void
reason_all(const struct vertex *v, struct text *t)
{
	static const char more[] = "; ...";
	static unsigned round;
	const struct rcpt *r;

	round++;
	for (r = v->r; r < v->r + v->nr; r++) {
		if (r->state != RC_PENDING || r->why == NULL ||
		    r->why->round == round)
			continue;
		r->why->round = round;
		if (t->len + 2 + strlen(r->why->s) + sizeof(more) > t->size) {
			text_add(t, "%s", more);
			return;
		}
		text_add(t, "%s%s", t->len > 0 ? "; " : "", r->why->s);
	}
}
