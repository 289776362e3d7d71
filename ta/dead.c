/*
 * dead.c - remembers addresses that did not answer.
 *
 *	1795347923 [192.0.2.1]:25
 *	1795347999 [IPv6:2001:db8::1]:25
 *
 * These are lines of a file of at most 100 lines: the time of the last failure
 * and the address.  For DEAD_TIME, half an hour, such an address is tried after
 * all others of its host.  So mail goes to the second MX at once, without the
 * time that connecting to the first one takes.  After DEAD_TIME the
 * address has its place back, and the next try decides.  An address that
 * answers is removed.
 *
 * The file is read when a process begins.  A change is passed, as a line of
 * text, to the process that may write the file.  This process reads the file
 * again, makes the change, and replaces the file.  If another process replaces
 * the file at the same time, the change is lost, and is made again later.
 */
#include "dead.h"
#include <ctype.h>

#define DEAD_MOST	100	/* addresses in the file */
#define DEAD_TIME	1800L	/* seconds */
#define ADDRESS		(NET_NAME + 10)	/* bytes of an address with its port */

/* list: the addresses, as in the file. */
static struct {
	int	has_warned;	/* the log says that the file cannot be written;
				 * a process says so once */
	int	n;		/* addresses in dead */
	struct dead {
		long	when;	/* wall; time of the failure */
		char	address[ADDRESS];
	} dead[DEAD_MOST];
} list;

static struct dead *
find_dead(const char *address)
{
	int i;

	for (i = 0; i < list.n; i++)
		if (strcmp(list.dead[i].address, address) == 0)
			return &list.dead[i];
	return NULL;
}

/* Returns the entry of the address.  A new entry may replace the oldest one. */
static struct dead *
ensure_dead(const char *address)
{
	struct dead *d = find_dead(address), *oldest = list.dead;
	int i;

	if (d != NULL)
		return d;
	for (i = 1; i < list.n; i++)
		if (list.dead[i].when < oldest->when)
			oldest = &list.dead[i];
	d = list.n < DEAD_MOST ? &list.dead[list.n++] : oldest;
	text_fmt(d->address, sizeof(d->address), "%s", address);
	return d;
}

/* Returns 1 if a failure at that time was within the last span seconds.  A time
 * in the future means that the clock was set back. */
static int
is_recent(long when, long span)
{
	long age = (long)time(NULL) - when;

	return age >= 0 && age < span;
}

/* Returns 1 if the text can be an address with a port. */
static int
is_address(const char *s)
{
	const char *p;

	for (p = s; isalnum((unsigned char)*p) || (*p != '\0' &&
	    strchr("[]:._-", *p) != NULL); p++)
		;
	return p > s && p - s < ADDRESS && *p == '\0';
}

void
dead_read(const char *path)
{
	char line[ADDRESS + 40], *s;
	const char *end;
	long when;
	int lines = 0, fd = fd_open_own(path, O_RDONLY, 0);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	list.n = 0;
	if (f == NULL && fd >= 0)
		close(fd);
	while (f != NULL && lines++ < DEAD_MOST &&
	    fgets(line, (int)sizeof(line), f) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		when = (long)num_of(line, &end);
		s = line + (end - line);
		if (*s++ == ' ' && is_address(s) && is_recent(when, DEAD_TIME))
			ensure_dead(s)->when = when;
	}
	if (f != NULL)
		fclose(f);
}

int
dead_is_listed(const struct net_addr *a)
{
	char address[ADDRESS];
	const struct dead *d;

	text_fmt(address, sizeof(address), "%s:%d", a->text, a->port);
	d = find_dead(address);
	return d != NULL && is_recent(d->when, DEAD_TIME);
}

/* Removes the address from the list if it has answered, or adds it: 0; or -1 if
 * the list stays as it is.  A second failure within half of DEAD_TIME does not
 * change the time of the first. */
static int
update_list(const char *address, int answered)
{
	struct dead *d = find_dead(address);

	if (d == NULL && answered)
		return -1;
	if (d != NULL && !answered && is_recent(d->when, DEAD_TIME / 2))
		return -1;
	if (answered)
		*d = list.dead[--list.n];
	else
		ensure_dead(address)->when = (long)time(NULL);
	return 0;
}

const char *
dead_record(const struct net_addr *a, int answered)
{
	static char line[ADDRESS + 10];	/* the result */

	text_fmt(line, sizeof(line), "%c %s:%d", answered ? '+' : '-',
	    a->text, a->port);
	return update_list(line + 2, answered) == 0 ? line : NULL;
}

static void
print_list(FILE *f)
{
	int i;

	for (i = 0; i < list.n; i++)
		fprintf(f, "%ld %s\n", list.dead[i].when, list.dead[i].address);
}

void
dead_update_file(const char *path, const char *line)
{
	if ((line[0] != '+' && line[0] != '-') || line[1] != ' ' ||
	    !is_address(line + 2))
		return;
	dead_read(path);
	if (update_list(line + 2, line[0] == '+') == 0 &&
	    fd_replace(path, print_list) < 0 && errno != EAGAIN &&
	    !list.has_warned) {
		fprintf(stderr, "smtp: cannot write %s: %s\n", path,
		    strerror(errno));
		list.has_warned = 1;
	}
}
