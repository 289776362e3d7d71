/*
 * form.c - reads a form, a postmaster's text for DSNs.
 *
 *	HDR Organization: example	a field of the header
 *	SUB Returned mail		the subject; ZMailer's forms have
 *					Subject: before it
 *	ADR Bcc: <postmaster>		a field; its address gets the DSN, too
 *	The first line without such a word begins the text.
 *
 * A form is read line by line each time it is used, so that a change counts at
 * once.  The caller decides what to do with the lines.
 */
#include "form.h"
#include "ctlfile.h"

FILE *
form_open(const char *dir, const char *name)
{
	char path[1200];
	struct stat st;
	FILE *f;
	int fd;

	errno = EINVAL;
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_-"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] != '\0' ||
	    text_fmt(path, sizeof(path), "%s/%s", dir, name) < 0)
		return NULL;
	fd = open(path, O_RDONLY | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
	    (f = fdopen(fd, "r")) != NULL)
		return f;
	close(fd);
	errno = EINVAL;
	return NULL;
}

char *
form_value(char *line, const char *word)
{
	size_t n = strlen(word);

	return strncmp(line, word, n) == 0 && line[n] == ' ' ?
	    line + n + 1 : NULL;
}

int
form_next_head_line(FILE *form, char line[FORM_LINE])
{
	char *value;

	if (fgets(line, FORM_LINE, form) == NULL) {
		line[0] = '\0';
		return 0;
	}
	if (form_value(line, "HDR") == NULL &&
	    form_value(line, "SUB") == NULL && form_value(line, "ADR") == NULL)
		return 0;
	line[strcspn(line, "\r\n")] = '\0';
	/* the caller gets the subject without the name of its field */
	value = form_value(line, "SUB");
	if (value != NULL && ctl_is_word(value, 8, "SUBJECT:"))
		memmove(value, value + 8 + strspn(value + 8, " \t"),
		    strlen(value + 8 + strspn(value + 8, " \t")) + 1);
	return 1;
}

const char *
form_address(const char *value, size_t *n)
{
	const char *from = strchr(value, '<');

	if (from == NULL || (*n = strcspn(from + 1, "<>")) == 0)
		return NULL;
	return from + 1;
}

int
form_is_field(const char *value)
{
	size_t n = strcspn(value, ": \t");

	return n > 0 && value[n] == ':';
}
