#!/bin/sh
# The manual pages are good, dated, and refer to what there is.
. "${0%/*}/lib.sh"

cd "$top/man" || exit 1
# "scheduler-protocol.7 SCHEDULER-PROTOCOL 7 DATE"
for page in *.[1-9]; do
	printf '%s %s\n' "$page" "$(sed -n '1s/^\.TH //p' "$page")"
done >"$tmp/heads"
is 'each page begins with its name, section and a date' "$(awk '{
	name = $1; sub(/\.[1-9]$/, "", name)
	section = $1; sub(/.*\./, "", section)
	if (NF != 4 || $2 != toupper(name) || $3 != section ||
	    $4 !~ /^20[0-9][0-9]-[01][0-9]-[0-3][0-9]$/)
		print
}' "$tmp/heads")" ''
# Others' pages have these names.
others=' mail cron rmail sendmail '
is 'references in pages lead to a page' "$(sed -n \
    's/\\-/-/; s/^\.BR \([a-z.-]*\) *(\([15-8]\)).*/\1 \2/p' *.[1-9] | sort -u |
    while read -r name section; do
	[ -f "$name.$section" ] || case $others in
	(*" $name "*) ;;
	(*) echo "$name($section)" ;;
	esac
done)" ''

# ---- events of the log ------------------------------------------------------

# Of C sources: a line "event key" for each key of each call that writes to the
# log, "event -" for a call without.  The event is the first word of the text;
# where that is %s, each word that the call has in quotes.  Keys of addresses come
# from rcpt_fields and msg_sender_fields (message.c).
events() {	# file ...
	awk '
	{ s = s $0 "\n" }
	END {
		call = "log_(err|warn|info|debug)[(][ \t\n]*\""
		string = "^[ \t\n]*\"([^\"\\\\]|\\\\.)*\""
		while (match(s, call)) {
			s = substr(s, RSTART + RLENGTH - 1)
			for (text = ""; match(s, string); ) {
				piece = substr(s, 1, RLENGTH)
				s = substr(s, RLENGTH + 1)
				sub(/^[ \t\n]*"/, "", piece)
				text = text substr(piece, 1, length(piece) - 1)
			}
			n = split(text, word, " ")
			rest = substr(s, 1, index(s, ";"))
			if (word[1] == "%s")
				for (word[1] = ""; match(rest, /"[a-z-]+"/); ) {
					word[1] = word[1] " " substr(rest, \
					    RSTART + 1, RLENGTH - 2)
					rest = substr(rest, RSTART + RLENGTH)
				}
			for (m = split(word[1], event, " "); m > 0; m--) {
				keys = 0
				for (i = 2; i <= n; i++)
					if (match(word[i], /^[a-z-]+=./)) {
						print event[m], substr(word[i], \
						    1, RLENGTH - 1)
						keys++
					}
				# keys of values that may be missing
				if (rest ~ /rcpt_fields\(/) {
					print event[m], "to="
					print event[m], "orcpt="
					keys++
				}
				if (rest ~ /rcpt_fields\([^)]*relay\)/)
					print event[m], "relay="
				if (rest ~ /msg_sender_fields\(/) {
					print event[m], "from="
					print event[m], "msgid="
				}
				if (keys == 0)
					print event[m], "-"
			}
		}
	}' "$@" | sort -u
}
cat >"$tmp/x.c" <<'END'
	log_err("lost pid=%d after %ld "
	    "seconds for=%s",
	    n, why);
	log_info("%s msg=%s", good ? "taken" : "left", name);
	log_debug("plain %d a = b", a);
END
is 'events are found in sources' "$(events "$tmp/x.c" | tr '\n' ,)" \
    'left msg=,lost for=,lost pid=,plain -,taken msg=,'
# "event key" for each key in the table, "event -" for an event.
sed -n '/^.SH LOG EVENTS/,/^.fi/p' scheduler.8 |
    awk -F'\t' '$1 ~ /^[a-z-]+$/ {
	print $1, "-"
	for (n = split($2, key, " "); n > 0; n--) print $1, key[n] "="
}' | sort -u >"$tmp/table"
objs=$(sed -n 's/^OBJS = //p' ../Makefile | sed 's/[.]o/.c/g')
(cd .. && events $objs | sed 'p; s/ .*/ -/' | sort -u) >"$tmp/calls"
is 'each event of the log and each key is in scheduler(8)' \
    "$(comm -23 "$tmp/calls" "$tmp/table")" ''
is 'each event and key in scheduler(8) is one of the log' \
    "$(comm -13 "$tmp/calls" "$tmp/table")" ''

# ---- options, keywords, defaults ---------------------------------------------

# Options in a source that the page of the program lacks: those of getopt, or of
# an agent, whose command has name, usage and letters.
unlisted() {	# source page
	awk '/getopt\(argc, argv,/, /!= -1/ { s = s $0 }
	/struct lib_command command = /, /;/ {
		sub(/command = [{] "[a-z]*"/, "")
		s = s $0
	}
	END {
		while (match(s, /"[^"]*"/)) {
			t = substr(s, RSTART + 1, RLENGTH - 2)
			if (t !~ /^\[| /)
				o = o t
			s = substr(s, RSTART + RLENGTH)
		}
		gsub(/:/, "", o)
		for (i = 1; i <= length(o); i++)
			print substr(o, i, 1)
	}' "$top/$1" >"$tmp/letters"
	[ -s "$tmp/letters" ] || echo "none in $1"
	while read -r letter; do
		grep "^\\.B.*\\\\-[A-Za-z0-9]*$letter" "$2" >/dev/null ||
		    echo "$2 -$letter"
	done <"$tmp/letters"
}
is 'each option of the programs is in their pages' "$(
	unlisted scheduler.c scheduler.8
	unlisted mailq.c mailq.1
	for agent in dsn errormail hold mailbox sm smtp; do
		unlisted ta/$agent.c $agent.8
	done
)" ''

# "keyword default" of headings such as ".BI maxage= span\fR\ (0s),\ ...".
listed() {
	sed -n 's/\\ / /g; s/\\fR//g; s/\\fP//g; s/\\fB//g; s/\\(dq//g
	    /^\.BI [a-z0-9]*=/s/^\.BI //p' scheduler.cf.5 | tr ',' '\n' |
	    sed -n 's/^ *\([a-z0-9]*\)= [^(]*(\(.*\))$/\1 \2/p' | sort
}
# Keywords and PARAMs in the tables of cf.c.
table() {	# name
	sed -n "/ $1\\[\\] = {/,/^};/s/^	{ \"\\([a-z0-9-]*\\)\", T_.*/\\1/p" \
	    "$top/cf.c" | sort
}
# Flags and the command have no default; ageorder is another name of order.
plain() {
	awk '/^\.S[HS]/ { on = /Keywords/ }
	    on && last == ".TP" && /^\.BI* [a-z]+(= words)?$/ {
		sub(/=/, "", $2)
		print $2
	    }
	    { last = $0 }' scheduler.cf.5
}
is 'each keyword is in scheduler.cf(5), with its default if it has one' \
    "$({ listed | sed "s, .*,,"; plain; } |
    grep -vx ageorder | sort | tr '\n' ' ')" \
    "$(table cf_keywords | tr '\n' ' ')"
is 'each PARAM is in scheduler.cf(5)' \
    "$(sed -n 's/^\.B[IR]* PARAM\([a-z-]*\)=.*/\1/p' scheduler.cf.5 | sort |
    tr '\n' ' ')" "$(table params | tr '\n' ' ')"
is 'each line of the facts in a dump is in scheduler-protocol(7)' "$(
    sed -n '/^\.B Facts:/,/^The states/p' scheduler-protocol.7 |
    sed -n '/^\.TP/{n;s/^\.B //p;}' | sort | tr '\n' ' ')" "$(
    sed -n '/^ \*	Facts:/,/^ \*	End:/s/^ \*	\([a-z]\)  .*/\1/p' \
    "$top/dump.c" | sort | tr '\n' ' ')"
echo 'a/* command="x"' >"$tmp/cf"
# Who delivers depends on the system; a rate and a command are not there.
is 'scheduler -n prints the defaults in scheduler.cf(5)' \
    "$("$SCHEDULER" -n -f "$tmp/cf" a/b 2>/dev/null |
    sed -n 's/"//g; s/^	\([a-z0-9]*\)=/\1 /p' |
    grep -v -E '^(user|group|command) ' | sort)" \
    "$(listed | grep -v -E '^(user|group|rate) ' |
    sed 's/^idlemax three intervals/idlemax 3m/')"

if command -v mandoc >/dev/null 2>&1; then
	for page in *.[1-9]; do
		is "mandoc says nothing of $page" \
		    "$(mandoc -Tlint "$page" 2>&1)" ''
	done
	printf '.TH X 1\n' >"$tmp/x.1"
	like 'mandoc reports a page without date and text' \
	    "$(mandoc -Tlint "$tmp/x.1" 2>&1)" \
	    'missing date|no document body'
else
	skip 'mandoc reports nothing' 'no mandoc'
fi
finish
