/*
 * submit.c - takes a message from the standard input and queues it.
 *
 * submit takes the options of sendmail that programs use, and may be called by
 * that name.  It routes all recipients by a table before it writes anything.
 * If an address is wrong or refused, submit prints the reason, the others get
 * the message, and the sender gets a DSN.  If nobody gets the message, it is
 * not queued, and the exit status says why; but with -oee, or with -oem and no
 * terminal as standard error, it is queued if it has a sender, who gets a DSN.
 * Exit status 0 means that the message is on disk, in the queue or in router/.
 *
 * A user who may write to the queue puts the message there.  Other users put it
 * into router/, where the next run of submit -q, usually root's, takes it.  A
 * user who may not read the table leaves routing to that run, and so does
 * everybody while the table is missing or wrong.
 *
 *	submit.c	options, and one message from start to end
 *	sub/route.c	the table: address -> channel, host, user
 *	sub/header.c	the header: read it, complete it
 *	sub/entry.c	files into the queue
 *	sub/qrun.c	submit -q: files of router/ into the queue
 *
 * The program needs no privileges, and gives up those of a set-user-id bit at
 * once.  A set-group-id bit is for a post office that is open to that group
 * alone (see rights.c).  With it, submit ignores locations in the environment;
 * with -P, -C or -q it gives up the group.
 */
#include "sub/submit.h"
#include <ctype.h>
#include <signal.h>

extern char **environ;

static struct {
	char	table[600];	/* -C */
	const char *po;		/* -P */
	const char *from;	/* -f, NULL: the user's address */
	const char *full;	/* -F */
	const char *envid;	/* -V */
	char	ret[8];		/* -R, or "" */
	char	notify[60];	/* -N, checked; or "" */
	int	header;		/* -t */
	int	nodots;		/* -i */
	char	errors;		/* of -e, -oe: p, q, m, e or w; 0: p */
	int	verbose;	/* -v */
	int	run;		/* -q */
	const char *etrn;	/* -qR: only mail for this host, or NULL */
	long	every;		/* seconds between runs, RUN_ONCE, TIDY_ONLY */
	char	mode;		/* letter of -b */
} opt;

/* The file of the message, in private/ or public/, that is removed if a signal
 * ends us; "": none. */
static char unsent[800];

/* ---- options --------------------------------------------------------- */

static int
help(void)
{
	puts("usage: submit [-itv] [-C table] [-F name] [-f sender] "
	    "[-N list] [-e mode]\n"
	    "              [-P postoffice] [-R full|hdrs] [-V envid] "
	    "[recipient ...]\n"
	    "       submit -bv [-C table] [-f sender] address ...\n"
	    "       submit -bn [-C table]\n"
	    "       submit -q[interval] [-C table] [-P postoffice]\n"
	    "       submit -qRhost [-P postoffice]\n"
	    "       submit -qT [-C table] [-P postoffice]\n"
	    "       submit -bs | -bS [-C table] [-P postoffice]\n"
	    "       submit -bi [-v] | --help");
	puts("  -bi           nothing: aliases need no building\n"
	    "  -bn           check the table, show where its lines lead\n"
	    "  -bs, -bS      speak SMTP, or take a batch of SMTP commands\n"
	    "  -bv, -bt      show where mail for addresses would go\n"
	    "  -bV           print the version");
	puts("  -C table      the table of routes (MAILSHARE/routes)\n"
	    "  -e m|e|p|q    wrong recipients: m, e: a DSN; p: print them; "
	    "q: print none\n"
	    "  -f sender     the envelope's sender\n"
	    "  -F name       the sender's full name\n"
	    "  -i            a line with a dot alone does not end the message\n"
	    "  -N list       DSNs: never, or success,failure,delay\n"
	    "  -P directory  the post office\n"
	    "  -q[interval]  route the mail in router/, once or repeatedly");
	puts("  -qRhost       try the mail for a host now (ETRN)\n"
	    "  -qT           only tidy: remove or set aside unused files\n"
	    "  -R full|hdrs  how much of the message DSNs return\n"
	    "  -t            take recipients from the header, too\n"
	    "  -v            print the name of the message\n"
	    "  -V envid      the envelope's id, for DSNs");
	return fflush(stdout) != 0 ? X_IOERR : 0;
}

static int
usage(const char *why, const char *what)
{
	say(why, what);
	fputs("submit --help lists the options\n", stderr);
	return X_USAGE;
}

/* Sets an option.  arg is "" if the option has no argument.  Returns 0, or an
 * exit code. */
static int
set_option(int c, const char *arg)
{
	switch (c) {
	case 'C':
		if (text_fmt(opt.table, sizeof(opt.table), "%s", arg) < 0)
			return usage("-C %s: the name is too long", arg);
		break;
	case 'F': opt.full = arg; break;
	case 'N':
		if (notify_parse(arg, opt.notify, sizeof(opt.notify)) < 0)
			return usage("-N %s: write never, or a list of "
			    "success, failure, delay", arg);
		break;
	case 'P': opt.po = arg; break;
	case 'R':
		if (ret_parse(arg, opt.ret) < 0)
			return usage("-R %s: write full or hdrs", arg);
		break;
	case 'V':
		if (*arg == '\0' || strlen(arg) > 100 || !xtext_is_valid(arg))
			return usage("-V %s: write up to 100 bytes of xtext, "
			    "without blanks, +3D for = and +2B for +", arg);
		opt.envid = arg;
		break;
	case 'b': opt.mode = *arg; break;
	case 'e': opt.errors = *arg; break;
	case 'f':
	case 'r': opt.from = arg; break;
	case 'i': opt.nodots = 1; break;
	case 'o':
		opt.nodots |= strcmp(arg, "i") == 0;
		if (*arg == 'e')
			opt.errors = arg[1];
		break;
	case 'q':
		opt.run = 1;
		if (*arg == 'R') {
			opt.etrn = arg + 1;
			if (!addr_is_host(opt.etrn))
				return usage("-q%s: it names no host", arg);
		} else if (strcmp(arg, "T") == 0) {
			opt.every = TIDY_ONLY;
		} else if (*arg != '\0' && (span_parse(arg, &opt.every) < 0 ||
		    opt.every <= 0 || opt.every > 86400L * 30))
			return usage("-q%s: it is no span of time", arg);
		break;
	case 't': opt.header = 1; break;
	case 'v': opt.verbose = 1; break;
	}
	return 0;
}

/*
 * Reads the options.  getopt cannot, as some options of sendmail have an
 * argument only in the same word.  Sets *next to the index of the first
 * recipient.  Returns 0, or an exit code.
 */
static int
parse_options(int argc, char **argv, int *next)
{
	/* letters with an argument in the same word or in the next one */
	static const char with[] = "BCFLNOPRVXbefhopr";
	/* letters that may have an argument in the same word; letters without
	 * an argument */
	static const char joined[] = "Adq", alone[] = "GUimntvx";
	const char *p, *arg;
	int i, code, c;

	for (i = 1; i < argc && argv[i][0] == '-' && argv[i][1] != '\0'; i++) {
		if (strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		for (p = argv[i] + 1; *p != '\0'; ) {
			c = (unsigned char)*p++;
			arg = "";
			if (strchr(with, c) != NULL) {
				arg = *p != '\0' ? p : argv[++i];
				if (arg == NULL)
					return usage("%s: its argument is "
					    "missing", argv[i - 1]);
				p = "";
			} else if (strchr(joined, c) != NULL) {
				arg = p;
				p = "";
			} else if (strchr(alone, c) == NULL) {
				return usage("%s: there is no such option",
				    argv[i]);
			}
			code = set_option(c, arg);
			if (code != 0)
				return code;
		}
	}
	*next = i;
	return 0;
}

/* Checks that the other options and the number of recipients fit the mode: 0,
 * or an exit code. */
static int
check_mode(int nrcpt)
{
	int named = opt.header || nrcpt > 0;	/* recipients are named */
	const char *why = NULL;
	char mode[2] = "";

	mode[0] = opt.mode;
	switch (opt.mode) {
	case 'm':
		if (opt.run && named)
			why = "-q takes no recipients";
		else if (!opt.run && !named)
			why = "no recipients; name some, or use -t";
		break;
	case 'n':
	case 's':
	case 'S':
		if (opt.run || named)
			why = "-b%s takes no addresses, and neither -t nor -q";
		break;
	case 'p':
		why = "the queue is shown by mailq, not by -bp";
		break;
	case 't':
	case 'v':
		opt.mode = 'v';
		if (nrcpt == 0 || opt.run || opt.header)
			why = "-bv takes addresses, and neither -t nor -q";
		break;
	default:
		why = "-b%s is not supported";
	}
	return why != NULL ? usage(why, mode) : 0;
}

/* ---- signals --------------------------------------------------------- */

static void
on_signal(int sig)
{
	(void)sig;
	if (unsent[0] != '\0') {
		rights_use_group(1);
		unlink(unsent);
	}
	_exit(X_TEMPFAIL);
}

/* Blocks or unblocks signals; how is SIG_BLOCK or SIG_UNBLOCK.  Until the
 * message is complete, a signal removes its file; after that signals are
 * blocked. */
static void
mask_signals(int how)
{
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGHUP);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigprocmask(how, &ours, NULL);
}

static void
catch_signals(void)
{
	signal_set_unless_ignored(SIGHUP, on_signal);
	signal_set_unless_ignored(SIGINT, on_signal);
	signal_set_unless_ignored(SIGTERM, on_signal);
}

/* ---- the message ----------------------------------------------------- */

/* Returns the code, after reading the rest of the message unless a terminal
 * sends it.  So the program that writes the message sees our exit status, and
 * no closed pipe. */
static int
drain_input(struct input *in, int code)
{
	if (!isatty(fileno(in->f)))
		while (in_read(in) != EOF)
			;
	return code;
}

/* Says that the message cannot be read.  Returns an exit code. */
static int
fail_read(const struct input *in)
{
	say("cannot read the message: %s; nothing was queued", in_fault(in));
	return in->bare ? X_DATAERR : X_IOERR;
}

/* Reads the header: 0, or an exit code. */
static int
read_header(struct mail *m, struct input *in)
{
	const char *why;
	int nomem;

	errno = 0;
	why = head_read(&m->head, in);
	if (why != NULL) {
		nomem = errno == ENOMEM;
		say("%s; nothing was queued", why);
		return nomem ? X_OSERR : X_DATAERR;
	}
	if (in_fault(in) != NULL)
		return fail_read(in);
	if (head_count_hops(&m->head) >= HOPS_MOST) {
		say("the message has 50 Received fields or more, as in a mail "
		    "loop; nothing was queued");
		return X_UNAVAILABLE;
	}
	return 0;
}

/* Reads the header, and adds the recipients of the arguments and of the header:
 * 0, or an exit code if nothing is to be queued. */
static int
read_header_and_rcpts(struct mail *m, struct input *in, char **rcpts)
{
	int i, code, for_dsn;

	m->quiet = opt.errors == 'q';
	for (i = 0; rcpts[i] != NULL; i++)
		mail_add_list(m, rcpts[i], rcpts[i] + strlen(rcpts[i]));
	code = read_header(m, in);
	if (code != 0)
		return code;
	if (opt.header)
		mail_add_header_rcpts(m);
	/* -oem: a person at a terminal has read there what is wrong */
	for_dsn = m->sender[0] != '\0' && (opt.errors == 'e' ||
	    (opt.errors == 'm' && !isatty(2)));
	if (m->full != 0 || (m->nwrong > 0 && m->nrouted == 0 && !for_dsn)) {
		if (!m->quiet)
			say("nothing was queued, for any recipient");
		return m->full != 0 ? m->full : m->code;
	}
	if (m->nrcpt == 0) {
		say("no recipients in the %s; nothing was queued",
		    opt.header ? "header" : "arguments");
		return X_DATAERR;
	}
	return 0;
}

/* Says that the message cannot be written.  Returns an exit code. */
static int
fail_write(const char *po)
{
	int error = errno;

	say("cannot write the message to %s: %s; nothing was queued, %s", po,
	    strerror(error), error == EACCES ? rights_advice(po) :
	    "try again later");
	return X_TEMPFAIL;
}

/* Makes the file of the message: 0, or -1 with errno.  Signals are blocked
 * until on_signal can find the name of the file. */
static int
create_file(struct post *p)
{
	int made;

	mask_signals(SIG_BLOCK);
	rights_use_group(1);
	made = post_open(p, opt.po, "submit");
	rights_use_group(0);
	if (made == 0)
		text_fmt(unsent, sizeof(unsent), "%s", p->path);
	mask_signals(SIG_UNBLOCK);
	return made;
}

static void
remove_file(struct post *p)
{
	rights_use_group(1);
	post_remove(p);
	rights_use_group(0);
}

/* Writes header and body.  direct is 1 for a file for the queue, and 0 for a
 * file for router/, which gets the envelope before the header.  Sets *body to
 * the offset of the body in a file without envelope.  Returns 0, or an exit
 * code after removing the file. */
static int
write_or_remove_file(struct mail *m, struct input *in, struct post *p,
    int direct, unsigned long *body)
{
	unsigned long most = m->routes->most, n;
	enum copied copied = COPY_TOO_BIG;

	if (!direct)
		entry_print_envelope(m, p->f);
	entry_print_header(m, p->f);
	*body = (unsigned long)(m->head.n + 1);
	fwrite(m->head.rest, 1, m->head.nrest, p->f);
	n = (unsigned long)ftell(p->f);
	errno = EIO;	/* for a failure that sets none */
	if (most == 0 || n < most)
		copied = in_copy(in, p->f, m->head.nrest > 0 ?
		    m->head.rest[m->head.nrest - 1] : '\n',
		    most != 0 ? most - n : 0);
	if (copied == COPY_DONE)
		return 0;
	remove_file(p);
	if (in_fault(in) != NULL)
		return fail_read(in);
	if (copied == COPY_FAILED)
		return fail_write(opt.po);
	say("5.3.4 the message has more than %lu bytes (PARAMmessagesize in "
	    "%s); nothing was queued", most, m->routes->path);
	return drain_input(in, X_UNAVAILABLE);
}

/* Returns 1 if the field Precedence is bulk, junk or list. */
static int
is_bulk(const struct header *h)
{
	size_t n;
	const char *p = head_word(h, "precedence", &n);

	return ctl_is_word(p, n, "BULK") || ctl_is_word(p, n, "JUNK") ||
	    ctl_is_word(p, n, "LIST");
}

/* Moves the file into router/ or bulk/: 0 and its name, or an exit code. */
static int
move_to_router(struct post *p, char *name)
{
	int bad;

	rights_use_group(1);
	bad = post_send_or_remove(p) < 0;
	rights_use_group(0);
	if (bad)
		return fail_write(opt.po);
	text_fmt(name, ENTRY_NAME, "%s", p->path + strlen(opt.po) + 1);
	post_notify(path_in(opt.po, ROUTER_NOTIFY), name_base(name));
	if (opt.verbose)
		printf("given to %s\n", name);
	return 0;
}

/* Moves the file into the queue: 0, or an exit code. */
static int
move_to_queue(const struct mail *m, struct post *p, const char *name,
    unsigned long body)
{
	enum verdict v;

	if (post_sync_or_remove(p) < 0)
		return fail_write(opt.po);
	v = entry_put(m, opt.po, p->path, fileno(p->f), name, body);
	if (v == LATER)
		say("nothing was queued, try again later");
	else if (v == STAYS)
		say("%s may be in the queue nevertheless, see mailq", name);
	else if (opt.verbose)
		printf("queued as %s\n", name);
	/* closes the file, and removes it if it still has the name p->path */
	post_remove(p);
	return v != TAKEN ? X_TEMPFAIL : 0;
}

/* Writes the message and queues it: 0 and its name, of ENTRY_NAME bytes, or an
 * exit code.  After 0, signals are blocked. */
static int
write_and_queue(struct mail *m, struct input *in, int direct, char *name)
{
	unsigned long body;
	struct post p;
	int code;

	if (create_file(&p) < 0)
		return fail_write(opt.po);
	entry_make_name(name, ENTRY_NAME, p.num);
	if (!m->blind && mail_fill_header(m, p.num, direct ? name : NULL) < 0) {
		say("there is no memory for the header; nothing was queued");
		remove_file(&p);
		return X_OSERR;
	}
	code = write_or_remove_file(m, in, &p, direct, &body);
	if (code != 0)
		return code;
	if (entry_check_room(opt.po, m->routes, 0.0) < 0) {
		remove_file(&p);
		return X_TEMPFAIL;
	}
	mask_signals(SIG_BLOCK);
	unsent[0] = '\0';
	p.is_bulk = is_bulk(&m->head);
	return direct ? move_to_queue(m, &p, name, body) :
	    move_to_router(&p, name);
}

/* Returns 1 if the message goes into the queue, 0 for router/.  A message with
 * wrong addresses and without a sender for a DSN goes into router/, as only
 * submit -q keeps a copy of it for the postmaster. */
static int
is_direct(const struct mail *m, int can_queue)
{
	return can_queue && !m->blind &&
	    (m->nwrong == 0 || m->sender[0] != '\0');
}

/* ---- main ------------------------------------------------------------ */

/* Reads the table for a message: 0, or -1 if a run of submit -q has to route
 * the message.  can_queue: this user may write to the queue. */
static int
load_routes(struct routes *routes, int can_queue)
{
	if (route_load(routes, opt.table) == 0)
		return 0;
	if (errno != EACCES || can_queue)
		say("the table of routes has to be mended (%s); the message "
		    "waits for that", routes->mistake);
	return -1;
}

/* Sets the sender and the parameters for DSNs from the options: 0, or an exit
 * code. */
static int
set_sender_and_dsn(struct mail *m)
{
	if (opt.from != NULL)
		m->author.full[0] = '\0';	/* -f may name somebody else */
	if (opt.full != NULL)
		text_fmt(m->author.full, sizeof(m->author.full), "%s",
		    opt.full);
	if (opt.envid != NULL)
		strcpy(m->envid, opt.envid);
	strcpy(m->ret, opt.ret);
	strcpy(m->dsn, opt.notify);
	m->orcpt = 1;
	return mail_set_sender(m, opt.from != NULL ? opt.from :
	    m->author.login) < 0 ? X_DATAERR : 0;
}

static int
submit(char **rcpts)
{
	static struct routes routes;	/* large, and used once */
	struct input in;
	struct mail m;
	int can_queue, code = 0;
	char name[ENTRY_NAME];

	in_start(&in, stdin, opt.nodots ? DOTS_TEXT : DOTS_END);
	if (entry_check_office(opt.po, &can_queue) < 0)
		return drain_input(&in, X_TEMPFAIL);
	if (mail_init(&m, &routes, (long)getuid()) < 0) {
		say("nothing was queued, try again later");
		return drain_input(&in, X_TEMPFAIL);
	}
	catch_signals();
	m.blind = load_routes(&routes, can_queue) < 0;
	if (entry_check_room(opt.po, &routes, 0.0) < 0)
		code = X_TEMPFAIL;
	if (code == 0)
		code = set_sender_and_dsn(&m);
	if (code == 0)
		code = read_header_and_rcpts(&m, &in, rcpts);
	if (code == 0 && can_queue && rights_become_owner(opt.po) < 0)
		code = X_NOPERM;
	code = code != 0 ? drain_input(&in, code) :
	    write_and_queue(&m, &in, is_direct(&m, can_queue), name);
	if (code == 0 && m.nwrong > 0 && !m.quiet)
		say("%s gets the message; %s a DSN", m.nrouted > 0 ?
		    "every other recipient" : "no recipient", m.sender[0] !=
		    '\0' ? "the sender gets" : "there is no sender for");
	if (code == 0 && m.nrouted == 0 && opt.errors == 'm')
		code = m.code;
	mail_free(&m);
	route_free(&routes);
	return code;
}

/* Queues a message of SMTP: 0 and its name, or an exit code. */
static int
queue_smtp(const struct smtpd *how, struct mail *m, struct input *in,
    char *name)
{
	int code = entry_check_room(opt.po, m->routes, 0.0) < 0 ? X_TEMPFAIL :
	    read_header(m, in);

	if (code == 0)
		code = write_and_queue(m, in, is_direct(m, how->can_queue),
		    name);
	mask_signals(SIG_UNBLOCK);
	return code;
}

static int
serve_smtp(void)
{
	static struct routes routes;	/* large, and used once */
	struct smtpd how;
	int code;

	how.routes = &routes;
	how.po = opt.po;
	how.batch = opt.mode == 'S';
	how.take = queue_smtp;
	opt.verbose = 0;
	/* inetd gives us the connection as standard error */
	code = (!how.batch && freopen("/dev/null", "w", stderr) == NULL) ||
	    entry_check_office(opt.po, &how.can_queue) < 0 ? X_TEMPFAIL : 0;
	if (code == 0) {
		catch_signals();
		how.blind = load_routes(&routes, how.can_queue) < 0;
		if (how.can_queue && rights_become_owner(opt.po) < 0)
			code = X_NOPERM;
	}
	if (code == 0)
		code = smtpd(&how);
	else if (!how.batch)
		printf("421 4.3.0 %s\r\n", say_last());
	return code;
}

/* Shows where mail for the list of addresses would go: 0, or an exit code. */
static int
show_route(const struct routes *routes, const char *list)
{
	const struct recipient *d;
	struct mail m;
	int code = X_DATAERR;

	if (mail_init(&m, routes, (long)getuid()) < 0)
		return X_TEMPFAIL;
	if (mail_set_sender(&m, opt.from != NULL ? opt.from :
	    m.author.login) == 0) {
		mail_add_list(&m, list, list + strlen(list));
		code = m.full != 0 ? m.full : m.code;
	}
	for (d = m.rcpts; d != NULL; d = d->next) {
		if (d->line == 0)
			continue;	/* the reason was printed */
		printf("%s: %s %s %s\n", d->addr, d->channel, d->host, d->user);
		printf("\troute line %lu\n", d->line);
		clause_show(d->channel, d->host);
	}
	mail_free(&m);
	return code;
}

/* Checks the table, and prints where mail for the addresses would go, or with
 * -bn where the table leads: 0, or an exit code. */
static int
show_table(char **addresses)
{
	struct routes routes;
	int one, code = 0;

	if (route_load(&routes, opt.table) < 0) {
		/* EACCES: this user could not read the table later either */
		code = is_transient(errno) && errno != EACCES ? X_TEMPFAIL :
		    X_CONFIG;
		if (errno != EINVAL)
			say("%s%s", routes.mistake, errno == ENOENT ?
			    "; make one, see submit(1)" : "");
	} else if (opt.mode == 'n') {
		route_print_targets(&routes);
	} else {
		for (; *addresses != NULL; addresses++) {
			one = show_route(&routes, *addresses);
			if (code == 0)
				code = one;
		}
	}
	route_free(&routes);
	return fflush(stdout) != 0 && code == 0 ? X_IOERR : code;
}

/* Opens descriptors 0, 1 and 2 if the parent closed them, as the next files
 * would get their numbers.  Descriptor 0 is then for writing only, so that
 * reading it fails.  Returns 0, or -1 with errno. */
static int
open_standard(void)
{
	int i;

	for (i = 0; i < 3; i++)
		if (fcntl(i, F_GETFD, 0) < 0 &&
		    open("/dev/null", i == 0 ? O_WRONLY : O_RDWR) != i)
			return -1;
	return 0;
}

/* Resets signals, the signal mask and alarms that the parent changed. */
static void
reset_signals(void)
{
	sigset_t none;

	alarm(0);
	signal(SIGALRM, SIG_DFL);
	signal(SIGCHLD, SIG_DFL);	/* if ignored, no child has a status */
	signal(SIGTERM, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
#ifdef SIGXFSZ
	signal(SIGXFSZ, SIG_IGN);	/* a write beyond a limit fails */
#endif
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Sets post office and table.  If none of -P, -C and -q is given, and the group
 * of our set-group-id bit may write to the compiled-in post office, we keep the
 * group and empty the environment; post office and table are then the
 * compiled-in ones.  Else we give up the group.  Returns 0, or -1 after saying
 * why. */
static int
set_locations_and_group(void)
{
	static char *nothing[1];

	if (opt.po == NULL && opt.table[0] == '\0' && !opt.run &&
	    rights_our_gid_is_way_in(POSTOFFICE))
		environ = nothing;
	else if (rights_drop() < 0)
		return -1;
	if (opt.po == NULL)
		opt.po = env_get("POSTOFFICE", POSTOFFICE);
	if (opt.table[0] == '\0')
		text_fmt(opt.table, sizeof(opt.table), "%s/routes",
		    env_get("MAILSHARE", MAILSHARE));
	return 0;
}

int
main(int argc, char **argv)
{
	int code, next = 0;

	if (argc < 1)
		return X_USAGE;
	say_set_name(argv[0]);
	if (rights_start() < 0)
		return X_NOPERM;
	if (open_standard() < 0) {
		say("cannot open /dev/null: %s", strerror(errno));
		return X_OSERR;
	}
	reset_signals();
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return help();
	umask(077);
	opt.mode = strcmp(name_base(argv[0]), "rsmtp") == 0 ? 'S' : 'm';
	if (strcmp(name_base(argv[0]), "newaliases") == 0)
		opt.mode = 'i';
	code = parse_options(argc, argv, &next);
	if (set_locations_and_group() < 0)
		return X_NOPERM;
	if (code == 0 && opt.mode == 'V') {
		puts("submit " VERSION);
		return 0;
	}
	if (code == 0 && opt.mode == 'i') {
		if (opt.verbose)
			printf("aliases are lines of %s; nothing needs "
			    "building\n", opt.table);
		return 0;
	}
	if (code == 0)
		code = check_mode(argc - next);
	if (code == 0 && strlen(opt.po) >= 500)
		code = usage("-P %s: the name is too long", opt.po);
	if (code != 0)
		return code;
	if (opt.etrn != NULL) {
		code = qrun_become_owner(opt.po);
		return code != 0 ? code : etrn_leave_request(opt.po, opt.etrn);
	}
	if (opt.run)
		return qrun(opt.po, opt.table, opt.every, opt.verbose);
	if (opt.mode == 'n' || opt.mode == 'v')
		return show_table(argv + next);
	if (opt.mode == 's' || opt.mode == 'S')
		return serve_smtp();
	return submit(argv + next);
}
