# course.sh - shell functions for the exercises of scheduler-internals(7).
#
#	. t/course.sh		in the tree, once for each shell
#
# $course is a directory of this shell alone; remove it at the end.

course=${TMPDIR:-/tmp}/course.$$
mkdir -m 700 "$course" || return 1
POSTOFFICE=$course/po		# mailq asks there
MAILBIN=$PWD MAILSHARE=$PWD LOGDIR=$course
export POSTOFFICE MAILBIN MAILSHARE LOGDIR

# Makes an empty post office, and a configuration of these lines, in which
# t/agent stands for its path.
new() {		# [line ...]
	rm -rf "$POSTOFFICE" "$course/log"
	mkdir -p "$POSTOFFICE/queue" "$POSTOFFICE/transport"
	printf '%s\n' 'PARAMmailqsock none' "$@" |
	    sed "s|\"t/agent|\"$PWD/t/agent|" >"$course/cf"
}

# Puts messages into the post office, as a router does: see t/mkspool.c.
mail() {	# count [option of t/mkspool ...]
	mail_count=$1
	shift
	t/mkspool "$@" "$POSTOFFICE" "$mail_count"
}

# Starts the scheduler; its log goes on where that of the one before ended.
start() {	# [option ...]
	echo '-- start' >>"$course/log"
	./scheduler -i -f "$course/cf" "$@" 2>>"$course/log" &
	pid=$!
	await ' ready '
}

# Is a process over?  That of an agent may wait for a parent to ask.
is_gone() {	# pid
	! kill -0 "$1" 2>/dev/null ||
	    ps -o args= -p "$1" 2>/dev/null | grep defunct >/dev/null
}

# Ends it, by SIGTERM or by another signal, such as KILL, and waits for agents
# that it left behind.
stop() {	# [signal]
	kill "-${1:-TERM}" $pid
	wait $pid 2>/dev/null
	pid=
	for left in $(logged agent-start | sed 's/.* pid=//; s/ .*//'); do
		until_so is_gone "$left"
	done
}

# Waits until the command succeeds, for two minutes at most.
until_so() {	# command ...
	naps=120
	until "$@"; do
		naps=$((naps - 1))
		if [ $naps -eq 0 ]; then
			echo "waited in vain: $*"
			return 1
		fi
		sleep 1
	done
}

# Waits until so many lines of the log match, since the last start.
await() {	# ERE [count = 1]
	until_so eval "[ \$(logged '$1' | wc -l) -ge ${2:-1} ]"
}

# Waits until the queue is empty.
await_empty() {
	until_so eval '[ -z "$(find $POSTOFFICE/transport -type f)" ]'
}

# Prints the lines of the log that match, since the last start.
logged() {	# ERE
	awk '$0 == "-- start" { n = 0; next } { line[n++] = $0 }
	END { for (i = 0; i < n; i++) print line[i] }' "$course/log" |
	grep -E "$1"
}

# Prints their events.
events() {	# ERE
	logged "$1" | awk '{
		for (i = 1; i < NF; i++)
			if ($i ~ /^(err|warn|info|debug)$/)
				break
		print $(i + 1)
	}'
}
