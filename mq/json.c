/*
 * json.c - prints the queue for programs: a JSON object on each line.
 *
 * An object is a message with one channel and host; a message without jobs is
 * one object, with null for both.  All these objects have the same fields in
 * the same order, and null for an unknown value.  mailq(1) lists the names,
 * which do not change.  Destinations, and mail and holds beside the queue, are
 * objects of other kinds.
 *
 * The output is ASCII.  A UTF-8 character becomes \uXXXX, or two of these from
 * U+10000 on; each byte that is not UTF-8 becomes \ufffd.
 */
#include "mq.h"
#include "../lib/origin.h"

/* ---- text ------------------------------------------------------------- */

static void
put_text(const char *s)
{
	unsigned long c;
	size_t n;

	if (s == NULL) {
		fputs("null", stdout);
		return;
	}
	putchar('"');
	for (; *s != '\0'; s += n > 0 ? n : 1) {
		n = utf8_read_multibyte(s, &c);
		if (n == 0)
			c = (*s & 0x80) == 0 ? (unsigned long)*s : 0xfffd;
		if (c == '"' || c == '\\')
			printf("\\%c", (int)c);
		else if (c >= 32 && c < 127)
			putchar((int)c);
		else if (c < 0x10000UL)
			printf("\\u%04lx", c);
		else
			printf("\\u%04lx\\u%04lx",
			    0xd800UL + ((c - 0x10000UL) >> 10),
			    0xdc00UL + ((c - 0x10000UL) & 0x3ff));
	}
	putchar('"');
}

/* ---- fields ----------------------------------------------------------- */

static void
field_text(const char *name, const char *s)
{
	printf(",\"%s\":", name);
	put_text(s);
}

static void
field_number(const char *name, double n, int known)
{
	if (known)
		printf(",\"%s\":%.0f", name, n);
	else
		printf(",\"%s\":null", name);
}

/* Prints an array with an element for each recipient of the job: its address if
 * reasons is 0, or the reason of its last deferral if reasons is 1.  If none of
 * these recipients has a reason of its own, each has the reason of the job. */
static void
put_rcpts(const char *name, const struct mq_rcpts *r, const struct mq_job *j,
    int reasons)
{
	const char *all = *j->reason != '\0' ? j->reason : NULL, *reason;
	const struct mq_rcpt *v;
	unsigned n, i;

	printf(",\"%s\":", name);
	if (r->why != NULL || r->more || j->dest == NULL) {
		fputs("null", stdout);
		return;
	}
	v = mq_rcpts_find(r, j, &n);
	for (i = 0; i < n; i++)
		if (*v[i].reason != '\0')
			all = NULL;
	for (i = 0; i < n; i++) {
		putchar(i == 0 ? '[' : ',');
		reason = *v[i].reason != '\0' ? v[i].reason : all;
		put_text(reasons ? reason : v[i].user);
	}
	fputs(n == 0 ? "[]" : "]", stdout);
}

static void
put_object(const struct mq_msg *m, const char *id, const struct mq_job *j,
    const struct mq_rcpts *r)
{
	struct mq_job none;

	if (j == NULL) {
		mq_job_init(&none);
		none.state = MQ_SPOOL;
		if (m->skipped != NULL) {
			none.state = MQ_SKIPPED;
			none.reason = m->skipped;
			none.next = m->next;
		}
		j = &none;
	}
	fputs("{\"message\":", stdout);
	put_text(m->name);
	field_text("id", id);
	field_text("sender", m->sender);
	field_number("size", m->size, m->size >= 0);
	field_number("age", m->age, m->age != MQ_UNKNOWN);
	printf(",\"held\":%s", m->held || j->state == MQ_HELD ?
	    "true" : "false");
	printf(",\"unreadable\":%s", m->unread ? "true" : "false");
	field_text("channel", j->dest == NULL ? NULL : j->dest->channel);
	field_text("host", j->dest == NULL ? NULL : j->dest->host);
	field_number("recipients", j->nrcpt, j->dest != NULL ||
	    (!m->unread && m->skipped == NULL));
	field_text("state", j->state == MQ_SPOOL ? NULL :
	    mq_state_name[j->state]);
	field_text("what", *j->what != '\0' ? j->what : NULL);
	field_text("reason", *j->reason != '\0' ? j->reason : NULL);
	field_number("next", j->next, j->next != MQ_UNKNOWN);
	field_number("expires", j->expires, j->expires != MQ_NEVER);
	field_number("tries", j->tries, j->tries != MQ_UNKNOWN);
	field_number("pid", j->pid, j->pid != 0);
	if (r != NULL) {
		put_rcpts("to", r, j, 0);
		put_rcpts("reasons", r, j, 1);
	}
	puts("}");
}

void
mq_json_dest(const struct mq_dest *d)
{
	const struct mq_facts *k = d->facts;

	fputs("{\"channel\":", stdout);
	put_text(d->channel);
	field_text("host", d->host);
	field_text("state", mq_dest_state_name[mq_dest_get_state(k)]);
	field_number("window", k->window, 1);
	field_number("limit", k->limit, k->limit > 0);
	field_number("agents", k->agents, 1);
	field_number("idle", k->idle, 1);
	field_number("ready", k->ready, k->ready >= 0);
	field_number("waiting", k->waiting, k->waiting >= 0);
	field_number("good", k->good, 1);
	field_number("bad", k->bad, 1);
	printf(",\"cohorts\":%.2f", k->cohorts / 100);
	field_number("next", k->dead, k->dead >= 0);
	field_number("tries", k->tries, 1);
	field_text("reason", *k->reason != '\0' ? k->reason : NULL);
	field_text("rate", *k->rate != '\0' ? k->rate : NULL);
	field_number("unused", k->unused, 1);
	puts("}");
}

/* Prints {"waits":"router","messages":2,"oldest":180}, with the number of
 * bounces unless that is -1. */
static void
put_beside(const char *dir, int n, int age, int bounces)
{
	printf("{\"waits\":\"%s\",\"messages\":%d", dir, n);
	field_number("oldest", age, age != MQ_UNKNOWN);
	if (bounces >= 0)
		field_number("bounces", bounces, 1);
	puts("}");
}

/* Prints {"deferred":"1057616","age":300,"tries":3,"next":120,"reason":"..."}.
 */
static void
put_deferred_file(const struct mq_unrouted *u)
{
	fputs("{\"deferred\":", stdout);
	put_text(u->num);
	field_number("age", (double)u->age, u->age >= 0);
	field_number("tries", u->tries, u->tries > 0);
	field_number("next", u->next, 1);
	field_text("reason", *u->reason != '\0' ? u->reason : NULL);
	puts("}");
}

void
mq_json_around(const struct mq_queue *q)
{
	/* by enum mq_kind */
	static const char *const keys[MQ_KINDS] = { "hold", "hold", "orphan",
	    "frozen" };
	const struct mq_unrouted *u;
	const struct mq_note *note;
	unsigned i;

	if (q->filtered)
		return;
	if (q->router > 0)
		put_beside("router", q->router, q->router_age, -1);
	if (q->nunrouted > 0)
		put_beside("deferred", q->nunrouted, (int)q->unrouted[0].age,
		    -1);
	for (u = q->unrouted; u - q->unrouted < q->nunrouted; u++)
		put_deferred_file(u);
	if (q->aside > 0)
		put_beside("postman", q->aside, q->aside_age, q->bounces);
	for (i = 0; i < q->nnotes; i++) {
		note = &q->notes[i];
		printf("{\"%s\":", keys[note->kind]);
		put_text(note->what);
		if (note->kind == MQ_ORPHAN || note->kind == MQ_FREEZER)
			field_number("age", (double)note->age, note->age >= 0);
		else
			field_text("of", note->kind == MQ_HOLD_ADDRESS ?
			    "address" : "message");
		puts("}");
	}
}

/* ---- the whole -------------------------------------------------------- */

void
mq_json_spool(const char *why, const char *po)
{
	fputs("{\"scheduler\":false,\"why\":", stdout);
	put_text(why);
	field_text("spool", po);
	puts("}");
}

void
mq_show_json(struct mq_queue *q, const struct mq_view *view)
{
	struct mq_rcpts r;
	const struct mq_msg *m;
	const char *known;
	char id[80];
	unsigned i;
	int n;

	memset(&r, 0, sizeof(r));
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		if (!mq_is_shown(q, m))
			continue;
		known = mq_make_id(m->name, view->postoffice, id,
		    sizeof(id)) == 0 ? id : NULL;
		if (view->verbose)
			mq_read_rcpts(&r, q, m, view, NULL);
		for (i = m->first, n = 0; i != 0; i = q->jobs[i - 1].next_job)
			if (!q->jobs[i - 1].hidden) {
				put_object(m, known, &q->jobs[i - 1],
				    view->verbose ? &r : NULL);
				n++;
			}
		if (n == 0)
			put_object(m, known, NULL, view->verbose ? &r : NULL);
		mq_rcpts_free(&r);
	}
	mq_json_around(q);
}
