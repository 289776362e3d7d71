/*
 * syslog.c - scheduler-syslog: gives the lines of the log to syslogd.
 *
 *	scheduler-syslog IDENT
 *
 * The scheduler starts this program and writes each line of its log to it:
 *
 *	20261122091011 warn set-aside msg=123-45 to=postman/123-45 ...
 *
 * becomes the warning "set-aside msg=123-45 to=postman/123-45 ..." of IDENT,
 * which is "scheduler[PID]".  syslogd adds a stamp of its own.
 *
 * syslog(3) waits while syslogd does not read, for example while its disk or
 * its console hangs.  In a process of its own, this wait delays no mail: the
 * scheduler drops the lines that this program does not read at once.
 *
 * The program ends with the scheduler, at the end of its input.  It ignores the
 * signals that end all processes at a shutdown, as the scheduler logs its last
 * lines after such a signal.  If syslogd does not accept a line within a
 * minute, the program ends, too.
 */
#include "lib/util.h"
#include <signal.h>
#ifndef NO_SYSLOG
#include <syslog.h>

static const struct level {
	const char *word;
	int	priority;
} levels[] = {
	{ "err ", LOG_ERR }, { "warn ", LOG_WARNING },
	{ "info ", LOG_INFO }, { "debug ", LOG_DEBUG },
	{ "", LOG_INFO }	/* a line without a level */
};

#define SYSLOG_TIMEOUT	60	/* seconds for a line */

/* Logs the line without its stamp and level.  A line that has neither is logged
 * as it is. */
static void
log_line(const char *line)
{
	const char *s = line + strspn(line, "0123456789");
	const struct level *l = levels;

	s += *s == ' ';
	while (strncmp(s, l->word, strlen(l->word)) != 0)
		l++;
	if (*l->word != '\0')
		line = s + strlen(l->word);
	alarm(SYSLOG_TIMEOUT);
	syslog(l->priority, "%s", line);
	alarm(0);
}
#endif

int
main(int argc, char **argv)
{
#ifndef NO_SYSLOG
	char line[4096];
#endif

	if (argc != 2) {
		fputs("usage: scheduler-syslog ident\n", stderr);
		return X_USAGE;
	}
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
#ifdef NO_SYSLOG
	fprintf(stderr, "%s: built without syslog\n", argv[1]);
	return X_UNAVAILABLE;
#else
	openlog(argv[1], 0, LOG_MAIL);
	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		log_line(line);
	}
	return 0;
#endif
}
