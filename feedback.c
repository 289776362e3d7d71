/*
 * feedback.c - the rules of a destination: window, dead time, rate and retry
 * times.
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
 * several good ones.  Sums of steps are compared with a slop, as six times 1/6
 * may be less than 1.  The window does not grow ahead of need: a window of N
 * grows only when more than N - initthr agents are busy.
 *
 * Dead time.  A bad report is also one Nth of a failed cohort.  When more
 * cohorts have failed than the clause allows, with no good report in between,
 * the destination is dead: no agent gets a job for it until its dead time is
 * over, an operator or a T line ends it, or an agent still at work has a good
 * report.  With maxthr=1 the window is 1 or 0, and one report that the host
 * accepts no mail at all makes it 0, unless cohorts is 0.
 *
 * The rate does not depend on reports.  Deliveries have slots that are one gap
 * apart.  A start may be late by a tenth of the gap, or by 0.05 seconds in a
 * gap of less than 0.5 (but not by more than the gap), and still has its slot:
 * a busy machine does not lower the rate.  A later start begins a new row of
 * slots, so that unused slots are not saved.  With rate=10/m there are slots at
 * 0, 6 and 12 seconds.  A start at 6.5 has the slot 6, and the next is 12; a
 * start at 20 has the slot 20, and the next is 26.
 *
 * Retry times.  The value of retries is a list of factors of interval: "1 2 5"
 * with 10m are waits of 10, 20 and 50 minutes; the factor 0 is one second.  A
 * vertex uses the factors in order; after the last one it continues from a
 * random one.  Waits are moved a little so that mail for a host is tried at the
 * same time: from retry number skew on, each one falls on the nearest multiple
 * of interval since the epoch, and earlier ones are moved towards such
 * multiples by equal steps.
 *
 *	interval=10m, retries="1 1 1", skew=2
 *	deferred at 9:07	9:17 is 3 minutes before a multiple, and 2
 *				retries share that: half of it, 9:18:30
 *	deferred at 9:18:30	9:28:30 is 90 seconds before one: 9:30
 *
 * Nothing here does input or output, allocates memory or calls another module
 * of the daemon.  Each function costs O(1), but for the length of a retry list.
 */
#include "scheduler.h"

#define SLOP	1e-9		/* more than the rounding errors of a sum of
				 * steps, less than a step */
#define LATE_SHARE	10.0	/* a start may be late by 1/10 of the gap */
#define LATE_LEAST	0.05	/* seconds by which a start may always be late,
				 * if the gap is not shorter */

/* ---- the window -------------------------------------------------------- */

/* Returns the square root of n > 0, not exact in its last bits, by Newton's
 * steps, of which 40 are enough for any long.  For sqrt some systems need
 * another library. */
static double
root(long n)
{
	double x = n;
	int i;

	for (i = 0; i < 40; i++)
		x = (x + n / x) / 2;
	return x;
}

/* Returns the change of a sum by one report. */
static double
feedback_step(const struct fb_rule *r, long window)
{
	if (r->form == FB_WINDOW)
		return r->x / window;
	if (r->form == FB_SQRT)
		return r->x / root(window);
	return r->x;
}

/* Returns the window, or the limit if the window is larger. */
static long
cap_window(const struct feedback *f, long window)
{
	return f->limit > 0 && window > f->limit ? f->limit : window;
}

void
fb_revive(struct thread *d)
{
	if (d->window > 0)
		return;
	d->window = cap_window(d->fb, d->nta > 0 ? (long)d->nta : d->fb->init);
	d->success = d->failure = d->cohorts = 0;
	if (d->until > 0)	/* dead, and not just new */
		q.unsaved |= CHANGES;
	d->until = 0;
	d->by_other = 0;
}

void
fb_report_good(struct thread *d)
{
	const struct feedback *f = d->fb;
	long was = d->window;

	d->ngood++;
	d->used = d->good = now.mono;
	d->cohorts = 0;
	fb_revive(d);
	if (was == 0)
		return;
	d->window = cap_window(f, was);
	/* at the limit, or ahead of need, the window does not grow */
	if ((f->limit <= 0 || d->window < f->limit) &&
	    d->window < (long)d->nta + cap_window(f, f->init)) {
		d->success += feedback_step(&f->pos, d->window);
		if (d->success > 1 - SLOP) {
			d->window++;
			d->failure = 0;
			d->success--;
		}
	}
}

void
fb_report_bad(struct thread *d, int refuses_all)
{
	const struct feedback *f = d->fb;

	d->nbad++;
	d->used = d->bad = now.mono;
	if (d->window == 0)
		return;
	d->window = cap_window(f, d->window);
	d->cohorts += 1.0 / d->window;
	if (f->cohorts > 0 && (d->cohorts > f->cohorts + SLOP ||
	    (refuses_all && f->limit == 1))) {
		d->window = 0;
		d->until = now.mono;	/* th_sleep sets the end */
	} else {
		d->failure -= feedback_step(&f->neg, d->window);
		if (d->failure < -SLOP) {
			d->window--;
			d->failure++;
			d->success = 0;
		}
		if (d->window < 1)
			d->window = 1;
	}
}

long
fb_agents_left(const struct thread *d, long busy)
{
	long window = cap_window(d->fb, d->window);

	return window > busy ? window - busy : 0;
}

/* ---- the rate ---------------------------------------------------------- */

/* Returns the seconds from one slot to the next, 0 without a rate. */
static double
slot_gap(const struct feedback *f)
{
	return f->rate.n > 0 ? (double)f->rate.per / f->rate.n : 0;
}

double
fb_rate_wait(const struct thread *d)
{
	double wait = d->fb->rate.n == 0 ? 0 :
	    d->slot + slot_gap(d->fb) - now.mono;

	return wait > 0 ? wait : 0;
}

void
fb_use_slot(struct thread *d)
{
	double gap = slot_gap(d->fb), late = gap / LATE_SHARE;
	double due = d->slot + gap;

	if (late < LATE_LEAST)
		late = gap < LATE_LEAST ? gap : LATE_LEAST;
	d->slot = gap > 0 && now.mono - due <= late ? due : now.mono;
	d->used = now.mono;
}

/* ---- retry times ------------------------------------------------------- */

/* Returns the seconds for the factor at this index of the list, at least 1. */
static long
factor_wait(const struct setting *s, unsigned at)
{
	long f = s->retries.at[at];

	if (f == 0)
		return 1;
	return f > SPAN_MOST / s->interval ? SPAN_MOST : f * s->interval;
}

/* Returns the wait after moving its end towards the nearest multiple of the
 * interval.  This retry and the later ones up to number skew share the
 * distance; each share is rounded up to seconds. */
static long
align_wait(const struct setting *s, long wait, unsigned tries, time_t wall)
{
	long sharers = s->skew - (long)tries + 1, off, share;

	if (wall <= 0)
		return wait;
	/* seconds from the multiple to the end of the wait; below 0: the end
	 * is earlier */
	off = ((long)wall % s->interval + wait % s->interval) % s->interval;
	if (off > s->interval / 2)
		off -= s->interval;
	if (sharers < 1)
		sharers = 1;
	share = ((off < 0 ? -off : off) + sharers - 1) / sharers;
	wait += off < 0 ? share : -share;
	return wait < 1 ? 1 : wait;
}

long
retry_next_wait(const struct setting *s, unsigned short *retry_index,
    unsigned tries, time_t wall)
{
	unsigned at = *retry_index < s->retries.n ? *retry_index : 0;
	long wait = factor_wait(s, at);

	*retry_index = (at + 1 < (unsigned)s->retries.n ? at + 1 :
	    rnd(s->retries.n));
	if (s->retries.at[at] == 0)
		return wait;
	return align_wait(s, wait, tries, wall);
}

long
retry_longest_wait(const struct setting *s)
{
	unsigned i, at = 0;

	for (i = 1; i < (unsigned)s->retries.n; i++)
		if (s->retries.at[i] > s->retries.at[at])
			at = i;
	return factor_wait(s, at);
}

unsigned short
retry_index_at_age(const struct setting *s, long age)
{
	long i, sum = 0;

	for (i = 0; i < s->retries.n; i++) {
		sum += factor_wait(s, i);
		if (age < sum || sum >= SPAN_MOST)
			return i;
	}
	return rnd(s->retries.n);
}
