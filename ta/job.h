/*
 * job.h - recipients, locks and message of a job: see job.c.
 */
#ifndef JOB_H
#define JOB_H

#include "lib.h"

/* Reads the control file job->ctl and sets the recipients of the job: those for
 * channel and host (NULL: any host) at these offsets, as ",40,1200," (NULL: any
 * offset).  A damaged file has no recipients. */
void	job_scan(struct lib_job *, const char *channel, const char *host,
	    const char *offsets);
/* Locks the recipients, and frees those that cannot be locked.  Returns the
 * number of recipients that are left. */
int	job_lock(struct lib_job *);
void	job_set_tag(const struct lib_job *, const struct lib_rcpt *, int tag);
/* Returns the sender whose line is at off: the one that was added last if it
 * has this line, else a new one.  NULL without memory. */
const struct lib_sender *job_get_sender(struct lib_job *, unsigned long off,
	    const char *address, const char *dsn_to);
/* Frees recipients, senders, envid and ret; ctl stays open. */
void	job_free(struct lib_job *);

enum copy_end {
	COPY_ERROR = -1,	/* a read failed, with errno */
	COPY_DONE,
	COPY_STOPPED		/* put stopped, or the file ended before the
				 * empty line of a header block */
};

/* Passes the header block at this offset to the function put, without the empty
 * line that ends it. */
enum copy_end job_copy_header(int fd, long at,
	    int (*put)(void *, const char *, size_t), void *);
/* Passes at most so many bytes of a file, beginning at an offset, to the
 * function put.  A file that has fewer bytes is COPY_DONE, too. */
enum copy_end job_copy_bytes(int fd, off_t at, off_t most,
	    int (*put)(void *, const char *, size_t), void *);

/* Adds "From SENDER Sat Nov 21 06:38:42 2026", the line before a message in a
 * file.  Readers split the line at blanks, and some stop at a byte that is not
 * ASCII: these bytes of the sender become '_'. */
void	job_add_from(struct text *, const char *sender);

/* Writes a piece to a FILE: 0 or -1; a put for the functions above. */
int	job_put_file(void *file, const char *, size_t);

/* filter: changes of a message while it is passed on.  The caller sets all
 * members; at and last begin with 0. */
struct filter {
	int	(*put)(void *, const char *, size_t);
	void	*out;		/* first argument of put */
	int	quotes;		/* a '>' is put before "From " at the beginning
				 * of a line of the body */
	int	requotes;	/* with quotes, a '>' is also put before
				 * ">From ", ">>From " and so on */
	int	dots;		/* dots at the beginning of lines are doubled */
	int	crlf;		/* lines end in CR LF */
	int	in_body;	/* the header has ended */
	int	at;		/* bytes of "From " so far at the beginning of a
				 * line; -1: not at the beginning */
	int	last;		/* the last byte that was put */
};

/* Passes on a piece of the message: 0 or -1. */
int	filter_convert(void *filter, const char *, size_t);
/* Passes on a text, with no change but that of crlf: 0 or -1. */
int	filter_pass_text(struct filter *, const char *);
/* At the end of the message, passes on what is held back: 0 or -1. */
int	filter_flush(struct filter *);

#endif
