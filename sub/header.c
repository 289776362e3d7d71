/*
 * header.c - reads a message and completes its header.
 *
 * A message is read byte by byte.  If the first line ends in CR LF, other lines
 * may end in CR LF, too.  A line with a single dot may be the end.  The header
 * is kept in memory, up to a limit; the body is only copied.
 *
 * The header ends at the first empty line, or before the first line that is no
 * field.  Such a line begins the body, and an empty line is put before it.  The
 * line may have any length, as its first bytes show that it is no field.  A
 * first line "From ..." comes from a mailbox and is removed.  NUL bytes in the
 * header are removed, and a CR within a line becomes a blank.
 *
 * The header is completed: Bcc, Resent-Bcc, Return-Path and Content-Length are
 * removed; missing From, Date and Message-ID are added, and To if both To and
 * Cc are missing; addresses in From get a domain if the message has no Received
 * field; a Received field is put before all others.
 * In the queue, From, Sender and Reply-To have the addresses that lines of the
 * table give to senders.  No other field is changed, not even a wrong Date.
 */
#include "submit.h"
#include <ctype.h>
#ifndef NO_PWD
#include <pwd.h>
#endif

#define HEAD_MOST	(256L * 1024)	/* bytes of a header */
#define NAME_MOST	1000		/* bytes of a field's name */
#define EDITS_MOST	100	/* addresses of a field that are replaced */

/* ---- bytes ----------------------------------------------------------- */

void
in_start(struct input *in, FILE *f, enum dots dots)
{
	memset(in, 0, sizeof(*in));
	in->f = f;
	in->dots = dots;
}

static int
read_raw_byte(struct input *in)
{
	int c;

	if (in->npush > 0)
		return in->push[--in->npush];
	c = in->next != NULL ? in->next() : getc(in->f);
	in->taken += c != EOF;
	return c;
}

static void
unread_byte(struct input *in, int c)
{
	if (c != EOF)
		in->push[in->npush++] = c;
}

/* Returns 1 if the line ends behind the dot that was read. */
static int
is_dot_alone(struct input *in)
{
	int c = read_raw_byte(in), d;

	if ((c == '\n' && in->eol != EOL_STRICT) ||
	    (c == EOF && in->dots == DOTS_END))
		return 1;
	if (c == '\r') {
		d = read_raw_byte(in);
		if (d == '\n' || (d == EOF && in->dots == DOTS_END))
			return 1;
		unread_byte(in, d);
	}
	unread_byte(in, c);
	return 0;
}

int
in_read(struct input *in)
{
	int c, d, bare = 0;

	if (in->ended)
		return EOF;
	c = read_raw_byte(in);
	if (c == '.' && in->dots != DOTS_TEXT && !in->inside) {
		in->dotted = is_dot_alone(in);
		if (in->dotted)
			c = EOF;
		else if (in->dots == DOTS_SMTP)
			c = read_raw_byte(in);
	}
	if (c == '\r' && in->eol != EOL_LF) {
		d = read_raw_byte(in);
		if (d == '\n') {
			if (in->eol == EOL_UNKNOWN)
				in->eol = EOL_CRLF;
			c = d;
		} else {
			unread_byte(in, d);
			bare = in->eol == EOL_STRICT;
		}
	} else if (c == '\n') {
		bare = in->eol == EOL_STRICT;
		if (in->eol == EOL_UNKNOWN)
			in->eol = EOL_LF;
	}
	in->bare |= bare;
	in->inside = c != '\n' || bare;
	in->ended = c == EOF;
	return c;
}

const char *
in_fault(const struct input *in)
{
	if (in->bare)
		return "a bare CR or LF is in it";
	if (in->ended && in->dots == DOTS_SMTP && !in->dotted)
		return "the dot at its end is missing";
	return ferror(in->f) ? strerror(errno) : NULL;
}

enum copied
in_copy(struct input *in, FILE *f, int last, unsigned long most)
{
	unsigned long n = 0;
	int c;

	while ((c = in_read(in)) != EOF) {
		if (n++ == most && most != 0)
			return COPY_TOO_BIG;
		if (putc(c, f) == EOF)
			return COPY_FAILED;
		last = c;
	}
	if (last != '\n')
		putc('\n', f);
	return ferror(f) || in_fault(in) != NULL ? COPY_FAILED : COPY_DONE;
}

/* ---- reading the header ---------------------------------------------- */

/* Adds a byte: NULL, or what is wrong. */
static const char *
add_byte(struct header *h, int c)
{
	/* with room for the NUL */
	if (mem_grow((void **)&h->s, (unsigned)h->n + 1, &h->room, 1) < 0)
		return "there is no memory for the header";
	h->s[h->n++] = (char)c;
	h->s[h->n] = '\0';
	return NULL;
}

/* Returns NULL, or what is wrong.  Removed bytes count, too: a file may have a
 * huge hole, which is read as NULs, and NULs are removed. */
static const char *
length_fault(const struct header *h)
{
	return h->n + h->dropped > HEAD_MOST + h->slack ?
	    "the header is longer than 256 KB" : NULL;
}

/* Reads the rest of a line of the header: NULL, or what is wrong. */
static const char *
add_line(struct header *h, struct input *in)
{
	const char *why = NULL;
	int c;

	do {
		c = in_read(in);
		if (c == EOF)
			c = '\n';
		if (c != '\0')
			why = add_byte(h, c == '\r' ? ' ' : c);
		else
			h->dropped++;
		if (why == NULL)
			why = length_fault(h);
	} while (c != '\n' && why == NULL);
	return why;
}

/* Returns 1 if the next line is a field.  Reads into h->rest the bytes that
 * show this. */
static int
is_next_field(struct header *h, struct input *in)
{
	int c, blank = 0;

	h->nrest = 0;
	while (h->nrest < NAME_MOST && (c = in_read(in)) != EOF) {
		h->rest[h->nrest++] = (char)c;
		if (c == ' ' || c == '\t') {
			if (h->nrest == 1)
				return h->n > 0;	/* a folded field */
			blank = 1;
		} else if (c == ':') {
			return h->nrest > 1;
		} else if (blank || c < 33 || c > 126) {
			return 0;
		}
	}
	return 0;
}

/* After is_next_field, returns 1 if the next line begins with "From ", as in a
 * mailbox, and no field came before it. */
static int
is_next_from_line(const struct header *h)
{
	return h->n == 0 && h->nrest >= 6 &&
	    (memcmp(h->rest, "From ", 5) == 0 ||
	    memcmp(h->rest, ">From ", 6) == 0);
}

const char *
head_read(struct header *h, struct input *in)
{
	const char *why;
	size_t i;
	int has_name;	/* the line is a field */

	why = add_byte(h, '\0');	/* h->s is always a string */
	h->n = 0;
	while (why == NULL) {
		h->body = in->taken - (unsigned long)in->npush;
		has_name = is_next_field(h, in);
		if (!has_name && !is_next_from_line(h))
			break;
		for (i = 0; why == NULL && i < h->nrest; i++)
			why = add_byte(h, (unsigned char)h->rest[i]);
		h->nrest = 0;
		if (why == NULL && h->s[h->n - 1] != '\n')
			why = add_line(h, in);
		if (!has_name) {
			h->dropped += h->n;
			h->n = 0;
			h->s[0] = '\0';
			why = why == NULL ? length_fault(h) : why;
		}
	}
	if (why == NULL && h->nrest == 1 && h->rest[0] == '\n') {
		h->nrest = 0;
		h->body = in->taken - (unsigned long)in->npush;
	}
	return why;
}

void
head_free(struct header *h)
{
	free(h->s);
	memset(h, 0, sizeof(*h));
}

/* ---- fields ---------------------------------------------------------- */

const char *
head_end(const char *p)
{
	do {
		p += strcspn(p, "\n");
		p += *p == '\n';
	} while (*p == ' ' || *p == '\t');
	return p;
}

const char *
head_value(const char *field)
{
	return field + strcspn(field, ":") + 1;
}

/* Returns 1 if the field has this name. */
static int
is_field(const char *p, const char *name)
{
	size_t n = strlen(name);

	return ctl_is_word(p, n, name) && p[n + strspn(p + n, " \t")] == ':';
}

const char *
head_find(const struct header *h, const char *after, const char *name)
{
	const char *p = after == NULL ? h->s : head_end(after);

	while (*p != '\0' && !is_field(p, name))
		p = head_end(p);
	return *p == '\0' ? NULL : p;
}

const char *
head_word(const struct header *h, const char *name, size_t *n)
{
	const char *p = head_find(h, NULL, name);

	p = p == NULL ? "" : head_value(p);
	p += strspn(p, " \t\r\n");
	*n = strcspn(p, " \t\r\n");
	return p;
}

int
head_count_hops(const struct header *h)
{
	const char *p = NULL;
	int n = 0;

	while ((p = head_find(h, p, "received")) != NULL)
		n++;
	return n;
}

static int
add_text(struct header *h, const char *s)
{
	const char *why = NULL;

	while (*s != '\0' && why == NULL)
		why = add_byte(h, (unsigned char)*s++);
	return why == NULL ? 0 : -1;
}

/* Removes the fields that must not leave with the message.  A Content-Length is
 * no longer right, and readers of an mbox would believe it. */
static void
drop_private(struct header *h)
{
	char *p = h->s, *to = h->s;
	const char *end;
	size_t n;

	for (; *p != '\0'; p += n) {
		end = head_end(p);
		n = (size_t)(end - p);
		if (is_field(p, "bcc") || is_field(p, "resent-bcc") ||
		    is_field(p, "return-path") ||
		    is_field(p, "content-length"))
			continue;
		memmove(to, p, n);
		to += n;
	}
	*to = '\0';
	h->n = (size_t)(to - h->s);
}

/* ---- completing the header ------------------------------------------- */

/* Returns the minutes by which local time is ahead of UTC. */
static int
zone_minutes(const struct tm *here, const struct tm *utc)
{
	int days = here->tm_yday - utc->tm_yday;

	if (here->tm_year != utc->tm_year)
		days = here->tm_year > utc->tm_year ? 1 : -1;
	return (days * 24 + here->tm_hour - utc->tm_hour) * 60 +
	    here->tm_min - utc->tm_min;
}

static void
add_date(struct text *t, time_t when)
{
	struct tm utc, here, *tm;
	char date[40];
	int ahead;

	tm = gmtime(&when);
	memset(&utc, 0, sizeof(utc));
	if (tm != NULL)
		utc = *tm;
	tm = localtime(&when);
	here = tm != NULL ? *tm : utc;
	ahead = zone_minutes(&here, &utc);
	strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S", &here);
	text_add(t, "%s %c%02d%02d", date, ahead < 0 ? '-' : '+',
	    abs(ahead) / 60, abs(ahead) % 60);
}

/* Adds a full name, in quotes if it needs them. */
static void
add_quoted_name(struct text *t, const char *s)
{
	int quoted = strpbrk(s, "()<>[]:;@\\,.\"") != NULL;

	if (quoted)
		text_add(t, "\"");
	for (; *s != '\0'; s++) {
		if (quoted && (*s == '"' || *s == '\\'))
			text_add(t, "\\");
		text_add(t, "%c", iscntrl((unsigned char)*s) ? ' ' : *s);
	}
	text_add(t, quoted ? "\" " : " ");
}

static void
add_from_field(struct text *t, const struct author *a, const char *sender,
    const char *domain)
{
	text_add(t, "From: ");
	if (a->full[0] != '\0')
		add_quoted_name(t, a->full);
	if (sender[0] != '\0')
		text_add(t, "<%s>\n", sender);
	else
		text_add(t, "<%s@%s>\n", a->login, domain);
}

/* Puts the text in the place of n bytes at this offset: 0, or -1 without
 * memory. */
static int
replace_bytes(struct header *h, size_t at, size_t n, const char *s)
{
	size_t all = h->n, len = strlen(s);

	if (add_text(h, s) < 0)
		return -1;
	memmove(h->s + at + len, h->s + at + n, all - at - n);
	memcpy(h->s + at, s, len);
	h->n = all - n + len;
	h->s[h->n] = '\0';
	return 0;
}

/* Edits the field at this offset, as head_edit. */
static int
edit_field(struct header *h, size_t field,
    int (*edit)(const void *, const char *addr, char *to), const void *arg)
{
	size_t at = (size_t)(head_value(h->s + field) - h->s), first, old;
	size_t end = (size_t)(head_end(h->s + field) - h->s);
	struct addr_list l;
	char to[ADDR_SIZE];
	int n = 0;

	while (n < EDITS_MOST) {
		addr_start(&l, h->s + at, h->s + end);
		if (!addr_next(&l))
			break;
		at = (size_t)(l.p - h->s);
		if (l.why != NULL || edit(arg, l.addr, to) < 0)
			continue;
		first = (size_t)(l.from - h->s);
		old = (size_t)(l.to - l.from);
		if (replace_bytes(h, first, old, to) < 0)
			return -1;
		at += strlen(to) - old;
		end += strlen(to) - old;
		n++;
	}
	return 0;
}

int
head_edit(struct header *h, const char *name,
    int (*edit)(const void *, const char *addr, char *to), const void *arg)
{
	const char *p = NULL;
	size_t at;

	while ((p = head_find(h, p, name)) != NULL) {
		at = (size_t)(p - h->s);
		if (edit_field(h, at, edit, arg) < 0)
			return -1;
		p = h->s + at;
	}
	return 0;
}

/* Adds the domain to an address without one, for head_edit: 0, or -1 if the
 * address is not to be changed. */
static int
add_domain(const void *domain, const char *addr, char *to)
{
	if (addr_domain(addr) != NULL || addr_pipe_or_slash(addr))
		return -1;
	return text_fmt(to, ADDR_SIZE, "%s@%s", addr, (const char *)domain);
}

/* Puts a Received field before all others. */
static int
add_trace(struct header *h, const struct author *a, const char *domain,
    const char *id, time_t when)
{
	char line[1000];
	struct text t;

	text_init(&t, line, sizeof(line));
	text_add(&t, "Received: ");
	if (a->from[0] != '\0')
		text_add(&t, "from %s\n\t", a->from);
	text_add(&t, "by %s (submit, uid %ld)\n\tid %s; ", domain, a->uid,
	    id);
	add_date(&t, when);
	text_add(&t, "\n");
	return replace_bytes(h, 0, 0, line);
}

int
head_complete(struct header *h, const struct author *a, const char *sender,
    const char *domain, unsigned long num, const char *id)
{
	time_t when = time(NULL);
	char more[3 * ADDR_SIZE];
	struct text t;

	drop_private(h);
	/* cron, for one, writes "From: root".  A message with a Received field
	 * comes from another host, whose users are not ours. */
	if (head_count_hops(h) == 0 &&
	    head_edit(h, "from", add_domain, domain) < 0)
		return -1;
	text_init(&t, more, sizeof(more));
	if (head_find(h, NULL, "from") == NULL)
		add_from_field(&t, a, sender, domain);
	if (head_find(h, NULL, "date") == NULL) {
		text_add(&t, "Date: ");
		add_date(&t, when);
		text_add(&t, "\n");
	}
	if (head_find(h, NULL, "message-id") == NULL)
		text_add(&t, "Message-ID: <%ld.%lu.%ld@%s>\n", (long)when,
		    num, (long)getpid(), *domain == '[' ? "localhost" :
		    domain);
	if (head_find(h, NULL, "to") == NULL &&
	    head_find(h, NULL, "cc") == NULL)
		text_add(&t, "To: undisclosed-recipients:;\n");
	if (add_text(h, more) < 0)
		return -1;
	return id == NULL ? 0 : add_trace(h, a, domain, id, when);
}

/* ---- the author ------------------------------------------------------ */

#ifndef NO_PWD
/* Sets the full name to the first part of the comment field, where '&' stands
 * for the login name. */
static void
set_full_name(struct author *a, const char *gecos)
{
	struct text t;

	text_init(&t, a->full, sizeof(a->full));
	for (; *gecos != '\0' && *gecos != ','; gecos++)
		if (*gecos == '&')
			text_add(&t, "%c%s", toupper((unsigned char)
			    a->login[0]), a->login + 1);
		else
			text_add(&t, "%c", *gecos);
}
#endif

int
head_author(struct author *a, long uid)
{
#ifndef NO_PWD
	struct passwd *pw = user_find(NULL, uid);

	if (pw == NULL && errno != 0) {
		say("the user %ld cannot be looked up: %s", uid,
		    strerror(errno));
		return -1;
	}
#endif
	memset(a, 0, sizeof(*a));
	a->uid = uid;
	text_fmt(a->login, sizeof(a->login), "uid%ld", uid);
#ifndef NO_PWD
	if (pw == NULL || pw->pw_name[0] == '-' || pw->pw_name[strspn(
	    pw->pw_name, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")] != '\0' ||
	    strlen(pw->pw_name) >= sizeof(a->login))
		return 0;
	strcpy(a->login, pw->pw_name);
	if (pw->pw_gecos != NULL)
		set_full_name(a, pw->pw_gecos);
#endif
	return 0;
}
