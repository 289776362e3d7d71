/*
 * pattern.h - patterns for addresses, in shell style: see pattern.c.
 */
#ifndef PATTERN_H
#define PATTERN_H

/* What is wrong with the pattern, or NULL. */
const char *pat_check(const char *);
/* All alternatives of a good pattern, in lower case, with a NULL at the end;
 * NULL when there are too many, or no memory. */
char	**pat_expand(const char *);
void	pat_free(char **);
/* Does it match the text, which is in lower case? */
int	pat_match(const char *, const char *);
/* Does one of all mean this address, channel/host?  Those of the channel dsn
 * only when it names the channel: "dsn/...". */
int	pat_means(char *const *all, const char *address);
/* Does one of all mean whatever this alternative of another means?  0: perhaps
 * not. */
int	pat_covers(char *const *all, const char *pattern);

#endif
