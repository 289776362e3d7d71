/*
 * report.c - what agents say became of a job.
 *
 * Each recipient of a job is reported as finished, for better or worse, or as
 * deferred.  "deferred" and "retryat" concern the address: the vertex waits by
 * its own place in the retry list.  "deferall", and the others with a status
 * that says there was no talking to the host, concern the host: what comes of
 * that is thread.c's and feedback.c's matter.
 *
 * A job ends with the agent's next #hungry.  Only then is a vertex with
 * recipients left put back, and only then are tags looked at that the agent
 * should have set.  What an agent did not report, because it died or skipped
 * it, the tags on disk decide; the rest is deferred like any other, so no
 * job is ever fed on at once to the next victim.
 *
 * A report that does not fit what the agent was given changes nothing and is
 * logged, but not without end.  A recipient is found in O(log n) of its job.
 *
 * Of a message that is only partly in core, agents deliver more than they
 * were given: all that the control file has for the host.  So a report counts
 * when its offset begins a recipient line with the job's channel and host, in
 * core or not; nothing else that an agent says changes anything.
 */
#include "scheduler.h"

/* ---- reports --------------------------------------------------------- */

int
rp_noise(struct ta *ta)
{
	if (ta->noise <= NOISE_MOST)
		ta->noise++;
	else
		return 0;
	if (ta->noise > NOISE_MOST)
		log_warn("agent-says pid=%d channel=%s too much; no more of "
		    "it is logged", ta->pid, ta->ring->chan->name);
	return ta->noise <= NOISE_MOST;
}

/* Why this agent cannot report on it. */
static void
refuse(struct ta *ta, unsigned long num, unsigned long off)
{
	const struct message *m = q_find(num, NULL);
	const struct vertex *v;

	if (!rp_noise(ta))
		return;
	for (v = m == NULL ? NULL : msg_first(m); v != NULL; v = msg_next(v))
		if (msg_rcpt(v, off) != NULL)
			break;
	if (m == NULL)
		log_warn("report agent=%d num=%lu rcpt=%lu no such message",
		    ta->pid, num, off);
	else if (v == NULL)
		log_warn("report agent=%d msg=%s rcpt=%lu no such recipient",
		    ta->pid, m->name, off);
	else
		log_warn("report agent=%d msg=%s rcpt=%lu refused: it was not "
		    "given to this agent or is finished", ta->pid, m->name,
		    off);
}

/* Is the recipient at off of the job, though not in core?  A job is all that
 * the control file has for the host; of a message that was read whole, what is
 * not in core was finished before. */
static int
is_beside(const struct vertex *v, unsigned long off)
{
	const struct message *m = v->msg;
	const struct thread *t = v->thread;

	return ctl_is_for(m->name, off, t->ring->chan->name, t->host) &&
	    (msg_part(m) != NULL || (!ctl_has(m->name, off, '+') &&
	    !ctl_has(m->name, off, '-')));
}

/* The job of this agent that a report is of, and the recipient, NULL when
 * that is not in core.  NULL, with a log line, when there is none. */
static struct vertex *
reported(struct ta *ta, unsigned long num, unsigned long off,
    struct rcpt **r)
{
	struct vertex *v = ta->jobs.head;

	while (v != NULL && v->msg->link.hash != num)
		v = v->next;
	*r = v == NULL ? NULL : msg_rcpt(v, off);
	if (*r != NULL && (*r)->state == RC_PENDING)
		return v;
	if (v != NULL && *r == NULL && is_beside(v, off))
		return v;
	refuse(ta, num, off);
	return NULL;
}

#define RETRYAT_MOST	1e9	/* seconds; beyond that it is no time */

/* "retryat +60 text" and "retryat 1795220140 text": seconds from now in
 * *wait, 0 when the time is past or none; the text. */
static const char *
retry_time(const char *s, double *wait)
{
	int relative = *s == '+';
	struct timeval tv;
	unsigned long n;

	s += relative;
	*wait = 0;
	if (num_upto(s, LONG_MAX, &n, &s) < 0) {
		s += strspn(s, "0123456789");
	} else if (relative) {
		*wait = (double)n;
	} else if ((long)n > (long)now.wall && gettimeofday(&tv, NULL) == 0) {
		/* part of this second of the day has passed */
		*wait = (double)((long)n - (long)now.wall) -
		    (double)tv.tv_usec / 1e6;
	}
	if (*wait > RETRYAT_MOST)
		*wait = 0;
	return s + strspn(s, " ");
}

/* A vertex is tried whole, so the latest time counts.  Its times are whole
 * seconds: not before the time that was named, and within a second of it. */
static void
retry_at(struct vertex *v, double wait)
{
	int at = (int)(now.mono + wait) + 1;

	if (wait > 0 && at > v->wakeup)
		v->wakeup = at;
}

/* The recipient was deferred for this reason.  What core cannot keep is in
 * the log. */
static void
set_reason(const struct vertex *v, struct rcpt *r, const char *reason)
{
	if (*reason != '\0' && reason_set(r, reason) < 0)
		log_info("reason msg=%s rcpt=%lu channel=%s host=%s %s",
		    v->msg->name, (unsigned long)r->off,
		    v->thread->ring->chan->name, v->thread->host, reason);
}

/* r is NULL for one that is not in core; it does not count. */
static void
deferral(struct vertex *v, struct rcpt *r, unsigned long off, int host,
    const char *message)
{
	struct thread *t = v->thread;
	char text[REASON_MOST + 1];

	text_fmt(text, sizeof(text), "%s", message);
	if (r != NULL) {
		v->count += r->heard == 0;
		r->heard = 1;
		set_reason(v, r, text);
	} else if (*text != '\0' && msg_more(v->msg) != NULL) {
		memo_heard(&v->msg->more->memos, v, off, text);
	}
	if (host & HOST_BAD)
		reason_copy(&t->dest->reason, text);
	v->host |= (unsigned)host & 7;
}

/* What the report of a deferral says of the destination: by the word, or by the
 * status in the notary fields, whose parts are "address, action, status".  A
 * mailbox is one of its own: 4.2.x (RFC 3463) says that it takes no mail now,
 * as it is locked or full. */
static int
host_said(const struct thread *t, int all, const char *notary)
{
	static const char *const bad[] = { "4.4.1", "4.4.2", "4.3.2" };
	const char *s = strchr(notary, '\1');
	size_t i;

	if (all)
		return HOST_BAD | HOST_ALL;
	s = s == NULL ? NULL : strchr(s + 1, '\1');
	if (s != NULL && th_is_local(t) && strncmp(s + 1, "4.2.", 4) == 0)
		return HOST_BAD | HOST_ALL;
	for (i = 0; s != NULL && i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strncmp(s + 1, bad[i], 5) == 0 &&
		    (s[6] < '0' || s[6] > '9'))
			return HOST_BAD;
	return HOST_GOOD;
}

static const struct {
	const char *word;
	int	state;		/* enum rcpt_state */
	int	all;		/* deferred: for all mail of its host */
	int	dated;		/* deferred: its text begins with a time */
	int	log;		/* a diagnostic line is ours to write */
} statuses[] = {
	{ "ok", RC_OK, 0, 0, 1 },
	{ "ok2", RC_OK, 0, 0, 0 },
	{ "ok3", RC_OK, 0, 0, 0 },
	{ "error", RC_FAILED, 0, 0, 1 },
	{ "error2", RC_FAILED, 0, 0, 0 },
	{ "deferred", RC_PENDING, 0, 0, 0 },
	{ "deferback", RC_PENDING, 0, 0, 0 },
	{ "deferall", RC_PENDING, 1, 0, 0 },
	{ "retryat", RC_PENDING, 0, 1, 0 }
};

/* The line for an agent that leaves it to us: each failure, and a success
 * that somebody wants to hear of.  0, or -1 when it is not on disk. */
static int
diagnose(struct message *m, unsigned long off, const char *notary,
    int state, const char *message)
{
	if (state == RC_OK && !ctl_notify(m->name, off, "SUCCESS"))
		return 0;
	if (ctl_diag(m->name, off, notary, state == RC_OK ? "2.0.0 (delivered)"
	    : "5.0.0 (permanent failure)", message, (long)now.wall) < 0)
		return -1;
	q_news(m);
	return ctl_sync(m->name);
}

/* The same of a failure that nobody is to be told of, whoever has written of
 * it so far. */
static int
hush(const struct vertex *v, unsigned long off, const char *notary,
    const char *message)
{
	const char *name = v->msg->name;

	return ctl_untold(name, off, notary, "5.0.0 (permanent failure)",
	    message, (long)now.wall) < 0 ? -1 : ctl_sync(name);
}

static int
is_quiet(const struct vertex *v, int state)
{
	return state == RC_FAILED &&
	    v->thread->ring->conf->v.bounce == BOUNCE_NONE;
}

/* May a recipient that is not in core be reported so?  Not when its tag says
 * the opposite. */
static int
contradicts(const struct vertex *v, unsigned long off, int state)
{
	long pid;
	int tag;

	if (ctl_has(v->msg->name, off, state == RC_OK ? '+' : '-'))
		return 0;
	tag = ctl_tag(v->msg->name, off, &pid);
	if (tag != '+' && tag != '-')
		return 0;
	log_warn("report msg=%s rcpt=%lu refused: it is marked %c already",
	    v->msg->name, off, tag);
	return 1;
}

/* A recipient that is not in core: its tag is all that will tell. */
static void
beside(struct vertex *v, unsigned long off, int state, const char *status,
    const char *message)
{
	struct rcpt r;

	r.off = (unsigned)off & 0x3fffffff;
	r.state = (unsigned)state & 3;
	q_tag(v->msg, &r);
	q_beside(v, off, state, status, message);
}

void
rp_report(struct ta *ta, unsigned long num, unsigned long off,
    const char *notary, const char *status, const char *message)
{
	int bad = 0;
	struct vertex *v;
	struct rcpt *r;
	double wait = 0;
	size_t i, n = sizeof(statuses) / sizeof(statuses[0]);

	for (i = 0; i < n && strcmp(status, statuses[i].word) != 0; i++)
		;
	if (i == n) {
		if (rp_noise(ta))
			log_warn("report agent=%d num=%lu rcpt=%lu unknown "
			    "status %s", ta->pid, num, off, status);
		return;
	}
	v = reported(ta, num, off, &r);
	if (v == NULL)
		return;
	if (statuses[i].state == RC_PENDING) {
		if (statuses[i].dated)
			message = retry_time(message, &wait);
		retry_at(v, wait);
		deferral(v, r, off, host_said(v->thread, statuses[i].all,
		    notary), message);
		return;
	}
	if (r == NULL && contradicts(v, off, statuses[i].state))
		return;
	if (th_is_dsn(v->thread)) {
		v->host |= HOST_GOOD;
		q_told(v, r, statuses[i].state == RC_OK ? 0 :
		    statuses[i].log ? 1 : 2, status, message);
		return;
	}
	if (*message == '\0' && statuses[i].state == RC_FAILED)
		message = "(unknown)";
	if (is_quiet(v, statuses[i].state))
		bad = hush(v, off, notary, message);
	else if (statuses[i].log)
		bad = diagnose(v->msg, off, notary, statuses[i].state, message);
	if (bad < 0 && statuses[i].state == RC_FAILED) {
		ctl_mark(v->msg->name, off, ' ');	/* asked once more */
		deferral(v, r, off, HOST_GOOD,
		    "cannot write the diagnostic");
		return;
	}
	v->host |= HOST_GOOD;
	if (r != NULL)
		q_finish(v, r, statuses[i].state, status, message);
	else
		beside(v, off, statuses[i].state, status, message);
}

/* ---- the end of a job ------------------------------------------------ */

/* A recipient that was not reported: the tag on disk decides.  A lock that
 * one of our agents still holds is stale, since none has this job. */
static void
ask_disk(struct vertex *v, struct rcpt *r)
{
	const char *name = v->msg->name;
	long pid;
	int tag = r->off == 0 ? ' ' : ctl_tag(name, r->off, &pid);

	if (tag == '+' && ctl_notify(name, r->off, "SUCCESS"))
		q_news(v->msg);		/* its line may be there, too */
	if (tag == '-' && is_quiet(v, RC_FAILED))
		hush(v, r->off, "", "(by its tag, not reported)");
	if (tag == '+')
		q_finish(v, r, RC_OK, "ok", "(by its tag, not reported)");
	else if (tag == '-')
		q_finish(v, r, RC_FAILED, "error", "(by its tag, not reported)");
	else if (tag == '~' && ctl_is_agent(pid))
		ctl_mark(name, r->off, ' ');
}

/* Do the message's files go when this vertex is over? */
static int
is_last(const struct vertex *v)
{
	const struct message *m = v->msg;

	return v->left == 0 && m->left == 1 && !m->tell &&
	    msg_unread(m) + msg_evicted(m) == 0;
}

/* Goes over the recipients of the job and forgets finished ones. */
static void
settle(struct vertex *v)
{
	unsigned i;

	if (v->count < v->left)
		for (i = 0; i < v->nr; i++)
			if (v->r[i].state == RC_PENDING)
				ask_disk(v, &v->r[i]);
	if (is_last(v))
		return;
	for (i = 0; i < v->nr; i++)
		if (v->r[i].state != RC_PENDING)
			q_tag(v->msg, &v->r[i]);
	msg_narrow(v);
}

/* When a vertex that was deferred is to be tried again, mono: never later than
 * it expires. */
static long
next_try(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	long end = v->msg->born + s->expiry, at = v->wakeup;
	unsigned short step = (unsigned short)v->step;

	v->dated = (double)at > now.mono;
	if (!v->dated) {
		at = (long)now.mono + retry_wait(s, &step, v->tries,
		    now.wall);
		v->step = step & 127U;
	}
	return s->expiry > 0 && at > end && (double)end > now.mono ? end : at;
}

/* Recipients that the agent did not report are deferred for this reason, if
 * there is one. */
static void
unreported(struct vertex *v, const char *reason)
{
	struct rcpt *r;

	for (r = v->r; r < v->r + v->nr; r++) {
		if (r->state == RC_PENDING && !r->heard)
			set_reason(v, r, reason);
		r->heard = 0;
	}
}

static void
log_deferred(const struct vertex *v, long wakeup)
{
	const struct thread *t = v->thread;
	char next[40], said[REASONS_MOST];
	struct text why;

	if (v->state == V_WAIT && t->ring->conf->v.queueonly)
		strcpy(next, "queueonly");	/* only a T line wakes it */
	else
		text_fmt(next, sizeof(next), "%ld", wakeup - (long)now.mono -
		    (v->state == V_WAIT && v->dated));
	text_init(&why, said, sizeof(said));
	reason_all(v, &why);
	log_info("deferred msg=%s channel=%s host=%s left=%u tries=%u "
	    "next=%s age=%ld %s", v->msg->name, t->ring->chan->name, t->host,
	    v->left, (unsigned)v->tries, next, (long)now.mono - v->msg->born,
	    said);
}

/* Puts a vertex with recipients left back into its thread. */
static void
put_back(struct vertex *v, const char *reason)
{
	struct message *m = v->msg;
	struct thread *t = v->thread;
	long wakeup = (long)t->sleep;

	unreported(v, reason);
	if (v->count == 0 && spool_gone(m->name))
		q_drop(m, "its control file was taken away");
	if (m->dropped) {
		q_done(v);
		return;
	}
	if (v->tries < TRIES_MOST)
		v->tries++;
	v->tried = (int)now.mono;
	v->returned = 0;
	if (m->held) {
		wakeup = (long)now.mono;
		th_ready(t, v);
		th_hold(v);
	} else if (v->host & HOST_BAD && t->sleep > now.mono &&
	    (double)v->wakeup <= now.mono) {
		th_ready(t, v);
	} else {
		wakeup = next_try(v);
		th_wait(t, v, wakeup);
	}
	th_update(t);
	log_deferred(v, wakeup);
	q_expiry(v);		/* it may have expired by now */
}

/* Of a message to several mailboxes one is left: it waits with that box. */
static void
find_box(struct vertex *v)
{
	struct thread *t = v->thread, *own = NULL;
	unsigned box;

	if (!th_is_local(t) || t->box != 0 || v->left != 1 ||
	    msg_part(v->msg) != NULL)
		return;
	box = ctl_box_at(v->msg->name, v->r[0].off);
	if (box != 0)
		own = th_box(t, box);
	if (own == NULL)
		return;
	v->thread = own;
	th_suspect(t);
}

int
rp_has_begun(const struct vertex *v)
{
	const struct rcpt *r = v->r;
	const char *name = v->msg->name;

	if (v->host != 0 || th_is_dsn(v->thread))
		return 1;	/* it has said something, or sets no tag */
	while (r < v->r + v->nr && r->state != RC_PENDING)
		r++;
	return r > v->r || ctl_has(name, r->off, '~') ||
	    ctl_has(name, r->off, '+') || ctl_has(name, r->off, '-');
}

/* It leaves the agent.  0 when that was the end of it, else 1. */
static int
take_back(struct vertex *v)
{
	th_unfed(v);
	settle(v);
	find_box(v);
	th_heard(v->thread, v->host);
	if (v->left > 0 && !v->msg->dropped)
		return v->doom == DOOM_NONE || q_doomed(v) < 0;
	q_done(v);
	return 0;
}

void
rp_not_begun(struct ta *ta)
{
	struct vertex *v = ta->jobs.head;

	if (!take_back(v))
		return;
	unreported(v, "");
	th_ready(v->thread, v);
	if (v->msg->held)
		th_hold(v);
	th_update(v->thread);
	log_info("not-begun msg=%s channel=%s host=%s left=%u", v->msg->name,
	    v->thread->ring->chan->name, v->thread->host, v->left);
	q_expiry(v);
}

void
rp_job_over(struct ta *ta, const char *reason)
{
	struct vertex *v = ta->jobs.head;

	if (v != NULL && take_back(v))
		put_back(v, reason);
}
