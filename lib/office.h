/*
 * office.h - a post office seen from outside: see office.c.
 */
#ifndef OFFICE_H
#define OFFICE_H

#include "util.h"

#define STARTS_FILE	".starts"	/* in the post office: how often a
				 * scheduler began without a clock */
#define BOUNCE_MARK	".bounce-"	/* behind a double bounce's name in
				 * postman/: then 0 and an hour */
#define BOUNCE_NEW	BOUNCE_MARK "0-0"	/* submit -q writes the hour */
#define SUBMIT_MARK	".submit:"	/* before its name in transport/: a
					 * control file that submit writes */
#define NAME_MAX_	64	/* bytes in "X/Y/NAME", the NUL included */

/* X/Y/123-45 without its directories. */
const char *name_base(const char *name);
unsigned long name_num(const char *name);	/* 123 */
/* name_base of the text if that may be one, a digit first and not too long, and
 * at most two hash directories are in front; else NULL, as the path could lead
 * elsewhere. */
const char *name_parse(const char *);

/* Hash directories by number: 0 is the top, then 26 of one letter, then 676 of
 * two: "", "A/" or "A/B/", good until the next call. */
#define OFFICE_DIRS	(1 + 26 + 26 * 26)
#define OFFICE_LEVELS	3	/* 0 to 2 letters */
const char *office_dir(int i);
/* Where the base of a name is hashed to. */
int	office_hash(const char *base, int level);
/* The time of a message file: s in seconds since 1970, 0 if the clock was not
 * set or the time is unknown; ns in nanoseconds. */
struct spool_time {
	unsigned s, ns;
};

void	spool_time(const struct stat *, struct spool_time *);
/* ZMailer's spool id of the message: 0, or -1.  If the time is NULL or unknown,
 * it is that of the message file at path; NULL means ../queue/NAME.  If the
 * clock was not set, ".START" follows. */
int	spool_id(const char *name, const struct spool_time *, const char *path,
	    char *id, size_t size);

#define MAILNAME_MOST	253	/* bytes of a name */
#define MAILNAME_SIZE	(MAILNAME_MOST + 1)	/* the NUL included */

/* The name of this host, good until the next call.  dir is the directory of the
 * file mailname, which sets errno if it cannot be read; NULL means $MAILSHARE.
 * mailname_given: the name that the environment or the file gives, or NULL. */
const char *mailname(const char *dir);
const char *mailname_given(const char *dir);
int	mailname_is_empty(const char *dir);	/* a file without a word */
int	mailname_is_valid(const char *);	/* Can a host have this name? */

/* The seconds from a time stamp of a file until now.wall; -1: not known, as the
 * clock is not set, or was not when the file was written. */
long	file_age(long stamp);

#endif
