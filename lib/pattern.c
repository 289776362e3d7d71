/*
 * pattern.c - patterns for addresses, in shell style.
 *
 *	*	any bytes, '/' too		[a-z]	one of these
 *	?	any one byte			[!a-z]	none of these
 *	\x	x itself			{a,b}	a or b
 *
 * Case does not count: patterns are folded here, the text by the caller.
 *
 * Alternatives are expanded once, when a pattern is read, and may stand in
 * one another; their number is bounded.  What is left is matched without
 * recursion and without memory: when something does not match, only the last
 * '*' is tried with one byte more, which costs O(pattern * text) at most.
 */
#include "util.h"
#include "pattern.h"
#include <ctype.h>

#define ALTERNATIVES	256		/* in one pattern */

/* ---- reading --------------------------------------------------------- */

/* Behind the bracket expression at p, or NULL when it has no end. */
static const char *
set_end(const char *p)
{
	p++;
	if (*p == '!' || *p == '^')
		p++;
	if (*p == ']')
		p++;
	for (; *p != ']'; p++) {
		if (*p == '\\' && p[1] != '\0')
			p++;
		if (*p == '\0')
			return NULL;
	}
	return p + 1;
}

/* Behind the item at p: a byte, an escaped one, or a bracket expression. */
static const char *
item_end(const char *p)
{
	if (*p == '[')
		return set_end(p);
	if (*p == '\\')
		return p[1] == '\0' ? NULL : p + 2;
	return p + 1;
}

const char *
pat_check(const char *p)
{
	int depth = 0;

	while (*p != '\0') {
		if (*p == '{')
			depth++;
		else if (*p == '}' && depth > 0)
			depth--;
		else if (*p == '[' && set_end(p) == NULL)
			return "the closing ] is missing";
		p = item_end(p);
		if (p == NULL)
			return "a backslash stands at its end";
	}
	return depth > 0 ? "the closing } is missing" : NULL;
}

/* ---- alternatives ---------------------------------------------------- */

/* The text from a to b, then suffix, behind the first bytes of s. */
static char *
join(const char *s, size_t head, const char *a, const char *b,
    const char *suffix)
{
	size_t part = (size_t)(b - a);
	char *all = mem_get(head + part + strlen(suffix) + 1);

	if (all == NULL)
		return NULL;
	memcpy(all, s, head);
	memcpy(all + head, a, part);
	strcpy(all + head + part, suffix);
	return all;
}

/* Replaces v[i] by the choices of its first braces, the first of them there
 * and the others behind v[*n - 1]: 1; 0 when it has no braces; -1 when that
 * makes too many, or there is no memory. */
static int
expand_one(char **v, int *n, int i)
{
	char *s = v[i];
	const char *p = s, *part, *close;
	int depth = 1, first = 1, last;
	size_t head;

	while (*p != '\0' && *p != '{')
		p = item_end(p);
	if (*p == '\0')
		return 0;
	head = (size_t)(p - s);
	part = p + 1;
	for (close = part; ; close = item_end(close)) {
		depth += (*close == '{') - (*close == '}');
		if (depth == 0)
			break;
	}
	for (p = part; p <= close; p = item_end(p)) {
		last = p == close;
		depth += last ? 0 : (*p == '{') - (*p == '}');
		if (!last && (*p != ',' || depth > 0))
			continue;
		if (!first && *n == ALTERNATIVES)
			break;
		if (!first)
			i = (*n)++;
		v[i] = join(s, head, part, p, close + 1);
		if (v[i] == NULL)
			break;
		first = 0;
		part = p + 1;
	}
	free(s);
	return p <= close ? -1 : 1;
}

static void
free_some(char **v, int n)
{
	while (n > 0)
		free(v[--n]);
}

/* Gives a pattern without '/' any host: 0 or -1. */
static int
add_host(char **v)
{
	static const char any[] = "/*";
	char *s;

	if (strchr(*v, '/') != NULL)
		return 0;
	s = join(*v, strlen(*v), any, any + 2, "");
	if (s == NULL)
		return -1;
	free(*v);
	*v = s;
	return 0;
}

char **
pat_expand(const char *pattern)
{
	char *v[ALTERNATIVES], **all = NULL, *p;
	int i, n = 1, bad = 0;

	v[0] = mem_dup(pattern);
	if (v[0] == NULL)
		return NULL;
	for (p = v[0]; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	for (i = 0; i < n && bad == 0; i++)
		while ((bad = expand_one(v, &n, i)) > 0)
			;
	for (i = 0; i < n && bad == 0; i++)
		bad = add_host(&v[i]);
	if (bad == 0)
		all = mem_get(((size_t)n + 1) * sizeof(*all));
	if (all == NULL)
		free_some(v, n);
	else
		memcpy(all, v, (size_t)n * sizeof(*all));
	return all;
}

void
pat_free(char **all)
{
	char **p;

	for (p = all; p != NULL && *p != NULL; p++)
		free(*p);
	free(all);
}

/* ---- matching -------------------------------------------------------- */

/* Is the byte in the bracket expression at p? */
static int
in_set(const char *p, int c)
{
	const char *first;
	int not, found = 0, lo, hi;

	p++;
	not = *p == '!' || *p == '^';
	p += not;
	for (first = p; *p != ']' || p == first; p++) {
		if (*p == '\\')
			p++;
		lo = hi = (unsigned char)*p;
		if (p[1] == '-' && p[2] != ']') {
			p += 2;
			if (*p == '\\')
				p++;
			hi = (unsigned char)*p;
		}
		found |= lo <= c && c <= hi;
	}
	return found != not;
}

/* Does the item at p match the byte? */
static int
item_matches(const char *p, int c)
{
	if (c == '\0')
		return 0;
	if (*p == '?')
		return 1;
	if (*p == '[')
		return in_set(p, c);
	if (*p == '\\')
		p++;
	return (unsigned char)*p == c;
}

int
pat_match(const char *p, const char *s)
{
	const char *star = NULL, *back = NULL;

	for (;;) {
		if (*p == '*') {
			star = ++p;
			back = s;
		} else if (*p != '\0' && item_matches(p, (unsigned char)*s)) {
			p = item_end(p);
			s++;
		} else if (*p == '\0' && *s == '\0') {
			return 1;
		} else if (star == NULL || *back == '\0') {
			return 0;
		} else {
			p = star;
			s = ++back;
		}
	}
}

int
pat_means(const char *p, const char *address)
{
	if (strncmp(address, "dsn/", 4) == 0 && strncmp(p, "dsn/", 4) != 0)
		return 0;
	return pat_match(p, address);
}
