/*
 * address.c - parses lists of addresses as headers have them (RFC 5322).
 *
 *	Anna <anna@x.org>, "B, C" <"b c"@x.org>, bert (away) @ x.org,
 *	friends: carl@x.org, <@a.org,@b.org:dora@x.org>;, emil
 *
 * becomes six bare addresses: names, comments and routes are dropped, quoted
 * local parts stay quoted.  There are two steps.  The first finds the end of an
 * element of the list, and its address: the text in angle brackets; without
 * them, the text behind the name of a group, or all of the element.  This step
 * accepts nearly anything around the address, as people write names in many
 * ways.  The second step parses the address and is strict, since its bytes go
 * into control files and to other programs: no control or 8-bit bytes, no
 * blanks outside quotes, at most one '@', behind it a domain of correct form,
 * and no '-' at the beginning, where a program would see an option.
 *
 * A semicolon separates like a comma, in a group or not.  Dots in a local part
 * may stand anywhere, since such users exist.
 *
 * This module does not know whether an address exists.  The case of a domain
 * does not matter; callers use addr_fold_domain to compare addresses.
 */
#include "submit.h"
#include <ctype.h>

enum token { T_END, T_WORD, T_QUOTED, T_LITERAL, T_SPECIAL, T_BAD };

/* lex: the list while it is read, and the current token. */
struct lex {
	const char *p, *end;	/* the rest of the list */
	const char *s;		/* the token, n bytes */
	size_t	n;
	const char *why;	/* T_BAD: the reason */
};

struct element {
	const char *start, *end;	/* the whole element */
	const char *spec, *spec_end;	/* the address */
	int	angle;		/* 0: no <; 1: open; 2: closed by a > */
	int	at;		/* an @ was read; stays 0 in an element that
				 * begins with an @, as a route does */
	int	colon;		/* a : was read after an @, before any < */
	const char *why;	/* what is wrong, or NULL */
};

/* ---- tokens ---------------------------------------------------------- */

static int
is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static int
is_special(int c)
{
	return c != '\0' && strchr("()<>[]:;@\\,.\"", c) != NULL;
}

/* Returns the first byte at or behind p that is no blank, or end. */
static const char *
skip_blanks(const char *p, const char *end)
{
	while (p < end && is_blank((unsigned char)*p))
		p++;
	return p;
}

/* Reads a comment, a quoted string or a literal, up to the character that
 * closes it; only comments are nested.  Returns kind, or T_BAD. */
static enum token
read_enclosed(struct lex *x, int close, enum token kind)
{
	int depth = 1;

	for (x->p++; x->p < x->end; x->p++)
		if (*x->p == '\\' && x->p + 1 < x->end) {
			x->p++;
		} else if (*x->p == '(' && close == ')') {
			depth++;
		} else if (*x->p == close && --depth == 0) {
			x->p++;
			x->n = (size_t)(x->p - x->s);
			return kind;
		}
	x->why = "the closing ] is missing";
	if (close == '"')
		x->why = "a quote is not closed";
	if (close == ')')
		x->why = "a comment has no closing )";
	return T_BAD;
}

static enum token
next_token(struct lex *x)
{
	int c;

	do {
		x->s = x->p = skip_blanks(x->p, x->end);
		x->n = 0;
		if (x->p == x->end)
			return T_END;
		c = (unsigned char)*x->p;
		if (c == '"')
			return read_enclosed(x, '"', T_QUOTED);
		if (c == '[')
			return read_enclosed(x, ']', T_LITERAL);
		if (c == '(' && read_enclosed(x, ')', T_END) == T_BAD)
			return T_BAD;
	} while (c == '(');
	if (is_special(c)) {
		x->n = 1;
		x->p++;
		return T_SPECIAL;
	}
	while (x->p < x->end && !is_special((unsigned char)*x->p) &&
	    !is_blank((unsigned char)*x->p))
		x->p++;
	x->n = (size_t)(x->p - x->s);
	return T_WORD;
}

/* ---- elements of the list -------------------------------------------- */

/* Notes in the element what the special character that was read means for it:
 * the beginning or the end of its address, an @, a colon, or a mistake. */
static void
note_special(const struct lex *x, struct element *e)
{
	switch (*x->s) {
	case '<':
		e->spec = x->p;
		if (e->angle++ > 0 && e->why == NULL)
			e->why = "a < within <>";
		break;
	case '>':
		e->spec_end = x->s;
		if (e->angle++ != 1 && e->why == NULL)
			e->why = "a > without a <";
		break;
	case '@':
		/* an element that begins with an @ has a route */
		e->at |= *e->start != '@';
		break;
	case ':':
		if (e->angle > 0)
			break;
		e->colon |= e->at;
		e->spec = x->p;		/* the name of a group is before the
					 * colon */
		break;
	}
}

/* Returns 1 if the comma that was read divides a route, as in "@a,@b:c@d". */
static int
is_in_route(const struct lex *x, const struct element *e)
{
	const char *p = skip_blanks(x->p, x->end);

	return *e->start == '@' && e->spec == e->start && p < x->end &&
	    *p == '@';
}

/* Reads the next element and the comma or semicolon behind it. */
static void
read_element(struct lex *x, struct element *e)
{
	enum token kind;

	memset(e, 0, sizeof(*e));
	e->start = e->spec = x->p = skip_blanks(x->p, x->end);
	while ((kind = next_token(x)) != T_END && kind != T_BAD) {
		if (kind == T_SPECIAL && e->angle != 1 && (*x->s == ';' ||
		    (*x->s == ',' && !is_in_route(x, e))))
			break;
		if (e->angle == 2 && e->why == NULL)
			e->why = "something follows the >";
		if (kind == T_SPECIAL)
			note_special(x, e);
	}
	e->end = kind == T_BAD ? x->end : x->s;
	if (e->angle == 0)
		e->spec_end = e->end;
	if (kind == T_BAD)
		e->why = x->why;
	else if (e->angle == 1 && e->why == NULL)
		e->why = "the closing > is missing";
	else if (e->angle == 0 && e->colon)
		e->why = "a : follows its domain";
}

/* ---- the address ----------------------------------------------------- */

int
addr_is_domain(const char *d)
{
	size_t n = strlen(d);

	if (*d == '[')
		return n > 2 && n < DOMAIN_SIZE && d[n - 1] == ']' &&
		    strcspn(d + 1, "[]\\\"() \t") == n - 2;
	return mailname_is_valid(d);
}

/* Returns what is wrong with the bytes, or NULL.  A quoted string may have
 * blanks.  8-bit bytes need SMTPUTF8 (RFC 6531), which the agent smtp lacks. */
static const char *
byte_fault(const struct lex *x, enum token kind)
{
	size_t i;
	int c;

	for (i = 0; i < x->n; i++) {
		c = (unsigned char)x->s[i];
		if (c > 127)
			return "5.6.7 it is not ASCII, and mail with such "
			    "addresses (SMTPUTF8) cannot be sent";
		if (c < 32 || c == 127 || (c == 32 && kind != T_QUOTED))
			return "it has a byte that is not allowed";
	}
	return NULL;
}

/* Steps over a route, "@a,@b:", to the address: 0, or -1 if the : is missing.
 */
static int
skip_route(struct lex *x)
{
	const char *start = x->p;
	enum token kind = next_token(x);

	if (kind != T_SPECIAL || *x->s != '@') {
		x->p = start;
		return 0;
	}
	while (kind != T_SPECIAL || *x->s != ':') {
		kind = next_token(x);
		if (kind == T_END || kind == T_BAD)
			return -1;
	}
	return 0;
}

/* Returns what is wrong with a word that follows another word, which ends at
 * prev_end. */
static const char *
gap_fault(const struct lex *x, const char *prev_end)
{
	if (memchr(prev_end, '(', (size_t)(x->s - prev_end)) != NULL)
		return "it contains a comment";
	return x->s == prev_end ? "quotes or brackets are around a part of it" :
	    "it contains a blank";
}

/* Returns what is wrong with the next token of an address, or NULL.  at: an @
 * was read; len: bytes of the address before the token; prev_end: end of the
 * token before, NULL if that token was special. */
static const char *
token_fault(const struct lex *x, enum token kind, const char *prev_end,
    int at, size_t len)
{
	int special = kind == T_SPECIAL;

	if (kind == T_BAD)
		return x->why;
	if (!special && prev_end != NULL)
		return gap_fault(x, prev_end);
	if (special && *x->s == '@' && at)
		return "it has more than one @";
	if (special && *x->s == '@' && len == 0)
		return "the part before the @ is missing";
	if (special && *x->s != '@' && *x->s != '.')
		return "it has a character that must be quoted";
	if ((kind == T_QUOTED && at) || (kind == T_LITERAL && !at))
		return "its domain is not valid";
	return byte_fault(x, kind);
}

/* Makes the bare address, and sets the place of its tokens in the list: NULL,
 * or what is wrong. */
static const char *
make_address(const struct element *e, struct addr_list *l)
{
	const char *why, *prev_end = NULL;
	enum token kind;
	struct text out;
	int at = 0;
	struct lex x;

	memset(&x, 0, sizeof(x));
	x.p = e->spec;
	x.end = e->spec_end;
	text_init(&out, l->addr, sizeof(l->addr));
	l->from = NULL;
	if (e->angle && skip_route(&x) < 0)
		return "its route has no : at the end";
	while ((kind = next_token(&x)) != T_END) {
		why = token_fault(&x, kind, prev_end, at, out.len);
		if (why != NULL)
			return why;
		if (l->from == NULL)
			l->from = x.s;
		l->to = x.p;
		prev_end = kind == T_SPECIAL ? NULL : x.p;
		at |= kind == T_SPECIAL && *x.s == '@';
		text_put(&out, x.s, x.n);
	}
	if ((out.len == 0 && e->angle) || strncmp(out.s, "\"\"", 2) == 0)
		return "it is empty";
	if (out.cut)
		return "it is too long";
	if (out.s[strspn(out.s, "\"\\")] == '-')
		return "it begins with a -";
	if (at && !addr_is_domain(addr_domain(out.s)))
		return "its domain is not valid";
	return NULL;
}

int
addr_is_host(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n >= DOMAIN_SIZE)
		return 0;
	for (; *s != '\0'; s++)
		if (!isgraph((unsigned char)*s))
			return 0;
	return 1;
}

void
addr_fold_domain(char *addr)
{
	const char *domain = addr_domain(addr);

	if (domain == NULL || *domain == '[')
		return;		/* a literal stays as it is */
	for (addr += domain - addr; *addr != '\0'; addr++)
		*addr = (char)tolower((unsigned char)*addr);
}

int
addr_pipe_or_slash(const char *addr)
{
	addr += strspn(addr, "\"\\ ");
	return *addr == '|' || *addr == '/' || *addr == ':' ? *addr : 0;
}

/* ---- the list -------------------------------------------------------- */

void
addr_start(struct addr_list *l, const char *p, const char *end)
{
	l->p = p;
	l->end = end;
}

int
addr_next(struct addr_list *l)
{
	struct element e;
	struct lex x;

	memset(&x, 0, sizeof(x));
	x.p = l->p;
	x.end = l->end;
	do {
		if (x.p >= l->end)
			return 0;
		read_element(&x, &e);
		l->why = e.why != NULL ? e.why : make_address(&e, l);
	} while (l->why == NULL && l->addr[0] == '\0');
	l->p = x.p;
	if (l->why == NULL)
		return 1;
	l->addr[0] = '\0';
	while (e.end > e.start && is_blank((unsigned char)e.end[-1]))
		e.end--;
	text_fmt(l->text, sizeof(l->text), "%.*s", (int)(e.end - e.start),
	    e.start);
	return 1;
}
