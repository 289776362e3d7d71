/*
 * fuzz.h - what the fuzzed programs share; see t/fuzz/run.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include "../../lib/util.h"

/* One input, any bytes: always 0.  libFuzzer calls it, or replay.c. */
int	LLVMFuzzerTestOneInput(const unsigned char *, size_t);

/* Once: a directory of our own with a post office in it, gone at the end; we
 * are in its transport/.  What is logged goes nowhere. */
void	fuzz_office(void);
/* The file is made, or made anew, with these bytes. */
void	fuzz_file(const char *path, const void *, size_t);
/* Its bytes, at most size, and how many there are; -1: there is none. */
long	fuzz_read(const char *path, char *, size_t size);
/* All files that are in it go. */
void	fuzz_empty(const char *dir);
/* New files are there, and the next scan is to see them. */
void	fuzz_arrived(void);
/* In core there is room for FUZZ_CORE messages, and for stubs of half as many;
 * or there is room for all. */
#define FUZZ_CORE	20
void	fuzz_small_core(int);
/* That many messages more are in the post office, for the channel crowd; core
 * has room for some of them.  Those that have come before are counted. */
void	fuzz_crowd(int);
/* They go, all: those in core, and then those that were forgotten.  Each must
 * come, and one of them or another must have been forgotten. */
void	fuzz_disperse(void);
/* What must hold: else we die, saying what does not. */
void	fuzz_must(int, const char *what);

#endif
