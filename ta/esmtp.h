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
	ES_HELO,	/* EHLO, HELO, AUTH and RSET */
	ES_MAIL,
	ES_RCPT,
	ES_DATA,
	ES_BLOCK,	/* until the server takes more of the message */
	ES_DOT,		/* the reply to the message */
	ES_QUIT,
	ES_STAGES
};

extern long esmtp_limit[ES_STAGES];	/* seconds */
extern unsigned esmtp_disabled;	/* CAN_ bits of a server that are ignored;
				 * no effect for CAN_PLAIN and CAN_LOGIN */
extern const char *const esmtp_stage_name[ES_STAGES];	/* words of -T */

/* Extensions that the server offers. */
#define CAN_SIZE	1
#define CAN_8BITMIME	2
#define CAN_PIPELINING	4
#define CAN_DSN		8
#define CAN_PLAIN	16	/* AUTH PLAIN */
#define CAN_LOGIN	32	/* AUTH LOGIN */

/* Phases that the program tests for; others are only shown. */
#define PHASE_CONNECT	"connect"	/* until there is a connection */
#define PHASE_AUTH	"AUTH"		/* the password */

struct esmtp {
	int	fd;			/* -1: there is no connection */
	int	to;			/* descriptor for output: fd, or a pipe
					 */
	struct via via;			/* the program at the pipes */
	struct net_addr peer;
	char	server[NET_NAME + 70];	/* name and address of the peer; the
					 * name alone if both are the same */
	unsigned can;			/* CAN_... of the server */
	unsigned long max_size;		/* bytes of a message, 0: not known */

	/* The last reply, or the reason why the connection is over.  After 421
	 * of the server the connection is over, too. */
	int	code;			/* 0: there was no reply */
	char	status[12];		/* the reply's x.y.z, or "" */
	char	reply[500];		/* the reply as one line, or the reason
					 */
	const char *host_status;	/* the status for all mail of the host,
					 * such as "4.4.2", NULL: none; set
					 * whenever code is 0 */
	const char *phase;		/* PHASE_... or other words for what the
					 * reply or reason is about */

	const char *secret[3];		/* texts to hide in replies, as
					 * net_clean_byte leaves them */
	int	in_mail;		/* MAIL was accepted, and the message
					 * is not sent yet */

	size_t	nout;			/* bytes in out */
	size_t	have, used;		/* bytes read into the array in[]; how
					 * many of them are consumed */
	char	out[8192], in[4096];
};

/* Function that gets the lines of the transcript, with any bytes; or NULL. */
extern void (*esmtp_log)(const char *, size_t);

/*
 * Unless said otherwise, these functions return 0; or -1 on a failure, with the
 * connection ended and the reason in the struct.
 */

/* Connects and says EHLO or HELO, with self of the options, or with our address
 * if that is NULL. */
int	esmtp_open(struct esmtp *, const struct net_addr *,
	    const struct net_opt *);
/* Adds a line, without CRLF, to the output, which is sent before the next reply
 * is read. */
int	esmtp_say(struct esmtp *, const char *line);
/* Adds a line like esmtp_say; the transcript gets shown instead of line. */
int	esmtp_say_as(struct esmtp *, const char *line, const char *shown);
/* Sends the output and reads a reply.  Returns the code of the reply, or 0. */
int	esmtp_read_reply(struct esmtp *, enum esmtp_stage);
/* Adds a piece of the message to the output.  The first argument points to a
 * struct esmtp; it is a void pointer because wire.c calls this function. */
int	esmtp_put(void *, const char *, size_t);
/* Sends the dot and all of the output, but reads no reply; size, the bytes of
 * the message, is for the transcript. */
int	esmtp_send_dot(struct esmtp *, unsigned long size);
/* Returns 1 if nothing has come from the server since its last reply, neither
 * 421 nor the end of the connection, so that another transaction can follow. */
int	esmtp_is_silent(const struct esmtp *);
/* Closes the connection without QUIT. */
void	esmtp_close(struct esmtp *);
/* Sends QUIT and closes the connection, if there is one. */
void	esmtp_quit(struct esmtp *);
/* Sends QUIT and closes the connection for this reason of ours.  Returns -1. */
int	esmtp_quit_with_reason(struct esmtp *, const char *status,
	    const char *why);

#endif
