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

/* ---- the recipients at hand ------------------------------------------ */

/* One vertex of the message at hand, and how many recipients come to it. */
struct group {
	struct thread *thread;
	struct vertex *vertex;	/* NULL: it is to be made */
	unsigned n;
	unsigned box;		/* mailbox of the last of them, or 0 */
};

struct found {
	unsigned off, group;
};

static struct {
	struct found *r;	/* recipients, in file order */
	unsigned nr, sizer;
	struct group *g;
	unsigned ng, sizeg;
	unsigned known;		/* the first of them have a vertex already */
	unsigned most;		/* recipients that may be taken of any channel */
	unsigned over;		/* ... that were taken beyond that */
	unsigned rest;		/* ... that were left */
	struct part *part;	/* it is read on, or NULL */
	unsigned early;		/* recipients of it that wait on */
	struct chan *chan;	/* of the last recipient, or NULL */
	unsigned fresh;		/* channels that come to have work */
	unsigned mark;		/* counts readings; noted in their threads and
				 * channels */
} build;

static int
grow(void **p, unsigned *size, unsigned n, size_t each)
{
	void *bigger;
	unsigned want = *size == 0 ? 64 : *size * 2;

	if (n < *size)
		return 0;
	bigger = realloc(*p, want * each);
	if (bigger == NULL) {
		log_err("memory recipients=%u none to be had", want);
		return -1;
	}
	*p = bigger;
	*size = want;
	return 0;
}

/* The group of this thread: 0 or -1. */
static int
build_group(struct thread *t, struct vertex *v)
{
	void *g = build.g;
	int bad = grow(&g, &build.sizeg, build.ng, sizeof(*build.g));

	build.g = g;
	if (bad)
		return -1;
	t->mark = build.mark;
	t->index = build.ng;
	build.g[build.ng].thread = t;
	build.g[build.ng].vertex = v;
	build.g[build.ng].box = 0;
	build.g[build.ng++].n = 0;
	return 0;
}

/* The channel is one of this reading; so many recipients of it may be taken in
 * any case. */
static void
build_from(struct chan *chan, unsigned least)
{
	build.chan = chan;
	chan->mark = build.mark;
	chan->least = least;
	chan->rest = 0;
}

/* The recipient's channel; NULL without memory. */
static struct chan *
build_chan(const char *name)
{
	struct chan *chan = build.chan;

	if (chan == NULL || strcmp(chan->name, name) != 0)
		chan = dest_chan(name);
	if (chan == NULL || chan->mark == build.mark)
		return build.chan = chan;
	build.fresh += chan->rcpts == 0 && chan->partial == NULL;
	build_from(chan, core_least(chan, build.fresh));
	return chan;
}

/* Is the recipient at hand, of a part, not to be taken in now? */
static int
build_is_early(const struct ctl *c)
{
	struct part *p = build.part;
	const struct memo *memo = p->msg->doom != DOOM_NONE ? NULL :
	    memo_find(p->msg, p->chan, c->host);

	if (memo == NULL || (double)memo->until <= now.mono)
		return 0;
	core_leave(p, 1, memo->until);
	build.early++;
	return 1;
}

/* The recipient at hand joins the group of its thread, or is counted, as is
 * what its channel has behind it: 0; or -1 without memory. */
static int
build_add(const struct ctl *c)
{
	struct chan *chan = build_chan(c->channel);
	struct thread *t;
	void *r = build.r;
	int bad;

	if (chan == NULL)
		return -1;
	if (build.part != NULL && build_is_early(c))
		return 0;
	if (chan->rest > 0 || (build.nr >= build.most && chan->least == 0)) {
		if (chan->rest++ == 0)
			chan->off = c->l.off;
		build.rest++;
		return 0;
	}
	bad = grow(&r, &build.sizer, build.nr, sizeof(*build.r));
	build.r = r;
	t = bad ? NULL : th_get(c->channel, c->host);
	if (t == NULL || (t->mark != build.mark && build_group(t, NULL) < 0))
		return -1;
	if (build.g[t->index].vertex != NULL &&
	    msg_rcpt(build.g[t->index].vertex, c->l.off) != NULL)
		return 0;	/* a lap comes by what is in core */
	build.over += build.nr >= build.most;
	build.g[t->index].n++;
	build.g[t->index].box = ctl_box(c);
	build.r[build.nr].off = (unsigned)c->l.off;
	build.r[build.nr++].group = t->index;
	chan->least -= chan->least > 0;
	return 0;
}

static void
build_begin(unsigned most)
{
	build.nr = build.ng = build.rest = build.known = build.fresh = 0;
	build.over = build.early = 0;
	build.part = NULL;
	build.chan = NULL;
	build.most = most;
	build.mark++;
}

/* What the message has of the channel in core already comes first, so that
 * recipients find the vertex of their thread: 0 or -1. */
static int
build_known(const struct message *m, const struct chan *chan)
{
	struct vertex *v;

	for (v = msg_first(m); v != NULL; v = msg_next(v))
		if (v->state != V_DONE && v->thread->ring->chan == chan &&
		    build_group(v->thread, v) < 0)
			return -1;
	build.known = build.ng;
	return 0;
}

/* A large list is not kept for the next file. */
static void
build_end(void)
{
	if (build.sizer > 4096) {
		free(build.r);
		build.r = NULL;
		build.sizer = 0;
	}
	if (build.sizeg > 4096) {
		free(build.g);
		build.g = NULL;
		build.sizeg = 0;
	}
}

/* The message is whole in core: what has one recipient at a mailbox waits with
 * that.  Without memory it does not. */
static void
build_boxes(void)
{
	struct group *g;
	struct thread *t;

	for (g = build.g; g < build.g + build.ng; g++)
		if (g->n == 1 && g->box != 0 && th_is_local(g->thread) &&
		    (t = th_box(g->thread, g->box)) != NULL)
			g->thread = t;
}

/* Makes a vertex for each group, or room in the one that there is, and hands
 * the message its recipients: 0; -1 without memory, then there is nothing
 * new. */
static int
build_commit(struct message *m)
{
	struct group *g, *end = build.g + build.ng;
	struct vertex *v;
	struct rcpt *r;
	unsigned i;
	int bad = 0;

	for (g = build.g; g < end && !bad; g++)
		if (g->vertex != NULL)
			bad = g->n > 0 && msg_widen(g->vertex, g->n) < 0;
		else
			bad = (g->vertex = msg_vertex(m, g->thread, g->n)) ==
			    NULL;
	for (g = build.g + build.known; g < end && bad; g++)
		if (g->vertex != NULL)
			msg_vertex_free(g->vertex);
	if (bad)
		return -1;
	for (i = 0; i < build.nr; i++) {
		v = build.g[build.r[i].group].vertex;
		r = &v->r[v->nr++];
		memset(r, 0, sizeof(*r));
		r->heard = v->state == V_FED;
		r->off = build.r[i].off & 0x3fffffff;
		v->left++;
		memo_reason(v, r);
	}
	return 0;
}

/* What came of build_commit begins: new vertices start their threads. */
static void
build_start(struct message *m)
{
	struct group *g, *end = build.g + build.ng;

	for (g = build.g; g < end; g++)
		q_widened(g->vertex, g->n);
	for (g = build.g + build.known; g < end; g++)
		q_arrive(g->vertex);
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

/* A part for each channel that has left some: 0 or -1. */
static int
make_parts(struct message *m, const struct ctl *c)
{
	struct chan *chan;
	struct part *p;

	for (chan = q.chans; chan != NULL; chan = chan->next) {
		if (chan->mark != build.mark || chan->rest == 0)
			continue;
		if ((p = msg_make_part(m, chan)) == NULL)
			return -1;
		p->next = chan->off;
		p->unread = chan->rest;
		p->read = (long)now.mono;
		p->format = (unsigned char)c->format;
	}
	return 0;
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

/* What its stub has becomes the message's: 0, or -1 without memory. */
static int
recall(struct message *m, struct stub *s)
{
	if (s == NULL || s->loaded == 0)
		return 0;
	m->loaded = s->loaded;
	m->born = s->born;
	m->aged = s->aged & 1U;
	m->queued = s->queued;
	return later_come(s, m);
}

/* The message of the file at hand, which has no vertex yet; or NULL. */
static struct message *
make_message(const struct ctl *c, const struct stat *st)
{
	struct message *m = mem_get(offsetof(struct message, name) +
	    strlen(c->name) + 1);

	if (m == NULL || (build.rest > 0 && make_parts(m, c) < 0)) {
		if (m != NULL)
			msg_free(m);
		return NULL;
	}
	strcpy(m->name, c->name);
	m->nr = build.nr + build.rest;
	m->loaded = ++q.events;
	m->born = (int)((long)now.mono - age_of((long)st->st_mtime));
	m->aged = !is_new(c, st);
	m->queued = (int)((long)now.mono - age_of(c->ctime));
	m->failed = c->nfailed > 0;
	m->news = c->ndiag > 0;
	m->tell = m->failed || m->news;
	m->diags = m->news;
	m->verbose = c->has_verbose != 0;
	return m;
}

/* Why a file with recipients to deliver cannot be used, or NULL. */
static const char *
unusable(const struct ctl *c, int place, const struct stat *st)
{
	if (place != 0)
		return "its message file is missing";
	if (c->body > (unsigned long)st->st_size)
		return "its body offset is behind the end of the message";
	return NULL;
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

static int
deliver(struct ctl *c, const struct stat *st, unsigned long num)
{
	struct message *m = make_message(c, st);
	struct stub *s;

	if (m == NULL)
		return -1;
	core_give_way(build.over, build.fresh);
	if (build.rest == 0)
		build_boxes();
	s = later_find(c->name);
	if (recall(m, s) < 0 || build_commit(m) < 0 || q_add(m, num) < 0) {
		if (s != NULL)
			s->msg = NULL;
		msg_free(m);
		return -1;
	}
	build_start(m);
	notice_arm(m);
	if (m->nr == 0)
		q_finished(m);
	else
		tell(m);
	if (s != NULL && msg_part(m) == NULL)
		later_end(s);
	if (m->nr == 0)
		return 0;
	log_info("load msg=%s rcpts=%u hosts=%u unread=%u age=%ld", m->name,
	    m->nr, build.ng, build.rest, (long)now.mono - m->born);
	if (m->twin)
		log_warn("twin msg=%s another message has its number; no agent "
		    "gets both at once", m->name);
	if (m->verbose)
		spool_verbose(m->name, "scheduler processing");
	strcpy(replaces, c->obsoletes);
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

/* Looks at all recipients, and takes as many as there is room for: NULL when
 * the file is good, else why not; c->later is set when it may be good another
 * time. */
static const char *
read_all(struct ctl *c)
{
	enum ctl_item item;

	build_begin(core_room());
	while ((item = ctl_next(c)) == CTL_RCPT || item == CTL_TRIGGER)
		if (item == CTL_TRIGGER) {
			trigger(c->host);
		} else if (strcmp(c->channel, "dsn") == 0) {
			return "a recipient has the channel dsn, which is "
			    "the scheduler's own";
		} else if (build_add(c) < 0) {
			c->later = AGAIN;
			return "there is no memory for it";
		}
	return item == CTL_BAD ? c->why : NULL;
}

/* What cannot be used goes to postman/: 0, or seconds until that is tried
 * again. */
static int
set_aside(struct ctl *c, const char *why)
{
	if (spool_park(c->name, why) == 0)
		return 0;
	c->why = "it cannot be used, nor moved to postman";
	return AGAIN;
}

/* The file at hand, with its final name.  0, or seconds until it is tried
 * again. */
static int
load(struct ctl *c, int place, const struct stat *st)
{
	const char *why = read_all(c);

	if (c->later)
		return c->later;
	if (why == NULL && build.nr > 0)
		why = unusable(c, place, st);
	if (why == NULL && c->nfailed > 0 && notice_policy(c->name) < 0) {
		c->why = "it cannot be written to now";
		return AGAIN;
	}
	if (why == NULL && build.nr == 0)
		log_info("finished msg=%s nothing is left to deliver",
		    c->name);
	if (why == NULL && build.nr + c->nfailed + c->ndiag > 0) {
		c->why = "there is no memory for it";
		return deliver(c, st, name_num(c->name)) < 0 ? AGAIN : 0;
	}
	if (why != NULL)
		return set_aside(c, why);
	c->why = "its files cannot be removed";
	return spool_remove(c->name) < 0 ? AGAIN : 0;
}

/* Opens it, puts it where it belongs and loads it; as load. */
static int
open_and_load(struct ctl *c, const char *name, const struct stub *s)
{
	struct stat st;
	int place;

	if (ctl_open(c, name) < 0)
		return c->later || c->why == NULL ? c->later :
		    set_aside(c, c->why);
	if (s != NULL && s->why != NULL) {
		c->seen_pid = s->pid;
		c->since = (double)s->since;
	}
	memset(&st, 0, sizeof(st));
	place = spool_place(c->name, &st);
	if (place < 0) {
		c->why = "it cannot be moved to its directory";
		return AGAIN;
	}
	return load(c, place, &st);
}

/* The file at hand is to be tried again in so many seconds. */
static void
skip(const struct ctl *c, int seconds)
{
	struct stub *s = later_put(c->name, now.mono + seconds);

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
	int later = 0, opened = 0;
	struct stub *s = later_find(name);

	replaces[0] = '\0';
	if (q_named(name) == NULL) {
		later = open_and_load(&c, name, s);
		opened = c.l.fd >= 0;
		ctl_close(&c);
		build_end();
	}
	if (later > 0) {
		th_sweep();	/* what was made for it; others may need room */
		skip(&c, later);
	}
	s = later_find(name);
	if (s != NULL && s->msg == NULL &&
	    (later <= 0 || strcmp(c.name, name) != 0))
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

/* Reads on what the channel has: 0 at the end of the file, 1 when there is
 * more, -1 when it cannot be. */
static int
read_on(struct ctl *c, const struct chan *chan)
{
	enum ctl_item item;

	while ((item = ctl_next(c)) == CTL_RCPT || item == CTL_TRIGGER)
		if (item == CTL_TRIGGER || strcmp(c->channel, chan->name) != 0)
			continue;
		else if (build_add(c) < 0)
			return -1;
		else if (build.rest > 0)
			return 1;
	return item == CTL_END ? 0 : -1;
}

/* What ended before it was read, and was not reported, is to be told, too. */
static void
see_ended(struct message *m, const struct ctl *c)
{
	m->failed |= c->nfailed > 0;
	if (c->nfailed > 0 || c->ndiag > 0)
		q_news(m);
}

/* What was read and has no room in the pool is the channel's by its share. */
static void
make_way(const struct chan *chan)
{
	unsigned most = (unsigned)q.config->recipients;

	if (most > 0 && core_least(chan, 0) >= build.nr &&
	    q.rcpts + build.nr > most)
		core_give_way(q.rcpts + build.nr - most, 0);
}

/* Reads so many more recipients of the part. */
static void
load_more(struct part *p, unsigned most)
{
	struct ctl c;
	struct message *m = p->msg;
	int more = -1;
	unsigned seen, left;

	build_begin(most);
	build.part = p;
	build_from(p->chan, 0);
	if (ctl_resume(&c, m->name, p->next, p->format) == 0 &&
	    build_known(m, p->chan) == 0)
		more = read_on(&c, p->chan);
	ctl_close(&c);
	if (more >= 0)
		make_way(p->chan);
	if (more >= 0 && build_commit(m) < 0)
		more = -1;
	if (more < 0)
		p->evicted -= build.early;
	if (more < 0 && spool_gone(m->name)) {
		q_drop(m, "its control file was taken away");
	} else if (more < 0) {
		log_err("load-more msg=%s off=%lu %s; later", m->name, p->next,
		    c.why != NULL ? c.why : "it cannot be read now");
		core_later(p, AGAIN);
	} else {
		see_ended(m, &c);
		if (more > 0)
			p->next = p->chan->off;
		p->format = (unsigned char)c.format;
		p->read = (long)now.mono;
		build_start(m);
		log_debug("load-more msg=%s channel=%s rcpts=%u hosts=%u "
		    "next=%lu", m->name, p->chan->name, build.nr,
		    build.ng - build.known, p->next);
		seen = build.nr + build.early;
		left = p->unread > seen ? p->unread - seen : 0;
		if (more == 0)
			q_exhausted(p, left);
		else
			q_unread(p, left > 0 ? left : 1);
	}
	build_end();
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
