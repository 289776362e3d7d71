/*
 * post.h - a message on its way into the router's directory: see post.c.
 */
#ifndef POST_H
#define POST_H

#include "util.h"

struct post {
	FILE	*f;		/* what is written to */
	unsigned long num;	/* inode number of the file; once it is in
				 * router/, its name there */
	char	po[600];	/* the post office */
	char	path[700];	/* where the file is */
};

/* Is public/ or router/ open to its group and closed to all others? */
int	post_closed(const struct stat *dir);
/* Begins a file in po/private, or in po/public when that is not for us; tag
 * says who writes, a few letters.  0, or -1 with errno. */
int	post_open(struct post *, const char *po, const char *tag);
/* All that was written is on disk: 0, or -1 with errno and it is gone. */
int	post_sync(struct post *);
/* Syncs it and makes it po/router/NUM: 0, or -1 with errno and it is gone. */
int	post_send(struct post *);
/* Tells who listens at the socket that there is something new, "": nobody.  As
 * ZMailer's programs do; where nobody listens it is found without this. */
void	post_new(const char *path, const char *what);
/* Never mind. */
void	post_drop(struct post *);

#endif
