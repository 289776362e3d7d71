#!/bin/sh
# The agent of scheduler-protocol(7), as a reader would cut it out, and what
# else that page promises.
. "${0%/*}/lib.sh"

po=$tmp/po
tab=$(printf '\t')
sep=$(printf '\001')
sh "$top/t/cut-agent" >"$tmp/bin/ta/give"
chmod 755 "$tmp/bin/ta/give"
ok 'the example of the page is a script' sh -n "$tmp/bin/ta/give"

# Takes mail, or says what its user's name asks for.
cat >"$tmp/bin/take" <<END
#!/bin/sh
cat >"$tmp/got.\$$" || exit 1
printf '%s|%s|%s\n' "\$HOST" "\$USER" "\$SENDER" >>"$tmp/who"
case \$USER in
gone) echo 'no such user'; exit 67 ;;
full) [ -e "$tmp/room" ] || { printf 'it is\nfull\n'; exit 75; } ;;
slow) : >"$tmp/slow"; until [ -e "$tmp/go" ] || [ ! -d "$tmp" ]; do
	sleep 1
done ;;
esac
mv "$tmp/got.\$$" "$tmp/box.\$USER"
END
chmod 755 "$tmp/bin/take"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMdsn="-x '*'"
*/*	interval=1s retries="1" expiry=1d
prog/*	command="give \$channel $tmp/bin/take"
END
spool_new "$po"

letter() {	# name, recipients on standard input
	{
		printf 'i %s\no 9\nl <x@test>\ns local - anna@test 0\n' "$1"
		cat
		printf 'm\nSubject: %s\nr           prog no trap 0\n\n' "$1"
	} >"$tmp/ctl"
	printf 'skipped: the body\n' >"$po/queue/$1"
	mv "$tmp/ctl" "$po/transport/$1"
}
letter 101-1 <<'END'
r           prog Here.Test bert 0
N NOTIFY=SUCCESS
r           prog here.test "two words"@test 0
r           prog ((first.test b)(c)) carl 0
r           other here.test nobody 0
END
letter 102-1 <<'END'
r           prog here.test gone 0
r           prog here.test full 0
END
letter 103-1 <<'END'
rprog here.test old 0
END
sed 's/^rprog/r prog/' "$po/transport/103-1" >"$tmp/ctl"
mv "$tmp/ctl" "$po/transport/103-1"
ok 'the scheduler starts with the example agent' sched_start "$po" "$tmp/cf" -v
ok 'the example agent delivers mail' wait_for 30 [ -e "$tmp/box.old" ]
ok 'the example agent defers mail' \
    wait_log 'deferred msg=102-1 .*it is.*full' 30
like 'a deferral has the words of the command' "$(cat "$tmp/sched.log")" \
    'from pid=[0-9]+ 102/[0-9]+\\011full\\001delayed\\0014\.0\.0\\001x-local; 450 \(it is\\015full\)\\001\\011deferred it is\\015full'
cp "$po/transport/102-1" "$tmp/failed"	# before there is a report
: >"$tmp/room"
ok 'deferred mail is delivered later' wait_for 30 [ -e "$tmp/box.full" ]
ok 'a message with a failed recipient is complete' \
    wait_log 'complete msg=102-1 .*failed=some' 30
is 'the command gets the header block, an empty line, the body' \
    "$(cat "$tmp/box.bert")" \
    'Subject: 101-1
r           prog no trap 0

the body'
is 'the command gets host, user and sender of each recipient' \
    "$(sort -u "$tmp/who")" \
    '((first.test b)(c))|carl|anna@test
Here.Test|bert|anna@test
here.test|"two words"@test|anna@test
here.test|full|anna@test
here.test|gone|anna@test
here.test|old|anna@test'
is 'each recipient gets the message once' "$(ls "$tmp" | grep -c '^box')" 5
is 'recipients of another channel are left alone' \
    "$(grep -c '^r .*other' "$po/transport/101-1")" 1
is 'delivered recipients have the tag +' \
    "$(grep -c '^r+ .*prog' "$po/transport/101-1")" 3
like 'NOTIFY=SUCCESS: a delivered recipient has a diagnostic' \
    "$(cat "$po/transport/101-1")" \
    "^d [0-9]+:[0-9]+:[0-9]+::[0-9]+${tab}bert${sep}delivered${sep}2.0.0"
like 'a failed recipient has a diagnostic' "$(cat "$tmp/failed")" \
    "^d.[0-9]+:[0-9]+:-1::[0-9]+${tab}gone${sep}failed${sep}5.1.1${sep}x-local; 550 \(no such user\)${sep}${tab}no such user"
is 'a failed recipient has the tag -' "$(sed -n 's/^r\(.\).*gone 0$/\1/p' \
    "$tmp/failed")" -

# It dies with mail in its hands.
letter 104-1 <<'END'
r           prog here.test slow 0
END
ok 'an agent is at work on a job' wait_for 30 [ -e "$tmp/slow" ]
like 'an agent at work has locked its recipient' \
    "$(cat "$po/transport/104-1")" \
    '^r~[ a][ 0-9a-z]{5}    prog here'
pid=$(sed -n 's/^r~ *\([0-9]*\)  .*/\1/p' "$po/transport/104-1")
: >"$tmp/go"
if [ -n "$pid" ]; then
	kill -9 "$pid"
	ok 'an agent that is killed at work is lost' \
	    wait_log "agent-lost pid=$pid" 30
else
	skip 'an agent that is killed at work is lost' \
	    'its number is too large to be read here'
fi
ok 'another agent takes the job of a lost agent' \
    wait_log 'complete msg=104-1' 30
is 'the log has no line that the page does not have' \
    "$(lines 'garbled|unknown status|refused')" ''

# The wire of dumps.
sched_facts() {
	"$top/t/ask" pipe "$po/public/.mailq.text" >"$tmp/dump" 2>&1 ||
	    "$top/t/ask" pipe "$pipe" >"$tmp/dump" 2>&1
}
pipe=$(sed -n 's/.*mailq pipe=\([^ ]*\) commands=.*/\1/p' "$tmp/sched.log")
ok 'a dump is written' sched_facts
facts() {	# letter
	awk -F"$tab" -v want="$1" '
	$0 == "Facts:" { on = 1 }
	on && $1 == want { print NF }' "$tmp/dump" | sort -u
}
is 'the first line of a dump has the version' \
    "$(sed 1q "$tmp/dump")" 'version zmailer 1.0'
is 'the last line of a dump is End:' "$(tail -n 1 "$tmp/dump")" 'End:'
for fact in p:2 t:3 d:17 m:6 v:8; do
	is "a dump's fact ${fact%:*} has the fields of the page" \
	    "$(facts "${fact%:*}")" "${fact#*:}"
done
sched_stop

# As the page has it, by hand.
letter 105-1 <<'END'
r           prog here.test dora 0
END
cd "$po/transport" || exit 1
printf '105-1\tHERE.TEST\n#idle\n999-9\t-\n\n' |
    sh "$tmp/bin/ta/give" prog "$tmp/bin/take" >"$tmp/said" 2>/dev/null
is 'the example agent by hand prints what the page says' \
    "$(sed "s/$sep/|/g" "$tmp/said")" "#hungry
105/45${tab}dora|delivered|2.0.0|x-local; 250 (taken)|${tab}ok taken
#hungry
#hungry
#resync 999-9
#hungry"
is 'the example agent by hand sets the tag +' \
    "$(sed -n 's/^r\(.\).*dora 0$/\1/p' 105-1)" +
cd "$top" || exit 1

# The program that puts mail in, stopped before its last step.
sh "$top/t/cut-agent" put >"$tmp/bin/put"
po=$tmp/fresh
spool_new "$po"
mkdir "$tmp/stopping"
cat >"$tmp/stopping/mv" <<END
#!/bin/sh
case \$2 in
transport*) : >"$tmp/stopped"
	until [ -e "$tmp/go" ] || [ ! -d "$tmp" ]; do sleep 1; done ;;
esac
exec /bin/mv "\$@"
END
chmod 755 "$tmp/stopping/mv"
rm -f "$tmp/go"
printf 'Subject: tea\nTo: bert\n\nAt five.\n\nAnna\n' >"$tmp/letter"
POSTOFFICE=$po PATH=$tmp/stopping:$PATH sh "$tmp/bin/put" anna@example.org \
    bert dora <"$tmp/letter" &
put=$!
lib_pids="$lib_pids $put"
wait_for 30 test -e "$tmp/stopped"
echo '* local -' >"$tmp/routes"
"$top/submit" -q -P "$po" -C "$tmp/routes"
"$top/submit" -q -P "$po" -C "$tmp/routes"
is 'mail that the program of the page has not finished is left alone' \
    "$(cd "$po" && find queue transport -type f |
    sed 's/[0-9][0-9]*-[0-9][0-9]*/N-M/' | sort | tr '\n' ' ')" \
    'queue/N-M transport/.N-M '
: >"$tmp/go"
wait $put
is 'the program of the page puts mail in: the exit status is 0' $? 0
lib_forget $put
mkdir "$tmp/boxes"
conf "$tmp/cf" <<END
PARAMmailqsock none
local/*	command="$top/ta/mailbox -n -d $tmp/boxes"
END
sched_start "$po" "$tmp/cf"
ok 'mail of the program of the page is delivered' wait_for 30 po_empty "$po"
sched_stop
for i in bert dora; do
	is "mail of the program of the page has all for $i" \
	    "$(sed '1,/^Delivered-To/d;$d' "$tmp/boxes/$i")" \
	    "$(cat "$tmp/letter")"
done
POSTOFFICE=$tmp/boxes sh "$tmp/bin/put" anna bert <"$tmp/letter" 2>/dev/null
is 'the program of the page fails without a post office: the status is 75' $? 75

ok 'the sample session of the page runs' sh "$top/t/session"
is 'the sample session delivers mail at once and later' \
    "$(sed -n 's/^-- to //p' "$tmp/ok.out")" \
    'bert at kitchen from anna@example.org
dora at garden from anna@example.org'
finish
