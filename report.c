/*
 * report.c - what agents say became of a job.
 *
 * Each recipient of a job is reported as finished, for better or worse, or as
 * put off.  "deferred" and "retryat" concern the address: the vertex waits by
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
 * were given: all that the control file has for the host.  What they say of
 * the rest is believed when the line is for this host, and written down.
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

/* The recipient at off, or NULL. */
static struct rcpt *
find(const struct vertex *v, unsigned long off)
{
	unsigned lo = 0, hi = v->nr, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v->r[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < v->nr && v->r[lo].off == off ? &v->r[lo] : NULL;
}

/* Why this agent cannot report on it. */
static void
refuse(struct ta *ta, unsigned long num, unsigned long off)
{
	const struct message *m = q_find(num);
	const struct vertex *v;

	if (!rp_noise(ta))
		return;
	for (v = m == NULL ? NULL : msg_first(m); v != NULL; v = msg_next(v))
		if (find(v, off) != NULL)
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

/* The job of this agent that a report is of, and the recipient, NULL when
 * that is not in core.  NULL, with a log line, when there is none. */
static struct vertex *
reported(struct ta *ta, unsigned long num, unsigned long off,
    struct rcpt **r)
{
	struct vertex *v = ta->jobs.head;

	while (v != NULL && v->msg->link.hash != num)
		v = v->next;
	*r = v == NULL ? NULL : find(v, off);
	if (*r != NULL && (*r)->state == RC_PENDING)
		return v;
	if (v != NULL && *r == NULL && msg_part(v->msg) != NULL && ctl_is_for(
	    v->msg->name, off, v->thread->ring->chan->name, v->thread->host))
		return v;
	refuse(ta, num, off);
	return NULL;
}

#define RETRYAT_MOST	1000000000L	/* seconds; beyond that it is no time */

/* "retryat +60 text" and "retryat 1795220140 text": seconds from now in
 * *wait, 0 when the time is past or none; the text. */
static const char *
retry_time(const char *s, long *wait)
{
	int relative = *s == '+';
	unsigned long n;

	n = num_of(s + relative, &s);
	while (*s == ' ')
		s++;
	*wait = 0;
	if (relative && n <= LONG_MAX)
		*wait = (long)n;
	else if (!relative && n <= LONG_MAX && (long)n > (long)now.wall)
		*wait = (long)n - (long)now.wall;
	if (*wait > RETRYAT_MOST)
		*wait = 0;
	return s;
}

/* known: the recipient is in core, and so counts. */
static void
deferral(struct vertex *v, int known, int verdict, int host,
    const char *message)
{
	struct thread *t = v->thread;
	char text[400];
	long wait = 0;

	if (verdict == SAID_RETRYAT)
		message = retry_time(message, &wait);
	if (verdict == SAID_RETRYAT && wait == 0)
		verdict = SAID_DEFERRED;
	text_fmt(text, sizeof(text), "%s", message);
	if (*text != '\0')
		reason_set(&v->reason, text, &t->said);
	v->count += (unsigned)known;
	if (verdict >= (int)v->verdict) {
		v->verdict = (unsigned)verdict & 3;
		if (verdict == SAID_RETRYAT)
			v->wakeup = (int)((long)now.mono + wait);
	}
	if (host & HOST_BAD)
		reason_set(&t->dest->reason, text, &t->said);
	v->host |= (unsigned)host & 7;
}

/* What the report of a deferral says of the host: by the word, or by the
 * status in the notary fields, whose parts are "address, action, status". */
static int
host_said(int verdict, const char *notary)
{
	static const char *const bad[] = { "4.4.1", "4.4.2", "4.3.2" };
	const char *s = strchr(notary, '\1');
	size_t i;

	if (verdict == SAID_DEFERALL)
		return HOST_BAD | HOST_ALL;
	s = s == NULL ? NULL : strchr(s + 1, '\1');
	for (i = 0; s != NULL && i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strncmp(s + 1, bad[i], 5) == 0 &&
		    (s[6] < '0' || s[6] > '9'))
			return HOST_BAD;
	return HOST_GOOD;
}

static const struct {
	const char *word;
	int	state;		/* enum rcpt_state */
	int	verdict;	/* enum verdict, when it stays pending */
	int	log;		/* a diagnostic line is ours to write */
} statuses[] = {
	{ "ok", RC_OK, 0, 1 },
	{ "ok2", RC_OK, 0, 0 },
	{ "ok3", RC_OK, 0, 0 },
	{ "error", RC_FAILED, 0, 1 },
	{ "error2", RC_FAILED, 0, 0 },
	{ "deferred", RC_PENDING, SAID_DEFERRED, 0 },
	{ "deferback", RC_PENDING, SAID_DEFERRED, 0 },
	{ "deferall", RC_PENDING, SAID_DEFERALL, 0 },
	{ "retryat", RC_PENDING, SAID_RETRYAT, 0 }
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
	    : "5.0.0 (permanent failure)", message) < 0)
		return -1;
	notice_news(m);
	return ctl_sync(m->name);
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
	struct vertex *v;
	struct rcpt *r;
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
		deferral(v, r != NULL, statuses[i].verdict,
		    host_said(statuses[i].verdict, notary), message);
		return;
	}
	if (r == NULL && contradicts(v, off, statuses[i].state))
		return;
	if (*message == '\0' && statuses[i].state == RC_FAILED)
		message = "(unknown)";
	if (statuses[i].log && diagnose(v->msg, off, notary, statuses[i].state,
	    message) < 0 && statuses[i].state == RC_FAILED) {
		ctl_mark(v->msg->name, off, ' ');	/* asked once more */
		deferral(v, r != NULL, SAID_DEFERRED, HOST_GOOD,
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

static int
is_agent(long pid)
{
	struct ta *ta;

	for (ta = q.agents; ta != NULL; ta = ta->next)
		if (ta->pid == (int)pid)
			return 1;
	return 0;
}

/* A recipient that was not reported: the tag on disk decides.  A lock that
 * one of our agents still holds is stale, since none has this job. */
static void
ask_disk(struct vertex *v, struct rcpt *r)
{
	const char *name = v->msg->name;
	long pid;
	int tag = ctl_tag(name, r->off, &pid);

	if (tag == '+' && ctl_notify(name, r->off, "SUCCESS"))
		notice_news(v->msg);	/* its line may be there, too */
	if (tag == '+')
		q_finish(v, r, RC_OK, "ok", "(by its tag, not reported)");
	else if (tag == '-')
		q_finish(v, r, RC_FAILED, "error", "(by its tag, not reported)");
	else if (tag == '~' && is_agent(pid))
		ctl_mark(name, r->off, ' ');
}

/* Do the message's files go when this vertex is over? */
static int
is_last(const struct vertex *v)
{
	const struct message *m = v->msg;

	return v->left == 0 && m->left == 1 && !m->tell &&
	    msg_unread(m) + msg_passed(m) == 0;
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

/* When a vertex that was put off is to be tried again, mono: never later
 * than it expires. */
static long
next_try(struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	long end = v->msg->born + s->expiry, at = v->wakeup;
	unsigned short step = (unsigned short)v->step;

	if (v->verdict != SAID_RETRYAT) {
		at = (long)now.mono + retry_wait(s, &step, v->tries,
		    now.wall);
		v->step = step & 127U;
	}
	return s->expiry > 0 && at > end && (double)end > now.mono ? end : at;
}

/* Puts a vertex with recipients left back into its thread. */
static void
put_back(struct vertex *v, const char *reason)
{
	struct message *m = v->msg;
	struct thread *t = v->thread;
	long wakeup = (long)t->sleep;

	if (v->count == 0)
		reason_set(&v->reason, reason, &t->said);
	if (v->count == 0 && spool_gone(m->name))
		q_drop(m, "its control file was taken away");
	if (m->dropped) {
		q_done(v);
		return;
	}
	if (v->tries < TRIES_MOST)
		v->tries++;
	if ((v->host & HOST_BAD && t->sleep > now.mono) || m->held) {
		if (m->held)
			wakeup = (long)now.mono;
		th_ready(t, v);
	} else {
		wakeup = next_try(v);
		th_wait(t, v, wakeup);
	}
	if (m->held)
		th_hold(v);
	th_check(t);
	log_info("deferred msg=%s channel=%s host=%s left=%u tries=%u "
	    "next=%ld age=%ld %s", m->name, t->ring->chan->name,
	    t->host, v->left, (unsigned)v->tries, wakeup - (long)now.mono,
	    (long)now.mono - m->born, v->reason != NULL ? v->reason->s : "");
	q_expiry(v);		/* it may have expired by now */
}

void
rp_job_over(struct ta *ta, const char *reason)
{
	struct vertex *v = ta->jobs.head;
	struct thread *t;

	if (v == NULL)
		return;
	t = v->thread;
	th_unfed(v);
	th_heard(t, v->host);
	settle(v);
	if (v->left == 0 || v->msg->dropped)
		q_done(v);
	else if (v->doom == DOOM_NONE || q_doomed(v) < 0)
		put_back(v, reason);
}
