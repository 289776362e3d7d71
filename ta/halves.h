/*
 * halves.h - splits an agent into two processes: see halves.c.
 */
#ifndef HALVES_H
#define HALVES_H

#include "lib.h"

struct halves {
	int	one;		/* there is no talker: the keeper does its work
				 * itself, and this is all that follows */
	lib_work *work;		/* the talker's, with lib.h as everywhere */
	void	(*begin)(void);	/* ... as who the keeper is; NULL: nothing */
	void	(*end)(void);	/* ... before it ends, without a job */
	void	(*log)(const char *, size_t);	/* the keeper's: any bytes */
	double	silence;	/* seconds without a word: it hangs */
	double	parting;	/* seconds that its end may take */
	const char *root;	/* for chroot, NULL: none */
	uid_t	uid;		/* the talker's, when we are root */
	gid_t	gid;
	const char *promises;	/* what the talker does (OpenBSD) */
};

/* To be called once, before lib_run; the struct is kept. */
void	halves_use(const struct halves *);
/* The keeper's work: the talker does it. */
void	halves_work(struct lib_job *);
/* Has the talker end, if there is one; done at exit, too. */
void	halves_end(void);

/* For the talker: a line for the keeper's log. */
void	halves_log(const char *, size_t);
/* A sign of life from a talker that waits, at least every halves_nap()
 * seconds. */
void	halves_beat(void);
double	halves_nap(void);

#endif
