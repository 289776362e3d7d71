/*
 * scan.h - lists files, oldest first, and directories of routers: see scan.c.
 */
#ifndef SCAN_H
#define SCAN_H

#include "office.h"

struct scanned {
	char	*name;
	long	mtime;		/* wall; 0: not known */
	int	is_regular;	/* the entry is a regular file */
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
/* Returns the number of files of dir whose names fit; 0 if dir cannot be read.
 */
unsigned scan_count(const char *po, const char *dir,
	    int (*fits)(const char *));

#define OFFICE_ROUTERS	10	/* router, eight of ROUTERDIRS, OFFICE_BULK */

/* office_routers: the directories that submit -q reads, in their order: router,
 * those of ROUTERDIRS in the environment or in the file that ZCONFIG names, and
 * OFFICE_BULK, which need not exist.  deferred in ROUTERDIRS is left out, as
 * submit -q has its own times for it. */
struct office_routers {
	const char *v[OFFICE_ROUTERS];
	int	n;
	char	list[OFFICE_LINE + 8];	/* the names, each with its NUL */
	char	why[OFFICE_LINE + 200];	/* what is wrong with ROUTERDIRS */
};

/* Reads ROUTERDIRS: 0, or -1 with why set and router as the only directory. */
int	office_read_routers(struct office_routers *);

#endif
