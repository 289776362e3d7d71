/*
 * box.c - all programs in one, for small disks of flash.
 *
 *	mailq -v		the box under the name of a program, by a link,
 *				is that program
 *	box mailq -v		the name may also be the first argument
 *	box			prints the names
 *
 * "make box" compiles each source that has a main() again, with -DBOX, which
 * gives main() another name (lib/util.h), and links all of them with the shared
 * modules.  "make install-box" makes the links.
 *
 * A copy of the box that is installed as submit may have a set-id bit.  As the
 * user chooses the name, a box that runs with other rights than the user's can
 * only be submit.
 */
#include "lib/office.h"

#define PROGRAMS(X) \
	X("scheduler", scheduler) \
	X("scheduler-check", check) \
	X("scheduler-syslog", syslog) \
	X(MAILQNAME, mailq) \
	X("submit", submit) \
	X("sendmail", submit) \
	X("newaliases", submit) \
	X("rsmtp", submit) \
	X("mailbox", mailbox) \
	X("hold", hold) \
	X("sm", sm) \
	X("errormail", errormail) \
	X("smtp", smtp) \
	X("dsn", dsn)
#define DECLARE(name, program)	int box_##program(int, char **);
#define ENTRY(name, program)	{ name, box_##program },

PROGRAMS(DECLARE)

static const struct {
	const char *name;
	int	(*run)(int, char **);
} programs[] = {
	PROGRAMS(ENTRY)
};

int
main(int argc, char **argv)
{
	const size_t n = sizeof(programs) / sizeof(*programs);
	size_t i;
	int k, has_users_rights = getegid() == getgid() &&
	    geteuid() == getuid();

	for (k = 0; k < 2 && k < argc; k++)
		for (i = 0; i < n; i++)
			if ((has_users_rights ||
			    programs[i].run == box_submit) &&
			    strcmp(name_base(argv[k]), programs[i].name) == 0)
				return programs[i].run(argc - k, argv + k);
	for (i = 0; i < n; i++)
		puts(programs[i].name);
	return argc > 1 ? X_USAGE : 0;
}
