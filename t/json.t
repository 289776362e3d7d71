#!/bin/sh
# mailq -j against the tables of fields in mailq(1): names, order and types of
# every object, in every state that can be had here.
. "${0%/*}/lib.sh"

A=$top/t/agent
po=$tmp/po
spool_new "$po"
pipe=$po/public/.mailq.text
POSTOFFICE=$po
export POSTOFFICE
page=$top/man/mailq.1

# The tables, of three columns: "name type", the second one for -D.
sed -n '/^\.SH JSON/,/^\.SH DESTINATIONS/p' "$page" | awk -v out="$tmp/fields" '
	/^\.ta / && NF == 4 { n++; on = 1; next }
	/^\.fi/ { on = 0 }
	on { split($0, f, "\t"); print f[2], f[3] >(out n) }'
is 'the manual has a table of fields for jobs' \
    "$(wc -l <"$tmp/fields1" | tr -d ' ')" 19
is 'the manual has a table of fields for destinations' \
    "$(wc -l <"$tmp/fields2" | tr -d ' ')" 17
# The states that it names.
sed -n '/^\.SH JSON/,/^\.SH DESTINATIONS/p' "$page" |
    sed -n '/^\.B state$/,/^A message without/p' |
    sed -n 's/^\.BR* //p' | tr -s ' ,"' '\n\n\n' | grep '^[a-z]' |
    sort -u >"$tmp/states"

# Prints what is wrong with the objects on standard input; an object that begins
# with one of the words in other is checked as JSON alone.
cat >"$tmp/check.awk" <<'END'
function bad(why) {
	print NR ": " why ": " $0
	failed = 1
}
function text(	v) {
	if (substr(s, 1, 1) != "\"") { bad("no text"); return "" }
	s = substr(s, 2)
	v = ""
	while (s != "" && substr(s, 1, 1) != "\"") {
		if (substr(s, 1, 1) == "\\") {
			if (s !~ /^\\(["\\\/bfnrt]|u[0-9a-f][0-9a-f][0-9a-f][0-9a-f])/)
				bad("a bad escape")
			v = v substr(s, 1, 2)
			s = substr(s, 3)
		} else {
			if (s !~ /^[ -~]/) bad("no ASCII")
			v = v substr(s, 1, 1)
			s = substr(s, 2)
		}
	}
	if (s == "") bad("a text without an end")
	s = substr(s, 2)
	return v
}
function value(	n) {	# its type; a text is in got
	got = ""
	if (s ~ /^"/) { got = text(); return "text" }
	if (s ~ /^null/) { s = substr(s, 5); return "null" }
	if (s ~ /^true/) { s = substr(s, 5); return "boolean" }
	if (s ~ /^false/) { s = substr(s, 6); return "boolean" }
	if (match(s, /^-?[0-9]+(\.[0-9]+)?/)) {
		s = substr(s, RLENGTH + 1)
		return "number"
	}
	if (s !~ /^\[/) { bad("no value"); s = ""; return "" }
	s = substr(s, 2)
	while (s != "" && s !~ /^\]/) {
		n = value()
		if (n != "text" && n != "null") bad("a list of " n)
		if (s ~ /^,/) s = substr(s, 2)
	}
	s = substr(s, 2)
	return "list"
}
BEGIN {
	while ((getline line <fields) > 0) {
		name[++want] = line
		sub(/ .*/, "", name[want])
		type[want] = substr(line, length(name[want]) + 2)
	}
	while ((getline line <states) > 0)
		known[line] = 1
}
{
	s = $0
	if (s !~ /^\{.*\}$/) bad("no object")
	s = substr(s, 2)
	other = 0
	for (n = 1; s != "" && s !~ /^\}/; n++) {
		key = text()
		if (substr(s, 1, 1) != ":") bad("no colon")
		s = substr(s, 2)
		t = value()
		if (n == 1 && key ~ /^(waits|hold|orphan|scheduler)$/)
			other = 1
		if (!other && (n > want || key != name[n]))
			bad("field " n " is " key ", not " name[n])
		else if (!other && index(" " type[n] " ", " " t " ") == 0)
			bad(key " is " t ", not " type[n])
		if (!other && key == "state" && t == "text") {
			if (!(got in known)) bad("the state " got)
			seen[got] = 1
		}
		if (s ~ /^,/) s = substr(s, 2)
		else if (s !~ /^\}$/) bad("no comma")
	}
	if (!other && n - 1 != want - less) bad("it has " n - 1 " fields")
	objects += !other
	others += other
}
END {
	if (failed) exit
	printf "%d objects, %d others:", objects, others
	for (x in seen) list = list " " x
	print list
}
END
check() {	# table less-fields: standard input against it
	awk -v fields="$tmp/$1" -v less="$2" -v states="$tmp/${3:-states}" \
	    -f "$tmp/check.awk"
}
is 'the check finds an object with a field too many' "$(printf '%s\n' \
    '{"message":"1","id":null,"more":1}' | check fields1 2 |
    sed 's/: {.*//;q')" '1: field 3 is more, not sender'
is 'the check finds a field of another type' "$(printf '%s\n' \
    '{"message":1}' | check fields1 2 | sed 's/: {.*//;q')" \
    '1: message is number, not text'
is 'the check finds a state that the manual has not' "$(echo '{"message":"1",
"id":"S1","sender":null,"size":1,"age":1,"held":true,"unreadable":true,"channel":null,
"host":null,"recipients":1,"state":"odd"}' | tr -d '\n' | check fields1 2 |
    sed 's/: {.*//;q')" '1: the state odd'
is 'the check finds what is no JSON' "$(printf '%s\n' '{"message":"\x"}' |
    check fields1 2 | sed 's/: {.*//;q')" '1: a bad escape'

# ---- the queue -------------------------------------------------------------------

conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h expiry=3d maxthr=1
fine/*	command="$A -c fine ok3"
wait/*	command="$A -c wait deferred not now"
dead/*	command="$A -c dead deferall the host is gone"
busy/*	maxring=1 command="$A -c busy -w $tmp/gate ok3"
lost/*	command="lost"
only/*	queueonly command="$A -c only ok3"
none/*	maxthr=2
END
put "$po" 101-1 wait h "a\"b\\\\c@x.example" wait h2 other
put "$po" 102-1 dead h.test joe
put "$po" 103-1 busy h1 joe
put "$po" 104-1 lost h joe
put "$po" 105-1 only h joe
put "$po" 106-1 none h joe
put "$po" 107-1 fine h joe wait h3 joe
mkdir -p "$po/router"
echo mail >"$po/router/77"
ok 'the scheduler starts' sched_start "$po" "$tmp/cf" -q "$pipe"
for e in 'deferred msg=101-1' 'asleep channel=dead' 'agent channel=lost' \
    'agent-start .*channel=busy' 'deferred msg=107-1'; do
	wait_log "$e"
done
put "$po" 108-1 busy h2 joe
wait_log 'load msg=108-1'
"$top/mailq" hold 'held/*' >/dev/null
"$top/mailq" hold 107-1 >/dev/null
all_states() {
	"$top/mailq" -j >"$tmp/j" && said=$(check fields1 2 <"$tmp/j") &&
	    [ "$(echo "$said" | tr ' ' '\n' | sed 1,4d | sort | tr '\n' ' ')" = \
	    'agent command held host limit queueonly retry run ' ]
}
ok 'jobs in eight states are as the manual says' wait_for 20 all_states
like 'three objects are of no mail' "$said" '^9 objects, 3 others:'
like 'with -v each job has recipients and reasons' \
    "$("$top/mailq" -jv | check fields1 0)" '^9 objects, 3 others:'
like 'with filters objects are as the manual says' \
    "$("$top/mailq" -j state=retry,host |
    check fields1 2)" '^3 objects, 0 others: (retry host|host retry)$'
printf 'active\nidle\nclosed\nretry\nunused\n' >"$tmp/uses"
like 'destinations are as the manual says' "$("$top/mailq" -Dj |
    check fields2 0 uses)" '^[1-9][0-9]* objects, 3 others: [a-z ]*retry'
: >"$tmp/gate"
sched_stop
like 'without a scheduler objects are as the manual says' \
    "$("$top/mailq" -jv | check fields1 0)" '^[1-9][0-9]* objects, [1-9] others:$'
finish
