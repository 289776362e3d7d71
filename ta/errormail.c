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
 * that.  dsntext.c writes the DSN.  Then the recipient counts as delivered,
 * without a further DSN.
 *
 * A parameter WHY= in the N line of the recipient is the router's reason, as
 * xtext, which the DSN shows, too.  The text for a kind is built in, unless
 * there is a form of that name.  The HDR, SUB and ADR lines of a form add
 * fields, the subject and more recipients.
 *
 * A message without a sender is usually a DSN itself, and nobody can get a DSN
 * on it.  Its recipients fail, whereupon the scheduler keeps the message.  A
 * sender whose NOTIFY list lacks FAILURE gets no DSN.
 */
#include "lib.h"
#include "dsntext.h"
#include "../lib/form.h"

#define REASON_SIZE	900	/* bytes of the router's reason, with NUL */

struct kind {
	const char *word, *status;
	const char *subject;	/* words of the subject and the diagnostic */
	const char *text;	/* text for people */
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
	    "and none of them gets it.  Perhaps not all are named here." },
	{ "", "5.0.0", "not deliverable",
	    "There is no route to this address." }
};

static struct dsn dsn;	/* the DSN that is written */

/* Returns the kind with this word, or the last kind of the table. */
static const struct kind *
kind_of(const char *word)
{
	const struct kind *k;

	for (k = kinds; k->word[0] != '\0'; k++)
		if (lib_is_same(k->word, word))
			break;
	return k;
}

/* Returns 1 if NOTIFY is missing or has FAILURE. */
static int
wants_dsn(const struct lib_rcpt *r)
{
	unsigned wishes = ctl_parse_notify(r->dsn, NULL, 0);

	return (wishes & NOTIFY_FAILURE) || !(wishes & NOTIFY_GIVEN);
}

/* Returns 1 if the recipient belongs into the DSN on the first one. */
static int
shares_dsn(const struct lib_rcpt *r, const struct lib_rcpt *first)
{
	return r->unreported && wants_dsn(r) && r->from == first->from &&
	    r->hdr == first->hdr && lib_is_same(r->host, first->host);
}

/* Sets the text and the fields of a recipient: the router's reason, if there is
 * one, and the kind of error.  If there is a form, which tells of the kind, the
 * text is the reason alone. */
static void
describe_item(struct dsn *r, const struct item *it)
{
	/* the texts are static, as the DSN points to them */
	static char text[REASON_SIZE + WORD_MAX_ + 200];
	static char diagnostic[REASON_SIZE + WORD_MAX_];
	static char none[] = "", status[8];
	char why[REASON_SIZE] = "";
	const struct kind *kind = kind_of(it->rcpt->host);
	const char *p = it->rcpt->dsn;
	int known = kind->word[0] != '\0';
	struct text t;

	while (p != NULL && strncmp(p, "WHY=", 4) != 0)
		if ((p = strchr(p, ' ')) != NULL)
			p++;
	if (p != NULL)
		xtext_read(p + 4, strcspn(p + 4, " "), why, sizeof(why));
	text_init(&t, text, sizeof(text));
	text_add(&t, "%s", why);
	if (!r->has_form)
		text_add(&t, "\n%s", kind->text);
	if (!r->has_form && !known)
		text_add(&t, "\nThe kind of error is: %s", it->rcpt->host);
	if (p != NULL)
		text_fmt(diagnostic, sizeof(diagnostic), "%s: %s",
		    kind->subject, why);
	else
		text_fmt(diagnostic, sizeof(diagnostic), "%s",
		    known ? kind->subject : it->rcpt->host);
	strcpy(status, kind->status);
	r->text = text;
	r->diags.field[DIAG_STATUS] = status;
	r->diags.field[DIAG_TEXT] = diagnostic;
	r->diags.field[DIAG_REMOTE] = none;
}

/* Sends the DSN on all recipients that share the DSN with the first one: 0, or
 * -1 with errno and no file left. */
static int
send_dsn(const struct lib_job *job, const struct lib_rcpt *first,
    struct post *post)
{
	const char *file = job->name;
	const struct lib_rcpt *r;
	struct item *it;
	char subject[100];

	clock_read();
	text_fmt(subject, sizeof(subject), "Returned mail: %s",
	    kind_of(first->host)->subject);
	dsn.files = &file;
	dsn.nfiles = 1;
	dsn.n = 0;
	dsn.ctl = job->ctl;
	dsn.hdr = first->hdr;
	dsn.form = first->host;
	dsn.subject = subject;
	strcpy(dsn.sender, first->from->dsn_to);
	for (r = first; r != NULL; r = r->next) {
		if (!shares_dsn(r, first))
			continue;
		if ((it = dsn_add_item(&dsn)) == NULL)
			return -1;
		it->action = ACTION_FAILED;
		it->off = r->off;
		it->rcpt = r;
	}
	return dsn_write(&dsn, post) < 0 ? -1 : post_send_or_remove(post);
}

/* Sends the DSN and reports the verdict of its recipients. */
static void
serve_rcpts(struct lib_job *job, struct lib_rcpt *first)
{
	struct lib_rcpt *r;
	struct post post;
	const char *status = NULL;
	char text[1000];
	int code = 0;

	if (send_dsn(job, first, &post) < 0) {
		code = X_TEMPFAIL;
		status = errno == ENOSPC ? "4.3.1" : "4.3.0";
		text_fmt(text, sizeof(text), "the DSN to the sender "
		    "cannot be written: %s", strerror(errno));
	} else {
		text_fmt(text, sizeof(text), "DSN to %s in router/%lu",
		    first->from->dsn_to, post.num);
	}
	for (r = first; r != NULL; r = r->next)
		if (shares_dsn(r, first))
			lib_report(job, r, code, status, text, 0);
}

static void
work(struct lib_job *job)
{
	const struct kind *kind;
	struct lib_rcpt *r;
	char text[300];

	for (r = job->rcpts; r != NULL && lib_has_scheduler(); r = r->next) {
		if (!r->unreported)
			continue;
		kind = kind_of(r->host);
		text_fmt(text, sizeof(text), "%s; there is no sender who "
		    "could get a DSN", kind->subject);
		if (!wants_dsn(r))
			lib_report(job, r, 0, NULL, "NOTIFY wants no DSN", 0);
		else if (!can_get_dsn(r->from->dsn_to))
			lib_report(job, r, X_UNAVAILABLE, kind->status, text,
			    0);
		else
			serve_rcpts(job, r);
	}
}

/* ---- options --------------------------------------------------------- */

/* For -N: checks that the forms can be read, and if -d was given (named) that
 * their directory is there.  Returns the exit code. */
static int
check_forms(int named)
{
	const struct kind *k;
	FILE *f;
	int code = 0;

	if (named && access(dsn.forms, X_OK) < 0) {
		fprintf(stderr, "errormail: forms %s: %s\n", dsn.forms,
		    strerror(errno));
		return X_CONFIG;
	}
	for (k = kinds; k->word[0] != '\0'; k++) {
		f = form_open(dsn.forms, k->word);
		if (f != NULL)
			fclose(f);
		else if (errno != ENOENT) {
			fprintf(stderr, "errormail: form %s/%s: %s\n",
			    dsn.forms, k->word, strerror(errno));
			code = X_CONFIG;
		}
	}
	return code;
}

int
main(int argc, char **argv)
{
	static struct lib_command command = { "errormail", VERSION,
		"[-NV] [-c channel] [-d forms] [-h host] [-n name]",
		"c:d:h:n:NV", NULL, NULL, 0 };
	const char *name = NULL;
	int c, named = 0;

	command.channel = env_get("CHANNEL", "error");
	dsn.forms = lib_share_path("forms");
	dsn.most = 65536L;
	dsn.describe = describe_item;
	while ((c = lib_next_option(argc, argv, &command)) != -1)
		switch (c) {
		case 'd': dsn.forms = optarg; named = 1; break;
		case 'n': name = optarg; break;
		default: lib_usage();
		}
	if (optind < argc || dsn.forms[0] != '/')
		lib_usage();
	if (command.check_only)
		return check_forms(named);
	return dsn_confine_agent(&dsn, name, "") < 0 ? X_OSERR :
	    lib_run(command.channel, command.host, work);
}
