/*
 * mailname.h - what this host calls itself in mail: see mailname.c.
 */
#ifndef MAILNAME_H
#define MAILNAME_H

#define MAILNAME_SIZE	256	/* bytes of a name, the NUL included */

/* The name, good until the next call.  dir: where the file is, NULL for
 * $MAILSHARE. */
const char *mailname(const char *dir);
/* Why other hosts may not take it, or NULL; good until the next call. */
const char *mailname_fault(const char *dir);

#endif
