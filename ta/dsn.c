/*
 * dsn.c - the transport agent that tells senders what became of their mail.
 *
 *	1234-56 <tab> failure	tell what has ended of the message, all of
 *				which has
 *	1234-56 <tab> success	the same, but more of it may be left, or none
 *				of it has failed
 *	1234-56 <tab> delay	tell what is late of it
 *
 *	1234/0 <tab><tab> ok to=anna@a.example rcpts=2 msgs=1 file=router/98
 *
 * What there is to tell is in the control file alone, so a crash forgets none
 * of it.  An ended recipient has a tag and a diagnostic line; the line's own
 * tag is set when its DSN is in router/.  A crash in between tells it twice.
 *
 *	r+ ... d ...	delivered; told to who asked by NOTIFY=SUCCESS
 *	r- ... d ...	failed; told unless a NOTIFY list lacks FAILURE
 *	r- ... d-...	failed; the scheduler wants nobody to be told of him
 *	r- alone	failure: a crash lost the line, and one is added; else
 *			an agent may be about to write it.  A warning of a
 *			delay that came before is no such line
 *	r  ... d ...	delayed, if the line says so and the scheduler has
 *			counted it; else a crash lost the tag, and it is tried
 *			again
 *
 * A warning of a delay is of no use twice, so its line is marked before the DSN
 * has its name in router/.
 *
 * A DSN goes to one sender, for recipients of one message that share its
 * header.  One for programs, files and the like goes to the postmaster.  What
 * has no sender, or is a DSN itself, is told to nobody but the addresses of
 * the form.  Those may fail as well: a DSN on a DSN says in its header that
 * it is one, and of that nobody is told.  What nobody could be told of is
 * answered with "error", or with "error2" where that is since it has no
 * sender; the scheduler keeps such a message.
 *
 * With -p a sender who was told of failures is told of others only when that
 * pause is over, then of up to 100 messages in one DSN: the job of each is
 * answered with a retryat, and the first that comes again tells of all.  This
 * is kept in memory alone; a new agent tells at once.
 *
 * Files are read from front to end, and one DSN has 10000 recipients at most;
 * the rest is told by the next.  When is the scheduler's matter.
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

/* What comes of the job, in words. */
static char words[800];
static struct text said;

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
cannot_read(const struct notary *n)
{
	if (nt_error(n) != 0)
		errno = nt_error(n);
	return nt_error(n) != 0;
}

/* ---- who is not to be told of ---------------------------------------- */

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

/* Opens the file and looks for them: 0, or -1 with errno. */
static int
open_file(unsigned file)
{
	struct notary *n = &report.nt;
	unsigned long *bigger;

	if (report_file(&report, file) < 0)
		return -1;
	ctl_go(&n->c, 0);
	for (quiet.n = 0; nt_next_diag(n); ) {
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

/* ---- what is to be told ---------------------------------------------- */

/* Has the form an address that is told of what has no sender? */
static int
form_tells(void)
{
	char line[FORM_LINE];
	const char *value;
	int tells = 0;
	FILE *form;
	size_t n;

	form = report_form(&report, "delivery");
	if (form == NULL)
		return 0;
	while (!tells && form_next(form, line))
		tells = (value = form_value(line, "ADR")) != NULL &&
		    form_address(value, &n) != NULL;
	fclose(form);
	return tells;
}

enum look { LOOK_NO, LOOK_YES, LOOK_ERROR };

/* May the sender of the recipient at hand be told of it? */
static enum look
has_reader(struct notary *n, int failed)
{
	const struct origin *g = &report.origin;

	if (nt_origin(n, &report.origin, n->off) < 0)
		return LOOK_ERROR;
	if (g->long_sender || (g->sender[0] == '\0' && (!failed ||
	    g->twice || !form_tells())))
		return LOOK_NO;
	return LOOK_YES;
}

/* Is the recipient at hand late, and was that counted? */
static int
is_late(const struct notary *n)
{
	return (n->state == ' ' || n->state == '~') && n->delays > 0 &&
	    strcmp(n->field[1], "delayed") == 0;
}

/* What became of the recipient at hand, and what he must have asked for to be
 * told of. */
static enum deed
deed_of(const struct notary *n, unsigned *wish)
{
	*wish = WISH_SUCCESS;
	if (n->state == '-') {
		*wish = n->wishes & WISH_GIVEN ? WISH_FAILURE : 0;
		return DEED_FAILED;
	}
	if (strcmp(n->field[1], "relayed") == 0)
		return DEED_RELAYED;
	return strcmp(n->field[1], "expanded") == 0 ? DEED_EXPANDED :
	    DEED_DELIVERED;
}

/* Is the diagnostic line at hand to be told, and as what? */
static enum look
to_tell(struct notary *n, enum deed *deed)
{
	unsigned wish;

	if (n->tag != ' ' || nt_rcpt(n, n->off) < 0 || is_quiet(n->off))
		return LOOK_NO;
	if (delays) {
		*deed = DEED_DELAYED;
		return is_late(n) ? has_reader(n, 0) : LOOK_NO;
	}
	if (n->state != '+' && n->state != '-')
		return LOOK_NO;
	*deed = deed_of(n, &wish);
	if (nt_origin(n, &report.origin, n->off) < 0)
		return LOOK_ERROR;
	/* who looks at DSNs that fail is not the one who made the list */
	if ((n->wishes & wish) != wish && (n->state == '+' ||
	    report.origin.sender[0] != '\0'))
		return LOOK_NO;
	return has_reader(n, n->state == '-');
}

/* The first item of a DSN says whom it is for; the others must be like it, and
 * have its header if they are of the same file.  1 or 0. */
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

/* Takes what is to be told of a file to the sender: 0, or -1 with errno.  One
 * of those that joined the first may be told another time. */
static int
collect(unsigned file, const char *sender)
{
	const struct origin *g = &report.origin;
	struct notary *n = &report.nt;
	struct item *it;
	enum look look;
	enum deed deed;

	if (open_file(file) < 0)
		return file > 0 || errno == ENOENT ? 0 : -1;
	while (report.n < ITEMS_MOST && nt_next_diag(n)) {
		look = to_tell(n, &deed);
		if (look == LOOK_ERROR)
			break;
		if (look == LOOK_NO || strcmp(g->sender, sender) != 0 ||
		    !is_like(g, file))
			continue;
		if ((it = new_item()) == NULL)
			return -1;
		it->file = file;
		it->deed = deed;
		it->off = n->off;
		it->at = n->at;
	}
	return cannot_read(n) ? -1 : 0;
}

/* Files of which there is nothing to tell are left out. */
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

/* ---- telling --------------------------------------------------------- */

/* Gives the lines this tag, file by file, on disk: 0, or -1 with errno. */
static int
mark(int tag)
{
	const struct item *it;
	unsigned i;

	for (i = 0; i < report.n; i++) {
		it = &report.items[i];
		if (report.at != it->file + 1) {
			if (report.at != 0 && fd_sync(report.nt.fd) < 0)
				return -1;
			if (report_file(&report, it->file) < 0) {
				if (errno != ENOENT)
					return -1;
				continue;	/* somebody took it away */
			}
		}
		if (nt_mark(&report.nt, it->at, tag) < 0)
			return -1;
	}
	return report.at != 0 ? fd_sync(report.nt.fd) : 0;
}

/* It is sent: a fault that passes must not have it sent again. */
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

/* Sends it and marks what it tells: 0, or -1 with errno.  A file that takes no
 * mark would have it sent again and again: that is tried before. */
static int
send_it(void)
{
	struct post post;
	char what[40];
	int bad, err;

	if (report_file(&report, 0) < 0 ||
	    nt_mark(&report.nt, report.items[0].at, ' ') < 0 ||
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
	text_add(&said, "%sto=%s rcpts=%u msgs=%u file=router/%lu",
	    said.len > 0 ? "; " : "", report.sender[0] != '\0' ?
	    report.sender : "<>", report.n, report.nfiles, post.num);
	text_fmt(what, sizeof(what), "router %lu", post.num);
	post_new(opt.router, what);
	return delays ? 0 : mark_sent();
}

/* Tells the sender of these messages: 1, or 0 if there was nothing; -1 with
 * errno. */
static int
tell(unsigned n, const char *sender)
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

/* A sender who was told of failures, and the messages of which he waits to
 * hear. */
struct told {
	struct hlink link;	/* by sender */
	double	until;		/* mono; he is told nothing before */
	char	(*names)[NAME_MAX_];	/* n of them, room for size */
	unsigned n, size;
	char	sender[1];
};

static struct hash senders;

static struct told *
find_told(const char *sender)
{
	struct hlink *l;
	struct told *t;

	if (senders.n == 0)
		return NULL;
	for (l = hash_first(&senders, hash_text(sender, 0)); l != NULL;
	    l = hash_next(l)) {
		t = OWNER(struct told, link, l);
		if (strcmp(t->sender, sender) == 0)
			return t;
	}
	return NULL;
}

/* Those whose time is over. */
static void
drop_old(void)
{
	struct hlink *l, *next;
	struct told *t;
	unsigned i;

	for (i = 0; i < senders.size; i++)
		for (l = senders.v[i]; l != NULL; l = next) {
			next = l->next;
			t = OWNER(struct told, link, l);
			if (t->until > now.mono)
				continue;
			hash_del(&senders, l);
			free(t->names);
			free(t);
		}
}

/* The sender has been told.  Without memory he has no pause. */
static void
begin_pause(struct told *t, const char *sender)
{
	if (opt.pause == 0)
		return;
	if (senders.n >= SENDERS_KEPT && t == NULL)
		drop_old();
	if (t == NULL && senders.n < SENDERS_KEPT && (senders.v != NULL ||
	    hash_init(&senders, 64) == 0) &&
	    (t = mem_get(sizeof(*t) + strlen(sender))) != NULL) {
		strcpy(t->sender, sender);
		hash_add(&senders, &t->link, hash_text(sender, 0));
	}
	if (t != NULL) {
		t->until = now.mono + (double)opt.pause;
		t->n = 0;
	}
}

/* Seconds for which the sender of the message has to wait; 0: none. */
static long
paused(struct told *t, const char *name)
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

/* The messages that are to be told with the first: how many in all. */
static unsigned
gather(const struct told *t)
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

/* Takes the next failed recipients, from the one at *from: 0, or -1. */
static int
next_failed(unsigned long *from)
{
	struct notary *n = &report.nt;
	struct item *it;

	report.n = 0;
	ctl_go(&n->c, 0);
	while (report.n < ITEMS_MOST && nt_next_rcpt(n)) {
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

/* Adds the lines that these lack: how many, or -1. */
static int
mend_some(const char *name)
{
	struct notary *n = &report.nt;
	struct item *it;
	int mended = 0;
	unsigned i;

	ctl_go(&n->c, 0);
	while (report.n > 0 && nt_next_diag(n))
		if (!nt_is_warning(n) && (it = bsearch(&n->off, report.items,
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

/* Adds diagnostic lines where a crash left a failed recipient without: 0, or
 * -1 with errno.  The message is over, or an agent may still write one. */
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

/* What is said of a message whose senders have all been told: error where
 * nobody could be told of a failure, error2 where that is since it has no
 * sender.  NULL with errno. */
static const char *
verdict(void)
{
	struct notary *n = &report.nt;
	const char *v = "ok";

	if (open_file(0) < 0)
		return errno == ENOENT ? v : NULL;
	while (strcmp(v, "error") != 0 && nt_next_rcpt(n)) {
		if (n->c.l.line[1] != '-')
			continue;
		if (is_quiet(n->c.l.off) || nt_rcpt(n, n->c.l.off) < 0)
			v = "error";
		else if (nt_origin(n, &report.origin, n->c.l.off) < 0)
			return NULL;
		else if (report.origin.long_sender)
			v = "error";
		else if (report.origin.sender[0] == '\0')
			v = "error2";
	}
	return cannot_read(n) ? NULL : v;
}

/* Is there something in the first file to be told now?  1 and to whom, or 0;
 * -1 with errno.  *wait is the least time that a sender has to wait, or 0. */
static int
find(char *sender, size_t size, long *wait)
{
	enum look look = LOOK_NO;
	enum deed deed;
	long w;

	*wait = 0;
	if (open_file(0) < 0)
		return errno == ENOENT ? 0 : -1;
	while (look == LOOK_NO && nt_next_diag(&report.nt)) {
		look = to_tell(&report.nt, &deed);
		if (look != LOOK_YES || delays || (w = paused(find_told(
		    report.origin.sender), names[0])) == 0)
			continue;
		if (*wait == 0 || w < *wait)
			*wait = w;
		look = LOOK_NO;
	}
	if (cannot_read(&report.nt))
		return -1;
	if (look == LOOK_YES)
		text_fmt(sender, size, "%s", report.origin.sender);
	return look == LOOK_YES;
}

/* Tells all that there is of the message: seconds to wait before the rest, 0:
 * none is left; -1 with errno. */
static long
tell_all(void)
{
	char sender[WORD_MAX_];
	struct told *t = NULL;
	int found, told;
	long wait;

	while ((found = find(sender, sizeof(sender), &wait)) > 0) {
		if (!delays)
			t = find_told(sender);
		told = tell(gather(t), sender);
		if (told < 0)
			return -1;
		if (told > 0 && !delays)
			begin_pause(t, sender);
		report_close(&report);
		files[0] = names[0];
	}
	return found < 0 ? -1 : wait;
}

static void
answer(const char *name, long wait)
{
	const char *sep = said.len > 0 ? "; " : "", *v = "ok";
	char later[850];

	if (wait > 0) {
		text_fmt(later, sizeof(later), "+%ld %s%sits sender is told "
		    "when the pause is over", wait, words, sep);
		lib_answer(name, "retryat", later);
		return;
	}
	if (wait < 0 || (!delays && (v = verdict()) == NULL)) {
		text_add(&said, "%sit cannot be told now: %s", sep,
		    strerror(errno));
		v = "deferred";
	} else if (*v == 'e') {
		text_add(&said, "%snobody could be told that it failed", sep);
	} else if (said.len == 0) {
		text_add(&said, "there is nothing to tell");
	}
	lib_answer(name, v, words);
}

static void
work(const char *name, const char *host)
{
	int over;

	clock_read();
	text_init(&said, words, sizeof(words));
	delays = strcmp(host, "delay") == 0;
	text_fmt(names[0], NAME_MAX_, "%s", name);
	files[0] = names[0];
	report.files = files;
	report.nfiles = 1;
	errno = 0;
	over = strcmp(host, "failure") == 0;
	answer(name, over && mend(name) < 0 ? -1 : tell_all());
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
	const char *end;

	if (num_upto(s, 999999999UL, &u, &end) < 0 || *end != '\0')
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
	/* 0, 1 and 2 are the scheduler's: what goes wrong is in the answer */
	log_level = L_ERR - 1;
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid());
	umask(022);
	return dsn_confine(report.forms, opt.router) < 0 ? X_OSERR :
	    lib_serve(work);
}
