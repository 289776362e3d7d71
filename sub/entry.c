/*
 * entry.c - puts a message into the queue.
 *
 *	1  the message is in a file of its own, on disk, in private/ or router/
 *	2  transport/.submit:NAME  write the control file and sync it
 *	3  queue/NAME		rename the message to this
 *	4  transport/NAME	rename the control file: the message is queued
 *	5  .scheduler.notify	send NEW NAME to this socket
 *
 * NAME is the inode number of the message and our process number.  A crash
 * before step 3 leaves the message where it was.  A crash between 3 and 4
 * leaves a complete control file under its first name and a complete message;
 * recover.c does step 4 once nobody has the lock.  If a step fails, the steps
 * before it are undone: the message is in the queue, or where it was.  If they
 * cannot be undone, the files stay as after a crash.
 *
 * Only users who may write to queue/ and transport/ do this, mostly their owner
 * and root.  Mail of other users goes through router/, with an envelope before
 * its header, in ZMailer's words:
 *
 *	from <anna@x.org>	or: channel error
 *	fullname Anna		if submit -q adds From
 *	envid E			notaryret FULL
 *	todsn NOTIFY=NEVER	for the recipients of the next line
 *	to <bert@y.org>
 *	env-end
 *
 * With NO_SETEUID root stays root, and the owner of transport/ gets both files.
 */
#include "submit.h"
#include <ctype.h>
#ifndef NO_STATVFS
#include <sys/statvfs.h>
#endif

#define INODES_FREE	50	/* inodes that mail leaves free */

int
entry_make_name(char *name, size_t size, unsigned long inode)
{
	return text_fmt(name, size, "%lu-%ld", inode, (long)getpid());
}

int
entry_check_office(const char *po, int *can_queue)
{
	static const char *const places[] = { "public", "router", "queue",
	    "transport" };
	const char *path;
	struct stat st;
	int i;

	*can_queue = 1;
	for (i = 0; i < 4; i++) {
		path = path_in(po, "%s", places[i]);
		errno = ENOTDIR;
		if (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)) {
			if (errno == ENOENT || errno == ENOTDIR)
				say("%s is missing or no directory; start "
				    "the scheduler once, or name the post "
				    "office with -P", path);
			else
				say_cannot("look at", path);
			return -1;
		}
		if (i < 2 || access(path, W_OK | X_OK) == 0)
			continue;
		if (errno != EACCES && errno != EPERM)
			return say_cannot("write to", path);
		*can_queue = 0;
	}
	return 0;
}

/* ---- files ----------------------------------------------------------- */

int
entry_sync(const char *po, const char *dir)
{
	const char *path = path_in(po, "%s", dir);

	return dir_sync(path) < 0 ? say_cannot("sync", path) : 0;
}

int
entry_check_room(const char *po, const struct routes *routes, double bytes)
{
#ifndef NO_STATVFS
	struct statvfs fs;
	double unit;
	int full;

	if (routes->least == 0 || statvfs(po, &fs) < 0)
		return 0;
	unit = (double)(fs.f_frsize != 0 ? fs.f_frsize : fs.f_bsize);
	full = (double)fs.f_bavail * unit < (double)routes->least + bytes;
	/* f_files is 0 if the file system does not count them */
	if (!full && (fs.f_files == 0 || fs.f_favail >= INODES_FREE))
		return 0;
	say("4.3.1 the file system of %s %s (PARAMminfree in %s)", po,
	    full ? "is nearly full" : "has hardly any inodes left",
	    routes->path);
	return -1;
#else
	(void)po;
	(void)routes;
	(void)bytes;
	return 0;
#endif
}

int
entry_is_at(int fd, const char *path)
{
	struct stat a, b;

	return lstat(path, &a) == 0 && fstat(fd, &b) == 0 &&
	    is_same_file(&a, &b);
}

/* ---- the control file ------------------------------------------------ */

/* Prints the line "l", for the log: the Message-ID, or the name. */
static void
put_logid(const struct header *h, FILE *f, const char *name)
{
	size_t n;
	const char *p = head_word(h, "message-id", &n);

	if (n > 0 && n < 200)
		fprintf(f, "l %.*s\n", (int)n, p);
	else
		fprintf(f, "l %s\n", name);
}

/* Prints the line of parameters for DSNs; WHY= is for errormail. */
static void
put_dsn_line(const struct recipient *d, FILE *f)
{
	char why[1000];
	struct text t;

	text_init(&t, why, sizeof(why));
	if (d->why[0] != '\0') {
		text_add(&t, d->dsn[0] != '\0' ? " WHY=" : "WHY=");
		xtext_add(&t, d->why, strlen(d->why));
	}
	if (d->dsn[0] != '\0' || t.len > 0)
		fprintf(f, "N %s%s\n", d->dsn, why);
}

static void
put_control(const struct mail *m, FILE *f, const char *name,
    unsigned long body)
{
	const struct recipient *d;
	int from = m->sender[0] != '\0';

	fprintf(f, "i %s\no %lu\n", name, body);
	put_logid(&m->head, f, name);
	if (m->envid[0] != '\0')
		fprintf(f, "n %s\n", m->envid);
	if (m->ret[0] != '\0')
		fprintf(f, "R %s\n", m->ret);
	if (from)
		fprintf(f, "e %s\n", m->rewritten);
	fprintf(f, "s %s - %s %ld\n", from ? "local" : "error",
	    from ? m->rewritten : "<>", m->author.uid);
	for (d = m->rcpts; d != NULL; d = d->next) {
		if (!from && strcmp(d->channel, "error") == 0)
			continue;	/* nobody can get a DSN */
		fprintf(f, "r           %s %s %s %ld\n", d->channel, d->host,
		    d->user, m->author.uid);
		put_dsn_line(d, f);
	}
	fputs("m\n", f);
	entry_print_header(m, f);
}

/* Writes the control file, after removing one of an earlier process with our
 * number.  Returns the file open, or NULL after saying why.  Its lock shows
 * recover.c that a process is at work on it. */
static FILE *
write_control(const struct mail *m, const char *path, const char *name,
    unsigned long body)
{
	FILE *f = NULL;
	int fd;

	unlink(path);
	fd = fd_open_own(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd >= 0) {
		fd_lock(fd);	/* a file system may have no locks */
		f = fdopen(fd, "w");
	}
	if (f == NULL) {
		say_cannot("make", path);
		if (fd >= 0) {
			close(fd);
			unlink(path);
		}
		return NULL;
	}
	put_control(m, f, name, body);
	if (file_sync(f) == 0 && rights_give_roots_file(fd) == 0)
		return f;
	say_cannot("write", path);
	unlink(path);
	fclose(f);
	return NULL;
}

/* ---- moving ---------------------------------------------------------- */

void
entry_notify(const char *po, const char *name)
{
	post_notify(path_in(po, ".scheduler.notify"), name);
}

/* Gives the message, which is at msg now, to the owner, and does step 4: 0, or
 * -1 after saying why. */
static int
finish_entry(const char *po, int fd, const char *path, const char *msg,
    const char *dot, const char *ctl)
{
	if (!entry_is_at(fd, msg)) {
		say("%s was replaced meanwhile; try again", path);
		return -1;
	}
	if (rights_give_roots_file(fd) < 0)
		return say_cannot("give away", msg);
	if (entry_sync(po, "queue") < 0)
		return -1;
	return rename(dot, ctl) < 0 ? say_cannot("rename to", ctl) : 0;
}

enum verdict
entry_put(const struct mail *m, const char *po, const char *path, int fd,
    const char *name, unsigned long body)
{
	const char *dot = path_in(po, "transport/" SUBMIT_MARK "%s", name);
	const char *ctl = path_in(po, "transport/%s", name);
	const char *msg = path_in(po, "queue/%s", name);
	enum verdict v = TAKEN;
	FILE *f;

	if (path_may_exist(ctl) || path_may_exist(msg)) {
		say("%s is there already; try again", msg);
		return LATER;
	}
	f = write_control(m, dot, name, body);
	if (f == NULL)
		return LATER;
	if (rename(path, msg) < 0) {
		say_cannot("rename to", msg);
		v = LATER;
	} else if (finish_entry(po, fd, path, msg, dot, ctl) < 0) {
		v = LATER;
		if (rename(msg, path) < 0) {
			say_cannot("rename back", msg);
			v = STAYS;	/* recover.c does step 4 */
		}
	}
	if (v == LATER)
		unlink(dot);
	fclose(f);	/* unlocks the control file */
	if (v != TAKEN)
		return v;
	if (entry_sync(po, "transport") < 0)
		v = STAYS;
	entry_notify(po, name);
	return v;
}

/* ---- through router/ ------------------------------------------------- */

static void
put_fullname(const struct author *a, FILE *f)
{
	const char *p;

	fputs("fullname ", f);
	/* a ':' at the beginning would make the line a field of the header */
	p = a->full + strspn(a->full, " \t:");
	for (; *p != '\0'; p++)
		putc(iscntrl((unsigned char)*p) ? ' ' : *p, f);
	putc('\n', f);
}

/* Prints a wrong address as <<ADDRESS>, which submit -q finds wrong, too.
 * Letters, digits and @.-+= are printed; other bytes, some of which could end
 * the address, become _. */
static void
put_wrong_rcpt(const char *s, FILE *f)
{
	fputs("to <<", f);
	for (; *s != '\0'; s++)
		putc(isalnum((unsigned char)*s) || strchr("@.-+=", *s) != NULL ?
		    *s : '_', f);
	fputs(">\n", f);
}

void
entry_print_envelope(const struct mail *m, FILE *f)
{
	const struct recipient *d;

	if (m->sender[0] == '\0')
		fputs("channel error\n", f);
	else
		fprintf(f, "from <%s>\n", m->sender);
	if (m->blind)
		put_fullname(&m->author, f);
	if (m->envid[0] != '\0')
		fprintf(f, "envid %s\n", m->envid);
	if (m->ret[0] != '\0')
		fprintf(f, "notaryret %s\n", m->ret);
	for (d = m->rcpts; d != NULL; d = d->next) {
		if (d->is_further)
			continue;
		if (d->dsn[0] != '\0')
			fprintf(f, "todsn %s\n", d->dsn);
		if (strcmp(d->channel, "error") == 0 &&
		    strcmp(d->host, "syntax") == 0)
			put_wrong_rcpt(d->user, f);
		else
			fprintf(f, "to <%s>\n", d->addr);
	}
	fputs("env-end\n", f);
}

void
entry_print_header(const struct mail *m, FILE *f)
{
	fwrite(m->head.s, 1, m->head.n, f);
	putc('\n', f);
}
