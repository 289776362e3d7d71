/*
 * post.c - puts a message into router/.
 *
 * A program that has a message writes it into a file of its own, syncs it and
 * renames it into router/.  So nobody sees half a message, and a crash leaves
 * no message or a whole one.
 *
 *	private/TAG:PID.RANDOM	written by the scheduler, agents and others
 *				that may write there
 *	public/TAG:PID.RANDOM	written by everybody else
 *	router/NUM		the message; NUM is its inode number, or a
 *				random number if that name is in use
 *
 * If users may write to public/ and router/, one of them could take a name that
 * he can guess before a message gets it.  So the name in public/ has 64 random
 * bits, and no file replaces another: if a name is in use, the next is tried.
 * A name in router/ is looked for before the rename.  A file that appears
 * between the two belongs to a user who guessed an inode number, and is all
 * that can be lost.  A link instead of the rename could not lose it, but would
 * leave the message with two names for a while, or for good after a crash.
 *
 * public/ without rights for others is open to its group only, that of a
 * set-group-id submit (see submit(1)).  The owner of the post office belongs to
 * that group; files there get mode 0640 instead of 0600, so that he can read
 * them.
 *
 * The caller decides what the file contains.
 */
#include "post.h"
#include "agent.h"
#include "office.h"
#include "path.h"
#include <sys/times.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>
#endif

#define TRIES	1000	/* names tried before giving up */

/* A substitute for /dev/urandom: data that change with each call and that other
 * users can hardly know.  A right guess costs us one more try only. */
static void
stir(unsigned long v[2])
{
	static unsigned long turn;	/* calls so far */
	struct {
		struct stat here;
		struct tms used;
		clock_t ticks;
		time_t wall;
		pid_t pid;
		void	*at;
		unsigned long turn;
	} mix;
	const unsigned char *p = (const unsigned char *)&mix;
	size_t i;

	memset(&mix, 0, sizeof(mix));
	stat(".", &mix.here);	/* zeros if that fails */
	mix.ticks = times(&mix.used);
	mix.wall = time(NULL);
	mix.pid = getpid();
	mix.at = &mix;
	mix.turn = ++turn;
	for (i = 0; i < 2 * sizeof(mix); i++)
		v[i & 1] = ((v[i & 1] ^ p[i % sizeof(mix)]) * 16777619UL ^
		    v[i & 1] >> 15) & 0xffffffffUL;
}

/* Sets two numbers of 32 bits that nobody can guess. */
static void
random_pair(unsigned long v[2])
{
	/* what stir has mixed so far */
	static unsigned long pool[2] = { 2166136261UL, 84696351UL };
	unsigned char b[8];
	int i, fd = open("/dev/urandom", O_RDONLY | O_NOCTTY);

	memset(b, 0, sizeof(b));
	if (fd < 0 || read(fd, b, sizeof(b)) != (long)sizeof(b))
		stir(pool);
	if (fd >= 0)
		close(fd);
	v[0] = pool[0];
	v[1] = pool[1];
	for (i = 0; i < 8; i++)
		v[i & 1] ^= (unsigned long)b[i] << i / 2 * 8;
}

int
post_make(char *path, size_t size, const char *dir, const char *tag)
{
	unsigned long v[2];
	int i, fd = -1;

	for (i = 0; fd < 0 && i < TRIES; i++) {
		random_pair(v);
		errno = ENAMETOOLONG;
		if (text_fmt(path, size, "%s/%s:%ld.%lu%010lu", dir, tag,
		    (long)getpid(), v[0], v[1]) < 0)
			break;
		fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	return fd;
}

int
post_is_closed(const struct stat *dir)
{
	return (dir->st_mode & 007) == 0 && (dir->st_mode & 030) == 030;
}

int
post_open(struct post *p, const char *po, const char *tag)
{
	struct stat st, dir;
	int fd, err, bad, in_public = 0;

	if (text_fmt(p->po, sizeof(p->po), "%s", po) < 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	fd = post_make(p->path, sizeof(p->path), path_in(po, "private"),
	    tag);
	if (fd < 0 && (errno == EACCES || errno == EPERM || errno == ENOENT)) {
		in_public = 1;
		fd = post_make(p->path, sizeof(p->path), path_in(po, "public"),
		    tag);
	}
	if (fd < 0)
		return -1;
	p->is_bulk = 0;
	bad = fd_cloexec(fd) < 0 || fstat(fd, &st) < 0;
	/* the owner of the post office reads the file by the group of public/,
	 * if public/ is closed to all others */
	if (!bad && in_public && stat(path_in(po, "public"), &dir) == 0 &&
	    post_is_closed(&dir) && st.st_gid == dir.st_gid)
		bad = fchmod(fd, 0640) < 0;
	p->f = bad ? NULL : fdopen(fd, "w+");
	if (p->f == NULL) {
		err = errno;
		close(fd);
		unlink(p->path);
		errno = err;
		return -1;
	}
	p->num = (unsigned long)st.st_ino;
	return 0;
}

void
post_remove(struct post *p)
{
	int err = errno;

	fclose(p->f);
	unlink(p->path);
	errno = err;
}

int
post_sync_or_remove(struct post *p)
{
	if (file_sync(p->f) == 0)
		return 0;
	post_remove(p);
	return -1;
}

/* Renames the file to a number that is free in the directory: 0 or -1. */
static int
rename_into(struct post *p, const char *dir)
{
	const char *final;
	unsigned long v[2];
	struct stat st;
	int i;

	for (i = 0; i < TRIES; i++) {
		final = path_in(p->po, "%s/%lu", dir, p->num);
		if (lstat(final, &st) < 0) {
			if (errno != ENOENT)
				return -1;
			if (rename(p->path, final) == 0)
				return text_fmt(p->path, sizeof(p->path), "%s",
				    final);
			/* EPERM: another user has the name, and the directory
			 * is sticky */
			if (errno != EISDIR && errno != EEXIST &&
			    errno != EPERM)
				return -1;
		}
		random_pair(v);
		p->num = v[0];
	}
	errno = EEXIST;
	return -1;
}

/* Syncs the directory of the file: 0 or -1.  A user who may not read the
 * directory cannot sync it; then the file is synced again, under its new name.
 */
static int
sync_dir_of(const struct post *p, const char *dir)
{
	enum dir_result how = dir_sync(path_in(p->po, "%s", dir));

	return how == DIR_CANNOT ? fd_sync(fileno(p->f)) : (int)how;
}

int
post_send_or_remove(struct post *p)
{
	int in_bulk;

	if (post_sync_or_remove(p) < 0)
		return -1;
	in_bulk = p->is_bulk && rename_into(p, OFFICE_BULK) == 0;
	if ((!in_bulk && rename_into(p, "router") < 0) ||
	    sync_dir_of(p, in_bulk ? OFFICE_BULK : "router") < 0) {
		post_remove(p);
		return -1;
	}
	fclose(p->f);
	return 0;
}

gid_t
post_gid_for_hold_files(const char *po)
{
	struct stat st;

	return stat(path_in(po, "router"), &st) < 0 || st.st_gid == 0 ? 1 : 0;
}

void
post_notify(const char *path, const char *what)
{
#ifdef NO_TCP
	(void)path;
	(void)what;
#else
	struct sockaddr_un to;
	char line[100];
	int fd;

	memset(&to, 0, sizeof(to));
	to.sun_family = AF_UNIX;
	if (*path == '\0' || text_fmt(to.sun_path, sizeof(to.sun_path), "%s",
	    path) < 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (fd < 0)
		return;
	fd_nonblock(fd);
	text_fmt(line, sizeof(line), "NEW %s", what);
	sendto(fd, line, strlen(line), 0, (struct sockaddr *)&to, sizeof(to));
	close(fd);
#endif
}
