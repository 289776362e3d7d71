/*
 * submit.h - the page of data of submit.
 *
 * The interfaces of its modules, lowest first; a module calls only those above
 * it here.
 */
#ifndef SUBMIT_H
#define SUBMIT_H

#include "../lib/agent.h"
#include "../lib/ctlfile.h"
#include "../lib/path.h"
#include "../lib/util.h"
#include "../lib/post.h"

#define ADDR_SIZE	1000	/* bytes of an address, the NUL included */
#define DOMAIN_SIZE	256	/* ... of a domain */
#define HOPS_MOST	50	/* Received fields: more are a loop */

/* ======================================================================
 * say.c - lines on the standard error
 * ====================================================================== */

void	say_as(const char *argv0);	/* what every line begins with */
void	say_about(const char *);	/* ... then this, NULL: none */
void	say(const char *, ...) LIKE_PRINTF(1, 2);
int	say_cannot(const char *what, const char *path);	/* by errno: -1 */
void	say_times(void);	/* each line begins with the time from now on */
void	say_mute(void);		/* nothing is written from now on */
const char *say_last(void);	/* what was said last, without subject */

/* ======================================================================
 * rights.c - the users and the group that submit acts as
 * ====================================================================== */

/* All that a set-id bit gives is off; its group can be had back: 0 or -1. */
int	rights_start(void);
int	rights_drop(void);	/* it is gone for good: 0 or -1 */
/* Is the group that of a post office which is closed to others? */
int	rights_way_in(const char *po);
/* What to do when the way in was closed to us; good until the next call. */
const char *rights_advice(const char *po);
void	rights_group(int on);	/* to write to public/ and router/ */
/* Root goes on as the owner of the post office: 0, or -1 after saying why. */
int	rights_serve(const char *po);
void	rights_root(int on);	/* ... is root for a while */
/* After rights_serve: is it root, the post office's owner, or who runs this? */
int	rights_ours(long uid);
/* The directory is there, the owner's, without these bits of its mode, and is
 * made if it is missing.  0, or -1 after saying why. */
int	rights_dir(const char *po, const char *dir, int closed);
int	rights_give(int fd);	/* to the owner, if we are root: 0 or -1 */

/* ======================================================================
 * address.c - lists of addresses
 * ====================================================================== */

/* addr_list: a list of addresses while it is read, up to end, whose byte is
 * never read. */
struct addr_list {
	const char *p, *end;	/* the rest of the list */
	const char *why;	/* what is wrong with this address, or NULL */
	char	addr[ADDR_SIZE];	/* local@domain or local, or "" */
	char	text[200];	/* a wrong one, as it is written */
	const char *from, *to;	/* addr is in [from, to) of the list */
};

void	addr_start(struct addr_list *, const char *p, const char *end);
int	addr_next(struct addr_list *);	/* 1; 0 at the end */
int	addr_domain_ok(const char *);	/* a name or a literal [...] */
/* '|', '/' or ':' if the address begins with it, quoted or not; an agent may
 * take it for a program, a file or a list.  Else 0. */
int	addr_special(const char *);
void	addr_fold(char *);	/* the name behind the '@' in lower case */

/* ======================================================================
 * peer.c - decides whom submit -bs serves
 * ====================================================================== */

int	peer_list_ok(const char *list);	/* of PARAMnetworks: 1 or 0 */
/* Is who is behind the standard input in these networks, or here?  name is ""
 * if it is no socket. */
int	peer_ok(const char *list, char *name, size_t size);

/* ======================================================================
 * route.c - the table of routes
 * ====================================================================== */

struct route;

struct routes {
	struct route *first, **end;
	struct route *senders, **last;	/* how senders are rewritten */
	const char *sender;	/* the route that is read is for these alone,
				 * NULL: for all */
	char	domain[DOMAIN_SIZE];	/* our own */
	int	domain_used;		/* a pattern has it */
	unsigned long most;		/* bytes of a message, 0: any number */
	unsigned long least;		/* bytes that must be free, 0: any */
	unsigned long workers;		/* processes of a run, 1 or more */
	long	postmanage;		/* seconds for double bounces, 0: any */
	unsigned long postbytes;	/* ... and bytes on the disk, 0: any */
	char	networks[300];		/* whom -bs serves, or "" */
	char	uucp[300];		/* ",NAME,NAME," of ours in UUCP */
	const char *path;		/* of the table */
	unsigned long line;		/* that is read, from 1 */
	const char *word;		/* ... in this line, or NULL */
	char	mistake[300];		/* the first, FILE:LINE: WORD: WHY; or
					 * why the table cannot be read */
};

struct target {
	const char *channel;
	unsigned long line;	/* of the table, which says so */
	char	host[DOMAIN_SIZE];
	char	user[ADDR_SIZE];
	struct route *alias;	/* or it leads to these addresses */
	const char *why;	/* it goes nowhere, because */
	int	code;		/* ... X_NOUSER or X_NOHOST */
};

/* Reads the table: 0; or -1 with errno and mistake if it cannot be read, with
 * EINVAL if it has mistakes, which were printed.  domain is set in any case. */
int	route_load(struct routes *, const char *path);
void	route_free(struct routes *);
/* Routes the bare address for a sender, by no route to the channel but (NULL:
 * any): 0, or -1 with why and code.  within: the alias whose list has the
 * address. */
int	route_find(const struct routes *, const char *sender, const char *addr,
	    const char *but, const struct route *within, struct target *);
/* The address behind our own names at the beginning of its path of UUCP. */
const char *route_path(const struct routes *, const char *addr);
/* Rewrites a sender; to has ADDR_SIZE bytes: 1, or 0 if no line means it. */
int	route_sender(const struct routes *, const char *addr, char *to);
/* Calls each for lines that lead to a channel; a host with $h is "*". */
void	route_each(const struct routes *, void (*each)(unsigned long line,
	    const char *channel, const char *host));
/* The addresses of an alias, each with a NUL, an empty one at the end; NULL if
 * this turn, a number from 1, has had them. */
const char *route_alias(struct route *, unsigned long turn);

/* ======================================================================
 * header.c - reads a message and completes its header
 * ====================================================================== */

/* input: the bytes of a message, with lines that end in LF only. */
struct input {
	FILE	*f;
	int	(*next)(void);	/* gives the bytes, NULL: f does */
	int	dots;		/* a line with only a '.' is the end; 2: it must
				 * be, and a '.' before a line is not part of
				 * it, as in SMTP */
	int	crlf;		/* CR LF is the end of a line; -1: not known; 2:
				 * and nothing else has a CR or LF */
	int	bare;		/* ... but this message */
	int	failed;		/* it ended, and is no whole message */
	int	dotted;		/* that line was read */
	int	inside;		/* within a line */
	int	ended;
	int	npush, push[3];
	unsigned long taken;	/* bytes read from f */
};

/* header: its fields one after the other, each with its lines' ends. */
struct header {
	char	*s;		/* ends with a NUL that is not counted */
	size_t	n, size;
	size_t	dropped;	/* bytes that were left out */
	size_t	slack;		/* bytes over the limit that may be there */
	char	rest[1100];	/* what was read of the body */
	size_t	nrest;
	unsigned long body;	/* offset of the body in what was read */
};

/* Who sends a message, for the fields that it lacks. */
struct author {
	long	uid;
	char	login[100];	/* fit for an address */
	char	full[200];	/* the name, or "" */
	char	from[400];	/* of mail by SMTP, for Received, or "" */
};

void	in_start(struct input *, FILE *, int dots);
int	in_byte(struct input *);	/* EOF at the end */
int	in_failed(const struct input *);	/* 1: it could not be read */
/* Copies the rest of the message to the file and ends its last line; last is
 * the byte before it.  0; 1 if there are more than most bytes (0: no limit); or
 * -1 if the file is full or the input cannot be read. */
int	in_copy(struct input *, FILE *, int last, unsigned long most);

/* Reads up to the body: NULL, or what is wrong with it. */
const char *head_read(struct header *, struct input *);
void	head_free(struct header *);
/* The first field of this name behind the field at after (NULL: of all); NULL:
 * there is none. */
const char *head_find(const struct header *, const char *after,
	    const char *name);
const char *head_value(const char *field);	/* behind its colon */
const char *head_end(const char *field);	/* where the next begins */
int	head_hops(const struct header *);	/* its Received fields */
/* Completes the header: 0, or -1 without memory.  id is the name in the queue;
 * NULL: it has none yet, and submit -q will add the Received field. */
int	head_complete(struct header *, const struct author *,
	    const char *sender, const char *domain, unsigned long num,
	    const char *id);
/* Replaces each address in the fields of this name for which edit is 1 by what
 * that makes: 0, or -1 without memory. */
int	head_edit(struct header *, const char *name,
	    int (*edit)(const void *, const char *addr, char *to),
	    const void *arg);
/* As the system knows him: 0, or -1 after saying why he is not known now. */
int	head_author(struct author *, long uid);

/* ======================================================================
 * envelope.c - the sender and the recipients of a message
 * ====================================================================== */

struct addressee {
	struct hlink link;
	struct addressee *next;
	const char *channel, *host, *user;	/* channel "": not routed */
	const char *addr;	/* as it was given */
	const char *dsn;	/* parameters for reports, or "" */
	const char *why;	/* the reason on the channel error, or "" */
	unsigned long line;	/* of the table, that says so */
	int	also;		/* an earlier one has the same addr, an alias */
};

struct mail {
	const struct routes *routes;
	int	blind;		/* the table cannot be read: others will */
	int	report;		/* a wrong address becomes one of channel
				 * error, so that the sender gets a DSN */
	int	quiet;		/* ... and no line says what is wrong */
	struct author author;
	char	sender[ADDR_SIZE];	/* "": none, this is a DSN */
	char	as[ADDR_SIZE];	/* ... rewritten, for the queue */
	char	envid[300], ret[8];	/* "": not given */
	char	dsn[4 * ADDR_SIZE];	/* of the recipients that follow; an
				 * ORCPT may have 3 bytes for one */
	int	orcpt;		/* ... and each gets its ORCPT= */
	int	tame;		/* no programs, files and lists */
	int	past_hold;	/* no routes of the channel hold */
	int	toobig;		/* it is not delivered; its sender gets a DSN */
	struct addressee *dests, **end;
	int	also;		/* this address has one already */
	const char *why;	/* ... and is wrong, or NULL */
	unsigned long line;	/* of the table, for this address */
	unsigned long turn;	/* each alias is followed once in a turn */
	int	broken;		/* ... not all of them to their ends */
	struct hash seen;
	unsigned ndest, nrouted, nwrong;
	unsigned nsyntax;	/* ... of nwrong, those that are no address */
	int	code;		/* exit code for the first wrong one */
	int	full;		/* exit code when there are too many, or 0 */
	struct header head;
};

/* As head_author. */
int	mail_init(struct mail *, const struct routes *, long uid);
void	mail_free(struct mail *);
/* Adds the recipients of a list. */
void	mail_to(struct mail *, const char *p, const char *end);
/* Adds those of one path, "<anna@x.org>": 0; or an exit code with nothing
 * added, if nobody would get the message.  keep: also those that fail. */
int	mail_rcpt(struct mail *, const char *path, int keep);
/* ... of the header: To, Cc, Bcc, or Resent-To and so on when it has any. */
void	mail_to_header(struct mail *);
/* Sends all recipients to this host of the channel error; those that an alias
 * added are left out. */
void	mail_fail(struct mail *, const char *host);
/* Sets the sender: 0, or -1 after saying what is wrong. */
int	mail_from(struct mail *, const char *);
/* As head_complete; with an id, also rewrites senders in the header. */
int	mail_complete(struct mail *, unsigned long num, const char *id);
int	xtext_ok(const char *);		/* as RFC 3461 wants it */
/* Makes "NOTIFY=..." of never, or of a list with commas: 0 or -1. */
int	notify_list(const char *list, char *to, size_t size);

/* ======================================================================
 * entry.c - puts a message into the queue
 * ====================================================================== */

/* May we write to the queue?  1; 0: only to router/; -1: there is no post
 * office, and a line said so. */
int	entry_open(const char *po);
/* The name for a message whose file has this inode number: 0 or -1. */
int	entry_name(char *name, size_t size, unsigned long num);
/* Is there room for so many bytes in the post office's file system, with what
 * PARAMminfree keeps free?  0, or -1 after saying no. */
int	entry_room(const char *po, const struct routes *, double bytes);
int	entry_sync(const char *po, const char *dir);	/* 0 or -1, said */
/* Queues the file at path, open as fd: 0; -1 after saying why, with nothing
 * changed; or 1 after saying that it is queued but its name may not be on disk,
 * or that an error left it to recover.c.  body is the offset of the body. */
int	entry_put(const struct mail *, const char *po, const char *path,
	    int fd, const char *name, unsigned long body);
/* What comes before the body: 0 or -1. */
int	entry_envelope(const struct mail *, FILE *);
int	entry_header(const struct mail *, FILE *);
/* Sends the scheduler a notice; it finds the message anyway, only later. */
void	entry_notify(const char *po, const char *name);
int	entry_is_open(int fd, const char *path);	/* is it that file? */

/* ======================================================================
 * recover.c - completes queue entries that a crash interrupted
 * ====================================================================== */

/* Completes them: 1 if an entry is left that somebody may be at work on, to be
 * looked at again; else 0. */
int	entry_recover(const char *po);
/* Is nobody at work on the control file?  dead: its process is gone, as far as
 * we see. */
int	entry_is_abandoned(const char *path, int dead);

/* ======================================================================
 * accept.c - turns a file that a user owns into one of the post office
 * ====================================================================== */

/* Can no user reach this file of router/, and can it be given away? */
int	accept_whole(const char *po, const struct stat *);
/* Renames the file at path, open as fd, into private/ and sets to to its path
 * there: 0, or -1 after saying why. */
int	accept_hide(const char *po, const char *path, int fd, const char *name,
	    long uid, char *to, size_t size);
void	accept_show(const char *hidden, const char *path);	/* and back */
/* Copies size bytes of fd, whose status was seen, and syncs the copy: 0; -1
 * after saying why; or 1 after saying that the file changes. */
int	accept_copy(const struct post *, int fd, const struct stat *,
	    double size);
/* The uid in a name of accept_hide, or -1 for another name; name is set to the
 * part before it. */
long	accept_parse(const char *base, char *name, size_t size);
/* Is its copy in the queue?  Then it is removed. */
int	accept_known(const char *po, const char *base);

/* ======================================================================
 * scan.c - lists the files of a directory, oldest first
 * ====================================================================== */

struct scanned {
	long	mtime;
	char	name[100];
};

struct scan {
	struct scanned *v;
	unsigned n;
};

/* Those whose names fit: 0, or -1 after saying why. */
int	scan_read(struct scan *, const char *po, const char *dir,
	    int (*fits)(const char *));
void	scan_free(struct scan *);
/* How many there are just now. */
unsigned scan_count(const char *po, const char *dir,
	    int (*fits)(const char *));

/* ======================================================================
 * clause.c - shows how the scheduler treats mail for an address
 * ====================================================================== */

/* Prints the clauses of its configuration, and the command. */
void	clause_show(const char *channel, const char *host);

/* ======================================================================
 * defer.c - moves mail that cannot be routed yet to deferred/
 * ====================================================================== */

/* Moves the file base at path to deferred/, or leaves it there, with this
 * reason and the mark of the table, a number that changes with it: 0, or -1
 * after saying why not. */
int	defer(const char *po, const char *path, const char *base,
	    unsigned long mark, const char *why);
/* Is the next try of a file in deferred/ due?  A table with another mark makes
 * all due. */
int	defer_due(const char *po, const char *base, unsigned long mark);
/* Seconds until the next try of a file is due, -1: there is no file.  Removes
 * the reasons of files that are gone. */
long	defer_wait(const char *po, unsigned long mark);
int	defer_any(const char *po);	/* is there such a directory? */

/* ======================================================================
 * etrn.c - asks the scheduler to try the mail for a host now
 * ====================================================================== */

int	etrn_host_ok(const char *);
/* Asks the scheduler, which may not be there yet: an exit code. */
int	etrn(const char *po, const char *host);

/* ======================================================================
 * tidy.c - removes or sets aside files of the post office that nobody uses
 * ====================================================================== */

#define ASIDE_SIZE	840	/* bytes of a path in postman/ */
#define TIDY_EVERY	1200	/* seconds between two rounds at least */

/* Makes a name in postman/ that is not in use: base, then mark. */
void	aside_name(char *to, const char *po, const char *base,
	    const char *mark);
/* A round, if one is due.  Double bounces are removed after so many seconds,
 * and the oldest when all have more bytes; 0: never. */
void	tidy_round(const char *po, long postmanage, unsigned long postbytes);

/* ======================================================================
 * smtpd.c - takes mail as SMTP commands on the standard input
 * ====================================================================== */

struct smtpd {
	const struct routes *routes;
	const char *po;
	int	batch;		/* commands come in a file, without replies */
	int	blind;		/* the table cannot be used */
	int	serves;		/* we may write to the queue */
	/* Takes the message that follows, with this envelope: 0 and its name,
	 * of 80 bytes; or an exit code after saying why not. */
	int	(*take)(struct mail *, struct input *, char *name);
};

/* Serves a client until it is gone: 0, or an exit code. */
int	smtpd(const struct smtpd *);

/* ======================================================================
 * qrun.c - submit -q: routes the files of router/ and queues them
 * ====================================================================== */

#define ROUTER_NOTIFY	".submit.notify"	/* socket in po: "NEW NUM" */

/* One run, or with every > 0 runs until SIGTERM, or with -1 tidying alone: 0,
 * or an exit code. */
int	qrun(const char *po, const char *table, long every, int verbose);
/* We go on as the owner of the post office, if we may: 0, or an exit code. */
int	qrun_serve(const char *po);

#endif
