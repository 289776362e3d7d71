/*
 * defer.c - moves mail that cannot be routed yet to deferred/.
 *
 * If a run cannot take a file for now, it moves the file to deferred/, where
 * later runs try it again; other files do not have to wait for it:
 *
 *	router/1057616		cannot be read: Permission denied
 *	deferred/1057616	the same file
 *	deferred/1057616.why	1 1795392000 cannot be read: Permission denied
 *
 * The file .why has the number of tries, a number that changes with the table,
 * and the reason.  See lib/deferred.c for the pauses between tries.  When the
 * table changes, all files are due, since the table may have been the reason.
 * The reason is written before the file is moved: a crash leaves a reason
 * without a file, which a later run removes.  If a step fails, the file stays
 * where it is.
 */
#include "submit.h"
#include "../lib/deferred.h"
#include <dirent.h>

int
defer_move_file(const char *po, const char *path, const char *base,
    unsigned long table_id, const char *why)
{
	const char *to = path_in(po, DEFERRED "/%s", base);
	int is_there = strcmp(path, to) == 0;
	struct deferred d;

	if (rights_make_dir(po, DEFERRED, 022) < 0)
		return -1;
	if (!is_there && path_may_exist(to)) {
		say("stays, as %s is there already", to);
		return -1;
	}
	if (!is_there || deferred_read_why(po, base, &d) < 0)
		d.tries = 0;
	d.tries++;
	d.mark = table_id;
	text_fmt(d.reason, sizeof(d.reason), "%s", why);
	if (deferred_write_why(po, base, &d) < 0)
		return say_cannot("write the reason for", to);
	if (is_there || rename(path, to) == 0)
		return 0;
	say_cannot("move it to", to);
	deferred_remove_why(po, base);
	return -1;
}

long
defer_wait(const char *po, const char *base, unsigned long table_id)
{
	struct deferred d;

	return deferred_read_why(po, base, &d) < 0 || table_id != d.mark ? 0 :
	    d.wait;
}

long
defer_next_wait(const char *po, unsigned long table_id)
{
	long wait = -1, left;
	DIR *dir = opendir(path_in(po, DEFERRED));
	struct dirent *e;
	char num[64];

	while (dir != NULL && (e = readdir(dir)) != NULL) {
		if (deferred_num_of_why(e->d_name, num, sizeof(num)) != NULL &&
		    !path_may_exist(path_in(po, DEFERRED "/%s", num)))
			deferred_remove_why(po, num);
		if (!deferred_is_name(e->d_name))
			continue;
		left = defer_wait(po, e->d_name, table_id);
		if (wait < 0 || left < wait)
			wait = left;
	}
	if (dir != NULL)
		closedir(dir);
	return wait;
}
