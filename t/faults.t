#!/bin/sh
# System calls that fail: nothing is lost, nothing is delivered twice, and
# when the disk, the memory or the process table are back, all goes on.
#
# t/faults.c, loaded before libc, has one call fail.  Under each fault a
# scheduler gets the same mail: delivered, refused, deferred, expired, broken,
# with a T line; it moves it into hash directories, gets queries for dumps and
# commands to hold some and to reload, and keeps what it learns of destinations.
# It may end while it starts, with a reason and a code; then it is started
# again without a fault.  At the end every recipient was delivered once, the
# sender had a DSN of what failed, what cannot be used lies in postman/, and
# nothing else is left.
#
# In half of the trials there is more mail than PARAMactive and PARAMevicted
# have room for, so messages are forgotten and come back.
#
#	FAULTS=all sh t/faults.t	every call site, one after the other,
#					with each error: some 20 minutes
#	FAULTS=places sh t/faults.t	the first call from each place in the
#					program, with each error
#	FAULTS='write fork' ...		those of some kinds
#	FAULTS=dsn			those of the agent dsn
#	FAULTS=write:17:1:EIO		this one, its log kept in $KEEP
#	FAULTS='write:3:1:EIO dsn'	this one in the agent dsn
#	FAULTS='read:1:1:EIO 3:102-1'	this one, counted from the third time
#					that a file of that name was opened
#	FAULTS='write:17:1:EIO small'	this one in a small core; after the
#					other words where there are some
# Takes long.
. "${0%/*}/lib.sh"

A=$top/t/agent

# Built here, since not every system that runs the rest can have it.
without NO_MONOTONIC && skip_all 'built without the clock that goes faster'
${CC:-cc} -shared -fPIC -o "$tmp/faults.so" "$top/t/faults.c" -ldl \
    >"$tmp/cc.out" 2>&1 ||
    skip_all "no shared object: $(head -n 1 "$tmp/cc.out")"

# ---- the mail -----------------------------------------------------------------------

master=$tmp/master
mkdir "$master"
spool_new "$master"
put "$master" 101-1 test a.host u1 test a.host u2 test b.host u3
put "$master" 102-1 fail a.host u1 test a.host u2
put "$master" 103-1 back a.host u1
put "$master" 104-1 old a.host u1 old a.host u2
put "$master" 105-1 test d.host u1
put "$master" 106-1 test b.host u1 back b.host u2
put "$master" 111-1 gate g.host u1
printf 'i 112-1\no 0\nl <112-1@test>\ne sender\ns local - s 0\n%s\n%s\nm\n\n' \
    'r           good e.host u1 0' 'N NOTIFY=SUCCESS' | put_raw "$master" 112-1
printf 'T later.host\n' >"$master/transport/107-1"
printf 'i 108-1\no 0\nv ../public/v_1\nl x\ne s\ns local - s 0\n%s\n%s\nm\n\n' \
    'r+          test a.host done 0' 'r           test c.host u1 0' |
    put_raw "$master" 108-1
printf 'i 109-1\no 0\nl x\ns local - s 0\nr+          test a h 0\nm\n\n' |
    put_raw "$master" 109-1
: >"$master/public/v_1"
printf 'not a control file\n' | put_raw "$master" 110-1

mkdir "$tmp/forms"
printf 'HDR Subject: %%s\n\nOf your message:\n' >"$tmp/forms/delivery"

cat >"$tmp/want" <<END
101-1 a.host
101-1 a.host
101-1 b.host
102-1 a.host
103-1 a.host
105-1 d.host
106-1 b.host
106-1 b.host
108-1 c.host
111-1 g.host
112-1 e.host
END
# What the DSNs in router/ are about: the message and the recipient.
cat >"$tmp/want.dsns" <<END
102 u1
104 u1
104 u2
112 u1
END

# For a small core: that many messages wait until the last may go.
more=$tmp/more
mkdir "$more"
spool_new "$more"
cp "$tmp/want" "$tmp/want.small"
n=200
while [ $n -lt 240 ]; do
	put "$more" $n-1 wait h$((n % 4)).host u1
	echo "$n-1 h$((n % 4)).host" >>"$tmp/want.small"
	n=$((n + 1))
done

# One trial has a directory of its own, so that some can run side by side.
small=
trial_conf() {	# dir
	conf "$1/cf" <<END
${small:+PARAMactive 20
PARAMevicted 10
}PARAMmailqsock none
PARAMdestdb=$1/known
PARAMrouternotify=$1/router
*/*	interval=1s retries="1" expiry=1d
test/*	command="$A -c test -o $1/out"
back/*	command="$A -c back -f $1/out -o $1/out"
fail/*	command="$A -c fail error no such user"
good/*	command="$A -c good -o $1/out ok"
old/*	expiry=3s command="$A -c old deferred not now"
gate/*	retries="20" command="$A -c gate -f $1/free -o $1/out"
wait/*	retries="20" command="$A -c wait -f $1/free -o $1/out"
END
}

# ---- one trial ----------------------------------------------------------------------

dsns() {	# dir
	awk '/^  <1[01][0-9]-1@test>$/ { id = substr($1, 2, 3) }
	/^Final-Recipient: / { print id, $3 }' "$1/po/router"/* 2>/dev/null |
	    sort
}

settled() {	# dir
	po_empty "$1/po" && [ -f "$1/po/postman/110-1.control" ] &&
	    [ "$(dsns "$1" | wc -l)" -ge 3 ]
}

# Is all as it must be?  Prints what is not.
judge() {	# dir fault
	awk '{ sub(/.*\//, "", $1); print $1, $3 }' "$1/out" | sort >"$1/got"
	want=$tmp/want${small:+.small}
	cmp -s "$1/got" "$want" ||
	    echo "delivered: $(diff "$want" "$1/got" | grep '^[<>]')"
	[ -z "$small" ] || grep -c ' evict msg=' "$1/log" >>"$tmp/forgotten"
	dsns "$1" >"$1/dsns"
	[ "$(wc -l <"$1/dsns")" -ge 3 ] || echo "DSNs: $(tr '\n' , <"$1/dsns")"
	for f in "$1/po/router"/*; do
		[ "$(tail -n 1 "$f" | grep -c '^--.*--$')" -eq 1 ] ||
		    echo "a DSN is cut: ${f##*/}"
	done
	list=$(ls "$1/po/postman" | tr '\n' ' ')
	[ "$list" = '110-1 110-1.control ' ] || echo "postman/: $list"
	po_empty "$1/po" || echo "left: $(find "$1/po/transport" \
	    "$1/po/queue" ! -type d -print | tr '\n' ' ')"
	case $2 in
	'' | *:1:*) ;;
	*) return ;;
	esac
	# without its line or its report a success has no DSN: the log says so
	! grep -E '(diagnostic msg=.*112-1 |msg=.*112-1 .*by its tag)' \
	    "$1/log" >/dev/null || echo '112 u1' >>"$1/dsns"
	sort -u -o "$1/dsns" "$1/dsns"
	# one fault may not cost more than that one thing is not known
	cmp -s "$1/dsns" "$tmp/want.dsns" ||
	    echo "DSNs: $(tr '\n' , <"$1/dsns")"
	grep 'by its tag' "$1/log" >/dev/null ||
	    grep 'x-local; 550 (no such user)' "$1/po/router"/* >/dev/null ||
	    echo 'a DSN does not say why'
}

# The agent dsn, with one fault in all of its processes.
dsn_fault=
wrap_dsn() {	# dir
	mkdir -p "$1/bin/ta"
	cat >"$1/bin/ta/dsn" <<END
#!/bin/sh
exec env LD_PRELOAD="$tmp/faults.so" FAULTS="$dsn_fault" FAULTS_ONCE="$1/once.dsn" \\
    FAULTS_LOG="$1/faults.dsn" "$top/ta/dsn" "\$@"
END
	chmod 755 "$1/bin/ta/dsn"
	: >"$1/faults.dsn"
}

launch() {	# dir [NAME=value ...]: in the background
	lib_dir=$1
	shift
	env "$@" MAILBIN="$lib_dir/bin" MAILSHARE="$tmp" LOGDIR="$lib_dir" \
	    "$SCHEDULER" -i -H -P "$lib_dir/po" -f "$lib_dir/cf" \
	    -l "$lib_dir/stat" </dev/null >>"$lib_dir/log" 2>&1 &
	pid=$!
}

# Sets code.
join() {
	wait_for 40 gone "$pid" >/dev/null || kill -9 "$pid"
	wait "$pid"
	code=$?
}

# The queries while there is mail; sets mq, their processes.
ask_all() {	# dir
	kill -HUP "$pid"
	POSTOFFICE=$1/po "$top/mailq" -S >"$1/mailq" 2>&1 </dev/null &
	mq=$!
	for order in 'hold none/*' 'flush 999-1'; do
		"$top/t/ask" order "$1/po" ${order% *} "${order#* }" \
		    </dev/null >"$1/answer.${order%% *}" 2>&1 &
		mq="$mq $!"
	done
	patience=$((5 * lib_persec))
}

# Is there an answer to each query?  A fault may have cost one.
answered() {	# dir
	patience=$((patience - 1))
	[ $patience -gt 0 ] || return 0
	for f in mailq answer.hold answer.flush; do
		[ -s "$1/$f" ] || return 1
	done
	grep ' reload ' "$1/log" >/dev/null
}

# Runs it to its end; a line about what went wrong, or nothing.
attempt() {	# dir [NAME=value ...]
	dir=$1
	launch "$@"
	n=0
	mq=
	until settled "$dir"; do
		alive "$pid" || break
		n=$((n + 1))
		[ $n -lt $((60 * lib_persec)) ] || break
		# a fault may have cost the line that says it is ready
		if [ -z "$mq" ] && grep -E ' (ready|agent-start) ' "$dir/log" \
		    >/dev/null; then
			ask_all "$dir"
		elif [ -n "$mq" ] && answered "$dir"; then
			: >"$dir/free"	# and the last message may go
		fi
		sleep $lib_nap
	done
	[ -z "$mq" ] || kill $mq 2>/dev/null
	kill "$pid" 2>/dev/null
	join
	[ -z "$mq" ] || wait $mq
}

# Prints what is wrong, if anything.
trial() {	# dir fault [NAME=value ...]
	td=$1
	fault=$2
	shift 2
	rm -rf "$td"
	mkdir "$td" && cp -R "$master" "$td/po" || echo 'no directory'
	if [ -n "$small" ]; then
		cp "$more/queue"/* "$td/po/queue"
		cp "$more/transport"/* "$td/po/transport"
	fi
	: >"$td/out"
	: >"$td/log"
	: >"$td/faults"
	trial_conf "$td"
	wrap_dsn "$td"
	attempt "$td" LD_PRELOAD="$tmp/faults.so" FAULTS_SPEED=60 \
	    FAULTS="$fault" FAULTS_LOG="$td/faults" "$@" 2>"$td/shell"
	if [ $code -gt 78 ] || [ $code -eq 1 ]; then
		echo "it ended with $code"
	elif [ $code -ne 0 ]; then
		: >"$td/ended"
		[ -s "$td/log" ] || echo "it ended with $code and no word"
		grep ' ready' "$td/log" >/dev/null &&
		    echo "it ended with $code while at work"
		attempt "$td" LD_PRELOAD="$tmp/faults.so" FAULTS_SPEED=60 \
		    2>"$td/shell"
		[ $code -eq 0 ] || echo "the second one ended with $code"
	fi
	judge "$td" "$fault$dsn_fault"
}

# ---- the call sites -----------------------------------------------------------------

# The trial without a fault shows that the rest can be trusted.
wrong=$(trial "$tmp/none" '')
is 'all is delivered without a fault' "$wrong" ''
[ -z "$wrong" ] || finish
is 'reload, query and hold are done without a fault' \
    "$(grep -c ' reload .*done' "$tmp/none/log") $(grep -cE \
    '^[0-9]+ messages?, | queue is | in the queue' "$tmp/none/mailq") $(grep -c \
    '^ok' "$tmp/none/answer.hold")" \
    '1 1 1'
[ -s "$tmp/none/faults" ] || skip_all 'nothing is loaded before libc here'
sed -n 's/^count \([^ ]* [^ ]*\).*/\1/p' "$tmp/none/faults" >"$tmp/counts"
sed -n 's/^count \([^ ]* [^ ]*\).*/\1/p' "$tmp/none/faults.dsn" >"$tmp/dsn"
sites_of() {	# dir
	sed -n 's/^site \([^ ]*\) [^ ]* - \(scheduler+.*\)/\1 \2/p' \
	    "$1/faults" | sort -u
}
sites_of "$tmp/none" >"$tmp/sites.large"
small=1
is 'all is delivered without a fault from a small core' \
    "$(trial "$tmp/none.small" '')" ''
small=
sites_of "$tmp/none.small" | comm -13 "$tmp/sites.large" - >"$tmp/sites.small"
sort "$tmp/sites.large" "$tmp/sites.small" >"$tmp/sites"
diag "calls: $(awk '{ printf "%s %s, ", $1, $2 }' "$tmp/counts")"

# Nothing changes the directory later, so it is read once.
one=$tmp/one
mkdir "$one"
spool_new "$one/po"
put "$one/po" 1-1 test a.host u1
touch -t 202601010000 "$one/po/transport"
trial_conf "$one"
wrap_dsn "$one"
launch "$one" LD_PRELOAD="$tmp/faults.so" FAULTS_SPEED=60 \
    FAULTS=fstat:1:1:EIO FAULTS_FROM=1:1-1 FAULTS_LOG="$one/faults"
ok 'a control file that cannot be examined once is loaded later' \
    wait_for 60 po_empty "$one/po"
kill "$pid"
join
is 'a control file could not be examined once' \
    "$(grep -c '^fault fstat' "$one/faults")" 1

# The tag of a recipient that has failed: its agent leaves that to the scheduler.
rm -rf "$one"
mkdir "$one"
spool_new "$one/po"
put "$one/po" 1-1 fail a.host u1 gate b.host u2
conf "$one/cf" <<END
PARAMmailqsock none
PARAMrouternotify=$one/router
*/*	interval=1s retries="1" expiry=1d
fail/*	command="$A -c fail -u error no such user"
gate/*	command="$A -c gate -w $one/free"
END
wrap_dsn "$one"
launch "$one" LD_PRELOAD="$tmp/faults.so" FAULTS=lseek:2:1:EIO \
    FAULTS_FROM=3:1-1 FAULTS_LOG="$one/faults" FAULTS_SPEED=60
tagged() {
	grep '^r- ' "$one/po/transport/B/1-1" >/dev/null
}
ok 'a tag that could not be written is written later' wait_for 60 tagged
: >"$one/free"
ok 'its message ends' wait_for 60 po_empty "$one/po"
kill "$pid"
join
like 'its tag could not be written once' "$(cat "$one/log")" ' tag msg=B.1-1 .* tag=-'
is 'the sender gets a DSN on a recipient whose tag could not be written once' \
    "$(cat "$one/po/router"/* 2>/dev/null | grep -c '^Final-Recipient: .*u1')" 1

# Two recipients whose tags the scheduler writes, and one call that fails.
rm -rf "$one"
mkdir "$one"
spool_new "$one/po"
put "$one/po" 1-1 gate a.host u1 gate a.host u2
: >"$one/out"
cat >"$one/agent" <<END
echo '#hungry'
while read -r job; do
	case \$job in
	'') exit ;;
	1-1* | */1-1*)
		printf '51\n84\n' >>"$one/out"
		printf '1/51\t\tok3\n1/84\t\tok3\n' ;;
	esac
	echo '#hungry'
done
END
conf "$one/cf" <<END
PARAMmailqsock none
*/*	interval=1s retries="1" expiry=1d
gate/*	command="/bin/sh $one/agent"
END
launch "$one" LD_PRELOAD="$tmp/faults.so" FAULTS=lseek:3:1:EIO \
    FAULTS_FROM=2:1-1 FAULTS_LOG="$one/faults" FAULTS_SPEED=60
ok 'its message ends, too' wait_for 60 po_empty "$one/po"
kill "$pid"
join
ok 'a call on its control file failed' [ -s "$one/faults" ]
is 'each recipient is delivered to once' "$(wc -l <"$one/out")" 2

# A command on a pattern for mail that had to leave core.
rm -rf "$one"
mkdir "$one"
spool_new "$one/po"
put "$one/po" 1-1 gate a.host u1
conf "$one/cf" <<END
PARAMmailqsock none
PARAMactive 1
*/*	interval=1s retries="1" expiry=1d
gate/*	maxring=1 command="$A -c gate -w $one/free -s $one/said"
END
: >"$one/said"
launch "$one" LD_PRELOAD="$tmp/faults.so" FAULTS=write:1:1:ENOSPC \
    FAULTS_FROM=3:2-1 FAULTS_LOG="$one/faults"
wait_for 20 test -s "$one/said"
put "$one/po" 2-1 gate b.host u1
wait_for 20 grep ' evict msg=.*2-1' "$one/log"
like 'a command on a pattern is to reach evicted mail' \
    "$("$top/t/ask" order "$one/po" delete 'gate/b.host')" '1 file'
: >"$one/free"
ok 'the evicted message and the other one end' wait_for 60 po_empty "$one/po"
kill "$pid"
join
ok 'the command could not be written' grep '^fault write' "$one/faults"
like 'mail whose command could not be written is deleted' "$(cat "$one/log")" \
    ' deleted msg=.*2-1'
is 'mail whose command could not be written is not delivered' \
    "$(grep -c ' delivered msg=.*2-1' "$one/log")" 0

# The name of this host has no memory of its own.
unnamed() {
	n=0
	while [ $n -lt 12 ]; do
		n=$((n + 1))
		env LD_PRELOAD="$tmp/faults.so" FAULTS=memory:$n:1:ENOMEM \
		    "$top/scheduler-check" "$one/cf" dsn failure \
		    POSTOFFICE="$one/po" MAILBIN="$tmp" MAILSHARE="$tmp" 2>&1
	done | grep -c -e '-n .(none)'
}
is 'without memory for its name no host is called (none)' "$(unnamed)" 0

# A reload that has no memory for a ring.  Which call that is shows the log.
reload_with() {	# fault
	rm -rf "$one"
	mkdir "$one"
	spool_new "$one/po"
	for n in 1 2 3 4 5 6; do
		put "$one/po" $n-1 test $n.host u1
	done
	conf "$one/cf" <<-END
	PARAMmailqsock none
	*/*	interval=1s order=preempt maxring=1
	test/*	command="$A -c test -w $one/free -s $one/said"
	END
	: >"$one/said"
	launch "$one" LD_PRELOAD="$tmp/faults.so" FAULTS_SPEED=60 \
	    FAULTS="$1" FAULTS_LOG="$one/faults"
	wait_for 20 test -s "$one/said"
	[ -z "$1" ] || kill -HUP "$pid"
	[ -z "$1" ] || wait_for 20 grep ' reload file' "$one/log" >/dev/null
	: >"$one/free"
	wait_for 20 po_empty "$one/po" || left=$((left + 1))
	kill "$pid"
	join
}
left=0
reload_with ''
call=$(sed -n 's/^count memory \([0-9]*\).*/\1/p' "$one/faults" |
    sort -n | tail -n 1)
last=$((call + 60)) call=$((call + 8))
until grep ' reload channel=test .*no memory' "$one/log" >/dev/null ||
    [ "$call" -ge "$last" ]; do
	reload_with "memory:$call:1:ENOMEM"
	call=$((call + 1))
done
like 'a reload had no memory for a ring' "$(cat "$one/log")" \
    ' reload channel=test .*no memory'
is 'mail for which a reload had no memory is delivered later' "$left" 0

errors_of() {	# kind
	case $1 in
	open) echo EMFILE ENFILE ENOSPC EIO EINTR ;;
	write) echo ENOSPC EIO EINTR short ;;
	read) echo EIO EINTR ;;
	rename | mkdir | mkfifo) echo ENOSPC EIO ;;
	opendir | pipe | socketpair | socket | accept | fopen)
		echo EMFILE ENOMEM ;;
	sendto) echo EAGAIN ENOMEM ;;
	fflush | fclose) echo ENOSPC EIO ;;
	fork) echo EAGAIN ENOMEM ;;
	select) echo EINTR ENOMEM ;;
	fcntl) echo ENOLCK ;;
	memory | fdopen | listen) echo ENOMEM ;;
	set*id | setgroups) echo EAGAIN ;;
	close) echo EIO EINTR ;;
	*) echo EIO ;;
	esac
}

# All sites of a kind.  The many closes at first are of descriptors that the parent
# may have left, all at one site.
sites() {	# kind
	total=$(awk -v k="$1" '$1 == k { print $2 }' "$tmp/counts")
	first=1
	[ "$1" != close ] || first=$((total - 100))
	for e in $(errors_of "$1"); do
		i=$first
		while [ $i -le "${total:-0}" ]; do
			echo "$1:$i:1:$e"
			i=$((i + 1))
		done
	done
}

# Places that are named in a file, each with each of its errors.
places() {	# file
	while read -r kind place; do
		core=
		! grep "^$kind $place\$" "$tmp/sites.small" >/dev/null ||
		    core=' small'
		for e in $(errors_of "$kind"); do
			echo "$kind:1:1:$e @$place$core"
		done
	done <"$1"
}

# What agents' processes do before they are agents, once each; and faults that
# last for a while.
others() {
	for kind in execve dup2 close write setgroups setgid setuid; do
		for i in 1 2 3; do
			echo "$kind:$i:1:EIO child"
		done
	done
	for i in 60 80 100 120 140; do
		echo "memory:$i:40:ENOMEM"
		echo "write:$i:40:ENOSPC"
		echo "fcntl:$i:40:ENOLCK"
	done
	for i in 5 10 15 20; do
		echo "open:$i:20:EMFILE"
		echo "fork:$i:10:EAGAIN"
		echo "socketpair:$i:10:EMFILE"
		echo "rename:$i:20:ENOSPC"
		echo "lstat:$i:60:EIO"
	done
}

# Any call of that kind, with a chance of one to so many.
by_chance() {	# seed
	for fault in write:9:ENOSPC write:5:short read:9:EINTR read:9:EIO \
	    select:4:EINTR open:7:EMFILE lstat:9:EIO fstat:5:EIO fork:3:EAGAIN \
	    rename:4:ENOSPC unlink:3:EIO opendir:3:ENOMEM readdir:30:EIO \
	    socketpair:3:EMFILE memory:30:ENOMEM; do
		echo "${fault%%:*}:*$1:${fault#*:}"
	done
}

# The first look into a control file, each time that it is opened: to take it
# in, to mark a recipient, to write a DSN of it.
looks() {
	for i in 1 2 3 4 5 6 7 8 9 10; do
		echo "read:1:1:EIO $i:102-1"
	done
	echo "lseek:1:1:EIO 8:102-1"
}

# No memory while options are read: what is missing shows later, when it is used.
beginnings() {
	for i in 1 2 3 4 5 6; do
		echo "memory:$i:1:ENOMEM"
	done
}

# One site of each kind, each with the next of its errors.
some() {
	n=0
	while read -r kind total; do
		n=$((n + 1))
		set -- $(errors_of "$kind")
		shift $((n % $#))
		echo "$kind:$((total - total / 3)):1:$1"
	done <"$tmp/counts"
}

# One site of each kind in the agent dsn; or all of them.
some_of_dsn() {
	n=0
	while read -r kind total; do
		n=$((n + 1))
		set -- $(errors_of "$kind")
		shift $((n % $#))
		echo "$kind:$((total - total / 3)):1:$1 dsn"
	done <"$tmp/dsn"
}
all_of_dsn() {
	while read -r kind total; do
		for e in $(errors_of "$kind"); do
			i=1
			while [ $i -le "$total" ]; do
				echo "$kind:$i:1:$e dsn"
				i=$((i + 1))
			done
		done
	done <"$tmp/dsn"
}

# It went on, or it ended while it started and was started again.
outcome() {	# dir
	if [ -f "$1/ended" ]; then
		echo ended
	else
		echo on
	fi
}

# Works off every fourth line, beginning with this one; every second of these
# in a small core, and the others when a line comes again.
turn=0
worker() {	# 0 to 3
	w=$tmp/w$1
	line=0
	while read -r fault where; do
		line=$((line + 1))
		[ $((line % 4)) -eq "$1" ] || continue
		small=
		[ $(((line / 4 + turn) % 2)) -eq 0 ] || small=1
		case $where in
		small | *' small') small=1 where=${where%small} where=${where% } ;;
		esac
		if [ -z "$where" ]; then
			trial "$w" "$fault"
		elif [ "$where" = child ]; then
			trial "$w" "$fault" FAULTS_IN=child FAULTS_ONCE="$w/once"
		elif [ "$where" = dsn ]; then
			dsn_fault=$fault
			trial "$w" ''
			fault=$dsn_fault
			dsn_fault=
		elif [ "${where#@}" != "$where" ]; then
			trial "$w" "$fault" FAULTS_AT="${where#@}"
		else
			trial "$w" "$fault" FAULTS_FROM="$where"
		fi >"$w.wrong"
		hit=$(cat "$w/faults" "$w/faults.dsn" 2>/dev/null |
		    grep -c '^fault')
		where=$where${small:+ small}
		echo "$fault $where $(outcome "$w"): ${hit:-0}" >>"$w.done"
		sed -n 's/^fault \([^ ]*\) [^ ]* [^ ]* \(scheduler+.*\)/\1 \2/p' \
		    "$w/faults" 2>/dev/null >>"$w.sites"
		[ -s "$w.wrong" ] || continue
		sed "s/^/$fault $where: /" "$w.wrong"
		[ -z "${KEEP:-}" ] || cp "$w/log" \
		    "$KEEP/$(echo "$fault" | tr ':*' '__').log"
	done <"$tmp/todo"
}

case ${FAULTS:-} in
'')
	some
	some_of_dsn
	looks
	beginnings
	by_chance 1 ;;
*:*)
	echo "$FAULTS" ;;
all)
	others
	all_of_dsn
	looks
	by_chance 2
	by_chance 3
	while read -r kind total; do
		sites "$kind"
	done <"$tmp/counts" ;;
places)
	places "$tmp/sites" ;;
dsn)
	all_of_dsn ;;
*)
	for kind in $FAULTS; do
		sites "$kind"
	done ;;
esac >"$tmp/todo"

# Most of a trial is waiting.
work() {
	workers=
	for i in 0 1 2 3; do
		worker $i >>"$tmp/wrong.$i" &
		workers="$workers $!"
	done
	wait $workers
	cat "$tmp"/w?.done >"$tmp/done" 2>/dev/null
	sort -u "$tmp"/w?.sites 2>/dev/null >"$tmp/hit"
	comm -23 "$tmp/sites" "$tmp/hit" >"$tmp/missed"
}
work
# Nothing comes from each place in each trial.
case ${FAULTS:-} in
all | places)
	for turn in 1 2 3; do
		places "$tmp/missed" >"$tmp/todo"
		work
	done ;;
esac
diag "$(wc -l <"$tmp/done") trials, in $(grep -vc ': 0$' "$tmp/done") of them" \
    "a call failed, $(awk '{ n += $NF } END { print n }' "$tmp/done") in all"
diag "places in the program from which calls came: $(wc -l <"$tmp/sites")," \
    "from which one failed: $(comm -12 "$tmp/sites" "$tmp/hit" |
    wc -l)," "and $(comm -13 "$tmp/sites" "$tmp/hit" | wc -l) seen only then"
# KIND: calls and places without a fault; trials, calls that failed, and how
# often it ended at the start with a reason.
table() {
	awk '
	FILENAME == ARGV[1] { calls[$1] = $2; next }
	FILENAME == ARGV[2] { places[$1]++; next }
	FILENAME == ARGV[3] { hit[$1]++; next }
	{ kind = $1; sub(/:.*/, "", kind); trials[kind]++
	failed[kind] += $NF; ended[kind] += / ended: / }
	END { for (k in trials)
		printf "%-10s %4d calls %3d places; %4d trials, %5d calls " \
		    "failed at %3d places, %3d ended at the start\n", k, \
		    calls[k], places[k], trials[k], failed[k], hit[k], \
		    ended[k] }' \
	    "$tmp/counts" "$tmp/sites" "$tmp/hit" "$tmp/done" | sort
}
[ -z "${FAULTS:-}" ] || diag "$(table)"
case ${FAULTS:-} in
all | places)
	is 'from each place in the program a call failed' \
	    "$(cat "$tmp/missed")" '' ;;
esac
is 'under each fault nothing is lost and nothing is done twice' \
    "$(cat "$tmp"/wrong.?)" ''
# A fault may keep files away until core has room for them.
ok 'in most trials with a small core messages are forgotten' \
    awk '{ n += $1 > 0 } END { exit n * 2 <= NR }' "$tmp/forgotten"
finish
