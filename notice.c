/*
 * notice.c - when senders are told before their message is done.
 *
 *	something ended, more is left	PARAMglobal-report-interval after it
 *	nothing has come of it		at the ages in reporttimes
 *
 * Telling is the agent dsn's (q_tell); here is the time for it.  In the
 * midst of a message its job has the host success, whatever has ended: failure
 * says that the message is over, and then only may the agent say of a failed
 * recipient without a diagnostic line that a crash has lost it.  Each message
 * in core has one timer, for the next moment at which there may be something
 * to tell.
 *
 * That agent knows no clauses.  What it is to tell is written into the control
 * file before: a failure under bounce=none has a diagnostic line with the tag
 * '-'; one that is late has a line of its own, with its reason and the time
 * when it is given up, and the number of warnings in its delay field:
 *
 *	r          1smtp h u@x.example 0
 *	d 40:120:-1::0 <tab> u@x.example ^A delayed ^A ^A ^A 1795220140 <tab>
 *		452 mailbox full
 *
 * The field is written first, so that after a crash in between there is no
 * warning, but never two.  Some recipients are gone through in a pass.
 */
#include "scheduler.h"

#define SOON		60	/* seconds; what is told sooner stays here */
#define DISK_AGAIN	60	/* ... between tries of a bad disk */
#define LOOK_AGAIN	2	/* ... between looks at what is not tried */
#define TRIED_BY	60	/* ... that are waited for it */
#define AT_ONCE		200	/* recipients that are looked at in a pass */

/* ---- what is told to nobody ------------------------------------------ */

/* The clause of the recipient at hand, NULL when there is no memory. */
static const struct setting *
clause_of(const struct notary *n)
{
	struct conf *c = cf_match(q.config, n->rc.channel, n->rc.host);

	return c == NULL ? NULL : &c->v;
}

/* Does any clause say bounce=none? */
static int
any_quiet(void)
{
	const struct clause *c = q.config->clauses;

	while (c != NULL && c->v.bounce != BOUNCE_NONE)
		c = c->next;
	return c != NULL;
}

/* Is the recipient at off one that failed, and its clause says so?  1 or 0; -1
 * without memory. */
static int
is_quiet(struct notary *n, unsigned long off)
{
	const struct setting *s;

	if (nt_rcpt(n, off) < 0 || n->state != '-')
		return 0;
	s = clause_of(n);
	return s == NULL ? -1 : s->bounce == BOUNCE_NONE;
}

/* Marks the lines of such recipients: how many they have, or -1. */
static long
hush_lines(struct notary *n)
{
	long lines = 0;
	int quiet = 0;

	while (quiet >= 0 && nt_next_diag(n)) {
		quiet = is_quiet(n, n->off);
		lines += quiet > 0;
		if (quiet > 0 && n->tag == ' ' && nt_mark(n, n->at, '-') < 0)
			quiet = -1;
	}
	return quiet < 0 ? -1 : lines;
}

/* How many such recipients there are, or -1; each gets a line if that is
 * wanted, as a crash may have lost some. */
static long
hush_rcpts(struct notary *n, int write)
{
	long rcpts = 0;
	int quiet = 0;

	nt_rewind(n);
	while (quiet >= 0 && nt_next_rcpt(n)) {
		quiet = is_quiet(n, n->c.l.off);
		rcpts += quiet > 0;
		if (quiet > 0 && write && ctl_untold(n->name, n->c.l.off, "",
		    "5.0.0 (permanent failure)",
		    "why it failed was not written down", 0) < 0)
			quiet = -1;
	}
	return quiet < 0 ? -1 : rcpts;
}

int
notice_policy(const char *name)
{
	long lines, rcpts = 0;
	struct notary n;
	int bad;

	if (!any_quiet())
		return 0;
	if (nt_open(&n, name) < 0)
		return errno == ENOENT ? 0 : -1;
	lines = hush_lines(&n);
	bad = lines < 0 || (rcpts = hush_rcpts(&n, 0)) < 0 ||
	    (lines < rcpts && hush_rcpts(&n, 1) < 0) || nt_error(&n) != 0;
	nt_close(&n);
	return bad ? -1 : 0;
}

/* ---- when ------------------------------------------------------------ */

long
notice_delay(const struct message *m)
{
	const struct numbers *times;
	long at, next = 0, warned = m->more == NULL ? -1 : m->more->warned;
	const struct vertex *v;
	int k;

	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (v->state == V_DONE)
			continue;
		times = &v->thread->ring->conf->v.reports;
		for (k = 0; k < times->n && times->at[k] <= warned; )
			k++;
		if (k == times->n)
			continue;
		at = m->born + times->at[k];
		if (at == 0)
			at = 1;
		if (next == 0 || at < next)
			next = at;
	}
	return next;
}

/* Is something of it to be told before long?  A later time than that is of a
 * limit. */
static int
is_soon(const struct message *m)
{
	long most = q.config->reportevery;

	if (!m->news || most == 0 || m->more == NULL)
		return 0;
	if (most < SOON)
		most = SOON;
	return (double)m->more->tellat <= now.mono + (double)most;
}

double
notice_next(const struct message *m)
{
	/* its timer may be for what was told meanwhile */
	return m->more == NULL || m->more->notice.pos == 0 ||
	    (!m->news && notice_delay(m) == 0) ? 0 :
	    heap_when(&q.notices, &m->more->notice);
}

int
notice_pending(const struct message *m)
{
	long next = notice_delay(m);

	return is_soon(m) || (next != 0 && (double)next <= now.mono);
}

void
notice_arm(struct message *m)
{
	long next = notice_delay(m);
	struct more *more = next != 0 ? msg_more(m) : m->more;

	if (more == NULL)
		return;
	if (next != 0 && more->again != 0 && more->again > next)
		next = more->again;
	if (m->news && q.config->reportevery > 0 &&
	    (next == 0 || more->tellat < next))
		next = more->tellat == 0 ? 1 : more->tellat;
	if (next == 0)
		heap_del(&q.notices, &more->notice);
	else
		heap_set(&q.notices, &more->notice, (double)next);
}

/* ---- delays ---------------------------------------------------------- */

/* The reason why the message waits for the vertex's recipient at off. */
static const char *
why_waits(const struct vertex *v, unsigned long off)
{
	const struct rcpt *r = msg_rcpt(v, off);
	const struct dest *d = v->thread->dest;

	if (r != NULL && reason_of(r) != NULL)
		return reason_of(r);
	return d->tries > 0 && d->reason != NULL ? d->reason : "";
}

/* ... for the recipient at hand. */
static const char *
why_late(const struct message *m, const struct notary *n, unsigned long off)
{
	const struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE &&
		    strcmp(v->thread->host, n->rc.host) == 0 &&
		    strcmp(v->thread->ring->chan->name, n->rc.channel) == 0)
			return why_waits(v, off);
	return "";
}

/* After a start, what is old is tried before its sender is warned, so that a
 * reason can be given; but that is not waited for very long. */
static int
is_fresh(const struct message *m)
{
	const struct vertex *v;

	if ((long)now.mono >= m->more->since + TRIED_BY)
		return 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE && v->tries == 0 &&
		    v->thread->dest->tries == 0)
			return 1;
	return 0;
}

/* Is a warning due for the recipient at off, and which?  1 or 0; -1 without
 * memory. */
static int
is_due(struct notary *n, unsigned long off, long age, unsigned long *count)
{
	const struct setting *s;

	if (nt_rcpt(n, off) < 0 || (n->state != ' ' && n->state != '~') ||
	    n->delay_at == 0)
		return 0;
	s = clause_of(n);
	if (s == NULL)
		return -1;
	for (*count = 0; *count < (unsigned long)s->reports.n &&
	    s->reports.at[*count] <= age; )
		++*count;
	return n->delays < *count && s->bounce != BOUNCE_NONE &&
	    (n->wishes & WISH_DELAY ||
	    (s->delayreport && !(n->wishes & WISH_GIVEN)));
}

/* Writes that the recipient is late: 0 or -1. */
static int
write_late(const struct message *m, struct notary *n, unsigned long off,
    unsigned long count)
{
	const struct setting *s = clause_of(n);
	long given_up = (long)now.wall - ((long)now.mono - m->born);
	char fields[WORD_MAX_ + 100];
	struct text t;

	text_init(&t, fields, sizeof(fields));
	text_add(&t, "%s\1delayed\1\1\1", n->rc.user);
	if (s != NULL && s->expiry > 0 && given_up >= SANE_WALL)
		text_add(&t, "%ld", given_up + s->expiry);
	if (nt_delayed(n, n->delay_at, count) < 0)
		return -1;
	if (ctl_diag(m->name, off, fields, "", why_late(m, n, off), 0) == 0)
		return 0;
	nt_delayed(n, n->delay_at, n->delays);	/* another time, then */
	return -1;
}

/* Goes on through the file, at most *most recipients of it: 1 when there are
 * more, 0, or -1. */
static int
look_on(struct message *m, unsigned *most)
{
	unsigned long off, count;
	struct notary n;
	int due = 0, more;

	if (nt_open(&n, m->name) < 0)
		return errno == ENOENT ? 0 : -1;
	nt_from(&n, m->more->warn);
	while ((more = nt_next_rcpt(&n)) > 0 && *most > 0) {
		off = n.c.l.off;
		due = is_due(&n, off, (long)now.mono - m->born, &count);
		if (due > 0)
			due = write_late(m, &n, off, count) < 0 ? -1 : 1;
		if (due < 0)
			break;
		m->more->late |= due;
		--*most;
	}
	m->more->warn = more ? n.c.l.off : 0;
	if (nt_error(&n) != 0)
		due = -1;
	nt_close(&n);
	return due < 0 ? -1 : more;
}

/* Warns of what is due: the next moment at which there may be something. */
static void
warn(struct message *m, unsigned *most)
{
	struct more *more = m->more;
	int r;

	more->again = 0;
	if (more->warn == 0 && is_fresh(m)) {
		more->again = (long)now.mono + LOOK_AGAIN;
		return;
	}
	r = look_on(m, most);
	if (r < 0) {
		log_err("delay msg=%s cannot be written down: %s", m->name,
		    strerror(errno));
		more->again = (long)now.mono + DISK_AGAIN;
	}
	if (r != 0)
		return;
	if (more->late && q_tell(m, "delay") < 0) {
		more->again = (long)now.mono + DISK_AGAIN;
		return;
	}
	more->late = 0;
	more->warned = (int)((long)now.mono - m->born);
}

static void
message_due(struct message *m, unsigned *most)
{
	long next = notice_delay(m);
	struct more *more = m->more;

	if (m->swept || q_over(m))
		return;		/* it ends, when its tags are written */
	if (next != 0 && (double)next <= now.mono)
		warn(m, most);
	if (m->news && q.config->reportevery > 0 &&
	    (double)more->tellat <= now.mono) {
		more->tellat = (int)((long)now.mono + q.config->reportevery);
		q_tell(m, "success");	/* not all of it has ended */
	}
	notice_arm(m);
}

void
notice_timers(void)
{
	unsigned most = AT_ONCE;
	struct timer *t;

	while (most > 0 && (t = heap_first(&q.notices)) != NULL &&
	    heap_when(&q.notices, t) <= now.mono) {
		most--;
		heap_del(&q.notices, t);
		message_due(OWNER(struct more, notice, t)->msg, &most);
	}
}

void
notice_reload(void)
{
	struct hlink *l;
	unsigned i;

	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next)
			notice_arm(OWNER(struct message, link, l));
}

double
notice_wait(void)
{
	struct timer *t = heap_first(&q.notices);
	double when = t == NULL ? now.mono + 3600 : heap_when(&q.notices, t);

	return when > now.mono ? when - now.mono : 0;
}
