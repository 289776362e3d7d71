/*
 * watch.c - prints a screen of the queue, for mailq -w.
 *
 *	14:05:10, every 5s
 *	14 messages, 16 recipients, 2 destinations; 0 held, 3 running, 13 ...
 *	in 5s: 3 accepted, 12 delivered (144 a minute), 1 deferred, 0 failed
 *	destination                          jobs  runs  held   good    bad
 *	smtp/example.org                       12     3     0    +12      0
 *	smtp/down.example                       4     0     0      0     +1
 *	    connection refused
 *
 * A row is a destination that has jobs, or reports since the last screen; the
 * last two columns count these reports.  The row with the most jobs is first.
 * The line below a row is the reason why the destination is dead.  Rows for
 * which the terminal has no room are counted.
 *
 * Changes are found by comparison with the queue of the last screen, which is
 * kept.  None are known if the scheduler sends no totals, or was started after
 * that screen.
 */
#include "mq.h"

#define SLOW		10	/* seconds that an answer may take */
#define OTHERS	38		/* columns of a row behind the name */
#define OTHER_LINES	8	/* lines of a screen for other text than rows */

struct row {
	const struct mq_dest *dest;
	unsigned long jobs, runs, held;
	double	good, bad;	/* since the last screen; negative: unknown */
};

/* ---- what has changed ------------------------------------------------- */

/* Returns 1 if both queues are of one run of one scheduler: its uptime and its
 * totals have not shrunk, and its uptime has grown by at least seconds - SLOW.
 */
static int
is_same_run(const struct mq_queue *q, const struct mq_queue *last,
    double seconds)
{
	int i;

	if (q->totals[0] < 0 || last->msgs == NULL || last->totals[0] < 0 ||
	    q->uptime < last->uptime || (double)q->uptime + SLOW <
	    (double)last->uptime + seconds)
		return 0;
	for (i = 0; i < MQ_TOTALS; i++)
		if (q->totals[i] < last->totals[i])
			return 0;
	return 1;
}

static void
put_changes(const struct mq_queue *q, const struct mq_queue *last,
    double seconds)
{
	static const char *const names[] = { "accepted", "delivered",
	    "deferred", "failed" };
	double n;
	int i;

	if (!is_same_run(q, last, seconds) || q->filtered)
		return;
	mq_print("in %s", mq_span((long)(seconds + 0.5)));
	for (i = MQ_ACCEPTED; i <= MQ_FAILED; i++) {
		n = q->totals[i] - last->totals[i];
		printf("%s %.0f %s", i == MQ_ACCEPTED ? ":" : ",", n,
		    names[i]);
		if (i == MQ_DELIVERED && n > 0 && seconds > 0)
			printf(" (%.0f a minute)", n * 60 / seconds);
	}
	putchar('\n');
}

/* Sets the reports on the destination since the last screen. */
static void
set_changes(struct row *r, struct mq_queue *last, int same)
{
	const struct mq_facts *k = r->dest->facts, *was;
	const struct mq_dest *d;

	r->good = r->bad = -1;
	if (k == NULL || !same)
		return;
	d = mq_dest_get(last, r->dest->channel, r->dest->host);
	was = d == NULL ? NULL : d->facts;
	r->good = k->good - (was == NULL ? 0 : was->good);
	r->bad = k->bad - (was == NULL ? 0 : was->bad);
}

/* ---- rows ------------------------------------------------------------- */

static int
by_jobs(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->jobs != y->jobs)
		return x->jobs > y->jobs ? -1 : 1;
	return mq_by_name(x->dest, y->dest);
}

/* Makes a row for each destination, by id: NULL without memory. */
static struct row *
make_rows(const struct mq_queue *q)
{
	struct row *v = mem_get((q->ndests + 1) * sizeof(*v)), *r;
	const struct mq_dest *d;
	const struct mq_job *j;
	enum mq_state state;

	if (v == NULL)
		return NULL;
	for (d = q->dests; d != NULL; d = d->next)
		v[d->id].dest = d;
	for (j = q->jobs; j < q->jobs + q->njobs; j++) {
		if (j->hidden)
			continue;
		r = &v[j->dest->id];
		r->jobs++;
		state = mq_job_get_state(&q->msgs[j->msg], j);
		r->runs += state == MQ_RUN;
		r->held += state == MQ_HELD;
	}
	return v;
}

static void
put_difference(double n)
{
	if (n < 0)
		printf("%7s", "-");
	else
		printf(n > 0 ? "%+7.0f" : "%7.0f", n);
}

/* Prints a row, with so many columns for the destination.  Returns the number
 * of lines. */
static unsigned
put_row(const struct row *r, int width)
{
	const struct mq_facts *k = r->dest->facts;

	mq_put_name(r->dest, width);
	printf("%8lu%6lu%6lu", r->jobs, r->runs, r->held);
	put_difference(r->good);
	put_difference(r->bad);
	putchar('\n');
	if (k == NULL || k->dead < 0 || *k->reason == '\0')
		return 1;
	mq_put_below(k->reason, width + OTHERS);
	return 2;
}

/* Drops empty rows, sorts the others and counts them. */
static unsigned
filter_and_sort_rows(struct row *v, unsigned n, struct mq_queue *last, int same)
{
	unsigned i, k = 0;

	for (i = 0; i < n; i++) {
		set_changes(&v[i], last, same);
		if (!v[i].dest->hidden && (v[i].jobs > 0 || v[i].good > 0 ||
		    v[i].bad > 0))
			v[k++] = v[i];
	}
	qsort(v, k, sizeof(*v), by_jobs);
	return k;
}

/* ---- a screen --------------------------------------------------------- */

int
mq_show_watch(const struct mq_queue *q, struct mq_queue *last, long every,
    double seconds)
{
	unsigned n, i, used = 0, most = 3;
	int lines, width = mq_name_columns(OTHERS, &lines);
	struct row *v = make_rows(q);
	time_t wall = time(NULL);
	char at[20] = "";
	struct tm *tm;

	if (v == NULL)
		return -1;
	if (lines > OTHER_LINES + 3)
		most = (unsigned)(lines - OTHER_LINES);
	tm = localtime(&wall);
	if (tm != NULL)
		strftime(at, sizeof(at), "%H:%M:%S", tm);
	mq_print("%s, every %s\n", at, mq_span(every));
	mq_put_totals(q);
	put_changes(q, last, seconds);
	n = filter_and_sort_rows(v, q->ndests, last,
	    is_same_run(q, last, seconds));
	if (n > 0)
		printf("%-*s%8s%6s%6s%7s%7s\n", width, "destination",
		    "jobs", "runs", "held", "good", "bad");
	for (i = 0; i < n && used < most; i++)
		used += put_row(&v[i], width);
	if (i < n)
		printf("and %u more\n", n - i);
	free(v);
	mq_put_around(q, 0);
	return 0;
}
