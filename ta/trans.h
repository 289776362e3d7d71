/*
 * trans.h - one mail transaction: see trans.c.
 */
#ifndef TRANS_H
#define TRANS_H

#include "esmtp.h"
#include "lib.h"

#define TRANS_MAX	1000	/* recipients of one transaction */

enum trans_end {
	TRANS_OVER,	/* the transaction has ended, perhaps with the
			 * connection; recipients without a verdict need another
			 * transaction */
	TRANS_EARLY,	/* the connection was over before the first reply, the
			 * first reply was 421, or RSET was refused */
	TRANS_LOST	/* the connection was over after the first reply and
			 * before the message */
};

/* Makes a transaction for these recipients, who share sender and header.
 * seven: an 8-bit message fails if the server does not offer 8BITMIME. */
enum trans_end trans_run(struct esmtp *, struct lib_job *,
	    struct lib_rcpt **to, int n, int seven);

/* Reports on a recipient: the server accepts no mail now, or is gone.  The code
 * is X_DEFERALL, or X_TEMPFAIL if the server may accept other mail. */
void	trans_defer_rcpt(const struct esmtp *, struct lib_job *,
	    struct lib_rcpt *, int code);

#endif
