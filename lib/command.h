/*
 * command.h - splits the command line of an agent into words, and starts it:
 * see command.c.
 */
#ifndef COMMAND_H
#define COMMAND_H

#include <stddef.h>

/* How a command names the host; an agent with the host in its command cannot be
 * given jobs for another host. */
enum cmd_bound {
	CMD_FREE,		/* not at all */
	CMD_IN_WORD,		/* inside a word */
	CMD_AS_WORD		/* as the word $host: no job has to name it */
};

#define CMD_WORDS	40
#define CMD_ADDED	8	/* of the environment, beside its own words */
#define CMD_BYTES	4096	/* all of its words */

struct command {
	char	*env[CMD_WORDS + CMD_ADDED + 1];	/* leading NAME=value
				 * words, what was added, NULL; nenv */
	char	*argv[CMD_WORDS + 1];	/* NULL at the end; nargv */
	int	nenv, nargv;
	enum cmd_bound bound;
	char	plain[64];	/* the first $name that stays as it is */
	size_t	used;		/* bytes of mem */
	char	mem[CMD_BYTES + CMD_ADDED * 1024];
	/* for cmd_start: the agent's user and group, if we are root; what is
	 * added to its nice value; the limit of its descriptors */
	long	uid, gid, nice, files;
};

/* Splits the command for an address and fills it in; var returns the value of
 * ${NAME}, NULL if unknown.  With var NULL the command is only checked, and any
 * NAME is accepted.  NULL if it can be run, else the reason. */
const char *cmd_split(const char *, const char *channel, const char *host,
	    const char *(*var)(const char *), struct command *);
/* Adds a variable to the environment, if the value is not NULL and the command
 * sets no other: 0, or -1 if there is no room. */
int	cmd_env(struct command *, const char *name, const char *value);
/* Starts the agent; argv[0] is its path.  It gets that environment alone and,
 * as descriptors 0, 1 and 2, one end of a socket or of two pipes.  Returns its
 * process number, or -1 with errno.  Our ends do not block: ours[0] is to read
 * from, ours[1] to write to.  If the agent cannot run, a line there says why,
 * after "# ".  cmd_close closes our ends; -1 is none. */
long	cmd_start(struct command *, int ours[2]);
void	cmd_close(int in, int out);
#ifdef NO_SOCKETPAIR
#define CMD_FDS	2	/* descriptors that our ends are */
#else
#define CMD_FDS	1
#endif

#endif
