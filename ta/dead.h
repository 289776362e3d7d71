/*
 * dead.h - remembers addresses that did not answer: see dead.c.
 */
#ifndef DEAD_H
#define DEAD_H

#include "net.h"

/* Reads the file.  One that is not there, or no such file, knows none. */
void	dead_read(const char *path);
enum dead_state { DEAD_NOT, DEAD_BEFORE, DEAD_NOW };
/* Did it not answer of late, before dead_begin_turn was called or since? */
enum dead_state dead_state(const struct net_addr *);
void	dead_begin_turn(void);
/* How many there are. */
int	dead_count(void);
/* It did (not) answer: 1 when that is worth a line, for dead_write; else 0. */
int	dead_record(const struct net_addr *, int answered,
	    char line[NET_NAME + 20]);
/* Writes such a line to the file at path; other lines are ignored. */
void	dead_write(const char *path, const char *line);

#endif
