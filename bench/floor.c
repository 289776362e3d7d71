/*
 * floor.c - what the work costs at least, and how costs are taken.
 *
 *	floor [-r | -s] POSTOFFICE [AGENT [ARGUMENT ...]]
 *	floor -w POSTOFFICE PID
 *	floor -p PID
 *
 * The first does what no scheduler can do without, in one straight loop: it
 * reads the directory transport/, reads each control file once, gives it to
 * the one agent as a job, waits for the report, and removes two files.  It
 * keeps nothing, checks nothing and looks for nothing but the host of the first
 * recipient.  With -r it only opens, reads and closes the files; with -s it
 * also looks at each after it was opened, and at its message file, as whoever
 * wants to know what it is, whose, and how old the message is has to.
 *
 * The second waits until transport/ is empty while another process works on
 * it; the third does not wait.  All print the microseconds of processor time
 * that the process at work has taken, and those that went by: for -w, since
 * that began.
 *
 * A process's time is what Linux says in schedstat, in nanoseconds; where that
 * is missing, in ticks; elsewhere our own by times(), and nothing for others.
 */
#include "../lib/util.h"
#include <dirent.h>
#include <sys/socket.h>
#include <sys/times.h>

static int talk;		/* the agent */

static double
wall(void)
{
	struct timeval tv;

	gettimeofday(&tv, NULL);
	return (double)tv.tv_sec + (double)tv.tv_usec / 1e6;
}

/* Field number n, from 1, of /proc/DIR/NAME, as a number; -1: none. */
static double
field(const char *dir, const char *name, int n)
{
	char path[64], line[2000], *p = line;
	FILE *f;
	int ok;

	text_fmt(path, sizeof(path), "/proc/%s/%s", dir, name);
	f = fopen(path, "r");
	if (f == NULL)
		return -1;
	ok = fgets(line, sizeof(line), f) != NULL;
	fclose(f);
	if (!ok)
		return -1;
	while (--n > 0 && p != NULL)
		p = (p = strchr(p, ' ')) == NULL ? NULL : p + 1;
	return p == NULL ? -1 : atof(p);
}

/* Seconds of processor time. */
static double
cpu(const char *pid)
{
	double ticks = (double)sysconf(_SC_CLK_TCK), ns;
	struct tms t;

	ns = field(pid, "schedstat", 1);
	if (ns > 0)
		return ns / 1e9;
	ns = field(pid, "stat", 14);
	if (ns >= 0)
		return (ns + field(pid, "stat", 15)) / ticks;
	if (strcmp(pid, "self") != 0)
		return 0;
	times(&t);
	return (double)(t.tms_utime + t.tms_stime) / ticks;
}

static double
since_start(const char *pid)
{
	double up = field(".", "uptime", 1), began = field(pid, "stat", 22);

	return up - began / (double)sysconf(_SC_CLK_TCK);
}

static void
must(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

/* ---- the loop -------------------------------------------------------- */

static void
start(char **argv)
{
	int fd[2];
	long pid;

	must(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0, "socketpair");
	pid = (long)fork();
	must(pid < 0, "fork");
	if (pid == 0) {
		dup2(fd[1], 0);
		dup2(fd[1], 1);
		close(fd[0]);
		close(fd[1]);
		execv(argv[0], argv);
		perror(argv[0]);
		_exit(1);
	}
	close(fd[1]);
	talk = fd[0];
}

/* Reads what the agent says, up to #hungry. */
static void
until_hungry(void)
{
	char said[8192];
	long n, have = 0;

	do {
		n = (long)read(talk, said + have, sizeof(said) - (size_t)have);
		must(n <= 0, "agent");
		have += n;
	} while (have < 8 || memcmp(said + have - 8, "#hungry\n", 8) != 0);
}

static long
read_file(const char *name, char *buf, size_t size, int look)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	long n = -1;

	if (fd >= 0) {
		must(look && fstat(fd, &st) < 0, name);
		n = (long)read(fd, buf, size - 1);
		close(fd);
	}
	must(n < 0, name);
	buf[n] = '\0';
	return n;
}

static void
look_at_message(const char *name)
{
	char path[100];
	struct stat st;

	text_fmt(path, sizeof(path), "../queue/%s", name);
	must(lstat(path, &st) < 0, path);
}

static void
deliver(const char *name, const char *file)
{
	char line[400], path[100];
	const char *host = strstr(file, "\nr ");
	struct text t;

	must(host == NULL, name);
	host += 13;
	host += strcspn(host, " ") + 1;
	text_init(&t, line, sizeof(line));
	text_add(&t, "%s\t%.*s\n", name, (int)strcspn(host, " "), host);
	fd_write(talk, line, t.len);
	until_hungry();
	text_fmt(path, sizeof(path), "../queue/%s", name);
	must(unlink(path) < 0, path);
	must(unlink(name) < 0, name);
}

static void
work(int mode)
{
	static char file[65536];
	struct dirent *e;
	DIR *d = opendir(".");

	must(d == NULL, "opendir");
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		read_file(e->d_name, file, sizeof(file), mode == 's');
		if (mode == 's')
			look_at_message(e->d_name);
		if (mode == 0)
			deliver(e->d_name, file);
	}
	closedir(d);
}

/* ---- looking on ------------------------------------------------------ */

static int
is_empty(void)
{
	DIR *d = opendir(".");
	struct dirent *e;

	must(d == NULL, "opendir");
	while ((e = readdir(d)) != NULL && e->d_name[0] == '.')
		;
	closedir(d);
	return e == NULL;
}

static void
look_on(const char *pid)
{
	struct timeval tv;

	while (!is_empty()) {
		must(field(pid, "stat", 1) < 0, "the scheduler is gone");
		tv.tv_sec = 0;
		tv.tv_usec = 20000;
		select(0, NULL, NULL, NULL, &tv);
	}
}

static void
print(double used, double took)
{
	printf("%.0f %.0f\n", used * 1e6, took * 1e6);
}

int
main(int argc, char **argv)
{
	int c, mode = 0;
	double began;

	while ((c = getopt(argc, argv, "+rswp")) != -1)
		mode = c;
	argv += optind;
	argc -= optind;
	if (mode == '?' || argc < 1 + (mode == 'w' || mode == 0))
		return X_USAGE;
	if (mode == 'p') {
		print(cpu(argv[0]), since_start(argv[0]));
		return 0;
	}
	must(chdir(argv[0]) < 0 || chdir("transport") < 0, argv[0]);
	if (mode == 'w') {
		look_on(argv[1]);
		print(cpu(argv[1]), since_start(argv[1]));
		return 0;
	}
	began = wall();
	if (mode == 0) {
		start(argv + 1);
		until_hungry();
	}
	work(mode);
	print(cpu("self"), wall() - began);
	return 0;
}
