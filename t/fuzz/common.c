/*
 * common.c - a place for the fuzzed programs to work in.
 */
#include "fuzz.h"
#include <dirent.h>
#include <signal.h>
#include <utime.h>

static char office[200];
static long owner;

static void
leave(void)
{
	char command[300];

	if ((long)getpid() != owner)
		return;
	text_fmt(command, sizeof(command), "rm -rf '%s'", office);
	if (chdir("/") < 0 || system(command) != 0)
		perror(office);
}

void
fuzz_must(int holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "does not hold: %s\n", what);
	leave();
	abort();
}

static void
on_signal(int sig)
{
	leave();
	signal(sig, SIG_DFL);
	raise(sig);
}

void
fuzz_office(void)
{
	static const char *const dirs[] = { "public", "router", "queue",
	    "postman", "transport" };
	const char *tmp = getenv("TMPDIR");
	size_t i;

	if (office[0] != '\0')
		return;
	owner = (long)getpid();
	text_fmt(office, sizeof(office), "%s/fuzz%ld", tmp != NULL ? tmp :
	    access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", owner);
	fuzz_must(mkdir(office, 0700) == 0 && chdir(office) == 0,
	    "a directory can be made");
	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		mkdir(dirs[i], 0700);
	fuzz_must(chdir("transport") == 0, "a post office can be made");
	atexit(leave);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	signal(SIGPIPE, SIG_IGN);
	log_open("/dev/null");
	clock_read();
}

void
fuzz_file(const char *path, const void *s, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	fuzz_must(fd >= 0 && fd_write(fd, s, n) == 0, "a file can be made");
	close(fd);
}

long
fuzz_read(const char *path, char *s, size_t size)
{
	int fd = open(path, O_RDONLY);
	long n = fd < 0 ? -1 : (long)read(fd, s, size);

	if (fd >= 0)
		close(fd);
	return n;
}

void
fuzz_empty(const char *dir)
{
	char path[400];
	struct dirent *e;
	DIR *d = opendir(dir);

	fuzz_must(d != NULL, "a directory is there");
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.' && text_fmt(path, sizeof(path),
		    "%s/%s", dir, e->d_name) == 0)
			unlink(path);
	closedir(d);
}

void
fuzz_arrived(void)
{
	static long stamp = 1000000000L;
	struct utimbuf t;

	t.actime = t.modtime = (time_t)++stamp;
	fuzz_must(utime(".", &t) == 0, "a directory gets a stamp");
	now.mono += 2;
}
