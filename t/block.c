/*
 * block.c - a message to a server that takes it slowly, on a clock that goes
 * on with each piece it takes: see send_block in ta/esmtp.c.
 *
 *	block bytes seconds [nap]
 *				the server takes so many bytes, and so many
 *				seconds of $MONO are over; the clock is looked
 *				at when it has taken all there was, or every
 *				nap seconds
 *
 * Prints "sent", or what the connection was given up for.
 */
#include "../ta/esmtp.h"

#ifdef NO_SOCKETPAIR

int
main(void)
{
	return 1;
}

#else
#include <sys/socket.h>
#include <signal.h>
#include <sys/wait.h>

#define MESSAGE	32768L		/* bytes */

static void
set_clock(long seconds)
{
	const char *path = getenv("MONO");
	char new[300];
	FILE *f;

	if (path == NULL || text_fmt(new, sizeof(new), "%s.new", path) < 0 ||
	    (f = fopen(new, "w")) == NULL)
		_exit(1);
	fprintf(f, "%ld\n", seconds);
	fclose(f);
	rename(new, path);
}

/* A pause lets the other side fill its buffers; nothing depends on it. */
static void
serve(int fd, size_t bytes, long seconds)
{
	static char buf[65536];
	struct timeval tv;
	long at = 0;

	while (read(fd, buf, bytes) > 0) {
		set_clock(at += seconds);
		tv.tv_sec = 0;
		tv.tv_usec = 2000;
		select(0, NULL, NULL, NULL, &tv);
	}
	_exit(0);
}

int
main(int argc, char **argv)
{
	static char piece[MESSAGE];
	static struct esmtp c;
	int s[2], size = 2048;
	pid_t pid;

	if (argc < 3 || socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
		return 1;
	signal(SIGPIPE, SIG_IGN);
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, (void *)&size, sizeof(size));
	set_clock(0);
	pid = fork();
	if (pid == 0) {
		close(s[0]);
		serve(s[1], (size_t)atol(argv[1]), atol(argv[2]));
	}
	close(s[1]);
	c.fd = c.to = s[0];
	fd_nonblock(c.fd);
	if (argc > 3)
		net_nap = atof(argv[3]);
	puts(esmtp_put(&c, piece, MESSAGE) == 0 ? "sent" : c.reply);
	esmtp_close(&c);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}

#endif
