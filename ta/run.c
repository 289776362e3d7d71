/*
 * run.c - runs a program that takes a message.
 *
 * The program gets the message on its standard input, as a file that is
 * complete before the program starts and has no name any more.  So even if the
 * agent is killed, the program never takes a part of a message for a whole one.
 * The file is in TMPDIR, else in /tmp, and is as large as the message.
 *
 * Standard output and error of the program go into one pipe; the beginning of
 * that is kept, as one line.  The program runs in a session of its own, without
 * a terminal, with default signals and no other descriptor.
 *
 * At the end of its time its process group gets SIGTERM and some seconds later
 * SIGKILL.  A program that is stopped is killed at once, since its user could
 * make us wait for ever.  Processes that it leaves in the background go on, but
 * the agent does not wait for them: the output is what the pipe has when the
 * program ends.
 *
 * A second pipe shows whether the program was executed: an exec closes it, and
 * a failure writes errno.
 *
 * The callers know what an exit code means for a recipient.
 */
#include "run.h"
#include "../lib/post.h"
#include <sys/wait.h>
#include <signal.h>

#define READ_SIZE	4096	/* bytes read at once from the program */
#define KILL_DELAY	5.0	/* seconds from SIGTERM to SIGKILL */
#define NAP_LEAST	0.01	/* seconds between checks of the process, */
#define NAP_MOST	0.5	/* when nothing else wakes us */
#define SLOW		2	/* seconds until mailq is to know of it */
#define LAST_READS	100	/* reads at most from what it left behind */

/* One run in progress. */
struct job {
	struct run *run;
	pid_t	pid;
	FILE	*copy;		/* the message, with no name */
	int	copied;		/* errno of its first failed write, or 0 */
	int	out;		/* our end of the pipe it writes to, -1:
				 * closed */
	int	ended;		/* wait has returned its end */
	int	status;		/* of the end, as of wait */
	int	lost;		/* errno of a wait that failed, or 0 */
	int	terminated, killed;	/* the signals that were sent to it */
	double	until;		/* when its time is over */
	double	nap;		/* how long to sleep at most */
	struct text text;	/* over run->output */
};

/* ---- the message ----------------------------------------------------- */

const char *
run_tmp(void)
{
	const char *dir = getenv("TMPDIR");

	return dir != NULL && *dir != '\0' ? dir : "/tmp";
}

static int
put(void *job, const char *s, size_t n)
{
	struct job *j = job;

	errno = EIO;	/* for the unlikely: a failure that sets none */
	if (j->copied == 0 && fwrite(s, 1, n, j->copy) != n)
		j->copied = errno;
	return j->copied == 0 ? 0 : -1;
}

/* Writes the message into a file of its own: 0, or -1 with errno. */
static int
copy(struct job *j)
{
	char path[1000];
	int fd = post_make(path, sizeof(path), run_tmp(), "run");

	j->run->uncopied = 1;
	if (fd < 0)
		return -1;
	unlink(path);
	if (fd_cloexec(fd) < 0 || (j->copy = fdopen(fd, "w+")) == NULL) {
		close(fd);
		return -1;
	}
	if (j->run->message != NULL &&
	    j->run->message(j->run->arg, put, j) < 0 && j->copied == 0) {
		j->run->uncopied = 0;
		errno = EIO;
		return -1;
	}
	errno = j->copied;
	if (j->copied != 0 || fflush(j->copy) != 0 ||
	    lseek(fileno(j->copy), 0, SEEK_SET) < 0)
		return -1;
	j->run->uncopied = 0;
	return 0;
}

/* ---- its output ------------------------------------------------------ */

/* Blanks and ends of lines are one blank; the rest is printable. */
static void
add_output(struct job *j, const char *s, size_t n)
{
	struct text *t = &j->text;
	int c;

	for (; n > 0 && !t->cut; s++, n--) {
		c = (unsigned char)*s;
		if (c <= ' ' || c == 127) {
			if (t->len > 0 && t->s[t->len - 1] != ' ')
				text_put(t, " ", 1);
		} else {
			text_add(t, "%c", c < 127 ? c : '?');
		}
	}
}

static void
end_output(struct job *j)
{
	struct text *t = &j->text;

	if (t->cut)
		memcpy(t->s + t->len - 3, "...", 3);
	while (t->len > 0 && t->s[t->len - 1] == ' ')
		t->s[--t->len] = '\0';
}

/* One read: 1, or 0 when there is nothing now or nothing more. */
static int
read_output(struct job *j)
{
	char buf[READ_SIZE];
	long n = (long)read(j->out, buf, sizeof(buf));

	if (n > 0) {
		add_output(j, buf, (size_t)n);
		return 1;
	}
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(j->out);
		j->out = -1;
		j->nap = NAP_LEAST;	/* it is about to end */
	}
	return 0;
}

/* ---- waiting --------------------------------------------------------- */

/* Has it ended?  One that is stopped soon will have. */
static void
check_end(struct job *j)
{
	pid_t p;

	if (j->ended)
		return;
	p = waitpid(j->pid, &j->status, WNOHANG | WUNTRACED);
	if (p < 0 && errno != EINTR)
		j->lost = errno;
	if (p == j->pid && WIFSTOPPED(j->status)) {
		j->run->stopped = j->killed = 1;
		j->nap = NAP_LEAST;
		kill(j->pid, SIGKILL);	/* it may lead no group yet */
		kill(-j->pid, SIGKILL);
		return;
	}
	j->ended = p == j->pid || j->lost != 0;
}

/* Its time is over, or the time it had to end by itself. */
static void
check_time(struct job *j)
{
	int sig;

	clock_read();
	if (j->ended || j->killed || j->until == 0 || now.mono < j->until)
		return;
	j->run->late = 1;
	j->killed = j->terminated;
	j->terminated = 1;
	sig = j->killed ? SIGKILL : SIGTERM;
	if (kill(-j->pid, sig) < 0)	/* it may lead no group yet */
		kill(j->pid, sig);
	j->until = now.mono + KILL_DELAY;
	j->nap = NAP_LEAST;
}

/* Sleeps until it writes something, but not long; then checks it. */
static void
step(struct job *j)
{
	int n = fd_wait(j->out, 0, j->nap);

	if (n == 0)
		j->nap = j->nap < NAP_MOST / 2 ? 2 * j->nap : NAP_MOST;
	if (n > 0)
		read_output(j);
	check_end(j);
	check_time(j);
}

/* Lets it end: 0, or -1 with errno. */
static int
wait_end(struct job *j)
{
	double begun = now.mono;
	int i, shown = 0;

	j->nap = NAP_LEAST;
	for (check_end(j); !j->ended; ) {
		step(j);
		if (!shown && !j->ended && now.mono - begun >= SLOW) {
			lib_show_step("running %s", j->run->path);
			shown = 1;
		}
	}
	for (i = 0; i < LAST_READS && j->out >= 0 && read_output(j); i++)
		;
	errno = j->lost;
	return j->lost != 0 ? -1 : 0;
}

/* ---- starting it ----------------------------------------------------- */

/* The child, until it executes the program; errors go to 3. */
static void
become_program(const struct run *r, int in, int out, int report)
{
	sigset_t none;
	int sig, err;

	for (sig = 1; sig < 32; sig++)
		signal(sig, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
#ifdef NO_SETSID
	setpgid(0, 0);
#else
	setsid();
#endif
	if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(out, 2) == 2 &&
	    (report == 3 || dup2(report, 3) == 3) && fd_cloexec(3) == 0) {
		fd_close_from(4);
		report = 3;
		errno = EPERM;	/* for a become that says nothing */
		if (r->become == NULL || r->become(r->arg) == 0)
			execve(r->path, r->argv, r->envp);
	}
	err = errno;
	fd_write(report, (const char *)&err, sizeof(err));
	_exit(X_OSFILE);
}

/* Waits until the program is executed: 0, or errno.  Before the exec the child
 * may hang, for example in a home directory that does not answer, or be stopped
 * by its user; then it is killed like a program. */
static int
exec_error(struct job *j, int report)
{
	int err = 0;
	long n;

	do {
		check_end(j);
		check_time(j);
	} while (fd_wait(report, 0, 0.1) <= 0);
	do
		n = (long)read(report, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	return n == (long)sizeof(err) ? err : 0;
}

/* Starts it: 0, or -1 with errno. */
static int
start(struct job *j)
{
	int fd[4], err;

	if (pipes_make(fd, 2) < 0)
		return -1;
	j->pid = fd_nonblock(fd[0]) < 0 ? -1 : fork();
	if (j->pid == 0)
		become_program(j->run, fileno(j->copy), fd[1], fd[3]);
	err = j->pid < 0 ? errno : 0;
	j->out = fd[0];
	fd[0] = -1;
	close(fd[3]);
	fd[3] = -1;
	if (err == 0 && (err = exec_error(j, fd[2])) != 0 && !j->ended)
		while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
			;
	pipes_close(fd, 2);
	errno = err;
	return err == 0 ? 0 : -1;
}

/* ---- for the agent --------------------------------------------------- */

int
run_program(struct run *r)
{
	struct job j;
	int ended, err;

	memset(&j, 0, sizeof(j));
	j.run = r;
	j.out = -1;
	j.nap = NAP_LEAST;
	text_init(&j.text, r->output, sizeof(r->output));
	r->exit = -1;
	r->signal = r->late = r->stopped = 0;
	signal(SIGCHLD, SIG_DFL);	/* or nobody could be waited for */
	ended = copy(&j);
	clock_read();
	if (r->limit > 0)
		j.until = now.mono + (double)r->limit;
	if (ended == 0)
		ended = start(&j);
	if (ended == 0)
		ended = wait_end(&j);
	err = errno;
	if (j.copy != NULL)
		fclose(j.copy);
	if (j.out >= 0)
		close(j.out);
	end_output(&j);
	if (WIFEXITED(j.status))
		r->exit = WEXITSTATUS(j.status);
	else if (WIFSIGNALED(j.status))
		r->signal = WTERMSIG(j.status);
	errno = err;
	return ended;
}

/* sysexits from X_USAGE on: their names, and the status of a message when a
 * program of a user ends so, a mailer, a mailer whose failures may be its own
 * trouble (NULL: as any mailer). */
static const struct {
	const char *name, *status[RUN_KINDS];
} ends[] = {
	{ "wrong usage", { "5.3.5", "4.3.5", NULL } },
	{ "wrong data", { "5.6.0", "5.6.0", NULL } },
	{ "no input", { "5.3.0", "4.3.0", NULL } },
	{ "no such user", { "5.1.1", "5.1.1", NULL } },
	{ "no such host", { "5.1.2", "5.1.2", "4.4.3" } },
	{ "unavailable", { "5.3.0", "5.3.0", "4.4.0" } },
	{ "internal software error", { "4.3.0", "4.3.0", NULL } },
	{ "system error", { "4.3.0", "4.3.0", NULL } },
	{ "system file missing", { "4.3.0", "4.3.5", NULL } },
	{ "cannot create file", { "4.3.0", "4.3.0", NULL } },
	{ "input or output error", { "4.3.0", "4.3.0", NULL } },
	{ "temporary failure", { "4.3.0", "4.4.0", NULL } },
	{ "protocol error", { "5.5.0", "4.5.0", NULL } },
	{ "no permission", { "5.7.0", "5.7.0", "4.7.0" } },
	{ "configuration error", { "4.3.5", "4.3.5", NULL } }
};

static int
is_known(int code)
{
	return code >= X_USAGE && code <= X_CONFIG;
}

/* The status of a message whose program ended so by itself. */
static const char *
status_of(int code, enum run_kind kind, const char *unknown)
{
	const char *const *status;

	if (code == 0)
		return "2.0.0";
	if (!is_known(code))
		return unknown;
	status = ends[code - X_USAGE].status;
	return status[kind] != NULL ? status[kind] : status[RUN_MAILER];
}

static void
add_end(struct text *t, const struct run *r)
{
	if (r->late)
		text_add(t, "[took longer than ");
	if (r->late)
		span_add(t, r->limit, 2);
	else if (r->stopped)
		text_add(t, "[stopped");
	else if (r->signal != 0)
		text_add(t, "[killed by signal %d", r->signal);
	else
		text_add(t, "[exit %d", r->exit);
	if (!r->late && is_known(r->exit))
		text_add(t, ": %s", ends[r->exit - X_USAGE].name);
	text_add(t, "]");
}

void
run_verdict(const struct run *r, enum run_kind kind, const char *unknown,
    struct lib_verdict *v, char *buf, size_t size)
{
	char end[80];
	struct text t;

	memset(v, 0, sizeof(*v));
	v->status = r->late || r->exit < 0 ? "4.3.0" :
	    status_of(r->exit, kind, unknown);
	v->code = v->status[0] == '2' ? 0 : v->status[0] == '5' ?
	    X_UNAVAILABLE : X_TEMPFAIL;
	text_init(&t, end, sizeof(end));
	if (v->code != 0)
		add_end(&t, r);
	else if (r->output[0] == '\0')
		text_add(&t, "Ok");
	text_fmt(buf, size, "%.*s%s%s", (int)(size - t.len - 2), r->output,
	    r->output[0] != '\0' && t.len > 0 ? " " : "", end);
	v->text = buf;
}
