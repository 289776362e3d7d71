/*
 * turn.c - new mail and old mail take turns coming in.
 *
 * New mail has not been tried yet; old mail was put off and is due again.
 * While there is room for more messages one of each comes in turn, so that
 * neither a flood of new mail nor a large old queue keeps the other out.  When
 * the one whose turn it is has nothing that can be used, the other comes.
 *
 * When there is no more room the next turn is new mail's.  So while the core
 * stays full, each place that becomes free goes to new mail until there is
 * none: it has most to gain from a place, and old mail has waited already.
 *
 * Nothing here knows what a message is.
 */
#include "scheduler.h"

int
turn_step(struct turn *t, int (*take)(int old))
{
	int first = t->first, came, other;

	came = take(first);
	if (came > 0) {
		t->first = !first;
		return 1;
	}
	other = take(!first);
	return other > came ? other : came;
}

void
turn_full(struct turn *t)
{
	t->first = 0;
}
