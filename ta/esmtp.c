/*
 * esmtp.c - one connection to an SMTP server (RFC 5321).
 *
 * It connects, reads the greeting, sends lines and reads replies; the caller
 * decides what to say.  The connection is a socket, or two pipes to a program
 * that makes it (via.c).  Neither blocks.  Each wait has a limit of its own
 * (4.5.3.2), counted from its beginning, so a server gains nothing by sending a
 * byte now and then.
 *
 * A reply may have many lines.  Their text is joined to one and cut if it is
 * long; control bytes become blanks and bytes beyond ASCII question marks,
 * since logs and DSNs contain the text.  An enhanced status (RFC 2034) at the
 * beginning of the text counts only if the code has the same class.  Too many
 * lines, endless lines and lines without a code end the connection.
 *
 *	code		meaning for the caller
 *	200-599		the server's reply; after 421 the connection is over
 *	0		no reply; host_status is set, reply has the reason
 *
 * Output stays in a buffer until a reply is wanted.  A caller that sends
 * several commands at once keeps the bytes of commands without a reply below
 * what the socket buffers of any system hold (WINDOW in trans.c); so we and the
 * server never wait for each other to read.
 *
 * If the connection breaks while a message is sent, or the server reads no more
 * of the message, the server may have sent the reason before, so a last reply
 * is read.
 *
 * In the transcript, long lines are cut, and a message is only its size.
 */
#include "esmtp.h"
#include "lib.h"

#define REPLY_LINES	100	/* lines of a reply */
#define REPLY_BYTES	65536L	/* bytes of a reply */
#define FINAL_WAIT	2	/* seconds for a reply after a failed write */

/* Seconds, as in RFC 5321 4.5.3.2, which does not limit connect, helo and quit.
 */
long esmtp_limit[ES_STAGES] = {
	30, 5 * 60, 5 * 60, 5 * 60, 5 * 60, 2 * 60, 3 * 60, 10 * 60, 5
};

const char *const esmtp_stage_name[ES_STAGES] = {
	"connect", "greeting", "helo", "mail", "rcpt", "data", "block", "dot",
	"quit"
};

/* ---- the transcript -------------------------------------------------- */

unsigned esmtp_disabled;
void (*esmtp_log)(const char *, size_t);

static void
log_line(const char *mark, const char *s)
{
	char line[400];

	if (esmtp_log == NULL)
		return;
	text_fmt(line, sizeof(line), "%s %s", mark, s);
	esmtp_log(line, strlen(line));
}

/* ---- the end --------------------------------------------------------- */

/* Closes the connection.  If a program made the connection, via_close sets
 * program_words. */
static void
close_without_quit(struct esmtp *c, char *program_words, size_t size)
{
	if (c->fd >= 0)
		close(c->fd);
	if (c->via.pid > 0) {
		close(c->to);
		via_close(&c->via, program_words, size);
	}
	c->fd = -1;
	c->have = c->used = c->nout = 0;
}

void
esmtp_close(struct esmtp *c)
{
	char why[100];

	close_without_quit(c, why, sizeof(why));
}

/* Ends the connection for this reason.  Returns -1. */
static int
end_with(struct esmtp *c, const char *status, const char *why, const char *arg)
{
	c->code = 0;
	c->status[0] = '\0';
	c->host_status = status;
	text_fmt(c->reply, sizeof(c->reply), why, arg);
	log_line("!", c->reply);
	esmtp_close(c);
	return -1;
}

/* Ends a connection that the server closed.  If a program made the connection
 * and nothing came from the server, the program's words are the reason.
 * Returns -1. */
static int
end_closed(struct esmtp *c)
{
	char why[400];

	if (c->via.pid == 0 || c->reply[0] != '\0')
		return end_with(c, "4.4.2", "%s",
		    "the connection was closed by the other side");
	close_without_quit(c, why, sizeof(why));
	c->phase = PHASE_CONNECT;
	return end_with(c, "4.4.1", "the program of -X: %s", why);
}

/* Ends the connection, as the limit of a wait is reached.  Returns -1. */
static int
end_by_limit(struct esmtp *c, enum esmtp_stage stage)
{
	char span[40];
	struct text t;

	text_init(&t, span, sizeof(span));
	span_add(&t, esmtp_limit[stage], 2);
	return end_with(c, "4.4.2", "no answer within %s", span);
}

/* ---- writing --------------------------------------------------------- */

static double
deadline(enum esmtp_stage stage)
{
	clock_read();
	return now.mono + (double)esmtp_limit[stage];
}

/* Writes the bytes in out: 0; or -1 with errno, the rest of the bytes in out,
 * and the connection open. */
static int
send_output(struct esmtp *c, double until)
{
	enum wait_result waited = WAIT_READY;
	size_t done = 0;
	long n;

	while (done < c->nout && waited == WAIT_READY) {
		n = (long)write(c->to, c->out + done, c->nout - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			waited = net_wait(c->to, 1, until);
		else if (n == 0 || errno != EINTR)
			waited = WAIT_FAILED;
	}
	c->nout -= done;
	memmove(c->out, c->out + done, c->nout);
	if (waited == WAIT_TIMEOUT)
		errno = ETIMEDOUT;
	return waited == WAIT_READY ? 0 : -1;
}

/* Writes the bytes in out, as long as the server reads a kilobyte a minute: 0,
 * or -1 as in send_output. */
static int
send_block(struct esmtp *c)
{
	size_t least = (size_t)(esmtp_limit[ES_BLOCK] * 1024 / 60) + 1, was;

	do {
		was = c->nout;
		if (send_output(c, deadline(ES_BLOCK)) == 0)
			return 0;
	} while (errno == ETIMEDOUT && was - c->nout >= least);
	return -1;
}

/* ---- replies --------------------------------------------------------- */

/* Reads more bytes from the server: 0, or -1 and the connection is over. */
static int
read_more(struct esmtp *c, enum esmtp_stage stage, double until)
{
	enum wait_result waited;
	long n;

	c->have = c->used = 0;
	for (;;) {
		waited = net_wait(c->fd, 0, until);
		if (waited == WAIT_TIMEOUT)
			return end_by_limit(c, stage);
		n = waited == WAIT_FAILED ? -1 :
		    (long)read(c->fd, c->in, sizeof(c->in));
		if (n > 0) {
			c->have = (size_t)n;
			return 0;
		}
		if (n == 0)
			return end_closed(c);
		if (errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)
			return end_with(c, "4.4.2", "%s", strerror(errno));
	}
}

/* Replaces the text behind the code of a reply line that repeats a secret. */
static void
hide_secret(const struct esmtp *c, char *line)
{
	int i;

	if (strspn(line, "0123456789") == 3)
		line += 3 + (line[3] == ' ' || line[3] == '-');
	for (i = 0; i < 3; i++)
		if (c->secret[i] != NULL && strstr(line, c->secret[i]) != NULL)
			strcpy(line, "(our password)");
}

/* Reads one line without its end and cuts it to size: 0, or -1 and the
 * connection is over.  *left is the number of bytes that the reply may still
 * have. */
static int
read_line(struct esmtp *c, enum esmtp_stage stage, double until, char *line,
    size_t size, long *left)
{
	size_t n = 0;
	int b;

	for (;;) {
		if (c->used == c->have && read_more(c, stage, until) < 0)
			return -1;
		b = (unsigned char)c->in[c->used++];
		if (b == '\n')
			break;
		if (--*left < 0)
			return end_with(c, "4.5.0", "%s",
			    "a reply without end");
		if (n < size - 1 && b != '\r')
			line[n++] = net_clean_byte(b);
	}
	line[n] = '\0';
	hide_secret(c, line);
	log_line("<", line);
	return 0;
}

/* Adds one line of the reply to its text. */
static void
add_reply_line(struct esmtp *c, struct text *t, const char *line)
{
	const char *s = line + 3 + (line[3] != '\0');
	size_t n = lib_status_len(s);

	/* an enhanced status is a whole word and has the class of the code */
	if (*s != line[0] || (s[n] != ' ' && s[n] != '\0'))
		n = 0;
	if (t->len == 0) {
		text_fmt(c->status, sizeof(c->status), "%.*s", (int)n, s);
		text_add(t, "%.3s", line);
	} else if (n > 0 && n == strlen(c->status) &&
	    memcmp(s, c->status, n) == 0) {
		s += n;		/* the status of the first line again */
	}
	s += strspn(s, " ");
	if (*s != '\0')
		text_add(t, " %s", s);
}

/* Reads the mechanisms behind AUTH, or behind "AUTH=" of old servers. */
static void
scan_auth(struct esmtp *c, const char *s)
{
	char word[12];
	size_t n;

	for (; *s != '\0'; s += n) {
		s += strspn(s, " =");
		n = strcspn(s, " ");
		text_fmt(word, sizeof(word), "%.*s", (int)n, s);
		if (lib_is_same(word, "PLAIN"))
			c->can |= CAN_PLAIN;
		if (lib_is_same(word, "LOGIN"))
			c->can |= CAN_LOGIN;
	}
}

static void
scan_keyword(struct esmtp *c, const char *line)
{
	static const struct { const char *name; unsigned bit; } known[] = {
		{ "SIZE", CAN_SIZE }, { "8BITMIME", CAN_8BITMIME },
		{ "PIPELINING", CAN_PIPELINING }, { "DSN", CAN_DSN }
	};
	const char *s = line + 3 + (line[3] != '\0');
	char word[12];
	size_t i;

	if (text_fmt(word, sizeof(word), "%.*s", (int)strcspn(s, " ="), s) < 0)
		return;
	for (i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (lib_is_same(word, known[i].name))
			c->can |= known[i].bit & ~esmtp_disabled;
	s += strlen(word);
	/* a limit of ten digits, which may not fit 32 bits, counts as none */
	if (lib_is_same(word, "SIZE") && *s != '\0' && strlen(s) < 11)
		c->max_size = num_of(s + 1, NULL);
	if (lib_is_same(word, "AUTH"))
		scan_auth(c, s);
}

/* Reads a reply.  If the reply accepts our EHLO, sets the extensions.  Returns
 * the code of the reply, or 0. */
static int
read_reply(struct esmtp *c, enum esmtp_stage stage, double until, int ehlo)
{
	/* a line has room for the longest secret: see hide_secret */
	char line[1000], reply[sizeof(c->reply)];
	long left = REPLY_BYTES;
	struct text t;
	int i;

	text_init(&t, reply, sizeof(reply));
	for (i = 0; i < REPLY_LINES; i++) {
		if (read_line(c, stage, until, line, sizeof(line), &left) < 0)
			return 0;
		if (line[0] < '2' || line[0] > '5' ||
		    strspn(line, "0123456789") != 3 ||
		    (line[3] != ' ' && line[3] != '-' && line[3] != '\0')) {
			end_with(c, "4.5.0", "this is no reply of a mail "
			    "server: %.100s", line);
			return 0;
		}
		add_reply_line(c, &t, line);
		if (ehlo && line[0] == '2' && i > 0)
			scan_keyword(c, line);
		if (line[3] == '-')
			continue;
		memcpy(reply, line, 3);	/* the last line has the code */
		strcpy(c->reply, reply);
		c->code = (int)num_of(line, NULL);
		if (c->code == 421)
			esmtp_close(c);
		return c->code;
	}
	end_with(c, "4.5.0", "%s", "a reply of too many lines");
	return 0;
}

/* Ends the connection after a write that failed with err.  Returns -1. */
static int
end_failed_write(struct esmtp *c, enum esmtp_stage stage, int err)
{
	c->nout = 0;
	clock_read();
	read_reply(c, stage, now.mono + FINAL_WAIT, 0);
	if (c->code >= 400) {	/* this last reply is the reason */
		esmtp_close(c);
		return -1;
	}
	/* without a reply, read_reply has set a reason, which says more than
	 * err if it has the words of a program, or if the write reached its
	 * limit */
	if (c->code == 0 && (err == ETIMEDOUT ||
	    strcmp(c->phase, PHASE_CONNECT) == 0))
		return -1;
	/* a reply 2xx or 3xx is no reason */
	return err == ETIMEDOUT ? end_by_limit(c, stage) :
	    end_with(c, "4.4.2", "%s", strerror(err));
}

/* Writes the output and reads the reply, to EHLO if ehlo is 1.  Returns the
 * code of the reply, or 0. */
static int
exchange(struct esmtp *c, enum esmtp_stage stage, int ehlo)
{
	double until = deadline(stage);

	if (send_output(c, until) < 0) {
		end_failed_write(c, stage, errno);
		return c->code;
	}
	return read_reply(c, stage, until, ehlo);
}

int
esmtp_read_reply(struct esmtp *c, enum esmtp_stage stage)
{
	return exchange(c, stage, 0);
}

/* ---- sending --------------------------------------------------------- */

int
esmtp_put(void *esmtp, const char *s, size_t n)
{
	struct esmtp *c = esmtp;
	size_t k;

	for (; n > 0; s += k, n -= k) {
		if (c->nout == sizeof(c->out) && send_block(c) < 0)
			return end_failed_write(c, ES_BLOCK, errno);
		k = sizeof(c->out) - c->nout;
		if (k > n)
			k = n;
		memcpy(c->out + c->nout, s, k);
		c->nout += k;
	}
	return 0;
}

int
esmtp_say_as(struct esmtp *c, const char *line, const char *shown)
{
	if (esmtp_put(c, line, strlen(line)) < 0 || esmtp_put(c, "\r\n", 2) < 0)
		return -1;
	log_line(">", shown);
	return 0;
}

int
esmtp_say(struct esmtp *c, const char *line)
{
	return esmtp_say_as(c, line, line);
}

int
esmtp_send_dot(struct esmtp *c, unsigned long size)
{
	char line[60];

	text_fmt(line, sizeof(line), "(%lu bytes)", size);
	if (esmtp_say_as(c, ".", line) < 0)
		return -1;
	return send_block(c) < 0 ? end_failed_write(c, ES_BLOCK, errno) : 0;
}

int
esmtp_is_silent(const struct esmtp *c)
{
	return c->used == c->have && fd_wait(c->fd, 0, 0) == WAIT_TIMEOUT;
}

void
esmtp_quit(struct esmtp *c)
{
	static struct esmtp last;	/* a copy, so that c keeps its reply */

	if (c->fd < 0)
		return;
	last = *c;
	c->fd = -1;
	c->via.pid = 0;
	last.nout = 0;
	if (esmtp_say(&last, "QUIT") == 0)
		esmtp_read_reply(&last, ES_QUIT);
	esmtp_close(&last);
}

int
esmtp_quit_with_reason(struct esmtp *c, const char *status, const char *why)
{
	esmtp_quit(c);
	return end_with(c, status, "%s", why);
}

/* ---- the beginning --------------------------------------------------- */

/* Returns 1 if the server has our own name, at an address of this machine. */
static int
is_this_machine(const struct esmtp *c, const struct net_opt *opt)
{
	char name[NET_NAME];

	if (opt->self == NULL || c->peer.port != NET_PORT ||
	    strlen(c->reply) < 4 || !net_is_local(&c->peer))
		return 0;
	text_fmt(name, sizeof(name), "%.*s", (int)strcspn(c->reply + 4, " "),
	    c->reply + 4);
	return lib_is_same(name, opt->self);
}

/* Says HELO after EHLO was refused: 0 after any reply, even a refusal; or -1 if
 * the connection is over without a reply to HELO, and then the reply to EHLO is
 * the reason. */
static int
exchange_helo(struct esmtp *c, const char *line)
{
	static struct esmtp refused;	/* a copy, with the reply to EHLO */

	refused = *c;
	c->can = 0;
	c->phase = "HELO";
	if (esmtp_say(c, line) == 0 && esmtp_read_reply(c, ES_HELO) != 0)
		return 0;
	*c = refused;
	c->fd = -1;
	c->via.pid = 0;
	return -1;
}

/* Says EHLO, and HELO if EHLO is refused: 0 or -1.  If takes_greeting is 1, a
 * program has taken the greeting, and may pass it on in front of the reply. */
static int
exchange_ehlo(struct esmtp *c, const char *name, int takes_greeting)
{
	char line[NET_NAME + 10], near[64];

	if (name == NULL) {
		if (c->via.pid > 0)	/* the program's address is unknown */
			strcpy(near, "[127.0.0.1]");
		else if (net_print_local(c->fd, near, sizeof(near)) < 0)
			return end_with(c, "4.4.2", "%s", strerror(errno));
		name = near;
	}
	text_fmt(line, sizeof(line), "EHLO %s", name);
	c->phase = takes_greeting ? "the handshake, or EHLO" : "EHLO";
	if (esmtp_say(c, line) < 0 ||
	    exchange(c, takes_greeting ? ES_GREETING : ES_HELO, 1) == 0)
		return -1;
	c->phase = "EHLO";
	if (c->code == 220 && takes_greeting && read_reply(c, ES_HELO,
	    deadline(ES_HELO), 1) == 0)
		return -1;	/* 220 was the greeting */
	if (c->code >= 500) {
		text_fmt(line, sizeof(line), "HELO %s", name);
		if (exchange_helo(c, line) < 0)
			return -1;
	}
	if (c->code / 100 == 2)
		return 0;
	esmtp_quit(c);		/* keeps the reply in c */
	return -1;
}

/* Connects a socket, or starts a program: 0, or -1 with errno. */
static int
make_connection(struct esmtp *c, const struct net_opt *opt)
{
	int sock = -1, fd[2], result;

	if (opt->via == NULL || via_wants_socket(opt->via)) {
		sock = net_connect(&c->peer, opt, deadline(ES_CONNECT));
		if (sock < 0)
			return -1;
	}
	if (opt->via == NULL) {
		c->fd = c->to = sock;
		return 0;
	}
	result = via_open(&c->via, opt->via, &c->peer, sock, fd);
	if (sock >= 0)
		close(sock);
	if (result < 0)
		return -1;
	c->fd = fd[0];
	c->to = fd[1];
	return 0;
}

int
esmtp_open(struct esmtp *c, const struct net_addr *peer,
    const struct net_opt *opt)
{
	int takes_greeting = opt->via != NULL && via_takes_greeting(opt->via);
	char line[NET_NAME + 100];

	memset(c, 0, offsetof(struct esmtp, out));
	c->peer = *peer;
	text_fmt(c->server, sizeof(c->server), strcmp(peer->name, peer->text)
	    == 0 ? "%s" : "%s %s", peer->name, peer->text);
	text_fmt(line, sizeof(line), "%s %s:%d", c->peer.name, c->peer.text,
	    c->peer.port);
	log_line("=", line);
	c->phase = PHASE_CONNECT;
	c->fd = -1;
	if (make_connection(c, opt) < 0)
		return end_with(c, "4.4.1", "%s", strerror(errno));
	c->phase = "the greeting";
	if (!takes_greeting && esmtp_read_reply(c, ES_GREETING) == 0)
		return -1;
	if (!takes_greeting && c->code / 100 != 2) {
		esmtp_quit(c);	/* keeps the reply in c */
		return -1;
	}
	if (is_this_machine(c, opt))
		return end_with(c, "5.4.6", "%s", "it is this machine");
	return exchange_ehlo(c, opt->self, takes_greeting);
}
