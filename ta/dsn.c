/*
 * dsn.c - the transport agent that sends DSNs to senders.
 *
 * A job names a message and what to send; the answer says what was done:
 *
 *	1234-56 <tab> failure	the message has ended: send all DSNs that are
 *				left
 *	1234-56 <tab> success	the same, but other recipients may be pending,
 *				or none has failed
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
 *	r- alone	in a job "failure" a crash lost the line, and one is
 *			added; in other jobs an agent may be about to write it.
 *			A line on a delay from before does not count as such a
 *			line
 *
 * For warnings the scheduler has written a line for each channel and host with
 * recipients that are late (lib/ctlfile.c).  It says how many warnings are due
 * by now.  A pending recipient whose delay field has a smaller number is warned
 * of, if NOTIFY=DELAY or delayreport wants it.  A warning is of no use twice,
 * so the delay fields are set before the DSN gets its name in router/; at last
 * those of all recipients are, also where no warning was wanted.  A recipient
 * that expired without a reason, as after a restart, gets that of the last line
 * on its delay.
 *
 * A DSN goes to one sender and covers recipients of a message that share its
 * header.  If the sender is a program, a file or the like, it goes to the
 * postmaster.  A message without a sender is mostly a DSN itself: then only the
 * addresses of the form get a DSN.  That DSN has a field that says what it is,
 * and if it fails no other follows.  If nobody can get a DSN on a failure, the
 * answer is "error", or "error2" if the reason is the missing sender; the
 * scheduler then keeps the message.
 *
 * With -p a sender who got a DSN on a failure gets the next one when that pause
 * is over, on up to 100 messages.  Until then each job is answered with a
 * retryat; the first that comes again takes the others along.  Pauses are kept
 * in memory alone, so a new agent sends at once.
 *
 * Files are read from front to end.  A DSN has at most 10000 recipients; the
 * next DSN has the others.  The scheduler decides when a job comes.
 */
#include "lib.h"
#include "report.h"
#include "../lib/form.h"
#include "../lib/pattern.h"

#define ITEMS_MOST	10000	/* recipients in a DSN */
#define FILES_MOST	100	/* messages in one */
#define EXEMPT_MOST	40	/* options -x */
#define MARKS		3	/* tries to mark what was sent */
#define SENDERS_KEPT	1000	/* senders that a pause is kept for */


static struct {
	const char *router;	/* its socket, "": none */
	long	pause;		/* seconds, 0: none */
	char	**exempt[EXEMPT_MOST];	/* patterns of -x */
	int	nexempt;
} opt = { "", 0, { NULL }, 0 };

static struct report report;	/* large, and one at a time */
static char names[FILES_MOST][NAME_MAX_];
static const char *files[FILES_MOST];	/* points to them */
static int delays;		/* the job is for delays */

/* The answer to the job. */
static char words[800];
static struct text result;

/* ---- items ----------------------------------------------------------- */

static int
compare(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

/* Whether a read has failed, with errno. */
static int
cannot_read(const struct diags *n)
{
	if (diag_error(n) != 0)
		errno = diag_error(n);
	return diag_error(n) != 0;
}

/* Does -x keep the recipient out of DSNs on failures and delays? */
static int
is_exempt(const struct ctl *rc)
{
	char address[2 * WORD_MAX_];
	int i;

	text_fmt(address, sizeof(address), "%s/%s", rc->channel, rc->host);
	for (i = 0; i < opt.nexempt; i++)
		if (pat_match_address(opt.exempt[i], address))
			return 1;
	return 0;
}

/* ---- things with a name ---------------------------------------------- */

/* The beginning of a struct that is found by its name. */
struct named {
	struct hlink link;
	char	*name;		/* behind the struct */
};

/* The one with this name; a new one of this size if there is none and the size
 * is not 0; or NULL. */
static void *
named_get(struct hash *h, const char *name, size_t size)
{
	unsigned hash = hash_text(name, 0);
	struct named *n;
	struct hlink *l;

	for (l = hash_first(h, hash); l != NULL; l = hash_next(l)) {
		n = OWNER(struct named, link, l);
		if (strcmp(n->name, name) == 0)
			return n;
	}
	if (size == 0 || (n = mem_get(size + strlen(name) + 1)) == NULL)
		return NULL;
	n->name = strcpy((char *)n + size, name);
	hash_add(h, &n->link, hash);
	return n;
}

/* ---- delays ----------------------------------------------------------- */

/* late: what the last line on a delay says of the recipients with a channel and
 * host, if it is of the scheduler; or of one recipient. */
struct late {
	struct named id;	/* channel/host; or the offset */
	unsigned long at;	/* of that line */
	unsigned long due;	/* warnings by now */
	int	all;		/* also on recipients without NOTIFY */
};

static struct hash lates;	/* of the message */

/* That of the recipient in rc alone, or of its channel and host; add: made if
 * there is none.  Or NULL. */
static struct late *
late_of(const struct ctl *rc, int alone, int add)
{
	char name[2 * WORD_MAX_];

	if (alone)
		text_fmt(name, sizeof(name), "%lu", report.nt.off);
	else
		text_fmt(name, sizeof(name), "%s/%s", rc->channel, rc->host);
	return named_get(&lates, name, add ? sizeof(struct late) : 0);
}

/* Reads these lines; the last one on a channel and host counts.  0, or -1 with
 * errno. */
static int
read_lates(void)
{
	struct diags *n = &report.nt;
	struct late *late;

	if (report_open_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	while (diag_next(n)) {
		if (n->tag != ' ' || n->due == 0 ||
		    ctl_read_rcpt(&n->rc, n->off) < 0)
			continue;
		late = late_of(&n->rc, 0, 1);
		if (late == NULL ||
		    (late->at != 0 && diag_set_tag(n, late->at, '+') < 0))
			return -1;
		late->at = n->at;
		late->due = n->due;
		late->all = strstr(n->field[3], "all") != NULL;
	}
	return cannot_read(n) ? -1 : 0;
}

static void
forget_lates(void)
{
	struct hlink *l, *next;

	for (l = hash_each(&lates, NULL); l != NULL; l = next) {
		next = hash_each(&lates, l);
		hash_del(&lates, l);
		free(OWNER(struct late, id.link, l));
	}
}

/* Walks to the next recipient with a warning that is due: that, or NULL. */
static const struct late *
next_late(struct diags *n)
{
	const struct late *late;

	while (diag_next_rcpt(n)) {
		n->off = n->c.l.off;
		if (ctl_read_rcpt(&n->rc, n->off) == 0 &&
		    (n->rc.tag == ' ' || n->rc.tag == '~') &&
		    (late = late_of(&n->rc, 0, 0)) != NULL &&
		    n->rc.delays < late->due)
			return late;
	}
	return NULL;
}

/* The warnings are sent: sets the delay fields of those who wanted none, too,
 * and marks the lines.  0, or -1 with errno. */
static int
end_lates(void)
{
	struct diags *n = &report.nt;
	const struct late *late;
	struct hlink *l;

	if (report_open_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	ctl_seek(&n->c, 0);
	while ((late = next_late(n)) != NULL)
		if (diag_set_delays(n, late->due) < 0)
			return -1;
	for (l = NULL; (l = hash_each(&lates, l)) != NULL; )
		if (diag_set_tag(n, OWNER(struct late, id.link, l)->at,
		    '+') < 0)
			return -1;
	return cannot_read(n) ? -1 : 0;
}

/* ---- items of a DSN -------------------------------------------------- */

/* Has the form an address, for messages without a sender? */
static int
form_has_address(void)
{
	char line[FORM_LINE];
	const char *value;
	int found = 0;
	FILE *form;
	size_t n;

	form = report_open_form(&report, "delivery");
	if (form == NULL)
		return 0;
	while (!found && form_next(form, line))
		found = (value = form_value(line, "ADR")) != NULL &&
		    form_address(value, &n) != NULL;
	fclose(form);
	return found;
}

enum found { FOUND_NO, FOUND_YES, FOUND_ERROR };

/* Is there anybody who can get a DSN on the current recipient? */
static enum found
has_reader(struct diags *n, int failed)
{
	const struct origin *g = &report.origin;

	if (origin_find(n, &report.origin, n->off) < 0)
		return FOUND_ERROR;
	if (g->long_sender || (g->sender[0] == '\0' && (!failed ||
	    g->twice || !form_has_address())))
		return FOUND_NO;
	return FOUND_YES;
}

/* What became of the current recipient; *wish is the NOTIFY word without which
 * there is no DSN on that, 0: none is needed. */
static enum action
action_of(const struct diags *n, unsigned *wish)
{
	*wish = NOTIFY_SUCCESS;
	if (n->rc.tag == '-') {
		*wish = n->rc.notify & NOTIFY_GIVEN ? NOTIFY_FAILURE : 0;
		return ACTION_FAILED;
	}
	if (strcmp(n->field[1], "relayed") == 0)
		return ACTION_RELAYED;
	return strcmp(n->field[1], "expanded") == 0 ? ACTION_EXPANDED :
	    ACTION_DELIVERED;
}

/* The last line before the current one on a delay of its recipient, 0: none.
 * The current one may be such a line, too. */
static unsigned long
line_before(struct diags *n)
{
	const struct late *own, *all;
	unsigned long at;
	struct late *late;

	own = lates.n == 0 ? NULL : late_of(&n->rc, 1, 0);
	all = lates.n == 0 ? NULL : late_of(&n->rc, 0, 0);
	at = own == NULL ? 0 : own->at;
	if (all != NULL && all->at > at)
		at = all->at;
	late = strcmp(n->field[1], "delayed") != 0 ? NULL :
	    late_of(&n->rc, n->due == 0, 1);
	if (late != NULL)
		late->at = n->at;
	return at;
}

/* Does the current diagnostic line belong into a DSN?  Fills the item. */
static enum found
find_action(struct diags *n, struct item *it)
{
	unsigned wish;

	if (ctl_read_rcpt(&n->rc, n->off) < 0)
		return FOUND_NO;
	it->why = line_before(n);
	/* '-' is of an older scheduler, which knew what -x does now */
	if ((n->tag != ' ' && n->tag != '-') || n->warning ||
	    (n->rc.tag != '+' && n->rc.tag != '-') ||
	    (n->rc.tag == '-' && is_exempt(&n->rc)))
		return FOUND_NO;
	it->action = action_of(n, &wish);
	it->at = n->at;
	if (origin_find(n, &report.origin, n->off) < 0)
		return FOUND_ERROR;
	/* without a sender the form's addresses get it, who made no list */
	if ((n->rc.notify & wish) != wish && (n->rc.tag == '+' ||
	    report.origin.sender[0] != '\0'))
		return FOUND_NO;
	return has_reader(n, n->rc.tag == '-');
}

/* The same for the current recipient, which is late. */
static enum found
find_delay(struct diags *n, const struct late *late, struct item *it)
{
	it->action = ACTION_DELAYED;
	it->at = late->at;
	it->delays[0] = n->rc.delays;
	it->delays[1] = late->due;
	if (is_exempt(&n->rc) || !(n->rc.notify & NOTIFY_DELAY ||
	    (late->all && !(n->rc.notify & NOTIFY_GIVEN))))
		return FOUND_NO;
	return has_reader(n, 0);
}

static void
begin_walk(void)
{
	ctl_seek(&report.nt.c, 0);
	if (!delays)	/* else they are those of the job */
		forget_lates();
}

/* Walks to the next item: FOUND_NO at the end. */
static enum found
next_item(struct diags *n, struct item *it)
{
	enum found found = FOUND_NO;
	const struct late *late;

	while (found == FOUND_NO)
		if (delays && (late = next_late(n)) != NULL)
			found = find_delay(n, late, it);
		else if (!delays && diag_next(n))
			found = find_action(n, it);
		else
			break;
	it->off = n->off;
	return found;
}

/* Does the recipient fit into the DSN?  The first item sets the sender; the
 * others must have the same one, and within a file the same header.  1 or 0. */
static int
is_like(const struct origin *g, unsigned file)
{
	if (report.n == 0)
		strcpy(report.sender, g->sender);
	else if (strcmp(report.sender, g->sender) != 0)
		return 0;
	if (report.n == 0 || report.items[report.n - 1].file != file)
		report.hdr = g->hdr;
	return report.hdr == g->hdr;
}

/* Adds the items of a file for this sender: 0, or -1 with errno.  A file other
 * than the first that cannot be opened is left for its own job. */
static int
collect(unsigned file, const char *sender)
{
	const struct origin *g = &report.origin;
	struct diags *n = &report.nt;
	struct item it, *more;

	if (report_open_file(&report, file) < 0)
		return file > 0 || errno == ENOENT ? 0 : -1;
	it.file = file;
	begin_walk();
	while (report.n < ITEMS_MOST && next_item(n, &it) == FOUND_YES) {
		if (strcmp(g->sender, sender) != 0 || !is_like(g, file))
			continue;
		if ((more = report_add_item(&report)) == NULL)
			return -1;
		*more = it;
	}
	return cannot_read(n) ? -1 : 0;
}

/* Renumbers the files, without those that have no item. */
static void
close_ranks(void)
{
	unsigned i, used = 0, last = UINT_MAX;

	for (i = 0; i < report.n; i++) {
		if (report.items[i].file != last) {
			last = report.items[i].file;
			files[used++] = names[last];
		}
		report.items[i].file = used - 1;
	}
	report.nfiles = used;
	report_close_file(&report);	/* it may have another number now */
}

/* ---- sending --------------------------------------------------------- */

/* Marks all items as sent, or takes that back, and syncs: 0, or -1 with errno.
 * The mark is the tag of the line; that of a delay the delay field. */
static int
mark(int sent)
{
	struct diags *n = &report.nt;
	const struct item *it;
	unsigned i;

	for (i = 0; i < report.n; i++) {
		it = &report.items[i];
		if (report.at != it->file + 1) {
			if (report.at != 0 && fd_sync(report.nt.c.l.fd) < 0)
				return -1;
			if (report_open_file(&report, it->file) < 0) {
				if (errno != ENOENT)
					return -1;
				continue;	/* it was removed */
			}
		}
		if (delays ? ctl_read_rcpt(&n->rc, it->off) < 0 ||
		    diag_set_delays(n, it->delays[sent]) < 0 :
		    diag_set_tag(n, it->at, '+') < 0)
			return -1;
	}
	return report.at != 0 ? fd_sync(report.nt.c.l.fd) : 0;
}

/* Marks a DSN as sent; tries MARKS times, or it would be sent again. */
static int
mark_sent(void)
{
	int i, bad = -1;

	for (i = 0; i < MARKS && bad; i++) {
		report_close_file(&report);
		bad = mark(1);
	}
	return bad;
}

/* Sends the DSN and marks its items: 0, or -1 with errno.  The first mark is
 * tried before, as a file that takes none would have the DSN sent again and
 * again. */
static int
send_it(void)
{
	struct post post;
	char what[40];
	int bad, err;

	if (report_open_file(&report, 0) < 0 ||
	    diag_set_tag(&report.nt, report.items[0].at, ' ') < 0 ||
	    report_write(&report, &post) < 0)
		return -1;
	bad = delays && mark(1) < 0;
	if (bad)
		post_remove(&post);
	else
		bad = post_send(&post) < 0;
	if (bad) {
		err = errno;
		if (delays)
			mark(0);
		errno = err;
		return -1;
	}
	text_add(&result, "%sto=%s rcpts=%u msgs=%u file=router/%lu",
	    result.len > 0 ? "; " : "", report.sender[0] != '\0' ?
	    report.sender : "<>", report.n, report.nfiles, post.num);
	text_fmt(what, sizeof(what), "router %lu", post.num);
	post_notify(opt.router, what);
	return delays ? 0 : mark_sent();
}

/* Sends a DSN on these messages to the sender: 1, or 0 if it has no item; -1
 * with errno. */
static int
send_dsn(unsigned n, const char *sender)
{
	unsigned i;
	int bad = 0;

	report.n = 0;
	report.nfiles = n;
	for (i = 0; i < n && !bad; i++)
		bad = collect(i, sender) < 0;
	if (bad)
		return -1;
	if (report.n == 0)
		return 0;
	close_ranks();
	qsort(report.items, report.n, sizeof(*report.items), compare);
	return send_it() < 0 ? -1 : 1;
}

/* ---- pauses ---------------------------------------------------------- */

/* A sender who got a DSN on a failure, and the messages that wait for his
 * pause to end. */
struct pause {
	struct named id;	/* the sender */
	double	until;		/* mono; the end of the pause */
	char	(*names)[NAME_MAX_];	/* n of them, room for size */
	unsigned n, size;
};

static struct hash senders;

/* Frees entries whose pause is over. */
static void
drop_old(void)
{
	struct hlink *l, *next;
	struct pause *t;

	for (l = hash_each(&senders, NULL); l != NULL; l = next) {
		next = hash_each(&senders, l);
		t = OWNER(struct pause, id.link, l);
		if (t->until > now.mono)
			continue;
		hash_del(&senders, l);
		free(t->names);
		free(t);
	}
}

/* Begins the pause of a sender; without memory there is none. */
static void
begin_pause(struct pause *t, const char *sender)
{
	if (opt.pause == 0)
		return;
	if (senders.n >= SENDERS_KEPT && t == NULL)
		drop_old();
	if (t == NULL && senders.n < SENDERS_KEPT)
		t = named_get(&senders, sender, sizeof(*t));
	if (t != NULL) {
		t->until = now.mono + (double)opt.pause;
		t->n = 0;
	}
}

/* Seconds that are left of the sender's pause; the message joins it. */
static long
paused(struct pause *t, const char *name)
{
	unsigned i;

	if (t == NULL || t->until <= now.mono)
		return 0;
	for (i = 0; i < t->n && strcmp(t->names[i], name) != 0; )
		i++;
	if (i == t->n && i < FILES_MOST && mem_grow((void **)&t->names, i,
	    &t->size, sizeof(*t->names)) == 0)
		text_fmt(t->names[t->n++], NAME_MAX_, "%s", name);
	return (long)(t->until - now.mono) + 1;
}

/* Takes along the messages of the sender's pause: how many in all. */
static unsigned
gather(const struct pause *t)
{
	unsigned i, n = 1;

	for (i = 0; t != NULL && i < t->n && n < FILES_MOST; i++)
		if (strcmp(t->names[i], names[0]) != 0)
			strcpy(names[n++], t->names[i]);
	for (i = 0; i < n; i++)
		files[i] = names[i];
	return n;
}

/* ---- jobs ------------------------------------------------------------ */

/* Makes items of failed recipients, from the one at *from on: 0 or -1. */
static int
next_failed(unsigned long *from)
{
	struct diags *n = &report.nt;
	struct item *it;

	report.n = 0;
	ctl_seek(&n->c, 0);
	while (report.n < ITEMS_MOST && diag_next_rcpt(n)) {
		if (n->c.l.off < *from || n->c.l.line[1] != '-')
			continue;
		if ((it = report_add_item(&report)) == NULL)
			return -1;
		it->off = n->c.l.off;
		*from = n->c.l.off + 1;
	}
	return cannot_read(n) ? -1 : 0;
}

static int
is_of(const void *key, const void *item)
{
	unsigned long off = *(const unsigned long *)key;
	const struct item *it = item;

	return off < it->off ? -1 : off > it->off;
}

/* Adds missing diagnostic lines of the items: 1, 0 if none, or -1. */
static int
mend_some(const char *name)
{
	struct diags *n = &report.nt;
	struct item *it;
	int mended = 0;
	unsigned i;

	ctl_seek(&n->c, 0);
	while (report.n > 0 && diag_next(n))
		if (!n->warning && (it = bsearch(&n->off, report.items,
		    report.n, sizeof(*it), is_of)) != NULL)
			it->at = n->at;
	if (cannot_read(n))
		return -1;
	for (i = 0; i < report.n; i++) {
		if (report.items[i].at != 0)
			continue;
		if (ctl_append_diag(name, report.items[i].off, "",
		    "5.0.0 (permanent failure)",
		    "why it failed was not written down", 0) < 0)
			return -1;
		mended = 1;
	}
	return mended;
}

/* Adds the diagnostic lines of failed recipients that a crash has lost: 0, or
 * -1 with errno.  Only for a message that has ended, as otherwise an agent may
 * still write them. */
static int
mend(const char *name)
{
	unsigned long from = 0;
	int n, mended = 0;

	if (report_open_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	do {
		n = next_failed(&from);
		if (n == 0)
			n = mend_some(name);
		mended |= n;
	} while (n >= 0 && report.n == ITEMS_MOST);
	if (n >= 0 && mended && ctl_sync(name) < 0)
		n = -1;
	ctl_close_kept();
	return n < 0 ? -1 : 0;
}

/* The answer when all DSNs were sent: "ok"; "error" if nobody could get a DSN
 * on a failure, "error2" if the reason is the missing sender; NULL with errno.
 * */
static const char *
verdict(void)
{
	struct diags *n = &report.nt;
	const char *v = "ok";

	if (report_open_file(&report, 0) < 0)
		return errno == ENOENT ? v : NULL;
	ctl_seek(&n->c, 0);
	while (strcmp(v, "error") != 0 && diag_next_rcpt(n)) {
		if (n->c.l.line[1] != '-')
			continue;
		if (ctl_read_rcpt(&n->rc, n->c.l.off) < 0 || is_exempt(&n->rc))
			v = "error";
		else if (origin_find(n, &report.origin, n->c.l.off) < 0)
			return NULL;
		else if (report.origin.long_sender)
			v = "error";
		else if (report.origin.sender[0] == '\0')
			v = "error2";
	}
	return cannot_read(n) ? NULL : v;
}

/* Searches the first file for an item that may be sent now: 1 and its sender,
 * or 0; -1 with errno.  *wait is the least time until a pause ends, or 0. */
static int
find(char *sender, size_t size, long *wait)
{
	enum found found;
	struct item it;
	long w = 0;

	*wait = 0;
	if (report_open_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	begin_walk();
	while ((found = next_item(&report.nt, &it)) == FOUND_YES && !delays &&
	    (w = paused(named_get(&senders, report.origin.sender, 0),
	    names[0])) != 0)
		if (*wait == 0 || w < *wait)
			*wait = w;
	if (cannot_read(&report.nt))
		return -1;
	if (found == FOUND_YES)
		text_fmt(sender, size, "%s", report.origin.sender);
	return found == FOUND_YES;
}

/* Sends all DSNs on the message: seconds to wait for the rest, 0: none is left;
 * -1 with errno. */
static long
send_all(void)
{
	char sender[WORD_MAX_];
	struct pause *t = NULL;
	int found, sent;
	long wait;

	while ((found = find(sender, sizeof(sender), &wait)) > 0) {
		if (!delays)
			t = named_get(&senders, sender, 0);
		sent = send_dsn(gather(t), sender);
		if (sent < 0)
			return -1;
		if (sent > 0 && !delays)
			begin_pause(t, sender);
		report_close_file(&report);
		files[0] = names[0];
	}
	return found < 0 ? -1 : wait;
}

static void
answer(const char *name, long wait)
{
	const char *sep = result.len > 0 ? "; " : "", *v = "ok";
	char later[850];

	if (wait > 0) {
		text_fmt(later, sizeof(later), "+%ld %s%sits sender gets a "
		    "DSN after the pause", wait, words, sep);
		lib_report_job(name, "retryat", later);
		return;
	}
	if (wait < 0 || (!delays && (v = verdict()) == NULL)) {
		text_add(&result, "%sa DSN cannot be sent now: %s", sep,
		    strerror(errno));
		v = "deferred";
	} else if (*v == 'e') {
		text_add(&result, "%snobody could get a DSN on its failure",
		    sep);
	} else if (result.len == 0) {
		text_add(&result, "no DSN is needed");
	}
	lib_report_job(name, v, words);
}

static void
work(const char *name, const char *host)
{
	long wait;
	int bad;

	clock_read();
	text_init(&result, words, sizeof(words));
	delays = strcmp(host, "delay") == 0;
	text_fmt(names[0], NAME_MAX_, "%s", name);
	files[0] = names[0];
	report.files = files;
	report.nfiles = 1;
	errno = 0;
	bad = delays ? read_lates() < 0 :
	    strcmp(host, "failure") == 0 && mend(name) < 0;
	wait = bad ? -1 : send_all();
	if (wait == 0 && delays && end_lates() < 0)
		wait = -1;
	answer(name, wait);
	forget_lates();
	report_close_file(&report);
}

/* ---- options --------------------------------------------------------- */

static int
usage(void)
{
	fputs("usage: dsn [-V] [-d forms] [-n name] [-p pause] [-r socket] "
	    "[-s bytes] [-x pattern]\n", stderr);
	return X_USAGE;
}

/* Takes a pattern of -x: 0 or -1. */
static int
exempt(const char *pattern)
{
	const char *why = opt.nexempt == EXEMPT_MOST ? "there are too many" :
	    pat_read(pattern, &opt.exempt[opt.nexempt++]);

	if (why != NULL)
		fprintf(stderr, "dsn: -x %s: %s\n", pattern, why);
	return why != NULL ? -1 : 0;
}

int
main(int argc, char **argv)
{
	const char *name = NULL;
	unsigned long most = 65536UL;
	int c, bad = 0;

	report.forms = lib_share("forms");
	while ((c = getopt(argc, argv, "d:n:p:r:s:Vx:")) != -1)
		switch (c) {
		case 'd': report.forms = optarg; break;
		case 'n': name = optarg; break;
		case 'p': bad |= span_parse(optarg, &opt.pause); break;
		case 'r': opt.router = optarg; break;
		case 's': bad |= size_parse(optarg, 999999999UL, &most); break;
		case 'V':
			puts("dsn " VERSION);
			return 0;
		case 'x': bad |= exempt(optarg); break;
		default:
			return usage();
		}
	if (optind < argc || bad || opt.pause > 999999999L ||
	    report.forms[0] != '/')
		return usage();
	report.most = (long)most;
	/* 0, 1 and 2 are the scheduler's; errors are in the answer */
	log_level = L_ERR - 1;
	return report_begin(&report, name, opt.router) < 0 ? X_OSERR :
	    lib_serve(work);
}
