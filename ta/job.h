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
int	job_take(struct lib_job *);
void	job_set_tag(const struct lib_job *, const struct lib_rcpt *, int tag);
void	job_forget(struct lib_job *);

#endif
