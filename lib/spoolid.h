/*
 * spoolid.h - ZMailer's name for a message: see spoolid.c.
 */
#ifndef SPOOLID_H
#define SPOOLID_H

#include "util.h"

/* The id of queue/name, from transport/: 0 or -1. */
int	spool_id(const char *name, char *id, size_t size);

#endif
