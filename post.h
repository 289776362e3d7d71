/*
 * post.h - a message on its way into the router's directory: see post.c.
 */
#ifndef POST_H
#define POST_H

#include "util.h"

struct post {
	FILE	*f;		/* what is written to */
	unsigned long num;	/* inode number of the file, its name later */
	char	po[600];	/* the post office */
	char	path[700];	/* where the file is */
};

/* Begins a file in po/public, mode 0600; tag says who writes, a few letters.
 * 0, or -1 with errno. */
int	post_open(struct post *, const char *po, const char *tag);
/* All that was written is on disk: 0, or -1 with errno and it is gone. */
int	post_sync(struct post *);
/* Syncs it and makes it po/router/NUM: 0, or -1 with errno and it is gone. */
int	post_send(struct post *);
/* Never mind. */
void	post_drop(struct post *);

#endif
