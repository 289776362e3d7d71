/*
 * table.c - reads the table of programs of sm.
 *
 *	name	flags	path	own-name argument ...
 *
 * own-name is argv[0].  Words are separated by blanks.  Text in double quotes
 * is a word or a part of a word, and a backslash quotes the next byte.  A '#'
 * where a word could begin ends the line.  Flags are letters and digits; '-'
 * stands for no flag.
 *
 * The file is read for each job, so that a corrected table counts at once. Only
 * the mailer's line and PARAMuucpname above that line are checked, as an error
 * in another line is no reason for this mail to wait.  An error is reported
 * with file and line, and nothing of such a line is used: a program that is
 * started with half its arguments could do anything with a message.
 *
 * A line "PARAMuucpname name" above the others sets our name in UUCP.
 *
 * sm.c knows the meaning of flags and arguments.
 */
#include "table.h"

#define FLAGS		"mfrnUEPRsTBbX"	/* flags that mean something */
#define FLAGS_IDLE	"78DFMShu"	/* flags of ZMailer that we ignore */

/* The place of an error, and the memory for the reason. */
struct place {
	const char *file;
	unsigned long line;	/* 0: the file as a whole */
	char	*why;
	size_t	size;		/* bytes of why */
};

/* Sets the reason, with the place.  Returns -1. */
static int
set_error(struct place *at, const char *what, const char *arg)
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

/* Cuts the next word off *p, and removes its quotes in place.  Returns NULL if
 * there is no word; *p is then "", or "\"" if a quote is not closed. */
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

/* Sets the mailer from p, the rest of its line behind the name: 0 or -1. */
static int
parse_mailer(struct mailer *m, struct place *at, char *p)
{
	char *word, *dollar, flag[2] = "";

	m->flags = cut_word(&p);
	m->path = cut_word(&p);
	for (m->nwords = 0; (word = cut_word(&p)) != NULL; m->nwords++) {
		if (m->nwords == TABLE_WORDS)
			return set_error(at, "%s has too many arguments",
			    m->name);
		dollar = word;
		while ((dollar = strchr(dollar, '$')) != NULL) {
			if (dollar[1] == '\0' ||
			    strchr("ghu$", dollar[1]) == NULL)
				return set_error(at, "%s: after a $ comes g, "
				    "h, u or $", word);
			dollar += 2;
		}
		m->words[m->nwords] = word;
	}
	if (*p != '\0')
		return set_error(at, "a quote of %s is not closed", m->name);
	if (m->nwords == 0)
		return set_error(at, "%s needs flags, a path, and the name the "
		    "program is called by", m->name);
	if (m->path[0] != '/')
		return set_error(at, "%s: the path must begin with /", m->path);
	if (strcmp(m->flags, "-") == 0)
		return 0;
	flag[0] = m->flags[strspn(m->flags, FLAGS FLAGS_IDLE)];
	if (flag[0] != '\0')
		return set_error(at, "there is no flag %s", flag);
	if (strchr(m->flags, 'n') != NULL && strchr(m->flags, 'U') != NULL)
		return set_error(at, "%s exclude each other", "flags n and U");
	return 0;
}

/* Sets our name in UUCP from p, the rest of a line: 0 or -1. */
static int
parse_uucp_name(struct mailer *m, struct place *at, char *p)
{
	const char *word = cut_word(&p);

	if (word == NULL || cut_word(&p) != NULL ||
	    text_fmt(m->uucp, sizeof(m->uucp), "%s", word) < 0 ||
	    word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0')
		return set_error(at, "%s needs one name of at most 63 letters, "
		    "digits, _ and -", "PARAMuucpname");
	return 0;
}

/* Reads an open file up to the line of the name: 0, or -1 with the reason. */
static int
find_mailer(struct mailer *m, struct place *at, int fd, const char *name)
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
		    parse_uucp_name(m, at, p) < 0)
			return -1;
		if (word == NULL || strcmp(word, name) != 0)
			continue;
		if (l.overlong || strlen(l.line) != l.len)
			return set_error(at, "the line of %s is too long, or "
			    "has a byte 0", name);
		m->name = name;
		return parse_mailer(m, at, p);
	}
	at->line = 0;
	return l.error != 0 ? set_error(at, "%s", strerror(l.error)) :
	    set_error(at, "there is no line for %s", name);
}

int
table_find(struct mailer *m, const char *file, const char *name, char *why,
    size_t size)
{
	struct place at;
	int fd, result;

	at.file = file;
	at.line = 0;
	at.why = why;
	at.size = size;
	fd = open(file, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return set_error(&at, "%s", strerror(errno));
	result = find_mailer(m, &at, fd, name);
	close(fd);
	return result;
}
