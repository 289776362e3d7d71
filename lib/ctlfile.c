/*
 * ctlfile.c - the inside of a control file.
 *
 * A control file is lines: byte 0 is the letter of the field, byte 1 its tag,
 * the value starts at byte 2.  An agent names a recipient by the file offset
 * of its line, so nothing here ever moves a byte: tags are written over in
 * place and diagnostics are appended with one write.
 *
 *	r~ 13792    local - nobody 65534
 *	||^^^^^^^^^^ channel host user privilege
 *	||pid  delay	six and four bytes; old routers leave them out
 *	|tag: ' ' pending, '~' locked by pid, '+' delivered, '-' failed
 *	letter
 *
 * The file is input from another program.  It is read through one fixed
 * buffer, every line is bounded, and whatever makes it unusable is put into
 * words (why) for the caller, who sets it aside.  Something that is only not
 * possible now (locked by a living process, no memory) is "later" instead.
 * Header blocks ("m", "M") run to the first empty line and are stepped over,
 * since their lines may look like fields.
 *
 * A line that is not ended means that the file was cut, with one exception:
 * a diagnostic, because a crash may interrupt its appending; the next one
 * appended starts with the missing newline.
 *
 * A lock whose process is gone is taken off.  Where the process lives, its
 * number may by now be that of another: it is believed while it is an agent of
 * ours, or holds an fcntl lock on the file as our agents do (line.c); any
 * other for LOCK_BELIEVED after it was first seen, as ZMailer's agents hold
 * none and not every file system has any.
 *
 * One control file is kept open between tag operations, because those come
 * in runs on the same file.
 *
 * A file is looked at whole before anything of it is used.  Of a large one
 * the recipients may be wanted in several parts; a later part begins behind
 * the last recipient of the one before, and agents may be at work in the file
 * by then, so a lock there is a recipient like any other.
 */
#include "ctlfile.h"
#include <ctype.h>
#include <signal.h>

#define LOCKED_LATER	32	/* seconds until a locked file is tried again */
#define LOCK_BELIEVED	900.0	/* seconds that a lock is, which nothing but
				 * a living process speaks for */

/* ---- reading lines --------------------------------------------------- */

/* The next line of the file; an error of the disk makes it "later". */
static int
next_line(struct ctl *c)
{
	if (line_next(&c->l))
		return 1;
	if (c->l.error != 0) {
		log_err("control-read file=%s %s", c->name,
		    strerror(c->l.error));
		c->later = LOCKED_LATER;
		c->why = "it cannot be read now";
	}
	return 0;
}

/* ---- recipient lines ------------------------------------------------- */

/* Has this recipient line a pid field?  Told by the format or by its look. */
static int
has_pid(const char *line, int format)
{
	return format & 1 || line_has_pid(line[1], line + 2);
}

static int
alive(long pid)
{
	return pid > 1 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

int (*ctl_is_agent)(long pid);

/* Is the process with this number, in a tag of the file, at work on it? */
static int
is_believed(const struct ctl *c, long pid)
{
	if (!alive(pid))
		return 0;
	if ((ctl_is_agent != NULL && ctl_is_agent(pid)) ||
	    line_held(c->l.fd, pid) == 1)
		return 1;
	return c->seen_pid == 0 || now.mono < c->since + LOCK_BELIEVED;
}

/* Copies the word at *p and moves *p behind the blank after it: 0, or -1
 * when it is empty, too long or has control bytes. */
static int
take_word(const char **p, char *word, int lower)
{
	const char *end = line_word(*p);
	size_t i, n = (size_t)(end - *p);

	if (n == 0 || n >= WORD_MAX_)
		return -1;
	for (i = 0; i < n; i++) {
		if (iscntrl((unsigned char)(*p)[i]))
			return -1;
		word[i] = (*p)[i];
		if (lower)
			word[i] = (char)tolower((unsigned char)word[i]);
	}
	word[n] = '\0';
	*p = *end == '\0' ? end : end + 1;
	return 0;
}

/* ((mx1 mx2)(mx3)) becomes mx1. */
static void
first_host(char *host)
{
	char *p = host;
	size_t n;

	if (*p != '(')
		return;
	while (*p == '(' || *p == ' ')
		p++;
	n = strcspn(p, " ()");
	memmove(host, p, n);
	host[n] = '\0';
}

/* Takes channel, host and user out of a recipient line: 0, or -1. */
static int
parse_rcpt(struct ctl *c)
{
	const char *p = c->l.line + 2;
	int b;

	if (c->l.overlong || strlen(c->l.line) != c->l.len || c->l.len < 3)
		return -1;
	if (has_pid(c->l.line, c->format)) {
		if (c->l.len < 8)
			return -1;
		p += 6;
	}
	b = (unsigned char)*p;
	c->delay = 0;
	if (c->format & 2 || b == ' ' || isdigit(b)) {
		if (strlen(p) < 4)
			return -1;
		c->delay = (unsigned)(p - c->l.line);
		p += 4;
	}
	if (take_word(&p, c->channel, 1) < 0 ||
	    take_word(&p, c->host, 1) < 0 || take_word(&p, c->user, 0) < 0 ||
	    strchr(c->channel, '/') != NULL)
		return -1;
	c->rest = p;
	first_host(c->host);
	return c->host[0] == '\0' ? -1 : 0;
}

int
ctl_rcpt(struct ctl *c)
{
	return parse_rcpt(c);
}

/* As the agent mailbox finds users: quotes, capitals and what follows a '+' or
 * an '@' make no difference.  A file or a program has the box of its uid. */
static unsigned
box_of(const struct ctl *c)
{
	const char *p = c->user + strspn(c->user, "\"\\");
	char name[WORD_MAX_];
	struct text t;

	text_init(&t, name, sizeof(name));
	if (*p == '|' || *p == '/')
		text_add(&t, "|%.*s", (int)strcspn(c->rest, " "), c->rest);
	else
		for (; *p != '\0' && *p != '+' && *p != '@'; p++)
			if (*p != '"' && *p != '\\')
				text_add(&t, "%c", tolower((unsigned char)*p));
	return hash_text(name, 0) | 1;
}

unsigned
ctl_box(const struct ctl *c)
{
	return strcmp(c->host, "-") == 0 ? box_of(c) : 0;
}

/* ---- the tag operations ---------------------------------------------- */

#define NO_HDR	ULONG_MAX

static struct {
	char	name[NAME_MAX_];
	int	fd;
	/* the header block at hdr serves recipients at from and behind */
	unsigned long from, hdr;	/* hdr 0: not known, NO_HDR: none */
	/* the last bytes read of it, from offset at on */
	unsigned long at;
	size_t	have;
	char	window[4096];
} held = { "", -1, 0, 0, 0, 0, "" };

void
ctl_forget(void)
{
	if (held.fd >= 0)
		close(held.fd);
	held.fd = -1;
	held.name[0] = '\0';
	held.from = held.hdr = 0;
	held.have = 0;
}

static int
hold(const char *name)
{
	struct stat st;

	if (held.fd >= 0 && strcmp(name, held.name) == 0)
		return held.fd;
	ctl_forget();
	held.fd = fd_plain(name, O_RDWR, &st);
	if (held.fd < 0)
		return -1;
	if (text_fmt(held.name, sizeof(held.name), "%s", name) < 0)
		held.name[0] = '\0';
	return held.fd;
}

/* The bytes at off, want of them or more: those read before, or read anew;
 * NULL when there are none.  want is at most sizeof(held.window). */
static const char *
window(const char *name, unsigned long off, size_t want, int anew)
{
	long n;

	if (off > CONTROL_MAX || hold(name) < 0)
		return NULL;
	if (!anew && off >= held.at && held.have >= want &&
	    off - held.at <= held.have - want)
		return held.window + (off - held.at);
	held.have = 0;
	if (lseek(held.fd, (off_t)off, SEEK_SET) < 0)
		return NULL;
	n = (long)read(held.fd, held.window, sizeof(held.window));
	held.at = off;
	held.have = n > 0 ? (size_t)n : 0;
	return held.have >= want ? held.window : NULL;
}

/* The first bytes of the recipient line at off: 0 or -1. */
static int
peek(const char *name, unsigned long off, char head[10])
{
	int fd = hold(name);
	long n;

	if (fd < 0 || off > CONTROL_MAX ||
	    lseek(fd, (off_t)off, SEEK_SET) < 0)
		return -1;
	n = (long)read(fd, head, 9);
	if (n < 3 || head[0] != 'r')
		return -1;
	head[n] = '\0';
	return 0;
}

static int
put_tag(int fd, unsigned long off, int tag, int with_pid)
{
	char new[8];

	held.have = 0;
	strcpy(new, "?      ");
	new[0] = (char)tag;
	if (lseek(fd, (off_t)(off + 1), SEEK_SET) < 0 ||
	    fd_write(fd, new, with_pid ? 7 : 1) < 0)
		return -1;
	return 0;
}

/* Takes off the lock of a process that is gone.  It may have set another tag
 * between our look at the line and its end; now nobody does.  The tag. */
static int
unlock(int fd, unsigned long off, int with_pid)
{
	char tag;

	if (lseek(fd, (off_t)(off + 1), SEEK_SET) < 0 ||
	    read(fd, &tag, 1) != 1)
		return '~';
	if (tag == '~' && put_tag(fd, off, ' ', with_pid) == 0)
		return ' ';
	return (unsigned char)tag;
}

int
ctl_mark(const char *name, unsigned long off, int tag)
{
	char head[10];

	if (peek(name, off, head) < 0 ||
	    put_tag(held.fd, off, tag, has_pid(head, 0)) < 0) {
		log_err("tag msg=%s rcpt=%lu tag=%c %s", name, off, tag,
		    strerror(errno));
		return -1;
	}
	return 0;
}

int
ctl_tag(const char *name, unsigned long off, long *pid)
{
	char head[10];

	*pid = 0;
	if (peek(name, off, head) < 0)
		return -1;
	if (head[1] == '~') {
		*pid = line_pid(head + 2);
		if (!alive(*pid))
			return unlock(held.fd, off, has_pid(head, 0));
	}
	return (unsigned char)head[1];
}

/*
 * A final tag that was read stays, so what is in the window is good for a yes;
 * for a no it is read anew.  Reports come in the order of the file: one read
 * serves those of a hundred recipients.
 */
int
ctl_has(const char *name, unsigned long off, int tag)
{
	int anew;
	const char *p;

	for (anew = 0; anew < 2; anew++) {
		p = window(name, off, 2, anew);
		if (p != NULL && p[0] == 'r' && (unsigned char)p[1] == tag)
			return 1;
	}
	return 0;
}

/* Leaves the line at off in c, when a newline comes before it: 1 or 0. */
static int
line_of(struct ctl *c, const char *name, unsigned long off)
{
	const char *p = off == 0 ? NULL : window(name, off - 1, 2, 0), *nl;
	size_t n;

	if (p == NULL || *p++ != '\n')
		return 0;
	n = held.have - (size_t)(p - held.window);
	nl = memchr(p, '\n', n);
	if (nl == NULL) {	/* it goes on behind the window */
		line_start(&c->l, held.fd, off);
		return next_line(c);
	}
	c->l.len = (size_t)(nl - p);
	c->l.overlong = 0;
	memcpy(c->l.line, p, c->l.len);
	c->l.line[c->l.len] = '\0';
	return 1;
}

/* The recipient line that begins at off, or NULL. */
static const struct ctl *
rcpt_at(const char *name, unsigned long off)
{
	static struct ctl c;

	memset(&c, 0, offsetof(struct ctl, channel));
	text_fmt(c.name, sizeof(c.name), "%s", name);
	/* a line of a header block may begin with "r:" */
	return line_of(&c, name, off) && c.l.line[0] == 'r' &&
	    parse_rcpt(&c) == 0 && strchr(" ~+-", c.l.line[1]) != NULL ?
	    &c : NULL;
}

int
ctl_is_for(const char *name, unsigned long off, const char *channel,
    const char *host)
{
	const struct ctl *c = rcpt_at(name, off);

	return c != NULL && strcmp(c->channel, channel) == 0 &&
	    strcmp(c->host, host) == 0;
}

unsigned
ctl_box_at(const char *name, unsigned long off)
{
	const struct ctl *c = rcpt_at(name, off);

	return c == NULL ? 0 : ctl_box(c);
}

/* ---- diagnostics ----------------------------------------------------- */

/* Is the block that is known the one of the recipient at off? */
static int
serves(unsigned long off)
{
	return held.hdr != 0 && off >= held.from && off < held.hdr;
}

/*
 * Reads on from the recipient line at off: its user (left in the returned
 * ctl), the offset of its N line and of the text of the header block that
 * serves it; -1 where there is none.  The block serves all recipients before
 * it, so what is known of it is kept: a run over many recipients of one file,
 * in either direction, reads the file once.
 */
static struct ctl *
context(const char *name, unsigned long off, long *hdr, long *drpt)
{
	static struct ctl c;
	int mine = 1;

	*hdr = *drpt = -1;
	memset(&c, 0, offsetof(struct ctl, channel));
	text_fmt(c.name, sizeof(c.name), "%s", name);
	line_start(&c.l, held.fd, off);
	if (!next_line(&c) || parse_rcpt(&c) < 0)
		strcpy(c.user, "?");
	for (;;) {
		if (!next_line(&c)) {
			held.hdr = NO_HDR;
			held.from = off;
			break;
		}
		if (c.l.line[0] == 'N' && mine)
			*drpt = (long)c.l.off;
		if (c.l.line[0] == 'r')
			mine = 0;
		if (!mine && serves(c.l.off)) {
			if (off < held.from)
				held.from = off;
			break;
		}
		if (c.l.line[0] == 'm' && c.l.len <= 2) {
			held.hdr = c.l.off + c.l.len + 1;
			held.from = off;
			break;
		}
	}
	if (held.hdr != NO_HDR)
		*hdr = (long)held.hdr;
	return &c;
}

/* Newlines within a message are carriage returns in the file, or blanks. */
static void
add_folded(struct text *t, const char *s, int newline)
{
	for (; *s != '\0'; s++)
		text_add(t, "%c", *s == '\n' || (*s == '\r' &&
		    newline == ' ') ? newline : *s);
}

/* Fields for an agent that gave none, or for us. */
static void
add_notary(struct text *t, const char *user, const char *status,
    const char *message)
{
	text_add(t, "%s\1%s\1%s\1x-local; %c50 (", user,
	    *status == '2' ? "delivered" : "failed", status, *status);
	add_folded(t, *message != '\0' ? message : status, ' ');
	text_add(t, ")\1");
}

int
ctl_diag(const char *name, unsigned long off, const char *notary,
    const char *status, const char *message, long when)
{
	char line[4096];
	struct ctl *c;
	struct text t;
	struct stat st;
	long hdr, drpt;
	int fd = hold(name);

	if (fd < 0) {
		log_err("diagnostic msg=%s rcpt=%lu %s", name, off,
		    strerror(errno));
		return -1;
	}
	c = context(name, off, &hdr, &drpt);
	text_init(&t, line, sizeof(line) - 1);
	text_add(&t, "%sd %lu:%ld:%ld::%ld\t", line_cut(fd) ? "\n" : "",
	    off, hdr, drpt, when);
	if (*notary == '\0')
		add_notary(&t, c->user, status, message);
	add_folded(&t, notary, '\r');
	text_add(&t, "\t");
	add_folded(&t, message, '\r');
	line[t.len++] = '\n';
	fd = fd_plain(name, O_WRONLY | O_APPEND, &st);
	if (fd < 0 || fd_write(fd, line, t.len) < 0) {
		log_err("diagnostic msg=%s rcpt=%lu %s", name, off,
		    strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return close(fd);
}

/* Does it begin with the word, in capitals or not? */
static int
begins(const char *s, const char *word)
{
	for (; *word != '\0'; s++, word++)
		if (toupper((unsigned char)*s) != *word)
			return 0;
	return 1;
}

/* The list of the words of an N line, up to its end; or NULL. */
static const char *
notify_list(const char *s)
{
	for (; *s != '\0'; s += strspn(s, " \t")) {
		if (begins(s, "NOTIFY="))
			return s + 7;
		s += strcspn(s, " \t");
	}
	return NULL;
}

int
ctl_notify(const char *name, unsigned long off, const char *word)
{
	char list[200], *item;
	struct ctl *c;
	long hdr, drpt;
	const char *p;

	if (hold(name) < 0)
		return 0;
	c = context(name, off, &hdr, &drpt);
	if (drpt < 0)
		return 0;
	line_start(&c->l, held.fd, (unsigned long)drpt);
	if (!line_next(&c->l) || c->l.len < 3 ||
	    (p = notify_list(c->l.line + 2)) == NULL)
		return 0;
	text_fmt(list, sizeof(list), "%.*s", (int)strcspn(p, " \t"), p);
	for (item = list; *item != '\0'; item++)
		*item = (char)toupper((unsigned char)*item);
	for (item = strtok(list, ","); item != NULL; item = strtok(NULL, ","))
		if (strcmp(item, word) == 0)
			return 1;
	return 0;
}

int
ctl_sync(const char *name)
{
	int fd = hold(name);

	return fd < 0 ? -1 : fd_sync(fd);
}

/* ---- the whole file -------------------------------------------------- */

/* Opens it for reading from off on: 0, or -1 as ctl_open. */
static int
open_at(struct ctl *c, const char *name, unsigned long off,
    const struct stat *seen, struct stat *st)
{
	int fd;

	memset(c, 0, offsetof(struct ctl, channel));
	c->l.fd = -1;
	if (text_fmt(c->name, sizeof(c->name), "%s", name) < 0)
		return -1;
	fd = seen != NULL ? fd_seen(name, O_RDWR, seen, st) :
	    fd_plain(name, O_RDWR, st);
	if (fd < 0 && errno == EAGAIN)	/* seen was another one by now */
		fd = fd_plain(name, O_RDWR, st);
	if (fd < 0 && (errno == EROFS || errno == EACCES))
		fd = fd_plain(name, O_RDONLY, st);
	if (fd < 0 && errno != ENOENT && errno != EINVAL) {
		log_err("control-open file=%s %s; later", name,
		    strerror(errno));
		c->later = LOCKED_LATER;
		c->why = "it cannot be opened now";
	}
	if (fd < 0)
		return -1;
	line_start(&c->l, fd, off);
	return 0;
}

int
ctl_resume(struct ctl *c, const char *name, unsigned long off, int format)
{
	struct stat st;

	if (open_at(c, name, off, NULL, &st) < 0)
		return -1;
	c->resumed = c->seen_i = c->seen_s = 1;
	c->nrcpt = 1;	/* it had one */
	c->format = format;
	return 0;
}

int
ctl_open(struct ctl *c, const char *name, const struct stat *seen)
{
	struct stat st;

	if (open_at(c, name, 0, seen, &st) < 0)
		return -1;
	c->ctime = (long)st.st_ctime;
	c->mtime = (long)st.st_mtime;
	c->l.size = (unsigned long)st.st_size;
	c->l.fresh = 1;
	if (st.st_size == 0)
		c->why = "it is empty";
	else if (st.st_size > CONTROL_MAX)
		c->why = "it is larger than any real one";
	return c->why == NULL ? 0 : -1;
}

void
ctl_close(struct ctl *c)
{
	if (c->l.fd >= 0)
		close(c->l.fd);
	c->l.fd = -1;
}

/* A recipient line: CTL_RCPT when it is pending, CTL_END to read on. */
static enum ctl_item
see_rcpt(struct ctl *c)
{
	int tag = c->l.line[1];
	long pid;

	c->nrcpt++;
	if (tag == '+' || tag == '-') {
		c->nfailed += tag == '-';
		return CTL_END;
	}
	if ((tag != ' ' && tag != '~') || parse_rcpt(c) < 0) {
		c->why = "a recipient line cannot be read";
		return CTL_BAD;
	}
	if (!c->seen_s) {
		c->why = "a recipient comes before any sender";
		return CTL_BAD;
	}
	if (tag == ' ' || c->resumed)
		return CTL_RCPT;
	pid = line_pid(c->l.line + 2);
	if (is_believed(c, pid)) {
		log_warn("locked msg=%s rcpt=%lu pid=%ld is at work on it, "
		    "later", c->name, c->l.off, pid);
		c->later = LOCKED_LATER;
		c->why = "a recipient is locked by another process";
		c->pid = pid;
		return CTL_BAD;
	}
	log_info("unlock msg=%s rcpt=%lu pid=%ld is gone or another one",
	    c->name, c->l.off, pid);
	tag = unlock(c->l.fd, c->l.off, has_pid(c->l.line, c->format));
	c->nfailed += tag == '-';
	return tag == '+' || tag == '-' ? CTL_END : CTL_RCPT;
}

static enum ctl_item
see_trigger(struct ctl *c)
{
	const char *p = c->l.line + 2;

	c->ntrigger++;
	if (c->l.len < 3 || take_word(&p, c->host, 1) < 0) {
		c->why = "a T line names no host";
		return CTL_BAD;
	}
	return CTL_TRIGGER;
}

/* The i line must repeat the file's own name, so that nothing else can be
 * reached by it. */
static void
see_name(struct ctl *c, const char *value)
{
	const char *base = strrchr(c->name, '/');

	base = base == NULL ? c->name : base + 1;
	if (strcmp(value, base) != 0)
		c->why = "its i line names another file";
	c->seen_i = 1;
}

/* One line outside blocks: CTL_END to read on. */
static enum ctl_item
see_line(struct ctl *c)
{
	char *value = c->l.line + (c->l.len > 1 ? 2 : c->l.len);
	unsigned long format;

	switch (c->l.line[0]) {
	case 'r':
		return see_rcpt(c);
	case 'T':
		return see_trigger(c);
	case '@':
		format = strtoul(value, NULL, 0);
		if (format & ~7UL)
			c->why = "its format (@) is not known here";
		c->format = (int)format & 7;
		break;
	case 'i':
		see_name(c, value);
		break;
	case 's':
		c->seen_s = 1;
		break;
	case 'o':
		if (num_upto(value, LONG_MAX, &c->body, NULL) < 0)
			c->why = "its o line has no number";
		break;
	case 'd':
		c->ndiag += c->l.line[1] == ' ';
		break;
	case 'v':
		c->has_verbose = 1;
		break;
	case 'x':
		if (text_fmt(c->obsoletes, sizeof(c->obsoletes), "%s", value)
		    < 0)
			c->obsoletes[0] = '\0';
		break;
	case 'm':
	case 'M':
		c->in_block = c->l.len <= 2;
		break;
	}
	return c->why == NULL ? CTL_END : CTL_BAD;
}

/* What can only be said at the end. */
static void
see_end(struct ctl *c)
{
	if (c->later)
		return;
	if (c->in_block)
		c->why = "it was cut within a header block";
	else if (c->nrcpt == 0 && c->ntrigger > 0)
		return;
	else if (!c->seen_i)
		c->why = "it has no i line";
	else if (c->nrcpt == 0)
		c->why = "it has no recipient";
}

enum ctl_item
ctl_next(struct ctl *c)
{
	enum ctl_item item;

	while (c->why == NULL && !c->later && next_line(c)) {
		if (c->l.unended && c->l.line[0] != 'd') {
			c->why = "it was cut: its last line is not ended";
			break;
		}
		if (c->in_block) {
			c->in_block = c->l.len > 0;
			continue;
		}
		item = see_line(c);
		if (item != CTL_END)
			return item;
	}
	if (c->why == NULL)
		see_end(c);
	return c->why != NULL || c->later ? CTL_BAD : CTL_END;
}

int
ctl_field(const char *name, int letter, char *value, size_t size)
{
	static struct ctl c;
	int found = -1;

	if (ctl_open(&c, name, NULL) < 0) {
		ctl_close(&c);
		return -1;
	}
	while (found < 0 && next_line(&c) && !c.l.unended) {
		if (c.in_block)
			c.in_block = c.l.len > 0;
		else if (c.l.line[0] == letter && c.l.len > 2)
			found = text_fmt(value, size, "%s", c.l.line + 2);
		else if (c.l.line[0] == 'r')
			break;	/* fields of the message come first */
		else
			c.in_block = c.l.len <= 2 && (c.l.line[0] == 'm' ||
			    c.l.line[0] == 'M');
	}
	ctl_close(&c);
	return found;
}
