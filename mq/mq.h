/*
 * mq.h - the structs and functions that modules of mailq share.
 *
 * They are in the order of the modules, lowest first.  mailq links nothing of
 * the scheduler but lib/, so the dump is written and read by separate code.
 */
#ifndef MQ_H
#define MQ_H

#include "../lib/office.h"
#include "../lib/agent.h"
#include "../lib/ctlfile.h"
#include "../lib/path.h"
#include "../lib/util.h"

#define MQ_PATH_MAX	1024	/* bytes in a path that we build */
#define MQ_TOKEN_MAX	32768	/* bytes in a field that is kept; the line of a
				 * thread with FD_SETSIZE agents is shorter */
#define MQ_WORD_MAX	1024	/* bytes in a channel or a host */
#define MQ_NAME_MAX	256	/* bytes in a message's name */
#define MQ_WHY_MAX	1000	/* bytes of an error message */

/* ---- the queue as a dump has it (model.c) -------------------------- */

/*
 * The state of a job.  MQ_OTHER: the dump has no words for the state, or words
 * that mailq does not know and keeps in mq_job.what.  Protocol 2 has one word
 * for a job that waits for its turn and for a job that runs; both are MQ_OTHER.
 * MQ_SPOOL: no scheduler answered.  MQ_SKIPPED is the state of a skipped
 * message, which has no jobs.
 */
enum mq_state {
	MQ_OTHER, MQ_RETRY, MQ_HOST, MQ_RUN, MQ_LIMIT, MQ_NEXT, MQ_AGENT,
	MQ_HELD, MQ_QUEUEONLY, MQ_FROZEN, MQ_COMMAND, MQ_EVICTED, MQ_SPOOL,
	MQ_SKIPPED
};

extern const char *const mq_state_name[];	/* as on the wire */
/* Returns the state with this name of n bytes, or -1. */
int	mq_find_state(const char *, size_t n);

#define MQ_UNKNOWN	(-1)	/* in place of a number: not known, unless the
				 * comment of the member says otherwise */
#define MQ_NEVER	INT_MIN	/* mq_job.expires: never, or not known */

/* mq_word: a text that is stored once for all its users. */
struct mq_word {
	struct hlink link;
	unsigned id;		/* only in mq_queue.messages: index of the
				 * message with this name */
	char	s[1];
};

/* mq_dest_state: the state of a destination that -D shows; MQ_DEAD is shown as
 * "retry". */
enum mq_dest_state { MQ_ACTIVE, MQ_IDLE, MQ_CLOSED, MQ_DEAD, MQ_UNUSED };

extern const char *const mq_dest_state_name[];

/* mq_facts: what the scheduler knows of a destination. */
struct mq_facts {
	double	window, limit;	/* agents; limit 0: not known */
	double	agents, idle;	/* agents with jobs, agents without */
	double	good, bad;	/* reports */
	double	cohorts;	/* failed cohorts, in hundredths */
	double	dead;		/* seconds to the next try; MQ_UNKNOWN: alive */
	double	tries;		/* failures in a row */
	double	ready, waiting;	/* jobs in core; MQ_UNKNOWN: the scheduler has
				 * no thread for the destination now */
	double	unused;		/* seconds without a job */
	const char *rate, *reason;	/* "": none */
};

/* mq_dest: a channel and a host.  host is "" until it is known. */
struct mq_dest {
	struct hlink link;
	const char *channel, *host;
	unsigned id;		/* gives destinations an order */
	unsigned njobs;
	/* while the spool is read: index + 1 of the last message for this
	 * destination, and index of its job */
	unsigned msg, job;
	int	hidden;		/* a filter or option -f hides all jobs */
	struct mq_facts *facts;	/* NULL: no facts */
	struct mq_dest *next;	/* list of all destinations, in no order */
};

/*
 * mq_job: all recipients of a message with one channel and host, or a portion
 * of them (maxrcpts); a vertex line of the dump.  There may be a million: only
 * members that each job needs are here.
 */
struct mq_job {
	struct mq_dest *dest;
	const char *reason;	/* of the last deferral; "": none */
	const char *what;	/* more about the state; "": nothing */
	unsigned qid;		/* number on the wire */
	unsigned msg;		/* index of its message */
	unsigned next_job;	/* index + 1 of the next job of the message; 0:
				 * none */
	unsigned nrcpt;
	unsigned low, high;	/* least and largest offset of a recipient */
	int	next;		/* seconds until the next try */
	int	expires;	/* seconds; negative: overdue */
	int	tries;
	int	pid;		/* process of the agent; 0: none */
	unsigned char state;	/* enum mq_state */
	unsigned char known;	/* "Facts:" had a line on the job */
	unsigned char hidden;	/* a filter or option -f hides the job */
};

struct mq_msg {
	const char *name;	/* [X/[Y/]]123-45 */
	const char *sender;	/* NULL: not known */
	const char *skipped;	/* why the message is not in core, or NULL */
	int	next;		/* skipped: seconds until it is read */
	double	size;		/* bytes; negative: not known */
	int	age;		/* seconds; MQ_UNKNOWN */
	unsigned first, last;	/* index + 1 of the message's first job and of
				 * its last one; 0: no job */
	unsigned char held, known;	/* known: size, age and sender need not
					 * be read from the spool */
	unsigned char over;	/* only the DSN to the sender is left */
	unsigned char unread;	/* the control file could not be read */
	unsigned char picked;	/* a filter or option -f shows the message */
};

/* mq_why: the reason of one recipient, if the recipients of the job have
 * different reasons. */
struct mq_why {
	unsigned msg;		/* index of the message */
	unsigned long off;	/* offset of the recipient's line */
	const char *reason;
};

/*
 * mq_note: a hold on an address or a message, a message file without a control
 * file, or a message in freezer/.
 */
enum mq_kind { MQ_HOLD_ADDRESS, MQ_HOLD_MESSAGE, MQ_ORPHAN, MQ_FREEZER,
	       MQ_KINDS };

struct mq_note {
	enum mq_kind kind;
	const char *what;
	long	age;		/* seconds; MQ_UNKNOWN */
};

/* mq_unrouted: a message that submit -q could not route yet. */
struct mq_unrouted {
	const char *num;	/* name of the message in deferred/ */
	const char *reason;	/* "": not known */
	long	age;		/* seconds; MQ_UNKNOWN */
	int	tries;		/* 0: not known */
	int	next;		/* seconds until the next try; 0: due */
};

/* What happened since the scheduler was started, in the order of the dump. */
enum mq_total {
	MQ_ACCEPTED, MQ_DELIVERED, MQ_DEFERRED, MQ_FAILED, MQ_DSNS,
	MQ_SET_ASIDE, MQ_TOTALS
};

/*
 * mq_queue: the whole queue.  Adding an element takes O(1) expected; arrays are
 * in the order of adding.
 */
struct mq_queue {
	struct mq_msg *msgs;
	struct mq_job *jobs;
	struct mq_why *whys;	/* sorted by mq_why_sort */
	struct mq_dest *dests;
	unsigned nmsgs, njobs, nwhys, nnotes, ndests;
	unsigned room_msgs, room_jobs, room_whys, room_notes;
	double	bytes;		/* memory in use */
	double	stored;		/* messages, by the scheduler's report;
				 * MQ_UNKNOWN: not known */
	/* each age is that of the oldest message, in seconds, or MQ_UNKNOWN */
	int	evicted;	/* messages that are only on disk; the scheduler
				 * calls them forgotten */
	int	evicted_age;
	int	aside;		/* messages in postman/; MQ_UNKNOWN */
	int	bounces;	/* double bounces in postman/ */
	int	aside_age;
	int	router;		/* messages in the directories of
				 * office_read_routers(); MQ_UNKNOWN */
	int	router_age;
	char	router_why[MQ_WHY_MAX];	/* why router is unknown, or "" */
	struct mq_unrouted *unrouted;	/* the messages of deferred/, oldest
					 * first */
	int	nunrouted;	/* elements of unrouted; MQ_UNKNOWN: deferred/
				 * cannot be read */
	struct mq_note *notes;
	double	totals[MQ_TOTALS];	/* totals[0] MQ_UNKNOWN: none */
	int	uptime;		/* seconds; MQ_UNKNOWN */
	int	facts;		/* the dump had the part "Facts:", so the
				 * scheduler is ours */
	int	strays_read;	/* mq_read_strays has run */
	int	evicted_read;	/* mq_read_evicted has run */
	int	endless;	/* the vertices had no "End:" */
	/* the caller sets the next three before the dump is read */
	void	(*report)(const char *);	/* gets each line of the report;
						 * or NULL */
	int	no_queue;	/* messages and jobs are not read */
	int	with_dests;	/* facts of destinations are kept */
	int	filtered;	/* a filter hides jobs or destinations */
	char	postoffice[MQ_PATH_MAX];	/* in the dump; "": none */
	struct hash words;	/* mq_word: texts */
	struct hash messages;	/* mq_word: names of messages, with id */
	struct hash dest_table;	/* mq_dest */
	unsigned seed;
};

/* mq_sum: counts of what the listing shows. */
struct mq_sum {
	unsigned long msgs, jobs, dests, held, running, waiting, skipped;
	unsigned long unread;	/* messages with unread set, also hidden ones */
	double	rcpts;
	int	oldest;		/* seconds; MQ_UNKNOWN */
};

int	mq_init(struct mq_queue *);	/* 0 or -1 */
void	mq_free(struct mq_queue *);
/* Functions that return a pointer to a new element return NULL if there is no
 * memory, or the queue has all the memory that it may have.  mq_intern stores a
 * text once, and mq_dest_get adds a destination once. */
const char *mq_intern(struct mq_queue *, const char *);
struct mq_dest *mq_dest_get(struct mq_queue *, const char *channel,
	    const char *host);
/* Sets the facts of a destination that has none: 0, or -1 without memory. */
int	mq_dest_set_facts(struct mq_queue *, struct mq_dest *,
	    const struct mq_facts *);
enum mq_dest_state mq_dest_get_state(const struct mq_facts *);
/* Returns the message with this name; with make, adds a missing message.  NULL:
 * not found, or no memory. */
struct mq_msg *mq_msg_get(struct mq_queue *, const char *name, int make);
struct mq_job *mq_job_add(struct mq_queue *, struct mq_msg *);
/* Sets the members to unknown or none. */
void	mq_job_init(struct mq_job *);
/* Returns the state of the message's job; MQ_HELD for all jobs of a held
 * message but the running ones. */
enum mq_state mq_job_get_state(const struct mq_msg *, const struct mq_job *);
/* Sorts the jobs by number, for mq_job_by_qid: 0, or -1 if two jobs have the
 * same number. */
int	mq_job_sort(struct mq_queue *);
struct mq_job *mq_job_by_qid(struct mq_queue *, unsigned qid);
/* mq_why_add adds the reason of the recipient at this offset: 0 or -1.
 * mq_why_sort must be called between mq_why_add and mq_why_find.  mq_why_find
 * returns "" if the recipient has no reason of its own. */
int	mq_why_add(struct mq_queue *, unsigned msg, unsigned long off,
	    const char *reason);
void	mq_why_sort(struct mq_queue *);
const char *mq_why_find(const struct mq_queue *, const struct mq_msg *,
	    unsigned long off);
int	mq_note_add(struct mq_queue *, enum mq_kind, const char *what,
	    long age);		/* 0, or -1 without memory */
unsigned mq_note_count(const struct mq_queue *, enum mq_kind);
/* Returns 1 if no filter hides the message. */
int	mq_is_shown(const struct mq_queue *, const struct mq_msg *);
/* Counts what the filters do not hide. */
void	mq_sum_up(const struct mq_queue *, struct mq_sum *);

/* ---- where a dump comes from (ask.c) ------------------------------- */

/* mq_in: a dump while it is read. */
struct mq_in {
	int	fd;
	int	fifo;		/* fd is a pipe of our own */
	int	begun;		/* the first byte was read */
	int	silent;		/* no byte came in time */
	long	first;		/* seconds to wait for the first byte */
	size_t	have, used;	/* bytes in buf, bytes of it consumed */
	char	why[MQ_WHY_MAX];	/* error that ended a dump; "": none */
	char	buf[8192];
};

/* mq_ask: the places where a scheduler may answer, tried in turn. */
struct mq_ask {
	const char *host, *port, *pipe;		/* as given, or NULL */
	const char *postoffice;
	const char *rendezvous;
	int	place;		/* number of the next place, from 0 */
	int	address;	/* index of the host's next address */
	int	local;		/* the scheduler is on this machine */
	int	denied;		/* we have no permission to open a pipe */
	int	silent;		/* a place took our request and sent nothing */
	int	two;		/* the scheduler has protocol 2, so our side of
				 * the connection stays open */
	int	cleared;	/* pipes of killed runs were removed */
	char	why[MQ_WHY_MAX];	/* why the earlier places failed */
	struct mq_in in;
};

/* Asks the places in turn: 0 if one answers, with its first bytes in a->in; -1
 * if none is left, with the reason of each in a->why. */
int	mq_ask_next(struct mq_ask *);
void	mq_ask_close(struct mq_ask *);
/* Connects once more, for protocol 2, to the TCP address that has answered.  If
 * that address does not answer now, tries the host's next addresses.  Returns
 * what mq_ask_next returns. */
int	mq_ask_again(struct mq_ask *);
/* Adds a reason to a->why. */
void	mq_ask_add_why(struct mq_ask *, const char *, ...) LIKE_PRINTF(2, 3);
/* Returns the next byte; or -1 at the end, or with an error in in->why. */
int	mq_read_byte(struct mq_in *);
/* Sends "VERB WHAT" to the scheduler's command pipe: 0 with the answer in
 * a->in, or -1 with a->why. */
int	mq_ask_command(struct mq_ask *, const char *verb, const char *what);

/* ---- reading a dump (read.c, two.c, md5.c) ------------------------- */

#define MQ_TOO_LARGE	"the queue does not fit into mailq's memory; " \
			"mailq -Q shows a summary"

enum mq_read {
	MQ_READ_ERROR = -1,	/* with the reason in why */
	MQ_READ_DONE,
	MQ_READ_TWO		/* the scheduler has protocol 2 */
};

/* Reads a dump into the queue. */
enum mq_read mq_read_dump(struct mq_queue *, struct mq_in *,
	    char why[MQ_WHY_MAX]);

/* Reads the queue, or with no_queue the report, by protocol 2, on a new
 * connection: 0, or -1 with the reason in why.  login is "user/password"; NULL:
 * the logins of scheduler.auth (two.c). */
int	mq_read_protocol_2(struct mq_queue *, struct mq_in *, const char *login,
	    char why[MQ_WHY_MAX]);
/* Makes the MD5 of a text, in hexadecimal (md5.c). */
void	mq_md5(const char *, char hex[33]);

/* ---- words for people (words.c) ------------------------------------ */

/* Prints a byte, or a text; control and 8-bit bytes and backslashes as \ooo. */
void	mq_put_byte(FILE *, int);
void	mq_put(FILE *, const char *);
/* Returns the next byte of the reason, a blank for the end of a line, 0 at the
 * end; and moves the pointer behind that byte. */
int	mq_next_joined_byte(const char **);
/* Returns ": REASON", or "" for no reason; valid until the next call. */
const char *mq_reason_suffix(const char *);
/* As printf, but mq_put prints the text of each %s; a %s must not have a width.
 * mq_complain prints a line "mailq: ..." on the standard error. */
void	mq_print(const char *, ...) LIKE_PRINTF(1, 2);
void	mq_complain(const char *, ...) LIKE_PRINTF(1, 2);
/* Complains that there is not enough memory.  Returns X_UNAVAILABLE. */
int	mq_fail_memory(void);
#define MQ_SCREEN_MAX	1000	/* columns and lines at most */
/* Texts such as "5m", "3 files", "next 14:05 (in 5m)"; each is valid until the
 * fourth call after it. */
const char *mq_span(long seconds);
const char *mq_plural(double n, const char *what);
const char *mq_next_try(int seconds);
/* Prints the destination in so many columns; a longer name is cut and ends with
 * a '+'.  NULL: prints "all". */
void	mq_put_name(const struct mq_dest *, int columns);
/* Returns the columns that are left for a name in a row with so many other
 * columns, and sets *lines to the lines of the screen.  The size of the screen
 * comes from the environment, or from the terminal, or is 80 and 24. */
int	mq_name_columns(int others, int *lines);
/* Compares destinations by channel and host. */
int	mq_by_name(const struct mq_dest *, const struct mq_dest *);
/* Prints a reason as a line below the row, cut to so many columns. */
void	mq_put_below(const char *reason, int columns);

/* ---- beside the queue (around.c) ------------------------------------ */

/* Counts the mail beside the queue, as far as we may; reads the holds, too, if
 * we are alone, which means that no scheduler has answered.  0, or -1 without
 * memory. */
int	mq_read_around(struct mq_queue *, const char *po, int alone);
/* Finds message files whose control file is missing or empty.  If the dump has
 * the message, the message becomes unread.  If not, a file younger than a
 * minute is ignored, an empty control file adds an unread message, and a
 * missing one adds a note.  0, or -1 without memory. */
int	mq_read_strays(struct mq_queue *, const char *po);
/* Prints mail and holds beside the queue, one on each line, with postman/ or
 * without; nothing if there is a filter. */
void	mq_put_around(const struct mq_queue *, int postman);
/* Prints the number of evicted messages, and the number of messages in postman/
 * if there is no filter: "; 2 evicted; 3 set aside (1 double bounce), the
 * oldest 2d old". */
void	mq_put_not_listed(const struct mq_queue *);
/* Prints the counts of -c for mail beside the queue. */
void	mq_put_around_counts(const struct mq_queue *);

/* ---- mail in deferred/ and freezer/ (unrouted.c) ------------------- */

struct mq_order;

/* Reads the messages of po/deferred, oldest first, as far as we may: 0, or -1
 * without memory. */
int	mq_read_unrouted(struct mq_queue *, const char *po);
/* Prints what mailq show says of po/deferred/NUM: its tries and reason. */
void	mq_put_deferred(const char *po, const char *num);
/* Releases the messages of deferred/ and freezer/ that words of the command
 * match; a dry run only prints which messages these are.  Removes these words
 * from the command, except "all".  Returns an exit code. */
int	mq_release_words(struct mq_order *, const char *po);

/* ---- names of messages (name.c) ------------------------------------ */

/* Returns 1 if the text may be a spool id or the beginning of one. */
int	mq_is_id(const char *);
/* Returns NAME of freezer/NAME; NULL: the text is no such name. */
const char *mq_frozen_name(const char *);
/* Returns N for the text N, deferred/N or DIR/N, where DIR is one of
 * office_read_routers(); NULL: the text is no such name. */
const char *mq_router_num(const char *);
/* Returns the directory that has the file num, valid until the next call: one
 * of office_read_routers(), "deferred" or "freezer"; NULL: none has it. */
const char *mq_find_unqueued_dir(const char *po, const char *num);
/* Makes the spool id of the message: 0, or -1 if it is not known. */
int	mq_make_id(const char *name, const char *po, char *id, size_t size);
/* Compares a wanted id, or the beginning of one, with the id of a message. */
enum mq_same { MQ_DIFFERS, MQ_BEGINS, MQ_SAME };
enum mq_same mq_compare_id(const char *id, const char *wanted);
/* Counts the messages of the queue whose name or id begins with the word, and
 * copies the last name; a message whose whole name is the word counts alone.
 * If q is NULL, counts messages of the spool; errno is not 0 if a directory of
 * the spool cannot be read. */
unsigned mq_find_names(const struct mq_queue *q, const char *po,
	    const char *word, char name[MQ_NAME_MAX]);
/* Opens a log.  Only a regular file can be read twice, so for other kinds the
 * result is NULL, with the errno EISDIR for a directory, else ESPIPE. */
FILE	*mq_log_open(const char *path);
/* Copies the word behind a key such as " id=" of a log line: 0 or -1. */
int	mq_log_word(const char *line, const char *key, char *word,
	    size_t size);
/* Finds the id of the message that the file num of router/ or deferred/ became,
 * in the logs of submit -q and the scheduler: 0 or -1. */
int	mq_find_accepted(const char *logfile, const char *num, char *id,
	    size_t size);
/* Finds the only message of the spool with this name or beginning, and copies
 * its name with hash directories: 0, or -1 after saying why. */
int	mq_find_file(const char *word, const char *po, const char *logfile,
	    char name[MQ_NAME_MAX]);

/* ---- control files (spool.c) --------------------------------------- */

/* Reads the spool: 0, or an exit code with the reason in why. */
int	mq_read_spool(struct mq_queue *, const char *po, char why[MQ_WHY_MAX]);
/* Adds the evicted messages from the spool.  Returns what mq_read_spool
 * returns. */
int	mq_read_evicted(struct mq_queue *, const char *po,
	    char why[MQ_WHY_MAX]);
/* Reads sender, size and age of messages for which the dump has none.  For a
 * skipped message, also adds the commands in its control file to the member
 * skipped: "REASON; smtp/a.example is to be deleted". */
void	mq_read_missing(struct mq_queue *, const char *po);

/* mq_view: options of a listing. */
struct mq_view {
	int	verbose;
	const char *postoffice;	/* NULL: not on this machine */
	const char *filter;	/* NULL: none */
};

struct mq_rcpt {
	const struct mq_dest *dest;
	unsigned off;		/* offset of its line in the control file */
	const char *reason;	/* "": the job's reason, or none */
	char	*user;
};

/* mq_rcpts: the pending recipients of a message that pass the filters, sorted
 * by destination. */
struct mq_rcpts {
	struct mq_rcpt *v;
	unsigned n, room;
	unsigned more;		/* recipients that v has no room for */
	unsigned pending;	/* all pending recipients of the message */
	const char *msgid;	/* Message-ID, valid until the next reading */
	const char *why;	/* why v lacks recipients; NULL: no
				 * error */
	int	gone;		/* the control file does not exist */
};

/* Opens the control file for the functions of lib/origin.h: 0, or -1 with
 * errno. */
struct diags;	/* of lib/origin.h */
int	mq_open_diags(struct diags *, const char *po, const char *name);
struct mq_pick;
/* Reads the recipients that pass the filters; no filters (NULL): all. */
void	mq_read_rcpts(struct mq_rcpts *, struct mq_queue *,
	    const struct mq_msg *, const struct mq_view *,
	    const struct mq_pick *);
/* Returns the first recipient of this job, and sets *n to the number of the
 * job's recipients; if that is 0, the pointer is not to be used. */
struct mq_rcpt *mq_rcpts_find(const struct mq_rcpts *, const struct mq_job *,
	    unsigned *n);
void	mq_rcpts_free(struct mq_rcpts *);

/* ---- listings (show.c, shape.c, json.c, dests.c, watch.c) ---------- */

/* Print lines about a message and a job.  mq_put_tries ends the line of a job
 * with its tries and the reason, and prints what the job waits for. */
void	mq_put_message(const struct mq_msg *);
void	mq_put_job(const struct mq_queue *, const struct mq_job *,
	    const char *po);
void	mq_put_tries(const struct mq_queue *, const struct mq_job *,
	    const char *po, const char *reason);
/* Returns 1 after saying that the listing is empty; or 0 if it is not. */
int	mq_say_if_empty(const struct mq_queue *, const struct mq_view *);
void	mq_show_list(struct mq_queue *, const struct mq_view *);
/* Prints the counts of -c; answered: 1 if a scheduler answered. */
void	mq_show_counts(const struct mq_queue *, int answered);
void	mq_put_totals(const struct mq_queue *);	/* prints the last line of a
						 * list */
/* Print the queue by destination: 0, or -1 without memory. */
int	mq_show_dest_ages(struct mq_queue *, const struct mq_view *);
int	mq_show_dest_sizes(const struct mq_queue *, const struct mq_view *);
/* Prints the object that says that the spool of po is shown, and why no
 * scheduler answers. */
void	mq_json_spool(const char *why, const char *po);
void	mq_show_json(struct mq_queue *, const struct mq_view *);
void	mq_json_dest(const struct mq_dest *);
/* Prints mail beside the queue, one object on each line. */
void	mq_json_around(const struct mq_queue *);
/* Prints a screen of the queue, and what has changed since the screen before.
 * last is the queue of that screen, or empty (no msgs); seconds is the time
 * between the two screens.  0, or -1 without memory. */
int	mq_show_watch(const struct mq_queue *, struct mq_queue *last,
	    long every, double seconds);
/* Prints the facts of destinations, by name: 0, or -1 without memory. */
int	mq_show_dests(const struct mq_queue *, const struct mq_view *,
	    int json);

/* ---- filters (pick.c) ---------------------------------------------- */

/* mq_pick: filters of messages and their result. */
struct mq_pick {
	unsigned long given;	/* bits: filters that were given */
	char	**from, **to, **dest;	/* patterns, or NULL */
	const char *msgid;	/* a Message-ID, or NULL */
	long	older, younger;	/* seconds; -1: any age */
	unsigned long states;	/* bits; 0: any state */
	/* the caller sets the next six after mq_pick_init */
	int	whole;		/* a command: picks messages, not jobs */
	int	only_jobs;	/* a command on a pattern: jobs that do not pass
				 * are left as they are, and stay hidden */
	int	careful;	/* all recipients of a message must pass */
	int	only_held;	/* picks messages held by their name */
	const char *name;	/* name without directories; NULL: any */
	const char *hold;	/* picks jobs that this pattern holds; NULL:
				 * any */
	unsigned long found;	/* messages that pass */
	unsigned long parts;	/* messages left alone, as some recipients do
				 * not pass */
};

enum mq_word_kind {
	MQ_BAD_FILTER = -1,	/* mailq has said why */
	MQ_NO_FILTER,
	MQ_FILTER
};

void	mq_pick_init(struct mq_pick *);
/* Returns 1 if the recipient passes the filters on recipients. */
int	mq_rcpt_passes(const struct mq_pick *, const struct mq_dest *,
	    const char *user);
/* Reads the word if it is a filter, such as "from=anna@a.example". */
enum mq_word_kind mq_pick_parse(struct mq_pick *, const char *word);
/* mq_pick_begin hides all jobs, and mq_pick unhides those that pass: 0, or -1
 * after saying why.  mq_pick_recount counts the jobs of destinations and the
 * evicted messages again, now only what passed, and hides destinations without
 * jobs. */
void	mq_pick_begin(struct mq_queue *);
int	mq_pick(struct mq_pick *, struct mq_queue *, const struct mq_view *);
/* Returns 1 if "before/behind", in lower case, matches one of the patterns. */
int	mq_has_match(char *const *patterns, const char *before,
	    const char *behind);
void	mq_pick_recount(struct mq_queue *);

/* ---- commands (verbs.c) -------------------------------------------- */

enum mq_verb {
	MQ_LIST,		/* no verb: a listing */
	MQ_FLUSH, MQ_HOLD, MQ_RELEASE, MQ_DELETE, MQ_BOUNCE, MQ_SHOW, MQ_VERBS
};

/* mq_order: a command and its arguments. */
struct mq_order {
	enum mq_verb verb;
	char	**what;		/* messages and patterns, as given */
	unsigned n, room;
	int	dry;		/* option -n: only show what the command would
				 * affect */
	struct mq_pick pick;
	const char *filter;	/* filter_text; NULL: no filter was given */
	char	filter_text[MQ_TOKEN_MAX];	/* the words of the filters, to
						 * be printed */
};

/* Returns the verb with this name; MQ_LIST: the word is no verb. */
enum mq_verb mq_find_verb(const char *);
/* Returns 1 for the verb of a command to the scheduler. */
int	mq_is_command(enum mq_verb);
/* Returns the verb that the word differs from by up to two letters, or NULL. */
const char *mq_guess_verb(const char *);
/* Parses the words behind the verb: 0, or an exit code after saying why. */
int	mq_order_parse(struct mq_order *, int n, char **word);
/* Replaces each word that names a message, such as a spool id (name.c), by the
 * name of the message's file, unless the word is that name: 0, or an exit code
 * after saying why. */
int	mq_order_resolve(struct mq_order *, const char *po,
	    const char *logfile);
/* Picks the messages that a command is about or a listing shows: 0, or -1 if a
 * control file cannot be read.  Sets *rc to an exit code, which is not 0 if
 * some messages could not be picked. */
int	mq_order_pick(struct mq_order *, struct mq_queue *,
	    const struct mq_view *, int *rc);
/* Shows what the command would affect: an exit code. */
int	mq_order_dry_run(struct mq_order *, struct mq_queue *,
	    const struct mq_view *);
/* Sends the command for each word, or for each message of q that passes the
 * filters; q is NULL without filters.  Returns an exit code. */
int	mq_order_send(struct mq_order *, struct mq_ask *, struct mq_queue *,
	    const struct mq_view *);

/* ---- one message (story.c) ----------------------------------------- */

/* Keeps a line of the report if the line names agents. */
void	mq_keep_thread(const char *line);
/* Shows the named messages, or those that pass the filters, with their part of
 * the log: an exit code. */
int	mq_show_story(struct mq_order *, struct mq_queue *,
	    const struct mq_view *, const char *logfile);

#endif
