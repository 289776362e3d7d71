/*
 * halves.c - splits an agent into two processes, for safety.
 *
 * The process that talks to strangers cannot touch our files.  The keeper is
 * the agent that the scheduler has started: it opens control files, holds the
 * locks, reads the message and writes down verdicts.  The talker is its child.
 * It has two pipes to the keeper and no other descriptor; if we are root, it
 * runs as another user, and in another root directory if the administrator
 * wants that.  It does the work of a job as if it were alone, and asks the
 * keeper for all that lib.c does.  A job of one recipient:
 *
 *	keeper			talker
 *	J ...					the job, its recipients
 *				A		is the scheduler still there?
 *	0:					yes
 *				M 0:		the message of recipient 0
 *	8192:(bytes)		+		a piece, and the next one
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
 * job that has none yet, its code is one of a few, its status of the code's
 * class, its texts bounded and without control bytes.  Anything else ends the
 * talker, and so does silence: it is killed, and recipients without a verdict
 * are deferred with the reason.  The next job gets a new talker.  So a talker
 * that was taken over can only lie about the mail it is given, and waste its
 * agent's time, which timeout= of the clause bounds.
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
#define PIECE_SIZE	8192	/* bytes of the message at once, as lib_message
				 * puts them at most */
#define FIELD_SIZE	8192	/* bytes of a line of a control file */
#define LOG_SIZE	1000	/* bytes of a line of the log */
#define LOG_LINES	10000	/* of a job; more are dropped */
#define DIGITS		9	/* of a number: none wraps around */
#define END_WAIT	3.0	/* seconds from its pipe's end to its own */

/* Why nothing comes from the other side any more. */
enum trouble { NONE, GONE, SILENT, WRONG };

/* Our ends of the pipes; in the talker they block. */
static struct {
	int	in, out;
	pid_t	pid;		/* the talker's; 0: there is none */
	enum trouble trouble;	/* kept until there is a new talker */
	double	until;		/* mono, for the keeper */
	long	logged;		/* lines of this job */
	size_t	have, used;	/* bytes in inbuf, bytes of it consumed */
	size_t	held;		/* bytes in outbuf */
	char	inbuf[BUF_SIZE], outbuf[BUF_SIZE];
} side;

static const struct halves *halves;
static int begun;	/* without a talker: begin was called, end was not */

/* ---- fields ---------------------------------------------------------- */

static void
use(int in, int out)
{
	side.in = in;
	side.out = out;
	side.trouble = NONE;
	side.have = side.used = side.held = 0;
}

static int
fail(enum trouble why)
{
	if (side.trouble == NONE)
		side.trouble = why;
	return -1;
}

/* Waits for the other side: 0, or -1 when it took too long. */
static int
wait_side(int fd, int writing)
{
	do {
		clock_read();
		if (now.mono >= side.until)
			return fail(SILENT);
	} while (fd_wait(fd, writing, side.until - now.mono) <= 0);
	return 0;
}

static void
set_until(double seconds)
{
	clock_read();
	side.until = now.mono + seconds;
}

static int
flush(void)
{
	size_t done = 0;
	long n;

	while (done < side.held && side.trouble == NONE) {
		n = (long)write(side.out, side.outbuf + done,
		    side.held - done);
		if (n > 0)
			done += (size_t)n;
		else if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			wait_side(side.out, 1);
		else if (n == 0 || errno != EINTR)
			fail(GONE);
	}
	side.held = 0;
	return side.trouble == NONE ? 0 : -1;
}

static void
put(const char *s, size_t n)
{
	size_t k;

	for (; n > 0; s += k, n -= k) {
		if (side.held == BUF_SIZE)
			flush();
		k = BUF_SIZE - side.held;
		k = k < n ? k : n;
		memcpy(side.outbuf + side.held, s, k);
		side.held += k;
	}
}

static void
put_num(unsigned long v)
{
	char s[DIGITS + 2];

	text_fmt(s, sizeof(s), "%lu:", v);
	put(s, strlen(s));
}

static void
put_text(const char *s)
{
	if (s == NULL) {
		put("-:", 2);
		return;
	}
	put_num((unsigned long)strlen(s));
	put(s, strlen(s));
}

/* A byte, or -1. */
static int
get(void)
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
			fail(GONE);
	}
	return side.trouble != NONE ? -1 :
	    (unsigned char)side.inbuf[side.used++];
}

/* The rest of a number that begins with c; 0 when there is trouble. */
static unsigned long
rest_of_num(int c)
{
	unsigned long v = 0;
	int n;

	for (n = 0; n < DIGITS && c >= '0' && c <= '9'; n++, c = get())
		v = v * 10 + (unsigned long)(c - '0');
	if (c == ':' && n > 0)
		return v;
	fail(WRONG);
	return 0;
}

static unsigned long
get_num(void)
{
	return rest_of_num(get());
}

static void
get_bytes(char *s, size_t n)
{
	int c;

	for (; n > 0 && (c = get()) >= 0; n--)
		*s++ = (char)c;
}

/* Reads a text of less than size bytes without NULs; NULL for no text, and on
 * trouble. */
static char *
get_text(char *s, size_t size)
{
	int c = get();
	unsigned long n;

	s[0] = '\0';
	if (c == '-') {
		if (get() != ':')
			fail(WRONG);
		return NULL;
	}
	n = rest_of_num(c);
	if (n >= size)
		fail(WRONG);
	if (side.trouble != NONE)
		return NULL;
	get_bytes(s, (size_t)n);
	s[n] = '\0';
	if (side.trouble == NONE && strlen(s) != n)
		fail(WRONG);
	return side.trouble == NONE ? s : NULL;
}

/* ---- the talker ------------------------------------------------------ */

/* Sends what was put; without a keeper there is nothing left to do. */
static void
flush_request(void)
{
	if (flush() < 0)
		_exit(0);
}

static unsigned long
get_answer(void)
{
	unsigned long v = get_num();

	if (side.trouble != NONE)
		_exit(0);
	return v;
}

static void
far_tell(struct lib_job *job, struct lib_rcpt *r, const struct lib_verdict *v)
{
	(void)job;
	r->unreported = 0;
	put("V", 1);
	put_num(r->off);
	put_num((unsigned long)v->code);
	put_text(v->status);
	put_text(v->text);
	put_text(v->action);
	put_text(v->diagnostic);
	put_text(v->remote);
	flush_request();
}

static int
far_message(const struct lib_job *job, const struct lib_rcpt *r,
    int (*take)(void *, const char *, size_t), void *arg)
{
	static char piece[PIECE_SIZE];
	unsigned long n;
	int more;

	(void)job;
	put("M", 1);
	put_num(r->off);
	flush_request();
	while ((n = get_answer()) > 0) {
		if (n > PIECE_SIZE)
			_exit(X_SOFTWARE);
		get_bytes(piece, (size_t)n);
		if (side.trouble != NONE)
			_exit(0);
		more = take(arg, piece, (size_t)n) == 0;
		put(more ? "+" : "-", 1);
		flush_request();
		if (!more)
			return -1;
	}
	return get_answer() == 0 ? 0 : -1;
}

static int
far_alone(void)
{
	put("A", 1);
	flush_request();
	return get_answer() != 0;
}

static const struct lib_far far_lib = { far_tell, far_message, far_alone };

void
halves_log(const char *s, size_t n)
{
	if (halves->one) {
		if (halves->log != NULL)
			halves->log(s, n);
		return;
	}
	n = n < LOG_SIZE ? n : LOG_SIZE - 1;
	put("L", 1);
	put_num((unsigned long)n);
	put(s, n);
	flush_request();
}

double
halves_nap(void)
{
	return halves->silence > 60 ? 15 : halves->silence / 4;
}

void
halves_beat(void)
{
	static double last;

	clock_read();
	if (halves->one || now.mono - last < halves_nap() / 2)
		return;
	last = now.mono;
	put(".", 1);
	flush_request();
}

/* NULL stays NULL. */
static char *
copy(const char *s)
{
	char *p = s == NULL ? NULL : mem_dup(s);

	if (s != NULL && p == NULL)
		_exit(X_OSERR);
	return p;
}

/* The sender with this offset; senders come in order, if again and again. */
static const struct lib_sender *
get_sender(struct lib_job *job, unsigned long off)
{
	static char address[FIELD_SIZE];
	struct lib_sender *p = job->senders;

	get_text(address, sizeof(address));
	if (p != NULL && p->off == off)
		return p;
	p = mem_get(sizeof(*p) + strlen(address) + 1);
	if (p == NULL)
		_exit(X_OSERR);
	p->off = off;
	p->address = p->dsn_to = strcpy((char *)(p + 1), address);
	p->next = job->senders;
	job->senders = p;
	return p;
}

static struct lib_rcpt *
get_rcpt(struct lib_job *job, unsigned long i)
{
	static char host[FIELD_SIZE], user[FIELD_SIZE], dsn[FIELD_SIZE];
	const struct lib_sender *from = get_sender(job, get_num());
	unsigned long hdr = get_num();
	struct lib_rcpt *r;

	get_text(host, sizeof(host));
	get_text(user, sizeof(user));
	r = mem_get(sizeof(*r) + strlen(host) + strlen(user) + 2);
	if (r == NULL)
		_exit(X_OSERR);
	r->off = i;
	r->hdr = (long)hdr;
	r->unreported = 1;
	r->from = from;
	r->host = strcpy((char *)(r + 1), host);
	r->user = strcpy((char *)(r + 1) + strlen(host) + 1, user);
	r->dsn = copy(get_text(dsn, sizeof(dsn)));
	return r;
}

/* The rest of a job, behind its letter. */
static void
get_job(struct lib_job *job)
{
	static char word[FIELD_SIZE];
	struct lib_rcpt **end = &job->rcpts;
	unsigned long i, n;

	memset(job, 0, sizeof(*job));
	job->ctl = job->msg = -1;
	get_text(word, sizeof(word));
	job->arrived = (time_t)atol(word);
	job->envid = copy(get_text(word, sizeof(word)));
	job->ret = copy(get_text(word, sizeof(word)));
	n = get_num();
	for (i = 0; i < n && side.trouble == NONE; i++) {
		*end = get_rcpt(job, i);
		end = &(*end)->next;
	}
	if (side.trouble != NONE)
		_exit(0);
}

/* Gives up what the keeper may do: NULL, or what failed, with errno. */
static const char *
become(void)
{
	if (halves->root != NULL && chroot(halves->root) < 0)
		return halves->root;
	if (chdir("/") < 0)
		return "/";
	if (geteuid() == 0 &&	/* else we can be nobody else */
	    user_become(NULL, halves->uid, halves->gid) < 0)
		return "the user of -u";
	return pledge(halves->promises, NULL) < 0 ? "what it promises" : NULL;
}

/* The talker's whole life. */
static void
talk(int in, int out)
{
	static const int keepers[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	static struct lib_job job;
	int i, c, null = open("/dev/null", O_RDWR);
	const char *what;

	for (i = 0; i < (int)(sizeof(keepers) / sizeof(keepers[0])); i++)
		signal(keepers[i], SIG_IGN);
	if (halves->begin != NULL)
		halves->begin();
	what = become();
	if (what != NULL) {
		lib_note("the process for the network cannot change to %s: %s",
		    what, strerror(errno));
		_exit(X_NOPERM);
	}
	/* it keeps nothing but its pipes, at 0 and 1, and /dev/null at 2 */
	if (dup2(in, 0) < 0 || dup2(out, 1) < 0)
		_exit(X_OSERR);
	if (null < 0 || dup2(null, 2) < 0)
		close(2);
	fd_close_from(3);
	use(0, 1);
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid() << 12);
	lib_far = &far_lib;
	while ((c = get()) == 'J') {
		get_job(&job);
		halves->work(&job);
		job_close(&job);
		put("E", 1);
		flush_request();
	}
	side.trouble = NONE;	/* the keeper still reads our log */
	halves->end();
	_exit(0);
}

/* ---- the keeper ------------------------------------------------------ */

/* 0, or -1 with errno. */
static int
start(void)
{
	int fd[4];
	pid_t pid;

	if (pipes_make(fd, 2) < 0)
		return -1;
	signal(SIGCHLD, SIG_DFL);	/* or nobody could be waited for */
	pid = fd_nonblock(fd[1]) < 0 || fd_nonblock(fd[2]) < 0 ? -1 : fork();
	if (pid == 0)
		talk(fd[0], fd[3]);
	if (pid < 0)
		return pipes_close(fd, 2);
	close(fd[0]);
	close(fd[3]);
	use(fd[2], fd[1]);
	side.pid = pid;
	return 0;
}

/* Waits for the talker's end; after so many seconds it is killed.  Its status,
 * or -1. */
static int
reap(double seconds)
{
	int status;

	set_until(seconds);
	status = child_wait(side.pid, side.until);
	side.pid = 0;
	close(side.in);
	if (side.out >= 0)
		close(side.out);
	return status;
}

static void
take_log(void)
{
	static char line[LOG_SIZE];
	unsigned long n = get_num();

	if (n >= sizeof(line))
		fail(WRONG);
	if (side.trouble == NONE)
		get_bytes(line, (size_t)n);
	if (side.trouble == NONE && halves->log != NULL &&
	    side.logged++ < LOG_LINES)
		halves->log(line, (size_t)n);
}

/* The next request of the talker.  Signs of life and log lines, which may come
 * at any time, are handled here.  -1 on trouble. */
static int
request(double seconds)
{
	int c;

	for (;;) {
		set_until(seconds);
		c = get();
		if (c == 'L')
			take_log();
		else if (c != '.')
			return c;
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
	put("J", 1);
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
	flush();
}

/* The talker says after each piece whether it wants more. */
static int
send_piece(void *enough, const char *s, size_t n)
{
	int c;

	set_until(halves->silence);
	put_num((unsigned long)n);
	put(s, n);
	if (flush() < 0)
		return -1;
	c = request(halves->silence);
	if (c != '+' && c != '-')
		return fail(WRONG);
	*(int *)enough = c == '-';
	return c == '-' ? -1 : 0;
}

static void
send_message(const struct lib_job *job, const struct lib_rcpt *r)
{
	int enough = 0;
	int bad = lib_message(job, r, send_piece, &enough) != 0;

	if (enough || side.trouble != NONE)
		return;
	set_until(halves->silence);
	put_num(0);
	put_num((unsigned long)bad);
	flush();
}

/* No control bytes, so that it can be a line anywhere. */
static int
is_clean(const char *s)
{
	for (; s != NULL && *s != '\0'; s++)
		if ((unsigned char)*s < 32 || *s == 127)
			return 0;
	return 1;
}

/* Is it a status x.y.z that fits the code, which is one of ours? */
static int
fits(unsigned long code, const char *s)
{
	int class = code == 0 ? '2' : code == X_TEMPFAIL ||
	    code == X_DEFERALL ? '4' : lib_is_failure((int)code) ? '5' : 0;
	size_t n;

	if (s == NULL)
		return code == 0;
	n = lib_status(s);
	return n > 0 && *s == class && s[n] == '\0';
}

static void
take_verdict(struct lib_job *job, struct lib_rcpt **rcpts, unsigned long n)
{
	static char status[12], text[1000], action[12], diagnostic[600],
	    remote[300];
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
	if (i >= n || !rcpts[i]->unreported || !fits(code, v.status) ||
	    v.text == NULL || (v.action != NULL &&
	    strcmp(v.action, "relayed") != 0) || !is_clean(v.text) ||
	    !is_clean(v.diagnostic) || !is_clean(v.remote)) {
		fail(WRONG);
		return;
	}
	v.code = (int)code;
	lib_report_verdict(job, rcpts[i], &v);
}

/* Answers one request of the talker. */
static void
serve(int c, struct lib_job *job, struct lib_rcpt **rcpts, unsigned long n)
{
	unsigned long i;

	switch (c) {
	case 'A':
		put_num((unsigned long)lib_is_alone());
		flush();
		break;
	case 'M':
		i = get_num();
		if (side.trouble == NONE && i < n)
			send_message(job, rcpts[i]);
		else
			fail(WRONG);
		break;
	case 'V':
		take_verdict(job, rcpts, n);
		break;
	default:
		fail(WRONG);
	}
}

/* Ends a talker in trouble: the reason, and verdicts for its recipients. */
static void
describe_end(struct text *t, int *code, const char **status)
{
	enum trouble why = side.trouble;
	int end = reap(why == GONE ? END_WAIT : 0);

	*code = X_TEMPFAIL;
	*status = "4.3.0";
	text_add(t, "the process that talks to the network ");
	if (why == SILENT) {
		text_add(t, "said nothing for ");
		span_add(t, (long)halves->silence, 2);
		text_add(t, ", perhaps since name servers do not answer");
		*code = X_DEFERALL;
		*status = "4.4.3";
	} else if (why == WRONG) {
		text_add(t, "sent an invalid request and was killed");
	} else if (end != -1 && WIFSIGNALED(end)) {
		text_add(t, "died of signal %d", WTERMSIG(end));
	} else if (end != -1 && WIFEXITED(end)) {
		text_add(t, "ended with exit code %d", WEXITSTATUS(end));
	} else {
		text_add(t, "is gone");
	}
}

void
halves_work(struct lib_job *job)
{
	struct lib_rcpt **rcpts, *r;
	const char *status;
	unsigned long n = 0;
	char why[200];
	struct text t;
	int c, code;

	if (halves->one) {
		if (!begun && halves->begin != NULL)
			halves->begin();
		begun = 1;
		halves->work(job);
		return;
	}
	/* one that died without work harms nobody */
	if (side.pid > 0 && waitpid(side.pid, NULL, WNOHANG) == side.pid)
		reap(0);
	for (r = job->rcpts; r != NULL; r = r->next)
		n++;
	rcpts = mem_get(n * sizeof(*rcpts));
	if (rcpts == NULL || (side.pid == 0 && start() < 0)) {
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
	    (c = request(halves->silence)) != 'E')
		if (c >= 0)
			serve(c, job, rcpts, n);
	free(rcpts);
	if (side.trouble == NONE)
		return;
	text_init(&t, why, sizeof(why));
	describe_end(&t, &code, &status);
	lib_report_rest(job, code, status, why);
}

void
halves_end(void)
{
	if (begun)
		halves->end();
	begun = 0;
	if (side.pid == 0)
		return;
	close(side.out);
	side.out = -1;
	if (request(halves->parting) >= 0)
		fail(WRONG);
	reap(side.trouble == GONE ? END_WAIT : 0);
}

/* lib.c exits wherever it finds itself alone: then no talker is left. */
void
halves_use(const struct halves *h)
{
	halves = h;
	atexit(halves_end);
}
