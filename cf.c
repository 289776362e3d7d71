/*
 * cf.c - the clause language: its keywords, its reader, and the settings for
 * an address.
 *
 *	smtp/mail.example.org	interval=10m retries="1 2 5"
 *	smtp			maxta=20 command="smtp -s"
 *
 * Both clauses match smtp/mail.example.org: its mail waits 10, then 20,
 * then 50 minutes, and is tried by at most 20 agents of the command
 * "smtp -s".
 *
 * A token in the first column is a pattern and begins a clause, or it is a
 * PARAMname.  Every other token is a keyword of the clause before it.  '#' at
 * the beginning of a token starts a comment.  A clause without keywords uses
 * the keywords of the next clause that has any, but stays a clause of its own.
 *
 * An address "channel/host" is matched against the patterns in order.  Each
 * matching clause overrides the settings before it; the first one with a
 * command ends the search.  The result is a conf.  Each combination of clauses
 * has one conf, and another one for the channel dsn: addresses that matched the
 * same clauses have the same pointer.  A conf and a channel make a ring.
 *
 * Keywords and PARAMs are rows of two tables: name, type, place of the value,
 * limits and default.  A new configuration is built beside the old one.  Each
 * error of the file is given to the caller as "file:line: keyword: reason", and
 * after any such error the new configuration is freed.  The caller also gets
 * notices of values that are taken in another meaning, and of words that have
 * none here.
 */
#include "scheduler.h"
#include <ctype.h>

#ifndef NO_PWD
#include <grp.h>
#include <pwd.h>
#endif

#define FILE_MOST	250000L		/* bytes in a configuration */
#define DSN_IDLE	300	/* seconds that an idle ta/dsn is kept after the
				 * pause between DSNs */
#define LOCAL_MOST	1000000L	/* agents: more than there can be */
#define ID_MOST		4294967294UL	/* (uid_t)-1 is no id */
#define BLANKS		" \t\n"		/* between the words of a list */

/* reading: a config, with the members that this module alone uses. */
struct reading {
	struct config config;	/* the first member, for conversions */
	char	*text;		/* the words of the file; settings point here */
	struct setting defaults;	/* values before any clause */
	const struct clause **matched;	/* clauses that cf_match collects, with
					 * room for all */
	struct conf *confs;
	long	bouncelimit;	/* seconds between DSNs on failures to one
				 * sender; 0: no pause */
	long	bouncesize;	/* bytes of a message that are returned */
	const char *dsnoptions;	/* PARAMdsn: more options of the agent dsn */
	char	*dsn;		/* command of the channel dsn */
};

/* ---- the tables ------------------------------------------------------ */

const struct keyword cf_keywords[] = {
#define AT(m) offsetof(struct setting, m), sizeof(((struct setting *)0)->m)
	/* when mail is tried, and given up */
	{ "interval", T_SPAN, AT(interval), 0, SPAN_MOST, "0" },
	{ "idlemax", T_SPAN, AT(idlemax), 0, SPAN_MOST, "0" },
	{ "expiry", T_SPAN, AT(expiry), 0, SPAN_MOST, "3d" },
	{ "expiry2", T_SPAN, AT(expiry2), 0, SPAN_MOST, "1d" },
	{ "timeout", T_SPAN, AT(timeout), 1, SPAN_MOST, "6h" },
	{ "retries", T_RETRIES, AT(retries), 0, USHRT_MAX,
	    "1 1 2 3 4 8 13 21 34" },
	/* how many agents, and how often for one destination */
	{ "maxta", T_NUMBER, AT(maxta), 0, 1000000L, "0" },
	{ "maxchannel", T_NUMBER, AT(maxchannel), 0, 1000000L, "0" },
	{ "maxring", T_NUMBER, AT(maxring), 0, 1000000L, "0" },
	{ "maxthr", T_NUMBER, AT(fb.limit), 0, 1000000L, "0" },
	{ "initthr", T_NUMBER, AT(fb.init), 1, 1000000L, "5" },
	{ "posfeedback", T_RULE, AT(fb.pos), 0, 0, "1" },
	{ "negfeedback", T_RULE, AT(fb.neg), 0, 0, "1" },
	{ "cohorts", T_NUMBER, AT(fb.cohorts), 0, 1000000L, "1" },
	{ "rate", T_RATE, AT(fb.rate), 0, 0, NULL },
	{ "forget", T_SPAN, AT(forget), 0, SPAN_MOST, "1h" },
	/* agents: jobs, life, priority, user and group */
	{ "overfeed", T_NUMBER, AT(overfeed), 0, 10000, "0" },
	{ "backlog", T_NUMBER, AT(backlog), 0, 10000, "0" },
	{ "maxrcpts", T_NUMBER, AT(maxrcpts), 0, PORTION_MOST, "0" },
	{ "maxage", T_SPAN, AT(maxage), 0, SPAN_MOST, "0" },
	{ "maxjobs", T_NUMBER, AT(maxjobs), 0, 1000000L, "0" },
	{ "skew", T_NUMBER, AT(skew), 1, 1000000L, "5" },
	{ "nice", T_NUMBER, AT(nice), -40, 39, "0" },
	{ "user", T_USER, AT(uid), 0, 0, "0" },
	{ "group", T_GROUP, AT(gid), 0, 0, "daemon" },
	/* warnings */
	{ "reporttimes", T_TIMES, AT(warn_ages), 1, SPAN_MOST, "none" },
	{ "delayreport", T_FLAG, AT(delayreport), 0, 1, NULL },
	/* the command, and which vertices go, in which order */
	{ "command", T_COMMAND, AT(command), 0, 0, NULL },
	{ "bychannel", T_FLAG, 0, 0, 0, 1, NULL },
	{ "queueonly", T_FLAG, AT(queueonly), 0, 1, NULL },
	{ "order", T_ORDER, AT(order), 0, 0, "random" },
	{ "slotcost", T_NUMBER, AT(slotcost), 0, 1000, "5" },
	{ "slotloan", T_NUMBER, AT(slotloan), 0, 1000000L, "3" },
	{ "slotdiscount", T_NUMBER, AT(slotdiscount), 0, 100, "50" },
	{ "minslots", T_NUMBER, AT(minslots), 0, 1000, "3" },
	{ "wakeuprestartonly", T_FLAG, AT(wakeuprestartonly), 0, 1, NULL },
	{ "feedbackdebug", T_FLAG, AT(feedbackdebug), 0, 1, NULL },
	{ NULL, T_FLAG, 0, 0, 0, 0, NULL }
#undef AT
};

/* The PARAMs.  Their names are here without "PARAM". */
static const struct keyword params[] = {
#define AT(m) offsetof(struct config, m), sizeof(((struct config *)0)->m)
#define OWN(m) offsetof(struct reading, m), sizeof(((struct reading *)0)->m)
#define PARAM_MOST 999999999L
	/* sockets, files and names */
	{ "notifysock", T_SOCKET, AT(notifysock), 0, 0,
	    "${POSTOFFICE}/.scheduler.notify" },
	{ "mailqsock", T_PORT, AT(mailqsock), 0, 0, NULL },
	{ "destdb", T_FILE, AT(destdb), 0, 0, NULL },
	{ "routernotify", T_SOCKET, AT(routernotify), 0, 0, NULL },
	{ "mailname", T_HOST, AT(mailname), 0, 0, NULL },
	/* bounds of one message, and of core */
	{ "msgconcurrency", T_NUMBER, AT(msgconcurrency), 1, 1000000L, "20" },
	{ "msgscale", T_NUMBER, AT(msgscale), 0, 1000000L, "10" },
	{ "active", T_NUMBER, AT(active), 0, PARAM_MOST, "20000" },
	{ "evicted", T_NUMBER, AT(evicted), 0, PARAM_MOST, "100000" },
	{ "recipients", T_NUMBER, AT(recipients), 0, PARAM_MOST, "20000" },
	/* DSNs, reasons and the log */
	{ "global-report-interval", T_SPAN, AT(reportevery), 0, SPAN_MOST,
	    "300" },
	{ "bouncelimit", T_SPAN, OWN(bouncelimit), 0, SPAN_MOST, "0" },
	{ "dsn", T_COMMAND, OWN(dsnoptions), 0, 0, NULL },
	{ "bouncesize", T_NUMBER, OWN(bouncesize), 0, PARAM_MOST, "65536" },
	{ "reasons", T_NUMBER, AT(reasons), 1, USHRT_MAX - 1, "1000" },
	{ "logaddresses", T_ANSWER, AT(logaddresses), 0, 0, "yes" },
	{ NULL, T_FLAG, 0, 0, 0, 0, NULL }
#undef AT
};

/* A row for each of T_ORDER and T_ANSWER: the text of the error for a wrong
 * word, and the words in the order of their values. */
static const char *const choices[][5] = {
	{ "is not random, age or preempt", "random", "age", "preempt", NULL },
	{ "is neither yes nor no", "no", "yes", NULL }
};

struct pair {
	const char *name, *value;
};

/* Other names of keywords, and former keywords. */
static const struct pair synonyms[] = {
	{ "maxtransport", "maxta" }, { "maxtransports", "maxta" },
	{ "maxchannels", "maxchannel" }, { "maxrings", "maxring" },
	{ "priority", "nice" }, { "ageorder", "order" }, { NULL, NULL }
}, retired[] = {
	{ "byhost", "put $host into the command instead" },
	{ "maxhost", "use maxthr instead" },
	{ "bounce", "instead of bounce=none write "
	    "PARAMdsn=\"-x 'channel/host'\" with the pattern of its clause" },
	{ "gangschedule", "leave it out: the mail of a host is always "
	    "scheduled together" },
	{ NULL, NULL }
};

/* PARAMs and keywords of ZMailer and of earlier versions that have no effect
 * here, with advice for a PARAM; "": none. */
static const struct pair foreign[] = {
	{ "authfile", "" }, { "msgwriteasync", "" },
	{ "store-error-on-error", "" }, { "sysnice", "" },
	{ "syspriority", "" }, { "deliveryform", "" }, { "expiryform", "" },
	{ "postmanage", "is now set in $MAILSHARE/routes, for submit -q" },
	{ "rcptminimum", "" }, { "rcptextra", "" }, { "refill", "" },
	{ "refilldelay", "" },
	{ NULL, NULL }
};

/* PARAMs that have a name in the file of -Z, too. */
static const struct pair variables[] = {
	{ "notifysock", "SCHEDULERNOTIFY" }, { "routernotify", "ROUTERNOTIFY" },
	{ "mailname", "ORGDOMAIN" }, { NULL, NULL }
};

/* The settings of the channel dsn: defaults before any clause, and settings
 * that no clause can change. */
static const struct pair dsn_defaults[] = {
	{ "interval", "5" }, { "retries", "1 2 4 8 12" },
	{ "timeout", "30m" }, { "overfeed", "10" }, { "order", "age" },
	{ "cohorts", "0" }, { NULL, NULL }
}, dsn_fixed[] = {
	{ "expiry", "0" }, { "reporttimes", "none" }, { "maxta", "0" },
	{ "maxchannel", "1" }, { "maxring", "1" }, { "maxthr", "1" },
	{ "queueonly", "0" }, { "wakeuprestartonly", "0" }, { NULL, NULL }
};

/* The result of the last cmd_split; it is large for the stack of a small
 * host. */
static struct command split;

/* Splits the command of a clause.  Returns NULL, or what is wrong with it. */
static const char *
split_command(const char *s)
{
	return cmd_split(s, "c", "h", NULL, &split);
}

/* Returns the row of that name, or NULL. */
static const struct keyword *
find_row(const struct keyword *table, const char *name)
{
	for (; table->name != NULL; table++)
		if (strcmp(table->name, name) == 0)
			return table;
	return NULL;
}

/* Returns the value of that name, or NULL. */
static const char *
find_value(const struct pair *table, const char *name)
{
	while (table->name != NULL && strcmp(table->name, name) != 0)
		table++;
	return table->value;
}

/* Returns the keyword with that name or synonym, or NULL. */
static const struct keyword *
find_keyword(const char *word)
{
	const char *other = find_value(synonyms, word);

	return find_row(cf_keywords, other != NULL ? other : word);
}

/* ---- reading: tokens ------------------------------------------------- */

/*
 * One file is read at a time.  It is in memory and is cut into words in place:
 * values of settings point to them, and stay as long as the configuration does.
 * In
 *
 *	smtp	interval = 10m command="smtp -s"	# comment
 *
 * the tokens are a pattern, as the word stands in the first column, and two
 * keywords with values; blanks beside '=' and the quotes are no part of them.
 */
static struct {
	const char *file;
	void	(*say)(enum finding, const char *line);
	char	*p;		/* the rest of the line; changed in place */
	char	*next;		/* the next line; NULL: there is none */
	int	line, errors;
	int	temporary;	/* errors that may be temporary, a part of
				 * errors */
	const char *word;	/* the keyword or pattern that errors name, or
				 * "-" */
	int	word_line;	/* the line of word */
	const char *bare;	/* the last keyword of this line whose value has
				 * no quotes, or NULL; "": an error about words
				 * behind that value was reported */
	struct config *config;
	struct clause *at;	/* the current clause, or NULL */
	struct clause **link;	/* the end of the list of clauses */
	size_t	clauses;	/* clauses so far */
} rd;

/* Gives the caller the reason, with the place and the current word before it,
 * and counts an error.  Words from the file are cut at 80 bytes, each of which
 * may become four, so that the reason always fits. */
static LIKE_PRINTF(2, 3) void
report(enum finding what, const char *format, ...)
{
	char text[PATH_MAX_ + 1024];
	struct text t;
	va_list ap;

	rd.errors += what == CF_ERROR;
	text_init(&t, text, sizeof(text));
	text_add(&t, "%s:%d: ", rd.file, rd.word_line);
	t.clean = 1;
	text_add(&t, "%.80s: ", *rd.word == '\0' ? "-" : rd.word);
	va_start(ap, format);
	text_vadd(&t, format, ap);
	va_end(ap);
	rd.say(what, text);
}

/* Goes to the next line, whose end becomes a NUL.  Returns 1, or 0 if there is
 * none. */
static int
next_line(void)
{
	if (rd.next == NULL)
		return 0;
	rd.line++;
	rd.bare = NULL;
	rd.p = rd.next;
	rd.next = strchr(rd.p, '\n');
	if (rd.next != NULL)
		*rd.next++ = '\0';
	return 1;
}

/* Skips blanks.  Returns the byte behind them, NUL for a comment. */
static int
skip_blanks(void)
{
	while (isspace((unsigned char)*rd.p))
		rd.p++;
	return *rd.p == '#' ? '\0' : *rd.p;
}

/* Puts a NUL behind the word at rd.p and moves rd.p behind that.  A blank ends
 * the word; so does a '=' if at_equals is 1.  Returns the byte that ended the
 * word. */
static int
cut_word(int at_equals)
{
	int c;

	while (*rd.p != '\0' && !isspace((unsigned char)*rd.p) &&
	    !(at_equals && *rd.p == '='))
		rd.p++;
	c = *rd.p;
	if (c != '\0')
		*rd.p++ = '\0';
	return c;
}

/* Makes the word at rd.p the current one.  Returns the byte that follows the
 * word: a '=', a blank or NUL.  If at_equals is 1, a '=' ends the word, and
 * blanks before the '=' are skipped. */
static int
read_word(int at_equals)
{
	int c;

	rd.word = rd.p;
	rd.word_line = rd.line;
	c = cut_word(at_equals);
	if (at_equals && c != '=' && skip_blanks() == '=')
		c = *rd.p++;
	return c;
}

/* Returns the value in double quotes at rd.p: \" and \\ stand for " and \, a
 * backslash at the end of a line joins it to the next; other backslashes stay
 * for the command line.  NULL when the closing quote is missing on the line. */
static char *
unquote_word(void)
{
	char *value = ++rd.p, *to = value;

	while (*rd.p != '"') {
		if (rd.p[0] == '\\' && rd.p[1] == '\0' && next_line())
			continue;
		if (*rd.p == '\0')
			return NULL;
		if (rd.p[0] == '\\' && (rd.p[1] == '"' || rd.p[1] == '\\'))
			rd.p++;
		*to++ = *rd.p++;
	}
	rd.p++;
	*to = '\0';
	return value;
}

/* Returns the value at rd.p, which follows a '='; NULL after an error. */
static char *
read_value(void)
{
	char *value;
	int c = skip_blanks();

	if (c == '\0') {
		report(CF_ERROR, "there is no value behind the =");
		return NULL;
	}
	if (c != '"') {
		value = rd.p;
		rd.bare = rd.word;
		cut_word(0);
		return value;
	}
	value = unquote_word();
	if (value == NULL) {
		report(CF_ERROR, "the closing \" is missing");
	} else if (*rd.p != '\0' && !isspace((unsigned char)*rd.p)) {
		rd.word_line = rd.line;
		report(CF_ERROR, "a blank is missing behind the closing \"");
		cut_word(0);
		value = NULL;
	}
	return value;
}

/* ---- reading: values ------------------------------------------------- */

/*
 * A setter takes the text of a value, without quotes, and stores the value.  It
 * returns NULL, or the error, as words that follow the value in a message.
 * NULL does not always mean success: a setter reports errors of another form
 * itself.  After an error in the file, what was stored is not used.
 */

/* Parses a whole decimal number, perhaps negative: 0 or -1. */
static int
parse_number(const char *s, long *n)
{
	unsigned long u;

	if (num_upto(s + (*s == '-'), LONG_MAX, &u, NULL) < 0)
		return -1;
	*n = *s == '-' ? -(long)u : (long)u;
	return 0;
}

/* Returns the number without a comma or semicolon at its end, which ZMailer
 * ignores; valid until the next call.  ZMailer's -1 for no limit becomes 0, or
 * 1 for maxthr. */
static const char *
convert_zmailer_number(const struct keyword *k, const char *s)
{
	static char as[40];
	size_t n = strlen(s);

	if (n > 1 && n < sizeof(as) && strchr(",;", s[n - 1]) != NULL)
		text_fmt(as, sizeof(as), "%.*s", (int)n - 1, s);
	else if (strcmp(s, "-1") == 0 && (strncmp(k->name, "max", 3) == 0 ||
	    strncmp(k->name, "expiry", 6) == 0 ||
	    strcmp(k->name, "overfeed") == 0))
		strcpy(as, strcmp(k->name, "maxthr") == 0 ? "1" : "0");
	else
		return s;
	report(CF_NOTICE, "%s is taken for %s, as in ZMailer", s, as);
	return as;
}

/* Sets one number, perhaps of a list.  The error is valid until the next
 * call. */
static const char *
set_number(const struct keyword *k, void *to, const char *s)
{
	static char bad[80];
	int span = k->type == T_SPAN || k->type == T_TIMES;
	long n;

	s = convert_zmailer_number(k, s);
	if (span && span_parse(s, &n) < 0)
		return "is no span of time such as 90, 10m or 1h5m20s";
	if (!span && parse_number(s, &n) < 0)
		return "is no number";
	if (n < k->min || n > k->max) {
		text_fmt(bad, sizeof(bad), "is not between %ld and %ld%s",
		    k->min, k->max, span ? " seconds" : "");
		return bad;
	}
	*(long *)to = n;
	return NULL;
}

/* Sets a list of numbers, or of rising spans, whose empty list is "none".
 * Reports the error of an element itself. */
static const char *
set_list(const struct keyword *k, void *to, const char *s)
{
	int times = k->type == T_TIMES, most = times ? 8 : NUMBERS_MOST;
	long n = 0;
	const char *bad = NULL;
	struct numbers list;
	char word[100];

	list.n = 0;
	if (times && strcmp(s, "none") == 0)
		s = "";
	else if (s[strspn(s, BLANKS)] == '\0')
		report(CF_ERROR, "the list is empty%s",
		    times ? "; say none" : "");
	for (s += strspn(s, BLANKS); *s != '\0'; s += strspn(s, BLANKS)) {
		bad = text_fmt(word, sizeof(word), "%.*s",
		    (int)strcspn(s, BLANKS), s) < 0 ? "is no number" :
		    set_number(k, &n, word);
		if (bad == NULL && times && list.n > 0 &&
		    n <= list.at[list.n - 1])
			bad = "is not later than the one before";
		if (bad != NULL || list.n == most)
			break;
		list.at[list.n++] = n;
		s += strcspn(s, BLANKS);
	}
	if (bad != NULL)
		report(CF_ERROR, "%.80s %s", word, bad);
	else if (*s != '\0')
		report(CF_ERROR, "has more than %d values", most);
	else
		*(struct numbers *)to = list;
	return NULL;
}

static const char *
set_choice(const struct keyword *k, void *to, const char *s)
{
	const char *const *words = choices[k->type - T_ORDER];
	long i = 1;

	while (words[i] != NULL && strcmp(s, words[i]) != 0)
		i++;
	if (words[i] == NULL)
		return words[0];
	*(long *)to = i - 1;
	return NULL;
}

/* Sets the number of a user or group, given as a number or by name. */
static const char *
set_id(const struct keyword *k, void *to, const char *s)
{
	unsigned long n;
#ifndef NO_PWD
	struct passwd *pw;
	struct group *gr;

	errno = 0;
#endif
	if (num_upto(s, ID_MOST, &n, NULL) == 0)
		*(long *)to = n;
#ifndef NO_PWD
	else if (k->type == T_USER && (pw = user_find(s, 0)) != NULL)
		*(long *)to = pw->pw_uid;
	else if (k->type == T_GROUP && (gr = getgrnam(s)) != NULL)
		*(long *)to = gr->gr_gid;
	else if (is_transient(errno)) {
		rd.temporary++;
		report(CF_ERROR, "the %s %.80s cannot be looked up: %s",
		    k->name, s, strerror(errno));
	}
#endif
	/* systems without the default names use their usual numbers */
	else if (strcmp(s, k->type == T_USER ? "root" : "daemon") == 0)
		*(long *)to = k->type == T_USER ? 0 : 1;
	else
		report(CF_ERROR, "there is no %s %.80s", k->name, s);
	return NULL;
}

/* Returns the decimal fraction at s, such as 0.25, and sets *end behind it, or
 * to s if there is none.  strtod takes more than that, and adds some kilobytes
 * to a static program. */
static double
parse_fraction(const char *s, const char **end)
{
	const char *p = s;
	double x = 0, by = 1;
	int has_point = 0;

	for (; isdigit((unsigned char)*p) || (*p == '.' && !has_point); p++)
		if (*p == '.') {
			has_point = 1;
		} else {
			x = x * 10 + (*p - '0');
			by *= has_point ? 10 : 1;
		}
	*end = p - s > has_point ? p : s;	/* "." is no number */
	return x / by;
}

/* Sets a rule: 1, 1/8, 1/concurrency or 1/sqrt_concurrency. */
static const char *
set_rule(const struct keyword *k, void *to, const char *s)
{
	enum fb_form form = FB_CONST;
	const char *end;
	/* some processors calculate with more bits than a double keeps */
	volatile double x, by = 1;

	(void)k;
	s += strspn(s, BLANKS);
	x = parse_fraction(s, &end);
	if (end == s)
		return "does not begin with a number";
	s = end + strspn(end, BLANKS);
	if (*s != '/' && *s != '\0')
		return "has something other than a / behind its number";
	if (*s == '/') {
		s += 1 + strspn(s + 1, BLANKS);
		if (ctl_is_word(s, strlen(s), "CONCURRENCY"))
			form = FB_WINDOW;
		else if (ctl_is_word(s, strlen(s), "SQRT_CONCURRENCY"))
			form = FB_SQRT;
		else
			by = parse_fraction(s, &end);
		if (form == FB_CONST && (end == s || *end != '\0'))
			return "has something other than a number, "
			    "concurrency or sqrt_concurrency behind the /";
	}
	/* the comparison is false for a NaN, too */
	if (!(by >= 1.0 / INT_MAX && by <= INT_MAX))
		return "divides by a number that is too small or too large";
	x = x / by;
	if (!(x >= 0 && x <= 1))
		return "is not between 0 and 1";
	((struct fb_rule *)to)->form = form;
	((struct fb_rule *)to)->x = x;
	return NULL;
}

/* Sets a rate: 10/m, or 1/2s for one delivery in 2 seconds. */
static const char *
set_rate(const struct keyword *k, void *to, const char *s)
{
	static const char units[] = "smhd";
	static const long secs[] = { 1, 60, 3600, 86400L };
	struct fb_rate *rate = to;
	unsigned long n, per = 1;
	const char *unit;

	(void)k;
	if (num_upto(s, 1000000UL, &n, &s) < 0 || n == 0)
		return "does not begin with a number from 1 to 1000000";
	if (*s++ != '/')
		return "has no / after its number; an example is 10/m";
	if (isdigit((unsigned char)*s) &&
	    (num_upto(s, 1000UL, &per, &s) < 0 || per == 0))
		return "has a span of time that is not from 1 to 1000 units";
	if (*s == '\0' || (unit = strchr(units, *s)) == NULL || s[1] != '\0')
		return "does not end in s, m, h or d; an example is 10/m";
	rate->n = n;
	rate->per = per * secs[unit - units];
	return NULL;
}

/* Returns 1 if the text is an address of IPv4: four numbers from 0 to 255. */
static int
is_ipv4(const char *s)
{
	unsigned long n;
	int i;

	for (i = 0; i < 4; i++, s++)
		if (num_upto(s, 255, &n, &s) < 0 || *s != (i < 3 ? '.' : '\0'))
			return 0;
	return 1;
}

/* Sets PARAMmailqsock: TCP:port, TCP:address:port, or none.  Of ZMailer's other
 * forms, a bare number is a port, and an '@' and what follows are ignored; the
 * path of a socket counts as none, and the name of a service as port 174; the
 * name of a host is an error. */
static const char *
set_port(const struct keyword *k, void *member, const char *s)
{
	struct port *to = member;
	const char *path = strncmp(s, "UNIX:", 5) == 0 ? s + 5 : s, *colon;
	const char *end;
	int is_tcp = strncmp(s, "TCP:", 4) == 0;
	unsigned long n;

	(void)k;
	to->number = -1;
	to->address[0] = '\0';
	if (strcmp(s, "none") == 0)
		return NULL;
	if (*path == '/' || strncmp(path, "${", 2) == 0) {
		report(CF_NOTICE, "the scheduler makes no such socket; mailq "
		    "uses its pipe");
		return NULL;
	}
	if (!is_tcp && !isdigit((unsigned char)*s))
		return "is not TCP:port, TCP:address:port or none";
	s += is_tcp ? 4 : 0;
	colon = strrchr(s, ':');
	if (colon != NULL) {
		if (colon == s || s + strspn(s, "0123456789.") != colon ||
		    text_fmt(to->address, sizeof(to->address), "%.*s",
		    (int)(colon - s), s) < 0)
			return "names a host; its address, such as 127.0.0.1, "
			    "is needed";
		if (!is_ipv4(to->address))
			return "has no address of four numbers from 0 to 255";
		s = colon + 1;
	} else if (isalpha((unsigned char)*s)) {
		report(CF_NOTICE, "the name of a service is taken for port "
		    "174");
		s = "174";
	}
	if (num_upto(s, 65535UL, &n, &end) < 0 || n == 0 ||
	    (*end == '@' ? colon != NULL : *end != '\0'))
		return "has no port from 1 to 65535";
	to->number = n;
	return NULL;
}

/* Sets a PARAM that is a text to a copy of the value. */
static const char *
set_text(const struct keyword *k, void *to, const char *s)
{
	char *copy;

	if (k->type == T_HOST && !mailname_is_valid(s))
		return "is no host's name";
	copy = mem_dup(s);
	if (copy == NULL)
		return "cannot be kept: no memory";
	free(*(char **)to);
	*(char **)to = copy;
	return NULL;
}

/* Sets a path, with the values of ${NAME}. */
static const char *
set_path(const struct keyword *k, void *to, const char *s)
{
	char word[PATH_MAX_];
	const char *bad = "is too long";

	if (k->type == T_SOCKET && strncmp(s, "UNIX:", 5) == 0)
		s += 5;
	if (text_fmt(word, sizeof(word), "\"%s\"", s) == 0)
		bad = cmd_split(word, "", "", cf_get_var, &split);
	if (bad == NULL && (split.nargv != 1 || *split.argv[0] != '/'))
		bad = "is no absolute path";
	return bad != NULL ? bad : set_text(k, to, split.argv[0]);
}

/* Sets a command, without a copy. */
static const char *
set_command(const struct keyword *k, void *to, const char *s)
{
	const char *bad = split_command(s);

	(void)k;
	if (bad != NULL)
		report(CF_ERROR, "%s", bad);
	else
		*(const char **)to = s;
	return NULL;
}

/* Stores a value, unless the keyword has no effect.  Returns NULL, or what is
 * wrong with the value. */
static const char *
store_value(const struct keyword *k, void *values, const char *s)
{
	/* by enum type */
	static const char *(*const setters[])(const struct keyword *, void *,
	    const char *) = { set_number, set_number, set_number, set_id,
	    set_id, set_choice, set_choice, set_rule, set_rate, set_list,
	    set_list, set_port, set_command, set_path, set_path, set_text };

	return k->size == 0 ? NULL :
	    setters[k->type](k, (char *)values + k->at, s);
}

/* Stores a value, or reports what is wrong with it. */
static void
set_value(const struct keyword *k, void *values, const char *s)
{
	const char *bad = store_value(k, values, s);

	if (bad != NULL)
		report(CF_ERROR, "%.80s %s", s, bad);
}

/* Sets a keyword, with its value as written. */
static void
set_keyword(const struct keyword *k, struct setting *v, const char *s)
{
	set_value(k, v, s);
	v->text[k - cf_keywords] = s;
}

/* ---- reading: keywords ----------------------------------------------- */

/* Reports that the current word is no keyword.  A word without a value, behind
 * a value without quotes, may be a part of that value, and so may the next
 * ones. */
static void
report_unknown(int has_value)
{
	const char *advice = find_value(retired, rd.word);

	if (advice != NULL) {
		/* a file of version 0.1 may have bounce=none */
		report(strcmp(rd.word, "bounce") == 0 ? CF_NOTICE : CF_ERROR,
		    "is no longer a keyword: %s", advice);
		return;
	}
	if (!has_value && rd.bare != NULL) {
		if (*rd.bare != '\0')
			report(CF_ERROR, "is no keyword; if it is a part of "
			    "the value of %s, write %s=\"...\"", rd.bare,
			    rd.bare);
		rd.bare = "";
		return;
	}
	if (*rd.word == '\0')
		report(CF_ERROR, "there is no keyword before the =");
	else if (find_value(foreign, rd.word) != NULL)
		report(CF_IGNORED, "has no meaning here and is ignored");
	else
		report(CF_ERROR, "is no keyword; see scheduler.cf(5)");
}

/* Reads keyword, or keyword = value, at rd.p.  A clause whose only keyword is
 * wrong does not count as empty. */
static void
read_keyword(void)
{
	char *word = rd.p;
	const char *value = NULL, *fixed = NULL;
	int has_value = read_word(1) == '=';
	const struct keyword *k;

	text_lower(word);
	k = find_keyword(word);
	if (rd.at != NULL)
		rd.at->filled = 1;
	if (k == NULL)
		report_unknown(has_value);
	if ((has_value && (value = read_value()) == NULL) || k == NULL)
		return;
	if (strcmp(word, "ageorder") == 0)
		fixed = "age";
	else if (k->type == T_FLAG)
		fixed = "1";
	if (rd.at == NULL)
		report(CF_ERROR, "stands before any pattern");
	else if (fixed != NULL && has_value)
		report(CF_ERROR, "takes no value");
	else if (fixed == NULL && (!has_value || *value == '\0'))
		report(CF_ERROR, "a value is missing: %s=...", word);
	else
		set_keyword(k, &rd.at->v, fixed != NULL ? fixed : value);
}

/* ---- reading: the first column --------------------------------------- */

/* Begins a clause with the current word; name is the part of the word before a
 * '=', in lower case, or "" if that is long. */
static void
begin_clause(const char *name)
{
	const char *word = rd.word, *why;
	int keyword = find_keyword(name) != NULL;
	struct clause *c = mem_get(sizeof(*c));

	rd.at = c;
	if (c == NULL) {
		report(CF_ERROR, "no memory");
		return;
	}
	c->text = word;
	c->line = rd.word_line;
	*rd.link = c;
	rd.link = &c->next;
	rd.clauses++;
	why = keyword && strchr(word, '=') != NULL ? "is a keyword "
	    "and must not stand in the first column" :
	    pat_expand(word, &c->patterns);
	if (why != NULL)
		report(CF_ERROR, "%s", why);
	else if (keyword)	/* a channel of that name is rare */
		report(CF_NOTICE, "is a keyword in the first column, taken for "
		    "the pattern %s/*; put a blank before the keyword, or "
		    "write %s/*", word, word);
}

/* Sets a PARAM, whose word is the current one. */
static void
set_param(const char *name, const char *value)
{
	const struct keyword *k = find_row(params, name);
	const char *advice;
	char list[500];
	struct text t;

	if (value == NULL || *value == '\0') {
		report(CF_ERROR, "a value is missing");
	} else if (k != NULL) {
		set_value(k, rd.config, value);
	} else if ((advice = find_value(foreign, name)) != NULL) {
		report(CF_IGNORED, "%s", *advice != '\0' ? advice :
		    "has no meaning here and is ignored");
	} else {
		text_init(&t, list, sizeof(list));
		for (k = params; k->name != NULL; k++)
			text_add(&t, " PARAM%s", k->name);
		report(CF_ERROR, "is not known; those with a meaning here "
		    "are%s", list);
	}
}

/* Returns 1 if the word is a PARAM.  lower is the word in lower case, up to a
 * '='.  A word that does not have "PARAM" in capitals has to be the name of a
 * known PARAM, as the word may be a channel. */
static int
is_param(const char *word, const char *lower)
{
	return strncmp(word, "PARAM", 5) == 0 ||
	    (strncmp(lower, "param", 5) == 0 &&
	    (find_row(params, lower + 5) != NULL ||
	    find_value(foreign, lower + 5) != NULL));
}

/* Reads the token at rd.p, in the first column. */
static void
read_first_token(void)
{
	char *word = rd.p, *value = NULL, name[32];
	int param, c;

	/* the word before a '=', in lower case; "" if longer than a name */
	if (text_fmt(name, sizeof(name), "%.*s",
	    (int)strcspn(word, "= \t\r\n"), word) < 0)
		*name = '\0';
	text_lower(name);
	param = is_param(word, name);
	c = read_word(param);
	if (!param) {
		begin_clause(name);
		return;
	}
	text_lower(word + 5);
	if (c != '\0' && (value = read_value()) == NULL)
		return;
	set_param(word + 5, value);
	if (skip_blanks() != '\0') {
		report(CF_ERROR, "takes one value, with nothing behind it");
		rd.p += strlen(rd.p);
	}
}

/* ---- the whole file -------------------------------------------------- */

/* Gives empty clauses the values of the next clause with keywords. */
static void
fill_empty_clauses(void)
{
	struct clause *c, *empty = rd.config->clauses;

	for (c = empty; c != NULL; c = c->next)
		if (c->filled)
			for (; empty != c->next; empty = empty->next)
				empty->v = c->v;
	for (; empty != NULL; empty = empty->next) {
		rd.word = empty->text;
		rd.word_line = empty->line;
		report(CF_ERROR, "is empty, and no clause with keywords comes "
		    "after it");
	}
}

/* Returns the whole file with a NUL at its end; NULL after an error. */
static char *
read_file(void)
{
	FILE *f = fopen(rd.file, "r");
	char *s = mem_get(FILE_MOST + 1), *all = NULL, other[PATH_MAX_];
	const char *why;
	size_t n = 0;

	text_fmt(other, sizeof(other), "%s/scheduler.conf", opt.mailshare);
	if (f != NULL && s != NULL)
		n = fread(s, 1, FILE_MOST + 1, f);
	why = strerror(errno);
	if (f == NULL && access(other, R_OK) == 0)
		report(CF_ERROR, "cannot be read: %s; -f %s reads ZMailer's "
		    "file", why, other);
	else if (f == NULL || ferror(f))
		report(CF_ERROR, "cannot be read: %s", why);
	else if (n > FILE_MOST)
		report(CF_ERROR, "is larger than %ld bytes", FILE_MOST);
	else if (n > 0 && memchr(s, '\0', n) != NULL)
		report(CF_ERROR, "has a NUL byte: it is no text file");
	else if (s == NULL || (all = realloc(s, n + 1)) == NULL)
		report(CF_ERROR, "no memory");
	if (f != NULL)
		fclose(f);
	if (all == NULL)
		free(s);
	return all;
}

/* Sets the PARAM to its default, and to its value in the file of -Z if there is
 * one.  The error of a default is ignored: only ${POSTOFFICE} can be unknown.
 * An error in the file of -Z is logged, and prevents nothing. */
static void
init_param(const struct keyword *k)
{
	const char *name = find_value(variables, k->name), *s, *bad;

	if (k->def != NULL)
		store_value(k, rd.config, k->def);
	s = name == NULL ? NULL : cf_get_var(name);
	bad = s == NULL ? NULL : store_value(k, rd.config, s);
	if (bad != NULL)
		log_err("config %s: %.80s %s", name, s, bad);
}

/* Makes the command of the agent dsn, which is in ${MAILBIN} or where it was
 * installed, with options for the PARAMs that are set; NULL without memory.
 * Sets r->config.nodsn. */
static char *
make_dsn_command(struct reading *r)
{
	static const char installed[] = MAILBIN "/ta/dsn";
	char line[2 * PATH_MAX_ + CMD_BYTES];
	const char *name = "dsn";
	struct text t;

	text_fmt(line, sizeof(line), "%s/ta/dsn", opt.mailbin);
	if (access(line, X_OK) < 0 && access(installed, X_OK) == 0)
		name = installed;
	else
		r->config.nodsn = access(line, X_OK) < 0;
	text_init(&t, line, sizeof(line));
	text_add(&t, "%s -d ${MAILSHARE}/forms -p %ld -s %ld -n '%s'", name,
	    r->bouncelimit, r->bouncesize, r->config.mailname);
	if (r->config.routernotify != NULL)
		text_add(&t, " -r '%s'", r->config.routernotify);
	if (r->dsnoptions != NULL)
		text_add(&t, " %s", r->dsnoptions);
	return mem_dup(line);
}

struct config *
cf_read_file(const char *file, void (*say)(enum finding, const char *))
{
	struct reading *r = mem_get(sizeof(*r));
	const struct keyword *k;
	const char *bad;

	memset(&rd, 0, sizeof(rd));
	rd.file = file;
	rd.say = say;
	rd.word = "-";
	if (r == NULL) {
		report(CF_ERROR, "no memory");
		return NULL;
	}
	rd.config = &r->config;
	rd.config->mailname = mem_dup(mailname(opt.mailshare));
	for (k = params; k->name != NULL; k++)
		init_param(k);
	/* a default group that cannot be looked up is an error of this reading,
	 * as each conf copies the defaults */
	for (k = cf_keywords; k->name != NULL; k++)
		if (k->def != NULL)
			set_keyword(k, &r->defaults, k->def);
	rd.link = &rd.config->clauses;
	rd.next = r->text = read_file();
	while (next_line()) {
		if (!isspace((unsigned char)*rd.p) && skip_blanks() != '\0')
			read_first_token();
		while (skip_blanks() != '\0')
			read_keyword();
	}
	fill_empty_clauses();
	r->matched = mem_get((rd.clauses + 1) * sizeof(*r->matched));
	r->dsn = make_dsn_command(r);
	rd.word = "PARAMdsn";
	if (r->dsn != NULL && (bad = split_command(r->dsn)) != NULL)
		report(CF_ERROR, "%s", bad);
	if (r->matched == NULL || r->dsn == NULL || rd.config->mailname == NULL)
		report(CF_ERROR, "no memory");
	if (rd.errors == 0)
		return rd.config;
	cf_free(rd.config);
	errno = rd.temporary == rd.errors ? EAGAIN : EINVAL;
	return NULL;
}

void
cf_free(struct config *config)
{
	struct reading *r = (struct reading *)config;
	const struct keyword *k;
	struct clause *c, *next;
	struct conf *f, *after;

	for (c = config->clauses; c != NULL; c = next) {
		next = c->next;
		pat_free(c->patterns);
		free(c);
	}
	for (f = r->confs; f != NULL; f = after) {
		after = f->next;
		free(f);
	}
	for (k = params; k->name != NULL; k++)
		if (k->type > T_COMMAND)	/* T_COMMAND: in r->text */
			free(*(char **)(void *)((char *)config + k->at));
	free(r->matched);
	free(r->dsn);
	free(r->text);
	free(r);
}

const char *
cf_get_var(const char *name)
{
	size_t n = strlen(name);
	char **var;

	for (var = opt.vars; var != NULL && *var != NULL; var++)
		if (strncmp(*var, name, n) == 0 && (*var)[n] == '=')
			return *var + n + 1;
	return NULL;
}

/* ---- the settings for an address -------------------------------------- */

/*
 * Later values override earlier ones, in this order: the defaults of the table;
 * dsn_defaults, if the channel is dsn; the clauses that match, in the order of
 * the file; dsn_fixed, if the channel is dsn.  With
 *
 *	*	interval=5m maxta=50
 *	smtp	interval=10m command="smtp -s"
 *	*	command="hold"
 *
 * smtp/h has interval=10m, maxta=50 and the command "smtp -s", which ends the
 * search; its conf is that of the first two clauses.  uucp/h has the conf of
 * the first and the third.
 */

/* Overrides the values of v by those that the other setting has. */
static void
override_values(struct setting *v, const struct setting *other)
{
	const struct keyword *k;

	for (k = cf_keywords; k->name != NULL; k++) {
		if (other->text[k - cf_keywords] == NULL)
			continue;
		v->text[k - cf_keywords] = other->text[k - cf_keywords];
		memcpy((char *)v + k->at, (const char *)other + k->at, k->size);
	}
}

/* Sets the values of one of our tables, which are all valid. */
static void
set_pairs(struct setting *v, const struct pair *values)
{
	for (; values->name != NULL; values++)
		set_keyword(find_row(cf_keywords, values->name), v,
		    values->value);
}

/* Sets values that no clause can change, and values that depend on others.
 * For a host of "-", whatever maxthr is, a mailbox has one agent at most, and
 * messages to several mailboxes have any number of agents. */
static void
complete_conf(struct conf *f)
{
	struct setting *v = &f->v;

	if (f->dsn)
		set_pairs(v, dsn_fixed);
	/* values that were not given, or given as 0 */
	if (v->interval == 0)
		v->interval = 60;
	if (v->idlemax == 0)
		v->idlemax = 3 * v->interval;
	if (v->fb.limit == 0)
		v->fb.limit = 1;
	if (v->command != NULL && split_command(v->command) == NULL)
		f->bound = split.bound;
	f->box = f->local = v->fb;
	f->box.limit = f->box.init = f->box.cohorts = 1;
	f->local.limit = f->local.cohorts = 0;
	f->local.init = LOCAL_MOST;
	f->local.neg.x = 0;	/* the window never shrinks */
}

/* Makes the conf of the first n clauses in r->matched; NULL without memory. */
static struct conf *
merge_clauses(struct reading *r, int dsn, unsigned n)
{
	size_t size = n * sizeof(*r->matched);
	struct conf *f = mem_get(sizeof(*f) + size);
	unsigned i;

	if (f == NULL)
		return NULL;
	f->config = &r->config;
	f->dsn = dsn;
	f->nfrom = n;
	memcpy(f->from, r->matched, size);
	f->v = r->defaults;
	if (dsn) {
		/* the agent runs as our own user, who owns transport/ */
		set_pairs(&f->v, dsn_defaults);
		f->v.idlemax = r->bouncelimit + DSN_IDLE;
		f->v.uid = geteuid();
		f->v.gid = getegid();
		set_keyword(find_row(cf_keywords, "command"), &f->v, r->dsn);
	}
	for (i = 0; i < n; i++)
		override_values(&f->v, &f->from[i]->v);
	complete_conf(f);
	f->next = r->confs;
	r->confs = f;
	return f;
}

struct conf *
cf_match(struct config *config, const char *channel, const char *host)
{
	char address[2 * WORD_MAX_];
	struct reading *r = (struct reading *)config;
	const struct clause *c;
	struct conf *f;
	int dsn = strcmp(channel, "dsn") == 0;
	unsigned n = 0;

	text_fmt(address, sizeof(address), "%s/%s", channel, host);
	text_lower(address);
	for (c = config->clauses; c != NULL; c = c->next) {
		if (!pat_matches_address(c->patterns, address))
			continue;
		r->matched[n++] = c;
		if (c->v.command != NULL)
			break;
	}
	for (f = r->confs; f != NULL; f = f->next)
		if (f->dsn == dsn && f->nfrom == n && memcmp(f->from,
		    r->matched, n * sizeof(*f->from)) == 0)
			return f;
	return merge_clauses(r, dsn, n);
}
