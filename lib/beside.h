/*
 * beside.h - mail of a post office that is not in its queue: see beside.c.
 */
#ifndef BESIDE_H
#define BESIDE_H

struct beside {
	unsigned long n;	/* messages */
	unsigned long bounces;	/* of these, double bounces */
	long	oldest;		/* seconds of age; -1: none, or not known */
};

/* Counts the messages of office/dir; dir is "router" (not routed yet),
 * "deferred" (could not be routed) or "postman" (set aside).  0, or -1 with
 * errno. */
int	beside_count(const char *office, const char *dir, struct beside *);

#endif
