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
/* Records whether the address answered.  Returns the line with which
 * dead_update_file makes this change in the file, or NULL for no change. */
const char *dead_record(const struct net_addr *, int answered);
/* Makes the change of a line of dead_record in the file at path.  Ignores other
 * lines. */
void	dead_update_file(const char *path, const char *line);

#endif
