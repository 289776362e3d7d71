/*
 * pattern.h - patterns for addresses, in shell style: see pattern.c.
 */
#ifndef PATTERN_H
#define PATTERN_H

/* Sets *all to all alternatives of the pattern, in lower case, with a NULL at
 * the end: NULL; or to NULL: what is wrong with it, to be read behind
 * "PATTERN: ", with errno ENOMEM if there is no memory. */
const char *pat_read(const char *, char ***all);
void	pat_free(char **);
/* Does it match the text, which is in lower case? */
int	pat_match(const char *, const char *);
/* Does one of the alternatives match the address channel/host?  An address of
 * the channel dsn needs a pattern that names it: "dsn/...". */
int	pat_match_address(char *const *all, const char *address);

#endif
