/*
 * ctlfile.h - the inside of a control file: see ctlfile.c.
 */
#ifndef CTLFILE_H
#define CTLFILE_H

#include "spoolid.h"

#define CONTROL_MAX	(64L * 1024 * 1024)	/* bytes in a control file */
#define PATH_MAX_	1024	/* bytes in a path that we build */
#define WORD_MAX_	1000	/* bytes in a channel's or host's name */

/* ---- locks of agents ---------------------------------------------------- */

/* Sets (how F_SETLK) or asks for (F_GETLK) the fcntl lock of this type that a
 * process has on the file: byte CONTROL_MAX + pid, behind all that a control
 * file can have.  0, or -1 with errno. */
int	ctl_flock(int fd, int how, int type, long pid, struct flock *);
/* Has that process its lock?  1 yes, 0 no, -1 nobody can know, as there are no
 * locks or another's is in its place. */
int	ctl_held(int fd, long pid);

/* ---- words of RFC 3461 ------------------------------------------------- */

/* Are these n bytes the word, which is in capitals? */
int	ctl_is_word(const char *, size_t n, const char *word);

#define WISH_FAILURE	1U
#define WISH_SUCCESS	2U
#define WISH_DELAY	4U
#define WISH_GIVEN	8U	/* there is a NOTIFY list */
#define WISH_NEVER	16U

/* The NOTIFY list in the value of an N line, NULL: no such line.  Its ORCPT
 * goes to orcpt, when that is not NULL: type;xtext, or "". */
unsigned ctl_wishes(const char *words, char *orcpt, size_t size);

/* ---- a control file from front to end ---------------------------------- */

/*
 * ctl: a control file while it is read, from ctl_open or ctl_start to
 * ctl_close.  Its lines come one by one, so a message of any size takes the
 * same memory.
 */
struct ctl {
	const char *why;	/* cannot be used, or not now; NULL: it can */
	int	later;		/* not now, but in so many seconds */
	long	pid;		/* later: whose lock is in the way, or 0 */
	/* to be set behind ctl_open: whose lock was in the way when the file
	 * was looked at before, and when that was first so, mono */
	long	seen_pid;
	double	since;
	int	in_block;	/* within an m or M block */
	int	format;		/* bits of the '@' line */
	int	capitals;	/* set behind ctl_start: they stay in host */
	int	resumed;	/* this is a later part of a file seen whole */
	int	seen_i, seen_s;
	unsigned long body;	/* value of the o line, bytes */
	unsigned long nrcpt;	/* recipient lines so far, whatever their tag */
	unsigned long nfailed;	/* ... already failed for good */
	unsigned long ndone;	/* ... delivered, or deleted */
	unsigned long ndiag;	/* diagnostic lines that were not reported */
	unsigned long ntrigger;	/* T lines so far */
	/* offsets, bytes; 0: it has none */
	unsigned long sender;	/* of the last s line before all recipients */
	unsigned long msgid;	/* of the first Message-ID field */
	long	ctime;		/* of the control file, wall */
	int	has_verbose;	/* there is a v line */
	char	obsoletes[64];	/* value of the x line, or "" */
	int	near;		/* so many more lines may be the recipient's */
	int	report;		/* its sender is of the channel error */
	/* of the line at hand, a pending recipient's or a T line; of a sender's
	 * behind ctl_address */
	int	with_pid;	/* it has room for a lock */
	unsigned delay;		/* bytes from its start to the delay field, 0:
				 * it has none */
	int	long_sender;	/* the address is longer than user */
	const char *rest;	/* behind the user: the privilege */
	char	channel[WORD_MAX_];
	char	host[WORD_MAX_];	/* lower case; also of a T line */
	char	user[WORD_MAX_];	/* of a sender: "" is nobody */
	char	name[NAME_MAX_];
	struct lines l;
};

enum ctl_item { CTL_END, CTL_RCPT, CTL_TRIGGER, CTL_BAD };

/* Opens transport/name (we are there): 0; or -1 with why or later set, or with
 * both unset when it is no regular file or gone: leave it alone. */
int	ctl_open(struct ctl *, const char *name);
/* The same for what follows behind off of a file that was good.  Locks are of
 * no concern then: they are our own agents'. */
int	ctl_resume(struct ctl *, const char *name, unsigned long off,
	    int format);
/* Reads what the caller has opened: 0, or -1 when name is too long. */
int	ctl_start(struct ctl *, int fd, const char *name);
void	ctl_close(struct ctl *);
/* The letter of the next line outside header blocks, of which the line that
 * begins one is given, and of N lines those that are a recipient's; 0 at the
 * end of a good file, or -1 with why or later set.  Of recipients with a blank
 * tag or a lock the words are at hand. */
int	ctl_line(struct ctl *);
/* The next line outside header blocks, or the one that begins a block: 1, or 0
 * at the end.  Nothing of it is looked at. */
int	ctl_walk(struct ctl *);
void	ctl_go(struct ctl *, unsigned long off);	/* on from that line */
/* The address in the s or e line at hand, which is in user from now on. */
const char *ctl_address(struct ctl *);
/* The sender's address in the file that was read, "<>" nobody, "" there is
 * none; and the Message-ID of its header, "" none.  Both read lines anew. */
const char *ctl_from(struct ctl *);
void	ctl_message_id(struct ctl *, char *id, size_t size);
/* The next pending recipient, T line, the end of a good file, or CTL_BAD with
 * why or later set.  Locks of dead agents are taken off on the way. */
enum ctl_item ctl_next(struct ctl *);
/* Is the process an agent of ours that has a job of the file with this name?
 * The scheduler says how to find out; NULL: none is. */
extern int (*ctl_has_job)(long pid, const char *name);
/* With a host of "-", a hash of the mailbox that the recipient at hand has; 0:
 * it has none. */
unsigned ctl_box(const struct ctl *);

/* ---- one line of a file ------------------------------------------------ */

/* The value of the first line with this letter before all recipients: 0, or -1
 * when there is none. */
int	ctl_field(const char *name, int letter, char *value, size_t size);
/* The address that is told of the first recipients, "" nobody: 0 or -1. */
int	ctl_sender(const char *name, char *address, size_t size);
/* The tag of the recipient line at off, -1 when it cannot be read; a '~' of
 * a process that is gone is taken off and reads as ' '.  With '~', *pid is
 * the process that holds the lock. */
int	ctl_tag(const char *name, unsigned long off, long *pid);
/* Is its tag this one?  Only for + and -. */
int	ctl_has(const char *name, unsigned long off, int tag);
/* The address of the recipient whose line is at off, good until the next call
 * of this section, and his ORCPT as in ctl_wishes; NULL: it cannot be read. */
const char *ctl_user(const char *name, unsigned long off, char *orcpt,
	    size_t size);
/* The recipient's NOTIFY list, as ctl_wishes has it; 0: he has none. */
unsigned ctl_wishes_at(const char *name, unsigned long off);
/* The recipient whose line is at off, with his words at hand until the next
 * call; NULL: there is none. */
const struct ctl *ctl_at(const char *name, unsigned long off);
/* Sets the tag and frees the lock: 0 or -1. */
int	ctl_mark(const char *name, unsigned long off, int tag);
/* Writes the tag, with the six bytes behind it where there is room for them,
 * into the line of the open file: 0 or -1. */
int	ctl_put_tag(int fd, unsigned long off, int with_pid,
	    const char tag[8]);
/* Appends a diagnostic line (facts: "d OFF:HDR:DRPT::TIME") with this tag: ' '
 * is to be told, '-' to nobody.  notary may be empty: then one is made from
 * status, such as "4.4.7 (text)", and the recipient's address.  when is the
 * time of the last attempt, wall, 0: not known.  0 or -1. */
int	ctl_diag(const char *name, unsigned long off, int tag,
	    const char *notary, const char *status, const char *message,
	    long when);
/* Begins such a line for the end of the open file, with this tag. */
void	ctl_diag_begin(struct text *, int fd, int tag, unsigned long off,
	    long hdr, long drpt, long when);
int	ctl_sync(const char *name);		/* ... is on disk: 0 or -1 */
/* Nothing is kept open for name any more. */
void	ctl_forget(void);
/* "NAME id=ID" for the log, the ID being the spool id of the message; the name
 * alone where the message file is not there.  Good for a line. */
const char *ctl_msg(const char *name);
/* The files of that name are others now, or none. */
void	ctl_gone(const char *name);

/* ---- for those who report ---------------------------------------------- */

/*
 * notary: a control file while a report is made of it, from nt_open to
 * nt_close.  What is found stays until the next of its kind is looked for.
 */
#define NT_FIELDS	5
#define REASON_MARK	"problem was:"	/* the last reason follows, in the
				 * text of what has expired */

struct notary {
	int	fd;
	char	name[NAME_MAX_];
	/* nt_rcpt; channel, host and user are in rc */
	int	state;		/* tag: ' ' '~' '+' '-' */
	unsigned wishes;
	char	orcpt[600];	/* type;xtext, or "" */
	unsigned long delays;	/* warnings that were sent of it */
	unsigned long delay_at;	/* where that number stands, 0: no room */
	/* nt_next_diag, nt_diag */
	int	tag;		/* ' ' to tell, '+' told, '-' told to nobody */
	unsigned long at, off;	/* of the line, and of its recipient's */
	long	when;		/* wall */
	char	*field[NT_FIELDS];	/* who, action, status, diagnostic, by
				 * whom; "" where missing */
	char	*text;		/* ends of lines in it are CRs */
	char	said[LINE_MAX_];	/* where all these are */
	struct ctl c, rc;	/* the walk; a recipient */
};

int	nt_open(struct notary *, const char *name);	/* 0, or -1: errno */
/* The same with what the caller has opened, to read alone; -1: nothing. */
int	nt_start(struct notary *, int fd, const char *name);
void	nt_close(struct notary *);
int	nt_error(const struct notary *);	/* errno of a read, or 0 */
/* Walks to the next recipient line: 1, with its offset in c.l.off; or 0. */
int	nt_next_rcpt(struct notary *);
/* ... the next whole diagnostic line: 1 or 0. */
int	nt_next_diag(struct notary *);
int	nt_diag(struct notary *, unsigned long at);	/* the one there */
/* Is the diagnostic line at hand a warning of a delay? */
int	nt_is_warning(const struct notary *);
/* The recipient whose line is at off: 0, or -1 when there is none. */
int	nt_rcpt(struct notary *, unsigned long off);
/* The diagnostic line at this offset was told ('+'), or is not to be told
 * ('-'); ' ': neither.  0 or -1. */
int	nt_mark(struct notary *, unsigned long at, int tag);
/* So many warnings were sent; at is delay_at of the recipient: 0 or -1. */
int	nt_delayed(struct notary *, unsigned long at, unsigned long count);

#endif
