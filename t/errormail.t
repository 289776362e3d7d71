#!/bin/sh
# The agent errormail: what its DSNs say, and which senders get none.
. "${0%/*}/lib.sh"

A=${ERRORMAIL:-$top/ta/errormail}
po=$tmp/po
forms=$tmp/forms
tab=$(printf '\t')
sep=$(printf '\001')
eight=$(printf '\303\244')
none=
spool_new "$po"
mkdir "$forms"

# A control file: its sender, and the lines behind that from standard input.
message() {	# sender <lines
	rm -f "$po/router/"*
	{
		printf 'i 10-1\no 9\nl <x@test>\nn env+2BID\ns smtp - %s 0\n' \
		    "$1"
		cat
	} | put_raw "$po" 10-1
	printf 'skipped: the body\nof it\n' >"$po/queue/10-1"
	TZ=UTC0 touch -t 203001020304.05 "$po/queue/10-1"
}
simple() {	# kind [sender [user]]
	message "${2:-s@a.org}" <<END_
r           error $1 ${3:-who@else.org} 0
m
Subject: test
 folded
To: who

END_
}
job() {		# [option ...]
	printf '10-1\n' | (cd "$po/transport" &&
	    exec "$A" -d "$forms" -n mx.here "$@") 2>&1 | grep -v '^#hungry'
}
verdicts() {	# the last field of each report line
	sed 's/.*	//'
}
tags() {
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/10-1" | tr ' \n' '_ ' |
	    tr -d ' '
}
dsns() {		# how many there are
	ls "$po/router" | wc -l | tr -d ' '
}
# The one there is; what changes from run to run has other words.
dsn() {
	sed -e 's/=_[0-9][0-9.]*/=_B/' -e 's/^ <[0-9.]*@/ <ID@/' \
	    -e 's/^Date: .*/Date: DATE/' -e 's/\(Spool-ID: \)S10[^ ]*/\1ID/' "$po/router/"*
}

like 'errormail -V prints its version' "$("$A" -V)" '^errormail [0-9]'
for args in a '-d forms' -x; do
	"$A" $args </dev/null >"$tmp/out" 2>&1
	is "wrong options are refused: $args" "$?$(tail -n 1 "$tmp/out" |
	    sed 's/ .*//')" 64usage:
done

# ---- a DSN --------------------------------------------------------------

simple nosuchuser
out=$(job)
new=$(ls "$po/router")
is 'a recipient is done with when its DSN is written' \
    "$(printf '%s\n' "$out" | cut -f 2-)" \
    "${tab}ok3 DSN to s@a.org in router/$new"
is 'a recipient gets its tag and no diagnostic' \
    "$(tags)$(grep -c '^d' "$po/transport/10-1")" +0
is 'the DSN is named by its inode' \
    "$(ls -i "$po/router/$new" | awk '{ print $1 }')" "$new"
is 'nothing is left in public/ beside the DSN' "$(ls "$po/public")" ''
is 'the whole DSN is as it should be' "$(dsn)" "channel error
errormsg
todsn ORCPT=rfc822;s@a.org
to <s@a.org>
env-end
From: Mail Delivery <postmaster@mx.here>
To: <s@a.org>
Subject: Returned mail: no such user
Date: DATE
Message-ID:
 <ID@mx.here>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary=\"=_B\"

--=_B
Content-Type: text/plain; charset=us-ascii

This is the mail system of mx.here.

This is about the message

  <x@test>
  which arrived here on Wed, 02 Jan 2030 03:04:05 +0000

It could not be delivered, and will not be tried again, for:

  who@else.org
      There is no such user here.

A part for programs follows, then the message.

--=_B
Content-Type: message/delivery-status

Original-Envelope-Id: env+ID
Reporting-MTA: dns; mx.here
Arrival-Date: Wed, 02 Jan 2030 03:04:05 +0000
X-Local-Spool-ID: ID

Final-Recipient: rfc822; who@else.org
Action: failed
Status: 5.1.1
Diagnostic-Code: x-local; no such user

--=_B
Content-Type: message/rfc822

Subject: test
 folded
To: who

the body
of it

--=_B--"

simple nosuchuser
touch -t 197001020304.05 "$po/queue/10-1"
job >/dev/null
is 'a time of arrival without a clock is left out' \
    "$(dsn | grep -c -e 'arrived here' -e '^Arrival-Date' -e 1970)" 0

kind() {	# kind status subject
	simple "$1"
	job >/dev/null
	is "kind $1" "$(dsn | sed -n -e 's/^Status: //p' \
	    -e 's/^Subject: R/R/p' | tr '\n' ' ')" "Returned mail: $3 $2 "
}
kind nosuchhost 5.1.2 'no such host'
kind NoSuchHost 5.1.2 'no such host'
kind syntax 5.1.3 'bad address'
kind norecipients 5.1.0 'no recipients'
kind refused 5.7.1 refused
kind loop 5.4.6 'mail loop'
kind toobig 5.3.4 'message too big'
kind toomany 5.5.3 'too many recipients'
kind moon 5.0.0 'not deliverable'
like 'the text names a kind that is not known' \
    "$(dsn)" '^ *The kind of error is: moon$'
like 'the diagnostic names a kind that is not known' \
    "$(dsn)" '^Diagnostic-Code: x-local; moon$'
simple syntax s@a.org nobody
job >/dev/null
like 'a user without a host has the type x-local' \
    "$(dsn)" '^Final-Recipient: x-local; nobody$'

message s@a.org <<END_
r           error nosuchuser one@else.org 0
N ORCPT=rfc822;f+2Bst@else.org NOTIFY=FAILURE
r           error nosuchuser two@else.org 0
r           error syntax three 0
N NOTIFY=SUCCESS
r           error nosuchuser four 0
N NOTIFY=NEVER
m
Subject: test

r           error nosuchuser five@else.org 0
m
Subject: other

END_
out=$(job)
is 'recipients that are alike share a DSN' "$(dsns)" 2
is 'each recipient that shares a DSN has a verdict' \
    "$(printf '%s\n' "$out" | verdicts |
    sed 's/[0-9]*$//')" 'ok3 DSN to s@a.org in router/
ok3 DSN to s@a.org in router/
ok3 NOTIFY wants no DSN
ok3 NOTIFY wants no DSN
ok3 DSN to s@a.org in router/'
is 'recipients that share a DSN are in it' \
    "$(grep -h '^Final-R' "$po/router/"* | sort)" \
    'Final-Recipient: rfc822; five@else.org
Final-Recipient: rfc822; one@else.org
Final-Recipient: rfc822; two@else.org'
is 'recipients that share a DSN have their ORCPT' \
    "$(grep -h '^Orig.*R' "$po/router/"*)" \
    'Original-Recipient: rfc822; f+st@else.org'

simple nosuchuser
sed 's/^n .*/R HDRS/' "$po/transport/10-1" >"$tmp/ctl"
cat "$tmp/ctl" >"$po/transport/10-1"
job >/dev/null
is 'R HDRS returns the header alone' "$(dsn |
    sed -n '/^Content-Type: text\/rfc822-headers/,$p')" \
'Content-Type: text/rfc822-headers

Subject: test
 folded
To: who

--=_B--'
like 'the DSN says that the header follows' \
    "$(dsn)" '^A part for programs follows, then the header of the message\.$'
simple nosuchuser
awk 'BEGIN { for (i = 0; i < 8000; i++) print "0123456" }' >>"$po/queue/10-1"
job >/dev/null
is 'a long message is returned' "$(dsn | grep -c '^0123456$')" 8000
simple nosuchuser
awk 'BEGIN { for (i = 0; i < 16000; i++) print "0123456" }' >>"$po/queue/10-1"
job >/dev/null
is 'the header alone is returned of a longer message' \
    "$(dsn | grep -c '^0123456$')$(dsn |
    grep -c '^Content-Type: text/rfc822-headers')" 01
message s@a.org <<END_
r           error nosuchuser who 0
m
$(awk 'BEGIN { for (i = 0; i < 30000; i++) print "X-Y: 0123456" }')

END_
job >/dev/null
ok 'a header without an end is cut' test "$(dsn | wc -c)" -lt 70000
is 'a DSN with a header that is cut is whole at its end' \
    "$(dsn | tail -n 1)" '--=_B--'

for what in 'a line too long for mail:%01200d\n' 'a NUL:a\0b\n' \
    'a lone CR:a\rb\n'; do
	simple nosuchuser
	printf "${what#*:}" 1 >>"$po/queue/10-1"
	job >/dev/null
	is "${what%%:*} in the body: the header alone is returned" \
	    "$(dsn | grep -c '^Content-Type: text/rfc822-headers')$(dsn |
	    grep -c '^of it')" 10
done
message s@a.org <<END_
r           error nosuchuser who 0
N ORCPT=;
m
$(awk 'BEGIN { printf "X:"; for (i = 0; i < 300; i++) printf " 01234567" }')

END_
job >/dev/null
is 'lines of a header that are too long for mail are folded' \
    "$(dsn | awk 'length > 998 { n++ } / 01234567$/ { k++ }
	END { print n + 0, k + 0 }')" '0 3'
unlike 'an ORCPT without type and address is left out' \
    "$(dsn)" 'Original-Recipient'

simple nosuchuser
printf 'skipped: 8 bits: %s\n' "$eight" >"$po/queue/10-1"
job >/dev/null
is 'bytes of 8 bits are declared in the DSN' "$(dsn |
    grep -c '^Content-Transfer-Encoding: 8bit')" 2

# ---- the router's reason ------------------------------------------------

message s@a.org <<'END'
r           error refused first@else.org 0
N ORCPT=rfc822;x WHY=there+20is+20no+20route+20for+20it
r           error refused other@else.org 0
m
Subject: test

END
job >/dev/null
is 'a DSN has the reason of the router behind the address' \
    "$(dsn | sed -n '/^  first/,/^  other/p' | sed '/^$/d')" \
    "  first@else.org
      there is no route for it
      Mail to this address is not accepted here, or not from you.
  other@else.org"
is 'a Diagnostic-Code has the reason of the router' \
    "$(dsn | grep '^Diag')" \
"Diagnostic-Code: x-local; refused: there is no route for it
Diagnostic-Code: x-local; refused"

# ---- senders who get no DSN ---------------------------------------------

no_dsn() {	# title sender
	simple nosuchuser "$2"
	out=$(job)
	is "$1: the recipient fails" \
	    "$(printf '%s\n' "$out" | verdicts)$(tags)" \
	    'error2 no such user; there is no sender who could get a DSN-'
	like "$1: the diagnostic has the reason" \
	    "$(grep '^d' "$po/transport/10-1")" \
	    "${sep}failed${sep}5.1.1${sep}"
	is "$1: there is no DSN" "$(dsns)" 0
}
no_dsn 'no sender' '<>'
no_dsn 'a program as the sender' '"|cat x"'
no_dsn 'a file as the sender' /etc/passwd
no_dsn 'a sender with brackets' 'a>b@c'
no_dsn 'a list as the sender' ':include:/etc/passwd'
no_dsn 'an option as the sender' -x@a.org
no_dsn 'a sender with bytes of 8 bits' "${eight}@a.org"
no_dsn 'a sender with an open quote' '"a\@b.org'
no_dsn 'a long sender' "$(awk 'BEGIN { for (i = 0; i < 50; i++)
    printf "0123456789" }')@a.org"
message s@a.org <<END_
s error - s@a.org 0
r           error nosuchuser who 0
m

END_
like 'a recipient of a DSN fails and makes no DSN' \
    "$(job | verdicts)$(dsns)" '^error2 .*0$'

# ---- hostile words ------------------------------------------------------

simple 'a:b<c>' s@a.org "\"x${eight}y: z\"@h"
job >/dev/null
is 'no byte of an address gets out of its line' "$(dsn |
    sed -n -e '/^Final/p' -e '/^Diag/p' -e '/^  .*@h/p')" \
    "  \"x${eight}y: z\"@h
"'Final-Recipient: utf-8; "x\x{E4}y:\x{20}z"@h
Diagnostic-Code: x-local; a:b<c>'
echo xyzzy >"$tmp/secret"
mkdir "$forms/dir"
cp "$tmp/secret" "$forms/.x"
for kind in ../secret .. . .x dir forms/x "$tmp/secret"; do
	simple "$kind"
	job -d "$forms" >/dev/null
	is "kind $kind opens nothing" "$(dsn | grep -c xyzzy)$(dsn |
	    grep -c -E '^ *(There is no route)')" 01
done
# An earlier DSN in the message must not end ours.
simple nosuchuser
job >/dev/null
cp "$po/router/"* "$tmp/old"
simple nosuchuser
(printf 'skipped: '; cat "$tmp/old") >"$po/queue/10-1"
job >/dev/null
b=$(sed -n 's/.*boundary="\(.*\)"/\1/p' "$po/router/"* | sed 1q)
is 'the boundary is not the one of a DSN within the message' \
    "$(grep -c -e "^--$b" "$po/router/"*)" 4

# ---- forms --------------------------------------------------------------

about='
This is about the message

  <x@test>
  which arrived here on Wed, 02 Jan 2030 03:04:05 +0000

It could not be delivered, and will not be tried again, for:

  who@else.org

A part for programs follows, then the message.
'
cat >"$forms/loop" <<END_
HDR From: Us <us@here>
HDR X-Mine: yes
HDR $none
HDR  not a field
ADR Bcc: <postmaster> (a copy)
ADR Bcc: nobody
SUB It went round
HDR-like text $eight

and more
END_
simple loop
job >/dev/null
is 'a form makes the header of the DSN' \
    "$(dsn | sed '/^--=_B$/q')" "channel error
errormsg
todsn ORCPT=rfc822;s@a.org
to <s@a.org>
todsn ORCPT=rfc822;postmaster
to <postmaster>
env-end
From: Us <us@here>
X-Mine: yes
Bcc: <postmaster> (a copy)
Bcc: nobody
To: <s@a.org>
Subject: It went round
Date: DATE
Message-ID:
 <ID@mx.here>
Auto-Submitted: auto-replied
MIME-Version: 1.0
Content-Type: multipart/report; report-type=delivery-status;
	boundary=\"=_B\"
Content-Transfer-Encoding: 8bit

--=_B"
is 'a form makes the text of the DSN' \
    "$(dsn | sed -n '/^HDR-like/,/^--/p')" \
    "HDR-like text $eight

and more
$about
--=_B"
printf 'only one line' >"$forms/moon"
simple moon
job >/dev/null
is 'a form without an end of line makes the text of the DSN' \
    "$(dsn | sed -n '/^only/,/^--/p')" \
    "only one line
$about
--=_B"
for subject in 'Subject: Moon is full' 'SUBJECT:Moon is full' \
    'Moon is full'; do
	printf 'HDR Sender:\tmailer\nSUB %s\n\nA text.\n' "$subject" \
	    >"$forms/moon"
	simple moon
	job >/dev/null
	is "a form of ZMailer: $subject" "$(dsn | grep 'Moon')" \
	    'Subject: Moon is full'
done
printf 'SUB nothing more' >"$forms/moon"
simple moon
job >/dev/null
is 'a form without text makes a DSN' \
    "$(dsn | sed -n '/^Content-Type: text/,/^--/p')" \
    "Content-Type: text/plain; charset=us-ascii

$about
--=_B"

# ---- what goes wrong ----------------------------------------------------

rmdir "$po/public"
simple nosuchuser
like 'without public/ the recipient is deferred' "$(job)" \
    "delayed${sep}4\\.3\\.0${sep}.*deferred the DSN to the sender cannot be written: No such"
is 'without public/ the recipient stays to be done' "$(tags)" _
mkdir "$po/public"
simple nosuchuser
awk 'BEGIN { for (i = 0; i < 7500; i++) print "0123456" }' >>"$po/queue/10-1"
out=$(ulimit -f 40 && job)
like 'a full disk defers the recipient' \
    "$out" 'deferred the DSN to the sender cannot be written'
is 'a full disk leaves no part of a DSN' \
    "$(find "$po/public" "$po/router" -type f)" ''
is 'a full disk leaves the recipient to be done' "$(tags)" _

# ---- read by somebody else ----------------------------------------------

if /usr/bin/python3 -c 'import email.policy' 2>/dev/null; then
	simple nosuchuser
	printf 'skipped: the body %s\n' "$eight" >"$po/queue/10-1"
	job >/dev/null
	sed '1,/^env-end/d' "$po/router/"* >"$tmp/mail"
	is 'a mail library reads the DSN' \
	    "$(/usr/bin/python3 - "$tmp/mail" <<'END_'
import email, email.policy, sys
m = email.message_from_binary_file(open(sys.argv[1], 'rb'),
    policy=email.policy.default)
p = list(m.iter_parts())
print(m.get_content_type(), m.get_param('report-type'),
    [q.get_content_type() for q in p], len(m.defects))
s = list(p[1].iter_parts())
print(s[0]['Reporting-MTA'], '|', s[1]['Final-Recipient'], s[1]['Status'],
    s[1]['Action'])
print(list(p[2].iter_parts())[0]['Subject'])
END_
)" "multipart/report delivery-status ['text/plain', 'message/delivery-status', 'message/rfc822'] 0
dns; mx.here | rfc822; who@else.org 5.1.1 failed
test folded"
else
	skip 'a mail library reads the DSN' 'no python3'
fi

# ---- under the scheduler ------------------------------------------------

ln -s "$A" "$tmp/bin/ta/errormail"
rm -rf "$po"
spool_new "$po"
conf "$tmp/cf" <<END_
*/*	interval=1s expiry=1d
error/*	command="errormail -d $forms"
END_
put "$po" 60-1 error norecipients who
put "$po" 61-1 error nosuchuser who
sed 's/^s local - sender/s local - <>/' "$po/transport/61-1" |
    put_raw "$po" 61-1
sched_start "$po" "$tmp/cf"
ok 'the scheduler is done with both messages' wait_for 20 po_empty "$po"
is 'errormail under the scheduler writes a DSN to one sender' \
    "$(cat "$po/router/"* | sed -n 4p)" 'to <sender>'
is 'the message without a sender is kept' \
    "$(ls "$po/postman" | grep -c '^61-1\.bounce-[0-9-]*$')" 1
is 'the message whose sender got a DSN is not kept' \
    "$(ls "$po/postman" | grep -c '^60')" 0
like 'the message without a sender is kept with its reason' \
    "$(cat "$po/postman/"61-1*)" \
    'no such user; there is no sender'
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
