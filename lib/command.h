/*
 * command.h - a command line becomes words: see command.c.
 */
#ifndef COMMAND_H
#define COMMAND_H

#define CMD_WORDS	40
struct command {
	char	*env[CMD_WORDS];	/* leading NAME=value words; nenv */
	char	*argv[CMD_WORDS + 1];	/* NULL at the end; nargv */
	int	nenv, nargv;
	char	mem[4096];
};

/* How it names the host, so that its agent cannot be switched to another. */
enum cmd_bound {
	CMD_FREE,		/* not at all */
	CMD_IN_WORD,		/* inside a word */
	CMD_AS_WORD		/* as the word $host: no job has to name it */
};

/* What is wrong with the command whatever the address, or NULL. */
const char *cmd_check(const char *, enum cmd_bound *);
/* The command for an address, words split and filled in; var gives the value
 * of ${NAME}, NULL when unknown.  NULL when it can be run, else why not. */
const char *cmd_split(const char *, const char *channel, const char *host,
	    const char *(*var)(const char *), struct command *);

#endif
