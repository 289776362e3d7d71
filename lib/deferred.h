/*
 * deferred.h - mail that could not be routed yet: see deferred.c.
 */
#ifndef DEFERRED_H
#define DEFERRED_H

#define DEFERRED	"deferred"	/* the directory in a post office */
#define DEFERRED_WHY	400	/* bytes of a reason, the NUL included */

struct deferred {
	unsigned long tries;	/* that failed, at least one */
	unsigned long table;	/* the mark of routes for the last */
	long	last, next;	/* seconds since 1970: of the last, of the next
				 * try */
	char	reason[DEFERRED_WHY];	/* of the last */
};

/* The number of a message in router/ and deferred/? */
int	deferred_name(const char *);
/* What is known of office/deferred/NUM: 0, or -1 when nothing is, and it is to
 * be tried at once. */
int	deferred_read(const char *office, const char *num, struct deferred *);
/* What is known, last and next aside, as the last try was just now: 0, or -1
 * with errno. */
int	deferred_write(const char *office, const char *num,
	    const struct deferred *);
/* Nothing is known of it any more: 0, or -1 with errno. */
int	deferred_forget(const char *office, const char *num);
/* The number in a name of a file that says why; NULL: it is none. */
const char *deferred_of(const char *entry, char *num, unsigned long size);

#endif
