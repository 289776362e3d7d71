/*
 * mailbox.c - the agent that delivers into mailboxes of this machine.
 *
 * The path of a mailbox is made from a template: %u is the user's name, %h the
 * home directory; a relative path is in the mail directory.  A path that ends
 * in '/' is a Maildir, any other path a file in mbox format.
 *
 * If root has started the agent, it makes a child, which becomes the user and
 * then delivers, so that files and links of a user never meet root's rights.
 * Two steps in the mail directory need these rights, and the parent takes both
 * before it makes the child: it makes box.lock, and it makes a missing box
 * exclusively and gives it to the user.  It does so only for a template without
 * '/' and %h, as the administrator owns all of such a path.  In any other
 * directory the user must be able to make the box, or have one.  With
 * NO_INITGROUPS the child keeps root's supplementary groups.
 * Started by another user, the agent makes no child, and delivers into all
 * boxes that it may write to, for example as a member of the group "mail"; it
 * can make only the box of that user.
 *
 * The user can stop or kill the child, or make it hang in his files.  The child
 * reports the place of the message before it writes, and at last the outcome.
 * So a second child can remove the part that a killed one has left.
 *
 * With -n there are no users, only names.  Each name that is fit for a file
 * name is a box, owned by the user of this process.  Only with -n may a name
 * end in '/'.
 *
 * A recipient "games@vm" is the user games, since the router that chose this
 * channel knows that vm is here.
 *
 * A recipient that begins with '/' is a path of a mailbox, one that begins with
 * '|' a command for the shell.  The privilege that the router wrote behind the
 * address is the uid that writes to the mailbox or runs the command.
 *
 *	local pipe.x "|/usr/bin/prog" 1000	runs as the user 1000
 *	local pipe.x "|/usr/bin/prog" 65534	fails: a stranger wrote it
 *	local pipe.x "|/usr/bin/prog" 0		waits, unless -0 is given
 *
 * ZMailer's router gives the privilege of nobody to all that strangers write,
 * and relies on this agent to refuse it.  A uid without a user fails, too.
 * Root's privilege is mostly a mistake of the administrator, and could cost the
 * whole machine, so the mail waits for him.  Only root can become another user;
 * any other user delivers only as himself.
 */
#include "box.h"
#include "run.h"
#include "../lib/office.h"
#include <ctype.h>
#include <sys/wait.h>
#include <signal.h>
#ifndef NO_PWD
#include <pwd.h>
#endif

static struct {
	const char *dir;	/* the mail directory */
	const char *template;	/* path of a box, with %u and %h */
	int	names;		/* -n: a name need not be that of a user */
	int	as_root;	/* -0: files and programs of root are allowed */
	long	wait;		/* seconds of waiting for all locks of a job */
	long	time_limit;	/* seconds that a program may run, or that a
				 * child may take to deliver into a box, beside
				 * the seconds left of wait; 0: no limit */
	unsigned long size_limit;	/* bytes that a box may have, 0: any */
} opt = { NULL, "%u", 0, 0, 2, 600, 0 };

#define UNDO_LIMIT	10.0	/* seconds to remove a part of a message */
#define NO_MAIL		"/dev/null"	/* path that users give to get no mail;
					 * the agent does not open this file */

/* ---- users ----------------------------------------------------------- */

/* Sets the outcome after a user was not found.  With errno 0 there is no such
 * user, and the arguments are the outcome.  With another errno users cannot be
 * looked up now, and the outcome is a deferral.  Returns -1. */
static int
set_user_lookup_error(struct outcome *end, int code, const char *status,
    const char *text)
{
	if (errno != 0)
		return box_set_outcome(end, X_TEMPFAIL, "4.3.0",
		    "users cannot be looked up now");
	return box_set_outcome(end, code, status, text);
}

/* Returns 1 if the name can be a component of any path.  A name that ends in
 * ".lock" cannot: such a box would be the lock of another box.  With -n the
 * name may end in '/', for a Maildir. */
static int
is_safe_name(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-");

	if (n == 0 || *s == '.' || *s == '-' ||
	    (n > 5 && strncmp(s + n - 5, ".lock", 5) == 0))
		return 0;
	return s[n] == '\0' || (opt.names && strcmp(s + n, "/") == 0);
}

/* Sets the user with this name, or with this uid if name is NULL: 0; or -1 with
 * errno, which is 0 if there is no such user, and not 0 if users cannot be
 * looked up now. */
static int
find_user(struct user *u, const char *name, long uid)
{
#ifdef NO_PWD
	const char *end = "";

	u->uid = name != NULL ? (uid_t)num_of(name, &end) : (uid_t)uid;
	u->gid = (gid_t)u->uid;
	if (name == NULL)
		text_fmt(u->name, sizeof(u->name), "%ld", uid);
	strcpy(u->home, "/");
	errno = 0;
	return *end == '\0' ? 0 : -1;
#else
	struct passwd *pw = user_find(name, uid);

	if (pw == NULL)
		return -1;
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	errno = ENAMETOOLONG;
	/* the system may find JOE and call the user joe: u->name gets the
	 * system's spelling if it is safe.  A name found by uid is used in no
	 * path, so it need not be safe. */
	if ((name == NULL || is_safe_name(pw->pw_name)) &&
	    text_fmt(u->name, sizeof(u->name), "%s", pw->pw_name) < 0)
		return -1;
	return text_fmt(u->home, sizeof(u->home), "%s", pw->pw_dir);
#endif
}

/* Sets the user u->name.  If there is no such user, tries the name in lower
 * case, then the name up to its '+', then this part in lower case.  Returns the
 * same as find_user. */
static int
find_mail_user(struct user *u)
{
	char whole[sizeof(u->name)];
	size_t plus = strcspn(u->name, "+");
	int i;

	strcpy(whole, u->name);
	for (i = 0; i < 4; i++) {
		strcpy(u->name, whole);
		if (i >= 2)
			u->name[plus] = '\0';
		if (i & 1)
			text_lower(u->name);
		errno = 0;
		if (is_safe_name(u->name) && find_user(u, u->name, 0) == 0)
			return 0;
		if (errno != 0)
			break;
	}
	return -1;
}

/* Sets the user with this uid.  The user "nobody" is treated as missing.  So
 * are 65534 and 65535 on every system, as one of them is often the uid of
 * "nobody".  Negative and too large numbers are treated as missing, too, as
 * they could turn into another uid, such as 0.  Returns the same as find_user.
 */
static int
find_user_of_uid(struct user *u, long uid)
{
	int is_nobody = uid < 0 || (long)(uid_t)uid != uid ||
	    (uid_t)uid == (uid_t)-1 || uid == 65534L || uid == 65535L;

	errno = 0;
#ifndef NO_PWD
	if (!is_nobody && find_user(u, "nobody", 0) == 0)
		is_nobody = u->uid == (uid_t)uid;
	else if (errno != 0)
		return -1;
	errno = 0;
#endif
	return is_nobody ? -1 : find_user(u, NULL, uid);
}

/* Returns the '@' before the host in a recipient, or NULL if there is no host.
 * An '@' in a path, a command or a quoted name is before no host. */
static const char *
find_at_sign(const char *word)
{
	const char *at;

	if (*word == '|' || *word == '/')
		return NULL;
	if (*word != '"')
		return strchr(word, '@');
	at = strrchr(word, '@');
	return at != NULL && at[-1] == '"' && word[strlen(word) - 1] != '"' ?
	    at : NULL;
}

/* Adds the recipient without its quotes, and without its host if at, the '@'
 * before the host, is not NULL. */
static void
add_local_part(struct text *t, const char *word, const char *at)
{
	const char *end = at != NULL ? at : word + strlen(word);
	int quoted = end - word >= 2 && *word == '"' && end[-1] == '"';

	for (word += quoted, end -= quoted; word < end; word++) {
		if (quoted && *word == '\\' && word + 1 < end)
			word++;
		text_put(t, word, 1);
	}
}

/* ---- where the box is ------------------------------------------------ */

/* Sets the path of the box from the template: 0, or -1 with the outcome. */
static int
make_path(struct mail *m)
{
	struct text t;
	const char *f = opt.template;

	text_init(&t, m->box, sizeof(m->box) - sizeof(".lock"));
	if (*f != '/' && strncmp(f, "%h", 2) != 0)
		text_add(&t, "%s/", opt.dir);
	for (; *f != '\0'; f++)
		if (*f != '%')
			text_add(&t, "%c", *f);
		else if (*++f == 'u')
			text_add(&t, "%s", m->user->name);
		else
			text_add(&t, "%s", m->user->home);
	if (t.cut || m->box[0] != '/')
		return box_defer(m, "is no path of a mailbox");
	return 0;
}

/* ---- privilege ------------------------------------------------------- */

/* Runs act in the child as the user, reports the outcome, and exits. */
static void
act_as_user_report_and_exit(struct mail *m, int (*act)(struct mail *))
{
	if (stdio_to_null() < 0)	/* the user gets none of our pipes */
		box_defer_error(m, "open", "/dev/null", errno);
	else if (lib_reopen_read_only(m->job) < 0)
		box_defer_error(m, "open", m->job->name, errno);
	else if (user_become(m->user->name, m->user->uid, m->user->gid) < 0)
		box_defer_error(m, "become", m->user->name, errno);
	else if (act(m) == 0)
		box_set_outcome(m->end, 0, "2.0.0", "Ok");
	m->end->state = OVER;
	m->end->left = m->left;
	fd_write(m->report, (const char *)m->end, sizeof(*m->end));
	_exit(0);
}

/* child: the process that delivers. */
struct child {
	pid_t	pid;		/* 0: the child was waited for */
	int	fd;		/* pipe with the reports */
	const char *error;	/* why there is no report OVER, or NULL */
	struct outcome end;	/* the latest report */
};

/* Sets c->error if the child was stopped or took too long: its user can do
 * that, and other users' mail must not wait.  Sets c->pid to 0 if the child has
 * ended. */
static void
poll_child(struct child *c, double until)
{
	int status;

	clock_read();
	if (until > 0 && now.mono >= until)
		c->error = "the delivery took too long";
	if (waitpid(c->pid, &status, WNOHANG | WUNTRACED) == c->pid) {
		if (WIFSTOPPED(status))
			c->error = "the delivery was stopped";
		else
			c->pid = 0;	/* a report may be in the pipe */
	}
}

/* Reads the reports of the child until OVER, or until c->error is set.  The
 * texts of a report are bounded here, as the child belongs to the user. */
static void
read_outcome(struct child *c, double until)
{
	struct outcome *end = &c->end;
	char buf[sizeof(*end)];
	enum wait_result waited;
	size_t have = 0;
	long n;

	while (c->error == NULL) {
		waited = fd_wait(c->fd, 0, 0.1);
		if (waited != WAIT_READY && c->pid != 0)
			poll_child(c, until);
		if (waited != WAIT_READY)
			continue;
		n = (long)read(c->fd, buf + have, sizeof(buf) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			c->error = "the delivering process died";
		else
			have += (size_t)n;
		if (have < sizeof(buf))
			continue;
		have = 0;
		memcpy(end, buf, sizeof(buf));
		end->status[sizeof(end->status) - 1] = '\0';
		end->text[sizeof(end->text) - 1] = '\0';
		if (end->status[strspn(end->status, "0123456789.")] != '\0')
			strcpy(end->status, "4.2.0");
		if (end->state == OVER)
			return;
	}
}

/* Runs act in a child that becomes the user, for at most so many seconds (0: no
 * limit), and sets *c.  Returns 0; or -1 with the outcome if no child could be
 * made. */
static int
run_in_child(struct child *c, struct mail *m, int (*act)(struct mail *),
    double seconds)
{
	int report[2];

	memset(c, 0, sizeof(*c));
	if (pipe(report) < 0)
		return box_defer_error(m, "make", "a pipe", errno);
	c->pid = fork();
	if (c->pid == 0) {
		close(report[0]);
		m->report = report[1];
		act_as_user_report_and_exit(m, act);
	}
	close(report[1]);
	if (c->pid < 0) {
		close(report[0]);
		return box_defer_error(m, "make", "a process", errno);
	}
	c->fd = report[0];
	clock_read();
	read_outcome(c, seconds > 0 ? now.mono + seconds : 0);
	close(c->fd);
	if (c->pid == 0)
		return 0;
	kill(c->pid, SIGKILL);	/* a stopped child would never end */
	while (waitpid(c->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return 0;
}

/* Removes a part of a message that may be in the box, in a second child of the
 * user, since root would have to trust the user's directories. */
static void
undo_in_child(struct mail *m, const struct outcome *begun)
{
	double left = m->left;
	struct child c;

	*m->end = *begun;
	m->end->code = X_TEMPFAIL;	/* box_undo can fail and set no code */
	m->left = UNDO_LIMIT / 2;
	if (run_in_child(&c, m, box_undo, UNDO_LIMIT) < 0 || c.error != NULL ||
	    c.end.code != 0)
		lib_note("%s may have a part of a message", m->box);
	m->left = left;
}

/* ---- slow users ------------------------------------------------------- */

#define SLOW_USERS	64	/* entries for slow users */
#define SLOW_LEAST	60.0	/* seconds of an entry, at least */
#define SLOW_TIMES	10.0	/* seconds of an entry per second of waiting */

static struct slow {
	unsigned long key;	/* the uid; with -n a hash of the box's path */
	double	until;		/* mono; the end of the entry */
	int	hung;		/* a delivery was stopped, died or took too
				 * long */
} slow[SLOW_USERS];

/* Sets the key of the user, or of the box if there are no users.  Returns the
 * entry at the place of that key; the entry may have another key. */
static struct slow *
slow_entry(const struct mail *m, unsigned long *key)
{
	*key = opt.names ? hash_text(m->box, 0) : (unsigned long)m->user->uid;
	return &slow[*key % SLOW_USERS];
}

/*
 * A job for one box delays only mail for that box, as the scheduler has no more
 * than one agent for it at a time.  A job for several boxes delivers into one
 * after another, and a user who has a box in job after job could make the other
 * recipients wait again and again.  So in jobs for several boxes a slow user
 * gets no time: a lock is tried once; if an earlier delivery hung, nothing is
 * tried.  Returns 0, or -1 with the outcome.
 */
static int
limit_slow_user(struct mail *m)
{
	unsigned long key;
	const struct slow *s = slow_entry(m, &key);

	clock_read();
	if (m->job->rcpts->next == NULL || s->key != key ||
	    now.mono >= s->until)
		return 0;
	m->is_brief = 1;
	m->left = 0;
	return !s->hung ? 0 : box_set_outcome(m->end, X_TEMPFAIL, "4.2.0",
	    "an earlier delivery for this user took too long, was stopped or "
	    "died; not tried now, as other recipients would wait");
}

/* Records a delivery that was deferred after so many seconds. */
static void
record_slow_user(const struct mail *m, double cost)
{
	unsigned long key;
	struct slow *s = slow_entry(m, &key);

	if (m->end->code != X_TEMPFAIL || (cost <= 0 && !m->hung))
		return;
	s->key = key;
	s->hung = m->hung;
	s->until = now.mono + (cost * SLOW_TIMES > SLOW_LEAST ?
	    cost * SLOW_TIMES : SLOW_LEAST);
}

/* Delivers into the box in a child that becomes the user. */
static void
deliver_in_child(struct mail *m)
{
	double began;
	struct child c;

	clock_read();
	began = now.mono;
	if (run_in_child(&c, m, box_deliver, opt.time_limit > 0 ?
	    m->left + (double)opt.time_limit : 0) < 0)
		return;
	if (c.error == NULL) {
		*m->end = c.end;
		if (c.end.left < m->left)
			m->left = c.end.left;
		return;
	}
	clock_read();
	m->left -= now.mono - began;
	if (c.end.state == THERE)
		return;		/* delivered */
	if (c.end.state == BEGUN)
		undo_in_child(m, &c.end);
	m->hung = 1;
	/* By 4.2.x the scheduler sees that this mailbox takes no mail now.  It
	 * then does not try the next messages for this box one by one, and
	 * other users' mail does not wait for such tries. */
	box_set_outcome(m->end, X_TEMPFAIL, "4.2.0", c.error);
}

/* ---- programs -------------------------------------------------------- */

static int
become_owner(void *mail)
{
	const struct mail *m = mail;
	const struct user *u = m->user;

	if (geteuid() == 0 && user_become(u->name, u->uid, u->gid) < 0)
		return -1;
	umask(077);
	return chdir(m->user->home) < 0 ? chdir("/") : 0;
}

/* Passes the message with a "From " line, which programs expect. */
static int
put_program(void *mail, int (*put)(void *, const char *, size_t), void *out)
{
	const struct mail *m = mail;
	char head[HEAD_SIZE];
	struct text t;

	text_init(&t, head, sizeof(head));
	box_head(m, 1, &t);
	if (put(out, head, t.len) != 0)
		return -1;
	return lib_pass_message(m->job, m->rcpt, put, out);
}

/* Adds the first "NAME=VALUE" of each name from the N line.  A sender can give
 * any number of further values; they are left out. */
static void
add_dsn_variables(struct run *run, const char *s)
{
	static const char *const names[] = { "NOTIFY", "ORCPT", "INRCPT",
	    "INFROM" };
	int i, done[4] = { 0, 0, 0, 0 };
	size_t n, k;

	for (; s != NULL && *s != '\0'; s += n + strspn(s + n, " \t")) {
		n = strcspn(s, " \t");
		k = strcspn(s, "= \t");
		for (i = 0; i < 4; i++) {
			if (done[i] || s[k] != '=' ||
			    !ctl_is_word(s, k, names[i]))
				continue;
			run_add_variable(run, names[i], s + k + 1, n - k - 1);
			done[i] = 1;
		}
	}
}

/* Sets the variables that ZMailer's mailbox gives a program. */
static void
set_environment(struct run *run, const struct mail *m)
{
	static const char *const ours[] = { "TZ", "MAILBIN", "MAILSHARE",
	    "ZCONFIG" };
	const struct user *u = m->user;
	const char *from = m->rcpt->from->address;
	const size_t all = PATH_SIZE;
	char number[80];
	int i;

	run_add_variable(run, "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/ucb",
	    all);
	run_add_variable(run, "SHELL", "/bin/sh", all);
	run_add_variable(run, "HOME", u->home, all);
	run_add_variable(run, "USER", u->name, all);
	run_add_variable(run, "LOGNAME", u->name, all);
	text_fmt(number, sizeof(number), "%ld", (long)u->uid);
	run_add_variable(run, "UID", number, all);
	for (i = 0; i < 4; i++)
		run_add_variable(run, ours[i], getenv(ours[i]), all);
	run_add_variable(run, "SENDER", *from == '\0' ? "<>" : from, all);
	run_add_variable(run, "ENVID", m->job->envid, all);
	add_dsn_variables(run, m->rcpt->dsn);
	run_add_variable(run, "MESSAGEID", name_base(m->job->name), all);
	if (spool_id(m->job->name, NULL, NULL, number, sizeof(number)) == 0)
		run_add_variable(run, "MSGSPOOLID", number, all);
}

static void
deliver_to_program(struct mail *m, char *command)
{
	static char sh[] = "sh", minus_c[] = "-c";
	char text[sizeof(m->end->text)], *argv[4];
	struct lib_verdict v;
	struct run run;

	argv[0] = sh;
	argv[1] = minus_c;
	argv[2] = command;
	argv[3] = NULL;
	memset(&run, 0, sizeof(run));
	run.path = "/bin/sh";
	run.argv = argv;
	set_environment(&run, m);
	run.message = put_program;
	run.become = become_owner;
	run.arg = m;
	run.limit = opt.time_limit;
	if (run_program(&run) < 0) {
		if (run.tmp_failed)
			box_defer_error(m, "copy the message into",
			    run_tmp_dir(), errno);
		else
			box_defer_error(m, errno == EIO ?
			    "read the message for" : "run", command, errno);
		return;
	}
	run_set_verdict(&run, RUN_USERS, "4.3.0", &v, text, sizeof(text));
	m->hung = run.late || run.stopped;
	if (m->hung)
		v.status = "4.2.0";	/* as in deliver_in_child */
	box_set_outcome(m->end, v.code, v.status, v.text);
}

/* ---- jobs ------------------------------------------------------------ */

/* Delivers into a file or to a program, as the user of the privilege. */
static void
deliver_to_file_or_program(struct mail *m, struct user *u, char *word)
{
	long uid = m->rcpt->priv;

	if (find_user_of_uid(u, uid) < 0)
		set_user_lookup_error(m->end, X_UNAVAILABLE, "5.7.1",
		    *word == '|' ? "mail to programs is not allowed here" :
		    "mail to files is not allowed here");
	else if (strcmp(word, NO_MAIL) == 0)
		return;		/* delivered */
	else if (uid == 0 && !opt.as_root)
		box_set_outcome(m->end, X_TEMPFAIL, "4.7.0", "mailbox "
		    "delivers to files and programs as root only with -0");
	else if (geteuid() != 0 && geteuid() != u->uid)
		box_set_outcome(m->end, X_TEMPFAIL, "4.3.5", "only root can "
		    "deliver in the name of another user; set user=root for "
		    "mailbox in scheduler.cf");
	else if (limit_slow_user(m) < 0)
		return;
	else if (*word == '|')
		deliver_to_program(m, word + 1);
	else if (text_fmt(m->box, sizeof(m->box) - sizeof(".lock"), "%s",
	    word) < 0)
		box_defer(m, "is no path of a mailbox");
	else if (geteuid() == 0)
		deliver_in_child(m);
	else
		box_deliver(m);
}

/* Delivers into the box of a user. */
static void
deliver_to_box(struct mail *m, struct user *u, const char *word)
{
	/* 1: only the administrator can change names in the path of a box */
	int is_of_admin = strchr(opt.template, '/') == NULL &&
	    strstr(opt.template, "%h") == NULL;

	u->uid = geteuid();
	u->gid = getegid();
	errno = 0;
	if (text_fmt(u->name, sizeof(u->name), "%s", word) < 0 ||
	    (opt.names ? !is_safe_name(u->name) : find_mail_user(u) < 0)) {
		set_user_lookup_error(m->end, X_NOUSER, "5.1.1",
		    "there is no such user here");
		return;
	}
	if (make_path(m) < 0 || limit_slow_user(m) < 0)
		return;
	if (geteuid() != 0 || opt.names) {
		box_deliver(m);
		return;
	}
	if (!is_of_admin || box_lock_and_make(m) == 0)
		deliver_in_child(m);
	box_unlock(m);
}

static void
deliver_rcpt(const struct lib_job *job, const struct lib_rcpt *r,
    double *left, struct outcome *end)
{
	static struct mail m;	/* static, as the struct is large */
	struct user user;
	char word[PATH_SIZE];
	struct text t;
	double began, cost = 0;
	/* a backslash stops alias lookup; no alias is looked up here */
	const char *local = r->user + strspn(r->user, "\\");
	const char *at = find_at_sign(local);

	clock_read();
	began = now.mono;
	memset(&m, 0, sizeof(m));
	memset(&user, 0, sizeof(user));
	memset(end, 0, sizeof(*end));
	m.job = job;
	m.rcpt = r;
	m.user = &user;
	m.end = end;
	m.left = *left;
	m.size_limit = (off_t)opt.size_limit;
	m.report = -1;
	box_set_outcome(end, 0, "2.0.0", "Ok");
	text_init(&t, word, sizeof(word));
	add_local_part(&t, local, at);
	if (at == NULL && (*word == '|' || *word == '/'))
		deliver_to_file_or_program(&m, &user, word);
	else
		deliver_to_box(&m, &user, word);
	clock_read();
	if (m.hung)
		cost = now.mono - began;
	else if (!m.is_brief)
		cost = *left - m.left;
	record_slow_user(&m, cost);
	if (!m.is_brief)
		*left = m.left;
}

static void
work(struct lib_job *job)
{
	double left = (double)opt.wait;	/* for all boxes of the job */
	struct outcome end;
	struct lib_rcpt *r;

	for (r = job->rcpts; r != NULL && lib_has_scheduler(); r = r->next) {
		deliver_rcpt(job, r, &left, &end);
		lib_report(job, r, end.code, end.status, end.text, 0);
	}
}

/* ---- options --------------------------------------------------------- */

/* Options of ZMailer's agent.  Those of the first entry are ignored: we restore
 * no access time of a box, change no header, decode nothing, know no biff, and
 * always name a box after its user. */
static const struct lib_foreign foreign[] = {
	{ "8abrCHR", NULL },
	{ "DPX", "all boxes are in one directory: use -d, or -f %h/mbox" },
	{ "F", "mail for a full box waits: leave -F out, and set expiry= in "
	    "the clause" },
	{ "g", "a missing box is always made: leave it out" },
	{ "l", "scheduler -l logs deliveries: leave it out" },
	{ "M", "boxes are mbox, or Maildir by -f %h/Maildir/: leave it out" },
	{ "S", "receipts go to senders who ask by NOTIFY=SUCCESS: leave it "
	    "out" },
	{ "U", "no X-UIDL is written: leave it out" },
	{ NULL, NULL }
};

static struct lib_command command = { "mailbox", VERSION,
	"[-0nNV] [-c channel] [-d directory] [-f template]\n               "
	    "[-h host] [-m size] [-t span] [-w span]",
	"0c:d:f:h:m:nNt:w:V" "8abrCHRDPXF:gl:MSU", NULL, NULL, 0 };

static void
check_template(void)
{
	int home = opt.names ? 'u' : 'h';
	const char *p;

#ifdef NO_PWD
	home = 'u';	/* no home directory is known */
#endif
	for (p = opt.template; *p != '\0'; p++)
		if (*p == '%' && *++p != 'u' && *p != home)
			lib_usage();
}

static void
set_usual_dir(void)
{
	static const char *const usual[] = {
		"/var/mail", "/var/spool/mail", "/usr/spool/mail", "/usr/mail"
	};
	struct stat st;
	int i;

	opt.dir = getenv("MAILBOX");	/* ZMailer's name of the directory */
	if (opt.dir != NULL && *opt.dir == '/' && strchr(opt.dir, '%') == NULL)
		return;
	for (i = 0; i < 4; i++) {
		opt.dir = usual[i];
		if (stat(opt.dir, &st) == 0 && S_ISDIR(st.st_mode))
			return;
	}
	opt.dir = usual[0];
}

int
main(int argc, char **argv)
{
	int c;

	command.channel = env_get("CHANNEL", "local");
	while ((c = lib_next_option(argc, argv, &command)) != -1)
		switch (c) {
		case '0': opt.as_root = 1; break;
		case 'd': opt.dir = optarg; break;
		case 'f': opt.template = optarg; break;
		case 'm':
			if (size_parse(optarg, LONG_MAX, &opt.size_limit) < 0)
				lib_usage();
			break;
		case 'n': opt.names = 1; break;
		case 't': lib_set_span(&opt.time_limit); break;
		case 'w': lib_set_span(&opt.wait); break;
		default:
			lib_ignore_or_refuse_option(foreign, c);
		}
	if (optind < argc || (opt.dir != NULL && *opt.dir != '/'))
		lib_usage();
	check_template();
	if (opt.dir == NULL)
		set_usual_dir();
	umask(077);
	if (command.check_only)
		return 0;
	return pledge("stdio rpath wpath cpath fattr chown flock getpw id "
	    "proc exec", NULL) < 0 ? X_OSERR :
	    lib_run(command.channel, command.host, work);
}
