/*
 * trans.h - one mail transaction: see trans.c.
 */
#ifndef TRANS_H
#define TRANS_H

#include "esmtp.h"
#include "lib.h"

#define TRANS_MAX	1000	/* recipients of one transaction */

enum trans_end {
	TRANS_OVER,	/* recipients without a verdict need another one */
	TRANS_EARLY,	/* the connection was over before anything was said */
	TRANS_LOST	/* ... or later; the message was not yet under way */
};

/* Makes a transaction for these recipients, who share sender and header.
 * seven: refuse a message that the server would have to take in 8 bits without
 * offering that. */
enum trans_end trans_run(struct esmtp *, struct lib_job *,
	    struct lib_rcpt **to, int n, int seven);

/* Gives the verdict to a recipient when the server wants no mail from us now,
 * or is gone: X_DEFERALL, or X_TEMPFAIL if other mail has better chances. */
void	trans_host_failed(const struct esmtp *, struct lib_job *,
	    struct lib_rcpt *, int code);

#endif
