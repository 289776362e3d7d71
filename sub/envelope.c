/*
 * envelope.c - the sender and the recipients of a message.
 *
 * Recipients come from the command line, from an envelope in router/, or from
 * the header.  Each is routed as it comes.  A recipient with the same channel,
 * host and user as an earlier one is left out; a hash finds the earlier one, so
 * a list of n recipients costs O(n).
 *
 * The reason for a wrong or refused address is printed at once.  The address
 * also becomes a recipient on the channel error, whose agent sends a DSN with
 * the reason; the others get the message.
 *
 * An alias is followed once for a message, even if several addresses lead to
 * it.  An alias whose list leads back to it through other aliases is wrong, and
 * so is the address that was given.  After such an address no alias counts as
 * followed, as the next address may reach a mailbox through the same aliases.
 */
#include "submit.h"
#include <ctype.h>

#define RCPTS_MOST	10000	/* recipients of a message */
#define ALIASES_DEEP	20	/* aliases that lead to one another */
#define NAMED_MOST	1000	/* wrong addresses that are named */
#define WHY_SIZE	300	/* bytes of a reason for a DSN */

static unsigned long turns;	/* turns so far, of all messages */

/* The aliases on the way from an address, the last one first. */
struct way {
	const struct way *up;
	const struct route *alias;
	int	depth;
};

int
mail_init(struct mail *m, const struct routes *routes, long uid)
{
	memset(m, 0, sizeof(*m));
	m->routes = routes;
	m->rcpts_end = &m->rcpts;
	m->turn = ++turns;
	return head_author(&m->author, uid);
}

/* Removes the recipient at this place of the list. */
static void
remove_recipient(struct mail *m, struct recipient **at)
{
	struct recipient *d = *at;

	*at = d->next;
	if (*at == NULL)
		m->rcpts_end = at;
	hash_del(&m->seen, &d->link);
	m->nrcpt--;
	m->nrouted -= strcmp(d->channel, "error") != 0;
	free(d);
}

void
mail_free(struct mail *m)
{
	while (m->rcpts != NULL)
		remove_recipient(m, &m->rcpts);
	free(m->seen.v);
	head_free(&m->head);
}

/* ---- parameters for DSNs (RFC 3461) ---------------------------------- */

int
ret_parse(const char *s, char *to)
{
	size_t n = strlen(s);

	if (!ctl_is_word(s, n, "FULL") && !ctl_is_word(s, n, "HDRS"))
		return -1;
	strcpy(to, toupper((unsigned char)*s) == 'F' ? "FULL" : "HDRS");
	return 0;
}

int
notify_parse(const char *list, char *to, size_t size)
{
	unsigned bit, bits = 0;
	struct text t;
	size_t n;

	do {
		n = strcspn(list, ",");
		bit = ctl_notify_bit(list, n);
		if (bit == 0)
			return -1;
		bits |= bit;
		list += n;
	} while (*list++ == ',');
	if ((bits & NOTIFY_NEVER) && bits != NOTIFY_NEVER)
		return -1;
	text_init(&t, to, size);
	ctl_add_notify(&t, "NOTIFY=", bits);
	return t.cut ? -1 : 0;
}

/* ---- recipients ------------------------------------------------------ */

static int
has_recipient(struct mail *m, unsigned hash, const char *channel,
    const char *host, const char *user)
{
	struct hlink *l;
	struct recipient *d;

	for (l = hash_first(&m->seen, hash); l != NULL; l = hash_next(l)) {
		d = OWNER(struct recipient, link, l);
		if (strcmp(d->channel, channel) == 0 &&
		    strcmp(d->host, host) == 0 && strcmp(d->user, user) == 0)
			return 1;
	}
	return 0;
}

/* Says why the recipient addr cannot be added, and sets full to the exit code;
 * why is a format with one %s, for addr. */
static void
say_full(struct mail *m, int code, const char *why, const char *addr)
{
	if (m->full == 0)
		say(why, addr);
	m->full = code;
}

/* Copies s to *p and moves *p behind it. */
static const char *
put_string(char **p, const char *s)
{
	char *at = *p;

	strcpy(at, s);
	*p += strlen(s) + 1;
	return at;
}

static void
add_recipient(struct mail *m, const char *channel, const char *host,
    const char *user, const char *addr, unsigned long line,
    const char *reason)
{
	char dsn[sizeof(m->dsn) + 3 * ADDR_SIZE + 20], why[WHY_SIZE], *p;
	unsigned hash = hash_text(user, hash_text(host, 0));
	struct recipient *d;
	struct text t;

	if (has_recipient(m, hash, channel, host, user))
		return;
	if (m->nrcpt == RCPTS_MOST) {
		say_full(m, X_UNAVAILABLE, "with %s the message would have "
		    "more than 10000 recipients", addr);
		return;
	}
	text_init(&t, dsn, sizeof(dsn));
	text_add(&t, "%s", m->dsn);
	if (m->orcpt && m->dsn[0] != '\0') {
		text_add(&t, " ORCPT=rfc822;");
		xtext_add(&t, addr, strlen(addr));
	}
	text_fmt(why, sizeof(why), "%s", reason);
	d = mem_get(sizeof(*d) + strlen(channel) + strlen(host) +
	    strlen(user) + strlen(addr) + strlen(dsn) + strlen(why) + 6);
	if (d == NULL) {
		say_full(m, X_OSERR, "there is no memory for %s", addr);
		return;
	}
	p = (char *)(d + 1);
	d->channel = put_string(&p, channel);
	d->host = put_string(&p, host);
	d->user = put_string(&p, user);
	d->addr = put_string(&p, addr);
	d->dsn = put_string(&p, dsn);
	d->why = put_string(&p, why);
	d->line = line;
	d->is_further = m->has_rcpt;
	m->has_rcpt = 1;
	*m->rcpts_end = d;
	m->rcpts_end = &d->next;
	hash_add(&m->seen, &d->link, hash);
	m->nrcpt++;
	m->nrouted += strcmp(channel, "error") != 0;
}

static void
say_wrong(struct mail *m, const char *text, const char *why, int code)
{
	/* a file of a user must not fill the disk of the log */
	if (m->nwrong < NAMED_MOST && !m->quiet)
		say("%s: %s", text, why);
	else if (m->nwrong == NAMED_MOST && !m->quiet)
		say("there are more wrong addresses");
	m->nwrong++;
	if (m->code == 0)
		m->code = code;
}

/* Prints why the address is refused, and adds it as a recipient on the channel
 * error, whose agent sends the DSN. */
static void
fail_address(struct mail *m, const char *addr, const char *why, int code)
{
	say_wrong(m, addr, why, code);
	add_recipient(m, "error", "refused", addr, addr, 0, why);
}

static void	route_address(struct mail *, const char *addr,
		    const char *given, const struct way *);

static void
follow_alias(struct mail *m, struct route *alias, const char *given,
    const struct way *up)
{
	const struct way *w;
	struct way way;
	const char *p;

	for (w = up; w != NULL && w->alias != alias; w = w->up)
		;
	way.up = up;
	way.alias = alias;
	way.depth = up == NULL ? 1 : up->depth + 1;
	if (w != NULL || way.depth > ALIASES_DEEP) {
		m->broken = 1;
		fail_address(m, given, w != NULL ?
		    "its alias leads back to itself" :
		    "more than 20 aliases lead to one another", X_NOUSER);
		return;
	}
	p = route_members_once(alias, m->turn);
	for (; p != NULL && *p != '\0'; p += strlen(p) + 1)
		route_address(m, p, given, &way);
}

/* Routes one address, given or of an alias.  Its domain becomes lower case, so
 * that addresses that differ only in its case are one recipient. */
static void
route_address(struct mail *m, const char *addr, const char *given,
    const struct way *way)
{
	char folded[ADDR_SIZE], both[2 * ADDR_SIZE];
	struct target t;

	strcpy(folded, addr);
	addr_fold_domain(folded);
	if (m->blind) {
		add_recipient(m, "", "", folded, addr, 0, "");
	} else if (route_find(m->routes, m->rewritten, folded,
	    m->past_hold ? "hold" : NULL,
	    way != NULL ? way->alias : NULL, &t) < 0) {
		text_fmt(both, sizeof(both), "%s%s%s", given,
		    way != NULL ? ": " : "", way != NULL ? addr : "");
		say_wrong(m, both, t.why, t.code);
		add_recipient(m, "error", "refused", folded, given, 0, t.why);
	} else if (t.alias != NULL) {
		follow_alias(m, t.alias, given, way);
	} else {
		add_recipient(m, t.channel, t.host, t.user, given, t.line, "");
	}
}

static void
add_address(struct mail *m, const char *addr)
{
	const char *given = addr;

	m->has_rcpt = 0;
	if (m->broken)
		m->turn = ++turns;
	m->broken = 0;
	if (!m->blind)
		addr = route_skip_our_uucp_names(m->routes, addr);
	if (addr != given && (*addr == '\0' || strchr("-@", *addr) != NULL))
		fail_address(m, given, "there is no user after our own UUCP "
		    "name", X_NOUSER);
	else if (m->toobig)
		add_recipient(m, "error", "toobig", addr, addr, 0, "");
	else if (m->tame && addr_pipe_or_slash(addr))
		fail_address(m, addr, "this mail may not go to programs, "
		    "files or lists", X_NOUSER);
	else
		route_address(m, addr, given, NULL);
}

/* Adds a wrong address, as one word of a control file, for the DSN. */
static void
add_wrong_address(struct mail *m, const char *text, const char *why)
{
	char word[200], *p;

	say_wrong(m, text, why, X_DATAERR);
	m->nsyntax++;
	m->has_rcpt = 0;
	text_fmt(word, sizeof(word), "%s", *text == '\0' ? "?" : text);
	for (p = word; *p != '\0'; p++)
		if (!isgraph((unsigned char)*p) || strchr("\"\\()", *p) != NULL)
			*p = '_';
	add_recipient(m, "error", "syntax", word, text, 0, why);
}

void
mail_add_list(struct mail *m, const char *p, const char *end)
{
	struct addr_list l;

	addr_start(&l, p, end);
	while (addr_next(&l))
		if (l.why == NULL)
			add_address(m, l.addr);
		else
			add_wrong_address(m, l.text, l.why);
}

int
mail_add_path(struct mail *m, const char *path, int keep_wrong)
{
	struct recipient **added = m->rcpts_end;	/* the first new one */
	unsigned nrouted = m->nrouted, nwrong = m->nwrong;
	int code;

	m->code = m->full = 0;
	mail_add_list(m, path, path + strlen(path));
	code = m->full;
	if (code == 0 && !keep_wrong && m->nrouted == nrouted)
		code = m->code;
	if (code == 0)
		return 0;
	while (*added != NULL)
		remove_recipient(m, added);
	m->turn = ++turns;
	m->nwrong = nwrong;
	return code;
}

void
mail_add_header_rcpts(struct mail *m)
{
	static const char *const names[] = {
		"resent-to", "resent-cc", "resent-bcc", "to", "cc", "bcc"
	};
	const char *p;
	int i, found = 0;

	for (i = 0; i < 6 && (i < 3 || !found); i++)
		for (p = head_find(&m->head, NULL, names[i]); p != NULL;
		    p = head_find(&m->head, p, names[i])) {
			found |= i < 3;
			mail_add_list(m, head_value(p), head_end(p));
		}
}

void
mail_fail_all(struct mail *m, const char *host)
{
	struct recipient *d, **at = &m->rcpts;

	while ((d = *at) != NULL) {
		if (d->is_further) {
			remove_recipient(m, at);
			continue;
		}
		if (strcmp(d->channel, "error") != 0) {
			d->channel = "error";
			d->host = host;
			d->user = d->addr;
		}
		at = &d->next;
	}
}

/* ---- the sender ------------------------------------------------------ */

static int
parse_sender(struct mail *m, const char *s)
{
	int n = 0, bare;
	struct addr_list l;
	char one[ADDR_SIZE];

	m->sender[0] = '\0';
	if (s[strspn(s, " \t")] == '\0' || strcmp(s, "<>") == 0)
		return 0;
	addr_start(&l, s, s + strlen(s));
	for (; addr_next(&l) && l.why == NULL; n++)
		strcpy(one, l.addr);
	if (l.why != NULL) {
		say("sender %s: %s", l.text, l.why);
	} else if (n != 1) {
		say("sender %s: it must be one address", s);
	} else if (addr_pipe_or_slash(one)) {
		say("sender %s: nothing can be sent back to it", s);
	} else {
		/* with blind, submit -q adds our domain */
		bare = addr_domain(one) == NULL && !m->blind;
		if (text_fmt(m->sender, sizeof(m->sender), "%s%s%s", one,
		    bare ? "@" : "", bare ? m->routes->domain : "") == 0)
			return 0;
		say("sender %s: it is too long with our domain", s);
	}
	return -1;
}

int
mail_set_sender(struct mail *m, const char *s)
{
	int bad = parse_sender(m, s);

	if (m->blind || route_rewrite_sender(m->routes, m->sender,
	    m->rewritten) < 0)
		strcpy(m->rewritten, m->sender);
	return bad;
}

static int
rewrite_sender(const void *arg, const char *addr, char *to)
{
	return route_rewrite_sender(arg, addr, to);
}

int
mail_fill_header(struct mail *m, unsigned long num, const char *id)
{
	static const char *const names[] = { "from", "sender", "reply-to" };
	int i, bad = head_complete(&m->head, &m->author, m->sender,
	    m->routes->domain, num, id);

	for (i = 0; id != NULL && bad == 0 && i < 3; i++)
		bad = head_edit(&m->head, names[i], rewrite_sender, m->routes);
	return bad;
}
