/*
 * thread.c - the queues of destinations (threads), and the groups of threads
 * that share agents (rings).
 *
 *	clauses		smtp/mx.test, and smtp for all other hosts
 *	ring 1		the thread smtp/mx.test, with 2 vertices
 *	ring 2		the threads smtp/a.test with 1, smtp/b.test with 3
 *	agent of ring 2	1 job for a.test, then it is switched: 3 for b.test
 *
 * A thread is the queue of one destination: the vertices of all messages for
 * one channel and host.  A ring is the set of threads between which one agent
 * can be switched: those with the same conf and channel.
 *
 * A ring belongs to one reading of the configuration and keeps it in memory.
 * After a reload the ring is old: its threads move to new rings, its agents end
 * after their jobs, and it is freed when it has neither.
 *
 * A vertex is READY when it may be fed, FED while an agent has it, in WAIT
 * after it was deferred, and PINNED while nobody may take it.  th_update is
 * called after each change of a thread: it finds whether the thread may take
 * one more agent, and tells order.c, which chooses the vertex that goes next.
 * This module starts no agents.
 *
 * A thread without vertices and agents is unused, and in no ring: it stays in a
 * list, the least recently used first, with what is known of its destination.
 * It is freed when it has had no mail for the time that its clause sets, or
 * when the list has more than 1000; a thread of the host "-" is freed at once.
 *
 * With maxrcpts a vertex is split when it is fed to an agent that has said
 * "#hungry offsets"; the other recipients stay READY:
 *
 *	maxrcpts=20		a list with 50 recipients: READY 50
 *	agent 1 starts		FED 50: nothing is known of agents of the ring
 *	"#hungry offsets"	FED 20, READY 30
 *	agent 2 starts		FED 20, FED 20, READY 10
 *
 * The host "-" is this machine and no destination: each of its mailboxes is a
 * destination, whatever the clauses say.  A message with one recipient there
 * goes to the thread of that mailbox, which has one agent at a time and is dead
 * while the mailbox is locked or full.  Messages to several mailboxes share a
 * thread that any number of agents may work for.
 *
 * Waiting.  A vertex in WAIT waits for its own next try.  Neither new mail for
 * its host nor a try of another vertex brings that forward.  A good report does
 * so only for vertices without a retryat that were deferred because of the
 * host.  A thread whose host is dead waits as a whole: its vertices stay READY.
 * feedback.c computes from reports how many agents a thread may have and
 * whether its host is dead.  A flush and a T line make the vertices of a thread
 * due; nothing but these starts a queueonly thread.
 *
 * A run begins when a thread gets its first agent, and ends with its last one.
 * At the beginning order.c sorts the READY vertices at random or by age, and
 * appends later ones; with order=preempt the place of each depends on its
 * claim.  A vertex that the run has deferred, without a retryat, is not fed
 * again before the run ends or an interval has passed.  A flush makes it READY
 * at once, and so does a good report if it was deferred because of the host; a
 * T line does not.
 *
 * If the command names the host (conf->bound) an agent cannot be switched.
 * Then each thread of the ring has maxring for itself, and the next thread is
 * one of the ready ones at random.
 *
 * Costs: finding a thread O(1), a ring O(rings), of which there are about as
 * many as clauses; waking a thread, or giving it a turn, O(log n); all else
 * that a job needs O(1).  Waking vertices costs O(vertices that wait in the
 * thread), once a second at most, as due times are whole seconds.
 */
#include "scheduler.h"

struct queue q;

/* waking: a thread, with the members that this module alone uses. */
struct waking {
	struct thread th;	/* the first member: WAKING converts */
	double	soonest;	/* mono; the first try of a vertex in WAIT */
	double	woken;		/* mono; when a good report last made vertices
				 * READY that the host had deferred */
	struct thread *next_empty;	/* next on the list for the sweep; the
					 * last thread points to itself; NULL:
					 * not on the list */
	unsigned npinned;	/* vertices PINNED */
	int	run;		/* mono; beginning of the last run */
	int	delayed;	/* 1: the run keeps a vertex in WAIT beyond the
				 * time in its wakeup */
	char	host[1];
};

#define WAKING(t) ((struct waking *)(t))

/* sweep: what the next th_sweep has to do. */
static struct {
	struct thread *empty;	/* threads that were empty in this pass, linked
				 * by next_empty */
	double	move_at;	/* mono; the next try to move threads of old
				 * rings, for which a reload had no memory; 0:
				 * there are no such threads */
} sweep;

void
reason_copy(char **slot, const char *s)
{
	char *copy = mem_dup(s);

	if (copy == NULL)
		return;
	free(*slot);
	*slot = copy;
}

/* ---- rings ----------------------------------------------------------- */

/* Returns the ring for an address, made if there is none, with room for one
 * more thread; NULL without memory. */
static struct ring *
get_ring(struct chan *chan, const char *host)
{
	struct conf *conf = cf_match(q.config, chan->name, host);
	struct ring *r = q.rings;

	if (conf == NULL)
		return NULL;
	while (r != NULL && (r->conf != conf || r->chan != chan))
		r = r->next;
	if (r == NULL) {
		r = order_new_ring();
		if (r == NULL)
			return NULL;
		r->conf = conf;
		r->chan = chan;
		r->next = q.rings;
		q.rings = r;
		if (conf->v.command == NULL)
			log_warn("no-command channel=%s no clause with a "
			    "command matches; this mail waits", chan->name);
	}
	return heap_reserve(&r->ready, r->nthreads) < 0 ? NULL : r;
}

/* Frees the configuration, which may be NULL, unless it is in force or a ring
 * uses it. */
static void
free_if_unused(struct config *c)
{
	const struct ring *r = q.rings;

	while (r != NULL && r->conf->config != c)
		r = r->next;
	if (r == NULL && c != NULL && c != q.config)
		cf_free(c);
}

/* Frees old rings that are empty. */
static void
sweep_rings(void)
{
	struct ring **p, *r;

	for (p = &q.rings; (r = *p) != NULL; ) {
		if (!ring_is_old(r) || r->nthreads > 0 || r->counts.nta > 0) {
			p = &r->next;
			continue;
		}
		*p = r->next;
		free_if_unused(r->conf->config);
		free(r->pool);
		order_destroy_ring(r);
	}
}

/* ---- the table of threads --------------------------------------------- */

struct chan *
th_get_channel(const char *name)
{
	struct chan *c;

	for (c = q.chans; c != NULL; c = c->next)
		if (*c->name == *name && strcmp(c->name, name) == 0)
			return c;
	c = mem_get(sizeof(*c) + strlen(name));
	if (c == NULL)
		return NULL;
	strcpy(c->name, name);
	c->next = q.chans;
	q.chans = c;
	return c;
}

static unsigned
thread_hash(const struct chan *chan, const char *host, unsigned box)
{
	return hash_text(host, hash_text(chan->name, box));
}

struct thread *
th_lookup(const struct chan *chan, const char *host, unsigned box)
{
	struct hlink *l = hash_first(&q.dests, thread_hash(chan, host, box));
	struct thread *t;

	for (; l != NULL; l = hash_next(l)) {
		t = OWNER(struct thread, link, l);
		if (t->chan == chan && t->box == box &&
		    strcmp(t->host, host) == 0)
			return t;
	}
	return NULL;
}

/* Returns a new thread, in the table but in no ring; NULL without memory. */
static struct thread *
new_thread(struct chan *chan, const char *host, unsigned box)
{
	struct waking *w = mem_get(sizeof(*w) + strlen(host));
	struct thread *t;

	if (w == NULL)
		return NULL;
	t = &w->th;
	t->host = strcpy(w->host, host);
	t->chan = chan;
	t->box = box;
	t->slot = t->good = t->bad = -NEVER;
	t->used = now.mono;
	hash_add(&q.dests, &t->link, thread_hash(chan, host, box));
	return t;
}

/* Frees the thread, which is unused. */
static void
free_thread(struct thread *t)
{
	REMOVE(q.unused, t, next, prev);
	heap_del(&q.due_threads, &t->due);
	hash_del(&q.dests, &t->link);
	free(t->reason);
	free(WAKING(t));
}

/* ---- threads --------------------------------------------------------- */

/* Returns 1 if -p is not given or allows the address; DSNs are always
 * allowed. */
static int
is_picked(const char *channel, const char *host)
{
	if (opt.pick_channel == NULL || strcmp(channel, "dsn") == 0)
		return 1;
	return strcmp(channel, opt.pick_channel) == 0 &&
	    (strcmp(opt.pick_host, "*") == 0 ||
	    strcmp(host, opt.pick_host) == 0);
}

/* Puts the thread into a ring, whose conf has the values for its
 * destination. */
static void
set_ring(struct thread *t, struct ring *r)
{
	t->ring = r;
	r->nthreads++;
	t->fb = &r->conf->v.fb;
	if (th_is_local(t))
		t->fb = t->box != 0 ? &r->conf->box : &r->conf->local;
}

/* Returns 1 if the thread has neither vertices nor agents. */
static int
is_empty(const struct thread *t)
{
	return th_nready(t) + t->wait.n + WAKING(t)->npinned + t->nref == 0;
}

/* Leaves an empty thread to the sweep, which alone takes threads out of use:
 * pointers to them are valid until the end of the pass. */
static void
sweep_if_empty(struct thread *t)
{
	if (WAKING(t)->next_empty != NULL || !is_empty(t))
		return;
	WAKING(t)->next_empty = sweep.empty != NULL ? sweep.empty : t;
	sweep.empty = t;
}

/* Ends the dead time of the thread if it is over, or if the clause sets no
 * limit of failed cohorts.  Gives a new thread its first window. */
static void
revive_if_due(struct thread *t)
{
	if (now.mono >= t->until || t->fb->cohorts == 0)
		fb_revive(t);
}

struct thread *
th_get(struct chan *chan, const char *host, unsigned box)
{
	struct thread *t = chan == NULL ? NULL : th_lookup(chan, host, box);
	struct ring *r;

	if (chan == NULL || (t != NULL && t->ring != NULL))
		return t;
	r = get_ring(chan, host);
	if (r == NULL || heap_reserve(&q.due_threads, q.dests.n) < 0)
		return NULL;
	if (t != NULL)
		REMOVE(q.unused, t, next, prev);
	else if ((t = new_thread(chan, host, box)) == NULL)
		return NULL;
	heap_del(&q.due_threads, &t->due);
	set_ring(t, r);
	t->held = held_match_address(chan->name, host);
	WAKING(t)->woken = -NEVER;
	revive_if_due(t);
	if (th_is_local(t))	/* th_trigger_host finds these at the front */
		PREPEND(q.all, t, next, prev);
	else
		APPEND(q.all, t, next, prev);
	q.nthreads++;
	sweep_if_empty(t);
	return t;
}

int
th_is_matched(const struct thread *t, char *const *patterns)
{
	char address[2 * WORD_MAX_];

	if (patterns == NULL)
		return 1;
	text_fmt(address, sizeof(address), "%s/%s", t->chan->name, t->host);
	return pat_matches_address(patterns, address);
}

/* ---- turns ----------------------------------------------------------- */

/* Returns why no vertex of the thread can go, or WHY_NONE.  Of several causes,
 * causes that only an operator can end come first. */
static enum why
why_blocked(const struct thread *t)
{
	const struct setting *s = &t->ring->conf->v;

	if (t->held != NULL)
		return WHY_HELD;
	if (opt.freeze || !is_picked(t->chan->name, t->host))
		return WHY_FROZEN;
	if (s->command == NULL)
		return WHY_NO_COMMAND;
	if (s->queueonly && !t->triggered)
		return WHY_QUEUEONLY;
	return t->until > now.mono ? WHY_HOST : WHY_NONE;
}

/* Returns when a vertex in WAIT becomes READY, mono: at its wakeup.  A vertex
 * without a retryat also waits for the end of the run that has deferred it, but
 * for one interval at most. */
static double
wakeup_time(const struct thread *t, const struct vertex *v)
{
	double again = v->tried + t->ring->conf->v.interval;

	return t->nta > 0 && v->tried >= WAKING(t)->run && !v->dated &&
	    again > v->wakeup ? again : v->wakeup;
}

enum why
th_why(const struct vertex *v, double *until)
{
	const struct thread *t = v->thread;
	enum why why = why_blocked(t);
	double start_at = t->ring->start_at;

	*until = v->state == V_WAIT ? wakeup_time(t, v) : 0;
	if (t->until > *until)
		*until = t->until;
	if (start_at > *until)
		*until = start_at;
	if (v->state == V_FED)
		return WHY_FED;
	if (v->msg->held)
		return WHY_HELD_MESSAGE;
	if (why != WHY_NONE)
		return why;
	if (v->state == V_WAIT)
		return WHY_RETRY;
	return start_at > now.mono ? WHY_NO_AGENT : WHY_NONE;
}

/* Returns 1 if the thread may have an agent beside n others, by its window and
 * rate. */
static int
can_add_agent(const struct thread *t, unsigned n)
{
	return fb_agents_left(t, n) > 0 && fb_rate_wait(t) <= 0;
}

/* Returns 1 if the thread, which has READY vertices, may take another agent. */
static int
is_open(const struct thread *t)
{
	const struct conf *f = t->ring->conf;

	if (!can_add_agent(t, t->nta) || why_blocked(t) != WHY_NONE)
		return 0;
	/* a bound thread with maxring agents at work would only keep other
	 * threads from their turns */
	if (f->bound && f->v.maxring > 0 &&
	    (long)(t->nref - t->nidle) >= f->v.maxring)
		return 0;
	if (t->nstart == 0)
		return 1;
	/* agents that are starting take the next slots of a rate; without a
	 * rate one more agent may work if there is an idle one, or if the
	 * backlogs of the starting agents have no room for all vertices */
	return t->fb->rate.n == 0 && (f->v.backlog == 0 || t->nidle > 0 ||
	    (double)t->nstart * f->v.backlog < th_nready(t));
}

/* ---- waiting and waking ---------------------------------------------- */

#define CHECKED_MOST	20	/* vertices checked to choose a channel */

/* If the first CHECKED_MOST vertices are DONE, the message keeps its channel
 * for now. */
void
th_update_channel(struct message *m)
{
	int counts = m->nvertices > 0 && !m->held && m->end < END_DROP;
	int n = 0, can_go = 0;
	const struct vertex *v = counts ? msg_first_vertex(m) : NULL;
	struct chan *c = NULL;
	double until;

	for (; v != NULL && n < CHECKED_MOST && !can_go; n++) {
		can_go = v->state != V_DONE && th_why(v, &until) <= WHY_FED;
		if (can_go || (v->state != V_DONE && c == NULL))
			c = v->thread->chan;
		v = msg_next_vertex(v);
	}
	if (counts && c == NULL)
		return;
	if (m->chan != NULL)
		m->chan->msgs--;
	if (c != NULL)
		c->msgs++;
	m->chan = c;
}

/* Makes the vertex, which is on no list, READY. */
static void
make_ready(struct thread *t, struct vertex *v)
{
	v->state = V_READY;
	v->counted = 0;
	order_enqueue(t, v);
}

/* Sets the timer to the end of the dead time; or, if the thread is not dead, to
 * the first try of a vertex in WAIT, or to the next slot of the rate if READY
 * vertices wait for that slot and it is earlier.  A queueonly thread has no
 * timer for vertices in WAIT, and none for dead time and slot before a T line
 * or a flush. */
static void
update_timer(struct thread *t)
{
	const struct setting *s = &t->ring->conf->v;
	double when = NEVER, wait = fb_rate_wait(t);

	if (t->until != 0 && (!s->queueonly || t->triggered))
		when = t->until;
	else if (t->until == 0 && t->wait.n > 0 && !s->queueonly)
		when = WAKING(t)->soonest;
	if (wait > 0 && now.mono + wait < when && th_nready(t) > 0 &&
	    why_blocked(t) == WHY_NONE)
		when = now.mono + wait;
	if (when < NEVER)
		heap_set(&q.due_threads, &t->due, when);
	else
		heap_del(&q.due_threads, &t->due);
}

void
th_update(struct thread *t)
{
	update_timer(t);
	if (th_nready(t) == 0)
		t->triggered = 0;	/* the triggered run is over */
	order_set_open(t, th_nready(t) > 0 && is_open(t));
	sweep_if_empty(t);
}

/* wake: the vertices in WAIT that become READY. */
enum wake { WAKE_ALL,	/* all vertices, and the dead time ends */
	    WAKE_DUE,	/* vertices whose time has come */
	    WAKE_HOST,	/* vertices that were deferred because of the host */
	    WAKE_OLD };	/* vertices that were deferred before this run */

/* Makes vertices in WAIT READY.  With WAKE_HOST, vertices that have a retryat
 * or were deferred because of their address stay in WAIT: otherwise two
 * vertices could wake each other by their good reports, without end. */
static void
wake_vertices(struct thread *t, enum wake what)
{
	struct vertex *v, *next;
	double due;

	if (what == WAKE_ALL)
		fb_revive(t);
	WAKING(t)->soonest = WAKING(t)->delayed = 0;
	for (v = t->wait.head; v != NULL; v = next) {
		next = v->next;
		due = wakeup_time(t, v);
		if (what == WAKE_ALL ||
		    (what == WAKE_DUE && due <= now.mono) ||
		    (what == WAKE_OLD && v->tried < WAKING(t)->run) ||
		    (what == WAKE_HOST && v->host_bits & HOST_BAD &&
		    !v->dated)) {
			list_remove(&t->wait, v);
			make_ready(t, v);
			th_update_channel(v->msg);
			continue;
		}
		WAKING(t)->delayed |= due > v->wakeup;
		if (WAKING(t)->soonest == 0 || due < WAKING(t)->soonest)
			WAKING(t)->soonest = due;
	}
}

void
th_run_timer(struct thread *t)
{
	if (t->ring == NULL) {
		free_thread(t);
		return;
	}
	revive_if_due(t);
	if (WAKING(t)->soonest <= now.mono && !t->ring->conf->v.queueonly)
		wake_vertices(t, WAKE_DUE);
	th_update(t);
}

/* Makes due those vertices that the current run has not deferred.  Without a
 * run, the dead time ends, that of an unused thread too.  Returns 1; or 0 if no
 * vertex is READY or in WAIT, or the thread is of the channel dsn. */
static int
trigger_thread(struct thread *t)
{
	if (t->ring == NULL) {
		if (t->until > now.mono)
			t->until = now.mono;	/* th_get ends the dead time */
		return 0;
	}
	/* a T line for a host with the name "failure" is not for DSNs */
	if (th_is_dsn(t) || th_nready(t) + t->wait.n == 0)
		return 0;
	t->triggered = 1;
	/* a run tries no vertex again that it has deferred */
	wake_vertices(t, t->nta == 0 ? WAKE_ALL : WAKE_OLD);
	th_update(t);
	return 1;
}

/* th_lookup with box 0 does not find the threads of single mailboxes.  They are
 * at the beginning of q.all. */
void
th_trigger_host(const char *host)
{
	const struct chan *c;
	struct thread *t;
	int n = 0;

	for (c = q.chans; c != NULL; c = c->next)
		if ((t = th_lookup(c, host, 0)) != NULL)
			n += trigger_thread(t);
	t = strcmp(host, "-") == 0 ? q.all : NULL;
	for (; t != NULL && th_is_local(t); t = t->next)
		if (t->box != 0)
			n += trigger_thread(t);
	log_info("trigger host=%s threads=%d", host, n);
}

void
th_dequeue(struct vertex *v)
{
	v->thread->used = now.mono;
	if (v->state == V_READY)
		order_dequeue(v, 0);
	else if (v->state == V_WAIT)
		list_remove(&v->thread->wait, v);
	else if (v->state == V_PINNED)
		WAKING(v->thread)->npinned--;
}

/* A PINNED vertex is on no list here, so nothing wakes or feeds it. */
void
th_requeue(struct vertex *v, int is_pinned, double wakeup)
{
	struct thread *t = v->thread;
	double until;

	th_dequeue(v);
	if (is_pinned) {
		v->state = V_PINNED;
		WAKING(t)->npinned++;
	} else if (wakeup > now.mono) {
		v->state = V_WAIT;
		v->wakeup = wakeup;
		if (t->wait.n == 0 || v->wakeup < WAKING(t)->soonest)
			WAKING(t)->soonest = v->wakeup;
		list_append(&t->wait, v);
	} else {
		make_ready(t, v);
	}
	if (!is_pinned && v->msg->nfed == 0 && th_why(v, &until) != WHY_NONE)
		note_leaver(v->msg->link.hash);
	th_update_channel(v->msg);
	th_update(t);
}

void
th_flush(struct thread *t, struct vertex *one, int is_revived)
{
	t->triggered = t->ring->conf->v.queueonly;
	if (is_revived) {
		t->ring->start_at = 0;
		fb_revive(t);
	}
	if (one == NULL)
		wake_vertices(t, WAKE_ALL);
	else
		th_requeue(one, 0, 0);
	th_update(t);
}

int
th_update_hold(struct thread *t)
{
	int was_held = t->held != NULL;

	t->held = held_match_address(t->chan->name, t->host);
	if (was_held && t->held == NULL)
		wake_vertices(t, WAKE_ALL);	/* released mail is tried now */
	th_update(t);
	return was_held && t->held == NULL;
}

/* The dead time of a dead host is not prolonged: several failed starts together
 * use one factor of the retry list. */
void
th_sleep(struct thread *t)
{
	long span;

	if (t->until > now.mono)
		return;
	t->triggered = 0;
	note_leaver(0);
	t->death_event = ++q.events;
	if (t->deaths < USHRT_MAX)
		t->deaths++;
	q.unsaved |= CHANGES;
	span = retry_next_wait(&t->ring->conf->v, &t->retry_index, t->deaths,
	    now.wall);
	t->window = 0;
	t->until = now.mono + span;
	log_info("asleep channel=%s host=%s for=%ld tries=%u %s",
	    t->chan->name, t->host, span, (unsigned)t->deaths,
	    t->reason != NULL ? t->reason : "");
	th_update(t);
}

/* Counts a good report.  Vertices that were deferred because of the host are
 * tried now if the host was dead; if not, once an interval at most, and only
 * when no vertex is READY, so that a host that answers only sometimes is not
 * overloaded.  In the thread of several mailboxes a report on one of them says
 * nothing of the others. */
static void
note_answer(struct thread *t)
{
	int was_dead = t->window == 0;

	t->deaths = t->retry_index = 0;
	free(t->reason);
	t->reason = NULL;
	fb_report_good(t);
	if (was_dead || (t->fb != &t->ring->conf->local &&
	    th_nready(t) == 0 && t->wait.n > 0 &&
	    now.mono - WAKING(t)->woken >= t->ring->conf->v.interval)) {
		WAKING(t)->woken = now.mono;
		wake_vertices(t, WAKE_HOST);
	}
}

void
th_count_report(struct thread *t, int host_bits)
{
	const char *kind = host_bits & HOST_GOOD ? "good" : "none";
	long was = t->window;
	int died;

	if (host_bits & HOST_BAD)
		fb_report_bad(t, host_bits & HOST_ALL);
	else if (host_bits & HOST_GOOD)
		note_answer(t);
	q.unsaved |= t->window != was ? CHANGES : USES;
	died = was > 0 && t->window == 0;
	if (died)
		th_sleep(t);
	if (t->ring->conf->v.feedbackdebug)
		log_info("feedback channel=%s host=%s %s window=%ld agents=%u "
		    "success=%ld%% failure=%ld%% cohorts=%ld%%%s%s",
		    t->chan->name, t->host, host_bits & HOST_BAD ? "bad" : kind,
		    t->window, t->nta, (long)(t->success * 100),
		    (long)(t->failure * 100), (long)(t->cohorts * 100),
		    died ? " dead" : "",
		    was == 0 && t->window > 0 ? " revived" : "");
}

/* ---- agents come and go ---------------------------------------------- */

/* Lets the agent work on the thread.  nta counts it until th_detach_agent,
 * nstart until its first #hungry, nref until it works on another thread or is
 * gone. */
static void
attach_agent(struct ta *ta, struct thread *t)
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
		WAKING(t)->run = NOW;
	PREPEND(t->busy, ta, tnext, tprev);
	ta->working = 1;
	ta->stretch = 0;
	if (th_is_local(t))	/* the next turn comes after other mailboxes */
		heap_del(&t->ring->ready, &t->turn);
	t->nta++;
	t->nstart += !ta->started;
}

void
th_detach_agent(struct ta *ta)
{
	struct thread *t = ta->thread;

	if (!ta->working)
		return;
	ta->working = 0;
	REMOVE(t->busy, ta, tnext, tprev);
	t->nstart -= !ta->started;
	/* vertices that the run has deferred may be due at its end; they are
	 * searched for in the next second, so that several short runs cause
	 * only one search */
	if (--t->nta == 0 && WAKING(t)->delayed && WAKING(t)->soonest > NOW + 1)
		WAKING(t)->soonest = NOW + 1;
}

/* Leaves the vertex as many recipients as a job may have, and makes the others
 * READY.  A portion is never larger than a job line, whatever a later
 * configuration says. */
static void
split_vertex(struct vertex *v)
{
	unsigned most = v->thread->ring->conf->v.maxrcpts;
	struct vertex *rest;

	if (most == 0 && v->portion)
		most = PORTION_MOST;
	if (most == 0 || v->nr <= most || v->npending < v->nr || v->msg->held ||
	    v->cancel != CANCEL_NONE ||
	    (rest = msg_split_vertex(v, most)) == NULL)
		return;
	rest->state = V_READY;
	order_enqueue(v->thread, rest);
}

void
th_note_first_hungry(struct ta *ta)
{
	struct thread *t = ta->thread;

	ta->started = 1;
	t->nstart--;
	if (ta->portions && ta->jobs.head != NULL)
		split_vertex(ta->jobs.head);
	if (t->fb->rate.n > 0)	/* the first delivery begins now */
		t->slot = now.mono;
	th_update(t);
}

void
th_feed(struct ta *ta, struct vertex *v)
{
	struct thread *t = v->thread;

	if (!ta->working)
		attach_agent(ta, t);
	if (ta->portions)
		split_vertex(v);
	order_dequeue(v, 1);
	order_count_fed(v->msg, 1);
	v->state = V_FED;
	v->ta = ta;
	v->wakeup = 0;
	v->dated = 0;
	v->host_bits = 0;
	if (th_is_result_dsn(t)) {
		q.nfed_dsn++;
		v->msg->dsn_stale = 0;
	}
	list_append(&ta->jobs, v);
	ta->stretch++;
	ta->njobs++;
	fb_use_slot(t);
	th_update(t);
}

struct vertex *
th_next_job(const struct ta *ta)
{
	const struct thread *t = ta->thread;

	/* with order=preempt, vertices on offer go before those on the list;
	 * nta counts this agent too, but can_add_agent takes the number of the
	 * other agents */
	if ((t->noffer > 0 && ring_is_preemptive(ta->ring)) ||
	    why_blocked(t) != WHY_NONE || !can_add_agent(t, t->nta - 1))
		return NULL;
	return t->ready.head;
}

void
th_take_from_agent(struct vertex *v)
{
	struct vertex *unblocked;

	list_remove(&v->ta->jobs, v);
	v->ta = NULL;
	q.nfed_dsn -= th_is_result_dsn(v->thread);
	order_count_fed(v->msg, -1);
	unblocked = order_unblock_claim(v->thread->ring, 0);
	if (unblocked != NULL)
		th_update(unblocked->thread);
}

/* ---- reload and sweep ------------------------------------------------ */

/* Moves a thread to another ring.  No dead time, and no wait of a vertex
 * without a retryat, lasts beyond the longest wait of the new clause.  Vertices
 * of the channel dsn become due: they have waited for the end of a pause that
 * only the agent dsn has in memory, and that agent ends with the old ring. */
static void
change_ring(struct thread *t, struct ring *r)
{
	double most = now.mono + retry_longest_wait(&r->conf->v);
	struct vertex *v;

	order_set_open(t, 0);
	t->ring->nthreads--;
	set_ring(t, r);
	revive_if_due(t);
	if (t->until > most)
		t->until = most;
	for (v = t->wait.head; v != NULL; v = v->next) {
		if (th_is_dsn(t)) {
			v->dated = 0;
			v->wakeup = NOW;
		}
		if (!v->dated && v->wakeup > most)
			v->wakeup = most;
	}
	WAKING(t)->soonest = now.mono;	/* th_run_timer sets the right time */
	t->retry_index = 0;
}

#define RING_AGAIN	30	/* seconds */

/* Moves the threads of old rings to new ones.  All READY vertices become READY
 * anew, as their claims (order.c) belong to a ring. */
static void
move_threads(void)
{
	struct vertex *v, *next;
	struct hlink *l;
	struct thread *t;
	struct ring *r;

	sweep.move_at = 0;
	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; )
		order_free_claims(OWNER(struct message, link, l));
	for (t = q.all; t != NULL; t = t->next) {
		r = ring_is_old(t->ring) ? get_ring(t->chan, t->host) : t->ring;
		if (r == NULL) {
			log_err("reload channel=%s host=%s no memory; its mail "
			    "waits", t->chan->name, t->host);
			sweep.move_at = now.mono + RING_AGAIN;
		} else if (r != t->ring) {
			change_ring(t, r);
		}
		next = t->ready.head;
		memset(&t->ready, 0, sizeof(t->ready));
		t->fresh = 0;
		while ((v = next) != NULL) {
			next = v->next;
			make_ready(t, v);
		}
		th_update(t);
	}
}

void
th_use_config(struct config *config)
{
	struct config *old = q.config;

	q.config = config;	/* all rings are old now */
	free_if_unused(old);
	note_leaver(0);
	move_threads();
}

/* Takes the thread out of use.  Its timer, by which it is freed, is set to the
 * latest of: forget seconds after its last use, the next slot of its rate, the
 * end of its dead time.  A thread that is dead only because another machine's
 * file of destinations says so (destdb.c) is freed at the end of its dead
 * time. */
static void
retire_thread(struct thread *t)
{
	double keep = t->used + t->ring->conf->v.forget;
	double next = now.mono + fb_rate_wait(t);

	if (keep < next)
		keep = next;
	if (t->by_other || (t->window == 0 && keep < t->until))
		keep = t->until;
	heap_set(&q.due_threads, &t->due, keep);
	heap_del(&t->ring->ready, &t->turn);
	t->ring->nthreads--;
	t->ring = NULL;
	t->fb = NULL;
	q.nthreads--;
	REMOVE(q.all, t, next, prev);
	APPEND(q.unused, t, next, prev);
	/* unused threads of mailboxes would be too many to keep; threads that
	 * the file of destinations has restored at the start, last used before
	 * mono 0, push no others out */
	if (th_is_local(t))
		free_thread(t);
	else if (q.dests.n - q.nthreads > UNUSED_MOST && t->used >= 0)
		free_thread(q.unused);
}

void
th_sweep(void)
{
	struct thread *t, *next;

	while ((t = sweep.empty) != NULL) {
		next = WAKING(t)->next_empty;
		sweep.empty = next != t ? next : NULL;
		WAKING(t)->next_empty = NULL;
		if (is_empty(t))
			retire_thread(t);
	}
	if (sweep.move_at != 0 && sweep.move_at <= now.mono)
		move_threads();
	sweep_rings();
}
