/*
 * via.c - runs a program that makes the connection, for TLS.
 *
 * The command "openssl s_client -quiet -connect $host:$port" is split into
 * words without a shell, with the name and port of the server filled in.  The
 * program's standard input and output are two pipes, over which we speak SMTP
 * as over a socket.  A third pipe, for its standard error, is read only when
 * the conversation is over.  The program's end of that pipe does not block:
 * output beyond the size of the pipe is lost.
 *
 *	word of command	meaning
 *	$host $port	the server's name or address, and its port
 *	$socket		3, the descriptor at which the program gets a connection
 *			that we have made
 *	starttls	alone or as a part of a longer word: the program reads
 *			the greeting itself
 *
 * A program that ends before the server has said anything has failed.  The
 * reason is the first line with "error" or "fail" on its standard error, else
 * the first line with "verify", else the last line; without a line, how the
 * program ended.  For example, of the lines "verify return:1" and "verify
 * error:num=62:hostname mismatch" of openssl, the second is the reason.
 *
 * The program has the rights of our process, and no descriptors but the pipes
 * and $socket.  It ignores the signals that we ignore, except SIGPIPE, so a
 * signal of the scheduler ends no conversation.  It is expected to end when the
 * pipes for input and output are closed; after LINGER seconds SIGKILL ends it.
 */
#include "via.h"
#include "../lib/agent.h"
#include "../lib/command.h"
#include <sys/wait.h>
#include <signal.h>
#include <ctype.h>

#define LINGER	1.0	/* seconds from the end of the pipes to the end of the
			 * program */
#define LINE	300	/* bytes of a line that are kept */

/* ---- the command ----------------------------------------------------- */

/* Returns NULL for each ${NAME}: a command of -X has no variables but those
 * that split_command and cmd_split replace themselves. */
static const char *
find_no_variable(const char *name)
{
	(void)name;
	return NULL;
}

/* Splits the command into words with host and port filled in.  Returns what is
 * wrong with the command, or NULL. */
static const char *
split_command(struct command *c, const char *s, const char *host, int port)
{
	static char full[sizeof(c->mem)];	/* buffer */
	const char *why;
	struct text t;

	text_init(&t, full, sizeof(full));
	for (; *s != '\0'; s++)
		if (strncmp(s, "$port", 5) == 0) {
			text_add(&t, "%d", port);
			s += 4;
		} else if (strncmp(s, "$socket", 7) == 0) {
			text_add(&t, "3");
			s += 6;
		} else {
			text_put(&t, s, 1);
		}
	why = t.cut ? "is too long" :
	    cmd_split(full, "smtp", host, find_no_variable, c);
	return why == NULL && c->nenv > 0 ? "begins with NAME=value" : why;
}

const char *
via_find_error(const char *command)
{
	struct command c;

	return split_command(&c, command, "h", NET_PORT);
}

const char *
via_find_unverifying(const char *command)
{
	/* a command that contains .name verifies only if it also contains
	 * .unless; if .unless is NULL, it never verifies.  s_client has two
	 * entries, as it needs both options. */
	static const struct { const char *name, *unless; } known[] = {
		{ "s_client", "-verify_return_error" },
		{ "s_client", "-verify_hostname" }, { "ssl_client", NULL },
		{ "stunnel", NULL }, { "ncat", "--ssl-verify" },
		{ "--insecure", NULL }, { "verify=0", NULL }
	};
	size_t i;

	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strstr(command, known[i].name) != NULL &&
		    (known[i].unless == NULL ||
		    strstr(command, known[i].unless) == NULL))
			return known[i].name;
	return NULL;
}

const char *
via_find_missing(const char *command)
{
	static struct command c;	/* large */
	char path[1024];
	const char *p = getenv("PATH");
	size_t n;

	if (split_command(&c, command, "h", NET_PORT) != NULL)
		return NULL;
	if (strchr(c.argv[0], '/') != NULL)
		return access(c.argv[0], X_OK) < 0 ? c.argv[0] : NULL;
	for (; p != NULL; p = p[n] == ':' ? p + n + 1 : NULL) {
		n = strcspn(p, ":");
		if (text_fmt(path, sizeof(path), "%.*s%s%s", (int)n, p,
		    n > 0 ? "/" : "", c.argv[0]) == 0 &&
		    access(path, X_OK) == 0)
			return NULL;
	}
	return getenv("PATH") != NULL ? c.argv[0] : NULL;
}

int
via_wants_socket(const char *command)
{
	return strstr(command, "$socket") != NULL;
}

int
via_takes_greeting(const char *command)
{
	return strstr(command, "starttls") != NULL;
}

/* ---- start ----------------------------------------------------------- */

/* Becomes the program in the child. */
static void
exec_program(const struct command *c, int in, int out, int err, int sock)
{
	char why[LINE];
	int i, n = sock < 0 ? 3 : 4, fd[4];

	fd[0] = in;
	fd[1] = out;
	fd[2] = err;
	fd[3] = sock;
	for (i = 0; i < n; i++)
		if ((fd[i] != i && dup2(fd[i], i) < 0) ||
		    fcntl(i, F_SETFD, 0) < 0)
			_exit(X_OSERR);
	fd_close_from(n);
	if (sock >= 0)
		fcntl(3, F_SETFL, fcntl(3, F_GETFL, 0) & ~O_NONBLOCK);
	signal(SIGPIPE, SIG_DFL);
	execvp(c->argv[0], c->argv);
	text_fmt(why, sizeof(why), "cannot be run: %s\n", strerror(errno));
	fd_write(2, why, strlen(why));
	_exit(X_OSFILE);
}

int
via_open(struct via *v, const char *command, const struct net_addr *a,
    int sock, int fd[2])
{
	const char *name = a->name;
	char host[NET_NAME];
	struct command c;
	pid_t pid;
	int p[6];	/* pipes for standard input, output and error of the
			 * program; of each, first the end for reading, then the
			 * end for writing */

	/* programs take an address without brackets */
	if (strncmp(name, "[IPv6:", 6) == 0)
		name += 6;
	else if (name[0] == '[')
		name++;
	text_fmt(host, sizeof(host), "%.*s", (int)strcspn(name, "]"), name);
	if (split_command(&c, command, host, a->port) != NULL) {
		errno = EINVAL;
		return -1;
	}
	if (pipes_make(p, 3) < 0)
		return -1;
	/* the program's standard error does not block, either */
	if (fd_nonblock(p[1]) < 0 || fd_nonblock(p[2]) < 0 ||
	    fd_nonblock(p[4]) < 0 || fd_nonblock(p[5]) < 0 ||
	    (pid = fork()) < 0)
		return pipes_close(p, 3);
	if (pid == 0)
		exec_program(&c, p[0], p[3], p[5], sock);
	close(p[0]);
	close(p[3]);
	close(p[5]);
	fd[0] = p[2];
	fd[1] = p[1];
	v->err = p[4];
	v->pid = pid;
	return 0;
}

/* ---- end ------------------------------------------------------------- */

/* The program's standard error while it is read. */
struct errors {
	char	line[LINE];	/* the current line */
	size_t	n;		/* bytes in line */
	char	best[LINE];	/* the line that says most so far */
	int	rank;		/* rank of best: 2 error, 1 verify, 0 other */
};

/* Returns 1 if the line contains the text, which is in small letters. */
static int
has_text(const char *line, const char *text)
{
	size_t n = strlen(text), i;

	for (; *line != '\0'; line++) {
		for (i = 0; i < n && tolower((unsigned char)line[i]) ==
		    text[i]; i++)
			;
		if (i == n)
			return 1;
	}
	return 0;
}

/* Returns the part of the line behind the number of a thread or process, as in
 * "40E7A1F5:error:0A000086:..." of openssl and "2026/11/27 09:00:00 socat[99] E
 * ...", so that equal reasons have equal texts. */
static const char *
skip_process(const char *line)
{
	size_t n = strspn(line, "0123456789abcdefABCDEF");
	const char *p = strchr(line, '[');

	if (n > 0 && strncmp(line + n, ":error:", 7) == 0)
		return line + n + 1;
	n = p == NULL ? 0 : strspn(p + 1, "0123456789");
	return n > 0 && strncmp(p + 1 + n, "] ", 2) == 0 ? p + n + 3 : line;
}

/* Ends a line and keeps the best line: the first line of the highest rank, or
 * the last line if all have rank 0. */
static void
end_line(struct errors *e)
{
	int rank;

	e->line[e->n] = '\0';
	rank = has_text(e->line, "error") || has_text(e->line, "fail") ? 2 :
	    has_text(e->line, "verify");
	if (e->n > 0 && (rank > e->rank || (rank == 0 && e->rank == 0))) {
		strcpy(e->best, skip_process(e->line));
		e->rank = rank;
	}
	e->n = 0;
}

void
via_close(struct via *v, char *why, size_t size)
{
	struct errors e;
	char buf[1024];
	double until;
	int status, c;
	long n = 1, i;

	memset(&e, 0, sizeof(e));
	clock_read();
	until = now.mono + LINGER;
	while (n > 0 && net_wait(v->err, 0, until) == WAIT_READY) {
		n = (long)read(v->err, buf, sizeof(buf));
		for (i = 0; i < n; i++) {
			c = (unsigned char)buf[i];
			if (c == '\n')
				end_line(&e);
			else if (e.n < LINE - 1 && (c > ' ' || e.n > 0))
				e.line[e.n++] = net_clean_byte(c);
		}
	}
	end_line(&e);
	status = child_wait_or_kill(v->pid, until);
	close(v->err);
	v->pid = 0;
	if (e.best[0] != '\0')
		text_fmt(why, size, "%s", e.best);
	else if (status == -1)
		text_fmt(why, size, "ended, and its exit code is not known");
	else if (WIFSIGNALED(status))
		text_fmt(why, size, "died of signal %d", WTERMSIG(status));
	else
		text_fmt(why, size, "ended with exit code %d",
		    WEXITSTATUS(status));
}
