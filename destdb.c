/*
 * destdb.c - the file of destinations (PARAMdestdb), written for the next start
 * and for other hosts.
 *
 *	smtp TAB mx.test TAB 0 TAB 540 TAB 3 TAB 60 TAB no route to host
 *
 * This line says: smtp/mx.test is dead, is tried again 540 seconds after the
 * file was written, died 3 times in a row, was last used 60 seconds before the
 * file was written; the last reason was "no route to host".  The line of a
 * destination with a window of 8 has 8 instead of 0, and "-" instead of 540.
 *
 * PARAMdestdb names a file, or a directory where each host has a file with its
 * own name.  Our file is read at the start and written at the end.  A round
 * every few minutes writes it, too, if a window has changed or a destination
 * has died or answered.  Times of use alone are written only at the end, to
 * spare flash disks.
 *
 * Each round reads the files of other hosts, for dead destinations only.  A
 * destination that is dead there, and had no good report here since its last
 * use there, is dead here for the next three rounds, or for its dead time if
 * that is shorter.  Each round in which the destination is still dead there
 * begins the three rounds anew.  Such a destination is not written to our file:
 * two hosts that read each other's files could keep it dead without end.
 *
 * The time since a file was written is our wall time less the wall time of its
 * first line, or 0 if one of the clocks is not set or the difference is below
 * 0.  No destination is dead for longer than the longest wait of its clause.
 * Files are input: a damaged line is skipped, and so is a file that has another
 * first line or is too long.  The log says so, and the rest is read.
 *
 * A round costs O(destinations).
 */
#include "scheduler.h"
#include <ctype.h>
#include <dirent.h>
#include <sys/utsname.h>

#define HEAD		"destdb 2 "
#define FILE_MOST	(2L * 1024 * 1024)	/* bytes */
#define OTHERS_MOST	100	/* files of other hosts */
#define CHANNELS_MOST	100	/* channels in core; beyond this number records
				 * add no channel, as each costs time */
#define WINDOW_MOST	1000000L
#define WORDS_MOST	500	/* bytes of a reason */
#define OTHERS_ROUNDS	3	/* rounds that a destination is dead by the
				 * file of another host */

double dest_period = 300;	/* seconds between rounds of files */

static struct {
	char	path[PATH_MAX_];	/* PARAMdestdb; "": none */
	double	due;		/* mono; the next round */
	unsigned errors;	/* errors in this round */
	unsigned last_errors;	/* errors in the round before, with this path */
	unsigned most;		/* destinations in core; beyond this number the
				 * files of other hosts add no destination */
} db;

/* record: a line of a file, with the age of the file subtracted. */
struct record {
	char	*channel, *host, *reason;
	long	window;		/* 0: dead */
	long	left;		/* seconds of dead time */
	long	tries;		/* deaths in a row */
	double	used;		/* mono; last report, delivery or mail */
};

/* ---- writing our file --------------------------------------------------- */

/* Logs an error of a file, if this round now has more errors than the last. */
static void
log_problem(const char *path, const char *what, const char *why)
{
	if (++db.errors > db.last_errors)
		log_warn("destdb file=%s %s%s", path, what, why);
}

/* Returns the name of our host, with '_' for bytes that are unfit for the name
 * of a file; valid until the next call. */
static const char *
own_name(void)
{
	static char name[100];
	struct utsname uts;
	char *p;

	text_fmt(name, sizeof(name), "%s", uname(&uts) < 0 ||
	    uts.nodename[0] == '\0' ? "localhost" : uts.nodename);
	for (p = name; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && *p != '-' &&
		    (*p != '.' || p == name))
			*p = '_';
	return name;
}

/* Returns 1 if PARAMdestdb is a directory. */
static int
is_shared(void)
{
	struct stat st;

	return db.path[strlen(db.path) - 1] == '/' ||
	    (stat(db.path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* Returns the path of our file, valid until the next call. */
static const char *
own_path(void)
{
	static char path[PATH_MAX_ + 100];

	text_fmt(path, sizeof(path), is_shared() ? "%s/%s" : "%s", db.path,
	    own_name());
	return path;
}

/* Returns whole seconds, from 0 to SPAN_MOST. */
static long
clamp_seconds(double s)
{
	if (s > SPAN_MOST)
		return SPAN_MOST;
	return s > 0 ? s : 0;
}

/* Writes the line of a destination that is no mailbox, if its state is from our
 * own reports and the file does not become too long. */
static void
write_record(FILE *f, const struct thread *d)
{
	char line[LINE_MAX_ - 1];
	struct text t;

	if (th_is_local(d) || d->by_other || ftell(f) > FILE_MOST - LINE_MAX_ ||
	    (d->window > 0 && d->ngood + d->nbad == 0))
		return;
	text_init(&t, line, sizeof(line));
	t.clean = 1;
	text_add(&t, "%s\t%s\t%ld\t", d->chan->name, d->host, d->window);
	if (d->window > 0)
		text_add(&t, "-");
	else
		text_add(&t, "%ld", clamp_seconds(d->until - now.mono));
	text_add(&t, "\t%u\t%ld\t%.*s\n", (unsigned)d->deaths,
	    clamp_seconds(now.mono - d->used), WORDS_MOST,
	    d->reason != NULL ? d->reason : "");
	if (!t.cut)		/* names of usual length fit */
		fwrite(line, 1, t.len, f);
}

/* Writes destinations with mail first, then the unused ones, beginning with the
 * most recently used: a full file lacks the destinations that were unused
 * longest.  A start reads the lines in this order, and the sweep then moves the
 * threads to q.unused from the last line to the first: q.unused has its former
 * order. */
static void
write_records(FILE *f)
{
	const struct thread *d;
	char line[100];

	text_fmt(line, sizeof(line), HEAD "%ld\n",
	    now.wall > 0 ? (long)now.wall : 0L);
	fputs(line, f);
	for (d = q.all; d != NULL; d = d->next)
		write_record(f, d);
	if ((d = q.unused) != NULL)
		do
			write_record(f, d = d->prev);
		while (d != q.unused);
}

/* Writes our file anew. */
static void
write_own_file(void)
{
	/* until its rename, the new file has a name that begins with a dot;
	 * other hosts ignore such names */
	if (fd_replace(own_path(), write_records) < 0) {
		log_problem(own_path(), "cannot be written: ", strerror(errno));
		return;
	}
	q.unsaved = 0;
	log_debug("destdb file=%s written", db.path);
}

/* ---- reading a file ----------------------------------------------------- */

/* Replaces the escapes in s by their bytes, in place.  Returns 0, or -1 if
 * text_add with clean cannot have written s. */
static int
unescape(char *s)
{
	const char *p;
	int c;

	for (p = s; *p != '\0'; p++) {
		c = (unsigned char)*p;
		if (c < 32 || c >= 127 ||
		    (c == '\\' && text_escaped_byte(p) == 0))
			return -1;
	}
	text_unescape(s);
	return 0;
}

/* Unescapes s, in place.  Returns 0, or -1 if s is no channel or host. */
static int
unescape_word(char *s)
{
	return unescape(s) == 0 && *s != '\0' && strlen(s) < WORD_MAX_ ? 0 : -1;
}

/* Returns a number from 0 to most, or -1. */
static long
parse_count(const char *s, long most)
{
	unsigned long n;

	return num_upto(s, most, &n, NULL) < 0 ? -1 : (long)n;
}

static int
is_whole_line(const struct lines *l)
{
	return !l->overlong && !l->unended && strlen(l->line) == l->len;
}

/* Parses a line of a file that was written file_age seconds ago: 0, or -1 if
 * the line is damaged. */
static int
parse_record(struct lines *l, long file_age, struct record *r)
{
	char *f[7];
	long used;

	/* a TAB in the last field is damage, too */
	if (!is_whole_line(l) || text_split_tabs(l->line, f, 7) < 0 ||
	    unescape_word(f[0]) < 0 || unescape_word(f[1]) < 0 ||
	    unescape(f[6]) < 0 || strlen(f[6]) > WORDS_MOST)
		return -1;
	r->channel = f[0];
	r->host = f[1];
	r->window = parse_count(f[2], WINDOW_MOST);
	r->left = parse_count(f[3], SPAN_MOST);
	r->tries = parse_count(f[4], USHRT_MAX);
	used = parse_count(f[5], SPAN_MOST);
	r->reason = f[6];
	if (r->window < 0 || r->tries < 0 || used < 0 ||
	    (r->window == 0) != (r->left >= 0))	/* "-" gave -1 */
		return -1;
	r->left = r->left > file_age ? r->left - file_age : 0;
	r->used = now.mono - used - file_age;
	return 0;
}

/* Gives a new destination the state in the record, as if by one report.  If
 * there were at least as many deaths as the retry list has factors, the next
 * factor is a random one, as in retry_next_wait. */
static void
restore_state(struct thread *t, const struct record *r)
{
	const struct setting *s = &t->ring->conf->v;

	t->used = t->slot = r->used;
	if (r->window > 0) {
		t->good = t->used;
		t->ngood = 1;
		t->window = r->window;
		t->window = fb_agents_left(t, 0);	/* at most maxthr */
	} else {
		t->bad = t->used;
		t->nbad = 1;
		if (s->fb.cohorts > 0 && r->left > 0) {
			t->window = 0;
			t->until = now.mono + r->left;
		}
	}
	t->deaths = r->tries;
	t->retry_index = (r->tries < s->retries.n ? r->tries :
	    (long)rnd(s->retries.n));
	if (*r->reason != '\0')
		reason_copy(&t->reason, r->reason);
}

/* Makes a destination dead that is dead in the file of another host, unless a
 * good report here was later than its last use there.  Each later round in
 * which the destination is still dead there prolongs its dead time here. */
static void
sleep_by_file(struct thread *t, const struct record *r, const char *other)
{
	char why[WORDS_MOST + 200];
	long span = clamp_seconds(OTHERS_ROUNDS * dest_period);

	if (th_is_local(t) || (t->until > 0 && !t->by_other) ||
	    t->good >= r->used)
		return;
	if (span > r->left)
		span = r->left;
	if (!t->by_other) {
		text_fmt(why, sizeof(why), "%s (told by %s)", r->reason, other);
		reason_copy(&t->reason, why);
		log_info("asleep channel=%s host=%s for=%ld tries=%u %s",
		    t->chan->name, t->host, span, (unsigned)t->deaths, why);
	}
	t->window = 0;
	t->until = now.mono + span;
	t->by_other = 1;
	note_leaver(0);
}

/* Returns the channel of a record; NULL without memory, or if the channel is
 * new and CHANNELS_MOST exist. */
static struct chan *
get_record_channel(const char *name)
{
	const struct chan *c;
	int n = 0;

	for (c = q.chans; c != NULL && strcmp(c->name, name) != 0; c = c->next)
		n++;
	return c == NULL && n >= CHANNELS_MOST ? NULL : th_get_channel(name);
}

/* Applies a record to its destination.  A record of our own file (other is
 * NULL) counts only for a destination that is new to core. */
static void
apply_record(struct record *r, const char *other)
{
	const struct conf *f;
	struct chan *chan;
	struct thread *t;
	int is_new;

	if (other != NULL && r->left <= 0)
		return;
	f = cf_match(q.config, r->channel, r->host);
	if (f == NULL || f->v.command == NULL ||
	    (other != NULL && f->v.fb.cohorts == 0))
		return;
	chan = get_record_channel(r->channel);
	is_new = chan == NULL || th_lookup(chan, r->host, 0) == NULL;
	if (other == NULL ? !is_new : is_new && q.dests.n >= db.most)
		return;
	t = th_get(chan, r->host, 0);
	if (t == NULL)
		return;
	if (r->left > retry_longest_wait(&f->v))
		r->left = retry_longest_wait(&f->v);
	if (other == NULL)
		restore_state(t, r);
	else
		sleep_by_file(t, r, other);
	th_update(t);
}

/* Reads the first line.  Returns the seconds since the file was written, or -1
 * if the file has another format. */
static long
read_file_age(struct lines *l)
{
	const size_t n = sizeof(HEAD) - 1;
	long wall;

	if (!line_next(l) || !is_whole_line(l) ||
	    strncmp(l->line, HEAD, n) != 0)
		return -1;
	wall = parse_count(l->line + n, LONG_MAX);
	if (wall < SANE_WALL)
		return wall < 0 ? -1 : 0;
	return clamp_seconds((double)now.wall - wall);
}

/* Applies the records of a file, and logs how many lines are damaged. */
static void
read_records(struct lines *l, const char *path, const char *other)
{
	unsigned long n, first = 0, bad = 0;
	char what[100];
	struct record r;
	long age = read_file_age(l);

	if (age < 0) {
		log_problem(path, "is empty, damaged or of another version; "
		    "it is ignored", "");
		return;
	}
	for (n = 2; line_next(l) && l->off <= FILE_MOST; n++)
		if (parse_record(l, age, &r) == 0)
			apply_record(&r, other);
		else if (bad++ == 0)
			first = n;
	text_fmt(what, sizeof(what), "lines=%lu damaged and ignored, "
	    "the first is line %lu", bad, first);
	if (bad > 0)
		log_problem(path, what, "");
	if (l->error != 0)
		log_problem(path, "cannot be read to its end: ",
		    strerror(l->error));
}

/* Reads our own file (other is NULL) or the file of another host.  A file of
 * another host that is not regular is ignored. */
static void
read_dest_file(const char *path, const char *other)
{
	static struct lines l;	/* large for the stack */
	struct stat st;
	int fd = fd_open_plain(path, O_RDONLY, &st);

	if (fd < 0) {
		if (errno != ENOENT && (other == NULL || errno != EINVAL))
			log_problem(path, "cannot be read: ", strerror(errno));
		return;
	}
	if (st.st_size > FILE_MOST) {
		log_problem(path, "is larger than 2 megabytes; it is "
		    "ignored", "");
	} else {
		line_start(&l, fd, 0);
		read_records(&l, path, other);
	}
	close(fd);
}

/* Reads the files of other hosts in the directory. */
static void
read_other_files(void)
{
	char path[PATH_MAX_];
	struct dirent *e;
	DIR *dir = opendir(db.path);
	int n = 0;

	db.most = q.nthreads + UNUSED_MOST;
	if (dir == NULL) {
		log_problem(db.path, "cannot be read: ", strerror(errno));
		return;
	}
	while (n < OTHERS_MOST && (e = readdir(dir)) != NULL)
		if (e->d_name[0] != '.' && strcmp(e->d_name, own_name()) != 0 &&
		    text_fmt(path, sizeof(path), "%s/%s", db.path,
		    e->d_name) == 0) {
			read_dest_file(path, e->d_name);
			n++;
		}
	closedir(dir);
}

/* ---- rounds ------------------------------------------------------------- */

double
dest_exchange_files(int at_once)
{
	const char *path = q.config->destdb != NULL ? q.config->destdb : "";
	int is_new;

	if (!at_once && db.due > now.mono)
		return db.due - now.mono;
	is_new = strcmp(path, db.path) != 0;
	db.due = *path == '\0' ? NEVER : now.mono + dest_period;
	text_fmt(db.path, sizeof(db.path), "%s", path);
	if (*path == '\0')
		return db.due - now.mono;
	db.last_errors = is_new ? 0 : db.errors;
	db.errors = 0;
	if (is_new) {
		if (q.dests.n > 0)	/* our file lacks these destinations */
			q.unsaved = CHANGES;
		read_dest_file(own_path(), NULL);
		db.errors = 0;	/* later rounds do not read our file */
	}
	if (q.unsaved & CHANGES)
		write_own_file();
	if (is_shared())
		read_other_files();
	return db.due - now.mono;
}

void
dest_save_file(void)
{
	db.last_errors = db.errors;
	db.errors = 0;
	if (db.path[0] != '\0' && q.unsaved != 0)
		write_own_file();
}
