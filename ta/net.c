/*
 * net.c - finds the addresses of a host and connects to one.
 *
 * A host is written in one of these ways:
 *
 *	domain		the hosts that its MX records name, best first; with
 *			none, the addresses of the name itself
 *	name:port	the addresses of the name, at that port: a port means
 *			one machine
 *	word		a name without a dot: addresses only
 *	[192.0.2.1]	that address; also [IPv6:2001:db8::1], with or without
 *			the word, and either with :port
 *
 * Addresses come from the C library, so the hosts file counts.  At most
 * NET_ADDRS are tried, of at most MX_MAX hosts.
 *
 * Mail must not loop.  These rules recognise this machine:
 *
 *	- An address at another port than 25 is never this machine: an
 *	  administrator has set that up.
 *	- A name from the DNS or the hosts file that has an address of this
 *	  machine, a loopback or an unspecified address is this machine.
 *	- An MX with our own name is this machine.  It is dropped, and so are
 *	  all MX that are no better (RFC 5321 5.1); if none is left, the mail is
 *	  for no other host, and fails.
 *	- An address that somebody wrote (a literal, a smart host) is tried.  It
 *	  is this machine if it is local and greets with our own name: see
 *	  esmtp.c.
 *
 * To find out whether an address is local, a datagram socket is connected to
 * it: if it is, the socket's own address is the same.  Nothing is sent.
 *
 * A failure says whether waiting can help: a name that the name servers cannot
 * look up now may be found later; a name that they say does not exist fails.
 *
 * Each wait ends at a moment of the monotonic clock.  Only the resolver has its
 * own limits.
 */
#include "mx.h"
#include "lib.h"
#include "../lib/office.h"
#include <ctype.h>
#ifndef NO_TCP
#include <arpa/inet.h>
#include <netdb.h>
#endif

#define SLOW	2		/* seconds until a wait is worth a step */

void (*net_beat)(void);
double net_nap = 3600;
void (*net_waits)(const char *, int);

int
net_wait(int fd, int writing, double until)
{
	double left;
	int n, slow = net_waits == NULL;

	for (;; slow = 1) {
		clock_read();
		left = until - now.mono;
		if (left <= 0)
			return 0;
		if (left > net_nap)
			left = net_nap;
		if (!slow) {
			net_waits(NULL, 0);
			left = left > SLOW ? SLOW : left;
		}
		if (net_beat != NULL)
			net_beat();
		n = fd_wait(fd, writing, left);
		if (n > 0)
			return 1;
		if (n < 0 && errno != EINTR)
			return -1;
		if (!slow)
			net_waits(NULL, 1);
	}
}

static int
nowhere(struct net_way *way, int code, const char *status, const char *text,
    const char *host)
{
	way->n = 0;
	way->code = code;
	way->status = status;
	text_fmt(way->text, sizeof(way->text), text, host);
	return -1;
}

#ifdef NO_TCP

int
net_address(struct net_addr *a, const char *s)
{
	(void)a;
	(void)s;
	return 0;	/* it may well be one */
}

int
net_find_addresses(struct net_way *way, const struct net_opt *opt,
    const char *host, int meant)
{
	(void)opt;
	(void)meant;
	return nowhere(way, X_DEFERALL, "4.3.5", "%s cannot be reached: this "
	    "smtp was built without TCP", host);
}

int
net_connect(const struct net_addr *a, const struct net_opt *opt, double until)
{
	(void)a;
	(void)opt;
	(void)until;
	errno = ENOSYS;
	return -1;
}

int
net_local_text(int fd, char *text, size_t size)
{
	(void)fd;
	text_fmt(text, size, "[127.0.0.1]");
	return 0;
}

int
net_is_local(const struct net_addr *a)
{
	(void)a;
	return 0;
}

#else

/* ---- addresses ------------------------------------------------------- */

static void
set_port(struct net_addr *a, int port)
{
	a->port = port;
#ifndef NO_GETADDRINFO
	if (a->sa.any.sa_family == AF_INET6)
		a->sa.in6.sin6_port = htons((unsigned short)port);
	else
#endif
		a->sa.in.sin_port = htons((unsigned short)port);
}

static void
set_text(struct net_addr *a)
{
#ifndef NO_GETADDRINFO
	char host[NI_MAXHOST];

	if (getnameinfo(&a->sa.any, (socklen_t)a->len, host, sizeof(host),
	    NULL, 0, NI_NUMERICHOST) != 0)
		strcpy(host, "?");
	text_fmt(a->text, sizeof(a->text), a->sa.any.sa_family == AF_INET6 ?
	    "[IPv6:%s]" : "[%s]", host);
#else
	text_fmt(a->text, sizeof(a->text), "[%s]",
	    inet_ntoa(a->sa.in.sin_addr));
#endif
}

static int
wanted_family(const struct net_addr *a, const struct net_opt *opt)
{
	int family = a->sa.any.sa_family;

	if (opt->source != NULL && opt->source->sa.any.sa_family != family)
		return 0;
	return opt->family != 4 || family == AF_INET;
}

/* An address that the resolver gave: 1 when it is taken. */
static int
add_addr(struct net_way *way, const struct sockaddr *sa, size_t len,
    const char *name)
{
	struct net_addr *a = &way->addr[way->n];

	if (way->n == NET_ADDRS || len > sizeof(a->sa))
		return 0;
	memset(a, 0, sizeof(*a));
	memcpy(&a->sa, sa, len);
	a->len = len;
	text_fmt(a->name, sizeof(a->name), "%s", name);
	set_text(a);
	way->n++;
	return 1;
}

/* Asks the C library: the number of addresses, 0 if the name has none, -1 if
 * that is unknown now. */
#ifndef NO_GETADDRINFO
static int
look_up(struct net_way *way, const struct net_opt *opt, const char *name,
    int numeric)
{
	struct addrinfo hint, *list, *p;
	int found = 0, first;

	memset(&hint, 0, sizeof(hint));
	hint.ai_socktype = SOCK_STREAM;
	hint.ai_flags = numeric ? AI_NUMERICHOST : 0;
	switch (getaddrinfo(name, NULL, &hint, &list)) {
	case 0:
		break;
	case EAI_AGAIN: case EAI_FAIL: case EAI_MEMORY: case EAI_SYSTEM:
	case EAI_BADFLAGS: case EAI_FAMILY: case EAI_SOCKTYPE:
	case EAI_SERVICE:
		return -1;
	default:
		return 0;
	}
	for (first = opt->family == 6; first >= 0; first--)
		for (p = list; p != NULL; p = p->ai_next)
			if (p->ai_family == AF_INET6 ? opt->family != 6 ||
			    first : p->ai_family == AF_INET && !first)
				found += add_addr(way, p->ai_addr,
				    (size_t)p->ai_addrlen, name);
	freeaddrinfo(list);
	return found;
}
#else
static int
look_up(struct net_way *way, const struct net_opt *opt, const char *name,
    int numeric)
{
	struct sockaddr_in in;
	struct hostent *h;
	int i, found = 0;

	(void)opt;
	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	if (numeric) {
		in.sin_addr.s_addr = inet_addr(name);
		if (in.sin_addr.s_addr == (in_addr_t)-1)
			return 0;
		return add_addr(way, (struct sockaddr *)&in, sizeof(in), name);
	}
	h = gethostbyname(name);
	if (h == NULL)
		return h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ? 0 :
		    -1;
	for (i = 0; h->h_addr_list[i] != NULL && h->h_length ==
	    (int)sizeof(in.sin_addr); i++) {
		memcpy(&in.sin_addr, h->h_addr_list[i], sizeof(in.sin_addr));
		found += add_addr(way, (struct sockaddr *)&in, sizeof(in),
		    name);
	}
	return found;
}
#endif

int
net_address(struct net_addr *a, const char *s)
{
	static struct net_way way;
	struct net_opt any;
	const char *p;
	char word[6];
	int dots = 0;

	text_fmt(word, sizeof(word), "%.5s", s);
	if (lib_is_same(word, "IPv6:"))
		s += 5;
	/* four numbers, not one of the old short forms */
	for (p = s; *p != '\0'; p++)
		dots += *p == '.';
	if (strchr(s, ':') != NULL ? s[strspn(s,
	    "0123456789abcdefABCDEF:.")] != '\0' :
	    dots != 3 || s[strspn(s, "0123456789.")] != '\0')
		return -1;
	memset(&any, 0, sizeof(any));
	way.n = 0;
	if (look_up(&way, &any, s, 1) < 1)
		return -1;
	*a = way.addr[0];
	text_fmt(a->name, sizeof(a->name), "%s", a->text);
	return 0;
}

/* ---- is it this machine? --------------------------------------------- */

static int
is_loopback(const struct net_addr *a)
{
	unsigned long v4 = 0;

#ifndef NO_GETADDRINFO
	const unsigned char *p = a->sa.in6.sin6_addr.s6_addr;
	int i;

	if (a->sa.any.sa_family == AF_INET6) {
		for (i = 0; i < 10; i++)
			if (p[i] != 0)
				return 0;
		v4 = (unsigned long)p[12] << 24 | (unsigned long)p[13] << 16 |
		    (unsigned long)p[14] << 8 | p[15];
		if (p[10] == 0 && p[11] == 0)	/* :: and ::1 */
			return v4 <= 1;
		if (p[10] != 255 || p[11] != 255)
			return 0;
	} else
#endif
		v4 = ntohl(a->sa.in.sin_addr.s_addr);
	return v4 >> 24 == 127 || v4 >> 24 == 0;
}

static int
same_address(const struct net_addr *a, const struct net_addr *b)
{
	if (a->sa.any.sa_family != b->sa.any.sa_family)
		return 0;
#ifndef NO_GETADDRINFO
	if (a->sa.any.sa_family == AF_INET6)
		return memcmp(&a->sa.in6.sin6_addr, &b->sa.in6.sin6_addr,
		    sizeof(a->sa.in6.sin6_addr)) == 0;
#endif
	return a->sa.in.sin_addr.s_addr == b->sa.in.sin_addr.s_addr;
}

/* Our end of the socket: 0 or -1. */
static int
our_end(int fd, struct net_addr *a)
{
	socklen_t len = sizeof(a->sa);

	memset(a, 0, sizeof(*a));
	if (getsockname(fd, &a->sa.any, &len) < 0)
		return -1;
	a->len = (size_t)len;
	return 0;
}

int
net_is_local(const struct net_addr *a)
{
	struct net_addr near;
	int fd, here;

	if (is_loopback(a))
		return 1;
	fd = socket(a->sa.any.sa_family, SOCK_DGRAM, 0);
	if (fd < 0)
		return 0;
	here = connect(fd, &a->sa.any, (socklen_t)a->len) == 0 &&
	    our_end(fd, &near) == 0 && same_address(a, &near);
	close(fd);
	return here;
}

int
net_local_text(int fd, char *text, size_t size)
{
	struct net_addr near;

	if (our_end(fd, &near) < 0)
		return -1;
	set_text(&near);
	return text_fmt(text, size, "%s", near.text);
}

/* ---- hosts ----------------------------------------------------------- */

/* Adds a host by its name: as look_up, and sets *self when it is us, also by an
 * address that the options exclude.  Addresses of one family are equal: they
 * are shuffled. */
static int
add_host(struct net_way *way, const struct net_opt *opt, const char *name,
    int port, int meant, int *self)
{
	int i = way->n, n = i, first = i, found = look_up(way, opt, name, 0), j;
	struct net_addr a;

	for (; i < way->n; i++) {
		set_port(&way->addr[i], port);
		way->addr[i].meant = meant;
		if (!meant && port == NET_PORT && net_is_local(&way->addr[i]))
			*self = 1;
		a = way->addr[i];
		if (!wanted_family(&a, opt))
			continue;
		if (a.sa.any.sa_family != way->addr[first].sa.any.sa_family)
			first = n;
		j = first + (int)rnd((unsigned long)(n - first + 1));
		way->addr[n++] = way->addr[j];
		way->addr[j] = a;
	}
	way->n = n;
	return found;
}

static int
by_name(struct net_way *way, const struct net_opt *opt, const char *name,
    int port, int meant)
{
	int self = 0, found = add_host(way, opt, name, port, meant, &self);

	if (self)
		return nowhere(way, X_NOHOST, "5.4.6", "%s is this machine, "
		    "which does not accept its mail; for another server here, "
		    "name its address and port", name);
	if (found < 0)
		return nowhere(way, X_DEFERALL, "4.4.3",
		    "the address of %s cannot be looked up now", name);
	if (found == 0)
		return nowhere(way, X_NOHOST, "5.1.2",
		    "there is no host or domain %s", name);
	if (way->n == 0)
		return nowhere(way, X_NOHOST, "5.4.4",
		    "the options exclude all addresses of %s", name);
	return 0;
}

/* Is this MX better than us?  If not, it goes, and its equals as well. */
static int
by_mx(struct net_way *way, const struct net_opt *opt, const char *name,
    const struct mx_list *list)
{
	int i, self = 0, later = 0, best = 0;
	unsigned pref = 0;

	for (i = 0; i < list->n && !self; i++) {
		if (i == 0 || list->mx[i].pref != pref)
			best = way->n;
		pref = list->mx[i].pref;
		if (net_waits != NULL)	/* each name has its own time */
			net_waits(list->mx[i].name, 0);
		if (opt->port == NET_PORT && opt->self != NULL &&
		    lib_is_same(opt->self, list->mx[i].name))
			self = 1;
		else if (add_host(way, opt, list->mx[i].name, opt->port, 0,
		    &self) < 0)
			later = 1;
	}
	if (self)
		way->n = best;
	if (way->n > 0)
		return 0;
	if (later)	/* it may be better than us */
		return nowhere(way, X_DEFERALL, "4.4.3",
		    "no mail host of %s can be looked up now", name);
	if (self)
		return nowhere(way, X_NOHOST, "5.4.6", "the mail host of %s "
		    "is this machine, which does not accept its mail", name);
	return nowhere(way, X_NOHOST, "5.4.4",
	    "no mail host of %s has an address", name);
}

/* Splits "name:port": 0, or -1 if it is no host. */
static int
split(const char *host, char *name, int *port, int *literal)
{
	unsigned long v;
	size_t n;

	*literal = *host == '[';
	host += *literal;
	n = strcspn(host, *literal ? "]" : ":");
	if (n == 0 || text_fmt(name, NET_NAME, "%.*s", (int)n, host) < 0)
		return -1;
	host += n;
	if (*literal && *host++ != ']')
		return -1;
	if (!*literal) {
		if (name[n - 1] == '.')
			name[n - 1] = '\0';
		if (!mailname_is_valid(name))
			return -1;
	}
	if (*host == '\0')
		return 0;
	if (*host != ':' || num_upto(host + 1, 65535, &v, NULL) < 0 || v < 1)
		return -1;
	*port = (int)v;
	return 0;
}

int
net_find_addresses(struct net_way *way, const struct net_opt *opt,
    const char *host, int meant)
{
	static struct mx_list list;
	char name[NET_NAME];
	int port = 0, literal;

	way->n = 0;
	if (split(host, name, &port, &literal) < 0)
		return nowhere(way, X_NOHOST, "5.1.2",
		    "\"%s\" is no name of a host", host);
	if (net_address(&way->addr[0], name) == 0) {
		way->n = wanted_family(&way->addr[0], opt);
		way->addr[0].meant = 1;
		set_port(&way->addr[0], port > 0 ? port : opt->port);
		return way->n > 0 ? 0 : nowhere(way, X_NOHOST, "5.4.4",
		    "the options exclude the address %s", host);
	}
	if (literal)
		return nowhere(way, X_NOHOST, "5.1.2",
		    "%s is no address", host);
	if (net_waits != NULL)
		net_waits(name, 0);
	if (meant || port > 0 || opt->no_mx || strchr(name, '.') == NULL)
		return by_name(way, opt, name, port > 0 ? port : opt->port,
		    meant);
	switch (mx_find_hosts(&list, name)) {
	case MX_FOUND:
		return by_mx(way, opt, name, &list);
	case MX_NULL:
		return nowhere(way, X_NOHOST, "5.1.10",
		    "the domain %s takes no mail", name);
	case MX_LATER:
		return nowhere(way, X_DEFERALL, "4.4.3",
		    "the mail hosts of %s cannot be looked up now", name);
	case MX_NONE:
		break;
	}
	return by_name(way, opt, name, opt->port, 0);
}

/* ---- connections ----------------------------------------------------- */

/* As net_connect, with a socket: 0, or -1 with errno. */
static int
reach(int fd, const struct net_addr *a, const struct net_opt *opt,
    double until)
{
	int n, err = 0;
	socklen_t len = sizeof(err);

	if (fd >= FD_SETSIZE) {
		errno = EMFILE;
		return -1;
	}
	if (fd_nonblock(fd) < 0)
		return -1;
	if (opt->source != NULL && bind(fd, &opt->source->sa.any,
	    (socklen_t)opt->source->len) < 0)
		return -1;
	if (connect(fd, &a->sa.any, (socklen_t)a->len) == 0)
		return 0;
	if (errno != EINPROGRESS && errno != EINTR)
		return -1;
	n = net_wait(fd, 1, until);
	if (n == 0)
		errno = ETIMEDOUT;
	if (n <= 0 || getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
		return -1;
	errno = err;
	return err == 0 ? 0 : -1;
}

int
net_connect(const struct net_addr *a, const struct net_opt *opt, double until)
{
	int err, fd = socket(a->sa.any.sa_family, SOCK_STREAM, 0);

	if (fd < 0)
		return -1;
	if (opt->sndbuf > 0)
		setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &opt->sndbuf,
		    sizeof(opt->sndbuf));
	if (reach(fd, a, opt, until) == 0)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

#endif
