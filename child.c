/*
 * child.c - a program is started.
 *
 * An agent gets one socket, or two pipes where there is no socketpair, on its
 * descriptors 0, 1 and 2.  Everything else that is open here is closed by its
 * close-on-exec mark, which every module sets on what it opens.  No shell is
 * involved: the command is words, so no host name can become a command.
 *
 * Its environment is the NAME=value words of its command; TZ, PATH, CHANNEL
 * (for which it works), and ZCONFIG when there is a -Z file, unless the command
 * sets them; nothing else is inherited.  Its directory is ours, transport/.  As
 * root we become group first, then user, with no other group left; anybody else
 * can only stay what he is.
 *
 * How many agents there can be follows from how many descriptors we may
 * have (seed 22, note 1): the soft limit is raised to the hard one first, and
 * select sets a bound of its own.
 *
 * What goes wrong before the program runs is told by an exit code of its own
 * and one line on the socket, where the one who waits for it will find it.
 */
#include "scheduler.h"
#include <grp.h>
#include <signal.h>

#ifndef NO_RLIMIT
#include <sys/resource.h>
#endif
#ifdef NO_SOCKETPAIR
#define FDS_EACH 2
#else
#include <sys/socket.h>
#define FDS_EACH 1
#endif

#define FDS_KEPT	30	/* descriptors not for agents (seed 22, [1]) */
/* What we cannot do without: the first three, log, syslog, the pipe of signals
 * (2), pid file, statistics, the socket and port, both named pipes (4); for a
 * moment two scans, a look around, a control file and a report (5); and both
 * ends of one agent. */
#define FDS_LEAST	(15 + 8 + 2 * FDS_EACH)
#define PASSED		4	/* names of the environment that we set */
#define SIGNALS		32	/* those with names, on any system */

/* ---- how many -------------------------------------------------------- */

/* How many descriptors we may have, as many as we can get. */
static long
descriptors(void)
{
	long n = -1;
#ifndef NO_RLIMIT
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		if (rl.rlim_cur > (rlim_t)FD_SETSIZE)
			rl.rlim_cur = (rlim_t)FD_SETSIZE;
		setrlimit(RLIMIT_NOFILE, &rl);
		if (getrlimit(RLIMIT_NOFILE, &rl) == 0)
			n = rl.rlim_cur > (rlim_t)FD_SETSIZE ? FD_SETSIZE :
			    (long)rl.rlim_cur;
	}
#endif
	if (n < 0)
		n = sysconf(_SC_OPEN_MAX);
	if (n < 0)
		n = 64;
	return n > FD_SETSIZE ? FD_SETSIZE : n;
}

int
child_room(long *most)
{
	*most = descriptors();
	return *most < FDS_LEAST ? FDS_LEAST : 0;
}

unsigned
child_most(void)
{
	long n = descriptors();
	unsigned most = 1;

	if (n > FDS_KEPT + FDS_EACH)
		most = (unsigned)((n - FDS_KEPT) / FDS_EACH);
	log_info("limits maxta=%u descriptors=%ld for each agent=%d", most, n,
	    FDS_EACH);
#ifdef NO_INITGROUPS
	if (geteuid() == 0)
		log_info("limits agents keep our supplementary groups: built "
		    "without setgroups");
#endif
	return most;
}

/* ---- what it is given ------------------------------------------------ */

const char *
child_var(const char *name)
{
	static const struct {
		const char *name;
		char	**value;
	} known[] = {
		{ "POSTOFFICE", &opt.postoffice },
		{ "MAILBIN", &opt.mailbin },
		{ "MAILSHARE", &opt.mailshare },
		{ "LOGDIR", &opt.logdir }
	};
	size_t i, n = strlen(name);

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(name, known[i].name) == 0 &&
		    *known[i].value != NULL)
			return *known[i].value;
	for (i = 0; opt.vars != NULL && opt.vars[i] != NULL; i++)
		if (strncmp(opt.vars[i], name, n) == 0 &&
		    opt.vars[i][n] == '=')
			return opt.vars[i] + n + 1;
	return strcmp(name, "PATH") == 0 ? opt.path : NULL;
}

int
child_path(const char *s, char *path, size_t size)
{
	char name[64];
	const char *end, *value;
	struct text t;

	text_init(&t, path, size);
	for (; *s != '\0'; s++) {
		end = s[0] == '$' && s[1] == '{' ? strchr(s, '}') : NULL;
		if (end == NULL) {
			text_put(&t, s, 1);
			continue;
		}
		text_fmt(name, sizeof(name), "%.*s", (int)(end - s - 2), s + 2);
		value = child_var(name);
		if (value == NULL)
			return -1;
		text_add(&t, "%s", value);
		s = end;
	}
	return t.cut || path[0] != '/' ? -1 : 0;
}

/* Does the command itself set this name? */
static int
is_set(const struct command *c, const char *name)
{
	size_t n = strlen(name);
	int i;

	for (i = 0; i < c->nenv; i++)
		if (strncmp(c->env[i], name, n) == 0 && c->env[i][n] == '=')
			return 1;
	return 0;
}

/* The whole environment of an agent: 0 or -1. */
static int
environment(struct command *c, const char *channel, char **env, char *mem,
    size_t size)
{
	static const char *const passed[PASSED] = { "TZ", "PATH", "ZCONFIG",
	    "CHANNEL" };
	const char *value[PASSED];
	struct text t;
	int i, n;

	for (n = 0; n < c->nenv; n++)
		env[n] = c->env[n];
	value[0] = getenv("TZ");
	value[1] = child_var("PATH");
	value[2] = opt.envfile;
	value[3] = channel;
	text_init(&t, mem, size);
	for (i = 0; i < PASSED; i++) {
		if (value[i] == NULL || is_set(c, passed[i]))
			continue;
		env[n++] = t.s + t.len;
		text_add(&t, "%s=%s", passed[i], value[i]);
		text_put(&t, "", 1);
	}
	env[n] = NULL;
	return t.cut ? -1 : 0;
}

/* ---- starting it ----------------------------------------------------- */

static void
close_both(int fd[2])
{
	close(fd[0]);
	if (fd[1] != fd[0])
		close(fd[1]);
}

/* Makes both ends; [0] is read from, [1] written to: 0 or -1.  An end that
 * another agent had too would hide that this one is gone, and one on which we
 * waited would stop everything. */
static int
make_channel(int ours[2], int theirs[2])
{
	int i, bad = 0, err;
#ifdef NO_SOCKETPAIR
	int to[2], from[2];

	if (pipe(to) < 0)
		return -1;
	if (pipe(from) < 0) {
		close(to[0]);
		close(to[1]);
		return -1;
	}
	ours[0] = from[0];
	ours[1] = to[1];
	theirs[0] = to[0];
	theirs[1] = from[1];
#else
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		return -1;
	ours[0] = ours[1] = s[0];
	theirs[0] = theirs[1] = s[1];
#endif
	for (i = 0; i < 2; i++)
		bad |= fd_cloexec(ours[i]) < 0 || fd_cloexec(theirs[i]) < 0 ||
		    fd_nonblock(ours[i]) < 0;
	if (bad) {
		err = errno;
		close_both(ours);
		close_both(theirs);
		errno = err;
	}
	return bad ? -1 : 0;
}

/* In the child: who it is to be.  NULL, or what could not be done. */
static const char *
become(const struct setting *s)
{
#ifndef NO_RLIMIT
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = (rlim_t)opt.agentfiles;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
#endif
	errno = 0;
	if (s->nice != 0 && nice((int)s->nice) == -1 && errno != 0)
		return "nice";
	if (geteuid() != 0)
		return NULL;	/* we can be nobody else */
#ifndef NO_INITGROUPS
	{
		gid_t gid = (gid_t)s->gid;

		if (setgroups(1, &gid) < 0)
			return "setgroups";
	}
#endif
	if (setgid((gid_t)s->gid) < 0)
		return "setgid";
	if (setuid((uid_t)s->uid) < 0)
		return "setuid";
	return NULL;
}

/* In the child: becomes the agent.  Says why when it cannot. */
static void
run(const struct setting *s, char **argv, char **env, const int theirs[2])
{
	char line[PATH_MAX_ + 200];
	const char *what;
	int sig;

	/* what we catch or ignore, and what our parent had us ignore */
	for (sig = 1; sig < SIGNALS; sig++)
		signal(sig, SIG_DFL);
	setpgid(0, 0);		/* a terminal's ^C is for the scheduler */
	if (dup2(theirs[0], 0) < 0 || dup2(theirs[1], 1) < 0 ||
	    dup2(theirs[1], 2) < 0)
		_exit(X_OSERR);
	what = become(s);
	if (what == NULL) {
		execve(argv[0], argv, env);
		what = "execute";
	}
	text_fmt(line, sizeof(line), "# cannot %s %s: %s\n", what, argv[0],
	    strerror(errno));
	fd_write(1, line, strlen(line));
	_exit(X_OSFILE);
}

/* The path of the command, made in path: 0 or -1. */
static int
find_program(const struct command *c, char *path, size_t size)
{
	if (c->argv[0][0] == '/')
		return text_fmt(path, size, "%s", c->argv[0]);
	return text_fmt(path, size, "%s/ta/%s", opt.mailbin, c->argv[0]);
}

long
child_start(const struct setting *s, struct command *c, const char *channel,
    int ours[2])
{
	char *env[CMD_WORDS + PASSED + 1], mem[PATH_MAX_ * 5], path[PATH_MAX_];
	int theirs[2];
	long pid = -1;

	if (environment(c, channel, env, mem, sizeof(mem)) < 0 ||
	    find_program(c, path, sizeof(path)) < 0) {
		errno = E2BIG;
		return -1;
	}
	if (make_channel(ours, theirs) < 0)
		return -1;
	if (ours[0] >= FD_SETSIZE || ours[1] >= FD_SETSIZE) {
		errno = EMFILE;
	} else {
		log_flush();
		pid = (long)fork();
	}
	c->argv[0] = path;
	if (pid == 0)
		run(s, c->argv, env, theirs);
	close_both(theirs);
	if (pid < 0)
		close_both(ours);
	return pid;
}
