/*
 * tidy.c - removes or sets aside files of the post office that nobody uses.
 *
 *	public/ private/	a file TAG:PID.RANDOM of a program that died
 *				while it wrote mail is removed
 *	postman/		a double bounce is removed after
 *				PARAMpostmanage; when all of them have more
 *				than PARAMpostbytes, the oldest are removed
 *	queue/			a message without a control file, an orphan, is
 *				set aside, and never removed
 *	transport/		a control file .NAME that another program, or
 *				submit 0.1, left unfinished is set aside with
 *				its message, unless it is locked
 *	router/			mail that nobody takes is counted for a warning
 *
 * Rounds.  Two rounds are at least 20 minutes apart, by now.up, which does not
 * change when the clock is set.  A round may be the only one of its process, so
 * the file .tidy in the post office has what the next one needs:
 *
 *	90061 86500		tidy time and now.up at the last round
 *	5 1934512 87655		area and hash of a file, and the tidy time at
 *				which a round first met the file
 *
 * Tidy time is one hour plus the seconds known to have passed since the first
 * round.
 *
 * now.up counts from the boot.  If it is less than at the last round, the
 * machine was booted between them, and at least now.up seconds have passed.  So
 * the time between two rounds is known or is underestimated.  The time counts
 * as one day at most: if the disk was moved, now.up is another machine's.
 *
 * An abandoned file is removed, and an orphan set aside, when rounds have met
 * it unchanged for an hour; an unfinished control file is set aside after a
 * day.  Each area has a small table of such files; if it is full, further files
 * wait until there is room.  So a user who fills public/ takes no place from
 * orphans.  A file is known by a hash of its path and its lstat; for a file
 * that was changed or replaced, the hour or the day begins again.
 *
 * A double bounce in postman/ has a mark behind its name: .bounce-0-0 when it
 * is new, then .bounce-0-HOUR with the hour of tidy time in which a round has
 * first met it.  A mark of another form comes from a scheduler of
 * version 0.2 or older, and is replaced.
 *
 * Other names, entries that are no regular files, and files of a running
 * process are left alone.  Two rounds at a time do no harm.
 *
 * Costs: an lstat for each file, and up to seven for a message in queue/.
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <dirent.h>
#include <signal.h>

#define PATH_SIZE	800
#define SEEN_MOST	100	/* files in the table of an area */
#define HOUR		3600UL	/* seconds */
#define DAY		86400UL
#define BLOCK		4096	/* bytes; a file takes a multiple of them */
#define CONTROL		".control"	/* behind the name in postman/ */

/* The first four are a directory each.  The file .tidy has these numbers. */
enum { TRANSPORT, PUBLIC, PRIVATE, POSTMAN, ROUTER, QUEUE, AREAS };

static const char *const areas[ROUTER] = {
	"transport", "public", "private", "postman"
};

static struct seen {
	unsigned long hash;
	unsigned long since;	/* tidy.clock when the file was met; 0: free */
	int	met;		/* this round has met the file */
} table[AREAS][SEEN_MOST];

static struct {
	const char *po;
	unsigned long clock;	/* tidy time */
	unsigned long up;	/* now.up at the last round */
	int	area;
	char	dir[PATH_SIZE];	/* directory that is read, below po */
	long	postmanage;	/* seconds to keep bounces; 0: for ever */
	double	bounces;	/* bytes of double bounces on the disk */
	unsigned long removed;	/* double bounces removed */
	unsigned long waiting;	/* files that lie in directories of the router
				 * for an hour or longer */
} tidy;

void
aside_make_path(char *to, const char *po, const char *base, const char *end)
{
	struct stat st;
	int i;

	text_fmt(to, ASIDE_SIZE, "%s/postman/%s%s", po, base, end);
	/* each error of lstat ends the loop, as a missing file does */
	for (i = 1; lstat(to, &st) == 0 || lstat(path_in(po, "postman/%s"
	    CONTROL, name_base(to)), &st) == 0; i++)
		text_fmt(to, ASIDE_SIZE, "%s/postman/%s%s.%d", po, base, end,
		    i);
}

/* ---- what the last round has left ------------------------------------ */

/* Reads the file of the last round, which may be missing or damaged, and begins
 * a round: 0, or -1 if no round is due yet. */
static int
begin_round_if_due(const char *path)
{
	unsigned long area, hash, since, passed, up = (unsigned long)now.up;
	struct stat st;
	unsigned n[AREAS];
	int anew, fd = fd_open_plain(path, O_RDONLY, &st);
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");

	memset(n, 0, sizeof(n));
	anew = f == NULL || fscanf(f, "%lu %lu", &tidy.clock, &tidy.up) != 2;
	if (anew) {
		tidy.clock = HOUR;	/* hour 0 is for marks of new bounces */
		tidy.up = up;
	}
	while (f != NULL &&
	    fscanf(f, "%lu %lu %lu", &area, &hash, &since) == 3)
		if (area < AREAS && n[area] < SEEN_MOST) {
			table[area][n[area]].hash = hash;
			table[area][n[area]++].since = since;
		}
	if (f != NULL)
		fclose(f);
	else if (fd >= 0)
		close(fd);
	passed = up < tidy.up ? up : up - tidy.up;
	if (!anew && passed < TIDY_EVERY)
		return -1;
	tidy.clock += passed < DAY ? passed : DAY;
	tidy.up = up;
	return 0;
}

static void
print_round(FILE *f)
{
	const struct seen *v;
	int i;

	fprintf(f, "%lu %lu\n", tidy.clock, tidy.up);
	for (i = 0; i < AREAS; i++)
		for (v = table[i]; v < table[i] + SEEN_MOST; v++)
			if (v->met)
				fprintf(f, "%d %lu %lu\n", i, v->hash,
				    v->since);
}

/* Notes that this round has met the file.  Returns 1 if the file has been
 * there, unchanged, for so many seconds. */
static int
is_seen_for(const char *path, const struct stat *st, unsigned long seconds)
{
	struct seen *v = table[tidy.area], *end = v + SEEN_MOST, *place = NULL;
	unsigned long hash;
	char what[120];

	text_fmt(what, sizeof(what), "%lu %lu %ld %ld",
	    (unsigned long)st->st_ino, (unsigned long)st->st_size,
	    (long)st->st_mtime, (long)st->st_ctime);
	hash = hash_text(path, hash_text(what, 0));
	for (; v < end && (v->since == 0 || v->hash != hash); v++)
		if (v->since == 0)
			place = v;
	if (v == end)
		v = place;
	if (v == NULL)
		return 0;
	v->hash = hash;
	if (v->since == 0)
		v->since = tidy.clock;
	v->met = 1;
	return tidy.clock - v->since >= seconds;
}

/* ---- files ----------------------------------------------------------- */

/* Returns the process that writes the file, by the name of the file; 0: the
 * name has another form. */
static long
get_writer(const char *s)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t n = strspn(s, word);
	unsigned long pid;

	if (n == 0 || s[n] != ':' ||
	    num_upto(s + n + 1, 999999999UL, &pid, &s) < 0 || *s++ != '.')
		return 0;
	n = strspn(s, word);
	return n > 0 && s[n] == '\0' ? (long)pid : 0;
}

/* Returns the bytes that the file takes on the disk. */
static double
get_disk_bytes(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 ? 0 :
	    (double)((st.st_size + BLOCK - 1) / BLOCK * BLOCK);
}

static int
has_double_bounce_name(const char *entry)
{
	return strstr(entry, BOUNCE_MARK) != NULL &&
	    strstr(entry, CONTROL) == NULL;
}

/* Removes the oldest double bounces until the others take at most so many
 * bytes. */
static void
remove_oldest_bounces(unsigned long most)
{
	const char *path, *ctl;
	double sum = 0;
	struct scan s;
	unsigned n, i;

	if (scan_read(&s, tidy.po, "postman", has_double_bounce_name) < 0) {
		say_cannot("read", path_in(tidy.po, "postman"));
		return;
	}
	for (i = s.n, n = 0; i-- > 0; ) {
		path = path_in(tidy.po, "postman/%s", s.v[i].name);
		ctl = path_in(tidy.po, "postman/%s" CONTROL, s.v[i].name);
		sum += get_disk_bytes(path) + get_disk_bytes(ctl);
		if (sum > (double)most && unlink(path) == 0) {
			unlink(ctl);
			n++;
		}
	}
	scan_free(&s);
	if (n > 0)
		say("double bounces in postman/ took more than %lu bytes "
		    "(PARAMpostbytes); the oldest are removed: %u", most, n);
}

/* Removes a double bounce that has been in postman/ for long enough, and marks
 * a new one: 0 if it is removed, else -1.  A number or .control may follow the
 * mark. */
static int
expire_or_mark_bounce(const char *path)
{
	const char *mark = strstr(name_base(path), BOUNCE_MARK), *p;
	unsigned long old_run;	/* not 0 in marks of older versions */
	unsigned long hour, now_hour, seconds;
	char to[ASIDE_SIZE];

	if (mark == NULL ||
	    num_upto(mark + sizeof(BOUNCE_MARK) - 1, ULONG_MAX, &old_run,
	    &p) < 0 ||
	    *p != '-' || num_upto(p + 1, ULONG_MAX, &hour, &p) < 0 ||
	    (*p != '\0' && *p != '.'))
		return -1;
	now_hour = tidy.clock / HOUR;
	if (old_run == 0 && hour > 0 && hour <= now_hour) {
		if (tidy.postmanage <= 0 || hour == now_hour)
			return -1;
		/* the bounce came before the end of that hour */
		seconds = tidy.clock - (hour + 1) * HOUR;
		return seconds >= (unsigned long)tidy.postmanage ?
		    unlink(path) : -1;
	}
	if (text_fmt(to, sizeof(to), "%.*s" BOUNCE_MARK "0-%lu%s",
	    (int)(mark - path), path, now_hour, p) == 0 &&
	    !path_may_exist(to) && rename(path, to) < 0)
		say_cannot("rename", path);
	return -1;
}

static void
set_orphan_aside(const char *path, const char *entry)
{
	char to[ASIDE_SIZE];

	aside_make_path(to, tidy.po, entry, "");
	if (rename(path, to) < 0)
		say_cannot("rename to", to);
	else
		say("it had no control file for an hour; it is now %s", to);
}

/* Moves an unfinished control file, and then its message.  If a crash leaves
 * the message, it is an orphan. */
static void
set_aside_both(const char *path, const char *name)
{
	const char *ctl, *msg;
	char to[ASIDE_SIZE];

	aside_make_path(to, tidy.po, name, "");
	msg = path_in(tidy.po, "queue/%s", name);
	ctl = path_in(tidy.po, "postman/%s" CONTROL, name_base(to));
	if (rename(path, ctl) < 0)
		return;
	if (office_is_orphan_msg(tidy.po, name) && rename(msg, to) < 0 &&
	    errno != ENOENT)
		say_cannot("rename to", to);
	say("it was unfinished for a day; it is now %s", ctl);
}

/* Returns 1 if a file with this name, in a directory of the area, may have to
 * be removed, set aside, marked or counted. */
static int
is_candidate(const char *entry)
{
	long pid;

	switch (tidy.area) {
	case TRANSPORT:
		return entry[0] == '.' && name_parse(entry + 1) != NULL;
	case POSTMAN:
		return entry[0] != '.';
	case ROUTER:
		return deferred_is_name(entry);
	case QUEUE:
		/* the path behind "queue/" is the name, X/Y/NAME */
		return name_parse(entry) != NULL &&
		    office_is_orphan_msg(tidy.po, path_in(tidy.dir, "%s",
		    entry) + sizeof("queue"));
	}
	pid = get_writer(entry);
	return pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH;
}

static void
tidy_file(const char *entry)
{
	char path[PATH_SIZE];
	struct stat st;

	if (!is_candidate(entry) || text_fmt(path, sizeof(path), "%s/%s/%s",
	    tidy.po, tidy.dir, entry) < 0 || lstat(path, &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	say_set_topic(path + strlen(tidy.po) + 1);
	if (tidy.area == POSTMAN) {
		if (strstr(entry, BOUNCE_MARK) != NULL)
			tidy.bounces += get_disk_bytes(path);
		if (expire_or_mark_bounce(path) == 0)
			/* a control file is not counted */
			tidy.removed += strstr(entry, CONTROL) == NULL;
		return;
	}
	if (!is_seen_for(path, &st, tidy.area == TRANSPORT ? DAY : HOUR))
		return;
	if (tidy.area == ROUTER)
		tidy.waiting++;
	else if (tidy.area == QUEUE)
		set_orphan_aside(path, entry);
	else if (tidy.area != TRANSPORT && unlink(path) == 0)
		say("removed; its writer, process %ld, is gone",
		    get_writer(entry));
	else if (tidy.area == TRANSPORT && entry_is_abandoned(path, 1))
		set_aside_both(path, entry + 1);
}

/* Tidies the directory, if it is there; hash_dir is a hash directory in dir, or
 * "". */
static void
tidy_dir(int area, const char *dir, const char *hash_dir)
{
	const char *path;
	struct dirent *e;
	struct stat st;
	DIR *d;

	tidy.area = area;
	text_fmt(tidy.dir, sizeof(tidy.dir), "%s/%s", dir, hash_dir);
	/* with a / at the end, lstat would follow a link */
	tidy.dir[strlen(tidy.dir) - 1] = '\0';
	path = path_in(tidy.po, "%s", tidy.dir);
	if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	say_set_topic(NULL);
	d = opendir(path);
	if (d == NULL)
		say_cannot("read", path);
	while (d != NULL && (e = readdir(d)) != NULL)
		tidy_file(e->d_name);
	if (d != NULL)
		closedir(d);
}

void
tidy_run(const char *po, long postmanage, unsigned long postbytes)
{
	struct office_routers routers;
	char path[PATH_SIZE];
	int i;

	clock_read();
	tidy.po = po;
	tidy.postmanage = postmanage;
	text_fmt(path, sizeof(path), "%s/.tidy", po);
	if (begin_round_if_due(path) < 0)
		return;
	for (i = 0; i < ROUTER; i++)
		tidy_dir(i, areas[i], "");
	office_read_routers(&routers);
	for (i = 0; i < routers.n; i++)
		tidy_dir(ROUTER, routers.v[i], "");
	for (i = 0; i < OFFICE_DIRS; i++)
		tidy_dir(QUEUE, "queue", office_hash_dir(i));
	say_set_topic(NULL);
	if (tidy.removed > 0)
		say("double bounces older than %ld seconds (PARAMpostmanage) "
		    "removed from postman/: %lu", postmanage, tidy.removed);
	if (postbytes > 0 && tidy.bounces > (double)postbytes)
		remove_oldest_bounces(postbytes);
	if (tidy.waiting > 0)
		say("files that nobody has taken for an hour from router/ and "
		    "the other directories of the router: at least %lu; does "
		    "the router run?", tidy.waiting);
	if (fd_replace(path, print_round) < 0)
		say_cannot("write", path);
}
