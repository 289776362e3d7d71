/*
 * dsntext.c - writes a delivery status notification (DSN).
 *
 *	anna sent 101-1 and 102-1; u1 and u2 of the first failed, and u3 of
 *	the second:
 *		files = { "101-1", "102-1" }
 *		items = { 0, u1 }, { 0, u2 }, { 1, u3 }
 *
 * A DSN is a message in the router's format: an envelope without a sender, a
 * header, and a multipart/report (RFC 3462).
 *
 *	channel error			put_envelope
 *	errormsg
 *	to <anna@a.example>
 *	env-end
 *	From: Mail Delivery ...		put_header
 *	--=_4711.2952181273
 *	It was not delivered ...	put_text_part, for people
 *	--=_4711.2952181273
 *	Final-Recipient: ...		put_status_part, for programs (RFC 3464)
 *	--=_4711.2952181273
 *	Subject: ...			put_message_part
 *	--=_4711.2952181273--
 *
 * The body is returned if a recipient failed and the sender did not ask for the
 * header alone.  If that cannot be (the body is too long, or not text), the
 * text says why.  A DSN on several messages returns none of them.
 *
 * The postmaster can write the text: the forms delivery and delay, and those of
 * errormail (lib/form.c).
 *
 * Text from agents and messages stays text: it cannot add a field or a part.
 * In the part for people it can have several lines, but each is behind an
 * indent and of bounded length; valid UTF-8 is kept.  Fields are ASCII and
 * folded.  All other bytes become question marks.  The boundary has the random
 * number of the file in private/, which nobody can know before.
 *
 * A field keeps its blanks, also several in a row.  Where it is folded they
 * stand at the beginning of the new line, so unfolding restores them.
 *
 * The agents dsn and errormail decide which items a DSN has.  The text is
 * written piece by piece from the control files, and nothing of it is kept.
 */
#include "dsntext.h"
#include "job.h"
#include "../lib/form.h"
#include <ctype.h>

#define FIELD_MOST	2000	/* bytes of a value that are shown */
#define TEXT_MOST	4000	/* bytes of the text of an agent */
#define COLUMNS		76	/* bytes of a line of a field */
#define LINE_MOST	998	/* bytes in a line that mail can carry */
#define FIELD_WORD	900	/* bytes of a word; a longer one is split */
#define BREAK_AT	900	/* bytes in a line of text for people before it
				 * is broken, or of a header before it is
				 * folded */
#define USER_MOST	1000	/* bytes of a recipient's address */
#define HEAD_MOST	65536L	/* bytes of a header that are returned */
#define VALUE_MOST	4000	/* bytes of a diagnostic */

static const struct {
	const char *word;	/* word of RFC 3464 */
	const char *label;	/* word in the subject */
	const char *text;	/* text for people */
} actions[] = {
	{ "failed", "FAILED",
	    "It could not be delivered, and will not be tried again, for" },
	{ "delayed", "DELAYED",
	    "It is delayed, and will be tried again, for" },
	{ "relayed", "RELAYED-OK",
	    "It was passed to a system that sends no such notices, for" },
	{ "delivered", "DELIVERED-OK", "It was delivered to" },
	{ "expanded", "EXPANDED-OK",
	    "It was delivered, and passed on to other addresses, for" }
};

/* ---- fields and lines -------------------------------------------------- */

/* Returns the bytes of the UTF-8 character at s; 0 for ASCII, control
 * characters, and bytes that are no UTF-8. */
static size_t
utf8_length(const char *s)
{
	unsigned long c;
	size_t n = utf8_read_multibyte(s, &c);

	return n > 0 && c >= 0xa0 ? n : 0;
}

static int
has_utf8(const char *s)
{
	for (; *s != '\0'; s++)
		if (utf8_length(s) > 0)
			return 1;
	return 0;
}

/* Writes text for people, with an indent before each line.  CR and newline end
 * a line, a line is broken after BREAK_AT bytes, and bytes that are no text
 * become question marks. */
static void
put_text(FILE *f, const char *s, const char *indent)
{
	size_t n, col = 0, total;

	for (total = 0; *s != '\0' && total < TEXT_MOST; s += n, total += n) {
		if (*s == '\r' || *s == '\n' || col >= BREAK_AT) {
			if (col > 0)
				putc('\n', f);
			col = 0;
			n = *s == '\r' || *s == '\n';
			continue;
		}
		if (col == 0)
			fputs(indent, f);
		n = utf8_length(s);
		if (n > 0)
			fwrite(s, 1, n, f);
		else
			putc(*s == '\t' || (*s >= ' ' && *s < 127) ? *s : '?',
			    f);
		n += n == 0;
		col += n;
	}
	if (col > 0)
		putc('\n', f);
	if (*s != '\0')
		fprintf(f, "%s...\n", indent);
}

/* Writes the text of a form, with a newline at its end. */
static void
put_form(FILE *f, FILE *form)
{
	char line[FORM_LINE];

	rewind(form);
	while (form_next_head_line(form, line))
		;
	do {
		if (line[strspn(line, "\r")] == '\n')
			putc('\n', f);
		else
			put_text(f, line, "");
	} while (fgets(line, (int)sizeof(line), form) != NULL);
}

static void
put_field(FILE *f, const char *field, const char *value)
{
	size_t blanks, i, n, total, col = strlen(field) + 1;

	fprintf(f, "%s:", field);
	value += strspn(value, " \t");
	for (total = 0; total < FIELD_MOST; total += n) {
		for (blanks = 0; isspace((unsigned char)*value); value++)
			blanks++;
		if (blanks == 0)
			blanks = 1;	/* the word is the first one, or a part
					 * of a word that is too long */
		for (n = 0; n < FIELD_WORD && value[n] != '\0' &&
		    !isspace((unsigned char)value[n]); )
			n++;
		if (n == 0)
			break;
		if (col + blanks + n > COLUMNS) {
			putc('\n', f);
			col = 0;
		}
		for (i = 0; i < blanks && i < COLUMNS; i++)
			putc(' ', f);
		for (i = 0; i < n; i++)
			putc(value[i] > ' ' && value[i] < 127 ? value[i] : '?',
			    f);
		col += blanks + n;
		value += n;
	}
	fputs(*value != '\0' ? " ...\n" : "\n", f);
}

/* Returns the time as a date of a header, good until the next call; "" if the
 * year has more than four digits. */
static const char *
date_of(long t)
{
	static char date[40];
	time_t when = (time_t)t;
	const struct tm *tm = gmtime(&when);

	if (tm == NULL || tm->tm_year > 9999 - 1900 || strftime(date,
	    sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", tm) == 0)
		date[0] = '\0';
	return date;
}

/* Returns 1 if the value has the form "TYPE; TEXT" of RFC 3464. */
static int
has_type(const char *s)
{
	const char *p = s;

	while (isalnum((unsigned char)*p) || *p == '-' || *p == '.')
		p++;
	return p > s && *p == ';' && p[1 + strspn(p + 1, " ")] != '\0';
}

/* Writes an address as "rfc822; ADDRESS", or as "x-local; NAME" if it has no
 * domain.  An address with UTF-8 is written as "utf-8; " with \x{HEX} for each
 * such character and for \ + = (RFC 6533). */
static void
put_address(FILE *f, const char *field, const char *user)
{
	char value[USER_MOST * 4 + 20];
	struct text t;
	unsigned long u;
	size_t n;
	int shift;

	text_init(&t, value, sizeof(value));
	if (!has_utf8(user)) {
		text_add(&t, "%s; %s", addr_domain(user) != NULL ?
		    "rfc822" : "x-local", user);
		put_field(f, field, value);
		return;
	}
	text_add(&t, "utf-8; ");
	for (; *user != '\0'; user++) {
		u = (unsigned char)*user;
		n = utf8_length(user);
		if (n == 0 && isgraph((int)u) && u != '\\' && u != '+' &&
		    u != '=') {
			text_add(&t, "%c", (int)u);
			continue;
		}
		if (n > 0)
			utf8_read_multibyte(user, &u);
		user += n > 0 ? n - 1 : 0;
		text_add(&t, "\\x{");
		for (shift = 20; shift > 4 && u >> shift == 0; )
			shift -= 4;
		for (; shift >= 0; shift -= 4)
			text_add(&t, "%c", "0123456789ABCDEF"[u >> shift & 15]);
		text_add(&t, "}");
	}
	put_field(f, field, value);
}

/* ---- copied text ------------------------------------------------------- */

/*
 * copy: text that is copied into a DSN.  The text is read twice: first without
 * f, to find out what it contains, then to write it.
 */
struct copy {
	FILE	*f;		/* the DSN; NULL: the text is only measured */
	int	eight;		/* there are bytes above 127 */
	int	binary;		/* there are bytes that are not text */
	int	wide;		/* a line is longer than LINE_MOST */
	int	last;		/* the last byte */
	int	fold;		/* fold long lines, as the text is a header */
	long	col;		/* bytes in the line so far */
	long	size;		/* bytes so far */
	long	whole;		/* bytes up to the end of the last whole line */
	long	most;		/* bytes that are copied at most */
};

static void
copy_start(struct copy *c, FILE *f, long most)
{
	memset(c, 0, sizeof(*c));
	c->f = f;
	c->most = most;
}

/* Copies a byte.  With c->fold, a line is folded before the first blank from
 * BREAK_AT on.  A line without such a blank is folded at LINE_MOST, but not
 * within a UTF-8 character. */
static void
copy_byte(struct copy *c, int b)
{
	int blank = b == ' ' || b == '\t';
	/* bytes that follow b in its UTF-8 character */
	int more = (b >= 0xc0) + (b >= 0xe0) + (b >= 0xf0);
	long longest = blank ? BREAK_AT : LINE_MOST - more;

	if (c->fold && b != '\n' && c->col >= longest) {
		fputs(blank ? "\n" : "\n ", c->f);
		c->col = !blank;
	}
	c->size++;
	c->col = b == '\n' ? 0 : c->col + 1;
	if (c->col == 0 && c->size <= c->most)
		c->whole = c->size;
	c->eight |= b > 127;
	c->binary |= b == '\0' || (c->last == '\r' && b != '\n');
	c->wide |= c->col > LINE_MOST;
	c->last = b;
	if (c->f != NULL)
		putc(b == '\0' ? '?' : b, c->f);
}

/* ---- items ----------------------------------------------------------- */

void
dsn_close_file(struct dsn *r)
{
	if (r->open != 0 && r->describe == NULL)
		ctl_close(&r->diags.c);
	r->open = 0;
}

int
dsn_open_control(struct dsn *r, unsigned file)
{
	if (r->open == file + 1)
		return 0;
	dsn_close_file(r);
	diag_start(&r->diags, r->describe != NULL ? r->ctl :
	    fd_open_plain(r->files[file], O_RDWR, NULL), r->files[file]);
	if (r->diags.c.l.fd < 0)
		return -1;
	r->open = file + 1;
	origin_start(&r->diags, &r->origin);
	if (origin_read_head(&r->diags, &r->head) == 0)
		return 0;
	dsn_close_file(r);
	return -1;
}

struct item *
dsn_add_item(struct dsn *r)
{
	if (mem_grow((void **)&r->items, r->n, &r->size, sizeof(*r->items)) < 0)
		return NULL;
	memset(&r->items[r->n], 0, sizeof(*r->items));
	return &r->items[r->n++];
}

/* Returns 1 if a later item is on the same recipient, so that this one does not
 * count. */
static int
is_replaced_item(const struct dsn *r, unsigned i)
{
	return i + 1 < r->n && r->items[i].file == r->items[i + 1].file &&
	    r->items[i].off == r->items[i + 1].off;
}

/* Returns the reason in a text: the part behind REASON_MARK, or the whole text
 * if it has no mark. */
static const char *
reason_in(const char *s)
{
	const char *p = strstr(s, REASON_MARK);

	if (p == NULL)
		return s;
	p += sizeof(REASON_MARK) - 1;
	return p + strspn(p, "\r ");
}

/* Returns the last reason of a recipient that has expired or was bounced by an
 * operator, "" if its text has none; NULL for other recipients.  The text is in
 * our words or ZMailer's. */
static const char *
expiry_reason(const struct dsn *r, const struct item *it)
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
read_diagnostic(struct dsn *r, unsigned long at)
{
	ctl_seek(&r->diags.c, at);
	return diag_next_line(&r->diags) && r->diags.at == at ? 0 : -1;
}

/* Reads recipient and text of an item: 0 or -1.  A recipient that expired
 * without a reason gets the reason of an earlier diagnostic line. */
static int
read_item(struct dsn *r, const struct item *it)
{
	char why[FULL_TEXT / 2] = "";
	const char *s;
	long when = 0;

	if (dsn_open_control(r, it->file) < 0 ||
	    ctl_read_rcpt(&r->diags.rc, it->off) < 0)
		return -1;
	if (r->describe != NULL) {
		r->describe(r, it);
		return 0;
	}
	if (it->reason_at != 0 && read_diagnostic(r, it->reason_at) == 0) {
		s = diag_reason(&r->diags, it->off);
		text_fmt(why, sizeof(why), "%s", reason_in(s));
		when = r->diags.when;
	}
	if (read_diagnostic(r, it->at) < 0)
		return -1;
	r->text = diag_reason(&r->diags, it->off);
	s = expiry_reason(r, it);
	if (*why == '\0' || s == NULL || *s != '\0')
		return 0;
	/* behind the ';' the scheduler says that it kept no reason */
	text_fmt(r->full, sizeof(r->full), "%.*s, " REASON_MARK "\r%s",
	    (int)strcspn(r->text, ";"), r->text, why);
	r->text = r->full;
	if (r->diags.when == 0)
		r->diags.when = when;
	return 0;
}

/* ---- the returned message -------------------------------------------- */

/* Copies a piece of a file: 0, or -1 if c->most cuts the piece. */
static int
copy_piece(void *copy, const char *s, size_t n)
{
	struct copy *c = copy;

	for (; n > 0 && c->size < c->most; s++, n--)
		copy_byte(c, (unsigned char)*s);
	return n > 0 ? -1 : 0;
}

/* Copies the header: 0 or -1. */
static int
copy_head(struct copy *c, const struct dsn *r)
{
	return r->hdr >= 0 && job_copy_header(r->diags.c.l.fd, r->hdr,
	    copy_piece, c) == COPY_ERROR ? -1 : 0;
}

static int
copy_body(struct copy *c, const struct dsn *r)
{
	char path[PATH_MAX_];
	enum copy_end end;
	int fd;

	text_fmt(path, sizeof(path), "../queue/%s", r->diags.c.name);
	fd = fd_open_plain(path, O_RDONLY, NULL);
	if (fd < 0)
		return -1;
	end = job_copy_bytes(fd, (off_t)r->head.body, (off_t)c->most + 1,
	    copy_piece, c);
	close(fd);
	return end == COPY_ERROR ? -1 : 0;
}

/* ---- the frame --------------------------------------------------------- */

/* draft: what has to be known of a DSN before its first byte is written. */
struct draft {
	struct post post;
	FILE	*form;		/* the open form, or NULL */
	char	boundary[60];
	int	has_from;	/* a field From of the form is written */
	int	eight;		/* the returned message has bytes above 127 */
	int	text_eight;	/* the text for people has bytes above 127 */
	long	head;		/* bytes of the header that are returned */
	int	cut;		/* the header is longer than head */
	int	fold;		/* the header has lines that are too long */
	const char *no_body;	/* why the body is not returned, "": nobody
				 * wants the body; NULL: the body is returned */
	long	arrived;	/* time of the arrival, wall; 0: not known */
	unsigned long count[ACTIONS];	/* items with this action */
};

/* Writes a recipient of the DSN. */
static void
put_addressee(FILE *f, const char *address, size_t n)
{
	char orcpt[4 * USER_MOST];
	struct text t;

	text_init(&t, orcpt, sizeof(orcpt));
	xtext_add(&t, address, n);
	fprintf(f, "todsn ORCPT=rfc822;%s\nto <%.*s>\n", orcpt, (int)n,
	    address);
}

static void
put_envelope(struct draft *d, const char *sender)
{
	char line[FORM_LINE], *value;
	const char *address;
	FILE *f = d->post.f;
	size_t n;

	fputs("channel error\nerrormsg\n", f);
	if (can_get_dsn(sender))
		put_addressee(f, sender, strlen(sender));
	else if (*sender != '\0')
		put_addressee(f, "postmaster", 10);
	if (d->form != NULL) {
		rewind(d->form);
		while (form_next_head_line(d->form, line))
			if ((value = form_value(line, "ADR")) != NULL &&
			    (address = form_address(value, &n)) != NULL)
				put_addressee(f, address, n);
	}
	fputs("env-end\n", f);
}

/* Returns 1 for a field that a form may not set. */
static int
is_reserved(const char *field)
{
	static const char *const ours[] = { "TO:", "DATE:", "MESSAGE-ID:",
	    "AUTO-SUBMITTED:", "MIME-VERSION:", "CONTENT-" };
	size_t i;

	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
		if (ctl_is_word(field, strlen(ours[i]), ours[i]))
			return 1;
	return 0;
}

/* Writes the fields of the form, and sets the subject and has_from. */
static void
put_form_fields(struct draft *d, char *subject, size_t size)
{
	char line[FORM_LINE], *value, *colon;
	int sub;

	rewind(d->form);
	while (form_next_head_line(d->form, line)) {
		value = line + 4;
		sub = form_value(line, "SUB") != NULL;
		if (sub || ctl_is_word(value, 8, "SUBJECT:")) {
			text_fmt(subject, size, "%s", sub ? value : value + 8 +
			    strspn(value + 8, " \t"));
			continue;
		}
		if (!form_is_field(value) || is_reserved(value))
			continue;
		colon = strchr(value, ':');
		*colon = '\0';
		put_field(d->post.f, value, colon + 1);
		d->has_from |= ctl_is_word(value, strlen(value), "FROM");
	}
}

static void
put_part_header(struct draft *d, const char *type, int eight)
{
	FILE *f = d->post.f;

	fprintf(f, "\n--%s\nContent-Type: %s\n", d->boundary, type);
	if (eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
	putc('\n', f);
}

/* ---- before anything is written -------------------------------------- */

/* Measures the body.  Returns why the body cannot be returned, or NULL. */
static const char *
body_error(const struct dsn *r, const struct copy *head, struct copy *body)
{
	copy_start(body, NULL, r->most + 1);
	body->size = head->size;
	if (head->size == HEAD_MOST)
		return "it is too long";
	if (copy_body(body, r) < 0)
		return "its file cannot be read";
	if (body->size > r->most)
		return "it is too long";
	if (head->binary || body->binary)
		return "it is not text";
	return head->wide || body->wide ? "its lines are too long" : NULL;
}

/* Measures the form and, in a DSN on one message, the message: 0 or -1. */
static int
measure_copies(struct draft *d, const struct dsn *r)
{
	struct copy head, body;
	char line[FORM_LINE];

	if (d->form != NULL)
		rewind(d->form);
	while (d->form != NULL &&
	    fgets(line, (int)sizeof(line), d->form) != NULL)
		d->text_eight |= has_utf8(line);
	if (r->nfiles > 1)
		return 0;
	copy_start(&head, NULL, HEAD_MOST);
	if (copy_head(&head, r) < 0)
		return -1;
	d->cut = head.size == HEAD_MOST;
	d->head = d->cut && head.whole > 0 ? head.whole : head.size;
	d->fold = head.wide;
	d->eight = head.eight;
	if (d->no_body != NULL)
		return 0;
	d->no_body = body_error(r, &head, &body);
	d->eight |= d->no_body == NULL && body.eight;
	return 0;
}

/* Counts the items by action, and finds out if the text needs 8 bits, if the
 * body is wanted, and when the message arrived: 0 or -1. */
static int
survey_items(struct draft *d, struct dsn *r)
{
	struct stat st;
	char path[PATH_MAX_];
	unsigned i;

	for (i = 0; i < r->n; i++) {
		if (is_replaced_item(r, i))
			continue;
		if (read_item(r, &r->items[i]) < 0)
			return -1;
		d->count[r->items[i].action]++;
		d->text_eight |= has_utf8(r->text) ||
		    has_utf8(r->diags.rc.user);
	}
	for (i = 0; i < r->nfiles; i++) {
		if (dsn_open_control(r, i) < 0)
			return -1;
		d->text_eight |= has_utf8(r->head.id);
	}
	d->text_eight |= has_utf8(r->sender);
	if (dsn_open_control(r, 0) < 0)
		return -1;
	if (r->head.wants_headers || d->count[ACTION_FAILED] == 0)
		d->no_body = "";
	text_fmt(path, sizeof(path), "../queue/%s", r->files[0]);
	if (stat(path, &st) == 0 && (long)st.st_mtime >= SANE_WALL &&
	    *date_of((long)st.st_mtime) != '\0')
		d->arrived = (long)st.st_mtime;
	return 0;
}

/* ---- the header ------------------------------------------------------ */

/* Returns the subject of a DSN whose form sets none. */
static const char *
usual_subject(const struct draft *d, const struct dsn *r)
{
	if (r->subject != NULL)
		return r->subject;
	if (r->sender[0] == '\0')
		return "Undeliverable notice";
	if (d->count[ACTION_FAILED] > 0)
		return "Undeliverable mail";
	return d->count[ACTION_DELAYED] > 0 ? "Delayed mail" : "Delivered mail";
}

/* Writes the header, whose subject ends in "[FAILED(2),DELIVERED-OK(1)]". */
static void
put_header(struct draft *d, const struct dsn *r)
{
	/* DSNs of this process; a part of the Message-ID, as two files can get
	 * the same number */
	static unsigned long count;
	char subject[FORM_LINE], line[FORM_LINE + 300];
	const char *to = can_get_dsn(r->sender) ? r->sender : "postmaster";
	int i, n = 0, bare = addr_domain(to) == NULL;
	FILE *f = d->post.f;
	struct text t;

	text_fmt(subject, sizeof(subject), "%s", usual_subject(d, r));
	if (d->form != NULL)
		put_form_fields(d, subject, sizeof(subject));
	if (!d->has_from)
		fprintf(f, "From: Mail Delivery <postmaster@%s>\n", r->name);
	fprintf(f, "To: <%s%s%s>\n", to, bare ? "@" : "",
	    bare ? r->name : "");
	text_init(&t, line, sizeof(line));
	text_add(&t, "%s", subject);
	for (i = 0; i < ACTIONS && r->subject == NULL; i++)
		if (d->count[i] > 0)
			text_add(&t, "%s%s(%lu)", n++ > 0 ? "," : " [",
			    actions[i].label, d->count[i]);
	text_add(&t, "%s", n > 0 ? "]" : "");
	put_field(f, "Subject", line);
	if (r->sender[0] == '\0')
		fputs(DOUBLE_FIELD ": yes\n", f);
	fprintf(f, "Date: %s\n", date_of((long)now.wall));
	fprintf(f, "Message-ID:\n <%lu.%lu.%lu.%lu@%s>\n",
	    (unsigned long)now.wall, (unsigned long)getpid(), d->post.num,
	    count++, r->name);
	fputs("Auto-Submitted: auto-replied\nMIME-Version: 1.0\n", f);
	fprintf(f, "Content-Type: multipart/report; "
	    "report-type=delivery-status;\n\tboundary=\"%s\"\n", d->boundary);
	if (d->eight || d->text_eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
}

/* ---- for people ------------------------------------------------------ */

/* Lists the recipients of a file, action by action: 0 or -1. */
static int
list_recipients(FILE *f, struct dsn *r, unsigned file)
{
	unsigned i, n;
	int action;

	for (action = 0; action < ACTIONS; action++)
		for (i = n = 0; i < r->n; i++) {
			const struct item *it = &r->items[i];

			if (it->file != file || (int)it->action != action ||
			    is_replaced_item(r, i))
				continue;
			if (read_item(r, it) < 0)
				return -1;
			if (n++ == 0)
				fprintf(f, "\n%s:\n", actions[action].text);
			putc('\n', f);
			put_text(f, r->diags.rc.user, "  ");
			put_text(f, r->text, "      ");
		}
	return 0;
}

static int
put_text_part(struct draft *d, struct dsn *r)
{
	FILE *f = d->post.f;
	unsigned file;

	put_part_header(d, d->text_eight ? "text/plain; charset=utf-8" :
	    "text/plain; charset=us-ascii", d->text_eight);
	if (d->form == NULL)
		fprintf(f, "This is the mail system of %s.\n", r->name);
	else
		put_form(f, d->form);
	if (r->sender[0] == '\0')
		fputs("\nThe message below is itself a notice, or has no "
		    "sender.\nIt is kept in the directory postman.\n", f);
	else if (!can_get_dsn(r->sender)) {
		fputs("\nThis notice could not be sent to the sender:\n\n", f);
		put_text(f, r->sender, "  ");
	}
	for (file = 0; file < r->nfiles; file++) {
		if (dsn_open_control(r, file) < 0)
			return -1;
		fputs("\nThis is about the message\n\n", f);
		put_text(f, r->head.id, "  ");
		if (d->arrived != 0 && r->nfiles == 1)
			fprintf(f, "  which arrived here on %s\n",
			    date_of(d->arrived));
		if (list_recipients(f, r, file) < 0)
			return -1;
	}
	if (r->nfiles > 1) {
		fputs("\nThis is one notice on several messages; they are not "
		    "returned.\n", f);
		return 0;
	}
	fprintf(f, "\nA part for programs follows, then %s.\n",
	    d->no_body == NULL ? "the message" :
	    "the header of the message");
	if (d->no_body != NULL && *d->no_body != '\0')
		fprintf(f, "The message itself is not returned, since %s.\n",
		    d->no_body);
	if (d->cut)
		fputs("Of its header, only the beginning is returned.\n", f);
	if (d->fold)
		fputs("Long lines of its header were folded.\n", f);
	return 0;
}

/* ---- for programs ---------------------------------------------------- */

/* Returns the first status of one of these classes in the text, or the text's
 * end.  A part of a longer word, such as 10.4.2.1, is no status. */
static const char *
find_status(const char *text, const char *class)
{
	const char *s;
	int before = ' ';
	size_t n;

	for (s = text; *s != '\0'; before = (unsigned char)*s++) {
		if (isalnum(before) || before == '.' ||
		    strchr(class, *s) == NULL || (n = lib_status_len(s)) == 0)
			continue;
		if (!isalnum((unsigned char)s[n]) && !(s[n] == '.' &&
		    isalnum((unsigned char)s[n + 1])))
			break;
	}
	return s;
}

/* Writes the Status field: for a delay the status in the text of the deferral,
 * for an expired recipient 4.4.7, else the agent's status.  A default replaces
 * a missing status, and one of a class that does not fit the action. */
static void
put_status(FILE *f, const struct dsn *r, const struct item *it)
{
	static const char *const classes[] = { "45", "4", "2", "2", "2" };
	static const char *const defaults[] = { "5.0.0", "4.0.0", "2.0.0",
	    "2.0.0", "2.0.0" };
	const char *s = r->diags.field[DIAG_STATUS];

	if (it->action == ACTION_DELAYED)
		s = find_status(r->text, classes[it->action]);
	else if (expiry_reason(r, it) != NULL)
		s = "4.4.7";
	if (lib_status_len(s) == 0 || strchr(classes[it->action], *s) == NULL)
		s = defaults[it->action];
	fprintf(f, "Status: %.*s\n", (int)lib_status_len(s), s);
}

/* Writes the diagnostic.  For a recipient that expired it is the reason, or the
 * whole text if that has no reason; for a delay it is the text of the deferral;
 * else it is the diagnostic that the agent gave. */
static void
put_diagnostic(FILE *f, const struct dsn *r, const struct item *it)
{
	char value[VALUE_MOST];
	const char *s = expiry_reason(r, it);

	if (s == NULL)
		s = it->action == ACTION_DELAYED ? r->text :
		    r->diags.field[DIAG_TEXT];
	else if (*s == '\0')
		s = r->text;
	if (*s == '\0')
		return;
	text_fmt(value, sizeof(value), "%s%s", has_type(s) ? "" : "x-local; ",
	    s);
	put_field(f, "Diagnostic-Code", value);
}

/* Writes a field with a date, unless date_of has none. */
static void
put_date(FILE *f, const char *field, long t)
{
	const char *date = date_of(t);

	if (*date != '\0')
		fprintf(f, "%s: %s\n", field, date);
}

/* Writes the fields of one recipient. */
static void
put_recipient(FILE *f, struct dsn *r, const struct item *it)
{
	char value[sizeof(r->diags.rc.orcpt) + 10];
	const struct diags *diags = &r->diags;
	const char *orcpt = diags->rc.orcpt;
	const char *remote = diags->field[DIAG_REMOTE];
	size_t n;

	putc('\n', f);
	if (has_type(orcpt)) {
		n = strcspn(orcpt, ";") + 1;
		text_fmt(value, sizeof(value), "%.*s ", (int)n, orcpt);
		xtext_read(orcpt + n, strlen(orcpt + n), value + n + 1,
		    sizeof(value) - n - 1);
		put_field(f, "Original-Recipient", value);
	}
	put_address(f, "Final-Recipient", diags->rc.user);
	fprintf(f, "Action: %s\n", actions[it->action].word);
	put_status(f, r, it);
	if (it->action != ACTION_DELAYED && has_type(remote))
		put_field(f, "Remote-MTA", remote);
	put_diagnostic(f, r, it);
	/* in a line on a delay, remote is the time at which the recipient
	 * expires */
	if (it->action == ACTION_DELAYED && *remote != '\0')
		put_date(f, "Will-Retry-Until", (long)num_of(remote, NULL));
	else if (it->action != ACTION_DELAYED && diags->when >= SANE_WALL)
		put_date(f, "Last-Attempt-Date", diags->when);
	if (r->nfiles > 1 && r->head.id[0] != '\0')
		put_field(f, "X-Original-Message-ID", r->head.id);
}

static int
put_status_part(struct draft *d, struct dsn *r)
{
	char value[300];
	FILE *f = d->post.f;
	unsigned i;

	put_part_header(d, "message/delivery-status", 0);
	if (dsn_open_control(r, 0) < 0)
		return -1;
	if (r->nfiles == 1 && r->head.envid[0] != '\0') {
		xtext_read(r->head.envid, strlen(r->head.envid), value,
		    sizeof(value));
		put_field(f, "Original-Envelope-Id", value);
	}
	fprintf(f, "Reporting-MTA: dns; %s\n", r->name);
	if (r->nfiles == 1 && d->arrived != 0)
		put_date(f, "Arrival-Date", d->arrived);
	if (r->nfiles == 1 && spool_id(r->files[0], NULL, NULL, value,
	    sizeof(value)) == 0)
		put_field(f, "X-Local-Spool-ID", value);
	for (i = 0; i < r->n; i++) {
		if (is_replaced_item(r, i))
			continue;
		if (read_item(r, &r->items[i]) < 0)
			return -1;
		put_recipient(f, r, &r->items[i]);
	}
	return 0;
}

/* ---- the DSN --------------------------------------------------------- */

static int
put_message_part(struct draft *d, struct dsn *r)
{
	struct copy c;

	if (r->nfiles > 1)
		return 0;
	put_part_header(d, d->no_body == NULL ? "message/rfc822" :
	    "text/rfc822-headers", d->eight);
	copy_start(&c, d->post.f, d->head);
	c.fold = d->fold;
	if (dsn_open_control(r, 0) < 0 || copy_head(&c, r) < 0)
		return -1;
	c.most = r->most;	/* a file that has grown is cut */
	if (d->no_body == NULL) {
		putc('\n', d->post.f);
		if (copy_body(&c, r) < 0)
			return -1;
	}
	if (c.col > 0)
		putc('\n', d->post.f);
	return 0;
}

static int
put_dsn(struct draft *d, struct dsn *r)
{
	if (survey_items(d, r) < 0 || measure_copies(d, r) < 0)
		return -1;
	put_envelope(d, r->sender);
	put_header(d, r);
	if (put_text_part(d, r) < 0 || put_status_part(d, r) < 0 ||
	    put_message_part(d, r) < 0)
		return -1;
	fprintf(d->post.f, "\n--%s--\n", d->boundary);
	return diag_error(&r->diags) != 0 ? -1 : 0;
}

FILE *
dsn_open_form(const struct dsn *r)
{
	FILE *f = form_open(r->forms, r->form);

	/* errormail, which has describe, takes the name from mail, so a name
	 * that no form can have is no mistake there */
	if (f == NULL && errno != ENOENT &&
	    !(errno == EINVAL && r->describe != NULL))
		lib_note("form %s/%s: %s", r->forms, r->form, strerror(errno));
	return f;
}

int
dsn_write(struct dsn *r, struct post *p)
{
	struct draft d;
	int result, err;

	memset(&d, 0, sizeof(d));
	if (post_open(&d.post, "..", "bounce") < 0)
		return -1;
	text_fmt(d.boundary, sizeof(d.boundary), "=_%s",
	    strrchr(d.post.path, ':') + 1);
	d.form = dsn_open_form(r);
	r->has_form = d.form != NULL;
	errno = EIO;		/* a reason for failures without an errno */
	result = put_dsn(&d, r);
	err = errno;
	if (d.form != NULL)
		fclose(d.form);
	dsn_close_file(r);
	errno = err;
	if (result < 0)
		post_remove(&d.post);
	else
		result = post_sync_or_remove(&d.post);
	*p = d.post;
	return result;
}

/* ---- options --------------------------------------------------------- */

int
dsn_confine_agent(struct dsn *r, const char *machine, const char *sock)
{
	r->name = machine != NULL && *machine != '\0' ? machine :
	    mailname(NULL);
	umask(022);
	unveil(r->forms, "r");
	unveil("..", "rwc");
	unveil("/dev/urandom", "r");
	if (*sock != '\0')
		unveil(sock, "w");
	return pledge("stdio rpath wpath cpath fattr flock unix", NULL);
}
