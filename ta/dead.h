/*
 * dead.h - remembers addresses that did not answer: see dead.c.
 */
#ifndef DEAD_H
#define DEAD_H

#include "net.h"

/* Reads the file.  A file that cannot be read has no addresses. */
void	dead_read(const char *path);
/* Returns 1 if the address failed within the last half an hour. */
int	dead_is_listed(const struct net_addr *);
/* Records whether the address answered.  Returns 1 if the file is to be changed
 * by dead_write with line. */
int	dead_record(const struct net_addr *, int answered,
	    char line[NET_NAME + 20]);
/* Makes the change that a line from dead_record describes, in the file at path;
 * ignores other lines. */
void	dead_write(const char *path, const char *line);

#endif
