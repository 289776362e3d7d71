#!/bin/sh
# What a user or a program can do to a box while mailbox works on it: lock it,
# leave a stale lock, kill the delivery, or let the message change.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/box.sh"

here=$(uname -n)
me=$(id -u)

# Boxes are names, whoever we are.
deliver() {	# name [option ...]
	lib_job=$1
	shift
	printf '%s\t-\n' "$lib_job" | (cd "$po/transport" &&
	    exec "$A" -0 -n -d "$mail" "$@") 2>&1 | grep -v '^#hungry'
}
message() {	# name recipient ...
	lib_name=$1
	shift
	{
		printf 'i %s\no 0\ns smtp - s@a.org 0\n' "$lib_name"
		for r; do
			printf "r           local - %s $me\n" "$r"
		done
		printf 'm\nSubject: test\n\n'
	} | put_raw "$po" "$lib_name"
}
verdicts() {
	sed 's/.*	//' | tr '\n' ' '
}

# ---- locks that others have -------------------------------------------------

: >"$mail/fc"
bg "$top/t/held" -g "$mail/fc" >"$tmp/guard"
wait_for 20 grep guard "$tmp/guard"
message 10-1 fc
like 'a box with an fcntl lock is deferred as one in use' \
    "$(deliver 10-1 -w 0)" \
    "${sep}delayed${sep}4\\.2\\.0${sep}.*deferred $mail/fc is in use"

for box in l1 l2 l3; do
	echo $$ >"$mail/$box.lock"
done
message 11-1 l1 fc l2 l3 free
began=$(date +%s)
deliver 11-1 -w 5 >"$tmp/out"
took=$(($(date +%s) - began))
is 'four locked boxes are deferred as such, the fifth has its message' \
    "$(grep -c "${sep}4\\.2\\.0${sep}" "$tmp/out")$(grep -c 'ok3' "$tmp/out")" \
    41
diag "took $took seconds with -w 5"
ok 'four locked boxes have one time to wait in, not four' test $took -lt 15

# One agent, with a job after the other: sends each of them a line.
jobs() {	# option ...
	for n in 12 13 14 15 16 17; do
		printf '%s-1\t-\n' $n
	done | (cd "$po/transport" &&
	    exec "$A" -0 -n -d "$mail" "$@") 2>&1 | grep -v '^#'
}
for n in 12 13 14 15 16 17; do
	message $n-1 fc free$n
done
began=$(date +%s)
jobs -w 10 >"$tmp/out"
took=$(($(date +%s) - began))
is 'a box that stays locked is deferred in each job, others get their mail' \
    "$(grep -c 'is in use' "$tmp/out")$(grep -c 'ok3' "$tmp/out")" 66
diag "took $took seconds with -w 10"
ok 'six jobs for several boxes wait once for a box that stays locked' \
    test $took -lt 40
for n in 12 13 14 15 16 17; do
	message $n-1 '"|echo >>'"$tmp/hung; sleep 60"'"' free$n
done
jobs -t 1 >"$tmp/out"
is 'after a program that hung, jobs for several do not run his programs' \
    "$(wc -l <"$tmp/hung" | tr -d ' ') $(grep -c 'deferred ' "$tmp/out"
    ) $(grep -c 'not tried now' "$tmp/out") $(grep -c 'ok3' "$tmp/out")" \
    '1 6 5 6'
# A home directory that does not answer, before the program starts.
if [ "$me" -ne 0 ] || [ "$(strace -f -o /dev/null -e trace=chdir \
    -e inject=chdir:delay_enter=1000 sh -c 'cd / && echo x' 2>/dev/null)" != x ]
then
	skip 'a program that hung before its start is not run for several' \
	    'not root, or no strace that can delay'
else
	for n in 12 13 14; do
		message $n-1 '"|exit 0"' free$n
	done
	for n in 12 13 14; do
		printf '%s-1\t-\n' $n
	done >"$tmp/jobs"
	(cd "$po/transport" && ulimit -n 64 &&
	    exec strace -f -o /dev/null -e trace=chdir \
	    -e inject=chdir:delay_enter=3000000 "$A" -0 -n -d "$mail" -t 1) \
	    <"$tmp/jobs" >"$tmp/out" 2>&1
	is 'a program that hung before its start is not run for several' \
	    "$(grep -c "4\.2\.0.*longer than 1s" "$tmp/out") $(grep -c \
	    'not tried now' "$tmp/out") $(grep -c 'ok3' "$tmp/out")" '1 2 3'
fi
message 18-1 '"|echo >>'"$tmp/hung; sleep 60"'"'
like 'a job for one program runs it' "$(deliver 18-1 -t 1)" 'longer than 1s'
kill $bg_pid

# ---- stale locks ------------------------------------------------------------

(exit 0) &
dead=$!
wait
lock() {	# title text verdict [time]
	title=$1
	printf '%s\n' "$2" >"$mail/st.lock"
	[ $# -lt 4 ] || touch -t "$4" "$mail/st.lock"
	message 20-1 st
	like "$title" "$(deliver 20-1 -w 1)" "$3"
	rm -f "$mail/st.lock"
}
free='ok3 Ok'
taken='deferred .* is locked by another program'
lock 'a new lock of this machine with a dead process is removed' \
    "$dead:$here" "$free"
lock 'a new lock of this machine with a living process stays' \
    "$$:$here" "$taken"
lock 'a new lock of another machine stays' "$dead:not-$here" "$taken"
lock 'an old lock of another machine is removed, whatever its number means' \
    "$$:not-$here" "$free" 200001010000
lock 'a new lock with a number alone stays' "$dead" "$taken"
(umask 077 && : >"$mail/st.lock" && chmod 700 "$mail/st.lock")
message 20-1 st
like 'an empty lock that an agent of ours left is removed at once' \
    "$(deliver 20-1 -w 0)" "$free"
(umask 077 && : >"$mail/st.lock")
message 20-1 st
like 'a new empty lock of another program stays' "$(deliver 20-1 -w 0)" "$taken"
rm -f "$mail/st.lock"
lock 'an old lock with a number alone, of a living process, stays' \
    "$$" "$taken" 197001020000
lock 'a lock that should be held by fcntl, and is not, is removed' \
    "$$:$here fcntl" "$free"
printf '%s\n' "$$:$here fcntl" >"$mail/st.lock"
message 20-1 st
like 'a lock that is removed is tried again without a wait' \
    "$(deliver 20-1 -w 0)" "$free"
printf '%s\n' "$$:$here fcntl" >"$mail/st.lock"
bg "$top/t/held" -g "$mail/st.lock" >"$tmp/guard"
wait_for 20 grep guard "$tmp/guard"
message 20-1 st
like 'a lock that is held by fcntl stays' "$(deliver 20-1 -w 1)" "$taken"
kill $bg_pid
wait $bg_pid 2>/dev/null
rm "$mail/st.lock"

# Its maker is late, and another process has the lock meanwhile.
name='a lock that went to another process before it was signed is not ours'
message 20-1 st
if strace -f -o /dev/null -e trace=fcntl,fcntl64 \
    -e inject=fcntl,fcntl64:delay_enter=1 true 2>/dev/null; then
	(cd "$po/transport" && printf '20-1\t-\n' | exec strace -f -o /dev/null \
	    -P "$mail/st.lock" -e trace=fcntl,fcntl64 \
	    -e inject=fcntl,fcntl64:delay_enter=1000000 \
	    "$A" -0 -n -d "$mail" -w 0) >"$tmp/late" 2>&1 &
	late=$!
	wait_for 20 test -f "$mail/st.lock"
	printf '%s\n' "$$:$here" >"$mail/st.new"
	mv "$mail/st.new" "$mail/st.lock"
	wait $late
	like "$name" "$(cat "$tmp/late")" "$taken"
	is 'the lock of the other process stays' "$(cat "$mail/st.lock")" \
	    "$$:$here"
	rm -f "$mail/st.lock"
else
	skip "$name" 'no strace that can delay a system call'
	skip 'the lock of the other process stays' 'no strace'
fi

echo "$dead" >"$tmp/target"
touch -t 200001010000 "$tmp/target"
ln -s "$tmp/target" "$mail/st.lock"
message 20-1 st
like 'a lock that is a link stays' "$(deliver 20-1 -w 0)" "$taken"
is 'a lock that is a link: its target stays' "$(cat "$tmp/target")" "$dead"
rm "$mail/st.lock"

# A killed agent and its own lock.
message 21-1 own
printf '21-1\t-\n' >"$tmp/job"
if strace -f -o /dev/null -e trace=fsync -e inject=fsync:signal=KILL \
    sh -c 'exit 0' 2>/dev/null && ! without NO_FSYNC; then
	(cd "$po/transport" && strace -o /dev/null -e trace=fsync \
	    -e inject=fsync:signal=KILL "$A" -n -d "$mail" <"$tmp/job") \
	    >"$tmp/out" 2>&1
	like 'a killed agent leaves its lock' "$(cat "$mail/own.lock")" \
	    "^[0-9]+:$here fcntl\$"
	message 21-1 own
	like 'the lock of a killed agent holds nobody up' \
	    "$(deliver 21-1 -w 1)" "$free"
else
	skip 'a killed agent leaves its lock' 'no strace, or no fsync'
	skip 'the lock of a killed agent holds nobody up' \
	    'no strace, or no fsync'
fi

# The close of a box whose message is on disk.
name='a box that cannot be closed once it is synced is no reason for a second try'
message 22-1 shut
if strace -f -o /dev/null -e trace=close -e inject=close:error=EIO:when=1 \
    true 2>/dev/null && ! without NO_FSYNC; then
	like "$name" "$(cd "$po/transport" && printf '22-1\t-\n' |
	    strace -f -o /dev/null -P "$mail/shut" -e trace=close \
	    -e inject=close:error=EIO "$A" -n -d "$mail" 2>&1)" "$free"
else
	skip "$name" 'no strace, or no fsync'
fi

# ---- a limit ------------------------------------------------------------------

for size in '' x 1x 1kM -1 99999999999999M; do
	"$A" -m "$size" </dev/null >"$tmp/out" 2>&1
	is "the size of a limit is refused: \"$size\"" \
	    "$?$(sed -n 's/^\(usage:\).*/\1/p' \
	    "$tmp/out")" 64usage:
done
awk 'BEGIN { for (i = 0; i < 100; i++) print "From here on" }' >"$tmp/body"
big() {		# name recipient
	message "$@"
	cat "$tmp/body" >"$po/queue/$1"
}
big 30-1 lim
like 'a message that fits is delivered' "$(deliver 30-1 -m 3k)" "$free"
cp "$mail/lim" "$tmp/lim"
have=$(wc -c <"$mail/lim" | tr -d ' ')
big 31-1 lim
like 'a message beyond the limit is deferred with both numbers' \
    "$(deliver 31-1 -m 2k)" \
    "${sep}4\\.2\\.2${sep}.*deferred $mail/lim has $have bytes of at most 2048,"
# 1 300 bytes and 100 more for as many '>'
is 'a message that grows beyond the limit while it is written is deferred' \
    "$(deliver 31-1 -m $((have + 1350)) | grep -c "${sep}4\\.2\\.2${sep}")" 1
if without NO_FTRUNCATE; then
	skip 'a message beyond the limit leaves the box as it was' \
	    'no ftruncate'
else
	ok 'a message beyond the limit leaves the box as it was' \
	    cmp "$mail/lim" "$tmp/lim"
fi
like 'a larger limit has room' "$(deliver 31-1 -m 1M)" "$free"
big 32-1 dir/
like 'a Maildir within its limit is delivered to' \
    "$(deliver 32-1 -m 2k)" "$free"
big 33-1 dir/
like 'a Maildir at its limit is deferred' "$(deliver 33-1 -m 2k)" \
    "${sep}4\\.2\\.2${sep}.*dir/ has 1[0-9]* bytes of at most 2048,"
is 'a Maildir at its limit has nothing new' \
    "$(ls "$mail/dir/new" "$mail/dir/tmp" | grep -c Q)" 1

# ---- a message that changes ----------------------------------------------------

: >"$mail/ch"
message 40-1 "\"|echo more >>$po/queue/40-1\"" ch dir/
changed='deferred the message cannot be read, or is being changed '
is 'a message file that grows meanwhile is given to nobody' \
    "$(deliver 40-1 | verdicts)" "ok3 Ok $changed$changed"
is 'a message file that grew left nothing' \
    "$(tr -d '\n' <"$mail/ch")$(ls "$mail/dir/new" "$mail/dir/tmp" |
    grep -c Q)" 1
is 'a message file that grows no more is delivered' \
    "$(deliver 40-1 | verdicts)" 'ok3 Ok ok3 Ok '

message 41-1 "\"|echo more >>$po/queue/41-1\"" '"|cat"'
like 'a program is not blamed for a message file that grows' \
    "$(deliver 41-1 | verdicts)" \
    '^ok3 Ok deferred cannot read the message for cat: '

# ---- a delivery that ends in the middle -------------------------------------------

# For real users, in a child that has become them.
uid=$(id -u daemon 2>/dev/null)
if [ "$me" -ne 0 ] || [ -z "$uid" ] || without NO_PWD || without NO_FSYNC ||
    without NO_FTRUNCATE || ! strace -f -o /dev/null -e trace=fsync \
    -e inject=fsync:signal=KILL sh -c 'exit 0' 2>/dev/null; then
	skip 'a delivery that is killed or late leaves nothing' \
	    'not root, no user daemon, or no strace that can inject'
else
	call=fsync
	traced() {	# name inject [option ...]
		lib_job=$1
		lib_inject=$2
		shift 2
		printf '%s\t-\n' "$lib_job" | (cd "$po/transport" &&
		    exec strace -f -o /dev/null -e "trace=$call" \
		    -e "inject=$call:$lib_inject" "$A" -d "$mail" "$@") 2>&1 |
		    grep -v '^#hungry'
	}
	chmod 755 "$mail"
	mkdir "$tmp/home"
	chmod 777 "$tmp/home"
	message 50-1 daemon
	like 'a message for a user is delivered' "$(printf '50-1\t-\n' |
	    (cd "$po/transport" && exec "$A" -d "$mail"))" "$free"
	cp "$mail/daemon" "$tmp/daemon"
	big 51-1 daemon
	like 'a killed delivery is deferred' \
	    "$(traced 51-1 signal=KILL:when=1)" \
	    "${sep}4\\.2\\.0${sep}.*deferred the delivering process died"
	ok 'a killed delivery leaves no part in the box' \
	    cmp "$mail/daemon" "$tmp/daemon"
	me=$uid
	for d in dir dir/tmp dir/new dir/cur; do
		mkdir "$tmp/home/$d" && chown daemon "$tmp/home/$d"
	done
	# the message in tmp/, then the directory new/
	for n in 1 2; do
		big 52-1 "$tmp/home/dir/"
		like "a killed delivery into a Maildir is deferred: $n" \
		    "$(traced 52-1 signal=KILL:when=$n)" 'deferred'
		is "a killed delivery into a Maildir leaves no part: $n" \
		    "$(ls "$tmp/home/dir/new" "$tmp/home/dir/tmp" |
		    grep -c Q)" 0
	done
	big 53-1 "$tmp/home/box"
	like 'a killed delivery into a file is deferred' \
	    "$(traced 53-1 signal=KILL:when=1)" 'deferred'
	is 'a killed delivery into a file leaves no part, no lock' \
	    "$(ls "$tmp/home")$(wc -c <"$tmp/home/box" | tr -d ' ')" \
	    'box
dir0'
	mkdir "$tmp/fixed"
	: >"$tmp/fixed/box"
	chown daemon "$tmp/fixed/box"
	big 58-1 "$tmp/fixed/box"
	traced 58-1 signal=KILL:when=1 >"$tmp/out"
	like 'a killed delivery without a lock file that leaves a part says so' \
	    "$(wc -c <"$tmp/fixed/box" | tr -d ' ') $(grep part "$tmp/out")" \
	    '^[1-9][0-9]* .*fixed/box may have a part of a message'
	big 55-1 "$tmp/home/box"
	call='?unlink,?unlinkat'
	like 'a delivery that is killed when all is done counts' \
	    "$(traced 55-1 signal=KILL:when=1)" 'ok3 Ok'
	ok 'a delivery that is killed when all is done leaves its lock' \
	    test -s "$tmp/home/box.lock"
	big 56-1 "$tmp/home/box"
	call=fsync
	like 'the lock of a killed delivery does not stop the next' \
	    "$(printf '56-1\t-\n' |
	    (cd "$po/transport" && exec "$A" -w 1 -d "$mail"))" 'ok3 Ok'
	is 'the messages before and after a killed delivery are there' \
	    "$(grep -c '^From s@' "$tmp/home/box")" 2
	me=0
	is 'a killed delivery leaves no lock' "$(ls "$mail" | grep 'n\.lock')" ''

	big 54-1 daemon
	traced 54-1 delay_enter=6000000 -t 1 >"$tmp/out" &
	late=$!
	grown() {
		! cmp "$mail/daemon" "$tmp/daemon"
	}
	wait_for 20 grown
	kid=$(ps -A -o pid= -o ppid= -o user= -o args= |
	    awk -v a="$A" '$3 == "daemon" && $4 == a { print $1 }' | head -n 1)
	modes=$(ls -l "/proc/$kid/fd" 2>/dev/null |
	    sed -n 's/^\(....\).* [0-9]* -> .*transport.54-1$/\1/p')
	wait $late
	like 'a late delivery is deferred' "$(cat "$tmp/out")" \
	    "${sep}4\\.2\\.0${sep}.*deferred the delivery took too long"
	ok 'a late delivery leaves no part in the box' \
	    cmp "$mail/daemon" "$tmp/daemon"
	# Somebody who heeds no lock, or had the one that the death left free.
	big 57-1 daemon
	traced 57-1 delay_enter=6000000 -t 1 >"$tmp/out" &
	late=$!
	wait_for 20 grown
	printf '\nFrom other Sat Nov 21 00:00:00 2026\n\nVALUABLE\n\n' \
	    >>"$mail/daemon"
	wait $late
	is 'mail of another program behind a part of ours stays' \
	    "$(grep -c VALUABLE "$mail/daemon")" 1
	cat "$tmp/daemon" >"$mail/daemon"
	if [ -z "$modes" ]; then
		skip 'the process that delivers can only read the control file' \
		    'no /proc that shows it'
	else
		is 'the process that delivers can only read the control file' \
		    "$modes" lr-x
	fi
fi

finish
