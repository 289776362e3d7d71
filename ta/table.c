/*
 * table.c - reads the table of programs of sm.
 *
 *	name	flags	path	own-name argument ...
 *
 * Words are separated by blanks.  Text in double quotes is a word or a part of
 * one, and a backslash quotes the next byte.  A '#' where a word could begin
 * ends the line.  Flags are letters, '-' stands for none.
 *
 * The file is read for each job, so that a corrected table counts at once.
 * Only the line of the mailer is checked, as an error in another line is no
 * reason for this mail to wait.  An error is reported with file and line, and
 * nothing of such a line is used: a program that is started with half its
 * arguments could do anything with a message.
 *
 * A line "PARAMuucpname name" above the others sets our name in UUCP.
 *
 * sm.c knows the meaning of flags and arguments.
 */
#include "table.h"

#define FLAGS		"mfrnUEPRsTBbX"	/* those that mean something */
#define FLAGS_IDLE	"78DFMShu"	/* known elsewhere, nothing here */

/* An error with file and line. */
struct place {
	const char *file;
	unsigned long line;
	char	*why;
	size_t	size;
};

static int
wrong(struct place *at, const char *what, const char *arg)
{
	struct text t;

	text_init(&t, at->why, at->size);
	text_add(&t, "%s:", at->file);
	if (at->line > 0)
		text_add(&t, "%lu:", at->line);
	text_add(&t, " ");
	t.clean = 1;
	text_add(&t, what, arg);
	return -1;
}

/* Cuts the next word out of *p, unquoted in place: the word, or NULL with *p at
 * the end, or at a quote that is not closed. */
static char *
cut_word(char **p)
{
	static char quote[] = "\"";
	char *s = *p + strspn(*p, " \t\r"), *word = s, *to = s;
	int open = 0;

	*p = s;
	if (*s == '\0' || *s == '#') {
		*s = '\0';
		return NULL;
	}
	for (; *s != '\0' && (open || strchr(" \t\r", *s) == NULL); s++) {
		if (*s == '"')
			open = !open;
		else if (*s == '\\' && s[1] != '\0')
			*to++ = *++s;
		else
			*to++ = *s;
	}
	if (open) {
		*p = quote;
		return NULL;
	}
	*p = *s == '\0' ? s : s + 1;
	*to = '\0';
	return word;
}

static int
check_flags(struct place *at, const char *flags)
{
	char one[2];
	size_t n;

	if (strcmp(flags, "-") == 0)
		return 0;
	n = strspn(flags, FLAGS FLAGS_IDLE);
	one[0] = flags[n];
	one[1] = '\0';
	if (one[0] != '\0')
		return wrong(at, "there is no flag %s", one);
	if (strchr(flags, 'n') != NULL && strchr(flags, 'U') != NULL)
		return wrong(at, "%s exclude each other", "flags n and U");
	return 0;
}

static int
check_word(struct place *at, const char *word)
{
	const char *p = word;

	while ((p = strchr(p, '$')) != NULL) {
		if (p[1] == '\0' || strchr("ghu$", p[1]) == NULL)
			return wrong(at, "%s: after a $ comes g, h, u or $",
			    word);
		p += 2;
	}
	return 0;
}

/* The line of the mailer, its name already cut off: 0 or -1. */
static int
parse(struct mailer *m, struct place *at, char *p)
{
	char *word;

	m->flags = cut_word(&p);
	m->path = cut_word(&p);
	for (m->nwords = 0; (word = cut_word(&p)) != NULL; m->nwords++) {
		if (m->nwords == TABLE_WORDS)
			return wrong(at, "%s has too many arguments", m->name);
		if (check_word(at, word) < 0)
			return -1;
		m->words[m->nwords] = word;
	}
	if (*p != '\0')
		return wrong(at, "a quote of %s is not closed", m->name);
	if (m->nwords == 0)
		return wrong(at, "%s needs flags, a path, and the name the "
		    "program is called by", m->name);
	if (m->path[0] != '/')
		return wrong(at, "%s: the path must begin with /", m->path);
	return check_flags(at, m->flags);
}

static int
set_uucp(struct mailer *m, struct place *at, char *p)
{
	const char *word = cut_word(&p);

	if (word == NULL || cut_word(&p) != NULL ||
	    text_fmt(m->uucp, sizeof(m->uucp), "%s", word) < 0 ||
	    word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0')
		return wrong(at, "%s needs a name", "PARAMuucpname");
	return 0;
}

/* Looks through an open file: 1 found, 0 not, -1 with the reason. */
static int
look_up(struct mailer *m, struct place *at, int fd, const char *name)
{
	static struct lines l;	/* large, and there is only one at a time */
	char *p, *word;

	m->uucp[0] = '\0';
	line_start(&l, fd, 0);
	while (line_next(&l)) {
		at->line++;
		p = strcpy(m->mem, l.line);
		word = cut_word(&p);
		if (word != NULL && strcmp(word, "PARAMuucpname") == 0 &&
		    set_uucp(m, at, p) < 0)
			return -1;
		if (word == NULL || strcmp(word, name) != 0)
			continue;
		if (l.overlong || strlen(l.line) != l.len)
			return wrong(at, "the line of %s is too long, or has "
			    "a byte 0", name);
		m->name = name;
		return parse(m, at, p) < 0 ? -1 : 1;
	}
	at->line = 0;
	return l.error != 0 ? wrong(at, "%s", strerror(l.error)) : 0;
}

int
table_find(struct mailer *m, const char *file, const char *name, char *why,
    size_t size)
{
	struct place at;
	int fd, found;

	at.file = file;
	at.line = 0;
	at.why = why;
	at.size = size;
	fd = open(file, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return wrong(&at, "%s", strerror(errno));
	fd_cloexec(fd);
	found = look_up(m, &at, fd, name);
	close(fd);
	if (found == 0)
		wrong(&at, "there is no line for %s", name);
	return found > 0 ? 0 : -1;
}
