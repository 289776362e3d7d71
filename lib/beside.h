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

/* Mail in office/router that nobody has routed yet: 0, or -1 with errno. */
int	beside_router(const char *office, struct beside *);
/* What was set aside in office/postman: the same. */
int	beside_postman(const char *office, struct beside *);

#endif
