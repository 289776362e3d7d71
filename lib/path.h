/*
 * path.h - the paths of names in a post office: see path.c.
 */
#ifndef PATH_H
#define PATH_H

#include "util.h"

/* Formats a name, as text_fmt does, and returns its path in the post office po,
 * good until the sixteenth call after this.  The path is "" if it would have
 * 2048 bytes or more. */
const char *path_in(const char *po, const char *format, ...) LIKE_PRINTF(2, 3);
/* Calls each() for the name of each message, X/Y/123-45, in a directory of the
 * post office and its hash directories: 0, or -1 with errno if one of them
 * cannot be read. */
int	path_walk_messages(const char *po, const char *dir,
	    void (*each)(void *, const char *name), void *arg);
/* Returns 1 unless the file is known to be missing. */
int	path_may_exist(const char *);

#endif
