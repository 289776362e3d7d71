/*
 * ctl.c - any bytes as a control file, taken in as the scheduler does it.
 *
 * A file is loaded, finished, passed over, left alone or set aside, and its
 * bytes stay as they are, but for locks that are taken off.  Of a loaded one
 * each offset that an agent will name is that of a recipient line, and each
 * line that an agent will read is one line; for files of odd length, the
 * message is forgotten and loaded again.  In every second pair of lengths other
 * mail has filled a small core before the scan finds the file, and more comes
 * later, so it may be forgotten at any time, and all comes back.  Then the
 * recipients are marked and get diagnostics: nothing but their tags changes,
 * and lines are added.
 */
#include "../../intake.c"
#include "fuzz.h"
#include <ctype.h>


#define MOST	20000

static char before[MOST], after[MOST + 200000];

static void
complain(enum finding what, const char *s)
{
	(void)what;
	(void)s;
}

static void
begin(void)
{
	static const char cf[] = "*/* interval=1h expiry=1d command=\"x\"\n";
	static int begun;
	struct config *c;

	if (begun)
		return;
	begun = 1;
	fuzz_office();
	opt.postoffice = "..";
	fuzz_file("../cf", cf, sizeof(cf) - 1);
	c = cf_read_file("../cf", complain);
	fuzz_must(c != NULL, "a configuration");
	q_use_config(c);
}

/* A tag, and the number behind it, may be others than before; a diagnostic may
 * have been marked since. */
static int
may_change(long at, long line)
{
	return (at >= line + 1 && at < line + 8 && before[line] == 'r') ||
	    (at == line + 1 && before[line] == 'd' && after[at] == '+');
}

/* Is the file as it was, but for tags, and longer by n at least? */
static void
compare(const char *name, long size, long n)
{
	long got = fuzz_read(name, after, sizeof(after)), i, line = 0;

	fuzz_must(got >= size + n, "nothing is taken from it");
	for (i = 0; i < size; i++) {
		if (i > 0 && before[i - 1] == '\n')
			line = i;
		fuzz_must(before[i] == after[i] || may_change(i, line),
		    "nothing is written over but tags");
	}
}

static void
is_line(const char *s)
{
	fuzz_must(*s != '\0', "a name is not empty");
	for (; *s != '\0'; s++)
		fuzz_must(!iscntrl((unsigned char)*s), "a job is one line");
}

static void
check_vertex(struct vertex *v, long size)
{
	unsigned long off, last = 0;
	unsigned i;

	is_line(v->msg->name);
	is_line(v->thread->host);
	is_line(v->thread->ring->chan->name);
	if (th_is_dsn(v->thread)) {
		fuzz_must(v->nr == 1 && v->r[0].off == 0, "a DSN is one job");
		return;
	}
	for (i = 0; i < v->nr; i++) {
		off = v->r[i].off;
		fuzz_must((long)off < size - 3, "within the file");
		fuzz_must(i == 0 || off > last, "ascending");
		fuzz_must(off == 0 || before[off - 1] == '\n',
		    "at the beginning of a line");
		fuzz_must(before[off] == 'r', "of a recipient");
		fuzz_must(before[off + 1] == ' ' || before[off + 1] == '~',
		    "that is pending");
		last = off;
	}
}

static void
check_message(struct message *m, long size)
{
	struct vertex *v;
	unsigned i, n, sum = 0;

	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		for (i = n = 0; i < v->nr; i++)
			n += v->r[i].state == RC_PENDING;
		fuzz_must(n > 0 && v->npending == n && n == v->nr,
		    "a job has some");
		check_vertex(v, size);
		if (!th_is_dsn(v->thread))
			sum += n;
	}
	fuzz_must(sum == m->nr, "all are of one job");
}

/* The first of each job. */
static void
use(struct message *m, long size)
{
	struct vertex *v = msg_first_vertex(m);
	unsigned long off;
	long pid, n = 0;

	for (; n < 8 && v != NULL; v = msg_next_vertex(v)) {
		if (th_is_dsn(v->thread))
			continue;
		n++;
		off = v->r[0].off;
		fuzz_must(ctl_set_tag(m->name, off, '-') == 0, "marked");
		fuzz_must(ctl_read_tag(m->name, off, &pid) == '-',
		    "it says so");
		fuzz_must(ctl_append_diag(m->name, off, n & 1 ? "a\1b\1" : "",
		    "5.0.0 (x)", "two\nlines", 1) == 0, "a diagnostic");
		ctl_find_rcpt(m->name, off);
	}
	compare(m->name, size, n * 20);
}

static void
put(const unsigned char *data, size_t n)
{
	fuzz_file("123-1", data, n);
	fuzz_file("../queue/123-1", "Subject: x\n\nbody\n", 17);
}

/* It is forgotten if it may be: 1 if so. */
static int
forget(struct message *m)
{
	double until;

	if (m == NULL || stub_due(m, &until) == STAYS)
		return 0;
	forget_message(m);
	q_sweep_ended();
	return 1;
}

/* By the scan, with more mail than core has room for. */
static void
take_in_turn(const char *name, const unsigned char *data, size_t n)
{
	fuzz_small_core(1);
	fuzz_crowd(FUZZ_CORE + 4);
	put(data, n);
	fuzz_crowd(2);
	if (n % 2 != 0)
		forget(message_named(name));
	fuzz_crowd(FUZZ_CORE);
	fuzz_disperse();
	fuzz_small_core(0);
}

/* Nothing of it stays for the next one. */
static void
clear(void)
{
	struct message *m = msg_find_number(123, NULL);
	struct past past;

	if (m != NULL)
		q_discard_message(m, "enough");
	now.mono += 100;
	q_sweep_ended();
	remove_stub("123-1", &past);
	ctl_close_kept();
	unlink("123-1");
	fuzz_empty("../queue");
	fuzz_empty("../postman");
	fuzz_empty("../router");
	fuzz_empty("../public");
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	char name[NAME_MAX_], value[100];
	struct message *m;
	struct stat st;
	int got;

	if (n > MOST)
		return 0;
	begin();
	memcpy(before, data, n);
	strcpy(name, "123-1");
	if (n / 2 % 2 != 0) {
		take_in_turn(name, data, n);
		m = message_named(name);
	} else {
		put(data, n);
		fuzz_must(spool_is_file_due(name, 1), "a file");
		m = load_file(name);
		if (n % 2 != 0 && forget(m)) {
			fuzz_must(stub_named(name) != NULL, "a stub");
			m = load_file(name);
			fuzz_must(m != NULL, "what was loaded is loaded again");
		}
	}
	if (m != NULL) {
		ctl_read_last_field(name, "e", value, sizeof(value));
		check_message(m, (long)n);
		use(m, (long)n);
	} else {
		got = lstat("../postman/123-1.control", &st);
		if (got == 0)
			compare("../postman/123-1.control", (long)n, 0);
		fuzz_must(got == 0 || lstat("123-1", &st) == 0 ||
		    lstat("../queue/123-1", &st) < 0, "both or none");
	}
	clear();
	return 0;
}
