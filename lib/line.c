/*
 * line.c - the lines of a control file, its locks and its spool id.
 *
 * The scheduler and its agents read the same files and write tags into them, so
 * what both must agree on is here: what a line is, where its words end, and how
 * a lock looks.
 *
 * A file is read through one buffer of fixed size, and a line is given as it
 * lies there.  A line longer than the buffer is cut and the rest read over,
 * with a note of that; no file can make us take more memory.
 *
 * The tag of a lock is the number of the process that holds it, in six bytes,
 * right aligned.  Where numbers are larger, the bytes are 'a' and five digits
 * of base 36: that is enough for any number of today, and no older program
 * takes it for a living process.  For example process 4194304 locks with
 * "a2hwcg", and 1234 with "  1234".
 *
 * A number can mean another process by now, after a power cut for example.
 * So an agent also has one fcntl lock on the file, at a byte that its number
 * gives, for as long as it has the file open.  It ends with the process.
 * agent.c sets these locks.
 */
#include "line.h"
#include <ctype.h>

/* ---- lines ----------------------------------------------------------- */

void
line_start(struct lines *l, int fd, unsigned long off)
{
	memset(l, 0, offsetof(struct lines, buf));
	l->fd = fd;
	l->pos = off;
	l->line = l->buf;
	l->buf[0] = '\0';
}

/* The newline of the last line is one again. */
static void
mend(struct lines *l)
{
	if (l->end != NULL)
		*l->end = '\n';
	l->end = NULL;
}

void
line_at(struct lines *l, unsigned long off)
{
	if (off > l->pos || off < l->pos - l->have || l->error != 0) {
		line_start(l, l->fd, off);
		return;
	}
	mend(l);
	l->used = l->have - (size_t)(l->pos - off);
}

/* Reads what comes at pos: how many bytes, 0 at the end or on an error. */
static size_t
get(struct lines *l, char *to, size_t size)
{
	long n = -1;

	if (l->size > 0 && l->pos == l->size)
		n = 0;
	else if (l->fresh || lseek(l->fd, (off_t)l->pos, SEEK_SET) >= 0)
		n = (long)read(l->fd, to, size);
	if (n < 0)
		l->error = errno;
	l->fresh = 0;
	n = n > 0 ? n : 0;
	l->pos += (unsigned long)n;
	return (size_t)n;
}

/* Moves the line to the front of the buffer and fills the rest of that: 0 at
 * the end of the file or on an error. */
static int
fill(struct lines *l)
{
	size_t n;

	l->have -= l->used;
	memmove(l->buf, l->buf + l->used, l->have);
	l->used = 0;
	n = get(l, l->buf + l->have, sizeof(l->buf) - l->have);
	l->have += n;
	return n > 0;
}

/* The line fills the buffer: reads over the rest of it. */
static void
read_over(struct lines *l)
{
	char rest[512], *nl = NULL;
	size_t n;

	l->overlong = 1;
	l->have = l->used = 0;
	while (nl == NULL && (n = get(l, rest, sizeof(rest))) > 0) {
		nl = memchr(rest, '\n', n);
		if (nl != NULL)
			l->pos -= n - 1 - (size_t)(nl - rest);
	}
	l->unended = nl == NULL;
}

int
line_next(struct lines *l)
{
	char *line = l->buf + l->used, *nl;
	size_t n = l->have - l->used, seen = 0;

	mend(l);
	l->off = l->pos - n;
	l->overlong = l->unended = 0;
	while ((nl = memchr(line + seen, '\n', n - seen)) == NULL &&
	    n < sizeof(l->buf)) {
		seen = n;
		line = l->buf;
		if (!fill(l))
			break;
		n = l->have;
	}
	if (nl != NULL) {
		l->end = nl;
		n = (size_t)(nl - line);
		l->used += n + 1;
	} else if (n == sizeof(l->buf)) {
		read_over(l);
		n--;
	} else {
		l->unended = 1;
		l->used = l->have;
	}
	line[n] = '\0';
	l->line = line;
	l->len = n;
	return l->error == 0 && (nl != NULL || n > 0);
}

const char *
line_peek(struct lines *l, unsigned long off, size_t n)
{
	line_at(l, off);
	return l->have - l->used >= n || (fill(l) && l->have >= n) ?
	    l->buf + l->used : NULL;
}

const char *
line_word(const char *p)
{
	int quoted = 0, depth = 0;

	for (; *p != '\0'; p++) {
		if (*p > ')' && *p != '\\')
			continue;	/* most bytes */
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && *p == '(')
			depth++;
		else if (!quoted && *p == ')' && depth > 0)
			depth--;
		else if (!quoted && depth == 0 && (*p == ' ' || *p == '\t'))
			break;
	}
	return p;
}

int
line_cut(int fd)
{
	char last;
	off_t end = lseek(fd, 0, SEEK_END);

	return end > 0 && lseek(fd, end - 1, SEEK_SET) >= 0 &&
	    read(fd, &last, 1) == 1 && last != '\n';
}

/* ---- locks ----------------------------------------------------------- */

static int
is_base36(const char *p)
{
	return *p == 'a' && strspn(p + 1,
	    "0123456789abcdefghijklmnopqrstuvwxyz") >= 5 &&
	    (p[6] == ' ' || isdigit((unsigned char)p[6]));
}

int
line_has_pid(int tag, const char *field)
{
	return *field == ' ' || isdigit((unsigned char)*field) ||
	    (tag == '~' && is_base36(field));
}

long
line_pid(const char *p)
{
	char n[6];

	if (is_base36(p)) {
		text_fmt(n, sizeof(n), "%.5s", p + 1);
		return strtol(n, NULL, 36);
	}
	return (long)num_of(p + strspn(p, " "), NULL);
}

int
line_flock(int fd, int how, int type, long at, struct flock *fl)
{
	memset(fl, 0, sizeof(*fl));
	fl->l_type = (short)type;
	fl->l_whence = SEEK_SET;
	fl->l_start = (off_t)CONTROL_MAX + (off_t)at;
	fl->l_len = 1;
	return fcntl(fd, how, fl) < 0 ? -1 : 0;
}

int
line_held(int fd, long pid)
{
	struct flock fl;

	if (pid <= 0)
		return 0;
	if (line_flock(fd, F_GETLK, F_WRLCK, pid, &fl) < 0)
		return -1;
	if (fl.l_type == F_UNLCK)
		return 0;
	/* whoever can read the file can have a lock on it; and the number of a
	 * process of another machine or container is none of ours */
	return fl.l_pid == (pid_t)pid ? 1 : -1;
}

/* ---- spool ids ------------------------------------------------------- */

#ifdef NO_ST_MTIM
#define NS(st) 0L
#elif defined(st_mtimensec)
#define NS(st) ((long)(st).st_mtimensec)
#else
#define NS(st) ((long)(st).st_mtim.tv_nsec)
#endif

/* "S", the number at the beginning of the name, and the time of the message
 * file in UTC, six bits to a byte: S123AbmKVJKL is 123-45 of 2026-11-22,
 * 09:10:11; S123AbmKVJKL3vWUA, half a second later.  The last five are
 * nanoseconds, unless there are none. */
int
spool_id_of(const char *path, const char *name, char *id, size_t size)
{
	static const char code[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123abcdefghijklmnopqrstuvwxyz4567890-=";
	const char *base = strrchr(name, '/');
	struct stat st;
	struct text t;
	struct tm *tm;
	int year, bit;

	if (lstat(path, &st) < 0 || (tm = gmtime(&st.st_mtime)) == NULL)
		return -1;
	year = tm->tm_year + 1900;
	text_init(&t, id, size);
	text_add(&t, "S%lu%c%c%c%c%c%c%c%c",
	    num_of(base == NULL ? name : base + 1, NULL),
	    code[year >> 12 & 63], code[year >> 6 & 63], code[year & 63],
	    code[tm->tm_mon], code[tm->tm_mday - 1], code[tm->tm_hour],
	    code[tm->tm_min], code[tm->tm_sec]);
	for (bit = 24; bit >= 0 && NS(st) != 0; bit -= 6)
		text_add(&t, "%c", code[NS(st) >> bit & 63]);
	return t.cut ? -1 : 0;
}

int
spool_id(const char *name, char *id, size_t size)
{
	char path[1024];

	text_fmt(path, sizeof(path), "../queue/%s", name);
	return spool_id_of(path, name, id, size);
}
