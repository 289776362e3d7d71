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
 *	r- ... d ...	failed; a DSN unless a NOTIFY list lacks FAILURE
 *	r- ... d-...	failed; no DSN, by the scheduler's order
 *	r- alone	in a job "failure" a crash lost the line, and one is
 *			added; in other jobs an agent may be about to write it.
 *			A warning from before does not count as such a line
 *	r  ... d ...	delayed, if the line says so and the delay field counts
 *			it; else a crash lost the count, and the scheduler asks
 *			for the warning again
 *
 * A warning is of no use twice, so its line is marked before the DSN gets its
 * name in router/.
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

#define ITEMS_MOST	10000	/* recipients in a DSN */
#define FILES_MOST	100	/* messages in one */
#define MARKS		3	/* tries to mark what was sent */
#define SENDERS_KEPT	1000	/* senders that a pause is kept for */

#ifndef MAILSHARE
#define MAILSHARE "/usr/local/share/mail"
#endif

static struct {
	const char *router;	/* its socket, "": none */
	long	pause;		/* seconds, 0: none */
} opt = { "", 0 };

static struct report report;	/* large, and one at a time */
static char names[FILES_MOST][NAME_MAX_];
static const char *files[FILES_MOST];	/* points to them */
static int delays;		/* the job is for delays */

/* The answer to the job. */
static char words[800];
static struct text result;

/* ---- items ----------------------------------------------------------- */

/* One more, zeroed: NULL when there is no memory. */
static struct item *
new_item(void)
{
	unsigned size = report.size == 0 ? 256 : report.size * 2;
	struct item *bigger;

	if (report.n == report.size) {
		bigger = realloc(report.items, size * sizeof(*bigger));
		if (bigger == NULL)
			return NULL;
		report.items = bigger;
		report.size = size;
	}
	memset(&report.items[report.n], 0, sizeof(*report.items));
	return &report.items[report.n++];
}

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

/* ---- recipients without DSNs ----------------------------------------- */

/* Recipients of a file that have a line with the tag '-', sorted. */
static struct {
	unsigned long *v;
	unsigned n, size;
} quiet;

static int
by_offset(const void *x, const void *y)
{
	unsigned long a = *(const unsigned long *)x;
	unsigned long b = *(const unsigned long *)y;

	return a < b ? -1 : a > b;
}

/* Opens the file and reads which these are: 0, or -1 with errno. */
static int
open_file(unsigned file)
{
	struct diags *n = &report.nt;
	unsigned long *bigger;

	if (report_file(&report, file) < 0)
		return -1;
	ctl_go(&n->c, 0);
	for (quiet.n = 0; diag_next(n); ) {
		if (n->tag != '-')
			continue;
		if (quiet.n == quiet.size) {
			quiet.size += 256;
			bigger = realloc(quiet.v, quiet.size *
			    sizeof(*bigger));
			if (bigger == NULL) {
				quiet.size -= 256;
				return -1;
			}
			quiet.v = bigger;
		}
		quiet.v[quiet.n++] = n->off;
	}
	if (cannot_read(n))
		return -1;
	if (quiet.n > 0)
		qsort(quiet.v, quiet.n, sizeof(*quiet.v), by_offset);
	ctl_go(&n->c, 0);
	return 0;
}

static int
is_quiet(unsigned long off)
{
	return quiet.n > 0 && bsearch(&off, quiet.v, quiet.n,
	    sizeof(*quiet.v), by_offset) != NULL;
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

	form = report_form(&report, "delivery");
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

/* Is the current recipient delayed, and is the warning counted? */
static int
is_late(const struct diags *n)
{
	return (n->rc.tag == ' ' || n->rc.tag == '~') && n->rc.delays > 0 &&
	    strcmp(n->field[1], "delayed") == 0;
}

/* What became of the current recipient; *wish is the NOTIFY word without which
 * there is no DSN on that, 0: none is needed. */
static enum action
action_of(const struct diags *n, unsigned *wish)
{
	*wish = WISH_SUCCESS;
	if (n->rc.tag == '-') {
		*wish = n->rc.wishes & WISH_GIVEN ? WISH_FAILURE : 0;
		return ACTION_FAILED;
	}
	if (strcmp(n->field[1], "relayed") == 0)
		return ACTION_RELAYED;
	return strcmp(n->field[1], "expanded") == 0 ? ACTION_EXPANDED :
	    ACTION_DELIVERED;
}

/* Does the current diagnostic line belong into a DSN, and as what? */
static enum found
find_action(struct diags *n, enum action *action)
{
	unsigned wish;

	if (n->tag != ' ' || ctl_rcpt(&n->rc, n->off) < 0 || is_quiet(n->off))
		return FOUND_NO;
	if (delays) {
		*action = ACTION_DELAYED;
		return is_late(n) ? has_reader(n, 0) : FOUND_NO;
	}
	if (n->rc.tag != '+' && n->rc.tag != '-')
		return FOUND_NO;
	*action = action_of(n, &wish);
	if (origin_find(n, &report.origin, n->off) < 0)
		return FOUND_ERROR;
	/* without a sender the form's addresses get it, who made no list */
	if ((n->rc.wishes & wish) != wish && (n->rc.tag == '+' ||
	    report.origin.sender[0] != '\0'))
		return FOUND_NO;
	return has_reader(n, n->rc.tag == '-');
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
	struct item *it;
	enum found found;
	enum action action;

	if (open_file(file) < 0)
		return file > 0 || errno == ENOENT ? 0 : -1;
	while (report.n < ITEMS_MOST && diag_next(n)) {
		found = find_action(n, &action);
		if (found == FOUND_ERROR)
			break;
		if (found == FOUND_NO || strcmp(g->sender, sender) != 0 ||
		    !is_like(g, file))
			continue;
		if ((it = new_item()) == NULL)
			return -1;
		it->file = file;
		it->action = action;
		it->off = n->off;
		it->at = n->at;
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
	report_close(&report);	/* it may have another number now */
}

/* ---- sending --------------------------------------------------------- */

/* Sets the tag of all items' lines and syncs: 0, or -1 with errno. */
static int
mark(int tag)
{
	const struct item *it;
	unsigned i;

	for (i = 0; i < report.n; i++) {
		it = &report.items[i];
		if (report.at != it->file + 1) {
			if (report.at != 0 && fd_sync(report.nt.c.l.fd) < 0)
				return -1;
			if (report_file(&report, it->file) < 0) {
				if (errno != ENOENT)
					return -1;
				continue;	/* it was removed */
			}
		}
		if (diag_mark(&report.nt, it->at, tag) < 0)
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
		report_close(&report);
		bad = mark('+');
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

	if (report_file(&report, 0) < 0 ||
	    diag_mark(&report.nt, report.items[0].at, ' ') < 0 ||
	    report_write(&report, &post) < 0)
		return -1;
	bad = delays && mark('+') < 0;
	if (bad)
		post_drop(&post);
	else
		bad = post_send(&post) < 0;
	if (bad) {
		err = errno;
		if (delays)
			mark(' ');
		errno = err;
		return -1;
	}
	text_add(&result, "%sto=%s rcpts=%u msgs=%u file=router/%lu",
	    result.len > 0 ? "; " : "", report.sender[0] != '\0' ?
	    report.sender : "<>", report.n, report.nfiles, post.num);
	text_fmt(what, sizeof(what), "router %lu", post.num);
	post_new(opt.router, what);
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
	struct hlink link;	/* by sender */
	double	until;		/* mono; the end of the pause */
	char	(*names)[NAME_MAX_];	/* n of them, room for size */
	unsigned n, size;
	char	sender[1];
};

static struct hash senders;

static struct pause *
find_pause(const char *sender)
{
	struct hlink *l;
	struct pause *t;

	for (l = hash_first(&senders, hash_text(sender, 0)); l != NULL;
	    l = hash_next(l)) {
		t = OWNER(struct pause, link, l);
		if (strcmp(t->sender, sender) == 0)
			return t;
	}
	return NULL;
}

/* Frees entries whose pause is over. */
static void
drop_old(void)
{
	struct hlink *l, *next;
	struct pause *t;

	for (l = hash_each(&senders, NULL); l != NULL; l = next) {
		next = hash_each(&senders, l);
		t = OWNER(struct pause, link, l);
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
	if (t == NULL && senders.n < SENDERS_KEPT &&
	    (t = mem_get(sizeof(*t) + strlen(sender))) != NULL) {
		strcpy(t->sender, sender);
		hash_add(&senders, &t->link, hash_text(sender, 0));
	}
	if (t != NULL) {
		t->until = now.mono + (double)opt.pause;
		t->n = 0;
	}
}

/* Seconds that are left of the sender's pause; the message joins it. */
static long
paused(struct pause *t, const char *name)
{
	char (*bigger)[NAME_MAX_];
	unsigned i;

	if (t == NULL || t->until <= now.mono)
		return 0;
	for (i = 0; i < t->n && strcmp(t->names[i], name) != 0; )
		i++;
	if (i == t->n && i == t->size && i < FILES_MOST) {
		bigger = realloc(t->names, (i + 10) * sizeof(*bigger));
		if (bigger != NULL) {
			t->names = bigger;
			t->size += 10;
		}
	}
	if (i == t->n && i < t->size)
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
	ctl_go(&n->c, 0);
	while (report.n < ITEMS_MOST && diag_next_rcpt(n)) {
		if (n->c.l.off < *from || n->c.l.line[1] != '-')
			continue;
		if ((it = new_item()) == NULL)
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

	ctl_go(&n->c, 0);
	while (report.n > 0 && diag_next(n))
		if (!n->warning && (it = bsearch(&n->off, report.items,
		    report.n, sizeof(*it), is_of)) != NULL)
			it->at = n->at;
	if (cannot_read(n))
		return -1;
	for (i = 0; i < report.n; i++) {
		if (report.items[i].at != 0)
			continue;
		if (ctl_diag(name, report.items[i].off, ' ', "",
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

	if (report_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	do {
		n = next_failed(&from);
		if (n == 0)
			n = mend_some(name);
		mended |= n;
	} while (n >= 0 && report.n == ITEMS_MOST);
	if (n >= 0 && mended && ctl_sync(name) < 0)
		n = -1;
	ctl_forget();
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

	if (open_file(0) < 0)
		return errno == ENOENT ? v : NULL;
	while (strcmp(v, "error") != 0 && diag_next_rcpt(n)) {
		if (n->c.l.line[1] != '-')
			continue;
		if (is_quiet(n->c.l.off) || ctl_rcpt(&n->rc, n->c.l.off) < 0)
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
	enum found found = FOUND_NO;
	enum action action;
	long w;

	*wait = 0;
	if (open_file(0) < 0)
		return errno == ENOENT ? 0 : -1;
	while (found == FOUND_NO && diag_next(&report.nt)) {
		found = find_action(&report.nt, &action);
		if (found != FOUND_YES || delays || (w = paused(find_pause(
		    report.origin.sender), names[0])) == 0)
			continue;
		if (*wait == 0 || w < *wait)
			*wait = w;
		found = FOUND_NO;
	}
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
			t = find_pause(sender);
		sent = send_dsn(gather(t), sender);
		if (sent < 0)
			return -1;
		if (sent > 0 && !delays)
			begin_pause(t, sender);
		report_close(&report);
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
		lib_answer(name, "retryat", later);
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
	lib_answer(name, v, words);
}

static void
work(const char *name, const char *host)
{
	int over;

	clock_read();
	text_init(&result, words, sizeof(words));
	delays = strcmp(host, "delay") == 0;
	text_fmt(names[0], NAME_MAX_, "%s", name);
	files[0] = names[0];
	report.files = files;
	report.nfiles = 1;
	errno = 0;
	over = strcmp(host, "failure") == 0;
	answer(name, over && mend(name) < 0 ? -1 : send_all());
	report_close(&report);
}

/* ---- options --------------------------------------------------------- */

static int
usage(void)
{
	fputs("usage: dsn [-V] [-d forms] [-n name] [-p pause] [-r socket] "
	    "[-s bytes]\n", stderr);
	return X_USAGE;
}

static int
number(const char *s, long *n)
{
	unsigned long u;

	if (num_upto(s, 999999999UL, &u, NULL) < 0)
		return -1;
	*n = (long)u;
	return 0;
}

int
main(int argc, char **argv)
{
	const char *name = NULL;
	int c, bad = 0;

	report.forms = MAILSHARE "/forms";
	report.most = 65536L;
	while ((c = getopt(argc, argv, "d:n:p:r:s:V")) != -1)
		switch (c) {
		case 'd': report.forms = optarg; break;
		case 'n': name = optarg; break;
		case 'p': bad |= number(optarg, &opt.pause); break;
		case 'r': opt.router = optarg; break;
		case 's': bad |= number(optarg, &report.most); break;
		case 'V':
			puts("dsn " VERSION);
			return 0;
		default:
			return usage();
		}
	if (optind < argc || bad || report.forms[0] != '/')
		return usage();
	report.name = dsn_name(name);
	/* 0, 1 and 2 are the scheduler's; errors are in the answer */
	log_level = L_ERR - 1;
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid());
	umask(022);
	return dsn_confine(report.forms, opt.router) < 0 ? X_OSERR :
	    lib_serve(work);
}
