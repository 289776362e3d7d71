/*
 * md5.c - computes the digest MD5 (RFC 1321) of a text, for protocol 2.
 *
 *	abc	900150983cd24fb0d6963f7d28e17f72
 *
 * MD5 does not protect a password from somebody who can try many, but ZMailer's
 * protocol requires it.
 */
#include "mq.h"

#define BLOCK	64	/* bytes that are added at a time */
#define MASK	0xffffffffUL	/* a word has 32 bits; an unsigned long may
				 * have more */

/* For step i, from 0: the integer part of 2^32 * |sin(i + 1)|. */
static const unsigned long sines[64] = {
	0xd76aa478UL, 0xe8c7b756UL, 0x242070dbUL, 0xc1bdceeeUL,
	0xf57c0fafUL, 0x4787c62aUL, 0xa8304613UL, 0xfd469501UL,
	0x698098d8UL, 0x8b44f7afUL, 0xffff5bb1UL, 0x895cd7beUL,
	0x6b901122UL, 0xfd987193UL, 0xa679438eUL, 0x49b40821UL,
	0xf61e2562UL, 0xc040b340UL, 0x265e5a51UL, 0xe9b6c7aaUL,
	0xd62f105dUL, 0x02441453UL, 0xd8a1e681UL, 0xe7d3fbc8UL,
	0x21e1cde6UL, 0xc33707d6UL, 0xf4d50d87UL, 0x455a14edUL,
	0xa9e3e905UL, 0xfcefa3f8UL, 0x676f02d9UL, 0x8d2a4c8aUL,
	0xfffa3942UL, 0x8771f681UL, 0x6d9d6122UL, 0xfde5380cUL,
	0xa4beea44UL, 0x4bdecfa9UL, 0xf6bb4b60UL, 0xbebfbc70UL,
	0x289b7ec6UL, 0xeaa127faUL, 0xd4ef3085UL, 0x04881d05UL,
	0xd9d4d039UL, 0xe6db99e5UL, 0x1fa27cf8UL, 0xc4ac5665UL,
	0xf4292244UL, 0x432aff97UL, 0xab9423a7UL, 0xfc93a039UL,
	0x655b59c3UL, 0x8f0ccc92UL, 0xffeff47dUL, 0x85845dd1UL,
	0x6fa87e4fUL, 0xfe2ce6e0UL, 0xa3014314UL, 0x4e0811a1UL,
	0xf7537e82UL, 0xbd3af235UL, 0x2ad7d2bbUL, 0xeb86d391UL
};

/* Bits of each rotation, by round and step. */
static const int turns[4][4] = {
	{ 7, 12, 17, 22 }, { 5, 9, 14, 20 }, { 4, 11, 16, 23 },
	{ 6, 10, 15, 21 }
};

/* Mixes three words as this step does, and sets *which to the index of the word
 * of the block that the step adds. */
static unsigned long
mix_words(int step, unsigned long b, unsigned long c, unsigned long d,
    int *which)
{
	switch (step / 16) {
	case 0:
		*which = step;
		return (b & c) | (~b & d);
	case 1:
		*which = (5 * step + 1) % 16;
		return (d & b) | (~d & c);
	case 2:
		*which = (3 * step + 5) % 16;
		return b ^ c ^ d;
	default:
		*which = 7 * step % 16;
		return c ^ (b | (~d & MASK));
	}
}

/* Adds a block to the digest. */
static void
add_block(unsigned long state[4], const unsigned char *block)
{
	unsigned long word[16], v[4], f;
	int i, which, n;

	for (i = 0; i < 16; i++, block += 4)
		word[i] = (unsigned long)block[0] |
		    (unsigned long)block[1] << 8 |
		    (unsigned long)block[2] << 16 |
		    (unsigned long)block[3] << 24;
	memcpy(v, state, sizeof(v));
	for (i = 0; i < 64; i++) {
		f = mix_words(i, v[1], v[2], v[3], &which) & MASK;
		f = (f + v[0] + sines[i] + word[which]) & MASK;
		n = turns[i / 16][i % 4];
		v[0] = v[3];
		v[3] = v[2];
		v[2] = v[1];
		v[1] = (v[1] + (f << n | f >> (32 - n))) & MASK;
	}
	for (i = 0; i < 4; i++)
		state[i] = (state[i] + v[i]) & MASK;
}

void
mq_md5(const char *s, char hex[33])
{
	static const char digits[] = "0123456789abcdef";
	unsigned long state[4] = { 0x67452301UL, 0xefcdab89UL, 0x98badcfeUL,
	    0x10325476UL };
	unsigned long bits = (unsigned long)strlen(s) * 8;
	unsigned char block[2 * BLOCK];
	size_t n, left;
	int i;

	for (left = strlen(s); left >= BLOCK; left -= BLOCK, s += BLOCK)
		add_block(state, (const unsigned char *)s);
	/* the padding: a bit, zeros, and the length at the end of a block */
	memset(block, 0, sizeof(block));
	memcpy(block, s, left);
	block[left] = 0x80;
	n = left < BLOCK - 8 ? BLOCK : 2 * BLOCK;
	for (i = 0; i < 4; i++)
		block[n - 8 + (size_t)i] = (unsigned char)(bits >> 8 * i &
		    255);
	add_block(state, block);
	if (n > BLOCK)
		add_block(state, block + BLOCK);
	for (i = 0; i < 32; i++)	/* of a byte, the high half first */
		hex[i] = digits[state[i / 8] >> 4 * (i % 8 ^ 1) & 15];
	hex[i] = '\0';
}
