/*
 * via.h - runs a program that makes the connection: see via.c.
 */
#ifndef VIA_H
#define VIA_H

#include "net.h"

/* A program that runs, or pid 0. */
struct via {
	pid_t	pid;
	int	err;		/* its standard error */
};

/* What is wrong with a command for any host, or NULL. */
const char *via_error(const char *command);
/* Its option that makes it accept any certificate, or NULL. */
const char *via_unsafe_option(const char *command);
/* Its program if PATH has none of that name; or NULL. */
const char *via_missing_program(const char *command);
/* Does it want the connection as descriptor 3? */
int	via_wants_socket(const char *command);
/* Does it take the server's greeting for itself? */
int	via_takes_greeting(const char *command);

/* Starts the program for this server; sock is the connection for it, or -1.
 * fd[0] reads its output, fd[1] writes its input; neither blocks.  0, or -1
 * with errno. */
int	via_open(struct via *, const char *command, const struct net_addr *,
	    int sock, int fd[2]);
/* Waits for its end, after its pipes were closed, and kills it if it takes too
 * long.  why gets its reason, if it had one. */
void	via_close(struct via *, char *why, size_t);

#endif
