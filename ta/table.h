/*
 * table.h - reads the table of programs of sm: see table.c.
 */
#ifndef TABLE_H
#define TABLE_H

#include "../lib/util.h"

#define TABLE_WORDS	60	/* words that a program can be given */

/* One line of the table. */
struct mailer {
	const char *name, *flags, *path;
	char	uucp[64];	/* our name in UUCP; "": the file has none, and
				 * the name comes from mailname() */
	int	nwords;
	const char *words[TABLE_WORDS];	/* argv[0], then the arguments */
	char	mem[LINE_MAX_];		/* memory of all these words */
};

/* Reads the line of the name in this file: 0, or -1 with the reason in why. */
int	table_find(struct mailer *, const char *file, const char *name,
	    char *why, size_t size);

#endif
