/*
 * model.c - holds the queue in memory.
 *
 * A queue has messages; a message has jobs, one for each channel and host it
 * goes to; a job has a destination, a state, and the reason of its last
 * deferral.  The readers of a dump and of the spool add to the queue, and the
 * listings read it.
 *
 * There may be a million jobs, and the machine may be small.  So reasons,
 * senders, channels and hosts are kept once, as words in one table; a job takes
 * 56 to 72 bytes.  Nearly all memory is counted, and BYTES_MOST (128 MB) is the
 * limit: beyond it mailq prints an error instead of filling the machine.
 *
 * This module does not read or print, and does not trust numbers: sums are kept
 * as double, which does not overflow.
 */
#include "mq.h"

#define FIND_ONLY	UINT_MAX	/* in place of an id: adds no word */
#define BYTES_MOST	(128.0 * 1024 * 1024)	/* most bytes of a queue */

const char *const mq_state_name[] = {
	"other", "retry", "host", "run", "limit", "next", "agent",
	"held", "queueonly", "frozen", "command", "evicted", "spool",
	"skipped"
};

const char *const mq_dest_state_name[] = {
	"active", "idle", "closed", "retry", "unused"
};

int
mq_find_state(const char *s, size_t n)
{
	int i;

	for (i = MQ_OTHER; i <= MQ_SKIPPED; i++)
		if (strlen(mq_state_name[i]) == n &&
		    strncmp(s, mq_state_name[i], n) == 0)
			return i;
	return -1;
}

/* ---- memory ---------------------------------------------------------- */

/* Frees the entries of a table; the link is their first member. */
static void
free_table(struct hash *h)
{
	struct hlink *l, *next;

	for (l = hash_each(h, NULL); l != NULL; l = next) {
		next = hash_each(h, l);
		free(l);
	}
	free(h->v);
}

void
mq_free(struct mq_queue *q)
{
	struct mq_dest *d;

	for (d = q->dests; d != NULL; d = d->next)
		free(d->facts);
	free_table(&q->words);
	free_table(&q->messages);
	free_table(&q->dest_table);
	free(q->msgs);
	free(q->jobs);
	free(q->whys);
	free(q->notes);
	free(q->unrouted);
	memset(q, 0, sizeof(*q));
}

static void *
alloc_counted(struct mq_queue *q, size_t n)
{
	q->bytes += (double)n + 16;	/* about what malloc adds */
	return q->bytes > BYTES_MOST ? NULL : calloc(1, n);
}

/* Makes room for another element of an array, and counts the memory: 0 or -1.
 */
static int
grow_array(struct mq_queue *q, void **v, unsigned n, unsigned *room,
    size_t size)
{
	unsigned had = *room;

	if (mem_grow(v, n, room, size) < 0)
		return -1;
	q->bytes += (double)(*room - had) * (double)size;
	return q->bytes > BYTES_MOST ? -1 : 0;
}
#define GROW(q, v, n, room) \
	grow_array(q, (void **)&(v), n, &(room), sizeof(*(v)))

int
mq_init(struct mq_queue *q)
{
	memset(q, 0, sizeof(*q));
	q->seed = (unsigned)time(NULL) ^ ((unsigned)getpid() << 12);
	q->stored = -1;
	q->aside = q->aside_age = q->router = q->router_age = MQ_UNKNOWN;
	q->nunrouted = q->evicted_age = MQ_UNKNOWN;
	q->totals[0] = q->uptime = MQ_UNKNOWN;
	/* loops over an empty queue need an array, too */
	return GROW(q, q->msgs, 0, q->room_msgs) < 0 ||
	    GROW(q, q->jobs, 0, q->room_jobs) < 0 ? -1 : 0;
}

/* ---- words and destinations ------------------------------------------ */

/* Returns the word of the table with this text.  Adds a missing word, with this
 * id; FIND_ONLY adds none.  NULL: not found, or no memory. */
static struct mq_word *
get_word(struct mq_queue *q, struct hash *table, const char *s, unsigned id)
{
	unsigned h = hash_text(s, q->seed);
	struct mq_word *w;
	struct hlink *l;

	for (l = hash_first(table, h); l != NULL; l = hash_next(l)) {
		w = OWNER(struct mq_word, link, l);
		if (strcmp(w->s, s) == 0)
			return w;
	}
	if (id == FIND_ONLY)
		return NULL;
	w = alloc_counted(q, sizeof(*w) + strlen(s));
	if (w == NULL)
		return NULL;
	w->id = id;
	strcpy(w->s, s);
	hash_add(table, &w->link, h);
	return w;
}

const char *
mq_intern(struct mq_queue *q, const char *s)
{
	struct mq_word *w;

	if (*s == '\0')
		return "";
	w = get_word(q, &q->words, s, 0);
	return w == NULL ? NULL : w->s;
}

struct mq_dest *
mq_dest_get(struct mq_queue *q, const char *channel, const char *host)
{
	unsigned h = hash_text(host, hash_text(channel, q->seed));
	struct mq_dest *d;
	struct hlink *l;

	for (l = hash_first(&q->dest_table, h); l != NULL; l = hash_next(l)) {
		d = OWNER(struct mq_dest, link, l);
		if (strcmp(d->host, host) == 0 &&
		    strcmp(d->channel, channel) == 0)
			return d;
	}
	d = alloc_counted(q, sizeof(*d));
	if (d == NULL || (d->channel = mq_intern(q, channel)) == NULL ||
	    (d->host = mq_intern(q, host)) == NULL) {
		free(d);
		return NULL;
	}
	hash_add(&q->dest_table, &d->link, h);
	d->next = q->dests;
	q->dests = d;
	d->id = q->ndests++;
	return d;
}

int
mq_dest_set_facts(struct mq_queue *q, struct mq_dest *d,
    const struct mq_facts *facts)
{
	d->facts = alloc_counted(q, sizeof(*facts));
	if (d->facts == NULL)
		return -1;
	*d->facts = *facts;
	return 0;
}

/* A dead destination is MQ_DEAD, even while its agents end their jobs. */
enum mq_dest_state
mq_dest_get_state(const struct mq_facts *k)
{
	if (k->dead >= 0)
		return MQ_DEAD;
	if (k->agents > 0)
		return MQ_ACTIVE;
	if (k->idle > 0)
		return MQ_IDLE;
	return k->good + k->bad > 0 ? MQ_CLOSED : MQ_UNUSED;
}

/* ---- messages and jobs ----------------------------------------------- */

struct mq_msg *
mq_msg_get(struct mq_queue *q, const char *name, int make)
{
	struct mq_word *w = get_word(q, &q->messages, name,
	    make ? q->nmsgs : FIND_ONLY);
	struct mq_msg *m;

	if (w == NULL)
		return NULL;
	if (w->id < q->nmsgs)	/* a new word has the id nmsgs */
		return &q->msgs[w->id];
	if (GROW(q, q->msgs, q->nmsgs, q->room_msgs) < 0)
		return NULL;
	m = &q->msgs[q->nmsgs++];
	memset(m, 0, sizeof(*m));
	m->name = w->s;
	m->size = -1;
	m->age = MQ_UNKNOWN;
	return m;
}

/* Makes job n, whose index is n - 1, the last of its message. */
static void
link_to_message(struct mq_queue *q, unsigned n)
{
	struct mq_msg *m = &q->msgs[q->jobs[n - 1].msg];

	if (m->last != 0)
		q->jobs[m->last - 1].next_job = n;
	else
		m->first = n;
	m->last = n;
}

void
mq_job_init(struct mq_job *j)
{
	memset(j, 0, sizeof(*j));
	j->reason = j->what = "";
	j->next = j->tries = MQ_UNKNOWN;
	j->expires = MQ_NEVER;
	j->high = UINT_MAX;
}

struct mq_job *
mq_job_add(struct mq_queue *q, struct mq_msg *m)
{
	struct mq_job *j;

	if (GROW(q, q->jobs, q->njobs, q->room_jobs) < 0)
		return NULL;
	j = &q->jobs[q->njobs++];
	mq_job_init(j);
	j->msg = (unsigned)(m - q->msgs);
	link_to_message(q, q->njobs);
	return j;
}

enum mq_state
mq_job_get_state(const struct mq_msg *m, const struct mq_job *j)
{
	return m->held && j->state != MQ_RUN ? MQ_HELD :
	    (enum mq_state)j->state;
}

static int
by_qid(const void *a, const void *b)
{
	const struct mq_job *x = a, *y = b;

	return x->qid < y->qid ? -1 : x->qid > y->qid;
}

int
mq_job_sort(struct mq_queue *q)
{
	unsigned i;

	qsort(q->jobs, q->njobs, sizeof(*q->jobs), by_qid);
	for (i = 0; i < q->nmsgs; i++)
		q->msgs[i].first = q->msgs[i].last = 0;
	for (i = 0; i < q->njobs; i++) {
		if (i > 0 && q->jobs[i].qid == q->jobs[i - 1].qid)
			return -1;
		q->jobs[i].next_job = 0;
		link_to_message(q, i + 1);
	}
	return 0;
}

/* In most dumps the numbers are 1, 2, 3 and so on, so the index is tried first.
 */
struct mq_job *
mq_job_by_qid(struct mq_queue *q, unsigned qid)
{
	struct mq_job key;

	if (qid > 0 && qid <= q->njobs && q->jobs[qid - 1].qid == qid)
		return &q->jobs[qid - 1];
	key.qid = qid;
	return bsearch(&key, q->jobs, q->njobs, sizeof(*q->jobs), by_qid);
}

/* ---- reasons, notes, counts ------------------------------------------- */

int
mq_why_add(struct mq_queue *q, unsigned msg, unsigned long off,
    const char *reason)
{
	struct mq_why *w;

	if (GROW(q, q->whys, q->nwhys, q->room_whys) < 0)
		return -1;
	w = &q->whys[q->nwhys];
	w->msg = msg;
	w->off = off;
	w->reason = mq_intern(q, reason);
	q->nwhys += w->reason != NULL;
	return w->reason == NULL ? -1 : 0;
}

int
mq_note_add(struct mq_queue *q, enum mq_kind kind, const char *what, long age)
{
	struct mq_note *note;

	if (GROW(q, q->notes, q->nnotes, q->room_notes) < 0)
		return -1;
	note = &q->notes[q->nnotes];
	note->kind = kind;
	note->age = age;
	note->what = mq_intern(q, what);
	q->nnotes += note->what != NULL;
	return note->what == NULL ? -1 : 0;
}

unsigned
mq_note_count(const struct mq_queue *q, enum mq_kind kind)
{
	unsigned i, n = 0;

	for (i = 0; i < q->nnotes; i++)
		n += q->notes[i].kind == kind;
	return n;
}

static int
by_offset(const void *a, const void *b)
{
	const struct mq_why *x = a, *y = b;

	if (x->msg != y->msg)
		return x->msg < y->msg ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

void
mq_why_sort(struct mq_queue *q)
{
	if (q->nwhys > 0)
		qsort(q->whys, q->nwhys, sizeof(*q->whys), by_offset);
}

const char *
mq_why_find(const struct mq_queue *q, const struct mq_msg *m, unsigned long off)
{
	struct mq_why key;
	const struct mq_why *w = NULL;

	key.msg = (unsigned)(m - q->msgs);
	key.off = off;
	if (q->nwhys > 0)
		w = bsearch(&key, q->whys, q->nwhys, sizeof(*q->whys),
		    by_offset);
	return w == NULL ? "" : w->reason;
}

int
mq_is_shown(const struct mq_queue *q, const struct mq_msg *m)
{
	return !q->filtered || m->picked;
}

void
mq_sum_up(const struct mq_queue *q, struct mq_sum *sum)
{
	const struct mq_dest *d;
	const struct mq_msg *m;
	const struct mq_job *j;
	enum mq_state state;

	memset(sum, 0, sizeof(*sum));
	sum->oldest = MQ_UNKNOWN;
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		sum->unread += m->unread;
		if (!mq_is_shown(q, m))
			continue;
		sum->msgs++;
		sum->skipped += m->skipped != NULL;
		if (m->age > sum->oldest)
			sum->oldest = m->age;
	}
	for (j = q->jobs; j < q->jobs + q->njobs; j++) {
		if (j->hidden)
			continue;
		sum->jobs++;
		sum->rcpts += j->nrcpt;
		state = mq_job_get_state(&q->msgs[j->msg], j);
		sum->running += state == MQ_RUN;
		sum->held += state == MQ_HELD;
	}
	sum->waiting = sum->jobs - sum->running - sum->held;
	for (d = q->dests; d != NULL; d = d->next)
		sum->dests += d->njobs > 0 && !d->hidden;
}
