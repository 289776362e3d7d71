/*
 * sm.c - the agent that gives mail to any program.
 *
 * A line of a table (table.c) has the program and its arguments.  It runs
 * without a shell, so an address is never more than an argument.  In the
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
 * that a command of uux is for.  It fails before a program runs.  So do, for
 * UUCP, bytes with a meaning for uux or for a shell there.
 *
 * The exit code decides, as in sysexits.  Only codes about the recipient or the
 * message are final: wrong data, no such user or host, unavailable, no
 * permission.  For all other codes, a signal, a missing program or a timeout
 * the mail waits, since somebody can correct that.  The verdict is for all
 * recipients of the run, and the program's output is part of it.
 *
 * The message is passed on unchanged, except that flags add a line before it,
 * quote "From ", change the ends of lines, or make it a batch of SMTP commands,
 * as rsmtp takes it.  run.c runs the program.
 *
 * Mostly root alone may work with the spool, so the agent is root and remains
 * root; the program becomes the user of -u.  Without -u root runs no program:
 * anybody's mail must not be input of a program of root's.
 */
#include "run.h"
#include "table.h"
#include "../lib/office.h"

#define MANY		100	/* recipients of one run */
#define ARGS		(TABLE_WORDS + 2 * MANY)	/* arguments of one */
#define ARGS_SIZE	32768	/* bytes of them, with their pointers */


static struct {
	const char *mailer, *table;
	long	limit;		/* seconds for one run, 0: any */
	int	as_root;	/* -0: the program may be root's */
	const char *user;	/* -u: whose it is, NULL: ours */
	uid_t	uid;
	gid_t	gid;
} opt = { NULL, NULL, 600, 0, NULL, 0, 0 };

/* One run: some recipients of a job, alike but for the user. */
struct batch {
	struct lib_job *job;
	const struct mailer *mailer;
	struct lib_rcpt *rcpt[MANY];
	int	n;			/* how many of them */
	char	*argv[ARGS + 1];
	char	args[ARGS_SIZE];	/* what argv points into */
	/* the message on its way */
	int	(*put)(void *, const char *, size_t);
	void	*out;
	int	in_body;		/* behind the empty line */
	int	at;			/* bytes of "From " seen, -1: no */
	int	last;			/* byte that was put last */
};

static int
has(const struct batch *b, int flag)
{
	return strchr(b->mailer->flags, flag) != NULL;
}

/* ---- the message ----------------------------------------------------- */

static int
put_byte(struct batch *b, int c)
{
	char two[2];
	int cr = c == '\n' && b->last != '\r' && has(b, 'R');

	b->last = c;
	two[0] = '\r';
	two[cr] = (char)c;
	return b->put(b->out, two, cr ? 2 : 1);
}

static int
put_text(struct batch *b, const char *s)
{
	for (; *s != '\0'; s++)
		if (put_byte(b, (unsigned char)*s) != 0)
			return -1;
	return 0;
}

/* "From sender Sat Nov 21 06:38:42 2026", for UUCP with our own name. */
static int
put_separator(struct batch *b)
{
	const char *g = b->rcpt[0]->from->address;
	char line[LINE_MAX_], *p;
	time_t wall = time(NULL);
	const char *ours = b->mailer->uucp[0] != '\0' ? b->mailer->uucp :
	    mailname(NULL);
	struct text t;

	text_init(&t, line, sizeof(line));
	text_add(&t, "From %s", *g != '\0' ? g : "MAILER-DAEMON");
	for (p = line + 5; (p = strchr(p, ' ')) != NULL; )
		*p = '_';	/* readers split the line at blanks */
	text_add(&t, " %.24s", asctime(localtime(&wall)));
	if (has(b, 'U'))
		text_add(&t, " remote from %.*s", (int)strcspn(ours, "."),
		    ours);
	text_add(&t, "\n");
	return put_text(b, line);
}

/* What stands before the message in a batch of SMTP commands. */
static int
put_commands(struct batch *b)
{
	char line[LINE_MAX_];
	int i, bad;

	text_fmt(line, sizeof(line), "HELO %s\nMAIL FROM:<%s>\n",
	    mailname(NULL), b->rcpt[0]->from->address);
	bad = put_text(b, line);
	for (i = 0; bad == 0 && i < b->n; i++) {
		text_fmt(line, sizeof(line), "RCPT TO:<%s>\n",
		    b->rcpt[i]->user);
		bad = put_text(b, line);
	}
	return bad != 0 ? bad : put_text(b, "DATA\n");
}

/* Bytes of the message, with the flags b, E, R or X in force.  They change
 * nothing in a line behind its beginning, which is passed on as it is. */
static int
put_changed(void *batch, const char *s, size_t n)
{
	static const char word[] = "From ";
	struct batch *b = batch;
	char held[sizeof(word)];
	const char *end;
	size_t k;

	for (; n > 0; s += k, n -= k) {
		k = 1;
		if (b->at < 0 && *s != '\n') {
			end = memchr(s, '\n', n);
			k = end != NULL ? (size_t)(end - s) : n;
			b->last = s[k - 1];
			if (b->put(b->out, s, k) != 0)
				return -1;
			continue;
		}
		if (b->at >= 0 && *s == word[b->at] && b->in_body &&
		    has(b, 'E')) {
			if (++b->at < 5)
				continue;
			b->at = -1;
			if (put_text(b, ">From ") != 0)
				return -1;
			continue;
		}
		text_fmt(held, sizeof(held), "%.*s", b->at > 0 ? b->at : 0,
		    word);
		if (*s == '.' && b->at == 0 && (has(b, 'b') || has(b, 'X')))
			strcpy(held, ".");
		if (*s == '\n' && b->at == 0)
			b->in_body = 1;
		b->at = *s == '\n' ? 0 : -1;
		if (put_text(b, held) != 0 ||
		    put_byte(b, (unsigned char)*s) != 0)
			return -1;
	}
	return 0;
}

static int
put_message(void *batch, int (*put)(void *, const char *, size_t), void *out)
{
	struct batch *b = batch;
	char held[8];

	b->put = put;
	b->out = out;
	b->in_body = b->at = b->last = 0;
	if (has(b, 'b') ? put_commands(b) : !has(b, 'n') && put_separator(b))
		return -1;
	if (has(b, 'P') && (put_text(b, "Return-Path: <") != 0 ||
	    put_text(b, b->rcpt[0]->from->address) != 0 ||
	    put_text(b, ">\n") != 0))
		return -1;
	if (!has(b, 'E') && !has(b, 'R') && !has(b, 'b') && !has(b, 'X'))
		return lib_message(b->job, b->rcpt[0], put, out);
	if (lib_message(b->job, b->rcpt[0], put_changed, b) < 0)
		return -1;
	text_fmt(held, sizeof(held), "%.*s", b->at > 0 ? b->at : 0, "From ");
	if (put_text(b, held) != 0)
		return -1;
	return !has(b, 'b') ? 0 : put_text(b, b->last == '\n' ?
	    ".\nQUIT\n" : "\n.\nQUIT\n");
}

/* ---- arguments ------------------------------------------------------- */

/* The user as the program gets it. */
static void
add_user(struct text *t, const struct batch *b, const char *u)
{
	for (; *u != '\0'; u++) {
		if (has(b, 's') && *u == '"')
			continue;
		if (has(b, 's') && *u == '\\' && u[1] != '\0')
			u++;
		text_put(t, u, 1);
	}
}

static void
add_one(struct text *t, const struct batch *b, int c,
    const struct lib_rcpt *r)
{
	const char *g = r->from->address;

	if (c == 'g')
		text_add(t, "%s", *g != '\0' ? g :
		    has(b, 'U') ? "MAILER-DAEMON" : "<>");
	else if (c == 'h')
		text_add(t, "%s", r->host);
	else if (c == 'u')
		add_user(t, b, r->user);
	else
		text_put(t, "$", 1);
}

static void
add_word(struct text *t, const struct batch *b, const char *word,
    const struct lib_rcpt *r)
{
	for (; *word != '\0'; word++)
		if (*word == '$')
			add_one(t, b, *++word, r);
		else
			text_put(t, word, 1);
	text_put(t, "", 1);
}

/* Does $c occur in it? */
static int
uses(const char *word, int c)
{
	while ((word = strchr(word, '$')) != NULL) {
		if (word[1] == c)
			return 1;
		word += 2;
	}
	return 0;
}

/* Adds one argument: 0, or -1 when there is no room. */
static int
add_arg(struct batch *b, int *argc, struct text *t, const char *word,
    const struct lib_rcpt *r)
{
	if (*argc == ARGS)
		return -1;
	b->argv[(*argc)++] = t->s + t->len;
	add_word(t, b, word, r);
	return t->cut || t->len + (size_t)*argc * sizeof(char *) > t->size ?
	    -1 : 0;
}

/* Makes the arguments for the first n recipients: 0, or -1 if there are too
 * many. */
static int
make_args(struct batch *b, int n)
{
	const struct mailer *m = b->mailer;
	const char *extra = has(b, 'f') ? "-f" : has(b, 'r') ? "-r" : NULL;
	int argc = 0, i, j;
	long room = sysconf(_SC_ARG_MAX);
	struct text t;

	/* half of it is for the environment and the system's own needs */
	text_init(&t, b->args, room < 0 || room / 2 > ARGS_SIZE ?
	    ARGS_SIZE : (size_t)room / 2);
	for (i = 0; i < m->nwords; i++) {
		for (j = 0; j < (uses(m->words[i], 'u') ? n : 1); j++)
			if (add_arg(b, &argc, &t, m->words[i],
			    b->rcpt[j]) < 0)
				return -1;
		if (i == 0 && extra != NULL &&
		    (add_arg(b, &argc, &t, extra, b->rcpt[0]) < 0 ||
		    add_arg(b, &argc, &t, "$g", b->rcpt[0]) < 0))
			return -1;
	}
	b->argv[argc] = NULL;
	return 0;
}

/* ---- addresses that cannot be given to a program --------------------- */

/* Does an argument begin with $c, perhaps behind parentheses, which uux
 * removes? */
static int
leads(const struct batch *b, int c)
{
	const struct mailer *m = b->mailer;
	const char *p;
	int i;

	if (c == 'g' && (has(b, 'f') || has(b, 'r')))
		return 1;
	for (i = 1; i < m->nwords; i++) {
		p = m->words[i] + strspn(m->words[i], "(");
		if (p[0] == '$' && p[1] == c)
			return 1;
	}
	return 0;
}

/* Is the sender an argument, or a part of one? */
static int
gives_sender(const struct batch *b)
{
	int i;

	for (i = 1; i < b->mailer->nwords; i++)
		if (uses(b->mailer->words[i], 'g'))
			return 1;
	return has(b, 'f') || has(b, 'r');
}

/* What means something to uux, or to a shell behind it, which may be an old one
 * (^ is its pipe). */
#define UNFIT	" \t\"'()&;<>|`$\\*?[^"

static int
unfit_for_uux(const struct batch *b, const char *word)
{
	return has(b, 'U') && (*word == '#' || *word == '~' ||
	    word[strcspn(word, UNFIT)] != '\0');
}

/* The status it fails with, or NULL when nothing is wrong. */
static const char *
unfit(const struct batch *b, const struct lib_rcpt *r)
{
	const char *from = r->from->address;
	char user[LINE_MAX_];
	struct text t;

	text_init(&t, user, sizeof(user));
	add_user(&t, b, r->user);
	if (user[0] == '\0' || (user[0] == '-' && leads(b, 'u')))
		return "5.1.3";
	if (has(b, 'b') ? r->user[strcspn(r->user, "<>\r\n")] != '\0' :
	    unfit_for_uux(b, user))
		return "5.1.3";
	if (has(b, 'b') && from[strcspn(from, "<>\r\n")] != '\0')
		return "5.1.7";
	if ((r->host[0] == '-' && leads(b, 'h')) ||
	    unfit_for_uux(b, r->host) ||
	    (has(b, 'U') && strchr(r->host, '!') != NULL))
		return "5.1.2";
	if ((from[0] == '-' && leads(b, 'g')) ||
	    (gives_sender(b) && unfit_for_uux(b, from)))
		return "5.1.7";
	return NULL;
}

/* ---- running --------------------------------------------------------- */

/* The program's environment: nothing of ours but these. */
static char **
environment(void)
{
	static const char *const passed[] = {
		"PATH", "HOME", "TZ", "USER", "LOGNAME"
	};
	static const char *const usual[] = {
		"/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "/",
		NULL, NULL, NULL
	};
	static char mem[LINE_MAX_], *env[6];
	const char *value;
	struct text t;
	int i, n = 0;

	text_init(&t, mem, sizeof(mem));
	for (i = 0; i < 5; i++) {
		value = getenv(passed[i]);
		if (value == NULL)
			value = usual[i];
		if (value == NULL || strlen(value) > LINE_MAX_ / 8)
			continue;
		env[n++] = t.s + t.len;
		text_add(&t, "%s=%s", passed[i], value);
		text_put(&t, "", 1);
	}
	env[n] = NULL;
	return env;
}

/* In the child: no program needs to stand in the spool, or to be us. */
static int
leave_spool(void *batch)
{
	(void)batch;
	if (chdir("/") < 0)
		return -1;
	return opt.user == NULL || geteuid() == opt.uid ? 0 :
	    user_become(opt.user, opt.uid, opt.gid);
}

static void
run_batch(struct batch *b)
{
	char text[1000];
	struct lib_verdict v;
	struct run r;
	int i;

	memset(&v, 0, sizeof(v));
	memset(&r, 0, sizeof(r));
	r.path = b->mailer->path;
	r.argv = b->argv;
	r.envp = environment();
	r.message = put_message;
	r.arg = b;
	r.become = leave_spool;
	r.limit = opt.limit;
	if (run_program(&r) == 0) {
		run_verdict(&r, has(b, 'T') ? RUN_UNSURE : RUN_MAILER,
		    has(b, 'B') ? "5.3.0" : "4.3.0", &v, text, sizeof(text));
		if (v.code == 0)
			v.action = "relayed";
	} else if (r.uncopied) {
		v.code = X_TEMPFAIL;
		v.status = errno == ENOSPC ? "4.3.1" : "4.3.0";
		v.text = text;
		text_fmt(text, sizeof(text), "%s gets no copy of the message "
		    "in %s: %s", r.path, run_tmp(), strerror(errno));
	} else {
		v.code = X_TEMPFAIL;
		v.status = errno == ENOENT || errno == EACCES ||
		    errno == ENOEXEC || errno == ENOTDIR ? "4.3.5" : "4.3.0";
		v.text = text;
		text_fmt(text, sizeof(text), errno == EIO ?
		    "%s: the message cannot be read" :
		    "cannot execute %s: %s", r.path, strerror(errno));
	}
	for (i = 0; i < b->n; i++)
		lib_report_verdict(b->job, b->rcpt[i], &v);
}

/* ---- jobs ------------------------------------------------------------ */

/* Selects recipients that can share a run with the first, as many as their
 * arguments have room for: 0, or -1 if one is too many. */
static int
gather(struct batch *b, struct lib_rcpt *first)
{
	struct lib_rcpt *r;
	int most = has(b, 'm') ? MANY : 1;

	b->n = 0;
	for (r = first; r != NULL && b->n < most; r = r->next)
		if (r->unreported && r->hdr == first->hdr &&
		    r->from == first->from &&
		    strcmp(r->host, first->host) == 0 && unfit(b, r) == NULL)
			b->rcpt[b->n++] = r;
	while (make_args(b, b->n) < 0) {
		if (b->n == 1)
			return -1;
		b->n /= 2;
	}
	return 0;
}

/* Finds the program and its user: 0, or -1 with the reason. */
static int
find_mailer(struct mailer *m, char *why, size_t size)
{
	if (geteuid() == 0 && !opt.as_root && opt.user == NULL)
		text_fmt(why, size, "no program is run as root; name a user "
		    "for it in scheduler.cf, sm -u user, or give sm -0");
	else if (opt.user != NULL && user_ids(opt.user, &opt.uid,
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
	static struct mailer mailer;	/* large ones, and one at a time */
	static struct batch b;
	char why[1000];
	const char *status;
	struct lib_rcpt *r;
	int bad;

	b.job = job;
	b.mailer = &mailer;
	bad = find_mailer(&mailer, why, sizeof(why));
	for (r = job->rcpts; r != NULL && !lib_is_alone(); r = r->next) {
		if (!r->unreported)
			continue;
		if (bad < 0)
			lib_report(job, r, X_TEMPFAIL, "4.3.5", why, 0);
		else if ((status = unfit(&b, r)) != NULL)
			lib_report(job, r, X_UNAVAILABLE, status, "an address "
			    "of this form cannot be given to a program", 0);
		else if (gather(&b, r) < 0)
			lib_report(job, r, X_TEMPFAIL, "4.3.5", "the "
			    "arguments of the program are too long", 0);
		else
			run_batch(&b);
	}
}

/* For -N: are program and user there?  0, or an exit code. */
static int
check(void)
{
	static struct mailer m;
	char why[300];

	if (find_mailer(&m, why, sizeof(why)) == 0) {
		if (access(m.path, X_OK) == 0)
			return 0;
		text_fmt(why, sizeof(why), "%s: %s, for %s: %s", opt.table,
		    m.path, opt.mailer, strerror(errno));
	}
	fprintf(stderr, "sm: %s\n", why);
	return X_CONFIG;
}

/* ---- options --------------------------------------------------------- */

/* Nothing is encoded, decoded or shown here. */
static const struct lib_foreign foreign[] = {
	{ '8', NULL }, { 'H', NULL }, { 'v', NULL },
	{ 'l', "the scheduler logs deliveries: leave it out, use its -l" },
	{ 'Q', "nothing is encoded: let the program of the table do it" },
	{ 'w', "lines are not folded: let the program of the table do it" },
	{ 0, NULL }
};

static void
usage(void)
{
	fputs("usage: sm [-0NV] [-c channel] [-f table] [-h host] [-t span] "
	    "[-u user] mailer\n", stderr);
	exit(X_USAGE);
}

int
main(int argc, char **argv)
{
	const char *channel = lib_channel(NULL), *host = NULL;
	int c, only = 0;

	opt.table = lib_share("sm.cf");
	while ((c = getopt(argc, argv, "0c:f:h:Nt:u:V" "8Hvl:Qw:")) != -1)
		switch (c) {
		case '0': opt.as_root = 1; break;
		case 'c': channel = optarg; break;
		case 'f': opt.table = optarg; break;
		case 'h': host = optarg; break;
		case 'N': only = 1; break;
		case 't':
			if (span_parse(optarg, &opt.limit) < 0)
				usage();
			break;
		case 'u': opt.user = optarg; break;
		case 'V':
			puts("sm " VERSION);
			return 0;
		default:
			lib_foreign_option("sm", foreign, c, usage);
		}
	if (optind != argc - 1 || opt.table[0] != '/')
		usage();
	opt.mailer = argv[optind];
	umask(077);
	if (only)
		return check();
	if (pledge("stdio rpath wpath cpath fattr flock getpw id proc exec",
	    NULL) < 0)
		return X_OSERR;
	return lib_run(channel != NULL ? channel : opt.mailer, host, work);
}
