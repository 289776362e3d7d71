/*
 * auth.h - passwords for smart hosts: see auth.c.
 */
#ifndef AUTH_H
#define AUTH_H

#include "esmtp.h"

#define AUTH_SIZE	256	/* bytes of a user or a password */

struct auth {
	int	found;		/* there is a line, or trouble */
	char	how;		/* its last word: 'v'erified, 'c'lear; or 0 */
	char	user[AUTH_SIZE], password[AUTH_SIZE];
	char	trouble[300];	/* why the file cannot be used, or "" */
};

/* Reads the line for a host of -R. */
void	auth_read(struct auth *, const char *file, const char *host);
/* Gives it to the server: 0, or -1 and the connection is over. */
int	auth_login(struct esmtp *, const struct auth *);

#endif
