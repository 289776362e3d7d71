/*
 * intake.c - control files become messages in core.
 *
 * spool.c finds entries, ctlfile.c reads them recipient by recipient, and here
 * they are grouped: all recipients with the same channel and host make one
 * vertex.  Which vertex of the message at hand belongs to a thread is noted
 * in the thread itself, so grouping n recipients costs O(n), whatever the
 * number of hosts.  Only when the whole file was good is a message made; until
 * then nothing but empty threads has come of it, and the sweep takes those.
 *
 * How much may be in core is core.c's to say.  Of a large file the recipients
 * that do not fit are counted only, by channel.  They are read in parts as
 * core.c asks for them, each of one channel, from the offset of the first that
 * this has left; those for a host that the message has a vertex for join that.
 * What has a memo with a time that has not come is left to the next lap.
 *
 * Each step takes in some entries, in turn new ones, which the scan finds, and
 * old ones, whose stubs are due (later.c).  One new name is kept at hand, so
 * that it is known whether mail waits when there is no room, and the scan
 * stands where it found it.
 *
 * A file can end in four ways:
 *
 *	loaded		it has recipients to deliver to
 *	finished	all its recipients are done (a crash came in between):
 *			its sender is told, and the files go
 *	parked		it cannot be used; both files go to postman/
 *	skipped		not now: locked by a living process, no memory, no
 *			descriptor, a disk that refuses; its stub is shown by
 *			mailq
 *
 * A T line starts what waits for a host, in core or not; a file of T lines
 * alone is removed.  An x line names a message that this one replaces: it must
 * have the same sender and the same owner.
 */
#include "scheduler.h"

#define BATCH_FILES	200	/* files loaded before other work is seen to */
#define BATCH_LOOKS	4000	/* ... directory entries looked at */
#define READ_FILES	20	/* ... large files of which more is read */
#define AGAIN		30	/* seconds until what failed is tried again */
#define PAUSE		0.9	/* ... until the next scan, after -E's bound */
#define BLOCKED		1.0	/* ... until room is looked for again */

/* ---- recipients ------------------------------------------------------- */

static struct {
	unsigned mark;		/* counts readings; noted in their threads */
	unsigned most;		/* recipients that it may take */
	unsigned n;		/* ... and has taken */
	unsigned early;		/* recipients that wait on out of core */
	unsigned hosts;		/* vertices that were made */
} reading;

static void
begin_reading(unsigned most)
{
	reading.mark++;
	reading.most = most;
	reading.n = reading.early = reading.hosts = 0;
}

/* Has the vertex been there before this reading? */
static int
is_begun(const struct vertex *v)
{
	return v->left > 0 || v->state != V_WAIT;
}

/* The vertex is that of the message at hand for its thread. */
static void
meet(struct vertex *v)
{
	v->thread->mark = reading.mark;
	v->thread->vertex = v;
}

/* The recipient at hand joins the vertex of its thread, if it is not in core
 * already: 0, or -1 without memory. */
static int
add_rcpt(struct message *m, const struct ctl *c)
{
	struct thread *t = th_get(c->channel, c->host);
	struct vertex *v;
	struct rcpt *r;
	unsigned nr;

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
	nr = v->nr;
	r = msg_add(v, c->l.off);
	if (r == NULL || v->nr == nr)
		return r == NULL ? -1 : 0;
	r->heard = v->state == V_FED;
	memo_reason(v, r);
	reading.n++;
	if (!is_begun(v)) {
		v->count = ctl_box(c);
		return 0;
	}
	v->left++;
	q_widened(v, 1);
	return 0;
}

/* The message is whole in core: what has one recipient at a mailbox waits with
 * that.  Without memory it does not. */
static void
find_boxes(const struct message *m)
{
	struct vertex *v;
	struct thread *t;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->nr == 1 && v->count != 0 && th_is_local(v->thread) &&
		    (t = th_box(v->thread, v->count)) != NULL)
			v->thread = t;
}

/* What came of a reading begins: new vertices start their threads. */
static void
begin_vertices(struct message *m)
{
	struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v)) {
		if (is_begun(v))
			continue;
		v->count = 0;
		v->left = v->nr;
		q_widened(v, v->nr);
		q_arrive(v);
	}
	q_arrived(m);
}

/* ---- one message ----------------------------------------------------- */

/* Seconds since this stamp; 0 when one of the clocks cannot be believed. */
static long
age_of(long stamp)
{
	long wall = (long)now.wall;

	if (wall < SANE_WALL || stamp < SANE_WALL || stamp > wall)
		return 0;
	return wall - stamp;
}

/* The recipient at hand is left to the part of its channel: 0, or -1 without
 * memory. */
static int
leave_unread(struct message *m, const struct ctl *c)
{
	struct chan *chan = dest_chan(c->channel);
	struct part *p = chan == NULL ? NULL : msg_part_for(m, chan);

	if (chan != NULL && p == NULL && (p = msg_make_part(m, chan)) != NULL) {
		p->next = c->l.off;
		p->read = (long)now.mono;
		p->format = (unsigned char)c->format;
	}
	if (p != NULL)
		p->unread++;
	return p == NULL ? -1 : 0;
}

static int seen_all;		/* what the start found is in; the rest is new */

/* Has it never been in core?  However old its files are, its retry lists then
 * begin now; what a start finds, or was forgotten, has the places of its
 * age. */
static int
is_new(const struct ctl *c, const struct stat *st)
{
	return seen_all && !spool_was_offered(c->name, (long)st->st_ctime);
}

/* The message of the file at hand, with what its stub has; NULL without
 * memory. */
static struct message *
make_message(const struct ctl *c)
{
	struct message *m = mem_get(offsetof(struct message, name) +
	    strlen(c->name) + 1);
	struct stub *s = later_find(c->name);

	if (m == NULL)
		return NULL;
	strcpy(m->name, c->name);
	if (s == NULL || s->loaded == 0 || later_come(s, m) == 0)
		return m;
	msg_free(m);
	return NULL;
}

/* The message does not come in after all. */
static void
discard(struct message *m)
{
	if (m->more != NULL && m->more->stub != NULL)
		m->more->stub->msg = NULL;
	msg_free(m);
}

/* Its file was read. */
static void
describe(struct message *m, const struct ctl *c, const struct stat *st)
{
	const struct stub *s = m->more == NULL ? NULL : m->more->stub;

	m->nr = reading.n + msg_unread(m);
	if (s != NULL) {
		m->loaded = s->loaded;
		m->born = s->born;
		m->aged = s->aged & 1U;
		m->queued = s->queued;
	} else {
		m->loaded = ++q.events;
		m->born = (int)((long)now.mono - age_of((long)st->st_mtime));
		m->aged = !is_new(c, st);
		m->queued = (int)((long)now.mono - age_of(c->ctime));
	}
	m->failed = c->nfailed > 0;
	m->news = c->ndiag > 0;
	m->tell = m->failed || m->news;
	m->diags = m->news;
	m->verbose = c->has_verbose != 0;
}

static char replaces[sizeof(((struct ctl *)0)->obsoletes)];
				/* x line of the message just loaded, or "" */

/* What is to be told of it: of what was being told when it left core, or of a
 * delay, if there may be one. */
static void
tell(struct message *m)
{
	static const char *const whats[] = { "failure", "success", "delay" };
	const struct chan *dsn = dest_chan("dsn");
	int i, told = 0;

	for (i = 0; i < 3 && dsn != NULL; i++)
		if (memo_find(m, dsn, whats[i]) != NULL) {
			q_tell(m, whats[i]);
			told = 1;
		}
	if (!told && m->diags)
		q_tell(m, "delay");
}

/* The message comes into core: 0, or -1 without memory. */
static int
enter(struct message *m)
{
	int whole = msg_part(m) == NULL;

	if (whole)
		find_boxes(m);
	if (q_add(m, name_num(m->name)) < 0)
		return -1;
	begin_vertices(m);
	notice_arm(m);
	if (m->nr == 0)
		q_finished(m);
	else
		tell(m);
	if (whole && m->more != NULL && m->more->stub != NULL)
		later_end(m->more->stub);
	if (m->nr == 0)
		return 0;
	log_info("load msg=%s rcpts=%u hosts=%u unread=%u age=%ld", m->name,
	    m->nr, reading.hosts, m->nr - reading.n,
	    (long)now.mono - m->born);
	if (m->twin)
		log_warn("twin msg=%s another message has its number; no agent "
		    "gets both at once", m->name);
	if (m->verbose)
		spool_verbose(m->name, "scheduler processing");
	return 0;
}

static int
is_host(const void *wanted, const struct chan *chan, const char *host)
{
	return strcmp(wanted, host) == 0 && strcmp(chan->name, "dsn") != 0;
}

/* What waits for the host may go, in core or not. */
static void
trigger(const char *host)
{
	dest_lift(is_host, host);
	th_trigger(host);
	later_call(is_host, host, CALL_START);
}

static void
not_now(struct ctl *c, const char *why)
{
	c->why = why;
	c->later = AGAIN;
}

/* Looks at all recipients, and takes as many as there is room for. */
static void
read_all(struct ctl *c, struct message *m)
{
	enum ctl_item item;

	begin_reading(core_room());
	while ((item = ctl_next(c)) == CTL_RCPT || item == CTL_TRIGGER)
		if (item == CTL_TRIGGER) {
			trigger(c->host);
		} else if (strcmp(c->channel, "dsn") == 0) {
			c->why = "a recipient has the channel dsn, which is "
			    "the scheduler's own";
			return;
		} else if ((reading.n < reading.most ? add_rcpt(m, c) :
		    leave_unread(m, c)) < 0) {
			not_now(c, "there is no memory for it");
			return;
		}
}

/* The file was good: the message comes in, or goes if there is nothing to do
 * for it. */
static void
load(struct ctl *c, struct message *m, int place, const struct stat *st)
{
	describe(m, c, st);
	if (m->nr > 0 && place != 0)
		c->why = "its message file is missing";
	else if (m->nr > 0 && c->body > (unsigned long)st->st_size)
		c->why = "its body offset is behind the end of the message";
	else if (c->nfailed > 0 && notice_policy(c->name) < 0)
		not_now(c, "it cannot be written to now");
	if (c->why != NULL) {
		discard(m);
		return;
	}
	if (m->nr == 0)
		log_info("finished msg=%s nothing is left to deliver",
		    c->name);
	if (m->nr == 0 && !m->tell) {
		discard(m);
		if (spool_remove(c->name) < 0)
			not_now(c, "its files cannot be removed");
	} else if (enter(m) < 0) {
		discard(m);
		not_now(c, "there is no memory for it");
	} else if (m->nr > 0) {
		strcpy(replaces, c->obsoletes);
	}
}

/* Opens it, puts it where it belongs and loads it.  In the end c->why tells
 * whether, and c->later when, it is tried again. */
static void
open_and_load(struct ctl *c, const char *name, const struct stub *s)
{
	struct message *m;
	struct stat st;
	int place;

	if (ctl_open(c, name) < 0)
		return;
	if (s != NULL && s->why != NULL) {
		c->seen_pid = s->pid;
		c->since = (double)s->since;
	}
	memset(&st, 0, sizeof(st));
	place = spool_place(c->name, &st);
	if (place < 0) {
		not_now(c, "it cannot be moved to its directory");
		return;
	}
	m = make_message(c);
	if (m == NULL) {
		not_now(c, "there is no memory for it");
		return;
	}
	read_all(c, m);
	if (c->why == NULL)
		load(c, m, place, &st);
	else
		discard(m);
}

/* The file at hand is to be tried again. */
static void
skip(const struct ctl *c)
{
	struct stub *s = later_put(c->name, now.mono + c->later);

	held_message(c->name);	/* it is there: a hold on it stays */
	if (s == NULL)
		return;
	/* locks that a power cut has left were all there from then on */
	if (s->why == NULL || (s->pid == 0) != (c->pid == 0))
		s->since = (int)now.mono;
	s->why = c->why;
	s->pid = (int)c->pid;
}

/* A candidate: 1 when it was opened, or 0. */
static int
consider(char *name)
{
	struct ctl c;
	struct stub *s = later_find(name);
	int opened;

	replaces[0] = '\0';
	if (q_named(name) != NULL)
		return 0;
	open_and_load(&c, name, s);
	opened = c.l.fd >= 0;
	ctl_close(&c);
	if (c.why != NULL && !c.later && spool_park(c.name, 0, c.why) < 0)
		not_now(&c, "it cannot be used, nor moved to postman");
	if (c.later) {
		th_sweep();	/* what was made for it; others may need room */
		skip(&c);
	}
	s = later_find(name);
	if (s != NULL && s->msg == NULL &&
	    (!c.later || strcmp(c.name, name) != 0))
		later_end(s);
	if (opened)
		strcpy(name, c.name);
	return opened;
}

/* Takes one in from disk, at once. */
static void
fetch(char *name)
{
	const struct stub *s = later_find(name);

	if (s != NULL && s->why != NULL)
		return;		/* it could not be used */
	if (core_full())
		core_make_room();	/* if there is none, it is one more */
	consider(name);
}

/* Has the message this spool id?  A build without fractions of a second knows
 * the first part of it only. */
static int
has_id(const struct message *m, const char *id)
{
	char its[80];
	size_t n;

	if (spool_id(m->name, its, sizeof(its)) < 0)
		return 0;
	n = strlen(its);
	return strncmp(its, id, n) == 0 &&
	    (id[n] == '\0' || strlen(id + n) == 5);
}

/* The message with this id, if need be from disk, or NULL. */
static struct message *
find(const char *id)
{
	unsigned long num = num_of(id + 1, NULL);
	struct message *m = q_find(num, NULL);
	char name[NAME_MAX_];

	if (*id != 'S')
		return NULL;
	if (m == NULL && q.config->active > 0 &&
	    spool_by_number(num, name) == 0) {
		fetch(name);
		m = q_find(num, NULL);
	}
	while (m != NULL && !has_id(m, id))
		m = q_find(num, m);
	return m;
}

/* The message that the x line of the one just loaded names goes, if it is this
 * sender's. */
static void
replace(const char *name)
{
	char id[sizeof(replaces)];
	struct message *old;

	strcpy(id, replaces);	/* the other may have one, too */
	old = find(id);
	if (old == NULL || strcmp(old->name, name) == 0)
		log_info("replace msg=%s old=%s is not here", name, id);
	else if (!spool_same_sender(name, old->name))
		log_warn("replace msg=%s old=%s refused: another sender or "
		    "owner", name, id);
	else
		q_drop(old, "it was replaced");
}

/* ---- more of a message ----------------------------------------------- */

/* Is the recipient at hand, of the part, not to be taken in now? */
static int
is_early(struct part *p, const struct ctl *c)
{
	const struct memo *memo = p->msg->doom != DOOM_NONE ? NULL :
	    memo_find(p->msg, p->chan, c->host);

	if (memo == NULL || (double)memo->until <= now.mono)
		return 0;
	core_leave(p, 1, memo->until);
	reading.early++;
	return 1;
}

/* Reads on what the channel has: 0 at the end of the file, 1 when there is
 * more, -1 when it cannot be. */
static int
read_on(struct ctl *c, struct part *p)
{
	enum ctl_item item;

	while ((item = ctl_next(c)) == CTL_RCPT || item == CTL_TRIGGER)
		if (item == CTL_TRIGGER ||
		    strcmp(c->channel, p->chan->name) != 0 || is_early(p, c))
			continue;
		else if (reading.n == reading.most)
			return 1;
		else if (add_rcpt(p->msg, c) < 0)
			return -1;
	return item == CTL_END ? 0 : -1;
}

/* What was read of the part has come in; more: there is more of it. */
static void
see_part(struct part *p, const struct ctl *c, int more)
{
	unsigned seen = reading.n + reading.early;
	unsigned left = p->unread > seen ? p->unread - seen : 0;

	/* what ended before, and was not reported, is to be told, too */
	p->msg->failed |= c->nfailed > 0;
	if (c->nfailed > 0 || c->ndiag > 0)
		q_news(p->msg);
	if (more)
		p->next = c->l.off;
	p->format = (unsigned char)c->format;
	p->read = (long)now.mono;
	log_debug("load-more msg=%s channel=%s rcpts=%u hosts=%u next=%lu",
	    p->msg->name, p->chan->name, reading.n, reading.hosts, p->next);
	if (more)
		q_unread(p, left > 0 ? left : 1);
	else
		q_exhausted(p, left);
}

/* Reads so many more recipients of the part.  What the message has of the
 * channel already is met first, so that recipients find it. */
static void
load_more(struct part *p, unsigned most)
{
	struct message *m = p->msg;
	struct vertex *v;
	struct ctl c;
	int more = -1;

	core_give_way(p, most);
	begin_reading(most);
	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE && v->thread->ring->chan == p->chan)
			meet(v);
	if (ctl_resume(&c, m->name, p->next, p->format) == 0)
		more = read_on(&c, p);
	ctl_close(&c);
	begin_vertices(m);
	if (more >= 0) {
		see_part(p, &c, more);
		return;
	}
	p->evicted -= reading.early;
	if (spool_gone(m->name)) {
		q_drop(m, "its control file was taken away");
		return;
	}
	log_err("load-more msg=%s off=%lu %s; later", m->name, p->next,
	    c.why != NULL ? c.why : "it cannot be read now");
	q_unread(p, p->unread > reading.n ? p->unread - reading.n : 1);
	core_later(p, AGAIN);
}

/* ---- turns ----------------------------------------------------------- */

/*
 * While there is room for more messages one new and one old come in turn, so
 * that neither a flood of new mail nor a large old queue keeps the other out.
 * When the one whose turn it is has nothing that can be used, the other comes.
 * When there is no more room the next turn is new mail's.  So while the core
 * stays full, each place that becomes free goes to new mail until there is
 * none: it has most to gain from a place, and old mail has waited already.
 */
int
in_turn(struct turn *t, int (*take)(int old))
{
	int first = t->first, came, other;

	came = take(first);
	if (came > 0) {
		t->first = !first;
		return 1;
	}
	other = take(!first);
	return other > came ? other : came;
}

void
in_turn_full(struct turn *t)
{
	t->first = 0;
}

/* ---- the step -------------------------------------------------------- */

static struct {
	char	name[NAME_MAX_];	/* new, at hand, or "" */
	struct turn turn;
	long	files;		/* opened in the scan at hand */
	double	began;		/* mono; when it began */
	double	paused;		/* mono; the next one begins then */
	int	blocked;	/* mail waits on disk, and no room is to be had */
	int	told;		/* nobody has notified us of more in this pass */
	long	looks;		/* entries that may still be looked at now */
} step;

/* -E: has this scan taken in what it may?  -S has no such bound. */
static int
enough(void)
{
	if (q.hold || step.files == 0)
		return 0;
	return (opt.scanmax > 0 && step.files >= opt.scanmax) ||
	    (opt.scansecs > 0 &&
	    now.mono - step.began > (double)opt.scansecs);
}

/* Is the entry one that is to come in?  To open a file tells what it is; room
 * is not made before that is known. */
static int
is_wanted(const char *name)
{
	return q_named(name) == NULL && later_find(name) == NULL &&
	    !spool_is_early(name) && (!core_full() || spool_is_file(name));
}

/* Puts the name of the next new one at hand: 1; 0 when there is none, or not
 * found yet. */
static int
find_new(void)
{
	char *name = step.name;

	if (*name != '\0') {
		spool_look();
		return 1;
	}
	while (!step.told)
		if (!spool_heard(name))
			step.told = 1;	/* a system call for each file else */
		else if (is_wanted(name))
			return 1;
	while (step.looks > 0 && spool_next(name)) {
		step.looks--;
		if (is_wanted(name))
			return 1;
	}
	*name = '\0';
	return 0;
}

/* For in_turn. */
static int
take(int old)
{
	const struct stub *s = old ? later_due() : NULL;
	unsigned before = q.nmessages;
	char name[NAME_MAX_];
	int came;

	if (old ? s == NULL : !find_new())
		return -1;
	strcpy(name, old ? s->name : step.name);
	if (!old)
		step.name[0] = '\0';
	if (consider(name) && step.files++ == 0)
		step.began = now.mono;
	came = q.nmessages > before;
	if (replaces[0] != '\0')
		replace(name);
	return came;
}

/* Is there room for another, or can it be made, if there is another?  After a
 * reload there may be more in core than now may be. */
static int
has_room(void)
{
	int n;

	if (!core_full())
		return 1;
	in_turn_full(&step.turn);
	/* first the new one, so that its scan does not stand still */
	if (!find_new() && later_due() == NULL)
		return 0;
	for (n = 0; core_full() && n < BATCH_FILES; n++)
		if (!core_make_room()) {
			step.blocked = 1;
			return 0;
		}
	return !core_full();
}

/* Reads more of large messages: 1 when there may be more to read. */
static int
more_of_large(void)
{
	unsigned most, n = 0;
	struct part *p;

	for (; n < READ_FILES && (p = core_next(&most)) != NULL; n++)
		load_more(p, most);
	return n == READ_FILES;
}

int
in_load(void)
{
	int n, came, large = more_of_large();

	seen_all = seen_all || spool_seen_all();
	step.looks = BATCH_LOOKS;
	step.blocked = step.told = 0;
	if (now.mono < step.paused)
		return large;
	for (n = 0; n < BATCH_FILES; n++) {
		if (enough()) {
			step.paused = now.mono + PAUSE;
			step.files = 0;
			return large;
		}
		if (!has_room())
			return large || (!step.blocked && step.looks == 0);
		came = in_turn(&step.turn, take);
		if (came < 0 && step.looks > 0) {
			step.files = 0;
			return large;
		}
		if (came < 0)
			return 1;
	}
	return 1;
}

void
in_fetch(const char *base)
{
	char name[NAME_MAX_];

	if (spool_where(base, name) == 0)
		fetch(name);
}

int
in_listens(void)
{
	return !step.blocked && now.mono >= step.paused;
}

double
in_wait(void)
{
	double wait = BLOCKED, due = later_wait(), large = core_wait();

	if (step.paused > now.mono) {
		wait = step.paused - now.mono;
	} else if (!step.blocked) {
		wait = spool_wait();
		wait = due < wait ? due : wait;
	}
	return large < wait ? large : wait;
}
