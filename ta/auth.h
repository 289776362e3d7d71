/*
 * auth.h - passwords for smart hosts: see auth.c.
 */
#ifndef AUTH_H
#define AUTH_H

#include "esmtp.h"

#define AUTH_SIZE	256	/* bytes of a user or a password */

struct auth {
	struct auth *next;	/* of those for senders */
	char	key[AUTH_SIZE];	/* the first word: a sender, or a host */
	int	named;		/* there is a file */
	int	found;		/* there is a line, or trouble */
	char	how;		/* its last word: 'v'erified, 'c'lear; or 0 */
	char	user[AUTH_SIZE], password[AUTH_SIZE];
	char	trouble[300];	/* why the file cannot be used, or "" */
};

/* Reads the line for a host of -R. */
void	auth_read(struct auth *, const char *file, const char *host);
/* Reads the lines for senders, in the place of those of an earlier call. */
void	auth_read_senders(const char *file);
/* The line for this sender, which goes before that of the host, or NULL; the
 * first one for NULL. */
const struct auth *auth_sender(const char *address);
/* Gives it to the server: 0, or -1 and the connection is over. */
int	auth_login(struct esmtp *, const struct auth *);

#endif
