/*
 * cf.c - any bytes as a configuration.
 *
 * A file is taken, or there is a complaint, on one line, that names it.  What
 * was taken gives an address its values, within their bounds; a command can be
 * split, a wait is at least a second, and what holds can be shown.
 */
int	check_main(int, char **);
#define main check_main
#include "../../check.c"
#undef main
#include "fuzz.h"

static int complaints;
static FILE *null;

static void
complain(enum finding what, const char *s)
{
	complaints += what == CF_ERROR;
	fuzz_must(strncmp(s, "cf:", 3) == 0, "a complaint names the file");
	fuzz_must(strchr(s, '\n') == NULL, "a complaint is one line");
}

static const char *
location_of(const char *name)
{
	return strcmp(name, "MAILBIN") == 0 ? "/bin" : NULL;
}

static void
check(struct config *c, const char *channel, const char *host)
{
	struct conf *f = cf_match(c, channel, host);
	const struct setting *v = &f->v;
	static struct command cmd;
	unsigned short step;
	long wall = 1795220140L;
	unsigned tries;
	const char *why;

	fuzz_must(f == cf_match(c, channel, host), "one conf each");
	fuzz_must(v->interval > 0 && v->idlemax >= 0 && v->expiry >= 0 &&
	    v->timeout > 0, "spans are none below 0");
	fuzz_must(v->fb.limit >= 0 && v->fb.init >= 0 && v->overfeed >= 0 &&
	    v->fb.pos.x >= 0 && v->fb.neg.x >= 0, "nothing is below 0");
	fuzz_must(v->retries.n >= 0 && v->retries.n <= NUMBERS_MOST,
	    "so many retries at most");
	step = retry_index_at_age(v, 86400);
	for (tries = 1; tries < 5; tries++)
		fuzz_must(retry_next_wait(v, &step, tries, (time_t)wall) >= 1,
		    "a wait is a second or more");
	print_settings(c, channel, host, null);
	if (v->command == NULL)
		return;
	why = cmd_split(v->command, channel, host, location_of, &cmd);
	fuzz_must(why != NULL || (cmd.nargv > 0 && cmd.nargv <= CMD_WORDS &&
	    cmd.nenv < CMD_WORDS), "a command has words");
	fuzz_must(why != NULL || cmd.argv[cmd.nargv] == NULL, "... an end");
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct config *c;

	fuzz_office();
	if (null == NULL)
		null = fopen("/dev/null", "w");
	fuzz_file("cf", data, n);
	complaints = 0;
	c = cf_read_file("cf", complain);
	fuzz_must((c == NULL) == (complaints > 0), "taken or complained of");
	if (c == NULL)
		return 0;
	check(c, "smtp", "mail.example.org");
	check(c, "local", "-");
	check(c, "x", "a$b'\"\\ c");
	cf_free(c);
	return 0;
}
