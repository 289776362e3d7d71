/*
 * box.h - writes a message into a mailbox: see box.c.
 */
#ifndef BOX_H
#define BOX_H

#include "lib.h"

#define PATH_SIZE	1024
#define HEAD_SIZE	4096	/* bytes that box_head needs at most */

/* The owner of the box. */
struct user {
	char	name[256];
	char	home[PATH_SIZE];
	uid_t	uid;
	gid_t	gid;
};

/* How a delivery ended, or what it has reached.  The struct is written to a
 * pipe in one piece. */
struct outcome {
	enum outcome_state {
		OVER,	/* the delivery ended with code */
		BEGUN,	/* the message is being written; box_undo needs text,
			 * dev, ino and before */
		THERE	/* the message is on disk, and only locks are left to
			 * remove */
	} state;
	int	code;		/* as in a verdict */
	char	status[8];
	char	text[400];	/* BEGUN: name of the file in tmp */
	double	left;		/* seconds that may still be spent on waiting */
	dev_t	dev;		/* BEGUN: device of the box */
	ino_t	ino;		/* BEGUN: inode of the box */
	off_t	before;		/* BEGUN: bytes of the box before the
			 * delivery */
};

/* A delivery that is under way. */
struct mail {
	const struct lib_job *job;
	const struct lib_rcpt *rcpt;
	const struct user *user;
	struct outcome *end;
	double	left;		/* seconds to wait for locks, at most */
	off_t	size_limit;	/* bytes that the box may have, 0: any */
	int	is_brief;	/* the user is slow, and other deliveries are
				 * behind this one: a lock is tried once */
	int	hung;		/* the delivery was stopped, died or took too
				 * long */
	int	report;		/* descriptor that gets each outcome, or -1 */
	char	box[PATH_SIZE];
	char	lock[PATH_SIZE];	/* box.lock */
	int	locked;		/* we made the file box.lock */
	int	lock_fd;	/* descriptor with our fcntl lock on box.lock */
	int	fd;		/* the box, or the file in tmp */
	off_t	before;		/* bytes of the box, or of all messages of a
				 * Maildir, before the delivery */
	off_t	written;	/* bytes that were added */
	int	full;		/* the box would exceed size_limit */
	int	error;		/* errno of the first failed write, or 0 */
	size_t	used;		/* bytes in buf */
	char	buf[4096];
};

/* The next three functions set the outcome.  They return -1, so that a caller
 * can return their value. */
int	box_set_outcome(struct outcome *, int code, const char *status,
	    const char *text);
int	box_defer(struct mail *, const char *fault);	/* 4.2.0 BOX FAULT */
int	box_defer_error(struct mail *, const char *verb, const char *path,
	    int err);		/* cannot VERB PATH: strerror(err) */

/* Adds the lines that delivery puts before the message: the "From " line if
 * with_from is set, Return-Path, and Delivered-To. */
void	box_head(const struct mail *, int with_from, struct text *);

/* Makes box.lock, and the box if it is missing, for a caller with more rights
 * than the process that delivers: 0 or -1, and box_unlock has to follow. */
int	box_lock_and_make(struct mail *);
/* Writes the message into the box: 0, or -1 with the outcome; then no part of
 * it remains, unless the outcome says so. */
int	box_deliver(struct mail *);
/* Removes the part of a message that a killed process left.  m->end is the
 * outcome BEGUN that it reported.  Returns 0; or -1, in some cases with the
 * code of m->end unchanged. */
int	box_undo(struct mail *);
void	box_unlock(struct mail *);	/* removes our box.lock */

#endif
