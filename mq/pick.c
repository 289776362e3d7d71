/*
 * pick.c - filters: selects messages and jobs.
 *
 *	mailq from='*@shop.example' older=2d
 *	mailq delete to=joe@far.example state=retry
 *
 * A message must pass all filters.  Sender and age belong to the message, so
 * all its jobs pass.  Recipient, destination and state belong to jobs, and a
 * message passes if one of its jobs passes all three.  A listing shows only
 * the jobs that pass; a command, and its dry run, is about whole messages.
 *
 * delete and bounce are careful: a message that also goes to recipients that do
 * not pass is left alone and counted.  For these two commands, as for the
 * filter to=, the control file is read, as a dump has no names of recipients.
 *
 * A control file that cannot be read ends the command, since a guess could
 * delete the wrong mail.  If the file is gone, the mail was delivered
 * meanwhile.
 */
#include "mq.h"
#include "../lib/pattern.h"

#define BIT(state)	(1UL << (state))

/* ---- reading ----------------------------------------------------------- */

/* Parses a pattern of addresses, without the < and > around it.  A slash is
 * added at its end, as mq_has_match adds one to the address.  Without that
 * slash, pat_expand would add a slash and a '*', which match longer addresses,
 * too.  Returns NULL, or what is wrong. */
static const char *
parse_address(char ***to, const char *s)
{
	char pattern[MQ_WORD_MAX];
	size_t n = strlen(s);

	if (n >= 2 && s[0] == '<' && s[n - 1] == '>') {
		s++;
		n -= 2;
	}
	if (text_fmt(pattern, sizeof(pattern), "%.*s/", (int)n, s) < 0)
		return "it is too long";
	return pat_expand(pattern, to);
}

/* Reads states with commas between: NULL, or what is wrong. */
static const char *
parse_states(struct mq_pick *p, const char *s)
{
	size_t n;
	int state;

	for (;; s += n + 1) {
		n = strcspn(s, ",");
		state = mq_find_state(s, n);
		if (state < 0 || state == MQ_SPOOL)
			return "there is no such state";
		p->states |= BIT(state);
		if (s[n] == '\0')
			return NULL;
	}
}

enum filter { FROM, TO, DEST, OLDER, YOUNGER, STATE, MSGID, FILTERS };

static const char *const filters[FILTERS] = {
	"from=", "to=", "dest=", "older=", "younger=", "state=", "msgid="
};

/* Parses the value of a filter: NULL, or what is wrong. */
static const char *
parse_filter(struct mq_pick *p, int filter, const char *s)
{
	switch (filter) {
	case FROM:
		return parse_address(&p->from, s);
	case TO:
		return parse_address(&p->to, s);
	case DEST:
		return *s == '\0' ? "it is empty" : pat_expand(s, &p->dest);
	case STATE:
		return parse_states(p, s);
	case MSGID:
		p->msgid = s;
		return *s == '\0' ? "it is empty" : NULL;
	}
	return span_parse(s, filter == OLDER ? &p->older : &p->younger) < 0 ?
	    "it is no time such as 90, 5m or 2d" : NULL;
}

enum mq_word_kind
mq_pick_parse(struct mq_pick *p, const char *word)
{
	size_t n = strspn(word, "abcdefghijklmnopqrstuvwxyz") + 1;
	const char *bad = "there is no such filter";
	int i;

	if (word[n - 1] != '=' || n == 1)
		return MQ_NO_FILTER;
	for (i = 0; i < FILTERS; i++)
		if (strncmp(word, filters[i], n) == 0) {
			bad = p->given & BIT(i) ? "it is given twice" :
			    parse_filter(p, i, word + n);
			p->given |= BIT(i);
			break;
		}
	if (bad == NULL)
		return MQ_FILTER;
	mq_complain("%s: %s", word, bad);
	return MQ_BAD_FILTER;
}

/* ---- what passes ------------------------------------------------------- */

int
mq_has_match(char *const *patterns, const char *before, const char *behind)
{
	static char s[MQ_TOKEN_MAX + MQ_WORD_MAX];	/* large for a stack */

	text_fmt(s, sizeof(s), "%s/%s", before, behind);
	text_lower(s);
	for (; *patterns != NULL; patterns++)
		if (pat_matches(*patterns, s))
			return 1;
	return 0;
}

/* Returns 1 if the destination passes.  The channel dsn, whose jobs are DSNs to
 * be sent, passes a command only if p->dest has a pattern that begins with
 * "dsn/". */
static int
dest_passes(const struct mq_pick *p, const struct mq_dest *d)
{
	char s[2 * MQ_WORD_MAX + 2];

	if (!p->whole)
		return p->dest == NULL ||
		    mq_has_match(p->dest, d->channel, d->host);
	text_fmt(s, sizeof(s), "%s/%s", d->channel, d->host);
	text_lower(s);
	return p->dest != NULL ? pat_matches_address(p->dest, s) :
	    strcmp(d->channel, "dsn") != 0;
}

int
mq_rcpt_passes(const struct mq_pick *p, const struct mq_dest *d,
    const char *user)
{
	return (p->to == NULL || mq_has_match(p->to, user, "")) &&
	    (p->dest == NULL || dest_passes(p, d));
}

void
mq_pick_init(struct mq_pick *p)
{
	memset(p, 0, sizeof(*p));
	p->older = p->younger = -1;
}

static int
job_passes(const struct mq_pick *p, const struct mq_msg *m,
    const struct mq_job *j)
{
	return (p->states == 0 ||
	    (p->states & BIT(mq_job_get_state(m, j))) != 0) &&
	    (p->hold == NULL || (j->state == MQ_HELD &&
	    strcmp(j->what, p->hold) == 0)) && dest_passes(p, j->dest);
}

/* Returns 1 if the message passes the filters on messages. */
static int
message_passes(const struct mq_pick *p, const struct mq_msg *m)
{
	if (p->name != NULL && strcmp(name_base(m->name), p->name) != 0)
		return 0;
	if (p->from != NULL && (m->sender == NULL ||
	    !mq_has_match(p->from, m->sender, "")))
		return 0;
	if (p->older >= 0 && (m->age == MQ_UNKNOWN || m->age < p->older))
		return 0;
	if (p->younger >= 0 && (m->age == MQ_UNKNOWN || m->age > p->younger))
		return 0;
	return !p->only_held || m->held;
}

/* Returns 1 if a message without jobs passes the filters on jobs, as far as
 * that can be said without a job.  If only the DSN to the sender is left of it,
 * it passes in a listing that has no such filter, and never in a command.  Any
 * other message counts as skipped or as evicted. */
static int
jobless_passes(const struct mq_pick *p, const struct mq_msg *m)
{
	int state = m->skipped != NULL ? MQ_SKIPPED : MQ_EVICTED;

	if (m->over)
		return !p->whole && p->states == 0 && p->dest == NULL &&
		    p->to == NULL;
	return p->hold == NULL &&
	    (p->states == 0 || (p->states & BIT(state)) != 0);
}

/* ---- recipients -------------------------------------------------------- */

enum match {
	UNREADABLE = -1,	/* mailq has said why */
	NO_MATCH,
	MATCH
};

/* Returns 1 for equal Message-IDs, with "<" and ">" or without. */
static int
is_same_msgid(const char *a, const char *b)
{
	size_t n;

	a += *a == '<';
	b += *b == '<';
	n = strcspn(a, ">");
	return n == strcspn(b, ">") && strncmp(a, b, n) == 0;
}

/* Returns the number of recipients that pass, in jobs that pass.  With the
 * filter to=, hides jobs without such a recipient.  O(jobs *
 * log(recipients)). */
static unsigned
count_rcpts_hide_jobs(const struct mq_pick *p, struct mq_queue *q,
    const struct mq_msg *m, const struct mq_rcpts *r)
{
	struct mq_job *j;
	unsigned i, n, sum = 0;

	for (i = m->first; i != 0; i = j->next_job) {
		j = &q->jobs[i - 1];
		if (j->hidden)
			continue;
		mq_rcpts_find(r, j, &n);
		j->hidden = n == 0 && p->to != NULL;
		sum += n;
	}
	return sum;
}

/* Applies the filters on recipients to those in the control file. */
static enum match
match_file(struct mq_pick *p, struct mq_queue *q, const struct mq_msg *m,
    const struct mq_view *view)
{
	struct mq_rcpts r;
	unsigned n, others;
	int fits;

	mq_read_rcpts(&r, q, m, view, p);
	if (r.why != NULL && !r.gone) {
		mq_complain("the recipients of %s cannot be seen: %s", m->name,
		    r.why);
		mq_rcpts_free(&r);
		return UNREADABLE;
	}
	fits = !r.gone && (p->msgid == NULL ||
	    is_same_msgid(r.msgid, p->msgid));
	/* a state belongs to a job: recipients of other jobs do not count */
	n = count_rcpts_hide_jobs(p, q, m, &r);
	if (p->states == 0 || m->first == 0)
		n = r.n + r.more;
	others = r.pending - n;
	mq_rcpts_free(&r);
	if (!fits || (n == 0 && !m->over))
		return NO_MATCH;
	if (n == 0 || others == 0 || !p->careful)
		return MATCH;
	p->parts++;
	return NO_MATCH;
}

/* ---- the whole --------------------------------------------------------- */

void
mq_pick_begin(struct mq_queue *q)
{
	unsigned i;

	q->filtered = 1;
	for (i = 0; i < q->njobs; i++)
		q->jobs[i].hidden = 1;
}

/* Unhides the jobs of a message that pass, or all jobs, and returns their
 * number. */
static unsigned
unhide_jobs(const struct mq_pick *p, struct mq_queue *q, const struct mq_msg *m,
    int all)
{
	unsigned i, n = 0;
	struct mq_job *j;

	for (i = m->first; i != 0; i = j->next_job) {
		j = &q->jobs[i - 1];
		if (all || job_passes(p, m, j)) {
			j->hidden = 0;
			n++;
		}
	}
	return n;
}

/* Applies all filters to the message. */
static enum match
match_message(struct mq_pick *p, struct mq_queue *q, const struct mq_msg *m,
    const struct mq_view *view)
{
	/* filters that may let a part of a message's recipients pass */
	int only_some = p->to != NULL || p->dest != NULL || p->states != 0;

	if (!message_passes(p, m))
		return NO_MATCH;
	if (m->first == 0 && !jobless_passes(p, m))
		return NO_MATCH;
	if (m->first != 0 && unhide_jobs(p, q, m, 0) == 0 && p->to == NULL)
		return NO_MATCH;
	if (m->over && p->to != NULL)
		return NO_MATCH;	/* no recipient is left */
	if (m->over && p->msgid == NULL)
		return MATCH;
	/* The control file is needed for the filters msgid= and to=, for dest=
	 * if the message has no jobs, and for a careful command if there may be
	 * recipients that do not pass. */
	if (p->msgid != NULL || p->to != NULL ||
	    (p->dest != NULL && m->first == 0) || (only_some && p->careful))
		return match_file(p, q, m, view);
	return MATCH;
}

int
mq_pick(struct mq_pick *p, struct mq_queue *q, const struct mq_view *view)
{
	struct mq_msg *m;
	enum match match;
	unsigned i;

	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		match = match_message(p, q, m, view);
		if (match == UNREADABLE)
			return -1;
		if (match == NO_MATCH) {
			/* jobs that an earlier word has picked stay shown */
			i = m->picked ? 0 : m->first;
			for (; i != 0; i = q->jobs[i - 1].next_job)
				q->jobs[i - 1].hidden = 1;
			continue;
		}
		if (p->whole && p->only_jobs == 0)
			unhide_jobs(p, q, m, 1);
		m->picked = 1;
		p->found++;
	}
	return 0;
}

void
mq_pick_recount(struct mq_queue *q)
{
	const struct mq_job *j;
	const struct mq_msg *m;
	struct mq_dest *d;

	for (d = q->dests; d != NULL; d = d->next)
		d->njobs = 0;
	for (j = q->jobs; j < q->jobs + q->njobs; j++)
		j->dest->njobs += !j->hidden;
	for (d = q->dests; d != NULL; d = d->next)
		d->hidden = d->njobs == 0;
	q->evicted = 0;
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++)
		q->evicted += m->picked && m->first != 0 &&
		    q->jobs[m->first - 1].state == MQ_EVICTED;
}
