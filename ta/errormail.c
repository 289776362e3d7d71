/*
 * errormail.c - the agent that tells senders of addresses that lead nowhere.
 *
 * A router puts what it can do nothing with on the channel "error": the host
 * is a word for the kind of trouble, the user the address.  The sender gets a
 * report as of RFC 3464 about all such recipients of one message that have
 * sender, header and kind in common: a text, a part for programs, and the
 * message, or its header when it is long or the sender wanted no more.  The
 * report is given to the router like any other mail (post.c), as an error
 * message, which nobody is ever told the fate of.  After that the recipient
 * is done with, without anybody else being told.
 *
 * The text for a kind is ours, unless there is a form of that name; its HDR,
 * SUB and ADR lines give header lines, the subject, and more recipients.
 *
 * A message without a sender is a report itself, or as good as one; there is
 * nobody to tell.  It fails for good, whereupon the scheduler keeps it.  Who
 * asked for no report of failures gets none.
 *
 * All that comes from the message is written where it can only be text: in
 * lines that begin with words of ours, printable and of bounded length, or in
 * the last part, behind a boundary that does not occur in it.
 */
#include "lib.h"
#include "../lib/ctlfile.h"
#include "../lib/form.h"
#include "../lib/post.h"
#include <sys/utsname.h>

#define COPY_MOST	65536UL	/* bytes of a message or form in a report */
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
	const char *subject;	/* is the diagnostic, too */
	const char *text;
};

static const struct kind kinds[] = {
	{ "nosuchuser", "5.1.1", "no such user",
	    "There is no such user here." },
	{ "nosuchhost", "5.1.2", "no such host",
	    "There is no such host, or none that takes mail." },
	{ "syntax", "5.1.3", "bad address",
	    "This is not written as a mail address must be." },
	{ "norecipients", "5.1.0", "no recipients",
	    "The message names nobody to whom it could be sent." },
	{ "refused", "5.7.1", "refused",
	    "Mail to this address is not accepted from you, or here." },
	{ "loop", "5.4.6", "mail loop",
	    "The message has passed too many machines; it seems to run in\n"
	    "circles between them." },
	{ "toobig", "5.3.4", "message too big",
	    "The message is larger than what is accepted for this address." },
	{ "", "5.0.0", "not deliverable",
	    "No way is known to deliver mail to this address." }
};

/* One report in the making. */
struct report {
	struct lib_job *job;
	struct lib_rcpt *first;		/* and all that are like it */
	const struct kind *kind;
	FILE	*form;			/* or NULL */
	int	head_only;		/* no body of the message */
	int	eight, text_eight;	/* there are bytes above 127 */
	char	boundary[60];
	struct post post;
};

/* Text on its way, looked at and perhaps written. */
struct walk {
	FILE	*f;		/* where it goes, NULL: nowhere */
	const char *word;	/* what must not occur; its first byte occurs
				 * once in it */
	int	at;		/* bytes of it seen */
	int	found, eight;	/* it occurs; there are bytes above 127 */
	int	head_only, bol;
	int	over;		/* this is all that is wanted */
	unsigned long size;
};

/* ---- words ----------------------------------------------------------- */

static const char *
date_of(time_t t)
{
	static char date[40];

	if (strftime(date, sizeof(date), "%a, %d %b %Y %H:%M:%S +0000",
	    gmtime(&t)) == 0)
		date[0] = '\0';
	return date;
}

/* Printable, and not too much for a line. */
static void
put_clean(FILE *f, const char *s)
{
	int n = 0;

	for (; *s != '\0' && n < FIELD_MOST; s++, n++)
		putc(*s >= ' ' && *s < 127 ? *s : '?', f);
}

static void
put_xtext(FILE *f, const char *s)
{
	char plain[FIELD_MOST + 1];

	nt_xtext(s, strcspn(s, " "), plain, sizeof(plain));
	put_clean(f, plain);
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

/* ---- looking and copying --------------------------------------------- */

static void
walk_start(struct walk *w, const struct report *r, FILE *f)
{
	memset(w, 0, sizeof(*w));
	w->f = f;
	w->word = r->boundary;
	w->bol = 1;
}

static int
walk(void *arg, const char *s, size_t n)
{
	struct walk *w = arg;

	for (; n > 0; s++, n--) {
		if (w->size == COPY_MOST ||
		    (w->head_only && w->bol && *s == '\n')) {
			w->over = 1;
			return -1;
		}
		w->size++;
		w->bol = *s == '\n';
		w->eight |= (unsigned char)*s > 127;
		w->at = *s == w->word[w->at] ? w->at + 1 : *s == *w->word;
		if (w->word[w->at] == '\0') {
			w->found = 1;
			w->at = 0;
		}
		if (w->f != NULL)
			putc(*s, w->f);
	}
	return 0;
}

/* Header and perhaps body: 0, or -1 when they cannot be read. */
static int
walk_message(struct walk *w, const struct report *r)
{
	w->head_only = r->head_only;
	if (lib_message(r->job, r->first, walk, w) == 0 || w->over)
		return 0;
	errno = EIO;
	return -1;
}

/* All of the text of the form, line by line. */
static void
walk_form(struct walk *w, FILE *form)
{
	char line[FORM_LINE];

	rewind(form);
	while (form_next(form, line))
		;
	while (walk(w, line, strlen(line)) == 0 &&
	    fgets(line, (int)sizeof(line), form) != NULL)
		;
	if (!w->bol && w->f != NULL)
		putc('\n', w->f);
}

/* Finds out how much is to be copied, and a boundary that does not occur in
 * it: 0, or -1 when the message cannot be read. */
static int
look(struct report *r)
{
	struct walk w, form;

	r->head_only = r->job->ret != NULL && lib_same(r->job->ret, "HDRS");
	for (;;) {
		text_fmt(r->boundary, sizeof(r->boundary), "=_%lu.%lu.%lu",
		    (unsigned long)time(NULL), r->post.num, rnd(1000000000UL));
		walk_start(&form, r, NULL);
		if (r->form != NULL)
			walk_form(&form, r->form);
		walk_start(&w, r, NULL);
		if (walk_message(&w, r) < 0)
			return -1;
		r->text_eight = form.eight;
		r->eight = w.eight;
		if (w.over && !r->head_only)
			r->head_only = 1;
		else if (!w.found && !form.found)
			return 0;
	}
}

/* ---- the report ------------------------------------------------------ */

/* Without a NOTIFY list, reports of failures are wanted. */
static int
wants_report(const struct lib_rcpt *r)
{
	unsigned wishes = ctl_wishes(r->dsn, NULL, 0);

	return (wishes & WISH_FAILURE) || !(wishes & WISH_GIVEN);
}

/* Does it belong into the same report? */
static int
is_like(const struct lib_rcpt *r, const struct lib_rcpt *first)
{
	return r->unreported && wants_report(r) && r->from == first->from &&
	    r->hdr == first->hdr && lib_same(r->host, first->host);
}

/* "ADR Bcc: <nobody> (why)" names one more recipient. */
static void
put_adr(FILE *f, const char *adr)
{
	size_t n;

	adr = form_address(adr, &n);
	if (adr != NULL)
		fprintf(f, "to <%.*s>\n", (int)n, adr);
}

static void
put_envelope(struct report *r)
{
	FILE *f = r->post.f;
	char line[FORM_LINE], *adr;

	fprintf(f, "channel error\nerrormsg\nto <%s>\n",
	    r->first->from->tell);
	if (r->form != NULL) {
		rewind(r->form);
		while (form_next(r->form, line))
			if ((adr = form_value(line, "ADR")) != NULL)
				put_adr(f, adr);
	}
	fputs("env-end\n", f);
}

/* The header lines of the form; tells which of ours they replace. */
static void
put_form_head(struct report *r, int *from, int *subject)
{
	FILE *f = r->post.f;
	char line[FORM_LINE], *p;

	rewind(r->form);
	while (form_next(r->form, line)) {
		if ((p = form_value(line, "SUB")) != NULL) {
			fprintf(f, "Subject: %s\n", p);
			*subject = 1;
			continue;
		}
		p = line + 4;
		if (!form_is_field(p))
			continue;	/* and no end of the header */
		fprintf(f, "%s\n", p);
		p[5] = '\0';
		*from |= lib_same(p, "From:");
	}
}

static void
put_header(struct report *r)
{
	int from = 0, subject = 0;
	FILE *f = r->post.f;

	if (r->form != NULL)
		put_form_head(r, &from, &subject);
	if (!from)
		fprintf(f, "From: Mail Delivery <postmaster@%s>\n", opt.name);
	fprintf(f, "To:\n <%s>\n", r->first->from->tell);
	if (!subject)
		fprintf(f, "Subject: Returned mail: %s\n", r->kind->subject);
	fprintf(f, "Date: %s\n", date_of(time(NULL)));
	fprintf(f, "Message-ID: <%s@%s>\n", r->boundary + 2, opt.name);
	fputs("Auto-Submitted: auto-replied\nMIME-Version: 1.0\n", f);
	fprintf(f, "Content-Type: multipart/report; "
	    "report-type=delivery-status;\n\tboundary=\"%s\"\n", r->boundary);
	if (r->eight || r->text_eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
}

/* Begins a part. */
static void
put_part(struct report *r, const char *type, int eight)
{
	FILE *f = r->post.f;

	fprintf(f, "\n--%s\nContent-Type: %s\n", r->boundary, type);
	if (eight)
		fputs("Content-Transfer-Encoding: 8bit\n", f);
	putc('\n', f);
}

static void
put_people(struct report *r)
{
	const struct lib_rcpt *p;
	FILE *f = r->post.f;
	struct walk w;

	put_part(r, r->text_eight ? "text/plain; charset=utf-8" :
	    "text/plain", r->text_eight);
	if (r->form != NULL) {
		walk_start(&w, r, f);
		walk_form(&w, r->form);
	} else {
		fprintf(f, "This is the mail system of %s.\n\n", opt.name);
		fputs("Your message could not be delivered to this address:\n",
		    f);
	}
	putc('\n', f);
	for (p = r->first; p != NULL; p = p->next)
		if (is_like(p, r->first)) {
			fputs("    ", f);
			put_clean(f, p->user);
			putc('\n', f);
		}
	if (r->form != NULL)
		return;
	fprintf(f, "\n%s\n", r->kind->text);
	if (r->kind->word[0] == '\0') {
		fputs("What was found to be wrong is called: ", f);
		put_clean(f, r->first->host);
		putc('\n', f);
	}
	fprintf(f, "\nIt came here on %s.  %s follows\n"
	    "below, after a part for programs.  Nothing will be tried "
	    "again.\n", date_of(r->job->arrived), r->head_only ?
	    "Its header" : "The message");
}

static void
put_recipient(struct report *r, const struct lib_rcpt *p)
{
	char orcpt[600];
	FILE *f = r->post.f;

	ctl_wishes(p->dsn, orcpt, sizeof(orcpt));
	putc('\n', f);
	if (strchr(orcpt, ';') != NULL) {
		fputs("Original-Recipient: ", f);
		put_xtext(f, orcpt);
		putc('\n', f);
	}
	fprintf(f, "Final-Recipient: %s; ",
	    strchr(p->user, '@') != NULL ? "rfc822" : "x-local");
	put_clean(f, p->user);
	fprintf(f, "\nAction: failed\nStatus: %s\nDiagnostic-Code: x-local; ",
	    r->kind->status);
	put_clean(f, r->kind->word[0] != '\0' ? r->kind->subject : p->host);
	putc('\n', f);
}

static void
put_programs(struct report *r)
{
	const struct lib_rcpt *p;
	FILE *f = r->post.f;

	put_part(r, "message/delivery-status", 0);
	if (r->job->envid != NULL) {
		fputs("Original-Envelope-Id: ", f);
		put_xtext(f, r->job->envid);
		putc('\n', f);
	}
	fprintf(f, "Reporting-MTA: dns; %s\n", opt.name);
	fprintf(f, "Arrival-Date: %s\n", date_of(r->job->arrived));
	for (p = r->first; p != NULL; p = p->next)
		if (is_like(p, r->first))
			put_recipient(r, p);
}

/* The message, or its header: 0, or -1 when it cannot be read. */
static int
put_message(struct report *r)
{
	struct walk w;

	put_part(r, r->head_only ? "text/rfc822-headers" : "message/rfc822",
	    r->eight);
	walk_start(&w, r, r->post.f);
	if (walk_message(&w, r) < 0)
		return -1;
	if (!w.bol)
		putc('\n', r->post.f);
	fprintf(r->post.f, "\n--%s--\n", r->boundary);
	return 0;
}

/* Makes the report and posts it: 0, or -1 with errno and nothing left. */
static int
send_report(struct report *r)
{
	if (post_open(&r->post, "..", "error") < 0)
		return -1;
	if (look(r) < 0) {
		post_drop(&r->post);
		return -1;
	}
	put_envelope(r);
	put_header(r);
	put_people(r);
	put_programs(r);
	if (put_message(r) < 0) {
		post_drop(&r->post);
		return -1;
	}
	return post_send(&r->post);
}

/* ---- jobs ------------------------------------------------------------ */

static void
tell_and_report(struct lib_job *job, struct lib_rcpt *first,
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
	r.form = open_form(first->host);
	sent = send_report(&r) == 0;
	status = errno == ENOSPC ? "4.3.1" : "4.3.0";
	if (sent)
		text_fmt(text, sizeof(text), "told %s in router/%lu",
		    first->from->tell, r.post.num);
	else
		text_fmt(text, sizeof(text), "the report to the sender "
		    "cannot be made: %s", strerror(errno));
	if (r.form != NULL)
		fclose(r.form);
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
		    "could be told", kind->subject);
		if (!wants_report(r))
			lib_report(job, r, 0, NULL, "nobody wants to know", 0);
		else if (!ctl_tellable(r->from->tell))
			lib_report(job, r, X_UNAVAILABLE, kind->status, text,
			    0);
		else
			tell_and_report(job, r, kind);
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

int
main(int argc, char **argv)
{
	const char *channel = lib_channel("error"), *host = NULL;
	static struct utsname uts;
	int c, only = 0;

	while ((c = getopt(argc, argv, "c:d:h:n:NV")) != -1)
		switch (c) {
		case 'c': channel = optarg; break;
		case 'd': opt.forms = optarg; break;
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
	if (opt.name == NULL)
		opt.name = uname(&uts) < 0 ? "localhost" : uts.nodename;
	rnd_seed((unsigned long)time(NULL) ^ (unsigned long)getpid());
	umask(022);
	return only ? 0 : lib_run(channel, host, work);
}
