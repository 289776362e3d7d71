/*
 * wire.h - changes a message to the form of SMTP: see wire.c.
 */
#ifndef WIRE_H
#define WIRE_H

#include "../lib/util.h"

struct wire {
	/* Sends bytes: 0, or -1 to stop.  NULL: bytes are only counted. */
	int	(*put)(void *, const char *, size_t);
	void	*arg;		/* first argument of put */
	unsigned long size;	/* bytes so far, without added dots */
	int	eight;		/* 1 after a byte with its top bit set */
	int	in_header;	/* 1 until the first empty line */
	int	cr;		/* 1 after a CR, which is not sent before the
				 * next byte is known */
	unsigned col;		/* bytes of this line so far */
	size_t	nbuf;		/* bytes in buf */
	char	buf[4096];
};

/* Begins a message whose changed bytes go to put, with arg; with put NULL they
 * are counted only. */
void	wire_start(struct wire *, int (*put)(void *, const char *, size_t),
	    void *arg);
/* Changes a piece of the message: 0, or -1 if put has returned -1.  The first
 * argument is a struct wire, so that lib_pass_message can call wire_convert. */
int	wire_convert(void *, const char *, size_t);
/* Ends the message: 0, or -1 if put has returned -1.  The caller sends the dot.
 */
int	wire_end(struct wire *);

#endif
