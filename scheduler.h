/*
 * scheduler.h - the page of data.
 *
 * Every struct that two modules of the daemon share, in the order in which a
 * message meets them.  What each module offers is in modules.h.
 *
 * Times named mono are seconds of now.mono, kept as long where a second is
 * fine enough: such a value may be negative, for things that began before
 * the daemon did.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "lib/command.h"
#include "lib/ctlfile.h"
#include "lib/pattern.h"
#include "lib/util.h"

#define FAR_OFF		1e30	/* mono: never */
#define DISK_AGAIN	60	/* seconds until a failed disk is tried again */

/*
 * A list through two members of its objects, whose first has the last as its
 * prv: o comes in as the first, or as the last, or goes.
 */
#define PREPEND(first, o, nxt, prv) \
	do { \
		(o)->nxt = (first); \
		(o)->prv = (first) == NULL ? (o) : (first)->prv; \
		if ((first) != NULL) \
			(first)->prv = (o); \
		(first) = (o); \
	} while (0)
#define APPEND(first, o, nxt, prv) \
	do { \
		(o)->nxt = NULL; \
		(o)->prv = (first) == NULL ? (o) : (first)->prv; \
		if ((first) == NULL) \
			(first) = (o); \
		else \
			(o)->prv->nxt = (o); \
		(first)->prv = (o); \
	} while (0)
#define REMOVE(first, o, nxt, prv) \
	do { \
		if ((o)->nxt != NULL) \
			(o)->nxt->prv = (o)->prv; \
		else \
			(first)->prv = (o)->prv; \
		if ((first) == (o)) \
			(first) = (o)->nxt; \
		else \
			(o)->prv->nxt = (o)->nxt; \
	} while (0)

/* ---- the configuration (cf.c) ---------------------------------------- */

/*
 * feedback: what a clause says of how many agents a destination may have at
 * once and how often one may start.  Kept by value; whoever has it passes it
 * along with each report.
 */
enum fb_form { FB_CONST, FB_WINDOW, FB_SQRT };

struct fb_rule {		/* one report's share of a step of 1 */
	enum fb_form form;	/* x, x / window, x / sqrt(window) */
	double	x;		/* 0 to 1 */
};

struct fb_rate {
	long	n;		/* deliveries, 0: as many as you like ... */
	long	per;		/* in so many seconds */
};

struct feedback {
	long	limit;		/* agents, maxthr; 0: any number */
	long	init;		/* agents at first, if limit allows it */
	long	cohorts;	/* more failed ones make it dead; 0: none do */
	struct fb_rule pos, neg;
	struct fb_rate rate;
};

/*
 * setting: the values that clauses give.  One is kept for each clause of the
 * file, and one for each conf with all of them filled in.
 */
#define NUMBERS_MOST	100	/* in a list */
#define KEYWORDS_MAX	64

enum bounce_to { BOUNCE_SENDER, BOUNCE_NONE };

enum order { ORDER_RANDOM, ORDER_AGE, ORDER_PREEMPT };

struct setting {
	long	interval;	/* seconds */
	long	idlemax;	/* seconds; default 3 * interval */
	long	expiry;		/* seconds of age; 0: never */
	long	expiry2;	/* seconds after expiry */
	long	timeout;	/* seconds an agent may be silent with work */
	long	maxta, maxchannel, maxring;	/* agents; 0: what there is */
	struct feedback fb;	/* agents on one thread, and their rate */
	long	forget;		/* seconds of silence that end what is known of
				 * a destination */
	long	overfeed;	/* jobs fed ahead of the one in work */
	long	backlog;	/* jobs an agent has before its host gets
				 * another; 0: none */
	long	maxage, maxjobs;	/* seconds, jobs that an agent lives; 0:
				 * as long as it likes */
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
	  reports;		/* when senders are told of a delay: seconds of
				 * age, rising */
	long	bounce;		/* enum bounce_to: who hears of failures */
	long	delayreport;	/* 0, 1: also who did not ask hears of delays */
	const char *command;	/* NULL: none */
	long	queueonly, wakeuprestartonly, feedbackdebug;	/* 0, 1 */
	long	bychannel;	/* 0, 1; so are all agents, as rings are */
	const char *text[KEYWORDS_MAX];	/* by row of the keyword table: what
				 * was written; NULL: not given */
};

struct clause {
	struct clause *next;	/* as in the file */
	char	**patterns;	/* alternatives, lower case, NULL at the end */
	const char *text;	/* the pattern as written */
	int	line;
	unsigned char filled;	/* it has keywords; an empty one takes those
				 * of the next */
	struct setting v;	/* own values; shared by empty clauses before */
};

/*
 * conf: what holds for an address, the values of all clauses that matched up
 * to the first with a command.  There is one for each combination of clauses
 * that some address has met.  Owned by its config.
 */
struct conf {
	struct conf *next;
	struct config *config;
	struct setting v;
	int	dsn;		/* of the channel dsn: no limit counts its
				 * agent */
	int	split;		/* no clause sets maxthr or a rate: a host of
				 * "-" is no destination, its mailboxes are */
	struct feedback box, local;	/* ... for one mailbox; for messages to
				 * several */
	enum cmd_bound bound;	/* how its command names the host */
	unsigned nfrom;
	const struct clause *from[1];	/* the clauses, in order */
};

/* config: one reading of the file.  Goes when no ring refers to it. */
struct config {
	char	*text;		/* the file, into words; settings point to it */
	struct clause *clauses;
	const struct clause **matched;	/* cf_match's: room for all of them */
	struct conf *confs;
	char	*notifysock;	/* PARAMnotifysock or NULL */
	struct port {		/* PARAMmailqsock */
		long	number;		/* 0: it is not given; -1: none */
		char	address[16];	/* IPv4; "": the loopback */
	} mailqsock;
	char	*routernotify;	/* PARAMrouternotify or NULL */
	char	*mailname;	/* PARAMmailname or NULL */
	char	*destdb;	/* PARAMdestdb or NULL */
	/* the numbers among the PARAMs, by their names */
	long	msgconcurrency;	/* agents that one message may always have */
	long	msgscale;	/* ... and for each one that is free */
	long	active;		/* messages in core, 0: all there are */
	long	recipients;	/* recipients in core, 0: all; ... */
	long	rcptminimum;	/* ... but so many of each message ... */
	long	rcptextra;	/* ... and so many for those that preempt */
	long	refill;		/* recipients that are worth reading ... */
	long	refilldelay;	/* ... until so many seconds have passed */
	long	evicted;	/* messages and vertices not in core of which
				 * more than the files is known; 0: all */
	long	reportevery;	/* seconds between reports of a message that is
				 * not done; 0: it is waited for */
	long	bouncelimit;	/* seconds between DSNs of failures to one
				 * sender; 0: as many as there are */
	long	bouncesize;	/* bytes of a message that are returned */
	char	*dsn;		/* command of the channel dsn, NULL: not made */
	long	postmanage;	/* seconds for which double bounces are kept;
				 * 0: for ever */
	long	reasons;	/* texts that recipients' reasons may have */
	long	logaddresses;	/* 0, 1: the log has addresses */
	unsigned refs;
};

/* ---- in core (order.c to queue.c) ------------------------------------ */

/*
 * rcpt: one recipient line.  An array for each vertex, in file order, so an
 * offset is found in O(log n).
 */
enum rcpt_state { RC_PENDING, RC_OK, RC_FAILED,
		  RC_OUT };	/* not in core: it keeps the reason of all
				 * behind the one before it, or with heard of
				 * itself alone */

struct rcpt {
	unsigned off : 30;	/* bytes from the start of the control file */
	unsigned state : 2;	/* enum rcpt_state */
	unsigned char heard;	/* FED: do not count its deferral again (it was
				 * reported, or came into core while the job
				 * ran) */
	struct reason *why;	/* of its last deferral, or NULL */
};

#define ADDRESS_MOST	320	/* bytes of an address, where they are shown */
#define REASON_MOST	255	/* bytes of the reason of a recipient */
#define REASONS_MOST	1000	/* ... of several, where they are shown */

/*
 * vertex: all recipients of one message with the same channel and host, as far
 * as they are in core; the unit that an agent is fed.  A message has one at
 * most for a thread, and what is read of it later joins that.  Freed by the
 * sweep when it is DONE.  Going from one state to another is O(1), but for the
 * heaps that its thread, job and message stand in.
 *
 *	NEW -> WAIT -wake-> READY -fed-> FED -report-> WAIT | READY | DONE
 *	WAIT | READY -evicted-> OUT -read again-> BACK -> WAIT | READY
 *
 * In WAIT and READY it is on a list of its thread, in FED on its agent's, which
 * may yet be starting.  In READY it may also be on its job's list (offered).
 * An operator can take it from WAIT, READY or a report to HELD, and back to
 * READY; there it is on no list.  What is OUT is not in core: it has its times,
 * its tries and its reasons, but no recipients, and is on lists of its own of
 * message and thread.
 */
enum vertex_state { V_NEW, V_WAIT, V_READY, V_FED, V_DONE, V_HELD, V_OUT,
		    V_BACK };

/* why: what a vertex waits for, as far as that is no matter of turns. */
enum why { WHY_NOT, WHY_FED, WHY_HELD_MESSAGE, WHY_HELD, WHY_FROZEN,
	   WHY_NO_COMMAND, WHY_QUEUEONLY, WHY_HOST, WHY_RETRY, WHY_NO_AGENT };

/* ... blocked: something has to happen that has no time. */
#define WHY_BLOCKED(w)	((w) >= WHY_HELD && (w) <= WHY_QUEUEONLY)

/* What an operator wants of it, once no agent has it. */
enum cancel { CANCEL_NONE, CANCEL_DELETE, CANCEL_BOUNCE };

/* What reports of a job say of its host: it was there, there was no talking to
 * it, it wants no mail at all for now. */
#define HOST_GOOD	1
#define HOST_BAD	2
#define HOST_ALL	4

struct vertex {
	struct message *msg;
	struct thread *thread;	/* NULL when DONE */
	struct vertex *next, *prev;	/* DONE: on the sweep's lists, of
				 * vertices and of messages, by their first */
	struct vertex *other, *before;	/* of the message */
	struct ta *ta;		/* FED: who has it */
	struct rcpt *r;		/* nr of them; &one when that is enough */
	struct rcpt one;
	unsigned nr;
	unsigned left;		/* ... not finished */
	unsigned count;		/* READY: recipients that its job counts on;
				 * FED: deferrals reported in this run; NEW,
				 * BACK: mailbox of the last, or 0; OUT: mono;
				 * it is not wanted in core before */
	int	wakeup;		/* mono; WAIT: when; FED: the latest retryat of
				 * this run, 0: none; OUT: its own time, 0: it
				 * was READY */
	int	tried;		/* mono; tries > 0: the end of its last run */
	unsigned tries : 14;	/* runs that ended with some left, at most
				 * TRIES_MOST */
	unsigned step : 7;	/* place in the retry list, < NUMBERS_MOST */
	unsigned state : 3;	/* enum vertex_state */
	unsigned dated : 1;	/* WAIT: until a retryat */
	unsigned returned : 1;	/* its agent ended, perhaps before it began */
	unsigned cancel : 2;	/* enum cancel; FED: when it is reported */
	unsigned host : 3;	/* HOST_ bits: what this run says of its host */
	unsigned offered : 1;	/* READY: it is on its job's list; OUT: started
				 * by a T line or an operator, queueonly does
				 * not hold it up */
};

#define TRIES_MOST	16383U

/*
 * part: the recipients of a message for one channel, when not all of them
 * are in core.  Owned by its message.
 *
 * A large file is read in parts, for each channel from a place of its own.
 * What the channel has from next on is not in core yet; it was looked at once,
 * and its tags are on disk.  Evicted recipients wait for the next reading from
 * the start of the file, a lap.  The next part to be read is
 * found in O(log parts), and O(channels) for each channel.
 */
struct part {
	struct message *msg;
	struct chan *chan;
	struct part *other;	/* the message's for another channel */
	unsigned unread;	/* pending recipients from next on, or a few
				 * more than that; 0: there is none */
	unsigned evicted;	/* recipients that are left to the next lap */
	struct timer look;	/* its turn to be read on, or when that is */
	unsigned long next;	/* offset where reading goes on, bytes */
	long	again;		/* mono; evicted > 0: no lap before that */
	long	later;		/* mono; nothing is read before that */
	long	walked;		/* mono; last look for what can be evicted */
	long	read;		/* mono; when some of it was last read */
	unsigned char format;	/* of the control file, as in struct ctl */
	unsigned char readable;	/* look is in chan->parts, else in q.look */
};

/*
 * more: the rarely needed part of a message.  Owned by its message.  Found
 * O(1), and when it is due O(log messages).
 * Without memory for it mail is delivered all the same: its sender hears of
 * nothing before the end.
 */
struct more {
	struct message *msg;
	struct job *jobs;	/* order.c's */
	struct part *parts;	/* by channel; NULL: all of it is in core */
	int	warned;		/* age at which delays were last looked at */
	unsigned long warn;	/* where that look goes on, bytes; 0: none is
				 * at work */
	int	late;		/* it has found some who wait too long */
	int	since;		/* mono; when it came in; skipped: when pid
				 * was first seen */
	unsigned extra;		/* recipients in core beyond the minimum */
	const char *why;	/* skipped: a constant text */
	int	pid;		/* ... whose lock is in the way, 0: nobody's */
};

/* What becomes of a message's files when all of it is over; from END_DROP on
 * nothing more is delivered, nor told. */
enum msg_end { END_REMOVE, END_PARK, END_PARK_DOUBLE,	/* a double bounce */
	       END_DROP,	/* removed */
	       END_GONE,	/* somebody has taken them away */
	       END_LOST };	/* they stay: it was evicted and forgotten */

/*
 * message: one control file and its message file.  Freed by the sweep.  Found
 * by its number in O(1), and when it is due in O(log messages).  One that is
 * away is not in core, though its file was looked at: evicted, or skipped as it
 * could not be used.
 *
 * There may be many: members are in an order that leaves no gaps, and the
 * memory ends with the name.  mono fits an int for 68 years.
 */
struct message {
	struct hlink link;	/* by num, the leading digits of the name */
	struct more *more;	/* or NULL */
	struct vertex *vertices;	/* linked by other */
	struct vertex *out;	/* ... those that are OUT */
	struct vertex first;	/* one of them, while it has a msg */
	unsigned long loaded;	/* value of q.events when it first was, 0: it
				 * never was */
	struct timer due;	/* next moment at which a vertex may expire, or
				 * a delay is to be told of; away: when the file
				 * is to be looked at */
	int	born;		/* mono: arrival by the message file's mtime */
	int	queued;		/* mono: control file put into transport/ */
	struct spool_time time;	/* of the message file, for its id */
	unsigned nfed;		/* vertices with agents */
	unsigned nr;		/* recipients that were pending when loaded */
	unsigned left;		/* vertices not DONE */
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned telling : 2;	/* of left, those on the channel dsn */
	unsigned preempts : 1;	/* it has preempted others */
	unsigned aged : 1;	/* it begins its retry lists at the place of its
				 * age, not at their beginning */
	unsigned away : 1;	/* it is not in core */
	unsigned done : 1;	/* some recipient was delivered, or deleted */
	/* what its sender is to be told */
	unsigned diags : 1;	/* it came with diagnostic lines, not told */
	unsigned failed : 1;	/* some recipient failed for good */
	unsigned tell : 1;	/* the end is to be told, if anybody asked */
	unsigned news : 1;	/* ... some of it ended since the agent dsn was
				 * last given the message */
	unsigned verbose : 1;	/* has a v line */
	unsigned swept : 1;	/* is on the sweep's list */
	unsigned over : 1;	/* all its recipients are; that is logged */
	unsigned end : 3;	/* enum msg_end */
	unsigned held : 1;	/* an operator wants it kept */
	unsigned twin : 1;	/* another has, or had, the same number */
	unsigned cancel : 2;	/* enum cancel; of what is not read yet */
	char	name[1];	/* with hash directories: "X/Y/123-45" */
};

/* list: vertices, linked by next and prev.  All O(1). */
struct list {
	struct vertex *head;	/* its prev is the last */
	unsigned n;
};

/*
 * thread: a destination, which is a channel and a host: what is known of it,
 * and the vertices for it.  With a host of "-" each mailbox is a destination:
 * messages with one recipient there have a thread for each box, others share
 * one.  Owned by feedback.c.  Found by its name, and its lists: O(1); turns and
 * wakes: O(log threads).
 *
 *	UNUSED: no ring <--th_get, sweep--> in use, in a ring:
 *	EMPTY | ASLEEP: dead | READY: in ring->ready | RUNNING: nta > 0
 *
 * Without a vertex and an agent it becomes unused, so that what was learned is
 * not lost when the queue is empty, and is forgotten after a while of silence.
 *
 *	window > 0 <--fb_lift, fb_wake, fb_good-- DEAD: window == 0
 *	           -----fb_bad, dest_sleep------->
 */
#define NEVER	(-1e30)		/* mono */

struct thread {
	struct hlink link;	/* by channel, host and box */
	struct thread *next, *prev;	/* in use; or unused, oldest first */
	struct chan *chan;
	struct ring *ring;	/* NULL: it is unused */
	const struct feedback *fb;	/* what holds for it, of ring->conf */
	/* what is known */
	long	window;		/* agents it may have; 0: it is dead */
	double	success;	/* 0 to 1; at 1 the window grows */
	double	failure;	/* 0 to 1; below 0 the window shrinks */
	double	cohorts;	/* failed since the last good report */
	double	until;		/* mono; DEAD: when it is tried again; else 0 */
	double	slot;		/* mono; with a rate, the last one taken */
	double	used;		/* mono; last report or start */
	double	good, bad;	/* mono; last report of the kind, or NEVER */
	unsigned long ngood, nbad;	/* reports */
	char	*reason;	/* the host's last words, NULL: none are bad */
	unsigned long asked;	/* value of q.events when it last died */
	unsigned short step;	/* place in the retry list, for its sleep */
	unsigned short tries;	/* times it was put to sleep in a row */
	unsigned char hearsay;	/* DEAD by another host's word */
	unsigned char local;	/* a mailbox, or all of a host "-": nothing is
				 * known of it when it is unused */
	double	keep;		/* seconds; forgotten when unused so long */
	/* its vertices and agents */
	struct timer turn;	/* place among the ring's ready threads */
	struct timer wake;	/* when its host or the first in WAIT is due */
	struct thread *swept;	/* next on the sweep's list */
	struct list ready, wait;
	struct vertex *out;	/* what is not in core, linked by next */
	struct ta *idle;	/* idle agents that served it, newest first */
	struct ta *busy;	/* agents working on it, newest first */
	int	run;		/* mono; its last run began */
	unsigned nta;		/* agents working on it */
	unsigned nstart;	/* ... of them that have not spoken yet */
	unsigned nref;		/* agents that point to it */
	unsigned nidle;		/* ... and are idle */
	unsigned nfed;		/* vertices with agents */
	unsigned nheld;		/* ... HELD */
	unsigned noffer;	/* ... READY, on their jobs' lists */
	const char *held;	/* the hold on its address, or NULL */
	unsigned fresh;		/* READY since the order was last made */
	unsigned mark;		/* intake.c's: the reading that met it ... */
	struct vertex *vertex;	/* ... and its vertex of the message at hand */
	double	soonest;	/* mono; no WAIT vertex is due before */
	double	woken;		/* mono; its host answered, and so what had
				 * waited for that was tried once more */
	unsigned char open;	/* it may take an agent, if it has vertices */
	unsigned char triggered;	/* queueonly: started by a T line */
	unsigned char listed;	/* is on the sweep's list */
	unsigned box;		/* hash of the mailbox's user, 0: none */
	char	host[1];
};

/*
 * slots: the agents that a limit counts, those that are ending too: maxring
 * counts those of a ring, maxchannel those of a channel, and maxta all but that
 * of the channel dsn.
 */
enum { MAXRING, MAXCHANNEL, MAXTA, LIMITS };

struct slots {
	long	nta;		/* agents */
	long	nidle;		/* ... that are idle */
	long	nending;	/* ... that end and will be gone soon */
	long	nwait;		/* rings that wait for one of them to go */
};

/*
 * ring: the threads that one agent can be switched between: same conf, same
 * channel.  When the conf is bound each of its threads stands alone: agents
 * stay on their thread and maxring counts for the thread.  Found in O(rings),
 * which are about as many as clauses.
 */
struct ring {
	struct ring *next;	/* all rings */
	struct conf *conf;
	struct chan *chan;
	struct heap ready;	/* threads that may take an agent, by turn */
	double	turn;		/* last turn given out */
	struct heap jobs;	/* jobs with something to give, by key */
	struct heap shares;	/* ... whose message has its share, by nfed */
	unsigned njobs;		/* jobs in all */
	unsigned nopen;		/* open threads with vertices on offer */
	struct job *judged;	/* order.c: the job for which rival was found */
	struct job *rival;	/* ... or NULL */
	long	judged_at;	/* ... in this second, mono */
	struct ta *idle;	/* idle agents, newest first */
	struct slots slots;
	unsigned nthreads;
	double	dead;		/* mono; no agent is started until then */
	unsigned long started;	/* when it last got a new agent, as a count */
	const char *pending;	/* what it waits for, or NULL */
	char	*trouble;	/* dead: why no agent could be started */
	int	waits;		/* at which limit one agent less would do;
				 * MAXRING: at none */
	unsigned char done;	/* nothing more of it goes in this pass */
	unsigned char failures;	/* agents in a row that began no job */
};

/* chan: one for each channel name ever met.  Found in O(channels). */
struct chan {
	struct chan *next;
	struct slots slots;
	unsigned rcpts;		/* recipients in core, not finished */
	struct heap parts;	/* that may be read on, the next one first */
	unsigned nparts;	/* in all */
	char	name[1];
};

/* Does arg mean this address? */
typedef int chan_meant(const void *arg, const struct chan *, const char *host);

/* totals: what happened since the start.  What was evicted and comes back is
 * not accepted once more. */
struct totals {
	unsigned long accepted;		/* messages */
	unsigned long delivered, failed;	/* recipients */
	unsigned long deferred;		/* ... each time */
	unsigned long dsns;		/* sent */
	unsigned long aside;		/* messages set aside */
};

/* hold: what an operator holds.  Owned by held.c. */
struct hold {
	struct hold *next;	/* all of them, as in their file */
	char	**patterns;	/* of addresses; NULL: a message's name */
	int	seen;		/* the message was there */
	char	text[1];	/* the pattern or name as given */
};

/* queue: all of it. */
struct queue {
	struct config *config;
	struct hold *holds;
	struct hash messages;	/* in core, by num */
	struct hash away;	/* the others that are known */
	struct hash dests;	/* threads, by channel, host and box */
	struct heap wake;	/* threads, by wake */
	struct heap expire;	/* messages in core, by due */
	struct heap later;	/* the others that are known */
	struct heap look;	/* parts that are not to be read before */
	unsigned nparts;	/* in all */
	int	readable;	/* some may have become so in this pass */
	unsigned extra;		/* sum of all extra */
	unsigned long evicted;	/* messages evicted so far */
	struct thread *all;	/* all threads in use */
	struct ring *rings;
	struct chan *chans;
	struct ta *agents;	/* ta.c keeps it */
	unsigned nthreads, nmessages;
	unsigned nkept;		/* messages held by name */
	unsigned ntold;		/* FED for the channel dsn, but dsn/delay */
	unsigned nlater;	/* what is known beyond core: messages away,
				 * and recipients OUT */
	unsigned nagents;	/* not yet gone */
	struct slots slots;	/* ... without that of the channel dsn */
	unsigned long events;	/* counts what must be told before from after,
				 * as no clock is fine enough for that */
	unsigned long msgs_in, msgs_out, rcpts_in, rcpts_out;
	struct totals total;
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned peak_messages, peak_rcpts;	/* most there ever were */
	int	hold;		/* start nothing: -S is loading, or ending */
	int	moved;		/* we have gone to another transport/ in this
				 * pass; agents are still in the old one */
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
 * the oldest.  skip counts the #hungry that answer an #idle instead.  From
 * any state it may die; it is gone when its process is reaped and what it
 * said was read to the end.
 *
 * A pass of the loop is O(agents), as select itself; its lists are O(1), its
 * timer O(log agents); the job of a report is found in O(its jobs).
 */
enum ta_state { TA_STARTING, TA_BUSY, TA_IDLE, TA_CLOSING };

#define OUTBUF		4096	/* bytes that wait to be written to an agent */
#define NOISE_MOST	100	/* lines of noise of an agent in the log */

struct ta {
	struct ta *next, *prev;		/* all agents */
	struct ta *rnext, *rprev;	/* idle: of the ring */
	struct ta *tnext, *tprev;	/* of the thread, busy or idle */
	struct ring *ring;
	struct thread *thread;	/* the one it serves, or served last */
	struct list jobs;	/* oldest first; STARTING: what it is to get */
	struct timer timer;	/* mono; its silence or idleness is over */
	int	pid;
	int	in, out;	/* from it, to it; the same or two; -1 closed */
	enum ta_state state;
	int	status;		/* of waitpid, when reaped */
	unsigned skip;
	unsigned stretch;	/* jobs fed since it came to its thread */
	unsigned long njobs;	/* jobs fed since it came to be */
	unsigned noise;		/* lines outside the protocol, and reports that
				 * fit nothing */
	unsigned char working;	/* it counts in thread->nta */
	unsigned char reaped;
	unsigned char spoke;	/* it has said #hungry; else it may count in
				 * thread->nstart */
	unsigned char said_idle;	/* IDLE: it has heard #idle */
	unsigned char ending;	/* it counts as that */
	unsigned char kills;	/* signals sent: 0, TERM, KILL */
	unsigned char overlong;	/* the line at hand is thrown away */
	double	born;		/* mono; when it was started */
	double	heard;		/* mono; when it last said something */
	double	fed;		/* mono; when it was last told of a job, -1:
				 * never */
	char	*part;		/* a line not yet ended */
	size_t	npart;
	char	outbuf[OUTBUF];	/* not yet written */
	size_t	nout;
	char	words[200];	/* the first line outside the protocol since its
				 * last report or #hungry */
	char	step[100];	/* what it says it is at with its oldest job */
	unsigned steps;		/* ... so often since then, and reports that it
				 * has made before */
	unsigned long beside;	/* the furthest recipient not in core that was
				 * reported of its oldest job, or 0 */
	int	again;		/* its last report was made before */
	char	relay[100];	/* whom it has named as the other host, in the
				 * reports of its oldest job; or "" */
};

/* ---- what was asked for on the command line (scheduler.c fills it in) --- */

struct options {
	const char *cwd;	/* where we were started */
	const char *postoffice, *mailbin, *mailshare, *logdir, *path;
	const char *envfile;	/* -Z, handed to agents as ZCONFIG; or NULL */
	char	**vars;		/* its lines NAME=value, NULL at the end */
	const char *config, *logfile, *statlog;	/* statlog may be NULL */
	const char *rendezvous;
	int	levels;		/* of hash directories: 0, 1, 2 */
	int	freeze;		/* -F */
	int	sync;		/* -S */
	int	quiet;		/* -Q */
	long	scanmax;	/* -E: new entries in one scan; 0: any */
	long	scansecs;	/* -E: seconds that one scan may take */
	long	agentfiles;	/* -N */
	long	forkrate;	/* -R: agents started in a second */
	char	*pick_channel, *pick_host;	/* -p, or NULL */
};

extern struct options opt;

#include "modules.h"

#endif
