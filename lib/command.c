/*
 * command.c - a command line becomes words.
 *
 * Blanks end a word; quotes and backslashes mean what they mean to a shell,
 * but no shell is ever asked.  Leading NAME=value words are the program's
 * environment.  $channel and $host, with braces or without, stand for the
 * address, and ${NAME} for a location; within single quotes they do not.
 *
 * A value that is put in never ends a word, so whatever a host is called, it
 * is part of one argument.  It may not choose the program, and an argument
 * that begins with it must not look like an option: such mail waits.
 *
 * A command that has $host as a word gets jobs for that host without its
 * name; see enum cmd_bound.
 */
#include "util.h"
#include "command.h"
#include <ctype.h>

/* splitting: a command while it is split into words. */
struct splitting {
	const char *s;		/* what is left of it */
	const char *channel, *host;
	const char *(*var)(const char *);	/* NULL: it is only checked */
	struct command *c;
	struct text out;
	char	*word;		/* the beginning of the word at hand */
	const char *why;	/* it cannot be used */
	enum cmd_bound bound;
	int	given;		/* the word at hand depends on the address */
	int	led;		/* ... and begins with a value from it */
	size_t	alone;		/* out.len when it was $host and no more */
};

/* A value from the address goes into the word at hand. */
static void
give(struct splitting *p, const char *value)
{
	p->led |= p->out.s + p->out.len == p->word;
	p->given = 1;
	text_add(&p->out, "%s", value);
}

/* A name in braces at p->s, which stands behind "${". */
static void
give_var(struct splitting *p)
{
	char name[64];
	const char *end = strchr(p->s, '}'), *value = "";

	if (end == NULL) {
		p->why = "has ${ without }";
		return;
	}
	if (text_fmt(name, sizeof(name), "%.*s", (int)(end - p->s), p->s) < 0)
		name[0] = '\0';
	p->s = end + 1;
	if (strcmp(name, "channel") == 0) {
		give(p, p->channel);
	} else if (strcmp(name, "host") == 0) {
		if (p->bound == CMD_FREE)
			p->bound = CMD_IN_WORD;
		give(p, p->host);
	} else {
		if (p->var != NULL && (value = p->var(name)) == NULL)
			p->why = "has a ${NAME} that is not known";
		else
			text_add(&p->out, "%s", value);
	}
}

/* Is the text at s this name, and nothing longer? */
static int
is_name(const char *s, const char *name)
{
	size_t n = strlen(name);

	return strncmp(s, name, n) == 0 && s[n] != '_' &&
	    !isalnum((unsigned char)s[n]);
}

/* What stands at p->s behind '$'. */
static void
give_dollar(struct splitting *p)
{
	int first = p->out.s + p->out.len == p->word;

	if (*p->s == '{') {
		p->s++;
		give_var(p);
	} else if (is_name(p->s, "channel")) {
		p->s += 7;
		give(p, p->channel);
	} else if (is_name(p->s, "host")) {
		p->s += 4;
		give(p, p->host);
		if (p->bound == CMD_FREE)
			p->bound = CMD_IN_WORD;
		if (first)
			p->alone = p->out.len;
	} else {
		text_put(&p->out, "$", 1);
	}
}

/* One word, at p->s: by quotes and backslashes as in a shell. */
static void
split_word(struct splitting *p)
{
	int quote = 0;

	for (; p->why == NULL && *p->s != '\0'; ) {
		if (quote == 0 && isspace((unsigned char)*p->s))
			break;
		if ((*p->s == '"' || *p->s == '\'') &&
		    (quote == 0 || quote == *p->s)) {
			quote = quote == 0 ? *p->s : 0;
			p->s++;
		} else if (*p->s == '\\' && p->s[1] != '\0' &&
		    (quote == 0 || (quote == '"' &&
		    strchr("\"\\$", p->s[1]) != NULL))) {
			text_put(&p->out, p->s + 1, 1);
			p->s += 2;
		} else if (*p->s == '$' && quote != '\'') {
			p->s++;
			give_dollar(p);
		} else {
			text_put(&p->out, p->s++, 1);
		}
	}
	if (quote != 0 && p->why == NULL)
		p->why = "has a quote that is not closed";
	if (p->alone != 0 && p->alone == p->out.len)
		p->bound = CMD_AS_WORD;
	text_put(&p->out, "", 1);
}

/* NAME=value? */
static int
is_setting(const char *s)
{
	if (!isalpha((unsigned char)*s) && *s != '_')
		return 0;
	while (isalnum((unsigned char)*s) || *s == '_')
		s++;
	return *s == '=';
}

/* Where the word at hand belongs. */
static void
place_word(struct splitting *p)
{
	struct command *c = p->c;

	if (c->nargv == 0 && is_setting(p->word)) {
		if (c->nenv == CMD_WORDS)
			p->why = "has too many words";
		else
			c->env[c->nenv++] = p->word;
		return;
	}
	if (p->led && p->word[0] == '-' && p->word[1] != '\0')
		p->why = "is not run: the channel or host begins with - and "
		    "could be taken for an option";
	else if (c->nargv == 0 && p->given)
		p->why = "would run a program that depends on the address";
	else if (c->nargv == 0 && *p->word == '\0')
		p->why = "begins with an empty word";
	else if (c->nargv == CMD_WORDS)
		p->why = "has too many words";
	else
		c->argv[c->nargv++] = p->word;
}

static void
split(struct splitting *p, const char *s)
{
	struct command *c = p->c;

	c->nenv = c->nargv = 0;
	p->s = s;
	p->why = NULL;
	p->bound = CMD_FREE;
	text_init(&p->out, c->mem, sizeof(c->mem));
	for (;;) {
		while (isspace((unsigned char)*p->s))
			p->s++;
		if (*p->s == '\0' || p->why != NULL)
			break;
		p->word = p->out.s + p->out.len;
		p->given = p->led = 0;
		p->alone = 0;
		split_word(p);
		if (p->why == NULL)
			place_word(p);
	}
	c->argv[c->nargv] = NULL;
	if (p->why == NULL && p->out.cut)
		p->why = "is too long";
	if (p->why == NULL && c->nargv == 0)
		p->why = "names no program";
}

const char *
cmd_check(const char *s, enum cmd_bound *bound)
{
	static struct command c;
	struct splitting p;

	memset(&p, 0, sizeof(p));
	p.c = &c;
	p.channel = "c";
	p.host = "h";
	split(&p, s);
	*bound = p.bound;
	return p.why;
}

const char *
cmd_split(const char *s, const char *channel, const char *host,
    const char *(*var)(const char *), struct command *c)
{
	struct splitting p;

	memset(&p, 0, sizeof(p));
	p.c = c;
	p.channel = channel;
	p.host = host;
	p.var = var;
	split(&p, s);
	return p.why;
}
