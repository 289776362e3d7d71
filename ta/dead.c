/*
 * dead.c - remembers addresses that did not answer.
 *
 *	1795347923 [192.0.2.1]:25
 *	1795347999 [IPv6:2001:db8::1]:25
 *
 * These are lines of a file of at most 100 lines: the time of the last failure
 * and the address.  For KEEP seconds (half an hour) such an address is tried
 * after all others of its host.  So mail goes to the second MX at once, and
 * does not wait until connecting to the first one times out.  After KEEP
 * seconds the address has its place back, and the next try decides.  An address
 * that answers when it is tried last is removed.
 *
 * The file is read when a process begins.  A change is a line; the process that
 * may write the file reads it again, changes that line, and replaces the file.
 * If another process does so at the same time, the change is lost, and is made
 * again later.
 */
#include "dead.h"
#include <ctype.h>

#define MOST	100	/* addresses */
#define KEEP	1800L	/* seconds */
#define ADDRESS	(NET_NAME + 10)

static struct dead {
	long	when;		/* wall */
	unsigned long turn;	/* that of the failure, if we saw it */
	char	address[ADDRESS];
} known[MOST];
static int n;
static unsigned long turn = 1;

static void
name(const struct net_addr *a, char *s)
{
	text_fmt(s, ADDRESS, "%s:%d", a->text, a->port);
}

static struct dead *
find(const char *address)
{
	int i;

	for (i = 0; i < n; i++)
		if (strcmp(known[i].address, address) == 0)
			return &known[i];
	return NULL;
}

/* The one that failed first makes room. */
static struct dead *
add(const char *address)
{
	struct dead *d = find(address), *oldest = known;
	int i;

	if (d != NULL)
		return d;
	for (i = 1; i < n; i++)
		if (known[i].when < oldest->when)
			oldest = &known[i];
	d = n < MOST ? &known[n++] : oldest;
	text_fmt(d->address, sizeof(d->address), "%s", address);
	d->turn = 0;
	return d;
}

/* Did it fail within span seconds?  The clock may have been set since. */
static int
is_recent(long when, long span)
{
	long age = (long)time(NULL) - when;

	return age >= 0 && age < span;
}

/* Has the text the form of an address with a port? */
static int
is_address(const char *s)
{
	const char *p;

	for (p = s; isalnum((unsigned char)*p) || (*p != '\0' &&
	    strchr("[]:._-", *p) != NULL); p++)
		;
	return p > s && p - s < ADDRESS && *p == '\0';
}

/* What was known stays so if the file still has it: with -o, this process reads
 * the file again between two addresses of one turn. */
void
dead_read(const char *path)
{
	char line[ADDRESS + 40], *s;
	const char *end;
	long when;
	int i, lines = 0, fd = fd_own(path, O_RDONLY, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	for (i = 0; i < n; i++)
		known[i].when = -1;
	if (f == NULL && fd >= 0)
		close(fd);
	while (f != NULL && lines++ < MOST &&
	    fgets(line, (int)sizeof(line), f) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		when = (long)num_of(line, &end);
		s = line + (end - line);
		if (*s++ == ' ' && is_address(s) && is_recent(when, KEEP))
			add(s)->when = when;
	}
	for (i = n; i-- > 0; )
		if (known[i].when < 0)
			known[i] = known[--n];
	if (f != NULL)
		fclose(f);
}

enum dead_state
dead_state(const struct net_addr *a)
{
	char address[ADDRESS];
	const struct dead *d;

	name(a, address);
	d = n == 0 ? NULL : find(address);
	if (d == NULL || !is_recent(d->when, KEEP))
		return DEAD_NOT;
	return d->turn == turn ? DEAD_NOW : DEAD_BEFORE;
}

void
dead_begin_turn(void)
{
	turn++;
}

int
dead_count(void)
{
	return n;
}

/* Changes the list in memory: 1 if that is a change, else 0. */
static int
change(const char *address, int answered)
{
	struct dead *d = find(address);

	if (answered) {
		if (d != NULL)
			*d = known[--n];
		return d != NULL;
	}
	if (d != NULL && is_recent(d->when, KEEP / 2)) {
		d->turn = turn;
		return 0;
	}
	d = add(address);
	d->when = (long)time(NULL);
	d->turn = turn;
	return 1;
}

int
dead_record(const struct net_addr *a, int answered, char line[NET_NAME + 20])
{
	char address[ADDRESS];

	name(a, address);
	text_fmt(line, NET_NAME + 20, "%c %s", answered ? '+' : '-', address);
	return change(address, answered);
}

static void
print(FILE *f)
{
	int i;

	for (i = 0; i < n; i++)
		fprintf(f, "%ld %s\n", known[i].when, known[i].address);
}

void
dead_write(const char *path, const char *line)
{
	static int warned;

	if (strchr("+-", line[0]) == NULL || line[1] != ' ' ||
	    !is_address(line + 2))
		return;
	dead_read(path);
	if (change(line + 2, line[0] == '+') && fd_replace(path, print) < 0 &&
	    errno != EAGAIN && !warned++)
		fprintf(stderr, "smtp: cannot write %s: %s\n", path,
		    strerror(errno));
}
