/*
 * scheduler.h - the structs that modules of the daemon share.
 *
 * They are in the order in which a message meets them.  The functions of each
 * module are in modules.h.
 *
 * Times named mono are seconds of now.mono, in an int or a long where whole
 * seconds are enough.  They are negative for events before the start of the
 * daemon.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "lib/command.h"
#include "lib/ctlfile.h"
#include "lib/pattern.h"
#include "lib/util.h"

#define NEVER		1e30	/* mono; later than any time; -NEVER: earlier */
#define SPAN_MOST	315360000L	/* seconds in a span: ten years */

/* ---- the configuration (cf.c) ---------------------------------------- */

/*
 * feedback: the limits of a clause for one destination: agents at one time, and
 * the rate of deliveries.
 */
enum fb_form { FB_CONST, FB_WINDOW, FB_SQRT };

struct fb_rule {		/* step of success or failure by one report */
	enum fb_form form;	/* x, x / window, x / sqrt(window) */
	double	x;		/* from 0 to 1 */
};

struct fb_rate {
	long	n;		/* deliveries in a period; 0: any number */
	long	per;		/* seconds of the period */
};

struct feedback {
	long	limit;		/* agents at one time; maxthr=0 is stored as 1;
				 * 0 means any number, only conf.local has it */
	long	init;		/* agents of a new destination, up to limit */
	long	cohorts;	/* failed cohorts that a destination survives;
				 * 0: any number */
	struct fb_rule pos, neg;	/* rules of good and of bad reports */
	struct fb_rate rate;
};

/*
 * setting: the values of keywords.  The setting of a clause has the values that
 * the clause gives, the setting of a conf has a value for every keyword.
 */
#define NUMBERS_MOST	100	/* numbers in a list */
#define KEYWORDS_MAX	64

enum order { ORDER_RANDOM, ORDER_AGE, ORDER_PREEMPT };

struct setting {
	long	interval;	/* seconds, the unit of retries */
	long	idlemax;	/* seconds that an agent may be idle */
	long	expiry;		/* age in seconds at which tried mail fails; 0:
				 * mail never fails by age */
	long	expiry2;	/* seconds after expiry at which untried mail
				 * fails */
	long	timeout;	/* seconds that a working agent may be silent */
	long	maxta, maxchannel, maxring;	/* agents; 0: no limit */
	struct feedback fb;	/* limits of one destination */
	long	forget;		/* seconds that an unused thread is kept */
	long	overfeed;	/* jobs fed ahead of the job in work */
	long	backlog;	/* jobs of each busy agent of a host before the
				 * host gets another agent */
	long	maxrcpts;	/* recipients in a job, at most PORTION_MOST;
				 * 0: all of the message at the host */
	long	maxage, maxjobs;	/* seconds and jobs after which an
				 * agent ends; 0: never */
	long	order;		/* enum order */
	long	slotcost;	/* recipients fed that earn one delivery slot;
				 * 0, 1: no preemption */
	long	slotloan;	/* missing slots that a preemption tolerates */
	long	slotdiscount;	/* percent of the slots for a preemption that
				 * may be missing */
	long	minslots;	/* slots; a message that cannot earn so many is
				 * never preempted */
	long	skew;		/* number, from 1, of the first retry that is
				 * moved to a multiple of interval */
	long	nice;		/* relative priority of the agent */
	long	uid, gid;	/* user and group of the agent */
	struct numbers {
		long	n;
		int	at[NUMBERS_MOST];
	} retries,		/* factors of interval */
	  warn_ages;		/* ages in seconds at which warnings are sent,
				 * rising */
	long	delayreport;	/* 1: warnings need no NOTIFY=DELAY */
	const char *command;	/* NULL: no command */
	long	queueonly, wakeuprestartonly, feedbackdebug;	/* 0, 1 */
	const char *text[KEYWORDS_MAX];	/* the value as written, by row of the
				 * keyword table; NULL: not given */
};

struct clause {
	struct clause *next;	/* in the order of the file */
	char	**patterns;	/* alternatives, lower case, NULL at the end */
	const char *text;	/* the pattern as written */
	int	line;		/* line number in the file */
	unsigned char filled;	/* 1: the clause has keywords; an empty clause
				 * gets the values of the next filled one */
	struct setting v;	/* the values */
};

/*
 * conf: the values for an address, from all clauses that match the address up
 * to the first one with a command.  Each combination of clauses has one conf,
 * and another one for the channel dsn.  A config owns its confs.
 */
struct conf {
	struct conf *next;
	struct config *config;
	struct setting v;
	int	dsn;		/* 1: the channel is dsn; its only agent counts
				 * for neither maxta nor -R */
	struct feedback box, local;	/* limits for the host "-": box for one
					 * mailbox, local for messages to
					 * several mailboxes */
	enum cmd_bound bound;	/* how the command names the host */
	unsigned nfrom;		/* clauses in from */
	const struct clause *from[1];	/* in the order of the file */
};

/*
 * config: one reading of the file.  Freed when neither q nor a ring uses it.
 * cf.c, which makes configs, has more members.
 */
struct config {
	struct clause *clauses;
	char	*notifysock;	/* PARAMnotifysock */
	struct port {		/* PARAMmailqsock */
		long	number;		/* 0: not given; -1: no port */
		char	address[16];	/* IPv4; "": the loopback */
	} mailqsock;
	char	*routernotify;	/* PARAMrouternotify or NULL */
	char	*mailname;	/* PARAMmailname, or mailname of office.h */
	char	*destdb;	/* PARAMdestdb or NULL */
	/* values of the PARAMs with these names */
	long	msgconcurrency;	/* agents that one message may always have */
	long	msgscale;	/* agents that a message may have for each free
				 * agent */
	long	active;		/* messages in core, 0: any number */
	long	recipients;	/* recipients in core, 0: any number */
	long	evicted;	/* stubs of forgotten messages, 0: any number */
	long	reportevery;	/* seconds until the DSN on a message with
				 * recipients left; 0: it is sent at the end */
	long	reasons;	/* different texts of reasons in core */
	long	logaddresses;	/* 0, 1: the log has addresses */
	int	nodsn;		/* 1: the agent dsn cannot be run */
};

/* ---- in core (order.c to queue.c) ------------------------------------ */

/*
 * rcpt: one recipient line.  Each vertex has an array in the order of the file,
 * where an offset is found in O(log n).
 */
enum rcpt_state { RC_PENDING, RC_OK, RC_FAILED };

struct rcpt {
	unsigned off : 30;	/* offset of the line in the control file */
	unsigned state : 2;	/* enum rcpt_state */
	unsigned char deferred;	/* 1: a report of this job has deferred the
				 * recipient */
	const char *reason;	/* reason of the last deferral, or NULL */
};

#define REASON_MOST	255	/* bytes of the reason of a recipient */
#define REASONS_MOST	1000	/* bytes of several reasons in one line */

#define PORTION_MOST	100	/* recipients that a job line can name, and that
				 * an SMTP server has to take in a
				 * transaction */

/*
 * vertex: the recipients of one message with the same channel and host that
 * were pending when the message was loaded; the unit that an agent is fed.
 * With maxrcpts a vertex is split when it is fed to an agent whose job lines
 * may name recipients: the agent gets a portion, and the other recipients
 * become a vertex of their own, a portion, too.  The portions of a message
 * stand in the order of their offsets.  The sweep frees a vertex when it is
 * DONE.  A change of state is O(1), except for the heaps of its thread, claim
 * and message.
 *
 *	NEW -> WAIT | READY | PINNED
 *	WAIT -wake-> READY -fed-> FED -report-> WAIT | READY | PINNED | DONE
 *	WAIT | READY -held, or to be cancelled-> PINNED -> WAIT | READY | DONE
 *	WAIT | READY -expired, deleted or bounced; or its message is dropped or
 *		forgotten; or it is for an interim DSN, and the last DSN
 *		replaces that-> DONE
 *
 *	lists:	WAIT	wait of its thread
 *		READY	ready of its thread; or offered: offer of its claim
 *		FED	jobs of its agent, which may be starting
 *		PINNED	none, so that nothing wakes, feeds or forgets it: its
 *			message is held; or the vertex is to be deleted or
 *			bounced; or tags of its recipients are not written yet
 *
 * A hold on its address leaves a vertex in WAIT or READY.
 */
enum vertex_state { V_NEW, V_WAIT, V_READY, V_FED, V_DONE, V_PINNED };

/* why: what a vertex waits for, besides its turn. */
enum why { WHY_NONE, WHY_FED, WHY_HELD_MESSAGE, WHY_HELD, WHY_FROZEN,
	   WHY_NO_COMMAND, WHY_QUEUEONLY, WHY_HOST, WHY_RETRY, WHY_NO_AGENT };

/* 1 if an operator keeps the vertex back, so that it does not expire. */
#define WHY_KEPT(w)	((w) >= WHY_HELD_MESSAGE && (w) <= WHY_FROZEN)

/* What the reports on a job say of its host, as bits. */
#define HOST_GOOD	1	/* the host has answered */
#define HOST_BAD	2	/* no conversation was possible */
#define HOST_ALL	4	/* the host accepts no mail at all now */

struct vertex {
	struct message *msg;
	struct thread *thread;	/* NULL when DONE */
	struct vertex *next, *prev;	/* neighbours on the list of its state;
					 * DONE: next on the sweep's list */
	struct vertex *mnext, *mprev;	/* neighbours in the message */
	struct ta *ta;		/* FED: the agent */
	struct rcpt *r;		/* nr recipients; &one for none or one */
	struct rcpt one;
	unsigned nr : 28;
	unsigned warned : 4;	/* warnings sent so far, including warnings
				 * that the agent dsn has to send now */
	unsigned npending;	/* recipients not finished, RC_PENDING */
	unsigned counted;	/* READY: recipients of the vertex that its
				 * claim counts */
	unsigned box;		/* NEW: mailbox of the last recipient, or 0 */
	int	wakeup;		/* mono; the vertex is not tried earlier; FED:
				 * the latest retryat in the reports of this
				 * job; 0: no such time is known */
	int	tried;		/* mono; end of the last job, if tries > 0 */
	unsigned tries : 13;	/* jobs after which recipients were left, at
				 * most TRIES_MOST */
	unsigned retry_index : 7;	/* the next factor in the retry list */
	unsigned state : 3;	/* enum vertex_state */
	unsigned dated : 1;	/* WAIT: wakeup is a retryat */
	unsigned returned : 1;	/* 1: the vertex was the oldest job of an agent
				 * that ended, and nothing shows that the agent
				 * had begun the job */
	unsigned cancel : 2;	/* enum cancel: delete or bounce the vertex;
				 * FED: after the report; PINNED: in a later
				 * pass */
	unsigned host_bits : 3;	/* HOST_ bits of this job */
	unsigned offered : 1;	/* READY: 1: on the list of its claim */
	unsigned portion : 1;	/* 1: other vertices have or had recipients of
				 * the message at this host */
};

/* What becomes of the files of a message at its end.  From END_DROP on, no mail
 * is delivered and no DSN is sent. */
enum msg_end { END_REMOVE,
	       END_ASIDE,	/* set aside */
	       END_ASIDE_DOUBLE,	/* set aside as a double bounce */
	       END_DROP,	/* removed by a command */
	       END_GONE,	/* another program has removed the files */
	       END_FORGET };	/* the files stay, the message leaves core */

/*
 * message: one control file and its message file, in core.  Freed by the sweep.
 * Costs: O(1) to find a message by its number, O(log messages) for its timer.
 *
 * Core may have many messages: the order of members leaves no gaps, and the
 * memory ends with the name.  mono fits into an int for 68 years.
 */
struct message {
	struct hlink link;	/* by num, the leading digits of the name */
	struct claim *claims;	/* at most one for each ring in which the
				 * message has READY vertices; owned by
				 * order.c */
	struct chan *chan;	/* the channel that counts the message
				 * (th_update_channel), or NULL */
	struct vertex *vertices;	/* linked by mnext */
	struct vertex first;	/* memory of one vertex; free if first.msg is
				 * NULL */
	struct message *swept;	/* next on the sweep's list, itself at the end;
				 * NULL: not on the list */
	unsigned long load_event;	/* q.events at the loading */
	struct timer due;	/* the next expiry or warning */
	int	born;		/* mono; arrival by the message file's mtime */
	int	queued;		/* mono; when the control file was put into
				 * transport/ */
	struct spool_time time;	/* of the message file, for the spool id */
	int	loaded_at;		/* mono; when the message was loaded; or
					 * one hour before that, if the message
					 * had waited an hour for room */
	unsigned nfed;		/* vertices that agents have */
	unsigned nr;		/* recipients that were pending when loaded */
	unsigned nvertices;	/* vertices not DONE */
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned ndsn : 2;	/* vertices on the channel dsn, a part of
				 * nvertices */
	unsigned was_forgotten : 1;	/* 1: the message was in core before, or
					 * its file was skipped by a start */
	unsigned some_done : 1;	/* a recipient was delivered or deleted */
	unsigned notify : 5;	/* NOTIFY_ bits of all lists */
	/* for DSNs */
	unsigned failed : 1;	/* a recipient failed for good */
	unsigned dsn_due : 1;	/* the agent dsn gets the message at the end */
	unsigned dsn_stale : 1;	/* a finished recipient needs a DSN, and no job
				 * of dsn/failure or dsn/success that was fed so
				 * far covers that recipient */
	unsigned verbose : 1;	/* the control file has a v line */
	unsigned has_delays : 1;	/* when loaded, the file had the lines
					 * of a warning that was not sent */
	unsigned is_complete : 1;	/* 1: the end of the message was logged
				 * as "complete"; or is never logged, as no
				 * recipient was pending when loaded */
	unsigned end : 3;	/* enum msg_end */
	unsigned held : 1;	/* a hold names the message */
	unsigned has_twin : 1;	/* another message had the same number */
	unsigned untagged : 1;	/* some finished recipients may lack tags */
	char	name[1];	/* with hash directories: "X/Y/123-45" */
};

#define msg_age(m)	(NOW - (m)->born)	/* seconds */

/* skip: why the file of a stub was not loaded when it was due. */
struct skip {
	const char *why;	/* a constant text */
	int	pid;		/* process that has locked the file; 0: none */
	int	since;		/* mono; when the file was first skipped */
	int	at_start;	/* 1: it was skipped by a start */
};

/* list: vertices, linked by next and prev.  Each change is O(1). */
struct list {
	struct vertex *head;	/* the first; head->prev is the last vertex */
	unsigned n;
};

/*
 * thread: a destination, which is a channel and a host: its state by reports,
 * and its vertices.  With a host of "-" each mailbox is a destination: messages
 * with one recipient there have a thread for each box, messages with several
 * recipients share one thread.  Owned by thread.c.
 *
 *	unused: no ring --th_get--> in use: in a ring
 *			<--sweep--
 *	window > 0 <--fb_revive, fb_report_good-- DEAD: window == 0
 *	           --fb_report_bad, th_sleep, sleep_by_file-->
 *
 * A thread without vertices and agents becomes unused.  It keeps its state, and
 * is freed after a time without mail.  Costs: O(1) to find a thread and for
 * its lists, O(log threads) for its turn and its timer.
 */
#define UNUSED_MOST	1000	/* unused threads that are kept */

struct thread {
	struct hlink link;	/* by channel, host and box */
	struct thread *next, *prev;	/* of q.all, or of q.unused */
	struct chan *chan;
	struct ring *ring;	/* NULL: unused */
	const struct feedback *fb;	/* limits, part of ring->conf */
	/* the state by reports */
	long	window;		/* agents at one time; 0: dead */
	double	success;	/* 0 to 1; at 1 the window grows */
	double	failure;	/* 0 to 1; bad reports lower it; where it would
				 * fall below 0, 1 is added and the window
				 * shrinks */
	double	cohorts;	/* failed cohorts since the last good report */
	double	until;		/* mono; DEAD: end of the dead time; else 0 */
	double	slot;		/* mono; the slot of the last delivery */
	double	used;		/* mono; last report, delivery or mail */
	double	good, bad;	/* mono; last good, last bad report; -NEVER:
				 * none yet */
	unsigned long ngood, nbad;	/* numbers of reports */
	char	*reason;	/* of the last bad report or failed start, or
				 * the reason in another machine's file of
				 * destinations (destdb.c); or NULL */
	unsigned long death_event;	/* q.events at the last death */
	unsigned short retry_index;	/* the next factor, for dead times */
	unsigned short deaths;	/* deaths in a row */
	unsigned char by_other;	/* 1: dead only because another machine's
					 * file of destinations says so */
	/* vertices and agents */
	struct timer turn;	/* in ready of the ring */
	struct timer due;	/* end of the dead time, the first try of a
				 * vertex in WAIT, or the next slot of the rate;
				 * unused: when the thread is freed */
	struct list ready, wait;	/* ready: READY vertices that are not
					 * on offer; wait: vertices in WAIT */
	struct ta *idle;	/* idle agents of the thread, newest first */
	struct ta *busy;	/* working agents of the thread, newest first */
	unsigned nta;		/* working agents */
	unsigned nstart;	/* agents of nta before their first #hungry */
	unsigned nref;		/* agents whose thread this is: they serve it,
				 * or served it last */
	unsigned nidle;		/* agents of nref that are idle */
	unsigned noffer;	/* READY vertices on lists of their claims */
	const char *held;	/* the hold on the address, or NULL */
	unsigned fresh;		/* vertices appended to ready since that list
				 * was sorted; order=preempt: only vertices that
				 * belong elsewhere in the list */
	struct vertex *new_vertex;	/* vertex of the control file that is
					 * being read, or NULL */
	unsigned char can_take_agent;	/* order=preempt: 1: another agent may
					 * work for READY vertices here */
	unsigned char triggered;	/* queueonly: 1: vertices may go now */
	unsigned box;		/* hash of the mailbox's user; 0: none */
	char	*host;
};

/*
 * counts: the agents that a limit counts: maxring the agents of a ring,
 * maxchannel those of a channel, maxta all but the agent of the channel dsn.
 * An agent counts until it is gone (struct ta).
 */
enum limit { NO_LIMIT, MAXRING, MAXCHANNEL, MAXTA,	/* numbers of agents */
	     FORKRATE,		/* -R */
	     NO_START };	/* start_at of the ring is not reached */

struct counts {
	long	nta;		/* agents */
	long	nidle;		/* idle agents */
	long	nending;	/* agents that are ending */
};

/*
 * ring: the threads between which one agent can be switched, those of one conf
 * and channel.  If the conf is bound, agents stay on their thread, and maxring
 * counts the agents of each thread.  A ring has more members in struct ranking
 * of order.c, which makes rings, and in struct pool of ta.c.  Finding a ring is
 * O(rings), about the number of clauses.
 */
struct ring {
	struct ring *next;	/* of q.rings */
	struct conf *conf;
	struct chan *chan;
	struct heap ready;	/* threads with a turn, by turn */
	struct pool *pool;	/* owned by ta.c; NULL: not made yet */
	struct counts counts;
	unsigned nthreads;
	double	start_at;	/* mono; earliest time for a new agent */
	enum limit stopped_by;	/* the limit that stops the next agent */
	char	*trouble;	/* the failure that last made the ring wait
				 * until start_at, in words; or NULL */
};

/* chan: a channel.  Never freed.  Finding one is O(channels). */
struct chan {
	struct chan *next;
	struct counts counts;
	unsigned msgs;		/* messages in core that the channel counts */
	struct heap stubs;	/* stubs of messages that the channel counted
				 * when they left core, by due; owned by
				 * intake.c */
	char	name[1];
};

/* totals: counts since the start.  A message counts as accepted once, however
 * often it is forgotten and loaded again. */
struct totals {
	unsigned long accepted;		/* messages */
	unsigned long delivered, failed;	/* recipients */
	unsigned long deferred;		/* deferrals of recipients */
	unsigned long dsns;		/* DSNs sent */
	unsigned long aside;		/* messages set aside */
};

/* hold: a hold of an operator.  Owned by held.c. */
struct hold {
	struct hold *next;	/* in the order of the file */
	char	**patterns;	/* of addresses; NULL: the hold is on a
				 * message */
	char	text[1];	/* the pattern, or the name of the message */
};

/* Bits of unsaved: what the file of destinations lacks (destdb.c). */
#define USES	1		/* times of use, saved when the daemon ends */
#define CHANGES	2		/* other state, saved every few minutes too */

/* queue: all data on mail, destinations and agents. */
struct queue {
	struct config *config;
	struct hold *holds;
	struct hash messages;	/* in core, by num */
	struct hash dests;	/* threads, by channel, host and box */
	struct heap due_threads;	/* by due */
	struct heap due_messages;	/* in core, by due */
	unsigned long evicted;	/* messages forgotten so far */
	unsigned long nleavers;	/* counts calls of note_leaver */
#define LEAVERS	64
	unsigned long leavers[LEAVERS];	/* arguments of the latest calls */
	struct message *largest;	/* message with the most recipients
					 * about a second ago, or NULL */
	struct thread *all;	/* threads in use, the host "-" first */
	struct thread *unused;	/* other threads, the longest unused first */
	int	unsaved;	/* USES and CHANGES */
	struct ring *rings;
	struct chan *chans;
	struct ta *agents;	/* owned by ta.c */
	unsigned nthreads;	/* threads in use */
	unsigned nheld;		/* messages held by name */
	unsigned nfed_dsn;	/* vertices that the agent dsn has, but for
				 * dsn/delay */
	unsigned nagents;	/* agents not yet gone */
	struct counts counts;	/* all agents but that of the channel dsn */
	unsigned long events;	/* counts messages loaded, destinations that
				 * died and claims moved to the end of the line:
				 * the order in which these happened */
	/* for the dump and the log; without DSNs; rcpts_in does not count the
	 * recipients of forgotten messages */
	unsigned long msgs_out, rcpts_in, rcpts_out;
	struct totals total;
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned peak_messages, peak_rcpts;	/* the largest values so far */
	int	no_feeding;	/* 1: agents are neither started nor fed: the
				 * scheduler ends; or, with -S, the first scan
				 * has neither ended nor filled core */
	int	scanned;	/* 1: each directory was read or has failed */
	int	start_loaded;	/* 1: mail found by the first scan was loaded */
	int	new_transport;	/* 1: the scheduler has changed to another
				 * transport/ in this pass; agents are still in
				 * the old one */
};

extern struct queue q;

/* Notes the number of a message whose vertices perhaps all wait from now on; 0
 * stands for messages whose numbers are not known.  When core is full, intake.c
 * searches the noted messages for one that can be forgotten, and then, if a 0
 * was noted, all messages. */
#define note_leaver(num) (q.leavers[q.nleavers++ % LEAVERS] = (num))

/* ---- transport agents (ta.c) ----------------------------------------- */

/*
 * ta: a running transport agent.  It is one child process and one socket
 * (or two pipes).
 *
 *	STARTING -#hungry-> BUSY <-> IDLE --> CLOSING -> gone
 *
 * An agent answers jobs in the order in which they were fed: each #hungry ends
 * the oldest job.  An agent may die in any state; it is gone when its process
 * is reaped and the output that it left was read.
 *
 * Costs: O(agents) for a pass of the loop, timers included, as for select
 * itself; O(1) for lists; O(jobs of the agent) to find the job of a report.
 */
enum ta_state { TA_STARTING, TA_BUSY, TA_IDLE, TA_CLOSING };

struct ta {
	struct ta *next, *prev;		/* of all agents */
	struct ta *tnext, *tprev;	/* of the thread, busy or idle */
	struct ring *ring;
	struct thread *thread;	/* the thread served now, or served last */
	struct list jobs;	/* oldest first; STARTING: not yet sent */
	int	pid;
	enum ta_state state;
	unsigned stretch;	/* jobs of this thread, fed in a row */
	unsigned long njobs;	/* jobs fed since the start */
	unsigned char working;	/* 1: counted by thread->nta */
	unsigned char started;	/* 1: #hungry has come; 0: thread->nstart
				 * may count the agent */
	unsigned char portions;	/* 1: job lines may name recipients; before the
				 * first #hungry this is a guess */
	unsigned char repeated;	/* 1: the last report was a repeated deferral */
	double	heard;		/* mono; the last sign of life */
	double	fed_at;		/* mono; when a job was last sent; -1: never */
	char	step[100];	/* the last #step on the oldest job */
	char	relay[100];	/* the host that the agent has talked to, by the
				 * reports on the oldest job; or "" */
};

/* ---- the command line (set by scheduler.c) ---------------------------- */

struct options {
	const char *postoffice, *mailbin, *mailshare;
	const char *envfile;	/* -Z, which agents get as ZCONFIG; or NULL */
	char	**vars;		/* NAME=value, NULL at the end: locations, the
				 * lines of envfile, PATH; of equal names the
				 * first counts */
	const char *statlog;	/* -l, or NULL */
	const char *rendezvous;
	int	levels;		/* of hash directories: 0, 1, 2 */
	int	freeze;		/* -F */
	int	quiet;		/* -Q */
	long	scanmax;	/* -E: new entries in one scan; 0: any number */
	long	scansecs;	/* -E: seconds that one scan may take */
	long	agents;		/* agents that the descriptors are enough for */
	long	agentfiles;	/* -N: descriptors of an agent */
	long	forkrate;	/* -R: agents started in a second */
	char	*pick_channel, *pick_host;	/* -p, or NULL */
};

extern struct options opt;

#include "modules.h"

#endif
