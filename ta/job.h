/*
 * job.h - recipients, locks and message of a job: see job.c.
 */
#ifndef JOB_H
#define JOB_H

#include "lib.h"

/* Reads the control file job->ctl and sets the recipients of the job, those for
 * channel and host (NULL: any) at these offsets, as ",40,1200," (NULL: any);
 * none if the file is damaged. */
void	job_scan(struct lib_job *, const char *channel, const char *host,
	    const char *offsets);
/* Locks the recipients and frees those that could not be locked.  Returns the
 * number of the others. */
int	job_lock(struct lib_job *);
void	job_set_tag(const struct lib_job *, const struct lib_rcpt *, int tag);
void	job_close(struct lib_job *);	/* frees recipients and senders */

/* How a copy ended: put stopped it or the file ended too early (COPY_STOPPED),
 * or a read failed, with errno (COPY_ERROR). */
enum copy_end { COPY_ERROR = -1, COPY_DONE, COPY_STOPPED };

/* Passes the header block at this offset to put, up to its empty line. */
enum copy_end job_header(int fd, long at,
	    int (*put)(void *, const char *, size_t), void *);
/* Passes at most so many bytes of a file from an offset on to put. */
enum copy_end job_copy(int fd, off_t at, off_t most,
	    int (*put)(void *, const char *, size_t), void *);

#endif
