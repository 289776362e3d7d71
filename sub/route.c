/*
 * route.c - the table of routes: from an address to channel, host and user.
 *
 *	domain  box.example
 *	*@$d			local	-
 *	*@club.example		boxes	-	$u
 *	*@*.uucp		uucp	neighbour
 *	spam*@*			!	not from here
 *	*@*			smtp	mail.example
 *	*			local	-
 *
 * A line is a pattern, a channel, a host and perhaps a user; the first line
 * that matches an address decides.  The pattern is matched against the address
 * in lower case and without quotes, so that quotes cannot avoid a line.
 *
 * Without a fourth word the user is the whole address; an address without a
 * domain gets ours, as a bare name would mean another person at another host.
 * That is so with the host "-", too, since an agent may choose its host itself,
 * as smtp -R does.
 *
 * Lines with the channel local, hold or error and the host "-" differ from
 * this, as they are for this machine.  Without a fourth word, their user is the
 * part before the '@' if the pattern has an '@', which says what domain is
 * meant; else it is the address as it is.
 *
 * A fourth word sets the user on any line: $u is the name alone, $u@$h the
 * whole address.
 *
 * For a path of UUCP, $r is the part behind the first '!', and a host $h in
 * such a line is the part before: "*!* uucp $h $r" sends a!b!carl to a, for
 * b!carl.  Our own names in UUCP are taken off the beginning of each recipient.
 *
 * A line for our own domain with the host "-" and a channel other than local,
 * hold and error could mean names or addresses, so it must have a fourth word.
 *
 * $d in a pattern is our own domain, which a line "domain" may set before.  It
 * is filled in when the line is read; a later "domain" is an error.
 *
 * An alias replaces an address by others:
 *
 *	root = anna, bert@far.example
 *	info@club.example = carl
 *
 * An alias with an '@' is a line like any other.  An alias without one is for
 * names: if the first line that matches has "local -", the user is searched for
 * in all these aliases, wherever they stand, and the first that matches
 * decides.  In its own list a name means itself, so "anna = anna, bert" gives
 * bert a copy.  The addresses of the list are routed like any others;
 * envelope.c makes sure that this ends.  The name postmaster without an alias
 * is root.
 *
 * An alias cannot contain programs, files and lists, since they would run with
 * the rights of the sender.
 *
 * An address that begins with '|', '/' or ':' may mean a program, a file or a
 * list to an agent.  Only patterns that begin with the same byte match it, so
 * that no '*' lets mail run programs.
 *
 * A sender may get another name, in the envelope and the header, and routes of
 * his own, which see the new name:
 *
 *	sender	anna = anna.berg@club.example	a user of this machine
 *	sender	*@$d = club.example		the names at another domain
 *	sender	*@club.example	*@* smtp mail.club.example
 *
 * The words of a line become words of control files and are checked here.  All
 * mistakes in a table are printed before it is refused.
 *
 *	PARAMmessagesize 64M	most bytes of a message; 0: no limit
 *	PARAMminfree 1M		bytes of the post office's file system that
 *				mail leaves free, and 50 inodes; 0: none
 *	PARAMpostbytes 1M	most bytes of double bounces in postman/; 0: any
 *	PARAMpostmanage 30d	time that a double bounce is kept there; 0: for
 *				ever
 *	PARAMworkers 4		processes of submit -q
 *	PARAMuucpname leaf	our name in UUCP; several have commas between
 *	PARAMnetworks 10.0.0.0/8,fd00::/8
 *				whom submit -bs serves beside this machine
 */
#include "submit.h"
#include "../lib/pattern.h"
#include <ctype.h>

/* The values of parameters that are not in the table. */
#define MESSAGESIZE	(64UL << 20)	/* bytes */
#define MINFREE		(1UL << 20)	/* bytes */
#define POSTBYTES	(1UL << 20)	/* bytes */
#define POSTMANAGE	(30 * 86400L)	/* seconds */
#define WORKERS		2

enum user {
	USER_ADDRESS,	/* $u@$h: the address, with our domain if it has none
			 * and may get one */
	USER_NAME,	/* $u: the part before the '@' */
	USER_REST,	/* $r: what is between the first '!' and the '@' */
	USER_LOCAL	/* the name if the pattern has an '@', else the address
			 * as it is */
};

struct route {
	struct route *next;
	char	**patterns;	/* with a '/' at the end, see expand_pattern */
	char	*channel;	/* NULL: the address is refused */
	char	*host;		/* host; with channel NULL, text of a refusal;
				 * of a line for senders, the new name */
	enum user user;
	unsigned long line;	/* line of the table */
	char	**from;		/* senders that the line is for; NULL: all */
	int	from_name;	/* from has names of this machine */
	char	*list;		/* an alias: its addresses, each with a NUL,
				 * then an empty one; else NULL */
	int	is_for_names;	/* an alias or a line for a sender: the pattern
				 * is a name, not an address */
	unsigned long turn;	/* an alias: the last turn that followed it */
};

/* ---- reading --------------------------------------------------------- */

/* Cuts off the next word and returns it, or NULL at the end. */
static char *
cut_word(char **p)
{
	char *s = *p + strspn(*p, " \t");

	if (*s == '\0' || *s == '#')
		return NULL;
	*p = s + strcspn(s, " \t");
	if (**p != '\0')
		*(*p)++ = '\0';
	return s;
}

/* Returns NULL, or what is wrong with the host. */
static const char *
host_fault(const char *s)
{
	if (strlen(s) >= DOMAIN_SIZE)
		return "the host is too long";
	for (; *s != '\0'; s++) {
		if (!isgraph((unsigned char)*s) || strchr("\"\\()", *s) != NULL)
			return "the host has a character that cannot be "
			    "part of one";
		if (*s == '$' && s[1] != 'h')
			return "only $h is known in a host";
	}
	return NULL;
}

/* Adds our domain, with a backslash before bytes that patterns use. */
static void
put_domain(struct routes *t, struct text *s)
{
	const char *p;

	for (p = t->domain; *p != '\0'; p++)
		text_add(s, isalnum((unsigned char)*p) ? "%c" : "\\%c", *p);
	t->domain_used = 1;
}

/*
 * Expands a pattern.  The scheduler's patterns are for channel/host: pat_expand
 * adds "/" and "*" to a pattern without a '/'.  A '/' at the end of the pattern
 * and of the address avoids that and changes nothing else.  Returns NULL, or
 * what is wrong.
 */
static const char *
expand_pattern(struct routes *t, const char *pattern, char ***to)
{
	char whole[LINE_MAX_ + 2];
	struct text s;

	text_init(&s, whole, sizeof(whole));
	for (; *pattern != '\0'; pattern++)
		if (*pattern == '$' && pattern[1] == 'd') {
			put_domain(t, &s);
			pattern++;
		} else if (*pattern == '$' &&
		    isalpha((unsigned char)pattern[1])) {
			return "only $d is known in a pattern; write \\$ for a "
			    "dollar";
		} else {
			text_put(&s, pattern, 1);
			if (*pattern != '\\')
				continue;
			if (*++pattern == '\0')
				return "a backslash stands at the end";
			text_put(&s, pattern, 1);
		}
	text_add(&s, "/");
	return s.cut ? "the pattern is too long" :
	    pat_expand(whole, to);
}

static int
is_local_hold_or_error(const char *channel)
{
	return strcmp(channel, "local") == 0 || strcmp(channel, "hold") == 0 ||
	    strcmp(channel, "error") == 0;
}

/* Returns 1 if the domain of a pattern has no wildcard and is ours. */
static int
has_our_domain(const struct routes *t, const struct route *r)
{
	char s[DOMAIN_SIZE + 2], **alt, *p;

	text_fmt(s, sizeof(s), "@%s/", t->domain);
	addr_fold_domain(s);
	for (alt = r->patterns; *alt != NULL; alt++) {
		p = strrchr(*alt, '@');
		if (p != NULL && strpbrk(p, "*?") == NULL && pat_matches(p, s))
			return 1;
	}
	return 0;
}

/* Sets the form of the user by the fourth word, which may be missing.  Returns
 * NULL, or what is wrong with that word. */
static const char *
set_user_form(struct routes *t, struct route *r, const char *s)
{
	int no_host = strcmp(r->host, "-") == 0;

	t->word = s != NULL ? s : r->host;
	if (s == NULL && no_host && is_local_hold_or_error(r->channel))
		r->user = USER_LOCAL;
	else if (s == NULL && no_host && has_our_domain(t, r))
		return "for our own domain on this channel, write a user "
		    "behind the host: $u for the name alone, or $u@$h for the "
		    "address";
	else if (s == NULL || strcmp(s, "$u@$h") == 0)
		r->user = USER_ADDRESS;
	else if (strcmp(s, "$u") == 0)
		r->user = USER_NAME;
	else if (strcmp(s, "$r") == 0)
		r->user = USER_REST;
	else
		return "the user is $u, $u@$h or $r";
	return NULL;
}

/* Adds a line with this pattern at the end of a list: NULL, or what is wrong
 * with the pattern. */
static const char *
add_line(struct routes *t, struct route ***end, const char *pattern,
    struct route **made)
{
	struct route *r = mem_get(sizeof(*r));
	const char *why;

	*made = r;
	if (r == NULL)
		return "no memory";
	r->line = t->line;
	r->is_for_names = strchr(pattern, '@') == NULL;
	**end = r;
	*end = &r->next;
	if (t->sender == NULL)
		return expand_pattern(t, pattern, &r->patterns);
	r->from_name = strchr(t->sender, '@') == NULL;
	t->word = t->sender;
	why = expand_pattern(t, t->sender, &r->from);
	if (why != NULL)
		return why;
	t->word = pattern;
	return expand_pattern(t, pattern, &r->patterns);
}

static const char *
add_route(struct routes *t, const char *pattern, const char *channel,
    const char *host, const char *user)
{
	struct route *r;
	const char *why = add_line(t, &t->first_end, pattern, &r);

	if (why != NULL)
		return why;
	r->is_for_names = 0;	/* a route without an '@' is for any address */
	r->host = mem_dup(host);
	r->channel = channel == NULL ? NULL : mem_dup(channel);
	if (r->host == NULL || (channel != NULL && r->channel == NULL))
		return "no memory";
	return channel == NULL ? NULL : set_user_form(t, r, user);
}

/* ---- aliases and senders ---------------------------------------------- */

/* Cuts a comment off, with the blanks before it, and returns the new end. */
static char *
cut_comment(char *s)
{
	char *p, *end = s;

	for (p = s; *p != '\0'; p++)
		if (*p == '#' && (p == s || strchr(" \t", p[-1]) != NULL))
			break;
		else if (strchr(" \t", *p) == NULL)
			end = p + 1;
	*end = '\0';
	return end;
}

/* Adds an alias with the list p.  Returns NULL, or what is wrong with the line.
 */
static const char *
add_alias(struct routes *t, const char *pattern, char *p)
{
	static char members[2 * LINE_MAX_];	/* commas become NULs */
	static char reason[300];	/* valid until the next call */
	struct addr_list l;
	struct route *r;
	struct text list;
	const char *why = add_line(t, &t->first_end, pattern, &r);

	if (why != NULL)
		return why;
	text_init(&list, members, sizeof(members));
	addr_start(&l, p, cut_comment(p));
	while (addr_next(&l)) {
		if (l.why == NULL && addr_pipe_or_slash(l.addr))
			l.why = "an alias has no programs, files and lists";
		if (l.why != NULL) {
			text_fmt(reason, sizeof(reason), "%.200s: %s",
			    l.addr[0] != '\0' ? l.addr : l.text, l.why);
			return reason;
		}
		text_put(&list, l.addr, strlen(l.addr) + 1);
	}
	if (list.len == 0)
		return "the alias has no address";
	r->list = mem_get(list.len + 1);
	if (r->list == NULL)
		return "no memory";
	memcpy(r->list, members, list.len);
	return NULL;
}

/* Adds a line that rewrites senders.  Returns NULL, or what is wrong with the
 * line. */
static const char *
add_sender(struct routes *t, const char *pattern, const char *to)
{
	struct addr_list l;
	const char *why;
	struct route *r;

	if (to == NULL)
		return "the new name of the sender is missing";
	t->word = pattern;
	why = add_line(t, &t->senders_end, pattern, &r);
	if (why != NULL)
		return why;
	t->word = to;
	addr_start(&l, to, to + strlen(to));
	if (strchr(to, '@') == NULL ? !addr_is_domain(to) :
	    !addr_next(&l) || strcmp(l.addr, to) != 0 || addr_pipe_or_slash(to))
		return "the new name of a sender is one address or a domain";
	r->host = mem_dup(to);
	return r->host == NULL ? "no memory" : NULL;
}

/* ---- lines ----------------------------------------------------------- */

/* Sets a parameter: NULL, or what is wrong with it. */
static const char *
set_param(struct routes *t, const char *name, const char *value)
{
	unsigned long *to = NULL;

	t->word = value;
	if (strcmp(name, "networks") == 0)
		return peer_is_list(value) && text_fmt(t->networks,
		    sizeof(t->networks), "%s", value) == 0 ? NULL :
		    "a network is ADDRESS/BITS; several have commas between";
	if (strcmp(name, "uucpname") == 0)
		return text_fmt(t->uucp, sizeof(t->uucp), ",%s,", value) == 0 &&
		    strchr(value, '!') == NULL ? NULL :
		    "a name has no !, and the whole list at most 297 bytes";
	if (strcmp(name, "messagesize") == 0)
		to = &t->most;
	else if (strcmp(name, "minfree") == 0)
		to = &t->least;
	else if (strcmp(name, "postbytes") == 0)
		to = &t->postbytes;
	else if (strcmp(name, "workers") == 0)
		return size_parse(value, ULONG_MAX, &t->workers) == 0 &&
		    t->workers > 0 && t->workers <= WORKERS_MOST ? NULL :
		    "the number of workers is 1 to 64";
	else if (strcmp(name, "postmanage") == 0)
		return span_parse(value, &t->postmanage) == 0 ? NULL :
		    "it is no span of time such as 30d or 12h";
	if (to == NULL) {
		t->word = name;
		return "the parameters are PARAMmessagesize, PARAMminfree, "
		    "PARAMnetworks, PARAMpostbytes, PARAMpostmanage, "
		    "PARAMuucpname and PARAMworkers";
	}
	return size_parse(value, ULONG_MAX, to) == 0 ? NULL :
	    "the size is not valid or too large; write 64M, 100k, 0";
}

/* Adds a route; p is the rest of the line.  Returns NULL, or what is wrong. */
static const char *
parse_route(struct routes *t, const char *pattern, const char *channel,
    const char *host, char *p)
{
	const char *why, *user = cut_word(&p);

	t->word = user != NULL ? cut_word(&p) : NULL;
	if (t->word != NULL)
		return "there are too many words";
	t->word = channel;
	if (strlen(channel) >= 64 || channel[strspn(channel,
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789._+-")] != '\0')
		return "the channel is too long, or has a character that "
		    "cannot be part of one";
	t->word = host;
	why = host_fault(host);
	if (why != NULL)
		return why;
	t->word = pattern;
	return add_route(t, pattern, channel, host, user);
}

/* Reads a line.  Returns NULL, or what is wrong with the line. */
static const char *
parse_line(struct routes *t, struct lines *l)
{
	static const char want[] = "a line is PATTERN CHANNEL HOST "
	    "[USER], PATTERN ! TEXT, NAME = ADDRESSES, domain NAME, "
	    "sender PATTERN = NAME, or PARAMname VALUE";
	char *p = l->line, *pattern, *channel, *host, *s;

	if (l->overlong)
		return "the line is too long";
	if (strlen(p) != l->len)
		return "the line has a NUL byte";
	t->word = pattern = cut_word(&p);
	if (pattern == NULL)
		return NULL;
	channel = cut_word(&p);
	if (channel == NULL)
		return want;
	if (pattern[strlen(pattern) - 1] == ':')
		return "write \"name = address\" for an alias";
	if (strcmp(channel, "!") == 0) {
		cut_comment(p);
		return add_route(t, pattern, NULL, p + strspn(p, " \t"),
		    NULL);
	}
	if (strcmp(channel, "=") == 0)
		return add_alias(t, pattern, p);
	host = cut_word(&p);
	if (host != NULL && strcmp(pattern, "sender") == 0) {
		if (strcmp(host, "=") == 0)
			return add_sender(t, channel, cut_word(&p));
		/* without a $, the fourth word is the channel of a route for
		 * senders; with a $, it is the user of an ordinary route, whose
		 * pattern is the name "sender" */
		if (p[strspn(p, " \t")] != '$' && (s = cut_word(&p)) != NULL) {
			t->sender = channel;
			pattern = host;
			channel = s;
			host = cut_word(&p);
		}
	}
	if (host == NULL && strncmp(pattern, "PARAM", 5) == 0)
		return set_param(t, pattern + 5, channel);
	if (host == NULL && strcmp(pattern, "domain") == 0) {
		t->word = channel;
		if (!addr_is_domain(channel))
			return "the domain is not valid";
		if (t->domain_used)
			return "the domain must be named above the lines "
			    "with $d";
		strcpy(t->domain, channel);
		return NULL;
	}
	return host == NULL ? want : parse_route(t, pattern, channel, host, p);
}

/* Prints what is wrong with the line, and notes the first mistake. */
static void
say_mistake(struct routes *t, const char *why)
{
	char s[sizeof(t->mistake)];
	int has_word = t->word != NULL;

	text_fmt(s, sizeof(s), "%s:%lu: %s%s%s", t->path, t->line,
	    has_word ? t->word : "", has_word ? ": " : "", why);
	say("%s", s);
	if (t->mistake[0] == '\0')
		strcpy(t->mistake, s);
}

static int
set_load_error(struct routes *t, const char *what, const char *name, int err)
{
	text_fmt(t->mistake, sizeof(t->mistake), "cannot read the %s %s: %s",
	    what, name, strerror(err));
	errno = err;
	return -1;
}

int
route_load(struct routes *t, const char *path)
{
	static struct lines l;	/* large, and there is only one at a time */
	const char *why;
	int fd;

	memset(t, 0, sizeof(*t));
	t->first_end = &t->first;
	t->senders_end = &t->senders;
	t->path = path;
	t->most = MESSAGESIZE;
	t->least = MINFREE;
	t->workers = WORKERS;
	t->postmanage = POSTMANAGE;
	t->postbytes = POSTBYTES;
	errno = 0;
	text_fmt(t->domain, sizeof(t->domain), "%s", mailname(NULL));
	/* EACCES: this user could not read the file later either */
	if (is_transient(errno) && errno != EACCES)
		return set_load_error(t, "file", "mailname", errno);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return set_load_error(t, "table", path, errno);
	fd_cloexec(fd);
	line_start(&l, fd, 0);
	while (line_next(&l)) {
		t->line++;
		t->word = t->sender = NULL;
		why = parse_line(t, &l);
		if (why != NULL)
			say_mistake(t, why);
	}
	close(fd);
	if (l.error != 0)
		return set_load_error(t, "table", path, l.error);
	errno = EINVAL;
	return t->mistake[0] != '\0' ? -1 : 0;
}

void
route_free(struct routes *t)
{
	struct route *r;

	*t->first_end = t->senders;
	while ((r = t->first) != NULL) {
		t->first = r->next;
		pat_free(r->patterns);
		pat_free(r->from);
		free(r->channel);
		free(r->host);
		free(r->list);
		free(r);
	}
}

/* ---- finding --------------------------------------------------------- */

/* Makes the form of the address that is matched.  In an address without a
 * domain an '@' within quotes becomes a byte that no pattern has: "a@b" is no
 * user of b. */
static void
make_plain(const char *addr, char *s)
{
	int at = addr_domain(addr) != NULL || addr_pipe_or_slash(addr) ?
	    '@' : '\1';
	char *p = s;

	for (; *addr != '\0'; addr++) {
		if (*addr == '"')
			continue;
		if (*addr == '\\' && addr[1] != '\0')
			addr++;
		*p++ = (char)(*addr == '@' ? at : tolower((unsigned char)
		    *addr));
	}
	*p++ = '/';
	*p = '\0';
}

/* Returns the pattern of the line that matches the plain address s, or NULL.
 * If first is not 0, the pattern must begin with that byte. */
static const char *
find_match(const struct route *r, const char *s, int first)
{
	char **alt;
	const char *p;

	for (alt = r->patterns; *alt != NULL; alt++) {
		p = **alt == '\\' ? *alt + 1 : *alt;
		if ((first == 0 || *p == first) && pat_matches(*alt, s))
			return *alt;
	}
	return NULL;
}

static int
fail_target(struct target *t, int code, const char *why)
{
	t->code = code;
	t->why = why;
	return -1;
}

/* Makes the host, with the domain in the place of $h: 0, or -1 if a domain is
 * missing or the host is too long. */
static int
set_host(struct target *t, const char *form, const char *domain)
{
	struct text s;

	text_init(&s, t->host, sizeof(t->host));
	for (; *form != '\0'; form++)
		if (*form == '$') {
			if (domain == NULL)
				return -1;
			text_add(&s, "%s", domain);
			form++;
		} else {
			text_add(&s, "%c", *form);
		}
	return s.cut ? -1 : 0;
}

/* Makes the user for the agent: 0, or -1 if it is too long. */
static int
set_user(struct target *t, const struct routes *table,
    const struct route *r, const char *pattern, const char *addr)
{
	const char *domain = addr_domain(addr), *rest = strchr(addr, '!');
	size_t n = domain != NULL ? (size_t)(domain - addr) - 1 : strlen(addr);

	if (r->user == USER_REST)	/* set_target has found the '!' */
		return text_fmt(t->user, sizeof(t->user), "%.*s",
		    (int)(n - (size_t)(rest + 1 - addr)), rest + 1);
	if (domain != NULL && (r->user == USER_NAME ||
	    (r->user == USER_LOCAL && strchr(pattern, '@') != NULL)))
		return text_fmt(t->user, sizeof(t->user), "%.*s", (int)n, addr);
	/* our domain is not added to a path, or to a program, file or list */
	if (domain != NULL || r->user != USER_ADDRESS ||
	    strchr(addr, '!') != NULL ||
	    (addr_pipe_or_slash(addr) && strcmp(r->host, "-") == 0))
		return text_fmt(t->user, sizeof(t->user), "%s", addr);
	return text_fmt(t->user, sizeof(t->user), "%s@%s", addr,
	    table->domain);
}

/* Returns the alias of a name of this machine; NULL: there is none, or the
 * address comes from its own list (within).  The user postmaster without an
 * alias becomes root. */
static struct route *
find_alias(const struct routes *table, struct target *t,
    const struct route *within)
{
	int first = addr_pipe_or_slash(t->user), postmaster;
	char s[ADDR_SIZE + 1];
	struct route *r;

	do {
		make_plain(t->user, s);
		for (r = table->first; r != NULL; r = r->next)
			if (r->is_for_names && find_match(r, s, first) != NULL)
				return r == within ? NULL : r;
		postmaster = strcmp(s, "postmaster/") == 0;
		if (postmaster)
			strcpy(t->user, "root");
	} while (postmaster);
	return NULL;
}

/* Sets the target by the line: 0, or -1 with why and code. */
static int
set_target(struct target *t, const struct routes *table,
    const struct route *r, const char *pattern, const char *addr,
    const struct route *within)
{
	const char *domain = addr_domain(addr);
	char hop[DOMAIN_SIZE];
	size_t n = strcspn(addr, "!@\"");

	t->channel = r->channel;
	t->line = r->line;
	if (r->user == USER_REST) {
		domain = hop;
		/* strchr also finds the end, if no name follows the '!' */
		if (addr[n] != '!' || strchr("-@", addr[n + 1]) != NULL ||
		    addr_pipe_or_slash(addr + n + 1) ||
		    text_fmt(hop, sizeof(hop), "%.*s", (int)n, addr) < 0 ||
		    !addr_is_domain(hop))
			return fail_target(t, X_NOHOST,
			    "it is no path of UUCP");
	}
	if (set_host(t, r->host, domain) < 0)
		return fail_target(t, X_NOHOST,
		    "it names no host to send to, or one that is too long");
	if (set_user(t, table, r, pattern, addr) < 0)
		return fail_target(t, X_DATAERR, "it is too long");
	if (strcmp(t->channel, "local") == 0 && strcmp(t->host, "-") == 0)
		t->alias = find_alias(table, t, within);
	return 0;
}

/* Returns 1 if one of the patterns matches the sender; for_names: the patterns
 * are for names of this machine. */
static int
is_sender(const struct routes *table, char *const *patterns, int for_names,
    const char *addr)
{
	const char *domain = addr_domain(addr);
	char s[ADDR_SIZE + 1];

	if (domain == NULL)
		return 0;
	make_plain(addr, s);
	if (for_names) {
		if (!ctl_is_word(domain, strlen(domain), table->domain))
			return 0;
		strcpy(strrchr(s, '@'), "/");
	}
	while (*patterns != NULL && !pat_matches(*patterns, s))
		patterns++;
	return *patterns != NULL;
}

int
route_rewrite_sender(const struct routes *table, const char *addr, char *to)
{
	const struct route *r = table->senders;

	while (r != NULL && !is_sender(table, r->patterns, r->is_for_names,
	    addr))
		r = r->next;
	if (r == NULL)
		return -1;
	return strchr(r->host, '@') != NULL ?
	    text_fmt(to, ADDR_SIZE, "%s", r->host) :
	    text_fmt(to, ADDR_SIZE, "%.*s%s",
	    (int)(addr_domain(addr) - addr), addr, r->host);
}

int
route_find(const struct routes *table, const char *sender, const char *addr,
    const char *except, const struct route *within, struct target *t)
{
	const char *pattern = NULL;
	struct route *r;
	int first = addr_pipe_or_slash(addr);
	char s[ADDR_SIZE + 1];

	memset(t, 0, sizeof(*t));
	make_plain(addr, s);
	for (r = table->first; r != NULL; r = r->next) {
		if (r->is_for_names || r == within || (r->from != NULL &&
		    !is_sender(table, r->from, r->from_name, sender)))
			continue;
		if (except != NULL && r->channel != NULL &&
		    strcmp(r->channel, except) == 0)
			continue;
		pattern = find_match(r, s, first);
		if (pattern != NULL)
			break;
	}
	if (r == NULL)
		return fail_target(t, X_NOUSER, "there is no route for it");
	if (r->list != NULL) {
		t->alias = r;
		return 0;
	}
	if (r->channel == NULL)
		return fail_target(t, X_NOUSER, *r->host != '\0' ? r->host :
		    "it is refused here");
	return set_target(t, table, r, pattern, addr, within);
}

void
route_print_targets(const struct routes *table)
{
	const struct route *r;
	int replaced = 0;	/* an alias replaces all local names */

	for (r = table->first; r != NULL; r = r->next)
		replaced |= r->is_for_names &&
		    strcmp(r->patterns[0], "*/") == 0;
	for (r = table->first; r != NULL; r = r->next)
		if (r->channel != NULL &&
		    !(replaced && strcmp(r->host, "-") == 0 &&
		    strcmp(r->channel, "local") == 0))
			printf("%s:%lu: %s/%s\n", table->path, r->line,
			    r->channel, strchr(r->host, '$') == NULL ?
			    r->host : "*");
	/* submit -q sends refused addresses to error/refused */
	printf("%s: error/refused\n", table->path);
}

const char *
route_skip_our_uucp_names(const struct routes *table, const char *addr)
{
	char hop[DOMAIN_SIZE + 2], names[sizeof(table->uucp)];
	const char *domain = addr_domain(addr), *p;
	size_t n;

	if (domain != NULL && !ctl_is_word(domain, strlen(domain),
	    table->domain))
		return addr;
	text_fmt(names, sizeof(names), "%s", table->uucp);
	text_lower(names);
	for (p = addr; ; p += n + 1) {
		n = strcspn(p, "!@\"");
		if (p[n] != '!' || text_fmt(hop, sizeof(hop), ",%.*s,", (int)n,
		    p) < 0)
			return p;
		text_lower(hop);
		if (strstr(names, hop) == NULL)
			return p;
	}
}

const char *
route_members_once(struct route *r, unsigned long turn)
{
	if (r->turn == turn)
		return NULL;
	r->turn = turn;
	return r->list;
}
