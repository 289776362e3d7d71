/*
 * dead.h - remembers addresses that did not answer: see dead.c.
 */
#ifndef DEAD_H
#define DEAD_H

#include "net.h"

/* Reads the file.  A file that cannot be read has no addresses. */
void	dead_read(const char *path);
/* DEAD_BEFORE: the last failure, within half an hour, was before the last call
 * of dead_begin_turn; DEAD_NOW: it was after that call. */
enum dead_state { DEAD_NOT, DEAD_BEFORE, DEAD_NOW };
enum dead_state dead_state(const struct net_addr *);
void	dead_begin_turn(void);
/* Returns the number of dead addresses. */
int	dead_count(void);
/* Records that the address did (not) answer.  Returns 1 if that changes the
 * file, and line is for dead_write; else 0. */
int	dead_record(const struct net_addr *, int answered,
	    char line[NET_NAME + 20]);
/* Writes the change of a line of dead_record to the file at path; ignores other
 * lines. */
void	dead_write(const char *path, const char *line);

#endif
