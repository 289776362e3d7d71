/*
 * qrun.c - submit -q: routes the files of router/ and queues them.
 *
 * router/ has DSNs, mail that the agent hold gives back, and mail of users who
 * may not write to the queue.  Each file has a number as its name.  It begins
 * with an envelope: lines of a word and a value, up to "env-end" or the first
 * field of the header, whose name ends in a colon.  A table below has the
 * words.  Words of ZMailer that have no meaning here are skipped; an unknown
 * word makes the file bad.
 *
 *	from <anna@x.org>
 *	to <bert@y.org>
 *	env-end
 *	Subject: lunch
 *
 * The header is checked, completed and copied into the control file, with the
 * uid of the file's owner in its Received field.  That uid is also the
 * privilege of all recipients, whatever the file says.  A file of root or of
 * the post office's owner is renamed into the queue.  It may be a DSN or come
 * from an agent, with addresses that others chose, so none of its recipients
 * may be a program or a file.  A file of another user, or that others may write
 * to, becomes ours first, see accept.c.  If it is larger than the table allows,
 * only its header is queued, and its sender gets a DSN; so does the sender of a
 * message that is in a loop or has too many recipients.
 *
 * A file ends in one of these ways:
 *
 *	queued		its message is in the queue
 *	bad		no run could take it: it is moved to postman/, and a
 *			line says why
 *	deferred	a later run may take it (it cannot be read, the table
 *			has a mistake): it is moved to deferred/, see defer.c
 *	left		it changes meanwhile, the disk is full, or it is in
 *			private/ and cannot be queued now: it stays for the next
 *			run
 *	ignored		it is no regular file, or its name is no number; a link
 *			or a directory that a user got into private/ or
 *			deferred/ by a race is removed
 *
 * If a queued message has a wrong address, or a refused address and no sender
 * who could get a DSN, postman/ gets a copy of the file.
 *
 * The oldest file is first.  The directories of ROUTERDIRS and bulk/ follow
 * router/ in the order of office_read_routers(); a new file in router/ goes
 * before files of the others.  With PARAMworkers 4, four processes share the
 * list of a directory; each takes the next file when it is free.
 *
 * Runs exclude each other by a lock on the file .submit.lock.  A repeated run
 * looks at router/ after each interval, and also when a submit that has put a
 * file there sends "NEW NUM" to the socket .submit.notify.  It reads the
 * directory only if its modification time has changed; as the time has whole
 * seconds, a directory that changed a moment ago is read again.  From time to
 * time it looks at transport/ in the same way, for queue entries that a crash
 * interrupted (recover.c), and tidies (tidy.c).
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <ctype.h>
#include <sys/wait.h>
#include <signal.h>
#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>
#endif

#define PATH_SIZE	800
#define LINE_SIZE	8192	/* bytes in a line of an envelope */
#define ENV_MOST	(64UL << 20)	/* bytes in an envelope */
#define SLACK		65536	/* bytes over a limit, for what submit and
				 * agents add to a message */
#define LOCK_MOST	60	/* seconds to wait for another run */
#define SETTLED		2.5	/* seconds; two changes that are further apart
				 * have different modification times */
#define AGAIN_MOST	900	/* seconds; a longer pause is not doubled */
#define DEFER_LEAST	60	/* least seconds between tries of deferred/ */
#define RECOVER_LOOKS	10	/* intervals between looks at transport/ */
#define RECOVER_MOST	300	/* most seconds between looks at transport/ */

struct file {
	const char *po, *dir, *base;
	char	path[PATH_SIZE];	/* po/dir/base */
	int	ours;		/* root or the post office's owner made the
				 * file, and nobody else can write to it */
	int	unreachable;	/* nobody but root and the post office's owner
				 * can reach the file */
	struct stat st;
	FILE	*f;
	struct input in;
	struct mail m;
	char	sender[ADDR_SIZE + 2];	/* sender of the envelope, in <> */
	/* has_from, has_fullname, has_to: the envelope has a line of that name;
	 * is_null: it has a line errormsg or channel error */
	int	has_from, has_fullname, has_to, is_null;
	int	bad_sender;	/* the sender of the envelope is wrong */
	int	has_sender;	/* m has the sender */
	const char *why;	/* why the file is bad, valid with BAD; while
				 * the envelope is read, NULL until a line is
				 * bad */
	int	bounce;		/* the file is bad as no recipient can get it
				 * and it has no sender for a DSN */
};

/* run: a run, and the directory that it reads. */
struct run {
	const char *po, *dir;
	struct routes routes;
	char	why[DEFERRED_WHY];	/* why all mail is deferred, or "" */
	unsigned deferred;	/* files deferred for this reason */
	struct scan scan;
	unsigned long table_id;	/* number of the table, for deferred/ */
	unsigned left;		/* files that stay in router/ */
	int	low;		/* new files in router/ go first */
	int	lock;		/* descriptor of .submit.lock, whose offset is
				 * the index of the next file, for all workers
				 */
};

static struct office_routers routers;

static int verbose_run;		/* a line is printed for each queued file */
/* Values of the table for double bounces; 0: no limit. */
static long postmanage;		/* seconds */
static unsigned long postbytes;

static volatile sig_atomic_t leave;	/* a signal ends the run */
static int wake[2] = { -1, -1 };	/* pipe; the signal ends
					 * sleep_until_notice */
static int notices = -1;	/* the socket for notices, or -1 */

/* ---- the envelope ---------------------------------------------------- */

static void
env_from(struct file *q, char *value)
{
	q->has_from = 1;
	q->has_sender = 0;
	if (text_fmt(q->sender, sizeof(q->sender), "%s", value) < 0)
		q->why = "its sender is too long";
}

static void
env_fullname(struct file *q, char *value)
{
	q->has_fullname = 1;
	text_fmt(q->m.author.full, sizeof(q->m.author.full), "%s", value);
}

static void
env_null_sender(struct file *q, char *value)
{
	(void)value;
	q->is_null = 1;
	q->has_sender = 0;
}

static void
env_channel(struct file *q, char *value)
{
	if (strcmp(value, "error") == 0)
		env_null_sender(q, value);
}

/* Mail from the agent hold skips routes to hold, so that it is not held again.
 * The agent runs as the owner or as root.  As root, the agent gives the file to
 * the message's user or to the user "nobody", and to a group to which no user
 * can give a file: so the group shows that the file is the agent's. */
static void
env_via(struct file *q, char *value)
{
	if (strcmp(value, "suspension") == 0)
		q->m.past_hold = q->ours ||
		    q->st.st_gid == post_gid_for_hold_files(q->po);
}

static void
env_envid(struct file *q, char *value)
{
	if (!xtext_is_valid(value) ||
	    text_fmt(q->m.envid, sizeof(q->m.envid), "%s", value) < 0)
		q->why = "its envid is wrong";
}

static void
env_ret(struct file *q, char *value)
{
	if (ret_parse(value, q->m.ret) < 0)
		q->why = "its notaryret is wrong";
}

static void
env_todsn(struct file *q, char *value)
{
	const char *p;

	if (text_fmt(q->m.dsn, sizeof(q->m.dsn), "%s", value) < 0)
		q->why = "its todsn is too long";
	for (p = value; *p != '\0'; p++)
		if (*p != ' ' && !isgraph((unsigned char)*p))
			q->why = "its todsn is wrong";
}

/* Sets the sender, or bad_sender after saying what is wrong. */
static void
set_sender(struct file *q)
{
	if (!q->has_from)
		text_fmt(q->sender, sizeof(q->sender), "%s", q->m.author.login);
	q->has_sender = 1;
	q->bad_sender = mail_set_sender(&q->m, q->is_null ? "" :
	    q->sender) < 0;
}

static void
env_to(struct file *q, char *value)
{
	q->has_to = 1;
	if (!q->has_sender)	/* routes may depend on the sender */
		set_sender(q);
	mail_add_list(&q->m, value, value + strlen(value));
	q->m.dsn[0] = '\0';
}

static const struct {
	const char *word;
	void	(*apply)(struct file *, char *);	/* NULL: no effect */
} words[] = {
	{ "from", env_from }, { "to", env_to }, { "todsn", env_todsn },
	{ "channel", env_channel }, { "errormsg", env_null_sender },
	{ "envid", env_envid }, { "notaryret", env_ret },
	{ "authinfo", NULL }, { "bodytype", NULL }, { "comment", NULL },
	{ "external", NULL }, { "fullname", env_fullname },
	{ "identinfo", NULL }, { "loginname", NULL }, { "rcvdfrom", NULL },
	{ "user", NULL }, { "verbose", NULL }, { "via", env_via },
	{ "with", NULL }
};

/* Reads the next line, without its end: 0; or -1 at the end of the file, or
 * with errno if the file cannot be read. */
static int
read_env_line(struct file *q, char *line)
{
	size_t n = 0;
	int c;

	while ((c = in_read(&q->in)) != EOF && c != '\n' && q->why == NULL) {
		if (n + 1 == LINE_SIZE)
			q->why = "a line of its envelope is too long";
		else if (c == '\0')
			q->why = "its envelope has a NUL byte";
		else if (q->in.taken > ENV_MOST)
			q->why = "its envelope is longer than 64 MB";
		else
			line[n++] = (char)c;
	}
	line[n] = '\0';
	return (c == EOF && n == 0) || ferror(q->f) ? -1 : 0;
}

/* Does what a line of the envelope says; its word is in lower case. */
static void
apply_env_line(struct file *q, const char *word, char *value)
{
	size_t i = 0, n = sizeof(words) / sizeof(*words);

	while (i < n && strcmp(word, words[i].word) != 0)
		i++;
	if (i == n)
		q->why = "its envelope has a word that is not known";
	else if (words[i].apply != NULL)
		words[i].apply(q, value);
}

/* Returns 1 if the line is the first one of the header.  value is the text
 * behind the first word of the line; the value of ENVID may begin with a colon.
 */
static int
is_header(const char *line, const char *value)
{
	return *line == '\0' || *value == ':' ||
	    (value[strspn(value, " \t")] == ':' &&
	    !ctl_is_word(line, (size_t)(value - line), "ENVID"));
}

/* Reads up to the header, and sets why if the file is bad: 0, or -1 with errno
 * if the file cannot be read. */
static int
read_envelope(struct file *q)
{
	static char line[LINE_SIZE];	/* only a buffer; large */
	unsigned long start;
	char *value;
	enum eol eol;

	while (q->why == NULL) {
		start = q->in.taken - (unsigned long)q->in.npush;
		if (read_env_line(q, line) < 0 || q->why != NULL)
			break;
		value = line + strcspn(line, " \t:");
		if (is_header(line, value)) {
			eol = q->in.eol;
			if (fseek(q->f, (long)start, SEEK_SET) != 0)
				return -1;
			in_start(&q->in, q->f, DOTS_TEXT);
			q->in.taken = start;
			q->in.eol = eol;
			break;
		}
		if (*value != '\0')
			*value++ = '\0';
		text_lower(line);
		if (strcmp(line, "env-end") == 0 ||
		    strcmp(line, "env-eof") == 0)
			break;
		apply_env_line(q, line, value + strspn(value, " \t"));
	}
	return ferror(q->f) ? -1 : 0;
}

/* ---- one file -------------------------------------------------------- */

/* Fails all recipients for q->why: TAKEN if the sender gets a DSN of this kind,
 * BAD if there is no sender. */
static enum verdict
fail_message(struct file *q, const char *kind, const char *status)
{
	if (q->m.sender[0] == '\0')
		return BAD;
	say("%s %s; its sender gets a DSN", status, q->why);
	mail_fail_all(&q->m, kind);
	return TAKEN;
}

/* Reads and checks envelope and header. */
static enum verdict
read_message(struct file *q)
{
	struct mail *m = &q->m;
	int bad = read_envelope(q) < 0;

	if (!bad && q->why == NULL) {
		errno = 0;
		q->why = head_read(&m->head, &q->in);
		bad = ferror(q->f) || (q->why != NULL && errno == ENOMEM);
	}
	if (bad) {
		say("cannot be read: %s", strerror(errno));
		return LATER;
	}
	if (q->why != NULL)
		return BAD;
	/* the full name is the file owner's, who may not be the sender */
	if (q->has_from && !q->has_fullname)
		m->author.full[0] = '\0';
	q->why = "its sender is wrong";
	if (!q->has_sender)
		set_sender(q);
	if (q->bad_sender)
		return BAD;
	if (!q->has_to)
		mail_add_header_rcpts(m);
	if (m->full == X_OSERR)
		return LATER;
	q->why = "it has too many recipients";
	if (m->full != 0)
		return fail_message(q, "toomany", "5.5.3");
	q->why = "it names no recipient";
	if (m->nrcpt == 0)
		return BAD;
	q->why = "no recipient can get it, and it has no sender for a DSN";
	q->bounce = m->nrouted == 0 && m->sender[0] == '\0';
	if (q->bounce)
		return BAD;
	q->why = "it has 50 Received fields or more, as in a mail loop";
	return head_count_hops(&m->head) < HOPS_MOST ? TAKEN :
	    fail_message(q, "loop", "5.4.6");
}

/* Queues the file at path, open as fd, which is the original or its copy. */
static enum verdict
queue_file(struct file *q, const char *path, int fd, const char *name)
{
	char id[80] = "-";
	enum verdict v;

	if (mail_fill_header(&q->m, name_num(name), name) < 0) {
		say("there is no memory for the header");
		return LATER;
	}
	/* the id is made first, as an agent may remove the message at once */
	spool_id(name, NULL, path, id, sizeof(id));
	v = entry_put(&q->m, q->po, path, fd, name, q->m.head.body);
	if (v != LATER && verbose_run) {
		say_set_topic(NULL);
		say("accepted router=%s id=%s msg=%s", q->base, id, name);
		say_set_topic(q->path + strlen(q->po) + 1);
	}
	return v;
}

static enum verdict
queue_original(struct file *q)
{
	char name[64], hidden[PATH_SIZE];
	int fd = fileno(q->f);

	entry_make_name(name, sizeof(name), (unsigned long)q->st.st_ino);
	if (q->ours)
		return queue_file(q, q->path, fd, name);
	if (accept_hide(q->po, q->path, fd, name, q->m.author.uid,
	    hidden, sizeof(hidden)) < 0)
		return STAYS;
	if (rights_give_users_file(fd) < 0)
		say("cannot be given to us: %s", strerror(errno));
	else if (queue_file(q, hidden, fd, name) == TAKEN)
		return TAKEN;
	return STAYS;		/* the next run finds the file in private/ */
}

/* Copies size bytes of the file; p is the copy if this returns TAKEN. */
static enum verdict
make_copy(const struct file *q, double size, struct post *p)
{
	enum verdict v;

	if (entry_check_room(q->po, q->m.routes, size) < 0)
		return STAYS;
	if (post_open(p, q->po, "submit") < 0) {
		say("cannot be copied: %s", strerror(errno));
		return LATER;
	}
	v = accept_copy(p, fileno(q->f), &q->st, size);
	if (v != TAKEN)
		post_remove(p);
	return v;
}

/* Queues a copy of the file, or of its header if the file is too large. */
static enum verdict
queue_copy(struct file *q)
{
	double size = q->m.toobig ? (double)q->m.head.body :
	    (double)q->st.st_size;
	char name[64], hidden[PATH_SIZE];
	enum verdict v;
	struct post p;

	v = make_copy(q, size, &p);
	if (v != TAKEN)
		return v;
	entry_make_name(name, sizeof(name), p.num);
	if (accept_hide(q->po, q->path, fileno(q->f), name, q->m.author.uid,
	    hidden, sizeof(hidden)) < 0) {
		v = STAYS;
	} else {
		v = queue_file(q, p.path, fileno(p.f), name);
		if (v == LATER)
			accept_unhide(hidden, q->path);
		else if (v == TAKEN && unlink(hidden) < 0)
			say("cannot remove %s: %s", hidden, strerror(errno));
	}
	post_remove(&p);	/* a renamed file is closed and not removed */
	return v;
}

/* Puts a copy of a queued file into postman/, for the postmaster.  Its name is
 * NUM_syntax, or NUM_untold if there is no sender who could get a DSN. */
static void
copy_to_postman(const struct file *q)
{
	const char *end = q->m.nsyntax > 0 && q->m.sender[0] != '\0' ?
	    "_syntax" : "_untold" BOUNCE_NEW;
	char to[ASIDE_SIZE];
	struct post p;

	if (make_copy(q, (double)q->st.st_size, &p) != TAKEN)
		return;
	aside_make_path(to, q->po, q->base, end);
	if (rename(p.path, to) < 0)
		say_cannot("make", to);
	else
		say("it is in the queue, and a copy is %s", to);
	post_remove(&p);	/* a renamed file is closed and not removed */
}

/* Moves a bad file to postman/: TAKEN, or LATER if it cannot be moved. */
static enum verdict
set_aside(const struct file *q)
{
	char to[ASIDE_SIZE];

	aside_make_path(to, q->po, q->base, q->bounce ? BOUNCE_NEW : "");
	if (rename(q->path, to) < 0) {
		say("%s, and it cannot be moved to %s: %s", q->why, to,
		    strerror(errno));
		return LATER;
	}
	say("%s; it is now %s", q->why, to);
	return TAKEN;
}

/* Opens the file.  Root may read files that only another user can read, but the
 * directory belongs to the post office's owner.  So we change to the directory
 * as the owner, check that the directory is his, and only then open a name in
 * it as root.  Returns a descriptor, or -1 with errno. */
static int
open_file(struct file *q)
{
	char here[4096];
	struct stat st;
	int fd = -1, known, back, err;

	rights_use_root(1);
	known = getcwd(here, sizeof(here)) != NULL;
	rights_use_root(0);
	if (!known || chdir(path_in(q->po, "%s", q->dir)) < 0)
		return -1;
	if (stat(".", &st) < 0 || !rights_is_ours((long)st.st_uid)) {
		errno = EPERM;
	} else {
		rights_use_root(1);
		fd = fd_open_plain(q->base, O_RDONLY, &q->st);
		rights_use_root(0);
	}
	err = errno;
	rights_use_root(1);
	back = chdir(here) == 0;
	rights_use_root(0);
	if (!back) {
		say("cannot go back to %s: %s", here, strerror(errno));
		exit(X_TEMPFAIL);
	}
	errno = err;
	return fd;
}

/* Sets the members that depend on the owner, the directory and the size. */
static void
classify_file(struct file *q, long uid)
{
	const struct routes *routes = q->m.routes;
	int in_private = strcmp(q->dir, "private") == 0;
	int closed = (q->st.st_mode & 022) == 0;	/* only the owner may
							 * write to the file */

	q->ours = !in_private && closed && rights_is_ours(uid);
	if (in_private)
		/* the file is ours if a run gave it to us before a crash */
		q->unreachable = closed && rights_is_ours((long)q->st.st_uid);
	else
		q->unreachable = q->ours || ((strcmp(q->dir, "router") == 0 ||
		    strcmp(q->dir, DEFERRED) == 0) && getuid() == 0 &&
		    rights_is_way_in(q->po, q->st.st_gid));
	q->m.tame = rights_is_ours(uid);
	q->m.head.slack = SLACK;
	if (!q->ours && routes->most != 0 &&
	    (double)q->st.st_size > (double)routes->most + SLACK) {
		say("5.3.4 it has more than %lu bytes (PARAMmessagesize in "
		    "%s)", routes->most, routes->path);
		q->m.toobig = 1;
		strcpy(q->m.ret, "HDRS");
	}
}

/* Queues the open file.  An original in private/ whose copy is queued is
 * removed instead.  A file with a second name is bad, as it could be the file
 * of a user who did not put it here: root would read it for the post office's
 * owner, or make him its owner. */
static enum verdict
queue_open_file(struct file *q)
{
	int fd = fileno(q->f);
	enum verdict v;

	if (strcmp(q->dir, "private") == 0) {
		if (fd_lock_at(fd, F_GETLK, F_WRLCK, 0) > 0) {
			say("it is locked: another run is at work on it");
			return STAYS;
		}
		if (accept_remove_queued(q->po, q->base) == 0)
			return TAKEN;
	}
	fd_lock_at(fd, F_SETLK, F_RDLCK, 0);	/* some systems have no locks */
	q->why = "it has a second name";
	if (q->st.st_nlink != 1)
		return BAD;
	q->why = NULL;
	v = read_message(q);
	if (v == TAKEN)
		v = q->ours || (q->unreachable && !q->m.toobig) ?
		    queue_original(q) : queue_copy(q);
	/* the postmaster gets a copy for a wrong address, and for a refused one
	 * if no sender gets a DSN */
	if (v == TAKEN && !q->m.toobig && (q->m.nsyntax > 0 ||
	    (q->m.nwrong > 0 && q->m.sender[0] == '\0')))
		copy_to_postman(q);
	return v;
}

/* Removes an entry of private/ or deferred/ that is no regular file; BAD for a
 * directory that is not empty.  In other directories such an entry is left to
 * its user; then TAKEN means that nothing is left to do. */
static enum verdict
remove_special(struct file *q)
{
	int bad;

	if (strcmp(q->dir, "private") != 0 && strcmp(q->dir, DEFERRED) != 0)
		return TAKEN;
	q->why = "it is no regular file";
	bad = S_ISDIR(q->st.st_mode) ? rmdir(q->path) : unlink(q->path);
	if (bad == 0)
		say("%s; it is removed", q->why);
	return bad < 0 ? BAD : TAKEN;
}

/* Opens and queues the file. */
static enum verdict
open_and_queue(struct file *q, const struct routes *routes)
{
	int fd = open_file(q);
	char name[100];
	enum verdict v = LATER;
	long uid;	/* user who has sent the message */

	if (fd < 0 && errno == EINVAL)
		return remove_special(q);
	if (fd < 0 && errno == ENOENT)
		return TAKEN;
	if (fd < 0 || (q->f = fdopen(fd, "r")) == NULL) {
		say("cannot be read: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return LATER;
	}
	in_start(&q->in, q->f, DOTS_TEXT);
	uid = (long)q->st.st_uid;
	if (strcmp(q->dir, "private") == 0 && rights_is_ours(uid))
		uid = accept_parse_hidden_name(q->base, name, sizeof(name));
	if (mail_init(&q->m, routes, uid) == 0) {
		classify_file(q, uid);
		v = queue_open_file(q);
	}
	mail_free(&q->m);
	fclose(q->f);
	return v;
}

/* Queues, defers or sets aside one file. */
static enum verdict
process_file(const struct run *p, const char *base)
{
	static struct file q;	/* large, and there is only one at a time */
	enum verdict v;

	memset(&q, 0, sizeof(q));
	q.po = p->po;
	q.dir = p->dir;
	q.base = base;
	text_fmt(q.path, sizeof(q.path), "%s/%s/%s", p->po, p->dir, base);
	say_set_topic(q.path + strlen(q.po) + 1);
	v = open_and_queue(&q, &p->routes);
	if (v == BAD)
		v = set_aside(&q);
	if (v == LATER && strcmp(p->dir, "private") != 0)
		defer_move_file(p->po, q.path, base, p->table_id, say_last());
	if (v == TAKEN && strcmp(p->dir, DEFERRED) == 0)
		deferred_remove_why(p->po, base);
	return v;
}

/* ---- a run ----------------------------------------------------------- */

/* Sleeps for this time, or until a notice comes or a signal ends the run. */
static void
sleep_until_notice(long seconds)
{
	struct timeval tv;
	char notice[100];
	int max = -1;
	fd_set in;

	FD_ZERO(&in);
	fd_watch(wake[0], &in, &max);
	fd_watch(notices, &in, &max);
	tv.tv_sec = seconds;
	tv.tv_usec = 0;
	if (select(max + 1, &in, NULL, NULL, &tv) > 0 && notices >= 0)
		while (read(notices, notice, sizeof(notice)) > 0)
			;
}

/* Opens the lock file, which may be root's.  Returns a descriptor, or -1. */
static int
open_lock(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOCTTY, 0600);

	if (fd >= 0) {
		fd_cloexec(fd);
		return fd;
	}
	if (errno != EEXIST)
		return -1;
	rights_use_root(1);
	fd = fd_open_plain(path, O_RDWR, &st);
	rights_use_root(0);
	if (fd >= 0 && !rights_is_ours((long)st.st_uid)) {
		close(fd);
		errno = EPERM;
		return -1;
	}
	return fd;
}

/* Waits up to LOCK_MOST seconds for the lock.  Returns its descriptor, or -1
 * after saying why. */
static int
lock_runs(const char *po)
{
	const char *path = path_in(po, ".submit.lock");
	int i, fd = open_lock(path);

	if (fd < 0)
		return say_cannot("make or open", path);
	for (i = 0; fd_lock(fd) < 0; i++) {
		if ((errno == EACCES || errno == EAGAIN) && i < LOCK_MOST &&
		    !leave) {
			sleep_until_notice(1);
			continue;
		}
		if (!leave)
			say("cannot lock %s: %s; is another submit -q at "
			    "work?", path, strerror(errno));
		close(fd);
		return -1;
	}
	return fd;
}

/* Returns 1 for an original in private/ that a crash left there (accept.c). */
static int
is_original_name(const char *s)
{
	char name[100];

	return accept_parse_hidden_name(s, name, sizeof(name)) >= 0;
}

/* Processes files of the list until none is left: 0, or an exit code.  Workers
 * share one offset, the index of the next file: a worker that moves the offset
 * takes that file. */
static int
process_list(struct run *p)
{
	int code = 0;
	const char *base, *path;
	struct stat st;
	long next;

	while (!leave) {
		next = (long)lseek(p->lock, (off_t)1, SEEK_CUR) - 1;
		if (next < 0 || (unsigned long)next >= p->scan.n)
			break;
		base = p->scan.v[next].name;
		if (p->low && scan_count(p->po, "router", deferred_is_name) >
		    p->left)
			break;
		if (strcmp(p->dir, DEFERRED) == 0 &&
		    defer_wait(p->po, base, p->table_id) > 0)
			continue;
		path = path_in(p->po, "%s/%s", p->dir, base);
		if (p->why[0] != '\0')
			p->deferred += lstat(path, &st) == 0 &&
			    S_ISREG(st.st_mode) && defer_move_file(p->po, path,
			    base, p->table_id, p->why) == 0;
		else if (process_file(p, base) != TAKEN)
			code = X_TEMPFAIL;
	}
	say_set_topic(NULL);
	return code;
}

/* Waits for a child, and passes SIGTERM on to it.  Returns its exit code. */
static int
wait_worker(pid_t pid)
{
	int status, passed = 0;
	pid_t ended;

	do {
		/* waitpid is not interrupted by a SIGTERM that came before */
		if (leave && !passed)
			passed = kill(pid, SIGTERM) == 0;
		ended = waitpid(pid, &status, 0);
	} while (ended < 0 && errno == EINTR);
	if (ended < 0)
		return X_OSERR;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	say("a worker died of signal %d; its file stays", WTERMSIG(status));
	return X_TEMPFAIL;
}

/* Shares the list between n processes, of which we are one: 0, or an exit code.
 */
static int
share_list(struct run *p, unsigned n)
{
	pid_t pid[WORKERS_MOST];
	int code, other;
	unsigned i;

	fflush(stderr);
	for (i = 1; i < n; i++) {
		pid[i] = fork();
		if (pid[i] == 0)
			_exit(process_list(p));
	}
	code = process_list(p);
	for (i = 1; i < n; i++) {
		/* if a worker did not start, the others process its files */
		other = pid[i] < 0 ? 0 : wait_worker(pid[i]);
		if (code == 0)
			code = other;
	}
	return code;
}

/* Processes all files of the directory whose names fit, under the lock: 0, or
 * an exit code. */
static int
process_dir(struct run *p, const char *dir, int (*fits)(const char *))
{
	unsigned n = p->why[0] != '\0' ? 1 : (unsigned)p->routes.workers;
	int code = X_TEMPFAIL;

	p->dir = dir;
	if (scan_read(&p->scan, p->po, dir, fits) < 0 &&
	    (errno != ENOENT || strcmp(dir, OFFICE_BULK) != 0)) {
		say_cannot("read", path_in(p->po, "%s", dir));
		return code;
	}
	if (n > p->scan.n)
		n = p->scan.n;
	if (lseek(p->lock, (off_t)0, SEEK_SET) != 0)
		say_cannot("use", ".submit.lock");
	else
		code = n > 1 ? share_list(p, n) : process_list(p);
	scan_free(&p->scan);
	return code;
}

/* Processes router/ and, while router/ has no new file, the other directories:
 * 0, or an exit code. */
static int
process_routers(struct run *p)
{
	int i, bad, code = 0;

	do {
		for (i = 0; i < routers.n && !leave; i++) {
			p->low = i > 0;
			bad = process_dir(p, routers.v[i], deferred_is_name);
			if (bad != 0)
				code = bad;
			if (i == 0)
				p->left = scan_count(p->po, "router",
				    deferred_is_name);
		}
	} while (!leave && scan_count(p->po, "router", deferred_is_name) >
	    p->left);
	return code;
}

/* Reads the table as root, as the owner may have no right to read it: 0 or -1,
 * as route_load.  Without a table, postmanage and postbytes have their
 * defaults; a table with mistakes may be meant to set other values, so no
 * double bounce is removed until the table is corrected. */
static int
load_table_and_limits(struct routes *routes, const char *table)
{
	int bad, bad_table;

	rights_use_root(1);
	bad = route_load(routes, table);
	rights_use_root(0);
	bad_table = bad && errno != ENOENT;
	postmanage = bad_table ? 0 : routes->postmanage;
	postbytes = bad_table ? 0 : routes->postbytes;
	return bad;
}

/* Returns a number that changes with the table; 0: no table. */
static unsigned long
get_table_id(const char *table)
{
	struct stat st;
	int bad;

	rights_use_root(1);
	bad = stat(table, &st) < 0;
	rights_use_root(0);
	return bad ? 0 : (unsigned long)st.st_ctime * 31 +
	    (unsigned long)st.st_ino * 7 + (unsigned long)st.st_size;
}

/* Processes all directories: 0, or an exit code. */
static int
process_dirs(struct run *p)
{
	int code, private_code = 0, deferred_code = 0;

	if (p->why[0] == '\0') {
		if (entry_check_room(p->po, &p->routes, 0.0) < 0 ||
		    rights_make_dir(p->po, "private", 077) < 0)
			return X_TEMPFAIL;
		private_code = process_dir(p, "private", is_original_name);
	}
	if (path_may_exist(path_in(p->po, DEFERRED))) {
		deferred_code = process_dir(p, DEFERRED, deferred_is_name);
		/* called to remove reasons without files */
		defer_next_wait(p->po, p->table_id);
	}
	code = process_routers(p);
	if (p->deferred > 0)
		say("messages moved to " DEFERRED " until the table can be "
		    "used: %u", p->deferred);
	if (p->why[0] != '\0')
		return X_CONFIG;
	if (code == 0)
		code = deferred_code;
	return code != 0 ? code : private_code;
}

/* Does one run: 0, or an exit code. */
static int
run(const char *po, const char *table)
{
	static struct run p;	/* large, and there is only one at a time */
	int code;

	memset(&p, 0, sizeof(p));
	p.po = po;
	p.lock = lock_runs(po);
	p.table_id = get_table_id(table);
	if (p.lock < 0)
		return X_TEMPFAIL;
	if (load_table_and_limits(&p.routes, table) < 0) {
		if (errno != EINVAL)
			say("%s", p.routes.mistake);
		text_fmt(p.why, sizeof(p.why), "the table cannot be used: %s",
		    p.routes.mistake);
	}
	code = process_dirs(&p);
	route_free(&p.routes);
	close(p.lock);
	return code;
}

/* ---- repeated runs --------------------------------------------------- */

static void
on_term(int sig)
{
	int err = errno;

	(void)sig;
	leave = 1;
	if (write(wake[1], "", 1) < 0)
		leave = 1;	/* a full pipe wakes sleep_until_notice, too */
	errno = err;
}

static int
catch_term(void)
{
	if (pipe(wake) < 0) {
		say("cannot make a pipe: %s", strerror(errno));
		return -1;
	}
	fd_nonblock(wake[1]);
	signal_set(SIGTERM, on_term);
	signal_set(SIGINT, on_term);
	signal(SIGHUP, SIG_IGN);	/* runs go on without the terminal */
	return 0;
}

/* Opens the socket for notices, to which any user may write. */
static void
open_notices(const char *po)
{
#ifndef NO_TCP
	struct sockaddr_un a;

	memset(&a, 0, sizeof(a));
	a.sun_family = AF_UNIX;
	if (text_fmt(a.sun_path, sizeof(a.sun_path), "%s/" ROUTER_NOTIFY,
	    po) < 0)
		return;
	unlink(a.sun_path);
	notices = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (notices >= 0 && fd_nonblock(notices) == 0 && bind(notices,
	    (struct sockaddr *)&a, sizeof(a)) == 0 &&
	    chmod(a.sun_path, 0622) == 0)
		return;
	say("cannot make %s: %s; mail is found after the interval",
	    a.sun_path, strerror(errno));
	if (notices >= 0)
		close(notices);
	notices = -1;
#else
	(void)po;
#endif
}

/* watch: a directory between repeated runs. */
struct watch {
	const char *dir;
	long	mtime;
	int	known;		/* mtime is set */
	int	settled;	/* a further change would show in mtime */
	double	changed;	/* mono; when mtime was first seen */
	double	due;		/* mono; transport/: the next look;
				 * deferred/: the next try, -1: none */
	unsigned long table_id;	/* deferred/: number of the table */
};

/* Returns 1 if the directory may have changed since it was read. */
static int
has_dir_changed(struct watch *w, const char *po)
{
	struct stat st;

	if (stat(path_in(po, "%s", w->dir), &st) < 0)
		/* 1, so that the caller reads the directory and says why that
		 * fails; but bulk/ may be missing */
		return strcmp(w->dir, OFFICE_BULK) != 0;
	if (!w->known || w->mtime != (long)st.st_mtime) {
		w->known = 1;
		w->settled = 0;
		w->mtime = (long)st.st_mtime;
		w->changed = now.mono;
	}
	if (w->settled)
		return 0;
	w->settled = (long)now.wall > w->mtime + 1 ||
	    now.mono - w->changed > SETTLED;
	return 1;
}

/* Recovers entries of transport/.  If a process is at work on one, transport/
 * is read again, as the end of the process does not change the directory. */
static void
recover_if_due(struct watch *w, const char *po, long every)
{
	if (now.mono < w->due)
		return;
	w->due = now.mono + (every < RECOVER_MOST / RECOVER_LOOKS ?
	    (double)every * RECOVER_LOOKS : RECOVER_MOST);
	if (has_dir_changed(w, po) && entry_recover(po) < 0)
		w->known = 0;
}

/* Returns 1 if a try of deferred mail is due, and makes the next try due in
 * DEFER_LEAST seconds.  The due time is computed anew when the table or the
 * directory has changed; a run or mailq that writes a reason changes the
 * directory. */
static int
schedule_deferred_try(struct watch *w, const char *po, const char *table)
{
	unsigned long table_id;
	long wait;

	if (!path_may_exist(path_in(po, DEFERRED)))
		return 0;
	table_id = get_table_id(table);
	if (has_dir_changed(w, po) || table_id != w->table_id) {
		w->table_id = table_id;
		wait = defer_next_wait(po, table_id);
		w->due = wait < 0 ? -1 : now.mono + (double)wait;
	}
	if (w->due < 0 || now.mono < w->due)
		return 0;
	w->due = now.mono + DEFER_LEAST;
	return 1;
}

/* tidier: the child that tidies. */
struct tidier {
	pid_t	pid;		/* 0: none, -1: fork failed */
	double	due;		/* mono; the next start */
};

/* Tidies in a child, so that no mail waits. */
static void
tidy_if_due(struct tidier *t, const char *po)
{
	if (t->pid > 0 && waitpid(t->pid, NULL, WNOHANG) != 0)
		t->pid = 0;
	if (t->pid > 0 || now.mono < t->due)
		return;
	t->due = now.mono + TIDY_EVERY + 1;
	fflush(stderr);
	t->pid = fork();
	if (t->pid != 0)
		return;
	signal(SIGTERM, SIG_DFL);
	tidy_run(po, postmanage, postbytes);
	_exit(0);
}

/* Does a run after each change, and when a try of deferred mail is due; after a
 * failed run also when a pause is over.  Each failed run doubles the pause. */
static void
run_every(const char *po, const char *table, long every)
{
	struct tidier tidier = { 0, 0 };
	long pause = every;	/* seconds between failed runs */
	double again = 0;	/* mono; the run after a failed one */
	static struct watch w[OFFICE_ROUTERS], transport, deferred; /* zeros */
	int i, changed, trouble = 0;

	for (i = 0; i < routers.n; i++)
		w[i].dir = routers.v[i];
	transport.dir = "transport";
	deferred.dir = DEFERRED;
	while (!leave) {
		clock_read();
		recover_if_due(&transport, po, every);
		for (i = changed = 0; i < routers.n; i++)
			changed |= has_dir_changed(&w[i], po);
		changed |= schedule_deferred_try(&deferred, po, table);
		if (changed || (trouble && now.mono >= again)) {
			trouble = run(po, table) != 0;
			again = now.mono + (double)pause;
			if (!trouble)
				pause = every;
			else if (pause < AGAIN_MOST)
				pause *= 2;
		}
		tidy_if_due(&tidier, po);
		if (!leave)
			sleep_until_notice(every);
	}
}

int
qrun_become_owner(const char *po)
{
	int can_queue;

	if (entry_check_office(po, &can_queue) < 0)
		return X_TEMPFAIL;
	if (!can_queue) {
		say("you may not write to %s/transport; only its owner or root "
		    "can run submit -q", po);
		return X_NOPERM;
	}
	return rights_become_owner(po) < 0 ? X_NOPERM : 0;
}

int
qrun(const char *po, const char *table, long every, int verbose)
{
	struct routes routes;
	struct stat log;
	int code, in_file = fstat(2, &log) == 0 && S_ISREG(log.st_mode);

	verbose_run = verbose || every > 0;
	if (every > 0 || in_file)
		say_set_times();
	code = qrun_become_owner(po);
	if (code != 0)
		return code;
	if (office_read_routers(&routers) < 0) {
		say("%s", routers.why);
		return X_CONFIG;
	}
	/* open_file goes back to the working directory; the one that we were
	 * started in may be removed, or closed to root */
	if (*po == '/' && *table == '/' && chdir("/") < 0)
		return X_OSERR;
	if (every == TIDY_ONLY) {
		load_table_and_limits(&routes, table);
		route_free(&routes);
	} else if (every == RUN_ONCE) {
		entry_recover(po);
		code = run(po, table);
	}
	if (every <= 0) {
		tidy_run(po, postmanage, postbytes);
		return code;
	}
	if (in_file && !rights_is_ours((long)log.st_uid)) {
		say("the log belongs to the user %ld, who may have put it "
		    "there; remove it", (long)log.st_uid);
		return X_NOPERM;
	}
	/* descriptors of the parent may be pipes on which somebody waits for
	 * the end of file, or so many that ours would be too large for
	 * select */
	fd_close_from(3);
	if (catch_term() < 0)
		return X_OSERR;
	open_notices(po);
	run_every(po, table, every);
	return 0;
}
