/*
 * story.c - mailq show: prints all that is known of a message.
 *
 *	107-1  <anna@a.example>  287 bytes  23s old
 *		id S107AbmKVCyz
 *	header
 *		Subject: lunch
 *	recipients
 *		bert@b.example  smtp/b.example, 2 tries: connection refused
 *			next 14:05 (in 5m), expires in 2d20h
 *		carl@c.example  smtp/c.example, delivered
 *	log
 *		20261122131433 info load msg=107-1 ...
 *
 * There are three sources: the scheduler knows what the message waits for, the
 * control file its recipients and their tags, the log what happened.  A source
 * that cannot be read is left out, with the reason.  For a message that is not
 * in the queue there are the log and postman/.
 *
 * Names are used again.  So the log is shown from the last "load" of that name
 * that follows the end of an earlier message, "complete", "drop", "finished" or
 * "set-aside" ("park" in the log of 0.1).  The log is read twice, to take no
 * memory.
 *
 * name.c has the names of a message.  By its spool id, no line of another
 * message of the same name is shown.
 */
#include "mq.h"
#include "../lib/origin.h"

/* ---- agents ------------------------------------------------------------ */

/* agent: what the report says of one that is at work. */
static struct agent {
	unsigned long pid;
	char	line_age[16], job_age[16];	/* seconds since, "never" */
	unsigned long jobs;
} *agents;
static unsigned nagents, room;

/* Behind KEY={ in the line, or NULL. */
static const char *
list_of(const char *line, const char *key)
{
	const char *p = strstr(line, key);

	return p == NULL ? NULL : p + strlen(key);
}

/* The next word of a list into buf: what follows, NULL when that was all. */
static const char *
next_word(const char *p, char *buf, size_t size)
{
	size_t n;

	buf[0] = '\0';
	if (p == NULL)
		return NULL;
	n = strcspn(p, ",}");
	text_fmt(buf, size, "%.*s", (int)n, p);
	return p[n] == ',' ? p + n + 1 : NULL;
}

static int
add_agent(const struct agent *a)
{
	unsigned more = room < 16 ? 16 : room * 2;
	struct agent *v;

	if (nagents == room) {
		v = realloc(agents, more * sizeof(*v));
		if (v == NULL)
			return -1;
		agents = v;
		room = more;
	}
	agents[nagents++] = *a;
	return 0;
}

void
mq_story_line(void *arg, const char *line)
{
	const char *pid = list_of(line, " P={"), *lines, *feeds, *jobs;
	char word[16];
	struct agent a;

	(void)arg;
	if (strncmp(line, "    ", 4) != 0 || pid == NULL)
		return;
	lines = list_of(line, " HA={");
	feeds = list_of(line, " FA={");
	jobs = list_of(line, " OF={");
	while (pid != NULL) {
		pid = next_word(pid, word, sizeof(word));
		a.pid = num_of(word, NULL);
		lines = next_word(lines, a.line_age, sizeof(a.line_age));
		feeds = next_word(feeds, a.job_age, sizeof(a.job_age));
		jobs = next_word(jobs, word, sizeof(word));
		a.jobs = num_of(word, NULL);
		if (add_agent(&a) < 0)
			return;
	}
}

static void
put_ago(const char *before, const char *seconds)
{
	if (seconds[0] >= '0' && seconds[0] <= '9')
		mq_print("%s%s ago", before,
		    mq_span((long)num_of(seconds, NULL)));
}

static void
put_agent(const struct mq_job *j)
{
	const struct agent *a;

	for (a = agents; a < agents + nagents; a++)
		if (a->pid == (unsigned long)j->pid)
			break;
	if (j->state != MQ_RUN || a == agents + nagents)
		return;
	mq_print("\t\tagent pid %d: %s", j->pid,
	    mq_many((double)a->jobs, "job"));
	put_ago(", the last given ", a->job_age);
	put_ago(", last heard ", a->line_age);
	putchar('\n');
}

/* ---- the control file -------------------------------------------------- */

/* Prints the header block that begins in the current line. */
static void
put_header(struct ctl *c)
{
	puts("header");
	while (line_next(&c->l) && c->l.len > 0)
		/* a TAB that folds a field is shown as one */
		if (*c->l.line == '\t')
			mq_print("\t\t%s\n", c->l.line + 1);
		else
			mq_print("\t%s\n", c->l.line);
	c->in_block = 0;
}

/* Keeps what failed for good, by the place of its recipient: 0 or -1. */
static int
take_failures(struct diags *n, struct mq_queue *q, unsigned msg)
{
	ctl_go(&n->c, 0);
	while (diag_next(n))
		if (mq_add_why(q, msg, n->off, n->text) < 0)
			return -1;
	mq_why_sort(q);
	return 0;
}

/* The job of a recipient, or NULL: it has none in core. */
static const struct mq_job *
job_of(struct mq_queue *q, const struct mq_msg *m, const struct ctl *c)
{
	const struct mq_dest *d = mq_dest(q, c->channel, c->host);
	unsigned i;

	for (i = m->first; i != 0; i = q->jobs[i - 1].next_job)
		if (q->jobs[i - 1].dest == d)
			return &q->jobs[i - 1];
	return NULL;
}

/* The recipient whose line is at off. */
static void
put_rcpt(struct diags *n, struct mq_queue *q, const struct mq_msg *m,
    unsigned long off)
{
	const char *reason = mq_why_of(q, m, off);
	const struct mq_job *j;

	if (ctl_rcpt(&n->rc, off) < 0)
		return;
	mq_print("\t%s  %s/%s", n->rc.user, n->rc.channel, n->rc.host);
	if (n->rc.orcpt[0] != '\0')
		mq_print(", for %s", n->rc.orcpt);
	if (n->rc.tag == '+') {
		puts(", done");
	} else if (n->rc.tag == '-') {
		mq_print(", failed%s\n", mq_reason(reason));
	} else if ((j = job_of(q, m, &n->rc)) == NULL) {
		puts(", waits on disk");
	} else {
		mq_put_tries(j, *reason != '\0' ? reason : j->reason);
		put_agent(j);
	}
}

/* What the control file says: 0, or -1 with errno. */
static int
put_file(struct mq_queue *q, const struct mq_msg *m, const char *po)
{
	static struct diags n;
	char path[MQ_PATH_MAX];
	int fd, bad, error;

	if (text_fmt(path, sizeof(path), "%s/transport/%s", po, m->name) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = fd_plain(path, O_RDONLY, NULL);
	if (fd < 0)
		return -1;
	ctl_start(&n.c, fd, m->name);
	ctl_start(&n.rc, fd, m->name);
	bad = take_failures(&n, q, (unsigned)(m - q->msgs)) < 0;
	ctl_go(&n.c, 0);
	while (ctl_walk(&n.c))
		if (n.c.l.len == 1 && n.c.l.line[0] == 'm') {
			put_header(&n.c);
			break;
		}
	puts("recipients");
	ctl_go(&n.c, 0);
	while (diag_next_rcpt(&n))
		put_rcpt(&n, q, m, n.c.l.off);
	error = diag_error(&n);
	ctl_close(&n.c);
	if (bad)
		puts("\tthere is no memory for what failed");
	errno = error;
	return error != 0 ? -1 : 0;
}

/* ---- the log ----------------------------------------------------------- */

/* Has the line KEY=NAME, with hash directories or without? */
static int
has_name(const char *line, const char *key, const char *base)
{
	const char *p = strstr(line, key), *slash;
	size_t n;

	if (p == NULL)
		return 0;
	p += strlen(key);
	n = strcspn(p, " \n");
	for (slash = p; slash < p + n; slash++)
		if (*slash == '/') {
			n -= (size_t)(slash + 1 - p);
			p = slash + 1;
		}
	return n == strlen(base) && strncmp(p, base, n) == 0;
}

/* Is the third word of the line that event? */
static int
is_event(const char *line, const char *event)
{
	size_t n = strlen(event);
	int i;

	for (i = 0; i < 2; i++) {
		line += strcspn(line, " ");
		line += strspn(line, " ");
	}
	return strncmp(line, event, n) == 0 && line[n] == ' ';
}

static int
is_end(const char *line)
{
	return is_event(line, "complete") || is_event(line, "drop") ||
	    is_event(line, "finished") ||
	    is_event(line, "set-aside") || is_event(line, "park");
}

/* Has the line the spool id of another message?  id "" is not known. */
static int
is_others(const char *line, const char *id)
{
	char its[80];

	return *id != '\0' &&
	    mq_log_word(line, " id=", its, sizeof(its)) == 0 &&
	    mq_same_id(its, id) != 2;
}

/* The next line of the log about the message: 1 or 0. */
static int
next_line(FILE *f, const char *base, const char *id, char *line, size_t size)
{
	while (fgets(line, (int)size, f) != NULL)
		if ((has_name(line, " msg=", base) ||
		    has_name(line, " what=", base)) && !is_others(line, id))
			return 1;
	return 0;
}

/* Prints a line of the log, in which bytes that do not print are \ooo already;
 * between the lines of a reason is a blank. */
static void
put_log_line(const char *s)
{
	static const char end[] = "\\015";
	int more;

	while (*s != '\0') {
		for (more = 0; strncmp(s, end, 4) == 0; more = 1)
			s += 4;
		if (*s == '\0')
			break;
		if (more)
			putchar(' ');
		if (*s == '\\')
			putchar(*s++);
		else
			mq_put_byte(stdout, (unsigned char)*s++);
	}
	putchar('\n');
}

/* Searches the log for messages whose spool id begins with wanted: how many,
 * and the id and name of the last one. */
static unsigned
find_id(const char *path, const char *wanted, char id[80],
    char name[MQ_NAME_MAX])
{
	static char line[LINE_MAX_];
	FILE *f = mq_log_open(path);
	char its[80];
	unsigned many = 0;

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (mq_log_word(line, " id=", its, sizeof(its)) < 0 ||
		    mq_same_id(its, wanted) == 0 ||
		    (many > 0 && mq_same_id(its, id) == 2) ||
		    mq_log_word(line, " msg=", name, MQ_NAME_MAX) < 0)
			continue;
		many++;
		strcpy(id, its);
	}
	if (f != NULL)
		fclose(f);
	return many;
}

/* Prints the lines of the log about the message, with gone after a line that it
 * is not in the queue: 1, 0 if there are none, or -1 with errno. */
static int
put_log(const char *path, const char *base, const char *id, int gone)
{
	static char line[LINE_MAX_];
	unsigned long n, first = 0;
	FILE *f = mq_log_open(path);
	int ended = 0;

	if (f == NULL)
		return -1;
	for (n = 0; next_line(f, base, id, line, sizeof(line)); n++) {
		if (ended && is_event(line, "load")) {
			first = n;
			ended = 0;
		}
		ended |= is_end(line);
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
	return n > 0;
}

/* ---- a message --------------------------------------------------------- */

/* The spool id and the place of the message file. */
static void
put_id(const struct mq_msg *m, const char *po)
{
	char id[80];

	if (mq_id(m->name, po, id, sizeof(id)) == 0)
		mq_print("\tid %s, file %s/queue/%s\n", id, po, m->name);
}

static void
put_message(struct mq_queue *q, const struct mq_msg *m,
    const struct mq_view *view)
{
	const char *why = "the queue is on another machine";
	unsigned i;

	mq_put_message(m);
	if (view->postoffice != NULL && name_in(m->name) != NULL) {
		put_id(m, view->postoffice);
		if (put_file(q, m, view->postoffice) == 0)
			return;
		why = strerror(errno);
	}
	printf("recipients\n\tthe control file cannot be read: %s\n", why);
	for (i = m->first; i != 0; i = q->jobs[i - 1].next_job) {
		mq_put_job(&q->jobs[i - 1]);
		put_agent(&q->jobs[i - 1]);
	}
}

/* Says that a message was set aside: 1, or 0 if it was not. */
static int
put_aside(const char *base, const char *po)
{
	char path[MQ_PATH_MAX];
	struct stat st;

	if (po == NULL || text_fmt(path, sizeof(path), "%s/postman/%s", po,
	    base) < 0)
		return 0;
	if (lstat(path, &st) < 0 && (text_fmt(path, sizeof(path),
	    "%s/postman/%s.control", po, base) < 0 || lstat(path, &st) < 0))
		return 0;
	mq_print("%s is not in the queue, it was set aside: %s\n", base, path);
	return 1;
}

/* Why the log cannot be read, from errno, and who could. */
static const char *
why_no_log(const char *logfile)
{
	static char why[120];
	struct stat st;

	if (errno == ESPIPE)
		return "it is no file";
	if (errno != EACCES)
		return strerror(errno);
	if (stat(logfile, &st) < 0)
		return "only root and its owner may read it";
	text_fmt(why, sizeof(why), (st.st_mode & S_IRGRP) != 0 ?
	    "root, the user %ld and the group %ld may read it" :
	    "root and the user %ld may read it", (long)st.st_uid,
	    (long)st.st_gid);
	return why;
}

/* Shows a message: m, or NULL if it is not in the queue.  An exit code. */
static int
story(struct mq_queue *q, const struct mq_msg *m, const char *name,
    const struct mq_view *view, const char *logfile)
{
	const char *base = name_base(m != NULL ? m->name : name), *no;
	char old[MQ_NAME_MAX], id[80] = "";
	int found = m != NULL, log;
	unsigned many = 0;

	if (m != NULL)
		mq_id(m->name, view->postoffice, id, sizeof(id));
	else if (mq_is_id(name) && (many = find_id(logfile, name, id, old)) > 0)
		base = name_base(old);
	if (many > 1) {
		mq_complain("%s is the beginning of %u messages in %s", name,
		    many, logfile);
		return X_UNAVAILABLE;
	}
	if (m != NULL)
		put_message(q, m, view);
	else
		found = put_aside(base, view->postoffice);
	log = put_log(logfile, base, id, !found);
	no = log >= 0 ? "" : why_no_log(logfile);
	if (log < 0 && found)
		printf("log\n\t%s cannot be read: %s\n", logfile, no);
	if (found || log > 0)
		return 0;
	mq_complain("%s is not in the queue, and %s %s%s", base, logfile,
	    log < 0 ? "cannot be read: " : "has no line of it", no);
	return X_UNAVAILABLE;
}

/* The message that is named, or that alone begins so; NULL: there is none, or
 * *many begin so. */
static const struct mq_msg *
find(const struct mq_queue *q, const char *name, const char *po,
    unsigned *many)
{
	const struct mq_msg *m, *found = NULL;
	int called;

	*many = 0;
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		called = mq_is_called(m->name, name, po);
		if (called == 0)
			continue;
		if (called == 2) {
			*many = 0;
			return m;
		}
		found = m;
		++*many;
	}
	return *many == 1 ? found : NULL;
}

/* The same; messages that are not in core are looked for in the spool: one of
 * them may begin as one in core does. */
static const struct mq_msg *
find_all(struct mq_queue *q, const char *name, const char *po, unsigned *many)
{
	static int rest_read;
	const struct mq_msg *m = find(q, name, po, many);
	char why[MQ_WHY_MAX];

	if ((m != NULL && *many == 0) || (*many > 0 && q->evicted == 0) ||
	    !q->facts || rest_read || po == NULL)
		return m;
	rest_read = 1;
	if (mq_spool_rest(q, po, why) != 0)
		mq_complain("%s", why);
	return find(q, name, po, many);
}

/* Shows the size and age of po/dir/num: 1, or 0 if it is no file there. */
static int
put_outside(const char *po, const char *dir, const char *num,
    char path[MQ_PATH_MAX])
{
	struct stat st;
	long age;

	if (po == NULL || text_fmt(path, MQ_PATH_MAX, "%s/%s/%s", po, dir,
	    num) < 0 || lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	age = file_age((long)st.st_mtime);
	mq_print("%s/%s  %s", dir, num, mq_many((double)st.st_size, "byte"));
	if (age >= 0)
		mq_print("  %s old", mq_span(age));
	putchar('\n');
	return 1;
}

/* Shows the file num if it is in router/ or deferred/: 1 or 0. */
static int
put_router(const char *num, const char *po)
{
	char path[MQ_PATH_MAX];
	int routed = put_outside(po, "router", num, path);

	if (routed)
		puts("\tis not in the queue yet; is submit -q running?");
	else if (put_outside(po, "deferred", num, path))
		mq_put_deferred(po, num);
	else
		return 0;
	printf("\tfile %s\n", path);
	return 1;
}

/* Shows a message by a word of the command line: an exit code. */
static int
named(struct mq_queue *q, const char *name, const struct mq_view *view,
    const char *logfile)
{
	const char *num = mq_is_router(name), *po = view->postoffice;
	const char *base = name_in(name) != NULL ? name_in(name) : name;
	const struct mq_msg *m;
	char id[MQ_NAME_MAX];
	unsigned many;

	m = find_all(q, base, po, &many);
	if (m == NULL && many == 0 && num != NULL) {
		if (put_router(num, po))
			return 0;
		if (mq_accepted(logfile, num, id, sizeof(id)) == 0) {
			printf("router/%s was accepted as %s\n", num, id);
			base = id;
			m = find_all(q, base, po, &many);
		}
	}
	if (many > 1) {
		mq_complain("%s is the beginning of %u messages", name, many);
		return X_UNAVAILABLE;
	}
	return story(q, m, base, view, logfile);
}

int
mq_story(struct mq_order *o, struct mq_queue *q, const struct mq_view *view,
    const char *logfile)
{
	unsigned i;
	int bad, rc = 0, shown = 0;

	for (i = 0; i < o->n; i++) {
		bad = named(q, o->what[i], view, logfile);
		if (bad != 0)
			rc = bad;
	}
	if (o->filter == NULL || mq_order_pick(o, q, view, &rc) < 0)
		return rc;
	for (i = 0; i < q->nmsgs; i++) {
		if (!q->msgs[i].picked)
			continue;
		shown = 1;
		bad = story(q, &q->msgs[i], q->msgs[i].name, view, logfile);
		if (bad != 0)
			rc = bad;
	}
	if (!shown)
		mq_show_none(q, view);
	return rc;
}
