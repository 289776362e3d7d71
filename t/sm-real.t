#!/bin/sh
# The agent sm with programs that others wrote, and the table that comes with
# it: uux of Taylor UUCP, Exim called sendmail, and msmtp.
. "${0%/*}/lib.sh"

PATH=$PATH:/usr/sbin:/sbin
ln -s "${SM:-$top/ta/sm}" "$tmp/bin/ta/sm"
po=$tmp/po
tab=$(printf '\t')

# The line of a mailer, with another path and options put in.
line() {	# mailer sed-command
	sed -n "s,^\($1[ $tab].*\),\1,p" "$top/sm.cf" |
	    sed -e "s,/usr/s*bin/$1,$(command -v "$1")," -e "$2"
}
# Puts mail through the scheduler, until the command holds.
through() {	# mailer command ...
	conf "$tmp/cf" <<END_
PARAMdsn="-x '*'"
*/*	interval=1h expiry=1d
$1/*	command="HOME=$tmp sm -0 -c \$channel -f $tmp/sm.cf $1"
END_
	shift
	sched_start "$po" "$tmp/cf"
	wait_for 30 "$@"
	through_rc=$?
	sched_stop
	return $through_rc
}
new_spool() {
	rm -rf "$po"
	spool_new "$po"
}

# ---- uux ----------------------------------------------------------------

if ! command -v uux >/dev/null 2>&1 || ! command -v uustat >/dev/null 2>&1
then
	for i in 1 2 3 4 5 6; do
		skip 'uux' 'no uux and uustat: package uucp'
	done
else
	# It may run as another user than we do.
	uucp=$tmp/uucp
	mkdir "$uucp" "$uucp/spool" "$uucp/pub" "$uucp/log"
	chmod 755 "$uucp"
	chmod 777 "$uucp"/*
	cat >"$uucp/config" <<END_
nodename here
spool $uucp/spool
pubdir $uucp/pub
logfile $uucp/log/Log
statfile $uucp/log/Stats
debugfile $uucp/log/Debug
sysfile $uucp/sys
END_
	cat >"$uucp/sys" <<END_
system neighbour
time never
END_
	chmod 644 "$uucp/config" "$uucp/sys"
	line uucp "s,/usr/bin/uux,$(command -v uux),
s,uux -,uux -I $uucp/config -," >"$tmp/sm.cf"

	new_spool
	put "$po" 10-1 uucp neighbour anna@else.org uucp neighbour 'b!bert'
	ok 'uux takes mail' through uucp po_empty "$po"
	uustat -I "$uucp/config" -a >"$tmp/jobs" 2>&1
	is 'uux gets one job for two recipients' \
	    "$(wc -l <"$tmp/jobs" | tr -d ' ')" 1
	like 'uux gets both recipients in one command' "$(cat "$tmp/jobs")" \
	    'neighbour .* Executing rmail anna@else.org b!bert \('
	find "$uucp/spool" -type f -name 'D.*' -exec cat {} + >"$tmp/data"
	like 'uux gets the line that rmail wants first' \
	    "$(sed 1q "$tmp/data")" \
	    "^From sender .* remote from this\$"
	is 'uux gets the message behind the first line' \
	    "$(sed 1d "$tmp/data")" 'Subject: 10-1

body of 10-1'

	new_spool
	put "$po" 11-1 uucp nosuch anna
	through uucp test -f "$po/postman/11-1"
	like 'uux does not know a system: failed, in its words' \
	    "$(cat "$po/postman/11-1"* 2>/dev/null)" \
	    '5\.3\.0.*nosuch.*not found.*exit 69: unavailable'
fi

# ---- sendmail, as Exim is one -------------------------------------------

exim=$(command -v exim4 || command -v exim)
if [ -z "$exim" ] || [ "$(id -u)" -ne 0 ]; then
	for i in 1 2; do
		skip 'sendmail' 'no Exim (package exim4-daemon-light), or not root'
	done
else
	# Exim has a user of its own.
	mkdir "$tmp/exim"
	chmod 777 "$tmp/exim"
	cat >"$tmp/exim/conf" <<END_
spool_directory = $tmp/exim/spool
log_file_path = $tmp/exim/log_%s
keep_environment =
queue_only
END_
	sed -n "s,/usr/sbin/sendmail\(.*sendmail\),$exim\1 -C $tmp/exim/conf,p" \
	    "$top/sm.cf" >"$tmp/sm.cf"
	new_spool
	put "$po" 15-1 sendmail - anna@else.org sendmail - bert@else.org
	ok 'sendmail takes mail' through sendmail po_empty "$po"
	like 'sendmail gets one message for both recipients' \
	    "$("$exim" -C "$tmp/exim/conf" -bp |
	    sed -e 's/.*</</' -e 's/ //g' | tr '\n' ' ')" \
	    '^<sender@[^>]*> anna@else.org bert@else.org *$'
fi

# ---- msmtp --------------------------------------------------------------

# Takes mail on a free port and writes down what it gets; what it answers to
# RCPT is in a file.
cat >"$tmp/sink.py" <<'END_'
import os, socket, sys
tmp = sys.argv[1]
s = socket.socket()
s.bind(('127.0.0.1', 0))
s.listen(5)
with open(tmp + '/port.new', 'w') as f:
    f.write(str(s.getsockname()[1]))
os.rename(tmp + '/port.new', tmp + '/port')
received = open(tmp + '/received', 'a')
def serve(f):
    def say(line):
        f.write(line.encode() + b'\r\n')
        f.flush()
    say('220 sink')
    data = False
    while True:
        line = f.readline()
        if not line:
            return
        received.write(line.decode('latin1').rstrip('\r\n') + '\n')
        received.flush()
        word = line[:4].upper()
        if data:
            if line == b'.\r\n':
                data = False
                say('250 taken')
        elif word == b'QUIT':
            say('221 bye')
            return
        elif word == b'DATA':
            data = True
            say('354 go')
        elif word == b'RCPT':
            say(open(tmp + '/answer').read().strip())
        else:
            say('250 ok')
while True:
    c, peer = s.accept()
    try:
        serve(c.makefile('rwb'))
    except OSError:
        pass
    c.close()
END_

skips() {	# reason
	for i in 1 2 3 4 5 6; do
		skip 'msmtp' "$1"
	done
}
if ! command -v msmtp >/dev/null 2>&1; then
	skips 'no msmtp: package msmtp'
elif ! python3 -c 'import socket' 2>/dev/null; then
	skips 'no python3'
else
	echo '250 ok' >"$tmp/answer"
	bg python3 "$tmp/sink.py" "$tmp"
	wait_for 20 test -f "$tmp/port"
	cat >"$tmp/msmtprc" <<END_
account default
host 127.0.0.1
port $(cat "$tmp/port")
END_
	chmod 600 "$tmp/msmtprc"
	line msmtp "s,/etc/msmtprc,$tmp/msmtprc," >"$tmp/sm.cf"

	new_spool
	put "$po" 20-1 msmtp - anna@else.org msmtp - bert@else.org
	ok 'msmtp sends mail' through msmtp po_empty "$po"
	is 'msmtp sends a message to each recipient' \
	    "$(grep -e '^MAIL' -e '^RCPT' "$tmp/received")" \
	    'MAIL FROM:<sender>
RCPT TO:<anna@else.org>
MAIL FROM:<sender>
RCPT TO:<bert@else.org>'
	is 'msmtp sends the body' \
	    "$(grep -c '^body of 20-1$' "$tmp/received")" 2

	new_spool
	put "$po" 21-1 msmtp - anna@else.org
	sed 's/^s .*/s local - <> 0/' "$po/transport/21-1" | put_raw "$po" 21-1
	: >"$tmp/received"
	through msmtp po_empty "$po"
	like 'msmtp sends <> for an empty sender' \
	    "$(grep '^MAIL' "$tmp/received")" '^MAIL FROM:<>'

	new_spool
	put "$po" 22-1 msmtp - anna@else.org
	echo '450 come again' >"$tmp/answer"
	ok 'msmtp is refused with 450: deferred' through msmtp logged \
	    'deferred msg=22-1 .*450 come again.*exit 69'

	new_spool
	put "$po" 23-1 msmtp - anna@else.org
	echo '550 5.1.1 nobody' >"$tmp/answer"
	through msmtp test -f "$po/postman/23-1"
	like 'msmtp is refused with 550: failed, in its words' \
	    "$(cat "$po/postman/23-1"* 2>/dev/null)" \
	    '5\.6\.0.*550 5\.1\.1 nobody.*exit 65: wrong data'
fi
finish
