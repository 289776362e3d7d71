/*
 * form.h - the texts of reports that a postmaster can write: see form.c.
 */
#ifndef FORM_H
#define FORM_H

#include "util.h"

#define FORM_LINE	1000	/* bytes of a line that are read at once */

/* Opens dir/name: NULL when there is none (errno is ENOENT, or EINVAL for a
 * name that may not be one) or it cannot be read. */
FILE	*form_open(const char *dir, const char *name);
/* The next line of the head, without its end: 1; or 0 at the first line of the
 * text, which has its end, or is empty when there is none. */
int	form_next(FILE *, char line[FORM_LINE]);
/* The value of a line of the head when it begins with this word, or NULL. */
char	*form_value(char *line, const char *word);
/* The address of an ADR line, and its length: NULL when it has none. */
const char *form_address(const char *value, size_t *n);
/* May the value of a HDR or ADR line stand in a header? */
int	form_is_field(const char *value);

#endif
