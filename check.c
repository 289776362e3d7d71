/*
 * check.c - scheduler -n: shows and checks what a configuration would do.
 *
 *	scheduler-check FILE CHANNEL HOST NAME=value ...
 *
 * The scheduler executes this program after it has read its options.  The
 * arguments are the file of the configuration; the address to explain, or two
 * empty words to check everything; and values of ${NAME}, first the locations.
 * It is a program of its own, so that a running daemon does not hold its code.
 * It is linked with the daemon's modules, so that it gives the daemon's
 * answers.
 *
 *	scheduler.cf:4: command: /usr/local/lib/mail/ta/uux: No such file or
 *	directory; its mail would wait
 *
 * Errors of the configuration come from cf.c; then the exit code is 78.  The
 * warnings of this module are no errors: commands that cannot be run, options
 * that an agent does not know, clauses that no address reaches, paths of PARAMs
 * in missing directories, lines of routes whose address has no command, a name
 * of this host that is no full name.  At last, if root or the owner of the post
 * office runs it, the owners and modes of its directories are checked; then the
 * exit code may be 77.
 */
#include "scheduler.h"
#include "lib/post.h"
#include <sys/wait.h>

#define RETRIES_SHOWN	10
#define BLANKS		" \t\n"

static const char *file;	/* of the configuration */

static void
say_plainly(const char *line)
{
	fprintf(stderr, "%s\n", line);
}

/* ---- commands -------------------------------------------------------- */

/* Prints a warning about the clause. */
static void LIKE_PRINTF(2, 3)
advise(const struct clause *cl, const char *f, ...)
{
	va_list ap;

	fprintf(stderr, "%s:%d: ", file, cl->line);
	va_start(ap, f);
	vfprintf(stderr, f, ap);
	va_end(ap);
	putc('\n', stderr);
}

/* The user of the agents of a clause.  An address that the clause means is made
 * of its first pattern, where a '*' matches itself. */
static uid_t
user_of(struct config *config, const struct clause *cl)
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

/* Starts the agent with this option before its own, as its user and in its
 * environment; it writes to out.  Its exit code, or -1. */
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
	return pid < 0 || waitpid(pid, &status, 0) != pid ||
	    !WIFEXITED(status) ? -1 : WEXITSTATUS(status);
}

/* Is the agent ours?  With -V it says NAME VERSION then, in one line. */
static int
is_ours(const char *path, struct command *c, uid_t uid)
{
	static char option[] = "-V";
	size_t n = strlen(c->argv[0]);
	char line[100] = "";
	FILE *f = tmpfile();
	int ours;

	if (f == NULL)
		return 0;
	ours = run_agent(path, c, uid, option, fileno(f)) == 0;
	rewind(f);
	ours = ours && fgets(line, sizeof(line), f) != NULL &&
	    strncmp(line, c->argv[0], n) == 0 && line[n] == ' ' &&
	    strchr("0123456789", line[n + 1]) != NULL && getc(f) == EOF;
	fclose(f);
	return ours;
}

/* Starts our own agent of a clause with -N, which checks its options and who it
 * is. */
static void
ask_agent(const struct clause *cl, const char *path, struct command *c,
    uid_t uid)
{
	static const char *const ours[] = { "mailbox", "smtp", "sm", "hold",
	    "errormail" };
	static char option[] = "-N";
	int code, i;

	for (i = 0; i < 5 && strcmp(c->argv[0], ours[i]) != 0; i++)
		;
	if (i == 5)
		return;
	if (!is_ours(path, c, uid)) {
		advise(cl, "command: %s is not asked about its options: not "
		    "one of ours", path);
		return;
	}
	code = run_agent(path, c, uid, option, 2);
	if (code == X_USAGE)
		advise(cl, "command: %s does not take these options here",
		    ours[i]);
	else if (code > 0)
		advise(cl, "command: %s could not do its work, as it says "
		    "above", ours[i]);
}

/* Can it be run? */
static void
check_command(struct config *config, const struct clause *cl)
{
	static struct command c;
	char path[PATH_MAX_];
	const char *why, *dir = "";
	struct stat st;

	why = cmd_split(cl->v.command, "channel", "host", cf_get_var, &c);
	if (why != NULL) {
		advise(cl, "command: %s; its mail would wait", why);
		return;
	}
	if (c.plain[0] != '\0')
		advise(cl, "command: $%s stands for itself; there are $channel "
		    "and $host, others have braces", c.plain);
	if (c.argv[0][0] != '/')
		dir = opt.mailbin;
	errno = ENAMETOOLONG;
	if (text_fmt(path, sizeof(path), "%s%s%s", dir,
	    *dir != '\0' ? "/ta/" : "", c.argv[0]) < 0 ||
	    stat(path, &st) < 0 || access(path, X_OK) < 0)
		advise(cl, "command: %s: %s; its mail would wait", path,
		    strerror(errno));
	else if (!S_ISREG(st.st_mode))
		advise(cl, "command: %s is no program; its mail would wait",
		    path);
	else if (cmd_set_env(&c, "TZ", getenv("TZ")) == 0 &&
	    cmd_set_env(&c, "PATH", cf_get_var("PATH")) == 0 &&
	    cmd_set_env(&c, "ZCONFIG", cf_get_var("ZCONFIG")) == 0 &&
	    cmd_set_env(&c, "MAILBIN", opt.mailbin) == 0 &&
	    cmd_set_env(&c, "MAILSHARE", opt.mailshare) == 0 &&
	    cmd_set_env(&c, "MAILBOX", cf_get_var("MAILBOX")) == 0 &&
	    cmd_set_env(&c, "MAILNAME", config->mailname) == 0)
		ask_agent(cl, path, &c, user_of(config, cl));
}

/* ---- clauses --------------------------------------------------------- */

/* Matches one pattern as if it were an address: a '*' in it is matched only by
 * a '*', and so is all that this '*' can match. */
static int
covers(char *const *all, const char *pattern)
{
	int plain = strpbrk(pattern, "[\\") == NULL;
	int dsn = strncmp(pattern, "dsn/", 4) == 0;

	for (; *all != NULL; all++)
		if ((!dsn || strncmp(*all, "dsn/", 4) == 0) &&
		    (strcmp(*all, pattern) == 0 || (plain &&
		    strpbrk(*all, "?[\\") == NULL && pat_match(*all, pattern))))
			return 1;
	return 0;
}

/* The last of the clauses that end the search for all addresses of this one
 * before it comes; NULL: it can be reached. */
static const struct clause *
shadow_of(const struct config *config, const struct clause *c)
{
	const struct clause *e = NULL;
	char **p;

	for (p = c->patterns; *p != NULL; p++) {
		for (e = config->clauses; e != c; e = e->next)
			if (e->v.command != NULL && covers(e->patterns, *p))
				break;
		if (e == c)
			return NULL;
	}
	return e;
}

/* Warns of a clause that no address reaches, or of its command. */
static void
check_clause(struct config *c, const struct clause *cl)
{
	const struct clause *other = shadow_of(c, cl);

	if (other != NULL)
		advise(cl, "%s: is never reached, as %s in line %d means the "
		    "same addresses and has a command; put it above that",
		    cl->text, other->text, other->line);
	else if (cl->filled && cl->v.command != NULL)
		check_command(c, cl);
}

/* Is the command smtp with a smart host? */
static int
is_smart(const char *command)
{
	static struct command c;
	int i = 1;

	if (cmd_split(command, "channel", "host", cf_get_var, &c) != NULL ||
	    strcmp(c.argv[0], "smtp") != 0)
		return 0;
	while (i < c.nargv && strncmp(c.argv[i], "-R", 2) != 0)
		i++;
	return i < c.nargv;
}

/* Checks that the address in a line of submit -bn, "FILE:LINE: CHANNEL/HOST",
 * has a command, and that a smart host counts as one host. */
static void
check_route(struct config *c, char *line)
{
	char *address = strrchr(line, ' '), *channel, *host;
	const struct conf *f;

	if (address == NULL || strchr(address, '/') == NULL)
		return;
	*address++ = '\0';
	host = strchr(channel = address, '/');
	*host++ = '\0';
	f = cf_match(c, channel, host);
	if (f != NULL && f->v.command == NULL)
		fprintf(stderr, "%s mail would wait, as no clause of %s with "
		    "a command means %s/%s\n", line, file, channel, host);
	else if (f != NULL && strcmp(host, "-") == 0 && is_smart(f->v.command))
		fprintf(stderr, "%s each address counts as a host of its own "
		    "for smtp -R; write a name in the place of -\n", line);
}

/* Runs submit -bn, which prints the addresses of its table, if there is one. */
static void
check_routes(struct config *c)
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

static void
check_path(const char *param, const char *path)
{
	const char *office = opt.postoffice;
	char dir[PATH_MAX_];
	struct stat st;

	if (path == NULL || text_fmt(dir, sizeof(dir), "%.*s/",
	    (int)(strrchr(path, '/') - path), path) < 0)
		return;
	/* the post office is made at the start */
	if (strncmp(dir, office, strlen(office)) != 0 && stat(dir, &st) < 0)
		fprintf(stderr, "%s: %s: %s: its directory: %s\n", file,
		    param, path, strerror(errno));
}

/* All checks except those of the post office: 0, or 1 if ta/dsn is missing. */
static int
check_all(struct config *c)
{
	const struct clause *cl;

	for (cl = c->clauses; cl != NULL; cl = cl->next)
		check_clause(c, cl);
	check_path("PARAMnotifysock", c->notifysock);
	check_path("PARAMrouternotify", c->routernotify);
	check_path("PARAMdestdb", c->destdb);
	check_routes(c);
	if (c->nodsn)
		fprintf(stderr, "scheduler: %s/ta/dsn cannot be run: no sender "
		    "would be told of failed mail, which would stay\n",
		    opt.mailbin);
	return c->nodsn;
}

/* ---- the settings of an address as text -------------------------------- */

/* A span with all its units, such as 1d1h1m1s, as the language reads it; good
 * until the next call. */
static const char *
exact_span(long n)
{
	static char span[40];
	struct text t;

	text_init(&t, span, sizeof(span));
	span_add(&t, n, 4);
	return span;
}

/* "value", so that it can be read back. */
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

/* Lists, rules and commands are printed as they were written; numbers and spans
 * as they are in force, since 0 may stand for a default, as with idlemax. */
static void
print_value(const struct setting *v, const struct keyword *k, FILE *out)
{
	const char *text = v->text[k - cf_keywords];
	long n = 0;

	if (k->type <= T_ANSWER)
		memcpy(&n, (const char *)v + k->at, sizeof(n));
	if (k->type == T_FLAG && n)
		fprintf(out, "\t%s\n", k->name);
	else if (k->type == T_COMMAND && text == NULL)
		fprintf(out, "\t# no command: such mail waits\n");
	if (text == NULL || k->type == T_FLAG)
		return;
	fprintf(out, "\t%s=", k->name);
	if (k->type == T_SPAN)
		fprintf(out, "%s\n", exact_span(n));
	else if (k->type <= T_GROUP)
		fprintf(out, "%ld\n", n);
	else if (k->type <= T_RATE && text[strcspn(text, BLANKS)] == '\0')
		fprintf(out, "%s\n", text);
	else
		print_quoted(text, out);
}

/* Prints the clauses that matched, the values in force as one clause of the
 * language, which could be read back, and the first retries. */
static void
explain(struct config *config, const char *channel, const char *host, FILE *out)
{
	struct conf *f = cf_match(config, channel, host);
	const struct keyword *k;
	unsigned short step;
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
			fprintf(out, "\n# then goes on from a random place of "
			    "the list; for example after\n#");
		step = i % f->v.retries.n;
		sum += retry_next_wait(&f->v, &step, 0, 0);
		fprintf(out, " %s", exact_span(sum));
	}
	fprintf(out, "\n");
	if (retry_longest_wait(&f->v) > 1)
		fprintf(out, "# (moved towards multiples of interval, which "
		    "they meet from retry %ld on)\n", f->v.skew);
}

/* ---- the name of this host, and the rest -------------------------------- */

/* Warns of a name of this host that other hosts may not accept: 0, or the exit
 * code of a start. */
static int
check_mailname(void)
{
	const char *s = mailname(opt.mailshare);
	char path[PATH_MAX_];
	struct stat st;
	int there;

	text_fmt(path, sizeof(path), "%s/mailname", opt.mailshare);
	if (mailname_is_empty(opt.mailshare)) {
		fprintf(stderr, "scheduler: %s is empty: write the full name "
		    "of this host in mail to it, such as box.example.org\n",
		    path);
		return X_CONFIG;
	}
	there = stat(path, &st) == 0;
	if (there && mailname_given(opt.mailshare) == NULL)
		fprintf(stderr, "scheduler: mail calls this host %s: %s cannot "
		    "be read, or its first word is no name\n", s, path);
	else if (strchr(s, '.') == NULL)
		fprintf(stderr, "scheduler: mail calls this host %s, which is "
		    "not a full name: write one to %s\n", s, path);
	else if (there && (st.st_mode & S_IROTH) == 0)
		fprintf(stderr, "scheduler: other users get another name in "
		    "mail, since they cannot read %s: chmod 644 it\n", path);
	return 0;
}

/* ---- users' way in ------------------------------------------------------- */

/* Warns of the submit in PATH when only a group may write to public/ and submit
 * has not that group: users cannot submit, for example after an update that
 * replaced the program. */
static void
check_way_in(void)
{
	const char *dirs = getenv("PATH");
	char path[PATH_MAX_];
	struct stat way, st;
	int n;

	if (text_fmt(path, sizeof(path), "%s/public", opt.postoffice) < 0 ||
	    stat(path, &way) < 0 || !post_is_closed(&way))
		return;
	for (; dirs != NULL && *dirs != '\0'; dirs += n + (dirs[n] == ':')) {
		n = (int)strcspn(dirs, ":");
		if (text_fmt(path, sizeof(path), "%.*s/submit", n, dirs) < 0 ||
		    access(path, X_OK) < 0 || stat(path, &st) < 0)
			continue;
		if ((st.st_mode & S_ISGID) == 0 || st.st_gid != way.st_gid)
			fprintf(stderr, "scheduler: users cannot submit mail: "
			    "%s/public is its group's alone, and %s does not "
			    "have it: chgrp %ld %s && chmod 2755 %s\n",
			    opt.postoffice, path, (long)way.st_gid, path, path);
		return;
	}
}

int
main(int argc, char **argv)
{
	const struct clause *cl;
	struct config *c;
	int bad, code = 0;

	if (argc < 4) {
		fputs("scheduler-check is a part of scheduler -n\n", stderr);
		return X_USAGE;
	}
	file = argv[1];
	opt.vars = argv + 4;
	opt.postoffice = cf_get_var("POSTOFFICE");
	opt.mailbin = cf_get_var("MAILBIN");
	opt.mailshare = cf_get_var("MAILSHARE");
	if (opt.postoffice == NULL || opt.mailbin == NULL ||
	    opt.mailshare == NULL)
		return X_USAGE;
	log_level = L_ERR;	/* no warnings of foreign keywords */
	c = cf_read_file(file, say_plainly);
	if (c == NULL)
		return errno == EAGAIN ? X_TEMPFAIL : X_CONFIG;
	if (c->clauses == NULL) {
		fprintf(stderr, "%s: it has no clause, so no mail would be "
		    "delivered\n", file);
		return X_CONFIG;
	}
	for (cl = c->clauses; cl != NULL; cl = cl->next)
		if (cl->is_keyword)
			advise(cl, "%s: is a keyword in the first column, "
			    "taken for the pattern %s/*; put a blank before "
			    "the keyword, or write %s/*", cl->text, cl->text,
			    cl->text);
	if (*argv[2] != '\0')
		explain(c, argv[2], argv[3], stdout);
	else
		code = check_all(c);
	cf_free(c);
	bad = check_mailname();
	check_way_in();
	if (bad == 0)
		bad = spool_setup(1);
	return bad != 0 ? bad : code;
}
