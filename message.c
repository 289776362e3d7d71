/*
 * message.c - messages in core: memory, reasons of recipients, and lines in the
 * log.
 *
 * Memory.  Most messages have one recipient, are delivered at the first try and
 * cause no DSN.  Such a message is a single piece of memory: the message, with
 * its first vertex inside, with its only recipient inside that, and the name at
 * the end.  Other vertices are pieces of their own; recipients of a vertex that
 * has several are an array.
 *
 * Sizes with pointers of eight bytes: 212 bytes and the name for a message, 112
 * for each vertex after the first, 16 for each element of an array of
 * recipients.  The memory of the first vertex is used again for a DSN when that
 * vertex is done.
 *
 * A reason is a text that recipients share:
 *
 *	r[0].reason ---+
 *	r[1].reason -+ +--> "451 greylisted"    refs=1
 *	r[2].reason -+----> "452 mailbox full"  refs=2
 *	r[3].reason = NULL	(none is known)
 *
 * Each text is kept once and is freed with the last recipient that has it.  At
 * most PARAMreasons texts are kept.  If a new text cannot be added, the
 * recipient gets a fixed text that refers to the log; it never keeps an older
 * reason, and never shows that of another recipient.  The reason of a host or a
 * ring is a copy (reason_copy).  A message that is forgotten loses its reasons.
 *
 * Costs: O(recipients) to drop the finished ones; O(log recipients) to find
 * one; O(length) for a reason, by a hash; else O(1).  Of the states of a
 * vertex, this module sets NEW and DONE.
 */
#include "scheduler.h"

#define ADDRESS_MOST	320	/* bytes of an address in a line of the log */

/* ---- the message ------------------------------------------------------ */

struct message *
msg_find_number(unsigned long num, const struct message *after)
{
	struct hlink *l = after == NULL ? hash_first(&q.messages, num) :
	    hash_next(&after->link);

	return l == NULL ? NULL : OWNER(struct message, link, l);
}

/* ---- reasons ---------------------------------------------------------- */

/* reason: a text that recipients share. */
struct reason {
	struct hlink link;	/* by s */
	unsigned refs;
	unsigned join;		/* number of the last call of msg_join_reasons
				 * that met the text */
	char	s[48];		/* the text, which goes on behind the struct */
};

#define REASON(text) OWNER(struct reason, s, text)

static struct hash reasons;
static unsigned joins;		/* number of calls of msg_join_reasons */
/* the reason of a recipient for whose text core has no room */
static struct reason unkept = { { NULL, 0 }, 1, 0,
    "the reason is in the log of the mail system" };

/* Returns a new reason, for which the caller counts the first reference; or
 * unkept if there is no room.  After a reload core may have more texts than
 * PARAMreasons. */
static struct reason *
add_reason_or_unkept(const char *s, unsigned hash)
{
	struct reason *r;

	if (reasons.n >= (unsigned)q.config->reasons ||
	    (r = mem_get(sizeof(*r) + strlen(s))) == NULL)
		return &unkept;
	memcpy((char *)r + offsetof(struct reason, s), s, strlen(s) + 1);
	hash_add(&reasons, &r->link, hash);
	return r;
}

/* Takes the reason away from the recipient. */
static void
free_reason(struct rcpt *rcpt)
{
	struct reason *r = rcpt->reason == NULL ? NULL : REASON(rcpt->reason);

	rcpt->reason = NULL;
	if (r == NULL || --r->refs > 0)
		return;
	hash_del(&reasons, &r->link);
	free(r);
}

void
msg_join_reasons(const struct vertex *v, struct text *t)
{
	static const char more[] = "; ...";
	const struct rcpt *r;

	joins++;
	for (r = v->r; r < v->r + v->nr; r++) {
		if (r->state != RC_PENDING || r->reason == NULL ||
		    REASON(r->reason)->join == joins)
			continue;
		REASON(r->reason)->join = joins;
		if (t->len + 2 + strlen(r->reason) + sizeof(more) > t->size) {
			text_add(t, "%s", more);
			return;
		}
		text_add(t, "%s%s", t->len > 0 ? "; " : "", r->reason);
	}
}

/* ---- vertices -------------------------------------------------------- */

#define NO_WARNING	15	/* value of warned in a new vertex; each
				 * recipient with fewer warnings lowers it */

struct vertex *
msg_new_vertex(struct message *m, struct thread *t)
{
	struct vertex *v = &m->first;

	if (v->msg != NULL && (v = mem_get(sizeof(*v))) == NULL)
		return NULL;
	m->nvertices++;
	v->msg = m;
	v->thread = t;
	v->r = &v->one;
	v->warned = NO_WARNING;
	APPEND(m->vertices, v, mnext, mprev);
	return v;
}

/* The new vertex gets the array, and only the kept recipients are copied, so
 * the cost is O(kept).  Of the number in v->counted, at most "kept" stay in v,
 * and the new vertex gets the others. */
struct vertex *
msg_split_vertex(struct vertex *v, unsigned kept)
{
	struct rcpt *r = mem_get(kept * sizeof(*r));
	struct vertex *rest = r == NULL ? NULL : mem_get(sizeof(*rest));

	if (rest == NULL) {
		free(r);
		return NULL;
	}
	v->portion = 1;
	*rest = *v;
	rest->nr = rest->npending = v->nr - kept;
	rest->counted -= v->counted < kept ? v->counted : kept;
	rest->offered = 0;
	rest->ta = NULL;
	memcpy(r, v->r + rest->nr, kept * sizeof(*r));
	v->r = r;
	v->nr = v->npending = kept;
	v->counted -= rest->counted;
	INSERT(v->msg->vertices, rest, v, mnext, mprev);
	v->msg->nvertices++;
	return rest;
}

/* Adds n, which may be negative, to the recipients that the vertex has left,
 * and to those of the message and of core unless the vertex is of the channel
 * dsn. */
static void
count_rcpts(struct vertex *v, int n)
{
	v->npending += n;
	if (n == 0 || th_is_dsn(v->thread))
		return;
	v->msg->rcpts += n;
	q.rcpts += n;
	if (q.rcpts > q.peak_rcpts)
		q.peak_rcpts = q.rcpts;
}

void
msg_set_finished(struct vertex *v, struct rcpt *r, int state)
{
	r->state = state;
	free_reason(r);
	count_rcpts(v, -1);
}

void
msg_set_done(struct vertex *v)
{
	count_rcpts(v, -(int)v->npending);
	v->thread = NULL;
	v->state = V_DONE;
}

void
msg_free_vertex(struct vertex *v)
{
	struct message *m = v->msg;
	unsigned i;

	if (v->thread != NULL)
		msg_set_done(v);
	for (i = 0; i < v->nr; i++)
		free_reason(&v->r[i]);
	REMOVE(m->vertices, v, mnext, mprev);
	if (v->r != &v->one)
		free(v->r);
	if (v == &m->first)
		memset(v, 0, sizeof(*v));
	else
		free(v);
}

struct rcpt *
msg_find_rcpt(const struct vertex *v, unsigned long off)
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

/* The size of an array is a power of two until recipients are dropped or split
 * off, so nearly half of it may be free. */
int
msg_add_rcpt(struct vertex *v, unsigned long off)
{
	unsigned n = v->nr;
	struct rcpt *r = v->r;

	if (n > 0 && (n & (n - 1)) == 0) {
		r = realloc(r == &v->one ? NULL : r, 2 * n * sizeof(*r));
		if (r == NULL) {
			log_err("memory msg=%s rcpts=%u cannot be allocated",
			    ctl_log_name(v->msg->name), 2 * n);
			return -1;
		}
		if (v->r == &v->one)
			*r = v->one;
		v->r = r;
	}
	memset(&r[n], 0, sizeof(*r));
	r[n].off = off;
	v->nr++;
	count_rcpts(v, 1);
	return 0;
}

void
msg_drop_finished(struct vertex *v)
{
	unsigned i, n = 0;
	struct rcpt *r;

	for (i = 0; i < v->nr; i++)
		if (v->r[i].state == RC_PENDING)
			v->r[n++] = v->r[i];
	if (n > 1 && n < v->nr &&
	    (r = realloc(v->r, n * sizeof(*r))) != NULL)
		v->r = r;
	v->nr = n;
}

void
msg_free(struct message *m)
{
	while (m->vertices != NULL)
		msg_free_vertex(m->vertices);
	free(m);
}

/* ---- words for the log ------------------------------------------------- */

/* Adds " key=" and the address as one word: its blanks are escaped, too. */
static void
add_address(struct text *t, const char *key, const char *address)
{
	size_t n = strlen(address);

	if (n == 0)
		return;
	text_put(t, key, strlen(key));
	t->clean = 2;
	text_put(t, address, n < ADDRESS_MOST ? n : ADDRESS_MOST);
	t->clean = 0;
}

/* Returns keys of the log for the recipient at off: the relay, unless it is "",
 * and with PARAMlogaddresses the address and ORCPT.  Valid until the next
 * call. */
static const char *
format_rcpt_fields(const struct vertex *v, unsigned long off, const char *relay)
{
	static char words[1000];
	const struct ctl *c = off == 0 || !q.config->logaddresses ? NULL :
	    ctl_find_rcpt(v->msg->name, off);
	struct text t;

	text_init(&t, words, sizeof(words));
	add_address(&t, " relay=", relay);
	if (c == NULL)
		return words;
	add_address(&t, " to=", c->user);
	if (c->orcpt[0] != '\0' && (strncmp(c->orcpt, "rfc822;", 7) != 0 ||
	    strcmp(c->orcpt + 7, c->user) != 0))
		add_address(&t, " orcpt=", c->orcpt);
	return words;
}

const char *
msg_sender_fields(const struct ctl *c)
{
	static char words[1000];
	struct text t;

	text_init(&t, words, sizeof(words));
	if (q.config->logaddresses) {
		add_address(&t, " from=", c->from);
		add_address(&t, " msgid=", c->msgid);
	}
	return words;
}

void
msg_set_reason(const struct vertex *v, struct rcpt *rcpt, const char *text)
{
	char s[REASON_MOST + 1];
	unsigned hash;
	struct hlink *l;
	struct reason *r;

	if (*text == '\0')
		return;
	text_fmt(s, sizeof(s), "%s", text);
	hash = hash_text(s, 0);
	l = hash_first(&reasons, hash);
	while (l != NULL && strcmp(OWNER(struct reason, link, l)->s, s) != 0)
		l = hash_next(l);
	r = l == NULL ? NULL : OWNER(struct reason, link, l);
	if (r != NULL)
		r->refs++;
	free_reason(rcpt);	/* before add_reason_or_unkept needs the room */
	if (r == NULL) {
		r = add_reason_or_unkept(s, hash);
		r->refs++;
	}
	rcpt->reason = r->s;
	if (r == &unkept)
		log_info("reason msg=%s rcpt=%lu channel=%s host=%s%-s %s",
		    msg_log_name(v->msg), (unsigned long)rcpt->off,
		    v->thread->ring->chan->name, v->thread->host,
		    format_rcpt_fields(v, rcpt->off, ""), text);
}

/* ---- lines of -l and of the log ---------------------------------------- */

static int stat_fd = -1;

int
msg_open_statlog(void)
{
	return opt.statlog == NULL ? 0 : fd_append(&stat_fd, opt.statlog);
}

/* Writes a line of -l: spool id, seconds from the arrival until transport/,
 * seconds in transport/, status, channel/host, and the time in UTC.  strftime
 * would add 15 KB of libc. */
static void
write_statistic(const struct vertex *v, const char *status)
{
	const struct message *m = v->msg;
	char id[80], line[WORD_MAX_ * 2 + 200];
	const struct tm *tm;
	struct text t;

	if (stat_fd < 0 ||
	    spool_id(m->name, &m->time, NULL, id, sizeof(id)) < 0 ||
	    (tm = gmtime(&now.wall)) == NULL)
		return;
	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%s %ld %ld %s ", id, (long)(m->queued - m->born),
	    NOW - m->queued, status);
	t.clean = 1;
	text_add(&t, "%s/%s %04d-%02d-%02dT%02d:%02d:%02dZ",
	    v->thread->ring->chan->name, v->thread->host, tm->tm_year + 1900,
	    tm->tm_mon + 1, tm->tm_mday, tm->tm_hour, tm->tm_min, tm->tm_sec);
	line[t.len++] = '\n';
	fd_write(stat_fd, line, t.len);
}

/* Returns the text of the agent dsn, without words to=ADDRESS if
 * PARAMlogaddresses is off; valid until the next call. */
static const char *
hide_address(const char *s)
{
	static char buf[REASONS_MOST];
	struct text t;
	size_t n;

	if (q.config->logaddresses)
		return s;
	text_init(&t, buf, sizeof(buf));
	for (; *s != '\0'; s += n) {
		n = strcspn(s, " ");
		n += s[n] == ' ';
		if (strncmp(s, "to=", 3) != 0)
			text_put(&t, s, n);
	}
	return buf;
}

void
msg_log_finished(const struct vertex *v, unsigned long off, int failed,
    const char *status, const char *text)
{
	const struct thread *t = v->thread;
	const char *relay = v->ta == NULL ? "" : v->ta->relay;
	/* the present job is a try, but an expiry is none */
	unsigned tries = v->tries + (strcmp(status, "expire") != 0);

	if (text == NULL) {
		log_info("deleted msg=%s rcpt=%lu channel=%s host=%s%-s",
		    msg_log_name(v->msg), off, t->ring->chan->name, t->host,
		    format_rcpt_fields(v, off, ""));
		return;
	}
	if (off != 0)
		write_statistic(v, status);
	q.total.dsns += off == 0 && !failed;
	q.total.failed += off != 0 && failed;
	q.total.delivered += off != 0 && !failed;
	log_info("%s msg=%s rcpt=%lu channel=%s host=%s status=%s delay=%ld "
	    "tries=%u%-s %s", failed ? "failed" : "delivered",
	    msg_log_name(v->msg), off, t->ring->chan->name, t->host, status,
	    msg_age(v->msg), tries, format_rcpt_fields(v, off, relay),
	    off == 0 ? hide_address(text) : text);
}

#define LINES_MOST	100	/* lines on single recipients of one job */

static void
log_deferred_rcpt(const struct vertex *v, const struct rcpt *r,
    const char *next, const char *relay)
{
	const struct thread *t = v->thread;
	const char *status = v->dated ? "retryat" : "deferred";

	if (v->host_bits & HOST_ALL)
		status = "deferall";
	log_info("deferred msg=%s rcpt=%lu channel=%s host=%s status=%s "
	    "delay=%ld tries=%u left=%u next=%s%-s %s",
	    msg_log_name(v->msg), (unsigned long)r->off, t->ring->chan->name,
	    t->host, status, msg_age(v->msg), (unsigned)v->tries,
	    v->npending, next, format_rcpt_fields(v, r->off, relay),
	    r->reason != NULL ? r->reason : "");
}

void
msg_log_deferred(const struct vertex *v, const char *relay)
{
	const struct thread *t = v->thread;
	const struct rcpt *r, *end = v->r + v->nr;
	long at = v->wakeup;	/* mono; the next try */
	char next[40], why[REASONS_MOST];
	unsigned n = 0;
	struct text words;

	if (!th_is_dsn(t))
		q.total.deferred += v->npending;
	if (at == 0)	/* a hold keeps the message, or the host is dead */
		at = v->msg->held ? NOW : (long)t->until;
	if (t->ring->conf->v.queueonly && (v->state == V_WAIT ||
	    (v->state == V_READY && !t->triggered)))
		strcpy(next, "queueonly");	/* no time is known */
	else	/* a wakeup is up to a second after the retryat */
		text_fmt(next, sizeof(next), "%ld", at - NOW -
		    (v->state == V_WAIT && v->dated));
	for (r = v->r; r < end && n < LINES_MOST; r++)
		if (r->state == RC_PENDING) {
			n++;
			log_deferred_rcpt(v, r, next, relay);
		}
	if (n == v->npending)
		return;
	text_init(&words, why, sizeof(why));
	msg_join_reasons(v, &words);
	log_info("deferred msg=%s channel=%s host=%s tries=%u left=%u next=%s "
	    "more=%u %s", msg_log_name(v->msg), t->ring->chan->name, t->host,
	    (unsigned)v->tries, v->npending, next, v->npending - n, why);
}
