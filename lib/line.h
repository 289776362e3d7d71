/*
 * line.h - the lines of a control file, for the scheduler and its agents.
 */
#ifndef LINE_H
#define LINE_H

#include "util.h"

#define LINE_MAX_	8192	/* bytes of a line that are kept */
#define CONTROL_MAX	(64L * 1024 * 1024)	/* bytes in a control file */

/* lines: a file while it is read line by line, through one buffer.  A line is
 * in the buffer, a NUL for its newline, until the next call. */
struct lines {
	int	fd;		/* the caller's */
	int	error;		/* errno of a read that failed, or 0 */
	unsigned long pos;	/* file offset of the end of buf */
	unsigned long size;	/* bytes in the file, set behind line_start to
				 * spare asking for its end; or 0 */
	int	fresh;		/* the descriptor stands at pos */
	unsigned long off;	/* file offset of line */
	size_t	have, used;	/* bytes in buf, bytes of it consumed */
	size_t	len;		/* bytes in line, without its newline */
	int	overlong;	/* line was longer and is cut */
	int	unended;	/* line is the last and has no newline */
	char	*line;		/* in buf */
	char	*end;		/* the NUL that was a newline, or NULL */
	char	buf[LINE_MAX_];
};

void	line_start(struct lines *, int fd, unsigned long off);
/* From off on; where the buffer has it, nothing is read.  What the caller has
 * changed in earlier lines stays changed. */
void	line_at(struct lines *, unsigned long off);
/* The next line, NUL for its newline: 1, or 0 at the end or on an error. */
int	line_next(struct lines *);
/* The bytes at off, n of them or more, which is also where the next line
 * begins: NULL when the file has no such bytes. */
const char *line_peek(struct lines *, unsigned long off, size_t n);

/* The end of the word at s: a blank outside quotes and, for a list of hosts,
 * outside parentheses; a backslash takes the next byte along. */
const char *line_word(const char *s);

/* Has a recipient line with this tag and this text behind it room for the
 * process number of a lock? */
int	line_has_pid(int tag, const char *field);
/* The process number in the six bytes of a lock; 0: none. */
long	line_pid(const char *field);
/* Sets (how F_SETLK) or asks for (F_GETLK) the fcntl lock of this type that a
 * process has on the file: byte CONTROL_MAX + pid, behind all that a control
 * file can have.  0, or -1 with errno. */
int	line_flock(int fd, int how, int type, long pid, struct flock *);
/* Has that process its lock?  1 yes, 0 no, -1 nobody can know, as there are no
 * locks or another's is in its place. */
int	line_held(int fd, long pid);
/* ZMailer's name for the message queue/name, seen from transport/: 0 or -1. */
int	spool_id(const char *name, char *id, size_t size);
/* The same of the message file at path. */
int	spool_id_of(const char *path, const char *name, char *id,
	    size_t size);

/* Does the file end in the middle of a line, as a crash may leave it? */
int	line_cut(int fd);

#endif
