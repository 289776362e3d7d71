/*
 * words.c - prints text and numbers for people.
 *
 *	evil\033[2J	a text from outside
 *	3 files, 1 file
 *	2d20h
 *
 * All text from outside is printed through mq_put or by %s of mq_print, so that
 * no byte in a queue can move a cursor or begin a line.  The lines of a reason,
 * which agents end with a carriage return, are joined with blanks.
 */
#include "mq.h"
#ifndef NO_WINSIZE
#include <sys/ioctl.h>
#include <termios.h>	/* struct winsize, on some systems */
#endif

#define NAME_LEAST	11	/* bytes of a destination that are shown */
#define SOON		(20 * 3600)	/* seconds; a later time has its date */

void
mq_put_byte(FILE *f, int c)
{
	if (c < 32 || c >= 127 || c == '\\')
		fprintf(f, "\\%03o", (unsigned)c);
	else
		putc(c, f);
}

void
mq_put(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		mq_put_byte(f, (unsigned char)*s);
}

/* Prints by a format that has no conversion but %d, %u, %lu, %f, and %s without
 * a width. */
static void
print(FILE *to, const char *f, va_list ap)
{
	char one[24];
	size_t n;

	for (; *f != '\0'; f += n) {
		n = strcspn(f, "%");
		fwrite(f, 1, n, to);
		if (f[n] == '\0')
			return;
		f += n;
		n = strcspn(f, "sduf") + 1;
		text_fmt(one, sizeof(one), "%.*s", (int)n, f);
		if (f[n - 1] == 's')
			mq_put(to, va_arg(ap, const char *));
		else if (f[n - 1] == 'f')
			fprintf(to, one, va_arg(ap, double));
		else if (f[n - 2] == 'l')
			fprintf(to, one, va_arg(ap, unsigned long));
		else
			fprintf(to, one, va_arg(ap, int));
	}
}

void
mq_print(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	print(stdout, f, ap);
	va_end(ap);
}

void
mq_complain(const char *f, ...)
{
	va_list ap;

	fflush(stdout);
	fputs(MAILQNAME ": ", stderr);
	va_start(ap, f);
	print(stderr, f, ap);
	va_end(ap);
	putc('\n', stderr);
}

int
mq_fail_memory(void)
{
	mq_complain("there is not enough memory");
	return X_UNAVAILABLE;
}

/* Several carriage returns in a row are one blank, and nothing at the end of
 * the reason. */
int
mq_next_joined_byte(const char **s)
{
	int c = (unsigned char)**s;

	if (c == '\r') {
		*s += strspn(*s, "\r");
		return **s == '\0' ? 0 : ' ';
	}
	*s += c != '\0';
	return c;
}

const char *
mq_reason_suffix(const char *s)
{
	static char text[MQ_TOKEN_MAX + 3];	/* large for a stack */
	char *to = text;

	if (*s == '\0')
		return "";
	*to++ = ':';
	if (*s != '\r')
		*to++ = ' ';
	do
		*to = (char)mq_next_joined_byte(&s);
	while (*to != '\0' && ++to < text + sizeof(text) - 1);
	*to = '\0';
	return text;
}

void
mq_put_name(const struct mq_dest *d, int columns)
{
	char name[MQ_SCREEN_MAX + 1];
	struct text t;

	text_init(&t, name, (size_t)columns + 1);
	t.clean = 1;
	if (d == NULL)
		text_add(&t, "all");
	else
		text_add(&t, "%s/%s", d->channel, d->host);
	if (t.cut)
		t.s[t.len - 1] = '+';
	printf("%-*s", columns, name);
}

void
mq_put_below(const char *reason, int columns)
{
	char line[MQ_SCREEN_MAX + 1], c;
	struct text t;

	text_init(&t, line, (size_t)columns + 1);
	t.clean = 1;
	text_put(&t, "    ", 4);
	while ((c = (char)mq_next_joined_byte(&reason)) != '\0')
		text_put(&t, &c, 1);
	puts(line);
}

/* Returns the number in a variable of the environment, or 0. */
static int
screen_var(const char *name)
{
	const char *s = getenv(name);
	unsigned long n;

	return s != NULL && num_upto(s, MQ_SCREEN_MAX, &n, NULL) == 0 ?
	    (int)n : 0;
}

int
mq_name_columns(int others, int *lines)
{
	int columns = screen_var("COLUMNS");
#if !defined(NO_WINSIZE) && defined(TIOCGWINSZ)
	struct winsize ws;
	int on = isatty(1) && ioctl(1, TIOCGWINSZ, &ws) == 0;
#endif

	*lines = screen_var("LINES");
#if !defined(NO_WINSIZE) && defined(TIOCGWINSZ)
	if (columns == 0 && on && ws.ws_col <= MQ_SCREEN_MAX)
		columns = ws.ws_col;
	if (*lines == 0 && on && ws.ws_row <= MQ_SCREEN_MAX)
		*lines = ws.ws_row;
#endif
	if (columns == 0)
		columns = 80;
	if (*lines == 0)
		*lines = 24;
	columns -= 1 + others;
	return columns < NAME_LEAST ? NAME_LEAST : columns;
}

int
mq_by_name(const struct mq_dest *a, const struct mq_dest *b)
{
	int c = strcmp(a->channel, b->channel);

	return c != 0 ? c : strcmp(a->host, b->host);
}

/* Begins a text, in the oldest of four buffers. */
static struct text *
begin_text(void)
{
	static char bufs[4][100];
	static struct text t;
	static int turn;

	turn = (turn + 1) % 4;
	text_init(&t, bufs[turn], sizeof(bufs[turn]));
	return &t;
}

const char *
mq_span(long seconds)
{
	struct text *t = begin_text();

	span_add(t, seconds, 2);
	return t->s;
}

const char *
mq_plural(double n, const char *what)
{
	struct text *t = begin_text();

	sprintf(t->s, "%.0f %.40s%s", n, what, n == 1 ? "" : "s");
	return t->s;
}

/* The time of day is left out if the clock is not set or cannot express it. */
const char *
mq_next_try(int seconds)
{
	struct text *t = begin_text();
	time_t wall = time(NULL), then = wall;
	struct tm *tm = NULL;
	char at[40];

	if ((long)wall > SANE_WALL && (sizeof(then) > 4 ||
	    difftime(wall, (time_t)0) + seconds < 2147483647.0)) {
		then += seconds;
		tm = localtime(&then);
	}
	text_add(t, "next ");
	if (tm != NULL && strftime(at, sizeof(at), seconds < SOON ?
	    "%H:%M " : "%d %b %H:%M ", tm) > 0)
		text_add(t, "%s", at);
	text_add(t, "(in ");
	span_add(t, seconds, 2);
	text_add(t, ")");
	return t->s;
}
