/*
 * fbtest.c - asks feedback.c directly, cf.c for its rules and rates, and
 * thread.c what is forgotten.
 *
 *	fbtest rule text	what it means: const, win or sqrt and a number
 *	fbtest rate text	deliveries and seconds
 *	fbtest starts rate t ...
 *				at each of these moments: starts, or must wait
 *	fbtest forget file window busy since [sleep]
 *				is the destination x/h forgotten, since seconds
 *				after use?  The file is a configuration; window
 *				0: it sleeps as long (9999)
 *	fbtest windows seed runs
 *				random reports; says what is not as it must be
 *	fbtest rates seed runs	random starts, the same
 *
 * The random ones end with 1 at the first thing that is wrong, and name the
 * seed with which to see it again.
 */
#include "../cf.c"

#define SLOP	1e-9		/* for sums that are rounded */
#define EVENTS	400		/* in a run */

static unsigned long seed;

/* ---- what words mean ---------------------------------------------------- */

static int
show_rule(const char *s)
{
	static const char *const forms[] = { "const", "win", "sqrt" };
	struct fb_rule r;
	const char *why = set_rule(NULL, &r, s);

	if (why != NULL)
		printf("REJECT %s\n", why);
	else
		printf("%s %.12g\n", forms[r.form], r.x);
	return 0;
}

static int
show_rate(const char *s)
{
	struct fb_rate r;
	const char *why = set_rate(NULL, &r, s);

	if (why != NULL)
		printf("REJECT %s\n", why);
	else
		printf("%ld in %ld\n", r.n, r.per);
	return 0;
}

/* A destination of which nothing is known. */
static void
start(struct thread *d, const struct feedback *f)
{
	memset(d, 0, sizeof(*d));
	d->fb = f;
	d->slot = -NEVER;
	now.mono = 0;
	fb_revive(d);
}

/* A clause with this rate, or "-" for none. */
static void
clause(struct feedback *f, const char *rate)
{
	memset(f, 0, sizeof(*f));
	f->init = 1;
	if (strcmp(rate, "-") != 0 && set_rate(NULL, &f->rate, rate) != NULL)
		exit(X_USAGE);
}

static int
show_starts(char **argv)
{
	struct feedback f;
	struct thread d;
	double wait;

	clause(&f, *argv++);
	start(&d, &f);
	for (; *argv != NULL; argv++) {
		now.mono = strtod(*argv, NULL);
		wait = fb_rate_wait(&d);
		if (wait > 0)
			printf("wait %.6g\n", wait);
		else {
			fb_use_slot(&d);
			puts("start");
		}
	}
	return 0;
}

static void
say_it(enum finding what, const char *why)
{
	(void)what;
	puts(why);
}

static int
show_forget(char **argv)
{
	struct config *c = cf_read_file(argv[0], say_it);
	struct chan *chan = th_get_channel("x");
	struct thread *t;

	if (c == NULL)
		return X_CONFIG;
	now.mono = 0;
	th_use_config(c);
	t = th_get(chan, "h", 0);
	fb_use_slot(t);
	t->window = atol(argv[1]);
	if (t->window == 0)
		t->until = argv[4] == NULL ? 9999 : strtod(argv[4], NULL);
	t->nref = atol(argv[2]);	/* agents work on it */
	th_sweep();
	now.mono = strtod(argv[3], NULL);
	q_run_timers();
	puts(th_lookup(chan, "h", 0) == NULL ? "yes" : "no");
	return 0;
}

/* ---- random reports ------------------------------------------------------ */

static int
broken(const char *what, long event, const struct thread *was,
    const struct thread *d, const struct feedback *f)
{
	printf("seed %lu event %ld: %s: window %ld then %ld, success %g "
	    "failure %g cohorts %g; limit %ld init %ld cohorts %ld\n", seed,
	    event, what, was->window, d->window, d->success, d->failure,
	    d->cohorts, f->limit, f->init, f->cohorts);
	return 1;
}

static void
some_rule(struct fb_rule *r)
{
	r->form = (enum fb_form)rnd(3);
	r->x = rnd(4) == 0 ? (double)rnd(2) : (double)rnd(101) / 100;
}

static void
some_clause(struct feedback *f)
{
	clause(f, "-");
	f->limit = (long)rnd(25);
	f->init = (long)rnd(25) + 1;
	f->cohorts = (long)rnd(4);
	some_rule(&f->pos);
	some_rule(&f->neg);
}

/*
 * The rules of the seed, word for word, beside the real thing: they add up
 * good reports at the limit too, which makes no difference for the window.
 */
struct letter {
	int	off;		/* a rule has a square root: not compared */
	long	concurrency;
	double	success, failure, fail_cohorts, step;
};

static void
letter_step(struct letter *l, const struct fb_rule *r)
{
	l->step = r->form == FB_WINDOW ?
	    r->x / (double)l->concurrency : r->x;
}

static void
letter_good(struct letter *l, const struct feedback *f, long busy)
{
	l->fail_cohorts = 0;
	if (l->off || l->concurrency >= busy + f->init)
		return;
	letter_step(l, &f->pos);
	l->success += l->step;
	while (l->success >= 1 - SLOP) {
		l->concurrency++;
		l->failure = 0;
		l->success--;
	}
	if (f->limit > 0 && l->concurrency > f->limit)
		l->concurrency = f->limit;
}

static void
letter_bad(struct letter *l, const struct feedback *f)
{
	if (l->off)
		return;
	l->step = 1.0 / (double)l->concurrency;
	l->fail_cohorts += l->step;
	if (f->cohorts > 0 && l->fail_cohorts > (double)f->cohorts + SLOP) {
		l->concurrency = 0;
		return;
	}
	letter_step(l, &f->neg);
	l->failure -= l->step;
	while (l->failure < -SLOP) {
		l->concurrency--;
		l->failure++;
		l->success = 0;
	}
	if (l->concurrency < 1)
		l->concurrency = 1;
}

/* What must hold after any event. */
static const char *
anyhow(const struct thread *d, const struct feedback *f)
{
	if (d->window < 0 || (f->limit > 0 && d->window > f->limit))
		return "not from 0 to the limit";
	if (d->success < -SLOP || d->success >= 1 || d->failure < -SLOP ||
	    d->failure > 1 || d->cohorts < 0)
		return "a sum is out of its bounds";
	if (d->window == 0 && f->cohorts == 0)
		return "dead, and that was not allowed";
	if ((d->window == 0) != (fb_agents_left(d, 0) == 0) ||
	    fb_agents_left(d, d->window) != 0 ||
	    fb_agents_left(d, d->window + 1) != 0)
		return "the room is not that of the window";
	return NULL;
}

static const char *
after_good(const struct thread *was, const struct thread *d,
    const struct feedback *f, long busy)
{
	if (d->ngood != was->ngood + 1 || d->nbad != was->nbad ||
	    d->cohorts > 0)
		return "counted wrongly";
	if (was->window == 0)
		return d->window > 0 && (d->window == busy ||
		    d->window == f->limit || (busy == 0 &&
		    d->window == f->init)) ? NULL : "a wrong window";
	if (d->window < was->window || d->window > was->window + 1)
		return "a good report moved it in a wrong way";
	if (d->window > was->window && was->window >= busy + f->init)
		return "it grew while it was not used";
	return NULL;
}

static const char *
after_bad(const struct thread *was, const struct thread *d)
{
	if (d->nbad != was->nbad + 1 || d->ngood != was->ngood)
		return "counted wrongly";
	if (d->window > was->window)
		return "a bad report raised it";
	if (d->window == 0 && was->window > 0)
		return d->until > 0 ? NULL : "dead and not said to sleep";
	return d->window + 1 < was->window ? "it fell by more than 1" : NULL;
}

/* One event: 0, or 1 after saying what is wrong. */
static int
event(long n, struct thread *d, struct letter *l, const struct feedback *f,
    unsigned long good)
{
	struct thread was = *d;
	long busy = (long)rnd(3) == 0 ? (long)rnd(30) : d->window;
	const char *why;

	d->nta = (unsigned)busy;
	now.mono = (double)n;
	if (d->window == 0 && rnd(8) == 0) {
		if (now.mono >= d->until)
			fb_revive(d);
		why = (d->window == 0) == (now.mono < was.until) ? NULL :
		    "woken at a wrong time";
	} else if (d->window == 0 && rnd(8) == 0) {
		fb_revive(d);
		why = d->window > 0 ? NULL : "not lifted";
	} else if (rnd(100) < good) {
		fb_report_good(d);
		why = after_good(&was, d, f, busy);
		if (was.window > 0)
			letter_good(l, f, busy);
	} else {
		fb_report_bad(d, 0);
		why = after_bad(&was, d);
		if (was.window > 0)
			letter_bad(l, f);
	}
	if (was.window > 0 && d->window == 0)
		d->until = now.mono + 7.5;
	if (was.window == 0 && d->window > 0) {
		l->success = l->failure = l->fail_cohorts = 0;
		l->concurrency = d->window;
	}
	if (why == NULL)
		why = anyhow(d, f);
	if (why == NULL && !l->off && l->concurrency != d->window)
		why = "not as the seed has it";
	return why == NULL ? 0 : broken(why, n, &was, d, f);
}

/* A reload lowers the limit: it counts from then on. */
static int
lowered(struct thread *d, struct feedback *f)
{
	struct thread was = *d;

	f->limit = (long)rnd(5) + 1;
	if (fb_agents_left(d, 0) > f->limit)
		return broken("room above the limit", -1, &was, d, f);
	if (rnd(2) == 0)
		fb_report_good(d);
	else
		fb_report_bad(d, 0);
	if (d->window > f->limit)
		return broken("above the new limit", -1, &was, d, f);
	return 0;
}

static int
windows(void)
{
	struct feedback f;
	struct letter l;
	struct thread d;
	unsigned long good = 50;
	long n;

	rnd_seed(seed);
	some_clause(&f);
	start(&d, &f);
	memset(&l, 0, sizeof(l));
	l.concurrency = d.window;
	l.off = f.pos.form == FB_SQRT || f.neg.form == FB_SQRT;
	for (n = 0; n < EVENTS; n++) {
		if (rnd(20) == 0)
			good = rnd(101);
		if (event(n, &d, &l, &f, good))
			return 1;
	}
	return lowered(&d, &f);
}

/* ---- random starts -------------------------------------------------------- */

/* Starts as often as it may, each so much too late as chance has it but less
 * than lag, and sometimes after a long silence. */
static int
rates(void)
{
	struct feedback f;
	struct thread d;
	double gap, lag, first = 0, last = 0, late = 0, wait;
	long n;

	rnd_seed(seed);
	clause(&f, "-");
	f.rate.n = (long)rnd(200) + 1;
	f.rate.per = (long)rnd(4000) + 1;
	gap = (double)f.rate.per / (double)f.rate.n;
	lag = rnd(2) == 0 ? gap / 11 : gap * 3;
	start(&d, &f);
	for (n = 0; n < EVENTS; n++) {
		wait = fb_rate_wait(&d);
		if (wait < 0 || wait > gap * 1.000001 || (n == 0 && wait > 0))
			return printf("seed %lu: waits %g\n", seed, wait);
		late = lag * (double)rnd(1000) / 1000;
		if (lag > gap && rnd(50) == 0)
			late = gap * 1000;
		now.mono += wait + late;
		/* rounding may leave a hair */
		if (fb_rate_wait(&d) > gap / 1e6)
			return printf("seed %lu: must wait again\n", seed);
		fb_use_slot(&d);
		if (n == 0)
			first = now.mono;
		else if (gap >= 0.5 && now.mono - last < gap * 0.899)
			return printf("seed %lu: %g apart at %g\n", seed,
			    now.mono - last, gap);
		else if (now.mono < first + (double)(n - 1) * gap * 0.999999)
			return printf("seed %lu: a burst\n", seed);
		last = now.mono;
	}
	if (lag < gap && last - first > (double)EVENTS * gap)
		return printf("seed %lu: too slow, drifts\n", seed);
	return 0;
}

static int
many(int (*one)(void), unsigned long from, long runs)
{
	for (seed = from; runs > 0; seed++, runs--)
		if (one())
			return 1;
	puts("fine");
	return 0;
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (strcmp(what, "rule") == 0 && argc == 3)
		return show_rule(argv[2]);
	if (strcmp(what, "rate") == 0 && argc == 3)
		return show_rate(argv[2]);
	if (strcmp(what, "starts") == 0 && argc > 2)
		return show_starts(argv + 2);
	if (strcmp(what, "forget") == 0 && (argc == 6 || argc == 7))
		return show_forget(argv + 2);
	if (strcmp(what, "windows") == 0 && argc == 4)
		return many(windows, num_of(argv[2], NULL), atol(argv[3]));
	if (strcmp(what, "rates") == 0 && argc == 4)
		return many(rates, num_of(argv[2], NULL), atol(argv[3]));
	return X_USAGE;
}
