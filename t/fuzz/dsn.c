/*
 * dsn.c - any bytes as a control file of which the agent dsn is to make a DSN.
 *
 * Each job is answered once.  A DSN is whole and in lines that mail can carry,
 * and its envelope and header are ours, whatever the file says.  In the file
 * nothing changes but the tag of diagnostic lines, delay fields, and its end.  What
 * was in one DSN is in no other.
 */
int	dsn_main(int, char **);
#define main dsn_main
#define lib_report_job fuzz_answer
#include "../../ta/dsn.c"
#undef lib_report_job
#undef main
#include "fuzz.h"
#include <ctype.h>
#include <dirent.h>

#define MOST	20000
#define NAME	"123-1"

static char before[MOST + 1], after[MOST + 200000], sent[400000];
static int answers;

void
fuzz_answer(const char *name, const char *verdict_word, const char *text)
{
	answers++;
	fuzz_must(strcmp(name, NAME) == 0, "the answer names the message");
	fuzz_must(strcmp(verdict_word, "ok") == 0 ||
	    strncmp(verdict_word, "error", 5) == 0 ||
	    strcmp(verdict_word, "deferred") == 0, "a verdict is one");
	fuzz_must(*text != '\0', "there are words");
}

/* May the byte i of this line change? */
static int
may_change(const char *line, size_t i, int from, int to)
{
	if (line[0] == 'r')
		return (line[1] == ' ' || line[1] == '~') && i > 1 && i < 12 &&
		    (isdigit(to) || to == ' ');
	return line[0] == 'd' && i == 1 && (from == ' ' || from == '-') &&
	    to == '+';
}

/* Is what changed in the file what may?  n bytes before, m now. */
static void
check_file(size_t n, long m)
{
	size_t i, line = 0;

	fuzz_must(m >= (long)n, "nothing is cut");
	for (i = 0; i < n; i++) {
		if (before[i] != after[i])
			fuzz_must(may_change(before + line, i - line,
			    (unsigned char)before[i], (unsigned char)after[i]),
			    "only tags and delays change");
		if (before[i] == '\n')
			line = i + 1;
	}
	for (line = n; m > 0 && line < (size_t)m; line = i + 1) {
		for (i = line; i < (size_t)m && after[i] != '\n'; )
			i++;
		fuzz_must(i < (size_t)m, "what is appended is ended");
		/* the first newline ends what was cut before */
		fuzz_must(i == line ? line == n : after[line] == 'd',
		    "what is appended is diagnostics");
	}
}

static int
is_envelope(const char *s)
{
	return strncmp(s, "channel error\n", 14) == 0 ||
	    strncmp(s, "errormsg\n", 9) == 0 ||
	    strncmp(s, "todsn ORCPT=rfc822;", 19) == 0 ||
	    (strncmp(s, "to <", 4) == 0 && memchr(s + 4, '\n', 1000) != NULL);
}

/* Behind the envelope: printable fields up to an empty line. */
static char *
check_header(char *s)
{
	for (; *s != '\n'; s++) {
		fuzz_must(isalpha((unsigned char)*s) || *s == ' ' ||
		    *s == '\t', "a header has fields");
		for (; *s != '\n'; s++)
			fuzz_must(isprint((unsigned char)*s) || *s == '\t',
			    "a header is printable");
	}
	return s;
}

/* One DSN of n bytes. */
static void
check_dsn(size_t n)
{
	char *s = sent, *end = sent + n, *nl;

	*end = '\0';
	fuzz_must(memchr(sent, '\0', n) == NULL, "it is text");
	for (; is_envelope(s); s = strchr(s, '\n') + 1)
		;
	fuzz_must(strncmp(s, "env-end\n", 8) == 0, "an envelope is ours");
	for (s = check_header(s + 8); s < end; s = nl + 1) {
		nl = strchr(s, '\n');
		fuzz_must(nl != NULL && nl - s <= 998, "mail can carry it");
	}
	fuzz_must(n > 3 && strcmp(end - 3, "--\n") == 0, "it is whole");
}

/* All DSNs there are: how many. */
static int
check_all(void)
{
	DIR *d = opendir("../router");
	struct dirent *e;
	char path[400];
	int n = 0;
	long size;

	fuzz_must(d != NULL, "a directory is there");
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		text_fmt(path, sizeof(path), "../router/%s", e->d_name);
		size = fuzz_read(path, sent, sizeof(sent) - 1);
		fuzz_must(size > 0 && size < (long)sizeof(sent) - 1, "a size");
		check_dsn((size_t)size);
		n++;
	}
	closedir(d);
	fuzz_empty("../router");
	return n;
}

/* A job, and the same again. */
static void
work_twice(const char *host)
{
	int i;

	for (i = 0; i < 2; i++) {
		answers = 0;
		work(NAME, host);
		fuzz_must(answers == 1, "a job is answered once");
		fuzz_must(check_all() == 0 || i == 0, "it is in one DSN");
	}
}

int
LLVMFuzzerTestOneInput(const unsigned char *s, size_t n)
{
	n = n > MOST ? MOST : n;
	fuzz_office();
	dsn.forms = "/nonexistent";
	dsn.name = "mx.example";
	dsn.most = 65536L;
	memcpy(before, s, n);
	fuzz_file(NAME, s, n);
	fuzz_file("../queue/" NAME, "the body\n", 9);
	logs.level = L_ERR - 1;
	work_twice("delay");
	work_twice("failure");
	check_file(n, fuzz_read(NAME, after, sizeof(after)));
	unlink(NAME);
	return 0;
}
