/*
 * box.c - writes a message into a mailbox.
 *
 * A path that ends in '/' is a Maildir, any other path a file in mbox format.
 *
 * An mbox is locked twice, by box.lock and by an fcntl lock, since some
 * programs honour one and some the other.  If box.lock cannot be made because
 * we may not write to the directory, the fcntl lock must do.  The time for all
 * locks together is limited; after that the message is deferred.
 *
 * box.lock contains "PID:HOST fcntl".  The last word means that its maker keeps
 * an fcntl lock on it.  A box.lock without an fcntl lock is stale
 *
 *	at once		if it is of this machine, and has the word or a number
 *			that no process has; or if it is empty, and one of ours
 *	after 15 min	in all other cases but one.  A box.lock that seems more
 *			than ten years old was made before the clock was set, so
 *			its age says nothing: it is stale if it is of another
 *			machine, or if no process here has its number
 *
 * A box.lock of ours has the mode 0700 from its beginning, which no other
 * program uses.  So an empty box.lock whose maker was killed before it wrote
 * the line is known as ours.  A process that removes a stale box.lock has an
 * fcntl lock on it.  Otherwise two processes could find the same file stale,
 * and after one has removed it, the other would remove the new box.lock that a
 * third process has made meanwhile.  A process that makes a box.lock takes the
 * fcntl lock on it, and then goes on only if the name is still that of its
 * file.
 *
 * After a write error the part that was appended is cut off; without ftruncate
 * that part is overwritten with empty lines, which need no more room.  Before
 * the first byte the place of the message is reported, so that another process
 * can do the same if this one is killed.
 *
 * A box is not written to if it is a link, has a second name, is no regular
 * file, or belongs to another user.  That is a mistake or a trick, and may be
 * corrected, so the message waits.
 *
 * This module acts as the user of the process and never changes it.
 */
#include "box.h"
#include "job.h"
#include <sys/utsname.h>
#include <dirent.h>
#include <signal.h>

#define LOCK_MODE	0700	/* mode of our files box.lock */
#define LOCK_STALE	900	/* seconds for which a lock is believed */
#define LOCK_UNREAL	315360000L	/* seconds; an older lock means that
					 * the clock was set */
#define REOPENS		10	/* times that a replaced box is opened again */

/* ---- outcomes -------------------------------------------------------- */

int
box_set_outcome(struct outcome *end, int code, const char *status,
    const char *text)
{
	end->code = code;
	text_fmt(end->status, sizeof(end->status), "%s", status);
	text_fmt(end->text, sizeof(end->text), "%s", text);
	return -1;
}

/* Sets the outcome to a deferral that keeps the text of m->end.  Returns -1. */
static int
set_deferred(struct mail *m, const char *status)
{
	m->end->code = X_TEMPFAIL;
	strcpy(m->end->status, status);
	return -1;
}

int
box_defer(struct mail *m, const char *fault)
{
	text_fmt(m->end->text, sizeof(m->end->text), "%s %s", m->box, fault);
	return set_deferred(m, "4.2.0");
}

/* The status depends on err, the errno of a system call on path. */
int
box_defer_error(struct mail *m, const char *verb, const char *path, int err)
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
	text_fmt(m->end->text, sizeof(m->end->text), "cannot %s %s: %s", verb,
	    path, strerror(err));
	return set_deferred(m, status);
}

/* ---- waiting for locks ----------------------------------------------- */

/* Sleeps for a short time: 0, or -1 if the time for waiting is over. */
static int
nap_for_lock(struct mail *m)
{
	double began;

	if (m->left <= 0)
		return -1;
	clock_read();
	began = now.mono;
	fd_wait(-1, 0, 0.1);
	clock_read();
	m->left -= now.mono - began;
	return 0;
}

static void
copy_host_name(char *s, size_t size)
{
	struct utsname uts;

	text_fmt(s, size, "%s", uname(&uts) < 0 ? "localhost" : uts.nodename);
}

static int
is_process_gone(long pid)
{
	return kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

/* Returns 1 if box.lock, on which nobody has an fcntl lock, is stale. */
static int
is_stale_lock(int fd, const struct stat *st)
{
	double age = difftime(time(NULL), st->st_mtime);
	char text[300], host[256];
	const char *p;
	size_t len;
	long pid, n = (long)read(fd, text, sizeof(text) - 1);
	int here;	/* 1: box.lock is of this machine */

	text[n < 0 ? 0 : n] = '\0';
	pid = (long)num_of(text, &p);
	copy_host_name(host, sizeof(host));
	p += *p == ':';
	len = strcspn(p, " \n");
	here = len > 0 && len == strlen(host) && strncmp(p, host, len) == 0;
	if (here && pid > 1 &&
	    (strncmp(p + len, " fcntl\n", 7) == 0 || is_process_gone(pid)))
		return 1;
	if (n == 0 && (st->st_mode & 0777) == LOCK_MODE &&
	    st->st_uid == geteuid())
		return 1;
	/* a lock that seems more than ten years old was made before the clock
	 * was set: it is stale if it is of another machine, or if no process
	 * here has its number */
	return age >= LOCK_STALE && (age < LOCK_UNREAL || pid < 2 ||
	    (len > 0 && !here) || is_process_gone(pid));
}

/* Removes box.lock if it is stale: 0, or -1 if it remains. */
static int
remove_stale_lock(const char *lock)
{
	struct stat st, now_there;
	int fd = fd_open_plain(lock, O_RDWR, &st), result = -1;

	if (fd < 0)
		return -1;
	if (fd_lock(fd) == 0 && is_stale_lock(fd, &st) &&
	    lstat(lock, &now_there) == 0 && is_same_file(&st, &now_there))
		result = unlink(lock);
	close(fd);
	return result;
}

/* Returns 1 if the file open as fd does not have this name any more. */
static int
is_replaced(int fd, const char *path)
{
	struct stat ours, there;

	if (lstat(path, &there) < 0)
		return errno == ENOENT;
	return fstat(fd, &ours) == 0 && !is_same_file(&ours, &there);
}

/* Writes the owner of the lock into it: 0; -1 if another process has taken the
 * empty file for stale.  A failed write does no harm, as an empty file is a
 * lock, too. */
static int
sign_lock(int fd, const char *lock)
{
	char line[300], host[256];
	int has_lock = fd_lock(fd) == 0;

	if ((!has_lock && (errno == EACCES || errno == EAGAIN)) ||
	    is_replaced(fd, lock))
		return -1;
	copy_host_name(host, sizeof(host));
	text_fmt(line, sizeof(line), "%ld:%s%s\n", (long)getpid(), host,
	    has_lock ? " fcntl" : "");
	fd_write(fd, line, strlen(line));
	return 0;
}

/* Makes box.lock and sets m->locked: 0, or -1 with the outcome.  Returns 0
 * without a box.lock if we may not write to the directory.  LOCK_MODE keeps
 * others from opening box.lock, as an fcntl lock of another process would make
 * a stale box.lock seem alive. */
static int
make_dot_lock(struct mail *m)
{
	int fd, removed = 0;

	text_fmt(m->lock, sizeof(m->lock), "%s.lock", m->box);
	for (;;) {
		fd = open(m->lock, O_WRONLY | O_CREAT | O_EXCL, LOCK_MODE);
		if (fd >= 0 && sign_lock(fd, m->lock) == 0)
			break;
		if (fd >= 0) {
			close(fd);
			errno = EEXIST;
		}
		if (errno == EACCES || errno == EPERM || errno == EROFS)
			return 0;
		if (errno != EEXIST)
			return box_defer_error(m, "make", m->lock, errno);
		if (remove_stale_lock(m->lock) == 0 && ++removed == 1)
			continue;	/* only the first retry is without a
					 * nap, so that the loop ends */
		if (nap_for_lock(m) < 0)
			return box_defer(m, "is locked by another program");
	}
	m->locked = 1;
	m->lock_fd = fd;
	return 0;
}

/* Removes box.lock unless another process has replaced it. */
void
box_unlock(struct mail *m)
{
	if (!m->locked)
		return;
	if (!is_replaced(m->lock_fd, m->lock))
		unlink(m->lock);
	close(m->lock_fd);
	m->locked = 0;
}

/* Reports BEGUN, before the first byte is written; or THERE, before the locks
 * are removed, since other programs may append mail after that.  Returns 0, or
 * -1 if the agent is gone, which alone can tag the recipient. */
static int
send_outcome(struct mail *m, enum outcome_state state, const char *tmp_name)
{
	if (m->report < 0)
		return 0;
	m->end->state = state;
	m->end->left = m->left;
	m->end->before = m->before;
	text_fmt(m->end->text, sizeof(m->end->text), "%s", tmp_name);
	return fd_write(m->report, (const char *)m->end, sizeof(*m->end));
}

/* ---- how much a box may have ------------------------------------------- */

/* Returns 1 if the box has no room for n more bytes. */
static int
is_beyond_limit(const struct mail *m, off_t n)
{
	return m->size_limit > 0 && m->before + m->written + n > m->size_limit;
}

/* Sets the outcome if the box has no room for the message.  Returns -1. */
static int
defer_full(struct mail *m)
{
	text_fmt(m->end->text, sizeof(m->end->text), "%s has %lu bytes of at "
	    "most %lu, with no room for this message", m->box,
	    (unsigned long)m->before, (unsigned long)m->size_limit);
	return set_deferred(m, "4.2.2");
}

/* Returns the bytes of all files in one directory of a Maildir. */
static off_t
sum_bytes(const struct mail *m, const char *subdir)
{
	char path[PATH_SIZE + 300];
	struct dirent *d;
	struct stat st;
	off_t sum = 0;
	DIR *dir;

	text_fmt(path, sizeof(path), "%s%s", m->box, subdir);
	dir = opendir(path);
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (d->d_name[0] != '.' && text_fmt(path, sizeof(path),
		    "%s%s/%s", m->box, subdir, d->d_name) == 0 &&
		    lstat(path, &st) == 0 && S_ISREG(st.st_mode))
			sum += st.st_size;
	if (dir != NULL)
		closedir(dir);
	return sum;
}

/* ---- writing the message --------------------------------------------- */

static void
flush_buf(struct mail *m)
{
	if (m->error == 0 && is_beyond_limit(m, (off_t)m->used)) {
		m->full = 1;
		m->error = EFBIG;
	}
	if (m->used > 0 && m->error == 0 &&
	    fd_write(m->fd, m->buf, m->used) < 0)
		m->error = errno != 0 ? errno : EIO;
	m->written += (off_t)m->used;
	m->used = 0;
}

/* The function put of the filter: 0, or -1 with m->error. */
static int
put_bytes(void *mail, const char *s, size_t n)
{
	struct mail *m = mail;
	size_t k;

	for (; n > 0; s += k, n -= k) {
		if (m->used == sizeof(m->buf))
			flush_buf(m);
		k = sizeof(m->buf) - m->used;
		k = k < n ? k : n;
		memcpy(m->buf + m->used, s, k);
		m->used += k;
	}
	return m->error == 0 ? 0 : -1;
}

static void
put_text(struct mail *m, const char *s)
{
	put_bytes(m, s, strlen(s));
}

void
box_head(const struct mail *m, int with_from, struct text *t)
{
	const char *sender = m->rcpt->from->address;

	if (with_from)
		job_add_from(t, sender);
	text_add(t, "%sReturn-Path: <%s>\nDelivered-To: %s\n",
	    with_from ? "\n" : "", sender, m->rcpt->user);
}

/* If the box has room for the message, reports BEGUN with the name of its file
 * in tmp: 0 or -1. */
static int
report_begun_if_room(struct mail *m, const char *tmp_name)
{
	if (is_beyond_limit(m, m->job->size - (off_t)m->job->body))
		return defer_full(m);
	return send_outcome(m, BEGUN, tmp_name) < 0 ?
	    box_defer_error(m, "report the place of the message in", m->box,
	    errno) : 0;
}

/* Writes head and message to m->fd, which is path, and syncs: 0 or -1. */
static int
write_message(struct mail *m, const char *path, int is_mbox)
{
	char head[HEAD_SIZE];
	struct filter f;
	struct text t;
	int unread;

	text_init(&t, head, sizeof(head));
	box_head(m, is_mbox, &t);
	put_bytes(m, head, t.len);
	memset(&f, 0, sizeof(f));
	f.put = put_bytes;
	f.out = m;
	f.quotes = f.requotes = f.in_body = is_mbox;
	unread = lib_pass_message(m->job, m->rcpt, filter_convert, &f) < 0;
	filter_flush(&f);
	if (is_mbox)
		put_text(m, f.last == '\n' ? "\n" : "\n\n");
	flush_buf(m);
	if (m->full)
		return defer_full(m);
	if (m->error == 0 && unread)
		return box_set_outcome(m->end, X_TEMPFAIL, "4.3.0",
		    "the message cannot be read, or is being changed");
	if (m->error == 0 && fd_sync(m->fd) < 0)
		m->error = errno;
	return m->error == 0 ? 0 :
	    box_defer_error(m, "write to", path, m->error);
}

/* ---- mbox ------------------------------------------------------------ */

/* Returns 0 if the box may be written to, else -1. */
static int
check_box(struct mail *m, const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return box_defer(m, "is no regular file");
	if (st->st_nlink > 1)
		return box_defer(m, "has a second name (a hard link)");
	if (st->st_uid != m->user->uid)
		return box_defer(m, "belongs to somebody else");
	return 0;
}

/* Syncs the directory of path, after a name was made in it: 0, or -1 with
 * errno. A '/' at the end is part of the name. */
static int
sync_parent(const char *path)
{
	char dir[PATH_SIZE + 300];
	size_t n = strlen(path);

	while (n > 1 && path[n - 1] == '/')
		n--;
	while (n > 1 && path[n - 1] != '/')
		n--;
	text_fmt(dir, sizeof(dir), "%.*s", (int)n, path);
	return dir_sync(dir) < 0 ? -1 : 0;
}

/* Gives the box, open as fd, to its user: 0 or -1. */
static int
give_box(struct mail *m, int fd)
{
	if (geteuid() == m->user->uid ||
	    fchown(fd, m->user->uid, m->user->gid) == 0)
		return 0;
	return box_defer_error(m, "give away", m->box, errno);
}

/* Makes an empty box, unless there is one, and gives it to its user: 0 or -1.
 */
static int
make_box(struct mail *m)
{
	int fd, result;

	if (geteuid() != 0 && geteuid() != m->user->uid)
		return box_defer(m, "is missing, and only root or its user "
		    "can make it");
	fd = open(m->box, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return errno == EEXIST ? 0 :
		    box_defer_error(m, "make", m->box, errno);
	result = give_box(m, fd);
	close(fd);
	if (result < 0)
		unlink(m->box);
	return result;
}

/* Returns 1 for an empty box of root, which a killed process of ours has made
 * and not given to its user. */
static int
is_ungiven(const struct mail *m, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	    st->st_size == 0 && st->st_uid == geteuid() &&
	    st->st_uid != m->user->uid;
}

/* Opens the box, made if missing, and checks the open file: 0 or -1. */
static int
open_box(struct mail *m)
{
	struct stat st;
	int err;

	m->fd = fd_open_plain(m->box, O_RDWR | O_APPEND, &st);
	if (m->fd < 0 && errno == ENOENT) {
		if (make_box(m) < 0)
			return -1;
		m->fd = fd_open_plain(m->box, O_RDWR | O_APPEND, &st);
	}
	err = errno;
	if (m->fd < 0 && lstat(m->box, &st) == 0 && check_box(m, &st) < 0)
		return -1;
	if (m->fd < 0)
		return box_defer_error(m, "open", m->box, err);
	if (check_box(m, &st) == 0)
		return 0;
	close(m->fd);
	return -1;
}

/* Opens the box and locks it: 0 or -1.  If a program has replaced the box in
 * between, the new box is opened. */
static int
open_locked(struct mail *m)
{
	struct stat st;
	int i, err, is_taken;	/* another process has an fcntl lock */

	for (i = 0; i < REOPENS; i++) {
		if (open_box(m) < 0)
			return -1;
		while (fd_lock(m->fd) < 0) {
			err = errno;
			is_taken = err == EACCES || err == EAGAIN ||
			    err == EINTR;
			if (!is_taken && m->locked)
				break;	/* box.lock must do */
			if (is_taken && nap_for_lock(m) == 0)
				continue;
			close(m->fd);
			return is_taken ? box_defer(m, "is in use") :
			    box_defer_error(m, "lock", m->box, err);
		}
		if (fstat(m->fd, &st) == 0 && st.st_nlink == 1 &&
		    !is_replaced(m->fd, m->box))
			return 0;
		close(m->fd);
	}
	return box_defer(m, "is replaced again and again");
}

/* Adds the empty line that the last message may lack. */
static void
ensure_empty_line(struct mail *m)
{
	char tail[2] = { '\n', '\n' };	/* the last two bytes of the box */
	off_t at = m->before > 2 ? m->before - 2 : 0;

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

/* Removes the part that was appended: 0, or -1 if that fails. */
static int
cut_back(struct mail *m)
{
#ifdef NO_FTRUNCATE
	off_t end = lseek(m->fd, 0, SEEK_END);

	if (fcntl(m->fd, F_SETFL, 0) == 0 &&	/* no longer O_APPEND */
	    lseek(m->fd, m->before, SEEK_SET) == m->before)
		while (m->before < end && write(m->fd, "\n", 1) == 1)
			m->before++;
	return m->before < end ? -1 : 0;
#else
	return ftruncate(m->fd, m->before);
#endif
}

static int
append_message(struct mail *m)
{
	struct stat st;
	size_t n;

	if (fstat(m->fd, &st) < 0)
		return box_defer_error(m, "read", m->box, errno);
	m->before = st.st_size;
	m->end->dev = st.st_dev;
	m->end->ino = st.st_ino;
	if (report_begun_if_room(m, "") < 0)
		return -1;
	ensure_empty_line(m);
	if (write_message(m, m->box, 1) == 0) {
		if (m->before > 0 || sync_parent(m->box) == 0) {
			send_outcome(m, THERE, "");
			return 0;
		}
		box_defer_error(m, "write to", m->box, errno);
	}
	n = strlen(m->end->text);
	if (cut_back(m) < 0)
		text_fmt(m->end->text + n, sizeof(m->end->text) - n,
		    "; the box ends with a part of a message");
	return -1;
}

/* Returns 1 if only our message is behind m->before.  Our message has one line
 * that begins with "From "; a second such line means that another program has
 * appended mail. */
static int
is_tail_our_message(struct mail *m)
{
	static const char word[] = "From ";
	char buf[4096];
	int at = 0, seen = 0;
	long n, i;

	if (lseek(m->fd, m->before, SEEK_SET) < 0)
		return 0;
	while ((n = (long)read(m->fd, buf, sizeof(buf))) > 0)
		for (i = 0; i < n; i++) {
			if (at >= 0 && buf[i] == word[at]) {
				if (++at == 5) {
					seen++;
					at = -1;
				}
				continue;
			}
			if (seen == 0 && buf[i] != '\n')
				return 0;
			at = buf[i] == '\n' ? 0 : -1;
		}
	return n == 0 && seen <= 1;
}

/* Removes a part of a message: 0 or -1.  Nothing is removed without box.lock,
 * or if other mail is behind the part. */
static int
remove_part(struct mail *m)
{
	const struct outcome *begun = m->end;
	struct stat st;

	if (!m->locked || fstat(m->fd, &st) < 0 || st.st_ino != begun->ino ||
	    st.st_dev != begun->dev || st.st_size < begun->before)
		return -1;
	m->before = begun->before;
	if (!is_tail_our_message(m))
		return box_defer(m, "has other mail behind a part of a "
		    "message");
	return cut_back(m) < 0 ? box_defer_error(m, "cut", m->box, errno) : 0;
}

/* Opens the box, and calls use, which changes the box: 0 or -1.  box.lock is
 * made and removed here unless the parent has made it. */
static int
use_mbox(struct mail *m, int (*use)(struct mail *))
{
	int result = -1, was_locked = m->locked;

	if (!was_locked && make_dot_lock(m) < 0)
		return -1;
	if (open_locked(m) == 0) {
		result = use(m);
		close(m->fd);	/* the box is synced already */
	}
	if (!was_locked)
		box_unlock(m);
	return result;
}

/* ---- Maildir --------------------------------------------------------- */

/* Makes names that no other delivery has, from time, process, count, machine.
 */
static void
make_names(struct mail *m, char *tmp, char *new, size_t size)
{
	static unsigned long serial;
	char host[256], *p;

	copy_host_name(host, sizeof(host));
	for (p = host; *p != '\0'; p++)
		if (*p == '/' || *p == ':')
			*p = '_';
	serial++;
	text_fmt(tmp, size, "%stmp/%ld.P%ldQ%lu_%lu.%s", m->box,
	    (long)time(NULL), (long)getpid(), serial, m->rcpt->off,
	    host);
	text_fmt(new, size, "%snew/%s", m->box, strrchr(tmp, '/') + 1);
}

static int
deliver_to_maildir(struct mail *m)
{
	static const char *const subdir[] = { "", "tmp", "new", "cur" };
	char tmp[PATH_SIZE + 300], new[PATH_SIZE + 300];
	int i, result;

	for (i = 0; i < 4; i++) {
		text_fmt(tmp, sizeof(tmp), "%s%s", m->box, subdir[i]);
		if (mkdir(tmp, 0700) == 0 ? sync_parent(tmp) < 0 :
		    errno != EEXIST)
			return box_defer_error(m, "make", tmp, errno);
	}
	make_names(m, tmp, new, sizeof(tmp));
	if (m->size_limit > 0)
		m->before = sum_bytes(m, "new") + sum_bytes(m, "cur");
	if (report_begun_if_room(m, strrchr(tmp, '/') + 1) < 0)
		return -1;
	m->fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (m->fd < 0)
		return box_defer_error(m, "make", tmp, errno);
	result = write_message(m, tmp, 0);
	close(m->fd);		/* the file is synced already */
	/* a file system without links gets a rename */
	if (result == 0 && link(tmp, new) < 0 &&
	    (errno == EEXIST || rename(tmp, new) < 0))
		result = box_defer_error(m, "make", new, errno);
	unlink(tmp);
	if (result < 0)
		return -1;
	text_fmt(tmp, sizeof(tmp), "%snew", m->box);
	if (dir_sync(tmp) < 0) {
		box_defer_error(m, "sync", tmp, errno);
		unlink(new);	/* so that the next try adds no second one */
		return -1;
	}
	send_outcome(m, THERE, "");
	return 0;
}

/* Removes the file of a killed delivery from tmp/ and new/: 0 or -1.  A file in
 * new/ is removed, too, since its name may not have been synced. */
static int
undo_maildir(struct mail *m)
{
	static const char *const subdir[] = { "tmp", "new" };
	char path[PATH_SIZE + 300];
	int i, result = 0;

	for (i = 0; i < 2; i++) {
		text_fmt(path, sizeof(path), "%s%s/%s", m->box, subdir[i],
		    m->end->text);
		if (unlink(path) < 0 && errno != ENOENT)
			result = -1;
	}
	return result;
}

/* ---- for the agent --------------------------------------------------- */

static int
is_maildir(const struct mail *m)
{
	return m->box[strlen(m->box) - 1] == '/';
}

int
box_deliver(struct mail *m)
{
	return is_maildir(m) ? deliver_to_maildir(m) :
	    use_mbox(m, append_message);
}

int
box_undo(struct mail *m)
{
	return is_maildir(m) ? undo_maildir(m) : use_mbox(m, remove_part);
}

int
box_lock_and_make(struct mail *m)
{
	struct stat st;
	int fd, result = 0;

	if (make_dot_lock(m) < 0)
		return -1;
	if (lstat(m->box, &st) < 0)
		return errno == ENOENT ? make_box(m) : 0;
	if (!is_ungiven(m, &st))
		return 0;
	fd = fd_open_plain(m->box, O_RDWR, &st);
	if (fd < 0)
		return 0;	/* the delivery reports the reason */
	if (is_ungiven(m, &st)) {
		lib_note("%s, empty and root's, is given to %s", m->box,
		    m->user->name);
		result = give_box(m, fd);
	}
	close(fd);
	return result;
}
