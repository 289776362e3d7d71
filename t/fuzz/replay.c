/*
 * replay.c - gives files to a fuzzed program, for compilers without a fuzzer:
 *
 *	PROGRAM file ...	each file, as it is
 *	PROGRAM -r seed runs file ...
 *				changed at random, so many times
 */
#include "fuzz.h"

#define MOST	65536L

static unsigned char data[MOST], input[MOST];

static size_t
get(const char *path)
{
	FILE *f = fopen(path, "rb");
	size_t n;

	if (f == NULL) {
		perror(path);
		exit(X_NOINPUT);
	}
	n = fread(data, 1, sizeof(data), f);
	fclose(f);
	return n;
}

/* A byte of another value, a piece taken out, doubled or moved: now and then
 * several of these. */
static size_t
change(size_t n)
{
	static const char bytes[] = "\n\t :~+-0r\0\377\\\"'({[";
	size_t at, len;
	int more;

	for (more = (int)rnd(6); more >= 0 && n > 0; more--) {
		at = rnd((unsigned long)n);
		len = rnd((unsigned long)(n - at) + 1) % 32;
		switch (rnd(4)) {
		case 0:
			input[at] = (unsigned char)rnd(256);
			break;
		case 1:
			input[at] = (unsigned char)bytes[rnd(sizeof(bytes))];
			break;
		case 2:
			memmove(input + at, input + at + len, n - at - len);
			n -= len;
			break;
		default:
			if (n + len > sizeof(input))
				break;
			memmove(input + at + len, input + at, n - at);
			n += len;
		}
	}
	return n;
}

int
main(int argc, char **argv)
{
	long runs = 0, i;
	size_t n, first = 1, k;

	if (argc > 4 && strcmp(argv[1], "-r") == 0) {
		rnd_seed(num_of(argv[2], NULL));
		runs = atol(argv[3]);
		first = 4;
	}
	for (k = first; k < (size_t)argc; k++) {
		n = get(argv[k]);
		LLVMFuzzerTestOneInput(data, n);
	}
	for (i = 0; i < runs; i++) {
		k = first + rnd((unsigned long)argc - first);
		n = get(argv[k]);
		memcpy(input, data, n);
		LLVMFuzzerTestOneInput(input, change(n));
	}
	return 0;
}
