/*
 * shape.c - prints the queue by destination: ages, and sizes.
 *
 *	destination      total   5m   20m   80m   5h   1d older state
 *	smtp/example.org    12    0     1     2    2    3     4 retry
 *	    connect to example.org: connection refused
 *
 * A row is a channel and a host.  A column counts the messages up to its age
 * and older than the column before: smtp/example.org has 1 message between 5
 * and 20 minutes old.  A destination that has just died fills from the left;
 * one that nobody looks after has large numbers on the right.  State and reason
 * are the most frequent ones of its messages.  The row with the most messages
 * is first.
 *
 * The jobs are sorted once, by destination and reason, and then walked; memory
 * is a pointer for each job and one row.
 */
#include "mq.h"

#define COLUMNS	6
#define STATES	(MQ_SPOOL + 1)
#define OTHERS	54		/* columns of a row behind the name */

struct row {
	const struct mq_dest *dest;	/* NULL: the sum */
	unsigned long total;
	unsigned long by_age[COLUMNS];
	unsigned long ageless, sizeless;
	double	size;
	unsigned long by_state[STATES];
	const char *what[STATES];	/* member what of the last job
					 * with that state */
	const char *reason;		/* reason of most jobs */
	unsigned long most;		/* jobs with that reason */
	unsigned long same;		/* jobs with the reason of the last
					 * job */
};

static const long age_most[COLUMNS - 1] = {
	300, 1200, 4800, 5 * 3600L, 24 * 3600L
};

/* ---- the walk --------------------------------------------------------- */

static int
by_dest(const void *a, const void *b)
{
	const struct mq_job *x = *(const struct mq_job *const *)a;
	const struct mq_job *y = *(const struct mq_job *const *)b;

	if (x->dest->njobs != y->dest->njobs)
		return x->dest->njobs > y->dest->njobs ? -1 : 1;
	if (x->dest != y->dest)
		return mq_by_name(x->dest, y->dest);
	/* equal texts are kept once: any order brings them together */
	return memcmp(&x->reason, &y->reason, sizeof(x->reason));
}

/* Adds a job; jobs with the same reason follow each other. */
static void
count_job(struct row *r, const struct mq_job *j, const struct mq_msg *m,
    const char *last)
{
	int i = 0;

	r->total++;
	while (i < COLUMNS - 1 && m->age > age_most[i])
		i++;
	if (m->age == MQ_UNKNOWN)
		r->ageless++;
	else
		r->by_age[i]++;
	if (m->size >= 0)
		r->size += m->size;
	else
		r->sizeless++;
	i = mq_job_get_state(m, j);
	r->by_state[i]++;
	r->what[i] = j->what;
	r->same = j->reason == last ? r->same + 1 : 1;
	if (r->same > r->most && *j->reason != '\0') {
		r->most = r->same;
		r->reason = j->reason;
	}
	/* a job that was never tried has no reason; its member what says why no
	 * agent can be started */
	if (r->reason == NULL && j->state == MQ_AGENT && *j->what != '\0')
		r->reason = j->what;
}

/* Calls show with each destination, then with the sum, both with so many
 * columns for the name, and prints the end of the listing: 0, or -1 without
 * memory. */
static int
show_rows(const struct mq_queue *q, void (*show)(const struct row *, int),
    int width)
{
	const struct mq_job **v, *j;
	const char *last = NULL;
	struct row r, all;
	unsigned i, n = 0;

	v = mem_get((q->njobs + 1) * sizeof(*v));
	if (v == NULL)
		return -1;
	for (j = q->jobs; j < q->jobs + q->njobs; j++)
		/* portions of a message follow each other, and count once */
		if (!j->hidden && (n == 0 || v[n - 1]->msg != j->msg ||
		    v[n - 1]->dest != j->dest))
			v[n++] = j;
	qsort((void *)v, n, sizeof(*v), by_dest);
	memset(&r, 0, sizeof(r));
	memset(&all, 0, sizeof(all));
	for (i = 0; i < n; i++) {
		if (r.dest != v[i]->dest) {
			if (r.dest != NULL)
				show(&r, width);
			memset(&r, 0, sizeof(r));
			r.dest = v[i]->dest;
			last = NULL;
		}
		count_job(&r, v[i], &q->msgs[v[i]->msg], last);
		count_job(&all, v[i], &q->msgs[v[i]->msg], last);
		last = v[i]->reason;
	}
	if (r.dest != NULL)
		show(&r, width);
	show(&all, width);
	free((void *)v);
	mq_put_totals(q);
	mq_put_around(q, 0);
	return 0;
}

/* ---- the shape -------------------------------------------------------- */

/* Prints a number, right-aligned in this many columns: 123, 99k, 5M. */
static void
put_number(unsigned long n, int width)
{
	static const char unit[] = " kMGTPE";
	unsigned long most = 1;
	int i, u = 0;

	for (i = 0; i < width - 1; i++)
		most *= 10;
	if (n >= most)
		for (most /= 10; n >= most; u++)
			n /= 1000;
	if (u == 0)
		printf("%*lu", width, n);
	else
		printf("%*lu%c", width - 1, n, unit[u]);
}

/* Prints the state of most jobs, in at most nine bytes. */
static void
put_state(const struct row *r)
{
	char buf[10];
	struct text t;
	int i, top = 0;

	for (i = 1; i < STATES; i++)
		if (r->by_state[i] > r->by_state[top])
			top = i;
	text_init(&t, buf, sizeof(buf));
	t.clean = 1;
	if (top == MQ_RUN)
		text_add(&t, "running");
	else if (top == MQ_HOST)
		text_add(&t, "dead host");
	else if (top == MQ_LIMIT && *r->what[top] != '\0')
		text_add(&t, "%s", strcmp(r->what[top], "maxchannel") == 0 ?
		    "maxchan" : r->what[top]);
	else if (top != MQ_SPOOL && top != MQ_OTHER)
		text_add(&t, "%s", mq_state_name[top]);
	if (*buf != '\0')
		printf(" %s", buf);
}

static void
put_shape_row(const struct row *r, int width)
{
	int i;

	mq_put_name(r->dest, width);
	put_number(r->total, 8);
	for (i = 0; i < COLUMNS; i++)
		put_number(r->by_age[i], 6);
	if (r->dest != NULL)
		put_state(r);
	putchar('\n');
	if (r->dest == NULL && r->ageless > 0)
		mq_print("%s of unknown age: in the total only\n",
		    mq_plural((double)r->ageless, "message"));
	if (r->dest != NULL && r->reason != NULL)
		mq_put_below(r->reason, width + OTHERS);
}

/* At a host "-" each mailbox is a destination: the host becomes "- USER" for a
 * job of one recipient, if the control file can be read. */
static void
split_by_mailbox(struct mq_queue *q, const struct mq_view *view)
{
	char host[MQ_WORD_MAX];
	struct mq_dest *d;
	struct mq_job *j;
	struct mq_rcpts r;
	struct mq_rcpt *v;
	unsigned n;

	for (j = q->jobs; j < q->jobs + q->njobs; j++) {
		if (j->hidden || strcmp(j->dest->host, "-") != 0)
			continue;
		mq_read_rcpts(&r, q, &q->msgs[j->msg], view, NULL);
		v = mq_rcpts_find(&r, j, &n);
		if (n == 1 && text_fmt(host, sizeof(host), "- %s", v->user) ==
		    0 && (d = mq_dest_get(q, j->dest->channel, host)) != NULL) {
			j->dest->njobs--;
			d->njobs++;
			j->dest = d;
		}
		mq_rcpts_free(&r);
	}
}

int
mq_show_dest_ages(struct mq_queue *q, const struct mq_view *view)
{
	int lines, width = mq_name_columns(OTHERS, &lines);

	if (mq_say_if_empty(q, view))
		return 0;
	split_by_mailbox(q, view);
	printf("%-*s%8s%6s%6s%6s%6s%6s%6s state\n", width, "destination",
	    "total", "5m", "20m", "80m", "5h", "1d", "older");
	return show_rows(q, put_shape_row, width);
}

/* ---- the sizes -------------------------------------------------------- */

static void
put_sizes(const struct row *r, int width)
{
	double known = (double)r->total - (double)r->sizeless;

	(void)width;
	if (r->dest == NULL)
		return;
	mq_print("%s/%s:\n\t  %s", r->dest->channel, r->dest->host,
	    mq_plural((double)r->total, "file"));
	if (known > 0)
		printf(", %.0f bytes total, %.0f bytes average", r->size,
		    r->size / known);
	if (r->sizeless > 0)
		printf(", %lu of a size not known", r->sizeless);
	putchar('\n');
}

int
mq_show_dest_sizes(const struct mq_queue *q, const struct mq_view *view)
{
	if (mq_say_if_empty(q, view))
		return 0;
	return show_rows(q, put_sizes, 0);
}
