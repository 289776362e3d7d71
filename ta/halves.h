/*
 * halves.h - splits an agent into two processes: see halves.c.
 */
#ifndef HALVES_H
#define HALVES_H

#include "lib.h"

struct halves {
	int	single;		/* one process does the work of both halves */
	lib_work *work;		/* called by the talker for each job */
	void	(*begin)(void);	/* called by the talker before it gives up its
				 * rights, or NULL */
	void	(*end)(void);	/* called by the talker before it ends */
	void	(*log)(const char *, size_t);	/* called by the keeper with a
				 * line of halves_send_line, or NULL */
	double	silence;	/* seconds without a request or a sign of life
				 * after which the talker is killed */
	double	parting;	/* seconds that the talker's end may take */
	const char *root;	/* root directory of the talker, NULL: ours */
	uid_t	uid;		/* user of the talker if the keeper is root */
	gid_t	gid;
	const char *promises;	/* argument of pledge in the talker */
};

/* Sets up both halves; to be called once before lib_run.  The struct stays in
 * use. */
void	halves_use(const struct halves *);
/* The lib_work of the keeper: has the talker do the job. */
void	halves_work(struct lib_job *);
/* Ends the talker, if there is one; exit calls it, too. */
void	halves_end(void);

/* Sends a line from the talker to the keeper's log function. */
void	halves_send_line(const char *, size_t);
/* Sends a sign of life from a talker that waits.  halves_beat_interval returns
 * the most seconds between two calls. */
void	halves_beat(void);
double	halves_beat_interval(void);

#endif
