/*
 * cf.c - the clause language.
 *
 *	pattern   keyword=value keyword="value with blanks" keyword
 *	          more of the same clause
 *
 * A token in the first column is a pattern and begins a clause, or a
 * PARAMname; everything else belongs to the clause before it.  '#' at the
 * beginning of a token starts a comment.  A clause without keywords takes the
 * contents of the next one that has some, but stays a clause of its own.
 *
 * An address "channel/host" goes over the patterns in order.  What each
 * matching clause sets is laid over what was set before, until one with a
 * command ends the search (seed 22.1).  The sum is a conf; there is one for
 * each combination of clauses, so two addresses with the same conf can be
 * told by a pointer, and a ring is made of that.
 *
 * Patterns are pattern.c's, keywords and their values value.c's, and the
 * waiting between retries retry.c's.  Every error in a file is told, none of it
 * is used.
 */
#include "scheduler.h"
#include <ctype.h>

#define LONGEST		86400L	/* seconds; any mail may be put off so long */
#define LONGEST_MOST	315360000L	/* ten years */
#define FILE_MOST	250000L		/* bytes in a configuration */
#define LOCAL_MOST	1000000L	/* agents: more than there can be */

/* Other names for them, and those that are no more. */
static const struct {
	const char *name, *now;
} synonyms[] = {
	{ "maxtransport", "maxta" }, { "maxtransports", "maxta" },
	{ "maxchannels", "maxchannel" }, { "maxrings", "maxring" }
}, retired[] = {
	{ "byhost", "put $host into the command instead" },
	{ "maxhost", "use maxthr instead" },
	{ "gangschedule", "leave it out: hosts are always scheduled as one" }
};

/* What ZMailer has and this program does without. */
static const char *const foreign[] = {
	"authfile", "msgwriteasync", "store-error-on-error"
};

/* ---- reading: tokens ------------------------------------------------- */

struct reader {
	const char *file;
	void	(*say)(const char *);
	char	*p;		/* the rest of the file; changed in place */
	char	*start;		/* of the line at hand */
	int	line, errors;
	struct config *config;
	struct clause *at, **link;	/* the clause at hand, the list's end */
};

/* One error: what is wrong with the keyword or pattern, at this line.  Words
 * from the file are shown in part (here and in f: "%.80s", each byte of which
 * may become four), so that the reason is never what is cut off. */
static LIKE_PRINTF(4, 5) void
wrong(struct reader *r, int line, const char *word, const char *f, ...)
{
	char text[PATH_MAX_ + 1024];
	struct text t;
	va_list ap;

	text_init(&t, text, sizeof(text));
	text_add(&t, "%s:%d: ", r->file, line);
	t.clean = 1;
	text_add(&t, "%.80s: ", *word == '\0' ? "-" : word);
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
take_value(struct reader *r, const char *word)
{
	int line = r->line;
	char *value;

	while (is_blank(*r->p))
		r->p++;
	if (*r->p == '\0' || *r->p == '\n' || *r->p == '#') {
		wrong(r, line, word, "there is no value behind the =");
		return NULL;
	}
	if (*r->p == '"') {
		value = quoted(r);
		if (value == NULL) {
			wrong(r, line, word, "the closing \" is missing");
		} else if (*r->p != '\0' && !isspace((unsigned char)*r->p)) {
			wrong(r, r->line, word, "a blank is missing behind "
			    "the closing \"");
			while (*r->p != '\0' && !isspace((unsigned char)*r->p))
				r->p++;
			return NULL;
		}
		return value;
	}
	value = r->p;
	while (*r->p != '\0' && !isspace((unsigned char)*r->p))
		r->p++;
	end_word(r);
	return value;
}

/* ---- reading: keywords ----------------------------------------------- */

/* How far is a from b?  The number of bytes to change, drop or add. */
static unsigned
distance(const char *a, const char *b)
{
	unsigned row[32], i, j, corner, was;
	size_t n = strlen(b);

	if (n > 30 || strlen(a) > 30)
		return 99;
	for (j = 0; j <= n; j++)
		row[j] = j;
	for (i = 1; a[i - 1] != '\0'; i++) {
		corner = row[0];
		row[0] = i;
		for (j = 1; j <= n; j++) {
			was = row[j];
			if (a[i - 1] != b[j - 1])
				corner++;
			if (row[j] + 1 < corner)
				corner = row[j] + 1;
			if (row[j - 1] + 1 < corner)
				corner = row[j - 1] + 1;
			row[j] = corner;
			corner = was;
		}
	}
	return row[n];
}

/* The known keyword that is nearest. */
static const char *
nearest(const char *word)
{
	const char *best = keywords[0].name;
	unsigned least = 99, d;
	int i;

	for (i = 0; keywords[i].name != NULL; i++)
		if ((d = distance(word, keywords[i].name)) < least) {
			least = d;
			best = keywords[i].name;
		}
	return best;
}

static void
lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

/* The index of the keyword, by any of its names; -1: it is none. */
static int
index_of(const char *word)
{
	size_t j;
	int i;

	for (j = 0; j < sizeof(synonyms) / sizeof(synonyms[0]); j++)
		if (strcmp(word, synonyms[j].name) == 0)
			word = synonyms[j].now;
	for (i = 0; keywords[i].name != NULL; i++)
		if (strcmp(word, keywords[i].name) == 0)
			return i;
	return -1;
}

/* The same, after saying why there is none. */
static int
find_keyword(struct reader *r, const char *word, int line)
{
	size_t j;
	int i;

	if (*word == '\0') {
		wrong(r, line, word, "there is no keyword before the =");
		return -1;
	}
	i = index_of(word);
	if (i >= 0)
		return i;
	for (j = 0; j < sizeof(retired) / sizeof(retired[0]); j++)
		if (strcmp(word, retired[j].name) == 0) {
			wrong(r, line, word, "is no longer a keyword: %s",
			    retired[j].now);
			return -1;
		}
	wrong(r, line, word, "is no keyword; the nearest one is %s",
	    nearest(word));
	return -1;
}

/* The value is given to the keyword, or what is wrong with it is said. */
static void
set_value(struct reader *r, const struct keyword *k, char *s, int line)
{
	char reason[400];
	struct text why;

	text_init(&why, reason, sizeof(reason));
	if (value_set(k, &r->at->v, s, &why) < 0)
		wrong(r, line, k->name, "%s", reason);
}

/* keyword, or keyword = value; r->p is at it.  One that is wrong counts too:
 * an error does not make the clause an empty one. */
static void
take_keyword(struct reader *r)
{
	char *word = r->p, *value = NULL;
	int line = r->line, given, flag, i, c;

	while (*r->p != '\0' && *r->p != '=' && !isspace((unsigned char)*r->p))
		r->p++;
	c = end_word(r);
	while (is_blank(c) && is_blank(*r->p))
		r->p++;
	if (is_blank(c) && *r->p == '=')
		c = *r->p++;
	given = c == '=';
	lower(word);
	i = find_keyword(r, word, line);
	if (r->at != NULL)
		r->at->filled = 1;
	if (r->at != NULL && i >= 0)
		r->at->given[i] = 1;
	if (given && (value = take_value(r, word)) == NULL)
		return;
	if (i < 0)
		return;
	flag = keywords[i].type == T_FLAG || keywords[i].type == T_AGE;
	if (r->at == NULL)
		wrong(r, line, word, "stands before any pattern");
	else if (flag && given)
		wrong(r, line, word, "takes no value");
	else if (flag)
		*value_long(&r->at->v, &keywords[i]) = 1;
	else if (!given || *value == '\0')
		wrong(r, line, word, "a value is missing: %s=...", word);
	else
		set_value(r, &keywords[i], value, line);
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
	return index_of(name) >= 0;
}

/* A keyword alone is a pattern, too; a channel of that name is rare.  What
 * -n is to say is said, as it has no log. */
static void
doubt(struct reader *r, const char *word, int line)
{
	char text[PATH_MAX_ + 200];

	text_fmt(text, sizeof(text), "%s:%d: %s: is a keyword in the first "
	    "column, taken for the pattern %s/*; put a blank before the "
	    "keyword, or write %s/*", r->file, line, word, word, word);
	if (log_level < L_WARN)
		r->say(text);
	else
		log_warn("config %s", text);
}

/* A token in the first column that is no PARAM begins a clause. */
static void
take_pattern(struct reader *r, char *word, int line)
{
	int keyword = is_keyword(word);
	const char *why = keyword && strchr(word, '=') != NULL ? "is a keyword "
	    "and must not stand in the first column" : pat_check(word);
	struct clause *c;

	if (why != NULL)
		wrong(r, line, word, "%s", why);
	else if (keyword)
		doubt(r, word, line);
	r->at = c = mem_get(sizeof(*c));
	if (c == NULL || (c->text = mem_dup(word)) == NULL) {
		wrong(r, line, word, "no memory");
		free(c);
		r->at = NULL;
		return;
	}
	c->line = line;
	if (why == NULL && (c->patterns = pat_expand(word)) == NULL)
		wrong(r, line, word, "makes too many alternatives; write more "
		    "than one pattern");
	*r->link = c;
	r->link = &c->next;
}

static const char *
check_path(const char *value)
{
	return *value == '/' || strncmp(value, "UNIX:/", 6) == 0 ||
	    strstr(value, "${") != NULL ? NULL : "is no absolute path";
}

static const char *
check_file(const char *value)
{
	return *value == '/' || strstr(value, "${") != NULL ? NULL :
	    "is no absolute path";
}

/* TCP:port or TCP:host:port, or none. */
static const char *
check_port(const char *value)
{
	const char *port = strrchr(value, ':'), *end;
	unsigned long n;

	if (strcmp(value, "none") == 0)
		return NULL;
	if (strncmp(value, "TCP:", 4) != 0)
		return "is not TCP:port, TCP:host:port or none";
	n = num_of(port + 1, &end);
	return end == port + 1 || *end != '\0' || n < 1 || n > 65535UL ?
	    "has no port from 1 to 65535" : NULL;
}

/* A host's name, as reports give it. */
static const char *
check_name(const char *value)
{
	return value[strspn(value, "abcdefghijklmnopqrstuvwxyz0123456789.-"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0' && strlen(value) < 256 ?
	    NULL : "is no host's name";
}

static const struct {
	const char *name;
	size_t	at;		/* offset in struct config */
	const char *(*check)(const char *);	/* what is wrong, or NULL */
} params[] = {
	{ "notifysock", offsetof(struct config, notifysock), check_path },
	{ "mailqsock", offsetof(struct config, mailqsock), check_port },
	{ "destdb", offsetof(struct config, destdb), check_file },
	{ "routernotify", offsetof(struct config, routernotify), check_path },
	{ "mailname", offsetof(struct config, mailname), check_name }
};

/* Those whose value is a number, or a span of time. */
static const struct {
	const char *name;
	size_t	at;		/* offset in struct config, of a long */
	long	min, max, def;
	int	span;
} numbers[] = {
	{ "msgconcurrency", offsetof(struct config, msgconcurrency),
	    1, 1000000L, 20, 0 },
	{ "msgscale", offsetof(struct config, msgscale),
	    0, 1000000L, 10, 0 },
	{ "active", offsetof(struct config, active),
	    0, 999999999L, 20000, 0 },
	{ "recipients", offsetof(struct config, recipients),
	    0, 999999999L, 20000, 0 },
	{ "rcptminimum", offsetof(struct config, rcptminimum),
	    1, 10000, 10, 0 },
	{ "rcptextra", offsetof(struct config, rcptextra),
	    0, 999999999L, 1000, 0 },
	{ "refill", offsetof(struct config, refill),
	    1, 999999999L, 100, 0 },
	{ "refilldelay", offsetof(struct config, refilldelay),
	    1, 3600, 5, 1 },
	{ "global-report-interval", offsetof(struct config, reportevery),
	    0, 315360000L, 300, 1 },
	{ "bouncelimit", offsetof(struct config, bouncelimit),
	    0, 315360000L, 0, 1 },
	{ "bouncesize", offsetof(struct config, bouncesize),
	    0, 999999999L, 65536L, 0 },
	{ "postmanage", offsetof(struct config, postmanage),
	    0, 315360000L, 2592000L, 1 },
	{ "reasons", offsetof(struct config, reasons),
	    1, USHRT_MAX - 1, 1000, 0 }
};

#define NPARAMS		(sizeof(params) / sizeof(params[0]))
#define NNUMBERS	(sizeof(numbers) / sizeof(numbers[0]))

static long *
number_at(struct config *c, size_t i)
{
	return (long *)(void *)((char *)c + numbers[i].at);
}

static void
default_params(struct config *c)
{
	size_t i;

	for (i = 0; i < NNUMBERS; i++)
		*number_at(c, i) = numbers[i].def;
}

/* Takes the value of a parameter that is a number: 1; 0 when it is another. */
static int
take_number(struct reader *r, char *word, const char *value, int line)
{
	const char *end = "";
	long n = 0;
	size_t i;
	int bad;

	for (i = 0; i < NNUMBERS; i++)
		if (strcmp(word + 5, numbers[i].name) == 0)
			break;
	if (i == NNUMBERS)
		return 0;
	bad = numbers[i].span && span_parse(value, &n) < 0;
	if (!numbers[i].span) {
		n = (long)num_of(value, &end);
		bad = end == value || *end != '\0' || end - value > 9;
	}
	if (bad)
		wrong(r, line, word, "%.80s is no %s", value,
		    numbers[i].span ? "span of time" : "number");
	else if (n < numbers[i].min || n > numbers[i].max)
		wrong(r, line, word, "%.80s is not between %ld and %ld", value,
		    numbers[i].min, numbers[i].max);
	else
		*number_at(r->config, i) = n;
	return 1;
}

/* Nobody knows the parameter: says which there are. */
static void
unknown_param(struct reader *r, char *word, int line)
{
	char list[500];
	struct text t;
	size_t i;

	text_init(&t, list, sizeof(list));
	for (i = 0; i < NPARAMS; i++)
		text_add(&t, " PARAM%s", params[i].name);
	for (i = 0; i < NNUMBERS; i++)
		text_add(&t, " PARAM%s", numbers[i].name);
	wrong(r, line, word, "is not known; those with a meaning here are%s",
	    list);
}

/* PARAMname value, or PARAMname=value. */
static void
take_param(struct reader *r, char *word, char *value, int line)
{
	const char *name = word + 5, *why;
	char **at;
	size_t i;

	if (value == NULL || *value == '\0') {
		wrong(r, line, word, "a value is missing");
		return;
	}
	if (take_number(r, word, value, line))
		return;
	for (i = 0; i < NPARAMS; i++) {
		if (strcmp(name, params[i].name) != 0)
			continue;
		why = params[i].check(value);
		if (why != NULL) {
			wrong(r, line, word, "%s %s", value, why);
			return;
		}
		at = (char **)(void *)((char *)r->config + params[i].at);
		free(*at);
		*at = mem_dup(value);
		if (*at == NULL)
			wrong(r, line, word, "no memory");
		return;
	}
	for (i = 0; i < sizeof(foreign) / sizeof(foreign[0]); i++)
		if (strcmp(name, foreign[i]) == 0) {
			log_warn("config %s:%d: %s: has no meaning here and "
			    "is passed over", r->file, line, word);
			return;
		}
	unknown_param(r, word, line);
}

/* The token in the first column that r->p is at. */
static void
take_first(struct reader *r)
{
	char *word = r->p, *value = NULL;
	int line = r->line, param = strncmp(word, "PARAM", 5) == 0, c;

	while (*r->p != '\0' && !isspace((unsigned char)*r->p) &&
	    !(param && *r->p == '='))
		r->p++;
	c = end_word(r);
	if (!param) {
		take_pattern(r, word, line);
		return;
	}
	while (c != '\n' && is_blank(*r->p))
		r->p++;
	if (c != '\n' && *r->p == '=')
		r->p++;
	if (c != '\n')
		value = take_value(r, word);
	lower(word + 5);
	if (value != NULL || c == '\n')
		take_param(r, word, value, line);
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
			wrong(r, c->line, c->text, "is empty, and no clause "
			    "with keywords comes after it");
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
		wrong(r, 0, "-", "cannot be read: %s", strerror(errno));
		return NULL;
	}
	s = mem_get(FILE_MOST + 1);
	if (s == NULL)
		wrong(r, 0, "-", "no memory");
	else
		n = fread(s, 1, FILE_MOST + 1, f);
	if (s != NULL && ferror(f))
		wrong(r, 0, "-", "cannot be read: %s", strerror(errno));
	else if (n > FILE_MOST)
		wrong(r, 0, "-", "is larger than %ld bytes", FILE_MOST);
	else if (n > 0 && memchr(s, '\0', n) != NULL)
		wrong(r, 0, "-", "has a NUL byte: it is no text file");
	fclose(f);
	if (r->errors == 0)
		return s;
	free(s);
	return NULL;
}

/* How long mail may wait for its next try, whatever clauses come together. */
static void
longest(struct config *config)
{
	const struct clause *c;
	struct setting most;
	long factor = 1, i;

	value_defaults(&most);
	for (c = config->clauses; c != NULL; c = c->next) {
		if (c->v.interval > most.interval)
			most.interval = c->v.interval;
		if (c->v.expiry > most.expiry)
			most.expiry = c->v.expiry;
		for (i = 0; i < c->v.nretries; i++)
			if ((long)c->v.retries[i] > factor)
				factor = c->v.retries[i];
	}
	config->longest = factor >= LONGEST_MOST / most.interval ?
	    LONGEST_MOST : (factor + 1) * most.interval;
	if (most.expiry > config->longest)
		config->longest = most.expiry;
	if (config->longest < LONGEST)
		config->longest = LONGEST;
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
	r.config = mem_get(sizeof(*r.config));
	if (r.config == NULL) {
		wrong(&r, 0, "-", "no memory");
		return NULL;
	}
	default_params(r.config);
	r.link = &r.config->clauses;
	r.p = r.start = text = slurp(&r);
	while (text != NULL && (column = skip_to_token(&r)) >= 0)
		if (column == 1)
			take_first(&r);
		else
			take_keyword(&r);
	free(text);
	fill_empty(&r);
	longest(r.config);
	if (r.errors == 0)
		return r.config;
	cf_free(r.config);
	return NULL;
}

void
cf_free(struct config *config)
{
	struct clause *c, *next;
	struct conf *f, *after;

	for (c = config->clauses; c != NULL; c = next) {
		next = c->next;
		pat_free(c->patterns);
		free(c->text);
		/* what an empty clause took belongs to the one behind it */
		if (next == NULL || next->v.command != c->v.command)
			free(c->v.command);
		if (next == NULL || next->v.retries != c->v.retries)
			free(c->v.retries);
		free(c);
	}
	for (f = config->confs; f != NULL; f = after) {
		after = f->next;
		free(f);
	}
	free(config->notifysock);
	free(config->mailqsock);
	free(config->destdb);
	free(config->routernotify);
	free(config->mailname);
	free(config);
}

/* ---- what holds for an address --------------------------------------- */

static int
clause_matches(const struct clause *c, const char *address)
{
	char **p;

	for (p = c->patterns; *p != NULL; p++)
		if (pat_match(*p, address))
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

/* Lays what the clause sets over v. */
static void
lay_over(struct setting *v, const struct clause *c)
{
	int i;

	for (i = 0; keywords[i].name != NULL; i++)
		if (c->given[i])
			value_copy(&keywords[i], v, &c->v);
}

/* Does one of the clauses set how many agents a destination may have? */
static int
gives_maxthr(const struct conf *f)
{
	unsigned i;
	int k = 0;

	while (keywords[k].at != offsetof(struct setting, fb.limit))
		k++;
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

static struct conf *
make_conf(struct config *config, const struct clause **from, unsigned n)
{
	struct conf *f;
	unsigned i;

	f = mem_get(sizeof(*f) + n * sizeof(*from));
	if (f == NULL)
		return NULL;
	f->config = config;
	f->nfrom = n;
	value_defaults(&f->v);
	for (i = 0; i < n; i++) {
		f->from[i] = from[i];
		lay_over(&f->v, from[i]);
	}
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
	unsigned n;

	text_fmt(address, sizeof(address), "%s/%s", channel, host);
	lower(address);
	from = matching(config, address, &n);
	if (from == NULL)
		return NULL;
	for (f = config->confs; f != NULL; f = f->next)
		if (f->nfrom == n && (n == 0 ||
		    memcmp(f->from, from, n * sizeof(*from)) == 0))
			return f;
	return make_conf(config, from, n);
}
