/*
 * path.h - the paths of names in a post office: see path.c.
 */
#ifndef PATH_H
#define PATH_H

#include "util.h"

/* The path of a name in the post office, which the format makes; good until the
 * sixteenth call after this.  A path that no system takes is cut. */
const char *path_in(const char *po, const char *name, ...) LIKE_PRINTF(2, 3);
/* Calls each with the names of messages, X/Y/123-45, in a directory with hash
 * directories: 0, or -1 with errno if one cannot be read. */
int	path_walk(const char *po, const char *dir,
	    void (*each)(void *, const char *name), void *arg);
/* Can it be looked at, or not for another reason than that it is missing? */
int	path_exists(const char *);

#endif
