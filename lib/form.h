/*
 * form.h - reads a form, a postmaster's text for DSNs: see form.c.
 */
#ifndef FORM_H
#define FORM_H

#include "util.h"

#define FORM_LINE	1000	/* bytes of a line that are read at once */

/* Opens dir/name: NULL with errno; ENOENT if there is none, EINVAL for a name
 * that is not allowed. */
FILE	*form_open(const char *dir, const char *name);
/* Reads the next line of the head, without its newline: 1.  Or 0 at the first
 * line of the text, with its newline, or empty if there is no text. */
int	form_next(FILE *, char line[FORM_LINE]);
/* The value of a line of the head when it begins with this word, or NULL. */
char	*form_value(char *line, const char *word);
/* The address of an ADR line, and its length: NULL when it has none. */
const char *form_address(const char *value, size_t *n);
/* May the value of a HDR or ADR line stand in a header? */
int	form_is_field(const char *value);

#endif
