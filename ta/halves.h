/*
 * halves.h - splits an agent into two processes: see halves.c.
 */
#ifndef HALVES_H
#define HALVES_H

#include "lib.h"

struct halves {
	int	one;		/* there is one process, which does the work of
				 * both halves */
	lib_work *work;		/* the talker's work on a job */
	void	(*begin)(void);	/* called in the talker before it changes its
				 * user; or NULL */
	void	(*end)(void);	/* called in the talker before it ends */
	void	(*log)(const char *, size_t);	/* called in the keeper with a
				 * line of halves_log */
	double	silence;	/* seconds without a line after which the
				 * talker counts as hung */
	double	parting;	/* seconds that the talker's end may take */
	const char *root;	/* the talker's chroot, NULL: none */
	uid_t	uid;		/* the talker's, if the keeper is root */
	gid_t	gid;
	const char *promises;	/* what the talker does (OpenBSD) */
};

/* Sets up both halves; to be called once before lib_run.  The struct stays in
 * use. */
void	halves_use(const struct halves *);
/* The lib_work of the keeper: has the talker do the job. */
void	halves_work(struct lib_job *);
/* Ends the talker, if there is one; exit calls it, too. */
void	halves_end(void);

/* Sends a line from the talker to the keeper's log function. */
void	halves_log(const char *, size_t);
/* Sends a sign of life from a talker that waits; to be called at least every
 * halves_nap() seconds. */
void	halves_beat(void);
double	halves_nap(void);

#endif
