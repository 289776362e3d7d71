/*
 * unrouted.c - lists and releases mail in deferred/, which could not be routed,
 * and releases mail in freezer/.
 *
 *	1 message waits in deferred, 5m old
 *	deferred/105761, tried 3 times, next 14:05 (in 2m): cannot be read
 *
 * The scheduler does not know these messages.  They and their reasons are in
 * the directory, for users who may read it; see lib/deferred.c for its files.
 *
 *	mailq release 105761
 *	mailq release 'deferred/10*'
 *	mailq release all
 *
 * A release needs no scheduler: it removes the file with the reason, and the
 * next run of submit -q tries the message.  A word that matches none of these
 * messages goes to the scheduler, and so does "all".
 */
#include "mq.h"
#include "../lib/deferred.h"
#include "../lib/pattern.h"
#include "../lib/scan.h"

/* ---- looking ---------------------------------------------------------- */

/* Sets u to a message of deferred/: 0, or -1 without memory. */
static int
set_unrouted(struct mq_unrouted *u, struct mq_queue *q, const char *po,
    const struct scanned *f)
{
	struct deferred d;

	u->num = mq_intern(q, f->name);
	u->age = file_age(f->mtime);
	u->reason = "";
	if (deferred_read_why(po, f->name, &d) == 0) {
		u->reason = mq_intern(q, d.reason);
		u->tries = (int)(d.tries > 9999 ? 9999 : d.tries);
		u->next = (int)d.wait;
	}
	return u->num == NULL || u->reason == NULL ? -1 : 0;
}

int
mq_read_unrouted(struct mq_queue *q, const char *po)
{
	struct scan s;
	unsigned i;
	int bad;

	if (scan_read(&s, po, DEFERRED, deferred_is_name) < 0 &&
	    errno != ENOENT)
		return 0;
	q->unrouted = mem_get(s.n * sizeof(*q->unrouted));
	bad = q->unrouted == NULL;
	q->nunrouted = 0;
	for (i = 0; i < s.n && !bad; i++)
		if (s.v[i].is_regular)
			bad = set_unrouted(&q->unrouted[q->nunrouted++], q, po,
			    &s.v[i]) < 0;
	scan_free(&s);
	return bad ? -1 : 0;
}

void
mq_put_deferred(const char *po, const char *num)
{
	struct deferred d;

	mq_print("\tcould not be routed yet");
	if (deferred_read_why(po, num, &d) == 0)
		mq_print(", tried %s, %s%s", mq_plural((double)d.tries, "time"),
		    mq_next_try((int)d.wait), mq_reason_suffix(d.reason));
	mq_print("\n\t\"mailq release deferred/%s\" tries it now\n", num);
}

/* ---- release ---------------------------------------------------------- */

/* Returns 1 if the word or one of its patterns matches the message. */
static int
word_matches(const char *word, char **patterns, const char *num)
{
	char name[100];

	if (strcmp(word, "all") == 0 || (mq_router_num(word) != NULL &&
	    strcmp(mq_router_num(word), num) == 0))
		return 1;
	return patterns != NULL &&
	    text_fmt(name, sizeof(name), DEFERRED "/%s", num) == 0 &&
	    pat_matches_address(patterns, name);
}

/* Complains by errno that the message is not released.  Returns an exit code.
 */
static int
fail_release(const char *dir, const char *name)
{
	int rc = errno == EACCES || errno == EPERM ? X_NOPERM : X_UNAVAILABLE;

	mq_complain("%s/%s is not released: %s", dir, name, strerror(errno));
	return rc;
}

/* Releases a message, or in a dry run only names it: 0, or an exit code. */
static int
release_deferred(const char *po, const char *num, int dry)
{
	if (!dry && deferred_remove_why(po, num) < 0 && errno != ENOENT)
		return fail_release(DEFERRED, num);
	printf(DEFERRED "/%s: %s\n", num, dry ? "would be released" :
	    "released, the next run of submit -q tries it");
	return 0;
}

/* Moves freezer/NUM.REASON to router/NUM, or in a dry run only names it: 0, or
 * an exit code. */
static int
release_frozen(const char *po, const char *name, int dry)
{
	int rc, n = (int)strspn(name, "0123456789");
	const char *from = path_in(po, "freezer/%s", name);
	const char *to = path_in(po, "router/%.*s", n, name);
	struct stat st;

	errno = EINVAL;		/* for a file that is not regular */
	/* link, unlike rename, replaces no message in router/ */
	if (lstat(from, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (!dry && link(from, to) < 0))
		return fail_release("freezer", name);
	if (!dry && unlink(from) < 0) {
		rc = fail_release("freezer", name);
		unlink(to);	/* or each release would send the mail again */
		return rc;
	}
	printf("freezer/%s: %s router/%.*s\n", name, dry ?
	    "would be moved to" : "moved to", n, name);
	return 0;
}

int
mq_release_words(struct mq_order *o, const char *po)
{
	struct mq_queue q;
	unsigned i, left = 0, found;
	int k, bad, rc = 0;
	char **patterns;

	if (mq_init(&q) < 0 || mq_read_unrouted(&q, po) < 0)
		return mq_fail_memory();
	for (i = 0; i < o->n; i++) {
		if (mq_frozen_name(o->what[i]) != NULL) {
			bad = release_frozen(po, mq_frozen_name(o->what[i]),
			    o->dry);
			rc = bad != 0 ? bad : rc;
			continue;
		}
		patterns = NULL;
		if (strchr(o->what[i], '/') != NULL)
			pat_expand(o->what[i], &patterns);
		found = 0;
		for (k = 0; k < q.nunrouted; k++) {
			if (!word_matches(o->what[i], patterns,
			    q.unrouted[k].num))
				continue;
			found++;
			bad = release_deferred(po, q.unrouted[k].num, o->dry);
			if (bad != 0)
				rc = bad;
		}
		pat_free(patterns);
		if (found == 0 || strcmp(o->what[i], "all") == 0)
			o->what[left++] = o->what[i];
	}
	o->n = left;
	mq_free(&q);
	return rc;
}
