/*
 * dsn.c - a report of what became of mail, in writing.
 *
 * The report is an error message in the router's format, with an envelope of
 * its own and no sender, and in it a multipart/report (RFC 3462): a text for
 * people, the same for programs (RFC 3464), and the message that it is about.
 * Of that, the body is returned only where something failed, the sender wanted
 * no less, and it is not too long; the text says when it is not.  A report of
 * several messages returns none of them.
 *
 * The text can be a postmaster's: the forms delivery and delay (form.c).
 *
 * Nothing that comes from an agent or a message can be more than text.  Lines
 * of the text for people that are not ours begin with blanks; fields are put
 * word by word in printable ASCII and folded; and the boundary is chosen so
 * that what is copied does not have it.  What is not valid UTF-8, and control
 * bytes, are shown as question marks.
 *
 * What goes into a report is bounce.c's matter.  It is written piece by piece,
 * from the control files, and nothing of it is kept.
 */
#include "scheduler.h"
#include "lib/form.h"
#include "lib/post.h"
#include <ctype.h>
#include <sys/utsname.h>

#define HEAD_MOST	65536L	/* bytes of a header that are returned */
#define LINE_MOST	998	/* bytes in a line that mail can carry */
#define PIECE_MOST	900	/* ... in one that was made shorter */
#define VALUE_MOST	4000	/* bytes of a value */
#define ADDRESS_MOST	500	/* bytes of a sender that can be told */

static const struct {
	const char *word;	/* RFC 3464 */
	const char *label;	/* in the subject */
	const char *text;
} deeds[] = {
	{ "failed", "FAILED",
	    "It was not delivered, and will not be, to" },
	{ "delayed", "DELAYED", "It has not yet been delivered, but is still "
	    "being tried, to" },
	{ "relayed", "RELAYED-OK",
	    "It went on to a system that sends no such reports, for" },
	{ "delivered", "DELIVERED-OK", "It was delivered to" },
	{ "expanded", "EXPANDED-OK",
	    "It was delivered, and sent on to others, to" }
};

static char name[256] = "localhost";	/* of this machine */

void
dsn_name(const char *s)
{
	static struct utsname uts;

	if (s == NULL || *s == '\0')
		s = uname(&uts) < 0 ? "localhost" : uts.nodename;
	text_fmt(name, sizeof(name), "%s", s);
}

/* ---- the records ----------------------------------------------------- */

int
dsn_file(struct report *r, unsigned file)
{
	if (r->at == file + 1)
		return 0;
	dsn_close(r);
	if (nt_open(&r->nt, r->files[file]) < 0) {
		if (errno != ENOENT)
			log_err("bounce msg=%s cannot be opened: %s",
			    r->files[file], strerror(errno));
		return -1;
	}
	r->at = file + 1;
	return 0;
}

void
dsn_close(struct report *r)
{
	if (r->at != 0)
		nt_close(&r->nt);
	r->at = 0;
}

/* Reads the item again; what was said of it is left in r->said: 0 or -1. */
static int
recall(struct report *r, const struct item *it)
{
	if (dsn_file(r, it->file) < 0 || nt_rcpt(&r->nt, it->off) < 0)
		return -1;
	if (it->deed == DEED_DELAYED)
		r->said = r->why(r->arg, r->nt.rc.channel, r->nt.rc.host,
		    it->off);
	else if (nt_diag(&r->nt, it->at) < 0)
		return -1;
	else
		r->said = r->nt.text;
	return 0;
}

/* A later line on the same recipient takes the place of an earlier one. */
static int
is_stale(const struct report *r, unsigned i)
{
	return i + 1 < r->n && r->items[i].file == r->items[i + 1].file &&
	    r->items[i].off == r->items[i + 1].off;
}

/* The reason within what we, or ZMailer, say of something that was too old, or
 * ended as if it were: NULL when it is none of these. */
static const char *
expired_by(const struct report *r, const struct item *it)
{
	const char *s = r->said + strspn(r->said, "\r"), *p;

	if (it->deed != DEED_FAILED ||
	    (strncmp(s, "expired after ", 14) != 0 &&
	    strncmp(s, "ended by the postmaster after ", 30) != 0))
		return NULL;
	p = strstr(s, REASON_MARK);
	if (p == NULL)
		return "";
	p += sizeof(REASON_MARK) - 1;
	return p + strspn(p, "\r ");
}

/* ---- the message that it is about ------------------------------------ */

/* copy: text on its way, looked at and perhaps written. */
struct copy {
	FILE	*f;		/* where it goes, NULL: nowhere */
	const char *word;	/* what must not occur; its first byte occurs
				 * once in it */
	int	at;		/* bytes of it seen */
	int	found, eight;	/* it occurs; there are bytes above 127 */
	int	awkward, wide;	/* no mail can carry it as it is: it is not
				 * text; a line is too long */
	int	last;		/* byte */
	int	fold;		/* it is a header, and lines are made shorter */
	long	col;		/* bytes in the line so far */
	long	size, whole;	/* bytes, bytes up to the last line's end */
	long	most;		/* bytes that are wanted */
};

static void
copy_start(struct copy *c, const char *word, FILE *f, long most)
{
	memset(c, 0, sizeof(*c));
	c->word = word;
	c->f = f;
	c->most = most;
}

/* Before b, goes on in a new line if this is long enough: at a blank, if there
 * is one in time, and not within a character of UTF-8. */
static void
copy_fold(struct copy *c, int b)
{
	int blank = b == ' ' || b == '\t';
	int more = b >= 0xf0 ? 3 : b >= 0xe0 ? 2 : b >= 0xc0;

	if (b == '\n' || c->col < PIECE_MOST ||
	    (!blank && c->col + more < LINE_MOST))
		return;
	fputs(blank ? "\n" : "\n ", c->f);
	c->col = !blank;
}

static void
copy_byte(struct copy *c, int b)
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

/* The header at hand, most bytes of it: 0 or -1. */
static int
copy_head(struct copy *c, const struct report *r)
{
	char buf[4096];
	long n, i;
	int bol = 1;

	if (r->hdr < 0)
		return 0;
	if (lseek(r->nt.fd, (off_t)r->hdr, SEEK_SET) < 0)
		return -1;
	while ((n = (long)read(r->nt.fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++) {
			if ((bol && buf[i] == '\n') || c->size == c->most)
				return 0;
			bol = buf[i] == '\n';
			copy_byte(c, (unsigned char)buf[i]);
		}
	return n < 0 ? -1 : 0;
}

static int
copy_body(struct copy *c, const struct report *r)
{
	char path[PATH_MAX_], buf[8192];
	struct stat st;
	long n = -1, i;
	int fd;

	text_fmt(path, sizeof(path), "../queue/%s", r->nt.name);
	fd = fd_plain(path, O_RDONLY, &st);
	if (fd < 0)
		return -1;
	if (lseek(fd, (off_t)r->nt.body, SEEK_SET) >= 0)
		while ((n = (long)read(fd, buf, sizeof(buf))) > 0 &&
		    c->size <= c->most)
			for (i = 0; i < n; i++)
				copy_byte(c, (unsigned char)buf[i]);
	close(fd);
	return n < 0 ? -1 : 0;
}

/* Text that may be anything, in lines of bounded length. */
static void
copy_clean(struct copy *c, const char *s)
{
	size_t n;

	for (; *s != '\0'; s++) {
		if (c->col >= PIECE_MOST)
			copy_byte(c, '\n');
		n = safe_utf8(s);
		for (; n > 1; n--)
			copy_byte(c, (unsigned char)*s++);
		if (n == 1 || *s == '\n' || *s == '\t' ||
		    (*s >= ' ' && *s < 127))
			copy_byte(c, (unsigned char)*s);
		else if (*s != '\r')
			copy_byte(c, '?');
	}
}

static void
copy_form(struct copy *c, FILE *form)
{
	char line[FORM_LINE];

	rewind(form);
	while (form_next(form, line))
		;
	do
		copy_clean(c, line);
	while (fgets(line, (int)sizeof(line), form) != NULL);
	if (c->col > 0)
		copy_byte(c, '\n');
}

/* ---- before anything is written -------------------------------------- */

/* draft: what has to be known of a report first. */
struct draft {
	struct post post;
	FILE	*form;		/* or NULL */
	char	boundary[60];
	long	head;		/* bytes of the header that are returned */
	int	cut;		/* ... and it had more */
	int	fold;		/* ... with lines that are too long */
	const char *less;	/* why the body is not returned; NULL: it is */
	int	eight;		/* the message has bytes above 127 ... */
	int	text_eight;	/* ... the text for people has */
	long	arrived;	/* wall, 0: not known */
	unsigned long count[DEEDS];
};

/* Looks at all that is copied: 1 when it has the boundary, 0, or -1. */
static int
look(struct draft *d, const struct report *r)
{
	struct copy head, form, body;

	copy_start(&form, d->boundary, NULL, LONG_MAX);
	if (d->form != NULL)
		copy_form(&form, d->form);
	d->text_eight |= form.eight;
	copy_start(&head, d->boundary, NULL, HEAD_MOST);
	copy_start(&body, d->boundary, NULL, q.config->bouncesize);
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
	d->eight = head.eight || (d->less == NULL && body.eight);
	return form.found || head.found || body.found;
}

/* Chooses a boundary that occurs in nothing that is copied: 0 or -1. */
static int
choose_boundary(struct draft *d, const struct report *r)
{
	const char *base = strrchr(r->files[0], '/');
	unsigned long num = num_of(base == NULL ? r->files[0] : base + 1,
	    NULL);
	int found;

	text_fmt(d->boundary, sizeof(d->boundary), "=_%lu.0", num);
	while ((found = look(d, r)) > 0)
		text_fmt(d->boundary, sizeof(d->boundary), "=_%lu.%lu.%lu",
		    num, rnd(1000000000UL), rnd(1000000000UL));
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
		d->count[r->items[i].deed]++;
		d->text_eight |= safe_has_utf8(r->said) ||
		    safe_has_utf8(r->nt.rc.user);
	}
	for (i = 0; i < r->nfiles; i++) {
		if (dsn_file(r, i) < 0)
			return -1;
		d->text_eight |= safe_has_utf8(r->nt.id);
	}
	d->text_eight |= safe_has_utf8(r->sender);
	if (dsn_file(r, 0) < 0)
		return -1;
	if (r->nt.hdrs || d->count[DEED_FAILED] == 0)
		d->less = "";	/* nobody asked for it */
	text_fmt(path, sizeof(path), "../queue/%s", r->files[0]);
	if (stat(path, &st) == 0 && (long)st.st_mtime >= SANE_WALL &&
	    *safe_date((long)st.st_mtime) != '\0')
		d->arrived = (long)st.st_mtime;
	return 0;
}

/* ---- envelope and header --------------------------------------------- */

/* Can this sender be told?  One that is a program or a file, or would not stay
 * within its brackets, cannot; the postmaster is told then.  A blank is part of
 * an address within quotes alone. */
static int
can_be_told(const char *address)
{
	const char *p = address + strspn(address, "\\\" ");
	int quoted = 0;

	if (*p == '\0' || strchr("|/-:", *p) != NULL ||
	    strlen(address) > ADDRESS_MOST)
		return 0;
	for (p = address; *p != '\0'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		if ((!isgraph((unsigned char)*p) && !(quoted && *p == ' ')) ||
		    *p == '<' || *p == '>')
			return 0;
	}
	return !quoted;
}

static void
put_to(FILE *f, const char *address, size_t n)
{
	static const char hex[] = "0123456789ABCDEF";
	size_t i;
	int c;

	fputs("todsn ORCPT=rfc822;", f);
	for (i = 0; i < n; i++) {
		c = (unsigned char)address[i];
		if (c > ' ' && c < 127 && c != '+' && c != '=')
			putc(c, f);
		else
			fprintf(f, "+%c%c", hex[c >> 4], hex[c & 15]);
	}
	fprintf(f, "\nto <%.*s>\n", (int)n, address);
}

static void
put_envelope(struct draft *d, const struct report *r)
{
	char line[FORM_LINE], *value;
	const char *address;
	FILE *f = d->post.f;
	size_t n;

	fputs("channel error\nerrormsg\n", f);
	if (can_be_told(r->sender))
		put_to(f, r->sender, strlen(r->sender));
	else if (r->sender[0] != '\0')
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

/* Fields that are ours alone. */
static int
is_ours(const char *field)
{
	static const char *const ours[] = { "to", "date", "message-id",
	    "auto-submitted", "mime-version", "content-" };
	size_t i, n;

	for (i = 0; i < sizeof(ours) / sizeof(ours[0]); i++) {
		for (n = 0; ours[i][n] != '\0' && ours[i][n] ==
		    tolower((unsigned char)field[n]); )
			n++;
		if (ours[i][n] == '\0' && (ours[i][n - 1] == '-' ||
		    field[n] == ':'))
			return 1;
	}
	return 0;
}

/* The fields of the form: does it have the sender's? */
static int
put_form_fields(struct draft *d, char *subject, size_t size)
{
	char line[FORM_LINE], *value, *colon;
	int from = 0;

	rewind(d->form);
	while (form_next(d->form, line)) {
		value = line + 4;
		if (form_value(line, "SUB") != NULL) {
			text_fmt(subject, size, "%s", value);
			continue;
		}
		if (!form_is_field(value) || is_ours(value))
			continue;
		colon = strchr(value, ':');
		*colon = '\0';
		safe_field(d->post.f, value, colon + 1);
		from |= strlen(value) == 4 && tolower(value[0]) == 'f' &&
		    tolower(value[1]) == 'r' && tolower(value[2]) == 'o' &&
		    tolower(value[3]) == 'm';
	}
	return from;
}

static void
put_subject(struct draft *d, const char *subject)
{
	char line[FORM_LINE + 300];
	struct text t;
	int i, n = 0;

	text_init(&t, line, sizeof(line));
	text_add(&t, "%s ", subject);
	for (i = 0; i < DEEDS; i++)
		if (d->count[i] > 0)
			text_add(&t, "%s%s(%lu)", n++ > 0 ? "," : "[",
			    deeds[i].label, d->count[i]);
	text_add(&t, "]");
	safe_field(d->post.f, "Subject", line);
}

static void
put_header(struct draft *d, const struct report *r)
{
	char subject[FORM_LINE];
	FILE *f = d->post.f;
	const char *to;
	int from = 0;

	text_fmt(subject, sizeof(subject), "%s", r->sender[0] == '\0' ?
	    "Undeliverable report" : d->count[DEED_FAILED] > 0 ?
	    "Undeliverable mail" : d->count[DEED_DELAYED] > 0 ?
	    "Delayed mail" : "Delivered mail");
	if (d->form != NULL)
		from = put_form_fields(d, subject, sizeof(subject));
	if (!from)
		fprintf(f, "From: Mail Delivery <postmaster@%s>\n", name);
	to = can_be_told(r->sender) ? r->sender : "postmaster";
	fprintf(f, "To:\n <%s%s%s>\n", to, strchr(to, '@') == NULL ? "@" : "",
	    strchr(to, '@') == NULL ? name : "");
	put_subject(d, subject);
	if (r->sender[0] == '\0')
		fputs(NT_TWICE ": yes\n", f);
	fprintf(f, "Date: %s\n", safe_date((long)now.wall));
	fprintf(f, "Message-ID:\n <%lu.%lu.%lu@%s>\n", (unsigned long)now.wall,
	    (unsigned long)getpid(), d->post.num, name);
	fputs("Auto-Submitted: auto-replied\nMIME-Version: 1.0\n", f);
	fprintf(f, "Content-Type: multipart/report; "
	    "report-type=delivery-status;\n\tboundary=\"%s\"\n", d->boundary);
	if (d->eight || d->text_eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
}

/* Begins a part. */
static void
put_part(struct draft *d, const char *type, int eight)
{
	FILE *f = d->post.f;

	fprintf(f, "\n--%s\nContent-Type: %s\n", d->boundary, type);
	if (eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
	putc('\n', f);
}

/* ---- for people ------------------------------------------------------ */

/* What became of the recipients of a file, kind by kind: 0 or -1. */
static int
put_list(FILE *f, struct report *r, unsigned file)
{
	unsigned i, n;
	int deed;

	for (deed = 0; deed < DEEDS; deed++)
		for (i = n = 0; i < r->n; i++) {
			const struct item *it = &r->items[i];

			if (it->file != file || (int)it->deed != deed ||
			    is_stale(r, i))
				continue;
			if (recall(r, it) < 0)
				return -1;
			if (n++ == 0)
				fprintf(f, "\n%s:\n", deeds[deed].text);
			putc('\n', f);
			safe_text(f, r->nt.rc.user, "  ");
			safe_text(f, r->said, "      ");
		}
	return 0;
}

static void
put_which(FILE *f, const struct report *r, long arrived)
{
	if (r->nt.id[0] != '\0')
		safe_text(f, r->nt.id, "  ");
	if (arrived != 0)
		fprintf(f, "  which came here on %s\n", safe_date(arrived));
}

static void
put_rest(FILE *f, const struct draft *d, const struct report *r)
{
	if (r->nfiles > 1) {
		fputs("\nThese reports were put together; the messages are "
		    "not returned.\n", f);
		return;
	}
	fprintf(f, "\nA part for programs follows, then %s.\n",
	    d->less == NULL ? "the message" : "its header");
	if (d->less != NULL && *d->less != '\0')
		fprintf(f, "The message itself is not returned, since %s.\n",
		    d->less);
	if (d->cut)
		fputs("Of its header, only the beginning is.\n", f);
	if (d->fold)
		fputs("Long lines of its header were folded.\n", f);
}

static int
put_people(struct draft *d, struct report *r)
{
	FILE *f = d->post.f;
	struct copy form;
	unsigned file;

	put_part(d, d->text_eight ? "text/plain; charset=utf-8" :
	    "text/plain; charset=us-ascii", d->text_eight);
	if (d->form != NULL) {
		copy_start(&form, d->boundary, f, LONG_MAX);
		copy_form(&form, d->form);
	} else {
		fprintf(f, "This is the mail system of %s.\n", name);
	}
	if (r->sender[0] == '\0')
		fputs("\nThis message is a report itself, or has no sender to "
		    "be told.  It is kept in\nthe directory postman.\n", f);
	else if (!can_be_told(r->sender)) {
		fputs("\nThis could not be sent to the sender:\n\n", f);
		safe_text(f, r->sender, "  ");
	}
	for (file = 0; file < r->nfiles; file++) {
		if (dsn_file(r, file) < 0)
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

/* Digits at s as of RFC 3463: their number of bytes, 0: it is no status. */
static size_t
status_len(const char *s)
{
	size_t n = 1, i, part;

	if (strchr("245", *s) == NULL || *s == '\0')
		return 0;
	for (part = 0; part < 2; part++) {
		if (s[n] != '.')
			return 0;
		for (i = 0; isdigit((unsigned char)s[n + 1 + i]); )
			i++;
		if (i < 1 || i > 3)
			return 0;
		n += 1 + i;
	}
	return n;
}

/* A status as a word of a text: not a part of a number or of 10.4.2.1. */
static const char *
find_status(const char *text, const char *first, size_t *n)
{
	const char *s;
	int before = ' ';

	for (s = text; *s != '\0'; before = (unsigned char)*s++) {
		if (isalnum(before) || before == '.' ||
		    strchr(first, *s) == NULL || (*n = status_len(s)) == 0)
			continue;
		if (!isalnum((unsigned char)s[*n]) && !(s[*n] == '.' &&
		    isalnum((unsigned char)s[*n + 1])))
			return s;
	}
	*n = 0;
	return s;
}

/* The status that fits what became of it: from the agent's field, or from its
 * words if it was put off. */
static void
put_status(FILE *f, const struct report *r, const struct item *it)
{
	static const char *const fits[] = { "45", "4", "2", "2", "2" };
	static const char *const plain[] = { "5.0.0", "4.0.0", "2.0.0",
	    "2.0.0", "2.0.0" };
	const char *s = r->nt.field[2];
	size_t n;

	if (it->deed == DEED_DELAYED) {
		s = find_status(r->said, fits[it->deed], &n);
	} else if (expired_by(r, it) != NULL) {
		s = "4.4.7";
		n = 5;
	} else {
		n = status_len(s);
	}
	if (n == 0 || strchr(fits[it->deed], *s) == NULL) {
		s = plain[it->deed];
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
		s = it->deed == DEED_DELAYED ? r->said : r->nt.field[3];
	else if (*s == '\0')
		s = r->said;
	if (*s == '\0')
		return;
	text_fmt(value, sizeof(value), "%s%s", safe_typed(s) ? "" : "x-local; ",
	    s);
	safe_field(f, "Diagnostic-Code", value);
}

/* Stamps are what somebody wrote into a file: no date comes of some. */
static void
put_date(FILE *f, const char *field, long t)
{
	const char *date = safe_date(t);

	if (*date != '\0')
		fprintf(f, "%s: %s\n", field, date);
}

/* When a delayed one is given up; not known where it never is. */
static void
put_until(FILE *f, const struct report *r, const struct draft *d)
{
	struct conf *c = cf_match(q.config, r->nt.rc.channel, r->nt.rc.host);

	if (c != NULL && c->v.expiry > 0 && d->arrived != 0)
		put_date(f, "Will-Retry-Until", d->arrived + c->v.expiry);
}

static void
put_recipient(struct draft *d, struct report *r, const struct item *it)
{
	char value[sizeof(r->nt.orcpt) + 10];
	FILE *f = d->post.f;
	const struct notary *nt = &r->nt;
	size_t n;

	putc('\n', f);
	if (safe_typed(nt->orcpt)) {
		n = strcspn(nt->orcpt, ";") + 1;
		text_fmt(value, sizeof(value), "%.*s ", (int)n, nt->orcpt);
		nt_xtext(nt->orcpt + n, strlen(nt->orcpt + n), value + n + 1,
		    sizeof(value) - n - 1);
		safe_field(f, "Original-Recipient", value);
	}
	safe_address(f, "Final-Recipient", nt->rc.user);
	fprintf(f, "Action: %s\n", deeds[it->deed].word);
	put_status(f, r, it);
	if (it->deed != DEED_DELAYED && safe_typed(nt->field[4]))
		safe_field(f, "Remote-MTA", nt->field[4]);
	put_diagnostic(f, r, it);
	if (it->deed == DEED_DELAYED)
		put_until(f, r, d);
	else if (nt->when >= SANE_WALL)
		put_date(f, "Last-Attempt-Date", nt->when);
	if (r->nfiles > 1 && nt->id[0] != '\0')
		safe_field(f, "X-Original-Message-ID", nt->id);
}

static int
put_programs(struct draft *d, struct report *r)
{
	char value[300];
	FILE *f = d->post.f;
	unsigned i;

	put_part(d, "message/delivery-status", 0);
	if (dsn_file(r, 0) < 0)
		return -1;
	if (r->nfiles == 1 && r->nt.envid[0] != '\0') {
		nt_xtext(r->nt.envid, strlen(r->nt.envid), value,
		    sizeof(value));
		safe_field(f, "Original-Envelope-Id", value);
	}
	fprintf(f, "Reporting-MTA: dns; %s\n", name);
	if (r->nfiles == 1 && d->arrived != 0)
		put_date(f, "Arrival-Date", d->arrived);
	if (r->nfiles == 1 && spool_id(r->files[0], value,
	    sizeof(value)) == 0)
		safe_field(f, "X-Local-Spool-ID", value);
	for (i = 0; i < r->n; i++) {
		if (is_stale(r, i))
			continue;
		if (recall(r, &r->items[i]) < 0)
			return -1;
		put_recipient(d, r, &r->items[i]);
	}
	return 0;
}

/* ---- all of it ------------------------------------------------------- */

static int
put_message(struct draft *d, struct report *r)
{
	struct copy c;

	if (r->nfiles > 1)
		return 0;
	put_part(d, d->less == NULL ? "message/rfc822" :
	    "text/rfc822-headers", d->eight);
	copy_start(&c, d->boundary, d->post.f, d->head);
	c.fold = d->fold;
	if (dsn_file(r, 0) < 0 || copy_head(&c, r) < 0)
		return -1;
	c.most = q.config->bouncesize;	/* it may have grown since it was seen */
	if (d->less == NULL) {
		putc('\n', d->post.f);
		if (copy_body(&c, r) < 0)
			return -1;
	}
	if (c.col > 0)
		putc('\n', d->post.f);
	return 0;
}

static int
put_all(struct draft *d, struct report *r)
{
	if (survey(d, r) < 0 || choose_boundary(d, r) < 0)
		return -1;
	put_envelope(d, r);
	put_header(d, r);
	if (put_people(d, r) < 0 || put_programs(d, r) < 0 ||
	    put_message(d, r) < 0)
		return -1;
	fprintf(d->post.f, "\n--%s--\n", d->boundary);
	return nt_error(&r->nt) != 0 ? -1 : 0;
}

FILE *
dsn_form(const char *form)
{
	char dir[PATH_MAX_];
	FILE *f;

	if (text_fmt(dir, sizeof(dir), "%s/forms", opt.mailshare) < 0)
		return NULL;
	f = form_open(dir, form);
	if (f == NULL && errno != ENOENT)
		log_warn("form file=%s/%s %s", dir, form, strerror(errno));
	return f;
}

int
dsn_write(struct report *r, struct post *p)
{
	static struct draft d;
	int bad, err;

	memset(&d, 0, sizeof(d));
	if (post_open(&d.post, "..", "bounce") < 0)
		return -1;
	d.form = dsn_form(r->why != NULL ? "delay" : "delivery");
	errno = EIO;		/* for a failure that sets none */
	bad = put_all(&d, r);
	err = errno;
	if (d.form != NULL)
		fclose(d.form);
	dsn_close(r);
	errno = err;
	if (bad)
		post_drop(&d.post);
	else
		bad = post_sync(&d.post);
	*p = d.post;
	return bad;
}
