/*
 * job.h - recipients, locks and message of a job: see job.c.
 */
#ifndef JOB_H
#define JOB_H

#include "lib.h"

/* Sets the recipients of the job that are for channel and host (NULL: any),
 * none if the control file, open as job->ctl, is damaged. */
void	job_scan(struct lib_job *, const char *channel, const char *host);
/* Locks them and forgets those that could not be locked: how many are left. */
int	job_lock(struct lib_job *);
void	job_set_tag(const struct lib_job *, const struct lib_rcpt *, int tag);
void	job_close(struct lib_job *);

/* Passes the header block at this offset to put, up to its empty line: 0; 1 if
 * put returned nonzero, or the file ends before; -1 with errno. */
int	job_header(int fd, long at, int (*put)(void *, const char *, size_t),
	    void *);
/* The same for the file from an offset on, up to so many bytes. */
int	job_copy(int fd, off_t at, off_t most, int (*put)(void *, const char *,
	    size_t), void *);

#endif
