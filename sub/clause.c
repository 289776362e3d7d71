/*
 * clause.c - shows how the scheduler treats mail for an address.
 *
 * The scheduler reads its configuration itself, so submit runs
 *
 *	scheduler -n smtp/far.example
 *
 * and shows those lines of the output that name clauses and the command:
 *
 *		clause line 3: *
 *		clause line 21: {smtp,uucp}
 *		command="smtp -s"
 *
 * The scheduler of PATH is run, or the installed one if PATH has none, without
 * privileges.  If the output has no such line, submit prints "clause not
 * known".
 */
#include "submit.h"
#include <sys/wait.h>

/* Prints a line of the output that names a clause or the command: 0, or -1 for
 * another line. */
static int
print_clause(const char *line)
{
	static const char clause[] = "#\tline ";

	if (strncmp(line, clause, sizeof(clause) - 1) == 0)
		printf("\tclause %s", line + 2);
	else if (strncmp(line, "#\tno clause", 11) == 0)
		printf("\tno clause\n");
	else if (strncmp(line, "\tcommand=", 9) == 0)
		fputs(line, stdout);
	else if (strncmp(line, "\t# no command", 13) == 0)
		printf("\tno command: such mail waits\n");
	else
		return -1;
	return 0;
}

void
clause_show(const char *channel, const char *host)
{
	char line[LINE_MAX_], address[64 + DOMAIN_SIZE + 2];
	FILE *f;
	int p[2], shown = 0;	/* lines printed */
	pid_t pid;

	if (pipe(p) < 0)
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		text_fmt(address, sizeof(address), "%s/%s", channel, host);
		if (rights_drop() < 0 || dup2(p[1], 1) < 0 ||
		    dup2(open("/dev/null", O_RDWR), 2) < 0)
			_exit(X_OSERR);
		fd_close_from(3);
		execlp("scheduler", "scheduler", "-n", address, (char *)NULL);
		execl(SBIN "/scheduler", "scheduler", "-n", address,
		    (char *)NULL);
		_exit(X_OSFILE);
	}
	close(p[1]);
	f = pid > 0 ? fdopen(p[0], "r") : NULL;
	if (f == NULL)
		close(p[0]);
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		shown += print_clause(line) == 0;
	if (f != NULL)
		fclose(f);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	if (shown == 0)
		puts("\tclause not known: scheduler -n says why");
}
