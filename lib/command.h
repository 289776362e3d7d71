/*
 * command.h - a command line becomes words: see command.c.
 */
#ifndef COMMAND_H
#define COMMAND_H

/* How a command names the host, so that its agent cannot be switched to
 * another. */
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

/* The command for an address, words split and filled in; var gives the value
 * of ${NAME}, NULL when unknown.  Without var it is only checked, and NAMEs are
 * not.  NULL when it can be run, else why not. */
const char *cmd_split(const char *, const char *channel, const char *host,
	    const char *(*var)(const char *), struct command *);

#endif
