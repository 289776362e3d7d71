/*
 * explain.c - what holds for an address, for a person to read.
 *
 * Prints the clauses that matched, the values that came of them as one clause
 * of the language, which could be read back, and the first ten retries.
 */
#include "scheduler.h"

#define RETRIES_SHOWN	10

/* A span with all its units, such as 1d1h1m1s, as the language reads it. */
static void
exact_span(struct text *t, long n)
{
	static const struct { long unit; int letter; } units[] = {
		{ 86400L, 'd' }, { 3600L, 'h' }, { 60L, 'm' }, { 1L, 's' }
	};
	long whole_n = n;
	int i;

	for (i = 0; i < 4; i++) {
		if (n >= units[i].unit)
			text_add(t, "%ld%c", n / units[i].unit,
			    units[i].letter);
		n %= units[i].unit;
	}
	if (whole_n == 0)
		text_add(t, "0s");
}

/* keyword="value", so that it can be read back. */
static void
print_quoted(const char *name, const char *s, FILE *out)
{
	fprintf(out, "\t%s=\"", name);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', out);
		putc(*s, out);
	}
	fprintf(out, "\"\n");
}

static void
print_rule(const char *name, const struct fb_rule *r, FILE *out)
{
	static const char *const by[] = { "", "/concurrency",
	    "/sqrt_concurrency" };

	fprintf(out, "\t%s=%.10g%s\n", name, r->x, by[r->form]);
}

static void
print_times(const char *name, const struct times *times, FILE *out)
{
	char span[40];
	struct text t;
	long i;

	fprintf(out, "\t%s=\"", name);
	for (i = 0; i < times->n; i++) {
		text_init(&t, span, sizeof(span));
		exact_span(&t, times->at[i]);
		fprintf(out, "%s%s", i > 0 ? " " : "", span);
	}
	fprintf(out, "%s\"\n", times->n == 0 ? "none" : "");
}

static void
print_value(struct setting *v, const struct keyword *k, FILE *out)
{
	char span[40];
	struct text t;
	long i;

	switch (k->type) {
	case T_SPAN:
		text_init(&t, span, sizeof(span));
		exact_span(&t, *value_long(v, k));
		fprintf(out, "\t%s=%s\n", k->name, span);
		break;
	case T_RETRIES:
		fprintf(out, "\tretries=\"");
		for (i = 0; i < v->nretries; i++)
			fprintf(out, "%s%u", i > 0 ? " " : "",
			    (unsigned)v->retries[i]);
		fprintf(out, "\"\n");
		break;
	case T_COMMAND:
		if (v->command == NULL)
			fprintf(out, "\t# no command: such mail waits\n");
		else
			print_quoted(k->name, v->command, out);
		break;
	case T_RULE:
		print_rule(k->name, (const struct fb_rule *)(const void *)
		    ((const char *)v + k->at), out);
		break;
	case T_RATE:
		if (v->fb.rate.n > 0)
			fprintf(out, "\trate=%ld/%lds\n", v->fb.rate.n,
			    v->fb.rate.per);
		break;
	case T_TIMES:
		print_times(k->name, &v->reports, out);
		break;
	case T_BOUNCE:
		fprintf(out, "\tbounce=%s\n", v->bounce == BOUNCE_NONE ?
		    "none" : "sender");
		break;
	case T_FLAG:
		if (*value_long(v, k))
			fprintf(out, "\t%s\n", k->name);
		break;
	case T_ORDER:
		fprintf(out, "\t%s=%s\n", k->name, value_orders[v->order]);
		break;
	case T_AGE:
		break;		/* order says it */
	default:
		fprintf(out, "\t%s=%ld\n", k->name, *value_long(v, k));
	}
}

void
explain(struct config *config, const char *channel, const char *host,
    FILE *out)
{
	struct conf *f = cf_match(config, channel, host);
	char span[40];
	struct text t;
	unsigned i;
	long sum = 0;

	if (f == NULL)
		return;
	fprintf(out, "# %s/%s matches\n", channel, host);
	for (i = 0; i < f->nfrom; i++)
		fprintf(out, "#\tline %d: %s\n", f->from[i]->line,
		    f->from[i]->text);
	if (f->nfrom == 0)
		fprintf(out, "#\tno clause\n");
	fprintf(out, "%s/%s\n", channel, host);
	for (i = 0; keywords[i].name != NULL; i++)
		print_value(&f->v, &keywords[i], out);
	fprintf(out, "# tried at arrival, and again after\n#");
	for (i = 0; i < RETRIES_SHOWN; i++) {
		if (i == (unsigned)f->v.nretries)
			fprintf(out, "\n# then goes on from a random place of "
			    "the list; for example after\n#");
		sum += retry_factor(&f->v, i % (unsigned)f->v.nretries);
		text_init(&t, span, sizeof(span));
		exact_span(&t, sum);
		fprintf(out, " %s", span);
		if (sum > LONG_MAX / 2)
			break;
	}
	fprintf(out, "\n# (each moved towards a multiple of interval, the "
	    "%ldth onto it)\n", f->v.skew);
}
