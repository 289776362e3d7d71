#!/bin/sh
# A set-group-id submit in the hands of a hostile user: environment,
# descriptors, signals, umask, options and limits.
. "${0%/*}/lib.sh"

unset POSTOFFICE MAILSHARE
[ "$(id -u)" -eq 0 ] && nobody=$(id -u nobody 2>/dev/null) &&
    as_nobody true >/dev/null 2>&1 || skip_all 'not root, or nobody cannot be had'
group=64322
po=$tmp/po share=$tmp/share
S=$tmp/bin/submit

# The program with other places compiled in, and without a sanitizer, which
# cannot look into a process with a set-id bit.
mkdir "$tmp/src"
(cd "$top" && tar cf - Makefile *.[ch] lib/*.[ch] mq/*.h sub/*.[ch] ta/*.h \
    t/fuzz/*.h) | (cd "$tmp/src" && tar xf -)
build() {
	(cd "$tmp/src" && make CFLAGS=-O LDFLAGS= POSTOFFICE="$po" \
	    MAILSHARE="$share" submit 2>&1)
}
ok 'a submit with its places compiled in' build
cp "$tmp/src/submit" "$S"
chgrp $group "$S"
chmod 2755 "$S"

spool_new "$po"
mkdir -m 700 "$po/private"
mkdir "$share" "$tmp/evil"
conf "$share/routes" <<'END'
domain		our.example
PARAMmessagesize 20k
*		local	-
END
cp "$share/routes" "$tmp/evil/routes"
chmod 644 "$share/routes" "$tmp/evil/routes"
spool_new "$tmp/evil/po"
chmod 1777 "$tmp/evil/po/public" "$tmp/evil/po/router"
ways="$po/public $po/router"
chgrp $group $ways
chmod 3730 $ways
printf 'Subject: test\n\nthe body\n' >"$tmp/m"
chmod 644 "$tmp/m"

as_nobody "$S" anna <"$tmp/m" >"$tmp/out"
if [ $? -ne 0 ] && grep 'Permission denied' "$tmp/out" >/dev/null; then
	skip_all 'set-group-id bits do nothing here'
fi
them() {
	as_nobody "$S" "$@"
}
clear() {
	find "$po" "$tmp/evil/po" -type f -exec rm -f {} +
}
left() {	# what lies in the two post offices
	find "$po" "$tmp/evil/po" -type f ! -path '*/router/*' -print
	find "$tmp/evil/po/router" -type f -print
}
in_router() { ls "$po/router" | wc -l | tr -d ' '; }
is 'mail of a user goes into router/' "$(in_router) $(left)" '1 '
f=$(echo "$po"/router/*)
is 'a file in router/ is its user'\''s, and readable by the group' \
    "$(ls -ln "$f" | awk '{ print substr($1, 1, 10), $3, $4 }')" \
    "-rw-r----- $nobody $group"
like 'a user cannot read his file in router/' \
    "$(as_nobody cat "$f")" 'Permission denied'
like 'a user cannot write to his file in router/' \
    "$(as_nobody sh -c ': >>"$1"' sh "$f")" 'ermission denied|annot create'
like 'users do not see what is in router/' \
    "$(as_nobody ls "$po/router")" 'Permission denied'
was=$(ls -i "$f" | awk '{ print $1 }')
is 'a run takes a file of the group' \
    "$("$top/submit" -q -P "$po" -C "$share/routes" 2>&1)" ''
if [ -f "$(echo "$po"/queue/[1-9]*)" ]; then
	is 'a run renames the file and gives it to the owner' \
	    "$(ls -lin "$po"/queue/* | awk '{ print $1, substr($2, 1, 10), $4 }')" \
	    "$was -rw------- 0"
	like 'a message of the group has the privilege of its user' \
	    "$(cat "$po"/transport/[1-9]*)" \
	    "^r           local - anna $nobody\$"
else
	fail 'a run renames the file and gives it to the owner' \
	    'it is not in queue/'
	fail 'a message of the group has the privilege of its user' \
	    'it is not in queue/'
fi
clear

# ---- the environment --------------------------------------------------------

evil="POSTOFFICE=$tmp/evil/po MAILSHARE=$tmp/evil TZ=:/etc/shadow
LD_PRELOAD=$tmp/evil/x.so LD_LIBRARY_PATH=$tmp/evil PATH=. HOME=$tmp/evil
IFS=/ ENV=$tmp/evil/routes MALLOC_TRACE=$po/queue/trace TMPDIR=$po/transport
USER=root LOGNAME=root LANG=../../evil"
out=$(as_nobody env $evil "$S" anna <"$tmp/m")
is 'a hostile environment changes nothing' "$? $out $(in_router) $(left)" \
    '0  1 '
unlike 'a hostile environment does not change the sender' \
    "$(cat "$po"/router/*)" '^from <?root'
clear
out=$(as_nobody env $evil "$S" -P "$tmp/evil/po" anna <"$tmp/m")
is 'with -P a message goes into the other post office' \
    "$(ls "$tmp/evil/po/router" | wc -l | tr -d ' ')" 1
is 'with -P the group is not used' "$(ls -ln "$tmp/evil/po/router" |
    awk -v g=$group 'NR > 1 { print ($4 == g) }')" 0
clear
like '-P of the same post office has no group' "$(them -P "$po" anna \
    <"$tmp/m")" 'cannot write .*Permission denied'
like 'with -C the group is not used' \
    "$(them -C "$share/routes" anna <"$tmp/m")" \
    'cannot write .*Permission denied'
printf 'secret local -\n' >"$tmp/secret"
chgrp $group "$tmp/secret"
chmod 640 "$tmp/secret"
unlike 'a table that the group could read says nothing' \
    "$(them -C "$tmp/secret" anna <"$tmp/m")" 'secret:'
is '-P and -C leave nothing in the closed post office' \
    "$(in_router) $(left)" '0 '
chgrp $group "$share/routes"
chmod 640 "$share/routes"
is 'the table compiled in is read without the group' \
    "$(them anna <"$tmp/m"; grep -c '^fullname' "$po"/router/*)" 1
chgrp 0 "$share/routes"
chmod 644 "$share/routes"
clear
like '-q: a user may not run it' "$(them -q; echo $?)" '77$'
chmod 1777 "$po/public"
like 'with public/ open to all, the group is not used' \
    "$(them anna <"$tmp/m"; echo $?)" '75$'
chmod 3730 "$po/public"
mkdir "$po/bulk"
chgrp $group "$po/bulk"
chmod 3730 "$po/bulk"
is 'mail of low precedence goes into bulk/ of that group' \
    "$(printf 'Precedence: bulk\n\nx\n' | them anna) $(ls "$po/bulk" | wc -l |
    tr -d ' ')" ' 1'
chgrp 0 "$po/bulk"
n=$(in_router)
is 'bulk/ of another group is not used' \
    "$(printf 'Precedence: bulk\n\nx\n' | them anna) $(ls "$po/bulk" | wc -l |
    tr -d ' ') $(($(in_router) - n))" ' 1 1'
chgrp 0 "$po/router"
like 'with router/ of another group, the group is not used' \
    "$(them anna <"$tmp/m"; echo $?)" '75$'
chgrp $group "$po/router"
clear

# ---- SMTP ---------------------------------------------------------------------

clear
as_nobody sh -c 'printf "MAIL FROM:<a@x.org>\r\nRCPT TO:<anna>\r\nDATA\r\nX: y\r\n\r\n.\r\nETRN x\r\nMAIL FROM:<b>\r\nRCPT TO:<c>\r\nDATA\r\ncut" |
    POSTOFFICE=$2 MAILSHARE=$2 "$1" -bs' sh "$S" "$tmp/evil" | tr -d '\r' |
    cut -c1-9 >"$tmp/out"
is 'a user speaks SMTP: his mail goes into router/, a part of it nowhere' \
    "$(in_router) $(left)$(tr '\n' ' ' <"$tmp/out")" \
    '1 220 our.e 250 2.1.0 250 2.1.5 354 end w 250 2.0.0 502 5.5.1 250 2.1.0 250 2.1.5 354 end w 451 4.4.2 '
is 'a user speaks SMTP: he may not ask for mail' \
    "$(grep -c '^502' "$tmp/out")" 1
# ---- a bit that an update has removed --------------------------------------------

chmod 755 "$S"
lost=$(them anna <"$tmp/m"; echo $?)
like 'without its bit submit says what the administrator can do' "$lost" \
    "only the group $group may write to $po/public; .*: chgrp $group submit; chmod 2755"
like 'without its bit submit leaves mail to the caller' "$lost" '75$'
echo '*/* interval=1m' >"$tmp/empty.cf"
look() {
	PATH=$tmp/bin:$PATH POSTOFFICE=$po MAILSHARE=$share \
	    MAILBIN=$tmp/bin "$SCHEDULER" -n -f "$tmp/empty.cf" 2>&1
}
like 'scheduler -n says that submit has lost its bit' "$(look)" \
    "users cannot submit .*chgrp $group $S && chmod 2755 $S"
chmod 2755 "$S"
unlike 'scheduler -n says nothing of a submit with its bit' "$(look)" \
    'cannot submit'
chgrp 0 "$S"
chmod 2755 "$S"
like 'scheduler -n says that submit has another group' "$(look)" \
    'users cannot submit'
chgrp $group "$S"
chmod 2755 "$S"
clear

# ---- what else a caller sets ------------------------------------------------

case $(uname) in
*BSD)	for i in 1 2 3; do
		skip 'a closed standard input' \
		    'the system opens /dev/null for a set-id program'
	done ;;
*)	as_nobody sh -c '"$1" anna <&-' sh "$S" >"$tmp/out"
	is 'a closed standard input is an error' $? 74
	as_nobody sh -c '"$1" anna <&- >&- 2>&-' sh "$S"
	is 'closed descriptors 0 to 2 are an error' $? 74
	is 'with a closed standard input nothing is queued' \
	    "$(in_router) $(left)" '0 ' ;;
esac
as_nobody sh -c '"$1" -v a@@b <"$2" >&- 2>&-' sh "$S" "$tmp/m"
is 'error lines go into no file of the post office' "$? $(left)" '65 '
as_nobody sh -c '"$1" -v anna <"$2" >&- 2>&-' sh "$S" "$tmp/m"
is 'with closed descriptors 1 and 2 mail goes in' "$? $(in_router)" '0 1'
unlike 'with closed descriptors 1 and 2 no output is in the message' \
    "$(cat "$po"/router/*)" '^given to'
clear
for mask in 0 777; do
	as_nobody sh -c 'umask "$3" && "$1" anna <"$2"' sh "$S" "$tmp/m" $mask
	is "umask $mask changes no mode" "$(ls -ln "$po"/router/* |
	    awk '{ print substr($1, 1, 10) }')" '-rw-r-----'
	clear
done
as_nobody sh -c 'cd "$2" && "$1" anna <"$3"' sh "$S" "$tmp/evil" "$tmp/m"
is 'the working directory changes nothing' "$? $(in_router) $(left)" '0 1 '
clear
as_nobody sh -c 'ulimit -f 1; "$1" anna' sh "$S" <"$tmp/src/submit" >"$tmp/out"
like 'a limit of the size of files is an error' \
    "$? $(cat "$tmp/out")" '^(75|69|65) '
is 'a limit of the size of files leaves nothing' "$(in_router) $(left)" '0 '
as_nobody sh -c 'ulimit -n 4; "$1" anna <"$2"' sh "$S" "$tmp/m" >"$tmp/out"
rc=$?
is 'with 4 descriptors mail goes in, or nothing is left' \
    "$(left)$([ $rc -eq 0 ] &&
    echo 1 || echo 0)" "$(in_router)"
clear
awk 'BEGIN { print "X: y\n"; for (i = 0; i < 5000; i++)
    print "0123456789abcdef" }' >"$tmp/big"
chmod 644 "$tmp/big"
out=$(them anna <"$tmp/big")
is 'a message over the limit is refused' "$? $(in_router) $(left)" '69 0 '
args=$(awk 'BEGIN { for (i = 0; i < 12000; i++) printf "u%d ", i }')
out=$(them $args <"$tmp/m")
is '12000 recipients are refused' "$? $(in_router) $(left)" '69 0 '
long=$(awk 'BEGIN { for (i = 0; i < 90000; i++) printf "x" }')
for option in -P -C -F -f -N -R -V -q -b -o -d --; do
	them "$option" "$long" <"$tmp/m" >/dev/null
	[ $? -lt 128 ] || echo "$option"
done >"$tmp/out"
is 'long arguments do not end submit by a signal' "$(cat "$tmp/out")" ''
clear

# ---- signals ----------------------------------------------------------------

mkfifo -m 644 "$tmp/fifo"
writing() { [ -n "$(find "$po/public" -type f)" ]; }
ended_by() {	# title command ...: which reads the fifo; TERM ends it
	title=$1
	shift
	as_nobody "$@" <"$tmp/fifo" >/dev/null &
	pid=$!
	exec 7>"$tmp/fifo"
	printf 'X: y\n\nsome\n' >&7
	wait_for 30 writing || diag 'it does not write'
	target=
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2>/dev/null)" != "$S" ] ||
		    target="$target ${p#/proc/}"
	done
	kill -TERM ${target:-$pid}
	wait $pid
	is "$title" "$? $(in_router) $(left)" '75 0 '
	exec 7>&-
}
if [ ! -r /proc/self/exe ]; then
	for i in 1 2 3; do
		skip 'signals' 'no /proc'
	done
else
	ended_by 'TERM ends submit, and nothing is left in public/' "$S" anna
	ended_by 'TERM ends submit when TERM was ignored' \
	    sh -c 'trap "" TERM; exec "$@"' \
	    sh "$S" anna
	if env --block-signal=TERM true 2>/dev/null; then
		ended_by 'TERM ends submit when TERM was blocked' \
		    env --block-signal=TERM "$S" anna
	else
		skip 'TERM ends submit when TERM was blocked' \
		    'no program that blocks signals'
	fi
fi

# ---- where the group is had -------------------------------------------------

# As the kernel saw it: root's strace keeps the bit.
if ! strace -f -u nobody -o "$tmp/trace" "$S" anna <"$tmp/m" >/dev/null 2>&1 ||
    [ "$(in_router)" -ne 1 ]; then
	skip 'calls that have the group' 'no strace that keeps the bit'
else
	is 'submit opens and renames no other place with the group' \
	    "$(awk -v g=$group '
	    /set(res|e)?gid/ { have = $0 ~ g "[^0-9]*(, -1)?\\) *=" }
	    have && /(open|openat|rename|renameat|renameat2|unlink)\(/ &&
	    $0 !~ /\/(public|router|private)/ && $0 !~ /urandom/ {
		print
	    }' "$tmp/trace")" ''
	like 'submit takes the group at least twice' "$(grep -c -E \
	    "set(res|e)?gid.*$group" "$tmp/trace")" '^[2-9]'
fi
clear
them -P "$po" -C "$share/routes" anna <"$tmp/m" >/dev/null
strace -f -u nobody -o "$tmp/trace" "$S" -P "$po" anna <"$tmp/m" >/dev/null 2>&1
if grep 'setre[sg]*gid' "$tmp/trace" >/dev/null; then
	like 'with -P the group is gone for good' "$(cat "$tmp/trace")" \
	    "setregid.*= 0"
	like 'with -P the group cannot be had back' "$(cat "$tmp/trace")" \
	    "set(res|e)gid.*$group.*EPERM"
else
	skip 'with -P the group is gone for good' 'no strace, or no setregid'
	skip 'with -P the group cannot be had back' 'no strace, or no setregid'
fi
finish
