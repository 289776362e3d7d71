/*
 * lib.h - what a transport agent needs to know: see lib.c.
 *
 * The library finds and locks; the agent's own function works through
 * job->rcpts and calls lib_report exactly once for each.  Everything here
 * belongs to the library and lives until that function returns.
 */
#ifndef LIB_H
#define LIB_H

#include "../util.h"

#define LIB_VERSION	"0.1"

/* The envelope sender: one "s" line, shared by the recipients behind it. */
struct lib_sender {
	struct lib_sender *next;
	unsigned long off;	/* of its line */
	const char *channel;	/* "error": a report, which has no sender */
	const char *address;	/* "" when there is none */
};

struct lib_rcpt {
	struct lib_rcpt *next;	/* in the order of the file */
	unsigned long off;	/* of the 'r': its name in reports */
	long	hdr;		/* where the header text begins, -1: none */
	long	drpt;		/* where its N line begins, -1: none */
	int	with_pid;	/* its line has room for a lock */
	int	unreported;	/* it is ours, and the verdict is still out */
	const struct lib_sender *from;
	const char *host, *user;
	char	*dsn;		/* value of the N line, NULL: none */
};

struct lib_job {
	char	name[256];	/* [X/[Y/]]NAME as we were told */
	unsigned long num;	/* the number at the start of NAME */
	int	ctl;		/* control file, read and write */
	int	msg;		/* message file, read only */
	unsigned long body;	/* where the body begins in it */
	time_t	arrived;	/* when it was written */
	char	*envid;		/* value of the n line, NULL: none */
	struct lib_rcpt *rcpts;
	struct lib_sender *senders;
};

typedef void lib_work(struct lib_job *);

/* Serves jobs until told to leave; host (or NULL) is for jobs that name none.
 * The agent's exit status. */
int	lib_run(const char *channel, const char *host, lib_work *);

/*
 * The verdict on one recipient: an exit code (X_..., 0 delivered), a status
 * such as "4.2.2", a text.  A success whose status is NULL tells nobody: the
 * duty to report went on with the message.  With a delay, in seconds, a
 * deferral asks to be tried again after it.
 */
void	lib_report(struct lib_job *, struct lib_rcpt *, int code,
	    const char *status, const char *text, long delay);

/* Gives header, empty line and body to put, piece by piece, until it returns
 * nonzero: 0, or -1 when put has enough or the files cannot be read. */
int	lib_message(const struct lib_job *, const struct lib_rcpt *,
	    int (*put)(void *, const char *, size_t), void *);

int	lib_same(const char *, const char *);	/* but for case */
void	lib_note(const char *, ...) LIKE_PRINTF(1, 2);	/* for the log */

#endif
