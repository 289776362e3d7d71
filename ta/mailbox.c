/*
 * mailbox.c - the agent that puts mail into the mailboxes of this machine.
 *
 * The box of a user is a path made from a form: %u is the user's name, %h his
 * home directory, a relative one lies in the mail directory.  A path that
 * ends in '/' is a Maildir, any other a file in mbox format.
 *
 * Started by root, delivery happens in a child that has become the user, so
 * that nothing that a user can plant is met with root's powers.  Two steps in
 * the mail directory itself need them and are done before, by the parent:
 * box.lock, and making a box that is missing, exclusively, and giving it
 * away.  They are done only for a form without '/', where every part of the
 * path is the administrator's.  Any deeper directory must be writable by the
 * user, or be made for him.  With NO_INITGROUPS the child keeps root's other
 * groups.  Started by anybody else, delivery is direct and reaches the boxes
 * he may write to, such as those of a group mail; he can make only his own.
 *
 * With -n there are no users, only names: one that is fit for a file name is
 * its own box, owned by whoever runs this.  A name may end in '/' there.
 *
 * What begins with '|' or '/' would be a program or a file.  This version
 * does not deliver to them and defers, so that a later one can.
 */
#include "box.h"
#include <sys/wait.h>
#ifndef NO_PWD
#include <pwd.h>
#endif
#ifndef NO_INITGROUPS
#include <grp.h>
#endif

static struct {
	const char *dir;	/* the mail directory */
	const char *form;
	int	names;		/* -n: do not look users up */
	long	wait;		/* seconds for locks */
} opt = { NULL, "%u", 0, 10 };

/* ---- users ----------------------------------------------------------- */

/* Fit for one component of a path, whatever is done with it. */
static int
safe_name(const char *s)
{
	if (*s == '.' || *s == '-' || *s == '\0')
		return 0;
	return s[strspn(s, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-")] == '\0';
}

/* 1 found, 0 not, -1 nobody knows at the moment. */
static int
look_up(struct user *u)
{
#ifdef NO_PWD
	const char *end;

	u->uid = (uid_t)num_of(u->name, &end);
	u->gid = (gid_t)u->uid;
	u->home[0] = '\0';
	return *end == '\0';
#else
	struct passwd *pw;

	errno = 0;
	pw = getpwnam(u->name);
	if (pw == NULL)
		return errno == EIO || errno == EINTR || errno == ENOMEM ||
		    errno == EMFILE || errno == ENFILE ? -1 : 0;
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	return text_fmt(u->home, sizeof(u->home), "%s", pw->pw_dir) == 0;
#endif
}

static void
fold(char *s)
{
	for (; *s != '\0'; s++)
		if (*s >= 'A' && *s <= 'Z')
			*s = (char)(*s - 'A' + 'a');
}

/* The name as it is, in lower case, and both without what follows a '+'. */
static int
find_user(struct user *u)
{
	char whole[sizeof(u->name)];
	size_t plus = strcspn(u->name, "+");
	int i, found = 0;

	strcpy(whole, u->name);
	for (i = 0; i < 4 && found == 0; i++) {
		strcpy(u->name, whole);
		if (i >= 2)
			u->name[plus] = '\0';
		if (i & 1)
			fold(u->name);
		if (safe_name(u->name))
			found = look_up(u);
	}
	return found;
}

/* Whose box is it?  0, or -1 with the outcome. */
static int
recipient(const char *word, struct user *u, struct outcome *end)
{
	size_t n;
	int found;

	while (*word == '\\')
		word++;
	n = strlen(word);
	if (n >= 2 && word[0] == '"' && word[n - 1] == '"') {
		word++;
		n -= 2;
	}
	if (*word == '|' || *word == '/')
		return box_over(end, X_TEMPFAIL, "4.3.5", "pipe and file "
		    "recipients are not delivered by this version");
	memset(u, 0, sizeof(*u));
	u->uid = geteuid();
	u->gid = getegid();
	found = text_fmt(u->name, sizeof(u->name), "%.*s", (int)n, word) == 0;
	if (found && opt.names) {
		n -= n > 0 && u->name[n - 1] == '/';
		u->name[n] = '\0';
		found = safe_name(u->name);
		if (word[n] == '/')
			strcat(u->name, "/");
	} else if (found) {
		found = find_user(u);
	}
	if (found < 0)
		return box_over(end, X_TEMPFAIL, "4.3.0",
		    "users cannot be looked up now");
	return found ? 0 : box_over(end, X_NOUSER, "5.1.1",
	    "there is no such user here");
}

/* ---- where the box is ------------------------------------------------ */

/* Only the administrator can have put anything into this path. */
static int
in_spool(void)
{
	return strchr(opt.form, '/') == NULL && strstr(opt.form, "%h") == NULL;
}

static int
locate(struct mail *m)
{
	struct text t;
	const char *f = opt.form;

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
		return box_refuse(m, "is no path for a box");
	text_fmt(m->lock, sizeof(m->lock), "%s.lock", m->box);
	return 0;
}

/* ---- privilege ------------------------------------------------------- */

static int
become(const struct user *u)
{
#ifndef NO_INITGROUPS
	char name[sizeof(u->name)];

	strcpy(name, u->name);	/* some systems do not declare it const */
	if (initgroups(name, u->gid) < 0)
		return -1;
#endif
	if (setgid(u->gid) < 0 || setuid(u->uid) < 0)
		return -1;
	return u->uid != 0 && setuid(0) == 0 ? -1 : 0;
}

/* The child's whole life. */
static void
deliver_as(struct mail *m, int report)
{
	if (become(m->user) < 0)
		box_failed(m, "become", m->user->name, errno);
	else
		box_deliver(m);
	fd_write(report, (const char *)m->end, sizeof(*m->end));
	_exit(0);
}

/* Has a child do it that is the user; its pipe tells how that ended. */
static int
deliver_in_child(struct mail *m)
{
	int report[2];
	long n;
	pid_t pid;

	if (pipe(report) < 0)
		return box_failed(m, "make", "a pipe", errno);
	pid = fork();
	if (pid == 0) {
		close(report[0]);
		deliver_as(m, report[1]);
	}
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return box_failed(m, "make", "a process", errno);
	}
	do
		n = (long)read(report[0], m->end, sizeof(*m->end));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (long)sizeof(*m->end))
		return box_over(m->end, X_TEMPFAIL, "4.3.0",
		    "the delivering process died");
	return m->end->code == 0 ? 0 : -1;
}

static int
deliver_as_root(struct mail *m)
{
	int ended = 0;

	if (in_spool())
		ended = box_prepare(m);
	if (ended == 0)
		ended = deliver_in_child(m);
	box_unlock(m);
	return ended;
}

/* ---- jobs ------------------------------------------------------------ */

static void
deliver_one(const struct lib_job *job, const struct lib_rcpt *r,
    struct outcome *end)
{
	static struct mail m;	/* large, and there is only one at a time */
	struct user user;

	memset(&m, 0, sizeof(m));
	m.job = job;
	m.rcpt = r;
	m.user = &user;
	m.end = end;
	clock_read();
	m.until = now.mono + (double)opt.wait;
	box_over(end, 0, "2.0.0", "Ok");
	if (recipient(r->user, &user, end) < 0 || locate(&m) < 0)
		return;
	if (geteuid() == 0 && !opt.names)
		deliver_as_root(&m);
	else
		box_deliver(&m);
}

static void
work(struct lib_job *job)
{
	struct outcome end;
	struct lib_rcpt *r;

	for (r = job->rcpts; r != NULL; r = r->next) {
		deliver_one(job, r, &end);
		lib_report(job, r, end.code, end.status, end.text, 0);
	}
}

/* ---- options --------------------------------------------------------- */

static void
usage(void)
{
	fputs("usage: mailbox [-nV] [-c channel] [-d directory] [-f form] "
	    "[-h host] [-w seconds]\n", stderr);
	exit(X_USAGE);
}

static void
check_form(void)
{
	const char *p;

	for (p = opt.form; *p != '\0'; p++)
		if (*p == '%' && *++p != 'u' && *p != 'h')
			usage();
	if (strstr(opt.form, "%h") != NULL) {
#ifdef NO_PWD
		usage();
#endif
		if (opt.names)
			usage();
	}
}

static void
find_dir(void)
{
	static const char *const usual[] = {
		"/var/mail", "/var/spool/mail", "/usr/spool/mail", "/usr/mail"
	};
	struct stat st;
	int i;

	for (i = 3; i >= 0; i--)
		if (i == 0 || (stat(usual[i], &st) == 0 &&
		    S_ISDIR(st.st_mode)))
			opt.dir = usual[i];
}

int
main(int argc, char **argv)
{
	const char *channel = "local", *host = NULL;
	int c;

	/* -8, -a, -b, -r, -S and -l are ZMailer's: they change a body, a
	 * stamp or a notice, none of which we touch or send. */
	while ((c = getopt(argc, argv, "c:d:f:h:nw:V8abrSl:")) != -1)
		switch (c) {
		case 'c': channel = optarg; break;
		case 'd': opt.dir = optarg; break;
		case 'f': opt.form = optarg; break;
		case 'h': host = optarg; break;
		case 'n': opt.names = 1; break;
		case 'w':
			if (span_parse(optarg, &opt.wait) < 0)
				usage();
			break;
		case 'V':
			puts("mailbox " LIB_VERSION);
			return 0;
		case '8': case 'a': case 'b': case 'r': case 'S': case 'l':
			break;
		default:
			usage();
		}
	if (optind < argc || (opt.dir != NULL && *opt.dir != '/'))
		usage();
	check_form();
	if (opt.dir == NULL)
		find_dir();
	umask(077);
	return lib_run(channel, host, work);
}
