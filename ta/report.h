/*
 * report.h - writes the text of a DSN: see report.c.
 */
#ifndef REPORT_H
#define REPORT_H

#include "../lib/origin.h"
#include "../lib/post.h"

struct lib_rcpt;

#define FULL_TEXT	1000	/* bytes of a text with the reason from another
				 * line */

struct report;
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
 * report: a DSN while it is made.  The items are sorted by file, recipient and
 * diagnostic line.  If a recipient has several, the last one counts.
 */
struct report {
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
	long	most;		/* bytes of a message that are returned */
	/* Sets text and diags.field for an item; NULL: the diagnostic line has
	 * them. */
	void	(*describe)(struct report *, const struct item *);
	int	ctl;		/* with describe: the open control file */
	const char *form;	/* name of the form, NULL: the action's form */
	const char *subject;	/* NULL: made from the actions */
	/* Members below are set and used by report.c. */
	struct diags diags;	/* the open file */
	unsigned open;		/* index of the open file + 1; 0: none */
	struct head head;	/* head of the open file */
	struct origin origin;	/* set by origin_find */
	int	has_form;	/* the text for people comes from a form */
	const char *text;	/* text of the current item */
	char	full[FULL_TEXT];	/* memory of text if text and reason
					 * come from two lines */
};

/* Sets up an agent that writes DSNs: 0, or -1 with errno.  name is the name of
 * this machine, NULL: mailname(NULL); router is the socket of the router, "":
 * none.  On OpenBSD the process can then open only the forms, that socket, and
 * the post office, which is the parent of the working directory. */
int	report_begin(struct report *, const char *name, const char *router);
/* Writes the DSN into private/ and syncs it, for post_send: 0, or -1 with errno
 * and no file left. */
int	report_write(struct report *, struct post *);
/* Returns a new item, zeroed, or NULL if there is no memory. */
struct item *report_add_item(struct report *);
/* Opens the file with this index, unless it is open: 0, or -1 with errno. */
int	report_open_file(struct report *, unsigned file);
void	report_close_file(struct report *);
/* Opens the form with this name, or returns NULL. */
FILE	*report_open_form(const struct report *, const char *);

#endif
