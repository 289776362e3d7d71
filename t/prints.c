/*
 * prints.c - an openlog and a syslog that print what they are given, for
 * t/syslog.t: IDENT PRIORITY: TEXT.
 */
#include <stdarg.h>
#include <stdio.h>
#ifndef NO_SYSLOG
#include <syslog.h>

static const char *name = "?";

void
openlog(const char *ident, int option, int facility)
{
	name = ident;
	printf("%s is open, option %d, %s\n", name, option,
	    facility == LOG_MAIL ? "mail" : "not mail");
}

void
syslog(int priority, const char *format, ...)
{
	va_list ap;

	printf("%s %s: ", name, priority == LOG_ERR ? "err" :
	    priority == LOG_WARNING ? "warning" :
	    priority == LOG_INFO ? "info" :
	    priority == LOG_DEBUG ? "debug" : "?");
	va_start(ap, format);
	vprintf(format, ap);
	va_end(ap);
	printf("\n");
}
#else
typedef int nothing;
#endif
