/*
 * job.c - a job as its files show it: who is to have the message, locks on
 * them, and the message itself.
 *
 * A job is all recipients of one message with our channel and one host; one
 * without a host is for any.  They are found by reading the control file once
 * from front to end, whatever its size, and only those with a blank tag are
 * taken.  What is locked is left alone even when the owner of the lock is
 * dead: clearing such locks is the scheduler's.
 *
 * A lock is the tag '~' and our pid in the six bytes behind it, right
 * aligned; a pid of more digits is 'a' and five digits of base 36.  Since two
 * agents may be fed the same message, all are set under one fcntl lock, the
 * guard, and read back at the end.  Who has stopped while he had the guard
 * would stop the whole message, so we wait for it some tenths of a second,
 * then go on without: what was read back is all we know then.  Old files have
 * no room for the pid; there a lock would say nothing and is left out.
 *
 * A file that is damaged anywhere yields nobody, since then no offset in it
 * can be trusted.  Nothing here moves a byte of the control file or knows
 * what becomes of a recipient.
 */
#include "job.h"
#include "../lib/line.h"
#include <ctype.h>

#define WORD_SIZE	1000	/* bytes of a word, longer ones are rubbish */
#define FORMAT_KNOWN	7UL	/* bits of "@": pid, delay, M block */
#define FORMAT_PID	1UL
#define FORMAT_DELAY	2UL
#define GUARD_TRIES	16	/* at the guard, with a nap behind each */
#define GUARD_NAP	25000L	/* microseconds */

/* ---- notes ----------------------------------------------------------- */

void
lib_note(const char *f, ...)
{
	char line[1000];
	struct text t;
	va_list ap;

	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "# ");
	t.clean = 1;
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	line[t.len++] = '\n';
	fd_write(1, line, t.len);	/* only a note: no harm if it is lost */
}

/* ---- tags ------------------------------------------------------------ */

static int
put_tag(const struct lib_job *job, const struct lib_rcpt *r, const char *tag)
{
	if (lseek(job->ctl, (off_t)(r->off + 1), SEEK_SET) < 0)
		return -1;
	return fd_write(job->ctl, tag, r->with_pid ? 7 : 1);
}

void
job_set_tag(const struct lib_job *job, const struct lib_rcpt *r, int tag)
{
	char field[8];

	text_fmt(field, sizeof(field), "%c      ", tag);
	if (put_tag(job, r, field) < 0)
		lib_note("cannot set tag %c of %s at %lu: %s", tag, job->name,
		    r->off, strerror(errno));
}

static int
get_tag(const struct lib_job *job, const struct lib_rcpt *r, char *tag,
    size_t n)
{
	return lseek(job->ctl, (off_t)(r->off + 1), SEEK_SET) >= 0 &&
	    (size_t)read(job->ctl, tag, n) == n;
}

/* Waits for the guard, not long; where there are no locks, not at all. */
static void
take_guard(const struct lib_job *job)
{
	struct timeval tv;
	int i;

	for (i = 0; i < GUARD_TRIES && line_guard(job->ctl, 1) < 0 &&
	    (errno == EACCES || errno == EAGAIN); i++) {
		tv.tv_sec = 0;
		tv.tv_usec = GUARD_NAP;
		select(0, NULL, NULL, NULL, &tv);
	}
}

/* Makes the recipient ours, as far as we can tell so far. */
static void
take(const struct lib_job *job, struct lib_rcpt *r, const char *mine)
{
	char tag;

	r->unreported = get_tag(job, r, &tag, 1) && tag == ' ' &&
	    (!r->with_pid || put_tag(job, r, mine) == 0);
}

/* Is it still ours? */
static int
is_taken(const struct lib_job *job, const struct lib_rcpt *r,
    const char *mine)
{
	char found[7];

	return r->unreported && (!r->with_pid ||
	    (get_tag(job, r, found, 7) && memcmp(found, mine, 7) == 0));
}

/* ---- words ----------------------------------------------------------- */

int
lib_same(const char *a, const char *b)
{
	while (*a != '\0' && tolower((unsigned char)*a) ==
	    tolower((unsigned char)*b))
		a++, b++;
	return *a == '\0' && *b == '\0';
}

/* Cuts the word at *p out and moves *p behind it: the word, or NULL when it
 * is empty, too long or has control bytes. */
static char *
take_word(char **p)
{
	char *word = *p, *q;
	char *end = word + (line_word(word) - word);

	if (end == word || end - word >= WORD_SIZE)
		return NULL;
	for (q = word; q < end; q++)
		if (iscntrl((unsigned char)*q))
			return NULL;
	*p = *end == '\0' ? end : end + 1;
	*end = '\0';
	return word;
}

/* ((mx1 mx2)(mx3)) is fed as mx1. */
static int
host_is(const char *host, const char *wanted)
{
	char first[1024];
	size_t n;

	if (wanted == NULL || lib_same(host, wanted))
		return 1;
	if (*host != '(')
		return 0;
	host += strspn(host, "( ");
	n = strcspn(host, " ()");
	return text_fmt(first, sizeof(first), "%.*s", (int)n, host) == 0 &&
	    lib_same(first, wanted);
}

int
lib_notify(const struct lib_rcpt *r, const char *word)
{
	char item[16];
	const char *p = r->dsn;
	size_t n;

	while (p != NULL && *p != '\0') {
		p += strspn(p, " \t");
		if (text_fmt(item, 8, "%.7s", p) == 0 &&
		    lib_same(item, "NOTIFY="))
			break;
		p += strcspn(p, " \t");
	}
	if (p == NULL || *p == '\0')
		return 0;
	for (p += 7; *p != '\0' && *p != ' ' && *p != '\t'; p += n) {
		p += *p == ',';
		n = strcspn(p, ", \t");
		if (text_fmt(item, sizeof(item), "%.*s", (int)n, p) == 0 &&
		    lib_same(item, word))
			return 1;
	}
	return 0;
}

/* ---- reading the control file ---------------------------------------- */

/* The walk through one control file. */
struct scan {
	struct lib_job *job;
	const char *channel, *host;	/* wanted; no host: any */
	unsigned long format;
	int	in_block;	/* within the lines of an m or M */
	int	named;		/* the i line was there and right */
	int	bad;		/* not a file to work from */
	struct lib_rcpt **end;	/* where the next one is hung */
	struct lib_rcpt *last;	/* whose N line may follow, or NULL */
	struct lib_rcpt *bare;	/* first that has no header yet */
	unsigned long sender_at;	/* of the s line in force */
	char	sender[LINE_MAX_];	/* "" when there was none */
	struct lines l;
};

/* The sender in force; made when its first recipient is ours. */
static struct lib_sender *
sender_of(struct scan *sc)
{
	struct lib_sender *s = sc->job->senders;
	char *p;

	if (s != NULL && s->off == sc->sender_at)
		return s;
	s = mem_get(sizeof(*s) + strlen(sc->sender) + 1);
	if (s == NULL)
		return NULL;
	p = strcpy((char *)(s + 1), sc->sender);
	s->off = sc->sender_at;
	s->channel = take_word(&p);
	s->address = s->channel != NULL && take_word(&p) != NULL ?
	    take_word(&p) : NULL;
	if (s->channel == NULL)
		s->channel = "error";
	if (s->address == NULL || strcmp(s->address, "<>") == 0 ||
	    lib_same(s->channel, "error"))
		s->address = "";
	s->next = sc->job->senders;
	sc->job->senders = s;
	return s;
}

/* Where channel, host and user begin in the recipient line, NULL when it is
 * too short.  Fields for a lock and a delay come before them, if the format or
 * their look says so. */
static char *
quad_of(struct scan *sc, int *with_pid)
{
	char *p = sc->l.line + 2;

	*with_pid = sc->format & FORMAT_PID || line_has_pid(' ', p);
	if (*with_pid) {
		if (sc->l.len < 8)
			return NULL;
		p += 6;
	}
	if (sc->format & FORMAT_DELAY || line_has_pid(' ', p)) {
		if (strlen(p) < 4)
			return NULL;
		p += 4;
	}
	return p;
}

/* The privilege at the end of a recipient line, -1 when there is none. */
static long
uid_of(const char *p)
{
	int minus = *p == '-';	/* nobody is -2 on some systems */
	char *end;
	unsigned long n;

	p += minus;
	if (!isdigit((unsigned char)*p))
		return -1;
	n = strtoul(p, &end, 10);	/* what is too large is ULONG_MAX */
	if ((*end != '\0' && *end != ' ') || n > LONG_MAX)
		return -1;
	return minus ? -(long)n : (long)n;
}

/* A recipient line; what is not pending or not for us is passed over. */
static void
see_rcpt(struct scan *sc)
{
	char *p, *channel, *host, *user;
	struct lib_rcpt *r;
	int with_pid;

	sc->last = NULL;
	if (sc->l.line[1] != ' ' || sc->sender[0] == '\0' || sc->l.overlong ||
	    sc->l.len < 3 || strlen(sc->l.line) != sc->l.len ||
	    (p = quad_of(sc, &with_pid)) == NULL ||
	    (channel = take_word(&p)) == NULL ||
	    (host = take_word(&p)) == NULL ||
	    (user = take_word(&p)) == NULL ||
	    !lib_same(channel, sc->channel) || !host_is(host, sc->host))
		return;
	r = mem_get(sizeof(*r) + strlen(host) + strlen(user) + 2);
	if (r == NULL || (r->from = sender_of(sc)) == NULL) {
		free(r);	/* it stays pending: another time */
		return;
	}
	r->host = strcpy((char *)(r + 1), host);
	r->user = strcpy((char *)(r + 1) + strlen(host) + 1, user);
	r->off = sc->l.off;
	r->with_pid = with_pid;
	r->priv = uid_of(p);
	r->hdr = r->drpt = -1;
	*sc->end = sc->last = r;
	sc->end = &r->next;
	if (sc->bare == NULL)
		sc->bare = r;
}

/* The i line must repeat the file's own name, since it is a path for us. */
static void
see_name(struct scan *sc, const char *value)
{
	const char *base = strrchr(sc->job->name, '/');

	base = base == NULL ? sc->job->name : base + 1;
	sc->named = strcmp(value, base) == 0;
	sc->bad |= !sc->named;
}

/* A header block serves all recipients since the last one. */
static void
see_block(struct scan *sc)
{
	if (sc->l.len > 2)
		return;
	sc->in_block = 1;
	if (sc->l.line[0] == 'M')
		return;
	for (; sc->bare != NULL; sc->bare = sc->bare->next)
		sc->bare->hdr = (long)(sc->l.off + sc->l.len + 1);
	sc->last = NULL;
}

static void
see_line(struct scan *sc)
{
	char *value = sc->l.line + (sc->l.len > 1 ? 2 : sc->l.len);

	switch (sc->l.line[0]) {
	case '@':
		sc->format = strtoul(value, NULL, 0);
		sc->bad |= (sc->format & ~FORMAT_KNOWN) != 0;
		break;
	case 'i':
		see_name(sc, value);
		break;
	case 'o':
		sc->job->body = num_of(value, NULL);
		break;
	case 'n':
		if (sc->job->envid == NULL)
			sc->job->envid = mem_dup(value);
		break;
	case 'R':
		if (sc->job->ret == NULL)
			sc->job->ret = mem_dup(value);
		break;
	case 's':
		strcpy(sc->sender, value);
		sc->sender_at = sc->l.off;
		sc->last = NULL;
		break;
	case 'r':
		see_rcpt(sc);
		break;
	case 'N':
		if (sc->last != NULL && sc->last->dsn == NULL) {
			sc->last->drpt = (long)sc->l.off;
			sc->last->dsn = mem_dup(value);
			sc->bad |= sc->last->dsn == NULL;
		}
		break;
	case 'm':
	case 'M':
		see_block(sc);
		break;
	}
}

void
job_forget(struct lib_job *job)
{
	struct lib_rcpt *r;
	struct lib_sender *s;

	while ((r = job->rcpts) != NULL) {
		job->rcpts = r->next;
		free(r->dsn);
		free(r);
	}
	while ((s = job->senders) != NULL) {
		job->senders = s->next;
		free(s);
	}
	free(job->envid);
	free(job->ret);
	job->envid = job->ret = NULL;
}

/* Leaves in the job the recipients that are for us; none when the file is
 * damaged, since then no offset in it can be trusted. */
void
job_scan(struct lib_job *job, const char *channel, const char *host)
{
	static struct scan sc;	/* large, and there is only one at a time */

	memset(&sc, 0, offsetof(struct scan, l));
	sc.job = job;
	sc.channel = channel;
	sc.host = host;
	sc.end = &job->rcpts;
	line_start(&sc.l, job->ctl, 0);
	while (!sc.bad && line_next(&sc.l)) {
		if (sc.l.unended && sc.l.line[0] != 'd')
			sc.bad = 1;
		else if (sc.in_block)
			sc.in_block = sc.l.len > 0;
		else
			see_line(&sc);
	}
	if (sc.bad || sc.l.error != 0 || sc.in_block || !sc.named)
		job_forget(job);
}

/* Keeps the recipients that could be locked: how many. */
int
job_take(struct lib_job *job)
{
	struct lib_rcpt **p = &job->rcpts, *r;
	char mine[8];
	int n = 0;

	mine[0] = '~';
	line_lock(mine + 1, (long)getpid());
	take_guard(job);
	for (r = job->rcpts; r != NULL; r = r->next)
		take(job, r, mine);
	while ((r = *p) != NULL) {
		if (is_taken(job, r, mine)) {
			n++;
			p = &r->next;
			continue;
		}
		*p = r->next;
		free(r->dsn);
		free(r);
	}
	line_guard(job->ctl, 0);
	return n;
}

/* ---- the message ----------------------------------------------------- */

/* The header block, up to its empty line. */
static int
put_header(int fd, long at, int (*put)(void *, const char *, size_t),
    void *arg)
{
	char buf[4096];
	int bol = 1;
	long n, i;

	if (lseek(fd, (off_t)at, SEEK_SET) < 0)
		return -1;
	while ((n = (long)read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n && !(bol && buf[i] == '\n'); i++)
			bol = buf[i] == '\n';
		if (i > 0 && put(arg, buf, (size_t)i) != 0)
			return -1;
		if (i < n)
			return 0;
	}
	return -1;	/* it was there when the file was scanned */
}

/* The body, as long as it was when the file was opened. */
static int
put_body(const struct lib_job *job, int (*put)(void *, const char *, size_t),
    void *arg)
{
	off_t left = job->size - (off_t)job->body;
	struct stat st;
	char buf[8192];
	long n;

	if (lseek(job->msg, (off_t)job->body, SEEK_SET) < 0)
		return -1;
	for (; left > 0; left -= n) {
		n = (long)read(job->msg, buf, left < (off_t)sizeof(buf) ?
		    (size_t)left : sizeof(buf));
		if (n <= 0 || put(arg, buf, (size_t)n) != 0)
			return -1;
	}
	return fstat(job->msg, &st) == 0 &&
	    st.st_size == job->size ? 0 : -1;
}

int
lib_message(const struct lib_job *job, const struct lib_rcpt *r,
    int (*put)(void *, const char *, size_t), void *arg)
{
	if (lib_far != NULL)
		return lib_far->message(job, r, put, arg);
	if (r->hdr >= 0 && put_header(job->ctl, r->hdr, put, arg) < 0)
		return -1;
	return put(arg, "\n", 1) != 0 ? -1 : put_body(job, put, arg);
}
