/*
 * cftest.c - asks the modules of the clause language directly.
 *
 *	cftest match pattern text	yes or no
 *	cftest expand pattern		its alternatives
 *	cftest command words channel host
 *					what would be run, a word a line
 *	cftest waits file address wall n
 *					n waits in a row, from this wall clock
 *	cftest step file address age	the place in the retry list
 *	cftest same file address address
 *					have both the same conf?
 *	cftest groups file address address
 *					the groups of both confs, the second
 *					made when no file can be opened
 */
#include "../scheduler.h"

static const char *
var(const char *name)
{
	return strcmp(name, "POSTOFFICE") == 0 ? "/a b/post" : NULL;
}

static void
complain(enum finding what, const char *line)
{
	(void)what;
	puts(line);
}

static struct conf *
conf_of(struct config *c, char *address)
{
	char *slash = strchr(address, '/');

	*slash = '\0';
	return cf_match(c, address, slash + 1);
}

static int
match(const char *pattern, const char *text)
{
	char **all, **p;
	int found = 0;

	pat_expand(pattern, &all);
	for (p = all; p != NULL && *p != NULL; p++)
		found |= pat_matches(*p, text);
	pat_free(all);
	puts(found ? "yes" : "no");
	return 0;
}

static int
expand(const char *pattern)
{
	char **all, **p;
	const char *why = pat_expand(pattern, &all);

	if (why != NULL)
		puts(why);
	for (p = all; p != NULL && *p != NULL; p++)
		puts(*p);
	pat_free(all);
	return 0;
}

static int
command(const char *s, const char *channel, const char *host)
{
	struct command c;
	int i;
	const char *why = cmd_split(s, "c", "h", NULL, &c);

	printf("bound %d\n", (int)c.bound);
	if (why == NULL)
		why = cmd_split(s, channel, host, var, &c);
	if (why != NULL) {
		printf("why %s\n", why);
		return 0;
	}
	for (i = 0; i < c.nenv; i++)
		printf("env %s\n", c.env[i]);
	for (i = 0; i < c.nargv; i++)
		printf("arg %s\n", c.argv[i]);
	return 0;
}

static void
waits(const struct setting *s, long wall, long n)
{
	unsigned short step = 0;
	unsigned tries;
	long wait;

	for (tries = 1; n-- > 0; tries++) {
		wait = retry_next_wait(s, &step, tries, (time_t)wall);
		wall += wait;
		printf("%ld ", wait);
	}
	printf("at %ld\n", wall);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	struct config *c;
	struct conf *f;

	rnd_seed(1);
	if (strcmp(what, "match") == 0 && argc == 4)
		return match(argv[2], argv[3]);
	if (strcmp(what, "expand") == 0 && argc == 3)
		return expand(argv[2]);
	if (strcmp(what, "command") == 0 && argc == 5)
		return command(argv[2], argv[3], argv[4]);
	if (argc < 5 || (c = cf_read_file(argv[2], complain)) == NULL)
		return X_USAGE;
	f = conf_of(c, argv[3]);
	if (strcmp(what, "waits") == 0 && argc == 6)
		waits(&f->v, atol(argv[4]), atol(argv[5]));
	else if (strcmp(what, "step") == 0)
		printf("%u\n",
		    (unsigned)retry_index_at_age(&f->v, atol(argv[4])));
	else if (strcmp(what, "same") == 0)
		puts(f == conf_of(c, argv[4]) ? "same" : "other");
	else if (strcmp(what, "groups") == 0) {
		while (dup(0) >= 0)
			;
		printf("%ld %ld\n", f->v.gid, conf_of(c, argv[4])->v.gid);
	}
	cf_free(c);
	return 0;
}
