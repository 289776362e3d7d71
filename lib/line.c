/*
 * line.c - the lines of a control file, for the scheduler and its agents.
 *
 * Both read the same files and write tags into them, so what both must agree
 * on is here: what a line is, where its words end, and how a lock looks.
 *
 * A file is read through one buffer of fixed size.  A line longer than the
 * buffer is read over, with a note of that; no file can make us take more
 * memory.
 *
 * The tag of a lock is the number of the process that holds it, in six bytes,
 * right aligned.  Where numbers are larger, the bytes are 'a' and five digits
 * of base 36: that is enough for any number of today, and no older program
 * takes it for a living process.
 *
 * A number can mean another process by now, after a power cut for example.
 * So an agent also has one fcntl lock on the file, at a byte that its number
 * gives, for as long as it has the file open.  It ends with the process.
 */
#include "line.h"
#include <ctype.h>

#define LOCK_MOST	999999L	/* the largest number of six digits */

static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz";

/* ---- lines ----------------------------------------------------------- */

void
line_start(struct lines *l, int fd, unsigned long off)
{
	memset(l, 0, offsetof(struct lines, line));
	l->fd = fd;
	l->pos = off;
}

void
line_at(struct lines *l, unsigned long off)
{
	if (off > l->pos || off < l->pos - l->have || l->error != 0)
		line_start(l, l->fd, off);
	else
		l->used = l->have - (size_t)(l->pos - off);
}

/* Fills buf from the file: 0 at its end or on an error. */
static int
fill(struct lines *l)
{
	long n = -1;

	if (l->size > 0 && l->pos == l->size)
		n = 0;
	else if (l->fresh || lseek(l->fd, (off_t)l->pos, SEEK_SET) >= 0)
		n = (long)read(l->fd, l->buf, sizeof(l->buf));
	if (n < 0)
		l->error = errno;
	l->fresh = 0;
	l->have = n > 0 ? (size_t)n : 0;
	l->used = 0;
	l->pos += l->have;
	return n > 0;
}

/* Takes n bytes of buf into the line, as many as fit. */
static void
keep(struct lines *l, size_t n)
{
	size_t room = sizeof(l->line) - 1 - l->len;

	if (n > room)
		l->overlong = 1;
	room = n > room ? room : n;
	memcpy(l->line + l->len, l->buf + l->used, room);
	l->len += room;
	l->line[l->len] = '\0';
	l->used += n;
}

int
line_next(struct lines *l)
{
	char *nl;

	l->len = 0;
	l->line[0] = '\0';
	l->overlong = l->unended = 0;
	l->off = l->pos - (l->have - l->used);
	for (;;) {
		if (l->used == l->have && !fill(l)) {
			l->unended = 1;
			return l->error == 0 && l->pos > l->off;
		}
		nl = memchr(l->buf + l->used, '\n', l->have - l->used);
		if (nl == NULL) {
			keep(l, l->have - l->used);
			continue;
		}
		keep(l, (size_t)(nl - l->buf) - l->used);
		l->used++;
		return 1;
	}
}

const char *
line_word(const char *p)
{
	int quoted = 0, depth = 0;

	for (; *p != '\0'; p++) {
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
	int i;

	if (*p != 'a')
		return 0;
	for (i = 1; i < 6; i++)
		if (!isdigit((unsigned char)p[i]) &&
		    !islower((unsigned char)p[i]))
			return 0;
	return p[6] == ' ' || isdigit((unsigned char)p[6]);
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
	long pid = 0;
	int i;

	if (!is_base36(p)) {
		while (*p == ' ')
			p++;
		return (long)num_of(p, NULL);
	}
	for (i = 1; i < 6; i++)
		pid = pid * 36 + (strchr(digits, p[i]) - digits);
	return pid;
}

void
line_lock(char field[7], long pid)
{
	int i;

	if (pid <= LOCK_MOST) {
		text_fmt(field, 7, "%6ld", pid);
		return;
	}
	field[0] = 'a';
	for (i = 5; i > 0; i--, pid /= 36)
		field[i] = digits[pid % 36];
	field[6] = '\0';
}

/* Sets the type of lock, or asks for it, at a byte behind the file. */
static int
lock_byte(int fd, int how, int type, long at, struct flock *fl)
{
	memset(fl, 0, sizeof(*fl));
	fl->l_type = (short)type;
	fl->l_whence = SEEK_SET;
	fl->l_start = (off_t)CONTROL_MAX + (off_t)at;
	fl->l_len = 1;
	return fcntl(fd, how, fl) < 0 ? -1 : 0;
}

int
line_hold(int fd)
{
	struct flock fl;

	return lock_byte(fd, F_SETLK, F_WRLCK, (long)getpid(), &fl);
}

int
line_held(int fd, long pid)
{
	struct flock fl;

	if (pid <= 0)
		return 0;
	if (lock_byte(fd, F_GETLK, F_WRLCK, pid, &fl) < 0)
		return -1;
	if (fl.l_type == F_UNLCK)
		return 0;
	/* whoever can read the file can have a lock on it; and the number of a
	 * process of another machine or container is none of ours */
	return fl.l_pid == (pid_t)pid ? 1 : -1;
}

int
line_guard(int fd, int on)
{
	struct flock fl;

	return lock_byte(fd, F_SETLK, on ? F_WRLCK : F_UNLCK, 0, &fl);
}
