#!/bin/sh
# What left core comes back at its time, as it was.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/words.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
ask=$top/t/ask
po=$tmp/po
pipe=$po/public/.mailq.text
MONO=$tmp/mono
export MONO

mono=0
# More than an hour at once would be time in which the machine slept, and
# some seconds are no step that the log has: parts as long as each other.
pass_by() {	# seconds, for the scheduler
	left=$1
	while [ $left -gt 0 ]; do
		step=$((left / ((left + 2999) / 3000)))
		left=$((left - step)) mono=$((mono + step))
		steps=$(($(count clock-step) + 1))
		set_clock "$MONO" $mono
		wait_for 60 eval '[ "$(count clock-step)" -ge "$steps" ]'
	done
}
fresh() {
	rm -rf "$po" "$tmp/go"
	spool_new "$po"
	: >"$tmp/tried"
}
start() {
	sched_start "$po" "$tmp/cf" -q "$pipe" "$@"
}
order() {	# verb what
	"$ask" order "$po" "$1" "$2" >"$tmp/answer"
}

# Starts with room for one message: the first is deferred and leaves core for
# the second.
evict_first() {	# first second title
	put "$po" $1 test f1 full
	ok "the scheduler starts $3" start
	wait_log "deferred msg=$1" 20
	put "$po" $2 test f2 full
	ok "mail is evicted $3" wait_log "evict msg=$1" 20
	wait_log "deferred msg=$2" 20
}

# ---- a message comes back as it was ------------------------------------------

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
PARAMdsn="-x '*'"
*/*	interval=100s retries="1 50" expiry=2h expiry2=0 skew=1000000
test/*	command="words $tmp"
EOF
put "$po" 101-1 test h1 full test h3 grey test h3 full3
ok 'the scheduler starts with room for one message' start
ok 'two jobs are deferred' \
    wait_for 60 eval '[ "$(count "deferred msg=101-1")" -eq 3 ]'
put "$po" 102-1 test h9 full
ok 'a message with waiting jobs is evicted for another' \
    wait_log 'evict msg=101-1 .*for=' 60
ok 'another message is loaded when one is evicted' \
    wait_log 'deferred msg=102-1' 60
like 'mailq counts what is evicted' "$("$top/mailq" -q "$pipe" 2>&1 ||
    POSTOFFICE=$po "$top/mailq" 2>&1)" '; 1 evicted'
is 'the control file of an evicted message keeps its time stamp' \
    "$(find "$po/transport" \
    -name 101-1 -newer "$tmp/tried" | wc -l | tr -d ' ')" 0
pass_by 101
ok 'an evicted message is loaded when its first job is due' \
    wait_for 60 often 2 101-1 grey
ok 'all due jobs of an evicted message are tried' wait_for 60 often 2 101-1 full
wait_for 60 eval '[ "$(count "deferred msg=101-1")" -eq 6 ]'
is 'jobs of an evicted message have the place of its age' \
    "$(count 'deferred msg=101-1 .*next=(49[0-9][0-9]|50[0-9][0-9]) ')" 3
put "$po" 105-1 test h2 at3600
wait_log 'deferred msg=105-1' 60
put "$po" 103-1 test h8 fine
ok 'mail with a retryat is evicted' wait_log 'evict msg=105-1' 60
wait_log 'complete msg=103-1' 60
pass_by 3440
put "$po" 106-1 test h8 fine
ok 'mail is delivered when almost the retryat has passed' \
    wait_log 'complete msg=106-1' 60
is 'a job is not tried before its retryat' "$(tried 105-1 at3600)" 1
pass_by 170
ok 'evicted mail is tried at its retryat' wait_for 60 often 2 105-1 at3600
put "$po" 104-1 test h8 grey
wait_log 'deferred msg=104-1' 60
ok 'a message is evicted a second time' wait_for 60 eval \
    '[ "$(count "evict msg=101-1")" -ge 2 ]'
pass_by 3700
ok 'an evicted message expires' wait_log 'set-aside msg=101-1' 60
is 'each recipient has its own last reason' \
    "$(sed -n 's/^d[^	]*	\([a-z0-9]*\).*problem was:.\(.*\)/\1 \2/p' \
    "$po/postman/101-1.control" | sort | tr '\n' '@')" \
    'full 452 the box is full@full3 452 the box is full@grey 451 greylisted@'
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- a retryat beside other jobs of an evicted message -------------------------

fresh
put "$po" 111-1 test h1 at3000 test h2 grey
start
ok 'two jobs are deferred, one until a retryat' \
    wait_for 60 eval '[ "$(count "deferred msg=111-1")" -eq 2 ]'
put "$po" 112-1 test h9 full
ok 'a message with a retryat within an hour is evicted' \
    wait_log 'evict msg=111-1 .*for=(29|30)[0-9][0-9]' 60
pass_by 2000
put "$po" 113-1 test h8 fine
ok 'mail is delivered before the retryat' wait_log 'complete msg=113-1' 60
is 'the other job of an evicted message waits for the retryat' \
    "$(tried 111-1 at3000) $(tried 111-1 grey)" '1 1'
pass_by 1100
ok 'both jobs are tried at the retryat' \
    wait_for 60 eval 'often 2 111-1 at3000 && often 2 111-1 grey'
put "$po" 114-1 test h3 at7000 test h4 grey
wait_for 60 eval '[ "$(count "deferred msg=114-1")" -eq 2 ]'
put "$po" 115-1 test h9 fine
ok 'a retryat of hours keeps no other job of an evicted message' \
    wait_log 'evict msg=114-1 .*for=(9[0-9]|1[0-9][0-9]) ' 60
sched_stop
is 'the scheduler ends well' $sched_rc 0

# The only agent is busy, so that the job without a retryat is ready.
fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 2
PARAMdsn="-x '*'"
*/*	interval=100s retries=1 expiry=2h skew=1000000
test/*	command="words $tmp" maxta=1
next/*	command="words $tmp"
EOF
: >"$tmp/slow"
put "$po" 121-1 test h1 at3000 test h2 full
start
wait_for 60 eval '[ "$(count "deferred msg=121-1")" -eq 2 ]'
put "$po" 122-1 test h3 slow
wait_for 60 often 1 122-1 slow
pass_by 300
put "$po" 123-1 next h4 fine
ok 'a message with a ready job leaves for another channel' \
    wait_log 'evict msg=121-1 .*for=2[0-9]+' 60
ok 'mail of the other channel is delivered' wait_log 'complete msg=123-1' 60
rm "$tmp/slow"
put "$po" 124-1 test h5 fine
ok 'mail of the first channel is delivered' wait_log 'complete msg=124-1' 60
is 'its job with a retryat is not tried early' "$(tried 121-1 at3000)" 1
pass_by 2900
ok 'its jobs are tried at the retryat' \
    wait_for 60 eval 'often 2 121-1 at3000 && often 2 121-1 full'
sched_stop
is 'the scheduler ends well' $sched_rc 0

# ---- more than PARAMrecipients in one message ----------------------------------

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMrecipients 2
PARAMdsn="-x '*'"
*/*	interval=1s retries="1 1 1 1" expiry=30d skew=1000000
test/*	command="words $tmp"
EOF
put "$po" 201-1 test p1 at3600 test p2 full2 test p3 full3 test p4 full4 \
    test p5 full5
ok 'the scheduler starts with room for two recipients of five' start
often_all() {	# times
	for u in full2 full3 full4 full5; do
		often "$1" 201-1 "$u" || return
	done
}
ok 'jobs of a list are tried again and again' wait_for 60 often_all 3
is 'a job of a list with a retryat is not tried' "$(tried 201-1 at3600)" 1
like 'the tries of jobs of a list are counted' \
    "$(lines 'deferred msg=201-1')" ' tries=3 '
pass_by 3601
ok 'a job of a list is tried when its retryat has come' \
    wait_for 60 often 2 201-1 at3600
wait_for 60 eval '[ "$(count "deferred msg=201-1 .*next=3[0-9]{3} ")" -eq 2 ]'
: >"$tmp/go"
order flush all
ok 'a flush reaches all recipients of a list' \
    wait_for 60 po_empty "$po"
sched_stop

# ---- a list is called by its name ----------------------------------------------

fresh
sed 's/^\*.*/*\/*	interval=1h retries=9 expiry=30d/' "$tmp/cf" \
    >"$tmp/cf.new" && mv "$tmp/cf.new" "$tmp/cf"
put "$po" 211-1 test p1 at3600 test p2 full2 test p3 full3 test p4 full4 \
    test p5 full5
five() {	# times
	for u in at3600 full2 full3 full4 full5; do
		often "$1" 211-1 "$u" || return
	done
}
ok 'the scheduler starts with room for two recipients' start
ok 'five recipients are tried once' wait_for 60 five 1
wait_for 60 reported 211-1
rcpts() {	# options of mailq: the sum of the recipients of all objects
	"$top/mailq" -q "$pipe" -j "$@" | awk -F'"recipients":' '
	    { n += $2 } END { print n + 0 }'
}
is 'mailq -c counts all recipients of a list' \
    "$("$top/mailq" -q "$pipe" -c | sed -n 's/^recipients //p')" 5
is 'the objects of a list have all its recipients' "$(rcpts)" 5
for u in at3600 full2 full3 full4 full5; do
	like "a recipient of a list is found: $u" \
	    "$("$top/mailq" -q "$pipe" -j to=$u)" '"message":"211-1"'
done
order flush 211-1
ok 'a flush of the message reaches all of it' wait_for 60 five 2
wait_for 60 reported 211-1
order hold 211-1
order release 211-1
ok 'a release of the message reaches all of it' wait_for 60 five 3
sched_stop

# ---- reports of a job in one write ----------------------------------------------

# All reports on a job, and its end, are one write.
agent burst <<'END'
tab=$(printf '\t')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	job=${line%%"$tab"*}
	[ "$line" != '#idle' ] || { echo '#hungry'; continue; }
	job=${line%%"$tab"*}
	for off in $(awk '/^r.* ok/ { print off + 1 }
	    { off += length($0) + 1 }' "$job"); do
		printf + | dd of="$job" bs=1 seek="$off" conv=notrunc
	done 2>/dev/null
	awk -v job="$job" -v dir="$1" '
		/^r / {
			user = substr($0, 13)
			sub(/^[^ ]* [^ ]* /, "", user)
			sub(/ .*/, "", user)
			print job, user >>(dir "/tried")
			word = "deferred 452 full"
			if (user ~ /^at/)
				word = "retryat +3600 later"
			all = all sprintf("%d/%d\t\t%s\n", job, off, word)
		}
		/^r\+.* ok/ { all = all sprintf("%d/%d\t\tok3 \n", job, off) }
		{ off += length($0) + 1 }
		END { printf "%s#hungry\n", all }' "$job"
done
END
fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=100s retries=1 expiry=30d skew=1000000
test/*	command="burst $tmp"
EOF
put "$po" 221-1 test h1 ok1 test h1 ok2 test h1 at3600 test h1 full
ok 'the scheduler starts with a job of four recipients' start
ok 'the first two of a job are delivered' \
    wait_for 60 eval '[ "$(count "delivered msg=221-1")" -eq 2 ]'
put "$po" 222-1 test h2 ok1
wait_log 'complete msg=222-1' 60
is 'recipients that were deferred beside others wait' \
    "$(tried 221-1 at3600) $(tried 221-1 full)" '1 1'
pass_by 3500
put "$po" 223-1 test h2 ok1
wait_log 'complete msg=223-1' 60
is 'a retryat of one recipient is obeyed' "$(tried 221-1 at3600)" 1
pass_by 101
ok 'a recipient is tried at its retryat' \
    wait_for 60 often 2 221-1 at3600
sched_stop

# ---- what is called ----------------------------------------------------------

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
PARAMdsn="-x '*'"
*/*	interval=1h retries=9 expiry=30d skew=1000000
test/*	command="words $tmp"
turn/*	queueonly command="words $tmp"
EOF
put "$po" 301-1 test f1 at9000
ok 'the scheduler starts with room for one message' start
wait_log 'deferred msg=301-1' 60
put "$po" 302-1 test f2 at9000
ok 'deferred mail is evicted for new mail' wait_log 'evict msg=301-1' 60
wait_log 'deferred msg=302-1' 60
put "$po" 303-1 turn q1 fine
ok 'a second deferred message is evicted' wait_log 'evict msg=302-1' 60
put "$po" 304-1 test x1 full
ok 'mail that waits for a T line is evicted' wait_log 'evict msg=303-1' 60
wait_log 'deferred msg=304-1' 60
order flush 'test/f1'
like 'a flush of a pattern answers how many files are read' \
    "$(cat "$tmp/answer")" '; [1-9] files? to be read'
ok 'evicted mail is tried by a flush of its address' wait_for 60 often 2 301-1
is 'evicted mail of another address is not tried by a flush' "$(tried 302-1)" 1
order hold 'test/f2'
pass_by 9001
ok 'evicted mail of a held address is loaded at its time' \
    wait_for 60 eval '[ "$(count "load msg=302-1")" -ge 2 ]'
put "$po" 305-1 test x2 fine
wait_log 'complete msg=305-1' 60
is 'evicted mail of a held address is not tried' "$(tried 302-1)" 1
wait_for 60 eval '[ "$(count "evict msg=302-1")" -ge 2 ]'
order release 'test/f2'
ok 'evicted mail of a held address is tried after a release' \
    wait_for 60 often 2 302-1
is 'evicted mail of a queueonly channel waits for a T line' "$(tried 303-1)" 0
printf 'T q1\n' | put_raw "$po" 901-1
ok 'a T line reaches evicted mail' wait_log 'complete msg=303-1' 60
wait_for 60 reported 304-1
have=$(tried 304-1)
order flush 304-1
ok 'a flush by name loads an evicted message' \
    wait_for 60 often $((have + 1)) 304-1
wait_for 60 reported 301-1 302-1 304-1
: >"$tmp/go"
order flush all
ok 'a flush of all reaches all evicted mail' wait_for 30 po_empty "$po"
sched_stop

fresh
evict_first 311-1 312-1 'before a hold'
order hold 'test/f*'
order release 'test/f*'
ok 'a release reaches mail evicted before the hold' wait_for 60 often 2 311-1
ok 'a release reaches mail that was in core' wait_for 60 often 2 312-1
wait_for 60 reported 311-1 312-1
sed 's/interval=1h retries=9/interval=100s retries=1/' "$tmp/cf" >"$tmp/cf.new" &&
    mv "$tmp/cf.new" "$tmp/cf"
kill -HUP "$sched_pid"
wait_log 'reload file=' 60
pass_by 101
ok 'shorter times of a reload apply to mail in core' \
    wait_for 60 eval 'often 3 311-1 || often 3 312-1'
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
PARAMdsn="-x '*'"
*/*	interval=1h retries=9 expiry=30d expiry2=0 skew=1000000
test/*	command="words $tmp"
EOF
evict_first 371-1 372-1 'before a shorter expiry'
pass_by 1500
sed 's/expiry=30d/expiry=20m/' "$tmp/cf" >"$tmp/cf.new" &&
    mv "$tmp/cf.new" "$tmp/cf"
kill -HUP "$sched_pid"
ok 'a shorter expiry of a reload applies to mail in core' \
    wait_log 'complete msg=372-1' 60
ok 'a shorter expiry of a reload applies to evicted mail' \
    wait_log 'complete msg=371-1' 60
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
*/*	interval=1h retries=9 expiry=30d reporttimes=10d delayreport
*/*	skew=1000000
test/*	command="words $tmp"
EOF
evict_first 375-1 376-1 'before an earlier warning'
pass_by 1500
sed 's/reporttimes=10d/reporttimes=20m/' "$tmp/cf" >"$tmp/cf.new" &&
    mv "$tmp/cf.new" "$tmp/cf"
kill -HUP "$sched_pid"
ok 'an earlier warning of a reload applies to mail in core' \
    wait_log 'delivered msg=376-1 .*host=delay' 60
ok 'an earlier warning of a reload applies to evicted mail' \
    wait_log 'delivered msg=375-1 .*host=delay' 60
is 'a warning of a reload starts no try' "$(tried 375-1)" 1
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
PARAMdsn="-x '*'"
*/*	interval=1h retries=9 expiry=30d skew=1000000
test/*	command="words $tmp"
turn/*	queueonly command="words $tmp"
EOF
put "$po" 381-1 turn q1 fine
ok 'the scheduler starts before a T line on held mail' start
put "$po" 382-1 test x1 full
ok 'mail that waits for a T line is evicted' wait_log 'evict msg=381-1' 60
wait_log 'deferred msg=382-1' 60
order hold 'turn/*'
printf 'T q1\n' | put_raw "$po" 902-1
ok 'a T line brings in evicted mail that is held' \
    wait_for 60 eval '[ "$(count "load msg=381-1")" -ge 2 ]'
order flush 382-1
ok 'held mail is evicted after its T line' \
    wait_for 60 eval '[ "$(count "evict msg=381-1")" -ge 2 ]'
kill -HUP "$sched_pid"
wait_log 'reload file=' 60
order release 'turn/*'
printf 'T q1\n' | put_raw "$po" 903-1
ok 'a T line starts evicted mail after a hold' \
    wait_log 'complete msg=381-1' 60
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMrecipients 1
*/*	interval=1h retries=9 expiry=30d delayreport reporttimes=20m
test/*	command="words $tmp"
EOF
put "$po" 391-1 test f1 full test f2 grey test f3 full3
ok 'the scheduler starts with room for one recipient' start
ok 'three recipients are deferred' \
    wait_for 60 eval '[ "$(count "deferred msg=391-1")" -eq 3 ]'
pass_by 1500
ok 'a warning is sent on all recipients of a list' \
    wait_log 'delivered msg=391-1 .*channel=dsn host=delay' 60
is 'a warning gives the reasons of all recipients of a list' \
    "$(sed -n 's/^d+.*	4/4/p' "$po/transport/391-1" | sort | tr '\n' '@')" \
    '451 greylisted@452 the box is full@452 the box is full@'
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 2
PARAMdsn="-x '*'"
*/*	interval=1h retries=9 expiry=30d skew=1000000
test/*	command="words $tmp"
EOF
put "$po" 321-1 test h down1
ok 'the scheduler starts with room for two messages' start
wait_log 'deferred msg=321-1' 60
put "$po" 322-1 other none fine
put "$po" 323-1 other none fine
ok 'mail for a dead host is evicted' wait_log 'evict msg=321-1' 60
: >"$tmp/go"
put "$po" 324-1 test h fine
order flush 324-1
ok 'a dead host answers after a flush' wait_log 'complete msg=324-1' 60
pass_by 32500
ok 'evicted mail for a dead host is tried at its time' \
    wait_log 'complete msg=321-1' 60
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 2
PARAMdsn="-x '*'"
*/*	interval=1h retries=10 expiry=30d skew=1000000
test/*	command="words $tmp"
local/*	command="words $tmp"
EOF
put "$po" 331-1 test h at100
ok 'the scheduler starts with retries of ten hours' start
wait_log 'deferred msg=331-1' 60
put "$po" 332-1 test h down1
wait_log 'asleep .*host=h' 60
put "$po" 333-1 other none fine
put "$po" 334-1 other none fine
ok 'mail with a retryat for a dead host is evicted' \
    wait_log 'evict msg=331-1 .*for=[0-9]{5} ' 60
ok 'mail without a retryat for a dead host is evicted' \
    wait_log 'evict msg=332-1 .*for=[0-9]{5} ' 60
: >"$tmp/go"
put "$po" 335-1 test h fine
wait_log 'load msg=335-1' 60
order flush 335-1
wait_log 'complete msg=335-1' 60
is 'evicted mail waits for its time when its host answers' \
    "$(tried 331-1) $(tried 332-1)" '1 1'
pass_by 36100
ok 'evicted mail of a host that has answered is tried at its time' \
    eval 'wait_log "complete msg=331-1" 60 && wait_log "complete msg=332-1" 60'

rm "$tmp/go"
put "$po" 341-1 local - down1
wait_log 'asleep channel=local' 60
put "$po" 342-1 other none fine
put "$po" 343-1 other none fine
ok 'mail of a locked mailbox is evicted' wait_log 'evict msg=341-1' 60
put "$po" 344-1 local - fine
ok 'the agent of a locked mailbox goes to another' \
    wait_log 'complete msg=344-1' 60
: >"$tmp/go"
put "$po" 345-1 local - down1
wait_log 'load msg=345-1' 60
order flush 345-1
ok 'new mail for the mailbox is delivered when it is flushed' \
    wait_log 'complete msg=345-1' 60
pass_by 36100
ok 'evicted mail of a mailbox is tried at its time' \
    wait_log 'complete msg=341-1' 60
sched_stop

# ---- more than is kept in mind -----------------------------------------------

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 3
PARAMevicted 4
PARAMdsn="-x '*'"
*/*	interval=40s retries=1 expiry=30d skew=1000000
test/*	command="words $tmp"
EOF
names='01 02 03 04 05 06 07 08 09 10 11 12'
for n in $names; do
	put "$po" 4$n-1 test "k$n" full
done
ok 'the scheduler starts with PARAMevicted 4' start
each() {	# times
	for n in $names; do
		often "$1" 4$n-1 || return
	done
}
ok 'twelve messages are tried once' wait_for 30 each 1
ok 'mail beyond PARAMevicted is forgotten' \
    logged 'evict msg=.* beyond PARAMevicted'
for n in 1 2 3 4; do
	put "$po" 50$n-1 test other fine
	ok 'new mail is delivered beside forgotten mail' \
	    wait_log "complete msg=50$n-1" 20
done
ok 'forgotten mail is not tried at each scan' \
    [ "$(grep -c '^4' "$tmp/tried")" -le 36 ]
pass_by 41
ok 'forgotten mail is tried again when it is due' wait_for 60 each 2
: >"$tmp/go"
pass_by 41
ok 'forgotten mail is delivered' wait_for 90 po_empty "$po"
is 'forgotten mail is delivered once each' \
    "$(lines ' delivered msg=4' | sed 's/.*msg=\([^ ]*\).*/\1/' |
    sort | uniq -c | awk '$1 == 1' | wc -l | tr -d ' ')" 12
sched_stop
is 'the scheduler ends well' $sched_rc 0

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
PARAMevicted 2
PARAMdsn="-x '*'"
*/*	interval=100s retries="1 50" expiry=30d skew=1000000
test/*	command="words $tmp"
EOF
ok 'the scheduler starts with room for one evicted job' start
wait_log ' loaded ' 60
put "$po" 511-1 test h1 full1 test h2 full2
wait_for 60 eval '[ "$(count "deferred msg=511-1")" -eq 2 ]'
put "$po" 512-1 test h3 full
ok 'a message of two jobs is evicted' wait_log 'evict msg=511-1' 60
wait_log 'deferred msg=512-1' 60
pass_by 101
ok 'a job that was forgotten has the place of its age, as the other' \
    wait_for 60 eval \
    '[ "$(count "deferred msg=511-1 .*next=(49|50)[0-9]{2} ")" -eq 2 ]'
sched_stop

fresh
conf "$tmp/cf" <<EOF
PARAMmailqsock none
PARAMactive 1
PARAMevicted 2
PARAMdsn="-x '*'"
*/*	interval=1h retries=9 expiry=30d skew=1000000
test/*	command="words $tmp"
none/*	interval=1h
EOF
for n in 1 2 3 4 5 6; do
	put "$po" 52$n-1 none p1 fine none p2 fine
done
ok 'the scheduler starts with mail that has no command' start -v
ok 'more messages are evicted than are remembered' \
    wait_log 'evict msg=52.* beyond PARAMevicted' 60
# The order of the directory decides which messages have stubs.
order flush "$(lines 'beyond PARAMevicted' |
    sed -n '1s/.* msg=\([0-9-]*\) .*/\1/p')"
like 'a flush by its name finds each message, and says what has no command' \
    "$(cat "$tmp/answer")" '^ok 0 jobs flushed, 2 not flushed \(no command\)$'
sed 's/^none.*/none\/*	command="words $tmp"/' "$tmp/cf" | sed "s!\$tmp!$tmp!" \
    >"$tmp/cf.new" && mv "$tmp/cf.new" "$tmp/cf"
kill -HUP "$sched_pid"
wait_log 'reload file=' 60
ok 'a command that a reload adds reaches mail in core and its stubs' \
    wait_for 60 eval '[ "$(count "complete msg=52")" -ge 3 ]'
pass_by 3601
ok 'mail beyond PARAMevicted follows within an hour' \
    wait_for 60 po_empty "$po"
sched_stop

# ---- times of an older spool -------------------------------------------------

fresh
: >"$tmp/go"
put "$po" 601-1 test h full
touch -t 203301020304.05 "$po/transport/601-1"
put "$po" 602-1 test h full
touch -t 203301020304.05 "$po/queue/602-1"
ok 'the scheduler starts with control files of the future' start
ok 'mail with files of the future is delivered at once' \
    wait_for 60 po_empty "$po"
is 'mail with files of the future has no age' \
    "$(lines 'load msg=60' | sed 's/.* age=\([0-9]*\).*/\1/' |
    awk '$1 > 5' | wc -l | tr -d ' ')" 0
sched_stop

# ---- much that expires at once -------------------------------------------------

# All of it is due in one pass, and a pass ends with what is complete.
fresh
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=1d retries=1 expiry=40m expiry2=1s
late/*	command="$A -c late deferred later"
END
put_many "$po" 70 1 late
ok 'the scheduler starts with mail that expires at once' start
ok 'all mail that expires at once was tried' \
    wait_for 30 eval '[ "$(count " deferred msg=1")" -eq 70 ]'
pass_by 3000
ok 'all mail that is too old expires' \
    wait_for 30 eval '[ "$(count " complete msg=1")" -eq 70 ]'
is 'mail that expires at once does so in several passes' \
    "$(lines ' (failed .*status=expire|complete) ' |
    awk '$3 == "complete" { n = 0 } $3 == "failed" { all++
	if (++n > most) most = n } END { print all, (most < 40) }')" '70 1'
sched_stop
finish
