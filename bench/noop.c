/*
 * noop.c - a transport agent that only does what the protocol asks.
 *
 *	noop [-n DSN] CHANNEL [STATUS [TEXT]]
 *
 * For each job it reads the control file once, sets the tags of the recipients
 * with that channel and host, and reports the status (ok3).  What it has to say
 * is written when nothing more is to be read, so that jobs fed ahead cost it
 * one system call for all.  -n gives reports notary fields with this status.
 * Files of mkspool are simple, so a recipient's line is only split at blanks.
 */
#include "../lib/util.h"

#define HEADER	12		/* bytes before the channel */

static const char *channel, *status = "ok3", *text = "", *dsn;

static struct {
	char	*s;
	size_t	n, size;
} in, out, file;		/* what was read, is to be written, the file */

static char *
room(char **s, size_t *size, size_t want)
{
	if (want > *size) {
		*size = want * 2;
		*s = realloc(*s, *size);
		if (*s == NULL)
			exit(X_OSERR);
	}
	return *s;
}

static void
say(const char *s, size_t n)
{
	room(&out.s, &out.size, out.n + n);
	memcpy(out.s + out.n, s, n);
	out.n += n;
}

static void
say_all(void)
{
	if (fd_write(1, out.s, out.n) < 0)
		exit(0);
	out.n = 0;
}

/* The whole file into memory: its descriptor. */
static int
slurp(const char *name)
{
	int fd = open(name, O_RDWR);
	struct stat st;
	long n = -1;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		room(&file.s, &file.size, (size_t)st.st_size + 1);
		n = (long)read(fd, file.s, (size_t)st.st_size);
	}
	file.n = n > 0 ? (size_t)n : 0;
	return fd;
}

static int
is_mine(const char *line, size_t n, const char *host)
{
	size_t c = strlen(channel), h = strlen(host);

	return n > HEADER + c + h + 2 && line[0] == 'r' && line[1] == ' ' &&
	    memcmp(line + HEADER, channel, c) == 0 && line[HEADER + c] == ' ' &&
	    memcmp(line + HEADER + c + 1, host, h) == 0 &&
	    line[HEADER + c + 1 + h] == ' ';
}

static void
report(int fd, unsigned long num, unsigned long off)
{
	char line[1000];
	struct text t;
	int done = strncmp(status, "ok", 2) == 0;

	if (done && (lseek(fd, (off_t)off + 1, SEEK_SET) < 0 ||
	    write(fd, "+", 1) != 1))
		exit(X_IOERR);
	text_init(&t, line, sizeof(line));
	text_add(&t, "%lu/%lu\t", num, off);
	if (dsn != NULL)
		text_add(&t, "user\1delayed\1%s\1x-local\1", dsn);
	text_add(&t, "\t%s %s\n", status, text);
	say(line, t.len);
}

static void
job(char *name)
{
	char *host = strchr(name, '\t'), *base = strrchr(name, '/'), *p, *nl;
	unsigned long num;
	int fd;

	if (host == NULL)
		exit(X_PROTOCOL);
	*host++ = '\0';
	num = num_of(base == NULL ? name : base + 1, NULL);
	fd = slurp(name);
	for (p = file.s; p < file.s + file.n; p = nl + 1) {
		nl = memchr(p, '\n', (size_t)(file.s + file.n - p));
		if (nl == NULL)
			break;
		if (is_mine(p, (size_t)(nl - p), host))
			report(fd, num, (unsigned long)(p - file.s));
	}
	close(fd);
	say("#hungry\n", 8);
}

/* Does what the lines at hand say; what is left is the beginning of one. */
static void
obey(void)
{
	char *line = in.s, *nl;

	while ((nl = memchr(line, '\n', in.n)) != NULL) {
		*nl++ = '\0';
		if (*line == '\0')
			exit(0);
		if (strcmp(line, "#idle") == 0)
			say("#hungry\n", 8);
		else
			job(line);
		in.n -= (size_t)(nl - line);
		line = nl;
	}
	memmove(in.s, line, in.n);
}

int
main(int argc, char **argv)
{
	long n;
	int c;

	while ((c = getopt(argc, argv, "n:")) != -1)
		if (c == 'n')
			dsn = optarg;
		else
			return X_USAGE;
	if (optind == argc)
		return X_USAGE;
	channel = argv[optind++];
	if (optind < argc)
		status = argv[optind++];
	if (optind < argc)
		text = argv[optind];
	say("#hungry\n", 8);
	for (;;) {
		say_all();
		room(&in.s, &in.size, in.n + 16384);
		n = (long)read(0, in.s + in.n, 16384);
		if (n <= 0)
			return 0;
		in.n += (size_t)n;
		obey();
	}
}
