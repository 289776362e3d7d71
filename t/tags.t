#!/bin/sh
# Tags that cannot be written for a while: what is delivered meanwhile is not
# delivered again, and nothing stays behind in core.
. "${0%/*}/lib.sh"

SCHEDULER=$top/t/clocksched
A=$top/t/agent
ask=$top/t/ask
po=$tmp/po
MONO=$tmp/mono
export MONO
mono=0
pass_by() {	# seconds
	steps=$(($(count clock-step) + 1))
	mono=$((mono + $1))
	set_clock "$MONO" $mono
	wait_for 60 eval '[ "$(count clock-step)" -ge "$steps" ]'
}

# ---- a vertex that is done, and its message evicted --------------------------

spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=1h expiry=30d
gate/*	command="$A -c gate -u -s $tmp/said -w $tmp/free"
later/*	command="$A -c later deferred not now"
fine/*	command="$A -c fine"
END
: >"$tmp/said"
put "$po" 101-1 gate a u later b u
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
wait_log 'deferred msg=101-1' 20
wait_for 20 grep '101-1' "$tmp/said"
mv "$po/transport/101-1" "$tmp/kept"
: >"$tmp/free"
ok 'the tag of a delivered recipient cannot be written' \
    wait_log 'err tag msg=101-1' 20
mv "$tmp/kept" "$po/transport/101-1"
pass_by 61
ok 'the tag is written when a minute has passed' \
    wait_for 20 grep '^r+.* gate ' "$po/transport/101-1"
put "$po" 102-1 fine h u
ok 'its message is evicted for another one' wait_log 'evict msg=101-1' 20
wait_log 'complete msg=102-1' 20
like 'a command has it loaded again' "$("$ask" order "$po" flush 101-1)" '^ok '
ok 'the message that the command has loaded is tried again' \
    wait_for 20 eval '[ "$(count "deferred msg=101-1")" -eq 2 ]'
sed 's/^r/X/' "$po/transport/101-1" >"$tmp/no-rcpt"
cat "$tmp/no-rcpt" >"$po/transport/101-1"
"$ask" order "$po" delete 101-1 >"$tmp/deleted"
ok 'the log says why, if the recipient line is not there' \
    wait_log 'err tag msg=101-1 .* tag=. Invalid argument' 10
sched_stop

# ---- a vertex with recipients left ---------------------------------------------

# Sets no tags; u2 is deferred until there is a file.
agent plain <<END
echo '#hungry'
while read -r job host && [ -n "\$job" ]; do
	case \$job in '#idle') echo '#hungry'; continue ;; esac
	[ -f "\$job" ] && cp "\$job" $tmp/job
	: >>$tmp/read
	until [ -f $tmp/free ]; do sleep 0.1 || sleep 1; done
	awk -v num="\${job%%-*}" -v go="\$(ls $tmp/go 2>&-)" '
	    /^r / { ok = go != "" || / u1 /
		if (ok) print \$4 >>"$tmp/got"
		print num "/" off + 0 "\t\t" (ok ? "ok" : "deferred not now") }
	    { off += length(\$0) + 1 }' $tmp/job
	echo '#hungry'
done
END
rm -rf "$po" "$tmp/free"
spool_new "$po"
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1s retries=1 expiry=30d
plain/*	command="plain"
fine/*	command="$A -c fine"
END
: >"$tmp/got"
put "$po" 201-1 plain h u1 plain h u2
pipe=$po/public/.mailq.text
ok 'the scheduler starts again' sched_start "$po" "$tmp/cf" -q "$pipe"
wait_for 20 test -f "$tmp/read"
mv "$po/transport/201-1" "$tmp/kept"
mkdir "$po/transport/201-1"	# without any file the message would be dropped
: >"$tmp/free"
ok 'a tag of a vertex with recipients left cannot be written' \
    wait_log 'err tag msg=201-1' 20
wait_log 'deferred msg=201-1' 20
"$ask" order "$po" hold 201-1 >"$tmp/held"
"$ask" order "$po" release 201-1 >>"$tmp/held"
is 'the message is held and released' "$(sed 's/ .*//' "$tmp/held" |
    tr '\n' ' ')" 'ok ok '
like 'mailq says that the job waits for the disk' \
    "$("$top/mailq" -q "$pipe" 2>&1 | tr '\n' ' ')" \
    '201-1 .*waits, its control file cannot be written now'
like 'a flush does not call that job held' \
    "$("$ask" order "$po" flush 201-1)" \
    '^no .*, 1 failed: the spool cannot be written to$'
rmdir "$po/transport/201-1"
mv "$tmp/kept" "$po/transport/201-1"
# A step of seconds is not logged; mail that comes behind it is delivered by it.
mono=$((mono + 10))
set_clock "$MONO" $mono
put "$po" 202-1 fine h u
ok 'other mail is delivered later' wait_log 'complete msg=202-1' 20
: >"$tmp/go"
pass_by 61
ok 'the others are delivered to when it was written' \
    wait_for 20 po_empty "$po"
is 'no recipient is delivered to twice' \
    "$(sort "$tmp/got" | tr '\n' ' ')" 'u1 u2 '
sched_stop
finish
