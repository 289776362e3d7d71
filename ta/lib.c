/*
 * lib.c - the common half of a transport agent.
 *
 * The scheduler starts an agent with its directory in $POSTOFFICE/transport
 * and talks to it on descriptors 0 and 1, line by line:
 *
 *	agent		scheduler
 *	#hungry				give me work
 *			X/123-4 <tab> host	all of this message for host
 *	123/88 <tab> notary <tab> status text	once for each recipient
 *	#hungry
 *			#idle			nothing now, stay
 *	#hungry
 *			(empty line or end)	leave
 *
 * A job is all recipients of one message with our channel and that host; one
 * without a host is for any.  They are found by reading the control file once
 * from front to end, whatever its size, and only those with a blank tag are
 * taken.  What is locked is left alone even when the owner of the lock is
 * dead: clearing such locks is the scheduler's.  A job that leaves us nothing
 * to do, for any reason, a rubbish file included, is answered with #resync.
 *
 * A lock is the tag '~' and our pid in the six bytes behind it, right
 * aligned; a pid of more digits is 'a' and five digits of base 36.  It is set
 * under an fcntl lock of that one byte and read back, since two agents may
 * be fed the same message.  Old files have no room for the pid; there a lock
 * would say nothing and is left out.
 *
 * A verdict is made known in an order that a crash can cut anywhere: first
 * the diagnostic line, appended with one write and synced; then the report,
 * one write; last the tag.  What was cut off is at worst done again.  If a
 * failure cannot be written down, it is no failure yet: it is deferred.
 *
 * Nothing here ever moves a byte of the control file, follows a link, or
 * leaves transport/ and queue/, whatever a job or a file says.
 */
#include "lib.h"
#include "../line.h"
#include <ctype.h>
#include <signal.h>

#define WORD_SIZE	1000	/* bytes of a word, longer ones are rubbish */
#define TEXT_SIZE	1000	/* bytes of a verdict's text, cut when longer */
#define REPORT_SIZE	(2 * WORD_SIZE + 2 * TEXT_SIZE)	/* one whole report */
#define FORMAT_KNOWN	7UL	/* bits of "@": pid, delay, M block */
#define FORMAT_PID	1UL
#define FORMAT_DELAY	2UL

/* Exit codes that only ZMailer has. */
#define X_DEFERBACK	90
#define X_DEFERALL	100

static struct {
	const char *channel, *host;
	int	wake[2];		/* poked by a signal */
	volatile sig_atomic_t leave;	/* after the job at hand */
	struct lib_job *job;		/* at hand, or NULL */
} agent = { NULL, NULL, { -1, -1 }, 0, NULL };

/* ---- tags ------------------------------------------------------------ */

static int
put_tag(const struct lib_job *job, const struct lib_rcpt *r, const char *tag)
{
	if (lseek(job->ctl, (off_t)(r->off + 1), SEEK_SET) < 0)
		return -1;
	return fd_write(job->ctl, tag, r->with_pid ? 7 : 1);
}

static void
set_tag(const struct lib_job *job, const struct lib_rcpt *r, int tag)
{
	char field[8];

	text_fmt(field, sizeof(field), "%c      ", tag);
	if (put_tag(job, r, field) < 0)
		lib_note("cannot set tag %c of %s at %lu: %s", tag, job->name,
		    r->off, strerror(errno));
}

/* An fcntl lock on the tag alone; where there is none, the reading back that
 * follows has to do. */
static void
guard_tag(const struct lib_job *job, const struct lib_rcpt *r, int type)
{
	struct flock fl;

	memset(&fl, 0, sizeof(fl));
	fl.l_type = (short)type;
	fl.l_whence = SEEK_SET;
	fl.l_start = (off_t)(r->off + 1);
	fl.l_len = 1;
	while (fcntl(job->ctl, F_SETLKW, &fl) < 0 && errno == EINTR)
		;
}

static int
get_tag(const struct lib_job *job, const struct lib_rcpt *r, char *tag,
    size_t n)
{
	return lseek(job->ctl, (off_t)(r->off + 1), SEEK_SET) >= 0 &&
	    (size_t)read(job->ctl, tag, n) == n;
}

/* Makes the recipient ours: 1, or 0 when it is no longer to be had. */
static int
take(const struct lib_job *job, struct lib_rcpt *r)
{
	char mine[8], found[7];
	int got = 0;

	mine[0] = '~';
	line_lock(mine + 1, (long)getpid());
	guard_tag(job, r, F_WRLCK);
	if (get_tag(job, r, found, 1) && found[0] == ' ')
		got = !r->with_pid || (put_tag(job, r, mine) == 0 &&
		    get_tag(job, r, found, 7) && memcmp(found, mine, 7) == 0);
	guard_tag(job, r, F_UNLCK);
	r->unreported = got;
	return got;
}

/* ---- talking --------------------------------------------------------- */

/* Nobody listens any more: what has no verdict is given back. */
static void
go(void)
{
	struct lib_rcpt *r;

	if (agent.job != NULL)
		for (r = agent.job->rcpts; r != NULL; r = r->next)
			if (r->unreported)
				set_tag(agent.job, r, ' ');
	exit(0);
}

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

static void
say(const char *word, const char *name)
{
	char line[300];
	struct text t;

	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%s%s", word, name);
	line[t.len++] = '\n';
	if (fd_write(1, line, t.len) < 0)
		go();
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

/* Is WORD in the NOTIFY= list of these parameters? */
static int
notify_has(const char *dsn, const char *word)
{
	char item[16];
	const char *p = dsn;
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
	const char *host;	/* wanted, NULL: any */
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
	    !lib_same(channel, agent.channel) || !host_is(host, sc->host))
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

static void
forget(struct lib_job *job)
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
	job->envid = NULL;
}

/* Leaves in the job the recipients that are for us; none when the file is
 * damaged, since then no offset in it can be trusted. */
static void
scan(struct lib_job *job, const char *host)
{
	static struct scan sc;	/* large, and there is only one at a time */

	memset(&sc, 0, offsetof(struct scan, l));
	sc.job = job;
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
		forget(job);
}

/* ---- verdicts -------------------------------------------------------- */

/* Text for one field of one line: no separators of ours, no ends of lines
 * but as carriage returns. */
static void
add_clean(struct text *t, const char *s, int end_of_line)
{
	for (; *s != '\0'; s++)
		text_add(t, "%c", *s == '\n' || *s == '\r' ? end_of_line :
		    *s == '\t' || *s == '\1' ? ' ' : *s);
}

static void
add_notary(struct text *t, const struct lib_rcpt *r, const char *action,
    const char *status, const char *text)
{
	add_clean(t, r->user, ' ');
	text_add(t, "\1%s\1%s\1x-local; %c50 (", action, status,
	    *status == '5' || *status == '2' ? *status : '4');
	add_clean(t, text, ' ');
	text_add(t, ")\1");
}

/* Appends the diagnostic line: 0, or -1. */
static int
write_down(struct lib_job *job, const struct lib_rcpt *r, const char *notary,
    const char *text)
{
	char line[REPORT_SIZE];
	struct stat a, b;
	struct text t;
	int fd, bad;

	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%sd %lu:%ld:%ld::%ld\t%s\t%s",
	    line_cut(job->ctl) ? "\n" : "", r->off, r->hdr, r->drpt,
	    (long)time(NULL), notary, text);
	line[t.len++] = '\n';
	fd = open(job->name, O_WRONLY | O_APPEND);
	if (fd < 0)
		return -1;
	bad = fstat(fd, &a) < 0 || fstat(job->ctl, &b) < 0 ||
	    a.st_ino != b.st_ino || a.st_dev != b.st_dev ||
	    (size_t)write(fd, line, t.len) != t.len || fd_sync(fd) < 0;
	return close(fd) < 0 || bad ? -1 : 0;
}

/* What becomes of an exit code. */
enum fate { DELIVERED, LATER, BACK, ALL, FAILED, ABNORMAL, UNKNOWN };

static enum fate
fate_of(int code)
{
	switch (code) {
	case 0:
		return DELIVERED;
	case X_TEMPFAIL: case X_IOERR: case X_OSERR: case X_CANTCREAT:
	case X_SOFTWARE:
		return LATER;
	case X_DEFERBACK:
		return BACK;
	case X_DEFERALL:
		return ALL;
	case X_NOUSER: case X_NOHOST: case X_UNAVAILABLE:
		return FAILED;
	case X_NOPERM: case X_PROTOCOL: case X_USAGE:
		return ABNORMAL;
	}
	return UNKNOWN;
}

/* The report line and then the tag. */
static void
tell(struct lib_job *job, struct lib_rcpt *r, const char *notary,
    const char *verdict, const char *text, int tag)
{
	char line[REPORT_SIZE];
	struct text t;
	int heard;

	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%lu/%lu\t%s\t%s %s", job->num, r->off, notary, verdict,
	    text);
	line[t.len++] = '\n';
	heard = fd_write(1, line, t.len) == 0;
	set_tag(job, r, tag);
	r->unreported = 0;
	if (!heard)
		go();
}

static void
tell_ok(struct lib_job *job, struct lib_rcpt *r, const char *status,
    const char *notary, const char *text)
{
	int wanted = status != NULL && notify_has(r->dsn, "SUCCESS");

	if (wanted && write_down(job, r, notary, text) < 0) {
		lib_note("%s at %lu: no room for its diagnostic: %s",
		    job->name, r->off, strerror(errno));
		wanted = 0;	/* it is delivered, which must not be undone */
	}
	tell(job, r, "", wanted ? "ok2" : "ok3", text, '+');
}

static void
tell_failed(struct lib_job *job, struct lib_rcpt *r, const char *notary,
    const char *text)
{
	if (write_down(job, r, notary, text) == 0)
		tell(job, r, "", "error2", text, '-');
	else
		tell(job, r, "", "deferred",
		    "a failure, but it cannot be written down", ' ');
}

void
lib_report(struct lib_job *job, struct lib_rcpt *r, int code,
    const char *status, const char *text, long delay)
{
	char clean[TEXT_SIZE], notary[REPORT_SIZE], again[40];
	enum fate fate = fate_of(code);
	const char *action;
	struct text t;

	text_init(&t, clean, sizeof(clean));
	if (fate == UNKNOWN)
		text_add(&t, "Unknown sysexits error code %d!", code);
	else
		add_clean(&t, text, '\r');
	if (fate == ABNORMAL)
		text_add(&t, " (this is abnormal, investigate!)");
	text_init(&t, notary, sizeof(notary));
	action = fate == DELIVERED ? "delivered" : fate < FAILED ? "delayed" :
	    "failed";
	add_notary(&t, r, action, status != NULL ? status : "2.0.0", clean);
	text_fmt(again, sizeof(again), "retryat +%ld", delay);
	switch (fate) {
	case DELIVERED:
		tell_ok(job, r, status, notary, clean);
		break;
	case LATER:
		tell(job, r, notary, delay > 0 ? again : "deferred", clean,
		    ' ');
		break;
	case BACK:
		tell(job, r, notary, "deferback", clean, ' ');
		break;
	case ALL:
		tell(job, r, notary, "deferall", clean, ' ');
		break;
	case FAILED:
	case ABNORMAL:
		tell_failed(job, r, notary, clean);
		break;
	case UNKNOWN:
		tell(job, r, notary, "error", clean, '-');
		break;
	}
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

int
lib_message(const struct lib_job *job, const struct lib_rcpt *r,
    int (*put)(void *, const char *, size_t), void *arg)
{
	char buf[8192];
	long n;

	if (r->hdr >= 0 && put_header(job->ctl, r->hdr, put, arg) < 0)
		return -1;
	if (put(arg, "\n", 1) != 0 ||
	    lseek(job->msg, (off_t)job->body, SEEK_SET) < 0)
		return -1;
	while ((n = (long)read(job->msg, buf, sizeof(buf))) > 0)
		if (put(arg, buf, (size_t)n) != 0)
			return -1;
	return n < 0 ? -1 : 0;
}

/* ---- jobs ------------------------------------------------------------ */

/* X/Y/NAME where NAME begins with a digit: nothing that leads elsewhere. */
static int
is_job_name(const char *s)
{
	int level;

	for (level = 0; level < 2 && *s >= 'A' && *s <= 'Z' && s[1] == '/';
	    level++)
		s += 2;
	if (!isdigit((unsigned char)*s))
		return 0;
	for (; *s != '\0'; s++)
		if (*s == '/' || !isprint((unsigned char)*s))
			return 0;
	return 1;
}

/* Keeps the recipients that could be locked: how many. */
static int
take_all(struct lib_job *job)
{
	struct lib_rcpt **p = &job->rcpts, *r;
	int n = 0;

	while ((r = *p) != NULL) {
		if (take(job, r)) {
			n++;
			p = &r->next;
			continue;
		}
		*p = r->next;
		free(r->dsn);
		free(r);
	}
	return n;
}

static void
report_rest(struct lib_job *job, int code, const char *status,
    const char *text)
{
	struct lib_rcpt *r;

	for (r = job->rcpts; r != NULL; r = r->next)
		if (r->unreported)
			lib_report(job, r, code, status, text, 0);
}

/* The recipients are ours; now for the message itself. */
static void
work_on(struct lib_job *job, lib_work *work)
{
	char path[300];
	struct stat st;

	text_fmt(path, sizeof(path), "../queue/%s", job->name);
	job->msg = fd_plain(path, O_RDONLY, &st);
	if (job->msg < 0 && errno == ENOENT) {
		report_rest(job, X_UNAVAILABLE, "5.3.0", "the message file is "
		    "missing, so there is nothing left to deliver; please "
		    "send it again");
		return;
	}
	if (job->msg < 0) {
		report_rest(job, X_TEMPFAIL, "4.3.0", strerror(errno));
		return;
	}
	job->arrived = st.st_mtime;
	if (job->body > (unsigned long)st.st_size)
		report_rest(job, X_TEMPFAIL, "4.3.0",
		    "the message file is shorter than it should be");
	else
		work(job);
	close(job->msg);
	report_rest(job, X_SOFTWARE, "4.3.0", "the agent came to no verdict");
}

static void
do_job(char *line, lib_work *work)
{
	static struct lib_job job;
	char *host = strchr(line, '\t'), *base;
	struct stat st;

	memset(&job, 0, sizeof(job));
	if (host != NULL)
		*host++ = '\0';
	job.ctl = -1;
	if (is_job_name(line) &&
	    text_fmt(job.name, sizeof(job.name), "%s", line) == 0)
		job.ctl = fd_plain(line, O_RDWR, &st);
	if (job.ctl >= 0) {
		base = strrchr(job.name, '/');
		job.num = num_of(base == NULL ? job.name : base + 1, NULL);
		scan(&job, host != NULL ? host : agent.host);
	}
	if (job.ctl < 0 || take_all(&job) == 0) {
		say("#resync ", line);
	} else {
		agent.job = &job;
		work_on(&job, work);
		agent.job = NULL;
	}
	forget(&job);
	if (job.ctl >= 0)
		close(job.ctl);
}

/* ---- the loop -------------------------------------------------------- */

static void
on_signal(int sig)
{
	int was = errno;

	(void)sig;
	agent.leave = 1;
	if (write(agent.wake[1], "", 1) < 0)
		errno = was;	/* full: it is awake already */
	errno = was;
}

static int
catch_signals(void)
{
	static const int leave[] = { SIGTERM, SIGHUP, SIGINT, SIGQUIT };
	struct sigaction sa;
	int i;

	if (pipe(agent.wake) < 0)
		return -1;
	for (i = 0; i < 2; i++)
		if (fd_cloexec(agent.wake[i]) < 0 ||
		    fd_nonblock(agent.wake[i]) < 0)
			return -1;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = SIG_IGN;
	sigaction(SIGPIPE, &sa, NULL);
#ifdef SIGXFSZ
	sigaction(SIGXFSZ, &sa, NULL);	/* a write error is enough */
#endif
	sa.sa_handler = on_signal;
	for (i = 0; i < (int)(sizeof(leave) / sizeof(leave[0])); i++)
		sigaction(leave[i], &sa, NULL);
	return 0;
}

/* Waits for input: 1, or 0 when it is time to leave. */
static int
wait_input(void)
{
	fd_set in;
	int n;

	do {
		FD_ZERO(&in);
		FD_SET(0, &in);
		FD_SET(agent.wake[0], &in);
		n = select(agent.wake[0] + 1, &in, NULL, NULL, NULL);
	} while (n < 0 && errno == EINTR && !agent.leave);
	return n > 0 && !agent.leave;
}

/* The next line, without its newline; NULL when there will be no more. */
static char *
next_order(void)
{
	static char buf[LINE_MAX_];
	static size_t have, used;
	char *nl, *line;
	long n;

	for (;;) {
		nl = memchr(buf + used, '\n', have - used);
		if (nl != NULL) {
			line = buf + used;
			used = (size_t)(nl - buf) + 1;
			*nl = '\0';
			return line;
		}
		memmove(buf, buf + used, have - used);
		have -= used;
		used = 0;
		if (have == sizeof(buf) || !wait_input())
			return NULL;
		n = (long)read(0, buf + have, sizeof(buf) - have);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n <= 0)
			return NULL;
		have += (size_t)n;
	}
}

int
lib_run(const char *channel, const char *host, lib_work *work)
{
	char *line;

	agent.channel = channel;
	agent.host = host;
	if (catch_signals() < 0)
		return X_OSERR;
	say("#hungry", "");
	while ((line = next_order()) != NULL && *line != '\0') {
		if (*line != '#')
			do_job(line, work);
		if (agent.leave)
			break;
		say("#hungry", "");
	}
	return 0;
}
