/*
 * dest.c - destinations: where they are kept, and what outlives us of them.
 *
 *	smtp TAB mx.test TAB 0 TAB 540 TAB 3 TAB 60 TAB no route to host
 *
 * A line of our file: smtp/mx.test is dead, is tried again 540 seconds after
 * the file was written, was put to sleep 3 times in a row, and was last used 60
 * seconds before; its last words follow.  A window of 8 instead of 0, and "-"
 * instead of 540, would say that it may have 8 agents.
 *
 * What is known of a channel and host outlives the thread that is its queue.
 * Destinations without a thread stand in a list, the newest first.  They
 * are forgotten after a silence, which is a setting of the clause,
 * and when they are too many: a host that has sent to every machine of the
 * world once need not remember them all.  Only what is known of a mailbox of
 * this machine goes with its thread.
 *
 * PARAMdestdb names a file, or a directory where each host has a file of its
 * own, named after it.  Our file is read once, at the start.  It is written at
 * the end, and every few minutes when there is something in it that would be
 * missed: a window that was learned, a host that died or came back.  That a
 * destination was used is not worth a write to a flash disk; the end has it.
 *
 * The file of another host is read when it has changed.  Only the dead are
 * taken of it: what is dead there, and was not heard of here since, sleeps here
 * as long.  When the next state of that file does not say so, it wakes.  Such
 * hearsay is not passed on, so no two hosts can keep it alive between them.
 *
 * How much time has passed since a file was written is known only when both
 * clocks, that of the writer and ours, can be believed; else it is taken for
 * none.  Nothing sleeps longer than by the longest wait of its clause.  Files
 * are input: a line that is not whole or has anything out of its bounds is
 * passed over, a file without the first line or beyond a size as well; the log
 * says so, and nothing stops for it.
 *
 * Finding one costs O(1).  Once a second all unused ones are looked at; each
 * round of files is O(destinations), a file being read and written in one go.
 */
#include "scheduler.h"
#include <dirent.h>
#include <sys/utsname.h>

#define UNUSED_MOST	1000	/* a small machine has other uses for memory */
#define HEAD		"destdb 2 "
#define FILE_MOST	(2L * 1024 * 1024)	/* bytes */
#define OTHERS_MOST	100			/* files of other hosts */
#define CHANNELS_MOST	100	/* beyond them files bring no new ones */
#define SPAN_MOST	315360000L		/* seconds; ten years */
#define WINDOW_MOST	1000000L
#define WORDS_MOST	500			/* bytes of a reason */

double dest_period = 300;	/* seconds between rounds of files */

/* Destinations without a thread, the newest first. */
static struct {
	struct dest *newest, *oldest;
	unsigned n;
	unsigned most;		/* more at a start, until mail has come in */
} unused;

static struct {
	char	path[PATH_MAX_];	/* "": there is none */
	double	due;		/* mono; the next round */
	unsigned long worth;	/* a sum over what the file has */
	double	used;		/* mono; the latest use that it knows of */
	unsigned long other[OTHERS_MOST];	/* files of others, as sums */
	unsigned nother;
	int	news;		/* threads have yet to learn of hearsay */
	int	err;		/* the last failure that was logged */
} db;

/* record: a line, read or to be written. */
struct record {
	char	*channel, *host, *reason;
	long	window;		/* 0: it is dead */
	long	left;		/* seconds until it is tried; -1: not dead */
	long	tries;
	long	used;		/* seconds since its last report or start */
};

/* ---- the table -------------------------------------------------------- */

/* The channel of that name, which stays for good; NULL without memory. */
struct chan *
dest_chan(const char *name)
{
	struct chan *c;

	for (c = q.chans; c != NULL; c = c->next)
		if (strcmp(c->name, name) == 0)
			return c;
	c = mem_get(sizeof(*c) + strlen(name));
	if (c == NULL)
		return NULL;
	strcpy(c->name, name);
	c->next = q.chans;
	q.chans = c;
	return c;
}

static unsigned
dest_hash(const struct chan *chan, const char *host)
{
	return hash_text(host, hash_text(chan->name, 0));
}

static struct dest *
find(const struct chan *chan, const char *host)
{
	struct hlink *l;
	struct dest *d;

	for (l = hash_first(&q.dests, dest_hash(chan, host)); l != NULL;
	    l = hash_next(l)) {
		d = OWNER(struct dest, link, l);
		if (d->chan == chan && strcmp(d->host, host) == 0)
			return d;
	}
	return NULL;
}

static void
leave_unused(struct dest *d)
{
	if (unused.oldest == d)
		unused.oldest = d->prev;
	UNLINK(unused.newest, d, next, prev);
	unused.n--;
}

static void
enter_unused(struct dest *d)
{
	if (unused.newest == NULL)
		unused.oldest = d;
	LINK(unused.newest, d, next, prev);
	unused.n++;
}

static struct dest *
make(struct chan *chan, const char *host, const struct setting *s,
    const struct feedback *f)
{
	struct dest *d = mem_get(sizeof(*d) + strlen(host));

	if (d == NULL)
		return NULL;
	strcpy(d->host, host);
	d->chan = chan;
	d->keep = fb_keep(f, (double)s->forget);
	fb_init(d, f, now.mono);
	return d;
}

static void
enter(struct dest *d)
{
	hash_add(&q.dests, &d->link, dest_hash(d->chan, d->host));
}

static void
drop(struct dest *d)
{
	free(d->reason);
	free(d);
}

int
dest_take(struct thread *t)
{
	struct ring *r = t->ring;
	int local = t->fb != &r->conf->v.fb;
	struct dest *d = local ? NULL : find(r->chan, t->host);

	if (d != NULL)
		leave_unused(d);
	else if ((d = make(r->chan, t->host, &r->conf->v, t->fb)) == NULL)
		return -1;
	else if (!local)
		enter(d);
	d->local = (unsigned char)local;
	d->thread = t;
	t->dest = d;
	fb_wake(d, t->fb, 0, now.mono);
	if (d->window == 0)
		t->sleep = d->until;
	return 0;
}

void
dest_leave(struct thread *t)
{
	struct dest *d = t->dest;

	if (d->local) {
		drop(d);
		return;
	}
	d->thread = NULL;
	d->used = now.mono;
	d->keep = fb_keep(t->fb, (double)t->ring->conf->v.forget);
	enter_unused(d);
}

/* A new one without a thread. */
static struct dest *
add(struct chan *chan, const char *host, const struct setting *s)
{
	struct dest *d = make(chan, host, s, &s->fb);

	if (d == NULL)
		return NULL;
	enter(d);
	enter_unused(d);
	if (unused.most < unused.n)
		unused.most = unused.n;
	return d;
}

void
dest_lift(int (*meant)(const void *, const struct chan *, const char *),
    const void *arg)
{
	struct dest *d;

	for (d = unused.oldest; d != NULL; d = d->prev)
		if (d->until > now.mono && meant(arg, d->chan, d->host))
			d->until = now.mono;	/* fb_wake will see */
}

static void
forget(struct dest *d)
{
	leave_unused(d);
	hash_del(&q.dests, &d->link);
	drop(d);
}

/* Once a second all are looked at: one that is kept for long, or is dead, has
 * others behind it that are not. */
void
dest_forget(void)
{
	static double looked = NEVER;	/* mono */
	struct dest *d, *next;

	if (unused.most > unused.n)
		unused.most = unused.n;
	if (unused.most < UNUSED_MOST)
		unused.most = UNUSED_MOST;
	while (unused.n > unused.most)
		forget(unused.oldest);
	if (now.mono - looked < 1)
		return;
	looked = now.mono;
	for (d = unused.oldest; d != NULL; d = next) {
		next = d->prev;
		if (fb_forget(d, now.mono))
			forget(d);
	}
}

/* ---- where --------------------------------------------------------------- */

/* Our host's name, so that it can be that of a file. */
static void
own_name(char *name, size_t size)
{
	struct utsname uts;
	char *p;

	text_fmt(name, size, "%s", uname(&uts) < 0 || uts.nodename[0] == '\0' ?
	    "localhost" : uts.nodename);
	for (p = name; *p != '\0'; p++)
		if (strchr("abcdefghijklmnopqrstuvwxyz"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.", *p) == NULL ||
		    (p == name && *p == '.'))
			*p = '_';
}

static int
is_shared(void)
{
	struct stat st;

	return db.path[strlen(db.path) - 1] == '/' ||
	    (stat(db.path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Our file, and the one it is made in, which others pass over: 0 or -1. */
static int
own_paths(char *path, char *fresh, size_t size)
{
	char name[100];
	const char *base;

	own_name(name, sizeof(name));
	if (is_shared()) {
		if (text_fmt(path, size, "%s/%s", db.path, name) < 0)
			return -1;
	} else {
		text_fmt(path, size, "%s", db.path);
	}
	base = strrchr(path, '/') + 1;
	return text_fmt(fresh, size, "%.*s.%s.new", (int)(base - path), path,
	    base);
}

/* ---- a file is written --------------------------------------------------- */

/* Seconds since then. */
static long
ago(double mono)
{
	double s = now.mono - mono;

	return s < 0 ? 0 : s > SPAN_MOST ? SPAN_MOST : (long)s;
}

/* Is it known by what we have seen ourselves? */
static int
is_ours(const struct dest *d)
{
	return d->hearsay == 0 && (d->window == 0 || d->ngood + d->nbad > 0);
}

/* Writes the line, *room being the bytes that the file may still have: 0, or
 * -1 when there is no more of it. */
static int
write_record(FILE *f, const struct dest *d, long *room)
{
	char line[LINE_MAX_ - 1];
	struct text t;

	if (!is_ours(d))
		return 0;
	text_init(&t, line, sizeof(line));
	t.clean = 1;
	text_add(&t, "%s\t%s\t%ld\t", d->chan->name, d->host, d->window);
	if (d->window > 0)
		text_add(&t, "-");
	else	/* what is to come is what was, with the sign turned */
		text_add(&t, "%ld", ago(2 * now.mono - d->until));
	text_add(&t, "\t%u\t%ld\t%.*s\n", (unsigned)d->tries, ago(d->used),
	    WORDS_MOST, d->reason != NULL ? d->reason : "");
	if (t.cut)
		return 0;	/* its name is absurd */
	if ((long)t.len > *room)
		return -1;
	*room -= (long)t.len;
	fwrite(line, 1, t.len, f);
	return 0;
}

/* In the order in which they are to be forgotten: those with mail last. */
static void
write_all(FILE *f)
{
	const struct dest *d;
	const struct thread *t;
	long room = FILE_MOST - 100;

	fprintf(f, HEAD "%ld\n", now.wall > 0 ? (long)now.wall : 0L);
	for (d = unused.oldest; d != NULL; d = d->prev)
		if (write_record(f, d, &room) < 0)
			return;
	for (t = q.all; t != NULL; t = t->next)
		if (write_record(f, t->dest, &room) < 0)
			return;
}

/* A sum over what would be missed, whatever its order; and the latest use. */
static unsigned long
sum_up(double *used)
{
	char buf[100];
	const struct dest *d;
	struct hlink *l;
	unsigned long sum = 0;
	unsigned i;

	*used = NEVER;
	for (i = 0; i < q.dests.size; i++)
		for (l = q.dests.v[i]; l != NULL; l = l->next) {
			d = OWNER(struct dest, link, l);
			if (!is_ours(d))
				continue;
			if (d->used > *used)
				*used = d->used;
			if (d->window == d->first && d->tries == 0)
				continue;
			text_fmt(buf, sizeof(buf), "%ld %ld %u", d->window,
			    d->window == 0 ? (long)d->until : 0L,
			    (unsigned)d->tries);
			sum += hash_text(buf, l->hash);
		}
	return sum;
}

/* One failure is logged once, until something else happens. */
static void
failed(const char *what, int err)
{
	if (err != 0 && err != db.err)
		log_warn("destdb file=%s cannot be %s: %s", db.path, what,
		    strerror(err));
	db.err = err;
}

/* At the end each use counts, before that only what would be missed. */
static void
keep(int at_end)
{
	char path[PATH_MAX_], fresh[PATH_MAX_];
	double used;
	unsigned long worth = sum_up(&used);

	if (worth == db.worth && (!at_end || used <= db.used))
		return;
	if (own_paths(path, fresh, sizeof(path)) < 0) {
		failed("written", ENAMETOOLONG);
		return;
	}
	if (fd_replace(path, fresh, write_all) < 0) {
		failed("written", errno);
		return;
	}
	failed("", 0);
	db.worth = worth;
	db.used = used;
	log_debug("destdb file=%s written", db.path);
}

/* ---- a line is read ------------------------------------------------------ */

/* Makes \ooo bytes, in place: 0, or -1 when it is not well formed. */
static int
take_text(char *s)
{
	char *to = s;
	int i, c;

	for (; *s != '\0'; *to++ = (char)c) {
		c = (unsigned char)*s++;
		if (c < 32 || c >= 127)
			return -1;
		if (c != '\\')
			continue;
		for (i = c = 0; i < 3; i++, s++) {
			if (*s < '0' || *s > '7')
				return -1;
			c = c * 8 + (*s - '0');
		}
		if (c == 0 || c > 255)
			return -1;
	}
	*to = '\0';
	return 0;
}

static int
is_word(char *s)
{
	return take_text(s) == 0 && *s != '\0' && strlen(s) < WORD_MAX_;
}

/* The next field, cut off at its TAB; NULL when there is none. */
static char *
next_field(char **p)
{
	char *s = *p, *tab = strchr(s, '\t');

	if (tab == NULL)
		return NULL;
	*tab = '\0';
	*p = tab + 1;
	return s;
}

/* The next field is a number, or -1 as "-": 0, or -1 when it is no such. */
static int
take_number(char **p, long least, long most, long *n)
{
	const char *s = next_field(p), *end;

	*n = -1;
	if (s == NULL)
		return -1;
	if (least < 0 && strcmp(s, "-") == 0)
		return 0;
	*n = (long)num_of(s, &end);
	return end == s || end - s > 9 || *end != '\0' || *n > most ? -1 : 0;
}

/* 0, or -1 when anything in it is not as it must be. */
static int
take_line(struct lines *l, struct record *r)
{
	char *p = l->line;

	if (l->overlong || l->unended || strlen(l->line) != l->len)
		return -1;
	r->channel = next_field(&p);
	r->host = r->channel == NULL ? NULL : next_field(&p);
	if (r->host == NULL || !is_word(r->channel) || !is_word(r->host) ||
	    take_number(&p, 0, WINDOW_MOST, &r->window) < 0 ||
	    take_number(&p, -1, SPAN_MOST, &r->left) < 0 ||
	    take_number(&p, 0, USHRT_MAX, &r->tries) < 0 ||
	    take_number(&p, 0, SPAN_MOST, &r->used) < 0)
		return -1;
	r->reason = p;
	if (strchr(p, '\t') != NULL || take_text(p) < 0 ||
	    strlen(p) > WORDS_MOST)
		return -1;
	return (r->window == 0) == (r->left >= 0) ? 0 : -1;
}

/* ---- a record is taken --------------------------------------------------- */

/* What holds for it; NULL when nothing does any more. */
static const struct setting *
setting_of(const char *channel, const char *host)
{
	struct conf *f = cf_match(q.config, channel, host);

	return f == NULL || f->v.command == NULL ? NULL : &f->v;
}

/* The channel of that name, or NULL.  Finding one is O(channels), so a file
 * must not make many. */
static struct chan *
chan_of(const char *name)
{
	struct chan *c;
	int n = 0;

	for (c = q.chans; c != NULL; c = c->next, n++)
		if (strcmp(c->name, name) == 0)
			return c;
	return n < CHANNELS_MOST ? dest_chan(name) : NULL;
}

/* The moment of its last use, mono. */
static double
last_use(const struct record *r, long passed)
{
	return now.mono - (double)r->used - (double)passed;
}

/* Seconds that it has still to sleep. */
static long
still(const struct record *r, long passed, const struct setting *s)
{
	long left = r->left - passed;

	if (left > retry_longest(s))
		left = retry_longest(s);
	return left < 0 ? 0 : left;
}

/* What was last heard of it stands for all that was. */
static void
fill_in(struct dest *d, const struct record *r, long passed,
    const struct setting *s)
{
	d->used = last_use(r, passed);
	if (s->fb.rate.n > 0)
		d->slot = d->used;
	if (r->window > 0) {
		d->window = s->fb.limit > 0 && r->window > s->fb.limit ?
		    s->fb.limit : r->window;
		d->good = d->used;
		d->ngood = 1;
	} else {
		if (s->fb.cohorts > 0)
			fb_kill(d, now.mono, (double)still(r, passed, s));
		d->bad = d->used;
		d->nbad = 1;
	}
	d->tries = (unsigned short)r->tries;
	d->step = (unsigned short)(r->tries < s->retries.n ? r->tries :
	    (long)rnd((unsigned long)s->retries.n));
	if (*r->reason != '\0')
		reason_copy(&d->reason, r->reason);
}

/* From our own file. */
static void
restore(const struct record *r, long passed)
{
	const struct setting *s = setting_of(r->channel, r->host);
	struct chan *chan = s == NULL ? NULL : chan_of(r->channel);
	struct dest *d;

	if (chan == NULL || find(chan, r->host) != NULL)
		return;
	d = add(chan, r->host, s);
	if (d != NULL)
		fill_in(d, r, passed, s);
}

/* It is dead elsewhere, and so it is here. */
static void
sleep_too(struct dest *d, const struct record *r, long left, const char *who)
{
	char why[WORDS_MOST + 200];

	fb_kill(d, now.mono, (double)left);
	d->until = now.mono + (double)left;
	text_fmt(why, sizeof(why), "%s (told by %s)", r->reason, who);
	reason_copy(&d->reason, why);
	d->news = 1;
	db.news = 1;
	log_info("asleep channel=%s host=%s for=%ld %s", d->chan->name,
	    d->host, left, why);
}

/* From the file of another host, which has this sum. */
static void
hear_record(const struct record *r, long passed, const char *who,
    unsigned long sum)
{
	const struct setting *s;
	struct chan *chan;
	struct dest *d;
	long left;

	if (r->left <= passed)
		return;
	s = setting_of(r->channel, r->host);
	chan = s == NULL || s->fb.cohorts == 0 ? NULL : chan_of(r->channel);
	if (chan == NULL)
		return;
	left = still(r, passed, s);
	d = find(chan, r->host);
	if (d == NULL && unused.n < UNUSED_MOST)
		d = add(chan, r->host, s);
	if (d == NULL || (d->window == 0 && d->hearsay == 0) ||
	    d->good >= last_use(r, passed))
		return;		/* we know better */
	if (d->hearsay == 0 || d->until + 1 < now.mono + (double)left)
		sleep_too(d, r, left, who);
	d->hearsay = sum;
}

static int
is_among(unsigned long sum, const unsigned long *v, unsigned n)
{
	while (n > 0 && v[n - 1] != sum)
		n--;
	return n > 0;
}

/* What no file says any more is no longer dead. */
static void
lift_hearsay(void)
{
	const struct setting *s;
	struct hlink *l;
	struct dest *d;
	unsigned i;

	for (i = 0; i < q.dests.size; i++)
		for (l = q.dests.v[i]; l != NULL; l = l->next) {
			d = OWNER(struct dest, link, l);
			if (d->hearsay == 0 ||
			    is_among(d->hearsay, db.other, db.nother))
				continue;
			s = d->thread != NULL ? &d->thread->ring->conf->v :
			    setting_of(d->chan->name, d->host);
			if (s == NULL)
				continue;
			fb_lift(d, &s->fb, d->thread != NULL ?
			    (long)d->thread->nta : 0);
			d->news = 1;
			db.news = 1;
		}
}

/* ---- a file is read ------------------------------------------------------ */

/* The first line: seconds that have passed since it was written; -1: it is
 * none of ours. */
static long
take_head(const struct lines *l)
{
	const char *end, *s = l->line + sizeof(HEAD) - 1;
	unsigned long wall;

	if (l->overlong || l->unended || strlen(l->line) != l->len ||
	    strncmp(l->line, HEAD, sizeof(HEAD) - 1) != 0)
		return -1;
	wall = num_of(s, &end);
	if (end == s || end - s > 10 || *end != '\0' || wall > LONG_MAX)
		return -1;
	if ((long)wall < SANE_WALL || (long)now.wall <= (long)wall)
		return 0;
	wall = (unsigned long)now.wall - wall;
	return wall > SPAN_MOST ? SPAN_MOST : (long)wall;
}

/* Our own file, or who's, which has this sum. */
static void
take_lines(struct lines *l, const char *path, const char *who,
    unsigned long sum)
{
	unsigned long n, first = 0, bad = 0;
	struct record r;
	long passed = line_next(l) ? take_head(l) : -1;

	if (passed < 0) {
		log_warn("destdb file=%s is empty, damaged or of another "
		    "version; it is passed over", path);
		return;
	}
	for (n = 2; line_next(l) && l->off <= (unsigned long)FILE_MOST; n++)
		if (take_line(l, &r) < 0) {
			if (bad++ == 0)
				first = n;
		} else if (who == NULL) {
			restore(&r, passed);
		} else {
			hear_record(&r, passed, who, sum);
		}
	if (bad > 0)
		log_warn("destdb file=%s lines=%lu damaged and passed over, "
		    "the first is line %lu", path, bad, first);
	if (l->error != 0)
		log_warn("destdb file=%s cannot be read to its end: %s", path,
		    strerror(l->error));
}

static void
read_file(const char *path, const char *who, unsigned long sum)
{
	static struct lines l;
	struct stat st;
	int fd = fd_plain(path, O_RDONLY, &st);

	if (fd < 0) {
		if (errno != ENOENT)
			log_warn("destdb file=%s cannot be read: %s", path,
			    strerror(errno));
		return;
	}
	if (st.st_size > FILE_MOST) {
		log_warn("destdb file=%s is larger than %ld bytes; it is "
		    "passed over", path, FILE_MOST);
	} else {
		line_start(&l, fd, 0);
		take_lines(&l, path, who, sum);
	}
	close(fd);
}

/* The path of another host's file, and a sum that is another one when the file
 * is; 0: the entry is none. */
static unsigned long
other_file(const char *name, const char *own, char *path)
{
	struct stat st;
	char what[100];

	if (name[0] == '.' || strcmp(name, own) == 0 ||
	    text_fmt(path, PATH_MAX_, "%s/%s", db.path, name) < 0 ||
	    stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	text_fmt(what, sizeof(what), "%lu %lu %lu", (unsigned long)st.st_mtime,
	    (unsigned long)st.st_ino, (unsigned long)st.st_size);
	return hash_text(name, hash_text(what, 0)) | 1UL;
}

static void
hear_others(void)
{
	static unsigned long was[OTHERS_MOST];
	char path[PATH_MAX_], own[100];
	unsigned long sum;
	unsigned n = db.nother;
	struct dirent *e;
	DIR *dir;

	if (!is_shared())
		return;
	dir = opendir(db.path);
	if (dir == NULL) {
		failed("read", errno);
		return;
	}
	own_name(own, sizeof(own));
	memcpy(was, db.other, sizeof(was));
	db.nother = 0;
	while (db.nother < OTHERS_MOST && (e = readdir(dir)) != NULL) {
		sum = other_file(e->d_name, own, path);
		if (sum == 0)
			continue;
		db.other[db.nother++] = sum;
		if (!is_among(sum, was, n))
			read_file(path, e->d_name, sum);
	}
	closedir(dir);
	lift_hearsay();
}

/* ---- for the loop -------------------------------------------------------- */

static int
look(void)
{
	db.due = now.mono + dest_period;
	if (db.path[0] == '\0')
		return 0;
	db.news = 0;
	keep(0);
	hear_others();
	return db.news;
}

void
dest_open(const char *place)
{
	char path[PATH_MAX_], fresh[PATH_MAX_];

	text_fmt(db.path, sizeof(db.path), "%s", place);
	if (*place != '\0' && own_paths(path, fresh, sizeof(path)) == 0) {
		read_file(path, NULL, 0);
		db.worth = sum_up(&db.used);
	}
	(void)look();
}

int
dest_reload(const char *place)
{
	if (strcmp(place, db.path) != 0) {
		text_fmt(db.path, sizeof(db.path), "%s", place);
		db.worth = 0;
		db.used = NEVER;
		db.err = 0;
	}
	return look();
}

double
dest_wait(void)
{
	if (db.path[0] == '\0')
		return 3600;
	return db.due > now.mono ? db.due - now.mono : 0;
}

int
dest_run(void)
{
	return db.path[0] != '\0' && now.mono >= db.due ? look() : 0;
}

void
dest_close(void)
{
	if (db.path[0] != '\0')
		keep(1);
}
