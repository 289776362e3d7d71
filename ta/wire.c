/*
 * wire.c - changes a message to the form of SMTP (RFC 5321 2.3.8, 4.5.2).
 *
 * Lines in our files end in LF; on the wire they end in CRLF, and neither byte
 * is sent without the other.
 *
 *	in the file	on the wire
 *
 *	LF, CR LF	CR LF
 *	other CR	a blank, since some servers take it for the end of a
 *			line and a "." behind it for the end of the message;
 *			CR LF in its place could split a field of the header
 *	NUL		nothing, as servers need not accept it
 *	line ".text"	"..text"
 *	long line	lines of at most 998 bytes (4.5.3.1.6); in the header
 *			all but the first begin with a blank, so that they
 *			still belong to the field
 *	end without LF	CR LF
 *
 * All other bytes, also those with the top bit set, are sent unchanged.
 *
 * The state of the line is kept between pieces, so a CR at the end of a piece
 * and an LF at the beginning of the next piece are a pair.
 * If put is NULL, nothing is sent: the same code only measures the message, for
 * SIZE= and BODY=.
 */
#include "wire.h"

#define CUT	998	/* bytes of a line, without its end */
#define ROOM	16	/* bytes, enough for what a byte of the message and a
			 * CR before it become */

void
wire_start(struct wire *w, int (*put)(void *, const char *, size_t),
    void *arg)
{
	memset(w, 0, offsetof(struct wire, buf));
	w->put = put;
	w->arg = arg;
	w->in_header = 1;
}

/* Sends the bytes in buf: 0, or -1 to stop. */
static int
flush_buf(struct wire *w)
{
	size_t n = w->nbuf;

	w->nbuf = 0;
	return n == 0 || w->put == NULL ? 0 : w->put(w->arg, w->buf, n);
}

static void
put_byte(struct wire *w, int c)
{
	w->buf[w->nbuf++] = (char)c;
	w->size++;
}

static void
end_line(struct wire *w)
{
	if (w->col == 0)
		w->in_header = 0;
	put_byte(w, '\r');
	put_byte(w, '\n');
	w->col = 0;
}

/* Adds a byte to the line, which is cut before the byte if the line is too
 * long. */
static void
add_to_line(struct wire *w, int c)
{
	if (w->col == CUT) {
		end_line(w);
		if (w->in_header) {
			put_byte(w, ' ');
			w->col++;
		}
	}
	if (w->col == 0 && c == '.') {
		put_byte(w, '.');
		w->size--;
	}
	put_byte(w, c);
	w->col++;
	w->eight |= c >= 128;
}

int
wire_convert(void *arg, const char *s, size_t n)
{
	struct wire *w = arg;
	int c;

	for (; n > 0; n--) {
		if (w->nbuf + ROOM > sizeof(w->buf) && flush_buf(w) != 0)
			return -1;
		c = (unsigned char)*s++;
		if (c == '\0')
			continue;
		if (w->cr && c != '\n')
			add_to_line(w, ' ');
		w->cr = c == '\r';
		if (c == '\n')
			end_line(w);
		else if (c != '\r')
			add_to_line(w, c);
	}
	return 0;
}

int
wire_end(struct wire *w)
{
	/* a CR at the very end is not sent: the line gets its end here, for
	 * which wire_convert has left room in buf */
	if (w->col > 0)
		end_line(w);
	return flush_buf(w);
}
