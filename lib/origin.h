/*
 * origin.h - reads from a control file who gets a DSN: see origin.c.
 */
#ifndef ORIGIN_H
#define ORIGIN_H

#include "ctlfile.h"

/*
 * diags: a control file whose recipients and diagnostic lines are read one by
 * one, from diag_open to ctl_close of c.  A recipient or a diagnostic stays in
 * it until the next one is read.
 */
struct diags {
	/* diag_next */
	int	tag;		/* '+' in a DSN that was sent; else ' ', or '-'
				 * of an older scheduler */
	unsigned long at, off;	/* of the line, and of its recipient's */
	long	when;		/* wall */
	char	*field[DIAG_FIELDS];	/* who, action, status, diagnostic,
				 * remote host; "" if missing */
	char	*text;		/* ends of lines in it are CRs */
	int	warning;	/* it is on a delay */
	unsigned long due;	/* ... of all recipients with the channel and
				 * host of its own: warnings that are due by
				 * now; or 0 */
	char	said[LINE_MAX_];	/* memory of field and text */
	struct ctl c, rc;	/* the walk; a recipient, by ctl_rcpt */
};

int	diag_open(struct diags *, const char *name);	/* 0, or -1: errno */
/* The same for what the caller has opened and closes. */
void	diag_start(struct diags *, int fd, const char *name);
/* errno of a read, or 0 */
#define diag_error(n) \
	((n)->c.l.error != 0 ? (n)->c.l.error : (n)->rc.l.error)
/* Walks to the next recipient line: 1, with its offset in c.l.off; or 0. */
int	diag_next_rcpt(struct diags *);
/* Walks to the next complete diagnostic line: 1, or 0. */
int	diag_next(struct diags *);
/* The text of the line for the recipient at off, good until the next call. */
const char *diag_reason(const struct diags *, unsigned long off);
/* Sets the tag of the diagnostic line at this offset: 0 or -1. */
int	diag_set_tag(struct diags *, unsigned long at, int tag);
/* Writes the number of warnings that are over into the line of rc: 0 or -1. */
int	diag_set_delays(struct diags *, unsigned long count);

/* Makes n bytes of xtext (RFC 3461) plain, and the reverse. */
void	xtext_read(const char *, size_t n, char *to, size_t size);
void	xtext_add(struct text *, const char *, size_t n);
/* The domain of an address, behind the '@'; NULL: it has none.  An '@' within
 * quotes belongs to the name. */
const char *addr_domain(const char *);
/* Can it be put between < and >?  NULL, or the status that says why not. */
const char *addr_error(const char *);
/* Can a DSN be sent to this address?  Not to a program or a file, nor to an
 * address that an envelope or a header cannot contain. */
int	can_get_dsn(const char *address);

/*
 * head: the fields of a control file that concern the whole message.
 */
struct head {
	char	envid[300];	/* xtext, or "" */
	char	id[300];	/* for the log: mostly its Message-ID */
	int	hdrs;		/* its sender wants no more than headers back */
	unsigned long body;	/* where the body begins in the message file */
};

/* 0, or -1 with errno; the walk begins anew. */
int	origin_read_head(struct diags *, struct head *);

/*
 * origin: the sender and header that several recipients share.
 */
struct origin {
	unsigned long from, to;	/* their lines begin in [from, to) */
	unsigned long head;	/* where its m line begins, ULONG_MAX: none */
	long	hdr;		/* ... and the header text, -1: none */
	int	twice;		/* it has DOUBLE_FIELD: a DSN on a DSN */
	int	long_sender;	/* the address is longer than this: */
	char	sender[WORD_MAX_];	/* "": there is none for a DSN */
	struct ctl w;		/* the walk for it */
};

#define DOUBLE_FIELD	"X-Undeliverable-Report"

/* For the file that was opened. */
void	origin_start(const struct diags *, struct origin *);
/* Sets the origin of the recipient at off: 0, or -1 if the file cannot be read;
 * then diag_error has the errno. */
int	origin_find(struct diags *, struct origin *, unsigned long off);

#endif
