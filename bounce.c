/*
 * bounce.c - delivery status notifications: what is to be told, to whom.
 *
 * What there is to tell is in the control file alone, so a crash forgets none
 * of it.  An ended recipient has a tag and a diagnostic line; the line's own
 * tag, set when its report is on disk in router/, says that it was told.  A
 * crash in between tells it twice.
 *
 *	r+ ... d ...	delivered; told to who asked by NOTIFY=SUCCESS
 *	r- ... d ...	failed; told unless a NOTIFY list lacks FAILURE
 *	r- alone	a crash lost the line: bounce_mend adds one
 *	d  with r' '	a crash lost the tag: it is tried again, not told
 *
 * Warnings of delays are in the delay field of the recipient, which has how
 * many were sent.  A warning is of no use twice, so the field is written when
 * the report is on disk, but before it has its name in router/.
 *
 * A report goes to one sender, for recipients of one message that share its
 * header, or for several messages of his.  One for programs, files and the
 * like goes to the postmaster.  What has no sender, or is a report itself, is
 * told to nobody but the addresses of the form, and kept; so is what has
 * bounce=none in its clause, which is told to nobody at all.  The addresses of
 * the form may fail as well: a report on a report says in its header that it
 * is one, and of that nobody is told.
 *
 * Files are read from front to end, and one report has 10000 recipients at
 * most; the rest is told by the next.  This module never decides when.
 */
#include "scheduler.h"
#include "lib/form.h"
#include "lib/post.h"

#define ITEMS_MOST	10000	/* recipients in a report */
#define ITEMS_KEPT	256	/* room that is kept for the next one */

static struct report report;	/* large, and one at a time */
static char names[BOUNCE_FILES][NAME_MAX_];
static const char *files[BOUNCE_FILES];	/* points to them */
static int unmarked;		/* it was sent, and its items say not so yet */
static int tells;		/* has the form an address? -1: not looked */

/* ---- items ----------------------------------------------------------- */

static void
forget_items(void)
{
	report.n = 0;
	unmarked = 0;
	if (report.size <= ITEMS_KEPT)
		return;
	free(report.items);
	report.items = NULL;
	report.size = 0;
}

/* One more, zeroed: NULL when there is no memory. */
static struct item *
new_item(void)
{
	unsigned size = report.size == 0 ? ITEMS_KEPT : report.size * 2;
	struct item *bigger;

	if (report.n == report.size) {
		bigger = realloc(report.items, size * sizeof(*bigger));
		if (bigger == NULL) {
			log_err("memory report=%u none to be had", size);
			return NULL;
		}
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

/* Has a file turned out to be unreadable? */
static int
cannot_read(const struct notary *n)
{
	int err = nt_error(n);

	if (err != 0)
		log_err("bounce msg=%s cannot be read: %s", n->name,
		    strerror(err));
	return err != 0;
}

/* ---- what is to be told ---------------------------------------------- */

/* Has the form an address that is told of what has no sender? */
static int
form_tells(void)
{
	char line[FORM_LINE];
	const char *value;
	FILE *form;
	size_t n;

	if (tells >= 0)
		return tells;
	tells = 0;
	form = dsn_form("delivery");
	if (form == NULL)
		return 0;
	while (!tells && form_next(form, line))
		tells = (value = form_value(line, "ADR")) != NULL &&
		    form_address(value, &n) != NULL;
	fclose(form);
	return tells;
}

/* The clause of the recipient at hand, NULL when there is no memory. */
static const struct setting *
clause_of(const struct notary *n)
{
	struct conf *c = cf_match(q.config, n->rc.channel, n->rc.host);

	return c == NULL ? NULL : &c->v;
}

enum look { LOOK_NO, LOOK_YES, LOOK_ERROR };

/* May the sender of the recipient at off be told of it? */
static enum look
has_reader(struct notary *n, unsigned long off, int failed)
{
	const struct setting *s = clause_of(n);

	if (s == NULL || nt_origin(n, off) < 0)
		return LOOK_ERROR;
	if (s->bounce == BOUNCE_NONE || n->g.long_sender)
		return LOOK_NO;
	if (n->g.sender[0] == '\0' && (!failed || n->g.twice || !form_tells()))
		return LOOK_NO;
	return LOOK_YES;
}

/* Is the diagnostic line at hand to be told, and as what? */
static enum look
to_tell(struct notary *n, enum deed *deed)
{
	unsigned wish = WISH_SUCCESS;

	if (n->tag != ' ' || nt_rcpt(n, n->off) < 0 ||
	    (n->state != '+' && n->state != '-'))
		return LOOK_NO;
	*deed = DEED_DELIVERED;
	if (n->state == '-') {
		*deed = DEED_FAILED;
		wish = n->wishes & WISH_GIVEN ? WISH_FAILURE : 0;
	} else if (strcmp(n->field[1], "relayed") == 0) {
		*deed = DEED_RELAYED;
	} else if (strcmp(n->field[1], "expanded") == 0) {
		*deed = DEED_EXPANDED;
	}
	if (nt_origin(n, n->off) < 0)
		return LOOK_ERROR;
	/* who looks at reports that fail is not the one who made the list */
	if ((n->wishes & wish) != wish && (n->state == '+' ||
	    n->g.sender[0] != '\0'))
		return LOOK_NO;
	return has_reader(n, n->off, n->state == '-');
}

/* Is a warning due for the recipient at off, and which? */
static enum look
to_warn(struct notary *n, unsigned long off, long age, unsigned long *count)
{
	const struct setting *s;

	if (nt_rcpt(n, off) < 0 || (n->state != ' ' && n->state != '~') ||
	    n->delay_at == 0)
		return LOOK_NO;
	s = clause_of(n);
	if (s == NULL)
		return LOOK_ERROR;
	for (*count = 0; *count < (unsigned long)s->reports.n &&
	    s->reports.at[*count] <= age; )
		++*count;
	if (n->delays >= *count || !(n->wishes & WISH_DELAY ||
	    (s->delayreport && !(n->wishes & WISH_GIVEN))))
		return LOOK_NO;
	return has_reader(n, off, 0);
}

/* ---- reports that were sent ------------------------------------------ */

/* What was told is marked, file by file: 0 or -1. */
static int
mark_items(void)
{
	const struct item *it;
	unsigned i;

	for (i = 0; i < report.n; i++) {
		it = &report.items[i];
		if (report.at != it->file + 1) {
			if (report.at != 0 && fd_sync(report.nt.fd) < 0)
				return -1;
			if (dsn_file(&report, it->file) < 0) {
				if (errno != ENOENT)
					return -1;
				continue;	/* somebody took it away */
			}
		}
		if (nt_mark(&report.nt, it->at) < 0)
			return -1;
	}
	return report.at != 0 ? fd_sync(report.nt.fd) : 0;
}

/* Marks what was told last; before that nothing else is, lest a disk that
 * refuses the mark has it told again and again.  0 or -1. */
static int
settle(void)
{
	int bad;

	if (!unmarked)
		return 0;
	bad = mark_items();
	if (bad)
		log_err("bounce msg=%s cannot be marked as told: %s",
		    files[0], strerror(errno));
	dsn_close(&report);
	if (!bad)
		forget_items();
	return bad;
}

/* Gets ready for these files: 0 or -1. */
static int
begin(const char *const *v, unsigned n)
{
	unsigned i;

	if (settle() < 0)
		return -1;
	for (i = 0; i < n && i < BOUNCE_FILES; i++) {
		text_fmt(names[i], NAME_MAX_, "%s", v[i]);
		files[i] = names[i];
	}
	forget_items();
	report.files = files;
	report.nfiles = i;
	report.why = NULL;
	report.sender[0] = '\0';
	tells = -1;
	return 0;
}

/* The first item of a report says whom it is for; the others must be like it,
 * and have its header if they are of the same file.  1 or 0. */
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

static void
say_told(unsigned long num, const char *what)
{
	log_info("bounce msg=%s to=%s rcpts=%u msgs=%u file=router/%lu %s",
	    files[0], report.sender[0] != '\0' ? report.sender : "<>",
	    report.n, report.nfiles, num, what);
	router_new(num);
}

/* Writes it into public/: 0 or -1. */
static int
write_report(struct post *p)
{
	dsn_close(&report);
	if (dsn_write(&report, p) == 0)
		return 0;
	log_err("bounce msg=%s cannot be written: %s", files[0],
	    strerror(errno));
	forget_items();
	return -1;
}

static int
send_report(struct post *p)
{
	if (post_send(p) == 0)
		return 0;
	log_err("bounce msg=%s cannot be sent: %s", files[0],
	    strerror(errno));
	return -1;
}

/* ---- of what has ended ----------------------------------------------- */

int
bounce_find(const char *name, char *sender, size_t size)
{
	enum look look = LOOK_NO;
	enum deed deed;

	if (begin(&name, 1) < 0)
		return -1;
	if (dsn_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	while (look == LOOK_NO && nt_next_diag(&report.nt))
		look = to_tell(&report.nt, &deed);
	if (look == LOOK_YES)
		text_fmt(sender, size, "%s", report.nt.g.sender);
	if (cannot_read(&report.nt))
		look = LOOK_ERROR;
	dsn_close(&report);
	return look == LOOK_ERROR ? -1 : look == LOOK_YES;
}

/* Takes what is to be told of a file to the sender: 0 or -1. */
static int
collect(unsigned file, const char *sender)
{
	struct notary *n = &report.nt;
	enum look look = LOOK_NO;
	struct item *it;
	enum deed deed;

	if (dsn_file(&report, file) < 0)
		return errno == ENOENT ? 0 : -1;
	while (report.n < ITEMS_MOST && nt_next_diag(n)) {
		look = to_tell(n, &deed);
		if (look == LOOK_ERROR)
			return -1;
		if (look == LOOK_NO || strcmp(n->g.sender, sender) != 0 ||
		    !is_like(&n->g, file))
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
}

int
bounce_tell(const char *const *v, unsigned n, const char *sender)
{
	struct post post;
	unsigned i;

	if (begin(v, n) < 0)
		return -1;
	for (i = 0; i < report.nfiles; i++)
		if (collect(i, sender) < 0) {
			dsn_close(&report);
			forget_items();
			return -1;
		}
	dsn_close(&report);
	if (report.n == 0)
		return 0;
	close_ranks();
	qsort(report.items, report.n, sizeof(*report.items), compare);
	if (write_report(&post) < 0)
		return -1;
	if (send_report(&post) < 0) {
		forget_items();
		return -1;
	}
	say_told(post.num, "of what has ended");
	unmarked = 1;
	return settle() < 0 ? -1 : 1;
}

/* ---- of delays ------------------------------------------------------- */

/* Has the delay fields say that the warnings were sent, or not: 0 or -1. */
static int
note_delays(int sent)
{
	const struct item *it;
	unsigned i;

	if (dsn_file(&report, 0) < 0)
		return -1;
	for (i = 0; i < report.n; i++) {
		it = &report.items[i];
		if (nt_delayed(&report.nt, it->at, sent ? it->count :
		    it->was) < 0)
			return -1;
	}
	return fd_sync(report.nt.fd);
}

static int
collect_delays(long age)
{
	struct notary *n = &report.nt;
	unsigned long off, count;
	enum look look;
	struct item *it;

	while (report.n < ITEMS_MOST && nt_next_rcpt(n)) {
		off = n->c.l.off;
		look = to_warn(n, off, age, &count);
		if (look == LOOK_ERROR)
			return -1;
		if (look == LOOK_NO || !is_like(&n->g, 0))
			continue;
		if ((it = new_item()) == NULL)
			return -1;
		it->deed = DEED_DELAYED;
		it->off = off;
		it->at = n->delay_at;
		it->was = n->delays;
		it->count = count;
	}
	return cannot_read(n) ? -1 : 0;
}

int
bounce_delay(const char *name, long age,
    const char *(*why)(void *, const char *, const char *, unsigned long),
    void *arg)
{
	struct post post;
	int bad;

	if (begin(&name, 1) < 0)
		return -1;
	if (dsn_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	report.why = why;
	report.arg = arg;
	if (collect_delays(age) < 0) {
		dsn_close(&report);
		forget_items();
		return -1;
	}
	if (report.n == 0) {
		dsn_close(&report);
		return 0;
	}
	if (write_report(&post) < 0)
		return -1;
	bad = note_delays(1);
	if (bad)
		log_err("bounce msg=%s its delay cannot be noted: %s", name,
		    strerror(errno));
	if (bad)
		post_drop(&post);
	else
		bad = send_report(&post);
	if (bad)
		note_delays(0);
	else
		say_told(post.num, "of a delay");
	dsn_close(&report);
	forget_items();
	return bad ? -1 : 1;
}

/* ---- before and after ------------------------------------------------ */

/* Takes the next failed recipients, from the one at *from: 0 or -1. */
static int
next_failed(unsigned long *from)
{
	struct notary *n = &report.nt;
	struct item *it;

	forget_items();
	nt_rewind(n);
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

static struct item *
find_item(unsigned long off)
{
	unsigned lo = 0, hi = report.n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (report.items[mid].off < off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < report.n && report.items[lo].off == off ?
	    &report.items[lo] : NULL;
}

/* Adds the lines that these lack: how many, or -1. */
static int
mend_some(const char *name)
{
	struct notary *n = &report.nt;
	struct item *it;
	int mended = 0;
	unsigned i;

	nt_rewind(n);
	while (nt_next_diag(n))
		if ((it = find_item(n->off)) != NULL)
			it->count = 1;
	if (cannot_read(n))
		return -1;
	for (i = 0; i < report.n; i++) {
		if (report.items[i].count > 0)
			continue;
		if (ctl_diag(name, report.items[i].off, "",
		    "5.0.0 (permanent failure)",
		    "why it failed was not written down", 0) < 0)
			return -1;
		mended++;
	}
	return mended;
}

int
bounce_mend(const char *name)
{
	unsigned long from = 0;
	int n, mended = 0;

	if (begin(&name, 1) < 0)
		return -1;
	if (dsn_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	do {
		n = next_failed(&from);
		if (n == 0)
			n = mend_some(name);
		mended |= n;
	} while (n >= 0 && report.n == ITEMS_MOST);
	if (n >= 0 && mended && ctl_sync(name) < 0)
		n = -1;
	dsn_close(&report);
	forget_items();
	return n < 0 ? -1 : 0;
}

int
bounce_keep(const char *name)
{
	struct notary *n = &report.nt;
	const struct setting *s;
	int keep = 0;

	if (begin(&name, 1) < 0)
		return -1;
	if (dsn_file(&report, 0) < 0)
		return errno == ENOENT ? 0 : -1;
	while ((keep == 0 || keep == 2) && nt_next_rcpt(n)) {
		if (n->c.l.line[1] != '-')
			continue;
		s = NULL;
		if (nt_rcpt(n, n->c.l.off) < 0)
			keep = 1;
		else if ((s = clause_of(n)) == NULL ||
		    nt_origin(n, n->c.l.off) < 0)
			keep = -1;
		else if (s->bounce == BOUNCE_NONE || n->g.long_sender)
			keep = 1;
		else if (n->g.sender[0] == '\0')
			keep = 2;
	}
	if (cannot_read(n))
		keep = -1;
	dsn_close(&report);
	return keep;
}
