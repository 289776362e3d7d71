/*
 * accept.c - turns a file that a user owns into one of the post office.
 *
 * A file in router/ belongs to the user who made it, and he may hold it open.
 * So that nobody can change accepted mail, the file is copied, and only the
 * copy goes into the queue:
 *
 *	1  private/submit:PID.RANDOM	write the copy, with the times of the
 *					original, and sync it; NAME is made of
 *					its inode number
 *	2  private/NAME.UID.orig	rename router/NUM to this, out of its
 *					owner's reach; UID is the owner
 *	3				queue the copy as NAME, see entry.c
 *	4				remove the original
 *
 * The copy has as many bytes as the file had when it was opened; of a file that
 * is too large only the header is copied.  A file that changes meanwhile stays
 * where it is.
 *
 * If only the group of a set-group-id submit may use public/ and router/, no
 * user can reach a file of that group or hold it open.  Such a file is not
 * copied: its owner is changed, and it is renamed into the queue.  Step 2 keeps
 * the UID of the user.
 *
 * A crash leaves the original in router/ or private/.  The next run removes an
 * original in private/ if queue/NAME has its size and time and a control file,
 * which shows that step 3 was done.  Otherwise the run takes the original like
 * a file in router/.  Another message is mistaken for the copy only if it has
 * the same inode, process number, size and second.  A copy that is not
 * recognized is delivered, and the original as well.  The copy of a file that
 * is too large has another size and is not recognized, so the sender may get a
 * second DSN.
 *
 * Runs exclude each other, but the workers of a run live on when its parent is
 * killed, and an operator may remove .submit.lock.  So a run has a lock on the
 * file that it reads, and leaves a locked original in private/ alone.
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <utime.h>

void
accept_unhide(const char *hidden, const char *path)
{
	if (path_may_exist(path) || rename(hidden, path) < 0)
		say("it is now %s", hidden);
}

int
accept_hide(const char *po, const char *path, int fd, const char *name,
    long uid, char *hidden, size_t size)
{
	text_fmt(hidden, size, "%s/private/%s.%ld.orig", po, name, uid);
	if (path_may_exist(hidden) && strcmp(path, hidden) != 0) {
		say("%s is there already; try again", hidden);
		return -1;
	}
	if (rename(path, hidden) < 0)
		return say_cannot("rename to", hidden);
	if (entry_is_at(fd, hidden))
		return 0;
	say("it was replaced meanwhile; try again");
	accept_unhide(hidden, path);
	return -1;
}

/* Copies as many bytes as left says, from the start of fd: 0, or -1 with errno;
 * EAGAIN if fd has fewer. */
static int
copy_bytes(int fd, FILE *f, double left)
{
	static char buf[8192];	/* only a buffer */
	size_t n;
	long k;

	if (lseek(fd, (off_t)0, SEEK_SET) != 0)
		return -1;
	while (left > 0) {
		n = left < (double)sizeof(buf) ? (size_t)left : sizeof(buf);
		k = (long)read(fd, buf, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k == 0)
			errno = EAGAIN;
		if (k <= 0)
			return -1;
		errno = EIO;	/* for a failure that sets none */
		if (fwrite(buf, 1, (size_t)k, f) != (size_t)k)
			return -1;
		left -= (double)k;
	}
	return fflush(f) == 0 ? 0 : -1;
}

/* Gives the copy the times of the original, as they are the age of the message.
 * Nanoseconds, where possible, tell apart the spool ids of two messages whose
 * files had the same inode number in the same second.  Returns 0, or -1 with
 * errno. */
#if !defined(NO_ST_MTIM) && defined(UTIME_OMIT)
static int
keep_times(const struct post *p, const struct stat *seen)
{
	struct timespec times[2];
	struct spool_time at;

	spool_time(seen, &at);
	times[0].tv_sec = seen->st_atime;
	times[0].tv_nsec = 0;
	times[1].tv_sec = seen->st_mtime;
	times[1].tv_nsec = at.ns;
	return futimens(fileno(p->f), times);
}
#else
static int
keep_times(const struct post *p, const struct stat *seen)
{
	struct utimbuf times;

	times.actime = seen->st_atime;
	times.modtime = seen->st_mtime;
	return utime(p->path, &times);
}
#endif

enum verdict
accept_copy(const struct post *p, int fd, const struct stat *seen, double size)
{
	struct stat st;
	int bad = copy_bytes(fd, p->f, size) < 0;
	int is_short = bad && errno == EAGAIN;	/* fd has fewer bytes now */

	if (!bad || is_short) {
		if (fstat(fd, &st) < 0) {
			say_cannot("look at", "it");
			return LATER;
		}
		if (is_short || st.st_size != seen->st_size ||
		    st.st_mtime != seen->st_mtime) {
			say("it changes while it is copied, and stays");
			return STAYS;
		}
	}
	if (bad || keep_times(p, seen) < 0 || fd_sync(fileno(p->f)) < 0) {
		say_cannot("copy it to", p->path);
		return LATER;
	}
	return TAKEN;
}

long
accept_parse_hidden_name(const char *base, char *name, size_t size)
{
	const char *dash, *dot, *end;
	unsigned long n;

	if (num_upto(base, ULONG_MAX, &n, &dash) < 0 || *dash != '-' ||
	    num_upto(dash + 1, ULONG_MAX, &n, &dot) < 0 || *dot != '.' ||
	    num_upto(dot + 1, ULONG_MAX, &n, &end) < 0 ||
	    strcmp(end, ".orig") != 0 ||
	    text_fmt(name, size, "%.*s", (int)(dot - base), base) < 0)
		return -1;
	return (long)n;
}

int
accept_remove_queued(const char *po, const char *base)
{
	const char *path = path_in(po, "private/%s", base);
	struct stat orig, copied;
	char name[100];

	accept_parse_hidden_name(base, name, sizeof(name));
	if (lstat(path, &orig) < 0 ||
	    lstat(path_in(po, "queue/%s", name), &copied) < 0 ||
	    orig.st_size != copied.st_size ||
	    orig.st_mtime != copied.st_mtime || office_is_orphan_msg(po, name))
		return -1;
	/* if a sync fails, the original stays for now */
	if (entry_sync(po, "queue") == 0 && entry_sync(po, "transport") == 0 &&
	    unlink(path) < 0)
		say_cannot("remove", path);
	return 0;
}
