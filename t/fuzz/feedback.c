/*
 * feedback.c - any text as a rule, a rate, a span, a pattern or a command:
 * the first byte says as which.
 *
 * What is taken is within its bounds, and can be used.
 */
#include "../../cf.c"
#include "fuzz.h"


static void
rule(const char *s)
{
	struct fb_rule r;

	if (set_rule(NULL, &r, s) == NULL)
		fuzz_must(r.x >= 0 && r.x <= 1, "a share is from 0 to 1");
}

static void
rate(const char *s)
{
	struct feedback f;
	struct thread d;
	double wait;
	int i;

	memset(&f, 0, sizeof(f));
	f.init = 1;
	if (set_rate(NULL, &f.rate, s) != NULL)
		return;
	fuzz_must(f.rate.n >= 0 && f.rate.per >= 1, "a rate is in seconds");
	memset(&d, 0, sizeof(d));
	d.slot = -NEVER;
	d.fb = &f;
	for (now.mono = i = 0; i < 5; i++) {
		wait = fb_rate_wait(&d);
		fuzz_must(wait >= 0 && wait <= (double)f.rate.per * 1.01,
		    "nobody waits longer than the rate says");
		now.mono += wait + 0.001 * (double)f.rate.per;
		fb_use_slot(&d);
	}
}

static void
span(const char *s)
{
	char line[60];
	struct text t;
	long v;

	if (span_parse(s, &v) < 0)
		return;
	fuzz_must(v >= 0, "a span is not below 0");
	text_init(&t, line, sizeof(line));
	span_add(&t, v, 2);
	fuzz_must(!t.cut && t.len > 0, "a span can be shown");
}

static void
pattern(const char *s)
{
	char **all, **again, **p;
	int n = 0;

	if (pat_expand(s, &all) != NULL)
		return;
	for (p = all; *p != NULL; p++) {
		fuzz_must(pat_expand(*p, &again) == NULL,
		    "alternatives are good");
		pat_free(again);
		n += pat_matches(*p, "smtp/mail.example.org");
	}
	fuzz_must(p > all && n <= 256, "there are some, not too many");
	pat_free(all);
}

static const char *
value(const char *name)
{
	return strcmp(name, "MAILBIN") == 0 ? "/bin" : NULL;
}

static void
command(const char *s)
{
	static struct command c;
	int i;

	if (cmd_split(s, "c", "h", NULL, &c) != NULL ||
	    cmd_split(s, "smtp", "a host", value, &c) != NULL)
		return;
	fuzz_must(c.nargv > 0 && c.argv[c.nargv] == NULL, "it has words");
	for (i = 0; i < c.nenv; i++)
		fuzz_must(strchr(c.env[i], '=') != NULL, "NAME=value");
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static void (*const as[])(const char *) = { rule, rate, span, pattern,
	    command };
	static char s[4097];

	if (n < 1 || n > sizeof(s))
		return 0;
	memcpy(s, data + 1, n - 1);
	s[n - 1] = '\0';
	logs.level = -1;
	as[data[0] % 5](s);
	return 0;
}
