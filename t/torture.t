#!/bin/sh
# The scheduler is killed at random moments, over and over; nothing is lost
# and nothing that was marked is delivered again.  What fails can be done again
# with the seed that it printed.
#
#	TORTURE=300 sh t/torture.t	so many kills in each test (10)
#	TORTURE_SEED=7 ...		with these moments
. "${0%/*}/lib.sh"

kills=${TORTURE:-10}
seed=${TORTURE_SEED:-$$}
# In the short form a message that an agent of the one before still has is not
# waited for, but found by another start.
patience=2
[ -z "$TORTURE" ] || patience=60

n=0
torture() {	# title option ...
	n=$((n + 1))
	title=$1
	shift
	ok "$title" "$top/t/torture" -n "$kills" -w $patience "$@" \
	    "$SCHEDULER" "$tmp/$n" "$seed"
	[ -z "$TORTURE" ] || diag "$(cat "$tmp/ok.out")"
	[ -z "$TORTURE_KEEP" ] || cp -R "$tmp/$n" "$TORTURE_KEEP"
	rm -rf "$tmp/$n"
}
MAILBIN=$tmp/bin	# where the agent dsn is
export MAILBIN
torture 'kills of the scheduler lose no mail' -m $((kills * 20))
torture 'kills of scheduler and agents with order=preempt lose no mail' \
    -x -HH -k -r -q -o 'order=preempt'
torture 'kills with recipients that fail lose no mail' -k -r -b 60
if [ -n "$TORTURE" ]; then
	torture 'kills with hash directories lose no mail' -x -HH -k
	torture 'kills with reloads and commands lose no mail' -k -r -q
	torture 'kills with one agent after the other lose no mail' \
	    -k -o 'maxta=1'
fi

# It would find something.
agent liar <<'END'
# says what is not so
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in '#idle') echo '#hungry'; continue ;; esac
	awk -v job="$job" 'BEGIN { num = job; sub(/.*\//, "", num)
		sub(/-.*/, "", num) }
	/^r / { print num "/" off + 0 "\t\tok" } { off += length($0) + 1 }' \
	    "$job"
	echo '#hungry'
done
END
mkdir "$tmp/liars"
cp "$top/t/torture" "$top/t/ask" "$tmp/liars"
cp "$tmp/bin/ta/liar" "$tmp/liars/agent"
nok 'an agent that does not deliver is found' \
    "$tmp/liars/torture" -n 1 -m 5 -w 2 "$SCHEDULER" "$tmp/x" 1
like 'an agent that does not deliver: mail is said to be lost' \
    "$(cat "$tmp/ok.out")" 'wrong: 1000-1 .*lost'
agent again <<'END'
# delivers, and says that it has not, until it has once
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in '#idle') echo '#hungry'; continue ;; esac
	awk -v job="$job" -v pid=$$ 'BEGIN { num = job; sub(/.*\//, "", num)
		sub(/-.*/, "", num) }
	/^r / { print job, off + 0, "h", pid >>"../log"
		print num "/" off + 0 "\t\t" (was ? "ok" : "deferred") }
	{ off += length($0) + 1 }' was="$(grep "$job " ../log)" "$job"
	echo '#hungry'
done
END
cp "$tmp/bin/ta/again" "$tmp/liars/agent"
nok 'an agent that delivers twice is found' \
    "$tmp/liars/torture" -n 1 -m 5 -w 2 "$SCHEDULER" "$tmp/y" 1
like 'an agent that delivers twice: mail is said to be delivered again' \
    "$(cat "$tmp/ok.out")" \
    'wrong: 10[0-4][0-9]-1 .*delivered again'
finish
