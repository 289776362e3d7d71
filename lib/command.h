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
	CMD_FREE,		/* no part of the command names the host */
	CMD_IN_WORD,		/* a part of a word names the host */
	CMD_AS_WORD		/* the word $host; jobs then name no host */
};

#define CMD_WORDS	40	/* most arguments, and most words NAME=value */
#define CMD_ADDED	8	/* variables that cmd_default_env can add */
#define CMD_BYTES	4096	/* bytes of all words */

struct command {
	/* nenv pointers, then NULL: the leading words NAME=value, and what
	 * cmd_default_env added */
	char	*env[CMD_WORDS + CMD_ADDED + 1];
	char	*argv[CMD_WORDS + 1];	/* nargv pointers, then NULL */
	int	nenv, nargv;
	enum cmd_bound bound;
	char	unreplaced[64];	/* the first $name that is neither $host nor
				 * $channel, for a warning; "": none */
	size_t	used;		/* bytes of mem */
	char	mem[CMD_BYTES + CMD_ADDED * 1024];
	/* for cmd_start: the agent's user and group, if we are root; the number
	 * that is added to its nice value; the limit of its descriptors */
	long	uid, gid, nice, files;
};

/* Splits the command, with the parts of the address channel/host put in; var
 * returns the value of ${NAME}, NULL if unknown.  With var NULL the command is
 * only checked, and any NAME is accepted.  Returns NULL, or the reason why the
 * command cannot be run. */
const char *cmd_split(const char *, const char *channel, const char *host,
	    const char *(*var)(const char *), struct command *);
/* Adds a variable to the environment, unless the value is NULL or the command
 * sets this variable: 0, or -1 if there is no room. */
int	cmd_default_env(struct command *, const char *name, const char *value);
/* Starts the agent, whose path is argv[0], with the environment env alone.  Its
 * descriptors 0, 1 and 2 are one end of a socket or of two pipes.  Returns its
 * process number, or -1 with errno.  We read from ours[0] and write to ours[1];
 * neither blocks.  If the agent cannot run, a line to ours[0] says why, after
 * "# ".  cmd_close closes our ends, except those that are -1. */
long	cmd_start(struct command *, int ours[2]);
void	cmd_close(int in, int out);
#define SIGNALS	32	/* larger than the number of any POSIX.1 signal */
#ifdef NO_SOCKETPAIR
#define CMD_FDS	2	/* descriptors of our ends */
#else
#define CMD_FDS	1
#endif

#endif
