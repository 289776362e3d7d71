/*
 * dsn.c - the transport agent that sends DSNs to senders.
 *
 * A job names a message and what to send; the answer says what was done:
 *
 *	1234-56 <tab> failure	the message has ended: send all DSNs that are
 *				left
 *	1234-56 <tab> success	send all DSNs that are left; some recipients are
 *				pending, or the message has ended and none has
 *				failed
 *	1234-56 <tab> delay	send the warnings of a delay
 *
 *	1234/0 <tab><tab> ok to=anna@a.example rcpts=2 msgs=1 file=router/98
 *
 * All that a DSN says is in the control file, so a crash loses none.  A
 * finished recipient has a tag and a diagnostic line; that line's own tag is
 * set when the DSN is in router/.  After a crash in between the DSN is sent
 * twice.
 *
 *	r+ ... d ...	delivered; a DSN if NOTIFY=SUCCESS wants it
 *	r- ... d ...	failed; a DSN unless a NOTIFY list lacks FAILURE, or a
 *			pattern of -x matches
 *	r- alone	failed, without a diagnostic line; lines on a delay do
 *			not count.  A job "failure" adds the line, which was
 *			lost in a crash.  Other jobs do not add it, as the
 *			agent of the recipient may be about to write it
 *
 * For warnings the scheduler has written a line for each channel and host with
 * recipients that are late (lib/ctlfile.c).  It says how many warnings are due
 * by now.  The sender is warned of a pending recipient whose delay field has a
 * smaller number, if NOTIFY=DELAY or delayreport wants it.  A warning is of no
 * use twice, so the delay fields are set before the DSN gets its name in
 * router/.  When a job has sent its warnings, it also sets the delay fields
 * of the late recipients on whom it has sent none.  The DSN on a recipient that
 * expired without a reason, as after a restart, has the reason of the last line
 * about a delay of that recipient.
 *
 * A DSN goes to one sender.  If it covers several recipients of a message,
 * these have the same header.  If the sender is a program, a file or the like,
 * the DSN goes to the postmaster.  A message without a sender is usually a DSN
 * itself: then a DSN is sent on failures only, to the addresses in the ADR
 * lines of the form.  That DSN is marked by DOUBLE_FIELD, and if it cannot be
 * delivered no other DSN follows.  The answer is "error" if -x exempts a failed
 * recipient, or if the sender's address for a failed recipient is too long;
 * else "error2" if a failed recipient has no sender.  After "error" and
 * "error2" the scheduler sets the message aside.
 *
 * With -p PAUSE, after a DSN on failures or successes, a sender gets the next
 * one when the pause is over.  That DSN covers up to 100 messages.  Until then
 * each job is answered with a retryat; the first job that comes again sends the
 * DSN on all messages that wait.  Pauses are kept in memory alone, so a new
 * agent sends at once.
 *
 * Files are read from front to end.  A DSN has at most 10000 recipients; the
 * next DSN has the others.  The scheduler decides at what time a job comes.
 */
#include "lib.h"
#include "dsntext.h"
#include "../lib/form.h"
#include "../lib/pattern.h"

#define ITEMS_MOST	10000	/* recipients in a DSN */
#define FILES_MOST	100	/* messages in a DSN */
#define EXEMPT_MOST	40	/* options -x */
#define MARK_TRIES	3	/* tries to mark a DSN as sent */
#define PAUSES_MOST	1000	/* senders that have a pause */

static struct {
	const char *router;	/* socket of the router, "": none */
	long	pause;		/* seconds, 0: none */
	char	**exempt[EXEMPT_MOST];	/* patterns of -x */
	int	nexempt;
} opt = { "", 0, { NULL }, 0 };

static struct dsn dsn;	/* the DSN that is made */
static const char *files[FILES_MOST];	/* dsn.files */

static struct {
	const char *name;	/* the message */
	int	is_delay;	/* the job is "delay" */
	char	answer[800];	/* memory of result */
	struct text result;	/* what was sent, for the answer */
} job;

/* ---- items ----------------------------------------------------------- */

static int
compare_items(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Returns 0; or -1 with errno if the walk could not read the file. */
static int
check_walk(const struct diags *d)
{
	errno = diag_error(d);
	return errno == 0 ? 0 : -1;
}

/* Returns "channel/host" of a recipient, good until the next call. */
static const char *
channel_and_host(const struct ctl *rc)
{
	static char name[2 * WORD_MAX_];

	text_fmt(name, sizeof(name), "%s/%s", rc->channel, rc->host);
	return name;
}

/* Returns 1 if -x keeps the recipient out of DSNs on failures and delays. */
static int
is_exempt(const struct ctl *rc)
{
	int i;

	for (i = 0; i < opt.nexempt; i++)
		if (pat_matches_address(opt.exempt[i], channel_and_host(rc)))
			return 1;
	return 0;
}

/* ---- delays ----------------------------------------------------------- */

/* delay_line: the last diagnostic line about a delay.  A line of the scheduler
 * is about all recipients with a channel and host, a line of an agent about one
 * recipient. */
struct delay_line {
	struct hlink link;
	char	*name;		/* "channel/host", or the recipient's offset; in
				 * the memory behind the struct */
	unsigned long at;	/* offset of the line */
	unsigned long due;	/* warnings that are due by now */
	int	all;		/* 1: the sender is warned of recipients without
				 * NOTIFY, too */
};

static struct hash delay_lines;	/* entries of the open file, by name */

/* Returns the entry with this name, or NULL. */
static struct delay_line *
find_delay_line(const char *name)
{
	struct hlink *l = hash_first(&delay_lines, hash_text(name, 0));

	for (; l != NULL; l = hash_next(l))
		if (strcmp(OWNER(struct delay_line, link, l)->name, name) == 0)
			return OWNER(struct delay_line, link, l);
	return NULL;
}

/* Sets the offset of the entry with this name; makes the entry if there is
 * none.  Returns the entry, or NULL if there is no memory. */
static struct delay_line *
set_delay_line(const char *name, unsigned long at)
{
	struct delay_line *line = find_delay_line(name);

	if (line == NULL) {
		line = mem_get(sizeof(*line) + strlen(name) + 1);
		if (line == NULL)
			return NULL;
		line->name = strcpy((char *)(line + 1), name);
		hash_add(&delay_lines, &line->link, hash_text(name, 0));
	}
	line->at = at;
	return line;
}

/* Reads the lines of the scheduler, and marks a line that a later one replaces:
 * 0, or -1 with errno. */
static int
read_delay_lines(void)
{
	struct diags *d = &dsn.diags;
	struct delay_line *line;
	const char *name;

	if (dsn_open_control(&dsn, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	while (diag_next_line(d)) {
		if (d->tag != ' ' || d->due == 0 ||
		    ctl_read_rcpt(&d->rc, d->off) < 0)
			continue;
		name = channel_and_host(&d->rc);
		line = find_delay_line(name);
		if ((line != NULL && diag_set_tag(d, line->at, '+') < 0) ||
		    (line = set_delay_line(name, d->at)) == NULL)
			return -1;
		line->due = d->due;
		line->all = strstr(d->field[DIAG_TEXT], "all") != NULL;
	}
	return check_walk(d);
}

static void
free_delay_lines(void)
{
	struct hlink *l, *next;

	for (l = hash_each(&delay_lines, NULL); l != NULL; l = next) {
		next = hash_each(&delay_lines, l);
		hash_del(&delay_lines, l);
		free(OWNER(struct delay_line, link, l));
	}
}

/* Walks to the next pending recipient whose delay field has fewer warnings than
 * are due; make_late_item decides if the sender is warned of him.  Returns the
 * line about the delay, or NULL at the end. */
static const struct delay_line *
next_late_rcpt(struct diags *d)
{
	const struct delay_line *line;

	while (diag_next_rcpt(d)) {
		d->off = d->c.l.off;
		if (ctl_read_rcpt(&d->rc, d->off) == 0 &&
		    (d->rc.tag == ' ' || d->rc.tag == '~') &&
		    (line = find_delay_line(channel_and_host(&d->rc))) !=
		    NULL && d->rc.delays < line->due)
			return line;
	}
	return NULL;
}

/* Called after all warnings were sent.  Marks the lines about delays, and sets
 * the delay fields of the late recipients on whom no warning was sent: 0, or -1
 * with errno. */
static int
mark_delay_lines(void)
{
	struct diags *d = &dsn.diags;
	const struct delay_line *line;
	struct hlink *l;

	if (dsn_open_control(&dsn, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	ctl_seek(&d->c, 0);
	while ((line = next_late_rcpt(d)) != NULL)
		if (diag_set_delays(d, line->due) < 0)
			return -1;
	for (l = NULL; (l = hash_each(&delay_lines, l)) != NULL; )
		if (diag_set_tag(d, OWNER(struct delay_line, link, l)->at,
		    '+') < 0)
			return -1;
	return check_walk(d);
}

/* ---- items of a DSN -------------------------------------------------- */

/* Returns 1 if the form has an address, which gets DSNs on messages without a
 * sender. */
static int
form_has_address(void)
{
	char line[FORM_LINE];
	const char *value;
	int found = 0;
	FILE *form;
	size_t n;

	form = dsn_open_form(&dsn);
	if (form == NULL)
		return 0;
	while (!found && form_next_head_line(form, line))
		found = (value = form_value(line, "ADR")) != NULL &&
		    form_address(value, &n) != NULL;
	fclose(form);
	return found;
}

/* Returns 1 if somebody can get a DSN on the current recipient.  If the file
 * cannot be read, this function and its callers return 0; the walk ends then,
 * and check_walk has the errno. */
static int
has_addressee(struct diags *d, int failed)
{
	const struct origin *g = &dsn.origin;

	return origin_find(d, &dsn.origin, d->off) == 0 &&
	    !g->has_long_sender && (g->sender[0] != '\0' || (failed &&
	    !g->is_double && form_has_address()));
}

/* Returns 1 and sets the item of the current diagnostic line; or 0 if the line
 * belongs into no DSN.  Records a line about a delay, for later items. */
static int
make_item(struct diags *d, struct item *it)
{
	const char *action = d->field[DIAG_ACTION];
	/* the word that NOTIFY must have for a DSN; 0: no word is needed */
	unsigned wish = NOTIFY_SUCCESS;
	const struct delay_line *own, *all;
	const char *name;
	char offset[30];

	if (ctl_read_rcpt(&d->rc, d->off) < 0)
		return 0;
	name = channel_and_host(&d->rc);
	all = find_delay_line(name);
	text_fmt(offset, sizeof(offset), "%lu", d->off);
	own = find_delay_line(offset);
	it->reason_at = all == NULL ? 0 : all->at;
	if (own != NULL && own->at > it->reason_at)
		it->reason_at = own->at;
	if (strcmp(action, "delayed") == 0)
		set_delay_line(d->due == 0 ? offset : name, d->at);
	/* an older scheduler, which could exempt recipients as -x does, tagged
	 * their lines with '-'; such a line counts as unsent */
	if ((d->tag != ' ' && d->tag != '-') || d->is_warning ||
	    (d->rc.tag != '+' && d->rc.tag != '-') ||
	    (d->rc.tag == '-' && is_exempt(&d->rc)))
		return 0;
	it->action = ACTION_DELIVERED;
	if (strcmp(action, "relayed") == 0)
		it->action = ACTION_RELAYED;
	if (strcmp(action, "expanded") == 0)
		it->action = ACTION_EXPANDED;
	if (d->rc.tag == '-') {
		it->action = ACTION_FAILED;
		wish = d->rc.notify & NOTIFY_GIVEN ? NOTIFY_FAILURE : 0;
	}
	it->at = d->at;
	if (origin_find(d, &dsn.origin, d->off) < 0)
		return 0;
	/* NOTIFY is the sender's wish; the form's addresses get all failures */
	if ((d->rc.notify & wish) != wish && (d->rc.tag == '+' ||
	    dsn.origin.sender[0] != '\0'))
		return 0;
	return has_addressee(d, d->rc.tag == '-');
}

/* Returns 1 and sets the item of the current recipient, who is late; or 0 if
 * the recipient belongs into no DSN. */
static int
make_late_item(struct diags *d, const struct delay_line *line, struct item *it)
{
	it->action = ACTION_DELAYED;
	it->at = line->at;
	it->reason_at = 0;
	it->delays[0] = d->rc.delays;
	it->delays[1] = line->due;
	if (is_exempt(&d->rc) || !(d->rc.notify & NOTIFY_DELAY ||
	    (line->all && !(d->rc.notify & NOTIFY_GIVEN))))
		return 0;
	return has_addressee(d, 0);
}

static void
begin_walk(void)
{
	ctl_seek(&dsn.diags.c, 0);
	if (!job.is_delay)	/* make_item records the lines anew */
		free_delay_lines();
}

/* Returns 1 and sets the next item of the file; or 0 at the end. */
static int
next_item(struct diags *d, struct item *it)
{
	const struct delay_line *line;
	int found = 0;

	if (job.is_delay) {
		while (!found && (line = next_late_rcpt(d)) != NULL)
			found = make_late_item(d, line, it);
	} else {
		while (!found && diag_next_line(d))
			found = make_item(d, it);
	}
	it->off = d->off;
	return found;
}

/* Adds a message with its items for dsn.sender, if there are any: 0, or -1 with
 * errno.  Only items with the same header as the first of these items are
 * added.  A message of another job that cannot be opened is left for that
 * job. */
static int
add_message_items(const char *name)
{
	const struct origin *g = &dsn.origin;
	unsigned first = dsn.n;
	struct item it, *more;

	dsn_close_file(&dsn);
	it.file = dsn.nfiles;
	files[it.file] = name;
	if (dsn_open_control(&dsn, it.file) < 0)
		return name != job.name || errno == ENOENT ? 0 : -1;
	begin_walk();
	while (dsn.n < ITEMS_MOST && next_item(&dsn.diags, &it)) {
		if (strcmp(g->sender, dsn.sender) != 0)
			continue;
		if (dsn.n == first)
			dsn.hdr = g->hdr;
		if (dsn.hdr != g->hdr)
			continue;
		if ((more = dsn_add_item(&dsn)) == NULL)
			return -1;
		*more = it;
	}
	dsn.nfiles += dsn.n > first;
	return check_walk(&dsn.diags);
}

/* ---- pauses ---------------------------------------------------------- */

/* The pause of a sender who got a DSN on failures or successes. */
static struct pause {
	char	*sender;	/* in the memory behind the struct */
	double	until;		/* mono; the end of the pause */
	char	(*names)[NAME_MAX_];	/* messages that wait for this time */
	unsigned n, size;	/* names in use; names with memory */
} *pauses[PAUSES_MOST];
static unsigned npauses;	/* pauses in use */

static struct pause *
find_pause(const char *sender)
{
	unsigned i;

	for (i = 0; i < npauses; i++)
		if (strcmp(pauses[i]->sender, sender) == 0)
			return pauses[i];
	return NULL;
}

/* Removes the pauses that have ended. */
static void
free_old_pauses(void)
{
	unsigned i, kept = 0;

	for (i = 0; i < npauses; i++) {
		pauses[kept] = pauses[i];
		if (pauses[i]->until > now.mono) {
			kept++;
			continue;
		}
		free(pauses[i]->names);
		free(pauses[i]);
	}
	npauses = kept;
}

/* Begins a pause of the sender.  Without memory there is no pause. */
static void
begin_pause(const char *sender)
{
	struct pause *p = find_pause(sender);

	if (p == NULL && npauses == PAUSES_MOST)
		free_old_pauses();
	if (p == NULL && opt.pause != 0 && npauses < PAUSES_MOST &&
	    (p = mem_get(sizeof(*p) + strlen(sender) + 1)) != NULL) {
		p->sender = strcpy((char *)(p + 1), sender);
		pauses[npauses++] = p;
	}
	if (p != NULL) {
		p->until = now.mono + (double)opt.pause;
		p->n = 0;
	}
}

/* Adds the job's message to the sender's pause.  Returns the seconds until the
 * pause ends, 0 if there is no pause. */
static long
add_job_to_pause(const char *sender)
{
	struct pause *p = find_pause(sender);
	unsigned i;

	if (p == NULL || p->until <= now.mono)
		return 0;
	for (i = 0; i < p->n && strcmp(p->names[i], job.name) != 0; )
		i++;
	if (i == p->n && i < FILES_MOST && mem_grow((void **)&p->names, i,
	    &p->size, sizeof(*p->names)) == 0)
		strcpy(p->names[p->n++], job.name);
	return (long)(p->until - now.mono) + 1;
}

/* ---- sending --------------------------------------------------------- */

/* sent 1: marks all items as sent; 0, for warnings only: removes the marks.
 * Then syncs the files.  Returns 0, or -1 with errno.  A DSN is marked in the
 * tag of the diagnostic line, a warning in the recipient's delay field. */
static int
mark_items(int sent)
{
	struct diags *d = &dsn.diags;
	const struct item *it;
	unsigned i;

	for (i = 0; i < dsn.n; i++) {
		it = &dsn.items[i];
		if (dsn.open != it->file + 1) {
			if (dsn.open != 0 && fd_sync(d->c.l.fd) < 0)
				return -1;
			if (dsn_open_control(&dsn, it->file) < 0) {
				if (errno != ENOENT)
					return -1;
				continue;	/* the message has ended */
			}
		}
		if (it->action != ACTION_DELAYED) {
			if (diag_set_tag(d, it->at, '+') < 0)
				return -1;
		} else if (ctl_read_rcpt(&d->rc, it->off) < 0 ||
		    diag_set_delays(d, it->delays[sent]) < 0)
			return -1;
	}
	return dsn.open != 0 ? fd_sync(d->c.l.fd) : 0;
}

/* Writes and sends the DSN, and marks its items: 0, or -1 with errno. */
static int
send_items(void)
{
	struct post post;
	char what[40];
	int marked, err, i;

	/* the tag of an unsent line is written as a trial, since a DSN whose
	 * line cannot be marked would be sent again and again */
	if (dsn_open_control(&dsn, 0) < 0 ||
	    diag_set_tag(&dsn.diags, dsn.items[0].at, ' ') < 0 ||
	    dsn_write(&dsn, &post) < 0)
		return -1;
	marked = !job.is_delay || mark_items(1) == 0;
	if (!marked)
		post_remove(&post);
	if (!marked || post_send_or_remove(&post) < 0) {
		err = errno;
		if (job.is_delay)
			mark_items(0);
		errno = err;
		return -1;
	}
	text_add(&job.result, "%sto=%s rcpts=%u msgs=%u file=router/%lu",
	    job.result.len > 0 ? "; " : "", dsn.sender[0] != '\0' ?
	    dsn.sender : "<>", dsn.n, dsn.nfiles, post.num);
	text_fmt(what, sizeof(what), "router %lu", post.num);
	post_notify(opt.router, what);
	if (job.is_delay)
		return 0;
	for (i = 0; i < MARK_TRIES; i++) {
		dsn_close_file(&dsn);
		if (mark_items(1) == 0)
			return 0;
	}
	return -1;
}

/* Sends dsn.sender a DSN on the job's message, and on messages that waited for
 * the end of the sender's pause: 0, or -1 with errno. */
static int
send_dsn(void)
{
	struct pause *p = job.is_delay ? NULL : find_pause(dsn.sender);
	unsigned i;

	dsn.n = dsn.nfiles = 0;
	if (add_message_items(job.name) < 0)
		return -1;
	for (i = 0; p != NULL && i < p->n && dsn.nfiles < FILES_MOST; i++)
		if (strcmp(p->names[i], job.name) != 0 &&
		    add_message_items(p->names[i]) < 0)
			return -1;
	if (dsn.n == 0)
		return 0;	/* the message has ended */
	/* the open file may have no items, and then is no file of the DSN */
	dsn_close_file(&dsn);
	qsort(dsn.items, dsn.n, sizeof(*dsn.items), compare_items);
	if (send_items() < 0)
		return -1;
	if (!job.is_delay)
		begin_pause(dsn.sender);
	return 0;
}

/* ---- jobs ------------------------------------------------------------ */

static int
compare_offset(const void *key, const void *item)
{
	unsigned long off = *(const unsigned long *)key;
	const struct item *it = item;

	return off < it->off ? -1 : off > it->off;
}

/* Adds the diagnostic lines of failed recipients that a crash has lost: 0, or
 * -1 with errno.  The message must have ended, as otherwise an agent may be
 * about to write such a line.  At most ITEMS_MOST recipients are looked at in
 * one pass. */
static int
restore_diagnostics(void)
{
	struct diags *d = &dsn.diags;
	unsigned long from = 0;	/* recipients before this offset are done */
	struct item *it;
	unsigned i;
	int added = 0;

	if (dsn_open_control(&dsn, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	do {
		dsn.n = 0;
		ctl_seek(&d->c, 0);
		while (dsn.n < ITEMS_MOST && diag_next_rcpt(d)) {
			if (d->c.l.off < from || d->c.l.line[1] != '-')
				continue;
			if ((it = dsn_add_item(&dsn)) == NULL)
				return -1;
			it->off = d->c.l.off;
			from = d->c.l.off + 1;
		}
		if (check_walk(d) < 0)
			return -1;
		ctl_seek(&d->c, 0);
		while (dsn.n > 0 && diag_next_line(d))
			if (!d->is_warning && (it = bsearch(&d->off, dsn.items,
			    dsn.n, sizeof(*it), compare_offset)) != NULL)
				it->at = d->at;
		if (check_walk(d) < 0)
			return -1;
		for (i = 0; i < dsn.n; i++) {
			if (dsn.items[i].at != 0)
				continue;
			if (ctl_append_diag(job.name, dsn.items[i].off, "",
			    "5.0.0 (permanent failure)",
			    "why it failed was not written down", 0) < 0)
				return -1;
			added = 1;
		}
	} while (dsn.n == ITEMS_MOST);
	return added ? ctl_sync(job.name) : 0;
}

/* Finds the verdict on a message whose DSNs were sent: "ok"; "error" if -x
 * exempts a failure, or its sender's address is too long; "error2" if there is
 * no sender.  0, or -1 with errno. */
static int
find_verdict(const char **verdict)
{
	struct diags *d = &dsn.diags;

	*verdict = "ok";
	if (dsn_open_control(&dsn, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	ctl_seek(&d->c, 0);
	while (strcmp(*verdict, "error") != 0 && diag_next_rcpt(d)) {
		if (d->c.l.line[1] != '-')
			continue;
		if (ctl_read_rcpt(&d->rc, d->c.l.off) < 0 || is_exempt(&d->rc))
			*verdict = "error";
		else if (origin_find(d, &dsn.origin, d->c.l.off) < 0)
			break;
		else if (dsn.origin.has_long_sender)
			*verdict = "error";
		else if (dsn.origin.sender[0] == '\0')
			*verdict = "error2";
	}
	return check_walk(d);
}

/* Sends the DSNs on the job's message, one after another: 0, or -1 with errno.
 * Some of the senders may have a pause: sets *wait to the seconds until the
 * first of these pauses ends; 0: all DSNs were sent. */
static int
send_all(long *wait)
{
	struct item it;
	int found;
	long w;

	for (;;) {
		*wait = 0;
		if (dsn_open_control(&dsn, 0) < 0)
			return errno == ENOENT ? 0 : -1;
		begin_walk();
		/* find the first item whose sender has no pause */
		while ((found = next_item(&dsn.diags, &it)) != 0 &&
		    !job.is_delay &&
		    (w = add_job_to_pause(dsn.origin.sender)) != 0)
			if (*wait == 0 || w < *wait)
				*wait = w;
		if (check_walk(&dsn.diags) < 0)
			return -1;
		if (!found)
			return 0;
		strcpy(dsn.sender, dsn.origin.sender);
		if (send_dsn() < 0)
			return -1;
		dsn_close_file(&dsn);
		files[0] = job.name;
	}
}

/* Answers the job.  failed: the job could not be finished, for the reason in
 * errno; its DSNs may have been sent. */
static void
answer_job(int failed, long wait)
{
	const char *sep = job.result.len > 0 ? "; " : "", *v = "ok";
	char later[850];

	if (wait > 0 && !failed) {
		text_fmt(later, sizeof(later), "+%ld %s%sthe sender gets a "
		    "DSN after the pause", wait, job.answer, sep);
		lib_report_job(job.name, "retryat", later);
		return;
	}
	if (failed || (!job.is_delay && find_verdict(&v) < 0)) {
		text_add(&job.result, "%sa DSN cannot be sent now: %s", sep,
		    strerror(errno));
		v = "deferred";
	} else if (strncmp(v, "error", 5) == 0) {
		text_add(&job.result, "%sa failure was reported to no sender",
		    sep);
	} else if (job.result.len == 0) {
		text_add(&job.result, "no DSN is needed");
	}
	lib_report_job(job.name, v, job.answer);
}

static void
work(const char *name, const char *host)
{
	long wait = 0;
	int failed;

	clock_read();
	text_init(&job.result, job.answer, sizeof(job.answer));
	job.is_delay = strcmp(host, "delay") == 0;
	files[0] = job.name = name;
	dsn.files = files;
	dsn.form = job.is_delay ? "delay" : "delivery";
	errno = 0;
	failed = (job.is_delay && read_delay_lines() < 0) ||
	    (strcmp(host, "failure") == 0 && restore_diagnostics() < 0) ||
	    send_all(&wait) < 0 || (job.is_delay && mark_delay_lines() < 0);
	answer_job(failed, wait);
	ctl_close_kept();
	free_delay_lines();
	dsn_close_file(&dsn);
}

/* ---- options --------------------------------------------------------- */

/* Adds a pattern of -x.  For a wrong pattern prints why and the usage. */
static void
add_exempt_pattern(const char *pattern)
{
	const char *why = "there are too many";

	if (opt.nexempt < EXEMPT_MOST)
		why = pat_expand(pattern, &opt.exempt[opt.nexempt++]);
	if (why == NULL)
		return;
	fprintf(stderr, "dsn: -x %s: %s\n", pattern, why);
	lib_usage();
}

int
main(int argc, char **argv)
{
	static struct lib_command command = { "dsn", VERSION,
		"[-V] [-d forms] [-n name] [-p pause] [-r socket] [-s bytes] "
		    "[-x pattern]", "d:n:p:r:s:Vx:", NULL, NULL, 0 };
	const char *name = NULL;
	unsigned long most = 65536UL;
	int c;

	dsn.forms = lib_share_path("forms");
	while ((c = lib_next_option(argc, argv, &command)) != -1)
		switch (c) {
		case 'd': dsn.forms = optarg; break;
		case 'n': name = optarg; break;
		case 'p': lib_set_span(&opt.pause); break;
		case 'r': opt.router = optarg; break;
		case 's':
			if (size_parse(optarg, 999999999UL, &most) < 0)
				lib_usage();
			break;
		case 'x': add_exempt_pattern(optarg); break;
		default: lib_usage();
		}
	if (optind < argc || opt.pause > 999999999L || dsn.forms[0] != '/')
		lib_usage();
	dsn.most = (long)most;
	/* nothing is logged: descriptors 0 to 2 are the scheduler's, and errors
	 * are in the answers */
	logs.level = L_ERR - 1;
	return dsn_confine_agent(&dsn, name, opt.router) < 0 ? X_OSERR :
	    lib_serve_messages(work);
}
