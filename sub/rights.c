/*
 * rights.c - the users and the group that submit acts as.
 *
 * submit needs no privileges.  It may be set-group-id, for a post office whose
 * public/ and router/ are open to that group alone.  Then it has the group only
 * while it makes, renames or removes a file there, and only in the post office
 * that is compiled in.  In all other cases it gives up the group for good.  A
 * set-user-id bit is given up at once.
 *
 * Root's submit acts as the owner of the post office, who may be a service
 * user: no name in his directories can make root write elsewhere.  The process
 * is root only while it reads the table and, with -q, while it opens
 * .submit.lock, and while it opens and takes over files of other users.
 *
 * For the group and for the owner, effective ids must be changed and changed
 * back.  With NO_SETEUID, setgid does that for the group, as in POSIX.1-1990;
 * submit then gives up the group only as far as setgid can, and root stays
 * root.
 */
#include "submit.h"
#ifdef NO_SETEUID
#define CAN_BE_OWNER 0
#define setegid setgid
#define seteuid setuid		/* is never called, as CAN_BE_OWNER is 0 */
#else
#define CAN_BE_OWNER 1
#endif

static gid_t bit_gid;		/* group of a set-group-id bit, or our own */
static gid_t start_gid;		/* the effective group at the start */
static struct stat owner;	/* owner of the post office's transport/ */
static int as_owner;		/* root acts as the owner */

static int
say_kept(void)
{
	return say_cannot("give up", "the privileges of a set-id bit");
}

int
rights_start(void)
{
	start_gid = bit_gid = getegid();
#ifdef NO_SETEUID
	if (setuid(getuid()) < 0)
#else
	/* NetBSD's setreuid does not set the saved id; Linux' setuid sets
	 * that id only for root */
	if (setuid(getuid()) < 0 || setreuid(getuid(), getuid()) < 0)
#endif
		return say_kept();
	errno = EPERM;
	return geteuid() != getuid() || setegid(getgid()) < 0 ? say_kept() : 0;
}

int
rights_drop(void)
{
#ifdef NO_SETEUID
	if (setgid(getgid()) < 0)
		return say_kept();
#else
	if (setgid(getgid()) < 0 || setregid(getgid(), getgid()) < 0)
		return say_kept();
	errno = EPERM;
	if (getuid() != 0 && bit_gid != getgid() && setegid(bit_gid) == 0)
		return say_kept();	/* the group can be taken again */
#endif
	bit_gid = getgid();
	return 0;
}

int
rights_is_way_in(const char *po, gid_t gid)
{
	struct stat pub, router;

	return stat(path_in(po, "public"), &pub) == 0 && pub.st_gid == gid &&
	    post_is_closed(&pub) && stat(path_in(po, "router"), &router) == 0 &&
	    router.st_gid == gid && post_is_closed(&router);
}

int
rights_our_gid_is_way_in(const char *po)
{
	return bit_gid != getgid() && getuid() != 0 &&
	    rights_is_way_in(po, bit_gid);
}

const char *
rights_advice(const char *po)
{
	static char text[900];
	struct stat st;

	if (stat(path_in(po, "public"), &st) < 0 || !post_is_closed(&st) ||
	    st.st_gid == start_gid)
		return "try again later";
	text_fmt(text, sizeof(text), "as only the group %ld may write to "
	    "%s/public; the administrator can run: chgrp %ld submit; "
	    "chmod 2755 submit", (long)st.st_gid, po, (long)st.st_gid);
	return text;
}

void
rights_use_group(int on)
{
	int err = errno;

	if (bit_gid != getgid() && setegid(on ? bit_gid : getgid()) < 0 && !on)
		_exit(X_NOPERM);
	errno = err;
}

int
rights_become_owner(const char *po)
{
	const char *path = path_in(po, "transport");

	if (lstat(path, &owner) < 0)
		return say_cannot("look at", path);
	if (!S_ISDIR(owner.st_mode)) {
		say("%s is a link, or no directory", path);
		return -1;
	}
	if (!CAN_BE_OWNER || geteuid() != 0 || owner.st_uid == 0)
		return 0;
	if (groups_leave(owner.st_gid) < 0 ||
	    setegid(owner.st_gid) < 0 || seteuid(owner.st_uid) < 0)
		return say_cannot("become the owner of", path);
	as_owner = 1;
	return 0;
}

void
rights_use_root(int on)
{
	int err = errno;

	if (as_owner && seteuid(on ? 0 : owner.st_uid) < 0 && !on)
		_exit(X_NOPERM);
	errno = err;
}

int
rights_is_ours(long uid)
{
	return uid == 0 || uid == (long)owner.st_uid || uid == (long)geteuid();
}

int
rights_make_dir(const char *po, const char *dir, mode_t forbidden)
{
	const char *path = path_in(po, "%s", dir);
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return say_cannot("make", path);
	if (lstat(path, &st) < 0)
		return say_cannot("look at", path);
	if (S_ISDIR(st.st_mode) && rights_is_ours((long)st.st_uid) &&
	    (st.st_mode & forbidden) == 0)
		return 0;
	say("%s must be a directory of the post office's owner, closed to "
	    "others", path);
	return -1;
}

int
rights_give_roots_file(int fd)
{
	return as_owner || geteuid() != 0 || owner.st_uid == 0 ? 0 :
	    fchown(fd, owner.st_uid, owner.st_gid);
}

int
rights_give_users_file(int fd)
{
	int bad;

	if (getuid() != 0)
		return 0;
	rights_use_root(1);
	bad = fchown(fd, owner.st_uid, owner.st_gid) < 0 ||
	    fchmod(fd, 0600) < 0;
	rights_use_root(0);
	return bad ? -1 : 0;
}
