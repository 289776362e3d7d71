/*
 * value.c - the keywords of the clause language, and what their values mean.
 *
 * One table: name, type, where in a setting the value goes, what it may be and
 * what it is when nobody says.  A value is text as it stands in the file,
 * quotes taken off.  One that is wrong changes nothing, and what is wrong with
 * it is said in words that fit behind "file:line: keyword: ".
 *
 * Where keywords stand, and what holds for an address, is cf.c's.
 */
#include "scheduler.h"

#ifndef NO_PWD
#include <grp.h>
#include <pwd.h>
#endif

#define YEARS		315360000L	/* seconds; ten of them */

const struct keyword keywords[] = {
#define AT(m) offsetof(struct setting, m)
	{ "interval", T_SPAN, AT(interval), 1, YEARS, 60 },
	{ "idlemax", T_SPAN, AT(idlemax), 1, YEARS, 0 },
	{ "expiry", T_SPAN, AT(expiry), 0, YEARS, 3 * 86400L },
	{ "expiry2", T_SPAN, AT(expiry2), 0, YEARS, 86400L },
	{ "timeout", T_SPAN, AT(timeout), 1, YEARS, 6 * 3600L },
	{ "retries", T_RETRIES, AT(retries), 0, USHRT_MAX, 0 },
	{ "maxta", T_NUMBER, AT(maxta), 0, 1000000L, 0 },
	{ "maxchannel", T_NUMBER, AT(maxchannel), 0, 1000000L, 0 },
	{ "maxring", T_NUMBER, AT(maxring), 0, 1000000L, 0 },
	{ "maxthr", T_NUMBER, AT(fb.limit), 1, 1000000L, 1 },
	{ "initthr", T_NUMBER, AT(fb.init), 1, 1000000L, 5 },
	{ "posfeedback", T_RULE, AT(fb.pos), 0, 0, 0 },
	{ "negfeedback", T_RULE, AT(fb.neg), 0, 0, 0 },
	{ "cohorts", T_NUMBER, AT(fb.cohorts), 0, 1000000L, 1 },
	{ "rate", T_RATE, AT(fb.rate), 0, 0, 0 },
	{ "forget", T_SPAN, AT(forget), 0, YEARS, 3600 },
	{ "overfeed", T_NUMBER, AT(overfeed), 0, 10000, 0 },
	{ "backlog", T_NUMBER, AT(backlog), 0, 10000, 0 },
	{ "maxage", T_SPAN, AT(maxage), 0, YEARS, 0 },
	{ "maxjobs", T_NUMBER, AT(maxjobs), 0, 1000000L, 0 },
	{ "skew", T_NUMBER, AT(skew), 1, 1000000L, 5 },
	{ "nice", T_NUMBER, AT(nice), -40, 39, 0 },
	{ "user", T_USER, AT(uid), 0, LONG_MAX, 0 },
	{ "group", T_GROUP, AT(gid), 0, LONG_MAX, 1 },
	{ "reporttimes", T_TIMES, AT(reports), 1, YEARS, 0 },
	{ "delayreport", T_FLAG, AT(delayreport), 0, 1, 0 },
	{ "bounce", T_BOUNCE, AT(bounce), 0, 1, BOUNCE_SENDER },
	{ "command", T_COMMAND, AT(command), 0, 0, 0 },
	{ "bychannel", T_FLAG, AT(bychannel), 0, 1, 0 },
	{ "queueonly", T_FLAG, AT(queueonly), 0, 1, 0 },
	{ "ageorder", T_AGE, AT(order), 0, 0, 0 },
	{ "order", T_ORDER, AT(order), 0, 0, 0 },
	{ "slotcost", T_NUMBER, AT(slotcost), 0, 1000, 5 },
	{ "slotloan", T_NUMBER, AT(slotloan), 0, 1000000L, 3 },
	{ "slotdiscount", T_NUMBER, AT(slotdiscount), 0, 100, 50 },
	{ "minslots", T_NUMBER, AT(minslots), 0, 1000, 3 },
	{ "wakeuprestartonly", T_FLAG, AT(wakeuprestartonly), 0, 1, 0 },
	{ "feedbackdebug", T_FLAG, AT(feedbackdebug), 0, 1, 0 },
	{ NULL, T_FLAG, 0, 0, 0, 0 }
#undef AT
};

long *
value_long(struct setting *v, const struct keyword *k)
{
	return (long *)(void *)((char *)v + k->at);
}

/* A whole decimal number, perhaps negative: 0, or -1 when it is none. */
static int
whole(const char *s, long *n)
{
	const char *digits = s + (*s == '-'), *end;
	unsigned long u = num_of(digits, &end);

	if (end == digits || *end != '\0' || end - digits > 9)
		return -1;
	*n = *s == '-' ? -(long)u : (long)u;
	return 0;
}

/* What is wrong with the value, for the caller.  Its words are shown in part,
 * so that the reason is never what is cut off. */
static void
wrong(struct text *why, const char *f, ...)
{
	va_list ap;

	why->clean = 1;
	va_start(ap, f);
	text_vadd(why, f, ap);
	va_end(ap);
}

static void
set_retries(struct setting *v, char *s, struct text *why)
{
	unsigned short list[RETRIES_MAX];
	char *word;
	long n, count = 0;

	for (word = strtok(s, " \t\n"); word != NULL;
	    word = strtok(NULL, " \t\n")) {
		if (whole(word, &n) < 0 || n < 0 || n > USHRT_MAX) {
			wrong(why, "%.80s is no number from "
			    "0 to %u", word, (unsigned)USHRT_MAX);
			return;
		}
		if (count == RETRIES_MAX) {
			wrong(why, "these are more than %d",
			    RETRIES_MAX);
			return;
		}
		list[count++] = (unsigned short)n;
	}
	if (count == 0) {
		wrong(why, "the list is empty");
		return;
	}
	free(v->retries);
	v->nretries = 0;
	v->retries = mem_get((size_t)count * sizeof(*list));
	if (v->retries == NULL) {
		wrong(why, "no memory");
		return;
	}
	memcpy(v->retries, list, (size_t)count * sizeof(*list));
	v->nretries = count;
}

/* A list of ages, or none. */
static void
set_times(const struct keyword *k, struct setting *v, char *s,
    struct text *why)
{
	struct times list;
	char *word;
	long n;

	memset(&list, 0, sizeof(list));
	for (word = strtok(s, " \t\n"); word != NULL &&
	    strcmp(s, "none") != 0; word = strtok(NULL, " \t\n")) {
		if (span_parse(word, &n) < 0 || n < k->min || n > k->max) {
			wrong(why, "%.80s is no span of time from %ld to %ld "
			    "seconds", word, k->min, k->max);
			return;
		}
		if (list.n == TIMES_MAX) {
			wrong(why, "these are more than %d", TIMES_MAX);
			return;
		}
		if (list.n > 0 && n <= list.at[list.n - 1]) {
			wrong(why, "%.80s is not later than the one before",
			    word);
			return;
		}
		list.at[list.n++] = n;
	}
	if (list.n == 0 && strcmp(s, "none") != 0)
		wrong(why, "the list is empty; say none");
	else
		v->reports = list;
}

/* A user's or group's number; the largest ones stand for negative ones. */
static int
number_of(const char *s, long *n)
{
	const char *end;

	*n = (long)num_of(s, &end);
	return end == s || *end != '\0' || end - s > 10 ? -1 : 0;
}

/* A user's or group's number, by name or as it is: 0, or -1 when unknown. */
static int
id_of(enum type type, const char *name, long *id)
{
#ifndef NO_PWD
	struct passwd *pw = type == T_USER ? getpwnam(name) : NULL;
	struct group *gr = type == T_GROUP ? getgrnam(name) : NULL;

	if (pw != NULL)
		*id = (long)pw->pw_uid;
	else if (gr != NULL)
		*id = (long)gr->gr_gid;
	if (pw != NULL || gr != NULL)
		return 0;
#endif
	/* the two that every configuration names have their usual numbers
	 * where nobody knows them */
	if (type == T_USER && strcmp(name, "root") == 0)
		*id = 0;
	else if (type == T_GROUP && strcmp(name, "daemon") == 0)
		*id = 1;
	else
		return number_of(name, id);
	return 0;
}

static void
set_command(struct setting *v, const char *s, struct text *why)
{
	int bound;
	const char *bad = cmd_check(s, &bound);

	if (bad != NULL) {
		wrong(why, "%s", bad);
		return;
	}
	free(v->command);
	v->command = mem_dup(s);
	if (v->command == NULL)
		wrong(why, "no memory");
}

const char *const value_orders[] = { "random", "age", "preempt", NULL };

static void
set_order(struct setting *v, const char *s, struct text *why)
{
	long i = 0;

	while (value_orders[i] != NULL && strcmp(s, value_orders[i]) != 0)
		i++;
	if (value_orders[i] == NULL)
		wrong(why, "%.80s is not random, age or preempt", s);
	else
		v->order = i;
}

static void
set_number(const struct keyword *k, struct setting *v, const char *s,
    struct text *why)
{
	long n;

	if (k->type == T_SPAN && span_parse(s, &n) < 0)
		wrong(why, "%.80s is no span of time such as "
		    "90, 10m or 1h5m20s", s);
	else if (k->type == T_NUMBER && whole(s, &n) < 0)
		wrong(why, "%.80s is no number", s);
	else if (n < k->min || n > k->max)
		wrong(why, "%.80s is not between %ld and %ld%s",
		    s, k->min, k->max, k->type == T_SPAN ? " seconds" : "");
	else
		*value_long(v, k) = n;
}

void
value_defaults(struct setting *v)
{
	static unsigned short retries[] = { 1, 1, 2, 3, 4, 8, 13, 21, 34 };
	const struct keyword *k;

	memset(v, 0, sizeof(*v));
	for (k = keywords; k->name != NULL; k++)
		if (k->type != T_RETRIES && k->type != T_COMMAND &&
		    k->type != T_RULE && k->type != T_RATE &&
		    k->type != T_TIMES)
			*value_long(v, k) = k->def;
	v->fb.pos.form = v->fb.neg.form = FB_CONST;
	v->fb.pos.x = v->fb.neg.x = 1;
	v->retries = retries;
	v->nretries = (long)(sizeof(retries) / sizeof(retries[0]));
	(void)id_of(T_GROUP, "daemon", &v->gid);
}

void
value_copy(const struct keyword *k, struct setting *to,
    const struct setting *from)
{
	switch (k->type) {
	case T_RETRIES:
		to->retries = from->retries;
		to->nretries = from->nretries;
		break;
	case T_COMMAND:
		to->command = from->command;
		break;
	case T_RULE:
		memcpy((char *)to + k->at, (const char *)from + k->at,
		    sizeof(struct fb_rule));
		break;
	case T_RATE:
		to->fb.rate = from->fb.rate;
		break;
	case T_TIMES:
		to->reports = from->reports;
		break;
	default:
		memcpy((char *)to + k->at, (const char *)from + k->at,
		    sizeof(long));
		break;
	}
}

int
value_set(const struct keyword *k, struct setting *v, char *s,
    struct text *why)
{
	const char *bad = NULL;

	switch (k->type) {
	case T_SPAN:
	case T_NUMBER:
		set_number(k, v, s, why);
		break;
	case T_USER:
	case T_GROUP:
		if (id_of(k->type, s, value_long(v, k)) < 0)
			wrong(why, "there is no %s %.80s", k->name, s);
		break;
	case T_RETRIES:
		set_retries(v, s, why);
		break;
	case T_COMMAND:
		set_command(v, s, why);
		break;
	case T_RULE:
		bad = fb_rule_parse(s,
		    (struct fb_rule *)(void *)((char *)v + k->at));
		break;
	case T_RATE:
		bad = fb_rate_parse(s, &v->fb.rate);
		break;
	case T_ORDER:
		set_order(v, s, why);
		break;
	case T_TIMES:
		set_times(k, v, s, why);
		break;
	case T_BOUNCE:
		v->bounce = strcmp(s, "none") == 0 ? BOUNCE_NONE :
		    BOUNCE_SENDER;
		if (v->bounce == BOUNCE_SENDER && strcmp(s, "sender") != 0)
			bad = "is neither sender nor none";
		break;
	case T_AGE:
	case T_FLAG:
		break;
	}
	if (bad != NULL)
		wrong(why, "%.80s %s", s, bad);
	return why->len > 0 ? -1 : 0;
}
