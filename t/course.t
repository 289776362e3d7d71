#!/bin/sh
# The course of scheduler-internals(7): the functions and files that it names
# are there, and its exercises show what it says.
. "${0%/*}/lib.sh"

page=$top/man/scheduler-internals.7
quote="'"
# As it is printed, without the requests for fonts.
text() {	# file
	sed 's/^\.[BI]R\{0,1\} //; s/^\.R[BI] //
	s/\\(aq/'"$quote"'/g; s/\\(ha/^/g; s/\\(ti/~/g
	s/\\-/-/g; s/\\e/\\/g' "$1"
}
text "$page" >"$tmp/page"

# ---- names ------------------------------------------------------------------

# "file.c function" for each file.c:function.
names() {	# file
	tr ' (),;"' '\n\n\n\n\n\n' <"$1" |
	    sed -n 's/^\([a-z/]*\.c\):\([a-z_]*\)\.\{0,1\}$/\1 \2/p' | sort -u
}
# Those without a definition.
missing() {	# file
	names "$1" | while read -r file name; do
		grep "^$name(" "$top/$file" >/dev/null 2>&1 ||
		    echo "$file:$name"
	done
}
names "$tmp/page" >"$tmp/names"
like 'the course names functions' "$(wc -l <"$tmp/names")" '[3-9][0-9]'
printf 'it is %s,\n(%s )\n%s.\n' queue.c:q_add_message queue.c:q_no nix.c:q_add_message \
    >"$tmp/some"
is 'a function that is not defined in its file is found' \
    "$(missing "$tmp/some" | tr '\n' ' ')" 'nix.c:q_add_message queue.c:q_no '
is 'each function that the course names is defined in its file' \
    "$(missing "$tmp/page")" ''
is 'the course names a function of each module to read' "$(
    sed -n '/^\.SH WHAT TO READ/,/^\.SH ONE/s/^\([a-z]*\.c\)$/\1/p' \
    "$tmp/page" | while read -r file; do
	grep "^$file " "$tmp/names" >/dev/null || echo "$file"
done)" ''
sed -n '/^\.SH WHAT TO READ/,/^\.SH ONE/s/^\([a-z]*\)\.c$/\1/p' "$tmp/page" \
    >"$tmp/modules"
is 'the course has eight modules' "$(wc -l <"$tmp/modules" | tr -d ' ')" 8
is 'a module is read behind those that it calls' "$(cat "$tmp/modules")" \
    "$(sed -n 's/^OBJS = //p' "$top/Makefile" | tr ' ' '\n' | sed 's/\.o$//' |
    grep -xFf "$tmp/modules" | awk '{ all = $0 "\n" all }
	END { printf "%s", all }')"
is 'each file that the course names is in the tree, or made' "$(
    tr ' (),;|&' '\n\n\n\n\n\n\n' <"$tmp/page" |
    sed -n 's/\.$//; /^t\/[a-z.-]*$/p; /^bench\/[a-z]*$/p; /^[a-z]*\.[ch]$/p' |
    sort -u | while read -r file; do
	[ -f "$top/$file" ] || grep "^$file:" "$top/Makefile" >/dev/null ||
	    echo "$file"
done)" ''

# ---- exercises --------------------------------------------------------------

# Each block of an exercise becomes files: N.M the Mth of the Nth.
awk -v to="$tmp/block." '
/^\.SS [0-9]/ { n = $2 + 0; m = 0; titles++ }
/^\.SH SEE/ { n = 0 }
/^\.fi/ { within = 0 }
within { print >file }
n && /^\.nf/ { within = 1; file = to n "." ++m }
END { print titles + 0 }' "$tmp/page" >"$tmp/titles"
is 'the course has ten exercises' "$(cat "$tmp/titles")" 10
# Blanks are for the eye.
plain() {
	sed 's/[ 	][ 	]*/ /g; s/^ //; s/ $//' | grep -v '^$'
}
# Commands and what they show, as blocks, run in one shell.  They stand behind
# blanks, as in a page that was copied from a terminal.
exercise() {	# number title block ...
	number=$1
	title="exercise $number: $2"
	shift 2
	: >"$tmp/want"
	echo '. t/course.sh || exit' >"$tmp/do"
	echo 'trap "kill \$pid 2>/dev/null; rm -rf \$course" 0' >>"$tmp/do"
	echo 'trap "exit 1" 1 2 15' >>"$tmp/do"
	while [ $# -gt 0 ]; do
		sed 's/^/    /' "$tmp/block.$number.$1" >>"$tmp/do"
		[ "$2" = - ] || cat "$tmp/block.$number.$2" >>"$tmp/want"
		shift 2
	done
	(cd "$top" && TMPDIR=$tmp && export TMPDIR && exec sh "$tmp/do") \
	    >"$tmp/out" 2>"$tmp/err" </dev/null
	is "$title" "$(plain <"$tmp/out")" "$(plain <"$tmp/want")"
	[ ! -s "$tmp/err" ] || diag "$(cat "$tmp/err")"
}
exercise 1 'the log shows the way of a message' 1 2
exercise 2 'an agent is fed by hand' 1 2
exercise 3 'the clauses of an address are explained' 1 2
exercise 4 'an address and a host are deferred' 1 2
exercise 5 'the sums of feedback are those of the code' 2 3
exercise 6 'a small message preempts, one as large does not' 1 2
exercise 7 'a message has its share, and an idle agent gets the next' 1 2
exercise 8 'one of three messages stays in memory' 1 2
exercise 9 'the tags decide when an agent has died' 1 2
printf '\t0\n\t100\n\t100\n' >"$tmp/block.10.killed"
sed "s/| grep -c .*/>\$course\/last; echo 0/" "$tmp/block.10.1" \
    >"$tmp/block.10.kill"
exercise 10 'a scheduler that is killed delivers once' kill killed
exercise 10 'either place of a message is looked at' 2 3
cat "$tmp/block.10.2" "$tmp/block.10.4" >"$tmp/block.10.both"
cat "$tmp/block.10.3" "$tmp/block.10.5" >"$tmp/block.10.shown"
exercise 10 'a failure without its diagnostic line is in the DSN' both shown

# Half a minute: make bench does it.
is 'exercise 5 ends with bench/limiter' \
    "$(plain <"$tmp/block.5.4")" 'make bench/limit && sh bench/limiter 1'
like 'the Makefile makes bench/limit' "$(cat "$top/Makefile")" '^bench/limit:'
number='\([0-9.]*\)'
is 'exercise 5 and bench/limiter want the same' "$(sed -n \
    "s/.* near $number, $number and $number per.*/\1 \2 \3/p" "$tmp/page")" \
    "$(awk '$1 ~ /^(linear|root|flat)$/ { print $3 }' "$top/bench/limiter" |
    tr '\n' ' ' | sed 's/ $//')"
finish
