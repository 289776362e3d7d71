/*
 * hold.c - the agent for mail that waits for a condition.
 *
 * A router puts an address it cannot decide about now on the channel "hold".
 * The host part says what to wait for, the user part is the address as it
 * came.  Conditions, the word before the colon in either case:
 *
 *	time:EPOCH	the time, in seconds since 1970, has come
 *	timeout:EPOCH	the same; ZMailer's word
 *	age:SPAN	the message has been here that long (90, 1h30m, 2d);
 *			it came when its message file was last written
 *	up:NAME		NAME has an address, asked with gethostbyname.  This
 *			is not a ping: what is looked for is the end of a
 *			name server's trouble.  With NO_TCP there is nobody
 *			to ask and the condition never holds.
 *
 * While it does not hold the recipient is deferred; where the moment is known
 * the scheduler is told how long that is (retryat +SECONDS).  Two conditions
 * are about clocks, and a clock that is wrong can only make us wait: a date
 * in the future gives an age of nought.  What cannot be understood is also
 * deferred and not failed: it may be a condition of a newer version, and
 * a message that expires comes back with our text.
 *
 * When it holds, the router gets the message once more: a file with the same
 * sender, this recipient, the wishes for reports, the header and the body
 * appears in router/.  It is written in public/, synced, and renamed, with
 * its inode number as name as for any other submission, and with the
 * recipient's privilege as its owner, lest root's be lent to it.  Only then
 * is the recipient reported as delivered, and nobody is told, since whoever
 * wants to hear of success will hear from the new message (ok3).  A crash
 * between the two gives a second copy, never none.
 *
 * Nothing here delivers, changes the old message, or decides how often a
 * condition is looked at: that is the retries of the clause.
 */
#include "lib.h"
#include "../lib/post.h"
#ifndef NO_TCP
#include <netdb.h>
#endif

struct verdict {
	int	code;
	const char *status;	/* NULL: fulfilled */
	char	text[400];
	long	delay;		/* seconds until it can be fulfilled, or 0 */
};

/* ---- the conditions -------------------------------------------------- */

static void
unfulfilled(struct verdict *v, const char *status, const char *what,
    const char *arg)
{
	v->code = X_TEMPFAIL;
	v->status = status;
	text_fmt(v->text, sizeof(v->text), what, arg);
}

/* Not before left more seconds. */
static void
wait_for(struct verdict *v, double left)
{
	char span[40];
	struct text t;

	if (left <= 0)
		return;
	v->delay = left < (double)LONG_MAX ? (long)left : LONG_MAX;
	text_init(&t, span, sizeof(span));
	span_add(&t, v->delay);
	unfulfilled(v, "4.4.7", "its time comes in %s", span);
}

static void
check_time(struct verdict *v, const struct lib_job *job, const char *arg)
{
	const char *end;
	double then = 0;

	(void)job;
	for (end = arg; *end >= '0' && *end <= '9'; end++)
		then = then * 10 + (*end - '0');
	if (end == arg || *end != '\0')
		unfulfilled(v, "4.3.5", "\"%s\" is no time", arg);
	else
		wait_for(v, then - difftime(time(NULL), (time_t)0));
}

static void
check_age(struct verdict *v, const struct lib_job *job, const char *arg)
{
	double age = difftime(time(NULL), job->arrived);
	long span;

	if (span_parse(arg, &span) < 0)
		unfulfilled(v, "4.3.5", "\"%s\" is no span of time", arg);
	else
		wait_for(v, (double)span - (age > 0 ? age : 0));
}

static void
check_up(struct verdict *v, const struct lib_job *job, const char *arg)
{
	(void)job;
#ifdef NO_TCP
	unfulfilled(v, "4.3.5", "there is no way to ask for %s here", arg);
#else
	if (*arg == '\0' || gethostbyname(arg) == NULL)
		unfulfilled(v, "4.4.3", "%s has no address yet", arg);
#endif
}

static const struct {
	const char *word;
	void	(*check)(struct verdict *, const struct lib_job *,
		    const char *);
} condition[] = {
	{ "time", check_time },
	{ "timeout", check_time },
	{ "age", check_age },
	{ "up", check_up }
};

static void
check(struct verdict *v, const struct lib_job *job, const char *host)
{
	const char *colon = strchr(host, ':');
	char word[20];
	size_t i;

	if (colon != NULL && text_fmt(word, sizeof(word), "%.*s",
	    (int)(colon - host), host) == 0)
		for (i = 0; i < sizeof(condition) / sizeof(*condition); i++)
			if (lib_same(word, condition[i].word)) {
				condition[i].check(v, job, colon + 1);
				return;
			}
	unfulfilled(v, "4.3.5", "\"%s\" is a condition unknown here", host);
}

/* ---- back to the router ---------------------------------------------- */

static int
put(void *file, const char *s, size_t n)
{
	return fwrite(s, 1, n, file) == n ? 0 : -1;
}

static int
write_envelope(FILE *f, const struct lib_job *job, const struct lib_rcpt *r)
{
	fputs("via suspension\n", f);
	if (r->from->address[0] == '\0')
		fputs("channel error\n", f);
	else
		fprintf(f, "from <%s>\n", r->from->address);
	if (job->envid != NULL)
		fprintf(f, "envid %s\n", job->envid);
	if (r->dsn != NULL)
		fprintf(f, "todsn %s\n", r->dsn);
	return fprintf(f, "to <%s>\nenv-end\n", r->user) < 0 ? -1 : 0;
}

/* 0, or -1 with errno and nothing left behind. */
static int
resubmit(const struct lib_job *job, const struct lib_rcpt *r)
{
	struct post p;

	if (post_open(&p, "..", "hold") < 0)
		return -1;
	errno = EIO;	/* for the unlikely: a failure that sets none */
	if ((geteuid() == 0 && r->priv != -1 &&
	    fchown(fileno(p.f), (uid_t)r->priv, (gid_t)-1) < 0) ||
	    write_envelope(p.f, job, r) < 0 ||
	    lib_message(job, r, put, p.f) < 0) {
		post_drop(&p);
		return -1;
	}
	return post_send(&p);
}

/* ---- jobs ------------------------------------------------------------ */

static void
work(struct lib_job *job)
{
	struct lib_rcpt *r;
	struct verdict v;

	for (r = job->rcpts; r != NULL && !lib_alone(); r = r->next) {
		memset(&v, 0, sizeof(v));
		check(&v, job, r->host);
		if (v.code == 0 && resubmit(job, r) < 0)
			unfulfilled(&v, "4.3.0", "its time has come, but the "
			    "router cannot be given it: %s", strerror(errno));
		lib_report(job, r, v.code, v.status, v.text, v.delay);
	}
}

int
main(int argc, char **argv)
{
	const char *channel = lib_channel("hold");
	int c;

	while ((c = getopt(argc, argv, "c:V")) != -1)
		switch (c) {
		case 'c':
			channel = optarg;
			break;
		case 'V':
			puts("hold " VERSION);
			return 0;
		default:
			fputs("usage: hold [-V] [-c channel]\n", stderr);
			return X_USAGE;
		}
	umask(022);
	return lib_run(channel, NULL, work);
}
