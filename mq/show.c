/*
 * show.c - prints the queue as a list, and its counts.
 *
 *	11026545-21354  <anna@example.org>  287 bytes  23s old
 *		smtp/example.net  3 recipients, 2 tries: connection refused
 *			next 14:05 (in 5m), expires in 2d20h
 *			to bert@example.net
 *
 * A message, then each channel and host it goes to: the number of recipients
 * and tries, the last deferral, and what the job waits for.  An unknown value
 * is left out, and never printed as 0.
 */
#include "mq.h"
#include "../lib/origin.h"

/* ---- what a job waits for --------------------------------------------- */

#define ANY	NULL

/* The words for a job by its members state and what.  The first line that fits
 * counts. */
static const struct {
	enum mq_state state;
	const char *what;	/* "": nothing; ANY: all texts */
	const char *words;	/* %s: what */
} waits[] = {
	{ MQ_RETRY, ANY, "waits for its next try" },
	{ MQ_HOST, ANY, "dead host" },
	{ MQ_LIMIT, "forkrate", "waits, forkrate is reached: many agents are "
	    "being started" },
	{ MQ_LIMIT, "rate", "waits, the rate is reached" },
	{ MQ_LIMIT, "mailbox", "waits, another agent is at its mailbox" },
	{ MQ_LIMIT, "disk", "waits, its control file cannot be written now" },
	{ MQ_LIMIT, "", "waits for a slot" },
	{ MQ_LIMIT, ANY, "waits for a slot, %s is reached" },
	{ MQ_NEXT, "", "waits only for its turn" },
	{ MQ_AGENT, ANY, "no agent can be started: %s" },
	{ MQ_HELD, "", "held" },
	{ MQ_HELD, "message", "held" },
	{ MQ_HELD, ANY, "held by %s" },
	{ MQ_QUEUEONLY, ANY, "queueonly, waits for ETRN or flush" },
	{ MQ_FROZEN, "", "frozen, the scheduler was started with -F" },
	{ MQ_FROZEN, ANY, "frozen, the scheduler was started with %s" },
	{ MQ_COMMAND, ANY, "no clause has a command for it" },
	{ MQ_EVICTED, ANY, "evicted, waits on disk" },
	{ MQ_OTHER, ANY, "%s" }		/* fits every state */
};

/* Prints the state in words, followed by the text end.  Prints nothing if there
 * are no words, or if the time of the next try says enough. */
static void
put_state(const struct mq_job *j, const char *end)
{
	const char *what = j->what;
	size_t i;

	if (j->state == MQ_RETRY && j->next != MQ_UNKNOWN)
		return;
	if (j->state == MQ_RUN) {
		mq_print("agent pid %d has it%s%s%s", j->pid,
		    *what != '\0' ? ": " : "", what, end);
		return;
	}
	for (i = 0; waits[i].state != MQ_OTHER; i++)
		if (waits[i].state == (enum mq_state)j->state &&
		    (waits[i].what == ANY || strcmp(waits[i].what, what) == 0))
			break;
	if (waits[i].state == MQ_OTHER && *what == '\0')
		return;
	mq_print(waits[i].words, what);
	mq_print("%s", end);
}

/* Prints what the job waits for. */
static void
put_state_and_times(const struct mq_job *j)
{
	int next = j->next != MQ_UNKNOWN && (j->next > 0 ||
	    j->state == MQ_RETRY || j->state == MQ_HOST);
	int ends = j->expires != MQ_NEVER;

	if (!next && !ends && *j->what == '\0' &&
	    (j->state == MQ_SPOOL || j->state == MQ_OTHER))
		return;
	mq_print("\t\t");
	put_state(j, next || ends ? ", " : "");
	if (next)
		mq_print("%s%s", mq_next_try(j->next), ends ? ", " : "");
	if (ends && j->expires >= 0)
		mq_print("expires in %s", mq_span(j->expires));
	else if (ends)
		mq_print("expired %s ago", mq_span(-(long)j->expires));
	putchar('\n');
}

/* ---- the list --------------------------------------------------------- */

void
mq_put_message(const struct mq_msg *m)
{
	mq_print(m->sender != NULL ? "%s  <%s>" : "%s  sender not known",
	    m->name, m->sender);
	if (m->size >= 0)
		mq_print("  %s", mq_plural(m->size, "byte"));
	if (m->age != MQ_UNKNOWN)
		mq_print("  %s old", mq_span(m->age));
	puts(m->held ? "  held" : "");
	if (m->unread)
		puts("\tits control file cannot be read or understood");
	else if (m->skipped != NULL)
		mq_print("\tskipped: %s\n\t\t%s\n", m->skipped,
		    mq_next_try(m->next));
	else if (m->over)
		puts("\tall recipients are done, a DSN is to be sent");
	else if (m->first == 0)
		puts("\tno recipient is left");
}

/* Returns the seconds since the last attempt of the only job of a message, by
 * the last change of the control file; -1: not known. */
static long
age_of_attempt(const struct mq_msg *m, const struct mq_job *j, const char *po)
{
	struct stat control, message;

	if (po == NULL || name_parse(m->name) == NULL || m->first != m->last ||
	    j->state == MQ_RUN || j->state == MQ_QUEUEONLY ||
	    j->state == MQ_FROZEN || j->state == MQ_COMMAND ||
	    lstat(path_in(po, "transport/%s", m->name), &control) < 0 ||
	    lstat(path_in(po, "queue/%s", m->name), &message) < 0)
		return -1;
	/* no agent has written to a control file as old as the message */
	return control.st_mtime <= message.st_ctime ? -1 :
	    file_age((long)control.st_mtime);
}

void
mq_put_tries(const struct mq_queue *q, const struct mq_job *j, const char *po,
    const char *reason)
{
	const struct mq_msg *m = &q->msgs[j->msg];
	long ago;

	if (j->tries > 0)
		mq_print(", %d %s", j->tries, j->tries == 1 ? "try" : "tries");
	else if (j->tries == 0 && strcmp(j->dest->channel, "dsn") != 0 &&
	    (ago = age_of_attempt(m, j, po)) >= 0)
		mq_print(", tried before, at least %s ago", mq_span(ago));
	else if (j->tries == 0)
		mq_print(q->uptime != MQ_UNKNOWN && m->age > q->uptime ?
		    ", not tried since the scheduler started" :
		    ", not tried yet");
	mq_print("%s\n", mq_reason_suffix(reason));
	put_state_and_times(j);
}

/* Prints the first recipient that a DSN is about, and the number of others. */
static void
put_dsn_rcpts(const struct mq_msg *m, const char *po)
{
	static struct diags n;	/* large for a stack */
	unsigned many = 0;

	if (po == NULL || name_parse(m->name) == NULL ||
	    mq_open_diags(&n, po, m->name) < 0)
		return;
	while (diag_next_line(&n))
		if (n.tag == ' ' && !n.is_warning &&
		    ctl_read_rcpt(&n.rc, n.off) == 0 && many++ == 0)
			mq_print("\t\ton %s%s\n", n.rc.user,
			    mq_reason_suffix(n.text));
	if (many > 1)
		mq_print("\t\tand on %s\n", mq_plural(many - 1, "other"));
	ctl_close(&n.c);
}

void
mq_put_job(const struct mq_queue *q, const struct mq_job *j, const char *po)
{
	int dsn = strcmp(j->dest->channel, "dsn") == 0;

	mq_print("\t%s/%s  %s", j->dest->channel, j->dest->host, dsn ?
	    "for the sender" : mq_plural(j->nrcpt, "recipient"));
	mq_put_tries(q, j, po, j->reason);
	if (dsn)
		put_dsn_rcpts(&q->msgs[j->msg], po);
}

static void
put_users(const struct mq_rcpts *r, const struct mq_job *j)
{
	const struct mq_rcpt *v;
	unsigned n;

	for (v = mq_rcpts_find(r, j, &n); n > 0; n--, v++)
		mq_print("\t\tto %s%s\n", v->user, mq_reason_suffix(v->reason));
}

/* Prints the number of control files that could not be read, if any. */
static void
put_unread(const struct mq_sum *sum)
{
	if (sum->unread > 0)
		mq_print("; %s cannot be read",
		    mq_plural((double)sum->unread, "control file"));
}

void
mq_put_totals(const struct mq_queue *q)
{
	struct mq_sum sum;

	mq_sum_up(q, &sum);
	mq_print("%s, %s, %s", mq_plural((double)sum.msgs, "message"),
	    mq_plural(sum.rcpts, "recipient"),
	    mq_plural((double)sum.dests, "destination"));
	if (sum.jobs > 0 && q->jobs[0].state != MQ_SPOOL)
		printf("; %lu held, %lu running, %lu waiting", sum.held,
		    sum.running, sum.waiting);
	if (sum.skipped > 0)
		printf("; %lu skipped", sum.skipped);
	put_unread(&sum);
	mq_put_not_listed(q);
	putchar('\n');
}

int
mq_say_if_empty(const struct mq_queue *q, const struct mq_view *view)
{
	struct mq_sum sum;

	mq_sum_up(q, &sum);
	if (sum.msgs > 0)
		return 0;
	if (q->filtered)
		mq_print("nothing in the queue matches %s", view->filter);
	else if (q->evicted > 0)
		mq_print("no message is in memory");
	else if (q->router > 0 || q->nunrouted > 0 ||
	    mq_note_count(q, MQ_FREEZER) > 0)
		mq_print("no message is in the queue");
	else
		mq_print("the queue is empty");
	put_unread(&sum);
	if (!q->filtered)
		mq_put_not_listed(q);
	putchar('\n');
	mq_put_around(q, 0);
	return 1;
}

void
mq_show_list(struct mq_queue *q, const struct mq_view *view)
{
	struct mq_rcpts r;
	const struct mq_msg *m;
	char id[80];
	unsigned i;

	if (mq_say_if_empty(q, view))
		return;
	memset(&r, 0, sizeof(r));
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		if (!mq_is_shown(q, m))
			continue;
		mq_put_message(m);
		if (view->verbose) {
			if (mq_make_id(m->name, view->postoffice, id,
			    sizeof(id)) == 0)
				printf("\tid %s\n", id);
			mq_read_rcpts(&r, q, m, view, NULL);
		}
		for (i = m->first; i != 0; i = q->jobs[i - 1].next_job) {
			if (q->jobs[i - 1].hidden)
				continue;
			mq_put_job(q, &q->jobs[i - 1], view->postoffice);
			put_users(&r, &q->jobs[i - 1]);
		}
		if (r.why != NULL)
			printf("\trecipients cannot be shown: %s\n", r.why);
		if (r.more)
			puts("\tthere are more recipients than are shown");
		mq_rcpts_free(&r);
	}
	mq_put_totals(q);
	mq_put_around(q, 0);
}

/* ---- counts ----------------------------------------------------------- */

void
mq_show_counts(const struct mq_queue *q, int answered)
{
	struct mq_sum sum;
	int oldest, evicted = q->filtered ? 0 : q->evicted;

	mq_sum_up(q, &sum);
	/* 0 without messages; sum.oldest is MQ_UNKNOWN if no age is known */
	oldest = sum.msgs == 0 && evicted == 0 ? 0 : sum.oldest;
	if (!q->filtered && q->evicted_age > oldest)
		oldest = q->evicted_age;
	printf("scheduler %d\n", answered);
	printf("messages %lu\n", sum.msgs);
	printf("recipients %.0f\n", sum.rcpts);
	printf("destinations %lu\n", sum.dests);
	printf("jobs %lu\n", sum.jobs);
	printf("held %lu\n", sum.held);
	printf("running %lu\n", sum.running);
	printf("waiting %lu\n", sum.waiting);
	printf("unreadable %lu\n", sum.unread);
	printf("skipped %lu\n", sum.skipped);
	printf("oldest %d\n", oldest);
	printf("evicted %d\n", q->evicted);
	mq_put_around_counts(q);
}
