/*
 * beside.h - what waits in a post office beside its queue: see beside.c.
 */
#ifndef BESIDE_H
#define BESIDE_H

struct beside {
	unsigned long n;	/* messages */
	unsigned long bounces;	/* of these, double bounces */
	long	oldest;		/* seconds of age; -1: none, or not known */
};

/* Mail in office/dir: in "router" what nobody has routed yet, in "deferred"
 * what could not be, in "postman" what was set aside.  0, or -1 with errno. */
int	beside_count(const char *office, const char *dir, struct beside *);

#endif
