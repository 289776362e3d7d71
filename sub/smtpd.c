/*
 * smtpd.c - takes mail as SMTP commands on the standard input.
 *
 *	MAIL FROM:<anna@x.org> RET=HDRS		250 2.1.0 ok
 *	RCPT TO:<bert@y.org> NOTIFY=NEVER	250 2.1.5 ok
 *	DATA					354 end with a dot
 *	...
 *	.					250 2.0.0 queued as 98-1234
 *
 * submit -bs is for local submission: by a pipe, inetd or a serial line.  It
 * serves a socket only if that comes from the loopback or from a network that
 * the table names.  The uid of whoever is behind a socket is not known, so such
 * mail has the privilege of the user nobody.  No recipient may be a program, a
 * file or a list, whether there is a socket or not.
 *
 * A line ends in CR LF.  A bare CR or LF is an error in a command; a message
 * with one is read up to its end, CR LF . CR LF, and refused.  Otherwise we and
 * another server might see the end of a message in different places, and one of
 * the two would take a part of it for commands.
 *
 * submit -bS (rsmtp) reads a batch, as UUCP brings it.  There are no replies.
 * A wrong recipient is printed, and the sender gets a DSN; every other error is
 * printed and sets the exit status.  Lines may end in LF alone.
 */
#include "submit.h"
#include <ctype.h>

#define COMMAND_SIZE	2100	/* bytes of a command, with its parameters */
#define ERRORS_MOST	20	/* replies 4xx and 5xx in a session */
#define PATIENCE	300	/* seconds for the next bytes of a client */
#define NOBODY		65534L

static struct {
	const struct smtpd *how;
	struct mail m;
	int	begun;		/* MAIL was accepted */
	char	helo[DOMAIN_SIZE], peer[80];	/* peer "": no socket */
	int	errors;
	int	code;		/* exit code, of a batch */
	int	over;		/* the session ends */
	char	buf[8192];
	size_t	pos, n;		/* bytes [pos, n) of buf are not read yet */
	const char *fault;	/* reply to a damaged command, or NULL */
	struct input data;	/* the message */
} s;

/* ---- replies --------------------------------------------------------- */

/* Counts a reply that begins with 4 or 5. */
static void
count_error(int digit)
{
	s.errors++;
	if (s.code != X_TEMPFAIL)
		s.code = digit == '4' ? X_TEMPFAIL : X_DATAERR;
}

/* Sends a reply, "250 2.0.0 text"; a batch prints errors instead. */
static void LIKE_PRINTF(1, 2)
reply(const char *f, ...)
{
	char line[500];
	struct text t;
	va_list ap;

	text_init(&t, line, sizeof(line));
	t.clean = 1;
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	if (*line > '3')
		count_error(*line);
	if (!s.how->batch)
		printf("%s\r\n", line);
	else if (*line > '3')
		say("%s", line);
}

/* Replies with the last line of say(); in a batch, where say() has printed it,
 * only counts the error.  If that line begins with a status of its own, as in
 * "4.3.1 the file system ...", only the first word of the argument is sent
 * before it, "451" of "451 4.3.0". */
static void
reply_last(const char *status)
{
	const char *why = say_last();
	int has_status = isdigit((unsigned char)*why) && why[1] == '.';

	if (s.how->batch)
		count_error(*status);
	else
		reply("%.*s %s", has_status ? 3 : 9, status, why);
}

/* ---- bytes ----------------------------------------------------------- */

static int
get_byte(void)
{
	enum wait_result waited;
	long n;

	if (s.pos < s.n)
		return (unsigned char)s.buf[s.pos++];
	fflush(stdout);
	while (!s.over) {
		waited = s.how->batch ? WAIT_READY :
		    fd_wait(0, 0, (double)PATIENCE);
		n = waited != WAIT_READY ? -1 :
		    (long)read(0, s.buf, sizeof(s.buf));
		if (n > 0) {
			s.n = (size_t)n;
			s.pos = 1;
			return (unsigned char)s.buf[0];
		}
		s.over = waited == WAIT_TIMEOUT || n == 0 || errno != EINTR;
		if (waited == WAIT_TIMEOUT)
			reply("421 4.4.2 nothing came for %d seconds",
			    PATIENCE);
	}
	return EOF;
}

/* Reads a command: 0, or -1 at the end. */
static int
read_command(char *line)
{
	size_t n = 0;
	int c, last = 0;

	s.fault = NULL;
	while ((c = get_byte()) != EOF && c != '\n') {
		if (n + 1 == COMMAND_SIZE)
			s.fault = "500 5.5.6 the line is too long";
		else if (c == '\0' || last == '\r')
			s.fault = "500 5.5.2 a CR or NUL is within the line";
		else
			line[n++] = (char)c;
		last = c;
	}
	if (last == '\r' && n > 0)
		n--;
	else if (c == '\n' && !s.how->batch)
		s.fault = "500 5.5.2 the line must end in CR LF";
	while (n > 0 && (line[n - 1] == ' ' || line[n - 1] == '\t'))
		n--;
	line[n] = '\0';
	return c == EOF && n == 0 ? -1 : 0;
}

/* ---- parameters ------------------------------------------------------ */

/* Cuts "FROM:<anna@x.org> SIZE=3" into the path, with its brackets, and the
 * rest: 0, or -1 if the syntax is wrong. */
static int
split_path(char *arg, const char *word, char **path, char **rest)
{
	int quoted = 0, angle;
	char *p = arg;

	if (!ctl_is_word(p, strlen(word), word))
		return -1;
	p += strlen(word);
	*path = p += strspn(p, " ");
	angle = *p == '<';
	if (!angle && !s.how->batch)
		return -1;
	for (; *p != '\0' && (quoted || *p != (angle ? '>' : ' ')); p++)
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '"')
			quoted = !quoted;
	if (p == *path || (angle && *p != '>'))
		return -1;
	p += angle;
	if (*p != ' ' && *p != '\0')
		return -1;
	if (*p == ' ')
		*p++ = '\0';
	*rest = p;
	return 0;
}

/* Calls set for each "NAME=VALUE".  Returns NULL, or the reply that set returns
 * for a wrong one. */
static const char *
parse_parameters(char *p, const char *(*set)(const char *name, char *value))
{
	const char *why = NULL;
	char *name, *value;

	for (name = strtok(p, " "); name != NULL && why == NULL;
	    name = strtok(NULL, " ")) {
		value = strchr(name, '=');
		if (value != NULL)
			*value++ = '\0';
		text_lower(name);
		why = set(name, value != NULL ? value : name + strlen(name));
	}
	return why;
}

static const char *
set_mail_parameter(const char *name, char *value)
{
	const struct smtpd *how = s.how;
	unsigned long n;

	if (strcmp(name, "size") == 0) {
		if (num_upto(value, ULONG_MAX, &n, NULL) < 0)
			return "501 5.5.4 SIZE is a number of bytes";
		if (how->routes->most != 0 && n > how->routes->most)
			return "552 5.3.4 the message is too big";
		/* for a batch, room is checked when the message is read */
		if (!how->batch && entry_check_room(how->po, how->routes,
		    (double)n) < 0)
			return "452 4.3.1 there is no room for it now";
		return NULL;
	}
	if (strcmp(name, "envid") == 0)
		/* RFC 3461 allows 100 bytes */
		return xtext_is_valid(value) && text_fmt(s.m.envid, 101, "%s",
		    value) == 0 ? NULL : "501 5.5.4 ENVID is wrong";
	if (strcmp(name, "ret") == 0 && ret_parse(value, s.m.ret) == 0)
		return NULL;
	text_lower(value);
	return strcmp(name, "body") == 0 && (strcmp(value, "7bit") == 0 ||
	    strcmp(value, "8bitmime") == 0) ? NULL :
	    "555 5.5.4 a parameter of MAIL is wrong, or not known";
}

static const char *
set_rcpt_parameter(const char *name, char *value)
{
	const char *type = strchr(value, ';');
	size_t n = strlen(s.m.dsn);
	char *to = s.m.dsn + n;

	if (n > 0)
		*to++ = ' ';
	if (strcmp(name, "notify") == 0 &&
	    strstr(s.m.dsn, "NOTIFY=") == NULL &&
	    notify_parse(value, to, sizeof(s.m.dsn) - n - 1) == 0)
		return NULL;
	if (strcmp(name, "orcpt") == 0 && type != NULL &&
	    strstr(s.m.dsn, "ORCPT=") == NULL &&
	    xtext_is_valid(value) && strlen(value) < ADDR_SIZE) {
		text_fmt(to, sizeof(s.m.dsn) - n - 1, "ORCPT=%s", value);
		s.m.orcpt = 0;
		return NULL;
	}
	return "555 5.5.4 a parameter of RCPT is wrong, or not known";
}

/* ---- commands -------------------------------------------------------- */

static void
reset_mail(void)
{
	if (s.begun)
		mail_free(&s.m);
	s.begun = 0;
}

/* Notes the name of the client: 0, or -1 after refusing it. */
static int
set_helo_or_refuse(const char *arg)
{
	char *p;

	if (!addr_is_host(arg)) {
		reply("501 5.5.4 the name is missing or wrong");
		return -1;
	}
	reset_mail();
	text_fmt(s.helo, sizeof(s.helo), "%s", arg);
	for (p = s.helo; *p != '\0'; p++)
		if (strchr("()<>\\\"", *p) != NULL)
			*p = '_';
	return 0;
}

static void
do_helo(char *arg)
{
	if (set_helo_or_refuse(arg) == 0)
		reply("250 %s", s.how->routes->domain);
}

static void
do_ehlo(char *arg)
{
	if (set_helo_or_refuse(arg) < 0 || s.how->batch)
		return;
	reply("250-%s", s.how->routes->domain);
	reply("250-SIZE %lu", s.how->routes->most);
	printf("250-PIPELINING\r\n250-8BITMIME\r\n250-ENHANCEDSTATUSCODES\r\n"
	    "%s250 DSN\r\n", s.how->can_queue ? "250-ETRN\r\n" : "");
}

/* Makes the mail of a transaction: 0, or -1 if the user cannot be looked up
 * now. */
static int
start_mail(struct mail *m)
{
	if (mail_init(m, s.how->routes, s.peer[0] != '\0' ? NOBODY :
	    (long)getuid()) < 0)
		return -1;
	m->author.full[0] = '\0';	/* the sender may be somebody else */
	if (s.peer[0] != '\0')
		text_fmt(m->author.from, sizeof(m->author.from), "%s ([%s])",
		    s.helo[0] != '\0' ? s.helo : "unknown", s.peer);
	m->blind = s.how->blind;
	m->tame = 1;
	return 0;
}

static void
do_mail(char *arg)
{
	const char *why = "501 5.5.4 write MAIL FROM:<address>";
	char *path, *rest;

	if (s.begun) {
		reply("503 5.5.1 there is a sender already");
		return;
	}
	if (start_mail(&s.m) < 0) {
		reply_last("451 4.3.0");
		return;
	}
	s.begun = 1;
	if (split_path(arg, "FROM:", &path, &rest) == 0)
		why = parse_parameters(rest, set_mail_parameter);
	if (why == NULL && mail_set_sender(&s.m, path) == 0) {
		reply("250 2.1.0 ok");
		return;
	}
	if (why != NULL)
		reply("%s", why);
	else
		reply_last("501 5.1.7");
	reset_mail();
}

/* Returns the reply for an exit code of mail_add_path. */
static const char *
rcpt_status(int code)
{
	switch (code) {
	case X_OSERR:
		return "451 4.3.0";
	case X_UNAVAILABLE:
		return "552 5.5.3";
	case X_DATAERR:
		return "501 5.1.3";
	case X_NOHOST:
		return "550 5.1.2";
	}
	return "550 5.1.1";
}

static void
do_rcpt(char *arg)
{
	const char *why = "501 5.5.4 write RCPT TO:<address>";
	char *path, *rest;
	int code;

	if (!s.begun) {
		reply("503 5.5.1 MAIL comes first");
		return;
	}
	s.m.dsn[0] = '\0';
	s.m.orcpt = 1;
	if (split_path(arg, "TO:", &path, &rest) == 0)
		why = parse_parameters(rest, set_rcpt_parameter);
	if (why != NULL) {
		reply("%s", why);
		return;
	}
	code = mail_add_path(&s.m, path, s.how->batch);
	if (code == 0) {
		reply("250 2.1.5 ok");
	} else if (code == X_UNAVAILABLE && !s.how->batch && s.m.nrcpt > 0) {
		/* this is no error: a client sends the other recipients in
		 * another message */
		reply_last("452 4.5.3");
		s.errors--;
	} else {
		reply_last(rcpt_status(code));
	}
}

/* Returns the reply for an exit code of take. */
static const char *
reply_to_exit_code(int code)
{
	switch (code) {
	case X_UNAVAILABLE:
		return "554 5.4.6";
	case X_DATAERR:
		return "554 5.6.0";
	case X_IOERR:
		return "451 4.4.2";
	}
	return "451 4.3.0";
}

static void
do_data(char *arg)
{
	char name[ENTRY_NAME];
	int code = X_DATAERR;

	(void)arg;
	/* in a batch, the message follows even if there is no recipient */
	if (!s.how->batch && (!s.begun || s.m.nrcpt == 0)) {
		reply("503 5.5.1 there is no recipient");
		return;
	}
	reply("354 end with a dot on a line of its own");
	in_start(&s.data, stdin, DOTS_SMTP);
	s.data.next = get_byte;
	s.data.eol = s.how->batch ? EOL_CRLF : EOL_STRICT;
	if (s.begun && s.m.nrcpt > 0)
		code = s.how->take(s.how, &s.m, &s.data, name);
	else
		say("a message has no sender or no recipient");
	while (in_read(&s.data) != EOF)
		;
	if (code == 0)
		reply("250 2.0.0 queued as %s", name);
	else
		reply_last(reply_to_exit_code(code));
	reset_mail();
}

static void
do_rset(char *arg)
{
	(void)arg;
	reset_mail();
}

static void
do_vrfy(char *arg)
{
	static struct mail m;		/* large */
	int code;

	if (start_mail(&m) < 0) {
		reply("252 2.1.5 it cannot be checked now; send the mail");
		return;
	}
	code = *arg == '\0' ? X_DATAERR : mail_add_path(&m, arg, 0);
	mail_free(&m);
	if (code == 0)
		reply("252 2.1.5 mail for it is accepted");
	else if (*arg == '\0')
		reply("550 5.1.1 VRFY has no address");
	else
		reply_last("550 5.1.1");
}

static void
do_etrn(char *arg)
{
	/* RFC 1985: @HOST means its subdomains, too, but only HOST is tried
	 * here; #NAME is a queue */
	arg += *arg == '@';
	if (!s.how->can_queue)
		reply("502 5.5.1 only the owner of the queue may ask for that");
	else if (!addr_is_host(arg) || *arg == '#')
		reply("501 5.5.4 it names no host");
	else if (etrn_leave_request(s.how->po, arg) != 0)
		reply_last("458 4.3.0");
	else
		reply("250 2.0.0 the scheduler tries mail for %s", arg);
}

static void
do_quit(char *arg)
{
	(void)arg;
	s.over = 1;
}

static const char ok[] = "250 2.0.0 ok";
static const char missing[] = "502 5.5.1 the command is not implemented";

static const struct {
	const char *name;
	void	(*run)(char *arg);	/* NULL: does nothing */
	const char *reply;		/* NULL: run replies */
} commands[] = {
	{ "HELO", do_helo, NULL }, { "EHLO", do_ehlo, NULL },
	{ "MAIL", do_mail, NULL }, { "RCPT", do_rcpt, NULL },
	{ "DATA", do_data, NULL }, { "RSET", do_rset, ok },
	{ "NOOP", NULL, ok }, { "VRFY", do_vrfy, NULL },
	{ "ETRN", do_etrn, NULL }, { "QUIT", do_quit, "221 2.0.0 bye" },
	{ "HELP", NULL, "214 2.0.0 HELO EHLO MAIL RCPT DATA RSET NOOP VRFY "
	    "ETRN QUIT" }, { "EXPN", NULL, missing },
	{ "STARTTLS", NULL, missing }, { "AUTH", NULL, missing }
};

static void
run_command(char *line)
{
	size_t n = strcspn(line, " "), i;

	if (s.fault != NULL) {
		reply("%s", s.fault);
		return;
	}
	for (i = 0; i < sizeof(commands) / sizeof(*commands); i++)
		if (ctl_is_word(line, n, commands[i].name)) {
			if (commands[i].run != NULL)
				commands[i].run(line + n +
				    strspn(line + n, " "));
			if (commands[i].reply != NULL)
				reply("%s", commands[i].reply);
			return;
		}
	reply("500 5.5.1 the command is not known");
}

int
smtpd(const struct smtpd *how)
{
	char line[COMMAND_SIZE];

	s.how = how;
	if (!how->batch && !peer_is_served(how->routes->networks, s.peer,
	    sizeof(s.peer))) {
		reply("554 5.7.1 no service for %s (PARAMnetworks in the "
		    "table of routes)", s.peer);
		fflush(stdout);
		return X_NOPERM;
	}
	if (!how->batch)
		reply("220 %s ESMTP", how->routes->domain);
	while (!s.over && read_command(line) == 0) {
		run_command(line);
		if (s.errors >= ERRORS_MOST && !how->batch) {
			reply("421 4.7.0 too many errors");
			s.over = 1;
		}
	}
	reset_mail();
	fflush(stdout);
	return how->batch ? s.code : 0;
}
