/*
 * smtpd.c - an SMTP server whose answers are rules of a test.
 *
 *	smtpd [-a address] [-k keyword] ... [-m number] [-p port] [-s file]
 *	    [-t file] directory
 *
 * It serves one connection after the other at 127.0.0.1, or -a.  In the
 * directory:
 *
 *	port	its port, written when it listens; -p asks for a certain one
 *	rules	read anew for each command; each line is a stage, optionally
 *		with :TEXT that must be in the command, and what to do.  The
 *		first that fits holds; otherwise the answer is a good one.
 *	log	"connection N", and "> " and each line that came
 *	msg.N	the messages, byte for byte, without the last dot
 *
 * Stages: greeting ehlo helo auth mail rcpt data dot rset quit.  What to do:
 *
 *	550 text	say that; "\n" in it begins a new line
 *	drop		close the connection
 *	hang		say nothing until the client goes
 *	drip		a byte every tenth of a second, without end
 *	550 text (last)	the same, and close the connection
 *	wait		until there is a file go, then the good answer; the
 *			file went says so
 *	deaf		the good answer, and then read no more until there is
 *			a file go; "deaf 552 text" says that, too, at once
 *	idle 554 text	the good answer; when there is a file go, say that,
 *			which belongs to no command, and close the connection
 *	hold		the good answer, but not before that to DATA
 *	noise		random bytes
 *
 * -k has EHLO offer a keyword, -m takes so many recipients and no more.
 * "early" in the log: a command came before its turn, without PIPELINING.
 *
 * -t has it speak TLS, and -s offer STARTTLS, with the certificate and key in
 * the file.  "openssl s_server" does it: a process of ours carries bytes from
 * the client to its socket, and its standard input and output are our end.
 */
#include "../lib/agent.h"
#include "../lib/util.h"

#ifdef NO_TCP

int
main(void)
{
	return 1;
}

#else
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <signal.h>

#define KEYWORDS	16

static struct {
	const char *dir, *address;
	const char *keyword[KEYWORDS];
	int	keywords;
	int	most;		/* recipients, 0: any number */
	const char *cert;	/* of -t or -s */
	int	at_once;	/* -t */
	FILE	*log;
} opt;

static struct {
	int	fd;
	int	tls;		/* that is s_server */
	int	over;
	int	in_mail, rcpts;	/* of the transaction */
	int	messages;	/* of all connections */
	char	held[8192];	/* replies to send later */
	size_t	have, used;
	char	in[65536];
} c;

static void
path_of(char *path, size_t size, const char *name)
{
	text_fmt(path, size, "%s/%s", opt.dir, name);
}

static void
say(const char *s)
{
	if (fd_write(c.fd, s, strlen(s)) < 0)
		c.over = 1;
}

/* A byte, or -1 at the end. */
static int
get(void)
{
	long n;

	if (c.used == c.have) {
		c.used = c.have = 0;
		n = (long)read(c.fd, c.in, sizeof(c.in));
		if (n <= 0)
			return -1;
		c.have = (size_t)n;
	}
	return (unsigned char)c.in[c.used++];
}

/* A line without its end: 0 or -1. */
static int
get_line(char *line, size_t size)
{
	size_t n = 0;
	int b;

	while ((b = get()) != '\n') {
		if (b < 0)
			return -1;
		if (b != '\r' && n < size - 1)
			line[n++] = (char)b;
	}
	line[n] = '\0';
	return 0;
}

static void
nap(long usec)
{
	struct timeval tv;

	tv.tv_sec = 0;
	tv.tv_usec = usec;
	select(0, NULL, NULL, NULL, &tv);
}

/* The rule for this stage and command: 1 and what to do, or 0. */
static int
find_rule(const char *stage, const char *command, char *what, size_t size)
{
	char path[300], line[2000], *p, *text;
	int found = 0;
	FILE *f;

	path_of(path, sizeof(path), "rules");
	f = fopen(path, "r");
	if (f == NULL)
		return 0;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		p = strchr(line, ' ');
		if (p == NULL)
			continue;
		*p++ = '\0';
		text = strchr(line, ':');
		if (text != NULL)
			*text++ = '\0';
		found = strcmp(line, stage) == 0 &&
		    (text == NULL || strstr(command, text) != NULL);
		if (found)
			text_fmt(what, size, "%s", p);
	}
	fclose(f);
	return found;
}

static void
say_text(const char *s)
{
	char out[4000];
	struct text t;

	text_init(&t, out, sizeof(out));
	for (; *s != '\0'; s++)
		if (*s == '\\' && s[1] == 'n') {
			text_add(&t, "\r\n");
			s++;
		} else {
			text_add(&t, "%c", *s);
		}
	text_add(&t, "\r\n");
	say(out);
}

static void
noise(void)
{
	char out[2000];
	size_t n = (size_t)rnd(sizeof(out)), i;

	for (i = 0; i < n; i++)
		out[i] = (char)rnd(256);
	if (rnd(2))	/* something like a reply */
		memcpy(out, "250-", 4);
	if (rnd(2))
		memcpy(out, "250 ", 4);
	if (fd_write(c.fd, out, n) < 0 || rnd(4) == 0)
		c.over = 1;
}

/* Says by a file that it goes on. */
static void
wait_go(void)
{
	struct stat st;
	char path[300];
	FILE *f;

	path_of(path, sizeof(path), "go");
	while (stat(path, &st) < 0)
		nap(100000);
	path_of(path, sizeof(path), "went");
	if ((f = fopen(path, "w")) != NULL)
		fclose(f);
}

/* ---- TLS ------------------------------------------------------------- */

/* Carries bytes between two sockets until one ends. */
static void
carry(int a, int b)
{
	char buf[8192];
	fd_set in;
	long n = 1;
	int from;

	while (n > 0) {
		FD_ZERO(&in);
		FD_SET(a, &in);
		FD_SET(b, &in);
		if (select((a > b ? a : b) + 1, &in, NULL, NULL, NULL) < 0)
			break;
		from = FD_ISSET(a, &in) ? a : b;
		n = (long)read(from, buf, sizeof(buf));
		if (n > 0 && fd_write(from == a ? b : a, buf, (size_t)n) < 0)
			break;
	}
	_exit(0);
}

/* A connection to s_server, which has just been started. */
static int
join(const char *path)
{
	struct sockaddr_un un;
	int i, fd = socket(AF_UNIX, SOCK_STREAM, 0);

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	text_fmt(un.sun_path, sizeof(un.sun_path), "%s", path);
	for (i = 0; i < 1000; i++) {
		if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == 0)
			return fd;
		nap(10000);
	}
	exit(1);
}

static void
start_tls(void)
{
	char path[100];
	int sp[2], fd;

	path_of(path, sizeof(path), "tls");
	unlink(path);
	fflush(opt.log);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sp) < 0)
		exit(1);
	if (fork() == 0) {
		dup2(sp[1], 0);
		dup2(sp[1], 1);
		fd_close_from(3);
		execlp("openssl", "openssl", "s_server", "-quiet", "-naccept",
		    "1", "-unix", path, "-cert", opt.cert, "-key", opt.cert,
		    (char *)NULL);
		_exit(1);
	}
	close(sp[1]);
	fd = join(path);
	unlink(path);
	if (fork() == 0) {
		close(sp[0]);
		carry(c.fd, fd);
	}
	close(fd);
	close(c.fd);
	c.fd = sp[0];
	c.tls = 1;
	c.have = c.used = 0;
}

/* ---- the conversation ------------------------------------------------ */

/* Answers: the code that was said, 0 when it was another thing. */
static int
answer(const char *stage, const char *command, const char *good)
{
	char what[2000] = "";
	int hold = 0;

	if (find_rule(stage, command, what, sizeof(what)) == 0) {
		;
	} else if (strcmp(what, "drop") == 0) {
		c.over = 1;
		return 0;
	} else if (strcmp(what, "hang") == 0) {
		while (get() >= 0)
			;
		c.over = 1;
		return 0;
	} else if (strcmp(what, "drip") == 0) {
		for (say("2"); !c.over; say("5"))
			nap(100000);
		return 0;
	} else if (strncmp(what, "deaf", 4) == 0) {
		say_text(good);
		if (what[4] == ' ')
			say_text(what + 5);
		wait_go();
		c.over = 1;
		return 0;
	} else if (strncmp(what, "idle ", 5) == 0) {
		say_text(good);
		wait_go();
		say_text(what + 5);
		c.over = 1;
		return 0;
	} else if (strcmp(what, "noise") == 0) {
		noise();
		return 250;
	} else if (strcmp(what, "wait") == 0) {
		wait_go();
		what[0] = '\0';
	} else if (strcmp(what, "hold") == 0) {
		hold = 1;
		what[0] = '\0';
	}
	if (what[0] == '\0')
		strcpy(what, good);
	if (hold) {
		strcat(strcat(c.held, what), "\r\n");
		return (int)num_of(what, NULL);
	}
	if (strcmp(stage, "data") == 0) {
		say(c.held);
		c.held[0] = '\0';
	}
	say_text(what);
	c.over |= strncmp(what, "421", 3) == 0 || strstr(what, " (last)") != NULL;
	return (int)num_of(what, NULL);
}

/* Up to the line with the dot, into a file. */
static void
take_message(void)
{
	static const char end[] = "\r\n.\r\n";
	char path[300], name[40];
	size_t seen = 2, i;	/* bytes of end, of which CRLF was before */
	FILE *f;
	int b;

	text_fmt(name, sizeof(name), "msg.%d", ++c.messages);
	path_of(path, sizeof(path), name);
	f = fopen(path, "wb");
	if (f == NULL)
		exit(1);
	while (seen < 5) {
		b = get();
		if (b < 0) {
			c.over = 1;
			fclose(f);
			remove(path);
			c.messages--;
			return;
		}
		if (b == end[seen]) {
			seen++;
			if (seen > 2)
				continue;
		} else {
			for (i = 2; i < seen; i++)
				putc(end[i], f);
			seen = b == '\r';
		}
		putc(b, f);
	}
	fclose(f);
	c.in_mail = 0;
	answer("dot", "", "250 2.0.0 taken");
}

static void
hello(const char *line)
{
	char text[1000];
	struct text t;
	int i;

	text_init(&t, text, sizeof(text));
	text_add(&t, "250%ctest.example", opt.keywords > 0 ? '-' : ' ');
	for (i = 0; i < opt.keywords; i++)
		text_add(&t, "\\n250%c%s", i + 1 < opt.keywords ? '-' : ' ',
		    opt.keyword[i]);
	answer("ehlo", line, text);
	c.in_mail = 0;
}

/* AUTH, and the two lines behind AUTH LOGIN. */
static void
auth(const char *line)
{
	char word[1000];
	int i;

	for (i = 0; i < 2 && strcmp(line, "AUTH LOGIN") == 0; i++) {
		say(i == 0 ? "334 VXNlcm5hbWU6\r\n" : "334 UGFzc3dvcmQ6\r\n");
		if (get_line(word, sizeof(word)) < 0)
			return;
		fprintf(opt.log, "> %s\n", word);
	}
	answer("auth", line, "235 2.7.0 welcome");
}

static void
command(const char *line)
{
	if (strncmp(line, "AUTH ", 5) == 0) {
		auth(line);
	} else if (strcmp(line, "STARTTLS") == 0 && opt.cert != NULL) {
		say("220 2.0.0 go on\r\n");
		start_tls();
	} else if (strncmp(line, "EHLO ", 5) == 0) {
		hello(line);
	} else if (strncmp(line, "HELO ", 5) == 0) {
		answer("helo", line, "250 test.example");
	} else if (strncmp(line, "MAIL FROM:", 10) == 0) {
		c.in_mail = answer("mail", line, c.in_mail ?
		    "503 5.5.1 again?" : "250 2.1.0 ok") == 250;
		c.rcpts = 0;
	} else if (strncmp(line, "RCPT TO:", 8) == 0) {
		c.rcpts += answer("rcpt", line, !c.in_mail ?
		    "503 5.5.1 MAIL first" : opt.most > 0 &&
		    c.rcpts == opt.most ? "452 4.5.3 too many" :
		    "250 2.1.5 ok") == 250;
	} else if (strcmp(line, "DATA") == 0) {
		if (answer("data", line, !c.in_mail || c.rcpts == 0 ?
		    "554 5.5.1 for whom?" : "354 go on") == 354)
			take_message();
	} else if (strcmp(line, "RSET") == 0) {
		c.in_mail = 0;
		answer("rset", line, "250 2.0.0 ok");
	} else if (strcmp(line, "QUIT") == 0) {
		answer("quit", line, "221 2.0.0 bye");
		c.over = 1;
	} else {
		say("500 5.5.2 what?\r\n");
	}
}

static int
has(const char *word)
{
	int i;

	for (i = 0; i < opt.keywords; i++)
		if (strcmp(opt.keyword[i], word) == 0)
			return 1;
	return 0;
}

static void
serve(void)
{
	static int n;
	char line[4000];

	c.over = c.in_mail = c.rcpts = 0;
	c.have = c.used = 0;
	c.held[0] = '\0';
	c.tls = 0;
	if (opt.at_once)
		start_tls();
	fprintf(opt.log, "connection %d\n", ++n);
	fflush(opt.log);
	answer("greeting", "", "220 test.example ESMTP");
	while (!c.over && get_line(line, sizeof(line)) == 0) {
		fprintf(opt.log, "> %s\n", line);
		if (c.used < c.have && !has("PIPELINING"))
			fprintf(opt.log, "early\n");
		fflush(opt.log);
		command(line);
	}
	fprintf(opt.log, "end\n");
	fflush(opt.log);
	close(c.fd);
	while (c.tls && (wait(NULL) > 0 || errno == EINTR))
		;
}

/* A listening socket; its port is written down. */
static int
listen_at(int port)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	char path[300], final[300];
	struct sockaddr_in in;
	socklen_t len = sizeof(in);
	FILE *f;

	memset(&in, 0, sizeof(in));
	in.sin_family = AF_INET;
	in.sin_addr.s_addr = inet_addr(opt.address);
	in.sin_port = htons((unsigned short)port);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on,
	    sizeof(on)) < 0 ||
	    bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 ||
	    listen(fd, 5) < 0 ||
	    getsockname(fd, (struct sockaddr *)&in, &len) < 0)
		return -1;
	path_of(path, sizeof(path), "port.new");
	path_of(final, sizeof(final), "port");
	f = fopen(path, "w");
	if (f == NULL)
		return -1;
	fprintf(f, "%u\n", (unsigned)ntohs(in.sin_port));
	return fclose(f) == 0 && rename(path, final) == 0 ? fd : -1;
}

int
main(int argc, char **argv)
{
	int k, fd, port = 0;
	char path[300];

	opt.address = "127.0.0.1";
	while ((k = getopt(argc, argv, "a:k:m:p:s:t:")) != -1)
		if (k == 'a')
			opt.address = optarg;
		else if (k == 'k' && opt.keywords < KEYWORDS)
			opt.keyword[opt.keywords++] = optarg;
		else if (k == 'm')
			opt.most = atoi(optarg);
		else if (k == 'p')
			port = atoi(optarg);
		else if (k == 's' || k == 't') {
			opt.cert = optarg;
			opt.at_once = k == 't';
		} else
			return 1;
	if (optind + 1 != argc)
		return 1;
	opt.dir = argv[optind];
	signal(SIGPIPE, SIG_IGN);
	rnd_seed((unsigned long)getpid());
	path_of(path, sizeof(path), "log");
	opt.log = fopen(path, "a");
	fd = listen_at(port);
	if (opt.log == NULL || fd < 0) {
		perror("smtpd");
		return 1;
	}
	for (;;) {
		c.fd = accept(fd, NULL, NULL);
		if (c.fd >= 0)
			serve();
	}
}

#endif
