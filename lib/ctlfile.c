/*
 * ctlfile.c - the one reader of control files, for all programs here.
 *
 * A control file is lines: byte 0 is the letter of the field, byte 1 its tag,
 * the value starts at byte 2.  An agent names a recipient by the file offset
 * of its line, so nothing here ever moves a byte: tags are overwritten in
 * place, and diagnostics are appended with one write.
 *
 *	r~ 13792    local - nobody 65534
 *	||ppppppdddd^ channel host user privilege
 *	||p: pid, d: delay; old routers leave them out
 *	|tag: ' ' pending, '~' locked by pid, '+' delivered, '-' failed
 *	letter
 *	N NOTIFY=FAILURE ORCPT=rfc822;nobody@example.org
 *	d 139:310:161::1795220140 <tab> NOTARY <tab> text
 *	 |   offsets of the recipient's line, its header, its N line
 *	 tag: '+' a DSN with the line was sent; else ' ', or '-' if an older
 *	 scheduler wrote the line
 *
 * The notary is what a DSN says about a recipient, in five fields:
 *
 *	who ^A action ^A status ^A diagnostic ^A remote host
 *
 * The file is input from another program.  It is read through one fixed buffer,
 * and every line is bounded.  For a file that cannot be used, the member "why"
 * is set, to a reason in words.  If it cannot be used now, because a living
 * process has locked it or memory is short, the member "later" is set, too, to
 * a delay.  All programs judge a file alike: the scheduler sets a bad one
 * aside, an agent takes no recipient of it, mailq counts it as not readable.
 * Header blocks ("m", "M") are passed over up to their first empty line, since
 * lines in them may look like fields.  A T line names a host whose mail is to
 * be tried now (ETRN).  The line "rcvdfrom", with which ZMailer's smtpserver
 * begins a file with a T line, is passed over, too; it is no recipient.
 * scheduler-protocol(7) lists the letters.
 *
 * A last line without a newline means that the file was cut.  A diagnostic and
 * a command are the exceptions, as a crash may interrupt their write; the next
 * line then begins with the missing newline.
 *
 * The lock of a process that is gone is removed.  If there is a process with
 * the number, it may be another one.  A lock is believed while the number is
 * that of a process with an fcntl lock on the file, as our agents have.  Any
 * other lock is believed for LOCK_BELIEVED seconds after it was first seen, as
 * ZMailer's agents take no fcntl lock, and some file systems have no such lock.
 * The fcntl lock is on a byte whose place is computed from the number of the
 * process, and ends with the process; agent.c sets the lock.
 *
 * The tag of a lock is followed by the number of the process in six bytes,
 * right aligned.  A number of more digits is written as 'a' and five digits of
 * base 36, which no older program takes for a living process.  Process 4194304
 * locks with "a2hwcg", process 1234 with "  1234".
 *
 * The delay field of a recipient is the number of warnings that its sender got
 * or did not want: decimal digits, or blanks for 0.  For the next warning the
 * scheduler writes one line about all recipients at a host.  Its text begins
 * with the reason of the first recipient.  Where the next recipient has another
 * reason, a ^A and the offset of that recipient follow, and then a blank and
 * the reason; or "=" and the offset of the first recipient with that reason,
 * so that each reason stands once:
 *
 *	d 40:120:-1::0 <tab> ^A delayed ^A ^A 1 all ^A 1795220140 <tab>
 *		451 greylisted ^A99 452 mailbox full ^A158=40
 *
 * The fourth field of this notary has the number of warnings that are due by
 * now, and "all" if a clause has delayreport.  The fifth has the time at which
 * the recipients expire.  origin.c reads such lines for the programs that write
 * or show DSNs.
 *
 * A command of an operator that cannot be done at once is a line, too, which
 * older programs ignore.  The words of the command end the line, so a line
 * that was cut is no command:
 *
 *	# smtp slow.example to be deleted
 *
 * Our agents take no recipient with this channel and host, and the scheduler
 * goes on with the command when it loads the file.
 *
 * One control file is kept open between operations on its lines, as operations
 * come in runs on the same file.
 */
#include "ctlfile.h"
#include <ctype.h>
#include <signal.h>

#define LOCKED_LATER	32	/* seconds until a locked file is tried again */
#define LOCK_BELIEVED	900.0	/* seconds for which a lock without an
					 * fcntl lock is believed */
#define MESSAGE_ID	"MESSAGE-ID:"
#define MESSAGE_ID_LEN	(sizeof(MESSAGE_ID) - 1)
#define N_LINES	6	/* most lines from a recipient to its N line */

const char *const ctl_cancels[] = { "", "to be deleted", "to be bounced" };

/* ---- words of RFC 3461 ----------------------------------------------- */

int
ctl_is_word(const char *s, size_t n, const char *word)
{
	size_t i;

	for (i = 0; i < n && word[i] != '\0'; i++)
		if (toupper((unsigned char)s[i]) !=
		    toupper((unsigned char)word[i]))
			return 0;
	return i == n && word[i] == '\0';
}

static const struct {
	const char *word;
	unsigned bit;
} notify[] = {
	{ "NEVER", NOTIFY_NEVER }, { "SUCCESS", NOTIFY_SUCCESS },
	{ "FAILURE", NOTIFY_FAILURE }, { "DELAY", NOTIFY_DELAY }
};

unsigned
ctl_notify_bit(const char *s, size_t n)
{
	int i;

	for (i = 0; i < 4; i++)
		if (ctl_is_word(s, n, notify[i].word))
			return notify[i].bit;
	return 0;
}

void
ctl_add_notify(struct text *t, const char *prefix, unsigned bits)
{
	int i;

	for (i = 0; i < 4; i++)
		if (bits & notify[i].bit) {
			text_add(t, "%s%s", prefix, notify[i].word);
			prefix = ",";
		}
}

/* Returns the bits of the words of a list, which ends at a blank. */
static unsigned
notify_list(const char *s)
{
	unsigned wishes = 0;
	size_t len;

	do {
		len = strcspn(s, ", \t");
		wishes |= ctl_notify_bit(s, len);
		s += len;
	} while (*s++ == ',');
	return wishes != 0 ? wishes | NOTIFY_GIVEN : 0;
}

unsigned
ctl_parse_notify(const char *s, char *orcpt, size_t size)
{
	unsigned wishes = 0;
	size_t len;

	if (orcpt != NULL)
		orcpt[0] = '\0';
	for (; s != NULL && *s != '\0'; s += len + strspn(s + len, " \t")) {
		len = strcspn(s, " \t");
		if (len > 7 && ctl_is_word(s, 7, "NOTIFY="))
			wishes = notify_list(s + 7);
		else if (orcpt != NULL && len > 6 &&
		    ctl_is_word(s, 6, "ORCPT="))
			text_fmt(orcpt, size, "%.*s", (int)len - 6, s + 6);
	}
	return wishes;
}

/* ---- locks ----------------------------------------------------------- */

/* Returns 1 for the lock of a long process number: 'a' and five digits of base
 * 36, with the delay field behind them. */
static int
is_base36_lock(const char *p)
{
	return *p == 'a' && strspn(p + 1,
	    "0123456789abcdefghijklmnopqrstuvwxyz") >= 5 &&
	    (p[6] == ' ' || isdigit((unsigned char)p[6]));
}

/* Returns 1 if a number or the blanks before one begin at p. */
static int
is_padded_number(const char *p)
{
	return *p == ' ' || isdigit((unsigned char)*p);
}

/* Returns the process number in the six bytes of a lock, or 0. */
static long
pid_of(const char *p)
{
	int long_form = is_base36_lock(p);
	char n[7];

	text_fmt(n, sizeof(n), "%.6s", p);
	return strtol(n + long_form, NULL, long_form ? 36 : 10);
}

/* ---- words of a line ------------------------------------------------- */

/* Returns the end of the word at p: a blank outside quotes and, in a list of
 * hosts, which begins with a parenthesis, outside parentheses.  A backslash
 * quotes the next byte. */
static const char *
word_end(const char *p)
{
	int quoted = 0, depth = 0, list = *p == '(';

	for (;; p++) {
		while (*p > ')' && *p != '\\')
			p++;	/* passes over most bytes */
		if (*p == '\0')
			break;
		if (*p == '\\' && p[1] != '\0')
			p++;
		else if (*p == '"')
			quoted = !quoted;
		else if (!quoted && list && *p == '(')
			depth++;
		else if (!quoted && *p == ')' && depth > 0)
			depth--;
		else if (!quoted && depth == 0 && (*p == ' ' || *p == '\t'))
			break;
	}
	return p;
}

/* Copies the word at *p and moves *p behind the blank after the word: 0, or -1
 * if the word is empty, too long or contains control bytes. */
static int
copy_word(const char **p, char *word, int lower)
{
	const char *end = word_end(*p), *s;
	int c;

	if (end == *p || end - *p >= WORD_MAX_)
		return -1;
	for (s = *p; s < end; s++) {
		c = (unsigned char)*s;
		if (c < ' ' || c == 127)
			return -1;
		*word++ = (char)(lower && c >= 'A' && c <= 'Z' ? c | 32 : c);
	}
	*word = '\0';
	*p = *end == '\0' ? end : end + 1;
	return 0;
}

/* Cuts a list of hosts, such as ((mx1 mx2)(mx3)), down to its first host, mx1.
 */
static void
cut_to_first_host(char *host)
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

/* Returns 1 if the current recipient line has the six bytes of a lock. */
static int
has_lock_field(const struct ctl *c)
{
	const char *p = c->l.line + 2;

	return c->l.len >= 8 && (is_padded_number(p) ||
	    (c->l.line[1] == '~' && is_base36_lock(p)));
}

/* Reads the lock and delay fields of the current recipient line.  Returns the
 * words behind them, or NULL. */
static const char *
parse_lock_and_delay(struct ctl *c)
{
	const char *p = c->l.line + 2;
	int i;

	if (c->l.overlong || strlen(c->l.line) != c->l.len || c->l.len < 3)
		return NULL;
	c->has_lock_field = has_lock_field(c);
	if (c->has_lock_field)
		p += 6;
	c->delay_at = 0;
	c->delays = ULONG_MAX;
	if (is_padded_number(p)) {
		if (strlen(p) < 4)
			return NULL;
		c->delay_at = c->l.off + (p - c->l.line);
		c->delays = 0;
		for (i = 0; i < 4; i++, p++)
			if (*p >= '0' && *p <= '9')
				c->delays = c->delays * 10 + (*p - '0');
	}
	return p;
}

/* Splits the current recipient line into its words: 0, or -1. */
static int
parse_rcpt(struct ctl *c)
{
	const char *p = parse_lock_and_delay(c);

	if (p == NULL || copy_word(&p, c->channel, 1) < 0 ||
	    copy_word(&p, c->host, !c->keeps_capitals) < 0 ||
	    copy_word(&p, c->user, 0) < 0 || strchr(c->channel, '/') != NULL)
		return -1;
	c->rest = p;
	cut_to_first_host(c->host);
	return c->host[0] == '\0' ? -1 : 0;
}

static char *
value_of(struct ctl *c)
{
	return c->l.line + (c->l.len > 1 ? 2 : c->l.len);
}

const char *
ctl_parse_sender(struct ctl *c)
{
	const char *p = value_of(c);
	struct text t;
	size_t n;
	int i;

	if (c->l.line[0] == 's')
		c->is_dsn = ctl_is_word(p, strcspn(p, " \t"), "ERROR");
	for (i = 0; i < 2 && c->l.line[0] == 's'; i++) {
		p = word_end(p);	/* of the channel, then of the host */
		p += *p != '\0';
	}
	n = word_end(p) - p;
	text_init(&t, c->user, sizeof(c->user));
	if (!c->is_dsn && !(n == 2 && strncmp(p, "<>", 2) == 0))
		text_put(&t, p, n);
	c->has_long_sender = t.cut;
	return c->user;
}

/* ---- the whole file -------------------------------------------------- */

void
ctl_seek(struct ctl *c, unsigned long off)
{
	c->in_block = 0;
	line_at(&c->l, off);
}

/* Copies the Message-ID if the current line of a header has it; the field may
 * be folded behind its name. */
static void
copy_message_id(struct ctl *c)
{
	const char *p = c->l.line;
	int begins = c->l.len >= MESSAGE_ID_LEN &&
	    ctl_is_word(p, MESSAGE_ID_LEN, MESSAGE_ID);

	if (begins || (c->is_folded && (*p == ' ' || *p == '\t'))) {
		p += begins ? MESSAGE_ID_LEN : 0;
		p += strspn(p, " \t");
		text_fmt(c->msgid, sizeof(c->msgid), "%.*s",
		    (int)strcspn(p, " \t"), p);
	}
	c->is_folded = begins && *p == '\0';
}

int
ctl_next_line(struct ctl *c)
{
	while (line_next(&c->l)) {
		if (c->in_block) {
			c->in_block = c->l.len > 0;
			if (c->msgid[0] == '\0')
				copy_message_id(c);
			continue;
		}
		if (c->l.line[0] == 'r' &&
		    strncmp(c->l.line, "rcvdfrom ", 9) == 0)
			continue;
		c->in_block = c->l.len <= 2 && (c->l.line[0] == 'm' ||
		    c->l.line[0] == 'M');
		return 1;
	}
	return 0;
}

long
ctl_header_of_line(const struct ctl *c)
{
	return c->in_block && c->l.line[0] == 'm' ?
	    (long)(c->l.off + c->l.len + 1) : -1;
}

/* Counts n_lines down for the current line.  Returns 1 if this is the N line of
 * the last recipient. */
static int
match_n_line(struct ctl *c)
{
	int letter = c->l.line[0], found;

	if (c->n_lines == 0)
		return 0;
	found = letter == 'N' && c->l.len > 2;
	/* these letters begin the next part: the recipient has no N line */
	if (found || (letter != '\0' && strchr("rXsemMd", letter) != NULL))
		c->n_lines = 0;
	else
		c->n_lines--;
	return found;
}

/* Moves to the recipient line that begins at off: 0, or -1 if no recipient line
 * begins there.  A line of a header block may begin with "r:", so the tag is
 * looked at, too. */
static int
seek_rcpt(struct ctl *c, unsigned long off)
{
	if (off == 0 || off > CONTROL_MAX)
		return -1;
	if (c->l.fresh && off < sizeof(c->l.buf))
		line_next(&c->l);	/* fills the buffer without an lseek */
	ctl_seek(c, off - 1);
	return line_next(&c->l) && c->l.len == 0 &&	/* a newline */
	    line_next(&c->l) && c->l.len > 2 && c->l.line[0] == 'r' &&
	    c->l.line[1] != '\0' && strchr(" ~+-", c->l.line[1]) != NULL ?
	    0 : -1;
}

int
ctl_read_rcpt(struct ctl *c, unsigned long off)
{
	if (seek_rcpt(c, off) < 0 || parse_rcpt(c) < 0)
		return -1;
	c->tag = (unsigned char)c->l.line[1];
	strncpy(c->privilege, c->rest, sizeof(c->privilege) - 1);
	c->rest = c->privilege;	/* the next line takes the buffer */
	c->drpt = -1;
	c->n_lines = N_LINES;
	while (c->n_lines > 0 && ctl_next_line(c))
		if (match_n_line(c))
			c->drpt = (long)c->l.off;
	c->notify = ctl_parse_notify(c->drpt < 0 ? NULL : c->l.line + 2,
	    c->orcpt, sizeof(c->orcpt));
	return 0;
}

/* Counts a recipient with this tag if the tag is final. */
static void
count_tag(struct ctl *c, int tag)
{
	c->nfailed += tag == '-';
	c->ndelivered += tag == '+';
}

static void
scan_rcpt(struct ctl *c)
{
	int tag = c->l.line[1];

	c->nrcpt++;
	c->n_lines = N_LINES;
	count_tag(c, tag);
	if (tag == '+' || tag == '-')
		return;
	if ((tag != ' ' && tag != '~') || parse_rcpt(c) < 0)
		c->why = "a recipient line cannot be read";
	else if (!c->has_s)
		c->why = "a recipient comes before any sender";
}

static void
scan_trigger(struct ctl *c)
{
	const char *p = c->l.line + 2;

	c->ntrigger++;
	if (c->l.len < 3 || copy_word(&p, c->host, 1) < 0)
		c->why = "a T line names no host";
}

/* A '#' line without the words of a command is a comment. */
static void
scan_cancel(struct ctl *c)
{
	const char *p = c->l.line + 2;

	c->cancel = CANCEL_NONE;
	if (c->l.len < 3 || c->l.unended || copy_word(&p, c->channel, 1) < 0 ||
	    copy_word(&p, c->host, 1) < 0)
		return;
	if (strcmp(p, ctl_cancels[CANCEL_DELETE]) == 0)
		c->cancel = CANCEL_DELETE;
	else if (strcmp(p, ctl_cancels[CANCEL_BOUNCE]) == 0)
		c->cancel = CANCEL_BOUNCE;
}

static void
scan_line(struct ctl *c)
{
	char *value = value_of(c);
	const char *end;

	switch (c->l.line[0]) {
	case 'r':
		scan_rcpt(c);
		break;
	case 'T':
		scan_trigger(c);
		break;
	case '#':
		scan_cancel(c);
		break;
	case '@':	/* bits: 1 lock field, 2 delay field, 4 M blocks */
		if (strtoul(value, NULL, 0) & ~7UL)
			c->why = "its @ line has an unknown format";
		else if (c->nrcpt > 0)
			c->why = "its @ line comes after a recipient";
		break;
	case 'i':	/* the file must not name another message */
		if (strcmp(value, name_base(c->name)) != 0)
			c->why = "its i line names another file";
		c->has_i = 1;
		break;
	case 's':
		c->has_s = 1;
		if (c->nrcpt == 0)
			strcpy(c->from, *ctl_parse_sender(c) == '\0' ? "<>" :
			    c->user);
		break;
	case 'o':
		if (num_upto(value, LONG_MAX, &c->body, &end) < 0)
			c->why = "its o line has no number";
		break;
	case 'd':
		if (c->l.line[1] == ' ' &&
		    strstr(c->l.line, "\t\1delayed\1") != NULL)
			c->has_delays = 1;
		else
			c->ndiag += c->l.line[1] == ' ';
		break;
	case 'N':
		c->all_notify |= ctl_parse_notify(value, NULL, 0);
		break;
	case 'v':
		c->has_verbose = 1;
		break;
	}
}

/* Makes the checks that need the whole file. */
static void
check_whole_file(struct ctl *c)
{
	if (c->l.error != 0) {
		log_err("control-read file=%s %s", c->name,
		    strerror(c->l.error));
		c->later = LOCKED_LATER;
		c->why = "it cannot be read now";
	} else if (c->in_block)
		c->why = "it was cut within a header block";
	else if (c->nrcpt == 0 && c->ntrigger > 0)
		return;
	else if (!c->has_i)
		c->why = "it has no i line";
	else if (c->nrcpt == 0)
		c->why = "it has no recipient";
}

int
ctl_next_checked_line(struct ctl *c)
{
	int letter = CTL_END;	/* until a line is to be returned */

	if (c->why != NULL)
		return CTL_BAD;
	while (letter == CTL_END && ctl_next_line(c)) {
		letter = (unsigned char)c->l.line[0];
		if (!match_n_line(c) && letter == 'N')
			letter = CTL_END;
		if (c->l.unended && letter != 'd' && letter != '#')
			c->why = "it was cut: its last line is not ended";
		else
			scan_line(c);
	}
	if (letter == CTL_END)
		check_whole_file(c);
	return c->why != NULL ? CTL_BAD : letter;
}

static int
is_alive(long pid)
{
	return pid > 1 && (kill((pid_t)pid, 0) == 0 || errno == EPERM);
}

/* Returns the byte at off of the file, or -1. */
static int
byte_at(int fd, unsigned long off)
{
	unsigned char byte;

	return lseek(fd, (off_t)off, SEEK_SET) >= 0 &&
	    read(fd, &byte, 1) == 1 ? byte : -1;
}

/* Writes the tag of the current recipient, and blanks into the six bytes of its
 * lock: 0 or -1. */
static int
write_tag(const struct ctl *c, int tag)
{
	char field[8];

	text_fmt(field, sizeof(field), "%c      ", tag);
	return lseek(c->l.fd, (off_t)c->l.off + 1, SEEK_SET) < 0 ? -1 :
	    fd_write(c->l.fd, field, has_lock_field(c) ? 7 : 1);
}

/* Removes from the current recipient the lock of a process that is gone.  The
 * tag is read again first, as the process may have set a final one before its
 * end.  Returns the tag. */
static int
clear_lock(const struct ctl *c)
{
	int tag = byte_at(c->l.fd, c->l.off + 1);

	if (tag == '~' && write_tag(c, ' ') == 0)
		return ' ';
	return tag < 0 ? '~' : tag;
}

/* Removes the lock of the current recipient; or, if the lock is believed, sets
 * why.  Returns the tag that is left. */
static int
clear_stale_lock(struct ctl *c)
{
	long pid = pid_of(c->l.line + 2);
	int tag;

	/* The rules are at the top of this file.  The fcntl lock of a process
	 * cannot be seen if the system has no locks, or if another process was
	 * the first to lock that byte, as anybody who can read the file may do.
	 * The lock of the recipient is then believed for LOCK_BELIEVED seconds,
	 * no longer. */
	if (is_alive(pid) && (now.mono < c->since + LOCK_BELIEVED ||
	    fd_lock_at(c->l.fd, F_GETLK, F_WRLCK, LOCK_BYTE(pid)) == pid)) {
		log_warn("locked msg=%s rcpt=%lu pid=%ld is at work on it; the "
		    "message is tried later", ctl_log_name(c->name), c->l.off,
		    pid);
		c->later = LOCKED_LATER;
		c->why = "a recipient is locked by another process";
		c->pid = pid;
		return '~';
	}
	log_info("unlock msg=%s rcpt=%lu pid=%ld is gone, or another process "
	    "has its number now", ctl_log_name(c->name), c->l.off, pid);
	tag = clear_lock(c);
	count_tag(c, tag);
	return tag;
}

int
ctl_next_pending_line(struct ctl *c)
{
	int letter, tag;

	while ((letter = ctl_next_checked_line(c)) > 0 && letter != '#') {
		if (letter != 'r')
			continue;
		tag = c->l.line[1] == '~' ? clear_stale_lock(c) : c->l.line[1];
		if (c->why != NULL)
			return CTL_BAD;
		if (tag != '+' && tag != '-')
			return letter;
	}
	return letter;
}

int
ctl_next_trigger(struct ctl *c)
{
	while (ctl_next_line(c))
		if (c->l.line[0] == 'T') {
			scan_trigger(c);
			return 1;
		}
	return 0;
}

void
ctl_start(struct ctl *c, int fd, const char *name)
{
	memset(c, 0, offsetof(struct ctl, channel));
	line_start(&c->l, fd, 0);
	c->name[0] = c->from[0] = c->msgid[0] = '\0';
	strncat(c->name, name, sizeof(c->name) - 1);
}

/* Opens a control file for reading and, if allowed, writing. */
static int
open_file(const char *name, struct stat *st)
{
	int fd = fd_open_plain(name, O_RDWR, st);

	if (fd < 0 && (errno == EROFS || errno == EACCES))
		fd = fd_open_plain(name, O_RDONLY, st);
	return fd;
}

enum ctl_opened
ctl_open(struct ctl *c, const char *name)
{
	struct stat st;

	ctl_start(c, open_file(name, &st), name);
	if (c->l.fd < 0) {
		if (errno == ENOENT || errno == EINVAL)
			return CTL_GONE;
		log_err("control-open file=%s %s; it is tried later", name,
		    strerror(errno));
		c->later = LOCKED_LATER;
		c->why = "it cannot be opened now";
		return CTL_UNUSABLE;
	}
	c->since = now.mono;
	c->ctime = st.st_ctime;
	c->l.size = st.st_size;
	c->l.fresh = 1;
	if (st.st_size == 0)
		c->why = "it is empty";
	else if (st.st_size > CONTROL_MAX)
		c->why = "it is larger than any real control file";
	return c->why == NULL ? CTL_OPENED : CTL_UNUSABLE;
}

void
ctl_close(struct ctl *c)
{
	if (c->l.fd >= 0)
		close(c->l.fd);
	c->l.fd = -1;
}

/* Ignores quotes, case, and all behind a '+' or an '@', as the agent mailbox
 * does.  A file or a program counts as a mailbox of its uid. */
unsigned
ctl_mailbox_hash(const struct ctl *c)
{
	const char *p = c->user + strspn(c->user, "\"\\");
	char name[WORD_MAX_];
	struct text t;

	if (strcmp(c->host, "-") != 0)
		return 0;
	text_init(&t, name, sizeof(name));
	if (*p == '|' || *p == '/')
		text_add(&t, "|%.*s", (int)strcspn(c->rest, " "), c->rest);
	else
		for (; *p != '\0' && *p != '+' && *p != '@'; p++)
			if (*p != '"' && *p != '\\')
				text_add(&t, "%c", tolower((unsigned char)*p));
	return hash_text(name, 0) | 1;
}

/* ---- the file that is kept open -------------------------------------- */

#define NO_HDR	ULONG_MAX

static struct ctl kept;		/* the file; an empty name: none is open */

/* The header block with its text at hdr belongs to the recipients in
 * [from, hdr). */
static struct {
	unsigned long from, hdr;	/* hdr 0: not known, NO_HDR: none */
} block;

const char *
ctl_log_name_at(const char *name, const struct spool_time *time)
{
	static char text[2 * NAME_MAX_ + 44];
	char id[NAME_MAX_ + 40];
	int err = errno;	/* the caller may log errno, too */
	int bad = spool_id(name, time, NULL, id, sizeof(id)) < 0 ||
	    text_fmt(text, sizeof(text), "%s id=%s", name, id) < 0;

	errno = err;
	return bad ? name : text;
}

void
ctl_close_kept(void)
{
	if (kept.name[0] != '\0')
		ctl_close(&kept);
	kept.name[0] = '\0';
	block.from = block.hdr = 0;
}

/* Opens the file, unless it is the one that is kept open, and keeps it open.
 * Returns its descriptor, or -1. */
static int
open_kept(const char *name)
{
	int fd;

	kept.l.fresh = 0;	/* a write may have moved the descriptor */
	if (kept.name[0] != '\0' && strcmp(name, kept.name) == 0)
		return kept.l.fd;
	ctl_close_kept();
	fd = open_file(name, NULL);
	if (fd < 0)
		return -1;
	ctl_start(&kept, fd, name);
	kept.l.fresh = 1;
	return fd;
}

/* Returns the recipient line that begins at off, of three bytes or more; NULL
 * with errno, EINVAL if no such line begins there.  With anew, the line is read
 * from the file even if the buffer has it. */
static const char *
rcpt_line(const char *name, unsigned long off, int anew)
{
	if (open_kept(name) < 0)
		return NULL;
	if (anew)
		line_start(&kept.l, kept.l.fd, off);
	errno = EINVAL;
	return seek_rcpt(&kept, off) < 0 ? NULL : kept.l.line;
}

int
ctl_set_tag(const char *name, unsigned long off, int tag)
{
	const char *line = rcpt_line(name, off, 1);
	struct stat st;

	/* nobody delivers to a recipient whose line is gone, so the tag '+'
	 * is not needed */
	if (line == NULL && tag == '+' && kept.name[0] != '\0' &&
	    fstat(kept.l.fd, &st) == 0 && (off_t)off >= st.st_size) {
		log_warn("tag msg=%s rcpt=%lu tag=%c the control file was cut "
		    "before this line", ctl_log_name(name), off, tag);
		return 0;
	}
	if (line == NULL || write_tag(&kept, tag) < 0) {
		log_err("tag msg=%s rcpt=%lu tag=%c %s", ctl_log_name(name),
		    off, tag, strerror(errno));
		return -1;
	}
	line_start(&kept.l, kept.l.fd, off);
	return 0;
}

/* A final tag never changes, so the buffer has the right one.  Other tags are
 * read again.  Reports come in the order of the file: one read of it serves a
 * hundred recipients. */
int
ctl_read_tag(const char *name, unsigned long off, long *lock_owner)
{
	const char *line = rcpt_line(name, off, 0);
	int tag;

	if (line == NULL || (line[1] != '+' && line[1] != '-'))
		line = rcpt_line(name, off, 1);
	tag = line == NULL ? -1 : line[1];
	if (lock_owner == NULL || tag != '~')
		return tag;
	*lock_owner = pid_of(line + 2);
	if (!is_alive(*lock_owner)) {
		tag = clear_lock(&kept);
		/* the buffer still has the lock */
		line_start(&kept.l, kept.l.fd, off);
	}
	return tag;
}

const struct ctl *
ctl_find_rcpt(const char *name, unsigned long off)
{
	return open_kept(name) < 0 || ctl_read_rcpt(&kept, off) < 0 ? NULL :
	    &kept;
}

int
ctl_read_last_field(const char *name, const char *letters, char *value,
    size_t size)
{
	int letter, found = -1;

	if (open_kept(name) < 0)
		return -1;
	ctl_start(&kept, kept.l.fd, name);
	while (ctl_next_line(&kept) && !kept.l.unended &&
	    (letter = (unsigned char)kept.l.line[0]) != 'r')
		if (letter != '\0' && strchr(letters, letter) != NULL)
			found = text_fmt(value, size, "%s", letter == 's' ||
			    letter == 'e' ? ctl_parse_sender(&kept) :
			    value_of(&kept));
	return found;
}

int
ctl_sync(const char *name)
{
	int fd = open_kept(name);

	return fd < 0 ? -1 : fd_sync(fd);
}

/* ---- diagnostics ----------------------------------------------------- */

/* Returns the offset of the header's text for the recipient at off, or -1.
 * Reads on until the current line begins a header block, or its offset is in
 * [block.from, block.hdr).  A header block belongs to all recipients before it,
 * so its offset is kept: a run over many recipients of one file, in either
 * direction, reads the file once. */
static long
header_offset(unsigned long off)
{
	unsigned long hdr = 0;

	while (hdr == 0)
		if (kept.l.off >= block.from && kept.l.off < block.hdr)
			hdr = block.hdr;
		else if (ctl_header_of_line(&kept) >= 0)
			hdr = (unsigned long)ctl_header_of_line(&kept);
		else if (!ctl_next_line(&kept))
			hdr = NO_HDR;
	/* recipients before off may belong to an earlier block */
	if (hdr != block.hdr || off < block.from)
		block.from = off;
	block.hdr = hdr;
	return hdr == NO_HDR ? -1 : (long)hdr;
}

/* Adds a text as one line: newline_as, a blank or a carriage return, stands for
 * each newline and carriage return. */
static void
add_one_line(struct text *t, const char *s, int newline_as)
{
	for (; *s != '\0'; s++)
		text_add(t, "%c", *s == '\n' || *s == '\r' ? newline_as : *s);
}

/* Adds the notary of a diagnostic for which the agent sent none.  The code of
 * the reply has the first digit of the status, such as 550 for 5.1.1. */
static void
add_notary(struct text *t, const char *user, const char *status,
    const char *message)
{
	text_add(t, "%s\1%s\1%s\1x-local; %c50 (", user,
	    *status == '2' ? "delivered" : "failed", status, *status);
	add_one_line(t, *message != '\0' ? message : status, ' ');
	text_add(t, ")\1");
}

/* Returns 1 if the file ends within a line, as a crash may leave it. */
static int
is_cut(int fd)
{
	off_t end = lseek(fd, 0, SEEK_END);
	int last = end > 0 ? byte_at(fd, end - 1) : '\n';

	return last >= 0 && last != '\n';
}

void
ctl_diag_begin(struct text *t, int fd, unsigned long off, long hdr, long drpt,
    long when)
{
	text_add(t, "%sd %lu:%ld:%ld::%ld\t", is_cut(fd) ? "\n" : "", off,
	    hdr, drpt, when);
}

/* Appends the text and a newline: 0 or -1.  An empty text is an error, which
 * the caller has left in errno.  off is for the log: the recipient, 0 for
 * several. */
static int
append_line(const char *name, struct text *t, unsigned long off)
{
	int fd = t->len == 0 ? -1 :
	    fd_open_plain(name, O_WRONLY | O_APPEND, NULL);
	int bad;

	t->s[t->len++] = '\n';
	bad = fd < 0 || fd_write(fd, t->s, t->len) < 0;
	if (bad)
		log_err("diagnostic msg=%s rcpt=%lu %s", ctl_log_name(name),
		    off, strerror(errno));
	if (fd >= 0 && close(fd) < 0)
		bad = 1;
	return bad ? -1 : 0;
}

int
ctl_append_cancel(const char *name, const char *channel, const char *host,
    enum cancel how)
{
	char line[2 * WORD_MAX_ + 40];
	struct text t;
	int fd = open_kept(name);

	text_init(&t, line, sizeof(line) - 1);
	if (fd >= 0)
		text_add(&t, "%s# %s %s %s", is_cut(fd) ? "\n" : "", channel,
		    host, ctl_cancels[how]);
	return append_line(name, &t, 0);
}

int
ctl_append_diag(const char *name, unsigned long off, const char *notary,
    const char *status, const char *message, long when)
{
	char line[4096];
	const struct ctl *c;
	struct text t;
	int fd = open_kept(name);

	text_init(&t, line, sizeof(line) - 1);
	if (fd >= 0) {
		c = ctl_find_rcpt(name, off);
		/* off may be within a line, whose rest is passed over */
		if (c == NULL)
			ctl_next_line(&kept);
		ctl_diag_begin(&t, fd, off, header_offset(off),
		    c == NULL ? -1 : c->drpt, when);
		if (*notary == '\0')
			add_notary(&t, c == NULL ? "?" : c->user, status,
			    message);
		add_one_line(&t, notary, '\r');
		text_add(&t, "\t");
		add_one_line(&t, message, '\r');
	}
	return append_line(name, &t, off);
}

char *
ctl_notary_end(const char *s)
{
	const char *end;
	int i;

	for (i = 1; i < DIAG_FIELDS && *s != '\t' &&
	    (end = strchr(s, '\1')) != NULL; i++)
		s = end + 1;
	return strchr(s, '\t');
}
