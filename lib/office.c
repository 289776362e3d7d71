/*
 * office.c - a post office seen from outside: names of messages, and the name
 * of its host.
 *
 * A message is named after its file: 123-45 is in queue/ or in a hash
 * directory there, as X/Y/123-45.  Agents know the message by the number 123,
 * the inode number of the file.  A system uses inode numbers again, so a later
 * message may get the same name.  A spool id is unique, as it has the time of
 * the message file, too.  Logs and DSNs use spool ids.
 *
 *	S123AbmKVJKL		123-45 of 2026-11-22, 09:10:11
 *	S123AbmKVJKL3vWUA	the same file half a second later
 *	S123AauAAAAF.17		the clock was not set; the 17th such start
 *
 * An id is "S", the number, and the time in UTC, six bits to a byte: three
 * bytes for the year, one each for month and day (both from 0), hour, minute
 * and second.  Five bytes of nanoseconds follow unless they are 0.  A time
 * before SANE_WALL means a machine without a clock, whose time begins with the
 * same value after each boot, so a dot and the number of the start are added.
 *
 * The name of this host in mail is the first of these that is a host name:
 * MAILNAME in the environment, the first word of $MAILSHARE/mailname, the node
 * name of the system (uname), localhost.  Sender addresses, DSNs, EHLO and the
 * "From " lines of UUCP use this name, so that an administrator sets it in one
 * place.  Some programs have an option or a table that overrides the name.
 *
 * Costs: a name or an id takes O(length), and an id an lstat if the caller
 * does not know the time.
 */
#include "office.h"
#include <ctype.h>
#include <sys/utsname.h>

/* ---- names of messages ----------------------------------------------- */

const char *
name_base(const char *name)
{
	const char *p = strrchr(name, '/');

	return p == NULL ? name : p + 1;
}

const char *
name_parse(const char *s)
{
	int level;
	size_t n;

	for (level = 0; level < 2 && *s >= 'A' && *s <= 'Z' && s[1] == '/';
	    level++)
		s += 2;
	if (!isdigit((unsigned char)*s))
		return NULL;
	for (n = 0; s[n] != '\0'; n++)
		if (iscntrl((unsigned char)s[n]) || s[n] == ' ' || s[n] == '/')
			return NULL;
	return n < NAME_MAX_ - 4 ? s : NULL;
}

/* ---- hash directories ------------------------------------------------- */

const char *
office_hash_dir(int i)
{
	static char path[5];
	char *p = path;

	if (i > 26) {
		*p++ = (char)('A' + (i - 1) / 26 - 1);
		*p++ = '/';
	}
	if (i > 0) {
		*p++ = (char)('A' + (i - 1) % 26);
		*p++ = '/';
	}
	*p = '\0';
	return path;
}

int
office_hash_index(const char *base, int level)
{
	unsigned long n = num_of(base, NULL);

	if (level == 0)
		return 0;
	return level == 1 ? 1 + (int)(n % 26) : 27 + (int)(n % 676);
}

/* ---- spool ids -------------------------------------------------------- */

/* Returns the number of starts in STARTS_FILE of the post office, or 0.  The
 * message file is at path, which ends with a directory of the post office and
 * the name with its hash directories. */
static unsigned long
read_office_starts(const char *path, const char *name)
{
	const char *end = path + strlen(path);
	char file[PATH_MAX_], line[24] = "";
	int fd = -1, up = 2;

	for (; *name != '\0'; name++)
		up += *name == '/';
	while (up > 0 && end > path)
		up -= *--end == '/';
	if (up == 0 && text_fmt(file, sizeof(file), "%.*s/" STARTS_FILE,
	    (int)(end - path), path) == 0)
		fd = fd_open_plain(file, O_RDONLY, NULL);
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
#define NS(st) ((st)->st_mtimensec)
#else
#define NS(st) ((st)->st_mtim.tv_nsec)
#endif

void
spool_time(const struct stat *st, struct spool_time *t)
{
	t->s = (long)st->st_mtime < SANE_WALL ? 0 : st->st_mtime;
	t->ns = NS(st);
}

static const char code[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123abcdefghijklmnopqrstuvwxyz4567890-=";

/* Adds the id without the number of the start: 0, or -1 when there is no room.
 */
static int
put_id(struct text *t, const char *name, time_t wall, unsigned long ns)
{
	const char *p = name_base(name);
	const struct tm *tm = gmtime(&wall);
	char stamp[13];
	int bit, year, n = 8;

	if (tm == NULL)
		return -1;
	while (*p == '0' && p[1] >= '0' && p[1] <= '9')
		p++;
	year = (int)(((unsigned)tm->tm_year + 1900U) & 0x3ffff);
	stamp[0] = code[year >> 12 & 63];
	stamp[1] = code[year >> 6 & 63];
	stamp[2] = code[year & 63];
	stamp[3] = code[tm->tm_mon];
	stamp[4] = code[tm->tm_mday - 1];
	stamp[5] = code[tm->tm_hour];
	stamp[6] = code[tm->tm_min];
	stamp[7] = code[tm->tm_sec];
	for (bit = 24; bit >= 0 && ns != 0; bit -= 6)
		stamp[n++] = code[ns >> bit & 63];
	text_put(t, "S", 1);
	text_put(t, p, strspn(p, "0123456789"));
	text_put(t, stamp, n);
	return t->cut ? -1 : 0;
}

int
spool_id(const char *name, const struct spool_time *at, const char *path,
    char *id, size_t size)
{
	char own[PATH_MAX_];
	struct stat st;
	struct text t;

	text_init(&t, id, size);
	if (at != NULL && at->s != 0)
		return put_id(&t, name, (time_t)at->s, at->ns);
	if (path == NULL) {
		text_fmt(own, sizeof(own), "../queue/%s", name);
		path = own;
	}
	if (lstat(path, &st) < 0 || put_id(&t, name, st.st_mtime, NS(&st)) < 0)
		return -1;
	if ((long)st.st_mtime < SANE_WALL)
		text_add(&t, ".%lu", read_office_starts(path, name));
	return t.cut ? -1 : 0;
}

/* ---- variables -------------------------------------------------------- */

char *
office_next_var(FILE *f, char line[OFFICE_LINE], unsigned *at)
{
	char *s, *value, *end;

	for (++*at; fgets(line, OFFICE_LINE, f) != NULL; ++*at) {
		for (s = line; isspace((unsigned char)*s); )
			s++;
		if (*s == '#' || *s == '\0')
			continue;
		for (value = s; isalnum((unsigned char)*value) ||
		    *value == '_'; )
			value++;
		if (value == s || *value++ != '=')
			return NULL;
		end = value + strlen(value);
		while (end > value && isspace((unsigned char)end[-1]))
			*--end = '\0';
		if (end - value >= 2 && (*value == '"' || *value == '\'') &&
		    end[-1] == *value) {
			end[-1] = '\0';
			memmove(value, value + 1, strlen(value + 1) + 1);
		}
		return s;
	}
	*at = 0;
	return NULL;
}

/* ---- the name of this host ------------------------------------------- */

static char host_name[MAILNAME_SIZE];

/* A name has labels of letters, digits, '-' and '_', with dots between (RFC
 * 1035).  A name that begins with '-' would be taken for an option. */
int
mailname_is_valid(const char *s)
{
	size_t n;

	if (strlen(s) > MAILNAME_MOST)
		return 0;
	do {
		for (n = 0; isalnum((unsigned char)s[n]) || s[n] == '-' ||
		    s[n] == '_'; n++)
			;
		if (n == 0 || n > 63 || s[0] == '-')
			return 0;
		s += n;
	} while (*s++ == '.');
	return s[-1] == '\0';
}

/* Sets host_name: 0, or -1 if this is no name of a host. */
static int
set_host_name(const char *s)
{
	if (s == NULL || !mailname_is_valid(s))
		return -1;
	strcpy(host_name, s);
	return 0;
}

/* Returns the first word of the file mailname, good until the next call, or ""
 * if there is none; NULL if the file cannot be opened. */
static char *
read_mailname(const char *dir)
{
	static char line[MAILNAME_SIZE + 100];
	char path[PATH_MAX_], *s;
	FILE *f;

	text_fmt(path, sizeof(path), "%s/mailname",
	    dir != NULL ? dir : env_get("MAILSHARE", MAILSHARE));
	f = fopen(path, "r");
	if (f == NULL)
		return NULL;
	if (fgets(line, sizeof(line), f) == NULL)
		*line = '\0';
	fclose(f);
	s = line + strspn(line, " \t");
	s[strcspn(s, " \t\r\n")] = '\0';
	return s;
}

enum mailname_source
mailname_find_source(const char *dir)
{
	struct utsname uts;
	const char *s;

	if (set_host_name(getenv("MAILNAME")) == 0)
		return MAILNAME_GIVEN;
	s = read_mailname(dir);
	if (set_host_name(s) == 0)
		return MAILNAME_GIVEN;
	if (uname(&uts) < 0 || set_host_name(uts.nodename) < 0)
		strcpy(host_name, "localhost");
	return s != NULL && *s == '\0' ? MAILNAME_EMPTY : MAILNAME_SYSTEM;
}

const char *
mailname(const char *dir)
{
	mailname_find_source(dir);
	return host_name;
}

/* ---- ages ------------------------------------------------------------ */

long
file_age(long stamp)
{
	if ((long)now.wall < SANE_WALL || stamp < SANE_WALL)
		return -1;
	return (long)now.wall > stamp ? (long)now.wall - stamp : 0;
}
