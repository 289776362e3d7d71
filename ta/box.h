/*
 * box.h - writes a message into a mailbox: see box.c.
 */
#ifndef BOX_H
#define BOX_H

#include "lib.h"

#define PATH_SIZE	1024
#define HEAD_SIZE	4096	/* bytes that box_head needs at most */

/* Whose box it is. */
struct user {
	char	name[256];
	char	home[PATH_SIZE];
	uid_t	uid;
	gid_t	gid;
};

/* How a delivery ended, or how far it is, in this order.  It is written to a
 * pipe in one piece. */
struct outcome {
	enum { OVER, BEGUN, THERE } state;	/* BEGUN: box_undo needs what
				 * is below; THERE: the message is whole and
				 * on disk, only locks are left */
	int	code;
	char	status[8];
	char	text[400];	/* BEGUN: name of the file in tmp */
	double	left;		/* seconds that are left for waiting */
	dev_t	dev;		/* BEGUN: the box, */
	ino_t	ino;
	off_t	before;		/* ... and its size before */
};

/* One delivery on its way. */
struct mail {
	const struct lib_job *job;
	const struct lib_rcpt *rcpt;
	const struct user *user;
	struct outcome *end;
	double	left;		/* seconds to wait for locks, at most */
	off_t	limit;		/* bytes that the box may have, 0: any */
	int	spared;		/* others do not wait for this one */
	int	hung;		/* it was stopped, or took too long */
	int	report;		/* where to say how far it is, or -1 */
	char	box[PATH_SIZE];
	char	lock[PATH_SIZE];	/* box.lock */
	int	locked;		/* we made it, */
	int	lock_fd;	/* ... and have an fcntl lock on it */
	int	fd;		/* the box, or the file in tmp */
	off_t	before;		/* size of the box, */
	off_t	written;	/* ... and what was added */
	int	full;		/* that is more than it may have */
	int	error;		/* errno of the first failed write, or 0 */
	int	at;		/* bytes of "From " seen at the beginning of a
				 * line, -1: elsewhere in the line */
	int	last;		/* the last byte of the message */
	size_t	used;
	char	buf[4096];
};

/* Sets how it ended.  All return -1, which is then what the caller returns. */
int	box_over(struct outcome *, int code, const char *status,
	    const char *text);
int	box_refuse(struct mail *, const char *what);	/* the box is ... */
int	box_failed(struct mail *, const char *what, const char *path,
	    int err);		/* cannot "make" path: errno */

/* Adds the lines that delivery puts before the message: Return-Path and
 * Delivered-To, with separator after a "From " line. */
void	box_head(const struct mail *, int separator, struct text *);

/* Makes the box if it is missing, and locks it, for a caller with more rights
 * than the process that delivers: 0, to be followed by box_unlock, or -1. */
int	box_prepare(struct mail *);
/* Writes the message into the box: 0, or -1 and no part of it remains. */
int	box_deliver(struct mail *);
/* Removes the part that a killed process left after it reported BEGUN: 0 or
 * -1. */
int	box_undo(struct mail *);
void	box_unlock(struct mail *);

#endif
