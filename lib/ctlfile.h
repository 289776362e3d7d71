/*
 * ctlfile.h - the inside of a control file: see ctlfile.c.
 */
#ifndef CTLFILE_H
#define CTLFILE_H

#include "office.h"

#define CONTROL_MAX	(64L * 1024 * 1024)	/* bytes of a control file */
#define WORD_MAX_	1000	/* bytes of a channel, host or user, with NUL */

/* ---- locks of agents ---------------------------------------------------- */

/* The offset of the byte on which a process has its fcntl lock, behind the last
 * byte that a control file can have. */
#define LOCK_BYTE(pid)	(CONTROL_MAX + (pid))

/* ---- words of RFC 3461 ------------------------------------------------- */

/* Returns 1 if these n bytes are the word; case does not matter. */
int	ctl_is_word(const char *, size_t n, const char *word);

#define NOTIFY_FAILURE	1U
#define NOTIFY_SUCCESS	2U
#define NOTIFY_DELAY	4U
#define NOTIFY_GIVEN	8U	/* there is a NOTIFY list */
#define NOTIFY_NEVER	16U

/* Returns the bit of a word of a NOTIFY list, which has n bytes; 0 if there is
 * no such word. */
unsigned ctl_notify_bit(const char *, size_t n);
/* Adds the prefix and then the words of the NOTIFY_ bits, with commas between
 * the words; adds nothing if no bit has a word. */
void	ctl_add_notify(struct text *, const char *prefix, unsigned bits);
/* Returns the bits of the NOTIFY list in the value of an N line (NULL: no such
 * line).  Sets orcpt, unless it is NULL, to the ORCPT, "type;xtext", or "". */
unsigned ctl_parse_notify(const char *words, char *orcpt, size_t size);

/* ---- a control file from front to end ---------------------------------- */

/* The command that is pending on all recipients of one channel and host. */
enum cancel { CANCEL_NONE, CANCEL_DELETE, CANCEL_BOUNCE };

extern const char *const ctl_cancels[];	/* their words in the file */

/*
 * ctl: a control file while it is read, from ctl_open or ctl_start to
 * ctl_close.  Lines are read one by one, so a message of any size takes the
 * same memory.
 */
struct ctl {
	const char *why;	/* why the file cannot be used, or NULL */
	int	later;		/* seconds until a new try makes sense, or 0 */
	long	pid;		/* process whose lock is the reason, or 0 */
	double	since;		/* mono; time at which the locks were first
				 * seen.  ctl_open sets the present time; a
				 * caller that knows an earlier time sets it */
	int	in_block;	/* the current line begins an m or M block, or
				 * is within one */
	int	keeps_capitals;	/* host is not made lower case; the caller sets
				 * this after ctl_start */
	int	has_i, has_s;	/* an i line, an s line was read */
	unsigned long body;	/* offset of the body in the message file (o
				 * line) */
	unsigned long nrcpt;	/* recipient lines so far, whatever their tag */
	unsigned long nfailed;	/* recipients of nrcpt with the tag '-' */
	unsigned long ndelivered; /* recipients of nrcpt with the tag '+' */
	unsigned long ndiag;	/* diagnostic lines so far with the tag ' ', but
				 * for those of warnings */
	int	has_delays;	/* a diagnostic line of a warning, with the tag
				 * ' ', was read */
	unsigned long ntrigger;	/* T lines so far */
	long	ctime;		/* ctime of the control file, wall */
	int	has_verbose;	/* there is a v line */
	unsigned all_notify;	/* NOTIFY_ bits of all N lines */
	int	n_lines;	/* how many more lines are searched for the N
				 * line of the last recipient */
	int	is_folded;	/* the last line was a Message-ID field without
				 * a value */
	int	is_dsn;		/* the sender has the channel error, so the
				 * message is a DSN */
	/* The next six members, and channel, host and user below, are set when
	 * a line is parsed, as far as the line has them.  Lines that are parsed
	 * are those of pending recipients, T lines, '#' lines, the line of the
	 * recipient for ctl_read_rcpt, and s and e lines for ctl_parse_sender.
	 */
	int	has_lock_field;	/* the line has room for a lock */
	unsigned long delay_at;	/* offset of the delay field, 0: none */
	enum cancel cancel;	/* the command of a '#' line */
	int	has_long_sender;	/* the address is longer than user and
					 * is cut */
	const char *rest;	/* the words behind user: the privilege */
	unsigned long delays;	/* number in the delay field: warnings that the
				 * sender got or did not want; ULONG_MAX: no
				 * such field */
	/* ctl_read_rcpt alone sets the next four and orcpt.  It reads on to
	 * find the N line, so l.line is no longer the recipient's. */
	int	tag;		/* ' ' '~' '+' '-' */
	long	drpt;		/* offset of the N line, -1: none */
	unsigned notify;	/* NOTIFY_..., see ctl_parse_notify */
	char	privilege[24];
	/* Of the members from here on, ctl_start sets name and l, makes from
	 * and msgid empty, and leaves the others as they were. */
	char	channel[WORD_MAX_];	/* of the current line */
	char	host[WORD_MAX_];	/* lower case, or see keeps_capitals */
	char	user[WORD_MAX_];	/* address; of an empty sender "" */
	char	from[WORD_MAX_];	/* address of the last s line before the
				 * first recipient; "<>": empty; "": none */
	char	msgid[WORD_MAX_];	/* Message-ID of the header, or "" */
	char	orcpt[600];	/* after ctl_read_rcpt: type;xtext, or "" */
	char	name[NAME_MAX_];
	struct lines l;
};

/* Opens transport/name; the working directory is transport/.  CTL_GONE: there
 * is no such file, or no regular one.  CTL_UNUSABLE: why is set. */
enum ctl_opened { CTL_OPENED, CTL_GONE, CTL_UNUSABLE };
enum ctl_opened ctl_open(struct ctl *, const char *name);
/* Begins to read a file that the caller has opened; fd may be -1. */
void	ctl_start(struct ctl *, int fd, const char *name);
void	ctl_close(struct ctl *);
/* What ctl_next_checked_line and ctl_next_pending_line return besides a letter,
 * which is above 0.  CTL_BAD: the file cannot be used, and why is set.
 * CTL_END: the file is good, and was read to its end. */
enum { CTL_BAD = -1, CTL_END };
/* Reads the next line outside header blocks, or the one that begins a block,
 * and checks it; passes over N lines that belong to no recipient.  Returns the
 * letter of the line, CTL_END or CTL_BAD.  Sets channel, host and user if the
 * line is a recipient with a blank tag or a lock. */
int	ctl_next_checked_line(struct ctl *);
/* Reads the next line outside header blocks, or the one that begins a block,
 * and does not check it: 1, or 0 at the end or on an error, which sets l.error.
 */
int	ctl_next_line(struct ctl *);
/* Returns the offset of the header's text if ctl_next_line has just read an m
 * line that begins a header block; else -1. */
long	ctl_header_of_line(const struct ctl *);
/* Lets ctl_next_line go on with the line at off, a line outside header blocks.
 */
void	ctl_seek(struct ctl *, unsigned long off);
/* Moves to the recipient whose line is at off, and reads its words and its N
 * line: 0, or -1 if there is no recipient.  The tag may be an old one, as a
 * line that is in the buffer is not read again. */
int	ctl_read_rcpt(struct ctl *, unsigned long off);
/* Copies the address of the current s or e line to user, and returns user: ""
 * if the sender is empty or has the channel error. */
const char *ctl_parse_sender(struct ctl *);
/* Reads on to the next pending recipient or '#' line; returns the same as
 * ctl_next_checked_line.  Removes the locks of processes that are gone. */
int	ctl_next_pending_line(struct ctl *);
/* Moves to the next T line of a file that was found good, and sets host: 1, or
 * 0 at the end. */
int	ctl_next_trigger(struct ctl *);
/* Returns a hash of the mailbox of the current recipient; 0 if its host is not
 * "-", so that it has none. */
unsigned ctl_mailbox_hash(const struct ctl *);

/* ---- one line of a file ------------------------------------------------ */

/* Copies the value of the last line with one of these letters before the first
 * recipient.  The value of an s or e line is its address.  0, or -1 if there is
 * no such line, the value does not fit, or the file cannot be opened.  The
 * letters "se" give the address that gets DSNs, "" if nobody gets them. */
int	ctl_read_last_field(const char *name, const char *letters, char *value,
	    size_t size);
/* Returns the tag of the recipient line at off, or -1 if it cannot be read.  If
 * lock_owner is not NULL and the tag is '~', sets *lock_owner to the process
 * with the lock; if that process is gone, removes its lock and returns the
 * remaining tag. */
int	ctl_read_tag(const char *name, unsigned long off, long *lock_owner);
/* Returns the recipient whose line is at off, as ctl_read_rcpt sets it, good
 * until the next call of this section; NULL if there is none. */
const struct ctl *ctl_find_rcpt(const char *name, unsigned long off);
/* Sets the tag and removes the lock: 0 or -1.  Returns 0 for '+' also if the
 * file was cut before this line. */
int	ctl_set_tag(const char *name, unsigned long off, int tag);
/* Appends a diagnostic line, "d OFF:HDR:DRPT::TIME ...": 0 or -1.  message is
 * the text of the line.  If notary is empty, its fields are made from the
 * recipient's address, from status, such as "4.4.7 (delivery time expired)",
 * and from message; else status is not used.  when is the time of the last
 * attempt, seconds since 1970, 0 if unknown. */
int	ctl_append_diag(const char *name, unsigned long off, const char *notary,
	    const char *status, const char *message, long when);
/* Appends a '#' line: 0 or -1. */
int	ctl_append_cancel(const char *name, const char *channel,
	    const char *host, enum cancel);
/* Adds to the text the beginning of a diagnostic line about the recipient at
 * off, behind a newline if the file ends within a line.  The caller appends the
 * text to the file.  hdr and drpt are the offsets of the header's text and of
 * the N line, -1 for none; when is as for ctl_append_diag. */
void	ctl_diag_begin(struct text *, int fd, unsigned long off, long hdr,
	    long drpt, long when);
/* Syncs the file: 0 or -1. */
int	ctl_sync(const char *name);
/* Closes the file that is kept open; to be called when a control file is
 * removed, renamed or replaced. */
void	ctl_close_kept(void);
/* Returns "NAME id=ID" for the log, ID being the spool id, or the name alone if
 * the message file is gone.  The text is good for one log line, and errno is
 * unchanged, so that the same line can give the error.  If the time is NULL or
 * not known, it is read from the message file. */
const char *ctl_log_name_at(const char *name, const struct spool_time *);
#define ctl_log_name(name) ctl_log_name_at(name, NULL)

/* ---- diagnostic lines --------------------------------------------------- */

/* Fields of the notary. */
enum { DIAG_WHO, DIAG_ACTION, DIAG_STATUS, DIAG_TEXT, DIAG_REMOTE,
	    DIAG_FIELDS };
/* In the text of an expired recipient, the last reason is behind this mark. */
#define REASON_MARK	"problem was:"

/* Returns the TAB behind the notary at s, or NULL.  The first four fields may
 * have TABs, as in the reply of a server. */
char	*ctl_notary_end(const char *s);

#endif
