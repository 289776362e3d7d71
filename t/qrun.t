#!/bin/sh
# submit -q: the order of files, directories of less important mail, and several
# workers.
. "${0%/*}/lib.sh"

unset POSTOFFICE MAILSHARE ROUTERDIRS ZCONFIG
po=$tmp/po
spool_new "$po"
mkdir "$po/bulk" "$po/news"
printf 'domain our.example\nPARAMworkers 1\n* local -\n' >"$tmp/routes"
sub() {
	"$top/submit" -P "$po" -C "$tmp/routes" "$@" 2>&1
}
file() {	# dir name recipient time
	printf 'from <s@a.example>\nto <%s>\nenv-end\n\nbody\n' "$3" \
	    >"$tmp/new"
	touch -t "$4" "$tmp/new"
	mv "$tmp/new" "$po/$1/$2"	# in one piece, for a run that stays
}
# A file that cannot be used is said in a line, so the lines show the order.
wrong() {	# dir name time
	printf 'from <s@a.example>\nto <x>\nnone\n\n' >"$po/$1/$2"
	touch -t "$3" "$po/$1/$2"
}
order() {
	sub -q "$@" | sed -n 's/^submit: \([a-z]*\/[0-9]*\): .*/\1/p' |
	    tr '\n' ' '
}

# ---- order -----------------------------------------------------------------------

wrong router 7 202601010003
wrong router 70 202601010001
wrong router 600 202601010002
wrong router 10 202601010002
wrong router 9 202601010002
is 'submit -q takes the oldest file first, then the smallest number' \
    "$(order)" \
    'router/70 router/9 router/10 router/600 router/7 '

# ---- beside a router of ZMailer ----------------------------------------------------

# It takes a file by renaming it to NUMBER-PID.
file router 11-4711 local@our.example 202601010000
sub -q >"$tmp/out"
is 'a file that a router of ZMailer has taken is left alone' \
    "$(cat "$tmp/out")$(ls "$po/router" "$po/transport")" "$po/router:
11-4711

$po/transport:"
rm "$po/router/11-4711"
n=0
while [ $n -lt 60 ]; do
	n=$((n + 1))
	file router 1$n "u$n@our.example" 202601010000
done
mkdir "$tmp/taken"
bg sh -c 'cd "$1" || exit
for f in [0-9]*; do
	mv "$f" "$f-$$" 2>/dev/null && mv "$f-$$" "$2"
done' sh "$po/router" "$tmp/taken"
sub -q >"$tmp/out"
wait_for 30 gone $bg_pid
sub -q >>"$tmp/out"
diag "$(ls "$tmp/taken" | wc -l) files were taken by the other router"
is 'two routers beside each other take each file once' \
    "$(cat "$po"/transport/[0-9]* "$tmp"/taken/* 2>/dev/null |
    sed -n 's/^r .* local - \(u[0-9]*\).*/\1/p
    s/^to <\(u[0-9]*\)@.*/\1/p' | sort | uniq -c |
    awk '{ print $1 }' | sort | uniq -c | tr -s ' ')" ' 60 1'
rm -f "$po"/transport/[0-9]* "$po"/queue/[0-9]*

# ---- directories of less important mail ------------------------------------------

wrong bulk 1 202501010000
wrong bulk 2 202401010000
wrong news 3 202301010000
wrong router 4 202601010000
is 'without ROUTERDIRS bulk/ alone comes after router/' "$(order)" \
    'router/4 bulk/2 bulk/1 '
wrong router 4 202601010000
wrong bulk 1 202501010000
wrong bulk 2 202401010000
is 'directories of ROUTERDIRS come after router/, in their order' \
    "$(ROUTERDIRS=bulk:router:news order)" \
    'router/4 bulk/2 bulk/1 news/3 '
wrong router 4 202601010000
wrong bulk 1 202501010000
wrong news 3 202301010000
printf '%s\n' '# places' 'LOGDIR=/tmp' 'export LOGDIR' '=' \
    'ROUTERDIRS="news:bulk"' >"$tmp/zmailer.conf"
is 'ROUTERDIRS of zmailer.conf counts, behind lines of another form' \
    "$(ZCONFIG=$tmp/zmailer.conf order)" 'router/4 news/3 bulk/1 '
out=$(ZCONFIG=$tmp/none sub -q)
is 'a missing zmailer.conf is an error' "$? $out" \
    "78 submit: cannot read $tmp/none: No such file or directory"
for bad in ../x /tmp a/b 1:2:3:4:5:6:7:8:9; do
	out=$(ROUTERDIRS=$bad sub -q)
	is "a wrong ROUTERDIRS: $bad" $? 78
	like "a wrong ROUTERDIRS: a line says so: $bad" \
	    "$out" '^submit: ROUTERDIRS='
done
for d in queue transport public private postman freezer; do
	mkdir -p "$po/$d"
	wrong $d 9 202301010000
	out=$(ROUTERDIRS=news:$d sub -q)
	is "$d in ROUTERDIRS is refused" "$?$out" \
	    "78submit: ROUTERDIRS=news:$d: $d is no directory of a router, or there are more than eight"
	ok "with $d in ROUTERDIRS its files stay" [ -f "$po/$d/9" ]
	rm -f "$po/$d/9"
done
out=$(ROUTERDIRS=none sub -q)
is 'a missing directory of ROUTERDIRS: the exit code is 75' $? 75
like 'a missing directory of ROUTERDIRS: a line says so' \
    "$out" 'cannot read .*/none'

# Without a table, submit leaves routing to submit -q.
given() {	# fields: the directory that gets the message
	printf '%bSubject: x\n\nx\n' "$1" | "$top/submit" -v -P "$po" \
	    -C "$tmp/none" anna 2>/dev/null |
	    sed -n 's/^given to \(.*\)\/[0-9]*$/\1/p'
}
is 'submit puts mail of low precedence into bulk/' \
    "$(for p in bulk BULK ' list ' '\n junk'; do
	given "Precedence:$p\n"
    done | uniq -c | tr -s ' ') $(ls "$po/bulk" | wc -l | tr -d ' ')" ' 4 bulk 4'
is 'submit puts other mail into router/' "$(for p in '' 'Precedence: \n' \
    'Precedence: bulky\n' 'Precedence: first-class\n' 'X-Precedence: bulk\n'; do
	given "$p"
    done | uniq -c | tr -s ' ')" ' 5 router'
is 'submit -q routes the mail of bulk/' "$(sub -q >"$tmp/out"
    cat "$po"/transport/[1-9]* | grep -c '^r .* local - anna ') $(ls "$po/bulk")" \
    '9 '
rm -f "$po"/transport/* "$po"/queue/*
rmdir "$po/bulk"
is 'without bulk/, mail of low precedence goes into router/' \
    "$(given 'Precedence: bulk\n')" router
is 'without bulk/, submit -q says nothing of it' \
    "$(sub -q | sed 's/^submit: accepted .*//') $(ls "$po/router")" ' '
rm -f "$po"/transport/* "$po"/queue/*
mkdir "$po/bulk"

# A file comes into router/ while bulk/ is worked through; on a machine that is
# through with bulk/ before that, once more with a longer list.
meanwhile() {
	i=0
	while [ $i -lt $many ]; do
		i=$((i + 1))
		echo 'to anna' >"$po/bulk/$i"	# its header cannot be one
		printf 'none\n\n' >>"$po/bulk/$i"
	done
	printf 'none\n\n' >"$po/new"
	: >"$tmp/said"
	ROUTERDIRS=bulk sub -q >"$tmp/said" &
	until [ -s "$tmp/said" ] || ! alive $!; do
		:
	done
	mv "$po/new" "$po/router/3"
	wait $!
	rm -f "$po/postman"/*
	awk '/router.3:/ { seen = NR } END { exit seen == 0 || seen == NR }' \
	    "$tmp/said"
}
first=no
for many in 1000 2000 4000 8000; do
	! meanwhile || { first=yes; break; }
done
is 'a file that comes into router/ during a run goes first' $first yes
sub -q >/dev/null
find "$po" -type f -exec rm -f {} +

file bulk 1 first 202601010000
file bulk 2 second 202601010001
file router 5 third 202601010002
ok 'mail in all directories of ROUTERDIRS is taken' \
    env ROUTERDIRS=bulk "$top/submit" -P "$po" \
    -C "$tmp/routes" -q
is 'mail of a directory of ROUTERDIRS is in the queue' \
    "$(cat "$po"/transport/[1-9]* |
    sed -n 's/^r .* local - \([a-z]*\) .*/\1/p' | sort | tr '\n' ' ')" \
    'first second third '
find "$po" -type f -exec rm -f {} +

# ---- again and again ---------------------------------------------------------------

ROUTERDIRS=news bg "$top/submit" -P "$po" -C "$tmp/routes" -q1s
file news 11 anna 202601010000
ok 'a run that stays sees new mail in a directory of ROUTERDIRS' \
    wait_for 30 eval '[ -n "$(ls "$po/transport")" ]'
kill "$bg_pid"
wait "$bg_pid"
is 'a run that stays ends at TERM' $? 0
lib_forget "$bg_pid"
find "$po" -type f -exec rm -f {} +

# ---- copies for the postmaster ---------------------------------------------------

printf 'domain our.example\nspam* ! no\n* local -\n' >"$tmp/routes"
odd() {		# envelope: what is in postman/ and in the queue then
	printf '%b\nenv-end\nSubject: x\n\nthe body\n' "$1" >"$po/router/77"
	cp "$po/router/77" "$tmp/odd"
	touch -t 202601010000 "$po/router/77"
	sub -q >"$tmp/out"
	echo "$(ls "$po/postman" | tr '\n' ' ')$(ls "$po/transport" | wc -l |
	    tr -d ' ')"
}
is 'a recipient that is no address: postman/ has a copy, the queue the message' \
    "$(odd 'from <s@a>\nto <x@@y>\nto <anna>')" '77_syntax 1'
ok 'the copy in postman/ is the message, byte for byte' \
    cmp "$tmp/odd" "$po/postman/77_syntax"
is 'the copy in postman/ is for its owner alone' \
    "$(ls -l "$po/postman/77_syntax" | cut -c1-10)" -rw-------
like 'a line of submit -q names the copy in postman/' "$(cat "$tmp/out")" \
    '^20[0-9]{12} submit: router/77: it is in the queue, and a copy is .*/postman/77_syntax$'
is 'a second copy in postman/ does not replace the first' \
    "$(odd 'from <s@a>\nto <x@@y>\nto <anna>')" \
    '77_syntax 77_syntax.1 2'
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
like 'the line after that of the queue names the file, too' \
    "$(printf 'from <s@a>\nto <x@@y>\nto <anna>\nenv-end\n\nbody\n' \
    >"$po/router/78"; sub -q -v)" 'submit: router/78: it is in the queue, and'
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
is 'a refused recipient of a message without a sender: there is a copy' \
    "$(odd 'channel error\nto <spam@x>\nto <anna>')" \
    '77_untold.bounce-0-0 1'
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
is 'no address, and a message without a sender: the copy is a double bounce' \
    "$(odd 'channel error\nto <x@@y>\nto <anna>')" '77_untold.bounce-0-0 1'
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
is 'a DSN that nobody can get is set aside as a double bounce' \
    "$(odd 'channel error\nto <spam@x>')" '77.bounce-0-0 0'
is 'mailq counts a double bounce' \
    "$(POSTOFFICE=$po "$top/mailq" 2>/dev/null | tail -n 1 |
    sed 's/, [^,]* old$//')" \
    'the queue is empty; 1 set aside (1 double bounce)'
is 'a second double bounce of the same number replaces none' \
    "$(odd 'channel error\nto <spam@x>')" '77.bounce-0-0 77.bounce-0-0.1 0'
rm -f "$po/postman/"*
is 'a file that cannot be parsed is no double bounce' \
    "$(odd 'from <s@a>\nnonsense x\nto <anna>')" '77 0'
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
is 'a refused recipient whose sender gets a DSN: there is no copy' \
    "$(odd 'from <s@a>\nto <spam@x>\nto <anna>')" 1
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
is 'a message in order: there is no copy' "$(odd 'from <s@a>\nto <anna>')" 1
is 'copies leave nothing in private/' "$(ls "$po/private")" ''
if [ "$(id -u)" -eq 0 ] && [ "$(as_nobody echo yes)" = yes ]; then
	rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
	printf 'from <s@a>\nto <x@@y>\nto <anna>\nenv-end\n\nbody\n' \
	    >"$po/router/77"
	chown nobody "$po/router/77"
	sub -q >/dev/null
	is 'the copy of a user'\''s file is the owner'\''s of the post office' \
	    "$(ls -ln "$po/postman/77_syntax" | awk '{ print $1, $3 }')" \
	    '-rw------- 0'
else
	skip 'the copy of a user'\''s file' 'not root, or there is no other user'
fi
find "$po" -type f -exec rm -f {} +
printf 'domain our.example\n* local -\n' >"$tmp/routes"

# ---- mail that cannot go on --------------------------------------------------------

loop() {	# envelope
	{
		printf '%b\nenv-end\n' "$1"
		awk 'BEGIN { for (i = 0; i < 50; i++) print "Received: x" }'
		printf '\nbody\n'
	} >"$po/router/77"
	sub -q >"$tmp/out"
	echo "$(sed -n 's/^r *\([^0-9]*\) .*/\1,/p' "$po/transport"/* \
	    2>/dev/null | tr -d '\n')$(ls "$po/postman")"
}
printf 'domain our.example\nspam* ! no\nall = anna, bert\n* local -\n' \
    >"$tmp/routes"
is 'the sender of a message in a loop gets a DSN on each recipient' \
    "$(loop 'from <s@a>\nto <all>\nto <carl>\nto <spam>')" \
    'error loop all,error loop carl,error refused spam,'
is 'a line says that a message is in a loop' "$(cut -c16- "$tmp/out")" \
    "submit: router/77: spam: no
submit: router/77: 5.4.6 it has 50 Received fields or more, as in a mail loop; \
its sender gets a DSN"
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
is 'a message in a loop without a sender goes to postman/' \
    "$(loop 'channel error\nto <anna>')" 77
rm -f "$po/postman/"*
many() {	# line that names the sender
	awk -v from="$1" 'BEGIN {
		print from
		for (i = 0; i <= 10000; i++)
			print "to u" i
		print "env-end\n\nbody" }' >"$po/router/77"
	sub -q
}
out=$(many 'from <s@a>')
is 'the sender of a message with more than 10000 recipients gets a DSN' \
    "$(sed -n 's/^r  *\([^0-9]*\)[0-9].*/\1/p' "$po/transport"/* |
    sort | uniq -c | sed 's/^ *//')$(ls "$po/postman")" '10000 error toomany u'
is 'a line says that a message has too many recipients' "$out" \
    "submit: router/77: with u10000 the message would have more than 10000 recipients
submit: router/77: 5.5.3 it has too many recipients; its sender gets a DSN"
rm -f "$po/transport/"* "$po/queue/"*
like 'a message with too many recipients and no sender: a line says so' \
    "$(many 'channel error')" \
    '^submit: router/77: it has too many recipients; it is now .*/postman/77$'
is 'a message with too many recipients and no sender goes to postman/' \
    "$(ls "$po/postman" "$po/transport" | tr '\n' ' ')" \
    "$po/postman: 77  $po/transport: "
is 'mailq counts what submit -q set aside' \
    "$(POSTOFFICE=$po "$top/mailq" 2>/dev/null | tail -n 1 |
    sed 's/, [^,]* old$//')" 'the queue is empty; 1 set aside'
rm -f "$po/postman/"* "$po/transport/"* "$po/queue/"*
find "$po" -type f -exec rm -f {} +
printf 'domain our.example\n* local -\n' >"$tmp/routes"

# A read-only disk, in a place of its own that goes with the process.
mkdir "$tmp/disk"
if unshare -m sh -c 'mount -t tmpfs none "$1" && mount -o remount,ro "$1"' \
    sh "$tmp/disk" 2>/dev/null; then
	cat >"$tmp/ro" <<'END'
mount -t tmpfs none "$1" || exit 1
mkdir "$1/public" "$1/router" "$1/queue" "$1/transport"
mount -o remount,ro "$1"
echo body | "$2" -P "$1" -C "$3" anna
echo $?
"$2" -q -P "$1" -C "$3"
echo $?
END
	unshare -m sh "$tmp/ro" "$tmp/disk" "$top/submit" "$tmp/routes" \
	    >"$tmp/out" 2>&1
	is 'a read-only disk: submit and submit -q say so' \
	    "$(sed "s,$tmp/,,;s/^[0-9]\{14\} //" "$tmp/out" |
	    tr '\n' ';')" "$(
	    for i in 1 2; do
		printf 'submit: cannot write to disk/queue: %s;75;' \
		    'Read-only file system'
	    done)"
else
	skip 'a read-only disk' 'not root, or no such mount'
fi

# ---- workers -----------------------------------------------------------------------

for bad in 0 65 x; do
	echo "PARAMworkers $bad" >"$tmp/bad"
	out=$("$top/submit" -bv -C "$tmp/bad" x 2>&1)
	like "PARAMworkers $bad" "$?$out" "^78.*:1: $bad: the number of workers is"
done
echo 'PARAMworkers 4' >>"$tmp/routes"
i=0
while [ $i -lt 50 ]; do
	i=$((i + 1))
	file router $i "u$i" 202601010000
done
wrong router 99 202601010000
out=$(sub -q)
is 'several workers end well' $? 0
like 'a line of one of several workers is printed' \
    "$out" '^submit: router/99: .*not known'
is 'several workers take each file once' "$(cat "$po"/transport/[1-9]* |
    sed -n 's/^r .* local - u\([0-9]*\) .*/\1/p' | sort -n | uniq | wc -l |
    tr -d ' ') $(ls "$po/transport" | wc -l | tr -d ' ')" '50 50'
is 'several workers leave no file in router/' "$(ls "$po/router")" ''
ok 'several workers took files' \
    [ "$(ls "$po/transport" | sed 's/.*-//' | sort -u | wc -l)" -gt 1 ]
file router 51 u51 202601010000
file router 52 u52 202601010000
title='several workers end well where a parent has ignored SIGCHLD'
if env --ignore-signal=CHLD true 2>/dev/null; then
	out=$(env --ignore-signal=CHLD "$top/submit" -P "$po" \
	    -C "$tmp/routes" -q 2>&1)
	is "$title" "$?$out" 0
else
	skip "$title" 'env cannot ignore a signal'
fi
title='a signal to one of several workers ends the others, too'
if strace -f -o /dev/null -e inject=rename:delay_exit=1000 true 2>/dev/null
then
	i=100
	while [ $i -lt 140 ]; do
		i=$((i + 1))
		file router $i "u$i" 202601010000
	done
	sed 's/^PARAMworkers.*/PARAMworkers 2/' "$tmp/routes" >"$tmp/two"
	rm -rf "$po"/queue/* "$po"/transport/*
	bg strace -f -o /dev/null -e trace=rename \
	    -e inject=rename:delay_exit=100000 sh -c 'echo $$ >"$1/pid"
	    exec "$2" -P "$3" -C "$1/two" -q1s' sh "$tmp" "$top/submit" "$po"
	run=$bg_pid
	wait_for 20 eval '[ -n "$(ls "$po/queue")" ]'
	kill -TERM "$(cat "$tmp/pid")"
	wait_for 20 gone $run
	# one of two that goes on leaves 20 at most
	ok "$title" [ "$(ls "$po/router" | wc -l)" -gt 24 ]
	rm -f "$po"/router/*
else
	skip "$title" 'no strace'
fi
file router 53 u53 202601010000
mkdir "$tmp/gone"
out=$(cd "$tmp/gone" && rmdir "$tmp/gone" && sub -q)
is 'a run in a directory that was removed takes mail' \
    "$out$(ls "$po/router")" ''

# While one of the two workers that are usual is at a list, the other takes all
# small files.
clear_all() {
	rm -rf "$po"/router/* "$po"/queue/* "$po"/transport/*
}
clear_all
{
	echo 'domain our.example'
	awk 'BEGIN { for (i = 0; i < 1500; i++) print "*" i "x@y*.z local -" }'
	echo '* local -'
} >"$tmp/slow"
awk 'BEGIN { print "from <s@a.example>"
	for (i = 0; i < 9000; i++) print "to <l" i ">"
	print "env-end\n\nlist" }' >"$po/router/1"
touch -t 202601010000 "$po/router/1"
for i in 2 3 4 5 6 7 8; do
	file router $i "u$i" 202601010001
done
"$top/submit" -P "$po" -C "$tmp/slow" -q
list=$(cd "$po/transport" && grep -l ' l7 ' *)
is 'while a worker is at a list, the other takes all small files' \
    "$(ls "$po/transport" | sed "s/.*-${list#*-}\$/list/;s/.*-.*/small/" |
    sort | uniq -c | tr -s ' \n' ' ')" ' 1 list 7 small '
clear_all

"$top/submit" -P "$tmp/none" -q 2>"$tmp/err"
like 'in a file, a run that cannot start prints the time as well' \
    "$(cat "$tmp/err")" '^20[0-9]{12} submit: '

# A day between looks at router/: only a notice can have it read.
if without NO_TCP; then
	skip 'who puts a file into router/ notifies submit -q' 'no sockets'
	skip 'any user may notify submit -q' 'no sockets'
else
	file router 1 u1 202601010000
	bg "$top/submit" -P "$po" -C "$tmp/routes" -q1d 2>"$tmp/err"
	wait_for 20 grep accepted "$tmp/err"
	rm -rf "$po"/queue/* "$po"/transport/*
	printf 'x\n' | "$top/submit" -P "$po" -C "$tmp/none" anna 2>/dev/null
	ok 'who puts a file into router/ notifies submit -q' wait_for 20 \
	    eval '[ -n "$(ls "$po/transport")" ]'
	like 'a repeated run prints times' "$(cat "$tmp/err")" \
	    '^20[0-9]{12} submit: accepted router=[0-9]+ id=S'
	is 'any user may notify submit -q' \
	    "$(ls -l "$po/.submit.notify" | cut -c1-10)" srw--w--w-
	kill -TERM $bg_pid
	wait $bg_pid
	clear_all
fi
mkfifo "$tmp/fifo"
bg cat "$tmp/fifo"
reader=$bg_pid
bg "$top/submit" -P "$po" -C "$tmp/routes" -q1s 9>"$tmp/fifo"
ok 'a run that stays closes descriptors of its parent' wait_for 20 gone $reader
kill -TERM $bg_pid
finish
