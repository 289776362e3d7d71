/*
 * via.h - a program that makes the connection: see via.c.
 */
#ifndef VIA_H
#define VIA_H

#include "net.h"

/* A program that runs, or pid 0. */
struct via {
	pid_t	pid;
	int	err;		/* its standard error */
};

/* What is wrong with a command whatever the host, or NULL. */
const char *via_check(const char *command);
/* The part of it that is known to accept any certificate, or NULL. */
const char *via_unsafe(const char *command);
/* Its program, when there is none of that name in PATH; or NULL. */
const char *via_missing(const char *command);
/* Does it want the connection as descriptor 3? */
int	via_wants_socket(const char *command);
/* Does it take the server's greeting for itself? */
int	via_takes_greeting(const char *command);

/* Starts it for this server; sock is the connection that it wants, or -1.
 * What it says is read from fd[0], what it is told written to fd[1]; neither
 * blocks.  0, or -1 with errno. */
int	via_open(struct via *, const char *command, const struct net_addr *,
	    int sock, int fd[2]);
/* Waits for its end, and makes it end when it takes long.  Its pipes are
 * closed by then.  why gets its reason, if it had one. */
void	via_close(struct via *, char *why, size_t);

#endif
