/*
 * mx.c - finds the hosts that take the mail of a domain.
 *
 * The C library's resolver asks the question.  Its answer is parsed here, since
 * libraries differ in their functions for that.  The answer comes from
 * strangers: no length in it is trusted, and a name in it must have the form of
 * one.  An answer that is cut is used as far as it goes; if none of it can be
 * used, the result is MX_LATER.  A record counts only if its owner is the
 * domain, or the domain's alias by CNAME records of the same answer:
 *
 *	example.org  CNAME  b.example	the domain is b.example
 *	b.example    MX 5   mx.example	counts
 *	c.example    MX 1   evil.example	does not
 *
 * Hosts are sorted by preference.  Equal ones are put in random order each
 * time, so that many senders share the load.  Only the best MX_MAX are kept.
 *
 * "No such domain" counts as an answer without hosts: the name may be in the
 * hosts file, so the caller goes on to look for an address.  A failure of the
 * name servers (MX_LATER) must stop the caller: the address of a domain is
 * often a machine that takes no mail for it and would refuse ours.
 *
 * With NO_RESOLV (and NO_TCP) no domain has MX hosts, and callers always look
 * for an address.
 */
#include "mx.h"
#include "lib.h"
#include "../lib/office.h"

#if !defined(NO_TCP) && !defined(NO_RESOLV)
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#define ANSWER	8192	/* bytes of an answer that are looked at */
#define HEADER	12	/* bytes before the question */
#define KIND_CNAME 5
#define KIND_MX	15
#define KIND_IN	1
#define ALIASES	8	/* of a domain that are followed */

/* The answer while it is read. */
struct answer {
	const unsigned char *begin, *at, *end;
};

struct record {
	int	known;		/* the owner is a name */
	char	owner[NET_NAME];
	unsigned kind;		/* KIND_..., 0: of another class */
	unsigned n;		/* bytes of data */
	const unsigned char *data;
};

static unsigned
short_at(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* Moves over a name: 0, or -1 at the end of the answer. */
static int
skip_name(struct answer *a)
{
	unsigned n, rest;

	while (a->at < a->end) {
		n = *a->at++;
		if (n == 0)
			return 0;
		rest = n >= 0xc0 ? 1 : n;	/* or: goes on elsewhere */
		if ((size_t)(a->end - a->at) < rest)
			return -1;
		a->at += rest;
		if (n >= 0x40)
			return n >= 0xc0 ? 0 : -1;
	}
	return -1;
}

/* Puts it behind all that are better, and anywhere among its equals. */
static void
insert(struct mx_list *list, unsigned pref, const char *name)
{
	int i, first = 0, last;

	while (first < list->n && list->mx[first].pref < pref)
		first++;
	for (last = first; last < list->n && list->mx[last].pref == pref;
	    last++)
		;
	first += (int)rnd((unsigned long)(last - first + 1));
	if (first == MX_MAX)
		return;
	if (list->n < MX_MAX)
		list->n++;
	for (i = list->n - 1; i > first; i--)
		list->mx[i] = list->mx[i - 1];
	list->mx[first].pref = pref;
	text_fmt(list->mx[first].name, NET_NAME, "%s", name);
}

/* Reads a name of the answer; "" for the root and for a bad name. */
static int
get_name(const struct answer *a, const unsigned char *p, char *name)
{
	if (dn_expand(a->begin, a->end, p, name, NET_NAME) < 0) {
		name[0] = '\0';
		return -1;
	}
	if (strcmp(name, ".") == 0)
		name[0] = '\0';
	return name[0] == '\0' || mailname_is_valid(name) ? 0 : -1;
}

/* The next record of this class: 1, or 0 at the end of the answer. */
static int
next_record(struct answer *a, struct record *r)
{
	const unsigned char *p = a->at;

	if (skip_name(a) < 0 || a->end - a->at < 10)
		return 0;
	r->known = get_name(a, p, r->owner) == 0;
	p = a->at;
	r->kind = short_at(p + 2) == KIND_IN ? short_at(p) : 0;
	r->n = short_at(p + 8);
	r->data = a->at = p + 10;
	if ((size_t)(a->end - a->at) < r->n)
		return 0;
	a->at += r->n;
	return 1;
}

/* Makes the name what it is an alias of; the position is at the records. */
static void
follow_aliases(const struct answer *answer, unsigned records, char *name)
{
	struct record r;
	struct answer a;
	unsigned i;
	int hops;

	for (hops = 0; hops < ALIASES; hops++) {
		a = *answer;
		for (i = 0; i < records; i++) {
			if (!next_record(&a, &r))
				return;
			if (r.kind == KIND_CNAME && r.known &&
			    lib_is_same(r.owner, name))
				break;
		}
		if (i == records || get_name(&a, r.data, name) < 0)
			return;
	}
}

/* Adds one MX record.  Counts records that mean "no mail", and records that
 * make no sense. */
static void
see_mx(struct mx_list *list, const struct answer *a, const struct record *r,
    const char *domain, int *null, int *bad)
{
	char name[NET_NAME];

	if (!r->known || !lib_is_same(r->owner, domain) || r->n < 3 ||
	    get_name(a, r->data + 2, name) < 0)
		++*bad;
	else if (name[0] == '\0')
		++*null;
	else
		insert(list, short_at(r->data), name);
}

static enum mx_answer
read_answer(struct mx_list *list, const char *domain,
    const unsigned char *buf, size_t len)
{
	unsigned questions, records, i;
	int null = 0, bad = 0;
	char name[NET_NAME];
	struct answer a;
	struct record r;

	if (len < HEADER || text_fmt(name, sizeof(name), "%s", domain) < 0)
		return MX_LATER;
	a.begin = buf;
	a.at = buf + HEADER;
	a.end = buf + len;
	switch (buf[3] & 15) {	/* what the server says of itself */
	case 0: break;
	case 3: return MX_NONE;
	default: return MX_LATER;
	}
	for (questions = short_at(buf + 4); questions > 0; questions--) {
		if (skip_name(&a) < 0 || a.end - a.at < 4)
			return MX_LATER;
		a.at += 4;
	}
	records = short_at(buf + 6);
	follow_aliases(&a, records, name);
	for (i = 0; i < records && next_record(&a, &r); i++)
		if (r.kind == KIND_MX)
			see_mx(list, &a, &r, name, &null, &bad);
	if (list->n > 0)
		return MX_FOUND;
	return null > 0 ? MX_NULL : i < records || bad > 0 ? MX_LATER :
	    MX_NONE;
}

static unsigned char buf[ANSWER];
static int length;		/* of the answer in it */

enum mx_answer
mx_query(const char *name, int kind)
{
	static int started;

	if (!started && res_init() < 0)
		return MX_LATER;
	started = 1;
	/* a name with a dot is whole: not first.last.our.domain */
	_res.options &= ~(unsigned long)RES_DNSRCH;
	length = res_query(name, C_IN, kind, buf, (int)sizeof(buf));
	if (length >= 0)
		return MX_FOUND;
	return h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ? MX_NONE :
	    MX_LATER;
}

enum mx_answer
mx_find_hosts(struct mx_list *list, const char *domain)
{
	enum mx_answer answer = mx_query(domain, KIND_MX);

	list->n = 0;
	if (answer != MX_FOUND)
		return answer;
	return read_answer(list, domain, buf,
	    length < ANSWER ? (size_t)length : ANSWER);
}

#else
#ifndef NO_TCP
#include <netdb.h>
#endif

enum mx_answer
mx_query(const char *name, int kind)
{
	(void)kind;
#ifdef NO_TCP
	(void)name;
	return MX_LATER;
#else
	return gethostbyname(name) != NULL ? MX_FOUND :
	    h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ? MX_NONE :
	    MX_LATER;
#endif
}

enum mx_answer
mx_find_hosts(struct mx_list *list, const char *domain)
{
	(void)domain;
	list->n = 0;
	return MX_NONE;
}

#endif
