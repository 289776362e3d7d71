/*
 * router.c - what the router tells the scheduler.
 *
 * The router says "NEW name" on our socket when it has put a control file into
 * transport/, which is then found without a scan.  This is a datagram and a
 * favour: what is not said or not heard is found by looking.  The agent dsn
 * says the same to the router of a DSN (lib/post.c).
 */
#include "scheduler.h"

#ifndef NO_TCP
#include <sys/socket.h>
#include <sys/un.h>
#endif
#ifdef NO_SYMLINK
#define lstat stat
#endif

static int notify_fd = -1;

#ifdef NO_TCP
void
router_listen(const char *path)
{
	log_info("notify path=%s is not used: built without sockets", path);
}

int
router_said(char *name)
{
	(void)name;
	return 0;
}

void
router_close(void)
{
}
#else
static char notify_path[PATH_MAX_];

void
router_listen(const char *path)
{
	struct sockaddr_un sun;
	struct stat there;
	mode_t was;

	memset(&sun, 0, sizeof(sun));
	sun.sun_family = AF_UNIX;
	if (text_fmt(notify_path, sizeof(notify_path), "%s", path) < 0 ||
	    strlen(path) >= sizeof(sun.sun_path)) {
		log_warn("notify path=%s is too long; new mail is found by "
		    "scanning", path);
		return;
	}
	strcpy(sun.sun_path, path);
	notify_fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	if (lstat(path, &there) == 0 && S_ISSOCK(there.st_mode))
		unlink(path);		/* what a crash left; nothing else */
	was = umask(0577);
	if (notify_fd < 0 || fd_cloexec(notify_fd) < 0 ||
	    fd_nonblock(notify_fd) < 0 ||
	    bind(notify_fd, (struct sockaddr *)&sun, sizeof(sun)) < 0) {
		log_warn("notify path=%s %s; new mail is found by scanning",
		    path, strerror(errno));
		if (notify_fd >= 0)
			close(notify_fd);
		notify_fd = -1;
	}
	umask(was);
}

int
router_said(char *name)
{
	char msg[128];
	long n;

	while (notify_fd >= 0 &&
	    (n = (long)recv(notify_fd, msg, sizeof(msg) - 1, 0)) >= 0) {
		msg[n] = '\0';
		msg[strcspn(msg, "\r\n")] = '\0';
		if (strncmp(msg, "NEW ", 4) == 0 && name_in(msg + 4) != NULL &&
		    text_fmt(name, NAME_MAX_, "%s", msg + 4) == 0)
			return 1;
	}
	return 0;
}

void
router_close(void)
{
	if (notify_fd < 0)
		return;
	close(notify_fd);
	notify_fd = -1;
	unlink(notify_path);
}
#endif

int
router_fd(void)
{
	return notify_fd;
}
