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
	char	uucp[64];	/* our name there, "": that of mail */
	int	nwords;
	const char *words[TABLE_WORDS];	/* its own name, then its arguments */
	char	mem[LINE_MAX_];		/* where all these are */
};

/* Looks the name up in this file: 0, or -1 with the reason in why. */
int	table_find(struct mailer *, const char *file, const char *name,
	    char *why, size_t size);

#endif
