/*
 * spool.c - reads control files, and the whole spool without a scheduler.
 *
 * If no scheduler answers, there are still the files.  transport/ has a control
 * file for each message, at its top or in directories A to Z of one or two
 * levels; queue/ has the message under the same name.  These files have the
 * sender, the pending recipients (a blank tag, or the lock of an agent), and
 * the size and age of the message.  Only a scheduler knows why a message waits.
 *
 * The same reader finds the recipients, which no dump names, and the senders,
 * which ZMailer's dump does not name.
 *
 * A directory that cannot be read is an error, since a full queue could look
 * empty.  A control file that cannot be read or understood counts as a message.
 * If a control file is gone when we come to it, the mail was delivered
 * meanwhile.
 *
 * Nothing here writes, locks, or follows a link.  A name from a dump is used in
 * a path only if it is a plain name.
 */
#include "mq.h"
#include "../lib/origin.h"

#define RCPTS_MOST	100000U		/* most recipients kept of a message */

/* ---- one message ------------------------------------------------------ */

/* Opens po/transport/name: 0, or -1 with errno. */
static int
open_ctl(struct ctl *c, const char *po, const char *name)
{
	ctl_start(c, fd_open_plain(path_in(po, "transport/%s", name), O_RDONLY,
	    NULL), name);
	return c->l.fd < 0 ? -1 : 0;
}

int
mq_open_diags(struct diags *n, const char *po, const char *name)
{
	diag_start(n, fd_open_plain(path_in(po, "transport/%s", name), O_RDONLY,
	    NULL), name);
	return n->c.l.fd < 0 ? -1 : 0;
}

/* Returns 1 if the current recipient is pending. */
static int
is_pending(const struct ctl *c)
{
	return c->l.line[1] == ' ' || c->l.line[1] == '~';
}

/* Sets size and age, if the message file can be looked at. */
static void
stat_message(struct mq_msg *m, const char *po)
{
	struct stat st;

	if (lstat(path_in(po, "queue/%s", m->name), &st) < 0 ||
	    !S_ISREG(st.st_mode))
		return;
	m->size = (double)st.st_size;
	m->age = (int)file_age((long)st.st_mtime);
}

/* Adds a command to the reason why the scheduler cannot load the message. */
static void
add_cancel_to_reason(struct mq_queue *q, struct mq_msg *m, const struct ctl *c)
{
	char why[MQ_WHY_MAX];
	const char *kept;

	text_fmt(why, sizeof(why), "%s; %s/%s is %s", m->skipped, c->channel,
	    c->host, ctl_cancels[c->cancel]);
	if (c->cancel != CANCEL_NONE && (kept = mq_intern(q, why)) != NULL)
		m->skipped = kept;
}

void
mq_read_missing(struct mq_queue *q, const char *po)
{
	static struct ctl c;	/* large for a stack */
	struct mq_msg *m;
	int letter;

	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		if (m->known || name_parse(m->name) == NULL)
			continue;
		stat_message(m, po);
		if (open_ctl(&c, po, m->name) < 0)
			continue;
		/* The sender stands before the first recipient.  Commands stand
		 * behind that recipient; they are read for a skipped message
		 * only. */
		while ((letter = ctl_next_checked_line(&c)) > 0 &&
		    (letter != 'r' || m->skipped != NULL))
			if ((letter == 's' || letter == 'e') && c.nrcpt == 0)
				m->sender = mq_intern(q, ctl_parse_sender(&c));
			else if (letter == '#' && m->skipped != NULL)
				add_cancel_to_reason(q, m, &c);
		ctl_close(&c);
	}
}

/* ---- the whole spool -------------------------------------------------- */

/* names: names of messages, while a directory is read. */
struct names {
	char	**v;
	unsigned n, room;
	int	error;		/* errno, or 0 */
};

static void
add_name(void *arg, const char *name)
{
	struct names *s = arg;

	if (mem_grow((void **)&s->v, s->n, &s->room, sizeof(*s->v)) < 0 ||
	    (s->v[s->n] = mem_dup(name)) == NULL)
		s->error = ENOMEM;
	else
		s->n++;
}

/* Compares numbers, which have about the order of arrival. */
static int
by_number(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	unsigned long m = name_num(x), n = name_num(y);

	if (m != n)
		return m < n ? -1 : 1;
	return strcmp(x, y);
}

/* Adds a recipient to the message: 0, or -1 without memory. */
static int
add_rcpt(struct mq_queue *q, unsigned msg, const struct ctl *c)
{
	struct mq_dest *d = mq_dest_get(q, c->channel, c->host);
	struct mq_job *j;

	if (d == NULL)
		return -1;
	if (d->msg != msg + 1) {
		j = mq_job_add(q, &q->msgs[msg]);
		if (j == NULL)
			return -1;
		j->dest = d;
		j->state = MQ_SPOOL;
		d->msg = msg + 1;
		d->job = q->njobs - 1;
		d->njobs++;
	}
	q->jobs[d->job].nrcpt++;
	return 0;
}

/* Adds the current line to its message: 0, or -1 without memory. */
static int
add_line(struct mq_queue *q, unsigned msg, struct ctl *c)
{
	const struct mq_dest *d;
	const char *sender;

	if (c->l.line[0] == 'r')
		return is_pending(c) ? add_rcpt(q, msg, c) : 0;
	if (c->l.line[0] == '#' && c->cancel != CANCEL_NONE &&
	    (d = mq_dest_get(q, c->channel, c->host)) != NULL &&
	    d->msg == msg + 1)
		q->jobs[d->job].what = ctl_cancels[c->cancel];
	if (c->nrcpt > 0 || strchr("es", c->l.line[0]) == NULL)
		return 0;
	sender = q->msgs[msg].sender = mq_intern(q, ctl_parse_sender(c));
	return sender == NULL ? -1 : 0;
}

/* Adds a message to the queue: 0, or -1 without memory. */
static int
load_message(struct mq_queue *q, const char *po, const char *name)
{
	static struct ctl c;	/* large for a stack */
	struct mq_msg *m;
	int letter = CTL_BAD, bad;
	unsigned i;

	if (open_ctl(&c, po, name) == 0)
		while ((letter = ctl_next_checked_line(&c)) > 0 &&
		    strchr("ers", letter) == NULL)
			;
	else if (errno == ENOENT || errno == EINVAL)
		return 0;	/* the mail is delivered, or name is no file */
	if (letter == CTL_END) {	/* only T lines (ETRN), no mail */
		ctl_close(&c);
		return 0;
	}
	m = mq_msg_get(q, name, 1);
	bad = m == NULL;
	i = bad ? 0 : (unsigned)(m - q->msgs);
	for (; !bad && letter > 0; letter = ctl_next_checked_line(&c))
		bad = add_line(q, i, &c) < 0;
	ctl_close(&c);
	if (bad)
		return -1;
	q->msgs[i].unread = letter == CTL_BAD;
	stat_message(&q->msgs[i], po);
	return 0;
}

/* Adds the messages of transport/ that the queue does not have: 0 or an exit
 * code. */
static int
load_missing(struct mq_queue *q, const char *po, char why[MQ_WHY_MAX])
{
	struct names s;
	unsigned i;

	memset(&s, 0, sizeof(s));
	if (path_walk_messages(po, "transport", add_name, &s) < 0)
		s.error = errno;
	if (s.n > 0)
		qsort(s.v, s.n, sizeof(*s.v), by_number);
	for (i = 0; i < s.n; i++) {
		if (s.error == 0 && mq_msg_get(q, s.v[i], 0) == NULL &&
		    load_message(q, po, s.v[i]) < 0)
			s.error = ENOMEM;
		free(s.v[i]);
	}
	free(s.v);
	if (s.error == 0)
		return 0;
	text_fmt(why, MQ_WHY_MAX, "%s/transport: %s", po, strerror(s.error));
	return s.error == EACCES || s.error == EPERM ? X_NOPERM :
	    X_UNAVAILABLE;
}

int
mq_read_spool(struct mq_queue *q, const char *po, char why[MQ_WHY_MAX])
{
	int rc = load_missing(q, po, why);

	if (rc != 0 || mq_read_around(q, po, 1) == 0)
		return rc;
	text_fmt(why, MQ_WHY_MAX, "%s: %s", po, strerror(ENOMEM));
	return X_UNAVAILABLE;
}

int
mq_read_evicted(struct mq_queue *q, const char *po, char why[MQ_WHY_MAX])
{
	unsigned i = q->njobs;
	int rc = load_missing(q, po, why);

	q->evicted_read = 1;
	for (; i < q->njobs; i++)
		q->jobs[i].state = MQ_EVICTED;
	return rc;
}

/* ---- the recipients of a message -------------------------------------- */

static int
by_dest(const void *a, const void *b)
{
	const struct mq_rcpt *x = a, *y = b;

	if (x->dest != y->dest)
		return x->dest->id < y->dest->id ? -1 : 1;
	return x->off < y->off ? -1 : x->off > y->off;
}

/* Adds a recipient: 0, or -1 without memory. */
static int
add_user(struct mq_rcpts *r, const struct mq_dest *d, const struct ctl *c,
    const char *reason)
{
	struct mq_rcpt *v;

	if (mem_grow((void **)&r->v, r->n, &r->room, sizeof(*r->v)) < 0)
		return -1;
	v = &r->v[r->n];
	v->dest = d;
	v->off = (unsigned)c->l.off;
	v->reason = reason;
	v->user = mem_dup(c->user);
	r->n += v->user != NULL;
	return v->user == NULL ? -1 : 0;
}

void
mq_read_rcpts(struct mq_rcpts *r, struct mq_queue *q, const struct mq_msg *m,
    const struct mq_view *view, const struct mq_pick *p)
{
	static struct ctl c;	/* large for a stack */
	struct mq_dest *d;
	int letter;

	memset(r, 0, sizeof(*r));
	if (view->postoffice == NULL)
		r->why = "the queue is on another machine";
	else if (name_parse(m->name) == NULL)
		r->why = "the name of the message is not a plain one";
	else if (open_ctl(&c, view->postoffice, m->name) < 0) {
		r->gone = errno == ENOENT;
		r->why = strerror(errno);
	}
	if (r->why != NULL)
		return;
	while ((letter = ctl_next_checked_line(&c)) > 0) {
		if (letter != 'r' || !is_pending(&c))
			continue;
		r->pending++;
		d = mq_dest_get(q, c.channel, c.host);
		if (p != NULL && d != NULL && !mq_rcpt_passes(p, d, c.user))
			continue;
		if (d == NULL || r->n == RCPTS_MOST ||
		    add_user(r, d, &c, mq_why_find(q, m, c.l.off)) < 0)
			r->more++;
	}
	ctl_close(&c);
	r->msgid = c.msgid;
	if (letter == CTL_BAD)
		r->why = "its control file is not understood";
	if (r->n > 0)
		qsort(r->v, r->n, sizeof(*r->v), by_dest);
}

struct mq_rcpt *
mq_rcpts_find(const struct mq_rcpts *r, const struct mq_job *j, unsigned *n)
{
	const struct mq_dest *d = j->dest;
	unsigned lo = 0, hi = r->n, mid;

	*n = 0;
	if (hi == 0)
		return NULL;
	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (r->v[mid].dest->id < d->id ||
		    (r->v[mid].dest == d && r->v[mid].off < j->low))
			lo = mid + 1;
		else
			hi = mid;
	}
	while (lo + *n < r->n && r->v[lo + *n].dest == d &&
	    r->v[lo + *n].off <= j->high)
		++*n;
	return r->v + lo;
}

void
mq_rcpts_free(struct mq_rcpts *r)
{
	unsigned i;

	for (i = 0; i < r->n; i++)
		free(r->v[i].user);
	free(r->v);
	memset(r, 0, sizeof(*r));
}
