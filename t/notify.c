/*
 * notify.c - sends datagrams to a notification socket.
 *
 *	notify socket text ...
 */
#include "../lib/util.h"

#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>
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
	int i, fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (fd < 0 || argc < 3 ||
	    text_fmt(sun.sun_path, sizeof(sun.sun_path), "%s", argv[1]) < 0)
		return 1;
	for (i = 2; i < argc; i++)
		if (sendto(fd, argv[i], strlen(argv[i]), 0,
		    (struct sockaddr *)&sun, sizeof(sun)) < 0)
			return 1;
	return 0;
#endif
}
