/*
 * cf.c - the clause language: its keywords, its reader, and what holds for an
 * address.
 *
 *	smtp/mail.example.org	interval=10m retries="1 2 5"
 *	smtp			maxta=20 command="smtp -s"
 *
 * Both clauses match smtp/mail.example.org: its mail is tried again after 10,
 * 20 and 50 minutes, by at most 20 agents of the command "smtp -s".
 *
 * A token in the first column is a pattern and begins a clause, or a
 * PARAMname; everything else is a keyword of the clause before it.  '#' at the
 * beginning of a token starts a comment.  A clause without keywords takes the
 * contents of the next one that has some, but stays a clause of its own.
 *
 * An address "channel/host" goes over the patterns in order.  What each
 * matching clause sets is laid over what was set before, until one with a
 * command ends the search (seed 22.1).  The sum is a conf; there is one for
 * each combination of clauses, so two addresses with the same conf can be
 * told by a pointer, and a ring is made of that.
 *
 * Keywords and PARAMs are rows of two tables: name, type, where the value goes,
 * what it may be and what it is when nobody says.  A new reading is made aside:
 * every error in the file is told, as "file:line: keyword: reason", and then
 * none of it is used.
 */
#include "scheduler.h"
#include <ctype.h>
#ifndef NO_TCP
#include <netdb.h>
#include <netinet/in.h>
#endif

#ifndef NO_PWD
#include <grp.h>
#include <pwd.h>
#endif

#define YEARS		315360000L	/* seconds; ten of them */
#define FILE_MOST	250000L		/* bytes in a configuration */
#define DSN_TIMEOUT	1800	/* seconds that ta/dsn may write at one DSN */
#define DSN_IDLE	300	/* ... that it is kept beyond its pause */
#define DSN_OVERFEED	10	/* jobs that it has ahead */
#define LOCAL_MOST	1000000L	/* agents: more than there can be */
#define RETRIES_SHOWN	10
#define PORT		174U		/* of mailq, where services has none */
#define BLANKS		" \t\n"		/* between the words of a list */

/* ---- the tables ------------------------------------------------------ */

/* Up to T_BOUNCE the value is a long. */
enum type { T_SPAN, T_NUMBER, T_FLAG, T_AGE, T_USER, T_GROUP, T_ORDER,
	    T_BOUNCE, T_RETRIES, T_COMMAND, T_RULE, T_RATE, T_TIMES, T_PATH,
	    T_FILE, T_PORT, T_HOST };

struct keyword {
	const char *name;	/* NULL: the end of the table */
	enum type type;
	size_t	at;		/* offset in struct setting or config */
	long	min, max, def;
};

static const struct keyword keywords[] = {
#define AT(m) offsetof(struct setting, m)
	{ "interval", T_SPAN, AT(interval), 1, YEARS, 60 },
	{ "idlemax", T_SPAN, AT(idlemax), 0, YEARS, 0 },
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

/* Behind the word PARAM. */
static const struct keyword params[] = {
#define AT(m) offsetof(struct config, m)
	{ "notifysock", T_PATH, AT(notifysock), 0, 0, 0 },
	{ "mailqsock", T_PORT, AT(mailqsock), 0, 0, 0 },
	{ "destdb", T_FILE, AT(destdb), 0, 0, 0 },
	{ "routernotify", T_PATH, AT(routernotify), 0, 0, 0 },
	{ "mailname", T_HOST, AT(mailname), 0, 0, 0 },
	{ "msgconcurrency", T_NUMBER, AT(msgconcurrency), 1, 1000000L, 20 },
	{ "msgscale", T_NUMBER, AT(msgscale), 0, 1000000L, 10 },
	{ "active", T_NUMBER, AT(active), 0, 999999999L, 20000 },
	{ "evicted", T_NUMBER, AT(evicted), 0, 999999999L, 100000 },
	{ "recipients", T_NUMBER, AT(recipients), 0, 999999999L, 20000 },
	{ "rcptminimum", T_NUMBER, AT(rcptminimum), 1, 10000, 10 },
	{ "rcptextra", T_NUMBER, AT(rcptextra), 0, 999999999L, 1000 },
	{ "refill", T_NUMBER, AT(refill), 1, 999999999L, 100 },
	{ "refilldelay", T_SPAN, AT(refilldelay), 1, 3600, 5 },
	{ "global-report-interval", T_SPAN, AT(reportevery), 0, YEARS, 300 },
	{ "bouncelimit", T_SPAN, AT(bouncelimit), 0, YEARS, 0 },
	{ "bouncesize", T_NUMBER, AT(bouncesize), 0, 999999999L, 65536L },
	{ "postmanage", T_SPAN, AT(postmanage), 0, YEARS, 2592000L },
	{ "reasons", T_NUMBER, AT(reasons), 1, USHRT_MAX - 1, 1000 },
	{ NULL, T_FLAG, 0, 0, 0, 0 }
#undef AT
};

/* What is one of a few words, by enum order and enum bounce_to. */
static const struct choice {
	const char *name[3], *bad;
} orders = {
	{ "random", "age", "preempt" }, "is not random, age or preempt"
}, bounces = {
	{ "sender", "none", "" }, "is neither sender nor none"
};

/* Other names of keywords, and those that are no more. */
static const struct {
	const char *name, *now;
} synonyms[] = {
	{ "maxtransport", "maxta" }, { "maxtransports", "maxta" },
	{ "maxchannels", "maxchannel" }, { "maxrings", "maxring" },
	{ "priority", "nice" }
}, retired[] = {
	{ "byhost", "put $host into the command instead" },
	{ "maxhost", "use maxthr instead" },
	{ "gangschedule", "leave it out: hosts are always scheduled as one" }
};

/* What ZMailer has and this program does without: PARAMs and keywords. */
static const char *const foreign[] = {
	"authfile", "msgwriteasync", "store-error-on-error",
	"sysnice", "syspriority", "deliveryform", "expiryform"
};

/* The row of that name; NULL: there is none. */
static const struct keyword *
row_of(const struct keyword *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/* The value of the keyword, in a setting or a config. */
static void *
place_of(void *values, const struct keyword *k)
{
	return (char *)values + k->at;
}

static long *
number_of(void *values, const struct keyword *k)
{
	return place_of(values, k);
}

/* A user's or group's number, by name or as it is: 0, or -1 when unknown. */
static int
id_of(enum type type, const char *name, long *id)
{
	const char *end;
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
	if (strcmp(name, type == T_USER ? "root" : "daemon") == 0) {
		*id = type == T_GROUP;
		return 0;
	}
	/* the largest ones stand for negative ones */
	*id = (long)num_of(name, &end);
	return end == name || *end != '\0' || end - name > 10 ? -1 : 0;
}

static void
set_defaults(void *values, const struct keyword *table)
{
	for (; table->name != NULL; table++)
		if (table->type <= T_BOUNCE)
			*number_of(values, table) = table->def;
}

/* The values that hold where no clause says otherwise. */
static void
default_setting(struct setting *v)
{
	static unsigned short retries[] = { 1, 1, 2, 3, 4, 8, 13, 21, 34 };

	memset(v, 0, sizeof(*v));
	set_defaults(v, keywords);
	v->fb.pos.form = v->fb.neg.form = FB_CONST;
	v->fb.pos.x = v->fb.neg.x = 1;
	v->retries.factor = retries;
	v->retries.n = (long)(sizeof(retries) / sizeof(retries[0]));
	(void)id_of(T_GROUP, "daemon", &v->gid);
}

static size_t
size_of(enum type type)
{
	static const size_t of[] = {	/* from T_RETRIES to T_TIMES */
		sizeof(struct retries), sizeof(char *),
		sizeof(struct fb_rule), sizeof(struct fb_rate),
		sizeof(struct times)
	};

	return type < T_RETRIES ? sizeof(long) : of[type - T_RETRIES];
}

/* ---- reading: tokens ------------------------------------------------- */

struct reader {
	const char *file;
	void	(*say)(const char *);
	char	*p;		/* the rest of the file; changed in place */
	char	*start;		/* of the line at hand */
	int	line, errors;
	const char *word;	/* the keyword or pattern at hand, or "-" ... */
	int	word_line;	/* ... and its line: errors name them */
	struct config *config;
	struct clause *at, **link;	/* the clause at hand, the list's end */
};

/* One error: what is wrong with the word at hand.  Words from the file are
 * shown in part (here and in f: "%.80s", each byte of which may become four),
 * so that the reason is never what is cut off. */
static LIKE_PRINTF(2, 3) void
wrong(struct reader *r, const char *f, ...)
{
	char text[PATH_MAX_ + 1024];
	struct text t;
	va_list ap;

	text_init(&t, text, sizeof(text));
	text_add(&t, "%s:%d: ", r->file, r->word_line);
	t.clean = 1;
	text_add(&t, "%.80s: ", *r->word == '\0' ? "-" : r->word);
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	r->errors++;
	r->say(text);
}

static int
is_blank(int c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

/* To the next token, over blanks, lines and comments: 1 when it stands in
 * the first column, 0 when further right, -1 at the end. */
static int
skip_to_token(struct reader *r)
{
	for (;;) {
		while (is_blank(*r->p))
			r->p++;
		if (*r->p == '#')
			r->p += strcspn(r->p, "\n");
		if (*r->p == '\0')
			return -1;
		if (*r->p != '\n')
			return r->p == r->start;
		r->line++;
		r->start = ++r->p;
	}
}

/* Ends the word that r->p is behind; what ended it is returned. */
static int
end_word(struct reader *r)
{
	int c = *r->p;

	if (c == '\n') {
		r->line++;
		r->start = r->p + 1;
	}
	if (c != '\0')
		*r->p++ = '\0';
	return c;
}

/* A value in double quotes: \" and \\ stand for " and \, a backslash at the
 * end of a line joins it to the next; other backslashes stay for the command
 * line.  NULL when the closing quote is missing on the line. */
static char *
quoted(struct reader *r)
{
	char *value = ++r->p, *to = value;

	for (; *r->p != '"'; r->p++) {
		if (*r->p == '\0' || *r->p == '\n')
			return NULL;
		if (r->p[0] == '\\' && r->p[1] == '\n') {
			r->p++;
			r->line++;
			r->start = r->p + 1;
			continue;
		}
		if (r->p[0] == '\\' && (r->p[1] == '"' || r->p[1] == '\\'))
			r->p++;
		*to++ = *r->p;
	}
	r->p++;
	*to = '\0';
	return value;
}

/* The value behind '=', which r->p is at; NULL after an error. */
static char *
take_value(struct reader *r)
{
	char *value;

	while (is_blank(*r->p))
		r->p++;
	if (*r->p == '\0' || *r->p == '\n' || *r->p == '#') {
		wrong(r, "there is no value behind the =");
		return NULL;
	}
	if (*r->p != '"') {
		value = r->p;
		while (*r->p != '\0' && !isspace((unsigned char)*r->p))
			r->p++;
		end_word(r);
		return value;
	}
	value = quoted(r);
	if (value == NULL) {
		wrong(r, "the closing \" is missing");
	} else if (*r->p != '\0' && !isspace((unsigned char)*r->p)) {
		r->word_line = r->line;
		wrong(r, "a blank is missing behind the closing \"");
		while (*r->p != '\0' && !isspace((unsigned char)*r->p))
			r->p++;
		return NULL;
	}
	return value;
}

/* ---- reading: values ------------------------------------------------- */

/*
 * Each of these takes a value as it stands in the file, quotes taken off.  One
 * that is wrong changes nothing.
 */

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

static void
set_number(struct reader *r, const struct keyword *k, long *to, const char *s)
{
	long n = 0;

	if (k->type == T_SPAN && span_parse(s, &n) < 0)
		wrong(r, "%.80s is no span of time such as "
		    "90, 10m or 1h5m20s", s);
	else if (k->type == T_NUMBER && whole(s, &n) < 0)
		wrong(r, "%.80s is no number", s);
	else if (n == 0 && (strcmp(k->name, "interval") == 0 ||
	    strcmp(k->name, "maxthr") == 0))
		*to = k->def;	/* as ZMailer has it */
	else if (n < k->min || n > k->max)
		wrong(r, "%.80s is not between %ld and %ld%s", s, k->min,
		    k->max, k->type == T_SPAN ? " seconds" : "");
	else
		*to = n;
}

static void
set_retries(struct reader *r, struct retries *to, char *s)
{
	unsigned short list[RETRIES_MAX], *factor;
	char *word;
	long n, count = 0;

	for (word = strtok(s, BLANKS); word != NULL;
	    word = strtok(NULL, BLANKS)) {
		if (whole(word, &n) < 0 || n < 0 || n > USHRT_MAX) {
			wrong(r, "%.80s is no number from 0 to %u", word,
			    (unsigned)USHRT_MAX);
			return;
		}
		if (count == RETRIES_MAX) {
			wrong(r, "these are more than %d", RETRIES_MAX);
			return;
		}
		list[count++] = (unsigned short)n;
	}
	factor = count > 0 ? mem_get((size_t)count * sizeof(*list)) : NULL;
	if (factor == NULL) {
		wrong(r, count > 0 ? "no memory" : "the list is empty");
		return;
	}
	memcpy(factor, list, (size_t)count * sizeof(*list));
	free(to->factor);
	to->factor = factor;
	to->n = count;
}

/* A list of ages, or none. */
static void
set_times(struct reader *r, const struct keyword *k, struct times *to, char *s)
{
	struct times list;
	char *word = strcmp(s, "none") == 0 ? NULL : strtok(s, BLANKS);
	long n;

	memset(&list, 0, sizeof(list));
	if (word == NULL && strcmp(s, "none") != 0) {
		wrong(r, "the list is empty; say none");
		return;
	}
	for (; word != NULL; word = strtok(NULL, BLANKS)) {
		if (span_parse(word, &n) < 0 || n < k->min || n > k->max) {
			wrong(r, "%.80s is no span of time from %ld to %ld "
			    "seconds", word, k->min, k->max);
			return;
		}
		if (list.n == TIMES_MAX) {
			wrong(r, "these are more than %d", TIMES_MAX);
			return;
		}
		if (list.n > 0 && n <= list.at[list.n - 1]) {
			wrong(r, "%.80s is not later than the one before",
			    word);
			return;
		}
		list.at[list.n++] = n;
	}
	*to = list;
}

/* NULL, or what is wrong with the word. */
static const char *
set_choice(const struct choice *c, long *to, const char *s)
{
	long i = 0;

	while (i < 3 && strcmp(s, c->name[i]) != 0)
		i++;
	if (i < 3)
		*to = i;
	return i < 3 ? NULL : c->bad;
}

/* TCP:port or TCP:address:port, or none. */
static const char *
check_port(const char *value)
{
	const char *host = value + 4, *port = strrchr(value, ':'), *end;
	unsigned long n;

	if (strcmp(value, "none") == 0)
		return NULL;
	if (strncmp(value, "TCP:", 4) != 0)
		return "is not TCP:port, TCP:address:port or none";
	if (port >= host && (port == host ||
	    host + strspn(host, "0123456789.") != port))
		return "names a host; its address, such as 127.0.0.1, is "
		    "needed";
	n = num_of(port + 1, &end);
	return end == port + 1 || *end != '\0' || n < 1 || n > 65535UL ?
	    "has no port from 1 to 65535" : NULL;
}

/* What is wrong with a text of this type; NULL: nothing. */
static const char *
check_text(enum type type, const char *s)
{
	enum cmd_bound bound;

	switch (type) {
	case T_COMMAND:
		return cmd_check(s, &bound);
	case T_PORT:
		return check_port(s);
	case T_HOST:
		return s[strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789.-"
		    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0' &&
		    strlen(s) < 256 ? NULL : "is no host's name";
	default:
		return *s == '/' || strstr(s, "${") != NULL ||
		    (type == T_PATH && strncmp(s, "UNIX:/", 6) == 0) ? NULL :
		    "is no absolute path";
	}
}

static void
set_text(struct reader *r, const struct keyword *k, char **to, const char *s)
{
	const char *bad = check_text(k->type, s);
	char *copy;

	if (bad != NULL && k->type == T_COMMAND) {
		wrong(r, "%s", bad);
	} else if (bad != NULL) {
		wrong(r, "%.80s %s", s, bad);
	} else if ((copy = mem_dup(s)) == NULL) {
		wrong(r, "no memory");
	} else {
		free(*to);
		*to = copy;
	}
}

/* The port of a service, ZMailer's own when there is none of that name. */
static unsigned
port_of(const struct reader *r, const char *name)
{
#ifndef NO_TCP
	struct servent *service = getservbyname(name, "tcp");

	if (service != NULL)
		return ntohs((unsigned short)service->s_port);
#endif
	log_warn("config %s:%d: %s: there is no service %s, it is %u",
	    r->file, r->word_line, r->word, name, PORT);
	return PORT;
}

/* Where mailq asks, in our words: ZMailer has a number alone, the name of a
 * service, and the path of a socket. */
static const char *
usual_port(const struct reader *r, const char *s, char to[40])
{
	const char *port = strncmp(s, "TCP:", 4) == 0 ? s + 4 : s;
	char name[30];

	if (*s == '/' || strncmp(s, "UNIX:/", 6) == 0) {
		log_warn("config %s:%d: %s: there is no such socket, mailq "
		    "asks through its pipe", r->file, r->word_line, r->word);
		return "none";
	}
	if (text_fmt(name, sizeof(name), "%.*s", (int)strcspn(port, "@"),
	    port) < 0)
		return s;
	if (*name != '\0' && name[strspn(name, "0123456789")] == '\0')
		text_fmt(to, 40, "TCP:%s", name);
	else if (port != s && isalpha((unsigned char)*name) &&
	    strchr(name, ':') == NULL)
		text_fmt(to, 40, "TCP:%u", port_of(r, name));
	else
		return s;
	return to;
}

static void
set_value(struct reader *r, const struct keyword *k, void *values, char *s)
{
	const char *bad = NULL;
	char port[40];
	void *to = place_of(values, k);

	switch (k->type) {
	case T_SPAN:
	case T_NUMBER:
		set_number(r, k, to, s);
		break;
	case T_USER:
	case T_GROUP:
		if (id_of(k->type, s, to) < 0)
			wrong(r, "there is no %s %.80s", k->name, s);
		break;
	case T_ORDER:
	case T_BOUNCE:
		bad = set_choice(k->type == T_ORDER ? &orders : &bounces, to,
		    s);
		break;
	case T_RETRIES:
		set_retries(r, to, s);
		break;
	case T_RULE:
		bad = fb_rule_parse(s, to);
		break;
	case T_RATE:
		bad = fb_rate_parse(s, to);
		break;
	case T_TIMES:
		set_times(r, k, to, s);
		break;
	case T_PORT:
		set_text(r, k, to, usual_port(r, s, port));
		break;
	default:
		set_text(r, k, to, s);
	}
	if (bad != NULL)
		wrong(r, "%.80s %s", s, bad);
}

/* ---- reading: keywords ----------------------------------------------- */

/* How much of them is alike at both ends, and how little is not. */
static int
likeness(const char *a, const char *b)
{
	int na = (int)strlen(a), nb = (int)strlen(b), begin = 0, end = 0;

	while (begin < na && begin < nb && a[begin] == b[begin])
		begin++;
	while (end < na - begin && end < nb - begin &&
	    a[na - end - 1] == b[nb - end - 1])
		end++;
	return 2 * (begin + end) - na - nb;
}

/* The known keyword that is nearest. */
static const char *
nearest(const char *word)
{
	const struct keyword *k, *best = keywords;

	for (k = keywords; k->name != NULL; k++)
		if (likeness(word, k->name) > likeness(word, best->name))
			best = k;
	return best->name;
}

static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* The keyword, by any of its names; NULL: it is none. */
static const struct keyword *
keyword_of(const char *word)
{
	size_t i;

	for (i = 0; i < sizeof(synonyms) / sizeof(synonyms[0]); i++)
		if (strcmp(word, synonyms[i].name) == 0)
			word = synonyms[i].now;
	return row_of(keywords, word);
}

static int
is_foreign(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strcmp(name, foreign[i]) == 0)
			return 1;
	return 0;
}

static void
pass_over(const struct reader *r)
{
	log_warn("config %s:%d: %s: has no meaning here and is passed over",
	    r->file, r->word_line, r->word);
}

/* The same for the word at hand, after saying why there is none. */
static const struct keyword *
find_keyword(struct reader *r)
{
	const struct keyword *k = keyword_of(r->word);
	size_t i;

	if (k != NULL)
		return k;
	if (*r->word == '\0') {
		wrong(r, "there is no keyword before the =");
		return NULL;
	}
	for (i = 0; i < sizeof(retired) / sizeof(retired[0]); i++)
		if (strcmp(r->word, retired[i].name) == 0) {
			wrong(r, "is no longer a keyword: %s",
			    retired[i].now);
			return NULL;
		}
	if (is_foreign(r->word)) {
		pass_over(r);
		return NULL;
	}
	wrong(r, "is no keyword; the nearest one is %s", nearest(r->word));
	return NULL;
}

/* keyword, or keyword = value; r->p is at it.  One that is wrong counts too:
 * an error does not make the clause an empty one. */
static void
take_keyword(struct reader *r)
{
	const struct keyword *k;
	char *word = r->p, *value = NULL;
	int given, flag, c;

	r->word = word;
	r->word_line = r->line;
	while (*r->p != '\0' && *r->p != '=' && !isspace((unsigned char)*r->p))
		r->p++;
	c = end_word(r);
	while (is_blank(c) && is_blank(*r->p))
		r->p++;
	if (is_blank(c) && *r->p == '=')
		c = *r->p++;
	given = c == '=';
	lower(word);
	k = find_keyword(r);
	if (r->at != NULL)
		r->at->filled = 1;
	if (r->at != NULL && k != NULL)
		r->at->given[k - keywords] = 1;
	if (given && (value = take_value(r)) == NULL)
		return;
	if (k == NULL)
		return;
	flag = k->type == T_FLAG || k->type == T_AGE;
	if (r->at == NULL)
		wrong(r, "stands before any pattern");
	else if (flag && given)
		wrong(r, "takes no value");
	else if (flag)
		*number_of(&r->at->v, k) = 1;
	else if (!given || *value == '\0')
		wrong(r, "a value is missing: %s=...", word);
	else
		set_value(r, k, &r->at->v, value);
}

/* ---- reading: the first column --------------------------------------- */

/* Is the word a keyword, up to its '='? */
static int
is_keyword(const char *word)
{
	char name[32];

	if (text_fmt(name, sizeof(name), "%.*s", (int)strcspn(word, "="),
	    word) < 0)
		return 0;
	lower(name);
	return keyword_of(name) != NULL;
}

/* A keyword alone is a pattern, too; a channel of that name is rare.  What
 * -n is to say is said, as it has no log. */
static void
doubt(struct reader *r)
{
	const char *word = r->word;
	char text[PATH_MAX_ + 200];

	text_fmt(text, sizeof(text), "%s:%d: %s: is a keyword in the first "
	    "column, taken for the pattern %s/*; put a blank before the "
	    "keyword, or write %s/*", r->file, r->word_line, word, word,
	    word);
	if (log_level < L_WARN)
		r->say(text);
	else
		log_warn("config %s", text);
}

/* A token in the first column that is no PARAM begins a clause. */
static void
take_pattern(struct reader *r, char *word)
{
	int keyword = is_keyword(word);
	const char *why = keyword && strchr(word, '=') != NULL ? "is a keyword "
	    "and must not stand in the first column" : pat_check(word);
	struct clause *c;

	if (why != NULL)
		wrong(r, "%s", why);
	else if (keyword)
		doubt(r);
	r->at = c = mem_get(sizeof(*c));
	if (c == NULL || (c->text = mem_dup(word)) == NULL) {
		wrong(r, "no memory");
		free(c);
		r->at = NULL;
		return;
	}
	c->line = r->word_line;
	if (why == NULL && (c->patterns = pat_expand(word)) == NULL)
		wrong(r, "makes too many alternatives; write more than one "
		    "pattern");
	*r->link = c;
	r->link = &c->next;
}

/* Nobody knows the parameter: says which there are. */
static void
unknown_param(struct reader *r)
{
	char list[500];
	const struct keyword *k;
	struct text t;

	text_init(&t, list, sizeof(list));
	for (k = params; k->name != NULL; k++)
		text_add(&t, " PARAM%s", k->name);
	wrong(r, "is not known; those with a meaning here are%s", list);
}

/* PARAMname value, or PARAMname=value. */
static void
take_param(struct reader *r, const char *name, char *value)
{
	const struct keyword *k = row_of(params, name);

	if (value == NULL || *value == '\0')
		wrong(r, "a value is missing");
	else if (k != NULL)
		set_value(r, k, r->config, value);
	else if (is_foreign(name))
		pass_over(r);
	else
		unknown_param(r);
}

/* PARAM and a name; in small letters only with one that there is, as it may be
 * a channel. */
static int
is_param(const char *word)
{
	char name[32];

	if (strncmp(word, "PARAM", 5) == 0)
		return 1;
	if (text_fmt(name, sizeof(name), "%.*s",
	    (int)strcspn(word, "= \t\r\n"), word) < 0)
		return 0;
	lower(name);
	return strncmp(name, "param", 5) == 0 &&
	    (row_of(params, name + 5) != NULL || is_foreign(name + 5));
}

/* The token in the first column that r->p is at. */
static void
take_first(struct reader *r)
{
	char *word = r->p, *value = NULL;
	int param = is_param(word), c;

	r->word = word;
	r->word_line = r->line;
	while (*r->p != '\0' && !isspace((unsigned char)*r->p) &&
	    !(param && *r->p == '='))
		r->p++;
	c = end_word(r);
	if (!param) {
		take_pattern(r, word);
		return;
	}
	while (c != '\n' && is_blank(*r->p))
		r->p++;
	if (c != '\n' && *r->p == '=')
		r->p++;
	if (c != '\n')
		value = take_value(r);
	lower(word + 5);
	if (value != NULL || c == '\n')
		take_param(r, word + 5, value);
}

/* ---- the whole file -------------------------------------------------- */

/* Clauses without keywords take the contents of the next that has some. */
static void
fill_empty(struct reader *r)
{
	struct clause *c, *full;

	for (c = r->config->clauses; c != NULL; c = c->next) {
		if (c->filled)
			continue;
		for (full = c; full != NULL && !full->filled; )
			full = full->next;
		if (full == NULL) {
			r->word = c->text;
			r->word_line = c->line;
			wrong(r, "is empty, and no clause with keywords comes "
			    "after it");
			continue;
		}
		for (; c != full; c = c->next) {
			c->filled = 1;
			memcpy(c->given, full->given, sizeof(c->given));
			c->v = full->v;
		}
	}
}

/* The whole file, NUL at its end; NULL after saying why not. */
static char *
slurp(struct reader *r)
{
	FILE *f = fopen(r->file, "r");
	char *s = NULL;
	size_t n = 0;

	if (f == NULL) {
		wrong(r, "cannot be read: %s", strerror(errno));
		return NULL;
	}
	s = mem_get(FILE_MOST + 1);
	if (s == NULL)
		wrong(r, "no memory");
	else
		n = fread(s, 1, FILE_MOST + 1, f);
	if (s != NULL && ferror(f))
		wrong(r, "cannot be read: %s", strerror(errno));
	else if (n > FILE_MOST)
		wrong(r, "is larger than %ld bytes", FILE_MOST);
	else if (n > 0 && memchr(s, '\0', n) != NULL)
		wrong(r, "has a NUL byte: it is no text file");
	fclose(f);
	if (r->errors == 0)
		return s;
	free(s);
	return NULL;
}

struct config *
cf_load(const char *file, void (*say)(const char *))
{
	struct reader r;
	char *text;
	int column;

	memset(&r, 0, sizeof(r));
	r.file = file;
	r.say = say;
	r.line = 1;
	r.word = "-";
	r.config = mem_get(sizeof(*r.config));
	if (r.config == NULL) {
		wrong(&r, "no memory");
		return NULL;
	}
	set_defaults(r.config, params);
	r.link = &r.config->clauses;
	r.p = r.start = text = slurp(&r);
	while (text != NULL && (column = skip_to_token(&r)) >= 0)
		if (column == 1)
			take_first(&r);
		else
			take_keyword(&r);
	free(text);
	fill_empty(&r);
	if (r.errors == 0)
		return r.config;
	cf_free(r.config);
	return NULL;
}

void
cf_free(struct config *config)
{
	const struct keyword *k;
	struct clause *c, *next;
	struct conf *f, *after;

	for (c = config->clauses; c != NULL; c = next) {
		next = c->next;
		pat_free(c->patterns);
		free(c->text);
		/* what an empty clause took belongs to the one behind it */
		if (next == NULL || next->v.command != c->v.command)
			free(c->v.command);
		if (next == NULL ||
		    next->v.retries.factor != c->v.retries.factor)
			free(c->v.retries.factor);
		free(c);
	}
	for (f = config->confs; f != NULL; f = after) {
		after = f->next;
		free(f);
	}
	for (k = params; k->name != NULL; k++)
		if (k->type > T_BOUNCE)
			free(*(char **)place_of(config, k));
	free(config->dsn);
	free(config);
}

/* ---- what holds for an address --------------------------------------- */

static int
clause_matches(const struct clause *c, const char *address)
{
	char **p;

	for (p = c->patterns; *p != NULL; p++)
		if (pat_means(*p, address))
			return 1;
	return 0;
}

/* The clauses for the address, up to the first with a command, in an array
 * that is good until the next call; their number in *n.  NULL: no memory. */
static const struct clause **
matching(const struct config *config, const char *address, unsigned *n)
{
	static const struct clause **v;
	static unsigned size;
	const struct clause **bigger;
	const struct clause *c;

	*n = 0;
	for (c = config->clauses; ; c = c->next) {
		if (*n == size) {
			bigger = realloc(v, (size + 16) * sizeof(*v));
			if (bigger == NULL)
				return NULL;
			v = bigger;
			size += 16;
		}
		if (c == NULL)
			return v;
		if (!clause_matches(c, address))
			continue;
		v[(*n)++] = c;
		if (c->v.command != NULL)
			return v;
	}
}

/* Lays what the clause sets over v; lists and command stay the clause's. */
static void
lay_over(struct setting *v, const struct clause *c)
{
	const struct keyword *k;

	for (k = keywords; k->name != NULL; k++)
		if (c->given[k - keywords])
			memcpy((char *)v + k->at, (const char *)&c->v + k->at,
			    size_of(k->type));
}

/* Does one of the clauses set how many agents a destination may have? */
static int
gives_maxthr(const struct conf *f)
{
	long k = (long)(row_of(keywords, "maxthr") - keywords);
	unsigned i;

	for (i = 0; i < f->nfrom && !f->from[i]->given[k]; i++)
		;
	return i < f->nfrom;
}

/* What holds for mail to a host of "-": one agent for a mailbox, any number
 * for messages to several. */
static void
set_local(struct conf *f)
{
	f->split = !gives_maxthr(f) && f->v.fb.rate.n == 0;
	f->box = f->local = f->v.fb;
	f->box.limit = f->box.init = f->box.cohorts = 1;
	f->local.limit = f->local.cohorts = 0;
	f->local.init = LOCAL_MOST;
	f->local.neg.form = FB_CONST;
	f->local.neg.x = 0;	/* its window never shrinks */
}

/* The command of the agent dsn; made once for each configuration. */
static char *
dsn_command(struct config *c)
{
	char line[2 * PATH_MAX_];
	struct text t;

	text_init(&t, line, sizeof(line));
	text_add(&t, "dsn -d ${MAILSHARE}/forms -p %ld -s %ld",
	    c->bouncelimit, c->bouncesize);
	if (c->mailname != NULL)
		text_add(&t, " -n '%s'", c->mailname);
	if (c->routernotify != NULL)
		text_add(&t, " -r '%s'", c->routernotify);
	if (c->dsn == NULL)
		c->dsn = mem_dup(line);
	return c->dsn;
}

/* What holds for the channel dsn when no clause names it: the agent is our own,
 * and runs as we do, to whom transport/ belongs. */
static void
default_dsn(struct setting *v, struct config *config)
{
	static unsigned short retries[] = { 1, 2, 4, 8, 12 };

	v->interval = 5;
	v->retries.factor = retries;
	v->retries.n = (long)(sizeof(retries) / sizeof(retries[0]));
	v->timeout = DSN_TIMEOUT;
	v->idlemax = config->bouncelimit + DSN_IDLE;
	v->overfeed = DSN_OVERFEED;
	v->order = ORDER_AGE;
	v->fb.cohorts = 0;
	v->uid = (long)geteuid();
	v->gid = (long)getegid();
	v->command = dsn_command(config);
}

/* ... and what no clause can change. */
static void
fix_dsn(struct setting *v)
{
	v->expiry = v->queueonly = v->wakeuprestartonly = v->reports.n = 0;
	v->maxta = v->maxchannel = 0;
	v->maxring = v->fb.limit = 1;
	v->bounce = BOUNCE_SENDER;
}

static struct conf *
make_conf(struct config *config, int dsn, const struct clause **from,
    unsigned n)
{
	struct conf *f;
	unsigned i;

	f = mem_get(sizeof(*f) + n * sizeof(*from));
	if (f == NULL)
		return NULL;
	f->config = config;
	f->dsn = dsn;
	f->nfrom = n;
	default_setting(&f->v);
	if (dsn)
		default_dsn(&f->v, config);
	for (i = 0; i < n; i++) {
		f->from[i] = from[i];
		lay_over(&f->v, from[i]);
	}
	if (dsn)
		fix_dsn(&f->v);
	if (f->v.idlemax == 0)
		f->v.idlemax = 3 * f->v.interval;
	if (f->v.command != NULL)
		cmd_check(f->v.command, &f->bound);
	set_local(f);
	f->next = config->confs;
	config->confs = f;
	return f;
}

struct conf *
cf_match(struct config *config, const char *channel, const char *host)
{
	char address[2 * WORD_MAX_];
	const struct clause **from;
	struct conf *f;
	int dsn = strcmp(channel, "dsn") == 0;
	unsigned n;

	text_fmt(address, sizeof(address), "%s/%s", channel, host);
	lower(address);
	from = matching(config, address, &n);
	if (from == NULL)
		return NULL;
	for (f = config->confs; f != NULL; f = f->next)
		if (f->dsn == dsn && f->nfrom == n && (n == 0 ||
		    memcmp(f->from, from, n * sizeof(*from)) == 0))
			return f;
	return make_conf(config, dsn, from, n);
}

/* ---- for a person to read -------------------------------------------- */

/* A span with all its units, such as 1d1h1m1s, as the language reads it; good
 * until the next call. */
static const char *
exact_span(long n)
{
	static const struct { long unit; int letter; } units[] = {
		{ 86400L, 'd' }, { 3600L, 'h' }, { 60L, 'm' }, { 1L, 's' }
	};
	static char span[40];
	struct text t;
	int i;

	text_init(&t, span, sizeof(span));
	for (i = 0; i < 4; n %= units[i++].unit)
		if (n >= units[i].unit)
			text_add(&t, "%ld%c", n / units[i].unit,
			    units[i].letter);
	return t.len == 0 ? "0s" : span;
}

/* "value", so that it can be read back. */
static void
print_quoted(const char *s, FILE *out)
{
	putc('"', out);
	for (; *s != '\0'; s++) {
		if (*s == '"' || *s == '\\')
			putc('\\', out);
		putc(*s, out);
	}
	fprintf(out, "\"\n");
}

/* What is no number, its keyword being written. */
static void
print_other(const struct keyword *k, const struct setting *v, FILE *out)
{
	static const char *const by[] = { "", "/concurrency",
	    "/sqrt_concurrency" };
	const struct fb_rule *rule = k->at == offsetof(struct setting, fb.pos) ?
	    &v->fb.pos : &v->fb.neg;
	long i;

	switch (k->type) {
	case T_RETRIES:
		for (i = 0; i < v->retries.n; i++)
			fprintf(out, "%s%u", i > 0 ? " " : "\"",
			    (unsigned)v->retries.factor[i]);
		fprintf(out, "\"\n");
		break;
	case T_COMMAND:
		print_quoted(v->command, out);
		break;
	case T_RULE:
		fprintf(out, "%.10g%s\n", rule->x, by[rule->form]);
		break;
	case T_RATE:
		fprintf(out, "%ld/%lds\n", v->fb.rate.n, v->fb.rate.per);
		break;
	default:	/* T_TIMES */
		for (i = 0; i < v->reports.n; i++)
			fprintf(out, "%s%s", i > 0 ? " " : "\"",
			    exact_span(v->reports.at[i]));
		fprintf(out, "%s\"\n", v->reports.n == 0 ? "\"none" : "");
	}
}

static void
print_value(struct setting *v, const struct keyword *k, FILE *out)
{
	long n = k->type <= T_BOUNCE ? *number_of(v, k) : 0;

	if (k->type == T_FLAG && n)
		fprintf(out, "\t%s\n", k->name);
	if (k->type == T_COMMAND && v->command == NULL)
		fprintf(out, "\t# no command: such mail waits\n");
	if (k->type == T_FLAG || k->type == T_AGE ||	/* order says it */
	    (k->type == T_COMMAND && v->command == NULL) ||
	    (k->type == T_RATE && v->fb.rate.n == 0))
		return;
	fprintf(out, "\t%s=", k->name);
	if (k->type == T_SPAN)
		fprintf(out, "%s\n", exact_span(n));
	else if (k->type == T_ORDER || k->type == T_BOUNCE)
		fprintf(out, "%s\n", (k->type == T_ORDER ? &orders :
		    &bounces)->name[n]);
	else if (k->type < T_BOUNCE)
		fprintf(out, "%ld\n", n);
	else
		print_other(k, v, out);
}

/* The clauses that matched, the values that came of them as one clause of the
 * language, which could be read back, and the first retries. */
void
cf_explain(struct config *config, const char *channel, const char *host,
    FILE *out)
{
	struct conf *f = cf_match(config, channel, host);
	const struct keyword *k;
	long i, sum = 0;

	if (f == NULL)
		return;
	fprintf(out, "# %s/%s matches\n", channel, host);
	for (i = 0; i < (long)f->nfrom; i++)
		fprintf(out, "#\tline %d: %s\n", f->from[i]->line,
		    f->from[i]->text);
	if (f->nfrom == 0)
		fprintf(out, "#\tno clause\n");
	fprintf(out, "%s/%s\n", channel, host);
	for (k = keywords; k->name != NULL; k++)
		print_value(&f->v, k, out);
	fprintf(out, "# tried at arrival, and again after\n#");
	for (i = 0; i < RETRIES_SHOWN && sum <= LONG_MAX / 2; i++) {
		if (i == f->v.retries.n)
			fprintf(out, "\n# then goes on from a random place of "
			    "the list; for example after\n#");
		sum += retry_factor(&f->v, (unsigned)(i % f->v.retries.n));
		fprintf(out, " %s", exact_span(sum));
	}
	fprintf(out, "\n# (each moved towards a multiple of interval, the "
	    "%ldth onto it)\n", f->v.skew);
}
