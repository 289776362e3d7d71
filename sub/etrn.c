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

int
etrn_leave_request(const char *po, const char *host)
{
	const char *path = po;
	char name[64];
	struct post p;
	int bad = post_open(&p, po, "etrn") < 0;

	if (!bad) {
		entry_make_name(name, sizeof(name), p.num);
		path = path_in(po, "transport/%s", name);
		errno = EIO;	/* for a failure that sets none */
		bad = fprintf(p.f, "T %s\n", host) < 0 || fflush(p.f) != 0;
		if (!bad) {
			errno = EEXIST;
			bad = path_may_exist(path) || rename(p.path, path) < 0;
		}
		post_remove(&p);	/* only closes a renamed file */
	}
	if (bad) {
		say("cannot write to %s: %s; the scheduler was not asked",
		    path, strerror(errno));
		return X_TEMPFAIL;
	}
	entry_notify(po, name);
	return 0;
}
