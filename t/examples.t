#!/bin/sh
# The examples of scheduler.cf(5) are good, and do what the page says of them.
. "${0%/*}/lib.sh"

MAILBIN=$top MAILSHARE=$tmp POSTOFFICE=$tmp/none
export MAILBIN MAILSHARE POSTOFFICE
echo "$MAILNAME" >"$tmp/mailname"

# Each block of EXAMPLES is a file, named by its title's first letter and its
# place below that.
awk -v to="$tmp/" '
/^\.SH/ { n = 0; name = "" }
/^\.SH EXAMPLES/ { within = 1; next }
/^\.SH/ { within = 0 }
within && /^\.SS/ { name = tolower(substr($2, 1, 1) substr($3, 1, 1)); n = 0 }
/^\.fi/ { block = 0 }
block { sub(/^\t/, ""); gsub(/\\-/, "-"); print >file }
within && /^\.nf/ { block = 1; file = to name (++n) }
' "$top/man/scheduler.cf.5"
is 'the page has its examples' \
    "$(cd "$tmp" && echo [a-z][a-z][0-9] [a-z][0-9])" \
    'ac1 ac2 ct1 ra1 ra2 ra3 o1 o2 w1'

check() {	# file [address]: what is said, and the status
	"$SCHEDULER" -n -f "$@" 2>&1
	echo $?
}
# neither the table of sm nor its user and uux need be here
sed 's,/usr/bin/uux,/bin/sh,' "$top/sm.cf" >"$tmp/sm.cf"
for f in ct1 ra1 w1 o1 ac1; do
	sed "s,\"sm -u uucp ,\"sm -0f $tmp/sm.cf ," "$tmp/$f" >"$tmp/$f.sm"
	is "configuration $f of EXAMPLES is good" "$(check "$tmp/$f.sm")" 0
done
sed 's/maxchannel=4/&x/' "$tmp/ac1" >"$tmp/wrong"
like 'a configuration with a mistake is not good' "$(check "$tmp/wrong")" \
    'maxchannel: 4x is no number'

# ---- retries ----------------------------------------------------------------

like 'retries: scheduler -n prints the sums in the page' \
    "$(check "$tmp/ra1" smtp/host)" "^$(cat "$tmp/ra3")\$"
# From 12:03 of a day that begins on a multiple of the interval.
waits=$("$top/t/cftest" waits "$tmp/ra1" smtp/host $((1800000000 + 180)) 3)
is 'retries: the times are those of the scheduler' "$(
    awk -F'[:\t]' -v waits="$waits" 'BEGIN { split(waits, wait, " ") }
    { t = $1 * 3600 + $2 * 60 }
    NR > 1 { print t - last - wait[NR - 1] }
    { last = t }' "$tmp/ra2" | tr '\n' ' ')" '0 0 0 '

# ---- windows ----------------------------------------------------------------

# A host by that clause: events, and the windows after them.
events() {	# events windows dead
	printf 'VECTOR x\nparams pos=1/concurrency neg=1 init=5 limit=20 %s\n' \
	    'cohort=1 rules=readme'
	printf 'events %s\nwindows %s\ndead %s\nEND\n' "$@"
}
is 'windows: five good reports open the window as in the page' \
    "$(events '+*5' '5 5 5 5 6' '0 0 0 0 0' | "$top/t/fbvec")" 'ok 1 - x
1..1'
is 'windows: four bad reports close the window as in the page' \
    "$(events '-*4' '4 3 2 0' '0 0 0 1' | "$top/t/fbvec")" 'ok 1 - x
1..1'
explain() {	# file address keyword=value ...: those that do not hold
	"$SCHEDULER" -n -f "$1" "$2" 2>&1 | sed 's/^	//' >"$tmp/values"
	shift 2
	for value; do
		grep -xF -e "$value" "$tmp/values" >/dev/null || echo "$value"
	done
}
is 'windows: the clause has the values of the vectors' \
    "$(explain "$tmp/w1" smtp/host posfeedback=1/concurrency negfeedback=1 \
    initthr=5 maxthr=20 cohorts=1)" ''

# ---- order ------------------------------------------------------------------

is 'order: the deliveries are those of the scheduler' "$(
    printf 'VECTOR x\nkind=serial cost=5 loan=3 discount=50 min=3 sps=0\n%s\n' \
    "arrive 1:100@0 2:4@0 3:1@20
order $(tr '\t' ' ' <"$tmp/o2")
END" | "$top/t/ordvec")" 'ok 1 - x
1..1'
is 'order: the clause has the values of the vector' \
    "$(explain "$tmp/o1" smtp/host order=preempt slotcost=5 slotloan=3 \
    slotdiscount=50 minslots=3)" ''

# ---- the complete configuration ---------------------------------------------

while read -r address values; do
	is "$address has the values in the page" \
	    "$(explain "$tmp/ac1" "$address" $values)" ''
done <"$tmp/ac2"
is 'a value that does not hold is found' \
    "$(explain "$tmp/ac1" local/- interval=2m order=age)" 'interval=2m'
sed 's/maxthr=1 command="smtp"/maxthr=1/' "$tmp/ac1" >"$tmp/open"
is 'without its command the host has maxthr of the later clause' \
    "$(explain "$tmp/open" smtp/a.example.org maxthr=5 rate=10/m)" ''
finish
