/*
 * scheduler.h - the structs that modules of the daemon share.
 *
 * They are in the order in which a message meets them.  The functions of each
 * module are in modules.h.
 *
 * Times named mono are seconds of now.mono, in a long where whole seconds are
 * enough.  They are negative for events before the start of the daemon.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "lib/command.h"
#include "lib/ctlfile.h"
#include "lib/pattern.h"
#include "lib/util.h"

#define NEVER		1e30	/* mono: at no time; -NEVER: not yet */
#define SPAN_MOST	315360000L	/* seconds in a span: ten years */

/* ---- the configuration (cf.c) ---------------------------------------- */

/*
 * feedback: the values of a clause for the number of agents that a destination
 * may have at one time, and for the rate of deliveries to it.
 */
enum fb_form { FB_CONST, FB_WINDOW, FB_SQRT };

struct fb_rule {		/* the step of one report, see feedback.c */
	enum fb_form form;	/* x, x / window, x / sqrt(window) */
	double	x;		/* 0 to 1 */
};

struct fb_rate {
	long	n;		/* deliveries, 0: any number */
	long	per;		/* in so many seconds */
};

struct feedback {
	long	limit;		/* agents, maxthr; 0: any number */
	long	init;		/* agents at first, if limit allows it */
	long	cohorts;	/* more failed ones make it dead; 0: never */
	struct fb_rule pos, neg;
	struct fb_rate rate;
};

/*
 * setting: the values of keywords.  Each clause of the file has one with its
 * own values, and each conf has one with a value for every keyword.
 */
#define NUMBERS_MOST	100	/* in a list */
#define KEYWORDS_MAX	64

enum order { ORDER_RANDOM, ORDER_AGE, ORDER_PREEMPT };

struct setting {
	long	interval;	/* seconds */
	long	idlemax;	/* seconds; default 3 * interval */
	long	expiry;		/* seconds of age; 0: never */
	long	expiry2;	/* seconds after expiry */
	long	timeout;	/* seconds an agent may be silent with work */
	long	maxta, maxchannel, maxring;	/* agents; 0: no limit */
	struct feedback fb;	/* agents on one thread, and their rate */
	long	forget;		/* seconds until an unused destination is
				 * forgotten */
	long	overfeed;	/* jobs fed ahead of the one in work */
	long	backlog;	/* jobs an agent has before its host gets
				 * another; 0: none */
	long	maxage, maxjobs;	/* seconds, jobs after which an agent
				 * ends; 0: never */
	long	order;		/* enum order */
	long	slotcost;	/* deliveries that earn one delivery slot */
	long	slotloan;	/* slots that may be lacking */
	long	slotdiscount;	/* percent of the slots that may be missing */
	long	minslots;	/* slots that a message must be able to earn */
	long	skew;		/* retries until they fall on a boundary */
	long	nice;		/* relative priority of the agent */
	long	uid, gid;	/* of the agent */
	struct numbers {
		long	n;
		int	at[NUMBERS_MOST];
	} retries,		/* factors of interval */
	  reports;		/* ages at which warnings are sent: seconds,
				 * rising */
	long	delayreport;	/* 0, 1: warnings without NOTIFY, too */
	const char *command;	/* NULL: none */
	long	queueonly, wakeuprestartonly, feedbackdebug;	/* 0, 1 */
	long	bychannel;	/* 0, 1; no effect: all rings are by channel */
	const char *text[KEYWORDS_MAX];	/* by row of the keyword table: what
				 * was written; NULL: not given */
};

struct clause {
	struct clause *next;	/* as in the file */
	char	**patterns;	/* alternatives, lower case, NULL at the end */
	const char *text;	/* the pattern as written */
	int	line;
	unsigned char filled;	/* it has keywords; an empty clause gets those
				 * of the next */
	struct setting v;	/* its values, and of empty clauses before it */
};

/*
 * conf: the values for an address, from all clauses that match it up to the
 * first with a command.  There is one for each combination of clauses that an
 * address has matched.  Owned by its config.
 */
struct conf {
	struct conf *next;
	struct config *config;
	struct setting v;
	int	dsn;		/* of the channel dsn: neither maxta nor -R
				 * counts its one agent */
	struct feedback box, local;	/* with a host of "-": for one mailbox;
				 * for messages to several mailboxes */
	enum cmd_bound bound;	/* how its command names the host */
	unsigned nfrom;
	const struct clause *from[1];	/* the clauses, in order */
};

/* config: one reading of the file.  Freed when neither q nor a ring has it. */
struct config {
	char	*text;		/* the file, as words; settings point to it */
	struct clause *clauses;
	const struct clause **matched;	/* for cf_match: room for all of them */
	struct conf *confs;
	char	*notifysock;	/* PARAMnotifysock */
	struct port {		/* PARAMmailqsock */
		long	number;		/* 0: it is not given; -1: none */
		char	address[16];	/* IPv4; "": the loopback */
	} mailqsock;
	char	*routernotify;	/* PARAMrouternotify or NULL */
	char	*mailname;	/* PARAMmailname, or the one of office.h */
	char	*destdb;	/* PARAMdestdb or NULL */
	/* the numbers among the PARAMs, by their names */
	long	msgconcurrency;	/* agents that one message may always have */
	long	msgscale;	/* agents that it may have for each free one */
	long	active;		/* messages in core, 0: any number */
	long	recipients;	/* recipients in core, 0: any number */
	long	evicted;	/* stubs of forgotten messages, 0: any number */
	long	reportevery;	/* seconds until the DSN on a message that is
				 * not done; 0: it is sent at the end */
	long	bouncelimit;	/* seconds between DSNs on failures to one
				 * sender; 0: no pause */
	long	bouncesize;	/* bytes of a message that are returned */
	int	nodsn;		/* the agent dsn cannot be run */
	const char *dsnoptions;	/* PARAMdsn: further ones of the agent dsn */
	char	*dsn;		/* command of the channel dsn */
	long	reasons;	/* different texts of reasons in core */
	long	logaddresses;	/* 0, 1: the log has addresses */
	unsigned refs;
};

/* ---- in core (order.c to queue.c) ------------------------------------ */

/*
 * rcpt: one recipient line.  An array for each vertex, in file order, so an
 * offset is found in O(log n).
 */
enum rcpt_state { RC_PENDING, RC_OK, RC_FAILED };

struct rcpt {
	unsigned off : 30;	/* bytes from the start of the control file */
	unsigned state : 2;	/* enum rcpt_state */
	unsigned char counted;	/* FED: a deferral of it was counted */
	const char *why;	/* reason of its last deferral, or NULL */
};

#define REASON_MOST	255	/* bytes of the reason of a recipient */
#define REASONS_MOST	1000	/* bytes of several of them, as shown */

/*
 * vertex: all recipients of one message with the same channel and host that
 * were not finished when it was loaded; the unit that an agent is fed.  A
 * message has one for a thread.  Freed by the sweep when it is DONE.  A change
 * of state is O(1), except for the heaps of its thread, job and message.
 *
 *	NEW -> WAIT | READY
 *	WAIT -wake-> READY -fed-> FED -report-> WAIT | READY | DONE
 *	WAIT | READY -expired, or its message is forgotten-> DONE
 *
 * In WAIT and READY it is on a list of its thread, or in READY on that of its
 * job (offered); in FED on the list of its agent, which may be starting.  It is
 * HELD while its message is held, until queue.c deletes or bounces it, or until
 * its tags are written, and then on no list of a thread, job or agent.  A hold
 * on its address leaves it in WAIT or READY.
 */
enum vertex_state { V_NEW, V_WAIT, V_READY, V_FED, V_DONE, V_HELD };

/* why: what a vertex waits for, apart from its turn. */
enum why { WHY_NOT, WHY_FED, WHY_HELD_MESSAGE, WHY_HELD, WHY_FROZEN,
	   WHY_NO_COMMAND, WHY_QUEUEONLY, WHY_HOST, WHY_RETRY, WHY_NO_AGENT };

/* Does it not expire meanwhile, as somebody wants it left alone? */
#define WHY_KEPT(w)	((w) >= WHY_HELD_MESSAGE && (w) <= WHY_FROZEN)

/* What the reports on a job say of its host: it answered; no conversation was
 * possible; it accepts no mail at all now. */
#define HOST_GOOD	1
#define HOST_BAD	2
#define HOST_ALL	4

struct vertex {
	struct message *msg;
	struct thread *thread;	/* NULL when DONE */
	struct vertex *next, *prev;	/* DONE: next on the sweep's list */
	struct vertex *other, *before;	/* of the message, whatever its state */
	struct ta *ta;		/* FED: who has it */
	struct rcpt *r;		/* nr of them; &one when that is enough */
	struct rcpt one;
	unsigned nr : 28;
	unsigned warned : 4;	/* warnings that are over, by the file */
	unsigned left;		/* recipients not finished */
	unsigned counted;	/* READY: recipients in its job */
	unsigned box;		/* NEW: mailbox of the last recipient, or 0 */
	int	wakeup;		/* mono; WAIT: when; FED: the latest retryat of
				 * this run, 0: none; HELD for its tags: its
				 * next try, 0: it was READY */
	int	tried;		/* mono; tries > 0: the end of its last run */
	unsigned tries : 13;	/* runs that ended with some left, at most
				 * TRIES_MOST */
	unsigned step : 7;	/* place in the retry list, < NUMBERS_MOST */
	unsigned state : 3;	/* enum vertex_state */
	unsigned dated : 1;	/* WAIT: until a retryat */
	unsigned returned : 1;	/* its agent ended, perhaps before it began */
	unsigned cancel : 2;	/* enum cancel, a command on it, which is on
				 * disk; FED: done when it is reported; HELD: in
				 * a later pass; else there is none */
	unsigned host : 3;	/* HOST_ bits: what this run says of its host */
	unsigned offered : 1;	/* READY: it is on its job's list */
};

/* What is done with a message's files at its end; from END_DROP on nothing more
 * is delivered, and no DSN is sent. */
enum msg_end { END_REMOVE, END_ASIDE, END_ASIDE_DOUBLE,	/* a double bounce */
	       END_DROP,	/* removed */
	       END_GONE,	/* another program has removed them */
	       END_FORGET };	/* they stay: it leaves core */

/*
 * message: one control file and its message file, in core.  Freed by the sweep.
 * Found by its number in O(1), and when it is due in O(log messages).
 *
 * There may be many: the order of members leaves no gaps, and the memory ends
 * with the name.  mono fits into an int for 68 years.
 */
struct message {
	struct hlink link;	/* by num, the leading digits of the name */
	struct job *jobs;	/* order.c's */
	struct chan *chan;	/* of its first recipient; or dsn, when only a
				 * DSN is left: it counts there */
	struct vertex *vertices;	/* linked by other */
	struct vertex first;	/* one of them, while it has a msg */
	struct message *swept;	/* next on the sweep's list */
	unsigned long loaded;	/* value of q.events when it was loaded */
	struct timer due;	/* next time at which a vertex may expire, or a
				 * warning is due */
	int	born;		/* mono: arrival by the message file's mtime */
	int	queued;		/* mono: control file put into transport/ */
	struct spool_time time;	/* of the message file, for its id */
	int	since;		/* mono; when it was last loaded */
	unsigned nfed;		/* vertices with agents */
	unsigned nr;		/* recipients that were pending when loaded */
	unsigned left;		/* vertices not DONE */
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned ndsn : 2;	/* of left, those on the channel dsn */
	unsigned back : 1;	/* it was forgotten before */
	unsigned done : 1;	/* some recipient was delivered, or deleted */
	unsigned asked : 1;	/* a NOTIFY list has DELAY */
	/* for DSNs */
	unsigned failed : 1;	/* some recipient failed for good */
	unsigned dsn_due : 1;	/* the agent dsn gets it at the end */
	unsigned dsn_newer : 1;	/* recipients are done since the agent dsn last
				 * got it */
	unsigned verbose : 1;	/* has a v line */
	unsigned to_sweep : 1;	/* is on the sweep's list */
	unsigned over : 1;	/* all recipients are done; that is logged */
	unsigned end : 3;	/* enum msg_end */
	unsigned held : 1;	/* held by its name */
	unsigned twin : 1;	/* another has, or had, the same number */
	unsigned untagged : 1;	/* some that are finished have no tags yet */
	char	name[1];	/* with hash directories: "X/Y/123-45" */
};

#define msg_age(m)	(NOW - (m)->born)	/* seconds */

/*
 * stub: what is kept of a forgotten message: its file is not in core, and is
 * read when it is due.  Found by its number in O(1), the one that is due in
 * O(log stubs).  Owned by intake.c.  With its places in a hash and a heap it
 * has 64 bytes, if pointers have eight, and the part of the name beyond 10.
 */
struct stub {
	struct hlink link;	/* by the number of its name */
	struct timer due;	/* in q.later: when its file is read; or in
				 * ready of a channel */
	int	until;		/* mono; no vertex of it goes before that */
	int	born;		/* as of the message: its age is taken once */
	unsigned seen : 15;	/* the last request when it left core */
	unsigned skipped : 1;	/* struct skip is behind the name */
	char	name[1];	/* with hash directories: "X/Y/123-45" */
};

/* skip: why a file was not loaded when it was due. */
struct skip {
	const char *why;	/* a constant text */
	int	pid;		/* whose lock it has, 0: nobody's */
	int	since;		/* mono; when that lock was first seen */
};

/* list: vertices, linked by next and prev.  All O(1). */
struct list {
	struct vertex *head;	/* its prev is the last */
	unsigned n;
};

/*
 * thread: a destination, which is a channel and a host: its state by reports,
 * and the vertices for it.  With a host of "-" each mailbox is a destination:
 * messages with one recipient there have a thread for each box, others share
 * one.  Owned by thread.c.  Found by its name, and its lists: O(1); turns and
 * wakes: O(log threads).
 *
 *	UNUSED: no ring <--th_get, sweep--> in use, in a ring:
 *	EMPTY | DEAD: window 0 | READY: in ring->ready | RUNNING: nta > 0
 *
 * Without vertices and agents it becomes unused, so that its state is kept when
 * the queue is empty.  It is forgotten when it was unused for long.
 *
 *	window > 0 <--fb_lift, fb_good-- DEAD: window == 0
 *	           --fb_bad, th_sleep-->
 */
#define UNUSED_MOST	1000	/* unused threads: memory is small */

struct thread {
	struct hlink link;	/* by channel, host and box */
	struct thread *next, *prev;	/* in use; or unused, oldest first */
	struct chan *chan;
	struct ring *ring;	/* NULL: it is unused */
	const struct feedback *fb;	/* what holds for it, of ring->conf */
	/* its state by reports */
	long	window;		/* agents it may have; 0: it is dead */
	double	success;	/* 0 to 1; at 1 the window grows */
	double	failure;	/* 0 to 1; below 0 the window shrinks */
	double	cohorts;	/* failed since the last good report */
	double	until;		/* mono; DEAD: when it is tried again; else 0 */
	double	slot;		/* mono; with a rate, the last one taken */
	double	used;		/* mono; last report, start or mail */
	double	good, bad;	/* mono; last report of the kind, or -NEVER */
	unsigned long ngood, nbad;	/* reports */
	char	*reason;	/* of the last bad report, or NULL */
	unsigned long died;	/* value of q.events when it last died */
	unsigned short step;	/* place in the retry list, when it is DEAD */
	unsigned short tries;	/* times that it died in a row */
	unsigned char by_other;	/* DEAD by the file of another host */
	/* its vertices and agents */
	struct timer turn;	/* place among the ring's ready threads */
	struct timer wake;	/* when its host or the first in WAIT is due;
				 * unused: when it is forgotten */
	struct thread *swept;	/* next on the sweep's list */
	struct list ready, wait;
	struct ta *idle;	/* idle agents that served it, newest first */
	struct ta *busy;	/* agents working on it, newest first */
	int	run;		/* mono; its last run began */
	unsigned nta;		/* agents working on it */
	unsigned nstart;	/* of nta, those before their first #hungry */
	unsigned nref;		/* agents that point to it */
	unsigned nidle;		/* of nref, those that are idle */
	unsigned nheld;		/* vertices HELD */
	unsigned noffer;	/* READY vertices on their jobs' lists */
	const char *held;	/* the hold on its address, or NULL */
	unsigned fresh;		/* READY since ready was last sorted */
	unsigned mark;		/* intake.c: the last reading that met it */
	struct vertex *vertex;	/* intake.c: the vertex that this one made */
	double	soonest;	/* mono; no WAIT vertex is due before */
	double	woken;		/* mono; when a good report last made vertices
				 * READY that were deferred because of the
				 * host */
	unsigned char open;	/* it may take an agent, if it has vertices */
	unsigned char triggered;	/* queueonly: started by a T line */
	unsigned char listed;	/* is on the sweep's list */
	unsigned box;		/* hash of the mailbox's user, 0: none */
	char	host[1];
};

/*
 * slots: the agents that a limit counts, also while they end: maxring counts
 * those of a ring, maxchannel those of a channel, and maxta all but that of the
 * channel dsn.
 */
enum limit { NO_LIMIT, MAXRING, MAXCHANNEL, MAXTA,	/* these count agents */
	     FORKRATE, NO_START };	/* -R; none can be started */

struct slots {
	long	nta;		/* agents */
	long	nidle;		/* idle agents */
	long	nending;	/* agents that are ending */
};

/*
 * ring: the threads between which one agent can be switched: same conf, same
 * channel.  When the conf is bound agents stay on their thread, and maxring
 * counts those of each thread.  Found in O(rings), of which there are about as
 * many as clauses.
 */
struct ring {
	struct ring *next;	/* all rings */
	struct conf *conf;
	struct chan *chan;
	struct heap ready;	/* threads that may take an agent, by turn */
	double	turn;		/* last turn given out */
	struct heap jobs;	/* jobs with offers, by key */
	struct heap shares;	/* jobs of messages at their share, by nfed */
	unsigned njobs;		/* jobs in all */
	unsigned nopen;		/* open threads with vertices on offer */
	struct job *judged;	/* order.c: the job for which rival was found */
	struct job *rival;	/* what preempts judged, or NULL */
	long	judged_at;	/* mono; when that was found */
	struct ta *idle;	/* idle agents, newest first */
	struct slots slots;
	unsigned nthreads;
	double	dead;		/* mono; no agent is started until then */
	unsigned long started;	/* count of starts when it last got an agent */
	enum limit pending;	/* why it gets no new agent */
	char	*trouble;	/* dead: why no agent could be started */
	unsigned char done;	/* no more of it is fed in this pass */
	unsigned char failures;	/* agents in a row that began no job */
};

/* chan: one for each channel name ever met.  Found in O(channels). */
struct chan {
	struct chan *next;
	struct slots slots;
	unsigned msgs;		/* messages in core that count here */
	struct heap ready;	/* stubs of READY messages that had to leave
				 * core, in that order */
	char	name[1];
};

/* totals: counts since the start.  A message that was forgotten and is loaded
 * again is not counted as accepted again. */
struct totals {
	unsigned long accepted;		/* messages */
	unsigned long delivered, failed;	/* recipients */
	unsigned long deferred;		/* recipients, each time */
	unsigned long dsns;		/* sent */
	unsigned long aside;		/* messages set aside */
};

/* hold: a hold of an operator.  Owned by held.c. */
struct hold {
	struct hold *next;	/* all of them, as in their file */
	char	**patterns;	/* of addresses; NULL: a message's name */
	char	text[1];	/* the pattern or name as given */
};

/* What the file of destinations lacks: uses are written at the end, changes by
 * the next round (destdb.c). */
#define USES	1
#define CHANGES	2

/* queue: all data on mail, destinations and agents. */
struct queue {
	struct config *config;
	struct hold *holds;
	struct hash messages;	/* in core, by num */
	struct hash stubs;	/* forgotten messages, by num */
	struct hash dests;	/* threads, by channel, host and box */
	struct heap wake;	/* threads, by wake */
	struct heap expire;	/* messages in core, by due */
	struct heap later;	/* stubs that wait, by due */
	unsigned long evicted;	/* messages forgotten so far */
	unsigned long moves;	/* counts what may make a message wait */
	struct message *largest;	/* the one with the most recipients, of
					 * about a second ago; or NULL */
	struct thread *all;	/* all threads in use */
	struct thread *unused;	/* all others, least recently used first */
	int	unsaved;	/* USES and CHANGES */
	struct ring *rings;
	struct chan *chans;
	struct ta *agents;	/* ta.c keeps it */
	unsigned nthreads;
	unsigned nkept;		/* messages held by name */
	unsigned ndsn;		/* vertices that the agent dsn has, without
				 * dsn/delay */
	unsigned nagents;	/* not yet gone */
	struct slots slots;	/* all agents but that of the channel dsn */
	unsigned long events;	/* counts messages loaded and destinations that
				 * died: no clock tells their order */
	unsigned long msgs_out, rcpts_in, rcpts_out;
	struct totals total;
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned peak_messages, peak_rcpts;	/* the largest values so far */
	int	hold;		/* no agent is started: -S loads, or we end */
	int	scanned;	/* each directory was read, or cannot be */
	int	loaded;		/* "loaded" was logged: other mail is new */
	int	moved;		/* the scheduler has changed to another
				 * transport/ in this pass; agents are still in
				 * the old one */
};

extern struct queue q;

/* ---- transport agents (ta.c) ----------------------------------------- */

/*
 * ta: a running transport agent.  It is one child process and one socket
 * (or two pipes).
 *
 *	STARTING -#hungry-> BUSY <-> IDLE --> CLOSING -> gone
 *
 * Jobs are answered in the order in which they were fed: each #hungry ends
 * the oldest.  skip counts the #hungry that answer an #idle instead.  It may
 * die in any state; it is gone when its process is reaped and its output was
 * read to the end.
 *
 * A pass of the loop is O(agents), as select itself, its timer included; its
 * lists are O(1); the job of a report is found in O(its jobs).
 */
enum ta_state { TA_STARTING, TA_BUSY, TA_IDLE, TA_CLOSING };

struct ta {
	struct ta *next, *prev;		/* all agents */
	struct ta *rnext, *rprev;	/* idle: of the ring */
	struct ta *tnext, *tprev;	/* of the thread, busy or idle */
	struct ring *ring;
	struct thread *thread;	/* the one it serves, or served last */
	struct list jobs;	/* oldest first; STARTING: not yet sent */
	double	due;		/* mono; end of its timeout or idle time */
	int	pid;
	int	in, out;	/* from it, to it; the same or two; -1 closed */
	enum ta_state state;
	unsigned skip;
	unsigned stretch;	/* jobs fed since it came to its thread */
	unsigned long njobs;	/* jobs fed since it was started */
	unsigned noise;		/* lines outside the protocol, and reports that
				 * fit nothing */
	unsigned char working;	/* it counts in thread->nta */
	unsigned char reaped;	/* its last lines are read, then it is gone */
	unsigned char started;	/* it has sent #hungry; else it may count in
				 * thread->nstart */
	unsigned char idle_sent;	/* IDLE: #idle was sent to it */
	unsigned char ending;	/* it counts in nending */
	unsigned char kills;	/* signals sent: 0, TERM, KILL */
	unsigned char overlong;	/* the rest of this line is ignored */
	double	born;		/* mono; when it was started */
	double	heard;		/* mono; its last sign of life */
	double	fed;		/* mono; when a job was last sent to it, -1:
				 * never */
	char	*part;		/* a line not yet ended */
	size_t	npart;
	char	*outbuf;	/* nout bytes not written yet, or NULL */
	size_t	nout;
	char	words[200];	/* the first line outside the protocol since its
				 * last report or #hungry */
	char	step[100];	/* its last #step on its oldest job */
	unsigned steps;		/* #step and repeated reports since the last
				 * new report or #hungry */
	int	again;		/* its last report was a repeated one */
	char	relay[100];	/* the other host, from its reports on its
				 * oldest job; or "" */
};

/* ---- the command line (set by scheduler.c) ---------------------------- */

struct options {
	const char *postoffice, *mailbin, *mailshare, *logdir;
	const char *envfile;	/* -Z, handed to agents as ZCONFIG; or NULL */
	char	**vars;		/* NAME=value, NULL at the end: locations, the
				 * lines of envfile, PATH; the first counts */
	const char *logfile, *statlog;	/* statlog may be NULL */
	const char *rendezvous;
	int	levels;		/* of hash directories: 0, 1, 2 */
	int	freeze;		/* -F */
	int	quiet;		/* -Q */
	long	scanmax;	/* -E: new entries in one scan; 0: any */
	long	scansecs;	/* -E: seconds that one scan may take */
	long	agents;		/* as many as descriptors allow */
	long	agentfiles;	/* -N */
	long	forkrate;	/* -R: agents started in a second */
	char	*pick_channel, *pick_host;	/* -p, or NULL */
};

extern struct options opt;

#include "modules.h"

#endif
