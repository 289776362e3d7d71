/*
 * say.c - writes lines to the standard error.
 *
 *	20261128145600 submit: router/77: cannot be read: Input/output error
 *
 * A line has the time, in a log; the name that submit was called by; perhaps a
 * topic, mostly the file that a run is at work on; and the text.  Bytes that
 * could forge a line or disturb a terminal are shown as \ooo.
 *
 * The last line is kept, for a reply of SMTP and as the reason of a deferral.
 */
#include "submit.h"

static int stamped;
static char name[40] = "submit";
static char topic[100];
static char last[1500];

void
say_set_name(const char *argv0)
{
	const char *base = name_base(argv0);

	if (*base != '\0')
		text_fmt(name, sizeof(name), "%s", base);
}

void
say_set_times(void)
{
	stamped = 1;
}

void
say_set_topic(const char *s)
{
	text_fmt(topic, sizeof(topic), "%s", s == NULL ? "" : s);
}

void
say(const char *f, ...)
{
	char line[1520], when[20] = "";
	time_t wall = time(NULL);
	struct tm *tm = stamped ? localtime(&wall) : NULL;
	struct text t;
	size_t head;
	va_list ap;

	text_init(&t, line, sizeof(line) - 1);
	t.clean = 1;
	if (tm != NULL)
		strftime(when, sizeof(when), "%Y%m%d%H%M%S ", tm);
	text_add(&t, "%s%s: ", when, name);
	if (topic[0] != '\0')
		text_add(&t, "%s: ", topic);
	head = t.len;
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	text_fmt(last, sizeof(last), "%s", line + head);
	line[t.len++] = '\n';
	fd_write(2, line, t.len);	/* a failure cannot be shown */
}

const char *
say_last(void)
{
	return last;
}

int
say_cannot(const char *what, const char *path)
{
	say("cannot %s %s: %s", what, path, strerror(errno));
	return -1;
}
