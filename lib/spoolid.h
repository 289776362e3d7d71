/*
 * spoolid.h - names of messages, and their spool ids: see spoolid.c.
 */
#ifndef SPOOLID_H
#define SPOOLID_H

#include "util.h"

#define STARTS_FILE	".starts"	/* in the post office: how often a
				 * scheduler began without a clock */
#define NAME_MAX_	64	/* bytes in "X/Y/NAME", the NUL included */

/* X/Y/123-45 without its directories. */
const char *name_base(const char *name);
unsigned long name_num(const char *name);	/* 123 */
/* May that be the base of a name: a digit first, no slash, not too long? */
int	name_usable(const char *base);
/* The base when all of it may be a name, at most two directories included;
 * else NULL: it leads elsewhere. */
const char *name_in(const char *);

/* ZMailer's name for the message queue/name, seen from transport/: 0 or -1.
 * Where no clock was set ".START" follows. */
int	spool_id(const char *name, char *id, size_t size);
/* The same of the message file at path. */
int	spool_id_of(const char *path, const char *name, char *id,
	    size_t size);

/* The time of a message file, where it is kept: s is wall, 0: there was no
 * clock, or it is not known. */
struct spool_time {
	unsigned s, ns;
};

void	spool_time(const struct stat *, struct spool_time *);
/* The same of a message with that time: -1 when that is not known, for the
 * others to find out. */
int	spool_id_at(const char *name, const struct spool_time *, char *id,
	    size_t size);

#endif
