/*
 * dead.h - remembers addresses that did not answer: see dead.c.
 */
#ifndef DEAD_H
#define DEAD_H

#include "net.h"

/* Reads the file.  A file that cannot be read has no addresses. */
void	dead_read(const char *path);
/* A turn is one walk over the smart hosts; dead_begin_turn begins a turn. */
enum dead_state {
	DEAD_NOT,	/* no failure in the last half an hour */
	DEAD_BEFORE,	/* the last failure was before this turn */
	DEAD_NOW	/* the last failure was in this turn */
};
enum dead_state dead_state(const struct net_addr *);
void	dead_begin_turn(void);
/* Returns the number of addresses in the list, also of those whose time is
 * over. */
int	dead_count(void);
/* Records whether the address answered.  Returns 1 if the file is to be changed
 * by dead_write with line. */
int	dead_record(const struct net_addr *, int answered,
	    char line[NET_NAME + 20]);
/* Writes the change of a line of dead_record to the file at path; ignores other
 * lines. */
void	dead_write(const char *path, const char *line);

#endif
