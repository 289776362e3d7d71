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
	int	found;		/* the file has this line */
	char	user[AUTH_SIZE], password[AUTH_SIZE];
	char	trouble[400];	/* why file or line cannot be used, or "" */
};

/* Reads the line for a host of -R, or sets trouble if the file or the line
 * cannot be used.  If by_program is 1, a program makes the connection, and the
 * line must say "verified". */
void	auth_read_host(struct auth *, const char *file, const char *host,
	    int by_program);
/* Reads the lines for senders, and drops those of an earlier call. */
void	auth_read_senders(const char *file, int by_program);
/* Returns the line for this sender, or for any sender if address is NULL; NULL
 * if the file has no such line.  If not all lines could be read, a sender
 * without a line gets a result that has trouble. */
const struct auth *auth_find_sender(const char *address);
/* Logs in with user and password: 0, or -1 and the connection is over. */
int	auth_login(struct esmtp *, const struct auth *);

#endif
