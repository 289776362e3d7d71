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
 *			exit with 0; a second signal kills the agents
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
 *	q_sweep_ended	both files are removed
 *
 * A pass costs O(agents), whatever the length of the queue.  After SIGTERM
 * nothing is loaded or fed; the loop continues until all agents have ended.
 * After 15 seconds agents get SIGTERM, and a second later SIGKILL, which ends
 * the loop.
 *
 * This file parses only options and the lines of the file of -Z.
 */
#include "scheduler.h"
#include <signal.h>
#include <sys/wait.h>

#ifndef NO_RLIMIT
#include <sys/resource.h>
#endif

/* The PATH of agents, if the environment has none. */
#define PATH		"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:" \
			"/sbin:/bin"

#define FDS_RESERVED	30	/* descriptors that agents do not get */
/* The scheduler's own descriptors: 0 to 2, log, syslog, the pipe of signals
 * (2), lock file, pid file, statistics, the socket and port, both named pipes
 * (4); three directories and five files, which are soon closed; and those of
 * one agent, twice, as the agent's ends are open here, too, while it starts. */
#define FDS_LEAST	(16 + 8 + 2 * CMD_FDS)

#define END_TIME	15	/* seconds that agents have to finish */
#define TICK		0.01	/* seconds; the step of a coarse clock, added to
				 * a sleep so that the deadline has passed */

/* Values of the command line that only this file uses. */
static struct {
	int	daemon;		/* 1: in the background; the default */
	int	force_daemon;	/* -d: in the background in spite of -i, -v */
	int	verbose;	/* -v */
	int	verbose_later;	/* -W: -v begins when the mail is loaded */
	int	check;		/* -n */
	int	load_first;	/* -S: agents start when the mail is loaded */
	int	has_others;	/* 1: an option that -n ignores was given */
	unsigned nvars;		/* texts in opt.vars */
	const char *config;	/* path of the configuration */
	const char *logdir;	/* directory of the log, without -L */
	const char *logfile;	/* NULL: standard error */
	const char *self;	/* path of this program, or a name without a
				 * slash */
} me;

static char start_dir[PATH_MAX_];	/* the current directory at the start */

static void
print_error(const char *line)
{
	fputs(line, stderr);
	putc('\n', stderr);
}

static void
log_finding(enum finding what, const char *line)
{
	if (what == CF_ERROR)
		log_err("config %s", line);
	else
		log_warn("config %s", line);
}

/* Prints an error of the configuration on standard error.  Other findings are
 * logged, and are shown on standard error, too, until the log is open. */
static void
print_or_log_finding(enum finding what, const char *line)
{
	if (what == CF_ERROR)
		print_error(line);
	else
		log_finding(what, line);
}

/* Prints the reason on standard error, and exits.  Only for the start. */
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
	print_error(line);
	exit(code);
}

/* ---- options --------------------------------------------------------- */

static const char synopsis[] =
    "usage: scheduler [-divFHQSVW] [-f configfile] [-E newentsmax[,seconds]]\n"
    "\t[-L logfile] [-l statisticslog] [-N transpmaxfno] [-P postoffice]\n"
    "\t[-R maxforkfreq] [-q rendezvous] [-p channel/host] [-Z envfile]\n"
    "       scheduler -n [-f configfile] [-P postoffice] [-Z envfile]\n"
    "\t[channel/host]\n       scheduler --help";

static void
usage(void)
{
	die(X_USAGE, "%s", synopsis);
}

static void
print_help(void)
{
	puts(synopsis);
	puts("  -d              become a daemon, in spite of -i and -v\n"
	    "  -E n[,seconds]  end a scan after n new messages, or seconds\n"
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
	    "  -Q              do not list single messages for mailq\n"
	    "  -R number       agents that are started in a second (30)\n"
	    "  -S              load everything before the first agent\n"
	    "  -v              like -i, and log all lines to and from agents\n"
	    "  -V              print the version");
	puts("  -W              let -v begin when everything is loaded\n"
	    "  -Z file         read NAME=value lines, for directories and "
	    "${NAME}");
}

/* The name of a switch of the Makefile, and its value, which is the name again
 * if the switch is not set. */
#define VALUE(s)	#s
#define SWITCH(s)	{ #s, VALUE(s) }

/* Prints the version and the NO_ switches of this build. */
static void
print_version(void)
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

/* Returns the number from min to max of an option, or exits. */
static long
parse_number(int letter, const char *s, long min, long max)
{
	unsigned long n;

	if (num_upto(s, max, &n, NULL) < 0 || (long)n < min)
		die(X_USAGE, "-%c %s: a number from %ld to %ld is needed",
		    letter, s, min, max);
	return n;
}

/* Makes channel/host lower case, and splits it into two strings.  Returns the
 * host, "*" if it is missing. */
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
apply_option(int c, char *arg)
{
	char *comma;

	switch (c) {
	case 'd': me.force_daemon = 1; break;
	case 'i': me.daemon = 0; break;
	case 'v': me.daemon = 0; me.verbose = 1; break;
	case 'W': me.verbose_later = 1; break;
	case 'n': me.check = 1; break;
	case 'F': opt.freeze = 1; break;
	case 'H': opt.levels = opt.levels < 2 ? opt.levels + 1 : 2; break;
	case 'Q': opt.quiet = 1; break;
	case 'S': me.load_first = 1; break;
	case 'f': me.config = arg; break;
	case 'E':
		comma = strchr(arg, ',');
		if (comma != NULL) {
			opt.scansecs = parse_number(c, comma + 1, 1, 3600);
			*comma = '\0';
		}
		opt.scanmax = parse_number(c, arg, 1, 999999999L);
		break;
	case 'L': me.logfile = arg; break;
	case 'l': opt.statlog = arg; break;
	case 'M': log_warn("option -M %s has no effect", arg); break;
	case 'N':
		opt.agentfiles = parse_number(c, arg, 10, 65536L);
		break;
	case 'P': opt.postoffice = arg; break;
	case 'R': opt.forkrate = parse_number(c, arg, 1, 10000); break;
	case 'q': opt.rendezvous = arg; break;
	case 'p':
		opt.pick_channel = arg;
		opt.pick_host = split_address(arg);
		break;
	case 'Z': opt.envfile = arg; break;
	case 'V': print_version(); exit(0);
	default: usage();
	}
}

/* ---- locations ------------------------------------------------------- */

/* Returns a copy of the three texts, joined; between has one byte at most.
 * Only the start makes such texts, which are never freed. */
static char *
join_texts(const char *a, const char *between, const char *b)
{
	char *s = mem_get(strlen(a) + strlen(b) + 2);

	if (s == NULL)
		die(X_OSERR, "no memory");
	return strcat(strcat(strcpy(s, a), between), b);
}

/* Adds NAME=value to opt.vars, at the front or at the end.  Of equal names the
 * first counts. */
static void
add_var(char *text, int at_front)
{
	unsigned at = at_front ? 0 : me.nvars;

	opt.vars = realloc(opt.vars, (me.nvars + 2) * sizeof(*opt.vars));
	if (opt.vars == NULL)
		die(X_OSERR, "no memory");
	memmove(opt.vars + at + 1, opt.vars + at,
	    (me.nvars - at) * sizeof(text));
	opt.vars[at] = text;
	opt.vars[++me.nvars] = NULL;
}

/* Reads the file of -Z into opt.vars. */
static void
read_vars(const char *file)
{
	char line[OFFICE_LINE], *s;
	unsigned bad_line = 0;
	struct stat st;
	FILE *f = fopen(file, "r");

	if (f != NULL && fstat(fileno(f), &st) == 0 && S_ISDIR(st.st_mode)) {
		f = NULL;	/* a BSD can read the bytes of a directory */
		errno = EISDIR;
	}
	if (f == NULL)
		die(X_NOINPUT, "%s: %s", file, strerror(errno));
	while ((s = office_next_var(f, line, &bad_line)) != NULL)
		add_var(join_texts(s, "", ""), 0);
	if (bad_line > 0)
		die(X_CONFIG, "%s:%u: %.*s: NAME=value is needed", file,
		    bad_line, (int)strcspn(line, "\n"),
		    line + strspn(line, " \t"));
	if (ferror(f))
		die(X_NOINPUT, "%s: %s", file, strerror(errno));
	fclose(f);
}

/* Returns the absolute path; NULL for NULL. */
static const char *
make_absolute(const char *path)
{
	if (path == NULL || *path == '/')
		return path;
	return join_texts(start_dir, "/", path);
}

/* Returns the absolute path that the option, the environment or the file of -Z
 * gives, or the default. */
static const char *
find_location(const char *given, const char *name, const char *def)
{
	const char *s = given != NULL ? given : getenv(name);

	if (s == NULL || *s == '\0')
		s = cf_get_var(name);
	return make_absolute(s != NULL && *s != '\0' ? s : def);
}

/* Sets the location and the value of ${NAME}. */
static void
set_location(const char **given, const char *name, const char *def)
{
	*given = find_location(*given, name, def);
	add_var(join_texts(name, "=", *given), 1);
}

/* Returns the path of a program that belongs to the scheduler: in the directory
 * of the scheduler, if that is known and the program can be executed there, or
 * else in MAILBIN.  Valid until the next call. */
static char *
find_program(const char *name)
{
	static char path[PATH_MAX_];
	const char *slash = strrchr(me.self, '/');

	if (slash == NULL || text_fmt(path, sizeof(path), "%.*s/%s",
	    (int)(slash - me.self), me.self, name) < 0 ||
	    access(path, X_OK) < 0)
		text_fmt(path, sizeof(path), "%s/%s", opt.mailbin, name);
	return path;
}

/* Sets all locations.  The file of -Z is read first, as it may give the
 * others. */
static void
set_locations(void)
{
	const char *levels, *path = getenv("PATH");

	if (getcwd(start_dir, sizeof(start_dir)) == NULL)
		die(X_OSERR, "current directory: %s", strerror(errno));
	if (strchr(me.self, '/') != NULL)
		me.self = make_absolute(me.self);
	opt.envfile = make_absolute(opt.envfile != NULL ? opt.envfile :
	    getenv("ZCONFIG"));
	if (opt.envfile != NULL)
		read_vars(opt.envfile);
	levels = cf_get_var("SCHEDULERDIRHASH");
	if (opt.levels == 0 && levels != NULL &&
	    (strcmp(levels, "1") == 0 || strcmp(levels, "2") == 0))
		opt.levels = *levels - '0';
	set_location(&opt.postoffice, "POSTOFFICE", POSTOFFICE);
	set_location(&opt.mailbin, "MAILBIN", MAILBIN);
	set_location(&opt.mailshare, "MAILSHARE", MAILSHARE);
	set_location(&me.logdir, "LOGDIR", LOGDIR);
	opt.rendezvous = find_location(opt.rendezvous, "RENDEZVOUS", NULL);
	if (opt.envfile != NULL)	/* for agents that -n runs */
		add_var(join_texts("ZCONFIG", "=", opt.envfile), 1);
	/* at the end: a PATH in the file of -Z counts */
	add_var(join_texts("PATH", "=", path != NULL ? path : PATH), 0);
	opt.statlog = make_absolute(opt.statlog);
	if (me.config == NULL)
		me.config = join_texts(opt.mailshare, "/", "scheduler.cf");
	else if (!me.check)	/* -n prints the path as written */
		me.config = make_absolute(me.config);
	if (me.logfile != NULL)
		me.logfile = make_absolute(me.logfile);
	else if (me.daemon)
		me.logfile = join_texts(me.logdir, "/", "scheduler");
}

/* ---- the configuration ----------------------------------------------- */

/* Executes scheduler-check (check.c), for -n, with the locations and the values
 * of the file of -Z. */
static void
exec_config_checker(char *address)
{
	static char name[] = "scheduler-check", empty[] = "";
	char *path = find_program(name);

	if (me.has_others)
		print_error("scheduler: -n checks the configuration; no "
		    "scheduler is started (ZMailer's -n left messages out of "
		    "DSNs; PARAMbouncesize 0 does that here)");
	/* the arguments, from the last to the first, go before the values */
	add_var(address != NULL ? split_address(address) : empty, 1);
	add_var(address != NULL ? address : empty, 1);
	add_var(join_texts(me.config, "", ""), 1);
	add_var(name, 1);
	execv(path, opt.vars);
	die(X_OSFILE, "%s: %s; without it nothing is checked", path,
	    strerror(errno));
}

/* ---- logs ------------------------------------------------------------ */

/* Opens the log, if it is a file: 0 or -1.  A new log with addresses gets the
 * mode 0640. */
static int
open_log_file(const struct config *c)
{
	mode_t mask = umask(c->logaddresses ? 027 : 022);
	int rc = me.logfile != NULL ? log_open(me.logfile) : 0;

	umask(mask);
	return rc;
}

#define SYSLOG_LEAST	60	/* seconds that a scheduler-syslog has to live
				 * to be restarted at once when it ends */

static struct {
	long	pid;		/* of scheduler-syslog; 0: it does not run */
	double	born;		/* mono; when scheduler-syslog was started */
} syslog_child;

/* Starts scheduler-syslog (syslog.c), which gets a copy of the log. */
static void
start_syslog_child(void)
{
#ifndef NO_SYSLOG
	static struct command c;
	static char ident[40];
	int ends[2];

	memset(&c, 0, sizeof(c));
	text_fmt(ident, sizeof(ident), "scheduler[%ld]", (long)getpid());
	c.argv[0] = find_program("scheduler-syslog");
	c.argv[1] = ident;
	c.uid = geteuid();
	c.gid = getegid();
	c.files = opt.agentfiles;
	cmd_default_env(&c, "TZ", getenv("TZ"));
	syslog_child.pid = cmd_start(&c, ends);
	if (syslog_child.pid < 0) {
		log_err("syslog %s; only the log file has the log",
		    strerror(errno));
		syslog_child.pid = 0;
		return;
	}
	syslog_child.born = now.mono;
	logs.copy = ends[1];
	if (ends[0] != ends[1])
		close(ends[0]);
#endif
}

/* Restarts scheduler-syslog, which has ended with this status of wait.  A
 * program that has lived for less than SYSLOG_LEAST perhaps cannot run, and is
 * restarted by the next reload. */
static void
reap_syslog(int status)
{
	const char *program = find_program("scheduler-syslog");

	syslog_child.pid = 0;
	close(logs.copy);
	logs.copy = -1;
	if (WIFSIGNALED(status))
		log_warn("syslog program=%s has ended, signal %d", program,
		    WTERMSIG(status));
	else
		log_warn("syslog program=%s has ended, exit code %d%s", program,
		    WEXITSTATUS(status), WEXITSTATUS(status) == X_OSFILE ?
		    " (no scheduler-syslog)" : "");
	if (now.mono - syslog_child.born >= SYSLOG_LEAST)
		start_syslog_child();
}

#define LOGS_EVERY	25	/* seconds between checks for renamed logs */
static double logs_due;		/* mono; the next check */

static int log_error, statlog_error;	/* errno of the last try, or 0 */

/* Logs the error of an open, which has returned rc.  *last is the errno of the
 * open before that one, or 0; the same error is not logged again.  Sets *last
 * for the next call. */
static void
log_new_error(int rc, int *last, const char *file)
{
	int err = rc < 0 ? errno : 0;

	if (err != 0 && err != *last)
		log_err("%s file=%s %s; the old one stays in use",
		    last == &log_error ? "log" : "statlog", file,
		    fd_open_own_error());
	*last = err;
}

/* Opens the log and the statistics log anew if their files were renamed or
 * removed.  If an open fails, for example because the directory is missing, the
 * old file stays in use; the error is logged once. */
static void
reopen_logs(void)
{
	logs_due = now.mono + LOGS_EVERY;
	log_new_error(open_log_file(q.config), &log_error, me.logfile);
	log_new_error(msg_open_statlog(), &statlog_error, opt.statlog);
}

/* ---- reload ---------------------------------------------------------- */

/* Puts the configuration into force.  The order matters: rings and threads are
 * renewed before any module searches them. */
static void
use_config(struct config *c)
{
	logs.masks = !c->logaddresses;
	if (c->nodsn)
		log_err("agent %s/ta/dsn cannot be run; no sender is told of "
		    "failed mail, which stays queued", opt.mailbin);
	q_use_config(c);
	spool_listen(c->notifysock);
	status_listen();
	dest_exchange_files(1);
}

/* Opens the logs anew and reads the configuration again.  Errors that were
 * logged before are logged again. */
static void
reload(void)
{
	struct config *c;

	log_error = statlog_error = 0;
	reopen_logs();
	if (me.daemon && syslog_child.pid == 0)
		start_syslog_child();
	c = cf_read_file(me.config, log_finding);
	if (c == NULL) {
		log_err("reload file=%s has errors; the old configuration "
		    "stays in force", me.config);
		return;
	}
	use_config(c);
	log_info("reload file=%s done", me.config);
}

/* ---- the lock and the pid file ---------------------------------------- */

#define ENDING_BYTE	1	/* of the lock file; a scheduler that begins to
				 * end unlocks this byte */
#define WAIT_MOST	30	/* seconds to wait for a scheduler that ends */
#define WAIT_LEAST	2	/* seconds to wait for another scheduler, which
				 * may soon begin to end */

static char pid_path[PATH_MAX_];
static int lock_fd;	/* never closed, as a close would end the lock */

/* Returns the number of the process whose lock has just made fd_lock fail; 0 if
 * that process has ended meanwhile, or -1 if its number is not known here.
 * Exits if fd_lock failed for another reason than a lock of another process. */
static long
find_lock_owner_or_die(int fd)
{
	if (errno != EACCES && errno != EAGAIN)
		die(X_OSERR, "%s: no lock: %s", opt.postoffice,
		    strerror(errno));
	return fd_lock_at(fd, F_GETLK, F_WRLCK, 0);
}

static void
die_locked(long owner)
{
	if (owner > 0)
		die(X_CANTCREAT, "%s: a scheduler is already running on this "
		    "post office, its process number is %ld", pid_path, owner);
	die(X_CANTCREAT, "%s: a scheduler is already running on this post "
	    "office", pid_path);
}

/* Locks the post office for this scheduler, or waits for another scheduler that
 * is ending.  Only the owner of the lock file can open it, so nobody else can
 * lock the file. */
static void
lock_office(void)
{
	int is_ending, is_logged = 0;
	long owner;

	text_fmt(pid_path, sizeof(pid_path), "%s/.pid.scheduler",
	    opt.postoffice);
	lock_fd = fd_open_own("../.lock.scheduler", O_RDWR | O_CREAT, 0600);
	if (lock_fd < 0)
		die(X_CANTCREAT, "%s/.lock.scheduler: %s", opt.postoffice,
		    fd_open_own_error());
	for (; fd_lock(lock_fd) < 0; clock_read()) {
		owner = find_lock_owner_or_die(lock_fd);
		is_ending = fd_lock_at(lock_fd, F_GETLK, F_WRLCK,
		    ENDING_BYTE) == 0;
		if (now.mono > (is_ending ? WAIT_MOST : WAIT_LEAST))
			die_locked(owner);
		if (is_ending && owner > 0 && !is_logged++)
			log_warn("waiting pid=%ld is ending; this scheduler "
			    "waits %d seconds at most", owner, WAIT_MOST);
		sleep(1);
	}
}

/* Writes the pid file, which all may read.  A scheduler of version 0.1 has no
 * other lock file: it locks the pid file, which then only its owner can read.
 * So that it does not run together with this scheduler, the pid file is locked
 * here, too, and stays open, as a close would end the lock.  If the lock fails
 * and only the owner can read the file, a scheduler of version 0.1 runs.  If
 * others can read the file, any user may have locked it, and the failure is
 * ignored. */
static void
write_pid_file(void)
{
	struct stat st;
	char line[32];
	struct text t;
	int fd = fd_open_own(pid_path, O_RDWR | O_CREAT, 0644);

	if (fd < 0 || fstat(fd, &st) < 0)
		die(X_CANTCREAT, "%s: %s", pid_path, fd_open_own_error());
	if (fd_lock(fd) < 0 && (st.st_mode & 044) == 0)
		die_locked(find_lock_owner_or_die(fd));
	fchmod(fd, 0644);
	text_init(&t, line, sizeof(line));
	text_add(&t, "%ld\n", (long)getpid());
	while ((off_t)t.len < st.st_size && !t.cut)
		text_add(&t, "\n");	/* overwrites a longer number */
	/* with a full disk the scheduler runs, as the lock needs no space */
	if (fd_write(fd, line, t.len) < 0)
		log_warn("pid-file file=%s %s", pid_path, strerror(errno));
}

/* Adds 1 to the count of starts on disk.  Without a clock, times repeat after a
 * start, and spool ids contain this number (lib/office.c). */
static void
increment_start_count(void)
{
	char line[24] = "";
	int fd = fd_open_own("../" STARTS_FILE, O_RDWR | O_CREAT, 0644);
	long n = fd < 0 ? -1 : read(fd, line, sizeof(line) - 1);

	text_fmt(line, sizeof(line), "%lu\n", num_of(line, NULL) + 1);
	if (n < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    fd_write(fd, line, strlen(line)) < 0)
		log_err("spool file=%s %s", STARTS_FILE, fd_open_own_error());
	if (fd >= 0)
		close(fd);
}

/* ---- signals --------------------------------------------------------- */

static volatile sig_atomic_t got_reload, got_child;	/* 0, 1 */
static volatile sig_atomic_t got_term;	/* number of signals to end */
static int wake_pipe[2];

/* Notes the signal, and writes a byte into the pipe.  The byte makes
 * select return, even if the signal comes just before the call. */
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
		errno = 0;	/* no error: a full pipe ends select, too */
	errno = saved;
}

static void
catch_signals(void)
{
	static const int caught[] = { SIGCHLD, SIGHUP, SIGUSR1,
	    SIGTERM, SIGINT, SIGQUIT };
	struct sigaction sa;
	size_t i;

	/* neither a full nor an empty pipe may block the scheduler */
	if (pipe(wake_pipe) < 0 || fd_nonblock(wake_pipe[0]) < 0 ||
	    fd_nonblock(wake_pipe[1]) < 0)
		die(X_OSERR, "pipe: %s", strerror(errno));
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_signal;
	for (i = 0; i < sizeof(caught) / sizeof(caught[0]); i++)
		sigaction(caught[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);	/* write returns an error */
	signal(SIGALRM, SIG_IGN);	/* a dump sets SIG_DFL again */
	signal(SIGUSR2, SIG_IGN);	/* version 0.1 made a dump */
	/* the process that started us may have blocked signals */
	sigprocmask(SIG_SETMASK, &sa.sa_mask, NULL);
}

/* ---- becoming a daemon ----------------------------------------------- */

static int ready_pipe = -1;	/* to the parent, which waits; -1: no parent */

/* Opens the descriptors 0 to 2, if they are closed, and closes all others. */
static void
reset_descriptors(void)
{
	long fd, n = sysconf(_SC_OPEN_MAX);

	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= 2);
	/* a descriptor may be above a lowered limit */
	for (fd = 3; fd < 4096 || (fd < n && fd < 65536L); fd++)
		close(fd);
}

/* Forks, and returns in the child.  The parent waits: it exits with 0 when the
 * child is ready and has written a byte to the pipe, or else with the child's
 * exit code. */
static void
fork_daemon(void)
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
		ready_pipe = p[1];
		fd_cloexec(ready_pipe);
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

/* Opens the log.  A daemon starts scheduler-syslog first, and loses its
 * terminal in the end. */
static void
begin_log(const struct config *c)
{
	if (me.daemon)		/* before the first line of the log */
		start_syslog_child();
	if (open_log_file(c) < 0)
		die(X_CANTCREAT, "%s: %s; -L names another log file",
		    me.logfile, fd_open_own_error());
	if (me.daemon && stdio_to_null() < 0)
		die(X_OSERR, "/dev/null: %s", strerror(errno));
}

/* ---- the loop -------------------------------------------------------- */

static struct {
	int	woken;		/* 1: wake_pipe may have to be read */
	int	ending;		/* 1: a signal has ended the work */
	double	deadline;	/* mono; when agents get the next signal; set
				 * while ending is 1 */
	int	kills;		/* signals sent to agents; 1: TERM, 2: TERM and
				 * KILL */
	double	dest_wait;	/* seconds until dest_exchange_files has
				 * work */
} state;

/* Acts on the signals that have come.  After a signal to end, nothing is fed,
 * and agents have END_TIME seconds to finish their jobs. */
static void
handle_signals(void)
{
	char junk[64];
	int status;
	long pid;

	while (state.woken && read(wake_pipe[0], junk, sizeof(junk)) > 0)
		;
	if (got_child) {
		got_child = 0;
		while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
			if (pid == syslog_child.pid)
				reap_syslog(status);
			else if (!ta_reap(pid, status))
				status_reap(pid, status);
	}
	if (got_reload) {
		got_reload = 0;
		if (!state.ending)
			reload();
	}
	if (got_term && !state.ending) {
		state.ending = q.no_feeding = 1;
		fd_lock_at(lock_fd, F_SETLK, F_UNLCK, ENDING_BYTE);
		state.deadline = now.mono + END_TIME;
		log_info("ending agents=%u msgs=%u", q.nagents, q.messages.n);
		ta_end_all(0);
	}
}

static double
sooner(double a, double b)
{
	return a < b ? a : b;
}

/* Sleeps until a descriptor is ready or it is time for the work of a module; if
 * has_work is 1, does not sleep.  Then reads the clocks, and lets modules use
 * the descriptors.  While the scheduler ends, only agents, queries and the
 * deadline count. */
static void
wait_and_do_io(int has_work)
{
	fd_set in, out;
	struct timeval tv;
	double wait;
	int max = 0, n, err;

	FD_ZERO(&in);
	FD_ZERO(&out);
	fd_watch(wake_pipe[0], &in, &max);
	wait = sooner(ta_prep_wait(&in, &out, &max),
	    status_prep_wait(&in, &max));
	if (state.ending) {
		wait = sooner(wait, state.deadline - now.mono);
	} else {
		wait = sooner(wait, in_prep_wait(&in, &max));
		wait = sooner(wait, state.dest_wait);
		wait = sooner(wait, heap_wait_seconds(&q.due_messages));
		wait = sooner(wait, heap_wait_seconds(&q.due_threads));
	}
	wait = has_work || wait <= 0 ? 0 : wait + TICK;
	tv.tv_sec = (long)wait;
	tv.tv_usec = (long)((wait - tv.tv_sec) * 1e6);
	n = select(max + 1, &in, &out, NULL, &tv);
	err = errno;
	clock_read();
	if (n < 0 && err != EINTR)
		log_err("select %s", strerror(err));
	if (n <= 0) {		/* select has not changed the sets */
		FD_ZERO(&in);
		FD_ZERO(&out);
	}
	state.woken = n < 0 || FD_ISSET(wake_pipe[0], &in);
	ta_do(&in, &out);
	status_do(&in);
	spool_do(&in);
}

/* Sends SIGTERM to agents that are at work at the deadline, or at a second
 * signal; and SIGKILL a second later.  The next start finds by the tags what
 * they have done. */
static void
kill_late_agents(void)
{
	/* a second signal counts only before SIGTERM was sent */
	int is_due = now.mono >= state.deadline ||
	    (got_term > 1 && state.kills == 0);

	if (q.nagents == 0 || !is_due)
		return;
	if (state.kills++ == 0)
		log_warn("ending agents=%u are still at work and get SIGTERM",
		    q.nagents);
	ta_end_all(1);
	state.deadline = now.mono + 1;
}

static void
run_loop(void)
{
	int has_work = 1;

	for (;;) {
		wait_and_do_io(has_work);
		handle_signals();
		has_work = 0;
		if (state.ending) {
			kill_late_agents();
			if (q.nagents == 0 || state.kills == 2)
				break;
		} else {
			has_work = in_load_files();
			if (q.new_transport)
				reload();	/* all rings become old, and end
						 * their agents */
			q.new_transport = 0;
			if (q.start_loaded && me.verbose)
				logs.level = L_DEBUG;
			state.dest_wait = dest_exchange_files(0);
			if (now.mono >= logs_due)
				reopen_logs();
			q_run_timers();
		}
		ta_feed_rings();
		q_sweep_ended();
		log_flush();
	}
	q_sweep_ended();
}

/* ---- main ------------------------------------------------------------ */

/* Raises the limit of descriptors as far as possible.  Returns the limit, or
 * exits if it is too low for one agent. */
static long
raise_descriptors(void)
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
	if (n < 0)
		n = 64;
	else if (n > FD_SETSIZE)
		n = FD_SETSIZE;
	if (n < FDS_LEAST)
		die(X_OSERR, "%ld files may be open at a time, and %d are "
		    "needed for the scheduler and one agent; raise the limit "
		    "(ulimit -n)", n, FDS_LEAST);
	return n;
}

/* Logs what the machine and the user of the scheduler allow. */
static void
log_limits(long descriptors)
{
	log_info("limits maxta=%ld descriptors=%ld agent=%d (descriptors that "
	    "each agent needs)", opt.agents, descriptors, CMD_FDS);
#ifdef NO_INITGROUPS
	if (geteuid() == 0)
		log_info("limits agents keep our supplementary groups: built "
		    "without setgroups");
#endif
	if (geteuid() != 0)
		log_info("user uid=%ld is not root: all agents run as this "
		    "user, and user= and group= have no effect",
		    (long)geteuid());
}

/* Checks configuration, limits and post office first, before any change, and
 * while a terminal shows the errors.  Then modules start, the lowest first. */
static void
set_up_daemon(void)
{
	struct config *c;
	long descriptors;
	int code;

	c = cf_read_file(me.config, print_or_log_finding);
	if (c == NULL)
		die(errno == EAGAIN ? X_TEMPFAIL : X_CONFIG,
		    "%s: has errors, nothing is started", me.config);
	if (mailname_find_source(opt.mailshare) == MAILNAME_EMPTY)
		die(X_CONFIG, "%s/mailname is empty: write the full name of "
		    "this host into it, such as box.example.org",
		    opt.mailshare);
	logs.masks = !c->logaddresses;
	descriptors = raise_descriptors();
	opt.agents = descriptors <= FDS_RESERVED + CMD_FDS ? 1 :
	    (descriptors - FDS_RESERVED) / CMD_FDS;
	clock_read();
	rnd_seed(now.wall ^ (unsigned long)getpid() << 8);
	if ((code = spool_setup(0)) != 0)
		exit(code);
	lock_office();
	catch_signals();	/* a reader of the pid file may send one */
	write_pid_file();
	if ((long)now.wall < SANE_WALL)
		increment_start_count();
	if (msg_open_statlog() < 0)
		die(X_CANTCREAT, "%s: %s", opt.statlog, fd_open_own_error());
	if (held_read_file() < 0)
		exit(X_OSERR);
	begin_log(c);
	use_config(c);
	q.no_feeding = me.load_first;
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
		print_help();
		return 0;
	}
	me.daemon = 1;
	me.self = argv[0];
	opt.agentfiles = 32;
	opt.forkrate = 30;
	umask(022);
	reset_descriptors();
	while ((c = getopt(argc, argv,
	    "dFHiQSvVWnf:E:L:l:M:N:P:R:q:p:Z:")) != -1) {
		apply_option(c, optarg);
		me.has_others |= strchr("fnPZ", c) == NULL;
	}
	if (optind < argc - 1 || (optind < argc && !me.check))
		usage();
	me.daemon |= me.force_daemon;
	set_locations();
	if (me.check)
		exec_config_checker(argv[optind]);
	if (me.daemon)
		fork_daemon();
	if (me.verbose && !me.verbose_later)
		logs.level = L_DEBUG;
	set_up_daemon();
	log_info("ready pid=%ld version=%s postoffice=%s", (long)getpid(),
	    VERSION, opt.postoffice);
	log_flush();
	if (ready_pipe >= 0) {		/* the parent exits */
		fd_write(ready_pipe, "", 1);
		close(ready_pipe);
	}
	run_loop();
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
