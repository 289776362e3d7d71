/*
 * order.c - chooses the READY vertex of a ring that goes next.
 *
 * The keyword order of the clause says how:
 *
 *	random, age	Threads take turns (thread.c).  Within a thread the
 *			vertices are shuffled, or the oldest message is first.
 *	preempt		Messages take turns in the order in which they were
 *			loaded, which after a start is that of the directory;
 *			but a small one may go before a large one.  The rules
 *			are those of the seed (Postfix, "Preemptive
 *			scheduling").  Most of this file is about them.
 *
 * Preemption.  A message within a ring is a job, and jobs stand in a line.
 * The current job is the first in the line with a vertex whose host may take
 * an agent.  It gives its vertices; its hosts take turns.  For each recipient
 * that it gives it earns 1 / slotcost of a delivery slot.
 *
 * A small job behind the current one may preempt it: it is moved just before
 * the current job, and the current job pays one slot for each recipient of the
 * small one.  It need not have all of them: slotdiscount percent may be
 * missing, and slotloan slots more.  What is missing is its debt, and nothing
 * preempts it before it has earned that.  If several jobs could preempt, the
 * one with the longest wait for each of its recipients does.
 *
 *	slotcost=5, no loan, no discount; the current job has 1000 recipients
 *
 *	it has given 9		1.8 slots
 *	a job with 2 comes	price 2: it waits
 *	it has given 10		2 slots: the job with 2 goes before it
 *	after that		0 slots; the 11th recipient is next
 *
 * So a message of n recipients is done when n * slotcost / (slotcost - 1)
 * recipients were given, whatever mail comes.  A message of fewer than
 * minslots * slotcost recipients is never preempted.
 *
 * A job that preempts may be preempted, too: jobs form trees.  The job that
 * pays is the parent.  When a child is done, slots that it did not use go back
 * to its parent, and its own children become children of that parent.
 *
 * The seed counts in batches of recipients for one host.  A vertex is such a
 * batch, but of any size; therefore work is counted in recipients here.
 *
 * Places are numbers.  The n-th message gets the place n, and a child stands
 * half way between the job before its parent and the parent: the children of
 * 1000 stand at 999.5, 999.75 and so on.  A double has bits for 43 such halves
 * for message 1000, and for 33 for message 1000000.  After that no other job
 * preempts until the last of these children is done.
 *
 * Offers.  A READY vertex is offered by its job, or waits on the list of its
 * thread when its host may take no agent.  A job without offers is not in the
 * line, so waiting vertices cost nothing.  When the host may take an agent
 * again, up to LOOK vertices of the thread's list return to the offers of
 * their jobs, and these return to their old places.  Jobs ahead (overfeed) are
 * taken from the thread's list, and only while no vertex of the thread is
 * offered.
 *
 * The share of a message (seed: Finch).  One message must not have all agents
 * while others wait.  A message with PARAMmsgconcurrency agents gets another
 * one only while it has fewer than PARAMmsgscale for each free agent.  If it
 * may have no more it is at its share: with order=preempt its job leaves the
 * line, with the other orders each of its vertices leaves the list of its
 * thread when its turn comes.
 *
 * This module does not know agents, and starts, feeds and delays nothing.
 * Costs: O(log n) of the jobs with offers.  The search for the job that
 * preempts is O(1) when single recipients wait, and O(n) at worst; it is
 * repeated when a job comes or is done, and once a second.
 */
#include "scheduler.h"

#define LOOK	64	/* vertices of a thread that are offered at once */

/*
 * job: a message within a ring, in the preemptive order while it has READY
 * vertices, else while some of them stand aside because the message is at its
 * share of the agents.  Counts are recipients.  Found in O(rings) of its
 * message, mostly one; places and shares O(log jobs).
 */
struct job {
	struct job *next;	/* of the same message */
	struct message *msg;
	struct ring *ring;
	struct list offer;	/* READY vertices that may go, or stand aside */
	struct timer place;	/* in ring->jobs, when something may go */
	struct timer share;	/* in ring->shares, when it has its share */
	double	key;		/* its place among the jobs of the ring */
	double	low, base;	/* its children are placed above low; which was
				 * base at first */
	struct job *parent;	/* whom it preempts, or NULL */
	struct job *child;	/* who preempts it */
	struct job *sibling, *back;	/* next and previous child */
	unsigned level;		/* how deep it preempts, 0: not */
	long	read;		/* that were READY once */
	long	chosen;		/* ... of these, that went or were taken away */
	long	avail;		/* delivery slots * slotcost; below 0: a debt */
	long	used;		/* slots beyond those expected by its parent */
};

/* ---- lists ----------------------------------------------------------- */

void
list_add(struct list *l, struct vertex *v)
{
	APPEND(l->head, v, next, prev);
	l->n++;
}

/* Before another one of the list, which is the head when it is empty. */
static void
list_put(struct list *l, struct vertex *v, struct vertex *at)
{
	l->n++;
	if (at == l->head) {
		PREPEND(l->head, v, next, prev);
		return;
	}
	v->next = at;
	v->prev = at->prev;
	at->prev->next = v;
	at->prev = v;
}

void
list_del(struct list *l, struct vertex *v)
{
	REMOVE(l->head, v, next, prev);
	v->next = v->prev = NULL;
	l->n--;
}

/* ---- jobs ------------------------------------------------------------ */

static int
is_preempt(const struct ring *r)
{
	return r->conf->v.order == ORDER_PREEMPT;
}

/* The vertex's job, or NULL. */
static struct job *
job_find(const struct vertex *v)
{
	struct job *j = v->msg->more == NULL ? NULL : v->msg->more->jobs;

	while (j != NULL && j->ring != v->thread->ring)
		j = j->next;
	return j;
}

/* ... made when there is none; NULL without memory. */
static struct job *
job_get(const struct vertex *v)
{
	struct ring *r = v->thread->ring;
	struct job *j = job_find(v);

	if (j != NULL)
		return j;
	if (heap_room(&r->jobs, r->njobs + 1) < 0 ||
	    heap_room(&r->shares, r->njobs + 1) < 0)
		return NULL;
	j = msg_more(v->msg) == NULL ? NULL : mem_get(sizeof(*j));
	if (j == NULL)
		return NULL;
	j->msg = v->msg;
	j->ring = r;
	j->key = v->msg->loaded;
	j->low = j->base = j->key - 1;
	j->next = v->msg->more->jobs;
	v->msg->more->jobs = j;
	r->njobs++;
	return j;
}

/* Recipients of its channel that are not in core yet; they may all be its. */
static long
rcpts_unread(const struct job *j)
{
	const struct part *p = msg_part(j->msg);

	while (p != NULL && p->chan != j->ring->chan)
		p = p->other;
	return p == NULL ? 0 : (long)p->unread;
}

/* Recipients that are still to be given. */
static long
rcpts_left(const struct job *j)
{
	return j->read + rcpts_unread(j) - j->chosen;
}

/* What was found out about who preempts whom may no longer be so. */
static void
forget_rival(struct ring *r)
{
	r->judged = NULL;
}

/* Puts the job into the line, or takes it out. */
static void
place_job(struct job *j)
{
	int stands = j->offer.n > 0 && j->share.pos == 0;

	if (stands != (j->place.pos != 0))
		forget_rival(j->ring);
	if (stands)
		heap_set(&j->ring->jobs, &j->place, j->key);
	else
		heap_del(&j->ring->jobs, &j->place);
	if (j->offer.n == 0)
		heap_del(&j->ring->shares, &j->share);
}

/* ---- the tree of who preempts whom ----------------------------------- */

/*
 * The job preempts nobody any more.  Its parent gets back what it did not
 * need; not a parent that it came to by adoption, which never paid.  Its
 * children are adopted, or left alone, and keep their level.
 */
static void
end_preemption(struct job *b)
{
	struct job *p = b->parent, *k;

	if (p != NULL) {
		if (b->level == p->level + 1)
			p->avail -= b->used * p->ring->conf->v.slotcost;
		REMOVE(p->child, b, sibling, back);
	}
	while ((k = b->child) != NULL) {
		REMOVE(b->child, k, sibling, back);
		k->parent = p;
		if (p != NULL)
			PREPEND(p->child, k, sibling, back);
	}
	if (p != NULL && p->child == NULL)
		p->low = p->base;
	b->parent = NULL;
	b->level = 0;
	b->used = 0;
	b->key = b->msg->loaded;
	b->low = b->base = b->key - 1;
	forget_rival(b->ring);
}

static void
job_free(struct job *j)
{
	struct job **p;

	end_preemption(j);
	heap_del(&j->ring->jobs, &j->place);
	heap_del(&j->ring->shares, &j->share);
	for (p = &j->msg->more->jobs; *p != j; p = &(*p)->next)
		;
	*p = j->next;
	j->ring->njobs--;
	free(j);
}

/* It goes when nothing more is to be expected of it. */
static void
retire(struct job *j)
{
	if (j->offer.n > 0 || j->read > j->chosen)
		return;
	if (rcpts_unread(j) == 0)
		job_free(j);
	else if (j->parent != NULL || j->child != NULL)
		end_preemption(j);
}

/* May b preempt c?  It takes its place before c, and c pays: 1 or 0. */
static int
preempt(struct job *c, struct job *b)
{
	volatile double key = (c->low + c->key) / 2;	/* as in consider */

	if (!(key > c->low && key < c->key))
		return 0;
	end_preemption(b);
	c->avail -= rcpts_left(b) * c->ring->conf->v.slotcost;
	b->used = -rcpts_left(b);
	b->level = c->level + 1;
	b->msg->preempts = 1;	/* intake.c lets it have more recipients */
	b->base = b->low = c->low;
	b->key = c->low = key;
	b->parent = c;
	PREPEND(c->child, b, sibling, back);
	place_job(b);
	forget_rival(c->ring);
	return 1;
}

/* ---- who may preempt ------------------------------------------------- */

/* What the job has waited for each of its recipients, seconds.  Some processors
 * calculate with more bits than a double keeps; what is stored makes equal
 * scores equal there, too. */
static double
score(const struct job *j)
{
	volatile double stored = (double)(j->ring->judged_at - j->msg->queued +
	    1) / (double)(rcpts_left(j) + j->chosen);

	return stored;
}

/* Is it the best so far to preempt the job that is judged, of those with so
 * many recipients at most? */
static void
consider(struct job *j, long most)
{
	struct ring *r = j->ring;
	long left = rcpts_left(j);
	double gain;

	if (j == r->judged || j->child != NULL || left <= 0 || left > most)
		return;
	gain = r->rival == NULL ? 1 : score(j) - score(r->rival);
	if (gain > 0 || (gain == 0 && j->key < r->rival->key))
		r->rival = j;
}

/*
 * The heap is walked in the order of places as far as that is cheap.  What is
 * behind a job that preempts nobody is younger than that, so it cannot score
 * more than the same wait for one recipient; what was loaded at a start may be
 * older, and then is not always found to be the best.
 */
static void
search(struct ring *r, unsigned i, long most)
{
	const struct heap *h = &r->jobs;
	unsigned a = 2 * i + 1, b = a + 1, first;
	struct job *j;

	if (i >= h->n)
		return;
	j = OWNER(struct job, place, h->v[i].timer);
	if (r->rival != NULL && j->level == 0 && j->key > r->rival->key &&
	    (double)(r->judged_at - j->msg->queued + 1) <= score(r->rival))
		return;
	consider(j, most);
	first = b < h->n && h->v[b].when < h->v[a].when ? b : a;
	search(r, first, most);
	search(r, a + b - first, most);
}

/* The best of those that c could pay for in the end, or NULL.  That nobody
 * is good enough stays so until something else changes, as what c earns is
 * what it no longer has to give. */
static struct job *
candidate(struct job *c)
{
	struct ring *r = c->ring;
	long mono = (long)now.mono, most;

	if (r->judged == c && (r->rival == NULL || r->judged_at == mono))
		return r->rival;
	r->judged = c;
	r->judged_at = mono;
	r->rival = NULL;
	most = (c->read - c->chosen + c->avail) / r->conf->v.slotcost;
	if (most > 0)
		search(r, 0, most);
	return r->rival;
}

/* Has c earned enough for b by now? */
static int
can_pay(const struct job *c, const struct job *b)
{
	const struct setting *s = &c->ring->conf->v;

	return (double)(c->avail / s->slotcost + s->slotloan) >=
	    (double)rcpts_left(b) * (double)(100 - s->slotdiscount) / 100;
}

/* ---- giving ---------------------------------------------------------- */

/* The thread is open or not, and has so many more vertices on offer. */
static void
set_open(struct thread *t, int open, int more)
{
	int was = t->open && t->noffer > 0;

	t->open = (unsigned char)open;
	t->noffer += (unsigned)more;
	t->ring->nopen += (unsigned)((open && t->noffer > 0) - was);
}

static double
key_of(const struct vertex *v)
{
	const struct job *j = job_find(v);

	return j != NULL ? j->key : v->msg->loaded;
}

/* The vertex waits for its thread, with those that do already.  What was on
 * offer stood before all these, so its place is near the beginning; where it
 * is neither there nor at the end, the list is to be put in order. */
static void
wait_in_thread(struct vertex *v)
{
	struct list *l = &v->thread->ready;
	struct vertex *at = l->head;
	double key = key_of(v);
	int i;

	if (at == NULL || key_of(at->prev) < key) {
		list_add(l, v);
		return;
	}
	for (i = 0; i < LOOK; i++, at = at->next)
		if (key <= key_of(at)) {
			list_put(l, v, at);
			return;
		}
	v->thread->fresh++;
	list_add(l, v);
}

static void
withdraw(struct job *j, struct vertex *v)
{
	list_del(&j->offer, v);
	v->offered = 0;
	set_open(v->thread, v->thread->open, -1);
	place_job(j);
}

/* The next vertex of the job whose thread is open; others on the way go to
 * wait for theirs.  NULL: there is none, it has left the line. */
static struct vertex *
open_vertex(struct job *j)
{
	struct vertex *v;

	while ((v = j->offer.head) != NULL && !v->thread->open) {
		withdraw(j, v);
		wait_in_thread(v);
	}
	return v;
}

/* The vertex by which somebody preempts c now, or NULL. */
static struct vertex *
preempting(struct job *c)
{
	const struct setting *s = &c->ring->conf->v;
	struct vertex *v;
	struct job *b;

	if (s->slotcost < 2 || c->avail <= 0 ||
	    rcpts_left(c) + c->chosen < s->minslots * s->slotcost)
		return NULL;
	while ((b = candidate(c)) != NULL) {
		v = open_vertex(b);
		if (v != NULL)	/* else it hides nobody any more */
			return can_pay(c, b) && preempt(c, b) ? v : NULL;
	}
	return NULL;
}

/* Its job counts on it no longer. */
void
order_take(struct vertex *v, int chosen)
{
	struct job *j = job_find(v);
	long n = (long)v->count;

	if (v->offered)
		withdraw(j, v);
	else
		list_del(&v->thread->ready, v);
	if (j == NULL)
		return;
	j->chosen += n;
	if (chosen) {
		j->avail += n;
		j->used += n;
	}
	if (!chosen || j->ring->judged != j)
		forget_rival(j->ring);
	v->count = 0;
	retire(j);
}

/* Its job, which counts on it from now on; or NULL, without memory. */
static struct job *
count_vertex(struct vertex *v)
{
	struct job *j = job_get(v);

	if (j == NULL || v->count)
		return j;
	v->count = v->left;
	j->read += (long)v->left;
	forget_rival(j->ring);
	return j;
}

/* ---- the order within a thread --------------------------------------- */

static int
by_age(const void *a, const void *b)
{
	const struct message *m = (*(struct vertex *const *)a)->msg;
	const struct message *o = (*(struct vertex *const *)b)->msg;

	if (m->born != o->born)
		return m->born < o->born ? -1 : 1;
	return m->link.hash < o->link.hash ? -1 : m->link.hash > o->link.hash;
}

static int
by_place(const void *a, const void *b)
{
	double m = key_of(*(struct vertex *const *)a);
	double o = key_of(*(struct vertex *const *)b);

	return m < o ? -1 : m > o;
}

/*
 * Costs O(n log n) at most and is done when an eighth or more is new, so it
 * is O(log n) a vertex; a small thread is always put right.
 */
void
order_run(struct thread *t)
{
	struct vertex **a, *v;
	unsigned i, j, n = t->ready.n;
	int is_random = t->ring->conf->v.order == ORDER_RANDOM;

	if (t->fresh == 0 || n < 2 || (n > 1000 && t->fresh < n / 8))
		return;
	a = mem_get(n * sizeof(*a));
	if (a == NULL)
		return;
	/* each goes to a place of those so far, and who was there to the end */
	for (i = 0, v = t->ready.head; v != NULL; v = v->next, i++) {
		j = is_random ? (unsigned)rnd(i + 1) : i;
		a[i] = a[j];
		a[j] = v;
	}
	if (!is_random)
		qsort(a, n, sizeof(*a), is_preempt(t->ring) ? by_place :
		    by_age);
	memset(&t->ready, 0, sizeof(t->ready));
	for (i = 0; i < n; i++)
		list_add(&t->ready, a[i]);
	free(a);
	t->fresh = 0;
}

/* ---- turns ----------------------------------------------------------- */

void
order_ready(struct thread *t, struct vertex *v)
{
	if (is_preempt(t->ring)) {
		count_vertex(v);
		wait_in_thread(v);
	} else {
		list_add(&t->ready, v);
		t->fresh++;
	}
}

/* How many vertices of an open thread are offered.  Where agents are given
 * jobs ahead that is what may go at once: the next ones are theirs. */
static unsigned
offers_wanted(const struct thread *t)
{
	const struct setting *s = &t->ring->conf->v;
	long room = fb_room(t, (long)t->nta);

	return s->overfeed + s->backlog > 0 && room < LOOK ? (unsigned)room :
	    LOOK;
}

static void
offer(struct thread *t, int open)
{
	struct vertex *v;
	struct job *j;
	unsigned n = open ? offers_wanted(t) : 0;

	set_open(t, open, 0);
	if (t->noffer >= n)
		return;
	order_run(t);
	while (t->noffer < n && (v = t->ready.head) != NULL) {
		j = count_vertex(v);
		if (j == NULL)
			return;		/* another time */
		list_del(&t->ready, v);
		v->offered = 1;
		list_add(&j->offer, v);
		set_open(t, open, 1);
		place_job(j);
	}
}

void
order_open(struct thread *t, int open)
{
	struct ring *r = t->ring;

	if (is_preempt(r)) {
		offer(t, open);
	} else if (!open || t->ready.n == 0) {
		heap_del(&r->ready, &t->turn);
	} else if (t->turn.pos == 0) {
		r->turn += 1;
		/* seed 22.1: with $host, at random from the current choices */
		heap_set(&r->ready, &t->turn, !r->conf->bound ? r->turn :
		    r->turn + rnd(r->ready.n + 1) - rnd(r->ready.n + 1));
	}
}

int
order_waits(const struct ring *r)
{
	return is_preempt(r) ? r->nopen > 0 && r->jobs.n > 0 : r->ready.n > 0;
}

static struct vertex *
next_by_job(struct ring *r)
{
	struct vertex *v, *other;
	struct timer *t;
	struct job *j;

	while (r->nopen > 0 && (t = heap_first(&r->jobs)) != NULL) {
		j = OWNER(struct job, place, t);
		v = open_vertex(j);
		if (v == NULL)
			continue;
		other = preempting(j);
		return other != NULL ? other : v;
	}
	return NULL;
}

struct vertex *
order_next(struct ring *r)
{
	struct timer *first = heap_first(&r->ready);
	struct thread *t;

	if (is_preempt(r))
		return next_by_job(r);
	if (first == NULL)
		return NULL;
	t = OWNER(struct thread, turn, first);
	if (t->nta == 0)	/* its run begins */
		order_run(t);
	return t->ready.head;
}

/* ---- the share of a message ------------------------------------------ */

int
order_allowed(const struct message *m, long nfree)
{
	const struct config *c = q.config;

	return (long)m->nfed < c->msgconcurrency ||
	    (nfree > 0 && (double)m->nfed < (double)c->msgscale *
	    (double)nfree);
}

int
order_block(struct vertex *v)
{
	struct ring *r = v->thread->ring;
	struct job *j = job_get(v);

	if (j == NULL)
		return -1;
	if (!v->offered) {
		list_del(&v->thread->ready, v);
		list_add(&j->offer, v);
		v->offered = 1;
		set_open(v->thread, v->thread->open, 1);
	}
	heap_set(&r->shares, &j->share, j->msg->nfed);
	place_job(j);
	return 0;
}

int
order_blocked(const struct vertex *v)
{
	const struct job *j = job_find(v);

	return j != NULL && j->share.pos != 0 &&
	    (v->offered || is_preempt(j->ring));
}

struct vertex *
order_unblock(struct ring *r, long nfree)
{
	struct timer *t = heap_first(&r->shares);
	struct vertex *v;
	struct job *j;

	if (t == NULL)
		return NULL;
	j = OWNER(struct job, share, t);
	if (!order_allowed(j->msg, nfree))
		return NULL;
	v = j->offer.head;
	if (is_preempt(r)) {
		heap_del(&r->shares, &j->share);
		place_job(j);
		return v;
	}
	withdraw(j, v);
	list_put(&v->thread->ready, v, v->thread->ready.head);
	if (j->offer.n == 0)
		job_free(j);
	return v;
}

void
order_share(struct message *m)
{
	struct job *j;

	for (j = m->more == NULL ? NULL : m->more->jobs; j != NULL;
	    j = j->next)
		if (j->share.pos != 0)
			heap_set(&j->ring->shares, &j->share, m->nfed);
}

void
order_forget(struct message *m)
{
	struct vertex *v;
	struct job *j;

	while (m->more != NULL && (j = m->more->jobs) != NULL) {
		while ((v = j->offer.head) != NULL) {
			withdraw(j, v);
			list_add(&v->thread->ready, v);
		}
		job_free(j);
	}
}
