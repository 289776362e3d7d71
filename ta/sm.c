/*
 * sm.c - the agent that gives mail to any program.
 *
 * A line of a table (table.c) has a program and its arguments.  The program
 * runs without a shell, so an address is never more than an argument.  In the
 * arguments $g is the sender, $h the host, $u the user and $$ a dollar:
 *
 *	uucp	mU	/usr/bin/uux	uux - -r $h!rmail ($u)
 *
 * With the flag m one run serves many recipients, and an argument with $u is
 * repeated for each; without it there is one run for each recipient.  A run has
 * only recipients with the same sender, host and header, and no more arguments
 * than a program can be given.
 *
 * An address that begins with '-' would be an option, here or on the machine
 * that a command of uux is for.  It fails before a program runs.  For UUCP an
 * address fails, too, if it has bytes that mean something to uux or to a shell
 * on that machine.
 *
 * The exit code decides, as in sysexits.  Only codes about the recipient or the
 * message are final: wrong data, no such user or host, unavailable, no
 * permission.  For all other codes, a signal, a missing program or a timeout
 * the mail waits, since somebody can correct that.  The flags T and B change
 * this.  The verdict is for all recipients of the run, and the program's output
 * is part of it.
 *
 * The message is passed on unchanged, except for what flags say.  run.c runs
 * the program.
 *
 *	m	one run has many recipients
 *	f, r	"-f sender", "-r sender" come before the arguments
 *	n	no line "From sender" comes before the message
 *	U	UUCP: the line "From sender" ends in "remote from" and our name,
 *		and addresses must have no byte that uux could take for
 *		something else
 *	E	">" is put before "From " in the body
 *	P	Return-Path: is put before the header
 *	R	lines end in CR LF
 *	s	quotes and backslashes are taken off the user
 *	b	the message becomes a batch of SMTP commands, as rsmtp takes it
 *	X	a dot at the beginning of a line is doubled
 *	T	mail waits after the codes "no such host", "unavailable" and
 *		"no permission", too
 *	B	codes outside sysexits are final, too
 *
 * Usually only root may work with the spool, so the agent is root and remains
 * root; the program becomes the user of -u.  Without -u and -0 root runs no
 * program: mail that anybody can send must not be its input.
 */
#include "job.h"
#include "run.h"
#include "table.h"
#include "../lib/office.h"

#define RCPTS		100	/* recipients of one run */
#define ARGS		(TABLE_WORDS + 2 * RCPTS)	/* arguments of a run */
#define ARGS_SIZE	32768	/* bytes of arguments with their pointers */
#define VALUE_MOST	1024	/* bytes of a variable that is passed on */

static struct {
	const char *mailer;	/* name of a line in the table */
	const char *table;	/* path of the table */
	long	limit;		/* seconds for one run, 0: any */
	int	as_root;	/* -0: the program may run as root */
	const char *user;	/* -u: the user of the program, NULL: the
				 * agent's user */
	uid_t	uid;		/* ids of user */
	gid_t	gid;
} opt = { NULL, NULL, 600, 0, NULL, 0, 0 };

/* One run: recipients of a job with the same sender, host and header. */
struct group {
	struct lib_job *job;
	const struct mailer *mailer;
	struct lib_rcpt *rcpt[RCPTS];
	int	n;			/* recipients in rcpt */
	char	*argv[ARGS + 1];
	char	args[ARGS_SIZE];	/* memory of argv */
	struct filter filter;		/* the message while it is passed on */
};

/* Returns 1 if the mailer has one of these flags. */
static int
has_flag(const struct group *gr, const char *flags)
{
	return strpbrk(gr->mailer->flags, flags) != NULL;
}

/* ---- the message ----------------------------------------------------- */

/* Puts the "From " line, for UUCP with our own name at its end: 0 or -1. */
static int
put_from_line(struct group *gr)
{
	char line[LINE_MAX_];
	const char *ours = gr->mailer->uucp[0] != '\0' ? gr->mailer->uucp :
	    mailname(NULL);
	struct text t;

	text_init(&t, line, sizeof(line));
	job_add_from(&t, gr->rcpt[0]->from->address);
	if (has_flag(gr, "U"))
		text_add(&t, " remote from %.*s", (int)strcspn(ours, "."),
		    ours);
	text_add(&t, "\n");
	return filter_pass_text(&gr->filter, line);
}

/* Puts the SMTP commands before the message: 0 or -1. */
static int
put_smtp_commands(struct group *gr)
{
	char line[LINE_MAX_];
	int i;

	text_fmt(line, sizeof(line), "HELO %s\nMAIL FROM:<%s>\n",
	    mailname(NULL), gr->rcpt[0]->from->address);
	if (filter_pass_text(&gr->filter, line) < 0)
		return -1;
	for (i = 0; i < gr->n; i++) {
		text_fmt(line, sizeof(line), "RCPT TO:<%s>\n",
		    gr->rcpt[i]->user);
		if (filter_pass_text(&gr->filter, line) < 0)
			return -1;
	}
	return filter_pass_text(&gr->filter, "DATA\n");
}

static int
put_message(void *group, int (*put)(void *, const char *, size_t), void *out)
{
	struct group *gr = group;
	struct filter *f = &gr->filter;

	memset(f, 0, sizeof(*f));
	f->put = put;
	f->out = out;
	f->quotes = has_flag(gr, "E");
	f->dots = has_flag(gr, "bX");
	f->crlf = has_flag(gr, "R");
	if ((has_flag(gr, "b") && put_smtp_commands(gr) < 0) ||
	    (!has_flag(gr, "bn") && put_from_line(gr) < 0))
		return -1;
	if (has_flag(gr, "P") && (filter_pass_text(f, "Return-Path: <") < 0 ||
	    filter_pass_text(f, gr->rcpt[0]->from->address) < 0 ||
	    filter_pass_text(f, ">\n") < 0))
		return -1;
	if (!has_flag(gr, "ERbX"))
		return lib_pass_message(gr->job, gr->rcpt[0], put, out);
	if (lib_pass_message(gr->job, gr->rcpt[0], filter_convert, f) < 0 ||
	    filter_flush(f) < 0)
		return -1;
	if (!has_flag(gr, "b"))
		return 0;
	return filter_pass_text(f, f->last == '\n' ? ".\nQUIT\n" :
	    "\n.\nQUIT\n");
}

/* ---- arguments ------------------------------------------------------- */

/* Adds a user; with the flag s, without quotes and backslashes. */
static void
add_user(struct text *t, const struct group *gr, const char *u)
{
	for (; *u != '\0'; u++) {
		if (has_flag(gr, "s") && *u == '"')
			continue;
		if (has_flag(gr, "s") && *u == '\\' && u[1] != '\0')
			u++;
		text_put(t, u, 1);
	}
}

/* Returns 1 if the word has the variable $c. */
static int
has_variable(const char *word, int c)
{
	while ((word = strchr(word, '$')) != NULL) {
		if (word[1] == c)
			return 1;
		word += 2;
	}
	return 0;
}

/* Adds the argument that the word makes for a recipient: 0, or -1 if there is
 * no room. */
static int
add_arg(struct group *gr, int *argc, struct text *t, const char *word,
    const struct lib_rcpt *r)
{
	const char *g = r->from->address;

	if (*g == '\0')
		g = has_flag(gr, "U") ? "MAILER-DAEMON" : "<>";
	if (*argc == ARGS)
		return -1;
	gr->argv[(*argc)++] = t->s + t->len;
	for (; *word != '\0'; word++)
		if (*word != '$')
			text_put(t, word, 1);
		else if (*++word == 'g')
			text_add(t, "%s", g);
		else if (*word == 'h')
			text_add(t, "%s", r->host);
		else if (*word == 'u')
			add_user(t, gr, r->user);
		else
			text_put(t, "$", 1);
	text_put(t, "", 1);
	return t->cut || t->len + (size_t)*argc * sizeof(char *) > t->size ?
	    -1 : 0;
}

/* Makes the arguments for the first n recipients: 0, or -1 if there are too
 * many. */
static int
make_args(struct group *gr, int n)
{
	const struct mailer *m = gr->mailer;
	int argc = 0, i, j;
	long room = sysconf(_SC_ARG_MAX);
	struct text t;

	/* half of ARG_MAX is left for the environment and the system */
	text_init(&t, gr->args, room < 0 || room / 2 > ARGS_SIZE ?
	    ARGS_SIZE : (size_t)room / 2);
	for (i = 0; i < m->nwords; i++) {
		for (j = 0; j < (has_variable(m->words[i], 'u') ? n : 1); j++)
			if (add_arg(gr, &argc, &t, m->words[i],
			    gr->rcpt[j]) < 0)
				return -1;
		if (i == 0 && has_flag(gr, "fr") && (add_arg(gr, &argc, &t,
		    has_flag(gr, "f") ? "-f" : "-r", gr->rcpt[0]) < 0 ||
		    add_arg(gr, &argc, &t, "$g", gr->rcpt[0]) < 0))
			return -1;
	}
	gr->argv[argc] = NULL;
	return 0;
}

/* ---- addresses that cannot be given to a program --------------------- */

/* Returns 1 if an argument contains $c; with at_start, if an argument begins
 * with $c, perhaps behind parentheses, which uux removes. */
static int
is_in_args(const struct group *gr, int c, int at_start)
{
	const struct mailer *m = gr->mailer;
	const char *p;
	int i;

	if (c == 'g' && has_flag(gr, "fr"))
		return 1;
	for (i = 1; i < m->nwords; i++) {
		p = m->words[i] + strspn(m->words[i], "(");
		if (at_start ? p[0] == '$' && p[1] == c : has_variable(p, c))
			return 1;
	}
	return 0;
}

/* Returns 1 if a byte of the word means something to uux or to a shell behind
 * uux.  For an old shell ^ is a pipe. */
static int
is_bad_for_uux(const struct group *gr, const char *word)
{
	return has_flag(gr, "U") && (*word == '#' || *word == '~' ||
	    word[strcspn(word, " \t\"'()&;<>|`$\\*?[^")] != '\0');
}

/* Returns NULL if a program can be given the addresses of the recipient, else
 * the status that says why not. */
static const char *
rcpt_error(const struct group *gr, const struct lib_rcpt *r)
{
	const char *from = r->from->address;
	char user[LINE_MAX_];
	struct text t;

	text_init(&t, user, sizeof(user));
	add_user(&t, gr, r->user);
	if (user[0] == '\0' || (user[0] == '-' && is_in_args(gr, 'u', 1)))
		return "5.1.3";
	if (has_flag(gr, "b") && r->user[strcspn(r->user, "<>\r\n")] != '\0')
		return "5.1.3";
	/* with the flag b the user is usually in no argument */
	if ((!has_flag(gr, "b") || is_in_args(gr, 'u', 0)) &&
	    is_bad_for_uux(gr, user))
		return "5.1.3";
	if (has_flag(gr, "b") && from[strcspn(from, "<>\r\n")] != '\0')
		return "5.1.7";
	if ((r->host[0] == '-' && is_in_args(gr, 'h', 1)) ||
	    is_bad_for_uux(gr, r->host) ||
	    (has_flag(gr, "U") && strchr(r->host, '!') != NULL))
		return "5.1.2";
	if ((from[0] == '-' && is_in_args(gr, 'g', 1)) ||
	    (is_in_args(gr, 'g', 0) && is_bad_for_uux(gr, from)))
		return "5.1.7";
	return NULL;
}

/* ---- running --------------------------------------------------------- */

/* Sets the environment of the program, which has no other variable. */
static void
set_environment(struct run *r)
{
	static const struct { const char *name, *usual; } passed[] = {
		{ "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin" },
		{ "HOME", "/" }, { "TZ", NULL }, { "USER", NULL },
		{ "LOGNAME", NULL }
	};
	const char *value;
	int i;

	for (i = 0; i < 5; i++) {
		value = getenv(passed[i].name);
		if (value == NULL)
			value = passed[i].usual;
		if (value != NULL && strlen(value) <= VALUE_MOST)
			run_add_variable(r, passed[i].name, value, VALUE_MOST);
	}
}

/* Gives up our directory and our user in the child: 0, or -1 with errno. */
static int
become_user(void *group)
{
	(void)group;
	if (chdir("/") < 0)
		return -1;
	return opt.user == NULL || geteuid() == opt.uid ? 0 :
	    user_become(opt.user, opt.uid, opt.gid);
}

static void
run_group_and_report(struct group *gr)
{
	char text[1000];
	struct lib_verdict v;
	struct run r;
	int i;

	memset(&v, 0, sizeof(v));
	memset(&r, 0, sizeof(r));
	r.path = gr->mailer->path;
	r.argv = gr->argv;
	set_environment(&r);
	r.message = put_message;
	r.arg = gr;
	r.become = become_user;
	r.limit = opt.limit;
	v.code = X_TEMPFAIL;
	v.text = text;
	if (run_program(&r) == 0) {
		run_set_verdict(&r, has_flag(gr, "T") ? RUN_UNSURE : RUN_MAILER,
		    has_flag(gr, "B") ? "5.3.0" : "4.3.0", &v, text,
		    sizeof(text));
		if (v.code == 0)
			v.action = "relayed";
	} else if (r.tmp_failed) {
		v.status = errno == ENOSPC ? "4.3.1" : "4.3.0";
		text_fmt(text, sizeof(text), "cannot copy the message to %s "
		    "for %s: %s", run_tmp_dir(), r.path, strerror(errno));
	} else {
		v.status = errno == ENOENT || errno == EACCES ||
		    errno == ENOEXEC || errno == ENOTDIR ? "4.3.5" : "4.3.0";
		text_fmt(text, sizeof(text), errno == EIO ?
		    "%s: the message cannot be read" :
		    "cannot execute %s: %s", r.path, strerror(errno));
	}
	for (i = 0; i < gr->n; i++)
		lib_report_verdict(gr->job, gr->rcpt[i], &v);
}

/* ---- jobs ------------------------------------------------------------ */

/* Selects recipients that share a run with the first one, fewer if there is no
 * room for their arguments: 0, or -1 if there is no room for one. */
static int
select_rcpts(struct group *gr, struct lib_rcpt *first)
{
	struct lib_rcpt *r;
	int most = has_flag(gr, "m") ? RCPTS : 1;

	gr->n = 0;
	for (r = first; r != NULL && gr->n < most; r = r->next)
		if (r->unreported && r->hdr == first->hdr &&
		    r->from == first->from &&
		    strcmp(r->host, first->host) == 0 &&
		    rcpt_error(gr, r) == NULL)
			gr->rcpt[gr->n++] = r;
	while (make_args(gr, gr->n) < 0) {
		if (gr->n == 1)
			return -1;
		gr->n /= 2;
	}
	return 0;
}

/* Reads the mailer from the table, and finds the user of -u: 0, or -1 with the
 * reason. */
static int
read_mailer(struct mailer *m, char *why, size_t size)
{
	if (geteuid() == 0 && !opt.as_root && opt.user == NULL)
		text_fmt(why, size, "no program is run as root; in "
		    "scheduler.cf, add -u user to the command of sm (or -0 to "
		    "run it as root)");
	else if (opt.user != NULL && user_find_ids(opt.user, &opt.uid,
	    &opt.gid) < 0)
		text_fmt(why, size, errno != 0 ? "the user %s, who is to run "
		    "the program, cannot be looked up now" : "there is no user "
		    "%s, who is to run the program; see -u of sm in "
		    "scheduler.cf", opt.user);
	else
		return table_find(m, opt.table, opt.mailer, why, size);
	return -1;
}

static void
work(struct lib_job *job)
{
	static struct mailer mailer;	/* static, as these structs are large */
	static struct group gr;
	char why[1000];
	const char *status;
	struct lib_rcpt *r;
	int has_mailer;

	gr.job = job;
	gr.mailer = &mailer;
	has_mailer = read_mailer(&mailer, why, sizeof(why)) == 0;
	for (r = job->rcpts; r != NULL && lib_has_scheduler(); r = r->next) {
		if (!r->unreported)
			continue;
		if (!has_mailer)
			lib_report(job, r, X_TEMPFAIL, "4.3.5", why, 0);
		else if ((status = rcpt_error(&gr, r)) != NULL)
			lib_report(job, r, X_UNAVAILABLE, status, "an address "
			    "of this form cannot be given to a program", 0);
		else if (select_rcpts(&gr, r) < 0)
			lib_report(job, r, X_TEMPFAIL, "4.3.5", "the "
			    "arguments of the program are too long", 0);
		else
			run_group_and_report(&gr);
	}
}

/* For -N: checks that the program and the user are there.  Returns the exit
 * code. */
static int
check_mailer(void)
{
	static struct mailer m;		/* static, as the struct is large */
	char why[300];

	if (read_mailer(&m, why, sizeof(why)) == 0) {
		if (access(m.path, X_OK) == 0)
			return 0;
		text_fmt(why, sizeof(why), "%s: %s, for %s: %s", opt.table,
		    m.path, opt.mailer, strerror(errno));
	}
	fprintf(stderr, "sm: %s\n", why);
	return X_CONFIG;
}

/* ---- options --------------------------------------------------------- */

/* Options of ZMailer's agent.  Those without a text are ignored here: they
 * encode, decode or show something in that agent. */
static const struct lib_foreign foreign[] = {
	{ "8Hv", NULL },
	{ "l", "scheduler -l logs deliveries: leave it out" },
	{ "Q", "nothing is encoded: let the program of the table do it" },
	{ "w", "lines are not folded: let the program of the table do it" },
	{ NULL, NULL }
};

static struct lib_command command = { "sm", VERSION,
	"[-0NV] [-c channel] [-f table] [-h host] [-t span] [-u user] mailer",
	"0c:f:h:Nt:u:V" "8Hvl:Qw:", NULL, NULL, 0 };

int
main(int argc, char **argv)
{
	int c;

	command.channel = env_get("CHANNEL", NULL);
	opt.table = lib_share_path("sm.cf");
	while ((c = lib_next_option(argc, argv, &command)) != -1)
		switch (c) {
		case '0': opt.as_root = 1; break;
		case 'f': opt.table = optarg; break;
		case 't': lib_set_span(&opt.limit); break;
		case 'u': opt.user = optarg; break;
		default:
			lib_ignore_or_refuse_option(foreign, c);
		}
	if (optind != argc - 1)
		lib_usage();
	if (opt.table[0] != '/') {
		fprintf(stderr, "sm: the path of the table does not begin with "
		    "/: %s\n", opt.table);
		return X_USAGE;
	}
	opt.mailer = argv[optind];
	umask(077);
	if (command.check_only)
		return check_mailer();
	if (pledge("stdio rpath wpath cpath fattr flock getpw id proc exec",
	    NULL) < 0)
		return X_OSERR;
	return lib_run(command.channel != NULL ? command.channel : opt.mailer,
	    command.host, work);
}
