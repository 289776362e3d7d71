/*
 * words.c - prints text and numbers for people.
 *
 *	evil\033[2J	a text from outside
 *	3 files, 1 file
 *	2d20h
 *
 * All text from outside is printed through mq_put, so that no byte in a queue
 * can move a cursor or begin a line.  The lines of a reason, which agents end
 * with a carriage return, are joined with blanks.
 */
#include "mq.h"
#ifndef NO_WINSIZE
#include <sys/ioctl.h>
#include <termios.h>	/* struct winsize, on some systems */
#endif

#ifndef MAILQNAME
#define MAILQNAME	"mailq"
#endif

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

void
mq_complain(const char *what)
{
	fflush(stdout);
	fputs(MAILQNAME ": ", stderr);
	mq_put(stderr, what);
	putc('\n', stderr);
}

int
mq_reason_byte(const char **s)
{
	int c = (unsigned char)**s;

	*s += c == '\r' ? strspn(*s, "\r") : c != '\0';
	return c != '\r' ? c : **s == '\0' ? 0 : ' ';
}

void
mq_put_reason(const char *s)
{
	int c;

	fputs(*s == '\0' ? "" : *s == '\r' ? ":" : ": ", stdout);
	while ((c = mq_reason_byte(&s)) != 0)
		mq_put_byte(stdout, c);
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
	while ((c = (char)mq_reason_byte(&reason)) != '\0')
		text_put(&t, &c, 1);
	puts(line);
}

/* A number of the environment, or 0. */
static int
screen_var(const char *name)
{
	const char *s = getenv(name);
	unsigned long n;

	return s != NULL && num_upto(s, MQ_SCREEN_MAX, &n, NULL) == 0 ?
	    (int)n : 0;
}

void
mq_screen(int *columns, int *lines)
{
#if !defined(NO_WINSIZE) && defined(TIOCGWINSZ)
	struct winsize ws;
	int on = isatty(1) && ioctl(1, TIOCGWINSZ, &ws) == 0;
#endif

	*columns = screen_var("COLUMNS");
	*lines = screen_var("LINES");
#if !defined(NO_WINSIZE) && defined(TIOCGWINSZ)
	if (*columns == 0 && on && ws.ws_col <= MQ_SCREEN_MAX)
		*columns = ws.ws_col;
	if (*lines == 0 && on && ws.ws_row <= MQ_SCREEN_MAX)
		*lines = ws.ws_row;
#endif
	if (*columns == 0)
		*columns = 80;
	if (*lines == 0)
		*lines = 24;
}

void
mq_put_span(long seconds)
{
	char buf[40];
	struct text t;

	text_init(&t, buf, sizeof(buf));
	span_add(&t, seconds, 2);
	fputs(buf, stdout);
}

/* "3 files", "1 file". */
void
mq_put_count(double n, const char *what)
{
	printf("%.0f %s%s", n, what, n == 1 ? "" : "s");
}
