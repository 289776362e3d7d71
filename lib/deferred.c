/*
 * deferred.c - mail beside the queue: what submit -q could not route, and
 * message files without a control file.
 *
 *	deferred/1057616	the message, as it was in router/
 *	deferred/1057616.why	3 1795392000 cannot be read: Permission denied
 *
 * A message that submit -q cannot route now is moved to deferred/, and is tried
 * again after 1, 2, 4, 8, 16, 32 and then every 60 minutes.  The second file
 * has the number of tries, a number that changes with the table of routes, and
 * the reason of the last try.  Its modification time is the time of that try.
 *
 * Without the second file the message is tried at once.  So mailq releases a
 * message by removing that file.  The message is also tried at once if the time
 * of its last try is later than now, as when the clock was set back.
 */
#include "deferred.h"
#include "office.h"
#include "path.h"

#define WHY		".why"
#define PAUSE_LEAST	60	/* seconds after the first try */
#define PAUSE_MOST	3600	/* seconds; the pause doubles up to here */

int
deferred_is_name(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n > 0 && n <= 40 && s[n] == '\0';
}

const char *
deferred_num_of_why(const char *entry, char *num, unsigned long size)
{
	size_t n = strlen(entry), k = sizeof(WHY) - 1;

	return n > k && strcmp(entry + n - k, WHY) == 0 &&
	    text_fmt(num, size, "%.*s", (int)(n - k), entry) == 0 &&
	    deferred_is_name(num) ? num : NULL;
}

/* Returns the path of NUM.why.  A num that is no number is left out, so that it
 * cannot lead to another file. */
static const char *
why_path_of(const char *office, const char *num)
{
	return path_in(office, DEFERRED "/%s" WHY, deferred_is_name(num) ?
	    num : "");
}

int
deferred_read_why(const char *office, const char *num, struct deferred *d)
{
	char line[DEFERRED_WHY + 48];
	const char *p;
	struct stat st;
	unsigned long try;
	long n, last, wall, pause = PAUSE_LEAST;
	int fd = fd_open_plain(why_path_of(office, num), O_RDONLY, &st);

	if (fd < 0)
		return -1;
	n = (long)read(fd, line, sizeof(line) - 1);
	close(fd);
	if (n <= 0)
		return -1;
	line[n] = '\0';
	line[strcspn(line, "\n")] = '\0';
	d->tries = num_of(line, &p);
	if (d->tries == 0 || *p != ' ')
		return -1;
	d->mark = num_of(p + 1, &p);
	if (*p != ' ')
		return -1;
	text_fmt(d->reason, sizeof(d->reason), "%s", p + 1);
	for (try = 1; try < d->tries && pause < PAUSE_MOST; try++)
		pause *= 2;
	if (pause > PAUSE_MOST)
		pause = PAUSE_MOST;
	last = (long)st.st_mtime;
	wall = (long)time(NULL);
	d->wait = last <= wall && last > wall - pause ? last + pause - wall : 0;
	return 0;
}

int
deferred_write_why(const char *office, const char *num,
    const struct deferred *d)
{
	const char *path = why_path_of(office, num);
	char line[DEFERRED_WHY + 48];
	struct text t;
	int fd, bad;

	if (unlink(path) < 0 && errno != ENOENT)
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
	if (fd < 0)
		return -1;
	text_init(&t, line, sizeof(line) - 1);
	t.clean = 1;
	text_add(&t, "%lu %lu %s", d->tries, d->mark, d->reason);
	line[t.len++] = '\n';
	bad = fd_write(fd, line, t.len) < 0;
	if (close(fd) == 0 && !bad)
		return 0;
	unlink(path);
	return -1;
}

int
deferred_remove_why(const char *office, const char *num)
{
	return unlink(why_path_of(office, num));
}

/* Returns 1 unless it is known that transport/ has no such file; its name there
 * is dir, mark and name, joined. */
static int
may_have_control(const char *office, const char *dir, const char *mark,
    const char *name)
{
	char path[PATH_MAX_];	/* path_in would use up its ring */

	return text_fmt(path, sizeof(path), "%s/transport/%s%s%s", office, dir,
	    mark, name) < 0 || path_may_exist(path);
}

/* Without transport/, no message is an orphan. */
int
office_is_orphan_msg(const char *office, const char *name)
{
	static const char *const marks[] = { "", ".", SUBMIT_MARK, NULL };
	const char *const *mark, *base = name_base(name), *dir;
	struct stat st;
	int level;

	if (may_have_control(office, "", "", name))
		return 0;
	for (level = 0; level < OFFICE_LEVELS; level++) {
		dir = office_hash_dir(office_hash_index(base, level));
		for (mark = marks; *mark != NULL; mark++)
			if (may_have_control(office, dir, *mark, base))
				return 0;
	}
	return lstat(path_in(office, "transport"), &st) == 0;
}
