#!/bin/sh
# What is known of destinations is kept across a restart, and what other hosts
# know of dead ones is believed; whatever is in the files.
. "${0%/*}/lib.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
po=$tmp/po
pipe=$po/public/.mailq.text
db=$tmp/known
tab=$(printf '\t')
WALL=$tmp/wall
export WALL
spool_new "$po"
cat >"$tmp/clauses" <<END
PARAMmailqsock none
*/*	interval=500s retries=1 idlemax=1s
dead/*	command="$A -c dead deferall host is down"
gone/*	command="$A -c gone -f $tmp/up -n 4.4.1"
grow/*	maxthr=8 initthr=2 command="$A -c grow"
one/*	command="$A -c one"
never/*	cohorts=0 command="$A -c never"
slow/*	rate=1/h command="$A -c slow"
END
{
	echo "PARAMdestdb=\${LOGDIR}/../known"
	cat "$tmp/clauses"
} >"$tmp/cf"
start() {	# [option ...]
	sched_start "$po" "$tmp/cf" -q "$pipe" "$@"
}
mailq() {	# [argument ...]
	POSTOFFICE=$po "$top/mailq" -q "$pipe" "$@"
}
flush() {	# pattern
	POSTOFFICE=$po "$top/mailq" flush "$1" >/dev/null
}
known() {	# channel/host: what mailq says of it
	mailq -D -f "$1" | sed '$d'
}
is_known() {	# channel/host ERE
	known "$1" | grep -E -e "$2" >/dev/null
}
# A record: its name, window, seconds until it is no longer dead, seconds since
# its last use.  It was put to sleep three times.
record() {	# channel host window left used
	printf '%s\t%s\t%s\t%s\t3\t%s\tgo away\n' "$1" "$2" "$3" "$4" "$5"
}
head_of() {	# wall clock
	echo "destdb 2 $1"
}
# The file as it is: another when it was written anew.
as_it_is() {
	ls -i "$db"
	cksum "$db"
}

# ---- a restart -------------------------------------------------------------------

ok 'the scheduler starts without a database file' start
put "$po" 101-1 dead h.test u
put "$po" 102-1 one h.test u
put_many "$po" 40 1 grow 200001
wait_log 'asleep channel=dead' 20
ok 'mail is delivered without a database file' \
    wait_for 20 eval '[ "$(count complete)" -eq 41 ]'
is 'no database file is written while mail is delivered' \
    "$(ls -a "$tmp" | grep known)" ''
window=$(known grow/h1.test | sed -n 's/^	window \([0-9]*\).*/\1/p')
sched_stop
is 'the scheduler ends well' "$sched_rc" 0
like 'the scheduler writes a database file at its end' \
    "$(sed 's/	.*//' "$db" | tr '\n' ' ')" \
    '^destdb 2 [0-9]+ .*(grow .*dead|dead .*grow)'
is 'a record of the database has seven fields' \
    "$(awk -F"$tab" 'NR > 1 && NF != 7' "$db")" ''
is 'the scheduler leaves no other file beside the database' \
    "$(ls -a "$tmp" | grep known)" known
was=$(as_it_is)
start
wait_log 'load msg=101-1'
ok 'a restart keeps a dead host' wait_for 30 is_known dead/h.test \
    '^dead/h.test  retry: host is down$'
like 'a restart keeps the place of a dead host in the retry list' \
    "$(known dead/h.test)" \
    '^	next .*failed 1 time in a row'
like 'a restart keeps a window' \
    "$(known grow/h1.test)" "^	window $window\$"
put "$po" 103-1 dead h.test u
wait_log 'load msg=103-1'
is 'a dead host is not tried after a restart' \
    "$(count 'agent-start .*channel=dead')" 0
like 'mail waits for a dead host after a restart' \
    "$(mailq)" '^		dead host, next'
kill -HUP "$sched_pid"
wait_log 'reload .* done'
sched_stop
is 'the file is not written when nothing has changed' "$(as_it_is)" "$was"

# ---- when it is written ------------------------------------------------------------

start
put "$po" 104-1 one other.test u
wait_log 'complete msg=104-1'
kill -HUP "$sched_pid"
wait_log 'reload .* done'
is 'a delivery as all others is not worth a write' "$(as_it_is)" "$was"
put "$po" 105-1 gone h.test u
put "$po" 107-1 gone h.test u
wait_log 'asleep channel=gone'
kill -HUP "$sched_pid"
ok 'a host that dies is worth a write' \
    wait_for 30 grep "^gone${tab}h.test" "$db"
put "$po" 106-1 one third.test u
wait_log 'complete msg=106-1'
sched_stop
ok 'all destinations are written at the end' grep "^one${tab}third.test" "$db"
PERIOD=1
export PERIOD
: >"$tmp/up"
start
flush 'gone/*'
wait_log 'complete msg=105-1'
ok 'the file is written by itself in time' wait_for 20 \
    eval '! grep "^gone	h.test	0" "$db"'
unset PERIOD
sched_stop
rm "$tmp/up"

# ---- what is in the file ------------------------------------------------------------

now=$(date +%s)
try() {		# name: starts with the file
	rm -rf "$db"
	mv "$tmp/new" "$db"
	start || fail "$1: it does not start"
}
left() {	# channel/host: seconds until it is tried
	mailq -D -j -f "$1" | sed -n 's/.*"next":\([0-9]*\),.*/\1/p'
}
{
	head_of "$now"
	record grow good.test 7 - 9
	record grow limit.test 1000 - 9
	record dead long.test 0 300000000 9
	record never dead.test 0 400 9
	record nosuch h.test 0 400 9
	printf 'dead\tod\\011d.test\t0\t9\t0\t9\t\n'
	echo ''
	record grow b1.test 7.5 - 9
	record grow b2.test -7 - 9
	record grow b3.test 10000000 - 9
	record grow b4.test 7 - 9 | sed "s/${tab}go away//"
	record grow b5.test 7 - 9 | sed "s/\$/${tab}more/"
	record grow b6.test 7 9 9
	record grow b7.test 0 - 9
	record grow b8.test 7 - 99999999999999999999
	record grow '' 7 - 9
	record grow 'b9\.test' 7 - 9
	record grow 'b\000.test' 7 - 9
	record grow "b$(printf '\033').test" 7 - 9
	record grow "$(awk 'BEGIN { while (i++ < 20000) printf "x" }')" 7 - 9
	record grow bA.test 7 - 9 | sed 's/test/\n/' | tr '\n' '\000'
	echo ''
	record grow last.test 6 - 9
	record grow cut.test 7 - 9 | tr -d '\n'
} >"$tmp/new"
try 'a damaged file'
like 'damaged lines of the file are logged' "$(lines ' destdb ')" \
    "file=$tmp/log/../known lines=16 damaged.*the first is line 8"
like 'good lines of a damaged file are taken' \
    "$(known grow/good.test)" '^	window 7$'
like 'good lines behind damaged ones are taken' \
    "$(known grow/last.test)" '^	window 6$'
like 'a window from the file is not larger than maxthr' \
    "$(known grow/limit.test)" \
    '^	window 8$'
like 'a dead host from the file waits no longer than its longest retry' \
    "$(left dead/long.test)" \
    '^(500|4[0-9][0-9])$'
like 'a host that cannot be dead is not dead by the file' \
    "$(known never/dead.test)" \
    '^	window 1$'
like 'a strange name in the file is a name' "$(known dead/od*)" \
    '^dead/od\\011d.test  retry$'
is 'damaged lines of the file make no destination' \
    "$(known '{grow,nosuch}/*' | grep -v '^	' |
    sort | tr '\n' ' ')" 'grow/good.test  closed grow/last.test  closed grow/limit.test  closed '
sched_stop
{
	head_of "$now"
	record slow h.test 5 - 9
} >"$tmp/new"
try 'a rate'
put "$po" 108-1 slow h.test u
wait_log 'load msg=108-1'
like 'a rate is kept across a restart' "$(mailq 2>&1)" \
    'the rate is reached'
is 'a rate that is kept starts no agent' \
    "$(count 'agent-start .*channel=slow')" 0
sched_stop
rm "$po/transport/108-1" "$po/queue/108-1"
: >"$tmp/new"
try 'an empty file'
like 'an empty file is logged' "$(lines ' warn destdb ')" 'is empty, damaged'
sched_stop
{
	echo 'destdb 1 1'
	record grow good.test 7 - 9
} >"$tmp/new"
try 'another version'
like 'a file of another version is logged' \
    "$(lines ' warn destdb ')" 'another version'
is 'a file of another version is ignored' "$(known 'grow/*')" ''
sched_stop
dd if="$top/scheduler" of="$tmp/new" bs=1024 count=100 2>/dev/null
try 'a program'
like 'a program in the place of the file is ignored' \
    "$(lines ' warn destdb ')" 'ignored'
sched_stop
{
	head_of "$now"
	record grow h.test 7 - 9 | awk '{ for (i = 0; i < 100000; i++) print }'
} >"$tmp/new"
try 'a giant'
like 'a file that is too large is logged' \
    "$(lines ' warn destdb ')" 'is larger than'
sched_stop
if without NO_MKFIFO; then
	skip 'a pipe in the place of the file stops nothing' 'no mkfifo'
else
	mkfifo "$tmp/new"
	try 'a pipe'
	like 'a pipe in the place of the file stops nothing' \
	    "$(lines ' warn destdb ')" \
	    'cannot be read'
	sched_stop
fi
{
	head_of "$now"
	for n in 1 2 3; do
		record grow many.test $n - 9 -
	done
	awk 'BEGIN {
		for (i = 1; i < 3000; i++)
			printf "grow\th%d.test\t5\t-\t0\t9\t\n", i
	}'
} >"$tmp/new"
try 'many'
like 'the first record counts when a name is there twice' \
    "$(known grow/many.test)" '^	window 1$'
is 'the start keeps all destinations of the file' \
    "$(mailq -D -f 'grow/h*.test' | grep -c '^grow/')" 2999
put "$po" 109-1 one new.test u
wait_log 'complete msg=109-1'
sched_stop
is 'the most recently used destinations are first in the file' \
    "$(sed -n '/new.test/,$s/^[a-z]*	\([a-z0-9]*\).*/\1/p' "$db" |
    sed 3q | tr '\n' ' ')" 'new many h1 '
{
	cat "$tmp/cf"
	echo "*/*	command=\"$A -c \$channel\""
} >"$tmp/cf1"
mv "$tmp/cf" "$tmp/cf.most"
mv "$tmp/cf1" "$tmp/cf"
{
	head_of "$now"
	awk 'BEGIN {
		for (i = 1; i < 3000; i++)
			printf "c%d\th.test\t5\t-\t0\t9\t\n", i
	}'
	record grow good.test 7 - 9
} >"$tmp/new"
try 'many channels'
n=$(mailq -D -f '*/h.test' | grep -c '^c')
ok 'the file does not bring channels without end' \
    [ "$n" -gt 10 -a "$n" -lt 200 ]
sched_stop
mv "$tmp/cf.most" "$tmp/cf"

# ---- clocks ----------------------------------------------------------------------------

clocks() {	# name, stamp, what the clock is off, ERE of seconds left
	{
		head_of "$2"
		record dead clock.test 0 400 9
	} >"$tmp/new"
	set_clock "$WALL" "$3"
	try "$1"
	like "$1" "$(left dead/clock.test)" "$4"
	sched_stop
	rm "$WALL"
}
now=$(date +%s)
clocks 'the time that has passed is taken off the sleep of a dead host' \
    $((now - 200)) 0 '^(200|1[0-9][0-9])$'
clocks 'a host that died long ago is no longer dead' $((now - 4000000)) 0 '^$'
clocks 'a clock that cannot be believed takes nothing off the sleep' \
    $((now - 200)) \
    $((100 - now)) '^(400|3[0-9][0-9])$'
clocks 'a stamp that cannot be believed takes nothing off the sleep' \
    100 0 '^(400|3[0-9][0-9])$'
clocks 'a clock that went back takes nothing off the sleep' \
    $((now + 4000000)) 0 '^(400|3[0-9][0-9])$'

# ---- it cannot be written ---------------------------------------------------------------

rm -f "$db"
sed "s|^PARAMdestdb.*|PARAMdestdb $tmp/none/known|" "$tmp/cf" >"$tmp/cf1"
mv "$tmp/cf1" "$tmp/cf"
sed "s|^PARAMdestdb.*|PARAMdestdb $tmp/rubbish|" "$tmp/cf" >"$tmp/cf.rubbish"
start
put "$po" 301-1 dead third.test u
wait_log 'asleep channel=dead host=third.test'
kill -HUP "$sched_pid"
ok 'a file that cannot be written is logged' wait_log \
    'destdb file=.*/none/known cannot be written: '
sched_stop
is 'a file that cannot be written is logged once and stops nothing' \
    "$sched_rc $(count 'cannot be written')" '0 1'
: >"$tmp/rubbish"
start
wait_log 'load msg=301-1'
put "$po" 302-1 dead fourth.test u
wait_log 'asleep channel=dead host=fourth.test'
kill -HUP "$sched_pid"
wait_log 'cannot be written'
mkdir "$tmp/none"
kill -HUP "$sched_pid"
ok 'the file is written when its directory is there' \
    wait_for 30 [ -s "$tmp/none/known" ]
mv "$tmp/cf.rubbish" "$tmp/cf"
kill -HUP "$sched_pid"
ok 'the first error of another file is logged after a round without errors' \
    wait_log "destdb file=$tmp/rubbish is empty, damaged"
sched_stop
rm -rf "$po"

# ---- hosts that share a directory ---------------------------------------------------------

mkdir "$tmp/share"
{
	echo "PARAMdestdb $tmp/share"
	cat "$tmp/clauses"
} >"$tmp/cf"
PERIOD=1
export NODE PERIOD
on() {		# host
	po=$tmp/po.$1
	pipe=$po/public/.mailq.text
}
for NODE in a b/x; do
	on "${NODE%/x}"
	spool_new "$po"
	ok "a scheduler starts on $NODE" start
	put "$po" 401-1 one here.test u
done
on a
put "$po" 402-1 gone h.test u
put "$po" 405-1 gone h.test u
ok 'a host is dead for one scheduler' wait_for 30 is_known gone/h.test 'retry: '
on b
ok 'a host that is dead for one scheduler is dead for the other' \
    wait_for 30 is_known gone/h.test \
    '^gone/h.test  retry: .*\(told by a\)$'
put "$po" 403-1 gone h.test u
wait_log 'load msg=403-1'
is 'the other scheduler does not try a host that is dead for one' \
    "$(count 'agent-start .*channel=gone')" 0
put "$po" 404-1 dead h.test u
ok 'the other scheduler writes its own dead host into its file' \
    wait_for 30 grep "^dead$tab" "$tmp/share/b_x"
is 'the other scheduler does not pass on a dead host of another one' \
    "$(grep -c "^gone$tab" "$tmp/share/b_x")" 0
is 'each scheduler has a file with a name that can be one' \
    "$(ls "$tmp/share" | tr '\n' ' ')" 'a b_x '
{
	head_of "$(date +%s)"
	record one here.test 0 400 300
	record grow c.test 0 400 9
} >"$tmp/share/.c"
mv "$tmp/share/.c" "$tmp/share/c"
ok 'a dead host of a third scheduler is believed' \
    wait_for 30 is_known grow/c.test 'told by c'
like 'a dead host that was good since is not believed' \
    "$(known one/here.test)" \
    '^one/here.test  (closed|idle)$'
: >"$tmp/up"
on a
flush 'gone/*'
on b
ok 'a host that is back for one scheduler is tried by the other' \
    wait_log 'complete msg=403-1' 20
rm "$tmp/share/c"
ok 'a file of another scheduler that is gone is no more believed' \
    wait_for 30 eval '[ -z "$(known grow/c.test)" ]'
printf 'destdb 2 rubbish\n' >"$tmp/share/d"
ok 'a damaged file of another scheduler is logged' \
    wait_log "destdb file=$tmp/share/d is empty, damaged"
sched_stop
is 'a damaged file of another scheduler stops nothing' "$sched_rc" 0
finish
