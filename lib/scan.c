/*
 * scan.c - lists the files of a directory, oldest first, and the directories of
 * routers, for submit and mailq.
 *
 *	12:00:01  1234
 *	12:00:07  99	the shorter number first, then in order of digits
 *	12:00:07  1235
 *
 * Files are ordered by modification time in whole seconds; the name decides
 * between equal times, so that two runs agree.  The list is made once for a
 * run; files that come later are for the next run.  If there is no memory for
 * all names, the list has the names read so far.
 */
#include "scan.h"
#include "agent.h"
#include "path.h"
#include <dirent.h>

static int
compare(const void *pa, const void *pb)
{
	const struct scanned *a = pa, *b = pb;
	size_t na, nb;

	if (a->mtime != b->mtime)
		return a->mtime < b->mtime ? -1 : 1;
	na = strlen(a->name);
	nb = strlen(b->name);
	if (na != nb)
		return na < nb ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Adds a file: 0, or -1 without memory. */
static int
add_file(struct scan *s, const char *path, const char *base, unsigned *size)
{
	struct scanned *f;
	struct stat st;

	if (mem_grow((void **)&s->v, s->n, size, sizeof(*s->v)) < 0)
		return -1;
	memset(&st, 0, sizeof(st));
	lstat(path, &st);
	f = &s->v[s->n];
	f->mtime = (long)st.st_mtime;
	f->is_regular = S_ISREG(st.st_mode);
	f->name = mem_dup(base);
	s->n += f->name != NULL;
	return f->name == NULL ? -1 : 0;
}

int
scan_read(struct scan *s, const char *po, const char *dir,
    int (*fits)(const char *))
{
	DIR *d = opendir(path_in(po, "%s", dir));
	unsigned size = 0;
	struct dirent *e;

	s->v = NULL;
	s->n = 0;
	if (d == NULL)
		return -1;
	while ((e = readdir(d)) != NULL)
		if (fits(e->d_name) && add_file(s, path_in(po, "%s/%s", dir,
		    e->d_name), e->d_name, &size) < 0)
			break;
	closedir(d);
	if (s->n > 1)
		qsort(s->v, s->n, sizeof(*s->v), compare);
	return 0;
}

void
scan_free(struct scan *s)
{
	while (s->n > 0)
		free(s->v[--s->n].name);
	free(s->v);
	s->v = NULL;
}

unsigned
scan_count(const char *po, const char *dir, int (*fits)(const char *))
{
	DIR *d = opendir(path_in(po, "%s", dir));
	unsigned n = 0;
	struct dirent *e;

	while (d != NULL && (e = readdir(d)) != NULL)
		n += fits(e->d_name);
	if (d != NULL)
		closedir(d);
	return n;
}

/* ---- the directories ------------------------------------------------- */

/* Copies the value of ROUTERDIRS, of the environment or else of the file that
 * ZCONFIG names; "" if neither has it.  Lines that set no variable are ignored,
 * as the file may be a script.  0, or -1 with errno. */
static int
read_routerdirs(char value[OFFICE_LINE])
{
	const char *file = env_get("ZCONFIG", NULL), *s;
	char line[OFFICE_LINE];
	unsigned at = 0;
	FILE *f;

	text_fmt(value, OFFICE_LINE, "%s", env_get("ROUTERDIRS", ""));
	if (*value != '\0' || file == NULL)
		return 0;
	f = fopen(file, "r");
	if (f == NULL)
		return -1;
	do {
		s = office_next_var(f, line, &at);
		if (s != NULL && strncmp(s, "ROUTERDIRS=", 11) == 0)
			strcpy(value, s + 11);
	} while (*value == '\0' && at > 0);
	fclose(f);
	return 0;
}

int
office_read_routers(struct office_routers *r)
{
	/* directories of the post office that are no router's */
	static const char own[] =
	    ":public:private:queue:transport:postman:freezer:";
	char list[OFFICE_LINE], name[OFFICE_LINE + 2], *p;
	int i;

	r->v[0] = "router";
	r->n = 1;
	if (read_routerdirs(list) < 0) {
		text_fmt(r->why, sizeof(r->why), "cannot read %s: %s",
		    getenv("ZCONFIG"), strerror(errno));
		return -1;
	}
	text_fmt(r->list, sizeof(r->list), "%s:" OFFICE_BULK, list);
	for (p = strtok(r->list, ":"); p != NULL; p = strtok(NULL, ":")) {
		for (i = 0; i < r->n && strcmp(r->v[i], p) != 0; i++)
			;
		text_fmt(name, sizeof(name), ":%s:", p);
		if (*p == '.' || strchr(p, '/') != NULL ||
		    i == OFFICE_ROUTERS || strstr(own, name) != NULL) {
			text_fmt(r->why, sizeof(r->why), "ROUTERDIRS=%s: %s "
			    "is no directory of a router, or there are more "
			    "than eight", list, p);
			r->n = 1;
			return -1;
		}
		if (i == r->n && strcmp(p, "deferred") != 0)
			r->v[r->n++] = p;
	}
	return 0;
}
