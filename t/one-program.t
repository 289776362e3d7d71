#!/bin/sh
# make install-box: all programs in one, and mail that goes through it.
# Takes long.
. "${0%/*}/lib.sh"

mkdir "$tmp/src"
(cd "$top" && tar cf - Makefile *.[ch] scheduler.cf sm.cf routes forms lib mq \
    sub ta man contrib/summary t/fuzz/fuzz.h) | (cd "$tmp/src" && tar xf - &&
    find . -name '*.[ao]' -exec rm -f {} +)
cd "$tmp/src" || exit 1
unset MAILNAME POSTOFFICE MAILSHARE MAILBIN
# Not every system has a static C library.
static=-static
echo 'int main(void) { return 0; }' >"$tmp/x.c"
${CC:-cc} -static -o "$tmp/x" "$tmp/x.c" >/dev/null 2>&1 || static=
i=$tmp/i po=$tmp/po
m() {
	make CC="${CC:-cc}" CFLAGS= STATIC=$static PREFIX="$i" POSTOFFICE="$po" \
	    LOGDIR="$tmp/log" MAKEFLAGS= "$@"
}
ok 'make install-box ends with 0' m install-box
[ $lib_failed -eq 0 ] || finish
share=$i/share/mail bin=$i/lib/mail
links="$i/sbin/scheduler $i/bin/submit $i/bin/mailq $bin/scheduler-check
    $bin/scheduler-syslog $bin/ta/mailbox $bin/ta/hold $bin/ta/sm
    $bin/ta/errormail $bin/ta/smtp $bin/ta/dsn"
for f in $links; do
	[ -h "$f" ] && cmp "$f" "$bin/box" >/dev/null || echo "$f"
done >"$tmp/wrong"
is 'each program is a link to the box' "$(cat "$tmp/wrong")" ''
is 'the box prints the names of all programs' "$("$bin/box" | sort)" \
    "$( (for f in $links; do echo "${f##*/}"; done
    printf '%s\n' newaliases rsmtp sendmail) | sort)"
"$bin/box" frobnicate >/dev/null
is 'another name is an error' $? 64
like 'a name may be the first argument' "$("$bin/box" mailq -V)" '^mailq [0-9]'
ln -s "$bin/box" "$tmp/newaliases"
like 'the box is what its link is called' "$("$tmp/newaliases" -v 2>&1)" \
    '^aliases are lines of '
for f in $i/sbin/scheduler $i/bin/mailq $bin/ta/*; do
	"$f" -V | grep "^${f##*/} [0-9]" >/dev/null || echo "$f"
done >"$tmp/wrong"
is 'each says that it is this program' "$(cat "$tmp/wrong")" ''

# With a set-id bit any name would have its rights.
if [ "$(id -u)" -eq 0 ]; then
	mkdir "$tmp/set" && cp "$bin/box" "$tmp/set/submit" &&
	    chgrp 64322 "$tmp/set/submit" && chmod 2755 "$tmp/set/submit"
	ln -s submit "$tmp/set/mailbox"
	like 'a copy with a set-group-id bit is submit' \
	    "$("$tmp/set/submit" -bi -v 2>&1)" '^aliases are lines of '
	nok '... and no other program by its name' "$tmp/set/mailbox" -V
	"$tmp/set/mailbox" sm -V >"$tmp/said"
	is '... nor by both' "$? $(grep -c '^sm [0-9]' "$tmp/said")" '64 0'
else
	skip 'a copy with a set-group-id bit is submit' 'not root'
fi

# ---- mail ----
mkdir "$tmp/boxes"
echo box.example >"$share/mailname"
conf "$share/scheduler.cf" <<END
PARAMmailqsock none
*/*	interval=1m
local/*	command="mailbox -n -d $tmp/boxes"
error/*	command="errormail"
END
printf 'anna local -\nroot local -\n* ! nobody here\n' >"$share/routes"
spool_new "$po"
ok 'scheduler -n finds the configuration good' "$i/sbin/scheduler" -n
ln -s log/scheduler "$tmp/sched.log"
bg "$i/sbin/scheduler" -i -L "$tmp/log/scheduler"
ok 'the scheduler starts' wait_log ' ready'
printf 'Subject: one\n\nhello\n' | "$i/bin/submit" anna
ok 'a message is delivered' wait_for 30 grep -s '^hello' "$tmp/boxes/anna"
bg "$i/bin/submit" -q1
printf 'From: anna\n\nlost\n' | "$i/bin/submit" -fanna nemo >/dev/null 2>&1
printf 'i 999999-1\no 0\ne anna\ns local - anna 0\nr           local - ../no 0\nm\nSubject: lost\n\n' |
    put_raw "$po" 999999-1
ok 'a failed message becomes a DSN that is delivered' wait_for 60 \
    grep -s '^Content-Type: message/delivery-status' "$tmp/boxes/anna"
wait_for 30 po_empty "$po"
like 'mailq says that the queue is empty' "$("$i/bin/mailq")" \
    '^the queue is empty'
like 'mailq show finds the log' "$("$i/bin/mailq" show 999999-1)" \
    'failed msg=999999-1'
ok 'make uninstall ends with 0' m uninstall
is 'make uninstall leaves the configuration alone' \
    "$(cd "$i" && find . ! -type d | sort | grep -v '^./share/mail/')" ''
finish
