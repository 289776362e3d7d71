/*
 * modules.h - the functions of each module of the daemon, lowest first.
 *
 * A module calls only modules above it on this page (t/layers.t).  Functions
 * return 0, or -1 with errno, unless their comment says otherwise.  scheduler.h
 * includes this file at its end; no .c file includes it directly.
 */
#ifndef MODULES_H
#define MODULES_H

/* ======================================================================
 * spool.c - the directories of the post office
 * ====================================================================== */

/* Makes and checks the directories, and changes to transport/.  With
 * check_only, only checks existing directories, and none at all unless root or
 * the owner of the post office runs the program.  Returns 0, or the exit code
 * after logging the reason. */
int	spool_setup(int check_only);
/* Sets name, of NAME_MAX_ bytes as in the functions below, to the next
 * entry that may be a control file, as a path below transport/: names from
 * datagrams first, then those of the scan; *is_told is 1 for a datagram.
 * Returns 1, or 0 if there is none now.  Sets q.scanned. */
int	spool_next_file(char *name, int *is_told);
/* About once a second, looks which directories have changed. */
void	spool_note_changes(void);
/* Adds the socket for datagrams; *max is the largest descriptor so far.
 * Returns the seconds until spool_next_file may find an entry. */
double	spool_prep_wait(fd_set *in, int *max);
/* Lets spool_next_file read datagrams if there are any. */
void	spool_do(const fd_set *in);
/* Schedules a reading of the directory of the control file at when, mono. */
void	spool_reread_at(const char *name, double when);
/* Returns 1 if the st_ctime of the message file shows that the last complete
 * reading of the directory of the control file has met the message.  status is
 * the status of the message file, or NULL if that is not known. */
int	spool_was_scanned(const char *name, const struct stat *status);
/* Returns 1 if the file may be loaded.  Returns 0 for the file of a forgotten
 * message that has no stub, until the directory of the file is due to be read
 * again.  With check_type, also returns 0 if the file is not regular, or cannot
 * be looked up now. */
int	spool_is_file_due(const char *name, int check_type);
/* Sets name to the path, below transport/, of the control file with this base
 * name: 0; or -1 with ENOENT if there is none, or with EAGAIN if a directory
 * cannot be searched now. */
int	spool_find_file(const char *base, char *name);
/* Moves a new control file and its message file into their hash directory and
 * changes name.  Sets *message to the status of the message file, with
 * st_mode 0 if there is none.  Returns 0, or -1 if the files have to be tried
 * again later. */
int	spool_place_files(char *name, struct stat *message);
/* Removes the message file, then the control file: 0 or -1. */
int	spool_remove(const char *name);
/* Returns 1 if the control file does not exist any more. */
int	spool_is_gone(const char *name);
/* Moves the message file and the control file to postman/, with a mark for a
 * double bounce, and logs why: 0 or -1. */
int	spool_set_aside(const char *name, int is_double_bounce,
	    const char *why);
/* Writes a line to the verbose log of the message, if it has one. */
void	spool_log_verbose(const char *name, const char *line);
/* Opens the socket for datagrams "NEW name" instead of the former one.  NULL
 * closes it. */
void	spool_listen(const char *path);

/* ======================================================================
 * feedback.c - the rules of a destination: windows, rates, waits
 * ====================================================================== */

/* Counts a good or bad report on the destination.  If refuses_all is not 0, the
 * host accepts no mail at all now, and a destination with maxthr=1 is dead
 * unless cohorts is 0.  If a bad report has set the window to 0, the caller
 * calls th_sleep. */
void	fb_report_good(struct thread *);
void	fb_report_bad(struct thread *, int refuses_all);
/* Ends the dead time of the destination.  Gives a new destination its first
 * window. */
void	fb_revive(struct thread *);
/* Returns how many agents the destination may have beyond the busy ones, by its
 * window; 0 if the destination is dead. */
long	fb_agents_left(const struct thread *, long busy);
/* Returns the seconds until the rate allows a delivery to start, or 0. */
double	fb_rate_wait(const struct thread *);
/* Uses the next slot of the rate, as a delivery starts. */
void	fb_use_slot(struct thread *);

/* Returns the seconds until the next try, at least 1, and sets *retry_index to
 * the following factor of the list.  tries, from 1, counts deferrals.  wall is
 * the present time, which skew needs to move the try towards a multiple of
 * interval; if it is 0, the try is not moved. */
long	retry_next_wait(const struct setting *, unsigned short *retry_index,
	    unsigned tries, time_t wall);
/* Returns the seconds of the longest wait of the retry list, at least 1. */
long	retry_longest_wait(const struct setting *);
/* Returns the index in the retry list for a vertex that is age seconds old. */
unsigned short retry_index_at_age(const struct setting *, long age);

/* ======================================================================
 * cf.c - the clause language
 * ====================================================================== */

/* finding: what the reader of the file reports.  CF_NOTICE: a value or keyword
 * is taken in another meaning; CF_IGNORED: a word of ZMailer has no meaning
 * here. */
enum finding { CF_ERROR, CF_NOTICE, CF_IGNORED };
/* Reads the file, and the PARAMs in the file of -Z.  Calls the function say for
 * each finding in the file, with a line "file:line: keyword: reason" without a
 * newline.
 * Errors of -Z prevent nothing and go to the log.  Returns NULL if there was an
 * error, with errno EAGAIN if all errors may be temporary. */
struct config *cf_read_file(const char *file,
	    void (*say)(enum finding, const char *line));
void	cf_free(struct config *);
/* Returns the conf of the address, which belongs to the config.  Values of
 * later clauses override those of earlier ones, up to the first clause with a
 * command; without such a clause the command is NULL.  Returns NULL without
 * memory. */
struct conf *cf_match(struct config *, const char *channel, const char *host);
/* Returns the value of ${NAME}, or NULL. */
const char *cf_get_var(const char *name);

/* keyword: a keyword of a clause, or a PARAM.  Values of the types up to
 * T_ANSWER are longs; values from T_COMMAND on are texts.  A T_SOCKET is the
 * path of a socket, with or without "UNIX:" before it. */
enum type { T_SPAN, T_NUMBER, T_FLAG, T_USER, T_GROUP, T_ORDER,
	    T_ANSWER, T_RULE, T_RATE, T_RETRIES, T_TIMES, T_PORT, T_COMMAND,
	    T_SOCKET, T_FILE, T_HOST };

struct keyword {
	const char *name;	/* NULL: the end of the table */
	enum type type;
	size_t	at, size;	/* offset and size, in bytes, of the value in a
				 * setting or in a config; size 0: the keyword
				 * has no effect */
	long	min, max;
	const char *def;	/* the default, or NULL */
};

extern const struct keyword cf_keywords[];	/* of clauses */

/* ======================================================================
 * held.c - the list of holds
 * ====================================================================== */

/* Reads the list at the start, and drops holds on messages that do not exist
 * any more: 0 or -1. */
int	held_read_file(void);
/* Returns the pattern of a hold on this address, valid until its release, or
 * NULL. */
const char *held_match_address(const char *channel, const char *host);
/* Returns the hold on addresses with this pattern; or, with is_address 0, the
 * hold on the message with this name; or NULL. */
const struct hold *held_get(int is_address, const char *text);
/* Sets the hold that held_get would return, or releases it if on is 0.  Returns
 * 0; or -1 with the list unchanged if the pattern is wrong, the list cannot be
 * written to disk, or there is no memory. */
int	held_set(int is_address, const char *text, int on);

/* ======================================================================
 * message.c - messages in core
 * ====================================================================== */

/* Returns the first message in core with this number or, with after not
 * NULL, the next one that follows it.  NULL if there is none. */
struct message *msg_find_number(unsigned long num, const struct message *after);
/* The first vertex of a message, and the next one; NULL at the end. */
#define msg_first_vertex(m) ((m)->vertices)
#define msg_next_vertex(v) ((v)->mnext)
/* Makes a NEW vertex of the message, without recipients and on no list of the
 * thread.  Returns NULL without memory. */
struct vertex *msg_new_vertex(struct message *, struct thread *);
/* Splits a vertex whose recipients are all pending and outnumber the argument
 * "kept".  The vertex keeps that many recipients, its last ones; a new vertex,
 * on no list, gets the others.  Returns the new vertex, or NULL without
 * memory. */
struct vertex *msg_split_vertex(struct vertex *, unsigned kept);
/* Sets the state of a vertex, which is on no list, to DONE.  Its pending
 * recipients are no longer counted. */
void	msg_set_done(struct vertex *);
/* Frees a vertex that is on no list. */
void	msg_free_vertex(struct vertex *);
/* Appends a recipient, whose line is at off: 0, or -1 without memory. */
int	msg_add_rcpt(struct vertex *, unsigned long off);
/* Returns the recipient whose line is at off, or NULL. */
struct rcpt *msg_find_rcpt(const struct vertex *, unsigned long off);
/* Finishes the recipient of the vertex, with the state RC_OK or RC_FAILED. */
void	msg_set_finished(struct vertex *, struct rcpt *, int state);
/* Frees the finished recipients of the vertex. */
void	msg_drop_finished(struct vertex *);
/* Frees a message that is in no table and on no list, with its vertices. */
void	msg_free(struct message *);
/* Appends the different reasons of the vertex's recipients, separated by "; ",
 * up to the size of the text. */
void	msg_join_reasons(const struct vertex *, struct text *);
/* Sets the reason for which the recipient was deferred; with "" the former
 * reason stays.  Logs a text that core has no room for. */
void	msg_set_reason(const struct vertex *, struct rcpt *, const char *);
/* Returns "NAME id=ID" for the log, as ctl_log_name does, without a look at the
 * message file. */
#define msg_log_name(m) ctl_log_name_at((m)->name, &(m)->time)
/* Opens the file of -l anew: 0, or -1 with errno. */
int	msg_open_statlog(void);
/* Logs that the recipient at off is finished, counts it in q.total, and writes
 * its line of -l.  off 0 stands for a DSN, which gets no line of -l.  status is
 * the word of the report, or "expire".  text NULL: an operator has deleted the
 * recipient; this is logged, but neither counted nor written. */
void	msg_log_finished(const struct vertex *, unsigned long off, int failed,
	    const char *status, const char *text);
/* Returns the sender and the Message-ID of a file that was read, escaped for
 * the log; "" if PARAMlogaddresses is off.  Valid until the next call. */
const char *msg_sender_fields(const struct ctl *);
/* Logs that the vertex is deferred, and for how long; or "queueonly" if it
 * waits for a T line.  Each of the first recipients gets a line, and all
 * others one line.  Counts the recipients in q.total, but no DSN.  relay
 * is the other host, or "". */
void	msg_log_deferred(const struct vertex *, const char *relay);

/* ======================================================================
 * order.c - chooses the vertex that goes next
 * ====================================================================== */

/* Inserts a vertex that is on no list before another, or at the end if before
 * is NULL. */
void	list_insert(struct list *, struct vertex *, struct vertex *before);
#define list_append(l, v) list_insert(l, v, NULL)
/* Removes a vertex that is on this list. */
void	list_remove(struct list *, struct vertex *);

/* 1 if the clause of the ring says order=preempt. */
#define ring_is_preemptive(r) ((r)->conf->v.order == ORDER_PREEMPT)
/* Returns a ring whose members are all 0, or NULL without memory. */
struct ring *order_new_ring(void);
/* Frees a ring that has neither threads nor agents. */
void	order_destroy_ring(struct ring *);
/* Sorts the READY vertices of a thread by the order of its clause, if enough of
 * them are new. */
void	order_sort_thread(struct thread *);
/* Puts a vertex that has become READY on the list of this thread. */
void	order_enqueue(struct thread *, struct vertex *);
/* Takes a READY vertex off its list; is_fed is 1 if an agent gets the
 * vertex. */
void	order_dequeue(struct vertex *, int is_fed);
/* Sets whether the thread may take agents.  If so, its READY vertices are
 * candidates of order_next_vertex. */
void	order_set_open(struct thread *, int open);
/* Returns the vertex of the ring that goes next, which stays on its list, or
 * NULL. */
struct vertex *order_next_vertex(struct ring *);
/* Returns 1 if the ring may have a vertex that can go. */
int	order_has_work(const struct ring *);
/* Returns 1 if the message may have one agent more, while nfree agents are
 * free. */
int	order_is_below_share(const struct message *, long nfree);
/* Blocks a vertex whose message is at its share until the message may have more
 * agents; with order=preempt, blocks the whole claim.  Returns 0, or -1 without
 * memory.  The caller calls th_update. */
int	order_block_vertex(struct vertex *);
/* Returns 1 if order_block_vertex has blocked the vertex. */
int	order_is_blocked(const struct vertex *);
/* Looks at the blocked claim whose message has the fewest agents.  If that
 * message may have more while nfree agents are free, unblocks one vertex of the
 * claim; with order=preempt, unblocks the whole claim.  Returns an unblocked
 * vertex, for whose thread the caller calls th_update, or NULL. */
struct vertex *order_unblock_claim(struct ring *, long nfree);
/* Adds n to the number of vertices of the message that agents have. */
void	order_count_fed(struct message *, int n);
/* Frees the claims of the message, and puts the vertices that they offer back
 * on the lists of their threads. */
void	order_free_claims(struct message *);

/* ======================================================================
 * thread.c - the queues of destinations, and the rings of agents
 * ====================================================================== */

/* Replaces the configuration, and moves all threads to rings of the new one. */
void	th_use_config(struct config *);
/* Makes empty threads unused, frees old rings without threads and agents, and
 * moves threads that th_use_config had no memory to move. */
void	th_sweep(void);
/* 1 if the ring is one of a replaced configuration. */
#define ring_is_old(r)	((r)->conf->config != q.config)
/* Returns the channel, made if it is new; NULL without memory. */
struct chan *th_get_channel(const char *name);
/* Returns the thread of an address or, with box not 0, of one mailbox there, in
 * use or unused; or NULL. */
struct thread *th_lookup(const struct chan *, const char *host, unsigned box);
/* Returns the thread of an address or, with box not 0, of one mailbox there,
 * made if it is new, and puts it into use.  Returns NULL without memory, or if
 * chan is NULL. */
struct thread *th_get(struct chan *chan, const char *host, unsigned box);
/* 1 if the host is "-", where each mailbox is a destination. */
#define th_is_local(t)	(strcmp((t)->host, "-") == 0)
/* 1 if the thread is of the channel dsn. */
#define th_is_dsn(t)	((t)->ring->conf->dsn)
/* 1 for dsn/failure and dsn/success, whose DSNs say what has become of finished
 * recipients. */
#define th_is_result_dsn(t) \
	(th_is_dsn(t) && strcmp((t)->host, "delay") != 0)
/* READY vertices of the thread, on its list and on offer. */
#define th_nready(t)	((t)->ready.n + (t)->noffer)
/* Returns 1 if one of the patterns matches the address, or patterns is NULL. */
int	th_is_matched(const struct thread *, char *const *patterns);
/* Returns why the vertex cannot go now, or WHY_NONE, and sets *until to the end
 * of its wait, mono, which is 0 or in the past if no time is known.  For a
 * vertex PINNED without a hold, the answer is that for a READY one. */
enum why th_why(const struct vertex *, double *until);
/* Chooses the channel that counts the message in core: that of a vertex that
 * can go or that an agent has, else that of the first vertex.  A message that
 * has ended or is held by name is not counted. */
void	th_update_channel(struct message *);
/* Computes the timer and the turn of the thread after a change.  An empty
 * thread is left to the sweep. */
void	th_update(struct thread *);
/* Makes the destination dead for the next wait of its retry list, after reports
 * or a failed start. */
void	th_sleep(struct thread *);
/* Counts a job that has ended as a report on the destination: good, bad or
 * none, by its HOST_ bits.  The caller calls th_update. */
void	th_count_report(struct thread *, int host_bits);
/* Acts on the timer of the thread, which is due: ends the dead time and makes
 * vertices READY, or frees an unused thread. */
void	th_run_timer(struct thread *);
/* Obeys a T line: makes the vertices for the host due, of queueonly threads
 * too.  If no agent works for a thread, its dead time ends; if agents do, the
 * vertices that were deferred since the thread last had no agent stay in
 * WAIT. */
void	th_trigger_host(const char *host);
/* Makes one vertex of the thread due, which is READY or in WAIT; or with NULL,
 * all of them.  This starts a queueonly thread, too.  With is_revived, ends the
 * dead time of the destination and the pause of its ring after failed starts;
 * limits and holds stay. */
void	th_flush(struct thread *, struct vertex *one, int is_revived);
/* Removes a vertex, which no agent has, from its list.  The caller calls
 * th_update. */
void	th_dequeue(struct vertex *);
/* Puts a vertex that no agent has into another state: PINNED, with is_pinned
 * 1; or WAIT until wakeup, mono; or READY, if wakeup is past. */
void	th_requeue(struct vertex *, int is_pinned, double wakeup);
/* Looks up the hold on the address of the thread again.  If a hold has ended,
 * makes the vertices of the thread due.  Returns 1 if so, else 0. */
int	th_update_hold(struct thread *);
/* Takes a working agent off its thread, and does nothing to an idle one.  The
 * caller calls th_update. */
void	th_detach_agent(struct ta *);
/* Notes the first #hungry of the agent.  If the agent's job lines may name
 * recipients, splits the first of its jobs now. */
void	th_note_first_hungry(struct ta *);
/* Appends a READY vertex to the jobs of the agent, which begins to work on the
 * thread, unless it does so already. */
void	th_feed(struct ta *, struct vertex *);
/* Returns the vertex that the agent may have as a further job of its thread, or
 * NULL. */
struct vertex *th_next_job(const struct ta *);
/* Takes a FED vertex, whose state stays, off the jobs of its agent. */
void	th_take_from_agent(struct vertex *);
/* Sets the reason of a host or a ring to a copy of the text.  Without memory
 * the former reason stays. */
void	reason_copy(char **slot, const char *);

/* ======================================================================
 * destdb.c - the file of destinations
 * ====================================================================== */

/* Seconds between rounds; t/clock.c sets less. */
extern double dest_period;

/* Runs a round if one is due, or with at_once in any case.  With PARAMdestdb a
 * round reads our file if its path is new, writes changes, and reads the files
 * of other hosts, which can make destinations dead here.  Returns the seconds
 * until the next round. */
double	dest_exchange_files(int at_once);
/* Writes our file at the end. */
void	dest_save_file(void);

/* ======================================================================
 * queue.c - messages: arrival, reports, expiry, DSNs and end
 * ====================================================================== */

/* Uses this configuration from now on, for queued mail too. */
void	q_use_config(struct config *);
/* Runs the timers of threads and of messages that are due. */
void	q_run_timers(void);
/* Frees the vertices and messages that have ended in this pass. */
void	q_sweep_ended(void);

/* Puts the message into core and its NEW vertices on their threads, each due at
 * its wakeup.  Returns 0; or -1 without memory, and the caller keeps the
 * message. */
int	q_add_message(struct message *);
/* Removes from core a message of which no agent has a vertex.  Its files
 * stay. */
void	q_unload_message(struct message *);
/* 1 if the message has no vertices left but those of DSNs. */
#define q_has_only_dsns(m) ((m)->nvertices == (m)->ndsn)
/* Delivers no more of the message, and logs why.  Its files are removed without
 * a DSN when its agents have reported. */
void	q_discard_message(struct message *, const char *why);
/* Holds the vertices of the message, or releases them, after held_set. */
void	q_hold_message(struct message *, int on);
/* outcome: when a command on a vertex is carried out.  OUT_DONE: at once;
 * OUT_PASS: in a later pass; OUT_REPORT: after the report of the agent;
 * OUT_HELD: never, as the vertex is held; OUT_FAILED: never, as the disk cannot
 * be written.  A flush has two more.  OUT_NO_COMMAND: never, as the clause has
 * no command; OUT_FED: never, as an agent has the vertex. */
enum outcome { OUT_DONE, OUT_PASS, OUT_REPORT, OUT_NO_COMMAND, OUT_FED,
	       OUT_HELD, OUT_FAILED, OUTCOMES };
/* Deletes or bounces the vertex, in a later pass if later is 1. */
enum outcome q_cancel_vertex(struct vertex *, enum cancel, int later);
/* Returns when the next warning on the message may be due, mono, or NEVER. */
double	q_next_warning(const struct message *);
/* Does what is due for the message: ends vertices that are expired, deleted or
 * bounced, sends warnings; writes tags and removes files again where the disk
 * has refused that.  Sets its timer.  The message stays until q_sweep_ended. */
void	q_run_message_timer(struct message *);
/* Applies a report line of the agent.  Returns NULL, or the reason why the line
 * is refused and has changed nothing. */
const char *q_apply_report(struct ta *, unsigned long num, unsigned long off,
	    const char *notary, const char *status, const char *text);
/* Ends the oldest of ta->jobs.  Tags on disk decide on recipients without a
 * report.  Recipients that are left are deferred, for this reason if they have
 * no report.  With reason NULL, the agent had not begun the job, whose
 * vertex becomes READY again. */
void	q_end_first_job(struct ta *, const char *reason);

/* ======================================================================
 * intake.c - loads control files into core, and forgets messages
 * ====================================================================== */

/* Loads messages, at most as many as one pass may.  Returns 1 if more can be
 * loaded now. */
int	in_load_files(void);
/* Adds the router's socket; *max is the largest descriptor so far.  Returns the
 * seconds until in_load_files has work. */
double	in_prep_wait(fd_set *in, int *max);
/* Loads the message with this name, without directories, if it is on disk.
 * Returns the reason why its file was skipped, or NULL. */
const char *in_load_named(const char *name);
/* Makes a request for forgotten mail: the files are read again, and the request
 * acts on each vertex whose address one of the patterns matches; with patterns
 * NULL, on all vertices.  The kind says what it does to a vertex: REQUEST_WAKE,
 * for a release, makes the vertex READY; the other kinds do what their names
 * say.  intake.c owns the patterns from now on.
 * Returns the number of files; or -1 without memory, or when there are too many
 * requests. */
enum request_kind {
	REQUEST_FLUSH, REQUEST_WAKE, REQUEST_DELETE, REQUEST_BOUNCE
};
long	in_add_request(enum request_kind, char **patterns);
/* Returns the name of the next forgotten message, or NULL; *at is NULL before
 * the first one.  If its file was skipped, sets the skip, and *due to the time
 * of the next look at the file, mono; else sets why of the skip to NULL, and
 * *age to the age of the message, seconds. */
const char *in_next_stub(struct hlink **at, struct skip *, long *age,
	    double *due);

/* ======================================================================
 * ta.c - transport agents
 * ====================================================================== */

/* Adds the descriptors to wait for; *max is the largest so far.  Returns the
 * seconds until ta_do or ta_feed_rings has work. */
double	ta_prep_wait(fd_set *in, fd_set *out, int *max);
/* Reads the lines of agents, feeds, writes lines that are not written yet, and
 * ends idle and silent agents. */
void	ta_do(fd_set *in, fd_set *out);
/* Cleans up after an agent that has ended, with this status of wait.  Returns
 * 1, or 0 if no agent has this number. */
int	ta_reap(long pid, int status);
/* Gives READY vertices to agents, and starts agents for them.  Ends idle agents
 * of old rings, and an idle agent whose slot another ring waits for. */
void	ta_feed_rings(void);
/* Adds the variables that every agent gets to the environment of the command,
 * without CHANNEL if channel is NULL.  Sets path, of PATH_MAX_ bytes, to the
 * path of the program.  Returns 0, or -1 with E2BIG. */
int	ta_set_env(struct command *, const char *channel, const struct config *,
	    char *path);
/* Ends idle and starting agents.  The caller has set q.no_feeding, so that the
 * others end after their jobs.  With by_signal, sends a signal to all agents
 * instead. */
void	ta_end_all(int by_signal);

/* ======================================================================
 * dump.c - writes the queue as text, for mailq
 * ====================================================================== */

/* Writes the queue to fd, in a child of the scheduler: 0, or -1 without memory.
 */
int	dump_queue(int fd);

/* ======================================================================
 * status.c - queries of mailq and commands of operators
 * ====================================================================== */

/* Opens the pipes and the port of the configuration in force. */
void	status_listen(void);
/* Adds the descriptors to wait for; *max is the largest so far.  Returns the
 * seconds until a timer is due. */
double	status_prep_wait(fd_set *in, int *max);
/* Reads the descriptors that are ready, and runs the timers. */
void	status_do(fd_set *in);
/* Notes the end of the child that wrote a dump, with this status of wait. */
void	status_reap(long pid, int status);
/* Kills the dumps and removes the pipes. */
void	status_close(void);

#endif
