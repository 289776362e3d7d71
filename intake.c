/*
 * intake.c - control files become messages in core.
 *
 * spool.c finds entries, ctl.c reads them recipient by recipient, and here
 * they are grouped: all recipients with the same channel and host make one
 * vertex.  Which vertex of the message at hand belongs to a thread is noted
 * in the thread itself, so grouping n recipients costs O(n), whatever the
 * number of hosts.  Only when the whole file was good is a message made, in
 * one piece of memory; until then nothing but empty threads has come of it,
 * and the sweep takes those.
 *
 * A file can end in four ways:
 *
 *	loaded		it has recipients to deliver to
 *	finished	all its recipients are done: files removed, or parked
 *			in postman/ when some failed (a crash came in between)
 *	parked		it cannot be used; both files go to postman/
 *	passed over	not now: locked by a living process, no memory, no
 *			descriptor, a disk that refuses; tried again later
 *
 * What is passed over is remembered, and when its time has come looked at
 * again by its name; scans in between do not open it.  An entry whose number
 * is already in core is ours, or waits until that message is gone.
 *
 * A T line starts what waits for a host; a file of T lines alone is removed.
 * An x line names a message that this one replaces: it must have the same
 * sender and the same owner.
 */
#include "scheduler.h"

#define BATCH_FILES	200	/* files loaded before other work is seen to */
#define AGAIN		30	/* seconds until what failed is tried again */

/* ---- passed over ----------------------------------------------------- */

struct skip {
	struct hlink link;	/* by num */
	struct timer until;	/* mono */
	unsigned long num;
	char	name[NAME_MAX_];
};

static struct hash skips;
static struct heap skip_ends;

static int
is_skipped(unsigned long num)
{
	struct hlink *l;

	if (skips.n == 0)
		return 0;
	for (l = hash_first(&skips, (unsigned)num); l != NULL;
	    l = hash_next(l))
		if (OWNER(struct skip, link, l)->num == num)
			return 1;
	return 0;
}

/* Without memory it is just opened again by the next scan. */
static void
skip(const char *name, unsigned long num, int seconds)
{
	struct skip *s;

	held_message(name);	/* it is there: a hold on it stays */
	if ((skips.v == NULL && hash_init(&skips, 64) < 0) ||
	    heap_room(&skip_ends, skips.n + 1) < 0 ||
	    (s = mem_get(sizeof(*s))) == NULL)
		return;
	s->num = num;
	strcpy(s->name, name);
	hash_add(&skips, &s->link, (unsigned)num);
	heap_set(&skip_ends, &s->until, now.mono + seconds);
}

/* The next that may be tried again: 1 and its name, or 0. */
static int
skip_over(char *name)
{
	struct timer *t = heap_first(&skip_ends);
	struct skip *s;

	if (t == NULL || t->when > now.mono)
		return 0;
	s = OWNER(struct skip, until, t);
	strcpy(name, s->name);
	heap_del(&skip_ends, t);
	hash_del(&skips, &s->link);
	free(s);
	return 1;
}

/* ---- the recipients of one file -------------------------------------- */

struct found {
	unsigned off, vertex;
};

static struct {
	struct found *r;	/* recipients, in file order */
	unsigned nr, sizer;
	struct thread **v;	/* the thread of each vertex */
	unsigned nv, sizev;
	unsigned mark;		/* counts files; noted in their threads */
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

/* The recipient at hand joins the vertex of its thread: 0 or -1. */
static int
build_add(const struct ctl *c)
{
	struct thread *t = th_get(c->channel, c->host);
	void *r = build.r, *v = build.v;
	int bad;

	bad = grow(&r, &build.sizer, build.nr, sizeof(*build.r));
	build.r = r;
	if (t == NULL || bad)
		return -1;
	if (t->mark != build.mark) {
		bad = grow(&v, &build.sizev, build.nv, sizeof(*build.v));
		build.v = v;
		if (bad)
			return -1;
		t->mark = build.mark;
		t->index = build.nv;
		build.v[build.nv++] = t;
	}
	build.r[build.nr].off = (unsigned)c->l.off;
	build.r[build.nr++].vertex = t->index;
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
	if (build.sizev > 4096) {
		free(build.v);
		build.v = NULL;
		build.sizev = 0;
	}
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

static struct message *
make_message(const struct ctl *c, const struct stat *st)
{
	size_t name = offsetof(struct message, name) + strlen(c->name) + 1;
	size_t v, r;
	struct message *m;
	unsigned i;

	/* name first, then vertices and recipients, each aligned */
	v = (name + sizeof(double) - 1) / sizeof(double) * sizeof(double);
	r = v + build.nv * sizeof(struct vertex);
	m = mem_get(r + build.nr * sizeof(struct rcpt));
	if (m == NULL)
		return NULL;
	m->v = (struct vertex *)(void *)((char *)m + v);
	m->r = (struct rcpt *)(void *)((char *)m + r);
	strcpy(m->name, c->name);
	m->nv = m->left = build.nv;
	m->nr = build.nr;
	m->loaded = ++q.events;
	m->born = (long)now.mono - age_of((long)st->st_mtime);
	m->queued = (long)now.mono - age_of(c->ctime);
	m->failed = c->nfailed > 0;
	m->verbose = (unsigned char)c->has_verbose;
	for (i = 0; i < m->nv; i++) {
		m->v[i].msg = m;
		m->v[i].thread = build.v[i];
		m->v[i].first = NONE;
	}
	for (i = m->nr; i-- > 0; ) {
		struct vertex *vx = &m->v[build.r[i].vertex];

		m->r[i].off = build.r[i].off;
		m->r[i].vertex = build.r[i].vertex & 0x3fffffff;
		m->r[i].state = RC_PENDING;
		m->r[i].next = vx->first;
		vx->first = i;
		vx->left++;
	}
	return m;
}

/* The message that an x line names goes, if it is this sender's. */
static void
obsolete(const char *name, const char *id)
{
	struct message *old;
	char its[80];
	size_t n;

	old = *id == 'S' ? q_find(num_of(id + 1, NULL)) : NULL;
	if (old == NULL || strcmp(old->name, name) == 0 ||
	    spool_id(old->name, its, sizeof(its)) < 0) {
		log_info("replace msg=%s old=%s is not here", name, id);
		return;
	}
	n = strlen(its);
	/* a build without fractions of a second knows the first part only */
	if (strncmp(its, id, n) != 0 || (id[n] != '\0' && strlen(id + n) != 5))
		log_info("replace msg=%s old=%s is not here", name, id);
	else if (!spool_same_sender(name, old->name))
		log_warn("replace msg=%s old=%s refused: another sender or "
		    "owner", name, id);
	else
		q_drop(old, "it was replaced");
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

static int
deliver(struct ctl *c, const struct stat *st, unsigned long num)
{
	struct message *m = make_message(c, st);

	if (m == NULL)
		return -1;
	m->num = num;
	if (q_add(m) < 0) {
		free(m);
		return -1;
	}
	log_info("load msg=%s rcpts=%u hosts=%u age=%ld", m->name, m->nr,
	    m->nv, (long)now.mono - m->born);
	if (m->verbose)
		spool_verbose(m->name, "scheduler processing");
	if (c->obsoletes[0] != '\0')
		obsolete(m->name, c->obsoletes);
	return 0;
}

/* Reads all recipients: NULL when the file is good, else why not; *later is
 * set when it may be good another time. */
static const char *
read_all(struct ctl *c, int *later)
{
	enum ctl_item item;

	build.nr = build.nv = 0;
	build.mark++;
	while ((item = ctl_next(c)) == CTL_RCPT || item == CTL_TRIGGER)
		if (item == CTL_TRIGGER)
			th_trigger(c->host);
		else if (build_add(c) < 0) {
			*later = AGAIN;
			return "no memory";
		}
	*later = c->later;
	return item == CTL_BAD ? (c->why != NULL ? c->why : "") : NULL;
}

/* A new file, with its final name.  0, or seconds until it is tried again. */
static int
load(struct ctl *c, const char *name, int place, const struct stat *st,
    unsigned long num)
{
	const char *why;
	int later = 0;

	if (ctl_open(c, name) < 0) {
		if (c->why != NULL)
			return spool_park(name, c->why) < 0 ? AGAIN : 0;
		return c->later;
	}
	why = read_all(c, &later);
	if (later)
		return later;
	if (why == NULL && build.nr > 0)
		why = unusable(c, place, st);
	if (why == NULL && build.nr > 0)
		return deliver(c, st, num) < 0 ? AGAIN : 0;
	if (why == NULL && c->nfailed > 0)
		why = "not every recipient could be reached";
	if (why != NULL)
		return spool_park(name, why) < 0 ? AGAIN : 0;
	log_info("finished msg=%s nothing is left to do", name);
	return spool_remove(name) < 0 ? AGAIN : 0;
}

/* A candidate: 1 when it was opened. */
static int
consider(char *name)
{
	static struct ctl c;
	const char *base = strrchr(name, '/');
	unsigned long num = num_of(base == NULL ? name : base + 1, NULL);
	struct message *m = q_find(num);
	struct stat st;
	int place, later = 0, opened = 0;

	if (is_skipped(num))
		return 0;
	if (m != NULL) {	/* itself; else this one comes after it */
		if (strcmp(m->name, name) != 0 && !spool_gone(name))
			skip(name, num, AGAIN);
		return 0;
	}
	place = spool_place(name, &st);
	if (place < 0) {
		later = AGAIN;
	} else {
		later = load(&c, name, place, &st, num);
		opened = c.l.fd >= 0;
		ctl_close(&c);
		build_end();
	}
	if (later)
		skip(name, num, later);
	return opened;
}

/* ---- the step -------------------------------------------------------- */

/* -E: has this scan taken in what it may?  -S has no such bound. */
static int
enough(long files, double began)
{
	if (q.hold)
		return 0;
	return (opt.scanmax > 0 && files >= opt.scanmax) ||
	    (opt.scansecs > 0 && now.mono - began > (double)opt.scansecs);
}

int
in_load(void)
{
	static long files;		/* of the scan at hand */
	static double began;		/* when it began, mono */
	char name[NAME_MAX_];
	int n = 0;

	while (n < BATCH_FILES && (skip_over(name) || spool_notified(name)))
		n += consider(name);
	while (n < BATCH_FILES) {
		if (files > 0 && enough(files, began)) {
			spool_pause();
			files = 0;
			return 0;
		}
		if (!spool_next(name)) {
			files = 0;
			return 0;
		}
		if (consider(name)) {
			n++;
			if (files++ == 0)
				began = now.mono;
		}
	}
	return 1;
}
