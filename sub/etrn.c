/*
 * etrn.c - asks the scheduler to try the mail for a host now.
 *
 *	T far.example
 *
 * This line is the whole content of a file in transport/.  The scheduler tries
 * its mail for that host, on any channel, also if a clause has queueonly, and
 * removes the file.  Nothing is synced: a user whose request is lost in a crash
 * asks again.
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
		say("cannot write to %s: %s; the scheduler was not asked", po,
		    strerror(errno));
		return X_TEMPFAIL;
	}
	entry_name(name, sizeof(name), p.num);
	errno = EIO;	/* for a failure that sets none */
	bad = fprintf(p.f, "T %s\n", host) < 0 || fflush(p.f) != 0 ||
	    put(&p, po, name) < 0;
	if (bad)
		say("cannot write to %s/transport: %s; the scheduler was not "
		    "asked", po,
		    strerror(errno));
	else
		entry_notify(po, name);
	post_drop(&p);		/* its name there is gone, when all went well */
	return bad ? X_TEMPFAIL : 0;
}
