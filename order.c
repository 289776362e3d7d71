/*
 * order.c - chooses the READY vertex of a ring that goes next.
 *
 * The keyword order of the clause says how:
 *
 *	random, age	Threads take turns.  Within a thread the vertices are
 *			shuffled, or the oldest message is first.
 *	preempt		Messages take turns in the order in which they were
 *			loaded (at a start, the order of the directory) or
 *			became due again; but a small message may go before a
 *			large one.  The rules are those of Postfix
 *			(SCHEDULER_README, "Preemptive scheduling").  Most of
 *			this file is about them.
 *
 * Preemption.  A claim is a message within a ring: what Postfix calls a job.
 * Claims stand in a line.  The current claim is the first with a
 * vertex whose host may take an agent.  Its vertices are fed, one at a time.
 * For each recipient fed, the claim earns 1 / slotcost of a delivery slot.
 *
 * A small claim behind the current one may preempt it: the small claim
 * is moved just before the other, which pays one slot for each recipient of the
 * small one.  The current claim need not have all these slots: slotdiscount
 * percent may be missing, and slotloan slots more.  Missing slots are its debt,
 * and nothing preempts it before it has earned them.  If several claims could
 * preempt, the one with the longest wait, divided by its recipients, does.
 *
 *	slotcost=5, no loan, no discount; the current claim has 1000 recipients
 *
 *	9 of them are fed	1.8 slots
 *	a claim with 2 comes	price 2: the new claim waits
 *	10 of them are fed	2 slots: the claim with 2 goes first
 *	then			0 slots; the 11th recipient is next
 *
 * So a message of n recipients is done, at the latest, when n * slotcost /
 * (slotcost - 1) recipients were fed, whatever mail comes.  A message of at
 * most minslots * slotcost recipients is never preempted.
 *
 * A claim that preempts may be preempted, too: claims form trees.  The claim
 * that pays is the parent.  When a child is done, slots that it did not use go
 * back to its parent, and its own children become children of that parent.
 *
 * Postfix counts in batches of recipients for one host.  A vertex is such a
 * batch, but of any size up to maxrcpts; so work is counted in recipients here.
 *
 * Places are numbers.  That of a message is m->load_event.  A claim of retries,
 * or of a host that has died since the claim got its place, gets a new number.
 * Otherwise old mail could keep new mail out for ever, if one try of all old
 * mail took longer than the wait for the next try.  A child stands half way
 * between the claim before its parent and the parent: the children of 1000
 * stand at 999.5, 999.75 and so on.  A double has bits for 43 such halves at
 * message 1000, and for 33 at message 1000000.  After that no other claim
 * preempts until the last of these children is done.
 *
 * Offers.  A READY vertex is offered by its claim, or waits on the list of its
 * thread when its host may take no agent.  A claim without offers is not in the
 * line, so waiting vertices cost nothing.  When the host may take an agent
 * again, up to OFFERS_MOST vertices of the thread's list are offered again by
 * their claims, which return to their old places.  An agent that is topped up
 * (overfeed) gets vertices from the thread's list, and only while none of the
 * thread is offered.
 *
 * The share of a message, an idea of Tony Finch.  One message must not have all
 * agents while others wait.  A message with PARAMmsgconcurrency agents gets
 * another one only while it has fewer than PARAMmsgscale for each free agent.
 * If it may have no more it is at its share: with order=preempt its claim
 * leaves the line, with the other orders each of its vertices leaves the list
 * of its thread when its turn comes.
 *
 * This module starts and feeds no agents.
 * Costs: O(log claims with offers) for a vertex.  The search for the claim that
 * preempts is O(1) when each claim that waits has one recipient, and O(claims
 * with offers) at worst; it is repeated when a claim comes or is done, and once
 * a second.
 */
#include "scheduler.h"

#define OFFERS_MOST	64	/* vertices of one thread on offer */

static double last_turn;	/* number of the last turn of a thread */

/* ranking: a ring, with the members that this module alone uses. */
struct ranking {
	struct ring ring;	/* the first member: RANKING converts */
	struct heap claims;	/* claims with offers, by key */
	struct heap shares;	/* claims of messages at their share, by nfed */
	unsigned nclaims;	/* claims, with and without offers */
	unsigned nopen;		/* threads that can take an agent and have
				 * vertices on offer */
	struct claim *judged;	/* the claim whose rival was searched last */
	struct claim *rival;	/* the claim that may preempt judged, or NULL */
	long	judged_at;	/* mono; when rival was last searched for */
};

#define RANKING(r) ((struct ranking *)(r))
/* Lets best_rival search again, after a change of claims. */
#define clear_rival(r) (RANKING(r)->judged = NULL)

/*
 * claim: a message within a ring, a job in Postfix.  In the preemptive order a
 * claim exists while the message has READY vertices in the ring, with other
 * orders while a vertex is blocked because the message is at its share of the
 * agents.  Costs: O(rings of the message), mostly one, to find a claim; O(log
 * claims) for its timers.
 */
struct claim {
	struct claim *next;	/* of the same message */
	struct message *msg;
	struct ring *ring;
	struct list offer;	/* READY vertices on offer, or blocked */
	struct timer line;	/* in claims of the ring, by key, while the
				 * claim is in the line */
	struct timer share;	/* in shares of the ring, while the message is
				 * at its share */
	double	own_key;	/* the claim's own place in the line */
	long	since;		/* mono; beginning of the wait: the message came
				 * or the claim was moved to the end */
	double	key;		/* the present place: own_key, or right before
				 * the parent */
	double	low;		/* the next child stands between low and key */
	double	base;		/* value of low while the claim has no child */
	struct claim *parent;	/* the claim that this one preempts, or NULL */
	struct claim *child;	/* claims that preempt this one, newest first */
	struct claim *sibling, *back;	/* next and previous child of parent */
	unsigned level;		/* depth in the tree when the claim preempted;
				 * 0: it did not preempt */
	long	entered;	/* recipients that have been READY */
	long	gone;		/* entered recipients that were fed, or are not
				 * READY any more */
	long	avail;		/* delivery slots * slotcost; below 0: a debt */
	long	used;		/* recipients fed, less recipients that the
				 * parent has paid for */
};

/* ---- lists ----------------------------------------------------------- */

void
list_insert(struct list *l, struct vertex *v, struct vertex *before)
{
	INSERT(l->head, v, before, next, prev);
	l->n++;
}

void
list_remove(struct list *l, struct vertex *v)
{
	REMOVE(l->head, v, next, prev);
	v->next = v->prev = NULL;
	l->n--;
}

/* ---- rings ----------------------------------------------------------- */

struct ring *
order_new_ring(void)
{
	return mem_get(sizeof(struct ranking));
}

void
order_destroy_ring(struct ring *r)
{
	free(r->trouble);
	free(r->ready.v);
	free(RANKING(r)->claims.v);
	free(RANKING(r)->shares.v);
	free(RANKING(r));
}

int
order_has_work(const struct ring *r)
{
	return r->ready.n > 0 ||
	    (RANKING(r)->nopen > 0 && RANKING(r)->claims.n > 0);
}

/* ---- claims ------------------------------------------------------------ */

/* Returns the claim of the vertex, or NULL. */
static struct claim *
find_claim(const struct vertex *v)
{
	struct claim *c = v->msg->claims;

	while (c != NULL && c->ring != v->thread->ring)
		c = c->next;
	return c;
}

/* Puts the claim, which has no child, at its own place. */
static void
use_own_key(struct claim *c)
{
	c->key = c->own_key;
	c->low = c->base = c->key - 1;
}

/* Gives the claim a new place, behind all others. */
static void
move_to_end(struct claim *c)
{
	c->own_key = ++q.events;
	c->since = NOW;
	use_own_key(c);
}

/* Returns the claim of the vertex, made if there is none; NULL without
 * memory. */
static struct claim *
ensure_claim(const struct vertex *v)
{
	struct ring *r = v->thread->ring;
	struct ranking *k = RANKING(r);
	struct claim *c = find_claim(v);

	if (c != NULL)
		return c;
	if (heap_reserve(&k->claims, k->nclaims) < 0 ||
	    heap_reserve(&k->shares, k->nclaims) < 0 ||
	    (c = mem_get(sizeof(*c))) == NULL)
		return NULL;
	c->msg = v->msg;
	c->ring = r;
	c->own_key = v->msg->load_event;
	c->since = v->msg->queued;
	use_own_key(c);
	if (v->tries > 0)
		move_to_end(c);
	c->next = v->msg->claims;
	v->msg->claims = c;
	k->nclaims++;
	return c;
}

/* Returns the number of READY recipients of the claim. */
static long
ready_rcpts(const struct claim *c)
{
	return c->entered - c->gone;
}

/* Puts a claim with offers into the line unless its message is at its share;
 * takes other claims out.  A claim without offers leaves the shares, too. */
static void
update_line(struct claim *c)
{
	int in_line = c->offer.n > 0 && c->share.pos == 0;

	if (in_line != (c->line.pos != 0))
		clear_rival(c->ring);
	if (in_line)
		heap_set(&RANKING(c->ring)->claims, &c->line, c->key);
	else
		heap_del(&RANKING(c->ring)->claims, &c->line);
	if (c->offer.n == 0)
		heap_del(&RANKING(c->ring)->shares, &c->share);
}

/* ---- the tree of preemption ------------------------------------------ */

/*
 * Ends the preemption by the claim.  If its parent has paid for the claim, the
 * parent gets back the slots that the claim did not use, or pays those that it
 * used beyond the price.  Children of the claim become children of its parent,
 * if there is one, and keep their level.
 */
static void
end_preemption(struct claim *c)
{
	struct claim *parent = c->parent, *child;

	if (parent != NULL) {
		if (c->level == parent->level + 1)
			parent->avail -= c->used * c->ring->conf->v.slotcost;
		REMOVE(parent->child, c, sibling, back);
	}
	while ((child = c->child) != NULL) {
		REMOVE(c->child, child, sibling, back);
		child->parent = parent;
		if (parent != NULL)
			PREPEND(parent->child, child, sibling, back);
	}
	if (parent != NULL && parent->child == NULL)
		parent->low = parent->base;
	c->parent = NULL;
	c->level = 0;
	c->used = 0;
	use_own_key(c);
	clear_rival(c->ring);
}

static void
free_claim(struct claim *c)
{
	struct claim **p;

	end_preemption(c);
	heap_del(&RANKING(c->ring)->claims, &c->line);
	heap_del(&RANKING(c->ring)->shares, &c->share);
	for (p = &c->msg->claims; *p != c; p = &(*p)->next)
		;
	*p = c->next;
	RANKING(c->ring)->nclaims--;
	free(c);
}

/* Lets the child preempt the parent, which pays for it, and puts the child
 * before the parent.  Returns 0, or -1 if there is no place left. */
static int
preempt_claim(struct claim *parent, struct claim *child)
{
	/* volatile drops the bits that some processors calculate beyond those
	 * of a double, so the check below is of the value that is stored */
	volatile double key = (parent->low + parent->key) / 2;

	if (!(key > parent->low && key < parent->key))
		return -1;
	end_preemption(child);
	parent->avail -= ready_rcpts(child) * parent->ring->conf->v.slotcost;
	child->used = -ready_rcpts(child);
	child->level = parent->level + 1;
	child->base = child->low = parent->low;
	child->key = parent->low = key;
	child->parent = parent;
	PREPEND(parent->child, child, sibling, back);
	update_line(child);
	return 0;
}

/* ---- which claim may preempt ------------------------------------------- */

/* Returns the seconds that the claim has waited, divided by its recipients.
 * Some processors calculate with more bits than a double keeps; storing the
 * value makes equal scores equal there, too. */
static double
score(const struct claim *c)
{
	volatile double stored = (RANKING(c->ring)->judged_at - c->since + 1) /
	    (double)c->entered;

	return stored;
}

/* Makes the claim the rival of the judged claim if it has the best score so
 * far, no child, and no more READY recipients than the number most. */
static void
consider_rival(struct claim *c, long most)
{
	struct ranking *k = RANKING(c->ring);
	long left = ready_rcpts(c);
	double gain;

	if (c == k->judged || c->child != NULL || left <= 0 || left > most)
		return;
	gain = k->rival == NULL ? 1 : score(c) - score(k->rival);
	if (gain > 0 || (gain == 0 && c->key < k->rival->key))
		k->rival = c;
}

/*
 * Searches element i of the heap and the elements below it, roughly in the
 * order of places, for the best rival of the judged claim.  A score is a wait
 * divided by recipients.  Claims behind a claim of level 0 are younger, so
 * their scores are at most the wait of that claim; the search ends where that
 * wait is no more than the score of the rival so far.  Messages loaded at a
 * start are not in the order of age, so the search may miss the best of them.
 */
static void
search_rival(struct ranking *k, unsigned i, long most)
{
	const struct heap *h = &k->claims;
	unsigned a = 2 * i + 1, b = a + 1, first;
	struct claim *c;

	if (i >= h->n)
		return;
	c = OWNER(struct claim, line, h->v[i].timer);
	if (k->rival != NULL && c->level == 0 && c->key > k->rival->key &&
	    (k->judged_at - c->since + 1) <= score(k->rival))
		return;
	consider_rival(c, most);
	first = b < h->n && h->v[b].when < h->v[a].when ? b : a;
	search_rival(k, first, most);
	search_rival(k, a + b - first, most);
}

/* Returns the best of the claims that need fewer slots than the current claim
 * has earned and can still earn, or NULL.  This sum does not change while
 * recipients of the current claim are fed, so the result NULL is valid until
 * another claim changes. */
static struct claim *
best_rival(struct claim *current)
{
	struct ranking *k = RANKING(current->ring);
	long mono = NOW, most;

	if (k->judged == current && (k->rival == NULL || k->judged_at == mono))
		return k->rival;
	k->judged = current;
	k->judged_at = mono;
	k->rival = NULL;
	most = (ready_rcpts(current) + current->avail - 1) /
	    current->ring->conf->v.slotcost;
	if (most > 0)
		search_rival(k, 0, most);
	return k->rival;
}

/* Returns 1 if the current claim has slots enough for the rival. */
static int
can_pay(const struct claim *current, const struct claim *rival)
{
	const struct setting *s = &current->ring->conf->v;

	return (current->avail / s->slotcost + s->slotloan) >=
	    (double)ready_rcpts(rival) * (100 - s->slotdiscount) / 100;
}

/* ---- offers ---------------------------------------------------------- */

/* Sets whether the thread may take agents, adds nmore to its number of vertices
 * on offer, and corrects nopen of the ring. */
static void
update_offers(struct thread *t, int open, int nmore)
{
	int was = t->can_take_agent && t->noffer > 0;

	t->can_take_agent = open;
	t->noffer += nmore;
	RANKING(t->ring)->nopen += (open && t->noffer > 0) - was;
}

static double
vertex_key(const struct vertex *v)
{
	const struct claim *c = find_claim(v);

	return c != NULL ? c->key : v->msg->load_event;
}

/* Puts the vertex on the list of its thread, in the order of keys.  A vertex
 * that was on offer belongs near the beginning.  A vertex that belongs neither
 * there nor at the end is appended, and order_sort_thread sorts the list. */
static void
insert_by_key(struct vertex *v)
{
	struct list *l = &v->thread->ready;
	struct vertex *at = l->head;
	double key = vertex_key(v);
	int i;

	if (at != NULL && vertex_key(at->prev) < key)
		at = NULL;	/* the end */
	for (i = 0; i < OFFERS_MOST && at != NULL && vertex_key(at) < key; i++)
		at = at->next;
	if (i == OFFERS_MOST) {
		v->thread->fresh++;
		at = NULL;
	}
	list_insert(l, v, at);
}

/* Takes the vertex off the list of its claim. */
static void
end_offer(struct claim *c, struct vertex *v)
{
	list_remove(&c->offer, v);
	v->offered = 0;
	update_offers(v->thread, v->thread->can_take_agent, -1);
	update_line(c);
}

/* Returns the next vertex of the claim whose thread may take an agent; vertices
 * before it go to the lists of their threads.  Returns NULL if there is none;
 * the claim has then left the line.  Also returns NULL, and moves the claim to
 * the end, if the host has died since the claim got its place; but not while
 * other vertices of the claim are READY, or the claim is in a tree. */
static struct vertex *
next_open_vertex(struct claim *c)
{
	struct vertex *v;

	while ((v = c->offer.head) != NULL && !v->thread->can_take_agent) {
		end_offer(c, v);
		insert_by_key(v);
	}
	if (v == NULL || c->own_key > v->thread->death_event ||
	    c->parent != NULL || c->child != NULL ||
	    ready_rcpts(c) != (long)v->counted)
		return v;
	move_to_end(c);
	update_line(c);
	clear_rival(c->ring);
	return NULL;
}

/* Lets the best rival preempt the current claim, whose next vertex is own.
 * Returns the vertex of the rival that goes next, or own if no claim
 * preempts. */
static struct vertex *
preempt_current(struct claim *current, struct vertex *own)
{
	const struct setting *s = &current->ring->conf->v;
	struct vertex *v = NULL;
	struct claim *rival;

	if (s->slotcost < 2 || current->avail <= 0 ||
	    current->entered <= s->minslots * s->slotcost)
		return own;
	/* a rival without an open vertex has left its place: search again */
	while (v == NULL && (rival = best_rival(current)) != NULL)
		v = next_open_vertex(rival);
	return v != NULL && can_pay(current, rival) &&
	    preempt_claim(current, rival) == 0 ? v : own;
}

/* The claim of the vertex no longer counts the vertex as READY. */
void
order_dequeue(struct vertex *v, int is_fed)
{
	struct claim *c = find_claim(v);
	long n = v->counted;

	if (v->offered)
		end_offer(c, v);
	else
		list_remove(&v->thread->ready, v);
	if (c == NULL)
		return;
	c->gone += n;
	if (is_fed) {
		c->avail += n;
		c->used += n;
	}
	if (!is_fed || RANKING(c->ring)->judged != c)
		clear_rival(c->ring);
	v->counted = 0;
	if (c->offer.n == 0 && c->entered <= c->gone)
		free_claim(c);
}

/* Counts the vertex as READY in its claim.  Returns the claim, or NULL without
 * memory. */
static struct claim *
count_in_claim(struct vertex *v)
{
	struct claim *c = ensure_claim(v);

	if (c == NULL || v->counted > 0)
		return c;
	v->counted = v->npending;
	c->entered += v->npending;
	clear_rival(c->ring);
	return c;
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
by_claim_key(const void *a, const void *b)
{
	double m = vertex_key(*(struct vertex *const *)a);
	double o = vertex_key(*(struct vertex *const *)b);

	return m < o ? -1 : m > o;
}

/*
 * Costs O(n log n) at most.  A long list is sorted only when an eighth of it or
 * more is new, so the cost for a vertex is O(log n).
 */
void
order_sort_thread(struct thread *t)
{
	struct vertex **a, *v;
	unsigned i, j, n = t->ready.n;
	int is_random = t->ring->conf->v.order == ORDER_RANDOM;

	if (t->fresh == 0 || n < 2 || (n > 1000 && t->fresh < n / 8) ||
	    (a = mem_get(n * sizeof(*a))) == NULL)
		return;
	/* a shuffle: each vertex changes places with a random one before it */
	for (i = 0, v = t->ready.head; v != NULL; v = v->next, i++) {
		j = is_random ? rnd(i + 1) : i;
		a[i] = a[j];
		a[j] = v;
	}
	if (!is_random)
		qsort(a, n, sizeof(*a), ring_is_preemptive(t->ring) ?
		    by_claim_key : by_age);
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
	if (ring_is_preemptive(t->ring)) {
		count_in_claim(v);
		insert_by_key(v);
	} else {
		list_append(&t->ready, v);
		t->fresh++;
	}
}

/* Sets whether the thread may take agents, and offers its next vertices if it
 * may.  If agents of the clause get jobs ahead, one vertex is offered for each
 * agent that the thread may still get; the others are left for jobs ahead. */
static void
offer_vertices(struct thread *t, int open)
{
	const struct setting *s = &t->ring->conf->v;
	struct vertex *v;
	struct claim *c;
	unsigned n = open ? OFFERS_MOST : 0;

	update_offers(t, open, 0);
	if (open && s->overfeed + s->backlog > 0 &&
	    fb_agents_left(t, t->nta) < OFFERS_MOST)
		n = fb_agents_left(t, t->nta);
	if (t->noffer >= n)
		return;
	order_sort_thread(t);
	while (t->noffer < n && (v = t->ready.head) != NULL) {
		c = count_in_claim(v);
		if (c == NULL)
			return;		/* a later change tries this again */
		list_remove(&t->ready, v);
		v->offered = 1;
		list_append(&c->offer, v);
		update_offers(t, open, 1);
		update_line(c);
	}
}

void
order_set_open(struct thread *t, int open)
{
	struct ring *r = t->ring;

	if (ring_is_preemptive(r))
		offer_vertices(t, open);
	else if (!open || t->ready.n == 0)
		heap_del(&r->ready, &t->turn);
	else if (t->turn.pos == 0)
		heap_set(&r->ready, &t->turn, last_turn += 1);
}

/* Returns the next vertex of a ring with the preemptive order, or NULL. */
static struct vertex *
next_preemptive(struct ranking *k)
{
	struct vertex *v;
	struct timer *t;
	struct claim *c;

	while (k->nopen > 0 && (t = heap_first(&k->claims)) != NULL) {
		c = OWNER(struct claim, line, t);
		v = next_open_vertex(c);
		if (v != NULL)
			return preempt_current(c, v);
	}
	return NULL;
}

struct vertex *
order_next_vertex(struct ring *r)
{
	struct timer *first = heap_first(&r->ready);
	struct thread *t;

	if (ring_is_preemptive(r))
		return next_preemptive(RANKING(r));
	if (first == NULL)
		return NULL;
	/* as in ZMailer, agents of a bound ring choose threads at random */
	if (r->conf->bound)
		first = r->ready.v[rnd(r->ready.n)].timer;
	t = OWNER(struct thread, turn, first);
	if (t->nta == 0)	/* the run of the thread begins */
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
	struct claim *c = ensure_claim(v);

	if (c == NULL)
		return -1;
	if (!v->offered) {
		list_remove(&v->thread->ready, v);
		list_append(&c->offer, v);
		v->offered = 1;
		update_offers(v->thread, v->thread->can_take_agent, 1);
	}
	heap_set(&RANKING(c->ring)->shares, &c->share, c->msg->nfed);
	update_line(c);
	return 0;
}

int
order_is_blocked(const struct vertex *v)
{
	const struct claim *c = find_claim(v);

	return c != NULL && c->share.pos != 0 &&
	    (v->offered || ring_is_preemptive(c->ring));
}

struct vertex *
order_unblock_claim(struct ring *r, long nfree)
{
	struct timer *t = heap_first(&RANKING(r)->shares);
	struct vertex *v;
	struct claim *c;

	if (t == NULL)
		return NULL;
	c = OWNER(struct claim, share, t);
	if (!order_is_below_share(c->msg, nfree))
		return NULL;
	v = c->offer.head;
	if (ring_is_preemptive(r)) {
		heap_del(&RANKING(c->ring)->shares, &c->share);
		update_line(c);
		return v;
	}
	end_offer(c, v);
	list_insert(&v->thread->ready, v, v->thread->ready.head);
	if (c->offer.n == 0)
		free_claim(c);
	return v;
}

void
order_count_fed(struct message *m, int n)
{
	struct claim *c;

	m->nfed += n;
	for (c = m->claims; c != NULL; c = c->next)
		if (c->share.pos != 0)
			heap_set(&RANKING(c->ring)->shares, &c->share, m->nfed);
}

void
order_free_claims(struct message *m)
{
	struct vertex *v;
	struct claim *c;

	while ((c = m->claims) != NULL) {
		while ((v = c->offer.head) != NULL) {
			end_offer(c, v);
			list_append(&v->thread->ready, v);
		}
		free_claim(c);
	}
}
