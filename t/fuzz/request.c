/*
 * request.c - any bytes in the pipes of commands and queries: the first one
 * says in which.
 *
 * A command is answered, in one line that begins with ok or no, or is not one.
 * A query that waits has an open pipe.  For files of odd length core is small
 * and full of other mail, so commands have to reach forgotten mail, too.
 */
#include "../../status.c"
#include "fuzz.h"


static int answers;		/* our end of the asker's pipe */
static struct config *config;

static void
complain(enum finding what, const char *s)
{
	(void)what;
	(void)s;
}

static void
put(void)
{
	static const char control[] = "i 123-1\no 0\nl <x@test>\n"
	    "s local - sender 0\nr           test a.host u1 0\n"
	    "r           test b.host u2 0\nm\n\n";

	if (msg_find_number(123, NULL) != NULL || access("123-1", F_OK) == 0)
		return;
	fuzz_file("123-1", control, sizeof(control) - 1);
	fuzz_file("../queue/123-1", "body\n", 5);
	fuzz_arrived();
	in_load_files();
	fuzz_must(q.config->active > 0 || msg_find_number(123, NULL) != NULL,
	    "there is a message");
}

static void
begin(void)
{
	static const char cf[] =
	    "*/*\tinterval=1h expiry=1d queueonly command=\"x\"\n";
	static int begun;
	int i;

	if (begun)
		return;
	begun = 1;
	fuzz_office();
	opt.postoffice = "..";
	opt.rendezvous = "../ask";
	fuzz_file("../cf", cf, sizeof(cf) - 1);
	config = cf_read_file("../cf", complain);
	fuzz_must(config != NULL, "a configuration");
	q_use_config(config);
	config->mailqsock.number = -1;
	fuzz_must(held_read_file() == 0, "holds");
	status_listen();
	fuzz_must(queries.in >= 0 && commands.in >= 0, "two pipes");
	fuzz_must(mkfifo("../ask.1", 0600) == 0 &&
	    mkfifo("../public/.mailq.command.1", 0600) == 0, "pipes");
	answers = open("../public/.mailq.command.1", O_RDONLY | O_NONBLOCK);
	fuzz_must(answers >= 0 &&
	    open("../ask.1", O_RDONLY | O_NONBLOCK) >= 0, "an asker");
	for (i = 0; i <= DUMPS; i++)	/* none is to be made */
		st.dump_pid[i] = 0x3ffffff0;
}

static void
hear_answers(void)
{
	char s[65536], *p, *end;
	long n = (long)read(answers, s, sizeof(s) - 1);

	if (n <= 0)
		return;
	s[n] = '\0';
	fuzz_must(s[n - 1] == '\n', "an answer is whole");
	for (p = s; *p != '\0'; p = end + 1) {
		end = strchr(p, '\n');
		fuzz_must(strncmp(p, "ok ", 3) == 0 ||
		    strncmp(p, "no ", 3) == 0, "it begins with ok or no");
	}
}

static void
knock(struct inlet *d, const unsigned char *s, size_t n)
{
	size_t k, done;
	fd_set in;
	int max = 0;

	for (; n > 0; s += k, n -= k) {
		k = n < 4096 ? n : 4096;
		fuzz_must(write(d->writer, s, k) == (long)k, "it takes that");
		for (done = 0; done < k; done += 32) {
			FD_ZERO(&in);
			status_prep_wait(&in, &max);
			fuzz_must(FD_ISSET(d->in, &in), "it is read");
			FD_ZERO(&in);
			FD_SET(d->in, &in);
			status_do(&in);
			hear_answers();
			put();
		}
	}
}

/* Holds are on disk; they are not to add up. */
static void
release_all(void)
{
	char answer[1200];
	int p[2];

	fuzz_must(pipe(p) == 0, "a pipe");
	run_command("release", "all", 0, p[1]);
	fuzz_must(read(p[0], answer, sizeof(answer)) > 3 &&
	    (strncmp(answer, "ok ", 3) == 0 || strncmp(answer, "no ", 3) == 0),
	    "holds are released");
	close(p[0]);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct inlet *d;
	int small = n % 2 != 0;

	if (n < 1 || n > 20000)
		return 0;
	begin();
	fuzz_small_core(small);
	if (small)
		fuzz_crowd(2 * FUZZ_CORE);
	put();
	d = data[0] & 1 ? &queries : &commands;
	knock(d, data + 1, n - 1);
	knock(d, (const unsigned char *)"\n", 1);
	release_all();
	if (small)
		fuzz_disperse();
	now.mono += 100;
	q_run_timers();
	q_sweep_ended();
	fuzz_empty("../postman");
	fuzz_empty("../router");
	return 0;
}
