/*
 * net.h - finds the addresses of a host and connects: see net.c.
 */
#ifndef NET_H
#define NET_H

#include "../lib/util.h"
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#endif

#define NET_NAME	256	/* bytes of a host's name, with its NUL */
#define NET_ADDRS	20	/* addresses of one host that are tried */
#define NET_PORT	25

struct net_addr {
#ifndef NO_TCP
	union {
		struct sockaddr any;
		struct sockaddr_in in;
#ifndef NO_GETADDRINFO
		struct sockaddr_in6 in6;
#endif
	} sa;
	size_t	len;		/* bytes of sa in use */
#endif
	char	name[NET_NAME];	/* the host it was found under */
	char	text[64];	/* [192.0.2.1], [IPv6:2001:db8::1] */
	int	port;
	int	meant;		/* written by the administrator or the
					 * router, not found in the DNS */
};

/* What the options say. */
struct net_opt {
	int	port;		/* where no other is given */
	int	family;		/* 4: only those; 6: those first; 0: both */
	int	sndbuf;		/* bytes sent, not acknowledged; 0: any */
	int	no_mx;		/* names are hosts: do not ask for their MX */
	const char *self;	/* our name, NULL: none */
	struct net_addr *source;	/* of our end, NULL: as it comes */
	const char *via;	/* the command that connects; NULL: a socket */
};

/* A host's addresses in the order to try them, or why there are none. */
struct net_way {
	int	n;
	struct net_addr addr[NET_ADDRS];
	int	code;		/* X_NOHOST, X_DEFERALL */
	const char *status;
	char	text[400];
};

/*
 * Finds the addresses of host: name or [address], either with :port.  meant:
 * the administrator has named it, and its MX is not asked for.  0, or -1 and
 * the reason.
 */
int	net_find_addresses(struct net_way *, const struct net_opt *,
	    const char *host, int meant);

/* An address as such, for the source: 0, or -1 when it is none. */
int	net_address(struct net_addr *, const char *);

/* A connected socket that does not block; it connects until the time until
 * (mono).  -1 with errno. */
int	net_connect(const struct net_addr *, const struct net_opt *,
	    double until);

/* Is it an address of this machine? */
int	net_is_local(const struct net_addr *);

/* Our end of a connection, as text: 0 or -1. */
int	net_local_text(int fd, char *text, size_t);

/* Waits until fd can be read (written): 1, 0 when until has come, -1. */
int	net_wait(int fd, int writing, double until);

/* Called when that waits, at least every net_nap seconds; NULL: nobody. */
extern void (*net_beat)(void);
extern double net_nap;

/* Called at the beginning of a wait and again when it has become slow (name is
 * NULL), and before name servers are asked for name.  NULL: not called. */
extern void (*net_waits)(const char *name, int slow);

#endif
