/*
 * wire.h - changes a message to the form of SMTP: see wire.c.
 */
#ifndef WIRE_H
#define WIRE_H

#include "../lib/util.h"

struct wire {
	/* Sends n bytes; NULL: they are only counted.  Returns 0, or -1
	 * to stop. */
	int	(*put)(void *, const char *, size_t);
	void	*arg;
	unsigned long size;	/* bytes so far, without added dots */
	int	eight;		/* a byte had its top bit set */
	int	in_header;	/* before the first empty line */
	int	cr;		/* the last byte was a CR, not yet sent */
	unsigned col;		/* bytes of this line so far */
	size_t	held;
	char	buf[4096];
};

void	wire_start(struct wire *, int (*put)(void *, const char *, size_t),
	    void *);
/* A put of lib_message, whose first argument is a struct wire. */
int	wire_put(void *, const char *, size_t);
/* Ends the message; the caller sends the dot. */
int	wire_end(struct wire *);

#endif
