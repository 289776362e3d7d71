/*
 * faults.c - system calls that fail when a test wants it.
 *
 * Built by t/faults.t as a shared object and loaded before libc.  Each call
 * here counts, by kind, and goes on to the real one; some of them fail
 * instead, without having done anything.
 *
 *	FAULTS=KIND:FIRST:COUNT:ERROR	the FIRSTth call of that kind and the
 *			COUNT - 1 after it fail (0: all of them); ERROR is a
 *			name like ENOSPC, or "short": half of a write is done,
 *			or "late": it is done a moment later, and well
 *	FAULTS=KIND:*SEED:N:ERROR	each fails with a chance of 1 to N
 *	FAULTS_IN=child	not in the process that was started but in those that
 *			it forks, until they become another program
 *	FAULTS_FROM=N:NAME	calls are counted from the Nth time on that a
 *			file was opened whose name ends so
 *	FAULTS_AT=SITE	calls from this place alone are counted
 *	FAULTS_ONCE=FILE	only if FILE can be made: one fault in all
 *	FAULTS_LOG=FILE	gets a line "fault KIND N ERROR SITE" for each, and at
 *			the end "count KIND N", and "site KIND N SITE" for
 *			each place in a program from which such a call came
 *	FAULTS_SPEED=N	the clock that only goes on goes N times as fast, and
 *			select waits a part of the time
 *
 * close and fclose do their work before they fail, as they do where they fail
 * really; getc has read nothing when it fails.  What libc calls by itself is
 * not seen, and memory that it wants to look up a user is there: some do not
 * survive the lack of it.  Both names of a call that has one for large files
 * are there, so no header that renames them is used with that switch.
 */
#undef _FILE_OFFSET_BITS
#ifndef _GNU_SOURCE
#define _GNU_SOURCE 1		/* dladdr */
#endif
#include <sys/types.h>
#include <sys/select.h>
#include <sys/time.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifndef RTLD_NEXT
#define RTLD_NEXT ((void *)-1L)
#endif

enum kind {
	K_OPEN, K_CLOSE, K_READ, K_WRITE, K_LSEEK, K_STAT, K_LSTAT, K_FSTAT,
	K_RENAME, K_UNLINK, K_LINK, K_MKDIR, K_CHMOD, K_CHDIR, K_ACCESS,
	K_OPENDIR, K_READDIR, K_FCNTL, K_FSYNC, K_FTRUNCATE, K_PIPE, K_SOCKET,
	K_SOCKETPAIR, K_BIND, K_ACCEPT, K_RECV, K_SELECT, K_MKFIFO, K_FORK,
	K_EXECVE, K_DUP2, K_WAITPID, K_MEMORY, K_FOPEN, K_FDOPEN, K_FFLUSH,
	K_FCLOSE, K_UTIME, K_FCHOWN, K_SENDTO, K_LISTEN, K_SETSOCKOPT,
	K_GETCWD, K_SETGROUPS, K_SETGID, K_SETUID, K_GETC, NKINDS
};

static const char *const names[] = {
	"open", "close", "read", "write", "lseek", "stat", "lstat", "fstat",
	"rename", "unlink", "link", "mkdir", "chmod", "chdir", "access",
	"opendir", "readdir", "fcntl", "fsync", "ftruncate", "pipe", "socket",
	"socketpair", "bind", "accept", "recv", "select", "mkfifo", "fork",
	"execve", "dup2", "waitpid", "memory", "fopen", "fdopen", "fflush",
	"fclose", "utime", "fchown", "sendto", "listen", "setsockopt",
	"getcwd", "setgroups", "setgid", "setuid", "getc"
};

#define LATE	(-1)

static const struct {
	const char *name;
	int	value;
} errors[] = {
	{ "ENOSPC", ENOSPC }, { "EMFILE", EMFILE }, { "ENFILE", ENFILE },
	{ "EAGAIN", EAGAIN }, { "ENOMEM", ENOMEM }, { "EIO", EIO },
	{ "EINTR", EINTR }, { "EROFS", EROFS }, { "EACCES", EACCES },
	{ "EDQUOT", EDQUOT }, { "ENOENT", ENOENT }, { "EBADF", EBADF },
	{ "ENOLCK", ENOLCK }, { "short", 0 },
	{ "late", LATE }
};

static struct {
	int	ready;
	long	pid;		/* of the process that was started */
	int	kind;		/* -1: none */
	unsigned long first, count;
	unsigned long seed;	/* of chance; 0: by number */
	int	err;		/* 0: short */
	const char *error;
	int	in_child;
	const char *once, *log;
	const char *from;	/* or NULL: from the start */
	const char *at;		/* or NULL: from anywhere */
	unsigned long opened, armed_at, base;
	long	speed;
	unsigned long n[NKINDS];
} f;

#define SITES		1000

static struct site {
	void	*at;
	int	kind;
	int	wanted;		/* it is the one of FAULTS_AT */
	unsigned long n;
} site[SITES];

/* Where the function that fails was called from. */
#ifdef __GNUC__
#define CALLER		__builtin_return_address(0)
#else
#define CALLER		NULL
#endif

/* ---- the real ones ---------------------------------------------------- */

static void
find(void *function, const char *name)
{
	void *p = NULL;

	memcpy(&p, function, sizeof(p));
	if (p == NULL) {
		p = dlsym(RTLD_NEXT, name);
		memcpy(function, &p, sizeof(p));
	}
}

static int
real_open(const char *path, int flags)
{
	static int (*real)(const char *, int, ...);

	find(&real, "open");
	return real(path, flags, 0600);
}

/* "scheduler+1234" */
static void
name_site(void *at, char *s)
{
	Dl_info info;
	const char *base;

	strcpy(s, "?");
	if (at == NULL || dladdr(at, &info) == 0 || info.dli_fname == NULL)
		return;
	base = strrchr(info.dli_fname, '/');
	sprintf(s, "%.60s+%lx", base == NULL ? info.dli_fname : base + 1,
	    (unsigned long)((char *)at - (char *)info.dli_fbase));
}

static void
note(const char *what, const char *kind, unsigned long n, const char *error,
    void *at)
{
	static ssize_t (*real)(int, const void *, size_t);
	static int (*real_close)(int);
	char line[200], where[100];
	int fd;

	if (f.log == NULL)
		return;
	find(&real, "write");
	find(&real_close, "close");
	name_site(at, where);
	sprintf(line, "%s %s %lu %s %s\n", what, kind, n, error, where);
	fd = real_open(f.log, O_WRONLY | O_CREAT | O_APPEND);
	if (fd >= 0 && real(fd, line, strlen(line)) < 0)
		f.log = NULL;
	if (fd >= 0)
		real_close(fd);
}

/* ---- what is to fail ---------------------------------------------------- */

static void
configure(const char *s)
{
	char word[4][40];
	size_t i, n;

	f.kind = -1;
	for (i = 0; s != NULL && i < 4; i++) {
		n = strcspn(s, ":");
		if (n >= sizeof(word[i]))
			return;
		memcpy(word[i], s, n);
		word[i][n] = '\0';
		s = s[n] == '\0' ? NULL : s + n + 1;
	}
	if (i < 4)
		return;
	if (word[1][0] == '*')
		f.seed = strtoul(word[1] + 1, NULL, 10) | 1;
	else
		f.first = strtoul(word[1], NULL, 10);
	f.count = strtoul(word[2], NULL, 10);
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++)
		if (strcmp(errors[i].name, word[3]) == 0) {
			f.err = errors[i].value;
			f.error = errors[i].name;
		}
	for (i = 0; i < NKINDS; i++)
		if (strcmp(names[i], word[0]) == 0 && f.error != NULL)
			f.kind = (int)i;
}

static void
set_up(void)
{
	const char *s;

	if (f.ready)
		return;
	f.ready = 1;
	f.pid = (long)getpid();
	f.log = getenv("FAULTS_LOG");
	f.once = getenv("FAULTS_ONCE");
	s = getenv("FAULTS_FROM");
	f.armed_at = s == NULL ? 0 : strtoul(s, NULL, 10);
	f.from = s == NULL ? NULL : strchr(s, ':') + 1;
	f.at = getenv("FAULTS_AT");
	s = getenv("FAULTS_SPEED");
	f.speed = s == NULL ? 1 : atol(s);
	s = getenv("FAULTS_IN");
	f.in_child = s != NULL && strcmp(s, "child") == 0;
	configure(getenv("FAULTS"));
}

static int
chance(void)
{
	f.seed ^= f.seed << 13 & 0xffffffffUL;
	f.seed ^= f.seed >> 17;
	f.seed ^= f.seed << 5 & 0xffffffffUL;
	return f.seed % f.count == 0;
}

/* Long enough for others to do something before a call that is to come. */
static void
be_late(void)
{
	struct timespec ts;

	ts.tv_sec = 0;
	ts.tv_nsec = 300000L;
	nanosleep(&ts, NULL);
}

/* The place, with this call counted; NULL when it cannot be known. */
static const struct site *
count_site(enum kind kind, void *at)
{
	char where[100];
	struct site *s;

	for (s = site; s < site + SITES && s->at != NULL; s++)
		if (s->at == at && s->kind == (int)kind)
			break;
	if (at == NULL || s == site + SITES)
		return NULL;
	if (s->at == NULL && f.at != NULL) {
		name_site(at, where);
		s->wanted = strcmp(where, f.at) == 0;
	}
	s->at = at;
	s->kind = (int)kind;
	s->n++;
	return s;
}

/* A file was opened. */
static void
opened(const char *path)
{
	size_t len = strlen(path), end;

	if (f.from == NULL || f.kind < 0 || (long)getpid() != f.pid)
		return;
	end = strlen(f.from);
	if (len >= end && strcmp(path + len - end, f.from) == 0 &&
	    ++f.opened == f.armed_at)
		f.base = f.n[f.kind];
}

#define fails(kind)	fails_at(kind, CALLER)

/* Is this call to fail?  Then errno is set. */
static int
fails_at(enum kind kind, void *at)
{
	int fd, err = errno;
	const struct site *s;
	unsigned long n;

	set_up();
	if (((long)getpid() != f.pid) != f.in_child)
		return 0;
	n = ++f.n[kind];
	s = count_site(kind, at);
	if ((int)kind != f.kind || f.opened < f.armed_at)
		return 0;
	if (f.at != NULL && (s == NULL || !s->wanted))
		return 0;
	n = f.at != NULL ? s->n : n - f.base;
	if (f.seed != 0 ? !chance() : n < f.first ||
	    (f.count > 0 && n >= f.first + f.count))
		return 0;
	if (f.once != NULL) {
		fd = real_open(f.once, O_WRONLY | O_CREAT | O_EXCL);
		errno = err;
		if (fd < 0)
			return 0;
		close(fd);
	}
	if (f.err == LATE) {
		be_late();
		errno = err;
		return 0;
	}
	note("fault", names[kind], n, f.error, at);
	errno = f.err;
	return 1;
}

/* Run at the end by the loader; without that nothing is counted. */
#ifdef __GNUC__
static void sum_up(void) __attribute__((destructor));
#endif

static void
sum_up(void)
{
	int i;

	if ((long)getpid() != f.pid)
		return;
	for (i = 0; i < NKINDS; i++)
		if (f.n[i] > 0)
			note("count", names[i], f.n[i], "-", NULL);
	for (i = 0; i < SITES && site[i].at != NULL; i++)
		note("site", names[site[i].kind], site[i].n, "-", site[i].at);
}

/* ---- calls that return -1 ------------------------------------------------ */

#define WRAP(kind, type, name, params, args)			\
	type name params;					\
	type name params					\
	{							\
		static type (*real) params;			\
								\
		find(&real, #name);				\
		return fails(kind) ? (type)-1 : real args;	\
	}

WRAP(K_READ, ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
WRAP(K_RECV, ssize_t, recv, (int fd, void *p, size_t n, int flags),
    (fd, p, n, flags))
WRAP(K_LSEEK, off_t, lseek, (int fd, off_t off, int how), (fd, off, how))
#ifdef __GLIBC__
WRAP(K_LSEEK, __off64_t, lseek64, (int fd, __off64_t off, int how),
    (fd, off, how))
WRAP(K_STAT, int, stat64, (const char *path, void *st), (path, st))
WRAP(K_LSTAT, int, lstat64, (const char *path, void *st), (path, st))
WRAP(K_FSTAT, int, fstat64, (int fd, void *st), (fd, st))
WRAP(K_FTRUNCATE, int, ftruncate64, (int fd, __off64_t n), (fd, n))
#endif
WRAP(K_STAT, int, stat, (const char *path, void *st), (path, st))
WRAP(K_LSTAT, int, lstat, (const char *path, void *st), (path, st))
WRAP(K_FSTAT, int, fstat, (int fd, void *st), (fd, st))
WRAP(K_FTRUNCATE, int, ftruncate, (int fd, off_t n), (fd, n))
WRAP(K_RENAME, int, rename, (const char *from, const char *to), (from, to))
WRAP(K_UNLINK, int, unlink, (const char *path), (path))
WRAP(K_LINK, int, link, (const char *from, const char *to), (from, to))
WRAP(K_MKDIR, int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(K_CHMOD, int, chmod, (const char *path, mode_t mode), (path, mode))
WRAP(K_CHDIR, int, chdir, (const char *path), (path))
WRAP(K_ACCESS, int, access, (const char *path, int mode), (path, mode))
WRAP(K_FSYNC, int, fsync, (int fd), (fd))
WRAP(K_PIPE, int, pipe, (int fd[2]), (fd))
WRAP(K_SOCKET, int, socket, (int a, int b, int c), (a, b, c))
WRAP(K_SOCKETPAIR, int, socketpair, (int a, int b, int c, int fd[2]),
    (a, b, c, fd))
WRAP(K_BIND, int, bind, (int fd, const void *p, unsigned n), (fd, p, n))
WRAP(K_ACCEPT, int, accept, (int fd, void *p, void *n), (fd, p, n))
WRAP(K_MKFIFO, int, mkfifo, (const char *path, mode_t mode), (path, mode))
WRAP(K_FORK, int, fork, (void), ())
WRAP(K_EXECVE, int, execve, (const char *path, char *const argv[],
    char *const env[]), (path, argv, env))
WRAP(K_DUP2, int, dup2, (int from, int to), (from, to))
WRAP(K_FFLUSH, int, fflush, (FILE *s), (s))
WRAP(K_UTIME, int, utime, (const char *path, const void *t), (path, t))
WRAP(K_FCHOWN, int, fchown, (int fd, uid_t u, gid_t g), (fd, u, g))
WRAP(K_SENDTO, ssize_t, sendto, (int fd, const void *p, size_t n, int flags,
    const void *to, unsigned len), (fd, p, n, flags, to, len))
WRAP(K_LISTEN, int, listen, (int fd, int n), (fd, n))
WRAP(K_SETSOCKOPT, int, setsockopt, (int fd, int level, int name,
    const void *p, unsigned n), (fd, level, name, p, n))
WRAP(K_SETGROUPS, int, setgroups, (size_t n, const gid_t *g), (n, g))
WRAP(K_SETGID, int, setgid, (gid_t g), (g))
WRAP(K_SETUID, int, setuid, (uid_t u), (u))
WRAP(K_WAITPID, int, waitpid, (int pid, int *status, int how),
    (pid, status, how))

/* ---- those that are different -------------------------------------------- */

#define WRAP_OPEN(name)							\
	int name(const char *path, int flags, ...);			\
	int name(const char *path, int flags, ...)			\
	{								\
		static int (*real)(const char *, int, ...);		\
		va_list ap;						\
		int mode;						\
									\
		va_start(ap, flags);					\
		mode = flags & O_CREAT ? va_arg(ap, int) : 0;		\
		va_end(ap);						\
		find(&real, #name);					\
		if (fails(K_OPEN))					\
			return -1;					\
		mode = real(path, flags, mode);				\
		if (mode >= 0)						\
			opened(path);					\
		return mode;						\
	}

#define WRAP_FCNTL(name)						\
	int name(int fd, int what, ...);				\
	int name(int fd, int what, ...)					\
	{								\
		static int (*real)(int, int, ...);			\
		va_list ap;						\
		void *arg;						\
									\
		va_start(ap, what);					\
		arg = va_arg(ap, void *);				\
		va_end(ap);						\
		find(&real, #name);					\
		return fails(K_FCNTL) ? -1 : real(fd, what, arg);	\
	}

#define WRAP_FOPEN(name)						\
	FILE *name(const char *path, const char *how);			\
	FILE *name(const char *path, const char *how)			\
	{								\
		static FILE *(*real)(const char *, const char *);	\
									\
		find(&real, #name);					\
		return fails(K_FOPEN) ? NULL : real(path, how);		\
	}

#define WRAP_POINTER(kind, name, type)					\
	void *name(type arg);						\
	void *name(type arg)						\
	{								\
		static void *(*real)(type);				\
									\
		find(&real, #name);					\
		return fails(kind) ? NULL : real(arg);			\
	}

WRAP_OPEN(open)
WRAP_FCNTL(fcntl)
WRAP_FOPEN(fopen)
WRAP_POINTER(K_OPENDIR, opendir, const char *)
WRAP_POINTER(K_READDIR, readdir, void *)
#ifdef __GLIBC__
WRAP_OPEN(open64)
WRAP_FOPEN(fopen64)
WRAP_FCNTL(fcntl64)
WRAP_POINTER(K_READDIR, readdir64, void *)
#endif

ssize_t
write(int fd, const void *p, size_t n)
{
	static ssize_t (*real)(int, const void *, size_t);

	find(&real, "write");
	if (!fails(K_WRITE))
		return real(fd, p, n);
	return f.err != 0 ? -1 : real(fd, p, n > 1 ? n / 2 : n);
}

int
close(int fd)
{
	static int (*real)(int);
	int done;

	find(&real, "close");
	done = real(fd);
	return fails(K_CLOSE) ? -1 : done;
}

int
fclose(FILE *s)
{
	static int (*real)(FILE *);
	int done;

	find(&real, "fclose");
	done = real(s);
	return fails(K_FCLOSE) ? EOF : done;
}

#undef getc

int
getc(FILE *s)
{
	static int (*real)(FILE *);

	find(&real, "getc");
	if (!fails(K_GETC))
		return real(s);
	putc('\n', s);	/* sets the error indicator, as s is not for writing */
	errno = f.err;
	return EOF;
}

FILE *
fdopen(int fd, const char *how)
{
	static FILE *(*real)(int, const char *);

	find(&real, "fdopen");
	return fails(K_FDOPEN) ? NULL : real(fd, how);
}

char *
getcwd(char *s, size_t n)
{
	static char *(*real)(char *, size_t);

	find(&real, "getcwd");
	return fails(K_GETCWD) ? NULL : real(s, n);
}

/* ---- memory --------------------------------------------------------------- */

/* dlsym may want some before the real ones are known. */
static char spare[16384];
static size_t spared;

static void *
from_spare(size_t n)
{
	void *p = spare + spared;

	n = (n + 15) / 16 * 16;
	if (n > sizeof(spare) - spared)
		return NULL;
	spared += n;
	return p;
}

static int
is_spare(const void *p)
{
	return (const char *)p >= spare &&
	    (const char *)p < spare + sizeof(spare);
}

static int finding, in_libc;

#define WRAP_LOOKUP(name)				\
	void *name(const char *arg);			\
	void *name(const char *arg)			\
	{						\
		static void *(*real)(const char *);	\
		void *p;				\
							\
		find(&real, #name);			\
		in_libc++;				\
		p = real(arg);				\
		in_libc--;				\
		return p;				\
	}

WRAP_LOOKUP(getpwnam)
WRAP_LOOKUP(getgrnam)
WRAP_LOOKUP(gethostbyname)

#define FIND(real, name)		\
	do {				\
		finding++;		\
		find(&real, name);	\
		finding--;		\
	} while (0)

void *
malloc(size_t n)
{
	static void *(*real)(size_t);

	if (finding)
		return from_spare(n);
	FIND(real, "malloc");
	return !in_libc && fails(K_MEMORY) ? NULL : real(n);
}

void *
calloc(size_t n, size_t each)
{
	static void *(*real)(size_t, size_t);

	if (finding)
		return from_spare(n * each);
	FIND(real, "calloc");
	return !in_libc && fails(K_MEMORY) ? NULL : real(n, each);
}

void *
realloc(void *p, size_t n)
{
	static void *(*real)(void *, size_t);

	if (finding || is_spare(p))
		return NULL;
	FIND(real, "realloc");
	return !in_libc && fails(K_MEMORY) ? NULL : real(p, n);
}

void
free(void *p)
{
	static void (*real)(void *);

	if (is_spare(p))
		return;
	FIND(real, "free");
	real(p);
}

/* ---- time ------------------------------------------------------------------ */

int
clock_gettime(clockid_t id, struct timespec *ts)
{
	static int (*real)(clockid_t, struct timespec *);
	static double base;
	static int based;
	double t;
	int done;

	set_up();
	find(&real, "clock_gettime");
	done = real(id, ts);
	if (id != CLOCK_MONOTONIC || f.speed <= 1 || done < 0)
		return done;
	t = (double)ts->tv_sec + (double)ts->tv_nsec / 1e9;
	if (!based) {
		based = 1;
		base = t;
	}
	t = base + (t - base) * (double)f.speed;
	ts->tv_sec = (time_t)t;
	ts->tv_nsec = (long)((t - (double)ts->tv_sec) * 1e9);
	return 0;
}

int
select(int n, fd_set *in, fd_set *out, fd_set *other, struct timeval *tv)
{
	static int (*real)(int, fd_set *, fd_set *, fd_set *,
	    struct timeval *);
	struct timeval part;
	double t;

	find(&real, "select");
	if (fails(K_SELECT))
		return -1;
	if (tv == NULL || f.speed <= 1)
		return real(n, in, out, other, tv);
	t = ((double)tv->tv_sec + (double)tv->tv_usec / 1e6) /
	    (double)f.speed;
	part.tv_sec = (time_t)t;
	part.tv_usec = (long)((t - (double)part.tv_sec) * 1e6) + (t > 0);
	return real(n, in, out, other, &part);
}
