/*
 * command.h - splits the command line of an agent into words: see command.c.
 */
#ifndef COMMAND_H
#define COMMAND_H

/* How a command names the host; an agent with the host in its command cannot be
 * given jobs for another host. */
enum cmd_bound {
	CMD_FREE,		/* not at all */
	CMD_IN_WORD,		/* inside a word */
	CMD_AS_WORD		/* as the word $host: no job has to name it */
};

#define CMD_WORDS	40
struct command {
	char	*env[CMD_WORDS];	/* leading NAME=value words; nenv */
	char	*argv[CMD_WORDS + 1];	/* NULL at the end; nargv */
	int	nenv, nargv;
	enum cmd_bound bound;
	char	plain[64];	/* the first $name that stays as it is */
	char	mem[4096];
};

/* Splits the command for an address and fills it in; var returns the value of
 * ${NAME}, NULL if unknown.  With var NULL the command is only checked, and any
 * NAME is accepted.  NULL if it can be run, else the reason. */
const char *cmd_split(const char *, const char *channel, const char *host,
	    const char *(*var)(const char *), struct command *);

#endif
