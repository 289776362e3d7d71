/*
 * agent.c - a transport agent for tests: does what is in its command
 * line, right or wrong.
 *
 *	agent [options] [status text ...]
 *
 * For each pending recipient of the job it appends a line "NAME OFFSET HOST
 * PID" to the file of -o, sets the tag and reports the status; without one,
 * ok3.  The tag is '+' for a status that begins with ok, '-' for error, else
 * none.  It is not built on ta/lib.c, lest both have the same mistakes.
 *
 *	-c CHANNEL	only recipients of this channel
 *	-h HOST		nothing: a place for $host
 *	-H HOST		only recipients with this host
 *	-o FILE		what was delivered, one write for a line
 *	-f FILE		until FILE exists, report "deferred not yet" instead
 *	-w FILE		before a job is reported, wait until FILE exists
 *	-s FILE		say on FILE what was read, "<" before each line
 *	-x FILE		print what is in FILE before each report
 *	-d N		die (exit 70) at the Nth job, after nothing
 *	-D N		die at the Nth job, after the tag, before the report
 *	-1		report the first recipient only
 *	-u		leave the tags alone
 *	-p		say that a job line may name recipients, and take those
 *	-g		never say #hungry
 *	-r		answer every job with #resync alone
 *	-i		do not end at an empty line, nor at SIGTERM
 *	-m N		take so many milliseconds for each recipient
 *	-t		end the lines of -o with the time in milliseconds
 *	-n STATUS	the notary fields name this status ("4.4.1 (gone)")
 *	-e		at the start, print the environment and so on to -s
 *
 * For torture, where agents, too, are killed at any moment:
 *
 *	-l		lock each recipient before anything, with '~' and our
 *			pid, and the file with fcntl; when its tag is set, add a line "+ NAME OFFSET"
 *	-A FILE		hold a lock on it for as long as we live
 *	-z SEED,N,N,N,N	chance: of 1000 recipients so many fail, are deferred,
 *			are deferred with their host; of 1000 agents so many
 *			die before they say a word.  Whether one fails is up
 *			to its name alone.
 *	-K MILLIS	by KILL, at a random moment before that is over, with
 *			a line "K PID"
 *
 * Exit: 0 at an empty line or the end of input.
 */
#include "../lib/util.h"
#include <ctype.h>
#include <signal.h>
#include <sys/resource.h>

extern char **environ;

static struct {
	const char *channel, *host, *out, *until, *gate, *log, *extra, *notary;
	int	die_before, die_after, first, untagged, mute, resync, inspect;
	int	deaf, timed, lock, portions;
	long	millis, kill;
	long	chance[5];	/* seed, then parts of 1000 */
	char	status[400];
} arg;

enum { SEED, FAIL, DEFER, DEFERALL, STILLBORN };

static int njobs;
static int locks = -1;		/* the control file, for its tags */

static int
exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

static void
append(const char *path, const char *s)
{
	int fd;

	if (path == NULL)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0666);
	if (fd < 0 || fd_write(fd, s, strlen(s)) < 0)
		_exit(X_IOERR);
	close(fd);
}

static void
print(const char *s)
{
	if (fd_write(1, s, strlen(s)) < 0)
		_exit(0);
}

static void
print_file(const char *path)
{
	char buf[4096];
	size_t n;
	FILE *f = fopen(path, "r");

	if (f == NULL)
		_exit(X_NOINPUT);
	n = fread(buf, 1, sizeof(buf) - 1, f);
	buf[n] = '\0';
	print(buf);
	fclose(f);
}

/* A short sleep; select is the only one that every system has. */
static void
nap(void)
{
	struct timeval tv;

	tv.tv_sec = 0;
	tv.tv_usec = 20000;
	select(0, NULL, NULL, NULL, &tv);
}

/* -m */
static void
work(void)
{
	struct timeval tv;

	tv.tv_sec = arg.millis / 1000;
	tv.tv_usec = arg.millis % 1000 * 1000;
	if (arg.millis > 0)
		select(0, NULL, NULL, NULL, &tv);
}

/* Groups, umask, limit of core dumps, signals that are blocked or ignored. */
static void
inspect_more(void)
{
	char line[1000];
	struct sigaction sa;
	struct rlimit rl;
	struct text t;
	gid_t group[64];
	sigset_t set;
	int i, n = getgroups(64, group);
	mode_t mask = umask(0);

	umask(mask);
	getrlimit(RLIMIT_CORE, &rl);
	sigemptyset(&set);
	sigprocmask(SIG_BLOCK, NULL, &set);
	text_init(&t, line, sizeof(line));
	text_add(&t, "umask %ld\ncore %ld\nothers", (long)mask,
	    (long)rl.rlim_cur);
	for (i = 0; i < n; i++)
		text_add(&t, " %ld", (long)group[i]);
	text_add(&t, "\nsignals");
	for (i = 1; i < 32; i++)
		if (sigismember(&set, i) == 1 || (sigaction(i, NULL, &sa) == 0
		    && sa.sa_handler == SIG_IGN))
			text_add(&t, " %d", i);
	text_add(&t, "\n");
	append(arg.log, line);
}

/* What the scheduler gave us: one NAME=value a line, then facts. */
static void
inspect(int argc, char **argv)
{
	char line[1200], cwd[1000];
	struct rlimit rl;
	char **e;
	int i;

	for (i = 0; i < argc; i++) {
		text_fmt(line, sizeof(line), "argv %s\n", argv[i]);
		append(arg.log, line);
	}
	for (e = environ; *e != NULL; e++) {
		text_fmt(line, sizeof(line), "env %s\n", *e);
		append(arg.log, line);
	}
	for (i = 0; i < 4096; i++)
		if (fcntl(i, F_GETFD) >= 0) {
			text_fmt(line, sizeof(line), "fd %d\n", i);
			append(arg.log, line);
		}
	getrlimit(RLIMIT_NOFILE, &rl);
	text_fmt(line, sizeof(line), "cwd %s\nuid %ld\ngid %ld\ngroups %d\n"
	    "nofile %ld\nnice %d\npgrp %s\n",
	    getcwd(cwd, sizeof(cwd)), (long)getuid(), (long)getgid(),
	    getgroups(0, NULL), (long)rl.rlim_cur,
	    getpriority(PRIO_PROCESS, 0),
	    getpgrp() == getpid() ? "own" : "of another");
	append(arg.log, line);
	inspect_more();
}

/* ---- torture --------------------------------------------------------- */

static void
on_alarm(int sig)
{
	char line[40];

	(void)sig;
	text_fmt(line, sizeof(line), "K %ld\n", (long)getpid());
	append(arg.out, line);
	kill(getpid(), SIGKILL);
}

static void
kill_later(void)
{
	struct itimerval it;
	long at = (long)rnd((unsigned long)arg.kill * 1000) + 1;

	memset(&it, 0, sizeof(it));
	it.it_value.tv_sec = at / 1000000L;
	it.it_value.tv_usec = at % 1000000L;
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &it, NULL);
}

/* A lock that ends when we do; the file stays open. */
static void
live(const char *path)
{
	struct flock fl;
	int fd = open(path, O_RDWR | O_CREAT, 0666);

	memset(&fl, 0, sizeof(fl));
	fl.l_type = F_RDLCK;
	fl.l_whence = SEEK_SET;
	if (fd < 0 || fcntl(fd, F_SETLK, &fl) < 0)
		_exit(X_IOERR);
}

static void
chances(const char *s)
{
	int i;

	for (i = 0; i < 5; i++) {
		arg.chance[i] = (long)num_of(s, &s);
		s += *s == ',';
	}
	rnd_seed((unsigned long)arg.chance[SEED] * 65599 +
	    (unsigned long)getpid());
	if ((long)rnd(1000) < arg.chance[STILLBORN])
		_exit(X_SOFTWARE);
}

/* What chance wants instead of a delivery, or NULL. */
static const char *
by_chance(const char *name, long off)
{
	const char *base = strrchr(name, '/');
	unsigned fate = hash_text(base == NULL ? name : base + 1,
	    (unsigned)(arg.chance[SEED] + off));
	long n;

	if ((long)((fate >> 8) % 1000) < arg.chance[FAIL])
		return "error it is not to be";
	n = (long)rnd(1000);
	if (n < arg.chance[DEFERALL])
		return "deferall nobody home";
	return n < arg.chance[DEFERALL] + arg.chance[DEFER] ?
	    "deferred another time" : NULL;
}

/* "~" and our pid: right aligned in six bytes, or 'a' and base 36. */
static void
lock_text(char *s)
{
	static const char digit[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	long pid = (long)getpid();
	int i;

	if (pid < 1000000L) {
		text_fmt(s, 8, "~%6ld", pid);
		return;
	}
	strcpy(s, "~a");
	for (i = 6; i > 1; i--, pid /= 36)
		s[i] = digit[pid % 36];
	s[7] = '\0';
}

/* A lock on a byte behind the control file, or its end. */
static int
lock_byte(long at, int type)
{
	struct flock fl;

	memset(&fl, 0, sizeof(fl));
	fl.l_type = (short)type;
	fl.l_whence = SEEK_SET;
	fl.l_start = (off_t)(64 * 1024 * 1024L + at);
	fl.l_len = 1;
	return fcntl(locks, F_SETLK, &fl);
}

/* Makes the recipient ours: 1, or 0 when it is no longer to be had. */
static int
take(long off)
{
	char mine[8], tag = '?';
	int i;

	for (i = 0; i < 100 && lock_byte(0, F_WRLCK) < 0; i++)
		nap();
	lseek(locks, off + 1, SEEK_SET);
	if (read(locks, &tag, 1) == 1 && tag == ' ') {
		lock_text(mine);
		lseek(locks, off + 1, SEEK_SET);
		if (fd_write(locks, mine, 7) < 0)
			tag = '?';
	}
	lock_byte(0, F_UNLCK);
	return tag == ' ';
}

static void
untake(long off, int tag)
{
	char field[8];

	text_fmt(field, sizeof(field), "%c      ", tag);
	lseek(locks, off + 1, SEEK_SET);
	if (fd_write(locks, field, 7) < 0)
		_exit(X_IOERR);
}

/* ---- one job --------------------------------------------------------- */

static void
set_tag(FILE *f, const char *name, long off, int tag)
{
	char line[200];

	if (arg.lock) {
		untake(off, tag);
		text_fmt(line, sizeof(line), "+ %s %ld\n", name, off);
		if (tag == '+')
			append(arg.out, line);
		return;
	}
	if (arg.untagged || tag == ' ')
		return;
	fseek(f, off + 1, SEEK_SET);
	putc(tag, f);
	fflush(f);
}

/* One recipient, whose line is at off. */
static void
deliver(FILE *f, const char *name, long off, const char *host)
{
	const char *base = strrchr(name, '/'), *status = arg.status;
	const char *chance = by_chance(name, off);
	char line[1000], notary[300];
	struct timeval tv;
	struct text t;
	int tag = ' ';

	work();
	if (arg.until != NULL && !exists(arg.until))
		status = "deferred not yet";
	if (chance != NULL)
		status = chance;
	if (strncmp(status, "ok", 2) == 0)
		tag = '+';
	else if (strncmp(status, "error", 5) == 0)
		tag = '-';
	if (tag == '+') {
		text_init(&t, line, sizeof(line));
		text_add(&t, "%s %ld %s %ld", name, off, host,
		    (long)getpid());
		if (arg.timed) {
			gettimeofday(&tv, NULL);
			text_add(&t, " %ld%03ld", (long)tv.tv_sec,
			    (long)tv.tv_usec / 1000);
		}
		text_add(&t, "\n");
		append(arg.out, line);
		if (arg.lock)
			work();		/* a time to be killed in */
	}
	set_tag(f, name, off, tag);
	if (njobs == arg.die_after)
		_exit(X_SOFTWARE);
	text_fmt(notary, sizeof(notary), "user\1delayed\1%s\1x-local; 450\1",
	    arg.notary != NULL ? arg.notary : "");
	text_fmt(line, sizeof(line), "%lu/%ld\t%s\t%s\n",
	    num_of(base == NULL ? name : base + 1, NULL), off,
	    arg.notary != NULL ? notary : "", status);
	print(line);
}

static int
same(const char *a, const char *b)
{
	for (; *a != '\0' && tolower((unsigned char)*a) ==
	    tolower((unsigned char)*b); a++)
		b++;
	return *a == *b;
}

/* Channel and host of the recipient line: 0 or -1. */
static int
parse(char *line, char **channel, char **host)
{
	char *p = line + 2;

	if (*p == ' ' || (*p >= '0' && *p <= '9'))
		p += 6;
	if (*p == ' ' || (*p >= '0' && *p <= '9'))
		p += 4;
	*channel = strtok(p, " ");
	*host = *channel == NULL ? NULL : strtok(NULL, " ");
	return *host == NULL ? -1 : 0;
}

/* Is the offset in a list such as "88,140"? */
static int
listed(const char *list, long off)
{
	char word[40], all[4100];

	text_fmt(word, sizeof(word), ",%ld,", off);
	text_fmt(all, sizeof(all), ",%s,", list);
	return strstr(all, word) != NULL;
}

static void
job(char *name)
{
	const char *host = arg.host, *list = NULL;
	char line[4096], *tab = strchr(name, '\t'), *c, *h;
	long off = 0, next;
	int n = 0;
	FILE *f;

	if (tab != NULL) {
		*tab = '\0';
		host = tab + 1;
		if (arg.portions && (tab = strchr(host, '\t')) != NULL) {
			*tab = '\0';
			list = tab + 1;
		}
	}
	f = fopen(name, "r+");
	locks = arg.lock ? open(name, O_RDWR) : -1;
	if (locks >= 0)
		lock_byte((long)getpid(), F_WRLCK);
	if (++njobs == arg.die_before)
		_exit(X_SOFTWARE);
	while (arg.gate != NULL && !exists(arg.gate))
		nap();
	for (; f != NULL && !arg.resync && fgets(line, sizeof(line), f) !=
	    NULL; off = next) {
		next = ftell(f);
		if (line[0] != 'r' || line[1] != ' ' ||
		    parse(line, &c, &h) < 0 ||
		    (arg.channel != NULL && strcmp(c, arg.channel) != 0) ||
		    (host != NULL && !same(h, host)) ||
		    (list != NULL && !listed(list, off)) ||
		    (arg.lock && !take(off)))
			continue;
		if (arg.extra != NULL)
			print_file(arg.extra);
		if (n++ == 0 || !arg.first)
			deliver(f, name, off, h);
		fseek(f, next, SEEK_SET);
	}
	if (f != NULL)
		fclose(f);
	if (locks >= 0)
		close(locks);
	if (n == 0) {
		print("#resync ");
		print(name);
		print("\n");
	}
}

static void
options(int argc, char **argv)
{
	struct text t;
	int c;

	while ((c = getopt(argc, argv,
	    "c:h:H:o:f:w:s:x:d:D:m:n:A:z:K:1ugpreitl")) != -1)
		switch (c) {
		case 'c': arg.channel = optarg; break;
		case 'h': break;
		case 'H': arg.host = optarg; break;
		case 'm': arg.millis = atol(optarg); break;
		case 't': arg.timed = 1; break;
		case 'o': arg.out = optarg; break;
		case 'f': arg.until = optarg; break;
		case 'w': arg.gate = optarg; break;
		case 's': arg.log = optarg; break;
		case 'x': arg.extra = optarg; break;
		case 'd': arg.die_before = atoi(optarg); break;
		case 'D': arg.die_after = atoi(optarg); break;
		case 'n': arg.notary = optarg; break;
		case 'A': live(optarg); break;
		case 'z': chances(optarg); break;
		case 'K': arg.kill = atol(optarg); break;
		case 'l': arg.lock = 1; break;
		case '1': arg.first = 1; break;
		case 'u': arg.untagged = 1; break;
		case 'g': arg.mute = 1; break;
		case 'p': arg.portions = 1; break;
		case 'r': arg.resync = 1; break;
		case 'e': arg.inspect = 1; break;
		case 'i': arg.deaf = 1; break;
		default: exit(X_USAGE);
		}
	text_init(&t, arg.status, sizeof(arg.status));
	for (c = optind; c < argc; c++)
		text_add(&t, "%s%s", c > optind ? " " : "", argv[c]);
	if (t.len == 0)
		text_add(&t, "ok3");
}

int
main(int argc, char **argv)
{
	char line[4096], note[4200];

	options(argc, argv);
	if (arg.inspect)
		inspect(argc, argv);
	if (arg.deaf)
		signal(SIGTERM, SIG_IGN);
	if (arg.kill > 0)
		kill_later();
	if (!arg.mute)
		print(arg.portions ? "#hungry offsets\n" : "#hungry\n");
	while (fgets(line, sizeof(line), stdin) != NULL) {
		text_fmt(note, sizeof(note), "<%s", line);
		append(arg.log, note);
		line[strcspn(line, "\n")] = '\0';
		if (line[0] == '\0')
			break;
		if (strcmp(line, "#idle") != 0)
			job(line);
		print("#hungry\n");
	}
	while (arg.deaf)
		nap();
	return 0;
}
