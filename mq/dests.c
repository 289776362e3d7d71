/*
 * dests.c - lists what the scheduler knows of destinations.
 *
 *	smtp/example.org  active
 *		window 5 of 20, 3 agents at work, 1 idle
 *		12 jobs ready, 2 waiting
 *		30 good and 2 bad reports, 0.40 cohorts failed, used 0s ago
 *	smtp/down.example  retry: connection refused
 *		next 14:05 (in 5m), failed 3 times in a row
 *		0 good and 1 bad report, 1.00 cohorts failed, used 2m ago
 *
 * Destinations are sorted by name.  The state is the first of these that is
 * true:
 *
 *	retry	the destination is dead, or no agent can be started, until the
 *		next try
 *	active	agents are at work
 *	idle	agents are idle
 *	closed	there were reports, and there are no agents now
 *	unused	there was no report yet
 */
#include "mq.h"

static int
by_name(const void *a, const void *b)
{
	return mq_by_name(*(const struct mq_dest *const *)a,
	    *(const struct mq_dest *const *)b);
}

static void
put_dest(const struct mq_dest *d)
{
	const struct mq_facts *k = d->facts;

	mq_print("%s/%s  %s%s\n\t", d->channel, d->host,
	    mq_dest_state_name[mq_dest_get_state(k)],
	    mq_reason_suffix(k->reason));
	if (k->dead >= 0) {
		mq_print("%s", mq_next_try(k->dead < INT_MAX ? (int)k->dead :
		    INT_MAX));
		if (k->tries > 0)
			mq_print(", failed %s in a row",
			    mq_plural(k->tries, "time"));
	} else {
		mq_print("window %.0f", k->window);
		if (k->limit > 0)
			mq_print(" of %.0f", k->limit);
	}
	if (k->agents > 0)
		mq_print(", %s at work", mq_plural(k->agents, "agent"));
	if (k->idle > 0)
		mq_print(", %.0f idle", k->idle);
	if (*k->rate != '\0')
		mq_print(", rate %s", k->rate);
	if (k->ready > 0 || k->waiting > 0)
		mq_print("\n\t%s ready, %.0f waiting",
		    mq_plural(k->ready, "job"), k->waiting);
	mq_print("\n\t%.0f good and %s", k->good,
	    mq_plural(k->bad, "bad report"));
	if (k->cohorts > 0)
		mq_print(", %.2f cohorts failed", k->cohorts / 100);
	mq_print(", used %s ago\n",
	    mq_span((long)(k->unused < 1e9 ? k->unused : 1e9)));
}

static void
put_totals(const struct mq_dest **v, unsigned n, const struct mq_view *view)
{
	unsigned of[MQ_UNUSED + 1], i;

	if (n == 0) {
		mq_print("nothing is known of %s\n", view->filter == NULL ?
		    "any destination" : view->filter);
		return;
	}
	memset(of, 0, sizeof(of));
	for (i = 0; i < n; i++)
		of[mq_dest_get_state(v[i]->facts)]++;
	mq_print("%s", mq_plural((double)n, "destination"));
	for (i = 0; i <= MQ_UNUSED; i++)
		mq_print("%s%u %s", i == 0 ? "; " : ", ", of[i],
		    mq_dest_state_name[i]);
	putchar('\n');
}

int
mq_show_dests(const struct mq_queue *q, const struct mq_view *view, int json)
{
	const struct mq_dest **v, *d;
	unsigned i, n = 0;

	v = mem_get((q->ndests + 1) * sizeof(*v));
	if (v == NULL)
		return -1;
	for (d = q->dests; d != NULL; d = d->next)
		if (d->facts != NULL && !d->hidden)
			v[n++] = d;
	qsort((void *)v, n, sizeof(*v), by_name);
	for (i = 0; i < n; i++)
		if (json)
			mq_json_dest(v[i]);
		else
			put_dest(v[i]);
	if (!json) {
		put_totals(v, n, view);
		mq_put_around(q, 1);
	} else {
		mq_json_around(q);
	}
	free((void *)v);
	return 0;
}
