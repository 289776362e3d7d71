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
	unsigned long off;	/* offset of the s or e line */
	const char *address;	/* "": the sender is empty */
	const char *dsn_to;	/* the address that gets DSNs, "": none.  It is
				 * the one in the e line, or, without an e line,
				 * the sender's */
};

struct lib_rcpt {
	struct lib_rcpt *next;	/* next recipient in the file */
	unsigned long off;	/* offset of the line; reports name the
				 * recipient by this number */
	long	hdr;		/* offset of the header's text, -1: none */
	long	drpt;		/* offset of the N line, -1: none */
	int	has_lock_field;	/* the line has room for a lock */
	int	cancelled;	/* an operator has deleted or bounced the
				 * recipient */
	int	unreported;	/* the agent has the lock, and has given no
				 * verdict */
	const struct lib_sender *from;
	const char *host, *user;
	long	priv;		/* uid for files and programs, -1: none */
	char	*dsn;		/* value of the N line, NULL: none */
};

struct lib_job {
	char	name[256];	/* [X/[Y/]]NAME of the job line */
	unsigned long num;	/* the number at the start of NAME */
	int	ctl;		/* control file, read and write */
	int	msg;		/* message file, read only */
	unsigned long body;	/* offset of the body in the message file */
	off_t	size;		/* bytes of the message file when opened */
	time_t	arrived;	/* mtime of the message file */
	char	*envid;		/* value of the n line (xtext), NULL: none */
	char	*ret;		/* value of the R line, NULL: none */
	struct lib_rcpt *rcpts;
	struct lib_sender *senders;
};

typedef void lib_work(struct lib_job *);

/* ZMailer's exit code that defers all mail for this host. */
#define X_DEFERALL	100

/*
 * The verdict on one recipient.  A success with a NULL status causes no DSN
 * here, as the next host has the duty to send it; other verdicts have a status.
 * Where action, diagnostic, remote or delay is NULL or 0, the report has what
 * code, status and text imply.
 */
struct lib_verdict {
	int	code;		/* 0: delivered; a failure (lib_is_failure);
				 * X_DEFERALL; any other: deferred */
	const char *status;	/* such as "4.2.2" */
	const char *text;	/* the reason or the reply in words; not NULL */
	const char *action;	/* "relayed" if the next host sends no DSNs */
	const char *diagnostic;	/* RFC 3464: "smtp; 550 no such user" */
	const char *remote;	/* RFC 3464: "dns; mx.example.org" */
	long	delay;		/* seconds until the next try of a deferral */
};

/* Serves jobs until the scheduler ends the agent.  A job that names no host is
 * for the argument host, or, if that is NULL, for any host.  Returns the exit
 * status. */
int	lib_run(const char *channel, const char *host, lib_work *);

/* Serves jobs of an agent that reads control files itself: lib_message_work
 * gets the name of a message and the host ("": none), and answers each job
 * once. */
typedef void lib_message_work(const char *name, const char *host);
int	lib_serve_messages(lib_message_work *);
/* Answers a job of lib_serve_messages; verdict is that of a report, such as
 * "retryat +60". */
void	lib_report_job(const char *name, const char *verdict, const char *text);

/* Returns the path of a file in $MAILSHARE, which the scheduler sets. */
const char *lib_share_path(const char *name);

/* The command line of an agent.  The caller sets the first four members, and
 * may set channel and host, which the options replace. */
struct lib_command {
	const char *name;	/* name of the agent */
	const char *version;	/* what -V prints behind the name */
	const char *usage;	/* the options, as lib_usage prints them */
	const char *letters;	/* the options, as getopt takes them */
	const char *channel;	/* argument of -c */
	const char *host;	/* argument of -h */
	int	check_only;	/* -N was given */
};

/* Returns the next option, or -1 after the last one.  If they are among the
 * letters, -c, -h and -N set channel, host and check_only, and -V prints the
 * version and exits. */
int	lib_next_option(int argc, char **argv, struct lib_command *);
/* Prints the usage of the command of lib_next_option and exits. */
void	lib_usage(void);
/* Sets the seconds from the argument of the option that lib_next_option has
 * returned, or calls lib_usage if the argument is no span of time. */
void	lib_set_span(long *seconds);

/* Options that only ZMailer's agent of the same name has. */
struct lib_foreign {
	const char *letters;	/* options with this advice, NULL at the end */
	const char *instead;	/* the advice, NULL: the options are ignored */
};

/* Prints what to do instead of an option of lib_next_option, and exits.
 * Returns if the option is ignored.  Calls lib_usage for an option that is not
 * in the list. */
void	lib_ignore_or_refuse_option(const struct lib_foreign *, int option);

/* Sets a function for lib_run to call when no job has come for so many seconds.
 * In a longer pause it is called only once. */
void	lib_set_idle(long seconds, void (*idle)(void));

/* Reports the verdict on a recipient, who must have none yet. */
void	lib_report_verdict(struct lib_job *, struct lib_rcpt *,
	    const struct lib_verdict *);
/* Reports a verdict with these members. */
void	lib_report(struct lib_job *, struct lib_rcpt *, int code,
	    const char *status, const char *text, long delay);

/* Reports a verdict with these members on all recipients without a verdict. */
void	lib_report_rest(struct lib_job *, int code, const char *status,
	    const char *text);
/* Returns 1 for X_NOUSER, X_NOHOST and X_UNAVAILABLE, the codes of a failure.
 */
int	lib_is_failure(int code);

/* Returns 1 unless the scheduler is gone.  Without it, no new work may begin;
 * when the agent's function returns, recipients without a verdict are unlocked.
 */
int	lib_has_scheduler(void);

/* Replaces the descriptor ctl of the job by one that cannot write, for a child
 * that becomes another user: 0, or -1 with errno. */
int	lib_reopen_read_only(const struct lib_job *);

/* Passes header, empty line and body to the function put, piece by piece: 0, or
 * -1 if put did not return 0 or the files cannot be read.  A message file that
 * changes its size during the job cannot be read. */
int	lib_pass_message(const struct lib_job *, const struct lib_rcpt *,
	    int (*put)(void *, const char *, size_t), void *);

/* What lib_report_verdict, lib_pass_message and lib_has_scheduler do in a
 * process that has no files: see halves.c. */
struct lib_far {
	void	(*report)(struct lib_job *, struct lib_rcpt *,
		    const struct lib_verdict *);
	int	(*message)(const struct lib_job *, const struct lib_rcpt *,
		    int (*put)(void *, const char *, size_t), void *);
	int	(*has_scheduler)(void);
};

extern const struct lib_far *lib_far;	/* NULL: this process has files */

/* Returns 1 if both words are the same, whatever their case. */
#define lib_is_same(a, b) ctl_is_word(a, strlen(a), b)
/* Returns the length of a status at s, such as 4.2.2 (RFC 3463), or 0. */
size_t	lib_status_len(const char *s);
/* Sends a line for the scheduler's log. */
void	lib_note(const char *, ...) LIKE_PRINTF(1, 2);
/* Sends what the agent does now, for mailq, which shows 99 bytes of the text.
 */
void	lib_show_step(const char *, ...) LIKE_PRINTF(1, 2);

#endif
