/*
 * trans.h - one mail transaction: see trans.c.
 */
#ifndef TRANS_H
#define TRANS_H

#include "esmtp.h"
#include "lib.h"

#define TRANS_MAX	1000	/* recipients of one transaction */

enum trans_end {
	TRANS_OVER,	/* what has no verdict now goes into another one */
	TRANS_EARLY,	/* the connection was over before anything was said */
	TRANS_LOST	/* ... or later; the message was not yet under way */
};

/* Of these recipients, who share a sender and a header; seven: refuse what a
 * server that did not offer it would have to take in 8 bits. */
enum trans_end trans_run(struct esmtp *, struct lib_job *,
	    struct lib_rcpt **to, int n, int seven);

/* The verdict on one recipient when the server wants no mail from us now, or
 * is gone. */
void	trans_host_failed(const struct esmtp *, struct lib_job *,
	    struct lib_rcpt *);

/* Can it be put between < and >?  NULL, or the status that says why not. */
const char *trans_bad_address(const char *);

#endif
