#!/bin/sh
# The agent mailbox and recipients that are a file or a program: in whose name
# it is done, what they get, and what becomes of the message.
. "${0%/*}/lib.sh"

A=${MAILBOX:-$top/ta/mailbox}
po=$tmp/po
dir=$tmp/own
tab=$(printf '\t')
spool_new "$po"
mkdir "$dir" "$tmp/mail"

# Root delivers for somebody else, anybody else for himself.  Nobody gets a file
# or a program as the user nobody, or as one that is not known.
me=$(id -u)
uid=$me
if [ "$me" -eq 0 ]; then
	uid=$(id -u daemon 2>/dev/null)
fi
if [ -z "$uid" ]; then
	skip_all 'root, and no user daemon to deliver for'
elif [ "$uid" -ge 65534 ] || ! id -un "$uid" >/dev/null 2>&1; then
	skip_all 'we are no user who may have files and programs'
fi
[ "$me" -eq "$uid" ] || chown "$uid" "$dir"

number=100
# Gives the agent a job.
job() {	# message [option ...]
	(job=$1; shift
	cd "$po/transport" && printf '%s\n' "$job$tab-" |
	    "$A" -w 1 -n -d "$tmp/mail" "$@" 2>&1)
}
# Sets said: the report without its number, and left: the tag.
send() {	# user uid [option ...]
	number=$((number + 1))
	put_raw "$po" $number-1 <<END_
i $number-1
o 9
l <x@test>
s smtp - s@a.org 0
r           local - $1 $2
m
Subject: test

END_
	printf 'skipped: From the body\nFrom its second line\n' \
	    >"$po/queue/$number-1"
	shift 2
	said=$(job $number-1 "$@" | grep -v '^#hungry' |
	    sed 's/^[^	]*	//')
	left=$(sed -n 's/^r\(.\).*/\1/p' "$po/transport/$number-1" | tr ' ' _)
}
with_groups() {
	$many sh -c 'cd "$0" && exec "$@"' "$PWD" "$agent" "$@"
}
owner() {	# file
	ls -ln "$1" | awk '{ print $3 }'
}
message="From s@a.org DATE
Return-Path: <s@a.org>
Delivered-To: WHO
Subject: test

From the body
From its second line"
shown() {	# file: its stamps and its recipient are not known beforehand
	sed -e 's/^\(From s@a.org \)[A-Z].*/\1DATE/' \
	    -e 's/^\(Delivered-To: \).*/\1WHO/' "$1"
}

# ---- files ----------------------------------------------------------------

send "$dir/box" "$uid"
is 'mail for a file is delivered' "$said$left" "${tab}ok3 Ok+"
is 'a file gets the message in mbox form' "$(shown "$dir/box")" \
    "$(printf '%s\n' "$message" | sed '5,$s/^From />From /')"
is 'a file belongs to the user whose privilege it has' \
    "$(owner "$dir/box")" "$uid"
send "$dir/box" "$uid"
is 'a file: the next message goes behind the first' \
    "$said$(grep -c '^From s@a.org' "$dir/box")" "${tab}ok3 Ok2"
is 'a file: no lock stays behind' "$(ls "$dir")" box
send "\"$dir/box\"" "$uid"
is 'a file name in quotes is the same file' \
    "$(grep -c '^From s@a.org' "$dir/box")" 3
send "$dir/maildir/" "$uid"
is 'a path that ends in / is a Maildir' \
    "$left$(ls "$dir/maildir/new" | wc -l | tr -d ' ')" +1
send /dev/null "$uid"
is '/dev/null takes every message' "$said$left" "${tab}ok3 Ok+"
send /dev/zero "$uid"
like 'a file that is another device: deferred' \
    "$said$left" 'deferred .*no regular file_$'
send "$dir/none/box" "$uid"
like 'a file in a missing directory: deferred' "$said$left" \
    'delayed.*deferred .*none/box.*_$'
: >"$tmp/mail/other"
if [ "$me" -eq 0 ]; then
	chmod 666 "$tmp/mail/other"
	send "$tmp/mail/other" "$uid"
	like 'a file of another user: deferred' \
	    "$said" 'deferred .*somebody else'
else
	chmod 000 "$tmp/mail/other"
	send "$tmp/mail/other" "$uid"
	like 'a file that is not writable: deferred' "$said" 'deferred .*denied'
fi
is 'a file that is not ours is left alone' \
    "$(ls -l "$tmp/mail/other" | awk '{ print $5 }')" 0
: >"$tmp/secret"
ln -s "$tmp/secret" "$dir/link"
send "$dir/link" "$uid"
like 'a file that is a link: deferred' "$said" 'deferred'
is 'the target of a link stays empty' "$(cat "$tmp/secret")" ''

# ---- in whose name ----------------------------------------------------------

send "$dir/for-root" 0
like 'a file for root without -0: deferred' "$said$left" \
    '4\.7\.0.*deferred .* as root only with -0_$'
send '"|touch for-root"' 0
like 'a program for root without -0: deferred' "$said" \
    'deferred .* as root only with -0'
for priv in 0 "$uid" $((1 + ($uid == 1))); do
	send /dev/null $priv
	is "/dev/null needs nobody's name: privilege $priv" "$said$left" \
	    "${tab}ok3 Ok+"
done
is 'files and programs for root without -0 leave no file' \
    "$(ls "$dir" | grep root)" ''
if [ "$me" -eq 0 ]; then
	send "$tmp/mail/for-root" 0 -0
	is '-0: a file for root is delivered to' \
	    "$left$(owner "$tmp/mail/for-root")" +0
	send "\"|id -u >$dir/someone\"" "$uid"
	is 'root runs a program as its user' \
	    "$left$(cat "$dir/someone")" "+$uid"
	many=$(words_as 0 0,54322)
	if without NO_INITGROUPS; then
		skip 'root leaves its own groups for a program' 'built without'
	elif [ -z "$many" ]; then
		skip 'root leaves its own groups for a program' \
		    'no groups can be had'
	else
		agent=$A
		A=with_groups
		send "\"|id -G >$dir/someone\"" "$uid"
		A=$agent
		unlike 'root leaves its own groups for a program' \
		    "$left$(cat "$dir/someone")" '(^| |\+)(0|54322)( |$)|^[^+]'
	fi
else
	other=$((1 + ($uid == 1)))
	send "$dir/other" $other
	like 'another user than ours: a file is deferred' "$said$left" \
	    'deferred .*only root can .*user=root.*_$'
	send '"|id"' $other
	like 'another user than ours: a program is deferred' \
	    "$said" 'deferred .*only root'
	is 'another user than ours: no file is made' \
	    "$(ls "$dir" | grep other)" ''
	skip 'root runs a program as its user' 'not root'
	skip 'root leaves its own groups for a program' 'not root'
fi
nobody=$(id -u nobody 2>/dev/null)
chmod 777 "$dir"
for word in ${nobody:-65534} 65534 65535 -1 -2 '' 12x x - 4294967296 \
    -4294967296 4294967295 18446744073709551616 99999999999999999999 -65536; do
	send "$dir/nobody's" "$word" -0
	like "no file for the privilege '$word'" "$said$left" \
	    "^	error2 mail to files is not allowed here-\$"
	send "\"|: >$dir/nobody's\"" "$word" -0
	like "no program for the privilege '$word'" "$said$left" \
	    "^	error2 mail to programs is not allowed here-\$"
done
like 'a refused privilege has the status 5.7.1' \
    "$(cat "$po/transport/$number-1")" "$(printf '^d.*\0015[.]7[.]1\001')"
send /dev/null 65534
like 'a refused privilege does not get /dev/null either' \
    "$said" 'error2 mail to files'
if without NO_PWD; then
	skip 'a uid without a user gets no file' 'built without users'
	skip 'a uid without a user gets no program' 'built without users'
else
	send "$dir/nobody's" 54321
	like 'a uid that no user has gets no file' "$said$left" \
	    '^	error2 mail to files .*-$'
	send "\"|: >$dir/nobody's\"" 54321
	like 'a uid without a user gets no program' \
	    "$said$left" '^	error2 mail to programs .*-$'
fi
chmod 755 "$dir"
is 'refused privileges leave no file' "$(ls "$dir" | grep nobody)" ''

# ---- programs -----------------------------------------------------------------

send "\"|cat >$dir/cat\"" "$uid"
is 'mail for a program is delivered' "$said$left" "${tab}ok3 Ok+"
is 'a program gets the message' "$(shown "$dir/cat")" "$message"
send "\"|tr a-z A-Z | sed -n 's/^SUBJECT: /\\\"&\\\"/p' >$dir/cat\"" "$uid"
is 'a program is run by the shell, with quotes of its own' "$(cat "$dir/cat")" \
    '"SUBJECT: "TEST'
SECRET=1
export SECRET
send "\"|env >$dir/env\"" "$uid"
is 'a program sees nothing of our environment' \
    "$(sed 's/=.*//' "$dir/env" | grep -E -v '^(_|OLDPWD|SHLVL|PWD)$' |
	grep -v '^TZ$' | sort | tr '\n' ' ')" \
    'HOME LOGNAME MESSAGEID MSGSPOOLID PATH SENDER SHELL UID USER '
if ! without NO_PWD; then
	like 'a program sees its user in the environment' \
	    "$(cat "$dir/env")" "^USER=$(id -un "$uid")\$"
else
	like 'a program sees its user in the environment' \
	    "$(cat "$dir/env")" "^USER=$uid\$"
fi

# A word of the N line without a value is no variable, and is not read beyond
# its end.
number=$((number + 1))
put_raw "$po" $number-1 <<END_
i $number-1
o 9
l <x@test>
s smtp - s@a.org 0
r           local - "|env >$dir/env" $uid
N NOTIFY ORCPT=rfc822;e@x INRCPT=i infrom
m
Subject: test

END_
printf 'skipped: body\n' >"$po/queue/$number-1"
job $number-1 >/dev/null
is 'a program gets the words of the N line that have a value' \
    "$(grep -E '^(NOTIFY|ORCPT|INRCPT|INFROM)=' "$dir/env" | sort |
	tr '\n' ' ')" 'INRCPT=i ORCPT=rfc822;e@x '

ends() {	# exit-code what-it-says ERE tag
	send "\"|echo $2 >&2; exit $1\"" "$uid"
	like "exit $1" "$said" "$3"
	is "exit $1: the tag is $4" "$left" "$4"
}
ends 0 fine '^	ok3 fine$' +
ends 75 busy '4\.3\.0.*	deferred busy \[exit 75: temporary failure\]$' _
ends 67 who '^	error2 who \[exit 67: no such user\]$' -
ends 65 what '^	error2 what \[exit 65: wrong data\]$' -
ends 77 no '^	error2 no \[exit 77: no permission\]$' -
ends 1 oops '	deferred oops \[exit 1\]$' _
send '"|kill -9 $$"' "$uid"
like 'a program that is killed: deferred' "$said$left" \
    'deferred \[killed by signal 9\]_$'
send "\"|$dir/missing\"" "$uid"
like 'a program that is missing: deferred' \
    "$said$left" 'deferred .*missing.*exit 127'
send "\"|sleep 60\"" "$uid" -t 1
like 'a program that takes too long: deferred' "$said$left" \
    'deferred \[took longer than 1s\]_$'
like 'a program that takes too long is reported as 4.2.0' "$said" \
    "$(printf '\001')4\\.2\\.0$(printf '\001')"
send '"|kill -STOP $$"' "$uid"
like 'a program that is stopped: deferred' "$said$left" \
    "$(printf '\001')4\\.2\\.0$(printf '\001').*deferred \\[stopped\\]_\$"
send '"|exit 0"' "$uid"
is 'a program that does not read its input: delivered' \
    "$said$left" "${tab}ok3 Ok+"
send '"|(sleep 3; echo late) & exit 0"' "$uid"
is 'a background process of a program is not waited for' \
    "$said$left" "${tab}ok3 Ok+"
send '"|yes | head -n 100000; exit 69"' "$uid"
like 'a long output of a program is cut' "$said" \
    'error2 (y )+y?\.* \[exit 69: unavailable\]$'

# More than a pipe holds, not read by one and copied by another.
number=900
put_raw "$po" 901-1 <<END_
i 901-1
o 0
l <x@test>
s smtp - s@a.org 0
r           local - "|exit_0=;exit" $uid
r           local - "|cat >$dir/large" $uid
m
Subject: large

END_
awk 'BEGIN { for (i = 0; i < 40000; i++) print "line", i, "of it" }' \
    >"$po/queue/901-1"
(cd "$po/transport" && printf '901-1\n' | "$A" -d "$tmp/mail") >"$tmp/said" 2>&1
is 'a large message is delivered, read or not read by its program' \
    "$(grep -c 'ok3 Ok$' "$tmp/said")" 2
is 'a large message is complete' \
    "$(sed '1,/^$/d' "$dir/large" | cmp - "$po/queue/901-1" 2>&1)" ''

# A message whose end is missing must not look like one.
send '"|true"' "$uid"
put_raw "$po" 902-1 <<END_
i 902-1
o 999
l <x@test>
s smtp - s@a.org 0
r           local - "|cat >$dir/cut" $uid
m
Subject: cut

END_
(cd "$po/transport" && printf '902-1\n' | "$A" -d "$tmp/mail") >"$tmp/said" 2>&1
like 'a message file that is too short: deferred' "$(cat "$tmp/said")" \
    'deferred the message file is shorter'
is 'a message file that is too short: no program runs' \
    "$(ls "$dir" | grep cut)" ''

# ---- from submit to the program ---------------------------------------------

# The table lets anybody on this machine have programs, each as himself.
S=$top/submit
routes=$tmp/routes
printf '|tee*\tlocal\t-\n*\tlocal\t-\n' >"$routes"
rm -rf "$po"
spool_new "$po"
as_user() {	# command ...
	if [ "$me" -eq "$uid" ]; then
		"$@"
	else
		$(words_as "$uid" 65534) "$@"
	fi
}
[ "$me" -eq "$uid" ] || chmod 1777 "$po/public" "$po/router"
if ! as_user test -x "$S" 2>/dev/null; then
	skip 'a program that the routing table allows is delivered to' \
	    'no other user, or no way to submit'
	skip 'a program that the routing table allows gets the message' \
	    'no other user, or no way to submit'
	skip 'a program that the routing table allows runs as its sender' \
	    'no other user, or no way to submit'
else
	mkdir "$tmp/lib" && ln -s "$top/ta" "$tmp/lib/ta"
	printf '%s\n' '*/*	interval=1h' 'PARAMmailqsock none' \
	    "local/*	command=\"mailbox -n -d $tmp/mail\" user=$me" >"$tmp/cf"
	printf 'Subject: by submit\n\nhello\n' |
	    as_user "$S" -P "$po" -C "$routes" "\"|tee $dir/by-submit\""
	[ "$me" -eq "$uid" ] || "$S" -q -P "$po" -C "$routes"
	MAILBIN=$tmp/lib
	sched_start "$po" "$tmp/cf"
	ok 'a program that the routing table allows is delivered to' \
	    wait_for 30 po_empty "$po"
	is 'a program that the routing table allows gets the message' \
	    "$(tail -n 1 "$dir/by-submit")" hello
	is 'a program that the routing table allows runs as its sender' \
	    "$(owner "$dir/by-submit")" "$uid"
fi
finish
