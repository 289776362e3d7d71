/*
 * read.c - reads a dump of the queue.
 *
 *	version zmailer 1.0
 *	Vertices:
 *	7:<TAB>X/123-45<TAB>2; 139,188<TAB>#last words (retry in 9s, ...)
 *	Channels:
 *	smtp:<TAB>>7>8
 *	Hosts:
 *	example.org:<TAB>>7
 *	End:
 *	(the report, for people; its last line begins with "Msgs in")
 *	Facts:
 *	(lines of a letter and fields: only our scheduler has them, see dump.c)
 *	End:
 *
 * A stream that ends before the second "End:" was cut.  A dump of ZMailer's
 * scheduler has no facts and ends after the report; the text behind '#' then
 * has the state of a job.  The dump in ZMailer's manual has neither that text
 * nor the first "End:": the stream ends behind Hosts, or behind "Vertices:" if
 * the queue is empty, and numbers are in any order.  A stream with such an end
 * is read, and mq_queue.endless is set: the stream may have been cut there.
 *
 * Everything is checked: numbers, names, that each job has one channel and one
 * host, that there is a fact for each job and message.  The first error ends
 * the reading, with the number of its line.  Only the text behind '#' is free:
 * a state in unknown words is kept as it is.
 *
 * A field is bounded, a line is not: a host with many jobs has a long list,
 * which is read number by number.  The number of stored messages in the last
 * line of the report is kept: a scheduler with -Q sends no jobs, and mailq.c
 * would otherwise show an empty queue.
 */
#include "mq.h"

#define RCPT_MOST	10000000UL	/* recipients of a job */
#define NUM_MOST	2147483647L

/* What a part of the stream ends with. */
enum end {
	END_ERROR = -1,		/* what fail() returns */
	END_STREAM,		/* the end of the stream */
	END_HEADING		/* the heading of the next part */
};

struct reader {
	struct mq_queue *q;
	struct mq_in *in;
	int	has_heading;	/* the line "Destinations:" was reported */
	int	mixed;		/* numbers of vertices do not ascend */
	unsigned long line;	/* number of the current line */
	int	ended;		/* the end of this line was read */
	char	*why;		/* error, or "" */
	size_t	len;
	char	tok[MQ_TOKEN_MAX];
};

/* ---- bytes, fields, numbers ------------------------------------------ */

/* Keeps the first error.  Returns -1. */
static int LIKE_PRINTF(2, 3)
fail(struct reader *r, const char *f, ...)
{
	struct text t;
	va_list ap;

	if (r->why[0] != '\0')
		return -1;
	text_init(&t, r->why, MQ_WHY_MAX);
	text_add(&t, "line %lu of the scheduler's answer: ", r->line);
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	return -1;
}

static int
fail_cut(struct reader *r)
{
	if (r->why[0] == '\0')
		text_fmt(r->why, MQ_WHY_MAX, "the scheduler's answer is cut "
		    "short in line %lu%s", r->line,
		    mq_reason_suffix(r->in->why));
	return -1;
}

static int
fail_memory(struct reader *r)
{
	return fail(r, MQ_TOO_LARGE);
}

static int
fail_number(struct reader *r)
{
	return fail(r, "a number is not understood");
}

static int
get_byte(struct reader *r)
{
	int c = mq_read_byte(r->in);

	r->line += (unsigned long)r->ended;
	r->ended = c == '\n';
	return c;
}

static int
peek_byte(struct reader *r)
{
	int c = mq_read_byte(r->in);

	r->in->used -= c >= 0;	/* the next call returns this byte again */
	return c;
}

/* Returns 1 if the stream ends here without an error. */
static int
is_at_end(struct reader *r)
{
	return peek_byte(r) < 0 && r->in->why[0] == '\0';
}

/* Reads the bytes up to one of stop, or the end of the line, into tok.  Returns
 * the byte behind them, or -1. */
static int
read_field(struct reader *r, const char *stop)
{
	int c;

	for (r->len = 0; ; r->tok[r->len++] = (char)c) {
		c = get_byte(r);
		if (c < 0)
			return fail_cut(r);
		if (c == '\0')
			return fail(r, "a zero byte");
		if (c == '\n' || strchr(stop, c) != NULL)
			break;
		if (r->len + 1 == sizeof(r->tok))
			return fail(r, "it is too long");
	}
	r->tok[r->len] = '\0';
	return c;
}

/* Reads digits and one of ends.  Returns the number, or -1. */
static long
read_number(struct reader *r, const char *ends)
{
	int c = read_field(r, ends);
	unsigned long n;

	if (c < 0)
		return -1;
	return strchr(ends, c) == NULL ||
	    num_upto(r->tok, NUM_MOST, &n, NULL) < 0 ? fail_number(r) : (long)n;
}

/* Parses a number, which may have a sign and is not less than least: 0 or -1.
 */
static int
parse_number(const char *s, int least, int *n)
{
	int minus = *s == '-';
	unsigned long u;

	if (num_upto(s + minus, NUM_MOST, &u, NULL) < 0)
		return -1;
	*n = minus ? -(int)u : (int)u;
	return *n < least ? -1 : 0;
}

/* Parses up to 15 digits, or with or_none a "-", which stands for MQ_UNKNOWN: 0
 * or -1. */
static int
parse_count(const char *s, int or_none, double *n)
{
	int digits;

	*n = MQ_UNKNOWN;
	if (or_none && strcmp(s, "-") == 0)
		return 0;
	for (*n = digits = 0; *s >= '0' && *s <= '9' && digits < 15; digits++)
		*n = *n * 10 + (*s++ - '0');
	return digits > 0 && *s == '\0' ? 0 : -1;
}

/* Reads bytes that must be these: 0 or -1. */
static int
read_text(struct reader *r, const char *s)
{
	int c;

	for (; *s != '\0'; s++) {
		c = get_byte(r);
		if (c < 0)
			return fail_cut(r);
		if (c != (unsigned char)*s)
			return fail(r, "it is not understood");
	}
	return 0;
}

/* Reads a line that must be this one: 0 or -1. */
static int
read_line(struct reader *r, const char *s)
{
	if (read_field(r, "") < 0)
		return -1;
	return strcmp(r->tok, s) == 0 ? 0 :
	    fail(r, "\"%.60s\" is not understood", r->tok);
}

/* ---- the text of a job ----------------------------------------------- */

/* Parses a span such as 4d23h or -5s: 0 or -1. */
static int
parse_span(const char *s, int *n)
{
	long v;
	int minus = *s == '-';

	if (span_parse(s + minus, &v) < 0 || v > NUM_MOST)
		return -1;
	*n = minus ? -(int)v : (int)v;
	return 0;
}

/* Moves ", expires in 4d23h, tries=3" from the end of s into the job. */
static void
cut_expiry(struct mq_job *j, char *s)
{
	static const char head[] = ", expires in ", tail[] = ", tries=";
	char *p, *tries, *end = NULL;
	int expires, n;

	for (p = s; (p = strstr(p, head)) != NULL; p++)
		end = p;
	if (end == NULL || (tries = strstr(end + 1, tail)) == NULL)
		return;
	*tries = '\0';
	if (parse_span(end + sizeof(head) - 1, &expires) == 0 &&
	    parse_number(tries + sizeof(tail) - 1, 0, &n) == 0) {
		j->expires = expires;
		j->tries = n;
		*end = '\0';
	} else {
		*tries = ',';
	}
}

/* The words for MQ_LIMIT. */
static const struct {
	const char *words;
	const char *what;	/* the limit, or "" */
} limits[] = {
	{ "waiting for slot", "" },
	{ "waiting for channel slot", "maxchannel" },
	{ "waiting for thread slot", "maxthr" }
};

/* Parses the words for a state; unknown words are kept as they are. */
static int
parse_state(struct reader *r, struct mq_job *j, char *s)
{
	static const char retry[] = "retry in ", run[] = "running now, pid=";
	/* ZMailer adds this to the state of the next job */
	static const char more[] = " NextFeed";
	size_t i, n = strlen(s), k = sizeof(more) - 1;

	if (strncmp(s, retry, sizeof(retry) - 1) == 0 &&
	    parse_span(s + sizeof(retry) - 1, &j->next) == 0) {
		j->state = MQ_RETRY;
		return 0;
	}
	if (n > k && strcmp(s + n - k, more) == 0)
		s[n - k] = '\0';
	if (strncmp(s, run, sizeof(run) - 1) == 0 &&
	    parse_number(s + sizeof(run) - 1, 0, &j->pid) == 0) {
		j->state = MQ_RUN;
		return 0;
	}
	for (i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		if (strcmp(s, limits[i].words) == 0) {
			j->state = MQ_LIMIT;
			j->what = limits[i].what;
			return 0;
		}
	j->what = mq_intern(r->q, s);
	return j->what == NULL ? fail_memory(r) : 0;
}

/* Reads the rest of the line, "#[message ](state)" or nothing: 0 or -1. */
static int
read_reason_and_state(struct reader *r, struct mq_job *j)
{
	char *open;

	if (r->ended)
		return 0;
	if (read_field(r, "") < 0)
		return -1;
	if (r->len == 0)
		return 0;
	if (r->tok[0] != '#')
		return fail(r, "\"%.60s\" is not understood", r->tok);
	memmove(r->tok, r->tok + 1, r->len--);
	open = strrchr(r->tok, '(');
	if (open != NULL && r->len > 0 && r->tok[r->len - 1] == ')' &&
	    (open == r->tok || open[-1] == ' ')) {
		r->tok[r->len - 1] = '\0';
		cut_expiry(j, open + 1);
		if (parse_state(r, j, open + 1) < 0)
			return -1;
		*open = '\0';
		if (open > r->tok)
			open[-1] = '\0';
	}
	j->reason = mq_intern(r->q, r->tok);
	return j->reason == NULL ? fail_memory(r) : 0;
}

/* ---- the parts of a dump --------------------------------------------- */

static int
read_vertex(struct reader *r)
{
	struct mq_queue *q = r->q;
	struct mq_msg *m;
	struct mq_job *j;
	long qid = read_number(r, ":"), n, off;

	if (qid < 0 || read_text(r, "\t") < 0 || read_field(r, "\t") < 0)
		return -1;
	r->mixed |= q->njobs > 0 &&
	    (unsigned long)qid <= q->jobs[q->njobs - 1].qid;
	if (r->len == 0 || r->len >= MQ_NAME_MAX)
		return fail(r, "\"%.60s\" is no name of a message", r->tok);
	m = mq_msg_get(q, r->tok, 1);
	j = m == NULL ? NULL : mq_job_add(q, m);
	if (j == NULL)
		return fail_memory(r);
	j->qid = (unsigned)qid;
	n = read_number(r, ";");
	if (n < 0 || read_text(r, n == 0 ? "\t" : " ") < 0)
		return -1;
	if ((unsigned long)n > RCPT_MOST)
		return fail(r, "too many recipients");
	j->nrcpt = (unsigned)n;
	j->low = UINT_MAX;
	for (j->high = 0; n > 0; n--) {	/* the offsets of the recipients */
		off = read_number(r, n > 1 ? "," : "\t\n");
		if (off < 0)
			return -1;
		if ((unsigned)off < j->low)
			j->low = (unsigned)off;
		if ((unsigned)off > j->high)
			j->high = (unsigned)off;
	}
	return read_reason_and_state(r, j);
}

/* Returns the vertex with this number, or NULL. */
static struct mq_job *
find_job(struct reader *r, const char *qid)
{
	int n;

	return parse_number(qid, 0, &n) < 0 ? NULL :
	    mq_job_by_qid(r->q, (unsigned)n);
}

/* Reads the numbers of vertices behind the TAB of a line of a list, and sets
 * channel or host of these vertices: 0 or -1. */
static int
set_dest_of_vertices(struct reader *r, const char *channel, const char *host)
{
	struct mq_queue *q = r->q;
	struct mq_job *j;
	int end;

	if (read_text(r, ">") < 0)
		return -1;
	do {
		end = read_field(r, ">");
		if (end < 0)
			return -1;
		j = find_job(r, r->tok);
		if (j == NULL)
			return fail(r, "there is no vertex \"%.20s\"",
			    r->tok);
		if (host == NULL && j->dest != NULL)
			return fail(r, "vertex %.20s has two channels", r->tok);
		if (host != NULL &&
		    (j->dest == NULL || j->dest->host[0] != '\0'))
			return fail(r, "vertex %.20s has no channel, or two "
			    "hosts", r->tok);
		j->dest = host == NULL ? mq_dest_get(q, channel, "") :
		    mq_dest_get(q, j->dest->channel, host);
		if (j->dest == NULL)
			return fail_memory(r);
		j->dest->njobs += host != NULL;
		if (strcmp(j->dest->channel, "dsn") == 0)
			j->nrcpt = 0;	/* a DSN goes to the sender */
	} while (end == '>');
	return 0;
}

/* Reads the lines of Channels, or with hosts the lines of Hosts, up to and
 * including the next heading. */
static enum end
read_list(struct reader *r, int hosts, const char *next)
{
	const char *name;
	int c;

	while (!is_at_end(r)) {
		c = read_field(r, "\t");
		if (c < 0)
			return END_ERROR;
		if (c == '\n' && strcmp(r->tok, next) == 0)
			return END_HEADING;
		if (c == '\n')
			return fail(r, "\"%.60s\" is not understood", r->tok);
		if (r->len < 2 || r->tok[r->len - 1] != ':')
			return fail(r, "\"%.60s\" is no channel or host",
			    r->tok);
		r->tok[r->len - 1] = '\0';
		text_unescape(r->tok);
		if (strlen(r->tok) >= MQ_WORD_MAX)
			return fail(r, "\"%.60s\" is too long", r->tok);
		name = mq_intern(r->q, r->tok);
		if (name == NULL)
			return fail_memory(r);
		if (set_dest_of_vertices(r, name, hosts ? name : NULL) < 0)
			return END_ERROR;
	}
	return END_STREAM;
}

/* Reads Channels and Hosts, which have every vertex, and "End:". */
static enum end
read_lists(struct reader *r)
{
	struct mq_queue *q = r->q;
	enum end end = END_ERROR;
	unsigned i;

	if (read_line(r, "Channels:") == 0)
		end = read_list(r, 0, "Hosts:");
	if (end == END_HEADING)
		end = read_list(r, 1, "End:");
	for (i = 0; i < q->njobs && end != END_ERROR; i++)
		if (q->jobs[i].dest == NULL ||
		    q->jobs[i].dest->host[0] == '\0')
			end = end == END_STREAM ? fail_cut(r) : fail(r,
			    "a vertex has no channel or no host");
	return end;
}

/* Reads from behind "Vertices:" to behind "End:". */
static enum end
read_vertices(struct reader *r)
{
	int c;

	while ((c = peek_byte(r)) >= '0' && c <= '9')
		if (read_vertex(r) < 0)
			return END_ERROR;
	if (r->mixed && mq_job_sort(r->q) < 0)
		return fail(r, "two vertices have the same number");
	if (r->q->njobs > 0)
		return read_lists(r);
	if (is_at_end(r))
		return END_STREAM;
	return read_line(r, "End:") < 0 ? END_ERROR : END_HEADING;
}

/* Skips the vertices up to and including "End:". */
static enum end
skip_vertices(struct reader *r)
{
	int c, begins;		/* the field is the first of a line */

	do {
		if (is_at_end(r))
			return fail(r, "there is no report, or it is cut "
			    "short");
		begins = r->ended;
		c = read_field(r, ",>");
		if (c < 0)
			return END_ERROR;
	} while (!begins || c != '\n' || strcmp(r->tok, "End:") != 0);
	return END_HEADING;
}

/* Reads the report up to and including "Facts:". */
static enum end
read_report(struct reader *r)
{
	static const char last[] = "Msgs in ", stored[] = " stored ";
	const char *p, *end;
	int ended = 0;

	while (!ended) {
		if (read_field(r, "") < 0)
			return END_ERROR;
		ended = strncmp(r->tok, last, sizeof(last) - 1) == 0;
		if (r->q->report != NULL)
			r->q->report(r->tok);
	}
	p = strstr(r->tok, stored);
	if (p == NULL)
		return fail(r, "it is not understood");
	p += sizeof(stored) - 1;
	r->q->stored = (double)num_of(p, &end);
	if (end == p)
		return fail_number(r);
	if (is_at_end(r))
		return END_STREAM;
	return read_line(r, "Facts:") < 0 ? END_ERROR : END_HEADING;
}

/* ---- facts ----------------------------------------------------------- */

static int
keep_office(struct reader *r, char **f)
{
	return text_fmt(r->q->postoffice, sizeof(r->q->postoffice), "%s",
	    f[1]) == 0 ? 0 : fail(r, "the path is too long");
}

static int
keep_uptime(struct reader *r, char **f)
{
	return parse_number(f[2], INT_MIN, &r->q->uptime) < 0 ?
	    fail_number(r) : 0;
}

static int
keep_hold(struct reader *r, char **f)
{
	return mq_note_add(r->q, strcmp(f[1], "address") == 0 ?
	    MQ_HOLD_ADDRESS : MQ_HOLD_MESSAGE, f[2], MQ_UNKNOWN) < 0 ?
	    fail_memory(r) : 0;
}

static int
keep_evicted(struct reader *r, char **f)
{
	struct mq_queue *q = r->q;

	return parse_number(f[1], 0, &q->evicted) < 0 ||
	    parse_number(f[2], 0, &q->evicted_age) < 0 ? fail_number(r) : 0;
}

static int
keep_totals(struct reader *r, char **f)
{
	int i;

	for (i = 0; i < MQ_TOTALS; i++)
		if (parse_count(f[i + 1], 0, &r->q->totals[i]) < 0)
			return fail_number(r);
	return 0;
}

static int
keep_message(struct reader *r, char **f)
{
	struct mq_queue *q = r->q;
	struct mq_msg *m;

	if (f[1][0] == '\0' || strlen(f[1]) >= MQ_NAME_MAX)
		return fail(r, "\"%.60s\" is no name of a message", f[1]);
	m = mq_msg_get(q, f[1], 1);
	if (m == NULL)
		return fail_memory(r);
	if (m->known)
		return fail(r, "message %.60s is there twice", f[1]);
	m->known = 1;
	if (parse_number(f[2], MQ_UNKNOWN, &m->age) < 0)
		return fail(r, "\"%.60s\" is no age", f[2]);
	if (strcmp(f[3], "-1") != 0 && parse_count(f[3], 0, &m->size) < 0)
		return fail(r, "\"%.60s\" is no size", f[3]);
	/* flags: h for held, r if only the DSN is left */
	if (strcmp(f[4], "-") != 0 &&
	    (f[4][0] == '\0' || f[4][strspn(f[4], "hr")] != '\0'))
		return fail(r, "flags \"%.60s\" are not known", f[4]);
	m->held = strchr(f[4], 'h') != NULL;
	m->over = strchr(f[4], 'r') != NULL;
	if (strcmp(f[5], "?") != 0 && (m->sender = mq_intern(q, f[5])) == NULL)
		return fail_memory(r);
	return 0;
}

static int
keep_job(struct reader *r, char **f)
{
	struct mq_job *j = find_job(r, f[1]);
	int state = mq_find_state(f[2], strlen(f[2]));

	if (j == NULL || j->known)
		return fail(r, "there is no vertex %.20s, or its facts come "
		    "twice", f[1]);
	j->known = 1;
	if (state < MQ_RETRY || state > MQ_COMMAND)
		return fail(r, "state \"%.60s\" is not known", f[2]);
	j->state = (unsigned char)state;
	j->expires = MQ_NEVER;
	if (parse_number(f[3], MQ_UNKNOWN, &j->next) < 0 ||
	    (strcmp(f[4], "-") != 0 &&
	    parse_number(f[4], INT_MIN, &j->expires) < 0) ||
	    parse_number(f[5], 0, &j->tries) < 0 ||
	    parse_number(f[6], 0, &j->pid) < 0)
		return fail_number(r);
	j->what = mq_intern(r->q, f[7]);
	return j->what == NULL ? fail_memory(r) : 0;
}

static int
keep_rcpt_reason(struct reader *r, char **f)
{
	struct mq_job *j = find_job(r, f[1]);
	int off;

	if (j == NULL || parse_number(f[2], 0, &off) < 0)
		return fail(r, "there is no vertex or recipient \"%.20s\"",
		    j == NULL ? f[1] : f[2]);
	return mq_why_add(r->q, j->msg, (unsigned long)off, f[3]) < 0 ?
	    fail_memory(r) : 0;
}

/* The numbers of a destination. */
static const struct {
	int	field;		/* index of the number in the line */
	int	or_none;	/* "-" stands for an unknown number */
	size_t	at;		/* offset of the member */
} dest_numbers[] = {
	{ 3, 0, offsetof(struct mq_facts, window) },
	{ 4, 0, offsetof(struct mq_facts, limit) },
	{ 5, 0, offsetof(struct mq_facts, agents) },
	{ 6, 0, offsetof(struct mq_facts, good) },
	{ 7, 0, offsetof(struct mq_facts, bad) },
	{ 8, 1, offsetof(struct mq_facts, dead) },
	{ 11, 0, offsetof(struct mq_facts, idle) },
	{ 12, 0, offsetof(struct mq_facts, cohorts) },
	{ 13, 0, offsetof(struct mq_facts, unused) },
	{ 14, 1, offsetof(struct mq_facts, ready) },
	{ 15, 1, offsetof(struct mq_facts, waiting) },
	{ 16, 0, offsetof(struct mq_facts, tries) }
};

/* Keeps the facts of a destination: 0 or -1.  The caller has set the numbers of
 * k; rate and reason are set here. */
static int
keep_dest_facts(struct reader *r, char **f, struct mq_facts *k)
{
	struct mq_dest *d;

	text_unescape(f[1]);
	text_unescape(f[2]);
	if (strlen(f[1]) >= MQ_WORD_MAX || strlen(f[2]) >= MQ_WORD_MAX)
		return fail(r, "\"%.60s\" is no channel or host", f[2]);
	d = mq_dest_get(r->q, f[1], f[2]);
	if (d == NULL)
		return fail_memory(r);
	if (d->facts != NULL)
		return fail(r, "destination %.60s is there twice", f[2]);
	k->rate = strcmp(f[9], "-") != 0 ? mq_intern(r->q, f[9]) : "";
	k->reason = mq_intern(r->q, f[10]);
	return k->rate == NULL || k->reason == NULL ||
	    mq_dest_set_facts(r->q, d, k) < 0 ? fail_memory(r) : 0;
}

/* Keeps a destination, or makes it a line of the report. */
static int
keep_dest(struct reader *r, char **f)
{
	static char line[MQ_TOKEN_MAX];	/* large for a stack */
	struct mq_facts k;
	struct text t;
	size_t i;

	for (i = 0; i < sizeof(dest_numbers) / sizeof(*dest_numbers); i++)
		if (parse_count(f[dest_numbers[i].field],
		    dest_numbers[i].or_none, (double *)(void *)((char *)&k +
		    dest_numbers[i].at)) < 0)
			return fail_number(r);
	if (r->q->with_dests)
		return keep_dest_facts(r, f, &k);
	if (r->q->report == NULL)
		return 0;
	/* a line as for a thread, CHANNEL/HOST/N, so that -f finds it */
	text_init(&t, line, sizeof(line));
	text_add(&t, "    %s/%s/d  window=%s/%s agents=%s good=%s bad=%s",
	    f[1], f[2], f[3], f[4], f[5], f[6], f[7]);
	if (strcmp(f[9], "-") != 0)
		text_add(&t, " rate=%s", f[9]);
	if (strcmp(f[8], "-") != 0)
		text_add(&t, " dead, next try in %ss: %s", f[8], f[10]);
	if (!r->has_heading)
		r->q->report("Destinations:");
	r->has_heading = 1;
	r->q->report(line);
	return 0;
}

/* Keeps a file that the scheduler cannot load now, as a message without jobs: 0
 * or -1. */
static int
keep_skipped(struct reader *r, char **f)
{
	struct mq_msg *m;

	if (strlen(f[1]) >= MQ_NAME_MAX)
		return fail(r, "\"%.60s\" is no name of a message", f[1]);
	m = mq_msg_get(r->q, f[1], 1);
	if (m == NULL || (m->skipped = mq_intern(r->q, f[3])) == NULL)
		return fail_memory(r);
	return parse_number(f[2], INT_MIN, &m->next) < 0 ? fail_number(r) : 0;
}

/* Facts by their letters, with the number of fields. */
static const struct {
	int	letter, n;
	int	(*keep)(struct reader *, char **);	/* 0 or -1 */
} kinds[] = {
	{ 'c', MQ_TOTALS + 1, keep_totals }, { 'd', 17, keep_dest },
	{ 'e', 3, keep_evicted }, { 'h', 3, keep_hold },
	{ 'm', 6, keep_message }, { 'p', 2, keep_office },
	{ 'r', 4, keep_rcpt_reason }, { 's', 4, keep_skipped },
	{ 't', 3, keep_uptime }, { 'v', 8, keep_job }
};

static int
read_fact(struct reader *r)
{
	char *f[17];
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (kinds[i].letter == r->tok[0] &&
		    text_split_tabs(r->tok, f, kinds[i].n) == 0 &&
		    strchr(f[kinds[i].n - 1], '\t') == NULL)
			return kinds[i].keep(r, f);
	/* the scheduler and mailq are installed together */
	return fail(r, "the fact \"%.60s\" is not of this version of mailq; "
	    "restart the scheduler, if an older one still runs", r->tok);
}

/* Reads from behind "Facts:" to the end: 0 or -1. */
static int
read_facts(struct reader *r)
{
	struct mq_queue *q = r->q;
	unsigned i;

	for (;;) {
		if (read_field(r, "") < 0)
			return -1;
		if (strcmp(r->tok, "End:") == 0)
			break;
		if (r->tok[0] == '\0' || r->tok[1] != '\t')
			return fail(r, "\"%.60s\" is not understood",
			    r->tok);
		if (q->no_queue && strchr("mrsv", r->tok[0]) != NULL)
			continue;	/* no message is kept */
		if (read_fact(r) < 0)
			return -1;
	}
	q->facts = 1;
	mq_why_sort(q);
	if (peek_byte(r) >= 0)
		return fail(r, "more follows this last line");
	if (r->in->why[0] != '\0')
		return fail_cut(r);
	for (i = 0; i < q->njobs; i++)
		if (!q->jobs[i].known || !q->msgs[q->jobs[i].msg].known)
			return fail(r, "a vertex or its message has no facts");
	return 0;
}

/* ---- all of it ------------------------------------------------------- */

/* Reads the lines before the vertices; MQ_READ_DONE: the vertices follow. */
static enum mq_read
read_greeting(struct reader *r)
{
	static const char busy[] = "busy ", two[] = "version zmailer 2";

	if (read_field(r, "") < 0)
		return MQ_READ_ERROR;
	if (strcmp(r->tok, "version zmailer 1.0") == 0)
		return read_line(r, "Vertices:") < 0 ? MQ_READ_ERROR :
		    MQ_READ_DONE;
	if (strncmp(r->tok, busy, sizeof(busy) - 1) == 0)
		text_fmt(r->why, MQ_WHY_MAX, "the scheduler is busy: %.200s",
		    r->tok + sizeof(busy) - 1);
	else if (strncmp(r->tok, two, sizeof(two) - 1) != 0)
		fail(r, "\"%.60s\" is not what a scheduler says", r->tok);
	else if (r->in->fifo)
		strcpy(r->why, "the scheduler speaks protocol 2, which mailq "
		    "can use by TCP only");
	else
		return MQ_READ_TWO;
	return MQ_READ_ERROR;
}

enum mq_read
mq_read_dump(struct mq_queue *q, struct mq_in *in, char why[MQ_WHY_MAX])
{
	static struct reader r;		/* large for a stack */
	enum mq_read greeting;
	enum end end;

	memset(&r, 0, sizeof(r));
	r.q = q;
	r.in = in;
	r.line = 1;
	r.why = why;
	why[0] = '\0';
	greeting = read_greeting(&r);
	if (greeting != MQ_READ_DONE)
		return greeting;
	end = q->no_queue ? skip_vertices(&r) : read_vertices(&r);
	q->endless = end == END_STREAM;
	if (end == END_HEADING)
		end = read_report(&r);
	if (end == END_ERROR || (end == END_HEADING && read_facts(&r) < 0))
		return MQ_READ_ERROR;
	return MQ_READ_DONE;
}
