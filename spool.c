/*
 * spool.c - the places in the post office.
 *
 *	transport/	control files, ours to work on; we are in it
 *	queue/		message files, under the same names
 *	postman/	what could not be used or not be delivered
 *	public/ router/	submission
 *	private/	submission by us, agents and others whom we trust
 *
 * This module finds new control files, puts them and their message files
 * where they belong, and takes them away in the end.  What is inside them is
 * ctlfile.c's.  What goes is a message that is done or was replaced, and a file
 * that only triggered; anything else is kept.
 *
 * Finding.  A directory is only read when its time of modification has
 * changed: the top is looked at once a second, each hash directory every half
 * a minute (the router's notification makes up for that).  Stamps have whole
 * seconds, so a directory that changed is read again until some seconds have
 * passed, by our clock, since that of the disk may be another's.
 * Our own deliveries change the directories too; one with many files in it is
 * therefore read less often, in proportion.  Reading goes on step by step
 * between other work; the order is the directory's.  No list of names is kept,
 * however many there are.
 *
 * Forgetting.  Which files of a directory are known is not for this module to
 * say.  When one has been forgotten, its directory is read once more when that
 * is due; until then, what other readings of it offer again is told from new
 * mail: its message file was there before the last whole reading began.  Both
 * stamps are the disk's, and no clock of ours is asked.
 *
 * Hashing.  The number n that a name begins with gives the directory: one
 * level 'A' + n % 26, two levels 'A' + n % 676 / 26 and 'A' + n % 26.  The
 * message file is moved first and the control file second, so after a crash
 * the message file may be at either place, and both are looked at.  Files
 * that are already in a directory stay there, whatever the level.
 *
 * Setting aside.  A double bounce, which has no sender to be told that it
 * failed, gets a mark behind its name in postman/: a number for this run of the
 * scheduler, and the hour of the run.  Its age follows from that, without any
 * wall clock: the time that this run has seen pass, since then or, of another
 * run's, since the start.
 *
 * Names.  An entry is a candidate when it begins with a digit and has no
 * blank or control byte; a single capital letter is a hash directory.
 * Everything else, dot files first, belongs to somebody else.
 */
#include "scheduler.h"
#include <ctype.h>
#include <dirent.h>

#ifdef NO_SYMLINK
#define lstat stat
#endif
#ifndef O_NOFOLLOW
#define O_NOFOLLOW 0
#endif

#define BOUNCE_MARK	".bounce-"	/* in postman/: then run and hour */

struct options opt;

/* ---- directories at start -------------------------------------------- */

#define OPEN	0		/* no bits are refused, if it is sticky */

static const struct {
	const char *name;
	int	mode;
	int	never;		/* bits of a mode that it may not have */
} places[] = {
	{ "public", 01777, OPEN },
	{ "router", 01777, OPEN },
	{ "private", 0700, 077 },
	{ "queue", 0755, S_IWOTH },
	{ "postman", 0700, S_IWOTH },
	{ "transport", 0755, S_IWOTH }
};

#define NPLACES ((int)(sizeof(places) / sizeof(places[0])))

/* What is wrong with this directory, or NULL.  A link to one is none: its
 * target is not ours to judge.  The group of a way in is the administrator's
 * choice, and stays as it is. */
static const char *
complaint(const char *path, int never, struct stat *st)
{
	if (lstat(path, st) < 0)
		return strerror(errno);
	if (!S_ISDIR(st->st_mode))
		return "this is no directory; move it away";
	if (never & st->st_mode & S_IWOTH)
		return "anybody may write there; chmod o-w it";
	if (never & st->st_mode)
		return "others have rights there; chmod go= it";
	if (never == OPEN && st->st_mode & S_IWOTH && !(st->st_mode & 01000))
		return "anybody may remove files there; chmod +t it";
	if (st->st_uid != 0 && st->st_uid != geteuid())
		return "it is neither root's nor ours; chown it";
	if (never != OPEN && access(path, R_OK | W_OK | X_OK) < 0)
		return "we may not write there; run as its owner or chown it";
	return NULL;
}

/* Gives the directory, which we have just made, its mode: 0 or -1.  mkdir
 * obeys the umask and may drop the sticky bit. */
static int
set_mode(const char *path, int mode)
{
	struct stat seen, st;
	int fd, bad;

	if (lstat(path, &seen) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	errno = EAGAIN;		/* it was exchanged meanwhile */
	bad = fstat(fd, &st) < 0 || !S_ISDIR(st.st_mode) ||
	    st.st_ino != seen.st_ino || st.st_dev != seen.st_dev ||
	    st.st_uid != geteuid() || fchmod(fd, (mode_t)mode) < 0;
	close(fd);
	return bad ? -1 : 0;
}

static int
make_place(const char *path, int mode)
{
	if (mkdir(path, 0700) < 0)
		return errno == EEXIST ? 0 : -1;
	if (set_mode(path, mode) < 0)
		return -1;
	log_info("spool made=%s mode=%d%d%d%d", path, mode >> 9, mode >> 6 & 7,
	    mode >> 3 & 7, mode & 7);
	return 0;
}

/* Makes it if need be and looks at it: 0, or the exit code after saying
 * why. */
static int
take_place(const char *path, int mode, int never)
{
	struct stat st;
	const char *why;

	if (make_place(path, mode) < 0) {
		log_err("spool dir=%s cannot be made: %s", path,
		    strerror(errno));
		return X_CANTCREAT;
	}
	why = complaint(path, never, &st);
	if (why == NULL)
		return 0;
	log_err("spool dir=%s %s", path, why);
	return X_NOPERM;
}

/* The post office itself: 0, or the exit code after saying why.  Whoever may
 * write there can put other directories and files in the place of ours; with
 * the bit that /tmp has still those that are yet to be made.  Of a group only
 * the administrator knows who is in it: it may be the owner's own. */
static int
take_office(void)
{
	const char *po = opt.postoffice;
	struct stat st;

	if (make_place(po, 0755) < 0 || stat(po, &st) < 0) {
		log_err("spool dir=%s cannot be made: %s", po,
		    strerror(errno));
		return X_CANTCREAT;
	}
	if (st.st_mode & S_IWOTH) {
		log_err("spool dir=%s anybody may write there; chmod o-w it",
		    po);
		return X_NOPERM;
	}
	if (st.st_uid != 0 && st.st_uid != geteuid())
		log_warn("spool dir=%s its owner, uid %ld, may replace what "
		    "is in it; chown it unless he is trusted as we are", po,
		    (long)st.st_uid);
	if (st.st_mode & S_IWGRP)
		log_warn("spool dir=%s its group, gid %ld, may replace what "
		    "is in it; chmod g-w it unless all its members are "
		    "trusted as we are", po, (long)st.st_gid);
	return 0;
}

/* Goes to transport/, if that is still what st shows: 0 or -1. */
static int
go_home(const char *path, const struct stat *st)
{
	struct stat here;

	if (chdir(path) < 0 || stat(".", &here) < 0)
		return -1;
	errno = EAGAIN;
	return here.st_ino == st->st_ino && here.st_dev == st->st_dev ? 0 : -1;
}

int
spool_setup(void)
{
	char path[PATH_MAX_];
	struct stat st;
	int i, code, worst = 0;

	if ((code = take_office()) != 0)
		return code;
	for (i = 0; i < NPLACES && worst != X_CANTCREAT; i++) {
		if (text_fmt(path, sizeof(path), "%s/%s", opt.postoffice,
		    places[i].name) < 0) {
			log_err("spool dir=%s the name is too long",
			    opt.postoffice);
			return X_CONFIG;
		}
		code = take_place(path, places[i].mode, places[i].never);
		if (code != 0)
			worst = code;
	}
	if (worst != 0)
		return worst;
	/* transport is the last of them */
	if (lstat(path, &st) < 0 || go_home(path, &st) < 0) {
		log_err("spool dir=%s %s", path, strerror(errno));
		return X_NOPERM;
	}
	return 0;
}

const char *
spool_ways_in(void)
{
	static char line[PATH_MAX_ + 200];
	char path[PATH_MAX_];
	struct stat st;
	int i, n = 0;

	for (i = 0; i < 2; i++)
		if (text_fmt(path, sizeof(path), "%s/%s", opt.postoffice,
		    places[i].name) == 0 && lstat(path, &st) == 0)
			n += (st.st_mode & S_IWOTH) != 0;
	text_fmt(line, sizeof(line), "dir=%s any local user can see names in "
	    "and fill public and router; make install with SUBMITGROUP makes "
	    "submit set-group-id and keeps others out", opt.postoffice);
	return n > 0 ? line : NULL;
}

/* ---- finding --------------------------------------------------------- */

#define LOOK_EVERY	1.0	/* seconds between looks at the top */
#define HASH_EVERY	30	/* looks in which each hash directory is due */
#define SETTLED		2.5	/* seconds after which stamps are sure */
#define OLD		60	/* ... of a directory seen first, by the wall
				 * clock */
#define READ_RATE	5000.0	/* entries that earn a second of rest */
#define DIR_AGAIN	30	/* seconds until a bad directory is read again */

struct dir {
	char	path[5];	/* "" or "A/" or "A/B/" */
	int	known;		/* mtime has been seen */
	int	dirty;		/* is to be read */
	int	settled;	/* was read when its stamp was sure */
	int	seen;		/* was read to its end once, or cannot be */
	long	mtime, stamp;	/* its last changes, of entries and at all */
	double	changed;	/* mono; when mtime was first seen */
	double	rest;		/* mono; not to be read before */
	double	again;		/* mono; read then for what was forgotten; 0:
				 * nothing was */
	int	all;		/* this reading is for that */
	long	began;		/* stamp when this reading began */
	long	whole;		/* message files before that were there for a
				 * whole reading; -1: there was none */
};

static struct {
	struct dir *v;
	int	n, size;
	int	next;		/* the next hash directory to look at */
	double	due;		/* mono; next look */
	int	unseen;		/* directories never read to their end */
	/* the one that is being read: */
	DIR	*open;
	int	at;		/* its index */
	long	entries;	/* read in it so far */
} scan;

static void
add_dir(const char *path)
{
	struct dir *v;
	int i;

	for (i = 0; i < scan.n; i++)
		if (strcmp(scan.v[i].path, path) == 0)
			return;
	if (scan.n == scan.size) {
		v = realloc(scan.v, (size_t)(scan.size + 32) * sizeof(*v));
		if (v == NULL)
			return;		/* found again by the next scan */
		scan.v = v;
		scan.size += 32;
	}
	v = &scan.v[scan.n++];
	memset(v, 0, sizeof(*v));
	strcpy(v->path, path);
	v->dirty = 1;
	v->whole = -1;
	scan.unseen++;
}

static void
look(struct dir *d)
{
	struct stat st;

	if (stat(d->path[0] == '\0' ? "." : d->path, &st) < 0)
		return;
	d->stamp = (long)st.st_ctime;
	if (!d->known || d->mtime != (long)st.st_mtime) {
		d->changed = now.mono;
		if (!d->known && (long)now.wall > (long)st.st_mtime + OLD)
			d->changed -= OLD;
		d->known = d->dirty = 1;
		d->settled = 0;
		d->mtime = (long)st.st_mtime;
	} else if (!d->settled) {
		d->dirty = 1;
	}
}

static int moved;

/* Is transport/ still where we are?  Somebody may have put another one in its
 * place; then we go there, since the mail does, if it is one that we would
 * have started with. */
static void
stay_home(void)
{
	char path[PATH_MAX_];
	struct stat here, there;
	const char *why;
	static const char *said;

	text_fmt(path, sizeof(path), "%s/transport", opt.postoffice);
	if (lstat(path, &there) == 0 && stat(".", &here) == 0 &&
	    here.st_ino == there.st_ino && here.st_dev == there.st_dev) {
		said = NULL;
		return;
	}
	why = complaint(path, S_IWOTH, &there);
	if (why == NULL || why != said)
		log_err("scan dir=%s %s", path, why != NULL ? why :
		    "is another one than it was");
	said = why;
	if (why == NULL && go_home(path, &there) == 0) {
		scan.v[0].known = 0;
		moved = 1;
	}
}

int
spool_moved(void)
{
	int was = moved;

	moved = 0;
	return was;
}

void
spool_look(void)
{
	int i, n;

	if (scan.n == 0)
		add_dir("");
	if (scan.n == 0 || now.mono < scan.due)
		return;
	scan.due = now.mono + LOOK_EVERY;
	stay_home();
	look(&scan.v[0]);
	n = (scan.n - 1 + HASH_EVERY - 1) / HASH_EVERY;
	for (i = 0; i < n; i++) {
		scan.next = scan.next % (scan.n - 1) + 1;
		look(&scan.v[scan.next]);
	}
}

static void
seen(struct dir *d)
{
	if (!d->seen)
		scan.unseen--;
	d->seen = 1;
}

static void
close_dir(void)
{
	struct dir *d = &scan.v[scan.at];

	closedir(scan.open);
	scan.open = NULL;
	d->rest = now.mono + (double)scan.entries / READ_RATE;
	seen(d);
}

/* It, or the rest of it, cannot be had now. */
static void
unreadable(struct dir *d)
{
	log_err("scan dir=transport/%s %s", d->path, strerror(errno));
	if (scan.open != NULL)
		close_dir();
	seen(d);
	d->dirty = 1;
	d->rest = now.mono + DIR_AGAIN;
}

/* Opens the next directory that is to be read: 1, or 0 when there is none. */
static int
open_dir(void)
{
	struct dir *d;

	for (d = scan.v; d < scan.v + scan.n; d++) {
		if (now.mono < d->rest ||
		    (!d->dirty && (d->again == 0 || d->again > now.mono)))
			continue;
		look(d);	/* before it is read: later changes count */
		d->settled = now.mono - d->changed > SETTLED;
		scan.open = opendir(d->path[0] == '\0' ? "." : d->path);
		if (scan.open == NULL) {
			unreadable(d);
			continue;
		}
		d->dirty = 0;
		d->began = d->stamp;
		d->all = d->again != 0 && d->again <= now.mono;
		if (d->all)
			d->again = 0;
		scan.at = (int)(d - scan.v);
		scan.entries = 0;
		return 1;
	}
	return 0;
}

static void
maybe_dir(const char *path, const char *entry)
{
	char sub[8];
	struct stat st;

	if (!isupper((unsigned char)entry[0]) || entry[1] != '\0' ||
	    strlen(path) >= 4)
		return;
	text_fmt(sub, sizeof(sub), "%s%s/", path, entry);
	sub[strlen(sub) - 1] = '\0';
	if (lstat(sub, &st) == 0 && S_ISDIR(st.st_mode)) {
		strcat(sub, "/");
		add_dir(sub);
	}
}

int
spool_next(char *name)
{
	struct dirent *e;
	struct dir *d;

	spool_look();
	while (scan.open != NULL || open_dir()) {
		d = &scan.v[scan.at];
		while (errno = 0, (e = readdir(scan.open)) != NULL) {
			scan.entries++;
			if (name_usable(e->d_name)) {
				text_fmt(name, NAME_MAX_, "%s%s", d->path,
				    e->d_name);
				return 1;
			}
			maybe_dir(d->path, e->d_name);
			d = &scan.v[scan.at];
		}
		if (errno != 0) {
			unreadable(d);
			continue;
		}
		d->whole = d->began + d->settled;	/* what is older */
		close_dir();
	}
	return 0;
}

int
spool_seen_all(void)
{
	return scan.n > 0 && scan.unseen == 0 && scan.open == NULL;
}

double
spool_wait(void)
{
	double wait = scan.due - now.mono;

	return scan.open != NULL || wait < 0 ? 0 : wait;
}

/* ---- what was forgotten ---------------------------------------------- */

/* lstat has failed: 1 when there is no such file, -1 when that cannot be
 * known now. */
static int
not_there(const char *path)
{
	if (errno == ENOENT || errno == ENOTDIR)
		return 1;
	log_err("look file=%s %s", path, strerror(errno));
	return -1;
}

int
spool_is_file(const char *name)
{
	struct stat st;

	if (lstat(name, &st) == 0)
		return S_ISREG(st.st_mode);
	if (not_there(name) < 0)	/* the scan is to find it once more */
		spool_again(name, now.mono + DIR_AGAIN);
	return 0;
}

/* The directory that the file is in; NULL when it is not known yet.  The last
 * one found comes first, as a scan meets the files of one together: without
 * that, each costs 19000 instructions where there are 702. */
static struct dir *
dir_of(const char *name)
{
	static int last;
	const char *base = strrchr(name, '/');
	size_t n = base == NULL ? 0 : (size_t)(base + 1 - name);
	int i;

	for (i = 0; i < scan.n; i++, last = (last + 1) % scan.n)
		if (strlen(scan.v[last].path) == n &&
		    strncmp(scan.v[last].path, name, n) == 0)
			return &scan.v[last];
	return NULL;
}

void
spool_again(const char *name, double when)
{
	struct dir *d = dir_of(name);

	if (d != NULL && (d->again == 0 || d->again > when))
		d->again = when > 0 ? when : 1e-9;	/* 0 is none */
}

int
spool_was_offered(const char *name, long changed)
{
	const struct dir *d = dir_of(name);

	return d != NULL && changed < d->whole;
}

int
spool_is_early(const char *name)
{
	const struct dir *d = dir_of(name);
	char path[PATH_MAX_];
	struct stat st;

	if (d == NULL || d->again == 0 || d->all)
		return 0;
	text_fmt(path, sizeof(path), "../queue/%s", name);
	return lstat(path, &st) == 0 && (long)st.st_ctime < d->whole;
}

/* ---- placing --------------------------------------------------------- */

/* The directory for a name at a number of hash levels, "" or "A/" or "A/B/". */
static void
hash_dir(const char *base, int levels, char dir[5])
{
	unsigned long n = num_of(base, NULL);
	char *p = dir;

	if (levels > 1) {
		*p++ = (char)('A' + n % 676 / 26);
		*p++ = '/';
	}
	if (levels > 0) {
		*p++ = (char)('A' + n % 26);
		*p++ = '/';
	}
	*p = '\0';
}

int
spool_where(const char *base, char *name)
{
	struct stat st;
	char dir[5];
	int level;

	if (!name_usable(base))
		return -1;
	for (level = 0; level <= 2; level++) {
		hash_dir(base, level, dir);
		text_fmt(name, NAME_MAX_, "%s%s", dir, base);
		if (lstat(name, &st) == 0 && S_ISREG(st.st_mode))
			return 0;
	}
	return -1;
}

/* The first entry of a directory with this number: 1 or 0. */
static int
named(const char *dir, unsigned long num, char *name)
{
	DIR *d = opendir(*dir == '\0' ? "." : dir);
	struct dirent *e;
	struct stat st;
	int found = 0;

	while (d != NULL && !found && (e = readdir(d)) != NULL)
		found = num_of(e->d_name, NULL) == num &&
		    name_usable(e->d_name) &&
		    text_fmt(name, NAME_MAX_, "%s%s", dir, e->d_name) >= 0 &&
		    lstat(name, &st) == 0 && S_ISREG(st.st_mode);
	if (d != NULL)
		closedir(d);
	return found;
}

int
spool_by_number(unsigned long num, char *name)
{
	char base[40], dir[5];
	int level;

	text_fmt(base, sizeof(base), "%lu", num);
	for (level = 0; level <= 2; level++) {
		hash_dir(base, level, dir);
		if (named(dir, num, name))
			return 0;
	}
	return -1;
}

/* rename that never replaces anything and makes hash directories: 0 or -1,
 * with ENOENT when there is nothing to move. */
static int
move(const char *from, const char *to)
{
	char dir[PATH_MAX_], *p;
	struct stat st;

	if (lstat(from, &st) < 0)
		return -1;
	if (lstat(to, &st) == 0) {
		errno = EEXIST;
		return -1;
	}
	if (rename(from, to) == 0)
		return 0;
	if (errno != ENOENT || lstat(from, &st) < 0)
		return -1;
	if (text_fmt(dir, sizeof(dir), "%s", to) < 0)
		return -1;
	for (p = dir + (strncmp(dir, "../queue/", 9) == 0 ? 9 : 0);
	    (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		if (mkdir(dir, 0755) < 0 && errno != EEXIST)
			return -1;
		*p = '/';
	}
	return rename(from, to);
}

/* Looks for the message file at the other places where a crash or another
 * -H may have left it and brings it home: 0, 1 when it is nowhere, -1. */
static int
find_message(const char *name, struct stat *st)
{
	char from[PATH_MAX_], to[PATH_MAX_], dir[5];
	int level;

	text_fmt(to, sizeof(to), "../queue/%s", name);
	for (level = 0; level <= 2; level++) {
		hash_dir(name_base(name), level, dir);
		text_fmt(from, sizeof(from), "../queue/%s%s", dir,
		    name_base(name));
		if (strcmp(from, to) == 0)
			continue;
		if (lstat(from, st) < 0) {
			if (not_there(from) < 0)
				return -1;
			continue;
		}
		if (!S_ISREG(st->st_mode))
			continue;
		if (move(from, to) == 0)
			return 0;
		log_err("place msg=%s %s: %s", name, from, strerror(errno));
		return -1;
	}
	if (lstat("../queue", st) < 0) {	/* all are away, not this */
		log_err("look file=../queue %s", strerror(errno));
		return -1;
	}
	return 1;
}

int
spool_place(char *name, struct stat *st)
{
	char to[NAME_MAX_], dir[5], mfrom[PATH_MAX_], mto[PATH_MAX_];
	int bad;

	if (strchr(name, '/') == NULL && opt.levels > 0) {
		hash_dir(name, opt.levels, dir);
		text_fmt(to, sizeof(to), "%s%s", dir, name);
		text_fmt(mfrom, sizeof(mfrom), "../queue/%s", name);
		text_fmt(mto, sizeof(mto), "../queue/%s", to);
		if ((move(mfrom, mto) < 0 && errno != ENOENT) ||
		    move(name, to) < 0) {
			log_err("place msg=%s to=%s %s", name, to,
			    strerror(errno));
			return -1;
		}
		strcpy(name, to);
	}
	text_fmt(mto, sizeof(mto), "../queue/%s", name);
	if (lstat(mto, st) == 0)
		return S_ISREG(st->st_mode) ? 0 : 1;
	bad = not_there(mto);
	return bad > 0 ? find_message(name, st) : bad;
}

/* ---- taking away ----------------------------------------------------- */

int
spool_remove(const char *name)
{
	char path[PATH_MAX_];

	ctl_forget();
	text_fmt(path, sizeof(path), "../queue/%s", name);
	if (unlink(path) < 0 && errno != ENOENT) {
		log_err("remove file=queue/%s %s", name, strerror(errno));
		return -1;	/* the control file brings us back to it */
	}
	if (unlink(name) < 0 && errno != ENOENT) {
		log_err("remove file=transport/%s %s", name, strerror(errno));
		return -1;
	}
	return 0;
}

int
spool_gone(const char *name)
{
	struct stat st;

	return lstat(name, &st) < 0 && errno == ENOENT;
}

/* Both files go to postman/, the mark behind their name: 0 or -1. */
static int
park(const char *name, const char *mark, const char *why)
{
	char from[PATH_MAX_], to[PATH_MAX_], ctl[PATH_MAX_], suffix[12];
	struct stat st;
	int i, half;

	ctl_forget();
	suffix[0] = '\0';
	text_fmt(from, sizeof(from), "../queue/%s", name);
	/* no message: it may be there already, and waits for this half */
	half = spool_gone(from);
	for (i = 1; ; i++) {
		text_fmt(to, sizeof(to), "../postman/%s%s%s", name_base(name),
		    mark, suffix);
		text_fmt(ctl, sizeof(ctl), "%s.control", to);
		if ((half || lstat(to, &st) < 0) && lstat(ctl, &st) < 0)
			break;
		text_fmt(suffix, sizeof(suffix), ".%d", i);
	}
	if (!half && rename(from, to) < 0) {
		log_err("park file=queue/%s %s", name, strerror(errno));
		return -1;
	}
	if (rename(name, ctl) < 0 && !spool_gone(name)) {
		log_err("park file=transport/%s %s", name, strerror(errno));
		return -1;
	}
	log_warn("park msg=%s to=%s why: %s", name, to + 3, why);
	return 0;
}

int
spool_park(const char *name, const char *why)
{
	return park(name, "", why);
}

/* Two runs with one number, where no clock is, are no harm: a bounce is then
 * kept for longer, never for less. */
static unsigned long
run_number(void)
{
	static unsigned long n;

	if (n == 0)
		n = now.wall > 0 ? (unsigned long)now.wall : 1;
	return n;
}

int
spool_park_bounce(const char *name, const char *why)
{
	char mark[60];

	text_fmt(mark, sizeof(mark), BOUNCE_MARK "%lu-%lu", run_number(),
	    (unsigned long)now.mono / 3600);
	/* a name that is long already would not be one with it */
	return park(name, strlen(name_base(name)) < 100 ? mark : "", why);
}

double
spool_bounce_age(const char *entry)
{
	const char *p = strstr(entry, BOUNCE_MARK), *end;
	unsigned long run, hour;
	double age = now.mono;

	if (p == NULL)
		return -1;
	run = num_of(p + sizeof(BOUNCE_MARK) - 1, &end);
	if (*end != '-')
		return -1;
	hour = num_of(end + 1, &end);
	if (end[-1] == '-' || (*end != '\0' && *end != '.'))
		return -1;
	if (run == run_number())	/* it came before that hour was over */
		age -= ((double)hour + 1) * 3600;
	return age < 0 ? 0 : age;
}

/* Is it there, or may it be? */
static int
maybe_there(const char *dir, const char *dot, const char *base)
{
	char path[PATH_MAX_];
	struct stat st;

	text_fmt(path, sizeof(path), "%s%s%s", dir, dot, base);
	return lstat(path, &st) == 0 || (errno != ENOENT && errno != ENOTDIR);
}

int
spool_orphan(const char *name)
{
	const char *base = name_base(name);
	char dir[PATH_MAX_];
	struct stat here, st;
	int level;

	if (lstat(name, &st) == 0)
		return 0;	/* nearly always */
	text_fmt(dir, sizeof(dir), "%.*s", (int)(base - name), name);
	for (level = -1; level <= 2; level++) {
		if (level >= 0)
			hash_dir(base, level, dir);
		if (maybe_there(dir, "", base) || maybe_there(dir, ".", base))
			return 0;
	}
	/* with another transport/ in the place of ours all look like it */
	return lstat("../transport", &st) == 0 && stat(".", &here) == 0 &&
	    st.st_ino == here.st_ino && st.st_dev == here.st_dev;
}

/* ---- what else there is to know of a message ------------------------- */

int
spool_same_sender(const char *name, const char *other)
{
	char a[LINE_MAX_], b[LINE_MAX_], path[PATH_MAX_];
	struct stat sa, sb;
	int letter = 'e';

	if (ctl_field(name, 'e', a, sizeof(a)) < 0)
		letter = 's';
	if (ctl_field(name, letter, a, sizeof(a)) < 0 ||
	    ctl_field(other, letter, b, sizeof(b)) < 0 || strcmp(a, b) != 0)
		return 0;
	text_fmt(path, sizeof(path), "../queue/%s", name);
	if (lstat(path, &sa) < 0)
		return 0;
	text_fmt(path, sizeof(path), "../queue/%s", other);
	return lstat(path, &sb) == 0 && sa.st_uid == sb.st_uid;
}

void
spool_verbose(const char *name, const char *line)
{
	char path[PATH_MAX_];
	struct stat st, ctl;
	int fd;

	if (ctl_field(name, 'v', path, sizeof(path)) < 0 ||
	    strncmp(path, "../public/", 10) != 0 ||
	    strchr(path + 10, '/') != NULL || path[10] == '.' ||
	    lstat(name, &ctl) < 0)
		return;
	fd = fd_plain(path, O_WRONLY | O_APPEND, &st);
	if (fd < 0)
		return;
	if (st.st_nlink == 1 && st.st_uid == ctl.st_uid &&
	    fd_write(fd, line, strlen(line)) == 0)
		fd_write(fd, "\n", 1);
	close(fd);
}
