/*
 * dsn.c - writes the frame and the fields of delivery status notifications.
 *
 * A DSN is a message in the router's format: an envelope without a sender, a
 * header, and a multipart/report (RFC 3462).
 *
 *	channel error			dsn_envelope
 *	errormsg
 *	to <anna@a.example>
 *	env-end
 *	From: Mail Delivery ...		dsn_header
 *	--=_101.0
 *	It was not delivered ...	dsn_people: for people
 *	--=_101.0
 *	Final-Recipient: ...		dsn_part: for programs (RFC 3464)
 *	--=_101.0
 *	Subject: ...			dsn_part: the message
 *	--=_101.0--			dsn_end
 *
 * Text from agents and messages stays text: it cannot add a field, a part or a
 * line.  In the part for people valid UTF-8 is kept, in lines of bounded length
 * behind an indent.  Fields are ASCII and folded.  All other bytes become
 * question marks.  The boundary is one that the copied text does not contain.
 *
 * A field keeps its blanks, also several in a row.  Where it is folded they
 * stand at the beginning of the new line, so unfolding restores them.
 *
 * The agents dsn and errormail decide what a DSN says, and to whom it goes.
 */
#include "agent.h"
#include "dsn.h"
#include "office.h"
#include "origin.h"
#include <ctype.h>

#define FIELD_MOST	2000	/* bytes of a value that are shown */
#define TEXT_MOST	4000	/* ... of what an agent said */
#define COLUMNS		76	/* where fields are folded */
#define LINE_MOST	998	/* bytes in a line that mail can carry */
#define PIECE_MOST	900	/* bytes without a blank in a field, and of a
				 * line that is folded */
#define USER_MOST	1000	/* ... of a recipient's address */

size_t
dsn_utf8(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i, n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;

	if (*p < 0xc2 || *p > 0xf4)
		return 0;
	for (i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((*p == 0xc2 && p[1] < 0xa0) || (*p == 0xe0 && p[1] < 0xa0) ||
	    (*p == 0xed && p[1] > 0x9f) || (*p == 0xf0 && p[1] < 0x90) ||
	    (*p == 0xf4 && p[1] > 0x8f))
		return 0;
	return n;
}

int
dsn_has_utf8(const char *s)
{
	for (; *s != '\0'; s++)
		if (dsn_utf8(s) > 0)
			return 1;
	return 0;
}

void
dsn_text(FILE *f, const char *s, const char *indent)
{
	size_t n, col = 0, total;

	for (total = 0; *s != '\0' && total < TEXT_MOST; s += n, total += n) {
		n = 1;
		if (*s == '\r' || *s == '\n' || col >= PIECE_MOST) {
			if (col > 0)
				putc('\n', f);
			col = 0;
			n = *s == '\r' || *s == '\n';
			continue;
		}
		if (col == 0)
			fputs(indent, f);
		n = dsn_utf8(s);
		if (n > 0)
			fwrite(s, 1, n, f);
		else
			putc(*s >= ' ' && *s < 127 ? *s : *s == '\t' ? ' ' :
			    '?', f);
		n += n == 0;
		col += n;
	}
	if (col > 0)
		putc('\n', f);
	if (*s != '\0')
		fprintf(f, "%s...\n", indent);
}

void
dsn_field(FILE *f, const char *field, const char *value)
{
	size_t blanks, i, n, total, col = strlen(field) + 1;

	fprintf(f, "%s:", field);
	value += strspn(value, " \t");
	for (total = 0; total < FIELD_MOST; total += n) {
		for (blanks = 0; isspace((unsigned char)*value); value++)
			blanks++;
		if (blanks == 0)
			blanks = 1;	/* the first, or a very long word */
		for (n = 0; n < PIECE_MOST && value[n] != '\0' &&
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

const char *
dsn_date(long t)
{
	static char date[40];
	time_t when = (time_t)t;
	const struct tm *tm = gmtime(&when);

	if (tm == NULL || tm->tm_year > 9999 - 1900 || strftime(date,
	    sizeof(date), "%a, %d %b %Y %H:%M:%S +0000", tm) == 0)
		date[0] = '\0';
	return date;
}

int
dsn_typed(const char *s)
{
	const char *p = s;

	while (isalnum((unsigned char)*p) || *p == '-' || *p == '.')
		p++;
	return p > s && *p == ';' && p[1 + strspn(p + 1, " ")] != '\0';
}

void
dsn_address(FILE *f, const char *field, const char *user)
{
	char value[USER_MOST * 4 + 20];
	struct text t;
	unsigned long u;
	size_t n;

	text_init(&t, value, sizeof(value));
	if (!dsn_has_utf8(user)) {
		text_add(&t, "%s; %s", addr_domain(user) != NULL ?
		    "rfc822" : "x-local", user);
		dsn_field(f, field, value);
		return;
	}
	text_add(&t, "utf-8; ");
	for (; *user != '\0'; user++) {
		u = (unsigned char)*user;
		n = dsn_utf8(user);
		if (n == 0 && isgraph((int)u) && u != '\\' && u != '+' &&
		    u != '=') {
			text_add(&t, "%c", (int)u);
			continue;
		}
		if (n > 0)
			u &= 0xffUL >> (n + 1);
		for (; n > 1; n--)
			u = u << 6 | ((unsigned char)*++user & 0x3f);
		text_add(&t, "\\x{%s", u < 16 ? "0" : "");
		for (n = 28; n > 0 && u >> n == 0; n -= 4)
			;
		for (; ; n -= 4) {
			text_add(&t, "%c", "0123456789ABCDEF"[u >> n & 15]);
			if (n == 0)
				break;
		}
		text_add(&t, "}");
	}
	dsn_field(f, field, value);
}

/* ---- copied text ------------------------------------------------------- */

void
dsn_copy(struct dsn_copy *c, const char *word, FILE *f, long most)
{
	memset(c, 0, sizeof(*c));
	c->word = word;
	c->f = f;
	c->most = most;
}

/* Ends the line before byte b if it is long enough: at a blank, or before
 * LINE_MOST if there is none, and not within a UTF-8 character. */
static void
copy_fold(struct dsn_copy *c, int b)
{
	int blank = b == ' ' || b == '\t';
	int more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : b >= 0xc0;

	if (b == '\n' || c->col < PIECE_MOST ||
	    (!blank && c->col + more < LINE_MOST))
		return;
	fputs(blank ? "\n" : "\n ", c->f);
	c->col = !blank;
}

void
dsn_byte(struct dsn_copy *c, int b)
{
	if (c->fold)
		copy_fold(c, b);
	c->size++;
	c->col = b == '\n' ? 0 : c->col + 1;
	if (c->col == 0 && c->size <= c->most)
		c->whole = c->size;
	c->eight |= b > 127;
	c->awkward |= b == '\0' || (c->last == '\r' && b != '\n');
	c->wide |= c->col > LINE_MOST;
	c->last = b;
	c->at = b == c->word[c->at] ? c->at + 1 : b == *c->word;
	if (c->word[c->at] == '\0') {
		c->found = 1;
		c->at = 0;
	}
	if (c->f != NULL)
		putc(b == '\0' ? '?' : b, c->f);
}

/* Copies text of any bytes, in lines of bounded length. */
static void
copy_clean(struct dsn_copy *c, const char *s)
{
	size_t n;

	for (; *s != '\0'; s++) {
		if (c->col >= PIECE_MOST)
			dsn_byte(c, '\n');
		n = dsn_utf8(s);
		for (; n > 1; n--)
			dsn_byte(c, (unsigned char)*s++);
		if (n == 1 || *s == '\n' || *s == '\t' ||
		    (*s >= ' ' && *s < 127))
			dsn_byte(c, (unsigned char)*s);
		else if (*s != '\r')
			dsn_byte(c, '?');
	}
}

void
dsn_form(struct dsn_copy *c, FILE *form)
{
	char line[FORM_LINE];

	rewind(form);
	while (form_next(form, line))
		;
	do
		copy_clean(c, line);
	while (fgets(line, (int)sizeof(line), form) != NULL);
	if (c->col > 0)
		dsn_byte(c, '\n');
}

/* ---- the frame --------------------------------------------------------- */

const char *
dsn_name(const char *given)
{
	return given != NULL && *given != '\0' ? given : mailname(NULL);
}

void
dsn_boundary(struct dsn *d, unsigned long num)
{
	if (d->boundary[0] == '\0')
		text_fmt(d->boundary, sizeof(d->boundary), "=_%lu.0", num);
	else
		text_fmt(d->boundary, sizeof(d->boundary), "=_%lu.%lu.%lu",
		    num, rnd(1000000000UL), rnd(1000000000UL));
}

static void
put_to(FILE *f, const char *address, size_t n)
{
	char plain[4 * USER_MOST];
	struct text t;

	text_init(&t, plain, sizeof(plain));
	xtext_add(&t, address, n);
	fprintf(f, "todsn ORCPT=rfc822;%s\nto <%.*s>\n", plain, (int)n,
	    address);
}

void
dsn_envelope(struct dsn *d, const char *sender)
{
	char line[FORM_LINE], *value;
	const char *address;
	FILE *f = d->post.f;
	size_t n;

	fputs("channel error\nerrormsg\n", f);
	if (can_get_dsn(sender))
		put_to(f, sender, strlen(sender));
	else if (*sender != '\0')
		put_to(f, "postmaster", 10);
	if (d->form != NULL) {
		rewind(d->form);
		while (form_next(d->form, line))
			if ((value = form_value(line, "ADR")) != NULL &&
			    (address = form_address(value, &n)) != NULL)
				put_to(f, address, n);
	}
	fputs("env-end\n", f);
}

/* Bytes that the field has in common with a name in lower case. */
static size_t
common(const char *field, const char *name)
{
	size_t n;

	for (n = 0; name[n] != '\0' && name[n] ==
	    tolower((unsigned char)field[n]); )
		n++;
	return n;
}

/* Is this a field that a form may not set? */
static int
is_ours(const char *field)
{
	static const char *const ours[] = { "to", "date", "message-id",
	    "auto-submitted", "mime-version", "content-" };
	size_t i, n;

	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		n = common(field, ours[i]);
		if (ours[i][n] == '\0' && (ours[i][n - 1] == '-' ||
		    field[n] == ':'))
			return 1;
	}
	return 0;
}

/* Writes the fields of the form; is From among them? */
static int
put_form_fields(struct dsn *d, char *subject, size_t size)
{
	char line[FORM_LINE], *value, *colon;
	int from = 0, sub;

	rewind(d->form);
	while (form_next(d->form, line)) {
		value = line + 4;
		sub = form_value(line, "SUB") != NULL;
		if (sub || common(value, "subject:") == 8) {
			text_fmt(subject, size, "%s", sub ? value : value + 8 +
			    strspn(value + 8, " \t"));
			continue;
		}
		if (!form_is_field(value) || is_ours(value))
			continue;
		colon = strchr(value, ':');
		*colon = '\0';
		dsn_field(d->post.f, value, colon + 1);
		from |= common(value, "from") == 4 && value[4] == '\0';
	}
	return from;
}

void
dsn_header(struct dsn *d, const char *sender, const char *subject,
    const char *rest, const char *more)
{
	/* the file number of a DSN that is gone may be used again */
	static unsigned long count;
	char ours[FORM_LINE], line[FORM_LINE + 300];
	const char *to = can_get_dsn(sender) ? sender : "postmaster";
	FILE *f = d->post.f;
	int from = 0, bare = addr_domain(to) == NULL;

	text_fmt(ours, sizeof(ours), "%s", subject);
	if (d->form != NULL)
		from = put_form_fields(d, ours, sizeof(ours));
	if (!from)
		fprintf(f, "From: Mail Delivery <postmaster@%s>\n", d->name);
	fprintf(f, "To:\n <%s%s%s>\n", to, bare ? "@" : "",
	    bare ? d->name : "");
	text_fmt(line, sizeof(line), "%s%s", ours, rest);
	dsn_field(f, "Subject", line);
	fputs(more, f);
	fprintf(f, "Date: %s\n", dsn_date((long)now.wall));
	fprintf(f, "Message-ID:\n <%lu.%lu.%lu.%lu@%s>\n",
	    (unsigned long)now.wall, (unsigned long)getpid(), d->post.num,
	    count++, d->name);
	fputs("Auto-Submitted: auto-replied\nMIME-Version: 1.0\n", f);
	fprintf(f, "Content-Type: multipart/report; "
	    "report-type=delivery-status;\n\tboundary=\"%s\"\n", d->boundary);
	if (d->eight || d->text_eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
}

void
dsn_part(struct dsn *d, const char *type, int eight)
{
	FILE *f = d->post.f;

	fprintf(f, "\n--%s\nContent-Type: %s\n", d->boundary, type);
	if (eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
	putc('\n', f);
}

int
dsn_people(struct dsn *d)
{
	struct dsn_copy form;

	dsn_part(d, d->text_eight ? "text/plain; charset=utf-8" :
	    "text/plain; charset=us-ascii", d->text_eight);
	if (d->form == NULL) {
		fprintf(d->post.f, "This is the mail system of %s.\n", d->name);
		return 0;
	}
	dsn_copy(&form, d->boundary, d->post.f, LONG_MAX);
	dsn_form(&form, d->form);
	return 1;
}

void
dsn_end(struct dsn *d)
{
	fprintf(d->post.f, "\n--%s--\n", d->boundary);
}

/* ---- confinement (OpenBSD) ------------------------------------------ */

int
dsn_confine(const char *forms, const char *router)
{
	unveil(forms, "r");
	unveil("..", "rwc");
	unveil("/dev/urandom", "r");
	if (*router != '\0')
		unveil(router, "w");
	return pledge("stdio rpath wpath cpath fattr flock unix", NULL);
}
