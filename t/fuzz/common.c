/*
 * common.c - a place for the fuzzed programs to work in.
 */
#include "../../scheduler.h"
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

/* ---- a crowd ---------------------------------------------------------- */

#define CROWD_FIRST	5000	/* number of the first message */

static struct {
	int	n;
	unsigned long evicted;	/* before the first came */
} crowd;

void
fuzz_small_core(int small)
{
	q.config->active = small ? FUZZ_CORE : 0;
	q.config->evicted = small ? FUZZ_CORE / 2 : 0;
}

void
fuzz_crowd(int more)
{
	char name[40], file[60], control[200];

	if (crowd.n == 0)
		crowd.evicted = q.evicted;
	for (; more > 0; more--, crowd.n++) {
		text_fmt(name, sizeof(name), "%d-1", CROWD_FIRST + crowd.n);
		text_fmt(control, sizeof(control), "i %s\no 0\nl <x@test>\n"
		    "s local - sender 0\nr           crowd h%d.test u 0\n"
		    "m\n\n", name, crowd.n % 3);
		text_fmt(file, sizeof(file), "../queue/%s", name);
		fuzz_file(file, "body\n", 5);
		fuzz_file(name, control, strlen(control));
	}
	fuzz_arrived();
	in_load_files();
}

void
fuzz_disperse(void)
{
	struct message *m;
	char name[40];
	int i, left = 1, rounds = 0;

	for (; left > 0; rounds++) {
		fuzz_must(rounds < 2 * crowd.n / FUZZ_CORE + 4,
		    "what was forgotten comes back");
		for (i = left = 0; i < crowd.n; i++) {
			text_fmt(name, sizeof(name), "%d-1", CROWD_FIRST + i);
			m = msg_find_number(CROWD_FIRST + i, NULL);
			if (m != NULL && m->end < END_DROP) {
				unlink(name);
				q_discard_message(m, "enough");
			} else if (access(name, F_OK) == 0) {
				left++;
			}
		}
		q_sweep_ended();
		now.mono += 4000;	/* what waits is due */
		fuzz_arrived();
		in_load_files();
	}
	fuzz_must(q.evicted > crowd.evicted, "a message is forgotten");
	crowd.n = 0;
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
