/*
 * thread.c - threads and rings: who waits for what.
 *
 * A thread is the queue of one destination, the vertices of all messages for
 * one channel and host.  A ring is the threads that one agent can be switched
 * between: those with the same conf and channel.  With one clause for smtp and
 * another for smtp/mx.test there are two rings of that channel; smtp/a.test and
 * smtp/b.test are threads of the first, and an agent that is done with one goes
 * on with the other.
 *
 * Rings belong to one reading of the configuration and keep that alive.  After
 * another one they are old: their threads move to new rings, their agents end
 * when they have done what they were given, and they go when they have neither.
 *
 * A vertex is READY when it may be fed, FED while an agent has it, and in
 * WAIT when it was deferred.  th_update finds out whether the thread may take
 * (another) agent, and is called whenever something that counts for that has
 * changed.  In the preemptive order it tells order.c, which knows what goes
 * next.  In the others threads that may take one, and have READY vertices for
 * it, stand in their ring's heap of turns.  Nothing here starts anything.
 *
 * A host of "-" is this machine and no destination; its mailboxes are (unless
 * a clause sets maxthr).  A message with one recipient there goes into the
 * thread of that user's box, which has one agent at a time and sleeps when the
 * box is locked or full; messages to several share a thread that any number
 * of agents may work on.
 *
 * Two kinds of later.  A vertex in WAIT waits by its own time, whatever else
 * comes for its host: new mail, another vertex's turn, a good report.  A thread
 * whose host is dead sleeps as a whole: its vertices stay READY, untouched.
 * When a host answers, what was deferred for its sake is tried.  How many
 * agents a thread may have, and when its host is dead, feedback.c makes of
 * what jobs say of the host; a thread outlives its queue.  A flush and a
 * T line wake everything; a queueonly thread wakes by a T line alone.
 *
 * A run begins when a thread gets its first agent.  Then its READY vertices
 * are put in order, at random or by age (order.c); later arrivals go to the
 * end.
 *
 * When the command names the host (conf->bound) an agent cannot be switched,
 * so each thread of the ring stands alone: maxring counts for the thread, and
 * turns are given at random, lest some host is always last (seed 22.1).
 *
 * Costs: finding a thread O(1), a ring O(rings), which are about as many as
 * clauses, waking a thread and turns O(log n), everything
 * else on the way O(1).  Waking vertices is O(n) of those that wait in the
 * thread, once a second at most, as their times are whole seconds.
 */
#include "scheduler.h"

struct queue q;

static struct thread *maybe_empty;	/* linked by swept */

/* ---- rings ----------------------------------------------------------- */

/* The ring for an address, with room for one more thread; NULL without
 * memory. */
static struct ring *
ring_for(struct chan *chan, const char *host)
{
	struct conf *conf = cf_match(q.config, chan->name, host);
	struct ring *r = conf == NULL ? NULL : q.rings;

	if (conf == NULL)
		return NULL;
	while (r != NULL && (r->conf != conf || r->chan != chan))
		r = r->next;
	if (r == NULL) {
		r = mem_get(sizeof(*r));
		if (r == NULL)
			return NULL;
		r->conf = conf;
		r->chan = chan;
		conf->config->refs++;
		r->next = q.rings;
		q.rings = r;
		if (conf->v.command == NULL)
			log_warn("no-command channel=%s no clause with a "
			    "command matches; this mail waits", chan->name);
	}
	return heap_room(&r->ready, r->nthreads + 1) < 0 ? NULL : r;
}

static void
unref(struct config *c)
{
	if (c != NULL && --c->refs == 0)
		cf_free(c);
}

/* Takes another configuration in use; the rings there are become old. */
static void
use_config(struct config *config)
{
	config->refs++;
	unref(q.config);
	q.config = config;
}

/* Frees old rings that are empty. */
static void
sweep_rings(void)
{
	struct ring **p, *r;

	for (p = &q.rings; (r = *p) != NULL; ) {
		if (!ring_is_old(r) || r->nthreads > 0 || r->slots.nta > 0) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		unref(r->conf->config);
		free(r->trouble);
		free(r->ready.v);
		free(r->jobs.v);
		free(r->shares.v);
		free(r);
	}
}

/* ---- threads --------------------------------------------------------- */

static int
is_picked(const char *channel, const char *host)
{
	if (opt.pick_channel == NULL || strcmp(channel, "dsn") == 0)
		return 1;
	return strcmp(channel, opt.pick_channel) == 0 &&
	    (strcmp(opt.pick_host, "*") == 0 ||
	    strcmp(host, opt.pick_host) == 0);
}

/* The thread belongs to a ring, by whose clauses its destination is dealt
 * with. */
static void
set_ring(struct thread *t, struct ring *r)
{
	t->ring = r;
	r->nthreads++;
	t->local = r->conf->split && strcmp(t->host, "-") == 0;
	t->fb = !t->local ? &r->conf->v.fb : t->box != 0 ? &r->conf->box :
	    &r->conf->local;
}

/* Nothing is in it, and nothing points to it. */
static int
is_empty(const struct thread *t)
{
	return th_nready(t) + t->wait.n + t->nfed + t->nheld + t->nref == 0 &&
	    t->out == NULL;
}

/* Only the sweep frees a thread, so what points to one is good until the end of
 * the pass. */
static void
sweep_if_empty(struct thread *t)
{
	if (t->listed || !is_empty(t))
		return;
	t->listed = 1;
	t->swept = maybe_empty;
	maybe_empty = t;
}

struct thread *
th_get(struct chan *chan, const char *host, unsigned box)
{
	struct thread *t = dest_get(chan, host, box);
	struct ring *r;

	if (t == NULL || t->ring != NULL)
		return t;
	r = ring_for(chan, host);
	if (r == NULL || heap_room(&q.wake, q.nthreads + 1) < 0)
		return NULL;
	dest_use(t);
	set_ring(t, r);
	t->held = held_address(chan->name, host);
	t->woken = NEVER;
	t->triggered = 0;
	fb_wake(t);
	PREPEND(q.all, t, next, prev);
	q.nthreads++;
	sweep_if_empty(t);
	return t;
}

/* ---- turns ----------------------------------------------------------- */

/* What all of the thread waits for, the reason first that an operator would
 * have to see to first. */
static enum why
thread_why(const struct thread *t)
{
	const struct setting *s = &t->ring->conf->v;

	if (t->held != NULL)
		return WHY_HELD;
	if (opt.freeze || !is_picked(t->ring->chan->name, t->host))
		return WHY_FROZEN;
	if (s->command == NULL)
		return WHY_NO_COMMAND;
	if (s->queueonly && !t->triggered)
		return WHY_QUEUEONLY;
	return t->until > now.mono ? WHY_HOST : WHY_NOT;
}

enum why
th_why(const struct vertex *v, double *until)
{
	const struct thread *t = v->thread;
	enum why why = v->state == V_FED ? WHY_FED : v->msg->held ?
	    WHY_HELD_MESSAGE : thread_why(t);
	double dead = t->ring->dead;

	*until = v->state == V_WAIT ? v->wakeup : 0;
	if (t->until > *until)
		*until = t->until;
	if (dead > *until)
		*until = dead;
	if (why != WHY_NOT)
		return why;
	return v->state == V_WAIT ? WHY_RETRY : dead > now.mono ?
	    WHY_NO_AGENT : WHY_NOT;
}

/* Does its host take one more agent than the n that the thread has? */
static int
has_room(const struct thread *t, unsigned n)
{
	return fb_room(t, (long)n) > 0 && fb_wait(t) <= 0;
}

/* May the thread, which has READY vertices, take another agent? */
static int
is_open(const struct thread *t)
{
	const struct conf *f = t->ring->conf;

	if (!has_room(t, t->nta) || thread_why(t) != WHY_NOT)
		return 0;
	/* has it all agents of its own that it may have, none of them idle, its
	 * turn would only keep others from theirs */
	if (f->bound && f->v.maxring > 0 &&
	    (long)(t->nref - t->nidle) >= f->v.maxring)
		return 0;
	if (t->nstart == 0)
		return 1;
	/* agents that are about to begin use up the rate; or they may take all
	 * there is, below the backlog, and no more of them are needed */
	return t->fb->rate.n == 0 && (f->v.backlog == 0 || t->nidle > 0 ||
	    (double)t->nstart * (double)f->v.backlog < (double)th_nready(t));
}

/* Gives the thread a turn in its ring, or takes it away. */
static void
update_turn(struct thread *t)
{
	int open = th_nready(t) > 0 && is_open(t);

	if (th_nready(t) == 0)
		t->triggered = 0;	/* its run is over */
	if (open || t->open || t->turn.pos != 0)
		order_open(t, open);
}

int
th_block(struct vertex *v)
{
	if (order_block(v) < 0)
		return -1;
	update_turn(v->thread);
	return 0;
}

int
th_unblock(struct ring *r, long nfree)
{
	struct vertex *v = order_unblock(r, nfree);

	if (v == NULL)
		return 0;
	update_turn(v->thread);
	return 1;
}

/* ---- waiting and waking ---------------------------------------------- */

void
th_ready(struct thread *t, struct vertex *v)
{
	v->state = V_READY;
	v->count = 0;
	order_ready(t, v);
}

/* When something is due in the thread.  What waits in a queueonly one does so
 * for a T line, but the rate of one that was started has its own times. */
static void
update_timer(struct thread *t)
{
	const struct setting *s = &t->ring->conf->v;
	double when = 0, rate = 0;

	if (t->until != 0)
		when = s->queueonly && !t->triggered ? 0 : t->until;
	else if (t->wait.n > 0 && !s->queueonly)
		when = t->soonest;
	if (t->fb->rate.n > 0 && th_nready(t) > 0 && thread_why(t) == WHY_NOT)
		rate = fb_wait(t);
	if (rate > 0 && (when == 0 || now.mono + rate < when))
		when = now.mono + rate;
	if (when != 0)
		heap_set(&q.wake, &t->wake, when);
	else
		heap_del(&q.wake, &t->wake);
}

void
th_update(struct thread *t)
{
	update_timer(t);
	update_turn(t);
	sweep_if_empty(t);
}

/* The caller updates the thread when all its vertices are where they belong. */
void
th_wait(struct thread *t, struct vertex *v, long wakeup)
{
	v->state = V_WAIT;
	v->wakeup = (int)wakeup;
	if (t->wait.n == 0 || wakeup < t->soonest)
		t->soonest = wakeup;
	list_add(&t->wait, v);
}

enum wake { WAKE_ALL, WAKE_DUE, WAKE_HOST, WAKE_OLD };

/* Some of what waits in the thread may go: all, what is due, what waits for
 * the host, or what was deferred before this run.  The third leaves alone what
 * was deferred for the address, or two kinds of mail wake each other on and on,
 * and what has a retryat.  What may go and is not in core is wanted there. */
static void
wake(struct thread *t, enum wake what)
{
	struct vertex *v, *next;

	for (v = what == WAKE_DUE || (what == WAKE_HOST &&
	    WHY_BLOCKED(thread_why(t))) ? NULL : t->out; v != NULL; v = v->next)
		msg_want(v, what == WAKE_HOST &&
		    (v->dated || !(v->host & HOST_BAD)));
	t->soonest = 0;
	for (v = t->wait.head; v != NULL; v = next) {
		next = v->next;
		if (what == WAKE_ALL ||
		    (what == WAKE_DUE && v->wakeup <= now.mono) ||
		    (what == WAKE_OLD && v->tried < t->run) ||
		    (what == WAKE_HOST && v->host & HOST_BAD && !v->dated)) {
			list_del(&t->wait, v);
			th_ready(t, v);
		} else if (t->soonest == 0 || v->wakeup < t->soonest) {
			t->soonest = v->wakeup;
		}
	}
}

static void
wake_all(struct thread *t)
{
	fb_lift(t);
	wake(t, WAKE_ALL);
	th_update(t);
}

void
th_due(struct thread *t)
{
	fb_wake(t);
	if (t->wait.n > 0 && t->soonest <= now.mono &&
	    !t->ring->conf->v.queueonly)
		wake(t, WAKE_DUE);
	th_update(t);
}

void
th_trigger(const char *host)
{
	struct thread *t;
	int n = 0;

	for (t = q.all; t != NULL; t = t->next) {
		/* failure, success and delay may be names of hosts, too */
		if (strcmp(t->host, host) != 0 || th_is_dsn(t) ||
		    (th_nready(t) + t->wait.n == 0 && t->out == NULL))
			continue;
		t->triggered = 1;
		/* what this run deferred is not to be tried again by it */
		if (t->nta == 0)
			wake_all(t);
		else
			wake(t, WAKE_OLD);
		th_update(t);
		n++;
	}
	log_info("trigger host=%s threads=%d", host, n);
}

/* Its message has one more vertex with agents, or one less. */
static void
count_agents(struct vertex *v, int more)
{
	v->msg->nfed += (unsigned)more;
	order_share(v->msg);
}

void
th_out(struct vertex *v)
{
	if (v->state == V_READY)
		order_take(v, 0);
	else if (v->state == V_WAIT)
		list_del(&v->thread->wait, v);
	else if (v->state == V_HELD)
		v->thread->nheld--;
}

/* HELD it is on no list, so nothing wakes or feeds it by mistake. */
void
th_hold(struct vertex *v)
{
	th_out(v);
	v->state = V_HELD;
	v->thread->nheld++;
	th_update(v->thread);
}

void
th_release(struct vertex *v)
{
	th_out(v);
	th_ready(v->thread, v);
	th_update(v->thread);
}

void
th_flush(struct thread *t, struct vertex *one)
{
	t->triggered = (unsigned char)t->ring->conf->v.queueonly;
	t->ring->dead = 0;
	if (one == NULL) {
		wake_all(t);
		return;
	}
	fb_lift(t);
	if (one->state != V_OUT) {
		th_release(one);
		return;
	}
	msg_want(one, 0);
	th_update(t);
}

int
th_rehold(struct thread *t)
{
	const char *was = t->held;

	t->held = held_address(t->ring->chan->name, t->host);
	if (was == NULL || t->held != NULL) {
		th_update(t);
		return 0;
	}
	wake_all(t);		/* a release tries at once */
	return 1;
}

/* One that sleeps already goes on as it does: that several agents could not be
 * started for it is one step in its retry list. */
void
th_sleep(struct thread *t)
{
	if (t->until > now.mono)
		return;
	t->triggered = 0;
	dest_sleep(t);
	th_update(t);
}

/* It has answered.  What waits for it may go if it was dead; else, as a host
 * that answers now and then is not to be stormed, when that was long ago. */
static void
heard_good(struct thread *t)
{
	int was_dead = t->window == 0;

	t->tries = t->step = 0;
	free(t->reason);
	t->reason = NULL;
	fb_good(t);
	if (was_dead || (t->fb != &t->ring->conf->local &&
	    th_nready(t) == 0 && (t->wait.n > 0 || t->out != NULL) &&
	    now.mono - t->woken >= t->ring->conf->v.interval)) {
		t->woken = now.mono;
		wake(t, WAKE_HOST);
		th_update(t);
	}
}

void
th_heard(struct thread *t, int host)
{
	long was = t->window;
	int died;

	if (host & HOST_BAD)
		fb_bad(t, host & HOST_ALL);
	else if (host & HOST_GOOD)
		heard_good(t);
	died = was > 0 && t->window == 0;
	if (died)
		th_sleep(t);
	else if (t->window != was)
		update_turn(t);
	if (t->ring->conf->v.feedbackdebug)
		log_info("feedback channel=%s host=%s %s window=%ld agents=%u "
		    "success=%ld%% failure=%ld%% cohorts=%ld%%%s",
		    t->ring->chan->name, t->host, host & HOST_BAD ? "bad" :
		    host & HOST_GOOD ? "good" : "none", t->window, t->nta,
		    (long)(t->success * 100), (long)(t->failure * 100),
		    (long)(t->cohorts * 100), died ? " dead" : was == 0 &&
		    t->window > 0 ? " revived" : "");
}

/* What holds for the address; NULL when no command does. */
static const struct setting *
setting_of(const char *channel, const char *host)
{
	const struct conf *f = cf_match(q.config, channel, host);

	return f == NULL || f->v.command == NULL ? NULL : &f->v;
}

void
th_destdb(void)
{
	struct thread *t;

	if (dest_look(q.config->destdb, setting_of))
		for (t = q.all; t != NULL; t = t->next)
			th_update(t);
}

/* ---- agents come and go ---------------------------------------------- */

/* nta counts an agent from here to th_leave, nstart until it has spoken, nref
 * until it joins another thread or is gone. */
static void
join(struct ta *ta, struct thread *t)
{
	if (ta->thread != t) {
		if (ta->thread != NULL) {
			ta->thread->nref--;
			sweep_if_empty(ta->thread);
		}
		t->nref++;
		ta->thread = t;
	}
	if (t->nta == 0)
		t->run = (int)now.mono;
	PREPEND(t->busy, ta, tnext, tprev);
	ta->working = 1;
	ta->stretch = 0;
	if (th_is_local(t))	/* it goes behind the other mailboxes */
		heap_del(&t->ring->ready, &t->turn);
	t->nta++;
	t->nstart += !ta->spoke;
}

void
th_leave(struct ta *ta)
{
	struct thread *t = ta->thread;

	if (!ta->working)
		return;
	ta->working = 0;
	REMOVE(t->busy, ta, tnext, tprev);
	t->nta--;
	t->nstart -= !ta->spoke;
}

void
th_spoke(struct ta *ta)
{
	struct thread *t = ta->thread;

	ta->spoke = 1;
	t->nstart--;
	if (t->fb->rate.n > 0)	/* its first delivery begins now */
		t->slot = now.mono;
	th_update(t);
}

/* Is it that of DSNs that tell what has ended? */
static unsigned
tells_end(const struct thread *t)
{
	return th_is_dsn(t) && strcmp(t->host, "delay") != 0;
}

void
th_give(struct ta *ta, struct vertex *v)
{
	struct thread *t = v->thread;

	if (!ta->working)
		join(ta, t);
	order_take(v, 1);
	t->nfed++;
	count_agents(v, 1);
	v->state = V_FED;
	v->ta = ta;
	v->count = 0;
	v->wakeup = 0;
	v->dated = 0;
	v->host = 0;
	if (tells_end(t)) {
		q.ntold++;
		v->msg->news = 0;	/* what comes from now on is news */
	}
	list_add(&ta->jobs, v);
	ta->stretch++;
	ta->njobs++;
	fb_started(t);
	if (t->fb->rate.n > 0)
		update_timer(t);
	update_turn(t);
}

/* Two messages may have one number, the beginning of their names. */
int
th_clashes(const struct ta *ta, const struct vertex *v)
{
	const struct vertex *j = v->msg->twin ? ta->jobs.head : NULL;

	while (j != NULL && (j->msg == v->msg ||
	    j->msg->link.hash != v->msg->link.hash))
		j = j->next;
	return j != NULL;
}

struct vertex *
th_feed(struct ta *ta)
{
	struct thread *t = ta->thread;
	/* what is on offer goes before those that wait */
	struct vertex *v = t->noffer > 0 && ta->ring->conf->v.order ==
	    ORDER_PREEMPT ? NULL : t->ready.head;

	if (v == NULL || !ta->working || ring_is_old(ta->ring) ||
	    thread_why(t) != WHY_NOT ||
	    !has_room(t, t->nta - 1) || th_clashes(ta, v))
		return NULL;
	th_give(ta, v);
	return v;
}

void
th_unfed(struct vertex *v)
{
	struct ring *r = v->thread->ring;

	list_del(&v->ta->jobs, v);
	v->ta = NULL;
	v->thread->nfed--;
	q.ntold -= tells_end(v->thread);
	count_agents(v, -1);
	th_unblock(r, 0);
}

/* ---- reload and sweep ------------------------------------------------ */

/* What waits longer than the new clause would have it, which is until most,
 * waits no longer than that.  A sender's pause is over: it is kept by the agent
 * dsn, and that ends with the old ring.  What is not in core is looked at: it
 * may have a command now. */
static void
move_waiting(struct vertex *v, double most)
{
	for (; v != NULL; v = v->next) {
		if (th_is_dsn(v->thread)) {
			v->dated = 0;
			v->wakeup = (int)now.mono;
		}
		if (!v->dated && v->wakeup > most)
			v->wakeup = (int)most;
		if (v->state == V_OUT)
			msg_want(v, 1);
	}
}

/* Puts a thread under another ring. */
static void
thread_move(struct thread *t, struct ring *r)
{
	double most = now.mono + retry_longest(&r->conf->v);

	order_open(t, 0);
	t->ring->nthreads--;
	set_ring(t, r);
	if (t->until > most)
		t->until = most;
	move_waiting(t->wait.head, most);
	move_waiting(t->out, most);
	t->soonest = now.mono;	/* th_due finds out */
	t->step = 0;
}

#define RING_AGAIN	30	/* seconds */

/* mono; when threads that a reload left without a ring are tried anew, 0: there
 * are none */
static double stranded;

/* Threads of old rings get new ones, and their READY vertices are made ready
 * anew, as jobs are of a ring. */
static void
move_threads(void)
{
	struct vertex *v, *next;
	struct thread *t;
	struct ring *r;

	stranded = 0;
	for (t = q.all; t != NULL; t = t->next) {
		if (!ring_is_old(t->ring))
			continue;
		r = ring_for(t->ring->chan, t->host);
		if (r != NULL) {
			thread_move(t, r);
		} else {
			log_err("reload channel=%s host=%s no memory; its mail "
			    "waits", t->ring->chan->name, t->host);
			stranded = now.mono + RING_AGAIN;
		}
		next = t->ready.head;
		memset(&t->ready, 0, sizeof(t->ready));
		t->fresh = 0;
		while ((v = next) != NULL) {
			next = v->next;
			th_ready(t, v);
		}
		th_update(t);
	}
}

void
th_reload(struct config *config)
{
	struct hlink *l;

	use_config(config);
	/* all READY vertices go back to their threads */
	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; )
		order_forget(OWNER(struct message, link, l));
	move_threads();
}

void
th_sweep(void)
{
	struct thread *t;

	while ((t = maybe_empty) != NULL) {
		maybe_empty = t->swept;
		t->listed = 0;
		if (!is_empty(t))
			continue;
		heap_del(&q.wake, &t->wake);
		heap_del(&t->ring->ready, &t->turn);
		t->ring->nthreads--;
		q.nthreads--;
		REMOVE(q.all, t, next, prev);
		dest_leave(t);
	}
	if (stranded != 0 && stranded <= now.mono)
		move_threads();
	sweep_rings();
	dest_forget();
}

int
th_init(struct config *config)
{
	use_config(config);
	return hash_init(&q.dests, 64);
}
