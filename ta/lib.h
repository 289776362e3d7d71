/*
 * lib.h - the interface for transport agents: see lib.c.
 *
 * The library finds and locks the recipients; the agent's own function works
 * through job->rcpts and gives each its verdict, exactly once.  All structs
 * belong to the library and live until that function returns.
 */
#ifndef LIB_H
#define LIB_H

#include "../lib/agent.h"

/* The envelope sender, shared by the recipients behind its line. */
struct lib_sender {
	struct lib_sender *next;
	unsigned long off;	/* of its line */
	const char *address;	/* "" when there is none */
	const char *dsn_to;	/* where DSNs go to, "" nowhere: mostly the same
				 * address, but an e line may set another */
};

struct lib_rcpt {
	struct lib_rcpt *next;	/* in the order of the file */
	unsigned long off;	/* of the 'r': its name in reports */
	long	hdr;		/* where the header text begins, -1: none */
	long	drpt;		/* where its N line begins, -1: none */
	int	with_pid;	/* its line has room for a lock */
	int	cancelled;	/* an operator does not want it delivered */
	int	unreported;	/* it is ours and has no verdict yet */
	const struct lib_sender *from;
	const char *host, *user;
	long	priv;		/* uid in whose name, -1: none is given */
	char	*dsn;		/* value of the N line, NULL: none */
};

struct lib_job {
	char	name[256];	/* [X/[Y/]]NAME of the job line */
	unsigned long num;	/* the number at the start of NAME */
	int	ctl;		/* control file, read and write */
	int	msg;		/* message file, read only */
	unsigned long body;	/* where the body begins in it, */
	off_t	size;		/* ... and where it ends: what was opened */
	time_t	arrived;	/* when it was written */
	char	*envid;		/* value of the n line (xtext), NULL: none */
	char	*ret;		/* value of the R line, NULL: none */
	struct lib_rcpt *rcpts;
	struct lib_sender *senders;
};

typedef void lib_work(struct lib_job *);

/* ZMailer's exit code for: later, with all mail for this host. */
#define X_DEFERALL	100

/*
 * The verdict on one recipient.  A success whose status is NULL causes no DSN:
 * the duty to send one went on with the message.  Members that are NULL or 0
 * are filled in from the others.
 */
struct lib_verdict {
	int	code;		/* 0: delivered; lib_is_failure; X_DEFERALL; all
				 * others: later */
	const char *status;	/* such as "4.2.2" */
	const char *text;	/* for people; must be there */
	const char *action;	/* "relayed" for a success that is no more */
	const char *diagnostic;	/* RFC 3464: "smtp; 550 no such user" */
	const char *remote;	/* RFC 3464: "dns; mx.example.org" */
	long	delay;		/* seconds, with a deferral: not before */
};

/* Serves jobs until the scheduler ends the agent; host is for jobs that name
 * none, or NULL.  Returns the exit status. */
int	lib_run(const char *channel, const char *host, lib_work *);

/* The same for jobs without recipients of their own; the function gets the
 * message and the host ("": none), and answers each job once. */
typedef void lib_whole(const char *name, const char *host);
int	lib_serve(lib_whole *);
/* verdict: as in a report, with the seconds of a retryat. */
void	lib_report_job(const char *name, const char *verdict, const char *text);

/* The channel of an agent without an option for it: $CHANNEL, which the
 * scheduler sets, else the usual one. */
const char *lib_channel(const char *usual);

/* The path of the name in $MAILSHARE, which the scheduler sets. */
const char *lib_share(const char *name);

/* An option of ZMailer's agent of the same name that we do not have, and what
 * to write instead; NULL: it can be left out. */
struct lib_foreign {
	int	letter;
	const char *instead;
};

/* For an option that we do not have: prints what to write instead and exits, or
 * returns if it can be left out.  An option that is not in the list, which ends
 * with a letter of 0, prints the usage. */
void	lib_foreign_option(const char *name, const struct lib_foreign *,
	    int option, void (*usage)(void));

/* To be called before lib_run: idle is called once when no work has come for so
 * many seconds. */
void	lib_when_idle(long seconds, void (*idle)(void));

/* Gives the verdict, once for each recipient. */
void	lib_report_verdict(struct lib_job *, struct lib_rcpt *,
	    const struct lib_verdict *);
/* The same with fewer members. */
void	lib_report(struct lib_job *, struct lib_rcpt *, int code,
	    const char *status, const char *text, long delay);

/* The same for all recipients that have no verdict. */
void	lib_report_rest(struct lib_job *, int code, const char *status,
	    const char *text);
/* Is it the code of a failure: X_NOUSER, X_NOHOST, X_UNAVAILABLE? */
int	lib_is_failure(int code);

/* Is the scheduler gone?  Then no new work may begin; recipients without a
 * verdict are given back when the agent's function returns. */
int	lib_is_alone(void);

/* For a child that becomes another user: the control file stays readable but
 * not writable.  0, or -1 with errno. */
int	lib_read_only(const struct lib_job *);

/* Passes header, empty line and body to put, piece by piece, until it returns
 * nonzero: 0, or -1 if put stopped or the files cannot be read.  A file that
 * grows or shrinks during the job cannot be read. */
int	lib_message(const struct lib_job *, const struct lib_rcpt *,
	    int (*put)(void *, const char *, size_t), void *);

/* For a process without files: functions that do it instead (halves.c). */
struct lib_far {
	void	(*tell)(struct lib_job *, struct lib_rcpt *,
		    const struct lib_verdict *);
	int	(*message)(const struct lib_job *, const struct lib_rcpt *,
		    int (*put)(void *, const char *, size_t), void *);
	int	(*alone)(void);
};

extern const struct lib_far *lib_far;	/* NULL: we have them */

int	lib_is_same(const char *, const char *);	/* but for case */
/* Bytes of the status at s, such as 4.2.2 (RFC 3463); 0: it is none. */
size_t	lib_status(const char *s);
void	lib_note(const char *, ...) LIKE_PRINTF(1, 2);	/* for the log */
/* Says what may take long now, for mailq, which shows 99 bytes. */
void	lib_show_step(const char *, ...) LIKE_PRINTF(1, 2);

#endif
