#!/bin/sh
# One fault at each system call of a program, by strace: an error, or a kill.
# Then the program runs again without a fault, as after a crash.  t/faults.t
# does this for the scheduler, by LD_PRELOAD, and t/bounce-crash.t kills the
# scheduler at each call.
#
# submit and submit -q: a message that submit took is there once, one that it
# refused is not there, or submit said that it may be.  submit -q, run again,
# has routed once what lay in router/, or deferred it with a reason.
# Agents: the second run gets what the first one did not report, and then every
# recipient is delivered to.  A second copy comes from a kill alone, and only
# behind the point at which the first one was whole; an error may lose an answer
# to smtp, and the exit status of a program, too.  mailq: it shows the queue as it is, and a command is done; or
# its exit code is not 0 and it says why.
# No trial leaves a process, or a file that the next run or a round of
# submit -qT does not remove.
#
# Without CALLS some calls are tried; CALLS=all is each of all programs, and
# CALLS='smtp sm' each of these.  What strace says of a trial that fails is kept
# in the directory $KEEP.
# Takes long.
. "${0%/*}/lib.sh"

strace -f -b execve -o /dev/null -e trace=write \
    -e inject=write:signal=KILL:when=1 echo x >"$tmp/x" 2>&1
[ $? -gt 128 ] || skip_all 'no strace that can send a signal at a system call'
command -v timeout >/dev/null 2>&1 || skip_all 'no timeout'
for i in NO_FSYNC NO_PWD; do	# what is synced is seen, and boxes have owners
	without $i && skip_all "built with $i"
done
ulimit -n 64	# some programs close all descriptors that there may be
tab=$(printf '\t')
me=$(id -u)
user=
[ "$me" -ne 0 ] || user=$(awk -F: '$3 > 0 && $1 != "nobody" { print $1; exit }' \
    /etc/passwd)
printf '*@* smtp -\n* local -\n' >"$tmp/routes"
chmod 644 "$tmp/routes"
routes=$tmp/routes
port=
if ! without NO_TCP; then
	srv=$tmp/srv
	mkdir "$srv"
	bg "$top/t/smtpd" "$srv"
	wait_for 30 test -s "$srv/port"
	port=$(cat "$srv/port")
fi

# ---- submit and submit -q --------------------------------------------------

office() {	# a new post office, which submit -qT has seen at the hour 0
	rm -rf "$po" "$tmp/mail"
	spool_new "$po"
	mkdir -m 700 "$po/private" "$po/deferred"
	mkdir -m 1777 "$tmp/mail"
	chmod 1777 "$tmp/mail"
}
message() {	# channel host user
	put_raw "$po" 10-1 <<-END
	i 10-1
	o 9
	l <x@test>
	s smtp - s@a.org 0
	r           $1 $2 $3 $me
	m
	Subject: x

	END
	printf 'skipped: the body\n' >"$po/queue/10-1"
}
fill() {
	office
	case $program in
	qrun) printf 'to <anna>\nenv-end\nSubject: x\n\nthe body\n' \
	    >"$po/router/77" ;;
	mbox) message local - anna ;;
	maildir) message local - anna/ ;;
	box | dir) message local - "$user" ;;
	smtp) message smtp h anna@b.org
		rm -f "$srv"/msg.* ;;
	sm) message x h anna ;;
	pipe) message local - "|$tmp/prog" ;;
	hold) message hold TIME:1000000000 anna ;;
	errormail) message error expired anna ;;
	dsn) message fail h anna
		{
			sed 's/^r /r-/' "$po/transport/10-1"
			printf 'd 41:0:-1::1795220140\tanna\001failed\0015.1.1'
			printf '\001\001\tno\n'
		} >"$tmp/ctl"
		cp "$tmp/ctl" "$po/transport/10-1" ;;
	esac
}
run() {		# [command ...]
	case $program in
	submit) printf 'Subject: x\n\nthe body\n' |
	    "$@" "$top/submit" -P "$po" -C "$routes" anna ;;
	qrun) "$@" "$top/submit" -q -P "$po" -C "$routes" </dev/null ;;
	mbox | maildir) job - "$@" "$top/ta/mailbox" -n -d "$tmp/mail" ;;
	box) job - "$@" "$top/ta/mailbox" -d "$tmp/mail" ;;
	dir) job - "$@" "$top/ta/mailbox" -f "$tmp/mail/%u/" ;;
	pipe) job - "$@" "$top/ta/mailbox" -0 -d "$tmp/mail" ;;
	smtp) job h "$@" "$top/ta/smtp" -R "[127.0.0.1]:$port" ;;
	sm) job h "$@" "$top/ta/sm" -0 -c x -f "$tmp/sm.cf" prog ;;
	hold) job TIME:1000000000 "$@" "$top/ta/hold" ;;
	errormail) job expired "$@" "$top/ta/errormail" -n mx.here ;;
	dsn) job failure "$@" "$top/ta/dsn" -n mx.here ;;
	query) "$@" "$top/mailq" -q "$tmp/spo/public/.mailq.text" </dev/null ;;
	command) POSTOFFICE=$tmp/spo "$@" "$top/mailq" hold smtp/h </dev/null ;;
	files) POSTOFFICE=$tmp/files "$@" "$top/mailq" </dev/null ;;
	esac >"$tmp/out" 2>"$tmp/err"
}
job() {		# host command ...
	job_host=$1
	shift
	printf '10-1\t%s\n' "$job_host" | (cd "$po/transport" && exec "$@")
}

# ---- what came of it -------------------------------------------------------

# Sets the tags that the scheduler would set: of what was reported, and of locks.
settle() {
	LC_ALL=C awk -F "$tab" '
	FILENAME == ARGV[1] {
		if ($0 !~ /^[0-9]+\/[0-9]+\t/)
			next
		at = $1
		sub(/.*\//, "", at)
		tag[at + 0] = $3 ~ /^ok/ ? "+" : $3 ~ /^error/ ? "-" : " "
		next
	}
	/^r/ && off in tag && tag[off] != " " {
		$0 = "r" tag[off] "      " substr($0, 9) }
	/^r~/ { $0 = "r       " substr($0, 9) }
	{ print; off += length($0) + 1 }
	END { if (tag[0] == "+") print "told" }' \
	    "$tmp/out" "$po/transport/10-1" >"$tmp/ctl"
	told=
	[ "$(tail -n 1 "$tmp/ctl")" != told ] || told=told
	sed '/^told$/d' "$tmp/ctl" >"$po/transport/10-1"
}
is_done() {
	if [ $program = dsn ]; then
		[ -n "$told" ]
	else
		grep '^r+' "$po/transport/10-1" >/dev/null
	fi
}
copies() {
	case $program in
	submit | qrun)
		cat "$po"/transport/[1-9]* 2>/dev/null |
		    grep '^r .* local - anna' ;;
	mbox | box) cat "$tmp"/mail/* ;;
	maildir | dir) cat "$tmp"/mail/*/new/* ;;
	smtp) cat "$srv"/msg.* ;;
	sm | pipe) cat "$tmp/mail/got" ;;
	hold) cat "$po"/router/* ;;
	*) sed -n 's/^Final-Recipient:.*/the body/p' "$po"/router/* ;;
	esac 2>/dev/null | grep -c -e '^the body' -e ' anna '
}
# What is neither a message nor ours to keep.  Readers of a Maildir remove from
# its tmp/ what a killed process left there.
left() {
	(cd "$po" && find . ! -type d ! -name .submit.lock ! -name .tidy \
	    ! -path './queue/[1-9]*' ! -path './transport/[1-9]*' \
	    ! -path './router/[1-9]*' ! -path './deferred/77*'
	cd "$tmp/mail" && find . ! -type d ! -name anna ! -name got \
	    ! -name "$user" ! -path '*/new/*' |
	    if grep 'killed by SIGKILL' "$tmp/trace" >/dev/null; then
		grep -v '/tmp/'
	    else
		cat
	    fi)
}
round() {	# of submit -qT, at that second
	set_clock "$tmp/mono" $1
	MONO=$tmp/mono WALL=$tmp/wall "$top/t/clocksubmit" -qT -P "$po" \
	    >"$tmp/round" 2>&1
}
# Is this line of the trace, an ERE, before the fault, or before that of the
# second process?
was_behind() {
	awk -v re="$1" '/killed by SIGKILL|INJECTED/ { behind = met }
	    $0 ~ re { met = 1 }
	    END { exit !behind }' "$tmp/trace"
}
# Where the first copy is whole; a kill behind that makes a second one.
point() {
	case $program in
	mbox | maildir) echo 'fsync[(]' ;;
	# the process for a user may come to its end alone
	box | dir) echo ' write[(][0-9]+, ".1.0' ;;
	smtp) echo 'n[.].r.n"' ;;
	# the process that was made becomes the program, also without its agent
	sm | pipe) echo '(clone[0-9]*|fork)[(]' ;;
	hold | errormail | dsn) echo 'rename[a-z0-9]*[(].*router/' ;;
	*) echo '^never$' ;;
	esac
}
judge_agent() {
	settle
	grep "^[0-9]*/[0-9]*$tab.*${tab}error" "$tmp/out"
	if ! is_done; then
		run
		settle
		is_done || echo "not done: $(tr '\n' ' ' <"$tmp/out")"
	fi
	# a process that was killed may have left its program at work
	case $program in
	sm | pipe) wait_for 20 at_rest || echo 'a program is at work' ;;
	esac
	n=$(copies)
	[ $n -ge 1 ] || echo 'lost'
	[ $n -le 1 ] || { [ $n -eq 2 ] && was_behind "$(point)" &&
	    may_be_twice; } || echo "there $n times"
}
# A kill, or a server's answer or a program's exit status that was lost.
may_be_twice() {
	case $program,$killed$call in
	*,killed* | smtp,* | sm,wait* | pipe,wait*) ;;
	*) return 1 ;;
	esac
}
at_rest() {
	[ "$(grep -c begin "$tmp/progs")" -eq "$(grep -c end "$tmp/progs")" ]
}
judge_submit() {
	rc=$1
	program_was=$program program=qrun
	cp "$tmp/err" "$tmp/said"
	run
	program=$program_was
	routed=$(copies)
	n=$((routed + $(ls "$po/deferred" | grep -c '^77$')))
	[ $routed = "$(ls "$po/queue" | grep -c .)" ] || echo 'half is left'
	case $program,$rc,$n in
	qrun,*,1 | submit,0,1) ;;
	submit,0,*) echo "taken, and there $n times" ;;
	submit,*,0) ;;
	submit,*,1) [ -n "$killed" ] ||
	    grep 'may be in the queue nevertheless' "$tmp/said" >/dev/null ||
	    echo "refused with $rc, and there" ;;
	*) echo "there $n times" ;;
	esac
}
free() {
	POSTOFFICE=$tmp/spo "$top/mailq" release smtp/h >"$tmp/freed" 2>&1
}
listing() {
	sed -e 's/[0-9smhd]* old/T old/' -e 's/in [0-9smhd]*/in T/g' \
	    -e 's/no scheduler answers.*/no scheduler/' "$1"
}
judge_mailq() {
	rc=$1
	# a list, or an exit code and a reason
	if [ $rc -eq 0 ]; then
		# what cannot be read of a message is left out, never itself
		[ "$(listing "$tmp/out")" = "$(cat "$tmp/want")" ] ||
		    { [ $program != command ] && grep '^101-1  ' "$tmp/out" &&
		    grep '^1 message, ' "$tmp/out"; } >"$tmp/x" ||
		    echo "shown: $(tr '\n' '|' <"$tmp/out")"
	elif [ -z "$killed" ] && [ ! -s "$tmp/err" ]; then
		echo "ended with $rc and no reason"
	fi
	[ $program != command ] || [ $rc -ne 0 ] ||
	    grep 'smtp/h' "$tmp/spo/.mailq.holds" >/dev/null ||
	    echo 'the hold was not made'
	[ $program != files ] || return
	# a pipe of one that was killed is removed when it is a minute old
	find "$tmp/spo/public" -name '.mailq.*.*' \
	    -exec touch -t 202601010000 {} \;
	"$top/mailq" -q "$tmp/spo/public/.mailq.text" >"$tmp/out" 2>&1 ||
	    echo "the scheduler does not answer: $(cat "$tmp/out")"
	free
	ls -A "$tmp/spo/public" | grep '^[.]mailq[.].*[.]'
}
trial() {	# call number error=... | signal=KILL
	case $program in
	query | command | files) ;;
	*) fill ;;
	esac
	: >"$tmp/progs"
	call=$1 killed=
	[ "$3" != signal=KILL ] || killed=killed
	run timeout -k 5 60 strace -f -b execve -o "$tmp/trace" -e "inject=$1:$3:when=$2"
	set -- $? "$1"
	[ $1 -ne 124 ] || echo 'it hangs'
	case $program in
	query | command | files) judge_mailq $1; return ;;
	submit | qrun) judge_submit $1 ;;
	*) judge_agent ;;
	esac
	if [ -n "$killed" ] && [ -n "$(left)" ]; then
		for second in 10 4000 8000; do
			round $second
		done
	fi
	case $2 in	# what could not be removed is there
	unlink*) ;;
	*) left | sed 's/^/left: /' ;;
	esac
}

# ---- the calls -------------------------------------------------------------

errors_of() {	# call
	case $1 in
	open* | creat) echo error=EIO error=ENOSPC error=EMFILE ;;
	socket* | pipe* | dup* | accept*) echo error=EMFILE error=ENOMEM ;;
	mmap | brk | mremap) echo error=ENOMEM ;;
	clone* | fork | vfork) echo error=EAGAIN error=ENOMEM ;;
	write* | fsync | rename* | link* | mk* | send*)
		echo error=EIO error=ENOSPC ;;
	close)	# strace leaves the descriptor open: others may wait for its end
		case $program in
		mbox | maildir) echo error=EIO ;;
		esac ;;
	*) echo error=EIO ;;
	esac
	echo signal=KILL
}
# A line "CALL NUMBER FAULT" for each trial.  A number counts in each process.
# Of 702 hash directories that mailq looks into, one in 26 is enough.
all_trials() {
	awk '{ pid = $1; sub(/^[0-9]+ +/, ""); hashed = /[/][B-Z][/]/ }
	/^[a-z_0-9]+\(/ && !/^(exit|execve|rt_sigreturn)/ {
		sub(/\(.*/, "")
		n = ++count[pid, $0]
		if (n > most[$0]) {
			most[$0] = n
			if (!hashed)
				print $0, n
		}
	}' "$tmp/trace" | while read -r call n; do
		for fault in $(errors_of $call); do
			echo "$call $n $fault"
		done
	done
}
# What the loader does is no program's; one of so many.
some_trials() {
	grep -E -v '^(mmap|mprotect|munmap|brk|pread64|arch_prctl|set_|rseq)' |
	    awk -v every=$every 'NR % every == 1'
}
calls() {	# program number-of-trials-without-CALLS
	program=$1
	po=$tmp/po
	: >"$tmp/progs"
	case " ${CALLS-} " in
	*" $program "* | ' all ') every= ;;
	'  ') every=$2 ;;
	*) skip "$program: one fault at a time" 'not in CALLS'
		skip "$program without a fault" 'not in CALLS'
		case $program in
		mbox | maildir) skip "$program: close" 'not in CALLS' ;;
		esac
		return ;;
	esac
	cat >"$tmp/prog" <<-END
	#!/bin/sh
	echo begin >>$tmp/progs
	cat >>$tmp/mail/got
	rc=\$?
	echo end >>$tmp/progs
	exit \$rc
	END
	chmod 755 "$tmp/prog"
	echo "prog n $tmp/prog prog" >"$tmp/sm.cf"
	echo 1795000000 >"$tmp/wall"
	MAILSHARE=$tmp MAILQ_WAIT=5
	export MAILSHARE MAILQ_WAIT
	case $program in
	query | command)
		spool_new "$tmp/spo"
		put "$tmp/spo" 101-1 smtp h u
		conf "$tmp/cf" <<-END
		*/* interval=1h expiry=3d queueonly
		END
		sched_start "$tmp/spo" "$tmp/cf" >"$tmp/x" 2>&1
		wait_for 20 logged ' load msg=101-1' ;;
	files)
		RENDEZVOUS=$tmp/none
		export RENDEZVOUS
		spool_new "$tmp/files"
		put "$tmp/files" 101-1 smtp h u ;;
	*) fill ;;
	esac
	run strace -f -b execve -o "$tmp/trace"
	rc=$?
	[ $program != command ] || free
	cp "$tmp/out" "$tmp/first"
	listing "$tmp/first" >"$tmp/want"
	case $program in
	query | command | files)
		is "$program without a fault" \
		    "$rc$(grep -c -e held -e 101-1 "$tmp/want" |
		    sed 's/[1-9]/some/')" 0some ;;
	*)
		[ $program = submit ] || [ $program = qrun ] || settle
		is "$program without a fault: there once, nothing left" \
		    "$(copies)$(left)" 1 ;;
	esac
	case $program in
	mbox | maildir)	# the box is synced: that it is closed badly means nothing
		n=$(awk '/ close[(]/ { n++ }
		/ write[(].*"(From |Return-Path)/ { split($0, w, /[(,]/)
			fd = w[2] }
		fd != "" && index($0, " fsync(" fd ")") { synced = 1 }
		synced && index($0, " close(" fd ")") { print n; exit }
		' "$tmp/trace")
		cp "$tmp/trace" "$tmp/whole"
		fill
		run strace -o "$tmp/trace" -e trace=close \
		    -e "inject=close:error=EIO:when=$n"
		like "$program: a close that fails behind the sync is no failure" \
		    "$(cat "$tmp/trace" "$tmp/out" | tr '\n' ' ')" \
		    'EIO.*INJECTED.*ok3'
		mv "$tmp/whole" "$tmp/trace" ;;
	esac
	all_trials >"$tmp/all"
	if [ -n "$every" ]; then
		every=$(($(grep -c . "$tmp/all") / every + 1))
		some_trials <"$tmp/all" >"$tmp/trials"
	else
		mv "$tmp/all" "$tmp/trials"
	fi
	while read -r call n fault <&3; do
		trial $call $n $fault 3<&- >"$tmp/one"
		[ ! -s "$tmp/one" ] || [ -z "${KEEP:-}" ] ||
		    cp "$tmp/trace" "$KEEP/$program.$call.$n.$fault"
		sed "s,^,$call $n $fault: ," "$tmp/one"
	done 3<"$tmp/trials" >"$tmp/wrong"
	is "$program: one fault at a time, $(grep -c . "$tmp/trials") trials" \
	    "$(cat "$tmp/wrong")" ''
	case $program in
	query | command) sched_stop ;;
	esac
}
beside 2 calls submit 8
beside 2 calls qrun 8
beside 3 calls mbox 8
beside 3 calls maildir 8
if [ -n "$user" ]; then
	beside 2 calls box 8
	beside 2 calls dir 8
fi
[ -z "$port" ] || beside 2 calls smtp 12
beside 2 calls sm 8
beside 2 calls pipe 8
beside 2 calls hold 8
beside 2 calls errormail 8
beside 2 calls dsn 8
beside 2 calls query 8
beside 2 calls command 8
beside 2 calls files 8
beside_end
finish
