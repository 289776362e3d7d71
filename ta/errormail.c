/*
 * errormail.c - the agent that sends DSNs on addresses that lead nowhere.
 *
 * A router puts an address that it cannot route on the channel "error"; the
 * host is a word for the kind of trouble, the user is the address:
 *
 *	error nosuchuser joe@a.example
 *
 * The sender gets a DSN (RFC 3464) on all such recipients of a message that
 * share sender, header and kind.  It has a text, a part for programs, and the
 * message; or only its header, if the message is long or the sender asked for
 * that.  lib/dsn.c writes the frame.  Then the recipient counts as delivered,
 * without a further DSN.
 *
 * A parameter WHY= in the N line of the recipient is the router's reason, as
 * xtext, which the DSN shows, too.  The text for a kind is built in, unless
 * there is a form of that name.  The HDR, SUB and ADR lines of a form add
 * fields, the subject and more recipients.
 *
 * A message without a sender is mostly a DSN itself, and nobody can get a DSN
 * on it.  Its recipients fail, whereupon the scheduler keeps the message.  A
 * sender whose NOTIFY list lacks FAILURE gets none.
 */
#include "lib.h"
#include "../lib/origin.h"
#include "../lib/dsn.h"

#define COPY_MOST	65536L	/* bytes of a message in a DSN */
#define FIELD_MOST	900	/* bytes of a value in a line */

#ifndef MAILSHARE
#define MAILSHARE "/usr/local/share/mail"
#endif

static struct {
	const char *forms;	/* directory */
	const char *name;	/* of this machine */
} opt = { MAILSHARE "/forms", NULL };

struct kind {
	const char *word, *status;
	const char *subject;	/* also the diagnostic */
	const char *text;
};

static const struct kind kinds[] = {
	{ "nosuchuser", "5.1.1", "no such user",
	    "There is no such user here." },
	{ "nosuchhost", "5.1.2", "no such host",
	    "There is no such host, or none that takes mail." },
	{ "syntax", "5.1.3", "bad address",
	    "This is not a valid mail address." },
	{ "norecipients", "5.1.0", "no recipients",
	    "The message has no recipient." },
	{ "refused", "5.7.1", "refused",
	    "Mail to this address is not accepted here, or not from you." },
	{ "loop", "5.4.6", "mail loop",
	    "The message has passed too many machines; it seems to be in\n"
	    "a loop between them." },
	{ "toobig", "5.3.4", "message too big",
	    "The message is larger than this host accepts." },
	{ "toomany", "5.5.3", "too many recipients",
	    "The message has more recipients than this host accepts at once,\n"
	    "and none of them gets it.  Not all of them may be named here." },
	{ "", "5.0.0", "not deliverable",
	    "There is no route to this address." }
};

/* One DSN in the making. */
struct report {
	struct lib_job *job;
	struct lib_rcpt *first;		/* and all that are like it */
	const struct kind *kind;
	int	head_only;		/* no body of the message */
	int	fold;			/* its header has lines too long */
	struct dsn d;
};

/* The message on its way: as much of it as is wanted. */
struct walk {
	struct dsn_copy c;
	int	head_only;
	int	over;			/* this is all that is wanted */
};

/* ---- words ----------------------------------------------------------- */

/* A field in xtext (RFC 3461), up to a blank. */
static void
put_xtext(FILE *f, const char *field, const char *s)
{
	char value[FIELD_MOST];

	xtext_read(s, strcspn(s, " "), value, sizeof(value));
	dsn_field(f, field, value);
}

static const struct kind *
kind_of(const char *word)
{
	const struct kind *k;

	for (k = kinds; k->word[0] != '\0'; k++)
		if (lib_same(k->word, word))
			break;
	return k;
}

/* The form for a kind: NULL when there is none. */
static FILE *
open_form(const char *kind)
{
	FILE *f = form_open(opt.forms, kind);

	if (f == NULL && errno != ENOENT && errno != EINVAL)
		lib_note("form %s/%s: %s", opt.forms, kind, strerror(errno));
	return f;
}

/* ---- measuring and copying ------------------------------------------- */

static int
walk(void *arg, const char *s, size_t n)
{
	struct walk *w = arg;

	for (; n > 0; s++, n--) {
		if (w->c.size == w->c.most ||
		    (w->head_only && w->c.col == 0 && *s == '\n')) {
			w->over = 1;
			return -1;
		}
		dsn_byte(&w->c, (unsigned char)*s);
	}
	return 0;
}

/* Copies the header, and the body if it is wanted, to f unless that is NULL: 0,
 * or -1 if they cannot be read. */
static int
walk_message(struct walk *w, const struct report *r, FILE *f)
{
	memset(w, 0, sizeof(*w));
	dsn_copy(&w->c, r->d.boundary, f, COPY_MOST);
	w->head_only = r->head_only;
	w->c.fold = f != NULL && r->fold;
	if (lib_message(r->job, r->first, walk, w) == 0 || w->over)
		return 0;
	errno = EIO;
	return -1;
}

/* Finds out how much to copy, and a boundary that does not occur in it: 0, or
 * -1 if the message cannot be read. */
static int
measure(struct report *r)
{
	struct dsn_copy form;
	struct walk w;

	r->head_only = r->job->ret != NULL && lib_same(r->job->ret, "HDRS");
	for (dsn_boundary(&r->d, r->job->num); ; ) {
		dsn_copy(&form, r->d.boundary, NULL, LONG_MAX);
		if (r->d.form != NULL)
			dsn_form(&form, r->d.form);
		if (walk_message(&w, r, NULL) < 0)
			return -1;
		r->d.text_eight |= form.eight;
		r->d.eight = w.c.eight;
		r->fold = w.c.wide;
		if (!r->head_only && (w.over || w.c.awkward || w.c.wide))
			r->head_only = 1;
		else if (w.c.found || form.found)
			dsn_boundary(&r->d, r->job->num);
		else
			return 0;
	}
}

/* ---- the DSN --------------------------------------------------------- */

/* Without a NOTIFY list, reports of failures are wanted. */
static int
wants_report(const struct lib_rcpt *r)
{
	unsigned wishes = ctl_wishes(r->dsn, NULL, 0);

	return (wishes & WISH_FAILURE) || !(wishes & WISH_GIVEN);
}

/* Does it belong into the same DSN? */
static int
is_like(const struct lib_rcpt *r, const struct lib_rcpt *first)
{
	return r->unreported && wants_report(r) && r->from == first->from &&
	    r->hdr == first->hdr && lib_same(r->host, first->host);
}

/* The router's reason: 1, or 0 if it gave none. */
static int
why_of(const struct lib_rcpt *r, char *why, size_t size)
{
	const char *p = r->dsn;

	while (p != NULL && strncmp(p, "WHY=", 4) != 0)
		if ((p = strchr(p, ' ')) != NULL)
			p++;
	if (p != NULL)
		xtext_read(p + 4, strcspn(p + 4, " "), why, size);
	return p != NULL;
}

/* The date of arrival, "" if the machine had none. */
static const char *
arrival(const struct report *r)
{
	return (long)r->job->arrived < SANE_WALL ? "" :
	    dsn_date((long)r->job->arrived);
}

static void
put_people(struct report *r)
{
	const struct lib_rcpt *p;
	FILE *f = r->d.post.f;
	char why[FIELD_MOST];

	if (!dsn_people(&r->d))
		fputs("\nYour message could not be delivered to this "
		    "address:\n", f);
	putc('\n', f);
	for (p = r->first; p != NULL; p = p->next)
		if (is_like(p, r->first)) {
			dsn_text(f, p->user, "    ");
			if (why_of(p, why, sizeof(why)))
				dsn_text(f, why, "        ");
		}
	if (r->d.form != NULL)
		return;
	fprintf(f, "\n%s\n", r->kind->text);
	if (r->kind->word[0] == '\0') {
		fputs("The kind of error is:", f);
		dsn_text(f, r->first->host, " ");
	}
	putc('\n', f);
	if (*arrival(r) != '\0')
		fprintf(f, "It arrived here on %s.\n", arrival(r));
	fprintf(f, "%s follows, after a part for programs.\n"
	    "There will be no further attempt.\n",
	    r->head_only ? "Its header" : "The message");
}

static void
put_recipient(struct report *r, const struct lib_rcpt *p)
{
	char orcpt[600], text[FIELD_MOST], why[FIELD_MOST - 50];
	FILE *f = r->d.post.f;

	ctl_wishes(p->dsn, orcpt, sizeof(orcpt));
	putc('\n', f);
	if (dsn_typed(orcpt))
		put_xtext(f, "Original-Recipient", orcpt);
	dsn_address(f, "Final-Recipient", p->user);
	fprintf(f, "Action: failed\nStatus: %s\n", r->kind->status);
	text_fmt(text, sizeof(text), "x-local; %s", r->kind->word[0] != '\0' ?
	    r->kind->subject : p->host);
	if (why_of(p, why, sizeof(why)))
		text_fmt(text, sizeof(text), "x-local; %s: %s",
		    r->kind->subject, why);
	dsn_field(f, "Diagnostic-Code", text);
}

static void
put_programs(struct report *r)
{
	const struct lib_rcpt *p;
	FILE *f = r->d.post.f;

	dsn_part(&r->d, "message/delivery-status", 0);
	if (r->job->envid != NULL)
		put_xtext(f, "Original-Envelope-Id", r->job->envid);
	fprintf(f, "Reporting-MTA: dns; %s\n", r->d.name);
	if (*arrival(r) != '\0')
		fprintf(f, "Arrival-Date: %s\n", arrival(r));
	for (p = r->first; p != NULL; p = p->next)
		if (is_like(p, r->first))
			put_recipient(r, p);
}

/* The message, or its header: 0, or -1 when it cannot be read. */
static int
put_message(struct report *r)
{
	struct walk w;

	dsn_part(&r->d, r->head_only ? "text/rfc822-headers" :
	    "message/rfc822", r->d.eight);
	if (walk_message(&w, r, r->d.post.f) < 0)
		return -1;
	if (w.c.col > 0)
		putc('\n', r->d.post.f);
	dsn_end(&r->d);
	return 0;
}

/* Makes it and posts it: 0, or -1 with errno and nothing left. */
static int
send_report(struct report *r)
{
	const char *sender = r->first->from->dsn_to;
	const struct lib_rcpt *p;
	char subject[100];

	if (post_open(&r->d.post, "..", "error") < 0)
		return -1;
	for (p = r->first; p != NULL; p = p->next)
		r->d.text_eight |= is_like(p, r->first) &&
		    dsn_has_utf8(p->user);
	r->d.text_eight |= dsn_has_utf8(r->first->host);
	if (measure(r) < 0) {
		post_drop(&r->d.post);
		return -1;
	}
	dsn_envelope(&r->d, sender);
	text_fmt(subject, sizeof(subject), "Returned mail: %s",
	    r->kind->subject);
	dsn_header(&r->d, sender, subject, "", "");
	put_people(r);
	put_programs(r);
	if (put_message(r) < 0) {
		post_drop(&r->d.post);
		return -1;
	}
	return post_send(&r->d.post);
}

/* ---- jobs ------------------------------------------------------------ */

static void
send_and_report(struct lib_job *job, struct lib_rcpt *first,
    const struct kind *kind)
{
	static struct report r;		/* large, and one at a time */
	const char *status;
	struct lib_rcpt *p;
	char text[1000];
	int sent;

	memset(&r, 0, sizeof(r));
	r.job = job;
	r.first = first;
	r.kind = kind;
	clock_read();
	r.d.name = opt.name;
	r.d.form = open_form(first->host);
	sent = send_report(&r) == 0;
	status = errno == ENOSPC ? "4.3.1" : "4.3.0";
	if (sent)
		text_fmt(text, sizeof(text), "DSN to %s in router/%lu",
		    first->from->dsn_to, r.d.post.num);
	else
		text_fmt(text, sizeof(text), "the DSN to the sender "
		    "cannot be written: %s", strerror(errno));
	if (r.d.form != NULL)
		fclose(r.d.form);
	for (p = first; p != NULL; p = p->next)
		if (is_like(p, first))
			lib_report(job, p, sent ? 0 : X_TEMPFAIL,
			    sent ? NULL : status, text, 0);
}

static void
work(struct lib_job *job)
{
	const struct kind *kind;
	struct lib_rcpt *r;
	char text[300];

	for (r = job->rcpts; r != NULL && !lib_alone(); r = r->next) {
		if (!r->unreported)
			continue;
		kind = kind_of(r->host);
		text_fmt(text, sizeof(text), "%s; there is no sender who "
		    "could get a DSN", kind->subject);
		if (!wants_report(r))
			lib_report(job, r, 0, NULL, "NOTIFY wants no DSN", 0);
		else if (!can_get_dsn(r->from->dsn_to))
			lib_report(job, r, X_UNAVAILABLE, kind->status, text,
			    0);
		else
			send_and_report(job, r, kind);
	}
}

/* ---- options --------------------------------------------------------- */

static int
usage(void)
{
	fputs("usage: errormail [-NV] [-c channel] [-d forms] [-h host] "
	    "[-n name]\n", stderr);
	return X_USAGE;
}

/* For -N: can the forms be read?  The usual directory may be missing, a named
 * one may not.  0, or an exit code. */
static int
check(int named)
{
	const struct kind *k;
	FILE *f;
	int bad = 0;

	if (named && access(opt.forms, X_OK) < 0) {
		fprintf(stderr, "errormail: forms %s: %s\n", opt.forms,
		    strerror(errno));
		return X_CONFIG;
	}

	for (k = kinds; k->word[0] != '\0'; k++) {
		f = form_open(opt.forms, k->word);
		if (f != NULL)
			fclose(f);
		else if (errno != ENOENT) {
			fprintf(stderr, "errormail: form %s/%s: %s\n",
			    opt.forms, k->word, strerror(errno));
			bad = X_CONFIG;
		}
	}
	return bad;
}

int
main(int argc, char **argv)
{
	const char *channel = lib_channel("error"), *host = NULL;
	int c, only = 0, named = 0;

	while ((c = getopt(argc, argv, "c:d:h:n:NV")) != -1)
		switch (c) {
		case 'c': channel = optarg; break;
		case 'd': opt.forms = optarg; named = 1; break;
		case 'h': host = optarg; break;
		case 'n': opt.name = optarg; break;
		case 'N': only = 1; break;
		case 'V':
			puts("errormail " VERSION);
			return 0;
		default:
			return usage();
		}
	if (optind < argc || opt.forms[0] != '/')
		return usage();
	opt.name = dsn_name(opt.name);
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid());
	umask(022);
	if (only)
		return check(named);
	return dsn_confine(opt.forms, "") < 0 ? X_OSERR :
	    lib_run(channel, host, work);
}
