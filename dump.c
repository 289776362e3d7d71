/*
 * dump.c - writes the queue as text, for mailq.
 *
 * First comes ZMailer's format "zmailer 1.0" byte for byte: vertices with a
 * number each, lists of these numbers for each channel and each host, "End:",
 * and then rings, threads and totals.  Then come the facts, for which this
 * format has no room.  As ZMailer's mailq -Q would print facts, a client of the
 * port gets them only if it ends its side of the connection at once.  These are
 * lines from one dump, about a message whose only recipient waits for its next
 * try:
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
 *	e  number of forgotten messages  age of the oldest
 *	m  message  age  size  flags  sender
 *	v  number  state  next  expires  tries  agent  what it waits for
 *	r  number  offset  reason
 *	s  file  seconds until it is read again  why it is skipped
 *	h  "message" or "address"  what is held
 *	End:
 *
 * Fields are separated by tabs, and times are seconds.  "-" stands for never or
 * none.  The fields "next" of a v line and "size" of an m line have -1 when the
 * value is not known.  Vertices are numbered in the order of message number,
 * channel and host.  Flags is "h" for a message that is held, "r" for a message
 * whose DSN is still to be sent.  Recipients of a vertex have r lines when
 * their reasons are not all the same.  Of a destination, good and bad are
 * numbers of reports, idle is a number of agents, ready and waiting are numbers
 * of vertices, cohorts are hundredths, unused is the time since the last use,
 * and tries are deaths in a row.  If it is not dead, "dead until" is the end of
 * the pause of its ring after failed starts of agents.  These are the states of
 * a vertex; what follows a colon is the text of the field "what it waits for",
 * which is empty in the other states:
 *
 *	retry		waits for its next try
 *	host		its host is dead
 *	run		an agent has it: the agent's last #step
 *	agent		no agent can be started: the reason
 *	next		waits for nothing but its turn
 *	limit		waits for a limit: the name of the limit
 *	held		an operator holds it: "message", or the pattern of the
 *			hold on its address
 *	queueonly	waits for a T line
 *	frozen		an option stops it: "-F" or "-p"
 *	command		no clause has a command for its address
 *
 * A vertex that is to be deleted or bounced is "run" or "next", and the field
 * begins with "to be deleted" or "to be bounced".
 *
 * A dump is made by a child of the scheduler, whose memory has the queue as it
 * was at the fork: one consistent moment.  The child changes nothing.  It may
 * be slow, and it may block in a write: an alarm ends it when its client reads
 * nothing for a minute.  Sender and size are read from the spool, as core does
 * not hold them; a message that has left the spool shows "?".
 *
 * In ZMailer's format a channel or a host is a word of printing bytes without
 * blanks: other bytes, and the backslash, are written as \ooo.  In texts of
 * messages and agents, control bytes are written as '?'.
 */
#include "scheduler.h"
#include <signal.h>

#define WRITE_TIMEOUT	60	/* seconds; a longer write ends the dump */
#define BUSY_TIMEOUT	2	/* seconds, while no further dump may start */
#define FULL		8000	/* bytes after which the text is written out;
				 * a line has less than 11 000 */
#define TEXT_MOST	2000	/* bytes shown of a text */
#define FACTS_TIMEOUT	1	/* seconds that a client of the port has to ask
				 * for facts */

static volatile sig_atomic_t is_busy;	/* 1: no further dump may start */
static int out_fd;
static char outbuf[FULL + 12000];
static struct text out;		/* text that is not written yet */

/* The vertices of the dump: n pointers and n indices.  O(n log n) to sort, in
 * the child alone. */
static struct {
	const struct vertex **v;	/* sorted by_number */
	unsigned *by;		/* indices of v, in the order of sort_rows */
	unsigned n;
} rows;

/* ---- writing --------------------------------------------------------- */

/* Gives the client less time.  The scheduler sends SIGCONT while no further
 * dump may start. */
static void
shorten_alarm(int sig)
{
	(void)sig;
	if (!is_busy)
		alarm(BUSY_TIMEOUT);
	is_busy = 1;
}

/* Writes the text out, or ends the process if the client has gone. */
static void
write_out_or_exit(void)
{
	alarm(is_busy ? BUSY_TIMEOUT : WRITE_TIMEOUT);
	if (fd_write(out_fd, out.s, out.len) < 0)
		_exit(1);
	out.len = 0;
}

/* Adds to the text.  %s adds a channel or a host, with escapes \ooo; %-s adds a
 * text as it is. */
static void LIKE_PRINTF(1, 2)
emit(const char *f, ...)
{
	va_list ap;

	if (out.len > FULL)
		write_out_or_exit();
	va_start(ap, f);
	text_vadd(&out, f, ap);
	va_end(ap);
}

/* Returns the text with '?' for control bytes, valid until the next call.  With
 * keep_cr, a '\r' stays, which separates the lines of an agent's text. */
static const char *
clean_text(const char *s, int keep_cr)
{
	static char line[TEXT_MOST];
	char *p = line;
	int c;

	text_fmt(line, sizeof(line), "%s", s);
	for (; (c = (unsigned char)*p) != '\0'; p++)
		if ((c < ' ' && !(c == '\r' && keep_cr)) || c == 127)
			*p = '?';
	return line;
}

/* Adds a span in ZMailer's units: days and hours, or hours, minutes and
 * seconds. */
static void
emit_span(long s)
{
	span_add(&out, s, labs(s) >= 86400L ? 2 : 3);
}

/* Adds a tab and the number, or "-" if there is none. */
static void
emit_field(int has_number, long n)
{
	if (has_number)
		emit("\t%ld", n);
	else
		emit("\t-");
}

/* Returns the seconds until this time, negative if it is past. */
static long
seconds_until(double mono)
{
	return (long)mono - NOW;
}

/* ---- what a vertex waits for ----------------------------------------- */

struct wait {
	const char *state;	/* the field "state" of a v line */
	const char *cause;	/* the field "what it waits for" */
	long	next;		/* seconds until the next try, -1: not known */
	int	is_kept;	/* 1: the vertex does not expire meanwhile */
	char	words[REASONS_MOST];	/* memory of cause if a command is
					 * to end the vertex */
};

/* Returns the limit for which a READY or PINNED vertex waits, or NULL. */
static const char *
find_limit(const struct vertex *v)
{
	/* by enum limit */
	static const char *const limits[] = { NULL, "maxring", "maxchannel",
	    "maxta", "forkrate", "an agent that can be started" };
	const struct thread *t = v->thread;

	if (v->state == V_PINNED)		/* tags are not written yet */
		return "disk";
	if (fb_rate_wait(t) > 0)
		return "rate";
	if (t->nstart > 0)	/* an agent that starts takes the vertex */
		return NULL;
	if (order_is_blocked(v))
		return "PARAMmsgconcurrency";
	/* if the thread may take another agent, its can_take_agent is 1 with
	 * order=preempt, and with other orders it has a turn (order.c) */
	if (t->nta > 0 && !t->can_take_agent && t->turn.pos == 0)
		return t->box != 0 ? "mailbox" : "maxthr";
	return limits[t->ring->stopped_by];
}

/* Sets *w to the state of the vertex, in the words of a v line. */
static void
get_wait(const struct vertex *v, struct wait *w)
{
	/* by enum why */
	static const char *const states[] = { "next", "run", "held", "held",
	    "frozen", "command", "queueonly", "host", "retry", "agent" };
	const struct thread *t = v->thread;
	const char *cause = NULL;
	double until, rate = fb_rate_wait(t);
	enum why why = th_why(v, &until);

	w->state = states[why];
	w->is_kept = WHY_KEPT(why);
	w->next = why == WHY_FED ? 0 : -1;
	if (why >= WHY_HOST)	/* host, retry and agent have a time */
		w->next = until > now.mono ? seconds_until(until) : 0;
	if (why == WHY_HELD_MESSAGE) {
		cause = "message";
	} else if (why == WHY_HELD) {
		cause = t->held;
	} else if (why == WHY_FROZEN) {
		cause = opt.freeze ? "-F" : "-p";
	} else if (why == WHY_FED && v->ta->jobs.head == v) {
		cause = v->ta->step;
	} else if (why == WHY_NO_AGENT) {
		cause = t->ring->trouble;
	} else if (why == WHY_HOST && t->box != 0) {
		w->state = "retry";	/* "-" is no host that can be dead */
	} else if (why == WHY_NONE) {
		cause = find_limit(v);
		if (cause != NULL)
			w->state = "limit";
		/* of the limits, only the rate has a time */
		if (cause == NULL || (rate > 0 && v->state != V_PINNED))
			w->next = rate;
	}
	if (v->cancel != CANCEL_NONE && why != WHY_FED) {
		w->state = "next";
		w->next = -1;
		cause = NULL;
	}
	w->cause = cause != NULL ? cause : "";
	if (v->cancel == CANCEL_NONE)
		return;
	text_fmt(w->words, sizeof(w->words), "%s%s%s", ctl_cancels[v->cancel],
	    *w->cause != '\0' ? "; " : "", w->cause);
	w->cause = w->words;
}

/* ---- vertices -------------------------------------------------------- */

static const char *
get_channel(const struct vertex *v)
{
	return v->thread->ring->chan->name;
}

static const char *
get_host(const struct vertex *v)
{
	return v->thread->host;
}

/* Compares vertices by message, channel and host; portions by their offsets.
 * This order, and so the numbers of vertices, are the same in each dump. */
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
		c = strcmp(get_channel(v), get_channel(w));
	if (c == 0)
		c = strcmp(get_host(v), get_host(w));
	return c != 0 ? c : (int)v->r->off - (int)w->r->off;
}

/* Returns the word of a vertex by which by_word compares.  A variable, as qsort
 * passes no argument. */
static const char *(*sort_word)(const struct vertex *);

static int
by_word(const void *a, const void *b)
{
	unsigned i = *(const unsigned *)a, j = *(const unsigned *)b;
	int c = strcmp(sort_word(rows.v[i]), sort_word(rows.v[j]));

	return c != 0 ? c : (int)i - (int)j;
}

/* Sets rows.by to the indices of all rows, in this order. */
static void
sort_rows(int (*order)(const void *, const void *))
{
	unsigned i;

	for (i = 0; i < rows.n; i++)
		rows.by[i] = i;
	qsort(rows.by, rows.n, sizeof(*rows.by), order);
}

/* Sets rows.v to all vertices that are not DONE: 0, or -1 without memory. */
static int
collect_rows(void)
{
	const struct message *m;
	struct hlink *l;
	struct vertex *v;
	unsigned n = 0;

	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; )
		n += OWNER(struct message, link, l)->nvertices;
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
	struct wait w;

	get_wait(v, &w);
	if (v->state == V_FED) {
		emit("running now, pid=%d", v->ta->pid);
	} else if (w.next > 0) {
		emit("retry in ");
		emit_span(w.next);
	} else if (strcmp(w.state, "limit") != 0) {
		emit("activation pending, thread inactive");
	} else if (strcmp(w.cause, "maxta") == 0) {
		emit("waiting for slot");
	} else if (strcmp(w.cause, "maxchannel") == 0) {
		emit("waiting for channel slot");
	} else {
		emit("waiting for thread slot");
	}
}

/* Returns the seconds until the vertex expires, if its clause has an expiry. */
static long
seconds_to_expiry(const struct vertex *v)
{
	return v->msg->born + v->thread->ring->conf->v.expiry - NOW;
}

/* Writes a vertex in ZMailer's format: number, message, recipients, reasons.  A
 * vertex without a reason shows that of its thread. */
static void
emit_vertex(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const char *sep = " ";
	char line[REASONS_MOST];
	struct text reasons;
	unsigned k;

	emit("%u:\t%-s\t%u;", i + 1, v->msg->name, v->npending);
	for (k = 0; k < v->nr; k++)
		if (v->r[k].state == RC_PENDING) {
			emit("%-s%u", sep, (unsigned)v->r[k].off);
			sep = ",";
		}
	text_init(&reasons, line, sizeof(line));
	msg_join_reasons(v, &reasons);
	if (reasons.len == 0 && v->thread->reason != NULL)
		text_add(&reasons, "%s", v->thread->reason);
	emit("\t#%-s%-s", clean_text(line, 1), reasons.len > 0 ? " (" : "(");
	emit_state(v);
	if (v->thread->ring->conf->v.expiry > 0) {
		emit(", expires in ");
		emit_span(seconds_to_expiry(v));
		emit(", tries=%u", (unsigned)v->tries);
	}
	emit(")\n");
}

/* Writes the title, and for each word, a channel or a host, a line that lists
 * its vertices by their numbers. */
static void
emit_grouped_vertices(const char *title,
    const char *(*word)(const struct vertex *))
{
	const char *last = NULL, *next;
	unsigned i;

	sort_word = word;
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
		emit_grouped_vertices("Channels", get_channel);
		emit_grouped_vertices("Hosts", get_host);
	}
	emit("End:\n");
}

/* ---- rings and totals ------------------------------------------------ */

/* Writes five lists of the busy agents of the thread: P processes, HA seconds
 * since the agent was heard, FA seconds since it was fed, OF jobs, S states. */
static void
emit_agents(const struct thread *t)
{
	static const char *const columns[] = { "P", "HA", "FA", "OF", "S" };
	/* ZMailer's words, by enum ta_state */
	static const char *const states[] = { "LARVA", "STUFF", "IDLE",
	    "FINISH" };
	enum { PID, HEARD, FED, JOBS, STATE, COLUMNS } c;
	const struct ta *ta;

	for (c = PID; c < COLUMNS; c++) {
		emit(" %s={", columns[c]);
		for (ta = t->busy; ta != NULL; ta = ta->tnext) {
			emit("%-s", ta != t->busy ? "," : "");
			if (c == PID)
				emit("%d", ta->pid);
			else if (c == JOBS)
				emit("%u", ta->jobs.n);
			else if (c == STATE)
				emit("%s", states[ta->state]);
			else if (c == FED && ta->fed_at < 0)
				emit("never");
			else
				emit("%ld", -seconds_until(c == FED ?
				    ta->fed_at : ta->heard));
		}
		emit("}%-s", c == HEARD || c == FED ? "s" : "");
	}
}

/* Writes the line of a thread with ZMailer's alignment.  The rows of its
 * vertices are rows.by[at] to rows.by[end - 1].  The address ends in "/2" if
 * the command names the host, else in "/0".  N stands for vertices, R for
 * recipients, A for tries, W for the seconds until the thread wakes, QA for the
 * age of its oldest message. */
static void
emit_thread(const struct thread *t, unsigned at, unsigned end)
{
	/* ZMailer's words, by enum limit */
	static const char *const pend[] = { NULL, ">MaxRing", ">MaxChannel",
	    ">MaxTA", ">ForkRate", "Start" };
	static const char tabs[] = "\t\t\t\t";	/* up to column 32 */
	const struct ring *r = t->ring;
	unsigned long rcpts = 0, tries = 0;
	unsigned n = end - at;
	long oldest = NOW;
	const struct vertex *v;
	double wake = t->due.pos != 0 ? heap_when(&q.due_threads, &t->due) : 0;
	size_t begin, width;

	for (; at < end; at++) {
		v = rows.v[rows.by[at]];
		rcpts += th_is_dsn(t) ? 0 : v->npending;
		tries += v->tries;
		if (v->msg->born < oldest)
			oldest = v->msg->born;
	}
	emit("    ");
	begin = out.len - 4;	/* with the blanks */
	text_add(&out, "%s/%s/%d", r->chan->name, t->host,
	    r->conf->bound ? 2 : 0);
	width = out.len - begin;
	emit("%-s", width < 32 ? &tabs[width / 8] : " ");
	emit("N=%-3u R=%-3lu A=%-2lu", n, rcpts, tries);
	if (t->nta > 0) {
		emit_agents(t);
		emit(" UF=%u", th_nready(t));
	} else if (wake > now.mono) {
		emit(" W=%lds", seconds_until(wake));
	} else if (r->stopped_by != NO_LIMIT) {
		emit(" pend=%s", pend[r->stopped_by]);
	}
	emit(" QA=");
	emit_span(NOW - oldest);
	if (t->nta == 0 && r->stopped_by != NO_LIMIT)
		emit("%-s", r->stopped_by == MAXCHANNEL ? " channelwait" :
		    " threadwait");
	emit("\n");
}

/* Returns the last clause that the ring matched, which is the one with the
 * command if there is a command; or NULL. */
static const struct clause *
get_last_clause(const struct ring *r)
{
	const struct conf *f = r->conf;

	return f->nfrom > 0 ? f->from[f->nfrom - 1] : NULL;
}

/* Compares rows by clause, channel, ring, host and mailbox. */
static int
by_thread(const void *a, const void *b)
{
	const struct thread *t = rows.v[*(const unsigned *)a]->thread;
	const struct thread *u = rows.v[*(const unsigned *)b]->thread;
	const struct clause *c = get_last_clause(t->ring);
	const struct clause *d = get_last_clause(u->ring);
	int n = (c != NULL ? c->line : 0) - (d != NULL ? d->line : 0);

	if (n == 0)
		n = strcmp(t->ring->chan->name, u->ring->chan->name);
	if (n == 0 && t->ring != u->ring)
		return t->ring < u->ring ? -1 : 1;
	if (n == 0)
		n = strcmp(t->host, u->host);
	if (n == 0 && t->box != u->box)
		return t->box < u->box ? -1 : 1;
	return n;
}

/* Returns the thread of rows.by[at], or NULL behind the last row. */
static const struct thread *
get_row_thread(unsigned at)
{
	return at < rows.n ? rows.v[rows.by[at]]->thread : NULL;
}

/* Writes a ring and its threads, whose vertices begin at rows.by[at].  As in
 * ZMailer, "Msgs:" are vertices.  Returns the index behind these vertices. */
static unsigned
emit_ring(const struct ring *r, unsigned at)
{
	const struct clause *c = get_last_clause(r);
	const char *text = c != NULL ? c->text : "*/*";
	unsigned threads = 0, first = at, end;
	const struct thread *t;

	emit("%-s%-s/%d\n", text, strchr(text, '/') == NULL ? "/*" : "",
	    r->conf->bound ? 2 : 0);
	for (; (t = get_row_thread(at)) != NULL && t->ring == r; at = end) {
		for (end = at; get_row_thread(end) == t; )
			end++;
		emit_thread(t, at, end);
		threads++;
	}
	emit("\tThreads: %4u Msgs: %5u Procs: %3ld Idle: %3ld Plim: "
	    "%3ld Flim: %3ld Tlim: %ld\n", threads, at - first, r->counts.nta,
	    r->counts.nidle, r->conf->v.maxring, r->conf->v.overfeed,
	    r->conf->v.fb.limit);
	return at;
}

/* Writes the rings with vertices, in the order of the configuration; the rings
 * that only have agents; and the totals, from "Kids:" on. */
static void
emit_rings_and_totals(void)
{
	const struct ring *r;
	unsigned at = 0;

	sort_rows(by_thread);
	while (at < rows.n)
		at = emit_ring(get_row_thread(at)->ring, at);
	for (r = q.rings; r != NULL; r = r->next)
		if (r->counts.nta > 0 && r->nthreads == 0)
			emit_ring(r, at);
	/* as in ZMailer, Rcpnts are vertices */
	emit("Kids: %u  Idle: %2ld  Msgs: %3u  Thrds: %3u  Rcpnts: %4u  "
	    "Uptime: ", q.nagents, q.counts.nidle, q.messages.n, q.nthreads,
	    rows.n);
	emit_span(NOW);
	emit("\nMsgs in %lu out %lu stored %u Rcpnts in %lu out %lu "
	    "stored %lu\n", q.messages.n + q.msgs_out, q.msgs_out,
	    q.messages.n, q.rcpts_in, q.rcpts_out, q.rcpts_in - q.rcpts_out);
}

/* ---- the facts ------------------------------------------------------- */

/* Writes the m line.  Both files of the message may be missing. */
static void
emit_m_line(const struct message *m)
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
	    ctl_read_last_field(m->name, "se", sender, sizeof(sender)) == 0 ?
	    clean_text(sender, 0) : "?");
}

/* Writes an s line for each skipped file, with the process that has the lock,
 * and the e line on forgotten messages. */
static void
emit_skipped_and_forgotten(void)
{
	const char *name;
	struct skip k;
	struct hlink *l = NULL;
	unsigned n = 0;
	long age, oldest = 0;	/* seconds, of forgotten messages */
	double due;

	while ((name = in_next_stub(&l, &k, &age, &due)) != NULL) {
		if (k.why == NULL) {
			n++;
			oldest = age > oldest ? age : oldest;
			continue;
		}
		emit("s\t%-s\t%ld\t%-s", name, due < now.mono ? 0 :
		    (long)(due - now.mono), k.why);
		if (k.pid != 0)
			emit(" (%d)", k.pid);
		emit("\n");
	}
	if (n > 0)
		emit("e\t%u\t%ld\n", n, oldest);
}

/* Writes the v line. */
static void
emit_v_line(unsigned i)
{
	const struct vertex *v = rows.v[i];
	struct wait w;

	get_wait(v, &w);
	emit("v\t%u\t%-s\t%ld", i + 1, w.state, w.next);
	emit_field(v->thread->ring->conf->v.expiry > 0 && !w.is_kept,
	    seconds_to_expiry(v));
	emit("\t%u\t%d\t%-s\n", (unsigned)v->tries,
	    v->state == V_FED ? v->ta->pid : 0, clean_text(w.cause, 0));
}

/* Writes the r line of each recipient, unless all have the same reason. */
static void
emit_r_lines(unsigned i)
{
	const struct vertex *v = rows.v[i];
	const struct rcpt *r, *end = v->r + v->nr, *first = NULL;
	int has_several = 0;

	for (r = v->r; r < end; r++)
		if (r->state == RC_PENDING) {
			if (first == NULL)
				first = r;
			if (r->reason != first->reason)
				has_several = 1;
		}
	for (r = v->r; r < end && has_several; r++)
		if (r->state == RC_PENDING && r->reason != NULL)
			emit("r\t%u\t%u\t%-s\n", i + 1, (unsigned)r->off,
			    clean_text(r->reason, 1));
}

/* Writes the d line.  The limits of a thread without mail are not known, and
 * shown as 0. */
static void
emit_d_line(const struct thread *t)
{
	static const struct feedback no_limits;
	const struct feedback *f = t->fb != NULL ? t->fb : &no_limits;
	long window = t->fb != NULL ? fb_agents_left(t, 0) : t->window;
	double until = 0;	/* mono; end of the dead time; of a host that is
				 * not dead, end of the pause of its ring after
				 * failed starts; 0: neither */
	const char *why = t->reason;
	char rate[50] = "-";

	if (t->window == 0) {
		until = t->until > now.mono ? t->until : now.mono;
	} else if (t->ring != NULL && t->ring->start_at > now.mono) {
		until = t->ring->start_at;
		why = t->ring->trouble;
	}
	if (f->rate.n > 0)
		text_fmt(rate, sizeof(rate), "%ld/%lds", f->rate.n,
		    f->rate.per);
	emit("d\t%s\t%s\t%ld\t%ld\t%u\t%lu\t%lu", t->chan->name, t->host,
	    window, f->limit, t->nta, t->ngood, t->nbad);
	emit_field(until > 0, seconds_until(until));
	emit("\t%-s\t%-s\t%u\t%ld\t%ld", rate, until > 0 && why != NULL ?
	    clean_text(why, 1) : "", t->nidle, (long)(t->cohorts * 100),
	    -seconds_until(t->used));
	emit_field(t->ring != NULL, (long)th_nready(t));
	emit_field(t->ring != NULL, (long)t->wait.n);
	emit("\t%u\n", (unsigned)t->deaths);
}

/* Returns 1 if the client is to get facts: at a pipe always, at the port if the
 * client ends its side of the connection within FACTS_TIMEOUT. */
static int
has_asked_for_facts(int fd)
{
	struct timeval tv;
	fd_set set;
	char c;
	int n;

	if ((fcntl(fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return 1;
	write_out_or_exit();
	do {	/* SIGCONT may interrupt select */
		FD_ZERO(&set);
		FD_SET(fd, &set);
		tv.tv_sec = FACTS_TIMEOUT;
		tv.tv_usec = 0;
		n = select(fd + 1, &set, NULL, NULL, &tv);
	} while (n < 0 && errno == EINTR);
	return n > 0 && read(fd, &c, 1) == 0;
}

/* Writes the facts; with -Q, nothing that names single messages. */
static void
emit_queue_as_facts(void)
{
	const struct totals *n = &q.total;
	const struct hold *h;
	const struct message *m;
	struct hlink *l;
	unsigned i;

	emit("Facts:\np\t%-s\nt\t%ld\t%ld\n", clean_text(opt.postoffice, 0),
	    (long)now.wall, NOW);
	emit("c\t%lu\t%lu\t%lu\t%lu\t%lu\t%lu\n", n->accepted, n->delivered,
	    n->deferred, n->failed, n->dsns, n->aside);
	for (h = opt.quiet ? NULL : q.holds; h != NULL; h = h->next)
		emit("h\t%-s\t%-s\n", h->patterns != NULL ? "address" :
		    "message", clean_text(h->text, 0));
	for (l = NULL; (l = hash_each(&q.dests, l)) != NULL; )
		if (!th_is_local(OWNER(struct thread, link, l)))
			emit_d_line(OWNER(struct thread, link, l));
	for (i = 0; i < rows.n && !opt.quiet; i++) {
		if (i == 0 || rows.v[i]->msg != rows.v[i - 1]->msg)
			emit_m_line(rows.v[i]->msg);
		emit_v_line(i);
		emit_r_lines(i);
	}
	/* messages without vertices: a DSN is due, or the files could not be
	 * removed */
	for (l = NULL; (l = hash_each(&q.messages, l)) != NULL; ) {
		m = OWNER(struct message, link, l);
		if (!opt.quiet && m->nvertices == 0 && m->end < END_DROP)
			emit_m_line(m);
	}
	if (!opt.quiet)
		emit_skipped_and_forgotten();
	emit("End:\n");
}

int
dump_queue(int fd)
{
	/* the system may reset this handler after the first signal: further
	 * ones would change nothing */
	signal(SIGCONT, shorten_alarm);
	out_fd = fd;
	text_init(&out, outbuf, sizeof(outbuf));
	out.clean = 2;		/* escapes for %s of emit */
	if (collect_rows() < 0) {
		emit("busy the dump gets no memory\n");
		write_out_or_exit();
		return -1;
	}
	emit_vertices();
	emit_rings_and_totals();
	if (has_asked_for_facts(fd))
		emit_queue_as_facts();
	write_out_or_exit();
	return 0;
}
