/*
 * held.c - what an operator has put on hold.
 *
 * A hold is on a message, by the name of its files without hash directories,
 * or on addresses, by a pattern for channel/host as in scheduler.cf(5).  It
 * lasts until it is released, and a restart does not end it: the list is kept
 * in $POSTOFFICE/.mailq.holds, a line each, written anew beside it, synced and
 * renamed.  What cannot be written down is not held, so that nobody is
 * promised more than will be kept.
 *
 * Names come again when files are new.  A hold on a message that was not
 * there when the spool had been read once is therefore dropped.
 *
 * Nothing here knows queues; thread.c and queue.c ask when something new
 * comes, and status.c when something changes.  Each question costs O(holds),
 * and each change writes all of them: they are an operator's, and few.
 */
#include "scheduler.h"

#define FILE_NAME	".mailq.holds"

struct hold {
	struct hold *next;
	char	**patterns;	/* of addresses; NULL: a message's name */
	int	seen;		/* the message was there */
	char	text[1];
};

static struct hold *holds;

static int
path_of(char *path, size_t size, const char *end)
{
	return text_fmt(path, size, "%s/" FILE_NAME "%s", opt.postoffice, end);
}

/* ---- the list -------------------------------------------------------- */

/* Where the pointer to the hold is; to NULL when there is none. */
static struct hold **
find(int address, const char *text)
{
	struct hold **p;

	for (p = &holds; *p != NULL; p = &(*p)->next)
		if (((*p)->patterns != NULL) == address &&
		    strcmp((*p)->text, text) == 0)
			break;
	return p;
}

static void
drop(struct hold **p)
{
	struct hold *h = *p;

	*p = h->next;
	if (h->patterns != NULL)
		pat_free(h->patterns);
	free(h);
}

/* At the end, so that the file keeps its order: 0 or -1. */
static int
append(int address, const char *text)
{
	struct hold **p = find(address, text), *h;

	if (*p != NULL)
		return 0;
	h = mem_get(sizeof(*h) + strlen(text));
	if (h == NULL)
		return -1;
	strcpy(h->text, text);
	if (address && (h->patterns = pat_expand(text)) == NULL) {
		free(h);
		errno = ENOMEM;
		return -1;
	}
	while (*p != NULL)
		p = &(*p)->next;
	*p = h;
	return 0;
}

/* ---- the file -------------------------------------------------------- */

static void
print_holds(FILE *f)
{
	const struct hold *h;

	for (h = holds; h != NULL; h = h->next)
		fprintf(f, "%s %s\n", h->patterns != NULL ? "address" :
		    "message", h->text);
}

/* 0, or -1 with errno and the old file in place. */
static int
write_file(void)
{
	char path[PATH_MAX_], fresh[PATH_MAX_];

	if (path_of(path, sizeof(path), "") == 0 &&
	    path_of(fresh, sizeof(fresh), ".new") == 0)
		return fd_replace(path, fresh, print_holds);
	errno = ENAMETOOLONG;
	return -1;
}

static void
take_line(char *line)
{
	char *end = line + strlen(line);

	if (end > line && end[-1] == '\n')
		*--end = '\0';
	if (strncmp(line, "message ", 8) == 0 && line[8] != '\0')
		append(0, line + 8);
	else if (strncmp(line, "address ", 8) == 0 && line[8] != '\0' &&
	    pat_check(line + 8) == NULL)
		append(1, line + 8);
	else if (*line != '\0')
		log_warn("holds %s is no hold and is passed over", line);
}

int
held_load(void)
{
	char path[PATH_MAX_], line[2 * WORD_MAX_];
	int fd, bad;
	FILE *f;

	if (path_of(path, sizeof(path), "") < 0)
		return -1;
	fd = fd_own(path, O_RDONLY, 0);
	if (fd < 0 && errno == ENOENT)
		return 0;
	f = fd < 0 ? NULL : fdopen(fd, "r");
	bad = f == NULL;
	while (!bad && fgets(line, sizeof(line), f) != NULL)
		take_line(line);
	bad = bad || ferror(f);
	if (bad)	/* what is held would be delivered */
		log_err("holds file=%s %s; nothing is started", path,
		    fd_own_why());
	if (f != NULL)
		fclose(f);
	return bad ? -1 : 0;
}

/* ---- questions ------------------------------------------------------- */

const char *
held_address(const char *channel, const char *host)
{
	char address[2 * WORD_MAX_];
	const struct hold *h;
	char **p;

	if (holds == NULL)
		return NULL;
	text_fmt(address, sizeof(address), "%s/%s", channel, host);
	for (h = holds; h != NULL; h = h->next)
		for (p = h->patterns; p != NULL && *p != NULL; p++)
			if (pat_means(*p, address))
				return h->text;
	return NULL;
}

int
held_message(const char *name)
{
	struct hold *h = *find(0, name_base(name));

	if (h != NULL)
		h->seen = 1;
	return h != NULL;
}

/* ---- changes --------------------------------------------------------- */

int
held_add(int address, const char *text)
{
	text = address ? text : name_base(text);
	if (*find(address, text) != NULL)
		return 1;
	if (append(address, text) < 0)
		return -1;
	if (write_file() == 0)
		return 0;
	drop(find(address, text));
	return -1;
}

int
held_del(int address, const char *text)
{
	struct hold **p, *h;

	text = address ? text : name_base(text);
	p = find(address, text);
	h = *p;
	if (h == NULL)
		return 1;
	*p = h->next;
	if (write_file() < 0) {
		h->next = *p;
		*p = h;
		return -1;
	}
	h->next = NULL;
	drop(&h);
	return 0;
}

const char *
held_first(int address)
{
	const struct hold *h;

	for (h = holds; h != NULL; h = h->next)
		if ((h->patterns != NULL) == address)
			return h->text;
	return NULL;
}

void
held_settle(void)
{
	struct hold **p = &holds;
	int changed = 0;

	while (*p != NULL)
		if ((*p)->patterns == NULL && !(*p)->seen) {
			log_info("holds msg=%s is not in the spool",
			    (*p)->text);
			drop(p);
			changed = 1;
		} else {
			p = &(*p)->next;
		}
	if (changed && write_file() < 0)
		log_warn("holds %s", strerror(errno));
}
