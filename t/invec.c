/*
 * invec.c - replays vectors of mail that comes in by the turns of intake.c.
 *
 *	invec <vectors >TAP
 *
 * A file holds any number of
 *
 *	VECTOR name
 *	  limit=3 incoming=I1,I2,I3 deferred=D1!,D2
 *	  finish-before-iteration {5: 1, 6: 2}
 *	  fed I1 - I2(looked D1!+I2) D2
 *	END
 *
 * limit is how many messages may be in core; "-" is an empty list; a name with
 * "!" is a file that cannot be used now and is looked at once.  Before the
 * iteration with a number, from 0, so many messages in core end.  fed says
 * what each iteration took in, "-" for nothing, and in parentheses everything
 * that it looked at when that is more.  When fed is over nothing is left but
 * what cannot be used, or the vector does not hold.
 *
 * The exit code is 1 when a vector does not hold and 65 when the file is not
 * as above; then the TAP ends in "Bail out!".
 */
#include "../intake.c"
#include <ctype.h>

#define LIST_MAX	100	/* names in a list, iterations */
#define NAME_MOST	40

struct list_of {
	char	name[LIST_MAX][NAME_MOST];
	int	n, at;
};

static struct {
	char	name[NAME_MOST];
	long	limit;
	struct list_of side[2];	/* incoming, deferred */
	long	ends[LIST_MAX];
	struct list_of fed;
} v;

/* What one iteration has done. */
static struct {
	char	taken[NAME_MOST];
	char	looked[200];
} turn;

static int line;

static void
malformed(const char *why)
{
	printf("Bail out! line %d: %s\n", line, why);
	fflush(stdout);
	fprintf(stderr, "invec: line %d: %s\n", line, why);
	exit(X_DATAERR);
}

static void
add(struct list_of *l, const char *s, size_t n)
{
	if (l->n == LIST_MAX || n == 0 || n >= NAME_MOST)
		malformed("too many names, or one that is no name");
	memcpy(l->name[l->n], s, n);
	l->name[l->n++][n] = '\0';
}

/* The names after "word=" in s, parted by commas. */
static void
names(const char *s, const char *word, struct list_of *l)
{
	size_t n;

	s = strstr(s, word);
	if (s == NULL)
		malformed("a list is missing");
	s += strlen(word);
	for (; strncmp(s, "- ", 2) != 0 && *s != '-'; s += n + 1) {
		n = strcspn(s, ", \n");
		add(l, s, n);
		if (s[n] != ',')
			break;
	}
}

static void
take_lists(const char *s)
{
	const char *p = strstr(s, "limit="), *end;

	if (p == NULL || (v.limit = (long)num_of(p + 6, &end)) < 1 ||
	    end == p + 6)
		malformed("there is no limit");
	names(s, "incoming=", &v.side[0]);
	names(s, "deferred=", &v.side[1]);
}

static void
take_ends(const char *s)
{
	unsigned long i, n;
	const char *end;

	s = strchr(s, '{');
	if (s == NULL || strchr(s, '}') == NULL)
		malformed("braces are missing");
	for (s++; *s != '}'; s = end) {
		while (*s == ' ' || *s == ',')
			s++;
		i = num_of(s, &end);
		if (end == s || i >= LIST_MAX || *end != ':')
			malformed("no iteration");
		for (s = end + 1; *s == ' '; )
			s++;
		n = num_of(s, &end);
		if (end == s)
			malformed("no number");
		v.ends[i] = (long)n;
	}
}

static void
take_fed(const char *s)
{
	size_t n;

	for (s = strstr(s, "fed") + 3; ; s += n) {
		s += strspn(s, " \n");
		n = strcspn(s, " \n");
		if (n == 0)
			return;
		add(&v.fed, s, n);
	}
}

/* For load_in_turn: the next name of a side. */
static enum loaded
take_name(int forgotten)
{
	struct list_of *l = &v.side[forgotten];
	const char *name;
	size_t n;

	if (l->at == l->n)
		return LOADED_NONE;
	name = l->name[l->at++];
	if (turn.looked[0] != '\0')
		strcat(turn.looked, "+");
	strcat(turn.looked, name);
	n = strlen(name);
	if (name[n - 1] == '!')
		return LOADED_FILE;
	strcpy(turn.taken, name);
	return LOADED_MESSAGE;
}

/* One iteration of what intake.c does, in words of the vectors. */
static void
iterate(int *forgotten, long *used, char *did, size_t size)
{
	memset(&turn, 0, sizeof(turn));
	strcpy(turn.taken, "-");
	if (*used < v.limit) {
		*used += load_in_turn(forgotten, take_name) == LOADED_MESSAGE;
		if (*used == v.limit)
			*forgotten = 0;	/* as load_when_full does */
	}
	if (turn.looked[0] == '\0' ||
	    strcmp(turn.looked, turn.taken) == 0)
		text_fmt(did, size, "%s", turn.taken);
	else
		text_fmt(did, size, "%s(looked %s)", turn.taken,
		    turn.looked);
}

/* "name(looked" and "x+y)" are two words of the fed line. */
static const char *
expected(int *at, char *buf, size_t size)
{
	const char *s = v.fed.name[(*at)++];

	if (strchr(s, '(') == NULL || *at == v.fed.n)
		return s;
	text_fmt(buf, size, "%s %s", s, v.fed.name[(*at)++]);
	return buf;
}

static int
holds(void)
{
	char did[300], buf[2 * NAME_MOST];
	const char *want;
	long used = 0;
	int i, at = 0, forgotten = 0;

	for (i = 0; at < v.fed.n; i++) {
		if (i == LIST_MAX)
			malformed("too many iterations");
		used -= v.ends[i] < used ? v.ends[i] : used;
		iterate(&forgotten, &used, did, sizeof(did));
		want = expected(&at, buf, sizeof(buf));
		if (strcmp(did, want) != 0) {
			printf("# iteration %d: %s, not %s\n", i, did, want);
			return 0;
		}
	}
	if (v.side[0].at == v.side[0].n && v.side[1].at == v.side[1].n)
		return 1;
	printf("# something is left\n");
	return 0;
}

int
main(void)
{
	char s[2000];
	int n = 0, bad = 0, open = 0;
	const char *p;

	while (fgets(s, sizeof(s), stdin) != NULL) {
		line++;
		for (p = s; isspace((unsigned char)*p); )
			p++;
		if (*p == '\0' || *p == '#')
			continue;
		if (strncmp(p, "VECTOR ", 7) == 0 && !open) {
			memset(&v, 0, sizeof(v));
			text_fmt(v.name, sizeof(v.name), "%.*s",
			    (int)strcspn(p + 7, " \n"), p + 7);
			open = 1;
		} else if (open && strncmp(p, "limit=", 6) == 0) {
			take_lists(p);
		} else if (open && strncmp(p, "finish-", 7) == 0) {
			take_ends(p);
		} else if (open && strncmp(p, "fed ", 4) == 0) {
			take_fed(p);
		} else if (open && strncmp(p, "END", 3) == 0) {
			if (v.limit == 0 || v.fed.n == 0)
				malformed("a line is missing");
			open = holds();
			bad += !open;
			printf("%sok %d - %s\n", open ? "" : "not ", ++n,
			    v.name);
			open = 0;
		} else {
			malformed("a line of no kind, or not in its place");
		}
	}
	if (open || n == 0)
		malformed("an END, or any vector, is missing");
	printf("1..%d\n", n);
	return bad > 0;
}
