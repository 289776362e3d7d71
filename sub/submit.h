/*
 * submit.h - the structs and functions that modules of submit share.
 *
 * They are in the order of the modules, lowest first: a module calls only
 * modules whose section comes before its own.
 */
#ifndef SUBMIT_H
#define SUBMIT_H

#include "../lib/agent.h"
#include "../lib/origin.h"
#include "../lib/path.h"
#include "../lib/util.h"
#include "../lib/post.h"
#include "../lib/scan.h"

#define ADDR_SIZE	1000	/* bytes of an address, the NUL included */
#define DOMAIN_SIZE	256	/* bytes of a domain, the NUL included */
#define WORKERS_MOST	64	/* processes of a run */
#define HOPS_MOST	50	/* Received fields of a message in a loop */

/* verdict: what became of a file.  With LATER and STAYS a line was printed; for
 * BAD, struct file of qrun.c has the reason. */
enum verdict {
	TAKEN,			/* the step or the file is done */
	BAD,			/* no run could take the file */
	LATER,			/* nothing was changed; a later run may try */
	STAYS			/* the file is left where it is now: the next
				 * run takes it, or recover.c completes its
				 * entry */
};

/* ======================================================================
 * say.c - lines on the standard error
 * ====================================================================== */

/* Sets the name of the program, with which each line begins. */
void	say_set_name(const char *argv0);
/* Sets the topic, mostly a file, which follows the name; NULL: none. */
void	say_set_topic(const char *);
void	say(const char *, ...) LIKE_PRINTF(1, 2);
/* Says "cannot WHAT PATH: errno", returns -1. */
int	say_cannot(const char *what, const char *path);
void	say_set_times(void);	/* puts the time before all later lines */
const char *say_last(void);	/* the text of the last line */

/* ======================================================================
 * rights.c - the users and the group that submit acts as
 * ====================================================================== */

/* Drops the rights of a set-id bit, and keeps its group for rights_use_group:
 * 0, or -1 after saying why. */
int	rights_start(void);
/* Gives up the group for good: 0, or -1 after saying why. */
int	rights_drop(void);
/* Returns 1 if public/ and router/ are open to this group, and to nobody else.
 * Then a user outside the group cannot reach the files in these directories,
 * even if he owns them. */
int	rights_is_way_in(const char *po, gid_t);
/* Returns 1 if rights_is_way_in holds for the group of our set-group-id bit. */
int	rights_our_gid_is_way_in(const char *po);
/* Returns advice for a user who may not write; valid until the next call. */
const char *rights_advice(const char *po);
/* on 1: takes the group of the set-group-id bit, to use public/ and router/; 0:
 * gives the group up, or ends the process if that fails.  Keeps errno. */
void	rights_use_group(int on);
/* Root goes on as the owner of the post office: 0, or -1 after saying why. */
int	rights_become_owner(const char *po);
/* After rights_become_owner, on 1: becomes root again; 0: becomes the owner, or
 * ends the process if that fails.  Keeps errno. */
void	rights_use_root(int on);
/* After rights_become_owner, returns 1 for root, the post office's owner and
 * the user who runs this. */
int	rights_is_ours(long uid);
/* Makes the directory if it is missing, and checks that it is the owner's and
 * that its mode has none of these bits: 0, or -1 after saying why. */
int	rights_make_dir(const char *po, const char *dir, mode_t forbidden);
/* With NO_SETEUID, the post office's owner becomes the owner of this file,
 * which root has made or renamed: 0, or -1 with errno. */
int	rights_give_roots_file(int fd);
/* Root gives a user's file to the owner.  If root does not run us, the file is
 * the owner's already, and nothing is done: 0, or -1 with errno. */
int	rights_give_users_file(int fd);

/* ======================================================================
 * address.c - lists of addresses
 * ====================================================================== */

/* addr_list: a list of addresses while it is read.  The byte at end is behind
 * the list, and is not read. */
struct addr_list {
	const char *p, *end;	/* the rest of the list */
	const char *why;	/* what is wrong with this address, or NULL */
	char	addr[ADDR_SIZE];	/* local@domain or local, or "" */
	char	text[200];	/* a wrong address as it is written */
	const char *from, *to;	/* addr is in [from, to) of the list */
};

void	addr_start(struct addr_list *, const char *p, const char *end);
/* Returns 1 and sets the members; or 0 at the end of the list. */
int	addr_next(struct addr_list *);
int	addr_is_domain(const char *);	/* a name or a literal, [10.0.0.1] */
/* Returns 1 if this can be the host of queued mail, for ETRN, or the name that
 * an SMTP client gives: printing characters without blanks, fewer than
 * DOMAIN_SIZE. */
int	addr_is_host(const char *);
/* Returns the '|', '/' or ':' that the address begins with, quoted or not; or
 * 0.  An agent may take such an address for a program, a file or a list. */
int	addr_pipe_or_slash(const char *);
void	addr_fold_domain(char *);	/* makes the domain lower case */

/* ======================================================================
 * peer.c - decides whom submit -bs serves
 * ====================================================================== */

int	peer_is_list(const char *list);	/* 1: valid for PARAMnetworks */
/* Returns 1 if the standard input is no socket, or a socket whose peer is in
 * these networks or on this machine; with NO_TCP, only if it is no socket.
 * Copies the name of the peer; without a socket, "". */
int	peer_is_served(const char *list, char *name, size_t size);

/* ======================================================================
 * route.c - the table of routes
 * ====================================================================== */

struct route;

struct routes {
	struct route *first, **first_end;	/* where the next line goes */
	struct route *senders, **senders_end;	/* lines that rewrite senders */
	const char *sender;		/* pattern of the senders for whom the
					 * line that is read holds; NULL: all
					 * senders */
	char	domain[DOMAIN_SIZE];	/* our own domain */
	int	domain_used;		/* a pattern has $d */
	unsigned long most;		/* bytes of a message; 0: no limit */
	unsigned long least;		/* bytes to leave free; 0: none */
	unsigned long workers;		/* processes of a run, 1 or more */
	long	postmanage;		/* seconds to keep double bounces;
					 * 0: for ever */
	unsigned long postbytes;	/* bytes of double bounces on disk;
					 * 0: any */
	char	networks[300];		/* networks that -bs serves, or "" */
	char	uucp[300];		/* our names in UUCP, ",NAME,NAME," */
	const char *path;		/* path of the table */
	unsigned long line;		/* line that is read, from 1 */
	const char *word;		/* word that a mistake names, or NULL */
	char	mistake[300];		/* the first mistake, FILE:LINE: WORD:
					 * WHY; or why no table can be read */
};

struct target {
	const char *channel;
	unsigned long line;	/* line of the table that decided */
	char	host[DOMAIN_SIZE];
	char	user[ADDR_SIZE];
	struct route *alias;	/* alias that replaces the address, or NULL */
	const char *why;	/* why there is no route */
	int	code;		/* exit code for why */
};

/* Reads the table: 0; or -1 with errno and mistake if it cannot be read, with
 * EINVAL if it has mistakes, which were printed.  domain is set in any case. */
int	route_load(struct routes *, const char *path);
void	route_free(struct routes *);
/* Routes the bare address for a sender, by lines with any channel except this
 * one (NULL: no exception): 0, or -1 with why and code.  within: the alias
 * whose list has the address, or NULL. */
int	route_find(const struct routes *, const char *sender, const char *addr,
	    const char *except, const struct route *within, struct target *);
/* Returns the address without our own names at the beginning of a UUCP path. */
const char *route_skip_our_uucp_names(const struct routes *, const char *addr);
/* Rewrites a sender by the table.  The result is in the buffer "to", which has
 * ADDR_SIZE bytes.  Returns 0; or -1 if no line matches or the new address is
 * too long. */
int	route_rewrite_sender(const struct routes *, const char *addr, char *to);
/* Prints the channel and the host of each line, "*" for a host with $h, and
 * after them error/refused, to which refused addresses go.  Leaves out
 * "local -" if an alias for * replaces all local names. */
void	route_print_targets(const struct routes *);
/* Returns the addresses of an alias, each with a NUL, an empty one at the end.
 * Returns NULL if an earlier call for this alias had the same turn, a number
 * from 1. */
const char *route_members_once(struct route *, unsigned long turn);

/* ======================================================================
 * header.c - reads a message and completes its header
 * ====================================================================== */

enum dots {
	DOTS_TEXT,		/* the end of the file ends the message */
	DOTS_END,		/* a line with only a '.', or the end of the
				 * file, ends the message */
	DOTS_SMTP		/* a line with only a '.' ends the message;
				 * other lines lose a '.' at their beginning */
};

enum eol {
	EOL_UNKNOWN,		/* the first line tells */
	EOL_LF, EOL_CRLF,
	EOL_STRICT		/* CR LF; a bare CR or LF is an error */
};

/* input: the bytes of a message, with lines that end in LF only. */
struct input {
	FILE	*f;
	int	(*next)(void);	/* returns the next byte; NULL: getc(f) */
	enum dots dots;
	enum eol eol;
	int	bare;		/* EOL_STRICT: a bare CR or LF was read */
	int	dotted;		/* the line with only a '.' was read */
	int	inside;		/* the next byte is within a line */
	int	ended;		/* the last byte was read */
	int	npush, push[3];	/* bytes to be read again, the last one first */
	unsigned long taken;	/* bytes read from f or next */
};

/* header: the fields of a message as one string, each with its line ends. */
struct header {
	char	*s;		/* n bytes, then a NUL */
	size_t	n;
	unsigned room;		/* bytes of the memory at s */
	size_t	dropped;	/* removed bytes, which count for the limit */
	size_t	slack;		/* bytes allowed over the limit */
	char	rest[1100];	/* first bytes of the body, already read */
	size_t	nrest;
	unsigned long body;	/* offset of the body in the input */
};

/* author: who sends a message, for fields that the header lacks. */
struct author {
	long	uid;
	char	login[100];	/* login name, fit for an address */
	char	full[200];	/* full name, or "" */
	char	from[400];	/* SMTP client, for Received, or "" */
};

void	in_start(struct input *, FILE *, enum dots);
int	in_read(struct input *);	/* EOF at the end or after an error */
/* Returns why the message cannot be read, or NULL. */
const char *in_fault(const struct input *);
/* Copies the rest of the message to the file and ends its last line; last is
 * the byte before the rest, most the limit of the rest in bytes (0: none).
 * COPY_TOO_BIG: the rest is longer than the limit; COPY_FAILED: an error of the
 * file or the input. */
enum copied { COPY_DONE, COPY_TOO_BIG, COPY_FAILED };
enum copied in_copy(struct input *, FILE *, int last, unsigned long most);

/* Reads up to the body: NULL, or what is wrong with the header; errno is ENOMEM
 * without memory for it. */
const char *head_read(struct header *, struct input *);
void	head_free(struct header *);
/* Returns the next field of this name behind the field to which "after" points,
 * or the first one of the header if "after" is NULL.  Returns NULL if there is
 * none. */
const char *head_find(const struct header *, const char *after,
	    const char *name);
const char *head_value(const char *field);	/* text behind the colon */
const char *head_end(const char *field);	/* start of the next field */
/* Returns the first word in the first field of this name, and sets *n to its
 * length.  Without such a word, *n is 0, and the result is a text, not NULL. */
const char *head_word(const struct header *, const char *name, size_t *n);
int	head_count_hops(const struct header *);	/* number of Received fields */
/* Completes the header: 0, or -1 without memory.  id is the message's name in
 * the queue; NULL: not queued yet, so submit -q adds the Received field.  num:
 * the inode number of the message, for its Message-ID. */
int	head_complete(struct header *, const struct author *,
	    const char *sender, const char *domain, unsigned long num,
	    const char *id);
/* Replaces addresses in the fields of this name, up to 100 in a field.  For
 * each address, edit writes the new one into "to" and returns 0, or returns -1
 * if the address is to stay.  Returns 0, or -1 without memory. */
int	head_edit(struct header *, const char *name,
	    int (*edit)(const void *, const char *addr, char *to),
	    const void *arg);
/* Looks the user up: 0, or -1 after saying why the user data cannot be read. */
int	head_author(struct author *, long uid);

/* ======================================================================
 * envelope.c - the sender and the recipients of a message
 * ====================================================================== */

struct recipient {
	struct hlink link;
	struct recipient *next;
	const char *channel, *host, *user;	/* channel "": not routed */
	const char *addr;	/* the address as given */
	const char *dsn;	/* parameters for DSNs, or "" */
	const char *why;	/* channel error: the reason, or "" */
	unsigned long line;	/* line of the table that decided; 0: none */
	int	is_further;	/* 1: the same given address has added an
				 * earlier recipient of the list, too */
};

struct mail {
	const struct routes *routes;
	int	blind;		/* no table: submit -q routes the message */
	int	quiet;		/* wrong addresses are not printed */
	struct author author;
	char	sender[ADDR_SIZE];	/* "": none, this is a DSN */
	char	rewritten[ADDR_SIZE];	/* the sender in the queue; equals
					 * sender if no line rewrites it */
	char	envid[300], ret[8];	/* "": not given */
	char	dsn[4 * ADDR_SIZE];	/* parameters for the next recipients;
				 * xtext of an ORCPT triples its bytes */
	int	orcpt;		/* each recipient with parameters in dsn also
				 * gets an ORCPT= */
	int	tame;		/* programs, files and lists are refused */
	int	past_hold;	/* routes to the channel hold are skipped */
	int	toobig;		/* no delivery; the sender gets a DSN */
	struct recipient *rcpts, **rcpts_end;
	int	has_rcpt;	/* the present address has added a recipient */
	/* turn: number of the present turn; an alias is followed once in a
	 * turn.  A new turn begins in mail_init; in mail_add_path, when it has
	 * removed the recipients that it added; and with the next address after
	 * broken was set. */
	unsigned long turn;
	int	broken;		/* an alias of this turn was not followed to its
				 * end */
	struct hash seen;
	/* nrcpt: all recipients; nrouted: recipients that are not on the
	 * channel error; nwrong: wrong or refused addresses */
	unsigned nrcpt, nrouted, nwrong;
	unsigned nsyntax;	/* addresses of nwrong with wrong syntax */
	int	code;		/* exit code for the first wrong address */
	int	full;		/* X_UNAVAILABLE after too many recipients,
				 * X_OSERR without memory for one, or 0 */
	struct header head;
};

/* Begins a message of this user: 0, or -1 as head_author. */
int	mail_init(struct mail *, const struct routes *, long uid);
void	mail_free(struct mail *);
/* Adds the recipients of a list.  A wrong or refused address becomes a
 * recipient on the channel error, so that the sender gets a DSN. */
void	mail_add_list(struct mail *, const char *p, const char *end);
/* Adds the recipients of one path, "<anna@x.org>", as mail_add_list: 0; or an
 * exit code with nothing added: X_UNAVAILABLE if there would be too many,
 * X_OSERR without memory, another code if only wrong or refused addresses would
 * be added.  With keep_wrong, such addresses are added. */
int	mail_add_path(struct mail *, const char *path, int keep_wrong);
/* Adds the recipients of To, Cc and Bcc; or of Resent-To, Resent-Cc and
 * Resent-Bcc, if the header has such fields. */
void	mail_add_header_rcpts(struct mail *);
/* Keeps only one recipient for each given address, and gives it the channel
 * error and the host of the argument.  A recipient that was on the channel
 * error keeps its host. */
void	mail_fail_all(struct mail *, const char *host);
/* Sets the sender: 0, or -1 after saying what is wrong. */
int	mail_set_sender(struct mail *, const char *);
/* Completes the header as head_complete.  With an id, also rewrites the
 * addresses in From, Sender and Reply-To as those of senders. */
int	mail_fill_header(struct mail *, unsigned long num, const char *id);
/* If s is the word FULL or HDRS, in capital or small letters, copies it in
 * capitals and returns 0; else returns -1. */
int	ret_parse(const char *s, char *to);
/* Makes "NOTIFY=NEVER" or "NOTIFY=SUCCESS,FAILURE,DELAY" of a word or a list
 * with commas: 0, or -1 if the list is wrong. */
int	notify_parse(const char *list, char *to, size_t size);

/* ======================================================================
 * entry.c - puts a message into the queue
 * ====================================================================== */

#define ENTRY_NAME	80	/* bytes for the name of a message in the queue,
				 * or for router/NUM */

/* Checks the post office, and sets *can_queue to 1 if we may write to the
 * queue, 0 if only to router/: 0, or -1 after saying why. */
int	entry_check_office(const char *po, int *can_queue);
/* Makes the name of a message from the inode number of its file: 0, or -1 if it
 * is too long. */
int	entry_make_name(char *name, size_t size, unsigned long inode);
/* Checks that the post office's file system has room for so many bytes beside
 * PARAMminfree, and free inodes: 0, or -1 after saying which is missing. */
int	entry_check_room(const char *po, const struct routes *, double bytes);
/* Syncs a directory: 0, or -1 after saying why. */
int	entry_sync(const char *po, const char *dir);
/* Queues the file at path, open as fd; body is the offset of the body.  STAYS:
 * the message is queued, but its name may not be on disk; or an error left it
 * to recover.c, which queues it later. */
enum verdict entry_put(const struct mail *, const char *po, const char *path,
	    int fd, const char *name, unsigned long body);
/* Print the envelope for router/, and the header. */
void	entry_print_envelope(const struct mail *, FILE *);
void	entry_print_header(const struct mail *, FILE *);
/* Sends the scheduler a notice; without a notice, the message is found later.
 */
void	entry_notify(const char *po, const char *name);
int	entry_is_at(int fd, const char *path);	/* 1: path names fd's file */

/* ======================================================================
 * recover.c - completes queue entries that a crash interrupted
 * ====================================================================== */

/* Completes all such entries: 0; or -1 if an entry stays as it is, mostly
 * because another process may be at work on it, or if transport/ cannot be
 * read.  Then the caller tries again. */
int	entry_recover(const char *po);
/* Returns 1 if no process is at work on the control file.  dead: kill() did not
 * find its process. */
int	entry_is_abandoned(const char *path, int dead);

/* ======================================================================
 * accept.c - turns a file that a user owns into one of the post office
 * ====================================================================== */

/* Renames the file at path, open as fd, into private/ and sets hidden to its
 * new path: 0, or -1 after saying why. */
int	accept_hide(const char *po, const char *path, int fd, const char *name,
	    long uid, char *hidden, size_t size);
/* Renames the file back to path, or says where the file is if that fails. */
void	accept_unhide(const char *hidden, const char *path);
/* Copies size bytes of fd and syncs the copy.  seen: an earlier status of the
 * file; STAYS if the file has changed since then. */
enum verdict accept_copy(const struct post *, int fd, const struct stat *seen,
	    double size);
/* Returns the uid in a name of accept_hide, and copies the part before it; -1
 * for another name. */
long	accept_parse_hidden_name(const char *base, char *name, size_t size);
/* Removes the original if its copy is in the queue: 0, also if the original
 * could not be removed; or -1 if no copy is there. */
int	accept_remove_queued(const char *po, const char *base);

/* ======================================================================
 * clause.c - shows how the scheduler treats mail for an address
 * ====================================================================== */

/* Prints the clauses that match in the scheduler's configuration, and the
 * command. */
void	clause_show(const char *channel, const char *host);

/* ======================================================================
 * defer.c - moves mail that cannot be routed yet to deferred/
 * ====================================================================== */

/* Moves the file at path to deferred/base, unless that is its path already, and
 * writes the reason and table_id, a number that changes with the table: 0, or
 * -1 after saying why. */
int	defer_move_file(const char *po, const char *path, const char *base,
	    unsigned long table_id, const char *why);
/* Returns the seconds until the next try of a file in deferred/, 0 if the try
 * is due; another table_id makes all due. */
long	defer_wait(const char *po, const char *base, unsigned long table_id);
/* Returns the seconds until the next try of any file, or -1 without files, and
 * removes reasons without files. */
long	defer_next_wait(const char *po, unsigned long table_id);

/* ======================================================================
 * etrn.c - asks the scheduler to try the mail for a host now
 * ====================================================================== */

/* Leaves a request for the scheduler, even if none runs: 0, or an exit code. */
int	etrn_leave_request(const char *po, const char *host);

/* ======================================================================
 * tidy.c - removes or sets aside files of the post office that nobody uses
 * ====================================================================== */

#define ASIDE_SIZE	840	/* bytes of a path in postman/ */
#define TIDY_EVERY	1200	/* least seconds between two rounds */

/* Makes an unused path in postman/ whose name is made of base and end.  The
 * buffer "to" has ASIDE_SIZE bytes. */
void	aside_make_path(char *to, const char *po, const char *base,
	    const char *end);
/* Runs a round, if one is due.  Removes double bounces after postmanage
 * seconds, and the oldest when all take more than postbytes; 0: never. */
void	tidy_run(const char *po, long postmanage, unsigned long postbytes);

/* ======================================================================
 * smtpd.c - takes mail as SMTP commands on the standard input
 * ====================================================================== */

struct smtpd {
	const struct routes *routes;
	const char *po;
	int	batch;		/* commands come in a file, without replies */
	int	blind;		/* the table cannot be used */
	int	can_queue;		/* we may write to the queue */
	/* Queues the message that follows, with this envelope: 0 and its name,
	 * of ENTRY_NAME bytes; or an exit code after saying why. */
	int	(*take)(const struct smtpd *, struct mail *, struct input *,
		    char *name);
};

/* Serves a client until the end of the session: 0, or an exit code. */
int	smtpd(const struct smtpd *);

/* ======================================================================
 * qrun.c - submit -q: routes the files of router/ and queues them
 * ====================================================================== */

#define ROUTER_NOTIFY	".submit.notify"	/* socket in po: "NEW NUM" */

#define RUN_ONCE	0L
#define TIDY_ONLY	(-1L)

/* Looks for mail every so many seconds until SIGTERM.  RUN_ONCE: does one run;
 * TIDY_ONLY: only tidies.  Returns 0, or an exit code. */
int	qrun(const char *po, const char *table, long every, int verbose);
/* Continues as the owner of the post office: 0, or an exit code. */
int	qrun_become_owner(const char *po);

#endif
