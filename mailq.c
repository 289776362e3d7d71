/*
 * mailq.c - the queue, for people and monitors, and the commands that change
 * it: options, and what becomes of them.
 *
 * One listing is asked for.  mq/ask.c finds who tells of the queue, mq/read.c
 * understands it, or mq/two.c where a password is wanted, mq/model.c keeps it,
 * and one of mq/show.c, mq/shape.c, mq/dests.c and mq/json.c shows it.  When no
 * scheduler answers, and none was named, the spool is read instead
 * (mq/spool.c), and that is said first.
 *
 * A queue that could not be seen whole is not shown: what a reader gets is
 * the queue, or an error and an exit code that is not 0.  The report of -Q is
 * the exception; it may be passed on while it comes, and an error follow it.
 *
 * A command goes to the scheduler's command pipe, and its answer is shown.
 * Nothing here changes a file of the post office.
 */
#include "mq/mq.h"
#include "lib/pattern.h"
#include <ctype.h>

#ifndef MAILQNAME
#define MAILQNAME	"mailq"
#endif
#define WHAT_MOST	400	/* bytes that a command is about */
#define ANSWER_MOST	1000000L	/* bytes of an answer to a command */

enum listing { LIST, REPORT, SIZES, SHAPE, JSON, COUNTS };

static struct {
	enum listing listing;
	int	dests;		/* destinations, as a list or as JSON */
	int	verbose;
	char	*filter;	/* or NULL */
	char	**patterns;	/* the same, expanded */
	const char *login;	/* for protocol 2: user/password, or NULL */
	const char *postoffice;
	int	named;		/* ... in the environment */
} want;

static const char usage_text[] =
"usage: mailq [-DQSsvVjc] [-f filter] [-q rendezvous] [-p port]\n"
"\t[-U user/password] [host]\n"
"       mailq flush|hold|release|delete|bounce what\n";

/* ---- words ------------------------------------------------------------ */

static void
complain(const char *what)
{
	fflush(stdout);
	fputs(MAILQNAME ": ", stderr);
	mq_put(stderr, what);
	putc('\n', stderr);
}

static int
usage(const char *why)
{
	if (why != NULL)
		complain(why);
	fputs(usage_text, stderr);
	return X_USAGE;
}

/* Does a channel and host pass the filter? */
static int
passes(const char *channel, const char *host)
{
	char s[2 * MQ_WORD_MAX + 2], *p, **pattern;

	text_fmt(s, sizeof(s), "%s/%s", channel, host);
	for (p = s; *p != '\0'; p++)
		*p = (char)tolower((unsigned char)*p);
	for (pattern = want.patterns; *pattern != NULL; pattern++)
		if (pat_match(*pattern, s))
			return 1;
	return 0;
}

static void
filter(struct mq_queue *queue)
{
	struct mq_dest *d;

	queue->filtered = 1;
	for (d = queue->dests; d != NULL; d = d->next)
		d->hidden = !passes(d->channel, d->host);
}

/* ---- the report -------------------------------------------------------- */

/* It has its TABs, words as they were written, and nothing else that is not
 * plain. */
static void
put_line(FILE *f, const char *s)
{
	for (; *s != '\0'; s++)
		if (*s == '\t' || mq_escape(s) > 0)
			putc(*s, f);
		else
			mq_put_byte(f, (unsigned char)*s);
	putc('\n', f);
}

/* Does the line of a thread, "    channel/host/0  N=3 ...", pass? */
static int
thread_passes(const char *line)
{
	static char s[MQ_TOKEN_MAX];
	char *host, *end;

	line += strspn(line, " ");
	text_fmt(s, sizeof(s), "%.*s", (int)strcspn(line, " \t"), line);
	host = strchr(s, '/');
	end = strrchr(s, '/');
	if (host == NULL || end == host)
		return 0;
	*host++ = *end = '\0';
	mq_unescape(s);
	mq_unescape(host);
	return passes(s, host);
}

/* A ring is its head, its threads, and a line of numbers; with a filter a
 * ring without a thread that passes is left out. */
static void
report_line(void *f, const char *line)
{
	static char head[MQ_TOKEN_MAX];
	static int shown;

	if (want.patterns == NULL || strncmp(line, "Kids:", 5) == 0 ||
	    strncmp(line, "Msgs in ", 8) == 0) {
		put_line(f, line);
	} else if (*line == '\t') {
		if (shown)
			put_line(f, line);
	} else if (*line != ' ') {
		text_fmt(head, sizeof(head), "%s", line);
		shown = 0;
	} else if (thread_passes(line)) {
		if (!shown)
			put_line(f, head);
		shown = 1;
		put_line(f, line);
	}
}

/* ---- listings ---------------------------------------------------------- */

/* 0, or -1 without memory. */
static int
show_queue(struct mq_queue *queue, const struct mq_view *view, int scheduler)
{
	switch (want.listing) {
	case SIZES:
		return mq_show_sizes(queue, view);
	case SHAPE:
		return mq_show_shape(queue, view);
	case JSON:
		mq_show_json(queue, view);
		break;
	case COUNTS:
		mq_show_counts(queue, scheduler);
		break;
	default:
		mq_show_list(queue, view);
		break;
	}
	return 0;
}

static int
show(struct mq_queue *queue, const char *po, int scheduler)
{
	struct mq_view view;
	int bad;

	view.verbose = want.verbose;
	view.postoffice = po;
	view.filter = want.filter;
	if (want.patterns != NULL)
		filter(queue);
	bad = want.dests ? mq_show_dests(queue, &view, want.listing == JSON) :
	    show_queue(queue, &view, scheduler);
	if (bad == 0)
		return 0;
	complain("there is not enough memory to show that");
	return X_UNAVAILABLE;
}

/* No scheduler answers: the spool is shown, unless somebody was named. */
static int
show_spool(const struct mq_ask *a)
{
	static struct mq_queue queue;
	char why[MQ_WHY_MAX], head[2 * MQ_WHY_MAX + MQ_PATH_MAX];
	int rc;

	text_fmt(head, sizeof(head), "no scheduler answers (%s)", a->why);
	if (a->host != NULL || a->port != NULL || a->pipe != NULL ||
	    want.dests || want.listing == REPORT) {
		complain(head);
		return a->pipe != NULL && a->denied ? X_NOPERM :
		    X_UNAVAILABLE;
	}
	rc = mq_init(&queue) < 0 ? X_UNAVAILABLE :
	    mq_spool(&queue, want.postoffice, why);
	if (rc != 0) {
		complain(head);
		complain(why);
		return rc;
	}
	text_fmt(head, sizeof(head), "no scheduler answers (%s); this is the "
	    "spool at %s", a->why, want.postoffice);
	if (want.listing == JSON) {
		mq_json_spool(a->why, want.postoffice);
	} else if (want.listing == COUNTS) {
		complain(head);
	} else {
		mq_put(stdout, head);
		putchar('\n');
	}
	rc = show(&queue, want.postoffice, 0);
	mq_free(&queue);
	return rc;
}

/* $POSTOFFICE names one, and whoever answers in the usual places counts only
 * when it is for that. */
static int
is_choosy(const struct mq_ask *a)
{
	return want.named && a->host == NULL && a->port == NULL &&
	    a->pipe == NULL;
}

/* Is this the dump of another post office? */
static int
is_other(const struct mq_queue *queue, const struct mq_ask *a)
{
	struct stat ours, theirs;

	if (!is_choosy(a) || queue->postoffice[0] == '\0')
		return 0;
	if (stat(want.postoffice, &ours) < 0 ||
	    stat(queue->postoffice, &theirs) < 0)
		return strcmp(want.postoffice, queue->postoffice) != 0;
	return ours.st_ino != theirs.st_ino || ours.st_dev != theirs.st_dev;
}

/* A report that was put aside until it was known whose it is. */
static void
show_report(FILE *f)
{
	char buf[4096];
	size_t n;

	rewind(f);
	while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
		fwrite(buf, 1, n, stdout);
}

/* A dump has been read: the exit code. */
static int
show_dump(struct mq_queue *queue, const struct mq_ask *a)
{
	const char *po = NULL;
	char why[200];

	if (want.dests && !queue->facts) {
		complain("the scheduler does not tell of destinations: it is "
		    "ZMailer's, or too old");
		return X_UNAVAILABLE;
	}
	if (!want.dests && queue->nmsgs == 0 && queue->stored > 0) {
		text_fmt(why, sizeof(why), "the scheduler leaves its list out "
		    "(option -Q there), but it has messages (%lu); mailq -Q "
		    "shows its report", (unsigned long)queue->stored);
		complain(why);
		return X_UNAVAILABLE;
	}
	if (queue->endless)
		complain("the scheduler's answer has no \"End:\"; it may be "
		    "cut short");
	if (a->local)
		po = queue->postoffice[0] == '/' ? queue->postoffice :
		    want.postoffice;
	if (!queue->facts && po != NULL)
		mq_spool_fill(queue, po);
	return show(queue, po, 1);
}

/* Reads what the scheduler says, and answers one that wants a password: 0, or
 * -1 with why. */
static int
hear(struct mq_queue *queue, struct mq_ask *a, char why[MQ_WHY_MAX],
    void (*line)(void *, const char *), void *arg)
{
	int rc = mq_read(queue, &a->in, why, line, arg);

	if (rc != MQ_TWO)
		return rc;
	if (mq_ask_two(a))
		return mq_two(queue, &a->in, want.login, why, line, arg);
	text_fmt(why, MQ_WHY_MAX, "%s", a->why);
	return -1;
}

/* Asks for the report: 0, an exit code, or -1 when it was another's. */
static int
report(struct mq_queue *queue, struct mq_ask *a)
{
	char why[MQ_WHY_MAX];
	FILE *f = is_choosy(a) ? tmpfile() : stdout;
	int rc = 0;

	if (f == NULL) {
		complain("there is no place for a temporary file");
		return X_UNAVAILABLE;
	}
	if (hear(queue, a, why, report_line, f) < 0) {
		complain(why);
		rc = X_UNAVAILABLE;
	} else if (is_other(queue, a)) {
		rc = -1;
	} else if (f != stdout) {
		show_report(f);
	}
	if (f != stdout)
		fclose(f);
	return rc;
}

static int
dump(struct mq_queue *queue, struct mq_ask *a)
{
	char why[MQ_WHY_MAX];

	if (hear(queue, a, why, NULL, NULL) < 0) {
		complain(why);
		return X_UNAVAILABLE;
	}
	mq_ask_end(a);
	return is_other(queue, a) ? -1 : show_dump(queue, a);
}

static int
list(struct mq_ask *a)
{
	static struct mq_queue queue;
	int rc;

	while (mq_ask_next(a)) {
		if (mq_init(&queue) < 0)
			return X_UNAVAILABLE;
		queue.only_dests = want.dests;
		rc = want.listing == REPORT ? report(&queue, a) :
		    dump(&queue, a);
		if (rc < 0)
			mq_ask_note(a, "a scheduler answers for another post "
			    "office, %s", queue.postoffice);
		mq_free(&queue);
		if (rc >= 0)
			return rc;
	}
	return show_spool(a);
}

/* ---- commands ---------------------------------------------------------- */

static const char *const verbs[] = {
	"flush", "hold", "release", "delete", "bounce"
};

static int
is_verb(const char *s)
{
	size_t i;

	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++)
		if (strcmp(s, verbs[i]) == 0)
			return 1;
	return 0;
}

/* NULL, or why a command cannot be about this. */
static const char *
what_is_wrong(const char *verb, const char *what)
{
	const char *p;

	if (*what == '\0' || strlen(what) > WHAT_MOST)
		return "what it is about is empty or too long";
	for (p = what; *p != '\0'; p++)
		if (isspace((unsigned char)*p) || iscntrl((unsigned char)*p))
			return "blanks and control characters cannot be sent";
	if (strcmp(what, "all") == 0)
		return *verb == 'f' || *verb == 'r' ? NULL :
		    "only flush and release take \"all\"; a pattern for "
		    "everything is */*";
	if (name_in(what) != NULL)
		return NULL;
	if (strchr(what, '/') == NULL)
		return "that is no message, and a pattern has a slash, as in "
		    "smtp/*";
	return pat_check(what);
}

/* Shows the answer, which begins with "ok " or "no ": the exit code. */
static int
answer(struct mq_in *in)
{
	char head[4];
	FILE *f = stdout;
	long n;
	int c, last = 0, rc = 0;

	for (n = 0; n < 3 && (c = mq_byte(in)) >= 0; n++)
		head[n] = (char)c;
	head[n] = '\0';
	if (strcmp(head, "no ") == 0) {
		f = stderr;
		fputs(MAILQNAME ": ", f);
		rc = X_UNAVAILABLE;
	} else if (strcmp(head, "ok ") != 0) {
		complain("the scheduler's answer is not understood");
		return X_UNAVAILABLE;
	}
	for (; n < ANSWER_MOST && (c = mq_byte(in)) >= 0; n++) {
		last = c;
		if (c == '\n')
			putc(c, f);
		else
			mq_put_byte(f, c);
	}
	if (last == '\n' && n < ANSWER_MOST && in->why[0] == '\0')
		return rc;
	if (last != '\n')
		putc('\n', f);
	complain("the scheduler's answer is cut short, or has no end");
	return X_UNAVAILABLE;
}

static int
command(struct mq_ask *a, const char *verb, const char *what)
{
	const char *why = what_is_wrong(verb, what);
	char head[2 * MQ_WHY_MAX];
	int rc;

	if (why != NULL)
		return usage(why);
	if (mq_ask_command(a, verb, what) < 0) {
		text_fmt(head, sizeof(head), "%s: not done: %s", verb, a->why);
		complain(head);
		return a->denied ? X_NOPERM : X_UNAVAILABLE;
	}
	rc = answer(&a->in);
	mq_ask_end(a);
	return rc;
}

/* ---- options ----------------------------------------------------------- */

/* The filter becomes patterns: 0, or an exit code. */
static int
take_filter(void)
{
	const char *why = pat_check(want.filter);

	if (why != NULL)
		return usage(why);
	want.patterns = pat_expand(want.filter);
	if (want.patterns != NULL)
		return 0;
	complain("the filter has too many alternatives");
	return X_USAGE;
}

static int
run(struct mq_ask *a, int argc, char **argv, int options)
{
	if (argc > 0 && is_verb(argv[0])) {
		if (argc != 2 || options)
			return usage("a command takes one argument and no "
			    "options");
		return command(a, argv[0], argv[1]);
	}
	if (argc > 1)
		return usage("one host can be asked");
	a->host = argc > 0 ? argv[0] : NULL;
	if (a->pipe != NULL && (a->host != NULL || a->port != NULL))
		return usage("-q asks by a pipe, a host and -p by TCP");
#ifdef NO_TCP
	if (a->host != NULL || a->port != NULL)
		return usage("this mailq was built without TCP: it takes no "
		    "host and no -p");
#endif
	if (want.filter != NULL && take_filter() != 0)
		return X_USAGE;
	return list(a);
}

/* The letter of a listing, or -1 when there was another. */
static int
one_listing(enum listing listing)
{
	if (want.listing != LIST && want.listing != listing)
		return -1;
	want.listing = listing;
	return 0;
}

int
main(int argc, char **argv)
{
	static struct mq_ask ask;
	int c, rc, bad = 0;

	if (pledge("stdio rpath wpath cpath dpath fattr inet dns", NULL) < 0)
		return X_OSERR;
	log_level = L_ERR;
	ask.in.fd = -1;
	while ((c = getopt(argc, argv, "DQSsvVjcf:q:p:U:")) != -1)
		switch (c) {
		case 'Q': bad |= one_listing(REPORT); break;
		case 'S': bad |= one_listing(SIZES); break;
		case 's': bad |= one_listing(SHAPE); break;
		case 'j': bad |= one_listing(JSON); break;
		case 'c': bad |= one_listing(COUNTS); break;
		case 'D': want.dests = 1; break;
		case 'v': want.verbose = 1; break;
		case 'f': want.filter = optarg; break;
		case 'q': ask.pipe = optarg; break;
		case 'p': ask.port = optarg; break;
		case 'U': want.login = optarg; break;
		case 'V':
			puts(MAILQNAME " " VERSION);
			return 0;
		default:
			return usage(NULL);
		}
	if (bad)
		return usage("one of -Q, -S, -s, -j and -c at a time");
	if (want.dests && want.listing != LIST && want.listing != JSON)
		return usage("-D goes with -j, not with another listing");
	want.postoffice = getenv("POSTOFFICE");
	want.named = want.postoffice != NULL && *want.postoffice != '\0';
	if (!want.named)
		want.postoffice = POSTOFFICE;
	ask.postoffice = want.postoffice;
	ask.rendezvous = getenv("RENDEZVOUS");
	rc = run(&ask, argc - optind, argv + optind, optind > 1);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		complain("the listing cannot be written");
		rc = X_IOERR;
	}
	return rc;
}
