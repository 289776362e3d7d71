/*
 * util.h - functions that every program here shares, and substitutes for names
 * that some systems lack.
 *
 * Text, log, clocks, memory, lines, a heap and a hash table.  Only the log,
 * which can mask addresses, knows about mail.  Switches (-DNO_...) are listed
 * in Makefile.
 */
#ifndef UTIL_H
#define UTIL_H

/* No _POSIX_C_SOURCE: with it, several systems hide functions that we need. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#ifndef _BSD_SOURCE
#define _BSD_SOURCE 1
#endif

#include <sys/types.h>
#include <sys/stat.h>
#include <sys/time.h>
#ifndef NO_SELECT_H
#include <sys/select.h>
#endif
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define VERSION	"0.2"	/* of every program */
#ifdef BOX		/* the name that main() has in box.c */
#define main BOX
int	main(int, char **);
#endif
#define PATH_MAX_	1024	/* bytes of a path that we build, with NUL */

#ifdef NO_SYMLINK
#define lstat stat
#endif
#ifndef O_NOFOLLOW
#define O_NOFOLLOW 0
#endif
/* Nanoseconds in stat: the BSDs have st_mtimensec.  POSIX of 2008 has st_mtim,
 * and st_mtime is a macro there. */
#if !defined(st_mtimensec) && \
    !(defined(st_mtime) && _POSIX_VERSION >= 200809L) && !defined(NO_ST_MTIM)
#define NO_ST_MTIM
#endif

#ifdef NO_FSYNC
#define fd_sync(fd) ((void)(fd), sync(), 0)
#else
#define fd_sync fsync	/* writes data to the disk: 0 or -1 */
#endif

#ifdef NO_MKFIFO
#define mkfifo(path, mode) mknod(path, S_IFIFO | (mode), 0)
#endif

#ifdef __GNUC__
#define LIKE_PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define LIKE_PRINTF(f, a)
#endif

/* The exit codes of <sysexits.h>, a file that not every system has. */
#define X_USAGE		64
#define X_DATAERR	65
#define X_NOINPUT	66
#define X_NOUSER	67
#define X_NOHOST	68
#define X_UNAVAILABLE	69
#define X_SOFTWARE	70
#define X_OSERR		71
#define X_OSFILE	72
#define X_CANTCREAT	73
#define X_IOERR		74
#define X_TEMPFAIL	75
#define X_PROTOCOL	76
#define X_NOPERM	77
#define X_CONFIG	78

/* The struct that holds member m, given a pointer to that member. */
#define OWNER(type, m, p) ((type *)(void *)((char *)(p) - offsetof(type, m)))

/* ---- text: a bounded buffer, always terminated ----------------------- */

struct text {
	char	*s;		/* caller's memory */
	size_t	len;		/* bytes used, without the final NUL */
	size_t	size;		/* bytes of the memory at s */
	int	cut;		/* a part of the text did not fit */
	int	clean;		/* 1: in %s and text_put, control and 8-bit
				 * bytes and backslashes become \ooo; 2: blanks,
				 * too */
};

void	text_init(struct text *, char *, size_t);
void	text_put(struct text *, const char *, size_t);
/* Conversions: %s %c %d %u %ld %lu %%.  A number may have a width, as in %4d;
 * one that is never negative may have zeros in front, as in %04d.  %s may have
 * a precision, as digits or '*'.  With '-', each conversion may have a width
 * and is aligned to the left, and %s adds bytes without escapes. */
void	text_add(struct text *, const char *, ...) LIKE_PRINTF(2, 3);
void	text_vadd(struct text *, const char *, va_list);
/* Formats like snprintf, which old systems lack: 0, or -1 if the text is cut.
 */
int	text_fmt(char *, size_t, const char *, ...) LIKE_PRINTF(3, 4);

void	text_lower(char *);	/* makes ASCII letters small */
/* Returns the byte that the escape \ooo at s stands for; 0 if s begins with no
 * escape. */
int	text_escaped_byte(const char *s);
/* Replaces the escapes by their bytes, in place. */
void	text_unescape(char *);
/* Cuts a line at its TABs into n fields; the last field has the rest of the
 * line.  0, or -1 if the line has fewer fields. */
int	text_split_tabs(char *line, char **field, int n);

/* ---- numbers and spans of time --------------------------------------- */

/* Returns the value of the leading decimal digits of s, 0 if there are none.  A
 * value that does not fit into an unsigned long loses its high bits, which is
 * no error: programs whose unsigned long has the same size get the same number
 * for the same digits.  Sets the second argument, unless it is NULL, to the
 * first byte after the digits. */
unsigned long num_of(const char *, const char **);
/* Reads a number from 0 to max: 0, or -1 if s begins with no digit, the number
 * is larger, or the last argument is NULL and something follows the digits. */
int	num_upto(const char *s, unsigned long max, unsigned long *,
	    const char **);
/* Reads a span such as 1h5m20s or 90 (seconds): 0, or -1 if the text is no span
 * or a long cannot hold it. */
int	span_parse(const char *, long *);
/* Adds a span in at most n units, from the largest down: 4d23h, 1h5m or 20s if
 * n is 2; with 4, all units. */
void	span_add(struct text *, long, int n);

/* ---- log: one event a line, key=value, free text last ---------------- */

enum { L_ERR, L_WARN, L_INFO, L_DEBUG };

struct logs {
	int	level;		/* lines of a higher level are not written */
	int	masks;		/* 1: each word with an @ is written as @ */
	int	copy;		/* a descriptor that gets each line, too, unless
				 * the write would block; -1: none */
};

extern struct logs logs;	/* set by the program */

/* Opens the log: 0, or -1.  A later call opens the file that has the name by
 * then. */
int	log_open(const char *path);
void	log_flush(void);		/* writes the lines in the buffer */
void	log_err(const char *, ...) LIKE_PRINTF(1, 2);
void	log_warn(const char *, ...) LIKE_PRINTF(1, 2);
void	log_info(const char *, ...) LIKE_PRINTF(1, 2);
void	log_debug(const char *, ...) LIKE_PRINTF(1, 2);

/* ---- clocks ---------------------------------------------------------- */

/*
 * mono drives every timer and never jumps; wall is for stamps and alignment
 * only.  A loop reads both once per pass.  Never subtract one from the
 * other.
 */
#define SANE_WALL	1767225600L	/* 2026-01-01: an earlier time means a
					 * clock that is not set */

struct clocks {
	double	mono;		/* seconds since the first clock_read; a sleep
				 * of the machine counts as an hour at most */
	double	up;		/* seconds since a fixed moment, such as boot; a
				 * sleep counts whole or not at all, as the
				 * system has it */
	time_t	wall;		/* seconds since 1970, as far as known */
};

extern struct clocks now;

#define NOW	((long)now.mono)	/* mono in whole seconds */

/* Reads both clocks; logs a step of the wall clock. */
void	clock_read(void);

/* ---- environment, memory, chance, descriptors ------------------------ */

/* Returns the value of a variable of the environment; usual if the variable is
 * missing or empty. */
const char *env_get(const char *name, const char *usual);

void	*mem_get(size_t);	/* zeroed memory; NULL with a log line */
char	*mem_dup(const char *);	/* a copy; NULL with a log line */
/* Makes room for one element behind the first n of the array *v, which has
 * memory for *room elements: 0, or -1 with a log line. */
int	mem_grow(void **v, unsigned n, unsigned *room, size_t size);
void	rnd_seed(unsigned long);
unsigned long rnd(unsigned long n);	/* 0 to n-1; 0 if n is 0 */

/* Adds a descriptor to a set for select, and raises max, the largest one in the
 * set.  Does nothing for -1, nor for one that is too large for select. */
void	fd_watch(int fd, fd_set *, int *max);
int	fd_cloexec(int fd);	/* 0 or -1 */
int	fd_nonblock(int fd);	/* does fd_cloexec, too: 0 or -1 */
/* Makes /dev/null the descriptors 0, 1 and 2: 0 or -1. */
int	stdio_to_null(void);
/* 1 if two struct stat are those of one file. */
#define is_same_file(a, b) \
	((a)->st_ino == (b)->st_ino && (a)->st_dev == (b)->st_dev)
/* Opens a regular file, never through a link, and stores its status in st,
 * unless st is NULL.  Returns a descriptor, or -1 with errno; EINVAL means that
 * the file is not regular. */
int	fd_open_plain(const char *path, int flags, struct stat *st);
/* Opens a file of our own in a directory of ours, or makes it with O_CREAT:
 * regular, no link, one name, owned by root or us.  Returns a descriptor, or -1
 * with errno; EPERM means that the file is of another kind.  fd_open_own_error
 * returns that errno in words. */
int	fd_open_own(const char *path, int flags, int mode);
const char *fd_open_own_error(void);
/* Replaces the file dir/NAME: print writes to dir/.NAME.new (NAME.new if NAME
 * begins with a dot), which is synced and renamed.  0, or -1 with errno and the
 * old file in place; EAGAIN means that another process replaces it now. */
int	fd_replace(const char *path, void (*print)(FILE *));
/* Opens a file that the administrator has named, for appending, or makes it.
 * A file must be root's or ours with one name, or a device such as a terminal.
 * A link must be root's or ours, and is followed wherever it leads.  Sets *to
 * to the descriptor, and closes the former *to unless that is 0, 1 or 2.  If
 * *to is above 2 and has this file open, does nothing.  0; or -1 with errno as
 * in fd_open_own, and *to unchanged. */
int	fd_append(int *to, const char *path);
int	fd_write(int fd, const char *, size_t);	/* all bytes: 0, or -1 */
/* Locks the byte at this offset, or the whole file if the offset is 0, by
 * fcntl, without waiting.  F_SETLK: 0, or -1 with errno.  F_GETLK: the process
 * whose lock prevents this one, 0 for none; or -1, also if that process runs
 * in another container and has no number here. */
long	fd_lock_at(int fd, int how, int type, long at);
#define fd_lock(fd) fd_lock_at(fd, F_SETLK, F_WRLCK, 0)
int	file_sync(FILE *);	/* flushes and syncs: 0, or -1 with errno */

/* ---- lines of a file -------------------------------------------------- */

#define LINE_MAX_	8192	/* bytes of a line that are kept */

/* lines: a file while it is read line by line, through one buffer.  A line
 * stays in the buffer, its newline replaced by a NUL, until the next call. */
struct lines {
	int	fd;		/* the caller opens and closes it */
	int	error;		/* errno of a read that failed, or 0 */
	unsigned long pos;	/* file offset of the end of buf */
	unsigned long size;	/* bytes of the file, 0: unknown; a caller that
				 * sets this after line_start saves a read */
	int	fresh;		/* set by a caller that knows the descriptor to
				 * be at pos: the next read does no lseek, which
				 * saves 5 % of the time to load a message */
	unsigned long off;	/* file offset of line */
	size_t	have, used;	/* bytes in buf, bytes of it consumed */
	size_t	len;		/* bytes in line, without its newline */
	int	overlong;	/* the line was longer and is cut */
	int	unended;	/* the line is the last and has no newline */
	char	*line;		/* in buf */
	char	*end;		/* the NUL that was a newline, or NULL */
	char	buf[LINE_MAX_];
};

void	line_start(struct lines *, int fd, unsigned long off);
/* Continues at off, without a read if the buffer holds it.  Changes that the
 * caller made to earlier lines in the buffer remain there. */
void	line_at(struct lines *, unsigned long off);
/* Returns 1 and sets line to the next line; or 0 at the end or on an error. */
int	line_next(struct lines *);

/* ---- lists ------------------------------------------------------------ */

/*
 * A list is linked through two members of its objects; prv of the first is the
 * last.  PREPEND makes o the first, APPEND the last; INSERT puts o before at,
 * or behind the last if at is NULL; REMOVE unlinks o.
 */
#define INSERT(first, o, at, nxt, prv) \
	do { \
		(o)->nxt = (at); \
		(o)->prv = (o); \
		if ((first) != NULL) \
			(o)->prv = ((o)->nxt == NULL ? (first) : (at))->prv; \
		if ((o)->nxt == (first)) \
			(first) = (o); \
		else \
			(o)->prv->nxt = (o); \
		((o)->nxt != NULL ? (o)->nxt : (first))->prv = (o); \
	} while (0)
#define PREPEND(first, o, nxt, prv) INSERT(first, o, first, nxt, prv)
#define APPEND(first, o, nxt, prv) INSERT(first, o, NULL, nxt, prv)
#define REMOVE(first, o, nxt, prv) \
	do { \
		if ((o)->nxt != NULL) \
			(o)->nxt->prv = (o)->prv; \
		else \
			(first)->prv = (o)->prv; \
		if ((first) == (o)) \
			(first) = (o)->nxt; \
		else \
			(o)->prv->nxt = (o)->nxt; \
	} while (0)

/* ---- heap: timers by due time.  All operations O(log n) -------------- */

struct timer {
	unsigned pos;		/* index in the heap + 1; 0: in no heap */
};

struct heap {
	struct slot {
		double	when;	/* due time, the smallest first; kept here and
				 * not in the timer, as it is compared often */
		struct timer *timer;
	} *v;
	unsigned n, size;
};

/* Makes room for one timer more than n: 0, or -1 without memory. */
#define heap_reserve(h, n) \
	mem_grow((void **)&(h)->v, n, &(h)->size, sizeof(*(h)->v))
/* Adds the timer to the heap, or moves it to another due time. */
void	heap_set(struct heap *, struct timer *, double when);
/* Removes the timer, if it is in the heap. */
void	heap_del(struct heap *, struct timer *);
/* The timer that is due first, or NULL. */
#define heap_first(h)	((h)->n > 0 ? (h)->v[0].timer : NULL)
/* The due time of a timer in the heap. */
#define heap_when(h, t) ((h)->v[(t)->pos - 1].when)
/* Returns the seconds until the first timer is due, an hour at most. */
double	heap_wait_seconds(const struct heap *);

/* ---- users ----------------------------------------------------------- */

/* Returns 1 if a failure with this errno may pass by itself.  EACCES counts, as
 * some C libraries set it when users cannot be looked up now. */
int	is_transient(int err);
/* Leaves all supplementary groups, before setgid(gid): 0, or -1 with errno. */
#ifdef NO_INITGROUPS
#define groups_leave(gid) ((void)(gid), 0)
#else
int	groups_leave(gid_t gid);
#endif
#ifndef NO_PWD
/* Returns the user with this name, or with this uid if name is NULL.  NULL with
 * errno 0 means that there is no such user; with another errno, that the users
 * cannot be looked up now. */
struct passwd *user_find(const char *name, long uid);
#endif

/* ---- hash: chained, doubled at one entry a chain.  Expected O(1) ------ */

struct hlink {
	struct hlink *next;
	unsigned long hash;
};

struct hash {			/* an empty table is all zeros */
	struct hlink **v;	/* chains, or NULL */
	struct hlink *one;	/* the only chain, if v is NULL */
	unsigned mask;		/* number of chains, a power of 2, minus 1 */
	unsigned n;		/* entries */
};

/* Returns the address of the pointer to the first entry of a chain.  The second
 * argument is a hash value that belongs to the chain, or the index of the chain
 * in v. */
struct hlink **hash_chain(struct hash *, unsigned long);
void	hash_add(struct hash *, struct hlink *, unsigned long hash);
void	hash_del(struct hash *, struct hlink *);
/* Return the first and the next entry with this hash value; the caller compares
 * keys. */
struct hlink *hash_first(struct hash *, unsigned long hash);
struct hlink *hash_next(const struct hlink *);
/* Returns the first entry of the table (for NULL) or the one behind the given
 * entry; NULL at the end.  No entry may be added or removed in between. */
struct hlink *hash_each(struct hash *, const struct hlink *);
unsigned hash_text(const char *, unsigned seed);

#endif
