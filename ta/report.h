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
	unsigned long off;	/* offset of the recipient's line */
	unsigned long at;	/* offset of the diagnostic line */
	unsigned long why;	/* offset of an earlier diagnostic line with the
				 * reason; or 0 */
	const struct lib_rcpt *rcpt;	/* for the function say */
	unsigned long delays[2];	/* the delay field before and after
					 * its DSN */
};

struct report {
	const char *const *files;	/* control files; nfiles of them */
	unsigned nfiles;
	struct item *items;	/* n of them, room for size */
	unsigned n, size;
	char	sender[WORD_MAX_];	/* "": the form's addresses alone */
	long	hdr;		/* offset of the header in the only file, -1:
				 * none */
	const char *name;	/* of this machine */
	const char *forms;	/* directory */
	long	most;		/* bytes of a message that are returned */
	/* Sets fields and text of an item that has no diagnostic line; NULL in
	 * dsn. */
	void	(*say)(struct report *, const struct item *);
	int	ctl;		/* with say: the open control file */
	const char *form;	/* name of the form, NULL: that of the action */
	const char *subject;	/* NULL: made from the actions */
	/* Members below are set and used by report.c. */
	struct diags nt;
	struct head head;
	struct origin origin;	/* set by origin_find */
	unsigned at;		/* index of the open file + 1; 0: none */
	int	has_form;
	const char *text;	/* text of the current item */
	char	full[REASON_ALL];	/* text and reason of two lines */
};

/* Sets up an agent that writes DSNs: name is this machine's, NULL the mailname;
 * router the router's socket, "" none.  After this call the process can open
 * only the forms, the post office, which is the working directory's parent, and
 * the socket, where the system can enforce that.  0, or -1 with errno. */
int	report_begin(struct report *, const char *name, const char *router);
/* Writes the DSN into private/ and syncs it, for post_send: 0, or -1 with errno
 * and no file left. */
int	report_write(struct report *, struct post *);
/* Returns a new item, zeroed, or NULL if there is no memory. */
struct item *report_add_item(struct report *);
/* Opens the file with this index as r->nt, unless it is open: 0, or -1 with
 * errno. */
int	report_open_file(struct report *, unsigned file);
void	report_close_file(struct report *);
/* Opens the form with this name, or returns NULL. */
FILE	*report_open_form(const struct report *, const char *);

#endif
