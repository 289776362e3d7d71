/*
 * queue.c - what is in core, and what becomes of it.
 *
 * A message is split into vertices, one for each channel and host; thread.c
 * decides when a vertex goes to an agent, and report.c hears what became of
 * it.  This module takes messages in, ends recipients, vertices and messages,
 * and does to them what operators want.
 *
 * Telling.  What a sender is to be told is in the control file, and the agent
 * dsn writes it (ta/dsn.c).  For this the message gets one more vertex, on the
 * channel dsn and the host failure (it is over and some of it failed), success
 * (something else has ended) or delay.  It has one recipient, at the offset 0,
 * that stands for the message: counted nowhere, and without a tag on disk.  A
 * message that is done goes when this is.
 *
 *	r- ... d ...	q_tell(m, "failure") -> 1234-56 <tab> failure
 *	r- ... d+...	1234/0 ok to=anna@a.example ... -> q_told -> both
 *			files go, or into postman/ when nobody could be told
 *
 * Expiry.  A message has one timer, for the earliest moment at which one of
 * its vertices can expire.  A vertex expires when it is older than expiry
 * and was tried, by itself or as part of a host that was found dead; or,
 * tried or not, expiry2 later.  A deferral after that moment expires it at
 * once, and a retry is never deferred beyond it.  A message whose control file
 * somebody took away is forgotten.
 *
 * Of a large message only a part is in core; intake.c reads more of it when
 * there is room.  Its job for a host is still the whole of it for agents, who
 * read the control file: what one of them says of a recipient that is not in
 * core is written down on disk (q_beside), and there the next reading finds
 * it done.  A message is over when nothing is in core and nothing unread.
 *
 * Objects die in one place, q_sweep at the end of a pass: vertices that are
 * done, messages that are over, and, by th_sweep, threads and rings that are
 * empty.
 *
 * Costs: finding a message O(1), timers O(log n), and O(vertices) of a message
 * when it comes in or one may expire; everything else on the way O(1).
 */
#include "scheduler.h"

/* Messages to be swept, as their first vertices, linked by prev. */
static struct vertex *done;
static struct vertex *dead;	/* DONE, to be swept, linked by next */

/* The walk over all messages for what is doomed, some a pass; done when a
 * whole lap finds none. */
static struct {
	int	on, found;
	unsigned bucket;
} walk;

static int stat_fd = -1;
static int rush;		/* the sweep has made something ready */

/* ---- the end of recipients, vertices, messages ----------------------- */

static void
to_sweep(struct message *m)
{
	if (m->swept)
		return;
	m->swept = 1;
	m->first.prev = done;
	done = &m->first;
}

int
q_over(const struct message *m)
{
	return m->left == 0 && msg_unread(m) + msg_evicted(m) == 0;
}

/* Something has changed that may let more of it be read. */
static void
look_soon(struct message *m)
{
	struct part *p;

	for (p = msg_part(m); p != NULL; p = p->other)
		if (p->unread + p->evicted > 0)
			heap_set(&q.look, &p->look, 0);
}

/* Its share of the extra recipients is others' when no more of them are in
 * core, nor to be read. */
static void
give_back(struct message *m)
{
	if (m->more == NULL || m->more->extra == 0 || msg_unread(m) > 0 ||
	    m->rcpts > (unsigned)q.config->rcptminimum)
		return;
	q.extra -= m->more->extra;
	m->more->extra = 0;
}

void
q_unread(struct part *p, unsigned n)
{
	if (p->unread == 0 && n > 0)
		APPEND(p->chan->partial, p, pnext, pprev);
	if (p->unread > 0 && n == 0)
		REMOVE(p->chan->partial, p, pnext, pprev);
	p->unread = n;
	give_back(p->msg);
	if (n + p->evicted > 0)
		look_soon(p->msg);
	else
		heap_del(&q.look, &p->look);
}

/* Nothing more of it is to be read. */
static void
read_no_more(struct message *m)
{
	struct part *p;

	for (p = msg_part(m); p != NULL; p = p->other) {
		p->evicted = 0;
		q_unread(p, 0);
	}
}

void
q_rotate(struct chan *c)
{
	struct part *p = c->partial;

	REMOVE(c->partial, p, pnext, pprev);
	APPEND(c->partial, p, pnext, pprev);
}

/* So many recipients of the vertex need no more room in core. */
static void
rcpts_gone(struct vertex *v, unsigned n)
{
	v->left -= n;
	if (th_is_dsn(v->thread))
		return;
	v->msg->rcpts -= n;
	v->thread->ring->chan->rcpts -= n;
	q.rcpts -= n;
	give_back(v->msg);
	look_soon(v->msg);
}

void
q_done(struct vertex *v)
{
	struct thread *t = v->thread;
	struct message *m = v->msg;
	unsigned i;

	if (v->state == V_READY)
		th_out(v);
	else if (v->state == V_WAIT)
		list_del(&t->wait, v);
	else if (v->state == V_HELD)
		t->nheld--;
	v->state = V_DONE;
	rcpts_gone(v, v->left);
	v->thread = NULL;
	v->next = dead;
	dead = v;
	for (i = 0; i < v->nr; i++)
		reason_free(&v->r[i]);
	th_update(t);
	th_suspect(t);
	m->left--;
	if (q_over(m))
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
	text_add(&t, "%s %ld %ld %s ", id, (long)(m->queued - m->born),
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
	fd = fd_append(opt.statlog);
	if (fd < 0) {
		log_err("statlog file=%s %s", opt.statlog, fd_own_why());
		return -1;
	}
	if (stat_fd >= 0)
		close(stat_fd);
	stat_fd = fd;
	return 0;
}

void
q_news(struct message *m)
{
	struct more *more;

	m->tell = 1;
	if (m->news)
		return;
	m->news = 1;
	if (q.config->reportevery == 0 || (more = msg_more(m)) == NULL)
		return;
	more->tellat = (int)((long)now.mono + q.config->reportevery);
	if (more->notice.pos == 0 ||
	    heap_when(&q.notices, &more->notice) > (double)more->tellat)
		heap_set(&q.notices, &more->notice, (double)more->tellat);
}

void
q_beside(struct vertex *v, unsigned long off, int state, const char *status,
    const char *message)
{
	struct message *m = v->msg;

	if (state == RC_FAILED)
		m->failed = 1;
	if (state == RC_FAILED || strcmp(status, "ok2") == 0)
		q_news(m);
	statistic(v, status);
	log_info("%s msg=%s rcpt=%lu channel=%s host=%s status=%s age=%ld %s",
	    state == RC_OK ? "delivered" : "failed", m->name, off,
	    v->thread->ring->chan->name, v->thread->host, status,
	    (long)now.mono - m->born, message);
}

void
q_finish(struct vertex *v, struct rcpt *r, int state, const char *status,
    const char *message)
{
	r->state = (unsigned)state & 3;
	reason_free(r);
	rcpts_gone(v, 1);
	q.rcpts_out++;
	q_beside(v, r->off, state, status, message);
}

void
q_drop(struct message *m, const char *why)
{
	struct vertex *v;

	log_info("drop msg=%s %s", m->name, why);
	m->dropped = 1;
	read_no_more(m);
	m->gone = spool_gone(m->name) != 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_FED && v->state != V_DONE)
			q_done(v);
	if (q_over(m))
		to_sweep(m);
}

/* Was the vertex's host found dead while the message was here? */
static int
host_asked(const struct vertex *v)
{
	const struct dest *d = v->thread->dest;

	return d->tries > 0 && d->asked > v->msg->loaded;
}

/* The recipient fails: the tag first, then the diagnostic line; a line that
 * cannot be written takes the tag back.  When nobody is to be told the line
 * comes first.  0 or -1. */
static int
fail(const struct vertex *v, unsigned long off, const char *status,
    const char *message, long when)
{
	const char *name = v->msg->name;

	if (v->thread->ring->conf->v.bounce == BOUNCE_NONE)
		return ctl_untold(name, off, "", status, message, when) < 0 ?
		    -1 : ctl_mark(name, off, '-');
	if (ctl_mark(name, off, '-') < 0)
		return -1;
	if (ctl_diag(name, off, "", status, message, when) == 0)
		return 0;
	ctl_mark(name, off, ' ');
	return -1;
}

/*
 * kept: what the control file says of recipients whose reason is not in core:
 * an older scheduler or another agent may have written it there.
 */
struct kept {
	struct notary n;
	unsigned long at[1];	/* nr: offset of the last diagnostic line, or 0 */
};

/* Reads the file once for all recipients of the vertex; NULL when that cannot
 * be done now.  The caller closes and frees it. */
static struct kept *
read_kept(const struct vertex *v)
{
	struct kept *k = mem_get(sizeof(*k) + v->nr * sizeof(k->at[0]));
	const struct rcpt *r;
	int err = 0;

	if (k == NULL)
		return NULL;
	if (nt_open(&k->n, v->msg->name) < 0)
		err = errno;
	while (err == 0 && nt_next_diag(&k->n))
		if ((r = msg_rcpt(v, k->n.off)) != NULL)
			k->at[r - v->r] = k->n.at;
	if (err == 0 && (err = nt_error(&k->n)) == 0)
		return k;
	log_err("expire msg=%s its reasons cannot be read: %s",
	    v->msg->name, strerror(err));
	nt_close(&k->n);
	free(k);
	return NULL;
}

/* The time of day at that moment, mono, as the clock is set now; 0: it is not
 * known. */
static long
wall_at(double mono)
{
	double ago = now.mono - mono;

	return ago < (double)(long)now.wall ? (long)now.wall - (long)ago : 0;
}

/* When delivery to the vertex was last tried, by itself or as part of its host,
 * wall; 0: not since it is in core. */
static long
last_try(const struct vertex *v)
{
	double at = v->tries > 0 ? (double)v->tried : NEVER;
	const struct dest *d = v->thread->dest;

	if (host_asked(v) && d->bad > at)
		at = d->bad;
	return wall_at(at);
}

/* Why this recipient of the vertex has not been delivered to, or NULL; *when is
 * set when that tells of the last try. */
static const char *
last_reason(const struct vertex *v, const struct rcpt *r, struct kept *k,
    long *when)
{
	const struct dest *d = v->thread->dest;
	unsigned long at = k == NULL ? 0 : k->at[r - v->r];
	const char *s;

	if (reason_of(r) != NULL)
		return reason_of(r);
	if (host_asked(v) && d->reason != NULL)
		return d->reason;
	if (at == 0 || nt_diag(&k->n, at) < 0)
		return NULL;
	if (*when == 0)
		*when = k->n.when;
	/* a crash may have lost the tag of one that had expired */
	s = strstr(k->n.text, REASON_MARK);
	return s == NULL ? k->n.text : s + sizeof(REASON_MARK) - 1 +
	    strspn(s + sizeof(REASON_MARK) - 1, "\r ");
}

static int
expire_one(struct vertex *v, struct rcpt *r, const char *how, struct kept *k)
{
	struct message *m = v->msg;
	long when = last_try(v);
	const char *why = last_reason(v, r, k, &when);
	char message[1200];
	struct text t;

	text_init(&t, message, sizeof(message));
	text_add(&t, "%s after ", how);
	span_add(&t, (long)now.mono - m->born);
	if (why != NULL)
		text_add(&t, ", " REASON_MARK "\n%s", why);
	else
		text_add(&t, "; no reason for the delay was kept");
	if (fail(v, r->off, "4.4.7 (delivery time expired)", message,
	    when) < 0)
		return -1;
	q_finish(v, r, RC_FAILED, "expire", message);
	return 0;
}

/* Is there one whose reason can only be in the control file? */
static int
lacks_reason(const struct vertex *v)
{
	const struct rcpt *r;

	if (!v->msg->diags ||
	    (host_asked(v) && v->thread->dest->reason != NULL))
		return 0;
	for (r = v->r; r < v->r + v->nr; r++)
		if (r->state == RC_PENDING && reason_of(r) == NULL)
			return 1;
	return 0;
}

/* All that is left of a vertex fails, on disk before it is forgotten.  how is
 * the beginning of the reason.  0, or -1 when the disk would not have it. */
static int
vertex_expire(struct vertex *v, const char *how)
{
	struct message *m = v->msg;
	struct kept *k = NULL;
	struct rcpt *r;
	int bad = 0;

	if (lacks_reason(v) && (k = read_kept(v)) == NULL)
		return -1;
	for (r = v->r; r < v->r + v->nr && !bad; r++)
		if (r->state == RC_PENDING)
			bad = expire_one(v, r, how, k) < 0;
	if (k != NULL)
		nt_close(&k->n);
	free(k);
	if (bad)
		return -1;
	if (ctl_sync(m->name) < 0)
		log_err("expire msg=%s %s", m->name, strerror(errno));
	q_done(v);
	return 0;
}

void
q_tag(const struct message *m, const struct rcpt *r)
{
	int want = r->state == RC_OK ? '+' : '-';

	if (r->off != 0 && !ctl_has(m->name, r->off, want))
		ctl_mark(m->name, r->off, want);
}

static int
is_delay(const char *what)
{
	return strcmp(what, "delay") == 0;
}

/* Nobody gets the rest of a vertex, and nobody is told: 0 or -1 as above. */
static int
vertex_delete(struct vertex *v)
{
	struct message *m = v->msg;
	unsigned i;

	for (i = 0; i < v->nr; i++) {
		if (v->r[i].state != RC_PENDING)
			continue;
		if (v->r[i].off != 0 && ctl_mark(m->name, v->r[i].off, '+') < 0)
			return -1;
		v->r[i].state = RC_OK;
		rcpts_gone(v, 1);
		q.rcpts_out += v->r[i].off != 0;
		log_info("deleted msg=%s rcpt=%u channel=%s host=%s", m->name,
		    v->r[i].off, v->thread->ring->chan->name,
		    v->thread->host);
	}
	/* a warning that is not sent leaves the end to be told */
	if (th_is_dsn(v->thread) && !is_delay(v->thread->host))
		m->tell = m->news = 0;
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
	struct vertex *v;
	long at, next = 0;

	if (q_over(m)) {	/* its files could not be removed */
		heap_del(&q.expire, &m->expire);
		to_sweep(m);
		return;
	}
	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		at = v->state == V_DONE ? 0 : vertex_timer(v);
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

	if (at != 0 && (m->expire.pos == 0 ||
	    (double)at < heap_when(&q.expire, &m->expire)))
		heap_set(&q.expire, &m->expire, (double)at);
	if (v->state != V_DONE)
		look_soon(m);
}

/* ---- arrival --------------------------------------------------------- */

struct message *
q_find(unsigned long num, const struct message *after)
{
	struct hlink *l = after == NULL ? hash_first(&q.messages, num) :
	    hash_next(&after->link);

	return l == NULL ? NULL : OWNER(struct message, link, l);
}

struct message *
q_named(const char *name)
{
	struct message *m = q_find(name_num(name), NULL);

	while (m != NULL && strcmp(m->name, name) != 0)
		m = q_find(m->link.hash, m);
	return m;
}

int
q_add(struct message *m, unsigned long num)
{
	struct message *twin;
	struct part *p;
	unsigned n = 0;

	for (p = msg_part(m); p != NULL; p = p->other)
		n++;
	/* a part is in q.look from now on until nothing of it is to be read */
	if (heap_room(&q.expire, q.nmessages + 1) < 0 ||
	    heap_room(&q.look, q.look.n + n) < 0 ||
	    heap_room(&q.notices, q.nmessages + 1) < 0)
		return -1;
	for (p = msg_part(m); p != NULL; p = p->other)
		APPEND(p->chan->partial, p, pnext, pprev);
	look_soon(m);
	for (twin = q_find(num, NULL); twin != NULL; twin = q_find(num, twin))
		m->twin = twin->twin = 1;
	hash_add(&q.messages, &m->link, num);
	q.nmessages++;
	q.msgs_in++;
	q.rcpts_in += m->nr;
	m->held = held_message(m->name) != 0;
	q.nkept += m->held;
	if (m->news) {
		m->news = 0;
		q_news(m);
	}
	if (q.nmessages > q.peak_messages)
		q.peak_messages = q.nmessages;
	return 0;
}

/* The vertex has come back, and is as it was when it left core. */
static void
remember(struct vertex *v, const struct memo *memo)
{
	v->tries = memo->tries;
	v->tried = memo->tried;
	v->step = memo->step;
	v->host = memo->host;
	v->dated = memo->dated;
	if (memo->started)
		v->thread->triggered =
		    (unsigned char)v->thread->ring->conf->v.queueonly;
}

/* Until when it waits: a reload may have made that shorter. */
static long
own_time(const struct memo *memo, const struct setting *s)
{
	long most = (long)now.mono + retry_longest(s);

	return !memo->dated && memo->wakeup > most ? most : memo->wakeup;
}

/*
 * A new vertex starts its thread at once, unless it has to keep to the
 * thread's own time.  It begins its retry list, or at the place of its age.
 * When nothing is known of its host, that has the same place.  What was evicted
 * goes on where it was.
 */
void
q_arrive(struct vertex *v, const struct memo *memo)
{
	struct thread *t = v->thread;
	struct dest *d = t->dest;
	const struct setting *s = &t->ring->conf->v;

	v->msg->left++;
	v->step = v->msg->aged ?
	    retry_step(s, (long)now.mono - v->msg->born) & 127U : 0;
	if (d->ngood + d->nbad == 0 && d->tries == 0 && d->step < v->step)
		d->step = (unsigned short)v->step;
	if (memo != NULL)
		remember(v, memo);
	if (v->msg->doom != DOOM_NONE) {
		v->doom = v->msg->doom;
		walk.on = walk.found = 1;
	}
	if (v->msg->held || v->doom != DOOM_NONE) {
		v->state = V_HELD;
		t->nheld++;
		return;
	}
	if (memo != NULL && (double)memo->wakeup > now.mono) {
		th_wait(t, v, own_time(memo, s));
	} else if (memo == NULL && s->wakeuprestartonly && t->wake.pos != 0) {
		th_wait(t, v, (long)heap_when(&q.wake, &t->wake));
	} else {
		th_ready(t, v);
	}
	th_update(t);
}

void
q_widened(struct vertex *v, unsigned rcpts)
{
	v->msg->rcpts += rcpts;
	v->thread->ring->chan->rcpts += rcpts;
	q.rcpts += rcpts;
	if (q.rcpts > q.peak_rcpts)
		q.peak_rcpts = q.rcpts;
}

void
q_arrived(struct message *m)
{
	message_timer(m);
}

void
q_exhausted(struct part *p, unsigned missing)
{
	q_unread(p, 0);
	q.rcpts_out += missing;
	if (q_over(p->msg))
		to_sweep(p->msg);
}

/* ---- what an operator wants ------------------------------------------ */

#define DOOMED_NOW	100	/* vertices that are ended in one pass */

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
	v->doom = (unsigned)how & 3;
	if (v->state == V_FED)
		return 1;
	if (!later)
		return q_doomed(v);
	if (v->state != V_HELD)
		th_hold(v);	/* nobody gets it meanwhile */
	walk.on = walk.found = 1;
	return 2;
}

void
q_doom_rest(struct message *m, enum doom how)
{
	struct part *p;

	if (msg_unread(m) + msg_evicted(m) == 0)
		return;
	m->doom = (unsigned)how & 3;
	for (p = msg_part(m); p != NULL; p = p->other)
		p->again = (long)now.mono;
	look_soon(m);
}

/* Ends what is doomed of a message: vertices that were. */
static int
doom_message(struct message *m)
{
	struct vertex *v;
	int n = 0;

	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
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

	q.nkept += (unsigned)((on != 0) - (int)m->held);
	m->held = on != 0;
	look_soon(m);
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (on && (v->state == V_READY || v->state == V_WAIT))
			th_hold(v);
		else if (!on && v->state == V_HELD && v->doom == DOOM_NONE)
			th_release(v);
	message_timer(m);
}

void
q_rearm(struct message *m)
{
	message_timer(m);
}

/* ---- timers, reload, sweep ------------------------------------------- */

#define ANSWERS_EVERY	5.0	/* seconds; each costs a walk over the table */

static int
has_answered(const void *arg, const struct chan *chan, const char *host)
{
	const struct thread *t = th_find(chan->name, host, 0);

	(void)arg;
	return t != NULL && t->answered;
}

/* Hosts that were silent answer again: what was evicted for their sake is
 * wanted. */
static void
call_answered(void)
{
	static double last = -ANSWERS_EVERY;	/* mono */
	struct thread *t;

	if (!q.answered || now.mono < last + ANSWERS_EVERY)
		return;
	last = now.mono;
	later_call(has_answered, NULL, CALL_ANSWERED);
	for (t = q.all; t != NULL; t = t->next)
		t->answered = 0;
	q.answered = 0;
}

void
q_timers(void)
{
	struct timer *t;

	call_answered();
	while ((t = heap_first(&q.wake)) != NULL &&
	    heap_when(&q.wake, t) <= now.mono) {
		heap_del(&q.wake, t);
		th_due(OWNER(struct thread, wake, t));
	}
	while ((t = heap_first(&q.expire)) != NULL &&
	    heap_when(&q.expire, t) <= now.mono)
		message_timer(OWNER(struct message, expire, t));
	doom_some();
}

double
q_wait(void)
{
	struct timer *w = heap_first(&q.wake), *e = heap_first(&q.expire);
	double when = walk.on || rush ? now.mono : now.mono + 3600;

	rush = 0;
	if (w != NULL && heap_when(&q.wake, w) < when)
		when = heap_when(&q.wake, w);
	if (e != NULL && heap_when(&q.expire, e) < when)
		when = heap_when(&q.expire, e);
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

/* It cannot go yet: its tags at least are to say what is done.  Do they? */
static int
mark_all(const struct message *m)
{
	const struct rcpt *r;
	struct vertex *v;
	unsigned i;
	int all = 1;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		for (i = 0; i < v->nr; i++) {
			r = &v->r[i];
			if (r->state == RC_PENDING || r->off == 0)
				continue;
			q_tag(m, r);
			all &= ctl_has(m->name, r->off,
			    r->state == RC_OK ? '+' : '-');
		}
	return all;
}

/* It is in core no more. */
static void
unlist(struct message *m)
{
	read_no_more(m);
	order_forget(m);
	heap_del(&q.expire, &m->expire);
	if (m->more != NULL) {
		heap_del(&q.notices, &m->more->notice);
		memo_free(&m->more->memos);
	}
	hash_del(&q.messages, &m->link);
	q.nmessages--;
	q.nkept -= m->held;
}

/* Its place is free at once, its memory goes with the sweep. */
void
q_forget(struct message *m)
{
	struct vertex *v;

	q.msgs_in--;
	q.rcpts_in -= m->rcpts + msg_evicted(m);
	read_no_more(m);
	m->away = 1;
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE)
			q_done(v);
	unlist(m);
	to_sweep(m);
}

/* ---- telling senders ------------------------------------------------- */

int
q_tell(struct message *m, const char *what)
{
	const struct memo *memo;
	struct thread *t;
	struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE && th_is_dsn(v->thread) &&
		    is_delay(v->thread->host) == is_delay(what))
			return 0;
	t = th_get("dsn", what);
	v = t == NULL ? NULL : msg_vertex(m, t, 1);
	if (v == NULL)
		return -1;
	memset(v->r, 0, sizeof(*v->r));
	v->nr = v->left = 1;
	m->left++;
	memo = m->more == NULL ? NULL :
	    memo_find(&m->more->memos, t->ring->chan, what);
	if (memo != NULL)
		remember(v, memo);
	if (m->held) {
		v->state = V_HELD;
		t->nheld++;
		return 0;
	}
	if (memo != NULL && (double)memo->wakeup > now.mono)
		th_wait(t, v, memo->wakeup);
	else
		th_ready(t, v);
	th_update(t);
	return 0;
}

int
q_untold(const struct message *m)
{
	const struct vertex *v = msg_first(m);

	while (v != NULL && (v->state == V_DONE || th_is_dsn(v->thread)))
		v = msg_next(v);
	return v == NULL && msg_unread(m) + msg_evicted(m) == 0;
}

void
q_told(struct vertex *v, struct rcpt *r, int keep, const char *status,
    const char *text)
{
	struct message *m = v->msg;

	r->state = RC_OK;
	reason_free(r);
	v->left = 0;
	if (!is_delay(v->thread->host)) {
		m->keep = (unsigned)keep & 3;
		/* of a failure the end is told of, where lines are mended */
		m->tell = m->news || (m->failed &&
		    strcmp(v->thread->host, "failure") != 0);
	}
	log_info("%s msg=%s rcpt=0 channel=%s host=%s status=%s age=%ld %s",
	    keep > 0 ? "failed" : "delivered", m->name,
	    v->thread->ring->chan->name, v->thread->host, status,
	    (long)now.mono - m->born, text);
}

void
q_finished(struct message *m)
{
	m->over = 1;
	to_sweep(m);
}

/* ---- the end --------------------------------------------------------- */

/* What is over is of no use while the message waits to be told of. */
static void
free_done(struct message *m)
{
	struct vertex *v, *next;

	for (v = msg_first(m); v != NULL; v = next) {
		next = msg_next(v);
		if (v->state == V_DONE)
			msg_vertex_free(v);
	}
}

/* The message is done but to be told of: 0, or -1 when that cannot be now. */
static int
tell_end(struct message *m)
{
	if (!mark_all(m))
		return -1;
	free_done(m);
	if (q_tell(m, m->failed ? "failure" : "success") < 0)
		return -1;
	m->swept = 0;
	rush = 1;
	return 0;
}

/* Its files go, or are kept for the postmaster: 0 or -1. */
static int
take_away(const struct message *m)
{
	static const char why[] = "nobody could be told that it failed";

	if (m->gone)
		return 0;
	if (m->keep == 0 || m->dropped)
		return spool_remove(m->name);
	return m->keep == 1 ? spool_park(m->name, why) :
	    spool_park_bounce(m->name, why);
}

static void
message_end(struct message *m)
{
	int tell = m->tell && !m->dropped && !m->gone;

	if (m->away) {
		msg_free(m);
		return;
	}
	if (!m->over)
		log_info("complete msg=%s rcpts=%u failed=%s age=%ld",
		    m->name, m->nr, m->failed ? "some" : "none",
		    (long)now.mono - m->born);
	if (!m->over && m->verbose)
		spool_verbose(m->name, "scheduler done processing");
	m->over = 1;
	if (tell && tell_end(m) == 0)
		return;
	if (tell || take_away(m) < 0) {
		mark_all(m);	/* it must not be delivered anew meanwhile */
		m->swept = 0;
		heap_set(&q.expire, &m->expire, now.mono + DISK_AGAIN);
		return;
	}
	if (m->held)
		held_set(0, m->name, 0);
	unlist(m);
	q.msgs_out++;
	msg_free(m);
}

void
q_sweep(void)
{
	struct vertex *v;

	while ((v = dead) != NULL) {
		dead = v->next;
		v->next = NULL;
		/* the end of a message may still need its last ones */
		if (!q_over(v->msg))
			msg_vertex_free(v);
	}
	while ((v = done) != NULL) {
		done = v->prev;
		message_end(OWNER(struct message, first, v));
	}
	th_sweep();
	ctl_forget();
}

static int
is_agent(long pid)
{
	const struct ta *ta = q.agents;

	while (ta != NULL && ta->pid != (int)pid)
		ta = ta->next;
	return ta != NULL;
}

int
q_init(struct config *config)
{
	ctl_is_agent = is_agent;
	if (th_init(config) < 0)
		return -1;
	return hash_init(&q.messages, 256);
}
