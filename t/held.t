#!/bin/sh
# What an agent locks of a control file, and for how long.
. "${0%/*}/lib.sh"

po=$tmp/po
held=$top/t/held
tab=$(printf '\t')
spool_new "$po"

# A program that says it runs and ends when the file "go" is there.
cat >"$tmp/waits" <<END_
#!/bin/sh
: >"$tmp/runs"
until [ -f "$tmp/go" ]; do sleep $lib_nap; done
END_
chmod 755 "$tmp/waits"
echo "waits	n	$tmp/waits waits \$u" >"$tmp/sm.cf"
message() {	# name user ...
	name=$1
	shift
	{
		printf 'i %s\no 0\ns smtp - s@a.org 0\n' "$name"
		printf 'r           x h %s 0\n' "$@"
		printf 'm\nSubject: x\n\n'
	} | put_raw "$po" "$name"
}
# An agent that is fed one job.
sm() {		# name
	printf '%s\th\n' "$1" >"$tmp/job"
	(cd "$po/transport" && exec "$top/ta/sm" -0 -c x -f "$tmp/sm.cf" waits) \
	    <"$tmp/job" >>"$tmp/said" 2>&1
}
locker() {	# name: the process in the tag of a recipient
	sed -n 's/^r~ *\([0-9]*\).*/\1/p' "$po/transport/$1" | tail -n 1
}
tags() {	# name
	sed -n 's/^r\(.\).*/\1/p' "$po/transport/$1" | tr -d '\n'
}

# ---- the lock of a job ----------------------------------------------------

# The first address fails, which appends a diagnostic before the second runs.
message 1-1 -n good
bg sm 1-1
agent_pid=$bg_pid
wait_for 20 test -f "$tmp/runs"
is 'the first recipient has failed and has a diagnostic' \
    "$(tags 1-1)$(grep -c '^d' "$po/transport/1-1")" '-~1'
pid=$(locker 1-1)
is 'the file is locked by the process in the tag' \
    "$("$held" "$po/transport/1-1" "$pid")" held
is 'held finds no lock of a process that has none' \
    "$("$held" "$po/transport/1-1" 1)" free
kill -9 "$pid"
wait "$agent_pid" 2>/dev/null
bg "$held" -a "$po/transport/1-1" >"$tmp/guard"
wait_for 20 grep guard "$tmp/guard"
is 'held says unknown when another process has the lock' \
    "$("$held" "$po/transport/1-1" "$pid")" unknown
kill "$bg_pid"
wait "$bg_pid" 2>/dev/null
is 'a killed agent leaves its tag' "$(tags 1-1)" '-~'
is 'a killed agent leaves no lock' \
    "$("$held" "$po/transport/1-1" "$pid")" free
: >"$tmp/go"

# ---- the guard ------------------------------------------------------------

message 2-1 good
bg "$held" -g "$po/transport/2-1" >"$tmp/guard"
guard_pid=$bg_pid
wait_for 20 grep guard "$tmp/guard"
: >"$tmp/said"
sm 2-1
like 'another holder of the guard does not stop a job' "$(cat "$tmp/said")" \
    "2/[0-9]*$tab${tab}ok3"
kill "$guard_pid"

# Whoever can read the file can lock it.  What is counted are the naps after a
# try in vain, which a busy machine does not make longer.
message 3-1 good
bg "$held" -r "$po/transport/3-1" >"$tmp/guard"
guard_pid=$bg_pid
wait_for 20 grep guard "$tmp/guard"
title='a foreign lock delays a job by 0.4 seconds'
naps='?select,?_newselect,?pselect6,?pselect6_time64'
if strace -o /dev/null -e "trace=$naps" true 2>/dev/null; then
	printf '3-1\th\n' >"$tmp/job"
	(cd "$po/transport" && exec strace -o "$tmp/trace" \
	    -e "trace=?fcntl,?fcntl64,$naps" "$top/ta/sm" -0 -c x \
	    -f "$tmp/sm.cf" waits) <"$tmp/job" >"$tmp/said" 2>&1
	is "$title, and does not stop it" "$(awk '
	    / = -1 (EAGAIN|EACCES)/ && /F_SETLK/ { vain = 1; next }
	    vain && match($0, /tv_[un]sec=[0-9]+/) {
		split(substr($0, RSTART, RLENGTH), w, "=")
		all += w[2] / (w[1] == "tv_usec" ? 1e6 : 1e9)
	    }
	    { vain = 0 }
	    END { printf "%.3f", all }' "$tmp/trace") $(grep -c \
	    "3/[0-9]*$tab${tab}ok3" "$tmp/said")" '0.400 1'
else
	skip "$title, and does not stop it" 'no strace'
fi
kill "$guard_pid"

# ---- a message that a scheduler with another -H moves ---------------------------

message 52-1 good
mkdir "$po/queue/A"
mv "$po/queue/52-1" "$po/queue/A/52-1"
sm 52-1
is 'between the two moves of a message its job is deferred' \
    "$(grep -c "^52/[0-9]*$tab.*$tab.*deferred cannot open the message file" \
    "$tmp/said") $(tags 52-1 | tr ' ' _)" '1 _'
rm -r "$po/queue/A"
ln -s A "$po/queue/A"
sm 52-1
is 'the job of a message in a directory with an error is deferred' \
    "$(grep -c "^52/[0-9]*$tab.*$tab.*deferred cannot open the message file" \
    "$tmp/said") $(tags 52-1 | tr ' ' _)" '2 _'
rm "$po/queue/A"
sm 52-1
is 'a message that is nowhere fails' \
    "$(grep -c "^52/[0-9]*$tab.*${tab}error2 the message file is missing" \
    "$tmp/said") $(tags 52-1)" '1 -'

# Two agents get the same jobs at once: each recipient is for one of them.
rm -f "$tmp/runs"
cat >"$tmp/waits" <<END_
#!/bin/sh
echo "\$1" >>"$tmp/runs"
END_
i=10
while [ $i -lt 30 ]; do
	message $i-1 a$i b$i c$i
	printf '%s-1\th\n' $i
	i=$((i + 1))
done >"$tmp/jobs"
feed() {
	(cd "$po/transport" && exec "$top/ta/sm" -0 -c x -f "$tmp/sm.cf" waits) \
	    <"$tmp/jobs" >/dev/null 2>&1
}
bg feed
one=$bg_pid
bg feed
wait "$one" "$bg_pid"
is 'no recipient is served twice by two agents with the same jobs' \
    "$(sort "$tmp/runs" | uniq -d)$(wc -l <"$tmp/runs" | tr -d ' ')" 60

finish
