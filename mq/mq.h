/*
 * mq.h - the page of data of mailq.
 *
 * The interfaces of its modules, lowest first; a module calls only those above
 * it on this page.  mailq links nothing of the scheduler but lib/, so the dump
 * is written and read by separate code.
 */
#ifndef MQ_H
#define MQ_H

#include "../lib/office.h"
#include "../lib/ctlfile.h"
#include "../lib/path.h"
#include "../lib/util.h"

#define MQ_PATH_MAX	1024	/* bytes in a path that we build */
#define MQ_TOKEN_MAX	32768	/* bytes in a field that is kept: a thread with
				 * as many agents as select() takes has less */
#define MQ_WORD_MAX	1024	/* bytes in a channel or a host */
#define MQ_NAME_MAX	256	/* bytes in a message's name */
#define MQ_WHY_MAX	1000	/* bytes of an error message */

/* ---- the queue as a dump has it (model.c) -------------------------- */

/*
 * The state of a job.  The first is a state in unknown words, the last means
 * that no scheduler answered.
 */
enum mq_state {
	MQ_OTHER, MQ_RETRY, MQ_HOST, MQ_RUN, MQ_LIMIT, MQ_NEXT, MQ_AGENT,
	MQ_HELD, MQ_QUEUEONLY, MQ_FROZEN, MQ_COMMAND, MQ_EVICTED, MQ_SPOOL
};

extern const char *const mq_state_name[];	/* as on the wire */

/* mq_word: a text that many share, kept once. */
struct mq_word {
	struct hlink link;
	unsigned id;		/* of a message's name: its index */
	char	s[1];
};

/*
 * mq_known: the facts of a destination.  An older scheduler does not send all
 * of them.
 */
enum mq_use { MQ_ACTIVE, MQ_IDLE, MQ_CLOSED, MQ_ASLEEP, MQ_UNUSED };

extern const char *const mq_use_name[];

struct mq_known {
	double	window, limit;	/* agents; limit 0: not known */
	double	agents, idle;	/* at work on it, and with nothing to do */
	double	good, bad;	/* reports */
	double	cohorts;	/* hundredths */
	double	dead;		/* seconds; MQ_UNKNOWN: it is not */
	double	tries;		/* failures in a row */
	double	ready, waiting;	/* jobs; MQ_UNKNOWN: it has no queue */
	double	unused;		/* seconds */
	const char *rate, *reason;	/* "" none */
};

/* mq_dest: a channel and a host.  host is "" until it is known. */
struct mq_dest {
	struct hlink link;
	const char *channel, *host;
	unsigned id;		/* gives destinations an order */
	unsigned njobs;
	unsigned msg, job;	/* spool: its last message + 1, job in that */
	int	hidden;		/* by the filter: all of it */
	struct mq_known *known;	/* NULL: no facts */
	struct mq_dest *next;	/* of all, in no order */
};

/*
 * mq_job: all recipients of a message with one channel and host; a vertex line
 * of the dump.  There may be a million, so each member is needed for each job.
 */
#define MQ_UNKNOWN	(-1)	/* next, tries */
#define MQ_NEVER	INT_MIN	/* expires: never, or not known */

struct mq_job {
	struct mq_dest *dest;
	const char *reason;	/* "" none */
	const char *what;	/* with the state, "" nothing */
	unsigned qid;		/* number on the wire */
	unsigned msg;		/* index */
	unsigned next_job;	/* of its message, index + 1; 0: none */
	unsigned nrcpt;
	int	next;		/* seconds until it is tried */
	int	expires;	/* seconds; negative: overdue */
	int	tries;
	int	pid;		/* of its agent; 0 none */
	unsigned char state;	/* enum mq_state */
	unsigned char known;	/* its facts have come */
	unsigned char hidden;	/* by filters of messages */
};

struct mq_msg {
	const char *name;	/* [X/[Y/]]123-45 */
	const char *sender;	/* NULL: not known */
	const char *skipped;	/* why it is not in core; NULL: it is */
	int	next;		/* skipped: seconds until the next look */
	double	size;		/* bytes; negative: not known */
	int	age;		/* seconds; MQ_UNKNOWN */
	unsigned first, last;	/* jobs, index + 1; 0: none */
	unsigned char held, known;
	unsigned char over;	/* only its DSN is left */
	unsigned char unread;	/* spool: could not be read */
	unsigned char picked;	/* filters of messages let it through */
};

/* mq_why: the last failure of one recipient, if the recipients of the job have
 * different ones. */
struct mq_why {
	unsigned msg;		/* index */
	unsigned long off;	/* of its line in the control file */
	const char *reason;
};

/*
 * mq_note: a hold on an address or a message, or a message file without a
 * control file.
 */
enum mq_kind { MQ_HOLD_ADDRESS, MQ_HOLD_MESSAGE, MQ_ORPHAN, MQ_FREEZER,
	       MQ_KINDS };

struct mq_note {
	struct mq_note *next;	/* in the order in which they came */
	enum mq_kind kind;
	const char *what;
	long	age;		/* seconds; MQ_UNKNOWN */
};

/* mq_unrouted: a message that submit -q could not route yet. */
struct mq_unrouted {
	const char *num;	/* its name in deferred/ */
	const char *reason;	/* "": not known */
	long	age;		/* seconds; MQ_UNKNOWN */
	int	tries;		/* 0: not known */
	int	next;		/* seconds until the next; 0: it is due */
};

/* What happened since the scheduler was started, in the order of the dump. */
enum mq_total {
	MQ_ACCEPTED, MQ_DELIVERED, MQ_DEFERRED, MQ_FAILED, MQ_DSNS,
	MQ_SET_ASIDE, MQ_TOTALS
};

/*
 * mq_queue: the whole queue.  Adding is O(1) expected; arrays are in the order
 * in which their elements came.
 */
struct mq_queue {
	struct mq_msg *msgs;
	struct mq_job *jobs;
	struct mq_why *whys;	/* sorted when all of it was read */
	struct mq_dest *dests;
	unsigned nmsgs, njobs, nwhys, ndests;
	unsigned room_msgs, room_jobs, room_whys;
	unsigned unread;	/* messages with unread set */
	double	bytes;		/* of memory */
	double	stored;		/* messages there are, as the report says */
	int	evicted;	/* messages that are on disk alone */
	int	evicted_age;	/* ... seconds, of the oldest; MQ_UNKNOWN */
	int	aside;		/* messages in postman/; MQ_UNKNOWN */
	int	bounces;	/* ... of these, double bounces */
	int	aside_age;	/* ... seconds, of the oldest; MQ_UNKNOWN */
	int	router;		/* messages in router/ and the directories of
				 * ROUTERDIRS; MQ_UNKNOWN */
	int	router_age;
	char	router_why[MQ_WHY_MAX];	/* why that is unknown, or "" */
	int	deferred;	/* messages in deferred/; MQ_UNKNOWN */
	int	deferred_age;
	struct mq_unrouted *unrouted;	/* ... as far as they can be read */
	unsigned nunrouted;
	struct mq_note *notes, **last_note;
	double	totals[MQ_TOTALS];	/* the first MQ_UNKNOWN: none came */
	int	uptime;		/* seconds; MQ_UNKNOWN */
	int	facts;		/* they came from the scheduler */
	int	looked;		/* orphans were looked for */
	int	endless;	/* there were vertices, and no "End:" */
	int	only_dests;	/* to be set before: nothing else is kept */
	int	both;		/* likewise: with a report all is kept, too */
	int	with_dests;	/* ... what is known of them is kept, too */
	int	filtered;
	int	picked;		/* ... by what pick.c says of each message */
	char	postoffice[MQ_PATH_MAX];	/* of the dump; "" none */
	struct hash words, names, places;
	unsigned seed;
};

/* Counts what the listing shows. */
struct mq_sum {
	unsigned long msgs, jobs, dests, held, running, waiting, skipped;
	double	rcpts;
	int	oldest;		/* seconds; MQ_UNKNOWN */
	double	bytes;		/* of the messages whose size is known */
};

int	mq_init(struct mq_queue *);	/* 0 or -1 */
void	mq_free(struct mq_queue *);
/* Makes room for one more in an array, memory of the queue if that is not NULL:
 * 0 or -1. */
int	mq_grow(struct mq_queue *, void **v, unsigned n, unsigned *room,
	    size_t size);
/* NULL: there is no memory, or more than a dump may take. */
const char *mq_keep(struct mq_queue *, const char *);
struct mq_dest *mq_dest(struct mq_queue *, const char *channel,
	    const char *host);
/* What is known of it is that, texts aside; NULL as above. */
struct mq_known *mq_know(struct mq_queue *, struct mq_dest *,
	    const struct mq_known *);
enum mq_use mq_use(const struct mq_known *);
/* The message of that name; with make it is added if it is new.  NULL: it is
 * not there, or no memory. */
struct mq_msg *mq_msg(struct mq_queue *, const char *name, int make);
struct mq_job *mq_job(struct mq_queue *, struct mq_msg *);
void	mq_job_init(struct mq_job *);	/* nothing is known */
/* Sorts the jobs by number, for mq_job_by_qid: 0, or -1 if two have the same
 * number. */
int	mq_order(struct mq_queue *);
struct mq_job *mq_job_by_qid(struct mq_queue *, unsigned long qid);
/* Adds the last failure of the recipient at this offset: 0 or -1.  mq_why_sort
 * is to be called after the last one. */
int	mq_add_why(struct mq_queue *, unsigned msg, unsigned long off,
	    const char *reason);
void	mq_why_sort(struct mq_queue *);
const char *mq_why_of(const struct mq_queue *, const struct mq_msg *,
	    unsigned long off);		/* "" none came */
/* Is the job hidden by a filter? */
int	mq_hidden(const struct mq_job *);
/* 0, or -1 when there is no memory. */
int	mq_note(struct mq_queue *, enum mq_kind, const char *what, long age);
unsigned mq_notes(const struct mq_queue *, enum mq_kind);	/* how many */
/* Has it a job that the filter lets through, or is there no filter? */
int	mq_shown(const struct mq_queue *, const struct mq_msg *);
void	mq_count(const struct mq_queue *, struct mq_sum *);

/* ---- where a dump comes from (ask.c) ------------------------------- */

/* mq_in: a dump while it comes. */
struct mq_in {
	int	fd;
	int	fifo;		/* it is a pipe of our own */
	int	begun;		/* its first byte has come */
	int	silent;		/* ... and did not in time */
	long	first;		/* seconds that may take */
	size_t	have, used;	/* bytes in buf, bytes of it consumed */
	char	why[MQ_WHY_MAX];	/* why it ended; "" it just did */
	char	buf[8192];
};

/* mq_ask: the places where a scheduler may answer, and where we are. */
struct mq_ask {
	const char *host, *port, *pipe;		/* as given, or NULL */
	const char *postoffice;
	const char *rendezvous;
	int	place;		/* of the next to try */
	int	address;	/* of its host, that is next */
	int	local;		/* the one that answers is on this machine */
	int	denied;		/* a pipe may not be opened */
	int	silent;		/* somebody took our request, and said nothing
				 */
	int	two;		/* what we send is wanted, too */
	char	why[MQ_WHY_MAX];	/* why the others do not answer */
	struct mq_in in;
};

/* Asks the next place: 1 if it answers, with its first bytes in a->in; 0 if
 * none is left, and a->why has the reason for each. */
int	mq_ask_next(struct mq_ask *);
void	mq_ask_end(struct mq_ask *);
/* The same place again, by TCP, and now we can send: 1 or 0. */
int	mq_ask_two(struct mq_ask *);
/* Adds to why. */
void	mq_ask_note(struct mq_ask *, const char *, ...) LIKE_PRINTF(2, 3);
/* The next byte, or -1. */
int	mq_byte(struct mq_in *);
/* Sends "VERB WHAT" to the scheduler's pipe; the answer is then in a->in. */
int	mq_ask_command(struct mq_ask *, const char *verb, const char *what);

/* ---- the dump is read (read.c, two.c, md5.c) ----------------------- */

/* Reads a dump into the queue: 0, or -1 with the reason in why.  With report,
 * it keeps nothing and passes each line of the report on.  MQ_TWO: the
 * scheduler has protocol 2. */
#define MQ_TWO	2
int	mq_read(struct mq_queue *, struct mq_in *, char why[MQ_WHY_MAX],
	    void (*report)(void *, const char *), void *arg);

/* The same by protocol 2, before anything was read.  login is "user/password",
 * NULL: those of scheduler.auth (two.c). */
int	mq_two(struct mq_queue *, struct mq_in *, const char *login,
	    char why[MQ_WHY_MAX], void (*report)(void *, const char *),
	    void *arg);
/* The MD5 of a text, in hexadecimal (md5.c). */
void	mq_md5(const char *, char hex[33]);

/* In a word of a dump, blanks, backslashes and bytes that do not print are
 * \ooo. The byte that begins so at s; 0: none. */
int	mq_escape(const char *s);
void	mq_unescape(char *);

/* ---- words for people (words.c) ------------------------------------ */

/* Control, 8-bit bytes and backslashes become \ooo. */
void	mq_put_byte(FILE *, int);
void	mq_put(FILE *, const char *);
/* The next byte of a reason, whose ends of lines are one blank; 0: no more. */
int	mq_reason_byte(const char **);
/* ": refused", or "" when there is none; good until the next call. */
const char *mq_reason(const char *);
/* As printf, but each %s, which has no width, goes through mq_put.  mq_complain
 * prints a line "mailq: ..." on the standard error. */
void	mq_print(const char *, ...) LIKE_PRINTF(1, 2);
void	mq_complain(const char *, ...) LIKE_PRINTF(1, 2);
#define MQ_SCREEN_MAX	1000	/* columns and lines at most */
/* "5m", "3 files", "next 14:05 (in 5m)"; good until the fourth call after. */
const char *mq_span(long seconds);
const char *mq_many(double n, const char *what);
const char *mq_next(int seconds);
/* The destination in so many columns, cut with a '+' at its end; NULL is the
 * sum of all. */
void	mq_put_name(const struct mq_dest *, int columns);
/* How many columns are left beside others of a row, and the lines of the
 * screen: from the environment, the terminal, or 80 and 24. */
int	mq_name_width(int others, int *lines);
/* Compares destinations by channel and host, for qsort. */
int	mq_by_name(const struct mq_dest *, const struct mq_dest *);
/* A line below that with a reason, which is cut, too. */
void	mq_put_below(const char *reason, int columns);

/* ---- beside the queue (around.c) ------------------------------------ */

/* Counts the mail beside the queue, as far as we may; alone: no scheduler has
 * answered, and the holds are read, too.  0, or -1 without memory
 * (around.c). */
int	mq_around(struct mq_queue *, const char *po, int alone);
/* Message files without a control file, or with an empty one, that have been so
 * for a minute or are in the dump.  As above. */
int	mq_strays(struct mq_queue *, const char *po);
/* Prints it, a line each, with postman/ or without; nothing if there is a
 * filter. */
void	mq_put_around(const struct mq_queue *, int postman);
void	mq_put_aside(const struct mq_queue *, const char *before);
/* The same for -c. */
void	mq_count_around(const struct mq_queue *);

/* ---- what could not be routed yet (unrouted.c) --------------------- */

struct mq_order;

/* Reads the messages of po/deferred, oldest first, as far as we may: 0, or -1
 * without memory. */
int	mq_unrouted(struct mq_queue *, const char *po);
/* Prints the lines of show about po/deferred/NUM: its tries and reason. */
void	mq_put_deferred(const char *po, const char *num);
/* Releases the messages that words of the command match, or says so in a dry
 * run.  Removes these words from the command, except "all".  An exit code. */
int	mq_release(struct mq_order *, const char *po);

/* ---- what a message may be called (name.c) ------------------------- */

int	mq_is_id(const char *);		/* may it begin a spool id? */
/* The name in freezer/NAME; NULL: it is no name there. */
const char *mq_is_frozen(const char *);
/* The number in N, router/N or deferred/N; NULL: it is none of these. */
const char *mq_is_router(const char *);
/* The spool id of the message: 0, or -1 when that is not known. */
int	mq_id(const char *name, const char *po, char *id, size_t size);
/* Begins the id so?  2: it is the whole of it. */
int	mq_same_id(const char *id, const char *wanted);
/* How many messages of the queue have a name or an id that begins so; q NULL:
 * of the spool, and errno is not 0 if that is unknown.  It is 1 if the word is
 * all of one.  name becomes that of the last one. */
unsigned mq_find(const struct mq_queue *q, const char *po, const char *word,
	    char name[MQ_NAME_MAX]);
/* Opens a log, which is read twice and so has to be a file: NULL with errno,
 * ESPIPE if it is of another kind. */
FILE	*mq_log_open(const char *path);
/* The word behind the key, such as " id=", in a line of the log: 0 or -1. */
int	mq_log_word(const char *line, const char *key, char *word,
	    size_t size);
/* The id of the message that the file of router/ or deferred/ with this number
 * became, from the logs of submit -q and the scheduler: 0 or -1. */
int	mq_accepted(const char *logfile, const char *num, char *id,
	    size_t size);
/* Finds the one message in the spool that has this name; name gets its
 * directories, too: 0, or -1 after saying why. */
int	mq_name(const char *word, const char *po, const char *logfile,
	    char name[MQ_NAME_MAX]);

/* ---- control files (spool.c) --------------------------------------- */

/* Reads the spool: 0, or an exit code with the reason in why. */
int	mq_spool(struct mq_queue *, const char *po, char why[MQ_WHY_MAX]);
/* Adds the messages that the scheduler has only on disk.  As mq_spool. */
int	mq_spool_rest(struct mq_queue *, const char *po, char why[MQ_WHY_MAX]);
/* Finds what the dump does not have: sender, size and age. */
void	mq_spool_fill(struct mq_queue *, const char *po);

/* ---- listings (show.c, shape.c, json.c, dests.c, watch.c) */

/* mq_view: options of a listing. */
struct mq_view {
	int	verbose;
	const char *postoffice;	/* for recipients; NULL: not on this machine */
	const char *filter;	/* NULL: none */
};

/* mq_rcpts: the recipients of a message, by its jobs. */
struct mq_rcpt {
	const struct mq_dest *dest;
	unsigned pos;		/* in the file */
	const char *reason;	/* "": its job's, or none */
	char	*user;
};

struct mq_rcpts {
	struct mq_rcpt *v;
	unsigned n, room;
	int	more;		/* there are more than that */
	const char *msgid;	/* of the message, until the next reading */
	const char *why;	/* there are none because; NULL: there are */
	int	gone;		/* ... the control file is */
};

/* Opens the control file for diag_next and so on: 0, or -1 with errno. */
struct diags;	/* of lib/origin.h */
int	mq_diags(struct diags *, const char *po, const char *name);
void	mq_rcpts(struct mq_rcpts *, struct mq_queue *, const struct mq_msg *,
	    const struct mq_view *);
/* Those of one job are n from the returned one. */
struct mq_rcpt *mq_rcpts_of(const struct mq_rcpts *, const struct mq_dest *,
	    unsigned *n);
void	mq_rcpts_free(struct mq_rcpts *);

/* Lines about a message, about a job and what it waits for.  mq_put_tries ends
 * the line of a job: its tries and the reason, and prints mq_put_wait. */
void	mq_put_message(const struct mq_msg *);
void	mq_put_job(const struct mq_queue *, const struct mq_job *,
	    const char *po);
void	mq_put_tries(const struct mq_queue *, const struct mq_job *,
	    const char *po, const char *reason);
void	mq_put_wait(const struct mq_job *);
/* Says so when there is nothing to show: 1. */
int	mq_show_none(const struct mq_queue *, const struct mq_view *);
void	mq_show_list(struct mq_queue *, const struct mq_view *);
void	mq_show_counts(const struct mq_queue *, int scheduler);
void	mq_put_totals(const struct mq_queue *);	/* the list's last line */
/* By destination; -1 when there is no memory for that. */
int	mq_show_shape(struct mq_queue *, const struct mq_view *);
int	mq_show_sizes(const struct mq_queue *, const struct mq_view *);
void	mq_json_spool(const char *why, const char *po);
void	mq_show_json(struct mq_queue *, const struct mq_view *);
void	mq_json_dest(const struct mq_dest *);
/* What is beside the queue, an object each. */
void	mq_json_around(const struct mq_queue *);
/* Prints a look at the queue and the changes since the last look, seconds ago;
 * last may be empty (no msgs).  0, or -1 without memory.  mq_watch_begin comes
 * before all output of a look (watch.c). */
void	mq_watch_begin(void);
int	mq_show_watch(const struct mq_queue *, struct mq_queue *last,
	    long every, double seconds);
/* What is known of destinations, by name; -1 when there is no memory. */
int	mq_show_dests(const struct mq_queue *, const struct mq_view *,
	    int json);

/* ---- filters (pick.c) ---------------------------------------------- */

/* mq_pick: which messages are meant. */
struct mq_pick {
	unsigned long given;	/* bits: filters that were given */
	char	**from, **to, **dest;	/* patterns, or NULL */
	const char *msgid;	/* a Message-ID, or NULL */
	long	older, younger;	/* seconds; -1: any age */
	unsigned long states;	/* bits; 0: any state */
	/* to be set behind mq_pick_init */
	int	whole;		/* a command: messages are meant, not jobs */
	int	jobs;		/* ... but of these only jobs */
	int	careful;	/* a message must be meant as a whole */
	int	released;	/* only those that are held by their name */
	const char *name;	/* of the one, without directories; NULL */
	const char *hold;	/* jobs that this pattern holds; NULL */
	unsigned long found;	/* messages */
	unsigned long parts;	/* ... left alone, as they go to others, too */
};

void	mq_pick_init(struct mq_pick *);
/* Reads a word such as "from=anna@a.example": 1, 0 if it is no filter, or -1
 * after saying why. */
int	mq_pick_word(struct mq_pick *, const char *word);
/* mq_pick_begin hides all jobs, mq_pick shows those that pass, and mq_pick_end
 * hides destinations without jobs.  0, or -1 after saying why. */
void	mq_pick_begin(struct mq_queue *);
int	mq_pick(struct mq_pick *, struct mq_queue *, const struct mq_view *);
/* Does "text/end" in small letters match one of the patterns? */
int	mq_match(char *const *patterns, const char *text, const char *end);
void	mq_pick_end(struct mq_queue *);

/* ---- commands (verbs.c) -------------------------------------------- */

/* mq_order: a command, and what it is about. */
struct mq_order {
	const char *verb;	/* NULL: none, what follows is a listing's */
	char	**what;		/* messages and patterns, as given */
	unsigned n, room;
	int	dry;		/* it is only shown */
	int	show;		/* mailq show */
	struct mq_pick pick;
	const char *filter;	/* the words of filters, NULL: none */
};

int	mq_is_verb(const char *);
/* The command, or show, that the word is but for two letters, or NULL. */
const char *mq_verb_meant(const char *);
/* Takes what stands behind the verb: 0, or an exit code after saying why. */
int	mq_order_words(struct mq_order *, int n, char **word);
/* Replaces other names of messages by the names of their files: 0, or an exit
 * code after saying why. */
int	mq_order_names(struct mq_order *, const char *po, const char *logfile);
/* Picks the messages of a command, or those of a listing that pass: 0 with an
 * exit code, or -1 with one if nothing could be picked. */
int	mq_order_pick(struct mq_order *, struct mq_queue *,
	    const struct mq_view *, int *rc);
/* Shows what it would be about: an exit code. */
int	mq_order_show(struct mq_order *, struct mq_queue *,
	    const struct mq_view *);
/* Sends the command, message by message if the queue was picked from; q is NULL
 * without filters.  An exit code. */
int	mq_order_do(struct mq_order *, struct mq_ask *, struct mq_queue *,
	    const struct mq_view *);

/* ---- one message (story.c) ----------------------------------------- */

/* Takes a line of the report, for what it says of agents. */
void	mq_story_line(void *, const char *line);
/* Shows the messages that were named, or that filters match, with their part of
 * the log: an exit code. */
int	mq_story(struct mq_order *, struct mq_queue *, const struct mq_view *,
	    const char *logfile);

#endif
