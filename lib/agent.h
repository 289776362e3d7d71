/*
 * agent.h - what agents and submit need of the system, and the daemon does not.
 */
#ifndef AGENT_H
#define AGENT_H

#include "ctlfile.h"

/* The six bytes of a lock for a process number; ctlfile.c reads them. */
void	line_lock(char field[7], long pid);
/* An agent's fcntl lock on the control file of its job, which ctl_held sees.
 * Closing any descriptor of the file ends it.  0, or -1 with errno: another has
 * it, or there are no locks. */
int	line_hold(int fd);
/* Byte CONTROL_MAX itself, for whoever takes recipients: locks it without
 * waiting, or unlocks it.  0, or -1 with errno. */
int	line_guard(int fd, int on);

void	fd_close_from(int fd);	/* it and all above, before an exec */
/* The names in it are on disk: 0, 1 where that cannot be done here or by us, or
 * -1. */
int	dir_sync(const char *path);

#endif
