/*
 * mx.c - which hosts take the mail of a domain.
 *
 * The question goes through the C library's resolver; its answer is taken
 * apart here, since libraries differ in what they do for that.  It comes from
 * strangers: no length in it is believed, and a name in it must look like
 * one.  An answer that ends early is used as far as it goes; when nothing in
 * it can be used, nobody knows.
 *
 * The hosts are put in the order of their preference; among equal ones
 * chance decides, anew each time, so that many senders share the load.  Of
 * more than MX_MAX the worst are forgotten.
 *
 * An answer that says that there is no such domain counts as one without
 * hosts: the name may still be in the hosts file, so whoever asks goes on to
 * look for an address.  An answer that says that nobody knows must not end
 * there: the address of a domain is often a machine that takes no mail for
 * it and would refuse ours.
 *
 * With NO_RESOLV (and NO_TCP) no domain has such hosts.
 */
#include "mx.h"

#if !defined(NO_TCP) && !defined(NO_RESOLV)
#include <ctype.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

#define ANSWER	8192	/* bytes of an answer that are looked at */
#define HEADER	12	/* bytes before the question */
#define KIND_MX	15
#define KIND_IN	1

/* The answer while it is read. */
struct answer {
	const unsigned char *begin, *at, *end;
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

static int
is_name(const char *s)
{
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) && strchr("-._", *s) == NULL)
			return 0;
	return 1;
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

/* One record; the position is behind its name: 0, or -1 at the end.  Counts
 * those that say "no mail" and those that make no sense. */
static int
see_record(struct answer *a, struct mx_list *list, int *null, int *bad)
{
	const unsigned char *p = a->at;
	char name[NET_NAME];
	unsigned n;

	if (a->end - p < 10)
		return -1;
	n = short_at(p + 8);
	a->at = p + 10;
	if ((size_t)(a->end - a->at) < n)
		return -1;
	p = a->at;
	a->at += n;
	if (short_at(p - 10) != KIND_MX || short_at(p - 8) != KIND_IN)
		return 0;
	if (n < 3 || dn_expand(a->begin, a->end, p + 2, name,
	    (int)sizeof(name)) < 0)
		++*bad;
	else if (name[0] == '\0' || strcmp(name, ".") == 0)
		++*null;
	else if (is_name(name))
		insert(list, short_at(p), name);
	else
		++*bad;
	return 0;
}

static enum mx_answer
read_answer(struct mx_list *list, const unsigned char *buf, size_t len)
{
	unsigned questions, records;
	struct answer a;
	int null = 0, bad = 0;

	if (len < HEADER)
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
	for (records = short_at(buf + 6); records > 0; records--)
		if (skip_name(&a) < 0 || see_record(&a, list, &null, &bad) < 0)
			break;
	if (list->n > 0)
		return MX_FOUND;
	return null > 0 ? MX_NULL : records > 0 || bad > 0 ? MX_LATER :
	    MX_NONE;
}

enum mx_answer
mx_find(struct mx_list *list, const char *domain)
{
	static unsigned char buf[ANSWER];
	static int started;
	int n;

	list->n = 0;
	if (!started && res_init() < 0)
		return MX_LATER;
	started = 1;
	/* a name with a dot is whole: not first.last.our.domain */
	_res.options &= ~(unsigned long)RES_DNSRCH;
	n = res_query(domain, C_IN, T_MX, buf, (int)sizeof(buf));
	if (n < 0)
		return h_errno == HOST_NOT_FOUND || h_errno == NO_DATA ?
		    MX_NONE : MX_LATER;
	return read_answer(list, buf, n < ANSWER ? (size_t)n : ANSWER);
}

#else

enum mx_answer
mx_find(struct mx_list *list, const char *domain)
{
	(void)domain;
	list->n = 0;
	return MX_NONE;
}

#endif
