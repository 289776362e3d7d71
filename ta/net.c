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
 *	[192.0.2.1]	that address, with or without :port; also [2001:db8::1]
 *			and [IPv6:2001:db8::1]; IPv4 also without brackets
 *
 * Addresses come from the C library, so the hosts file counts.  At most
 * NET_ADDRS are tried, of at most MX_MAX hosts.
 *
 * Mail must not loop.  These rules recognise this machine:
 *
 *	- An address at another port than 25 is never this machine: an
 *	  administrator has set that up.
 *	- A name from the DNS or the hosts file is this machine if one of its
 *	  addresses belongs to this machine, is a loopback or is unspecified.
 *	- An MX with our own name is this machine.  It is dropped, and so are
 *	  all MX that are no better (RFC 5321 5.1); if none is left, the mail is
 *	  for no other host, and fails.
 *	- An address that somebody wrote (a literal, a smart host) is tried.  It
 *	  is this machine if it is local and greets with our own name: see
 *	  esmtp.c.
 *
 * To find out whether an address is local, a datagram socket is connected to
 * the address: if that is local, the socket's own address is the same.  Nothing
 * is sent.
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
#ifndef NO_TCP
#include <arpa/inet.h>
#include <netdb.h>
#endif

#define SLOW	2		/* seconds until net_waiting is called again */

void (*net_beat)(void);
double net_nap = 3600;
void (*net_waiting)(int);
void (*net_looking_up)(const char *);

enum wait_result
net_wait(int fd, int writing, double until)
{
	enum wait_result waited;
	double left;
	int early = net_waiting != NULL;	/* the wait is not slow yet */

	for (;;) {
		clock_read();
		left = until - now.mono;
		if (left <= 0)
			return WAIT_TIMEOUT;
		if (left > net_nap)
			left = net_nap;
		if (early) {
			net_waiting(0);
			left = left > SLOW ? SLOW : left;
		}
		if (net_beat != NULL)
			net_beat();
		waited = fd_wait(fd, writing, left);
		if (waited == WAIT_READY ||
		    (waited == WAIT_FAILED && errno != EINTR))
			return waited;
		if (early && waited == WAIT_TIMEOUT) {
			early = 0;
			net_waiting(1);
		}
	}
}

char
net_clean_byte(int c)
{
	if (c < 32 || c == 127)
		return ' ';
	return (char)(c > 127 ? '?' : c);
}

/* Sets the verdict on the host, which has no addresses.  Returns -1. */
static int
set_verdict(struct net_addrs *addrs, int code, const char *status,
    const char *text, const char *host)
{
	addrs->n = 0;
	addrs->code = code;
	addrs->status = status;
	text_fmt(addrs->text, sizeof(addrs->text), text, host);
	return -1;
}

#ifdef NO_TCP

int
net_read_address(struct net_addr *a, const char *s)
{
	(void)a;
	(void)s;
	return 0;	/* any text may be an address */
}

int
net_find_addresses(struct net_addrs *addrs, const struct net_opt *opt,
    const char *host, int given)
{
	(void)opt;
	(void)given;
	return set_verdict(addrs, X_DEFERALL, "4.3.5",
	    "%s cannot be reached: this smtp was built without TCP", host);
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
net_print_local(int fd, char *text, size_t size)
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

/* Returns 1 if the options allow this address. */
static int
is_allowed(const struct net_addr *a, const struct net_opt *opt)
{
	int family = a->sa.any.sa_family;

	if (opt->source != NULL && opt->source->sa.any.sa_family != family)
		return 0;
	return opt->family != 4 || family == AF_INET;
}

/* The search for the addresses of a host. */
struct search {
	struct net_addrs *addrs;	/* addresses found so far */
	const struct net_opt *opt;
	int	port;
	int	given;		/* the administrator has named the host */
	int	is_here;	/* the host, or an MX, is this machine by its
				 * name or by one of its addresses, even by an
				 * address that is not allowed */
};

/* Adds an address of the name if the address is allowed and there is room.
 * Returns 1, even if the address is not added, so that add_addrs counts it; or
 * 0 if it is too long, and so of an unknown kind. */
static int
add_addr(struct search *s, const struct sockaddr *sa, size_t len,
    const char *name)
{
	struct net_addr a;

	if (len > sizeof(a.sa))
		return 0;
	memset(&a, 0, sizeof(a));
	memcpy(&a.sa, sa, len);
	a.len = len;
	text_fmt(a.name, sizeof(a.name), "%s", name);
	set_text(&a);
	set_port(&a, s->port);
	if (!s->given && s->port == NET_PORT && net_is_local(&a))
		s->is_here = 1;
	if (is_allowed(&a, s->opt) && s->addrs->n < NET_ADDRS)
		s->addrs->addr[s->addrs->n++] = a;
	return 1;
}

/* Adds the addresses of a name, in the order of the C library.  If numeric is
 * 1, the name is an address.  Returns the number of all addresses, allowed or
 * not; or -1 if the name cannot be looked up now. */
#ifndef NO_GETADDRINFO
static int
add_addrs(struct search *s, const char *name, int numeric)
{
	struct addrinfo hint, *list, *p;
	int found = 0, family = s->opt->family == 6 ? AF_INET6 : AF_UNSPEC;

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
	for (;; family = AF_INET) {	/* with -6, first IPv6, then IPv4 */
		for (p = list; p != NULL; p = p->ai_next)
			if (family == AF_UNSPEC || p->ai_family == family)
				found += add_addr(s, p->ai_addr,
				    (size_t)p->ai_addrlen, name);
		if (family != AF_INET6)
			break;
	}
	freeaddrinfo(list);
	return found;
}
#else
static int
add_addrs(struct search *s, const char *name, int numeric)
{
	struct sockaddr_in in;
	struct hostent *h;
	int i, found = 0;

	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	if (numeric) {
		in.sin_addr.s_addr = inet_addr(name);
		if (in.sin_addr.s_addr == (in_addr_t)-1)
			return 0;
		return add_addr(s, (struct sockaddr *)&in, sizeof(in), name);
	}
	h = gethostbyname(name);
	if (h == NULL)
		return h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ? 0 :
		    -1;
	for (i = 0; h->h_addr_list[i] != NULL && h->h_length ==
	    (int)sizeof(in.sin_addr); i++) {
		memcpy(&in.sin_addr, h->h_addr_list[i], sizeof(in.sin_addr));
		found += add_addr(s, (struct sockaddr *)&in, sizeof(in), name);
	}
	return found;
}
#endif

int
net_read_address(struct net_addr *a, const char *s)
{
	static struct net_addrs addrs;	/* large; gets a single address */
	static const struct net_opt any;
	struct search search;
	const char *p;
	char word[6];
	int dots = 0, ipv6;

	text_fmt(word, sizeof(word), "%.5s", s);
	if (lib_is_same(word, "IPv6:"))
		s += 5;
	ipv6 = strchr(s, ':') != NULL;
	for (p = s; *p != '\0'; p++)
		dots += *p == '.';
	/* IPv4 has four numbers; inet_addr would take 10.1 for 10.0.0.1 */
	if (s[strspn(s, ipv6 ? "0123456789abcdefABCDEF:." : "0123456789.")] !=
	    '\0' || (!ipv6 && dots != 3))
		return -1;
	memset(&search, 0, sizeof(search));
	search.addrs = &addrs;
	search.opt = &any;
	addrs.n = 0;
	if (add_addrs(&search, s, 1) < 1)
		return -1;
	*a = addrs.addr[0];
	text_fmt(a->name, sizeof(a->name), "%s", a->text);
	return 0;
}

/* ---- this machine ---------------------------------------------------- */

/* Returns 1 for a loopback or an unspecified address.  An address of IPv4 that
 * is mapped into IPv6 has its bytes in the last four. */
static int
is_loopback_or_any(const struct net_addr *a)
{
	unsigned long v4 = 0;

#ifndef NO_GETADDRINFO
	static const unsigned char zeros[10];
	const unsigned char *p = a->sa.in6.sin6_addr.s6_addr;

	if (a->sa.any.sa_family == AF_INET6) {
		if (memcmp(p, zeros, sizeof(zeros)) != 0)
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
is_same_address(const struct net_addr *a, const struct net_addr *b)
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

/* Sets *a to the address of our end of a socket: 0, or -1 with errno. */
static int
set_own_end(struct net_addr *a, int fd)
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
	struct net_addr ours;
	int fd, here;

	if (is_loopback_or_any(a))
		return 1;
	fd = socket(a->sa.any.sa_family, SOCK_DGRAM, 0);
	if (fd < 0)
		return 0;
	here = connect(fd, &a->sa.any, (socklen_t)a->len) == 0 &&
	    set_own_end(&ours, fd) == 0 && is_same_address(a, &ours);
	close(fd);
	return here;
}

int
net_print_local(int fd, char *text, size_t size)
{
	struct net_addr ours;

	if (set_own_end(&ours, fd) < 0)
		return -1;
	set_text(&ours);
	return text_fmt(text, size, "%s", ours.text);
}

/* ---- hosts ----------------------------------------------------------- */

/* Does what add_addrs does, and puts the addresses of each family in random
 * order. */
static int
add_host(struct search *s, const char *name)
{
	struct net_addr *addr = s->addrs->addr, a;
	int first = s->addrs->n;	/* the first address of this family */
	int found = add_addrs(s, name, 0), i, j;

	for (i = first; i < s->addrs->n; i++) {
		if (addr[i].sa.any.sa_family != addr[first].sa.any.sa_family)
			first = i;
		j = first + (int)rnd((unsigned long)(i - first + 1));
		a = addr[i];
		addr[i] = addr[j];
		addr[j] = a;
	}
	return found;
}

/* Finds the addresses of a name: 0, or -1 with the verdict. */
static int
find_by_name(struct search *s, const char *name)
{
	int found = add_host(s, name);

	if (s->is_here)
		return set_verdict(s->addrs, X_NOHOST, "5.4.6",
		    "%s is this machine, which takes no mail for that name; if "
		    "another server runs here, the administrator can give its "
		    "address and port", name);
	if (found < 0)
		return set_verdict(s->addrs, X_DEFERALL, "4.4.3",
		    "the address of %s cannot be looked up now", name);
	if (found == 0)
		return set_verdict(s->addrs, X_NOHOST, "5.1.2",
		    "there is no host or domain %s", name);
	if (s->addrs->n == 0)
		return set_verdict(s->addrs, X_NOHOST, "5.4.4",
		    "-4 or -b of smtp excludes all addresses of %s", name);
	return 0;
}

/* Finds the addresses of MX hosts: 0, or -1 with the verdict.  Only hosts that
 * are better than this machine count. */
static int
find_by_mx(struct search *s, const char *name, const struct mx_list *list)
{
	const struct net_opt *opt = s->opt;
	int i, later = 0;	/* 1: a host cannot be looked up now */
	int nbetter = 0;	/* addresses of hosts with a smaller pref */

	for (i = 0; i < list->n && !s->is_here; i++) {
		if (i == 0 || list->mx[i].pref != list->mx[i - 1].pref)
			nbetter = s->addrs->n;
		if (net_looking_up != NULL)
			net_looking_up(list->mx[i].name);
		if (opt->port == NET_PORT && opt->self != NULL &&
		    lib_is_same(opt->self, list->mx[i].name))
			s->is_here = 1;
		else if (add_host(s, list->mx[i].name) < 0)
			later = 1;
	}
	if (s->is_here)
		s->addrs->n = nbetter;
	if (s->addrs->n > 0)
		return 0;
	if (later)	/* that host may be better than this machine */
		return set_verdict(s->addrs, X_DEFERALL, "4.4.3",
		    "a mail host of %s cannot be looked up now", name);
	if (s->is_here)
		return set_verdict(s->addrs, X_NOHOST, "5.4.6",
		    "the mail host of %s is this machine, which takes no "
		    "mail for that domain", name);
	return set_verdict(s->addrs, X_NOHOST, "5.4.4",
	    "no mail host of %s has an address", name);
}

/* Splits a host into name and port: 0, or -1 if the text is no host.  Without a
 * port, *port stays as it was.  Sets *in_brackets to 1 for an [address]. */
static int
split_host(const char *host, char *name, int *port, int *in_brackets)
{
	unsigned long v;
	size_t n;

	*in_brackets = *host == '[';
	host += *in_brackets;
	n = strcspn(host, *in_brackets ? "]" : ":");
	if (n == 0 || text_fmt(name, NET_NAME, "%.*s", (int)n, host) < 0)
		return -1;
	host += n;
	if (*in_brackets && *host++ != ']')
		return -1;
	if (!*in_brackets) {
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
net_find_addresses(struct net_addrs *addrs, const struct net_opt *opt,
    const char *host, int given)
{
	static struct mx_list list;	/* large */
	struct search s;
	char name[NET_NAME];
	int in_brackets, ask_mx;

	s.addrs = addrs;
	s.opt = opt;
	s.port = 0;
	s.given = given;
	s.is_here = 0;
	addrs->n = 0;
	if (split_host(host, name, &s.port, &in_brackets) < 0)
		return set_verdict(addrs, X_NOHOST, "5.1.2",
		    "\"%s\" is no name of a host", host);
	ask_mx = !given && s.port == 0 && !opt->no_mx &&
	    strchr(name, '.') != NULL;
	if (s.port == 0)
		s.port = opt->port;
	if (net_read_address(&addrs->addr[0], name) == 0) {
		addrs->n = is_allowed(&addrs->addr[0], opt);
		set_port(&addrs->addr[0], s.port);
		return addrs->n > 0 ? 0 : set_verdict(addrs, X_NOHOST, "5.4.4",
		    "-4 or -b of smtp excludes the address %s", host);
	}
	if (in_brackets)
		return set_verdict(addrs, X_NOHOST, "5.1.2",
		    "%s is no address", host);
	if (net_looking_up != NULL)
		net_looking_up(name);
	switch (ask_mx ? mx_find_hosts(&list, name) : MX_NONE) {
	case MX_FOUND:
		return find_by_mx(&s, name, &list);
	case MX_NULL:
		return set_verdict(addrs, X_NOHOST, "5.1.10",
		    "the domain %s takes no mail", name);
	case MX_LATER:
		return set_verdict(addrs, X_DEFERALL, "4.4.3",
		    "the mail hosts of %s cannot be looked up now", name);
	case MX_NONE:
		break;
	}
	return find_by_name(&s, name);
}

/* ---- connections ----------------------------------------------------- */

/* Connects a socket: 0, or -1 with errno.  Gives up when now.mono reaches
 * until. */
static int
connect_socket(int fd, const struct net_addr *a, const struct net_opt *opt,
    double until)
{
	enum wait_result waited;
	int err = 0;
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
	waited = net_wait(fd, 1, until);
	if (waited == WAIT_TIMEOUT)
		errno = ETIMEDOUT;
	if (waited != WAIT_READY ||
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0)
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
	if (connect_socket(fd, a, opt, until) == 0)
		return fd;
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

#endif
