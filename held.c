/*
 * held.c - the list of holds, which operators set and release.
 *
 * A hold is on a message, by the name of its files without hash directories,
 * or on addresses, by a pattern for channel/host as in scheduler.cf(5).  A hold
 * lasts until its release or the end of its message, also over a restart: each
 * change writes the whole list to a new file, syncs it and renames it to
 * $POSTOFFICE/.mailq.holds.  A hold is a line:
 *
 *	message 107-1
 *	address smtp/kept*
 *
 * A hold that cannot be written to disk is refused, since it would end at the
 * next start.
 *
 * Names are used again for new files.  At the start a hold on a message that is
 * not in the spool is therefore dropped.
 *
 * This module does not know queues: thread.c and queue.c ask it about new
 * mail, status.c after a change; queue.c releases the hold on a message that
 * ends.  A question costs O(holds), and a change writes all of them; holds are
 * few.
 */
#include "scheduler.h"

static char path[PATH_MAX_];	/* the file of holds */

/* Returns the link that points to the hold, or the link at the end of the list
 * if there is none. */
static struct hold **
find_link(int is_address, const char *text)
{
	struct hold **p;

	if (!is_address)
		text = name_base(text);
	for (p = &q.holds; *p != NULL; p = &(*p)->next)
		if (((*p)->patterns != NULL) == is_address &&
		    strcmp((*p)->text, text) == 0)
			break;
	return p;
}

/* Returns a new hold, not in the list yet; or NULL with errno EINVAL if the
 * pattern is wrong, or ENOMEM. */
static struct hold *
new_hold(int is_address, const char *text)
{
	struct hold *h = mem_get(sizeof(*h) + strlen(text));

	if (h == NULL)
		return NULL;
	strcpy(h->text, text);
	if (is_address && pat_expand(text, &h->patterns) != NULL) {
		free(h);
		return NULL;
	}
	return h;
}

/* ---- the file -------------------------------------------------------- */

static void
print_holds(FILE *f)
{
	const struct hold *h;

	for (h = q.holds; h != NULL; h = h->next) {
		fputs(h->patterns != NULL ? "address " : "message ", f);
		fputs(h->text, f);
		putc('\n', f);
	}
}

/* Adds the hold of a line, or sets *dropped if its message is gone: 0, or -1
 * without memory. */
static int
parse_hold(char *line, int *dropped)
{
	int is_address = strncmp(line, "address ", 8) == 0;
	char name[NAME_MAX_];
	struct hold **p;

	line[strcspn(line, "\n")] = '\0';
	if (*line == '\0')
		return 0;
	if ((is_address || strncmp(line, "message ", 8) == 0) &&
	    line[8] != '\0') {
		/* ENOENT: the message is gone.  Another errno: a directory
		 * cannot be searched now, and the hold is kept. */
		if (!is_address && spool_find_file(line + 8, name) < 0 &&
		    errno == ENOENT) {
			log_info("holds msg=%s is not in the spool; its hold "
			    "is dropped", line + 8);
			*dropped = 1;
			return 0;
		}
		p = find_link(is_address, line + 8);
		if (*p != NULL || (*p = new_hold(is_address, line + 8)) != NULL)
			return 0;
		if (errno == ENOMEM)
			return -1;
	}
	log_warn("holds %s is no hold and is ignored", line);
	return 0;
}

/* If the file exists and cannot be read, or there is no memory for a hold,
 * nothing is started: held mail would be delivered. */
int
held_read_file(void)
{
	char line[2 * WORD_MAX_];
	int fd, bad, dropped = 0;
	FILE *f;

	text_fmt(path, sizeof(path), "%s/.mailq.holds", opt.postoffice);
	fd = fd_open_own(path, O_RDONLY, 0);
	if (fd < 0 && errno == ENOENT)
		return 0;
	f = fd < 0 ? NULL : fdopen(fd, "r");
	bad = f == NULL;
	while (!bad && fgets(line, sizeof(line), f) != NULL)
		bad = parse_hold(line, &dropped) < 0;
	if (bad || ferror(f)) {
		log_err("holds file=%s %s; nothing is started", path,
		    fd_open_own_error());
		return -1;
	}
	fclose(f);
	if (dropped && fd_replace(path, print_holds) < 0)
		log_warn("holds file=%s cannot be written: %s", path,
		    strerror(errno));
	return 0;
}

/* ---- questions ------------------------------------------------------- */

const char *
held_match_address(const char *channel, const char *host)
{
	const struct hold *h = q.holds;
	char address[2 * WORD_MAX_];

	text_fmt(address, sizeof(address), "%s/%s", channel, host);
	while (h != NULL && (h->patterns == NULL ||
	    !pat_matches_address(h->patterns, address)))
		h = h->next;
	return h != NULL ? h->text : NULL;
}

const struct hold *
held_get(int is_address, const char *text)
{
	return *find_link(is_address, text);
}

/* ---- changes --------------------------------------------------------- */

/* Changes the list, and restores it if it cannot be written. */
int
held_set(int is_address, const char *text, int on)
{
	struct hold **p = find_link(is_address, text), *h = *p;
	int bad;

	if ((h != NULL) == on)
		return 0;
	if (on) {
		h = new_hold(is_address, is_address ? text : name_base(text));
		if (h == NULL)
			return -1;
	}
	*p = on ? h : h->next;
	bad = fd_replace(path, print_holds) < 0;
	if (bad)
		*p = on ? NULL : h;
	if (*p != h) {		/* a released hold, or a new one not written */
		pat_free(h->patterns);
		free(h);
	}
	return bad ? -1 : 0;
}
