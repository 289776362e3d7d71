/*
 * queue.c - messages: their arrival, reports, expiry, DSNs and end.
 *
 *	1234-56		r  smtp a.example anna	-> vertex smtp/a.example
 *			r  smtp b.example bert	-> vertex smtp/b.example
 *	agent		1234/57 ok		-> delivered, vertex done
 *	agent		1234/98 error ...	-> failed, vertex done
 *	all done	vertex dsn/failure, ok	-> both files are removed
 *
 * A message is split into vertices, one for each channel and host; thread.c
 * decides when a vertex goes to an agent.  This module creates and ends
 * messages, vertices and recipients.
 *
 * Reports.  A report says that a recipient is finished (delivered or failed) or
 * deferred.  "deferred" and "retryat" concern the address: the vertex waits by
 * its own place in the retry list.  "deferall", and a status which says that no
 * conversation was possible, concern the host: thread.c acts on these.  A
 * report that fits no job of the agent changes nothing.
 *
 * A job ends with the agent's next #hungry, or with the agent; only then does a
 * vertex with recipients left become READY or wait.  If the agent did not
 * report a recipient, because it died or skipped it, the tag on disk decides.
 * Without a tag it is deferred like any other, so a job that kills agents is
 * not fed to the next one at once.  Jobs that a dead agent had not begun are
 * READY again.
 *
 * A large message is only partly in core, but an agent reads all recipients
 * that the control file has for the host.  So a report counts if its offset is
 * that of a recipient line with the job's channel and host, in core or not.  A
 * recipient that is not in core gets its tag on disk, where the next reading
 * finds it.
 *
 * DSNs.  The control file has all facts for a DSN, and the agent dsn writes it
 * (ta/dsn.c).  For this the message gets one more vertex, on the channel dsn,
 * with one recipient at the offset 0, where no recipient line can be.  It has
 * no tag on disk, and no number of recipients counts it.  The host of the
 * vertex is the kind:
 *
 *	failure		all recipients are done, and some have failed.  A
 *			failure without a diagnostic line (after a crash) gets
 *			a general text; under bounce=none, which the agent does
 *			not know, each has a line with the tag '-'
 *	success		all recipients are done, none has failed, and some
 *			asked for a DSN on success.  Or some are left: then the
 *			DSN is on those done so far, failures too,
 *			PARAMglobal-report-interval after the first of them
 *	delay		warnings, at the ages in reporttimes
 *
 * Expiry.  A message has one timer, for the earliest time at which a vertex of
 * it can expire, or a warning or a part is due.  By this timer a message that
 * is over gets another try when its files could not be removed, and vertices
 * that are deleted or bounced in great number end, some a pass.  A vertex
 * expires when it is older than expiry and was tried, by itself or with its
 * dead host; or, tried or not, expiry2 later.  With expiry=3d and expiry2=1d it
 * expires at 3 days if it was tried, at 4 days in any case; but it has an hour
 * for a first try, as the machine or the router may have been off for days.  No
 * next try is later than expiry, and a deferral after expiry expires the
 * vertex.  Held and frozen vertices do not expire.  A message whose control
 * file was removed by another program is dropped.
 *
 * Objects in core are freed in one place, q_sweep at the end of a pass:
 * vertices that are done, messages without vertices and with no DSN to send,
 * and old rings.  Empty threads become unused there.
 *
 * Costs: finding a message O(1), timers O(log n), a report O(log n) of its job,
 * O(vertices) of a message when it comes in or one may expire; else O(1).
 */
#include "scheduler.h"

#define TRIED_AGAIN	60	/* seconds until old mail that was never tried
				 * is checked again */
#define FIRST_TRY	3600	/* seconds for a first try: meanwhile mail does
				 * not expire untried */
#define WORK		200	/* of a pass: a recipient checked for warnings
				 * is 1 of it, and ... */
#define END_WORK	10	/* ... a vertex that expires, is deleted or
				 * bounced, as each is written to disk; but
				 * vertices of a message expire together */

/* Messages to be swept, as their first vertices, linked by prev. */
static struct vertex *done;
static struct vertex *dead;	/* DONE, to be swept, linked by next */

static int work = WORK;		/* left in this pass */

/* ---- recipients on disk ----------------------------------------------- */

/* Makes sure of the tag of a finished recipient, without which the message is
 * delivered to it again: 1, or 0 when it cannot be set. */
static int
set_tag(const struct message *m, unsigned long off, int state)
{
	int tag = state == RC_OK ? '+' : '-';

	return off == 0 || ctl_tag(m->name, off, NULL) == tag ||
	    ctl_mark(m->name, off, tag) == 0;
}

/* Makes sure of the tags of the vertex's finished recipients, and then forgets
 * these: 1; 0 when the disk cannot be written now. */
static int
tag_finished(struct vertex *v)
{
	const struct rcpt *r, *end = v->r + v->nr;
	int all = 1;

	for (r = v->r; r < end; r++)
		if (r->state == RC_OK || r->state == RC_FAILED)
			all &= set_tag(v->msg, r->off, r->state);
	if (all)
		msg_narrow(v);
	return all;
}

/* ... of all vertices of the message, which may go on then; those that agents
 * have follow at the end of their jobs. */
static int
tag_all(struct message *m)
{
	struct vertex *v;
	int all = 1;

	for (v = m->untagged ? msg_first(m) : NULL; v != NULL; v = msg_next(v))
		if (v->state != V_FED && !tag_finished(v))
			all = 0;
		else if (v->state == V_HELD && !m->held &&
		    v->cancel == CANCEL_NONE)
			th_put(v, 0, v->wakeup);
	m->untagged = !all;
	return all;
}

/* Has the vertex bounce=none? */
static int
is_quiet(const struct vertex *v)
{
	return v->thread->ring->conf->v.bounce == BOUNCE_NONE;
}

/* Writes the diagnostic line of a recipient that has failed; under bounce=none
 * with the tag '-', so that no DSN is sent on it: 0 or -1. */
static int
diagnose(const struct vertex *v, unsigned long off, const char *notary,
    const char *status, const char *message, long when)
{
	return ctl_diag(v->msg->name, off, is_quiet(v) ? '-' : ' ', notary,
	    status, message, when);
}

/* Writes tag and line of a recipient that the scheduler lets fail: 0 or -1.
 * The tag comes first, then the diagnostic line; if the line cannot be written
 * the tag is taken back.  Under bounce=none the line comes first, as a tag
 * alone would cause a DSN. */
static int
fail_on_disk(const struct vertex *v, unsigned long off, const char *status,
    const char *message, long when)
{
	const char *name = v->msg->name;

	if (!is_quiet(v) && ctl_mark(name, off, '-') < 0)
		return -1;
	if (diagnose(v, off, "", status, message, when) == 0)
		return is_quiet(v) ? ctl_mark(name, off, '-') : 0;
	if (!is_quiet(v))
		ctl_mark(name, off, ' ');
	return -1;
}

/* Recipients without a reason get that of their last diagnostic line, which an
 * older scheduler or another agent may have written, and its time in when[]: 0,
 * or -1 when the file cannot be read now. */
static int
read_reasons(struct vertex *v, long *when)
{
	struct rcpt *r, *end = v->r + v->nr;
	static struct diags n;	/* large, for the stack of a small host */
	const char *s;
	int err = 0;

	for (r = v->r; r < end; r++)
		r->wanted = r->state == RC_PENDING && r->why == NULL;
	if (diag_open(&n, v->msg->name) < 0)
		err = errno;
	while (err == 0 && diag_next(&n)) {
		if ((r = msg_rcpt(v, n.off)) == NULL || !r->wanted)
			continue;
		/* a crash may have lost the tag of one that had expired */
		s = strstr(n.text, REASON_MARK);
		s = s == NULL ? n.text : s + sizeof(REASON_MARK) - 1;
		msg_reason(v, n.off, s + strspn(s, "\r "));
		when[r - v->r] = n.when;
	}
	if (err == 0)
		err = diag_error(&n);
	ctl_close(&n.c);
	if (err != 0)
		log_err("expire msg=%s its reasons cannot be read: %s",
		    ctl_msg(v->msg->name), strerror(err));
	return err != 0 ? -1 : 0;
}

/* ---- the end of recipients, vertices, messages ----------------------- */

/* Frees the vertices of the message that are OUT. */
static void
end_out(struct message *m)
{
	struct vertex *v, *next;
	struct thread *t;

	for (v = msg_first(m); v != NULL; v = next) {
		next = msg_next(v);
		t = v->thread;
		if (v->state == V_OUT) {
			msg_vertex_free(v);
			th_update(t);
		}
	}
}

static void
to_sweep(struct message *m)
{
	if (m->swept)
		return;
	end_out(m);
	m->swept = 1;
	m->first.prev = done;
	done = &m->first;
}

static int
is_delay(const struct vertex *v)
{
	return strcmp(v->thread->host, "delay") == 0;
}

/* Reads no more of the message. */
static void
read_no_more(struct message *m)
{
	struct part *p;

	for (p = m->parts; p != NULL; p = p->other)
		p->evicted = p->unread = 0;
	msg_place(m);
}

/* Has the vertex reasons of recipients that are not read yet, and no need to
 * stay in core? */
static int
has_out(const struct vertex *v)
{
	return !v->msg->untagged && msg_rest(v->msg) > 0 && v->nr > 0 &&
	    v->r[v->nr - 1].state == RC_OUT;
}

void
q_leave(struct vertex *v, double until)
{
	struct thread *t = v->thread;
	struct message *m = v->msg;

	if (v->state != V_WAIT)
		v->wakeup = 0;
	v->started = v->state == V_READY && t->triggered;
	th_out(v);
	v->state = V_DONE;
	if (m->end == END_DROP || m->end == END_GONE)
		q.rcpts_out += th_is_dsn(t) ? 0 : v->left;
	m->left--;
	m->ndsn -= th_is_dsn(t);
	if (msg_out(v, m->end >= END_DROP ? NEVER : until) < 0) {
		v->thread = NULL;
		v->next = dead;
		dead = v;
	}
	msg_place(m);
	th_update(t);
}

/* The vertex is done, and the sweep frees it.  But if it has reasons of
 * recipients that are not read yet it is evicted. */
static void
end_vertex(struct vertex *v)
{
	v->wakeup = 0;
	q_leave(v, has_out(v) ? now.mono : NEVER);
}

/* Ends the message if nothing is left of it.  When only DSNs are left, one on
 * some recipients that no agent has yet is not sent: the last one covers these,
 * too.  Of a message that is dropped nothing is fed any more. */
static void
check_over(struct message *m)
{
	int drop = m->end >= END_DROP;
	struct vertex *v;

	if (!drop && !q_only_dsns(m))
		return;
	for (v = msg_first(m); v != NULL && (drop || !m->over); v = msg_next(v))
		if (is_in_core(v) && v->state != V_FED && (drop ||
		    !is_delay(v)))
			end_vertex(v);
	if (m->left == 0)
		to_sweep(m);
}

/* The vertex is done: off its lists, and the sweep ends the message if it was
 * the last. */
static void
vertex_over(struct vertex *v)
{
	end_vertex(v);
	check_over(v->msg);
}

/* ---- arrival at a thread, and DSNs ----------------------------------- */

/*
 * A NEW vertex is READY at once, unless wakeuprestartonly lets it wait for the
 * timer of its thread.  It starts at the beginning of its retry list, or, if
 * the message is aged, at the place of its age; a host of which nothing is
 * known gets the same place.  A vertex that is BACK keeps its time and place.
 */
static void
arrive(struct vertex *v)
{
	struct message *m = v->msg;
	struct thread *t = v->thread;
	const struct setting *s = &t->ring->conf->v;
	int dsn = th_is_dsn(t);
	double at = v->wakeup;

	m->left++;
	m->ndsn += dsn;
	if (v->state == V_BACK && v->started)
		t->triggered = s->queueonly;
	v->started = 0;
	if (v->state == V_NEW) {
		if (m->aged && !dsn)
			v->step = retry_step(s, msg_age(m));
		if (t->ngood + t->nbad == 0 && t->tries == 0 &&
		    t->step < v->step)
			t->step = v->step;
		if (s->wakeuprestartonly && t->wake.pos != 0)
			at = heap_when(&q.wake, &t->wake);
	}
	if (!dsn)
		v->cancel = m->cancel;
	th_put(v, m->held || v->cancel != CANCEL_NONE, at);
}

/* Makes the vertex for a DSN on the message, due at that time, mono, if there
 * is none: "failure" when all recipients are done and some have failed, else
 * "success"; or "delay".  0, or -1 without memory. */
static int
add_dsn(struct message *m, const char *what, double at)
{
	struct thread *t;
	struct vertex *v;
	int delay = strcmp(what, "delay") == 0;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (is_in_core(v) && th_is_dsn(v->thread) &&
		    is_delay(v) == delay)
			return 0;
	t = th_get(th_chan("dsn"), what, 0);
	v = t == NULL ? NULL : msg_vertex(m, t);
	if (v == NULL)
		return -1;
	msg_add(v, 0);
	v->wakeup = at;
	arrive(v);
	return 0;
}

/* A DSN on the recipients that are done follows after
 * PARAMglobal-report-interval, if others are left. */
static void
add_dsn_later(struct message *m)
{
	if (m->dsn_newer && q.config->reportevery > 0 &&
	    (m->rcpts > 0 || msg_rest(m) > 0))
		add_dsn(m, "success", now.mono + q.config->reportevery);
}

/* A recipient is done for which the sender may get a DSN. */
static void
dsn_due(struct message *m)
{
	int known = m->dsn_newer;

	m->dsn_due = m->dsn_newer = 1;
	if (!known)
		add_dsn_later(m);
}

/* The recipient of the vertex is finished.  r NULL: it is not in core, so its
 * tag is set here, if the agent did not; for others, and if that fails, settle
 * does it.  status and message are as in msg_log. */
static void
finish(struct vertex *v, struct rcpt *r, unsigned long off, int state,
    const char *status, const char *message)
{
	struct message *m = v->msg;

	if (r != NULL)
		q.rcpts_out += off != 0;
	else if (!set_tag(m, off, state))
		r = msg_add(v, off);
	if (r != NULL)
		msg_done(v, r, state);
	m->failed |= state == RC_FAILED;
	m->done |= state != RC_FAILED && off != 0;
	if (state == RC_FAILED || strcmp(status, "ok2") == 0)
		dsn_due(m);
	msg_log(v, off, state == RC_FAILED, status, message);
}

void
q_drop(struct message *m, const char *why)
{
	log_info("drop msg=%s %s", ctl_msg(m->name), why);
	m->end = spool_gone(m->name) ? END_GONE : END_DROP;
	q.rcpts_out += msg_rest(m);
	read_no_more(m);
	check_over(m);
}

/* Drops the message if another program has removed its control file: 1 or 0. */
static int
drop_gone(struct message *m)
{
	if (!spool_gone(m->name))
		return 0;
	q_drop(m, "its control file was taken away");
	return 1;
}

/* Was the vertex's host found dead since the message was first loaded? */
static int
host_died(const struct vertex *v)
{
	const struct thread *t = v->thread;

	return t->tries > 0 && t->died > v->msg->loaded;
}

/* When delivery to the vertex was last tried, by itself or as part of its host,
 * wall; 0: not since it was loaded. */
static long
last_try(const struct vertex *v)
{
	double at = v->tries > 0 ? v->tried : NEVER;

	if (host_died(v) && v->thread->bad > at)
		at = v->thread->bad;
	at = now.mono - at;
	return at < (long)now.wall ? now.wall - (long)at : 0;
}

static int
expire_one(struct vertex *v, struct rcpt *r, const char *how, long when)
{
	const char *why = r->why != NULL ? r->why->s : host_died(v) ?
	    v->thread->reason : NULL;
	char message[1200];
	struct text t;

	text_init(&t, message, sizeof(message));
	text_add(&t, "%s after ", how);
	span_add(&t, msg_age(v->msg), 2);
	if (why != NULL)
		text_add(&t, ", " REASON_MARK "\n%s", why);
	else
		text_add(&t, "; no reason for the delay was kept");
	if (fail_on_disk(v, r->off, "4.4.7 (delivery time expired)", message,
	    when) < 0)
		return -1;
	finish(v, r, r->off, RC_FAILED, "expire", message);
	return 0;
}

/* Lets all recipients that are left of the vertex fail, on disk first.  how is
 * the beginning of the reason.  0, or -1 when that cannot be done now. */
static int
vertex_expire(struct vertex *v, const char *how)
{
	long *when = mem_get(v->nr * sizeof(*when)), tried = last_try(v);
	int bad = when == NULL || (v->msg->diags && (!host_died(v) ||
	    v->thread->reason == NULL) && read_reasons(v, when) < 0);
	unsigned i;

	for (i = 0; i < v->nr && !bad; i++)
		bad = v->r[i].state == RC_PENDING && expire_one(v, &v->r[i],
		    how, tried != 0 ? tried : when[i]) < 0;
	free(when);
	if (bad)
		return -1;
	if (ctl_sync(v->msg->name) < 0)
		log_err("expire msg=%s %s", ctl_msg(v->msg->name),
		    strerror(errno));
	vertex_over(v);
	return 0;
}

/* Ends the vertex without delivery and DSN: 0 or -1 as above. */
static int
vertex_delete(struct vertex *v)
{
	struct message *m = v->msg;
	struct rcpt *r, *end = v->r + v->nr;

	for (r = v->r; r < end; r++) {
		if (r->state != RC_PENDING)
			continue;
		if (r->off != 0 && ctl_mark(m->name, r->off, '+') < 0)
			return -1;
		finish(v, r, r->off, RC_OK, "deleted", NULL);
	}
	/* without a warning, the DSN at the end is still sent */
	if (th_is_dsn(v->thread) && !is_delay(v))
		m->dsn_due = m->dsn_newer = 0;
	vertex_over(v);
	return 0;
}

/* Does the command on a vertex that no agent has: 0, or -1 when the disk cannot
 * be written. */
static int
do_cancel(struct vertex *v)
{
	unsigned how = v->cancel;

	v->cancel = CANCEL_NONE;
	return how == CANCEL_DELETE ? vertex_delete(v) :
	    vertex_expire(v, "ended by the postmaster");
}

/* Ends the vertex if it is one of many that are deleted or bounced, or expires
 * it if that is due: when to check again, mono.  Old mail that was never tried
 * is checked often, as its host may be found dead, and that counts as a try. */
static double
vertex_timer(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	double at = v->msg->born + s->expiry, until;
	double untried = at + s->expiry2;
	double first = v->msg->queued > 0 ? v->msg->queued : 0;

	if (v->cancel != CANCEL_NONE && v->state == V_HELD) {
		work -= END_WORK;
		if (do_cancel(v) == 0)
			return FAR_OFF;
		if (!v->msg->held)
			th_put(v, 0, 0);
	}
	if (s->expiry == 0 || WHY_KEPT(th_why(v, &until)))
		return FAR_OFF;
	if (at > now.mono)
		return at;
	first += s->expiry2 < FIRST_TRY ? s->expiry2 : FIRST_TRY;
	if (untried < first)
		untried = first;
	if (v->tries == 0 && !host_died(v) && untried > now.mono)
		return untried < now.mono + TRIED_AGAIN ? untried :
		    now.mono + TRIED_AGAIN;
	if (drop_gone(v->msg))
		return FAR_OFF;
	if (v->state == V_FED || vertex_expire(v, "expired") < 0)
		return now.mono + DISK_AGAIN;
	work -= END_WORK;
	return FAR_OFF;
}

/* ---- warnings, and the timer of a message ----------------------------- */

/* Makes the DSN for warnings that are due: when to check again, mono. */
static double
warn(struct message *m)
{
	double again = msg_write_delays(m, &work);

	if (again < FAR_OFF)
		return again;
	if (m->late && add_dsn(m, "delay", 0) < 0)
		return now.mono + DISK_AGAIN;
	m->late = 0;
	m->warned = msg_age(m);
	return msg_late_at(m);
}

/* Expires what is due, and sets the timer of the message again. */
static void
rearm(struct message *m)
{
	struct vertex *v;
	double at, next = FAR_OFF;

	heap_del(&q.expire, &m->due);
	if (q_over(m)) {	/* its files could not be removed */
		msg_place(m);
		to_sweep(m);
		return;
	}
	/* vertices that are OUT may be freed here, those in core are not */
	for (v = msg_first(m); v != NULL && (work > 0 || v->state != V_HELD ||
	    v->cancel == CANCEL_NONE); v = msg_next(v)) {
		at = is_in_core(v) ? vertex_timer(v) : FAR_OFF;
		next = at < next ? at : next;
	}
	if (v != NULL)
		next = now.mono;	/* the others follow in a later pass */
	else if (!tag_all(m) && !drop_gone(m) && next > now.mono + DISK_AGAIN)
		next = now.mono + DISK_AGAIN;
	at = msg_late_at(m);
	at = at <= now.mono ? warn(m) : at;
	msg_due_by(m, at < next ? at : next);
	msg_place(m);
}

/* ---- arrival --------------------------------------------------------- */

/* The one recipient that is left of the vertex has this mailbox, 0: none.  If
 * the message is whole in core, it goes to the thread of that; without memory
 * it does not. */
static void
to_box(struct vertex *v, unsigned box)
{
	struct thread *t = v->thread;

	if (box != 0 && th_is_local(t) && v->msg->parts == NULL &&
	    (t = th_get(t->chan, t->host, box)) != NULL)
		v->thread = t;
}

void
q_arrived(struct message *m)
{
	struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state == V_NEW || v->state == V_BACK) {
			if (v->state == V_NEW && v->nr == 1)
				to_box(v, v->by.box);
			v->by.box = 0;
			arrive(v);
		}
	if (m->parts == NULL)
		end_out(m);
	add_dsn_later(m);
	rearm(m);
	check_over(m);
}

int
q_add(struct message *m)
{
	struct message *twin = NULL;
	unsigned long num = name_num(m->name);

	if (heap_room(&q.expire, q.messages.n + 1) < 0)
		return -1;
	msg_return(m);
	if (m->loaded == 0) {
		m->loaded = ++q.events;
		q.total.accepted += m->nr > 0;
	}
	while ((twin = msg_find(num, twin)) != NULL)
		m->twin = twin->twin = 1;
	m->over = m->nr == 0;	/* all were done when it was read */
	hash_add(&q.messages, &m->link, num);
	q.rcpts_in += m->nr;
	m->held = held_find(0, m->name) != NULL;
	q.nkept += m->held;
	if (q.messages.n > q.peak_messages)
		q.peak_messages = q.messages.n;
	if (!m->over && m->late && add_dsn(m, "delay", 0) == 0)
		m->late = 0;
	q_arrived(m);
	return 0;
}

/* ---- commands of operators ------------------------------------------- */

int
q_cancel(struct vertex *v, enum cancel how, int later)
{
	v->cancel = how;
	if (v->state == V_FED)
		return 1;
	if (!later)
		return do_cancel(v);
	if (v->state != V_HELD)
		th_put(v, 1, 0);	/* no agent gets it meanwhile */
	msg_due_by(v->msg, now.mono);
	return 2;
}

void
q_recheck(struct message *m)
{
	struct part *p;

	for (p = m->parts; p != NULL; p = p->other)
		p->again = NOW;
	rearm(m);
}

void
q_hold(struct message *m, int on)
{
	struct vertex *v;

	q.nkept += (on != 0) - m->held;
	m->held = on != 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (on && (v->state == V_READY || v->state == V_WAIT))
			th_put(v, 1, 0);
		else if (!on && (v->state == V_OUT ||
		    (v->state == V_HELD && v->cancel == CANCEL_NONE)))
			th_put(v, 0, 0);
	q_recheck(m);
}

/* ---- reports of agents ----------------------------------------------- */

#define PERMANENT	"5.0.0 (permanent failure)"

/* May an agent report this state of the recipient at off, which is not in core?
 * A job covers all recipients that the control file has for the host.  If the
 * message was read whole, those with a tag were finished before.  A job of the
 * channel dsn has no recipients but that at 0. */
static int
is_beside(const struct vertex *v, unsigned long off, int state)
{
	const char *name = v->msg->name;
	const struct thread *t = v->thread;
	const struct ctl *c = th_is_dsn(t) ? NULL : ctl_at(name, off);
	int tag;

	if (c == NULL || strcmp(c->channel, t->ring->chan->name) != 0 ||
	    strcmp(c->host, t->host) != 0)
		return 0;
	tag = ctl_tag(name, off, NULL);
	if (v->msg->parts == NULL)
		return tag != '+' && tag != '-';
	return state == RC_PENDING || tag != (state == RC_OK ? '-' : '+');
}

/* The reason why a report is refused. */
static const char *
refusal(unsigned long num, unsigned long off)
{
	const struct message *m = msg_find(num, NULL);
	const struct vertex *v = m == NULL ? NULL : msg_first(m);

	while (v != NULL && msg_rcpt(v, off) == NULL)
		v = msg_next(v);
	if (m == NULL)
		return "no such message";
	return v == NULL && m->parts == NULL ? "no such recipient" :
	    "refused: it was not given to this agent or is finished";
}

/* The job of this agent to which a report belongs, or NULL; *r: the recipient,
 * NULL: it is not in core. */
static struct vertex *
reported(const struct ta *ta, unsigned long num, unsigned long off, int state,
    struct rcpt **r)
{
	struct vertex *v = ta->jobs.head;

	while (v != NULL && v->msg->link.hash != num)
		v = v->next;
	*r = v == NULL ? NULL : msg_rcpt(v, off);
	return v == NULL || (*r != NULL ? (*r)->state == RC_PENDING :
	    is_beside(v, off, state)) ? v : NULL;
}

#define RETRYAT_MOST	1e9	/* seconds; beyond that it is no time */

/* The text of "retryat +60 text" or "retryat 1795220140 text".  A vertex is
 * tried whole, so the latest time counts.  Its times are whole seconds: not
 * before the time that was named, and within a second of it. */
static const char *
retry_at(struct vertex *v, const char *s)
{
	int relative = *s == '+', at;
	struct timeval tv;
	unsigned long n;
	double wait = 0;

	s += relative;
	if (num_upto(s, LONG_MAX, &n, &s) < 0)
		s += strspn(s, "0123456789");
	else if (relative)
		wait = n;
	else if (gettimeofday(&tv, NULL) == 0)
		/* part of this second has passed */
		wait = ((long)n - (long)now.wall) - tv.tv_usec / 1e6;
	if (wait > 0 && wait <= RETRYAT_MOST) {
		at = (int)(now.mono + wait) + 1;
		if (at > v->wakeup)
			v->wakeup = at;
	}
	return s + strspn(s, " ");
}

/* r NULL: the recipient is not in core, and is not counted. */
static void
deferral(struct vertex *v, struct rcpt *r, unsigned long off, int host,
    const char *message)
{
	struct thread *t = v->thread;
	char text[REASON_MOST + 1];

	text_fmt(text, sizeof(text), "%s", message);
	if (r != NULL) {
		v->by.deferrals += !r->counted;
		r->counted = 1;
	}
	msg_reason(v, off, text);
	if (host & HOST_BAD)
		reason_copy(&t->reason, text);
	v->host |= host;
}

/* The notary field with this number, from 0, and those behind it; "" when there
 * are fewer.  They are address, action, status, diagnostic, other host, ... */
static const char *
field(const char *notary, int n)
{
	for (; n > 0; n--) {
		notary = strchr(notary, '\1');
		if (notary == NULL)
			return "";
		notary++;
	}
	return notary;
}

/* What the report of a deferral says of the destination: by the word, or by the
 * status in the notary fields.  A mailbox is a destination: 4.2.x (RFC 3463)
 * says that it takes no mail now, as it is locked or full. */
static int
host_said(const struct thread *t, int all, const char *notary)
{
	static const char *const bad[] = { "4.4.1", "4.4.2", "4.3.2" };
	const char *s = field(notary, 2);
	size_t i;

	if (all || (th_is_local(t) && strncmp(s, "4.2.", 4) == 0))
		return HOST_BAD | HOST_ALL;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strncmp(s, bad[i], 5) == 0 && (s[5] < '0' || s[5] > '9'))
			return HOST_BAD;
	return HOST_GOOD;
}

static const struct status {
	const char *word;
	int	state;		/* enum rcpt_state */
	int	all;		/* deferred: for all mail of its host */
	int	dated;		/* deferred: its text begins with a time */
	int	ours;		/* the scheduler writes the diagnostic line */
} statuses[] = {
	{ "ok", RC_OK, 0, 0, 1 },
	{ "ok2", RC_OK, 0, 0, 0 },
	{ "ok3", RC_OK, 0, 0, 0 },
	{ "error", RC_FAILED, 0, 0, 1 },
	{ "error2", RC_FAILED, 0, 0, 0 },
	{ "deferred", RC_PENDING, 0, 0, 0 },
	{ "deferback", RC_PENDING, 0, 0, 0 },
	{ "deferall", RC_PENDING, 1, 0, 0 },
	{ "retryat", RC_PENDING, 0, 1, 0 },
	{ NULL, 0, 0, 0, 0 }
};

static void
dsn_reported(struct vertex *v, struct rcpt *r, int keep, const char *status,
    const char *text)
{
	struct message *m = v->msg;

	msg_done(v, r, RC_OK);
	v->host |= HOST_GOOD;
	if (!is_delay(v)) {
		m->end = keep;
		/* dsn/failure follows, as only that adds lost lines */
		m->dsn_due = m->dsn_newer || (m->failed &&
		    strcmp(v->thread->host, "failure") != 0);
	}
	msg_log(v, 0, keep > 0, status, text);
}

/* Has the sender asked for a DSN on the delivery to the recipient?  1 also if
 * the file cannot be read now: the agent dsn reads it again. */
static int
wants_success(const char *name, unsigned long off)
{
	const struct ctl *c;

	errno = 0;
	c = ctl_at(name, off);
	if (c == NULL)
		return errno != 0 && errno != ENOENT;
	return c->l.error != 0 || (c->wishes & WISH_SUCCESS) != 0;
}

/* The agent reports the recipient as finished.  If it leaves the diagnostic
 * line to the scheduler, a failure gets one, and a success for which a DSN was
 * asked.  Under bounce=none each failure gets one. */
static void
finished(struct vertex *v, struct rcpt *r, unsigned long off,
    const struct status *s, const char *notary, const char *message)
{
	const char *name = v->msg->name;
	int failed = s->state == RC_FAILED, bad = 0;
	int line = failed ? s->ours || is_quiet(v) :
	    s->ours && wants_success(name, off);

	if (failed && *message == '\0')
		message = "(unknown)";
	if (line)
		bad = (failed ? diagnose(v, off, notary, PERMANENT, message,
		    now.wall) : ctl_diag(name, off, ' ', notary,
		    "2.0.0 (delivered)", message, now.wall)) < 0 ||
		    ctl_sync(name) < 0;
	if (bad && failed) {
		ctl_mark(name, off, ' ');	/* it is tried again */
		deferral(v, r, off, HOST_GOOD, "cannot write the diagnostic");
		return;
	}
	v->host |= HOST_GOOD;
	finish(v, r, off, s->state, s->word, message);
	if (line)	/* the agent dsn does without a line */
		dsn_due(v->msg);
}

/* Notes the other host, if the report has it, as "dns; mx.example".  ZMailer's
 * smtp adds one more field, its own name. */
static void
note_relay(struct ta *ta, const char *notary)
{
	const char *s = field(notary, DIAG_FIELDS - 1), *type;
	const char *end = s + strcspn(s, "\1");

	if (s == end)
		return;
	type = memchr(s, ';', end - s);
	s = type == NULL ? s : type + 1;
	s += strspn(s, " ");
	text_fmt(ta->relay, sizeof(ta->relay), "%.*s", (int)(end - s), s);
}

/* Was the recipient at off, which is not in core, reported before in this job?
 * Reports come in the order of the file, or backwards, as from ZMailer's
 * agents; one that lies between others is taken for a repeated one. */
static int
is_repeated(struct ta *ta, unsigned long off)
{
	int repeated = 1;

	if (off < ta->unread_low || ta->unread_high == 0) {
		ta->unread_low = off;
		repeated = 0;
	}
	if (off > ta->unread_high) {
		ta->unread_high = off;
		repeated = 0;
	}
	return repeated;
}

const char *
q_report(struct ta *ta, unsigned long num, unsigned long off,
    const char *notary, const char *status, const char *message)
{
	const struct status *s = statuses;
	struct vertex *v;
	struct rcpt *r;

	while (s->word != NULL && strcmp(status, s->word) != 0)
		s++;
	if (s->word == NULL)
		return "unknown status";
	v = reported(ta, num, off, s->state, &r);
	if (v == NULL)
		return refusal(num, off);
	ta->again = r == NULL ? is_repeated(ta, off) :
	    s->state == RC_PENDING && r->counted;
	note_relay(ta, notary);
	if (s->dated)
		message = retry_at(v, message);
	if (s->state == RC_PENDING)
		deferral(v, r, off, host_said(v->thread, s->all, notary),
		    message);
	else if (th_is_dsn(v->thread))
		dsn_reported(v, r, s->state == RC_OK ? 0 : s->ours ? 1 : 2,
		    status, message);
	else
		finished(v, r, off, s, notary, message);
	return NULL;
}

/* ---- the end of a job ------------------------------------------------ */

/* A recipient that was not reported: the tag on disk decides.  A lock that
 * one of our agents still holds is stale, since none has this job. */
static void
ask_disk(struct vertex *v, struct rcpt *r)
{
	static const char by_tag[] = "(by its tag, not reported)";
	const char *name = v->msg->name;
	const struct ta *ta;
	long pid;
	int was = r->off == 0 ? ' ' : ctl_tag(name, r->off, &pid);

	if (was == '-' && is_quiet(v) && diagnose(v, r->off, "",
	    PERMANENT, by_tag, now.wall) == 0)
		ctl_sync(name);
	if (was == '+' || was == '-')
		finish(v, r, r->off, was == '+' ? RC_OK : RC_FAILED,
		    was == '+' ? "ok" : "error", by_tag);
	if (was == '+' && wants_success(name, r->off))
		dsn_due(v->msg);		/* its line may be there, too */
	for (ta = was == '~' ? q.agents : NULL; ta != NULL; ta = ta->next)
		if (ta->pid == (int)pid)
			ctl_mark(name, r->off, ' ');
}

/* Looks up recipients without a report on disk, and forgets finished ones. */
static void
settle(struct vertex *v)
{
	struct message *m = v->msg;
	unsigned i;

	if (v->by.deferrals < v->left)
		for (i = 0; i < v->nr; i++)
			if (v->r[i].state == RC_PENDING)
				ask_disk(v, &v->r[i]);
	if (v->left == 0 && m->left == 1 && !m->dsn_due && msg_rest(m) == 0) {
		m->untagged = 1;	/* its files are removed now */
	} else if (!tag_finished(v)) {
		m->untagged = 1;
		msg_due_by(m, now.mono + DISK_AGAIN);
	}
}

/* When a vertex that was deferred is to be tried again, mono: never later than
 * it expires. */
static long
next_try(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	long end = v->msg->born + s->expiry, at = v->wakeup;
	unsigned short step = v->step;

	v->dated = at > now.mono;
	if (!v->dated) {
		at = NOW + retry_wait(s, &step, v->tries, now.wall);
		v->step = step;
	}
	return s->expiry > 0 && at > end && end > now.mono ? end : at;
}

/* When one recipient is left of several mailboxes, moves the vertex to the
 * thread of that mailbox. */
static void
find_box(struct vertex *v)
{
	struct thread *t = v->thread;
	const struct ctl *c = !th_is_local(t) || t->box != 0 || v->left != 1 ||
	    v->msg->untagged ? NULL : ctl_at(v->msg->name, v->r[0].off);

	to_box(v, c == NULL ? 0 : ctl_box(c));
	if (v->thread == t)
		return;
	if (v->host & HOST_BAD && v->r[0].why != NULL)
		reason_copy(&v->thread->reason, v->r[0].why->s);
	th_update(t);
}

/* The recipients of the vertex that were deferred are not read yet: these wait
 * for its next try, or come in now if they have expired. */
static void
evict_unread(struct vertex *v)
{
	struct message *m = v->msg;
	const struct setting *s = &v->thread->ring->conf->v;
	double at = v->state == V_WAIT ? v->wakeup : v->thread->until;

	q_leave(v, s->expiry > 0 && m->born + s->expiry <= now.mono ? now.mono :
	    at);
	check_over(m);
}

/* Puts a vertex with recipients left back into its thread.  Recipients without
 * a report are deferred for this reason; NULL: the run was no try. */
static void
put_back(struct vertex *v, const char *reason, const char *relay)
{
	struct message *m = v->msg;
	struct thread *t = v->thread;
	double until = t->until;
	long wakeup = m->held ? NOW : (long)until;
	int waits;		/* by itself, not as part of its host */
	struct rcpt *r, *end = v->r + v->nr;

	for (r = v->r; r < end; r++)
		if (r->state == RC_PENDING) {
			if (!r->counted && reason != NULL)
				msg_reason(v, r->off, reason);
			r->counted = 0;
		}
	if (reason != NULL) {
		v->tries += v->tries < TRIES_MOST;
		v->tried = NOW;
		v->returned = 0;
	}
	waits = !m->held && reason != NULL && (!(v->host & HOST_BAD) ||
	    until <= now.mono || v->wakeup > now.mono);
	if (waits)
		wakeup = next_try(v);
	v->wakeup = waits ? wakeup : 0;
	/* without its tags it would be delivered to all again */
	th_put(v, m->held || (m->untagged && v->left < v->nr), v->wakeup);
	if (reason != NULL)
		msg_log_deferred(v, wakeup, relay);
	else
		log_info("not-begun msg=%-s channel=%s host=%s left=%u",
		    msg_id(m), t->ring->chan->name, t->host, v->left);
	if (v->left == 0)
		evict_unread(v);
	else	/* it may have expired by now */
		msg_due_by(m, vertex_timer(v));
	msg_place(m);
}

void
q_job_over(struct ta *ta, const char *reason)
{
	struct vertex *v = ta->jobs.head;
	struct message *m = v->msg;
	int dsn = th_is_dsn(v->thread);

	th_unfed(v);
	settle(v);
	find_box(v);
	th_feedback(v->thread, v->host);
	if (reason != NULL && v->left > 0 && v->by.deferrals == 0)
		drop_gone(m);
	if (m->end >= END_DROP || (v->left == 0 && !has_out(v)))
		vertex_over(v);
	else if (v->cancel == CANCEL_NONE || do_cancel(v) < 0)
		put_back(v, reason, ta->relay);
	ta->relay[0] = '\0';
	ta->unread_high = 0;
	if (dsn)	/* others may be done since it was fed */
		add_dsn_later(m);
}

/* ---- timers, reload, sweep ------------------------------------------- */

void
q_timers(void)
{
	struct timer *t;

	while (heap_wait(&q.wake) == 0) {
		t = heap_first(&q.wake);
		heap_del(&q.wake, t);
		th_due(OWNER(struct thread, wake, t));
	}
	work = WORK;
	while (work > 0 && heap_wait(&q.expire) == 0)
		rearm(OWNER(struct message, due, heap_first(&q.expire)));
}

void
q_reload(struct config *config)
{
	struct message *m;
	struct hlink *l;

	th_reload(config);
	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; )
		q_recheck(OWNER(struct message, link, l));
	/* a message that is away comes in for its warnings, now sooner */
	for (l = NULL; (l = hash_each(&q.away, l)) != NULL; ) {
		m = OWNER(struct message, link, l);
		msg_due_by(m, msg_late_at(m));
	}
}

static void
unlist(struct message *m)
{
	read_no_more(m);
	order_forget(m);
	heap_del(&q.expire, &m->due);
	hash_del(&q.messages, &m->link);
	q.nkept -= m->held;
}

void
q_discard(struct message *m)
{
	end_out(m);
	msg_free(m);
}

/* Its place in core is free at once; the sweep frees what is forgotten. */
int
q_evict(struct message *m, double due)
{
	q.evicted++;
	q.rcpts_in -= m->rcpts + msg_rest(m);
	unlist(m);
	if (msg_leave(m, due) == 0)
		return 0;
	m->end = END_LOST;
	check_over(m);		/* ends its vertices */
	return -1;
}

/* ---- the end --------------------------------------------------------- */

/* Removes its files, or moves them to postman/: 0 or -1. */
static int
take_away(const struct message *m)
{
	if (m->end == END_ASIDE || m->end == END_ASIDE_DOUBLE)
		return spool_set_aside(m->name, m->end == END_ASIDE_DOUBLE,
		    "it failed, and nobody could get the DSN");
	return m->end == END_GONE ? 0 : spool_remove(m->name);
}

static void
message_end(struct message *m)
{
	int dsn = m->dsn_due && m->end < END_DROP;

	if (m->end == END_LOST) {
		msg_free(m);
		return;
	}
	if (!m->over)
		log_info("complete msg=%-s rcpts=%u failed=%s age=%ld",
		    msg_id(m), m->nr, !m->failed ? "none" :
		    m->done ? "some" : "all", msg_age(m));
	if (!m->over && m->verbose)
		spool_verbose(m->name, "scheduler done processing");
	m->over = 1;
	if (dsn || take_away(m) < 0) {
		m->swept = 0;
		heap_set(&q.expire, &m->due, now.mono + DISK_AGAIN);
		/* else it would be delivered anew, or the DSN lack some */
		if (!tag_all(m) || !dsn)
			return;
		while (m->vertices != NULL)	/* all are done */
			msg_vertex_free(m->vertices);
		if (add_dsn(m, m->failed ? "failure" : "success", 0) == 0)
			msg_due_by(m, now.mono);	/* a pass feeds it */
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
	struct vertex *v, **p = &dead;

	while ((v = *p) != NULL) {
		if (v->msg->untagged && !q_over(v->msg)) {	/* tag_all */
			p = &v->next;
			continue;
		}
		*p = v->next;
		v->next = NULL;
		/* message_end may still need the last ones */
		if (v->msg->away || !q_over(v->msg))
			msg_vertex_free(v);
	}
	while ((v = done) != NULL) {
		done = v->prev;
		message_end(OWNER(struct message, first, v));
	}
	th_sweep();
	ctl_forget();
}
