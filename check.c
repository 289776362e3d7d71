/*
 * check.c - scheduler -n: shows and checks what a configuration would do.
 *
 *	scheduler-check FILE CHANNEL HOST NAME=value ...
 *
 * The scheduler executes this program after it has read its options.  The
 * arguments are the file of the configuration; the address to explain, or two
 * empty words to check everything; and values of ${NAME}, first the locations.
 * scheduler-check is a program of its own, so that a running daemon does not
 * hold its code.  The program is linked with the daemon's modules, so that it
 * gives the daemon's answers.
 *
 *	scheduler.cf:4: command: /usr/local/lib/mail/ta/uux: No such file or
 *	directory; its mail would wait
 *
 * Errors of the configuration come from cf.c; then the exit code is 78, or 75
 * if users or groups cannot be looked up now.  The exit code is also 78 without
 * a clause or with an empty mailname, and 1 if ta/dsn cannot be run.  The other
 * findings of this module are warnings, which are no errors: commands that
 * cannot be run, options that an agent does not know, clauses that no address
 * reaches, paths of PARAMs in missing directories, lines of routes whose
 * address has no command, a host name that is not full.  Last, if root or the
 * owner of the post office runs the program, the owners and modes of the
 * directories there are checked; if the scheduler would refuse to start because
 * of them, the exit code is the one of that refusal.
 */
#include "scheduler.h"
#include "lib/post.h"
#include <sys/wait.h>

#define RETRIES_SHOWN	10	/* tries in the text of an address */

static const char *config_file;

/* Prints a finding about the file.  Words of ZMailer without a meaning here are
 * left out, as the scheduler logs them. */
static void
print_finding(enum finding what, const char *line)
{
	if (what != CF_IGNORED)
		fprintf(stderr, "%s\n", line);
}

/* ---- commands -------------------------------------------------------- */

/* Prints a warning about the clause. */
static void LIKE_PRINTF(2, 3)
warn_clause(const struct clause *cl, const char *f, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: ", config_file, cl->line);
	va_start(ap, f);
	vfprintf(stderr, f, ap);
	va_end(ap);
	putc('\n', stderr);
}

/* Returns the user of the agents of a clause.  As an earlier clause may have
 * set the user, an address that the clause matches is needed.  The clause's
 * first pattern is taken for one, as '*' and '?' also match themselves.  A
 * pattern with [ or \ may not match itself; then a user that earlier clauses
 * set may be missed. */
static uid_t
get_agent_user(struct config *config, const struct clause *cl)
{
	char address[2 * WORD_MAX_], *host;
	const struct conf *f = NULL;

	if (text_fmt(address, sizeof(address), "%s", cl->patterns[0]) == 0 &&
	    (host = strchr(address, '/')) != NULL) {
		*host++ = '\0';
		f = cf_match(config, address, host);
	}
	return cl->v.uid != 0 || f == NULL ? cl->v.uid : f->v.uid;
}

/* Runs the agent as its user and in its environment, with this option before
 * the options of the command, and with its output in out.  Returns the exit
 * code of the agent, or -1. */
static int
run_agent(const char *path, struct command *c, uid_t uid, char *option, int out)
{
	char *argv[CMD_WORDS + 2];
	int i, status;
	pid_t pid;

	argv[0] = c->argv[0];
	argv[1] = option;
	for (i = 1; i <= c->nargv; i++)
		argv[i + 1] = c->argv[i];
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		close(0);
		open("/dev/null", O_RDONLY);
		if (dup2(out, 1) < 0 || dup2(out, 2) < 0 || (geteuid() == 0 &&
		    setuid(uid) < 0))
			_exit(X_OSERR);
		execve(path, argv, c->env);
		_exit(X_OSERR);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Returns 1 if the agent is of this package: with -V it prints NAME VERSION, in
 * one line. */
static int
is_our_program(const char *path, struct command *c, uid_t uid)
{
	static char option[] = "-V";
	size_t n = strlen(c->argv[0]);
	char line[100] = "";
	FILE *f = tmpfile();
	int is_ours, code;

	if (f == NULL)
		return 0;
	code = run_agent(path, c, uid, option, fileno(f));
	rewind(f);
	is_ours = code == 0 && fgets(line, sizeof(line), f) != NULL &&
	    strncmp(line, c->argv[0], n) == 0 && line[n] == ' ' &&
	    strchr("0123456789", line[n + 1]) != NULL && getc(f) == EOF;
	fclose(f);
	return is_ours;
}

/* Runs an agent of this package with -N: the agent checks its user, and the
 * options of its clause. */
static void
check_options(const struct clause *cl, const char *path, struct command *c,
    uid_t uid)
{
	static const char *const names[] = { "mailbox", "smtp", "sm", "hold",
	    "errormail", NULL };
	static char option[] = "-N";
	int code, i = 0;

	while (names[i] != NULL && strcmp(c->argv[0], names[i]) != 0)
		i++;
	if (names[i] == NULL)
		return;
	if (!is_our_program(path, c, uid)) {
		warn_clause(cl, "command: the options of %s are not checked, "
		    "as it is not the agent of this package", path);
		return;
	}
	code = run_agent(path, c, uid, option, 2);
	if (code == X_USAGE)
		warn_clause(cl, "command: %s does not take these options",
		    names[i]);
	else if (code > 0)
		warn_clause(cl, "command: %s could not work, for the reason "
		    "above", names[i]);
}

/* Warns if the command of the clause cannot be run. */
static void
check_command(struct config *config, const struct clause *cl)
{
	static struct command c;	/* large; set anew by each call */
	char path[PATH_MAX_];
	const char *why;
	struct stat st;

	why = cmd_split(cl->v.command, "channel", "host", cf_get_var, &c);
	if (why != NULL) {
		warn_clause(cl, "command: %s; its mail would wait", why);
		return;
	}
	if (c.unreplaced[0] != '\0')
		warn_clause(cl, "command: $%s is not replaced; only $channel, "
		    "$host and ${NAME} are", c.unreplaced);
	if (ta_set_env(&c, NULL, config, path) < 0 || stat(path, &st) < 0 ||
	    access(path, X_OK) < 0) {
		warn_clause(cl, "command: %s: %s; its mail would wait", path,
		    strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		warn_clause(cl, "command: %s is no program; its mail would "
		    "wait", path);
		return;
	}
	check_options(cl, path, &c, get_agent_user(config, cl));
}

/* ---- clauses --------------------------------------------------------- */

/* Returns 1 if each address that the pattern matches is surely matched by one
 * pattern of the set; and 0 if not, or if [, ? or \ make that hard to tell.
 * The pattern is matched as if it were an address: a '*' in it counts as a
 * plain byte, which only a '*' in the set matches.  The channel dsn is matched
 * only by patterns that begin with dsn/. */
static int
is_covered(char *const *set, const char *pattern)
{
	int is_address = strpbrk(pattern, "[\\") == NULL;
	int is_dsn = strncmp(pattern, "dsn/", 4) == 0;

	for (; *set != NULL; set++) {
		if (is_dsn && strncmp(*set, "dsn/", 4) != 0)
			continue;
		if (strcmp(*set, pattern) == 0 || (is_address &&
		    strpbrk(*set, "?[\\") == NULL &&
		    pat_matches(*set, pattern)))
			return 1;
	}
	return 0;
}

/* Returns NULL if an address may reach the clause.  If earlier clauses end the
 * search for each of its patterns, returns the clause that does so for the last
 * pattern. */
static const struct clause *
find_shadow(const struct config *config, const struct clause *c)
{
	const struct clause *e = NULL;
	char **p;

	for (p = c->patterns; *p != NULL; p++) {
		for (e = config->clauses; e != c; e = e->next)
			if (e->v.command != NULL && is_covered(e->patterns, *p))
				break;
		if (e == c)
			return NULL;
	}
	return e;
}

/* Returns 1 if the command is smtp with a smart host. */
static int
has_smart_host(const char *command)
{
	static struct command c;	/* large; set anew by each call */
	int i = 1;

	if (cmd_split(command, "channel", "host", cf_get_var, &c) != NULL ||
	    strcmp(c.argv[0], "smtp") != 0)
		return 0;
	while (i < c.nargv && strncmp(c.argv[i], "-R", 2) != 0)
		i++;
	return i < c.nargv;
}

/* Warns of a line of submit -bn, "FILE:LINE: CHANNEL/HOST", whose address has
 * no command, or whose mail for one smart host would have many threads. */
static void
check_route(struct config *c, char *line)
{
	char *channel = strrchr(line, ' '), *host;
	const struct conf *f;

	if (channel == NULL || (host = strchr(channel, '/')) == NULL)
		return;
	*channel++ = '\0';
	*host++ = '\0';
	f = cf_match(c, channel, host);
	if (f != NULL && f->v.command == NULL)
		fprintf(stderr, "%s mail would wait, as no clause of %s with "
		    "a command matches %s/%s\n", line, config_file, channel,
		    host);
	else if (f != NULL && strcmp(host, "-") == 0 &&
	    has_smart_host(f->v.command))
		fprintf(stderr, "%s with smtp -R, a host of - makes a queue "
		    "for each address; write a name in the place of -\n",
		    line);
}

/* Checks the addresses of submit's table, if the table exists.  submit -bn
 * prints these addresses. */
static void
check_submit_routes(struct config *c)
{
	char table[PATH_MAX_], line[LINE_MAX_];
	FILE *f = NULL;
	pid_t pid;
	int p[2];

	if (text_fmt(table, sizeof(table), "%s/routes", opt.mailshare) < 0 ||
	    access(table, R_OK) < 0 || pipe(p) < 0)
		return;
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		dup2(p[1], 1);
		close(p[0]);
		close(p[1]);
		execlp("submit", "submit", "-bn", "-C", table, (char *)NULL);
		fprintf(stderr, "scheduler: %s is not checked: PATH has no "
		    "submit\n", table);
		_exit(X_OSFILE);
	}
	close(p[1]);
	if (pid > 0)
		f = fdopen(p[0], "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		check_route(c, line);
	}
	if (f != NULL)
		fclose(f);
	waitpid(pid, NULL, 0);
}

/* Warns if the directory of the path of a PARAM is missing. */
static void
check_param_path(const char *param, const char *path)
{
	size_t n = strlen(opt.postoffice);
	char dir[PATH_MAX_];
	struct stat st;

	if (path == NULL || text_fmt(dir, sizeof(dir), "%.*s/",
	    (int)(strrchr(path, '/') - path), path) < 0)
		return;
	/* the scheduler makes directories in the post office when it starts */
	if (strncmp(dir, opt.postoffice, n) == 0 && dir[n] == '/')
		return;
	if (stat(dir, &st) < 0)
		fprintf(stderr, "%s: %s: the directory of %s: %s\n",
		    config_file, param, path, strerror(errno));
}

/* Checks what the clauses and PARAMs name, and warns of clauses that no address
 * reaches.  Returns the exit code: 0, or 1 if ta/dsn cannot be run. */
static int
check_config(struct config *c)
{
	const struct clause *cl, *other;

	for (cl = c->clauses; cl != NULL; cl = cl->next) {
		other = find_shadow(c, cl);
		if (other != NULL)
			warn_clause(cl, "%s: is never reached, as %s in line "
			    "%d matches its addresses and has a command; put "
			    "this clause first", cl->text, other->text,
			    other->line);
		else if (cl->filled && cl->v.command != NULL)
			check_command(c, cl);
	}
	check_param_path("PARAMnotifysock", c->notifysock);
	check_param_path("PARAMrouternotify", c->routernotify);
	check_param_path("PARAMdestdb", c->destdb);
	check_submit_routes(c);
	if (c->nodsn)
		fprintf(stderr, "scheduler: %s/ta/dsn cannot be run: no sender "
		    "would be told of failed mail, which would stay queued\n",
		    opt.mailbin);
	return c->nodsn;
}

/* ---- the settings of an address as text -------------------------------- */

/* Returns the span with all its units, such as 1d1h1m1s, as the language reads
 * it.  Valid until the next call. */
static const char *
format_span(long n)
{
	static char span[40];
	struct text t;

	text_init(&t, span, sizeof(span));
	span_add(&t, n, 4);
	return span;
}

/* Prints the value in quotes, as the language reads it. */
static void
print_quoted(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', out);
		putc(*s, out);
	}
	fprintf(out, "\"\n");
}

/* Prints the line of a keyword.  Lists, rules and commands are printed as they
 * were written; numbers and spans as they are in force, since 0 may stand for a
 * default, as with idlemax. */
static void
print_value(const struct setting *v, const struct keyword *k, FILE *out)
{
	const char *text = v->text[k - cf_keywords];
	long n = 0;

	if (k->type <= T_ANSWER)
		memcpy(&n, (const char *)v + k->at, sizeof(n));
	if (k->type == T_FLAG && text != NULL && *text == '1')
		fprintf(out, "\t%s\n", k->name);
	else if (k->type == T_COMMAND && text == NULL)
		fprintf(out, "\t# no command: such mail waits\n");
	if (text == NULL || k->type == T_FLAG)
		return;
	fprintf(out, "\t%s=", k->name);
	if (k->type == T_SPAN)
		fprintf(out, "%s\n", format_span(n));
	else if (k->type <= T_GROUP)
		fprintf(out, "%ld\n", n);
	else if (k->type <= T_RATE && text[strcspn(text, " \t\n")] == '\0')
		fprintf(out, "%s\n", text);
	else
		print_quoted(text, out);
}

/* Prints the clauses that match the address, the values in force as a clause of
 * the language, and the first retries. */
static void
print_settings(struct config *config, const char *channel, const char *host,
    FILE *out)
{
	struct conf *f = cf_match(config, channel, host);
	const struct keyword *k;
	unsigned short retry_index;
	long i, sum = 0;

	if (f == NULL)
		return;
	fprintf(out, "# %s/%s matches\n", channel, host);
	for (i = 0; i < (long)f->nfrom; i++)
		fprintf(out, "#\tline %d: %s\n", f->from[i]->line,
		    f->from[i]->text);
	if (f->nfrom == 0)
		fprintf(out, "#\tno clause\n");
	fprintf(out, "%s/%s\n", channel, host);
	for (k = cf_keywords; k->name != NULL; k++)
		print_value(&f->v, k, out);
	fprintf(out, "# tried at arrival, and again after\n#");
	for (i = 0; i < RETRIES_SHOWN && sum <= LONG_MAX / 2; i++) {
		if (i == f->v.retries.n)
			fprintf(out, "\n# the list goes on from a random place "
			    "in it, for example with tries after\n#");
		/* retry_next_wait would set a random index */
		retry_index = i % f->v.retries.n;
		sum += retry_next_wait(&f->v, &retry_index, 0, 0);
		fprintf(out, " %s", format_span(sum));
	}
	fprintf(out, "\n");
	/* a wait of 1 second, as for the factor 0, is not moved */
	if (retry_longest_wait(&f->v) > 1)
		fprintf(out, "# (each time is moved towards a multiple of "
		    "interval; from retry %ld on, it is such a multiple)\n",
		    f->v.skew);
}

/* ---- the name of this host ---------------------------------------------- */

/* Warns of a name of this host that other hosts may not accept.  Returns 0, or
 * the exit code with which the scheduler would not start. */
static int
check_mailname(void)
{
	enum mailname_source source = mailname_find_source(opt.mailshare);
	const char *s = mailname(opt.mailshare);
	char path[PATH_MAX_];
	struct stat st;
	int exists;

	text_fmt(path, sizeof(path), "%s/mailname", opt.mailshare);
	if (source == MAILNAME_EMPTY) {
		fprintf(stderr, "scheduler: %s is empty: write the full name "
		    "of this host into it, such as box.example.org\n",
		    path);
		return X_CONFIG;
	}
	exists = stat(path, &st) == 0;
	if (exists && source != MAILNAME_GIVEN)
		fprintf(stderr, "scheduler: mail calls this host %s: %s cannot "
		    "be read, or its first word is no name\n", s, path);
	else if (strchr(s, '.') == NULL)
		fprintf(stderr, "scheduler: mail calls this host %s, which is "
		    "not a full name: write one to %s\n", s, path);
	else if (exists && (st.st_mode & S_IROTH) == 0)
		fprintf(stderr, "scheduler: mail of other users has another "
		    "name for this host, since they cannot read %s: chmod 644 "
		    "it\n", path);
	return 0;
}

/* ---- the group of submit ------------------------------------------------- */

/* Warns if only a group may write to public/, and the submit in PATH does not
 * run as this group, for example after an update.  Then users cannot submit. */
static void
check_submit_group(void)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX_];
	struct stat public, st;
	int n;

	if (text_fmt(path, sizeof(path), "%s/public", opt.postoffice) < 0 ||
	    stat(path, &public) < 0 || !post_is_closed(&public))
		return;
	for (; dirs != NULL && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
		n = (int)strcspn(dirs, ":");
		if (text_fmt(path, sizeof(path), "%.*s/submit", n, dirs) < 0 ||
		    access(path, X_OK) < 0 || stat(path, &st) < 0)
			continue;
		if ((st.st_mode & S_ISGID) == 0 || st.st_gid != public.st_gid)
			fprintf(stderr, "scheduler: users cannot submit mail: "
			    "only a group may write to %s/public, and %s does "
			    "not run as this group: chgrp %ld %s && chmod 2755 "
			    "%s\n", opt.postoffice, path, (long)public.st_gid,
			    path, path);
		return;
	}
}

int
main(int argc, char **argv)
{
	struct config *c;
	int code = 0, start_code;

	config_file = argv[1];
	opt.vars = argv + (argc < 4 ? argc : 4);
	opt.postoffice = cf_get_var("POSTOFFICE");
	opt.mailbin = cf_get_var("MAILBIN");
	opt.mailshare = cf_get_var("MAILSHARE");
	opt.envfile = cf_get_var("ZCONFIG");
	if (opt.postoffice == NULL || opt.mailbin == NULL ||
	    opt.mailshare == NULL) {
		fputs("scheduler-check is a part of scheduler -n\n", stderr);
		return X_USAGE;
	}
	logs.level = L_ERR;	/* warnings on the spool are for the log */
	c = cf_read_file(config_file, print_finding);
	if (c == NULL)
		return errno == EAGAIN ? X_TEMPFAIL : X_CONFIG;
	if (c->clauses == NULL) {
		fprintf(stderr, "%s: it has no clause, so no mail would be "
		    "delivered\n", config_file);
		return X_CONFIG;
	}
	if (*argv[2] != '\0')
		print_settings(c, argv[2], argv[3], stdout);
	else
		code = check_config(c);
	cf_free(c);
	start_code = check_mailname();
	check_submit_group();
	if (start_code == 0)
		start_code = spool_setup(1);
	return start_code != 0 ? start_code : code;
}
