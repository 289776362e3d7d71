#!/bin/sh
# DSNs: what became of a recipient, times what he asked for in NOTIFY.  All
# of them are of one vertex, and each has his own ORCPT: what holds for one is
# not to become another's.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

po=$tmp/po
ask=$top/t/ask
wishes='bare orcpt never f s d fs fd sd fsd'
ends='ok own relayed expanded quiet tagged error named lost late gone'

# Recipients END.WISH@x.example.  What has come of one, END says.
agent table <<'END'
LC_ALL=C
export LC_ALL
channel=$1 go=$2 out=$2.$1
tab=$(printf '\t')
echo '#hungry'
while IFS= read -r line && [ -n "$line" ]; do
	[ "$line" != '#idle' ] || { echo '#hungry'; continue; }
	job=${line%%"$tab"*}
	[ -f "$go" ] && now=ok || now='deferred not yet'
	rm -f "$out.tags" "$out.lines" "$out.said"
	awk -v channel="$channel" -v out="$out" -v job="$job" -v now="$now" '
	function line(action, status) {
		printf "d %s:-1:-1::1795220140\t%s\001%s\001%s\001%s\001%s" \
		    "\t%s\n", at, user, action, status, "x-local; 250 " user,
		    "", "about " user >(out ".lines")
	}
	function say(status) {
		print job + 0 "/" at "\t" (status !~ /^def/ ? "" : user \
		    "\001delayed\0014.2.2\001x-local; 450\001") "\t" status \
		    >(out ".said")
	}
	function tag(c) { print c, at >(out ".tags") }
	{ at = off + 0; off += length($0) + 1 }
	block { block = $0 != ""; next }
	/^m$/ { block = 1 }
	/^r / {
		split(substr($0, 13), w, " ")
		user = w[3]
		end = user
		sub(/[.].*/, "", end)
		if (w[1] != channel) next
		if (end == "ok") say("ok taken")
		if (end == "own") { line("delivered", "2.1.5"); say("ok2") }
		if (end == "relayed") { line("relayed", "2.1.9"); say("ok2") }
		if (end == "expanded") { line("expanded", "2.2.0"); say("ok2") }
		if (end == "quiet") say("ok3")
		if (end == "tagged") { line("delivered", "2.1.6"); tag("+") }
		if (end == "error") say("error who is that")
		if (end == "named") { line("failed", "5.1.1"); say("error2") }
		if (end == "lost") tag("-")
		if (end == "late" || end == "always") say(now)
		if (end == "gone") say("deferred no answer")
	}' "$job"
	[ ! -f "$out.lines" ] || cat "$out.lines" >>"$job"
	[ ! -f "$out.tags" ] || while read -r tag at; do
		printf %s "$tag" | dd of="$job" bs=1 seek=$((at + 1)) \
		    conv=notrunc 2>/dev/null
	done <"$out.tags"
	[ ! -f "$out.said" ] || cat "$out.said"
	echo '#hungry'
done
END

conf_of() {	# expiry PARAM line ...
	expiry=$1
	shift
	printf '%s\n' 'PARAMmailqsock none' 'PARAMglobal-report-interval 0' "$@"
	cat <<END
*/*	interval=1h retries=1 expiry=$expiry reporttimes=1h
some/*	command="table some $tmp/go"
every/*	delayreport command="table every $tmp/go"
END
}
rcpts() {	# channel end ...
	channel=$1
	shift
	for end; do
		for wish in $wishes; do
			echo "r           $channel h $end.$wish@x.example 0"
			[ "$wish" != bare ] || continue
			echo "N $(list $wish)ORCPT=rfc822;$end+2B$wish@old.example"
		done
	done
}
list() {	# wish
	case $1 in
	orcpt) ;;
	never) echo 'NOTIFY=NEVER ' ;;
	f) echo 'NOTIFY=FAILURE ' ;;
	s) echo 'NOTIFY=SUCCESS ' ;;
	d) echo 'NOTIFY=DELAY ' ;;
	fs) echo 'NOTIFY=SUCCESS,FAILURE ' ;;
	fd) echo 'NOTIFY=FAILURE,DELAY ' ;;
	sd) echo 'NOTIFY=SUCCESS,DELAY ' ;;
	fsd) echo 'NOTIFY=DELAY,SUCCESS,FAILURE ' ;;
	esac
}

# What the DSN in $tmp/r says of an end: its wishes, and what was said.
row() {		# end
	awk -v end="$1" -v wishes="$wishes" '
	$2 == "Original-Recipient:" { orcpt[$1] = $4 }
	$2 == "Final-Recipient:" { user[$1] = $4 }
	$2 == "Action:" { action[$1] = $3 }
	$2 == "Status:" { status[$1] = $3 }
	END {
		for (r in user) {
			split(user[r], w, "[.@]")
			if (w[1] != end)
				continue
			want = w[2] == "bare" ? "" : \
			    end "+" w[2] "@old.example"
			said[w[2]] = said[w[2]] " " w[2] "=" action[r] "/" \
			    status[r] (orcpt[r] == want ? "" : "!" orcpt[r])
		}
		n = split(wishes, w, " ")
		for (i = 1; i <= n; i++)
			printf "%s", said[w[i]]
	}' "$tmp/r"
}
expect() {	# title end action/status wish ...
	expect_title="$1: the DSNs of recipient $2 by NOTIFY"
	expect_end=$2 expect_what=$3 expect_want=
	shift 3
	for wish; do
		expect_want="$expect_want $wish=$expect_what"
	done
	is "$expect_title" "$(row "$expect_end")" "$expect_want"
}
nobody() {	# title end ...
	nobody_title=$1
	shift
	for end; do
		expect "$nobody_title" "$end" -
	done
}
order() {	# verb what
	"$ask" order "$po" "$1" "$2"
}
waiting() {	# message: how many are neither delivered nor failed
	grep -c '^r ' "$po/transport/$1"
}

table() {	# title PARAM line ...
	title=$1
	shift
	spool_new "$po"
	rm -f "$tmp/go"
	conf_of 5d "$@" >"$tmp/cf"
	old='90 minutes ago'
	{
		rcpts some $ends
		rcpts every always
	} | simple "$po" 401-1 anna@a.example
	old=
	ok "$title: the scheduler starts" sched_start "$po" "$tmp/cf"
	report "$po" 401-1
	is "$title: the DSN of a delay is well formed" \
	    "$(got '^!|^E to ')$(got '^H Subj')" \
	    'E to <anna@a.example>@H Subject: Delayed mail [DELAYED(14)]@'
	expect "$title, delayed" late delayed/4.0.0 d fd sd fsd
	expect "$title, delayed" gone delayed/4.0.0 d fd sd fsd
	expect "$title, all get DSNs of delays" always delayed/4.0.0 \
	    bare orcpt d fd sd fsd
	nobody "$title, not delayed" ok own relayed expanded quiet tagged \
	    error named lost
	is "$title: recipients without a final DSN wait" \
	    "$(waiting 401-1)" 30

	: >"$tmp/go"
	order flush all >/dev/null
	ok "$title: some recipients are delivered late" wait_for 30 eval \
	    '[ "$(waiting 401-1)" -eq 10 ]'
	conf_of 1h "$@" >"$tmp/cf"
	kill -HUP "$sched_pid"
	ok "$title: other recipients expire" wait_log 'complete msg=401-1' 30
	wait_for 30 po_empty "$po"
	# the log may be written after the files have gone
	ok "$title: one more DSN comes at the end" wait_for 30 eval \
	    '[ "$(ids 401-1)" -eq 2 ]'
	rm -f "$tmp/r"
	sh "$top/t/dsnread" "$po/router/$(files_of 401-1 |
	    tail -n 1)" >"$tmp/r" 2>&1
	is "$title: the last DSN is well formed" "$(got '^!|^E to |^H Subj')" \
	    'E to <anna@a.example>@H Subject: Undeliverable mail [FAILED(24),RELAYED-OK(4),DELIVERED-OK(20),EXPANDED-OK(4)]@'
	expect "$title" ok delivered/2.0.0 s fs sd fsd
	expect "$title, by the agent" own delivered/2.1.5 s fs sd fsd
	expect "$title" relayed relayed/2.1.9 s fs sd fsd
	expect "$title" expanded expanded/2.2.0 s fs sd fsd
	nobody "$title, none wanted" quiet
	expect "$title, not reported" tagged delivered/2.1.6 s fs sd fsd
	expect "$title" error failed/5.0.0 bare orcpt f fs fd fsd
	expect "$title, by the agent" named failed/5.1.1 bare orcpt f fs fd fsd
	expect "$title, not reported" lost failed/5.0.0 bare orcpt f fs fd fsd
	expect "$title" late delivered/2.0.0 s fs sd fsd
	expect "$title" gone failed/4.4.7 bare orcpt f fs fd fsd
	expect "$title" always delivered/2.0.0 s fs sd fsd
	sched_stop
	is "$title: no report is refused" "$(count 'refused|no such rec')" 0
	rm -rf "$po"
}

table 'message in core'
table 'message in parts' 'PARAMrecipients 12' 'PARAMrcptminimum 5'
finish
