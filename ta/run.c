/*
 * run.c - runs a program that takes a message.
 *
 * The program gets the message on its standard input, as a file that is
 * complete before the program starts and has no name any more.  So even if the
 * agent is killed, the program never takes a part of a message for all of it.
 * The file is in TMPDIR, else in /tmp, and is as large as the message.
 *
 * Standard output and error of the program go into one pipe; the beginning of
 * this output is kept, as one line.  The program runs in a session of its own,
 * without a terminal, with default signals and no other descriptor.
 *
 * When the time of the program is over, its process group gets SIGTERM and some
 * seconds later SIGKILL.  A program that its user stops (SIGSTOP) is killed at
 * once, since the agent could wait for it for ever.  Processes that the program
 * leaves in the background go on, but the agent does not wait for them: the
 * output ends with what is in the pipe when the program ends.
 *
 * A second pipe shows whether the program was executed: an exec closes it, and
 * a failure writes errno.
 *
 * run_set_verdict gives the meaning of an exit code, which depends on the kind
 * of program.
 */
#include "run.h"
#include "job.h"
#include "../lib/post.h"
#include <sys/wait.h>
#include <ctype.h>
#include <signal.h>

#define READ_SIZE	4096	/* bytes read at once from the program */
#define KILL_DELAY	5.0	/* seconds from SIGTERM to SIGKILL */
#define NAP_LEAST	0.01	/* least seconds between two checks */
#define NAP_MOST	0.5	/* most seconds between two checks */
#define SLOW		2	/* seconds until mailq shows the program */
#define LAST_READS	100	/* reads from the pipe after the end */

/* process: the program while it runs. */
struct process {
	struct run *run;
	pid_t	pid;
	FILE	*copy;		/* the message, in a file without a name */
	int	out;		/* our end of the pipe for the output, -1:
				 * closed */
	int	ended;		/* the process has ended, or cannot be waited
				 * for */
	int	status;		/* status of waitpid */
	int	wait_error;	/* errno of waitpid, or 0 */
	double	until;		/* mono; time of the next signal, 0: never */
	double	nap;		/* seconds until the next check */
	struct text text;	/* the output, in run->output */
};

/* ---- the message ----------------------------------------------------- */

const char *
run_tmp_dir(void)
{
	return env_get("TMPDIR", "/tmp");
}

/* Makes the copy of the message: 0, or -1 with errno. */
static int
make_copy(struct process *p)
{
	struct run *r = p->run;
	char path[1000];
	int fd = post_make(path, sizeof(path), run_tmp_dir(), "run"), unread;

	r->tmp_failed = 1;
	if (fd < 0)
		return -1;
	unlink(path);
	if (fd_cloexec(fd) < 0 || (p->copy = fdopen(fd, "w+")) == NULL) {
		close(fd);
		return -1;
	}
	unread = r->message != NULL &&
	    r->message(r->arg, job_put_file, p->copy) < 0;
	if (ferror(p->copy) || (!unread && (fflush(p->copy) != 0 ||
	    lseek(fileno(p->copy), 0, SEEK_SET) < 0)))
		return -1;
	r->tmp_failed = 0;
	if (!unread)
		return 0;
	errno = EIO;
	return -1;
}

/* ---- the output ------------------------------------------------------ */

/* Reads once from the pipe: 0, or -1 if there was no output.  Keeps printable
 * bytes, one blank for blanks and control bytes in a row, and a question mark
 * for each byte above 127. */
static int
read_output(struct process *p)
{
	struct text *t = &p->text;
	char buf[READ_SIZE];
	long i, n = (long)read(p->out, buf, sizeof(buf));
	int c;

	for (i = 0; i < n && !t->cut; i++) {
		c = (unsigned char)buf[i];
		if (c > ' ' && c != 127)
			text_add(t, "%c", c < 127 ? c : '?');
		else if (t->len > 0 && t->s[t->len - 1] != ' ')
			text_put(t, " ", 1);
	}
	if (n > 0)
		return 0;
	if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		close(p->out);
		p->out = -1;
		p->nap = NAP_LEAST;	/* the program is about to end */
	}
	return -1;
}

/* ---- waiting --------------------------------------------------------- */

/* Sets ended if the process has ended, and kills the process if it was stopped.
 */
static void
reap_or_kill_stopped(struct process *p)
{
	pid_t pid;

	if (p->ended)
		return;
	pid = waitpid(p->pid, &p->status, WNOHANG | WUNTRACED);
	if (pid < 0 && errno != EINTR)
		p->wait_error = errno;
	if (pid == p->pid && WIFSTOPPED(p->status)) {
		p->run->stopped = 1;
		p->until = 0;
		kill(p->pid, SIGKILL);	/* there may be no group yet */
		kill(-p->pid, SIGKILL);
		return;
	}
	p->ended = pid == p->pid || p->wait_error != 0;
}

/* Sends SIGTERM, and later SIGKILL, when the time of the process is over. */
static void
kill_if_late(struct process *p)
{
	int sig = p->run->late ? SIGKILL : SIGTERM;

	clock_read();
	if (p->ended || p->until == 0 || now.mono < p->until)
		return;
	if (kill(-p->pid, sig) < 0)	/* there may be no group yet */
		kill(p->pid, sig);
	p->until = p->run->late ? 0 : now.mono + KILL_DELAY;
	p->run->late = 1;
}

/* Reads output until the process ends: 0, or -1 with errno. */
static int
wait_for_end(struct process *p)
{
	double begun = now.mono;
	enum wait_result waited;
	int i, shown = 0;

	p->nap = NAP_LEAST;
	for (reap_or_kill_stopped(p); !p->ended; ) {
		waited = fd_wait(p->out, 0, p->nap);
		if (waited == WAIT_TIMEOUT)
			p->nap = p->nap < NAP_MOST / 2 ? 2 * p->nap : NAP_MOST;
		if (waited == WAIT_READY)
			read_output(p);
		reap_or_kill_stopped(p);
		kill_if_late(p);
		if (!shown && !p->ended && now.mono - begun >= SLOW) {
			lib_show_step("running %s", p->run->path);
			shown = 1;
		}
	}
	for (i = 0; i < LAST_READS && p->out >= 0 && read_output(p) == 0; i++)
		;
	errno = p->wait_error;
	return p->wait_error != 0 ? -1 : 0;
}

/* ---- the start ------------------------------------------------------- */

/* Executes the program in the child, or writes the errno to report. */
static void
exec_program(const struct run *r, int in, int out, int report)
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
		errno = EPERM;	/* the reason if become sets no errno */
		if (r->become == NULL || r->become(r->arg) == 0)
			execve(r->path, r->argv, r->env);
	}
	err = errno;
	fd_write(report, (const char *)&err, sizeof(err));
	_exit(X_OSFILE);
}

/* Waits until the child has executed the program or was killed: 0; or -1 with
 * the errno of the child, which has ended.  Before the exec the child may hang,
 * for example in a home directory that does not answer, or be stopped by its
 * user; then it is killed like a program. */
static int
wait_for_exec(struct process *p, int report)
{
	int err;
	long n;

	do {
		reap_or_kill_stopped(p);
		kill_if_late(p);
	} while (fd_wait(report, 0, 0.1) != WAIT_READY);
	do
		n = (long)read(report, &err, sizeof(err));
	while (n < 0 && errno == EINTR);
	if (n != (long)sizeof(err))
		return 0;
	while (!p->ended && waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
		;
	errno = err;
	return -1;
}

/* Starts the process and its time: 0, or -1 with errno. */
static int
start_process(struct process *p)
{
	int fd[4], result;

	clock_read();
	if (p->run->limit > 0)
		p->until = now.mono + (double)p->run->limit;
	if (pipes_make(fd, 2) < 0)
		return -1;
	p->pid = fd_nonblock(fd[0]) < 0 ? -1 : fork();
	if (p->pid == 0)
		exec_program(p->run, fileno(p->copy), fd[1], fd[3]);
	if (p->pid < 0)
		return pipes_close(fd, 2);
	p->out = fd[0];
	fd[0] = -1;
	close(fd[3]);
	fd[3] = -1;
	result = wait_for_exec(p, fd[2]);
	pipes_close(fd, 2);
	return result;
}

/* ---- for the agent --------------------------------------------------- */

void
run_add_variable(struct run *r, const char *name, const char *value,
    size_t most)
{
	size_t at, n = 0;

	if (r->nenv == 0)
		text_init(&r->vars, r->mem, sizeof(r->mem));
	if (value == NULL ||
	    r->nenv + 1 == sizeof(r->env) / sizeof(r->env[0]))
		return;
	for (; n < most && value[n] != '\0'; n++)
		if (iscntrl((unsigned char)value[n]))
			return;
	at = r->vars.len;
	text_add(&r->vars, "%s=%.*s", name, (int)n, value);
	text_put(&r->vars, "", 1);
	if (!r->vars.cut)
		r->env[r->nenv++] = r->mem + at;
}

int
run_program(struct run *r)
{
	struct process p;
	struct text *t = &p.text;
	int result, err;

	memset(&p, 0, sizeof(p));
	p.run = r;
	p.out = -1;
	text_init(t, r->output, sizeof(r->output));
	r->exit = -1;
	r->signal = r->late = r->stopped = 0;
	result = make_copy(&p) < 0 || start_process(&p) < 0 ? -1 :
	    wait_for_end(&p);
	err = errno;
	if (p.copy != NULL)
		fclose(p.copy);
	if (p.out >= 0)
		close(p.out);
	if (t->cut)
		memcpy(t->s + t->len - 3, "...", 3);
	while (t->len > 0 && t->s[t->len - 1] == ' ')
		t->s[--t->len] = '\0';
	if (result == 0 && WIFEXITED(p.status))
		r->exit = WEXITSTATUS(p.status);
	else if (result == 0 && WIFSIGNALED(p.status))
		r->signal = WTERMSIG(p.status);
	errno = err;
	return result;
}

/* The codes of sysexits from X_USAGE on, each with its name and the status for
 * each kind of program.  NULL: RUN_UNSURE has the status of RUN_MAILER. */
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

void
run_set_verdict(const struct run *r, enum run_kind kind, const char *unknown,
    struct lib_verdict *v, char *buf, size_t size)
{
	const char *name = NULL;	/* name of the exit code */
	char end[80];
	struct text t;

	memset(v, 0, sizeof(*v));
	v->status = r->exit == 0 ? "2.0.0" : unknown;
	if (r->exit >= X_USAGE && r->exit <= X_CONFIG) {
		name = ends[r->exit - X_USAGE].name;
		v->status = ends[r->exit - X_USAGE].status[kind];
		if (v->status == NULL)
			v->status = ends[r->exit - X_USAGE].status[RUN_MAILER];
	}
	if (r->late || r->exit < 0)
		v->status = "4.3.0";
	v->code = X_TEMPFAIL;
	if (v->status[0] == '2')
		v->code = 0;
	if (v->status[0] == '5')
		v->code = X_UNAVAILABLE;
	text_init(&t, end, sizeof(end));
	if (v->code == 0) {
		text_add(&t, "%s", r->output[0] == '\0' ? "Ok" : "");
	} else if (r->late) {
		text_add(&t, "[took longer than ");
		span_add(&t, r->limit, 2);
		text_add(&t, "]");
	} else if (r->stopped) {
		text_add(&t, "[stopped]");
	} else if (r->signal != 0) {
		text_add(&t, "[killed by signal %d]", r->signal);
	} else {
		text_add(&t, "[exit %d%s%s]", r->exit, name != NULL ? ": " : "",
		    name != NULL ? name : "");
	}
	text_fmt(buf, size, "%.*s%s%s", (int)(size - t.len - 2), r->output,
	    r->output[0] != '\0' && t.len > 0 ? " " : "", end);
	v->text = buf;
}
