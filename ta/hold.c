/*
 * hold.c - the agent for mail that waits for a condition.
 *
 * A router puts an address that it cannot route yet on the channel "hold".  The
 * host is the condition, the user is the address as it came.  The conditions
 * are these; the word before the colon may be in upper or lower case:
 *
 *	time:EPOCH	the time, in seconds since 1970, has come
 *	timeout:EPOCH	the same; ZMailer's word
 *	age:SPAN	the message is that old (90, 1h30m, 2d); its age counts
 *			from the last write to its message file
 *	io:WHAT		the message is five minutes old; the router uses this
 *			condition when it could not read WHAT
 *	ns:NAME/TYPE	name servers answer for NAME's records of this type,
 *			even if NAME has no such record
 *	up:NAME		NAME has an address, of IPv4 or IPv6.  This is no ping:
 *			it waits for name servers to work again.  Both for ns
 *			and for up, a child asks the name servers; if we are
 *			root, the child runs as nobody
 *	script:PROG/ARG	a program of the administrator says so; ARG may be
 *			missing
 *	home:USER	the user's home directory is there, or there is no such
 *			user
 *
 * So "hold ns:example.org/mx anna@example.org" goes back to the router when the
 * name servers of example.org answer.
 *
 * While a condition does not hold, the recipient is deferred; if the time is
 * known, the report has it (retryat +SECONDS).  A message file with a date in
 * the future has the age 0.  A condition that is not understood fails at once,
 * since a sender would get a DSN on waiting mail only when it expires.  With
 * NO_TCP, ns and up are such conditions.
 *
 * The program of a script is a file in a directory of the administrator, named
 * by a plain word.  It runs without a shell, as nobody if we are root; exit
 * code 0 means yes.  Words of users can only be in its argument.
 *
 * When the condition holds, the router gets the message again: a file with the
 * same sender, this recipient, its DSN parameters, the header and the body
 * appears in router/.  It is written, synced, and renamed to its inode number
 * (lib/post.c).  If we are root, the file is given to the uid that is the
 * recipient's privilege, or to nobody if there is none, so that no message
 * gains the privilege of root.  Then the recipient is reported as delivered
 * without a DSN (ok3), as the new message has the DSN parameters.  A crash
 * between rename and report gives a second copy, never none.
 *
 * This agent delivers nothing and does not change the old message.  The retries
 * of the clause decide how often a condition is checked.
 */
#include "job.h"
#include "run.h"
#include "mx.h"
#include "../lib/post.h"
#include <signal.h>
#include <sys/wait.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <netdb.h>
#endif
#ifndef NO_PWD
#include <pwd.h>
#endif

#define IO_PAUSE	"5m"	/* age of a message at which the router tries
				 * again */
#define SCRIPT_LIMIT	60	/* seconds for a program */
#define LOOKUP_LIMIT	120	/* seconds for name servers */

static const char *scripts;		/* directory of the programs */
static const struct lib_job *job;	/* the current job */

static char text[400];	/* memory of a verdict's text */

/* ---- as nobody ------------------------------------------------------- */

/* Becomes nobody if we are root: 0, or -1 with errno. */
static int
become_nobody(void *arg)
{
	uid_t uid;
	gid_t gid;

	(void)arg;
	if (geteuid() != 0)
		return 0;
	return user_find_ids("nobody", &uid, &gid) < 0 ? -1 :
	    user_become("nobody", uid, gid);
}

#ifndef NO_TCP
/* Asks name servers in a child, as the C library reads the answers of
 * strangers.  Returns 1 if ask returns 1 in time. */
static int
is_true_in_child(int (*ask)(const char *, int), const char *name, int kind)
{
	int status;
	pid_t pid;

	pid = fork();
	if (pid == 0) {
		signal(SIGTERM, SIG_DFL);	/* the agent's handler would
						 * not end the child */
		if (stdio_to_null() < 0)
			_exit(X_OSERR);
		fd_close_from(3);
		_exit(become_nobody(NULL) == 0 && ask(name, kind) ? 0 :
		    X_TEMPFAIL);
	}
	if (pid < 0)
		return 0;
	clock_read();
	status = child_wait_or_kill(pid, now.mono + LOOKUP_LIMIT);
	return status != -1 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
#endif

/* ---- the conditions -------------------------------------------------- */

/* Defers the recipient, as the condition does not hold.  The printf format
 * fmt of the text has at most one %s, for arg. */
static void
defer(struct lib_verdict *v, const char *status, const char *fmt,
    const char *arg)
{
	v->code = X_TEMPFAIL;
	v->status = status;
	v->text = text;
	text_fmt(text, sizeof(text), fmt, arg);
}

/* Fails the recipient, as the condition can never hold. */
static void
fail(struct lib_verdict *v, const char *fmt, const char *arg)
{
	defer(v, "5.3.5", fmt, arg);
	v->code = X_UNAVAILABLE;
}

/* Defers the recipient for so many seconds, unless none are left. */
static void
defer_for(struct lib_verdict *v, double left)
{
	char span[40];
	struct text t;

	if (left <= 0)
		return;
	v->delay = left < (double)LONG_MAX ? (long)left : LONG_MAX;
	text_init(&t, span, sizeof(span));
	span_add(&t, v->delay, 2);
	defer(v, "4.4.7", "its time comes in %s", span);
}

static void
check_time(struct lib_verdict *v, const char *arg)
{
	const char *end;
	double then = 0;

	for (end = arg; *end >= '0' && *end <= '9'; end++)
		then = then * 10 + (*end - '0');
	if (end == arg || *end != '\0')
		fail(v, "\"%s\" is no time", arg);
	else
		defer_for(v, then - difftime(time(NULL), (time_t)0));
}

static void
check_age(struct lib_verdict *v, const char *arg)
{
	double age = difftime(time(NULL), job->arrived);
	long span;

	if (span_parse(arg, &span) < 0)
		fail(v, "\"%s\" is no span of time", arg);
	else
		defer_for(v, (double)span - (age > 0 ? age : 0));
}

static void
check_io(struct lib_verdict *v, const char *arg)
{
	(void)arg;
	check_age(v, IO_PAUSE);
}

#ifndef NO_TCP
static const struct {
	const char *word;
	int	kind;
} record[] = {
	{ "a", 1 }, { "ns", 2 }, { "cname", 5 }, { "soa", 6 }, { "mb", 7 },
	{ "mg", 8 }, { "mr", 9 }, { "wks", 11 }, { "ptr", 12 },
	{ "hinfo", 13 }, { "minfo", 14 }, { "mx", 15 }, { "txt", 16 },
	{ "rp", 17 }, { "aaaa", 28 }, { "srv", 33 }, { "any", 255 },
	{ NULL, 0 }
};

static int
has_ns_answer(const char *name, int kind)
{
	return mx_query(name, kind) != MX_LATER;
}

static void
check_ns(struct lib_verdict *v, const char *arg)
{
	const char *slash = strrchr(arg, '/');
	char name[NET_NAME];
	int i = 0;

	while (slash != NULL && record[i].word != NULL &&
	    !lib_is_same(slash + 1, record[i].word))
		i++;
	if (slash == NULL || slash == arg || record[i].word == NULL ||
	    text_fmt(name, sizeof(name), "%.*s", (int)(slash - arg), arg) < 0)
		fail(v, "\"%s\" is no name and type of a record", arg);
	else if (!is_true_in_child(has_ns_answer, name, record[i].kind))
		defer(v, "4.4.3", "no name server answers for %s", name);
}

/* The list is not freed: a child calls this function, and exits. */
static int
has_address(const char *name, int kind)
{
#ifndef NO_GETADDRINFO
	struct addrinfo hint, *list;

	memset(&hint, 0, sizeof(hint));
	hint.ai_socktype = SOCK_STREAM;
	(void)kind;
	return getaddrinfo(name, NULL, &hint, &list) == 0;
#else
	(void)kind;
	return gethostbyname(name) != NULL;
#endif
}

static void
check_up(struct lib_verdict *v, const char *arg)
{
	if (*arg == '\0')
		fail(v, "\"%s\" is no name of a host", arg);
	else if (!is_true_in_child(has_address, arg, 0))
		defer(v, "4.4.3", "%s has no address yet", arg);
}
#endif

static void
run_script(struct lib_verdict *v, char *name, char *arg)
{
	char path[1000], why[sizeof(text)], *argv[3];
	struct run run;

	argv[0] = name;
	argv[1] = arg;
	argv[2] = NULL;
	memset(&run, 0, sizeof(run));
	run_add_variable(&run, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/ucb",
	    100);
	text_fmt(path, sizeof(path), "%s/%s", scripts, name);
	run.path = path;
	run.argv = argv;
	run.become = become_nobody;
	run.limit = SCRIPT_LIMIT;
	if (run_program(&run) < 0) {
		if (errno == ENOENT && !run.tmp_failed)
			fail(v, "there is no script %s here", name);
		else
			defer(v, "4.3.0", "the script cannot be run: %s",
			    strerror(errno));
	} else if (run.exit != 0) {
		/* only the text in why is used, so any kind will do */
		run_set_verdict(&run, RUN_USERS, "4.3.0", v, why, sizeof(why));
		defer(v, "4.3.0", "%s", why);
	}
}

static void
check_script(struct lib_verdict *v, const char *arg)
{
	char name[200], *slash;

	if (text_fmt(name, sizeof(name), "%s", arg) < 0)
		name[0] = '\0';
	slash = strchr(name, '/');
	if (slash != NULL)
		*slash++ = '\0';
	if (name[0] == '\0' || name[0] == '-' || name[strspn(name,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789_-")] != '\0' || (slash != NULL && *slash == '-'))
		fail(v, "\"%s\" is no name and argument of a script", arg);
	else
		run_script(v, name, slash);
}

/* The condition holds for an unknown user, so that the router reports him. */
static void
check_home(struct lib_verdict *v, const char *arg)
{
#ifndef NO_PWD
	struct passwd *pw;
	struct stat st;

	pw = user_find(arg, 0);
	if (pw == NULL && errno != 0)
		defer(v, "4.3.0", "users cannot be looked up now", "");
	else if (pw != NULL && pw->pw_dir[0] != '\0' &&
	    (stat(pw->pw_dir, &st) < 0 || !S_ISDIR(st.st_mode)))
		defer(v, "4.2.0", "the home directory of %s is not there",
		    arg);
#else
	(void)v;
	(void)arg;
#endif
}

static const struct {
	const char *word;
	void	(*check)(struct lib_verdict *, const char *);
} condition[] = {
#ifndef NO_TCP
	{ "ns", check_ns },
	{ "up", check_up },
#endif
	{ "time", check_time },
	{ "timeout", check_time },
	{ "age", check_age },
	{ "io", check_io },
	{ "script", check_script },
	{ "home", check_home }
};

static void
check_condition(struct lib_verdict *v, const char *host)
{
	size_t i, n = strcspn(host, ":");

	for (i = 0; i < sizeof(condition) / sizeof(*condition); i++)
		if (host[n] == ':' && ctl_is_word(host, n, condition[i].word)) {
			condition[i].check(v, host + n + 1);
			return;
		}
	fail(v, "\"%s\" is a condition unknown here", host);
}

/* ---- back to the router ---------------------------------------------- */

/* Gives a file of root to the uid priv, or to nobody if priv is no uid: 0, or
 * -1 with errno.  The file also gets a group that no user can give to a file:
 * so submit -q knows that this agent has written it. */
static int
set_owner(int fd, long priv)
{
	uid_t uid = (uid_t)priv;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if ((priv < 0 || (long)uid != priv || uid == (uid_t)-1) &&
	    user_find_ids("nobody", &uid, &gid) < 0)
		return -1;
	return fchown(fd, uid, post_gid_for_hold_files(".."));
}

/* Sends the message to the router: 0, or -1 with errno and no file left. */
static int
resubmit(const struct lib_rcpt *r)
{
	struct post p;

	if (post_open(&p, "..", "hold") < 0)
		return -1;
	fputs("via suspension\n", p.f);
	if (r->from->address[0] == '\0')
		fputs("channel error\n", p.f);
	else
		fprintf(p.f, "from <%s>\n", r->from->address);
	if (job->envid != NULL)
		fprintf(p.f, "envid %s\n", job->envid);
	if (job->ret != NULL)
		fprintf(p.f, "notaryret %s\n", job->ret);
	if (r->dsn != NULL)
		fprintf(p.f, "todsn %s\n", r->dsn);
	fprintf(p.f, "to <%s>\nenv-end\n", r->user);
	errno = EIO;	/* a reason for failures without an errno */
	if (set_owner(fileno(p.f), r->priv) < 0 ||
	    lib_pass_message(job, r, job_put_file, p.f) < 0) {
		post_remove(&p);
		return -1;
	}
	return post_send_or_remove(&p);
}

/* ---- jobs ------------------------------------------------------------ */

static void
work(struct lib_job *j)
{
	const char *host = NULL;	/* the last condition */
	struct lib_verdict checked;	/* the verdict on that condition */
	struct lib_verdict v;		/* the verdict on a recipient */
	struct lib_rcpt *r;

	job = j;
	for (r = j->rcpts; r != NULL && lib_has_scheduler(); r = r->next) {
		if (host == NULL || strcmp(host, r->host) != 0) {
			memset(&checked, 0, sizeof(checked));
			checked.text = "";
			check_condition(&checked, r->host);
			host = r->host;
		}
		v = checked;
		if (v.code == 0 && resubmit(r) < 0)
			defer(&v, "4.3.0", "the condition holds, but the "
			    "router cannot get the message: %s",
			    strerror(errno));
		lib_report_verdict(j, r, &v);
	}
}

int
main(int argc, char **argv)
{
	static struct lib_command command = { "hold", VERSION,
		"[-NV] [-c channel] [-d directory]", "c:d:NV", NULL, NULL, 0 };
	int c;

	command.channel = env_get("CHANNEL", "hold");
	scripts = lib_share_path("hold");
	while ((c = lib_next_option(argc, argv, &command)) == 'd')
		scripts = optarg;
	if (c != -1 || optind < argc || *scripts != '/')
		lib_usage();
	umask(022);
	if (command.check_only)
		return 0;
	return pledge("stdio rpath wpath cpath fattr chown flock unix inet "
	    "dns getpw id proc exec", NULL) < 0 ? X_OSERR :
	    lib_run(command.channel, NULL, work);
}
