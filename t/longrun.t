#!/bin/sh
# One scheduler for many deliveries, with deferrals, dead hosts, agents that
# die, reloads and dumps: memory and descriptors are at the end what they were
# after the first tenth, and nothing is lost.
#
#	LONGRUN=200000 sh t/longrun.t	so many recipients
#	LONGRUN_ASAN=1 ...		also with the address sanitizer, where
#					the compiler has it
#
# Less than 100000 are not enough for sizes to settle.  Without LONGRUN it is
# 600 of them under valgrind alone.  Under valgrind or the sanitizer it is a
# twentieth of LONGRUN, 3000 at most.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
total=${LONGRUN:-600}
conf "$tmp/cf" <<EOF
PARAMmailqsock none
*/*	interval=1s retries=1 idlemax=1s expiry=1h
a/*	overfeed=10 maxthr=4 maxring=8
	command="$A -c a -o $tmp/out -l -A $tmp/alive -z 1,0,60,10,20"
b/*	maxring=4 maxjobs=50
	command="$A -c b -o $tmp/out -l -A $tmp/alive -z 2,0,60,10,20 -H \$host"
c/*	order=preempt overfeed=20 maxchannel=4
	command="$A -c c -o $tmp/out -l -A $tmp/alive -z 3,0,30,10,20 -K 3000"
EOF

number=1000
# Recipients of three channels, some hosts common to all batches and some not.
batch() {	# about so many recipients
	lib_n=$(($1 / 6))
	for c in a b c; do
		"$top/t/mkspool" -c $c -h 40 -r 2 -f $number "$po" $lib_n
		number=$((number + lib_n))
	done
	given=$((given + 6 * lib_n))
}
waiting() {	# at most so many messages
	[ "$(ls "$po/transport" | wc -l)" -le "$1" ]
}
rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$sched_pid/status"
}
fds() {
	ls "/proc/$sched_pid/fd" | wc -l | tr -d ' '
}
# Descriptors once no agent is left, and none is on its way.
idle() {
	waiting 0 && [ "$(fds)" -le "${1:-0}" ]
}
reloaded() {
	[ "$(count 'reload .*done')" -ge $reloads ]
}
reload() {
	reloads=$((reloads + 1))
	kill -HUP "$sched_pid"
	wait_for 120 reloaded
}
# The whole of it for so many recipients, with sizes in between: sets given,
# and first, last, fds_first, fds_last where there is /proc.
run() {		# recipients
	rm -rf "$po" "$tmp/out"
	: >"$tmp/out"
	spool_new "$po"
	number=1000 given=0 step=$(($1 / 10)) first= series=
	# What is freed at the heap's end is given back or not, by the chance of
	# what was put behind it; here it is kept, so that only what is lost
	# can make it grow.
	MALLOC_TRIM_THRESHOLD_=1000000000 MALLOC_MMAP_THRESHOLD_=1000000000
	export MALLOC_TRIM_THRESHOLD_ MALLOC_MMAP_THRESHOLD_
	sched_start "$po" "$tmp/cf" -R 1000 -q "$po/public/.ask" || return
	[ ! -d "/proc/$sched_pid/fd" ] || fds_idle=$(fds)
	# In the first tenth is all that comes later, and more of it at once,
	# however slow the machine becomes: a configuration that is replaced
	# is kept until the new one is there, and a heap keeps its size.
	reloads=0
	if [ "$1" -ge 20000 ]; then
		batch 2000
		reload
	fi
	while [ $given -lt "$1" ]; do
		# in pieces, so that what is waiting is about as much each time
		piece=0
		while [ $piece -lt $step ] && [ $given -lt "$1" ]; do
			batch 600
			piece=$((piece + 600))
			wait_for 120 waiting 300 || return
		done
		reload
		"$top/t/ask" pipe "$po/public/.ask" >"$tmp/dump" 2>&1
		wait_for 120 waiting 0 || return
		if [ -r "/proc/$sched_pid/status" ]; then
			last=$(rss)
			: ${first:=$last}
			series="$series $last"
		fi
	done
	[ ! -d "/proc/$sched_pid/fd" ] || wait_for 60 idle "$fds_idle"
}
delivered() {	# in all: those delivered, and those delivered again
	awk '$1 != "+" && $1 != "K" { n++; if (seen[$1 " " $2]++) twice++ }
		$1 == "K" { died++ }
		END { print n - twice, (twice > died) ? "twice" : "once" }' \
	    "$tmp/out"
}

# What is to be so after a run under a tool that looks on.
judge() {	# name
	fds_left=$(fds 2>/dev/null)
	sched_stop
	is "$1: no error, no leak" "$sched_rc$(cat "$tmp"/valgrind.* 2>/dev/null
	    lines '(Sanitizer|runtime error)')" 0
	is "$1: each recipient is delivered once, but for lost agents" \
	    "$(delivered)" "$given once"
	ok "$1: no descriptor is left open" \
	    [ "${fds_left:-0}" -le "${fds_idle:-0}" ]
	is "$1: nothing is set aside" "$(ls "$po/postman")" ''
}

if [ -n "$LONGRUN" ]; then
	ok 'a long run delivers all its mail' run "$total"
	is 'a long run: each recipient is delivered once, but for lost agents' \
	    "$(delivered)" \
	    "$given once"
	is 'a long run: nothing is set aside' "$(ls "$po/postman")" ''
	what='a long run: memory is that of the first tenth, or 5 % more'
	if [ -z "$first" ]; then
		skip "$what" 'no /proc'
		skip 'a long run: no descriptor is left open' 'no /proc'
	else
		diag "$given recipients; resident after each tenth, KB:$series;" \
		    "descriptors $fds_idle, then $(fds)"
		if [ "$total" -ge 100000 ]; then
			ok "$what" [ "$last" -le $((first + first / 20)) ]
		else
			skip "$what" 'too few for sizes to settle'
		fi
		ok 'a long run: no descriptor is left open' \
		    [ "$(fds)" -le "$fds_idle" ]
	fi
	diag "agents $(count agent-start), lost $(count agent-lost);" \
	    "deferrals $(count ' deferred '); dead hosts" \
	    "$(count ' asleep '); reloads $(count 'reload .*done')"
	ok 'a long run: at least 100 deferrals happened' \
	    [ "$(count ' deferred ')" -ge 100 ]
	ok 'a long run: at least 10 hosts were dead' \
	    [ "$(count ' asleep ')" -ge 10 ]
	ok 'a long run: at least 5 agents died' \
	    [ "$(count 'agent-lost')" -ge 5 ]
	sched_stop
	is 'a long run: the scheduler ends well' $sched_rc 0
fi

small=$((total / 20))
[ $small -ge 600 ] || small=600
[ $small -le 3000 ] || small=3000
if valgrind -q "$SCHEDULER" -V >/dev/null 2>&1; then
	VALGRIND="valgrind -q --leak-check=full --error-exitcode=9
	    --log-file=$tmp/valgrind.%p --child-silent-after-fork=yes"
	ok 'a run under valgrind delivers all its mail' run $small
	VALGRIND=
	judge 'under valgrind'
elif [ -z "$LONGRUN" ]; then
	ok 'a run without valgrind delivers all its mail' run $small
	judge 'without valgrind'
fi
rm -f "$tmp"/valgrind.*

[ -n "$LONGRUN_ASAN" ] || finish
mkdir "$tmp/tree"
(cd "$top" && tar cf - Makefile *.c *.h lib mq sub ta t) |
    (cd "$tmp/tree" && tar xf -)
san='-g -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined'
if (cd "$tmp/tree" && make clean && make CFLAGS="$san" LDFLAGS="$san" \
    scheduler) >"$tmp/asan.out" 2>&1; then
	SCHEDULER=$tmp/tree/scheduler
	ok 'a run with the address sanitizer delivers all its mail' run $small
	judge 'with the address sanitizer'
else
	skip 'a run with the address sanitizer delivers all its mail' \
	    'it cannot be built'
fi
finish
