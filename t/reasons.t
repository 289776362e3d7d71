#!/bin/sh
# Each recipient has the reason of its own last deferral: in the log, in mailq,
# and in the DSN.
# Takes long.
. "${0%/*}/lib.sh"

po=$tmp/po
say=$tmp/say
mkdir "$say"

# For each pending recipient of its channel it reports what the file $say/USER
# has, a status and a text, and nothing for one that has no file.
agent tell <<'AGENT'
channel=$1
say=$2
tab=$(printf '\t')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" != '#idle' ] || { echo '#hungry'; continue; }
	job=${line%%"$tab"*}
	num=${job##*/}
	num=${num%%[!0-9]*}
	awk -v channel="$channel" '
		block { if ($0 == "") block = 0 }
		!block && /^r / {
			split(substr($0, 13), w, " ")
			if (w[1] == channel)
				print off + 0, w[3]
		}
		/^[mM]$/ { block = 1 }
		{ off += length($0) + 1 }' "$job" |
	while read -r off user; do
		[ -f "$say/$user" ] || continue
		printf '%s/%s\t\t' "$num" "$off"
		cat "$say/$user"
	done >"$say/reports"
	cat "$say/reports"	# at once
	while [ -f "$say/wait" ]; do sleep 1; done
	[ ! -f "$say/die" ] || exit 3
	echo '#hungry'
done
AGENT

says() {	# user status text
	echo "$2 $3" >"$say/$1"
}
quiet="PARAMdsn=\"-x '*'\""
config() {	# keywords [PARAM line ...]
	keywords=$1
	shift
	printf '%s\n' 'PARAMmailqsock none' 'PARAMmailname here.example' "$@"
	echo "*/*	interval=1h retries=1 expiry=5d reporttimes=none $keywords"
	echo "tell/*	command=\"tell \$channel $say\""
}
start() {	# keywords [PARAM line ...]
	config "$@" >"$tmp/cf"
	sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text"
}
mailq() {	# option ...
	POSTOFFICE=$po "$top/mailq" -q "$po/public/.mailq.text" "$@" 2>&1
}
mailq_order() {	# verb what
	POSTOFFICE=$po "$top/mailq" "$@"
}
# Recipients of the dump with their own lines.
own() {
	mailq -v | sed -n 's/^		to //p' | tr '\n' '@'
}
reason_of() {	# message, as JSON
	mailq -j | sed -n "s/.*\"message\":\"$1\".*\"reason\":\(\"[^\"]*\"\).*/\1/p"
}
# The different reasons in the lines "deferred" of its last run: of those behind
# the last that was the first of its recipients.
said() {	# message
	lines "deferred msg=$1 " |
	    sed -n 's/.* rcpt=\([0-9]*\) .* to=[^ ]* /\1 /p' |
	    awk '$1 <= was { all = ""; split("", seen) }
	    { was = $1; sub(/^[0-9]* /, "") }
	    !seen[$0]++ { all = all (all == "" ? "" : "; ") $0 }
	    END { print all }'
}
# The DSN of a message is $tmp/report.
report() {	# message
	wait_log "msg=$1 .*channel=dsn .* file=router" 30
	cat "$po/$(sed -n "s/.* msg=$1 .*channel=dsn .*file=\(router\/[0-9]*\).*/\1/p" \
	    "$tmp/sched.log" | tail -n 1)" >"$tmp/report"
}
# The fields of the recipients in it.
fields() {	# message
	report "$1"
	# long lines in one piece
	awk '{ printf "%s%s", sub(/^[ \t]+/, " ") ? "" : "\n", $0 }
	    END { print "" }' "$tmp/report" |
	    sed -n 's/^Final-Recipient: rfc822; *//p
	    s/^Final-Recipient: x-local; *//p
	    s/^Diagnostic-Code: */= /p
	    s/^Last-Attempt-Date: .*/dated/p' | tr '\n' '@'
}
# Times of diagnostic lines that are kept with the message, in file order.
stamps() {	# message
	sed -n 's/^d.[0-9]*:[-0-9]*:[-0-9]*::\([-0-9]*\)	.*/\1/p' \
	    "$po/postman/$1.control"
}
fresh() {
	rm -rf "$po"
	spool_new "$po"
	rm -f "$say"/*
}

# ---- two with different reasons ----------------------------------------------

fresh
says one deferred '451 greylisted'
says two deferred '452 mailbox full'
says same deferred '452 mailbox full'
put "$po" 101-1 tell h one tell h two tell h same
put "$po" 102-1 tell h two tell h same
put "$po" 103-1 tell h one tell h mute
ok 'the scheduler starts' start ''
ok 'a message is deferred' wait_log 'deferred msg=101-1 ' 20
is 'the log has the reason of each recipient' "$(said 101-1)" \
    '451 greylisted; 452 mailbox full'
wait_log 'deferred msg=102-1 '
is 'the log has the reason that all recipients share' "$(said 102-1)" \
    '452 mailbox full'
wait_log 'deferred msg=103-1 '
is 'a recipient that was not reported has that as its reason' \
    "$(said 103-1)" \
    '451 greylisted; transport agent did not report on it'
like 'mailq shows both reasons of a job' "$(mailq | tr '\n' '@')" \
    'tell/h  3 recipients, 1 try: 451 greylisted; 452 mailbox full@'
is 'mailq -v shows the reason of each where they differ' "$(own)" \
    'one: 451 greylisted@two: 452 mailbox full@same: 452 mailbox full@two@same@one: 451 greylisted@mute: transport agent did not report on it@'
is 'mailq -jv has the reason of each recipient where they differ' \
    "$(mailq -jv | sed -n 's/.*"message":"101-1".*,"to":/"to":/p')" \
    '"to":["one","two","same"],"reasons":["451 greylisted","452 mailbox full","452 mailbox full"]}'
is 'mailq -jv has the reason of a job for each recipient' \
    "$(mailq -jv | sed -n 's/.*"message":"102-1".*,"to":/"to":/p')" \
    '"to":["two","same"],"reasons":["452 mailbox full","452 mailbox full"]}'
is 'mailq -j has both reasons in one string' "$(reason_of 101-1)" \
    '"451 greylisted; 452 mailbox full"'

# Another run, in which one gets another reason and one none.
says one deferred '450 later'
rm "$say/two"
ok 'mailq flush all is accepted' mailq_order flush all
wait_for 20 eval '[ "$(count "deferred msg=101-1 ")" -ge 6 ]'
is 'a recipient has the reason of its last try alone' "$(said 101-1)" \
    '450 later; transport agent did not report on it; 452 mailbox full'
says two deferred '452 mailbox full'
: >"$say/die"
mailq_order flush 103-1 >"$tmp/x"
wait_for 20 eval '[ "$(count "deferred msg=103-1 ")" -ge 6 ]' ||
    wait_log 'deferred msg=103-1 .*exit code 3'
like 'reports count that an agent made before it died' "$(said 103-1)" \
    '^450 later; transport agent died with exit code 3'
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- reasons in the DSN ------------------------------------------------------

fresh
says one deferred '451 greylisted'
says two deferred '452 mailbox full'
put "$po" 111-1 tell h one tell h two tell h mute
ok 'the scheduler starts with a short expiry' start 'expiry=5s'
wait_log 'deferred msg=111-1 ' 20
ok 'the message expires' wait_log 'msg=111-1 .*channel=dsn .* file=router' 30
is 'a DSN has reason and last attempt of each recipient' \
    "$(fields 111-1)" \
    'one@= x-local; 451 greylisted@dated@two@= x-local; 452 mailbox full@dated@mute@= x-local; transport agent did not report on it@dated@'
like 'the text of a DSN has the reason of each recipient' \
    "$(tr '\n' '@' <"$tmp/report")" \
    '@  one@      expired after [0-9]*s, problem was:@      451 greylisted@@  two@      expired after [0-9]*s, problem was:@      452 mailbox full@'
is 'the log has the reason of each expired recipient' \
    "$(lines 'failed msg=111-1 ' |
    sed 's/.*problem was:[^ ]*\(4\)/\1/;s/.*\(transport\)/\1/' | tr '\n' '@')" \
    '451 greylisted@452 mailbox full@transport agent did not report on it@'
is 'the control file has no reason before the expiry' \
    "$(lines 'msg=111-1' | grep -c 'diagnostic')" 0
sched_stop

# dsn -x keeps the control file.
fresh
says one deferred '451 greylisted'
put "$po" 112-1 tell h one
ok 'the scheduler starts' start expiry=8s "$quiet"
wait_log 'deferred msg=112-1 ' 20
before=$(date +%s)
ok 'a message without DSN expires' wait_log 'set-aside msg=112-1 ' 30
ok 'the time of the last attempt is that of the try, not of the expiry' eval \
    '[ "$(stamps 112-1)" -le "$before" ] && [ "$(stamps 112-1)" -gt 1000000000 ]'
sched_stop

# A warning of a delay.
fresh
says one deferred '451 greylisted'
says two deferred '452 mailbox full'
put "$po" 113-1 tell h one tell h two
long=$(awk 'BEGIN { for (i = 0; i < 200; i++) printf "x" }')
list=
for i in 1 2 3 4 5 6 7 8 9; do
	says a$i deferred "451 $long"
	says b$i deferred "452 $long"
	list="$list tell h a$i tell h b$i"
done
put "$po" 114-1 $list
ok 'the scheduler starts with an early warning' \
    start 'delayreport reporttimes=2s'
is 'a warning of a delay has the reason of each recipient' \
    "$(fields 113-1)" \
    'one@= x-local; 451 greylisted@two@= x-local; 452 mailbox full@'
is 'a warning of two recipients is one line of the control file' \
    "$(grep -c '^d' "$po/transport/113-1")" 1
in_turns=451@452@451@452@451@452@451@452@451@452@451@452@451@452@451@452@451@452@
numbers() {	# message
	fields "$1" | tr '@' '\n' | sed -n "s/^= x-local; \(45.\) $long$/\1/p" |
	    tr '\n' '@'
}
is 'a warning has the reason of each of many that take turns' \
    "$(numbers 114-1)" $in_turns
is 'a line for a warning has each reason once' \
    "$(grep '^d' "$po/transport/114-1" | tr '\001 ' '\n\n' |
    grep -c "^$long$")" 2
sched_stop
ok 'the scheduler starts again and tries nothing' \
    start 'queueonly expiry=1s expiry2=1s'
is 'after a restart a DSN has the reasons of the warning' \
    "$(fields 113-1)" \
    'one@= x-local; 451 greylisted@two@= x-local; 452 mailbox full@'
is 'after a restart a DSN has each of many reasons of the warning' \
    "$(numbers 114-1)" $in_turns
sched_stop

# ---- over a restart -----------------------------------------------------------

# What another agent appended to the control file.
append() {	# message user text time
	off=$(awk -v user="$2" '/^r/ { split(substr($0, 13), w, " ")
		if (w[3] == user) print off + 0 }
		{ off += length($0) + 1 }' "$po/transport/$1")
	printf 'd %s:0:-1::%s\t%s\001delayed\0014.0.0\001smtp; 450\001\t%s\n' \
	    "$off" "$4" "$2" "$3" >>"$po/transport/$1"
}
fresh
says one deferred '451 greylisted'
says two deferred '452 mailbox full'
says three deferred '453 three'
put "$po" 121-1 tell h one tell h two tell h three
put "$po" 122-1 tell h one tell h two
ok 'the scheduler starts' start ''
wait_log 'deferred msg=121-1 ' && wait_log 'deferred msg=122-1 '
sched_stop
is 'a deferral writes nothing into the control file' \
    "$(cat "$po"/transport/12* | grep -c '^d')" 0
append 121-1 two '450 an older one' 1795220000
append 121-1 two '450 from the file' 1795220140
append 121-1 three "expired after 9d, problem was:$(printf '\r')450 once" 0
append 122-1 one '450 from the file' 1795220140
cp "$po/transport/122-1" "$tmp/122"
ok 'the scheduler starts again and tries nothing' \
    start 'queueonly expiry=1s expiry2=1s'
is 'after a restart a DSN has the reason of the control file, or none' \
    "$(fields 121-1 | sed 's/expired after [0-9a-z]*;/expired;/')" \
    'one@= x-local; expired; no reason for the delay was kept@two@= x-local; 450 from the file@dated@three@= x-local; 450 once@'
is 'the last of two diagnostics of a recipient counts' \
    "$(grep -c 'an older one' "$tmp/report")" 0
sched_stop
cp "$tmp/122" "$po/transport/122-1"
[ -f "$po/queue/122-1" ] || echo body >"$po/queue/122-1"
says one deferred '454 new words'
ok 'the scheduler starts again and tries mail' start 'expiry=1s expiry2=1d'
is 'a reason after a restart goes before the control file' \
    "$(fields 122-1)" \
    'one@= x-local; 454 new words@dated@two@= x-local; 452 mailbox full@dated@'
sched_stop

# ---- bounds -------------------------------------------------------------------

fresh
says one deferred '451 greylisted'
says two deferred '452 mailbox full'
says three deferred '453 three'
put "$po" 131-1 tell h one tell h two
ok 'the scheduler starts with room for one reason' \
    start 'expiry=1h' 'PARAMreasons 1'
wait_log 'deferred msg=131-1 ' 20
other='the reason is in the log of the mail system'
is 'a reason without room is not shown as that of another' "$(own)" \
    "one: 451 greylisted@two: $other@"
is 'the log line says that a reason has no room' \
    "$(said 131-1)" "451 greylisted; $other"
like 'a reason without room is in the log' "$(lines ' reason msg=131-1')" \
    'info reason msg=131-1 .*rcpt=[0-9]* channel=tell host=h to=[^ ]* 452 mailbox full$'
is 'a reason with room has no log line of its own' \
    "$(count ' reason msg=131-1')" 1
says one ok3
ok 'mailq flush of the message whose reason has the room' \
    mailq_order flush 131-1
wait_for 20 eval '[ "$(count "deferred msg=131-1 ")" -ge 3 ]'
is 'the other recipient of its job gets the room' "$(said 131-1)" \
    '452 mailbox full'
ok 'mailq delete of the message whose reason has the room' \
    mailq_order delete 131-1
put "$po" 132-1 tell h three
wait_log 'deferred msg=132-1 ' 20
is 'a reason gets the room of a deleted message' "$(said 132-1)" '453 three'
says three deferred '454 three again'
mailq_order flush 132-1 >"$tmp/x"
wait_log 'deferred msg=132-1 .*454' 20
is 'a reason makes room for the next of its recipient' "$(said 132-1)" \
    '454 three again'
says one deferred '451 greylisted'
says three ok3
mailq_order flush 132-1 >"$tmp/x"
wait_log 'complete msg=132-1 ' 20
put "$po" 134-1 tell h two
wait_log 'deferred msg=134-1 ' 20
is 'a recipient that is delivered makes room' "$(said 134-1)" \
    '452 mailbox full'
put "$po" 133-1 tell h one
wait_log 'deferred msg=133-1 ' 20
config 'expiry=1s' 'PARAMreasons 1' >"$tmp/cf"
echo 'PARAMmailqsock none' >>"$tmp/cf"
kill -HUP $sched_pid
is 'a DSN without room for a reason says where to ask' \
    "$(fields 133-1)" "one@= x-local; $other@dated@"
wait_log 'msg=134-1 .*channel=dsn .* file=router' 30
put "$po" 135-1 tell h one
wait_log 'deferred msg=135-1 ' 20
is 'recipients that expire make room' "$(said 135-1)" '451 greylisted'
sched_stop

fresh
says one deferred '451 greylisted'
says two deferred '451 greylisted'
says three deferred '453 three'
put "$po" 136-1 tell h one tell h two tell h three
ok 'the scheduler starts with room for one reason' \
    start 'expiry=1h' 'PARAMreasons 1'
wait_log 'deferred msg=136-1 ' 20
like 'a reason without room is in the log' \
    "$(lines ' reason msg=136-1')" 'channel=tell host=h to=three 453 three$'
sched_stop
is 'the scheduler ends well' $sched_rc 0

fresh
long=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf "x" }')
list=
for i in 1 2 3 4 5 6 7 8 9; do
	says u$i deferred "$i $long"
	list="$list tell h u$i"
done
put "$po" 141-1 $list
ok 'the scheduler starts' start expiry=4s "$quiet"
wait_log 'deferred msg=141-1 ' 20
like 'each reason of many has a line of its own' "$(said 141-1)" \
    '^1 xxx.*; 2 xxx.*; 9 xxx*$'
wait_log 'set-aside msg=141-1 ' 30
is 'a reason has 255 bytes at most' \
    "$(sed -n 's/^d.*	[^	]*problem was:.//p' \
    "$po/postman/141-1.control" | awk '{ print length($0) }' | sort -u)" 255
is 'each recipient of many has its own reason' \
    "$(sed -n 's/^d.*	[^	]*problem was:.\([0-9]\) .*/\1/p' \
    "$po/postman/141-1.control" | tr -d '\n')" 123456789
sched_stop

# The agent reports on all recipients of the file, in core or not.
fresh
list=
for i in 1 2 3 4 5; do
	says u$i deferred "45$i own words"
	list="$list tell h u$i"
done
put "$po" 151-1 $list
ok 'the scheduler starts with room for two recipients' start \
    expiry=3s "$quiet" 'PARAMrecipients 2' 'PARAMrcptminimum 1'
wait_log 'set-aside msg=151-1 ' 60
is 'of a message partly in core each recipient has its own reason' \
    "$(sed -n 's/^d[^	]*	\(u.\).*problem was:.\(.*\)/\1 \2/p' \
    "$po/postman/151-1.control" | sort | tr '\n' '@')" \
    'u1 451 own words@u2 452 own words@u3 453 own words@u4 454 own words@u5 455 own words@'
sched_stop

# While the agent has the job, one recipient is delivered, and another comes in.
fresh
says u1 ok3
says u2 deferred '452 own words'
says u3 deferred '453 own words'
: >"$say/wait"
put "$po" 161-1 tell h u1 tell h u2 tell h u3
at=$(awk '/ u3 /{ print off + 0 } { off += length($0) + 1 }' \
    "$po/transport/161-1")
in_core() {	# offset
	"$top/t/ask" pipe "$po/public/.mailq.text" |
	    grep "; [0-9]*,$1	#" >/dev/null
}
ok 'the scheduler starts with room for two recipients' start \
    '' 'PARAMrecipients 2' 'PARAMrcptminimum 1'
wait_log 'delivered msg=161-1 ' 20
ok 'a third recipient is loaded' wait_for 20 in_core "$at"
rm "$say/wait"
wait_log 'deferred msg=161-1 ' 20
is 'a recipient loaded after its report keeps that report' \
    "$(said 161-1)" '452 own words; 453 own words'
sched_stop

printf 'PARAMreasons 0\nPARAMreasons 65535\n*/* command="tell"\n' >"$tmp/bad"
like 'PARAMreasons has bounds' "$("$SCHEDULER" -n -f "$tmp/bad" 2>&1 |
    tr '\n' '@')" 'reasons: 0 is not between 1 and 65534@.*65535 is not'

# ---- a message that is set aside when it comes back ------------------------------

fresh
says one deferred '451 one first'
says other deferred 'other words'
says third deferred 'third words'
put "$po" 101-1 tell h one
ok 'a scheduler with room for one message starts' \
    start 'interval=1h retries=1' 'PARAMactive 1' 'PARAMreasons 2'
wait_log 'deferred msg=101-1 '
put "$po" 102-1 tell h other
ok 'a message with a reason is evicted' wait_log 'evict msg=101-1' 20
wait_log 'deferred msg=102-1 '
rm "$po/queue/101-1"
mailq_order flush 101-1 >/dev/null 2>&1
ok 'a message without its file is set aside' wait_log 'set-aside msg=101-1' 20
says other ok3 fine
mailq_order flush 102-1 >/dev/null 2>&1
wait_log 'complete msg=102-1'
put "$po" 103-1 tell h third
wait_log 'deferred msg=103-1'
put "$po" 104-1 tell h other
wait_log 'complete msg=104-1'
says one deferred 'new words'
put "$po" 105-1 tell g one
wait_log 'deferred msg=105-1'
is 'a message that is set aside gives its reason back' \
    "$(count 'reason msg=')" 0
sched_stop

# ---- one report twice, by both orders ---------------------------------------------

for order in age preempt; do
	fresh
	says one ok3 fine
	says two deferred '452 mailbox full'
	put "$po" 101-1 tell h one tell h two
	ok "the scheduler starts with order=$order" start "order=$order"
	wait_log 'deferred msg=101-1 '
	mailq_order flush all >/dev/null
	wait_for 20 eval '[ "$(count "deferred msg=101-1 ")" -ge 2 ]'
	is "with order=$order a recipient is delivered to once" \
	    "$(count 'delivered msg=101-1')" 1
	sched_stop
done

finish
