/*
 * mx.h - finds the hosts that take the mail of a domain: see mx.c.
 */
#ifndef MX_H
#define MX_H

#include "net.h"

#define MX_MAX	10	/* hosts of a domain that are used */

/* What name servers say of a domain and its records of one kind. */
enum mx_answer {
	MX_FOUND,	/* the domain has such a record */
	MX_NONE,	/* the domain has no such record or does not exist */
	MX_NULL,	/* the domain accepts no mail: RFC 7505 */
	MX_LATER	/* no name server has given a usable answer */
};

struct mx {
	unsigned pref;		/* preference; the host with the smallest one is
				 * tried first */
	char	name[NET_NAME];
};

struct mx_list {
	int	n;
	struct mx mx[MX_MAX];	/* in the order to try them */
};

/* Asks name servers whether a name has records of this kind; 15 is MX.  Returns
 * MX_FOUND, MX_NONE or MX_LATER.  With NO_RESOLV, looks up an address of the
 * name instead, whatever the kind.  With NO_TCP, returns MX_LATER. */
enum mx_answer mx_query(const char *name, int kind);
/* Sets the list to the hosts that take mail for the domain.  The list is empty
 * unless MX_FOUND is returned. */
enum mx_answer mx_find_hosts(struct mx_list *, const char *domain);

#endif
