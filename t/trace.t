#!/bin/sh
# One id for each message everywhere, and a log that answers "what became of the
# mail to joe?".
. "${0%/*}/lib.sh"

M=$top/mailq
A=$top/t/agent
own_spool
mkdir "$tmp/logs"
LOGDIR=$tmp/logs
export LOGDIR
configure() {	# addresses
	conf "$tmp/cf" <<-END
	PARAMmailqsock none
	PARAMlogaddresses $1
	PARAMdsn="-x '*'"
	*/*	interval=500s expiry=2d
	later/*	command="$A -c later deferred mailbox full"
	fine/*	command="$A -c fine ok3 thanks"
	bad/*	command="$A -c bad error no such user joe@far.example here"
	relay/*	command="relay"
	END
}
# It names the other host in what it says of each recipient, and itself behind
# that for one host, as ZMailer's smtp does.
agent relay <<'END'
tab=$(printf '\t') a=$(printf '\001')
echo '#hungry'
while read -r job host && [ -n "$job" ]; do
	case $job in
	'#'*) continue ;;
	esac
	set -f
	me=
	[ "$host" = r.example ] || me="${a}smtp[$$]"
	awk '{ if (/^r[ ~]/) print at; at += length($0) + 1 }' "$job" |
	    while read -r off; do
		printf '%s/%s\t%s\t%s\n' "${job%%-*}" "$off" \
		    "x${a}delayed${a}4.2.0${a}y${a}dns; mx1.far.example$me" \
		    "deferred 451 later"
	    done
	echo '#hungry'
done
END
start() {
	sched_start "$po" "$tmp/cf" -q "$po/public/.mailq.text" -l "$tmp/stat"
}
message() {	# name, lines of recipients on standard input
	{
		printf '%s\n' "i $1" 'o 0' 'l x' 'e anna@a.example' \
		    's smtp here anna@a.example 0'
		cat
		printf 'm\nSubject: lunch\nMessage-Id: <m1 @a.example>\n\n'
	} | put_raw "$po" "$1"
}
story() {	# ERE: events of the lines, in a row
	lines "$1" | awk '{ printf "%s ", $3 }'
}
id_of() {	# name
	lines " load msg=$1 " | sed -n '$s/.* id=\([^ ]*\).*/\1/p'
}
show() {	# [argument ...]: sets rc and said
	said=$("$M" -L "$tmp/sched.log" show "$@" 2>"$tmp/err" </dev/null)
	rc=$?
}
first() {
	printf '%s\n' "$said" | sed -n '1s/ .*//p'
}

# ---- one id ------------------------------------------------------------------

configure yes
message 10101-1 <<'END'
r           later h.example joe@far.example 65534
N NOTIFY=FAILURE ORCPT=rfc822;jj@far.example
r           fine h.example bert@b.example 65534
N ORCPT=rfc822;bert@b.example
r           bad h.example carl@c.example 65534
r           relay r.example dora@d.example 65534
r           relay z.example erin@e.example 65534
END
ok 'the scheduler starts' start
wait_log 'deferred msg=10101-1 .*joe' && wait_log 'failed msg=10101-1' &&
    wait_log 'delivered msg=10101-1' &&
    wait_log 'deferred .*channel=relay.*dora' &&
    wait_log 'deferred .*channel=relay.*erin'
id=$(id_of 10101-1)
like 'the log has the spool id behind the name' "$id" '^S10101A[A-Za-z0-9=-]+$'
is 'each line of a message has its id' \
    "$(lines ' msg=10101-1 ' | grep -vc " msg=10101-1 id=$id ")" 0
is 'the statistics have the same id' \
    "$(sed 's/ .*//' "$tmp/stat" | sort -u)" "$id"
like 'the statistics end with a time' "$(sed -n 1p "$tmp/stat")" \
    ' 20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]T[0-9:]{8}Z$'
show 10101-1
like 'mailq show has the same id' "$said" "^	id $id, file "
like 'mailq -v has the same id' "$("$M" -v)" "^	id $id\$"
like 'mailq -j has the same id' "$("$M" -j)" \
    "^[{]\"message\":\"10101-1\",\"id\":\"$id\","

# ---- the log answers -----------------------------------------------------------

load=$(lines ' load msg=10101-1')
like 'a line load has the sender' "$load" ' from=anna@a.example( |$)'
like 'a line load has the size' "$load" ' size=[1-9]'
like 'a line load has the first word of the Message-ID' \
    "$load" ' msgid=<m1( |$)'
like 'a line deferred has recipient, tries, delay and reason' \
    "$(lines ' deferred msg=10101-1 .*channel=later')" \
    ' status=deferred delay=[0-9]+ tries=1 left=1 next=[0-9]+ to=joe@far.example orcpt=rfc822;jj@far.example mailbox full$'
like 'a line delivered has the recipient, and no equal ORCPT' \
    "$(lines ' delivered msg=10101-1')" \
    ' status=ok3 delay=[0-9]+ tries=1 to=bert@b.example thanks$'
like 'a line failed has the recipient' "$(lines ' failed msg=10101-1')" \
    ' status=error delay=[0-9]+ tries=1 to=carl@c.example no such user'
like 'a line deferred names the other host' "$(lines 'channel=relay')" \
    ' relay=mx1.far.example to=dora@d.example 451 later$'
like 'a line deferred names the other host, not the agent behind it' \
    "$(lines 'channel=relay')" \
    ' relay=mx1.far.example to=erin@e.example 451 later$'
"$M" delete 10101-1 >/dev/null
wait_log 'complete msg=10101-1'
is 'one grep for an address finds its lines' \
    "$(story ' to=joe@far.example( |$)')" 'deferred deleted '

# ---- what a message may be called ------------------------------------------------

message 20202-1 <<'END'
r           later h.example joe@far.example 65534
END
message 20303-11 <<'END'
r           later h.example joe@far.example 65534
END
wait_log 'deferred msg=20202-1' && wait_log 'deferred msg=20303-11'
id=$(id_of 20202-1)
for i in 20202-1 20202 "$id" "${id%??}" S20202; do
	show "$i"
	is "show takes $(printf '%s\n' "$i" | sed "s/$id/the id/;
	    s/${id%??}/a beginning of it/")" "$rc $(first)" '0 20202-1'
done
for i in queue/20202-1 "$po/transport/20202-1"; do
	show "$i"
	is "show takes the path $(echo "$i" | sed "s,$po/,/,")" "$rc $(first)" \
	    '0 20202-1'
done
is 'a command takes a path' "$("$M" -n hold "$po/queue/20202-1" |
    sed -n '1s/ .*//p')" 20202-1
is 'a command takes a path on standard input' "$(echo "$po/queue/20202-1" |
    "$M" -n hold - | sed -n '1s/ .*//p')" 20202-1
for verb in hold release flush; do
	"$M" $verb "$id" >"$tmp/out" 2>&1
	rc=$?
	wait_log " command .*verb=$verb "	# the answer comes first
	is "$verb takes the id" "$rc $(lines " command .*verb=$verb " |
	    sed -n '$s/.* what=\([^ ]*\).*/\1/p')" '0 20202-1'
done
is 'a dry run takes a beginning of the id' \
    "$("$M" -n delete "${id%??}" | sed -n '1s/ .*//p')" 20202-1
"$M" delete S20 >"$tmp/out" 2>&1
is 'a beginning of two ids is refused' "$? $(cat "$tmp/out")" \
    '69 mailq: 2 messages have names that begin with S20'
"$M" delete S9 >"$tmp/out" 2>&1
is 'an id that no message has is refused' "$? $(cat "$tmp/out")" \
    '69 mailq: no message in the queue has a name that begins with S9'
"$M" delete 20303-1 >"$tmp/out" 2>&1
is 'a command does not take a name as the beginning of another' \
    "$? $(count ' deleted msg=20303-11')" '69 0'
echo "$id" | "$M" delete - >/dev/null
ok 'a command takes an id on standard input' wait_log 'complete msg=20202-1'
show "$id"
is 'show finds the log of a message that is gone by its id' \
    "$rc $(first) $(printf '%s\n' "$said" | sed -n '2,$s/.* id=\([^ ]*\).*/\1/p' |
    sort -u)" "0 20202-1 $id"

# The number and the name come again, and it is another message.
message 20202-1 <<'END'
r           fine h.example kim@k.example 65534
END
wait_log 'delivered msg=20202-1'
other=$(id_of 20202-1)
if without NO_ST_MTIM; then
	skip 'a name that comes again has another id' 'no fractions of seconds'
else
	ok 'a name that comes again has another id' [ "$other" != "$id" ]
	show "$id"
	unlike 'show by the id has nothing of the later one' "$said" \
	    'kim@k.example'
fi
show "$other"
like 'show by the later id has that message' "$said" 'to=kim@k.example'
sched_stop

# ---- router/ --------------------------------------------------------------------

printf '%s\n' 'user@* fine -' '* local -' >"$tmp/routes"
printf 'from <anna@a.example>\nto <user@x.example>\nenv-end\nSubject: x\n\nx\n' \
    >"$po/router/file"
num=$(ls -i "$po/router/file" | awk '{ print $1 }')
mv "$po/router/file" "$po/router/$num"
show "router/$num"
like 'show finds what waits in router/' "$rc $said" \
    "^0 .*|^router/$num  [0-9]+ bytes"
"$M" delete "router/$num" >"$tmp/out" 2>&1
is 'a command on a file of router/ is refused' "$? $(cat "$tmp/out")" \
    "69 mailq: router/$num is not in the queue yet, see \"mailq show router/$num\""
"$top/submit" -q -v -P "$po" -C "$tmp/routes" 2>"$tmp/logs/submit"
like 'submit -q -v says what it takes' "$(cat "$tmp/logs/submit")" \
    "^20[0-9]* submit: accepted router=$num id=S[0-9]+A[^ ]* msg=[0-9]+-[0-9]+\$"
id=$(sed -n 's/.* id=\([^ ]*\).*/\1/p' "$tmp/logs/submit")
configure yes
start
wait_log "delivered msg=.* id=$id "
cp "$tmp/sched.log" "$tmp/logs/scheduler"
said=$("$M" show "router/$num" 2>"$tmp/err")
like 'show finds what became of a file of router/' "$said" \
    "^router/$num was accepted as $id\$"
like 'show has the log of that' "$said" " delivered msg=.* id=$id .*to=user"

title='the id of a copied file of a user has its fraction of a second'
if [ "$(id -u)" -ne 0 ] || without NO_ST_MTIM; then
	skip "$title" 'nobody to copy from, or no fractions'
else
	printf 'to <user@x.example>\nenv-end\nSubject: x\n\nx\n' >"$tmp/new"
	num=$(ls -i "$tmp/new" | awk '{ print $1 }')
	chown nobody "$tmp/new" && mv "$tmp/new" "$po/router/$num"
	num=$(ls "$po/router")
	"$top/submit" -q -v -P "$po" -C "$tmp/routes" 2>"$tmp/out"
	like "$title" "$(cat "$tmp/out")" \
	    "^20[0-9]* submit: accepted router=$num id=S[0-9]+A[^ .]{12} "
fi

# ---- hostile addresses --------------------------------------------------------------

long=$(awk 'BEGIN { for (i = 0; i < 900; i++) printf "l"; print "@x" }')
message 30101-1 <<END
r           fine h.example "a to=forged@x b"@quoted.example 65534
r           fine h.example $(printf 'eight\350bit@x.example') 65534
r           fine h.example $long 65534
r           fine h.example back\\slash@x.example 65534
END
wait_log 'complete msg=30101-1'
is 'a blank in an address is escaped' \
    "$(count ' delivered .* to="a\\040to=forged@x\\040b"@quoted.example ')" 1
is 'a byte of 8 bits is escaped' \
    "$(count ' delivered .* to=eight\\350bit@x.example ')" 1
is 'a backslash is escaped' \
    "$(count ' delivered .* to=back\\134slash@x.example ')" 1
is 'a long address is cut, and the rest of the line is there' \
    "$(lines ' delivered .* to=llll' |
    sed -n 's/.* to=\(l*\) thanks$/\1/p' | awk '{ print length($0) }')" 320
is 'each of four odd addresses has one line' \
    "$(count ' delivered msg=30101-1 ')" 4
printf '%s\n' 'i 30102-1' 'o 0' 's error - - 0' \
    'r           fine h.example lee@l.example 65534' m \
    'Message-ID:' ' <folded@x>' '' | put_raw "$po" 30102-1
wait_log 'complete msg=30102-1'
like 'a line load has the empty sender and a folded Message-ID' \
    "$(lines ' load msg=30102-1')" ' from=<> msgid=<folded@x>$'
cp "$tmp/sched.log" "$tmp/whole.log"

# ---- the files of the log ------------------------------------------------------------

mode() {	# yes or no [mode]: of a log that is made so, or was there
	conf "$tmp/cf.mode" <<-END
	PARAMmailqsock none
	PARAMlogaddresses $1
	*/*	interval=1h command="$A -c fine"
	END
	rm -f "$tmp/mode.log"
	[ $# -eq 1 ] || { : >"$tmp/mode.log" && chmod "$2" "$tmp/mode.log"; }
	spool_new "$tmp/po.mode"
	bg "$top/scheduler" -i -P "$tmp/po.mode" -f "$tmp/cf.mode" \
	    -L "$tmp/mode.log" 2>/dev/null
	wait_for 30 grep ' ready ' "$tmp/mode.log" >/dev/null
	ls -l "$tmp/mode.log" | cut -c1-10
	kill "$bg_pid"
	wait_for 30 gone "$bg_pid"
}
is 'a log with addresses is made for owner and group' "$(mode yes)" -rw-r-----
is 'a log without addresses is made for all' "$(mode no)" -rw-r--r--
is 'a log that exists keeps its mode' "$(mode yes 604) $(mode no 620)" \
    '-rw----r-- -rw--w----'

# ---- many recipients --------------------------------------------------------------------

awk 'BEGIN { for (i = 0; i < 150; i++)
	printf "r           later h.example m%d@far.example 65534\n", i }' |
    message 40101-1
ok 'the last line of a large job counts the other recipients' \
    wait_log ' deferred msg=40101-1 .* left=150 .*more=50 mailbox full'
is 'a large job has 100 lines' \
    "$(count ' deferred msg=40101-1 .* to=m')" 100
sched_stop

# ---- the summary ------------------------------------------------------------------------

sh "$top/contrib/summary" "$tmp/whole.log" >"$tmp/out"
is 'contrib/summary counts the deliveries of the log' \
    "$(sed -n 's/^recipients delivered \([0-9]*\), .*/\1/p' "$tmp/out")" \
    "$(grep -c ' delivered ' "$tmp/whole.log")"
like 'contrib/summary has delays' "$(cat "$tmp/out")" \
    '^delay: median [0-9].*, 90 % within [0-9]'
like 'contrib/summary has channel and host' "$(cat "$tmp/out")" \
    '[0-9]  fine/h.example$'
sh "$top/contrib/summary" /dev/null >"$tmp/out"
is 'contrib/summary of an empty log is an error' "$? $(cat "$tmp/out")" \
    '1 no lines of the scheduler'

# ---- without addresses ----------------------------------------------------------------

rm -rf "$po" "$tmp/sched.log"
spool_new "$po"
configure no
message 50101-1 <<'END'
r           later h.example joe@far.example 65534
N ORCPT=rfc822;jj@far.example
r           fine h.example "b c"@b.example 65534
r           bad h.example carl@c.example 65534
END
echo joe@far.example >"$po/.mailq.holds"
start
like 'PARAMlogaddresses no: a wrong line of the holds is logged' \
    "$(lines ' holds ')" 'holds @ is no hold'
wait_log 'deferred msg=50101-1' && wait_log 'delivered msg=50101-1' &&
    wait_log 'failed msg=50101-1'
"$M" delete 50101-1 >/dev/null
wait_log 'deleted msg=50101-1'
wait_log 'complete msg=50101-1'
for i in anna joe jj '"b' carl far.example a.example; do
	is "PARAMlogaddresses no: the log does not have $i" \
	    "$(grep -c "$i" "$tmp/sched.log")" 0
done
like 'PARAMlogaddresses no: the words of an agent keep the rest' \
    "$(lines ' failed msg=50101-1')" 'no such user @ here$'
like 'PARAMlogaddresses no: the id is there' "$(lines ' load msg=50101-1')" \
    ' id=S50101A'
sched_stop

# ---- without a clock ---------------------------------------------------------------------

if command -v touch >/dev/null && touch -t 197001020304.05 "$tmp/old" \
    2>/dev/null; then
	rm -f "$tmp/sched.log"
	configure yes
	put "$po" 60101-1 later h.example joe
	touch -t 197001020304.05 "$po/queue/60101-1"
	echo 7 >"$po/.starts"
	start
	wait_log 'deferred msg=60101-1'
	id=$(id_of 60101-1)
	like 'without a clock the id has the number of the start' "$id" \
	    '^S60101A[A-Za-z0-9=-]*[.]7$'
	show "$id"
	is 'without a clock show takes the id' "$rc $(first)" '0 60101-1'
	sched_stop
	echo 8 >"$po/.starts"
	show "$id"
	like 'the id of an earlier start finds the message, too' "$rc $said" \
	    '^60101-1  '
	printf 'to <user@x.example>\nenv-end\nSubject: x\n\nx\n' \
	    >"$po/router/file"
	touch -t 197001020304.05 "$po/router/file"
	num=$(ls -i "$po/router/file" | awk '{ print $1 }')
	mv "$po/router/file" "$po/router/$num"
	"$top/submit" -q -v -P "$po" -C "$tmp/routes" 2>"$tmp/out"
	like 'submit -q says the id with the number of the start' \
	    "$(cat "$tmp/out")" " id=S$num[A-Za-z0-9=-]*[.]8 "
else
	skip 'without a clock the id has the number of the start' 'no touch -t'
fi
finish
