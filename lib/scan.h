/*
 * scan.h - lists the files of a directory, oldest first: see scan.c.
 */
#ifndef SCAN_H
#define SCAN_H

struct scanned {
	char	*name;
	long	mtime;		/* wall; 0: not known */
	int	regular;	/* the entry is a regular file */
};

struct scan {
	struct scanned *v;
	unsigned n;
};

/* Lists the files of dir in the post office whose names fit: 0, or -1 with
 * errno. */
int	scan_read(struct scan *, const char *po, const char *dir,
	    int (*fits)(const char *));
void	scan_free(struct scan *);
/* Returns the number of files whose names fit. */
unsigned scan_count(const char *po, const char *dir,
	    int (*fits)(const char *));

#endif
