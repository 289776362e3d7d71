#!/bin/sh
# One fault at each system call of submit and of submit -q, by strace: an error,
# or a kill.  A message that submit took is there once, one that it refused is
# not there, or submit said that it may be.  submit -q, run again, has routed
# once what lay in router/, or deferred it with a reason.  Nothing is left but
# files of a killed process in private/.
#
# t/faults.t does this for the scheduler and the agent dsn.  Without CALLS=all
# some calls are tried; with it each one, in some four minutes.
# Takes long.
. "${0%/*}/lib.sh"

strace -f -o /dev/null -e trace=write -e inject=write:signal=KILL:when=1 \
    echo x >"$tmp/x" 2>&1
[ $? -gt 128 ] || skip_all 'no strace that can send a signal at a system call'
every=23
[ "${CALLS-}" != all ] || every=1
po=$tmp/po
printf '*@* smtp -\n* local -\n' >"$tmp/routes"
chmod 644 "$tmp/routes"

fill() {	# submit | qrun
	rm -rf "$po"
	spool_new "$po"
	mkdir -m 700 "$po/private" "$po/deferred"
	[ "$1" = submit ] || printf \
	    'to <anna>\nenv-end\nSubject: x\n\nthe body\n' >"$po/router/77"
}
work() {	# submit | qrun [command ...]
	work_on=$1
	shift
	if [ "$work_on" = submit ]; then
		printf 'Subject: x\n\nthe body\n' |
		    "$@" "$top/submit" -P "$po" -C "$tmp/routes" anna
	else
		"$@" "$top/submit" -q -P "$po" -C "$tmp/routes" </dev/null
	fi >"$tmp/$work_on.out" 2>&1
}
copies() {
	cat "$po"/transport/[1-9]* 2>/dev/null | grep -c '^r .* local - anna'
}
left() {	# "killed" or "": what is neither a message nor ours to keep
	(cd "$po" && find . -type f ! -name .submit.lock ! -name .tidy \
	    ! -path './queue/[1-9]*' ! -path './transport/[1-9]*' \
	    ! -path './deferred/77*') |
	    if [ -n "$1" ]; then grep -v '^[.]/private/'; else cat; fi
}
trial() {	# submit | qrun call number error=... | signal=KILL
	fill "$1"
	work "$1" strace -f -o /dev/null -e "trace=$2" \
	    -e "inject=$2:$4:when=$3"
	rc=$?
	killed=
	[ "$4" != signal=KILL ] || killed=killed
	work qrun
	n=$(($(copies) + $(ls "$po/deferred" | grep -c '^77$')))
	[ "$(copies)" = "$(ls "$po/queue" | grep -c .)" ] ||
	    echo "$*: half is left"
	case $1,$rc,$n in
	qrun,*,1 | submit,0,1) ;;
	submit,0,*) echo "$*: taken, and there $n times" ;;
	submit,*,0) ;;
	submit,*,1) [ -n "$killed" ] ||
	    grep 'may be in the queue nevertheless' "$tmp/submit.out" >/dev/null ||
	    echo "$*: refused with $rc, and there" ;;
	*) echo "$*: there $n times" ;;
	esac
	left "$killed" | sed "s,^,$*: left: ,"
}
for program in submit qrun; do
	fill $program
	work $program strace -f -o "$tmp/trace"
	is "$program without a fault: there once, nothing left" \
	    "$(copies)$(left '')" 1
	awk -v every=$every '{ sub(/^[0-9]+ +/, "") }
		/^[a-z_0-9]+\(/ && !/^(exit|execve|rt_sigreturn)/ {
			sub(/\(.*/, ""); n = ++count[$0]
			if (NR % every == 0) print $0, n
		}' "$tmp/trace" >"$tmp/calls"
	for fault in error=EIO signal=KILL; do
		while read -r call n <&3; do
			trial $program $call $n $fault
		done 3<"$tmp/calls" >"$tmp/wrong"
		is "$program with $fault at $(grep -c . "$tmp/calls") calls" \
		    "$(cat "$tmp/wrong")" ''
	done
done
finish
