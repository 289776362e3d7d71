/*
 * auth.h - passwords for smart hosts: see auth.c.
 */
#ifndef AUTH_H
#define AUTH_H

#include "esmtp.h"

#define AUTH_SIZE	256	/* bytes of a user or a password */

struct auth {
	struct auth *next;	/* the next line for a sender */
	char	key[AUTH_SIZE];	/* the first word: a sender, or a host */
	int	needed;		/* -A is given; 0: there is no login */
	int	found;		/* the file has this line */
	char	how;		/* the last word: 'v' is "verified", 'c' is
				 * "clear", 0 is neither */
	char	user[AUTH_SIZE], password[AUTH_SIZE];
	char	trouble[300];	/* why file or line cannot be used, or "" */
};

/* Reads the line for a host of -R. */
void	auth_read(struct auth *, const char *file, const char *host);
/* Reads the lines for senders, and drops those of an earlier call. */
void	auth_read_senders(const char *file);
/* Returns the line for this sender, or for any sender if address is NULL; NULL
 * if there is none.  A line for the sender goes before that for the host. */
const struct auth *auth_sender(const char *address);
/* Logs in with user and password: 0, or -1 and the connection is over. */
int	auth_login(struct esmtp *, const struct auth *);

#endif
