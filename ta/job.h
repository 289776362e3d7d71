/*
 * job.h - what lib.c needs of job.c.
 */
#ifndef JOB_H
#define JOB_H

#include "lib.h"

/* Leaves in the job the recipients that are for us, if the file at job->ctl
 * is sound; host NULL is any. */
void	job_scan(struct lib_job *, const char *channel, const char *host);
/* Locks them and forgets those that could not be locked: how many are left. */
int	job_take(struct lib_job *);
void	job_set_tag(const struct lib_job *, const struct lib_rcpt *, int tag);
void	job_forget(struct lib_job *);

#endif
