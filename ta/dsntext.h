/*
 * dsntext.h - writes the text of a DSN: see dsntext.c.
 */
#ifndef DSNTEXT_H
#define DSNTEXT_H

#include "../lib/origin.h"
#include "../lib/post.h"

#define FULL_TEXT	1000	/* size of the member full of struct dsn */

enum action { ACTION_FAILED, ACTION_DELAYED, ACTION_RELAYED, ACTION_DELIVERED,
	    ACTION_EXPANDED, ACTIONS };

/* item: what a DSN says of one recipient. */
struct item {
	unsigned file;		/* index in files */
	enum action action;
	unsigned long off;	/* offset of the recipient's line */
	unsigned long at;	/* offset of the diagnostic line */
	unsigned long reason_at;	/* offset of an earlier diagnostic line
					 * with the reason; or 0 */
	const struct lib_rcpt *rcpt;	/* the recipient, for describe */
	unsigned long delays[2];	/* the recipient's delay field before
					 * and after the DSN is sent */
};

/*
 * dsn: a DSN while it is made.  The items are sorted by file, recipient and
 * diagnostic line.  If a recipient has several items, the last one counts.
 */
struct dsn {
	const char *const *files;	/* names of the control files */
	unsigned nfiles;
	struct item *items;
	unsigned n, size;	/* items in use; items with memory */
	char	sender[WORD_MAX_];	/* who gets the DSN, "": only the
					 * addresses of the form */
	long	hdr;		/* offset of the header, used if nfiles is 1;
				 * -1: none */
	const char *name;	/* name of this machine */
	const char *forms;	/* directory of the forms */
	long	most;		/* bytes of a message returned, at most */
	/* Sets text and diags.field for an item; NULL: the diagnostic line has
	 * them. */
	void	(*describe)(struct dsn *, const struct item *);
	int	ctl;		/* with describe: the open control file */
	const char *form;	/* name of the form */
	const char *subject;	/* NULL: made from the actions */
	/* Members below are set and used by dsntext.c. */
	struct diags diags;	/* the open file */
	unsigned open;		/* index of the open file + 1; 0: none */
	struct head head;	/* head of the open file */
	struct origin origin;	/* set by origin_find */
	int	has_form;	/* the text for people comes from a form */
	const char *text;	/* text of the current item */
	char	full[FULL_TEXT];	/* memory of text if text and reason
					 * come from two lines */
};

/* Sets up the process of an agent that writes DSNs: 0, or -1 with errno.
 * machine is the name of this machine, NULL: mailname(NULL); sock is the socket
 * of the router, "": none.  On OpenBSD the process can then open only the
 * forms, that socket, /dev/urandom, and the post office, which is the parent of
 * the working directory. */
int	dsn_confine_agent(struct dsn *, const char *machine, const char *sock);
/* Writes the DSN into private/ and syncs it, for post_send_or_remove: 0, or -1
 * with errno and no file left. */
int	dsn_write(struct dsn *, struct post *);
/* Returns a new item, zeroed, or NULL if there is no memory. */
struct item *dsn_add_item(struct dsn *);
/* Opens the file with this index, unless it is open: 0, or -1 with errno. */
int	dsn_open_control(struct dsn *, unsigned file);
void	dsn_close_file(struct dsn *);
/* Opens the form, or returns NULL. */
FILE	*dsn_open_form(const struct dsn *);

#endif
