/*
 * spoolid.c - names of messages, and their spool ids.
 *
 * A message is named after its file: 123-45 lies in queue/ or in a hash
 * directory there, X/Y/123-45.  Agents know it by its leading number, 123.
 * Inode numbers are used again, and so are names.  A spool id is not: it adds
 * the time of the message file.  Logs and DSNs use it.
 *
 *	S123AbmKVJKL		123-45 of 2026-11-22, 09:10:11
 *	S123AbmKVJKL3vWUA	the same file half a second later
 *	S123AauAAAAF.17		the clock was not set; the 17th such start
 *
 * An id is "S", the number, and the time in UTC, six bits to a byte: three
 * bytes for the year, one each for month and day (both from 0), hour, minute
 * and second.  Five bytes of nanoseconds follow unless they are 0.  A time
 * before SANE_WALL means a machine without a clock; it starts at the same time
 * after each boot, so a dot and the number of the start are added.
 *
 * Costs: O(length of the name), and an lstat if the caller does not know the
 * time.
 */
#include "ctlfile.h"
#include <ctype.h>

/* ---- names of messages ----------------------------------------------- */

const char *
name_base(const char *name)
{
	const char *p = strrchr(name, '/');

	return p == NULL ? name : p + 1;
}

unsigned long
name_num(const char *name)
{
	return num_of(name_base(name), NULL);
}

int
name_usable(const char *s)
{
	size_t n;

	if (!isdigit((unsigned char)*s))
		return 0;
	for (n = 0; s[n] != '\0'; n++)
		if (iscntrl((unsigned char)s[n]) || s[n] == ' ' ||
		    s[n] == '/')
			return 0;
	return n < NAME_MAX_ - 4;
}

const char *
name_in(const char *s)
{
	int level;

	for (level = 0; level < 2 && *s >= 'A' && *s <= 'Z' && s[1] == '/';
	    level++)
		s += 2;
	return name_usable(s) ? s : NULL;
}

/* ---- spool ids -------------------------------------------------------- */

/* Reads the number of the start from the file STARTS_FILE in the post office;
 * 0 if there is none.  path is that of a message file, queue/NAME. */
static unsigned long
start_of(const char *path, const char *name)
{
	char file[1024], line[24] = "";
	size_t n = strlen(path) - strlen(name);
	struct stat st;
	int fd = -1;

	if (n >= 6 && text_fmt(file, sizeof(file), "%.*s%s", (int)n - 6, path,
	    STARTS_FILE) == 0)
		fd = fd_plain(file, O_RDONLY, &st);
	if (fd < 0)
		return 0;
	if (read(fd, line, sizeof(line) - 1) < 0)
		line[0] = '\0';
	close(fd);
	return num_of(line, NULL);
}

#ifdef NO_ST_MTIM
#define NS(st) 0L
#elif defined(st_mtimensec)
#define NS(st) ((long)(st)->st_mtimensec)
#else
#define NS(st) ((long)(st)->st_mtim.tv_nsec)
#endif

void
spool_time(const struct stat *st, struct spool_time *t)
{
	t->s = (long)st->st_mtime < SANE_WALL ? 0 : (unsigned)st->st_mtime;
	t->ns = (unsigned)NS(st);
}

static const char code[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123abcdefghijklmnopqrstuvwxyz4567890-=";

/* The five bytes of year, month and day.  The last result is kept, as most
 * calls are for the same day.  NULL: the time has no date. */
static const char *
id_of_day(time_t wall, long d)
{
	static char stamp[5];
	static long day = -1;	/* since 1970, of the date in stamp */
	struct tm *tm;
	int year;

	if (d == day)
		return stamp;
	if ((tm = gmtime(&wall)) == NULL)
		return NULL;
	year = tm->tm_year + 1900;
	stamp[0] = code[year >> 12 & 63];
	stamp[1] = code[year >> 6 & 63];
	stamp[2] = code[year & 63];
	stamp[3] = code[tm->tm_mon];
	stamp[4] = code[tm->tm_mday - 1];
	day = d;
	return stamp;
}

/* Writes the id without the number of the start.  Its length; 0: the time has
 * no date, or the buffer is too small. */
static size_t
put_id(char *id, size_t size, const char *name, time_t wall, unsigned long ns)
{
	const char *p = name_base(name), *day;
	char *to = id, *end;
	long s = (long)wall % 86400;
	int bit;

	s += s < 0 ? 86400 : 0;
	day = id_of_day(wall, ((long)wall - s) / 86400);
	if (day == NULL || size < 16)
		return 0;
	end = id + size - 14;	/* the time and a NUL */
	while (*p == '0' && p[1] >= '0' && p[1] <= '9')
		p++;
	for (*to++ = 'S'; *p >= '0' && *p <= '9'; *to++ = *p++)
		if (to == end)
			return 0;
	memcpy(to, day, 5);
	to += 5;
	*to++ = code[s / 3600];
	*to++ = code[s / 60 % 60];
	*to++ = code[s % 60];
	for (bit = 24; bit >= 0 && ns != 0; bit -= 6)
		*to++ = code[ns >> bit & 63];
	*to = '\0';
	return (size_t)(to - id);
}

int
spool_id_at(const char *name, const struct spool_time *at, char *id,
    size_t size)
{
	return at->s > 0 && put_id(id, size, name, (time_t)at->s, at->ns) > 0 ?
	    0 : -1;
}

int
spool_id_of(const char *path, const char *name, char *id, size_t size)
{
	struct stat st;
	size_t n;

	if (lstat(path, &st) < 0 || (n = put_id(id, size, name, st.st_mtime,
	    (unsigned long)NS(&st))) == 0)
		return -1;
	return (long)st.st_mtime >= SANE_WALL ? 0 :
	    text_fmt(id + n, size - n, ".%lu", start_of(path, name));
}

int
spool_id(const char *name, char *id, size_t size)
{
	static const char queue[] = "../queue/";
	char path[1024];
	size_t n = strlen(name);

	if (n > sizeof(path) - sizeof(queue))
		return -1;
	memcpy(path, queue, sizeof(queue) - 1);
	memcpy(path + sizeof(queue) - 1, name, n + 1);
	return spool_id_of(path, name, id, size);
}
