/*
 * via.h - runs a program that makes the connection: see via.c.
 */
#ifndef VIA_H
#define VIA_H

#include "net.h"

/* A program that makes connections. */
struct via {
	pid_t	pid;		/* 0: the program does not run */
	int	err;		/* our end of the program's standard error */
};

/* Returns what is wrong with the command, or NULL. */
const char *via_find_error(const char *command);
/* Returns the program or option in the command that leaves certificates
 * unverified; NULL if there is none, or if the command also contains the
 * options that make the program verify them. */
const char *via_find_unverifying(const char *command);
/* Returns the program of the command if execvp would not find it, else NULL. */
const char *via_find_missing(const char *command);
/* Returns 1 if the program needs the connection as descriptor 3. */
int	via_wants_socket(const char *command);
/* Returns 1 if the program reads the server's greeting itself. */
int	via_takes_greeting(const char *command);

/* Starts the program for this server; sock is the connection for it, or -1.
 * fd[0] reads its output, fd[1] writes its input; neither blocks.  0, or -1
 * with errno and the struct unchanged. */
int	via_open(struct via *, const char *command, const struct net_addr *,
	    int sock, int fd[2]);
/* Waits for the end of the program, whose pipes the caller has closed, and
 * kills a program that takes too long.  Sets why to the best line of its
 * standard error, or to how the program ended. */
void	via_close(struct via *, char *why, size_t);

#endif
