/*
 * spool.c - the directories of the post office.
 *
 *	transport/	control files; our working directory
 *	queue/		message files, under the same names
 *	postman/	messages that were set aside
 *	public/ router/	submission by users
 *	private/	submission by us, agents and others whom we trust
 *
 * This module finds new control files, moves them and their message files to
 * their directories, and removes both in the end; ctlfile.c reads them.  It
 * removes messages that are done, and files that have nothing but T lines.  All
 * others stay, and submit -q looks for what is left behind (sub/tidy.c).  For
 * example, with -H 1, the router makes transport/123-45 and says "NEW 123-45";
 * queue/123-45 becomes queue/T/123-45, transport/123-45 becomes
 * transport/T/123-45, the message is loaded, and when the mail is delivered
 * queue/T/123-45 is removed first and transport/T/123-45 second.  Files with a
 * recipient that an agent has locked are not moved: a scheduler that was killed
 * has left such agents.
 *
 * Finding.  The router may send a datagram "NEW name".  This only saves time: a
 * name that is not sent or is lost is found by reading the directory.  A
 * directory is read when its modification time has changed: transport/ is
 * checked once a second, each hash directory every half a minute.  These times
 * have whole seconds, so a directory that has changed is read again until 2.5
 * seconds have passed; our own clock counts them, since the disk may be another
 * machine's.  Our own deliveries change directories, too; therefore a directory
 * rests after a reading, 1 second for each 5000 entries.  Reading goes on step
 * by step between other work, in the order of the directory.  No list of names
 * is kept, so the number of files does not matter.
 *
 * Files without a stub.  PARAMevicted bounds the stubs, so a forgotten message
 * may have none.  Its directory is then read again when the first file without
 * a stub is due.  Other readings before that find these files, too, and must
 * tell them from new mail: a file whose message file is older than the last
 * complete reading is no new mail, and is left alone.  Both times come from the
 * clock of the disk.
 *
 * Hashing.  The number n at the beginning of a name gives the directory: one
 * level 'A' + n % 26, two levels 'A' + n % 676 / 26 and 'A' + n % 26.  The
 * message file is moved first and the control file second, so after a crash
 * the message file may be at either place, and both are checked.  Files that
 * are in a hash directory already stay there, whatever the level is.
 *
 * Names.  An entry may be a control file if its name begins with a digit and
 * has no blanks and control bytes; a single capital letter is a hash directory.
 * All other entries, dot files above all, are left alone.
 */
#include "scheduler.h"
#include <ctype.h>
#include <dirent.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>
#endif

struct options opt;

/* ---- paths ----------------------------------------------------------- */

/* Takes the path of a file below transport/, and returns the index in dirs of
 * the directory that the file is in. */
static int
dir_index(const char *name)
{
	int i = 0;

	for (; isupper((unsigned char)*name); name += 2)
		i = i * 26 + 1 + *name - 'A';
	return i;
}

/* Returns the path of the message file, valid until the next call. */
static const char *
message_file_path(const char *name)
{
	static char path[NAME_MAX_ + 9] = "../queue/";

	strcpy(path + 9, name);
	return path;
}

/* ---- directories at start -------------------------------------------- */

#define ANY_MODE	0	/* a value of places[].never: all modes are
				 * good, but if others may write, only with the
				 * sticky bit */
#define OFFICE_MOST	(PATH_MAX_ - 100)	/* bytes of the path of the post
						 * office: paths of its files
						 * fit */

/* The directories of the post office.  The last one becomes the working
 * directory. */
static const struct {
	const char *name;
	int	mode;		/* of a directory that we make */
	int	never;		/* bits that the mode must not have */
} places[] = {
	{ "public", 01777, ANY_MODE },
	{ "private", 0700, 077 },
	{ "postman", 0700, S_IWOTH },
	{ "router", 01777, ANY_MODE },
	{ "queue", 0755, S_IWOTH },
	{ "transport", 0755, S_IWOTH }
};

#define NPLACES ((int)(sizeof(places) / sizeof(places[0])))

/* Returns what is wrong with this directory, or NULL; sets *st.  A link to a
 * directory is not accepted.  The group of public/ and router/ is the
 * administrator's choice, and stays as it is. */
static const char *
dir_problem(const char *path, int never, struct stat *st)
{
	static char why[60];

	if (lstat(path, st) < 0)
		return strerror(errno);
	if (!S_ISDIR(st->st_mode))
		return "this is no directory; move it away";
	if (never & st->st_mode & S_IWOTH)
		return "anybody may write there; chmod o-w it";
	if (never & st->st_mode)
		return "others have rights there; chmod go= it";
	if (never == ANY_MODE && st->st_mode & S_IWOTH &&
	    !(st->st_mode & 01000))
		return "anybody may remove files there; chmod +t it";
	if (st->st_uid != 0 && st->st_uid != geteuid()) {
		text_fmt(why, sizeof(why), "it is neither root's nor ours; "
		    "chown %ld it", (long)geteuid());
		return why;
	}
	if (never != ANY_MODE && access(path, R_OK | W_OK | X_OK) < 0)
		return errno == EROFS ? strerror(errno) :
		    "the scheduler cannot read and write there; chown the "
		    "directory, or run as its owner";
	return NULL;
}

/* Sets the mode of the directory, which we have just made, because mkdir obeys
 * the umask and may drop the sticky bit.  Returns 0 or -1. */
static int
set_dir_mode(const char *path, int mode)
{
	struct stat seen, st;
	int fd, bad;

	if (lstat(path, &seen) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	errno = EEXIST;		/* the error if another directory has taken the
				 * path meanwhile */
	bad = fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    !is_same_file(&st, &seen) || st.st_uid != geteuid() ||
	    fchmod(fd, (mode_t)mode) < 0;
	close(fd);
	return bad ? -1 : 0;
}

/* Logs why the directory cannot be used, and returns the exit code. */
static int
log_refusal(int code, const char *path, const char *what, const char *why)
{
	log_err("spool dir=%s %s%s", path, what, why);
	return code;
}

/* Makes the directory if there is none: 0, or the exit code. */
static int
make_dir(const char *path, int mode)
{
	int made = mkdir(path, 0700) == 0;

	if (!made && errno == EEXIST)
		return 0;
	if (!made || set_dir_mode(path, mode) < 0)
		return log_refusal(X_CANTCREAT, path, "cannot be made: ",
		    strerror(errno));
	log_info("spool made=%s mode=%d%d%d%d", path, mode >> 9, mode >> 6 & 7,
	    mode >> 3 & 7, mode & 7);
	return 0;
}

/* Makes or checks the post office itself: 0, or the exit code.  A user who may
 * write there can replace our directories and files; even if the sticky bit is
 * set, the user can make those that do not exist yet.  If the group may write
 * there, this is only logged: the administrator alone knows the members of the
 * group, and the owner may be the only one. */
static int
check_office(void)
{
	const char *po = opt.postoffice;
	struct stat st;
	int code = make_dir(po, 0755);

	if (code != 0)
		return code;
	if (stat(po, &st) < 0)
		return log_refusal(X_CANTCREAT, po, "", strerror(errno));
	if (st.st_mode & S_IWOTH)
		return log_refusal(X_NOPERM, po, "",
		    "anybody may write there; chmod o-w it");
	if (st.st_uid != 0 && st.st_uid != geteuid())
		log_warn("spool dir=%s its owner, uid %ld, may replace what is "
		    "in it; chown %ld it unless that user is trusted like the "
		    "scheduler", po, (long)st.st_uid, (long)geteuid());
	if (st.st_mode & S_IWGRP)
		log_warn("spool dir=%s its group, gid %ld, may replace what "
		    "is in it; chmod g-w it unless all members are trusted "
		    "like the scheduler", po, (long)st.st_gid);
	return 0;
}

/* Changes to transport/, if st is still its status: 0 or -1. */
static int
chdir_transport(const char *path, const struct stat *st)
{
	struct stat here;

	if (chdir(path) < 0 || stat(".", &here) < 0)
		return -1;
	errno = ENOENT;		/* the error if the checked directory has left
				 * the path meanwhile */
	return is_same_file(&here, st) ? 0 : -1;
}

int
spool_setup(int check_only)
{
	char path[PATH_MAX_];
	struct stat st;
	const char *why;
	int i, place_code, code, open_to_all = 0;

	if (check_only && (lstat(opt.postoffice, &st) < 0 ||
	    (geteuid() != 0 && geteuid() != st.st_uid)))
		return 0;
	if (strlen(opt.postoffice) > OFFICE_MOST)
		return log_refusal(X_CONFIG, opt.postoffice, "",
		    "the name is too long");
	code = check_office();
	if (code != 0 && !check_only)
		return code;
	/* all problems are logged, unless a directory cannot be made */
	for (i = 0; i < NPLACES && code != X_CANTCREAT; i++) {
		text_fmt(path, sizeof(path), "%s/%s", opt.postoffice,
		    places[i].name);
		if (check_only && lstat(path, &st) < 0)
			continue;
		place_code = make_dir(path, places[i].mode);
		if (place_code == 0 && (why = dir_problem(path,
		    places[i].never, &st)) != NULL)
			place_code = log_refusal(X_NOPERM, path, "", why);
		if (place_code != 0)
			code = place_code;
		else if (places[i].never == ANY_MODE && st.st_mode & S_IWOTH)
			open_to_all = 1;
	}
	if (open_to_all)	/* -n shows only errors */
		(check_only ? log_err : log_info)("spool dir=%s any local user "
		    "can list and fill public/ and router/; to prevent this, "
		    "install submit set-group-id (make install with "
		    "SUBMITGROUP)", opt.postoffice);
	if (code == 0 && !check_only && chdir_transport(path, &st) < 0)
		code = log_refusal(X_NOPERM, path, "cannot be entered: ",
		    strerror(errno));
	return code;
}

/* ---- the router's datagrams ------------------------------------------ */

/* The sender of a datagram never waits for us; a datagram without room is lost
 * without harm. */
static int notify_fd = -1;
static int has_datagram;	/* 1: notify_fd has to be read */

void
spool_listen(const char *path)
{
#ifdef NO_TCP
	if (path != NULL)
		log_info("notify path=%s is not used: built without sockets",
		    path);
#else
	static struct sockaddr_un sun;
	struct stat there;
	mode_t was;

	if (notify_fd >= 0) {
		close(notify_fd);
		unlink(sun.sun_path);
	}
	notify_fd = -1;
	if (path == NULL)
		return;
	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (text_fmt(sun.sun_path, sizeof(sun.sun_path), "%s", path) < 0) {
		log_warn("notify path=%s is too long; new mail is found by "
		    "scanning", path);
		return;
	}
	notify_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (lstat(path, &there) == 0 && S_ISSOCK(there.st_mode))
		unlink(path);		/* a crash has left this socket */
	was = umask(0577);	/* the router is our own user, or root */
	if (notify_fd < 0 || fd_nonblock(notify_fd) < 0 ||
	    bind(notify_fd, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
		log_warn("notify path=%s %s; new mail is found by scanning",
		    path, strerror(errno));
		if (notify_fd >= 0)
			close(notify_fd);
		notify_fd = -1;
	}
	umask(was);
#endif
}

/* Sets name to the name in the next datagram: 1, or 0 if there is none. */
static int
next_datagram_name(char *name)
{
#ifdef NO_TCP
	(void)name;
#else
	char msg[128];
	long n;

	while (has_datagram &&
	    (n = recv(notify_fd, msg, sizeof(msg) - 1, 0)) >= 0) {
		msg[n] = '\0';
		msg[strcspn(msg, "\r\n")] = '\0';
		if (strncmp(msg, "NEW ", 4) == 0 &&
		    name_parse(msg + 4) != NULL &&
		    text_fmt(name, NAME_MAX_, "%s", msg + 4) == 0)
			return 1;
	}
#endif
	has_datagram = 0;
	return 0;
}

/* ---- finding --------------------------------------------------------- */

#define LOOK_EVERY	1.0	/* seconds between checks of transport/ */
#define HASH_EVERY	30	/* checks of transport/ during which each hash
				 * directory is checked once */
#define SETTLED		2.5	/* seconds after a change of a directory: later
				 * changes have another stamp */
#define OLD		60	/* seconds by the wall clock since the last
				 * change, after which the stamp of a directory
				 * that is new to us has surely settled */
#define READ_RATE	5000.0	/* entries that earn a second of rest */
#define DIR_AGAIN	30	/* seconds until a bad directory is tried
				 * again */

static struct dir {
	int	exists;
	int	dirty;		/* 1: the directory has to be read */
	long	mtime;		/* by the clock of the disk; last change of
				 * entries; 0: unknown */
	long	ctime;		/* by the clock of the disk; 0: unknown */
	double	changed;	/* mono; when mtime was first seen */
	double	began;		/* mono; when the last reading began */
	double	rest;		/* mono; no reading begins earlier; 0: no
				 * reading has ended or failed yet */
	double	reread;		/* mono; when files without a stub are due;
				 * NEVER: there are none */
	long	complete;	/* by the clock of the disk; the last complete
				 * reading has met each message whose message
				 * file has a ctime before this time */
} dirs[OFFICE_DIRS];

static struct {
	int	n;		/* index behind the last element of dirs that
				 * exists */
	int	checked;	/* the hash directory that was checked last */
	double	due;		/* mono; the next check */
	int	unseen;		/* directories of which no reading has ended */
	const char *problem;	/* what follow_transport_name has logged last */
	/* the directory that is being read */
	DIR	*open;		/* NULL: none is being read */
	int	at;		/* index in dirs */
	int	stubless_due;	/* 1: files without a stub may be loaded */
	long	complete;	/* value that dirs[at].complete gets if this
				 * reading ends without an error */
	long	entries;	/* entries read so far */
} scan;

static const char *
scan_path(int i)
{
	return i == 0 ? "." : office_hash_dir(i);
}

/* Adds a directory to those that are read, unless it is one of them. */
static void
add_dir(int i)
{
	if (dirs[i].exists)
		return;
	dirs[i].exists = dirs[i].dirty = 1;
	dirs[i].reread = NEVER;
	scan.unseen++;
	if (scan.n <= i)
		scan.n = i + 1;
}

/* Notes whether the directory has changed, and its ctime. */
static void
note_dir_change(int i)
{
	struct dir *d = &dirs[i];
	struct stat st;

	d->ctime = 0;
	if (!d->exists || stat(scan_path(i), &st) < 0)
		return;
	d->ctime = st.st_ctime;
	if (d->mtime != (long)st.st_mtime) {
		d->changed = now.mono;
		if (d->mtime == 0 && (long)now.wall > (long)st.st_mtime + OLD)
			d->changed -= OLD;
		d->mtime = st.st_mtime;
	}
	d->dirty |= d->began <= d->changed + SETTLED;
}

/* If transport/ is not our working directory any more, changes to the new
 * directory of that name, as new mail comes there.  If a start would not accept
 * the new directory, only logs why. */
static void
follow_transport_name(void)
{
	char path[PATH_MAX_];
	struct stat here, there;
	const char *why;

	text_fmt(path, sizeof(path), "%s/transport", opt.postoffice);
	if (lstat(path, &there) == 0 && stat(".", &here) == 0 &&
	    is_same_file(&here, &there)) {
		scan.problem = NULL;
		return;
	}
	why = dir_problem(path, S_IWOTH, &there);
	if (why == NULL || why != scan.problem)
		log_err("scan dir=%s %s", path, why != NULL ? why :
		    "was replaced by another directory");
	scan.problem = why;
	if (why == NULL && chdir_transport(path, &there) == 0) {
		dirs[0].mtime = 0;
		dirs[0].dirty = 1;
		q.new_transport = 1;
	}
}

void
spool_note_changes(void)
{
	int i, hashed;

	if (now.mono < scan.due)
		return;
	add_dir(0);
	scan.due = now.mono + LOOK_EVERY;
	follow_transport_name();
	note_dir_change(0);
	hashed = scan.n - 1;
	for (i = 0; i < (hashed + HASH_EVERY - 1) / HASH_EVERY; i++) {
		scan.checked = scan.checked % hashed + 1;
		note_dir_change(scan.checked);
	}
}

/* Ends the current reading and lets the directory rest for some seconds.  A
 * directory that cannot be opened counts as read: it does not delay a start. */
static void
close_dir(double rest)
{
	if (scan.open != NULL)
		closedir(scan.open);
	scan.open = NULL;
	scan.unseen -= dirs[scan.at].rest == 0;
	q.scanned = scan.unseen == 0;
	dirs[scan.at].rest = now.mono + rest;
}

static void
close_bad_dir(void)
{
	log_err("scan dir=transport/%s %s", office_hash_dir(scan.at),
	    strerror(errno));
	dirs[scan.at].dirty = 1;
	if (scan.stubless_due)
		dirs[scan.at].reread = now.mono;
	close_dir(DIR_AGAIN);
}

/* Opens the first directory that has to be read: 1, or 0 if there is none.  A
 * directory rests after its reading, so each has its turn. */
static int
open_dir(void)
{
	struct dir *d;
	int i;

	for (i = 0; i < scan.n; i++) {
		d = &dirs[i];
		if (!d->exists || now.mono < d->rest ||
		    (!d->dirty && now.mono < d->reread))
			continue;
		scan.at = i;
		scan.entries = 0;
		scan.stubless_due = d->reread <= now.mono;
		/* Changes during the reading may be missed, so complete is the
		 * ctime that the directory has now, before the reading.  This
		 * is a whole second, and more messages may still come in it.
		 * If the last change was more than SETTLED seconds ago, that
		 * second is over, and complete is the ctime + 1. */
		note_dir_change(i);
		scan.complete = d->ctime + (now.mono > d->changed + SETTLED);
		scan.open = opendir(scan_path(i));
		if (scan.open == NULL) {
			close_bad_dir();
			continue;
		}
		d->began = now.mono;
		d->dirty = 0;
		if (scan.stubless_due)
			d->reread = NEVER;
		return 1;
	}
	return 0;
}

/* Uses an entry of the directory that is being read: adds the entry if it is a
 * hash directory, or sets name to its path if it may be a control file.
 * Returns 1 if name was set. */
static int
use_entry(const char *entry, char *name)
{
	struct stat st;

	scan.entries++;
	if (name_parse(entry) != NULL) {	/* name has room for the path */
		strcat(strcpy(name, office_hash_dir(scan.at)), entry);
		return 1;
	}
	/* only transport/ and its 26 directories have hash directories; a link
	 * is none */
	if (isupper((unsigned char)entry[0]) && entry[1] == '\0' &&
	    scan.at <= 26) {
		strcat(strcpy(name, office_hash_dir(scan.at)), entry);
		if (lstat(name, &st) == 0 && S_ISDIR(st.st_mode))
			add_dir(scan.at * 26 + 1 + entry[0] - 'A');
	}
	return 0;
}

int
spool_next_file(char *name, int *is_told)
{
	struct dirent *e;

	*is_told = next_datagram_name(name);
	if (*is_told)
		return 1;
	while (scan.open != NULL || open_dir()) {
		while (errno = 0, (e = readdir(scan.open)) != NULL)
			if (use_entry(e->d_name, name))
				return 1;
		if (errno != 0) {
			close_bad_dir();
		} else {
			dirs[scan.at].complete = scan.complete;
			close_dir((scan.entries + 1) / READ_RATE);
		}
	}
	return 0;
}

double
spool_prep_wait(fd_set *in, int *max)
{
	double wait = scan.due - now.mono;

	fd_watch(notify_fd, in, max);
	return scan.open != NULL || wait < 0 ? 0 : wait;
}

void
spool_do(const fd_set *in)
{
	has_datagram = notify_fd >= 0 && FD_ISSET(notify_fd, in);
}

/* ---- files without a stub --------------------------------------------- */

/* Sets *st to the status of the file, with st_mode 0 if there is no file.
 * Returns 0, or -1 if the file cannot be looked up now. */
static int
look_up_file(const char *path, struct stat *st)
{
	if (lstat(path, st) == 0)
		return 0;
	st->st_mode = 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return 0;
	log_err("look file=%s %s", path, strerror(errno));
	return -1;
}

/* A directory has one time for all its files without a stub: the earliest. */
void
spool_reread_at(const char *name, double when)
{
	struct dir *d = &dirs[dir_index(name)];

	if (d->exists && d->reread > when)
		d->reread = when;
}

int
spool_was_scanned(const char *name, const struct stat *status)
{
	struct stat st;

	if (status == NULL && lstat(message_file_path(name), &st) < 0)
		return 0;
	return (status == NULL ? &st : status)->st_ctime <
	    dirs[dir_index(name)].complete;
}

/* When a directory is read for its files without a stub, all of them are due.
 * A file that cannot be looked up now is due at a later reading. */
int
spool_is_file_due(const char *name, int check_type)
{
	int i = dir_index(name);
	struct stat st;

	if (dirs[i].reread < NEVER && !(scan.at == i && scan.stubless_due) &&
	    spool_was_scanned(name, NULL))
		return 0;
	if (!check_type)
		return 1;
	if (look_up_file(name, &st) == 0)
		return S_ISREG(st.st_mode);
	spool_reread_at(name, now.mono + DIR_AGAIN);
	return 0;
}

/* ---- placing --------------------------------------------------------- */

/* Looks at the place of each level, as -H may have changed. */
int
spool_find_file(const char *base, char *name)
{
	int level, error = ENOENT;
	struct stat st;

	for (level = 0; level < OFFICE_LEVELS && name_parse(base) != NULL;
	    level++) {
		text_fmt(name, NAME_MAX_, "%s%s",
		    office_hash_dir(office_hash_index(base, level)), base);
		if (look_up_file(name, &st) < 0)
			error = EAGAIN;
		else if (S_ISREG(st.st_mode))
			return 0;
	}
	errno = error;
	return -1;
}

/* Renames a file, without replacing another one, and makes hash directories: 0
 * or -1, with ENOENT if there is no such file. */
static int
move_file(const char *from, const char *to)
{
	char dir[PATH_MAX_], *p = dir;
	struct stat st;

	if (lstat(from, &st) < 0)
		return -1;
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	if (rename(from, to) == 0)
		return 0;
	if (errno != ENOENT || text_fmt(dir, sizeof(dir), "%s", to) < 0)
		return -1;
	if (strncmp(dir, "../queue/", 9) == 0)
		p += 9;		/* queue/ itself is not made */
	for (; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	return rename(from, to);
}

/* Finds the message file in its directory or where a crash or another -H has
 * left it, and moves it to its directory.  Sets *st, with st_mode 0 if there is
 * no message file.  Returns 0, or -1 if the file cannot be looked up or moved
 * now. */
static int
place_message_file(const char *name, struct stat *st)
{
	const char *base = name_base(name), *home = message_file_path(name);
	char from[PATH_MAX_];
	int level;

	strcpy(from, home);	/* the loop tries the other places after it */
	for (level = 0; ; level++) {
		if (look_up_file(from, st) < 0)
			return -1;
		if (S_ISREG(st->st_mode)) {
			if (strcmp(from, home) == 0 ||
			    move_file(from, home) == 0)
				return 0;
			log_err("place msg=%s %s cannot be moved: %s",
			    ctl_log_name(name), from, strerror(errno));
			return -1;
		}
		if (level == OFFICE_LEVELS)
			break;
		text_fmt(from, sizeof(from), "../queue/%s%s",
		    office_hash_dir(office_hash_index(base, level)), base);
	}
	/* without the directory, all message files seem to be missing */
	if (lstat("../queue", st) < 0) {
		log_err("look file=../queue %s", strerror(errno));
		return -1;
	}
	st->st_mode = 0;
	return 0;
}

int
spool_place_files(char *name, struct stat *st)
{
	char to[NAME_MAX_], from[PATH_MAX_];

	if (strchr(name, '/') == NULL && opt.levels > 0) {
		text_fmt(to, sizeof(to), "%s%s",
		    office_hash_dir(office_hash_index(name, opt.levels)), name);
		strcpy(from, message_file_path(name));
		if ((move_file(from, message_file_path(to)) < 0 &&
		    errno != ENOENT) ||
		    move_file(name, to) < 0) {
			log_err("place msg=%s to=%s cannot be moved: %s",
			    ctl_log_name(name), to, strerror(errno));
			return -1;
		}
		strcpy(name, to);
		/* transport/ is perhaps not read again, so a new hash directory
		 * is added here */
		add_dir(dir_index(name));
	}
	return place_message_file(name, st);
}

/* ---- removing -------------------------------------------------------- */

/* Removes the file, if it exists: 0 or -1. */
static int
remove_file(const char *path, const char *place, const char *name)
{
	if (unlink(path) == 0 || errno == ENOENT)
		return 0;
	log_err("remove file=%s/%s %s", place, name, strerror(errno));
	return -1;
}

int
spool_remove(const char *name)
{
	ctl_close_kept();
	/* if the message file cannot be removed, the control file stays, too:
	 * a later try needs it */
	return remove_file(message_file_path(name), "queue", name) < 0 ? -1 :
	    remove_file(name, "transport", name);
}

int
spool_is_gone(const char *name)
{
	struct stat st;

	return lstat(name, &st) < 0 && (errno == ENOENT || errno == ENOTDIR);
}

/* If postman/ has a file with this name, a number is added; so no file there is
 * replaced.  If the message was moved and its control file was not, the next
 * try moves the control file alone. */
int
spool_set_aside(const char *name, int is_double_bounce, const char *why)
{
	char to[PATH_MAX_], ctl[PATH_MAX_], suffix[12] = "";
	const char *stays = NULL, *msg, *from = message_file_path(name);
	struct stat st;
	int i, was_moved;

	ctl_close_kept();
	msg = ctl_log_name(name);	/* needs the message file */
	/* a message file that is gone was moved by an earlier try */
	was_moved = spool_is_gone(from);
	for (i = 1; ; i++) {
		text_fmt(to, sizeof(to), "../postman/%s%s%s", name_base(name),
		    is_double_bounce ? BOUNCE_NEW : "", suffix);
		text_fmt(ctl, sizeof(ctl), "%s.control", to);
		if ((was_moved || lstat(to, &st) < 0) && lstat(ctl, &st) < 0)
			break;
		text_fmt(suffix, sizeof(suffix), ".%d", i);
	}
	if (!was_moved && rename(from, to) < 0)
		stays = "queue";
	else if (rename(name, ctl) < 0 && !spool_is_gone(name))
		stays = "transport";
	if (stays != NULL) {
		log_err("set-aside file=%s/%s %s", stays, name,
		    strerror(errno));
		return -1;
	}
	q.total.aside++;
	log_warn("set-aside msg=%s to=%s why: %s", msg, to + 3, why);
	ctl_close_kept();
	return 0;
}

/* ---- the verbose log of a message ------------------------------------ */

/* The v line is written by a user: only a file of his own in public/, without a
 * second name, is written to. */
void
spool_log_verbose(const char *name, const char *line)
{
	char path[PATH_MAX_], text[PATH_MAX_];
	struct stat st, ctl;
	int fd;

	if (ctl_read_last_field(name, "v", path, sizeof(path)) < 0 ||
	    strncmp(path, "../public/", 10) != 0 ||
	    strchr(path + 10, '/') != NULL || path[10] == '.' ||
	    lstat(name, &ctl) < 0)
		return;
	fd = fd_open_plain(path, O_WRONLY | O_APPEND, &st);
	if (fd < 0)
		return;
	text_fmt(text, sizeof(text), "msg=%s %s\n", ctl_log_name(name), line);
	if (st.st_nlink == 1 && st.st_uid == ctl.st_uid)
		fd_write(fd, text, strlen(text));
	close(fd);
}
