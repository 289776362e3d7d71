/*
 * mailname.c - the name of this host in mail.
 *
 * The first of these that is a host name:
 *
 *	MAILNAME in the environment
 *	the first word of $MAILSHARE/mailname
 *	the node name of the system (uname)
 *	localhost
 *
 * Sender addresses, DSNs, EHLO and the "From " lines of UUCP use this name, so
 * that an administrator sets it in one place.  Some programs have an option or
 * a table that overrides it for their own part.
 */
#include "mailname.h"
#include "util.h"
#include <ctype.h>
#include <sys/utsname.h>

#ifndef MAILSHARE
#define MAILSHARE	"/usr/local/share/mail"
#endif

static char name[MAILNAME_SIZE];

/* Labels of letters, digits, '-' and '_', with dots between. */
static int
is_name(const char *s)
{
	size_t n;

	do {
		for (n = 0; isalnum((unsigned char)s[n]) || s[n] == '-' ||
		    s[n] == '_'; n++)
			;
		if (n == 0 || n > 63 || s[0] == '-' || s[n - 1] == '-')
			return 0;
		s += n;
	} while (*s++ == '.');
	return s[-1] == '\0';
}

static int
take(const char *s)
{
	return s != NULL && text_fmt(name, sizeof(name), "%s", s) == 0 &&
	    is_name(name);
}

static void
file_name(char *path, size_t size, const char *dir)
{
	if (dir == NULL)
		dir = getenv("MAILSHARE");
	text_fmt(path, size, "%s/mailname",
	    dir != NULL && *dir != '\0' ? dir : MAILSHARE);
}

/* The first word of the file, or NULL. */
static char *
word_of_file(const char *dir)
{
	static char line[MAILNAME_SIZE + 100];
	char path[800], *s = NULL;
	FILE *f;

	file_name(path, sizeof(path), dir);
	f = fopen(path, "r");
	if (f == NULL)
		return NULL;
	if (fgets(line, (int)sizeof(line), f) != NULL) {
		s = line + strspn(line, " \t");
		s[strcspn(s, " \t\r\n")] = '\0';
	}
	fclose(f);
	return s;
}

const char *
mailname(const char *dir)
{
	struct utsname uts;

	if (take(getenv("MAILNAME")) || take(word_of_file(dir)))
		return name;
	if (uname(&uts) < 0 || !take(uts.nodename))
		strcpy(name, "localhost");
	return name;
}

const char *
mailname_fault(const char *dir)
{
	static char why[1500];
	char path[800];
	struct stat st;
	int there, used = take(getenv("MAILNAME")) || take(word_of_file(dir));
	const char *s = mailname(dir);

	file_name(path, sizeof(path), dir);
	there = stat(path, &st) == 0;
	if (there && !used)
		text_fmt(why, sizeof(why), "mail calls this host %s: %s cannot "
		    "be read, or its first word is no name", s, path);
	else if (strchr(s, '.') == NULL)
		text_fmt(why, sizeof(why), "mail calls this host %s, which is "
		    "not a full name: write one to %s", s, path);
	else if (there && (st.st_mode & S_IROTH) == 0)
		text_fmt(why, sizeof(why), "other users get another name in "
		    "mail, since they cannot read %s: chmod 644 it", path);
	else
		return NULL;
	return why;
}
