/*
 * notice.c - when senders are told.
 *
 *	the message is done		at once, before its files go
 *	something ended, more is left	PARAMglobal-report-interval after it
 *	nothing has come of it		at the ages in reporttimes
 *
 * What a report says is bounce.c's matter, and in the files; here is only the
 * time for it.  Each message in core has one timer, for the next moment at
 * which there may be something to tell.
 *
 * With PARAMbouncelimit, a sender who was told of failures is told of others
 * only when that time is over, then of all in one report.  Until then his
 * messages stay as they are, done or not.  This is kept in core alone: after a
 * restart the first report goes out at once.
 *
 * A disk that refuses a report keeps everything as it is.  It is tried again
 * after a second, and then less and less often, up to once a minute.
 */
#include "scheduler.h"

#define AGAIN_MOST	60	/* seconds between tries of a bad disk */
#define REPORTS_MOST	3	/* reports of a message in one go */
#define TIMERS_MOST	3	/* messages that are seen to in a pass */
#define LOOK_AGAIN	2	/* seconds between looks at what is not tried */
#define TRIED_BY	60	/* ... that are waited for it */
#define SENDERS_KEPT	1000	/* senders that a limit is kept for */

/* ---- trouble --------------------------------------------------------- */

static struct {
	long	pause;		/* seconds, 0: the disk was good */
	double	last;		/* mono; when it was bad last */
} disk;

/* Seconds until something that failed is tried again. */
static long
trouble(void)
{
	if (disk.pause == 0 || now.mono >= disk.last + (double)disk.pause) {
		disk.pause = disk.pause == 0 ? 1 : disk.pause * 2;
		if (disk.pause > AGAIN_MOST)
			disk.pause = AGAIN_MOST;
		disk.last = now.mono;
	}
	return disk.pause;
}

/* ---- limits ---------------------------------------------------------- */

/* A sender who was told of failures, and the messages of which he waits to
 * hear. */
struct told {
	struct hlink link;	/* by sender */
	double	until;		/* mono; he is told nothing before */
	char	(*names)[NAME_MAX_];	/* n of them, room for size */
	unsigned n, size;
	char	sender[1];
};

static struct hash senders;

static struct told *
find_told(const char *sender)
{
	struct hlink *l;
	struct told *t;

	if (senders.n == 0)
		return NULL;
	for (l = hash_first(&senders, hash_text(sender, 0)); l != NULL;
	    l = hash_next(l)) {
		t = OWNER(struct told, link, l);
		if (strcmp(t->sender, sender) == 0)
			return t;
	}
	return NULL;
}

/* Those whose time is over and that nobody waits for. */
static void
drop_old(void)
{
	struct hlink *l, *next;
	struct told *t;
	unsigned i;

	for (i = 0; i < senders.size; i++)
		for (l = senders.v[i]; l != NULL; l = next) {
			next = l->next;
			t = OWNER(struct told, link, l);
			if (t->until > now.mono)
				continue;
			hash_del(&senders, l);
			free(t->names);
			free(t);
		}
}

/* The sender has been told.  Without memory he has no limit. */
static void
begin_limit(struct told *t, const char *sender)
{
	if (q.config->bouncelimit == 0)
		return;
	if (senders.n >= SENDERS_KEPT && t == NULL)
		drop_old();
	if (t == NULL && senders.n < SENDERS_KEPT && (senders.v != NULL ||
	    hash_init(&senders, 64) == 0) &&
	    (t = mem_get(sizeof(*t) + strlen(sender))) != NULL) {
		strcpy(t->sender, sender);
		hash_add(&senders, &t->link, hash_text(sender, 0));
	}
	if (t != NULL) {
		t->until = now.mono + (double)q.config->bouncelimit;
		t->n = 0;
	}
}

/* Seconds for which the sender of the message has to wait; 0: none. */
static long
limited(struct told *t, const char *name)
{
	char (*bigger)[NAME_MAX_];
	unsigned i;

	if (t == NULL || q.config->bouncelimit == 0 || t->until <= now.mono)
		return 0;
	for (i = 0; i < t->n && strcmp(t->names[i], name) != 0; )
		i++;
	if (i == t->n && i == t->size && i < BOUNCE_FILES) {
		bigger = realloc(t->names, (i + 10) * sizeof(*bigger));
		if (bigger != NULL) {
			t->names = bigger;
			t->size += 10;
		}
	}
	if (i == t->n && i < t->size)
		text_fmt(t->names[t->n++], NAME_MAX_, "%s", name);
	return (long)(t->until - now.mono) + 1;
}

/* Tells the sender of the message, and of those that wait with it: 0 or -1. */
static int
tell(struct told *t, const char *name, const char *sender)
{
	const char *names[BOUNCE_FILES];
	unsigned i, n = 0;
	int r;

	names[n++] = name;
	for (i = 0; t != NULL && i < t->n && n < BOUNCE_FILES; i++)
		if (strcmp(t->names[i], name) != 0)
			names[n++] = t->names[i];
	r = bounce_tell(names, n, sender);
	if (r < 0)
		return -1;
	disk.pause = 0;
	if (r > 0)
		begin_limit(t, sender);
	return 0;
}

/* Tells what has ended of a message: 0 when there is no more, else seconds
 * until the rest. */
static long
tell_all(const char *name)
{
	char sender[WORD_MAX_];
	struct told *t;
	int i, found;
	long wait;

	for (i = 0; ; i++) {
		found = bounce_find(name, sender, sizeof(sender));
		if (found < 0)
			return trouble();
		if (found == 0)
			return 0;
		t = find_told(sender);
		if ((wait = limited(t, name)) > 0)
			return wait;
		if (i == REPORTS_MOST)
			return 1;
		if (tell(t, name, sender) < 0)
			return trouble();
	}
}

/* ---- the end --------------------------------------------------------- */

long
notice_end(const char *name, int told)
{
	static const char why[] = "nobody could be told that it failed";
	int keep = 0, bad;
	long wait;

	if (told) {
		if (bounce_mend(name) < 0)
			return trouble();
		if ((wait = tell_all(name)) > 0)
			return wait;
		if ((keep = bounce_keep(name)) < 0)
			return trouble();
	}
	if (keep == 0)
		bad = spool_remove(name);
	else if (keep == 1)
		bad = spool_park(name, why);
	else
		bad = spool_park_bounce(name, why);
	return bad < 0 ? AGAIN_MOST : 0;
}

/* ---- before the end -------------------------------------------------- */

/* The next moment at which a warning may be due, mono; 0: never. */
static long
next_delay(const struct message *m)
{
	const struct times *times;
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

	if (!m->news || most == 0)
		return 0;
	if (most < AGAIN_MOST)
		most = AGAIN_MOST;
	return (double)m->more->tellat <= now.mono + (double)most;
}

double
notice_next(const struct message *m)
{
	return m->more == NULL || m->more->notice.pos == 0 ? 0 :
	    heap_when(&q.notices, &m->more->notice);
}

int
notice_pending(const struct message *m)
{
	long next = next_delay(m);

	return is_soon(m) || (next != 0 && (double)next <= now.mono);
}

void
notice_arm(struct message *m)
{
	long next = next_delay(m);
	struct more *more = next != 0 ? msg_more(m) : m->more;

	if (more == NULL)
		return;
	if (m->news && q.config->reportevery > 0 &&
	    (next == 0 || more->tellat < next))
		next = more->tellat == 0 ? 1 : more->tellat;
	if (next == 0)
		heap_del(&q.notices, &more->notice);
	else
		heap_set(&q.notices, &more->notice, (double)next);
}

void
notice_news(struct message *m)
{
	struct more *more;

	m->tell = 1;
	if (m->news || (more = msg_more(m)) == NULL)
		return;
	m->news = 1;
	more->tellat = (int)((long)now.mono + q.config->reportevery);
	if (q.config->reportevery > 0 && (more->notice.pos == 0 ||
	    heap_when(&q.notices, &more->notice) > (double)more->tellat))
		heap_set(&q.notices, &more->notice, (double)more->tellat);
}

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

/* ... for a recipient with this channel and host. */
static const char *
why_late(void *arg, const char *channel, const char *host, unsigned long off)
{
	const struct message *m = arg;
	const struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE &&
		    strcmp(v->thread->host, host) == 0 &&
		    strcmp(v->thread->ring->chan->name, channel) == 0)
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

/* Sends the warnings that are due: 0, or seconds until it is tried again. */
static long
warn(struct message *m)
{
	long age = (long)now.mono - m->born;
	int i, r = 1;

	if (is_fresh(m))
		return LOOK_AGAIN;
	for (i = 0; r > 0 && i < REPORTS_MOST; i++)
		r = bounce_delay(m->name, age, why_late, m);
	if (r < 0)
		return trouble();
	if (r > 0)
		return 1;
	m->more->warned = (int)age;
	return 0;
}

static void
message_due(struct message *m)
{
	long next = next_delay(m), wait = 0;
	struct more *more = m->more;

	if (next != 0 && (double)next <= now.mono)
		wait = warn(m);
	if (m->news && q.config->reportevery > 0 &&
	    (double)more->tellat <= now.mono) {
		more->tellat = (int)((long)now.mono + tell_all(m->name));
		if ((double)more->tellat <= now.mono)
			m->news = 0;
	}
	notice_arm(m);
	if (wait > 0 && more->notice.pos != 0 && !(m->news &&
	    (double)more->tellat < now.mono + (double)wait))
		heap_set(&q.notices, &more->notice, now.mono + (double)wait);
}

void
notice_timers(void)
{
	struct timer *t;
	int n;

	for (n = 0; n < TIMERS_MOST; n++) {
		t = heap_first(&q.notices);
		if (t == NULL || heap_when(&q.notices, t) > now.mono)
			return;
		heap_del(&q.notices, t);
		message_due(OWNER(struct more, notice, t)->msg);
	}
}

double
notice_wait(void)
{
	struct timer *t = heap_first(&q.notices);
	double when = t == NULL ? now.mono + 3600 : heap_when(&q.notices, t);

	return when > now.mono ? when - now.mono : 0;
}
