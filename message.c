/*
 * message.c - a message in core: its vertices, what few messages have, and why
 * each recipient was deferred last.
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
 * Bytes where pointers have eight: 142 and the name for a message, 96 for each
 * vertex after the first, 80 for struct more, 104 for struct part.
 *
 * The place of the first vertex is used again when that is over and more of
 * the message is read.
 *
 * A reason is a text that recipients share:
 *
 *	r[0].why = 3 ---+
 *	r[1].why = 7 -+ +--> table[3]  "451 greylisted", refs=1
 *	r[2].why = 7 -+----> table[7]  "452 mailbox full", refs=2
 *	r[3].why = 0	     (none is known)
 *
 * A recipient has room for an index of 16 bits, and so has the memo of one that
 * is not in core.  Each text is kept once, for all that heard it, and goes with
 * the last of them.  There are PARAMreasons texts at most.  When there is no
 * place for another, or no memory, the recipient gets the index OTHER, whose
 * text says that the log has the words; it never keeps older words, nor shows
 * those of another recipient.
 * The words of a host or a ring are copies of its own (reason_copy).
 *
 * Costs: O(1); O(recipients) to widen or narrow; O(parts) to find one, or to
 * count; a reason O(length of the text), by a hash.  Nothing here knows states,
 * lists or times.
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
	if (m->more->last == o)
		m->more->last = o->prev;
	UNLINK(m->more->others, o, next, prev);
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

#define OTHER	USHRT_MAX

struct reason {
	struct hlink link;	/* by its text */
	unsigned refs;
	unsigned round;		/* of reason_all, in which it was seen last */
	unsigned short index;
	char	s[1];
};

static struct {
	struct hash hash;
	struct place {
		struct reason *reason;	/* NULL: it is free */
		unsigned next;		/* ... and this is the next free one */
	} *v;			/* size of them; v[0] stands for none */
	unsigned size, free;	/* free: the first, 0: none */
	unsigned round, other;	/* other: round in which OTHER was seen */
} table;

/* ---- reasons: the table ----------------------------------------------- */

/* Makes more places: 0, or -1 when there may be no more or without memory. */
static int
grow(void)
{
	unsigned most = (unsigned)q.config->reasons + 1, n = table.size;
	struct place *v;

	if (n >= most || (table.hash.v == NULL &&
	    hash_init(&table.hash, 64) < 0))
		return -1;
	n = n == 0 ? 64 : n * 2;
	n = n < most ? n : most;
	v = realloc(table.v, n * sizeof(*v));
	if (v == NULL)
		return -1;
	if (table.size == 0)
		table.size = 1;
	for (; table.size < n; table.size++) {
		v[table.size].reason = NULL;
		v[table.size].next = table.free;
		table.free = table.size;
	}
	table.v = v;
	return 0;
}

static struct reason *
find(const char *s, unsigned hash)
{
	struct hlink *l;
	struct reason *r;

	if (table.hash.n == 0)
		return NULL;
	for (l = hash_first(&table.hash, hash); l != NULL; l = hash_next(l)) {
		r = OWNER(struct reason, link, l);
		if (strcmp(r->s, s) == 0)
			return r;
	}
	return NULL;
}

/* A new text, or NULL.  After a reload there may be more than now may be. */
static struct reason *
add(const char *s, unsigned hash)
{
	struct reason *r;

	if (table.hash.n >= (unsigned)q.config->reasons ||
	    (table.free == 0 && grow() < 0) ||
	    (r = mem_get(sizeof(*r) + strlen(s))) == NULL)
		return NULL;
	strcpy(r->s, s);
	r->index = (unsigned short)table.free;
	table.free = table.v[r->index].next;
	table.v[r->index].reason = r;
	hash_add(&table.hash, &r->link, hash);
	return r;
}

/* ---- reasons: of recipients ------------------------------------------- */

unsigned short
reason_keep(unsigned short i)
{
	if (i != 0 && i != OTHER)
		table.v[i].reason->refs++;
	return i;
}

void
reason_drop(unsigned short i)
{
	struct reason *r;

	if (i == 0 || i == OTHER)
		return;
	r = table.v[i].reason;
	if (--r->refs > 0)
		return;
	hash_del(&table.hash, &r->link);
	table.v[i].reason = NULL;
	table.v[i].next = table.free;
	table.free = i;
	free(r);
}

void
reason_free(struct rcpt *rcpt)
{
	reason_drop(rcpt->why);
	rcpt->why = 0;
}

int
reason_set(struct rcpt *rcpt, const char *text)
{
	char s[REASON_MOST + 1];
	unsigned hash;
	struct reason *r;

	text_fmt(s, sizeof(s), "%s", text);
	hash = hash_text(s, 0);
	r = find(s, hash);
	if (r != NULL)
		r->refs++;
	reason_free(rcpt);
	if (r == NULL && (r = add(s, hash)) != NULL)
		r->refs = 1;
	rcpt->why = r == NULL ? OTHER : r->index;
	return r == NULL ? -1 : 0;
}

const char *
reason_of(const struct rcpt *r)
{
	if (r->why == OTHER)
		return "the reason is in the log of the mail system";
	return r->why == 0 ? NULL : table.v[r->why].reason->s;
}

/* Was the recipient's reason seen in this round? */
static int
is_seen(const struct rcpt *r)
{
	unsigned *seen = r->why == OTHER ? &table.other :
	    &table.v[r->why].reason->round;
	int was = *seen == table.round;

	*seen = table.round;
	return was;
}

void
reason_all(const struct vertex *v, struct text *t)
{
	static const char more[] = "; ...";
	const struct rcpt *r;
	const char *s;

	table.round++;
	for (r = v->r; r < v->r + v->nr; r++) {
		if (r->state != RC_PENDING || r->why == 0 || is_seen(r))
			continue;
		s = reason_of(r);
		if (t->len + 2 + strlen(s) + sizeof(more) > t->size) {
			text_add(t, "%s", more);
			return;
		}
		text_add(t, "%s%s", t->len > 0 ? "; " : "", s);
	}
}

void
reason_copy(char **slot, const char *s)
{
	char *copy;

	if (*slot != NULL && strcmp(*slot, s) == 0)
		return;
	copy = mem_dup(s);
	if (copy == NULL)
		return;		/* the old words must do */
	free(*slot);
	*slot = copy;
}
