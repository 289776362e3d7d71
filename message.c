/*
 * message.c - messages in core and away: memory, reasons of recipients,
 * warnings, and lines in the log.
 *
 * Reasons, warnings and lines are in one module, because a reason is kept in
 * core until it is written into the log or the control file.
 *
 * Memory.  Most messages have one recipient, are delivered at the first try and
 * cause no DSN.  Such a message is a single piece of memory: the message, with
 * its first vertex inside, with its only recipient inside that, and the name at
 * the end.  Other vertices are pieces of their own; recipients of a vertex that
 * has several are an array.  A message that is not read whole has a struct part
 * for each channel, too.
 *
 * Bytes where pointers have eight: 223 and the name for a message, 104 for each
 * vertex after the first, 16 for each recipient of several.  The memory of the
 * first vertex is used again when that vertex is done and more of the message
 * is read.
 *
 * A reason is a text that recipients share:
 *
 *	r[0].why ---+
 *	r[1].why -+ +--> "451 greylisted"    refs=1
 *	r[2].why -+----> "452 mailbox full"  refs=2
 *	r[3].why = NULL	     (none is known)
 *
 * Each text is kept once and is freed with the last recipient that has it.  At
 * most PARAMreasons texts are kept.  If a new text cannot be added, the
 * recipient gets a fixed text that refers to the log; it never keeps an older
 * reason, and never shows that of another recipient.  The reason of a host or a
 * ring is a copy (reason_copy).
 *
 * Evicted messages.  PARAMevicted limits what is remembered of mail that is not
 * in core.  The message is away, with the time when its file is due; its
 * vertices are OUT, with their times, tries and places in the retry list.
 * Their recipients are freed, except the last one of each row of recipients
 * with the same reason:
 *
 *	r[0]  off=55  "451 greylisted"		for offsets up to 55
 *	r[1]  off=99  "452 mailbox full"	for offsets 56 to 99
 *
 * When the file is read again, a recipient at 70 gets the reason of the first
 * entry at 70 or later: "452 mailbox full".  A vertex that is OUT stays with
 * its thread, so whatever wakes the thread makes it due, too.  A message that
 * is skipped, as its file could not be used, is away, too.  PARAMevicted is the
 * most messages away and entries in all.  Beyond it a file is forgotten: its
 * directory is read again when the file is due (spool.c), and the message then
 * gets the place in the retry list that belongs to its age.
 *
 * Warnings.  The agent dsn knows no clauses (ta/dsn.c), so the scheduler writes
 * into the control file what the DSN needs: a delayed recipient has a line with
 * its reason and the time at which it expires, and the number of warnings in
 * its delay field:
 *
 *	r          1smtp h u@x.example 0
 *	d 40:120:-1::0 <tab> u@x.example ^A delayed ^A ^A ^A 1795220140 <tab>
 *		452 mailbox full
 *
 * The field is written first: a crash after that loses the warning; no warning
 * is sent twice.
 *
 * Costs: O(recipients) to drop the finished ones or to evict a vertex; O(log
 * recipients) to find one, or to add one at the end, nearly always its place;
 * O(parts) to find a part or to count the rest; O(length) for a reason, by a
 * hash; else O(1).  Of the states of a vertex, it sets NEW, OUT and BACK.
 */
#include "scheduler.h"

/* ---- the message and its parts ---------------------------------------- */

struct message *
msg_find(unsigned long num, const struct message *after)
{
	struct hlink *l = after == NULL ? hash_first(&q.messages, num) :
	    hash_next(&after->link);

	return l == NULL ? NULL : OWNER(struct message, link, l);
}

unsigned
msg_rest(const struct message *m)
{
	const struct part *p;
	unsigned n = 0;

	for (p = m->parts; p != NULL; p = p->other)
		n += p->unread + p->evicted;
	return n;
}

void
msg_due_by(struct message *m, double at)
{
	struct heap *h = m->away ? &q.later : &q.expire;

	if (at < FAR_OFF && (m->due.pos == 0 || at < heap_when(h, &m->due)))
		heap_set(h, &m->due, at);
}

/* Returns what the message has of PARAMrcptextra, if it has at most its minimum
 * in core and nothing unread. */
static void
give_back(struct message *m)
{
	const struct part *p = m->parts;

	while (p != NULL && p->unread == 0)
		p = p->other;
	if (p != NULL || m->rcpts > (unsigned)q.config->rcptminimum)
		return;
	q.extra -= m->extra;
	m->extra = 0;
}

#define FIRST	1e15		/* larger than any value of q.events */

static void
place_part(struct part *p)
{
	struct message *m = p->msg;
	unsigned own = q.config->rcptminimum + m->extra;
	double at = p->unread > 0 ? NEVER : p->again;

	/* the file does not show yet who is done */
	if (p->unread + p->evicted == 0 || m->untagged ||
	    (m->held && m->cancel == CANCEL_NONE))
		at = FAR_OFF;
	if (at > now.mono) {
		heap_del(&p->chan->parts, &p->turn);
		msg_due_by(m, at);
	} else {
		heap_set(&p->chan->parts, &p->turn, m->loaded -
		    (m->preempts || m->rcpts <= own / 2 ? FIRST : 0));
		q.readable = 1;
	}
}

void
msg_place(struct message *m)
{
	struct part *p;

	give_back(m);
	for (p = m->parts; p != NULL; p = p->other)
		place_part(p);
}

static void
free_parts(struct message *m)
{
	struct part *p;

	while ((p = m->parts) != NULL) {
		m->parts = p->other;
		heap_del(&p->chan->parts, &p->turn);
		p->chan->nparts--;
		free(p);
	}
}

/* ---- reasons ---------------------------------------------------------- */

static struct hash reasons;
static struct reason unkept = { { NULL, 0 }, 1, 0,
    "the reason is in the log of the mail system" };

static struct reason *
find(const char *s, unsigned hash)
{
	struct hlink *l = hash_first(&reasons, hash);

	while (l != NULL && strcmp(OWNER(struct reason, link, l)->s, s) != 0)
		l = hash_next(l);
	return l == NULL ? NULL : OWNER(struct reason, link, l);
}

/* Adds a text; unkept when there is no room for it.  After a reload there may
 * be more texts than PARAMreasons. */
static struct reason *
add(const char *s, unsigned hash)
{
	struct reason *r;

	if (reasons.n >= (unsigned)q.config->reasons ||
	    (r = mem_get(sizeof(*r) + strlen(s) + 1)) == NULL)
		return &unkept;
	r->s = strcpy((char *)(r + 1), s);
	hash_add(&reasons, &r->link, hash);
	return r;
}

static struct reason *
reason_keep(struct reason *r)
{
	if (r != NULL)
		r->refs++;
	return r;
}

static void
reason_free(struct rcpt *rcpt)
{
	struct reason *r = rcpt->why;

	rcpt->why = NULL;
	if (r == NULL || --r->refs > 0)
		return;
	hash_del(&reasons, &r->link);
	free(r);
}

static int
reason_set(struct rcpt *rcpt, const char *text)
{
	char s[REASON_MOST + 1];
	unsigned hash;
	struct reason *r;

	text_fmt(s, sizeof(s), "%s", text);
	hash = hash_text(s, 0);
	r = reason_keep(find(s, hash));
	reason_free(rcpt);	/* this may make room */
	rcpt->why = r != NULL ? r : reason_keep(add(s, hash));
	return rcpt->why == &unkept ? -1 : 0;
}

void
reason_all(const struct vertex *v, struct text *t)
{
	static const char more[] = "; ...";
	static unsigned round;
	const struct rcpt *r;

	round++;
	for (r = v->r; r < v->r + v->nr; r++) {
		if (r->state != RC_PENDING || r->why == NULL ||
		    r->why->round == round)
			continue;
		r->why->round = round;
		if (t->len + 2 + strlen(r->why->s) + sizeof(more) > t->size) {
			text_add(t, "%s", more);
			return;
		}
		text_add(t, "%s%s", t->len > 0 ? "; " : "", r->why->s);
	}
}

/* ---- vertices -------------------------------------------------------- */

struct vertex *
msg_vertex(struct message *m, struct thread *t)
{
	struct vertex *v = &m->first;

	if (v->msg != NULL && (v = mem_get(sizeof(*v))) == NULL)
		return NULL;
	v->msg = m;
	v->thread = t;
	v->r = &v->one;
	APPEND(m->vertices, v, other, before);
	return v;
}

/* So many more recipients of the vertex are in core.  That of the channel dsn
 * counts nowhere. */
static void
count(struct vertex *v, int more)
{
	v->left += more;
	if (more == 0 || th_is_dsn(v->thread))
		return;
	v->msg->rcpts += more;
	v->thread->ring->chan->rcpts += more;
	q.rcpts += more;
	if (q.rcpts > q.peak_rcpts)
		q.peak_rcpts = q.rcpts;
}

void
msg_done(struct vertex *v, struct rcpt *r, int state)
{
	r->state = state;
	reason_free(r);
	count(v, -1);
	msg_place(v->msg);
}

void
msg_vertex_free(struct vertex *v)
{
	struct message *m = v->msg;
	unsigned i;

	count(v, -(int)v->left);
	for (i = 0; i < v->nr; i++) {
		reason_free(&v->r[i]);
		q.nlater -= v->r[i].state == RC_OUT;
	}
	if (v->state == V_OUT)
		REMOVE(v->thread->out, v, next, prev);
	REMOVE(m->vertices, v, other, before);
	if (v->r != &v->one)
		free(v->r);
	if (v == &m->first)
		memset(v, 0, sizeof(*v));
	else
		free(v);
}

/* The index of the first recipient whose line is at off or behind. */
static unsigned
place(const struct vertex *v, unsigned long off)
{
	unsigned lo = 0, hi = v->nr, mid;

	if (hi > 0 && v->r[hi - 1].off < off)
		return hi;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (v->r[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Its recipient there, in core or OUT, or NULL. */
static struct rcpt *
rcpt_at(const struct vertex *v, unsigned long off)
{
	unsigned i = place(v, off);

	return i < v->nr && v->r[i].off == off ? &v->r[i] : NULL;
}

struct rcpt *
msg_rcpt(const struct vertex *v, unsigned long off)
{
	struct rcpt *r = rcpt_at(v, off);

	return r == NULL || r->state == RC_OUT ? NULL : r;
}

/* The recipient at off, added as RC_OUT if there is none; NULL without memory.
 * The size of an array is a power of two. */
static struct rcpt *
add_out(struct vertex *v, unsigned long off)
{
	unsigned i = place(v, off), n = v->nr;
	struct rcpt *r = v->r;

	if (i < n && r[i].off == off)
		return &r[i];
	if (n > 0 && (n & (n - 1)) == 0) {
		r = realloc(r == &v->one ? NULL : r, 2 * n * sizeof(*r));
		if (r == NULL) {
			log_err("memory msg=%s rcpts=%u none to be had",
			    ctl_msg(v->msg->name), 2 * n);
			return NULL;
		}
		if (v->r == &v->one)
			*r = v->one;
		v->r = r;
	}
	memmove(&r[i + 1], &r[i], (n - i) * sizeof(*r));
	memset(&r[i], 0, sizeof(*r));
	r[i].off = off;
	r[i].state = RC_OUT;
	q.nlater++;
	v->nr++;
	return &r[i];
}

struct rcpt *
msg_add(struct vertex *v, unsigned long off)
{
	unsigned n = v->nr;
	struct rcpt *r = add_out(v, off);

	if (r == NULL)
		return NULL;
	if (v->state == V_OUT) {
		REMOVE(v->thread->out, v, next, prev);
		v->state = V_BACK;
	}
	if (v->nr > n && r < v->r + n && r[1].state == RC_OUT && !r[1].alone)
		r->why = reason_keep(r[1].why);
	q.nlater--;
	r->state = RC_PENDING;
	r->counted = v->state == V_FED;
	r->alone = 0;
	count(v, 1);
	return r;
}

/* Keeps the first n recipients of the array. */
static void
set_size(struct vertex *v, unsigned n)
{
	unsigned size = 2;
	struct rcpt *r;

	while (size < n)
		size *= 2;
	if (n > 1 && size < v->nr &&
	    (r = realloc(v->r, size * sizeof(*r))) != NULL)
		v->r = r;
	v->nr = n;
}

void
msg_narrow(struct vertex *v)
{
	unsigned i, n = 0;

	for (i = 0; i < v->nr; i++)
		if (v->r[i].state == RC_PENDING || v->r[i].state == RC_OUT)
			v->r[n++] = v->r[i];
	set_size(v, n);
}

void
msg_free(struct message *m)
{
	while (m->vertices != NULL)
		msg_vertex_free(m->vertices);
	free_parts(m);
	msg_return(m);
	free(m);
}

/* ---- what is not in core ---------------------------------------------- */

static int
is_full(void)
{
	return q.config->evicted > 0 && q.nlater >= (unsigned)q.config->evicted;
}

int
msg_leave(struct message *m, double due)
{
	if (!m->away && (is_full() || heap_room(&q.later, q.away.n + 1) < 0)) {
		spool_again(m->name, due);
		return -1;
	}
	free_parts(m);
	if (!m->away) {
		hash_add(&q.away, &m->link, name_num(m->name));
		q.nlater++;
		m->away = 1;
	}
	heap_set(&q.later, &m->due, due);
	return 0;
}

void
msg_return(struct message *m)
{
	if (!m->away)
		return;
	hash_del(&q.away, &m->link);
	heap_del(&q.later, &m->due);
	q.nlater--;
	m->away = 0;
}

/* Recipients that are not finished become RC_OUT.  Of a row with the same
 * reason only the last stays.  After the first for which there is no room none
 * stays, as an entry gives its reason to all recipients before it. */
static void
merge(struct vertex *v)
{
	struct rcpt *r, *last = NULL, *end = v->r + v->nr;
	int full = 0, same;

	for (r = v->r; r < end; r++) {
		q.nlater -= r->state == RC_OUT;
		if (r->state == RC_OK || r->state == RC_FAILED)
			continue;
		same = last != NULL && last->why == r->why && !last->alone &&
		    !r->alone;
		full = full || (last != NULL && !same && is_full());
		if (same || full)
			reason_free(full ? r : last);
		if (full)
			continue;
		if (!same) {
			last = last == NULL ? v->r : last + 1;
			q.nlater++;
		}
		*last = *r;
		last->state = RC_OUT;
	}
	set_size(v, last == NULL ? 0 : (last - v->r) + 1);
}

int
msg_out(struct vertex *v, double until)
{
	count(v, -(int)v->left);
	if (until == NEVER)
		return -1;
	if (is_full()) {
		v->msg->aged = 1;
		return -1;
	}
	merge(v);
	PREPEND(v->thread->out, v, next, prev);
	v->state = V_OUT;
	v->by.wanted = until;
	return 0;
}

void
msg_want_by(struct vertex *v, double at)
{
	struct message *m = v->msg;
	struct part *p = m->parts;

	if (at < now.mono)
		at = now.mono;
	if (at >= v->by.wanted)
		return;
	v->by.wanted = at;
	msg_due_by(m, at);	/* then the part is placed again */
	while (p != NULL && p->chan != v->thread->ring->chan)
		p = p->other;
	if (p != NULL && at < p->again)
		p->again = at;
}

/* ---- words for the log ------------------------------------------------- */

/* Lines in a row are often on the same message, so the last id is kept. */
const char *
msg_id(const struct message *m)
{
	static char words[4 * NAME_MAX_ + 100];
	static unsigned long loaded;	/* that of the message in words, or 0 */
	static struct spool_time at;	/* ... */
	int err = errno;	/* that may be what is logged */
	struct text t;

	if (loaded != 0 && m->loaded == loaded && m->time.s == at.s &&
	    m->time.ns == at.ns)
		return words;
	text_init(&t, words, sizeof(words));
	t.clean = 1;
	text_put(&t, m->name, strlen(m->name));
	memcpy(words + t.len, " id=", 4);
	loaded = m->loaded;
	at = m->time;
	if (spool_id(m->name, &at, NULL, words + t.len + 4,
	    sizeof(words) - t.len - 4) < 0) {
		words[t.len] = '\0';	/* its file is gone */
		loaded = 0;
	}
	errno = err;
	return words;
}

/* Adds " key=" and the address, escaped for the log: blanks, too, so that it is
 * one word there. */
static void
add_word(struct text *t, const char *key, const char *address)
{
	size_t n;

	if (*address == '\0')
		return;
	n = strlen(address);
	text_put(t, key, strlen(key));
	t->clean = 2;
	text_put(t, address, n < ADDRESS_MOST ? n : ADDRESS_MOST);
	t->clean = 0;
}

/* Words for the log on the recipient at off: relay, the other host, or NULL;
 * and with PARAMlogaddresses its address and ORCPT. */
static const char *
who_is(const struct vertex *v, unsigned long off, const char *relay)
{
	static char words[1000];
	const struct ctl *c = off == 0 || !q.config->logaddresses ? NULL :
	    ctl_at(v->msg->name, off);
	struct text t;

	text_init(&t, words, sizeof(words));
	if (relay != NULL)
		add_word(&t, " relay=", relay);
	if (c == NULL)
		return words;
	add_word(&t, " to=", c->user);
	if (c->orcpt[0] != '\0' && (strncmp(c->orcpt, "rfc822;", 7) != 0 ||
	    strcmp(c->orcpt + 7, c->user) != 0))
		add_word(&t, " orcpt=", c->orcpt);
	return words;
}

const char *
msg_from(const struct ctl *c)
{
	static char words[1000];
	struct text t;

	text_init(&t, words, sizeof(words));
	if (q.config->logaddresses) {
		add_word(&t, " from=", c->from);
		add_word(&t, " msgid=", c->msgid);
	}
	return words;
}

void
msg_reason(struct vertex *v, unsigned long off, const char *reason)
{
	struct rcpt *r = rcpt_at(v, off);

	if (*reason == '\0')
		return;
	if (r == NULL && !is_full())
		r = add_out(v, off);
	if (r != NULL) {
		r->alone = r->state == RC_OUT;
		if (reason_set(r, reason) == 0)
			return;
	}
	log_info("reason msg=%-s rcpt=%lu channel=%s host=%s%-s %s",
	    msg_id(v->msg), off, v->thread->ring->chan->name, v->thread->host,
	    who_is(v, off, NULL), reason);
}

/* ---- warnings ---------------------------------------------------------- */

/* The next age of reporttimes behind the last look. */
double
msg_late_at(const struct message *m)
{
	const struct numbers *times;
	const struct vertex *v;
	double at, next = FAR_OFF;
	int k;

	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (v->state == V_DONE)
			continue;
		times = &v->thread->ring->conf->v.reports;
		for (k = 0; k < times->n && times->at[k] <= m->warned; )
			k++;
		at = k < times->n ? m->born + times->at[k] : FAR_OFF;
		next = at < next ? at : next;
	}
	return next;
}

/* The vertex, in core or OUT, for the recipient in rc; or NULL. */
static const struct vertex *
vertex_of(const struct message *m, const struct diags *n)
{
	const struct vertex *v = msg_first(m);

	while (v != NULL && (v->state == V_DONE ||
	    strcmp(v->thread->host, n->rc.host) != 0 ||
	    strcmp(v->thread->ring->chan->name, n->rc.channel) != 0))
		v = v->other;
	return v;
}

/* The reason of the recipient in rc, or that of its host; or "". */
static const char *
delay_reason(const struct message *m, const struct diags *n, unsigned long off)
{
	const struct vertex *v = vertex_of(m, n);
	const struct rcpt *r;
	const struct thread *t;

	if (v == NULL)
		return "";
	r = v->r + place(v, off);
	/* an entry serves the recipients before it, too */
	if (r == v->r + v->nr || (r->off != off &&
	    (r->state != RC_OUT || r->alone)))
		r = NULL;
	t = v->thread;
	return r != NULL && r->why != NULL ? r->why->s :
	    t->tries > 0 && t->reason != NULL ? t->reason : "";
}

/* Writes the line for a delayed recipient, if a warning on it is due that its
 * sender wants: 1 then, 0 if not; -1 when that cannot be done now. */
static int
write_delay(const struct message *m, struct diags *n, unsigned long off)
{
	long age = msg_age(m), born = now.wall - age;
	const struct conf *conf;
	const struct setting *s;
	unsigned long times = 0;
	char fields[WORD_MAX_ + 100];
	struct text t;

	if (ctl_rcpt(&n->rc, off) < 0 || n->rc.delay_at == 0 ||
	    (n->rc.tag != ' ' && n->rc.tag != '~'))
		return 0;
	conf = cf_match(q.config, n->rc.channel, n->rc.host);
	if (conf == NULL)
		return -1;
	s = &conf->v;
	while (times < (unsigned long)s->reports.n &&
	    s->reports.at[times] <= age)
		times++;
	if (n->rc.delays >= times || s->bounce == BOUNCE_NONE ||
	    !(n->rc.wishes & WISH_DELAY ||
	    (s->delayreport && !(n->rc.wishes & WISH_GIVEN))))
		return 0;
	text_init(&t, fields, sizeof(fields));
	text_add(&t, "%s\1delayed\1\1\1", n->rc.user);
	if (s->expiry > 0 && born >= SANE_WALL)
		text_add(&t, "%ld", born + s->expiry);
	if (diag_delayed(n, times) < 0)
		return -1;
	if (ctl_diag(m->name, off, ' ', fields, "", delay_reason(m, n, off), 0)
	    == 0)
		return 1;
	diag_delayed(n, n->rc.delays);	/* both are written later */
	return -1;
}

#define CHECK_AGAIN	2	/* seconds until a message with a vertex that
				 * was not tried is checked again */
#define TRIED_BY	60	/* ... in core after which a warning waits for
				 * no try */

/* Does a warning on the message wait for the first try of a vertex?  After a
 * start old mail is tried first, so that the warning can give a reason. */
static int
is_fresh(const struct message *m)
{
	const struct vertex *v = m->vertices;

	while (v != NULL && (!is_in_core(v) || v->tries > 0 ||
	    v->thread->tries > 0))
		v = v->other;
	return v != NULL && NOW < m->since + TRIED_BY;
}

double
msg_write_delays(struct message *m, int *most)
{
	static struct diags n;	/* large, for the stack of a small host */
	int late = 0, left;

	if (*most <= 0)
		return now.mono;
	--*most;
	if (m->warn == 0 && is_fresh(m))
		return now.mono + CHECK_AGAIN;
	if (diag_open(&n, m->name) < 0)
		return errno == ENOENT ? FAR_OFF : now.mono + DISK_AGAIN;
	ctl_go(&n.c, m->warn);
	while ((left = diag_next_rcpt(&n)) > 0 && *most > 0 &&
	    (late = write_delay(m, &n, n.c.l.off)) >= 0) {
		m->late |= late;
		--*most;
	}
	m->warn = left > 0 ? n.c.l.off : 0;
	if (diag_error(&n) != 0)
		late = -1;
	ctl_close(&n.c);
	if (late < 0)
		log_err("delay msg=%s cannot be written down: %s",
		    ctl_msg(m->name), strerror(errno));
	return late < 0 ? now.mono + DISK_AGAIN : left > 0 ? now.mono : FAR_OFF;
}

/* ---- lines of -l and of the log ---------------------------------------- */

static int stat_fd = -1;

int
msg_statlog(void)
{
	if (opt.statlog == NULL || fd_append(&stat_fd, opt.statlog) == 0)
		return 0;
	log_err("statlog file=%s %s", opt.statlog, fd_own_why());
	return -1;
}

/* This second in UTC, as 2026-11-22T09:10:11Z.  strftime would add 15 KB of
 * libc. */
static const char *
utc(void)
{
	static char stamp[24] = "-";
	static time_t last;
	struct tm *tm;

	if (now.wall != last && (tm = gmtime(&now.wall)) != NULL &&
	    text_fmt(stamp, sizeof(stamp), "%04d-%02d-%02dT%02d:%02d:%02dZ",
	    tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday, tm->tm_hour,
	    tm->tm_min, tm->tm_sec) == 0)
		last = now.wall;
	return stamp;
}

/* One line of -l: spool id, seconds until transport/, seconds there, state,
 * channel/host, and the time. */
static void
statistic(const struct vertex *v, const char *state)
{
	const struct message *m = v->msg;
	char id[80], line[WORD_MAX_ * 2 + 200];
	struct text t;

	if (stat_fd < 0 ||
	    spool_id(m->name, &m->time, NULL, id, sizeof(id)) < 0)
		return;
	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%s %ld %ld %s ", id, (long)(m->queued - m->born),
	    NOW - m->queued, state);
	t.clean = 1;
	text_add(&t, "%s/%s %s", v->thread->ring->chan->name, v->thread->host,
	    utc());
	line[t.len++] = '\n';
	fd_write(stat_fd, line, t.len);
}

/* The text of the agent dsn, without words to=ADDRESS if PARAMlogaddresses is
 * off. */
static const char *
dsn_text(const char *s)
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
msg_log(const struct vertex *v, unsigned long off, int failed,
    const char *status, const char *message)
{
	const struct thread *t = v->thread;
	const char *relay = v->state == V_FED && v->ta != NULL ? v->ta->relay :
	    "";
	unsigned tries = v->tries + (strcmp(status, "expire") != 0);

	if (message == NULL) {
		log_info("deleted msg=%-s rcpt=%lu channel=%s host=%s%-s",
		    msg_id(v->msg), off, t->ring->chan->name, t->host,
		    who_is(v, off, NULL));
		return;
	}
	if (off != 0)
		statistic(v, status);
	if (off == 0)
		q.total.dsns += !failed;
	else if (failed)
		q.total.failed++;
	else
		q.total.delivered++;
	log_info("%s msg=%-s rcpt=%lu channel=%s host=%s status=%s delay=%ld "
	    "tries=%u%-s %s", failed ? "failed" : "delivered",
	    msg_id(v->msg), off, t->ring->chan->name, t->host, status,
	    msg_age(v->msg),
	    tries, who_is(v, off, relay), off == 0 ? dsn_text(message) :
	    message);
}

#define LINES_MOST	100	/* recipients of a job with own lines */

static void
log_deferred(const struct vertex *v, const struct rcpt *r, const char *next,
    const char *relay, const char *why)
{
	const struct thread *t = v->thread;

	log_info("deferred msg=%-s rcpt=%lu channel=%s host=%s status=%s "
	    "delay=%ld tries=%u left=%u next=%s%-s %s",
	    msg_id(v->msg), (unsigned long)r->off, t->ring->chan->name,
	    t->host, v->host & HOST_ALL ? "deferall" : v->dated ? "retryat" :
	    "deferred", msg_age(v->msg), (unsigned)v->tries,
	    v->left, next, who_is(v, r->off, relay), why);
}

void
msg_log_deferred(const struct vertex *v, long wakeup, const char *relay)
{
	const struct rcpt *r, *end = v->r + v->nr;
	char next[40], said[REASONS_MOST];
	unsigned n = 0;
	struct text why;

	if (!v->thread->ring->conf->dsn)
		q.total.deferred += v->left;
	if (v->thread->ring->conf->v.queueonly && (v->state == V_WAIT ||
	    (v->state == V_READY && !v->thread->triggered)))
		strcpy(next, "queueonly");	/* it has no time */
	else
		text_fmt(next, sizeof(next), "%ld", wakeup - NOW -
		    (v->state == V_WAIT && v->dated));
	for (r = v->r; r < end && n < LINES_MOST; r++)
		if (r->state == RC_PENDING) {
			n++;
			log_deferred(v, r, next, relay,
			    r->why == NULL ? "" : r->why->s);
		}
	if (n == v->left)
		return;
	text_init(&why, said, sizeof(said));
	reason_all(v, &why);
	log_info("deferred msg=%-s channel=%s host=%s tries=%u left=%u next=%s "
	    "more=%u %s", msg_id(v->msg), v->thread->ring->chan->name,
	    v->thread->host, (unsigned)v->tries, v->left, next, v->left - n,
	    said);
}
