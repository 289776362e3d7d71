# bounce.sh - functions for the tests of DSNs; read behind lib.sh.

tab=$(printf '\t')

# A message whose control file comes from standard input, with lines
#
#	dTUSER|action|status|diagnostic|by whom|text
#
# for the diagnostics of recipients, T being the tag; a ~ in the text is a CR,
# a ^ an LF that is a CR in the file.  The body is that of $body, if it is set.
mail() {	# po name <lines
	mail_base=${2##*/}
	awk '
	/^r/ { split(substr($0, 13), w, " "); at[w[3]] = off + 0 }
	/^d/ && $0 ~ /[|]/ {
		n = split(substr($0, 3), w, "|")
		line = sprintf("d%s%d:0:-1::1795220140\t%s\001%s\001%s\001%s" \
		    "\001%s\t%s", substr($0, 2, 1), at[w[1]], w[1], w[2],
		    w[3], w[4], w[5], w[6])
		gsub(/~/, "\r", line)
		$0 = line
	}
	{ print; off += length($0) + 1 }' | tr '\004' '\000' >"$tmp/mail.ctl"
	if [ -n "${body-}" ]; then
		cp "$body" "$1/queue/$mail_base"
	else
		printf 'body of %s\n' "$2" >"$1/queue/$mail_base"
	fi
	cp "$tmp/mail.ctl" "$1/transport/.$mail_base"
	[ -z "${old-}" ] || touch -d "$old" "$1/queue/$mail_base"
	mv "$1/transport/.$mail_base" "$1/transport/$mail_base"
}
# The same with head and header around: sender, and lines from standard input.
simple() {	# po name sender <lines
	{
		printf 'i %s\no 0\nl <%s@test>\n%ss smtp - %s 0\n' "${2##*/}" \
		    "$2" "${head-}" "$3"
		cat
	} >"$tmp/simple"
	# the header goes before the diagnostic lines
	{
		grep -v '^d' "$tmp/simple"
		printf 'm\nSubject: %s\n\n' "$2"
		grep '^d' "$tmp/simple"
	} | mail "$1" "$2"
}

# One whose only recipient fails by the channel fail.
failing() {	# po name sender user
	simple "$1" "$2" "$3" <<END
r           fail h $4@x.example 0
END
}

# The DSNs that were made first of a message: what the log says of each.
dsns_of() {	# name: to=SENDER rcpts=N msgs=N file=router/N
	awk -v name="$1" '/ channel=dsn / && / file=router/ &&
	    $0 ~ " msg=" name " " {
		$0 = substr($0, index($0, " to=") + 1)
		n = split($0, dsn, "; to=")
		for (i = 1; i <= n; i++) {
			sub(/;.*/, "", dsn[i])
			print (i == 1 ? "" : "to=") dsn[i]
		}
	}' "$tmp/sched.log"
}
files_of() {	# name: their files
	dsns_of "$1" | sed 's/.*file=router\///'
}
dsn_of() {	# name [seconds]: waits for one
	wait_log "msg=$1 .*channel=dsn .* file=router" "${2-30}"
}
# Reads the DSNs of a message: what is in them goes to $tmp/r.
report() {	# po name
	dsn_of "$2"
	rm -f "$tmp/r"
	for report_f in $(files_of "$2"); do
		sh "$top/t/dsnread" "$1/router/$report_f"
	done >"$tmp/r" 2>&1
	report_file=$1/router/${report_f-none}
}
got() {		# ERE: the lines of $tmp/r that match, one after the other
	grep -E -e "$1" "$tmp/r" | tr '\n' '@'
}

# The configuration, with the agents of $A.
config() {	# PARAM line ...
	printf '%s\n' 'PARAMmailqsock none' 'PARAMmailname mx.here.example' "$@"
	cat <<END
*/*	interval=1h retries=1 expiry=5d
	reporttimes="1h 2h 3d"
late/*	command="$A -c late deferred the 4.2.2 box is full"
every/*	delayreport command="$A -c every deferred 4.2.2 box"
PARAMdsn="-x 'kept/*'"
kept/*	delayreport command="$A -c kept deferred later"
down/*	delayreport command="$A -c down deferall 4.4.1 no answer"
numb/*	delayreport command="$A -c numb deferred 10.4.2.1 said 14.2.1, not 4.2.1.5 or 4.3.2. See"
fail/*	command="$A -c fail error no such user"
wait/*	reporttimes=none command="$A -c wait deferred not now"
END
}
ids() {		# how many DSNs of a message the log has
	files_of "$1" | wc -l | tr -d ' '
}
