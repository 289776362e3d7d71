/*
 * net.h - finds the addresses of a host and connects: see net.c.
 */
#ifndef NET_H
#define NET_H

#include "../lib/agent.h"
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
	char	name[NET_NAME];	/* the host with this address */
	char	text[64];	/* the address, such as [192.0.2.1] or
				 * [IPv6:2001:db8::1] */
	int	port;
};

/* The options of an agent. */
struct net_opt {
	int	port;		/* the default */
	int	family;		/* 4: only IPv4; 6: IPv6 first; 0: both */
	int	sndbuf;		/* bytes of the send buffer; 0: the default */
	int	no_mx;		/* names are hosts, not domains with MX */
	const char *self;	/* our name, NULL: none */
	struct net_addr *source;	/* address of our end, NULL: any */
	const char *via;	/* the command that connects; NULL: a socket */
};

/* The addresses of a host. */
struct net_addrs {
	int	n;		/* addresses in addr */
	struct net_addr addr[NET_ADDRS];	/* in the order to try them */
	/* With n 0, the verdict on the host's mail. */
	int	code;		/* X_NOHOST, X_DEFERALL */
	const char *status;
	char	text[400];
};

/*
 * Finds the addresses of host, which is a name or an [address], and may end in
 * :port.  Returns 0, or -1 with the verdict.  If given is 1, the administrator
 * has named the host: it is no domain with MX, and may be this machine.
 */
int	net_find_addresses(struct net_addrs *, const struct net_opt *,
	    const char *host, int given);

/* Reads an address, without brackets: 0, or -1 if the text is no address. */
int	net_read_address(struct net_addr *, const char *);

/* Returns a connected socket that does not block, or -1 with errno.  Gives up
 * when now.mono reaches until. */
int	net_connect(const struct net_addr *, const struct net_opt *,
	    double until);

/* Returns 1 for an address of this machine. */
int	net_is_local(const struct net_addr *);

/* Prints the address of our end of a connection: 0, or -1 with errno. */
int	net_print_local(int fd, char *text, size_t);

/* Waits for fd to be readable, or, if writing is 1, writable.  Gives up when
 * now.mono reaches until.  A signal does not end the wait. */
enum wait_result net_wait(int fd, int writing, double until);

/* Returns a byte from a server, or from the program of -X, as it is logged:
 * control bytes become blanks, and bytes beyond ASCII question marks. */
char	net_clean_byte(int);

/* Functions that this module calls unless they are NULL. */
extern void (*net_beat)(void);	/* during a wait, at least every net_nap
				 * seconds */
extern double net_nap;
extern void (*net_waiting)(int slow);	/* with 0 when a wait begins; with 1
					 * when the wait is not over after two
					 * seconds, or net_nap if that is less
					 */
extern void (*net_looking_up)(const char *name);	/* before name servers
							 * are asked */

#endif
