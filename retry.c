/*
 * retry.c - how long something waits that was put off.
 *
 * The list of a clause, retries, holds factors of its interval.  What is put
 * off again and again goes through the list once, and at its end continues
 * from a random place.  The factor 0 means at once, which is a second.
 *
 * Each wait is moved a little, so that mail that arrived at any time comes to
 * be tried together: by the retry with the number skew it falls on a multiple
 * of the interval since the epoch, and before that it comes nearer to it by
 * equal shares.
 *
 * Nothing here has a state or reads a clock.
 */
#include "scheduler.h"

#define WAIT_MOST	315360000L	/* seconds; ten years */

long
retry_factor(const struct setting *s, unsigned step)
{
	long f = s->retries[step];

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
	unsigned at = *step < s->nretries ? *step : 0;
	long wait = retry_factor(s, at);

	*step = (unsigned short)(at + 1 < (unsigned)s->nretries ? at + 1 :
	    (unsigned)rnd((unsigned long)s->nretries));
	if (s->retries[at] == 0)
		return wait;
	return align(s, wait, tries, wall);
}

long
retry_longest(const struct setting *s)
{
	unsigned i, at = 0;

	for (i = 1; i < (unsigned)s->nretries; i++)
		if (s->retries[i] > s->retries[at])
			at = i;
	return retry_factor(s, at);
}

unsigned short
retry_step(const struct setting *s, long age)
{
	long i, sum = 0;

	for (i = 0; i < s->nretries; i++) {
		sum += retry_factor(s, (unsigned)i);
		if (age < sum || sum >= WAIT_MOST)
			return (unsigned short)i;
	}
	return (unsigned short)rnd((unsigned long)s->nretries);
}
