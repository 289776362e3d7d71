/*
 * torture.c - kills the scheduler at random moments, over and over, and
 * counts afterwards.
 *
 *	torture [options] SCHEDULER DIR SEED
 *
 *	-n N		how often it is killed (20)
 *	-m N		messages that come in meanwhile (10 for each)
 *	-x WORD		an option for the scheduler, such as -HH; repeatable
 *	-o TEXT		keywords for every clause, such as "order=preempt"
 *	-k		agents are killed, too
 *	-r		the configuration is replaced and read again
 *	-q		mailq asks, flushes, holds and releases
 *	-b N		so many of 1000 recipients fail for good
 *	-w SECONDS	at the end, without any progress for so long, the
 *			scheduler is ended and started once more (60)
 *
 * DIR is made, and is a post office with what else is needed beside it.  Every
 * choice made here comes from SEED; what the system makes of it is its own
 * affair, so a run is repeated in kind, not to the microsecond.
 *
 * Messages have one to five recipients, at one or some of twelve hosts, by four
 * channels whose clauses differ.  Agents (t/agent) write down what they
 * deliver, and once more when it is marked in the control file.  In half of the
 * rounds core has room for CORE messages, and stubs for half as many, so most
 * mail is forgotten and comes back.  After the last kill more mail than core
 * has room for comes in, and a scheduler with little core is left in peace
 * until the spool is empty.  Then
 *
 *	every recipient was delivered, or failed where it was to fail;
 *	none was delivered after it had been marked;
 *	none was delivered twice, but for the one in work when an agent was
 *	killed, once for each of these;
 *	transport/ and queue/ are empty;
 *	for each message with a failure there is a report in router/, or it
 *	is kept in postman/;
 *	messages were forgotten;
 *	the scheduler ends with exit code 0, and no agent is left.
 *
 * What does not hold is said, a line each.  Exit: 0, or 1.
 */
#include "../lib/util.h"
#include <dirent.h>
#include <signal.h>
#include <sys/wait.h>

#define RCPTS_MOST	5
#define HOSTS		12
#define ASKERS		4
#define WORDS		8
#define CORE		20
#define LAST		(2 * CORE)	/* messages after the last kill */

static struct {
	long	kills, messages, failing, patience;
	unsigned long seed;
	int	agents, reloads, ask, nwords;
	const char *scheduler, *dir, *keywords, *words[WORDS];
	char	here[1000];	/* where agent and ask are */
} arg = { 20, 0, 0, 60, 0, 0, 0, 0, 0, NULL, NULL, "", { NULL }, "" };

/* What there is to be said of a recipient. */
struct rcpt {
	long	off, by;	/* by: the agent that delivered it last */
	int	delivered, marked, fails;
};

struct msg {
	int	n;
	struct rcpt r[RCPTS_MOST];
};

static struct msg *msgs;
static long nmsgs, bad;
static long *killed;		/* agents that were, died of them; 0: it has
				 * been the excuse for one delivery */
static long died, reloads, asked, starts;
static pid_t scheduler, askers[ASKERS];

static void
must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	if (scheduler > 0)
		kill(scheduler, SIGKILL);
	exit(1);
}

static void
wrong(const char *f, ...)
{
	char line[1200];
	struct text t;
	va_list ap;

	text_init(&t, line, sizeof(line));
	va_start(ap, f);
	text_vadd(&t, f, ap);
	va_end(ap);
	if (bad++ < 20)
		printf("wrong: %s\n", line);
}

static const char *
in(const char *name)
{
	static char path[1200];

	must(text_fmt(path, sizeof(path), "%s/%s", arg.dir, name) == 0, name);
	return path;
}

static void
nap(unsigned long micros)
{
	struct timeval tv;

	tv.tv_sec = (long)(micros / 1000000UL);
	tv.tv_usec = (long)(micros % 1000000UL);
	select(0, NULL, NULL, NULL, &tv);
}

/* Micro- to milliseconds more often than the longest. */
static unsigned long
moment(void)
{
	return rnd(1UL << (8 + rnd(12)));
}

/* ---- what is delivered ----------------------------------------------- */

static void
configure(long turn, int small)
{
	static const char *const clause[] = {
	    "a/*	overfeed=5 maxthr=3 maxring=6",
	    "b/*	maxring=2",
	    "c/*	maxchannel=4 overfeed=20",
	    "d/*	maxring=1 retries=\"0 1\""
	};
	char path[1200];
	size_t i;
	FILE *f = fopen(in("cf.new"), "w");

	must(f != NULL, "cf.new");
	if (small)
		fprintf(f, "PARAMactive %d\nPARAMevicted %d\n", CORE, CORE / 2);
	fprintf(f, "PARAMmailqsock none\n*/*\tinterval=1s retries=1"
	    " idlemax=%lds expiry=1d maxta=%ld maxrcpts=1 %s\n",
	    1 + turn % 3, 20 + turn % 2, arg.keywords);
	for (i = 0; i < sizeof(clause) / sizeof(clause[0]); i++) {
		fprintf(f, "%s\n\tcommand=\"%s/agent -l -A %s/alive -o %s/log "
		    "-c $channel -m %d", clause[i], arg.here, arg.dir,
		    arg.dir, (int)i);
		fprintf(f, " -z %lu,%ld,30,5,%d", arg.seed, arg.failing,
		    i == 3 ? 20 : 0);
		/* agents that take a part of the recipients, or not */
		if ((turn + (long)i) % 4 < 3)
			fprintf(f, " -p");
		if (arg.agents)
			fprintf(f, " -K %d", i < 2 ? 300 : 1000);
		fprintf(f, "%s\"\n", i == 1 ? " -H $host" : "");
	}
	must(fclose(f) == 0, "cf.new");
	text_fmt(path, sizeof(path), "%s", in("cf"));
	must(rename(in("cf.new"), path) == 0, path);
}

static void
name_of(long i, char *name, size_t size)
{
	text_fmt(name, size, "%ld-1", 1000 + i);
}

/* As t/agent has it: whether it is to fail. */
static int
is_to_fail(const char *name, long off)
{
	unsigned fate = hash_text(name, (unsigned)((long)arg.seed + off));

	return (long)((fate >> 8) % 1000) < arg.failing;
}

static void
make_message(void)
{
	struct msg *m = &msgs[nmsgs];
	char name[40], file[80], path[1200];
	FILE *f;
	int i, channel;
	unsigned long host;

	name_of(nmsgs++, name, sizeof(name));
	text_fmt(file, sizeof(file), "queue/%s", name);
	f = fopen(in(file), "w");
	must(f != NULL && fputs("body\n", f) >= 0 && fclose(f) == 0, file);
	text_fmt(file, sizeof(file), "transport/.%s", name);
	f = fopen(in(file), "w");
	must(f != NULL, file);
	fprintf(f, "@ 0x00000007\ni %s\no 0\nl <%s@test>\ne sender@test\n"
	    "s local - sender 0\n", name, name);
	m->n = 1 + (int)rnd(RCPTS_MOST);
	channel = 'a' + (int)rnd(4);
	host = rnd(HOSTS);
	for (i = 0; i < m->n; i++) {
		if (nmsgs % 3 != 0) {	/* else all are at one host */
			channel = 'a' + (int)rnd(4);
			host = rnd(HOSTS);
		}
		m->r[i].off = ftell(f);
		m->r[i].fails = is_to_fail(name, m->r[i].off);
		fprintf(f, "r           %c h%lu.test u%d 0\n", channel, host, i);
	}
	fprintf(f, "m\nSubject: %s\n\n", name);
	must(fclose(f) == 0, file);
	text_fmt(path, sizeof(path), "%s", in(file));
	text_fmt(file, sizeof(file), "transport/%s", name);
	must(rename(path, in(file)) == 0, file);
}

/* ---- what is done to it ---------------------------------------------- */

static void
start(void)
{
	char po[1200], cf[1200], log[1200];
	char *argv[WORDS + 9], env[1200], bin[1200], *envp[4];
	int i, n = 0;

	text_fmt(po, sizeof(po), "%s", arg.dir);
	text_fmt(cf, sizeof(cf), "%s", in("cf"));
	text_fmt(log, sizeof(log), "%s", in("sched.log"));
	text_fmt(env, sizeof(env), "RENDEZVOUS=%s/public/.ask", arg.dir);
	argv[n++] = (char *)(size_t)arg.scheduler;
	argv[n++] = "-i";
	argv[n++] = "-P";
	argv[n++] = po;
	argv[n++] = "-f";
	argv[n++] = cf;
	argv[n++] = "-L";
	argv[n++] = log;
	for (i = 0; i < arg.nwords; i++)
		argv[n++] = (char *)(size_t)arg.words[i];
	argv[n] = NULL;
	envp[0] = env;
	envp[1] = "PATH=/usr/bin:/bin";
	/* where the agent dsn is */
	text_fmt(bin, sizeof(bin), "MAILBIN=%s", getenv("MAILBIN") == NULL ?
	    "/nonexistent" : getenv("MAILBIN"));
	envp[2] = bin;
	envp[3] = NULL;
	fflush(stdout);
	scheduler = fork();
	must(scheduler >= 0, "fork");
	if (scheduler == 0) {
		execve(argv[0], argv, envp);
		_exit(127);
	}
	starts++;
}

/* Its exit status, once it is gone. */
static int
end(int sig)
{
	int status = -1;

	kill(scheduler, sig);
	while (waitpid(scheduler, &status, 0) < 0 && errno == EINTR)
		;
	scheduler = 0;
	return status;
}

/* What an operator might do; the answer is not waited for. */
static void
ask(const char *how, const char *verb, const char *what)
{
	char path[1200];
	const char *where = arg.dir;
	pid_t *slot = askers;
	int null;

	while (slot < askers + ASKERS && *slot > 0 &&
	    waitpid(*slot, NULL, WNOHANG) == 0)
		slot++;
	if (slot == askers + ASKERS)
		return;
	text_fmt(path, sizeof(path), "%s/ask", arg.here);
	*slot = fork();
	must(*slot >= 0, "fork");
	if (*slot == 0) {
		null = open("/dev/null", O_RDWR);
		dup2(null, 1);
		dup2(null, 2);
		if (verb == NULL)
			where = in("public/.ask");
		execl(path, "ask", how, where, verb, what, (char *)NULL);
		_exit(127);
	}
	asked++;
}

static void
command(void)
{
	static const char *const verbs[] = { "flush", "hold", "release" };
	static const char *const hosts[] = { "*/h1*", "c/*", "b/h2.test" };
	const char *verb = verbs[rnd(3)];
	char name[40];

	if (rnd(3) == 0) {
		ask("pipe", NULL, NULL);
		return;
	}
	name_of((long)rnd((unsigned long)nmsgs + 1), name, sizeof(name));
	if (verb != verbs[1] && rnd(3) == 0)
		ask("order", verb, "all");
	else if (rnd(2) == 0)
		ask("order", verb, hosts[rnd(3)]);
	else
		ask("order", verb, name);
}

static void
end_askers(void)
{
	int i;

	for (i = 0; i < ASKERS; i++)
		if (askers[i] > 0) {
			kill(askers[i], SIGTERM);
			while (waitpid(askers[i], NULL, 0) < 0 &&
			    errno == EINTR)
				;
			askers[i] = 0;
		}
}

/* One life of the scheduler: some mail comes, something is done to it, and
 * it is killed. */
static void
one_life(long turn)
{
	unsigned long left = moment();
	long kind;
	long share = (arg.messages - nmsgs) / (arg.kills - turn);
	long n = share > 0 ? (long)rnd((unsigned long)share * 2 + 1) : 0;

	if (!arg.reloads)
		configure(0, turn % 2 != 0);
	start();
	while (n-- > 0 && nmsgs < arg.messages) {
		make_message();
		if (rnd(8) == 0)
			nap(rnd(2000));
	}
	if (arg.reloads && rnd(2) == 0) {
		kind = (long)rnd(100);
		configure(kind, kind % 2 != 0);
		nap(left / 2);
		kill(scheduler, SIGHUP);
		reloads++;
	}
	if (arg.ask)
		for (n = (long)rnd(4); n > 0; n--)
			command();
	nap(left);
	end(SIGKILL);
	end_askers();
	if (rnd(4) == 0)
		nap(rnd(100000UL));
}

/* ---- the end --------------------------------------------------------- */

/* Files in a directory and those below that have one letter; with a suffix,
 * only those that end so. */
static long
files_in(const char *dir, const char *suffix)
{
	char sub[200];
	struct dirent *e;
	size_t len, end_len = strlen(suffix);
	long n = 0;
	DIR *d = opendir(in(dir));

	must(d != NULL, dir);
	while ((e = readdir(d)) != NULL) {
		len = strlen(e->d_name);
		if (e->d_name[0] == '.')
			continue;
		if (len == 1) {
			text_fmt(sub, sizeof(sub), "%s/%s", dir, e->d_name);
			n += files_in(sub, suffix);
		} else if (len >= end_len && strcmp(e->d_name + len - end_len,
		    suffix) == 0) {
			n++;
		}
	}
	closedir(d);
	return n;
}

static off_t
log_size(void)
{
	struct stat st;

	return stat(in("log"), &st) < 0 ? 0 : st.st_size;
}

/* Starts the scheduler and waits until a signal ends it as it should. */
static void
start_ready(void)
{
	char line[400];
	FILE *f = fopen(in("sched.log"), "a+");
	long end;

	must(f != NULL && fseek(f, 0L, SEEK_END) == 0, "sched.log");
	end = ftell(f);
	start();
	for (;;) {
		must(fseek(f, end, SEEK_SET) == 0, "sched.log");
		while (fgets(line, sizeof(line), f) != NULL)
			if (strstr(line, " ready ") != NULL) {
				fclose(f);
				return;
			}
		must(waitpid(scheduler, NULL, WNOHANG) == 0,
		    "the scheduler is not ready");
		nap(50000UL);
	}
}

/* Left in peace until nothing is left to do. */
static void
drain(void)
{
	off_t was = -1, is;
	long naps = 0, again = 0;
	int status;

	start_ready();
	for (; files_in("transport", "") > 0 && again < 40; nap(50000UL)) {
		if (arg.ask && naps % 20 == 10) {
			end_askers();
			ask("order", "release", "all");
		}
		is = log_size();
		naps = is == was ? naps + 1 : 0;
		was = is;
		if (naps > arg.patience * 20) {
			end(SIGTERM);
			start();
			naps = 0;
			again++;
		}
	}
	end_askers();
	status = end(SIGTERM);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		wrong("the scheduler ended with status %d", status);
	printf("at the end started once more: %ld\n", again);
}

static struct rcpt *
find(long num, long off)
{
	long i = num - 1000;
	int k;

	if (i < 0 || i >= nmsgs)
		return NULL;
	for (k = 0; k < msgs[i].n; k++)
		if (msgs[i].r[k].off == off)
			return &msgs[i].r[k];
	return NULL;
}

/* "K PID" */
static void
note_killed(long pid)
{
	static long size;

	if (died == size) {
		size = size * 2 + 64;
		killed = realloc(killed, (size_t)size * sizeof(*killed));
		must(killed != NULL, "memory");
	}
	killed[died++] = pid;
}

/* Was this agent killed, and has it left nothing else to be done again? */
static int
excused(long pid)
{
	long i;

	for (i = died; i-- > 0; )
		if (killed[i] == pid) {
			killed[i] = 0;
			return 1;
		}
	return 0;
}

static void
note_delivered(struct rcpt *r, const char *name, long pid)
{
	if (r->marked > 0)
		wrong("%s at %ld: delivered, but it was marked", name, r->off);
	else if (r->delivered > 0 && !excused(r->by))
		wrong("%s at %ld: delivered again, and the agent %ld was not "
		    "killed at that", name, r->off, r->by);
	r->delivered++;
	r->by = pid;
}

/* "NAME OFFSET HOST PID": delivered; "+ NAME OFFSET": marked; "K PID". */
static void
read_log(void)
{
	char line[1000], *name, *base;
	const char *pid;
	struct rcpt *r;
	int marked;
	FILE *f = fopen(in("log"), "r");

	must(f != NULL, "log");
	while (fgets(line, sizeof(line), f) != NULL) {
		if (line[0] == 'K' && line[1] == ' ') {
			note_killed(atol(line + 2));
			continue;
		}
		marked = line[0] == '+';
		name = strtok(marked ? line + 2 : line, " ");
		base = strrchr(name, '/');
		r = find((long)num_of(base == NULL ? name : base + 1, NULL),
		    atol(strtok(NULL, " ")));
		strtok(NULL, " ");
		pid = strtok(NULL, " ");
		if (r == NULL)
			wrong("%s: nobody asked for that", name);
		else if (marked)
			r->marked++;
		else
			note_delivered(r, name, pid == NULL ? 0 : atol(pid));
	}
	fclose(f);
}

static void
count(void)
{
	long i, rcpts = 0, failed = 0, twice = 0, reports;
	int k, fails;
	struct rcpt *r;

	for (i = 0; i < nmsgs; i++) {
		for (k = fails = 0; k < msgs[i].n; k++) {
			r = &msgs[i].r[k];
			rcpts++;
			fails |= r->fails;
			if (r->delivered == 0 && !r->fails)
				wrong("%ld-1 at %ld: lost", 1000 + i, r->off);
			if (r->delivered > 0 && r->fails)
				wrong("%ld-1 at %ld: it was to fail", 1000 + i,
				    r->off);
			if (r->delivered > 1)
				twice += r->delivered - 1;
		}
		failed += fails;
	}
	reports = files_in("router", "") + files_in("postman", ".control");
	printf("messages %ld recipients %ld; scheduler killed %ld starts %ld; "
	    "agents killed %ld; reloads %ld; asked %ld\n", nmsgs, rcpts,
	    arg.kills, starts, died, reloads, asked);
	printf("delivered again after an agent was killed: %ld; messages with "
	    "failures %ld, reports %ld\n", twice, failed, reports);
	if (reports < failed || (failed == 0 && reports > 0))
		wrong("%ld reports for %ld messages", reports, failed);
}

static void
count_forgotten(void)
{
	char line[1000];
	long n = 0;
	FILE *f = fopen(in("sched.log"), "r");

	must(f != NULL, "sched.log");
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, " evict msg=") != NULL;
	fclose(f);
	printf("messages forgotten: %ld\n", n);
	if (n == 0)
		wrong("no message was forgotten");
}

static void
nothing_left(void)
{
	struct flock fl;
	int fd = open(in("alive"), O_RDWR | O_CREAT, 0666), n = 0;

	if (files_in("transport", "") != 0 || files_in("queue", "") != 0)
		wrong("there are %ld files in transport and %ld in queue",
		    files_in("transport", ""), files_in("queue", ""));
	must(fd >= 0, "alive");
	do {
		memset(&fl, 0, sizeof(fl));
		fl.l_type = F_WRLCK;
		fl.l_whence = SEEK_SET;
		fcntl(fd, F_GETLK, &fl);
		if (fl.l_type == F_UNLCK)
			return;
		nap(50000UL);
	} while (n++ < 200);
	wrong("the agent %ld is still there", (long)fl.l_pid);
}

static void
make_dirs(void)
{
	static const char *const name[] = { "", "public", "router", "deferred",
	    "freezer", "queue", "postman", "transport" };
	size_t i;
	FILE *f;

	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		must(mkdir(in(name[i]), 0755) == 0, in(name[i]));
	f = fopen(in("log"), "w");
	must(f != NULL && fclose(f) == 0, "log");
}

static void
options(int argc, char **argv)
{
	char *slash;
	int c;

	while ((c = getopt(argc, argv, "n:m:x:o:b:w:krq")) != -1)
		switch (c) {
		case 'n': arg.kills = atol(optarg); break;
		case 'm': arg.messages = atol(optarg); break;
		case 'o': arg.keywords = optarg; break;
		case 'b': arg.failing = atol(optarg); break;
		case 'w': arg.patience = atol(optarg); break;
		case 'k': arg.agents = 1; break;
		case 'r': arg.reloads = 1; break;
		case 'q': arg.ask = 1; break;
		case 'x':
			if (arg.nwords < WORDS)
				arg.words[arg.nwords++] = optarg;
			break;
		default: exit(X_USAGE);
		}
	if (argc - optind != 3 || arg.kills < 1 || argv[0][0] != '/' ||
	    argv[optind + 1][0] != '/') {
		fputs("usage: torture [-krq] [-n kills] [-m messages] [-x "
		    "option] [-o keywords]\n\t[-b failures] [-w seconds] "
		    "scheduler dir seed\nall paths, its own too, begin with "
		    "a slash\n", stderr);
		exit(X_USAGE);
	}
	arg.scheduler = argv[optind];
	arg.dir = argv[optind + 1];
	arg.seed = num_of(argv[optind + 2], NULL);
	if (arg.messages == 0)
		arg.messages = arg.kills * 10;
	text_fmt(arg.here, sizeof(arg.here), "%s", argv[0]);
	slash = strrchr(arg.here, '/');
	*slash = '\0';
}

int
main(int argc, char **argv)
{
	long i;

	options(argc, argv);
	umask(022);
	printf("seed %lu\n", arg.seed);
	rnd_seed(arg.seed * 2654435761UL);
	msgs = mem_get((size_t)(arg.messages + LAST) * sizeof(*msgs));
	make_dirs();
	configure(0, 0);
	for (i = 0; i < arg.kills; i++)
		one_life(i);
	while (nmsgs < arg.messages + LAST)
		make_message();
	configure(arg.kills, 1);
	drain();
	read_log();
	count();
	count_forgotten();
	nothing_left();
	return bad > 0;
}
