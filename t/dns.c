/*
 * dns.c - name servers that a test can write.
 *
 * Linked before libc's, so smtp that is built with it finds in the directory
 * $DNS, for a name:
 *
 *	NAME.mx		lines "PREFERENCE HOST", HOST "." for none; or one of
 *			the words later, or raw: then the answer is NAME.raw,
 *			byte for byte.  Missing: no such domain
 *	NAME.a		addresses, one a line and the last one first, or the
 *			word later
 */
#include "../lib/util.h"

#if defined(NO_TCP) || defined(NO_RESOLV) || defined(NO_GETADDRINFO)

int	dns_unused(void);

int
dns_unused(void)
{
	return 0;
}

#else
#include <sys/socket.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <netdb.h>
#include <resolv.h>

static FILE *
look(const char *name, const char *kind)
{
	char path[600];
	const char *dir = getenv("DNS");

	text_fmt(path, sizeof(path), "%s/%s.%s", dir != NULL ? dir : ".",
	    name, kind);
	return fopen(path, "r");
}

static unsigned char *
put_short(unsigned char *p, unsigned v)
{
	*p++ = (unsigned char)(v >> 8);
	*p++ = (unsigned char)v;
	return p;
}

static unsigned char *
put_name(unsigned char *p, const char *s)
{
	size_t n;

	while (*s != '\0' && *s != '.') {
		n = strcspn(s, ".");
		*p++ = (unsigned char)n;
		memcpy(p, s, n);
		p += n;
		s += n + (s[n] == '.');
	}
	*p++ = 0;
	return p;
}

int
res_query(const char *name, int class, int type, unsigned char *buf, int size)
{
	char line[300], host[300];
	unsigned char *p, *len;
	FILE *f = look(name, "mx");
	int n = 0, pref;

	memset(buf, 0, (size_t)size);
	if (f == NULL)
		h_errno = HOST_NOT_FOUND;
	if (f == NULL)
		return -1;
	p = put_name(buf + 12, name);
	p = put_short(put_short(p, (unsigned)type), (unsigned)class);
	while (fgets(line, sizeof(line), f) != NULL && n >= 0) {
		if (strcmp(line, "later\n") == 0) {
			h_errno = TRY_AGAIN;
			n = -1;
		} else if (strcmp(line, "raw\n") == 0) {
			fclose(f);
			f = look(name, "raw");
			return f == NULL ? -1 : (int)fread(buf, 1,
			    (size_t)size, f);
		} else if (sscanf(line, "%d %299s", &pref, host) == 2) {
			p = put_short(p, 0xc00c);	/* the name above */
			p = put_short(put_short(p, (unsigned)type), 1);
			p = put_short(put_short(p, 0), 60);
			len = p;
			p = put_short(put_short(p, 0), (unsigned)pref);
			p = put_name(p, host);
			put_short(len, (unsigned)(p - len - 2));
			n++;
		}
	}
	fclose(f);
	put_short(buf + 2, 0x8180);
	put_short(buf + 4, 1);
	if (n >= 0)
		put_short(buf + 6, (unsigned)n);
	return n < 0 ? -1 : (int)(p - buf);
}

static struct addrinfo *
one(const char *s, struct addrinfo *next)
{
	struct addrinfo *a = mem_get(sizeof(*a));
	struct sockaddr_in *in;
	struct sockaddr_in6 *in6;

	a->ai_next = next;
	if (strchr(s, ':') != NULL) {
		in6 = mem_get(sizeof(*in6));
		a->ai_family = in6->sin6_family = AF_INET6;
		inet_pton(AF_INET6, s, &in6->sin6_addr);
		a->ai_addr = (struct sockaddr *)in6;
		a->ai_addrlen = sizeof(*in6);
		return a;
	}
	in = mem_get(sizeof(*in));
	in->sin_family = AF_INET;
	in->sin_addr.s_addr = inet_addr(s);
	a->ai_family = AF_INET;
	a->ai_addr = (struct sockaddr *)in;
	a->ai_addrlen = sizeof(*in);
	return a;
}

int
getaddrinfo(const char *name, const char *service,
    const struct addrinfo *hint, struct addrinfo **list)
{
	char line[100];
	FILE *f;

	(void)service;
	*list = NULL;
	if (hint->ai_flags & AI_NUMERICHOST) {
		*list = one(name, NULL);
		return 0;
	}
	f = look(name, "a");
	if (f == NULL)
		return EAI_NONAME;
	while (fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (strcmp(line, "later") == 0) {
			fclose(f);
			return EAI_AGAIN;
		}
		*list = one(line, *list);
	}
	fclose(f);
	return *list == NULL ? EAI_NONAME : 0;
}

void
freeaddrinfo(struct addrinfo *list)
{
	struct addrinfo *next;

	for (; list != NULL; list = next) {
		next = list->ai_next;
		free(list->ai_addr);
		free(list);
	}
}

#endif
