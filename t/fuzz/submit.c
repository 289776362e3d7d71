/*
 * submit.c - any bytes as a message for submit -t: the first byte is for its
 * options, the first line for a sender, the second for recipients.
 *
 * What it takes makes an envelope whose lines are those that it has, a header
 * whose fields are fields, and a control file with as many recipients as were
 * found, which the scheduler takes.  What submit says goes to the standard
 * error.
 */
#include "../../scheduler.h"
#include "../../sub/submit.h"
#include "fuzz.h"


static struct routes routes;

static void
begin(void)
{
	static const char table[] = "domain our.example\n"
	    "*@our.example\tlocal\t-\nerr@*\t! no such user\n"
	    "a = a, b, c@d\nb = err@d, e\ne = f, b\n"
	    "*@*\tsmtp\t-\n*\tlocal\t-\n";
	static int begun;

	if (begun)
		return;
	begun = 1;
	fuzz_office();
	fuzz_file("../routes", table, sizeof(table) - 1);
	fuzz_must(route_load(&routes, "../routes") == 0, "a table");
}

static const char *
line_of(const unsigned char **data, size_t *n)
{
	static char s[2][2000];
	static int which;
	char *line = s[which ^= 1];
	size_t k = 0;

	while (*n > 0 && **data != '\n') {
		if (k + 1 < sizeof(s[0]) && **data != '\0')
			line[k++] = (char)**data;
		++*data;
		--*n;
	}
	if (*n > 0) {
		++*data;
		--*n;
	}
	line[k] = '\0';
	return line;
}

/* Are all lines of the envelope its own? */
static void
check_envelope(const struct mail *m)
{
	static const char *const words[] = { "from <", "to <", "channel error",
	    "env-end", "todsn ", "envid ", "notaryret ", "fullname " };
	char line[8000];
	const struct recipient *d;
	unsigned to = 0, want = 0;
	FILE *f = fopen("../envelope", "w+");
	size_t i;

	fuzz_must(f != NULL, "an envelope");
	entry_print_envelope(m, f);
	rewind(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		for (i = 0; i < 8 && strncmp(line, words[i],
		    strlen(words[i])) != 0; i++)
			;
		fuzz_must(i < 8, "a line of the envelope");
		to += i == 1;
	}
	for (d = m->rcpts; d != NULL; d = d->next)
		want += !d->is_further;
	fuzz_must(to == want, "as many as were found");
	fclose(f);
}

/* Does the scheduler see the same recipients? */
static void
check_control(const struct mail *m, const char *name)
{
	static struct ctl c;
	int letter;
	unsigned n = 0;

	fuzz_must(ctl_open(&c, name) == CTL_OPENED, "it is there");
	while ((letter = ctl_next_pending_line(&c)) == 'r') {
		fuzz_must(strcmp(c.channel, "local") == 0 ||
		    strcmp(c.channel, "smtp") == 0 ||
		    strcmp(c.channel, "error") == 0, "a channel of the table");
		n++;
	}
	fuzz_must(letter == CTL_END, "the scheduler takes it");
	fuzz_must(m->sender[0] == '\0' || n == m->nrcpt,
	    "with the same recipients");
	ctl_close(&c);
}

static void
queue_it(struct mail *m, struct input *in)
{
	char name[64], ctl[80];
	unsigned long body;
	FILE *f;

	fuzz_must(head_complete(&m->head, &m->author, m->sender,
	    m->routes->domain, 123, "123-1") == 0, "memory");
	fuzz_must(m->head.s[strlen(m->head.s) - 1] == '\n', "fields end");
	if (m->nwrong == 0)	/* else it is in the queue's own hands */
		check_envelope(m);
	f = fopen("../public/message", "w");
	fuzz_must(f != NULL, "a message");
	entry_print_header(m, f);
	body = (unsigned long)(m->head.n + 1);
	fwrite(m->head.rest, 1, m->head.nrest, f);
	in_copy(in, f, m->head.nrest > 0 ? m->head.rest[m->head.nrest - 1] :
	    '\n', 0);
	fflush(f);
	entry_make_name(name, sizeof(name), 123);
	fuzz_must(entry_put(m, "..", "../public/message", fileno(f), name,
	    body) == 0, "it goes into the queue");
	fclose(f);
	check_control(m, name);
	text_fmt(ctl, sizeof(ctl), "../queue/%s", name);
	unlink(name);
	unlink(ctl);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	const char *from, *to;
	struct input in;
	struct mail m;
	int how;
	FILE *f;

	if (n < 1 || n > 30000)
		return 0;
	begin();
	how = *data++;
	n--;
	from = line_of(&data, &n);
	to = line_of(&data, &n);
	fuzz_file("../in", data, n);
	f = fopen("../in", "r");
	fuzz_must(f != NULL, "the text is there");
	mail_init(&m, &routes, 0);
	in_start(&in, f, how & 1 ? DOTS_END : DOTS_TEXT);
	m.tame = (how & 4) != 0;
	m.orcpt = 1;
	if (how & 8)
		strcpy(m.dsn, "NOTIFY=FAILURE");
	if (mail_set_sender(&m, from) == 0) {
		mail_add_list(&m, to, to + strlen(to));
		if (head_read(&m.head, &in) == NULL) {
			mail_add_header_rcpts(&m);
			if (m.nrcpt > 0 &&
			    (m.nrouted > 0 || m.sender[0] != '\0'))
				queue_it(&m, &in);
		}
	}
	mail_free(&m);
	fclose(f);
	return 0;
}
