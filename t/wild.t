#!/bin/sh
# Agents that die, skip, defer, forget tags and cannot be started, while the
# configuration is read anew and the scheduler is stopped and started: every
# recipient once.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
agent wild <<END
# what it does depends on its process number, which is as good as chance; maxjobs
# ends those that defer all they get
case \$((\$\$ % 9)) in
0) exec $A -c "\$1" -o $tmp/out -d \$((\$\$ / 9 % 7 + 1)) ;;
1) exec $A -c "\$1" -o $tmp/out -D \$((\$\$ / 9 % 7 + 1)) ;;
2) exec $A -c "\$1" -o $tmp/out -u ;;
3) exec $A -c "\$1" deferred later ;;
4) exec $A -c "\$1" deferall down ;;
5) exec $A -c "\$1" -o $tmp/out -1 ;;
6) exit 3 ;;
*) exec $A -c "\$1" -o $tmp/out ;;
esac
END
conf "$tmp/cf" <<'END'
*/*	interval=1s retries="1" idlemax=1s expiry=1h maxjobs=40
a/*	maxring=5 overfeed=5 maxthr=3 command="wild a"
b/*	maxring=2 command="wild b $host"
c/*	maxchannel=4 ageorder overfeed=20 command="wild c"
END
spool_new "$po"
"$top/t/mkspool" -c a -h 20 -r 3 -f 1000 "$po" 150
"$top/t/mkspool" -c b -h 10 -f 3000 "$po" 50
"$top/t/mkspool" -c c -h 30 -r 2 -f 5000 "$po" 100
: >"$tmp/out"
done_by() {	# recipients
	[ "$(wc -l <"$tmp/out")" -ge "$1" ]
}

for want in 200 400 600; do
	sched_start "$po" "$tmp/cf" -HH -R 200
	[ $want -ne 400 ] || {
		wait_for 40 done_by 300
		kill -HUP $sched_pid
	}
	wait_for 40 done_by $want
	[ $want -ne 600 ] || ok 'all mail is delivered' \
	    wait_for 120 po_empty "$po"
	sched_stop
	is "a scheduler stopped after $want recipients ends well" $sched_rc 0
done
is 'each recipient is delivered to' "$(awk '{ print $1, $2 }' "$tmp/out" |
    sed 's,^[A-Z/]*,,' | sort -u | wc -l | tr -d ' ')" 700
is 'each recipient is delivered to once' "$(wc -l <"$tmp/out" | tr -d ' ')" 700
is 'no message is set aside' "$(ls "$po/postman")" ''
finish
