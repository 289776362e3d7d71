/*
 * two.c - reads the queue of a scheduler with ZMailer's protocol 2.
 *
 *	S: version zmailer 2.0
 *	S: 220 MAILQ-V2-CHALLENGE: 1795220140.12345.1
 *	C: AUTH nobody f2d4...		the MD5 of that line and the password
 *	S: +OK
 *	C: SHOW QUEUE THREADS2
 *	S: +OK until LF.LF
 *	S: smtp<TAB>example.org<TAB>N=1<TAB>...
 *	S: .
 *	C: SHOW THREAD smtp example.org
 *	S: +OK until LF.LF
 *	S: #smtp/example.org/0  N=1 ...
 *	S: X/123-45<TAB>0<TAB>...	one line for each recipient
 *	S: .
 *	C: QUIT
 *
 * Without -U, mailq tries logins until the scheduler accepts one: those of
 * MAILSHARE's scheduler.auth that have the right TT or ALL, if mailq may read
 * that file, then the user nobody with the password nobody.  A line of the
 * file:
 *
 *	user:password:SNMP QQ TT ETRN:[127.0.0.0]/8
 *
 * The scheduler puts a second dot before a line that begins with a dot.
 * Threads are requested one by one, so a job that moves meanwhile may be shown
 * twice or not at all; the protocol has no snapshot.
 *
 * As in a dump, everything is checked, and the first error ends the reading.
 * The scheduler's clock is taken to be the same as ours.
 */
#include "mq.h"
#include <signal.h>

/* The fields of a recipient's line: 0 name of the message, 1 number of the
 * recipient in its vertex, 2 sender, 3 offset, 4 time of expiry, 5 time of the
 * next try, 6 time of the last feed, 7 tries, 8 state, 9 reason. */
#define FIELDS	10

struct talk {
	struct mq_queue *q;
	struct mq_in *in;
	char	*why;
	double	wall;
	size_t	len;
	char	line[MQ_TOKEN_MAX];
};

/* Keeps the error, the last one if there are several.  Returns -1. */
static int
set_error(struct talk *t, const char *f, const char *arg)
{
	text_fmt(t->why, MQ_WHY_MAX, f, arg);
	return -1;
}

/* ---- lines ------------------------------------------------------------ */

/* Reads the next line: 0 or -1. */
static int
read_line(struct talk *t)
{
	int c;

	for (t->len = 0; (c = mq_read_byte(t->in)) > 0 && c != '\n' &&
	    t->len + 1 < sizeof(t->line); )
		t->line[t->len++] = (char)c;
	t->line[t->len] = '\0';
	if (c < 0)
		return set_error(t, "the scheduler's answer is cut short%s",
		    mq_reason_suffix(t->in->why));
	return c == '\n' ? 0 : set_error(t, "the scheduler's line \"%.100s\" "
	    "is too long, or has a zero byte", t->line);
}

/* Sends a command and reads the scheduler's first line: 0, or -1 if it refuses
 * the command. */
static int
send_and_check_reply(struct talk *t, const char *command)
{
	char refused[2 * MQ_WORD_MAX];

	if (fd_write(t->in->fd, command, strlen(command)) < 0 ||
	    fd_write(t->in->fd, "\n", 1) < 0)
		return set_error(t, "the scheduler cannot be asked: %s",
		    strerror(errno));
	if (read_line(t) < 0)
		return -1;
	if (t->line[0] == '+')
		return 0;
	text_fmt(refused, sizeof(refused), "the scheduler refuses \"%.*s\": "
	    "%.300s", strncmp(command, "AUTH", 4) == 0 ? 4 : 300, command,
	    t->line);
	return set_error(t, "%s; -U gives another user and password", refused);
}

enum answer { ANSWER_BAD = -1, ANSWER_END, ANSWER_LINE };

/* Reads the next line of an answer, without the dot before another dot. */
static enum answer
next_answer_line(struct talk *t)
{
	if (read_line(t) < 0)
		return ANSWER_BAD;
	if (t->line[0] != '.')
		return ANSWER_LINE;
	if (t->len == 1)
		return ANSWER_END;
	memmove(t->line, t->line + 1, t->len--);
	return ANSWER_LINE;
}

/* Splits "user:password:rights:addresses" and keeps the login: 0, or -1 if the
 * line is damaged, is a comment (with '#' or '*' before it), or has no right to
 * see the queue. */
static int
parse_auth(char *line, char *login, size_t size)
{
	char list[2 * MQ_WORD_MAX + 2];	/* the rights, a blank around each */
	char *password = strchr(line, ':'), *rights;

	rights = password == NULL ? NULL : strchr(password + 1, ':');
	if (rights == NULL || *line == '#' || *line == '*')
		return -1;
	*rights++ = '\0';
	rights[strcspn(rights, ":\r\n")] = '\0';
	text_fmt(list, sizeof(list), " %s ", rights);
	return strstr(list, " TT ") != NULL || strstr(list, " ALL ") != NULL ?
	    text_fmt(login, size, "%s", line) : -1;
}

/* Sends a login: "user/password", "user:password" or "user,password".  Returns
 * 0 or -1.  If the scheduler refuses the login, t->line has its answer. */
static int
try_login(struct talk *t, const char *challenge, const char *login)
{
	static char text[MQ_TOKEN_MAX + MQ_WORD_MAX];	/* large for a stack */
	char hex[33], command[MQ_WORD_MAX];
	size_t n = strcspn(login, "/:,");

	text_fmt(text, sizeof(text), "%s%s", challenge,
	    login[n] == '\0' ? "" : login + n + 1);
	mq_md5(text, hex);
	t->line[0] = '\0';
	if (text_fmt(command, sizeof(command), "AUTH %.*s %s", (int)n, login,
	    hex) < 0)
		return set_error(t, "the user's name is too long%s", "");
	return send_and_check_reply(t, command);
}

/* Tries each login of the file, as its lines may be for other addresses than
 * ours, and at last ZMailer's default.  After a refusal t->line begins with
 * '-'; after a failure of any other kind the connection is of no use. */
static int
try_file_logins(struct talk *t, const char *challenge)
{
	char path[MQ_PATH_MAX], line[2 * MQ_WORD_MAX], login[MQ_WORD_MAX];
	int rc = -1;
	FILE *f;

	text_fmt(path, sizeof(path), "%s/scheduler.auth",
	    env_get("MAILSHARE", MAILSHARE));
	f = fopen(path, "r");
	t->line[0] = '-';
	while (rc < 0 && t->line[0] == '-' && f != NULL &&
	    fgets(line, sizeof(line), f) != NULL)
		if (parse_auth(line, login, sizeof(login)) == 0)
			rc = try_login(t, challenge, login);
	if (f != NULL)
		fclose(f);
	return rc < 0 && t->line[0] == '-' ?
	    try_login(t, challenge, "nobody/nobody") : rc;
}

static int
log_in(struct talk *t, const char *login)
{
	static char challenge[MQ_TOKEN_MAX];	/* large for a stack */

	/* the greeting, then the challenge */
	if (read_line(t) < 0 || read_line(t) < 0)
		return -1;
	if (strstr(t->line, "CHALLENGE") == NULL)
		return set_error(t, "the scheduler says \"%.200s\"", t->line);
	strcpy(challenge, t->line);
	return login != NULL ? try_login(t, challenge, login) :
	    try_file_logins(t, challenge);
}

/* ---- the queue -------------------------------------------------------- */

/* Returns the seconds from now until the time in a text, or the argument unset
 * if the text has no time. */
static int
seconds_until(const struct talk *t, const char *then, int unset)
{
	const char *end;
	double at = (double)num_of(then, &end), d = at - t->wall;

	if (end == then || at == 0)
		return unset;
	if (d < -2e9 || d > 2e9)
		return d < 0 ? -2000000000 : 2000000000;
	return (int)d;
}

static void
set_state(const struct talk *t, struct mq_job *j, char **f)
{
	static const char retry[] = "retry in ";

	if (strncmp(f[8], retry, sizeof(retry) - 1) == 0) {
		j->state = MQ_RETRY;
		j->next = seconds_until(t, f[5], MQ_UNKNOWN);
		if (j->next < 0)
			j->next = 0;
	} else if (strcmp(f[8], "channel") == 0) {
		j->state = MQ_LIMIT;
		j->what = "maxchannel";
	} else {	/* protocol 2 has one word for waiting and running */
		j->what = "waits for its turn, or an agent has it";
	}
}

/* Adds a vertex: 0 or -1. */
static int
add_job(struct talk *t, struct mq_dest *d, char **f)
{
	struct mq_queue *q = t->q;
	struct mq_msg *m;
	struct mq_job *j;
	unsigned long tries;

	if (f[0][0] == '\0' || strlen(f[0]) >= MQ_NAME_MAX)
		return set_error(t, "\"%.60s\" is no name of a message", f[0]);
	if (num_upto(f[7], INT_MAX, &tries, NULL) < 0)
		return set_error(t, "\"%.60s\" is no number of tries", f[7]);
	m = mq_msg_get(q, f[0], 1);
	j = m == NULL ? NULL : mq_job_add(q, m);
	if (j == NULL || (j->reason = mq_intern(q, f[9])) == NULL ||
	    (m->sender = mq_intern(q, strcmp(f[2], "<>") == 0 ? "" : f[2])) ==
	    NULL)
		return set_error(t, "%s", MQ_TOO_LARGE);
	j->qid = q->njobs;
	j->dest = d;
	d->njobs++;
	j->tries = (int)tries;
	j->expires = seconds_until(t, f[4], MQ_NEVER);
	set_state(t, j, f);
	return 0;
}

/* Adds the recipient of a line; recipients of a vertex follow each other, from
 * the number 0.  *last is the name of the message in the line before; NULL
 * for the first line.  Returns 0 or -1. */
static int
add_rcpt(struct talk *t, struct mq_dest *d, const char **last)
{
	struct mq_queue *q = t->q;
	char *f[FIELDS];

	if (text_split_tabs(t->line, f, FIELDS) < 0)
		return set_error(t, "the line \"%.100s\" of the scheduler is "
		    "not understood", t->line);
	if (*last == NULL || strcmp(f[1], "0") == 0 ||
	    strcmp(*last, f[0]) != 0) {
		if (add_job(t, d, f) < 0)
			return -1;
		*last = q->msgs[q->jobs[q->njobs - 1].msg].name;
	}
	q->jobs[q->njobs - 1].nrcpt++;
	return 0;
}

/* Adds the vertices of a thread: 0 or -1. */
static int
fetch_thread(struct talk *t, struct mq_dest *d)
{
	char command[3 * MQ_WORD_MAX];
	const char *last = NULL;
	enum answer answer;

	text_fmt(command, sizeof(command), "SHOW THREAD %s %s", d->channel,
	    d->host);
	if (send_and_check_reply(t, command) < 0)
		return -1;
	while ((answer = next_answer_line(t)) == ANSWER_LINE)
		if (t->line[0] != '#' && add_rcpt(t, d, &last) < 0)
			return -1;
	return answer == ANSWER_END ? 0 : -1;
}

/* Adds the destination in the line of a thread: 0 or -1. */
static int
add_dest(struct talk *t)
{
	char *f[2];

	if (text_split_tabs(t->line, f, 2) < 0)
		return set_error(t, "\"%.100s\" is no thread", t->line);
	f[1][strcspn(f[1], "\t")] = '\0';
	if (strlen(f[0]) >= MQ_WORD_MAX || strlen(f[1]) >= MQ_WORD_MAX)
		return set_error(t, "\"%.60s\" is too long", f[1]);
	return mq_dest_get(t->q, f[0], f[1]) != NULL ? 0 :
	    set_error(t, "%s", MQ_TOO_LARGE);
}

static int
fetch_queue(struct talk *t)
{
	struct mq_dest *d;
	enum answer answer;

	if (send_and_check_reply(t, "SHOW QUEUE THREADS2") < 0)
		return -1;
	while ((answer = next_answer_line(t)) == ANSWER_LINE)
		if (add_dest(t) < 0)
			return -1;
	if (answer == ANSWER_BAD)
		return -1;
	for (d = t->q->dests; d != NULL; d = d->next)
		if (fetch_thread(t, d) < 0)
			return -1;
	return 0;
}

static int
fetch_report(struct talk *t)
{
	enum answer answer;

	if (send_and_check_reply(t, "SHOW QUEUE THREADS") < 0)
		return -1;
	while ((answer = next_answer_line(t)) == ANSWER_LINE)
		if (t->q->report != NULL)
			t->q->report(t->line);
	return answer == ANSWER_END ? 0 : -1;
}

int
mq_read_protocol_2(struct mq_queue *q, struct mq_in *in, const char *login,
    char why[MQ_WHY_MAX])
{
	static struct talk t;	/* large for a stack */
	void (*was)(int) = signal(SIGPIPE, SIG_IGN);
	int rc;

	memset(&t, 0, sizeof(t));
	t.q = q;
	t.in = in;
	t.why = why;
	t.wall = difftime(time(NULL), (time_t)0);
	why[0] = '\0';
	rc = log_in(&t, login);
	if (rc == 0)
		rc = q->no_queue ? fetch_report(&t) : fetch_queue(&t);
	fd_write(in->fd, "QUIT\n", 5);	/* a failure does not matter */
	if (was != SIG_ERR)
		signal(SIGPIPE, was);
	return rc;
}
