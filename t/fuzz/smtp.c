/*
 * smtp.c - any bytes as what an SMTP server says, from its greeting on.
 *
 * The first byte chooses what we want: a login, PIPELINING and the like, and a
 * message with bytes above 127.  All that the server will say is there at once;
 * then it closes the connection.
 *
 * Each of three recipients gets one verdict, in words of a line and with a
 * status that goes with it.  Nobody has the message without a good reply to
 * its last dot.  What we send is lines that end in CR LF.  After a login no
 * words have our password.
 */
#define via_open fuzz_open
#define via_close fuzz_close
#define via_wants_socket fuzz_wants_socket
#define via_takes_greeting fuzz_takes_greeting
#include "../../ta/esmtp.c"
#include "../../ta/auth.h"
#include "../../ta/trans.h"
#include "fuzz.h"
#include <signal.h>

#define MOST	4000	/* bytes of a server, as a pipe has room for */
#define RCPTS	3
#define DOT	"\r\n.\r\n"

static const unsigned char *server;	/* the bytes that the server says */
static size_t server_size;
static int to_us, from_us;		/* our ends of the server's pipes */
static char sent[70000];		/* the bytes that the server was sent */
static struct lib_rcpt rcpt[RCPTS];
static int delivered, eight;
static struct esmtp session;

/* ---- the program that makes the connection --------------------------- */

int
fuzz_wants_socket(const char *command)
{
	(void)command;
	return 0;
}

int
fuzz_takes_greeting(const char *command)
{
	return *command == 'g';
}

int
fuzz_open(struct via *v, const char *command, const struct net_addr *peer,
    int sock, int fd[2])
{
	int in[2], out[2];

	(void)command;
	(void)peer;
	(void)sock;
	fuzz_must(pipe(in) == 0 && pipe(out) == 0, "there are pipes");
	fuzz_must(write(in[1], server, server_size) == (long)server_size,
	    "a pipe has room");
	close(in[1]);
	fuzz_must(fd_nonblock(in[0]) == 0 && fd_nonblock(out[0]) == 0 &&
	    fd_nonblock(out[1]) == 0, "pipes need not block");
	fd[0] = to_us = in[0];
	fd[1] = out[1];
	from_us = out[0];
	v->pid = 1;
	v->err = -1;
	return 0;
}

void
fuzz_close(struct via *v, char *why, size_t size)
{
	v->pid = 0;
	text_fmt(why, size, "it ended");
}

/* ---- the keeper ------------------------------------------------------ */

static void
see_words(const char *s)
{
	for (; s != NULL && *s != '\0'; s++)
		fuzz_must((unsigned char)*s >= ' ' && *s != 127,
		    "words have no control bytes");
}

static void
tell(struct lib_job *job, struct lib_rcpt *r, const struct lib_verdict *v)
{
	(void)job;
	fuzz_must(r->unreported, "a recipient gets one verdict");
	r->unreported = 0;
	fuzz_must(v->text != NULL && *v->text != '\0', "there are words");
	see_words(v->text);
	see_words(v->diagnostic);
	see_words(v->status);
	fuzz_must(session.secret[0] == NULL || (strstr(v->text, "se/cret") == NULL &&
	    (v->diagnostic == NULL || strstr(v->diagnostic, "se/cret") ==
	    NULL)), "words do not have our password");
	delivered += v->code == 0;
	if (v->status != NULL)
		fuzz_must(*v->status == (v->code == 0 ? '2' : v->code ==
		    X_TEMPFAIL || v->code == X_DEFERALL ? '4' : '5') &&
		    lib_status_len(v->status) == strlen(v->status),
		    "a status goes with its code");
}

static int
message(const struct lib_job *job, const struct lib_rcpt *r,
    int (*put)(void *, const char *, size_t), void *arg)
{
	static const char text[] = "Subject: test\n\n.\nFrom me\nlast",
	    high[] = "Subject: test\n\n\303\251\r\r\n";

	(void)job;
	(void)r;
	return eight ? put(arg, high, sizeof(high) - 1) :
	    put(arg, text, sizeof(text) - 1);
}

static int
alone(void)
{
	return 0;
}

static const struct lib_far far_one = { tell, message, alone };

/* ---- one server ------------------------------------------------------ */

/* Those who have no verdict yet. */
static int
left(struct lib_rcpt **to)
{
	int i, n = 0;

	for (i = 0; i < RCPTS; i++)
		if (rcpt[i].unreported)
			to[n++] = &rcpt[i];
	return n;
}

static void
converse(struct esmtp *c, struct lib_job *job, int seven)
{
	enum trans_end end = TRANS_OVER;
	struct lib_rcpt *to[RCPTS];
	int i, n, most = 0;

	while (end == TRANS_OVER && c->fd >= 0 && (n = left(to)) > 0) {
		fuzz_must(++most <= RCPTS + 1, "each transaction gets on");
		end = trans_run(c, job, to, n, seven);
	}
	for (n = left(to), i = 0; i < n; i++)
		trans_defer_rcpt(c, job, to[i], X_DEFERALL);
}

/* What the server was sent. */
static void
see_sent(void)
{
	long i, n = (long)read(from_us, sent, sizeof(sent) - 1);

	sent[n < 0 ? 0 : n] = '\0';
	close(from_us);
	for (i = 0; i < n; i++)
		fuzz_must((sent[i] == '\n') == (i > 0 && sent[i - 1] == '\r'),
		    "CR and LF come together");
	fuzz_must(delivered == 0 || (strstr(sent, "DATA\r\n") != NULL &&
	    strstr(sent, DOT) != NULL), "what is delivered was sent");
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static char ret[] = "HDRS", envid[] = "Env+2Bid",
	    dsn[] = "NOTIFY=SUCCESS ORCPT=rfc822;a+2Bb";
	static const char *const user[RCPTS] = { "anna@a.example", "b@b",
	    "\"c d\"@c.example" };
	static struct lib_sender from;
	struct lib_job job;
	struct net_addr peer;
	struct net_opt opt;
	struct auth auth;
	int i, wish;

	if (n == 0 || n > MOST)
		return 0;
	signal(SIGPIPE, SIG_IGN);
	lib_far = &far_one;
	wish = data[0];
	server = data + 1;
	server_size = n - 1;
	eight = wish & 1;
	esmtp_disabled = wish & 4 ? 0 : CAN_PIPELINING;
	memset(&job, 0, sizeof(job));
	memset(&peer, 0, sizeof(peer));
	memset(&opt, 0, sizeof(opt));
	memset(&auth, 0, sizeof(auth));
	strcpy(job.name, "123-1");
	job.envid = envid;
	job.ret = ret;
	from.address = from.dsn_to = "s@a.org";
	for (i = 0; i < RCPTS; i++) {
		memset(&rcpt[i], 0, sizeof(rcpt[i]));
		rcpt[i].next = i + 1 < RCPTS ? &rcpt[i + 1] : NULL;
		rcpt[i].user = user[i];
		rcpt[i].host = "h";
		rcpt[i].from = &from;
		rcpt[i].dsn = i > 0 ? dsn : NULL;
		rcpt[i].unreported = 1;
	}
	job.rcpts = rcpt;
	strcpy(peer.name, "mx.example");
	strcpy(peer.text, "[192.0.2.1]");
	peer.port = 2525;
	opt.self = wish & 8 ? "our.example" : NULL;
	opt.via = wish & 16 ? "g" : "p";
	auth.found = 1;
	strcpy(auth.user, "user");
	strcpy(auth.password, "se/cret");
	delivered = 0;
	if (esmtp_open(&session, &peer, &opt) == 0 && wish & 32)
		auth_login(&session, &auth);
	see_words(session.reply);
	converse(&session, &job, wish & 2);
	esmtp_quit(&session);
	see_sent();
	return 0;
}
