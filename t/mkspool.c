/*
 * mkspool.c - fills a post office for tests and measurements.
 *
 *	mkspool [-c channel] [-n name] [-h hosts] [-r recipients] [-f first]
 *	    dir count
 *
 * Makes count messages in dir/queue and dir/transport, numbered from first.
 * Recipients go to the hosts in turn, -r of them in a message; the names of
 * hosts begin with -n, h if there is none.
 * Message files have one line; a control file is complete when it appears.
 */
#include "../lib/util.h"

static struct {
	const char *channel, *name;
	long	hosts, rcpts, first;
} arg = { "test", "h", 1, 1, 1000 };

static void
must(int bad, const char *what)
{
	if (!bad)
		return;
	perror(what);
	exit(1);
}

static void
make(const char *dir, long i)
{
	char name[64], path[1024], final[1024];
	FILE *f;
	long r;

	text_fmt(name, sizeof(name), "%ld-1", arg.first + i);
	text_fmt(path, sizeof(path), "%s/queue/%s", dir, name);
	f = fopen(path, "w");
	must(f == NULL, path);
	fprintf(f, "body of %s\n", name);
	must(fclose(f) != 0, path);
	text_fmt(path, sizeof(path), "%s/transport/.%s", dir, name);
	text_fmt(final, sizeof(final), "%s/transport/%s", dir, name);
	f = fopen(path, "w");
	must(f == NULL, path);
	fprintf(f, "@ 0x00000007\ni %s\no 0\nl <%s@test>\ne sender@test\n"
	    "s local - sender 0\n", name, name);
	for (r = 0; r < arg.rcpts; r++)
		fprintf(f, "r           %s %s%ld.test u%ld 0\n",
		    arg.channel, arg.name, (i * arg.rcpts + r) % arg.hosts, r);
	fprintf(f, "m\nSubject: %s\n\n", name);
	must(fclose(f) != 0, path);
	must(rename(path, final) != 0, final);
}

int
main(int argc, char **argv)
{
	long i, count;
	int c;

	while ((c = getopt(argc, argv, "c:n:h:r:f:")) != -1)
		switch (c) {
		case 'c': arg.channel = optarg; break;
		case 'n': arg.name = optarg; break;
		case 'h': arg.hosts = atol(optarg); break;
		case 'r': arg.rcpts = atol(optarg); break;
		case 'f': arg.first = atol(optarg); break;
		default: return X_USAGE;
		}
	if (argc - optind != 2 || arg.hosts < 1)
		return X_USAGE;
	count = atol(argv[optind + 1]);
	for (i = 0; i < count; i++)
		make(argv[optind], i);
	return 0;
}
