/*
 * deferred.h - mail beside the queue, for submit -q and mailq: see deferred.c.
 */
#ifndef DEFERRED_H
#define DEFERRED_H

#define DEFERRED	"deferred"	/* the directory in a post office */
#define DEFERRED_WHY	400	/* bytes of a reason, the NUL included */

struct deferred {
	unsigned long tries;	/* failed tries, at least one */
	unsigned long table;	/* mark of the table at the last try */
	long	last, next;	/* of the last and of the next try, seconds
				 * since 1970 */
	char	reason[DEFERRED_WHY];	/* of the last try */
};

/* Is this a name of messages in router/ and deferred/, a number? */
int	deferred_is_name(const char *);
/* Reads office/deferred/NUM.why: 0, or -1 if it is missing or damaged; then the
 * message is due at once. */
int	deferred_read(const char *office, const char *num, struct deferred *);
/* Writes it, with the current time as that of the last try; last and next are
 * not used.  0, or -1 with errno. */
int	deferred_write(const char *office, const char *num,
	    const struct deferred *);
/* Removes office/deferred/NUM.why: 0, or -1 with errno. */
int	deferred_remove(const char *office, const char *num);
/* The number in the name NUM.why, copied to num; NULL: another name. */
const char *deferred_num_of(const char *entry, char *num, unsigned long size);

/* Has the message file office/queue/name no control file, nor one that is being
 * written and has a dot or SUBMIT_MARK before its name, at any place?  1 or 0.
 */
int	office_is_orphan(const char *office, const char *name);

#endif
