#!/bin/sh
# DSNs: what they say, to whom, and of what there is none.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

po=$tmp/po
spool_new "$po"
A=$top/t/agent
mkdir "$tmp/forms"
cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMmailname mx.here.example
PARAMbouncesize 3000
PARAMrouternotify $tmp/router.sock
*/*	interval=1s retries=1 expiry=1d
PARAMdsn="-x 'kept/*'"
kept/*	command="$A -c kept error mailbox is full"
late/*	command="$A -c late -n 4.2.1 deferred all circuits are busy"
fail/*	command="$A -c fail error no such user"
good/*	command="$A -c good ok"
mute/*	command="$A -c mute error2 said so myself"
*/*	command="$A -c \$channel ok3"
END
eight=$(printf 'gr\303\274n')
bad=$(printf 'gr\374n')

# ---- one message of all sorts ---------------------------------------------------

simple "$po" 101-1 anna@a.example <<END
r-          smtp h f0@x.example 0
r-          smtp h f1@x.example 0
N NOTIFY=FAILURE ORCPT=rfc822;F1+2Bbox@old.example
r-          smtp h f2@x.example 0
N NOTIFY=NEVER
r-          smtp h f3@x.example 0
N NOTIFY=SUCCESS,DELAY
r-          smtp h f4@x.example 0
N ORCPT=rfc822;f4@old.example notify=success,failure
r+          smtp h s0@x.example 0
r+          smtp h s1@x.example 0
N NOTIFY=SUCCESS
r+          smtp h s2 0
N NOTIFY=FAILURE,DELAY
r+          smtp h s3 0
N NOTIFY=DELAY,SUCCESS
r+          smtp h s4 0
N NOTIFY=SUCCESS
r+          smtp h s5 0
N NOTIFY=NEVER
r-          smtp h earlier@x.example 0
r-          smtp h twice@x.example 0
d f0@x.example|failed|5.1.1 (no such user)|smtp; 550 5.1.1 who?|dns; mx.x.example|smtp; 550 who?~really
d f1@x.example|failed|5.7.1|smtp; 550 go away||go away
d f2@x.example|failed|5.7.2|||never
d f3@x.example|failed|5.7.3|||not this
d f4@x.example|delayed|4.2.0|x-local; 450||was delayed, then failed
d s0@x.example|delivered|2.0.0|||not wanted
d s1@x.example|relayed|2.1.9|smtp; 250 Ok|dns; [10.0.0.1] (old)|relayed
d s2|delivered|2.0.0|||not wanted
d s3|delivered|2.1.5|||in the box
d s4|expanded|2.2.2|||to many
d s5|delivered|2.0.0|||never
d+earlier@x.example|failed|5.1.1|||was sent before
d twice@x.example|failed|5.1.1|||the first time
d twice@x.example|failed|5.1.2|||the second time
END

# ---- ENVID, RET, what is returned ----------------------------------------------

rcpt='r-          smtp h u@x.example 0'
said='d u@x.example|failed|5.1.1|||no such user'
head='n Env+2BId+20x
R FULL
'
printf '%s\n' "$rcpt" "$said" | simple "$po" 111-1 anna@a.example
head='R HDRS
'
printf '%s\n' "$rcpt" "$said" | simple "$po" 112-1 anna@a.example
head=
# As ZMailer's router writes them; the first counts.
simple "$po" 127-1 anna@a.example <<END
$rcpt
N NOTIFY=FAILURE
R hdrs
n Env+2B2
r-          smtp h v@x.example 0
R FULL
n Env+2B3
$said
END
simple "$po" 147-1 anna@a.example <<END
$rcpt
r-          smtp h v@x.example 0
n Env+2B4
R HDRS
m
Subject: 147-1
n: Env5

$said
END
awk 'BEGIN { for (i = 0; i < 120; i++) print "this is line " i " of the text" }' \
    >"$tmp/long"
body=$tmp/long
printf '%s\n' "$rcpt" "$said" | simple "$po" 113-1 anna@a.example
awk 'BEGIN { for (i = 0; i < 1100; i++) printf "x"; print "" }' >"$tmp/wide"
body=$tmp/wide
printf '%s\n' "$rcpt" "$said" | simple "$po" 114-1 anna@a.example
printf 'a\000b\n' >"$tmp/nul"
body=$tmp/nul
printf '%s\n' "$rcpt" "$said" | simple "$po" 115-1 anna@a.example
printf '%s\n=_116.0\n--=_116.0--\n.\nFrom me\n' "$eight" >"$tmp/odd"
body=$tmp/odd
printf '%s\n' "$rcpt" "$said" | simple "$po" 116-1 anna@a.example
body=
printf '%s\nN NOTIFY=SUCCESS\n%s\n' 'r+          smtp h u 0' \
    'd u|delivered|2.1.5|||there' | simple "$po" 117-1 anna@a.example
{
	printf 'i 118-1\no 0\ns smtp - anna@a.example 0\n%s\nm\n' "$rcpt"
	awk 'BEGIN { for (i = 0; i < 3000; i++)
		print "X-" i ": this is a line of a header" }'
	printf '\n%s\n' "$said"
} | mail "$po" 118-1
printf '%s\n' "$rcpt" "$said" | simple "$po" 119-1 anna@a.example
rm "$po/queue/119-1"
wide() {	# name <header: with a body
	{
		printf 'i %s\no 0\ns smtp - anna@a.example 0\n%s\nm\n' "$1" \
		    "$rcpt"
		cat
		printf '\n%s\n' "$said"
	} | mail "$po" "$1"
}
many() {	# text count
	awk -v s="$1" -v n="$2" 'BEGIN { while (n-- > 0) printf "%s", s }'
}
{
	echo 'Subject: first'
	printf 'X-998: %s\nX-Words: %s\nX-Bytes: %s\nX-Eight: x%s\n' \
	    "$(many x 991)" "$(many 'word ' 500)end" "$(many y 2500)" \
	    "$(many "$(printf '\303\274')" 700)"
	echo 'X-Last: last'
} >"$tmp/122"
wide 122-1 <"$tmp/122"
{
	echo 'Subject: first'
	printf 'X-Nul: a\004b\n'	# a NUL, which not each awk takes
} | wide 123-1
printf 'X-Much: %s\n' "$(many 'z ' 40000)" | wide 124-1
printf 'a\r\nb\rc\n' >"$tmp/cr"
body=$tmp/cr
printf '%s\n' "$rcpt" "$said" | simple "$po" 125-1 anna@a.example
{
	many x 998
	printf '\n%s\n' "$(many "$eight " 160)"
} >"$tmp/full"
body=$tmp/full
printf '%s\n' "$rcpt" "$said" | simple "$po" 126-1 anna@a.example
body=

# ---- text of others -------------------------------------------------------------------

head='n E+0D+0ABcc:+20<x@y>
'
simple "$po" 121-1 anna@a.example <<END
r-          smtp h crlf@x.example 0
N ORCPT=rfc822;a+0D+0A+0D+0A--x+0ASubject:+20x
r-          smtp h eight@x.example 0
r-          smtp h bad@x.example 0
r-          smtp h $eight@x.example 0
r-          smtp h bad$bad@x.example 0
r-          smtp h long@x.example 0
r-          smtp h none@x.example 0
d crlf@x.example|failed|5.0.0 (x)~Subject: x|smtp; 550~Bcc: <x>~~--=_121.0|dns; a~To: x|one~Bcc: <x@y>~~--=_121.0--~.~last
d eight@x.example|failed|5.1.1|smtp; 550 $eight||$eight
d bad@x.example|failed|five|just words|no type|$bad
d $eight@x.example|failed|5.1.1|||x
d bad$bad@x.example|failed|5.1.1|||x
d long@x.example|failed|2.1.1|smtp; $(awk 'BEGIN {
	for (i = 0; i < 1200; i++) printf "x"
	for (i = 0; i < 200; i++) printf " word" i }')||$(awk 'BEGIN {
	for (i = 0; i < 1500; i++) printf "y" }')
d none@x.example||||||
END
head=

# ---- senders ---------------------------------------------------------------------------

n=130
for sender in '|/bin/prog' '/etc/passwd' '"|prog"@a' '-x' "$eight@a.example" \
    'a<b>@a' ':include:/x' '" |prog"@a' '"a <b"@a'; do
	n=$((n + 1))
	printf '%s\n' "$rcpt" "$said" | simple "$po" $n-1 "$sender"
done
printf '%s\n' 'r-          smtp h "c d"@x.example 0' |
    simple "$po" 141-1 '"a \" b"@a.example'
printf '%s\n' 'r-          smtp h "c@d" 0' | simple "$po" 142-1 '"a@b"'
# two senders, and two headers of one
mail "$po" 140-1 <<END
i 140-1
o 0
s smtp - one@a.example 0
r-          smtp h a@x.example 0
m
Subject: first

r-          smtp h b@x.example 0
e two@a.example
r-          smtp h c@x.example 0
m
Subject: second

d a@x.example|failed|5.1.1|||a
d b@x.example|failed|5.1.1|||b
d c@x.example|failed|5.1.1|||c
END

# ---- senders who get no DSN --------------------------------------------------

for n in 151 152 153; do
	case $n in
	151) from='s error - <> 0' ;;
	152) from='s smtp - <> 0' ;;
	153) from='s error - someone@a.example 0
e someone@a.example' ;;
	esac
	mail "$po" $n-1 <<END
i $n-1
o 0
$from
$rcpt
r+          smtp h ok@x.example 0
N NOTIFY=SUCCESS
m
Subject: x

$said
d ok@x.example|delivered|2.0.0|||fine
END
done
simple "$po" 154-1 anna@a.example <<END
r-          smtp h never@x.example 0
N NOTIFY=NEVER
d never@x.example|failed|5.1.1|||x
END
simple "$po" 155-1 anna@a.example <<END
r-          kept h a@x.example 0
r-          smtp h b@x.example 0
d a@x.example|failed|5.1.1|||kept
d b@x.example|failed|5.1.1|||sent
END

# ---- what a crash leaves ---------------------------------------------------------------------

simple "$po" 161-1 anna@a.example <<END
r-          smtp h lost@x.example 0
r-          smtp h there@x.example 0
d there@x.example|failed|5.1.1|||there
END
mail "$po" 162-1 <<END
i 162-1
o 0
s smtp - anna@a.example 0
r-          smtp h torn@x.example 0
m
Subject: x

d 42:10
END
simple "$po" 163-1 anna@a.example <<END
r           fine h again@x.example 0
d again@x.example|failed|5.1.1|||the tag was lost
END

# stamps that are no time
for n in 164 165 166; do
	case $n in
	164) stamp=9000000000000000000 ;;
	165) stamp=999999999999 ;;
	166) stamp=99999999999999999999999 ;;
	esac
	printf '%s\n' "$rcpt" "$said" | simple "$po" $n-1 anna@a.example
	sed "s/::1795220140/::$stamp/" "$po/transport/$n-1" >"$tmp/stamp"
	cat "$tmp/stamp" >"$po/transport/$n-1"
done

# ---- by agents ------------------------------------------------------------------------------------

simple "$po" 171-1 anna@a.example <<END
r           fail h a@x.example 0
r           fail h never@x.example 0
N NOTIFY=NEVER
r           fine h b@x.example 0
END
simple "$po" 172-1 anna@a.example <<END
r           mute h a@x.example 0
END
simple "$po" 173-1 anna@a.example <<END
r           kept h a@x.example 0
END
simple "$po" 176-1 anna@a.example <<END
r-         1kept h a@x.example 0
d+a@x.example|delayed||||late
END
simple "$po" 177-1 anna@a.example <<END
r-          kept h a@x.example 0
r-          kept h b@x.example 0
d a@x.example|failed|5.1.1|||of the agent
d-a@x.example|failed|5.0.0|||of the scheduler
END
simple "$po" 175-1 anna@a.example <<END
r           good h a@x.example 0
N orcpt=rfc822;NOTIFY=x notify=delay,success
END
old='30 hours ago'
simple "$po" 174-1 anna@a.example <<END
r           late h a@x.example 0
END
old=

if ! without NO_TCP; then
	bg "$top/t/notify" -l "$tmp/router.sock" 100 >"$tmp/notices"
	wait_for 20 test -S "$tmp/router.sock"
fi
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_for 60 po_empty "$po"
ok 'all messages come to their end' po_empty "$po"
is 'nothing is left in public/' "$(ls "$po/public" | grep -v mailq)" ''

report "$po" 101-1
is 'the DSN of all sorts of recipients is well formed' "$(got '^!')" ''
if python3 -c 'import email.policy' 2>/dev/null; then
	is 'a mail library reads the DSN as t/dsnread does' \
	    "$(python3 "$top/t/dsnread.py" "$report_file" 2>&1)" \
	    "$(cat "$tmp/r")"
else
	skip 'a mail library reads the DSN as t/dsnread does' 'no python3'
fi
sed 's/^Status: 5\.1\.1/Status: 5.1/; s/^Action: failed/Action: gone/
s/^Reporting-MTA/Reporting/; $d' "$report_file" >"$tmp/spoilt"
is 't/dsnread finds the fault of a spoilt DSN' \
    "$(sh "$top/t/dsnread" "$tmp/spoilt" | grep '^!' | sort -u | tr '\n' '@')" \
    '! action gone@! group 0: 0 fields Reporting-MTA@! no final boundary@! status 5.1@'
is 'the DSN has its envelope' "$(got '^E')" \
    'E channel error@E errormsg@E todsn ORCPT=rfc822;anna@a.example@E to <anna@a.example>@'
like 'the DSN goes to the sender' "$(got '^H To:')" 'H To: +<anna@a.example>@'
is 'the DSN comes from the postmaster' "$(got '^H From:')" \
    'H From: Mail Delivery <postmaster@mx.here.example>@'
is 'the subject of the DSN counts recipients by action' "$(got '^H Subject:')" \
    'H Subject: Undeliverable mail [FAILED(4),RELAYED-OK(1),DELIVERED-OK(1),EXPANDED-OK(1)]@'
is 'the DSN has three parts' "$(got '^P')" \
    'P text/plain message/delivery-status message/rfc822@'
is 'the DSN has the fields of its message' \
    "$(got '^M' | sed 's/[A-Z][a-z][a-z], .* +0000/DATE/
s/ID: S101[A-Za-z0-9=-]*/ID: S101/')" \
    'M Reporting-MTA: dns; mx.here.example@M Arrival-Date: DATE@M X-Local-Spool-ID: S101@'
fields() {	# number: those of a recipient
	got "^R$1 " | sed 's/Last-Attempt-Date: [A-Z][a-z][a-z], .* +0000/DATE/;s/@$//'
}
is 'the DSN has the fields of a failure' \
    "$(fields 1)" 'R1 Final-Recipient: rfc822; f0@x.example@R1 Action: failed@R1 Status: 5.1.1@R1 Remote-MTA: dns; mx.x.example@R1 Diagnostic-Code: smtp; 550 5.1.1 who?@R1 DATE'
is 'the DSN has the time of the last attempt' "$(got '^R1 Last')" \
    'R1 Last-Attempt-Date: Sat, 21 Nov 2026 00:15:40 +0000@'
is 'the DSN has the ORCPT of a failure' \
    "$(fields 2)" 'R2 Original-Recipient: rfc822; F1+box@old.example@R2 Final-Recipient: rfc822; f1@x.example@R2 Action: failed@R2 Status: 5.7.1@R2 Diagnostic-Code: smtp; 550 go away@R2 DATE'
is 'the tag makes a failure in the DSN, whatever the last words are' \
    "$(fields 3)" \
    'R3 Original-Recipient: rfc822; f4@old.example@R3 Final-Recipient: rfc822; f4@x.example@R3 Action: failed@R3 Status: 4.2.0@R3 Diagnostic-Code: x-local; 450@R3 DATE'
is 'the DSN has the fields of a relayed recipient' \
    "$(fields 4)" 'R4 Final-Recipient: rfc822; s1@x.example@R4 Action: relayed@R4 Status: 2.1.9@R4 Remote-MTA: dns; [10.0.0.1] (old)@R4 Diagnostic-Code: smtp; 250 Ok@R4 DATE'
is 'the DSN has the fields of a delivered recipient' "$(fields 5)" \
    'R5 Final-Recipient: x-local; s3@R5 Action: delivered@R5 Status: 2.1.5@R5 DATE'
is 'the DSN has the fields of an expanded recipient' "$(fields 6)" \
    'R6 Final-Recipient: x-local; s4@R6 Action: expanded@R6 Status: 2.2.2@R6 DATE'
is 'of two diagnostics of a recipient the DSN has the later one' "$(fields 7)" \
    'R7 Final-Recipient: rfc822; twice@x.example@R7 Action: failed@R7 Status: 5.1.2@R7 DATE'
is 'the DSN has no further recipient' "$(got '^R8')" ''
like 'the text of the DSN has the reason line by line' \
    "$(got '^T')" '@T   f0@x.example@T       smtp; 550 who\?@T       really@'
like 'the text of the DSN says what an expanded recipient is' "$(got '^T')" \
    '@T It was delivered, and passed on to other addresses, for:@T @T   s4@'
is 'the DSN returns the message' \
    "$(got '^B')" 'B Subject: 101-1@B @B body of 101-1@B @'

report "$po" 111-1
is 'RET=FULL returns the message' "$(got '^!|^P')" \
    'P text/plain message/delivery-status message/rfc822@'
is 'the DSN has the ENVID' \
    "$(got '^M Orig')" 'M Original-Envelope-Id: Env+Id x@'
report "$po" 112-1
is 'RET=HDRS returns the header' "$(got '^!|^[PB]')" \
    'P text/plain message/delivery-status text/rfc822-headers@B Subject: 112-1@B @'
unlike 'a DSN with RET=HDRS has no excuse for the header' \
    "$(got '^T')" 'not returned'
report "$po" 127-1
is 'RET and ENVID behind the first recipient count' "$(got '^!|^P|^M Orig')" \
    'P text/plain message/delivery-status text/rfc822-headers@M Original-Envelope-Id: Env+2@'
report "$po" 147-1
is 'RET and ENVID behind a later recipient count' "$(got '^!|^P|^M Orig')" \
    'P text/plain message/delivery-status text/rfc822-headers@M Original-Envelope-Id: Env+4@'
report "$po" 113-1
is 'the header alone is returned of a message that is too long' \
    "$(got '^!|^[PB]')" \
    'P text/plain message/delivery-status text/rfc822-headers@B Subject: 113-1@B @'
like 'the DSN says that the message is too long' "$(got '^T')" \
    'not returned, since it is too long\.'
report "$po" 114-1
like 'a message with a line that is too long is not returned' \
    "$(got '^!|^[PT]')" \
    '^P text/plain message/delivery-status text/rfc822-headers@.*since its lines are too long\.'
report "$po" 115-1
like 'a message with a NUL byte is not returned' "$(got '^!|^[PT]')" \
    '^P text/plain message/delivery-status text/rfc822-headers@.*since it is not text\.'
report "$po" 116-1
is 'a message with the boundary and eight bits is returned' "$(got '^!|^P')" \
    'P text/plain message/delivery-status message/rfc822@'
like 'the boundary of a DSN is nothing that its message can know' \
    "$(got '^H Content-Type')" \
    'boundary="=_[0-9]*\.[0-9]{11,}"@$'
is 'a message with the boundary comes back whole' \
    "$(awk '/^(body of|Subject: 116)/ { n = 1 } n' \
    "$report_file" | sed '1,/^$/d' | sed '/^$/,$d')" "$(cat "$tmp/odd")"
report "$po" 117-1
is 'the DSN of a success returns the header alone' \
    "$(got '^!|^P|^B|^H Subject')" \
    'H Subject: Delivered mail [DELIVERED-OK(1)]@P text/plain message/delivery-status text/rfc822-headers@B Subject: 117-1@B @'
report "$po" 118-1
like 'a header that is too long is cut, and the DSN says so' \
    "$(got '^!|^[PT]')" \
    '^P [^!]*rfc822-headers@.*since it is too long\..*only the beginning is returned\.'
is 'a header that is too long is cut at the end of a line' \
    "$(got '^B' | tr '@' '\n' | grep -vc \
    '^B X-[0-9]*: this is a line of a header$')" 1
report "$po" 119-1
like 'the DSN says that the message file is gone' "$(got '^!|^[PT]')" \
    '^P [^!]*rfc822-headers@.*since its file cannot be read\.'

report "$po" 122-1
like 'the header alone is returned of a message with long header lines' \
    "$(got '^!|^[PT]')" \
    '^P [^!]*rfc822-headers@.*since it is too long\.@T Long lines of its header were folded\.@'
unfolded() {	# file ERE
	awk '/^[ \t]/ { printf "%s", $0; next } { printf "\n%s", $0 }' "$1" |
	    grep -E "$2"
}
is 'a long header line is folded where it has blanks' \
    "$(unfolded "$report_file" '^X-(998|Words|Last)')" \
    "$(grep -E '^X-(998|Words|Last)' "$tmp/122")"
is 'a long header line without blanks is folded' \
    "$(unfolded "$report_file" '^X-(Bytes|Eight)' | tr -d ' ')" \
    "$(grep -E '^X-(Bytes|Eight)' "$tmp/122" | tr -d ' ')"
is 'no header line is folded within a character' "$(LC_ALL=C awk '{
	gsub(/[\302-\337][\200-\277]/, "")
	gsub(/[\340-\357][\200-\277][\200-\277]/, "")
	gsub(/[\360-\364][\200-\277][\200-\277][\200-\277]/, "")
	if (/[\200-\377]/) print
}' "$report_file")" ''
report "$po" 123-1
is 'a NUL byte in a header becomes a question mark' \
    "$(got '^!|^B')$(got '^T The message itself')" \
    'B Subject: first@B X-Nul: a?b@B @T The message itself is not returned, since it is not text.@'
report "$po" 124-1
like 'a header of one line that is too long is cut' "$(got '^!|^[PT]')" \
    '^P [^!]*headers@.*since it is too long\.@T Of its header, only the beginning is returned\.@T Long lines'
is 'a header of one line is cut at the limit' \
    "$(sed -n '/^X-Much/,$p' "$report_file" |
    sed '/^$/,$d' | tr -cd z | wc -c | tr -d ' ')" 32764
report "$po" 125-1
like 'a message with a CR that ends no line is not returned' \
    "$(got '^!|^[PT]')" \
    '^P [^!]*rfc822-headers@.*since it is not text\.'
report "$po" 126-1
is 'a message with the longest lines and eight bits is returned' \
    "$(got '^!|^P|^H Content-Tr')" \
    'H Content-Transfer-Encoding: 8bit@P text/plain message/delivery-status message/rfc822@'
is 'a message with the longest lines comes back whole' \
    "$(sed '1,/^Subject: 126/d' "$report_file" |
    sed 1d | sed '/^$/,$d')" "$(cat "$tmp/full")"

report "$po" 121-1
is 'nothing of an agent or a message becomes a header field' \
    "$(got '^!|^H (Bcc|Cc)')" ''
is 'line ends in ENVID become blanks' \
    "$(got '^M Orig')" 'M Original-Envelope-Id: E  Bcc: <x@y>@'
is 'line ends in ORCPT, diagnostic and MTA become blanks' \
    "$(got '^R1' | sed 's/R1 Last.*//')" \
    'R1 Original-Recipient: rfc822; a    --x Subject: x@R1 Final-Recipient: rfc822; crlf@x.example@R1 Action: failed@R1 Status: 5.0.0@R1 Remote-MTA: dns; a To: x@R1 Diagnostic-Code: smtp; 550 Bcc: <x>  --=_121.0@'
like 'the text of the DSN indents all lines of an agent' "$(got '^T')" \
    '@T   crlf@x.example@T       one@T       Bcc: <x@y>@T       --=_121.0--@T       \.@T       last@'
like 'the text of the DSN keeps UTF-8 of an agent' \
    "$(got '^T')" "@T       $eight@"
is 'the diagnostic field of the DSN has no UTF-8' "$(got '^R2 Diag')" \
    'R2 Diagnostic-Code: smtp; 550 gr??n@'
like 'other bytes of an agent become question marks in the text' \
    "$(got '^T')" '@T       gr\?n@'
is 'a wrong status and a wrong diagnostic type get defaults' \
    "$(got '^R3 [SDR]')" \
    'R3 Status: 5.0.0@R3 Diagnostic-Code: x-local; just words@'
is 'an address in UTF-8 has the type utf-8' "$(got '^R4 Final')" \
    'R4 Final-Recipient: utf-8; gr\x{FC}n@x.example@'
is 'a byte of an address that is no UTF-8 becomes a question mark' \
    "$(got '^R5 Final')" \
    'R5 Final-Recipient: rfc822; badgr?n@x.example@'
is 'a status that does not fit the action becomes 5.0.0' \
    "$(got '^R6 Status')" 'R6 Status: 5.0.0@'
like 'a long diagnostic is cut' "$(got '^R6 Diag')" 'word[0-9]* \.\.\.@$'
is 'an empty diagnostic line gets defaults' \
    "$(got '^R7' | sed 's/R7 Last.*//')" \
    'R7 Final-Recipient: rfc822; none@x.example@R7 Action: failed@R7 Status: 5.0.0@'

for n in 131 132 133 134 135 136 137 138 139; do
	report "$po" $n-1
	is "the DSN goes to the postmaster for a sender who gets none: $n" \
	    "$(got '^!|^E to |^H To' | tr -s ' ')" \
	    'E to <postmaster>@H To: <postmaster@mx.here.example>@'
done
report "$po" 141-1
is 'an address with blanks within quotes is written in the DSN' \
    "$(got '^!|^E to|^H To|^R. Final' | tr -s ' ')" \
    'E todsn ORCPT=rfc822;"a+20\"+20b"@a.example@E to <"a \" b"@a.example>@H To: <"a \" b"@a.example>@R1 Final-Recipient: rfc822; "c d"@x.example@'
report "$po" 142-1
is 'a sender whose name has an @ within quotes gets the domain of this host' \
    "$(got '^!|^E to|^H To|^R. Final' | tr -s ' ')" \
    'E todsn ORCPT=rfc822;"a@b"@E to <"a@b">@H To: <"a@b"@mx.here.example>@R1 Final-Recipient: x-local; "c@d"@'
report "$po" 140-1
is 'each sender and each header has a DSN of its own' \
    "$(got '^!|^E to |^R. Final|^B S')" \
    'E to <one@a.example>@R1 Final-Recipient: rfc822; a@x.example@B Subject: first@E to <one@a.example>@R1 Final-Recipient: rfc822; b@x.example@B Subject: second@E to <two@a.example>@R1 Final-Recipient: rfc822; c@x.example@B Subject: second@'

for n in 151 152 153; do
	is "no DSN is made of a DSN: $n" "$(files_of $n-1)" ''
	is "a failed DSN is kept as a double bounce: $n" "$(cd "$po/postman" &&
	    echo $n-1* | sed 's/bounce-[0-9]*-[0-9]*/bounce/g')" \
	    "$n-1.bounce $n-1.bounce.control"
	is "a failed DSN leaves its diagnostics unmarked: $n" \
	    "$(cat "$po/postman/$n-1".bounce-*.control | grep -c '^d ')" 2
done
is 'NOTIFY=NEVER makes no DSN' "$(files_of 154-1)" ''
nok 'a message with NOTIFY=NEVER is not kept' test -f "$po/postman/154-1"
report "$po" 155-1
is 'dsn -x keeps a recipient out of the DSN' "$(got '^R. Final')" \
    'R1 Final-Recipient: rfc822; b@x.example@'
ok 'dsn -x keeps the message' test -f "$po/postman/155-1"
is 'dsn -x leaves its recipient unmarked in the kept file' \
    "$(sed -n 's/^d\(.\).*/\1/p' "$po/postman/155-1.control" | tr '\n ' ',_')" '_,+,'

report "$po" 161-1
is 'a failure whose diagnostic line was lost is in the DSN' \
    "$(got '^!|^R. Final|^R. Status')" \
    'R1 Final-Recipient: rfc822; lost@x.example@R1 Status: 5.0.0@R2 Final-Recipient: rfc822; there@x.example@R2 Status: 5.1.1@'
report "$po" 162-1
is 'a failure whose diagnostic line was cut is in the DSN' \
    "$(got '^!|^R. Final|^R. Status')" \
    'R1 Final-Recipient: rfc822; torn@x.example@R1 Status: 5.0.0@'
is 'a diagnostic of a recipient without a tag makes no DSN' \
    "$(files_of 163-1)" ''
ok 'a recipient without a tag is delivered' logged 'delivered msg=163-1'

for n in 164 165 166; do
	report "$po" $n-1
	is "a stamp that is no time: $n" "$(got '^!|^R. (Last|Act)')" \
	    'R1 Action: failed@'
done

report "$po" 171-1
is 'a failure whose diagnostic line the agent left to us is in the DSN' \
    "$(got '^!|^R. [FASD]')" \
    'R1 Final-Recipient: rfc822; a@x.example@R1 Action: failed@R1 Status: 5.0.0@R1 Diagnostic-Code: x-local; 550 (no such user)@'
report "$po" 172-1
is 'a failure whose promised diagnostic line is missing is in the DSN' \
    "$(got '^!|^R. [FAS]')" \
    'R1 Final-Recipient: rfc822; a@x.example@R1 Action: failed@R1 Status: 5.0.0@'
report "$po" 175-1
is 'a success without a line is in the DSN, NOTIFY in small letters' \
    "$(got '^!|^R. [FAS]')" \
    'R1 Final-Recipient: rfc822; a@x.example@R1 Action: delivered@R1 Status: 2.0.0@'
ok 'dsn -x keeps a message that an agent failed' \
    test -f "$po/postman/173-1"
ok 'the log says of a message that is kept that no sender was told' \
    wait_log 'set-aside msg=173-1 .*a failure was reported to no sender$'
is 'dsn -x makes no DSN of what an agent failed' "$(files_of 173-1)" ''
ok 'dsn -x keeps a failure without a line, warned of before' \
    wait_for 20 test -f "$po/postman/176-1"
is 'dsn -x makes no DSN of a failure without a line' "$(files_of 176-1)" ''
ok 'dsn -x keeps a failure without a line beside one with two' \
    wait_for 20 test -f "$po/postman/177-1"
is 'dsn -x makes no DSN of a failure beside one with two lines' \
    "$(files_of 177-1)" ''
is 'dsn -x adds a line to the failure that lacks one alone' \
    "$(sed -n 's/^d\(.\)[^	]*	\(.\).*/\1\2/p' \
    "$po/postman/177-1.control" | tr '\n' ,)" ' a,-a, b,'
report "$po" 174-1
is 'expiry is a failure in the DSN, though the agent said delayed' \
    "$(got '^!|^R. [FASD]')" \
    'R1 Final-Recipient: rfc822; a@x.example@R1 Action: failed@R1 Status: 4.4.7@R1 Diagnostic-Code: x-local; all circuits are busy@'
like 'the DSN of an expired recipient has the last reason' "$(got '^T')" \
    '@T       expired after 1d6h[^@]*problem was:@T       all circuits are busy@'

# A socket holds few datagrams, and the agent waits for no reader: of many DSNs
# at a time some notices are lost.  The mark shows that all others were read.
title='the router gets a notice of a DSN'
if without NO_TCP; then
	skip "$title" 'built without sockets'
	skip 'a notice names a DSN' 'built without sockets'
else
	"$top/t/notify" "$tmp/router.sock" mark
	wait_for 20 grep -x mark "$tmp/notices"
	echo 'r           fail h a@x.example 0' |
	    simple "$po" 181-1 anna@a.example
	dsn_of 181-1
	ok "$title" wait_for 20 \
	    grep -x "NEW router $(files_of 181-1)" "$tmp/notices"
	ls "$po/router" | sed 's/^/NEW router /' >"$tmp/all"
	is 'a notice names a DSN' \
	    "$(grep -v -x -F -f "$tmp/all" "$tmp/notices")" mark
fi
sched_stop
is 'the scheduler ends well' $sched_rc 0
finish
