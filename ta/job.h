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
/* Locks the recipients and frees those that could not be locked.  Returns the
 * number of the others. */
int	job_lock(struct lib_job *);
void	job_set_tag(const struct lib_job *, const struct lib_rcpt *, int tag);
/* Frees recipients, senders, envid and ret; ctl stays open. */
void	job_free(struct lib_job *);

enum copy_end {
	COPY_ERROR = -1,	/* a read failed, with errno */
	COPY_DONE,
	COPY_STOPPED		/* put stopped, or the file ended too early */
};

/* Passes the header block at this offset to put, up to its empty line. */
enum copy_end job_header(int fd, long at,
	    int (*put)(void *, const char *, size_t), void *);
/* Passes at most so many bytes of a file from an offset on to put. */
enum copy_end job_copy(int fd, off_t at, off_t most,
	    int (*put)(void *, const char *, size_t), void *);

#endif
