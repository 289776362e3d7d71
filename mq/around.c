/*
 * around.c - mail and holds that are not in the listing of the queue.
 *
 *	2 messages wait in router, the oldest 3m old; is submit -q running?
 *	1 message waits in deferred, 5m old
 *	deferred/77, tried 3 times, next 14:05 (in 2m): cannot be read: ...
 *	3 messages were set aside in postman, the oldest 2d old
 *	on hold: smtp/example.org
 *	on hold: message 107-1
 *	queue/301-1 has no control file, for 5m
 *
 * In the line of a message in deferred/, the text behind the time is the reason
 * why submit -q has deferred the message.
 *
 * The directories of a post office of this machine are read, as far as the user
 * may.  A message of postman/ and its control file count as one.  Holds come
 * from the scheduler, or from the file of holds if none answers.  Message files
 * without a control file are looked for only if a scheduler of this machine
 * answered.  Without a scheduler no message is delivered, so a missing control
 * file makes no difference then.
 *
 * mailq does not call the queue empty while mail waits in router/, as otherwise
 * only the sender would know of that mail.
 */
#include "mq.h"
#include "../lib/deferred.h"
#include "../lib/scan.h"
#include <ctype.h>

#define CONTROL		".control"
#define STRAY_AGE	60	/* seconds; a younger stray is not shown */

/* ---- looking ---------------------------------------------------------- */

/* Adds a line of the scheduler's list of holds.  The list names a message
 * without its directories.  0, or -1 without memory. */
static int
add_hold(struct mq_queue *q, const char *line)
{
	struct mq_msg *m;

	if (strncmp(line, "address ", 8) == 0)
		return mq_note_add(q, MQ_HOLD_ADDRESS, line + 8, MQ_UNKNOWN);
	if (strncmp(line, "message ", 8) != 0)
		return 0;
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++)
		m->held |= strcmp(name_base(m->name), line + 8) == 0;
	return mq_note_add(q, MQ_HOLD_MESSAGE, line + 8, MQ_UNKNOWN);
}

static int
read_holds(struct mq_queue *q, const char *po)
{
	int rc = 0, fd = fd_open_plain(path_in(po, ".mailq.holds"), O_RDONLY,
	    NULL);
	struct lines l;

	line_start(&l, fd, 0);
	while (fd >= 0 && rc == 0 && line_next(&l))
		rc = add_hold(q, l.line);
	if (fd >= 0)
		close(fd);
	return rc;
}

/* Returns 1 for a control file in postman/ whose message file is there, too, as
 * the pair counts once. */
static int
is_pair_control(const char *po, const char *entry)
{
	size_t n = strlen(entry), k = sizeof(CONTROL) - 1;
	struct stat st;

	return n > k && strcmp(entry + n - k, CONTROL) == 0 &&
	    lstat(path_in(po, "postman/%.*s", (int)(n - k), entry), &st) == 0;
}

static int
is_double_bounce(const char *entry)
{
	const char *p = strstr(entry, BOUNCE_MARK);

	return p != NULL && isdigit((unsigned char)p[sizeof(BOUNCE_MARK) - 1]);
}

static int
is_no_dot_file(const char *entry)
{
	return entry[0] != '.';
}

/* Adds the number of messages of po/dir to *messages, raises *oldest to the age
 * of the oldest, and counts the double bounces of postman in q->bounces: 0, or
 * -1 with errno. */
static int
count_dir(struct mq_queue *q, const char *po, const char *dir, int *messages,
    int *oldest)
{
	int postman = strcmp(dir, "postman") == 0;
	struct scan s;
	unsigned i;
	long age;

	if (scan_read(&s, po, dir, postman ? is_no_dot_file :
	    deferred_is_name) < 0)
		return -1;
	if (*messages == MQ_UNKNOWN)
		*messages = 0;
	for (i = 0; i < s.n; i++) {
		if (postman ? is_pair_control(po, s.v[i].name) :
		    !s.v[i].is_regular)
			continue;
		++*messages;
		q->bounces += postman && is_double_bounce(s.v[i].name);
		age = file_age(s.v[i].mtime);
		if (age > *oldest)
			*oldest = (int)age;
	}
	scan_free(&s);
	return 0;
}

/* Adds the mail in freezer/: 0, or -1 without memory. */
static int
add_frozen(struct mq_queue *q, const char *po)
{
	char name[MQ_NAME_MAX];
	struct scan s;
	unsigned i;
	int rc = 0;

	scan_read(&s, po, "freezer", is_no_dot_file);
	for (i = 0; i < s.n && rc == 0; i++)
		if (s.v[i].is_regular && text_fmt(name, sizeof(name),
		    "freezer/%s", s.v[i].name) == 0 &&
		    mq_frozen_name(name) != NULL)
			rc = mq_note_add(q, MQ_FREEZER, name,
			    file_age(s.v[i].mtime));
	scan_free(&s);
	return rc;
}

int
mq_read_around(struct mq_queue *q, const char *po, int alone)
{
	struct office_routers r;
	int i;

	office_read_routers(&r);
	for (i = 0; i < r.n; i++) {
		if (count_dir(q, po, r.v[i], &q->router, &q->router_age) == 0 ||
		    i > 0)
			continue;
		if (!alone && errno == ENOENT)
			return 0;	/* po is no post office */
		if (alone)
			text_fmt(q->router_why, sizeof(q->router_why), "%s",
			    strerror(errno));
	}
	count_dir(q, po, "postman", &q->aside, &q->aside_age);
	if (mq_read_unrouted(q, po) < 0 || add_frozen(q, po) < 0)
		return -1;
	return alone ? read_holds(q, po) : 0;
}

struct strays {
	struct mq_queue *q;
	const char *po;
	int	rc;		/* -1: there was no memory for a stray */
};

/* Notes the message file if it is a stray: its control file is empty, or
 * missing (an orphan).  If the dump has the message, or if the control file is
 * empty, the stray becomes a message with unread set, else a note.  The age is
 * the time since the move into queue/. */
static void
note_if_stray(void *arg, const char *name)
{
	struct strays *s = arg;
	struct mq_queue *q = s->q;
	struct mq_msg *m;
	struct stat st;
	long age;
	int has_control = lstat(path_in(s->po, "transport/%s", name), &st) == 0;

	if (has_control ? st.st_size > 0 : !office_is_orphan_msg(s->po, name))
		return;
	if (lstat(path_in(s->po, "queue/%s", name), &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	m = mq_msg_get(q, name, 0);
	if (m == NULL) {
		age = file_age((long)st.st_ctime);
		if (age != MQ_UNKNOWN && age < STRAY_AGE)
			return;
		if (!has_control) {
			if (mq_note_add(q, MQ_ORPHAN, name, age) < 0)
				s->rc = -1;
			return;
		}
		m = mq_msg_get(q, name, 1);
		if (m == NULL) {
			s->rc = -1;
			return;
		}
		m->known = 1;
		m->age = (int)age;
	}
	m->unread = 1;
}

int
mq_read_strays(struct mq_queue *q, const char *po)
{
	struct strays s;

	s.q = q;
	s.po = po;
	s.rc = 0;
	q->strays_read = 1;
	path_walk_messages(po, "queue", note_if_stray, &s);
	return s.rc;
}

/* ---- words ------------------------------------------------------------ */

/* Prints the rest of a count, such as " (1 double bounce), the oldest 2d old".
 */
static void
put_details(int n, int age, int bounces)
{
	if (bounces > 0)
		mq_print(" (%s)", mq_plural(bounces, "double bounce"));
	if (age != MQ_UNKNOWN)
		mq_print("%s%s old", n == 1 ? ", " : ", the oldest ",
		    mq_span(age));
}

void
mq_put_not_listed(const struct mq_queue *q)
{
	if (q->evicted > 0)
		printf("; %d evicted", q->evicted);
	if (q->aside <= 0 || q->filtered)
		return;
	printf("; %d set aside", q->aside);
	put_details(q->aside, q->aside_age, q->bounces);
}

static void
put_note(const struct mq_note *note)
{
	/* by enum mq_kind */
	static const char *const words[MQ_KINDS] = { "on hold: %s",
	    "on hold: message %s", "queue/%s has no control file",
	    "%s is frozen" };

	mq_print(words[note->kind], note->what);
	if (note->age >= 0)
		mq_print(", for %s", mq_span(note->age));
	putchar('\n');
}

/* Prints a line such as "2 messages wait in router, the oldest 3m old". */
static void
put_waiting(const char *dir, int n, int age, const char *end)
{
	mq_print("%s %s in %s", mq_plural(n, "message"),
	    n == 1 ? "waits" : "wait", dir);
	put_details(n, age, 0);
	puts(end);
}

void
mq_put_around(const struct mq_queue *q, int postman)
{
	const struct mq_unrouted *u;
	unsigned i;

	if (q->filtered)
		return;
	if (q->router > 0)
		put_waiting("router", q->router, q->router_age,
		    "; is submit -q running?");
	else if (q->router_why[0] != '\0')
		mq_print("the mail in router cannot be counted: %s\n",
		    q->router_why);
	if (q->nunrouted > 0)
		put_waiting("deferred", q->nunrouted, (int)q->unrouted[0].age,
		    "");
	for (u = q->unrouted; u - q->unrouted < q->nunrouted; u++) {
		mq_print("deferred/%s", u->num);
		if (u->tries > 0)
			mq_print(", tried %s", mq_plural(u->tries, "time"));
		mq_print(", %s%s\n", mq_next_try(u->next),
		    mq_reason_suffix(u->reason));
	}
	if (postman && q->aside > 0) {
		mq_print(q->aside == 1 ? "%d message was set aside in postman" :
		    "%d messages were set aside in postman", q->aside);
		put_details(q->aside, q->aside_age, q->bounces);
		putchar('\n');
	}
	for (i = 0; i < q->nnotes; i++)
		put_note(&q->notes[i]);
}

/* ---- counts ----------------------------------------------------------- */

static void
put_count(const char *name, int n, int age)
{
	if (n != MQ_UNKNOWN)
		printf("%s %d\n%s-oldest %d\n", name, n, name,
		    n == 0 ? 0 : age);
}

void
mq_put_around_counts(const struct mq_queue *q)
{
	static const char *const names[MQ_TOTALS] = { "accepted", "delivered",
	    "deferred", "failed", "dsns", "set-aside" };
	int i;

	put_count("router", q->router, q->router_age);
	put_count("unrouted", q->nunrouted, q->nunrouted <= 0 ? 0 :
	    (int)q->unrouted[0].age);
	put_count("set-aside", q->aside, q->aside_age);
	if (q->aside != MQ_UNKNOWN)
		printf("double-bounces %d\n", q->bounces);
	/* If the dump had no totals, and mailq has neither counted router/ nor
	 * found it unreadable, the scheduler is ZMailer's, which does not list
	 * holds. */
	if (q->router == MQ_UNKNOWN && q->router_why[0] == '\0' &&
	    q->totals[0] < 0)
		return;
	printf("holds %u\n", mq_note_count(q, MQ_HOLD_ADDRESS) +
	    mq_note_count(q, MQ_HOLD_MESSAGE));
	printf("frozen %u\n", mq_note_count(q, MQ_FREEZER));
	if (q->totals[0] < 0)
		return;
	if (q->strays_read)
		printf("orphans %u\n", mq_note_count(q, MQ_ORPHAN));
	printf("uptime %d\n", q->uptime);
	for (i = 0; i < MQ_TOTALS; i++)
		printf("total-%s %.0f\n", names[i], q->totals[i]);
}
