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

int
etrn_is_host(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n >= DOMAIN_SIZE)
		return 0;
	for (; *s != '\0'; s++)
		if (!isgraph((unsigned char)*s))
			return 0;
	return 1;
}

int
etrn_request(const char *po, const char *host)
{
	const char *path = po;
	char name[64];
	struct post p;
	int bad = post_open(&p, po, "etrn") < 0, made = !bad;

	if (made) {
		entry_make_name(name, sizeof(name), p.num);
		path = path_in(po, "transport/%s", name);
		errno = EIO;	/* for a failure that sets none */
		bad = fprintf(p.f, "T %s\n", host) < 0 || fflush(p.f) != 0;
		if (!bad && path_exists(path)) {
			errno = EEXIST;
			bad = 1;
		}
		bad = bad || rename(p.path, path) < 0;
	}
	if (bad)
		say("cannot write to %s: %s; the scheduler was not asked",
		    path, strerror(errno));
	else
		entry_notify(po, name);
	if (made)
		post_remove(&p);	/* the name is gone after the rename */
	return bad ? X_TEMPFAIL : 0;
}
