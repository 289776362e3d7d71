/*
 * post.c - a message on its way into the router's directory.
 *
 * Whoever has mail to give writes it into public/, which anybody may, syncs
 * it and renames it into router/.  There its name is its inode number, which
 * no other file in there can have.  Nobody ever sees half a message, and what
 * a crash leaves in public/ is nobody's mail yet.
 *
 * What the file says is the caller's matter.
 */
#include "post.h"

#define TRIES	20	/* names tried in public/ before giving up */

int
post_open(struct post *p, const char *po, const char *tag)
{
	static unsigned serial;
	struct stat st;
	int fd = -1, i;

	if (text_fmt(p->po, sizeof(p->po), "%s", po) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (i = 0; fd < 0 && i < TRIES; i++) {
		text_fmt(p->path, sizeof(p->path), "%s/public/%s:%ld.%u", po,
		    tag, (long)getpid(), serial++);
		fd = open(p->path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		return -1;
	p->f = NULL;
	if (fd_cloexec(fd) < 0 || fstat(fd, &st) < 0 ||
	    (p->f = fdopen(fd, "w+")) == NULL) {
		i = errno;
		close(fd);
		unlink(p->path);
		errno = i;
		return -1;
	}
	p->num = (unsigned long)st.st_ino;
	return 0;
}

void
post_drop(struct post *p)
{
	int err = errno;

	fclose(p->f);
	unlink(p->path);
	errno = err;
}

int
post_sync(struct post *p)
{
	errno = EIO;	/* for a failure that sets none */
	if (fflush(p->f) == 0 && !ferror(p->f) && fd_sync(fileno(p->f)) == 0)
		return 0;
	post_drop(p);
	return -1;
}

int
post_send(struct post *p)
{
	char final[700];

	if (post_sync(p) < 0)
		return -1;
	text_fmt(final, sizeof(final), "%s/router/%lu", p->po, p->num);
	if (rename(p->path, final) < 0) {
		post_drop(p);
		return -1;
	}
	text_fmt(final, sizeof(final), "%s/router", p->po);
	dir_sync(final);
	fclose(p->f);
	return 0;
}
