/*
 * dump.c - the queue in writing, for mailq.
 *
 * What is written is ZMailer's format "zmailer 1.0" byte for byte: vertices
 * with a number each, the same numbers by channel and by host, "End:", and a
 * report on rings and threads.  Behind it come the facts that this format has
 * no room for; whoever does not know them stops reading before:
 *
 *	Facts:
 *	p  post office			m  message  age  size  flags  sender
 *	t  wall clock  uptime		v  number  state  next  expires  tries
 *	a  set aside  double bounces	   agent  what it waits for
 *	d  channel  host  window	r  number  offset  reason
 *	   limit  agents  good  bad	s  file  next look  why it is skipped
 *	   dead until  rate  why	End:
 *	   idle  cohorts  unused
 *	   ready  waiting  tries	e  evicted
 *
 * Fields are parted by tabs, times are seconds, "-" is never or none.  The
 * number of a vertex goes by message number, then channel and host.  Flags is
 * "h" for a message that is held.  Recipients of a vertex have r lines when
 * their reasons are not all the same.  Of a destination, good and bad are
 * reports, cohorts are hundredths, and ready and waiting are vertices.  The
 * states of a vertex:
 *
 *	retry	for its own time		host	for its dead host
 *	run	an agent has it			agent	none can be started
 *	next	its turn comes at once		limit	the one that is named
 *	held	"message", or the pattern	queueonly  for a T line
 *	frozen	by -F or -p			command	no clause has one
 *
 * A dump is made by a child of the scheduler, whose memory is the queue as it
 * was when it was forked: one consistent moment.  It may take as long as it
 * likes, and it may block: an alarm ends it when its reader takes nothing for
 * a while.  It changes nothing.  Sender and size are read from the spool, as
 * core does not hold them; a message that has gone meanwhile shows "?".
 *
 * A channel or a host is a word of printing bytes without blanks in that
 * format: any other byte of it, and the backslash, is written as \ooo.  Texts
 * of messages and agents are shown without control bytes.
 */
#include "scheduler.h"
#include <dirent.h>
#include <signal.h>
#ifdef NO_SYMLINK
#define lstat stat
#endif

#define STUCK		60	/* seconds until a reader is given up ... */
#define WANTED		2	/* ... when somebody else waits */

static volatile sig_atomic_t wanted;	/* somebody else waits */

static struct {
	int	fd;
	size_t	used;
	char	buf[8192];
} out;

static struct {
	const struct vertex **v;	/* all that are not done, in order */
	unsigned *by;		/* places in v, in the order of a word */
	unsigned n;
} rows;

/* ---- writing --------------------------------------------------------- */

/* The scheduler sends SIGCONT when somebody else waits. */
static void
hurry(int sig)
{
	(void)sig;
	if (!wanted)
		alarm(WANTED);
	wanted = 1;
}

/* Nobody is there to read: the dump's process has no other purpose. */
static void
flush(void)
{
	alarm(wanted ? WANTED : STUCK);
	if (out.used > 0 && fd_write(out.fd, out.buf, out.used) < 0)
		_exit(1);
	out.used = 0;
}

static void
put(const char *s, size_t n)
{
	size_t k;

	for (; n > 0; s += k, n -= k) {
		if (out.used == sizeof(out.buf))
			flush();
		k = sizeof(out.buf) - out.used;
		k = k < n ? k : n;
		memcpy(out.buf + out.used, s, k);
		out.used += k;
	}
}

static void
emit(const char *f, ...)
{
	char piece[3 * WORD_MAX_];
	struct text t;
	va_list ap;

	text_init(&t, piece, sizeof(piece));
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	put(piece, t.len);
}

/* A word or text of somebody else's; its ends of lines are '\r'. */
static void
emit_clean(const char *s, int ends)
{
	char c;

	for (; *s != '\0'; s++) {
		c = *s;
		if (((unsigned char)c < ' ' && !(c == '\r' && ends)) ||
		    c == 127)
			c = '?';
		put(&c, 1);
	}
}

/* A channel or a host: how many bytes that is. */
static int
emit_word(const char *s)
{
	int c, n;

	for (n = 0; (c = (unsigned char)*s) != '\0'; s++)
		if (c > ' ' && c < 127 && c != '\\') {
			put(s, 1);
			n++;
		} else {
			emit("\\%d%d%d", c >> 6, c >> 3 & 7, c & 7);
			n += 4;
		}
	return n;
}

/* As ZMailer does: days and hours, or hours, minutes and seconds. */
static void
emit_span(long s)
{
	if (s < 0) {
		emit("-");
		s = -s;
	}
	if (s >= 86400L) {
		emit("%ldd", s / 86400L);
		if (s % 86400L >= 3600)
			emit("%ldh", s % 86400L / 3600);
		return;
	}
	if (s >= 3600)
		emit("%ldh", s / 3600);
	if (s % 3600 >= 60)
		emit("%ldm", s % 3600 / 60);
	if (s % 60 > 0 || s < 60)
		emit("%lds", s % 60);
}

static long
from_now(double mono)
{
	return (long)mono - (long)now.mono;
}

/* ---- what a vertex waits for ----------------------------------------- */

struct waiting {
	const char *state;	/* as in the essay */
	const char *what;
	long	next;		/* seconds until it is tried, -1: not known */
};

/* One that could be fed if something else allowed it. */
static void
why_not_fed(const struct vertex *v, struct waiting *w)
{
	const struct thread *t = v->thread;
	const struct ring *r = t->ring;

	if (fb_wait(t->dest, t->fb, now.mono) > 0) {
		w->state = "limit";
		w->what = "rate";
		w->next = (long)fb_wait(t->dest, t->fb, now.mono);
	} else if (t->nstart > 0) {
		w->state = "next";	/* its agent is about to begin */
		w->next = 0;
	} else if (order_blocked(v)) {
		w->state = "limit";
		w->what = "PARAMmsgconcurrency";
	} else if (!t->open && t->turn.pos == 0 && t->nta > 0) {
		w->state = "limit";
		w->what = t->box != 0 ? "mailbox" : "maxthr";
	} else if (r->pending != NULL) {
		w->state = "limit";
		w->what = r->pending;
	} else {
		w->state = "next";
		w->next = 0;
	}
}

static void
waiting_for(const struct vertex *v, struct waiting *w)
{
	/* by enum why */
	static const char *const states[] = { "next", "run", "held", "held",
	    "frozen", "command", "queueonly", "host", "retry", "agent" };
	const struct thread *t = v->thread;
	double until;
	enum why why = th_why(v, &until);

	w->state = states[why];
	w->what = "";
	w->next = -1;
	if (why == WHY_FED)
		w->next = 0;
	else if (why == WHY_HELD_MESSAGE)
		w->what = "message";
	else if (why == WHY_HELD)
		w->what = t->held;
	else if (why == WHY_FROZEN)
		w->what = opt.freeze ? "-F" : "-p";
	else if (why == WHY_NO_AGENT && t->ring->trouble != NULL)
		w->what = t->ring->trouble;
	if (why == WHY_HOST && t->box != 0)
		w->state = "retry";
	if (why >= WHY_HOST)
		w->next = from_now(until);
	else if (why == WHY_NOT)
		why_not_fed(v, w);
}

/* ---- vertices -------------------------------------------------------- */

static const char *
channel_of(const struct vertex *v)
{
	return v->thread->ring->chan->name;
}

static int
by_number(const void *a, const void *b)
{
	const struct vertex *v = *(const struct vertex *const *)a;
	const struct vertex *w = *(const struct vertex *const *)b;
	int c;

	if (v->msg->link.hash != w->msg->link.hash)
		return v->msg->link.hash < w->msg->link.hash ? -1 : 1;
	c = strcmp(v->msg->name, w->msg->name);
	if (c == 0)
		c = strcmp(channel_of(v), channel_of(w));
	return c != 0 ? c : strcmp(v->thread->host, w->thread->host);
}

static int
by_channel(const void *a, const void *b)
{
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	int c = strcmp(channel_of(rows.v[i]), channel_of(rows.v[j]));

	return c != 0 ? c : i < j ? -1 : i > j;
}

static int
by_host(const void *a, const void *b)
{
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	int c = strcmp(rows.v[i]->thread->host, rows.v[j]->thread->host);

	return c != 0 ? c : i < j ? -1 : i > j;
}

/* All vertices that are not done: 0, or -1 without memory. */
static int
collect(void)
{
	const struct message *m;
	struct hlink *l;
	struct vertex *v;
	unsigned i, n = 0;

	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next)
			n += OWNER(struct message, link, l)->left;
	rows.v = mem_get((n + 1) * sizeof(*rows.v));
	rows.by = mem_get((n + 1) * sizeof(*rows.by));
	if (rows.v == NULL || rows.by == NULL)
		return -1;
	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			for (v = msg_first(m); v != NULL; v = msg_next(v))
				if (v->state != V_DONE)
					rows.v[rows.n++] = v;
		}
	qsort(rows.v, rows.n, sizeof(*rows.v), by_number);
	return 0;
}

/* In the words that ZMailer's mailq shows. */
static void
emit_state(const struct vertex *v)
{
	struct waiting w;

	waiting_for(v, &w);
	if (strcmp(w.state, "run") == 0) {
		emit("running now, pid=%d", v->ta->pid);
	} else if (w.next > 0) {
		emit("retry in ");
		emit_span(w.next);
	} else if (strcmp(w.what, "maxta") == 0) {
		emit("waiting for slot");
	} else if (strcmp(w.what, "maxchannel") == 0) {
		emit("waiting for channel slot");
	} else if (strcmp(w.state, "limit") == 0) {
		emit("waiting for thread slot");
	} else {
		emit("activation pending, thread inactive");
	}
}

static void
emit_vertex(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const struct message *m = v->msg;
	const struct setting *s = &v->thread->ring->conf->v;
	const char *host = v->thread->dest->reason, *sep = " ";
	char said[REASONS_MOST];
	struct text why;
	unsigned k;

	emit("%u:\t%s\t%u;", i + 1, m->name, v->left);
	for (k = 0; k < v->nr; k++)
		if (v->r[k].state == RC_PENDING) {
			emit("%s%u", sep, v->r[k].off);
			sep = ",";
		}
	emit("\t#");
	text_init(&why, said, sizeof(said));
	reason_all(v, &why);
	if (why.len == 0 && host != NULL)
		text_add(&why, "%s", host);
	emit_clean(said, 1);
	emit(why.len > 0 ? " (" : "(");
	emit_state(v);
	if (s->expiry > 0) {
		emit(", expires in ");
		emit_span(m->born + s->expiry - (long)now.mono);
		emit(", tries=%u", (unsigned)v->tries);
	}
	emit(")\n");
}

/* The numbers of all vertices, those with one word on a line. */
static void
emit_groups(int (*order)(const void *, const void *))
{
	const struct vertex *v;
	const char *word = NULL, *next;
	unsigned i;

	for (i = 0; i < rows.n; i++)
		rows.by[i] = i;
	qsort(rows.by, rows.n, sizeof(*rows.by), order);
	for (i = 0; i < rows.n; i++) {
		v = rows.v[rows.by[i]];
		next = order == by_host ? v->thread->host : channel_of(v);
		if (word == NULL || strcmp(word, next) != 0) {
			emit(word == NULL ? "" : "\n");
			emit_word(next);
			emit(":\t");
			word = next;
		}
		emit(">%u", rows.by[i] + 1);
	}
	emit("\n");
}

static void
emit_vertices(void)
{
	unsigned i;

	emit("version zmailer 1.0\nVertices:\n");
	for (i = 0; i < rows.n; i++)
		emit_vertex(i);
	if (rows.n > 0) {
		emit("Channels:\n");
		emit_groups(by_channel);
		emit("Hosts:\n");
		emit_groups(by_host);
	}
	emit("End:\n");
}

/* ---- the report ------------------------------------------------------ */

/* Name={a,b} for each agent at work on the thread. */
static void
emit_agents(const struct thread *t, const char *name, const char *end,
    void (*one)(const struct ta *))
{
	const struct ta *ta;
	const char *sep = "";

	emit(" %s={", name);
	for (ta = q.agents; ta != NULL; ta = ta->next)
		if (ta->thread == t && ta->working) {
			emit("%s", sep);
			one(ta);
			sep = ",";
		}
	emit("}%s", end);
}

static void
one_pid(const struct ta *ta)
{
	emit("%d", ta->pid);
}

static void
one_heard(const struct ta *ta)
{
	emit("%ld", -from_now(ta->heard));
}

static void
one_fed(const struct ta *ta)
{
	if (ta->fed == 0)
		emit("never");
	else
		emit("%ld", -from_now(ta->fed));
}

static void
one_overfed(const struct ta *ta)
{
	emit("%u", ta->jobs.n);
}

static void
one_state(const struct ta *ta)
{
	emit(ta->state == TA_STARTING ? "LARVA" : ta->state == TA_IDLE ?
	    "IDLE" : ta->state == TA_CLOSING ? "FINISH" : "STUFF");
}

/* ZMailer's words for what a ring waits for. */
static const char *
zmailer_limit(const struct ring *r)
{
	static const char *const word[][2] = {
		{ "maxta", ">MaxTA" }, { "maxchannel", ">MaxChannel" },
		{ "maxring", ">MaxRing" }, { "forkrate", ">ForkRate" }
	};
	size_t i;

	for (i = 0; i < sizeof(word) / sizeof(*word); i++)
		if (strcmp(r->pending, word[i][0]) == 0)
			return word[i][1];
	return "Start";
}

/* What is known of a thread's vertices. */
struct sum {
	unsigned long rcpts, tries;
	long	oldest;		/* mono */
};

static void
add_up(const struct vertex *v, struct sum *s)
{
	s->rcpts += th_is_dsn(v->thread) ? 0 : v->left;
	s->tries += v->tries;
	if (v->msg->born < s->oldest)
		s->oldest = v->msg->born;
}

static unsigned
vertices_of(const struct thread *t)
{
	return th_nready(t) + t->wait.n + t->nfed + t->nheld;
}

static void
emit_thread(const struct thread *t, const struct sum *s)
{
	const struct ring *r = t->ring;
	int width, tabs;

	emit("    ");
	width = 4 + emit_word(r->chan->name) + 3 + 7;
	emit("/");
	width += emit_word(t->host);
	emit("/%d", r->conf->bound ? 2 : 0);
	for (tabs = 15; tabs < 39; tabs += 8)
		if (width < tabs)
			emit("\t");
	emit(width < 39 ? "\t" : " ");
	emit("N=%u ", vertices_of(t));
	emit("%sR=%lu ", vertices_of(t) < 10 ? "  " : vertices_of(t) < 100 ?
	    " " : "", s->rcpts);
	emit("%sA=%lu", s->rcpts < 10 ? "  " : s->rcpts < 100 ? " " : "",
	    s->tries);
	emit(s->tries < 10 ? " " : "");
	if (t->nta > 0) {
		emit_agents(t, "P", "", one_pid);
		emit_agents(t, "HA", "s", one_heard);
		emit_agents(t, "FA", "s", one_fed);
		emit_agents(t, "OF", "", one_overfed);
		emit_agents(t, "S", "", one_state);
		emit(" UF=%u", th_nready(t));
	} else if (t->wake.pos != 0 &&
	    heap_when(&q.wake, &t->wake) > now.mono) {
		emit(" W=%lds", from_now(heap_when(&q.wake, &t->wake)));
	} else if (r->pending != NULL) {
		emit(" pend=%s", zmailer_limit(r));
	}
	emit(" QA=");
	emit_span((long)now.mono - s->oldest);
	if (t->nta == 0 && r->pending != NULL)
		emit(strcmp(r->pending, "maxchannel") == 0 ? " channelwait" :
		    " threadwait");
	emit("\n");
}

/* The line of the clause that gave the ring its command. */
static int
line_of(const struct ring *r)
{
	const struct conf *f = r->conf;

	return f->nfrom > 0 ? f->from[f->nfrom - 1]->line : 0;
}

static int
by_thread(const void *a, const void *b)
{
	const struct thread *t = rows.v[*(const unsigned *)a]->thread;
	const struct thread *u = rows.v[*(const unsigned *)b]->thread;
	int c;

	if (t->ring == u->ring) {
		c = strcmp(t->host, u->host);
		return c != 0 ? c : t->box < u->box ? -1 : t->box > u->box;
	}
	c = line_of(t->ring) - line_of(u->ring);
	if (c == 0)
		c = strcmp(t->ring->chan->name, u->ring->chan->name);
	return c != 0 ? c : t->ring < u->ring ? -1 : 1;
}

/* The ring and its threads, whose vertices are rows.by[*at] and following. */
static void
emit_ring(const struct ring *r, unsigned *at)
{
	const struct clause *c = r->conf->nfrom > 0 ?
	    r->conf->from[r->conf->nfrom - 1] : NULL;
	const char *text = c != NULL ? c->text : "*/*";
	unsigned threads = 0, msgs = 0, idle = 0, end;
	const struct thread *t;
	const struct ta *ta;
	struct sum s;

	emit("%s%s/%d\n", text, strchr(text, '/') == NULL ? "/*" : "",
	    r->conf->bound ? 2 : 0);
	for (; *at < rows.n && rows.v[rows.by[*at]]->thread->ring == r;
	    *at = end) {
		t = rows.v[rows.by[*at]]->thread;
		memset(&s, 0, sizeof(s));
		s.oldest = (long)now.mono;
		for (end = *at; end < rows.n &&
		    rows.v[rows.by[end]]->thread == t; end++)
			add_up(rows.v[rows.by[end]], &s);
		emit_thread(t, &s);
		threads++;
		msgs += end - *at;
	}
	for (ta = r->idle; ta != NULL; ta = ta->rnext)
		idle++;
	emit("\tThreads: %4u Msgs: %5u Procs: %3u Idle: %3u", threads, msgs,
	    r->nta, idle);
	emit(" Plim: %3ld Flim: %3ld Tlim: %ld\n", r->conf->v.maxring,
	    r->conf->v.overfeed, r->conf->v.fb.limit);
}

static void
emit_report(void)
{
	const struct ring *r;
	unsigned i, at = 0;

	for (i = 0; i < rows.n; i++)
		rows.by[i] = i;
	qsort(rows.by, rows.n, sizeof(*rows.by), by_thread);
	while (at < rows.n)
		emit_ring(rows.v[rows.by[at]]->thread->ring, &at);
	for (r = q.rings; r != NULL; r = r->next)
		if (r->nta > 0 && r->nthreads == 0)
			emit_ring(r, &at);
	emit("Kids: %u  Idle: %2u  Msgs: %3u  Thrds: %3u  Rcpnts: %4u  "
	    "Uptime: ", q.nagents, q.nidle, q.nmessages, q.nthreads, rows.n);
	emit_span((long)now.mono);
	emit("\nMsgs in %lu out %lu stored %lu Rcpnts in %lu out %lu "
	    "stored %lu\n", q.msgs_in, q.msgs_out, q.msgs_in - q.msgs_out,
	    q.rcpts_in, q.rcpts_out, q.rcpts_in - q.rcpts_out);
}

/* ---- the facts ------------------------------------------------------- */

static void
emit_message(const struct message *m)
{
	char sender[WORD_MAX_], path[PATH_MAX_];
	struct stat st;
	long size = -1;

	text_fmt(path, sizeof(path), "../queue/%s", m->name);
	if (lstat(path, &st) == 0)
		size = (long)st.st_size;
	emit("m\t%s\t%ld\t%ld\t%s%s%s\t", m->name,
	    (long)now.mono - m->born, size, m->held ? "h" : "",
	    q_untold(m) ? "r" : "", m->held || q_untold(m) ? "" : "-");
	emit_clean(ctl_sender(m->name, sender, sizeof(sender)) == 0 ?
	    sender : "?", 0);
	emit("\n");
}

/* Those that have nothing in core to be delivered. */
static void
emit_others(void)
{
	const struct message *m;
	struct hlink *l;
	unsigned i;

	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			if (m->left == 0 && !m->away && !m->dropped &&
			    (m->tell || !q_over(m)))
				emit_message(m);
		}
}

static void
emit_skipped(const struct stub *s, long next)
{
	emit("s\t%s\t%ld\t%s", s->name, next < 0 ? 0 : next, s->why);
	if (s->pid != 0)
		emit(" (%d)", s->pid);
	emit("\n");
}

static void
emit_fact(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const struct setting *s = &v->thread->ring->conf->v;
	struct waiting w;

	waiting_for(v, &w);
	emit("v\t%u\t%s\t%ld\t", i + 1, w.state, w.next);
	/* what is held does not get too old */
	if (s->expiry > 0 && strcmp(w.state, "held") != 0)
		emit("%ld", v->msg->born + s->expiry - (long)now.mono);
	else
		emit("-");
	emit("\t%u\t%d\t", (unsigned)v->tries,
	    v->state == V_FED ? v->ta->pid : 0);
	emit_clean(w.what, 0);
	emit("\n");
}

/* The reason of each recipient, when they do not have the same one. */
static void
emit_reasons(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const struct rcpt *r, *end = v->r + v->nr, *first = NULL;
	int differ = 0;

	for (r = v->r; r < end && !differ; r++) {
		if (r->state != RC_PENDING)
			continue;
		if (first == NULL)
			first = r;
		differ = r->why != first->why;
	}
	for (r = v->r; r < end && differ; r++) {
		if (r->state != RC_PENDING || r->why == 0)
			continue;
		emit("r\t%u\t%u\t", i + 1, r->off);
		emit_clean(reason_of(r), 1);
		emit("\n");
	}
}

/* Until when nothing is started for it, mono; 0: it may be. */
static double
asleep(const struct dest *d)
{
	const struct thread *t = d->thread;

	if (t != NULL && t->sleep > now.mono)
		return t->sleep;
	return d->window > 0 ? 0 : d->until > now.mono ? d->until : now.mono;
}

/* What a longer line of a destination says. */
static void
emit_more(const struct dest *d)
{
	const struct thread *t = d->thread;

	emit("\t%u\t%ld\t%ld\t", t == NULL ? 0 : t->nidle,
	    (long)(d->cohorts * 100), -from_now(d->used));
	if (t == NULL)
		emit("-\t-\t");
	else
		emit("%u\t%u\t", th_nready(t), t->wait.n);
	emit("%u\n", (unsigned)d->tries);
}

/* What is known of a destination; what its clause says, while it has mail. */
static void
emit_dest(const struct dest *d)
{
	const struct thread *t = d->thread;
	const struct feedback *f = t == NULL ? NULL : t->fb;
	double until = asleep(d);

	emit("d\t");
	emit_word(d->chan->name);
	emit("\t");
	emit_word(d->host);
	emit("\t%ld\t%ld\t%u\t%lu\t%lu\t", d->window,
	    f == NULL ? 0L : f->limit, t == NULL ? 0 : t->nta, d->ngood,
	    d->nbad);
	if (until > 0)
		emit("%ld\t", from_now(until));
	else
		emit("-\t");
	if (f != NULL && f->rate.n > 0)
		emit("%ld/%lds\t", f->rate.n, f->rate.per);
	else
		emit("-\t");
	if (until > 0 && d->reason != NULL)
		emit_clean(d->reason, 0);
	emit_more(d);
}

/* Is the entry of postman/ the control file of a message that is there? */
static int
is_second(const char *entry)
{
	char path[PATH_MAX_];
	struct stat st;
	size_t n = strlen(entry);

	if (n < 8 || strcmp(entry + n - 8, ".control") != 0)
		return 0;
	text_fmt(path, sizeof(path), "../postman/%.*s", (int)n - 8, entry);
	return lstat(path, &st) == 0;
}

/* How many messages were set aside, and how many of them are double bounces;
 * nothing when that cannot be read. */
static void
emit_aside(void)
{
	unsigned long all = 0, bounces = 0;
	DIR *dir = opendir("../postman");
	struct dirent *e;

	if (dir == NULL)
		return;
	while ((e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.' || is_second(e->d_name))
			continue;
		all++;
		bounces += spool_bounce_age(e->d_name) >= 0;
	}
	closedir(dir);
	emit("a\t%lu\t%lu\n", all, bounces);
}

static void
emit_facts(void)
{
	struct hlink *l;
	unsigned i, n;

	emit("Facts:\np\t");
	emit_clean(opt.postoffice, 0);
	emit("\nt\t%ld\t%ld\n", (long)now.wall, (long)now.mono);
	emit_aside();
	for (i = 0; i < q.dests.size; i++)
		for (l = q.dests.v[i]; l != NULL; l = l->next)
			emit_dest(OWNER(struct dest, link, l));
	for (i = 0; i < rows.n && !opt.quiet; i++) {
		if (i == 0 || rows.v[i]->msg != rows.v[i - 1]->msg)
			emit_message(rows.v[i]->msg);
		emit_fact(i);
		emit_reasons(i);
	}
	if (!opt.quiet) {
		emit_others();
		n = later_each(emit_skipped);
		if (n > 0)
			emit("e\t%u\n", n);
	}
	emit("End:\n");
}

/* ---- for the service ------------------------------------------------- */

int
dump_queue(int fd)
{
	unsigned all;

	out.fd = fd;
	signal(SIGCONT, hurry);
	if (collect() < 0) {
		emit("busy no memory for a dump now\n");
		flush();
		return -1;
	}
	all = rows.n;
	if (opt.quiet)
		rows.n = 0;
	emit_vertices();
	rows.n = all;
	emit_report();
	emit_facts();
	flush();
	return 0;
}
