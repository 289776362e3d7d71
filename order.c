/*
 * order.c - chooses the READY vertex of a ring that goes next.
 *
 * The keyword order of the clause says how:
 *
 *	random, age	Threads take turns (thread.c).  Within a thread the
 *			vertices are shuffled, or the oldest message is first.
 *	preempt		Messages take turns in the order in which they were
 *			loaded, which after a start is that of the directory,
 *			or are tried again; but a small one may go before a
 *			large one.  The rules are those of the seed (Postfix,
 *			"Preemptive scheduling").  Most of this file is about
 *			them.
 *
 * Preemption.  In this file a job is a message within a ring; for an agent it
 * is one vertex.  Jobs stand in a line.  The current job is the first with a
 * vertex whose host may take an agent.  It gives its vertices, one for a host.
 * For each recipient that it gives it earns 1 / slotcost of a delivery slot.
 *
 * A small job behind the current one may preempt it: it is moved just before
 * the current job, and the current job pays one slot for each recipient of the
 * small one.  It need not have all of them: slotdiscount percent may be
 * missing, and slotloan slots more.  Missing slots are its debt, and nothing
 * preempts it before it has earned them.  If several jobs could preempt, the
 * one with the longest wait, divided by its recipients, does.
 *
 *	slotcost=5, no loan, no discount; the current job has 1000 recipients
 *
 *	it has given 9		1.8 slots
 *	a job with 2 comes	price 2: it waits
 *	it has given 10		2 slots: the job with 2 goes before it
 *	after that		0 slots; the 11th recipient is next
 *
 * So a message of n recipients is done when n * slotcost / (slotcost - 1)
 * recipients were given, whatever mail comes.  A message of at most
 * minslots * slotcost recipients is never preempted.
 *
 * A job that preempts may be preempted, too: jobs form trees.  The job that
 * pays is the parent.  When a child is done, slots that it did not use go back
 * to its parent, and its own children become children of that parent.
 *
 * The seed counts in batches of recipients for one host.  A vertex is such a
 * batch, but of any size; therefore work is counted in recipients here.
 *
 * Places are numbers.  That of a message is m->loaded.  A job of retries, or of
 * a host that has died since, gets a new number: old mail could keep new mail
 * out for ever, if one round of tries takes longer than its waits.  A child
 * stands half way between the job before its parent and the parent: the
 * children of 1000 stand at 999.5, 999.75 and so on.  A double has bits for 43
 * such halves for message 1000, and for 33 for message 1000000.  After that no
 * other job preempts until the last of these children is done.
 *
 * Offers.  A READY vertex is offered by its job, or waits on the list of its
 * thread when its host may take no agent.  A job without offers is not in the
 * line, so waiting vertices cost nothing.  When the host may take an agent
 * again, up to LOOK vertices of the thread's list return to the offers of
 * their jobs, and these return to their old places.  An agent that is topped up
 * (overfeed) gets vertices from the thread's list, and only while none of the
 * thread is offered.
 *
 * The share of a message (seed: Finch).  One message must not have all agents
 * while others wait.  A message with PARAMmsgconcurrency agents gets another
 * one only while it has fewer than PARAMmsgscale for each free agent.  If it
 * may have no more it is at its share: with order=preempt its job leaves the
 * line, with the other orders each of its vertices leaves the list of its
 * thread when its turn comes.
 *
 * This module starts and feeds no agents.
 * Costs: O(log n) of the jobs with offers.  The search for the job that
 * preempts is O(1) when single recipients wait, and O(n) at worst; it is
 * repeated when a job comes or is done, and once a second.
 */
#include "scheduler.h"

#define LOOK	64	/* vertices of a thread that are offered at once */

/*
 * job: a message within a ring.  In the preemptive order it exists while the
 * message has READY vertices in the ring, with other orders while some of these
 * are blocked because the message is at its share of the agents.  Counts are
 * recipients.  Found in O(rings) of its message, mostly one; places and shares
 * O(log jobs).
 */
struct job {
	struct job *next;	/* of the same message */
	struct message *msg;
	struct ring *ring;
	struct list offer;	/* READY vertices on offer, or blocked */
	struct timer place;	/* in ring->jobs, while a vertex may go */
	struct timer share;	/* in ring->shares, while at its share */
	double	home;		/* its own place among those of the ring */
	long	since;		/* mono; when it took that place */
	double	key;		/* its place now: its own, or one before
				 * its parent */
	double	low, base;	/* its children are placed above low; low was
				 * base at first */
	struct job *parent;	/* the job that it preempts, or NULL */
	struct job *child;	/* the last job that preempts it */
	struct job *sibling, *back;	/* next and previous child */
	unsigned level;		/* how deep it preempts, 0: not */
	long	read;		/* recipients that have been READY */
	long	chosen;		/* of read, those given or no longer READY */
	long	avail;		/* delivery slots * slotcost; below 0: a debt */
	long	used;		/* slots beyond those expected by its parent */
};

/* ---- lists ----------------------------------------------------------- */

void
list_append(struct list *l, struct vertex *v)
{
	APPEND(l->head, v, next, prev);
	l->n++;
}

/* Inserts before at, an element of the list; NULL if the list is empty. */
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
list_remove(struct list *l, struct vertex *v)
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
	struct job *j = v->msg->jobs;

	while (j != NULL && j->ring != v->thread->ring)
		j = j->next;
	return j;
}

/* The job stands at its own place, and no child stands before it. */
static void
go_home(struct job *j)
{
	j->key = j->home;
	j->low = j->base = j->key - 1;
}

/* Gives the job the place behind all others. */
static void
go_behind(struct job *j)
{
	j->home = ++q.events;
	j->since = NOW;
	go_home(j);
}

/* The vertex's job, made when there is none; NULL without memory. */
static struct job *
job_get(const struct vertex *v)
{
	struct ring *r = v->thread->ring;
	struct job *j = job_find(v);

	if (j != NULL)
		return j;
	if (heap_reserve(&r->jobs, r->njobs + 1) < 0 ||
	    heap_reserve(&r->shares, r->njobs + 1) < 0 ||
	    (j = mem_get(sizeof(*j))) == NULL)
		return NULL;
	j->msg = v->msg;
	j->ring = r;
	j->home = v->msg->loaded;
	j->since = v->msg->queued;
	go_home(j);
	if (v->tries > 0)
		go_behind(j);
	j->next = v->msg->jobs;
	v->msg->jobs = j;
	r->njobs++;
	return j;
}

/* Recipients that are still to be given. */
static long
rcpts_left(const struct job *j)
{
	return j->read - j->chosen;
}

/* The result of the last search for a job that preempts is no longer valid. */
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

/* ---- the tree of preemption ------------------------------------------ */

/*
 * The job preempts no other any more.  Its parent gets back the slots that it
 * did not use, if that parent paid for it.  Its children become children of its
 * parent, if there is one, and keep their level.
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
	go_home(b);
	forget_rival(b->ring);
}

static void
job_free(struct job *j)
{
	struct job **p;

	end_preemption(j);
	heap_del(&j->ring->jobs, &j->place);
	heap_del(&j->ring->shares, &j->share);
	for (p = &j->msg->jobs; *p != j; p = &(*p)->next)
		;
	*p = j->next;
	j->ring->njobs--;
	free(j);
}

/* Lets b preempt c: it gets the place before c, and c pays.  1; 0 if there are
 * no more places before c. */
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
	b->base = b->low = c->low;
	b->key = c->low = key;
	b->parent = c;
	PREPEND(c->child, b, sibling, back);
	place_job(b);
	forget_rival(c->ring);
	return 1;
}

/* ---- which job may preempt ------------------------------------------- */

/* The wait of the job for each of its recipients, seconds.  Some processors
 * calculate with more bits than a double keeps; storing the value makes equal
 * scores equal there, too. */
static double
score(const struct job *j)
{
	volatile double stored = (double)(j->ring->judged_at - j->since + 1) /
	    (rcpts_left(j) + j->chosen);

	return stored;
}

/* Makes the job the rival of r->judged if it has the best score so far, and at
 * most so many recipients. */
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
 * Walks the heap, roughly in the order of places.  Jobs behind one that
 * preempts no other are younger, so none of them can score more than the wait
 * of that one for a single recipient; where this is not enough the walk ends.
 * Messages loaded at a start are not in the order of age; so the best of them
 * may be missed.
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
	    (r->judged_at - j->since + 1) <= score(r->rival))
		return;
	consider(j, most);
	first = b < h->n && h->v[b].when < h->v[a].when ? b : a;
	search(r, first, most);
	search(r, a + b - first, most);
}

/* The best of the jobs that need fewer slots than c has earned and can still
 * earn, or NULL.  That sum does not change while c gives recipients; so a
 * result of NULL is kept until another job changes. */
static struct job *
candidate(struct job *c)
{
	struct ring *r = c->ring;
	long mono = NOW, most;

	if (r->judged == c && (r->rival == NULL || r->judged_at == mono))
		return r->rival;
	r->judged = c;
	r->judged_at = mono;
	r->rival = NULL;
	most = (c->read - c->chosen + c->avail - 1) / r->conf->v.slotcost;
	if (most > 0)
		search(r, 0, most);
	return r->rival;
}

/* Has c earned enough for b by now? */
static int
can_pay(const struct job *c, const struct job *b)
{
	const struct setting *s = &c->ring->conf->v;

	return (c->avail / s->slotcost + s->slotloan) >=
	    (double)rcpts_left(b) * (100 - s->slotdiscount) / 100;
}

/* ---- giving ---------------------------------------------------------- */

/* Sets whether the thread may take agents; more vertices of it are on offer. */
static void
set_open(struct thread *t, int open, int more)
{
	int was = t->open && t->noffer > 0;

	t->open = open;
	t->noffer += more;
	t->ring->nopen += (open && t->noffer > 0) - was;
}

static double
key_of(const struct vertex *v)
{
	const struct job *j = job_find(v);

	return j != NULL ? j->key : v->msg->loaded;
}

/* Puts the vertex on the list of its thread.  A vertex that was on offer stands
 * before all others, so its place is near the beginning; if its place is
 * neither there nor at the end, order_sort_thread has to sort the list. */
static void
wait_in_thread(struct vertex *v)
{
	struct list *l = &v->thread->ready;
	struct vertex *at = l->head;
	double key = key_of(v);
	int i;

	if (at == NULL || key_of(at->prev) < key) {
		list_append(l, v);
		return;
	}
	for (i = 0; i < LOOK; i++, at = at->next)
		if (key <= key_of(at)) {
			list_put(l, v, at);
			return;
		}
	v->thread->fresh++;
	list_append(l, v);
}

static void
withdraw(struct job *j, struct vertex *v)
{
	list_remove(&j->offer, v);
	v->offered = 0;
	set_open(v->thread, v->thread->open, -1);
	place_job(j);
}

/* The next vertex of the job whose thread may take an agent; those before it go
 * to the lists of their threads.  NULL: there is none, and the job has left the
 * line; or its host has died since it took its place, and it goes behind. */
static struct vertex *
open_vertex(struct job *j)
{
	struct vertex *v;

	while ((v = j->offer.head) != NULL && !v->thread->open) {
		withdraw(j, v);
		wait_in_thread(v);
	}
	if (v == NULL || j->home > v->thread->died || j->parent != NULL ||
	    j->child != NULL || rcpts_left(j) != (long)v->counted)
		return v;
	go_behind(j);
	place_job(j);
	forget_rival(j->ring);
	return NULL;
}

/* The vertex of a job that preempts c now, or NULL. */
static struct vertex *
preempting(struct job *c)
{
	const struct setting *s = &c->ring->conf->v;
	struct vertex *v;
	struct job *b;

	if (s->slotcost < 2 || c->avail <= 0 ||
	    rcpts_left(c) + c->chosen <= s->minslots * s->slotcost)
		return NULL;
	while ((b = candidate(c)) != NULL) {
		v = open_vertex(b);
		if (v != NULL)	/* else another may be the best */
			return can_pay(c, b) && preempt(c, b) ? v : NULL;
	}
	return NULL;
}

/* Its job no longer counts it as READY. */
void
order_dequeue(struct vertex *v, int chosen)
{
	struct job *j = job_find(v);
	long n = v->counted;

	if (v->offered)
		withdraw(j, v);
	else
		list_remove(&v->thread->ready, v);
	if (j == NULL)
		return;
	j->chosen += n;
	if (chosen) {
		j->avail += n;
		j->used += n;
	}
	if (!chosen || j->ring->judged != j)
		forget_rival(j->ring);
	v->counted = 0;
	if (j->offer.n == 0 && j->read <= j->chosen)
		job_free(j);
}

/* Its job, which counts it as READY from now on; or NULL, without memory. */
static struct job *
count_vertex(struct vertex *v)
{
	struct job *j = job_get(v);

	if (j == NULL || v->counted > 0)
		return j;
	v->counted = v->left;
	j->read += v->left;
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
 * Costs O(n log n) at most, and runs when an eighth of the list or more is new,
 * so it is O(log n) a vertex; a small thread is always sorted.
 */
void
order_sort_thread(struct thread *t)
{
	struct vertex **a, *v;
	unsigned i, j, n = t->ready.n;
	int is_random = t->ring->conf->v.order == ORDER_RANDOM;

	if (t->fresh == 0 || n < 2 || (n > 1000 && t->fresh < n / 8))
		return;
	a = mem_get(n * sizeof(*a));
	if (a == NULL)
		return;
	/* a shuffle: each vertex changes places with a random one before it */
	for (i = 0, v = t->ready.head; v != NULL; v = v->next, i++) {
		j = is_random ? rnd(i + 1) : i;
		a[i] = a[j];
		a[j] = v;
	}
	if (!is_random)
		qsort(a, n, sizeof(*a), is_preempt(t->ring) ? by_place :
		    by_age);
	memset(&t->ready, 0, sizeof(t->ready));
	for (i = 0; i < n; i++)
		list_append(&t->ready, a[i]);
	free(a);
	t->fresh = 0;
}

/* ---- turns ----------------------------------------------------------- */

void
order_enqueue(struct thread *t, struct vertex *v)
{
	if (is_preempt(t->ring)) {
		count_vertex(v);
		wait_in_thread(v);
	} else {
		list_append(&t->ready, v);
		t->fresh++;
	}
}

/* How many vertices of a thread are offered, if it may take agents.  With jobs
 * ahead, only as many as new agents may come: the next ones are jobs ahead. */
static unsigned
offers_wanted(const struct thread *t)
{
	const struct setting *s = &t->ring->conf->v;
	long room = fb_agents_left(t, t->nta);

	return s->overfeed + s->backlog > 0 && room < LOOK ? room : LOOK;
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
	order_sort_thread(t);
	while (t->noffer < n && (v = t->ready.head) != NULL) {
		j = count_vertex(v);
		if (j == NULL)
			return;		/* another time */
		list_remove(&t->ready, v);
		v->offered = 1;
		list_append(&j->offer, v);
		set_open(t, open, 1);
		place_job(j);
	}
}

void
order_set_open(struct thread *t, int open)
{
	struct ring *r = t->ring;

	if (is_preempt(r)) {
		offer(t, open);
	} else if (!open || t->ready.n == 0) {
		heap_del(&r->ready, &t->turn);
	} else if (t->turn.pos == 0) {
		heap_set(&r->ready, &t->turn, r->turn += 1);
	}
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
order_next_vertex(struct ring *r)
{
	struct timer *first = heap_first(&r->ready);
	struct thread *t;

	if (is_preempt(r))
		return next_by_job(r);
	if (first == NULL)
		return NULL;
	/* seed 22.1: with $host, at random from the current choices */
	if (r->conf->bound)
		first = r->ready.v[rnd(r->ready.n)].timer;
	t = OWNER(struct thread, turn, first);
	if (t->nta == 0)	/* its run begins */
		order_sort_thread(t);
	return t->ready.head;
}

/* ---- the share of a message ------------------------------------------ */

int
order_is_below_share(const struct message *m, long nfree)
{
	const struct config *c = q.config;

	return (long)m->nfed < c->msgconcurrency ||
	    (nfree > 0 && m->nfed < (double)c->msgscale * nfree);
}

int
order_block_vertex(struct vertex *v)
{
	struct ring *r = v->thread->ring;
	struct job *j = job_get(v);

	if (j == NULL)
		return -1;
	if (!v->offered) {
		list_remove(&v->thread->ready, v);
		list_append(&j->offer, v);
		v->offered = 1;
		set_open(v->thread, v->thread->open, 1);
	}
	heap_set(&r->shares, &j->share, j->msg->nfed);
	place_job(j);
	return 0;
}

int
order_is_blocked(const struct vertex *v)
{
	const struct job *j = job_find(v);

	return j != NULL && j->share.pos != 0 &&
	    (v->offered || is_preempt(j->ring));
}

struct vertex *
order_unblock_job(struct ring *r, long nfree)
{
	struct timer *t = heap_first(&r->shares);
	struct vertex *v;
	struct job *j;

	if (t == NULL)
		return NULL;
	j = OWNER(struct job, share, t);
	if (!order_is_below_share(j->msg, nfree))
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
order_count_agents(struct message *m, int more)
{
	struct job *j;

	m->nfed += more;
	for (j = m->jobs; j != NULL; j = j->next)
		if (j->share.pos != 0)
			heap_set(&j->ring->shares, &j->share, m->nfed);
}

void
order_free_jobs(struct message *m)
{
	struct vertex *v;
	struct job *j;

	while ((j = m->jobs) != NULL) {
		while ((v = j->offer.head) != NULL) {
			withdraw(j, v);
			list_append(&v->thread->ready, v);
		}
		job_free(j);
	}
}
