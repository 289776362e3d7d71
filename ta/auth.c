/*
 * auth.c - passwords for smart hosts, and AUTH (RFC 4954).
 *
 * Passwords are lines of a file; a line that begins with # is a comment:
 *
 *	mail.isp.example  anna@isp.example  some secret  verified
 *
 *	anna@club.example  anna.berg  other secret  verified
 *
 *	first word	the host as in -R, with or without the port; or the
 *			sender of a message, whose line is used instead of that
 *			of the host
 *	second word	the user
 *	further words	the password, which may contain blanks
 *	last word	"verified": the password may go through a program that
 *			verifies the server's certificate; or "clear": it may
 *			go over a connection that others can read
 *
 * Without the last word the password is not sent, and the mail waits.  A
 * message for which there is no line waits, too.
 *
 * Only hosts of -R get passwords, since other names come from mail and from
 * name servers.  The file is opened before the talker becomes another user, and
 * the talker keeps only the lines for those hosts and for senders.
 *
 *	C: AUTH PLAIN base64(NUL user NUL password)		S: 235
 *	C: AUTH LOGIN						S: 334
 *	C: base64(user)						S: 334
 *	C: base64(password)					S: 235
 *
 * The transcript hides these lines, and each reply that repeats a secret.  When
 * a server refuses a password, or does not offer AUTH, the host has failed and
 * all its mail waits, unless the file has lines for senders: then only the
 * message of this login waits.
 */
#include "auth.h"
#include "lib.h"
#include "../lib/ctlfile.h"

/* bytes of user and password in base64 */
#define CODED	(8 + (2 * AUTH_SIZE + 2) / 3 * 4)

/* ---- the file -------------------------------------------------------- */

/* Returns 1 if the word of n bytes is the host of -R, with or without the port
 * of the host. */
static int
is_host(const char *word, size_t n, const char *host)
{
	char name[NET_NAME], known[NET_NAME];

	text_fmt(name, sizeof(name), "%.*s", (int)n, word);
	text_fmt(known, sizeof(known), "%.*s", (int)n, host);
	/* if the names are equal, host has at least n bytes */
	return strlen(name) == n && lib_is_same(name, known) &&
	    (host[n] == '\0' || host[n] == ':');
}

/* Cuts the permission, "verified" or "clear", off the end of a line.  Returns
 * the permission, or "" if there is none. */
static const char *
cut_permission(char *s)
{
	size_t n = strlen(s);
	char *word;

	while (n > 0 && strchr(" \t\r", s[n - 1]) != NULL)
		s[--n] = '\0';
	word = s + n;
	while (word > s && strchr(" \t", word[-1]) == NULL)
		word--;
	if (strcmp(word, "verified") != 0 && strcmp(word, "clear") != 0)
		return "";
	n = (size_t)(word - s);
	while (n > 0 && strchr(" \t", s[n - 1]) != NULL)
		n--;
	s[n] = '\0';
	return word;
}

/* Sets user and password from a line, whose first word has n bytes; or trouble
 * if the line lacks one of them, or if the password must not be sent. */
static void
parse_line(struct auth *a, char *s, size_t n, int by_program)
{
	const char *permission;

	a->found = 1;
	text_fmt(a->key, AUTH_SIZE, "%.*s", (int)n, s);
	s += n + strspn(s + n, " \t");
	n = strcspn(s, " \t");
	permission = cut_permission(s + n);
	if (text_fmt(a->user, AUTH_SIZE, "%.*s", (int)n, s) < 0 ||
	    text_fmt(a->password, AUTH_SIZE, "%s", s + n +
	    strspn(s + n, " \t")) < 0 || a->password[0] == '\0')
		text_fmt(a->trouble, sizeof(a->trouble), "the line of %s in "
		    "the file of -A has no user or no password, or a user or "
		    "password of more than 255 bytes", a->key);
	else if (strcmp(permission, by_program ? "verified" : "clear") != 0)
		text_fmt(a->trouble, sizeof(a->trouble), "the line of %s in "
		    "the file of -A does not say %s", a->key, by_program ?
		    "\"verified\"" : "\"clear\", and there is no -X");
}

static struct auth *senders;	/* lines for senders, as in the file */
static struct auth unread;	/* if its trouble is not "", some lines could
				 * not be read, and this is the result for a
				 * sender without a line in senders */

/* Adds a line, whose first word has n bytes, if it is for a sender.  Returns
 * NULL, or the reason of a failure. */
static const char *
add_sender(char *s, size_t n, int by_program)
{
	struct auth *a, **at = &senders;

	if (memchr(s, '@', n) == NULL)
		return NULL;
	a = mem_get(sizeof(*a));
	if (a == NULL)
		return strerror(ENOMEM);
	while (*at != NULL)
		at = &(*at)->next;
	*at = a;
	parse_line(a, s, n, by_program);
	return NULL;
}

/* Reads the line of the host into a, or all lines of senders if host is NULL.
 * Sets a->trouble if the file cannot be used. */
static void
read_file(struct auth *a, const char *file, const char *host, int by_program)
{
	static struct lines in;		/* large */
	const char *why = NULL;
	struct stat st;
	int fd = fd_open_own(file, O_RDONLY, 0);
	size_t n;
	char *s;

	if (fd < 0)
		why = fd_open_own_error();
	else if (fstat(fd, &st) < 0 || (st.st_mode & 077) != 0)
		why = "others can read it; chmod 600";
	line_start(&in, fd, 0);
	while (why == NULL && line_next(&in)) {
		s = in.line + strspn(in.line, " \t");
		n = strcspn(s, " \t");
		if (*s == '#')
			continue;
		if (host == NULL)
			why = add_sender(s, n, by_program);
		else if (!a->found && is_host(s, n, host))
			parse_line(a, s, n, by_program);
	}
	if (why == NULL && in.error != 0)
		why = strerror(in.error);
	memset(&in, 0, sizeof(in));	/* the buffer has other passwords */
	if (fd >= 0)
		close(fd);
	if (why != NULL)
		text_fmt(a->trouble, sizeof(a->trouble),
		    "the file of -A, %s: %s", file, why);
}

void
auth_read_host(struct auth *a, const char *file, const char *host,
    int by_program)
{
	memset(a, 0, sizeof(*a));
	text_fmt(a->key, AUTH_SIZE, "%s", host);
	read_file(a, file, host, by_program);
}

void
auth_read_senders(const char *file, int by_program)
{
	struct auth *a;

	while ((a = senders) != NULL) {
		senders = a->next;
		memset(a, 0, sizeof(*a));
		free(a);
	}
	unread.trouble[0] = '\0';
	read_file(&unread, file, NULL, by_program);
}

const struct auth *
auth_find_sender(const char *address)
{
	const struct auth *a = senders;

	while (a != NULL && address != NULL && !lib_is_same(a->key, address))
		a = a->next;
	/* the sender's line may be one that was not read */
	if (a == NULL && address != NULL && unread.trouble[0] != '\0')
		return &unread;
	return a;
}

/* ---- the conversation ------------------------------------------------ */

static void
encode_base64(char *out, const char *s, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789+/";
	unsigned long v;
	size_t i, k;

	for (i = 0; i < n; i += 3) {
		for (v = 0, k = 0; k < 3; k++)
			v = v << 8 | (i + k < n ? (unsigned char)s[i + k] : 0);
		for (k = 0; k < 4; k++)
			*out++ = (char)(i + k > n ? '=' :
			    digit[v >> (18 - 6 * k) & 63]);
	}
	*out = '\0';
}

/* Sends a line like esmtp_say_as and reads the reply: 0, or -1 if the reply
 * does not have this code. */
static int
say_and_expect(struct esmtp *c, const char *line, const char *shown, int code)
{
	return esmtp_say_as(c, line, shown) == 0 &&
	    esmtp_read_reply(c, ES_HELO) == code ? 0 : -1;
}

/* The secrets of a login: the password as net_clean_byte leaves it, the
 * password in base64, and the argument of AUTH PLAIN. */
static char clean_password[AUTH_SIZE], coded_password[CODED], coded_both[CODED];

/* Codes user and password, and sets the secrets that esmtp.c hides in replies.
 */
static void
set_secrets(struct esmtp *c, const struct auth *a)
{
	char text[2 * AUTH_SIZE];
	size_t n = strlen(a->user) + 2, k = strlen(a->password), i;

	for (i = 0; i < k; i++)
		clean_password[i] = net_clean_byte((unsigned char)
		    a->password[i]);
	clean_password[k] = '\0';
	text[0] = '\0';
	strcpy(text + 1, a->user);
	memcpy(text + n, a->password, k);
	encode_base64(coded_password, a->password, k);
	encode_base64(coded_both, text, n + k);
	c->secret[0] = clean_password;
	c->secret[1] = coded_password;
	c->secret[2] = coded_both;
}

int
auth_login(struct esmtp *c, const struct auth *a)
{
	char line[CODED + 12];
	int accepted;

	c->phase = PHASE_AUTH;
	if (a->trouble[0] != '\0')
		return esmtp_quit_with_reason(c, "4.3.5", a->trouble);
	if (!a->found)
		return esmtp_quit_with_reason(c, "4.3.5", "the file of -A has "
		    "no line for it, nor for the sender");
	if (!(c->can & (CAN_PLAIN | CAN_LOGIN)))
		return esmtp_quit_with_reason(c, "4.7.0", "it offers neither "
		    "AUTH PLAIN nor AUTH LOGIN");
	set_secrets(c, a);
	if (c->can & CAN_PLAIN) {
		text_fmt(line, sizeof(line), "AUTH PLAIN %s", coded_both);
		accepted = say_and_expect(c, line,
		    "AUTH PLAIN (user and password)", 235) == 0;
	} else {
		encode_base64(line, a->user, strlen(a->user));
		accepted = say_and_expect(c, "AUTH LOGIN", "AUTH LOGIN",
		    334) == 0 && say_and_expect(c, line, "(user)", 334) == 0 &&
		    say_and_expect(c, coded_password, "(password)", 235) == 0;
	}
	if (accepted)
		return 0;
	if (c->code != 0)
		c->host_status = c->code >= 500 ? "4.7.8" : "4.7.0";
	esmtp_quit(c);
	return -1;
}
