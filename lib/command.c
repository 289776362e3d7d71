/*
 * command.c - splits the command line of an agent into words, and starts it.
 *
 *	A=b smtp -s "-H ${ORGDOMAIN}" $host
 *
 * becomes, for the host a.test, the environment "A=b" and the words "smtp",
 * "-s", "-H mail.example" and "a.test".
 *
 * Blanks end a word.  Quotes and backslashes have the meaning that they have
 * in a shell, but no shell is run.  Leading words NAME=value are the
 * environment of the program.  $channel and $host, with braces or without, are
 * replaced by the parts of the address, and ${NAME} by the value of that name,
 * but not in single quotes.
 *
 * A value never ends a word, so any host name is part of one argument.  The
 * channel and host cannot choose the program, and must not make an argument
 * look like an option: such a command is not run, and its mail waits.
 *
 * If $host, without braces, is a word of the command, the agent serves only
 * that host and gets jobs without the host's name; see enum cmd_bound.
 *
 * An agent has its own process group, and its own user if we are root.  Of our
 * descriptors it has only its end of a socket or of two pipes.
 */
#include "util.h"
#include "command.h"
#include <ctype.h>
#include <signal.h>

#ifndef NO_RLIMIT
#include <sys/resource.h>
#endif
#ifndef NO_SOCKETPAIR
#include <sys/socket.h>
#endif

#define NAME	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
#define DIGITS	"0123456789"

/* splitting: a command while it is split into words. */
struct splitting {
	const char *s;		/* the rest of the command */
	const char *channel, *host;
	const char *(*var)(const char *);	/* value of ${NAME}; NULL: the
					 * command is only checked */
	struct command *c;
	struct text out;
	char	*word;		/* the beginning of the current word */
	const char *why;	/* why the command cannot be run, or NULL */
	int	uses_address;	/* the word depends on the address */
	int	from_address;	/* the word begins with a part of the address */
	size_t	host_end;	/* out.len behind the value of a $host that the
				 * word begins with; 0: no such $host */
};

/* Adds the value of the name at p->s, behind '$', to the current word. */
static void
add_value(struct splitting *p)
{
	int is_first = p->out.s + p->out.len == p->word;
	int has_braces = *p->s == '{', is_host, is_channel;
	const char *begin = p->s + has_braces, *value = "";
	const char *end = has_braces ? strchr(begin, '}') :
	    begin + strspn(begin, NAME DIGITS);
	char name[64];

	if (end == NULL) {
		p->why = "has ${ without }";
		return;
	}
	if (text_fmt(name, sizeof(name), "%.*s", (int)(end - begin), begin) < 0)
		name[0] = '\0';
	is_host = strcmp(name, "host") == 0;
	is_channel = strcmp(name, "channel") == 0;
	if (!has_braces && !is_host && !is_channel) {
		if (p->c->unreplaced[0] == '\0' && strspn(name, DIGITS) == 0)
			strcpy(p->c->unreplaced, name);
		text_put(&p->out, "$", 1);
		return;
	}
	p->s = end + has_braces;
	if (is_host || is_channel) {
		value = is_host ? p->host : p->channel;
		p->from_address |= is_first;
		p->uses_address = 1;
	} else if (p->var != NULL) {
		value = p->var(name);
	}
	if (value == NULL)
		p->why = "has a ${NAME} that is not known";
	else
		text_add(&p->out, "%s", value);
	if (is_host && p->c->bound == CMD_FREE)
		p->c->bound = CMD_IN_WORD;
	if (is_host && is_first && !has_braces)
		p->host_end = p->out.len;
}

/* Reads one word at p->s, with the quotes and backslashes of a shell. */
static void
split_word(struct splitting *p)
{
	int quote = 0, c;

	p->word = p->out.s + p->out.len;
	p->uses_address = p->from_address = 0;
	p->host_end = 0;
	while (p->why == NULL && (c = *p->s) != '\0' &&
	    (quote != 0 || !isspace((unsigned char)c))) {
		p->s++;
		if (c == quote) {
			quote = 0;
		} else if (quote == 0 && (c == '"' || c == '\'')) {
			quote = c;
		} else if (c == '$' && quote != '\'') {
			add_value(p);
		} else {
			if (c == '\\' && *p->s != '\0' && (quote == 0 ||
			    (quote == '"' && strchr("\"\\$", *p->s) != NULL)))
				p->s++;
			text_put(&p->out, p->s - 1, 1);
		}
	}
	if (quote != 0 && p->why == NULL)
		p->why = "has a quote that is not closed";
	if (p->host_end != 0 && p->host_end == p->out.len)
		p->c->bound = CMD_AS_WORD;
	text_put(&p->out, "", 1);
}

/* Adds the word to the environment (a leading NAME=value) or the arguments. */
static void
add_word(struct splitting *p)
{
	struct command *c = p->c;
	size_t name = strspn(p->word, NAME DIGITS);
	int is_env = c->nargv == 0 && name > 0 && p->word[name] == '=' &&
	    !isdigit((unsigned char)*p->word);

	if (is_env ? c->nenv == CMD_WORDS : c->nargv == CMD_WORDS)
		p->why = "has too many words";
	else if (is_env)
		c->env[c->nenv++] = p->word;
	else if (p->from_address && p->word[0] == '-' && p->word[1] != '\0')
		p->why = "is not run: the channel or host begins with - and "
		    "could be taken for an option";
	else if (c->nargv == 0 && p->uses_address)
		p->why = "would run a program that depends on the address";
	else if (c->nargv == 0 && *p->word == '\0')
		p->why = "begins with an empty word";
	else
		c->argv[c->nargv++] = p->word;
}

const char *
cmd_split(const char *s, const char *channel, const char *host,
    const char *(*var)(const char *), struct command *c)
{
	struct splitting p;

	memset(&p, 0, sizeof(p));
	p.s = s;
	p.channel = channel;
	p.host = host;
	p.var = var;
	p.c = c;
	c->bound = CMD_FREE;
	c->unreplaced[0] = '\0';
	text_init(&p.out, c->mem, CMD_BYTES);
	c->nenv = c->nargv = 0;
	while (p.why == NULL && *(p.s += strspn(p.s, " \t\n\v\f\r")) != '\0') {
		split_word(&p);
		if (p.why == NULL)
			add_word(&p);
	}
	c->env[c->nenv] = c->argv[c->nargv] = NULL;
	c->used = p.out.len;
	if (p.why == NULL && p.out.cut)
		p.why = "is too long";
	if (p.why == NULL && c->nargv == 0)
		p.why = "names no program";
	return p.why;
}

int
cmd_default_env(struct command *c, const char *name, const char *value)
{
	size_t n = strlen(name);
	struct text t;
	int i;

	for (i = 0; i < c->nenv; i++)
		if (strncmp(c->env[i], name, n) == 0 && c->env[i][n] == '=')
			return 0;
	if (value == NULL)
		return 0;
	if (c->nenv == CMD_WORDS + CMD_ADDED)
		return -1;
	text_init(&t, c->mem + c->used, sizeof(c->mem) - c->used);
	text_add(&t, "%s=%s", name, value);
	text_put(&t, "", 1);
	c->used += t.len;
	c->env[c->nenv++] = t.s;
	c->env[c->nenv] = NULL;
	return t.cut ? -1 : 0;
}

/* ---- starting a program ---------------------------------------------- */

void
cmd_close(int in, int out)
{
	if (out >= 0 && out != in)
		close(out);
	if (in >= 0)
		close(in);
}

/* Makes both ends: 0 or -1.  They are closed on exec, as an end in another
 * agent would hide the death of this one, and ours do not block, as the daemon
 * never waits for an agent. */
static int
make_ends(int ours[2], int theirs[2])
{
	int i;
#ifdef NO_SOCKETPAIR
	int to[2], from[2];

	if (pipe(to) < 0)
		return -1;
	if (pipe(from) < 0) {
		cmd_close(to[0], to[1]);
		return -1;
	}
	ours[0] = from[0];
	ours[1] = to[1];
	theirs[0] = to[0];
	theirs[1] = from[1];
#else
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		return -1;
	ours[0] = ours[1] = s[0];
	theirs[0] = theirs[1] = s[1];
#endif
	for (i = 0; i < 2; i++) {
		errno = EMFILE;
		if (ours[i] < FD_SETSIZE && fd_nonblock(ours[i]) == 0 &&
		    fd_cloexec(theirs[i]) == 0)
			continue;
		cmd_close(ours[0], ours[1]);
		cmd_close(theirs[0], theirs[1]);
		return -1;
	}
	return 0;
}

/* In the child, sets limits, groups and user.  Returns NULL, or the name of
 * what failed, with errno. */
static const char *
become_user(const struct command *c)
{
#ifndef NO_RLIMIT
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = (rlim_t)c->files;
		setrlimit(RLIMIT_NOFILE, &rl);
	}
#endif
	errno = 0;
	if (c->nice != 0 && nice(c->nice) == -1 && errno != 0)
		return "nice";
	if (geteuid() != 0)
		return NULL;	/* only root can become another user */
	if (groups_leave((gid_t)c->gid) < 0)
		return "setgroups";
	if (setgid((gid_t)c->gid) < 0)
		return "setgid";
	return setuid((uid_t)c->uid) < 0 ? "setuid" : NULL;
}

/* In the child, executes the program, or writes a line that says why not. */
static void
become_program(struct command *c, const int theirs[2])
{
	const char *what;
	char line[1000];
	int sig;

	/* we or our parent may catch or ignore signals */
	for (sig = 1; sig < SIGNALS; sig++)
		signal(sig, SIG_DFL);
	setpgid(0, 0);		/* ^C at a terminal does not end the agent */
	if (dup2(theirs[0], 0) < 0 || dup2(theirs[1], 1) < 0 ||
	    dup2(theirs[1], 2) < 0)
		_exit(X_OSERR);
	what = become_user(c);
	if (what == NULL) {
		execve(c->argv[0], c->argv, c->env);
		what = "execute";
	}
	text_fmt(line, sizeof(line), "# cannot %s %.500s: %s\n", what,
	    c->argv[0], strerror(errno));
	fd_write(1, line, strlen(line));
	_exit(X_OSFILE);
}

long
cmd_start(struct command *c, int ours[2])
{
	int theirs[2];
	long pid;

	if (make_ends(ours, theirs) < 0)
		return -1;
	log_flush();
	pid = fork();
	if (pid == 0)
		become_program(c, theirs);
	cmd_close(theirs[0], theirs[1]);
	if (pid < 0)
		cmd_close(ours[0], ours[1]);
	return pid;
}
