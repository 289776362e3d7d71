/*
 * esmtp.h - one connection to an SMTP server: see esmtp.c.
 */
#ifndef ESMTP_H
#define ESMTP_H

#include "via.h"

/* Kinds of waits; each has a limit in seconds. */
enum esmtp_stage {
	ES_CONNECT,
	ES_GREETING,
	ES_HELO,	/* EHLO, HELO and RSET */
	ES_MAIL,
	ES_RCPT,
	ES_DATA,
	ES_BLOCK,	/* until some more of the message is taken */
	ES_DOT,		/* the reply to the message */
	ES_QUIT,
	ES_STAGES
};

extern long esmtp_limit[ES_STAGES];
extern unsigned esmtp_disabled;	/* ES_... that are not used */
extern const char *const esmtp_stage_name[ES_STAGES];

/* What the server says it can do. */
#define ES_SIZE		1
#define ES_8BITMIME	2
#define ES_PIPELINING	4
#define ES_DSN		8
#define ES_PLAIN	16	/* AUTH PLAIN */
#define ES_LOGIN	32	/* AUTH LOGIN */

struct esmtp {
	int	fd;			/* -1: there is no connection */
	int	to;			/* where we write: fd, or a pipe */
	struct via via;			/* the program at both pipes */
	struct net_addr peer;
	unsigned can;			/* ES_SIZE ... */
	unsigned long max_size;		/* bytes it takes, 0: not said */

	/* The last reply; when the connection is over, why.  It is 421 only
	 * when the server said so, and then it is over, too. */
	int	code;			/* 0: none came */
	char	status[12];		/* its x.y.z, "" when it has none */
	char	reply[500];		/* all of it, as one line */
	const char *lost;		/* status, with code 0: "4.4.2"; else
					 * NULL, or what the code means here */
	const char *phase;		/* what that was about */

	const char *secret[3];		/* no reply is kept with these in it */
	int	in_mail;		/* MAIL was taken, no message yet */
	unsigned long put;		/* bytes of the message so far */

	size_t	held;			/* bytes in out */
	size_t	have, used;		/* bytes in in, bytes consumed */
	char	out[8192], in[4096];
};

/*
 * All of these end the connection when something goes wrong, and say why in
 * the struct.  0 is good, -1 is not.
 */

/* Gets a transcript, line by line, any bytes; NULL: nobody. */
extern void (*esmtp_log)(const char *, size_t);

/* Connects and greets as self (NULL: our address). */
int	esmtp_open(struct esmtp *, const struct net_addr *,
	    const struct net_opt *);
/* A line to send, CRLF is added; it goes out with the next reply wanted. */
int	esmtp_say(struct esmtp *, const char *line);
/* The same; the transcript shows these other words. */
int	esmtp_say_as(struct esmtp *, const char *line, const char *shown);
/* Waits for a reply: its code, or 0. */
int	esmtp_reply(struct esmtp *, enum esmtp_stage);
/* A piece of the message, as it is. */
int	esmtp_put(struct esmtp *, const char *, size_t);
/* Has the server sent nothing on its own, such as 421?  Then another
 * transaction can follow. */
int	esmtp_is_silent(const struct esmtp *);
/* Closes the connection without QUIT. */
void	esmtp_close(struct esmtp *);
/* Sends QUIT and closes; without a connection does nothing. */
void	esmtp_quit(struct esmtp *);
/* Sends QUIT and closes for our reason, which is kept: -1. */
int	esmtp_refuse(struct esmtp *, const char *status, const char *why);

#endif
