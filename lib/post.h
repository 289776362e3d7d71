/*
 * post.h - puts a message into router/: see post.c.
 */
#ifndef POST_H
#define POST_H

#include "util.h"

struct post {
	FILE	*f;		/* the file, open for reading and writing */
	unsigned long num;	/* inode number of the file; after
				 * post_send_or_remove, the name of the file */
	int	is_bulk;	/* the message goes into bulk/, if there is such
				 * a directory, and not into router/ */
	char	po[600];	/* the post office */
	char	path[700];	/* path of the file */
};

/* Returns 1 if the directory, public/ or router/, is open to its group and
 * closed to all others. */
int	post_is_closed(const struct stat *dir);
/* Makes a file in this directory with a name that nobody can guess, and sets
 * path.  Returns a descriptor, or -1 with errno. */
int	post_make(char *path, size_t size, const char *dir, const char *tag);
/* Begins a file in po/private, or in po/public if we may not write there; tag
 * names the writer in a few letters.  0, or -1 with errno. */
int	post_open(struct post *, const char *po, const char *tag);
/* Syncs the file: 0, or -1 with errno and the file removed. */
int	post_sync_or_remove(struct post *);
/* Syncs the file and renames it to po/router/NUM; if is_bulk is set, to
 * po/bulk/NUM if that can be.  0, or -1 with errno and the file removed. */
int	post_send_or_remove(struct post *);
/* Returns the group that ta/hold.c, as root, gives its files in po/router.
 * No file of a user there has this group.  It is 0, or 1 if po/router has the
 * group 0 or its group cannot be found out: on the BSDs a new file gets the
 * group of its directory. */
gid_t	post_gid_for_hold_files(const char *po);
/* Sends "NEW what" to the socket at path ("": none), as ZMailer's programs do.
 * If nobody gets it, the message is found by polling. */
void	post_notify(const char *path, const char *what);
/* Closes and removes the file, and keeps errno. */
void	post_remove(struct post *);

#endif
