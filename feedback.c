/*
 * feedback.c - what is known of a destination: may it take one more agent, and
 * how long does what was deferred wait?
 *
 * A destination has a window, the number of agents that may work for it at
 * once.  Each job that ends is one report.  A good one says that the host was
 * there, whatever it thought of the mail; a bad one that there was no talking
 * to it.  Good reports open the window and bad ones close it by the rules of
 * the clause, which make of the window N a step of x, x/N or x/sqrt(N).  The
 * steps add up, and when they come to 1 the window changes by 1.
 *
 * The two sums run against each other (success up from 0, failure down from
 * 0).  So the window grows at the end of a row of good reports but shrinks
 * with the first of a row of bad ones: too much is put right at once, and more
 * is tried with patience.  It does not grow while it is not being used, which
 * is as long as it is ahead of the busy agents by the initial window.
 *
 * A bad report is also one Nth of a cohort that failed.  When more cohorts
 * have failed than the clause allows, with no good report in between, the
 * destination is dead: nothing is started until it has slept, an operator
 * lifts it, or an agent that was still at work comes home with good news.  A
 * window that is 1 at most leaves nothing but this: a dead host is found.
 *
 * A rate is another matter and knows nothing of good and bad.  Deliveries
 * have slots that are one gap apart.  One that starts a little late still has
 * its slot, so that a busy machine does not make the rate a lower one; one
 * that starts later than that makes the slots count from itself, so that
 * silence saves up nothing.
 *
 * What is deferred again and again goes through the list of its clause once,
 * and at its end continues from a random place.  The list, retries, holds
 * factors of interval: "1 2 5" with 10m are waits of 10, 20 and 50 minutes.
 * The factor 0 means at once, which is a second.  Each wait is moved a little,
 * so that mail that arrived at any time comes to be tried together: by the retry
 * with the number skew it falls on a multiple of the interval since the epoch,
 * and before that it comes nearer to it by equal shares.
 *
 * Everything here is arithmetic on what is passed in, the time too.  Nothing
 * has a state of its own, waits, logs, or knows what a message is.
 */
#include <ctype.h>

#include "scheduler.h"

#define WAIT_MOST	315360000L	/* seconds; ten years */
#define LATE_SHARE	10.0	/* a start may be late by 1/10 of the gap ... */
#define LATE_LEAST	0.05	/* or by so many seconds, but not by the gap */

/*
 * The value as it is once stored in a double.  Some processors calculate with
 * more bits than that, and 0.2 five times is 1 only without them.
 */
static double
stored(double x)
{
	volatile double d = x;

	return d;
}

/* ---- rules and rates in writing --------------------------------------- */

static const char *
skip_blanks(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return s;
}

/* Are they the same, but for upper and lower case? */
static int
same(const char *s, const char *lower)
{
	while (*s != '\0' && tolower((unsigned char)*s) == *lower) {
		s++;
		lower++;
	}
	return *s == '\0' && *lower == '\0';
}

/* The decimal fraction at s, such as 0.25; *end is behind it, or s when there
 * is none.  strtod takes more than that and is large in some libraries. */
static double
decimal(const char *s, const char **end)
{
	double x = 0, by = 1;
	int digits = 0;

	*end = s;
	for (; isdigit((unsigned char)*s); s++, digits++)
		x = x * 10 + (*s - '0');
	if (*s == '.')
		for (s++; isdigit((unsigned char)*s); s++, digits++) {
			x = x * 10 + (*s - '0');
			by *= 10;
		}
	if (digits > 0)
		*end = s;
	return stored(x / by);
}

/* What follows the slash: NULL, or what is wrong with it. */
static const char *
divide(const char *s, struct fb_rule *r)
{
	const char *end;
	double by;

	if (same(s, "concurrency")) {
		r->form = FB_WINDOW;
		return NULL;
	}
	if (same(s, "sqrt_concurrency")) {
		r->form = FB_SQRT;
		return NULL;
	}
	by = decimal(s, &end);
	if (end == s || *end != '\0')
		return "after the / there must be a number, concurrency or "
		    "sqrt_concurrency, and nothing else";
	/* false for what is not a number, too */
	if (!(by >= 1.0 / INT_MAX && by <= INT_MAX))
		return "divides by a number that is too small or too large";
	r->x = stored(r->x / by);
	return NULL;
}

const char *
fb_rule_parse(const char *s, struct fb_rule *rule)
{
	struct fb_rule r;
	const char *why = NULL, *end;

	r.form = FB_CONST;
	s = skip_blanks(s);
	r.x = decimal(s, &end);
	if (end == s)
		return "does not begin with a number";
	s = skip_blanks(end);
	if (*s == '/')
		why = divide(skip_blanks(s + 1), &r);
	else if (*s != '\0')
		why = "after the number there may only be a /";
	if (why != NULL)
		return why;
	if (!(r.x >= 0 && r.x <= 1))
		return "is not between 0 and 1";
	*rule = r;
	return NULL;
}

/* Decimal digits at s, which is moved on: 0, or -1 when there are none or
 * the number is not from 1 to most. */
static int
count(const char **s, long most, long *n)
{
	*n = 0;
	if (!isdigit((unsigned char)**s))
		return -1;
	for (; isdigit((unsigned char)**s); ++*s)
		if ((*n = *n * 10 + (**s - '0')) > most)
			return -1;
	return *n > 0 ? 0 : -1;
}

const char *
fb_rate_parse(const char *s, struct fb_rate *rate)
{
	static const char units[] = "smhd";
	static const long secs[] = { 1, 60, 3600, 86400L };
	const char *unit;
	struct fb_rate r;

	if (count(&s, 1000000L, &r.n) < 0)
		return "does not begin with a number from 1 to 1000000";
	if (*s++ != '/')
		return "has no / after its number; an example is 10/m";
	r.per = 1;
	if (isdigit((unsigned char)*s) && count(&s, 1000L, &r.per) < 0)
		return "has a span of time that is not from 1 to 1000 units";
	if (*s == '\0' || (unit = strchr(units, *s)) == NULL || s[1] != '\0')
		return "does not end in s, m, h or d; an example is 10/m";
	r.per *= secs[unit - units];
	*rate = r;
	return NULL;
}

/* ---- the window -------------------------------------------------------- */

/*
 * The square root of n, at least 1, to the last bit: some systems have sqrt in
 * a library apart.  Newton's steps come down from above until they stop, which
 * is a bit off at most.  The last step knows the error better than a double
 * could: x in two parts makes products that lose nothing.
 */
static double
root(long n)
{
	double x, next = (double)n, hi, lo;

	do {
		x = next;
		next = stored((x + (double)n / x) / 2);
	} while (next < x);
	hi = (double)(float)x;
	lo = x - hi;
	return stored(x + ((double)n - hi * hi - 2 * hi * lo - lo * lo) /
	    (2 * x));
}

static double
step(const struct fb_rule *r, long window)
{
	switch (r->form) {
	case FB_WINDOW:
		return stored(r->x / (double)window);
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

void
fb_init(struct dest *d, const struct feedback *f, double mono)
{
	d->window = d->first = initial(f);
	d->success = d->failure = d->cohorts = 0;
	d->until = 0;
	d->slot = d->good = d->bad = NEVER;
	d->used = mono;
	d->ngood = d->nbad = 0;
	d->hearsay = 0;
}

int
fb_lift(struct dest *d, const struct feedback *f, long busy)
{
	if (d->window > 0)
		return 0;
	d->window = busy > 0 ? capped(f, busy) : initial(f);
	d->success = d->failure = d->cohorts = 0;
	d->until = 0;
	d->hearsay = 0;
	return FB_MOVED | FB_REVIVED;
}

int
fb_wake(struct dest *d, const struct feedback *f, long busy, double mono)
{
	return mono < d->until ? 0 : fb_lift(d, f, busy);
}

/* At the limit, or far ahead of what is used, nothing is even added up. */
static int
may_grow(const struct dest *d, const struct feedback *f, long busy)
{
	return (f->limit <= 0 || d->window < f->limit) &&
	    d->window < busy + initial(f);
}

int
fb_good(struct dest *d, const struct feedback *f, long busy, double mono)
{
	long was = d->window;

	d->ngood++;
	d->used = d->good = mono;
	d->cohorts = 0;
	if (was == 0)
		return fb_lift(d, f, busy);
	d->window = capped(f, was);
	if (may_grow(d, f, busy)) {
		d->success = stored(d->success + step(&f->pos, d->window));
		while (d->success >= 1) {
			d->window++;
			d->failure = 0;
			d->success = stored(d->success - 1);
		}
		d->window = capped(f, d->window);
	}
	return d->window != was ? FB_MOVED : 0;
}

int
fb_bad(struct dest *d, const struct feedback *f, double mono, double span)
{
	long was = d->window;

	d->nbad++;
	d->used = d->bad = mono;
	if (was == 0)
		return 0;
	d->window = capped(f, was);
	d->cohorts = stored(d->cohorts + stored(1.0 / (double)d->window));
	if (f->cohorts > 0 && d->cohorts > (double)f->cohorts) {
		d->window = 0;
		d->until = mono + span;
		return FB_MOVED | FB_DIED;
	}
	d->failure = stored(d->failure - step(&f->neg, d->window));
	while (d->failure < 0) {
		d->window--;
		d->failure = stored(d->failure + 1);
		d->success = 0;
	}
	if (d->window < 1)
		d->window = 1;
	return d->window != was ? FB_MOVED : 0;
}

int
fb_kill(struct dest *d, double mono, double span)
{
	if (d->window == 0)
		return 0;
	d->window = 0;
	d->until = mono + span;
	return FB_MOVED | FB_DIED;
}

long
fb_room(const struct dest *d, const struct feedback *f, long busy)
{
	long window = capped(f, d->window);

	return window > busy ? window - busy : 0;
}

/* ---- the rate ---------------------------------------------------------- */

/* Seconds from one slot to the next, 0 without a rate. */
static double
gap(const struct feedback *f)
{
	return f->rate.n > 0 ? (double)f->rate.per / (double)f->rate.n : 0;
}

double
fb_wait(const struct dest *d, const struct feedback *f, double mono)
{
	double due = d->slot + gap(f);

	return f->rate.n > 0 && due > mono ? due - mono : 0;
}

void
fb_started(struct dest *d, const struct feedback *f, double mono)
{
	double due = d->slot + gap(f), late = gap(f) / LATE_SHARE;

	if (late < LATE_LEAST)
		late = gap(f) < LATE_LEAST ? gap(f) : LATE_LEAST;
	d->slot = f->rate.n > 0 && mono - due <= late ? due : mono;
	d->used = mono;
}

/* ---- the end ------------------------------------------------------------ */

/* Its last slot is not later than its last use. */
double
fb_keep(const struct feedback *f, double idle)
{
	return gap(f) > idle ? gap(f) : idle;
}

int
fb_forget(const struct dest *d, double mono)
{
	return d->thread == NULL && (d->window > 0 || d->until <= mono) &&
	    mono - d->used >= d->keep;
}

/* ---- how long something waits ---------------------------------------- */

long
retry_factor(const struct setting *s, unsigned step)
{
	long f = s->retries.factor[step];

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

	*step = (unsigned short)(at + 1 < (unsigned)s->retries.n ? at + 1 :
	    (unsigned)rnd((unsigned long)s->retries.n));
	if (s->retries.factor[at] == 0)
		return wait;
	return align(s, wait, tries, wall);
}

long
retry_longest(const struct setting *s)
{
	unsigned i, at = 0;

	for (i = 1; i < (unsigned)s->retries.n; i++)
		if (s->retries.factor[i] > s->retries.factor[at])
			at = i;
	return retry_factor(s, at);
}

unsigned short
retry_step(const struct setting *s, long age)
{
	long i, sum = 0;

	for (i = 0; i < s->retries.n; i++) {
		sum += retry_factor(s, (unsigned)i);
		if (age < sum || sum >= WAIT_MOST)
			return (unsigned short)i;
	}
	return (unsigned short)rnd((unsigned long)s->retries.n);
}
