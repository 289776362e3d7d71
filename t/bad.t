#!/bin/sh
# Agents that misbehave in every way we could think of: none of them stops
# anybody else's mail, fills the log or the memory, stays behind, or has its
# own mail lost.
#
# With BAD=1 those, too, that have to be killed by force, which takes longer.
. "${0%/*}/lib.sh"

B=$top/t/bad
A=$top/t/agent
po=$tmp/po
hows='silent late mute talker flood flood-in half megabyte ids numbers binary zeros
forger family family-deaf parent close-in close-out shut-in shut-out
die-start die-hungry die-job die-half die-report die-idle'
[ -z "$BAD" ] || hows="$hows deaf stop"
{
	echo '*/*	interval=1s retries=1 idlemax=1s timeout=2s expiry=1h'
	for how in $hows; do
		echo "$how/*	maxring=1 command=\"$B $how $tmp/pids\""
	done
	echo "good/*	maxring=1 command=\"$A -c good -o $tmp/good\""
} >"$tmp/cf"
spool_new "$po"
n=100
for how in $hows; do
	n=$((n + 1))
	put "$po" $n-1 "$how" h one "$how" h two
done
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -R 1000
i=0
# Good mail all the while.
while [ $i -lt 5 ]; do
	i=$((i + 1))
	put "$po" 90$i-1 good h$i user
	wait_for 20 grep "^90$i-1 " "$tmp/good" || break
done
is 'good mail is delivered beside bad agents' $i 5
deferred() {	# channel
	lines " (deferred|asleep) .*channel=$1 " >/dev/null ||
	    lines " agent channel=$1 .*its mail waits" >/dev/null
}
# Over pipes, the one that closes its output is given its time to go.
for how in $hows; do
	wait_for 60 deferred "$how" || echo "$how"
done >"$tmp/not"
is 'the mail of each bad agent waits' "$(cat "$tmp/not")" ''
is 'no mail of a bad agent is taken for delivered' \
    "$(count ' (delivered|failed|complete|drop|set-aside) msg=1[0-9][0-9]-1')" 0
nok 'nothing an agent says makes a line of its own' \
    grep '^20260101' "$tmp/sched.log"
is 'no control or 8-bit byte of an agent is in the log' \
    "$(tr -d '\n\040-\176' <"$tmp/sched.log" | wc -c | tr -d ' ')" 0
nok 'every line of the log is one of ours' \
    grep -v -E '^20[0-9]{12} (err|warn|info) [a-z-]+ ?' "$tmp/sched.log"
rss() {
	awk '/^VmRSS/ { print $2 }' "/proc/$sched_pid/status"
}
if [ -r "/proc/$sched_pid/status" ]; then
	ok 'the scheduler has not grown' [ "$(rss)" -lt 16000 ]
else
	skip 'the scheduler has not grown' 'no /proc'
fi

# The same mail, and agents that are what they should be.
sed "s,$B \([a-z-]*\) .*,$A -c \1 -o $tmp/out\"," "$tmp/cf" >"$tmp/cf2"
mv "$tmp/cf2" "$tmp/cf"
kill -HUP $sched_pid
ok 'good agents deliver all mail of the bad ones' wait_for 60 po_empty "$po"
is 'good agents deliver to every recipient once' \
    "$(cut -d' ' -f1,2 "$tmp/out" | sort | uniq | wc -l | tr -d ' ') $(wc -l <"$tmp/out" | tr -d ' ')" \
    "$((2 * $(echo $hows | wc -w))) $((2 * $(echo $hows | wc -w)))"
is 'nothing was set aside' "$(ls "$po/postman")" ''
if [ -z "$BAD" ]; then		# who does not listen is not waited for
	kill $sched_pid
	wait_log ' ending agents='
fi
sched_stop
is 'the scheduler ends well' $sched_rc 0
# What an agent started and left behind when it died is nobody's; it is told
# from the rest by its mark.  On a busy machine the number may be another
# process's by now.
all_gone() {
	for p in $(grep -v child "$tmp/pids"); do
		gone "$p" || case $(ps -o args= -p "$p" 2>/dev/null) in
		'' | *"$tmp/pids"*) return 1 ;;
		esac
	done
}
ok 'no agent is left when the scheduler has ended' wait_for 20 all_gone
for p in $(sed -n 's/^child //p' "$tmp/pids"); do
	kill -9 "$p"
done
# So much for each start of an agent, however often the time lets it start.
starts=$(count ' agent-start ')
ok 'bad agents do not fill the log' \
    [ "$(wc -c <"$tmp/sched.log")" -lt $((8000 * starts)) ]
finish
