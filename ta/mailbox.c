/*
 * mailbox.c - the agent that puts mail into the mailboxes of this machine.
 *
 * The box of a user is a path made from a form: %u is the user's name, %h his
 * home directory, a relative one lies in the mail directory.  A path that
 * ends in '/' is a Maildir, any other a file in mbox format.
 *
 * An mbox is locked twice, by box.lock and by an fcntl lock, as programs of
 * either kind read mail.  Where box.lock cannot be made because the directory
 * is not the user's to write in, the fcntl lock has to do.  A box.lock is
 * removed as stale when it is old and names no living process, while holding
 * an fcntl lock on it, so that two who come to that opinion cannot remove a
 * third one's.  All waiting together is bounded (-w); then the recipient is
 * deferred.  What was appended before a write error is cut off again, or the
 * box would end in half a message; without ftruncate it stays, and the
 * message will come once more.
 *
 * A box that is a link, or has a second name, or is no regular file, or is
 * not its user's, is never written to.  That is somebody's mistake or trick
 * and is deferred: it may be repaired, and nobody's mail has bounced.
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
#include "lib.h"
#include <sys/utsname.h>
#include <sys/wait.h>
#include <signal.h>
#ifndef NO_PWD
#include <pwd.h>
#endif
#ifndef NO_INITGROUPS
#include <grp.h>
#endif

#ifdef NO_SYMLINK
#define lstat stat
#endif

#define PATH_SIZE	1024
#define LOCK_STALE	900	/* seconds after which a lock may be stale */
#define REOPENS		10	/* times a box may be replaced under us */

static struct {
	const char *dir;	/* the mail directory */
	const char *form;
	int	names;		/* -n: do not look users up */
	long	wait;		/* seconds for locks */
} opt = { NULL, "%u", 0, 10 };

struct user {
	char	name[256];
	char	home[PATH_SIZE];
	uid_t	uid;
	gid_t	gid;
};

/* How it ended; goes through a pipe in one piece. */
struct outcome {
	int	code;
	char	status[8];
	char	text[400];
};

/* One delivery on its way. */
struct mail {
	const struct lib_job *job;
	const struct lib_rcpt *rcpt;
	const struct user *user;
	struct outcome *end;
	double	until;		/* monotonic time when waiting ends */
	char	box[PATH_SIZE];
	char	lock[PATH_SIZE];	/* box.lock */
	int	locked;		/* we made it */
	int	fd;		/* what is written to */
	off_t	before;		/* size of the box */
	int	error;		/* errno of the first failed write, or 0 */
	int	at;		/* bytes of "From " seen at the beginning of a
				 * line, -1: elsewhere in the line */
	int	last;		/* the last byte of the message */
	size_t	used;
	char	buf[4096];
};

/* ---- outcomes --------------------------------------------------------- */

static int
over(struct outcome *end, int code, const char *status, const char *text)
{
	end->code = code;
	text_fmt(end->status, sizeof(end->status), "%s", status);
	text_fmt(end->text, sizeof(end->text), "%s", text);
	return -1;
}

static int
refuse(struct mail *m, const char *what)
{
	text_fmt(m->end->text, sizeof(m->end->text), "%s %s", m->box, what);
	m->end->code = X_TEMPFAIL;
	strcpy(m->end->status, "4.2.0");
	return -1;
}

/* A system call on path failed with err; which status says it best? */
static int
failed(struct mail *m, const char *what, const char *path, int err)
{
	const char *status = "4.3.0";

#ifdef EDQUOT
	if (err == EDQUOT)
		status = "4.2.2";
#endif
	if (err == EFBIG)
		status = "4.2.2";
	if (err == ENOSPC)
		status = "4.3.1";
	text_fmt(m->end->text, sizeof(m->end->text), "cannot %s %s: %s", what,
	    path, strerror(err));
	m->end->code = X_TEMPFAIL;
	strcpy(m->end->status, status);
	return -1;
}

/* ---- waiting for locks ------------------------------------------------ */

/* A short sleep: 1, or 0 when the time for waiting is over. */
static int
nap(const struct mail *m)
{
	struct timeval tv;

	clock_read();
	if (now.mono >= m->until)
		return 0;
	tv.tv_sec = 0;
	tv.tv_usec = 100000L;
	select(0, NULL, NULL, NULL, &tv);
	return 1;
}

static int
fcntl_lock(int fd)
{
	struct flock fl;

	memset(&fl, 0, sizeof(fl));
	fl.l_type = F_WRLCK;
	fl.l_whence = SEEK_SET;
	return fcntl(fd, F_SETLK, &fl) < 0 ? -1 : 0;
}

static int
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Was the lock made long ago, by nobody who lives? */
static int
is_stale(int fd, const struct stat *st)
{
	char text[24];
	long pid, n = (long)read(fd, text, sizeof(text) - 1);

	if (difftime(time(NULL), st->st_mtime) < LOCK_STALE)
		return 0;
	text[n < 0 ? 0 : n] = '\0';
	pid = (long)num_of(text, NULL);
	return pid < 2 || (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
}

static void
remove_stale(const char *lock)
{
	struct stat st, now_there;
	int fd;

	if (lstat(lock, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	fd = open(lock, O_RDWR | O_NONBLOCK);
	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && fcntl_lock(fd) == 0 &&
	    is_stale(fd, &st) && lstat(lock, &now_there) == 0 &&
	    same_file(&st, &now_there))
		unlink(lock);
	close(fd);
}

/* Makes box.lock: 0 also when that is not for us to make, or -1. */
static int
dot_lock(struct mail *m)
{
	char pid[24];
	int fd;

	for (;;) {
		fd = open(m->lock, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd >= 0)
			break;
		if (errno == EACCES || errno == EPERM || errno == EROFS)
			return 0;
		if (errno != EEXIST)
			return failed(m, "make", m->lock, errno);
		remove_stale(m->lock);
		if (!nap(m))
			return refuse(m, "is locked by another program");
	}
	m->locked = 1;
	text_fmt(pid, sizeof(pid), "%ld\n", (long)getpid());
	fd_write(fd, pid, strlen(pid));	/* empty, it is a lock as well */
	close(fd);
	return 0;
}

static void
dot_unlock(struct mail *m)
{
	if (m->locked)
		unlink(m->lock);
	m->locked = 0;
}

/* ---- writing the message ---------------------------------------------- */

static void
flush(struct mail *m)
{
	if (m->used > 0 && m->error == 0 &&
	    fd_write(m->fd, m->buf, m->used) < 0)
		m->error = errno != 0 ? errno : EIO;
	m->used = 0;
}

static void
put(struct mail *m, const char *s, size_t n)
{
	size_t k;

	for (; n > 0; s += k, n -= k) {
		if (m->used == sizeof(m->buf))
			flush(m);
		k = sizeof(m->buf) - m->used;
		k = k < n ? k : n;
		memcpy(m->buf + m->used, s, k);
		m->used += k;
		m->last = s[k - 1];
	}
}

static void
put_text(struct mail *m, const char *s)
{
	put(m, s, strlen(s));
}

static int
put_plain(void *mail, const char *s, size_t n)
{
	struct mail *m = mail;

	put(m, s, n);
	return m->error;
}

static const char from_word[] = "From ";

/* A line ">*From " gets one more '>', which can be undone without doubt.
 * The '>' may go anywhere before the word, so nothing but the word itself is
 * ever held back. */
static int
put_quoted(void *mail, const char *s, size_t n)
{
	struct mail *m = mail;

	for (; n > 0; s++, n--) {
		if (m->at >= 0 && *s == from_word[m->at]) {
			if (++m->at == 5) {
				put_text(m, ">From ");
				m->at = -1;
			}
			continue;
		}
		put(m, from_word, m->at > 0 ? (size_t)m->at : 0);
		if (m->at != 0 || *s != '>')
			m->at = *s == '\n' ? 0 : -1;
		put(m, s, 1);
	}
	return m->error;
}

static void
put_trace(struct mail *m)
{
	put_text(m, "Return-Path: <");
	put_text(m, m->rcpt->from->address);
	put_text(m, ">\nDelivered-To: ");
	put_text(m, m->rcpt->user);
	put_text(m, "\n");
}

/* "From sender Sat Nov 21 06:38:42 2026"; readers split it at blanks. */
static void
put_separator(struct mail *m)
{
	const char *p = m->rcpt->from->address;
	time_t wall = time(NULL);

	put_text(m, from_word);
	if (*p == '\0')
		p = "MAILER-DAEMON";
	for (; *p != '\0'; p++)
		put(m, *p == ' ' ? "_" : p, 1);
	put_text(m, " ");
	put_text(m, asctime(localtime(&wall)));
}

/* ---- mbox ------------------------------------------------------------- */

static int
check_box(struct mail *m, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return refuse(m, "is no regular file");
	if (st->st_nlink > 1)
		return refuse(m, "has a second name");
	if (st->st_uid != m->user->uid)
		return refuse(m, "belongs to somebody else");
	return 0;
}

/* Makes an empty box and gives it to its user: 0 also when it is there. */
static int
make_box(struct mail *m)
{
	int fd;

	if (geteuid() != 0 && geteuid() != m->user->uid)
		return refuse(m, "is missing, and only root or its user can "
		    "make it");
	fd = open(m->box, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 : failed(m, "make", m->box, errno);
	if (geteuid() != m->user->uid &&
	    fchown(fd, m->user->uid, m->user->gid) < 0) {
		failed(m, "give away", m->box, errno);
		unlink(m->box);
		close(fd);
		return -1;
	}
	return close(fd) < 0 ? failed(m, "make", m->box, errno) : 0;
}

/* Opens the box and makes sure of what was opened: 0, or -1. */
static int
open_box(struct mail *m)
{
	struct stat st, opened;
	int flags = O_RDWR | O_APPEND | O_NONBLOCK;

#ifdef O_NOFOLLOW
	flags |= O_NOFOLLOW;
#endif
	if (lstat(m->box, &st) < 0) {
		if (errno != ENOENT)
			return failed(m, "look at", m->box, errno);
		if (make_box(m) < 0)
			return -1;
		if (lstat(m->box, &st) < 0)
			return failed(m, "look at", m->box, errno);
	}
	if (check_box(m, &st) < 0)
		return -1;
	m->fd = open(m->box, flags);
	if (m->fd < 0)
		return failed(m, "open", m->box, errno);
	if (fstat(m->fd, &opened) < 0 || !same_file(&st, &opened)) {
		close(m->fd);
		return refuse(m, "changes under our hands");
	}
	return 0;
}

/* Opens and locks it; a reader that replaces the whole box may have done so
 * between the two. */
static int
open_locked(struct mail *m)
{
	struct stat st, opened;
	int i;

	for (i = 0; i < REOPENS; i++) {
		if (open_box(m) < 0)
			return -1;
		while (fcntl_lock(m->fd) < 0) {
			if (errno != EACCES && errno != EAGAIN &&
			    errno != EINTR && m->locked)
				break;	/* a file system without such locks */
			if (!nap(m)) {
				close(m->fd);
				return refuse(m, "is in use");
			}
		}
		if (lstat(m->box, &st) == 0 && fstat(m->fd, &opened) == 0 &&
		    same_file(&st, &opened) && opened.st_nlink == 1)
			return 0;
		close(m->fd);
	}
	return refuse(m, "changes under our hands");
}

/* Whoever appended last may not have ended with an empty line. */
static void
put_gap(struct mail *m)
{
	char tail[2];
	off_t at = m->before > 2 ? m->before - 2 : 0;

	memcpy(tail, "\n\n", 2);
	if (m->before > 0 && (lseek(m->fd, at, SEEK_SET) < 0 ||
	    read(m->fd, tail, 2) < 0))
		m->error = errno;
	if (m->before == 1)
		tail[1] = tail[0];
	if (m->before > 0 && tail[1] != '\n')
		put_text(m, "\n\n");
	else if (m->before > 0 && tail[0] != '\n')
		put_text(m, "\n");
}

/* What was appended goes away again. */
static void
cut_back(struct mail *m)
{
#ifndef NO_FTRUNCATE
	if (ftruncate(m->fd, m->before) < 0)
#endif
	lib_note("%s ends with a part of a message", m->box);
}

static int
append(struct mail *m)
{
	int unread;

	m->before = lseek(m->fd, 0, SEEK_END);
	if (m->before < 0)
		return failed(m, "read", m->box, errno);
	put_gap(m);
	put_separator(m);
	put_trace(m);
	m->at = 0;
	unread = lib_message(m->job, m->rcpt, put_quoted, m) < 0;
	put(m, from_word, m->at > 0 ? (size_t)m->at : 0);
	put_text(m, m->last == '\n' ? "\n" : "\n\n");
	flush(m);
	if (m->error == 0 && !unread && fd_sync(m->fd) < 0)
		m->error = errno;
	if (m->error == 0 && !unread)
		return 0;
	cut_back(m);
	if (m->error == 0)
		return over(m->end, X_TEMPFAIL, "4.3.0",
		    "the message cannot be read");
	return failed(m, "write to", m->box, m->error);
}

static int
to_mbox(struct mail *m)
{
	int ended = -1, by_root = m->locked;

	if (!by_root && dot_lock(m) < 0)
		return -1;
	if (open_locked(m) == 0) {
		ended = append(m);
		if (close(m->fd) < 0 && ended == 0)
			ended = failed(m, "write to", m->box, errno);
	}
	if (!by_root)
		dot_unlock(m);
	return ended;
}

/* ---- Maildir ---------------------------------------------------------- */

static int
make_dir(struct mail *m, const char *path)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return failed(m, "make", path, errno);
	return 0;
}

/* A name that no other delivery has: time, process, count, machine. */
static void
unique_name(struct mail *m, char *tmp, char *new, size_t size)
{
	static unsigned long serial;
	struct utsname uts;
	char *p;

	if (uname(&uts) < 0)
		strcpy(uts.nodename, "localhost");
	for (p = uts.nodename; *p != '\0'; p++)
		if (*p == '/' || *p == ':')
			*p = '_';
	serial++;
	text_fmt(tmp, size, "%stmp/%ld.P%ldQ%lu_%lu.%s", m->box,
	    (long)time(NULL), (long)getpid(), serial, m->rcpt->off,
	    uts.nodename);
	text_fmt(new, size, "%snew/%s", m->box, strrchr(tmp, '/') + 1);
}

static void
sync_dir(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd >= 0) {
		fd_sync(fd);	/* not every system lets us */
		close(fd);
	}
}

/* Some file systems have no links; there a rename must do. */
static int
into_new(struct mail *m, const char *tmp, const char *new)
{
	if (link(tmp, new) == 0) {
		unlink(tmp);
		return 0;
	}
	if (errno == EEXIST || rename(tmp, new) < 0)
		return failed(m, "make", new, errno);
	return 0;
}

static int
write_new(struct mail *m, const char *tmp)
{
	int unread;

	m->fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (m->fd < 0)
		return failed(m, "make", tmp, errno);
	put_trace(m);
	unread = lib_message(m->job, m->rcpt, put_plain, m) < 0;
	flush(m);
	if (m->error == 0 && !unread && fd_sync(m->fd) < 0)
		m->error = errno;
	if (close(m->fd) < 0 && m->error == 0)
		m->error = errno;
	if (m->error != 0)
		return failed(m, "write to", tmp, m->error);
	return unread ? over(m->end, X_TEMPFAIL, "4.3.0",
	    "the message cannot be read") : 0;
}

static int
to_maildir(struct mail *m)
{
	static const char *const part[] = { "", "tmp", "new", "cur" };
	char tmp[PATH_SIZE + 300], new[PATH_SIZE + 300];
	int i;

	for (i = 0; i < 4; i++) {
		text_fmt(tmp, sizeof(tmp), "%s%s", m->box, part[i]);
		if (make_dir(m, tmp) < 0)
			return -1;
	}
	unique_name(m, tmp, new, sizeof(tmp));
	if (write_new(m, tmp) < 0 || into_new(m, tmp, new) < 0) {
		unlink(tmp);
		return -1;
	}
	text_fmt(tmp, sizeof(tmp), "%snew", m->box);
	sync_dir(tmp);
	return 0;
}

/* ---- users ------------------------------------------------------------ */

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
		return over(end, X_TEMPFAIL, "4.3.5", "pipe and file "
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
		return over(end, X_TEMPFAIL, "4.3.0",
		    "users cannot be looked up now");
	return found ? 0 : over(end, X_NOUSER, "5.1.1",
	    "there is no such user here");
}

/* ---- where the box is ------------------------------------------------- */

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
		return refuse(m, "is no path for a box");
	text_fmt(m->lock, sizeof(m->lock), "%s.lock", m->box);
	return 0;
}

/* ---- privilege -------------------------------------------------------- */

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

static int
deliver(struct mail *m)
{
	size_t n = strlen(m->box);

	return m->box[n - 1] == '/' ? to_maildir(m) : to_mbox(m);
}

/* The child's whole life. */
static void
deliver_as(struct mail *m, int report)
{
	if (become(m->user) < 0)
		failed(m, "become", m->user->name, errno);
	else
		deliver(m);
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
		return failed(m, "make", "a pipe", errno);
	pid = fork();
	if (pid == 0) {
		close(report[0]);
		deliver_as(m, report[1]);
	}
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return failed(m, "make", "a process", errno);
	}
	do
		n = (long)read(report[0], m->end, sizeof(*m->end));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	if (n != (long)sizeof(*m->end))
		return over(m->end, X_TEMPFAIL, "4.3.0",
		    "the delivering process died");
	return m->end->code == 0 ? 0 : -1;
}

/* What root does for the user in the mail directory: 0, or -1. */
static int
prepare(struct mail *m)
{
	struct stat st;

	if (dot_lock(m) < 0)
		return -1;
	if (lstat(m->box, &st) < 0 && errno == ENOENT)
		return make_box(m);
	return 0;
}

static int
deliver_as_root(struct mail *m)
{
	int ended = 0;

	if (in_spool())
		ended = prepare(m);
	if (ended == 0)
		ended = deliver_in_child(m);
	dot_unlock(m);
	return ended;
}

/* ---- jobs ------------------------------------------------------------- */

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
	over(end, 0, "2.0.0", "Ok");
	if (recipient(r->user, &user, end) < 0 || locate(&m) < 0)
		return;
	if (geteuid() == 0 && !opt.names)
		deliver_as_root(&m);
	else
		deliver(&m);
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

/* ---- options ---------------------------------------------------------- */

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
