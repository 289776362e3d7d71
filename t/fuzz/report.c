/*
 * report.c - any bytes from an agent that has three jobs.
 *
 * Whatever it says, only recipients that it was given are touched, the control
 * file keeps its lines, and when it is dead everything counts up: what is in
 * core is what the agent left.  For files of odd length core is small and full
 * of other mail; more comes before the agent is dead and after that, so these
 * messages are forgotten if they may be, and come back.
 */
#include "../../ta.c"
#include "fuzz.h"


static const char control[] = "@ 0x00000007\ni 123-1\no 0\nl <x@test>\n"
    "e sender@test\ns local - sender 0\n"
    "r           test a.host u1 0\nN NOTIFY=SUCCESS,FAILURE\n"
    "r           test a.host u2 0\n"
    "r           test b.host u3 0\n"
    "m\nSubject: x\n\n";
static const char second[] = "i 124-1\no 0\nl <y@test>\n"
    "s local - sender 0\nr           test a.host u4 0\nm\n\n";

/* Larger than what is read of a control file at once; every other recipient is
 * for c.host. */
#define THIRD_RCPTS	300

static char third[THIRD_RCPTS * 32 + 200];
static size_t nthird;

static char after[400000];

static void
complain(enum finding what, const char *s)
{
	(void)what;
	(void)s;
}

static void
begin(void)
{
	static const char cf[] = "dsn/*\tforget=1s\n"
	    "*/*\tinterval=1h expiry=1d overfeed=3 forget=1s\n"
	    "\tcommand=\"x\"\n";
	static int begun;
	struct config *c;
	struct text t;
	int i;

	if (begun)
		return;
	begun = 1;
	fuzz_office();
	opt.postoffice = "..";
	fuzz_file("../cf", cf, sizeof(cf) - 1);
	c = cf_read_file("../cf", complain);
	fuzz_must(c != NULL, "a configuration");
	q_use_config(c);
	text_init(&t, third, sizeof(third));
	text_add(&t, "i 125-1\no 0\nl <z@test>\ns local - sender 0\n");
	for (i = 0; i < THIRD_RCPTS; i++)
		text_add(&t, "r           test %c.host u%d 0\n",
		    i % 2 ? 'c' : 'a', i);
	text_add(&t, "m\n\n");
	fuzz_must(!t.cut, "room for the third");
	nthird = t.len;
}

static void
put(const char *name, const char *s, size_t n)
{
	char path[100];

	text_fmt(path, sizeof(path), "../queue/%s", name);
	fuzz_file(name, s, n);
	fuzz_file(path, "body\n", 5);
}

static struct agent *
hire(struct thread *t)
{
	struct agent *a = calloc(1, sizeof(*a));

	if (t->ring->pool == NULL)
		t->ring->pool = calloc(1, sizeof(*t->ring->pool));
	fuzz_must(a != NULL && t->ring->pool != NULL, "memory");
	a->ta.pid = 0x3ffffff0;		/* nobody has this number */
	a->ta.ring = t->ring;
	a->ta.fed_at = -1;
	a->in = a->out = -1;
	a->start_time = a->ta.heard = now.mono;
	a->due = now.mono + 1000;
	PREPEND(q.agents, &a->ta, next, prev);
	q.nagents++;
	count_agents(t->ring, 1, 0, 0);
	th_feed(&a->ta, t->ready.head);
	return a;
}

/* In pieces, as it may come. */
static void
say_it(struct agent *a, const unsigned char *data, size_t n)
{
	size_t k = n > 0 ? data[0] * 16UL + 1 : 1;

	for (; n > 0; data += k, n -= k) {
		if (k > n)
			k = n;
		memcpy(inbuf + a->npart, data, k);
		handle_lines(a, k);
	}
}

static void
check(unsigned long num, const char *was, size_t size)
{
	struct message *m = msg_find_number(num, NULL);
	struct vertex *v;
	unsigned i, left;
	long n;

	if (m == NULL || m->end >= END_DROP)
		return;
	for (v = msg_first_vertex(m); v != NULL; v = msg_next_vertex(v)) {
		for (i = left = 0; i < v->nr; i++)
			left += v->r[i].state == RC_PENDING;
		fuzz_must(left == v->npending, "what is left is counted");
	}
	n = fuzz_read(m->name, after, sizeof(after));
	fuzz_must(n >= (long)size, "nothing is taken from the file");
	for (i = 0; i < size; i++)
		fuzz_must(after[i] == was[i] || (i > 0 && after[i - 1] == 'r'),
		    "nothing is written over but tags");
}

/* b.host was given to nobody. */
static void
check_others(void)
{
	struct message *m = msg_find_number(123, NULL);
	struct vertex *v = m == NULL ? NULL : msg_first_vertex(m);

	while (v != NULL && (v->thread == NULL ||
	    strcmp(v->thread->host, "b.host") != 0))
		v = msg_next_vertex(v);
	fuzz_must(v != NULL && v->npending == 1 && v->state == V_READY,
	    "what it was not given is untouched");
}

/* Is it in core, if it is not done? */
static void
check_back(unsigned long num)
{
	char name[40];

	text_fmt(name, sizeof(name), "%lu-1", num);
	fuzz_must(msg_find_number(num, NULL) != NULL || access(name, F_OK) < 0,
	    "it is back");
}

static void
forget(unsigned long num)
{
	struct message *m = msg_find_number(num, NULL);

	if (m != NULL && m->end < END_DROP)
		q_discard_message(m, "enough");
	now.mono += 100;
	q_run_timers();
	q_sweep_ended();
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t n)
{
	struct thread *t;
	struct agent *a;
	int small = n % 2 != 0;

	begin();
	fuzz_small_core(small);
	if (small)
		fuzz_crowd(FUZZ_CORE + 4);
	put("123-1", control, sizeof(control) - 1);
	put("124-1", second, sizeof(second) - 1);
	put("125-1", third, nthird);
	fuzz_arrived();
	in_load_files();
	t = th_get(th_get_channel("test"), "a.host", 0);
	fuzz_must(msg_find_number(123, NULL) != NULL &&
	    msg_find_number(124, NULL) != NULL &&
	    msg_find_number(125, NULL) != NULL && t->ready.n == 3, "three jobs for one host");
	a = hire(t);
	memcpy(inbuf, "#hungry\n", 8);
	handle_lines(a, 8);
	fuzz_must(a->ta.jobs.n == 3, "it has all");
	say_it(a, data, n);
	check(123, control, sizeof(control) - 1);
	check(124, second, sizeof(second) - 1);
	check(125, third, nthird);
	check_others();
	if (small)
		fuzz_crowd(FUZZ_CORE);
	fuzz_must(ta_reap(a->ta.pid, 0) && q.nagents == 0, "it is gone");
	if (small) {
		fuzz_crowd(2);
		fuzz_disperse();
		check_back(123);
		check_back(124);
		check_back(125);
	}
	check(123, control, sizeof(control) - 1);
	forget(123);
	forget(124);
	forget(125);
	fuzz_empty(".");
	fuzz_empty("../queue");
	fuzz_empty("../postman");
	fuzz_empty("../router");
	fuzz_empty("../public");
	th_sweep();
	now.mono += 10000;		/* their dead time ends */
	q_run_timers();
	fuzz_must(q.dests.n == 0, "hosts are forgotten");
	return 0;
}
