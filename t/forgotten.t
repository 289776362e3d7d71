#!/bin/sh
# Forgotten mail is treated like mail in core: commands, dead hosts, expiry,
# warnings and DSNs.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/core.sh"

hang="*/*	interval=1h
hang/*	maxring=2 command=\"$A -c hang -o $out -w $tmp/gate\""
begin() {	# PARAMactive clauses
	fresh
	rm -f "$tmp/gate"
	conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive $1
$2
END
}

# ---- commands -------------------------------------------------------------------

begin 2 "$hang"
put_many "$po" 20 10 hang
start
wait_for 30 eval '[ "$(count " evict msg=")" -ge 18 ]'
"$ask" order "$po" delete 'hang/*' >"$tmp/answer"
"$ask" order "$po" bounce 'hang/*' >"$tmp/answer"
ok 'a delete reaches forgotten mail while there is no room for it' \
    wait_for 30 eval '[ "$(count " deleted msg=")" -ge 18 ]'
: >"$tmp/gate"
ok 'nothing is left after the delete' wait_for 30 po_empty "$po"
is 'of a delete and a bounce, the first one counts for forgotten mail' \
    "$(count 'failed msg=')" 0
sched_stop

# ---- dead hosts -------------------------------------------------------------------

begin 5 "*/*	interval=1h
dead/*	maxthr=2 command=\"$A -c dead -n 4.4.1 deferall gone\"
fine/*	command=\"$A -c fine -o $out\""
put_many "$po" 60 1 dead
start
wait_for 30 eval '[ "$(count " evict msg=")" -ge 55 ]'
"$ask" order "$po" flush 'dead/*' >"$tmp/answer"
ok 'the lap of a flush reads all files' \
    wait_for 30 eval '[ "$(count " load msg=1000")" -ge 115 ]'
put "$po" 501-1 fine h u
wait_log 'complete msg=501-1' 20
at_most 'a flush tries a dead host once, not for each forgotten message' \
    "$(count 'deferred msg=1000')" 12
sched_stop

# ---- DSNs -----------------------------------------------------------------------------

rm -f "$tmp/bin/ta/dsn"
agent dsn <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in
	'#idle') ;;
	*) printf '%s/0\t\tretryat +1000 later\n' "${job%%-*}" ;;
	esac
	echo '#hungry'
done
END
begin 2 "*/*	interval=1h
bad/*	command=\"$A -c bad error no\""
put_many "$po" 10 4 bad
start
wait_for 30 eval '[ "$(count "deferred msg=1000.*channel=dsn")" -ge 10 ]'
"$ask" order "$po" delete 'dsn/*' >"$tmp/answer"
ok 'a delete of DSNs reaches forgotten messages' wait_for 30 po_empty "$po"
sched_stop

agent dsn <<'END'
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	[ "$job" = '#idle' ] || printf '%s/0\t\tdeferred later\n' "${job%%-*}"
	echo '#hungry'
done
END
begin 2 "*/*	interval=1s retries=1 reporttimes=2s delayreport expiry=0
late/*	command=\"$A -c late deferred no\""
put_many "$po" 6 6 late
start
ok 'each forgotten message has a warning due' wait_for 60 eval \
    '[ "$(lines "deferred msg=1000.*host=delay" | cut -d" " -f4 |
    sort -u | wc -l)" -eq 6 ]'
ok 'the messages are read again and again' wait_for 60 eval \
    '[ "$(count "load msg=1000")" -ge 60 ]'
sched_stop
is 'the line for a warning is written once' \
    "$(cat "$po"/transport/1* | grep -c delayed)" 6

# DSNs that cannot be sent: of many messages that are complete when loaded, core
# has few.
rm -f "$tmp/bin/ta/dsn"
agent dsn <<'END'
echo '#hungry'
read -r job
while kill -0 "$PPID" 2>/dev/null; do sleep 1; done
END
begin 10 "$hang"
put_many "$po" 20 4 hang
start
wait_for 30 eval '[ "$(count " evict msg=")" -ge 10 ]'
mkdir "$po/many"
awk -v po="$po" 'BEGIN {
	for (i = 3001; i <= 3200; i++) {
		f = po "/queue/" i "-1"
		print "x" >f
		close(f)
		f = po "/many/" i "-1"
		printf "i %d-1\no 0\nl <x@test>\ne sender\n", i >f
		print "s local - sender 0\nr-          hang h u 65534" >f
		print "m\nSubject: x\n" >f
		close(f)
	}
}'
mv "$po"/many/* "$po/transport"
ok 'messages that are complete when loaded are found' wait_for 60 eval \
    '[ "$(count "finished msg=3")" -ge 200 ]'
sched_quit
at_most 'core has few messages more than PARAMactive' "$(peak msgs)" 80

# ---- expiry and warnings without room ---------------------------------------------

ln -sf "$top/ta/dsn" "$tmp/bin/ta/dsn"
if ! without NO_TCP; then
	SCHEDULER=$top/t/clocksched
	MONO=$tmp/mono
	export MONO
	set_clock "$MONO" 0
	begin 2 "*/*	interval=1h reporttimes=30m delayreport expiry=100m expiry2=1m
hang/*	maxring=2 timeout=100h command=\"$A -c hang -o $out -w $tmp/gate\""
	put_many "$po" 6 6 hang
	start
	wait_for 30 eval '[ "$(count " evict msg=")" -ge 4 ]'
	set_clock "$MONO" 4000
	ok 'a warning is sent on mail that had to leave core' wait_for 60 eval \
	    '[ "$(count "delivered msg=1000.*host=delay")" -ge 4 ]'
	set_clock "$MONO" 8000
	ok 'mail that had to leave core expires' wait_for 60 eval \
	    '[ "$(count "failed msg=1000.*status=expire")" -ge 4 ]'
	: >"$tmp/gate"
	sched_stop
	unset MONO
	SCHEDULER=$top/scheduler
fi
finish
