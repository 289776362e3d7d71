/*
 * run.h - runs a program that takes a message: see run.c.
 */
#ifndef RUN_H
#define RUN_H

#include "lib.h"

/* run: a program to be run, filled in by the caller ... */
struct run {
	const char *path;		/* of the program */
	char	*const *argv, *const *envp;	/* ends with NULL */
	/* Puts the message, as lib_message does; out is for what follows.
	 * NULL: there is none. */
	int	(*message)(void *arg, int (*put)(void *, const char *, size_t),
		    void *out);
	void	*arg;			/* for message and become */
	int	(*become)(void *arg);	/* in the child: 0, or -1 with errno;
					 * NULL: stay who we are */
	long	limit;		/* seconds, then it is killed; 0: none */
	/* ... and how it ended. */
	int	exit;			/* its exit code, or -1 */
	int	signal;			/* that ended it, or 0 */
	int	late;			/* the limit was reached, */
	int	stopped;		/* ... or it was stopped, and killed */
	int	uncopied;		/* see run_program */
	char	output[600];		/* the beginning of stdout and stderr,
					 * one clean line, for a diagnostic */
};

/* Runs the program to its end: 0, or -1 with errno if it was not started: the
 * message cannot be read (EIO), the program is missing, there is no process,
 * become failed; with uncopied, run_tmp has no room for the message. */
int	run_program(struct run *);
const char *run_tmp(void);

/* Whose program it was: a user's; a mailer's; a mailer's whose failures may be
 * its own trouble. */
enum run_kind { RUN_USERS, RUN_MAILER, RUN_UNSURE, RUN_KINDS };

/* Makes a verdict from the end of a program, by sysexits: code, status and
 * text, such as "output [exit 75: temporary failure]", in the caller's buffer
 * of at least 100 bytes.  An exit code outside sysexits has the status unknown.
 * A signal or the limit is no verdict of the program: the message waits. */
void	run_verdict(const struct run *, enum run_kind, const char *unknown,
	    struct lib_verdict *, char *, size_t);

#endif
