/*
 * admin.c - what an operator wants done to the queue.
 *
 *	flush	what waits is tried now: times of its own, a dead host, a
 *		T line not come; limits and holds stay
 *	hold	nothing more of it is given to agents, nor expires
 *	release	ends such a hold
 *	delete	nobody gets it, nobody is told; what failed before is told all
 *		the same, unless that is all there is left of a message
 *	bounce	it expires now
 *
 * on a message, by its name, or on addresses, by a pattern for channel/host;
 * flush and release also on all.  A job that an agent has is not taken from
 * it: what is wanted happens when it is reported.
 *
 * Each request gets an answer for people, which begins with "ok" or "no", and
 * a line in the log with who asked.  It may go over everything in core, but
 * what needs the disk is worked off beside the mail (queue.c) when it is much.
 */
#include "scheduler.h"
#include <ctype.h>

#define AT_ONCE	100	/* jobs ended before the answer; more would hold up mail */

/* A request while it is being done. */
struct request {
	const char *what;
	struct message *msg;	/* it names a message, or NULL */
	char	**patterns;	/* it names addresses, or NULL; neither: all */
	struct text *answer;
	unsigned done, later, soon, failed;	/* vertices */
	unsigned held;			/* ... that a flush does not touch */
};

/* ---- what it is about ------------------------------------------------ */

/* X/Y/123-45 or 123-45: where that begins, NULL when it is no name. */
static const char *
name_in(const char *s)
{
	int level;

	for (level = 0; level < 2 && *s >= 'A' && *s <= 'Z' && s[1] == '/';
	    level++)
		s += 2;
	return isdigit((unsigned char)*s) && strchr(s, '/') == NULL ? s : NULL;
}

static struct message *
find_message(const char *name)
{
	struct message *m = q_find(num_of(name, NULL), NULL);
	const char *base;

	for (; m != NULL; m = q_find(m->link.hash, m)) {
		base = strrchr(m->name, '/');
		if (strcmp(base == NULL ? m->name : base + 1, name) == 0)
			break;
	}
	return m;
}

static int
matches(const struct request *r, const struct thread *t)
{
	char address[2 * WORD_MAX_];
	char **p = r->patterns;

	if (p == NULL)
		return 1;
	text_fmt(address, sizeof(address), "%s/%s", t->ring->chan->name,
	    t->host);
	while (*p != NULL && !pat_match(*p, address))
		p++;
	return *p != NULL;
}

/* Does act with each vertex that is meant and not done. */
static void
each_vertex(struct request *r, void (*act)(struct request *, struct vertex *))
{
	struct message *m;
	struct vertex *v;
	struct hlink *l;
	unsigned i;

	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next) {
			m = OWNER(struct message, link, l);
			if (r->msg != NULL && r->msg != m)
				continue;
			for (v = msg_first(m); v != NULL; v = msg_next(v))
				if (v->state != V_DONE &&
				    matches(r, v->thread))
					act(r, v);
		}
}

/* ---- verbs ----------------------------------------------------------- */

static void
say_how_many(struct request *r, const char *did)
{
	if (r->done + r->later + r->soon + r->failed == 0) {
		text_add(r->answer, "no nothing in the queue is %s", r->what);
		return;
	}
	text_add(r->answer, "%s %u %s", r->failed > 0 ? "no" : "ok", r->done,
	    did);
	if (r->soon > 0)
		text_add(r->answer, ", %u more are being worked off", r->soon);
	if (r->later > 0)
		text_add(r->answer, ", %u when their agents have reported",
		    r->later);
	if (r->failed > 0)
		text_add(r->answer, ", %u not: the spool cannot be written to",
		    r->failed);
}

/* What a flush finds: held, with an agent, or to be tried. */
static void
flush_one(struct request *r, struct vertex *v)
{
	if (v->state == V_HELD || v->thread->held != NULL) {
		r->held++;
	} else if (v->state == V_FED) {
		r->later++;
	} else {
		r->done++;
		if (r->msg != NULL)
			th_flush_one(v);
	}
}

static void
say_flushed(struct request *r)
{
	if (r->done + r->later + r->held == 0) {
		if (r->patterns != NULL)
			say_how_many(r, "");
		else
			text_add(r->answer, "ok nothing waits");
		return;
	}
	text_add(r->answer, "ok %u jobs flushed", r->done);
	if (r->later > 0)
		text_add(r->answer, ", %u are with agents", r->later);
	if (r->held > 0)
		text_add(r->answer, ", %u are held", r->held);
}

static void
do_flush(struct request *r)
{
	struct thread *t;

	each_vertex(r, flush_one);
	if (r->msg == NULL && r->patterns == NULL) {
		dest_lift();	/* their mail may all be on disk */
		core_recall(1);
	}
	for (t = q.all; t != NULL && r->msg == NULL; t = t->next)
		if ((th_nready(t) + t->wait.n > 0 || t->sleep > now.mono) &&
		    t->held == NULL && matches(r, t))
			th_flush(t);
	say_flushed(r);
}

static void
count_one(struct request *r, struct vertex *v)
{
	if (v->state == V_FED)
		r->later++;
	else
		r->done++;
}

/* A hold on addresses has come or gone. */
static void
rehold_all(void)
{
	struct thread *t;
	struct hlink *l;
	unsigned i, ended = 0;

	for (t = q.all; t != NULL; t = t->next)
		ended += (unsigned)th_rehold(t);
	if (ended == 0)
		return;
	for (i = 0; i < q.messages.size; i++)
		for (l = q.messages.v[i]; l != NULL; l = l->next)
			q_rearm(OWNER(struct message, link, l));
}

static void
cannot_write(struct request *r)
{
	text_add(r->answer, "no %s/.mailq.holds cannot be written: %s",
	    opt.postoffice, strerror(errno));
}

static void
do_hold(struct request *r)
{
	int n = held_add(r->patterns != NULL, r->what);

	if (n < 0) {
		cannot_write(r);
		return;
	}
	if (r->msg != NULL)
		q_hold(r->msg, 1);
	else
		rehold_all();
	each_vertex(r, count_one);
	text_add(r->answer, "ok %s is %sheld, %u jobs", r->what,
	    n > 0 ? "already " : "", r->done);
	if (r->later > 0)
		text_add(r->answer, " and %u when their agents have reported",
		    r->later);
}

/* 0, or -1 after saying why. */
static int
release_one(struct request *r, int address, const char *what)
{
	struct message *m;
	int n = held_del(address, what);

	if (n < 0) {
		cannot_write(r);
		return -1;
	}
	m = address ? NULL : find_message(what);
	if (m != NULL)
		q_hold(m, 0);
	r->done += n == 0;
	return 0;
}

static void
do_release(struct request *r)
{
	char name[2 * WORD_MAX_];
	const char *text;
	int kind, bad = 0;

	if (r->msg != NULL || r->patterns != NULL) {
		if (release_one(r, r->patterns != NULL, r->what) < 0)
			return;
	} else {
		for (kind = 0; kind < 2; kind++)
			while (!bad && (text = held_first(kind)) != NULL) {
				text_fmt(name, sizeof(name), "%s", text);
				if (release_one(r, kind, name) < 0)
					bad = 1;
			}
	}
	rehold_all();	/* threads point to holds that are gone */
	if (r->msg == NULL)
		core_recall(0);
	if (bad)
		return;
	if (r->done > 0)
		text_add(r->answer, "ok %u holds released", r->done);
	else
		text_add(r->answer, "no there is no hold on %s", r->what);
}

static void
doom_one(struct request *r, struct vertex *v, enum doom how)
{
	int n = q_doom(v, how, r->done >= AT_ONCE);

	if (n == 0)
		r->done++;
	else if (n == 1)
		r->later++;
	else if (n == 2)
		r->soon++;
	else
		r->failed++;
}

static void
delete_one(struct request *r, struct vertex *v)
{
	doom_one(r, v, DOOM_DELETE);
}

static void
bounce_one(struct request *r, struct vertex *v)
{
	doom_one(r, v, DOOM_BOUNCE);
}

/* What is not in core of a message that was named follows as it is read. */
static void
doom_rest(struct request *r, enum doom how)
{
	if (r->msg == NULL)
		return;
	q_doom_rest(r->msg, how);
	r->soon += msg_unread(r->msg) + msg_passed(r->msg);
}

static void
do_delete(struct request *r)
{
	if (r->msg != NULL && q_over(r->msg)) {
		q_drop(r->msg, "its report is not wanted");
		text_add(r->answer, "ok its report is deleted");
		return;
	}
	each_vertex(r, delete_one);
	doom_rest(r, DOOM_DELETE);
	say_how_many(r, "jobs deleted");
}

static void
do_bounce(struct request *r)
{
	if (r->msg != NULL && q_over(r->msg)) {
		text_add(r->answer, "no all of %s is over, its report is yet "
		    "to be sent", r->what);
		return;
	}
	each_vertex(r, bounce_one);
	doom_rest(r, DOOM_BOUNCE);
	say_how_many(r, "jobs bounced");
}

static const struct {
	const char *verb;
	void	(*act)(struct request *);
	int	all;		/* "all" makes sense */
} verbs[] = {
	{ "flush", do_flush, 1 },
	{ "hold", do_hold, 0 },
	{ "release", do_release, 1 },
	{ "delete", do_delete, 0 },
	{ "bounce", do_bounce, 0 }
};

/* ---- requests -------------------------------------------------------- */

/* Finds out what is meant: 0, or -1 after saying why. */
static int
understand(struct request *r, int all)
{
	const char *name = name_in(r->what), *why;

	if (name != NULL) {
		r->what = name;
		r->msg = find_message(name);
		if (r->msg == NULL) {
			in_fetch(name);
			r->msg = find_message(name);
		}
		if (r->msg == NULL)
			text_add(r->answer, "no there is no message %s", name);
		return r->msg == NULL ? -1 : 0;
	}
	if (strcmp(r->what, "all") == 0 && all)
		return 0;
	if (strlen(r->what) >= WORD_MAX_) {	/* a line of held.c's file */
		text_add(r->answer, "no that pattern is too long");
		return -1;
	}
	why = strchr(r->what, '/') == NULL ? "is neither the name of a message "
	    "nor channel/host" : pat_check(r->what);
	if (why == NULL && (r->patterns = pat_expand(r->what)) == NULL)
		why = "makes too many alternatives";
	if (why != NULL)
		text_add(r->answer, "no %s %s", r->what, why);
	return why != NULL ? -1 : 0;
}

void
admin_do(const char *verb, const char *what, long uid, struct text *answer)
{
	struct request r;
	size_t i, n = sizeof(verbs) / sizeof(verbs[0]);

	memset(&r, 0, sizeof(r));
	r.what = what;
	r.answer = answer;
	for (i = 0; i < n && strcmp(verb, verbs[i].verb) != 0; i++)
		;
	if (i == n)
		text_add(answer, "no %s is no command", verb);
	else if (understand(&r, verbs[i].all) == 0)
		verbs[i].act(&r);
	if (r.patterns != NULL)
		pat_free(r.patterns);
	log_info("command uid=%ld verb=%s what=%s %s", uid, verb, what,
	    answer->s);
}
