/*
 * dump.c - writes the queue as text, for mailq.
 *
 * First comes ZMailer's format "zmailer 1.0" byte for byte: vertices with a
 * number each, the same numbers by channel and by host, "End:", and a report
 * on rings and threads.  Behind it come the facts that this format has no room
 * for.  ZMailer's mailq -Q would show them, so whoever asks by the port gets
 * them when he ends his side of the connection at once.  A message whose only
 * recipient waits for its next try, in pieces of one dump:
 *
 *	1:	101-1	1; 55	#mailbox full (retry in 8m20s, tries=1)
 *	    later/a.host/0		N=1   R=1   A=1  W=500s QA=2s
 *	m	101-1	2	14	-	sender@a.example
 *	v	1	retry	500	428398	1	0
 *
 *	Facts:
 *	p  post office
 *	t  wall clock  uptime
 *	d  channel  host  window  limit  agents  good  bad  dead until  rate
 *	   why  idle  cohorts  unused  ready  waiting  tries
 *	c  since the start: accepted  delivered  deferred  failed  DSNs
 *	   set aside
 *	e  forgotten  oldest
 *	m  message  age  size  flags  sender
 *	v  number  state  next  expires  tries  agent  what it waits for
 *	r  number  offset  reason
 *	s  file  next look  why it is skipped
 *	h  "message" or "address"  what is held
 *	End:
 *
 * Fields are parted by tabs, times are seconds, "-" is never or none.  Vertices
 * are numbered in the order of message number, channel and host.  Flags is "h"
 * for a message that is held, "r" for one whose DSN is still to be sent.
 * Recipients of a vertex have r lines when their reasons are not all the same.
 * Of a destination, good and bad are reports, cohorts are hundredths, and ready
 * and waiting are vertices.  The states of a vertex, with the field "what it
 * waits for":
 *
 *	retry		waits for its next try
 *	host		its host is dead
 *	run		an agent has it: what that says it is at, behind "to be
 *			deleted" if an operator said so
 *	agent		no agent can be started: the reason
 *	next		it is next in turn, or "to be deleted"
 *	limit		the limit that the field names
 *	held		"message", or the pattern of the hold
 *	queueonly	waits for a T line
 *	frozen		by -F or -p
 *	command		no clause has one
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
#include <signal.h>

#define STUCK		60	/* seconds until a reader is given up */
#define WANTED		2	/* the same, when others may want the place */
#define FULL		8000	/* bytes after which the text is written out;
				 * a line has less than 11 000 */
#define TEXT_MOST	2000	/* bytes shown of a text */
#define ASKED		1	/* seconds until a caller by the port has asked
				 * for facts, or does not want them */

static volatile sig_atomic_t wanted;	/* others may want the place of this
					 * dump */
static int out_fd;
static char outbuf[FULL + 12000];
static struct text out;		/* text that is not written yet */

/* The vertices of the dump.  A pointer and a number each, O(n log n) to sort,
 * and all of it the child's, so that the scheduler pays for the fork alone. */
static struct {
	const struct vertex **v;	/* all that are not done, in order */
	unsigned *by;		/* places in v, in the order of a word */
	unsigned n;
} rows;

/* ---- writing --------------------------------------------------------- */

/* The scheduler sends SIGCONT when it may make no more dumps. */
static void
hurry(int sig)
{
	(void)sig;
	if (!wanted)
		alarm(WANTED);
	wanted = 1;
}

/* Writes the text out.  Without a reader the process of the dump ends. */
static void
flush(void)
{
	alarm(wanted ? WANTED : STUCK);
	if (fd_write(out_fd, out.s, out.len) < 0)
		_exit(1);
	out.len = 0;
}

/* What %s shows becomes a word, as in the essay; %-s shows what is one, or is
 * clean. */
static void LIKE_PRINTF(1, 2)
emit(const char *f, ...)
{
	va_list ap;

	if (out.len > FULL)
		flush();
	va_start(ap, f);
	text_vadd(&out, f, ap);
	va_end(ap);
}

/* Returns the text of another program with '?' for control bytes, good until
 * the next call.  ends: it may have '\r', which ends lines of agents. */
static const char *
clean(const char *s, int ends)
{
	static char line[TEXT_MOST];
	char *p = line;
	int c;

	text_fmt(line, sizeof(line), "%s", s);
	for (; (c = (unsigned char)*p) != '\0'; p++)
		if ((c < ' ' && !(c == '\r' && ends)) || c == 127)
			*p = '?';
	return line;
}

/* As ZMailer does: days and hours, or hours, minutes and seconds. */
static void
emit_span(long s)
{
	span_add(&out, s, labs(s) >= 86400L ? 2 : 3);
}

/* Returns the number as text, or "-" for none, good for the next three
 * calls. */
static const char *
number(int there, long n)
{
	static char text[4][24];
	static unsigned i;
	char *s = text[i++ % 4];

	if (!there)
		return "-";
	text_fmt(s, sizeof(text[0]), "%ld", n);
	return s;
}

static long
from_now(double mono)
{
	return (long)mono - NOW;
}

/* ---- what a vertex waits for ----------------------------------------- */

struct waiting {
	const char *state;	/* as in the essay */
	const char *what;
	long	next;		/* seconds until it is tried, -1: not known */
	int	kept;		/* it does not expire meanwhile */
};

/* Returns the limit that keeps a READY vertex from an agent; NULL: its turn
 * comes. */
static const char *
limit_of(const struct vertex *v)
{
	/* by enum limit */
	static const char *const limits[] = { NULL, "maxring", "maxchannel",
	    "maxta", "forkrate", "an agent that can be started" };
	const struct thread *t = v->thread;

	if (v->state == V_HELD)		/* until its tags, or those of a command
					 * on many, are written */
		return "disk";
	if (fb_rate_wait(t) > 0)
		return "rate";
	if (t->nstart > 0)	/* its agent is about to begin */
		return NULL;
	if (order_is_blocked(v))
		return "PARAMmsgconcurrency";
	if (!t->open && t->turn.pos == 0 && t->nta > 0)
		return t->box != 0 ? "mailbox" : "maxthr";
	return limits[t->ring->pending];
}

/* Sets *w by th_why, in the words of the essay. */
static void
waiting_for(const struct vertex *v, struct waiting *w)
{
	/* by enum why */
	static const char *const states[] = { "next", "run", "held", "held",
	    "frozen", "command", "queueonly", "host", "retry", "agent" };
	static char words[REASONS_MOST];
	const struct thread *t = v->thread;
	const char *what = NULL;
	double until, rate = fb_rate_wait(t);
	enum why why = th_why(v, &until);

	w->state = states[why];
	w->kept = WHY_KEPT(why);
	w->next = why < WHY_HOST ? (why == WHY_FED ? 0 : -1) :
	    until > now.mono ? from_now(until) : 0;
	if (why == WHY_HELD_MESSAGE) {
		what = "message";
	} else if (why == WHY_HELD) {
		what = t->held;
	} else if (why == WHY_FROZEN) {
		what = opt.freeze ? "-F" : "-p";
	} else if (why == WHY_FED && v->ta->jobs.head == v) {
		what = v->ta->step;
	} else if (why == WHY_NO_AGENT) {
		what = t->ring->trouble;
	} else if (why == WHY_HOST && t->box != 0) {
		w->state = "retry";
	} else if (why == WHY_NONE) {
		what = limit_of(v);
		w->next = what != NULL && (rate <= 0 || v->state == V_HELD) ?
		    -1 : rate;
		w->state = what != NULL ? "limit" : "next";
	}
	w->what = what != NULL ? what : "";
	if (v->cancel == CANCEL_NONE)
		return;
	if (why != WHY_FED) {
		w->state = "next";
		w->what = "";
		w->next = -1;
	}
	text_fmt(words, sizeof(words), "%s%s%s", ctl_cancels[v->cancel],
	    *w->what != '\0' ? "; " : "", w->what);
	w->what = words;
}

/* ---- vertices -------------------------------------------------------- */

static const char *
channel_of(const struct vertex *v)
{
	return v->thread->ring->chan->name;
}

static const char *
host_of(const struct vertex *v)
{
	return v->thread->host;
}

/* The order of the numbers that vertices have in a dump: it is the same in the
 * next one, whatever the order in core. */
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
	return c != 0 ? c : strcmp(host_of(v), host_of(w));
}

/* The word by which by_word compares, as qsort passes no argument. */
static const char *(*word_of)(const struct vertex *);

static int
by_word(const void *a, const void *b)
{
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	int c = strcmp(word_of(rows.v[i]), word_of(rows.v[j]));

	return c != 0 ? c : i < j ? -1 : i > j;
}

/* Puts rows.by into an order. */
static void
sort_rows(int (*order)(const void *, const void *))
{
	unsigned i;

	for (i = 0; i < rows.n; i++)
		rows.by[i] = i;
	qsort(rows.by, rows.n, sizeof(*rows.by), order);
}

/* Collects all vertices that are not done: 0, or -1 without memory. */
static int
collect(void)
{
	const struct message *m;
	struct hlink *l;
	struct vertex *v;
	unsigned n = 0;

	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; )
		n += OWNER(struct message, link, l)->left;
	rows.v = mem_get((n + 1) * sizeof(*rows.v));
	rows.by = mem_get((n + 1) * sizeof(*rows.by));
	if (rows.v == NULL || rows.by == NULL)
		return -1;
	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; ) {
		m = OWNER(struct message, link, l);
		for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v))
			if (v->state != V_DONE)
				rows.v[rows.n++] = v;
	}
	qsort(rows.v, rows.n, sizeof(*rows.v), by_number);
	return 0;
}

/* Writes the state in the words that ZMailer's mailq shows. */
static void
emit_state(const struct vertex *v)
{
	struct waiting w;

	waiting_for(v, &w);
	if (v->state == V_FED) {
		emit("running now, pid=%d", v->ta->pid);
	} else if (w.next > 0) {
		emit("retry in ");
		emit_span(w.next);
	} else if (strcmp(w.state, "limit") == 0) {
		emit("waiting for %-sslot", strcmp(w.what, "maxta") == 0 ? "" :
		    strcmp(w.what, "maxchannel") == 0 ? "channel " : "thread ");
	} else {
		emit("activation pending, thread inactive");
	}
}

/* Returns the seconds until the vertex expires; its clause sets an expiry. */
static long
expires(const struct vertex *v)
{
	return v->msg->born + v->thread->ring->conf->v.expiry - NOW;
}

/* "1:	101-1	2; 55,123	#reason (state, expires in ..., tries=1)".  A
 * vertex that was never tried has the words of its host, if that is dead. */
static void
emit_vertex(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const char *host = v->thread->reason, *sep = " ";
	char said[REASONS_MOST];
	struct text why;
	unsigned k;

	emit("%u:\t%-s\t%u;", i + 1, v->msg->name, v->left);
	for (k = 0; k < v->nr; k++)
		if (v->r[k].state == RC_PENDING) {
			emit("%-s%u", sep, (unsigned)v->r[k].off);
			sep = ",";
		}
	text_init(&why, said, sizeof(said));
	reason_join(v, &why);
	if (why.len == 0 && host != NULL)
		text_add(&why, "%s", host);
	emit("\t#%-s%-s", clean(said, 1), why.len > 0 ? " (" : "(");
	emit_state(v);
	if (v->thread->ring->conf->v.expiry > 0) {
		emit(", expires in ");
		emit_span(expires(v));
		emit(", tries=%u", (unsigned)v->tries);
	}
	emit(")\n");
}

/* Writes the numbers of all vertices, a line for each word. */
static void
emit_groups(const char *title, const char *(*word)(const struct vertex *))
{
	const char *last = NULL, *next;
	unsigned i;

	word_of = word;
	sort_rows(by_word);
	emit("%s:", title);
	for (i = 0; i < rows.n; i++, last = next) {
		next = word(rows.v[rows.by[i]]);
		if (last == NULL || strcmp(last, next) != 0)
			emit("\n%s:\t", next);
		emit(">%u", rows.by[i] + 1);
	}
	emit("\n");
}

/* Writes all vertices; none with -Q. */
static void
emit_vertices(void)
{
	unsigned i;

	emit("version zmailer 1.0\nVertices:\n");
	for (i = 0; i < rows.n && !opt.quiet; i++)
		emit_vertex(i);
	if (i > 0) {
		emit_groups("Channels", channel_of);
		emit_groups("Hosts", host_of);
	}
	emit("End:\n");
}

/* ---- the report ------------------------------------------------------ */

/* Name={a,b} for each agent at work on the thread: P processes, HA and FA
 * seconds since they were heard and fed, OF jobs, S states. */
static void
emit_agents(const struct thread *t, const char *name, const char *end)
{
	/* by enum ta_state */
	static const char *const states[] = { "LARVA", "STUFF", "IDLE",
	    "FINISH" };
	const struct ta *ta;
	const char *sep = "";

	emit(" %s={", name);
	for (ta = t->busy; ta != NULL; ta = ta->tnext) {
		emit("%-s", sep);
		sep = ",";
		if (*name == 'P')
			emit("%d", ta->pid);
		else if (*name == 'O')
			emit("%u", ta->jobs.n);
		else if (*name == 'S')
			emit("%s", states[ta->state]);
		else if (*name == 'F' && ta->fed < 0)
			emit("never");
		else
			emit("%ld", -from_now(*name == 'F' ? ta->fed :
			    ta->heard));
	}
	emit("}%-s", end);
}

/* The thread, whose vertices are rows.by[at] up to end, as ZMailer aligns it: N
 * vertices, R recipients, A tries, W the wait, QA the age of the oldest. */
static void
emit_thread(const struct thread *t, unsigned at, unsigned end)
{
	/* ZMailer's words, by enum limit */
	static const char *const pend[] = { NULL, ">MaxRing", ">MaxChannel",
	    ">MaxTA", ">ForkRate", "Start" };
	const struct ring *r = t->ring;
	unsigned long rcpts = 0, tries = 0;
	unsigned n = end - at;
	long oldest = NOW;
	const struct vertex *v;
	double wake = t->due.pos != 0 ? heap_when(&q.due_threads, &t->due) : 0;
	size_t begin, width;

	for (; at < end; at++) {
		v = rows.v[rows.by[at]];
		rcpts += th_is_dsn(t) ? 0 : v->left;
		tries += v->tries;
		if (v->msg->born < oldest)
			oldest = v->msg->born;
	}
	emit("    ");
	begin = out.len - 4;
	text_add(&out, "%s/%s/%d", r->chan->name, t->host,
	    r->conf->bound ? 2 : 0);
	width = out.len - begin;
	emit("%-s", width < 8 ? "\t\t\t\t" : width < 16 ? "\t\t\t" :
	    width < 24 ? "\t\t" : width < 32 ? "\t" : " ");
	emit("N=%-3u R=%-3lu A=%-2lu", n, rcpts, tries);
	if (t->nta > 0) {
		emit_agents(t, "P", "");
		emit_agents(t, "HA", "s");
		emit_agents(t, "FA", "s");
		emit_agents(t, "OF", "");
		emit_agents(t, "S", "");
		emit(" UF=%u", th_nready(t));
	} else if (wake > now.mono) {
		emit(" W=%lds", from_now(wake));
	} else if (r->pending != NO_LIMIT) {
		emit(" pend=%s", pend[r->pending]);
	}
	emit(" QA=");
	emit_span(NOW - oldest);
	if (t->nta == 0 && r->pending != NO_LIMIT)
		emit("%-s", r->pending == MAXCHANNEL ? " channelwait" :
		    " threadwait");
	emit("\n");
}

/* The clause that gave the ring its command, or NULL. */
static const struct clause *
clause_of(const struct ring *r)
{
	const struct conf *f = r->conf;

	return f->nfrom > 0 ? f->from[f->nfrom - 1] : NULL;
}

/* By clause, channel, ring, host, mailbox. */
static int
by_thread(const void *a, const void *b)
{
	const struct thread *t = rows.v[*(const unsigned *)a]->thread;
	const struct thread *u = rows.v[*(const unsigned *)b]->thread;
	const struct clause *c = clause_of(t->ring), *d = clause_of(u->ring);
	int n;

	if (t->ring == u->ring) {
		n = strcmp(t->host, u->host);
		return n != 0 ? n : t->box < u->box ? -1 : t->box > u->box;
	}
	n = (c != NULL ? c->line : 0) - (d != NULL ? d->line : 0);
	if (n == 0)
		n = strcmp(t->ring->chan->name, u->ring->chan->name);
	return n != 0 ? n : t->ring < u->ring ? -1 : 1;
}

/* The thread of the next row, or NULL. */
static const struct thread *
thread_at(unsigned at)
{
	return at < rows.n ? rows.v[rows.by[at]]->thread : NULL;
}

/* The ring and its threads, whose vertices are rows.by[at] and following: the
 * place behind them. */
static unsigned
emit_ring(const struct ring *r, unsigned at)
{
	const struct clause *c = clause_of(r);
	const char *text = c != NULL ? c->text : "*/*";
	unsigned threads = 0, first = at, end;
	const struct thread *t;

	emit("%-s%-s/%d\n", text, strchr(text, '/') == NULL ? "/*" : "",
	    r->conf->bound ? 2 : 0);
	for (; (t = thread_at(at)) != NULL && t->ring == r; at = end) {
		for (end = at; thread_at(end) == t; )
			end++;
		emit_thread(t, at, end);
		threads++;
	}
	emit("\tThreads: %4u Msgs: %5u Procs: %3ld Idle: %3ld Plim: "
	    "%3ld Flim: %3ld Tlim: %ld\n", threads, at - first, r->slots.nta,
	    r->slots.nidle, r->conf->v.maxring, r->conf->v.overfeed,
	    r->conf->v.fb.limit);
	return at;
}

/* Rings with vertices in the order of the configuration; then those that have
 * agents alone.  Kids and what follows are of all. */
static void
emit_report(void)
{
	const struct ring *r;
	unsigned at = 0;

	sort_rows(by_thread);
	while (at < rows.n)
		at = emit_ring(thread_at(at)->ring, at);
	for (r = q.rings; r != NULL; r = r->next)
		if (r->slots.nta > 0 && r->nthreads == 0)
			emit_ring(r, at);
	emit("Kids: %u  Idle: %2ld  Msgs: %3u  Thrds: %3u  Rcpnts: %4u  "
	    "Uptime: ", q.nagents, q.slots.nidle, q.messages.n, q.nthreads,
	    rows.n);
	emit_span(NOW);
	emit("\nMsgs in %lu out %lu stored %u Rcpnts in %lu out %lu "
	    "stored %lu\n", q.messages.n + q.msgs_out, q.msgs_out,
	    q.messages.n, q.rcpts_in, q.rcpts_out, q.rcpts_in - q.rcpts_out);
}

/* ---- the facts ------------------------------------------------------- */

/* Writes the m line.  The two files read for it may be gone since. */
static void
emit_message(const struct message *m)
{
	char sender[WORD_MAX_], path[PATH_MAX_], flags[3];
	struct stat st;
	long size = -1;

	text_fmt(path, sizeof(path), "../queue/%s", m->name);
	if (lstat(path, &st) == 0)
		size = st.st_size;
	text_fmt(flags, sizeof(flags), "%s%s", m->held ? "h" : "",
	    q_has_only_dsns(m) && (m->ndsn > 0 || m->dsn_due) ? "r" : "");
	emit("m\t%-s\t%ld\t%ld\t%-s\t%-s\n", m->name, msg_age(m), size,
	    *flags != '\0' ? flags : "-",
	    ctl_read_field(m->name, "se", sender, sizeof(sender)) == 0 ?
	    clean(sender, 0) : "?");
}

/* Writes m lines of messages without vertices: those whose DSN is due, and
 * those whose files could not be removed. */
static void
emit_others(void)
{
	const struct message *m;
	struct hlink *l;

	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; ) {
		m = OWNER(struct message, link, l);
		if (m->left == 0 && m->end < END_DROP)
			emit_message(m);
	}
}

/* Writes s lines of files that were skipped, with the process that has the
 * lock, and the number of messages that are forgotten. */
static void
emit_stubs(void)
{
	const struct stub *s;
	struct skip k;
	struct stat st;
	struct hlink *l = NULL;
	char path[PATH_MAX_];
	unsigned n = 0;
	long next, age = 0;	/* of the oldest that is forgotten */

	while ((l = hash_each(&q.stubs, l)) != NULL) {
		s = OWNER(struct stub, link, l);
		if (!in_get_skip(s, &k)) {
			n++;
			text_fmt(path, sizeof(path), "../queue/%s", s->name);
			if (lstat(path, &st) == 0 &&
			    file_age(st.st_mtime) > age)
				age = file_age(st.st_mtime);
			continue;
		}
		next = heap_when(&q.due_stubs, &s->due) - now.mono;
		emit("s\t%-s\t%ld\t%-s", s->name, next < 0 ? 0 : next, k.why);
		if (k.pid != 0)
			emit(" (%d)", k.pid);
		emit("\n");
	}
	if (n > 0)
		emit("e\t%u\t%ld\n", n, age);
}

/* Writes the v line, the facts of ZMailer's line for programs. */
static void
emit_fact(unsigned i)
{
	const struct vertex *v = rows.v[i];
	struct waiting w;

	waiting_for(v, &w);
	emit("v\t%u\t%-s\t%ld\t%-s\t%u\t%d\t%-s\n", i + 1, w.state, w.next,
	    number(v->thread->ring->conf->v.expiry > 0 && !w.kept, expires(v)),
	    (unsigned)v->tries, v->state == V_FED ? v->ta->pid : 0,
	    clean(w.what, 0));
}

/* Writes the reason of each recipient, unless all have the same reason. */
static void
emit_reasons(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const struct rcpt *r, *end = v->r + v->nr, *first = NULL;
	int differ = 0;

	for (r = v->r; r < end; r++)
		if (r->state == RC_PENDING) {
			if (first == NULL)
				first = r;
			differ |= r->why != first->why;
		}
	for (r = v->r; r < end && differ; r++)
		if (r->state == RC_PENDING && r->why != NULL)
			emit("r\t%u\t%u\t%-s\n", i + 1, (unsigned)r->off,
			    clean(r->why, 1));
}

/* Writes the d line; values of its clause are known while it has mail. */
static void
emit_dest(const struct thread *t)
{
	static const struct feedback any;
	const struct feedback *f = t->fb != NULL ? t->fb : &any;
	long window = t->fb != NULL ? fb_agents_left(t, 0) : t->window;
	double until = t->window > 0 ? 0 : t->until > now.mono ? t->until :
	    now.mono;
	const char *why = t->reason;
	char rate[50] = "-";

	if (until <= 0 && t->ring != NULL && t->ring->dead > now.mono) {
		until = t->ring->dead;
		why = t->ring->trouble;
	}
	if (f->rate.n > 0)
		text_fmt(rate, sizeof(rate), "%ld/%lds", f->rate.n,
		    f->rate.per);
	emit("d\t%s\t%s\t%ld\t%ld\t%u\t%lu\t%lu\t%-s\t%-s\t%-s\t%u\t%ld\t%ld\t"
	    "%-s\t%-s\t%u\n", t->chan->name, t->host, window, f->limit, t->nta,
	    t->ngood, t->nbad, number(until > 0, from_now(until)), rate,
	    until > 0 && why != NULL ? clean(why, 1) : "", t->nidle,
	    (long)(t->cohorts * 100), -from_now(t->used),
	    number(t->ring != NULL, (long)th_nready(t)),
	    number(t->ring != NULL, (long)t->wait.n), (unsigned)t->tries);
}

static void
emit_holds(void)
{
	const struct hold *h;

	for (h = q.holds; h != NULL; h = h->next)
		emit("h\t%-s\t%-s\n", h->patterns != NULL ? "address" :
		    "message", clean(h->text, 0));
}

/* Writes totals and holds. */
static void
emit_around(void)
{
	const struct totals *t = &q.total;

	emit("c\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", t->accepted, t->delivered,
	    t->deferred, t->failed, t->dsns, t->aside);
	if (!opt.quiet)
		emit_holds();
}

/* Returns 1 if the reader knows facts: of a pipe or a file always, at the port
 * when it ends its side of the connection. */
static int
wants_facts(int fd)
{
	struct timeval tv;
	fd_set set;
	char c;
	int n;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return 1;
	flush();
	do {	/* hurry may come */
		FD_ZERO(&set);
		FD_SET(fd, &set);
		tv.tv_sec = ASKED;
		tv.tv_usec = 0;
		n = select(fd + 1, &set, NULL, NULL, &tv);
	} while (n < 0 && errno == EINTR);
	return n > 0 && read(fd, &c, 1) == 0;
}

/* Writes the facts; with -Q, nothing that names single messages. */
static void
emit_facts(void)
{
	struct hlink *l;
	unsigned i;

	emit("Facts:\np\t%-s\nt\t%ld\t%ld\n", clean(opt.postoffice, 0),
	    (long)now.wall, NOW);
	emit_around();
	for (l = NULL; (l = hash_each(&q.dests, l)) != NULL; )
		if (!th_is_local(OWNER(struct thread, link, l)))
			emit_dest(OWNER(struct thread, link, l));
	for (i = 0; i < rows.n && !opt.quiet; i++) {
		if (i == 0 || rows.v[i]->msg != rows.v[i - 1]->msg)
			emit_message(rows.v[i]->msg);
		emit_fact(i);
		emit_reasons(i);
	}
	if (!opt.quiet) {
		emit_others();
		emit_stubs();
	}
	emit("End:\n");
}

int
dump_queue(int fd)
{
	signal(SIGCONT, hurry);	/* the first signal counts */
	out_fd = fd;
	text_init(&out, outbuf, sizeof(outbuf));
	out.clean = 2;
	if (collect() < 0) {
		emit("busy no memory for a dump now\n");
		flush();
		return -1;
	}
	emit_vertices();
	emit_report();
	if (wants_facts(fd))
		emit_facts();
	flush();
	return 0;
}
