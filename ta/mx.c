/*
 * mx.c - finds the hosts that take the mail of a domain.
 *
 * The C library's resolver asks the question.  Its answer is parsed here, since
 * libraries differ in their functions for that.  The answer comes from
 * strangers: no length in it is trusted, and each name in it is checked.  Of an
 * answer that is cut, the complete records are used; if there is none, the
 * result is MX_LATER.  A record counts only if its owner is the domain, or the
 * name to which CNAME records of the same answer lead:
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
 * With NO_RESOLV or NO_TCP no domain has MX hosts, and callers always look for
 * an address.
 */
#include "mx.h"
#include "lib.h"
#include "../lib/office.h"

#if !defined(NO_TCP) && !defined(NO_RESOLV)
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#define ANSWER_SIZE	8192	/* bytes of an answer that are kept */
#define HEADER_SIZE	12	/* bytes before the question */
#define KIND_CNAME	5
#define KIND_MX		15
#define CLASS_IN	1
#define ALIASES		8	/* CNAME records that are followed */

/* The answer while it is read. */
struct answer {
	const unsigned char *begin, *at, *end;
};

struct record {
	char	owner[NET_NAME];
	int	has_name;	/* the owner has the form of a name */
	unsigned kind;		/* KIND_..., 0: not of CLASS_IN */
	unsigned n;		/* bytes of data */
	const unsigned char *data;
};

static unsigned
short_at(const unsigned char *p)
{
	return (unsigned)p[0] << 8 | p[1];
}

/* Moves over a name: 0, or -1 if the name has an invalid label, or the answer
 * ends within the name. */
static int
skip_name(struct answer *a)
{
	unsigned n, rest;

	while (a->at < a->end) {
		n = *a->at++;
		if (n == 0)
			return 0;
		/* from 0xc0 on: a pointer of two bytes ends the name */
		rest = n >= 0xc0 ? 1 : n;
		if ((size_t)(a->end - a->at) < rest)
			return -1;
		a->at += rest;
		if (n >= 0x40)
			return n >= 0xc0 ? 0 : -1;
	}
	return -1;
}

/* Inserts a host behind all better hosts, at random among equal hosts. */
static void
insert_host(struct mx_list *list, unsigned pref, const char *name)
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

/* Reads the name at p: 0, or -1 if no host can have the name.  The root "." is
 * read as "": as an MX, the root means that the domain accepts no mail (RFC
 * 7505). */
static int
read_name(const struct answer *a, const unsigned char *p, char *name)
{
	if (dn_expand(a->begin, a->end, p, name, NET_NAME) < 0) {
		name[0] = '\0';
		return -1;
	}
	if (strcmp(name, ".") == 0)
		name[0] = '\0';
	return name[0] == '\0' || mailname_is_valid(name) ? 0 : -1;
}

/* Reads the next record: 0; or -1 at the end of the answer, or if the record is
 * cut. */
static int
read_record(struct answer *a, struct record *r)
{
	const unsigned char *p = a->at;

	if (skip_name(a) < 0 || a->end - a->at < 10)
		return -1;
	r->has_name = read_name(a, p, r->owner) == 0;
	p = a->at;
	r->kind = short_at(p + 2) == CLASS_IN ? short_at(p) : 0;
	r->n = short_at(p + 8);
	r->data = a->at = p + 10;
	if ((size_t)(a->end - a->at) < r->n)
		return -1;
	a->at += r->n;
	return 0;
}

/* Replaces an alias by the name that its CNAME records lead to.  The answer is
 * at its first record. */
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
			if (read_record(&a, &r) < 0)
				return;
			if (r.kind == KIND_CNAME && r.has_name &&
			    lib_is_same(r.owner, name))
				break;
		}
		if (i == records || read_name(&a, r.data, name) < 0)
			return;
	}
}

static enum mx_answer
read_answer(struct mx_list *list, const char *domain,
    const unsigned char *buf, size_t len)
{
	unsigned questions, records, i;
	int null = 0, bad = 0;	/* records that refuse mail; unusable records */
	char name[NET_NAME], host[NET_NAME];
	struct answer a;
	struct record r;

	if (len < HEADER_SIZE || text_fmt(name, sizeof(name), "%s", domain) < 0)
		return MX_LATER;
	a.begin = buf;
	a.at = buf + HEADER_SIZE;
	a.end = buf + len;
	if ((buf[3] & 15) == 3)	/* the response code: no such domain */
		return MX_NONE;
	if ((buf[3] & 15) != 0)
		return MX_LATER;
	for (questions = short_at(buf + 4); questions > 0; questions--) {
		if (skip_name(&a) < 0 || a.end - a.at < 4)
			return MX_LATER;
		a.at += 4;
	}
	records = short_at(buf + 6);
	follow_aliases(&a, records, name);
	for (i = 0; i < records && read_record(&a, &r) == 0; i++) {
		if (r.kind != KIND_MX)
			continue;
		if (!r.has_name || !lib_is_same(r.owner, name) || r.n < 3 ||
		    read_name(&a, r.data + 2, host) < 0)
			bad++;
		else if (host[0] == '\0')
			null++;
		else
			insert_host(list, short_at(r.data), host);
	}
	if (list->n > 0)
		return MX_FOUND;
	if (null > 0)
		return MX_NULL;
	/* i < records: the answer was cut */
	return i < records || bad > 0 ? MX_LATER : MX_NONE;
}

static unsigned char answer_buf[ANSWER_SIZE];	/* the last answer */
static int answer_len;		/* bytes of the answer, perhaps more than
				 * answer_buf has */

enum mx_answer
mx_query(const char *name, int kind)
{
	if (!(_res.options & RES_INIT) && res_init() < 0)
		return MX_LATER;
	/* first.last must not become first.last.our.domain */
	_res.options &= ~(unsigned long)RES_DNSRCH;
	answer_len = res_query(name, C_IN, kind, answer_buf, ANSWER_SIZE);
	if (answer_len >= 0)
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
	return read_answer(list, domain, answer_buf,
	    answer_len < ANSWER_SIZE ? (size_t)answer_len : ANSWER_SIZE);
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
	if (gethostbyname(name) != NULL)
		return MX_FOUND;
	return h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ? MX_NONE :
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
