/*
 * run.h - runs a program that takes a message: see run.c.
 */
#ifndef RUN_H
#define RUN_H

#include "lib.h"

/* run: a program to be run; the caller sets the members up to limit, and the
 * others to 0. */
struct run {
	const char *path;		/* path of the program */
	char	*const *argv;		/* NULL at the end */
	/* Passes the message to put, whose first argument is out: 0, or -1 if
	 * put stopped or the message cannot be read.  NULL: the input is
	 * empty. */
	int	(*message)(void *arg, int (*put)(void *, const char *, size_t),
		    void *out);
	void	*arg;			/* for message and become */
	int	(*become)(void *arg);	/* changes the user in the child: 0, or
					 * -1 with errno; NULL: no change */
	long	limit;		/* seconds that the program may take; 0: any */
	/* The end of the program, set by run_program. */
	int	exit;			/* the exit code, -1: none */
	int	signal;			/* signal that ended the run, or 0 */
	int	late;			/* the program was ended at the limit */
	int	stopped;		/* the program was killed, as a signal
					 * had stopped it */
	int	tmp_failed;		/* the program was not started, as the
					 * copy of the message could not be
					 * written to run_tmp_dir() */
	char	output[600];		/* the beginning of stdout and stderr,
					 * one clean line, for a diagnostic */
	/* The environment, set by run_add_variable. */
	char	*env[24];		/* NULL at the end */
	unsigned nenv;			/* variables in env */
	struct text vars;		/* memory of env, in mem */
	char	mem[8192];
};

/* Adds NAME=value to the environment, with at most so many bytes of the value.
 * Adds nothing if the value is NULL or has a control byte, as the program may
 * take a newline for the end of the value, or if there is no room. */
void	run_add_variable(struct run *, const char *name, const char *value,
	    size_t most);

/* Runs the program to its end: 0; or -1 with errno if it was not started, as
 * the message cannot be read (EIO), the program is missing, no process can be
 * made, or the function become failed; or if waitpid cannot tell its end. */
int	run_program(struct run *);
/* Returns the directory for a copy of the message. */
const char *run_tmp_dir(void);

enum run_kind {
	RUN_USERS,	/* the program of a user */
	RUN_MAILER,	/* a program of the administrator */
	RUN_UNSURE,	/* a mailer whose exit codes for a failure can mean
			 * trouble that passes */
	RUN_KINDS
};

/* Sets code, status and text of the verdict from the end of a program, by
 * sysexits.  The argument unknown is the status for an exit code outside
 * sysexits.  After a signal or at the limit the message is deferred.  The text,
 * such as "output [exit 75: temporary failure]", is in the caller's buffer of
 * at least 100 bytes. */
void	run_set_verdict(const struct run *, enum run_kind, const char *unknown,
	    struct lib_verdict *, char *, size_t);

#endif
