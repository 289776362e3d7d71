/*
 * form.h - reads a form, a postmaster's text for DSNs: see form.c.
 */
#ifndef FORM_H
#define FORM_H

#include "util.h"

#define FORM_LINE	1000	/* bytes that are read at once, with NUL */

/* Opens dir/name, or returns NULL with errno: ENOENT if there is no such file,
 * EINVAL if the name is not allowed or the file is not regular. */
FILE	*form_open(const char *dir, const char *name);
/* Reads the next line.  Returns 1 for a line of the head, which is without its
 * newline; 0 for the first line of the text, which has its newline, and is
 * empty if there is no text. */
int	form_next_head_line(FILE *, char line[FORM_LINE]);
/* Returns the value of a line of the head that begins with this word; NULL if
 * it begins with another word. */
char	*form_value(char *line, const char *word);
/* Returns the address in the value of an ADR line, and sets n to its length;
 * NULL if there is none. */
const char *form_address(const char *value, size_t *n);
/* Returns 1 if the value of a HDR or ADR line is a field of a header. */
int	form_is_field(const char *value);

#endif
