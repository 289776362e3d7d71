/*
 * show.c - prints the queue as a list, and its counts.
 *
 *	11026545-21354  <anna@example.org>  287 bytes  23s old
 *		smtp/example.net  3 recipients, 2 tries: connection refused
 *			next 14:05 (in 5m), expires in 2d20h
 *			to bert@example.net
 *
 * A message, then each channel and host it goes to: the number of recipients
 * and tries, the last failure, and what the job waits for.  An unknown value is
 * left out, and never printed as 0.
 *
 * All text from outside is printed through mq_put.
 */
#include "mq.h"

#define SOON		(20 * 3600)	/* seconds: needs no date */

/* ---- what a job waits for --------------------------------------------- */

/* Prints "next 14:05 (in 5m)"; without the time of day if the clock is not set
 * or cannot express it. */
void
mq_put_next(int seconds)
{
	time_t wall = time(NULL), then = wall;
	struct tm *tm = NULL;
	char buf[40];

	if ((long)wall > SANE_WALL && (sizeof(then) > 4 ||
	    difftime(wall, (time_t)0) + seconds < 2147483647.0)) {
		then += seconds;
		tm = localtime(&then);
	}
	fputs("next ", stdout);
	if (tm != NULL && strftime(buf, sizeof(buf), seconds < SOON ?
	    "%H:%M" : "%d %b %H:%M", tm) > 0)
		printf("%s (in ", buf);
	else
		fputs("(in ", stdout);
	mq_put_span(seconds);
	putchar(')');
}

static void
put_held(const char *what)
{
	fputs("held", stdout);
	if (*what != '\0' && strcmp(what, "message") != 0) {
		fputs(" by ", stdout);
		mq_put(stdout, what);
	}
}

static void
put_limit(const char *what)
{
	if (strcmp(what, "forkrate") == 0) {
		fputs("waits, forkrate is reached: many agents are being "
		    "started", stdout);
		return;
	}
	if (strcmp(what, "rate") == 0) {
		fputs("waits, the rate is reached", stdout);
		return;
	}
	if (strcmp(what, "mailbox") == 0) {
		fputs("waits, another agent is at its mailbox", stdout);
		return;
	}
	fputs("waits for a slot", stdout);
	if (*what != '\0') {
		fputs(", ", stdout);
		mq_put(stdout, what);
		fputs(" is reached", stdout);
	}
}

/* Prints the state in words, or nothing if the next try is enough. */
static int
put_state(const struct mq_job *j)
{
	switch (j->state) {
	case MQ_RETRY:
		if (j->next != MQ_UNKNOWN)
			return 0;
		fputs("waits for its next try", stdout);
		break;
	case MQ_SPOOL:
		return 0;
	case MQ_HOST:
		fputs("dead host", stdout);
		break;
	case MQ_RUN:
		printf("agent pid %d has it", j->pid);
		if (*j->what != '\0') {
			fputs(": ", stdout);
			mq_put(stdout, j->what);
		}
		break;
	case MQ_LIMIT:
		put_limit(j->what);
		break;
	case MQ_NEXT:
		fputs("its turn comes at once", stdout);
		break;
	case MQ_AGENT:
		fputs("no agent can be started: ", stdout);
		mq_put(stdout, j->what);
		break;
	case MQ_HELD:
		put_held(j->what);
		break;
	case MQ_QUEUEONLY:
		fputs("queueonly, waits for ETRN or flush", stdout);
		break;
	case MQ_FROZEN:
		fputs("frozen, the scheduler was started with ", stdout);
		mq_put(stdout, *j->what != '\0' ? j->what : "-F");
		break;
	case MQ_COMMAND:
		fputs("no clause has a command for it", stdout);
		break;
	case MQ_EVICTED:
		fputs("evicted, waits on disk", stdout);
		break;
	default:
		if (*j->what == '\0')
			return 0;
		mq_put(stdout, j->what);
		break;
	}
	return 1;
}

void
mq_put_wait(const struct mq_job *j)
{
	int next = j->next != MQ_UNKNOWN && (j->next > 0 ||
	    j->state == MQ_RETRY || j->state == MQ_HOST);

	if (!next && j->expires == MQ_NEVER &&
	    (j->state == MQ_SPOOL || (j->state == MQ_OTHER &&
	    *j->what == '\0')))
		return;
	fputs("\t\t", stdout);
	if (put_state(j) && (next || j->expires != MQ_NEVER))
		fputs(", ", stdout);
	if (next) {
		mq_put_next(j->next);
		if (j->expires != MQ_NEVER)
			fputs(", ", stdout);
	}
	if (j->expires != MQ_NEVER && j->expires >= 0) {
		fputs("expires in ", stdout);
		mq_put_span(j->expires);
	} else if (j->expires != MQ_NEVER) {
		fputs("expired ", stdout);
		mq_put_span(-(long)j->expires);
		fputs(" ago", stdout);
	}
	putchar('\n');
}

/* ---- the list --------------------------------------------------------- */

void
mq_put_message(const struct mq_msg *m)
{
	mq_put(stdout, m->name);
	if (m->sender != NULL) {
		fputs("  <", stdout);
		mq_put(stdout, m->sender);
		putchar('>');
	} else {
		fputs("  sender not known", stdout);
	}
	if (m->size >= 0) {
		fputs("  ", stdout);
		mq_put_count(m->size, "byte");
	}
	if (m->age != MQ_UNKNOWN) {
		fputs("  ", stdout);
		mq_put_span(m->age);
		fputs(" old", stdout);
	}
	if (m->held)
		fputs("  held", stdout);
	putchar('\n');
	if (m->unread)
		fputs("\tits control file cannot be read or understood\n",
		    stdout);
	else if (m->skipped != NULL) {
		fputs("\tskipped: ", stdout);
		mq_put(stdout, m->skipped);
		fputs("\n\t\t", stdout);
		mq_put_next(m->next);
		putchar('\n');
	} else if (m->over)
		fputs("\tall recipients are done, a DSN is to be sent\n",
		    stdout);
	else if (m->first == 0)
		puts("\tnobody is left to have it");
}

void
mq_put_job(const struct mq_job *j)
{
	putchar('\t');
	mq_put(stdout, j->dest->channel);
	putchar('/');
	mq_put(stdout, j->dest->host);
	fputs("  ", stdout);
	if (strcmp(j->dest->channel, "dsn") != 0)
		mq_put_count(j->nrcpt, "recipient");
	else
		fputs("for the sender", stdout);
	if (j->tries > 0)
		printf(", %d %s", j->tries, j->tries == 1 ? "try" : "tries");
	else if (j->tries == 0)
		fputs(", not tried yet", stdout);
	mq_put_reason(j->reason);
	putchar('\n');
	mq_put_wait(j);
}

static void
put_users(const struct mq_rcpts *r, const struct mq_dest *d)
{
	const struct mq_rcpt *v;
	unsigned n;

	for (v = mq_rcpts_of(r, d, &n); n > 0; n--, v++) {
		fputs("\t\tto ", stdout);
		mq_put(stdout, v->user);
		mq_put_reason(v->reason);
		putchar('\n');
	}
}

/* Prints the counts of messages that are not in memory, and of postman/, which
 * is not part of the queue. */
static void
put_others(const struct mq_queue *q)
{
	if (q->evicted > 0)
		printf("; %d evicted", q->evicted);
	mq_put_aside(q, "; ");
}

/* Says how many control files could not be read, if there are any. */
static void
put_unread(const struct mq_queue *q)
{
	if (q->unread > 0)
		printf("; %u control file%s cannot be read", q->unread,
		    q->unread == 1 ? "" : "s");
}

void
mq_put_totals(const struct mq_queue *q)
{
	struct mq_sum sum;

	mq_count(q, &sum);
	mq_put_count((double)sum.msgs, "message");
	fputs(", ", stdout);
	mq_put_count(sum.rcpts, "recipient");
	fputs(", ", stdout);
	mq_put_count((double)sum.dests, "destination");
	if (sum.jobs > 0 && q->jobs[0].state != MQ_SPOOL)
		printf("; %lu held, %lu running, %lu waiting", sum.held,
		    sum.running, sum.waiting);
	if (sum.skipped > 0)
		printf("; %lu skipped", sum.skipped);
	put_unread(q);
	put_others(q);
	putchar('\n');
}

int
mq_show_none(const struct mq_queue *q, const struct mq_view *view)
{
	struct mq_sum sum;

	mq_count(q, &sum);
	if (sum.msgs > 0)
		return 0;
	if (!q->filtered) {
		fputs(q->evicted > 0 ? "no message is in memory" :
		    q->router > 0 || q->deferred > 0 ?
		    "no message is in the queue" :
		    "the queue is empty", stdout);
		put_others(q);
		putchar('\n');
		mq_put_around(q, 0);
		return 1;
	}
	fputs("nothing in the queue matches ", stdout);
	mq_put(stdout, view->filter);
	put_unread(q);
	putchar('\n');
	return 1;
}

void
mq_show_list(struct mq_queue *q, const struct mq_view *view)
{
	struct mq_rcpts r;
	const struct mq_msg *m;
	char id[80];
	unsigned i;

	if (mq_show_none(q, view))
		return;
	memset(&r, 0, sizeof(r));
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		if (!mq_shown(q, m))
			continue;
		mq_put_message(m);
		if (view->verbose) {
			if (mq_id(m->name, view->postoffice, id, sizeof(id)) ==
			    0)
				printf("\tid %s\n", id);
			mq_rcpts(&r, q, m, view);
		}
		for (i = m->first; i != 0; i = q->jobs[i - 1].next_job) {
			if (mq_hidden(&q->jobs[i - 1]))
				continue;
			mq_put_job(&q->jobs[i - 1]);
			put_users(&r, q->jobs[i - 1].dest);
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
mq_show_counts(const struct mq_queue *q, int scheduler)
{
	struct mq_sum sum;
	int oldest;

	mq_count(q, &sum);
	oldest = sum.msgs == 0 && (q->filtered || q->evicted == 0) ? 0 :
	    sum.oldest;
	if (!q->filtered && q->evicted_age > oldest)
		oldest = q->evicted_age;
	printf("scheduler %d\n", scheduler);
	printf("messages %lu\n", sum.msgs);
	printf("recipients %.0f\n", sum.rcpts);
	printf("destinations %lu\n", sum.dests);
	printf("jobs %lu\n", sum.jobs);
	printf("held %lu\n", sum.held);
	printf("running %lu\n", sum.running);
	printf("waiting %lu\n", sum.waiting);
	printf("unreadable %u\n", q->unread);
	printf("skipped %lu\n", sum.skipped);
	printf("oldest %d\n", oldest);
	printf("evicted %d\n", q->evicted);
	mq_count_around(q);
}
