#!/bin/sh
# smtp is two processes: the keeper has our files, the talker the network.
# What the talker is and may do, and what becomes of the mail when it dies,
# hangs or lies; t/evil is an agent with a talker that does.
# Takes long.
. "${0%/*}/lib.sh"
. "${0%/*}/smtp.sh"

need_sockets
copy_agent
me=$(id -u)
srv=$tmp/s
serve_in "$srv"
mkfifo "$tmp/fifo"

one() {		# name [user ...]: a message, which others cannot read
	one_name=$1
	shift
	one_args=
	for one_user in ${*:-anna@b.org}; do
		one_args="$one_args smtp h $one_user"
	done
	put "$po" "$one_name" $one_args
	chmod 600 "$po/transport/$one_name" "$po/queue/$one_name"
}
tags() {	# name
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/$1" | tr ' \n' '_ ' | tr -d ' '
}
# The reports: "STATUS text", X.Y.Z in brackets where they have one.
reports() {
	awk -F "$tab" '/^[0-9]/ {
		split($2, w, "\001")
		print (w[3] == "" ? "" : "[" w[3] "] ") $3
	}' "$tmp/out"
}
# An agent that is fed through the fifo: sets pid; 7 is its standard input.
start() {	# command ...
	(cd "$po/transport" && exec "$@") <"$tmp/fifo" >"$tmp/out" 2>&1 &
	pid=$!
	lib_pids="$lib_pids $pid"
	exec 7>"$tmp/fifo"
}
job() {
	printf '%s\th\n' "$1" >&7
}
end() {
	exec 7>&-
	wait $pid
	end_rc=$?
	lib_forget $pid
}
find_talker() {	# sets talker, and whose it is
	set -- $(ps -A -o ppid= -o pid= -o user= | awk -v p=$pid '$1 == p')
	talker=$2 whose=$3
	[ -n "$talker" ]
}
# A talker in the middle of a message.
in_work() {	# [option ...]
	rm -f "$srv/go"
	echo 'dot wait' >"$srv/rules"
	: >"$srv/log"
	one 10-1
	start "$A" -R "[127.0.0.1]:$port" "$@"
	job 10-1
	wait_for 30 grep '> DATA' "$srv/log"
	find_talker
}
answer() {
	rm -f "$srv/went"
	: >"$srv/go"
	wait_for 30 test -f "$srv/went"
}
reported() {	# number of reports
	[ "$(reports | wc -l)" -ge "$1" ]
}
shows_fds() {
	ls "/proc/$talker/fd" >/dev/null 2>&1
}

# ---- who it is ------------------------------------------------------------------

ok 'the talker is a process of its own' in_work
if [ "$me" -eq 0 ]; then
	is 'the talker is nobody when the agent is root' "$whose" \
	    "$(id -un nobody 2>/dev/null || echo 65534)"
else
	is 'the talker is who we are when that is not root' "$whose" "$(id -un)"
fi
if shows_fds; then
	is 'the talker has two pipes, /dev/null and the connection' "$(
	    for fd in /proc/$talker/fd/*; do
		readlink "$fd" | sed 's/:.*//'
	    done | tr '\n' ' ')" 'pipe pipe /dev/null socket '
	is 'the talker is not in the post office' \
	    "$(readlink "/proc/$talker/cwd")" /
	groups() {	# pid
		sed -n 's/^Groups:[^0-9]*//p' "/proc/$1/status" |
		    awk '{ print NF }'
	}
	is 'the talker has no other group when the agent is root' \
	    "$(groups "$talker")" \
	    "$(if [ "$me" -eq 0 ]; then echo 0; else groups $pid; fi)"
else
	for i in 1 2 3; do
		skip 'the talker has few descriptors and groups' \
		    'no /proc'
	done
fi
if [ "$me" -eq 0 ] && as_nobody true >/dev/null 2>&1; then
	nok 'the user of the talker cannot read a control file' as_nobody cat \
	    "$po/transport/10-1"
else
	skip 'the user of the talker cannot read a control file' \
	    'only root has another'
fi
answer
end
is 'the message is delivered through the talker' "$(tags 10-1)" +
ok 'the talker ends with the keeper' gone "$talker"
is 'the server has the whole message' \
    "$(sed 's/.$//' "$srv/msg.1")" 'Subject: 10-1

body of 10-1'

if [ "$me" -ne 0 ]; then
	for i in 1 2 3 4 5 6 7; do
		skip 'the talker has the user of -u and the root of -t' \
		    'only root can'
	done
else
	in_work -u 12345
	is 'the talker has the user of -u' "$whose" 12345
	answer
	end
	is 'the talker with the user of -u delivers' "$(tags 10-1)" +
	mkdir "$tmp/root"
	in_work -t "$tmp/root" -l "$tmp/log/smtp"
	if shows_fds; then
		is 'the talker has the root of -t' \
		    "$(readlink "/proc/$talker/root")" \
		    "$(cd "$tmp/root" && pwd -P)"
	else
		skip 'the talker has the root of -t' 'no /proc'
	fi
	answer
	end
	is 'the talker with the root of -t delivers' "$(tags 10-1)" +
	like 'the keeper writes the transcript' "$(cat "$tmp/log/smtp")" \
	    "^$pid > RCPT TO:<anna@b.org>"
	one 10-1
	start "$A" -t "$tmp/none" -R "[127.0.0.1]:$port"
	job 10-1
	end
	like 'a root of -t that is not there is named' "$(cat "$tmp/out")" \
	    "^# .*cannot change its root to $tmp/none: "
	like 'a message waits when the root of -t is not there' "$(reports)" \
	    '^\[4\.3\.0\] deferred .*ended with exit code 77'
fi
if [ "$me" -eq 0 ] && as_nobody true >/dev/null 2>&1; then
	one 10-1
	chown nobody "$po/transport/10-1" "$po/queue/10-1" "$po/transport"
	printf '10-1\th\n' >"$tmp/jobs"
	as_nobody sh -c 'cd "$1/transport" && shift && exec "$@"' sh "$po" \
	    "$A" -R "[127.0.0.1]:$port" <"$tmp/jobs" >"$tmp/out" 2>&1
	is 'an ordinary user delivers' "$(tags 10-1)" +
	chown root "$po/transport"
else
	skip 'an ordinary user delivers' 'we are one, or can be no other'
fi
nok 'a user that is not known is refused' "$A" -u no.such.user </dev/null
like 'a user that is not known is named' \
    "$("$A" -u no.such.user </dev/null 2>&1)" \
    '^smtp: -u: no user no\.such\.user$'
for o in '-u 1' '-t /'; do
	is "one process has no user or root of its own: $o" \
	    "$({ "$A" -o $o; echo $?; } </dev/null 2>&1 | tr '\n' ' ')" \
	    'smtp: -o goes with neither -t nor -u 64 '
done
nok 'smtp -o has no talker' in_work -o
answer
end
is 'smtp -o delivers' "$(tags 10-1)" +

# ---- it dies, it hangs --------------------------------------------------------

in_work
kill -KILL "$talker"
ok 'a talker that dies makes a report' wait_for 30 reported 1
like 'a talker that dies defers the message with its signal' "$(reports)" \
    '^\[4\.3\.0\] deferred .*network died of signal 9$'
is 'a talker that dies leaves no lock' "$(tags 10-1)" _
answer
one 11-1
job 11-1
end
is 'the next job after a talker that died gets a new one' "$(tags 11-1)" +
is 'the keeper of a talker that died goes on' $end_rc 0

in_work -T lookup=3s
kill -STOP "$talker"
ok 'a talker that hangs makes a report' wait_for 60 reported 1
like 'a talker that hangs defers the mail of the host' "$(reports)" \
    '^\[4\.4\.3\] deferall .*network said nothing for 3s'
ok 'a talker that hangs is killed' wait_for 30 gone "$talker"
answer
end

in_work -T lookup=8s
sleep 9		# longer than that, and the server is slow
answer
end
is 'a talker that waits for its server does not hang' "$(tags 10-1)" +

in_work -T idle=1s
answer
ok 'a talker without work ends' wait_for 30 gone "$talker"
ok 'a talker without work says QUIT' wait_for 30 grep '> QUIT' "$srv/log"
one 11-1
job 11-1
end
is 'a job after a talker that ended is delivered' "$(tags 11-1)" +
in_work -T idle=1h
answer
wait_for 30 reported 1
kill -9 "$talker"
one 11-1
job 11-1
end
is 'a talker that died without work defers no mail' "$(tags 11-1)" +

in_work -T lookup=4s
kill -KILL $pid
ok 'a talker ends when its keeper is killed' wait_for 60 gone "$talker"
end
answer
in_work
kill -TERM $pid "$talker"
answer
end
is 'a talker that gets SIGTERM finishes the message' "$(tags 10-1)" +

# ---- it lies ---------------------------------------------------------------------

evil() {	# title tags report [option] bytes
	evil_title=$1 evil_tags=$2 evil_report=$3
	shift 3
	one 10-1 anna@b.org otto@b.org
	start "$top/t/evil" "$@"
	job 10-1
	end
	like "a talker that lies, $evil_title" \
	    "$(tags 10-1) $(reports | tr '\n' ';')" \
	    "^$evil_tags .*$evil_report"
}
wrong='\[4\.3\.0\] deferred .*sent an invalid request.*;$'
d='5:4.2.12:no-:-:-:'
evil 'two verdicts, and the end' __ \
    '\[4\.2\.1\] deferred no;\[4\.2\.1\] deferred no;$' "V0:75:${d}V1:75:${d}E"
evil 'the end without a verdict' __ 'no verdict;.*no verdict;$' E
evil 'a verdict for one who is not there' __ "$wrong" "V2:75:$d"
evil 'a verdict for a number without end' __ "$wrong" \
    "V99999999999999999999999:75:$d"
evil 'a verdict twice' __ "\\[4\\.2\\.1\\] deferred no;$wrong" \
    "V0:75:${d}V0:0:-:2:ok-:-:-:"
evil 'an unknown code' __ "$wrong" 'V0:1:5:5.0.02:no-:-:-:'
evil 'a code that wraps around' __ "$wrong" \
    'V0:18446744073709551616:5:2.0.02:no-:-:-:'
evil 'a status of another class' __ "$wrong" 'V0:69:5:4.0.02:no-:-:-:'
evil 'a failure without a status' __ "$wrong" 'V0:69:-:2:no-:-:-:'
evil 'a status that is none' __ "$wrong" 'V0:69:5:5.1.a2:no-:-:-:'
evil 'no text' __ "$wrong" 'V0:69:5:5.1.1-:-:-:-:'
evil 'an end of line in the text' __ "$wrong" 'V0:75:5:4.2.13:a\012b-:-:-:'
evil 'a NUL in the text' __ "$wrong" 'V0:75:5:4.2.13:a\000b-:-:-:'
evil 'an escape in the server'\''s words' __ "$wrong" \
    'V0:75:5:4.2.12:no-:3:a\033b-:'
evil 'an action of its own' __ "$wrong" 'V0:0:-:2:ok8:expanded-:-:'
evil 'a text that is too long' __ "$wrong" 'V0:75:5:4.2.11000:'
evil 'a length that no memory has' __ "$wrong" 'V0:75:5:4.2.14294967297:no'
evil 'a length below zero' __ "$wrong" 'V0:75:5:4.2.1-2:no'
evil 'a length without digits' __ "$wrong" 'V0:75:5:4.2.1:no'
evil 'a letter that means nothing' __ "$wrong" X
evil 'the message of one who is not there' __ "$wrong" M2:
evil 'no answer to a piece of the message' __ "$wrong" M0:E
evil 'a log line that is too long' __ "$wrong" L1000:
evil 'a verdict counts, what follows does not' '[+]_' "$wrong" \
    'V0:0:-:2:ok-:-:-:X'
evil 'half a verdict, and silence' __ 'deferall .*said nothing for 3s' \
    'V0:75:5:4.2.110:no'
evil 'silence' __ 'deferall .*said nothing for 3s' ''
evil 'the end of its pipes alone' __ 'deferred .*died of signal 9' -c ''
evil 'an exit' __ 'deferred .*ended with exit code 3' -x 3 'V0:'

# The file of dead hosts.
lines_of() {	# line ...: as requests of the talker
	for line; do
		printf 'L%s:%s' ${#line} "$line"
	done
}
evil 'no address in a line on a dead host' __ "$wrong" -k "$tmp/dead" \
    "$(lines_of '- a b' '- a;b' '- ' '* [127.0.0.9]:25' '-[127.0.0.8]:25' \
    '- [127.0.0.1]:25' '- ../x' '- [127.0.0.7]:25' \
    '+ [127.0.0.7]:25')L1:\\000X"
is 'the file of dead hosts has addresses alone' \
    "$(sed 's/^[0-9]* //' "$tmp/dead")" '[127.0.0.1]:25'
evil '150 dead hosts' __ "$wrong" -k "$tmp/dead" "$(lines_of $(awk 'BEGIN {
    for (i = 0; i < 150; i++) print "-@[192.0.2." i "]:25" }') | tr @ ' ')X"
is 'the file of dead hosts has 100 lines' "$(wc -l <"$tmp/dead" | tr -d ' ')" 100

left_behind() {
	ps -A -o ppid= -o args= | grep "^ *1 $top/t/evi[l] "
}
nok 'none of these talkers is left' left_behind

# By chance: each job ends, with a verdict for each recipient or nobody left.
runs=${FUZZ_RUNS:-300}
seed=${FUZZ_SEED:-1}
one 10-1 anna@b.org otto@b.org
cp "$po/transport/10-1" "$tmp/ctl"
awk -v n="$runs" 'BEGIN { while (n-- > 0) print "10-1\th" }' >"$tmp/jobs"
(cd "$po/transport" && exec "$top/t/evil" -r "$seed") <"$tmp/jobs" \
    >"$tmp/out" 2>&1
is "bytes by chance, seed $seed: the keeper goes on" $? 0
is "bytes by chance, seed $seed: each job has its answer" \
    "$(grep -c '^#hungry' "$tmp/out")" $((runs + 1))
is "bytes by chance, seed $seed: every recipient has a verdict" \
    "$(awk '/^#hungry/ { if (job && n != left && !re) print "job " job ": " n
		left -= gone; job++; n = gone = re = 0 }
	/^[0-9]/ { n++; if (/\tok|\terror/) gone++ }
	/^#resync/ { re = 1 }
	BEGIN { left = 2 }' "$tmp/out" | sed 3q)" ''
finish
