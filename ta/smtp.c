/*
 * smtp.c - the agent that gives mail to other hosts.
 *
 * A job is a message and a host.  At most -m recipients of one host with the
 * same sender and header share a transaction.  All transactions for a host use
 * one connection, also in the next jobs.  The connection is closed when a job
 * for another host comes, or when no job has come for the time "idle" of -T.
 *
 *	halves.c splits the agent into two processes: the keeper has our files,
 *		the talker runs the modules below
 *	dead.c	remembers addresses that did not answer
 *	net.c	finds the host's addresses and connects
 *	via.c	runs a program that connects instead
 *	esmtp.c	sends lines and reads replies
 *	auth.c	has the passwords of smart hosts
 *	trans.c	makes one transaction, and gives its verdicts
 *	wire.c	changes the message to the form of SMTP
 *
 * Addresses are tried in turn until one greets us and accepts EHLO or HELO.  A
 * job tries at most ADDRS addresses, and at most SESSIONS that accept the
 * connection, as MX records of strangers could otherwise keep us for hours;
 * each smart host has counts of its own.  A transaction that ends with a reply
 * resets the counts.  For mail older than FRESH the best address is first and
 * the others follow from a random one on, so that each gets its turn.
 *
 * If no address answers, the host has failed: each recipient gets the last
 * reason, with "deferall", so that the scheduler does not try the host's other
 * mail one by one.  A server that ends the connection before it has the message
 * counts as one that did not answer, and the job goes on with the other
 * addresses.  A server often closes a kept connection between jobs; if the
 * first command on it gets no reply or 421, one new connection is made, and no
 * recipient is deferred for that.
 *
 * A message that breaks connections uses up the tries of its job.  The rest of
 * its recipients is then deferred, without a report that the host has failed.
 *
 * A domain that does not exist, a domain that takes no mail, and a host that is
 * this machine are failures.  Trouble that may pass is a deferral.
 *
 * With -R all mail goes to smart hosts, in their order.  The hosts of jobs then
 * only show which recipients belong together.
 */
#include "halves.h"
#include "trans.h"
#include "auth.h"
#include "dead.h"
#include "../lib/origin.h"
#include "../lib/ctlfile.h"
#include "../lib/office.h"

/* Build switches that -V shows. */
#ifdef NO_TCP
#define SWITCHES	" NO_TCP"
#elif defined(NO_RESOLV)
#define SWITCHES	" NO_RESOLV"
#else
#define SWITCHES	""
#endif

#define MAX_HOSTS	8	/* smart hosts of -R */
#define ADDRS		5	/* addresses that are tried for a job */
#define SESSIONS	2	/* connections that are made for a job */
#define FRESH		60	/* seconds; older mail counts as tried before */
#define BROKEN		8	/* servers that are not tried again for a job */
#define MAX_DEAD	40	/* dead addresses that a job can try */
#define DOT_LEAST	600	/* seconds: RFC 5321 4.5.3.2.6 */

static struct {
	struct net_opt net;
	struct net_addr source;
	const char *relay[MAX_HOSTS];
	int	relays;
	const char *log;	/* file of -l, the transcript */
	const char *dead;	/* file of -k */
	const char *passwords;	/* file of -A */
	int	most;		/* recipients of a transaction */
	int	seven;		/* -7: 8-bit mail needs 8BITMIME */
	long	idle;		/* seconds a connection is kept */
	long	lookup;		/* seconds for name servers */
	const char *user;	/* argument of -u, the user of the talker */
} opt;

static struct halves halves;

static struct auth login[MAX_HOSTS];	/* with -A, the passwords for the hosts
					 * of -R */

static struct esmtp conn;		/* kept from job to job */
static const struct auth *conn_sender;	/* the sender's line with which conn has
					 * logged in, or NULL */

/* attempt: the attempt to deliver a job to a host. */
static struct {
	char	host[WORD_MAX_];	/* the host of attempt and conn */
	struct tries {
		int	addrs, sessions;	/* tries that are left */
	} tries[MAX_HOSTS];	/* one for each smart host; without -R, the
				 * first is for the host */
	struct tries *in_use;	/* the tries of the current host */
	struct net_addrs addrs;	/* of the host, or of the last smart host */
	int	repeated;	/* the message is older than FRESH */
	int	nbroken;	/* addresses in broken */
	/* Servers that broke off a transaction before they had the message. */
	struct net_addr broken[BROKEN];
	int	ndead;		/* addresses in dead */
	/* Dead addresses, which are tried after all others. */
	struct {
		struct net_addr addr;
		struct tries *tries;
		const struct auth *auth;
	} dead[MAX_DEAD];
} attempt;

/* ---- the transcript -------------------------------------------------- */

/* Writes a line to the transcript, and opens the file each time, so that an
 * administrator can move it away.  A full disk stops no mail. */
static void
write_transcript(const char *s, size_t n)
{
	char line[600], stamp[20] = "";
	time_t wall = time(NULL);
	struct tm *tm = localtime(&wall);
	struct text t;
	int fd = -1;

	if (tm != NULL)
		strftime(stamp, sizeof(stamp), "%Y%m%d%H%M%S", tm);
	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%ld %.1s ", (long)getpid(), n > 0 ? s : "");
	if (n > 2 && (*s == '=' || *s == '#'))
		text_add(&t, "%s ", stamp);
	t.clean = 1;
	if (n > 2)
		text_put(&t, s + 2, n - 2);
	line[t.len++] = '\n';
	if (fd_append(&fd, opt.log) < 0)
		return;
	fd_write(fd, line, t.len);
	close(fd);
}

/* ---- steps, for mailq ------------------------------------------------ */

/*
 * A line of the talker begins with one of these signs.  In the transcript, the
 * keeper adds lines that begin with #, for jobs.
 *
 *	*	a step, for mailq
 *	+ -	a change to the file of -k (dead.c)
 *	= > < !	a line of the transcript (esmtp.c)
 */
#define STEP_MARK	'*'

/* The step that mailq shows. */
static struct {
	const char *phase;	/* phase of the connection, NULL: mailq shows
				 * another step */
	double	when;		/* mono; when the step was sent, 0: no step yet
				 */
} shown;

/* Sends a step to the scheduler, by way of the keeper. */
static void LIKE_PRINTF(1, 2)
send_step(const char *f, ...)
{
	char line[200];
	struct text t;
	va_list ap;

	text_init(&t, line, sizeof(line));
	text_add(&t, "%c", STEP_MARK);
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	halves_send_line(line, t.len);
	shown.phase = NULL;
	clock_read();
	shown.when = now.mono;
}

static void
send_lookup_step(const char *name)
{
	send_step("looking up %s", name);
}

/* Shows the phase in mailq if the server is slow, or if another step has been
 * shown for a second.  A phase that mailq shows is not sent again. */
static void
send_wait_step(int slow)
{
	if (conn.phase == shown.phase ||
	    (!slow && (shown.when <= 0 || now.mono - shown.when < 1)))
		return;
	send_step("%s, at %s", conn.server, conn.phase);
	shown.phase = conn.phase;
}

/* ---- hosts ----------------------------------------------------------- */

/* Returns the host of a recipient; "" if there are smart hosts. */
static const char *
host_of(const struct lib_rcpt *r)
{
	return opt.relays > 0 ? "" : r->host;
}

/* Returns 1 if esmtp_open has found that the server is this machine. */
static int
is_peer_this_machine(void)
{
	/* 5.4.6 of esmtp.c is the only permanent host_status */
	return conn.code == 0 && conn.host_status != NULL &&
	    conn.host_status[0] == '5';
}

static void
refill_tries(struct tries *t)
{
	t->addrs = ADDRS;
	t->sessions = SESSIONS;
}

static int
has_tries_left(void)
{
	return attempt.in_use->addrs > 0 && attempt.in_use->sessions > 0;
}

/* Returns 1 if this server broke off a transaction of the attempt before it had
 * the message. */
static int
has_broken_off(const struct net_addr *a)
{
	const struct net_addr *b = attempt.broken;

	for (; b < attempt.broken + attempt.nbroken; b++)
		if (a->port == b->port && strcmp(a->text, b->text) == 0 &&
		    strcmp(a->name, b->name) == 0)
			return 1;
	return 0;
}

/* Returns 1 if the host can have other addresses than the first. */
static int
has_other_addresses(void)
{
	return attempt.addrs.n > 1 || opt.relays > 1;
}

/* Connects to an address, and logs in with auth unless that is NULL: 0 or -1.
 */
static int
try_address(const struct net_addr *a, const struct auth *auth)
{
	const char *line = NULL;
	int open;

	shown.phase = NULL;
	open = esmtp_open(&conn, a, &opt.net) == 0;
	attempt.in_use->addrs--;
	if (opt.dead != NULL && has_other_addresses())
		line = dead_record(a, open || conn.code != 0 ||
		    is_peer_this_machine());
	if (line != NULL)
		halves_send_line(line, strlen(line));
	if (strcmp(conn.phase, PHASE_CONNECT) != 0)
		attempt.in_use->sessions--;
	return open && (auth == NULL || auth_login(&conn, auth) == 0) ? 0 : -1;
}

/* Replaces the addresses of each name by the name, for a program that finds
 * the addresses itself. */
static void
reduce_to_names(struct net_addrs *addrs)
{
	struct net_addr *a;
	int i, n = 0;

	for (i = 0; i < addrs->n; i++)
		if (n == 0 || strcmp(addrs->addr[n - 1].name,
		    addrs->addr[i].name) != 0) {
			addrs->addr[n] = addrs->addr[i];
			a = &addrs->addr[n++];
			text_fmt(a->text, sizeof(a->text), "%s", a->name);
		}
	addrs->n = n;
}

/* Connects to an address of a name, and logs in with auth unless that is NULL:
 * 0, or -1 with the reason in attempt.addrs or conn.  The best address is
 * first, and the others follow in order; if the mail was tried before, they
 * begin with a random one.  Dead addresses are kept for connect_host. */
static int
try_name(const char *name, const struct auth *auth)
{
	struct net_addrs *addrs = &attempt.addrs;
	const struct net_addr *a;
	int i, at = 0, second;

	if (!has_tries_left() || net_find_addresses(addrs, &opt.net, name,
	    opt.relays > 0) < 0)
		return -1;
	if (opt.net.via != NULL && !via_wants_socket(opt.net.via))
		reduce_to_names(addrs);
	second = attempt.repeated && addrs->n > 1 ?
	    1 + (int)rnd((unsigned long)addrs->n - 1) : 1;
	for (i = 0; i < addrs->n && has_tries_left(); i++) {
		a = &addrs->addr[at];
		at = i == 0 ? second : at + 1;
		if (at == addrs->n)
			at = 1;
		if (has_broken_off(a))
			continue;
		if (dead_is_listed(a)) {
			if (attempt.ndead == MAX_DEAD)
				continue;
			attempt.dead[attempt.ndead].addr = *a;
			attempt.dead[attempt.ndead].tries = attempt.in_use;
			attempt.dead[attempt.ndead++].auth = auth;
			continue;
		}
		if (try_address(a, auth) == 0)
			return 0;
		if (is_peer_this_machine())
			return -1;
	}
	return -1;
}

/* Begins an attempt with all its tries. */
static void
begin_attempt(void)
{
	int i;

	attempt.in_use = attempt.tries;
	for (i = 0; i < MAX_HOSTS; i++)
		refill_tries(&attempt.tries[i]);
	attempt.nbroken = 0;
}

/* Connects to the host of the attempt, or to a smart host: 0 or -1.  The dead
 * addresses of all hosts are tried last. */
static int
connect_host(const struct auth *sender)
{
	int i;

	esmtp_quit(&conn);
	conn_sender = sender;
	attempt.ndead = 0;
	if (opt.relays == 0 && try_name(attempt.host, NULL) == 0)
		return 0;
	for (i = 0; i < opt.relays; i++) {
		attempt.in_use = &attempt.tries[i];
		if (try_name(opt.relay[i], sender == NULL &&
		    opt.passwords != NULL ? &login[i] : sender) == 0)
			return 0;
	}
	for (i = 0; i < attempt.ndead; i++) {
		attempt.in_use = attempt.dead[i].tries;
		if (has_tries_left() && try_address(&attempt.dead[i].addr,
		    attempt.dead[i].auth) == 0)
			return 0;
	}
	return -1;
}

/* Reports on the recipients of the host that have no verdict.  With status
 * NULL, the text is the server's last reply, or why the connection is over. */
static void
report_host(struct lib_job *job, int code, const char *status,
    const char *text)
{
	struct lib_rcpt *r;

	for (r = job->rcpts; r != NULL; r = r->next) {
		if (!r->unreported || !lib_is_same(host_of(r), attempt.host))
			continue;
		if (status != NULL)
			lib_report(job, r, code, status, text, 0);
		else
			trans_defer_rcpt(&conn, job, r, code);
	}
}

/* Reports that the host cannot be reached. */
static void
report_unreached(struct lib_job *job)
{
	const struct net_addrs *addrs = &attempt.addrs;
	const char *text = addrs->text, *status = addrs->status;
	int code = addrs->code, only_this;

	if (addrs->n > 0 && !is_peer_this_machine()) {
		/* the password of another sender may be accepted */
		only_this = conn.phase != NULL &&
		    strcmp(conn.phase, PHASE_AUTH) == 0 &&
		    auth_find_sender(NULL) != NULL;
		report_host(job, only_this ? X_TEMPFAIL : X_DEFERALL, NULL,
		    NULL);
		return;
	}
	if (addrs->n > 0) {
		code = X_NOHOST;
		status = conn.host_status;
		text = "the server is this machine, which takes no mail "
		    "for the host";
	}
	/* mail must not fail because of a wrong -R */
	if (opt.relays > 0 && code != X_DEFERALL) {
		code = X_DEFERALL;
		status = "4.3.5";
	}
	report_host(job, code, status, text);
}

/* ---- jobs ------------------------------------------------------------ */

/* Checks that commands can contain the addresses: 0, or -1 with the failure
 * reported. */
static int
fail_bad_addresses(struct lib_job *job, struct lib_rcpt *r)
{
	const char *from = addr_error_status(r->from->address);
	const char *user = *r->user == '\0' ? "5.1.3" :
	    addr_error_status(r->user);

	if (from != NULL)
		lib_report(job, r, X_NOUSER, strcmp(from, "5.1.3") == 0 ?
		    "5.1.7" : from, "the sender's address cannot be sent by "
		    "SMTP", 0);
	else if (user != NULL)
		lib_report(job, r, X_NOUSER, user,
		    "the address cannot be sent by SMTP", 0);
	return from != NULL || user != NULL ? -1 : 0;
}

/* Collects the first recipient without a verdict, and the recipients that can
 * be in the same transaction, in the array to[]; reports on bad addresses.
 * Returns the number of recipients in the array. */
static int
collect_rcpts(struct lib_job *job, struct lib_rcpt **to)
{
	struct lib_rcpt *r;
	int n = 0;

	for (r = job->rcpts; r != NULL && n < opt.most; r = r->next) {
		if (!r->unreported)
			continue;
		if (n > 0 && (r->from != to[0]->from || r->hdr != to[0]->hdr ||
		    !lib_is_same(host_of(r), host_of(to[0]))))
			continue;
		if (fail_bad_addresses(job, r) == 0)
			to[n++] = r;
	}
	return n;
}

/* Makes one transaction, over the kept connection or a new one. */
static void
deliver_to(struct lib_job *job, struct lib_rcpt **to, int n)
{
	const char *host = host_of(to[0]);
	const struct auth *sender = auth_find_sender(to[0]->from->address);
	enum trans_end end;
	int kept;

	if (!lib_is_same(host, attempt.host)) {
		esmtp_quit(&conn);
		strcpy(attempt.host, host);
		begin_attempt();
	}
	do {
		kept = conn.fd >= 0 && sender == conn_sender &&
		    esmtp_is_silent(&conn);
		if (!kept && connect_host(sender) < 0) {
			report_unreached(job);
			return;
		}
		end = trans_run(&conn, job, to, n, opt.seven);
		if (end != TRANS_OVER)
			esmtp_close(&conn);
	} while (end == TRANS_EARLY && kept);
	if (end == TRANS_OVER && conn.code != 0)
		refill_tries(attempt.in_use);
	else if (end == TRANS_OVER && !has_tries_left())
		/* the message breaks connections; other mail does not wait */
		report_host(job, X_TEMPFAIL, "4.4.2", "not tried now: the "
		    "connection broke when this message was sent to other "
		    "recipients");
	else if (end != TRANS_OVER && has_other_addresses() &&
	    attempt.nbroken < BROKEN)
		/* do_job tries another server */
		attempt.broken[attempt.nbroken++] = conn.peer;
	else if (end != TRANS_OVER)
		report_host(job, X_DEFERALL, NULL, NULL);
}

static void
do_job(struct lib_job *job)
{
	static struct lib_rcpt *to[TRANS_MAX];	/* large */
	int n;

	begin_attempt();
	attempt.repeated = time(NULL) - job->arrived > FRESH;
	while (lib_has_scheduler() && (n = collect_rcpts(job, to)) > 0)
		deliver_to(job, to, n);
}

/* Reads files in the talker before it changes its user. */
static void
read_files(void)
{
	int i;

	if (opt.dead != NULL)
		dead_read(opt.dead);
	if (opt.passwords == NULL)
		return;
	for (i = 0; i < opt.relays; i++)
		auth_read_host(&login[i], opt.passwords, opt.relay[i],
		    opt.net.via != NULL);
	auth_read_senders(opt.passwords, opt.net.via != NULL);
}

/* Uses a line of the talker in the keeper: a step, a change to the file of -k,
 * or a line of the transcript. */
static void
use_talker_line(const char *s, size_t n)
{
	char line[NET_NAME + 20];

	if (n > 0 && *s == STEP_MARK) {
		lib_show_step("%.*s", (int)n - 1, s + 1);
	} else if (n > 0 && (*s == '+' || *s == '-')) {
		if (opt.dead != NULL && text_fmt(line, sizeof(line), "%.*s",
		    (int)n, s) == 0)
			dead_update_file(opt.dead, line);
	} else if (opt.log != NULL) {
		write_transcript(s, n);
	}
}

static void
end_connection(void)
{
	esmtp_quit(&conn);
}

/* The file of -A at the last job; all 0: there was none. */
static struct stat passwords;

/* Ends the talker if the file of passwords has changed. */
static void
end_outdated_talker(void)
{
	struct stat st;

	if (opt.passwords == NULL)
		return;
	if (stat(opt.passwords, &st) < 0)
		memset(&st, 0, sizeof(st));
	if (st.st_ino != passwords.st_ino || st.st_size != passwords.st_size ||
	    st.st_mode != passwords.st_mode ||
	    st.st_ctime != passwords.st_ctime)
		halves_end();
	passwords = st;
}

/* Works on a job in the keeper. */
static void
work_in_keeper(struct lib_job *job)
{
	char line[2 * NET_NAME];

	if (opt.log != NULL) {
		text_fmt(line, sizeof(line), "# msg=%s",
		    ctl_log_name(job->name));
		write_transcript(line, strlen(line));
	}
	end_outdated_talker();
	halves_work(job);
}

/* ---- options --------------------------------------------------------- */

/* Options of ZMailer's agent.  The options in the first row are ignored: a job
 * is for one host, its body is not changed, and no local port or process title
 * is chosen. */
static const struct lib_foreign foreign[] = {
	{ "deHrsvZ", NULL },
	{ "1", "set maxjobs=1 in the clause" },
	{ "D", "there is no dry run: use telnet" },
	{ "E", "HELO is said when EHLO is refused: leave -E out, or use -77" },
	{ "F", "use -R, which asks for no MX records" },
	{ "L", "use -b with an address" },
	{ "M", "there is no LMTP: use sm with a program that speaks it" },
	{ "O", "EZMLM is not looked at: leave -O out" },
	{ "S", "TLS is spoken by a program: use -X" },
	{ "W", "WKS records are not looked at: leave -W out" },
	{ NULL, NULL }
};

static struct lib_command command = { "smtp", VERSION SWITCHES,
	"[-467noNPV] [-A file] [-b address] [-c channel] [-h name] [-k file]\n"
	"            [-l file] [-m number] [-p port] [-R host,...] "
	"[-T name=span,...]\n"
	"            [-t directory] [-u user] [-w bytes] [-X command] [host]",
	"467A:b:c:h:k:l:m:nNop:PR:T:t:u:Vw:X:x8" "deHrsvZ:1DEF:L:MO:S:W",
	NULL, NULL, 0 };

/* Returns a number from 1 to max, or exits with the usage. */
static long
need_num(const char *s, long max)
{
	unsigned long v;

	if (num_upto(s, (unsigned long)max, &v, NULL) < 0 || v < 1)
		lib_usage();
	return (long)v;
}

static void
set_relays(char *list)
{
	for (; list != NULL; opt.relays++) {
		if (opt.relays == MAX_HOSTS || *list == ',' || *list == '\0')
			lib_usage();
		opt.relay[opt.relays] = list;
		list = strchr(list, ',');
		if (list != NULL)
			*list++ = '\0';
	}
}

/* Sets a limit of -T, whose name is ours or ZMailer's.  The names "" and cmd
 * set the limits of greeting, commands, message and dot. */
static void
set_limit(const char *name, const char *value)
{
	int all = *name == '\0' || lib_is_same(name, "cmd"), found = 0, i;
	long span;

	if (span_parse(value, &span) < 0 || span < 1 || span > 86400L)
		lib_usage();
	if (lib_is_same(name, "conn"))
		name = "connect";
	if (lib_is_same(name, "tcpw"))
		name = "block";
	for (i = 0; i < ES_STAGES; i++)
		if (all ? i >= ES_GREETING && i <= ES_DOT :
		    lib_is_same(esmtp_stage_name[i], name)) {
			/* a shorter wait would send mail twice */
			esmtp_limit[i] = i == ES_DOT && span < DOT_LEAST ?
			    DOT_LEAST : span;
			found = 1;
		}
	if (lib_is_same(name, "idle"))
		opt.idle = span;
	else if (lib_is_same(name, "lookup"))
		opt.lookup = span;
	else if (!found)
		lib_usage();
}

static void
set_limits(char *list)
{
	char *value, *next;

	for (; list != NULL; list = next) {
		next = strchr(list, ',');
		if (next != NULL)
			*next++ = '\0';
		value = strchr(list, '=');
		if (value != NULL)
			*value++ = '\0';
		set_limit(value == NULL ? "" : list,
		    value == NULL ? list : value);
	}
}

static void
exit_usage(const char *what, const char *why)
{
	fprintf(stderr, "smtp: %s %s\n", what, why);
	exit(X_USAGE);
}

/* Sets the user of the talker.  Exits if there is no such user, or if users
 * cannot be looked up now; then the scheduler starts another agent later. */
static void
set_talker_user(const char *name)
{
	if (user_find_ids(name, &halves.uid, &halves.gid) == 0)
		return;
	if (errno == 0)
		exit_usage("-u: no user", name);
	fprintf(stderr, "smtp: the user %s cannot be looked up: %s\n", name,
	    strerror(errno));
	exit(X_TEMPFAIL);
}

/* Serves jobs in two processes, or in one.  Returns the exit status. */
static int
serve_jobs(const char *host)
{
	net_waiting = send_wait_step;
	net_looking_up = send_lookup_step;
	halves.work = do_job;
	halves.begin = read_files;
	halves.end = end_connection;
	halves.silence = (double)opt.lookup;
	halves.promises = opt.net.via == NULL ? "stdio inet dns" :
	    "stdio inet dns proc exec";
	halves.parting = (double)esmtp_limit[ES_QUIT] + 5;
	halves_use(&halves);
	net_beat = halves_beat;
	net_nap = halves_beat_interval();
	halves.log = use_talker_line;
	if (opt.log != NULL)
		esmtp_log = halves_send_line;
	lib_set_idle(opt.idle, halves_end);
	return lib_run(command.channel, host, work_in_keeper);
}

/* Checks options against each other. */
static void
check_options(void)
{
	const char *self = opt.net.self, *why;

	if (halves.single && (halves.root != NULL || opt.user != NULL))
		exit_usage("-o", "goes with neither -t nor -u");
	/* what follows EHLO is one word */
	if (self != NULL && (*self == '\0' || strlen(self) >= NET_NAME ||
	    self[strcspn(self, " \t\r\n<>")] != '\0'))
		exit_usage("-h", "needs a name");
	if (opt.passwords != NULL && opt.relays == 0)
		exit_usage("-A", "needs -R: other hosts get no password");
	if (opt.net.via == NULL)
		return;
	if (opt.net.via[0] == '-')
		exit_usage("ZMailer's -X is not needed; here -X wants a "
		    "program, not", opt.net.via);
	/* only a talker runs the program; the directory of -t has none */
	if (halves.single || halves.root != NULL)
		exit_usage("-X", "goes with neither -o nor -t");
	why = via_find_error(opt.net.via);
	if (why != NULL)
		exit_usage("the command of -X", why);
	why = via_find_unverifying(opt.net.via);
	if (opt.passwords != NULL && why != NULL)
		fprintf(stderr, "smtp: the command of -X has %s, which by "
		    "itself verifies no certificate\n", why);
}

/* For -N: checks that the program of -X is there, and that the file of -A has
 * lines for the hosts of -R.  Nothing is said of the file to users who may not
 * read it. */
static void
warn_of_file_faults(void)
{
	static struct auth a;	/* large */
	const char *missing = NULL;
	int i, found = 0;

	if (opt.net.via != NULL)
		missing = via_find_missing(opt.net.via);
	if (missing != NULL)
		fprintf(stderr, "smtp: the program of -X is not there: %s; "
		    "mail would wait\n", missing);
	if (opt.passwords == NULL)
		return;
	if (geteuid() != 0 && access(opt.passwords, R_OK) < 0 &&
	    errno == EACCES)
		return;
	for (i = 0; i < opt.relays; i++) {
		auth_read_host(&a, opt.passwords, opt.relay[i],
		    opt.net.via != NULL);
		found += a.found;
		if (a.trouble[0] == '\0')
			continue;
		fprintf(stderr, "smtp: %s; mail would wait\n", a.trouble);
		if (!a.found)	/* the file cannot be used */
			return;
	}
	memset(&a, 0, sizeof(a));
	auth_read_senders(opt.passwords, opt.net.via != NULL);
	if (found == 0 && auth_find_sender(NULL) == NULL)
		fprintf(stderr, "smtp: %s has no line for %s; mail would "
		    "wait\n", opt.passwords, opt.relay[0]);
}

int
main(int argc, char **argv)
{
	int c;

	command.channel = env_get("CHANNEL", "smtp");
	conn.fd = -1;
	opt.lookup = 300;
	opt.net.port = NET_PORT;
	opt.most = 100;
	opt.idle = 30;
	if (strchr(mailname(NULL), '.') != NULL)
		opt.net.self = mailname(NULL);
	while ((c = lib_next_option(argc, argv, &command)) != -1)
		switch (c) {
		case '4': case '6': opt.net.family = c - '0'; break;
		case '7':
			if (opt.seven)
				esmtp_disabled = ~0U;
			opt.seven = 1;
			break;
		case '8': opt.seven = 0; break;
		case 'A': opt.passwords = optarg; break;
		case 'b':
			if (net_read_address(&opt.source, optarg) < 0)
				lib_usage();
			opt.net.source = &opt.source;
			break;
		case 'k': opt.dead = optarg; break;
		case 'l': opt.log = optarg; break;
		case 'm': opt.most = (int)need_num(optarg, TRANS_MAX); break;
		case 'n': case 'x': opt.net.no_mx = 1; break;
		case 'p': opt.net.port = (int)need_num(optarg, 65535L); break;
		case 'P': esmtp_disabled |= CAN_PIPELINING; break;
		case 'R': set_relays(optarg); break;
		case 'T': set_limits(optarg); break;
		case 'o': halves.single = 1; break;
		case 't': halves.root = optarg; break;
		case 'u': opt.user = optarg; break;
		case 'w':
			opt.net.sndbuf = (int)need_num(optarg, 999999L);
			break;
		case 'X': opt.net.via = optarg; break;
		default: lib_ignore_or_refuse_option(foreign, c);
		}
	if (command.host != NULL)
		opt.net.self = command.host;
	if (optind + 1 < argc)
		lib_usage();
	if (opt.user != NULL || geteuid() == 0)
		set_talker_user(opt.user != NULL ? opt.user : "nobody");
	check_options();
	umask(077);
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid() << 12);
	if (!command.check_only)
		return serve_jobs(argv[optind]);
	warn_of_file_faults();
	return 0;
}
