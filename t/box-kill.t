#!/bin/sh
# The agent is killed at each of its writes, one after the other.  What a user
# sees afterwards: all that was in his box before, and the message, whole.
# A process that is killed can take nothing back, so a part of the message may
# stand in an mbox before it; but it is a message of its own, and no other one
# begins or ends in it.
. "${0%/*}/lib.sh"

A=${MAILBOX:-$top/ta/mailbox}
strace -o /dev/null -e trace=write -e inject=write:signal=KILL:when=1 \
    echo x >"$tmp/x" 2>&1
[ $? -gt 128 ] || skip_all 'no strace that can send a signal at a system call'
po=$tmp/po
mail=$tmp/mail
spool_new "$po"
mkdir "$mail"
last=24		# writes that one is killed at; there are fewer

message() {	# number lines recipient ...
	lib_name=$1-1
	awk -v n="$2" 'BEGIN {
		for (i = 1; i <= n; i++)
			printf "line %10d %41s\n", i, "of the text"
	}' >"$po/queue/$lib_name"
	shift 2
	{
		printf 'i %s\no 0\nl <x@test>\ns smtp - s@a.org 0\n' \
		    "$lib_name"
		for r; do
			printf 'r           local - %s 0\n' "$r"
		done
		printf 'm\nSubject: test\n\n'
	} >"$po/transport/$lib_name"
}
deliver() {	# number [command ...]
	lib_name=$1-1
	shift
	(cd "$po/transport" && printf '%s\t-\n' "$lib_name" |
	    "$@" "$A" -n -d "$mail")
}
plain() {	# file: without what differs from box to box
	sed -e 's/^\(From s@a.org \).*/\1DATE/' \
	    -e 's/^\(Delivered-To: \).*/\1X/' "$1"
}
# A word for each message in an mbox: "first", "second", "torn" for one that
# is the beginning of the second, else "mixed".
words() {	# file
	{
		plain "$tmp/first"
		echo %
		plain "$tmp/second"
		echo %
		plain "$1"
	} | awk '
		function end() {
			sub(/\n+$/, "", text)
			if (text == known[1]) w = "first"
			else if (text == known[2]) w = "second"
			else w = index(known[2], text) == 1 ? "torn" : "mixed"
			if (part < 3) known[part] = text
			else if (text != "") printf "%s ", w
			text = ""
		}
		BEGIN { part = 1 }
		$0 == "%" { end(); part++; next }
		/^From / && text != "" { end() }
		{ text = text $0 "\n" }
		END { end() }'
}

# What two messages look like.
message 10 5 first
message 11 400 second dir/
deliver 10 >/dev/null
deliver 11 >/dev/null
for f in "$mail/first" "$mail/second"; do
	mv "$f" "$tmp"
done
cat "$mail"/dir/new/* >"$tmp/one"
rm -r "$mail/dir" "$po"
spool_new "$po"
cat "$tmp/first" "$tmp/second" "$tmp/first" >"$tmp/x"
is 'the test tells two messages apart' "$(words "$tmp/x")" 'first second first '
sed 7d "$tmp/x" >"$tmp/y"
is 'the test tells a damaged message from a whole one' \
    "$(words "$tmp/y")" 'mixed second first '

n=1 killed=0
while [ $n -le $last ]; do
	message "10$n" 5 "b$n"
	deliver "10$n" >/dev/null
	message "20$n" 400 "b$n" "d$n/"
	cp "$mail/b$n" "$tmp/b$n"
	deliver "20$n" strace -o /dev/null -e trace=write \
	    -e "inject=write:signal=KILL:when=$n" >/dev/null 2>&1
	[ $? -le 128 ] || killed=$((killed + 1))
	if ! dd if="$mail/b$n" bs=$(($(wc -c <"$tmp/b$n"))) count=1 \
	    2>/dev/null | cmp - "$tmp/b$n"; then
		diag "write $n: the box lost something"
		break
	fi
	n=$((n + 1))
done
is 'no kill touches what was in a box' $n $((last + 1))
diag "killed at $killed writes, locks left: $(ls "$mail" | grep -c 'lock$')"
ok 'some of the agents were killed' test $killed -ge 8
ok 'some agents were killed when they had locked the box' \
    test -n "$(ls "$mail"/*.lock)"

# The locks that they left hold nobody up, not even an empty one.
conf "$tmp/cf" <<END
*/*	interval=1s retries=1 expiry=1d
local/*	maxring=1 command="$A -n -d $mail"
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'all is delivered after the kills' wait_for 60 po_empty "$po"
sched_stop
n=1 wrong= torn=0
while [ $n -le $last ]; do
	w=$(words "$mail/b$n")
	case $w in
	'first second ' | 'first second second ') ;;
	'first torn second ') torn=$((torn + 1)) ;;
	*) wrong="$wrong b$n: $w" ;;
	esac
	n=$((n + 1))
done
is 'every box has its first message and, whole, the second' "$wrong" ''
diag "behind a part of itself: $torn"
wrong=
for f in "$mail"/d*/new/*; do
	[ "$(plain "$f")" = "$(plain "$tmp/one")" ] || wrong="$wrong $f"
done
is 'every message in a Maildir is whole' "$wrong" ''
n=1 wrong=
while [ $n -le $last ]; do
	case $(ls "$mail/d$n/new" | grep -c P) in
	1 | 2) ;;
	*) wrong="$wrong d$n" ;;
	esac
	n=$((n + 1))
done
is 'each Maildir has one message, at worst two' "$wrong" ''
is 'no lock is left' "$(ls "$mail" | grep 'lock$')" ''

# ---- the process for a user ---------------------------------------------------

# The agent is killed while that process is held up before it begins.
user=$(awk -F: '$3 > 0 && $1 != "nobody" { print $1; exit }' /etc/passwd)
alone() {	# [option ...]
	rm -rf "$po" "$mail" "$tmp/trace"
	spool_new "$po"
	mkdir "$mail"
	chmod 1777 "$mail"
	message 301 5 "$user"
	printf '301-1\t-\n' >"$tmp/job"
	(cd "$po/transport" && exec strace -f -o "$tmp/trace" \
	    -e inject=setuid:delay_enter=2000000 "$A" "$@" <"$tmp/job") \
	    >"$tmp/out" 2>&1 &
	lib_pids="$lib_pids $!"
	wait_for 30 grep '[ ]setgid(' "$tmp/trace" >/dev/null
	kill -9 "$(awk '{ print $1; exit }' "$tmp/trace")"
	wait $! 2>/dev/null
	grep 'killed by SIGKILL' "$tmp/trace" >/dev/null || echo 'not killed'
	cat "$mail/$user" "$mail/$user"/new/* 2>/dev/null
}
for kind in 'an mbox' 'a Maildir'; do
	title="without its agent no process for a user delivers to $kind"
	if [ "$(id -u)" -ne 0 ] || without NO_PWD; then
		skip "$title" 'not root, or no users'
	elif [ "$kind" = 'an mbox' ]; then
		is "$title" "$(alone -d "$mail")" ''
	else
		is "$title" "$(alone -f "$mail/%u/")" ''
	fi
done
finish
