/*
 * job.c - a job as its files show it: recipients, their locks, the message.
 *
 * A job is for the recipients of a message on our channel.  If the job line
 * names a host, or else lib_run does, the job is only for the recipients with
 * this host.  If the job line has offsets, the job is only for the recipients
 * at these offsets.  The control file is read once from front to end
 * (lib/ctlfile.c), and a recipient is taken only if its tag is blank and no
 * operator has deleted or bounced it.
 * A locked recipient is left alone even if the process with the lock is gone;
 * the scheduler removes such locks.
 *
 * A lock is the tag '~' with our process number in the six bytes behind it,
 * right aligned; a number of more digits is 'a' and five digits of base 36. Two
 * agents may be given the same message, so all locks are set under one fcntl
 * lock, the guard, and read back at the end.  (Another fcntl lock, which lib.c
 * sets by lock_set, shows that this process lives.)  A process that is stopped
 * while it has the guard would stop the whole message.  So an agent waits for
 * the guard some tenths of a second, then goes on without it; only the reading
 * back protects the recipients then.  Old files have no room for the number;
 * their recipients get no lock.
 *
 * A file that is damaged anywhere yields no recipient, since no offset in it
 * can be trusted.  This module moves no byte of the control file, and does not
 * decide about recipients.
 *
 * Three functions of lib.h are here, too, since this module is below lib.c:
 * lib_note, which it calls, and lib_show_step and lib_pass_message, which share
 * code with it.  A filter changes a message while it is passed on, for an mbox
 * or a program of sm.
 */
#include "job.h"
#include "../lib/ctlfile.h"
#include <ctype.h>

#define GUARD_TRIES	16	/* tries to get the guard */
#define GUARD_NAP	0.025	/* seconds between two tries */

/* ---- notes ----------------------------------------------------------- */

static void
put_note(const char *word, const char *f, va_list ap)
{
	char line[1000];
	struct text t;

	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%s ", word);
	t.clean = 1;
	text_vadd(&t, f, ap);
	line[t.len++] = '\n';
	fd_write(1, line, t.len);	/* a note may be lost */
}

void
lib_note(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	put_note("#", f, ap);
	va_end(ap);
}

void
lib_show_step(const char *f, ...)
{
	va_list ap;

	va_start(ap, f);
	put_note("#step", f, ap);
	va_end(ap);
}

/* ---- tags ------------------------------------------------------------ */

static int
write_tag_field(const struct lib_job *job, const struct lib_rcpt *r,
    const char *tag)
{
	return lseek(job->ctl, (off_t)(r->off + 1), SEEK_SET) < 0 ? -1 :
	    fd_write(job->ctl, tag, r->has_lock_field ? 7 : 1);
}

void
job_set_tag(const struct lib_job *job, const struct lib_rcpt *r, int tag)
{
	char field[8];

	text_fmt(field, sizeof(field), "%c      ", tag);
	if (write_tag_field(job, r, field) < 0)
		lib_note("cannot set the tag '%c' of the recipient at %lu in "
		    "%s: %s", tag, r->off, ctl_log_name(job->name),
		    strerror(errno));
}

static int
read_tag(const struct lib_job *job, const struct lib_rcpt *r, char *tag,
    size_t n)
{
	return lseek(job->ctl, (off_t)(r->off + 1), SEEK_SET) < 0 ||
	    (size_t)read(job->ctl, tag, n) != n ? -1 : 0;
}

/* Tries for a short time to get the guard; gives up at once where there are no
 * fcntl locks. */
static void
try_guard(const struct lib_job *job)
{
	int i;

	for (i = 0; i < GUARD_TRIES && lock_guard(job->ctl, 1) < 0 &&
	    (errno == EACCES || errno == EAGAIN); i++)
		fd_wait(-1, 0, GUARD_NAP);
}

/* Writes our lock and sets unreported if the recipient is pending.  is_locked
 * tests later whether the lock is still ours. */
static void
lock_rcpt(const struct lib_job *job, struct lib_rcpt *r, const char *mine)
{
	char tag;

	r->unreported = !r->cancelled && read_tag(job, r, &tag, 1) == 0 &&
	    tag == ' ' && (!r->has_lock_field ||
	    write_tag_field(job, r, mine) == 0);
}

/* Returns 1 if the recipient still has our lock. */
static int
is_locked(const struct lib_job *job, const struct lib_rcpt *r,
    const char *mine)
{
	char found[7];

	return r->unreported && (!r->has_lock_field ||
	    (read_tag(job, r, found, 7) == 0 && memcmp(found, mine, 7) == 0));
}

/* ---- reading the control file ---------------------------------------- */

const struct lib_sender *
job_get_sender(struct lib_job *job, unsigned long off, const char *address,
    const char *dsn_to)
{
	struct lib_sender *s = job->senders;
	size_t n = strlen(address) + 1;

	if (s != NULL && s->off == off)
		return s;
	s = mem_get(sizeof(*s) + n + strlen(dsn_to) + 1);
	if (s == NULL)
		return NULL;
	s->off = off;
	s->address = strcpy((char *)(s + 1), address);
	s->dsn_to = strcpy((char *)(s + 1) + n, dsn_to);
	s->next = job->senders;
	job->senders = s;
	return s;
}

/* walk: the way through one control file. */
struct walk {
	struct lib_job *job;
	const char *channel, *host;	/* address of the job; host NULL: any */
	const char *offsets;	/* of the recipients, as ",40,1200,"; NULL:
				 * any */
	struct lib_rcpt **end;	/* link for the next recipient */
	struct lib_rcpt *last;	/* recipient whose N line may follow, or NULL */
	struct lib_rcpt *bare;	/* first recipient without a header so far */
	unsigned long sender_at;	/* offset of the last s or e line */
	char	from[WORD_MAX_];	/* address of the sender */
	char	dsn_to[WORD_MAX_];	/* address that gets DSNs */
	struct ctl c;
};

/* Reads an s or e line.  An s line sets the sender and the address for DSNs; an
 * e line sets only the address for DSNs.  A text with control bytes is no
 * address. */
static void
set_sender(struct walk *w)
{
	const char *p = ctl_parse_sender(&w->c);

	while (*p != '\0' && !iscntrl((unsigned char)*p))
		p++;
	strcpy(w->dsn_to, *p != '\0' || w->c.has_long_sender ? "" : w->c.user);
	if (w->c.l.line[0] == 's')
		strcpy(w->from, w->dsn_to);
	w->sender_at = w->c.l.off;
}

/* Returns the privilege, a uid, at the end of a recipient line, or -1. */
static long
read_priv(const char *p)
{
	int minus = *p == '-';	/* nobody is -2 on some systems */
	unsigned long n;

	if (num_upto(p + minus, LONG_MAX, &n, &p) < 0 ||
	    (*p != '\0' && *p != ' '))
		return -1;
	return minus ? -(long)n : (long)n;
}

/* Returns 1 if the job is for the recipient at this offset. */
static int
is_listed(const char *offsets, unsigned long off)
{
	char word[30];

	text_fmt(word, sizeof(word), ",%lu,", off);
	return offsets == NULL || strstr(offsets, word) != NULL;
}

/* Adds the recipient of a line if he is pending and the job is for him. */
static void
add_rcpt(struct walk *w)
{
	const struct ctl *c = &w->c;
	struct lib_rcpt *r;

	w->last = NULL;
	if (c->l.line[1] != ' ' || !lib_is_same(c->channel, w->channel) ||
	    (w->host != NULL && !lib_is_same(c->host, w->host)) ||
	    !is_listed(w->offsets, c->l.off))
		return;
	r = mem_get(sizeof(*r) + strlen(c->host) + strlen(c->user) + 2);
	if (r == NULL || (r->from = job_get_sender(w->job, w->sender_at,
	    w->from, w->dsn_to)) == NULL) {
		free(r);	/* without memory, he is left to a later job */
		return;
	}
	r->host = strcpy((char *)(r + 1), c->host);
	r->user = strcpy((char *)(r + 1) + strlen(c->host) + 1, c->user);
	r->off = c->l.off;
	r->has_lock_field = c->has_lock_field;
	r->priv = read_priv(c->rest);
	r->hdr = r->drpt = -1;
	*w->end = w->last = r;
	w->end = &r->next;
	if (w->bare == NULL)
		w->bare = r;
}

/* Reads a command to delete or bounce: cancels the recipients above the line
 * that have its channel and host. */
static void
cancel_rcpts(struct walk *w)
{
	struct lib_rcpt *r = w->job->rcpts;

	for (; r != NULL && w->c.cancel != CANCEL_NONE; r = r->next)
		if (lib_is_same(r->host, w->c.host) &&
		    lib_is_same(w->channel, w->c.channel))
			r->cancelled = 1;
}

static void
apply_line(struct walk *w, int letter)
{
	struct lib_job *job = w->job;

	switch (letter) {
	case 'n':
		if (job->envid == NULL && w->c.l.len > 2)
			job->envid = mem_dup(w->c.l.line + 2);
		break;
	case 'R':
		if (job->ret == NULL && w->c.l.len > 2)
			job->ret = mem_dup(w->c.l.line + 2);
		break;
	case 's':
	case 'e':
		set_sender(w);
		break;
	case 'r':
		add_rcpt(w);
		break;
	case 'N':
		if (w->last == NULL)
			break;
		w->last->drpt = (long)w->c.l.off;
		w->last->dsn = mem_dup(w->c.l.line + 2);
		if (w->last->dsn == NULL)
			w->c.why = "there is no memory for it";
		break;
	case '#':
		cancel_rcpts(w);
		break;
	case 'm':	/* the header of all recipients since the last header */
		for (; ctl_header_of_line(&w->c) >= 0 && w->bare != NULL;
		    w->bare = w->bare->next)
			w->bare->hdr = ctl_header_of_line(&w->c);
		break;
	}
}

void
job_free(struct lib_job *job)
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

void
job_scan(struct lib_job *job, const char *channel, const char *host,
    const char *offsets)
{
	static struct walk w;	/* large, and there is only one at a time */
	int letter;

	memset(&w, 0, offsetof(struct walk, c));
	w.job = job;
	w.channel = channel;
	w.host = host;
	w.offsets = offsets;
	w.end = &job->rcpts;
	ctl_start(&w.c, job->ctl, job->name);
	w.c.keeps_capitals = 1;
	while ((letter = ctl_next_checked_line(&w.c)) > 0)
		apply_line(&w, letter);
	job->body = w.c.body;
	if (letter == CTL_BAD)
		job_free(job);
}

int
job_lock(struct lib_job *job)
{
	struct lib_rcpt **p = &job->rcpts, *r;
	char mine[8];
	int n = 0;

	mine[0] = '~';
	lock_print(mine + 1, (long)getpid());
	try_guard(job);
	for (r = job->rcpts; r != NULL; r = r->next)
		lock_rcpt(job, r, mine);
	while ((r = *p) != NULL) {
		if (is_locked(job, r, mine)) {
			n++;
			p = &r->next;
			continue;
		}
		*p = r->next;
		free(r->dsn);
		free(r);
	}
	lock_guard(job->ctl, 0);
	return n;
}

/* ---- the message ----------------------------------------------------- */

enum copy_end
job_copy_header(int fd, long at, int (*put)(void *, const char *, size_t),
    void *arg)
{
	char buf[4096];
	int bol = 1;
	long n, i;

	if (lseek(fd, (off_t)at, SEEK_SET) < 0)
		return COPY_ERROR;
	while ((n = (long)read(fd, buf, sizeof(buf))) > 0) {
		for (i = 0; i < n && !(bol && buf[i] == '\n'); i++)
			bol = buf[i] == '\n';
		if (i > 0 && put(arg, buf, (size_t)i) != 0)
			return COPY_STOPPED;
		if (i < n)
			return COPY_DONE;
	}
	return n < 0 ? COPY_ERROR : COPY_STOPPED;
}

enum copy_end
job_copy_bytes(int fd, off_t at, off_t most, int (*put)(void *, const char *,
    size_t), void *arg)
{
	char buf[8192];
	long n = 1;

	if (lseek(fd, at, SEEK_SET) < 0)
		return COPY_ERROR;
	for (; n > 0 && most > 0; most -= n) {
		n = (long)read(fd, buf, most < (off_t)sizeof(buf) ?
		    (size_t)most : sizeof(buf));
		if (n > 0 && put(arg, buf, (size_t)n) != 0)
			return COPY_STOPPED;
	}
	return n < 0 ? COPY_ERROR : COPY_DONE;
}

int
job_put_file(void *file, const char *s, size_t n)
{
	return fwrite(s, 1, n, file) == n ? 0 : -1;
}

int
lib_pass_message(const struct lib_job *job, const struct lib_rcpt *r,
    int (*put)(void *, const char *, size_t), void *arg)
{
	struct stat st;

	if (lib_far != NULL)
		return lib_far->message(job, r, put, arg);
	if ((r->hdr >= 0 && job_copy_header(job->ctl, r->hdr, put, arg) !=
	    COPY_DONE) ||
	    put(arg, "\n", 1) != 0)
		return -1;
	/* the file must have the size that it had when it was opened */
	return job_copy_bytes(job->msg, (off_t)job->body, job->size -
	    (off_t)job->body, put, arg) == COPY_DONE &&
	    fstat(job->msg, &st) == 0 && st.st_size == job->size ? 0 : -1;
}

/* ---- changes of the message ------------------------------------------ */

void
job_add_from(struct text *t, const char *sender)
{
	time_t wall = time(NULL);

	text_add(t, "From ");
	if (*sender == '\0')
		sender = "MAILER-DAEMON";
	for (; *sender != '\0'; sender++)
		text_add(t, "%c", *sender > ' ' && *sender < 0177 ?
		    *sender : '_');
	text_add(t, " %.24s", asctime(localtime(&wall)));
}

static int
filter_pass_byte(struct filter *f, int c)
{
	char byte = (char)c;
	int cr = c == '\n' && f->last != '\r' && f->crlf;

	f->last = c;
	if (cr && f->put(f->out, "\r", 1) != 0)
		return -1;
	return f->put(f->out, &byte, 1);
}

int
filter_pass_text(struct filter *f, const char *s)
{
	for (; *s != '\0'; s++)
		if (filter_pass_byte(f, (unsigned char)*s) != 0)
			return -1;
	return 0;
}

int
filter_flush(struct filter *f)
{
	static const char *const held[] = { "", "F", "Fr", "Fro", "From" };

	return f->at < 0 ? 0 : filter_pass_text(f, held[f->at]);
}

/* Only the beginning and the end of a line can change.  If a line begins with
 * ">From ", its '>' is passed on at once and the new '>' is put behind it: the
 * result, ">>From ", is the same.  So only the letters of "From " are kept back
 * until all have come. */
int
filter_convert(void *filter, const char *s, size_t n)
{
	static const char word[] = "From ";
	struct filter *f = filter;
	const char *end;
	size_t k;

	for (; n > 0; s += k, n -= k) {
		k = 1;
		if (f->at < 0 && *s != '\n') {
			end = memchr(s, '\n', n);
			k = end != NULL ? (size_t)(end - s) : n;
			f->last = s[k - 1];
			if (f->put(f->out, s, k) != 0)
				return -1;
			continue;
		}
		if (f->at >= 0 && *s == word[f->at] && f->in_body &&
		    f->quotes) {
			if (++f->at < 5)
				continue;
			f->at = -1;
			if (filter_pass_text(f, ">From ") != 0)
				return -1;
			continue;
		}
		if (filter_flush(f) != 0 ||
		    (*s == '.' && f->at == 0 && f->dots &&
		    filter_pass_byte(f, '.') != 0) ||
		    filter_pass_byte(f, (unsigned char)*s) != 0)
			return -1;
		if (f->at == 0 && *s == '>' && f->requotes)
			continue;
		if (*s == '\n' && f->at == 0)
			f->in_body = 1;
		f->at = *s == '\n' ? 0 : -1;
	}
	return 0;
}
