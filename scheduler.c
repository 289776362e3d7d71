/*
 * scheduler.c - the daemon's main program: options, start, signals, the loop.
 *
 * Start.  Locations come from an option, else the environment, else the file
 * of -Z, else the Makefile.  The configuration is read and the post office is
 * checked before anything is changed.  Errors go to standard error, and the
 * exit code is one of <sysexits.h>.  The parent of a daemon waits until the
 * child is ready, so its exit code tells whether mail is being delivered.
 *
 * A post office has one scheduler.  It keeps a file locked while it runs; a
 * second scheduler finds the lock and exits, or waits if the first is ending.
 *
 * A signal handler sets a flag and writes a byte into a pipe.
 *
 *	HUP USR1	open the logs anew and read the configuration again; if
 *			it has errors the old one stays in force
 *	TERM INT QUIT	feed nothing more, let agents finish their jobs,
 *			exit with 0; the second signal ends it at once
 *	CHLD		an agent, a dump or scheduler-syslog has ended
 *
 * The loop sleeps in one select until a descriptor is ready or a deadline is
 * reached, reads the clocks, and calls each module.  A new message takes one
 * pass to be loaded and fed, and one for its reports:
 *
 *	select		the router's socket is ready
 *	in_load_files	the message is loaded, its vertices are READY
 *	ta_feed_rings	an agent is started or fed
 *	select		the agent's socket is ready
 *	ta_do		its report is read: the vertex is DONE
 *	q_sweep		both files are removed
 *
 * A pass costs O(agents), whatever the length of the queue.  After SIGTERM
 * nothing is loaded or fed; the loop continues until all agents have ended,
 * at most 15 seconds, and one more for those that are ended then.
 *
 * This file parses only options and the lines of the file of -Z.
 */
#include "scheduler.h"
#include <signal.h>
#include <sys/wait.h>

#ifndef NO_RLIMIT
#include <sys/resource.h>
#endif

/* Default locations, which the Makefile may replace. */
#ifndef POSTOFFICE
#define POSTOFFICE	"/var/spool/postoffice"
#endif
#ifndef MAILBIN
#define MAILBIN		"/usr/local/lib/mail"
#endif
#ifndef MAILSHARE
#define MAILSHARE	"/usr/local/share/mail"
#endif
#ifndef LOGDIR
#define LOGDIR		"/var/log"
#endif
#define PATH		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:" \
			"/sbin:/bin"

#define FDS_KEPT	30	/* descriptors not for agents (seed 22, [1]) */
/* The scheduler's own descriptors: the first three, log, syslog, the pipe of
 * signals (2), pid file, statistics, the socket and port, both named pipes (4);
 * for a moment two scans, another directory, and two control files (5); and
 * both ends of one agent. */
#define FDS_LEAST	(15 + 8 + 2 * CMD_FDS)

#define PATIENCE	15	/* seconds that agents have to finish */
#define TICK		0.01	/* seconds; the coarsest clock: a shorter sleep
				 * would only cost another pass */

/* Options that only this file uses. */
static struct {
	int	daemon, forced, verbose, late, check, sync;
	int	others;		/* options that -n has no use for */
	const char *config;
	const char *self;	/* the path by which we were started, or a name
				 * without a slash */
} me;

static char cwd[PATH_MAX_];	/* directory of the start */

static void
say_plainly(const char *line)
{
	fputs(line, stderr);
	putc('\n', stderr);
}

/* Says on standard error what is wrong, and ends: start-up only. */
static void LIKE_PRINTF(2, 3)
die(int code, const char *f, ...)
{
	char line[2 * PATH_MAX_ + 200];
	struct text t;
	va_list ap;

	log_flush();
	text_init(&t, line, sizeof(line));
	text_add(&t, "scheduler: ");
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	say_plainly(line);
	exit(code);
}

/* ---- options --------------------------------------------------------- */

static const char synopsis[] =
    "usage: scheduler [-divFHQSVW] [-f configfile] [-E newentsmax[,seconds]]\n"
    "\t[-L logfile] [-l statisticslog] [-N transpmaxfno] [-P postoffice]\n"
    "\t[-R maxforkfreq] [-q rendezvous] [-p channel/host] [-Z envfile]\n"
    "       scheduler -n [-f configfile] [-Z envfile] [channel/host]\n"
    "       scheduler --help";

static void
usage(void)
{
	die(X_USAGE, "%s", synopsis);
}

static void
help(void)
{
	puts(synopsis);
	puts("  -d              become a daemon, with -i and -v too\n"
	    "  -E n[,seconds]  new messages, and time, of one scan at most\n"
	    "  -f file         the configuration (MAILSHARE/scheduler.cf)\n"
	    "  -F              freeze: start no agent\n"
	    "  -H, -HH         sort files into hash directories\n"
	    "  -i              stay in the foreground, log to standard error\n"
	    "  -l file         a line for each recipient that is done\n"
	    "  -L file         the log (LOGDIR/scheduler)\n"
	    "  -n              check the configuration, explain channel/host");
	puts("  -N number       files that an agent may open (32)\n"
	    "  -p channel/host deliver to this address only\n"
	    "  -P directory    the post office\n"
	    "  -q pipe         answer mailq at this named pipe\n"
	    "  -Q              tell mailq of no single messages\n"
	    "  -R number       agents that are started in a second (30)\n"
	    "  -S              load everything before the first agent\n"
	    "  -v              like -i, and log what agents are told\n"
	    "  -V              print the version");
	puts("  -W              with -v: not before everything is loaded\n"
	    "  -Z file         NAME=value lines: places, names for commands");
}

/* A switch of the Makefile: one that is set is not its own value. */
#define VALUE(s)	#s
#define SWITCH(s)	{ #s, VALUE(s) }

/* Also prints the NO_ switches of this build. */
static void
version(void)
{
	static const struct {
		const char *name, *value;
	} switches[] = {
		SWITCH(NO_SOCKETPAIR), SWITCH(NO_TCP), SWITCH(NO_RESOLV),
		SWITCH(NO_GETADDRINFO), SWITCH(NO_SELECT_H), SWITCH(NO_RLIMIT),
		SWITCH(NO_INITGROUPS), SWITCH(NO_SYSLOG), SWITCH(NO_SYMLINK),
		SWITCH(NO_MKFIFO), SWITCH(NO_MONOTONIC), SWITCH(NO_FSYNC),
		SWITCH(NO_FTRUNCATE), SWITCH(NO_SETSID), SWITCH(NO_SETEUID),
		SWITCH(NO_STATVFS), SWITCH(NO_PWD), SWITCH(NO_WINSIZE),
		SWITCH(NO_ST_MTIM)
	};
	size_t i;

	fputs("scheduler " VERSION, stdout);
	for (i = 0; i < sizeof(switches) / sizeof(*switches); i++)
		if (strcmp(switches[i].name, switches[i].value) != 0) {
			putchar(' ');
			fputs(switches[i].name, stdout);
		}
	putchar('\n');
}

/* A number from min to max.  Text behind it is an error, unless end is given;
 * then *end is that text. */
static long
number(int letter, const char *s, long min, long max, const char **end)
{
	unsigned long n;

	if (num_upto(s, max, &n, end) < 0 || (long)n < min)
		die(X_USAGE, "-%c %s: a number from %ld to %ld is needed",
		    letter, s, min, max);
	return n;
}

/* -E newentsmax[,seconds] */
static void
scan_bounds(const char *s)
{
	const char *end;

	opt.scanmax = number('E', s, 1, 999999999L, &end);
	if (*end == ',')
		opt.scansecs = number('E', end + 1, 1, 3600, NULL);
	else if (*end != '\0')
		die(X_USAGE, "-E %s: newentsmax[,seconds] is needed", s);
}

/* Cuts the host off channel/host, in lower case, and returns it: "*" if it is
 * missing. */
static char *
split_address(char *s)
{
	static char any[] = "*";
	char *slash = strchr(s, '/'), *host = slash != NULL ? slash + 1 : any;

	text_lower(s);
	if (slash != NULL)
		*slash = '\0';
	if (*s == '\0' || *host == '\0')
		usage();
	return host;
}

static void
take_option(int c, char *arg)
{
	switch (c) {
	case 'd': me.forced = 1; break;
	case 'i': me.daemon = 0; break;
	case 'v': me.daemon = 0; me.verbose = 1; break;
	case 'W': me.late = 1; break;
	case 'n': me.check = 1; break;
	case 'F': opt.freeze = 1; break;
	case 'H': opt.levels = opt.levels < 2 ? opt.levels + 1 : 2; break;
	case 'Q': opt.quiet = 1; break;
	case 'S': me.sync = 1; break;
	case 'f': me.config = arg; break;
	case 'E': scan_bounds(arg); break;
	case 'L': opt.logfile = arg; break;
	case 'l': opt.statlog = arg; break;
	case 'M': log_warn("option -M %s has no effect", arg); break;
	case 'N': opt.agentfiles = number(c, arg, 10, 65536L, NULL); break;
	case 'P': opt.postoffice = arg; break;
	case 'R': opt.forkrate = number(c, arg, 1, 10000, NULL); break;
	case 'q': opt.rendezvous = arg; break;
	case 'p':
		opt.pick_channel = arg;
		opt.pick_host = split_address(arg);
		break;
	case 'Z': opt.envfile = arg; break;
	case 'V': version(); exit(0);
	default: usage();
	}
}

/* ---- locations ------------------------------------------------------- */

/* A new text of all three.  Such texts are made once, at the start, and never
 * freed. */
static char *
joined(const char *a, const char *between, const char *b)
{
	char *s = mem_get(strlen(a) + strlen(b) + 2);

	if (s == NULL)
		die(X_OSERR, "no memory");
	return strcat(strcat(strcpy(s, a), between), b);
}

/* Adds NAME=value to opt.vars: at the end, or before others of the name. */
static void
add_var(char *text, int before)
{
	static unsigned n;
	unsigned at = before ? 0 : n;

	opt.vars = realloc(opt.vars, (n + 2) * sizeof(*opt.vars));
	if (opt.vars == NULL)
		die(X_OSERR, "no memory");
	memmove(opt.vars + at + 1, opt.vars + at, (n - at) * sizeof(text));
	opt.vars[at] = text;
	opt.vars[++n] = NULL;
}

/* Reads the file of -Z into opt.vars. */
static void
read_vars(const char *file)
{
	char line[OFFICE_LINE], *s;
	unsigned at = 0;
	struct stat st;
	FILE *f = fopen(file, "r");

	if (f != NULL && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		f = NULL;	/* a BSD would read it */
		errno = EISDIR;
	}
	if (f == NULL)
		die(X_NOINPUT, "%s: %s", file, strerror(errno));
	while ((s = office_next_var(f, line, &at)) != NULL)
		add_var(joined(s, "", ""), 0);
	if (at > 0)
		die(X_CONFIG, "%s:%u: %.*s: NAME=value is needed", file, at,
		    (int)strcspn(line, "\n"), line + strspn(line, " \t"));
	if (ferror(f))
		die(X_NOINPUT, "%s: %s", file, strerror(errno));
	fclose(f);
}

/* The path as an absolute one; NULL stays NULL. */
static const char *
absolute(const char *path)
{
	return path == NULL || *path == '/' ? path : joined(cwd, "/", path);
}

/* The value of the option, the environment, the file of -Z, or the default. */
static const char *
location(const char *given, const char *name, const char *ours)
{
	const char *s = given;

	if (s == NULL)
		s = getenv(name);
	if (s == NULL || *s == '\0')
		s = cf_get_var(name);
	return absolute(s != NULL && *s != '\0' ? s : ours);
}

/* Sets the location, which ${NAME} is from now on. */
static void
place(const char **given, const char *name, const char *ours)
{
	*given = location(*given, name, ours);
	add_var(joined(name, "=", *given), 1);
}

/* The path of a program of ours: it is beside us, if we were started by a path,
 * or in MAILBIN.  Good until the next call. */
static char *
program(const char *name)
{
	static char path[PATH_MAX_];
	const char *slash = strrchr(me.self, '/');

	if (slash == NULL || text_fmt(path, sizeof(path), "%.*s/%s",
	    (int)(slash - me.self), me.self, name) < 0 ||
	    access(path, X_OK) < 0)
		text_fmt(path, sizeof(path), "%s/%s", opt.mailbin, name);
	return path;
}

/* The file of -Z comes first, as it may name all others. */
static void
find_locations(void)
{
	const char *levels, *path = getenv("PATH");

	if (getcwd(cwd, sizeof(cwd)) == NULL)
		die(X_OSERR, "current directory: %s", strerror(errno));
	if (strchr(me.self, '/') != NULL)
		me.self = absolute(me.self);
	if (opt.envfile == NULL)
		opt.envfile = getenv("ZCONFIG");
	if (opt.envfile != NULL) {
		opt.envfile = absolute(opt.envfile);
		read_vars(opt.envfile);
	}
	levels = cf_get_var("SCHEDULERDIRHASH");
	if (opt.levels == 0 && levels != NULL &&
	    (strcmp(levels, "1") == 0 || strcmp(levels, "2") == 0))
		opt.levels = *levels - '0';
	place(&opt.postoffice, "POSTOFFICE", POSTOFFICE);
	place(&opt.mailbin, "MAILBIN", MAILBIN);
	place(&opt.mailshare, "MAILSHARE", MAILSHARE);
	place(&opt.logdir, "LOGDIR", LOGDIR);
	opt.rendezvous = location(opt.rendezvous, "RENDEZVOUS", NULL);
	/* that of the file comes first */
	if (opt.envfile != NULL)	/* for agents that -n asks */
		add_var(joined("ZCONFIG", "=", opt.envfile), 1);
	add_var(joined("PATH", "=", path != NULL ? path : PATH), 0);
	opt.statlog = absolute(opt.statlog);
	if (me.config == NULL)
		me.config = joined(opt.mailshare, "/", "scheduler.cf");
	else if (!me.check)	/* errors name it as it was given */
		me.config = absolute(me.config);
	if (opt.logfile != NULL)
		opt.logfile = absolute(opt.logfile);
	else if (me.daemon)
		opt.logfile = joined(opt.logdir, "/", "scheduler");
}

/* ---- the configuration ----------------------------------------------- */

static void
say_in_log(const char *line)
{
	log_err("config %s", line);
}

/* -n: executes scheduler-check with the locations and the values of the file of
 * -Z (check.c). */
static void
become_checker(char *address)
{
	static char name[] = "scheduler-check", none[] = "";
	char *path = program(name);

	if (me.others)
		say_plainly("scheduler: -n checks the configuration; no "
		    "scheduler is started (ZMailer's -n is PARAMbouncesize 0)");
	/* other arguments come before the values */
	add_var(address != NULL ? split_address(address) : none, 1);
	add_var(address != NULL ? address : none, 1);
	add_var(joined(me.config, "", ""), 1);
	add_var(name, 1);
	execv(path, opt.vars);
	die(X_OSFILE, "%s: %s; without it nothing is checked", path,
	    strerror(errno));
}

/* ---- logs ------------------------------------------------------------ */

/* Opens the log; one with addresses is made with mode 0640: 0 or -1. */
static int
open_log(const struct config *c)
{
	mode_t was = umask(c->logaddresses ? 027 : 022);
	int bad = opt.logfile != NULL && log_file(opt.logfile) < 0;

	umask(was);
	return bad ? -1 : 0;
}

#define SYSLOG_LEAST	60	/* seconds that it has to run to be started
				 * anew when it ends */

static struct {
	long	pid;		/* of scheduler-syslog, 0: it does not run */
	double	born;		/* mono */
} sl;

/* Starts scheduler-syslog (syslog.c), which gets a copy of the log. */
static void
start_syslog(void)
{
#ifndef NO_SYSLOG
	static struct command c;
	static char ident[40];
	int ends[2];

	memset(&c, 0, sizeof(c));
	text_fmt(ident, sizeof(ident), "scheduler[%ld]", (long)getpid());
	c.argv[0] = program("scheduler-syslog");
	c.argv[1] = ident;
	c.uid = geteuid();
	c.gid = getegid();
	c.files = opt.agentfiles;
	cmd_set_env(&c, "TZ", getenv("TZ"));
	sl.pid = cmd_start(&c, ends);
	if (sl.pid < 0) {
		log_err("syslog %s; only the log file has the log",
		    strerror(errno));
		sl.pid = 0;
		return;
	}
	sl.born = now.mono;
	log_copy = ends[1];
	if (ends[0] != ends[1])
		close(ends[0]);
#endif
}

/* It has ended.  One that ends soon, as it cannot run, is left until the next
 * reload. */
static void
syslog_ended(int status)
{
	sl.pid = 0;
	close(log_copy);
	log_copy = -1;
	log_warn("syslog program=%s has ended, %s %d%s",
	    program("scheduler-syslog"), WIFEXITED(status) ? "exit code" :
	    "signal", WIFEXITED(status) ? WEXITSTATUS(status) :
	    WTERMSIG(status), WIFEXITED(status) && WEXITSTATUS(status) ==
	    X_OSFILE ? " (no scheduler-syslog)" : "");
	if (now.mono - sl.born >= SYSLOG_LEAST)
		start_syslog();
}

#define LOGS_EVERY	25	/* seconds until it is seen that a log has been
				 * renamed */
static double logs_due;		/* mono */

/* Returns 1 if err, an errno or 0, is a failure and not the last one. */
static int
is_new_failure(int err, int *last)
{
	int is_new = err != 0 && err != *last;

	*last = errno = err;
	return is_new;
}

/* Opens logs whose name is another file now.  If one cannot be opened, as its
 * directory is missing, the old one stays in use, which is logged once; again:
 * once more. */
static void
open_logs(int again)
{
	static int last, stat_last;

	if (again)
		last = stat_last = 0;
	logs_due = now.mono + LOGS_EVERY;
	if (is_new_failure(open_log(q.config) < 0 ? errno : 0, &last))
		log_err("log file=%s %s; the old one stays in use",
		    opt.logfile, fd_own_why());
	if (is_new_failure(msg_open_statlog() < 0 ? errno : 0, &stat_last))
		log_err("statlog file=%s %s", opt.statlog, fd_own_why());
}

/* ---- reload ---------------------------------------------------------- */

/* Takes the configuration in use.  The order matters: rings and threads are
 * renewed before any module searches them. */
static void
use(struct config *c)
{
	log_masks = !c->logaddresses;
	if (c->nodsn)
		log_err("agent %s/ta/dsn cannot be run; no sender is told of "
		    "failed mail, which stays", opt.mailbin);
	q_use_config(c);
	spool_listen(c->notifysock);
	status_listen();
	dest_sync_files(1);
}

/* Reads the configuration again. */
static void
reload(void)
{
	struct config *c;

	open_logs(1);
	if (me.daemon && sl.pid == 0)
		start_syslog();
	c = cf_read_file(me.config, say_in_log);
	if (c == NULL) {
		log_err("reload file=%s has errors; what was in force stays",
		    me.config);
		return;
	}
	use(c);
	log_info("reload file=%s done", me.config);
}

/* ---- the lock and the pid file ---------------------------------------- */

#define ENDING		1	/* the byte of the lock file that a scheduler
				 * unlocks when it begins to end */
#define WAIT_MOST	30	/* seconds to wait for one that ends */
#define WAIT_LEAST	2	/* the same, if it may just have got a signal */

static char pid_path[PATH_MAX_];
static int lock_fd;	/* stays open: closing any descriptor of the file would
			 * end the lock */

/* Another process has the lock: reports its number and exits. */
static void
die_locked(int fd)
{
	if (errno != EACCES && errno != EAGAIN)
		die(X_OSERR, "%s: no lock: %s", opt.postoffice,
		    strerror(errno));
	/* 0: it has just ended */
	die(X_CANTCREAT, "%s: a scheduler is already running on this post "
	    "office, its process number is %ld", pid_path,
	    fd_lock_at(fd, F_GETLK, F_WRLCK, 0));
}

/* Takes the lock, so that this is the only scheduler, or waits for one that is
 * ending.  Whoever can read the file could lock it, too. */
static void
take_lock(void)
{
	int ending, said = 0;

	lock_fd = fd_own("../.lock.scheduler", O_RDWR | O_CREAT, 0600);
	if (lock_fd < 0)
		die(X_CANTCREAT, "%s/.lock.scheduler: %s", opt.postoffice,
		    fd_own_why());
	for (; fd_lock(lock_fd) < 0; clock_read()) {
		ending = fd_lock_at(lock_fd, F_GETLK, F_WRLCK, ENDING) == 0;
		if (now.mono > (ending ? WAIT_MOST : WAIT_LEAST))
			die_locked(lock_fd);
		if (ending && !said++)
			log_warn("waiting pid=%ld is ending, and has %d "
			    "seconds", fd_lock_at(lock_fd, F_GETLK, F_WRLCK, 0),
			    WAIT_MOST);
		sleep(1);
	}
}

/* Writes the pid file, which all may read.  A scheduler of version 0.1 has its
 * lock there, and lets nobody else read it. */
static void
write_pid_file(void)
{
	struct stat st;
	char line[32];
	struct text t;
	int fd;

	text_fmt(pid_path, sizeof(pid_path), "%s/.pid.scheduler",
	    opt.postoffice);
	take_lock();
	fd = fd_own(pid_path, O_RDWR | O_CREAT, 0644);
	if (fd < 0 || fstat(fd, &st) < 0)
		die(X_CANTCREAT, "%s: %s", pid_path, fd_own_why());
	if (fd_lock(fd) < 0 && (st.st_mode & 044) == 0)
		die_locked(fd);
	fchmod(fd, 0644);
	text_init(&t, line, sizeof(line));
	text_add(&t, "%ld\n", (long)getpid());
	while ((off_t)t.len < st.st_size && !t.cut)
		text_add(&t, "\n");	/* over what a longer number left */
	/* a full disk is no reason not to empty it: the lock holds anyway */
	if (fd_write(fd, line, t.len) < 0)
		log_warn("pid-file file=%s %s", pid_path, strerror(errno));
}

/* Adds 1 to the number of the start, when no other scheduler is at work here.
 * Without a clock, times occur again, and spool ids contain this number
 * (lib/office.c). */
static void
count_start(void)
{
	char line[24] = "";
	int fd = fd_own("../" STARTS_FILE, O_RDWR | O_CREAT, 0644), bad;

	bad = fd < 0 || read(fd, line, sizeof(line) - 1) < 0;
	text_fmt(line, sizeof(line), "%lu\n", num_of(line, NULL) + 1);
	if (bad || lseek(fd, 0, SEEK_SET) < 0 ||
	    fd_write(fd, line, strlen(line)) < 0)
		log_err("spool file=%s %s", STARTS_FILE, fd_own_why());
	if (fd >= 0)
		close(fd);
}

/* ---- signals --------------------------------------------------------- */

static volatile sig_atomic_t got_term, got_reload, got_child;
static int wake_pipe[2];

/* The byte in the pipe ends a select that begins just now; for that one a flag
 * alone would be too late. */
static void
on_signal(int sig)
{
	int saved = errno;

	if (sig == SIGCHLD)
		got_child = 1;
	else if (sig == SIGHUP || sig == SIGUSR1)
		got_reload = 1;
	else
		got_term++;
	if (write(wake_pipe[1], "", 1) < 0)
		errno = 0;	/* it is full: then select ends anyway */
	errno = saved;
}

static void
catch_signals(void)
{
	static const int caught[] = { SIGCHLD, SIGHUP, SIGUSR1,
	    SIGTERM, SIGINT, SIGQUIT };
	struct sigaction sa;
	size_t i;

	/* full or empty, the pipe must not stop us */
	if (pipe(wake_pipe) < 0 || fd_nonblock(wake_pipe[0]) < 0 ||
	    fd_nonblock(wake_pipe[1]) < 0)
		die(X_OSERR, "pipe: %s", strerror(errno));
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_signal;
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);	/* a write error is enough */
	signal(SIGALRM, SIG_IGN);	/* a dump sets its own */
	signal(SIGUSR2, SIG_IGN);	/* it asked for a dump once */
	/* signals that our parent had blocked would never arrive */
	sigprocmask(SIG_SETMASK, &sa.sa_mask, NULL);
}

/* ---- becoming a daemon ----------------------------------------------- */

static int parent = -1;		/* the pipe to the parent, which waits */

/* Closes descriptors that our parent left open, and makes sure that 0, 1 and 2
 * are open. */
static void
tidy_descriptors(void)
{
	long fd, n = sysconf(_SC_OPEN_MAX);

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	if (n < 4096)		/* some may be above a limit set later */
		n = 4096;
	else if (n > 65536L)
		n = 65536L;
	for (fd = 3; fd < n; fd++)
		close(fd);
}

/* The child returns.  The parent waits until a byte in the pipe says that the
 * child is ready, or exits with the child's exit code. */
static void
detach(void)
{
	int p[2], status;
	char c;
	long pid = -1;

	if (pipe(p) == 0)
		pid = fork();
	if (pid < 0)
		die(X_OSERR, "fork: %s", strerror(errno));
	if (pid == 0) {
		close(p[0]);
		parent = p[1];
		fd_cloexec(parent);
#ifdef NO_SETSID
		setpgid(0, 0);
#else
		setsid();
#endif
		return;
	}
	close(p[1]);
	while ((status = read(p[0], &c, 1)) < 0 && errno == EINTR)
		;
	if (status == 1)
		_exit(0);
	if (waitpid((pid_t)pid, &status, 0) < 0 || !WIFEXITED(status))
		_exit(X_SOFTWARE);
	_exit(WEXITSTATUS(status));
}

/* From here on all messages go to the log. */
static void
close_terminal(const struct config *c)
{
	int null;

	if (me.daemon)		/* the first lines are for it, too */
		start_syslog();
	if (open_log(c) < 0)
		die(X_CANTCREAT, "%s: %s; -L names another log file",
		    opt.logfile, fd_own_why());
	if (!me.daemon)
		return;
	null = open("/dev/null", O_RDWR);
	if (null < 0)
		die(X_OSERR, "/dev/null: %s", strerror(errno));
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	close(null);
}

/* Logs the line "ready", and then lets the parent exit. */
static void
say_ready(void)
{
	log_info("ready pid=%ld version=%s postoffice=%s", (long)getpid(),
	    VERSION, opt.postoffice);
	log_flush();
	if (parent >= 0) {
		fd_write(parent, "", 1);
		close(parent);
	}
}

static void
be_verbose(void)
{
	if (me.verbose)
		log_level = L_DEBUG;
}

/* ---- the loop -------------------------------------------------------- */

static struct {
	int	ending;		/* by a signal */
	double	deadline;	/* mono; when patience with agents ends */
	int	killed;		/* patience has ended: they got a signal */
	double	files;		/* seconds until that of destinations is due */
} state;

/* Feeds no more jobs; agents have PATIENCE seconds to finish theirs. */
static void
begin_to_end(void)
{
	state.ending = q.hold = 1;
	fd_lock_at(lock_fd, F_SETLK, F_UNLCK, ENDING);
	state.deadline = now.mono + PATIENCE;
	log_info("ending agents=%u msgs=%u", q.nagents, q.messages.n);
	ta_end_all(0);
}

static void
take_signals(void)
{
	char junk[64];
	int status;
	long pid;

	while (read(wake_pipe[0], junk, sizeof(junk)) > 0)
		;
	if (got_child) {
		got_child = 0;
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == sl.pid)
				syslog_ended(status);
			else if (!ta_reap(pid, status))
				status_reap(pid, status);
	}
	if (got_reload) {
		got_reload = 0;
		if (!state.ending)
			reload();
	}
	if (got_term && !state.ending)
		begin_to_end();
}

static double
sooner(double a, double b)
{
	return a < b ? a : b;
}

/* Adds the descriptors of all modules: seconds until one of them has work.  At
 * the end only agents, queries and the deadline count. */
static double
prepare(fd_set *in, fd_set *out, int *max)
{
	double wait = sooner(ta_prep(in, out, max), status_prep(in, max));

	fd_watch(wake_pipe[0], in, max);
	if (state.ending)
		return sooner(wait, state.deadline - now.mono);
	wait = sooner(wait, in_prep(in, max));
	wait = sooner(wait, state.files);
	wait = sooner(wait, heap_wait(&q.due_messages));
	return sooner(wait, heap_wait(&q.due_threads));
}

/* Sleeps until a descriptor is ready or a module has work, and reads the
 * clocks. */
static void
wait_for_work(int more)
{
	fd_set in, out;
	struct timeval tv;
	double wait;
	int max = 0, n, err;

	FD_ZERO(&in);
	FD_ZERO(&out);
	wait = prepare(&in, &out, &max);
	wait = more || wait <= 0 ? 0 : wait + TICK;
	tv.tv_sec = (long)wait;
	tv.tv_usec = (long)((wait - tv.tv_sec) * 1e6);
	n = select(max + 1, &in, &out, NULL, &tv);
	err = errno;
	clock_read();
	if (n < 0 && err != EINTR)
		log_err("select %s", strerror(err));
	if (n <= 0) {		/* the sets say nothing */
		FD_ZERO(&in);
		FD_ZERO(&out);
	}
	ta_do(&in, &out);
	status_do(&in);
}

/* When agents have had their time, or at a second signal, those that are still
 * at work get SIGTERM, and SIGKILL a second later.  The tags decide at the next
 * start. */
static int
is_over(void)
{
	if (!state.ending || q.nagents == 0)
		return state.ending;
	if (now.mono < state.deadline && (got_term < 2 || state.killed))
		return 0;
	if (!state.killed)
		log_warn("ending agents=%u are still at work and are ended",
		    q.nagents);
	ta_end_all(1);
	state.deadline = now.mono + 1;
	return state.killed++ > 0;
}

static void
loop(void)
{
	int more = 1;

	for (;;) {
		wait_for_work(more);
		take_signals();
		if (is_over())
			break;
		more = 0;
		if (!state.ending) {
			more = in_load_files();
			if (q.moved)
				reload();	/* with new agents */
			q.moved = 0;
			if (q.start_loaded)
				be_verbose();
			state.files = dest_sync_files(0);
			if (now.mono >= logs_due)
				open_logs(0);
			q_run_timers();
		}
		ta_feed_rings();
		q_sweep();
		log_flush();
	}
	q_sweep();
}

/* ---- main ------------------------------------------------------------ */

/* Gets as many descriptors as we may have: their number.  With too few mail
 * would be loaded and not delivered. */
static long
get_descriptors(void)
{
	long n;
#ifndef NO_RLIMIT
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		if (rl.rlim_cur > (rlim_t)FD_SETSIZE)
			rl.rlim_cur = (rlim_t)FD_SETSIZE;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
#endif
	n = sysconf(_SC_OPEN_MAX);
	n = n < 0 ? 64 : n < FD_SETSIZE ? n : FD_SETSIZE;
	if (n < FDS_LEAST)
		die(X_OSERR, "%ld files may be open at a time, and %d are "
		    "needed for one agent and ourselves; raise the limit "
		    "(ulimit -n)", n, FDS_LEAST);
	return n;
}

/* What the machine and our user allow. */
static void
log_limits(long descriptors)
{
	log_info("limits maxta=%ld descriptors=%ld for each agent=%d",
	    opt.agents, descriptors, CMD_FDS);
#ifdef NO_INITGROUPS
	if (geteuid() == 0)
		log_info("limits agents keep our supplementary groups: built "
		    "without setgroups");
#endif
	if (geteuid() != 0)
		log_info("user uid=%ld is not root: agents run as the same, "
		    "user= and group= change nothing", (long)geteuid());
}

/* Finds errors of the configuration, the limits and the post office before
 * anything is changed, and while there is a terminal to report them.  Modules
 * start in the order of their layers, the lowest first. */
static void
set_up(void)
{
	struct config *c;
	long descriptors;
	int code;

	c = cf_read_file(me.config, say_plainly);
	if (c == NULL)
		die(errno == EAGAIN ? X_TEMPFAIL : X_CONFIG,
		    "%s: has errors, nothing is started", me.config);
	if (mailname_is_empty(opt.mailshare))
		die(X_CONFIG, "%s/mailname is empty: write the full name of "
		    "this host in mail to it, such as box.example.org",
		    opt.mailshare);
	log_masks = !c->logaddresses;
	descriptors = get_descriptors();
	opt.agents = descriptors <= FDS_KEPT + CMD_FDS ? 1 :
	    (descriptors - FDS_KEPT) / CMD_FDS;
	clock_read();
	rnd_seed(now.wall ^ (unsigned long)getpid() << 8);
	if ((code = spool_setup(0)) != 0)
		exit(code);
	write_pid_file();
	if ((long)now.wall < SANE_WALL)
		count_start();
	catch_signals();
	if (msg_open_statlog() < 0)
		die(X_CANTCREAT, "%s: %s", opt.statlog, fd_own_why());
	if (held_read_file() < 0)
		exit(X_OSERR);
	close_terminal(c);
	use(c);
	q.hold = me.sync;
	log_limits(descriptors);
}

int
main(int argc, char **argv)
{
	int c;

#ifdef SIGXFSZ
	/* a write beyond the file size limit returns an error */
	signal(SIGXFSZ, SIG_IGN);
#endif
	if (argc == 2 && strcmp(argv[1], "--help") == 0) {
		help();
		return 0;
	}
	me.daemon = 1;
	me.self = argv[0];
	opt.agentfiles = 32;
	opt.forkrate = 30;
	umask(022);
	tidy_descriptors();
	while ((c = getopt(argc, argv,
	    "dFHiQSvVWnf:E:L:l:M:N:P:R:q:p:Z:")) != -1) {
		take_option(c, optarg);
		me.others |= strchr("fnPZ", c) == NULL;
	}
	if (optind < argc - 1 || (optind < argc && !me.check))
		usage();
	me.daemon |= me.forced;
	find_locations();
	if (me.check)
		become_checker(argv[optind]);
	if (me.daemon)
		detach();
	if (!me.late)
		be_verbose();
	set_up();
	say_ready();
	loop();
	dest_save_file();
	status_close();
	unlink(pid_path);
	spool_listen(NULL);
	log_info("core peak-msgs=%u peak-rcpts=%u evicted=%lu",
	    q.peak_messages, q.peak_rcpts, q.evicted);
	log_info("exit code=0 msgs-in=%lu msgs-out=%lu rcpts-in=%lu "
	    "rcpts-out=%lu", q.messages.n + q.msgs_out, q.msgs_out, q.rcpts_in,
	    q.rcpts_out);
	log_flush();
	return 0;
}
