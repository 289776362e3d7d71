/*
 * modules.h - the functions of each module of the daemon, lowest first.
 *
 * A module calls only those above it on this page (t/layers.t).  scheduler.h
 * includes this file at its end; no .c file includes it directly.
 */
#ifndef MODULES_H
#define MODULES_H

/* ======================================================================
 * spool.c - the directories of the post office
 * ====================================================================== */

/* Makes and checks the directories and changes to transport/: 0, or the exit
 * code after logging the reason.  look: makes nothing, and only checks the
 * directories that exist, if root or their owner calls. */
int	spool_setup(int look);
/* The next entry that may be a control file, as a path below transport/: 1, or
 * 0 when there is none now.  Names from datagrams come first; the scan goes on
 * where it was, and sets q.scanned.
 * spool_note_changes: notes changed directories, once in each pass.
 * spool_prep adds the socket for datagrams; *max is the largest descriptor so
 * far: seconds until spool_next may find an entry. */
int	spool_next(char *name);
void	spool_note_changes(void);
double	spool_prep(fd_set *in, int *max);
/* The control file is forgotten until then, mono: its directory is read again
 * for it. */
void	spool_again(const char *name, double when);
/* Was the message, whose file has this time of status change, offered by a scan
 * of its directory before? */
int	spool_was_offered(const char *name, long changed);
/* May it be loaded?  Not if it is a forgotten file whose directory is not due
 * yet, and not (look) if it is no regular file. */
int	spool_may_load(const char *name, int look);
/* Where below transport/ the file with this name is: 0, or -1. */
int	spool_where(const char *base, char *name);
/* Puts a new control file and its message file into their hash directory
 * (changes name) and looks at the message file.  0; -1: not now, try again
 * later; 1: there is no message file. */
int	spool_place(char *name, struct stat *message);
/* Removes both files, message first: 0 or -1. */
int	spool_remove(const char *name);
/* Was the control file removed by another program? */
int	spool_gone(const char *name);
/* Moves both files to postman/: 0, or -1 when they cannot be moved.  A double
 * bounce gets its mark. */
int	spool_set_aside(const char *name, int bounce, const char *why);
/* One line into the message's verbose log, when it has a usable one. */
void	spool_verbose(const char *name, const char *line);
/* Opens the socket for datagrams "NEW name", in place of the one before; NULL,
 * or built without sockets: none. */
void	spool_listen(const char *path);

/* ======================================================================
 * feedback.c - the rules of a destination: windows, rates, waits
 * ====================================================================== */

/* A good or bad report; jobs whose agent died are not reported.  all: the host
 * accepts no mail at all now, so a destination with maxthr=1 is dead.  If the
 * window is 0 afterwards, the caller calls th_sleep. */
void	fb_good(struct thread *);
void	fb_bad(struct thread *, int all);
void	fb_lift(struct thread *);	/* its dead time ends */
/* How many more agents it may have, without regard to its rate; 0 when it is
 * dead.  busy: agents that work for it. */
long	fb_room(const struct thread *, long busy);
/* Seconds until the rate allows a delivery to start; 0: now. */
double	fb_wait(const struct thread *);
void	fb_started(struct thread *);	/* a delivery starts now */

/* Seconds until the next try, at least 1.  *step is the place in the list
 * and is moved on.  tries, from 1, is how often it was deferred; wall is for
 * the alignment, 0: without it. */
long	retry_wait(const struct setting *, unsigned short *step,
	    unsigned tries, time_t wall);
/* The wait for the largest factor of the list, seconds, at least 1. */
long	retry_longest(const struct setting *);
/* The place in the list for a vertex that is age seconds old. */
unsigned short retry_step(const struct setting *, long age);

/* ======================================================================
 * cf.c - the clause language
 * ====================================================================== */

/* Reads the file, and the PARAMs that the file of -Z has.  Every error is given
 * to say as one line "file:line: keyword: reason" without a newline; NULL when
 * there was any, with EAGAIN if all of them may pass. */
struct config *cf_load(const char *file, void (*say)(const char *));
void	cf_free(struct config *);
/* The settings for the address: clauses in order, later values override, the
 * first command ends the search (seed 22.1).  The conf belongs to the config;
 * NULL without memory.  Its command is NULL when no clause with one matched. */
struct conf *cf_match(struct config *, const char *channel, const char *host);
const char *cf_var(const char *name);	/* value of ${NAME}; NULL: unknown */

/* keyword: a keyword of a clause, or a PARAM.  Up to T_GROUP the value is a
 * long that is shown as a number, up to T_ANSWER a long; from T_COMMAND on a
 * text. */
enum type { T_SPAN, T_NUMBER, T_FLAG, T_USER, T_GROUP, T_ORDER,
	    T_ANSWER, T_RULE, T_RATE, T_RETRIES, T_TIMES, T_PORT, T_COMMAND,
	    T_PATH, T_FILE, T_HOST };

struct keyword {
	const char *name;	/* NULL: the end of the table */
	enum type type;
	size_t	at, size;	/* of the member of struct setting or config */
	long	min, max;
	const char *def;	/* the default, or NULL */
};

extern const struct keyword cf_keywords[];	/* of clauses */

/* ======================================================================
 * held.c - the list of holds
 * ====================================================================== */

/* Reads the list at start-up, without holds on messages that are gone: 0 or -1.
 */
int	held_load(void);
/* The pattern of the hold on this address, valid until its release; or NULL. */
const char *held_address(const char *channel, const char *host);
/* The hold with this pattern, or on the message with this name; NULL: there is
 * none. */
const struct hold *held_find(int address, const char *text);
/* Sets (on) or releases a hold, on addresses or on a message: 0; 1 when it is
 * so already; -1 with errno and unchanged when it cannot be written to disk. */
int	held_set(int address, const char *text, int on);

/* ======================================================================
 * message.c - messages in core
 * ====================================================================== */

/* The first message in core with this number, or the next one behind that;
 * NULL: there is none. */
struct message *msg_find(unsigned long num, const struct message *after);
/* The message counts for this channel, NULL: for none. */
void	msg_count_in(struct message *, struct chan *);
/* Its vertices, one after the other; NULL at the end. */
#define msg_first(m) ((m)->vertices)
#define msg_next(v) ((v)->other)
/* Makes a NEW vertex of the message, without recipients and on no list of the
 * thread: NULL without memory.  msg_vertex_over: one that is on no list is
 * DONE.  msg_vertex_free: frees one that is on no list. */
struct vertex *msg_vertex(struct message *, struct thread *);
void	msg_vertex_over(struct vertex *);
void	msg_vertex_free(struct vertex *);
/* Adds a recipient behind all others; off is the offset of its line: 0, or -1
 * without memory. */
int	msg_add(struct vertex *, unsigned long off);
/* Its recipient whose line is at off, or NULL. */
struct rcpt *msg_rcpt(const struct vertex *, unsigned long off);
/* The recipient of the vertex is finished: RC_OK or RC_FAILED. */
void	msg_done(struct vertex *, struct rcpt *, int state);
void	msg_narrow(struct vertex *);	/* forgets the finished ones */
void	msg_free(struct message *);	/* with all of that */
/* Adds the different reasons of the vertex's recipients, parted by "; ", as
 * far as there is room. */
void	reason_all(const struct vertex *, struct text *);
/* The recipient of the vertex was deferred for this reason; "": none was given,
 * and it keeps the one before.  A text that core cannot keep is logged. */
void	msg_reason(const struct vertex *, struct rcpt *, const char *);
/* "NAME id=ID" for the log, as ctl_msg, but by the times in core: escaped.
 * Good until the next call. */
const char *msg_id(const struct message *);
int	msg_statlog(void);	/* opens -l's file anew: 0 or -1 */
/* Logs that the recipient at off is finished, and writes its line of -l; off 0:
 * a DSN.  message NULL: an operator deleted it, and it gets no line of -l. */
void	msg_log(const struct vertex *, unsigned long off, int failed,
	    const char *status, const char *message);
/* The sender and the Message-ID for the log, after the file was read: escaped;
 * "" when PARAMlogaddresses is off. */
const char *msg_from(const struct ctl *);
/* Logs that the vertex is deferred until wakeup, mono, or queueonly: a line for
 * each of its recipients, up to a bound, and one for the rest.  relay is the
 * other host, or "". */
void	msg_log_deferred(const struct vertex *, long wakeup,
	    const char *relay);

/* ======================================================================
 * order.c - chooses the vertex that goes next
 * ====================================================================== */

void	list_add(struct list *, struct vertex *);	/* at the end */
void	list_del(struct list *, struct vertex *);

/* Sorts the READY vertices of a thread as its clause says, if enough of them
 * are new. */
void	order_run(struct thread *);
/* Removes a READY vertex from its list; chosen: as an agent gets it. */
void	order_take(struct vertex *, int chosen);
/* order_ready: a vertex of the thread has become READY.  order_open: the thread
 * may take agents now, or no longer. */
void	order_ready(struct thread *, struct vertex *);
void	order_open(struct thread *, int open);
/* The vertex of the ring that goes next, or NULL; it stays where it is until
 * it is taken.  And whether there is any: of a thread with a turn, or of a
 * job. */
struct vertex *order_next(struct ring *);
#define order_waits(r) \
	((r)->ready.n > 0 || ((r)->nopen > 0 && (r)->jobs.n > 0))
/* May a message have one agent more, when so many are free?  (seed: Finch) */
int	order_allowed(const struct message *, long nfree);
/* The message of the vertex is at its share: blocks the vertex, in the
 * preemptive order the whole job, until the message may have more agents: 0, or
 * -1 without memory.  The caller calls th_update. */
int	order_block(struct vertex *);
int	order_blocked(const struct vertex *);	/* 1 while it is, or 0 */
/* Unblocks the job with the fewest agents if its message may have more, when
 * nfree are free: a vertex of it, for whose thread the caller calls th_update;
 * or NULL. */
struct vertex *order_unblock(struct ring *, long nfree);
/* The message has so many more agents. */
void	order_share(struct message *, int more);
void	order_forget(struct message *);		/* frees its jobs */

/* ======================================================================
 * thread.c - the queues of destinations, and the rings of agents
 * ====================================================================== */

/* Uses another configuration, or the first: all threads get its rings. */
void	th_reload(struct config *);
void	th_sweep(void);	/* empty threads become unused; frees old rings */
/* Is the ring of a configuration that was replaced? */
#define ring_is_old(r)	((r)->conf->config != q.config)
struct chan *th_chan(const char *name);		/* NULL without memory */
/* The thread of an address, in use or not; NULL: there is none. */
struct thread *th_find(const struct chan *, const char *host, unsigned box);
/* The thread of an address, with box not 0 that of one mailbox there; made when
 * there is none, and in use from now on.  NULL without memory, and without a
 * channel. */
struct thread *th_get(struct chan *, const char *host, unsigned box);
/* Is its host "-", where mailboxes are the destinations? */
#define th_is_local(t)	(strcmp((t)->host, "-") == 0)
#define th_is_dsn(t)	((t)->ring->conf->dsn)	/* of the channel dsn? */
/* READY vertices of the thread, wherever they stand. */
#define th_nready(t)	((t)->ready.n + (t)->noffer)
/* Why the vertex cannot go now, or WHY_NOT; *until: the end of its wait, mono;
 * 0 or past: it has no time. */
enum why th_why(const struct vertex *, double *until);
/* Computes its timer and its turn again, after a change; the sweep gets it if
 * it is empty. */
void	th_update(struct thread *);
/* Reports or a failed start show that the host is dead: it is so for the next
 * wait of its retry list. */
void	th_sleep(struct thread *);
/* A job has ended, with these reports on its host (HOST_ bits).  The caller
 * calls th_update. */
void	th_feedback(struct thread *, int host);
void	th_due(struct thread *);	/* its timer is due */
/* Makes the vertices for the host due, of queueonly threads too, and ends its
 * dead time; vertices that the current run has deferred stay in WAIT. */
void	th_trigger(const char *host);
/* The same for all vertices of a thread (NULL), or for one that is READY or in
 * WAIT; limits and holds stay. */
void	th_flush(struct thread *, struct vertex *one);
/* Takes a vertex that no agent has off its list, to end it.  The caller calls
 * th_update. */
void	th_out(struct vertex *);
/* Makes the vertex HELD, on no list; or else WAIT until wakeup, mono; or READY
 * if that is past. */
void	th_put(struct vertex *, int held, double wakeup);
/* Checks again whether its address is held: 1 when a hold ended. */
int	th_rehold(struct thread *);
void	th_leave(struct ta *);	/* the agent leaves its thread */
/* The agent has sent its first #hungry. */
void	th_started(struct ta *);
/* Gives a READY vertex to the agent, as last of ta->jobs; that goes to work on
 * its thread, if it is at none. */
void	th_give(struct ta *, struct vertex *);
/* The vertex of its thread that the agent, which is at work there, may have as
 * a further job; NULL: it may have none. */
struct vertex *th_next(const struct ta *);
void	th_unfed(struct vertex *);		/* no agent has it any more */
/* Makes *slot a copy of the text: the reason of a host or a ring. */
void	reason_copy(char **slot, const char *);

/* ======================================================================
 * destdb.c - the file of destinations
 * ====================================================================== */

extern double dest_period;	/* seconds between rounds; less in t/clock.c */

/* A round of files when one is due, or at once, if there is PARAMdestdb: reads
 * our file at a new path, writes changes, reads the files of other hosts, which
 * may make destinations dead.  Seconds until the next one. */
double	dest_round(int at_once);
void	dest_close(void);		/* writes our file at the end */

/* ======================================================================
 * queue.c - messages: arrival, reports, expiry, DSNs and end
 * ====================================================================== */

/* Uses this configuration from now on, for queued mail too. */
void	q_use_config(struct config *);
void	q_run_timers(void);	/* threads wake, vertices expire */
void	q_sweep(void);		/* frees objects that are done */

/* Puts the message into core and its NEW vertices on their threads, each due at
 * its wakeup: 0; or -1 without memory, and the caller still owns it. */
int	q_add_message(struct message *);
/* Removes a message of which no agent has a vertex from core.  Its files stay.
 */
void	q_forget_message(struct message *);
#define q_has_only_dsns(m) ((m)->left == (m)->ndsn)	/* or nothing */
/* Delivers no more of the message and removes it without a DSN, when its agents
 * have reported. */
void	q_drop_message(struct message *, const char *why);
/* Holds the message, or releases it. */
void	q_hold_message(struct message *, int on);
/* What becomes of a vertex that a command names: it is done; in a later pass;
 * when its agent has reported; or not at all, as it is held, or as the disk
 * cannot be written. */
enum outcome { OUT_DONE, OUT_PASS, OUT_REPORT, OUT_HELD, OUT_FAILED,
	       OUTCOMES };
/* Deletes or bounces the vertex; later: in a later pass. */
enum outcome q_cancel_vertex(struct vertex *, enum cancel, int later);
/* When the next warning on the message may be due, mono; or NEVER. */
double	q_next_warning(const struct message *);
/* Expires vertices of the message and warns, as is due, and sets its timer. */
void	q_run_timer(struct message *);
/* Applies a report line of the agent.  Returns the reason why the line is
 * refused, and then it changes nothing; or NULL. */
const char *q_apply_report(struct ta *, unsigned long num, unsigned long off,
	    const char *notary, const char *status, const char *message);
/* Ends the oldest of ta->jobs.  Tags on disk decide on recipients without a
 * report.  Others that are left are deferred, for this reason if they have no
 * report; reason NULL: the agent had not begun the job, and they are READY. */
void	q_end_job(struct ta *, const char *reason);

/* ======================================================================
 * intake.c - loads control files into core, and forgets messages
 * ====================================================================== */

/* Loads messages for a short time; 1 when there is more to load. */
int	in_load(void);
/* Adds the router's socket; *max is the largest descriptor so far.  Seconds
 * until in_load has work. */
double	in_prep(fd_set *in, int *max);
/* An operator names this message (without directories): loads it if it is on
 * disk.  Why it was skipped, or NULL. */
const char *in_fetch(const char *name);
/* A request for forgotten mail: its files are read again, and vertices with an
 * address that one of the patterns (NULL: any) matches are flushed, made READY,
 * deleted or bounced.  The patterns are intake.c's from now on.  The number of
 * files, or -1 without memory. */
enum ask { ASK_FLUSH, ASK_WAKE, ASK_DELETE, ASK_BOUNCE };
long	in_ask(enum ask, char **patterns);
/* The files of all stubs are read again; their vertices wait on. */
void	in_reread(void);
/* The skip of the stub, or NULL: the file was not skipped. */
int	in_skip(const struct stub *, struct skip *);

/* ======================================================================
 * ta.c - transport agents
 * ====================================================================== */

/* Adds the descriptors to wait for; *max is the largest so far.  Seconds until
 * ta_run has work. */
double	ta_prep(fd_set *in, fd_set *out, int *max);
/* Reads the lines of agents, feeds, writes lines that are not written yet, and
 * ends idle and silent agents. */
void	ta_do(fd_set *in, fd_set *out);
/* A child has died, with this status: 1 when it was an agent. */
int	ta_reaped(long pid, int status);
void	ta_run(void);	/* gives READY vertices to agents */
/* The scheduler ends (q.hold is set): ends idle agents now, the others after
 * their jobs; or kills all of them. */
void	ta_end(int kill);

/* ======================================================================
 * dump.c - writes the queue as text, for mailq
 * ====================================================================== */

/* Writes all of it to fd; only for a child of ours.  0, or -1: no memory. */
int	dump_queue(int fd);

/* ======================================================================
 * status.c - queries of mailq and commands of operators
 * ====================================================================== */

void	status_listen(void);	/* by the configuration now in force */
/* status_prep adds the descriptors to wait for: seconds until a timer is due.
 * status_do reads those that are ready, and runs the timers. */
double	status_prep(fd_set *in, int *max);
void	status_do(fd_set *in);
/* A dump has ended, with this status. */
void	status_reaped(long pid, int status);
void	status_close(void);

#endif
