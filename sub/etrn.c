/*
 * etrn.c - mail for a host is wanted now.
 *
 *	T far.example
 *
 * is all that there is in a file of transport/.  The scheduler tries what it
 * has for that host, by any channel, also what its clauses have wait for this
 * (queueonly), and removes the file.  A request that a crash loses is made
 * again by whoever wants the mail, so nothing is synced.
 */
#include "submit.h"
#include <ctype.h>

#define PATH_SIZE	800

int
etrn_host_ok(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n >= DOMAIN_SIZE)
		return 0;
	for (; *s != '\0'; s++)
		if (!isgraph((unsigned char)*s))
			return 0;
	return 1;
}

/* The file becomes one of the queue: 0 or -1 with errno. */
static int
put(const struct post *p, const char *po, const char *name)
{
	char path[PATH_SIZE];

	text_fmt(path, sizeof(path), "%s/transport/%s", po, name);
	if (entry_exists(path)) {
		errno = EEXIST;
		return -1;
	}
	return rename(p->path, path);
}

int
etrn(const char *po, const char *host)
{
	char name[64];
	struct post p;
	int bad;

	if (post_open(&p, po, "etrn") < 0) {
		say("cannot write to %s: %s; nobody was told", po,
		    strerror(errno));
		return X_TEMPFAIL;
	}
	entry_name(name, sizeof(name), p.num);
	errno = EIO;	/* for a failure that sets none */
	bad = fprintf(p.f, "T %s\n", host) < 0 || fflush(p.f) != 0 ||
	    put(&p, po, name) < 0;
	if (bad)
		say("cannot write to %s/transport: %s; nobody was told", po,
		    strerror(errno));
	else
		entry_notify(po, name);
	post_drop(&p);		/* its name there is gone, when all went well */
	return bad ? X_TEMPFAIL : 0;
}
