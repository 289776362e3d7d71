/*
 * tidy.c - what nobody comes back for, in the directories of the post office.
 *
 *	public/ private/	a file TAG:PID.RANDOM, of a program that died
 *				while it wrote mail, is removed
 *	postman/		a double bounce goes after PARAMpostmanage
 *	queue/			a message without a control file, an orphan, is
 *				set aside, and never removed
 *
 * Every 20 minutes a round begins that goes over all, 10 entries at a time and
 * then a rest: 100 000 messages take eight minutes, and little of that is work.
 * A message costs one lstat, mostly.
 *
 * Files of the first kind and the last must have been seen as they are for an
 * hour of this run (mono), so no clock that is set removes anything.  What was
 * seen is in a small table for each directory; of more than fit the rest waits
 * until those are gone, and nobody who fills public/ takes an orphan's place.
 * An entry is known by hashes of its name and of what lstat shows; one that was
 * written to, or another of that name, begins anew.
 *
 * No name of another form is touched, nothing but regular files, and no file of
 * a process that lives, whosever it is.
 */
#include "scheduler.h"
#include <dirent.h>
#include <signal.h>
#ifdef NO_SYMLINK
#define lstat stat
#endif

#define FIRST		60	/* seconds until the first round */
#define EVERY		1200.0	/* seconds between rounds */
#define REST		0.05	/* seconds after a few entries */
#define FEW		10
#define LONG_AGO	3600	/* seconds */
#define SEEN_MOST	100	/* in each directory */

/* Directories of a round: the first three, then queue/ without a letter, with
 * one, and with two. */
enum { PUBLIC, PRIVATE, POSTMAN, QUEUE, AREAS };
#define DIRS		(QUEUE + 1 + 26 + 26 * 26)

static struct {
	double	due;		/* mono */
	unsigned round;
	int	at;		/* the directory that is next */
	int	area;		/* of the open one */
	DIR	*open;
	char	path[16];	/* ... and its path from transport/ */
	unsigned long removed;	/* double bounces, in this round */
} tidy = { FIRST, 0, 0, 0, NULL, "", 0 };

static struct {
	unsigned n;
	struct seen {
		unsigned long name, state;	/* hashes */
		double	first;		/* mono */
		unsigned round;		/* when it was last met */
	} v[SEEN_MOST];
} table[AREAS];

/* Was it seen an hour ago, as it is? */
static int
long_seen(const char *name, const struct stat *st)
{
	char what[120];
	struct seen *v = table[tidy.area].v, new;

	text_fmt(what, sizeof(what), "%lu %lu %ld %ld %s",
	    (unsigned long)st->st_ino, (unsigned long)st->st_size,
	    (long)st->st_mtime, (long)st->st_ctime, tidy.path);
	new.name = hash_text(name, 0);
	new.state = hash_text(what, 0);
	for (; v < table[tidy.area].v + table[tidy.area].n; v++)
		if (v->name == new.name && v->state == new.state) {
			v->round = tidy.round;
			return now.mono - v->first >= LONG_AGO;
		}
	new.first = now.mono;
	new.round = tidy.round;
	if (table[tidy.area].n < SEEN_MOST)
		table[tidy.area].v[table[tidy.area].n++] = new;
	return 0;
}

/* What this round has not met is gone. */
static void
forget_gone(void)
{
	unsigned i, k, n;

	for (i = 0; i < AREAS; i++) {
		for (k = n = 0; k < table[i].n; k++)
			if (table[i].v[k].round == tidy.round)
				table[i].v[n++] = table[i].v[k];
		table[i].n = n;
	}
}

/* ---- one entry ------------------------------------------------------- */

/* The process that writes the file, by its name; 0: it is none of that kind. */
static long
writer_of(const char *s)
{
	static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789_-";
	size_t n = strspn(s, word);
	const char *end;
	long pid;

	if (n == 0 || s[n] != ':')
		return 0;
	s += n + 1;
	pid = (long)num_of(s, &end);
	if (end == s || end - s > 9 || *end != '.')
		return 0;
	s = end + 1;
	n = strspn(s, word);
	return n > 0 && s[n] == '\0' ? pid : 0;
}

/* Removes it: 1 or 0. */
static int
remove_file(const char *path)
{
	if (unlink(path) == 0)
		return 1;
	if (errno != ENOENT)
		log_warn("tidy file=%s cannot be removed: %s", path + 3,
		    strerror(errno));
	return 0;
}

static void
look_at_unsent(const char *entry, const char *path, const struct stat *st)
{
	long pid = writer_of(entry);

	if (pid > 0 && kill((pid_t)pid, 0) < 0 && errno == ESRCH &&
	    long_seen(entry, st) && remove_file(path))
		log_info("tidy removed=%s its writer, process %ld, is gone",
		    path + 3, pid);
}

/* May a double bounce of that age go? */
static int
is_due(double age)
{
	return q.config->postmanage > 0 &&
	    age >= (double)q.config->postmanage;
}

static void
look_at_bounce(const char *entry, const char *path)
{
	if (is_due(spool_bounce_age(entry)) && remove_file(path) &&
	    strstr(entry, ".control") == NULL)
		tidy.removed++;		/* the message, that is */
}

/* The name below queue/ is the one below transport/, too. */
static int
is_orphan(const char *entry, const char *path)
{
	return name_usable(entry) &&
	    spool_orphan(path + sizeof("../queue/") - 1);
}

static void
look_at(const char *entry)
{
	char path[PATH_MAX_];
	struct stat st;

	if (entry[0] == '.' || text_fmt(path, sizeof(path), "%s/%s",
	    tidy.path, entry) < 0 ||
	    (tidy.area == QUEUE && !is_orphan(entry, path)) ||
	    lstat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	if (tidy.area == POSTMAN)
		look_at_bounce(entry, path);
	else if (tidy.area != QUEUE)
		look_at_unsent(entry, path, &st);
	else if (long_seen(entry, &st))
		spool_park(path + sizeof("../queue/") - 1,
		    "it had no control file for an hour");
}

/* ---- a round --------------------------------------------------------- */

/* Which directory is next: its area and path. */
static void
name_dir(void)
{
	static const char *const places[] = {
	    "public", "private", "postman", "queue" };
	struct text t;
	int i = tidy.at - QUEUE - 1;

	tidy.area = tidy.at < QUEUE ? tidy.at : QUEUE;
	text_init(&t, tidy.path, sizeof(tidy.path));
	text_add(&t, "../%s", places[tidy.area]);
	if (i >= 26)
		text_add(&t, "/%c", 'A' + i / 26 - 1);
	if (i >= 0)
		text_add(&t, "/%c", 'A' + i % 26);
}

/* Opens the next directory, if there is one and anything in it can be due. */
static void
open_next(void)
{
	struct stat st;

	name_dir();
	tidy.at++;
	if ((tidy.area == POSTMAN && !is_due(now.mono)) ||
	    lstat(tidy.path, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	tidy.open = opendir(tidy.path);
	if (tidy.open == NULL)
		log_err("tidy dir=%s %s", tidy.path + 3, strerror(errno));
}

static void
end_round(void)
{
	if (tidy.removed > 0)
		log_info("tidy bounces=%lu removed from postman/, kept for "
		    "%ld seconds", tidy.removed, q.config->postmanage);
	tidy.removed = 0;
	tidy.at = 0;
	forget_gone();
	tidy.round++;
	tidy.due = now.mono + EVERY;
}

double
tidy_wait(void)
{
	return tidy.due > now.mono ? tidy.due - now.mono : 0;
}

void
tidy_run(void)
{
	struct dirent *e;
	int i;

	if (now.mono < tidy.due)
		return;
	tidy.due = now.mono + REST;
	for (i = 0; i < FEW; i++)
		if (tidy.open == NULL && tidy.at == DIRS) {
			end_round();
			return;
		} else if (tidy.open == NULL) {
			open_next();
		} else if ((e = readdir(tidy.open)) != NULL) {
			look_at(e->d_name);
		} else {
			closedir(tidy.open);
			tidy.open = NULL;
		}
}
