/*
 * lib.c - the part that all transport agents share.
 *
 * The scheduler starts an agent in $POSTOFFICE/transport and talks to it on
 * descriptors 0 and 1, line by line:
 *
 *	agent		scheduler
 *	#hungry offsets			give me work, with offsets too
 *			X/123-4 <tab> host	all of this message for host
 *	123/88 <tab> notary <tab> verdict text	once for each recipient
 *	#hungry
 *			X/123-4 <tab> host <tab> 88,140
 *						these recipients alone
 *	#hungry
 *			#idle			no work now, stay
 *	#hungry
 *			(empty line or end)	leave
 *
 * job.c finds and locks the recipients of a job.  A job for which it locks no
 * recipient, for example because the file is damaged, is answered with #resync.
 *
 * A verdict is recorded in an order in which a crash does no harm: the
 * diagnostic line is appended with one write and synced; then the report is
 * sent with one write; then the tag is set.  After a crash the work is at worst
 * done again.  A failure whose line cannot be written is turned into a
 * deferral.
 *
 * Nothing here moves a byte of the control file, follows a link, or leaves
 * transport/ and queue/, whatever a job or a file says.
 */
#include "job.h"
#include "../lib/ctlfile.h"
#include "../lib/path.h"
#include <signal.h>

#define TEXT_SIZE	1000	/* bytes of a verdict's text, cut when longer */
#define REPORT_SIZE	(4 * TEXT_SIZE)	/* one whole report */

static struct {
	const char *channel, *host;
	lib_work *work;			/* argument of lib_run, or NULL */
	lib_message_work *message_work;	/* argument of lib_serve_messages, or
					 * NULL */
	int	wake[2];		/* pipe with a byte after a signal */
	volatile sig_atomic_t leave;	/* the agent is to end after this job */
	struct lib_job *job;		/* the current job, or NULL */
	int	alone;			/* the scheduler is gone */
	long	idle_after;	/* seconds until idle is called */
	void	(*idle)(void);		/* argument of lib_set_idle, or NULL */
	const struct lib_command *command;	/* of lib_next_option */
} agent;

const struct lib_far *lib_far;

/* ---- to the scheduler ----------------------------------------------- */

/* Unlocks recipients without a verdict, as the scheduler is gone. */
static void
unlock_and_exit(void)
{
	struct lib_rcpt *r;

	if (agent.job != NULL)
		for (r = agent.job->rcpts; r != NULL; r = r->next)
			if (r->unreported)
				job_set_tag(agent.job, r, ' ');
	exit(0);
}

/* Sends a line to the scheduler: 0 or -1. */
static int LIKE_PRINTF(1, 2)
send_line(const char *f, ...)
{
	char line[REPORT_SIZE];
	struct text t;
	va_list ap;

	text_init(&t, line, sizeof(line) - 1);
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	line[t.len++] = '\n';
	return fd_write(1, line, t.len);
}

static void
send_or_exit(const char *word, const char *name)
{
	if (send_line("%s%s", word, name) < 0)
		unlock_and_exit();
}

/* ---- verdicts -------------------------------------------------------- */

/* Adds a text as one field of a line.  A blank replaces each byte that would
 * separate fields, and newline_as replaces each newline and carriage return.
 * newline_as is a CR in the text of a report, as the protocol has it, and a
 * blank in other fields. */
static void
add_clean(struct text *t, const char *s, int newline_as)
{
	int c;

	for (; *s != '\0'; s++) {
		c = *s == '\t' || *s == '\1' ? ' ' : *s;
		text_add(t, "%c", c == '\n' || c == '\r' ? newline_as : c);
	}
}

/* Adds the fields of RFC 3464 for one recipient: address, action, status,
 * diagnostic, remote host. */
static void
add_notary(struct text *t, const struct lib_rcpt *r,
    const struct lib_verdict *v, const char *action, const char *text)
{
	const char *status = v->status != NULL ? v->status : "2.0.0";

	add_clean(t, r->user, ' ');
	text_add(t, "\1%s\1%s\1", action, status);
	if (v->diagnostic != NULL) {
		add_clean(t, v->diagnostic, ' ');
	} else {
		/* 250, 450 or 550, in the class of the status */
		text_add(t, "x-local; %c50 (",
		    *status == '5' || *status == '2' ? *status : '4');
		add_clean(t, text, ' ');
		text_add(t, ")");
	}
	text_add(t, "\1");
	if (v->remote != NULL)
		add_clean(t, v->remote, ' ');
}

/* Appends the diagnostic line to the control file with one write, and syncs the
 * file: 0 or -1.  There is no second descriptor, as closing it would end our
 * lock on the file. */
static int
write_diag(struct lib_job *job, const struct lib_rcpt *r, const char *notary,
    const char *text)
{
	int flags = fcntl(job->ctl, F_GETFL, 0), failed;
	char line[REPORT_SIZE];
	struct text t;

	text_init(&t, line, sizeof(line) - 1);
	ctl_diag_begin(&t, job->ctl, r->off, r->hdr, r->drpt,
	    (long)time(NULL));
	text_add(&t, "%s\t%s", notary, text);
	line[t.len++] = '\n';
	if (flags < 0 || fcntl(job->ctl, F_SETFL, flags | O_APPEND) < 0)
		return -1;
	failed = (size_t)write(job->ctl, line, t.len) != t.len ||
	    fd_sync(job->ctl) < 0;
	/* O_APPEND would move a tag to the end, too */
	return fcntl(job->ctl, F_SETFL, flags) < 0 || failed ? -1 : 0;
}

/* Sends the report line, then sets the tag. */
static void
send_report(struct lib_job *job, struct lib_rcpt *r, const char *notary,
    const char *verdict, const char *text, int tag)
{
	/* the agent does not exit here, as other recipients that are delivered
	 * may still need their tags */
	if (send_line("%lu/%lu\t%s\t%s %s", job->num, r->off, notary, verdict,
	    text) < 0)
		agent.alone = 1;
	job_set_tag(job, r, tag);
	r->unreported = 0;
}

int
lib_is_failure(int code)
{
	return code == X_NOUSER || code == X_NOHOST || code == X_UNAVAILABLE;
}

void
lib_report_verdict(struct lib_job *job, struct lib_rcpt *r,
    const struct lib_verdict *v)
{
	char text[TEXT_SIZE], notary[REPORT_SIZE], verdict[40];
	/* for success and failure the scheduler takes only the remote host from
	 * the notary, for its log */
	const char *reported = v->remote != NULL ? notary : "";
	int failed = lib_is_failure(v->code), wanted;
	const char *action = failed ? "failed" : "delayed";
	struct text t;

	if (lib_far != NULL) {
		lib_far->report(job, r, v);
		return;
	}
	if (v->code == 0)
		action = "delivered";
	if (v->action != NULL)
		action = v->action;
	text_init(&t, text, sizeof(text));
	add_clean(&t, v->text, '\r');
	text_init(&t, notary, sizeof(notary));
	add_notary(&t, r, v, action, text);
	strcpy(verdict, v->code == X_DEFERALL ? "deferall" : "deferred");
	if (v->code != X_DEFERALL && v->delay > 0)
		text_fmt(verdict, sizeof(verdict), "retryat +%ld", v->delay);
	if (v->code == 0) {
		wanted = v->status != NULL &&
		    (ctl_parse_notify(r->dsn, NULL, 0) & NOTIFY_SUCCESS);
		if (wanted && write_diag(job, r, notary, text) < 0) {
			lib_note("cannot write the diagnostic of the recipient "
			    "at %lu in %s, so the sender gets no DSN: %s",
			    r->off, ctl_log_name(job->name), strerror(errno));
			wanted = 0;
		}
		send_report(job, r, reported, wanted ? "ok2" : "ok3", text,
		    '+');
	} else if (failed && write_diag(job, r, notary, text) == 0)
		send_report(job, r, reported, "error2", text, '-');
	else if (failed)
		send_report(job, r, "", "deferred",
		    "a failure, but its diagnostic cannot be written", ' ');
	else
		send_report(job, r, notary, verdict, text, ' ');
}

void
lib_report(struct lib_job *job, struct lib_rcpt *r, int code,
    const char *status, const char *text, long delay)
{
	struct lib_verdict v;

	memset(&v, 0, sizeof(v));
	v.code = code;
	v.status = status;
	v.text = text;
	v.delay = delay;
	lib_report_verdict(job, r, &v);
}

/* ---- jobs ------------------------------------------------------------ */

void
lib_report_rest(struct lib_job *job, int code, const char *status,
    const char *text)
{
	struct lib_rcpt *r;

	for (r = job->rcpts; r != NULL; r = r->next)
		if (r->unreported)
			lib_report(job, r, code, status, text, 0);
}

int
lib_reopen_read_only(const struct lib_job *job)
{
	struct stat ours, st;
	int fd = fd_open_plain(job->name, O_RDONLY, &st), failed;

	if (fd < 0)
		return -1;
	errno = EAGAIN;
	failed = fstat(job->ctl, &ours) < 0 || !is_same_file(&st, &ours) ||
	    dup2(fd, job->ctl) < 0;
	close(fd);
	return failed ? -1 : 0;
}

/* Returns 1 if the control file still has its name and no hash directory has
 * the message file.  (With -H the message file is moved first, and the control
 * file after it.) */
static int
is_message_missing(const char *name)
{
	const char *base = name_base(name);
	struct stat st;
	int level;

	for (level = 0; level < OFFICE_LEVELS; level++)
		if (path_may_exist(path_in("../queue", "%s%s",
		    office_hash_dir(office_hash_index(base, level)), base)))
			return 0;
	return lstat(name, &st) == 0;
}

/* Opens the message file and has the agent work on the recipients. */
static void
open_and_work(struct lib_job *job, lib_work *work)
{
	char path[300], why[300];
	struct stat st;

	text_fmt(path, sizeof(path), "../queue/%s", job->name);
	job->msg = fd_open_plain(path, O_RDONLY, &st);
	if (job->msg < 0 && errno == ENOENT && is_message_missing(job->name)) {
		lib_report_rest(job, X_UNAVAILABLE, "5.3.0", "the message file "
		    "is missing, so there is nothing left to deliver; please "
		    "send the message again");
		return;
	}
	if (job->msg < 0) {
		text_fmt(why, sizeof(why), "cannot open the message file: %s",
		    strerror(errno));
		lib_report_rest(job, X_TEMPFAIL, "4.3.0", why);
		return;
	}
	job->arrived = st.st_mtime;
	job->size = st.st_size;
	if (job->body > (unsigned long)st.st_size)
		lib_report_rest(job, X_TEMPFAIL, "4.3.0",
		    "the message file is shorter than it should be");
	else
		work(job);
	close(job->msg);
	if (agent.alone)
		unlock_and_exit();
	lib_report_rest(job, X_SOFTWARE, "4.3.0", "the agent gave no verdict");
}

/* Ends a field of a job line at its TAB.  Returns the next field, or NULL. */
static char *
next_field(char *s)
{
	s = s == NULL ? NULL : strchr(s, '\t');
	if (s != NULL)
		*s++ = '\0';
	return s;
}

/* Opens the control file of a job and sets name and number: 0 or -1.  There is
 * no note if the file is gone, or if a message cannot have this name. */
static int
open_control(struct lib_job *job, const char *name)
{
	if (name_parse(name) == NULL ||
	    text_fmt(job->name, sizeof(job->name), "%s", name) < 0)
		return -1;
	job->num = name_num(name);
	job->ctl = fd_open_plain(name, O_RDWR, NULL);
	if (job->ctl < 0 && errno != ENOENT)
		lib_note("cannot open the control file %s: %s", name,
		    strerror(errno));
	return job->ctl < 0 ? -1 : 0;
}

static void
do_job(char *line)
{
	static struct lib_job job;	/* agent.job points to this struct */
	char *host = next_field(line), *offsets = next_field(host);
	char list[1000];	/* room for a hundred offsets */
	const char *job_channel = getenv("CHANNEL");

	memset(&job, 0, sizeof(job));
	job.ctl = -1;
	if (offsets != NULL && (text_fmt(list, sizeof(list), ",%s,",
	    offsets) < 0 || list[strspn(list, "0123456789,")] != '\0'))
		lib_note("the job's list of offsets is too long or damaged: "
		    "%s", offsets);
	else if (open_control(&job, line) == 0) {
		/* the lock shows that this agent lives; where fcntl locks fail,
		 * tags suffice */
		lock_set(job.ctl);
		job_scan(&job, agent.channel, host != NULL ? host : agent.host,
		    offsets != NULL ? list : NULL);
	}
	if (job.ctl < 0 || job_lock(&job) == 0) {
		if (job_channel != NULL &&
		    !lib_is_same(job_channel, agent.channel))
			lib_note("this agent is for channel %s, the job is "
			    "for %s; give it -c $channel", agent.channel,
			    job_channel);
		send_or_exit("#resync ", line);
	} else {
		agent.job = &job;
		open_and_work(&job, agent.work);
		agent.job = NULL;
	}
	job_free(&job);
	ctl_close_kept();
	if (job.ctl >= 0)
		close(job.ctl);
}

/* ---- the loop -------------------------------------------------------- */

static void
on_signal(int sig)
{
	int was = errno, n;

	(void)sig;
	agent.leave = 1;
	n = (int)write(agent.wake[1], "", 1);
	(void)n;	/* a full pipe wakes the agent, too */
	errno = was;
}

static int
catch_signals(void)
{
	static const int leave[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	int i;

	if (pipe(agent.wake) < 0 || fd_nonblock(agent.wake[0]) < 0 ||
	    fd_nonblock(agent.wake[1]) < 0)
		return -1;
	signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN);	/* write returns an error then */
#endif
	signal(SIGCHLD, SIG_DFL);	/* waitpid fails if it is ignored */
	for (i = 0; i < (int)(sizeof(leave) / sizeof(leave[0])); i++)
		signal_set(leave[i], on_signal);
	return 0;
}

/* Waits for input.  Returns 1; or 0 if the agent is to end. */
static int
wait_for_input(void)
{
	int n, idle_due = agent.idle != NULL;
	struct timeval tv;
	fd_set in;

	do {
		FD_ZERO(&in);
		FD_SET(0, &in);
		FD_SET(agent.wake[0], &in);
		tv.tv_sec = agent.idle_after;
		tv.tv_usec = 0;
		n = select(agent.wake[0] + 1, &in, NULL, NULL,
		    idle_due ? &tv : NULL);
		if (n == 0) {
			agent.idle();
			idle_due = 0;
		}
	} while ((n == 0 || (n < 0 && errno == EINTR)) && !agent.leave);
	return n > 0 && !agent.leave;
}

/* input: what the scheduler has sent. */
static struct {
	size_t	have, used;	/* bytes in buf, bytes of buf consumed */
	char	buf[LINE_MAX_];
} input;

/* Returns the next line, without its newline; NULL at the end. */
static char *
next_line(void)
{
	char *line, *nl;
	long n;

	for (;;) {
		line = input.buf + input.used;
		nl = memchr(line, '\n', input.have - input.used);
		if (nl != NULL) {
			input.used += (size_t)(nl - line) + 1;
			*nl = '\0';
			return line;
		}
		input.have -= input.used;
		memmove(input.buf, line, input.have);
		input.used = 0;
		if (input.have == sizeof(input.buf) || !wait_for_input())
			return NULL;
		n = (long)read(0, input.buf + input.have,
		    sizeof(input.buf) - input.have);
		if (n > 0)
			input.have += (size_t)n;
		else if (n == 0 || (errno != EINTR && errno != EAGAIN))
			return NULL;
	}
}

int
lib_has_scheduler(void)
{
	return lib_far != NULL ? lib_far->has_scheduler() : !agent.alone;
}

void
lib_set_idle(long seconds, void (*idle)(void))
{
	agent.idle_after = seconds;
	agent.idle = idle;
}

const char *
lib_share_path(const char *name)
{
	static char path[PATH_MAX_];	/* the result */

	text_fmt(path, sizeof(path), "%s/%s",
	    env_get("MAILSHARE", MAILSHARE), name);
	return path;
}

void
lib_usage(void)
{
	fprintf(stderr, "usage: %s %s\n", agent.command->name,
	    agent.command->usage);
	exit(X_USAGE);
}

void
lib_set_span(long *seconds)
{
	if (span_parse(optarg, seconds) < 0)
		lib_usage();
}

int
lib_next_option(int argc, char **argv, struct lib_command *command)
{
	int c;

	agent.command = command;
	while ((c = getopt(argc, argv, command->letters)) != -1)
		switch (c) {
		case 'c': command->channel = optarg; break;
		case 'h': command->host = optarg; break;
		case 'N': command->check_only = 1; break;
		case 'V':
			printf("%s %s\n", command->name, command->version);
			exit(0);
		default:
			return c;
		}
	return -1;
}

void
lib_ignore_or_refuse_option(const struct lib_foreign *f, int option)
{
	/* getopt returns '?' for an option without its argument and for an
	 * unknown option, and sets optopt to its letter */
	int letter = option == '?' ? optopt : option;

	while (f->letters != NULL && strchr(f->letters, letter) == NULL)
		f++;
	if (f->letters == NULL || (f->instead == NULL && option == '?'))
		lib_usage();
	if (f->instead == NULL)
		return;
	fprintf(stderr, "%s: -%c is for ZMailer's %s only; here %s\n",
	    agent.command->name, letter, agent.command->name, f->instead);
	exit(X_USAGE);
}

size_t
lib_status_len(const char *s)
{
	size_t n = 1, digits;
	int i;

	if (*s == '\0' || strchr("245", *s) == NULL)
		return 0;
	for (i = 0; i < 2; i++) {
		if (s[n++] != '.')
			return 0;
		digits = strspn(s + n, "0123456789");
		if (digits < 1 || digits > 3)
			return 0;
		n += digits;
	}
	return n;
}

/* Passes jobs to a function until the input ends.  Returns the exit status. */
static int
serve(void (*do_line)(char *line))
{
	char *line;

	if (catch_signals() < 0)
		return X_OSERR;
	send_or_exit("#hungry", agent.work != NULL ? " offsets" : "");
	while ((line = next_line()) != NULL && *line != '\0') {
		if (*line != '#')
			do_line(line);
		if (agent.leave)
			break;
		send_or_exit("#hungry", "");
	}
	return 0;
}

int
lib_run(const char *channel, const char *host, lib_work *work)
{
	agent.channel = channel;
	agent.host = host;
	agent.work = work;
	return serve(do_job);
}

static void
do_message_job(char *line)
{
	char *host = next_field(line);

	if (name_parse(line) != NULL)
		agent.message_work(line, host == NULL ? "" : host);
	else
		send_or_exit("#resync ", line);
}

int
lib_serve_messages(lib_message_work *work)
{
	agent.message_work = work;
	return serve(do_message_job);
}

void
lib_report_job(const char *name, const char *verdict, const char *text)
{
	char field[TEXT_SIZE];
	struct text t;

	text_init(&t, field, sizeof(field));
	add_clean(&t, text, '\r');
	if (send_line("%lu/0\t\t%s %s", name_num(name), verdict, field) < 0)
		exit(0);
}
