#!/bin/sh
# DSNs: a crash at every step of the end of a message.  Each failure is in a DSN
# at least once, who has a message gets it once, and a warning of a delay comes
# at most once.
#
# The scheduler, and the agent dsn, are killed at one system call after the
# other, by strace.  With BOUNCE_CALLS=all these are all that there are from the
# first to the last; without it, those that write, make a change last, or take
# something away.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/bounce.sh"

A=$top/t/agent
place() {
	po=$tmp/po
	conf "$tmp/cf" <<-END
	PARAMmailqsock none
	*/*	interval=1s retries=1 expiry=5d reporttimes="1h" delayreport
	fail/*	command="$A -c fail error no such user"
	local/*	command="$top/ta/mailbox -n -d $tmp/mail"
	late/*	command="$A -c late deferred not now"
	dsn/*	interval=1s retries=1
	END
	# The agent is traced once when there is a file that says how.
	rm "$tmp/bin/ta/dsn"
	agent dsn <<-END
	if mv "$tmp/how" "$tmp/used" 2>/dev/null; then
		exec strace -o "$tmp/trace" \$(cat "$tmp/used") "$top/ta/dsn" "\$@"
	fi
	exec "$top/ta/dsn" "\$@"
	END
}
calls='fsync,?sync,?unlink,?unlinkat,?rename,?renameat,?renameat2,write'
[ "${BOUNCE_CALLS-}" != all ] || calls=all
strace -f -o /dev/null -e trace=write -e inject=write:signal=KILL:when=1 \
    echo x >"$tmp/x" 2>&1
[ $? -gt 128 ] && traced=yes || traced=

fill_po() {
	rm -rf "$po" "$tmp/mail"
	spool_new "$po"
	mkdir "$tmp/mail"
	case $1 in
	end)	# a message with three ends, by agents
		simple "$po" 301-1 anna@a.example <<END
r           local - a 0
N NOTIFY=SUCCESS
r           fail h b@x.example 0
r           fail g c@x.example 0
END
		;;
	kept)	# no sender for a DSN: it is kept
		failing "$po" 301-1 '<>' b
		;;
	late)	# a warning is due
		old='90 minutes ago'
		simple "$po" 301-1 anna@a.example <<END
r           late h b@x.example 0
END
		old=
		;;
	esac
}
# Runs until all is done, or somebody has killed it.
over() {	# kind
	gone "$sched_pid" || { logged ' loaded ' && is_over "$1"; }
}
begin() {	# [strace option ...]
	VALGRIND=
	rm -f "$tmp/how" "$tmp/used"
	if [ $# -gt 0 ] && [ $victim = dsn ]; then
		echo "$*" >"$tmp/how"
	elif [ $# -gt 0 ]; then
		VALGRIND="strace -o $tmp/trace $*"
	fi
	: >"$tmp/sched.log"
	exec env MAILBIN="$tmp/bin" MAILSHARE="$tmp" LOGDIR="$tmp/log" \
	    $VALGRIND "$SCHEDULER" -i -P "$po" -f "$tmp/cf" </dev/null \
	    >"$tmp/sched.log" 2>&1 &
	sched_pid=$!
	lib_pids="$lib_pids $sched_pid"
	VALGRIND=
}
run() {		# kind [strace option ...]
	run_kind=$1
	shift
	begin "$@"
	wait_for 60 over "$run_kind"
}
# Ends the scheduler.  When it was traced, its tracer is the process that we
# know.
stop() {
	number=$(cat "$po/.pid.scheduler" 2>/dev/null)
	if ! gone "$sched_pid"; then
		kill -9 "${number:-$sched_pid}" 2>/dev/null
	fi
	wait_for 30 gone "$sched_pid" || kill -9 "$sched_pid"
	wait "$sched_pid" 2>/dev/null
	lib_forget "$sched_pid"
}
# What has come of it, in all DSNs.
dsns_for() {	# address: in how many DSNs
	grep -l "^Final-Recipient: $1\$" "$po/router/"* 2>/dev/null |
	    wc -l | tr -d ' '
}
is_kept() {	# by its name, or as a double bounce
	ls "$po/postman" | grep -E '^301-1(\.bounce-[0-9-]+)?$' >/dev/null
}
judge() {	# kind: what is wrong, or nothing
	case $1 in
	end)
		for j in 'x-local; a' 'rfc822; b@x.example' \
		    'rfc822; c@x.example'; do
			[ "$(dsns_for "$j")" -ge 1 ] || echo "$j: no DSN"
			[ "$(dsns_for "$j")" -le 2 ] || echo "$j: too often"
		done
		[ "$(grep -c '^Subject' "$tmp/mail/a")" -eq 1 ] ||
		    echo 'a: not delivered once'
		po_empty "$po" || echo 'it is still there'
		;;
	kept)
		[ "$(dsns_for 'rfc822; b@x.example')" -eq 0 ] || echo 'b: a DSN'
		is_kept || echo 'it was lost'
		;;
	late)
		[ "$(dsns_for 'rfc822; b@x.example')" -le 1 ] ||
		    echo 'b: warned twice'
		;;
	esac
	for j in "$po/router/"*; do
		[ ! -f "$j" ] || sh "$top/t/dsnread" "$j" | grep '^!'
	done
}
is_over() {	# kind
	case $1 in
	end) po_empty "$po" ;;
	kept) is_kept && po_empty "$po" ;;
	late) logged 'delivered .*host=delay' || { [ $victim = scheduler ] &&
	    grep '^r..........1' "$po/transport/301-1" >/dev/null &&
	    ! grep '^d ' "$po/transport/301-1" >/dev/null; } ;;
	esac
}
# The calls from the first one of this kind in the trace to the last: "name n",
# for the nth call of that name, which is how strace counts.
steps() {	# first-ERE last-ERE
	awk -v first="$1" -v last="$2" '
		/^[a-z_0-9]+\(/ {
			name = $0
			sub(/\(.*/, "", name)
			call[++n] = name " " ++count[name]
		}
		!from && $0 ~ first { from = n }
		$0 ~ last { to = n }
		END { for (i = from; from && i <= to; i++) print call[i] }' \
		"$tmp/trace"
}

was_killed() {
	if [ $victim = dsn ]; then
		logged 'agent-lost .*channel=dsn .*died of signal 9'
	else
		gone "$sched_pid"
	fi
}
crash() {	# kind victim first-ERE last-ERE title
	place
	kind=$1 victim=$2
	# a busy machine may have strace end before it has written all
	for try in 1 2 3; do
		fill_po $kind
		run $kind -e "trace=$calls"
		stop
		undisturbed=$(judge $kind)
		steps "$3" "$4" >"$tmp/steps"
		[ ! -s "$tmp/steps" ] || break
	done
	is "$5: right without a kill" "$undisturbed" ''
	all=$(wc -l <"$tmp/steps") wrong= killed=0
	ok "$5: there are steps to kill it at" test "$all" -gt 0
	while read -r call n <&3; do
		fill_po $kind
		run $kind -e "trace=$call" \
		    -e "inject=$call:signal=KILL:when=$n" 3<&-
		was_killed && killed=$((killed + 1))
		stop
		[ $victim = dsn ] && is_over $kind || {
			run $kind 3<&- || wrong="$wrong $call $n: no end;"
			stop
		}
		bad=$(judge $kind)
		[ -z "$bad" ] || wrong="$wrong $call $n: $bad;"
	done 3<"$tmp/steps"
	is "$5: right after a kill at each step" "$wrong" ''
	ok "$5: killed at most of the steps" \
	    eval '[ $killed -gt 0 ] && [ $killed -ge $((all * 2 / 3)) ]'
	diag "killed $killed times in $((all)) steps"
}

if [ -z "$traced" ]; then
	skip 'a kill at each step of the end of a message loses nothing' \
	    'no strace that can send a signal at a system call'
else
	beside 4 crash end scheduler 'write[(][0-9]*, "d ' 'unlink.*"301-1"' \
	    'the scheduler at the end of a message'
	beside 4 crash end dsn '.' 'write[(]1, "301/0' \
	    'the agent dsn at the end of a message'
	beside 4 crash kept scheduler 'write[(][0-9]*, "d ' 'rename.*"301-1"' \
	    'the scheduler with a message to keep'
	beside 4 crash kept dsn '.' 'write[(]1, "301/0' \
	    'the agent dsn with a message to keep'
	beside 4 crash late scheduler 'write[(][0-9]*, "d ' 'write[(][0-9]*, "301-1' \
	    'the scheduler with a DSN of a delay'
	beside 4 crash late dsn '.' 'write[(]1, "301/0' \
	    'the agent dsn with a DSN of a delay'
	beside_end
fi
finish
