/*
 * safe.c - text of others, written so that it can be nothing but text.
 *
 * What agents and messages say goes into reports, where a newline too many
 * would be a header field, and a byte that nobody expects the end of a line.
 * For people, valid UTF-8 stays, in lines of bounded length behind an indent;
 * fields are ASCII and folded.  Whatever else there is becomes a question mark.
 *
 * A field keeps its blanks, as many as they are, where it is not folded; where
 * it is, they stand at the beginning of the new line, and whoever unfolds it
 * has them back.
 */
#include "scheduler.h"
#include <ctype.h>

#define FIELD_MOST	2000	/* bytes of a value that are shown */
#define TEXT_MOST	4000	/* ... of what an agent said */
#define COLUMNS		76	/* where fields are folded */
#define PIECE_MOST	900	/* bytes without a blank */

size_t
safe_utf8(const char *s)
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
safe_has_utf8(const char *s)
{
	for (; *s != '\0'; s++)
		if (safe_utf8(s) > 0)
			return 1;
	return 0;
}

void
safe_text(FILE *f, const char *s, const char *indent)
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
		n = safe_utf8(s);
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
safe_field(FILE *f, const char *field, const char *value)
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
safe_date(long t)
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
safe_typed(const char *s)
{
	const char *p = s;

	while (isalnum((unsigned char)*p) || *p == '-' || *p == '.')
		p++;
	return p > s && *p == ';' && p[1 + strspn(p + 1, " ")] != '\0';
}

void
safe_address(FILE *f, const char *field, const char *user)
{
	char value[WORD_MAX_ * 4 + 20];
	struct text t;
	unsigned long u;
	size_t n;

	text_init(&t, value, sizeof(value));
	if (!safe_has_utf8(user)) {
		text_add(&t, "%s; %s", strchr(user, '@') != NULL ? "rfc822" :
		    "x-local", user);
		safe_field(f, field, value);
		return;
	}
	text_add(&t, "utf-8; ");
	for (; *user != '\0'; user++) {
		u = (unsigned char)*user;
		n = safe_utf8(user);
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
	safe_field(f, field, value);
}
