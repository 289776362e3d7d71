#!/bin/sh
# The way in for mail of users: names that others want, limits, what becomes of
# a user's file on acceptance, crashes at each step of that, a post office that
# belongs to a service user, and the lock between two runs.
. "${0%/*}/lib.sh"

open_spool
conf "$tmp/routes" <<'END'
domain		our.example
*		local	-
END
chmod 644 "$tmp/routes"
printf 'Subject: test\n\nthe body\n' >"$tmp/m"
chmod 644 "$tmp/m"
nobody=$(id -u nobody 2>/dev/null)
[ "$(id -u)" -eq 0 ] && [ -n "$nobody" ] && as_nobody true >/dev/null 2>&1 ||
    nobody=
service=64321	# the owner of a post office

sub() {
	"$S" -P "$po" -C "$tmp/routes" "$@" 2>&1
}
# As somebody who may not write to the queue.
if [ -n "$nobody" ]; then
	user() {
		as_nobody "$@"
	}
else
	[ "$(id -u)" -eq 0 ] || chmod 555 "$po/queue"
	user() {
		"$@" 2>&1
	}
fi
them() {
	user "$S" -P "$po" -C "$tmp/routes" "$@"
}
files() {	# all of the post office, with plain names
	(cd "$po" && find . -type f ! -name .submit.lock ! -name .tidy | sort | sed \
	    's/[0-9][0-9]*-[0-9][0-9]*/NAME/; s/:[0-9.]*$/:N/; s/r\/[0-9]*$/r\/NUM/' |
	    tr '\n' ' ')
}
clear() {
	find "$po" -type f -exec rm -f {} +
	find "$po/router" "$po/public" -mindepth 1 -exec rm -rf {} + 2>/dev/null
}
body() {	# of the only message
	for body_f in "$po"/transport/[1-9]*; do
		dd if="$po/queue/${body_f##*/}" bs=1 2>/dev/null \
		    skip="$(sed -n 's/^o //p' "$body_f")"
	done
}
rcpts() {
	sed -n 's/^r           //p' "$po"/transport/[1-9]* | tr '\n' ';'
}
if strace -f -o "$tmp/trace" -e inject=fsync:signal=STOP:when=9 \
    "$S" -bV >/dev/null 2>&1; then
	traced=yes
else
	traced=
fi
hurt() {	# call:what command ...: under strace
	hurt_what=$1
	shift
	strace -f -o "$tmp/trace" -e "trace=${hurt_what%%:*}" \
	    -e "inject=$hurt_what" "$@" 2>&1
}
moves='?rename,?renameat,?renameat2'

# ---- names ------------------------------------------------------------------

# A message that is being written until fd 7 is closed: sets pid, and file to
# its name in public/.
mkfifo "$tmp/fifo"
chmod 644 "$tmp/fifo"
begun() {
	file=
	for begun_f in "$po"/public/submit:*; do
		[ ! -f "$begun_f" ] || file=$begun_f
	done
	[ -n "$file" ]
}
if [ "$(id -u)" -eq 0 ] && [ -z "$nobody" ]; then
	for i in 1 2 3 4 5 6 7 8 9 10 11; do
		skip 'names in public/ and router/' 'nobody cannot be had'
	done
else
	them -v anna <"$tmp/fifo" >"$tmp/out" &
	pid=$!
	exec 7>"$tmp/fifo"
	cat "$tmp/m" >&7
	ok 'a message of a user is being written' wait_for 30 begun
	like 'the name of a file in public/ has 64 random bits' "${file##*/}" \
	    '^submit:[0-9]+\.[0-9]{11,20}$'
	num=$(ls -i "$file" | awk '{ print $1 }')
	mkdir "$po/router/$num"
	exec 7>&-
	wait $pid
	is 'a directory of the same number in router/ does not stop submit' $? 0
	like 'a message whose number is taken gets another' \
	    "$(cat "$tmp/out")" \
	    '^given to router/[0-9]+$'
	name=$(sed 's/.* //' "$tmp/out")
	ok 'a message is in router/ by the number that submit says' [ -f "$po/$name" ]
	clear

	# What could be guessed before: 2000 names with its process number.
	cat >"$tmp/fill" <<'END'
i=0
while [ $i -lt 2000 ]; do
	: >"$1/public/submit:$$.$i"
	i=$((i + 1))
done
shift
exec "$@"
END
	chmod 644 "$tmp/fill"
	out=$(user sh "$tmp/fill" "$po" "$S" -P "$po" -C "$tmp/routes" -v anna \
	    <"$tmp/m")
	like '2000 files of the same pid in public/ do not stop submit' \
	    "$out" '^given to'
	clear
	if [ -z "$traced" ]; then
		for i in 1 2 3 4 5; do
			skip 'names with trouble' 'no strace'
		done
	else
		mkdir -m 777 "$tmp/open"
		faulty() {	# strace's options; the trace is user's
			rm -f "$tmp/open/trace"
			user strace -f -o "$tmp/open/trace" "$@" "$S" -P "$po" \
			    -C "$tmp/routes" anna <"$tmp/m"
		}
		out=$(faulty -e "trace=$moves" -e "inject=$moves:error=EEXIST")
		is 'all names in router/ are taken: the exit code is 75' \
		    \
		    "$? $(files)" '75 '
		like 'all names in router/ are taken: a line says so' \
		    "$out" 'cannot write .*File exists'
		is 'submit tries 1000 names in router/' \
		    "$(grep -c '= -1 EEXIST.*INJECTED' "$tmp/open/trace")" 1000
		for i in 1 2; do
			faulty -P /dev/urandom \
			    -e 'inject=?open,?openat:error=ENOENT'
			grep ENOENT "$tmp/open/trace" >/dev/null || echo no fault
		done >"$tmp/out"
		rm -f "$tmp/open/trace"
		is 'without /dev/urandom mail goes in as well' \
		    "$(cat "$tmp/out"; ls "$po/router" | wc -l | tr -d ' ')" 2
		is 'no file is left in public/' \
		    "$(ls "$po/public")" ''
	fi
	clear
fi
[ "$(id -u)" -eq 0 ] || chmod 755 "$po/queue"

# Agents and DSNs write where no user can take a name or fill the place.
mkdir "$tmp/alone"
spool_new "$tmp/alone/po"
rmdir "$tmp/alone/po/public"
mkdir -m 700 "$tmp/alone/po/private"
put "$tmp/alone/po" 10-1 hold time:1000000000 anna
printf '10-1\ttime:1000000000\n' | (cd "$tmp/alone/po/transport" &&
    exec "$top/ta/hold") >/dev/null 2>&1
is 'an agent writes into private/, not public/' \
    "$(ls "$tmp/alone/po/router" | wc -l | tr -d ' ')" 1

# ---- limits -----------------------------------------------------------------

limit() {	# line
	(cat "$tmp/routes"; echo "$1") >"$tmp/limits"
	chmod 644 "$tmp/limits"
}
lim() {
	"$S" -P "$po" -C "$tmp/limits" "$@" 2>&1
}
awk 'BEGIN { print "Subject: big\n"; for (i = 0; i < 200; i++)
    print "0123456789abcdef" }' >"$tmp/big"
chmod 644 "$tmp/big"
limit 'PARAMmessagesize 2k'
out=$(lim anna <"$tmp/big")
is 'a message over PARAMmessagesize is refused with 69' "$? $(files)" '69 '
like 'a message over PARAMmessagesize is refused with 5.3.4' \
    "$out" '^submit: 5\.3\.4 the message has more than 2048 bytes'
out=$(lim anna <"$tmp/m")
is 'a message within PARAMmessagesize is taken' $? 0
clear
limit 'PARAMmessagesize 0'
lim anna <"$tmp/big"
is 'PARAMmessagesize 0 takes any message' \
    "$? $(files)" '0 ./queue/NAME ./transport/NAME '
clear
limit 'PARAMminfree 3G'
free=$(df -P -k "$po" | awk 'NR == 2 { print $4 }')
if [ "$free" -gt 3000000 ]; then
	limit "PARAMminfree $(((free / 1000000 + 1) * 2))G"
fi
if without NO_STATVFS || [ "$(getconf LONG_BIT 2>/dev/null)" != 64 ]; then
	for i in 1 2 3 4; do
		skip 'too little free space' 'no statvfs, or a disk too large to say'
	done
else
	out=$(lim anna <"$tmp/m")
	is 'with less than PARAMminfree free a message is refused with 75' \
	    "$? $(files)" '75 '
	like 'with less than PARAMminfree free a message is refused with 4.3.1' \
	    "$out" '^submit: 4\.3\.1 .* is nearly full'
	printf 'from s@a\nto anna\nenv-end\n\nbody\n' >"$po/router/77"
	out=$(lim -q)
	is 'with less than PARAMminfree free a run takes nothing' \
	    "$? $(files)" '75 ./router/NUM '
	like 'a run that takes nothing says 4.3.1' "$out" '4\.3\.1'
fi
clear
if ! without NO_STATVFS && own_disk nr_inodes=80; then
	was=$po
	po=$disk/po
	spool_new "$po"
	limit 'PARAMminfree 400k'
	out=$(awk 'BEGIN { print "\n"
	    for (i = 0; i < 12000; i++)
		print "9 bottles, 8 bottles, 7 bottles, 6 bottles, 5 bottles"
	    }' | lim anna)
	like 'a message that would leave less than PARAMminfree is refused' \
	    "$? $(files) $out" '^75  submit: 4\.3\.1 .* is nearly full'
	i=0
	while [ $i -lt 30 ]; do
		i=$((i + 1))
		: >"$disk/$i"
	done
	out=$(lim anna <"$tmp/m")
	like 'with less than 50 inodes free a message is refused' \
	    "$? $(files) $out" '^75  submit: 4\.3\.1 .* hardly any inodes left'
	limit 'PARAMminfree 0'
	is 'with PARAMminfree 0 a message is taken' "$(lim anna <"$tmp/m") $(files)" \
	    ' ./queue/NAME ./transport/NAME '
	po=$was
else
	for i in 1 2 3; do
		skip 'a disk with little room' 'no statvfs, or no tmpfs'
	done
fi
for bad in 'PARAMmessagesize' 'PARAMmessagesize x' 'PARAMmessagesize 1T' \
    'PARAMmessagesize 99999999999999999999' 'PARAMminfree -1' 'PARAMother 1'
do
	limit "$bad"
	lim -bn >/dev/null
	echo $?
done >"$tmp/out"
is 'wrong parameters of the table: the exit code is 78' \
    "$(sort -u "$tmp/out")" 78

# ---- directories that cannot be synced --------------------------------------

if [ -z "$traced" ] || without NO_FSYNC; then
	for i in 1 2 3 4 5; do
		skip 'a directory cannot be synced' 'no strace, or no fsync'
	done
else
	out=$(hurt fsync:error=EIO:when=3 "$S" -P "$po" -C "$tmp/routes" anna \
	    <"$tmp/m")
	is 'when queue/ cannot be synced nothing is queued' "$? $(files)" '75 '
	like 'queue/ cannot be synced: a line says so' \
	    "$out" 'cannot sync .*/queue: Input/output'
	out=$(hurt fsync:error=EIO:when=4 "$S" -P "$po" -C "$tmp/routes" anna \
	    <"$tmp/m")
	is 'when transport/ cannot be synced the status is 75' "$? $(files)" \
	    '75 ./queue/NAME ./transport/NAME '
	like 'transport/ cannot be synced: a line says so' \
	    "$out" 'may be in the queue nevertheless'
	clear
	hurt fsync:error=EINVAL:when=3+ "$S" -P "$po" -C "$tmp/routes" anna \
	    <"$tmp/m" >/dev/null
	is 'a file system without sync of directories is accepted' \
	    "$? $(files)" \
	    '0 ./queue/NAME ./transport/NAME '
	clear
fi

printf 'from <s@a.org>\nto <anna>\nenv-end\nSubject: x\n\n' >"$po/router/77"
chmod 666 "$po/router/77"
"$S" -q -P "$po" -C "$tmp/routes"
is 'a file that others may write to is copied' \
    "$(ls -l "$po"/queue/* | cut -c 1-10) $(files)" \
    '-rw------- ./queue/NAME ./transport/NAME '
clear

# ---- a user's file ----------------------------------------------------------

if [ -z "$nobody" ]; then
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 \
	    25 26 27; do
		skip 'a file of another user' 'not root, or nobody cannot be had'
	done
	finish
fi
letter='from <s@a.org>\nto <anna>\nenv-end\nSubject: x\n\n10 crowns\n'
give() {	# number [text]: a file of nobody's in router/
	printf "${2-$letter}" >"$po/router/$1"
	touch -t 202001020304.05 "$po/router/$1"
	chown "$nobody:$(id -g nobody)" "$po/router/$1"
	chmod 600 "$po/router/$1"
}
owners() {	# of what is in the queue
	ls -ln "$po"/queue/[1-9]* "$po"/transport/[1-9]* |
	    awk '{ printf "%s %s ", substr($1, 1, 10), $3 }'
}
give 77
exec 8<>"$po/router/77"
is 'a run takes the file of a user' "$(sub -q)$(files)" \
    './queue/NAME ./transport/NAME '
echo '99 crowns' >&8
exec 8>&-
is 'a user with the file open cannot change the accepted message' \
    "$(body)" '10 crowns'
is 'the copy and its control file are the owner'\''s alone' \
    "$(owners)" '-rw------- 0 -rw------- 0 '
is 'the recipients have the privilege of the user' \
    "$(rcpts)" "local - anna $nobody;"
is 'the message has the age of the file' \
    "$(find "$po/queue" -type f ! -newer "$tmp/routes" | wc -l | tr -d ' ')" 1
clear
(echo '* hold -'; cat "$tmp/routes") >"$tmp/limits"
give 77 "via suspension\n$letter"
lim -q
is 'a user cannot have his mail skip routes to hold' "$(rcpts)" \
    "hold - anna $nobody;"
clear
was=$(ls -ldn "$po/router" | awk '{ print $4 }')
for pair in 0:0:hold 0:1:local 2:0:local 2:1:hold; do
	group=${pair%%:*} channel=${pair##*:}
	chgrp "$group" "$po/router"
	give 77 "via suspension\n$letter"
	group=${pair%:*}
	chgrp "${group#*:}" "$po/router/77"
	lim -q
	is "groups of router/ and a file with via suspension: ${pair%:*}" \
	    "$(rcpts)" "$channel - anna $nobody;"
	clear
done
chgrp "$was" "$po/router"
printf "via suspension\n$letter" >"$po/router/77"
lim -q
is 'mail of the owner can skip them' "$(rcpts)" 'local - anna 0;'
clear
(echo '* hold time:1'; cat "$tmp/routes") >"$tmp/limits"
give 77
lim -q
is "a user's mail is held" "$(rcpts)" \
    "hold time:1 anna@our.example $nobody;"
(cd "$po/transport" && printf '%s\ttime:1\n' [1-9]* | "$top/ta/hold") \
    >"$tmp/out" 2>&1
rm "$po/transport"/[1-9]* "$po/queue"/[1-9]*
lim -q
is "a user's mail that comes back from hold is not held again" "$(rcpts)" \
    "local - anna@our.example $nobody;"
clear

# A hole of a TB, as far as the file system has them.
give 77
if ! dd if=/dev/zero of="$po/router/77" bs=1 seek=1099511627776 count=1 \
    conv=notrunc 2>/dev/null && ! dd if=/dev/zero of="$po/router/77" bs=1 \
    seek=2147483640 count=1 conv=notrunc 2>/dev/null; then
	for i in 1 2 3; do
		skip 'a file with a hole' 'no holes in this file system'
	done
else
	out=$(sub -q)
	like 'a file with a hole over the limit: a line says so' "$out" \
	    'router/77: 5\.3\.4 it has more than 67108864 bytes'
	is 'a file that is over the limit is not copied' \
	    "$(cat "$po"/queue/* | wc -c | tr -d ' ') $(files)" \
	    '45 ./queue/NAME ./transport/NAME '
	is 'the sender of a file over the limit gets a DSN' \
	    "$(rcpts)$(grep '^[eR] ' \
	    "$po"/transport/[1-9]* | tr '\n' ';')" \
	    "error toobig anna $nobody;R HDRS;e s@a.org;"
fi
clear
give 77 'channel error\nto <anna>\nenv-end\nSubject: x\n\nbody\n'
awk 'BEGIN { for (i = 0; i < 70; i++) printf "%1024s", "x" }' >>"$po/router/77"
limit 'PARAMmessagesize 1k'
lim -q >"$tmp/out"
is 'a message over the limit with the empty sender is set aside' \
    "$(ls "$po/postman") $(find "$po/queue" "$po/transport" -type f)" '77.bounce-0-1 '
clear

if [ -z "$traced" ]; then
	for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
		skip 'crashes while a file is taken' 'no strace'
	done
	finish
fi

# It grows behind the first write of the copy.
stopped() { grep 'stopped by SIGSTOP' "$tmp/trace" >/dev/null 2>&1; }
start_stopped() {	# call:signal=STOP:when=n: a run; sets tracer and victim
	rm -f "$tmp/trace"
	exec strace -f -o "$tmp/trace" -e "trace=${1%%:*}" -e "inject=$1" \
	    "$S" -q -P "$po" -C "$tmp/routes" </dev/null >"$tmp/out" 2>&1 &
	tracer=$!
	lib_pids="$lib_pids $tracer"
	wait_for 30 stopped && victim=$(awk '{ print $1; exit }' "$tmp/trace")
}
let_go() {		# sets status
	kill -CONT "$victim"
	wait "$tracer" 2>/dev/null
	status=$?
	lib_forget "$tracer"
}
give 77
ok 'a run is stopped in the middle of a copy' \
    start_stopped write:signal=STOP:when=1
echo more >>"$po/router/77"
let_go
is 'a run leaves a file that changes while it is copied' \
    "$status $(files)" '75 ./router/NUM '
like 'a file that changes is named' \
    "$(cat "$tmp/out")" 'router/77: it changes while'
is 'the next run takes a file that has changed' \
    "$(sub -q)$(body | tr '\n' '|')" \
    '10 crowns|more|'
clear

# ---- two runs ---------------------------------------------------------------

give 77
ok 'a run is stopped at work' start_stopped "$moves:signal=STOP:when=1"
out=$(strace -f -o "$tmp/trace2" -e 'trace=?select,?pselect6,?_newselect' \
    -e 'inject=?select,?pselect6,?_newselect:retval=0' \
    "$S" -q -P "$po" -C "$tmp/routes" 2>&1)
is 'another run waits for a run at work 60 times' "$? $(grep -c 'select' \
    "$tmp/trace2")" '75 60'
like 'a run that waited in vain says why it ends' \
    "$out" 'cannot lock .*is another submit -q at'
exec "$S" -q1s -P "$po" -C "$tmp/routes" </dev/null >"$tmp/out2" 2>&1 &
pid=$!
lib_pids="$lib_pids $pid"
[ ! -d "/proc/$pid/fd" ] || wait_for 30 sh -c 'ls -l "$1" | grep submit.lock' \
    sh "/proc/$pid/fd"
kill -TERM $pid
ok 'TERM ends a run that waits' wait_for 30 gone $pid
lib_forget $pid
let_go
is 'the run at work ends as usual' "$status $(body)" '0 10 crowns'
clear
give 77
ok 'a run is stopped behind its first rename' start_stopped \
    "$moves:signal=STOP:when=1"
rm "$po/.submit.lock"	# or its parent of several workers was killed
out=$(sub -q)
like 'a run leaves what another one is at work on' "$? $out" \
    '^75 submit: private/[0-9.-]*\.orig: it is locked'
let_go
is 'what two runs had in hand is in the queue once' \
    "$status $(sub -q; body)" '0 10 crowns'
clear

# ---- crashes ----------------------------------------------------------------

# A run is killed at each call of a kind that changes something.  What the
# next one leaves is in the queue, once or twice, whole and with the user's
# privilege, and nowhere else.
crashes() {	# title: give_it and check_it are the test's
	kills=0 wrong=
	for call in openat open mkdir rename renameat renameat2 unlink write \
	    fsync utimensat utime fchown fchmod close; do
		n=1
		while [ $n -lt 60 ]; do
			give_it
			hurt "?$call:signal=KILL:when=$n" "$S" -q -P "$po" \
			    -C "$tmp/routes" >/dev/null
			hurt_status=$?
			sub -q >"$tmp/out"
			sub -q >>"$tmp/out"
			text=$(check_it)
			[ -z "$text" ] || wrong="$wrong $call $n: $text;"
			clear
			[ $hurt_status -gt 128 ] || break
			kills=$((kills + 1))
			n=$((n + 1))
		done
	done
	is "$1" "$wrong" ''
	ok "there were enough calls to be killed at, $kills" [ $kills -gt 20 ]
}
check_it() {	# prints what is wrong
	case $(ls "$po/transport" | wc -l | tr -d ' ') in
	1 | 2) ;;
	*) echo "messages: $(files)" ;;
	esac
	[ -z "$(find "$po/router" "$po/postman" -type f;
	    find "$po/private" -name '*.orig')" ] || echo "left: $(files)"
	for check_f in "$po"/transport/[1-9]*; do
		check_m=$po/queue/${check_f##*/}
		grep "^r           local - anna $nobody\$" "$check_f" \
		    >/dev/null || echo "recipient: $(grep ^r "$check_f")"
		[ "$(tail -n 1 "$check_m")" = '10 crowns' ] ||
		    echo "body: $(cat "$check_m")"
		ls -ln "$check_f" "$check_m" | awk -v owner="$owner" '
		    substr($1, 1, 10) != "-rw-------" || $3 != owner'
	done
}
owner=0
give_it() {
	give 77
}
crashes 'a run that copies, killed anywhere, loses nothing'

# What an earlier crash left, or somebody changed since: not a pair.
give 77
hurt "$moves:signal=KILL:when=2" "$S" -q -P "$po" -C "$tmp/routes" >/dev/null
like 'a crash behind the first rename leaves the original in private/' \
    "$(files)" '^\./private/NAME\.65534\.orig |^\./private/NAME\.[0-9]+\.orig '
set -- "$po"/private/*.orig
name=${1##*/}
name=${name%.*.orig}
echo 'another message' >"$po/queue/$name"
echo 'i x' >"$po/transport/$name"
sub -q >/dev/null
is 'another message of that name is not taken for the copy' \
    "$(cat "$po"/queue/* | grep -c '10 crowns')" 1
clear

# ---- a post office of a service user ----------------------------------------

own() {
	find "$po" -exec chown "$service:$service" {} +
}
own
owner=$service
ln -s "$tmp/target" "$po/.submit.lock"
out=$(sub -q)
is 'a link .submit.lock is an error' "$?" 75
ok 'nothing is made where a link .submit.lock points to' [ ! -f "$tmp/target" ]
like 'a link .submit.lock is named' \
    "$out" 'cannot make or open .*/\.submit\.lock'
rm "$po/.submit.lock"
mkfifo "$po/.submit.lock"
sub -q >/dev/null
is 'a pipe .submit.lock is an error' "$?" 75
rm "$po/.submit.lock"
: >"$po/.submit.lock"
chmod 600 "$po/.submit.lock"
rm -rf "$po/private"
give 77
is "root's run takes a user's file, with a lock that was root's" \
    "$(sub -q)$(files)" './queue/NAME ./transport/NAME '
if without NO_SETEUID; then
	skip 'a run of root works as the owner of the post office' 'built without'
else
	is 'a run of root works as the owner of the post office' \
	    "$(owners)$(ls -ldn \
	    "$po/private" | awk '{ print substr($1, 1, 10), $3 }')" \
	    "-rw------- $service -rw------- $service drwx------ $service"
fi
clear

# The owner can put anything in the place of a directory of his.
if without NO_SETEUID; then
	skip "a link in the place of router leads to nobody's files" 'built without'
else
	mkdir "$tmp/mh"
	printf 'Subject: secret\n\nTOP SECRET\n' >"$tmp/mh/7"
	chown -R "$nobody" "$tmp/mh"
	chmod 755 "$tmp/mh"
	chmod 600 "$tmp/mh/7"
	mv "$po/router" "$po/router.real"
	ln -s "$tmp/mh" "$po/router"
	sub -q >"$tmp/led" 2>&1
	is "a link in the place of router leads to nobody's files" \
	    "$(cat "$tmp/mh/7" | tail -n 1)$(ls "$po/queue" "$po/transport" |
	    grep -c '^[0-9]')" 'TOP SECRET0'
	like 'a file that cannot be read is named' \
	    "$(cat "$tmp/led")" 'cannot be read'
	rm "$po/router"
	mv "$po/router.real" "$po/router"
fi

# So does what root sends.
sub anna <"$tmp/m" >/dev/null
is 'a message of root is queued for the owner' "$(owners)$(rcpts)" \
    "-rw------- $service -rw------- $service local - anna 0;"
clear
mkdir "$tmp/roots"
rm -rf "$po/private"
for dir in private queue transport; do
	mv "$po/$dir" "$po/$dir.real" 2>/dev/null
	ln -s "$tmp/roots" "$po/$dir"
	sub anna <"$tmp/m" >>"$tmp/led" 2>&1
	rm "$po/$dir"
	mv "$po/$dir.real" "$po/$dir" 2>/dev/null
	clear
done
if without NO_SETEUID; then
	skip "a message of root makes no file behind the owner's links" \
	    'built without'
else
	is "a message of root makes no file behind the owner's links" \
	    "$(ls -A "$tmp/roots")" ''
fi

# ... and give a file of root another name there, where the system lets him.
printf 'Subject: secret\nTo: anna\n\nTOP SECRET\n' >"$po/roots"
chmod 600 "$po/roots"
mkdir -p "$po/private"
chown $service:$service "$po/private"
chmod 700 "$po/private"
ln "$po/roots" "$po/private/77-7.$nobody.orig"
ln "$po/roots" "$po/router/77"
sub -q >"$tmp/led" 2>&1
is "a second name of root's file does not give it to the owner" \
    "$(ls -ln "$po/roots" | awk '{ print substr($1, 1, 10), $3 }') $(
    files | grep -c queue)" '-rw------- 0 0'
is "second names of root's file are set aside" \
    "$(grep -c 'it has a second name' "$tmp/led") $(ls "$po/postman" |
    tr '\n' ' ')" "2 77 77-7.$nobody.orig "
rm -f "$po/roots" "$po"/postman/*
clear

# With a group alone as the way in, the file is renamed, not copied.
group=64322
mkdir -p "$po/private"
chown $service:$service "$po/private"
chmod 700 "$po/private"
chown "$service:$group" "$po/public" "$po/router"
chmod 3730 "$po/public" "$po/router"
give_it() {
	give 77
	chown "$nobody:$group" "$po/router/77"
	chmod 640 "$po/router/77"
}
inode() { ls -i "$1" | awk '{ print $1 }'; }
give_it
was=$(inode "$po/router/77")
sub -q
is 'a file that only the group reaches is renamed, not copied' \
    "$(inode "$po"/queue/[1-9]*)" "$was"
is 'a file that is renamed is given to the owner' "$(owners)" \
    "-rw------- $service -rw------- $service "
is "a file that is renamed has its user's privilege" \
    "$(rcpts)" "local - anna $nobody;"
clear
give_it
was=$(inode "$po/router/77")
chgrp 0 "$po/router/77"
sub -q
unlike 'a file of another group is copied' "$(inode "$po"/queue/[1-9]*)" \
    "^$was\$"
clear
without NO_SETEUID || crashes 'a run that renames, killed anywhere, loses nothing'
finish
