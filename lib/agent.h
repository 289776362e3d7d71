/*
 * agent.h - system calls for agents and submit: see agent.c.
 */
#ifndef AGENT_H
#define AGENT_H

#include "ctlfile.h"

/* OpenBSD: a process says what it will still do and open. */
#ifndef HAVE_PLEDGE
#define pledge(promises, later) 0
#define unveil(path, rights) ((void)(path))
#endif

/* The six bytes of a lock for a process number; ctlfile.c reads them. */
void	line_lock(char field[7], long pid);
/* Sets our fcntl lock on the control file of a job; ctlfile.c asks for it.
 * Closing any descriptor of the file ends it.  0, or -1 with errno: another
 * process has the lock, or there are no locks. */
int	line_hold(int fd);
/* Locks byte CONTROL_MAX itself, the guard of agents that take recipients,
 * without waiting; or unlocks it.  0, or -1 with errno. */
int	line_guard(int fd, int on);

void	fd_close_from(int fd);	/* it and all above, before an exec */
/* Syncs the directory, so that new names in it are on disk: 0; 1 if this is not
 * possible here or for us; -1 with errno. */
int	dir_sync(const char *path);

#endif
