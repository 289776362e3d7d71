/*
 * queue.c - what is in core, and what becomes of it.
 *
 * A message is split into vertices, one for each channel and host; thread.c
 * decides when a vertex goes to an agent, and report.c hears what became of
 * it.  This module takes messages in, ends recipients, vertices and messages,
 * and does to them what operators want.
 *
 * Expiry.  A message has one timer, for the earliest moment at which one of
 * its vertices can expire.  A vertex expires when it is older than expiry
 * and was tried, by itself or as part of a host that was found dead; or,
 * tried or not, expiry2 later.  A deferral after that moment expires it at
 * once, and a retry is never put off beyond it.  A message whose control file
 * somebody took away is forgotten.
 *
 * Objects die in one place, q_sweep at the end of a pass: messages with no
 * vertex left, and, by th_sweep, threads and rings that are empty.
 *
 * Costs: finding a message O(1), timers O(log n); everything else on the way
 * O(1).
 */
#include "scheduler.h"

static struct message *done;	/* to be swept, linked by done */

static int stat_fd = -1;

/* ---- the end of recipients, vertices, messages ----------------------- */

static void
to_sweep(struct message *m)
{
	if (m->swept)
		return;
	m->swept = 1;
	m->done = done;
	done = m;
}

void
q_done(struct vertex *v)
{
	struct thread *t = v->thread;
	struct message *m = v->msg;

	if (v->state == V_READY)
		th_out(v);
	else if (v->state == V_WAIT)
		list_del(&t->wait, v);
	else if (v->state == V_HELD)
		t->nheld--;
	v->state = V_DONE;
	v->thread = NULL;
	reason_free(v->reason);
	v->reason = NULL;
	if (t->wait.n == 0)
		th_arm(t);
	th_check(t);
	th_suspect(t);
	if (--m->left == 0)
		to_sweep(m);
}

/* One line of -l: spool id, seconds until transport/, seconds there. */
static void
statistic(const struct vertex *v, const char *state)
{
	const struct message *m = v->msg;
	char id[80], line[WORD_MAX_ * 2 + 200];
	struct text t;

	if (stat_fd < 0 || spool_id(m->name, id, sizeof(id)) < 0)
		return;
	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%s %ld %ld %s ", id, m->queued - m->born,
	    (long)now.mono - m->queued, state);
	t.clean = 1;
	text_add(&t, "%s/%s", v->thread->ring->chan->name, v->thread->host);
	line[t.len++] = '\n';
	fd_write(stat_fd, line, t.len);
}

int
q_statlog(void)
{
	int fd;

	if (opt.statlog == NULL)
		return 0;
	fd = open(opt.statlog, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0) {
		log_err("statlog file=%s %s", opt.statlog, strerror(errno));
		return -1;
	}
	fd_cloexec(fd);
	if (stat_fd >= 0)
		close(stat_fd);
	stat_fd = fd;
	return 0;
}

void
q_finish(struct vertex *v, struct rcpt *r, int state, const char *status,
    const char *message)
{
	struct message *m = v->msg;

	r->state = (unsigned)state & 3;
	v->left--;
	q.rcpts_out++;
	if (state == RC_FAILED)
		m->failed = 1;
	statistic(v, status);
	log_info("%s msg=%s rcpt=%u channel=%s host=%s status=%s age=%ld %s",
	    state == RC_OK ? "delivered" : "failed", m->name, r->off,
	    v->thread->ring->chan->name, v->thread->host, status,
	    (long)now.mono - m->born, message);
}

void
q_drop(struct message *m, const char *why)
{
	unsigned i;

	log_info("drop msg=%s %s", m->name, why);
	m->dropped = 1;
	m->gone = (unsigned char)spool_gone(m->name);
	for (i = 0; i < m->nv; i++)
		if (m->v[i].state != V_FED && m->v[i].state != V_DONE)
			q_done(&m->v[i]);
}

/* Was the vertex's host found dead while the message was here? */
static int
host_asked(const struct vertex *v)
{
	return v->thread->dest->tries > 0 && v->thread->asked > v->msg->loaded;
}

/* The recipient fails: the tag first, then the diagnostic line; a line that
 * cannot be written takes the tag back.  0 or -1. */
static int
fail(const char *name, unsigned long off, const char *status,
    const char *message)
{
	if (ctl_mark(name, off, '-') < 0)
		return -1;
	if (ctl_diag(name, off, "", status, message) == 0)
		return 0;
	ctl_mark(name, off, ' ');
	return -1;
}

/* All that is left of a vertex fails, on disk before it is forgotten.  how is
 * the beginning of the reason.  0, or -1 when the disk would not have it. */
static int
vertex_expire(struct vertex *v, const char *how)
{
	struct message *m = v->msg;
	struct reason *why = v->reason;
	char message[1200];
	struct text t;
	unsigned i;

	if (why == NULL && host_asked(v))
		why = v->thread->dest->reason;
	text_init(&t, message, sizeof(message));
	text_add(&t, "%s after ", how);
	span_add(&t, (long)now.mono - m->born);
	if (why != NULL)
		text_add(&t, ", problem was:\n%s", why->s);
	for (i = v->first; i != NONE; i = m->r[i].next) {
		if (m->r[i].state != RC_PENDING)
			continue;
		if (fail(m->name, m->r[i].off, "4.4.7 (delivery time expired)",
		    message) < 0)
			return -1;
		q_finish(v, &m->r[i], RC_FAILED, "expire", message);
	}
	if (ctl_sync(m->name) < 0)
		log_err("expire msg=%s %s", m->name, strerror(errno));
	q_done(v);
	return 0;
}

void
q_tag(const struct message *m, const struct rcpt *r)
{
	long pid;
	int want = r->state == RC_OK ? '+' : '-';

	if (ctl_tag(m->name, r->off, &pid) != want)
		ctl_mark(m->name, r->off, want);
}

/* Nobody gets the rest of a vertex, and nobody is told: 0 or -1 as above. */
static int
vertex_delete(struct vertex *v)
{
	struct message *m = v->msg;
	unsigned i;

	for (i = v->first; i != NONE; i = m->r[i].next) {
		if (m->r[i].state != RC_PENDING)
			continue;
		if (ctl_mark(m->name, m->r[i].off, '+') < 0)
			return -1;
		m->r[i].state = RC_OK;
		v->left--;
		q.rcpts_out++;
		log_info("deleted msg=%s rcpt=%u channel=%s host=%s", m->name,
		    m->r[i].off, v->thread->ring->chan->name,
		    v->thread->host);
	}
	q_done(v);
	return 0;
}

#define DISK_AGAIN	60	/* seconds until a failed disk is tried again */
#define TRIED_AGAIN	60	/* ... until old mail is looked at again */

/* Expires the vertex if that is due: when to look again, mono; 0: never.  The
 * host of old mail that was never tried may be found dead at any time, and
 * that counts as a try. */
static long
vertex_timer(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	long at = v->msg->born + s->expiry, untried = at + s->expiry2;

	if (s->expiry == 0 || v->msg->held || v->thread->held != NULL)
		return 0;	/* what is held does not get too old */
	if ((double)at > now.mono)
		return at;
	if (v->tries == 0 && !host_asked(v) && (double)untried > now.mono) {
		at = (long)now.mono + TRIED_AGAIN;
		return at < untried ? at : untried;
	}
	if (spool_gone(v->msg->name)) {
		q_drop(v->msg, "its control file was taken away");
		return 0;
	}
	if (v->state != V_FED && vertex_expire(v, "expired") == 0)
		return 0;
	return (long)now.mono + DISK_AGAIN;
}

/* Expires what is due of a message and sets its timer for the next. */
static void
message_timer(struct message *m)
{
	long at, next = 0;
	unsigned i;

	if (m->left == 0) {	/* its files could not be removed */
		heap_del(&q.expire, &m->expire);
		to_sweep(m);
		return;
	}
	for (i = 0; i < m->nv; i++) {
		at = m->v[i].state == V_DONE ? 0 : vertex_timer(&m->v[i]);
		if (at != 0 && (next == 0 || at < next))
			next = at;
	}
	if (next == 0 || m->left == 0)
		heap_del(&q.expire, &m->expire);
	else
		heap_set(&q.expire, &m->expire, (double)next);
}

void
q_expiry(struct vertex *v)
{
	struct message *m = v->msg;
	long at = vertex_timer(v);

	if (at != 0 && (m->expire.pos == 0 || (double)at < m->expire.when))
		heap_set(&q.expire, &m->expire, (double)at);
}

/* ---- arrival --------------------------------------------------------- */

struct message *
q_find(unsigned long num)
{
	struct hlink *l;
	struct message *m;

	for (l = hash_first(&q.messages, (unsigned)num); l != NULL;
	    l = hash_next(l)) {
		m = OWNER(struct message, link, l);
		if (m->num == num)
			return m;
	}
	return NULL;
}

/* A new vertex starts its thread at once, unless it has to keep to the
 * thread's own time. */
static void
arrive(struct vertex *v)
{
	struct thread *t = v->thread;
	const struct setting *s = &t->ring->conf->v;

	v->step = retry_step(s, (long)now.mono - v->msg->born);
	if (v->msg->held) {
		v->state = V_HELD;
		t->nheld++;
		return;
	}
	if (s->wakeuprestartonly && t->wake.pos != 0) {
		th_wait(t, v, (long)t->wake.when);
		return;
	}
	th_ready(t, v);
	th_arm(t);
	th_check(t);
}

int
q_add(struct message *m)
{
	unsigned i;

	if (heap_room(&q.expire, q.nmessages + 1) < 0)
		return -1;
	hash_add(&q.messages, &m->link, (unsigned)m->num);
	q.nmessages++;
	q.msgs_in++;
	q.rcpts_in += m->nr;
	m->held = (unsigned char)held_message(m->name);
	for (i = 0; i < m->nv; i++)
		arrive(&m->v[i]);
	message_timer(m);
	return 0;
}

/* ---- what an operator wants ------------------------------------------ */

#define DOOMED_NOW	100	/* vertices that are ended in one pass */

/* A walk over all messages, some a pass; done when a whole lap finds none. */
static struct {
	int	on, found;
	unsigned bucket;
} walk;

int
q_doomed(struct vertex *v)
{
	int how = v->doom;

	v->doom = DOOM_NONE;
	return how == DOOM_DELETE ? vertex_delete(v) :
	    vertex_expire(v, "ended by the postmaster");
}

int
q_doom(struct vertex *v, enum doom how, int later)
{
	v->doom = (unsigned char)how;
	if (v->state == V_FED)
		return 1;
	if (!later)
		return q_doomed(v);
	if (v->state != V_HELD)
		th_hold(v);	/* nobody gets it meanwhile */
	walk.on = walk.found = 1;
	return 2;
}

/* Ends what is doomed of a message: vertices that were. */
static int
doom_message(struct message *m)
{
	struct vertex *v;
	int n = 0;

	for (v = m->v; v < m->v + m->nv; v++) {
		if (v->doom == DOOM_NONE || v->state != V_HELD)
			continue;
		n++;
		if (q_doomed(v) < 0 && !m->held)
			th_release(v);
	}
	return n;
}

/* Goes on with it: each costs the disk a moment, and mail must not wait. */
static void
doom_some(void)
{
	struct hlink *l;
	unsigned looked = 0;
	int n = 0;

	while (walk.on && n < DOOMED_NOW && looked++ < 100 * DOOMED_NOW) {
		if (walk.bucket >= q.messages.size) {
			walk.on = walk.found;
			walk.found = 0;
			walk.bucket = 0;
			continue;
		}
		for (l = q.messages.v[walk.bucket++]; l != NULL; l = l->next)
			n += doom_message(OWNER(struct message, link, l));
		walk.found |= n > 0;
	}
}

void
q_hold(struct message *m, int on)
{
	struct vertex *v;

	m->held = (unsigned char)on;
	for (v = m->v; v < m->v + m->nv; v++)
		if (on && (v->state == V_READY || v->state == V_WAIT))
			th_hold(v);
		else if (!on && v->state == V_HELD)
			th_release(v);
	message_timer(m);
}

void
q_rearm(struct message *m)
{
	message_timer(m);
}

/* ---- timers, reload, sweep ------------------------------------------- */

void
q_timers(void)
{
	struct timer *t;

	while ((t = heap_first(&q.wake)) != NULL && t->when <= now.mono) {
		heap_del(&q.wake, t);
		th_due(OWNER(struct thread, wake, t));
	}
	while ((t = heap_first(&q.expire)) != NULL && t->when <= now.mono)
		message_timer(OWNER(struct message, expire, t));
	doom_some();
}

double
q_wait(void)
{
	struct timer *w = heap_first(&q.wake), *e = heap_first(&q.expire);
	double when = walk.on ? now.mono : now.mono + 3600;

	if (w != NULL && w->when < when)
		when = w->when;
	if (e != NULL && e->when < when)
		when = e->when;
	return when > now.mono ? when - now.mono : 0;
}

void
q_reload(struct config *config)
{
	struct message *m;
	struct hlink *l, *next;
	unsigned i;

	th_reload(config);
	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = next) {
			next = l->next;
			m = OWNER(struct message, link, l);
			message_timer(m);
		}
}

/* The disk does not let it go: its tags at least are to say what is done. */
static void
mark_all(const struct message *m)
{
	unsigned i;

	for (i = 0; i < m->nr; i++)
		if (m->r[i].state != RC_PENDING)
			q_tag(m, &m->r[i]);
}

/* The files of a message that is done go, or are kept for the postmaster
 * when something in it failed. */
static void
message_end(struct message *m)
{
	int bad;

	log_info("complete msg=%s rcpts=%u failed=%s age=%ld", m->name, m->nr,
	    m->failed ? "some" : "none", (long)now.mono - m->born);
	if (m->verbose)
		spool_verbose(m->name, "scheduler done processing");
	if (m->gone)
		bad = 0;
	else if (!m->failed || m->dropped)
		bad = spool_remove(m->name);
	else
		bad = spool_park(m->name,
		    "not every recipient could be reached");
	if (bad) {		/* it must not be loaded anew meanwhile */
		mark_all(m);
		m->swept = 0;
		heap_set(&q.expire, &m->expire, now.mono + DISK_AGAIN);
		return;
	}
	if (m->held)
		held_del(0, m->name);
	order_forget(m);
	heap_del(&q.expire, &m->expire);
	hash_del(&q.messages, &m->link);
	q.nmessages--;
	q.msgs_out++;
	free(m);
}

void
q_sweep(void)
{
	struct message *m;

	while ((m = done) != NULL) {
		done = m->done;
		message_end(m);
	}
	th_sweep();
	ctl_forget();
}

int
q_init(struct config *config)
{
	if (th_init(config) < 0)
		return -1;
	return hash_init(&q.messages, 256);
}
