#!/bin/sh
# DSNs: forms, many recipients, what agents have not said; and the whole way
# of a message that fails, back into the sender's mailbox.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

po=$tmp/po
A=$top/t/agent

# ---- forms ------------------------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
config 'PARAMbouncesize 0' >"$tmp/cf"
mkdir "$tmp/forms"
cat >"$tmp/forms/delivery" <<END
HDR Organization: the example
HDR From: The Post Office <office@here.example>
SUB Subject: Your mail
ADR Bcc: <errors@here.example> (who looks at them)
HDR To: nobody@x.example
HDR Content-Type: text/html
HDR this is no field
ADR Bcc: nobody
The text of the form, gr$(printf '\303\274 \374')n.
--=_231.0
HDR is text now
END
printf 'HDR subject:  It takes time\nThe form for delays.\n' >"$tmp/forms/delay"
simple "$po" 231-1 anna@a.example <<END
r-          fail h a@x.example 0
d a@x.example|failed|5.1.1|||no
END
simple "$po" 232-1 '<>' <<END
r-          fail h a@x.example 0
N NOTIFY=NEVER
d a@x.example|failed|5.1.1|||no
END
old='90 minutes ago'
simple "$po" 233-1 anna@a.example <<END
r           every h a@x.example 0
END
old=
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
report "$po" 231-1
is 'the DSN goes to the sender and to the addresses of the form' \
    "$(got '^!|^E to ')" \
    'E to <anna@a.example>@E to <errors@here.example>@'
is 'the DSN has the fields of the form, but for those that are ours' \
    "$(got '^H (Org|From|Subj|To|Bcc|this)' | tr -s ' ')" \
    'H Organization: the example@H From: The Post Office <office@here.example>@H Bcc: <errors@here.example> (who looks at them)@H Bcc: nobody@H To: <anna@a.example>@H Subject: Your mail [FAILED(1)]@'
like 'the DSN has the text of the form' "$(got '^T')" \
    "^T The text of the form, gr$(printf '\303\274') \\?n\\.@T --=_231\\.0@T HDR is text now@T @T This is about.*a@x.example"
report "$po" 232-1
is 'the DSN of a failed DSN goes to the addresses of the form alone' \
    "$(got '^!|^E to |^H Subj')" \
    'E to <errors@here.example>@H Subject: Your mail [FAILED(1)]@'
is 'a failed DSN is kept in postman/' \
    "$(ls "$po/postman" | grep -c '^232-1\.bounce-[0-9-]*$')" 1
report "$po" 233-1
is 'the DSN of a delay has the text of its own form' \
    "$(got '^!|^H Subj|^T The form')" \
    'H Subject: It takes time [DELAYED(1)]@T The form for delays.@'
sched_stop
rm -r "$tmp/forms"

# ---- many ---------------------------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
awk 'BEGIN {
	print "i 241-1\no 0\ns smtp - anna@a.example 0"
	for (i = 0; i < 10100; i++)
		print "r-          fail h u" i "@x.example 0"
	print "m\nSubject: many\n"
	off = 38
	for (i = 0; i < 10100; i++) {
		printf "d %d:0:-1::1795220140\tu\001failed\0015.1.1\001\001\tno\n", off
		off += length("r-          fail h u" i "@x.example 0") + 1
	}
}' >"$tmp/many"
is 'the first diagnostic has the offset of the first recipient' \
    "$(dd if="$tmp/many" bs=1 skip=38 count=2 2>/dev/null)" r-
put_raw "$po" 241-1 <"$tmp/many"
config >"$tmp/cf"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_for 40 po_empty "$po"
is 'many recipients make more than one DSN' "$(dsns_of 241-1 |
    sed 's/.*rcpts=\([0-9]*\) .*/\1/' | tr '\n' ' ')" '10000 100 '
report "$po" 241-1
is 'the DSNs of many recipients can be read' "$(got '^!')" ''
is 'each of many recipients is in a DSN' \
    "$(sed -n 's/^R[0-9]* Final-Recipient: //p' "$tmp/r" | sort -u | wc -l | tr -d ' ')" 10100
sched_stop

# ---- what an agent has not said -----------------------------------------------------------------

# It writes lines and tags itself, and reports only whose name begins with ok;
# the others come first.
rm -rf "$po"
spool_new "$po"
agent mute <<'END'
tab=$(printf '\t')
sep=$(printf '\001')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	job=${line%%"$tab"*}
	[ "$line" = '#idle' ] || awk '
		/^r / { print off + 0, substr($0, 13) }
		/^m$/ { exit }
		{ off += length($0) + 1 }' "$job" >"$1"
	for kind in bad good ok; do
		while read -r off channel host user priv; do
			case $user in
			"$kind"*) ;;
			*) continue ;;
			esac
			case $kind in
			bad) tag=- say="failed${sep}5.1.1" ;;
			*) tag=+ say="delivered${sep}2.0.0" ;;
			esac
			printf 'd %d:0:-1::1795220140\t%s\001%s\001\001\ttext\n' \
			    "$off" "$user" "$say" >>"$job"
			printf %s "$tag" | dd of="$job" bs=1 seek=$((off + 1)) \
			    conv=notrunc 2>/dev/null
			[ $kind != ok ] ||
			    printf '%s/%s\t\tok3 \n' "${job%%-*}" "$off"
		done <"$1"
	done
	: >"$1"
	echo '#hungry'
done
END
cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMrecipients 4
PARAMrcptminimum 2
*/*	interval=1s retries=1 maxthr=1
mute/*	command="mute $tmp/list"
END
awk 'BEGIN {
	for (i = 0; i < 6; i++)
		print "r           mute h ok" i "@x.example 0"
	for (i = 0; i < 8; i++)
		print "r           mute h bad" i "@x.example 0"
}' | simple "$po" 261-1 anna@a.example
simple "$po" 262-1 anna@a.example <<END
r           mute h good@x.example 0
N NOTIFY=SUCCESS
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_for 40 po_empty "$po"
report "$po" 261-1
is 'failures that the agent wrote and did not report are in DSNs' \
    "$(got '^!')$(grep -c '^R[0-9]* Status: 5.1.1' "$tmp/r")" 8
report "$po" 262-1
is 'a success that the agent wrote and did not report is in a DSN' \
    "$(got '^!|^R. (Final|Act|Stat)')" \
    'R1 Final-Recipient: rfc822; good@x.example@R1 Action: delivered@R1 Status: 2.0.0@'
sched_stop

# ---- the whole way ----------------------------------------------------------------------------------

rm -rf "$po"
spool_new "$po"
chmod 1777 "$po/public" "$po/router"
mkdir "$tmp/mail"
cat >"$tmp/routes" <<END
domain		home.example
*@fails.example	fail	\$h
*@far.example	far	\$h
*@home.example	local	-
*		local	-
END
cat >"$tmp/cf" <<END
PARAMmailqsock none
PARAMmailname mx.home.example
*/*	interval=1s retries=1
fail/*	command="$A -c fail error no such user"
local/*	command="$top/ta/mailbox -n -d $tmp/mail"
END
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
printf 'To: who@fails.example\nSubject: hello\n\nthe body\n' |
    "$top/submit" -P "$po" -C "$tmp/routes" -f anna@home.example \
    -R full -N failure -V env1 who@fails.example >"$tmp/sub.out" 2>&1
is 'submit takes a message that will fail' "$?$(cat "$tmp/sub.out")" 0
ok 'a DSN is written for the message that failed' \
    wait_log 'channel=dsn .* to=anna@home.example' 20
ok 'submit -q routes the DSN' "$top/submit" -q -P "$po" -C "$tmp/routes"
ok 'the DSN is delivered' wait_log 'delivered .*channel=local' 20
wait_for 20 po_empty "$po"
ok 'nothing is left in transport/ and queue/' po_empty "$po"
is 'nothing is left in public/, router/ and postman/' \
    "$(find "$po/public" "$po/router" "$po/postman" -type f)" ''
sed '1d' "$tmp/mail/anna" >"$tmp/box"
{ echo env-end; cat "$tmp/box"; } >"$tmp/boxed"
sh "$top/t/dsnread" "$tmp/boxed" >"$tmp/r" 2>&1
is 'the DSN in the box of the sender has all its parts' \
    "$(got '^!|^P|^[MR]. (Orig|Final|Act|Stat)|^M Orig|^B the')" \
    'P text/plain message/delivery-status message/rfc822@M Original-Envelope-Id: env1@R1 Original-Recipient: rfc822; who@fails.example@R1 Final-Recipient: rfc822; who@fails.example@R1 Action: failed@R1 Status: 5.0.0@B the body@'
if perl -MMail::DeliveryStatus::BounceParser -e 1 2>/dev/null; then
	is 'another program finds the failure in the DSN' "$(perl -e '
		use Mail::DeliveryStatus::BounceParser;
		open(F, $ARGV[0]); local $/; my $m = <F>;
		my $b = Mail::DeliveryStatus::BounceParser->new($m);
		print $b->is_bounce ? "bounce" : "none";
		for ($b->reports) {
			print " ", $_->get("email"), " ", $_->get("action"),
			    " ", $_->get("status");
		}' "$tmp/box")" 'bounce who@fails.example failed 5.0.0'
else
	skip 'another program finds the failure in the DSN' \
	    'no Mail::DeliveryStatus::BounceParser'
fi
sched_stop

# The address of the form fails like anybody.
mkdir "$tmp/forms"
printf 'ADR Bcc: <errors@fails.example>\n' >"$tmp/forms/delivery"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
failing "$po" 251-1 gone@fails.example a
route_all() {	# until everybody has had what there is
	"$top/submit" -q -P "$po" -C "$tmp/routes" &&
	    po_empty "$po" && [ -z "$(ls "$po/router")" ]
}
dsn_of 251-1 20
ok 'DSNs that fail come to an end' wait_for 30 route_all
is 'a failed DSN makes a DSN to <>, and that one makes none' \
    "$(sed -n 's/.* channel=dsn .* to=\([^ ]*\) rcpts=\([0-9]*\) .*/\1 \2,/p' \
    "$tmp/sched.log" | tr '\n' ' ')" 'gone@fails.example 1, <> 2, '
is 'both failed DSNs are kept in postman/' \
    "$(ls "$po/postman" | grep -c control)" 2
rm -r "$tmp/forms"

# A sender with a blank.  Nothing takes mail for him here, so it is kept.
printf 'To: who@fails.example\n\nthe body\n' | "$top/submit" -P "$po" \
    -C "$tmp/routes" -f '"a b"@far.example' who@fails.example
wait_log 'channel=dsn .* to="a b"@far.example' 20
"$top/submit" -q -P "$po" -C "$tmp/routes"
is 'a DSN to a sender with a blank is routed to him' \
    "$(cat "$po/transport/"* | grep '^r')" \
    "r           far far.example \"a b\"@far.example $(id -u)"
sched_stop
finish
