/*
 * origin.h - reads from a control file who gets a DSN: see origin.c.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include "ctlfile.h"

/*
 * diags: a control file whose recipients and diagnostic lines are read one by
 * one, from diag_start to ctl_close of c.  A recipient or a diagnostic stays in
 * it until the next one is read.
 */
struct diags {
	/* the diagnostic line that diag_next_line has read */
	int	tag;		/* '+': a DSN with the line was sent; else ' ',
				 * or '-' of an older scheduler */
	unsigned long at;	/* offset of the line */
	unsigned long off;	/* offset of the recipient's line */
	long	when;		/* time of the attempt, wall */
	char	*field[DIAG_FIELDS];	/* by DIAG_WHO to DIAG_REMOTE; "" if
				 * missing.  In a line on a delay, DIAG_REMOTE
				 * is the time at which the recipient expires */
	char	*text;		/* the text, CRs for its newlines */
	int	is_warning;	/* the line is about a delay */
	unsigned long due;	/* number of warnings that are due by now, if
				 * the line is about the delay of all recipients
				 * with this channel and host; else 0 */
	char	said[LINE_MAX_];	/* memory of field and text */

	struct ctl c;		/* the walk through the file */
	struct ctl rc;		/* the recipient that ctl_read_rcpt has read */
};

/* Begins to read a file that the caller has opened; fd may be -1. */
void	diag_start(struct diags *, int fd, const char *name);
/* The errno of a read that failed, or 0. */
#define diag_error(n) \
	((n)->c.l.error != 0 ? (n)->c.l.error : (n)->rc.l.error)
/* Walks to the next recipient line: 1, with its offset in c.l.off; or 0. */
int	diag_next_rcpt(struct diags *);
/* Walks to the next complete diagnostic line: 1, or 0. */
int	diag_next_line(struct diags *);
/* Returns the text of the current line for the recipient at off, good until the
 * next call. */
const char *diag_reason(const struct diags *, unsigned long off);
/* Sets the tag of the diagnostic line at this offset: 0 or -1.  Returns 0, and
 * writes nothing, if no diagnostic line is there. */
int	diag_set_tag(struct diags *, unsigned long at, int tag);
/* Writes the number of warnings into the delay field of rc: 0 or -1. */
int	diag_set_delays(struct diags *, unsigned long count);

/* Reads the UTF-8 character at s.  Returns its length in bytes; 0 for ASCII, a
 * surrogate and bytes that are no UTF-8. */
size_t	utf8_read_multibyte(const char *s, unsigned long *character);
/* Decodes n bytes of xtext (RFC 3461), and cuts the result to the size.
 * xtext_add adds n bytes as xtext. */
void	xtext_read(const char *, size_t n, char *to, size_t size);
void	xtext_add(struct text *, const char *, size_t n);
/* Returns 1 for xtext as RFC 3461 defines it, or with small hex digits. */
int	xtext_is_valid(const char *);
/* Returns the domain of an address, behind the '@', or NULL.  An '@' within
 * quotes belongs to the name. */
const char *addr_domain(const char *);
/* Returns NULL if the address can stand between < and >, else the status that
 * says why not. */
const char *addr_error_status(const char *);
/* Returns 1 if a DSN can be sent to this address: it is no program, file or
 * list, and an envelope and a header can contain it. */
int	can_get_dsn(const char *address);

/*
 * head: the fields of a control file that concern the whole message.
 */
struct head {
	char	envid[300];	/* xtext, or "" */
	char	id[300];	/* for the log: mostly its Message-ID */
	int	wants_headers;	/* the sender wants only headers returned */
	unsigned long body;	/* offset of the body in the message file */
};

/* Reads the head: 0, or -1 with errno.  The walk of diag_next_line then begins
 * again. */
int	origin_read_head(struct diags *, struct head *);

/*
 * origin: the sender and header that several recipients share.
 */
struct origin {
	unsigned long from, to;	/* recipients' lines begin in [from, to) */
	long	hdr;		/* offset of the header's text, -1: none */
	int	is_double;	/* DOUBLE_FIELD is in the header: the message
				 * is a DSN on a DSN */
	int	has_long_sender;	/* the address is longer than sender
					 * and is cut */
	char	sender[WORD_MAX_];	/* who gets a DSN, "": nobody */
	struct ctl w;		/* the walk that finds origins */
};

#define DOUBLE_FIELD	"X-Undeliverable-Report"

/* Begins to look for origins in the file of the diags. */
void	origin_start(const struct diags *, struct origin *);
/* Sets the origin of the recipient at off: 0, or -1 if the file cannot be read
 * and diag_error has the errno. */
int	origin_find(struct diags *, struct origin *, unsigned long off);

#endif
