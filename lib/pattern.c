/*
 * pattern.c - patterns for addresses, in shell style.
 *
 *	*	any bytes, '/' too		[a-z]	one of these
 *	?	any one byte			[!a-z]	none of these
 *	\x	x itself			{a,b}	a or b
 *
 * Case does not count: patterns are folded here, the text by the caller.
 *
 * Alternatives are expanded once, when a pattern is read, and may be nested;
 * their number is bounded.  An expanded alternative is matched without
 * recursion and without memory: when a byte does not match, only the last '*'
 * is tried with one byte more, which costs O(pattern * text) at most.
 */
#include "util.h"
#include "pattern.h"

#define ALTERNATIVES	256		/* most alternatives of a pattern, and
					 * most braces that are expanded for one
					 * of these */

/* ---- reading --------------------------------------------------------- */

/* Returns the end of the item at p: a byte, an escaped byte or a bracket
 * expression; NULL if the expression is not closed or nothing follows a
 * backslash. */
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

/* Returns what is wrong with the pattern, or NULL. */
static const char *
find_error(const char *p)
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
			    "a backslash stands at the end";
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

/* Joins n bytes of s, at most len bytes of part, and rest. */
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

/* Returns the end of the choice at p: the ',' or '}' outside other braces. */
static const char *
choice_end(const char *p)
{
	int depth = 0;

	for (; depth > 0 || (*p != ',' && *p != '}'); p = item_end(p))
		depth += (*p == '{') - (*p == '}');
	return p;
}

/* Appends the alternatives of s to all, which has n of them.  An s without
 * braces is one alternative, for any host if it has no '/'.  depth is the
 * number of braces that were expanded for s.  Returns the number in all, or -1
 * if n or depth is too large or there is no memory. */
static int
expand(char **all, int n, const char *s, int depth)
{
	const char *open = s, *part, *end, *close;
	char *one;

	while (*open != '\0' && *open != '{')
		open = item_end(open);
	if (n == ALTERNATIVES || depth == ALTERNATIVES)
		return -1;
	if (*open == '\0') {
		all[n] = join(s, open - s, strchr(s, '/') == NULL ? "/*" : "",
		    2, "");
		return all[n] == NULL ? -1 : n + 1;
	}
	for (close = choice_end(open + 1); *close == ','; )
		close = choice_end(close + 1);
	for (end = open; end != close && n >= 0; ) {
		part = end + 1;
		end = choice_end(part);
		one = join(s, open - s, part, end - part, close + 1);
		n = one == NULL ? -1 : expand(all, n, one, depth + 1);
		free(one);
	}
	return n;
}

const char *
pat_expand(const char *pattern, char ***all)
{
	const char *why = find_error(pattern);
	char *s, **fit;
	int n = -1;

	*all = NULL;
	errno = EINVAL;
	if (why != NULL)
		return why;
	s = mem_dup(pattern);
	*all = mem_get((ALTERNATIVES + 1) * sizeof(**all));
	if (s != NULL && *all != NULL) {
		text_lower(s);
		n = expand(*all, 0, s, 0);
	}
	free(s);
	if (n >= 0) {
		fit = realloc(*all, ((size_t)n + 1) * sizeof(**all));
		*all = fit == NULL ? *all : fit;
		return NULL;
	}
	pat_free(*all);
	*all = NULL;
	return errno == ENOMEM ? "there is no memory" :
	    "too many alternatives; write more than one pattern";
}

/* ---- matching -------------------------------------------------------- */

/* Returns 1 if the bracket expression at p matches the byte. */
static int
is_in_set(const char *p, int c)
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

/* Returns 1 if the item at p matches the byte. */
static int
item_matches(const char *p, int c)
{
	if (c == '\0')
		return 0;
	if (*p == '?')
		return 1;
	if (*p == '[')
		return is_in_set(p, c);
	if (*p == '\\')
		p++;
	return (unsigned char)*p == c;
}

int
pat_matches(const char *p, const char *s)
{
	const char *star = NULL, *back = NULL;

	for (;;) {
		if (*p == '*') {
			star = ++p;
			back = s;
			if (*p == '\0')
				return 1;
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
pat_matches_address(char *const *all, const char *address)
{
	int dsn = strncmp(address, "dsn/", 4) == 0;

	for (; *all != NULL; all++)
		if ((!dsn || strncmp(*all, "dsn/", 4) == 0) &&
		    pat_matches(*all, address))
			return 1;
	return 0;
}
