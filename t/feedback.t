#!/bin/sh
# What is known of a destination: its window, its death, its rate.
. "${0%/*}/lib.sh"

B=$top/t/fbtest
V=$top/t/fbvec

# ---- the vectors ----------------------------------------------------------------

"$V" <"$top/t/vectors/feedback.txt" >"$tmp/tap"
is 'all vectors of feedback hold' $? 0
is 'no vector of feedback is left out' "$(grep -c '^ok [0-9]* - ' "$tmp/tap")" \
    "$(grep -c '^VECTOR' "$top/t/vectors/feedback.txt")"
is 'the replay prints one line beside its results' \
    "$(grep -vc '^ok ' "$tmp/tap")" 1
is 'the replay ends with its plan' "$(tail -n 1 "$tmp/tap")" \
    "1..$(grep -c '^VECTOR' "$top/t/vectors/feedback.txt")"

# One vector: its parameters, and the lines after them.
vector() {	# [params [lines ...]] >file
	echo '# a comment'
	echo
	echo "VECTOR one"
	echo "  params ${1:-pos=1 neg=1 init=5 limit=20 cohort=1 rules=readme}"
	[ $# -eq 0 ] || shift
	[ $# -gt 0 ] || set -- 'events -*2+@1' 'windows 4 3 3' 'dead 0 0 0'
	printf '  %s\n' "$@"
	echo END
}
P='pos=1 neg=1 init=5 limit=20 cohort=1 rules=readme'
E='events -*2T'
W='windows 4 3 3'
D='dead 0 0 0'

replay() {	# [argument of vector ...]: status and the first line
	vector "$@" >"$tmp/one"
	"$V" <"$tmp/one" >"$tmp/tap" 2>"$tmp/err"
	echo "$? $(head -n 1 "$tmp/tap")"
}

holds() {	# name [argument of vector ...]
	lib_name=$1
	shift
	is "$lib_name" "$(replay "$@")" '0 ok 1 - one'
}

differs() {	# name argument of vector ...
	lib_name=$1
	shift
	is "$lib_name" "$(replay "$@")" '1 not ok 1 - one'
}

malformed() {	# name line argument of vector ...
	lib_name=$1
	lib_line=$2
	shift 2
	is "malformed vector: $lib_name" \
	    "$(replay "$@" | sed "s/line $lib_line: .*/line L/")" \
	    '65 Bail out! line L'
}

holds 'a timer event of a host that is not dead changes nothing' \
    "$P" "$E" "$W" "$D"
holds 'a numbered line for one event is enough' "$P" "$E" "$W" "$D" \
    '2 - 4 3 0 0 0.45 0 a note'
holds 'counters are the same within 1e-12' "$P" "$E" "$W" "$D" \
    '2 - 4 3 0 0 0.45000000000009 0'
differs 'counters differ by more than 1e-11' "$P" "$E" "$W" "$D" \
    '2 - 4 3 0 0 0.45000000001 0'
like 'a counter that differs is named with its event' \
    "$(cat "$tmp/tap")" '^# event 2, - with 4 busy'
differs 'another success counter is found' \
    "$P" "$E" "$W" "$D" '2 - 4 3 0.1 0 0.45 0'
differs 'another failure counter is found' \
    "$P" "$E" "$W" "$D" '2 - 4 3 0 0.1 0.45 0'
differs 'another number of busy agents is found' \
    "$P" "$E" "$W" "$D" '2 - 5 3 0 0 0.45 0'
differs 'another window in a numbered line is found' "$P" "$E" "$W" "$D" \
    '2 - 4 4 0 0 0.45 0'
differs 'another last window is found' "$P" "$E" 'windows 4 3 4' "$D"
differs 'another last state dead is found' "$P" "$E" "$W" 'dead 0 0 1'
is 'a vector with other rules is skipped' \
    "$(replay "${P%readme}shipped" "$E" "$W" "$D")" \
    '0 ok 1 - one # skip other rules'

malformed 'an unknown event' 5 "$P" 'events -*2X' "$W" "$D"
malformed 'an event without its repetition' 5 "$P" 'events -*T' "$W" "$D"
malformed 'an event repeated 0 times' 5 "$P" 'events -*0' "$W" "$D"
malformed 'busy given twice' 5 "$P" 'events -@1@2' "$W" "$D"
malformed 'too few windows' 6 "$P" "$E" 'windows 4 3' "$D"
malformed 'too many windows' 6 "$P" "$E" "$W 3" "$D"
malformed 'a window that is no number' 6 "$P" "$E" 'windows 4 3 -3' "$D"
malformed 'dead as no 0 or 1' 7 "$P" "$E" "$W" 'dead 0 0 2'
malformed 'no windows line' 7 "$P" "$E" "$D"
malformed 'no dead line' 7 "$P" "$E" "$W"
malformed 'no events line' 5 "$P" "$W" "$D"
malformed 'a numbered line out of order' 9 "$P" "$E" "$W" "$D" \
    '2 - 4 3 0 0 0.45 0' '1 - 5 4 0 0 0.2 0'
malformed 'a numbered line of no event' 8 "$P" "$E" "$W" "$D" \
    '4 - 4 3 0 0 0.45 0'
malformed 'a numbered line of another event' 8 "$P" "$E" "$W" "$D" \
    '2 + 4 3 0 0 0.45 0'
malformed 'a numbered line without its end' 8 "$P" "$E" "$W" "$D" \
    '2 - 4 3 0 0 0.45'
malformed 'a counter that is no number' 8 "$P" "$E" "$W" "$D" \
    '2 - 4 3 0 0 nan 0'
malformed 'a line of no kind' 8 "$P" "$E" "$W" "$D" 'deaths 0 0 0'
malformed 'a parameter missing' 4 "${P% *}" "$E" "$W" "$D"
malformed 'a parameter twice' 4 "$P init=5" "$E" "$W" "$D"
malformed 'an unknown parameter' 4 "$P x=5" "$E" "$W" "$D"
malformed 'a rule that is none' 4 "pos=2 ${P#* }" "$E" "$W" "$D"
like 'a malformed rule is named with the reason' \
    "$(cat "$tmp/err")" 'line 4: .*between 0 and 1: 2'

cut_off() {	# sed command: the status for a vector changed by it
	vector | sed "$1" | "$V" >"$tmp/tap" 2>&1
	echo $?
}
is 'a vector file without END is refused' "$(cut_off '$d')" 65
is 'a vector file without VECTOR is refused' "$(cut_off 3d)" 65
is 'a vector file without vectors is refused' "$(cut_off 3,8d)" 65
is 'a vector name of two words is refused' "$(cut_off '3s/$/ two/')" 65

# ---- feedback in words ----------------------------------------------------------

rules() {	# wanted text ...
	lib_want=$1
	shift
	for lib_text; do
		lib_title="the rule '$lib_text' is read as $lib_want"
		lib_got=$("$B" rule "$lib_text")
		case $lib_got in
		"$lib_want" | "$lib_want "*) pass "$lib_title" ;;
		*) fail "$lib_title" "got: $lib_got" ;;
		esac
	done
}
rules 'const 1' 1 1.0 5/5 '1 '
rules 'const 0' 0 0/5
rules 'const 0.125' 1/8 '1 / 8' '1/ 8' '1 /8' ' 1/8'
rules 'const 0.25' 0.25
rules 'const 0.5' .5 2/4
rules 'const 0.2' 0.1/0.5
rules 'const 0.1' 0.1 00.10 0.1000000000 1/10.
rules 'const 0.001' 1/1000 0.001
rules 'win 1' 1/concurrency '1 / concurrency' 1/Concurrency \
    '1 / CONCURRENCY' '1/ concurrency'
rules 'win 0.5' 0.5/concurrency
rules 'win 0' 0/concurrency
rules 'sqrt 1' 1/sqrt_concurrency '1 / sqrt_concurrency' 1/SQRT_CONCURRENCY
rules 'sqrt 0.5' 0.5/sqrt_concurrency
rules REJECT 2/concurrency 2 1.01 -1 -0.1 3/2 1/0 1/-2 -1/-2 1/0.5 1/ /2 '' \
    abc 1/abc 1/2x '1/2 x' 1/2/2 1//2 nan inf 1/inf 1/nan concurrency \
    concurrency/1 '1/concurrency ' 1/concurrencyx 1/concurrenc \
    1/aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa inf/inf 1e999 1/1e-999 ' '
rules REJECT 1e-1 1/1e3 "1$(printf '%0400d' 0)" "1/0.$(printf '%0400d' 1)"
rules REJECT '1 x' 1x 0.5abc 1,5 0,5
rules REJECT 0x1p-2 0x0 1e . .e1 1e+ +-1 e1
like 'a wrong feedback rule is answered with the reason' \
    "$("$B" rule 1x)" 'something other than a /'

# ---- rates ------------------------------------------------------------------------

rate() {	# text wanted
	is "the rate '$1' is read as $2" \
	    "$("$B" rate "$1" | cut -d' ' -f"1-${3:-3}")" "$2"
}
rate 10/m '10 in 60'
rate 25/h '25 in 3600'
rate 1/2s '1 in 2'
rate 3/d '3 in 86400'
rate 1000000/1000d '1000000 in 86400000'
for text in '' 10 10/ 10/x 0/m -1/m 1.5/m 10/0s 10/-1s 10/mm '10 /m' 10/m5 \
    /m m 1000001/s 1/1001s 99999999999999999999/s 1/99999999999999999999s; do
	rate "$text" REJECT 1
done
like 'a wrong rate is answered with an example' \
    "$("$B" rate 10)" 'an example is 10/m'

starts() {	# name wanted rate t ...
	lib_name=$1
	lib_want=$2
	shift 2
	is "$lib_name" "$("$B" starts "$@" | tr '\n' ' ')" "$lib_want "
}
starts 'starts are spread evenly' \
    'start wait 6 wait 0.5 start wait 6 start' 10/m 0 0 5.5 6 6 12
starts 'a start that is a little late does not delay the next' \
    'start start wait 5.5 start wait 6' 10/m 0 6.5 6.5 12 12
starts 'a long pause allows one start, not several' \
    'start start wait 6 start' 10/m 0 600 600 606
starts 'a pause of half a gap allows one start, not two' \
    'start start wait 6' 10/m 0 9 9
starts 'the first start is at once, whatever the rate' \
    'start wait 86400 start' 1/d 5 5 86405
starts 'without a rate all starts are at once' 'start start start' - 0 0 0

# ---- when it may be forgotten -----------------------------------------------------

forget() {	# wanted rate window busy since idle [sleep]
	lib_want=$1
	echo "*/*	command=x cohorts=1 forget=$6" >"$tmp/forget.cf"
	[ "$2" = - ] || echo "	rate=$2" >>"$tmp/forget.cf"
	shift
	is "forget: rate $1, window $2, $3 busy, last used $4 of $5 s ago${6+, dead for $6 s}" \
	    "$("$B" forget "$tmp/forget.cf" "$2" "$3" "$4" ${6+"$6"})" \
	    "$lib_want"
}
forget no - 5 0 99 100
forget yes - 5 0 100 100
forget no - 5 1 100 100
forget no - 0 0 100 100
forget no - 0 0 100 100 101
forget yes - 0 0 100 100 100
forget no - 0 0 99 100 9
forget no 1/h 5 0 100 100
forget yes 1/h 5 0 3600 100
forget no 10/h 5 0 359 100
forget yes 10/h 5 0 360 100

# ---- properties -------------------------------------------------------------------

is 'random reports keep all rules of windows' "$("$B" windows 1 20000)" fine
is 'random starts keep all rules of rates' "$("$B" rates 1 20000)" fine
seed=$$
is "reports and starts from seed $seed keep all rules" \
    "$("$B" windows $seed 5000) $("$B" rates $seed 5000)" 'fine fine'
finish
