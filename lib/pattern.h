/*
 * pattern.h - patterns for addresses, in shell style: see pattern.c.
 */
#ifndef PATTERN_H
#define PATTERN_H

/* Sets *all to all alternatives of the pattern, in lower case, with a NULL at
 * the end, and returns NULL.  Or sets *all to NULL and returns what is wrong
 * with the pattern, to be read behind "PATTERN: "; errno is ENOMEM without
 * memory, else EINVAL. */
const char *pat_expand(const char *, char ***all);
void	pat_free(char **);
/* Returns 1 if the alternative matches the text, which is in lower case. */
int	pat_matches(const char *, const char *);
/* Returns 1 if one of the alternatives matches the address channel/host.  An
 * address of the channel dsn needs a pattern that begins with "dsn/". */
int	pat_matches_address(char *const *all, const char *address);

#endif
