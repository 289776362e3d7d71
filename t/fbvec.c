/*
 * fbvec.c - replays vectors of concurrency feedback through feedback.c.
 *
 *	fbvec <vectors >TAP
 *
 * A file holds any number of
 *
 *	VECTOR name
 *	  params pos=1 neg=1/concurrency init=5 limit=20 cohort=1 rules=readme
 *	  events -*3+@2T
 *	  windows 4 3 2 3 3
 *	  dead    0 0 0 0 0
 *	  1 - 5 4 0 0 0.20000000000000001 0 note
 *	END
 *
 * Events: + a good report, - a bad one, T the end of a dead destination's
 * sleep.  @n gives the busy agents; without it they are as many as the window
 * before the event, at least 1, and none for T.  *n repeats the event.
 * windows and dead say how each event leaves the destination.  The lines with
 * a number are optional, for any of the events in their order: number, event,
 * busy, window, success, failure, failed cohorts, dead, and words for people.
 * Blank lines and lines that begin with # do not count, nor does indentation.
 *
 * The counters must be the same doubles, or be so within 1e-12, which is for
 * machines whose arithmetic rounds twice.  Vectors with other rules than
 * "readme" describe programs that are not ours and are skipped.
 *
 * The exit code is 1 when a vector does not hold and 65, with the number of
 * the line, when the file is not as above; then the TAP ends in "Bail out!".
 */
#include "../cf.c"

#define CLOSE		1e-12
#define SPAN		100.0	/* seconds that the dead sleep */
#define EVENTS_MAX	1000000L

struct event {
	char	kind;		/* + - T */
	long	busy;		/* -1: not said */
	long	window, dead;	/* wanted */
	int	line;		/* of its numbered line, 0: none */
	long	sbusy, swindow, sdead;	/* wanted by that */
	double	success, failure, cohorts;
};

struct vector {
	const char *name;
	struct feedback f;
	unsigned params;	/* bit i: words[i] was there */
	int	foreign;	/* other rules */
	struct event *e;
	long	n;		/* events */
	long	nwindows, ndead;
	long	last;		/* number of the last numbered line */
};

static int line;		/* of the file */

static void
malformed(const char *why, const char *what)
{
	printf("Bail out! line %d: %s: %.80s\n", line, why, what);
	fflush(stdout);
	fprintf(stderr, "fbvec: line %d: %s: %.80s\n", line, why, what);
	exit(X_DATAERR);
}

/* ---- words and numbers -------------------------------------------------- */

/* The next word at *p, which is moved behind it; NULL at the end. */
static char *
word(char **p)
{
	char *s = *p, *w;

	while (isspace((unsigned char)*s))
		s++;
	if (*s == '\0')
		return NULL;
	for (w = s; *s != '\0' && !isspace((unsigned char)*s); s++)
		;
	if (*s != '\0')
		*s++ = '\0';
	*p = s;
	return w;
}

/* Digits at *p, which is moved behind them. */
static long
digits(const char **p, const char *all)
{
	long n = 0;

	if (!isdigit((unsigned char)**p))
		malformed("a number is missing", all);
	for (; isdigit((unsigned char)**p); ++*p)
		if ((n = n * 10 + (**p - '0')) > EVENTS_MAX)
			malformed("a number is too large", all);
	return n;
}

static long
entire(const char *w, long most)
{
	const char *p = w;
	long n;

	if (w == NULL)
		malformed("a number is missing", "");
	n = digits(&p, w);
	if (*p != '\0' || n > most)
		malformed("is no number that can stand here", w);
	return n;
}

static double
real(const char *w)
{
	char *end;
	double x;

	if (w == NULL)
		malformed("a number is missing", "");
	x = strtod(w, &end);
	if (end == w || *end != '\0' || !(x > -1e6 && x < 1e6))
		malformed("is no number that can stand here", w);
	return x;
}

/* ---- the lines of a vector ---------------------------------------------- */

static void
rule(const char *value, struct fb_rule *r)
{
	const char *why = set_rule(NULL, r, value);

	if (why != NULL)
		malformed(why, value);
}

static void
take_params(struct vector *v, char *p)
{
	static const char *const words[] = {
		"pos", "neg", "init", "limit", "cohort", "rules"
	};
	char *w, *value;
	unsigned i;

	if (v->params != 0)
		malformed("a second params line in", v->name);
	while ((w = word(&p)) != NULL) {
		if ((value = strchr(w, '=')) == NULL)
			malformed("is no name=value", w);
		*value++ = '\0';
		for (i = 0; i < 6 && strcmp(w, words[i]) != 0; i++)
			;
		if (i == 6 || (v->params & (1U << i)) != 0)
			malformed("is unknown or there twice", w);
		v->params |= 1U << i;
		switch (i) {
		case 0: rule(value, &v->f.pos); break;
		case 1: rule(value, &v->f.neg); break;
		case 2: v->f.init = entire(value, EVENTS_MAX); break;
		case 3: v->f.limit = entire(value, EVENTS_MAX); break;
		case 4: v->f.cohorts = entire(value, EVENTS_MAX); break;
		default: v->foreign = strcmp(value, "readme") != 0;
		}
	}
	if (v->params != 0x3f)
		malformed("not all params are there", v->name);
	if (v->f.init < 1)
		malformed("init is 0", v->name);
}

static void
add_events(struct vector *v, char kind, long busy, long n)
{
	struct event *e;

	if (n < 1 || n > EVENTS_MAX - v->n)
		malformed("no events, or too many of them", v->name);
	e = (struct event *)realloc(v->e, (size_t)(v->n + n) * sizeof(*e));
	if (e == NULL)
		malformed("no memory for", v->name);
	v->e = e;
	for (e += v->n; n > 0; n--, e++, v->n++) {
		memset(e, 0, sizeof(*e));
		e->kind = kind;
		e->busy = busy;
	}
}

static void
take_events(struct vector *v, const char *p)
{
	const char *all = p;
	long busy, times;
	char kind;

	if (v->n > 0)
		malformed("a second events line in", v->name);
	for (; *p != '\0'; ) {
		if (isspace((unsigned char)*p)) {
			p++;
			continue;
		}
		kind = *p++;
		if (strchr("+-T", kind) == NULL)
			malformed("has an event that is none of + - T", all);
		busy = times = -1;
		while ((*p == '@' && busy < 0) || (*p == '*' && times < 0))
			if (*p++ == '@')
				busy = digits(&p, all);
			else
				times = digits(&p, all);
		add_events(v, kind, busy, times < 0 ? 1 : times);
	}
	if (v->n == 0)
		malformed("there are no events", v->name);
}

/* What is wanted of each event, as the member of struct event at "at". */
static void
take_column(struct vector *v, char *p, size_t at, long *n, long most)
{
	char *w;

	if (*n > 0 || v->n == 0)
		malformed("is there twice, or before the events", v->name);
	while ((w = word(&p)) != NULL) {
		if (*n == v->n)
			malformed("more of them than events", v->name);
		*(long *)(void *)((char *)&v->e[(*n)++] + at) =
		    entire(w, most);
	}
	if (*n != v->n)
		malformed("fewer of them than events", v->name);
}

static void
take_numbered(struct vector *v, const char *number, char *p)
{
	long n = entire(number, v->n);
	struct event *e;
	char *w;

	if (n <= v->last)
		malformed("is not a number after the last", number);
	v->last = n;
	e = &v->e[n - 1];
	e->line = line;
	w = word(&p);
	if (w == NULL || w[0] != e->kind || w[1] != '\0')
		malformed("is not this event", number);
	e->sbusy = entire(word(&p), EVENTS_MAX);
	e->swindow = entire(word(&p), EVENTS_MAX);
	e->success = real(word(&p));
	e->failure = real(word(&p));
	e->cohorts = real(word(&p));
	e->sdead = entire(word(&p), 1);
}

static void
take_line(struct vector *v, const char *w, char *rest)
{
	if (strcmp(w, "params") == 0)
		take_params(v, rest);
	else if (strcmp(w, "events") == 0)
		take_events(v, rest);
	else if (strcmp(w, "windows") == 0)
		take_column(v, rest, offsetof(struct event, window),
		    &v->nwindows, EVENTS_MAX);
	else if (strcmp(w, "dead") == 0)
		take_column(v, rest, offsetof(struct event, dead),
		    &v->ndead, 1);
	else if (isdigit((unsigned char)*w))
		take_numbered(v, w, rest);
	else
		malformed("is no line that can stand in a vector", w);
}

/* ---- replaying ---------------------------------------------------------- */

static int
apart(double a, double b)
{
	return a != b && !(a - b < CLOSE && b - a < CLOSE);
}

static int
differs(const struct event *e, const struct thread *d, long busy)
{
	long dead = d->window == 0;

	if (d->window != e->window || dead != e->dead)
		return 1;
	return e->line > 0 && (d->window != e->swindow || dead != e->sdead ||
	    busy != e->sbusy || apart(d->success, e->success) ||
	    apart(d->failure, e->failure) || apart(d->cohorts, e->cohorts));
}

/* The first event that left something else than is wanted, with what there
 * was then; NULL when there is none. */
static const struct event *
replay(const struct vector *v, struct thread *d, long *busy)
{
	const struct event *e;

	now.mono = 0;
	memset(d, 0, sizeof(*d));
	d->fb = &v->f;
	fb_revive(d);
	for (e = v->e; e < v->e + v->n; e++) {
		now.mono++;
		*busy = e->busy;
		if (*busy < 0)
			*busy = e->kind == 'T' ? 0 :
			    d->window > 0 ? d->window : 1;
		d->nta = (unsigned)*busy;
		if (e->kind == '+')
			fb_report_good(d);
		else if (e->kind == '-')
			fb_report_bad(d, 0);
		else {
			if (now.mono < d->until)
				now.mono = d->until;
			fb_revive(d);
		}
		if (d->window == 0 && d->until == now.mono)	/* it died */
			d->until = now.mono + SPAN;
		if (differs(e, d, *busy))
			return e;
	}
	return NULL;
}

/* Prints the vector's result: 0, or 1 when it does not hold. */
static int
judge(const struct vector *v, long number)
{
	const struct event *e;
	struct thread d;
	long busy = 0;

	if (v->foreign) {
		printf("ok %ld - %s # skip other rules\n", number, v->name);
		return 0;
	}
	if ((e = replay(v, &d, &busy)) == NULL) {
		printf("ok %ld - %s\n", number, v->name);
		return 0;
	}
	printf("not ok %ld - %s\n", number, v->name);
	printf("# event %ld, %c with %ld busy\n", (long)(e - v->e) + 1,
	    e->kind, busy);
	printf("# got:    window %ld dead %d success %.17g failure %.17g "
	    "cohorts %.17g\n", d.window, d.window == 0, d.success, d.failure,
	    d.cohorts);
	printf("# wanted: window %ld dead %ld\n", e->window, e->dead);
	if (e->line > 0)
		printf("# line %d: window %ld dead %ld success %.17g "
		    "failure %.17g cohorts %.17g, with %ld busy\n", e->line,
		    e->swindow, e->sdead, e->success, e->failure, e->cohorts,
		    e->sbusy);
	return 1;
}

/* ---- the file ------------------------------------------------------------ */

/* All of standard input, with a NUL at the end. */
static char *
slurp(void)
{
	size_t size = 65536, len = 0, n;
	char *all = (char *)malloc(size), *more;

	while (all != NULL &&
	    (n = fread(all + len, 1, size - 1 - len, stdin)) > 0) {
		len += n;
		if (len < size - 1)
			continue;
		if ((more = (char *)realloc(all, size *= 2)) == NULL)
			free(all);
		all = more;
	}
	if (all == NULL || ferror(stdin) || memchr(all, '\0', len) != NULL)
		malformed("cannot be read", "standard input");
	all[len] = '\0';
	return all;
}

/* The line at *p, without its end; *p is moved to the next.  NULL: no more. */
static char *
cut_line(char **p)
{
	char *s = *p, *end;

	if (*s == '\0')
		return NULL;
	line++;
	if ((end = strchr(s, '\n')) == NULL)
		*p = s + strlen(s);
	else {
		*end = '\0';
		*p = end + 1;
	}
	return s;
}

static void
begin(struct vector *v, char *rest)
{
	memset(v, 0, sizeof(*v));
	if ((v->name = word(&rest)) == NULL || word(&rest) != NULL)
		malformed("wants one word, its name", "VECTOR");
}

int
main(void)
{
	char *all = slurp(), *p = all, *s, *w;
	struct vector v;
	long number = 0;
	int inside = 0, failed = 0;

	while ((s = cut_line(&p)) != NULL) {
		if ((w = word(&s)) == NULL || *w == '#')
			continue;
		if (!inside) {
			if (strcmp(w, "VECTOR") != 0)
				malformed("is not in a vector", w);
			begin(&v, s);
			inside = 1;
		} else if (strcmp(w, "END") != 0)
			take_line(&v, w, s);
		else if (v.params == 0 || v.nwindows == 0 || v.ndead == 0 ||
		    word(&s) != NULL)
			malformed("params, events, windows and dead, then "
			    "END, make a vector", v.name);
		else {
			failed |= judge(&v, ++number);
			free(v.e);
			inside = 0;
		}
	}
	if (inside || number == 0)
		malformed("ends too early", "the file");
	printf("1..%ld\n", number);
	free(all);
	return failed;
}
