/*
 * mailname.h - the name of this host in mail: see mailname.c.
 */
#ifndef MAILNAME_H
#define MAILNAME_H

#define MAILNAME_SIZE	256	/* bytes of a name, the NUL included */

/* The name, good until the next call.  dir is the directory of the file
 * mailname; NULL means $MAILSHARE. */
const char *mailname(const char *dir);
/* The reason why the name is not fit for mail to other hosts, or NULL; good
 * until the next call. */
const char *mailname_fault(const char *dir);

#endif
