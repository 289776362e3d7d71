/*
 * name.c - finds a message by one of its names.
 *
 *	107-1		its file in transport/ and queue/
 *	S107AbmKVCyz	its spool id: the name in the log, statistics and DSNs
 *	S107Ab, 10	the beginning of one of these names, if no other message
 *			has a name with this beginning
 *	router/98, 98	its file in router/, as submit -v prints it
 *	deferred/98	its file in deferred/, as mailq lists it
 *
 * The scheduler knows only the name 107-1, so mailq finds that before it sends
 * a command.  The log of submit -q tells which message a file of router/ or
 * deferred/ became: the run that queues a file writes a line "accepted
 * router=98 id=S107AbmKVCyz".  That log is the file submit or submit.log beside
 * the scheduler's log, or the scheduler's log itself.
 *
 * If no clock was set, a spool id ends with a dot and the number of starts of
 * the scheduler (lib/office.c).  The number in the id of a waiting message
 * grows with each start, so ids are compared without the dot and the number.
 */
#include "mq.h"
#include "../lib/deferred.h"
#include "../lib/scan.h"
#include <ctype.h>

int
mq_is_id(const char *s)
{
	return s[0] == 'S' && isdigit((unsigned char)s[1]) &&
	    strchr(s, '/') == NULL && strlen(s) < MQ_NAME_MAX;
}

const char *
mq_frozen_name(const char *s)
{
	return strncmp(s, "freezer/", 8) == 0 && isdigit((unsigned char)s[8]) &&
	    strchr(s + 8, '/') == NULL && strlen(s) < 100 ? s + 8 : NULL;
}

const char *
mq_router_num(const char *s)
{
	const char *num = name_base(s);
	size_t n = (size_t)(num - s);
	struct office_routers r;
	int i;

	if (!deferred_is_name(num))
		return NULL;
	if (n == 0 || (n == sizeof(DEFERRED "/") - 1 &&
	    strncmp(s, DEFERRED "/", n) == 0))
		return num;
	office_read_routers(&r);
	for (i = 0; i < r.n; i++)
		if (strlen(r.v[i]) == n - 1 && strncmp(s, r.v[i], n - 1) == 0)
			return num;
	return NULL;
}

const char *
mq_find_unqueued_dir(const char *po, const char *num)
{
	static struct office_routers r;
	struct stat st;
	const char *dir;
	int i;

	office_read_routers(&r);
	for (i = 0; i < r.n + 2; i++) {
		dir = i == r.n ? DEFERRED : "freezer";
		if (i < r.n)
			dir = r.v[i];
		if (lstat(path_in(po, "%s/%s", dir, num), &st) == 0 &&
		    S_ISREG(st.st_mode))
			return dir;
	}
	return NULL;
}

int
mq_make_id(const char *name, const char *po, char *id, size_t size)
{
	return po == NULL || name_parse(name) == NULL ? -1 :
	    spool_id(name, NULL, path_in(po, "queue/%s", name), id, size);
}

enum mq_same
mq_compare_id(const char *id, const char *wanted)
{
	size_t n = strcspn(wanted, "."), m = strcspn(id, ".");

	if (strncmp(id, wanted, n) != 0 || (wanted[n] == '.' && m != n))
		return MQ_DIFFERS;
	return m == n ? MQ_SAME : MQ_BEGINS;
}

/* Compares the word with the name of the message, or with its id. */
static enum mq_same
compare_name(const char *name, const char *word, const char *po)
{
	const char *base = name_base(name), *end;
	char id[80];
	size_t n = strlen(word);

	if (*word != 'S' && strncmp(base, word, n) != 0)
		return MQ_DIFFERS;
	if (*word != 'S')
		return base[n] == '\0' ? MQ_SAME : MQ_BEGINS;
	/* mq_make_id needs an lstat, and nearly all numbers differ */
	num_of(word + 1, &end);
	if (strncmp(base, word + 1, (size_t)(end - word - 1)) != 0 ||
	    mq_make_id(name, po, id, sizeof(id)) < 0)
		return MQ_DIFFERS;
	return mq_compare_id(id, word);
}

/* ---- the spool --------------------------------------------------------- */

/* found: the messages that the word may name. */
struct found {
	const char *po, *word;
	char	*name;		/* the last one, MQ_NAME_MAX bytes */
	unsigned many;
	enum mq_same same;	/* the word, compared with the last one; MQ_SAME
				 * ends the search */
};

static void
match_name(void *arg, const char *name)
{
	struct found *f = arg;
	enum mq_same same;

	if (f->same == MQ_SAME ||
	    (same = compare_name(name, f->word, f->po)) == MQ_DIFFERS)
		return;
	text_fmt(f->name, MQ_NAME_MAX, "%s", name);
	f->same = same;
	f->many = same == MQ_SAME ? 1 : f->many + 1;
}

unsigned
mq_find_names(const struct mq_queue *q, const char *po, const char *word,
    char name[MQ_NAME_MAX])
{
	struct found f;
	unsigned i;

	memset(&f, 0, sizeof(f));
	f.po = po;
	f.word = word;
	f.name = name;
	for (i = 0; q != NULL && i < q->nmsgs; i++)
		match_name(&f, q->msgs[i].name);
	errno = 0;
	if (q == NULL)
		path_walk_messages(po, "transport", match_name, &f);
	return f.many;
}

/* ---- logs -------------------------------------------------------------- */

FILE *
mq_log_open(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return NULL;
	if (S_ISREG(st.st_mode))
		return fopen(path, "r");
	errno = S_ISDIR(st.st_mode) ? EISDIR : ESPIPE;
	return NULL;
}

int
mq_log_word(const char *line, const char *key, char *word, size_t size)
{
	const char *p = strstr(line, key);

	if (p == NULL)
		return -1;
	p += strlen(key);
	return text_fmt(word, size, "%.*s", (int)strcspn(p, " \n"), p);
}

/* Reads the last id that the log has for the file: 0, or -1 for none. */
static int
read_accepted(const char *path, const char *num, char *id, size_t size)
{
	char line[LINE_MAX_], n[48];
	FILE *f = mq_log_open(path);
	int found = -1;

	if (f == NULL)
		return -1;
	while (fgets(line, sizeof(line), f) != NULL)
		if (strstr(line, " accepted router=") != NULL &&
		    mq_log_word(line, " router=", n, sizeof(n)) == 0 &&
		    strcmp(n, num) == 0 &&
		    mq_log_word(line, " id=", id, size) == 0 && mq_is_id(id))
			found = 0;
	fclose(f);
	return found;
}

int
mq_find_accepted(const char *logfile, const char *num, char *id, size_t size)
{
	char path[MQ_PATH_MAX];
	const char *slash = strrchr(logfile, '/');
	int i, n = slash == NULL ? 0 : (int)(slash + 1 - logfile);

	for (i = 0; i < 2; i++)
		if (text_fmt(path, sizeof(path), "%.*ssubmit%s", n, logfile,
		    i == 0 ? "" : ".log") == 0 &&
		    read_accepted(path, num, id, size) == 0)
			return 0;
	return read_accepted(logfile, num, id, size);
}

/* ---- the spool and the logs --------------------------------------------- */

int
mq_find_file(const char *word, const char *po, const char *logfile,
    char name[MQ_NAME_MAX])
{
	const char *num = mq_router_num(word), *dir;
	const char *base = name_parse(word);
	unsigned many = mq_find_names(NULL, po, base != NULL ? base : word,
	    name);
	int error = errno;
	char id[MQ_NAME_MAX];

	if (many == 0 && num != NULL && !error) {
		dir = mq_find_unqueued_dir(po, num);
		if (dir != NULL) {
			mq_complain("%s/%s is not in the queue yet, see "
			    "\"mailq show %s/%s\"", dir, num, dir, num);
			return -1;
		}
	}
	if (many == 0 && num != NULL && mq_find_accepted(logfile, num, id,
	    sizeof(id)) == 0)
		many = mq_find_names(NULL, po, id, name);
	if (many == 1 && !error)
		return 0;
	if (many > 1)
		mq_complain("%u messages have names that begin with %s", many,
		    word);
	else if (error)
		mq_complain("%s/transport: %s", po, strerror(error));
	else
		mq_complain("no message in the queue has a name that begins "
		    "with %s", word);
	return -1;
}
