#!/bin/sh
# Loading n hosts into one ring takes no more than n log n: instructions are
# counted, not seconds.
. "${0%/*}/lib.sh"

valgrind -q "$SCHEDULER" -V >/dev/null 2>&1 || skip_all 'no valgrind, or not for this program'
conf "$tmp/cf" <<END
test/*	command="/bin/true"
END

# Loads so many hosts, freezes, and prints the instructions it took.
instructions() {	# hosts
	spool_new "$tmp/po$1"
	"$top/t/mkspool" -h "$1" -r 100 "$tmp/po$1" $(($1 / 100))
	VALGRIND="valgrind -q --tool=callgrind
	    --callgrind-out-file=$tmp/callgrind.$1"
	sched_start "$tmp/po$1" "$tmp/cf" -F >&2 &&
	    wait_log "loaded .* threads=$1 " 100 >&2
	sched_stop
	awk '/^(summary|totals):/ { n = $2 } END { print n + 0 }' \
	    "$tmp/callgrind.$1"
}

a=$(instructions 5000)
b=$(instructions 10000)
diag "5000 hosts: $a instructions, 10000 hosts: $b"
ok 'instructions were counted' [ "$a" -gt 1000000 ]
ok 'twice the hosts cost less than 2.3 times as much' \
    awk -v a="$a" -v b="$b" 'BEGIN { exit !(b > a && b / a < 2.3) }'
finish
