/*
 * trans.c - one mail transaction: a message, its sender, its recipients.
 *
 * The commands are MAIL, a RCPT for each recipient, DATA, the message, a dot.
 * With PIPELINING they are sent ahead of the replies, but at most WINDOW bytes
 * of them.  DATA goes with the rest, so a server may ask for the message though
 * it has refused all recipients; it gets a lone dot.
 *
 *	reply			verdict
 *	4xx, 5xx to MAIL	deferred, failed: all of the transaction
 *	530 to anything		deferred: the server wants TLS or a password,
 *				and the administrator can correct that
 *	4xx, 5xx to RCPT	that recipient
 *	X.5.3 to RCPT, or 452,	no verdict if others were accepted: there may be
 *	552 without a status	too many, and the rest gets another transaction
 *	4xx, 5xx to DATA, dot	all accepted recipients
 *	2xx to the dot		delivered: all accepted recipients
 *
 *	end of the connection
 *	before the first reply	no verdict: the server may have closed a kept
 *				connection, and the caller makes a new one
 *	before the message	no verdict: the caller tries another server, or
 *				the host has failed
 *	in the message		deferred: all accepted recipients.  The server
 *				may die of this message, so other mail does
 *				not wait
 *	after the dot		deferred, too.  If the message has arrived, it
 *				is sent twice; without the deferral a message
 *				that has not arrived would be lost (RFC 5321
 *				4.2.5)
 *
 * Verdicts are given as soon as they are known.  The status of a recipient
 * comes from the server's text, or else from the command and the code.
 *
 * If the server offers DSN (RFC 3461), NOTIFY, ORCPT, RET and ENVID are passed
 * on, and a success causes no DSN here, since that is now the server's duty;
 * otherwise a success is "relayed".  The parameters are put together from known
 * words; text of a control file cannot add a parameter.
 *
 * The message is read once before it is sent: for its exact size, and for bytes
 * with the top bit set, which BODY= must declare.  If its size has changed when
 * it is sent, there is no dot, and nothing was delivered.
 */
#include "trans.h"
#include "../lib/origin.h"
#include "wire.h"

#define WINDOW		4096	/* bytes of commands without a reply */
#define COMMAND		3000	/* bytes of one command; a word of a job has at
				 * most WORD_MAX_ */

struct trans {
	struct esmtp *c;
	struct lib_job *job;
	struct lib_rcpt **to;
	int	n;
	struct wire count;	/* size of the message, and 8-bit bytes */
	int	refused;	/* MAIL was refused */
	int	naccepted;	/* accepted recipients */
	int	data;		/* the server waits for the message */
	char	line[COMMAND];
	size_t	len[TRANS_MAX + 2];	/* bytes of each command sent */
	char	accepted[TRANS_MAX];	/* 1: the recipient was accepted */
};

/* ---- verdicts -------------------------------------------------------- */

/* The status for a code that comes without one. */
static const struct {
	enum esmtp_stage stage;	/* the command; ES_STAGES: any command */
	int	code;		/* the last two digits */
	const char *tail;
} meaning[] = {
	{ ES_MAIL, 50, "1.8" }, { ES_MAIL, 53, "1.7" },
	{ ES_MAIL, 52, "3.4" },
	{ ES_RCPT, 50, "1.1" }, { ES_RCPT, 51, "1.6" },
	{ ES_RCPT, 52, "2.2" }, { ES_RCPT, 53, "1.3" },
	{ ES_DOT, 52, "3.4" }, { ES_DOT, 54, "6.0" },
	{ ES_STAGES, 52, "3.1" }, { ES_STAGES, 51, "3.0" },
	{ ES_STAGES, 0, "5.2" }, { ES_STAGES, 1, "5.4" },
	{ ES_STAGES, 2, "5.1" }, { ES_STAGES, 3, "5.1" },
	{ ES_STAGES, 4, "5.4" }, { ES_STAGES, 30, "7.0" },
	{ ES_STAGES, 35, "7.8" }
};

/* Returns the status for a code, without the class.  450, 451 and 452 to RCPT
 * mean something else than 550, 551 and 552. */
static const char *
status_tail(enum esmtp_stage stage, int code)
{
	size_t i;

	if (code == 450)
		return stage == ES_RCPT ? "2.1" : "0.0";
	if (code < 500)
		stage = ES_STAGES;
	for (i = 0; i < sizeof(meaning) / sizeof(*meaning); i++)
		if (meaning[i].code == code % 100 &&
		    (meaning[i].stage == stage ||
		    meaning[i].stage == ES_STAGES))
			return meaning[i].tail;
	return "0.0";
}

/* What a reply or a reason is about, by stage.  ES_BLOCK is for a connection
 * that ended before the whole message was sent; ES_DOT is for the reply to the
 * whole message, and for a connection that ended without this reply. */
static const char *const command[ES_STAGES] = {
	"", "", "", "MAIL FROM", "RCPT TO", "DATA", "DATA", "the message", ""
};

/* A verdict and the memory of its texts. */
struct verdict {
	struct lib_verdict v;
	char	status[12], text[900], diagnostic[520], remote[NET_NAME + 8];
};

static void
start_verdict(struct verdict *w, const struct esmtp *c, int code)
{
	memset(w, 0, offsetof(struct verdict, text));
	w->v.code = code;
	w->v.status = w->status;
	w->v.text = w->text;
	w->v.remote = w->remote;
	text_fmt(w->remote, sizeof(w->remote), "dns; %s", c->peer.name);
}

/* Sets the text of the verdict to the server's reply, or to the reason why
 * there was no reply. */
static void
set_text(struct verdict *w, const struct esmtp *c, const char *what)
{
	if (c->code == 0) {
		text_fmt(w->text, sizeof(w->text), "%s: %s (%s)", c->server,
		    c->reply, what);
		return;
	}
	text_fmt(w->text, sizeof(w->text), "%s said to %s: %s", c->server,
	    what, c->reply);
	text_fmt(w->diagnostic, sizeof(w->diagnostic), "smtp; %s", c->reply);
	w->v.diagnostic = w->diagnostic;
}

/* Reports the verdict for the reply to this command. */
static void
report_reply(struct trans *t, struct lib_rcpt *r, enum esmtp_stage stage)
{
	const struct esmtp *c = t->c;
	int class = 4, code = X_TEMPFAIL;
	struct verdict w;

	if (c->code / 100 == 5 && c->code != 530) {
		class = 5;
		code = X_UNAVAILABLE;
	} else if (c->code / 100 == 2 && stage == ES_DOT) {
		class = 2;
		code = 0;
	}
	start_verdict(&w, c, code);
	set_text(&w, c, command[stage]);
	if (c->code == 0)
		text_fmt(w.status, sizeof(w.status), "%s", c->host_status);
	else if (c->code == 421)
		strcpy(w.status, "4.3.2");
	else if (c->status[0] == '0' + class)
		strcpy(w.status, c->status);
	else
		text_fmt(w.status, sizeof(w.status), "%c.%s", '0' + class,
		    status_tail(stage, c->code));
	if (class == 2 && c->can & CAN_DSN)
		w.v.status = NULL;
	if (class == 2)
		w.v.action = "relayed";
	lib_report_verdict(t->job, r, &w.v);
}

/* Reports a verdict of our own, which no reply gave, on the accepted
 * recipients; on all if none was accepted. */
static void
report_own_verdict(struct trans *t, int code, const char *status,
    const char *text)
{
	struct verdict w;
	int i;

	start_verdict(&w, t->c, code);
	strcpy(w.status, status);
	text_fmt(w.text, sizeof(w.text), "%s: %s", t->c->server, text);
	for (i = 0; i < t->n; i++)
		if (t->naccepted == 0 || t->accepted[i])
			lib_report_verdict(t->job, t->to[i], &w.v);
}

static void
report_accepted(struct trans *t, enum esmtp_stage stage)
{
	int i;

	for (i = 0; i < t->n; i++)
		if (t->accepted[i])
			report_reply(t, t->to[i], stage);
}

void
trans_defer_rcpt(const struct esmtp *c, struct lib_job *job,
    struct lib_rcpt *r, int code)
{
	struct verdict w;

	start_verdict(&w, c, code);
	set_text(&w, c, c->phase);
	strcpy(w.status, c->host_status != NULL ? c->host_status : "4.3.2");
	lib_report_verdict(job, r, &w.v);
}

/* ---- commands -------------------------------------------------------- */

/* Adds a parameter whose value is xtext of at most max bytes.  Any other value
 * is left out, as the server would refuse the command. */
static void
add_param(struct text *line, const char *name, const char *value, size_t max)
{
	if (*value != '\0' && strlen(value) <= max && xtext_is_valid(value))
		text_add(line, " %s=%s", name, value);
}

static void
add_mail_command(struct trans *t, struct text *line)
{
	const struct lib_job *job = t->job;

	text_add(line, "MAIL FROM:<%s>", t->to[0]->from->address);
	if (t->c->can & CAN_SIZE)
		text_add(line, " SIZE=%lu", t->count.size);
	if (t->c->can & CAN_8BITMIME && t->count.eight)
		text_add(line, " BODY=8BITMIME");
	if (!(t->c->can & CAN_DSN))
		return;
	if (job->ret != NULL && (lib_is_same(job->ret, "FULL") ||
	    lib_is_same(job->ret, "HDRS")))
		text_add(line, " RET=%s", job->ret);
	if (job->envid != NULL)
		add_param(line, "ENVID", job->envid, 100);
}

/* Makes command number i: MAIL is 0, DATA is n + 1. */
static void
make_command(struct trans *t, int i)
{
	struct text line;
	char orcpt[600];
	unsigned wishes;
	size_t n;

	text_init(&line, t->line, sizeof(t->line));
	if (i == 0) {
		add_mail_command(t, &line);
	} else if (i <= t->n) {
		text_add(&line, "RCPT TO:<%s>", t->to[i - 1]->user);
		if (t->c->can & CAN_DSN) {
			wishes = ctl_parse_notify(t->to[i - 1]->dsn, orcpt,
			    sizeof(orcpt));
			if (wishes & NOTIFY_NEVER)
				wishes = NOTIFY_NEVER;
			ctl_add_notify(&line, " NOTIFY=", wishes);
			n = strcspn(orcpt, ";");	/* length of the type */
			if (n > 0 && n + 1 < strlen(orcpt))
				add_param(&line, "ORCPT", orcpt, 500);
		}
	} else {
		text_add(&line, "DATA");
	}
	t->len[i] = line.len + 2;
}

/* ---- the envelope ---------------------------------------------------- */

/* Returns 1 if command i may be sent while so many bytes of earlier commands
 * are unanswered. */
static int
can_send(const struct trans *t, int i, size_t unanswered)
{
	if (t->refused)
		return 0;
	if (unanswered == 0)
		return i <= t->n || t->naccepted > 0;
	return t->c->can & CAN_PIPELINING &&
	    unanswered + t->len[i] <= WINDOW;
}

/* Returns 1 if the reply can mean that this is one recipient too many. */
static int
is_too_many(const struct trans *t)
{
	const char *status = t->c->status;

	return t->naccepted > 0 && t->c->code >= 400 && (status[0] == '\0' ?
	    t->c->code == 452 || t->c->code == 552 :
	    strcmp(status + 1, ".5.3") == 0);
}

/* Sets the state of the transaction by the reply to command i, and reports
 * verdicts. */
static void
apply_reply(struct trans *t, int i)
{
	int good = t->c->code / 100 == 2, k;

	if (i == 0) {
		t->refused = !good;
		t->c->in_mail = good;
		for (k = 0; k < t->n && !good; k++)
			report_reply(t, t->to[k], ES_MAIL);
	} else if (i > t->n) {
		t->data = t->c->code == 354;
		if (!t->data)
			report_accepted(t, ES_DATA);
	} else if (!t->refused) {
		t->accepted[i - 1] = (char)good;
		t->naccepted += good;
		if (!good && !is_too_many(t))
			report_reply(t, t->to[i - 1], ES_RCPT);
	}
}

/* Sends MAIL, RCPT and DATA, and reads the replies. */
static enum trans_end
send_envelope(struct trans *t)
{
	enum esmtp_stage stage = ES_MAIL;	/* of command i */
	size_t unanswered = 0;
	int i, next = 0;

	for (i = 0; i < t->n + 2; i++) {
		while (unanswered <= WINDOW / 2 && next < t->n + 2) {
			make_command(t, next);
			if (!can_send(t, next, unanswered))
				break;
			if (esmtp_say(t->c, t->line) < 0)
				return i == 0 ? TRANS_EARLY : TRANS_LOST;
			unanswered += t->len[next++];
		}
		if (i == next)	/* MAIL or all RCPT were refused */
			break;
		t->c->phase = command[stage];
		if (esmtp_read_reply(t->c, stage) == 0 || t->c->code == 421)
			return i == 0 ? TRANS_EARLY : TRANS_LOST;
		unanswered -= t->len[i];
		apply_reply(t, i);
		stage = i < t->n ? ES_RCPT : ES_DATA;
	}
	return TRANS_OVER;
}

/* ---- the message ----------------------------------------------------- */

/* Sends the message after 354, and reports the verdicts. */
static void
send_message(struct trans *t)
{
	static struct wire w;	/* static, as the struct is large */
	int whole;	/* the message was read, and has kept its size */
	size_t n;

	t->c->in_mail = 0;
	t->c->phase = command[ES_DOT];
	if (t->naccepted == 0) {
		if (esmtp_say(t->c, ".") == 0)
			esmtp_read_reply(t->c, ES_DOT);
		return;
	}
	wire_start(&w, esmtp_put, t->c);
	whole = lib_pass_message(t->job, t->to[0], wire_convert, &w) == 0 &&
	    wire_end(&w) == 0 && w.size == t->count.size;
	if (!whole || esmtp_send_dot(t->c, w.size) < 0) {
		if (t->c->fd < 0) {
			/* the stage is not ES_DOT, as a 2xx before the dot is
			 * no success */
			report_accepted(t, ES_BLOCK);
			return;
		}
		esmtp_close(t->c);	/* nothing is delivered without a dot */
		report_own_verdict(t, X_TEMPFAIL, "4.3.0",
		    "the message cannot be read");
		return;
	}
	if (esmtp_read_reply(t->c, ES_DOT) == 0) {
		n = strlen(t->c->reply);
		text_fmt(t->c->reply + n, sizeof(t->c->reply) - n, "; the "
		    "message was sent in full, so it may have arrived, and "
		    "may arrive twice");
	}
	report_accepted(t, ES_DOT);
}

/* ---- the transaction ------------------------------------------------- */

/* Sets t->count from the message.  Returns 0, or -1 if the message cannot be
 * sent and the verdicts were reported. */
static int
measure_message_or_report(struct trans *t, int seven)
{
	const struct esmtp *c = t->c;
	char text[100];

	wire_start(&t->count, NULL, NULL);
	if (lib_pass_message(t->job, t->to[0], wire_convert, &t->count) != 0) {
		report_own_verdict(t, X_TEMPFAIL, "4.3.0",
		    "the message cannot be read");
		return -1;
	}
	wire_end(&t->count);
	if (c->can & CAN_SIZE && c->max_size > 0 &&
	    t->count.size > c->max_size) {
		text_fmt(text, sizeof(text), "the message has %lu bytes, but "
		    "the server accepts at most %lu", t->count.size,
		    c->max_size);
		report_own_verdict(t, X_UNAVAILABLE, "5.3.4", text);
		return -1;
	}
	if (seven && t->count.eight && !(c->can & CAN_8BITMIME)) {
		report_own_verdict(t, X_UNAVAILABLE, "5.6.3", "the message has "
		    "8-bit bytes, and the server does not offer 8BITMIME");
		return -1;
	}
	return 0;
}

enum trans_end
trans_run(struct esmtp *c, struct lib_job *job, struct lib_rcpt **to, int n,
    int seven)
{
	static struct trans t;	/* static, as the struct is large */
	enum trans_end end;

	memset(&t, 0, sizeof(t));
	t.c = c;
	t.job = job;
	t.to = to;
	t.n = n;
	if (measure_message_or_report(&t, seven) < 0)
		return TRANS_OVER;
	if (c->in_mail) {	/* the earlier transaction is open */
		c->in_mail = 0;
		c->phase = "RSET";
		if (esmtp_say(c, "RSET") < 0 ||
		    esmtp_read_reply(c, ES_HELO) / 100 != 2)
			return TRANS_EARLY;
	}
	end = send_envelope(&t);
	if (t.data)
		send_message(&t);
	return end;
}
