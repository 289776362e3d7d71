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

#define ALTERNATIVES	256		/* in one pattern */

/* ---- reading --------------------------------------------------------- */

/* The end of the item at p: a byte, an escaped byte or a bracket expression;
 * NULL if that is not closed. */
static const char *
item_end(const char *p)
{
	if (*p == '\\')
		return p[1] == '\0' ? NULL : p + 2;
	if (*p != '[')
		return p + 1;
	p += p[1] == '!' || p[1] == '^' ? 2 : 1;
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

const char *
pat_check(const char *p)
{
	const char *end;
	int depth = 0;

	for (; *p != '\0'; p = end) {
		if (*p == '{')
			depth++;
		else if (*p == '}' && depth > 0)
			depth--;
		end = item_end(p);
		if (end == NULL)
			return *p == '[' ? "the closing ] is missing" :
			    "a backslash stands at its end";
	}
	return depth > 0 ? "the closing } is missing" : NULL;
}

/* ---- alternatives ---------------------------------------------------- */

void
pat_free(char **all)
{
	char **p;

	for (p = all; p != NULL && *p != NULL; p++)
		free(*p);
	free(all);
}

/* Joins the first n bytes of s, the len bytes at part, and rest. */
static char *
join(const char *s, size_t n, const char *part, size_t len, const char *rest)
{
	size_t size = n + len + strlen(rest) + 1;
	char *all = mem_get(size);

	if (all != NULL)
		text_fmt(all, size, "%.*s%.*s%s", (int)n, s, (int)len, part,
		    rest);
	return all;
}

/* The end of the choice at p: the ',' or '}' that is not in other braces. */
static const char *
choice_end(const char *p)
{
	int depth = 0;

	for (; depth > 0 || (*p != ',' && *p != '}'); p = item_end(p))
		depth += (*p == '{') - (*p == '}');
	return p;
}

/* Replaces v[i] by the alternatives of its first braces: the last one in place,
 * the others appended at v[*n].  1; 0 if it has no braces; -1 if there are too
 * many alternatives or no memory. */
static int
expand_one(char **v, int *n, int i)
{
	char *s = v[i], *one;
	const char *open = s, *part, *end, *close;

	while (*open != '\0' && *open != '{')
		open = item_end(open);
	if (*open == '\0')
		return 0;
	for (close = choice_end(open + 1); *close == ','; )
		close = choice_end(close + 1);
	for (part = open + 1; ; part = end + 1) {
		end = choice_end(part);
		if (end != close && *n == ALTERNATIVES)
			return -1;
		one = join(s, open - s, part, end - part, close + 1);
		if (one == NULL)
			return -1;
		if (end == close)
			break;
		v[(*n)++] = one;
	}
	v[i] = one;
	free(s);
	return 1;
}

/* Gives a pattern without '/' any host: 0 or -1. */
static int
add_host(char **v)
{
	char *s;

	if (strchr(*v, '/') != NULL)
		return 0;
	s = join(*v, strlen(*v), "/*", 2, "");
	if (s == NULL)
		return -1;
	free(*v);
	*v = s;
	return 0;
}

char **
pat_expand(const char *pattern)
{
	char **all = mem_get((ALTERNATIVES + 1) * sizeof(*all)), **fit;
	int i, n = 1, bad;

	if (all == NULL)
		return NULL;
	all[0] = mem_dup(pattern);
	bad = all[0] == NULL;
	if (!bad)
		text_lower(all[0]);
	for (i = 0; i < n && !bad; i++) {
		while ((bad = expand_one(all, &n, i)) > 0)
			;
		bad = bad || add_host(&all[i]) < 0;
	}
	if (bad) {
		pat_free(all);
		return NULL;
	}
	fit = realloc(all, ((size_t)n + 1) * sizeof(*all));
	return fit == NULL ? all : fit;
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
pat_means(char *const *all, const char *address)
{
	int dsn = strncmp(address, "dsn/", 4) == 0;

	for (; *all != NULL; all++)
		if ((!dsn || strncmp(*all, "dsn/", 4) == 0) &&
		    pat_match(*all, address))
			return 1;
	return 0;
}
