/*
 * report.c - writes the text of a DSN, recipient by recipient.
 *
 *	anna sent 101-1 and 102-1; u1 and u2 of the first failed, and u3 of
 *	the second:
 *		files = { "101-1", "102-1" }
 *		items = { 0, u1 }, { 0, u2 }, { 1, u3 }
 *
 * lib/dsn.c writes the frame.  This module writes the text for people, the part
 * for programs, and the returned message.  The body is returned only if a
 * recipient failed, the sender did not ask for the header alone, and it is not
 * too long; otherwise the text says why not.  A DSN on several messages returns
 * none.
 *
 * The postmaster can write the text: the forms delivery and delay (lib/form.c).
 *
 * The agent's dsn.c decides which items a DSN has.  The text is written piece
 * by piece from the control files, and nothing of it is kept.
 */
#include "report.h"
#include "lib.h"
#include "../lib/ctlfile.h"
#include <ctype.h>

#define HEAD_MOST	65536L	/* bytes of a header that are returned */
#define VALUE_MOST	4000	/* bytes of a value */

static const struct {
	const char *word;	/* RFC 3464 */
	const char *label;	/* in the subject */
	const char *text;
} actions[] = {
	{ "failed", "FAILED",
	    "It could not be delivered, without a further attempt, to" },
	{ "delayed", "DELAYED", "It is delayed; there will be further "
	    "attempts, to" },
	{ "relayed", "RELAYED-OK",
	    "It was passed to a system that sends no such notices, for" },
	{ "delivered", "DELIVERED-OK", "It was delivered to" },
	{ "expanded", "EXPANDED-OK",
	    "It was delivered, and passed on to others, to" }
};

/* ---- the records ----------------------------------------------------- */

void
report_close(struct report *r)
{
	if (r->at != 0)
		ctl_close(&r->nt.c);
	r->at = 0;
}

int
report_file(struct report *r, unsigned file)
{
	if (r->at == file + 1)
		return 0;
	report_close(r);
	if (diag_open(&r->nt, r->files[file]) < 0)
		return -1;
	r->at = file + 1;
	origin_start(&r->nt, &r->origin);
	if (origin_head(&r->nt, &r->head) == 0)
		return 0;
	report_close(r);
	return -1;
}

/* A later line on the same recipient takes the place of an earlier one. */
static int
is_stale(const struct report *r, unsigned i)
{
	return i + 1 < r->n && r->items[i].file == r->items[i + 1].file &&
	    r->items[i].off == r->items[i + 1].off;
}

/* The reason in the text: behind the mark, or all of it. */
static const char *
reason_in(const char *s)
{
	const char *p = strstr(s, REASON_MARK);

	if (p == NULL)
		return s;
	p += sizeof(REASON_MARK) - 1;
	return p + strspn(p, "\r ");
}

/* The last reason in the text of a recipient that has expired or that an
 * operator has bounced, in our words or ZMailer's; NULL for other texts. */
static const char *
expired_by(const struct report *r, const struct item *it)
{
	const char *s = r->text + strspn(r->text, "\r"), *p;

	if (it->action != ACTION_FAILED ||
	    (strncmp(s, "expired after ", 14) != 0 &&
	    strncmp(s, "ended by the postmaster after ", 30) != 0))
		return NULL;
	p = reason_in(s);
	return p == s ? "" : p;
}

/* Reads the diagnostic line at this offset: 0 or -1. */
static int
read_line(struct report *r, unsigned long at)
{
	ctl_go(&r->nt.c, at);
	return diag_next(&r->nt) && r->nt.at == at ? 0 : -1;
}

/* Reads the item again, its recipient and its line: 0 or -1.  A recipient that
 * expired without a reason gets that of the line before. */
static int
recall(struct report *r, const struct item *it)
{
	char why[REASON_ALL / 2] = "";
	const char *s;
	long when = 0;

	if (report_file(r, it->file) < 0 || ctl_rcpt(&r->nt.rc, it->off) < 0)
		return -1;
	if (it->why != 0 && read_line(r, it->why) == 0) {
		s = diag_reason(&r->nt, it->off);
		text_fmt(why, sizeof(why), "%s", reason_in(s));
		when = r->nt.when;
	}
	if (read_line(r, it->at) < 0)
		return -1;
	r->text = diag_reason(&r->nt, it->off);
	s = expired_by(r, it);
	if (*why == '\0' || s == NULL || *s != '\0')
		return 0;
	text_fmt(r->full, sizeof(r->full), "%.*s, " REASON_MARK "\r%s",
	    (int)strcspn(r->text, ";"), r->text, why);
	r->text = r->full;
	if (r->nt.when == 0)
		r->nt.when = when;
	return 0;
}

/* ---- the message that it is about ------------------------------------ */

/* Copies the header from the current place, most bytes at most: 0 or -1. */
static int
copy_head(struct dsn_copy *c, const struct report *r)
{
	char buf[4096];
	long n, i;
	int bol = 1;

	if (r->hdr < 0)
		return 0;
	if (lseek(r->nt.c.l.fd, (off_t)r->hdr, SEEK_SET) < 0)
		return -1;
	while ((n = (long)read(r->nt.c.l.fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++) {
			if ((bol && buf[i] == '\n') || c->size == c->most)
				return 0;
			bol = buf[i] == '\n';
			dsn_byte(c, (unsigned char)buf[i]);
		}
	return n < 0 ? -1 : 0;
}

static int
copy_body(struct dsn_copy *c, const struct report *r)
{
	char path[PATH_MAX_], buf[8192];
	struct stat st;
	long n = -1, i;
	int fd;

	text_fmt(path, sizeof(path), "../queue/%s", r->nt.c.name);
	fd = fd_plain(path, O_RDONLY, &st);
	if (fd < 0)
		return -1;
	if (lseek(fd, (off_t)r->head.body, SEEK_SET) >= 0)
		while ((n = (long)read(fd, buf, sizeof(buf))) > 0 &&
		    c->size <= c->most)
			for (i = 0; i < n; i++)
				dsn_byte(c, (unsigned char)buf[i]);
	close(fd);
	return n < 0 ? -1 : 0;
}

/* ---- before anything is written -------------------------------------- */

/* draft: what has to be known of a report first. */
struct draft {
	struct dsn d;
	long	head;		/* bytes of the header that are returned */
	int	cut;		/* ... and it had more */
	int	fold;		/* ... with lines that are too long */
	const char *less;	/* why the body is not returned; NULL: it is */
	long	arrived;	/* wall, 0: not known */
	unsigned long count[ACTIONS];
};

/* Looks at all that is copied: 1 when it has the boundary, 0, or -1. */
static int
measure(struct draft *d, const struct report *r)
{
	struct dsn_copy head, form, body;

	dsn_copy(&form, d->d.boundary, NULL, LONG_MAX);
	if (d->d.form != NULL)
		dsn_form(&form, d->d.form);
	d->d.text_eight |= form.eight;
	dsn_copy(&head, d->d.boundary, NULL, HEAD_MOST);
	dsn_copy(&body, d->d.boundary, NULL, r->most);
	if (r->nfiles > 1)
		return form.found;
	if (copy_head(&head, r) < 0)
		return -1;
	d->cut = head.size == HEAD_MOST;
	d->head = d->cut && head.whole > 0 ? head.whole : head.size;
	d->fold = head.wide;
	body.size = head.size;
	if (d->cut)
		d->less = "it is too long";
	if (d->less == NULL && copy_body(&body, r) < 0)
		d->less = "its file is gone";
	if (d->less == NULL && body.size > body.most)
		d->less = "it is too long";
	if (d->less == NULL && (head.awkward || body.awkward))
		d->less = "it is not text";
	if (d->less == NULL && (head.wide || body.wide))
		d->less = "its lines are too long";
	d->d.eight = head.eight || (d->less == NULL && body.eight);
	return form.found || head.found || body.found;
}

/* Chooses a boundary that occurs in nothing that is copied: 0 or -1. */
static int
choose_boundary(struct draft *d, const struct report *r)
{
	int found;

	do
		dsn_boundary(&d->d, name_num(r->files[0]));
	while ((found = measure(d, r)) > 0);
	return found;
}

/* Counts, and finds text that is not ASCII: 0, or -1. */
static int
survey(struct draft *d, struct report *r)
{
	struct stat st;
	char path[PATH_MAX_];
	unsigned i;

	for (i = 0; i < r->n; i++) {
		if (is_stale(r, i))
			continue;
		if (recall(r, &r->items[i]) < 0)
			return -1;
		d->count[r->items[i].action]++;
		d->d.text_eight |= dsn_has_utf8(r->text) ||
		    dsn_has_utf8(r->nt.rc.user);
	}
	for (i = 0; i < r->nfiles; i++) {
		if (report_file(r, i) < 0)
			return -1;
		d->d.text_eight |= dsn_has_utf8(r->head.id);
	}
	d->d.text_eight |= dsn_has_utf8(r->sender);
	if (report_file(r, 0) < 0)
		return -1;
	if (r->head.hdrs || d->count[ACTION_FAILED] == 0)
		d->less = "";	/* nobody asked for it */
	text_fmt(path, sizeof(path), "../queue/%s", r->files[0]);
	if (stat(path, &st) == 0 && (long)st.st_mtime >= SANE_WALL &&
	    *dsn_date((long)st.st_mtime) != '\0')
		d->arrived = (long)st.st_mtime;
	return 0;
}

/* ---- the header ------------------------------------------------------ */

/* " [FAILED(2),DELIVERED-OK(1)]" */
static void
count_actions(const struct draft *d, char *counts, size_t size)
{
	struct text t;
	int i, n = 0;

	text_init(&t, counts, size);
	for (i = 0; i < ACTIONS; i++)
		if (d->count[i] > 0)
			text_add(&t, "%s%s(%lu)", n++ > 0 ? "," : " [",
			    actions[i].label, d->count[i]);
	text_add(&t, "]");
}

static void
put_head(struct draft *d, const struct report *r)
{
	char counts[300];

	dsn_envelope(&d->d, r->sender);
	count_actions(d, counts, sizeof(counts));
	dsn_header(&d->d, r->sender, r->sender[0] == '\0' ?
	    "Undeliverable notice" : d->count[ACTION_FAILED] > 0 ?
	    "Undeliverable mail" : d->count[ACTION_DELAYED] > 0 ?
	    "Delayed mail" : "Delivered mail", counts,
	    r->sender[0] == '\0' ? DOUBLE_FIELD ": yes\n" : "");
}

/* ---- for people ------------------------------------------------------ */

/* What became of the recipients of a file, kind by kind: 0 or -1. */
static int
put_list(FILE *f, struct report *r, unsigned file)
{
	unsigned i, n;
	int action;

	for (action = 0; action < ACTIONS; action++)
		for (i = n = 0; i < r->n; i++) {
			const struct item *it = &r->items[i];

			if (it->file != file || (int)it->action != action ||
			    is_stale(r, i))
				continue;
			if (recall(r, it) < 0)
				return -1;
			if (n++ == 0)
				fprintf(f, "\n%s:\n", actions[action].text);
			putc('\n', f);
			dsn_text(f, r->nt.rc.user, "  ");
			dsn_text(f, r->text, "      ");
		}
	return 0;
}

static void
put_which(FILE *f, const struct report *r, long arrived)
{
	if (r->head.id[0] != '\0')
		dsn_text(f, r->head.id, "  ");
	if (arrived != 0)
		fprintf(f, "  which arrived here on %s\n", dsn_date(arrived));
}

static void
put_rest(FILE *f, const struct draft *d, const struct report *r)
{
	if (r->nfiles > 1) {
		fputs("\nThis is one notice on several messages; they are not "
		    "returned.\n", f);
		return;
	}
	fprintf(f, "\nA part for programs follows, then %s.\n",
	    d->less == NULL ? "the message" : "its header");
	if (d->less != NULL && *d->less != '\0')
		fprintf(f, "The message itself is not returned, since %s.\n",
		    d->less);
	if (d->cut)
		fputs("Of its header, only the beginning is returned.\n", f);
	if (d->fold)
		fputs("Long lines of its header were folded.\n", f);
}

static int
put_people(struct draft *d, struct report *r)
{
	FILE *f = d->d.post.f;
	unsigned file;

	dsn_people(&d->d);
	if (r->sender[0] == '\0')
		fputs("\nThis message is a notice itself, or has no sender.\n"
		    "It is kept in the directory postman.\n", f);
	else if (!can_get_dsn(r->sender)) {
		fputs("\nThis notice could not be sent to the sender:\n\n", f);
		dsn_text(f, r->sender, "  ");
	}
	for (file = 0; file < r->nfiles; file++) {
		if (report_file(r, file) < 0)
			return -1;
		fputs("\nThis is about the message\n\n", f);
		put_which(f, r, r->nfiles == 1 ? d->arrived : 0);
		if (put_list(f, r, file) < 0)
			return -1;
	}
	put_rest(f, d, r);
	return 0;
}

/* ---- for programs ---------------------------------------------------- */

/* A status as a word of a text: not a part of a number or of 10.4.2.1. */
static const char *
find_status(const char *text, const char *first, size_t *n)
{
	const char *s;
	int before = ' ';

	for (s = text; *s != '\0'; before = (unsigned char)*s++) {
		if (isalnum(before) || before == '.' ||
		    strchr(first, *s) == NULL || (*n = lib_status(s)) == 0)
			continue;
		if (!isalnum((unsigned char)s[*n]) && !(s[*n] == '.' &&
		    isalnum((unsigned char)s[*n + 1])))
			return s;
	}
	*n = 0;
	return s;
}

/* Writes the Status field: from the agent's field, or for a delay from the text
 * of the deferral. */
static void
put_status(FILE *f, const struct report *r, const struct item *it)
{
	static const char *const fits[] = { "45", "4", "2", "2", "2" };
	static const char *const plain[] = { "5.0.0", "4.0.0", "2.0.0",
	    "2.0.0", "2.0.0" };
	const char *s = r->nt.field[2];
	size_t n;

	if (it->action == ACTION_DELAYED) {
		s = find_status(r->text, fits[it->action], &n);
	} else if (expired_by(r, it) != NULL) {
		s = "4.4.7";
		n = 5;
	} else {
		n = lib_status(s);
	}
	if (n == 0 || strchr(fits[it->action], *s) == NULL) {
		s = plain[it->action];
		n = 5;
	}
	fprintf(f, "Status: %.*s\n", (int)n, s);
}

static void
put_diagnostic(FILE *f, const struct report *r, const struct item *it)
{
	char value[VALUE_MOST];
	const char *s = expired_by(r, it);

	if (s == NULL)
		s = it->action == ACTION_DELAYED ? r->text : r->nt.field[3];
	else if (*s == '\0')
		s = r->text;
	if (*s == '\0')
		return;
	text_fmt(value, sizeof(value), "%s%s", dsn_typed(s) ? "" : "x-local; ",
	    s);
	dsn_field(f, "Diagnostic-Code", value);
}

/* Stamps are what somebody wrote into a file: no date comes of some. */
static void
put_date(FILE *f, const char *field, long t)
{
	const char *date = dsn_date(t);

	if (*date != '\0')
		fprintf(f, "%s: %s\n", field, date);
}

static void
put_recipient(FILE *f, struct report *r, const struct item *it)
{
	char value[sizeof(r->nt.rc.orcpt) + 10];
	const struct diags *nt = &r->nt;
	const char *orcpt = nt->rc.orcpt;
	size_t n;

	putc('\n', f);
	if (dsn_typed(orcpt)) {
		n = strcspn(orcpt, ";") + 1;
		text_fmt(value, sizeof(value), "%.*s ", (int)n, orcpt);
		xtext_read(orcpt + n, strlen(orcpt + n), value + n + 1,
		    sizeof(value) - n - 1);
		dsn_field(f, "Original-Recipient", value);
	}
	dsn_address(f, "Final-Recipient", nt->rc.user);
	fprintf(f, "Action: %s\n", actions[it->action].word);
	put_status(f, r, it);
	if (it->action != ACTION_DELAYED && dsn_typed(nt->field[4]))
		dsn_field(f, "Remote-MTA", nt->field[4]);
	put_diagnostic(f, r, it);
	if (it->action == ACTION_DELAYED && *nt->field[4] != '\0')
		put_date(f, "Will-Retry-Until", (long)num_of(nt->field[4],
		    NULL));
	else if (it->action != ACTION_DELAYED && nt->when >= SANE_WALL)
		put_date(f, "Last-Attempt-Date", nt->when);
	if (r->nfiles > 1 && r->head.id[0] != '\0')
		dsn_field(f, "X-Original-Message-ID", r->head.id);
}

static int
put_programs(struct draft *d, struct report *r)
{
	char value[300];
	FILE *f = d->d.post.f;
	unsigned i;

	dsn_part(&d->d, "message/delivery-status", 0);
	if (report_file(r, 0) < 0)
		return -1;
	if (r->nfiles == 1 && r->head.envid[0] != '\0') {
		xtext_read(r->head.envid, strlen(r->head.envid), value,
		    sizeof(value));
		dsn_field(f, "Original-Envelope-Id", value);
	}
	fprintf(f, "Reporting-MTA: dns; %s\n", d->d.name);
	if (r->nfiles == 1 && d->arrived != 0)
		put_date(f, "Arrival-Date", d->arrived);
	if (r->nfiles == 1 && spool_id(r->files[0], NULL, NULL, value,
	    sizeof(value)) == 0)
		dsn_field(f, "X-Local-Spool-ID", value);
	for (i = 0; i < r->n; i++) {
		if (is_stale(r, i))
			continue;
		if (recall(r, &r->items[i]) < 0)
			return -1;
		put_recipient(f, r, &r->items[i]);
	}
	return 0;
}

/* ---- all of it ------------------------------------------------------- */

static int
put_message(struct draft *d, struct report *r)
{
	struct dsn_copy c;

	if (r->nfiles > 1)
		return 0;
	dsn_part(&d->d, d->less == NULL ? "message/rfc822" :
	    "text/rfc822-headers", d->d.eight);
	dsn_copy(&c, d->d.boundary, d->d.post.f, d->head);
	c.fold = d->fold;
	if (report_file(r, 0) < 0 || copy_head(&c, r) < 0)
		return -1;
	c.most = r->most;	/* it may have grown since it was seen */
	if (d->less == NULL) {
		putc('\n', d->d.post.f);
		if (copy_body(&c, r) < 0)
			return -1;
	}
	if (c.col > 0)
		putc('\n', d->d.post.f);
	return 0;
}

static int
put_all(struct draft *d, struct report *r)
{
	if (survey(d, r) < 0 || choose_boundary(d, r) < 0)
		return -1;
	put_head(d, r);
	if (put_people(d, r) < 0 || put_programs(d, r) < 0 ||
	    put_message(d, r) < 0)
		return -1;
	dsn_end(&d->d);
	return diag_error(&r->nt) != 0 ? -1 : 0;
}

FILE *
report_form(const struct report *r, const char *form)
{
	FILE *f = form_open(r->forms, form);

	if (f == NULL && errno != ENOENT)
		lib_note("form %s/%s: %s", r->forms, form, strerror(errno));
	return f;
}

int
report_write(struct report *r, struct post *p)
{
	static struct draft d;
	int bad, err;

	memset(&d, 0, sizeof(d));
	if (post_open(&d.d.post, "..", "bounce") < 0)
		return -1;
	d.d.name = r->name;
	d.d.form = report_form(r, r->items[0].action == ACTION_DELAYED ?
	    "delay" : "delivery");
	errno = EIO;		/* for a failure that sets none */
	bad = put_all(&d, r);
	err = errno;
	if (d.d.form != NULL)
		fclose(d.d.form);
	report_close(r);
	errno = err;
	if (bad)
		post_drop(&d.d.post);
	else
		bad = post_sync(&d.d.post);
	*p = d.d.post;
	return bad;
}
