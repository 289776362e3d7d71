/*
 * box.c - one message into one mailbox.
 *
 * A path that ends in '/' is a Maildir, any other a file in mbox format.
 *
 * An mbox is locked twice, by box.lock and by an fcntl lock, as programs of
 * either kind read mail.  Where box.lock cannot be made because the directory
 * is not ours to write in, the fcntl lock has to do.  A box.lock is removed as
 * stale when it is old and names no living process, while holding an fcntl
 * lock on it, so that two who come to that opinion cannot remove a third
 * one's.  All waiting together is bounded; then the message has to come again.
 *
 * What was appended before a write error is cut off again, or the box would
 * end in half a message; without ftruncate it is overwritten with empty
 * lines, which need no more room.
 *
 * A box that is a link, or has a second name, or is no regular file, or is
 * not its user's, is never written to.  That is somebody's mistake or trick,
 * and may be repaired: the message waits.
 *
 * Nothing here knows who we are or changes it.
 */
#include "box.h"
#include <sys/utsname.h>
#include <signal.h>

#ifdef NO_SYMLINK
#define lstat stat
#endif

#define LOCK_STALE	900	/* seconds after which a lock may be stale */
#define LOCK_DEAD	86400L	/* ... and after which it is: by then numbers
				 * of processes mean others */
#define LOCK_UNREAL	315360000L	/* ... ten years: the clock was set */
#define REOPENS		10	/* times a box may be replaced under us */

/* ---- outcomes -------------------------------------------------------- */

int
box_over(struct outcome *end, int code, const char *status, const char *text)
{
	end->code = code;
	text_fmt(end->status, sizeof(end->status), "%s", status);
	text_fmt(end->text, sizeof(end->text), "%s", text);
	return -1;
}

int
box_refuse(struct mail *m, const char *what)
{
	text_fmt(m->end->text, sizeof(m->end->text), "%s %s", m->box, what);
	m->end->code = X_TEMPFAIL;
	strcpy(m->end->status, "4.2.0");
	return -1;
}

/* A system call on path failed with err; which status says it best? */
int
box_failed(struct mail *m, const char *what, const char *path, int err)
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

/* ---- waiting for locks ----------------------------------------------- */

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
same_file(const struct stat *a, const struct stat *b)
{
	return a->st_ino == b->st_ino && a->st_dev == b->st_dev;
}

/* Was the lock made long ago, by nobody who lives? */
static int
is_stale(int fd, const struct stat *st)
{
	double age = difftime(time(NULL), st->st_mtime);
	char text[24];
	long pid, n = (long)read(fd, text, sizeof(text) - 1);

	if (age < LOCK_STALE)
		return 0;
	if (age > LOCK_DEAD && age < LOCK_UNREAL)
		return 1;
	text[n < 0 ? 0 : n] = '\0';
	pid = (long)num_of(text, NULL);
	return pid < 2 || pid == (long)getpid() ||
	    (kill((pid_t)pid, 0) < 0 && errno == ESRCH);
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
	if (fstat(fd, &st) == 0 && fd_lock(fd) == 0 &&
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
			return box_failed(m, "make", m->lock, errno);
		remove_stale(m->lock);
		if (!nap(m))
			return box_refuse(m, "is locked by another program");
	}
	m->locked = 1;
	text_fmt(pid, sizeof(pid), "%ld\n", (long)getpid());
	fd_write(fd, pid, strlen(pid));	/* empty, it is a lock as well */
	close(fd);
	return 0;
}

void
box_unlock(struct mail *m)
{
	if (m->locked)
		unlink(m->lock);
	m->locked = 0;
}

/* ---- writing the message --------------------------------------------- */

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

/* "From sender Sat Nov 21 06:38:42 2026"; readers split it at blanks, and some
 * read no further than to a byte that is not ASCII. */
static void
add_separator(struct text *t, const char *sender)
{
	time_t wall = time(NULL);

	text_add(t, "%s", from_word);
	if (*sender == '\0')
		sender = "MAILER-DAEMON";
	for (; *sender != '\0'; sender++)
		text_add(t, "%c", *sender > ' ' && *sender < 0177 ?
		    *sender : '_');
	text_add(t, " %s", asctime(localtime(&wall)));
}

void
box_head(const struct mail *m, int separator, struct text *t)
{
	const char *sender = m->rcpt->from->address;

	if (separator)
		add_separator(t, sender);
	text_add(t, "Return-Path: <%s>\nDelivered-To: %s\n", sender,
	    m->rcpt->user);
}

static void
put_head(struct mail *m, int separator)
{
	char head[HEAD_SIZE];
	struct text t;

	text_init(&t, head, sizeof(head));
	box_head(m, separator, &t);
	put(m, head, t.len);
}

/* ---- mbox ------------------------------------------------------------ */

static int
check_box(struct mail *m, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return box_refuse(m, "is no regular file");
	if (st->st_nlink > 1)
		return box_refuse(m, "has a second name");
	if (st->st_uid != m->user->uid)
		return box_refuse(m, "belongs to somebody else");
	return 0;
}

/* Makes an empty box and gives it to its user: 0 also when it is there. */
static int
make_box(struct mail *m)
{
	int fd;

	if (geteuid() != 0 && geteuid() != m->user->uid)
		return box_refuse(m, "is missing, and only root or its user "
		    "can make it");
	fd = open(m->box, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 :
		    box_failed(m, "make", m->box, errno);
	if (geteuid() != m->user->uid &&
	    fchown(fd, m->user->uid, m->user->gid) < 0) {
		box_failed(m, "give away", m->box, errno);
		unlink(m->box);
		close(fd);
		return -1;
	}
	return close(fd) < 0 ? box_failed(m, "make", m->box, errno) : 0;
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
			return box_failed(m, "look at", m->box, errno);
		if (make_box(m) < 0)
			return -1;
		if (lstat(m->box, &st) < 0)
			return box_failed(m, "look at", m->box, errno);
	}
	if (check_box(m, &st) < 0)
		return -1;
	m->fd = open(m->box, flags);
	if (m->fd < 0)
		return box_failed(m, "open", m->box, errno);
	if (fstat(m->fd, &opened) < 0 || !same_file(&st, &opened)) {
		close(m->fd);
		return box_refuse(m, "changes under our hands");
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
		while (fd_lock(m->fd) < 0) {
			if (errno != EACCES && errno != EAGAIN &&
			    errno != EINTR && m->locked)
				break;	/* a file system without such locks */
			if (!nap(m)) {
				close(m->fd);
				return box_refuse(m, "is in use");
			}
		}
		if (lstat(m->box, &st) == 0 && fstat(m->fd, &opened) == 0 &&
		    same_file(&st, &opened) && opened.st_nlink == 1)
			return 0;
		close(m->fd);
	}
	return box_refuse(m, "changes under our hands");
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
#ifdef NO_FTRUNCATE
	off_t end = lseek(m->fd, 0, SEEK_END);

	if (fcntl(m->fd, F_SETFL, 0) == 0 &&	/* no longer O_APPEND */
	    lseek(m->fd, m->before, SEEK_SET) == m->before)
		while (m->before < end && write(m->fd, "\n", 1) == 1)
			m->before++;
	if (m->before < end)
#else
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
		return box_failed(m, "read", m->box, errno);
	put_gap(m);
	put_head(m, 1);
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
		return box_over(m->end, X_TEMPFAIL, "4.3.0",
		    "the message cannot be read");
	return box_failed(m, "write to", m->box, m->error);
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
			ended = box_failed(m, "write to", m->box, errno);
	}
	if (!by_root)
		box_unlock(m);
	return ended;
}

/* ---- Maildir --------------------------------------------------------- */

static int
make_dir(struct mail *m, const char *path)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return box_failed(m, "make", path, errno);
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

/* Some file systems have no links; there a rename must do. */
static int
into_new(struct mail *m, const char *tmp, const char *new)
{
	if (link(tmp, new) == 0) {
		unlink(tmp);
		return 0;
	}
	if (errno == EEXIST || rename(tmp, new) < 0)
		return box_failed(m, "make", new, errno);
	return 0;
}

static int
write_new(struct mail *m, const char *tmp)
{
	int unread;

	m->fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (m->fd < 0)
		return box_failed(m, "make", tmp, errno);
	put_head(m, 0);
	unread = lib_message(m->job, m->rcpt, put_plain, m) < 0;
	flush(m);
	if (m->error == 0 && !unread && fd_sync(m->fd) < 0)
		m->error = errno;
	if (close(m->fd) < 0 && m->error == 0)
		m->error = errno;
	if (m->error != 0)
		return box_failed(m, "write to", tmp, m->error);
	return unread ? box_over(m->end, X_TEMPFAIL, "4.3.0",
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
	dir_sync(tmp);
	return 0;
}

/* ---- for the agent --------------------------------------------------- */

int
box_deliver(struct mail *m)
{
	size_t n = strlen(m->box);

	return m->box[n - 1] == '/' ? to_maildir(m) : to_mbox(m);
}

int
box_prepare(struct mail *m)
{
	struct stat st;

	if (dot_lock(m) < 0)
		return -1;
	if (lstat(m->box, &st) < 0 && errno == ENOENT)
		return make_box(m);
	return 0;
}
