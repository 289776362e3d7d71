/*
 * report.h - writes the text of a DSN: see report.c.
 */
#ifndef REPORT_H
#define REPORT_H

#include "../lib/origin.h"
#include "../lib/post.h"

struct lib_rcpt;

/*
 * report: a DSN while it is made.  Its items are sorted by file and recipient;
 * of two on one recipient the later one counts.
 */
#define REASON_ALL	1000	/* bytes of a text with its reason */

struct report;
enum action { ACTION_FAILED, ACTION_DELAYED, ACTION_RELAYED, ACTION_DELIVERED,
	    ACTION_EXPANDED, ACTIONS };

struct item {
	unsigned file;		/* index in files */
	enum action action;
	unsigned long off;	/* of the recipient's line */
	unsigned long at;	/* of the diagnostic line */
	unsigned long why;	/* of one before it, with a reason; or 0 */
	const struct lib_rcpt *rcpt;	/* for say */
	unsigned long delays[2];	/* the delay field before and after
					 * its DSN */
};

struct report {
	const char *const *files;	/* control files; nfiles of them */
	unsigned nfiles;
	struct item *items;	/* n of them, room for size */
	unsigned n, size;
	char	sender[WORD_MAX_];	/* "": the form's addresses alone */
	long	hdr;		/* one file: where the header is, -1: none */
	const char *name;	/* of this machine */
	const char *forms;	/* directory */
	long	most;		/* bytes of a message that are returned */
	/* errormail's, else NULL: sets fields and text of the item in the place
	 * of a diagnostic line; ctl is the file, open */
	void	(*say)(struct report *, const struct item *);
	int	ctl;
	const char *form;	/* its name, NULL: that of the action */
	const char *subject;	/* NULL: that of the actions */
	/* report.c's: */
	struct diags nt;
	struct head head;
	struct origin origin;	/* origin_find's */
	unsigned at;		/* which file that is, + 1; 0: none */
	int	has_form;
	const char *text;	/* that of the current item */
	char	full[REASON_ALL];	/* ... with a reason of another line */
};

/* Sets up an agent that writes DSNs: name is this machine's, NULL the mailname;
 * router the router's socket, "" none.  After this call the process can open
 * only the forms, the post office, which is the working directory's parent, and
 * the socket, where the system can enforce that.  0, or -1 with errno. */
int	report_begin(struct report *, const char *name, const char *router);
/* Writes it into private/ and syncs it, for post_send: 0; or -1 with errno and
 * no file left. */
int	report_write(struct report *, struct post *);
/* One more item, zeroed: NULL when there is no memory. */
struct item *report_add_item(struct report *);
/* Opens this file of the report as r->nt: 0, or -1 with errno. */
int	report_open_file(struct report *, unsigned file);
void	report_close_file(struct report *);	/* no file */
FILE	*report_open_form(const struct report *, const char *);	/* or NULL */

#endif
