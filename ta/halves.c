/*
 * halves.c - splits an agent into two processes, for safety.
 *
 * The process that talks to strangers cannot touch our files.  The keeper is
 * the agent that the scheduler has started: it opens control files, holds the
 * locks, reads the message and writes down verdicts.  The talker is its child.
 * It has two pipes to the keeper and no other descriptor; if we are root, it
 * runs as another user, and in another root directory if the administrator has
 * set one.  The talker works on a job like an agent of one process, and asks
 * the keeper for all that lib.c does.  A job of one recipient:
 *
 *	keeper			talker
 *	J ...					the job, its recipients
 *				A		is the scheduler there?
 *	1:					yes
 *				M 0:		the message of recipient 0
 *	8192:(bytes)		+		a piece; send the next one
 *	17:(bytes)		+
 *	0:0:					the end of the message
 *				.		I am alive
 *				V 0:0: ...	recipient 0 is delivered
 *				E		the job is over
 *
 * A number is decimal digits and a colon; a text is its length as a number and
 * then its bytes, or "-:" for no text.
 *
 * The keeper checks all that it reads.  A verdict is for a recipient of this
 * job that has none yet; its code is one of a few, its status has the class of
 * the code, and its texts are bounded and have no control bytes.  After
 * anything else, and after silence, the talker is killed, and recipients
 * without a verdict are deferred with the reason.  The next job gets a new
 * talker.  So a talker that was taken over can only lie about the mail it is
 * given, and waste its agent's time, which timeout= of the clause bounds.
 *
 * The talker does not outlive the keeper: it ends when it reads the end of its
 * pipe, or cannot write a sign of life.  The keeper handles signals.  The
 * talker is forked, so its memory begins as a copy of the keeper's; the keeper
 * therefore has no secrets in memory.  The talker itself reads those it needs
 * before it gives up the keeper's rights.
 */
#include "halves.h"
#include "job.h"
#include <sys/wait.h>
#include <signal.h>

#define BUF_SIZE	4096	/* bytes read or written at once */
#define PIECE_SIZE	8192	/* bytes of the largest piece of a message */
#define FIELD_SIZE	8192	/* bytes of a line of a control file */
#define LOG_SIZE	1000	/* bytes of a line of the log */
#define LOG_LINES	10000	/* log lines of a job; more are dropped */
#define DIGITS		9	/* digits of a number, which fits any long */
#define END_WAIT	3.0	/* seconds that the talker may take to end once
				 * a pipe is closed */

enum trouble {
	NONE,
	GONE,		/* the other half has closed the pipe */
	SILENT,		/* the talker sends nothing or reads nothing */
	WRONG		/* the other half sent an invalid request */
};

/* side: this half of the agent. */
static struct {
	int	has_begun;	/* a single process has called begin, and has
				 * still to call end */
	int	in, out;	/* our ends of the pipes, which block in the
				 * talker */
	pid_t	pid;		/* the talker; 0: there is none */
	enum trouble trouble;	/* nothing is read or sent after trouble */
	double	until;		/* mono; the end of a wait of the keeper */
	double	beat;		/* mono; the talker's last sign of life */
	long	logged;		/* log lines of this job */
	size_t	have, used;	/* bytes in inbuf, bytes of inbuf consumed */
	size_t	nout;		/* bytes in outbuf */
	char	inbuf[BUF_SIZE], outbuf[BUF_SIZE];
} side;

static const struct halves *halves;

/* ---- fields ---------------------------------------------------------- */

static void
set_pipes(int in, int out)
{
	side.in = in;
	side.out = out;
	side.trouble = NONE;
	side.have = side.used = side.nout = 0;
}

/* Sets the trouble, unless there is trouble already.  Returns -1. */
static int
set_trouble(enum trouble why)
{
	if (side.trouble == NONE)
		side.trouble = why;
	return -1;
}

/* Waits until fd can be read, or, if writing is 1, can be written: 0, or -1 at
 * the time side.until. */
static int
wait_side(int fd, int writing)
{
	do {
		clock_read();
		if (now.mono >= side.until)
			return set_trouble(SILENT);
	} while (fd_wait(fd, writing, side.until - now.mono) !=
	    WAIT_READY);
	return 0;
}

static void
set_until(double seconds)
{
	clock_read();
	side.until = now.mono + seconds;
}

/* Sends the bytes in outbuf: 0, or -1 on trouble. */
static int
flush_out(void)
{
	size_t done = 0;
	long n;

	while (done < side.nout && side.trouble == NONE) {
		n = (long)write(side.out, side.outbuf + done,
		    side.nout - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			wait_side(side.out, 1);
		else if (n == 0 || errno != EINTR)
			set_trouble(GONE);
	}
	side.nout = 0;
	return side.trouble == NONE ? 0 : -1;
}

static void
put_bytes(const char *s, size_t n)
{
	size_t k;

	for (; n > 0; s += k, n -= k) {
		if (side.nout == BUF_SIZE)
			flush_out();
		k = BUF_SIZE - side.nout;
		k = k < n ? k : n;
		memcpy(side.outbuf + side.nout, s, k);
		side.nout += k;
	}
}

static void
put_num(unsigned long v)
{
	char s[DIGITS + 2];

	text_fmt(s, sizeof(s), "%lu:", v);
	put_bytes(s, strlen(s));
}

static void
put_text(const char *s)
{
	if (s == NULL) {
		put_bytes("-:", 2);
		return;
	}
	put_num((unsigned long)strlen(s));
	put_bytes(s, strlen(s));
}

/* Returns the next byte, or -1 on trouble. */
static int
get_byte(void)
{
	long n;

	while (side.used == side.have && side.trouble == NONE) {
		side.used = side.have = 0;
		n = (long)read(side.in, side.inbuf, BUF_SIZE);
		if (n > 0)
			side.have = (size_t)n;
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			wait_side(side.in, 0);
		else if (n == 0 || errno != EINTR)
			set_trouble(GONE);
	}
	return side.trouble != NONE ? -1 :
	    (unsigned char)side.inbuf[side.used++];
}

/* Returns a number whose first byte is c; 0 on trouble. */
static unsigned long
get_num_from(int c)
{
	unsigned long v = 0;
	int n;

	for (n = 0; n < DIGITS && c >= '0' && c <= '9'; n++, c = get_byte())
		v = v * 10 + (unsigned long)(c - '0');
	if (c == ':' && n > 0)
		return v;
	set_trouble(WRONG);
	return 0;
}

static unsigned long
get_num(void)
{
	return get_num_from(get_byte());
}

static void
get_bytes(char *s, size_t n)
{
	int c;

	for (; n > 0 && (c = get_byte()) >= 0; n--)
		*s++ = (char)c;
}

/* Reads a text into s and returns s.  Returns NULL for no text, and on trouble,
 * such as a text that is too long or has a NUL. */
static char *
get_text(char *s, size_t size)
{
	int c = get_byte();
	unsigned long n;

	s[0] = '\0';
	if (c == '-') {
		if (get_byte() != ':')
			set_trouble(WRONG);
		return NULL;
	}
	n = get_num_from(c);
	if (n >= size)
		set_trouble(WRONG);
	if (side.trouble != NONE)
		return NULL;
	get_bytes(s, (size_t)n);
	s[n] = '\0';
	if (side.trouble == NONE && strlen(s) != n)
		set_trouble(WRONG);
	return side.trouble == NONE ? s : NULL;
}

/* ---- the talker ------------------------------------------------------ */

/* Sends a request.  Exits if the keeper is gone. */
static void
send_request(void)
{
	if (flush_out() < 0)
		_exit(0);
}

/* Returns the number that answers a request.  Exits if the keeper is gone. */
static unsigned long
get_answer(void)
{
	unsigned long v = get_num();

	if (side.trouble != NONE)
		_exit(0);
	return v;
}

static void
far_report(struct lib_job *job, struct lib_rcpt *r, const struct lib_verdict *v)
{
	(void)job;
	r->unreported = 0;
	put_bytes("V", 1);
	put_num(r->off);
	put_num((unsigned long)v->code);
	put_text(v->status);
	put_text(v->text);
	put_text(v->action);
	put_text(v->diagnostic);
	put_text(v->remote);
	send_request();
}

static int
far_message(const struct lib_job *job, const struct lib_rcpt *r,
    int (*take)(void *, const char *, size_t), void *arg)
{
	static char piece[PIECE_SIZE];	/* buffer */
	unsigned long n;
	int more;

	(void)job;
	put_bytes("M", 1);
	put_num(r->off);
	send_request();
	while ((n = get_answer()) > 0) {
		if (n > PIECE_SIZE)
			_exit(X_SOFTWARE);
		get_bytes(piece, (size_t)n);
		if (side.trouble != NONE)
			_exit(0);
		more = take(arg, piece, (size_t)n) == 0;
		put_bytes(more ? "+" : "-", 1);
		send_request();
		if (!more)
			return -1;
	}
	return get_answer() == 0 ? 0 : -1;
}

static int
far_has_scheduler(void)
{
	put_bytes("A", 1);
	send_request();
	return get_answer() != 0;
}

static const struct lib_far talker_calls = {
	far_report, far_message, far_has_scheduler
};

void
halves_send_line(const char *s, size_t n)
{
	if (halves->single) {
		if (halves->log != NULL)
			halves->log(s, n);
		return;
	}
	n = n < LOG_SIZE ? n : LOG_SIZE - 1;
	put_bytes("L", 1);
	put_num((unsigned long)n);
	put_bytes(s, n);
	send_request();
}

double
halves_beat_interval(void)
{
	return halves->silence > 60 ? 15 : halves->silence / 4;
}

void
halves_beat(void)
{
	clock_read();
	if (halves->single ||
	    now.mono - side.beat < halves_beat_interval() / 2)
		return;
	side.beat = now.mono;
	put_bytes(".", 1);
	send_request();
}

/* Returns a copy of the text, or NULL for no text. */
static char *
copy_text(const char *s)
{
	char *p = s == NULL ? NULL : mem_dup(s);

	if (s != NULL && p == NULL)
		_exit(X_OSERR);
	return p;
}

/* Reads a recipient and his sender.  The recipients of a sender come one after
 * another, each with the sender's address. */
static struct lib_rcpt *
get_rcpt(struct lib_job *job, unsigned long i)
{
	static char address[FIELD_SIZE], host[FIELD_SIZE], user[FIELD_SIZE],
	    dsn[FIELD_SIZE];	/* buffers */
	unsigned long sender_at = get_num(), hdr;
	struct lib_rcpt *r;

	get_text(address, sizeof(address));
	hdr = get_num();
	get_text(host, sizeof(host));
	get_text(user, sizeof(user));
	r = mem_get(sizeof(*r) + strlen(host) + strlen(user) + 2);
	if (r == NULL || (r->from = job_get_sender(job, sender_at, address,
	    address)) == NULL)
		_exit(X_OSERR);
	r->host = strcpy((char *)(r + 1), host);
	r->user = strcpy((char *)(r + 1) + strlen(host) + 1, user);
	r->off = i;	/* in the talker: the recipient's index in the job */
	r->hdr = (long)hdr - 1;
	r->unreported = 1;
	r->dsn = copy_text(get_text(dsn, sizeof(dsn)));
	return r;
}

/* Reads a job, from the byte behind its letter on. */
static void
get_job(struct lib_job *job)
{
	static char word[FIELD_SIZE];	/* buffer */
	struct lib_rcpt **end = &job->rcpts;
	unsigned long i, n;

	memset(job, 0, sizeof(*job));
	job->ctl = job->msg = -1;
	get_text(word, sizeof(word));
	job->arrived = (time_t)atol(word);
	job->envid = copy_text(get_text(word, sizeof(word)));
	job->ret = copy_text(get_text(word, sizeof(word)));
	n = get_num();
	for (i = 0; i < n && side.trouble == NONE; i++) {
		*end = get_rcpt(job, i);
		end = &(*end)->next;
	}
	if (side.trouble != NONE)
		_exit(0);
}

static void
exit_refused(const char *what, const char *path)
{
	lib_note("the process that talks to the network cannot %s%s: %s", what,
	    path, strerror(errno));
	_exit(X_NOPERM);
}

/* Gives up the rights of the keeper, or exits. */
static void
drop_rights(void)
{
	if (halves->root != NULL && chroot(halves->root) < 0)
		exit_refused("change its root to ", halves->root);
	if (chdir("/") < 0)
		exit_refused("change its directory to ", "/");
	if (geteuid() == 0 &&	/* only root can become another user */
	    user_become(NULL, halves->uid, halves->gid) < 0)
		exit_refused("become the user of -u", "");
	if (pledge(halves->promises, NULL) < 0)
		exit_refused("pledge", "");
}

/* Serves jobs as the talker, and exits. */
static void
run_talker(int in, int out)
{
	/* the keeper handles these signals */
	static const int ignored[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	struct lib_job job;
	int i, c, null = open("/dev/null", O_RDWR);

	for (i = 0; i < (int)(sizeof(ignored) / sizeof(ignored[0])); i++)
		signal(ignored[i], SIG_IGN);
	if (halves->begin != NULL)
		halves->begin();
	drop_rights();
	/* the pipes become the descriptors 0 and 1, /dev/null 2 */
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(X_OSERR);
	if (null < 0 || dup2(null, 2) < 0)
		close(2);
	fd_close_from(3);
	set_pipes(0, 1);
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid() << 12);
	lib_far = &talker_calls;
	while ((c = get_byte()) == 'J') {
		get_job(&job);
		halves->work(&job);
		job_free(&job);
		put_bytes("E", 1);
		send_request();
	}
	side.trouble = NONE;	/* the keeper still reads our log */
	halves->end();
	_exit(0);
}

/* ---- the keeper ------------------------------------------------------ */

/* Starts the talker: 0, or -1 with errno. */
static int
start_talker(void)
{
	int fd[4];
	pid_t pid;

	if (pipes_make(fd, 2) < 0)
		return -1;
	pid = fd_nonblock(fd[1]) < 0 || fd_nonblock(fd[2]) < 0 ? -1 : fork();
	if (pid == 0)
		run_talker(fd[0], fd[3]);
	if (pid < 0)
		return pipes_close(fd, 2);
	close(fd[0]);
	close(fd[3]);
	set_pipes(fd[2], fd[1]);
	side.pid = pid;
	return 0;
}

/* Waits for the end of the talker, and kills a talker that has not ended after
 * so many seconds.  Returns the status of waitpid, or -1. */
static int
end_talker(double seconds)
{
	int status;

	set_until(seconds);
	status = child_wait_or_kill(side.pid, side.until);
	side.pid = 0;
	close(side.in);
	if (side.out >= 0)
		close(side.out);
	return status;
}

/* Returns the letter of the talker's next request; -1 on trouble, such as no
 * byte in so many seconds.  Signs of life and log lines, which may come at any
 * time, are handled here. */
static int
next_request(double seconds)
{
	static char line[LOG_SIZE];	/* buffer */
	unsigned long n;
	int c;

	for (;;) {
		set_until(seconds);
		c = get_byte();
		if (c == '.')
			continue;
		if (c != 'L')
			return c;
		n = get_num();
		if (n >= sizeof(line))
			set_trouble(WRONG);
		if (side.trouble == NONE)
			get_bytes(line, (size_t)n);
		if (side.trouble == NONE && halves->log != NULL &&
		    side.logged++ < LOG_LINES)
			halves->log(line, (size_t)n);
	}
}

static void
send_job(const struct lib_job *job, unsigned long n)
{
	const struct lib_rcpt *r;
	char arrived[40];

	side.logged = 0;
	set_until(halves->silence);
	text_fmt(arrived, sizeof(arrived), "%ld", (long)job->arrived);
	put_bytes("J", 1);
	put_text(arrived);
	put_text(job->envid);
	put_text(job->ret);
	put_num(n);
	for (r = job->rcpts; r != NULL; r = r->next) {
		put_num(r->from->off);
		put_text(r->from->address);
		put_num((unsigned long)(r->hdr + 1));
		put_text(r->host);
		put_text(r->user);
		put_text(r->dsn);
	}
	flush_out();
}

/* Sends a piece of the message: 0; or -1 on trouble or if the talker wants no
 * further piece.  Sets *enough to 1 if the talker wants none. */
static int
send_piece(void *enough, const char *s, size_t n)
{
	int c;

	set_until(halves->silence);
	put_num((unsigned long)n);
	put_bytes(s, n);
	if (flush_out() < 0)
		return -1;
	c = next_request(halves->silence);
	if (c != '+' && c != '-')
		return set_trouble(WRONG);
	*(int *)enough = c == '-';
	return c == '-' ? -1 : 0;
}

static void
send_message(const struct lib_job *job, const struct lib_rcpt *r)
{
	int enough = 0;
	int failed = lib_pass_message(job, r, send_piece, &enough) < 0;

	if (enough || side.trouble != NONE)
		return;
	set_until(halves->silence);
	put_num(0);
	put_num((unsigned long)failed);
	flush_out();
}

/* Returns 1 for a text without control bytes, such as newlines. */
static int
is_clean(const char *s)
{
	for (; s != NULL && *s != '\0'; s++)
		if ((unsigned char)*s < 32 || *s == 127)
			return 0;
	return 1;
}

/* Returns 1 for a code that a verdict can have, with a status of its class. */
static int
is_valid_code(unsigned long code, const char *s)
{
	int class = '4';
	size_t n;

	if (code == 0)
		class = '2';
	else if (lib_is_failure((int)code))
		class = '5';
	else if (code != X_TEMPFAIL && code != X_DEFERALL)
		return 0;
	if (s == NULL)
		return code == 0;
	n = lib_status_len(s);
	return n > 0 && *s == class && s[n] == '\0';
}

static void
read_and_report_verdict(struct lib_job *job, struct lib_rcpt **rcpts,
    unsigned long n)
{
	static char status[12], text[1000], action[12], diagnostic[600],
	    remote[300];	/* buffers */
	unsigned long i = get_num(), code = get_num();
	struct lib_verdict v;

	memset(&v, 0, sizeof(v));
	v.status = get_text(status, sizeof(status));
	v.text = get_text(text, sizeof(text));
	v.action = get_text(action, sizeof(action));
	v.diagnostic = get_text(diagnostic, sizeof(diagnostic));
	v.remote = get_text(remote, sizeof(remote));
	if (side.trouble != NONE)
		return;
	if (i >= n || !rcpts[i]->unreported || !is_valid_code(code, v.status) ||
	    v.text == NULL || (v.action != NULL &&
	    strcmp(v.action, "relayed") != 0) || !is_clean(v.text) ||
	    !is_clean(v.diagnostic) || !is_clean(v.remote)) {
		set_trouble(WRONG);
		return;
	}
	v.code = (int)code;
	lib_report_verdict(job, rcpts[i], &v);
}

/* Answers one request of the talker. */
static void
answer_request(int c, struct lib_job *job, struct lib_rcpt **rcpts,
    unsigned long n)
{
	unsigned long i;

	switch (c) {
	case 'A':
		put_num((unsigned long)lib_has_scheduler());
		flush_out();
		break;
	case 'M':
		i = get_num();
		if (side.trouble == NONE && i < n)
			send_message(job, rcpts[i]);
		else
			set_trouble(WRONG);
		break;
	case 'V':
		read_and_report_verdict(job, rcpts, n);
		break;
	default:
		set_trouble(WRONG);
	}
}

/* Ends a talker in trouble, and defers the recipients without a verdict. */
static void
end_failed_talker(struct lib_job *job)
{
	enum trouble why = side.trouble;
	int end = end_talker(why == GONE ? END_WAIT : 0);
	char text[200];
	struct text t;

	text_init(&t, text, sizeof(text));
	text_add(&t, "the process that talks to the network ");
	if (why == SILENT) {
		text_add(&t, "said nothing for ");
		span_add(&t, (long)halves->silence, 2);
		text_add(&t, ", perhaps because name servers do not answer");
	} else if (why == WRONG) {
		text_add(&t, "sent an invalid request and was killed");
	} else if (end != -1 && WIFSIGNALED(end)) {
		text_add(&t, "died of signal %d", WTERMSIG(end));
	} else if (end != -1 && WIFEXITED(end)) {
		text_add(&t, "ended with exit code %d", WEXITSTATUS(end));
	} else {
		text_add(&t, "is gone");
	}
	lib_report_rest(job, why == SILENT ? X_DEFERALL : X_TEMPFAIL,
	    why == SILENT ? "4.4.3" : "4.3.0", text);
}

void
halves_work(struct lib_job *job)
{
	struct lib_rcpt **rcpts, *r;
	unsigned long n = 0;
	char why[200];
	int c;

	if (halves->single) {
		if (!side.has_begun && halves->begin != NULL)
			halves->begin();
		side.has_begun = 1;
		halves->work(job);
		return;
	}
	/* a talker that died between two jobs is replaced */
	if (side.pid > 0 && waitpid(side.pid, NULL, WNOHANG) == side.pid)
		end_talker(0);
	for (r = job->rcpts; r != NULL; r = r->next)
		n++;
	rcpts = mem_get(n * sizeof(*rcpts));
	if (rcpts == NULL || (side.pid == 0 && start_talker() < 0)) {
		text_fmt(why, sizeof(why), "no process that talks to the "
		    "network can be started: %s", strerror(errno));
		free(rcpts);
		lib_report_rest(job, X_TEMPFAIL, "4.3.0", why);
		return;
	}
	for (n = 0, r = job->rcpts; r != NULL; r = r->next)
		rcpts[n++] = r;
	send_job(job, n);
	while (side.trouble == NONE &&
	    (c = next_request(halves->silence)) != 'E')
		if (c >= 0)
			answer_request(c, job, rcpts, n);
	free(rcpts);
	if (side.trouble != NONE)
		end_failed_talker(job);
}

void
halves_end(void)
{
	if (side.has_begun)
		halves->end();
	side.has_begun = 0;
	if (side.pid == 0)
		return;
	close(side.out);
	side.out = -1;
	if (next_request(halves->parting) >= 0)
		set_trouble(WRONG);
	end_talker(side.trouble == GONE ? END_WAIT : 0);
}

/* atexit ends the talker, too, as lib.c exits when the scheduler is gone. */
void
halves_use(const struct halves *h)
{
	halves = h;
	atexit(halves_end);
}
