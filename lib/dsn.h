/*
 * dsn.h - writes the frame and the fields of DSNs: see dsn.c.
 */
#ifndef DSN_H
#define DSN_H

#include "form.h"
#include "post.h"
#include "util.h"

/* ---- text of others --------------------------------------------------- */

/* The length in bytes of the UTF-8 character at s if it is neither ASCII nor a
 * control character; else 0. */
size_t	dsn_utf8(const char *);
int	dsn_has_utf8(const char *);	/* is there one? */
/* Lines of text, each behind the indent; they end in CR or LF. */
void	dsn_text(FILE *, const char *, const char *indent);
void	dsn_field(FILE *, const char *name, const char *value);
/* An address as "type; address" (RFC 3464, RFC 6533). */
void	dsn_address(FILE *, const char *name, const char *address);
/* As of RFC 5322, good for one use; "" for what no date can say. */
const char *dsn_date(long wall);
int	dsn_typed(const char *);	/* is it "type; value"? */

/*
 * copy: text that is copied into a DSN.  It is read twice: first without f, to
 * find out what it contains, then to write it.
 */
struct dsn_copy {
	FILE	*f;		/* where it goes, NULL: nowhere */
	const char *word;	/* must not occur in the text; its first byte
					 * occurs in it only once */
	int	at;		/* bytes of word that match so far */
	int	found, eight;	/* it occurs; there are bytes above 127 */
	int	awkward, wide;	/* mail cannot carry it: it is not text; it has
					 * a line that is too long */
	int	last;		/* byte */
	int	fold;		/* it is a header; its long lines are folded */
	long	col;		/* bytes in the line so far */
	long	size, whole;	/* bytes; ... up to the last line's end */
	long	most;		/* bytes to copy at most */
};

void	dsn_copy(struct dsn_copy *, const char *word, FILE *, long most);
void	dsn_byte(struct dsn_copy *, int);
void	dsn_form(struct dsn_copy *, FILE *form);	/* all of its text */

/* ---- the frame ---------------------------------------------------------- */

/*
 * dsn: a DSN while it is written: envelope, header, parts.
 */
struct dsn {
	struct post post;
	FILE	*form;		/* or NULL */
	const char *name;	/* of this machine */
	char	boundary[60];	/* occurs in nothing that is copied */
	int	eight;		/* the message has bytes above 127 ... */
	int	text_eight;	/* ... the text for people has */
};

/* What this machine calls itself: the given name, else its mailname. */
const char *dsn_name(const char *given);
/* Sets the next boundary to try; the number makes it unique. */
void	dsn_boundary(struct dsn *, unsigned long num);
/* To the sender ("": to the form's addresses alone), or the postmaster. */
void	dsn_envelope(struct dsn *, const char *sender);
/* Writes the header.  The subject is the form's if it has one; rest is added to
 * it.  more: further fields, each with its newline. */
void	dsn_header(struct dsn *, const char *sender, const char *subject,
	    const char *rest, const char *more);
void	dsn_part(struct dsn *, const char *type, int eight);	/* begins one */
/* Begins the part for people with the form's text: 1, or 0 without a form. */
int	dsn_people(struct dsn *);
void	dsn_end(struct dsn *);

/* After this call the process can open only the forms, the post office, which
 * is the working directory's parent, and the router's socket ("": none), where
 * the system can enforce that: 0, or -1 with errno. */
int	dsn_confine(const char *forms, const char *router);

#endif
