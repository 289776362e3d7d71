/*
 * spoolid.c - ZMailer's name for a message, as logs and DSNs have it.
 *
 *	123-45, written on 2026-11-22 09:10:11:	S123fq1KVJKL
 *
 * "S", the number at the beginning of the name, and the time of the message
 * file, six bits to a byte.
 */
#include "spoolid.h"
#ifdef NO_SYMLINK
#define lstat stat
#endif

int
spool_id(const char *name, char *id, size_t size)
{
	static const char code[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123abcdefghijklmnopqrstuvwxyz4567890-=";
	const char *base = strrchr(name, '/');
	char path[1024];
	struct stat st;
	struct text t;
	struct tm *tm;
	int i, v[8];

	text_fmt(path, sizeof(path), "../queue/%s", name);
	if (lstat(path, &st) < 0 || (tm = gmtime(&st.st_mtime)) == NULL)
		return -1;
	v[0] = (tm->tm_year + 1900) >> 12;
	v[1] = (tm->tm_year + 1900) >> 6;
	v[2] = tm->tm_year + 1900;
	v[3] = tm->tm_mon;
	v[4] = tm->tm_mday - 1;
	v[5] = tm->tm_hour;
	v[6] = tm->tm_min;
	v[7] = tm->tm_sec;
	text_init(&t, id, size);
	text_add(&t, "S%lu", num_of(base == NULL ? name : base + 1, NULL));
	for (i = 0; i < 8; i++)
		text_add(&t, "%c", code[v[i] & 63]);
#ifdef HAVE_ST_MTIM
	for (i = 24; i >= 0 && st.st_mtim.tv_nsec != 0; i -= 6)
		text_add(&t, "%c", code[st.st_mtim.tv_nsec >> i & 63]);
#endif
	return t.cut ? -1 : 0;
}
