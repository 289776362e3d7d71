/*
 * ctlfile.h - the inside of a control file: see ctlfile.c.
 */
#ifndef CTLFILE_H
#define CTLFILE_H

#include "office.h"

#define CONTROL_MAX	(64L * 1024 * 1024)	/* bytes in a control file */
#define WORD_MAX_	1000	/* bytes in a channel's or host's name */

/* ---- locks of agents ---------------------------------------------------- */

/* The byte on which a process has its fcntl lock: behind the last one that a
 * control file can have. */
#define LOCK_BYTE(pid)	(CONTROL_MAX + (pid))

/* ---- words of RFC 3461 ------------------------------------------------- */

/* Are these n bytes the word, which is in capitals? */
int	ctl_is_word(const char *, size_t n, const char *word);

#define NOTIFY_FAILURE	1U
#define NOTIFY_SUCCESS	2U
#define NOTIFY_DELAY	4U
#define NOTIFY_GIVEN	8U	/* there is a NOTIFY list */
#define NOTIFY_NEVER	16U

/* The bits of the NOTIFY list in the value of an N line (NULL: no such line).
 * If orcpt is not NULL, it is set to the ORCPT, "type;xtext", or "". */
unsigned ctl_notify(const char *words, char *orcpt, size_t size);

/* ---- a control file from front to end ---------------------------------- */

/* A command on all recipients with a channel and host that is not done yet. */
enum cancel { CANCEL_NONE, CANCEL_DELETE, CANCEL_BOUNCE };

extern const char *const ctl_cancels[];	/* "to be deleted", as in the file */

/*
 * ctl: a control file while it is read, from ctl_open or ctl_start to
 * ctl_close.  Lines are read one by one, so a message of any size takes the
 * same memory.
 */
struct ctl {
	const char *why;	/* reason why it cannot be used, or NULL */
	int	later;		/* why: seconds until that may be over, or 0 */
	long	pid;		/* later: whose lock is in the way, or 0 */
	double	since;		/* mono; when a lock in the way was first seen;
				 * the caller may set it after ctl_open */
	int	in_block;	/* within an m or M block */
	int	capitals;	/* set after ctl_start: host keeps its case */
	int	seen_i, seen_s;
	unsigned long body;	/* value of the o line, bytes */
	unsigned long nrcpt;	/* recipient lines so far, whatever their tag */
	unsigned long nfailed;	/* of nrcpt, those that failed for good */
	unsigned long ndone;	/* of nrcpt, those delivered, or deleted */
	unsigned long ndiag;	/* diagnostic lines that were not reported */
	unsigned long ntrigger;	/* T lines so far */
	long	ctime;		/* of the control file, wall */
	int	has_verbose;	/* there is a v line */
	int	asks_delay;	/* there is an N line with NOTIFY=DELAY */
	int	near;		/* further lines that may be its N line */
	int	folded;		/* the last line was a Message-ID field without
				 * a value */
	int	report;		/* its sender is of the channel error */
	/* the current line if it is a pending recipient, a T line or a command;
	 * after ctl_address, a sender */
	int	with_pid;	/* it has room for a lock */
	unsigned long delay_at;	/* offset of the delay field, 0: none */
	enum cancel cancel;	/* '#' line: of its channel and host */
	int	long_sender;	/* the address is longer than user */
	const char *rest;	/* behind the user: the privilege */
	unsigned long delays;	/* in it: warnings that are over; ULONG_MAX if
				 * there is none */
	/* after ctl_rcpt, the current line being behind the recipient's */
	int	tag;		/* ' ' '~' '+' '-' */
	long	drpt;		/* offset of its N line, -1: none */
	unsigned wishes;	/* as in ctl_notify */
	char	privilege[24];
	char	channel[WORD_MAX_];
	char	host[WORD_MAX_];	/* lower case; also of a T line */
	char	user[WORD_MAX_];	/* of a sender: "" is nobody */
	char	from[WORD_MAX_];	/* the last sender before all recipients
				 * that were read, "<>": it is empty; or "" */
	char	msgid[WORD_MAX_];	/* of the header, or "" */
	char	orcpt[600];	/* after ctl_rcpt: type;xtext, or "" */
	char	name[NAME_MAX_];
	struct lines l;
};

/* Opens transport/name; the working directory is transport/.  0, or -1 with why
 * set.  -1 without it: it is no regular file, or is gone. */
int	ctl_open(struct ctl *, const char *name);
/* The same for what the caller has opened or, with fd -1, could not open. */
void	ctl_start(struct ctl *, int fd, const char *name);
void	ctl_close(struct ctl *);
/* Reads the next line outside header blocks, or the one that begins a block; of
 * N lines only those of a recipient.  Its letter; 0 at the end of a good file;
 * -1 with why set.  The words of a recipient with a blank tag or a lock are
 * then in channel, host and user. */
int	ctl_line(struct ctl *);
/* Reads the next such line without checking it: 1, or 0 at the end. */
int	ctl_walk(struct ctl *);
void	ctl_seek(struct ctl *, unsigned long off);	/* moves to off */
/* Moves to the recipient whose line is at off, and takes in its words and its N
 * line: 0, or -1 if there is none.  The tag may be that of an earlier reading.
 */
int	ctl_rcpt(struct ctl *, unsigned long off);
/* The address of the current s or e line, which is kept in user. */
const char *ctl_address(struct ctl *);
/* Reads on to the next pending recipient, T line or '#' line, as ctl_line.
 * Removes the locks of dead agents. */
int	ctl_next(struct ctl *);
/* Moves to the next T line of a file that was found good, and sets host: 1, or
 * 0 at the end. */
int	ctl_next_trigger(struct ctl *);
/* A hash of the mailbox of the current recipient if its host is "-"; 0: it has
 * no mailbox. */
unsigned ctl_mailbox_hash(const struct ctl *);

/* ---- one line of a file ------------------------------------------------ */

/* The value of the last line with one of these letters before all recipients:
 * 0, or -1 if there is none.  Of an s or e line it is the address; that of "se"
 * gets DSNs, "": nobody. */
int	ctl_field(const char *name, const char *letters, char *value,
	    size_t size);
/* The tag of the recipient line at off, or -1 if it cannot be read.  If pid is
 * not NULL, for '~' *pid is set to the process with the lock; if that is gone,
 * the lock is removed and the result is the tag without it. */
int	ctl_tag(const char *name, unsigned long off, long *pid);
/* The recipient whose line is at off, as after ctl_rcpt, good until the next
 * call of this section; NULL: there is none. */
const struct ctl *ctl_rcpt_at(const char *name, unsigned long off);
/* Sets the tag and frees the lock: 0 or -1.  For '+' also 0 if the file was cut
 * before this line. */
int	ctl_set_tag(const char *name, unsigned long off, int tag);
/* Appends a diagnostic line, "d OFF:HDR:DRPT::TIME ...".  Empty notary fields
 * are made from the recipient's address and the status, such as "4.4.7 (text)".
 * when is the time of the last attempt, seconds since 1970, 0 if unknown.  0 or
 * -1. */
int	ctl_append_diag(const char *name, unsigned long off, const char *notary,
	    const char *status, const char *message, long when);
/* Appends a '#' line: 0 or -1. */
int	ctl_cancel(const char *name, const char *channel, const char *host,
	    enum cancel);
/* Begins a diagnostic line for the end of the open file. */
void	ctl_diag_begin(struct text *, int fd, unsigned long off, long hdr,
	    long drpt, long when);
int	ctl_sync(const char *name);	/* it is on disk then: 0 or -1 */
/* No file is kept open any more; to be called when those of a name go, or are
 * others. */
void	ctl_close_kept(void);
/* "NAME id=ID" for the log, ID being the spool id; the name alone if the
 * message file is gone.  Good for one log line. */
const char *ctl_msg(const char *name);

/* ---- diagnostic lines --------------------------------------------------- */

#define DIAG_FIELDS	5	/* of the notary */
#define REASON_MARK	"problem was:"	/* the last reason follows it in the
				 * text of an expired recipient */

/* The TAB behind the notary at s, which may have TABs in its first four fields,
 * as in the reply of a server; or NULL. */
char	*ctl_notary_end(const char *s);

#endif
