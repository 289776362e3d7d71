/*
 * mailq.c - shows the mail queue and sends commands: options and flow.
 *
 * A listing goes through these parts:
 *
 *	mq/ask.c	connects to a scheduler: pipe or TCP
 *	mq/read.c	reads its dump; mq/two.c if it wants a password
 *	mq/spool.c	reads the spool instead if no scheduler answers
 *	mq/around.c	adds mail that is not in the queue
 *	mq/model.c	holds the queue; mq/pick.c applies filters
 *	mq/show.c	prints it; or shape.c, dests.c, json.c, watch.c, story.c
 *
 * If no scheduler answers, the spool is read, and the output says so first.
 * The spool is not read if a host, -q or -p is given, or if only a scheduler
 * knows the answer.  A listing shows all messages in memory, and counts those
 * that are forgotten; if the dump or the spool cannot be read to its end, mailq
 * prints an error instead, with an exit status other than 0.  The report of -Q
 * is the exception: it is printed as it comes, and an error may follow.
 *
 * A command goes to the scheduler's command pipe, and its answer is printed
 * (mq/verbs.c).  mailq itself changes only two things in the post office, both
 * by a release: it removes the reason of mail that could not be routed, and
 * moves mail from freezer/ to router/ (mq/unrouted.c).
 */
#include "mq/mq.h"
#include "lib/agent.h"
#include "lib/pattern.h"

#define WATCH_EVERY	5	/* seconds between two screens of -w */
#define WATCH_MOST	86400	/* largest number of -w */
#define OTHER_OFFICE	(-1)	/* returned instead of an exit code: the answer
				 * is about another post office */

enum listing { LIST, REPORT, SIZES, SHAPE, JSON, COUNTS, WATCH };

static struct {
	enum listing listing;
	int	dests;		/* option -D, as a list or as JSON */
	int	verbose;
	char	*filter;	/* pattern of option -f, or NULL */
	char	**patterns;	/* filter, expanded */
	const char *login;	/* for protocol 2: user/password, or NULL */
	const char *postoffice;
	int	own_only;	/* 1: only a scheduler of postoffice may answer,
				 * unless the user named a place to ask; set for
				 * a command, and if the environment names
				 * postoffice */
	struct mq_order order;	/* command, or filters of a listing */
	const char *logfile;	/* the scheduler's log */
	long	every;		/* WATCH: seconds between two screens */
	const char *meant;	/* known verb that the host on the command line
				 * looks like (a misspelt command), or NULL */
} want;

/* WATCH: the queue of the last screen, and its time. */
static struct {
	struct mq_queue queue;
	double	at;		/* mono */
} before;

static const char usage_text[] =
"usage: mailq [-DQSsvVjc] [-w [seconds]] [-f filter] [-q pipe]\n"
"\t[-p port] [-U user/password] [filter=...] [host]\n"
"       mailq [-nv] flush|hold|release|delete|bounce what ...\n"
"       mailq [-q pipe] [-p port] [-U user/password] [-L logfile]\n"
"\tshow message ...\n"
"       filters: from= to= dest= older= younger= state= msgid=\n"
"       mailq --help\n";

/* ---- words ------------------------------------------------------------ */

/* Prints the reason, unless it is empty, and the usage.  Returns X_USAGE. */
static int LIKE_PRINTF(1, 2)
usage(const char *f, ...)
{
	char why[MQ_WHY_MAX];
	struct text t;
	va_list ap;

	text_init(&t, why, sizeof(why));
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	if (*why != '\0')
		mq_complain("%s", why);
	fputs(usage_text, stderr);
	return X_USAGE;
}

static int
show_help(void)
{
	fputs(usage_text, stdout);
	puts("  -c                counts, for monitors\n"
	    "  -D                destinations; -j goes with it\n"
	    "  -f pattern        only channels and hosts that match\n"
	    "  -j                a line of JSON for each job\n"
	    "  -L file           with show: the log, if not LOGDIR/scheduler\n"
	    "  -n                dry run: show what a command would affect\n"
	    "  -p port           ask this TCP port\n"
	    "  -q pipe           ask at this named pipe\n"
	    "  -Q                the scheduler's report on rings and threads");
	puts("  -s                destinations by the age of their mail\n"
	    "  -S                number and size of mail for each destination\n"
	    "  -U user/password  for ZMailer's protocol 2\n"
	    "  -v                recipients, too\n"
	    "  -V                print the version\n"
	    "  -w [seconds]      look again and again\n"
	    "  show              all of a message, from queue and log\n"
	    "  flush             try mail now\n"
	    "  hold              do not try mail until a release\n"
	    "  release           end a hold, or try unrouted mail");
	puts("  delete            remove mail without a DSN\n"
	    "  bounce            let mail fail now, with a DSN\n"
	    "  from= to=         pattern of sender, recipient\n"
	    "  dest=             pattern channel/host\n"
	    "  msgid=            Message-ID of the header\n"
	    "  older= younger=   age, such as 5m or 2d\n"
	    "  state=            as in JSON: retry,host,run,held,...");
	return fflush(stdout) != 0 ? X_IOERR : 0;
}

/* Hides what the pattern of option -f does not match. */
static void
hide_unmatched(struct mq_queue *queue)
{
	struct mq_dest *d;
	struct mq_job *j;

	queue->filtered = 1;
	for (d = queue->dests; d != NULL; d = d->next)
		d->hidden = !mq_has_match(want.patterns, d->channel,
		    d->host);
	for (j = queue->jobs; j < queue->jobs + queue->njobs; j++) {
		j->hidden = j->dest->hidden != 0;
		queue->msgs[j->msg].picked |= !j->hidden;
	}
}

/* ---- the report -------------------------------------------------------- */

/* Prints a line.  TABs and escapes such as \ooo stay as they are.  Carriage
 * returns, which stand for the ends of lines in a reason, become blanks.  Other
 * bytes that do not print become escapes. */
static void
put_line(FILE *f, const char *s)
{
	int c;

	while (*s != '\0')
		if (*s == '\t' || text_escaped_byte(s) > 0)
			putc(*s++, f);
		else if ((c = mq_next_joined_byte(&s)) != 0)
			mq_put_byte(f, c);
	putc('\n', f);
}

/* Returns 1 if the line of a thread, "    channel/host/0  N=3", passes -f. */
static int
is_thread_shown(const char *line)
{
	static char s[MQ_TOKEN_MAX];	/* large for a stack */
	char *host, *end;

	line += strspn(line, " ");
	text_fmt(s, sizeof(s), "%.*s", (int)strcspn(line, " \t"), line);
	host = strchr(s, '/');
	end = strrchr(s, '/');
	if (host == NULL || end == host)
		return 0;
	*host++ = *end = '\0';
	text_unescape(s);
	text_unescape(host);
	return mq_has_match(want.patterns, s, host);
}

/* ring: a ring of the report while it is printed. */
static struct {
	FILE	*f;
	int	shown;			/* a thread of the ring was printed */
	char	head[MQ_TOKEN_MAX];	/* first line, or "" */
} ring;

/* Prints a line of the report.  A ring is its head, its threads and a line of
 * numbers; with a filter, a ring without a matching thread is left out. */
static void
put_report_line(const char *line)
{
	if (want.patterns == NULL || strncmp(line, "Kids:", 5) == 0 ||
	    strncmp(line, "Msgs in ", 8) == 0) {
		put_line(ring.f, line);
	} else if (*line == '\t') {
		if (ring.shown)
			put_line(ring.f, line);
	} else if (*line != ' ') {
		text_fmt(ring.head, sizeof(ring.head), "%s", line);
		ring.shown = 0;
	} else if (is_thread_shown(line)) {
		if (!ring.shown)
			put_line(ring.f, ring.head);
		ring.shown = 1;
		put_line(ring.f, line);
	}
}

/* ---- listings ---------------------------------------------------------- */

/* Prints the wanted listing: 0, or -1 without memory. */
static int
show_queue(struct mq_queue *queue, const struct mq_view *view, int answered)
{
	switch (want.listing) {
	case SIZES:
		return mq_show_dest_sizes(queue, view);
	case SHAPE:
		return mq_show_dest_ages(queue, view);
	case JSON:
		mq_show_json(queue, view);
		break;
	case COUNTS:
		mq_show_counts(queue, answered);
		break;
	case WATCH:
		clock_read();
		return mq_show_watch(queue, &before.queue, want.every,
		    now.mono - before.at);
	default:
		mq_show_list(queue, view);
		break;
	}
	return 0;
}

/* Shows the queue, or runs the command on its messages.  Returns an exit code.
 */
static int
run_on_queue(struct mq_queue *queue, const char *po, struct mq_ask *a,
    int answered)
{
	struct mq_view view;
	int bad, rc = 0;

	view.verbose = want.verbose;
	view.postoffice = po;
	view.filter = want.filter != NULL ? want.filter : want.order.filter;
	if (want.order.verb == MQ_SHOW)
		return mq_show_story(&want.order, queue, &view, want.logfile);
	if (mq_is_command(want.order.verb) && !queue->facts) {
		mq_complain("the scheduler does not say which post office is "
		    "its own: it is ZMailer's, or too old");
		return X_UNAVAILABLE;
	}
	if (mq_is_command(want.order.verb))
		return want.order.dry ?
		    mq_order_dry_run(&want.order, queue, &view) :
		    mq_order_send(&want.order, a, queue, &view);
	if (want.order.filter != NULL &&
	    mq_order_pick(&want.order, queue, &view, &rc) < 0)
		return rc;
	if (want.patterns != NULL)
		hide_unmatched(queue);
	bad = want.dests ? mq_show_dests(queue, &view, want.listing == JSON) :
	    show_queue(queue, &view, answered);
	return bad == 0 ? rc : mq_fail_memory();
}

/* Frees the queue, or with -w keeps it for a comparison with the next queue. */
static void
keep_or_free(struct mq_queue *queue)
{
	if (want.listing != WATCH) {
		mq_free(queue);
		return;
	}
	mq_free(&before.queue);
	before.queue = *queue;
	before.at = now.mono;
}

/* Called when no scheduler answers: shows the spool.  Complains instead if a
 * scheduler was named, or if only a scheduler knows the answer.  Returns an
 * exit code, which is not 0 if a scheduler took a request and sent nothing. */
static int
show_spool(struct mq_ask *a)
{
	static struct mq_queue queue;	/* large for a stack */
	static const char head[] = "no scheduler answers (%s)";
	static const char spool[] = "no scheduler answers (%s); this is the "
	    "spool at %s";
	char why[MQ_WHY_MAX] = "there is no memory";
	int rc;

	if (a->host != NULL || a->port != NULL || a->pipe != NULL ||
	    want.dests || want.listing == REPORT ||
	    mq_is_command(want.order.verb) || want.order.pick.states != 0) {
		if (a->host != NULL && a->address == 0)
			mq_complain("%s", a->why);	/* no host was asked */
		else
			mq_complain(head, a->why);
		if (want.meant != NULL)
			mq_complain("no command %s; %s?", a->host,
			    want.meant);
		return a->pipe != NULL && a->denied ? X_NOPERM : X_UNAVAILABLE;
	}
	rc = mq_init(&queue) < 0 ? X_UNAVAILABLE :
	    mq_read_spool(&queue, want.postoffice, why);
	if (rc != 0) {
		mq_complain(head, a->why);
		mq_complain("%s", why);
		mq_free(&queue);
		return rc;
	}
	if (want.listing == JSON) {
		mq_json_spool(a->why, want.postoffice);
	} else if (want.listing == COUNTS) {
		mq_complain(spool, a->why, want.postoffice);
	} else {
		mq_print(spool, a->why, want.postoffice);
		putchar('\n');
	}
	rc = run_on_queue(&queue, want.postoffice, a, 0);
	keep_or_free(&queue);
	return rc == 0 && a->silent ? X_UNAVAILABLE : rc;
}

/* Returns 1 if a scheduler of any post office may answer: the user named a
 * place to ask; or named no post office, and this is no command. */
static int
wants_any_office(const struct mq_ask *a)
{
	return !want.own_only || a->host != NULL || a->port != NULL ||
	    a->pipe != NULL;
}

/* Returns 1 if the dump is of another post office than want.postoffice, and
 * only an answer about want.postoffice is wanted. */
static int
is_other_office(const struct mq_queue *queue, const struct mq_ask *a)
{
	struct stat ours, theirs;

	if (wants_any_office(a) || queue->postoffice[0] == '\0')
		return 0;
	if (stat(want.postoffice, &ours) < 0 ||
	    stat(queue->postoffice, &theirs) < 0)
		return strcmp(want.postoffice, queue->postoffice) != 0;
	return !is_same_file(&ours, &theirs);
}

/* Returns the post office of a scheduler of this machine, else NULL. */
static const char *
local_office(const struct mq_queue *queue, const struct mq_ask *a)
{
	if (!a->local)
		return NULL;
	return queue->postoffice[0] == '/' ? queue->postoffice :
	    want.postoffice;
}

/* Shows a dump that was read.  Returns an exit code. */
static int
show_dump(struct mq_queue *queue, struct mq_ask *a)
{
	const char *po = local_office(queue, a);

	if (want.dests && !queue->facts) {
		mq_complain("the scheduler does not list destinations: it is "
		    "ZMailer's, or too old");
		return X_UNAVAILABLE;
	}
	if (!want.dests && queue->nmsgs == 0 && queue->stored > 0) {
		mq_complain("the scheduler was started with -Q and lists no "
		    "messages, but it has %.0f; mailq -Q shows its report",
		    queue->stored);
		return X_UNAVAILABLE;
	}
	if (queue->endless)
		mq_complain("the scheduler's answer has no \"End:\"; it may be "
		    "cut short");
	if (po != NULL)
		mq_read_missing(queue, po);
	if (queue->facts && po != NULL &&
	    (mq_read_around(queue, po, 0) < 0 || mq_read_strays(queue, po) < 0))
		return mq_fail_memory();
	return run_on_queue(queue, po, a, 1);
}

/* Reads the answer of the scheduler, with a login if the scheduler has protocol
 * 2: 0, or -1 with why. */
static int
read_answer(struct mq_queue *queue, struct mq_ask *a, char why[MQ_WHY_MAX])
{
	enum mq_read result = mq_read_dump(queue, &a->in, why);

	if (result != MQ_READ_TWO)
		return result == MQ_READ_DONE ? 0 : -1;
	if (mq_ask_again(a) == 0)
		return mq_read_protocol_2(queue, &a->in, want.login, why);
	text_fmt(why, MQ_WHY_MAX, "%s", a->why);
	return -1;
}

/* Reads the report and prints it.  Returns an exit code or OTHER_OFFICE.
 * Until the post office is known, a temporary file has the report. */
static int
read_and_show_report(struct mq_queue *queue, struct mq_ask *a)
{
	const char *po;
	char why[MQ_WHY_MAX], buf[4096];
	FILE *f = wants_any_office(a) ? stdout : tmpfile();
	int rc = 0;
	size_t n;

	if (f == NULL) {
		mq_complain("there is no place for a temporary file");
		return X_UNAVAILABLE;
	}
	memset(&ring, 0, sizeof(ring));
	ring.f = f;
	queue->report = put_report_line;
	if (read_answer(queue, a, why) < 0) {
		mq_complain("%s", why);
		rc = X_UNAVAILABLE;
	} else if (is_other_office(queue, a)) {
		rc = OTHER_OFFICE;
	} else if (f != stdout && (fflush(f) != 0 || ferror(f))) {
		mq_complain("a temporary file cannot be written");
		rc = X_UNAVAILABLE;
	} else {
		if (f != stdout)
			for (rewind(f); (n = fread(buf, 1, sizeof(buf), f)) >
			    0; )
				fwrite(buf, 1, n, stdout);
		po = local_office(queue, a);
		if (want.patterns == NULL && queue->facts && po != NULL &&
		    mq_read_around(queue, po, 0) < 0)
			rc = mq_fail_memory();
		else if (want.patterns == NULL)
			mq_put_around(queue, 1);
	}
	if (f != stdout)
		fclose(f);
	return rc;
}

/* Reads a dump and shows it.  Returns an exit code or OTHER_OFFICE. */
static int
read_and_show_dump(struct mq_queue *queue, struct mq_ask *a)
{
	char why[MQ_WHY_MAX];

	if (read_answer(queue, a, why) < 0) {
		mq_complain("%s", why);
		return X_UNAVAILABLE;
	}
	mq_ask_close(a);
	return is_other_office(queue, a) ? OTHER_OFFICE : show_dump(queue, a);
}

/* Asks the places in turn and shows the first answer, or the spool.  Returns an
 * exit code. */
static int
ask_and_show(struct mq_ask *a)
{
	static struct mq_queue queue;	/* large for a stack */
	int rc;

	while (mq_ask_next(a) == 0) {
		if (mq_init(&queue) < 0)
			return mq_fail_memory();
		queue.no_queue = want.dests || want.listing == REPORT;
		queue.with_dests = want.dests || want.listing == WATCH;
		queue.report = want.order.verb == MQ_SHOW ? mq_keep_thread :
		    NULL;
		rc = want.listing == REPORT ? read_and_show_report(&queue, a) :
		    read_and_show_dump(&queue, a);
		if (rc == OTHER_OFFICE)
			mq_ask_add_why(a, "a scheduler answers for another "
			    "post office, %s", queue.postoffice);
		if (rc == 0)
			keep_or_free(&queue);
		else
			mq_free(&queue);
		if (rc != OTHER_OFFICE)
			return rc;
	}
	return show_spool(a);
}

/* Shows the queue again and again, until a signal comes, the output fails, or
 * the first screen cannot be shown.  Returns an exit code. */
static int
watch(struct mq_ask *a)
{
	const char *term = getenv("TERM");
	int rc, first = 1, clears = isatty(1) && term != NULL &&
	    strcmp(term, "dumb") != 0;

	for (;;) {
		a->place = a->address = a->two = a->local = 0;
		a->denied = a->silent = 0;
		a->why[0] = '\0';
		if (clears)
			fputs("\033[H\033[2J", stdout);
		else if (!first)
			putchar('\n');
		rc = ask_and_show(a);
		if (fflush(stdout) != 0 || ferror(stdout) || (first && rc != 0))
			return rc;
		first = 0;
		sleep((unsigned)want.every);
	}
}

/* Takes the next word as the number of -w, if it is a number: want.every is -1
 * if the number is too small or too large.  main() calls it at the option, and
 * again after all options, as other letters may follow the w (-wv 5). */
static void
parse_seconds(int argc, char **argv)
{
	const char *end;
	unsigned long n;

	if (want.every != 0 || optind >= argc)
		return;
	n = num_of(argv[optind], &end);
	if (end == argv[optind] || *end != '\0')
		return;
	want.every = n == 0 || n > WATCH_MOST ? -1 : (long)n;
	optind++;
}

/* ---- options ----------------------------------------------------------- */

/* Runs the command want.order.  Returns an exit code. */
static int
run_command(struct mq_ask *a)
{
	struct mq_order *o = &want.order;
	int rc, release_rc = 0;

	if (want.listing != LIST || want.dests || want.filter != NULL ||
	    a->pipe != NULL || a->port != NULL || want.login != NULL ||
	    (want.verbose && !o->dry))
		return usage("a command takes no options but -n, or -n "
		    "and -v");
	if (o->n > 0 && o->filter != NULL)
		return usage("name messages or patterns, or give filters, but "
		    "not both");
	want.own_only = 1;
	if (o->verb == MQ_RELEASE && o->n > 0) {
		release_rc = mq_release_words(o, want.postoffice);
		if (o->n == 0)
			return release_rc;
	}
	rc = mq_order_resolve(o, want.postoffice, want.logfile);
	if (rc != 0)
		return rc;
	rc = o->filter != NULL || (o->dry && o->n > 0) ? ask_and_show(a) :
	    mq_order_send(o, a, NULL, NULL);
	return release_rc != 0 ? release_rc : rc;
}

/* Runs show.  Returns an exit code. */
static int
run_show(struct mq_ask *a)
{
	struct mq_order *o = &want.order;

	if (want.listing != LIST || want.dests || want.filter != NULL ||
	    want.verbose || o->dry)
		return usage("show takes only -q, -p, -U and -L");
	if (o->n > 0 && o->filter != NULL)
		return usage("show: name messages, or give filters, but not "
		    "both");
	/* with "-" and an empty standard input no message is named */
	return o->filter != NULL || o->n > 0 ? ask_and_show(a) : 0;
}

/* Takes the host from the words of a listing, and checks that the words go with
 * each other and with the options: 0, or an exit code. */
static int
take_host(struct mq_ask *a)
{
	struct mq_order *o = &want.order;

	want.meant = o->n > 0 ? mq_guess_verb(o->what[0]) : NULL;
	if (o->n > 1)
		return want.meant == NULL ? usage("give one host only") :
		    usage("no command %s; %s?", o->what[0], want.meant);
	if (o->dry)
		return usage("-n is for commands");
	if (o->n > 0 && strchr(o->what[0], '/') != NULL)
		return usage("%s is no host; -f shows what a pattern matches",
		    o->what[0]);
	if (o->filter != NULL && (want.filter != NULL || want.dests ||
	    want.listing == REPORT))
		return usage("filters cannot be combined with -f (use dest= "
		    "instead), -D or -Q");
	a->host = o->n > 0 ? o->what[0] : NULL;
	return 0;
}

/* Runs what the words behind the options ask for.  Returns an exit code. */
static int
run_words(struct mq_ask *a, int argc, char **argv)
{
	static char path[MQ_PATH_MAX];	/* of the log, without -L */
	enum mq_verb verb = argc > 0 ? mq_find_verb(argv[0]) : MQ_LIST;
	const char *why;
	int rc, skip = verb != MQ_LIST;

	mq_pick_init(&want.order.pick);
	want.order.verb = verb;
	if (want.logfile != NULL && verb != MQ_SHOW)
		return usage("-L is for show");
	text_fmt(path, sizeof(path), "%s/scheduler",
	    env_get("LOGDIR", LOGDIR));
	if (want.logfile == NULL)
		want.logfile = path;
	if (verb != MQ_LIST && argc == 1)
		return usage("%s: name messages, or give filters", argv[0]);
	rc = mq_order_parse(&want.order, argc - skip, argv + skip);
	if (rc != 0)
		return rc == X_USAGE ? usage("%s", "") : rc;
	if (verb != MQ_LIST)
		return verb == MQ_SHOW ? run_show(a) : run_command(a);
	rc = take_host(a);
	if (rc != 0)
		return rc;
	if (a->pipe != NULL && (a->host != NULL || a->port != NULL))
		return usage("-q (a pipe) cannot be combined with a host or -p "
		    "(TCP)");
#ifdef NO_TCP
	if (a->host != NULL || a->port != NULL)
		return usage("this mailq was built without TCP: it takes no "
		    "host and no -p");
#endif
	why = want.filter == NULL ? NULL :
	    pat_expand(want.filter, &want.patterns);
	if (why != NULL)
		return usage("-f %.200s: %s", want.filter, why);
	return want.listing == WATCH ? watch(a) : ask_and_show(a);
}

int
main(int argc, char **argv)
{
	static const char listings[] = "QSsjcw";	/* by enum listing */
	static struct mq_ask ask;	/* large for a stack */
	int c, rc, listing;

	if (pledge("stdio rpath wpath cpath dpath fattr inet dns tty",
	    NULL) < 0)
		return X_OSERR;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return show_help();
	logs.level = L_ERR;
	clock_read();
	ask.in.fd = -1;
	while ((c = getopt(argc, argv, "DQSsvVjcnwf:q:p:U:L:")) != -1)
		switch (c) {
		case 'Q': case 'S': case 's': case 'j': case 'c': case 'w':
			listing = REPORT + (int)(strchr(listings, c) -
			    listings);
			if (want.listing != LIST &&
			    (int)want.listing != listing)
				return usage("one of -Q, -S, -s, -j, -c and "
				    "-w at a time");
			want.listing = (enum listing)listing;
			if (c == 'w')
				parse_seconds(argc, argv);
			break;
		case 'D': want.dests = 1; break;
		case 'v': want.verbose = 1; break;
		case 'n': want.order.dry = 1; break;
		case 'f': want.filter = optarg; break;
		case 'q': ask.pipe = optarg; break;
		case 'p': ask.port = optarg; break;
		case 'U': want.login = optarg; break;
		case 'L': want.logfile = optarg; break;
		case 'V':
			puts(MAILQNAME " " VERSION);
			return fflush(stdout) != 0 ? X_IOERR : 0;
		default:
			return usage("%s", "");
		}
	if (want.listing == WATCH)
		parse_seconds(argc, argv);
	if (want.every < 0)
		return usage("-w takes 1 to 86400 seconds");
	if (want.every == 0)
		want.every = WATCH_EVERY;
	if (want.dests && want.listing != LIST && want.listing != JSON)
		return usage("-D can be combined with -j alone");
	want.postoffice = env_get("POSTOFFICE", NULL);
	want.own_only = want.postoffice != NULL;
	if (!want.own_only)
		want.postoffice = POSTOFFICE;
	ask.postoffice = want.postoffice;
	ask.rendezvous = getenv("RENDEZVOUS");
	rc = run_words(&ask, argc - optind, argv + optind);
	if (fflush(stdout) != 0 || ferror(stdout)) {
		mq_complain("the listing cannot be written");
		rc = X_IOERR;
	}
	return rc;
}
