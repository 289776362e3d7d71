/*
 * scheduler.h - the page of data.
 *
 * Every struct that two modules of the daemon share, in the order in which a
 * message meets them; then what each module offers, module by module, lowest
 * first.  A module calls only those above it on this page (t/layers.t).
 *
 * Times named mono are seconds of now.mono, kept as long where a second is
 * fine enough: such a value may be negative, for things that began before
 * the daemon did.
 */
#ifndef SCHEDULER_H
#define SCHEDULER_H

#include "line.h"
#include "util.h"

#define VERSION		"0.1"

#define PATH_MAX_	1024	/* bytes in a path that we build */
#define NAME_MAX_	64	/* bytes in "X/Y/NAME", the NUL included */
#define WORD_MAX_	1000	/* bytes in a channel's or host's name */
#define CONTROL_MAX	(64L * 1024 * 1024)	/* bytes in a control file */
#define SANE_WALL	1767225600L	/* 2026-01-01: earlier is no clock */

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
 * file with a bit for each value it sets, and one for each conf with all of
 * them filled in.
 */
#define RETRIES_MAX	100
#define KEYWORDS_MAX	64
#define TIMES_MAX	8

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
	long	slotdiscount;	/* percent of the slots that need not be there */
	long	minslots;	/* slots that a message must be able to earn */
	long	skew;		/* retries until they fall on a boundary */
	long	nice;		/* relative priority of the agent */
	long	uid, gid;	/* of the agent */
	long	nretries;
	unsigned short *retries;	/* in intervals; nretries of them */
	struct times {
		long	n;
		long	at[TIMES_MAX];	/* seconds of age, rising */
	} reports;		/* when senders are told of a delay */
	long	bounce;		/* enum bounce_to: who hears of failures */
	long	delayreport;	/* 0, 1: also who did not ask hears of delays */
	char	*command;	/* NULL: none */
	long	bychannel, queueonly, wakeuprestartonly, feedbackdebug;
				/* 0, 1 */
};

struct clause {
	struct clause *next;	/* as in the file */
	char	**patterns;	/* alternatives, lower case, NULL at the end */
	char	*text;		/* the pattern as written */
	int	line;
	unsigned char filled;	/* it has keywords; an empty one takes those
				 * of the next */
	unsigned char given[KEYWORDS_MAX];	/* by row of the keyword table */
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
	int	bound;		/* command names the host, agents cannot switch:
				 * 1 inside a word, 2 as the word $host */
	unsigned nfrom;
	const struct clause *from[1];	/* the clauses, in order */
};

/* config: one reading of the file.  Goes when no ring refers to it. */
struct config {
	struct clause *clauses;
	struct conf *confs;
	char	*notifysock;	/* PARAMnotifysock or NULL */
	char	*mailqsock;	/* PARAMmailqsock or NULL */
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
	long	longest;	/* seconds that mail may be put off for */
	long	reportevery;	/* seconds between reports of a message that is
				 * not done; 0: it is waited for */
	long	bouncelimit;	/* seconds between reports of failures to one
				 * sender; 0: as many as there are */
	long	bouncesize;	/* bytes of a message that are returned */
	unsigned refs;
};

/* ---- from the spool (ctl.c, spool.c) --------------------------------- */

/*
 * ctl: a control file while it is read, from ctl_open to ctl_close.  Its
 * recipients come one by one, so a message of any size takes the same memory.
 */
struct ctl {
	const char *why;	/* cannot be used because; NULL while it can */
	int	later;		/* not now, but in so many seconds */
	int	in_block;	/* within an m or M block */
	int	format;		/* bits of the '@' line */
	int	resumed;	/* this is a later part of a file seen whole */
	int	seen_i, seen_s;
	unsigned long body;	/* value of the o line, bytes */
	unsigned long nrcpt;	/* recipient lines so far, whatever their tag */
	unsigned long nfailed;	/* ... already failed for good */
	unsigned long ndiag;	/* diagnostic lines that were not reported */
	unsigned delay;		/* of the recipient line at hand: bytes from its
				 * start to the delay field, 0: it has none */
	unsigned long ntrigger;	/* T lines so far */
	long	ctime;		/* of the control file, wall */
	int	has_verbose;	/* there is a v line */
	char	obsoletes[64];	/* value of the x line, or "" */
	/* at hand after ctl_next, and l.off: */
	char	channel[WORD_MAX_];
	char	host[WORD_MAX_];	/* lower case; also of a T line */
	char	user[WORD_MAX_];
	char	name[NAME_MAX_];
	struct lines l;
};

/*
 * origin: recipients of a control file that have sender and header in common.
 */
struct origin {
	unsigned long from, to;	/* their lines begin in [from, to) */
	long	hdr;		/* where the header text begins, -1: none */
	int	report;		/* it comes from the channel error */
	int	long_sender;	/* the address is longer than this: */
	char	sender[WORD_MAX_];	/* "": there is nobody to tell */
};

/*
 * notary: a control file while a report is made of it, from nt_open to
 * nt_close.  What is found stays until the next of its kind is looked for.
 */
#define WISH_FAILURE	1U
#define WISH_SUCCESS	2U
#define WISH_DELAY	4U
#define WISH_GIVEN	8U	/* there is a NOTIFY list, NEVER if no other */
#define NT_FIELDS	5

struct notary {
	int	fd;
	char	name[NAME_MAX_];
	/* of the message */
	char	envid[300];	/* xtext, or "" */
	char	id[300];	/* for the log: mostly its Message-ID */
	int	hdrs;		/* its sender wants no more than headers back */
	unsigned long body;	/* where the body begins in the message file */
	struct origin g;		/* nt_origin */
	/* nt_rcpt; channel, host and user are in rc */
	int	state;		/* tag: ' ' '~' '+' '-' */
	unsigned wishes;
	char	orcpt[600];	/* type;xtext, or "" */
	unsigned long delays;	/* warnings that were sent of it */
	unsigned long delay_at;	/* where that number stands, 0: no room */
	/* nt_next_diag, nt_diag */
	int	tag;		/* ' ': waits for its report */
	unsigned long at, off;	/* of the line, and of its recipient's */
	long	when;		/* wall */
	char	*field[NT_FIELDS];	/* who, action, status, diagnostic, by
				 * whom; "" where missing */
	char	*text;		/* ends of lines in it are CRs */
	struct ctl c, rc, w;	/* the walk; a recipient; the walk for groups */
};

/*
 * report: what one message to a sender is to say, in the making.  Its items are
 * sorted by file and recipient; of two on one recipient the later one counts.
 */
enum deed { DEED_FAILED, DEED_DELAYED, DEED_RELAYED, DEED_DELIVERED,
	    DEED_EXPANDED, DEEDS };

struct item {
	unsigned file;		/* index in files */
	enum deed deed;
	unsigned long off;	/* of the recipient's line */
	unsigned long at;	/* of the diagnostic line; DELAYED: of the delay
				 * field, which says was and is to say count */
	unsigned long was, count;
};

struct report {
	const char *const *files;	/* control files; nfiles of them */
	unsigned nfiles;
	struct item *items;	/* n of them, room for size */
	unsigned n, size;
	char	sender[WORD_MAX_];	/* "": the form's addresses alone */
	long	hdr;		/* one file: where the header is, -1: none */
	/* delays only: the reason, by channel and host */
	const char *(*why)(void *, const char *, const char *);
	void	*arg;
	/* dsn.c's: */
	struct notary nt;
	unsigned at;		/* which file that is, + 1; 0: none */
	const char *said;	/* of the item at hand */
};

enum ctl_item { CTL_END, CTL_RCPT, CTL_TRIGGER, CTL_BAD };

/* ---- in core (order.c to queue.c) ------------------------------------ */

/*
 * rcpt: one recipient line.  An array for each vertex, in file order, so an
 * offset is found in O(log n).
 */
enum rcpt_state { RC_PENDING, RC_OK, RC_FAILED };

struct rcpt {
	unsigned off : 30;	/* bytes from the start of the control file */
	unsigned state : 2;	/* enum rcpt_state */
};

/* reason: why something was deferred, shared by all that heard the same. */
struct reason {
	unsigned refs;
	char	s[1];
};

/*
 * vertex: all recipients of one message with the same channel and host, as far
 * as they are in core; the unit that an agent is fed.  A message has one at
 * most for a thread, and what is read of it later joins that.  Freed by the
 * sweep when it is DONE.
 *
 *	WAIT --wake--> READY --fed--> FED --report--> WAIT | READY | DONE
 *
 * In WAIT and READY it is on a list of its thread, in FED on its agent's.  In
 * READY it may also be on its job's list (offered), or kept for an agent that
 * is starting.  An operator can take it from WAIT, READY or a report to HELD,
 * and back to READY; there it is on no list.
 */
enum vertex_state { V_WAIT, V_READY, V_FED, V_DONE, V_HELD };

/* What an operator wants of it, once no agent has it. */
enum doom { DOOM_NONE, DOOM_DELETE, DOOM_BOUNCE };

/* What reports of a job say of its host: it was there, there was no talking to
 * it, it wants no mail at all for now. */
#define HOST_GOOD	1
#define HOST_BAD	2
#define HOST_ALL	4

/* What an agent's deferrals say of a job; the larger one counts. */
enum verdict { SAID_NOTHING, SAID_DEFERRED, SAID_RETRYAT, SAID_DEFERALL };

struct vertex {
	struct message *msg;
	struct thread *thread;	/* NULL when DONE */
	struct vertex *next, *prev;
	struct vertex *mnext, *mprev;	/* of the message, in file order */
	struct ta *ta;		/* FED: who has it; READY: who is to get it */
	struct reason *reason;	/* why it was deferred last, or NULL */
	long	wakeup;		/* mono; WAIT: when */
	struct rcpt *r;		/* nr of them; &one when that is enough */
	struct rcpt one;
	unsigned nr;
	unsigned left;		/* ... not finished */
	unsigned heard;		/* FED: deferrals reported in this run */
	unsigned short tries;	/* runs that ended with some left */
	unsigned short step;	/* place in the retry list */
	unsigned char state;	/* enum vertex_state */
	unsigned char verdict;	/* enum verdict; of this run */
	unsigned char doom;	/* enum doom; FED: when it is reported */
	unsigned char host;	/* HOST_ bits: what this run says of its host */
	unsigned char offered;	/* READY: it is on its job's list */
	unsigned counted;	/* READY: recipients that its job counts on */
};

/*
 * message: one control file and its message file.  Freed by the sweep.
 *
 * A large file is read in parts.  What is behind next is not in core yet; it
 * was looked at once, and its tags are on disk.
 */
struct message {
	struct hlink link;	/* by num */
	struct timer expire;	/* next moment at which a vertex may expire */
	struct timer notice;	/* ... at which its sender may be told more */
	struct message *done;	/* next on the sweep's list */
	struct vertex *v, *vlast;	/* in file order */
	struct job *jobs;	/* order.c's */
	unsigned nfed;		/* vertices with agents */
	unsigned long num;	/* leading digits of the name */
	unsigned long next;	/* bytes from the start: where reading goes on */
	unsigned nr;		/* recipients that were pending when loaded */
	unsigned left;		/* vertices not DONE */
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned unread;	/* pending ones behind next, or a few more than
				 * that; 0: there is none */
	/* core.c's: */
	struct message *pnext, *pprev;	/* with some unread, oldest first */
	struct timer look;	/* partly in core: when it is seen to */
	struct timer far;	/* the first is the first to be put off */
	unsigned passed;	/* recipients left to the next lap */
	long	again;		/* mono; no lap before that */
	long	later;		/* mono; nothing is read before that */
	long	walked;		/* mono; last look for what could be passed */
	unsigned extra;		/* recipients in core beyond the minimum */
	unsigned char large;	/* it was not read whole at once */
	unsigned char blocked;	/* some of the passed wait for no time */
	unsigned char preempts;	/* it has preempted others */
	unsigned char old;	/* it was put off before */
	unsigned char away;	/* it was put off, its files stay */
	long	born;		/* mono: arrival by the message file's mtime */
	long	queued;		/* mono: control file put into transport/ */
	unsigned long loaded;	/* value of q.events when it was */
	long	seen;		/* mono; when it was loaded */
	long	warned;		/* age at which delays were last looked at */
	long	tellat;		/* mono; news: when it is told at the latest */
	unsigned char failed;	/* some recipient failed for good */
	unsigned char tell;	/* its end is to be told of, perhaps */
	unsigned char news;	/* something has come up since a report */
	unsigned char dropped;	/* nothing is to be delivered any more */
	unsigned char gone;	/* ... since somebody took its file away */
	unsigned char verbose;	/* has a v line */
	unsigned char swept;	/* is on the sweep's list */
	unsigned char held;	/* an operator wants it kept */
	unsigned char doom;	/* enum doom; of what is not read yet */
	unsigned char format;	/* of the control file, as in struct ctl */
	char	name[1];	/* with hash directories: "X/Y/123-45" */
};

/* list: vertices, linked by next and prev. */
struct list {
	struct vertex *head, *tail;
	unsigned n;
};

/*
 * job: a message within a ring, as far as order.c has to know of it: in the
 * preemptive order while it has READY vertices, else while some of them are
 * set aside because the message has its share of the agents.  Counts are
 * recipients.  Owned by order.c.
 */
struct job {
	struct job *next;	/* of the same message */
	struct message *msg;
	struct ring *ring;
	struct list offer;	/* READY vertices that may go, or are set aside */
	struct timer place;	/* in ring->jobs, when something may go */
	struct timer share;	/* in ring->shares, when it has its share */
	double	key;		/* its place among the jobs of the ring */
	double	low, base;	/* its children are placed above low; which was
				 * base at first */
	struct job *parent;	/* whom it preempts, or NULL */
	struct job *child;	/* who preempts it */
	struct job *sibling, *back;	/* next and previous child */
	unsigned level;		/* how deep it preempts, 0: not */
	long	read;		/* that were READY once */
	long	chosen;		/* ... of these, that went or were taken away */
	long	avail;		/* delivery slots * slotcost; below 0: a debt */
	long	used;		/* slots beyond those expected by its parent */
};

/*
 * thread: the vertices with the same channel and host: a destination's
 * queue.  Freed by the sweep when it has no vertex and no agent.
 *
 *	EMPTY | ASLEEP until sleep | READY: in ring->ready | RUNNING: nta > 0
 */
struct thread {
	struct hlink link;	/* by channel and host */
	struct timer turn;	/* place among the ring's ready threads */
	struct timer wake;	/* the earliest of sleep and its WAIT */
	struct ring *ring;
	struct dest *dest;
	struct thread *next, *prev;	/* all threads */
	struct thread *swept;	/* next on the sweep's list */
	struct list ready, wait;
	struct ta *idle;	/* idle agents that served it, newest first */
	struct ta *busy;	/* agents working on it, newest first */
	struct reason *said;	/* what was last said of an address, to share */
	unsigned nta;		/* agents working on it */
	unsigned nstart;	/* ... of them not fed yet */
	unsigned nref;		/* agents that point to it */
	unsigned nidle;		/* ... and are idle */
	unsigned nfed;		/* vertices with agents */
	unsigned nheld;		/* ... HELD */
	unsigned noffer;	/* ... READY, on their jobs' lists */
	unsigned nkept;		/* ... READY, for agents that are starting */
	const char *held;	/* the hold on its address, or NULL */
	unsigned fresh;		/* READY since the order was last made */
	unsigned mark, index;	/* the loader's: message and vertex at hand */
	double	soonest;	/* mono; no WAIT vertex is due before */
	double	sleep;		/* mono; its host is dead until then */
	double	woken;		/* mono; its host answered, and so what had
				 * waited for that was tried once more */
	unsigned long asked;	/* value of q.events when it last died */
	unsigned char open;	/* it may take an agent, if it has vertices */
	unsigned char triggered;	/* queueonly: started by a T line */
	unsigned char picked;	/* -p does not exclude it */
	unsigned char listed;	/* is on the sweep's list */
	char	host[1];
};

/*
 * dest: what is known of a channel and host.  It outlives the thread, so that
 * what was learned is not lost when the queue is empty, and is forgotten
 * after a while of silence.  Only feedback.c changes what reports make of it;
 * destdb.c adds what was known before, and what others say.
 *
 *	READY: window > 0 <--fb_lift, fb_wake, fb_good-- DEAD: window == 0
 *	                 ------- fb_bad once too often -->
 */
#define NEVER	(-1e30)		/* mono */

struct dest {
	long	window;		/* agents it may have; 0: it is dead */
	double	success;	/* 0 to 1; at 1 the window grows */
	double	failure;	/* 0 to 1; below 0 the window shrinks */
	double	cohorts;	/* failed since the last good report */
	double	until;		/* mono; DEAD: when it is tried again */
	double	slot;		/* mono; with a rate, the last one taken */
	double	used;		/* mono; last report or start */
	double	good, bad;	/* mono; the last report of the kind, or NEVER */
	long	first;		/* the window that it began with */
	unsigned told;		/* DEAD by another host's word, which was last
				 * heard in this round; 0: not */
	unsigned long ngood, nbad;	/* reports */
	/* thread.c's: */
	struct reason *reason;	/* the host's last words, NULL: none are bad */
	unsigned short step;	/* place in the retry list, for sleep */
	unsigned short tries;	/* times it was put to sleep in a row */
	/* dest.c's: */
	struct hlink link;	/* by channel and host */
	struct dest *next, *prev;	/* without a thread, longest first */
	struct thread *thread;	/* NULL: there is none */
	struct chan *chan;
	double	keep;		/* seconds; forgotten when unused so long */
	char	host[1];
};

/*
 * ring: the threads that one agent can be switched between: same conf, same
 * channel.  When the conf is bound each of its threads stands alone: agents
 * stay on their thread and maxring counts for the thread.
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
	struct ta *idle, *rested;	/* idle agents, newest and oldest */
	unsigned nta;		/* agents, idle ones too */
	unsigned nidle;		/* ... of these */
	unsigned nthreads;
	double	dead;		/* mono; no agent is started until then */
	unsigned long served;	/* when it last got a new agent, as a count */
	const char *pending;	/* what it waits for, or NULL */
	struct reason *trouble;	/* dead: why no agent could be started */
	unsigned char waits;	/* one agent less would do: 1 any, 2 of chan */
	unsigned char done;	/* nothing more of it goes in this pass */
	unsigned char old;	/* of a configuration that was replaced */
};

/* chan: one for each channel name ever met. */
struct chan {
	struct chan *next;
	unsigned nta;		/* agents */
	unsigned nidle;		/* ... of these are idle */
	unsigned ncoming;	/* ... of these end and will be gone soon */
	unsigned nwait;		/* rings that wait for one of them to go */
	char	name[1];
};

/* queue: all of it. */
struct queue {
	struct config *config;
	struct hash messages;	/* by num */
	struct hash threads;	/* by channel and host */
	struct hash dests;	/* by channel and host */
	struct heap wake;	/* threads, by wake */
	struct heap expire;	/* messages, by expire */
	struct heap look, far;	/* messages, by these */
	struct heap notices;	/* messages, by notice */
	struct message *partial, *plast;	/* with some unread */
	unsigned extra;		/* sum of their extra */
	unsigned long sunk;	/* counts those found not to be able to go */
	unsigned long put_off;	/* messages put off so far */
	struct thread *all;	/* all threads */
	struct ring *rings;
	struct chan *chans;
	struct ta *agents;	/* ta.c keeps it */
	unsigned nthreads, nmessages;
	unsigned nagents;	/* not yet gone */
	unsigned nidle;		/* ... of these */
	unsigned ncoming;	/* ... that end and will be gone soon */
	unsigned nwait;		/* rings that wait for any agent to go */
	unsigned long events;	/* counts what must be told before from after,
				 * as no clock is fine enough for that */
	unsigned long msgs_in, msgs_out, rcpts_in, rcpts_out;
	unsigned rcpts;		/* recipients in core, not finished */
	unsigned peak_messages, peak_rcpts;	/* most there ever were */
	int	hold;		/* start nothing: -S is loading, or ending */
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
 */
enum ta_state { TA_STARTING, TA_BUSY, TA_IDLE, TA_CLOSING };

#define NOISE_MOST	100	/* lines of noise of one agent that are logged */

struct ta {
	struct ta *next, *prev;		/* all agents */
	struct ta *rnext, *rprev;	/* idle: of the ring */
	struct ta *tnext, *tprev;	/* of the thread, busy or idle */
	struct ring *ring;
	struct thread *thread;	/* the one it serves, or served last */
	struct list jobs;	/* fed, oldest first */
	struct vertex *first;	/* STARTING: what it is to get, or NULL */
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
	unsigned char unfed;	/* ... and in thread->nstart */
	unsigned char reaped;
	unsigned char spoke;	/* it has said #hungry */
	unsigned char told;	/* IDLE: it has been told so */
	unsigned char coming;	/* it counts in ncoming */
	unsigned char kills;	/* signals sent: 0, TERM, KILL */
	unsigned char overlong;	/* the line at hand is thrown away */
	double	born;		/* mono; when it was started */
	double	heard;		/* mono; when it last said something */
	double	fed;		/* mono; when it last got a job, 0: never */
	char	*part;		/* a line not yet ended */
	size_t	npart;
	char	*outbuf;	/* not yet written */
	size_t	nout, outsize;
	char	last[200];	/* its last words outside the protocol */
};

/* ---- what was asked for on the command line (scheduler.c fills it in) --- */

struct options {
	char	*cwd;		/* where we were started */
	char	*postoffice, *mailbin, *mailshare, *logdir, *path;
	char	*envfile;	/* -Z, handed to agents as ZCONFIG; or NULL */
	char	**vars;		/* its lines NAME=value, NULL at the end */
	char	*config, *logfile, *statlog;	/* statlog may be NULL */
	char	*rendezvous;
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

/* ======================================================================
 * safe.c - text of others, written so that it can be nothing but text
 * ====================================================================== */

/* Bytes of the UTF-8 character at s that is not ASCII, nor a control; 0: there
 * is none. */
size_t	safe_utf8(const char *);
int	safe_has_utf8(const char *);	/* is there one? */
/* Lines of text, each behind the indent; they end in CR or LF. */
void	safe_text(FILE *, const char *, const char *indent);
void	safe_field(FILE *, const char *name, const char *value);
/* An address as "type; address" (RFC 3464, RFC 6533). */
void	safe_address(FILE *, const char *name, const char *address);
const char *safe_date(long wall);	/* as of RFC 5322, good for one use */
int	safe_typed(const char *);	/* is it "type; value"? */

/* ======================================================================
 * ctl.c - the inside of a control file
 * ====================================================================== */

/* Opens transport/name (we are there), which spool_look showed as *seen (NULL:
 * nobody looked).  0; or -1 with why or later set, or with both unset when it
 * is no regular file or gone: leave it alone. */
int	ctl_open(struct ctl *, const char *name, const struct stat *seen);
/* The next pending recipient (channel, host, l.off are set), T line (host),
 * the end of a good file, or CTL_BAD with why or later set.  Locks of dead
 * agents are taken off on the way. */
enum ctl_item ctl_next(struct ctl *);
void	ctl_close(struct ctl *);
/* The same for what follows behind off of a file that was good.  Locks are of
 * no concern then: they are our own agents'. */
int	ctl_resume(struct ctl *, const char *name, unsigned long off,
	    int format);
/* Takes channel, host and user out of the recipient line at hand: 0 or -1. */
int	ctl_rcpt(struct ctl *);

/* The value of the first line with this letter: 0, or -1 when none. */
int	ctl_field(const char *name, int letter, char *value, size_t size);
/* The tag of the recipient line at off, -1 when it cannot be read; a '~' of
 * a process that is gone is taken off and reads as ' '.  With '~', *pid is
 * the process that holds the lock. */
int	ctl_tag(const char *name, unsigned long off, long *pid);
/* Does the recipient's NOTIFY= list have the word? */
int	ctl_notify(const char *name, unsigned long off, const char *word);
/* Is the line at off a recipient's with this channel and host? */
int	ctl_is_for(const char *name, unsigned long off, const char *channel,
	    const char *host);
/* Sets the tag and frees the lock: 0 or -1. */
int	ctl_mark(const char *name, unsigned long off, int tag);
/* Appends a diagnostic line (facts: "d OFF:HDR:DRPT::TIME").
 * notary may be empty: then one is made from status, such as "4.4.7 (text)",
 * and the recipient's address.  0 or -1. */
int	ctl_diag(const char *name, unsigned long off, const char *notary,
	    const char *status, const char *message);
int	ctl_sync(const char *name);		/* ... is on disk: 0 or -1 */
/* Nothing is kept open for name any more. */
void	ctl_forget(void);

/* ======================================================================
 * notary.c - what a control file says for those who make reports
 * ====================================================================== */

int	nt_open(struct notary *, const char *name);	/* 0, or -1: errno */
void	nt_close(struct notary *);
void	nt_rewind(struct notary *);	/* the walk begins anew */
int	nt_error(const struct notary *);	/* errno of a read, or 0 */
/* Walks to the next recipient line: 1, with its offset in c.l.off; or 0. */
int	nt_next_rcpt(struct notary *);
/* ... the next whole diagnostic line: 1 or 0. */
int	nt_next_diag(struct notary *);
int	nt_diag(struct notary *, unsigned long at);	/* the one there */
/* The recipient whose line is at off: 0, or -1 when there is none. */
int	nt_rcpt(struct notary *, unsigned long off);
/* Its group: 0, or -1 when the file cannot be read. */
int	nt_origin(struct notary *, unsigned long off);
/* Makes n bytes of xtext (RFC 3461) plain. */
void	nt_xtext(const char *, size_t n, char *to, size_t size);
/* The diagnostic line at this offset was reported: 0 or -1. */
int	nt_mark(struct notary *, unsigned long at);
/* So many warnings were sent; at is delay_at of the recipient: 0 or -1. */
int	nt_delayed(struct notary *, unsigned long at, unsigned long count);

/* ======================================================================
 * spool.c - the places in the post office
 * ====================================================================== */

/* Makes and checks the directories and goes to transport/: 0, or the exit
 * code after saying why. */
int	spool_setup(void);
/* The next entry that may be new, or was put off, as a path below transport/:
 * 1, or 0 when there is none now.  Each of the two scans goes on where it was.
 * spool_wait: seconds until it is worth asking again. */
int	spool_next(int old, char *name);
double	spool_wait(void);
/* Looks at a control file: 0; -1 when there is none, or no regular file. */
int	spool_look(const char *name, struct stat *);
/* What it is: no regular file, new, put off and due again, put off for *wait
 * seconds more.  longest: of more than that somebody's clock was wrong. */
enum spool_kind { SPOOL_NONE, SPOOL_NEW, SPOOL_DUE, SPOOL_PUT_OFF };
enum spool_kind spool_kind(const char *name, long longest, struct stat *,
	    long *wait);
/* In this file's directory is one to be looked at in so many seconds. */
void	spool_again(const char *name, int old, long seconds);
/* The control file gets the time of its next try, and a mark when it waits for
 * no time: 0 or -1. */
int	spool_put_off(const char *name, long seconds, int blocked);
/* What was put off until now is due: all, or what has the mark. */
void	spool_recall(int all);
/* Seen everything there is at least once? */
int	spool_seen_all(void);
/* Where below transport/ the file with this name is: 0, or -1. */
int	spool_where(const char *base, char *name);
/* Puts a new control file and its message file into their hash directory
 * (changes name) and looks at the message file.  0; -1: not now, try again
 * later; 1: there is no message file. */
int	spool_place(char *name, struct stat *message);
/* Both files go, message first: 0 or -1. */
int	spool_remove(const char *name);
/* Has somebody taken the control file away? */
int	spool_gone(const char *name);
/* Both files go to postman/: 0, or -1 when they cannot be moved. */
int	spool_park(const char *name, const char *why);
/* ZMailer's spool id, "S...": 0 or -1. */
int	spool_id(const char *name, char *id, size_t size);
/* Do two messages have one sender and one owner? */
int	spool_same_sender(const char *name, const char *other);
/* One line into the message's verbose log, when it has a usable one. */
void	spool_verbose(const char *name, const char *line);

/* The socket on which the router says "NEW name"; no-op without sockets. */
void	spool_notify_open(const char *path);
int	spool_notify_fd(void);			/* -1: none */
int	spool_notified(char *name);		/* 1: a name, 0: no more */
void	spool_notify_close(void);
/* The socket on which the router is told of mail, "": none; tells it. */
void	spool_router(const char *path);
void	spool_router_new(unsigned long num);

/* ======================================================================
 * pattern.c - patterns for addresses
 * ====================================================================== */

/* What is wrong with the pattern, or NULL. */
const char *pat_check(const char *);
/* All alternatives of a good pattern, in lower case, with a NULL at the end;
 * NULL when there are too many, or no memory. */
char	**pat_expand(const char *);
void	pat_free(char **);
/* Does one of them match the text, which is in lower case? */
int	pat_match(const char *, const char *);

/* ======================================================================
 * command.c - a command line becomes words
 * ====================================================================== */

#define CMD_WORDS	40
struct command {
	char	*env[CMD_WORDS];	/* leading NAME=value words; nenv */
	char	*argv[CMD_WORDS + 1];	/* NULL at the end; nargv */
	int	nenv, nargv;
	char	mem[4096];
};

/* What is wrong with the command whatever the address, or NULL.  *bound as in
 * struct conf; *channelled when $channel occurs. */
const char *cmd_check(const char *, int *bound, int *channelled);
/* The command for an address, words split and filled in; var gives the value
 * of ${NAME}, NULL when unknown.  NULL when it can be run, else why not. */
const char *cmd_split(const char *, const char *channel, const char *host,
	    const char *(*var)(const char *), struct command *);

/* ======================================================================
 * retry.c - how long something waits that was put off
 * ====================================================================== */

/* Seconds by the factor at this place of the list, at least 1. */
long	retry_factor(const struct setting *, unsigned step);
/* Seconds until the next try, at least 1.  *step is the place in the list
 * and is moved on.  tries, from 1, is how often it was put off; wall is for
 * the alignment. */
long	retry_wait(const struct setting *, unsigned short *step,
	    unsigned tries, time_t wall);
/* Seconds by the largest factor of the list, at least 1. */
long	retry_longest(const struct setting *);
/* The place in the list of something that is age seconds old. */
unsigned short retry_step(const struct setting *, long age);

/* ======================================================================
 * feedback.c - may a destination take one more agent?
 * ====================================================================== */

/* What came of a report; bits. */
#define FB_MOVED	1	/* the window is another one */
#define FB_DIED		2	/* ... and start nothing before d->until */
#define FB_REVIVED	4	/* ... and it was dead */

/* "1", "1/8", "1/concurrency", "1/sqrt_concurrency" become a rule; "10/m",
 * "25/h", "1/2s" a rate (units s, m, h, d).  NULL; or what is wrong, to follow
 * the text in a message, and nothing is set. */
const char *fb_rule_parse(const char *, struct fb_rule *);
const char *fb_rate_parse(const char *, struct fb_rate *);
void	fb_init(struct dest *, const struct feedback *, double mono);
/* A job has ended well or badly for the host; jobs whose agent died are not
 * reported.  busy is how many agents work for the destination, this one
 * included.  span: seconds that it sleeps if this is its death. */
int	fb_good(struct dest *, const struct feedback *, long busy, double mono);
int	fb_bad(struct dest *, const struct feedback *, double mono, double span);
/* A dead one is tried again: when it has slept, and at once. */
int	fb_wake(struct dest *, const struct feedback *, long busy, double mono);
int	fb_lift(struct dest *, const struct feedback *, long busy);
/* It is dead without more ado, and sleeps for span seconds. */
int	fb_kill(struct dest *, double mono, double span);
/* How many more agents it may have, the rate aside; 0 when it is dead. */
long	fb_room(const struct dest *, const struct feedback *, long busy);
/* Seconds until the rate allows a delivery to start; 0: now. */
double	fb_wait(const struct dest *, const struct feedback *, double mono);
void	fb_started(struct dest *, const struct feedback *, double mono);
/* Is a destination without a thread to be forgotten?  Not before idle seconds
 * of silence, nor while it is dead or its rate holds the next delivery up. */
int	fb_forget(const struct dest *, const struct feedback *, long busy,
	    double idle, double mono);

/* ======================================================================
 * value.c - the keywords of the clause language, and what values mean
 * ====================================================================== */

enum type { T_SPAN, T_NUMBER, T_FLAG, T_USER, T_GROUP, T_RETRIES, T_COMMAND,
	    T_RULE, T_RATE, T_ORDER, T_AGE, T_TIMES, T_BOUNCE };

struct keyword {
	const char *name;	/* NULL: the end of the table */
	enum type type;
	size_t	at;		/* offset in struct setting */
	long	min, max, def;
};

extern const struct keyword keywords[];
extern const char *const value_orders[];	/* names of enum order */

/* The value of a keyword that is a number inside. */
long	*value_long(struct setting *, const struct keyword *);
/* The values that hold where no clause says otherwise. */
void	value_defaults(struct setting *);
/* The value of the keyword in from holds in to as well; retries and command
 * stay from's. */
void	value_copy(const struct keyword *, struct setting *to,
	    const struct setting *from);
/* Takes the value, which it may change: 0, or -1 and what is wrong. */
int	value_set(const struct keyword *, struct setting *, char *value,
	    struct text *why);

/* ======================================================================
 * cf.c - the clause language
 * ====================================================================== */

/* Reads the file.  Every error is given to say as one line "file:line:
 * keyword: reason" without a newline; NULL when there was any. */
struct config *cf_load(const char *file, void (*say)(const char *));
void	cf_free(struct config *);
/* What holds for the address: clauses in order, values accumulate, the first
 * command ends the search (seed 22.1).  The conf is the config's; NULL when
 * there is no memory.  Its command is NULL when no clause with one matched. */
struct conf *cf_match(struct config *, const char *channel, const char *host);

/* ======================================================================
 * held.c - what an operator has put on hold
 * ====================================================================== */

int	held_load(void);	/* reads the list at start-up: 0 or -1 */
/* The spool has been read once: holds on messages not seen go. */
void	held_settle(void);
/* The hold on this address, good until that is released; or NULL. */
const char *held_address(const char *channel, const char *host);
int	held_message(const char *name);		/* 1 or 0 */
/* Adds or takes away a hold, on addresses or on a message: 0; 1 when it is so
 * already; -1 with errno and unchanged when it cannot be written down. */
int	held_add(int address, const char *);
int	held_del(int address, const char *);
const char *held_first(int address);	/* any of its kind, or NULL */

/* ======================================================================
 * dsn.c - a report of what became of mail, in writing
 * ====================================================================== */

struct post;

/* What this machine calls itself in reports, NULL: what the system says. */
void	dsn_name(const char *);
/* Writes the report into public/, on disk, ready for post_send: 0; or -1 with
 * errno and nothing left. */
int	dsn_write(struct report *, struct post *);
/* Has r->nt be this file of the report: 0, or -1 with errno. */
int	dsn_file(struct report *, unsigned file);
void	dsn_close(struct report *);	/* no file */
FILE	*dsn_form(const char *);	/* the form of this name, or NULL */

/* ======================================================================
 * bounce.c - delivery status notifications
 * ====================================================================== */

#define BOUNCE_FILES	100	/* messages in one report */

/*
 * Each of these reads the control file at transport/name.  One that is gone has
 * nothing to tell; -1 says that it was logged what the disk, or the memory,
 * refused, and that it is to be tried again.
 */

/* Adds diagnostic lines where a crash left a failed recipient without: 0. */
int	bounce_mend(const char *name);
/* Is there something ended that was not told?  1 and to whom, or 0. */
int	bounce_find(const char *name, char *sender, size_t);
/* Tells him of these messages in one report: 1, or 0 if there was nothing. */
int	bounce_tell(const char *const *names, unsigned n, const char *sender);
/* Warns of delays at this age, seconds, in one report: 1, or 0.  why gives the
 * reason for a channel and host. */
int	bounce_delay(const char *name, long age,
	    const char *(*why)(void *, const char *, const char *), void *);
/* All was told; is the message to be kept nevertheless?  1 or 0. */
int	bounce_keep(const char *name);

/* ======================================================================
 * explain.c - what holds for an address, for a person to read
 * ====================================================================== */

void	explain(struct config *, const char *channel, const char *host,
	    FILE *);

/* ======================================================================
 * order.c - who goes next
 * ====================================================================== */

void	list_add(struct list *, struct vertex *);	/* at the end */
void	list_put(struct list *, struct vertex *);	/* at the beginning */
void	list_del(struct list *, struct vertex *);

/* Puts the READY vertices of a thread in the order that its clause wants, as
 * far as that is worth it. */
void	order_run(struct thread *);
/* Takes a READY vertex off the list that it is on: it does not go. */
void	order_out(struct vertex *);
/* The preemptive order.  A vertex has become READY and waits on its thread's
 * list; a thread may take agents now, or no longer. */
void	order_ready(struct vertex *);
void	order_open(struct thread *, int open);
/* The vertex of the ring that goes next, or NULL; it stays where it is until
 * it is taken. */
struct vertex *order_next(struct ring *);
void	order_take(struct vertex *);
/* May a message have one agent more, when so many are free?  (seed: Finch) */
int	order_allowed(const struct message *, long nfree);
/* The vertex is set aside, and in the preemptive order its whole job, until
 * its message may have more: 0, or -1 without memory. */
int	order_park(struct vertex *);
int	order_parked(const struct vertex *);	/* 1 while it is, or 0 */
/* Lets the job with the fewest agents go on if it may: a vertex of it, whose
 * thread must be looked at; or NULL. */
struct vertex *order_unpark(struct ring *, long nfree);
void	order_share(struct message *);		/* its nfed is another one */
void	order_forget(struct message *);		/* no job of it is needed */

/* ======================================================================
 * dest.c - where destinations are kept
 * ====================================================================== */

/* Points *slot to the text; *shared, which often says the same, is shared. */
void	reason_set(struct reason **slot, const char *, struct reason **shared);
void	reason_free(struct reason *);

/* Finds or makes the new thread's destination: 0, or -1 without memory.  One
 * that is dead has the thread sleep. */
int	dest_take(struct thread *);
/* The one of that name, or NULL. */
struct dest *dest_find(const struct chan *, const char *host);
/* A new one without a thread; NULL without memory. */
struct dest *dest_add(struct chan *, const char *host, const struct setting *);
/* Is there room for more without a thread? */
int	dest_room(void);
/* Those without a thread, unused for longest first, linked by next. */
struct dest *dest_unused(void);
void	dest_leave(struct thread *);	/* the thread goes */
void	dest_lift(void);		/* no unused one is dead any longer */
void	dest_forget(void);		/* those unused too long, or too many */

/* ======================================================================
 * ring.c - which threads share their agents
 * ====================================================================== */

/* Takes another configuration in use; the rings there are become old. */
void	ring_config(struct config *);
struct chan *ring_chan(const char *name);	/* NULL without memory */
/* The ring for an address, with room for one more thread; NULL without
 * memory. */
struct ring *ring_for(const char *channel, const char *host);
void	ring_sweep(void);		/* frees old ones that are empty */

/* ======================================================================
 * thread.c - threads: who waits for what
 * ====================================================================== */

int	th_init(struct config *);	/* 0, or -1 without memory */
void	th_reload(struct config *);	/* puts all threads under new rings */
void	th_sweep(void);			/* frees what is empty */
/* The thread of an address, made when there is none; NULL without memory. */
struct thread *th_get(const char *channel, const char *host);
void	th_suspect(struct thread *);	/* the sweep is to look at it */
void	th_check(struct thread *);	/* gives it a turn, or takes it away */
/* Appends it as READY. */
void	th_ready(struct thread *, struct vertex *);
/* ... in WAIT until wakeup, mono. */
void	th_wait(struct thread *, struct vertex *, long wakeup);
void	th_arm(struct thread *);	/* sets its timer anew */
void	th_wake(struct thread *);	/* everything in it may go */
/* Nothing can be started for its host: it sleeps by the clause's retry list. */
void	th_sleep(struct thread *);
/* Another host's word has made its destination dead, or no longer so. */
void	th_told(struct thread *);
/* What a job that is over says of its host (HOST_ bits). */
void	th_heard(struct thread *, int host);
void	th_due(struct thread *);	/* its timer is due */
/* Starts what waits for the host, queueonly too: threads started. */
int	th_trigger(const char *host);
/* The same for a thread, or one vertex of it, whatever it waits for; limits
 * and holds stay. */
void	th_flush(struct thread *);
void	th_flush_one(struct vertex *);
void	th_out(struct vertex *);	/* takes a READY one off its list */
/* Takes it off its list, HELD; and back. */
void	th_hold(struct vertex *);
void	th_release(struct vertex *);
/* Asks anew whether its address is held: 1 when that ended a hold. */
int	th_rehold(struct thread *);
/* READY vertices of the thread, wherever they stand. */
unsigned th_nready(const struct thread *);
/* The vertex of the ring that is to get an agent next, or NULL; and whether
 * there is any. */
struct vertex *th_next(struct ring *);
int	th_waits(const struct ring *);
/* Its message has its share of the agents: it waits, 0, or -1 if it cannot;
 * and one that may have more now, when so many agents are free: 1 or 0. */
int	th_park(struct vertex *);
int	th_unpark(struct ring *, long nfree);
/* The agent goes to work on the thread, and leaves it. */
void	th_join(struct ta *, struct thread *);
void	th_leave(struct ta *);
/* The vertex is for this agent, which is starting. */
void	th_keep(struct ta *, struct vertex *);
/* Gives a READY vertex of its thread to the agent, as last of ta->jobs. */
void	th_give(struct ta *, struct vertex *);
/* ... the thread's next; NULL when it may have none. */
struct vertex *th_feed(struct ta *);
void	th_unfed(struct vertex *);		/* no agent has it any more */

/* ======================================================================
 * notice.c - when senders are told
 * ====================================================================== */

/* Nothing of the message is left to deliver.  tell: there may be something to
 * report; then that is done first.  Its files go, or are kept in postman/ when
 * nobody could be told of a failure: 0; else seconds until it is to be tried
 * again. */
long	notice_end(const char *name, int tell);
/* Something of a message with recipients left has ended and may have to be
 * told. */
void	notice_news(struct message *);
int	notice_pending(const struct message *);	/* something is told soon */
void	notice_arm(struct message *);	/* sets its timer anew */
void	notice_timers(void);		/* tells what is due */
double	notice_wait(void);		/* seconds until something is */

/* ======================================================================
 * queue.c - messages: arrival, outcome, expiry
 * ====================================================================== */

int	q_init(struct config *);	/* 0, or -1 without memory */
/* Takes another configuration in use, for queued mail too. */
void	q_reload(struct config *);
void	q_timers(void);			/* wakes and expires what is due */
double	q_wait(void);			/* seconds until something is */
void	q_sweep(void);			/* takes away what is done */
int	q_statlog(void);		/* opens -l's file anew: 0 or -1 */

/* The message with this number; NULL when it is not in core. */
struct message *q_find(unsigned long num);
/* A vertex of the message that nobody has yet, with room for so many
 * recipients; NULL without memory.  And away with it. */
struct vertex *q_vertex(struct message *, struct thread *, unsigned nr);
void	q_vertex_free(struct vertex *);
/* Room for so many more recipients of the vertex: 0 or -1. */
int	q_widen(struct vertex *, unsigned more);
void	q_narrow(struct vertex *);	/* forgets the finished ones */
/* Takes a message over that has no vertex yet.  0; -1 without memory, then it
 * is still the caller's. */
int	q_add(struct message *);
/* The message's new vertex, with its recipients, starts its thread. */
void	q_arrive(struct vertex *);
/* ... when all have come that were read.  rcpts: how many recipients. */
void	q_arrived(struct message *, unsigned rcpts);
/* So many are unread now. */
void	q_unread(struct message *, unsigned n);
void	q_rotate(void);		/* the first of q.partial becomes the last */
/* Nothing is left behind m->next, though so many were expected. */
void	q_exhausted(struct message *, unsigned missing);
/* The message leaves core; its files stay. */
void	q_forget(struct message *);
/* Is anything of it left to be delivered? */
int	q_over(const struct message *);
/* A recipient of the vertex is finished, on disk already; status and message
 * are for the log. */
void	q_finish(struct vertex *, struct rcpt *, int state, const char *status,
	    const char *message);
/* An agent finished a recipient that is not in core, beside the vertex. */
void	q_beside(struct vertex *, unsigned long off, int state,
	    const char *status, const char *message);
/* Makes sure that the tag of a finished recipient says so; one that was left
 * unset would be delivered to again. */
void	q_tag(const struct message *, const struct rcpt *);
/* The vertex is over: off its lists, and the sweep takes the message if it
 * was the last. */
void	q_done(struct vertex *);
/* Nothing more of the message is to be delivered; it goes without report, and
 * what agents have of it ends with its job. */
void	q_drop(struct message *, const char *why);
/* The vertex was put off: it expires if that is due, else its timer is set. */
void	q_expiry(struct vertex *);
/* An operator holds the message, or lets it go. */
void	q_hold(struct message *, int on);
/* ... wants the vertex deleted or bounced, at once or, as one of many, soon:
 * 0; 1 when that has to wait for its agent's report; 2 soon; -1 when the disk
 * would not have it. */
int	q_doom(struct vertex *, enum doom, int later);
/* ... and what is not read yet of the message, as it comes in. */
void	q_doom_rest(struct message *, enum doom);
void	q_rearm(struct message *);	/* a hold on an address has ended */
/* What an operator wanted of it is done, now that no agent has it: 0, or -1
 * when the disk would not have it. */
int	q_doomed(struct vertex *);

/* ======================================================================
 * report.c - what agents say became of a job
 * ====================================================================== */

/* The agent has said what does not fit: 1 when that is to be logged. */
int	rp_noise(struct ta *);
/* A report line of the agent.  What does not fit is noise and changes
 * nothing. */
void	rp_report(struct ta *, unsigned long num, unsigned long off,
	    const char *notary, const char *status, const char *message);
/* The oldest of ta->jobs is over: what it was not reported the tags on disk
 * decide; the rest is deferred, for the reason given if it has none. */
void	rp_job_over(struct ta *, const char *reason);

/* ======================================================================
 * core.c - what is in memory, and what stays on disk
 * ====================================================================== */

/* How many recipients of the message there is room for; NULL: of a new one. */
unsigned core_room(const struct message *);
/* The next message of which more is to be read, and how much; or NULL. */
struct message *core_next(unsigned *most);
/* Nothing more of it for so many seconds. */
void	core_later(struct message *, int seconds);
double	core_wait(void);	/* seconds until one is to be seen to */
/* Has it all the messages that it may have? */
int	core_full(void);
/* Puts one off: 1, or 0 when none can be spared. */
int	core_make_room(void);
/* What was put off is wanted now: all of it, or what waits for no time. */
void	core_recall(int all);

/* ======================================================================
 * turn.c - new mail and old mail take turns coming in
 * ====================================================================== */

struct turn {
	int	first;		/* 0: new, 1: old */
};

/* Takes one message in: take is asked for one of new (0) or old (1) mail and
 * answers 1 it came, 0 what there was cannot be used, -1 there is none.  The
 * same is returned. */
int	turn_step(struct turn *, int (*take)(int old));
void	turn_full(struct turn *);	/* there is no more room */

/* ======================================================================
 * intake.c - control files become messages in core
 * ====================================================================== */

/* Loads messages, and more of large ones, for a moment; 1 when there are more
 * at hand. */
int	in_load(void);
double	in_wait(void);		/* seconds until it is worth trying again */
/* Somebody asks for the message with this name, without directories: if it is
 * on disk it comes in now. */
void	in_fetch(const char *name);

/* ======================================================================
 * child.c - a program is started
 * ====================================================================== */

/* How many agents descriptors allow (seed 22, note 1), after raising the
 * limit as far as it goes. */
unsigned child_most(void);
/* The value of ${NAME}: a location, or from the -Z file; NULL: unknown. */
const char *child_var(const char *name);
/* An absolute path with ${NAME} filled in: 0 or -1. */
int	child_path(const char *, char *path, size_t size);
/* Starts the command with the setting's user, group and nice: its process
 * number, and our ends in fd, to read from and to write to (which may be the
 * same); -1 with errno when that cannot be. */
long	child_start(const struct setting *, struct command *, int fd[2]);

/* ======================================================================
 * ta.c - transport agents: what is said to them and what they say
 * ====================================================================== */

/* Starts an agent for the vertex: 0, or -1 after stopping the ring for a
 * while. */
int	ta_start(struct vertex *);
void	ta_wake(struct ta *, struct vertex *);	/* an idle one goes to work */
/* Has one of the busy agents on the thread fewer jobs than that, and time for
 * more?  The newest with fewest, or the newest; NULL: none. */
struct ta *ta_lightest(const struct thread *, unsigned jobs);
struct ta *ta_newest(const struct thread *, unsigned jobs);
void	ta_feed(struct ta *, struct vertex *);	/* a busy one gets it too */
void	ta_rest(struct ring *);	/* those that stay idle are told so */
void	ta_end(struct ta *);	/* it is to end, politely */
/* Adds the descriptors to wait for; *max is the largest so far. */
void	ta_prep(fd_set *in, fd_set *out, int *max);
double	ta_wait(void);		/* seconds until a timer is due */
/* Reads reports and hunger, feeds, writes what could not be written. */
void	ta_do(fd_set *in, fd_set *out);
/* A child has died, with this status: 1 when it was an agent. */
int	ta_reaped(long pid, int status);
void	ta_timers(void);	/* ends the idle and the silent */
/* The scheduler ends (q.hold is set): idle agents are closed, the others
 * when they have done what they were given.  ta_kill: no more patience. */
void	ta_finish(void);
void	ta_kill(void);

/* ======================================================================
 * pool.c - who gets an agent
 * ====================================================================== */

void	pool_init(void);	/* when all lasting descriptors are open */
void	pool_run(void);		/* gives what is ready to agents */
double	pool_wait(void);	/* seconds until it is worth trying again */

/* ======================================================================
 * destdb.c - what is known of destinations outlives us
 * ====================================================================== */

extern double destdb_period;	/* seconds; shorter in t/clock.c */

void	destdb_open(void);	/* at the start: takes what was kept */
void	destdb_reload(void);	/* by the configuration now in force, at once */
double	destdb_wait(void);	/* seconds until destdb_run is due */
void	destdb_run(void);	/* when due: keeps what changed, hears others */
void	destdb_close(void);	/* keeps it all */

/* ======================================================================
 * admin.c - what an operator wants done to the queue
 * ====================================================================== */

/* Does it, logs it, and leaves an answer for people, which begins with "ok"
 * or "no". */
void	admin_do(const char *verb, const char *what, long uid, struct text *);

/* ======================================================================
 * dump.c - the queue in writing, for mailq
 * ====================================================================== */

/* Writes all of it to fd; only for a child of ours.  0, or -1: no memory. */
int	dump_queue(int fd);

/* ======================================================================
 * status.c - the doors at which mailq asks
 * ====================================================================== */

void	status_open(void);
void	status_listen(void);	/* by the configuration now in force */
void	status_prep(fd_set *in, int *max);
double	status_wait(void);	/* seconds until a timer is due */
void	status_do(fd_set *in);
void	status_timers(void);
int	status_reaped(long pid);	/* was it a dump of ours? */
void	status_file(void);	/* a dump beside the log, for a person */
void	status_close(void);

#endif
