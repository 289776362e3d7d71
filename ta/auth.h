/*
 * auth.h - passwords for smart hosts: see auth.c.
 */
#ifndef AUTH_H
#define AUTH_H

#include "esmtp.h"

#define AUTH_SIZE	256	/* bytes of a user or a password, with NUL */

struct auth {
	struct auth *next;	/* the next line for a sender */
	char	key[AUTH_SIZE];	/* the first word: a sender, or a host */
	int	found;		/* 1: the file has this line */
	char	user[AUTH_SIZE], password[AUTH_SIZE];
	char	trouble[400];	/* why file or line cannot be used, or "" */
};

/* Reads the line for a host of -R, or sets trouble if the file or the line
 * cannot be used.  by_program: a program makes the connection, for which the
 * line has to say "verified". */
void	auth_read(struct auth *, const char *file, const char *host,
	    int by_program);
/* Reads the lines for senders, and drops those of an earlier call. */
void	auth_read_senders(const char *file, int by_program);
/* Returns the line for this sender, or for any sender if address is NULL; NULL
 * if there is none.  It is used instead of the line for the host.  If
 * not all lines could be read, the result for a sender without a line is one
 * that has trouble. */
const struct auth *auth_sender(const char *address);
/* Logs in with user and password: 0, or -1 and the connection is over. */
int	auth_login(struct esmtp *, const struct auth *);

#endif
