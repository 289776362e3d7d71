/*
 * util.c - functions that every program here shares.
 *
 * Text goes through one bounded buffer and one small formatter, since old
 * systems have no snprintf.  A text that does not fit is cut and marked as cut;
 * nothing is ever written behind the end.
 *
 * The log writes one line an event: a stamp, the level, the event's name,
 * key=value pairs, free text last.  For example
 *
 *	log_warn("set-aside msg=%s to=%s why: %s", name, to, why);
 *
 * writes, on 2026-11-22 at 09:10:11,
 *
 *	20261122091011 warn set-aside msg=123-45 to=postman/123-45 why: it is
 *		empty
 *
 * Bytes that could forge a second line or disturb a terminal are shown as \ooo.
 * Lines collect in a buffer until log_flush writes them.  A loop calls
 * log_flush before it sleeps: a busy pass costs one write, and an idle daemon
 * holds nothing back.  Errors and warnings are written at once.  Until a file
 * is open, lines go to standard error, and the last ones, at most a buffer
 * full, are kept for the file.  A second descriptor may get each line, too, as
 * far as it takes lines without waiting.
 *
 * Only clock_read sets the two clocks.  mono never jumps.  It is computed from
 * CLOCK_MONOTONIC or, on a system without that, from the differences of
 * times(), whose ticks wrap around at 32 bits.  The clock of the system runs on
 * while the process is stopped and, on some systems, while the machine sleeps.
 * No loop here sleeps longer than an hour, so a longer difference of two
 * readings adds one hour to mono, and mail ages an hour at most meanwhile.
 *
 * A file is read line by line through one buffer of fixed size; each line is
 * returned in place.  A line longer than the buffer is cut, and overlong says
 * so; no file can make a program take more memory.
 *
 * The heap holds pairs of a time and a pointer to a timer.  Timers live inside
 * their owners and know their place, so one can be moved or removed in
 * O(log n).  Room is reserved when an owner is made; after that nothing here
 * can fail.
 *
 * The hash table chains entries through links inside them, and doubles when it
 * is full.  If there is no memory to double it, its chains get longer.
 *
 * Only mask_addresses knows about mail, and nothing here calls upwards.
 */
#include "util.h"
#include <ctype.h>
#ifndef NO_PWD
#include <pwd.h>
#endif
#ifndef NO_INITGROUPS
#include <grp.h>
#endif

#ifdef NO_MONOTONIC
#include <sys/times.h>
#endif
#ifndef O_CLOEXEC
#define O_CLOEXEC 0	/* fd_open_plain sets the flag after the open */
#endif

/* ---- text ------------------------------------------------------------ */

void
text_init(struct text *t, char *buf, size_t size)
{
	t->s = buf;
	t->size = size;
	t->len = 0;
	t->cut = t->clean = 0;
	buf[0] = '\0';
}

/* Copies the bytes unchanged. */
static void
copy_bytes(struct text *t, const char *s, size_t n)
{
	size_t room = t->size - 1 - t->len;

	if (n > room) {
		t->cut = 1;
		n = room;
	}
	memcpy(t->s + t->len, s, n);
	t->len += n;
	t->s[t->len] = '\0';
}

/* Returns 1 if the byte needs no escape; clean is the member of the text. */
static int
is_clean(int c, int clean)
{
	return (c > ' ' || (c == ' ' && clean < 2)) && c < 127 && c != '\\';
}

/* Copies the byte unchanged. */
static void
copy_byte(struct text *t, int c)
{
	char byte = (char)c;

	copy_bytes(t, &byte, 1);
}

/* Copies each run of clean bytes with one call.  When every byte had a call of
 * its own, a third of the instructions of a daemon went into its log. */
void
text_put(struct text *t, const char *s, size_t n)
{
	const char *run, *end = s + n;
	int shift;

	if (!t->clean) {
		copy_bytes(t, s, n);
		return;
	}
	for (;; s++) {
		for (run = s; s < end && is_clean((unsigned char)*s, t->clean);
		    s++)
			;
		copy_bytes(t, run, s - run);
		if (s == end)
			return;
		copy_byte(t, '\\');
		for (shift = 6; shift >= 0; shift -= 3)
			copy_byte(t, '0' + ((unsigned char)*s >> shift & 7));
	}
}

#define NUMBER_MOST	64	/* bytes of a number, whatever the width */

static void
text_number(struct text *t, unsigned long u, int minus, int width, int pad)
{
	char d[NUMBER_MOST], *end = d + sizeof(d), *p = end;

	do
		*--p = (char)('0' + u % 10);
	while ((u /= 10) > 0);
	if (minus)
		*--p = '-';
	while (end - p < width && p > d)
		*--p = (char)pad;
	copy_bytes(t, p, end - p);
}

/* Adds at most prec bytes of s, or all of s if prec < 0. */
static void
text_string(struct text *t, const char *s, int prec)
{
	const char *end;

	if (s == NULL)
		s = "(none)";
	end = prec < 0 ? s + strlen(s) : memchr(s, '\0', prec);
	text_put(t, s, end == NULL ? (size_t)prec : (size_t)(end - s));
}

void
text_vadd(struct text *t, const char *f, va_list ap)
{
	int width, prec, pad, lng, left, was;
	const char *p;
	long v;
	size_t n;

	for (; *f != '\0'; f++) {
		p = strchr(f, '%');
		n = p == NULL ? strlen(f) : (size_t)(p - f);
		copy_bytes(t, f, n);
		if (p == NULL)
			return;
		f = p + 1;
		was = t->clean;
		left = *f == '-';
		if (left) {
			t->clean = 0;
			f++;
		}
		pad = *f == '0' ? '0' : ' ';
		width = *f <= '9' ? num_of(f, &f) : 0;
		prec = -1;
		if (*f == '.' && f[1] == '*') {
			prec = va_arg(ap, int);
			f += 2;
		} else if (*f == '.') {
			prec = num_of(f + 1, &f);
		}
		lng = *f == 'l';
		f += lng;
		n = t->len;
		switch (*f) {
		case 's':
			text_string(t, va_arg(ap, char *), prec);
			break;
		case 'd':
			v = lng ? va_arg(ap, long) : va_arg(ap, int);
			text_number(t, v < 0 ? 0UL - v :
			    (unsigned long)v, v < 0, left ? 0 : width, pad);
			break;
		case 'u':
			text_number(t, lng ? va_arg(ap, unsigned long) :
			    va_arg(ap, unsigned), 0, left ? 0 : width, pad);
			break;
		default:
			copy_byte(t, *f == 'c' ? va_arg(ap, int) : *f);
		}
		while (left && t->len - n < (size_t)width && !t->cut)
			copy_byte(t, ' ');
		t->clean = was;
	}
}

void
text_add(struct text *t, const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	text_vadd(t, f, ap);
	va_end(ap);
}

int
text_fmt(char *buf, size_t size, const char *f, ...)
{
	struct text t;
	va_list ap;

	text_init(&t, buf, size);
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	return t.cut ? -1 : 0;
}

void
text_lower(char *s)
{
	for (; *s != '\0'; s++)
		*s = (char)tolower((unsigned char)*s);
}

int
text_escaped_byte(const char *s)
{
	int c = 0, i;

	for (i = 1; s[0] == '\\' && s[i] >= '0' && s[i] <= '7' && i < 4; i++)
		c = c * 8 + (s[i] - '0');
	return i == 4 && c < 256 ? c : 0;
}

void
text_unescape(char *s)
{
	char *to = s;
	int c;

	while (*s != '\0') {
		c = text_escaped_byte(s);
		*to++ = c > 0 ? (char)c : *s;
		s += c > 0 ? 4 : 1;
	}
	*to = '\0';
}

int
text_split_tabs(char *line, char **field, int n)
{
	int i;

	field[0] = line;
	for (i = 1; i < n; i++) {
		line = strchr(line, '\t');
		if (line == NULL)
			return -1;
		*line++ = '\0';
		field[i] = line;
	}
	return 0;
}

/* ---- numbers and spans of time --------------------------------------- */

/* Unlike strtoul, accepts neither blanks nor a sign before the digits. */
int
num_upto(const char *s, unsigned long max, unsigned long *n, const char **end)
{
	unsigned long digit;

	*n = 0;
	if (*s < '0' || *s > '9')
		return -1;
	for (; *s >= '0' && *s <= '9'; s++) {
		digit = *s - '0';
		if (digit > max || *n > (max - digit) / 10)
			return -1;
		*n = *n * 10 + digit;
	}
	if (end != NULL)
		*end = s;
	return end == NULL && *s != '\0' ? -1 : 0;
}

unsigned long
num_of(const char *s, const char **end)
{
	unsigned long n = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		n = n * 10 + (*s - '0');
	if (end != NULL)
		*end = s;
	return n;
}

/* The units, the largest first; a number without a unit is in seconds. */
static const char units[] = "dhms";
static const long unit_seconds[] = { 86400L, 3600, 60, 1 };

#define SECONDS	3		/* index of the unit s, the last one */

int
span_parse(const char *s, long *span)
{
	unsigned long v, left = LONG_MAX;
	const char *unit;
	long seconds;

	do {
		if (num_upto(s, LONG_MAX, &v, &s) < 0)
			return -1;
		unit = *s == '\0' ? units + SECONDS : strchr(units, *s++ | 32);
		if (unit == NULL)
			return -1;
		seconds = unit_seconds[unit - units];
		if (v > left / seconds)
			return -1;
		left -= v * seconds;
	} while (*s != '\0');
	*span = LONG_MAX - left;
	return 0;
}

void
span_add(struct text *t, long s, int n)
{
	int i;

	if (s < 0) {
		copy_byte(t, '-');
		s = -s;
	}
	for (i = 0; s < unit_seconds[i] && i < SECONDS; i++)
		;
	text_add(t, "%ld%c", s / unit_seconds[i], units[i]);
	while (++i <= SECONDS && --n > 0) {
		s %= unit_seconds[i - 1];
		if (s >= unit_seconds[i])
			text_add(t, "%ld%c", s / unit_seconds[i], units[i]);
	}
}

/* ---- log ------------------------------------------------------------- */

struct logs logs = { L_INFO, 0, -1 };

static struct {
	int	fd;		/* gets the lines; 2 until log_open */
	unsigned long lost;	/* lines that logs.copy did not take */
	size_t	used;		/* bytes in buf */
	size_t	shown;		/* bytes at the front of buf that were written
				 * to descriptor 2 and wait for the file */
	double	mute;		/* mono until which log_no_memory is silent */
	char	buf[8192];
} lg = { 2, 0, 0, 0, 0, "" };

void
log_flush(void)
{
	size_t n = lg.used - lg.shown;

	if (n > 0)		/* there is no way to report an error */
		fd_write(lg.fd, lg.buf + lg.shown, n);
	if (lg.fd != 2)
		lg.used = 0;
	lg.shown = lg.used;
}

/* Returns the local time as YYYYMMDDhhmmss, and computes it once in a second,
 * as localtime may read the file of the time zone each time. */
static const char *
log_stamp(void)
{
	static char stamp[20] = "00000000000000";
	static time_t last;
	time_t wall = time(NULL);
	struct tm *tm;

	if (wall != last && (tm = localtime(&wall)) != NULL &&
	    text_fmt(stamp, sizeof(stamp), "%04d%02d%02d%02d%02d%02d",
	    tm->tm_year + 1900, tm->tm_mon + 1, tm->tm_mday, tm->tm_hour,
	    tm->tm_min, tm->tm_sec) == 0)
		last = wall;
	return stamp;
}

/* Replaces each word that contains an @ by a single @.  A word ends where an
 * address ends; blanks in quotes before the @ belong to the word. */
static void
mask_addresses(struct text *t)
{
	static const char ends[] = " <>(),;:[]\"'";
	char *at, *from, *to;

	for (to = t->s; (at = strchr(to, '@')) != NULL; to = from + 1) {
		from = at;
		if (from > to && from[-1] == '"')
			for (from--; from > to && from[-1] != '"'; )
				from--;
		while (from > to && strchr(ends, from[-1]) == NULL)
			from--;
		*from = '@';
		at += strcspn(at, ends);
		memmove(from + 1, at, strlen(at) + 1);
	}
	t->len = strlen(t->s);
}

/* Writes the line to logs.copy, unless the write would block.  Logs the number
 * of lost lines when logs.copy takes one again. */
static void
copy_line(const char *line, size_t n)
{
	unsigned long lost = lg.lost;

	if (logs.copy < 0)
		return;
	lg.lost++;
	if (write(logs.copy, line, n) < 0)
		return;
	lg.lost = 0;
	if (lost > 0)
		log_warn("syslog lost=%lu lines that it did not take", lost);
}

/* If the new file cannot be opened, the old one stays in use, so that a reload
 * with a wrong name loses no line.  The first file and logs.copy get the lines
 * of the start, too, as perhaps nobody saw standard error. */
int
log_open(const char *path)
{
	log_flush();
	if (fd_append(&lg.fd, path) < 0)
		return -1;
	if (lg.used > 0)
		copy_line(lg.buf, lg.used);
	lg.shown = 0;
	log_flush();
	return 0;
}

/* Adds a line to the buffer: the stamp and the level as they are, the rest with
 * escapes, as the rest may contain text of others. */
static void
log_line(int level, const char *f, va_list ap)
{
	static const char *const name[] = {
		" err ", " warn ", " info ", " debug "
	};
	char line[2048];
	struct text t;

	if (level > logs.level)
		return;
	text_init(&t, line, sizeof(line) - 1);
	copy_bytes(&t, log_stamp(), 14);
	copy_bytes(&t, name[level], strlen(name[level]));
	t.clean = 1;
	text_vadd(&t, f, ap);
	if (logs.masks)
		mask_addresses(&t);
	while (line[t.len - 1] == ' ')
		line[--t.len] = '\0';
	line[t.len++] = '\n';
	copy_line(line, t.len);
	if (lg.used + t.len > sizeof(lg.buf)) {
		log_flush();
		lg.used = lg.shown = 0;
	}
	memcpy(lg.buf + lg.used, line, t.len);
	lg.used += t.len;
	if (level <= L_WARN)
		log_flush();
}

/* C90 has no macros with a variable number of arguments. */
#define LOG_CALL(name, level) \
	void \
	name(const char *f, ...) \
	{ \
		va_list ap; \
\
		va_start(ap, f); \
		log_line(level, f, ap); \
		va_end(ap); \
	}

LOG_CALL(log_err, L_ERR)
LOG_CALL(log_warn, L_WARN)
LOG_CALL(log_info, L_INFO)
LOG_CALL(log_debug, L_DEBUG)

/* ---- clocks ---------------------------------------------------------- */

struct clocks now;

#define STEP	30.0	/* seconds by which the clocks must differ for a
				 * step; NTP moves a clock by less in one go */
#define AWAKE_MOST 3600.0	/* most seconds that count as passed between two
				 * readings; no loop sleeps longer */

/* What clock_read knows of earlier readings. */
static struct {
	int	begun;		/* there was a reading */
	double	left_out;	/* seconds of now.up that are not in now.mono:
				 * before the first reading, and of sleeps */
#ifdef NO_MONOTONIC
	clock_t	ticks;		/* of times(), at the last reading */
#endif
} reading;

/* Returns the seconds since a moment that stays the same. */
static double
read_mono(void)
{
#ifdef NO_MONOTONIC
	struct tms unused;
	clock_t was = reading.ticks;

	/* only differences count: ticks wrap around, in 249 days or less */
	reading.ticks = times(&unused);
	return now.up + (double)(long)((unsigned long)reading.ticks -
	    (unsigned long)was) / (double)sysconf(_SC_CLK_TCK);
#else
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
#endif
}

/* Returns whole seconds within the range of a long. */
static long
clamp(double s)
{
	if (s > 2e9 || s < -2e9)
		return s > 0 ? 2000000000L : -2000000000L;
	return s;
}

void
clock_read(void)
{
	struct clocks was = now;
	double passed, step;

	now.up = read_mono();
	if (!reading.begun)
		reading.left_out = now.up;
	now.mono = now.up - reading.left_out;
	now.wall = time(NULL);
	passed = now.mono - was.mono;
	step = difftime(now.wall, was.wall) - passed;
	if (passed > AWAKE_MOST + STEP) {
		log_warn("clock-sleep by=%ld the machine slept or this process "
		    "was stopped; only an hour of it counts", clamp(passed));
		reading.left_out += passed - AWAKE_MOST;
		now.mono = was.mono + AWAKE_MOST;
	}
	if (reading.begun && (step > STEP || step < -STEP))
		log_warn("clock-step by=%ld the wall clock was set; timers do "
		    "not follow it", clamp(step));
	reading.begun = 1;
}

/* ---- environment, memory, chance, descriptors ------------------------ */

const char *
env_get(const char *name, const char *usual)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : usual;
}

/* Sets errno, and logs a lack of memory: once in a second at most, as each
 * of thousands of files may lack memory. */
static void
log_no_memory(size_t bytes)
{
	if (now.mono >= lg.mute) {
		log_err("memory bytes=%lu cannot be allocated",
		    (unsigned long)bytes);
		lg.mute = now.mono + 1;
	}
	errno = ENOMEM;		/* calloc of ISO C need not set errno */
}

/* Gets 1 byte for 0, as some systems return NULL for 0. */
void *
mem_get(size_t n)
{
	void *p = calloc(1, n > 0 ? n : 1);

	if (p == NULL)
		log_no_memory(n);
	return p;
}

char *
mem_dup(const char *s)
{
	char *p = mem_get(strlen(s) + 1);

	return p == NULL ? NULL : strcpy(p, s);
}

/* The array grows by half, so that n elements cost O(n) copies in all. */
int
mem_grow(void **v, unsigned n, unsigned *room, size_t size)
{
	unsigned more = n + n / 2 + 8;
	void *new;

	if (n < *room)
		return 0;
	new = realloc(*v, more * size);
	if (new == NULL) {
		log_no_memory(more * size);
		return -1;
	}
	*v = new;
	*room = more;
	return 0;
}

static unsigned long rnd_state = 1;

void
rnd_seed(unsigned long seed)
{
	rnd_state = (seed ^ 0x9e3779b9UL) & 0xffffffffUL;
	if (rnd_state == 0)
		rnd_state = 1;
}

/* Marsaglia's 32-bit xorshift, which is fair enough to spread times. */
unsigned long
rnd(unsigned long n)
{
	unsigned long x = rnd_state;

	x ^= x << 13 & 0xffffffffUL;
	x ^= x >> 17;
	x ^= x << 5 & 0xffffffffUL;
	rnd_state = x;
	return n == 0 ? 0 : x % n;
}

void
fd_watch(int fd, fd_set *set, int *max)
{
	if (fd < 0 || fd >= FD_SETSIZE)
		return;
	FD_SET(fd, set);
	if (fd > *max)
		*max = fd;
}

int
fd_cloexec(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}

int
fd_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL, 0);

	return flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ? -1 :
	    fd_cloexec(fd);
}

/* With O_NOFOLLOW one system call is enough, else lstat comes first.  The errno
 * of a failed open of a file that is not regular differs between systems; an
 * lstat after the open makes EINVAL of it. */
int
fd_open_plain(const char *path, int flags, struct stat *st)
{
	struct stat seen, own;
	int fd, error;

	if (st == NULL)
		st = &own;
	if (O_NOFOLLOW == 0 && lstat(path, &seen) < 0)
		return -1;
	errno = EINVAL;
	if (O_NOFOLLOW == 0 && !S_ISREG(seen.st_mode))
		return -1;
	fd = open(path, flags | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW |
	    O_CLOEXEC);
	if (fd < 0) {
		error = errno;
		errno = lstat(path, st) == 0 && !S_ISREG(st->st_mode) ?
		    EINVAL : error;
		return -1;
	}
	error = 0;
	if (fstat(fd, st) < 0)
		error = errno;
	else if (!S_ISREG(st->st_mode))
		error = EINVAL;
	else if (O_NOFOLLOW == 0 && !is_same_file(&seen, st))
		error = EAGAIN;		/* another file has the name now */
	else if (O_CLOEXEC == 0)
		fd_cloexec(fd);
	if (error == 0)
		return fd;
	close(fd);
	errno = error;
	return -1;
}

#define OWN_TRIES 20	/* tries while the name appears and vanishes */

/* Opens the file, or makes a missing one.  The name may appear or vanish
 * between the two calls, so both are tried OWN_TRIES times. */
int
fd_open_own(const char *path, int flags, int mode)
{
	struct stat st;
	int fd = -1, i;

	errno = ENOENT;		/* with O_EXCL, nothing else sets it */
	for (i = 0; i < OWN_TRIES; i++) {
		if (!(flags & O_EXCL))
			fd = fd_open_plain(path, flags & ~O_CREAT, &st);
		/* a file with a second name may be one that another user wants
		 * us to change */
		if (fd >= 0 && st.st_nlink == 1 &&
		    (st.st_uid == 0 || st.st_uid == geteuid()))
			return fd;
		if (fd >= 0 || errno == EINVAL) {
			if (fd >= 0)
				close(fd);
			errno = EPERM;
			return -1;
		}
		if (errno != ENOENT || !(flags & O_CREAT))
			return -1;
		fd = open(path, flags | O_EXCL | O_NOCTTY, (mode_t)mode);
		if (fd >= 0)
			fd_cloexec(fd);
		if (fd >= 0 || flags & O_EXCL || errno != EEXIST)
			return fd;
	}
	return -1;
}

const char *
fd_open_own_error(void)
{
	return errno == EPERM ? "it is a link, or somebody else's; remove it" :
	    strerror(errno);
}

#ifndef S_ISLNK
#define S_ISLNK(mode) 0
#endif

/* In a directory that others may write to, such as /tmp, a file, a link or a
 * second name may be another user's trap.  A terminal belongs to its user. */
int
fd_append(int *to, const char *path)
{
	struct stat st, opened, target;
	int exists = lstat(path, &st) == 0;
	int is_link = exists && S_ISLNK(st.st_mode);
	int fd, how = exists ? O_NOFOLLOW : O_EXCL;

	if (*to > 2 && fstat(*to, &opened) == 0 && stat(path, &target) == 0 &&
	    is_same_file(&opened, &target))
		return 0;
	errno = EPERM;
	if (exists && !S_ISCHR(st.st_mode) && st.st_uid != 0 &&
	    st.st_uid != geteuid())
		return -1;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY |
	    (is_link ? 0 : how), 0644);
	if (fd < 0)
		return -1;
	if (!is_link && (fstat(fd, &opened) < 0 ||
	    (exists && !is_same_file(&opened, &st)) ||
	    (S_ISREG(opened.st_mode) && opened.st_nlink != 1))) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	fd_cloexec(fd);
	if (*to > 2)
		close(*to);
	*to = fd;
	return 0;
}

/* Goes on after a write that a signal, a pipe or a full disk ended early. */
int
fd_write(int fd, const char *s, size_t n)
{
	long k;

	while (n > 0) {
		k = write(fd, s, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		s += k;
		n -= k;
	}
	return 0;
}

int
stdio_to_null(void)
{
	int fd, null = open("/dev/null", O_RDWR | O_NOCTTY);

	for (fd = 0; fd < 3; fd++)
		if (null < 0 || dup2(null, fd) < 0)
			return -1;
	return null > 2 ? close(null) : 0;
}

/* Locks of fcntl are the only ones in POSIX, and work over NFS, too. */
long
fd_lock_at(int fd, int how, int type, long at)
{
	struct flock lock;

	memset(&lock, 0, sizeof(lock));
	lock.l_type = type;
	lock.l_whence = SEEK_SET;
	lock.l_start = at;
	lock.l_len = at > 0;	/* 0: up to the end of the file */
	if (fcntl(fd, how, &lock) < 0)
		return -1;
	if (how != F_GETLK || lock.l_type == F_UNLCK)
		return 0;
	return lock.l_pid > 0 ? lock.l_pid : -1;
}

int
file_sync(FILE *f)
{
	errno = EIO;	/* ferror does not set errno */
	return fflush(f) == 0 && !ferror(f) ? fd_sync(fileno(f)) : -1;
}

/* Opens the new file of fd_replace: empty, locked, and still with this name, so
 * that no other process writes, renames or removes it.  A file that a killed
 * process left has no lock.  Such a file, or a file of another user, is
 * removed.  Returns a descriptor, or -1 with errno; EAGAIN means that another
 * process replaces the file now. */
static int
open_new_locked(const char *path)
{
	struct stat st, named;
	int fd, i, is_locked;	/* is_locked: by another process */

	for (i = 0; i < 2; i++) {
		fd = fd_open_own(path, O_WRONLY | O_CREAT, 0644);
		if (fd < 0 && ((errno != EPERM && errno != EACCES) ||
		    unlink(path) < 0))
			return -1;
		if (fd < 0)
			continue;
		is_locked = fd_lock(fd) < 0 &&
		    (errno == EACCES || errno == EAGAIN);
		if (!is_locked && fstat(fd, &st) == 0 &&
		    lstat(path, &named) == 0 && is_same_file(&st, &named)) {
			if (st.st_size == 0)
				return fd;
			unlink(path);
		}
		close(fd);
	}
	errno = EAGAIN;
	return -1;
}

/* The new file is synced before it gets the name: after a crash there is the
 * old file or the new one, whole. */
int
fd_replace(const char *path, void (*print)(FILE *))
{
	const char *slash = strrchr(path, '/');
	const char *name = slash == NULL ? path : slash + 1;
	char fresh[2 * PATH_MAX_];
	int fd, error = 0;
	FILE *f;

	errno = ENAMETOOLONG;
	if (text_fmt(fresh, sizeof(fresh), "%.*s%s%s.new", (int)(name - path),
	    path, *name == '.' ? "" : ".", name) < 0)
		return -1;
	fd = open_new_locked(fresh);
	if (fd < 0)
		return -1;
	f = fdopen(fd, "w");
	if (f == NULL) {
		close(fd);
		return -1;
	}
	print(f);
	if (file_sync(f) < 0 || rename(fresh, path) < 0) {
		error = errno;
		unlink(fresh);
	}
	fclose(f);	/* ends the lock */
	errno = error;
	return error == 0 ? 0 : -1;
}

/* ---- users ----------------------------------------------------------- */

int
is_transient(int err)
{
	return err == EIO || err == EINTR || err == ENOMEM ||
#ifdef ETIMEDOUT
	    err == ETIMEDOUT || err == ECONNREFUSED || err == ECONNRESET ||
	    err == EHOSTUNREACH || err == ENETUNREACH ||
#endif
	    err == EMFILE || err == ENFILE || err == EAGAIN || err == EACCES;
}

#ifndef NO_INITGROUPS
/* Some systems refuse an empty list, as the first group of the list becomes the
 * effective group. */
int
groups_leave(gid_t gid)
{
	return setgroups(0, NULL) == 0 ? 0 : setgroups(1, &gid);
}
#endif

#ifndef NO_PWD
#define USERS "/etc/passwd"

static struct passwd *
user_look_up(const char *name, long uid)
{
	struct passwd *pw;

	errno = 0;
	pw = name != NULL ? getpwnam(name) : getpwuid((uid_t)uid);
	if (pw == NULL && !is_transient(errno))
		errno = 0;
	return pw;
}

/* A C library with several sources of users may hide that one of them failed.
 * "No such user" counts only if the file USERS can be read, or is missing, and
 * a second look does not find the user either. */
struct passwd *
user_find(const char *name, long uid)
{
	struct passwd *pw = user_look_up(name, uid);
	char byte;
	int fd, bad;

	if (pw != NULL || errno != 0)
		return pw;
	fd = open(USERS, O_RDONLY | O_NOCTTY);
	bad = fd < 0 ? errno != ENOENT : read(fd, &byte, 1) < 0;
	if (fd >= 0)
		close(fd);
	if (!bad)
		return user_look_up(name, uid);
	if (errno == 0)
		errno = EIO;
	return NULL;
}
#endif

/* ---- lines of a file -------------------------------------------------- */

void
line_start(struct lines *l, int fd, unsigned long off)
{
	memset(l, 0, offsetof(struct lines, buf));
	l->fd = fd;
	l->pos = off;
	l->line = l->buf;
	l->buf[0] = '\0';
}

/* Turns the NUL at the end of the line that was returned last into the newline
 * that it was. */
static void
restore_newline(struct lines *l)
{
	if (l->end != NULL)
		*l->end = '\n';
	l->end = NULL;
}

/* Reads the file from pos on.  Returns the number of bytes, 0 at the end or on
 * an error. */
static size_t
read_at_pos(struct lines *l, char *to, size_t size)
{
	long n = -1;

	if (l->size > 0 && l->pos == l->size)
		n = 0;
	else if (l->fresh || lseek(l->fd, (off_t)l->pos, SEEK_SET) >= 0)
		n = read(l->fd, to, size);
	if (n < 0)
		l->error = errno;
	l->fresh = 0;
	n = n > 0 ? n : 0;
	l->pos += n;
	return n;
}

/* Moves the line to the front of the buffer and fills the rest: 0, or -1 at the
 * end of the file or on an error.  If size says that pos is the end, a buffer
 * that is not full stays as it is, so that earlier lines can be read again. */
static int
fill_buffer(struct lines *l)
{
	size_t n;

	/* a full buffer has no room for the NUL behind the line */
	if (l->size > 0 && l->pos == l->size && l->have < sizeof(l->buf))
		return -1;
	l->have -= l->used;
	memmove(l->buf, l->buf + l->used, l->have);
	l->used = 0;
	n = read_at_pos(l, l->buf + l->have, sizeof(l->buf) - l->have);
	l->have += n;
	return n > 0 ? 0 : -1;
}

void
line_at(struct lines *l, unsigned long off)
{
	if (off > l->pos || off < l->pos - l->have || l->error != 0) {
		line_start(l, l->fd, off);
		return;
	}
	restore_newline(l);
	l->used = l->have - (l->pos - off);
}

/* Passes over the rest of a line that fills the buffer. */
static void
skip_rest(struct lines *l)
{
	char rest[512], *nl = NULL;
	size_t n;

	l->overlong = 1;
	l->have = l->used = 0;
	while (nl == NULL && (n = read_at_pos(l, rest, sizeof(rest))) > 0) {
		nl = memchr(rest, '\n', n);
		if (nl != NULL)
			l->pos -= n - 1 - (nl - rest);
	}
	l->unended = nl == NULL;
}

int
line_next(struct lines *l)
{
	char *line = l->buf + l->used, *nl;
	size_t n = l->have - l->used, seen = 0;
	int filled;

	restore_newline(l);
	l->off = l->pos - n;
	l->overlong = l->unended = 0;
	while ((nl = memchr(line + seen, '\n', n - seen)) == NULL &&
	    n < sizeof(l->buf)) {
		seen = n;
		filled = fill_buffer(l);
		line = l->buf + l->used;
		if (filled < 0)
			break;
		n = l->have;
	}
	if (nl != NULL) {
		l->end = nl;
		n = nl - line;
		l->used += n + 1;
	} else if (n == sizeof(l->buf)) {
		skip_rest(l);
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

/* ---- heap ------------------------------------------------------------ */

/* Puts the slot at index i and notes the index in its timer. */
static void
heap_put(struct heap *h, unsigned i, struct slot s)
{
	h->v[i] = s;
	s.timer->pos = i + 1;
}

/* Puts the slot where its time belongs, up or down from index i.  The parent of
 * index i is (i - 1) / 2, its children are 2 * i + 1 and 2 * i + 2; none is due
 * before its parent.  Only one of the two loops moves a slot. */
static void
heap_sift(struct heap *h, unsigned i, struct slot s)
{
	unsigned k;

	for (; i > 0 && h->v[k = (i - 1) / 2].when > s.when; i = k)
		heap_put(h, i, h->v[k]);
	for (; (k = 2 * i + 1) < h->n; i = k) {
		if (k + 1 < h->n && h->v[k + 1].when < h->v[k].when)
			k++;
		if (s.when <= h->v[k].when)
			break;
		heap_put(h, i, h->v[k]);
	}
	heap_put(h, i, s);
}

void
heap_set(struct heap *h, struct timer *t, double when)
{
	struct slot s;

	s.when = when;
	s.timer = t;
	heap_sift(h, t->pos == 0 ? h->n++ : t->pos - 1, s);
}

void
heap_del(struct heap *h, struct timer *t)
{
	unsigned i = t->pos;

	if (i-- == 0)
		return;
	t->pos = 0;
	h->n--;
	if (i < h->n)
		heap_sift(h, i, h->v[h->n]);
}

double
heap_wait_seconds(const struct heap *h)
{
	double wait = h->n == 0 ? 3600 : h->v[0].when - now.mono;

	if (wait < 0)
		return 0;
	return wait < 3600 ? wait : 3600;
}

/* ---- hash ------------------------------------------------------------ */

struct hlink **
hash_chain(struct hash *h, unsigned long hash)
{
	return h->v == NULL ? &h->one : &h->v[hash & h->mask];
}

/* The order within a chain does not matter. */
static void
hash_grow(struct hash *h)
{
	struct hash bigger;
	struct hlink *l, *next;
	unsigned i;

	bigger.mask = h->v == NULL ? 255 : h->mask * 2 + 1;
	bigger.n = h->n;
	bigger.v = calloc(bigger.mask + 1, sizeof(*bigger.v));
	if (bigger.v == NULL)
		return;
	for (i = 0; i <= h->mask; i++)
		for (l = *hash_chain(h, i); l != NULL; l = next) {
			next = l->next;
			l->next = *hash_chain(&bigger, l->hash);
			*hash_chain(&bigger, l->hash) = l;
		}
	free(h->v);
	*h = bigger;
}

void
hash_add(struct hash *h, struct hlink *l, unsigned long hash)
{
	if (h->n > h->mask)
		hash_grow(h);
	l->hash = hash;
	l->next = *hash_chain(h, hash);
	*hash_chain(h, hash) = l;
	h->n++;
}

void
hash_del(struct hash *h, struct hlink *l)
{
	struct hlink **p;

	for (p = hash_chain(h, l->hash); *p != NULL; p = &(*p)->next)
		if (*p == l) {
			*p = l->next;
			h->n--;
			return;
		}
}

/* Returns the first entry with this value in the chain from l on, or NULL. */
static struct hlink *
chain_find(struct hlink *l, unsigned long hash)
{
	while (l != NULL && l->hash != hash)
		l = l->next;
	return l;
}

struct hlink *
hash_first(struct hash *h, unsigned long hash)
{
	return chain_find(*hash_chain(h, hash), hash);
}

struct hlink *
hash_next(const struct hlink *l)
{
	return chain_find(l->next, l->hash);
}

struct hlink *
hash_each(struct hash *h, const struct hlink *l)
{
	unsigned i = 0;

	if (l != NULL && l->next != NULL)
		return l->next;
	if (l != NULL)
		i = (l->hash & h->mask) + 1;
	while (i <= h->mask && *hash_chain(h, i) == NULL)
		i++;
	return i <= h->mask ? *hash_chain(h, i) : NULL;
}

/* Fowler, Noll and Vo's hash, 32 bits. */
unsigned
hash_text(const char *s, unsigned seed)
{
	unsigned long h = (2166136261UL ^ seed) & 0xffffffffUL;

	for (; *s != '\0'; s++)
		h = ((h ^ (unsigned char)*s) * 16777619UL) & 0xffffffffUL;
	return h;
}
