/*
 * peer.c - decides whom submit -bs serves.
 *
 *	a pipe, a file, a terminal	its user started submit
 *	a peer on this machine		its socket is on the loopback, or in the
 *					file system
 *	10.0.0.0/8,fd00::/8		PARAMnetworks in the table of routes
 *
 * All other peers are refused, so that strangers cannot send mail to strangers
 * through us.
 */
#include "submit.h"
#ifndef NO_TCP
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#endif

#ifdef NO_TCP
int
peer_is_list(const char *list)
{
	return *list == '\0';
}

/* Without sockets, only a pipe, a file or a terminal can be served. */
int
peer_is_served(const char *list, char *name, size_t size)
{
	struct stat st;

	(void)list;
	text_fmt(name, size, "a socket");
	if (fstat(0, &st) == 0 && S_ISSOCK(st.st_mode))
		return 0;
	name[0] = '\0';
	return 1;
}
#else

#ifdef NO_GETADDRINFO
static const char loopback[] = "127.0.0.0/8";
#else
static const char loopback[] = "127.0.0.0/8,::1/128";
#endif

/* Reads an address.  Returns its length in bytes; 0: the text is no address. */
static int
parse_address(const char *text, unsigned char *to)
{
#ifdef NO_GETADDRINFO
	struct in_addr a;

	a.s_addr = inet_addr(text);
	memcpy(to, &a, 4);
	return a.s_addr == (in_addr_t)-1 ? 0 : 4;
#else
	if (inet_pton(AF_INET, text, to) == 1)
		return 4;
	return inet_pton(AF_INET6, text, to) == 1 ? 16 : 0;
#endif
}

/* Reads a list of networks, and sets *found to 1 if one of them has the address
 * of len bytes: 0, or -1 if the list is wrong. */
static int
search_list(const char *list, const unsigned char *addr, int len, int *found)
{
	unsigned char net[16];
	unsigned long bits, i;
	const char *end;
	char one[80];
	size_t n, k;
	int size;

	for (; *list != '\0'; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		k = strcspn(list, "/,");
		if (list[k] != '/' || text_fmt(one, sizeof(one), "%.*s",
		    (int)k, list) < 0)
			return -1;
		size = parse_address(one, net);
		if (size == 0 || num_upto(list + k + 1, (unsigned long)size * 8,
		    &bits, &end) < 0 || end != list + n)
			return -1;
		for (i = 0; size == len && i < bits && ((addr[i / 8] ^
		    net[i / 8]) & 0x80 >> i % 8) == 0; i++)
			;
		*found |= size == len && i == bits;
	}
	return 0;
}

int
peer_is_list(const char *list)
{
	int found = 0;

	return search_list(list, (const unsigned char *)"", 0, &found) == 0;
}

int
peer_is_served(const char *list, char *name, size_t size)
{
	union {
		struct sockaddr any;
		struct sockaddr_in in;
#ifndef NO_GETADDRINFO
		struct sockaddr_in6 in6;
#endif
		char	room[256];	/* for the path of a local socket */
	} a;
	const unsigned char *p = (unsigned char *)&a.in.sin_addr;
	socklen_t n = sizeof(a);
	int len = 4, found = 0;

	memset(&a, 0, sizeof(a));
	if (getpeername(0, &a.any, &n) < 0) {
		found = errno == ENOTSOCK;
		text_fmt(name, size, found ? "" : "an unknown peer");
		return found;
	}
	text_fmt(name, size, "local");
	if (a.any.sa_family == AF_UNIX)
		return 1;
	text_fmt(name, size, "%d.%d.%d.%d", p[0], p[1], p[2], p[3]);
#ifndef NO_GETADDRINFO
	if (a.any.sa_family == AF_INET6) {
		static const unsigned char mapped[12] = { 0, 0, 0, 0, 0, 0, 0,
			0, 0, 0, 255, 255 };

		p = (unsigned char *)&a.in6.sin6_addr;
		len = 16;
		if (memcmp(p, mapped, 12) == 0) {
			p += 12;
			len = 4;
		}
		inet_ntop(len == 4 ? AF_INET : AF_INET6, p, name, size);
	} else
#endif
	if (a.any.sa_family != AF_INET)
		return 0;
	search_list(loopback, p, len, &found);
	search_list(list, p, len, &found);
	return found;
}
#endif
