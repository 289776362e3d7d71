/*
 * notify.c - sends datagrams to a notification socket, or is one.
 *
 *	notify socket text ...
 *	notify -l socket count	makes it, and prints so many datagrams
 */
#include "../lib/util.h"

#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>

static int
listen_at(int fd, const struct sockaddr_un *sun, long count)
{
	char text[1000];
	long n;

	if (bind(fd, (const struct sockaddr *)sun, sizeof(*sun)) < 0)
		return 1;
	for (; count > 0; count--) {
		n = (long)recv(fd, text, sizeof(text) - 1, 0);
		if (n < 0)
			return 1;
		text[n++] = '\n';
		if (fd_write(1, text, (size_t)n) < 0)
			return 1;
	}
	return 0;
}

static int
send_to(int fd, const struct sockaddr_un *sun, char **text)
{
	for (; *text != NULL; text++)
		if (sendto(fd, *text, strlen(*text), 0,
		    (const struct sockaddr *)sun, sizeof(*sun)) < 0)
			return 1;
	return 0;
}
#endif

int
main(int argc, char **argv)
{
#ifdef NO_TCP
	(void)argc;
	(void)argv;
	return 1;
#else
	struct sockaddr_un sun;
	int hears = argc == 4 && strcmp(argv[1], "-l") == 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (fd < 0 || argc < 3 || text_fmt(sun.sun_path, sizeof(sun.sun_path),
	    "%s", argv[1 + hears]) < 0)
		return 1;
	return hears ? listen_at(fd, &sun, strtol(argv[3], NULL, 10)) :
	    send_to(fd, &sun, argv + 2);
#endif
}
