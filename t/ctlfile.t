#!/bin/sh
# What a control file says is the same for the scheduler, its agents, and mailq
# without a scheduler.
. "${0%/*}/lib.sh"

po=$tmp/po
conf "$tmp/cf" <<END
*/*	interval=1h retries=1 expiry=9d
END
RENDEZVOUS=$tmp/none
export RENDEZVOUS
spool_new "$po"
queue() {	# options of mailq
	POSTOFFICE=$po "$top/mailq" "$@" 2>/dev/null
}
# What an agent says to a job.
ask() {		# agent name [option ...]
	ask_agent=$1 ask_name=$2
	shift 2
	printf '%s\n' "$ask_name" | (cd "$po/transport" &&
	    exec "$top/ta/$ask_agent" "$@") 2>&1 | grep -v '^#hungry'
}

# ---- files that nobody can use ---------------------------------------------

good='o 0
s smtp - s@a.org 0
r           hold age:999d u 0'
end='m
Subject: x
'
n=100
: >"$tmp/reasons"
bad() {		# reason, lines before, lines behind
	n=$((n + 1))
	printf '%s\n' "$2" | sed "s/NAME/$n-1/" | put_raw "$po" $n-1
	printf '%s %s\n' $n-1 "$1" >>"$tmp/reasons"
	cp "$po/transport/$n-1" "$tmp/as-it-was"
	is "an agent refuses a bad file: $1" "$(ask hold $n-1)" "#resync $n-1"
	cmp "$po/transport/$n-1" "$tmp/as-it-was" >"$tmp/cmp" 2>&1
	is "an agent leaves a bad file as it is: $1" "$(cat "$tmp/cmp")" ''
}
bad 'it has no i line' "$good
$end"
bad 'its i line names another file' "i 9-1
$good
$end"
bad 'a recipient comes before any sender' "i NAME
o 0
r           hold age:999d u 0
$end"
bad 'a recipient line cannot be read' "i NAME
$good
r           hold age:999d
$end"
bad 'a recipient line cannot be read' "i NAME
o 0
s smtp - s@a.org 0
r           hold  age:999d u 0
$end"
bad 'a recipient line cannot be read' "i NAME
o 0
s smtp - s@a.org 0
r           ho/ld age:999d u 0
$end"
bad 'its @ line has an unknown format' "i NAME
@ 8
$good
$end"
bad 'its @ line comes after a recipient' "i NAME
$good
@ 7
$end"
bad 'its o line has no number' "i NAME
o x
s smtp - s@a.org 0
r           hold age:999d u 0
$end"
bad 'it was cut within a header block' "i NAME
$good
m
Subject: x"
is 'mailq without a scheduler counts bad files as unreadable' \
    "$(queue -c | sed -n 's/^unreadable //p')" $((n - 100))
printf '%s\n' "i 100-1
$good
$end" | put_raw "$po" 100-1
like 'an agent takes a good file' "$(ask hold 100-1)" 'retryat'
sed 's/^r  *hold/r~9999991000hold/; s/^i .*/i 99-1/' "$po/transport/100-1" |
    put_raw "$po" 99-1
ok 'a scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'load msg=100-1' 20
while read -r name reason; do
	ok "the scheduler sets $name aside: $reason" \
	    wait_log "$name.*$(printf '%s\n' "$reason" | sed 's/[()@]/./g')"
done <"$tmp/reasons"
ok 'a process number of six digits ends before a delay field of four' \
    wait_log 'lock[a-z]* msg=99-1 .*pid=999999 '
sched_stop

# ---- who sent it -------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
: >"$tmp/want"
: >"$tmp/senders"
sent() {	# sender, line ...
	n=$((n + 1)) want=$1
	shift
	{
		printf 'i %s-1\no 0\n' $n
		printf '%s\n' "$@" 'r           error nosuchuser u 0' \
		    's smtp - later@a.org 0' 'r+          x h u 0' m ''
	} | put_raw "$po" $n-1
	printf '%s-1 <%s>\n' $n "$want" >>"$tmp/want"
}
sent s@a.org 's smtp - s@a.org 0'
sent s@a.org 'e e@a.org' 's smtp - s@a.org 0'
sent e@a.org 's smtp - s@a.org 0' 'e e@a.org'
sent '"a b"@a.org' 's smtp - "a b"@a.org 0'
sent s@a.org 's smtp "a b" s@a.org 0'
sent s@a.org 's smtp ((a b)(c)) s@a.org 0'
sent 's(t@a.org' 's smtp - s(t@a.org 0'
sent '' 's smtp - <> 0'
sent '' 's smtp - s@a.org 0' 'e <>'
sent '' 's error - s@a.org 0'
sent '' 's ERROR - s@a.org 0'
sent '' 's error - s@a.org 0' 'e e@a.org'
senders() {
	sed -n 's/^\([0-9]*-1\)  \(<.*>\)  .*/\1 \2/p'
}
is 'mailq without a scheduler shows each sender' "$(queue | senders)" \
    "$(cat "$tmp/want")"
ok 'a scheduler starts again' sched_start "$po" "$tmp/cf"
wait_log "load msg=$n-1" 20
is 'mailq with a scheduler shows each sender' \
    "$(queue | senders)" "$(cat "$tmp/want")"
is 'mailq asks the scheduler when there is one' \
    "$(queue -c | sed -n 's/^scheduler //p')" 1
sched_stop
while read -r name sender; do
	ask errormail $name -d "$tmp" >/dev/null
	to=$(cat "$po/router/"* 2>/dev/null | sed -n 's/^to //p')
	printf '%s %s\n' $name "${to:-<>}" >>"$tmp/senders"
	rm -f "$po/router/"*
done <"$tmp/want"
is 'errormail writes a DSN to each sender' \
    "$(cat "$tmp/senders")" "$(cat "$tmp/want")"

# ---- which DSNs the sender wants --------------------------------------------

wishes() {	# lines behind the recipient's
	n=$((n + 1))
	{
		printf 'i %s-1\no 0\ns smtp - s@a.org 0\n' $n
		printf '%s\n' 'r           error nosuchuser u 0' "$@" m ''
	} | put_raw "$po" $n-1
	ask errormail $n-1 -d "$tmp" | sed -n 's/.*	ok3 \([A-Z]*\).*/\1/p'
}
is 'a failure without an N line makes a DSN' "$(wishes)" DSN
is 'the N line behind a recipient counts' "$(wishes 'N NOTIFY=NEVER')" NOTIFY
is 'NOTIFY counts in small letters and as the second word' \
    "$(wishes 'N X=y notify=delay,success')" NOTIFY
is 'an N line counts behind a line of another kind' \
    "$(wishes 'Q y' 'N NOTIFY=NEVER')" NOTIFY
is 'the first of two N lines counts' \
    "$(wishes 'N NOTIFY=FAILURE' 'N NOTIFY=NEVER')" DSN
is 'an unknown word of NOTIFY does not count' \
    "$(wishes 'N NOTIFY=TRACE')" DSN
is 'a known word beside an unknown word of NOTIFY counts' \
    "$(wishes 'N NOTIFY=TRACE,SUCCESS')" NOTIFY
is 'an N line behind an X line does not count' \
    "$(wishes 'X           1 x h v 0' 'N NOTIFY=NEVER')" DSN
is 'an N line behind the next sender does not count' \
    "$(wishes 's smtp - t@a.org 0' 'N NOTIFY=NEVER')" DSN

# ---- a post office whose paths have more than 2047 bytes ----------------------

long=$(
	cd -P "$tmp" || exit
	while have=$(pwd) && n=$((2046 - ${#have})) && [ $n -gt 0 ]; do
		[ $n -le 201 ] || n=180
		d=$(printf "%0${n}d" 0)
		mkdir "$d" && cd -P "$d" || exit
	done 2>/dev/null
	mkdir transport queue postman router && : >9-1 && pwd
)
if [ ${#long} = 2047 ]; then
	unlike 'no file of another directory counts if a path is too long' \
	    "$(POSTOFFICE=$long "$top/mailq" -c 2>&1)" '^set-aside [1-9]'
else
	skip 'no file of another directory counts if a path is too long' \
	    'this system has no such path'
fi
finish
