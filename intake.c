/*
 * intake.c - loads control files into core, and forgets messages.
 *
 *	PARAMactive 2		1000-1 waits until 70, 1001-1 until 9000
 *	1002-1 is found		1001-1 is forgotten; its stub is due at 9000
 *	at 9000			1001-1 is loaded again, like mail that a start
 *				has found
 *
 * A message is in core whole, or it is forgotten: then a stub has its name and
 * the time at which its file is read again, and nothing else of it is in core.
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
 * A T line makes the vertices for a host due, when its file was found good; a
 * file with T lines only is removed.
 *
 * Room.  PARAMactive bounds the messages in core, PARAMrecipients their
 * recipients, but for those of the message that has the most: so any message
 * fits, and one list keeps no other mail out.  When core is full and mail waits
 * on disk, a message leaves for each that comes:
 *
 *	1. one whose vertices all wait: of ten that were met, the one that is
 *	   farthest from its next try
 *	2. if there is none, the new message is loaded all the same; then a
 *	   READY message leaves of another channel that has more than its
 *	   share, PARAMactive divided by the number of channels with mail in
 *	   core, and at least as many as that of the new message.  If there is
 *	   none the new one leaves itself, as its turn would be the last.
 *
 * So a channel that hangs with all of core falls to its share as soon as there
 * is mail for another one.  A message with an agent, and one that is held by
 * its name, stay.
 *
 * Stubs.  A stub is due when the first vertex of its message is, or up to an
 * hour later, at the latest retryat of another one: that is not tried early.
 * Then the message takes its place in the retry lists by its age.  A READY
 * message that had to leave stands in the queue of its channel, and is loaded
 * when there is room, or when its channel has fewer messages in core than
 * another one.  If a warning is due earlier the file is read for it, and the
 * vertices wait on.  A blocked vertex has no time: its stub is due after an
 * hour.  After a reload of the configuration all stubs are due, as mail may
 * expire sooner, or what blocked it may be gone; vertices that wait keep their
 * times.  PARAMevicted bounds the stubs; beyond it no READY message leaves, and
 * a message that waits leaves nothing but the time at which its directory is
 * read again (spool.c).
 *
 * Requests.  A T line, a flush, the end of a hold and a delete or bounce by
 * pattern reach forgotten mail by a lap, which reads the files of all stubs:
 *
 *	bounce smtp/a.test	request 5; each stub that has seen 4 is due
 *	1001-1 is loaded	it is for a.test, and is bounced
 *	1000-1 is loaded	it is for b.test, and waits for its time
 *	no stub has seen 4	the lap is over, and request 5 is freed
 *
 * Requests that come during a lap join it.  The files are read in turn with new
 * mail, as room allows.
 *
 * A message of which only a DSN is left counts for the channel dsn, and leaves
 * core like any other.  Messages that the agent dsn has do not count against
 * PARAMactive: a dsn that hangs keeps no mail out.
 *
 * Costs.  To find a message that leaves is O(vertices of the messages that are
 * checked), a thousand at most; a search in vain is not repeated before a
 * vertex has changed its state or a second has passed.
 */
#include "scheduler.h"

#define BATCH_FILES	200	/* files loaded before other work is done */
#define BATCH_BEYOND	25	/* files loaded meanwhile though core is full */
#define BATCH_ENTRIES	4000	/* directory entries checked meanwhile */
#define AGAIN		30	/* seconds until a failed file is tried again */
#define PAUSE		0.9	/* seconds until the next scan, after -E's
				 * bound */
#define NO_ROOM		1.0	/* seconds until core is checked for room, if
				 * nothing happens before */
#define BLOCKED		3600	/* seconds until a blocked vertex is due */
#define TOGETHER	3600	/* seconds that a forgotten message is late at
				 * most, for a retryat of one of its vertices */
#define ASKED_MOST	32767U	/* number of a request, as stubs keep it */
#define CHOICE		10	/* messages that can leave, of which one does */
#define CHECKED_MOST	1000	/* messages checked to find them */
#define BUCKETS		10000	/* buckets of the hash table checked for that */

/* The message or stub with this name, directories and all; or NULL. */
static struct message *
message_named(const char *name)
{
	struct message *m = msg_find_number(name_num(name), NULL);

	while (m != NULL && strcmp(m->name, name) != 0)
		m = msg_find_number(m->link.hash, m);
	return m;
}

static struct stub *
stub_named(const char *name)
{
	struct hlink *l = q.stubs.n == 0 ? NULL :
	    hash_first(&q.stubs, name_num(name));

	for (; l != NULL; l = hash_next(l))
		if (strcmp(OWNER(struct stub, link, l)->name, name) == 0)
			return OWNER(struct stub, link, l);
	return NULL;
}

/* ---- stubs ------------------------------------------------------------ */

/* past: what is known of a message before its file is read. */
struct past {
	int	known;		/* it was in core before */
	int	stub;		/* that is from its stub */
	int	until;		/* mono; its vertices do not go before that */
	int	born;		/* mono; known: as in struct message */
	unsigned seen;		/* the last request that it has seen */
	struct skip skip;	/* why its file was skipped; or why is NULL */
};

static unsigned asked;		/* number of the last request, at most
				 * ASKED_MOST */
static unsigned unasked;	/* stubs that have not seen each request */

static int
stubs_are_full(void)
{
	return q.config->evicted > 0 &&
	    q.stubs.n >= (unsigned)q.config->evicted;
}

int
in_skip(const struct stub *s, struct skip *k)
{
	if (s->skipped)
		memcpy(k, s->name + strlen(s->name) + 1, sizeof(*k));
	return s->skipped;
}

/* Makes a stub, whose file is read at that time, mono, and which has seen all
 * requests; c: the message is READY, and of that channel.  0; or -1: only its
 * directory is read again then. */
static int
make_stub(const char *name, struct chan *c, double at, double until,
    int born, const struct skip *k)
{
	struct heap *h = c != NULL ? &c->ready : &q.due_stubs;
	size_t len = strlen(name) + 1;
	struct stub *s = NULL;

	if (!stubs_are_full() && heap_reserve(h, h->n + 1) == 0)
		s = mem_get(offsetof(struct stub, name) + len +
		    (k == NULL ? 0 : sizeof(*k)));
	if (s == NULL) {
		spool_reread_at(name, at);
		return -1;
	}
	memcpy(s->name, name, len);
	s->until = until;
	s->born = born;
	s->seen = asked;
	s->skipped = k != NULL;
	if (k != NULL)
		memcpy(s->name + len, k, sizeof(*k));
	hash_add(&q.stubs, &s->link, name_num(name));
	heap_set(h, &s->due, at);
	return 0;
}

static int
is_in(const struct heap *h, const struct timer *t)
{
	return t->pos <= h->n && h->v[t->pos - 1].timer == t;
}

/* Frees the stub of this name, if there is one, and sets *p to what it has. */
static void
take_stub(const char *name, struct past *p)
{
	struct stub *s = stub_named(name);
	struct heap *h = &q.due_stubs;
	struct chan *c;

	memset(p, 0, sizeof(*p));
	p->seen = asked;	/* new mail is not meant */
	if (s == NULL)
		return;
	p->known = p->stub = !s->skipped;
	p->until = s->until;
	p->born = s->born;
	p->seen = s->seen;
	in_skip(s, &p->skip);
	unasked -= s->seen < asked;
	hash_del(&q.stubs, &s->link);
	for (c = q.chans; !is_in(h, &s->due); c = c->next)
		h = &c->ready;
	heap_del(h, &s->due);
	if (h->n == 0) {
		free(h->v);
		memset(h, 0, sizeof(*h));
	}
	free(s);
}

/* ---- requests --------------------------------------------------------- */

/* request: by a T line or an operator, while there are stubs that have not seen
 * it. */
static struct request {
	struct request *next;
	unsigned number;	/* value of asked */
	enum ask what;
	char	**patterns;	/* of addresses; NULL: any, if host is "" */
	char	host[1];	/* of a T line */
} *requests;

static void
free_requests(void)
{
	struct request *r;

	while ((r = requests) != NULL) {
		requests = r->next;
		pat_free(r->patterns);
		free(r);
	}
}

/* The heap stays one, as no entry comes to stand behind a later one. */
void
in_reread(void)
{
	unsigned i;

	for (i = 0; i < q.due_stubs.n; i++)
		if (q.due_stubs.v[i].when > now.mono)
			q.due_stubs.v[i].when = now.mono;
}

/* Makes all stubs due for the request: 0; or -1 without memory, or when there
 * are too many. */
static int
add_request(enum ask what, char **patterns, const char *host)
{
	struct request *r = requests;
	struct hlink *l = NULL;

	if (unasked == 0)	/* all stubs have seen all: count anew */
		for (asked = 0; (l = hash_each(&q.stubs, l)) != NULL; )
			OWNER(struct stub, link, l)->seen = 0;
	if (asked == ASKED_MOST)
		return -1;
	/* another T line for a host: the request is younger now */
	while (r != NULL && (*host == '\0' || strcmp(r->host, host) != 0))
		r = r->next;
	if (r == NULL) {
		r = mem_get(sizeof(*r) + strlen(host));
		if (r == NULL)
			return -1;
		r->what = what;
		r->patterns = patterns;
		strcpy(r->host, host);
		r->next = requests;
		requests = r;
	}
	r->number = ++asked;
	unasked = q.stubs.n;
	in_reread();
	return 0;
}

long
in_ask(enum ask what, char **patterns)
{
	if (q.stubs.n > 0 && add_request(what, patterns, "") == 0)
		return q.stubs.n;
	pat_free(patterns);
	return q.stubs.n > 0 ? -1 : 0;
}

static int
is_meant(const struct request *r, const struct thread *t)
{
	char address[2 * WORD_MAX_];

	if (*r->host != '\0')
		return strcmp(t->host, r->host) == 0;
	if (r->patterns == NULL)
		return 1;
	text_fmt(address, sizeof(address), "%s/%s", t->chan->name, t->host);
	return pat_match_address(r->patterns, address);
}

/* Obeys the commands in the file of the message, and the requests that the
 * message, loaded from its stub, has not seen. */
static void
obey_requests(struct message *m, unsigned seen)
{
	const struct request *r;
	struct vertex *v;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		if (v->cancel != CANCEL_NONE && v->state != V_DONE)
			q_cancel_vertex(v, v->cancel, 1);
	for (r = requests; r != NULL; r = r->next)
		for (v = r->number <= seen ? NULL : msg_first_vertex(m);
		    v != NULL; v = msg_next_vertex(v))
			if (v->state == V_DONE || v->state == V_HELD ||
			    th_is_dsn(v->thread) || !is_meant(r, v->thread))
				continue;
			else if (r->what == ASK_DELETE)
				q_cancel_vertex(v, CANCEL_DELETE, 1);
			else if (r->what == ASK_BOUNCE)
				q_cancel_vertex(v, CANCEL_BOUNCE, 1);
			else if (r->what == ASK_WAKE)
				th_requeue(v, 0, 0);
			else if (v->thread->held == NULL)
				th_flush(v->thread, v);
}

/* ---- room in core ------------------------------------------------------ */

/* Finds the message with the most recipients, once a second at most. */
static void
find_largest(void)
{
	static long found = -1;		/* mono */
	struct hlink *l = NULL;
	struct message *m;

	if (q.largest != NULL && found == NOW)
		return;
	found = NOW;
	while ((l = hash_each(&q.messages, l)) != NULL) {
		m = OWNER(struct message, link, l);
		if (q.largest == NULL || m->rcpts > q.largest->rcpts)
			q.largest = m;
	}
}

static int
is_full(void)
{
	unsigned msgs = q.config->active, rcpts = q.config->recipients;

	if (msgs > 0 && q.messages.n >= q.nkept + q.ndsn + msgs)
		return 1;
	if (rcpts == 0 || q.rcpts < rcpts)
		return 0;
	find_largest();
	return q.rcpts >= q.largest->rcpts + rcpts;
}

/* Has the channel more messages in core than its share, and at least n? */
static int
is_above_share(const struct chan *chan, unsigned n)
{
	const struct chan *c;
	double nchans = 0;

	if (chan->msgs < n)
		return 0;
	for (c = q.chans; c != NULL; c = c->next)
		nchans += c->msgs > 0;
	return chan->msgs * nchans > q.config->active;
}

/* When the vertex is due, mono, but not later than it expires; the past: it is
 * READY.  *blocked: it is due only for a check. */
static double
due_at(const struct vertex *v, int *blocked)
{
	const struct setting *s = &v->thread->ring->conf->v;
	double at, end = v->msg->born + s->expiry;
	enum why why = th_why(v, &at);

	/* it waits for an event that has no time */
	*blocked = why >= WHY_HELD && why <= WHY_QUEUEONLY;
	if (*blocked)
		at = now.mono + BLOCKED;
	if (at <= now.mono || WHY_KEPT(why) || s->expiry == 0)
		return at;
	if (end <= now.mono)
		end += s->expiry2;
	return end > now.mono && end < at ? end : at;
}

#define STAYS	(-1.0)

/* The latest retryat of the message that is beyond at and not TOGETHER seconds
 * later, mono; or at. */
static double
latest_retryat(const struct message *m, double at)
{
	const struct vertex *v;
	double last = at;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		if (v->state == V_WAIT && v->dated && v->wakeup > last &&
		    v->wakeup <= at + TOGETHER)
			last = v->wakeup;
	return last;
}

/* When the file of the message is due if it leaves core now, mono; the past: a
 * vertex is READY; STAYS: it cannot leave.  *until: when its vertices may go,
 * as the first one that is not blocked is due, or a retryat soon after; 0: all
 * are blocked. */
static double
due_if_forgotten(const struct message *m, double *until)
{
	const struct vertex *v;
	double at, check = NEVER;	/* of a blocked one */
	int blocked;

	*until = NEVER;
	if (m->held || m->untagged || m->nfed > 0 ||
	    q_next_warning(m) <= now.mono)
		return STAYS;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		if (v->state == V_HELD)		/* for a command */
			return STAYS;
		if (v->state == V_DONE)
			continue;
		at = due_at(v, &blocked);
		if (blocked)
			check = at < check ? at : check;
		else if (at < *until)
			*until = at;
	}
	at = *until;
	*until = at == NEVER ? 0 : latest_retryat(m, at > now.mono ? at :
	    now.mono);
	if (at > now.mono && at < NEVER)
		at = *until;
	at = check < at ? check : at;
	return at < NEVER ? at : STAYS;
}

/* The message leaves core, if it can. */
static void
forget(struct message *m)
{
	double late = q_next_warning(m);
	double until, at = due_if_forgotten(m, &until);
	int lost;

	if (at == STAYS)
		return;
	if (at <= now.mono)	/* READY, or it waits for a retryat after all */
		at = until;
	lost = make_stub(m->name, at <= now.mono ? m->chan : NULL,
	    late < at ? late : at, until, m->born, NULL) < 0;
	log_info("evict msg=%-s for=%ld rcpts=%u msgs=%u%s", msg_id(m),
	    at <= now.mono ? 0 : (long)(at - now.mono), m->rcpts, q.messages.n,
	    lost ? " beyond PARAMevicted" : "");
	q_forget_message(m);
}

/*
 * Of the next CHOICE messages that can leave: the one that waits longest (c
 * NULL); or of the READY ones of other channels above their shares the one that
 * was loaded last, for a message of this channel.  NULL: there is none.  The
 * search continues behind the message that it found last, so of messages that
 * wait equally long each has its turn.
 */
static struct message *
find_leaver(const struct chan *c)
{
	static unsigned bucket;
	struct message *m, *best = NULL;
	const struct chan *o = c == NULL ? NULL : q.chans;
	unsigned i, looked = 0, n = 0, of_best = 0;
	double at, until, rank, highest = 0;
	struct hlink *l;

	while (o != NULL && (o == c || !is_above_share(o, c->msgs)))
		o = o->next;
	if (c != NULL && o == NULL)
		return NULL;
	for (i = 0; i <= q.messages.mask && i < BUCKETS &&
	    looked < CHECKED_MOST && n < CHOICE; i++) {
		l = *hash_chain(&q.messages, ++bucket);
		for (; l != NULL; l = l->next, looked++) {
			m = OWNER(struct message, link, l);
			if (c != NULL && (m->chan == NULL || m->chan == c ||
			    !is_above_share(m->chan, c->msgs)))
				continue;
			at = due_if_forgotten(m, &until);
			if (at == STAYS || (at > now.mono) != (c == NULL))
				continue;
			n++;
			rank = c == NULL ? at : (double)m->loaded;
			if (best == NULL || rank > highest) {
				highest = rank;
				best = m;
				of_best = bucket;
			}
		}
	}
	if (best != NULL)
		bucket = of_best;
	return best;
}

/* Forgets a message that waits: 1, or 0 when there is none. */
static int
make_room(void)
{
	static unsigned long moves = ULONG_MAX;
	static long vain;	/* mono; when none was found, at that count of
				 * moves */
	struct message *m = NULL;

	if (q.moves != moves || NOW != vain)
		m = find_leaver(NULL);
	if (m != NULL) {
		forget(m);
		return 1;
	}
	moves = q.moves;
	vain = NOW;
	return 0;
}

/* The message was loaded though core was full: it leaves again, or a message of
 * a channel above its share leaves for it. */
static void
give_way(struct message *m)
{
	struct message *other = m->chan == NULL ? NULL :
	    find_leaver(m->chan);

	forget(other != NULL ? other : m);
}

/* ---- one message ------------------------------------------------------ */

/* Adds the recipient in c to the vertex of its thread, which the reading with
 * this number makes: 0, or -1 without memory. */
static int
add_rcpt(struct message *m, unsigned reading, const struct ctl *c)
{
	struct thread *t = th_get(th_get_channel(c->channel), c->host, 0);
	struct vertex *v;

	if (t == NULL)
		return -1;
	if (t->mark != reading) {
		t->vertex = msg_new_vertex(m, t);
		if (t->vertex == NULL)
			return -1;
		t->mark = reading;
	}
	v = t->vertex;
	if (c->delays < v->warned)
		v->warned = c->delays;
	v->box = ctl_mailbox_hash(c);
	return msg_add_rcpt(v, c->l.off);
}

/* A command on the vertex of this channel and host, if there is one; or on a
 * DSN: then none is sent on what was done before. */
static void
take_cancel(unsigned reading, struct ctl *c)
{
	const struct chan *chan = c->cancel == CANCEL_NONE ? NULL :
	    th_get_channel(c->channel);
	const struct thread *t = chan == NULL ? NULL :
	    th_lookup(chan, c->host, 0);

	if (t != NULL && t->mark == reading)
		t->vertex->cancel = c->cancel;
	else if (chan != NULL && strcmp(c->channel, "dsn") == 0 &&
	    strcmp(c->host, "delay") != 0)
		c->ndiag = c->nfailed = 0;
}

/* Seconds since this stamp; 0 when one of the clocks is wrong. */
static long
age_of(long stamp)
{
	long age = file_age(stamp);

	return age > 0 ? age : 0;
}

static void
not_now(struct ctl *c, const char *why)
{
	c->why = why;
	c->later = AGAIN;
}

/* Reads all recipients: the message, whose name has room for a hash directory;
 * or NULL, with c->why set, or without memory. */
static struct message *
read_all(struct ctl *c)
{
	static unsigned reading;
	struct message *m = mem_get(offsetof(struct message, name) +
	    strlen(c->name) + 2 * opt.levels + 1);
	int letter, bad = m == NULL;

	if (m != NULL)
		strcpy(m->name, c->name);
	reading++;
	while (!bad && c->why == NULL && (letter = ctl_next(c)) > 0)
		if (letter == 'T')
			continue;
		else if (letter == '#')
			take_cancel(reading, c);
		else if (strcmp(c->channel, "dsn") == 0)
			c->why = "a recipient has the channel dsn, which is "
			    "the scheduler's own";
		else
			bad = add_rcpt(m, reading, c) < 0;
	if (bad)
		not_now(c, "there is no memory for it");
	return m;
}

/* Sets members of the message after its file was read. */
static void
describe(struct message *m, const struct ctl *c, const struct stat *st,
    const struct past *p)
{
	struct vertex *v;

	m->nr = m->rcpts;
	m->end = END_REMOVE;
	m->since = NOW;
	m->born = p->stub ? p->born : NOW - age_of(st->st_mtime);
	m->was_forgotten = p->known;
	m->queued = NOW - age_of(c->ctime);
	spool_time(st, &m->time);
	m->failed = c->nfailed > 0;
	m->done = c->ndone > 0;
	m->dsn_newer = c->ndiag > 0;
	m->dsn_due = m->failed || m->dsn_newer;
	m->verbose = c->has_verbose != 0;
	m->wants_delay = c->asks_delay != 0;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		v->wakeup = p->until;
}

/* May the message, whose file was good, be used? */
static void
check(struct ctl *c, const struct message *m, const struct stat *st)
{
	if (m->nr > 0 && st->st_mode == 0)
		c->why = "its message file is missing";
	else if (m->nr > 0 && c->body > (unsigned long)st->st_size)
		c->why = "its body offset is behind the end of the message";
	else if (m->nr == 0)
		log_info("finished msg=%s nothing is left to deliver",
		    ctl_msg(c->name));
}

/* Puts the message into core: 0, or -1 without memory. */
static int
enter(struct message *m, struct ctl *c, const struct stat *st,
    const struct past *p)
{
	const struct vertex *v = msg_first_vertex(m);
	unsigned hosts = 0;

	msg_set_channel(m, v == NULL ? NULL : v->thread->chan);
	for (; v != NULL; v = msg_next_vertex(v))
		hosts++;
	if (q_add_message(m) < 0)
		return -1;
	if (m->nr == 0)
		return 0;
	q.total.accepted += !p->known;
	ctl_close_kept();	/* of an earlier one of that name */
	log_info("load msg=%-s rcpts=%u hosts=%u age=%ld size=%lu%-s",
	    msg_id(m), m->nr, hosts, msg_age(m), (unsigned long)st->st_size,
	    msg_log_sender(c));
	if (m->twin)
		log_warn("twin msg=%s another message has its number; no agent "
		    "gets both at once", ctl_msg(m->name));
	if (m->verbose)
		spool_log_verbose(m->name, "scheduler processing");
	if (q.largest != NULL && m->rcpts > q.largest->rcpts)
		q.largest = m;
	obey_requests(m, p->seen);
	return 0;
}

/* Obeys the T lines of the file, which was found good. */
static void
trigger(struct ctl *c)
{
	ctl_seek(c, 0);
	while (ctl_next_trigger(c)) {
		th_trigger_host(c->host);
		if (q.stubs.n > 0 &&
		    add_request(ASK_FLUSH, NULL, c->host) < 0)
			log_err("trigger host=%s no memory: forgotten mail "
			    "waits for its time", c->host);
	}
}

/* Reads the file in c, puts it into its directory, and loads it: the message,
 * or NULL.  c->why is the reason why the file cannot be used, or NULL; c->later
 * the seconds until it is tried again, or 0. */
static struct message *
read_file(struct ctl *c, struct past *p)
{
	struct message *m;
	struct vertex *v;
	struct thread *t;
	struct stat st;

	memset(&st, 0, sizeof(st));
	m = read_all(c);
	/* an agent that has a lock finds its files where they were */
	if (!c->later && spool_place_files(c->name, &st) < 0)
		not_now(c, "it cannot be moved to its directory");
	if (!c->later && !p->known && spool_was_offered(c->name, st.st_ctime))
		p->known = 1;
	if (c->why == NULL) {
		strcpy(m->name, c->name);
		describe(m, c, &st, p);
		check(c, m, &st);
	}
	if (c->why == NULL && m->nr == 0 && !m->dsn_due) {
		if (spool_remove(c->name) < 0)
			not_now(c, "its files cannot be removed");
	} else if (c->why == NULL) {
		if (enter(m, c, &st, p) == 0) {
			trigger(c);
			return m;
		}
		not_now(c, "there is no memory for it");
	}
	if (c->why == NULL)
		trigger(c);
	while (m != NULL && (v = msg_first_vertex(m)) != NULL) {
		t = v->thread;
		msg_free_vertex(v);
		th_update(t);
	}
	if (m != NULL)
		msg_free(m);
	return NULL;
}

/* The file in c is tried again later. */
static void
skip(const struct ctl *c, const struct past *p)
{
	struct skip k;

	th_sweep();	/* its threads; others may need the memory */
	k.why = c->why;
	k.pid = c->pid;
	/* a power cut may have left several locks: all count from the first */
	k.since = p->skip.why != NULL && (p->skip.pid == 0) == (c->pid == 0) ?
	    p->skip.since : NOW;
	make_stub(c->name, NULL, now.mono + c->later, p->until, p->born, &k);
}

/* Loads the file with this name, if it can be used: the message, or NULL.
 * *opened: the file was opened. */
static struct message *
load(const char *name, int *opened)
{
	static struct ctl c;	/* large, for the stack of a small host */
	struct past past;
	struct message *m = NULL;

	take_stub(name, &past);
	if (ctl_open(&c, name) == 0) {
		if (past.skip.pid != 0)
			c.since = past.skip.since;
		m = read_file(&c, &past);
	}
	*opened = c.l.fd >= 0;
	ctl_close(&c);
	if (c.why != NULL && !c.later && spool_set_aside(c.name, 0, c.why) < 0)
		not_now(&c, "it cannot be used, nor moved to postman");
	if (c.later)
		skip(&c, &past);
	if (unasked == 0)
		free_requests();
	return m;
}

const char *
in_fetch(const char *base)
{
	static struct skip k;
	char name[NAME_MAX_];
	const struct stub *s;
	int opened;

	if (spool_find_file(base, name) < 0 || message_named(name) != NULL)
		return NULL;
	if (is_full())
		make_room();	/* if there is none, it is one more */
	load(name, &opened);
	s = stub_named(name);
	return s != NULL && in_skip(s, &k) ? k.why : NULL;
}

/* ---- turns ------------------------------------------------------------ */

/*
 * While there is room for more messages, new and old mail take turns, so that
 * neither a flood of new mail nor a large old queue keeps the other out.  If
 * one has no file that can be used, the other has its turn.  When there is no
 * room the next turn is new mail's.  So while core stays full, each place that
 * becomes free goes to new mail until there is none: new mail gains most by a
 * place, and old mail has waited already.
 */
enum taken { TOOK_NONE,		/* there is no file */
	     TOOK_FILE,		/* a file that could not be used */
	     TOOK_MESSAGE };

/* take loads a message of new (0) or old (1) mail. */
static enum taken
in_turn(int *old, enum taken (*take)(int old))
{
	enum taken came = take(*old), other;

	if (came == TOOK_MESSAGE) {
		*old = !*old;
		return came;
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
	int	beyond;		/* files loaded in this pass though core was
				 * full */
	long	entries;	/* that may be checked in this pass */
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
may_load(const char *name)
{
	return message_named(name) == NULL && stub_named(name) == NULL &&
	    spool_can_load(name, is_full());
}

/* Sets step.name to the next new file: 1; 0 when there is none, or it was not
 * found yet. */
static int
find_new(void)
{
	char *name = step.name;

	if (*name != '\0')
		return 1;
	while (step.entries > 0 && spool_next_file(name)) {
		step.entries--;
		if (may_load(name))
			return 1;
	}
	*name = '\0';
	return 0;
}

/* Of the channels with READY stubs the one with the fewest messages in core, or
 * NULL. */
static struct chan *
poorest(void)
{
	struct chan *c, *best = NULL;

	for (c = q.chans; c != NULL; c = c->next)
		if (c->ready.n > 0 && (best == NULL || c->msgs < best->msgs))
			best = c;
	return best;
}

/* The stub that is loaded next, or NULL: a READY one of a channel that is not
 * above its share, or else the one that is due first. */
static const struct stub *
first_due(void)
{
	struct timer *t = heap_wait(&q.due_stubs) > 0 ? NULL :
	    heap_first(&q.due_stubs);
	struct chan *c = poorest();

	if (c != NULL && (t == NULL || !is_above_share(c, 0) ||
	    c->ready.v[0].when < heap_when(&q.due_stubs, t)))
		t = heap_first(&c->ready);
	return t == NULL ? NULL : OWNER(struct stub, due, t);
}

/* A READY message leaves core, so that one of a poorer channel comes in again:
 * 1, or 0 when there is none. */
static int
make_room_for_ready(void)
{
	const struct chan *c = poorest();
	struct message *m = c == NULL ? NULL : find_leaver(c);

	/* the other channel has one less then, and this one has one more */
	if (m == NULL || m->chan->msgs < c->msgs + 2)
		return 0;
	forget(m);
	return 1;
}

/* For in_turn. */
static enum taken
take(int old)
{
	int full = is_full(), opened = 0;
	const struct stub *s;
	struct message *m;
	char name[NAME_MAX_];

	if (old && (s = first_due()) != NULL)
		strcpy(name, s->name);
	else if (!old && find_new())
		strcpy(name, step.name);
	else
		return TOOK_NONE;
	if (!old)
		step.name[0] = '\0';
	m = message_named(name) != NULL ? NULL : load(name, &opened);
	if (opened && step.files++ == 0)
		step.began = now.mono;
	if (m == NULL)
		return TOOK_FILE;
	if (full)
		give_way(m);
	return TOOK_MESSAGE;
}

/* Loads a message when core is full: of either kind if a message that waits
 * leaves for it; else of new mail, and a READY one leaves. */
static enum taken
take_beyond(void)
{
	int n;

	step.old = 0;
	/* new files first, so that the scan goes on */
	if (!find_new() && first_due() == NULL)
		return TOOK_NONE;
	/* after a reload there may be more in core than PARAMactive */
	for (n = 0; is_full() && n < BATCH_FILES && make_room(); n++)
		;
	if (!is_full())
		return in_turn(&step.old, take);
	if (step.beyond == BATCH_BEYOND)
		return TOOK_NONE;
	if (step.name[0] != '\0' && !stubs_are_full()) {
		step.beyond++;
		return take(0);
	}
	if (make_room_for_ready())
		return take(1);
	step.blocked = 1;
	return TOOK_NONE;
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
	enum taken came = TOOK_FILE;
	int n;

	spool_note_changes();
	step.entries = BATCH_ENTRIES;
	step.blocked = step.beyond = 0;
	for (n = 0; n < BATCH_FILES && now.mono >= step.paused; n++) {
		if (is_enough()) {
			step.paused = now.mono + PAUSE;
			step.files = 0;
			break;
		}
		came = is_full() ? take_beyond() : in_turn(&step.old, take);
		if (came == TOOK_NONE)
			break;
	}
	if (came == TOOK_NONE && !is_full() && step.entries > 0)
		step.files = 0;		/* the scan has seen all */
	if (!q.loaded)
		end_first_scan();
	return n == BATCH_FILES || step.beyond == BATCH_BEYOND ||
	    (came == TOOK_NONE && !step.blocked && step.entries == 0);
}

/* Datagrams wait while no message may be loaded. */
double
in_prep(fd_set *in, int *max)
{
	double wait = step.paused - now.mono, later = heap_wait(&q.due_stubs);

	if (wait > 0)
		return wait;
	if (step.blocked)
		return NO_ROOM;
	wait = spool_prep(in, max);
	return wait < later ? wait : later;
}
