#!/bin/sh
# submit -qRhost: what waits for a host goes when it is asked for.
. "${0%/*}/lib.sh"

unset POSTOFFICE MAILSHARE
po=$tmp/po
S=$top/submit
spool_new "$po"

# ---- without a scheduler ---------------------------------------------------------

for bad in '' 'a b' "$(awk 'BEGIN { for (i = 0; i < 60; i++) printf "name." }')"
do
	out=$("$S" -P "$po" "-qR$bad" 2>&1)
	is "it is no host: $(echo "$bad" | cut -c1-9)" "$?" 64
done
out=$("$S" -P "$po" -qRfar.example anna 2>&1)
is 'it takes no recipients' "$?" 64
out=$("$S" -P "$tmp/none" -qRfar.example 2>&1)
is 'there is no post office' "$?" 75
ok 'a request is made' "$S" -P "$po" -qRleaf.Example
is 'it waits in transport/' "$(cat "$po"/transport/[1-9]*)" 'T leaf.Example'
is 'there is no other file' "$(find "$po" -type f | wc -l | tr -d ' ')" 1
chmod 500 "$po/transport"
if [ "$(id -u)" -eq 0 ] && as_nobody true; then
	chmod 1777 "$po/public" "$po/router"
	out=$(as_nobody "$S" -P "$po" -qRfar.example)
else
	out=$("$S" -P "$po" -qRfar.example 2>&1)
fi
is 'only the owner may' "$?" 77
like 'others are told so' "$out" 'only its owner or root'
chmod 700 "$po/transport"
is 'they leave nothing' "$(find "$po" -type f | wc -l | tr -d ' ')" 1

# ---- with one ----------------------------------------------------------------------

conf "$tmp/cf" <<END
*/*	interval=1h
leaf/*	queueonly command="$top/t/agent -c leaf -o $tmp/leaf"
busy/*	command="$top/t/agent -c busy -o $tmp/busy -f $tmp/open"
END
put "$po" 1-1 leaf leaf.example anna
ok 'the scheduler starts' sched_start "$po" "$tmp/cf"
ok 'a request that was there before is heard' \
    wait_log 'trigger host=leaf.example'
ok 'it is a file no more' wait_for 10 [ -z "$(grep -l '^T' "$po"/transport/* \
    2>/dev/null)" ]
put "$po" 2-1 leaf leaf.example bert
put "$po" 3-1 leaf other.example carl
put "$po" 4-1 busy leaf.example dora
ok 'mail for a host waits for its retry' wait_log 'deferred msg=4-1' 20
for n in 2 3; do
	ok 'mail of a queueonly clause is there' wait_log "load msg=$n-1" 20
done
nok 'mail of a queueonly clause goes by itself' logged 'complete msg=[23]-1'
: >"$tmp/open"
ok 'a request is made for the scheduler' "$S" -P "$po" -qRLEAF.example
ok 'what waits for it goes' wait_log 'complete msg=2-1' 20
ok 'what waits for a retry goes, too' wait_log 'complete msg=4-1' 20
nok 'what waits for another host goes' logged 'complete msg=3-1'
sched_stop
finish
