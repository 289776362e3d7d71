/*
 * notary.c - what a control file says for those who make reports.
 *
 * Who sent the message and wants to hear of what, which diagnostic lines wait
 * for a report, and what has been said of a recipient: all of it is read from
 * the file, line by line or at an offset, since a message may have more
 * recipients than there is memory for.
 *
 *	d 139:310:161::1795220140 <tab> who ^A action ^A ... <tab> text
 *	 |   offsets of the recipient's line, its header, its N line
 *	 tag: ' ' waits, '+' was reported
 *
 * A group is a run of recipients that have sender and header in common: what
 * stands between two lines that set a sender or begin a header.  Mostly there
 * is one in a file; the one at hand is remembered.
 *
 * A recipient's delay field has how many warnings his sender has got of him,
 * as a decimal number, blank for none.
 *
 * Nothing is decided here, and nothing written but the tag of a diagnostic
 * line and the delay field of a recipient.
 */
#include "ctlfile.h"
#include <ctype.h>

#define NEAR	6	/* lines behind a recipient's that may be its N line */

/* ---- lines ----------------------------------------------------------- */

/* The next line outside header blocks; the line that begins one is given. */
static int
next_line(struct ctl *c)
{
	while (line_next(&c->l)) {
		if (c->in_block) {
			c->in_block = c->l.len > 0;
			continue;
		}
		c->in_block = c->l.len <= 2 && (c->l.line[0] == 'm' ||
		    c->l.line[0] == 'M');
		return 1;
	}
	return 0;
}

static void
go_to(struct ctl *c, unsigned long off)
{
	c->in_block = 0;
	line_at(&c->l, off);
}

/* Cuts the word at *p out and moves *p behind it: "" at the end. */
static char *
cut_word(char **p)
{
	char *word = *p, *end = word + (line_word(word) - word);

	*p = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

/* ---- words of RFC 3461 ----------------------------------------------- */

static int
hex_digit(int c)
{
	static const char digits[] = "0123456789ABCDEF";
	const char *p = c == '\0' ? NULL : strchr(digits, toupper(c));

	return p == NULL ? -1 : (int)(p - digits);
}

void
nt_xtext(const char *s, size_t n, char *to, size_t size)
{
	struct text t;
	int high, low;

	text_init(&t, to, size);
	for (; n > 0 && *s != '\0'; s++, n--) {
		high = *s == '+' && n > 2 ? hex_digit((unsigned char)s[1]) : -1;
		low = high < 0 ? -1 : hex_digit((unsigned char)s[2]);
		if (low < 0) {
			text_add(&t, "%c", *s);
			continue;
		}
		/* a NUL would end the text for whoever reads it */
		text_add(&t, "%c", high + low == 0 ? '?' : high * 16 + low);
		s += 2;
		n -= 2;
	}
}

static int
same(const char *s, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n && word[i] != '\0'; i++)
		if (toupper((unsigned char)s[i]) != word[i])
			return 0;
	return i == n && word[i] == '\0';
}

static unsigned
notify_list(const char *s, size_t n)
{
	static const struct {
		const char *word;
		unsigned bit;
	} words[] = {
		{ "FAILURE", WISH_FAILURE }, { "SUCCESS", WISH_SUCCESS },
		{ "DELAY", WISH_DELAY }, { "NEVER", 0 }
	};
	unsigned wishes = 0;
	size_t i, len;

	for (; n > 0; s += len + (n > len), n -= len + (n > len)) {
		for (len = 0; len < n && s[len] != ','; )
			len++;
		for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
			if (same(s, len, words[i].word))
				wishes |= words[i].bit | WISH_GIVEN;
	}
	return wishes;
}

/* The words of an N line. */
static void
see_wishes(struct notary *n, const char *s)
{
	size_t len;

	for (; *s != '\0'; s += len + strspn(s + len, " \t")) {
		len = strcspn(s, " \t");
		if (len > 7 && same(s, 7, "NOTIFY="))
			n->wishes = notify_list(s + 7, len - 7);
		else if (len > 6 && same(s, 6, "ORCPT="))
			text_fmt(n->orcpt, sizeof(n->orcpt), "%.*s",
			    (int)len - 6, s + 6);
	}
}

/* ---- the message ----------------------------------------------------- */

static void
see_head(struct notary *n)
{
	char *value = n->c.l.line + (n->c.l.len > 1 ? 2 : n->c.l.len);

	switch (n->c.l.line[0]) {
	case '@':
		n->c.format = n->rc.format = n->w.format =
		    (int)strtoul(value, NULL, 0) & 7;
		break;
	case 'l':
		text_fmt(n->id, sizeof(n->id), "%s", value);
		break;
	case 'n':
		text_fmt(n->envid, sizeof(n->envid), "%s", value);
		break;
	case 'o':
		n->body = num_of(value, NULL);
		break;
	case 'R':
		n->hdrs = same(value, strlen(value), "HDRS");
		break;
	}
}

int
nt_open(struct notary *n, const char *name)
{
	struct stat st;

	memset(n, 0, sizeof(*n));
	n->fd = fd_plain(name, O_RDWR, &st);
	if (n->fd < 0)
		return -1;
	text_fmt(n->name, sizeof(n->name), "%s", name);
	line_start(&n->c.l, n->fd, 0);
	line_start(&n->rc.l, n->fd, 0);
	line_start(&n->w.l, n->fd, 0);
	while (next_line(&n->c) && n->c.l.line[0] != 'r')
		see_head(n);
	if (n->c.l.error != 0) {	/* nt_rewind forgets that */
		errno = n->c.l.error;
		close(n->fd);
		n->fd = -1;
		return -1;
	}
	nt_rewind(n);
	return 0;
}

void
nt_close(struct notary *n)
{
	if (n->fd >= 0)
		close(n->fd);
	n->fd = -1;
}

void
nt_rewind(struct notary *n)
{
	go_to(&n->c, 0);
}

int
nt_error(const struct notary *n)
{
	return n->c.l.error != 0 ? n->c.l.error : n->rc.l.error != 0 ?
	    n->rc.l.error : n->w.l.error;
}

/* ---- recipients ------------------------------------------------------ */

int
nt_rcpt(struct notary *n, unsigned long off)
{
	const char *p;
	char count[5];
	int i;

	go_to(&n->rc, off);
	if (!next_line(&n->rc) || n->rc.l.line[0] != 'r' ||
	    ctl_rcpt(&n->rc) < 0)
		return -1;
	n->state = (unsigned char)n->rc.l.line[1];
	n->wishes = 0;
	n->orcpt[0] = '\0';
	n->delay_at = n->rc.delay == 0 ? 0 : off + n->rc.delay;
	text_fmt(count, sizeof(count), "%.4s", n->rc.l.line + n->rc.delay);
	p = count + strspn(count, " ");
	n->delays = n->delay_at == 0 ? 0 : num_of(p, NULL);
	for (i = 0; i < NEAR && next_line(&n->rc); i++) {
		if (n->rc.l.line[0] == 'N' && n->rc.l.len > 2) {
			see_wishes(n, n->rc.l.line + 2);
			break;
		}
		if (strchr("rsemMd", n->rc.l.line[0]) != NULL)
			break;
	}
	return 0;
}

int
nt_next_rcpt(struct notary *n)
{
	while (next_line(&n->c))
		if (n->c.l.line[0] == 'r')
			return 1;
	return 0;
}

/* ---- groups ---------------------------------------------------------- */

/* An s or e line: from here on this is the sender.  What comes from the channel
 * error is a report and has none, whatever an e line says. */
static void
see_sender(struct origin *g, struct ctl *c)
{
	char *p = c->l.line + (c->l.len > 1 ? 2 : c->l.len), *address;
	int report = g->report;

	if (c->l.line[0] == 's') {
		report = strcmp(cut_word(&p), "error") == 0;
		cut_word(&p);
	}
	address = cut_word(&p);
	if (report || strcmp(address, "<>") == 0)
		address = "";
	g->report = report;
	g->long_sender = text_fmt(g->sender, sizeof(g->sender), "%s",
	    address) < 0;
	g->from = c->l.off;
}

/* The header that begins here, is it one of a report on a report? */
static int
see_header(struct ctl *c)
{
	size_t len = sizeof(NT_TWICE) - 1;
	int twice = 0;

	while (line_next(&c->l) && c->l.len > 0)
		twice |= strncmp(c->l.line, NT_TWICE, len) == 0 &&
		    c->l.line[len] == ':';
	return twice;
}

int
nt_origin(struct notary *n, unsigned long off)
{
	struct origin *g = &n->g;
	int letter;

	if (off >= g->from && off < g->to)
		return 0;
	memset(g, 0, sizeof(*g));
	g->hdr = -1;
	g->to = ULONG_MAX;
	for (go_to(&n->w, 0); next_line(&n->w); ) {
		letter = n->w.l.line[0];
		if (letter == 'd')
			break;
		if (letter != 's' && letter != 'e' && !(letter == 'm' &&
		    n->w.in_block))
			continue;
		if (n->w.l.off < off) {
			if (letter == 'm')
				g->from = n->w.l.off;
			else
				see_sender(g, &n->w);
			continue;
		}
		if (g->to == ULONG_MAX)
			g->to = n->w.l.off;
		if (letter == 'm') {
			g->hdr = (long)(n->w.l.off + n->w.l.len + 1);
			g->twice = see_header(&n->w);
			break;
		}
	}
	if (n->w.l.error == 0)
		return 0;
	g->from = g->to = 0;
	return -1;
}

/* ---- diagnostic lines ------------------------------------------------ */

/* Takes the line at hand apart: 0, or -1 when a crash has cut it too short. */
static int
take_apart(struct notary *n)
{
	char *tab = strchr(n->c.l.line, '\t'), *p;
	const char *end;
	int i, bad;

	if (tab == NULL || n->c.l.len < 4 || strchr(tab + 1, '\t') == NULL)
		return -1;
	*tab = '\0';
	n->tag = n->c.l.line[1];
	n->at = n->c.l.off;
	bad = num_upto(n->c.l.line + 2, CONTROL_MAX, &n->off, &end) < 0 ||
	    *end != ':';
	p = strrchr(n->c.l.line, ':');
	n->when = p == NULL ? 0 : (long)num_of(p + 1, NULL);
	p = tab + 1;
	for (i = 0; i < NT_FIELDS; i++) {
		n->field[i] = p;
		p += strcspn(p, "\1\t");
		if (*p == '\1')
			*p++ = '\0';
	}
	n->text = strchr(p, '\t') + 1;
	p = strchr(p, '\t');
	*p = '\0';
	return bad ? -1 : 0;
}

int
nt_next_diag(struct notary *n)
{
	while (next_line(&n->c))
		if (n->c.l.line[0] == 'd' && take_apart(n) == 0)
			return 1;
	return 0;
}

int
nt_diag(struct notary *n, unsigned long at)
{
	go_to(&n->c, at);
	return next_line(&n->c) && n->c.l.line[0] == 'd' ? take_apart(n) : -1;
}

/* ---- writing --------------------------------------------------------- */

int
nt_mark(struct notary *n, unsigned long at)
{
	char c = 0;

	if (lseek(n->fd, (off_t)at, SEEK_SET) < 0 || read(n->fd, &c, 1) != 1)
		return -1;
	if (c != 'd')
		return 0;	/* another file by now */
	return fd_write(n->fd, "+", 1);
}

int
nt_delayed(struct notary *n, unsigned long at, unsigned long count)
{
	char field[8];

	text_fmt(field, sizeof(field), "%4lu", count);
	if (count == 0)
		strcpy(field, "    ");
	if (lseek(n->fd, (off_t)at, SEEK_SET) < 0)
		return -1;
	return fd_write(n->fd, field, 4);
}
