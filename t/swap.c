/*
 * swap.c - exchanges control files under the hands of the scheduler.
 *
 *	swap DIR PO ROUNDS NAME ...
 *
 * PO/transport/NAME becomes in turn a file with what is in DIR/NAME, a link to
 * DIR/NAME, a pipe, now and then a directory, and nothing, each in the place of the one
 * before and at once, so many rounds for all names together.  DIR is outside
 * the post office.  A message file is put into queue/ when there is none.  The
 * scheduler gets notices of NAME all the while, where there are sockets for
 * that, so that a name that it has looked at is often another file when it is
 * opened.
 */
#include "../lib/util.h"
#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>
#endif

static char text[4000];
static size_t ntext;
static const char *po;
static char victim[1000], place[1000], made[1000], body[1000], note[200];

static void
must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void
fill(const char *path, const char *s, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	must(fd >= 0 && fd_write(fd, s, n) == 0, path);
	close(fd);
}

/* Now and then it gets a moment to look at what there is. */
static void
tell(void)
{
	struct timeval tv;
#ifndef NO_TCP
	static int fd = -1;
	static struct sockaddr_un sun;

	if (fd < 0) {
		fd = socket(AF_UNIX, SOCK_DGRAM, 0);
		must(fd >= 0, "socket");
		fcntl(fd, F_SETFL, O_NONBLOCK);
		sun.sun_family = AF_UNIX;
		must(text_fmt(sun.sun_path, sizeof(sun.sun_path),
		    "%s/.scheduler.notify", po) == 0, "socket");
	}
	/* when there is no room it has enough to look at */
	sendto(fd, note, strlen(note), 0, (struct sockaddr *)&sun,
	    sizeof(sun));
#endif
	tv.tv_sec = 0;
	tv.tv_usec = (long)rnd(400);
	if (rnd(4) == 0)
		select(0, NULL, NULL, NULL, &tv);
}

/* It may be that the scheduler has moved what was there. */
static void
put_in_place(void)
{
	must(rename(made, place) == 0, place);
	tell();
}

static void
one_round(void)
{
	struct stat st;

	if (stat(body, &st) < 0)
		fill(body, "body\n", 5);
	fill(made, text, ntext);
	put_in_place();
#ifndef NO_SYMLINK
	must(symlink(victim, made) == 0, made);
	put_in_place();
#endif
	must(mkfifo(made, 0644) == 0, made);
	put_in_place();
	unlink(place);
	if (rnd(50) == 0) {
		mkdir(place, 0755);
		tell();
		rmdir(place);
	}
	tell();
}

static void
names(const char *dir, const char *name)
{
	int fd;
	long n;

	must(text_fmt(victim, sizeof(victim), "%s/%s", dir, name) == 0 &&
	    text_fmt(place, sizeof(place), "%s/transport/%s", po, name) == 0 &&
	    text_fmt(made, sizeof(made), "%s/transport/.%s", po, name) == 0 &&
	    text_fmt(body, sizeof(body), "%s/queue/%s", po, name) == 0 &&
	    text_fmt(note, sizeof(note), "NEW %s", name) == 0, name);
	fd = open(victim, O_RDONLY);
	must(fd >= 0, victim);
	n = (long)read(fd, text, sizeof(text));
	must(n > 0, victim);
	ntext = (size_t)n;
	close(fd);
}

int
main(int argc, char **argv)
{
	long i, rounds = argc > 4 ? atol(argv[3]) : 0;

	if (rounds <= 0) {
		fputs("usage: swap dir po rounds name ...\n", stderr);
		return X_USAGE;
	}
	po = argv[2];
	for (i = 0; i < rounds; i++) {
		names(argv[1], argv[4 + i % (argc - 4)]);
		one_round();
	}
	return 0;
}
