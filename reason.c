/*
 * reason.c - why each recipient was deferred last, as shared texts.
 *
 *	r[0].why = 3 ---+
 *	r[1].why = 7 -+ +--> table[3]  "451 greylisted", refs=1
 *	r[2].why = 7 -+----> table[7]  "452 mailbox full", refs=2
 *	r[3].why = 0	     (none is known)
 *
 * A recipient has room for an index of 16 bits.  Each text is kept once, for
 * all recipients that heard it, and goes with the last of them.  There are
 * PARAMreasons texts at most.  When there is no place for another, or no
 * memory, the recipient gets the index OTHER, whose text says that the log has
 * the words; it never keeps older words, nor shows those of another recipient.
 *
 * The words of a host or a ring are not in the table: there is one for each,
 * which has its own copy (reason_copy).
 *
 * Costs: O(length of the text), by a hash; reason_all O(recipients).
 */
#include "scheduler.h"

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

/* ---- places ----------------------------------------------------------- */

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

/* ---- of a recipient --------------------------------------------------- */

void
reason_free(struct rcpt *rcpt)
{
	unsigned short i = rcpt->why;
	struct reason *r;

	rcpt->why = 0;
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

/* ---- of several ------------------------------------------------------- */

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
