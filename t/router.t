#!/bin/sh
# submit among others: hostile files in router/, links where it writes, crashes
# at each step, tables that not all may read, addresses in several spellings,
# and mail that goes round by the agent hold.
. "${0%/*}/lib.sh"

open_spool
mine=$(id -u)
root=
[ "$mine" -ne 0 ] || root=yes

conf "$tmp/routes" <<'END'
domain		our.example
refused@*	! not here
*@$d		local	-
*@hold.example	hold	age:1s
*@hold.example	local	-
*@*.far		smtp	$h
*@*		smtp	relay.example
*		local	-
END
sub() {
	"$S" -P "$po" -C "$tmp/routes" "$@" 2>&1
}
clear() {
	find "$po" -type f -exec rm -f {} +
}
rcpts() {	# of the only message, which goes away
	sed -n "s/^r           \(.*\) [0-9]*\$/\1/p" "$po"/transport/[1-9]* |
	    tr '\n' ';'
	clear
}
message() {
	printf 'Subject: test\n\nthe body\n'
}
stopped() { grep 'stopped by SIGSTOP' "$tmp/trace" >/dev/null 2>&1; }

# The control file under its first name: sets dot.
find_dot() {
	dot=
	for dot_f in "$po"/transport/.submit:*; do
		[ ! -f "$dot_f" ] || dot=$dot_f
	done
	[ -n "$dot" ]
}

# Starts a program that stops by itself behind its n-th call of a kind.
# Sets tracer, and victim to the number in the name of its control file.
start_stopped() {	# calls:signal=STOP:when=n command ...
	what=$1
	shift
	rm -f "$tmp/trace"
	message >"$tmp/in"
	exec strace -f -o "$tmp/trace" -e "trace=${what%%:*}" \
	    -e "inject=$what" "$@" <"$tmp/in" >"$tmp/out" 2>&1 &
	tracer=$!
	lib_pids="$lib_pids $tracer"
	wait_for 30 stopped && find_dot && victim=${dot##*-}
}
end_stopped() {		# signal: sets status
	kill "-$1" "$victim"
	wait "$tracer" 2>/dev/null
	status=$?
	lib_forget "$tracer"
}
moves='?rename,?renameat,?renameat2'
if strace -f -o "$tmp/trace" -e 'inject=fsync:signal=STOP:when=9' \
    "$S" -bV >/dev/null 2>&1; then
	traced=yes
else
	traced=
fi

# ---- files with a hole ----------------------------------------

hole() {	# MB: puts a byte behind so many at the end of router/77
	dd if=/dev/zero of="$po/router/77" bs=1048576 seek="$1" count=1 \
	    conv=notrunc 2>/dev/null
}
# Small first: where there are no holes, this is written.
: >"$po/router/77"
hole 16 && [ "$(du -k "$po/router/77" | sed 's/[^0-9].*//')" -lt 4096 ] &&
    hole 60000 && holes=yes || holes=
rm -f "$po/router/77"
sparse() {	# title pattern what-comes-before
	if [ -z "$holes" ]; then
		skip "a hole in $1: submit ends" 'no holes in this file system'
		skip "a hole in $1: the file is set aside, with a reason" \
		    'no holes'
		return
	fi
	printf "$3" >"$po/router/77"
	hole 60000
	exec "$S" -q -P "$po" -C "$tmp/routes" </dev/null >"$tmp/out" 2>&1 &
	pid=$!
	lib_pids="$lib_pids $pid"
	ok "a hole in $1: submit ends" wait_for 30 gone $pid
	gone $pid || kill -9 $pid
	wait $pid 2>/dev/null
	lib_forget $pid
	like "a hole in $1: the file is set aside, with a reason" \
	    "$(ls "$po/postman") $(cat "$tmp/out")" "^77 .*router/77: .*$2"
	clear
}
sparse 'the first line of an envelope' NUL ''
sparse 'a line of an envelope' NUL 'from <s@a.org>\nto <anna>\nto b'
sparse 'a line of a header' '256 KB' 'from s@a.org\nto anna\nenv-end\nX: y'
sparse 'the first line of a mailbox' '256 KB' \
    'from s@a.org\nto anna\nenv-end\nFrom x'
awk 'BEGIN { print "from s@a.org\nto anna\nenv-end"
    for (i = 0; i < 60000; i++) print "From " }' >"$po/router/77"
like 'too many From lines of a mailbox are refused' "$(sub -q)" '256 KB'
clear

# submit takes a header of 256 KB, and completes it.
awk 'BEGIN { print "from s@a.org\nto anna\nenv-end\nSubject: x"
    for (i = 0; i < 4800; i++)
	print " a line of sixty bytes, which makes a header very long indeed" }' \
    >"$po/router/77"
is 'a header that submit has made longer than 256 KB is taken' \
    "$(sub -q; rcpts)" 'local - anna;'

awk 'BEGIN { print "from s@a.org\nto anna\nto "
    for (i = 0; i < 2000; i++) print "to a b, refused@x"
    print "env-end\n" }' >"$po/router/77"
sub -q >"$tmp/out"
is 'of wrong addresses 1000 are named' "$(grep -c 77: "$tmp/out") \
$(grep -c 'more wrong addresses' "$tmp/out")" '1002 1'
clear

# ---- the disk ----------------------------------------

synced() {	# title place ...: a rename into each, and then a sync of it
	title=$1 missing=
	shift
	for place in "$@"; do
		awk -v place="/$place" '
		/rename/ && index($0, place "/") { moved = 1 }
		/fsync\(/ && moved && index($0, place ">") { done = 1 }
		END { exit !done }' "$tmp/trace" || missing="$missing $place"
	done
	is "$title" "$missing" ''
}
if [ -z "$traced" ] || without NO_FSYNC; then
	skip 'names in queue/ and transport/ are synced' 'no strace, or no fsync'
	skip 'a name in router/ is synced' 'no strace, or no fsync'
else
	message | strace -f -y -o "$tmp/trace" -e "trace=fsync,$moves" \
	    "$S" -P "$po" -C "$tmp/routes" anna
	synced 'names in queue/ and transport/ are synced' queue transport
	clear
	put "$po" 10-1 hold time:1000000000 anna
	printf '10-1\ttime:1000000000\n' | (cd "$po/transport" &&
	    exec strace -f -y -o "$tmp/trace" -e "trace=fsync,$moves" \
	    "$top/ta/hold") >/dev/null 2>&1
	synced 'a name in router/ is synced' router
	clear
fi

# ---- at work, or left by a crash ----------------------------------------

# One of the control file's number that is not there any more, or is another's.
leave() {	# pid: sets num
	message | sub anna
	for f in "$po"/transport/[1-9]*; do
		was=${f##*/}
		num=${was%-*}
		sed "s/^i .*/i $num-$1/" "$f" >"$po/transport/.submit:$num-$1"
		rm "$f"
		mv "$po/queue/$was" "$po/queue/$num-$1"
	done
}
leave $$
like 'a crashed submit whose pid is in use again is noticed' "$(sub -q)" \
    "transport/$num-$$: queued now, after a crash"
is 'the mail of a crashed submit gets into the queue' "$(rcpts)" 'local - anna;'
leave 1	# the first process of a container
like 'a crashed submit that was process 1 is noticed' "$(sub -q)" \
    "transport/$num-1: queued now, after a crash"
clear
if [ -z "$traced" ]; then
	for i in 1 2 3 4 5 6 7 8; do
		skip 'a submit at work' 'no strace that can stop it'
	done
else
	ok 'a submit is stopped between its renames' start_stopped \
	    "$moves:signal=STOP:when=1" "$S" -P "$po" -C "$tmp/routes" anna
	is 'a submit at work is left alone' "$(sub -q; ls "$po/transport")" ''
	title='a submit at work in another container is left alone'
	if unshare -p -f true 2>/dev/null; then
		is "$title" "$(unshare -p -f "$S" -q -P "$po" \
		    -C "$tmp/routes" 2>&1; ls "$po/transport")" ''
	else
		skip "$title" 'no process namespaces here'
	fi
	end_stopped CONT
	is 'a submit at work ends well, its mail is in the queue' \
	    "$status $(rcpts)" '0 local - anna;'
	ok 'a second submit is stopped between its renames' start_stopped \
	    "$moves:signal=STOP:when=1" "$S" -P "$po" -C "$tmp/routes" bert
	is 'the second submit at work is left alone' \
	    "$(sub -q; ls "$po/transport")" ''
	end_stopped KILL
	like 'a submit that was killed is noticed' "$(sub -q)" \
	    "transport/[0-9]+-$victim: queued now, after a crash"
	is 'the mail of a submit that was killed gets into the queue' \
	    "$(rcpts)" 'local - bert;'
fi

# In a run that stays; a terminal that hangs up does not end it.
taken() { [ -n "$(find "$po/transport" -name "$1-[1-9]*" ! -name '.*')" ]; }
put_one() {	# number
	printf 'from s@a.org\nto anna\nenv-end\n\nbody\n' >"$po/public/x"
	ino=$(ls -i "$po/public/x" | awk '{ print $1 }')
	mv "$po/public/x" "$po/router/$1"
}
(exit 0) &
dead=$!
wait $dead
exec "$S" -q1s -P "$po" -C "$tmp/routes" </dev/null >"$tmp/out" 2>&1 &
pid=$!
lib_pids="$lib_pids $pid"
put_one 1
ok 'submit -q1s takes a message' wait_for 30 taken "$ino"
clear
leave $dead
kill -HUP $pid
ok 'submit -q1s finds what a crash left while it runs' wait_for 60 taken "$num"
put_one 2
ok 'submit -q1s ignores HUP' wait_for 30 taken "$ino"
kill -TERM $pid
wait $pid
is 'submit -q1s ends at TERM' $? 0
lib_forget $pid
clear

# ---- links, and another user ----------------------------------------

nobody=$(id -u nobody 2>/dev/null)
[ -n "$root" ] && [ -n "$nobody" ] && as_nobody true >/dev/null 2>&1 ||
    nobody=
if [ -z "$nobody" ] || [ -z "$traced" ] || without NO_FSYNC; then
	skip 'submit is stopped before it gives the control file away' \
	    'not root, or no strace'
	skip 'a link in the place of the control file is not given away' \
	    'not root, or no strace'
else
	chown "$nobody" "$po/transport" "$po/queue"
	: >"$tmp/precious"
	ok 'submit is stopped before it gives the control file away' \
	    start_stopped \
	    'fsync:signal=STOP:when=2' "$S" -P "$po" -C "$tmp/routes" anna
	rm -f "$dot"
	ln -s "$tmp/precious" "$dot"
	end_stopped CONT
	is 'a link in the place of the control file is not given away' \
	    "$(ls -ln "$tmp/precious" | awk '{ print $3 }')" 0
	chown 0 "$po/transport" "$po/queue"
	rm -f "$po/transport/"* "$dot"
	clear
fi

# What a user has put in the place of his file, just before it was renamed.
mkdir -p "$po/private" "$po/deferred"
chmod 700 "$po/private" "$po/deferred"
echo precious >"$tmp/precious"
for f in private/77-1.1000.orig deferred/77 router/77; do
	without NO_SYMLINK || ln -s "$tmp/precious" "$po/$f"
done
for f in private/78-1.1000.orig deferred/78 router/78; do
	mkfifo "$po/$f"
done
for f in private/79-1.1000.orig deferred/79 router/79 private/80-1.1000.orig; do
	mkdir "$po/$f"
done
mkdir "$po/private/80-1.1000.orig/more"
sub -q >"$tmp/out"
is 'links and pipes in private/ and deferred/ are removed, not in router/' \
    "$(cd "$po" && echo private/* deferred/* router/* | sed 's|router/77 ||')" \
    'private/* deferred/* router/78 router/79'
is 'a directory in private/ that is not empty is set aside' \
    "$(ls "$po/postman")" 80-1.1000.orig
is 'what a link in private/ shows is as it was' "$(cat "$tmp/precious")" precious
like 'the removal of a pipe is logged' "$(cat "$tmp/out")" \
    'deferred/78: it is no regular file; it is removed'
rm -rf "$po"/router/7* "$po/postman/80-1.1000.orig" "$po/deferred"

# Root's run gave a file to the owner before a crash; the owner's own run is next.
printf 'to anna\nenv-end\n\ntext\n' >"$po/private/81-1.1000.orig"
chmod 600 "$po/private/81-1.1000.orig"
words=$(words_as 64321 64321)
[ -z "$words" ] || chown -R 64321:64321 "$po"
out=$($words "$S" -q -P "$po" -C "$tmp/routes" 2>&1)
is 'a file in private/ that is given to the owner already is queued' \
    "$?$out $(ls "$po/private")$(sed -n 's/^r  *//p' "$po"/transport/[1-9]*)" \
    '0 local - anna 1000'
[ -z "$words" ] || chown -R 0:0 "$po"
clear

if [ -z "$nobody" ]; then
	for i in 1 2 3 4 5 6; do
		skip 'a routing table for root only' \
		    'not root, or nobody cannot be had'
	done
else
	chmod 600 "$tmp/routes"
	name=nobody
	without NO_PWD && name=uid$nobody
	them() {
		message | as_nobody "$S" -P "$po" -C "$tmp/routes" "$@"
	}
	is 'a routing table for root only: an ordinary user submits' \
	    "$(them anna refused@x)" ''
	like 'a routing table for root only: submit -q refuses a recipient' \
	    "$(sub -q)" 'refused@x: not here'
	like 'a routing table for root only: the sender gets its domain' \
	    "$(cat "$po"/transport/[1-9]*)" \
	    "^s local - $name@our\.example $nobody\$"
	like 'a routing table for root only: From gets its domain' \
	    "$(cat "$po"/transport/[1-9]*)" \
	    "^From: ([A-Za-z ]+ )?<$name@our\.example>\$"
	clear
	them -F ': Lady Anna' -f boss anna
	sub -q
	like 'a routing table for root only: -F and -f are used' \
	    "$(tr '\n' '|' <"$(echo "$po"/transport/[1-9]*)")" \
	    '\|e boss@our\.example\|.*\|From: Lady Anna <boss@our\.example>\|'
	is 'a routing table for root only: the recipient is kept' \
	    "$(rcpts)" 'local - anna;'
	chmod 644 "$tmp/routes"
fi

mkdir "$tmp/closed"
spool_new "$tmp/closed/po"
chmod 700 "$tmp/closed"
if [ -n "$nobody" ]; then
	out=$(message | as_nobody "$S" -P "$tmp/closed/po" anna)
elif [ -z "$root" ]; then
	chmod 0 "$tmp/closed"
	out=$(message | "$S" -P "$tmp/closed/po" anna 2>&1)
	chmod 700 "$tmp/closed"
else
	out=
fi
if [ -n "$out" ]; then
	like 'a closed post office is an error that says why' "$out" \
	    'cannot look at .*/public: Permission denied'
else
	skip 'a closed post office is an error that says why' \
	    'nobody cannot be had'
fi

# ---- addresses and routes ----------------------------------------

short() {	# title body: it comes out with an end
	printf "$2" | sub -i anna
	f=$(echo "$po"/transport/[1-9]*)
	dd if="$po/queue/${f##*/}" bs=1 2>/dev/null \
	    skip="$(sed -n 's/^o //p' "$f")" | od -An -c | tr -d ' \n' \
	    >"$tmp/short"
	is "$1" "$(cat "$tmp/short")" "$3"
	clear
}
short 'a short body without a line end gets one' 'X: y\n\nab' 'ab\n'
short 'a body of one byte gets a line end' 'X: y\n\na' 'a\n'
short 'a body without a header gets a line end' 'ab' 'ab\n'
short 'a body with a line end gets no other' 'X: y\n\nab\n' 'ab\n'
short 'an empty body gets no line end' 'X: y\n\n' ''

message | sub Anna@X.org Anna@x.ORG anna@x.org Bert@Y.Far Bert@y.FAR \
    Carl@OUR.example Carl@our.Example
is 'domains are compared and written in lower case' "$(rcpts)" \
    'smtp relay.example Anna@x.org;smtp relay.example anna@x.org;smtp y.far Bert@y.far;local - Carl;'
message | sub -N never 'Anna@X.org' 'x@[IPv6:::1]'
is 'an IPv6 literal keeps its case, as does ORCPT' \
    "$(cat "$po"/transport/[1-9]* | sed -n 's/^[rN] *//p' | tr '\n' ';')" \
    "smtp relay.example Anna@x.org $mine;NOTIFY=NEVER ORCPT=rfc822;Anna@X.org;smtp relay.example x@[IPv6:::1] $mine;NOTIFY=NEVER ORCPT=rfc822;x@[IPv6:::1];"
clear

printf 'from s@a.org\nto @a.org,@b.org:carl@y.far\nenv-end\n\nx\n' \
    >"$po/router/77"
is "a route as ZMailer's programs write it is dropped" "$(sub -q; rcpts)" \
    'smtp y.far carl@y.far;'
because() {	# address pattern
	like "the error for the address $1" "$(sub -- "$1" </dev/null)" "$2"
}
because 'a"b"c@x' 'quotes or brackets are around a part'
because '"a""b"@x' 'quotes or brackets are around a part'
because 'a@[1.2]x' 'quotes or brackets are around a part'
because 'a(b)c@x' 'contains a comment'
because 'a b@x' 'a blank'
because '"a" b@x' 'a blank'
like 'a comment at the end of an address is accepted' \
    "$(sub -v 'a@x (b)' </dev/null)" ^queued
clear

route() {	# title table address want
	printf "$2" >"$tmp/own"
	message | "$S" -P "$po" -C "$tmp/own" -- "$3" >"$tmp/out" 2>&1
	is "$1" "$(cat "$tmp/out")$(rcpts 2>/dev/null)" "$4"
}
no='there is no route for it
submit: nothing was queued, for any recipient'
route '$d in a pattern matches our domain' \
    'domain Our.example\n*@$d local -\n' anna@our.EXAMPLE \
    'local - anna;'
route '$d in a pattern: the domain is taken literally' \
    'domain our.example\n*@$d local -\n' \
    anna@ourxexample "submit: anna@ourxexample: $no"
route '$d in a pattern is one of several in braces' \
    'domain a.b\n*@{$d,x} local -\n' anna@a.b \
    'local - anna;'
route '$d in a pattern matches the end of a domain' \
    'domain a.b\n*@*.$d uucp $h\n' anna@c.a.b \
    'uucp c.a.b anna@c.a.b;'
route '$d in a pattern matches an address literal' \
    'domain [1.2.3.4]\n*@$d local -\n' 'anna@[1.2.3.4]' \
    'local - anna;'
route '$d after a backslash does not stand for the domain' \
    'domain a.b\n*@\\\\$d local -\n' 'anna@a.b' \
    "submit: anna@a.b: $no"
route '\$h in a pattern is taken literally' \
    'a\\$h local -\n' 'a$h' 'local - a$h;'
for word in '*@$D' 'a$h'; do
	echo "$word local -" >"$tmp/own"
	like "$word in a pattern is an error" \
	    "$("$S" -bn -C "$tmp/own" 2>&1; echo $?)" \
	    '^submit: .*own:1: .*: only \$d is known in a pattern.*
78$'
done
for line in 'root: anna' 'root: anna, bert'; do
	echo "$line" >"$tmp/own"
	like "a line as in /etc/aliases gets a hint: $line" \
	    "$("$S" -bn -C "$tmp/own" 2>&1)" \
	    'own:1: root:: write "name = address" for an alias$'
done
printf '*@$d local -\ndomain a.b\n' >"$tmp/own"
out=$("$S" -bn -C "$tmp/own" 2>&1)
is 'a domain below its use in a pattern is an error' "$?" 78
like 'a domain below its use in a pattern: the error says so' \
    "$out" 'own:2: a.b: the domain must be named above'

# ---- senders ---------------------------------------------------------------------------

cat >"$tmp/own" <<'END'
domain box.example
sender anna = Anna.Berg@isp.example
sender *@*.gate.example = club.example
sender *@{$d,localhost} = club.example
sender nobody = nobody@isp.example
sender *@isp.example *@* isp $h
sender carl *@* never -
sender carl@club.example *@z.example club -
* smtp -
END
own() {		# option ...
	"$S" -P "$po" -C "$tmp/own" "$@" 2>&1
}
fields() {	# of the only message: sender, route, From, Sender and Reply-To
	cat "$po"/transport/[1-9]* | sed -n 's/^Received: by \([^ ]*\) .*/\1/p
	s/^[es] //p
	s/^r  *\(.*\) [0-9]*$/\1/p
	s/^From: //p
	s/^Sender: //p
	s/^Reply-To: //p' | sed "s/ $(id -u)\$//" | tr '\n' '|'
	clear
}
printf 'x\n' | own -F '' -f anna x@x.org
is 'a sender gets another address, and a route by that' "$(fields)" \
'Anna.Berg@isp.example|local - Anna.Berg@isp.example|isp x.org x@x.org|box.example|<Anna.Berg@isp.example>|'
printf 'x\n' | own -F '' -f '"c d"@BOX.example' x@x.org
is 'a sender gets another domain' "$(fields)" \
'"c d"@club.example|local - "c d"@club.example|smtp - x@x.org|box.example|<"c d"@club.example>|'
printf 'From: carl (C), <@a.org:anna@box.example>, d@far.org\nSender: dora (x) @ a.gate.example\nReply-To: Anna <anna@box.example>,\n anna@far.org\n\nx\n' |
    own -f carl x@z.example
is 'From, Sender and Reply-To get the other addresses' "$(fields)" \
'carl@club.example|local - carl@club.example|club - x@z.example|box.example|carl@club.example (C), <@a.org:Anna.Berg@isp.example>, d@far.org|dora@club.example|Anna <Anna.Berg@isp.example>,|'
printf 'x\n' | own -f anna@far.org x@x.org
is 'a sender of another host stays' "$(fields)" \
'anna@far.org|local - anna@far.org|smtp - x@x.org|box.example|<anna@far.org>|'
printf 'from <anna@box.example>\nto <x@x.org>\nenv-end\nFrom: anna@box.example\n\n' \
    >"$po/router/77"
own -q
is 'submit -q: a sender gets another address, and a route by that' "$(fields)" \
'Anna.Berg@isp.example|local - Anna.Berg@isp.example|isp x.org x@x.org|box.example|Anna.Berg@isp.example|'
printf 'to <x@x.org>\nfrom <anna@box.example>\nto <x@y.org>\nenv-end\n\n' \
    >"$po/router/77"
own -q
like 'submit -q: the sender is known to the recipients behind it' "$(fields)" \
    '^Anna.*smtp - x@x.org.isp y.org x@y.org'
printf 'channel error\nto <x@x.org>\nenv-end\nFrom: MAILER-DAEMON@box.example\n\n' \
    >"$po/router/77"
own -q
is 'a DSN comes from the other domain' "$(fields)" \
    'error - <>|smtp - x@x.org|box.example|MAILER-DAEMON@club.example|'
like '-bv shows the route of a sender' "$(own -bv -f anna x@x.org)" \
    '^x@x.org: isp x.org x@x.org'
while IFS='|' read -r line why; do
	printf '%s\n' "$line" >"$tmp/own"
	like "a wrong line for senders: $line" "$(own -bn; echo $?)" "$why"
done <<'END'
sender a =|:1: sender: the new name of the sender is missing
sender a = b@|:1: b@: the new name of a sender is one address or a domain
sender a = b@c,d@e|:1: b@c,d@e: the new name of a sender is
sender a = b_/|:1: b_/: the new name of a sender is
sender [a = b|:1: \[a: the closing
sender [a * smtp -|:1: \[a: the closing
sender a * s/ -|:1: s/: the channel
sender a *@* smtp|a line is
END
echo 'sender local - $u@$h' >"$tmp/own"
is 'a user may be called sender' "$(own -bv sender | sed 1q)" \
    'sender: local - sender@this.example'

# ---- UUCP ------------------------------------------------------------------------------

cat >"$tmp/own" <<'END'
domain leaf.example
PARAMuucpname leaf,leaf2
{a,b}!*			uucp	$h	$r
{a,b}!*@$d		uucp	$h	$r
*!*@{$d,far.example}	uucp	hub	$u
*@$d			local	-
*!*			uucp	hub
*			local	-
END
while read -r addr want; do
	like "the path $addr" "$(own -bv -- "$addr" | sed 1q)" ": $want\$"
done <<'END'
leaf!anna local - anna
LEAF!leaf2!leaf!anna local - anna
leaf!anna@leaf.example local - anna
leaf!anna@far.example uucp hub leaf!anna
leaf!far!joe uucp hub far!joe
a!joe uucp a joe
b!c!d!joe uucp b c!d!joe
a!b!joe@leaf.example uucp a b!joe
c!a!joe uucp hub c!a!joe
leaf!a!joe@leaf.example uucp a joe
anna local - anna
leaf! there is no user after our own UUCP name
leaf!-f there is no user after our own UUCP name
a!-f it is no path of UUCP
a!|x it is no path of UUCP
END
printf '* uucp $h $r\n*!* x - $q\n' >"$tmp/own"
like 'a user that is not known is named' "$(own -bn)" \
    ':2: \$q: the user is \$u, \$u@\$h or \$r'
sed '$d' "$tmp/own" >"$tmp/x" && mv "$tmp/x" "$tmp/own"
like 'what is no path has no $r' "$(own -bv joe)" '^submit: joe: it is no path of'
printf 'PARAMuucpname a!b\n* local -\n' >"$tmp/own"
like 'a name of UUCP with a ! is wrong' "$(own -bn)" ':1: a!b: a name has no !'

# As installed: what a reply to a user's own mail is sent to.
message | "$S" -P "$po" -C "$top/routes" anna
from=$(sed -n 's/^e //p' "$po"/transport/[1-9]*)
clear
message | "$S" -P "$po" -C "$top/routes" -- "$from"
is "the sample table routes $from to this machine" \
    "$(rcpts)" "local - ${from%@*};"

# ---- mail that waits ----------------------------------------

mkdir "$tmp/mail"
cp "$top/ta/hold" "$top/ta/mailbox" "$tmp/bin/ta"
chmod 755 "$tmp/bin/ta/hold" "$tmp/bin/ta/mailbox"
conf "$tmp/cf" <<END
*/*	interval=1s retries="1"
hold/*	command="hold"
local/*	command="mailbox -n -d $tmp/mail"
END
ok 'the scheduler starts with the agent hold' sched_start "$po" "$tmp/cf"
message | sub anna@hold.example
ok 'the agent hold puts mail into router/ when its time comes' wait_for 60 \
    sh -c 'ls "$1" | grep "^[0-9]"' sh "$po/router"
arrived() {
	sub -q
	[ -s "$tmp/mail/anna" ]
}
ok 'mail from the agent hold is delivered' wait_for 60 arrived
ok 'nothing of mail from the agent hold stays in the queue' \
    wait_for 60 po_empty "$po"
is 'nothing of mail from the agent hold stays in router/' \
    "$(sub -q; find "$po" -type f -name '[1-9]*')" ''
is 'mail from the agent hold is delivered once' \
    "$(grep -c '^Subject: test' "$tmp/mail/anna")" 1
is 'mail from the agent hold has two Received lines' \
    "$(grep -c '^Received:' "$tmp/mail/anna")" 2
sched_stop
finish
