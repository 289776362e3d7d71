/*
 * feedback.c - destinations: their window, dead time, rate and retry times, and
 * the file that keeps them.
 *
 *	posfeedback=negfeedback=1/concurrency, initthr=5, all 5 agents busy
 *	5 good reports	success 0.2, 0.4 .. 1	window 6, success 0
 *	1 bad report	failure 0 - 1/6		window 5, failure 5/6
 *
 * The window.  A destination has a window, the number of agents that may work
 * for it at one time.  Each job that ends is one report.  A good report says
 * that the host answered, even if it refused the mail; a bad report says that
 * no conversation was possible.  Good reports widen the window and bad reports
 * narrow it by the rules of the clause.  A rule gives a step of x, x/N or
 * x/sqrt(N) for a window of N.
 *
 * There are two sums of steps.  success rises from 0: at 1 it falls by 1 and
 * the window grows by 1.  failure falls from 0: below 0 it rises by 1 and the
 * window shrinks by 1.  Each change sets the other sum to 0.  So the window
 * narrows at the first of several bad reports, but widens only at the last of
 * several good ones.  It does not grow ahead of need: a window of N grows only
 * when more than N - initthr agents are busy.
 *
 * Dead time.  A bad report is also one Nth of a failed cohort.  When more
 * cohorts have failed than the clause allows, with no good report in between,
 * the destination is dead: no agent is started for it until its dead time is
 * over, a flush or a T line ends it, or an agent still at work reports
 * success.  With maxthr=1 the window is 1 or 0, and one report that the host
 * accepts no mail at all makes it 0.
 *
 * The rate does not depend on reports.  Deliveries have slots that are one gap
 * apart.  A start that is late by at most a tenth of the gap still has its
 * slot, so that a busy machine does not lower the rate.  A later start begins
 * a new row of slots, so that unused slots are not saved.  With rate=10/m
 * there are slots at 0, 6 and 12 seconds.  A start at 6.5 has the slot 6, and
 * the next is 12; a start at 20 has the slot 20, and the next is 26.
 *
 * Retry times.  The list retries has factors of interval: "1 2 5" with 10m
 * are waits of 10, 20 and 50 minutes; the factor 0 is one second.  A vertex
 * uses the factors in order; after the last one it continues from a random
 * one.  Waits are moved a little so that mail for a host is tried at the same
 * time: from retry number skew on each falls on the nearest multiple of
 * interval since the epoch, and earlier ones are moved towards such multiples
 * by equal steps.
 *
 *	interval=10m, retries="1 1 1", skew=2
 *	deferred at 9:07	9:17 is 3 minutes before a multiple, and 2
 *				retries share that: half of it, 9:18:30
 *	deferred at 9:18:30	9:28:30 is 90 seconds before one: 9:30
 *
 * Memory.  A destination without mail stays in a list, the least recently used
 * first.  It is forgotten when it has not been used for the time that its
 * clause sets, or when the list has more than 1000.  A mailbox of this machine
 * is a destination only while it has mail.
 *
 * The file.
 *
 *	smtp TAB mx.test TAB 0 TAB 540 TAB 3 TAB 60 TAB no route to host
 *
 * This line says: smtp/mx.test is dead, is tried again 540 seconds after the
 * file was written, died 3 times in a row, was last used 60 seconds before the
 * file was written, and has this last reason.  A destination with a window of 8
 * has 8 instead of 0, and "-" instead of 540.
 *
 * PARAMdestdb names a file, or a directory where each host has a file with its
 * own name.  Our file is read at the start and written at the end.  A round
 * every few minutes writes it, too, if a window has changed or a destination
 * has died or answered.  Times of use alone are written only at the end, to
 * spare flash disks.
 *
 * Each round reads the files of other hosts, for dead destinations only.  A
 * destination that is dead there, and had no good report here since, is dead
 * here for the next three rounds, or for its dead time if that is shorter.
 * Each round begins these anew as long as the file says so.  Such a
 * destination is not written to our file; else two hosts could keep it dead
 * between them.
 *
 * The time since a file was written is the difference of the two wall clocks.
 * If one of them is not set or the difference is below 0, it is taken as 0.  No
 * destination is dead for longer than the longest wait of its clause.  Files
 * are input: a damaged line is skipped, and so is a file that has another first
 * line or is too long.  The log says so, and the rest is read.
 *
 * Finding a destination costs O(1).  Once a second all unused ones are checked;
 * a round costs O(destinations).
 */
#include "scheduler.h"
#include <ctype.h>
#include <dirent.h>
#include <sys/utsname.h>

#define WAIT_MOST	315360000L	/* seconds; ten years */
#define LATE_SHARE	10.0	/* a start may be late by 1/10 of the gap ... */
#define LATE_LEAST	0.05	/* or by so many seconds, but not by the gap */
#define UNUSED_MOST	1000	/* destinations without mail: memory is small */
#define HEAD		"destdb 2 "
#define FILE_MOST	(2L * 1024 * 1024)	/* bytes */
#define OTHERS_MOST	100	/* files of other hosts */
#define CHANNELS_MOST	100	/* beyond them files bring no new ones, as
				 * finding one is O(channels) */
#define WINDOW_MOST	1000000L
#define WORDS_MOST	500	/* bytes of a reason */
#define HEARSAY		3	/* rounds that a destination is dead by the
				 * word of another host's file */

double dest_period = 300;	/* seconds between rounds of files */

/* Destinations without mail, the oldest first. */
static struct thread *unused;
static unsigned nunused;

/* What our file lacks: uses are written at the end, changes at the next round.
 */
enum unsaved { SAVED, USES, CHANGES };

static struct {
	char	path[PATH_MAX_];	/* "": there is none */
	conf_match *match;
	double	due;		/* mono; the next round */
	enum unsaved unsaved;
	unsigned wrong, logged;	/* errors of this round and the last */
} db;

/* record: a line of a file, its times as of now. */
struct record {
	char	*channel, *host, *reason;
	long	window;		/* 0: it is dead */
	long	left;		/* seconds until it is tried again */
	long	tries;
	double	used;		/* mono; its last report or start */
};

/*
 * The value, rounded to a double.  Some processors calculate with more bits;
 * then five times 0.2 is not 1.
 */
static double
stored(double x)
{
	volatile double d = x;

	return d;
}

static void
unsave(enum unsaved what)
{
	if (db.unsaved < what)
		db.unsaved = what;
}

/* ---- the window -------------------------------------------------------- */

/* The square root of n, at least 1, except for its last bit; with sqrt some
 * systems would need another library.  Newton's steps fall until they stop. */
static double
root(long n)
{
	double x, next = n;

	do {
		x = next;
		next = stored((x + n / x) / 2);
	} while (next < x);
	return x;
}

static double
step(const struct fb_rule *r, long window)
{
	switch (r->form) {
	case FB_WINDOW:
		return stored(r->x / window);
	case FB_SQRT:
		return stored(r->x / root(window));
	default:
		return r->x;
	}
}

static long
capped(const struct feedback *f, long window)
{
	return f->limit > 0 && window > f->limit ? f->limit : window;
}

static long
initial(const struct feedback *f)
{
	return capped(f, f->init > 0 ? f->init : 1);
}

static void
init(struct thread *d)
{
	d->slot = d->good = d->bad = NEVER;
	d->used = now.mono;
}

void
fb_lift(struct thread *d)
{
	if (d->window > 0)
		return;
	if (d->until > 0)	/* it was dead, and not just unknown */
		unsave(CHANGES);
	d->window = d->nta > 0 ? capped(d->fb, d->nta) : initial(d->fb);
	d->success = d->failure = d->cohorts = 0;
	d->until = 0;
	d->by_other = 0;
}

void
fb_wake(struct thread *d)
{
	if (now.mono >= d->until)
		fb_lift(d);
}

void
fb_good(struct thread *d)
{
	const struct feedback *f = d->fb;
	long was = d->window;

	d->ngood++;
	d->used = d->good = now.mono;
	d->cohorts = 0;
	fb_lift(d);
	if (was == 0)
		return;
	d->window = capped(f, was);
	/* at the limit, or ahead of need, the window does not grow */
	if ((f->limit <= 0 || d->window < f->limit) &&
	    d->window < (long)d->nta + initial(f)) {
		d->success = stored(d->success + step(&f->pos, d->window));
		while (d->success >= 1) {
			d->window++;
			d->failure = 0;
			d->success = stored(d->success - 1);
		}
		d->window = capped(f, d->window);
	}
	unsave(d->window != was ? CHANGES : USES);
}

void
fb_bad(struct thread *d, int all)
{
	const struct feedback *f = d->fb;
	long was = d->window;

	d->nbad++;
	d->used = d->bad = now.mono;
	if (was == 0)
		return;
	d->window = capped(f, was);
	d->cohorts = stored(d->cohorts + stored(1.0 / d->window));
	if (f->cohorts > 0 && (d->cohorts > f->cohorts ||
	    (all && f->limit == 1))) {
		d->window = 0;
		d->until = now.mono;
	} else {
		d->failure = stored(d->failure - step(&f->neg, d->window));
		while (d->failure < 0) {
			d->window--;
			d->failure = stored(d->failure + 1);
			d->success = 0;
		}
		if (d->window < 1)
			d->window = 1;
	}
	unsave(d->window != was ? CHANGES : USES);
}

long
fb_room(const struct thread *d, long busy)
{
	long window = capped(d->fb, d->window);

	return window > busy ? window - busy : 0;
}

/* ---- the rate ---------------------------------------------------------- */

/* Seconds from one slot to the next, 0 without a rate. */
static double
gap(const struct feedback *f)
{
	return f->rate.n > 0 ? (double)f->rate.per / f->rate.n : 0;
}

double
fb_wait(const struct thread *d)
{
	double wait = d->fb->rate.n == 0 ? 0 : d->slot + gap(d->fb) - now.mono;

	return wait > 0 ? wait : 0;
}

void
fb_started(struct thread *d)
{
	double space = gap(d->fb), late = space / LATE_SHARE;
	double due = d->slot + space;

	if (late < LATE_LEAST)
		late = space < LATE_LEAST ? space : LATE_LEAST;
	d->slot = space > 0 && now.mono - due <= late ? due : now.mono;
	d->used = now.mono;
	unsave(USES);
}

/* ---- how long something waits ---------------------------------------- */

long
retry_factor(const struct setting *s, unsigned step)
{
	long f = s->retries.at[step];

	if (f == 0)
		return 1;
	return f > WAIT_MOST / s->interval ? WAIT_MOST : f * s->interval;
}

/* Moves a wait towards a multiple of the interval. */
static long
align(const struct setting *s, long wait, unsigned tries, time_t wall)
{
	long left = s->skew - (long)tries + 1, off, share;

	if (wall <= 0)
		return wait;
	off = ((long)wall % s->interval + wait % s->interval) % s->interval;
	if (off > s->interval / 2)
		off -= s->interval;	/* the next one is nearer */
	if (left < 1)
		left = 1;
	share = (off < 0 ? -off + left - 1 : off + left - 1) / left;
	wait += off < 0 ? share : -share;
	return wait < 1 ? 1 : wait;
}

long
retry_wait(const struct setting *s, unsigned short *step, unsigned tries,
    time_t wall)
{
	unsigned at = *step < s->retries.n ? *step : 0;
	long wait = retry_factor(s, at);

	*step = (at + 1 < (unsigned)s->retries.n ? at + 1 :
	    rnd(s->retries.n));
	if (s->retries.at[at] == 0)
		return wait;
	return align(s, wait, tries, wall);
}

long
retry_longest(const struct setting *s)
{
	unsigned i, at = 0;

	for (i = 1; i < (unsigned)s->retries.n; i++)
		if (s->retries.at[i] > s->retries.at[at])
			at = i;
	return retry_factor(s, at);
}

unsigned short
retry_step(const struct setting *s, long age)
{
	long i, sum = 0;

	for (i = 0; i < s->retries.n; i++) {
		sum += retry_factor(s, i);
		if (age < sum || sum >= WAIT_MOST)
			return i;
	}
	return rnd(s->retries.n);
}

/* ---- the table --------------------------------------------------------- */

/* The channel of that name, which stays for good; NULL without memory, or if it
 * is new and there are most of them. */
static struct chan *
chan_of(const char *name, int most)
{
	struct chan *c;

	for (c = q.chans; c != NULL; c = c->next, most--)
		if (*c->name == *name && strcmp(c->name, name) == 0)
			return c;
	c = most <= 0 ? NULL : mem_get(sizeof(*c) + strlen(name));
	if (c == NULL)
		return NULL;
	strcpy(c->name, name);
	c->next = q.chans;
	q.chans = c;
	return c;
}

struct chan *
dest_chan(const char *name)
{
	return chan_of(name, INT_MAX);
}

static unsigned
dest_hash(const struct chan *chan, const char *host, unsigned box)
{
	return hash_text(host, hash_text(chan->name, box));
}

/* The destination, or NULL. */
static struct thread *
find_dest(const struct chan *chan, const char *host, unsigned box)
{
	struct hlink *l = hash_first(&q.dests, dest_hash(chan, host, box));
	struct thread *d;

	for (; l != NULL; l = hash_next(l)) {
		d = OWNER(struct thread, link, l);
		if (d->chan == chan && d->box == box &&
		    strcmp(d->host, host) == 0)
			return d;
	}
	return NULL;
}

static void
enter_unused(struct thread *d)
{
	APPEND(unused, d, next, prev);
	nunused++;
}

void
dest_use(struct thread *d)
{
	REMOVE(unused, d, next, prev);
	nunused--;
}

struct thread *
dest_get(struct chan *chan, const char *host, unsigned box)
{
	struct thread *d = chan == NULL ? NULL : find_dest(chan, host, box);

	if (d != NULL || chan == NULL)
		return d;
	d = mem_get(sizeof(*d) + strlen(host));
	if (d == NULL)
		return NULL;
	strcpy(d->host, host);
	d->chan = chan;
	d->box = box;
	init(d);
	hash_add(&q.dests, &d->link, dest_hash(chan, host, box));
	enter_unused(d);
	return d;
}

static void
forget(struct thread *d)
{
	dest_use(d);
	hash_del(&q.dests, &d->link);
	free(d->reason);
	free(d);
}

/* Seconds without use after which it may be forgotten: at least until its rate
 * allows the next delivery. */
static double
keep_for(const struct feedback *f, double forget)
{
	return gap(f) > forget ? gap(f) : forget;
}

void
dest_leave(struct thread *d)
{
	d->used = now.mono;
	d->keep = keep_for(d->fb, d->ring->conf->v.forget);
	d->ring = NULL;
	d->fb = NULL;
	enter_unused(d);
	if (d->local)
		forget(d);
	else if (nunused > UNUSED_MOST)
		forget(unused);
}

void
dest_lift(chan_meant *meant, const void *arg)
{
	struct thread *d;

	for (d = unused; d != NULL; d = d->next)
		if (d->until > now.mono && meant(arg, d->chan, d->host))
			d->until = now.mono;	/* fb_wake will see */
}

/* May an unused one be forgotten? */
static int
is_stale(const struct thread *d)
{
	return d->ring == NULL && (d->window > 0 || d->until <= now.mono) &&
	    (d->by_other || now.mono - d->used >= d->keep);
}

/* Checks all once a second: one that is kept for long, or is dead, has others
 * behind it that may be forgotten. */
void
dest_forget(void)
{
	static double looked = NEVER;	/* mono */
	struct thread *d, *next;

	if (now.mono - looked < 1)
		return;
	looked = now.mono;
	for (d = unused; d != NULL; d = next) {
		next = d->next;
		if (is_stale(d))
			forget(d);
	}
}

/* ---- death -------------------------------------------------------------- */

void
reason_copy(char **slot, const char *s)
{
	char *copy;

	if (*slot != NULL && strcmp(*slot, s) == 0)
		return;
	copy = mem_dup(s);
	if (copy == NULL)
		return;		/* the old words must do */
	free(*slot);
	*slot = copy;
}

static void
sleep_for(struct thread *d, long span)
{
	d->window = 0;
	d->until = now.mono + span;
	log_info("asleep channel=%s host=%s for=%ld tries=%u %s",
	    d->chan->name, d->host, span, (unsigned)d->tries,
	    d->reason != NULL ? d->reason : "");
}

void
dest_sleep(struct thread *d)
{
	d->died = ++q.events;
	if (d->tries < USHRT_MAX)
		d->tries++;
	unsave(CHANGES);
	sleep_for(d, retry_wait(&d->ring->conf->v, &d->step,
	    d->tries, now.wall));
}

/* ---- writing our file --------------------------------------------------- */

/* Logs an error of a file, unless the last round had as many errors. */
static void
complain(const char *path, const char *what, const char *why)
{
	if (++db.wrong > db.logged)
		log_warn("destdb file=%s %s%s", path, what, why);
}

/* The name of our host, changed if it cannot be the name of a file. */
static const char *
own_name(void)
{
	static char name[100];
	struct utsname uts;
	char *p;

	text_fmt(name, sizeof(name), "%s", uname(&uts) < 0 ||
	    uts.nodename[0] == '\0' ? "localhost" : uts.nodename);
	for (p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' &&
		    (*p != '.' || p == name))
			*p = '_';
	return name;
}

static int
is_shared(void)
{
	struct stat st;

	return db.path[strlen(db.path) - 1] == '/' ||
	    (stat(db.path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* The path of our file. */
static const char *
own_path(void)
{
	static char path[PATH_MAX_ + 100];

	text_fmt(path, sizeof(path), is_shared() ? "%s/%s" : "%s", db.path,
	    own_name());
	return path;
}

/* Seconds since then. */
static long
ago(double mono)
{
	double s = now.mono - mono;

	return s < 0 ? 0 : s > WAIT_MOST ? WAIT_MOST : s;
}

/* Writes the line of a destination, if its state is from our own reports and
 * there is room. */
static void
write_record(FILE *f, const struct thread *d)
{
	char line[LINE_MAX_ - 1];
	struct text t;

	if (d->local || d->by_other || ftell(f) > FILE_MOST - LINE_MAX_ ||
	    (d->window > 0 && d->ngood + d->nbad == 0))
		return;
	text_init(&t, line, sizeof(line));
	t.clean = 1;
	text_add(&t, "%s\t%s\t%ld\t", d->chan->name, d->host, d->window);
	if (d->window > 0)
		text_add(&t, "-");
	else	/* seconds from now, by mirroring at now */
		text_add(&t, "%ld", ago(2 * now.mono - d->until));
	text_add(&t, "\t%u\t%ld\t%.*s\n", (unsigned)d->tries, ago(d->used),
	    WORDS_MOST, d->reason != NULL ? d->reason : "");
	if (!t.cut)		/* else its name is absurd */
		fwrite(line, 1, t.len, f);
}

/* In the order in which they would be forgotten: those with mail last. */
static void
write_all(FILE *f)
{
	const struct thread *d;
	char line[100];

	text_fmt(line, sizeof(line), HEAD "%ld\n",
	    now.wall > 0 ? (long)now.wall : 0L);
	fputs(line, f);
	for (d = unused; d != NULL; d = d->next)
		write_record(f, d);
	for (d = q.all; d != NULL; d = d->next)
		write_record(f, d);
}

/* Writes our file anew, if it lacks at least this. */
static void
save(enum unsaved least)
{
	const char *path = own_path(), *base = strrchr(path, '/') + 1;
	char fresh[PATH_MAX_ + 100];

	db.logged = db.wrong;
	db.wrong = 0;
	if (db.unsaved < least)
		return;
	/* other hosts ignore a name that begins with a dot */
	text_fmt(fresh, sizeof(fresh), "%.*s.%s.new", (int)(base - path), path,
	    base);
	if (fd_replace(path, fresh, write_all) < 0) {
		complain(db.path, "cannot be written: ", strerror(errno));
		return;
	}
	db.unsaved = SAVED;
	log_debug("destdb file=%s written", db.path);
}

/* ---- reading a file ----------------------------------------------------- */

/* Makes \ooo bytes, in place: 0, or -1 when it is not well formed. */
static int
take_text(char *s)
{
	char *to = s;
	int c;

	for (; *s != '\0'; *to++ = (char)c) {
		c = (unsigned char)*s++;
		if (c == '\\' && strspn(s, "01234567") >= 3) {
			c = (s[0] - '0') * 64 + (s[1] - '0') * 8 + s[2] - '0';
			s += 3;
		} else if (c == '\\' || c < 32 || c >= 127) {
			return -1;
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

/* A number from 0 to most, or -1. */
static long
number(const char *s, long most)
{
	unsigned long n;

	return num_upto(s, most, &n, NULL) < 0 ? -1 : (long)n;
}

static int
is_whole(const struct lines *l)
{
	return !l->overlong && !l->unended && strlen(l->line) == l->len;
}

/* Parses a line of a file that was written passed seconds ago: 0, or -1 when it
 * is damaged. */
static int
take_line(struct lines *l, long passed, struct record *r)
{
	char *f[7], *p = is_whole(l) ? l->line : NULL;
	long used;
	int n;

	for (n = 0; n < 7 && p != NULL; n++) {
		f[n] = p;
		p = strchr(p, '\t');
		if (p != NULL)
			*p++ = '\0';
	}
	if (n < 7 || p != NULL || !is_word(f[0]) ||
	    !is_word(f[1]) || take_text(f[6]) < 0 || strlen(f[6]) > WORDS_MOST)
		return -1;
	r->channel = f[0];
	r->host = f[1];
	r->window = number(f[2], WINDOW_MOST);
	r->left = number(f[3], WAIT_MOST);
	r->tries = number(f[4], USHRT_MAX);
	used = number(f[5], WAIT_MOST);
	r->reason = f[6];
	if (r->window < 0 || r->tries < 0 || used < 0 ||
	    (r->window == 0) != (r->left >= 0))
		return -1;
	r->left = r->left > passed ? r->left - passed : 0;
	r->used = now.mono - used - passed;
	return 0;
}

/* Sets the new destination to the state in the record, as if by one report. */
static void
restore(struct thread *d, const struct record *r, const struct setting *s)
{
	d->used = d->slot = r->used;
	d->window = capped(&s->fb, r->window);
	if (r->window > 0) {
		d->good = d->used;
		d->ngood = 1;
	} else {
		d->bad = d->used;
		d->nbad = 1;
		if (s->fb.cohorts > 0)
			d->until = now.mono + r->left;
		else
			d->window = initial(&s->fb);
	}
	d->tries = r->tries;
	d->step = (r->tries < s->retries.n ? r->tries :
	    (long)rnd(s->retries.n));
	if (*r->reason != '\0')
		reason_copy(&d->reason, r->reason);
}

/* The destination is dead for the host who, and now here, too, unless it has
 * had a later good report.  The next rounds prolong that as long as the file
 * says so. */
static void
take_foreign(struct thread *d, const struct record *r, const char *who)
{
	char why[WORDS_MOST + 200];
	double span = HEARSAY * dest_period;

	if (d->local || (d->until > 0 && !d->by_other) || d->good >= r->used)
		return;
	if (span > r->left)
		span = r->left;
	if (!d->by_other) {
		text_fmt(why, sizeof(why), "%s (told by %s)", r->reason, who);
		reason_copy(&d->reason, why);
		sleep_for(d, span);
	}
	d->until = now.mono + span;
	d->by_other = 1;
}

/* Takes a line of the file of the host who; NULL: of our own. */
static void
take_record(struct record *r, const char *who)
{
	const struct conf *f = who != NULL && r->left <= 0 ? NULL :
	    db.match(q.config, r->channel, r->host);
	const struct setting *s = f == NULL ? NULL : &f->v;
	struct chan *chan = s == NULL || s->command == NULL ||
	    (who != NULL && s->fb.cohorts == 0) ? NULL :
	    chan_of(r->channel, CHANNELS_MOST);
	struct thread *d = chan == NULL ? NULL : find_dest(chan, r->host, 0);

	if (chan == NULL || (who == NULL && d != NULL))
		return;
	if (r->left > retry_longest(s))
		r->left = retry_longest(s);
	if (d == NULL && (who == NULL || nunused < UNUSED_MOST) &&
	    (d = dest_get(chan, r->host, 0)) != NULL)
		d->keep = keep_for(&s->fb, s->forget);
	if (d != NULL && who == NULL)
		restore(d, r, s);
	else if (d != NULL)
		take_foreign(d, r, who);
}

/* The first line: seconds since the file was written; -1: the file has another
 * format. */
static long
take_head(struct lines *l)
{
	const size_t n = sizeof(HEAD) - 1;
	long wall = !line_next(l) || !is_whole(l) ||
	    strncmp(l->line, HEAD, n) != 0 ? -1 : number(l->line + n, LONG_MAX);

	return wall < 0 ? -1 : wall < SANE_WALL || (long)now.wall <= wall ? 0 :
	    (long)now.wall - wall > WAIT_MOST ? WAIT_MOST :
	    (long)now.wall - wall;
}

static void
take_lines(struct lines *l, const char *path, const char *who)
{
	unsigned long n, first = 0, bad = 0;
	char what[100];
	struct record r;
	long passed = take_head(l);

	if (passed < 0) {
		complain(path, "is empty, damaged or of another version; "
		    "it is passed over", "");
		return;
	}
	for (n = 2; line_next(l) && l->off <= FILE_MOST; n++)
		if (take_line(l, passed, &r) == 0)
			take_record(&r, who);
		else if (bad++ == 0)
			first = n;
	text_fmt(what, sizeof(what), "lines=%lu damaged and passed over, "
	    "the first is line %lu", bad, first);
	if (bad > 0)
		complain(path, what, "");
	if (l->error != 0)
		complain(path, "cannot be read to its end: ",
		    strerror(l->error));
}

/* Reads the file of the host who; NULL: our own.  In the directory, entries
 * that are no regular files are ignored. */
static void
take_file(const char *path, const char *who)
{
	static struct lines l;
	struct stat st;
	int fd = fd_plain(path, O_RDONLY, &st);

	if (fd < 0) {
		if (errno != ENOENT && (who == NULL || errno != EINVAL))
			complain(path, "cannot be read: ", strerror(errno));
		return;
	}
	if (st.st_size > FILE_MOST) {
		complain(path, "is larger than 2 megabytes; it is passed over",
		    "");
	} else {
		line_start(&l, fd, 0);
		take_lines(&l, path, who);
	}
	close(fd);
}

static void
read_others(void)
{
	char path[PATH_MAX_];
	struct dirent *e;
	DIR *dir = opendir(db.path);
	int n = 0;

	if (dir == NULL) {
		complain(db.path, "cannot be read: ", strerror(errno));
		return;
	}
	while (n < OTHERS_MOST && (e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.' && strcmp(e->d_name, own_name()) != 0 &&
		    text_fmt(path, sizeof(path), "%s/%s", db.path,
		    e->d_name) == 0) {
			take_file(path, e->d_name);
			n++;
		}
	closedir(dir);
}

/* ---- for the loop ------------------------------------------------------- */

void
dest_round(conf_match *match)
{
	const char *path = q.config->destdb != NULL ? q.config->destdb : "";
	int is_new = strcmp(path, db.path) != 0;

	db.due = *path == '\0' ? FAR_OFF : now.mono + dest_period;
	db.match = match;
	text_fmt(db.path, sizeof(db.path), "%s", path);
	if (*path == '\0')
		return;
	if (is_new) {
		if (q.dests.n > 0)
			unsave(CHANGES);
		take_file(own_path(), NULL);
		db.wrong = 0;
	}
	save(CHANGES);
	if (is_shared())
		read_others();
}

double
dest_wait(void)
{
	return db.due - now.mono;
}

void
dest_close(void)
{
	if (db.path[0] != '\0')
		save(USES);
}
