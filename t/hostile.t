#!/bin/sh
# One hostile user beside ten or more others, with the sample scheduler.cf and a
# maxthr for all mail.  All
# at once he locks his box, stops whatever runs as him, takes names in public/
# and router/, puts a link, a pipe, a second name and a huge file there, changes
# his mail after it was accepted, and sends twenty messages to himself.  What he
# makes wait is his own mail.  With PEACE=1 he stops and locks nothing, for
# bench/hostile to compare.
. "${0%/*}/lib.sh"

[ "$(id -u)" -eq 0 ] || skip_all 'only root delivers as other users'
! without NO_PWD || skip_all 'built without users'

# Users of the system, with processes of their own nowhere else in the tests.
users=$(getent passwd 2>/dev/null | awk -F: '$3 > 0 && $3 < 65000 &&
    $1 ~ /^[a-z][a-z0-9]*$/ && $1 != "nobody" { print $1 }' | head -n 20)
evil=games
others=$(printf '%s\n' $users | grep -v "^$evil\$")
id "$evil" >/dev/null 2>&1 || skip_all 'no user games'
[ "$(printf '%s\n' $others | wc -l)" -ge 10 ] || skip_all 'fewer than ten users'
as() {	# user command ...
	as_user=$1
	shift
	$(words_as "$as_user" 65533) "$@"
}
as_evil=$(words_as "$evil" 65533)
[ -n "$as_evil" ] || skip_all 'no other user can be had'

unset POSTOFFICE MAILSHARE
po=$tmp/po
mail=$tmp/mail
spool_new "$po"
chmod 1777 "$po/public" "$po/router"
mkdir "$mail" "$tmp/evil"
chown "$evil" "$tmp/evil"
for f in submit t/held; do
	cp "$top/$f" "$tmp/bin/" || exit 1
done
for f in "$top"/ta/*; do
	[ ! -x "$f" ] || [ -d "$f" ] || cp "$f" "$tmp/bin/ta/"
done
chmod -R a+rX "$tmp/bin"
# Clauses for all mail keep nobody's mailbox apart.
sed "s,mailbox -8,mailbox -8 -d $mail,; s,^[*]/[*],& maxthr=4," \
    "$top/scheduler.cf" >"$tmp/cf"
conf "$tmp/routes" <<'END'
domain		our.example
*		local	-
END
chmod 644 "$tmp/routes"
sub() {	# user recipient ... <message
	sub_user=$1
	shift
	as "$sub_user" "$tmp/bin/submit" -P "$po" -C "$tmp/routes" "$@" 2>&1
}

# ---- what he does ---------------------------------------------------------------------

: >"$mail/$evil"
chown "$evil" "$mail/$evil"
chmod 600 "$mail/$evil"
[ -z "${PEACE:-}" ] || touch "$tmp/evil/stop"
lock=$mail/$evil
[ ! -e "$tmp/evil/stop" ] || lock=$tmp/evil/stop
bg $as_evil \
    "$tmp/bin/held" -g "$lock" >"$tmp/guard"
held=$bg_pid
ok 'the hostile user locks his box' wait_for 20 grep guard "$tmp/guard"

# His mail, before he begins to stop what is his.
n=0
while [ $n -lt 20 ]; do
	n=$((n + 1))
	printf 'Subject: mine %s\n\nto myself\n' $n | sub "$evil" "$evil" ||
	    echo "$n refused"
done >"$tmp/refused"
while [ $n -lt 50 ]; do
	n=$((n + 1))
	printf 'Subject: flood %s\n\nthrice\n' $n |
	    sub "$evil" "$evil" "$evil+a" "$evil+b" || echo "$n refused"
done >>"$tmp/refused"
is 'the hostile user may send twenty messages and thirty to three' \
    "$(cat "$tmp/refused")" ''
victim=$(printf '%s\n' $others | head -n 1)
printf 'Subject: debt\n\nI owe you 10 crowns.\n' | sub "$evil" "$victim"
debt=$(grep -l '10 crowns' "$po"/router/* | head -n 1)
bg $as_evil \
    sh -c 'exec 3<>"$1"; echo held >"$2/held"
    while [ ! -e "$2/write" ] && [ -d "$2" ]; do sleep 1; done
    while [ ! -e "$2/stop" ] && [ -d "$2" ]; do
	printf "I owe you 99 crowns.\n" >&3
	: >"$2/wrote"
	sleep 1
    done' sh "$debt" "$tmp/evil" >"$tmp/grow.out" 2>&1
ok 'the hostile user holds open what he has sent' \
    wait_for 20 [ -e "$tmp/evil/held" ]
printf 'Subject: both\n\nto two\n' | sub "$evil" "$evil" "$victim"
as "$evil" sh -c 'cd "$1" || exit
    n=$$; i=0
    while [ $i -lt 300 ]; do
	i=$((i + 1))
	for k in 0 1 2 3 4 5 6 7 8 9; do : >public/submit:$((n + i)).$k; done
    done
    i=$(ls -i public | sort -n | tail -n 1 | { read -r a b; echo $a; })
    n=0
    while [ $n -lt 200 ]; do
	n=$((n + 1))
	mkdir router/$((i + n)) 2>/dev/null
    done' sh "$po"
ok 'the hostile user takes names in public/ and router/' \
    [ "$(ls "$po/public" "$po/router" | wc -l)" -gt 3000 ]
# A file of a terabyte that has a few bytes on disk, where a disk can have one.
echo precious >"$tmp/precious"
chmod 600 "$tmp/precious"
huge=$(as "$evil" sh -c 'cd "$1/router" || exit
    ln -s "$2" 900000001
    mkfifo 900000002
    printf "to <%s>\nenv-end\nSubject: twice\n\n" "$3" >../public/twice
    ln ../public/twice 900000003
    printf "to <%s>\nenv-end\nSubject: huge\n\n" "$3" >900000004
    dd if=/dev/null of=900000004 bs=1024 seek=1073741824 2>/dev/null &&
	echo 1' sh "$po" "$tmp/precious" "$evil")
[ -n "$huge" ] || rm -f "$po/router/900000004"
# His own shell is not stopped by that; nor are others' processes.
bg $as_evil \
    sh -c 'while [ ! -e "$1/stop" ] && [ -d "$1" ]; do
	kill -STOP -1 2>/dev/null
	sleep 0.1 2>/dev/null || sleep 1
	[ ! -e "$1/write" ] || kill -CONT -1 2>/dev/null
    done; kill -CONT -1' sh "$tmp/evil" >"$tmp/stop.out" 2>&1

# ---- what the others do ---------------------------------------------------------------

for u in $others; do
	printf 'Subject: for %s\n\nfrom a friend\n' "$u" | sub "$u" "$u" ||
	    echo "$u refused"
done >"$tmp/refused"
is 'nobody else is stopped from sending' "$(cat "$tmp/refused")" ''
"$top/submit" -q -P "$po" -C "$tmp/routes" >"$tmp/run.out" 2>&1
is 'a file with a second name is set aside, a link and a pipe are left alone' \
    "$(cat "$tmp/precious") $(ls "$po/postman") $(cd "$po/router" &&
    ls -d 90000000* | tr '\n' ' ')" 'precious 900000003 900000001 900000002 '
ok 'the post office has less than 20 megabytes on disk' \
    [ "$(du -sk "$po" | awk '{ print $1 }')" -lt 20000 ]
mine=$(cd "$po/transport" && grep -l '^Subject: mine' [1-9]* | tr '\n' '|')
theirs=$(cd "$po/transport" && grep -l '^Subject: for' [1-9]* | tr '\n' '|')
is 'all messages are accepted' "$(ls "$po/transport" | grep -c '^[1-9]') $(
    printf %s "$mine" | tr -d -c '|' | wc -c | tr -d ' ')" \
    "$(($(printf '%s\n' $others | wc -l) + 52 + ${huge:-0})) 20"
touch "$tmp/evil/write"
ok 'the hostile user writes to what he has sent' \
    wait_for 30 [ -e "$tmp/evil/wrote" ]
now() {
	date +%s.%N | sed 's/\.%*N//'
}
began=$(now)
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
have_all() {
	for u in $others; do
		grep "for $u\$" "$mail/$u" >/dev/null 2>&1 || return 1
	done
}
ok 'everybody else has his mail within a minute' wait_for 60 have_all
diag "that took $(echo "$began $(now)" | awk '{ printf "%.1f", $2 - $1 }') seconds"
# Names of messages, in the order in which something became of them.
lines ' (deferred|delivered) msg=' | sed 's/.*msg=\([^ ]*\) .*/\1/' >"$tmp/order"
is 'everybody has his mail before the second message of that user' \
    "$(awk -v mine="$mine" -v others="$theirs" '
	index("|" mine, "|" $0 "|") { if (!seen[$0]++) n++; next }
	index("|" others, "|" $0 "|") { most = n }
	END { print most <= 1 ? "yes" : most " of his were tried" }
' "$tmp/order")" yes
ok 'a message to the hostile user and another reaches the other' \
    wait_for 60 grep '^Subject: both' "$mail/$victim"
ok 'a message of the hostile user is delivered as it was accepted' \
    wait_for 60 grep 'I owe you 10 crowns' "$mail/$victim"

# ---- and then -------------------------------------------------------------------------

touch "$tmp/evil/stop"
kill "$held" 2>/dev/null
kill -CONT "$held" 2>/dev/null
got_own() {
	POSTOFFICE=$po "$top/mailq" flush all >/dev/null 2>&1
	[ "$(grep -c '^Subject: mine' "$mail/$evil")" -ge 20 ]
}
ok 'the hostile user gets his own mail when he lets go' wait_for 60 got_own
wait_for 30 po_empty "$po"
is 'everybody gets each message once' \
    "$(grep -h '^Subject: mine' "$mail/$evil" | sort -u |
    wc -l | tr -d ' ') $(grep -c '^Subject: mine' "$mail/$evil") $(
    cat "$mail"/* | grep -c '^Subject: for') $(
    printf '%s\n' $others | wc -l | tr -d ' ')" \
    "20 20 $(printf '%s\n' $others | wc -l | tr -d ' ') $(
    printf '%s\n' $others | wc -l | tr -d ' ')"
is 'no message was changed after it was accepted' \
    "$(cat "$mail"/* | grep -c '99 crowns')" 0
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
