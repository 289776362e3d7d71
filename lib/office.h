/*
 * office.h - a post office seen from outside: see office.c.
 */
#ifndef OFFICE_H
#define OFFICE_H

#include "util.h"

/* The file in the post office with the number of starts of the scheduler on a
 * machine without a clock. */
#define STARTS_FILE	".starts"
/* The mark behind the name of a double bounce in postman/: NAME.bounce-0-HOUR.
 * A new double bounce has the mark BOUNCE_NEW, with 0 for HOUR.  The next round
 * of tidying by submit -q replaces the second 0 by the hour of tidy time, which
 * sub/tidy.c describes.  Only in marks of older versions is the first number
 * not 0. */
#define BOUNCE_MARK	".bounce-"
#define BOUNCE_NEW	BOUNCE_MARK "0-0"
/* In transport/, the beginning of the name of a control file that submit has
 * not finished. */
#define SUBMIT_MARK	".submit:"
#define NAME_MAX_	64	/* bytes of "X/Y/NAME", the NUL included */

/* Returns X/Y/123-45 without its directories. */
const char *name_base(const char *name);
#define name_num(name)	num_of(name_base(name), NULL)	/* 123 of X/Y/123-45 */
/* Returns the name_base of the text if the text is a name: a digit first, not
 * too long, behind at most two hash directories.  Else returns NULL, as the
 * path could lead elsewhere. */
const char *name_parse(const char *);

#define OFFICE_DIRS	(1 + 26 + 26 * 26)
#define OFFICE_LEVELS	3	/* hash directories of no, one or two letters */
/* Returns the hash directory with this number: "" for 0, then 26 like "A/",
 * then 676 like "A/B/".  The text is good until the next call. */
const char *office_hash_dir(int i);
/* Returns the number of the hash directory of a name at this level, 0 to 2. */
int	office_hash_index(const char *base, int level);

/* The time of a message file. */
struct spool_time {
	unsigned s;		/* seconds since 1970; 0: not known, or the
				 * clock was not set */
	unsigned ns;		/* nanoseconds */
};

/* Sets the time from the status of the message file. */
void	spool_time(const struct stat *, struct spool_time *);
/* Sets id to ZMailer's spool id of the message: 0, or -1.  A time that is NULL
 * or not known is taken from the message file at path, ../queue/NAME if path is
 * NULL.  If the clock was not set, a dot and the number of starts follow. */
int	spool_id(const char *name, const struct spool_time *, const char *path,
	    char *id, size_t size);

/* Reads the next NAME=value of a file such as zmailer.conf into line, without
 * quotes around the value and blanks behind it, and returns where NAME begins.
 * Returns NULL at the end, with *at 0, and for a line of another form, with the
 * number of that line in *at.  *at counts the lines; the caller sets *at to 0
 * before the first call. */
#define OFFICE_LINE	2048	/* bytes in a line */
char	*office_next_var(FILE *, char line[OFFICE_LINE], unsigned *at);

#define OFFICE_BULK	"bulk"	/* directory of mail with a low Precedence */

#define MAILNAME_MOST	253	/* bytes of a name */
#define MAILNAME_SIZE	(MAILNAME_MOST + 1)	/* the NUL included */

/* Returns the name of this host, good until the next call.  dir is the
 * directory of the file mailname, $MAILSHARE if NULL. */
const char *mailname(const char *dir);
/* Returns where the name of this host comes from.  MAILNAME_GIVEN: the
 * environment or the file; MAILNAME_EMPTY: the system, as the first line of the
 * file has no word; MAILNAME_SYSTEM: the system, as the file is missing or
 * wrong. */
enum mailname_source { MAILNAME_GIVEN, MAILNAME_EMPTY, MAILNAME_SYSTEM };
enum mailname_source mailname_find_source(const char *dir);
int	mailname_is_valid(const char *);	/* 1: a good name */

/* Returns the seconds from a time stamp of a file until now.wall; -1 if the
 * clock is not set, or was not when the file was written. */
long	file_age(long stamp);

#endif
