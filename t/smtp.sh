# smtp.sh - what the tests of smtp share; read behind lib.sh.

po=$tmp/po
tab=$(printf '\t')
spool_new "$po"

need_sockets() {
	if without NO_TCP; then
		skip_all 'built with NO_TCP'
	fi
}

# Sets A to the agent with name servers that are files, see t/dns.c.
need_dns() {
	A=$top/t/dnssmtp
	case $("$A" -V) in
	*NO_*) skip_all "built with$("$A" -V | sed 's/^[^ ]* [^ ]*//')" ;;
	esac
	# without getaddrinfo it would ask the real ones
	if nm "$top/t/dns.o" 2>/dev/null | grep dns_unused >/dev/null; then
		skip_all 'built with NO_GETADDRINFO'
	fi
	DNS=$tmp/dns
	export DNS
	mkdir "$DNS"
}

# Sets A to a copy of the agent where another user can run it.
copy_agent() {
	A=$tmp/bin/smtp
	cp "$top/ta/smtp" "$A" && chmod 755 "$A"
}

serve_in() {	# dir [option ...]: sets port; bg_pid is the server
	serve_dir=$1
	shift
	mkdir -p "$serve_dir"
	rm -f "$serve_dir/port"
	bg "$top/t/smtpd" "$@" "$serve_dir"
	wait_for 30 test -s "$serve_dir/port" || exit 1
	port=$(cat "$serve_dir/port")
}

srv_n=0
serve() {	# [option ...]: in a new directory; sets srv, srv_pid and port
	srv_n=$((srv_n + 1))
	srv=$tmp/s$srv_n
	serve_in "$srv" "$@"
	srv_pid=$bg_pid
}

serve_end() {	# [pid]
	set -- "${1:-$srv_pid}"
	kill "$1"
	wait "$1" 2>/dev/null
	lib_forget "$1"
}

# A port that was free a moment ago.
free_port() {
	serve_in "$tmp/port"
	serve_end "$bg_pid"
}

# What the agent said in $tmp/out of each recipient: "STATUS X.Y.Z text".
verdicts() {
	awk -F "$tab" '/^[0-9]/ {
		split($2, w, "\001"); split($3, t, " ")
		print t[1], (w[3] == "" ? "-" : w[3]), substr($3,
		    length(t[1]) + 2)
	}' "$tmp/out"
}
# The same where the fields may stand in the control file; hints, too.
all_verdicts() {	# message
	awk -F "$tab" '
	function status(s,	w) { split(s, w, "\001"); return w[3] }
	FNR == 1 { file++ }
	file == 1 && /^d / { split($1, w, "[ :]"); d[w[2]] = status($2) }
	file == 2 && /^[0-9]/ {
		split($1, w, "/"); split($3, t, " ")
		st = $2 == "" ? d[w[2]] : status($2)
		print t[1], (st == "" ? "-" : st), substr($3, length(t[1]) + 2)
	}
	file == 2 && /^#/ && !/^#(hungry|step )/ { print }
	' "$po/transport/$1" "$tmp/out"
}
