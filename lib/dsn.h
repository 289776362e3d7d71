/*
 * dsn.h - what a DSN is written with: see dsn.c.
 */
#ifndef DSN_H
#define DSN_H

#include "form.h"
#include "post.h"
#include "util.h"

/* ---- text of others --------------------------------------------------- */

/* Bytes of the UTF-8 character at s that is not ASCII, nor a control; 0: there
 * is none. */
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
 * copy: text on its way into a DSN, looked at and perhaps written.
 */
struct dsn_copy {
	FILE	*f;		/* where it goes, NULL: nowhere */
	const char *word;	/* what must not occur; its first byte occurs
				 * once in it */
	int	at;		/* bytes of it seen */
	int	found, eight;	/* it occurs; there are bytes above 127 */
	int	awkward, wide;	/* no mail can carry it as it is: it is not
				 * text; a line is too long */
	int	last;		/* byte */
	int	fold;		/* it is a header, and lines are made shorter */
	long	col;		/* bytes in the line so far */
	long	size, whole;	/* bytes; ... up to the last line's end */
	long	most;		/* bytes that are wanted */
};

void	dsn_copy(struct dsn_copy *, const char *word, FILE *, long most);
void	dsn_byte(struct dsn_copy *, int);
void	dsn_form(struct dsn_copy *, FILE *form);	/* all of its text */

/* ---- the frame ---------------------------------------------------------- */

/*
 * dsn: one while it is written: an envelope, a header, parts.
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
/* Next of kin of the boundary before; based on the number. */
void	dsn_boundary(struct dsn *, unsigned long num);
/* To the sender ("": to the form's addresses alone), or the postmaster. */
void	dsn_envelope(struct dsn *, const char *sender);
/* The subject is the form's if it has one; the rest stands behind it.  more:
 * fields of the header, each with its end. */
void	dsn_header(struct dsn *, const char *sender, const char *subject,
	    const char *rest, const char *more);
void	dsn_part(struct dsn *, const char *type, int eight);	/* begins one */
/* Begins the part for people with the form's text: 1, or 0 without a form. */
int	dsn_people(struct dsn *);
void	dsn_end(struct dsn *);

/* From here on nothing but forms, the post office that we are in, and the
 * router's socket ("": none) can be opened, where the system sees to that: 0,
 * or -1 with errno. */
int	dsn_confine(const char *forms, const char *router);

#endif
