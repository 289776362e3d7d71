/*
 * intake.c - loads control files into core, and evicts messages from it.
 *
 *	PARAMactive 2		1000-1 waits until 70, 1001-1 until 9000
 *	1002-1 is loaded	1001-1 is evicted, and due at 9000
 *
 *	PARAMrecipients 5000	1003-1 has 8000 for smtp, and core is empty
 *	1003-1 is loaded	5000 are read; its part for smtp has 3000 unread
 *
 * Words:
 *
 *	pool	PARAMrecipients, the room for recipients of all channels
 *	share	the pool divided by the number of channels with work: those
 *		with recipients in core or to read
 *	part	the recipients of one channel in a message that is not read
 *		whole, with a place in the file of their own
 *	reread	one more reading of the file, for vertices of a part that were
 *		evicted and are due
 *	away	a message that is not in core; OUT: a vertex that is not
 *
 * Loading.  spool.c finds entries, ctlfile.c reads them recipient by recipient,
 * and this module makes one vertex of all recipients with the same channel and
 * host.  Each reading has a number, and a thread has the number of the last
 * reading that met it:
 *
 *	reading 7	r line for smtp/a.example
 *	mark is 6	the message has no vertex there yet: one is made, and
 *			thread->mark = 7, thread->vertex = the new one
 *	mark is 7	the recipient joins thread->vertex
 *
 * So n recipients cost O(n), whatever the number of hosts.  Vertices start
 * their threads after the whole file was read.  If it is bad they are freed,
 * and empty threads become unused.  The reading ends in one of four ways:
 *
 *	loaded		it has recipients to deliver to
 *	finished	all its recipients are done (after a crash): a DSN is
 *			sent if one is due, and both files are removed
 *	set aside	it cannot be used; both files are moved to postman/
 *	skipped		not now: locked by a living process, no memory, no
 *			descriptor, an error of the disk; mailq shows it
 *
 * A T line makes the vertices for a host due, in core or evicted; a file with
 * T lines only is removed.  An x line names a message that this one replaces,
 * if both have the same sender and owner.
 *
 * Recipients.
 *
 *	pool 100; the channels a and b have work, so each share is 50
 *	a has 80 in core; b has 5, and 30 more to read
 *	b reads the 30, since 5 + 30 is within its share
 *	a gives 15 back, since 80 + 35 is 15 more than the pool
 *
 * A channel may always read up to its share.  Beyond its share it may use free
 * room that no other channel with more to read needs up to its own share.
 * If the free room is too small for a channel below its share, channels above
 * their share give room back: they evict READY vertices of their large
 * messages.  So a channel that hangs with the whole pool falls to its share as
 * soon as another one has work.
 *
 * A new message gets the free room of the pool, and at least PARAMrcptminimum.
 * The rest stays unread, one part for each channel, so no channel of a message
 * waits for another.  A part is read on when PARAMrefill recipients fit, or
 * after PARAMrefilldelay; so a file is not read line by line.  A message with
 * at most half of PARAMrcptminimum in core may always read up to that minimum.
 * Such messages and those that have preempted others come first; then the one
 * that was loaded first.
 *
 * A message that has preempted others (order.c) reads at most half of the room
 * of its channel, so that the preempted one can read, too.  In return its
 * minimum is raised by half of the rest of PARAMrcptextra: of 1000 the first
 * such message gets 500, the second 250.  So core has at most
 *
 *	recipients + active * minimum + extra
 *
 * with two exceptions: recipients that an agent has, and those that wait for
 * their next try, give no room back to another channel and may come on top.
 *
 * When there is no room for more of a part, its vertices that are in WAIT,
 * blocked, or have a dead host become OUT.  When the part was read to its end
 * and the first vertex that is OUT is due, a reread goes through the file and
 * loads vertices that are due; the others keep their times, places and reasons.
 *
 * Messages.  When PARAMactive are in core and mail waits on disk, one message
 * is evicted for each that is loaded: of ten that can go, the one that is
 * farthest from its next try.  It is away until that try is due.  A message is
 * not evicted while some of it is unread, while an agent has some of it or
 * could have it now, while it is held by its name, or when a warning, reread or
 * vertex is due within NEAR seconds (a vertex: half an interval, if less).
 *
 * A message of which only the DSN is left (a vertex on the channel dsn) is
 * evicted like any other.  It is due when the pause of its sender ends
 * (PARAMbouncelimit).  While the agent dsn is busy it is due after a quarter of
 * its time in transport/, but 10 minutes at most and the interval at least.
 * The messages that the agent has do not count against PARAMactive: a dsn
 * that hangs keeps no mail out.
 *
 * A blocked vertex has no due time: it waits for a T line, for a command in a
 * clause, or for the end of a hold.  It is evicted for an hour at a time, and
 * loaded when that event comes.  A message that an operator names is loaded
 * even beyond PARAMactive.
 *
 * Costs.  To evict a message is O(vertices of the messages that are checked).
 * A reread goes through the file once for each channel with a part of it.  To
 * find the next part is O(channels) for each channel that can read on.  To give
 * room back is O(messages) at worst; if that was not enough, the next attempt
 * is a second later.
 */
#include "scheduler.h"

#define BATCH_FILES	200	/* files loaded before other work is done */
#define BATCH_ENTRIES	4000	/* ... directory entries checked */
#define BATCH_PARTS	20	/* ... parts that are read on */
#define READ_MOST	5000	/* recipients of a part read at once */
#define AGAIN		30	/* seconds until a failed file is tried again */
#define PAUSE		0.9	/* ... until the next scan, after -E's bound */
#define NO_ROOM		1.0	/* ... until the next search for room */
#define NEAR		30	/* ... what is due within these stays in core */
#define BLOCKED		3600	/* ... until a blocked vertex is due */
#define TELL_MOST	600	/* ... until an evicted DSN is due, at most */
#define FEW		100	/* vertices of a message that is searched for
				 * room more than once a second */
#define CHOICE		10	/* messages that can go, of which one does */
#define CHECKED_MOST	1000	/* messages checked to find them ... */
#define BUCKETS		10000	/* ... in so many buckets of the hash table */

/* ---- how much is in core ---------------------------------------------- */

/* Messages that the agent dsn has, but not for a warning, do not count. */
static int
is_full(void)
{
	return q.config->active > 0 && q.messages.n >=
	    q.nkept + q.ndsn + (unsigned)q.config->active;
}

/* a - b, or 0. */
static unsigned
less(unsigned a, unsigned b)
{
	return a > b ? a - b : 0;
}

/* The part of the message for a channel, made when there is none: NULL without
 * memory. */
static struct part *
part_for(struct message *m, struct chan *c)
{
	struct part *p = m->parts;

	while (p != NULL && p->chan != c)
		p = p->other;
	if (p != NULL || heap_room(&c->parts, c->nparts + 1) < 0 ||
	    (p = mem_get(sizeof(*p))) == NULL)
		return p;
	p->msg = m;
	p->chan = c;
	p->other = m->parts;
	m->parts = p;
	c->nparts++;
	return p;
}

/* The share of a channel. */
static unsigned
share(void)
{
	unsigned all = q.config->recipients, n = 0;
	const struct chan *c;

	for (c = q.chans; c != NULL; c = c->next)
		n += c->rcpts > 0 || c->parts.n > 0;
	return all == 0 ? UINT_MAX : n == 0 ? all : all / n;
}

/* The free room of the pool, minus what channels other than c that have more to
 * read lack of their shares. */
static unsigned
pool_room(const struct chan *c)
{
	unsigned all = q.config->recipients, its = share();
	unsigned room = less(all, q.rcpts);
	const struct chan *o;

	for (o = q.chans; o != NULL; o = o->next)
		if (o != c && o->parts.n > 0)
			room = less(room, less(its, o->rcpts));
	return all == 0 ? UINT_MAX : room;
}

/* The number of recipients that must fit to read the part on: PARAMrefill, or
 * more for a message with many vertices, but not more than half of the share,
 * so that the channel does not run out of work; 0 after PARAMrefilldelay. */
static unsigned
worth(const struct part *p)
{
	unsigned n = q.config->refill, its = share();

	if (p->read + q.config->refilldelay <= NOW)
		return 0;
	if (n < p->msg->left / 4)
		n = p->msg->left / 4;
	if (n > its - its / 2)
		n = its - its / 2;
	return n < p->unread ? n : p->unread;
}

/* How many recipients of the part are to be read now. */
static unsigned
wanted(const struct part *p)
{
	struct message *m = p->msg;
	unsigned own, n = 0, pool = pool_room(p->chan);
	unsigned room = less(share(), p->chan->rcpts);

	if (m->preempts && m->extra == 0) {	/* half of what is left */
		m->extra = (less(q.config->rcptextra, q.extra) + 1) / 2;
		q.extra += m->extra;
	}
	own = q.config->rcptminimum + m->extra;
	if (m->rcpts <= own / 2)
		n = own - m->rcpts;
	if (room < pool)
		room = pool;
	if (m->preempts && p->chan->parts.n > 1)
		room /= 2;
	if (room > n && room >= worth(p))
		n = room;
	return n < READ_MOST ? n : READ_MOST;
}

/* ---- eviction --------------------------------------------------------- */

/* Until when a vertex that could be fed now may be evicted, mono; 0: it may not
 * be.  Only the last DSN on a message may, while the agent dsn is busy; each
 * time for longer, as that agent may hang. */
static double
dsn_until(const struct vertex *v)
{
	long least = v->thread->ring->conf->v.interval;
	long wait = (NOW - v->msg->queued) / 4;

	if (!th_is_dsn(v->thread) || q.ndsn == 0 || !q_only_dsns(v->msg))
		return 0;
	if (wait > TELL_MOST)
		wait = TELL_MOST;
	return now.mono + (wait > least ? wait : least);
}

/* Until when the vertex may be evicted, mono, but not longer than until it
 * expires; 0: it may not be. */
static double
leaves_until(const struct vertex *v)
{
	const struct setting *s = &v->thread->ring->conf->v;
	double at, end = v->msg->born + s->expiry;
	enum why why = th_why(v, &at);

	if (v->state != V_WAIT && v->state != V_READY)
		return 0;
	if (WHY_BLOCKED(why))
		at = now.mono + BLOCKED;
	if (at <= now.mono)
		return dsn_until(v);
	if (WHY_KEPT(why) || s->expiry == 0)
		return at;
	if (end <= now.mono)
		end += s->expiry2;
	return end > now.mono && end < at ? end : at;
}

/* Leaves so many recipients of the part to the next reread, due then, mono. */
static void
leave_to_reread(struct part *p, unsigned n, long until)
{
	if (p->evicted == 0 || until < p->again)
		p->again = until;
	p->evicted += n;
}

static void
evict_vertex(struct part *p, struct vertex *v, double until)
{
	unsigned i;

	for (i = 0; i < v->nr; i++)
		if (v->r[i].state != RC_PENDING)
			continue;
		else if (p->unread > 0 && v->r[i].off >= p->next)
			p->unread++;	/* it is read again this time */
		else
			leave_to_reread(p, 1, until);
	q_leave(v, until);
}

/* Evicts vertices of the part that cannot go now, but not longer than until a
 * warning of the message is due.  One that is due within this second stays: the
 * times of parts are whole seconds, so it would be read again at once. */
static void
evict_waiting(struct part *p)
{
	double until, report = msg_late_at(p->msg);
	struct vertex *v;

	if (report <= now.mono)
		return;
	for (v = msg_first(p->msg); v != NULL; v = msg_next(v))
		if (is_in_core(v) && v->thread->ring->chan == p->chan &&
		    (until = leaves_until(v)) >= NOW + 1)
			evict_vertex(p, v, until < report ? until : report);
}

/* Evicts READY vertices of the message, the last first, until core has at most
 * so many recipients; as long as their channels have more than their share
 * (its), and the message has more than its minimum. */
static void
evict_ready(struct message *m, unsigned most, unsigned its)
{
	struct vertex *v, *before = m->vertices;
	struct part *p;

	if (before != NULL)
		before = before->before;
	while ((v = before) != NULL && q.rcpts > most &&
	    m->rcpts > (unsigned)q.config->rcptminimum) {
		before = v == m->vertices ? NULL : v->before;
		if (v->state == V_READY && !m->untagged &&
		    /* no DSN: it counts nowhere */
		    v->thread->ring->chan->rcpts > its &&
		    (p = part_for(m, v->thread->ring->chan)) != NULL)
			evict_vertex(p, v, now.mono);
	}
}

/* Makes room for n more recipients of the part: if they are within the share of
 * its channel but not of the free room, channels above their shares evict as
 * many as are lacking, if they can. */
static void
make_way(const struct part *p, unsigned n)
{
	static double failed = NEVER;	/* mono */
	unsigned most = q.config->recipients, its = share();
	struct hlink *l = NULL;

	n = n < p->unread ? n : p->unread;
	if (most == 0 || q.rcpts + n <= most || p->chan->rcpts + n > its ||
	    now.mono < failed + 1)
		return;
	most = less(most, n);
	while (q.rcpts > most && (l = hash_each(&q.messages, l)) != NULL)
		evict_ready(OWNER(struct message, link, l), most, its);
	if (q.rcpts > most)
		failed = now.mono;
}

/* When the message is due if it is evicted now, mono; 0: it cannot be. */
static double
due_if_evicted(const struct message *m)
{
	const struct vertex *v;
	const struct part *p;
	double at, near, first = FAR_OFF;

	if (m->held || m->cancel != CANCEL_NONE || m->untagged)
		return 0;
	for (p = m->parts; p != NULL; p = p->other)
		if (p->unread > 0)
			return 0;
		else if (p->evicted > 0 && p->again < first)
			first = p->again;
	/* it is loaded for its warnings, too */
	at = msg_late_at(m);
	if (at < first)
		first = at;
	if (first < now.mono + NEAR)
		return 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (!is_in_core(v))
			continue;
		near = (double)v->thread->ring->conf->v.interval / 2;
		at = leaves_until(v);
		if (at <= now.mono + (near < NEAR ? near : NEAR))
			return 0;
		first = at < first ? at : first;
	}
	return first < FAR_OFF ? first : 0;
}

/* Evicts the message until then, mono. */
static void
evict(struct message *m, double due)
{
	unsigned rcpts = m->rcpts + msg_rest(m), n = q.messages.n;
	int lost = q_evict(m, due) < 0;
	struct vertex *v;

	log_info("evict msg=%-s for=%ld rcpts=%u msgs=%u%s", msg_id(m),
	    (long)(due - now.mono), rcpts, n,
	    lost ? " beyond PARAMevicted" : "");
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (is_in_core(v))
			q_leave(v, leaves_until(v));
}

/*
 * Evicts one message: 1, or 0 when none can go.  The search continues behind
 * the message that went last; of the next CHOICE messages that can go it takes
 * the one that is due last.  So most messages that are due soon stay, and no
 * list in that order is needed.  Of messages due at one time each has its turn.
 */
static int
make_room(void)
{
	static unsigned bucket;
	static double vain = NEVER;	/* mono; when none was found */
	struct message *m, *best = NULL;
	double at, due = 0;
	unsigned i, of_best = 0, looked = 0, n = 0;
	struct hlink *l;

	if (now.mono < vain + 1)
		return 0;
	for (i = 0; i < BUCKETS && looked < CHECKED_MOST && n < CHOICE; i++) {
		l = *hash_chain(&q.messages, ++bucket);
		for (; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			at = due_if_evicted(m);
			looked++;
			n += at != 0;
			if (at > due) {
				due = at;
				best = m;
				of_best = bucket;
			}
		}
	}
	if (best != NULL) {
		bucket = of_best;
		evict(best, due);
	} else
		vain = now.mono;
	return best != NULL;
}

/* The message with this name, directories and all, of those in core or of those
 * away; or NULL. */
static struct message *
named(struct hash *h, const char *name)
{
	struct hlink *l = h->n == 0 ? NULL : hash_first(h, name_num(name));

	while (l != NULL &&
	    strcmp(OWNER(struct message, link, l)->name, name) != 0)
		l = hash_next(l);
	return l == NULL ? NULL : OWNER(struct message, link, l);
}

/* ---- recipients ------------------------------------------------------- */

static struct {
	unsigned mark;		/* its number, which threads have, too */
	unsigned most;		/* recipients that it may take */
	unsigned n;		/* ... and has taken */
	unsigned early;		/* recipients left to a reread */
	unsigned hosts;		/* vertices that were made, or are BACK */
} reading;

/* Notes the vertex in the thread of its address, also when it is itself in the
 * thread of a mailbox there. */
static void
meet(struct vertex *v)
{
	struct thread *t = v->thread;

	if (t->box != 0)
		t = th_get(t->chan, t->host, 0);
	if (t == NULL)
		return;
	t->mark = reading.mark;
	t->vertex = v;
}

/* Notes the vertices of the channel (NULL: of all) that the message has, so
 * that recipients join these. */
static void
begin_reading(const struct message *m, const struct chan *c, unsigned most)
{
	struct vertex *v;

	reading.mark++;
	reading.most = most;
	reading.n = reading.early = reading.hosts = 0;
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE &&
		    (c == NULL || v->thread->ring->chan == c))
			meet(v);
}

/* Adds the recipient in c to the vertex of its thread, if it is not in core
 * already: 0, or -1 without memory.  In a reading of a part (p, else NULL) a
 * recipient whose vertex is not due yet is left to the next reread. */
static int
add_rcpt(struct message *m, struct part *p, const struct ctl *c)
{
	struct thread *t = th_get(th_chan(c->channel), c->host, 0);
	struct vertex *v;

	if (t == NULL)
		return -1;
	if (t->mark != reading.mark) {
		v = msg_vertex(m, t);
		if (v == NULL)
			return -1;
		meet(v);
		reading.hosts++;
	}
	v = t->vertex;
	if (msg_rcpt(v, c->l.off) != NULL)
		return 0;
	if (v->state == V_OUT && p != NULL && v->by.wanted > now.mono &&
	    m->cancel == CANCEL_NONE) {
		leave_to_reread(p, 1, v->by.wanted);
		reading.early++;
		return 0;
	}
	reading.hosts += v->state == V_OUT;
	if (msg_add(v, c->l.off) == NULL)
		return -1;
	reading.n++;
	if (v->state == V_NEW || v->state == V_BACK)
		v->by.box = ctl_box(c);
	return 0;
}

/* ---- one message ----------------------------------------------------- */

/* Seconds since this stamp; 0 when one of the clocks is wrong. */
static long
age_of(long stamp)
{
	long age = file_age(stamp);

	return age > 0 ? age : 0;
}

/* Leaves the recipient in c unread, in the part of its channel: 0, or -1
 * without memory. */
static int
count_unread(struct message *m, const struct ctl *c)
{
	struct chan *chan = th_chan(c->channel);
	struct part *p = chan == NULL ? NULL : part_for(m, chan);

	if (p == NULL)
		return -1;
	if (p->unread++ == 0) {
		p->next = c->l.off;
		p->read = NOW;
	}
	return 0;
}

/* m, which is away or NULL, if it has the name of the file; else a new message,
 * NULL without memory. */
static struct message *
message_of(const struct ctl *c, struct message *m)
{
	if (m != NULL && strcmp(m->name, c->name) == 0)
		return m;
	if (m != NULL)
		q_discard(m);
	m = mem_get(offsetof(struct message, name) + strlen(c->name) + 1);
	if (m != NULL)
		strcpy(m->name, c->name);
	return m;
}

/* The message is not loaded after all: its vertices that are BACK become OUT,
 * those that are NEW are freed. */
static void
undo(struct message *m)
{
	struct vertex *v, *next;
	struct thread *t;

	for (v = msg_first(m); v != NULL; v = next) {
		next = msg_next(v);
		t = v->thread;
		if (v->state == V_NEW ||
		    (v->state == V_BACK && msg_out(v, now.mono) < 0)) {
			msg_vertex_free(v);
			th_update(t);
		}
	}
}

/*
 * Sets members of the message after its file was read.  A new message starts at
 * the beginning of its retry lists, however old its files are; one that a start
 * has found, or that was forgotten, at the places of its age.
 */
static void
describe(struct message *m, const struct ctl *c, const struct stat *st)
{
	m->nr = reading.n + msg_rest(m);
	m->preempts = 0;
	m->end = END_REMOVE;
	m->why = NULL;
	m->since = NOW;
	if (m->loaded == 0) {
		m->warned = -1;
		m->born = NOW - age_of(st->st_mtime);
		m->aged = !q.loaded || spool_was_offered(c->name, st->st_ctime);
		m->queued = NOW - age_of(c->ctime);
	}
	spool_time(st, &m->time);
	m->failed = c->nfailed > 0;
	m->done = c->ndone > 0;
	m->dsn_newer = m->diags = c->ndiag > 0;
	m->dsn_due = m->failed || m->dsn_newer;
	m->verbose = c->has_verbose != 0;
	m->late = c->has_warning != 0;
}

static char replaces[sizeof(((struct ctl *)0)->obsoletes)];
				/* x line of the message just loaded, or "" */

/* Puts the message into core: 0, or -1 without memory. */
static int
enter(struct message *m, struct ctl *c, const struct stat *st)
{
	struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state == V_OUT && th_is_dsn(v->thread))
			msg_add(v, 0);	/* it has no line in the file */
	if (q_add(m) < 0)
		return -1;
	if (m->nr == 0)
		return 0;
	ctl_forget();	/* of an earlier one of that name */
	log_info("load msg=%-s rcpts=%u hosts=%u unread=%u age=%ld size=%lu%-s",
	    msg_id(m), m->nr, reading.hosts, m->nr - reading.n,
	    msg_age(m), (unsigned long)st->st_size, msg_from(c));
	if (m->twin)
		log_warn("twin msg=%s another message has its number; no agent "
		    "gets both at once", ctl_msg(m->name));
	if (m->verbose)
		spool_verbose(m->name, "scheduler processing");
	strcpy(replaces, c->obsoletes);
	return 0;
}

static void
not_now(struct ctl *c, const char *why)
{
	c->why = why;
	c->later = AGAIN;
}

/* Reads all recipients, and takes as many into core as there is room for: 0,
 * with c->why set when the file cannot be used; or -1 without memory. */
static int
read_all(struct ctl *c, struct message *m)
{
	int letter, bad = 0;

	begin_reading(m, NULL, pool_room(NULL));
	if (reading.most < (unsigned)q.config->rcptminimum)
		reading.most = q.config->rcptminimum;
	while (bad == 0 && c->why == NULL && (letter = ctl_next(c)) > 0)
		if (letter == 'T')
			th_trigger(c->host);
		else if (strcmp(c->channel, "dsn") == 0)
			c->why = "a recipient has the channel dsn, which is "
			    "the scheduler's own";
		else if (reading.n < reading.most)
			bad = add_rcpt(m, NULL, c);
		else
			bad = count_unread(m, c);
	return bad;
}

/* Has the recipient at off failed under bounce=none?  1 or 0; -1 without
 * memory. */
static int
is_silent(struct diags *n, unsigned long off)
{
	const struct conf *conf;

	if (ctl_rcpt(&n->rc, off) < 0 || n->rc.tag != '-')
		return 0;
	conf = cf_match(q.config, n->rc.channel, n->rc.host);
	return conf == NULL ? -1 : conf->v.bounce == BOUNCE_NONE;
}

/* The bit of the recipient whose line begins at off: no two lines of recipients
 * begin within the same eight bytes. */
#define BYTE(off)	((off) >> 6)
#define BIT(off)	(1U << ((off) >> 3 & 7))

/* Marks the lines of such recipients, and notes in has[] which of them have a
 * line on a failure: 0 or -1. */
static int
silence_lines(struct diags *n, unsigned char *has)
{
	int silent = 0;

	while (silent >= 0 && diag_next(n)) {
		silent = is_silent(n, n->off);
		if (silent > 0 && !n->warning)
			has[BYTE(n->off)] |= BIT(n->off);
		if (silent > 0 && n->tag == ' ' && diag_mark(n, n->at, '-') < 0)
			silent = -1;
	}
	return silent < 0 ? -1 : 0;
}

/* Writes a line for each such recipient without one: 0 or -1. */
static int
silence_rest(struct diags *n, const unsigned char *has)
{
	unsigned long off;
	int silent = 0;

	ctl_go(&n->c, 0);
	while (silent >= 0 && diag_next_rcpt(n)) {
		off = n->c.l.off;
		silent = is_silent(n, off);
		if (silent > 0 && !(has[BYTE(off)] & BIT(off)) &&
		    ctl_diag(n->c.name, off, '-', "",
		    "5.0.0 (permanent failure)",
		    "why it failed was not written down", 0) < 0)
			silent = -1;
	}
	return silent < 0 ? -1 : 0;
}

/* Marks failures under bounce=none, so that no DSN is sent on them: 0 or -1.  A
 * recipient whose line was lost in a crash gets a new one. */
static int
silence(const char *name)
{
	const struct clause *c = q.config->clauses;
	unsigned char *has;
	struct diags n;
	int bad;

	while (c != NULL && c->v.bounce != BOUNCE_NONE)
		c = c->next;
	if (c == NULL)
		return 0;
	if (diag_open(&n, name) < 0)
		return errno == ENOENT ? 0 : -1;
	has = mem_get(BYTE(CONTROL_MAX) + 1);
	bad = has == NULL || silence_lines(&n, has) < 0 ||
	    silence_rest(&n, has) < 0 || diag_error(&n) != 0;
	free(has);
	ctl_close(&n.c);
	return bad ? -1 : 0;
}

/* May the message, whose file was good, be used? */
static void
check(struct ctl *c, const struct message *m, int place, const struct stat *st)
{
	if (m->nr > 0 && place != 0)
		c->why = "its message file is missing";
	else if (m->nr > 0 && c->body > (unsigned long)st->st_size)
		c->why = "its body offset is behind the end of the message";
	else if (m->failed && silence(c->name) < 0)
		not_now(c, "it cannot be written to now");
	else if (m->nr == 0)
		log_info("finished msg=%s nothing is left to deliver",
		    ctl_msg(c->name));
}

/* Opens the file, puts it into its directory and loads it: NULL when it is in
 * core, or there is no message; else the message, for the caller to free or to
 * keep as skipped.  c->why is the reason why the file cannot be used, or NULL;
 * c->later the seconds until it is tried again, or 0. */
static struct message *
load(struct ctl *c, const char *name, struct message *m)
{
	static const char no_memory[] = "there is no memory for it";
	struct stat st;
	int place;

	if (ctl_open(c, name, -1) < 0)
		return m;
	if (m != NULL && m->why != NULL && m->pid != 0)
		c->since = m->pid_since;
	memset(&st, 0, sizeof(st));
	place = spool_place(c->name, &st);
	if (place < 0) {
		not_now(c, "it cannot be moved to its directory");
		return m;
	}
	m = message_of(c, m);
	if (m == NULL || read_all(c, m) < 0)
		not_now(c, no_memory);
	if (c->why == NULL) {
		describe(m, c, &st);
		check(c, m, place, &st);
	}
	if (c->why == NULL && m->nr == 0 && !m->dsn_due) {
		if (spool_remove(c->name) < 0)
			not_now(c, "its files cannot be removed");
	} else if (c->why == NULL) {
		if (enter(m, c, &st) == 0)
			return NULL;
		not_now(c, no_memory);
	}
	if (m != NULL)
		undo(m);
	return m;
}

/* Skips the file in c: it is tried again later. */
static void
skip(const struct ctl *c, struct message *m)
{
	m = message_of(c, m);
	if (m == NULL || msg_leave(m, now.mono + c->later) < 0) {
		spool_again(c->name, now.mono + c->later);
		if (m != NULL)
			q_discard(m);
		return;
	}
	/* a power cut may have left several locks: all count from the first */
	if (m->why == NULL || (m->pid == 0) != (c->pid == 0))
		m->pid_since = NOW;
	m->why = c->why;
	m->pid = c->pid;
}

/* Loads the file with this name, if it can be used: 1 when it was opened, or
 * 0. */
static int
consider(char *name)
{
	struct ctl c;
	struct message *m;
	const struct vertex *v;
	int opened;

	replaces[0] = '\0';
	if (named(&q.messages, name) != NULL)
		return 0;
	m = named(&q.away, name);
	for (v = m == NULL ? NULL : msg_first(m); v != NULL; v = msg_next(v))
		if (v->state == V_DONE)
			return 0;	/* the sweep is first */
	m = load(&c, name, m);
	opened = c.l.fd >= 0;
	ctl_close(&c);
	if (c.why != NULL && !c.later && spool_set_aside(c.name, 0, c.why) < 0)
		not_now(&c, "it cannot be used, nor moved to postman");
	if (c.later) {
		th_sweep();	/* its threads; others may need the memory */
		skip(&c, m);
	} else if (m != NULL) {
		q_discard(m);
	}
	if (opened)
		strcpy(name, c.name);
	return opened;
}

/* The message, loaded from disk at once if it is not in core; or NULL. */
static struct message *
fetch(char *name)
{
	if (named(&q.messages, name) == NULL && is_full())
		make_room();	/* if there is none, it is one more */
	consider(name);
	return named(&q.messages, name);
}

/* The owner of its message file, or -1. */
static long
owner_of(const char *name)
{
	char path[PATH_MAX_];
	struct stat st;

	text_fmt(path, sizeof(path), "../queue/%s", name);
	return lstat(path, &st) < 0 ? -1 : (long)st.st_uid;
}

/* Do two messages have one sender and one owner?  The address that gets DSNs
 * (the e line) is compared, or else the sender; and the uid, since any user can
 * write any address. */
static int
same_sender(const char *name, const char *other)
{
	char a[WORD_MAX_], b[WORD_MAX_];
	const char *line = ctl_field(name, "e", a, sizeof(a)) == 0 ? "e" : "s";

	return ctl_field(name, line, a, sizeof(a)) == 0 &&
	    ctl_field(other, line, b, sizeof(b)) == 0 && strcmp(a, b) == 0 &&
	    owner_of(name) != -1 && owner_of(name) == owner_of(other);
}

/* Drops the message that the x line of the one just loaded names, if it has
 * one, and both have the same sender and owner. */
static void
replace(const char *name)
{
	char id[sizeof(replaces)], its[NAME_MAX_];
	struct message *old;

	if (replaces[0] == '\0')
		return;
	strcpy(id, replaces);	/* the other may have one, too */
	old = spool_by_id(id, its) < 0 ? NULL : fetch(its);
	if (old == NULL || strcmp(old->name, name) == 0)
		log_info("replace msg=%s old=%s is not here", ctl_msg(name),
		    id);
	else if (!same_sender(name, old->name))
		log_warn("replace msg=%s old=%s refused: another sender or "
		    "owner", ctl_msg(name), id);
	else
		q_drop(old, "it was replaced");
}

/* ---- more of a message ----------------------------------------------- */

/* Reads on the recipients of the channel: 0 at the end of the file, 1 when more
 * are unread, -1 when it cannot be read.  After as many as were unread it reads
 * to the end, as the others are in core. */
static int
read_on(struct ctl *c, struct part *p)
{
	int letter;

	while ((letter = ctl_next(c)) > 0)
		if (letter == 'T' || strcmp(c->channel, p->chan->name) != 0)
			continue;
		else if (reading.n == reading.most &&
		    reading.n + reading.early < p->unread)
			return 1;
		else if (add_rcpt(p->msg, p, c) < 0)
			return -1;
	return letter;
}

/* Updates the part after a reading; more: some of it is unread. */
static void
update_part(struct part *p, const struct ctl *c, int more)
{
	struct message *m = p->msg;

	/* a DSN is due on those that were done without a report, too */
	m->failed |= c->nfailed > 0;
	m->done |= c->ndone > 0;
	if (c->nfailed > 0 || c->ndiag > 0)
		m->dsn_due = m->dsn_newer = 1;
	p->unread = less(p->unread, reading.n + reading.early);
	if (more) {
		p->next = c->l.off;
	} else {	/* the others were finished before */
		q.rcpts_out += p->unread;
		p->unread = 0;
	}
	p->read = NOW;
	log_debug("load-more msg=%s channel=%s rcpts=%u hosts=%u next=%lu",
	    ctl_msg(m->name), p->chan->name, reading.n, reading.hosts,
	    p->next);
}

/* Reads so many more recipients of the part. */
static void
load_more(struct part *p, unsigned most)
{
	struct message *m = p->msg;
	struct ctl c;
	int more = -1, gone;

	make_way(p, most);
	begin_reading(m, p->chan, most);
	if (ctl_open(&c, m->name, p->next) == 0)
		more = read_on(&c, p);
	ctl_close(&c);
	gone = more < 0 && spool_gone(m->name);
	if (more < 0 && !gone)
		log_err("load-more msg=%s off=%lu %s; later", ctl_msg(m->name),
		    p->next, c.why != NULL ? c.why : "it cannot be read now");
	if (more >= 0) {
		update_part(p, &c, more);
	} else {	/* the rest is left to a reread */
		p->evicted += less(p->unread, reading.n + reading.early);
		p->unread = 0;
		p->again = NOW + AGAIN;
	}
	q_arrived(m);
	if (gone)
		q_drop(m, "its control file was taken away");
}

/* The part that is read on now, and how many recipients of it; or NULL.  If
 * there is no room, the first part of each channel evicts its vertices that
 * cannot go now; that is O(vertices), so large messages do it once a second at
 * most. */
static struct part *
next_part(unsigned *most)
{
	struct timer *t;
	struct chan *c;
	struct part *p;

	for (c = q.chans; c != NULL; c = c->next) {
		t = heap_first(&c->parts);
		if (t == NULL)
			continue;
		p = OWNER(struct part, turn, t);
		if (p->unread == 0) {		/* a reread begins */
			p->next = 0;
			p->unread = p->evicted;
			p->evicted = 0;
		}
		*most = wanted(p);
		if (*most == 0 && (p->msg->left < FEW || p->checked != NOW)) {
			p->checked = NOW;
			evict_waiting(p);
			*most = wanted(p);
		}
		if (*most > 0)
			return p;
	}
	return NULL;
}

/* ---- turns ------------------------------------------------------------ */

/*
 * While there is room for more messages, new and old mail take turns, so that
 * neither a flood of new mail nor a large old queue keeps the other out.  If
 * one has no file that can be used, the other has its turn.  When there is no
 * room the next turn is new mail's.  So while core stays full, each place that
 * becomes free goes to new mail until there is none: new mail gains most by a
 * place, and old mail has waited already.
 *
 * take loads a message of new (0) or old (1) mail: 1; 0 when the file cannot be
 * used, -1 when there is none.  in_turn returns the same.
 */
static int
in_turn(int *old, int (*take)(int old))
{
	int came = take(*old), other;

	if (came > 0) {
		*old = !*old;
		return 1;
	}
	other = take(!*old);
	return other > came ? other : came;
}

/* ---- the step -------------------------------------------------------- */

static struct {
	char	name[NAME_MAX_];	/* of the next new file, or "" */
	int	old;		/* it is the turn of old mail */
	long	files;		/* opened in this scan */
	double	began;		/* mono; when it began */
	double	paused;		/* mono; the next one begins then */
	int	blocked;	/* mail waits on disk, and there is no room */
	long	entries;	/* ... that may be checked in this pass */
} step;

/* -E: has this scan loaded as many as it may?  -S has no such bound. */
static int
is_enough(void)
{
	if (q.hold || step.files == 0)
		return 0;
	return (opt.scanmax > 0 && step.files >= opt.scanmax) ||
	    (opt.scansecs > 0 && now.mono - step.began > opt.scansecs);
}

/* May the entry be loaded?  Room is made for a regular file only; if there is
 * room, opening the file shows what it is. */
static int
is_wanted(const char *name)
{
	return named(&q.messages, name) == NULL &&
	    named(&q.away, name) == NULL &&
	    spool_may_load(name, is_full());
}

/* Sets step.name to the next new file: 1; 0 when there is none, or it was not
 * found yet. */
static int
find_new(void)
{
	char *name = step.name;

	if (*name != '\0')
		return 1;
	while (step.entries > 0 && spool_next(name)) {
		step.entries--;
		if (is_wanted(name))
			return 1;
	}
	*name = '\0';
	return 0;
}

/* The first message away whose file is due, or NULL. */
static const struct message *
first_due(void)
{
	return heap_wait(&q.later) > 0 ? NULL :
	    OWNER(struct message, due, heap_first(&q.later));
}

/* For in_turn. */
static int
take(int old)
{
	unsigned before = q.messages.n;
	const struct message *m;
	char name[NAME_MAX_];

	if (old && (m = first_due()) != NULL)
		strcpy(name, m->name);
	else if (!old && find_new())
		strcpy(name, step.name);
	else
		return -1;
	if (!old)
		step.name[0] = '\0';
	if (consider(name) && step.files++ == 0)
		step.began = now.mono;
	replace(name);
	return q.messages.n > before;
}

/* Is there room for one more message; or is there one, and room can be made?
 * After a reload there may be more in core than PARAMactive. */
static int
has_room(void)
{
	int n;

	if (!is_full())
		return 1;
	step.old = 0;
	/* new files first, so that the scan goes on */
	if (!find_new() && first_due() == NULL)
		return 0;
	for (n = 0; is_full() && n < BATCH_FILES && !step.blocked; n++)
		step.blocked = !make_room();
	return !is_full();
}

/* The first scan is over when every directory was read to its end.  With -S
 * agents start then, or when core is full. */
static void
end_first_scan(void)
{
	if (q.scanned || is_full())
		q.hold = 0;
	if (!q.scanned)
		return;
	q.loaded = 1;
	log_info("loaded msgs=%u threads=%u rcpts=%lu", q.messages.n,
	    q.nthreads, q.rcpts_in);
}

int
in_load(void)
{
	int n, came = 1, parts = 0;
	struct part *p;
	unsigned most;

	spool_note_changes();
	while (parts < BATCH_PARTS && (p = next_part(&most)) != NULL) {
		load_more(p, most);
		parts++;
	}
	q.readable = 0;
	step.entries = BATCH_ENTRIES;
	step.blocked = 0;
	for (n = 0; n < BATCH_FILES && now.mono >= step.paused; n++) {
		if (is_enough()) {
			step.paused = now.mono + PAUSE;
			step.files = 0;
			break;
		}
		came = has_room() ? in_turn(&step.old, take) : -1;
		if (came < 0)
			break;
	}
	if (came < 0 && !is_full() && step.entries > 0)
		step.files = 0;		/* the scan has seen all */
	if (!q.loaded)
		end_first_scan();
	return parts == BATCH_PARTS || n == BATCH_FILES ||
	    (came < 0 && !step.blocked && step.entries == 0);
}

const char *
in_fetch(const char *base)
{
	char name[NAME_MAX_];
	const struct message *m;

	if (spool_where(base, name) < 0)
		return NULL;
	fetch(name);
	replace(name);
	m = named(&q.away, name);
	return m == NULL ? NULL : m->why;
}

/* Datagrams wait while no message may be loaded. */
double
in_prep(fd_set *in, int *max)
{
	double wait = step.paused - now.mono, later = heap_wait(&q.later);

	if (wait <= 0 && !step.blocked) {
		wait = spool_prep(in, max);
		wait = wait < later ? wait : later;
	} else if (wait <= 0) {
		wait = NO_ROOM;
	}
	return q.readable ? 0 : wait;
}
