/*
 * util.c - what every program here shares.
 *
 * Text goes through one bounded buffer and one small formatter, since old
 * systems have no snprintf.  A text that does not fit is cut and says so;
 * nothing is ever written behind the end.
 *
 * The log writes one line an event: a stamp, the level, the event's name,
 * key=value pairs, free text last.  Bytes that could forge a second line or
 * disturb a terminal are shown as \ooo, whoever wrote them.  Lines collect in
 * a buffer that log_flush empties; a loop calls it before it sleeps, so a busy
 * pass costs one write and an idle daemon holds nothing back.  Errors are
 * written at once.
 *
 * The two clocks are read by clock_read alone.  mono never jumps.  Without
 * CLOCK_MONOTONIC it is summed from differences of times(), whose ticks wrap
 * around on 32 bits.  Some systems let it run while the machine sleeps or the
 * process is stopped; nobody waits longer than an hour here, so of anything
 * beyond that only the hour counts, and mail does not age asleep.
 *
 * The heap holds times, and pointers to timers that live inside their owners;
 * each timer knows its place, so that it can be moved or taken out in
 * O(log n).
 * Room is reserved when an owner is made; after that nothing here can fail.
 *
 * The hash table chains through links inside the entries and doubles when it
 * is full; when there is no memory to double it just grows slower.
 *
 * Nothing in this file knows what mail is, and nothing here calls upwards.
 */
#include "util.h"

#ifndef NO_SYSLOG
#include <syslog.h>
#endif
#ifdef NO_MONOTONIC
#include <sys/times.h>
#endif
#ifdef NO_SYMLINK
#define lstat stat
#endif
#ifdef O_CLOEXEC
#define CLOEXEC O_CLOEXEC	/* one system call less for each file */
#else
#define CLOEXEC 0
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

static void
text_byte(struct text *t, int c)
{
	if (t->len + 1 >= t->size) {
		t->cut = 1;
		return;
	}
	t->s[t->len++] = (char)c;
	t->s[t->len] = '\0';
}

/* The bytes as they are. */
static void
text_copy(struct text *t, const char *s, size_t n)
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

/* How many of the n bytes at s may be shown as they are. */
static size_t
plain(const char *s, size_t n)
{
	size_t i;

	for (i = 0; i < n && s[i] >= 32 && s[i] < 127 && s[i] != '\\'; i++)
		;
	return i;
}

/* Copied in runs, since formatting the log was a third of all instructions
 * when each byte was looked at by itself. */
void
text_put(struct text *t, const char *s, size_t n)
{
	size_t run;
	int c;

	for (;;) {
		run = t->clean ? plain(s, n) : n;
		text_copy(t, s, run);
		if (run == n)
			return;
		c = (unsigned char)s[run];
		text_byte(t, '\\');
		text_byte(t, '0' + (c >> 6));
		text_byte(t, '0' + (c >> 3 & 7));
		text_byte(t, '0' + (c & 7));
		s += run + 1;
		n -= run + 1;
	}
}

static void
text_number(struct text *t, unsigned long u, int minus, int width, int zero)
{
	char d[3 * sizeof(u) + 1], *p = d + sizeof(d);

	do
		*--p = (char)('0' + u % 10);
	while ((u /= 10) > 0);
	width -= (int)(d + sizeof(d) - p) + minus;
	for (; !zero && width > 0; width--)
		text_byte(t, ' ');
	if (minus)
		text_byte(t, '-');
	for (; width > 0; width--)
		text_byte(t, '0');
	text_copy(t, p, (size_t)(d + sizeof(d) - p));
}

/* A string of at most prec bytes (all of it when prec < 0), padded left. */
static void
text_string(struct text *t, const char *s, int prec, int width)
{
	size_t n;

	if (s == NULL)
		s = "(none)";
	if (prec < 0)
		n = strlen(s);
	else
		for (n = 0; n < (size_t)prec && s[n] != '\0'; n++)
			;
	for (; width > 0 && (size_t)width > n; width--)
		text_byte(t, ' ');
	text_put(t, s, n);
}

static void
text_signed(struct text *t, long v, int width, int zero)
{
	text_number(t, v < 0 ? 0UL - (unsigned long)v : (unsigned long)v,
	    v < 0, width, zero);
}

void
text_vadd(struct text *t, const char *f, va_list ap)
{
	int width, prec, zero, lng;
	size_t n;

	for (; *f != '\0'; f++) {
		for (n = 0; f[n] != '%' && f[n] != '\0'; n++)
			;
		text_copy(t, f, n);
		f += n;
		if (*f++ == '\0')
			return;
		width = lng = 0;
		prec = -1;
		zero = *f == '0';
		for (; *f >= '0' && *f <= '9'; f++)
			width = width * 10 + (*f - '0');
		if (*f == '.' && f[1] == '*') {
			prec = va_arg(ap, int);
			f += 2;
		} else if (*f == '.') {
			prec = (int)num_of(f + 1, &f);
		}
		if (*f == 'l') {
			lng = 1;
			f++;
		}
		if (*f == 's')
			text_string(t, va_arg(ap, char *), prec, width);
		else if (*f == 'c')
			text_byte(t, va_arg(ap, int));
		else if (*f == 'd' && lng)
			text_signed(t, va_arg(ap, long), width, zero);
		else if (*f == 'd')
			text_signed(t, va_arg(ap, int), width, zero);
		else if (*f == 'u' && lng)
			text_number(t, va_arg(ap, unsigned long), 0, width,
			    zero);
		else if (*f == 'u')
			text_number(t, va_arg(ap, unsigned), 0, width, zero);
		else if (*f == '\0')
			return;
		else
			text_byte(t, *f);
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

/* ---- numbers and spans of time --------------------------------------- */

unsigned long
num_of(const char *s, const char **end)
{
	unsigned long u = 0;

	for (; *s >= '0' && *s <= '9'; s++)
		u = u * 10 + (unsigned long)(*s - '0');
	if (end != NULL)
		*end = s;
	return u;
}

int
num_upto(const char *s, unsigned long max, unsigned long *n, const char **end)
{
	const char *begin = s;
	unsigned long digit;

	for (*n = 0; *s >= '0' && *s <= '9'; s++) {
		digit = (unsigned long)(*s - '0');
		if (digit > max || *n > (max - digit) / 10)
			return -1;
		*n = *n * 10 + digit;
	}
	if (end != NULL)
		*end = s;
	return s == begin ? -1 : 0;
}

static long
unit_of(int c)
{
	switch (c) {
	case 's': case 'S': return 1;
	case 'm': case 'M': return 60;
	case 'h': case 'H': return 3600;
	case 'd': case 'D': return 86400L;
	}
	return 0;
}

int
span_parse(const char *s, long *span)
{
	long total = 0, v, unit;

	if (*s == '\0')
		return -1;
	while (*s != '\0') {
		if (*s < '0' || *s > '9')
			return -1;
		for (v = 0; *s >= '0' && *s <= '9'; s++) {
			if (v > (LONG_MAX - 9) / 10)
				return -1;
			v = v * 10 + (*s - '0');
		}
		unit = *s == '\0' ? 1 : unit_of(*s++);
		if (unit == 0 || v > (LONG_MAX - total) / unit)
			return -1;
		total += v * unit;
	}
	*span = total;
	return 0;
}

void
span_add(struct text *t, long s)
{
	static const char name[] = "dhms";
	int i, shown = 0;
	long unit;

	if (s < 0) {
		text_byte(t, '-');
		s = -s;
	}
	for (i = 0; i < 4 && shown < 2; i++) {
		unit = unit_of(name[i]);
		if (s < unit && !(unit == 1 && shown == 0)) {
			shown += shown > 0;
			continue;
		}
		text_signed(t, s / unit, 0, 0);
		text_byte(t, name[i]);
		s %= unit;
		shown++;
	}
}

/* ---- log ------------------------------------------------------------- */

#ifndef S_ISLNK
#define S_ISLNK(mode) 0
#endif

/* In a directory that others may write to, such as /tmp, a link or a second
 * name may be anybody's. */
int
fd_append(const char *path)
{
	struct stat st, opened;
	int fd, there = lstat(path, &st) == 0, flags = there ? 0 : O_EXCL;

	if (there && ((S_ISLNK(st.st_mode) && st.st_uid != 0 &&
	    st.st_uid != geteuid()) ||
	    (S_ISREG(st.st_mode) && st.st_nlink != 1))) {
		errno = EPERM;
		return -1;
	}
#ifdef O_NOFOLLOW
	if (there && !S_ISLNK(st.st_mode))
		flags = O_NOFOLLOW;
#endif
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_NOCTTY | flags,
	    0644);
	if (fd >= 0 && there && !S_ISLNK(st.st_mode) &&
	    (fstat(fd, &opened) < 0 || opened.st_ino != st.st_ino ||
	    opened.st_dev != st.st_dev)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	if (fd >= 0)
		fd_cloexec(fd);
	return fd;
}

int log_level = L_INFO;

static struct {
	int	fd;		/* where lines go; 2 until log_file */
	int	to_syslog;
	size_t	held;		/* bytes in buf */
	char	buf[8192];
} lg = { 2, 0, 0, "" };

void
log_open(const char *ident, int to_syslog)
{
	lg.to_syslog = to_syslog;
#ifndef NO_SYSLOG
	if (to_syslog)
		openlog(ident, LOG_PID, LOG_MAIL);
#else
	(void)ident;
#endif
}

int
log_file(const char *path)
{
	int fd;

	log_flush();
	fd = fd_append(path);
	if (fd < 0)
		return -1;
	if (lg.fd > 2)
		close(lg.fd);
	lg.fd = fd;
	return 0;
}

void
log_flush(void)
{
	size_t n = lg.held;

	lg.held = 0;
	if (n > 0)
		fd_write(lg.fd, lg.buf, n);	/* nobody to tell of an error */
}

/* Local time as YYYYMMDDhhmmss, made anew when the second changes. */
static const char *
log_stamp(void)
{
	static char stamp[20] = "00000000000000";
	static time_t last;
	time_t wall = time(NULL);
	struct tm *tm;

	if (wall != last && (tm = localtime(&wall)) != NULL &&
	    strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", tm) > 0)
		last = wall;
	return stamp;
}

static void
log_line(int level, const char *f, va_list ap)
{
	static const char *const name[] = { "err", "warn", "info", "debug" };
	char line[2048];
	struct text t;

	if (level > log_level)
		return;
	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%s %s ", log_stamp(), name[level]);
	t.clean = 1;
	text_vadd(&t, f, ap);
	while (line[t.len - 1] == ' ')
		line[--t.len] = '\0';
#ifndef NO_SYSLOG
	if (lg.to_syslog) {
		static const int prio[] = {
			LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG
		};
		syslog(prio[level], "%s", strchr(line + 15, ' ') + 1);
	}
#endif
	line[t.len++] = '\n';
	if (lg.held + t.len > sizeof(lg.buf))
		log_flush();
	memcpy(lg.buf + lg.held, line, t.len);
	lg.held += t.len;
	if (level <= L_WARN)
		log_flush();
}

void
log_err(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	log_line(L_ERR, f, ap);
	va_end(ap);
}

void
log_warn(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	log_line(L_WARN, f, ap);
	va_end(ap);
}

void
log_info(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	log_line(L_INFO, f, ap);
	va_end(ap);
}

void
log_debug(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	log_line(L_DEBUG, f, ap);
	va_end(ap);
}

/* ---- clocks ---------------------------------------------------------- */

struct clocks now;

#define STEP	30.0	/* seconds between the clocks that count as a step */
#define AWAKE_MOST 3600.0	/* seconds that may pass between two readings */

#ifdef NO_MONOTONIC
/* Seconds since the first call, from ticks that wrap around. */
static double
read_mono(void)
{
	static clock_t last;
	static double sum;
	static int started;
	struct tms unused;
	clock_t t;

	t = times(&unused);
	if (started)
		sum += (double)(long)((unsigned long)t - (unsigned long)last) /
		    (double)sysconf(_SC_CLK_TCK);
	last = t;
	started = 1;
	return sum;
}
#else
static double
read_mono(void)
{
	static time_t base;
	static int started;
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	if (!started)
		base = ts.tv_sec;
	started = 1;
	return (double)(ts.tv_sec - base) + (double)ts.tv_nsec / 1e9;
}
#endif

/* Within what a long can hold. */
static long
whole(double s)
{
	if (s > 2e9 || s < -2e9)
		return s > 0 ? 2000000000L : -2000000000L;
	return (long)s;
}

void
clock_read(void)
{
	static int started;
	static double asleep;	/* seconds that do not count */
	struct clocks was = now;
	double passed, step;

	now.mono = read_mono() - asleep;
	now.wall = time(NULL);
	passed = now.mono - was.mono;
	step = difftime(now.wall, was.wall) - passed;
	if (started && passed > AWAKE_MOST + STEP) {
		log_warn("clock-sleep by=%ld the machine or we slept; it does "
		    "not count", whole(passed));
		asleep += passed - AWAKE_MOST;
		now.mono = was.mono + AWAKE_MOST;
	}
	if (started && (step > STEP || step < -STEP))
		log_warn("clock-step by=%ld the wall clock was set; timers go "
		    "on by the other one", whole(step));
	started = 1;
}

/* ---- memory, chance, descriptors ------------------------------------- */

void *
mem_get(size_t n)
{
	void *p = calloc(1, n > 0 ? n : 1);

	if (p == NULL)
		log_err("memory bytes=%lu none to be had", (unsigned long)n);
	return p;
}

void *
mem_must(size_t n)
{
	void *p = mem_get(n);

	if (p == NULL) {
		log_flush();
		exit(X_OSERR);
	}
	return p;
}

char *
mem_dup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *p = mem_get(n);

	if (p != NULL)
		memcpy(p, s, n);
	return p;
}

static unsigned long rnd_state = 1;

void
rnd_seed(unsigned long seed)
{
	rnd_state = (seed ^ 0x9e3779b9UL) & 0xffffffffUL;
	if (rnd_state == 0)
		rnd_state = 1;
}

/* Marsaglia's 32-bit xorshift: no need to be better than fair. */
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

int
fd_cloexec(int fd)
{
	return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? -1 : 0;
}

int
fd_nonblock(int fd)
{
	int flags = fcntl(fd, F_GETFL, 0);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
		return -1;
	return 0;
}

#define FD_MOST	65536L	/* no descriptor is higher than that */

void
fd_close_from(int fd)
{
	long most = sysconf(_SC_OPEN_MAX);

	if (most < 0 || most > FD_MOST)
		most = FD_MOST;
	for (; fd < most; fd++)
		close(fd);
}

/* What was opened must be a regular file, the one seen if there is one: fd, or
 * -1 with this error. */
static int
fd_check(int fd, const struct stat *seen, struct stat *st, int error)
{
	if (fd < 0)
		return -1;
	if (fstat(fd, st) < 0 || !S_ISREG(st->st_mode) || (seen != NULL &&
	    (st->st_ino != seen->st_ino || st->st_dev != seen->st_dev))) {
		close(fd);
		errno = error;
		return -1;
	}
	if (CLOEXEC == 0)
		fd_cloexec(fd);
	return fd;
}

#ifdef O_NOFOLLOW
/* One system call less for each file.  What is no regular file and cannot be
 * opened has an error of its own on each system; then lstat tells. */
int
fd_plain(const char *path, int flags, struct stat *st)
{
	int error, fd = open(path, flags | O_NONBLOCK | O_NOCTTY |
	    O_NOFOLLOW | CLOEXEC);

	if (fd < 0) {
		error = errno;
		errno = lstat(path, st) == 0 && !S_ISREG(st->st_mode) ?
		    EINVAL : error;
	}
	return fd_check(fd, NULL, st, EINVAL);
}
#else
int
fd_plain(const char *path, int flags, struct stat *st)
{
	struct stat seen;

	if (lstat(path, &seen) < 0)
		return -1;
	if (!S_ISREG(seen.st_mode)) {
		errno = EINVAL;
		return -1;
	}
	return fd_check(open(path, flags | O_NONBLOCK | O_NOCTTY | CLOEXEC),
	    &seen, st, EAGAIN);		/* it was exchanged meanwhile */
}
#endif

#define OWN_TRIES 20	/* rounds in which the name may come and go */

/* What is there: fd, or -1 with EPERM when it is not ours to use.  By another
 * name it could be a file that somebody else has in mind. */
static int
fd_ours(const char *path, int flags)
{
	struct stat st;
	int fd = fd_plain(path, flags, &st);

	if (fd < 0) {
		if (errno == EINVAL)
			errno = EPERM;
		return -1;
	}
	if ((st.st_uid == 0 || st.st_uid == geteuid()) && st.st_nlink == 1)
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

int
fd_own(const char *path, int flags, int mode)
{
	int fd = -1, i, must = flags & O_EXCL;

	for (i = 0; i < OWN_TRIES; i++) {
		if (!must) {
			fd = fd_ours(path, flags & ~O_CREAT);
			if (fd >= 0 || errno != ENOENT || !(flags & O_CREAT))
				return fd;
		}
		fd = open(path, flags | O_EXCL | O_NOCTTY | CLOEXEC,
		    (mode_t)mode);
		if (fd >= 0 && CLOEXEC == 0)
			fd_cloexec(fd);
		if (fd >= 0 || must || errno != EEXIST)
			break;
	}
	return fd;
}

const char *
fd_own_why(void)
{
	return errno == EPERM ? "it is a link, or somebody else's; remove it" :
	    strerror(errno);
}

/* The errors of systems and file systems that do not sync directories, or not
 * for those who may not read them. */
static int
is_never(int error)
{
#ifdef ENOTSUP
	if (error == ENOTSUP)
		return 1;
#endif
#ifdef EOPNOTSUPP
	if (error == EOPNOTSUPP)
		return 1;
#endif
	return error == EINVAL || error == EBADF || error == EISDIR ||
	    error == EACCES || error == EPERM || error == ENOSYS;
}

int
dir_sync(const char *path)
{
	int bad, error, fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return is_never(errno) ? 1 : -1;
	bad = fd_sync(fd) < 0;
	error = errno;
	close(fd);
	if (!bad)
		return 0;
	errno = error;
	return is_never(error) ? 1 : -1;
}

int
fd_write(int fd, const char *s, size_t n)
{
	long k;

	while (n > 0) {
		k = (long)write(fd, s, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return -1;
		s += k;
		n -= (size_t)k;
	}
	return 0;
}

int
fd_lock(int fd)
{
	struct flock lock;

	memset(&lock, 0, sizeof(lock));
	lock.l_type = F_WRLCK;
	lock.l_whence = SEEK_SET;
	return fcntl(fd, F_SETLK, &lock) < 0 ? -1 : 0;
}

int
fd_sync(int fd)
{
#ifdef NO_FSYNC
	(void)fd;
	sync();
	return 0;
#else
	return fsync(fd);
#endif
}

int
file_sync(FILE *f)
{
	errno = EIO;	/* for a failure that sets none */
	return fflush(f) == 0 && !ferror(f) ? fd_sync(fileno(f)) : -1;
}

int
fd_replace(const char *path, const char *fresh, void (*print)(FILE *))
{
	int fd, bad;
	FILE *f;

	unlink(fresh);
	fd = fd_own(fresh, O_WRONLY | O_CREAT | O_EXCL, 0644);
	f = fd < 0 ? NULL : fdopen(fd, "w");
	if (f == NULL) {
		if (fd >= 0)
			close(fd);
		return -1;
	}
	print(f);
	bad = file_sync(f) < 0 ? errno : 0;
	if (fclose(f) != 0 && bad == 0)
		bad = errno;
	if (bad == 0 && rename(fresh, path) < 0)
		bad = errno;
	if (bad == 0)
		return 0;
	unlink(fresh);
	errno = bad;
	return -1;
}

/* ---- heap ------------------------------------------------------------ */

int
heap_room(struct heap *h, unsigned n)
{
	struct slot *v;
	unsigned size = h->size;

	if (n <= size)
		return 0;
	if (size < 16)
		size = 16;
	while (size < n)
		size *= 2;
	v = realloc(h->v, size * sizeof(*v));
	if (v == NULL) {
		log_err("memory heap=%u none to be had", size);
		return -1;
	}
	h->v = v;
	h->size = size;
	return 0;
}

static void
heap_put(struct heap *h, unsigned i, struct slot s)
{
	h->v[i] = s;
	s.timer->pos = i + 1;
}

static void
heap_up(struct heap *h, unsigned i, struct slot s)
{
	unsigned up;

	for (; i > 0; i = up) {
		up = (i - 1) / 2;
		if (h->v[up].when <= s.when)
			break;
		heap_put(h, i, h->v[up]);
	}
	heap_put(h, i, s);
}

static void
heap_down(struct heap *h, unsigned i, struct slot s)
{
	unsigned c;

	for (; (c = 2 * i + 1) < h->n; i = c) {
		if (c + 1 < h->n && h->v[c + 1].when < h->v[c].when)
			c++;
		if (s.when <= h->v[c].when)
			break;
		heap_put(h, i, h->v[c]);
	}
	heap_put(h, i, s);
}

void
heap_set(struct heap *h, struct timer *t, double when)
{
	struct slot s;

	s.when = when;
	s.timer = t;
	if (t->pos == 0)
		heap_up(h, h->n++, s);
	else if (when < h->v[t->pos - 1].when)
		heap_up(h, t->pos - 1, s);
	else
		heap_down(h, t->pos - 1, s);
}

void
heap_del(struct heap *h, struct timer *t)
{
	struct slot last;
	unsigned i = t->pos;

	if (i-- == 0)
		return;
	t->pos = 0;
	last = h->v[--h->n];
	if (last.timer == t)
		return;
	if (last.when < h->v[i].when)
		heap_up(h, i, last);
	else
		heap_down(h, i, last);
}

struct timer *
heap_first(const struct heap *h)
{
	return h->n > 0 ? h->v[0].timer : NULL;
}

double
heap_when(const struct heap *h, const struct timer *t)
{
	return h->v[t->pos - 1].when;
}

/* ---- hash ------------------------------------------------------------ */

int
hash_init(struct hash *h, unsigned size)
{
	h->n = 0;
	h->size = size;
	h->v = mem_get(size * sizeof(*h->v));
	return h->v == NULL ? -1 : 0;
}

static struct hlink **
hash_chain(const struct hash *h, unsigned long hash)
{
	return &h->v[hash & (h->size - 1)];
}

static void
hash_grow(struct hash *h)
{
	struct hash bigger;
	struct hlink *l, *next;
	unsigned i;

	bigger.size = h->size * 2;
	bigger.n = h->n;
	bigger.v = calloc(bigger.size, sizeof(*bigger.v));
	if (bigger.v == NULL)
		return;
	for (i = 0; i < h->size; i++)
		for (l = h->v[i]; l != NULL; l = next) {
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
	if (h->n / 2 >= h->size)
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

static struct hlink *
hash_same(struct hlink *l, unsigned long hash)
{
	while (l != NULL && l->hash != hash)
		l = l->next;
	return l;
}

struct hlink *
hash_first(const struct hash *h, unsigned long hash)
{
	return hash_same(*hash_chain(h, hash), hash);
}

struct hlink *
hash_next(const struct hlink *l)
{
	return hash_same(l->next, l->hash);
}

struct hlink *
hash_each(const struct hash *h, const struct hlink *l)
{
	unsigned i = 0;

	if (l != NULL && l->next != NULL)
		return l->next;
	if (l != NULL)
		i = (unsigned)(l->hash & (h->size - 1)) + 1;
	while (i < h->size && h->v[i] == NULL)
		i++;
	return i < h->size ? h->v[i] : NULL;
}

/* Fowler, Noll and Vo's hash, 32 bits. */
unsigned
hash_text(const char *s, unsigned seed)
{
	unsigned long h = (2166136261UL ^ seed) & 0xffffffffUL;

	for (; *s != '\0'; s++)
		h = ((h ^ (unsigned char)*s) * 16777619UL) & 0xffffffffUL;
	return (unsigned)h;
}
