/*
 * queue.c - messages: their arrival, reports, expiry, DSNs and end.
 *
 *	1234-56		r  smtp a.example anna	-> vertex smtp/a.example
 *			r  smtp b.example bert	-> vertex smtp/b.example
 *	agent		1234/57 ok		-> delivered, vertex done
 *	agent		1234/98 error ...	-> failed, vertex done
 *	all done	vertex dsn/failure, ok	-> both files are removed
 *
 * A message is split into vertices, one for each channel and host; when ta.c
 * feeds a vertex to an agent, thread.c splits it with maxrcpts.
 * This module puts messages on their threads, and ends messages, vertices and
 * recipients.  intake.c makes all of these except for the vertices of DSNs.
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
 * DSNs.  The control file has all facts for a DSN, and the agent dsn writes it
 * (ta/dsn.c).  For this the message gets one more vertex, on the channel dsn,
 * with one recipient at the offset 0, where no recipient line can be.  This
 * recipient has no tag on disk, and is in no count of recipients.  The
 * host of the vertex is the kind:
 *
 *	failure		all recipients are done, and some have failed.  A
 *			failure without a diagnostic line (after a crash) gets
 *			a general text
 *	success		all recipients are done, none has failed, and some
 *			asked for a DSN on success.  Or some are left, and this
 *			is an interim DSN on the recipients that were delivered
 *			or have failed so far, PARAMglobal-report-interval after
 *			the first of these
 *	delay		warnings, at the ages in reporttimes
 *
 * Warnings.  The agent dsn knows no clauses (ta/dsn.c), so at each age in
 * reporttimes the scheduler writes into the control file what the agent needs:
 * a line for each channel and host, with the number of warnings that are due by
 * now, the time at which the mail for that host expires and the reasons of its
 * recipients (ctlfile.c).  The agent chooses the recipients on which the sender
 * gets a warning.  It sets the delay field of each pending recipient at that
 * host, chosen or not, to the number of warnings that are due.  A message that
 * is loaded starts with the numbers in the delay fields.
 *
 * Expiry.  A message has one timer, for the earliest time at which one of its
 * vertices can expire, or a warning is due.  The timer also tries again to
 * remove files that could not be removed, and ends vertices that are deleted or
 * bounced in great number, some in each pass.  A vertex expires when it is
 * older than expiry and was tried, by itself or with its dead host; or, tried
 * or not, expiry2 later.  With expiry=3d and expiry2=1d a vertex expires at 3
 * days if it was tried, else at 4 days.  An untried vertex also has an hour for
 * a first try (expiry2, if that is less) after its arrival in transport/ or the
 * start of the daemon, as the machine or the router may have been off for days.
 * A message that was forgotten has a minute for a first try, which gives it a
 * reason.  No next try is later than expiry, and a deferral after expiry
 * expires the vertex.  Held and frozen vertices do not expire.  A message whose
 * control file was removed by another program is dropped.
 *
 * Objects in core are freed in one place, q_sweep_ended at the end of a pass:
 * vertices that are done, messages without vertices and with no DSN to send,
 * and old rings.  Empty threads become unused there.
 *
 * Costs: finding a message O(1); timers O(log n); a report O(jobs) of its
 * agent and O(log recipients) of its job; O(vertices) of a message when it
 * comes in or one of them may expire; else O(1).
 */
#include "scheduler.h"

#define CHECK_AGAIN	60	/* seconds until a failed disk is tried again,
				 * or the expiry of a vertex that an agent has
				 * is checked again */
#define TRIES_MOST	8191U	/* tries that a vertex counts at most */
#define UNTRIED_AGAIN	60	/* seconds until old mail without a try is
				 * checked again; also the time for a first try
				 * of a message that was forgotten */
#define FIRST_TRY	3600	/* seconds that untried mail has for a first try
				 * before it expires */
#define PASS_WORK	20	/* units of work with the disk in a pass:
				 * vertices that expire, are deleted or bounced,
				 * and messages with warnings.  A pass expires
				 * all vertices of a message that are due, even
				 * beyond this number */

static struct message *ended_messages;	/* to sweep, linked by swept */
static struct vertex *ended_vertices;	/* DONE, to sweep, linked by next */

/* Units of work with the disk that this pass may still do.  q_run_timers sets
 * the number, and q_run_message_timer counts it down. */
static int work_left = PASS_WORK;

/* Sets the timer of the message to this time, mono, if the timer is later or
 * not set.  NEVER changes nothing. */
static void
advance_timer(struct message *m, double at)
{
	if (at < NEVER && (m->due.pos == 0 ||
	    at < heap_when(&q.due_messages, &m->due)))
		heap_set(&q.due_messages, &m->due, at);
}

/* ---- recipients on disk ----------------------------------------------- */

/* Writes the missing tags of finished recipients of the vertex, and then frees
 * these recipients: 0, or -1 when the disk cannot be written.  A recipient
 * without its tag would get the mail again after a restart. */
static int
write_tags(struct vertex *v)
{
	const char *name = v->msg->name;
	const struct rcpt *r, *end = v->r + v->nr;
	int bad = 0, tag;

	for (r = v->r; r < end; r++) {
		tag = r->state == RC_OK ? '+' : '-';
		if (r->state != RC_PENDING && r->off != 0 &&
		    ctl_read_tag(name, r->off, NULL) != tag &&
		    ctl_set_tag(name, r->off, tag) < 0)
			bad = -1;
	}
	if (bad == 0)
		msg_drop_finished(v);
	return bad;
}

/* Returns 1 if the vertex must be PINNED even without a hold: it is to be
 * deleted or bounced, or a new job would deliver again to recipients whose tags
 * are not written yet. */
static int
must_be_pinned(const struct vertex *v)
{
	return v->cancel != CANCEL_NONE ||
	    (v->msg->untagged && v->npending < v->nr);
}

/* Writes the tags of all vertices of the message, and requeues vertices that
 * were PINNED for their tags: 0 or -1.  Vertices with agents get their tags
 * at the end of their jobs. */
static int
write_all_tags(struct message *m)
{
	struct vertex *v = msg_first_vertex(m);

	if (!m->untagged)
		return 0;
	m->untagged = 0;
	note_leaver(m->link.hash);
	for (; v != NULL; v = msg_next_vertex(v))
		if (v->state != V_FED && write_tags(v) < 0)
			m->untagged = 1;
		else if (v->state == V_PINNED && !m->held && !must_be_pinned(v))
			th_requeue(v, 0, v->wakeup);
	return m->untagged ? -1 : 0;
}

/* ---- the end of recipients, vertices, messages ----------------------- */

static void
sweep_later(struct message *m)
{
	if (m->swept != NULL)
		return;
	m->swept = ended_messages != NULL ? ended_messages : m;
	ended_messages = m;
}

/* Sets the state of a vertex, which no agent has, to DONE; the sweep frees the
 * vertex.  The caller calls end_if_complete. */
static void
end_vertex(struct vertex *v)
{
	struct thread *t = v->thread;
	struct message *m = v->msg;

	th_dequeue(v);
	if (m->end == END_DROP || m->end == END_GONE)
		q.rcpts_out += th_is_dsn(t) ? 0 : v->npending;
	m->nvertices--;
	m->ndsn -= th_is_dsn(t);
	if (m->nvertices > 0 && m->nfed == 0)
		note_leaver(m->link.hash);
	msg_set_done(v);
	th_update_channel(m);
	v->next = ended_vertices;
	ended_vertices = v;
	th_update(t);
}

/* Ends the message if nothing is left of it.  When only DSNs are left, an
 * interim DSN that no agent has is dropped: the last DSN covers all recipients.
 * A message that is_complete has no interim DSN: its DSN is the last one.
 * Of a message that is dropped or forgotten, ends all vertices that no agent
 * has. */
static void
end_if_complete(struct message *m)
{
	int all = m->end >= END_DROP;
	struct vertex *v;

	if (!all && !q_has_only_dsns(m))
		return;
	for (v = msg_first_vertex(m); v != NULL && (all || !m->is_complete);
	    v = msg_next_vertex(v))
		if (v->state != V_DONE && v->state != V_FED && (all ||
		    th_is_result_dsn(v->thread)))
			end_vertex(v);
	if (m->nvertices == 0)
		sweep_later(m);
}

/* ---- arrival at a thread, and DSNs ----------------------------------- */

/*
 * Puts a NEW vertex on its thread: PINNED if its message is held; in WAIT if
 * its wakeup is later than now, or if wakeuprestartonly lets the vertex wait
 * for the timer of the thread; else READY.  A vertex of a new message starts at
 * the beginning of its retry list, however old its files are; a vertex of a
 * message that a start has found, or that was forgotten, at the factor for its
 * age.  The retry_index of a host without reports is at least that of the
 * vertex.
 */
static void
queue_vertex(struct vertex *v)
{
	struct message *m = v->msg;
	struct thread *t = v->thread;
	const struct setting *s = &t->ring->conf->v;
	int dsn = th_is_dsn(t);
	double at = v->wakeup;

	m->ndsn += dsn;
	if ((m->was_forgotten || !q.start_loaded) && !dsn)
		v->retry_index = retry_index_at_age(s, msg_age(m));
	if (t->ngood + t->nbad == 0 && t->deaths == 0 &&
	    t->retry_index < v->retry_index)
		t->retry_index = v->retry_index;
	if (s->wakeuprestartonly && at <= now.mono && t->due.pos != 0)
		at = heap_when(&q.due_threads, &t->due);
	th_requeue(v, m->held, at);
}

/* Makes the vertex for a DSN of this kind (see above), due at that time, mono,
 * unless the message has one: 0, or -1 without memory.  A vertex of dsn/failure
 * or dsn/success serves for both of these kinds. */
static int
add_dsn_vertex(struct message *m, const char *kind, double at)
{
	struct thread *t;
	struct vertex *v;
	int delay = strcmp(kind, "delay") == 0;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		if (v->state != V_DONE && th_is_dsn(v->thread) &&
		    th_is_result_dsn(v->thread) != delay)
			return 0;
	t = th_get(th_get_channel("dsn"), kind, 0);
	if (t == NULL || (v = msg_new_vertex(m, t)) == NULL)
		return -1;
	msg_add_rcpt(v, 0);	/* cannot fail: the memory is in the vertex */
	v->wakeup = at;
	queue_vertex(v);
	return 0;
}

/* Makes an interim DSN on the recipients that are done so far, due in this many
 * seconds, if some were done since the last DSN, others are left, and
 * PARAMglobal-report-interval is not 0. */
static void
add_interim_dsn(struct message *m, long wait)
{
	if (m->dsn_stale && q.config->reportevery > 0 && m->rcpts > 0)
		add_dsn_vertex(m, "success", now.mono + wait);
}

/* Notes that the sender may get a DSN on a recipient that is done. */
static void
note_dsn_due(struct message *m)
{
	int known = m->dsn_stale;

	m->dsn_due = m->dsn_stale = 1;
	if (!known)
		add_interim_dsn(m, q.config->reportevery);
}

/* Marks the recipient as finished in core, notes the DSN that it needs, and
 * logs it; its tag is written elsewhere.  status and text are as in
 * msg_log_finished. */
static void
finish_rcpt(struct vertex *v, struct rcpt *r, int state, const char *status,
    const char *text)
{
	struct message *m = v->msg;

	q.rcpts_out += r->off != 0;
	msg_set_finished(v, r, state);
	m->failed |= state == RC_FAILED;
	m->some_done |= state != RC_FAILED && r->off != 0;
	if (state == RC_FAILED || strcmp(status, "ok2") == 0)
		note_dsn_due(m);
	msg_log_finished(v, r->off, state == RC_FAILED, status, text);
}

void
q_discard_message(struct message *m, const char *why)
{
	log_info("drop msg=%s %s", ctl_log_name(m->name), why);
	m->end = spool_is_gone(m->name) ? END_GONE : END_DROP;
	end_if_complete(m);
}

/* Drops the message if another program has removed its control file.  Returns 1
 * if so. */
static int
drop_if_gone(struct message *m)
{
	if (!spool_is_gone(m->name))
		return 0;
	q_discard_message(m, "its control file was taken away");
	return 1;
}

/* Returns 1 if the vertex's host has died since the message came, and has not
 * answered since.  If the message was forgotten, its load_event is later than
 * its arrival and tells nothing about the death, so any death counts. */
static int
has_host_died(const struct vertex *v)
{
	const struct thread *t = v->thread;

	return t->deaths > 0 && (v->msg->was_forgotten ||
	    t->death_event > v->msg->load_event);
}

/* Returns the time of the last try of the vertex or of its host, wall; 0: none
 * is known. */
static long
get_last_try(const struct vertex *v)
{
	double at = v->tries > 0 ? v->tried : -NEVER, ago;

	if (has_host_died(v) && v->thread->bad > at)
		at = v->thread->bad;
	ago = now.mono - at;
	return ago < (long)now.wall ? now.wall - (long)ago : 0;
}

/* Lets the recipient fail, with its tag and its diagnostic line on disk first:
 * 0 or -1.  If core has no reason, the line says so, and the agent dsn takes
 * the reason from an earlier diagnostic line, if there is one. */
static int
expire_rcpt(struct vertex *v, struct rcpt *r, const char *how)
{
	const char *name = v->msg->name, *why = r->reason;
	char text[1200];
	struct text t;

	/* the host was the cause if the recipient had no try of its own */
	if (why == NULL && has_host_died(v))
		why = v->thread->reason;
	text_init(&t, text, sizeof(text));
	text_add(&t, "%s after ", how);
	span_add(&t, msg_age(v->msg), 2);
	if (why != NULL)
		text_add(&t, ", " REASON_MARK "\n%s", why);
	else
		text_add(&t, "; no reason for the delay was kept");
	if (ctl_set_tag(name, r->off, '-') < 0)
		return -1;
	if (ctl_append_diag(name, r->off, "", "4.4.7 (delivery time expired)",
	    text, get_last_try(v)) < 0) {
		ctl_set_tag(name, r->off, ' ');
		return -1;
	}
	finish_rcpt(v, r, RC_FAILED, "expire", text);
	return 0;
}

/* Lets all pending recipients of the vertex fail, and ends it: 0, or -1 when
 * the disk cannot be written.  how is the beginning of the reason. */
static int
expire_vertex(struct vertex *v, const char *how)
{
	struct rcpt *r;

	for (r = v->r; r < v->r + v->nr; r++)
		if (r->state == RC_PENDING && expire_rcpt(v, r, how) < 0)
			return -1;
	end_vertex(v);
	end_if_complete(v->msg);
	return 0;
}

/* Ends the vertex without delivery and DSN: 0, or -1 when the disk cannot be
 * written. */
static int
delete_vertex(struct vertex *v)
{
	struct message *m = v->msg;
	struct rcpt *r, *end = v->r + v->nr;

	for (r = v->r; r < end; r++) {
		if (r->state != RC_PENDING)
			continue;
		if (r->off != 0 && ctl_set_tag(m->name, r->off, '+') < 0)
			return -1;
		finish_rcpt(v, r, RC_OK, "deleted", NULL);
	}
	/* deleting a DSN on finished recipients also cancels the DSN that is
	 * due at the end; deleting a warning does not */
	if (th_is_result_dsn(v->thread))
		m->dsn_due = m->dsn_stale = 0;
	end_vertex(v);
	end_if_complete(m);
	return 0;
}

/* Deletes or bounces a vertex without an agent, as its member cancel says: 0,
 * or -1 when the disk cannot be written. */
static int
cancel_now(struct vertex *v)
{
	return v->cancel == CANCEL_DELETE ? delete_vertex(v) :
	    expire_vertex(v, "ended by the postmaster");
}

/* Ends the vertex if an operator has deleted or bounced it, or expires it if
 * that is due.  Returns the time of the next check, mono.  Old mail that was
 * never tried is checked often, as its host may be found dead, and that counts
 * as a try. */
static double
end_if_due(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	double at = v->msg->born + s->expiry, until;
	double untried_end = at + s->expiry2;	/* mono */
	/* mono; end of the time for a first try.  Here it is set to the
	 * beginning of that time: the arrival or, if that is later, the start
	 * of the daemon, which is 0 */
	double try_end = v->msg->queued > 0 ? v->msg->queued : 0;

	if (v->cancel != CANCEL_NONE && v->state == V_PINNED)
		return cancel_now(v) == 0 || drop_if_gone(v->msg) ?
		    NEVER : now.mono + CHECK_AGAIN;
	if (s->expiry == 0 || WHY_KEPT(th_why(v, &until)))
		return NEVER;
	if (at > now.mono)
		return at;
	try_end += s->expiry2 < FIRST_TRY ? s->expiry2 : FIRST_TRY;
	if (v->msg->was_forgotten &&
	    try_end < v->msg->loaded_at + UNTRIED_AGAIN)
		try_end = v->msg->loaded_at + UNTRIED_AGAIN;
	if (untried_end < try_end)
		untried_end = try_end;
	if (v->tries == 0 && !has_host_died(v) && untried_end > now.mono)
		return untried_end < now.mono + UNTRIED_AGAIN ? untried_end :
		    now.mono + UNTRIED_AGAIN;
	if (drop_if_gone(v->msg))
		return NEVER;
	return v->state == V_FED || expire_vertex(v, "expired") < 0 ?
	    now.mono + CHECK_AGAIN : NEVER;
}

/* ---- warnings ---------------------------------------------------------- */

#define WARN_WAIT	60	/* seconds in core during which a warning waits
				 * for a first try */
#define WARN_AGAIN	2	/* seconds between checks of such a warning */

/* Returns the age at which the next warning on the vertex is due, seconds;
 * LONG_MAX: never. */
static long
get_warning_age(const struct vertex *v)
{
	const struct setting *s;

	if (v->state == V_DONE)
		return LONG_MAX;
	s = &v->thread->ring->conf->v;
	return v->warned < s->warn_ages.n &&
	    (s->delayreport || v->msg->notify & NOTIFY_DELAY) ?
	    s->warn_ages.at[v->warned] : LONG_MAX;
}

/* Old mail that was just loaded is tried before a warning is sent on it, so
 * that the warning can give a reason. */
double
q_next_warning(const struct message *m)
{
	long age, next = LONG_MAX;
	const struct vertex *v;
	int untried = 0;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		age = get_warning_age(v);
		next = age < next ? age : next;
		untried |= age <= msg_age(m) && v->state != V_WAIT &&
		    v->tries == 0 && v->thread->deaths == 0;
	}
	if (next == LONG_MAX)
		return NEVER;
	return untried && NOW < m->loaded_at + WARN_WAIT ?
	    now.mono + WARN_AGAIN : (double)m->born + next;
}

/* Returns the next portion of the message at the host of this one, or NULL. */
static struct vertex *
find_next_portion(const struct vertex *v)
{
	struct vertex *o = v->portion ? msg_next_vertex(v) : NULL;

	while (o != NULL && o->state == V_DONE)
		o = msg_next_vertex(o);
	return o != NULL && o->thread->chan == v->thread->chan &&
	    strcmp(o->thread->host, v->thread->host) == 0 ? o : NULL;
}

/* Returns the first of the pending recipients of this and later portions at the
 * host that have this reason.  There must be one. */
static const struct rcpt *
find_same_reason(const struct vertex *v, const char *reason)
{
	const struct rcpt *r;

	for (;; v = find_next_portion(v))
		for (r = v->r; r < v->r + v->nr; r++)
			if (r->state == RC_PENDING && r->reason == reason)
				return r;
}

/* Adds the reasons of the pending recipients of this and later portions at the
 * host, as far as there is room (ctlfile.c).  A recipient without a reason has
 * that of the host.  Returns the first pending recipient, or NULL. */
static const struct rcpt *
add_pending_reasons(struct text *t, const struct vertex *v)
{
	const struct rcpt *r, *same, *first = NULL, *last = NULL;
	const struct vertex *w;
	const char *why;

	for (w = v; w != NULL; w = find_next_portion(w))
		for (r = w->r; r < w->r + w->nr; r++) {
			if (r->state != RC_PENDING ||
			    (last != NULL && last->reason == r->reason))
				continue;
			if (last == NULL)
				first = r;
			else
				text_add(t, "\1%u", (unsigned)r->off);
			last = r;
			if (t->len + REASON_MOST + 20 > t->size)
				return first;
			same = find_same_reason(v, r->reason);
			why = r->reason;
			if (why == NULL && w->thread->deaths > 0)
				why = w->thread->reason;
			if (same != r)
				text_add(t, "=%u", (unsigned)same->off);
			else
				text_add(t, r != first ? " %s" : "%s",
				    why != NULL ? why : "");
		}
	return first;
}

/* Writes the lines for warnings that are due (ctlfile.c), one for all portions
 * at a host: 0, or -1 when the disk cannot be written.  If the message
 * has_delays, the file had the lines when it was loaded: none is written, and
 * the warnings are only counted. */
static int
write_delay_lines(struct message *m)
{
	long age = msg_age(m), born = now.wall - age;
	const struct setting *s;
	const struct rcpt *r;
	struct vertex *v, *w;
	struct text f, t;
	char fields[60], why[3000];
	int ndue;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		if (get_warning_age(v) > age)
			continue;
		s = &v->thread->ring->conf->v;
		for (ndue = v->warned; ndue < s->warn_ages.n &&
		    s->warn_ages.at[ndue] <= age; )
			ndue++;
		text_init(&f, fields, sizeof(fields));
		text_add(&f, "\1delayed\1\1%d%s\1", ndue, s->delayreport ?
		    " all" : "");
		if (s->expiry > 0 && born >= SANE_WALL)
			text_add(&f, "%ld", born + s->expiry);
		text_init(&t, why, sizeof(why));
		r = m->has_delays ? NULL : add_pending_reasons(&t, v);
		if (r != NULL && ctl_append_diag(m->name, r->off, fields, "",
		    why, 0) < 0)
			return -1;
		for (w = v; w != NULL; w = find_next_portion(w))
			w->warned = ndue;
	}
	m->has_delays = 0;
	return 0;
}

/* ---- the timer of a message ------------------------------------------- */

void
q_run_message_timer(struct message *m)
{
	struct vertex *v;
	double at, next = NEVER;
	int has_command;	/* the vertex is to be deleted or bounced */

	heap_del(&q.due_messages, &m->due);
	if (m->nvertices == 0) {	/* only end_message has work left */
		sweep_later(m);
		return;
	}
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		has_command = v->state == V_PINNED && v->cancel != CANCEL_NONE;
		if (has_command && work_left <= 0)
			break;
		if (v->state == V_DONE)
			continue;
		at = end_if_due(v);
		next = at < next ? at : next;
		work_left -= has_command || v->state == V_DONE;
	}
	if (v != NULL)
		next = now.mono;	/* the others follow in a later pass */
	else if (write_all_tags(m) < 0 && !drop_if_gone(m) &&
	    next > now.mono + CHECK_AGAIN)
		next = now.mono + CHECK_AGAIN;
	at = m->has_delays ? now.mono : q_next_warning(m);
	if (at <= now.mono) {
		work_left--;
		at = add_dsn_vertex(m, "delay", 0) < 0 ||
		    write_delay_lines(m) < 0 ? now.mono + CHECK_AGAIN :
		    q_next_warning(m);
	}
	advance_timer(m, at < next ? at : next);
}

/* ---- arrival --------------------------------------------------------- */

/* Moves a vertex that is on no list, with one recipient left, to the thread of
 * this mailbox.  The vertex stays if box is 0 or there is no memory. */
static void
move_to_box(struct vertex *v, unsigned box)
{
	struct thread *t = v->thread;

	if (box != 0 && (t = th_get(t->chan, t->host, box)) != NULL)
		v->thread = t;
}

int
q_add_message(struct message *m)
{
	struct message *twin = NULL;
	unsigned long num = name_num(m->name);
	struct vertex *v;

	if (heap_reserve(&q.due_messages, q.messages.n) < 0)
		return -1;
	m->load_event = ++q.events;
	while ((twin = msg_find_number(num, twin)) != NULL)
		m->has_twin = twin->has_twin = 1;
	m->is_complete = m->nr == 0;	/* nothing was left in the file */
	hash_add(&q.messages, &m->link, num);
	q.rcpts_in += m->nr;
	m->held = held_get(0, m->name) != NULL;
	q.nheld += m->held;
	if (q.messages.n > q.peak_messages)
		q.peak_messages = q.messages.n;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		if (v->nr == 1)
			move_to_box(v, v->box);
		queue_vertex(v);
	}
	/* a message that was forgotten has waited long enough */
	add_interim_dsn(m, m->was_forgotten ? 0 : q.config->reportevery);
	q_run_message_timer(m);
	end_if_complete(m);
	return 0;
}

/* ---- commands of operators ------------------------------------------- */

/* A command that takes effect later, or is on a DSN and so leaves no tag, is in
 * the control file before it is confirmed.  The file is synced, except for
 * commands that are left to a later pass, as these may be many. */
enum outcome
q_cancel_vertex(struct vertex *v, enum cancel how, int later)
{
	const struct thread *t = v->thread;
	enum cancel was = v->cancel;
	int fed = v->state == V_FED;

	if ((fed || later || th_is_dsn(t)) && was != how &&
	    ctl_append_cancel(v->msg->name, t->ring->chan->name, t->host,
	    how) < 0)
		return OUT_FAILED;
	v->cancel = how;
	if (!fed && !later && cancel_now(v) < 0) {
		v->cancel = was;
		return OUT_FAILED;
	}
	if (!later && ctl_sync(v->msg->name) < 0)
		log_err("diagnostic msg=%s rcpt=0 not synced, so a power cut "
		    "may undo the command: %s", ctl_log_name(v->msg->name),
		    strerror(errno));
	if (fed)
		return OUT_REPORT;
	if (!later)
		return OUT_DONE;
	if (v->state != V_PINNED)
		th_requeue(v, 1, 0);	/* no agent gets the job now */
	advance_timer(v->msg, now.mono);
	return OUT_PASS;
}

void
q_hold_message(struct message *m, int on)
{
	struct vertex *v;

	q.nheld += on - m->held;
	m->held = on;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		if (on && (v->state == V_READY || v->state == V_WAIT))
			th_requeue(v, 1, 0);
		else if (!on && v->state == V_PINNED) {
			v->wakeup = 0;	/* even if the vertex stays PINNED */
			if (!must_be_pinned(v))
				th_requeue(v, 0, 0);
		}
	th_update_channel(m);	/* an agent may have all its vertices */
	q_run_message_timer(m);
}

/* ---- reports of agents ----------------------------------------------- */

/* Returns the recipient that a report of this agent is on, and sets *job to its
 * vertex; NULL: no job of the agent has the recipient, or it is finished. */
static struct rcpt *
find_reported_rcpt(const struct ta *ta, unsigned long num, unsigned long off,
    struct vertex **job)
{
	struct vertex *v = ta->jobs.head;
	struct rcpt *r = NULL;

	while (v != NULL && (v->msg->link.hash != num ||
	    (r = msg_find_rcpt(v, off)) == NULL))
		v = v->next;
	*job = v;
	return r != NULL && r->state == RC_PENDING ? r : NULL;
}

#define RETRYAT_MOST	1e9	/* seconds; a later time is ignored */

/* Reads the time of "+60 text" or "1795220140 text" into the wakeup of the
 * vertex, if it has no later one, and returns the text.  A vertex is tried
 * whole, so the latest time counts.  The wakeup is up to a second after the
 * time that was named. */
static const char *
parse_retryat(struct vertex *v, const char *s)
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

/* Notes a deferral of the recipient. */
static void
defer_rcpt(struct vertex *v, struct rcpt *r, int host_bits, const char *text)
{
	char reason[REASON_MOST + 1];

	text_fmt(reason, sizeof(reason), "%s", text);
	r->deferred = 1;
	msg_set_reason(v, r, reason);
	if (host_bits & HOST_BAD)
		reason_copy(&v->thread->reason, reason);
	v->host_bits |= host_bits;
}

/* Returns the field n of the notary, where n is a DIAG_ constant, and the
 * fields behind it; "" if the notary ends before that field. */
static const char *
find_notary_field(const char *s, int n)
{
	for (; n > 0 && (s = strchr(s, '\1')) != NULL; n--)
		s++;
	return s == NULL ? "" : s;
}

/* Returns what a deferral says of the destination, HOST_ bits.  With all, which
 * is 1 for the report "deferall", the host takes no mail now; else the status
 * in the notary fields decides.  A mailbox is a destination: 4.2.x (RFC 3463)
 * says that it takes no mail now, as it is locked or full. */
static int
parse_host_bits(const struct thread *t, int all, const char *notary)
{
	/* no answer; a lost connection; a system that takes no mail now */
	static const char *const bad[] = { "4.4.1", "4.4.2", "4.3.2" };
	const char *s = find_notary_field(notary, DIAG_STATUS);
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
	int	all;		/* 1: deferred, as the host takes no mail now */
	int	dated;		/* 1: deferred; the text begins with a time */
	int	ours;		/* 1: the scheduler writes the diagnostic line,
				 * if one is wanted; 0: the agent has done so
				 * for ok2 and error2, and ok3 needs none */
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

/* Applies the final report of the agent dsn on its vertex.  A message with a
 * failure that was reported to no sender is set aside; as a double bounce if
 * the message has no sender (error2). */
static void
apply_dsn_report(struct vertex *v, struct rcpt *r, const struct status *s,
    const char *text)
{
	struct message *m = v->msg;

	msg_set_finished(v, r, RC_OK);
	v->host_bits |= HOST_GOOD;
	if (th_is_result_dsn(v->thread)) {
		m->end = s->state == RC_OK ? END_REMOVE : END_ASIDE;
		if (strcmp(s->word, "error2") == 0)
			m->end = END_ASIDE_DOUBLE;
		/* after a DSN of the kind success, failures need dsn/failure,
		 * which gives a text to those that lack one */
		m->dsn_due = m->dsn_stale || (m->failed &&
		    strcmp(v->thread->host, "failure") != 0);
	}
	msg_log_finished(v, 0, s->state == RC_FAILED, s->word, text);
}

/* Returns 1 if the sender has asked for a DSN on the delivery, or if the file
 * cannot be read now: the agent dsn reads it again. */
static int
may_want_success_dsn(const struct message *m, unsigned long off)
{
	const struct ctl *c;

	if (!(m->notify & NOTIFY_SUCCESS))
		return 0;
	errno = 0;
	c = ctl_find_rcpt(m->name, off);
	if (c == NULL)
		return errno != 0 && errno != ENOENT;
	return c->l.error != 0 || (c->notify & NOTIFY_SUCCESS) != 0;
}

/* Applies the final report of an agent.  If the agent leaves the diagnostic
 * line to the scheduler, a failure gets one, and so does a success for which
 * the sender asked for a DSN.  The line is not synced: a power cut may take a
 * text, which the agent dsn can do without. */
static void
apply_final_report(struct vertex *v, struct rcpt *r, const struct status *s,
    const char *notary, const char *text)
{
	const char *name = v->msg->name;
	int failed = s->state == RC_FAILED;
	int needs_line = s->ours &&
	    (failed || may_want_success_dsn(v->msg, r->off));

	if (failed && *text == '\0')
		text = "(unknown)";
	if (needs_line && ctl_append_diag(name, r->off, notary, failed ?
	    "5.0.0 (permanent failure)" : "2.0.0 (delivered)", text,
	    now.wall) < 0 && failed) {
		ctl_set_tag(name, r->off, ' ');	/* for another try */
		defer_rcpt(v, r, HOST_GOOD, "the delivery failed for good, "
		    "but that cannot be written into the control file");
		return;
	}
	v->host_bits |= HOST_GOOD;
	finish_rcpt(v, r, s->state, s->word, text);
	if (needs_line)
		note_dsn_due(v->msg);
}

/* Notes the host that the agent has talked to, which a notary field names, as
 * in "dns; mx.example".  ZMailer's smtp adds one more field, its own name. */
static void
note_relay(struct ta *ta, const char *notary)
{
	const char *s = find_notary_field(notary, DIAG_REMOTE), *type;
	const char *end = s + strcspn(s, "\1");

	if (s == end)
		return;
	type = memchr(s, ';', end - s);
	s = type == NULL ? s : type + 1;
	s += strspn(s, " ");
	text_fmt(ta->relay, sizeof(ta->relay), "%.*s", (int)(end - s), s);
}

const char *
q_apply_report(struct ta *ta, unsigned long num, unsigned long off,
    const char *notary, const char *status, const char *text)
{
	const struct status *s = statuses;
	struct vertex *v;
	struct rcpt *r;

	while (s->word != NULL && strcmp(status, s->word) != 0)
		s++;
	if (s->word == NULL)
		return "unknown status";
	r = find_reported_rcpt(ta, num, off, &v);
	if (r == NULL)
		return "refused: not in a job of the agent, or finished";
	ta->repeated = s->state == RC_PENDING && r->deferred;
	note_relay(ta, notary);
	if (s->dated)
		text = parse_retryat(v, text);
	if (s->state == RC_PENDING)
		defer_rcpt(v, r, parse_host_bits(v->thread, s->all, notary),
		    text);
	else if (th_is_dsn(v->thread))
		apply_dsn_report(v, r, s, text);
	else
		apply_final_report(v, r, s, notary, text);
	return NULL;
}

/* ---- the end of a job ------------------------------------------------ */

/* Finishes a recipient without a report if its tag on disk says so.  Removes a
 * lock of one of our agents, as the job of this recipient is over.  But an
 * agent whose job lines name no recipients may have locked the recipient in a
 * job for another portion: then the lock stays while agents have vertices of
 * the message. */
static void
apply_tag(struct vertex *v, struct rcpt *r)
{
	static const char by_tag[] = "(by its tag on disk, without a report)";
	const char *name = v->msg->name;
	const struct ta *ta;
	long pid;
	int tag = r->off == 0 ? ' ' : ctl_read_tag(name, r->off, &pid);

	if (tag == '+' || tag == '-')
		finish_rcpt(v, r, tag == '+' ? RC_OK : RC_FAILED,
		    tag == '+' ? "ok" : "error", by_tag);
	if (tag == '+' && may_want_success_dsn(v->msg, r->off))
		note_dsn_due(v->msg);	/* the agent may have written a line */
	if (tag != '~')
		return;
	for (ta = q.agents; ta != NULL; ta = ta->next)
		if (ta->pid == (int)pid && (!v->portion || ta->portions ||
		    v->msg->nfed == 0))
			ctl_set_tag(name, r->off, ' ');
}

/* Returns the time of the next try of a deferred vertex, mono: its retryat, or
 * by the retry list, in which its retry_index advances.  Sets dated.  No next
 * try is later than expiry. */
static long
advance_next_try(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	long end = v->msg->born + s->expiry, at = v->wakeup;
	unsigned short index = v->retry_index;

	v->dated = at > now.mono;
	if (!v->dated) {
		at = NOW + retry_next_wait(s, &index, v->tries, now.wall);
		v->retry_index = index;
	}
	return s->expiry > 0 && at > end && end > now.mono ? end : at;
}

/* When one recipient of the vertex is left, moves the vertex from the thread of
 * several mailboxes to that of the recipient's mailbox. */
static void
move_last_rcpt(struct vertex *v)
{
	struct thread *t = v->thread;
	const struct ctl *c;

	/* a finished recipient stays in the vertex until its tag is written */
	if (!th_is_local(t) || t->box != 0 || v->nr != 1 || v->npending != 1)
		return;
	c = ctl_find_rcpt(v->msg->name, v->r[0].off);
	if (c != NULL)
		move_to_box(v, ctl_mailbox_hash(c));
	if (v->thread == t)
		return;
	if (v->host_bits & HOST_BAD && v->r[0].reason != NULL)
		reason_copy(&v->thread->reason, v->r[0].reason);
	th_update(t);
}

/* Puts a vertex with recipients left back on its thread.  Recipients without a
 * report are deferred for this reason; NULL: the job was no try. */
static void
requeue_vertex(struct vertex *v, const char *reason, const char *relay)
{
	struct message *m = v->msg;
	struct thread *t = v->thread;
	long wakeup = 0;	/* 0: the vertex becomes READY, and may still
				 * wait for the end of its host's dead time */
	struct rcpt *r, *end = v->r + v->nr;

	for (r = v->r; r < end; r++)
		if (r->state == RC_PENDING) {
			if (!r->deferred && reason != NULL)
				msg_set_reason(v, r, reason);
			r->deferred = 0;
		}
	if (reason != NULL) {
		v->tries += v->tries < TRIES_MOST;
		v->tried = NOW;
		v->returned = 0;
	}
	if (!m->held && reason != NULL && (!(v->host_bits & HOST_BAD) ||
	    t->until <= now.mono || v->wakeup > now.mono))
		wakeup = advance_next_try(v);
	v->wakeup = wakeup;
	th_requeue(v, m->held || must_be_pinned(v), wakeup);
	if (reason != NULL)
		msg_log_deferred(v, relay);
	else
		log_info("not-begun msg=%s channel=%s host=%s left=%u",
		    msg_log_name(m), t->ring->chan->name, t->host, v->npending);
	advance_timer(m, end_if_due(v));	/* the vertex may expire now */
}

void
q_end_first_job(struct ta *ta, const char *reason)
{
	struct vertex *v = ta->jobs.head;
	struct message *m = v->msg;
	struct rcpt *r;
	int dsn = th_is_dsn(v->thread), has_report = 0;

	th_take_from_agent(v);
	for (r = v->r; r < v->r + v->nr; r++)
		if (r->state == RC_PENDING && r->deferred)
			has_report = 1;
		else if (r->state == RC_PENDING)
			apply_tag(v, r);
	if (v->npending == 0 && m->nvertices == 1 && !m->dsn_due) {
		/* tags are needed only if the files cannot be removed now */
		m->untagged = 1;
	} else if (write_tags(v) < 0) {
		m->untagged = 1;
		advance_timer(m, now.mono + CHECK_AGAIN);
	}
	move_last_rcpt(v);
	th_count_report(v->thread, v->host_bits);
	/* an agent that reports nothing may have found no file */
	if (reason != NULL && v->npending > 0 && !has_report)
		drop_if_gone(m);
	if (m->end >= END_DROP || v->npending == 0) {
		end_vertex(v);
		end_if_complete(m);
	} else if (v->cancel == CANCEL_NONE || cancel_now(v) < 0)
		requeue_vertex(v, reason, ta->relay);
	ta->relay[0] = '\0';
	if (dsn)	/* recipients may be done since the DSN was fed */
		add_interim_dsn(m, q.config->reportevery);
}

/* ---- timers, reload, sweep ------------------------------------------- */

void
q_run_timers(void)
{
	struct timer *t;

	while (heap_wait_seconds(&q.due_threads) == 0) {
		t = heap_first(&q.due_threads);
		heap_del(&q.due_threads, t);
		th_run_timer(OWNER(struct thread, due, t));
	}
	work_left = PASS_WORK;
	while (work_left > 0 && heap_wait_seconds(&q.due_messages) == 0)
		q_run_message_timer(OWNER(struct message, due,
		    heap_first(&q.due_messages)));
}

void
q_use_config(struct config *config)
{
	struct hlink *l = NULL;

	th_use_config(config);
	while ((l = hash_each(&q.messages, l)) != NULL)
		q_run_message_timer(OWNER(struct message, link, l));
}

/* Removes the message from the tables of messages in core. */
static void
remove_from_tables(struct message *m)
{
	if (q.largest == m)
		q.largest = NULL;
	order_free_claims(m);
	heap_del(&q.due_messages, &m->due);
	hash_del(&q.messages, &m->link);
	q.nheld -= m->held;
}

/* The place in core is free at once; the sweep frees the message. */
void
q_unload_message(struct message *m)
{
	q.evicted++;
	q.rcpts_in -= m->rcpts;
	remove_from_tables(m);
	m->end = END_FORGET;	/* its channel no longer counts it */
	end_if_complete(m);		/* ends the vertices */
}

/* ---- the end --------------------------------------------------------- */

/* Removes the files of the message, or moves them to postman/: 0 or -1. */
static int
end_files(const struct message *m)
{
	if (m->end == END_ASIDE || m->end == END_ASIDE_DOUBLE)
		return spool_set_aside(m->name, m->end == END_ASIDE_DOUBLE,
		    "a failure was reported to no sender");
	return m->end == END_GONE ? 0 : spool_remove(m->name);
}

/* Lets the agent dsn make the DSN that is due at the end of the message.  If
 * none is due, removes the files and frees the message, or tries that again
 * later.  A message that is forgotten is only freed. */
static void
end_message(struct message *m)
{
	int needs_dsn = m->dsn_due && m->end < END_DROP;
	const char *failed = m->some_done ? "some" : "all";

	if (m->end == END_FORGET) {
		msg_free(m);
		return;
	}
	if (!m->is_complete)
		log_info("complete msg=%s rcpts=%u failed=%s age=%ld",
		    msg_log_name(m), m->nr, m->failed ? failed : "none",
		    msg_age(m));
	if (!m->is_complete && m->verbose)
		spool_log_verbose(m->name, "scheduler done processing");
	m->is_complete = 1;
	if (!needs_dsn && end_files(m) == 0) {
		if (m->held)
			held_set(0, m->name, 0);
		remove_from_tables(m);
		q.msgs_out++;
		msg_free(m);
		return;
	}
	heap_set(&q.due_messages, &m->due, now.mono + CHECK_AGAIN);
	/* without tags mail is delivered again, and the DSN may lack
	 * recipients */
	if (write_all_tags(m) < 0 || !needs_dsn)
		return;
	while (m->vertices != NULL)	/* all are DONE */
		msg_free_vertex(m->vertices);
	/* the next pass, which feeds the DSN, comes at once */
	if (add_dsn_vertex(m, m->failed ? "failure" : "success", 0) == 0)
		advance_timer(m, now.mono);
}

void
q_sweep_ended(void)
{
	struct vertex *v, **p = &ended_vertices;
	struct message *m;

	while ((v = *p) != NULL) {
		/* write_all_tags still needs the vertex */
		if (v->msg->untagged && v->msg->nvertices > 0) {
			p = &v->next;
			continue;
		}
		*p = v->next;
		v->next = NULL;
		/* end_message frees the last vertices of a message */
		if (v->msg->nvertices > 0)
			msg_free_vertex(v);
	}
	while ((m = ended_messages) != NULL) {
		ended_messages = m->swept != m ? m->swept : NULL;
		m->swept = NULL;
		end_message(m);
	}
	th_sweep();
	ctl_close_kept();
}
