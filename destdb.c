/*
 * destdb.c - what is known of destinations outlives the scheduler.
 *
 * PARAMdestdb names a file, or a directory where each host has a file of its
 * own, named after it.  Our file is read once, at the start.  It is written at
 * the end, and every few minutes when there is something in it that would be
 * missed: a window that was learned, a host that died or came back.  What each
 * report adds to the sums is not worth a write to a flash disk; the end has
 * it.  A write goes into a new file, which is synced and renamed.
 *
 * The files of other hosts are read when one of them has changed.  Of those
 * only the dead are taken: what is dead there, and was not heard of here since,
 * sleeps here as long (told).  When nobody says so any more, it wakes.  Such
 * hearsay is not passed on, so no two hosts can keep it alive between them.
 *
 *	destdb 1 WALL
 *	channel TAB host TAB window TAB ... TAB last words
 *
 * A line is a destination; bytes that are no printing ASCII, and backslashes,
 * are \ooo.  Times are seconds before or after WALL, the time of writing.  How
 * much of them has passed is known only when both clocks, that of the writer
 * and ours, can be believed; else it is what we have seen pass since we met the
 * file.  Nothing sleeps longer than by the longest wait of its clause.
 *
 * The files are input.  A line that is not whole or has anything out of its
 * bounds is passed over, a file without the first line or beyond a size as
 * well; the log says so, and nothing stops for it.
 *
 * Costs: O(destinations) each time; a file is read and written in one go.
 */
#include "scheduler.h"
#include <dirent.h>
#include <sys/utsname.h>

#define HEAD		"destdb 1 "
#define FILE_MOST	(2L * 1024 * 1024)	/* bytes */
#define OTHERS_MOST	100			/* files of other hosts */
#define CHANNELS_MOST	100	/* beyond them files bring no new ones */
#define SPAN_MOST	315360000L		/* seconds; ten years */
#define COUNT_MOST	999999999L
#define WHOLE		1000000L		/* how 1 is written */
#define WORDS_MOST	500			/* bytes of a reason */

double destdb_period = 300;

static struct {
	char	path[PATH_MAX_];	/* "": there is none */
	double	due;		/* mono; when to look again */
	unsigned long worth, all;	/* what the file has, as sums */
	unsigned long others;	/* the files of others, when read, as a sum */
	unsigned round;		/* of reading those */
	struct other {
		unsigned long key;	/* of its name and state */
		double	met;	/* mono; when it was first as it is */
	} other[OTHERS_MOST];
	int	nother;
	int	err;		/* the last failure that was logged */
} db;

/* record: a line, read or to be written. */
struct record {
	char	*channel, *host, *reason;
	long	window;		/* 0: it is dead */
	long	success, failure, cohorts;	/* in parts of WHOLE */
	long	left;		/* seconds until it is tried; -1: not dead */
	long	tries, step;
	long	used, good, bad, slot;	/* seconds ago; -1: never */
	long	ngood, nbad;
};

static const struct {
	size_t	at;
	long	least, most;	/* -1 is written as "-" */
} numbers[] = {
	{ offsetof(struct record, window), 0, 1000000L },
	{ offsetof(struct record, success), 0, WHOLE },
	{ offsetof(struct record, failure), 0, WHOLE },
	{ offsetof(struct record, cohorts), 0, COUNT_MOST },
	{ offsetof(struct record, left), -1, SPAN_MOST },
	{ offsetof(struct record, tries), 0, USHRT_MAX },
	{ offsetof(struct record, step), 0, RETRIES_MAX },
	{ offsetof(struct record, used), 0, SPAN_MOST },
	{ offsetof(struct record, good), -1, SPAN_MOST },
	{ offsetof(struct record, bad), -1, SPAN_MOST },
	{ offsetof(struct record, slot), -1, SPAN_MOST },
	{ offsetof(struct record, ngood), 0, COUNT_MOST },
	{ offsetof(struct record, nbad), 0, COUNT_MOST }
};

#define NUMBERS	(sizeof(numbers) / sizeof(numbers[0]))

static long *
number(struct record *r, size_t i)
{
	return (long *)(void *)((char *)r + numbers[i].at);
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

/* ---- a line is written --------------------------------------------------- */

/* Seconds since then, -1: never. */
static long
ago(double mono)
{
	double s = now.mono - mono;

	if (mono <= NEVER / 2)	/* some processors have more bits */
		return -1;
	return s < 0 ? 0 : s > SPAN_MOST ? SPAN_MOST : (long)s;
}

static long
parts(double x, long most)
{
	x *= WHOLE;
	return x > (double)most ? most : (long)(x + 0.5);
}

static long
up_to(unsigned long n, long most)
{
	return n > (unsigned long)most ? most : (long)n;
}

static void
put_record(struct text *t, const struct dest *d)
{
	struct record r;
	size_t i;

	r.window = d->window;
	r.success = parts(d->success, WHOLE);
	r.failure = parts(d->failure, WHOLE);
	r.cohorts = parts(d->cohorts, COUNT_MOST);
	r.left = d->window > 0 ? -1 : d->until <= now.mono ? 0 :
	    up_to((unsigned long)(d->until - now.mono), SPAN_MOST);
	r.tries = d->tries;
	r.step = d->step;
	r.used = d->thread != NULL ? 0 : ago(d->used);
	r.good = ago(d->good);
	r.bad = ago(d->bad);
	r.slot = ago(d->slot);
	r.ngood = up_to(d->ngood, COUNT_MOST);
	r.nbad = up_to(d->nbad, COUNT_MOST);
	text_add(t, "%s\t%s\t", d->chan->name, d->host);
	for (i = 0; i < NUMBERS; i++)
		if (*number(&r, i) < 0)
			text_add(t, "-\t");
		else
			text_add(t, "%ld\t", *number(&r, i));
	text_add(t, "%.*s\n", WORDS_MOST,
	    d->reason != NULL ? d->reason : "");
}

/* Is it known by what we have seen ourselves? */
static int
is_ours(const struct dest *d)
{
	return d->told == 0 && (d->window == 0 || d->ngood + d->nbad > 0);
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
	put_record(&t, d);
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
	for (d = dest_unused(); d != NULL; d = d->next)
		if (write_record(f, d, &room) < 0)
			return;
	for (t = q.all; t != NULL; t = t->next)
		if (write_record(f, t->dest, &room) < 0)
			return;
}

/* ---- the file is written ------------------------------------------------- */

/* What would be written, as two sums that do not depend on its order: of what
 * would be missed, and of all. */
static void
sum_up(unsigned long *worth, unsigned long *all)
{
	char buf[200];
	const struct dest *d;
	struct hlink *l;
	unsigned i, h;

	*worth = *all = 0;
	for (i = 0; i < q.dests.size; i++)
		for (l = q.dests.v[i]; l != NULL; l = l->next) {
			d = OWNER(struct dest, link, l);
			if (!is_ours(d))
				continue;
			text_fmt(buf, sizeof(buf), "%ld %ld %u %u",
			    d->window, d->window == 0 ? (long)d->until : 0L,
			    (unsigned)d->tries, (unsigned)d->step);
			h = hash_text(buf, l->hash);
			if (d->window != d->first || d->tries > 0)
				*worth += h;
			text_fmt(buf, sizeof(buf), "%lu %lu", d->ngood,
			    d->nbad);
			*all += hash_text(buf, h);
		}
}

/* 0, or -1 with errno and the old file in place. */
static int
write_file(void)
{
	char path[PATH_MAX_], fresh[PATH_MAX_];
	int fd, bad;
	FILE *f;

	if (own_paths(path, fresh, sizeof(path)) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	unlink(fresh);
	fd = fd_own(fresh, O_WRONLY | O_CREAT | O_EXCL, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f == NULL) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	write_all(f);
	errno = EIO;	/* for a failure that sets none */
	bad = fflush(f) != 0 || ferror(f) || fd_sync(fd) < 0 ? errno : 0;
	if (fclose(f) != 0 && bad == 0)
		bad = errno;
	if (bad == 0 && rename(fresh, path) < 0)
		bad = errno;
	if (bad == 0)
		return 0;
	unlink(fresh);
	errno = bad;
	return -1;
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

/* At the end all counts, before that only what would be missed. */
static void
keep(int at_end)
{
	unsigned long worth, all;

	sum_up(&worth, &all);
	if (worth == db.worth && (!at_end || all == db.all))
		return;
	if (write_file() < 0) {
		failed("written", errno);
		return;
	}
	failed("", 0);
	db.worth = worth;
	db.all = all;
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
take_number(const char *s, long least, long most, long *n)
{
	const char *end;

	*n = -1;
	if (least < 0 && strcmp(s, "-") == 0)
		return 0;
	*n = (long)num_of(s, &end);
	return end == s || end - s > 9 || *end != '\0' || *n < least ||
	    *n > most ? -1 : 0;
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

/* 0, or -1 when anything in it is not as it must be. */
static int
take_line(struct lines *l, struct record *r)
{
	char *p = l->line, *s;
	size_t i;

	if (l->overlong || l->unended || strlen(l->line) != l->len)
		return -1;
	r->channel = next_field(&p);
	r->host = r->channel == NULL ? NULL : next_field(&p);
	if (r->host == NULL || !is_word(r->channel) || !is_word(r->host))
		return -1;
	for (i = 0; i < NUMBERS; i++) {
		s = next_field(&p);
		if (s == NULL || take_number(s, numbers[i].least,
		    numbers[i].most, number(r, i)) < 0)
			return -1;
	}
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

/* The channel of that name, or NULL.  One that is made stays for good, and
 * finding one is O(channels), so a file must not make many. */
static struct chan *
chan_of(const char *name)
{
	struct chan *c;
	int n = 0;

	for (c = q.chans; c != NULL; c = c->next, n++)
		if (strcmp(c->name, name) == 0)
			return c;
	return n < CHANNELS_MOST ? ring_chan(name) : NULL;
}

/* The moment that was so many seconds before it was written, mono. */
static double
moment(long before, long passed)
{
	return before < 0 ? NEVER : now.mono - (double)before - (double)passed;
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

static void
fill_in(struct dest *d, const struct record *r, long passed,
    const struct setting *s)
{
	if (r->window > 0) {
		d->window = s->fb.limit > 0 && r->window > s->fb.limit ?
		    s->fb.limit : r->window;
		d->success = (double)r->success / WHOLE;
		d->failure = (double)r->failure / WHOLE;
		d->cohorts = (double)r->cohorts / WHOLE;
	} else if (s->fb.cohorts > 0) {
		fb_kill(d, now.mono, (double)still(r, passed, s));
	}
	d->tries = (unsigned short)r->tries;
	d->step = (unsigned short)r->step;
	d->used = moment(r->used, passed);
	d->good = moment(r->good, passed);
	d->bad = moment(r->bad, passed);
	d->slot = moment(r->slot, passed);
	d->ngood = (unsigned long)r->ngood;
	d->nbad = (unsigned long)r->nbad;
	if (*r->reason != '\0')
		reason_copy(&d->reason, r->reason);
}

/* From our own file. */
static void
restore(const struct record *r, long passed, const char *who)
{
	const struct setting *s = setting_of(r->channel, r->host);
	struct chan *chan = s == NULL ? NULL : chan_of(r->channel);
	struct dest *d;

	(void)who;
	if (chan == NULL || dest_find(chan, r->host) != NULL)
		return;
	d = dest_add(chan, r->host, s);
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
	d->told = db.round;
	text_fmt(why, sizeof(why), "%s (told by %s)", r->reason, who);
	reason_copy(&d->reason, why);
	if (d->thread != NULL)
		th_told(d->thread);
	log_info("asleep channel=%s host=%s for=%ld %s", d->chan->name,
	    d->host, left, why);
}

/* From the file of another host. */
static void
told(const struct record *r, long passed, const char *who)
{
	const struct setting *s;
	struct chan *chan;
	struct dest *d;
	long left;

	if (r->left <= passed || r->bad < 0)
		return;
	s = setting_of(r->channel, r->host);
	chan = s == NULL || s->fb.cohorts == 0 ? NULL : chan_of(r->channel);
	if (chan == NULL)
		return;
	left = still(r, passed, s);
	d = dest_find(chan, r->host);
	if (d == NULL && dest_room())
		d = dest_add(chan, r->host, s);
	if (d == NULL || (d->window == 0 && d->told == 0) ||
	    d->good >= moment(r->bad, passed))
		return;		/* we know better */
	if (d->told == 0 || d->until + 1 < now.mono + (double)left)
		sleep_too(d, r, left, who);
	d->told = db.round;
}

/* Nobody says any more that they are dead. */
static void
wake_untold(void)
{
	const struct setting *s;
	struct hlink *l;
	struct dest *d;
	unsigned i;

	for (i = 0; i < q.dests.size; i++)
		for (l = q.dests.v[i]; l != NULL; l = l->next) {
			d = OWNER(struct dest, link, l);
			if (d->told == 0 || d->told == db.round)
				continue;
			s = d->thread != NULL ? &d->thread->ring->conf->v :
			    setting_of(d->chan->name, d->host);
			if (s == NULL)
				continue;
			fb_lift(d, &s->fb, d->thread != NULL ?
			    (long)d->thread->nta : 0);
			if (d->thread != NULL)
				th_told(d->thread);
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
	return up_to((unsigned long)now.wall - wall, SPAN_MOST);
}

static void
take_lines(struct lines *l, const char *path, const char *who, double met,
    void (*take)(const struct record *, long, const char *))
{
	unsigned long n, first = 0, bad = 0;
	struct record r;
	long passed = line_next(l) ? take_head(l) : -1;

	if (passed >= 0 && ago(met) > passed)
		passed = ago(met);
	if (passed < 0) {
		log_warn("destdb file=%s is empty, damaged or of another "
		    "version; it is passed over", path);
		return;
	}
	for (n = 2; line_next(l) && l->off <= (unsigned long)FILE_MOST; n++)
		if (take_line(l, &r) == 0)
			take(&r, passed, who);
		else if (bad++ == 0)
			first = n;
	if (bad > 0)
		log_warn("destdb file=%s lines=%lu damaged and passed over, "
		    "the first is line %lu", path, bad, first);
	if (l->error != 0)
		log_warn("destdb file=%s cannot be read to its end: %s", path,
		    strerror(l->error));
}

static void
read_file(const char *path, const char *who, double met,
    void (*take)(const struct record *, long, const char *))
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
		take_lines(&l, path, who, met, take);
	}
	close(fd);
}

/* The next file of another host: 1 with its name, path and state, or 0. */
static int
next_other(DIR *dir, const char *own, char **name, char *path, struct stat *st)
{
	struct dirent *e;

	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.' || strcmp(e->d_name, own) == 0 ||
		    text_fmt(path, PATH_MAX_, "%s/%s", db.path,
		    e->d_name) < 0 || stat(path, st) < 0 ||
		    !S_ISREG(st->st_mode))
			continue;
		*name = e->d_name;
		return 1;
	}
	return 0;
}

/* What becomes another one when the file does. */
static unsigned long
key_of(const char *name, const struct stat *st)
{
	char what[100];

	text_fmt(what, sizeof(what), "%lu %lu %lu",
	    (unsigned long)st->st_mtime, (unsigned long)st->st_ino,
	    (unsigned long)st->st_size);
	return hash_text(name, hash_text(what, 0));
}

/* When a file with this key was met first. */
static double
met_at(const struct other *v, int n, unsigned long key)
{
	for (; n > 0; n--, v++)
		if (v->key == key)
			return v->met;
	return now.mono;
}

/* Goes over the files of others, and reads them if wanted.  The sum is another
 * one when one of them is. */
static unsigned long
go_over(DIR *dir, int read_them)
{
	static struct other was[OTHERS_MOST];
	char path[PATH_MAX_], own[100], *name;
	unsigned long sum = 0, key;
	int n = db.nother;
	struct stat st;

	own_name(own, sizeof(own));
	memcpy(was, db.other, sizeof(was));
	for (db.nother = 0; db.nother < OTHERS_MOST &&
	    next_other(dir, own, &name, path, &st); db.nother++) {
		key = key_of(name, &st);
		sum += key;
		db.other[db.nother].key = key;
		db.other[db.nother].met = met_at(was, n, key);
		if (read_them)
			read_file(path, name, db.other[db.nother].met, told);
	}
	return sum;
}

static void
hear_others(void)
{
	unsigned long sum;
	DIR *dir;

	if (!is_shared())
		return;
	dir = opendir(db.path);
	if (dir == NULL) {
		failed("read", errno);
		return;
	}
	sum = go_over(dir, 0);
	if (sum != db.others) {
		if (++db.round == 0)
			db.round = 1;
		rewinddir(dir);
		db.others = go_over(dir, 1);
		wake_untold();
	}
	closedir(dir);
}

/* ---- for the loop -------------------------------------------------------- */

static void
set_path(const char *path)
{
	if (strcmp(path, db.path) == 0)
		return;
	text_fmt(db.path, sizeof(db.path), "%s", path);
	db.worth = db.all = db.others = 0;
	db.err = 0;
}

static void
look(void)
{
	db.due = now.mono + destdb_period;
	if (db.path[0] == '\0')
		return;
	keep(0);
	hear_others();
}

void
destdb_open(const char *place)
{
	char path[PATH_MAX_], fresh[PATH_MAX_];

	set_path(place);
	if (db.path[0] != '\0' &&
	    own_paths(path, fresh, sizeof(path)) == 0) {
		read_file(path, "", now.mono, restore);
		sum_up(&db.worth, &db.all);
	}
	look();
}

void
destdb_reload(const char *place)
{
	set_path(place);
	look();
}

double
destdb_wait(void)
{
	if (db.path[0] == '\0')
		return 3600;
	return db.due > now.mono ? db.due - now.mono : 0;
}

void
destdb_run(void)
{
	if (db.path[0] != '\0' && now.mono >= db.due)
		look();
}

void
destdb_close(void)
{
	if (db.path[0] != '\0')
		keep(1);
}
