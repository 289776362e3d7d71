/*
 * evil.c - an agent whose talker is not to be trusted: see ta/halves.c.
 *
 *	evil [-c] [-x code] [-k file] bytes
 *					for each job the talker says these, with
 *					\ooo as printf has it; then it waits;
 *					-c: and closes its pipes; -x: and ends;
 *					-k: the keeper has this file of dead
 *					hosts, as that of smtp
 *	evil -r seed			... such bytes by chance
 *
 * The channel is smtp.
 */
#include "../ta/halves.h"
#include "../ta/dead.h"

static struct {
	const char *bytes;
	int	close, exit;	/* -1: it does not */
	long	seed;		/* -1: none */
	const char *dead;	/* file of -k, NULL: none */
} opt = { "", 0, -1, -1, NULL };

static long jobs;		/* the keeper's, as it was when we began */

static void
say_bytes(const char *s)
{
	char c;
	int i;

	for (; *s != '\0'; s++) {
		c = *s;
		if (c == '\\')
			for (c = 0, i = 0; i < 3 && s[1] >= '0' &&
			    s[1] <= '7'; i++)
				c = (char)(c * 8 + *++s - '0');
		fd_write(1, &c, 1);
	}
}

/* What could be said, spoiled at one to three places. */
static void
say_by_chance(void)
{
	static const char *const good[] = {
		"V0:75:5:4.3.05:later-:-:-:V1:75:5:4.2.12:no-:-:-:E",
		"A.M0:++++++V0:69:5:5.1.12:no-:10:smtp; 550 3:dns",
		"M1:-M0:-.L12:= 1234567890V1:0:-:2:ok7:relayed-:-:E",
		"....V0:100:5:4.4.14:gone-:-:-:V1:100:5:4.4.14:gone-:-:-:E"
	};
	char s[200];
	int more;
	size_t n;

	rnd_seed((unsigned long)(opt.seed + jobs));
	strcpy(s, good[rnd(4)]);
	n = strlen(s);
	for (more = (int)rnd(3); more >= 0; more--)
		if (rnd(2) == 0)
			s[rnd(n)] = (char)rnd(256);
		else
			s[rnd(n)] = "0123456789:-+.VEMLA"[rnd(19)];
	fd_write(1, s, n);
}

static void
work(struct lib_job *job)
{
	(void)job;
	if (opt.seed >= 0)
		say_by_chance();
	else
		say_bytes(opt.bytes);
	if (opt.close) {
		close(0);
		close(1);
	}
	if (opt.exit >= 0)
		_exit(opt.exit);
	/* by chance the keeper may wait for more than was said */
	if (opt.seed >= 0)
		_exit(0);
	for (;;)
		pause();
}

static void
handle_line(const char *s, size_t n)
{
	char line[200];

	text_fmt(line, sizeof(line), "%.*s", (int)n, s);
	dead_update_file(opt.dead, line);
}

static void
end(void)
{
}

static void
keep(struct lib_job *job)
{
	jobs++;
	halves_work(job);
}

int
main(int argc, char **argv)
{
	struct halves h;
	int c;

	while ((c = getopt(argc, argv, "ck:r:x:")) != -1)
		switch (c) {
		case 'c': opt.close = 1; break;
		case 'k': opt.dead = optarg; break;
		case 'r': opt.seed = atol(optarg); break;
		case 'x': opt.exit = atoi(optarg); break;
		default: return X_USAGE;
		}
	if (optind < argc)
		opt.bytes = argv[optind];
	memset(&h, 0, sizeof(h));
	h.work = work;
	h.end = end;
	h.log = opt.dead == NULL ? NULL : handle_line;
	h.silence = h.parting = 3;
	h.uid = getuid();
	h.gid = getgid();
	halves_use(&h);
	return lib_run("smtp", NULL, keep);
}
