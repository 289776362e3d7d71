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
 * host.  During the reading of a file the thread points to that vertex:
 *
 *	r line for smtp/a.example	thread->new_vertex is NULL: a vertex is
 *					made, and new_vertex points to it
 *	another one			the recipient joins new_vertex
 *	end of the file			new_vertex is NULL again
 *
 * So n recipients cost O(n), whatever the number of hosts.  Vertices are put
 * on their threads after the whole file was read.  If it is bad they are freed,
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
 * Room.  PARAMactive bounds the messages in core, and PARAMrecipients bounds
 * their recipients.  The recipients of the message that has the most of them do
 * not count: so any message fits, and a message to many recipients keeps no
 * other mail out.  Messages that the agent dsn has, and messages that are held
 * by name, do not count: a dsn that hangs, or a hold, keeps no mail out.  When
 * core is full and mail waits on disk, a message leaves for each that comes:
 *
 *	1. one whose vertices all wait: of ten such messages, the one that is
 *	   farthest from its next try
 *	2. if no message waits, the new message is loaded all the same; then a
 *	   READY message leaves, of another channel that has more than its share
 *	   of messages, and at least as many as the channel of the new message.
 *	   The share is PARAMactive divided by the number of channels with mail
 *	   in core; while recipients fill core, every channel counts as above
 *	   its share.  If no other channel is above its share and has as many
 *	   messages, the new message itself leaves, as the messages in core are
 *	   to be delivered before it.
 *
 * A message for several channels counts for only one of them.  If a vertex can
 * go, or an agent has one, it is the channel of that vertex, as the vertex
 * keeps the message in core (th_update_channel).
 *
 * So a channel that hangs while it has all of core falls to its share as soon
 * as there is mail for another one.  A message with an agent, and one that is
 * held by its name, stay.
 *
 * Stubs.  A stub is due when the first vertex of its message is due.  If other
 * vertices have a retryat in the hour after that, the stub is due at the latest
 * of them (see latest_retry_in_hour).  If a warning is due before, so is the
 * stub.  The stub of a READY message is due at once; but if other vertices
 * wait, it is due at the end of their wait, or after an hour if that is
 * earlier.  Some vertices wait without a time, for example one whose address is
 * held, or one that has no command: the file is read after an hour.  When the
 * message is loaded, its age gives its vertices their places in the retry list,
 * and none goes before its time.  After a reload of the configuration all stubs
 * are due, as mail may expire sooner.
 *
 * Stubs that are due wait for room, the oldest first; but those of the channel
 * with the fewest messages in core go before those of others, and a READY
 * message of another channel above its share leaves for each of them.  After an
 * hour without room a stub is overdue: its message is loaded without room, gets
 * its warning or expires, and leaves again.
 *
 * PARAMevicted bounds the stubs.  A message that is forgotten at this bound
 * gets no stub: core keeps only the time at which the directory of its file is
 * read again (spool.c).  At this bound, new mail is loaded without room only
 * when core has had no room for ten seconds.  So mail of other channels is
 * found, even if the scan meets it after much mail of a channel that hangs.
 * When a message has left for such mail, the next new file is read when core
 * has room again or after a second: first an agent gets the mail.
 *
 * Requests.  A T line, a flush, the end of a hold and a delete or bounce by
 * pattern reach forgotten mail by a lap, which reads the files of all stubs:
 *
 *	bounce smtp/a.test	request 5; each stub is due, as none has seen 5
 *	1001-1 is loaded	it is for a.test, and is bounced
 *	1000-1 is loaded	it is for b.test, and waits for its time
 *	each stub has seen 5	the lap is over, and request 5 is freed
 *
 * Requests that come during a lap join it.  Files without a stub are not
 * reached: nothing tells whether such a file is older than the request.
 *
 * Costs.  The search for a message that leaves is O(vertices of the messages
 * that it checks).  A search for one that waits checks the 64 messages that
 * began to wait last (note_leaver), up to the first that can leave, and then
 * fifty buckets behind that one.  If none of the 64 can leave, it checks up to
 * all messages.  If none of all can leave, later searches check only messages
 * that were noted since.  A search for a READY one checks up to a thousand
 * messages.
 */
#include "scheduler.h"

#define BATCH_FILES	200	/* files loaded in one pass */
#define BATCH_BEYOND	25	/* files loaded in one pass with core full */
#define BATCH_ENTRIES	4000	/* directory entries checked in one pass */
#define AGAIN		30	/* seconds until a failed file is tried again */
#define PAUSE		0.9	/* seconds until the next scan, if the bound of
				 * -E has ended this one */
#define STALLED		10	/* seconds without room, after which new mail is
				 * loaded though PARAMevicted allows no further
				 * stub */
#define STUBLESS	900	/* seconds until the directory of a READY
				 * message or of a skipped file without a stub
				 * is read again */
#define NO_ROOM		1.0	/* seconds until core is checked for room, if
				 * nothing happens before; and, at the bound of
				 * stubs, between two new messages for which
				 * others left, if core gets no room before */
#define CHECK		3600	/* seconds until the file of a vertex that waits
				 * without a time is read */
#define TOGETHER	3600	/* seconds by which the wait of one vertex may
				 * delay the stub of a message */
#define REQUEST_MOST	32767U	/* largest number of a request; 15 bits */
#define CHOICE		10	/* messages that can leave among which one is
				 * chosen */
#define CHECKED_MOST	1000	/* messages checked for a READY one */
#define CHECKED_NEAR	50	/* buckets of q.messages checked behind a
				 * message that can leave */
#define BUCKETS		10000	/* buckets of q.messages checked for a READY
				 * message */

/*
 * stub: what core keeps of a forgotten message.  The file is read when the stub
 * is due.  Where pointers have eight bytes, a stub with a name of up to 7 bytes
 * and its places in a hash and a heap need 64 bytes, and with malloc 70 to 85.
 * Costs: O(1) to find a stub by its number, O(log stubs) for its timer.
 */
struct stub {
	struct hlink link;	/* by the number of the name */
	struct timer due;	/* in stubs_by_due: when the file is read */
	int	until;		/* mono; earliest time for a vertex of the
				 * message to go */
	int	born;		/* mono; born of the message */
	unsigned mtime : 14;	/* MTIME_BITS of the message file */
	unsigned seen : 15;	/* number of the last request that the message
				 * has been checked for */
	unsigned triggered : 1;	/* is_triggered of the message */
	unsigned known : 1;	/* the message was in core before */
	unsigned is_skipped : 1;	/* a struct skip follows the name */
	char	name[1];	/* with hash directories: "X/Y/123-45" */
};

/* 14 bits of a struct spool_time. */
#define MTIME_BITS(t)	(((t).s + (t).ns) & 0x3fff)

static struct hash stubs;	/* all stubs, by num */
static struct heap skipped_stubs;	/* stubs of skipped files, by due */

/* message_named and stub_named return what has this name, directories included;
 * or NULL. */
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
	struct hlink *l = hash_first(&stubs, name_num(name));

	for (; l != NULL; l = hash_next(l))
		if (strcmp(OWNER(struct stub, link, l)->name, name) == 0)
			return OWNER(struct stub, link, l);
	return NULL;
}

/* ---- stubs ------------------------------------------------------------ */

/* Returns the stubs of the channel, by due; or, if c is NULL, those of skipped
 * files, whose channels are not known. */
static struct heap *
stubs_by_due(struct chan *c)
{
	return c == NULL ? &skipped_stubs : &c->stubs;
}

/* past: what is known of a message before its file is read. */
struct past {
	struct stub stub;	/* copy of its stub, without name and link; if
				 * the message is new, seen is last_request, and
				 * the other members are 0 */
	int	has_born;	/* 1: born and mtime of the stub are set */
	int	had_no_room;	/* 1: the stub was due for an hour */
	struct skip skip;	/* why NULL: the file was not skipped */
};

static unsigned last_request;	/* number of the last request, at most
				 * REQUEST_MOST */
static unsigned stubs_behind;	/* stubs that have not seen all requests */

/* Returns 1 if there are as many stubs as PARAMevicted allows. */
static int
is_stub_limit_reached(void)
{
	return q.config->evicted > 0 &&
	    stubs.n >= (unsigned)q.config->evicted;
}

/* Copies the struct skip of the stub; why is NULL if it has none. */
static void
get_skip(const struct stub *s, struct skip *k)
{
	memset(k, 0, sizeof(*k));
	if (s->is_skipped)
		memcpy(k, s->name + strlen(s->name) + 1, sizeof(*k));
}

const char *
in_next_stub(struct hlink **at, struct skip *k, long *age, double *due)
{
	const struct stub *s;

	*at = hash_each(&stubs, *at);
	if (*at == NULL)
		return NULL;
	s = OWNER(struct stub, link, *at);
	get_skip(s, k);
	*age = NOW - s->born;
	if (s->is_skipped)
		*due = heap_when(&skipped_stubs, &s->due);
	return s->name;
}

/* Makes a stub that has seen all requests and is due at this time, mono.  c is
 * the channel that counts the message.  k is the skip of a skipped file, for
 * which c is NULL; else NULL.  Returns the stub, whose other members are 0; or
 * NULL without memory or if PARAMevicted allows no further stub: then the
 * directory of the file is read again at that time; or after STUBLESS seconds
 * for a READY message and a skipped file.  A locked file gets a stub even at
 * that bound, as a request may wait for the end of the lock.  The bound is
 * exceeded by little, as there are no more locks than an earlier scheduler had
 * agents. */
static struct stub *
make_stub(const char *name, struct chan *c, double at, const struct skip *k)
{
	struct heap *h = stubs_by_due(c);
	size_t len = strlen(name) + 1;
	struct stub *s = NULL;
	int is_locked = k != NULL && k->pid != 0;

	if ((is_locked || !is_stub_limit_reached()) &&
	    heap_reserve(h, h->n) == 0)
		s = mem_get(offsetof(struct stub, name) + len +
		    (k == NULL ? 0 : sizeof(*k)));
	if (s == NULL) {
		spool_reread_at(name, at <= now.mono || k != NULL ?
		    now.mono + STUBLESS : at);
		return NULL;
	}
	memcpy(s->name, name, len);
	s->seen = last_request;
	s->is_skipped = k != NULL;
	if (k != NULL)
		memcpy(s->name + len, k, sizeof(*k));
	hash_add(&stubs, &s->link, name_num(name));
	heap_set(h, &s->due, at);
	return s;
}

/* Frees the stub with this name, if there is one, and sets *p to what the stub
 * tells of the message. */
static void
remove_stub(const char *name, struct past *p)
{
	struct stub *s = stub_named(name);
	struct heap *h = &skipped_stubs;
	struct chan *c;

	memset(p, 0, sizeof(*p));
	p->stub.seen = last_request;	/* requests are not for new mail */
	if (s == NULL)
		return;
	memcpy(&p->stub, s, offsetof(struct stub, name));
	p->has_born = !s->is_skipped;
	get_skip(s, &p->skip);
	stubs_behind -= s->seen < last_request;
	hash_del(&stubs, &s->link);
	for (c = q.chans; s->due.pos > h->n ||
	    h->v[s->due.pos - 1].timer != &s->due; c = c->next)
		h = &c->stubs;
	/* if the stub has not seen all requests, a delete or bounce may have
	 * made it overdue: then it need not have been due for an hour */
	p->had_no_room = s->seen == last_request &&
	    heap_when(h, &s->due) + CHECK <= now.mono;
	heap_del(h, &s->due);
	if (h->n == 0) {
		free(h->v);
		memset(h, 0, sizeof(*h));
	}
	free(s);
}

/* ---- requests --------------------------------------------------------- */

/* request: a T line or a command of an operator, kept during its lap. */
struct request {
	struct request *next;
	struct hlink link;	/* in requests_of_hosts */
	unsigned number;	/* from 1; a T line that comes again gets a new
				 * number */
	enum request_kind kind;
	char	**patterns;	/* of addresses; NULL: all, if host is "" */
	char	host[1];	/* of a T line, or "" */
};

static struct request *requests;
static struct hash requests_of_hosts;	/* all requests, by host */
static double lap_at = NEVER;	/* mono; in the next pass all stubs that are
				 * due later become due at this time */

/* Frees all requests if their lap is over. */
static void
end_lap(void)
{
	struct request *r;

	if (stubs_behind > 0)
		return;
	while ((r = requests) != NULL) {
		requests = r->next;
		hash_del(&requests_of_hosts, &r->link);
		pat_free(r->patterns);
		free(r);
	}
}

/* Adds a request.  All stubs become due at the next pass.  For a delete or
 * bounce they become overdue, so that their files are read even without room,
 * and the command is written to each file that it is for.  Returns 0; or -1
 * without memory, or when there are too many requests. */
static int
add_request(enum request_kind kind, char **patterns, const char *host)
{
	struct request *r = NULL;
	struct hlink *l = NULL;

	end_lap();
	if (requests == NULL) {		/* numbers begin again */
		last_request = 0;
		while ((l = hash_each(&stubs, l)) != NULL)
			OWNER(struct stub, link, l)->seen = 0;
	}
	if (last_request == REQUEST_MOST)
		return -1;
	/* a second T line for a host uses the request of the first one */
	l = *host == '\0' ? NULL :
	    hash_first(&requests_of_hosts, hash_text(host, 0));
	for (; l != NULL && r == NULL; l = hash_next(l))
		if (strcmp(OWNER(struct request, link, l)->host, host) == 0)
			r = OWNER(struct request, link, l);
	if (r == NULL) {
		r = mem_get(sizeof(*r) + strlen(host));
		if (r == NULL)
			return -1;
		r->kind = kind;
		r->patterns = patterns;
		strcpy(r->host, host);
		hash_add(&requests_of_hosts, &r->link, hash_text(host, 0));
		r->next = requests;
		requests = r;
	}
	r->number = ++last_request;
	stubs_behind = stubs.n;
	if (kind == REQUEST_DELETE || kind == REQUEST_BOUNCE)
		lap_at = -NEVER;
	else if (now.mono < lap_at)
		lap_at = now.mono;
	return 0;
}

long
in_add_request(enum request_kind kind, char **patterns)
{
	if (stubs.n > 0 && add_request(kind, patterns, "") == 0)
		return stubs.n;
	pat_free(patterns);
	return stubs.n > 0 ? -1 : 0;
}

/* Ends the vertex in a later pass.  If the command cannot be written to the
 * file, core alone keeps the command: q_cancel_vertex does not write a command
 * that is in v->cancel already. */
static void
cancel_later(struct vertex *v, enum cancel how)
{
	if (q_cancel_vertex(v, how, 1) == OUT_FAILED) {
		v->cancel = how;
		q_cancel_vertex(v, how, 1);
	}
}

/* Executes on the vertex the requests with numbers above seen that are T lines
 * for this host; or, if host is "", the commands of operators.  The first
 * delete or bounce counts, as it does for a vertex in core. */
static void
apply_requests(struct vertex *v, const char *host, unsigned seen)
{
	struct hlink *l = hash_first(&requests_of_hosts, hash_text(host, 0));
	const struct request *r, *end = NULL;

	if (v->state == V_DONE || v->state == V_PINNED)
		return;
	for (; l != NULL; l = hash_next(l)) {
		r = OWNER(struct request, link, l);
		if (r->number <= seen || strcmp(r->host, host) != 0 ||
		    !th_is_matched(v->thread, r->patterns))
			continue;
		if (r->kind == REQUEST_WAKE)
			th_requeue(v, 0, 0);
		else if (r->kind == REQUEST_FLUSH && v->thread->held == NULL)
			th_flush(v->thread, v, 0);
		else if (r->kind != REQUEST_FLUSH &&
		    (end == NULL || r->number < end->number))
			end = r;
	}
	if (end != NULL)
		cancel_later(v, end->kind == REQUEST_DELETE ? CANCEL_DELETE :
		    CANCEL_BOUNCE);
}

/* Executes the commands in the file of the message, the T line that made it
 * READY before it left core, and the requests that it has not seen. */
static void
apply_commands(struct message *m, const struct past *p)
{
	struct vertex *v;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		if (v->cancel != CANCEL_NONE && v->state != V_DONE)
			q_cancel_vertex(v, v->cancel, 1);
		if (p->stub.triggered && v->thread->ring->conf->v.queueonly &&
		    v->thread->held == NULL && (v->state == V_READY ||
		    v->state == V_WAIT))
			th_flush(v->thread, v, 0);
		if (requests == NULL || th_is_dsn(v->thread))
			continue;
		apply_requests(v, "", p->stub.seen);
		apply_requests(v, v->thread->host, p->stub.seen);
	}
}

/* Returns 1 if a request with a number above seen deletes the DSN of the
 * message, whose recipients are all done. */
static int
is_dsn_deleted_by_request(const struct message *m, unsigned seen)
{
	const struct request *r = requests;

	while (r != NULL && (r->number <= seen || r->kind != REQUEST_DELETE ||
	    !pat_matches_address(r->patterns, m->failed ? "dsn/failure" :
	    "dsn/success")))
		r = r->next;
	return r != NULL;
}

/* ---- room in core ------------------------------------------------------ */

/* What the last searches in q.messages have found. */
static struct {
	long	largest_at;	/* mono; when q.largest and held_rcpts were
				 * set */
	unsigned held_rcpts;	/* recipients of messages held by name */
	unsigned bucket;	/* the next search begins behind this bucket */
	unsigned long nleavers;	/* how many of the q.nleavers notes were
				 * examined */
	int	none_waits;	/* 1: the last search of all messages found none
				 * that waits, so only a message noted after
				 * that search may wait */
} found;

/* Sets q.largest and found.held_rcpts, unless they were set in this second. */
static void
update_largest_message(void)
{
	struct hlink *l = NULL;
	struct message *m;

	if (q.largest != NULL && found.largest_at == NOW)
		return;
	found.largest_at = NOW;
	found.held_rcpts = 0;
	q.largest = NULL;
	while ((l = hash_each(&q.messages, l)) != NULL) {
		m = OWNER(struct message, link, l);
		if (m->held)
			found.held_rcpts += m->rcpts;
		else if (q.largest == NULL || m->rcpts > q.largest->rcpts)
			q.largest = m;
	}
}

/* Returns 1 if core has no room for further recipients. */
static int
is_full_of_rcpts(void)
{
	unsigned rcpts = q.config->recipients;

	if (rcpts == 0 || q.rcpts < rcpts)
		return 0;
	update_largest_message();
	return q.rcpts >= rcpts + found.held_rcpts +
	    (q.largest == NULL ? 0 : q.largest->rcpts);
}

/* Returns 1 if core has n messages more than PARAMactive allows. */
static int
is_core_over_by(unsigned n)
{
	unsigned msgs = q.config->active;

	return msgs > 0 && q.messages.n >= q.nheld + q.nfed_dsn + msgs + n;
}

/* Returns 1 if core has no room for one message more. */
static int
is_core_full(void)
{
	return is_core_over_by(0) || is_full_of_rcpts();
}

/* Room is needed for a message of the channel c.  Returns 1 if the other
 * channel has more messages in core than its share, and not fewer than c has.
 * While recipients fill core, every channel counts as above its share. */
static int
is_above_share(const struct chan *other, const struct chan *c)
{
	const struct chan *each;
	double nchans = 0;

	for (each = q.chans; each != NULL; each = each->next)
		nchans += each->msgs > 0 || each == c;
	return other != c && other->msgs >= c->msgs &&
	    (other->msgs * nchans > q.config->active || is_full_of_rcpts());
}

/* Returns the time at which the vertex is due, mono, not later than its expiry;
 * a READY vertex is due in the past, unless its host is dead or its ring pauses
 * after a failed start.  Sets *timeless to 1 if the vertex waits for an event
 * that has no time; then returns the time of the next check. */
static double
vertex_due(const struct vertex *v, int *timeless)
{
	const struct setting *s = &v->thread->ring->conf->v;
	double at, end = v->msg->born + s->expiry;
	enum why why = th_why(v, &at);

	/* held address, frozen, no command, queueonly; a message that is held
	 * by name stays in core */
	*timeless = why >= WHY_HELD && why <= WHY_QUEUEONLY;
	if (*timeless)
		at = now.mono + CHECK;
	if (at <= now.mono || WHY_KEPT(why) || s->expiry == 0)
		return at;
	/* past its expiry only untried mail is left, which expires expiry2
	 * later */
	if (end <= now.mono)
		end += s->expiry2;
	return end > now.mono && end < at ? end : at;
}

#define STAYS	(-1.0)

static const struct chan no_channel;	/* has no messages */

/* Returns the end of the wait of the message, mono.  The argument "first" is
 * the time at which its first vertex is due, or now if one is due already.  If
 * no vertex is due already, the result is the latest retryat in the TOGETHER
 * seconds after first, or first if there is none.  If a vertex is due already,
 * the result is the latest time of the vertices in WAIT, but at most TOGETHER
 * seconds after first; or first if no vertex is in WAIT.  If the times of
 * vertices in WAIT did not count in this case, these vertices would be tried
 * early whenever the message leaves core and is loaded again. */
static double
latest_retry_in_hour(const struct message *m, double first)
{
	const struct vertex *v;
	double last = first, most = first + TOGETHER, at;
	int is_ready = first <= now.mono;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		if (v->state != V_WAIT || (!is_ready && (!v->dated ||
		    v->wakeup > most)))
			continue;
		at = v->wakeup < most ? v->wakeup : most;
		last = at > last ? at : last;
	}
	return last;
}

/* Returns 1 if a T line or a flush lets all queueonly vertices go.  If it lets
 * only some of them go, the T line is lost when the message leaves, as a stub
 * does not know which. */
static int
is_triggered(const struct message *m)
{
	const struct vertex *v;
	int triggered = 0;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		if (v->state != V_DONE && v->thread->ring->conf->v.queueonly) {
			if (v->state != V_READY || !v->thread->triggered)
				return 0;
			triggered = 1;
		}
	return triggered;
}

/* Returns when the file of the message is due if the message leaves core now,
 * mono; or STAYS if the message cannot leave.  The time is in the past if a
 * vertex is due; this module calls such a message READY.  Sets *until to the
 * time, mono, until which all its vertices wait when the message is loaded
 * again: the result of latest_retry_in_hour, or 0 if no vertex has a time. */
static double
stub_due(const struct message *m, double *until)
{
	const struct vertex *v;
	double at, first = NEVER;	/* first vertex that has a time */
	double check = NEVER;		/* next check of a vertex without one */
	int timeless;

	*until = 0;
	if (m->held || m->untagged || m->nfed > 0 ||
	    q_next_warning(m) <= now.mono)
		return STAYS;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		if (v->state == V_PINNED)	/* to be deleted or bounced */
			return STAYS;
		if (v->state == V_DONE)
			continue;
		at = vertex_due(v, &timeless);
		if (timeless)
			check = at < check ? at : check;
		else
			first = at < first ? at : first;
	}
	at = first;
	if (first < NEVER) {
		*until = latest_retry_in_hour(m, first > now.mono ? first :
		    now.mono);
		if (first > now.mono)	/* no vertex is due */
			at = *until;
	}
	at = check < at ? check : at;
	return at < NEVER ? at : STAYS;
}

/* Removes the message from core and makes its stub, if it can leave. */
static void
forget_message(struct message *m)
{
	double warning = q_next_warning(m);
	double until, at = stub_due(m, &until);
	struct stub *s;

	if (at == STAYS)
		return;
	/* If a vertex is due and others wait, until is the end of their wait.
	 * If all vertices are due, until is now. */
	if (at <= now.mono)
		at = until;
	s = make_stub(m->name, m->chan, warning < at ? warning : at, NULL);
	if (s != NULL) {
		s->until = until;
		s->born = m->born;
		s->mtime = MTIME_BITS(m->time);
		s->triggered = is_triggered(m);
		s->known = 1;
	}
	log_info("evict msg=%s for=%ld rcpts=%u msgs=%u%s", msg_log_name(m),
	    at <= now.mono ? 0 : (long)(at - now.mono), m->rcpts, q.messages.n,
	    s == NULL ? " beyond PARAMevicted" : "");
	q_unload_message(m);
}

/*
 * Chooses one of the next CHOICE messages that can leave, or NULL.  It checks
 * at most CHECKED_NEAR buckets behind the first message that can leave.  If c
 * is NULL, messages that wait can leave, and the one that is due last is
 * chosen.  If c is not NULL, room is needed for a message of the channel c: of
 * CHECKED_MOST messages, READY ones of other channels above their shares can
 * leave, and the one loaded last is chosen, if possible one without a vertex
 * that waits.  The next search begins behind the chosen message, so messages
 * that are due at the same time take turns.
 */
static struct message *
choose_leaver(const struct chan *c)
{
	struct message *m, *best = NULL;
	const struct chan *o = c == NULL ? NULL : q.chans;
	unsigned i, looked = 0, n = 0, of_best = 0;
	unsigned most = c == NULL ? q.messages.n : CHECKED_MOST;
	unsigned last = c == NULL ? q.messages.mask : BUCKETS;
	double at, until, rank, highest = 0;
	struct hlink *l;

	while (o != NULL && !is_above_share(o, c))
		o = o->next;
	if (c != NULL && o == NULL)
		return NULL;
	for (i = 0; i <= q.messages.mask && i <= last && looked < most &&
	    n < CHOICE; i++) {
		l = *hash_chain(&q.messages, ++found.bucket);
		for (; l != NULL; l = l->next, looked++) {
			m = OWNER(struct message, link, l);
			if (c != NULL && (m->chan == NULL ||
			    !is_above_share(m->chan, c)))
				continue;
			at = stub_due(m, &until);
			if (at == STAYS || (at > now.mono) != (c == NULL))
				continue;
			n++;
			last = last < i + CHECKED_NEAR ? last :
			    i + CHECKED_NEAR;
			rank = c == NULL ? at : (double)m->load_event;
			if (c != NULL && until > now.mono)
				rank = -until;	/* its READY vertices would have
						 * to wait for the others */
			if (best == NULL || rank > highest) {
				highest = rank;
				best = m;
				of_best = found.bucket;
			}
		}
	}
	if (best != NULL)
		found.bucket = of_best;
	return best;
}

/* Returns a message with this number that waits, or NULL. */
static struct message *
find_waiting_message(unsigned long num)
{
	struct message *m = msg_find_number(num, NULL);
	double until;

	while (m != NULL && stub_due(m, &until) <= now.mono)
		m = msg_find_number(num, m);
	return m;
}

/* Forgets a message that waits: 0, or -1 if there is none.  The search is near
 * the first noted message that waits.  If no noted message waits, all messages
 * are searched, but not while found.none_waits is 1. */
static int
forget_waiting_message(void)
{
	struct message *m = NULL;
	unsigned long num = 0;

	if (q.nleavers - found.nleavers > LEAVERS) {	/* q.leavers has lost
							 * numbers */
		found.nleavers = q.nleavers - LEAVERS;
		found.none_waits = 0;
	}
	for (; found.nleavers != q.nleavers; found.nleavers++) {
		num = q.leavers[found.nleavers % LEAVERS];
		if ((m = find_waiting_message(num)) != NULL)
			break;	/* m stays noted until it leaves */
		if (num == 0)
			found.none_waits = 0;
	}
	if (m != NULL)
		found.bucket = num - 1;
	if (m != NULL || !found.none_waits)
		m = choose_leaver(NULL);
	if (m == NULL) {
		found.none_waits = 1;
		return -1;
	}
	forget_message(m);
	return 0;
}

/* ---- one message ------------------------------------------------------ */

/* Adds the recipient in c to the vertex of its thread, which is made
 * if there is none: 0, or -1 without memory. */
static int
add_rcpt(struct message *m, const struct ctl *c)
{
	struct thread *t = th_get(th_get_channel(c->channel), c->host, 0);
	struct vertex *v;

	if (t == NULL)
		return -1;
	if (t->new_vertex == NULL)
		t->new_vertex = msg_new_vertex(m, t);
	v = t->new_vertex;
	if (v == NULL)
		return -1;
	if (c->delays < v->warned)
		v->warned = c->delays;
	v->box = ctl_mailbox_hash(c);
	return msg_add_rcpt(v, c->l.off);
}

/* Gives the command of a line to the vertex of this channel and host.  A
 * command on the DSN cancels the DSN on all recipients that were done before:
 * only diagnostic lines behind the command count (ndiag). */
static void
apply_cancel(struct message *m, struct ctl *c)
{
	const struct chan *chan = c->cancel == CANCEL_NONE ? NULL :
	    th_get_channel(c->channel);
	const struct thread *t = chan == NULL ? NULL :
	    th_lookup(chan, c->host, 0);

	if (t != NULL && t->new_vertex != NULL)
		t->new_vertex->cancel = c->cancel;
	else if (chan != NULL && strcmp(c->channel, "dsn") == 0 &&
	    strcmp(c->host, "delay") != 0)
		m->dsn_due = c->ndiag = 0;
	else if (chan != NULL && strcmp(c->channel, "dsn") == 0)
		c->has_delays = 0;
}

/* Returns the seconds since this stamp; 0 when one of the clocks is wrong. */
static long
stamp_age(long stamp)
{
	long age = file_age(stamp);

	return age > 0 ? age : 0;
}

/* Marks the file as skipped, for this reason. */
static void
set_skipped(struct ctl *c, const char *why)
{
	c->why = why;
	c->later = AGAIN;
}

/* Adds all recipients of the file to the message: 0, or -1 without memory.  If
 * the file cannot be used, sets c->why. */
static int
add_rcpts(struct message *m, struct ctl *c)
{
	int letter, bad = 0;
	struct vertex *v;

	m->dsn_due = 1;		/* unless apply_cancel clears it */
	while (!bad && c->why == NULL &&
	    (letter = ctl_next_pending_line(c)) > 0)
		if (letter == '#')
			apply_cancel(m, c);
		else if (strcmp(c->channel, "dsn") == 0)
			c->why = "a recipient has the channel dsn, which is "
			    "the scheduler's own";
		else
			bad = add_rcpt(m, c) < 0;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		v->thread->new_vertex = NULL;
	return bad ? -1 : 0;
}

/* Sets members of the message after its file was read. */
static void
init_message(struct message *m, const struct ctl *c, const struct stat *st,
    const struct past *p)
{
	struct vertex *v;

	m->nr = m->rcpts;
	m->end = END_REMOVE;
	/* a message that has waited an hour for room counts as loaded an hour
	 * ago, so that its expiry or warning does not wait another minute for
	 * a first try */
	m->loaded_at = p->had_no_room ? NOW - CHECK : NOW;
	m->born = p->has_born ? p->stub.born : NOW - stamp_age(st->st_mtime);
	m->was_forgotten = p->stub.known || p->skip.at_start;
	m->queued = NOW - stamp_age(c->ctime);
	spool_time(st, &m->time);
	m->failed = c->nfailed > 0;
	m->some_done = c->ndelivered > 0;
	m->dsn_stale = c->ndiag > 0;
	m->has_delays = c->has_delays != 0;
	m->dsn_due = (m->dsn_due && m->failed) || m->dsn_stale;
	m->verbose = c->has_verbose != 0;
	m->notify = c->all_notify;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
		v->wakeup = p->stub.until;
}

/* Puts the message into core: 0, or -1 without memory. */
static int
add_to_core(struct message *m, struct ctl *c, const struct stat *st,
    const struct past *p)
{
	unsigned hosts = m->nvertices;

	if (q_add_message(m) < 0)
		return -1;
	if (m->nr == 0)
		return 0;
	q.total.accepted += !p->stub.known;
	ctl_close_kept();	/* an earlier file of that name may be open */
	log_info("load msg=%s rcpts=%u hosts=%u age=%ld size=%lu%-s",
	    msg_log_name(m), m->nr, hosts, msg_age(m),
	    (unsigned long)st->st_size, msg_sender_fields(c));
	if (m->has_twin)
		log_warn("twin msg=%s another message has its number; no agent "
		    "gets both at once", ctl_log_name(m->name));
	if (m->verbose)
		spool_log_verbose(m->name, "scheduler processing");
	if (q.largest != NULL && !m->held && m->rcpts > q.largest->rcpts)
		q.largest = m;
	apply_commands(m, p);
	return 0;
}

/* Executes the T lines of a file that was found good. */
static void
apply_triggers(struct ctl *c)
{
	ctl_seek(c, 0);
	while (c->ntrigger > 0 && ctl_next_trigger(c)) {
		th_trigger_host(c->host);
		if (stubs.n > 0 &&
		    add_request(REQUEST_FLUSH, NULL, c->host) < 0)
			log_err("trigger host=%s forgotten mail cannot be "
			    "tried now", c->host);
	}
}

/* Reads the file in c, puts it into its directory, and loads it.  Returns the
 * message, or NULL.  c->why is the reason why the file cannot be used, or NULL;
 * c->later the seconds until the next look at the file, or 0. */
static struct message *
load_open_file(struct ctl *c, struct past *p)
{
	struct message *m;
	struct vertex *v;
	struct thread *t;
	struct stat st;
	struct spool_time time;
	struct past old;

	memset(&st, 0, sizeof(st));
	m = mem_get(offsetof(struct message, name) + strlen(c->name) +
	    2 * opt.levels + 1);	/* room for hash directories */
	if (m == NULL || add_rcpts(m, c) < 0)
		set_skipped(c, "there is no memory for it");
	/* while an agent has locked a recipient, the files stay where they
	 * are */
	if (!c->later && spool_place_files(c->name, &st) < 0)
		set_skipped(c, "it cannot be moved to its directory");
	/* spool_place_files may have changed the name, and there may be a stub
	 * with the name that the file has now */
	if (opt.levels > 0)
		remove_stub(c->name, &old);
	/* The name has an inode number, which the system uses again.  If the
	 * stub has another time of the message file, the stub was that of an
	 * earlier message with this name. */
	spool_time(&st, &time);
	if (!c->later && p->has_born && p->stub.mtime != MTIME_BITS(time)) {
		memset(p, 0, sizeof(*p));
		p->stub.seen = last_request;
	}
	if (!c->later && !p->stub.known && p->skip.why == NULL)
		p->stub.known = spool_was_scanned(c->name, &st);
	if (c->why == NULL) {
		strcpy(m->name, c->name);
		init_message(m, c, &st, p);
		if (m->nr == 0)
			log_info("finished msg=%s nothing is left to deliver",
			    ctl_log_name(c->name));
		else if (st.st_mode == 0)
			c->why = "its message file is missing";
		else if (c->body > (unsigned long)st.st_size)
			c->why = "its body offset is behind the end of the "
			    "message";
	}
	if (c->why == NULL && m->nr == 0 &&
	    is_dsn_deleted_by_request(m, p->stub.seen))
		m->dsn_due = 0;
	if (c->why == NULL && m->nr == 0 && !m->dsn_due) {
		if (spool_remove(c->name) < 0)
			set_skipped(c, "its files cannot be removed");
	} else if (c->why == NULL) {
		if (add_to_core(m, c, &st, p) == 0) {
			/* the T lines of a known file were executed before */
			if (!p->stub.known)
				apply_triggers(c);
			return m;
		}
		set_skipped(c, "there is no memory for it");
	}
	if (c->why == NULL)
		apply_triggers(c);
	while (m != NULL && (v = msg_first_vertex(m)) != NULL) {
		t = v->thread;
		msg_free_vertex(v);
		th_update(t);
	}
	if (m != NULL)
		msg_free(m);
	return NULL;
}

/* Makes a stub of a file that is skipped. */
static void
skip_file(const struct ctl *c, const struct past *p)
{
	struct stub *s;
	struct skip k;

	th_sweep();	/* memory may be short: this frees empty threads */
	k.why = c->why;
	k.pid = c->pid;
	/* A locked file keeps the time of its first lock.  A power cut may
	 * leave the locks of several processes, and the time for which locks
	 * are believed does not begin anew with each of them.  Other skipped
	 * files keep the time of their first skip. */
	k.since = NOW;
	k.at_start = p->skip.why != NULL ? p->skip.at_start : !q.start_loaded;
	if (p->skip.why != NULL && (p->skip.pid == 0) == (c->pid == 0))
		k.since = p->skip.since;
	/* a request waits for a locked file; a file with an error counts as
	 * having seen all requests, as the error may last for ever */
	s = make_stub(c->name, NULL, now.mono + c->later, &k);
	if (s == NULL)
		return;
	s->until = p->stub.until;
	s->triggered = p->stub.triggered;
	s->known = p->stub.known || (p->skip.why == NULL &&
	    spool_was_scanned(c->name, NULL));
	if (c->pid != 0) {
		s->seen = p->stub.seen;
		stubs_behind += s->seen < last_request;
	}
}

/* Loads the file with this name, unless its message is in core.  Removes its
 * stub.  Returns the message, or NULL if the file cannot be used. */
static struct message *
load_file(const char *name)
{
	static struct ctl c;	/* too large for the stack of a small host */
	struct past past;
	struct message *m = NULL;

	remove_stub(name, &past);
	/* in_load_named may have loaded the file since the scan found it; or
	 * the removed stub was that of an earlier file with this name */
	if (message_named(name) != NULL)
		return NULL;
	if (ctl_open(&c, name) == CTL_OPENED) {
		if (past.skip.pid != 0)
			c.since = past.skip.since;
		m = load_open_file(&c, &past);
	}
	ctl_close(&c);
	if (c.why != NULL && !c.later && spool_set_aside(c.name, 0, c.why) < 0)
		set_skipped(&c, "it cannot be used, nor moved to postman");
	if (c.later)
		skip_file(&c, &past);
	return m;
}

const char *
in_load_named(const char *base)
{
	struct skip k;
	char name[NAME_MAX_];
	const struct stub *s;

	if (spool_find_file(base, name) < 0 || message_named(name) != NULL)
		return NULL;
	/* if no message waits, core gets one message too many */
	if (is_core_full())
		forget_waiting_message();
	load_file(name);
	s = stub_named(name);
	if (s == NULL)
		return NULL;
	get_skip(s, &k);
	return k.why;
}

/* ---- turns ------------------------------------------------------------ */

/*
 * While there is room for more messages, new and forgotten mail take turns, so
 * that neither a flood of new mail nor a large queue of forgotten mail keeps
 * the other out.  If one has no file that can be used, the other has its turn.
 * When there is no room the next turn is new mail's.  So while core stays full,
 * each place that becomes free goes to new mail as long as there is some.  New
 * mail gains more by a place than forgotten mail, which has waited already and
 * loses little by a longer wait.
 */
enum loaded { LOADED_NONE,	/* there is no file */
	      LOADED_FILE,	/* a file that could not be used */
	      LOADED_MESSAGE };

/* Loads a message by load_one, which is load_next or a function of t/invec.c.
 * If *forgotten is 1, forgotten mail is tried first, and new mail second; if it
 * is 0, new mail is tried first.  If the first try loads a message, *forgotten
 * changes, so the other kind is tried first next time. */
static enum loaded
load_in_turn(int *forgotten, enum loaded (*load_one)(int forgotten))
{
	enum loaded first = load_one(*forgotten), second;

	if (first == LOADED_MESSAGE) {
		*forgotten = !*forgotten;
		return first;
	}
	second = load_one(!*forgotten);
	return second > first ? second : first;
}

/* ---- the scan -------------------------------------------------------- */

static struct {
	char	name[NAME_MAX_];	/* of the next new file, or "" */
	int	forgotten;	/* 1 when it is the turn of forgotten mail */
	long	files;		/* new files in this scan */
	double	began;		/* mono; when this scan began */
	double	next_at;	/* mono; when the next scan may begin */
	double	pass_at;	/* mono; new mail may be loaded from then on
				 * though there is no room for a stub; 0: not
				 * set since core last had room */
	int	is_stalled;	/* 1: new mail was loaded though there was no
				 * room for a stub; since then core was never
				 * without mail to load while it had room */
	int	no_room;	/* 1: mail waits on disk, and core is full */
	int	beyond;		/* files loaded in this pass though core was
				 * full */
	long	entries;	/* entries that this pass may still check */
	const struct config *config;	/* q.config of the last pass */
} scan;

/* Returns 1 if this scan has loaded what -E allows.  -S has no such bound. */
static int
is_scan_bound_reached(void)
{
	if (q.no_feeding || scan.files == 0)
		return 0;
	return (opt.scanmax > 0 && scan.files >= opt.scanmax) ||
	    (opt.scansecs > 0 && now.mono - scan.began > opt.scansecs);
}

/* Returns 1 if scan.name has the next new file, which is searched for if it is
 * not known. */
static int
has_new_file(void)
{
	char *name = scan.name;
	int is_told;		/* 1: the name is from a datagram */

	if (*name != '\0')
		return 1;
	while (scan.entries > 0 && spool_next_file(name, &is_told)) {
		scan.entries--;
		/* when core is full the file itself is checked, as room is
		 * made for a regular file only */
		if (message_named(name) == NULL &&
		    (is_told || stub_named(name) == NULL) &&
		    spool_is_file_due(name, is_core_full()))
			return 1;
	}
	*name = '\0';
	return 0;
}

/* Returns the channel that has the fewest messages in core of those with stubs
 * that are due; or NULL, also if no other channel has more messages. */
static struct chan *
poorest_channel(void)
{
	struct chan *c, *best = NULL;
	unsigned most = 0;

	for (c = q.chans; c != NULL; c = c->next) {
		most = c->msgs > most ? c->msgs : most;
		if (heap_wait_seconds(&c->stubs) == 0 &&
		    (best == NULL || c->msgs < best->msgs))
			best = c;
	}
	return best != NULL && best->msgs < most ? best : NULL;
}

/* Returns the stub that is loaded next, or NULL if none is due.  Sets
 * *is_urgent to 1 if its file is read without room.  Urgent stubs go first:
 *
 *	a stub of a skipped file, whose channel is not known;
 *	a stub that is overdue: it was due for an hour, so the message may
 *	expire or a warning may be due; or there is a delete or bounce.
 *
 * If there is a poorest channel, its first stub is next.  Else the next one is
 * the stub that was due first. */
static const struct stub *
next_stub(int *is_urgent)
{
	struct chan *c = NULL;
	const struct heap *h;
	const struct stub *s, *oldest = NULL;
	double when = now.mono;

	*is_urgent = 1;
	do {
		h = stubs_by_due(c);
		if (h->n > 0 && h->v[0].when <= now.mono) {
			s = OWNER(struct stub, due, h->v[0].timer);
			if (c == NULL)
				return s;
			if (h->v[0].when <= when) {
				when = h->v[0].when;
				oldest = s;
			}
		}
		c = c == NULL ? q.chans : c->next;
	} while (c != NULL);
	*is_urgent = when + CHECK <= now.mono;
	if (!*is_urgent && (c = poorest_channel()) != NULL)
		oldest = OWNER(struct stub, due, heap_first(&c->stubs));
	return oldest;
}

/* Loads a message of forgotten or of new mail.  If core was full, a READY
 * message of a channel above its share leaves; and further ones leave while
 * recipients fill core and core has more of them than before the load.  If
 * there is no message of such a channel, or if the stub of the loaded message
 * was urgent, the loaded message itself leaves. */
static enum loaded
load_next(int forgotten)
{
	int full = is_core_full(), is_urgent = 0;
	unsigned rcpts = q.rcpts;
	const struct stub *s;
	struct message *m, *leaver;
	char name[NAME_MAX_];

	if (!full)
		scan.pass_at = 0;
	if (forgotten && (s = next_stub(&is_urgent)) != NULL) {
		strcpy(name, s->name);
		is_urgent &= !s->is_skipped;	/* like new mail from here on */
	} else if (!forgotten && has_new_file()) {
		strcpy(name, scan.name);
		scan.name[0] = '\0';
		if (scan.files++ == 0)
			scan.began = now.mono;
	} else {
		return LOADED_NONE;
	}
	m = load_file(name);
	if (m == NULL)
		return LOADED_FILE;
	/* a warning that is due is sent before the message leaves */
	while (full && !(is_urgent && m->ndsn > 0)) {
		leaver = m->chan == NULL || is_urgent ? NULL :
		    choose_leaver(m->chan);
		forget_message(leaver != NULL ? leaver : m);
		if (leaver != NULL)	/* an agent may get m now */
			scan.pass_at = now.mono + NO_ROOM;
		full = leaver != NULL && q.rcpts > rcpts && is_full_of_rcpts();
	}
	return LOADED_MESSAGE;
}

/* Loads a message when core is full.  Messages that wait leave first.  If this
 * makes room, a message of new or forgotten mail is loaded.  If not, urgent and
 * new mail take turns; a READY message leaves for new mail, and urgent mail
 * itself leaves.  If neither can be loaded, a message of the poorest channel is
 * loaded, and a READY message of another channel leaves for it. */
static enum loaded
load_when_full(void)
{
	const struct chan *c;
	struct message *m;
	int n, is_urgent;
	int can_pass;		/* 1: new mail may be loaded without room */

	scan.forgotten = 0;
	/* has_new_file is called even if a stub is due, as its search for a
	 * file moves the scan on */
	if (!has_new_file() && next_stub(&is_urgent) == NULL)
		return LOADED_NONE;
	/* after a reload there may be more in core than PARAMactive */
	for (n = 0; is_core_full() && n < BATCH_FILES; n++)
		if (forget_waiting_message() < 0)
			break;
	if (!is_core_full())
		return load_in_turn(&scan.forgotten, load_next);
	/* a message that is loaded without room cannot always leave again; if
	 * core has too many messages by this, READY ones leave now */
	for (n = 0; is_core_over_by(BATCH_BEYOND) && n < BATCH_FILES &&
	    (m = choose_leaver(&no_channel)) != NULL; n++)
		forget_message(m);
	if (scan.beyond == BATCH_BEYOND || is_core_over_by(BATCH_BEYOND)) {
		scan.no_room = scan.beyond < BATCH_BEYOND;
		return LOADED_NONE;
	}
	if (scan.pass_at == 0)
		scan.pass_at = now.mono + (scan.is_stalled ? 0 : STALLED);
	can_pass = scan.name[0] != '\0' && (!is_stub_limit_reached() ||
	    now.mono >= scan.pass_at);
	/* urgent and new mail take turns */
	next_stub(&is_urgent);
	if (is_urgent && (!can_pass || scan.beyond % 2 == 0)) {
		scan.beyond++;
		return load_next(1);
	}
	if (can_pass) {
		scan.is_stalled = is_stub_limit_reached();
		scan.beyond++;
		return load_next(0);
	}
	c = poorest_channel();
	m = c == NULL ? NULL : choose_leaver(c);
	/* after the exchange the channel of m still has as many as c */
	if (m != NULL && m->chan->msgs >= c->msgs + 2) {
		forget_message(m);
		return load_next(1);
	}
	scan.no_room = 1;
	return LOADED_NONE;
}

/* Makes all stubs due at lap_at that are due later.  Each heap stays in order,
 * as times that differ may only become equal. */
static void
make_stubs_due(void)
{
	struct chan *c = NULL;
	struct heap *h;
	unsigned i;

	do {
		h = stubs_by_due(c);
		for (i = 0; lap_at < NEVER && i < h->n; i++)
			if (h->v[i].when > lap_at)
				h->v[i].when = lap_at;
		c = c == NULL ? q.chans : c->next;
	} while (c != NULL);
	lap_at = NEVER;
}

int
in_load_files(void)
{
	enum loaded got = LOADED_FILE;
	int n;

	/* under another configuration mail may expire or go sooner */
	if (scan.config != q.config && now.mono < lap_at)
		lap_at = now.mono;
	make_stubs_due();
	scan.config = q.config;
	spool_note_changes();
	scan.entries = BATCH_ENTRIES;
	scan.no_room = scan.beyond = 0;
	for (n = 0; n < BATCH_FILES && now.mono >= scan.next_at; n++) {
		if (is_scan_bound_reached()) {
			scan.next_at = now.mono + PAUSE;
			scan.files = 0;
			break;
		}
		got = is_core_full() ? load_when_full() :
		    load_in_turn(&scan.forgotten, load_next);
		if (got == LOADED_NONE)
			break;
	}
	end_lap();
	if (got == LOADED_NONE && !is_core_full() && scan.entries > 0)
		scan.files = scan.is_stalled = 0;	/* the scan is over */
	/* with -S, agents start after the first scan, or when core is full */
	if (!q.start_loaded && (q.scanned || is_core_full()))
		q.no_feeding = 0;
	if (!q.start_loaded && q.scanned) {
		q.start_loaded = 1;
		log_info("loaded msgs=%u threads=%u rcpts=%lu", q.messages.n,
		    q.nthreads, q.rcpts_in);
	}
	/* 1 if a bound of this pass has ended it: that of files, of files
	 * beyond PARAMactive, or of entries */
	return n == BATCH_FILES || scan.beyond == BATCH_BEYOND ||
	    (got == LOADED_NONE && !scan.no_room && scan.entries == 0);
}

/* Datagrams are not read while new mail waits for room. */
double
in_prep_wait(fd_set *in, int *max)
{
	double wait = scan.next_at - now.mono;
	double later = lap_at < NEVER ? 0 : heap_wait_seconds(&skipped_stubs);
	double due;
	const struct chan *c;

	if (wait > 0)
		return wait;
	for (c = q.chans; c != NULL; c = c->next) {
		due = heap_wait_seconds(&c->stubs);
		later = due < later ? due : later;
	}
	/* the sweep may have made room since in_load_files */
	if (scan.no_room && lap_at == NEVER)
		later = is_core_full() ? NO_ROOM : 0;
	if (scan.no_room && scan.name[0] != '\0')
		return later;
	wait = spool_prep_wait(in, max);
	return wait < later ? wait : later;
}
