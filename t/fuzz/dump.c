/*
 * dump.c - any bytes as the scheduler's answer to mailq.
 *
 * It is taken, or there is a reason; what is taken can be shown in every way,
 * and what is shown has no byte that disturbs a terminal.
 */
#include "../../mq/mq.h"
#include "fuzz.h"

static void
check_shown(FILE *f)
{
	int c;

	rewind(f);
	while ((c = getc(f)) != EOF)
		fuzz_must(c == '\n' || c == '\t' || (c >= 32 && c < 127),
		    "only plain bytes are shown");
	fclose(f);
}

static void
show(struct mq_queue *q)
{
	static struct mq_queue none;
	struct mq_view v;

	memset(&v, 0, sizeof(v));
	v.verbose = 1;
	mq_show_list(q, &v);
	mq_show_counts(q, 1);
	mq_show_dest_ages(q, &v);
	mq_show_dest_sizes(q, &v);
	mq_show_json(q, &v);
	mq_show_watch(q, &none, 5, 1.0);
}

static void
line(const char *s)
{
	fuzz_must(strchr(s, '\n') == NULL, "a line is one line");
}

/* By protocol 1; by protocol 2 if it begins so, with what we send behind it. */
static int
take(struct mq_queue *q, char *why)
{
	static struct mq_in in;
	int rc, two;

	for (two = 0, rc = MQ_READ_TWO; rc == MQ_READ_TWO; two = 1) {
		memset(&in, 0, offsetof(struct mq_in, buf));
		in.begun = 1;
		in.fd = open("../in", O_RDWR | O_APPEND);
		rc = two ? mq_read_protocol_2(q, &in, "u/p", why) :
		    mq_read_dump(q, &in, why);
		close(in.fd);
		fuzz_must(rc <= 0 || !two, "protocol 2 is asked for once");
	}
	return rc;
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	static struct mq_queue q;
	char why[MQ_WHY_MAX];

	fuzz_office();
	if (n < 1 || freopen("../shown", "w+", stdout) == NULL)
		return 0;
	fuzz_must(mq_init(&q) == 0, "memory");
	fuzz_file("../in", data + 1, n - 1);
	q.report = data[0] & 1 ? line : NULL;
	if (take(&q, why) < 0)
		fuzz_must(why[0] != '\0', "there is a reason");
	else if (!(data[0] & 1))
		show(&q);
	mq_free(&q);
	fflush(stdout);
	check_shown(fopen("../shown", "r"));
	return 0;
}
