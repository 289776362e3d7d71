# core.sh - what the tests of a queue larger than memory share; read behind
# lib.sh.

A=$top/t/agent
po=$tmp/po
out=$tmp/out
ask=$top/t/ask
pipe=$po/public/.mailq.text

# What the last run said of itself at its end.
peak() {	# msgs | rcpts
	lines ' core peak' | sed "s/.*peak-$1=\([0-9]*\).*/\1/"
}
at_most() {	# name number limit
	if [ "${2:-999999999}" -le "$3" ]; then
		pass "$1"
	else
		fail "$1" "$2 is more than $3"
	fi
}
start() {
	sched_start "$po" "$tmp/cf" -q "$pipe" "$@"
}
fresh() {
	rm -rf "$po" "$out"
	spool_new "$po"
	: >"$out"
}
# How many different recipients there are in $out, and how many lines.
once() {
	echo "$(cut -d' ' -f1,2 "$out" | sort -u | wc -l | tr -d ' ')" \
	    "$(wc -l <"$out" | tr -d ' ')"
}
got() {		# lines
	[ "$(wc -l <"$out")" -ge "$1" ]
}

# Agents of a scheduler that was killed finish what they have in hand.
agents_gone() {
	for p in $(awk '{ print $4 }' "$out" | sort -u); do
		! alive "$p" || return 1
	done
}
