/*
 * ctlfile.c - any bytes as a control file, read with all of lib/ctlfile.c.
 *
 * Its lines are those of the bytes, from the front and at any offset.  A walk
 * names lines in ascending order, whose words are words.  What a line says at
 * its offset is what it says in the walk, of a good file, and to those who
 * report.  Then tags are set and diagnostics appended: nothing else changes.
 */
#include "../../lib/origin.h"
#include "fuzz.h"
#include <ctype.h>

#define MOST	20000
#define NAME	"123-1"

static char before[MOST + 1], after[MOST + 200000];
static size_t size;

static struct rcpt {
	unsigned long off;
	int	tag;
	char	channel[WORD_MAX_], host[WORD_MAX_], user[WORD_MAX_];
} rcpts[16];

static unsigned nrcpts;		/* of them, the first in a good file */

/* Where the line at off ends. */
static size_t
end_of(size_t off)
{
	const char *nl = memchr(before + off, '\n', size - off);

	return nl == NULL ? size : (size_t)(nl - before);
}

static void
is_line(const struct lines *l, size_t off)
{
	size_t n = end_of(off) - off;

	fuzz_must(l->off == off, "a line begins behind the last");
	fuzz_must(l->overlong == (n >= LINE_MAX_), "a cut line is marked");
	fuzz_must(l->len == (n < LINE_MAX_ ? n : LINE_MAX_ - 1), "all of it");
	fuzz_must(memcmp(l->line, before + off, l->len) == 0, "as it is");
	fuzz_must(l->line[l->len] == '\0', "and ended");
	fuzz_must(l->unended == (off + n == size), "so is the file's");
}

static void
read_lines(int fd)
{
	static struct lines l;
	unsigned long where = size;
	size_t off;
	int i;

	line_start(&l, fd, 0);
	for (off = 0; off < size && line_next(&l); off = end_of(off) + 1)
		is_line(&l, off);
	fuzz_must(off >= size && !line_next(&l), "there are no more");
	for (i = 0; i < 20 && size > 0; i++) {
		where = (where * 31 + (unsigned char)before[where % size]) %
		    size;
		line_at(&l, where);
		fuzz_must(line_next(&l), "a line is anywhere");
		is_line(&l, where);
	}
}

static void
is_word(const char *s, int lower)
{
	fuzz_must(*s != '\0', "a word is not empty");
	for (; *s != '\0'; s++)
		fuzz_must(!iscntrl((unsigned char)*s) &&
		    !(lower && isupper((unsigned char)*s)), "a word is clean");
}

static void
see_rcpt(const struct ctl *c)
{
	struct rcpt *r = &rcpts[nrcpts];

	is_word(c->channel, 1);
	is_word(c->host, 1);
	is_word(c->user, 0);
	fuzz_must(strchr(c->channel, '/') == NULL, "nor leads elsewhere");
	ctl_mailbox_hash(c);
	if (nrcpts == sizeof(rcpts) / sizeof(rcpts[0]))
		return;
	r->off = c->l.off;
	r->tag = c->l.line[1];
	strcpy(r->channel, c->channel);
	strcpy(r->host, c->host);
	strcpy(r->user, c->user);
	nrcpts++;
}

/* From front to end: 0 when the file is good, else -1. */
static int
walk(int fd)
{
	static struct ctl c;
	unsigned long last = 0;
	int letter, first = 1;

	nrcpts = 0;
	ctl_start(&c, fd, "A/" NAME);
	for (; (letter = ctl_next_checked_line(&c)) > 0;
	    first = 0, last = c.l.off) {
		fuzz_must(first || c.l.off > last, "lines ascend");
		fuzz_must(letter == (unsigned char)before[c.l.off],
		    "with their letters");
		if (letter == 'r' && strchr("+-", c.l.line[1]) == NULL)
			see_rcpt(&c);
		else if (letter == 'T')
			is_word(c.host, 1);
		else if (letter == 's' || letter == 'e')
			ctl_parse_sender(&c);
	}
	fuzz_must((letter == CTL_BAD) == (c.why != NULL), "there is a reason");
	fuzz_must(ctl_next_checked_line(&c) == letter || letter == CTL_END,
	    "and no way on");
	if (letter == CTL_BAD)
		nrcpts = 0;
	return letter;
}

/* The scheduler's way through it gives the same recipients. */
static void
take(int good)
{
	static struct ctl c;
	unsigned i = 0;
	int letter;

	if (ctl_open(&c, NAME) == CTL_OPENED) {
		while ((letter = ctl_next_pending_line(&c)) > 0)
			if (letter == 'r' && good && i < nrcpts)
				fuzz_must(c.l.off == rcpts[i++].off,
				    "the same recipient");
		fuzz_must(c.later || (letter == CTL_END) == good,
		    "and the same judgement");
	}
	ctl_close(&c);
}

static struct origin g;

/* One line, wherever it is. */
static void
ask(struct diags *n, unsigned long off)
{
	const struct ctl *c;
	char value[700];
	long pid;

	ctl_read_tag(NAME, off, &pid);
	c = ctl_find_rcpt(NAME, off);
	if (c != NULL)
		ctl_mailbox_hash(c);
	if (ctl_read_rcpt(&n->rc, off) == 0)
		fuzz_must(c != NULL && n->rc.notify == c->notify,
		    "all readers find the same notify");
	fuzz_must(origin_find(n, &g, off) == 0, "an origin is anywhere");
	fuzz_must(g.from <= off && off <= g.to, "it has the line");
	xtext_read(n->rc.orcpt, strlen(n->rc.orcpt), value, sizeof(value));
	can_get_dsn(g.sender);
}

static void
ask_all(void)
{
	static struct diags n;
	unsigned long off;
	unsigned i;

	diag_start(&n, fd_open_plain(NAME, O_RDWR, NULL), NAME);
	fuzz_must(n.c.l.fd >= 0, "who reports can read it");
	origin_start(&n, &g);
	for (i = 0; i < nrcpts; i++) {
		fuzz_must(ctl_read_rcpt(&n.rc, rcpts[i].off) == 0 &&
		    strcmp(n.rc.channel, rcpts[i].channel) == 0 &&
		    strcmp(n.rc.host, rcpts[i].host) == 0 &&
		    strcmp(n.rc.user, rcpts[i].user) == 0,
		    "a recipient is the same to all");
		ask(&n, rcpts[i].off);
	}
	for (i = 0, off = size; i < 20; i++) {
		off = off * 31 % (size + 3);
		ask(&n, off);
	}
	for (i = 0; diag_next_rcpt(&n); i++)
		;
	for (ctl_seek(&n.c, 0); diag_next_line(&n); )
		fuzz_must(before[n.at] == 'd' && strlen(n.text) < LINE_MAX_ &&
		    diag_set_tag(&n, n.at, '+') == 0, "a diagnostic is one");
	fuzz_must(diag_error(&n) == 0, "the disk is good");
	ctl_close(&n.c);
}

/* Tags, the numbers behind them, and diagnostics may be others than before. */
static void
compare(void)
{
	long got = fuzz_read(NAME, after, sizeof(after)), i, line = 0;

	fuzz_must(got >= (long)size, "nothing is taken from it");
	for (i = 0; i < (long)size; i++) {
		if (i > 0 && before[i - 1] == '\n')
			line = i;
		fuzz_must(before[i] == after[i] || (before[line] == 'r' &&
		    i > line && i < line + 8) || (before[line] == 'd' &&
		    i == line + 1), "nothing is written over but tags");
	}
}

static void
change(void)
{
	unsigned long off;
	char host[300];
	unsigned i;
	long pid;

	/* as the first call for a file, with a line longer than most */
	memset(host, 'h', sizeof(host));
	host[sizeof(host) - 1] = '\0';
	ctl_close_kept();
	fuzz_must(ctl_append_cancel(NAME, "smtp", host, CANCEL_BOUNCE) == 0 &&
	    (nrcpts == 0 || ctl_find_rcpt(NAME, rcpts[0].off) != NULL),
	    "a command is added, and recipients are found behind it");
	for (i = 0; i < nrcpts; i++) {
		off = rcpts[i].off;
		fuzz_must(ctl_set_tag(NAME, off, '-') == 0 &&
		    ctl_read_tag(NAME, off, NULL) == '-' &&
		    ctl_read_tag(NAME, off, &pid) == '-', "a tag is set");
		fuzz_must(ctl_append_diag(NAME, off, i & 1 ? "a\1b\1" : "",
		    "5.0.0 (x)", "two\nlines", 1) == 0, "a diagnostic");
	}
	compare();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char value[1200];
	struct stat st;
	int fd, good;

	if (n > MOST)
		return 0;
	fuzz_office();
	size = n;
	memcpy(before, data, n);
	fuzz_file(NAME, data, n);
	fd = fd_open_plain(NAME, O_RDONLY, &st);
	read_lines(fd);
	good = walk(fd) == CTL_END;
	close(fd);
	ctl_read_last_field(NAME, "v", value, sizeof(value));
	ctl_read_last_field(NAME, "se", value, sizeof(value));
	take(good);
	ask_all();
	change();
	ctl_close_kept();
	unlink(NAME);
	return 0;
}
