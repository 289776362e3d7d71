/*
 * verbs.c - commands: hold, release, flush, delete, bounce.
 *
 *	mailq delete 107-1 108-1
 *	mailq hold 'smtp/a?.example.org'
 *	mailq delete -			names, a line each, from standard input
 *	mailq -n bounce from='*@shop.example' older=2d
 *
 * A named message or pattern goes to the scheduler as it is, in one command.
 * With filters, mailq first asks for the queue; each message that passes
 * becomes a command, as the scheduler has no filters.  All words are checked
 * before the first command is sent.
 *
 * A dry run sends nothing and shows the messages of the command.
 */
#include "mq.h"
#include "../lib/pattern.h"
#include <ctype.h>

#define WHAT_MOST	400	/* bytes of a message's name or a pattern */
#define ANSWER_MOST	4096	/* bytes of an answer to a command */

/* ---- words ------------------------------------------------------------ */

static const char *const verb_name[] = {
	"", "flush", "hold", "release", "delete", "bounce", "show"
};

enum mq_verb
mq_find_verb(const char *s)
{
	int v;

	for (v = MQ_FLUSH; v < MQ_VERBS; v++)
		if (strcmp(s, verb_name[v]) == 0)
			return (enum mq_verb)v;
	return MQ_LIST;
}

int
mq_is_command(enum mq_verb verb)
{
	return verb != MQ_LIST && verb != MQ_SHOW;
}

const char *
mq_guess_verb(const char *s)
{
	size_t head, n, m;
	const char *v;
	int i;

	for (i = MQ_FLUSH; i < MQ_VERBS; i++) {
		v = verb_name[i];
		for (head = 0; s[head] != '\0' && s[head] == v[head]; head++)
			;
		n = strlen(s) - head;
		m = strlen(v) - head;
		for (; n > 0 && m > 0 && s[head + n - 1] == v[head + m - 1];
		    n--)
			m--;
		if (n <= 2 && m <= 2)
			return v;
	}
	return NULL;
}

/* Returns 1 if the text has the form of a name of a message. */
static int
is_message_name(const char *s)
{
	return name_parse(s) != NULL || mq_is_id(s) ||
	    mq_router_num(s) != NULL || mq_frozen_name(s) != NULL;
}

/* Returns 1 for a name of the form [X/[Y/]]123-45. */
static int
is_file_name(const char *s)
{
	const char *base = name_base(s);

	return name_parse(s) != NULL && *base != '-' &&
	    strchr(base, '-') != NULL &&
	    base[strspn(base, "0123456789-")] == '\0';
}

/* Returns the name in a word that may be the path of a message's file; router/N
 * and the like are names as a whole. */
static char *
strip_path(char *word)
{
	static const char *const dirs[] = { "queue/", "transport/" };
	char *p;
	size_t i;

	p = strrchr(word, '/');
	while (p != NULL && p > word && p[-1] != '/')
		p--;
	if (p != NULL && mq_router_num(p) != NULL)
		return p;
	for (i = 0; i < 2; i++) {
		p = strstr(word, dirs[i]);
		if (p != NULL && (p == word || p[-1] == '/') &&
		    is_file_name(p + strlen(dirs[i])))
			return p + strlen(dirs[i]);
	}
	return word;
}

/* Returns NULL, or why a command cannot be about this word. */
static const char *
word_error(enum mq_verb verb, const char *what)
{
	const char *p, *why;
	char **all;

	if (*what == '\0' || strlen(what) > WHAT_MOST)
		return "a message or pattern is empty or too long";
	for (p = what; *p != '\0'; p++)
		if (isspace((unsigned char)*p) || iscntrl((unsigned char)*p))
			return "blanks and control characters cannot be sent";
	if (strcmp(what, "all") == 0)
		return verb == MQ_FLUSH || verb == MQ_RELEASE ? NULL :
		    "only flush and release take \"all\"; a pattern for "
		    "everything is */*";
	if (is_message_name(what))
		return NULL;
	if (strchr(what, '/') == NULL)
		return "that is no name of a message; a pattern has a slash, "
		    "as in smtp/*";
	why = pat_expand(what, &all);
	pat_free(all);
	return why;
}

/* Adds a message or a pattern: 0, or an exit code after saying why.  what is
 * NULL if the caller had no memory to copy it. */
static int
add_word(struct mq_order *o, char *what)
{
	if (what == NULL || mem_grow((void **)&o->what, o->n, &o->room,
	    sizeof(*o->what)) < 0)
		return mq_fail_memory();
	o->what[o->n++] = what;
	return 0;
}

/* Reads names of messages, one on each line, from the standard input: 0, or an
 * exit code after saying why. */
static int
read_names(struct mq_order *o)
{
	char line[MQ_PATH_MAX];
	int rc;

	while (fgets(line, sizeof(line), stdin) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '\0')
			continue;
		if (!is_message_name(strip_path(line))) {
			mq_complain("standard input: \"%s\" is no name of a "
			    "message", line);
			return X_DATAERR;
		}
		rc = add_word(o, mem_dup(strip_path(line)));
		if (rc != 0)
			return rc;
	}
	if (!ferror(stdin))
		return 0;
	mq_complain("standard input: %s", strerror(errno));
	return X_NOINPUT;
}

/* Adds a filter to o->filter, the text to be printed. */
static void
add_filter_text(struct mq_order *o, const char *word)
{
	size_t n = strlen(o->filter_text);
	struct text t;

	text_init(&t, o->filter_text + n, sizeof(o->filter_text) - n);
	text_add(&t, n == 0 ? "%s" : " %s", word);
	o->filter = o->filter_text;
}

int
mq_order_parse(struct mq_order *o, int n, char **word)
{
	const char *bad;
	char *what;
	enum mq_word_kind kind;
	int i, rc = 0;

	for (i = 0; i < n && rc == 0; i++) {
		kind = mq_pick_parse(&o->pick, word[i]);
		if (kind == MQ_BAD_FILTER)
			return X_USAGE;
		if (o->verb == MQ_RELEASE)
			text_unescape(word[i]);	/* a hold may be given with
						 * escapes, as listed */
		what = strip_path(word[i]);
		if (kind == MQ_FILTER) {
			add_filter_text(o, word[i]);
		} else if (o->verb != MQ_LIST && strcmp(word[i], "-") == 0) {
			rc = read_names(o);
		} else if (mq_is_command(o->verb) &&
		    (bad = word_error(o->verb, what)) != NULL) {
			mq_complain("%s: %s", what, bad);
			return X_USAGE;
		} else if (o->verb == MQ_SHOW && !is_message_name(what)) {
			mq_complain("\"%s\" is neither the name of a message "
			    "nor the beginning of one", word[i]);
			return X_USAGE;
		} else {
			rc = add_word(o, what);
		}
	}
	return rc;
}

int
mq_order_resolve(struct mq_order *o, const char *po, const char *logfile)
{
	char name[MQ_NAME_MAX];
	unsigned i;

	for (i = 0; i < o->n; i++) {
		/* a whole name is sent as it is, not searched as a beginning */
		if (!is_message_name(o->what[i]) ||
		    (name_parse(o->what[i]) != NULL &&
		    strchr(o->what[i], '-') != NULL))
			continue;
		if (mq_find_file(o->what[i], po, logfile, name) < 0)
			return X_UNAVAILABLE;
		o->what[i] = mem_dup(name_base(name));
		if (o->what[i] == NULL)
			return mq_fail_memory();
	}
	return 0;
}

/* ---- one command ------------------------------------------------------ */

/* Reads the answer to a command, and prints it, behind name unless that is
 * NULL.  An answer begins with "ok " or "no ".  If gone is not NULL, the answer
 * that there is no such message is not printed: it adds 1 to *gone.  Returns an
 * exit code. */
static int
put_answer(struct mq_in *in, const char *name, unsigned long *gone)
{
	static const char none[] = "no there is no message ";
	char s[ANSWER_MOST], *p;
	size_t n = 0;
	int c = -1, no;
	FILE *f;

	while (n < sizeof(s) - 1 && (c = mq_read_byte(in)) >= 0)
		s[n++] = (char)c;
	s[n] = '\0';
	no = strncmp(s, "no ", 3) == 0;
	if (!no && strncmp(s, "ok ", 3) != 0) {
		mq_complain("the scheduler's answer is not understood");
		return X_UNAVAILABLE;
	}
	if (gone != NULL && strncmp(s, none, sizeof(none) - 1) == 0) {
		++*gone;
		return 0;
	}
	f = no ? stderr : stdout;
	if (no)
		fputs(MAILQNAME ": ", f);
	if (name != NULL) {
		mq_put(f, name);
		fputs(": ", f);
	}
	for (p = s + 3; p < s + n; p++)
		if (*p == '\n')
			putc('\n', f);
		else
			mq_put_byte(f, (unsigned char)*p);
	if (c < 0 && s[n - 1] == '\n' && in->why[0] == '\0')
		return no ? X_UNAVAILABLE : 0;
	if (s[n - 1] != '\n')
		putc('\n', f);
	mq_complain("the scheduler's answer is cut short or too long");
	return X_UNAVAILABLE;
}

/* Sends a command about a message or a pattern, and prints the answer.
 * with_name: the message or the pattern is printed before the answer.  gone is
 * as in put_answer.  Returns an exit code. */
static int
send_and_put_answer(struct mq_ask *a, enum mq_verb verb, const char *what,
    int with_name, unsigned long *gone)
{
	int rc;

	a->why[0] = '\0';
	a->denied = a->silent = 0;
	if (mq_ask_command(a, verb_name[verb], what) < 0) {
		mq_complain("%s: %s: %s", verb_name[verb], a->silent ?
		    "no answer, the command may still be done" : "not done",
		    a->why);
		return a->denied ? X_NOPERM : X_UNAVAILABLE;
	}
	rc = put_answer(&a->in, with_name ? what : NULL, gone);
	mq_ask_close(a);
	return rc;
}

/* ---- filters, and a dry run ------------------------------------------- */

/* Adds evicted messages, read from the spool: 0 or an exit code. */
static int
add_evicted(struct mq_queue *q, const struct mq_view *view)
{
	char why[MQ_WHY_MAX];
	int rc;

	if (!q->facts || q->evicted == 0)
		return 0;
	text_fmt(why, sizeof(why), "the queue is on another machine");
	rc = view->postoffice == NULL ? X_UNAVAILABLE :
	    mq_read_evicted(q, view->postoffice, why);
	if (rc != 0)
		mq_complain("evicted messages (%d) are left out: %s",
		    q->evicted, why);
	return rc;
}

/* Sets how a command with this verb picks messages. */
static void
set_pick_modes(struct mq_pick *p, enum mq_verb verb)
{
	p->whole = mq_is_command(verb);
	p->careful = verb == MQ_DELETE || verb == MQ_BOUNCE;
	p->only_held = verb == MQ_RELEASE;
}

/* Prints the holds that a release would end, also holds without messages, and
 * returns their number. */
static int
put_holds_to_release(const struct mq_queue *q, const char *what)
{
	const struct mq_note *note;
	unsigned i;
	int n = 0;

	for (i = 0; i < q->nnotes; i++) {
		note = &q->notes[i];
		if (note->kind > MQ_HOLD_MESSAGE || (strcmp(what, "all") != 0 &&
		    strcmp(what, note->what) != 0))
			continue;
		mq_print("hold on %s%s: would be released\n",
		    note->kind == MQ_HOLD_MESSAGE ? "message " : "",
		    note->what);
		n++;
	}
	return n;
}

/* Picks what a word names, for a dry run: 0 or an exit code. */
static int
pick_word(struct mq_order *o, char *what, struct mq_queue *q,
    const struct mq_view *view)
{
	struct mq_pick p;

	mq_pick_init(&p);
	set_pick_modes(&p, o->verb);
	p.careful = 0;
	p.name = name_parse(what);
	if (strcmp(what, "all") == 0) {
		if (p.only_held)
			p.states = 1UL << MQ_HELD;
		p.only_held = 0;
	} else if (p.name == NULL) {
		p.only_jobs = 1;
		if (o->verb == MQ_DELETE || o->verb == MQ_BOUNCE)
			/* the states of jobs in core, before MQ_EVICTED */
			p.states = (1UL << MQ_EVICTED) - 1;
		p.hold = p.only_held ? what : NULL;
		p.only_held = 0;
		pat_expand(what, &p.dest);
	}
	if (mq_pick(&p, q, view) < 0)
		return X_UNAVAILABLE;
	pat_free(p.dest);
	if ((o->verb == MQ_RELEASE && put_holds_to_release(q, what) > 0) ||
	    p.found > 0)
		return 0;
	if (strcmp(what, "all") == 0) {
		puts(o->verb == MQ_RELEASE ? "no message is held" :
		    "nothing waits");
		return 0;
	}
	mq_complain(o->verb == MQ_RELEASE ? "there is no hold on %s" :
	    "nothing in the queue matches %s", what);
	return X_UNAVAILABLE;
}

int
mq_order_pick(struct mq_order *o, struct mq_queue *q,
    const struct mq_view *view, int *rc)
{
	unsigned i;
	int bad;

	*rc = add_evicted(q, view);
	mq_pick_begin(q);
	set_pick_modes(&o->pick, o->verb);
	if (o->filter != NULL && mq_pick(&o->pick, q, view) < 0) {
		*rc = X_UNAVAILABLE;
		return -1;
	}
	for (i = 0; i < o->n && mq_is_command(o->verb); i++) {
		bad = pick_word(o, o->what[i], q, view);
		if (bad != 0)
			*rc = bad;
	}
	mq_pick_recount(q);
	return 0;
}

/* Complains about messages that also go to recipients that do not pass. */
static void
complain_left_alone(const struct mq_order *o)
{
	if (o->pick.parts == 1)
		mq_complain("1 message is left alone: it goes also to "
		    "recipients that do not match; name it to %s it",
		    verb_name[o->verb]);
	else if (o->pick.parts > 1)
		mq_complain("%lu messages are left alone: they go also to "
		    "recipients that do not match; name them to %s them",
		    o->pick.parts, verb_name[o->verb]);
}

int
mq_order_dry_run(struct mq_order *o, struct mq_queue *q,
    const struct mq_view *view)
{
	struct mq_sum sum;
	int rc;

	if (mq_order_pick(o, q, view, &rc) < 0)
		return rc;
	mq_sum_up(q, &sum);
	if (sum.msgs > 0 || o->filter != NULL)
		mq_show_list(q, view);
	complain_left_alone(o);
	if (sum.msgs > 0)
		mq_print("dry run, nothing is done: %s would affect %s\n",
		    verb_name[o->verb],
		    mq_plural((double)sum.msgs, "message"));
	return rc;
}

/* Sends a command for each message that passes the filters.  Returns an exit
 * code. */
static int
send_picked(struct mq_order *o, struct mq_ask *a, struct mq_queue *q,
    const struct mq_view *view)
{
	const struct mq_msg *m;
	unsigned long gone = 0;
	int bad, rc;

	if (mq_order_pick(o, q, view, &rc) < 0)
		return rc;
	for (m = q->msgs; m < q->msgs + q->nmsgs; m++) {
		if (!m->picked)
			continue;
		bad = X_DATAERR;
		if (name_parse(m->name) != NULL)
			bad = send_and_put_answer(a, o->verb, m->name, 1,
			    &gone);
		else
			mq_complain("\"%s\" is no name of a message", m->name);
		if (bad != 0)
			rc = bad;
	}
	if (gone > 0)
		printf("%lu message%s gone before the command came\n", gone,
		    gone == 1 ? " was" : "s were");
	complain_left_alone(o);
	if (o->pick.found > 0 || rc != 0)
		return rc;
	mq_complain("nothing in the queue matches %s", o->filter);
	return X_UNAVAILABLE;
}

int
mq_order_send(struct mq_order *o, struct mq_ask *a, struct mq_queue *q,
    const struct mq_view *view)
{
	unsigned i;
	int bad, rc = 0;

	if (q != NULL)
		return send_picked(o, a, q, view);
	for (i = 0; i < o->n; i++) {
		bad = send_and_put_answer(a, o->verb, o->what[i], o->n > 1,
		    NULL);
		if (bad != 0)
			rc = bad;
	}
	return rc;
}
