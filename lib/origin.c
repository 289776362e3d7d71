/*
 * origin.c - reads from a control file who gets a DSN, on what, and how.
 *
 *	s smtp - anna@a.example 0	the sender of all that follows
 *	r local - fred 65534		fred's origin begins at the s line
 *	n QQ314
 *	r local - mary 65534		mary's is the same
 *	m				their header
 *	Subject: Hello
 *
 * The agents dsn and errormail use this module, mailq reads diagnostic lines
 * with it, and the scheduler does not use it.  submit and smtp write and check
 * xtext with it, and find the domains of addresses.
 *
 * The sender of a recipient is that of the last s or e line before it.  A
 * sender of the channel error is empty: the message is a DSN.  Recipients
 * between two lines that set a sender or begin a header share an origin.  Most
 * files have one origin.  The current one is kept, and a later one is searched
 * for behind it.
 */
#include "origin.h"
#include <ctype.h>

#define ADDRESS_MOST	500	/* bytes of a sender that can get a DSN */
#define DELAYS_MOST	9999UL	/* largest number in a delay field */

/* ---- words of RFC 3461, addresses ------------------------------------- */

void
xtext_read(const char *s, size_t n, char *to, size_t size)
{
	struct text t;
	char digits[3];
	int c;

	text_init(&t, to, size);
	for (; n > 0 && *s != '\0'; s++, n--) {
		c = *s;
		if (c == '+' && n > 2 && isxdigit((unsigned char)s[1]) &&
		    isxdigit((unsigned char)s[2])) {
			text_fmt(digits, sizeof(digits), "%.2s", s + 1);
			c = (int)strtol(digits, NULL, 16);
			s += 2;
			n -= 2;
		}
		/* a NUL would end the text early */
		text_add(&t, "%c", c == '\0' ? '?' : c);
	}
}

void
xtext_add(struct text *t, const char *s, size_t n)
{
	static const char hex[] = "0123456789ABCDEF";
	int c;

	for (; n > 0; s++, n--) {
		c = (unsigned char)*s;
		if (c > ' ' && c < 127 && c != '+' && c != '=')
			text_add(t, "%c", c);
		else
			text_add(t, "+%c%c", hex[c >> 4], hex[c & 15]);
	}
}

int
xtext_is_valid(const char *s)
{
	for (; *s != '\0'; s++) {
		if (!isgraph((unsigned char)*s) || *s == '=')
			return 0;
		if (*s == '+' && (!isxdigit((unsigned char)s[1]) ||
		    !isxdigit((unsigned char)s[2])))
			return 0;
	}
	return 1;
}

size_t
utf8_read_multibyte(const char *s, unsigned long *character)
{
	static const unsigned long least[] = { 0x80, 0x800, 0x10000UL };
	const unsigned char *p = (const unsigned char *)s;
	size_t i, n = *p >= 0xf0 ? 4 : *p >= 0xe0 ? 3 : 2;
	unsigned long c = *p & 0xffUL >> (n + 1);

	if (*p < 0xc2 || *p > 0xf4)
		return 0;
	for (i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	*character = c;
	return c < least[n - 2] || c > 0x10ffffUL ||
	    (c >= 0xd800UL && c < 0xe000UL) ? 0 : n;
}

const char *
addr_domain(const char *addr)
{
	int quoted = 0;

	for (; *addr != '\0'; addr++)
		if (*addr == '\\' && addr[1] != '\0')
			addr++;
		else if (*addr == '"')
			quoted = !quoted;
		else if (*addr == '@' && !quoted)
			return addr + 1;
	return NULL;
}

const char *
addr_error_status(const char *s)
{
	int quoted = 0, c;

	for (; *s != '\0'; s++) {
		c = (unsigned char)*s;
		if (c >= 128)
			return "5.6.7";
		if (c == '\\')
			c = (unsigned char)*++s;
		else if (c == '"')
			quoted = !quoted;
		else if (!quoted && (c == ' ' || c == '<' || c == '>'))
			return "5.1.3";
		if (c < 32 || c >= 127)
			return "5.1.3";
	}
	return quoted ? "5.1.3" : NULL;
}

/* '|', '/' and ':' begin a program, a file or a list, '-' an option; '<' and
 * '>' would end the brackets of an address. */
int
can_get_dsn(const char *address)
{
	const char *p = address + strspn(address, "\\\" ");

	return *p != '\0' && strchr("|/-:", *p) == NULL &&
	    strlen(address) <= ADDRESS_MOST && strpbrk(address, "<>") == NULL &&
	    addr_error_status(address) == NULL;
}

/* ---- the message ----------------------------------------------------- */

/* Fields of the message stand before the first recipient.  ZMailer's router
 * writes the sender's wishes (n, R) behind recipients; as in the agents, the
 * first of each counts. */
int
origin_read_head(struct diags *n, struct head *h)
{
	int letter, nrcpt = 0, seen_ret = 0;
	const char *value;

	memset(h, 0, sizeof(*h));
	ctl_seek(&n->c, 0);
	while (ctl_next_line(&n->c) && n->c.l.line[0] != 'd') {
		letter = n->c.l.line[0];
		nrcpt += letter == 'r';
		if (n->c.l.len <= 2)
			continue;
		value = n->c.l.line + 2;
		if (letter == 'n' && h->envid[0] == '\0')
			text_fmt(h->envid, sizeof(h->envid), "%s", value);
		if (letter == 'R' && !seen_ret) {
			h->wants_headers = ctl_is_word(value, strlen(value),
			    "HDRS");
			seen_ret = 1;
		}
		if (letter == 'l' && nrcpt == 0)
			text_fmt(h->id, sizeof(h->id), "%s", value);
		if (letter == 'o' && nrcpt == 0)
			h->body = num_of(value, NULL);
	}
	errno = n->c.l.error;
	ctl_seek(&n->c, 0);
	return errno != 0 ? -1 : 0;
}

/* ---- origins --------------------------------------------------------- */

/* Reads the header behind the current m line.  Returns 1 if it has
 * DOUBLE_FIELD: the message is a DSN on a DSN. */
static int
has_double_dsn_field(struct ctl *c)
{
	size_t len = sizeof(DOUBLE_FIELD) - 1;

	while (line_next(&c->l) && c->l.len > 0)
		if (strncmp(c->l.line, DOUBLE_FIELD, len) == 0 &&
		    c->l.line[len] == ':')
			return 1;
	return 0;
}

/* Begins the origin at the current line, with the sender if the line has one.
 * Recipients behind an m line do not have its header. */
static void
begin_origin_at_line(struct origin *g)
{
	g->from = g->w.l.off;
	if (ctl_header_of_line(&g->w) >= 0) {
		g->hdr = -1;
		g->is_double = 0;
		return;
	}
	strcpy(g->sender, ctl_parse_sender(&g->w));
	g->has_long_sender = g->w.has_long_sender;
}

/* Ends the origin at the current line, and reads the header if it begins there
 * and was not read before. */
static void
end_origin_at_line(struct origin *g)
{
	if (g->to == ULONG_MAX)
		g->to = g->w.l.off;
	if (g->hdr >= 0)
		return;
	g->hdr = ctl_header_of_line(&g->w);
	g->is_double = g->hdr >= 0 && has_double_dsn_field(&g->w);
}

/* Forgets the origin: the next one is searched for from the beginning of the
 * file. */
static void
reset_origin(struct origin *g)
{
	memset(g, 0, offsetof(struct origin, w));
	g->hdr = -1;
	g->w.is_dsn = 0;
}

void
origin_start(const struct diags *n, struct origin *g)
{
	reset_origin(g);
	line_start(&g->w.l, n->c.l.fd, 0);
}

/* Reads from the end of the current origin to the origin of the recipient at
 * off. */
static void
read_origin(struct origin *g, unsigned long off)
{
	int letter, is_complete = 0;

	ctl_seek(&g->w, g->to);
	g->to = ULONG_MAX;
	while (!is_complete && ctl_next_line(&g->w)) {
		letter = g->w.l.line[0];
		if (letter == 'd')
			break;
		if (letter != 's' && letter != 'e' &&
		    ctl_header_of_line(&g->w) < 0)
			continue;
		if (g->w.l.off < off) {
			begin_origin_at_line(g);
		} else {
			end_origin_at_line(g);
			is_complete = g->hdr >= 0;
		}
	}
}

int
origin_find(struct diags *n, struct origin *g, unsigned long off)
{
	if (off >= g->from && off < g->to)
		return 0;
	if (off < g->from)
		reset_origin(g);
	read_origin(g, off);
	if (g->w.l.error == 0)
		return 0;
	n->c.l.error = g->w.l.error;
	reset_origin(g);
	return -1;
}

/* ---- diagnostic lines ------------------------------------------------- */

void
diag_start(struct diags *n, int fd, const char *name)
{
	ctl_start(&n->c, fd, name);
	ctl_start(&n->rc, fd, name);
}

int
diag_next_rcpt(struct diags *n)
{
	while (ctl_next_line(&n->c))
		if (n->c.l.line[0] == 'r')
			return 1;
	return 0;
}

/* Splits the current diagnostic line into its fields: 0, or -1 if the line is
 * damaged, as a crash may leave it. */
static int
split_diag(struct diags *n)
{
	char *line = n->said, *tab, *p;
	const char *end;
	int i;

	strcpy(line, n->c.l.line);
	tab = strchr(line, '\t');
	p = tab == NULL ? NULL : ctl_notary_end(tab + 1);
	if (p == NULL || n->c.l.len < 4)
		return -1;
	*tab = *p = '\0';
	n->text = p + 1;
	n->tag = line[1];
	n->at = n->c.l.off;
	if (num_upto(line + 2, CONTROL_MAX, &n->off, &end) < 0 || *end != ':')
		return -1;
	n->when = num_of(strrchr(line, ':') + 1, NULL);
	p = tab + 1;
	for (i = 0; i < DIAG_FIELDS; i++) {
		n->field[i] = p;
		p += strcspn(p, "\1");
		if (*p == '\1')
			*p++ = '\0';
	}
	/* ZMailer writes "delayed" also for an expired recipient, but with a
	 * status; that is a failure */
	n->is_warning = strcmp(n->field[DIAG_ACTION], "delayed") == 0 &&
	    *n->field[DIAG_STATUS] == '\0';
	if (!n->is_warning ||
	    num_upto(n->field[DIAG_TEXT], DELAYS_MOST, &n->due, &end) < 0)
		n->due = 0;
	return 0;
}

int
diag_next_line(struct diags *n)
{
	while (ctl_next_line(&n->c))
		if (n->c.l.line[0] == 'd' && split_diag(n) == 0)
			return 1;
	return 0;
}

const char *
diag_reason(const struct diags *n, unsigned long off)
{
	static char one[300];
	const char *s, *next;
	unsigned long from;

	if (n->due == 0)
		return n->text;
	/* ctlfile.c describes the text.  The inner loop finds the last reason
	 * whose recipient is at off or before.  If that is "=" and an offset
	 * below off, the search is repeated for this offset.  So off gets
	 * smaller each time, and the outer loop comes to an end. */
	do {
		s = next = n->text;
		while ((next = strchr(next, '\1')) != NULL &&
		    num_upto(next + 1, off, &from, &next) == 0)
			s = next;
	} while (*s == '=' && off > 0 &&
	    num_upto(s + 1, off - 1, &off, &next) == 0);
	s += *s == ' ';
	text_fmt(one, sizeof(one), "%.*s", (int)strcspn(s, "\1"), s);
	return one;
}

int
diag_set_tag(struct diags *n, unsigned long at, int tag)
{
	int fd = n->c.l.fd;
	char is, to = (char)tag;

	if (lseek(fd, (off_t)at, SEEK_SET) < 0 || read(fd, &is, 1) != 1)
		return -1;
	/* if the letter is not there, another file has replaced this one */
	return is == 'd' ? fd_write(fd, &to, 1) : 0;
}

int
diag_set_delays(struct diags *n, unsigned long count)
{
	char field[8];

	text_fmt(field, sizeof(field), "%4lu", count);
	if (count == 0)
		strcpy(field, "    ");
	return lseek(n->c.l.fd, (off_t)n->rc.delay_at, SEEK_SET) < 0 ? -1 :
	    fd_write(n->c.l.fd, field, 4);
}
