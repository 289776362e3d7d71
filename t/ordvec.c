/*
 * ordvec.c - drives the real order.c, thread.c and feedback.c, without agents.
 *
 *	ordvec <vectors >TAP		replays vectors of the preemptive order
 *	ordvec -r seed rounds >TAP	random arrivals: what must always hold
 *	ordvec -c blocked picks		many blocked messages, and so many
 *					choices beside them, for counting
 *					instructions
 *
 * A file of vectors holds any number of
 *
 *	VECTOR name [REAL]
 *	  kind=serial cost=2 loan=0 discount=0 min=0 sps=0
 *	  arrive 1:4@0 2:1@0 [then 1000 singles @0]
 *	  order 1*2 2 1*2
 *	  finish 1@4 2@2
 *	  slot 0 sel 1 list: 1(avail=1 used=1 lvl=0 left=3)
 *	END
 *	VECTOR name
 *	  kind=dest agents=3 cost=... dest_concurrency=1 initial=1
 *	      rcpts_per_delivery=1
 *	  1=a,a,mx.test
 *	  2@1.5=a
 *	  order 1:a 1:mx.test 1:a 2:a
 *	END
 *
 * serial: there is one agent, which delivers a vertex in each slot; message
 * 1 has 4 vertices for hosts of its own and comes before slot 0; sps is how
 * many seconds a slot takes.  dest: each name is a recipient for that host;
 * agents work side by side and take one slot for each vertex.  With @t the
 * message comes t slots after the start, and before what ends just then; it
 * is there at the start otherwise.  As the daemon does, a message has one
 * vertex for each of its hosts; with more recipients than go into one delivery
 * it comes in pieces, one after the other.
 */
#include <ctype.h>

#include "../order.c"

#define MSGS_MAX	3000
#define AGENTS_MAX	20
#define RCPTS_MAX	1000	/* of a message with named hosts */


struct msg {
	struct message *m;
	struct vertex *v;	/* m->nr of them */
	long	id, n;		/* vertices */
	double	at;		/* slot before which it comes in */
	char	*hosts;		/* dest: "a,a,mx.test", a name for each
				 * recipient; NULL: it has hosts of its own */
	long	first, last;	/* slots of its deliveries */
};

static struct msg msgs[MSGS_MAX];
static long nmsgs;
static struct ta agents[AGENTS_MAX];
static struct vertex *work[AGENTS_MAX];	/* what the agent delivers */
static double until[AGENTS_MAX];	/* slots */
static unsigned long turn[AGENTS_MAX];	/* of those with one end: the order */
static long nagents, round_no;
static struct ring *ring;

static void
malformed(const char *why, const char *what)
{
	printf("Bail out! %s: %.80s\n", why, what);
	exit(X_DATAERR);
}

/* ---- a configuration for each vector --------------------------------- */

static void
say(enum finding what, const char *line)
{
	(void)what;
	malformed("config", line);
}

/* Takes a clause with these keywords in use, for all that is there too. */
static void
configure(const char *keys)
{
	const char *dir = getenv("TMPDIR");
	char name[PATH_MAX_], line[500];
	struct config *c;
	int fd;

	text_fmt(name, sizeof(name), "%s/ordvec.%ld", dir != NULL ? dir :
	    "/tmp", (long)getpid());
	text_fmt(line, sizeof(line), "PARAMmsgconcurrency 2\n*/*\t"
	    "interval=1h command=x forget=1s %s\n", keys);
	fd = open(name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	if (fd < 0 || fd_write(fd, line, strlen(line)) < 0)
		malformed("cannot write", name);
	close(fd);
	c = cf_read_file(name, say);
	unlink(name);
	th_use_config(c);
	th_sweep();
}

/* ---- messages, threads, agents --------------------------------------- */

/* A vertex of the message for this host, of so many recipients. */
static void
add_vertex(struct msg *g, unsigned i, const char *host, unsigned n)
{
	struct vertex *v = &g->v[i];

	v->msg = g->m;
	v->thread = th_get(th_get_channel("c"), host, 0);
	v->npending = n;
	if (v->thread == NULL)
		malformed("no memory", host);
	ring = v->thread->ring;
	th_requeue(v, 0, 0);
}

/* Hosts of its own for a message that says none. */
static void
own_hosts(struct msg *g)
{
	char host[80];
	long i;

	for (i = 0; i < g->n; i++) {
		text_fmt(host, sizeof(host), "%ld-%ld-%ld", round_no, g->id, i);
		add_vertex(g, (unsigned)i, host, 1);
	}
}

/* Of n recipients those with that host, most at most, become NULL: how many. */
static unsigned
take_rcpts(char **rcpts, unsigned n, const char *host, unsigned most)
{
	unsigned i, took = 0;

	for (i = 0; i < n && took < most; i++)
		if (rcpts[i] != NULL && strcmp(rcpts[i], host) == 0) {
			rcpts[i] = NULL;
			took++;
		}
	return took;
}

/* One piece after the other, each with at most per recipients a host. */
static void
named_hosts(struct msg *g, unsigned per)
{
	static char *rest[RCPTS_MAX], *piece[RCPTS_MAX];
	char host[200], *s = mem_dup(g->hosts), *p;
	unsigned n = 0, i = 0, k, left, took;

	for (p = strtok(s, ","); p != NULL; p = strtok(NULL, ","))
		rest[n++] = p;
	for (left = n; left > 0; ) {
		memcpy(piece, rest, n * sizeof(piece[0]));
		for (k = 0; k < n; k++) {
			if ((p = piece[k]) == NULL)
				continue;
			take_rcpts(piece, n, p, n);
			left -= took = take_rcpts(rest, n, p, per);
			text_fmt(host, sizeof(host), "%ld-%s", round_no, p);
			add_vertex(g, i++, host, took);
		}
	}
	free(s);
	g->m->nr = g->m->nvertices = i;
}

static void
arrive(struct msg *g, unsigned per)
{
	size_t n = g->hosts != NULL ? strlen(g->hosts) : (size_t)g->n;
	struct message *m = mem_get(sizeof(*m));

	g->m = m;
	g->v = mem_get(n * sizeof(*g->v));
	m->nr = m->nvertices = (unsigned)n;
	m->load_event = ++q.events;
	m->queued = m->born = NOW;
	hash_add(&q.messages, &m->link, (unsigned long)g->id);
	if (g->hosts != NULL)
		named_hosts(g, per);
	else
		own_hosts(g);
}

static struct msg *
owner(const struct message *m)
{
	long i;

	for (i = 0; i < nmsgs; i++)
		if (msgs[i].m == m)
			return &msgs[i];
	return NULL;
}

/* Agent a delivers v. */
static void
take(long a, struct vertex *v)
{
	struct ta *ta = &agents[a];

	ta->ring = ring;
	ta->started = 1;
	th_feed(ta, v);
	work[a] = v;
}

/* It has done so. */
static void
done(long a)
{
	struct vertex *v = work[a];
	struct thread *t = v->thread;

	work[a] = NULL;
	v->npending = 0;
	th_take_from_agent(v);
	th_count_report(t, HOST_GOOD);
	v->state = V_DONE;
	v->thread = NULL;
	v->msg->nvertices--;
	th_detach_agent(&agents[a]);
	th_update(t);
}

/* All agents let go of their threads; messages and threads go. */
static void
clear_all(void)
{
	struct hlink *l;
	unsigned n;
	long i;

	for (i = 0; i < AGENTS_MAX; i++) {
		if (agents[i].thread != NULL) {
			agents[i].thread->nref--;
			th_update(agents[i].thread);
		}
		memset(&agents[i], 0, sizeof(agents[i]));
	}
	for (i = 0; i < nmsgs; i++) {
		if (msgs[i].m == NULL)
			continue;
		l = &msgs[i].m->link;
		for (n = 0; n < msgs[i].m->nr; n++)
			if (msgs[i].v[n].state == V_READY) {
				th_dequeue(&msgs[i].v[n]);
				th_update(msgs[i].v[n].thread);
			}
		order_free_claims(msgs[i].m);
		hash_del(&q.messages, l);
		msg_free(msgs[i].m);
		free(msgs[i].v);
		free(msgs[i].hosts);
	}
	now.mono += 1000;	/* what is known of destinations is forgotten */
	th_sweep();
	memset(msgs, 0, sizeof(msgs[0]) * (size_t)nmsgs);
	nmsgs = 0;
	round_no++;
}

/* ---- vectors: reading ------------------------------------------------ */

struct vector {
	char	name[100];
	int	serial;
	char	*lines[200];	/* those within it */
	int	n;
	long	cost, loan, discount, min, sps, agents, window, init, per;
};

static long
param(const char *s, const char *name, long def)
{
	char want[40];
	const char *p;

	text_fmt(want, sizeof(want), " %s=", name);
	p = strstr(s, want);
	if (p == NULL && def < 0)
		malformed(name, "is missing");
	return p == NULL ? def : atol(p + strlen(want));
}

static const char *
line_of(const struct vector *v, const char *first)
{
	int i;

	for (i = 0; i < v->n; i++)
		if (strncmp(v->lines[i], first, strlen(first)) == 0)
			return v->lines[i] + strlen(first);
	return NULL;
}

static struct msg *
new_msg(long id, long n, double at)
{
	struct msg *g = &msgs[nmsgs++];

	if (nmsgs > MSGS_MAX)
		malformed("too many messages", "");
	g->id = id;
	g->n = n;
	g->at = at;
	return g;
}

static void
take_arrivals(const char *s)
{
	long id, n, at, singles, i;
	char c;

	for (; sscanf(s, " %ld:%ld@%ld", &id, &n, &at) == 3;
	    s += strcspn(s, " ")) {
		new_msg(id, n, (double)at);
		s += strspn(s, " ");
	}
	if (sscanf(s, " then %ld singles @%ld%c", &singles, &at, &c) >= 2)
		for (i = 0; i < singles; i++)
			new_msg(nmsgs + 1, 1, (double)at);
	if (nmsgs == 0)
		malformed("no arrivals", s);
}

/* id=host,host,... or id@t=host,host,... */
static void
take_hosts(const char *line)
{
	char *s;
	const char *p;
	struct msg *g = new_msg(strtol(line, &s, 10), 0, 0);
	long n = 1;

	if (*s == '@' && isdigit((unsigned char)s[1]))
		g->at = strtod(s + 1, &s);
	if (*s++ != '=')
		malformed("no id=host,... and no id@t=host,...", line);
	for (p = s; *p != '\0'; p++)
		n += *p == ',';
	if (n > RCPTS_MAX)
		malformed("too many recipients", line);
	for (p = s; n > 0; n--, p += *p == ',') {
		if (*p == ',' || *p == '\0' || strcspn(p, ",") > 100)
			malformed("a host has no name or too long a one", line);
		p += strcspn(p, ",");
	}
	if (s[strcspn(s, " \t=@")] != '\0')
		malformed("a blank, = or @ in a name", line);
	g->hosts = mem_dup(s);
}

static void
prepare(struct vector *v)
{
	const char *k = line_of(v, "kind=");
	char keys[400];
	int i;

	if (k == NULL)
		malformed("no kind in", v->name);
	v->serial = strncmp(k, "serial", 6) == 0;
	v->cost = param(k, "cost", -1);
	v->loan = param(k, "loan", -1);
	v->discount = param(k, "discount", -1);
	v->min = param(k, "min", -1);
	v->sps = param(k, "sps", 0);
	v->agents = param(k, "agents", 1);
	v->window = param(k, "dest_concurrency", 20);
	v->init = param(k, "initial", 5);
	v->per = param(k, "rcpts_per_delivery", 1);
	text_fmt(keys, sizeof(keys), "order=preempt slotcost=%ld slotloan=%ld "
	    "slotdiscount=%ld minslots=%ld maxthr=%ld initthr=%ld", v->cost,
	    v->loan, v->discount, v->min, v->window, v->init);
	configure(keys);
	for (i = 0; i < v->n; i++)
		if (strncmp(v->lines[i], "arrive ", 7) == 0)
			take_arrivals(v->lines[i] + 7);
		else if (!v->serial && isdigit((unsigned char)v->lines[i][0]))
			take_hosts(v->lines[i]);
}

/* ---- vectors: replaying ---------------------------------------------- */

static char got[200000];
static struct text out;
static long last_id, run;	/* the run of one message in out */

static void
end_run(void)
{
	if (run > 1)
		text_add(&out, "*%ld", run);
	run = 0;
}

static void
picked_serial(long id)
{
	if (run > 0 && id == last_id) {
		run++;
		return;
	}
	end_run();
	text_add(&out, "%s%ld", out.len > 0 ? " " : "", id);
	last_id = id;
	run = 1;
}

static int
by_key(const void *a, const void *b)
{
	double x = (*(struct claim *const *)a)->key;
	double y = (*(struct claim *const *)b)->key;

	return x < y ? -1 : x > y;
}

/* The line of claims, as in a vector. */
static void
show_jobs(char *s, size_t size)
{
	static struct claim *js[MSGS_MAX];
	struct text t;
	long i, n = 0;

	text_init(&t, s, size);
	for (i = 0; i < nmsgs; i++)
		if (msgs[i].m != NULL && msgs[i].m->claims != NULL)
			js[n++] = msgs[i].m->claims;
	qsort(js, (size_t)n, sizeof(js[0]), by_key);
	for (i = 0; i < n; i++)
		text_add(&t, "%s%lu(avail=%ld used=%ld lvl=%u left=%ld)",
		    i > 0 ? " " : "", js[i]->msg->link.hash, js[i]->avail,
		    js[i]->used, js[i]->level, js[i]->entered - js[i]->gone);
}

/* Is the line of claims after this slot as the vector says?  1 when it does not
 * say. */
static int
slot_holds(const struct vector *v, long slot)
{
	char first[40], is[20000];
	const char *want;

	text_fmt(first, sizeof(first), "slot %ld ", slot);
	want = line_of(v, first);
	if (want == NULL)
		return 1;
	want = strstr(want, "list:") + 5;
	want += strspn(want, " ");
	show_jobs(is, sizeof(is));
	if (strcmp(is, want) == 0)
		return 1;
	printf("# slot %ld got  %s\n# slot %ld want %s\n", slot, is, slot,
	    want);
	return 0;
}

/* Runs one agent until nothing is left: slots that were not as wanted. */
static long
run_serial(const struct vector *v)
{
	struct vertex *next;
	struct msg *g;
	double start = now.mono;
	long slot, i, bad = 0, left = 0;

	for (i = 0; i < nmsgs; i++)
		left += msgs[i].n;
	for (slot = 0; left > 0; slot++) {
		now.mono = start + (double)(slot * v->sps);
		for (i = 0; i < nmsgs; i++)
			if (msgs[i].m == NULL && msgs[i].at <= (double)slot)
				arrive(&msgs[i], 1);
		next = order_next_vertex(ring);
		if (next == NULL)
			malformed("nothing goes", v->name);
		g = owner(next->msg);
		picked_serial(g->id);
		g->last = slot;
		take(0, next);
		done(0);
		left--;
		bad += !slot_holds(v, slot);
	}
	end_run();
	return bad;
}

/* The agent that is done next; -1 when none has work. */
static long
first_done(void)
{
	long a, best = -1;

	for (a = 0; a < nagents; a++)
		if (work[a] != NULL && (best < 0 || until[a] < until[best] ||
		    (until[a] == until[best] && turn[a] < turn[best])))
			best = a;
	return best;
}

/* The message that comes next, or NULL. */
static struct msg *
first_to_come(void)
{
	struct msg *g, *best = NULL;

	for (g = msgs; g < msgs + nmsgs; g++)
		if (g->m == NULL && (best == NULL || g->at < best->at))
			best = g;
	return best;
}

/* Agent a takes v at this slot, which is put down. */
static void
picked_dest(const struct vector *v, long a, struct vertex *next, double slot)
{
	static unsigned long turns;

	text_add(&out, "%s%lu:%s", out.len > 0 ? " " : "",
	    next->msg->link.hash, strchr(next->thread->host, '-') + 1);
	if (v->per > 1)
		text_add(&out, "(%u)", next->npending);
	owner(next->msg)->last = (long)slot;
	take(a, next);
	until[a] = slot + 1;
	turn[a] = ++turns;
}

static void
run_dest(const struct vector *v)
{
	struct vertex *next;
	struct msg *g = first_to_come();
	double start = now.mono, slot = 0;
	long a = -1;

	for (nagents = v->agents; g != NULL || a >= 0; ) {
		if (g != NULL && (a < 0 || g->at <= until[a])) {
			slot = g->at;
			now.mono = start + slot * (double)v->sps;
			for (; g != NULL && g->at <= slot;
			    g = first_to_come())
				arrive(g, (unsigned)v->per);
		} else {
			slot = until[a];
			now.mono = start + slot * (double)v->sps;
			done(a);
		}
		for (a = 0; a < nagents; a++)
			if (work[a] == NULL &&
			    (next = order_next_vertex(ring)) != NULL)
				picked_dest(v, a, next, slot);
		a = first_done();
	}
}

static int
finishes_hold(const struct vector *v)
{
	const char *s = line_of(v, "finish ");
	long id, at, i;
	int bad = 0;

	for (; s != NULL && sscanf(s, " %ld@%ld", &id, &at) == 2;
	    s += strcspn(s, " ")) {
		s += strspn(s, " ");
		for (i = 0; i < nmsgs && msgs[i].id != id; i++)
			;
		if (i == nmsgs || msgs[i].last != at) {
			printf("# message %ld is to finish at %ld\n", id, at);
			bad = 1;
		}
	}
	return !bad;
}

/* 1 when it holds. */
static int
replay(struct vector *v)
{
	const char *want;
	long bad = 0;
	int good;

	text_init(&out, got, sizeof(got));
	run = 0;
	prepare(v);
	if (v->serial)
		bad = run_serial(v);
	else
		run_dest(v);
	want = line_of(v, "order ");
	good = bad == 0 && (want == NULL || strcmp(want, got) == 0) &&
	    finishes_hold(v) && RANKING(ring)->nclaims == 0 &&
	    RANKING(ring)->nopen == 0;
	if (want != NULL && strcmp(want, got) != 0)
		printf("# got  %s\n# want %s\n", got, want);
	if (want == NULL && line_of(v, "finish ") == NULL)
		malformed("nothing is wanted in", v->name);
	clear_all();
	return good;
}

static int
vectors(void)
{
	static char buf[65536];
	static struct vector v;
	long n = 0, bad = 0;
	char *p;

	while (fgets(buf, sizeof(buf), stdin) != NULL) {
		buf[strcspn(buf, "\n")] = '\0';
		for (p = buf + strlen(buf); p > buf && p[-1] == ' '; )
			*--p = '\0';
		p = buf + strspn(buf, " ");
		if (strncmp(p, "VECTOR ", 7) == 0) {
			memset(&v, 0, sizeof(v));
			text_fmt(v.name, sizeof(v.name), "%.*s",
			    (int)strcspn(p + 7, " "), p + 7);
		} else if (v.name[0] == '\0' || *p == '#' || *p == '\0') {
			continue;
		} else if (strcmp(p, "END") == 0) {
			int good = replay(&v);

			printf("%sok %ld - %s\n", good ? "" : "not ", ++n,
			    v.name);
			bad += !good;
			while (v.n > 0)
				free(v.lines[--v.n]);
			v.name[0] = '\0';
		} else if (v.n < 200) {
			v.lines[v.n++] = mem_dup(p);
		}
	}
	printf("1..%ld\n", n);
	return bad > 0;
}

/* ---- what must always hold ------------------------------------------- */

/* A large message first, then small ones by an adversary's choice: the large
 * one is done in time.  1 when so. */
static int
bound_holds(long cost)
{
	long n = 200 + (long)rnd(400), slot, left, i;
	double start = now.mono;
	struct vertex *next;
	char keys[200];

	text_fmt(keys, sizeof(keys), "order=preempt slotcost=%ld slotloan=%ld "
	    "slotdiscount=%ld minslots=%ld", cost, (long)rnd(6),
	    (long)rnd(101), (long)rnd(4));
	configure(keys);
	new_msg(1, n, 0);
	while (nmsgs < 150)	/* of any size, many of them small */
		new_msg(nmsgs + 1, 1 + (long)rnd(rnd(4) == 0 ?
		    (unsigned long)n : 6), (double)rnd((unsigned long)n * 2));
	for (slot = 0, left = n; left > 0; slot++) {
		now.mono = start + (double)(slot / 7);
		for (i = 0; i < nmsgs; i++)
			if (msgs[i].m == NULL && msgs[i].at <= (double)slot)
				arrive(&msgs[i], 1);
		next = order_next_vertex(ring);
		left -= next->msg == msgs[0].m;
		take(0, next);
		done(0);
	}
	i = (n * cost + cost - 2) / (cost - 1);
	if (slot > i)
		printf("# n=%ld cost=%ld: done after %ld, bound %ld\n%s\n", n,
		    cost, slot, i, keys);
	clear_all();
	return slot <= i;
}

/* Is there a vertex that could go, though th_next_job has none? */
static int
forgotten(void)
{
	struct thread *t;

	for (t = q.all; t != NULL; t = t->next)
		if (!ring_is_old(t->ring) && t->can_take_agent && th_nready(t) > 0)
			return 1;
	return 0;
}

static long
ready_left(void)
{
	unsigned i;
	long k, n = 0;

	for (k = 0; k < nmsgs; k++)
		for (i = 0; msgs[k].m != NULL && i < msgs[k].m->nr; i++)
			n += msgs[k].v[i].state == V_READY ||
			    msgs[k].v[i].state == V_PINNED;
	return n;
}

/* An operator, or a reload, does something to any message. */
static void
meddle(void)
{
	static const char *const keys[] = {
		"order=preempt maxthr=2", "order=random maxthr=2", "order=age",
		"order=preempt slotcost=2 minslots=0 maxthr=3" };
	struct msg *g = &msgs[rnd((unsigned long)nmsgs)];
	struct vertex *v;

	if (rnd(20) == 0)
		configure(keys[rnd(4)]);
	if (g->m == NULL)
		return;
	v = &g->v[rnd(g->m->nr)];
	if (v->state == V_READY && rnd(2) == 0)
		th_requeue(v, 1, 0);
	else if (v->state == V_PINNED)
		th_requeue(v, 0, 0);
}

static void
release_all(void)
{
	unsigned i;
	long k;

	for (k = 0; k < nmsgs; k++)
		for (i = 0; msgs[k].m != NULL && i < msgs[k].m->nr; i++)
			if (msgs[k].v[i].state == V_PINNED)
				th_requeue(&msgs[k].v[i], 0, 0);
}

/* The ring in use; agents of others finish what they have. */
static struct ring *
live(void)
{
	struct ring *r;

	for (r = q.rings; r != NULL && ring_is_old(r); r = r->next)
		;
	return r;
}

/* The next vertex whose message may have one more agent, as a few agents are
 * free now and then. */
static struct vertex *
next_allowed(void)
{
	struct vertex *v;

	for (;;) {
		long nfree = rnd(4) == 0 ? 0 : AGENTS_MAX;

		v = order_next_vertex(ring);
		if (v != NULL && (order_is_below_share(v->msg, nfree) ||
		    order_block_vertex(v) < 0))
			return v;
		if (v == NULL)
			v = order_unblock_claim(ring, AGENTS_MAX);
		if (v == NULL)
			return NULL;
		th_update(v->thread);
	}
}

/* Many agents, hosts in common, holds and reloads: everything is delivered
 * once and nothing is forgotten.  1 when so. */
static int
nothing_lost(void)
{
	long i, a, idle, given = 0, want = 0, steps = 0;
	struct vertex *v;
	size_t n;

	configure("order=preempt maxthr=2");
	nagents = 1 + (long)rnd(AGENTS_MAX);
	for (i = 0; i < 40; i++) {
		struct msg *g = new_msg(i + 1, 0, 0);

		n = 1 + rnd(i % 5 == 0 ? 26 : 3);
		g->hosts = mem_get(2 * n + 1);
		while (n-- > 0) {
			g->hosts[2 * n] = (char)('a' + rnd(26));
			g->hosts[2 * n + 1] = ',';
		}
		arrive(g, (unsigned)(1 + rnd(3)));
		want += (long)g->m->nr;
	}
	do {
		if (rnd(3) == 0 && steps < 3000)
			meddle();
		else if (steps >= 3000)
			release_all();
		steps++;
		th_sweep();
		ring = live();
		for (idle = -1, a = 0; a < nagents; a++)
			if (work[a] == NULL)
				idle = a;
		v = idle >= 0 && ring != NULL ? next_allowed() : NULL;
		if (v == NULL && idle >= 0 && forgotten()) {
			printf("# something is forgotten\n");
			return 0;
		}
		if (v != NULL) {
			take(idle, v);
			given++;
		}
		a = (long)rnd((unsigned long)nagents);
		if (work[a] != NULL && (v == NULL || rnd(2) == 0))
			done(a);
	} while ((ready_left() > 0 || first_done() >= 0) && steps < 100000);
	if (given != want)
		printf("# %ld of %ld given after %ld steps\n", given, want,
		    steps);
	clear_all();
	return given == want &&
	    (live() == NULL || RANKING(live())->nclaims == 0);
}

/* A message for these hosts, or for n hosts of its own. */
static void
comes(const char *hosts, long n)
{
	struct msg *g = new_msg(nmsgs + 1, n, 0);

	g->hosts = hosts == NULL ? NULL : mem_dup(hosts);
	arrive(g, 26);
}

/* While others have mail, much that waits keeps its order.  1 when so. */
static int
keeps_place(void)
{
	struct vertex *v;
	long i, good = 1;

	configure("order=preempt slotcost=0 maxthr=1");
	for (i = 0; i < 1400; i++)
		comes("a", 0);
	for (i = 0; i < 1400; i++) {
		v = order_next_vertex(ring);
		good &= owner(v->msg)->id == i + 1;
		take(0, v);
		comes("b", 0);
		take(1, order_next_vertex(ring));
		done(1);
		done(0);
	}
	clear_all();
	return (int)good;
}

/* What cannot go does not keep a smaller one from preempting.  1 when so. */
static int
hides_nobody(void)
{
	long i;

	configure("order=preempt slotloan=3 maxthr=1");
	comes("a", 0);
	comes(NULL, 200);
	comes("a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a,a", 0);
	take(1, order_next_vertex(ring));		/* for a */
	now.mono += 1000;
	comes(NULL, 1);
	for (i = 0; i < 2; i++) {
		take(0, order_next_vertex(ring));
		done(0);
	}
	i = msgs[3].m->nvertices;
	done(1);
	clear_all();
	return i == 0;
}

static int
always(unsigned long seed, long rounds)
{
	long i, slow = 0, lost = 0;
	int place = keeps_place(), hidden = !hides_nobody();

	rnd_seed(seed);
	for (i = 0; i < rounds; i++) {
		slow += !bound_holds(2 + i % 6);
		lost += !nothing_lost();
	}
	printf("# seed %lu\n", seed);
	printf("%sok 1 - a large message is done within its bound\n",
	    slow > 0 ? "not " : "");
	printf("%sok 2 - everything goes once, and nothing waits that could "
	    "go\n", lost > 0 ? "not " : "");
	printf("%sok 3 - what waits for one host keeps its order\n",
	    place ? "" : "not ");
	printf("%sok 4 - what cannot go hides nobody\n1..4\n",
	    hidden ? "not " : "");
	return slow + lost + !place + hidden > 0;
}

/* ---- what a choice costs --------------------------------------------- */

static int
choices(long blocked, long picks)
{
	struct vertex *v;
	struct msg g;
	char host[] = "x";
	long i;

	configure("order=preempt maxthr=1");
	memset(&g, 0, sizeof(g));
	g.hosts = host;
	for (i = 0; i < blocked; i++) {
		g.id = i + 1;
		arrive(&g, 1);
	}
	take(0, order_next_vertex(ring));	/* the host is busy now */
	for (i = 0; i < picks; i++) {
		g.id = blocked + i + 1;
		host[0] = (char)('a' + i % 20);
		arrive(&g, 1);
		v = order_next_vertex(ring);
		take(1, v);
		done(1);
		order_next_vertex(ring);
		order_free_claims(g.m);
		hash_del(&q.messages, &g.m->link);
		free(g.m);
	}
	printf("%ld\n", picks);
	return 0;
}

int
main(int argc, char **argv)
{
	logs.level = L_WARN;
	opt.pick_channel = NULL;
	clock_read();
	now.mono = 1000;
	if (argc == 4 && strcmp(argv[1], "-r") == 0)
		return always((unsigned long)atol(argv[2]), atol(argv[3]));
	if (argc == 4 && strcmp(argv[1], "-c") == 0)
		return choices(atol(argv[2]), atol(argv[3]));
	if (argc != 1) {
		fprintf(stderr, "usage: ordvec [-r seed rounds | "
		    "-c blocked picks]\n");
		return X_USAGE;
	}
	return vectors();
}
