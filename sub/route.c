/*
 * route.c - the table that says where an address goes.
 *
 *	domain  box.example
 *	*@$d			local	-
 *	*@*.uucp		uux	$h
 *	spam*@*			!	not from here
 *	*@*			smtp	mail.example
 *	*			local	-
 *
 * A line is a pattern, a channel and a host, and the first line that matches
 * an address decides.  The pattern sees the address in lower case and without
 * its quotes, so that quoting gets nobody around a line.  With the host "-",
 * the channel is one of this machine: what it is given as user is the whole
 * address, or only what is before the '@' when the pattern has one too, since
 * then the line has said whose domain that is.  For other hosts the user is
 * the whole address, and one that has no domain gets ours.
 *
 * $d in a pattern is our own domain, which a line above may have named.  It is
 * put in when the line is read, so no line below may name another one.
 *
 * An address that begins with '|', '/' or ':' may be taken by an agent for a
 * program, a file or a list.  It is matched only by patterns that begin with
 * the same byte: no '*' lets mail run programs.
 *
 * The words of a line become words of control files, so they are checked
 * here.  All that is wrong with a table is said before it is refused.
 */
#include "submit.h"
#include "../line.h"
#include "../scheduler.h"
#include <ctype.h>
#include <sys/utsname.h>

struct route {
	struct route *next;
	char	**patterns;	/* each with a '/' behind it, see below */
	char	*channel;	/* NULL: refuse */
	char	*host;		/* or what is said of the refusal */
};

/* ---- reading --------------------------------------------------------- */

/* Cuts the next word off, NULL when there is none. */
static char *
word(char **p)
{
	char *s = *p + strspn(*p, " \t");

	if (*s == '\0' || *s == '#')
		return NULL;
	*p = s + strcspn(s, " \t");
	if (**p != '\0')
		*(*p)++ = '\0';
	return s;
}

static int
channel_ok(const char *s)
{
	return strlen(s) < 64 && s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")] == '\0';
}

/* NULL, or what is wrong with the host. */
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

/* Puts our domain in, with its bytes standing for themselves. */
static void
add_domain(struct routes *t, struct text *s)
{
	const char *p;

	for (p = t->domain; *p != '\0'; p++)
		text_add(s, isalnum((unsigned char)*p) ? "%c" : "\\%c", *p);
	t->domain_used = 1;
}

/*
 * The scheduler's patterns are for channel/host: one without a '/' gets a
 * "/" and "*" behind it.  A '/' at the end of the pattern and of the address
 * keeps that away, and changes nothing.  NULL, or what is wrong.
 */
static const char *
expand(struct routes *t, struct route *r, const char *pattern)
{
	char whole[LINE_MAX_ + 2];
	struct text s;

	text_init(&s, whole, sizeof(whole));
	for (; *pattern != '\0'; pattern++)
		if (*pattern == '$' && pattern[1] == 'd') {
			add_domain(t, &s);
			pattern++;
		} else {
			text_put(&s, pattern, 1);
			if (*pattern == '\\' && pattern[1] != '\0')
				text_put(&s, ++pattern, 1);
		}
	text_add(&s, "/");
	if (s.cut)
		return "the pattern is too long";
	r->patterns = pat_expand(whole);
	return r->patterns == NULL ? "the pattern has too many alternatives" :
	    NULL;
}

static const char *
add_route(struct routes *t, const char *pattern, const char *channel,
    const char *host)
{
	struct route *r = mem_get(sizeof(*r));
	const char *why;

	if (r == NULL)
		return "no memory";
	*t->end = r;
	t->end = &r->next;
	why = expand(t, r, pattern);
	if (why != NULL)
		return why;
	r->host = mem_dup(host);
	r->channel = channel == NULL ? NULL : mem_dup(channel);
	if (r->host == NULL || (channel != NULL && r->channel == NULL))
		return "no memory";
	return NULL;
}

/* NULL, or what is wrong with the line. */
static const char *
see_line(struct routes *t, struct lines *l)
{
	static const char want[] = "a line is PATTERN CHANNEL HOST, or "
	    "PATTERN ! TEXT, or domain NAME";
	char *p = l->line, *pattern, *channel, *host;
	const char *why;

	if (l->overlong)
		return "the line is too long";
	if (strlen(p) != l->len)
		return "the line has a NUL byte";
	pattern = word(&p);
	if (pattern == NULL)
		return NULL;
	channel = word(&p);
	if (channel == NULL)
		return want;
	why = pat_check(pattern);
	if (strcmp(channel, "!") == 0)
		return why != NULL ? why : add_route(t, pattern, NULL,
		    p + strspn(p, " \t"));
	host = word(&p);
	if (host == NULL && strcmp(pattern, "domain") == 0) {
		if (!addr_domain_ok(channel))
			return "the domain cannot be one";
		if (t->domain_used)
			return "the domain must be named above the lines "
			    "with $d";
		strcpy(t->domain, channel);
		return NULL;
	}
	if (host == NULL || word(&p) != NULL)
		return want;
	if (!channel_ok(channel))
		return "the channel has a character that cannot be part of "
		    "one";
	if (why == NULL)
		why = host_fault(host);
	return why != NULL ? why : add_route(t, pattern, channel, host);
}

/* The name of this machine, for a table that does not say. */
static void
own_domain(struct routes *t)
{
	struct utsname uts;

	if (uname(&uts) < 0 || text_fmt(t->domain, sizeof(t->domain), "%s",
	    uts.nodename) < 0 || !addr_domain_ok(t->domain))
		strcpy(t->domain, "localhost");
}

int
route_load(struct routes *t, const char *path)
{
	static struct lines l;	/* large, and there is only one at a time */
	unsigned long n = 0;
	const char *why;
	int fd, bad = 0;

	memset(t, 0, sizeof(*t));
	t->end = &t->first;
	t->path = path;
	own_domain(t);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -1;
	fd_cloexec(fd);
	line_start(&l, fd, 0);
	while (line_next(&l)) {
		n++;
		why = see_line(t, &l);
		if (why != NULL)
			say("%s:%lu: %s", path, n, why);
		bad += why != NULL;
	}
	close(fd);
	errno = l.error != 0 ? l.error : EINVAL;
	return l.error != 0 || bad ? -1 : 0;
}

void
route_free(struct routes *t)
{
	struct route *r;

	while ((r = t->first) != NULL) {
		t->first = r->next;
		pat_free(r->patterns);
		free(r->channel);
		free(r->host);
		free(r);
	}
	t->end = &t->first;
}

/* ---- finding --------------------------------------------------------- */

/* The address as patterns see it. */
static void
plain(const char *addr, char *s)
{
	char *p = s;

	for (; *addr != '\0'; addr++) {
		if (*addr == '"')
			continue;
		if (*addr == '\\' && addr[1] != '\0')
			addr++;
		*p++ = (char)tolower((unsigned char)*addr);
	}
	*p++ = '/';
	*p = '\0';
}

static const char *
matching(const struct route *r, const char *s, int first)
{
	char **alt;
	const char *p;

	for (alt = r->patterns; *alt != NULL; alt++) {
		p = **alt == '\\' ? *alt + 1 : *alt;
		if ((first == 0 || *p == first) && pat_match(*alt, s))
			return *alt;
	}
	return NULL;
}

static int
nowhere(struct target *t, int code, const char *why)
{
	t->code = code;
	t->why = why;
	return -1;
}

/* Fills $h in: 0, or -1 when the domain is none to send to. */
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

int
route_find(const struct routes *table, const char *addr, const char *but,
    struct target *t)
{
	const char *domain = addr_domain(addr), *pattern = NULL;
	const struct route *r;
	int first = addr_special(addr), cut;
	char s[ADDR_SIZE + 1];

	memset(t, 0, sizeof(*t));
	plain(addr, s);
	for (r = table->first; r != NULL; r = r->next)
		if ((but == NULL || r->channel == NULL ||
		    strcmp(r->channel, but) != 0) &&
		    (pattern = matching(r, s, first)) != NULL)
			break;
	if (r == NULL)
		return nowhere(t, X_NOUSER, "there is no route for it");
	if (r->channel == NULL)
		return nowhere(t, X_NOUSER, *r->host != '\0' ? r->host :
		    "it is refused here");
	t->channel = r->channel;
	if (set_host(t, r->host, domain) < 0)
		return nowhere(t, X_NOHOST, "it names no host to send to");
	if (strcmp(t->host, "-") == 0 && domain != NULL &&
	    strchr(pattern, '@') != NULL)
		cut = text_fmt(t->user, sizeof(t->user), "%.*s",
		    (int)(domain - addr) - 1, addr);
	else if (strcmp(t->host, "-") == 0 || domain != NULL ||
	    strchr(addr, '!') != NULL)
		cut = text_fmt(t->user, sizeof(t->user), "%s", addr);
	else
		cut = text_fmt(t->user, sizeof(t->user), "%s@%s", addr,
		    table->domain);
	return cut < 0 ? nowhere(t, X_DATAERR, "it is too long") : 0;
}
