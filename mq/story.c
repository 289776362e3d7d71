/*
 * story.c - mailq show: prints all that is known of a message.
 *
 *	107-1  <anna@a.example>  287 bytes  23s old
 *		id S107AbmKVCyz, file PO/queue/107-1
 *	header
 *		Subject: lunch
 *	recipients
 *		bert@b.example  smtp/b.example, 2 tries: connection refused
 *			next 14:05 (in 5m), expires in 2d20h
 *		carl@c.example  smtp/c.example, done
 *	log
 *		20261122131433 info load msg=107-1 ...
 *
 * There are three sources: the scheduler knows what the message waits for, the
 * control file its recipients and their tags, the log what happened.  A source
 * that cannot be read is left out, with the reason.  For a message that is not
 * in the queue there are the log and postman/.
 *
 * Names are used again.  An event "complete", "drop", "finished" or "set-aside"
 * ("park" in the log of 0.1) ends a message; the next "load" of the same name
 * begins another message.  The log is shown from the last such "load" on.  The
 * log is read twice, to take no memory.
 *
 * A message has several names (name.c).  If its spool id is known, lines of the
 * log with another id are left out.
 */
#include "mq.h"
#include "../lib/deferred.h"
#include "../lib/origin.h"

/* ---- agents ------------------------------------------------------------ */

/* Lines of threads in the report.  P={} HA={} FA={} OF={} have a value for each
 * agent: its process id, seconds since its last line, seconds since it was last
 * given a job, and its jobs. */
static struct line {
	struct line *next;
	char	s[1];
} *threads;

void
mq_keep_thread(const char *text)
{
	struct line *l;

	if (strncmp(text, "    ", 4) != 0 || strstr(text, " P={") == NULL ||
	    (l = mem_get(sizeof(*l) + strlen(text))) == NULL)
		return;
	strcpy(l->s, text);
	l->next = threads;
	threads = l;
}

/* Returns the part of the line that begins with item n of the list behind the
 * key; the first item is 0.  "": there is no such item. */
static const char *
find_item(const char *line, const char *key, int n)
{
	const char *p = strstr(line, key);

	for (p = p == NULL ? "" : p + strlen(key); n > 0 && *p != '\0'; n--) {
		p += strcspn(p, ",}");
		p = *p == ',' ? p + 1 : "";
	}
	return p;
}

static void
put_ago(const char *before, const char *seconds)
{
	if (seconds[0] >= '0' && seconds[0] <= '9')
		mq_print("%s%s ago", before,
		    mq_span((long)num_of(seconds, NULL)));
}

/* Prints what the report says of the agent of a job. */
static void
put_agent(const struct mq_job *j)
{
	const struct line *l;
	const char *pid;
	int n;

	for (l = threads; l != NULL && j->state == MQ_RUN; l = l->next)
		for (n = 0; *(pid = find_item(l->s, " P={", n)) != '\0'; n++) {
			if (num_of(pid, NULL) != (unsigned long)j->pid)
				continue;
			mq_print("\t\tagent pid %d: %s", j->pid, mq_plural(
			    (double)num_of(find_item(l->s, " OF={", n), NULL),
			    "job"));
			put_ago(", the last given ",
			    find_item(l->s, " FA={", n));
			put_ago(", last heard ", find_item(l->s, " HA={", n));
			putchar('\n');
			return;
		}
}

/* ---- the control file -------------------------------------------------- */

/* Prints the header block that begins in the current line. */
static void
put_header(struct ctl *c)
{
	puts("header");
	while (line_next(&c->l) && c->l.len > 0)
		/* a TAB that folds a field stays a TAB */
		if (*c->l.line == '\t')
			mq_print("\t\t%s\n", c->l.line + 1);
		else
			mq_print("\t%s\n", c->l.line);
}

/* Adds the reasons of permanent failures: 0, or -1 without memory. */
static int
add_failures(struct diags *n, struct mq_queue *q, unsigned msg)
{
	ctl_seek(&n->c, 0);
	while (diag_next_line(n))
		if (!n->is_warning && mq_why_add(q, msg, n->off, n->text) < 0)
			return -1;
	mq_why_sort(q);
	return 0;
}

/* Returns the job of a recipient, or NULL if none is in core. */
static const struct mq_job *
find_job(struct mq_queue *q, const struct mq_msg *m, const struct ctl *c,
    unsigned long off)
{
	const struct mq_dest *d = mq_dest_get(q, c->channel, c->host);
	unsigned i;

	for (i = m->first; i != 0; i = q->jobs[i - 1].next_job)
		if (q->jobs[i - 1].dest == d && q->jobs[i - 1].low <= off &&
		    off <= q->jobs[i - 1].high)
			return &q->jobs[i - 1];
	return NULL;
}

/* Prints the recipient whose line is at off. */
static void
put_rcpt(struct diags *n, struct mq_queue *q, const struct mq_msg *m,
    const char *po, unsigned long off)
{
	const char *reason = mq_why_find(q, m, off);
	const struct mq_job *j;

	if (ctl_read_rcpt(&n->rc, off) < 0)
		return;
	mq_print("\t%s  %s/%s", n->rc.user, n->rc.channel, n->rc.host);
	if (n->rc.orcpt[0] != '\0')
		mq_print(", for %s", n->rc.orcpt);
	if (n->rc.tag == '+') {
		puts(", done");
	} else if (n->rc.tag == '-') {
		mq_print(", failed%s\n", mq_reason_suffix(reason));
	} else if ((j = find_job(q, m, &n->rc, off)) == NULL) {
		puts(", waits on disk");
	} else {
		mq_put_tries(q, j, po, *reason != '\0' ? reason : j->reason);
		put_agent(j);
	}
}

/* Prints the header and the recipients of the control file: 0, or -1 with
 * errno. */
static int
put_file(struct mq_queue *q, const struct mq_msg *m, const char *po)
{
	static struct diags n;	/* large for a stack */
	int bad, error;

	if (mq_open_diags(&n, po, m->name) < 0)
		return -1;
	bad = add_failures(&n, q, (unsigned)(m - q->msgs)) < 0;
	ctl_seek(&n.c, 0);
	while (ctl_next_line(&n.c))
		if (ctl_header_of_line(&n.c) >= 0) {
			put_header(&n.c);
			break;
		}
	puts("recipients");
	ctl_seek(&n.c, 0);
	while (diag_next_rcpt(&n))
		put_rcpt(&n, q, m, po, n.c.l.off);
	error = diag_error(&n);
	ctl_close(&n.c);
	if (bad)
		puts("\tthere is no memory to show why recipients failed");
	errno = error;
	return error != 0 ? -1 : 0;
}

/* ---- the log ----------------------------------------------------------- */

/* Returns 1 if the line has KEY=NAME, with hash directories or without. */
static int
has_name(const char *line, const char *key, const char *base)
{
	char word[LINE_MAX_];

	return mq_log_word(line, key, word, sizeof(word)) == 0 &&
	    strcmp(name_base(word), base) == 0;
}

/* Returns 1 if the third word of the line is the event. */
static int
is_event(const char *line, const char *event)
{
	char word[20];

	return sscanf(line, "%*s %*s %19s", word) == 1 &&
	    strcmp(word, event) == 0;
}

/* Returns 1 for an event that ends a message. */
static int
is_end_of_message(const char *line)
{
	return is_event(line, "complete") || is_event(line, "drop") ||
	    is_event(line, "finished") ||
	    is_event(line, "set-aside") || is_event(line, "park");
}

/* Returns 1 and sets line to the next line of the log about the message; or 0
 * at the end.  Leaves out lines with another id, unless id is "". */
static int
next_line(FILE *f, const char *base, const char *id, char *line, size_t size)
{
	char seen[80];

	while (fgets(line, (int)size, f) != NULL)
		if ((has_name(line, " msg=", base) ||
		    has_name(line, " what=", base)) && (*id == '\0' ||
		    mq_log_word(line, " id=", seen, sizeof(seen)) < 0 ||
		    mq_compare_id(seen, id) == MQ_SAME))
			return 1;
	return 0;
}

/* Prints a line of the log.  The carriage returns of a reason become a blank;
 * other bytes that do not print are \ooo, as in the log. */
static void
put_log_line(char *line)
{
	const char *s = line;
	int c;

	text_unescape(line);
	while ((c = mq_next_joined_byte(&s)) != '\0')
		mq_put_byte(stdout, c);
	putchar('\n');
}

/* Finds messages of the log whose spool id begins with wanted, and copies the
 * id and name of the last one.  Returns 0 for none, 1 for one message, and a
 * larger number for several. */
static unsigned
find_id(const char *path, const char *wanted, char id[80],
    char name[MQ_NAME_MAX])
{
	static char line[LINE_MAX_];	/* large for a stack */
	FILE *f = mq_log_open(path);
	char seen[80];
	unsigned many = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (mq_log_word(line, " id=", seen, sizeof(seen)) < 0 ||
		    mq_compare_id(seen, wanted) == MQ_DIFFERS ||
		    (many > 0 && mq_compare_id(seen, id) == MQ_SAME) ||
		    mq_log_word(line, " msg=", name, MQ_NAME_MAX) < 0)
			continue;
		many++;
		strcpy(id, seen);
	}
	if (f != NULL)
		fclose(f);
	return many;
}

/* Prints the lines of the log about the message, if there are any; gone: first
 * prints that the message is not in the queue.  Returns the number of lines, or
 * -1 with errno. */
static long
put_log(const char *path, const char *base, const char *id, int gone)
{
	static char line[LINE_MAX_];	/* large for a stack */
	long n, first = 0;
	FILE *f = mq_log_open(path);
	int ended = 0;

	if (f == NULL)
		return -1;
	for (n = 0; next_line(f, base, id, line, sizeof(line)); n++) {
		if (ended && is_event(line, "load")) {
			first = n;
			ended = 0;
		}
		ended |= is_end_of_message(line);
	}
	if (n > 0 && gone)
		mq_print("%s is not in the queue any more\n", base);
	if (n > 0)
		puts("log");
	rewind(f);
	for (n = 0; next_line(f, base, id, line, sizeof(line)); n++) {
		if (n < first)
			continue;
		line[strcspn(line, "\n")] = '\0';
		putchar('\t');
		put_log_line(line);
	}
	fclose(f);
	return n;
}

/* ---- a message --------------------------------------------------------- */

static void
put_message(struct mq_queue *q, const struct mq_msg *m,
    const struct mq_view *view)
{
	const char *why = "the queue is on another machine";
	const char *po = view->postoffice;
	char id[80];
	unsigned i;

	mq_put_message(m);
	if (po != NULL && name_parse(m->name) != NULL) {
		if (mq_make_id(m->name, po, id, sizeof(id)) == 0)
			mq_print("\tid %s, file %s/queue/%s\n", id, po,
			    m->name);
		if (put_file(q, m, po) == 0)
			return;
		why = strerror(errno);
	}
	printf("recipients\n\tthe control file cannot be read: %s\n", why);
	for (i = m->first; i != 0; i = q->jobs[i - 1].next_job) {
		mq_put_job(q, &q->jobs[i - 1], NULL);
		put_agent(&q->jobs[i - 1]);
	}
}

/* Prints that the message was set aside: 0, or -1 if it was not. */
static int
put_aside_path(const char *base, const char *po)
{
	const char *path = NULL;
	struct stat st;

	if (po == NULL ||
	    (lstat(path = path_in(po, "postman/%s", base), &st) < 0 &&
	    lstat(path = path_in(po, "postman/%s.control", base), &st) < 0))
		return -1;
	mq_print("%s is not in the queue, it was set aside: %s\n", base, path);
	return 0;
}

/* Returns why the log cannot be read, by errno, or who may read it; good until
 * the next call. */
static const char *
explain_log_errno(const char *logfile)
{
	static char why[120];
	struct stat st;

	if (errno == ESPIPE)
		return "it is no file";
	if (errno != EACCES)
		return strerror(errno);
	if (stat(logfile, &st) < 0)
		return "its directory cannot be searched";
	text_fmt(why, sizeof(why), (st.st_mode & S_IRGRP) != 0 ?
	    "root, the user %ld and the group %ld may read it" :
	    "root and the user %ld may read it", (long)st.st_uid,
	    (long)st.st_gid);
	return why;
}

/* Shows a message; m is NULL if it is not in the queue.  Returns an exit code.
 */
static int
show_message(struct mq_queue *q, const struct mq_msg *m, const char *name,
    const struct mq_view *view, const char *logfile)
{
	const char *base = name_base(m != NULL ? m->name : name), *why_not;
	char old[MQ_NAME_MAX], id[80] = "";
	int found = m != NULL;
	unsigned many = 0;
	long lines;

	if (m != NULL)
		mq_make_id(m->name, view->postoffice, id, sizeof(id));
	else if (mq_is_id(name) && (many = find_id(logfile, name, id, old)) > 0)
		base = name_base(old);
	if (many > 1) {
		mq_complain("several messages in %s have names that begin with "
		    "%s", logfile, name);
		return X_UNAVAILABLE;
	}
	if (m != NULL)
		put_message(q, m, view);
	else
		found = put_aside_path(base, view->postoffice) == 0;
	lines = put_log(logfile, base, id, !found);
	why_not = lines >= 0 ? "" : explain_log_errno(logfile);
	if (lines < 0 && found)
		printf("log\n\t%s cannot be read: %s\n", logfile, why_not);
	if (found || lines > 0)
		return 0;
	mq_complain("%s is not in the queue, and %s %s%s", base, logfile,
	    lines < 0 ? "cannot be read: " : "has no line about it", why_not);
	return X_UNAVAILABLE;
}

/* Counts the messages whose name or id begins with the name, evicted ones, too,
 * and copies the name of the last.  Evicted messages are read even if one in
 * core is found, as their names may begin with the same bytes. */
static unsigned
find_names_with_evicted(struct mq_queue *q, const char *name, const char *po,
    char found[MQ_NAME_MAX])
{
	unsigned many = mq_find_names(q, po, name, found);
	char why[MQ_WHY_MAX];

	if ((many > 0 && q->evicted == 0) || !q->facts || q->evicted_read ||
	    po == NULL)
		return many;
	if (mq_read_evicted(q, po, why) != 0)
		mq_complain("%s", why);
	return mq_find_names(q, po, name, found);
}

/* Shows the file that mq_find_unqueued_dir finds: 0, or -1 if there is none. */
static int
put_unqueued(const char *num, const char *po)
{
	const char *dir = po == NULL ? NULL : mq_find_unqueued_dir(po, num);
	const char *path;
	struct stat st;
	long age;

	if (dir == NULL)
		return -1;
	path = path_in(po, "%s/%s", dir, num);
	if (lstat(path, &st) < 0)
		return -1;
	age = file_age((long)st.st_mtime);
	mq_print("%s/%s  %s", dir, num,
	    mq_plural((double)st.st_size, "byte"));
	if (age >= 0)
		mq_print("  %s old", mq_span(age));
	putchar('\n');
	if (strcmp(dir, DEFERRED) == 0)
		mq_put_deferred(po, num);
	else if (strcmp(dir, "freezer") == 0)
		mq_print("\tis frozen; \"mailq release freezer/%s\" moves it "
		    "to router\n", num);
	else
		puts("\tis not in the queue yet; is submit -q running?");
	printf("\tfile %s\n", path);
	return 0;
}

/* Shows a message by a word of the command line.  Returns an exit code. */
static int
show_named(struct mq_queue *q, const char *name, const struct mq_view *view,
    const char *logfile)
{
	const char *num = mq_frozen_name(name) != NULL ? mq_frozen_name(name) :
	    mq_router_num(name), *po = view->postoffice;
	const char *base = name_parse(name) != NULL ? name_parse(name) : name;
	char id[MQ_NAME_MAX], found[MQ_NAME_MAX];
	unsigned many = find_names_with_evicted(q, base, po, found);

	if (many == 0 && num != NULL) {
		if (put_unqueued(num, po) == 0)
			return 0;
		if (mq_find_accepted(logfile, num, id, sizeof(id)) == 0) {
			printf("router/%s was accepted as %s\n", num, id);
			base = id;
			many = find_names_with_evicted(q, base, po, found);
		}
	}
	if (many > 1) {
		mq_complain("%u messages have names that begin with %s", many,
		    name);
		return X_UNAVAILABLE;
	}
	return show_message(q, many == 1 ? mq_msg_get(q, found, 0) : NULL,
	    base, view, logfile);
}

int
mq_show_story(struct mq_order *o, struct mq_queue *q,
    const struct mq_view *view, const char *logfile)
{
	unsigned i;
	int bad, rc = 0;

	for (i = 0; i < o->n; i++) {
		bad = show_named(q, o->what[i], view, logfile);
		if (bad != 0)
			rc = bad;
	}
	if (o->filter == NULL || mq_order_pick(o, q, view, &rc) < 0 ||
	    mq_say_if_empty(q, view))
		return rc;
	for (i = 0; i < q->nmsgs; i++) {
		if (!q->msgs[i].picked)
			continue;
		bad = show_message(q, &q->msgs[i], q->msgs[i].name, view,
		    logfile);
		if (bad != 0)
			rc = bad;
	}
	return rc;
}
