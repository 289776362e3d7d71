/*
 * deferred.h - mail beside the queue, for submit -q and mailq: see deferred.c.
 */
#ifndef DEFERRED_H
#define DEFERRED_H

#define DEFERRED	"deferred"	/* the directory in a post office */
#define DEFERRED_WHY	400	/* bytes of a reason, the NUL included */

struct deferred {
	unsigned long tries;	/* failed tries, at least one */
	unsigned long mark;	/* changes when the table of routes changes; the
				 * message is then due at once */
	long	wait;		/* seconds until the next try; 0: it is due */
	char	reason[DEFERRED_WHY];	/* why the last try failed */
};

/* Returns 1 if this may be the name of a message in router/ or deferred/: a
 * number of at most 40 digits. */
int	deferred_is_name(const char *);
/* Reads office/deferred/NUM.why: 0, or -1 if the file is missing or damaged;
 * the message is then due at once. */
int	deferred_read_why(const char *office, const char *num,
	    struct deferred *);
/* Writes office/deferred/NUM.why, whose modification time is then that of the
 * last try; does not use wait.  0, or -1 with errno. */
int	deferred_write_why(const char *office, const char *num,
	    const struct deferred *);
/* Removes office/deferred/NUM.why: 0, or -1 with errno. */
int	deferred_remove_why(const char *office, const char *num);
/* Copies the number in the name NUM.why to num, and returns num; NULL if the
 * name has another form. */
const char *deferred_num_of_why(const char *entry, char *num,
	    unsigned long size);

/* Returns 1 if the message file office/queue/name has no control file at
 * transport/name nor in the hash directories of this name, nor an unfinished
 * one, whose name begins with a dot or SUBMIT_MARK. */
int	office_is_orphan_msg(const char *office, const char *name);

#endif
