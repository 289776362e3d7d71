#!/bin/sh
# The client mailq: what it understands, what it shows, and that it never says
# "empty" when it could not look.
. "${0%/*}/lib.sh"

M=${MAILQ:-$top/mailq}
S=$top/t/serve
po=$tmp/po
tab=$(printf '\t')
spool_new "$po"
POSTOFFICE=$po RENDEZVOUS=$tmp/none MAILQ_WAIT=20 MAILSHARE=$tmp
export POSTOFFICE RENDEZVOUS MAILQ_WAIT MAILSHARE

# Sets rc; what it says is in out and err.
mailq() {	# [argument ...]
	"$M" "$@" >"$tmp/out" 2>"$tmp/err"
	rc=$?
}
out() {
	cat "$tmp/out"
}
# Plays a scheduler of a post office: its pipe answers with the file.
serve() {	# file [option ...]
	serve_file=$1
	shift
	rm -f "$tmp/q" "$tmp/q.log"
	bg "$S" "$@" -q "$tmp/q" "$serve_file"
	wait_for 30 test -p "$tmp/q"
}
unserve() {
	kill -9 "$bg_pid"
	wait "$bg_pid" 2>/dev/null
	lib_forget "$bg_pid"
	rm -f "$tmp/q"
}
# What mailq says of a dump, by a pipe.
ask() {		# file [argument ...]
	ask_file=$1
	shift
	serve "$ask_file"
	mailq -q "$tmp/q" "$@"
	unserve
}
# TABs are written as ~ and a control byte as ^ in the samples.
dump() {
	tr '~^' '\011\033'
}

# ---- dumps ----------------------------------------------------------------

dump >"$tmp/report" <<'END'
End:
ch/*/0
    prog/-/0~~~N=1   R=1   A=3  W=73s QA=7s
~Threads:    1 Msgs:     1 Procs:   1 Idle:   0 Plim:  20 Flim:   1 Tlim: 1
smtp/*/0
    smtp/example.org/0~~N=2   R=3   A=0  P={25336} HA={5}s FA={5}s ^[2J
~Threads:    2 Msgs:     3 Procs:   1 Idle:   0 Plim:  20 Flim:   1 Tlim: 1
Kids: 3  Idle:  0  Msgs:   4  Thrds:   4  Rcpnts:    5  Uptime: 6s
Msgs in 4 out 0 stored 4 Rcpnts in 6 out 0 stored 6
END
dump >"$tmp/vertices" <<'END'
version zmailer 1.0
Vertices:
1:~11026545-21354~1; 139~#text[exit status 75/75 (temporary failure)] (retry in 1m13s, expires in 4d23h, tries=3)
2:~X/11026546-21354~2; 139,188~#(running now, pid=25336 NextFeed, expires in 59m53s, tries=0)
3:~X/11026546-21354~1; 239~#(waiting for channel slot)
4:~M/Z/11026547-1~1; 139~#refused (waiting for slot, expires in -5s, tries=1)
5:~11026548-1~1; 139~#(activation pending, thread inactive, expires in 1h, tries=1)
Channels:
prog:~>1
smtp:~>2>3>4>5
Hosts:
-:~>1
example.org:~>2>5
[127.0.0.1]:~>3
age:10h:~>4
END
cat "$tmp/vertices" "$tmp/report" >"$tmp/zmailer"
dump >"$tmp/facts" <<'END'
Facts:
p~/nowhere
t~1795000000~3600
m~11026545-21354~200~1234~-~anna@example.org
m~X/11026546-21354~3000~2000000~h~
m~M/Z/11026547-1~100000~-1~-~?
m~11026548-1~5~1~-~bert@example.org
v~1~host~300~250000~3~0~
v~2~run~-1~3593~0~25336~
v~3~limit~-1~-~0~0~maxring
v~4~held~-1~-5~1~0~smtp/age*
v~5~retry~300~3600~1~0~
End:
END
cat "$tmp/zmailer" "$tmp/facts" >"$tmp/ours"
cat >"$tmp/empty" <<'END'
version zmailer 1.0
Vertices:
End:
Kids: 0  Idle:  0  Msgs:   0  Thrds:   0  Rcpnts:    0  Uptime: 6s
Msgs in 3 out 3 stored 0 Rcpnts in 18 out 18 stored 0
END

# ---- listings --------------------------------------------------------------

# What the grammar of the seed's manual allows, and its sample.
dump >"$tmp/sample" <<'END'
version zmailer 1.0
Vertices:
311424:~3714~1; 116~
311680:~6472~2; 151,331~#128.100.8.4: Null read! (will retry)
312192:~6347~1; 152~#128.89.0.93: connect: Connection timed out (will retry)
Channels:
smtp:~>311424>311680>312192
Hosts:
scg.toronto.edu:~>311424
mv04.ecf.toronto.edu:~>311680
relay1.cs.net:~>312192
END

# The time of day is the only thing that is not known beforehand.
said() {
	sed 's/next [0-9][0-9]:[0-9][0-9] (/next HH:MM (/' "$tmp/out"
}
ask "$tmp/zmailer"
is "the listing of ZMailer's dump" \
    "$rc $(said)" '0 11026545-21354  sender not known
	prog/-  1 recipient, 3 tries: text[exit status 75/75 (temporary failure)]
		next HH:MM (in 1m13s), expires in 4d23h
X/11026546-21354  sender not known
	smtp/example.org  2 recipients, not tried yet
		agent pid 25336 has it, expires in 59m53s
	smtp/[127.0.0.1]  1 recipient
		waits for a slot, maxchannel is reached
M/Z/11026547-1  sender not known
	smtp/age:10h  1 recipient, 1 try: refused
		waits for a slot, expired 5s ago
11026548-1  sender not known
	smtp/example.org  1 recipient, 1 try
		activation pending, thread inactive, expires in 1h
4 messages, 6 recipients, 4 destinations; 0 held, 1 running, 4 waiting'
is "the listing of ZMailer's dump prints nothing on stderr" \
    "$(cat "$tmp/err")" ''

ask "$tmp/ours"
ours=$(said)
is 'the listing of our dump' \
    "$rc $ours" '0 11026545-21354  <anna@example.org>  1234 bytes  3m20s old
	prog/-  1 recipient, 3 tries: text[exit status 75/75 (temporary failure)]
		dead host, next HH:MM (in 5m), expires in 2d21h
X/11026546-21354  <>  2000000 bytes  50m old  held
	smtp/example.org  2 recipients, not tried yet
		agent pid 25336 has it, expires in 59m53s
	smtp/[127.0.0.1]  1 recipient, not tried yet
		waits for a slot, maxring is reached
M/Z/11026547-1  sender not known  1d3h old
	smtp/age:10h  1 recipient, 1 try: refused
		held by smtp/age*, expired 5s ago
11026548-1  <bert@example.org>  1 byte  5s old
	smtp/example.org  1 recipient, 1 try
		next HH:MM (in 5m), expires in 1h
4 messages, 6 recipients, 4 destinations; 2 held, 1 running, 2 waiting'
grep '^dump [A-Za-z0-9]*$' "$tmp/q.log" >/dev/null
is 'the query is one line, which ends that of somebody else' \
    "$?$(sed -n '1s/^$/ empty/p' "$tmp/q.log") $(grep -c . "$tmp/q.log")" \
    '0 empty 1'
is 'a query by a pipe leaves no pipe behind' \
    "$(ls "$tmp" | grep '^q\.' | grep -v log)" ''

ask "$tmp/ours" -c
is '-c counts messages, recipients, destinations' \
    "$rc $(tr '\n' ' ' <"$tmp/out")" '0 scheduler 1 messages 4 recipients 6 destinations 4 jobs 5 held 2 running 1 waiting 2 unreadable 0 skipped 0 oldest 100000 evicted 0 '
ask "$tmp/ours" -c -f 'SMTP/example.*'
is '-c -f counts those of one host' \
    "$rc $(tr '\n' ' ' <"$tmp/out")" '0 scheduler 1 messages 2 recipients 3 destinations 1 jobs 2 held 0 running 1 waiting 1 unreadable 0 skipped 0 oldest 3000 evicted 0 '
# Of an older scheduler: fewer fields, more of them, another letter.
for i in 'e	7' 'm	11-1	5	1	-	carl@x.org	100' 'w	1'; do
	awk -v "f=$i" '{ print } /^Facts:/ { print f }' "$tmp/ours" >"$tmp/d"
	ask "$tmp/d"
	is "a dump of an older scheduler with $i: an error" "$rc $(out)" '69 '
	like "a dump of an older scheduler with $i: the error says what to do" \
	    "$(cat "$tmp/err")" 'restart the scheduler, if an older one'
done
awk '{ print } /^Facts:/ { print "e\t7\t5" }' "$tmp/ours" >"$tmp/d"
ask "$tmp/d" -c
is '-c takes the count of evicted mail' \
    "$rc $(grep -E '^(oldest|evicted)' "$tmp/out" | tr '\n' ' ')" \
    '0 oldest 100000 evicted 7 '
ask "$tmp/ours" -S
is '-S shows the sizes of messages' "$rc $(out)" '0 smtp/example.org:
	  2 files, 2000001 bytes total, 1000000 bytes average
prog/-:
	  1 file, 1234 bytes total, 1234 bytes average
smtp/[127.0.0.1]:
	  1 file, 2000000 bytes total, 2000000 bytes average
smtp/age:10h:
	  1 file, 1 of a size not known
4 messages, 6 recipients, 4 destinations; 2 held, 1 running, 2 waiting'
ask "$tmp/ours" -s
is '-s shows destinations by age' \
    "$rc $(out)" '0 destination                 total    5m   20m   80m    5h    1d older state
smtp/example.org                2     1     0     1     0     0     0 retry
prog/-                          1     1     0     0     0     0     0 dead host
    text[exit status 75/75 (temporary failure)]
smtp/[127.0.0.1]                1     0     0     1     0     0     0 held
smtp/age:10h                    1     0     0     0     0     0     1 held
    refused
all                             5     2     0     2     0     0     1
4 messages, 6 recipients, 4 destinations; 2 held, 1 running, 2 waiting'
ask "$tmp/ours" -Q
is '-Q shows the report with its escape byte as \033' "$rc $(out)" \
    "0 $(sed 1d "$tmp/report" | tr '\033' '@' | sed 's/@/\\033/')"
ask "$tmp/ours" -Q -f prog
is '-Q -f shows the report of one channel' \
    "$rc $(out)" "0 $(sed '1d;5,7d' "$tmp/report")"
ask "$tmp/ours" -f prog
is '-f shows the messages of one channel' \
    "$rc $(said)" "0 $(printf '%s\n' "$ours" |
    sed -n 1,3p)
1 message, 1 recipient, 1 destination; 0 held, 0 running, 1 waiting"
ask "$tmp/ours" -f nosuch
is '-f of an unknown channel: nothing matches' \
    "$rc $(out)" '0 nothing in the queue matches nosuch'
ask "$tmp/ours" -j
is '-j prints one object a line' "$rc $(wc -l <"$tmp/out" | tr -d ' ')" '0 5'
is '-j prints the promised fields' \
    "$(sed -n 1p "$tmp/out")" '{"message":"11026545-21354","id":null,"sender":"anna@example.org","size":1234,"age":200,"held":false,"unreadable":false,"channel":"prog","host":"-","recipients":1,"state":"host","what":null,"reason":"text[exit status 75/75 (temporary failure)]","next":300,"expires":250000,"tries":3,"pid":null}'
sample='3714  sender not known
	smtp/scg.toronto.edu  1 recipient
6472  sender not known
	smtp/mv04.ecf.toronto.edu  2 recipients: 128.100.8.4: Null read!
		will retry
6347  sender not known
	smtp/relay1.cs.net  1 recipient: 128.89.0.93: connect: Connection timed out
		will retry
3 messages, 4 recipients, 3 destinations; 0 held, 0 running, 3 waiting'
ask "$tmp/sample"
is "the sample in ZMailer's manual, which has no End:" "$rc $(out)" "0 $sample"
is 'a dump without End: a warning says that it may be cut' "$(cat "$tmp/err")" \
    "mailq: the scheduler's answer has no \"End:\"; it may be cut short"
sed 's/; 116	$/; 116/' "$tmp/sample" >"$tmp/d"
ask "$tmp/d"
is 'a dump: a vertex without its last tab' "$rc $(out)" "0 $sample"
sed 's/; 116	$/; 116	#/' "$tmp/sample" >"$tmp/d"
ask "$tmp/d"
is 'a dump: a vertex with an empty text' "$rc $(out)" "0 $sample"
sed '3h;3d;5G' "$tmp/sample" >"$tmp/d"
ask "$tmp/d" -f 'smtp/scg.toronto.edu'
is 'a dump: vertices in no order' "$rc $(out)" "0 $(echo "$sample" | sed 2q)
1 message, 1 recipient, 1 destination; 0 held, 0 running, 1 waiting"
cat "$tmp/sample" "$tmp/report" >"$tmp/d"
ask "$tmp/d"
is 'a dump: vertices without text, and an End:' "$rc $(out)$(cat "$tmp/err")" \
    "0 $sample"
sed 's/	#.*//' "$tmp/ours" >"$tmp/d"
ask "$tmp/d" -f prog
is 'a dump: vertices without text, and facts' "$rc $(said)$(cat "$tmp/err")" \
    '0 11026545-21354  <anna@example.org>  1234 bytes  3m20s old
	prog/-  1 recipient, 3 tries
		dead host, next HH:MM (in 5m), expires in 2d21h
1 message, 1 recipient, 1 destination; 0 held, 0 running, 1 waiting'
ask "$tmp/sample" -c
is '-c counts a dump without End:' "$rc $(sed -n '2,3p' "$tmp/out" |
    tr '\n' ' ')" '0 messages 3 recipients 4 '
for i in -Q -D; do
	ask "$tmp/sample" $i
	is "mailq $i of a dump without End: an error" "$rc $(out)" '69 '
	like "mailq $i of a dump without End: the error says why" \
	    "$(cat "$tmp/err")" \
	    'there is no report'
done
sed 2q "$tmp/sample" >"$tmp/d"
ask "$tmp/d"
is 'an empty dump without End: the queue is empty' \
    "$rc $(out)" '0 the queue is empty'
like 'an empty dump without End: a warning says that it may be cut' \
    "$(cat "$tmp/err")" 'no "End:"; it may be cut short$'
for n in 3 4 5 6 7 8 9 10; do
	sed "${n}q" "$tmp/sample" >"$tmp/d"
	ask "$tmp/d"
	is "the sample cut behind line $n: an error, nothing shown" \
	    "$rc $(out)" '69 '
	like "the sample cut behind line $n: the error says so" \
	    "$(cat "$tmp/err")" \
	    'cut short'
done
for i in '' -v -S -s; do
	ask "$tmp/empty" $i
	is "mailq $i of an empty queue: the queue is empty" \
	    "$rc $(out)" '0 the queue is empty'
done
ask "$tmp/empty" -j
is '-j of an empty queue prints nothing' "$rc $(out)" '0 '
ask "$tmp/empty" -c
is '-c of an empty queue counts 0' \
    "$rc $(sed -n '2p;11p' "$tmp/out" | tr '\n' ' ')" \
    '0 messages 0 oldest 0 '
sed 's/stored 0/stored 3/' "$tmp/empty" >"$tmp/d"
for i in '' -c -j -s; do
	ask "$tmp/d" $i
	is "mailq $i of a scheduler that hides its messages: an error" \
	    "$rc $(out)" '69 '
done
like 'a scheduler that hides its messages: the error names -Q' \
    "$(cat "$tmp/err")" 'started with -Q'
ask "$tmp/d" -Q
is '-Q shows the report of a scheduler that hides its messages' "$rc" 0
# Some 900 agents of one host.
awk '/P={25336}/ { for (i = 0; i < 3000; i++) $0 = $0 ",1234567" } { print }' \
    "$tmp/ours" >"$tmp/d"
ask "$tmp/d"
is 'a host with very many agents does not hide the queue' \
    "$rc $(said)" "0 $ours"

# ---- destinations ------------------------------------------------------------

# In all states, with no order.
dump >"$tmp/d-lines" <<'END'
d~smtp~new.test~5~0~0~0~0~-~-~~0~0~3~-~-~0
d~smtp~busy.test~7~20~3~30~2~-~10/60s~~1~40~0~12~2~0
d~smtp~down.test~0~20~0~0~1~300~-~refused ^[2J~1~100~120~4~0~3
d~local~idle.test~5~5~0~9~0~-~-~~2~0~10~0~0~0
d~smtp~closed.test~6~0~0~9~0~-~-~~0~0~3700~-~-~0
d~smtp~old.test~0~20~0~0~4~0~-~gone~0~0~5~-~-~0
END
{
	cat "$tmp/empty"
	echo Facts:
	cat "$tmp/d-lines"
	echo End:
} >"$tmp/dests"
ask "$tmp/dests" -D
is '-D shows destinations in each state' "$rc $(said)" '0 local/idle.test  idle
	window 5 of 5, 2 idle
	9 good and 0 bad reports, used 10s ago
smtp/busy.test  active
	window 7 of 20, 3 agents at work, 1 idle, rate 10/60s
	12 jobs ready, 2 waiting
	30 good and 2 bad reports, 0.40 cohorts failed, used 0s ago
smtp/closed.test  closed
	window 6
	9 good and 0 bad reports, used 1h1m ago
smtp/down.test  retry: refused \033[2J
	next HH:MM (in 5m), failed 3 times in a row, 1 idle
	4 jobs ready, 0 waiting
	0 good and 1 bad report, 1.00 cohorts failed, used 2m ago
smtp/new.test  unused
	window 5
	0 good and 0 bad reports, used 3s ago
smtp/old.test  retry: gone
	next HH:MM (in 0s)
	0 good and 4 bad reports, used 5s ago
6 destinations; 1 active, 1 idle, 1 closed, 2 retry, 1 unused'
ask "$tmp/dests" -D -f 'smtp/{new,idle}.*'
is '-D -f shows the destinations that match' \
    "$rc $(sed -n '1p;$p' "$tmp/out")" '0 smtp/new.test  unused
1 destination; 0 active, 0 idle, 0 closed, 0 retry, 1 unused'
ask "$tmp/dests" -D -f 'uucp'
is '-D -f of an unknown channel: nothing is known' \
    "$rc $(out)" '0 nothing is known of uucp'
ask "$tmp/dests" -Q
like '-Q shows dead destinations, too' "$rc $(grep old.test "$tmp/out")" \
    '^0     smtp/old.test/d  window=0/20 agents=0 good=0 bad=4 dead, next try in 0s: gone'
if ! command -v python3 >/dev/null 2>&1; then
	skip '-D -j shows destinations in JSON' 'no python3'
else
	ask "$tmp/dests" -D -j
	python3 -c '
import json, sys
rows = {}
for line in open(sys.argv[1], "rb"):
	o = json.loads(line.decode("ascii"))
	assert list(o) == ["channel", "host", "state", "window", "limit",
	    "agents", "idle", "ready", "waiting", "good", "bad", "cohorts",
	    "next", "tries", "reason", "rate", "unused"], o
	rows[o["host"]] = list(o.values())
assert len(rows) == 6
assert rows["busy.test"] == ["smtp", "busy.test", "active", 7, 20, 3, 1, 12,
    2, 30, 2, 0.4, None, 0, None, "10/60s", 0], rows["busy.test"]
assert rows["down.test"] == ["smtp", "down.test", "retry", 0, 20, 0, 1, 4,
    0, 0, 1, 1, 300, 3, "refused \033[2J", None, 120], rows["down.test"]
assert rows["old.test"] == ["smtp", "old.test", "retry", 0, 20, 0, 0,
    None, None, 0, 4, 0, 0, 0, "gone", None, 5], rows["old.test"]
print("good")' "$tmp/out" >"$tmp/n" 2>&1
	is '-D -j shows destinations in JSON' "$rc $(cat "$tmp/n")" '0 good'
fi
{
	sed 's/stored 0/stored 3/' "$tmp/empty"
	printf 'Facts:\nEnd:\n'
} >"$tmp/d"
ask "$tmp/d" -D
is '-D works with a scheduler that hides its messages' "$rc $(out)" \
    '0 nothing is known of any destination'
ask "$tmp/zmailer" -D
is "-D of ZMailer's dump is an error" "$rc $(out)" '69 '
like "-D of ZMailer's dump: the error says why" \
    "$(cat "$tmp/err")" 'does not list destinations'
mailq -D -q "$tmp/none"
is '-D without a scheduler is an error' "$rc $(out)" '69 '
bad_dest() {	# what sed-script
	sed "$2" "$tmp/dests" >"$tmp/d"
	for i in -D -Q ''; do
		ask "$tmp/d" $i
		[ "$rc" -eq 69 ] || break
	done
	is "a dump with $1: an error" "$rc" 69
}
bad_dest 'a window that is not numeric' \
    '/busy/s/	7	/	-	/'
bad_dest 'agents that are not numeric' \
    '/busy/s/	1	40	/	x	40	/'
bad_dest 'a field too many' '/busy/s/$/	1/'
bad_dest 'a field too few' '/busy/s/	0$//'
sed '/busy/p' "$tmp/dests" >"$tmp/d"
ask "$tmp/d" -D
is '-D of a dump with a destination twice: an error' "$rc $(out)" '69 '

# ---- what is wrong -----------------------------------------------------------

bad() {		# what sed-script [file]
	sed "$2" "${3:-$tmp/ours}" | dump >"$tmp/d"
	ask "$tmp/d"
	is "a dump with $1: an error, nothing shown" "$rc $(out)" '69 '
	[ -s "$tmp/err" ] || fail "a dump with $1: the error has no words"
}
bad 'another protocol' '1s/1.0/2.0/'
like 'a dump with another protocol: the error names it' \
    "$(cat "$tmp/err")" 'protocol 2'
bad 'the first line "busy"' '1s/.*/busy too many askers^[m/'
is 'a dump with the first line "busy": the error has its words' \
    "$(cat "$tmp/err")" \
    'mailq: the scheduler is busy: too many askers\033[m'
bad 'the first line of another service' '1s/.*/220 smtp ready/'
bad 'a vertex in no channel' 's/^prog:.*/prog:	>2/'
bad 'a vertex in two hosts' 's/^-:	>1/-:	>1>2/'
bad 'an unknown vertex in a channel' 's/^-:.*/-:	>1>9/'
bad 'no channels' '/^Channels/,/^smtp/d'
bad 'no hosts' '/^Hosts/,/^age/d'
bad 'a number twice' 's/^2:/1:/'
bad 'a number too large' 's/^5:/99999999999:/'
bad 'recipients that do not add up' 's/2; 139,188/3; 139,188/'
bad 'a name too long' "s/11026548-1/$(awk 'BEGIN {
    for (i = 0; i < 300; i++) printf "9" }')/"
bad 'a text without its mark' 's/	#(running/	(running/'
bad 'an unknown line' 's/^Channels:/Chances:/'
bad 'more behind the report' 's/^Facts:/Fictions:/'
bad 'an unknown fact' 's/^t	/z	/'
bad 'a fact too few' '/^v	3/d'
bad 'a fact twice' '/^v	3/p'
bad 'a message without facts' '/^m	X/d'
bad 'an unknown state' 's/	retry	/	sulking	/'
bad 'a number that is not numeric' 's/	3593	/	35x93	/'
bad 'a fact of too few fields' 's/	maxring$//'
bad 'a reason of an unknown vertex' \
    '/^v	2/{p;s/.*/r	9	139	full/;}'
bad 'a reason of an unknown recipient' \
    '/^v	2/{p;s/.*/r	2	x	full/;}'
bad 'a reason that is missing' '/^v	2/{p;s/.*/r	2	139/;}'
bad 'more bytes behind its end' '$s/$/ /'
{
	sed '/^1:/,$d' "$tmp/vertices"
	printf '1:\t1-1\t1; 0\t#'
	awk 'BEGIN { for (i = 0; i < 200000; i++) printf "long " }'
} >"$tmp/d.in"
bad 'a line without an end' '' "$tmp/d.in"
{
	sed '/^1:/,$d' "$tmp/vertices"
	printf '1:\t1-1\t1; 0\t#a\000b (retry in 9s)\n'
} >"$tmp/d.in"
cp "$tmp/d.in" "$tmp/d"
ask "$tmp/d"
is 'a dump with a zero byte: an error' "$rc $(out)" '69 '
cp "$M" "$tmp/d"
ask "$tmp/d"
is 'a program as dump: an error' "$rc $(out)" '69 '

# Long lists are no error.
awk 'BEGIN {
	printf "version zmailer 1.0\nVertices:\n"
	for (i = 1; i <= 20000; i++)
		printf "%d:\t%d-1\t1; 9\t#no (retry in 9s)\n", i, i
	printf "Channels:\nsmtp:\t"
	for (i = 1; i <= 20000; i++) printf ">%d", i
	printf "\nHosts:\nh:\t"
	for (i = 1; i <= 20000; i++) printf ">%d", i
	printf "\nEnd:\nMsgs in 1 out 0 stored 20000 Rcpnts in 1\n"
}' >"$tmp/d"
ask "$tmp/d" -c
is '-c counts a host with 20000 messages' "$rc $(sed -n 2p "$tmp/out")" \
    '0 messages 20000'
ask "$tmp/d" -s
is '-s aligns the numbers of a host with 20000 messages' \
    "$rc $(sed -n 2p "$tmp/out")" \
    '0 smtp/h                      20000     0     0     0     0     0     0 retry'

# ---- hostile bytes -------------------------------------------------------------

# Every byte but LF, NUL and TAB, in every free field.
rude=$(awk 'BEGIN { for (i = 1; i < 256; i++)
    if (i != 9 && i != 10) printf "\\%03o", i }')
{
	printf 'version zmailer 1.0\nVertices:\n'
	printf "1:\t1-$rude\t1; 9\t#$rude (retry in 9s, expires in 9s, tries=1)\n"
	printf "2:\t2-1\t1; 9\t#($rude)\n"
	printf "Channels:\n$rude:\t>1\nsmtp:\t>2\nHosts:\n$rude:\t>1>2\nEnd:\n"
	printf "  $rude\nMsgs in 1 out 0 stored 1 $rude\n"
	printf 'Facts:\n'
	printf "m\t1-$rude\t0\t0\t-\t$rude\nm\t2-1\t0\t0\t-\t\"\\\\\n"
	printf "v\t1\tagent\t-1\t-\t0\t0\t$rude\n"
	printf "v\t2\theld\t-1\t-\t0\t0\t$rude\nEnd:\n"
} >"$tmp/d"
for i in '' -v -s -S -Q -c -j '-v -j'; do
	ask "$tmp/d" $i
	is "mailq $i shows no control byte" \
	    "$rc $(tr -d '\011\012\040-\176' <"$tmp/out" | wc -c |
	    tr -d ' ')" '0 0'
	[ "x$i" != x-s ] || is '-s keeps to 80 columns with hostile bytes' \
	    "$(awk 'length($0) > 80' "$tmp/out")" ''
done
printf 'version zmailer 1.0\nVertices:\n1:\t1-1\t1; 9\t#%s (%s)\n%s\n' \
    "$(printf '\r\rfirst line\r\rsecond\r')" 'retry in 9s' \
    'Channels:
c:	>1
Hosts:
h:	>1
End:
Msgs in 1 out 0 stored 1 Rcpnts in 1 out 0 stored 1' >"$tmp/lines"
for i in '' -v; do
	ask "$tmp/lines" $i
	like "mailq $i shows line ends in a reason as blanks" "$(out)" \
	    '^	c/h  1 recipient[^:]*: first line second$'
done
ask "$tmp/lines" -s
like '-s shows line ends in a reason as blanks' "$(out)" '^ *first line second$'
ask "$tmp/lines" -j
like '-j shows line ends in a reason as they are' "$(out)" \
    '"reason":"\\u000d\\u000dfirst line\\u000d\\u000dsecond'
ask "$tmp/d" -f "$(printf '\033c')"
is '-f: the filter is shown without control bytes' \
    "$(out)" 'nothing in the queue matches \033c'
if ! command -v python3 >/dev/null 2>&1; then
	skip '-j prints valid JSON for hostile bytes' 'no python3'
else
	ask "$tmp/d" -j
	python3 -c '
import json, sys
names = None
for line in open(sys.argv[1], "rb"):
	o = json.loads(line.decode("ascii"))
	names = names or list(o)
	assert list(o) == names
	rude = bytes(i for i in range(1, 256) if i not in (9, 10))
	if o["message"] != "2-1":
		assert o["reason"] == rude.decode("utf-8", "replace"), o
	else:
		assert o["sender"] == "\"\\", o
print(len(names))' "$tmp/out" >"$tmp/n" 2>&1
	is '-j prints valid JSON for hostile bytes' "$(cat "$tmp/n")" 17
fi

# A word is read back from \ooo, and what is none of these is as it was.
{
	printf 'version zmailer 1.0\nVertices:\n1:\t1-1\t1; 9\n2:\t2-1\t1; 9\n'
	printf 'Channels:\na\\040b:\t>1>2\nHosts:\n'
	printf '%s:\t>%d\n' '\134\134101\303\274' 1 '\9\400\08\000\12' 2
} >"$tmp/d"
ask "$tmp/d" -j
is '-j decodes octal escapes in words of a dump' \
    "$rc $(sed 's/.*"channel":\(.*\),"recip.*/\1/' "$tmp/out")" \
'0 "a b","host":"\\\\101\u00fc"
"a b","host":"\\9\\400\\08\\000\\12"'

# ---- cut short -------------------------------------------------------------------

{
	printf 'version zmailer 1.0\nVertices:\n'
	printf '1:\t1-1\t1; 9\t#no (retry in 9s)\n'
	printf 'Channels:\nsmtp:\t>1\nHosts:\nh:\t>1\nEnd:\n'
	printf 'Msgs in 1 out 0 stored 1 Rcpnts in 1\n'
} >"$tmp/short"
whole=$(wc -c <"$tmp/short" | tr -d ' ')
{
	cat "$tmp/short"
	printf 'Facts:\nm\t1-1\t0\t0\t-\ts\nv\t1\tretry\t9\t-\t0\t0\t\nEnd:\n'
} >"$tmp/d"
# Where the grammar of the manual lets it end, which mailq has to say.
ends=$(sed -n '/^End:/q;p' "$tmp/short" | wc -c | tr -d ' ')
ends="$(sed 2q "$tmp/short" | wc -c | tr -d ' ') 0
$ends 0"
# Every length of a dump: prints those that are no error, or show something.
cuts() {	# argument ...
	n=$(wc -c <"$tmp/d")
	i=0
	while [ $i -le "$n" ]; do
		# a caller that gets no byte by a pipe has to wait
		[ $i -gt 0 ] || MAILQ_WAIT=1
		mailq "$@"
		MAILQ_WAIT=20
		[ $rc -eq 69 ] && [ ! -s "$tmp/out" ] || echo "$i $rc"
		[ $rc -ne 0 ] || [ $i -ge "$whole" ] ||
		    grep 'no "End:"; it may be cut short' "$tmp/err" \
		    >/dev/null || echo "$i is not said"
		i=$((i + 1))
	done
}
serve "$tmp/d" -c
# ZMailer's ends after the report, so that length is a whole one, too.
is 'a dump by a pipe, cut at any length: an error, nothing shown' \
    "$(cuts -q "$tmp/q")" \
    "$ends
$whole 0
$(wc -c <"$tmp/d" | tr -d ' ') 0"
unserve

# ---- TCP -----------------------------------------------------------------------

serve_tcp() {	# file [option ...]
	serve_file=$1
	shift
	rm -f "$tmp/port"
	bg "$S" "$@" -t "$tmp/port" "$serve_file"
	wait_for 30 test -f "$tmp/port"
	port=$(cat "$tmp/port")
}
if without NO_TCP; then
	mailq localhost
	is 'without TCP a host argument is an error' "$rc" 64
	like 'without TCP the error for a host says why' \
	    "$(cat "$tmp/err")" 'without TCP'
	mailq -p 174
	is 'without TCP -p is an error' "$rc" 64
else
	serve_tcp "$tmp/ours" -b
	mailq -p "$port"
	is 'a dump by TCP, byte by byte' "$rc $(said)" "0 $ours"
	mailq -p "$port" localhost
	is 'a dump by TCP from a named host' "$rc $(said)" "0 $ours"
	unserve
	mailq -p "$port"
	is 'a port where nobody listens is an error' "$rc $(out)" '69 '
	like 'a port where nobody listens: the error says why' \
	    "$(cat "$tmp/err")" 'refused'
	mailq -p 99999
	is 'a port number that is too large is an error' "$rc" 69
	mailq no.such.host.invalid
	is 'an unknown host is an error' "$rc $(out)" '69 '
	cp "$tmp/short" "$tmp/d"
	serve_tcp "$tmp/d" -c
	is 'a dump by TCP, cut at any length: an error, nothing shown' \
	    "$(cuts -p "$port")" "$ends
$whole 0"
	unserve
	# ZMailer's protocol 2; the digests are md5sum's of the line and the
	# password
	log_in() {	# user digest
		cat <<END
S version zmailer 2.0
S 220 MAILQ-V2-CHALLENGE: 1795220140.12345.1
C AUTH $1 $2
S +OK
END
	}
	{
		log_in nobody c1fdefbc5e10953780331153113e8230
		dump <<'END'
C SHOW QUEUE THREADS2
S +OK until LF.LF
S sc~defer~N=2~R=3~A=4~W=20s~QA=5s
S smtp~example.org~N=1~R=1~A=0~P={25336}~QA=5s
S .
C SHOW THREAD smtp example.org
S +OK until LF.LF
S #smtp/example.org/0  N=1   R=1   A=1  QA=5s
S M/Z/11026589-31864~0~~139~0~0~0~0~thread~
S .
C SHOW THREAD sc defer
S +OK until LF.LF
S #sc/defer/0  N=2   R=3   A=4  QA=5s
S 11026545-21354~0~anna@example.org~139~1~4000000000~1~3~retry in 20s~full~^
S 11026545-21354~1~anna@example.org~188~1~4000000000~1~3~retry in 20s~full
S 11026546-21354~0~<>~139~4000000000~0~0~1~channel~..dots
S .
C QUIT
END
	} >"$tmp/two"
	serve_tcp "$tmp/two" -d
	mailq -p "$port"
	is 'protocol 2: the listing' \
	    "$rc $(cat "$tmp/err")$(sed 's/[0-9][0-9.]*[dhms][0-9dhms]*/T/g
	    s/next .* (in T)/next (in T)/' "$tmp/out")" "0 \
M/Z/11026589-31864  <>
	smtp/example.org  1 recipient, not tried yet
		waits for its turn, or an agent has it
11026545-21354  <anna@example.org>
	sc/defer  2 recipients, 3 tries: full\\011\\033
		next (in T), expired T ago
11026546-21354  <>
	sc/defer  1 recipient, 1 try: ..dots
		waits for a slot, maxchannel is reached, expires in T
3 messages, 4 recipients, 2 destinations; 0 held, 0 running, 3 waiting"
	mailq -p "$port" -f 'smtp' -j
	is 'protocol 2: -j' "$rc $(sed 's/.*"state"/"state"/' "$tmp/out")" \
	    '0 "state":"other","what":"waits for its turn, or an agent has it","reason":null,"next":null,"expires":null,"tries":0,"pid":null}'
	mailq -p "$port" -U nobody:other
	is 'protocol 2: a wrong password is an error' "$rc $(out)" '69 '
	like 'protocol 2: the error for a wrong password names -U' \
	    "$(cat "$tmp/err")" 'refuses "AUTH".*-U gives'
	unserve
	sed 's/^S 11026545-21354~0/S x/; /^S sc/s/N=2/x/' "$tmp/two" |
	    sed "s/^S 11026545-21354${tab}0/S 1/" >"$tmp/d"
	serve_tcp "$tmp/d" -d
	mailq -p "$port"
	is 'protocol 2: a line with too few fields is an error' \
	    "$rc $(out)" '69 '
	unserve
	sed '/^C SHOW THREAD sc/,$d' "$tmp/two" >"$tmp/d"
	serve_tcp "$tmp/d" -d
	mailq -p "$port"
	is 'protocol 2: an answer cut short is an error' "$rc $(out)" '69 '
	unserve
	sed '/^S sc/,$d' "$tmp/two" >"$tmp/d"
	serve_tcp "$tmp/d" -d
	mailq -p "$port"
	is 'protocol 2: a list cut short: the error says so' \
	    "$rc $(cat "$tmp/err")" \
	    "69 mailq: the scheduler's answer is cut short"
	unserve
	sed 's/^S sc.*/C never/' "$tmp/two" >"$tmp/d"
	serve_tcp "$tmp/d" -d
	MAILQ_WAIT=2
	mailq -p "$port"
	MAILQ_WAIT=20
	is 'protocol 2: a list cut short by silence: the error says so' \
	    "$rc $(cat "$tmp/err")" \
	    "69 mailq: the scheduler's answer is cut short: nothing came for 2 seconds"
	unserve
	{
		log_in watcher 5a2efd522a54d3db846c707fba9a1a2d
		printf 'S %s\n' 'C SHOW QUEUE THREADS' '+OK until LF.LF' \
		    'smtp/*/0' '..dot' . | sed 's/^S C/C/'
	} >"$tmp/d"
	serve_tcp "$tmp/d" -d
	mailq -p "$port" -U watcher/se/cret -Q
	is 'protocol 2: -Q shows the report' "$rc $(out)" '0 smtp/*/0
.dot'
	unserve
	cat >"$tmp/scheduler.auth" <<'END'
# user:password:rights:addresses
guest:guest:SNMP ETRN XTT TTX:
*watcher:no:ALL:
watcher:short
watcher:se/cret:SNMP TT ETRN:[127.0.0.0]/8
root:other:ALL
END
	serve_tcp "$tmp/d" -d
	mailq -p "$port" -Q
	is 'protocol 2: mailq logs in by a readable authfile' "$rc $(out)" \
	    '0 smtp/*/0
.dot'
	unserve
	{
		log_in watcher 5a2efd522a54d3db846c707fba9a1a2d | sed 's/+OK/-BAD USER/'
		log_in root 5a34c743662fb77d7cf1e4206a48c06c | sed '1,2d'
		sed '1,/^S +OK$/d' "$tmp/d"
	} >"$tmp/second"
	serve_tcp "$tmp/second" -d
	mailq -p "$port" -Q
	is 'protocol 2: a refused login of an authfile is followed by the next' \
	    "$rc $(out)$(cat "$tmp/err")" '0 smtp/*/0
.dot'
	unserve
	{
		sed '/^C AUTH root/,$d' "$tmp/second"
		log_in root 5a34c743662fb77d7cf1e4206a48c06c | sed '1,2d; s/+OK/-BAD USER/'
		log_in nobody c1fdefbc5e10953780331153113e8230 | sed '1,2d; s/+OK/-BAD USER/'
	} >"$tmp/third"
	serve_tcp "$tmp/third" -d
	mailq -p "$port" -Q
	is 'protocol 2: an authfile with no login that is let in is an error' \
	    "$rc $(out)" '69 '
	like 'protocol 2: the error for refused logins names -U' \
	    "$(cat "$tmp/err")" 'refuses "AUTH".*BAD USER.*-U gives'
	unserve
	rm "$tmp/scheduler.auth"
	serve_tcp "$tmp/ours" -s -l 100
	MAILQ_WAIT=1
	mailq -p "$port"
	MAILQ_WAIT=20
	is 'a scheduler that falls silent by TCP is an error' "$rc $(out)" '69 '
	like 'a scheduler that falls silent by TCP: the error says so' \
	    "$(cat "$tmp/err")" 'nothing came for 1 sec'
	unserve
fi

# ---- pipes --------------------------------------------------------------------------

serve "$tmp/ours" -s -l 100
MAILQ_WAIT=1
mailq -q "$tmp/q"
MAILQ_WAIT=20
is 'a scheduler that falls silent by a pipe is an error' "$rc $(out)" '69 '
unserve
mkfifo "$tmp/q"
mailq -q "$tmp/q"
is 'a pipe that nobody reads is an error' "$rc $(out)" '69 '
like 'a pipe that nobody reads: the error says so' \
    "$(cat "$tmp/err")" 'no scheduler reads it'
exec 7<>"$tmp/q"
MAILQ_WAIT=1
mailq -q "$tmp/q"
is 'a pipe whose reader never answers is an error' "$rc $(out)" '69 '
MAILQ_WAIT=600
bg "$M" -q "$tmp/q"
found() {
	ls "$tmp" | grep '^q\.[0-9]'
}
ok 'mailq makes a pipe of its own for the answer' wait_for 20 found
kill -TERM "$bg_pid"
wait "$bg_pid" 2>/dev/null
lib_forget "$bg_pid"
is 'mailq removes its pipe at SIGTERM' "$(found)" ''
bg "$M" -q "$tmp/q"
wait_for 20 found
kill -9 "$bg_pid"
wait "$bg_pid" 2>/dev/null
lib_forget "$bg_pid"
left=$(found)
like 'SIGKILL leaves the pipe of mailq' "$left" '^q\.[0-9]+x[0-9]+$'
bg "$M" -q "$tmp/q"	# still asking
asker=$bg_pid
waits() {
	found | grep -v "^$left\$"
}
wait_for 20 waits
: >"$tmp/q.99999999x1"
mkfifo "$tmp/q.note" "$tmp/q.99999999"
touch -c -t 202601010000 "$tmp/q.note" "$tmp"/q.[0-9]*
mkfifo "$tmp/q.99999999x2"	# a mailq may be about to open it
MAILQ_WAIT=1
mailq -q "$tmp/q"
ok 'the next mailq removes the pipe that a killed one left' \
    [ ! -p "$tmp/$left" ]
is 'mailq leaves files, other pipes, and those of mailqs that run, alone' \
    "$(ls "$tmp" | grep '^q\.[0-9n]' | sed "s/^q.${asker}x.*/ours/" | tr '\n' ' ')" \
    'ours q.99999999 q.99999999x1 q.99999999x2 q.note '
kill "$asker"
wait "$asker" 2>/dev/null
lib_forget "$asker"
rm "$tmp/q.note" "$tmp"/q.[0-9]*
MAILQ_WAIT=20
exec 7>&-
rm "$tmp/q"
: >"$tmp/q"
mailq -q "$tmp/q"
is 'a file instead of a pipe is an error, and is not written to' \
    "$rc$(cat "$tmp/q")" 69
mailq -q "$tmp/none"
is 'a missing pipe is an error' "$rc" 69
rm "$tmp/q"

# ---- the spool -----------------------------------------------------------------------

mailq
is 'without a scheduler the first line names the spool' \
    "$rc $(sed 's/(.*)/(WHY)/;1q' \
    "$tmp/out")" "0 no scheduler answers (WHY); this is the spool at $po"
is 'an empty spool: the queue is empty' \
    "$(sed 1d "$tmp/out")" 'the queue is empty'
put "$po" 12-1 local - anna local - bert smtp EXAMPLE.org 'carl@example.org'
put "$po" X/Y/7-1 smtp '((mx1.test mx2.test)(mx3.test))' d@test
printf 'T example.org x\n' | put_raw "$po" 13-1
sed 's/^r /r+/' "$po/transport/12-1" | sed 's/12-1/14-1/' |
    put_raw "$po" 14-1
touch -t 202602010000 "$po/queue/12-1"
mailq -v
is '-v lists the spool' \
    "$rc $(sed '1d; /^	id S/d; s/ [0-9dhms]* old/ SPAN old/' "$tmp/out")" \
'0 X/Y/7-1  <sender>  16 bytes  SPAN old
	smtp/mx1.test  1 recipient
		to d@test
12-1  <sender>  13 bytes  SPAN old
	local/-  2 recipients
		to anna
		to bert
	smtp/example.org  1 recipient
		to carl@example.org
14-1  <sender>  13 bytes  SPAN old
	no recipient is left
3 messages, 4 recipients, 3 destinations'
mailq -c
is '-c counts the spool' "$rc $(sed -n '1,5p' "$tmp/out" | tr '\n' ' ')" \
    '0 scheduler 0 messages 3 recipients 4 destinations 3 jobs 3 '
like '-c of the spool names it on stderr' "$(cat "$tmp/err")" \
    "the spool at $po"
mailq -s
is '-s shows the spool' "$(sed -n 4p "$tmp/out")" \
    'smtp/example.org                1     0     0     0     0     0     1'
mailq -j -f local
is '-j shows the spool' \
    "$(sed 's/"id":"S12A[^"]*"/"id":"S"/
    s/"age":[0-9]*/"age":N/; s/"why":"[^"]*"/"why":""/' \
    "$tmp/out")" \
'{"scheduler":false,"why":"","spool":"'"$po"'"}
{"message":"12-1","id":"S","sender":"sender","size":13,"age":N,"held":false,"unreadable":false,"channel":"local","host":"-","recipients":2,"state":null,"what":null,"reason":null,"next":null,"expires":null,"tries":null,"pid":null}'
mailq -Q
is '-Q of the spool is an error' "$rc $(out)" '69 '
echo rubbish >"$po/transport/15-1"
printf 'i 16-1\nr           local' >"$po/transport/16-1"
without NO_SYMLINK || ln -s 12-1 "$po/transport/17-1"
mailq -c
is '-c counts bad control files as unreadable' "$(sed -n '2p;9p' "$tmp/out" |
    tr '\n' ' ')" 'messages 5 unreadable 2 '
rm -f "$po/transport/1"[567]-1
printf 'message 7-1\nmessage 99-1\naddress local/x\n' >"$po/.mailq.holds"
mailq -c
is '-c of the spool counts what is held by its name' \
    "$(sed -n 6,8p "$tmp/out" | tr '\n' ' ')" 'held 1 running 0 waiting 2 '
mailq 'dest=smtp/mx1*'
is 'the spool shows what is held by its name' \
    "$rc $(sed '1d; s/ [0-9dhms]* old/ SPAN old/' "$tmp/out")" \
'0 X/Y/7-1  <sender>  16 bytes  SPAN old  held
	smtp/mx1.test  1 recipient
1 message, 1 recipient, 1 destination'
rm "$po/.mailq.holds"

# A scheduler's own dump of this spool: senders and recipients from the files.
at=$(awk '/^r.*local/ { printf "%s%d", n++ ? "," : "", at }
    { at += length($0) + 1 }' "$po/transport/12-1")
dump >"$tmp/d" <<END
version zmailer 1.0
Vertices:
1:~12-1~2; $at~#no (retry in 9s, expires in 9s, tries=1)
2:~../12-1~2; $at~#no (retry in 9s, expires in 9s, tries=1)
Channels:
local:~>1>2
Hosts:
-:~>1>2
End:
Msgs in 3 out 1 stored 2 Rcpnts in 18 out 18 stored 2
END
ask "$tmp/d" -v
is '-v shows recipients from the control files' \
    "$(sed '/^	id S/d; s/[0-9]*d[0-9h]* old/SPAN/;
    s/next .* (/next (/' "$tmp/out")" '12-1  <sender>  13 bytes  SPAN
	local/-  2 recipients, 1 try: no
		next (in 9s), expires in 9s
		to anna
		to bert
../12-1  sender not known
	local/-  2 recipients, 1 try: no
		next (in 9s), expires in 9s
	recipients cannot be shown: the name of the message is not a plain one
2 messages, 4 recipients, 1 destination; 0 held, 0 running, 2 waiting'

# The usual places, in turn.
sed "s,/nowhere,$po," "$tmp/ours" >"$tmp/d"
bg "$S" -q "$po/public/.mailq.text" "$tmp/d"
wait_for 30 test -p "$po/public/.mailq.text"
mailq
is "mailq asks by the pipe of the post office" "$rc $(said)" "0 $ours"
kill -9 "$bg_pid"
wait "$bg_pid" 2>/dev/null
lib_forget "$bg_pid"
rm "$po/public/.mailq.text"
serve "$tmp/d"
RENDEZVOUS=$tmp/q
mailq
is 'mailq asks by the pipe that RENDEZVOUS names' "$rc $(said)" "0 $ours"
unserve
sed 's,11026548-1,../11026548-1,' "$tmp/d" >"$tmp/d-name"
serve "$tmp/d-name"
mailq flush younger=1m
is 'a command on a message without a plain name is refused, with the reason' \
    "$rc $(cat "$tmp/err")" \
    '65 mailq: "../11026548-1" is no name of a message'
unserve
serve "$tmp/ours"
mailq -c
is "the scheduler of another post office is ignored" \
    "$rc $(sed -n 1,2p "$tmp/out" | tr '\n' ' ')" \
    '0 scheduler 0 messages 3 '
like 'the scheduler of another post office is named on stderr' \
    "$(cat "$tmp/err")" 'another post office, /nowhere'
unserve
serve "$tmp/short" -l 50
mailq
is 'an answer cut short is not replaced by the spool' "$rc $(out)" '69 '
unserve
RENDEZVOUS=$tmp/none

# ---- what may not be read ------------------------------------------------------------

# As an ordinary user: ourselves, or somebody when we are root.
user() {	# [argument ...]
	if [ "$(id -u)" -eq 0 ]; then
		"$S" -u 64321 "$M" "$@" >"$tmp/out" 2>"$tmp/err"
	else
		"$M" "$@" >"$tmp/out" 2>"$tmp/err"
	fi
	rc=$?
}
cp "$M" "$tmp/mailq" && chmod 755 "$tmp/mailq" && M=$tmp/mailq
cp "$S" "$tmp/serve" && chmod 755 "$tmp/serve" && S=$tmp/serve
chmod 0 "$po/transport/12-1"
user
is 'an unreadable control file is counted' "$rc $(tail -n 1 "$tmp/out")" \
    '0 3 messages, 1 recipient, 1 destination; 1 control file cannot be read'
chmod 644 "$po/transport/12-1"
chmod 0 "$po/transport/X/Y"
user
is 'an unreadable directory of the spool is an error' "$rc $(out)" '77 '
chmod 755 "$po/transport/X/Y"
chmod 0 "$po/transport"
user
is 'an unreadable spool is an error' "$rc $(out)" '77 '
user -c
is '-c of an unreadable spool is an error' "$rc $(out)" '77 '
chmod 755 "$po/transport"
POSTOFFICE=$tmp/nowhere
mailq
is 'neither scheduler nor spool: an error' "$rc $(out)" '69 '
POSTOFFICE=$po
serve "$tmp/d"
chmod 777 "$tmp"
user -q "$tmp/q"
is 'an ordinary user may ask' "$rc $(said)" "0 $ours"
chmod 0 "$tmp/q"
user -q "$tmp/q"
is 'an ordinary user may not ask by a closed pipe' "$rc $(out)" '77 '
chmod 711 "$tmp"
unserve
if [ "$(id -u)" -eq 0 ]; then
	serve "$tmp/d"
	chown 64321 "$tmp/q"
	RENDEZVOUS=$tmp/q
	mailq
	like "a pipe of another user is not used" "$rc $(out)" \
	    "0 no scheduler answers.*somebody else"
	RENDEZVOUS=$tmp/none
	unserve
else
	skip "a pipe of another user is not used" 'not root'
fi

# ---- commands ---------------------------------------------------------------------------

commands() {	# answer [option ...]
	printf "$1" >"$tmp/answer"
	shift
	rm -f "$po/.mailq.command" "$po/.mailq.command.log"
	bg "$S" "$@" -q "$po/.mailq.command" \
	    -r "$po/public/.mailq.command" "$tmp/answer"
	wait_for 30 test -p "$po/.mailq.command"
}
received() {
	sed '/^$/d; s/ [A-Za-z0-9]*$//' "$po/.mailq.command.log"
}
commands 'ok 2 messages\033[m\nX/12-1\n'
mailq flush all
is 'a command prints its answer' "$rc $(out)" '0 2 messages\033[m
X/12-1'
mailq hold 'smtp/*.org'
mailq release X/Y/12-1
mailq delete 12-1
mailq bounce 'local/-'
is 'the scheduler gets the commands as typed' "$(received)" 'flush all
hold smtp/*.org
release X/Y/12-1
delete 12-1
bounce local/-'
for i in 'flush' 'flush all smtp' 'hold all' 'delete smtp' '-v flush all' \
    'hold ../12-1' 'flush smtp/[' 'delete X/' 'bounce QQ/12'; do
	case $i in
	'hold ../12-1' | 'delete X/' | 'bounce QQ/12')
		# these are patterns, though hardly what was meant
		mailq $i
		is "a command is sent: $i" "$rc" 0
		;;
	*)
		mailq $i
		is "a command is refused: $i" "$rc" 64
		;;
	esac
done
mailq flush "smtp/a b"
is 'a command with a blank in its pattern is refused' "$rc" 64
mailq flush "smtp/$(printf 'a\nb')"
is 'a command with a line end in its pattern is not sent' \
    "$rc $(received | tail -n 1)" '64 bounce QQ/12'
unserve
commands 'no such message\n'
mailq delete 99-1
is 'a refusal of the scheduler is an error, in its words' \
    "$rc $(out)$(cat "$tmp/err")" '69 mailq: such message'
unserve
commands 'ok done'
mailq delete 99-1
is 'an answer without a line end is an error' "$rc" 69
unserve
commands 'what?\n'
mailq delete 99-1
is 'an answer in other words is an error' "$rc $(out)" '69 '
chmod 0 "$po/.mailq.command"
user delete 99-1
is 'a command by a pipe that may not be opened is an error' "$rc $(out)" '77 '
unserve
rm "$po/.mailq.command"
mailq flush all
is 'a command without a scheduler is an error' "$rc $(out)" '69 '

# ---- a real scheduler ---------------------------------------------------------------------

po=$tmp/real
POSTOFFICE=$po
spool_new "$po"
chmod 1777 "$po/public"
cp "$top/ta/hold" "$tmp/bin/ta/hold"
conf "$tmp/cf" <<END
PARAMmailqsock none
*/*	interval=1h retries="1" expiry=3d
hold/*	command="hold"
later/*	command="hold" queueonly
END
put "$po" 21-1 hold age:9d anna hold age:9d bert
put "$po" 22-1 later x.test carl
ok 'a real scheduler starts' sched_start "$po" "$tmp/cf" \
    -q "$po/public/.mailq.text"
ok 'the real scheduler defers a message' wait_log 'deferred .*msg=21-1'
spans() {	# a slow machine starts it a second after the message
	sed '/^	id S/d; s/since the scheduler started/yet/
	    s/(in [0-9dhms]*)/(in SPAN)/; s/ in [0-9][0-9dhms]*/ in SPAN/
	    s/ [0-9dhms]* old/ SPAN old/; s/next [^(]*(/next WHEN (/' "$tmp/out"
}
mailq -v
is '-v lists the queue of the real scheduler' \
    "$rc $(spans)" '0 21-1  <sender>  13 bytes  SPAN old
	hold/age:9d  2 recipients, 1 try: its time comes in SPAN
		next WHEN (in SPAN), expires in SPAN
		to anna
		to bert
22-1  <sender>  13 bytes  SPAN old
	later/x.test  1 recipient, not tried yet
		queueonly, waits for ETRN or flush, expires in SPAN
		to carl
2 messages, 3 recipients, 2 destinations; 0 held, 0 running, 2 waiting'
user -c
is 'an ordinary user gets counts of the real scheduler' \
    "$rc $(sed -n 1,3p "$tmp/out" | tr '\n' ' ')" \
    '0 scheduler 1 messages 2 recipients 3 '
mailq -Q
like '-Q shows the report of the real scheduler' \
    "$rc $(grep Msgs.in "$tmp/out")" '^0 Msgs in 2 out 0 stored 2'
# A file that cannot grow is a full disk; it is held there until its end.
(trap '' XFSZ; ulimit -f 0; "$M" -Q 2>&1) | cat >"$tmp/out"
like 'a report that does not fit on the disk is an error' "$(out)" \
    '^mailq: a temporary file cannot be written$'
mailq hold 21-1
is 'the real scheduler takes the command hold' "$rc" 0
mailq -c
is '-c counts the held message' "$rc $(grep held "$tmp/out")" '0 held 1'
user release 21-1
if [ "$(id -u)" -eq 0 ]; then
	is 'another user may not release a message' "$rc" 77
else
	is 'the owner of a message may release it' "$rc" 0
fi
mailq release all
mailq delete '{hold,later}/*'
is 'the real scheduler takes the command delete' "$rc" 0
empty() {
	mailq -c
	[ "$(sed -n 2p "$tmp/out")" = 'messages 0' ]
}
ok 'the queue of the real scheduler gets empty by delete' wait_for 20 empty
mailq
is 'mailq says that the queue of the real scheduler is empty' \
    "$rc $(out)" '0 the queue is empty'
sched_stop
mailq
like 'mailq reads the spool when the real scheduler has ended' "$rc $(out)" \
    '^0 no scheduler answers .*; this is the spool at '
is 'no pipe of mailq is left in public/' "$(ls -A "$po/public")" ''

# ---- options ----------------------------------------------------------------------------

mailq -Z
is 'an unknown option is an error' "$rc" 64
like 'an unknown option: the usage is printed' \
    "$(cat "$tmp/err")" '^usage: mailq'
for words in 'flsh flush' 'fulsh flush' 'hlod hold' 'delet delete' \
    'relaese release' 'bounse bounce' 'shwo show'; do
	mailq ${words% *} all
	is "a mistyped command names what was meant: $words" \
	    "$rc $(sed 1q "$tmp/err")" \
	    "64 mailq: no command ${words% *}; ${words#* }?"
done
mailq printer office
is 'a word that is like no command is a host' \
    "$rc $(sed 1q "$tmp/err")" '64 mailq: give one host only'
if without NO_TCP; then
	skip 'a host that is not known: the command is named' 'built with NO_TCP'
	skip 'a word that is no host and no command' 'built with NO_TCP'
else
	mailq flsh
	is 'a host that is not known: the command is named' \
	    "$rc $(sed 1d "$tmp/err")" '69 mailq: no command flsh; flush?'
	mailq list
	is 'a word that is no host and no command' "$rc $(cat "$tmp/err")" \
	    '69 mailq: list: the host is not known, and no command has this name'
fi
mailq 'smtp/*'
is 'a pattern is no host' "$rc $(sed 1q "$tmp/err")" \
    '64 mailq: smtp/* is no host; -f shows what a pattern matches'
rm -f "$po/.mailq.command"
mailq flush all
like 'a command without a scheduler says that none answers' \
    "$rc $(cat "$tmp/err")" '^69 mailq: flush: not done: .*/.mailq.command: no scheduler has made it$'
# A reader that never reads; its open waits for a writer.
mkfifo "$po/.mailq.command"
bg sh -c 'exec sleep 600 <"$1"' sh "$po/.mailq.command"
reader=$bg_pid
bg sh -c 'exec sleep 600 >"$1"' sh "$po/.mailq.command"
writer=$bg_pid
MAILQ_WAIT=1
says() {	# text: of mailq
	mailq flush all
	grep -q "$1" "$tmp/err"
}
ok 'a command without an answer ends' wait_for 30 says 'nothing came'
is 'a command without an answer may still be done' \
    "$rc $(sed "s,$po,PO," "$tmp/err")" \
    '69 mailq: flush: no answer, the command may still be done: PO/.mailq.command: nothing came for 1 seconds'
bg sh -c 'exec cat /dev/zero >"$1"' sh "$po/.mailq.command"
ok 'a command for a full pipe ends' wait_for 60 says 'full of requests'
is 'a command for a full pipe is not done' \
    "$rc $(sed "s,$po,PO," "$tmp/err")" \
    '69 mailq: flush: not done: PO/.mailq.command: it is full of requests; try again'
MAILQ_WAIT=20
for pid in $bg_pid $writer $reader; do
	kill -9 $pid
	wait $pid 2>/dev/null
	lib_forget $pid
done
rm -f "$po/.mailq.command"
mailq -s -j
is 'two kinds of listing are an error' "$rc" 64
mailq -D -s
is '-D with another kind of listing is an error' "$rc" 64
mailq a b
is 'two hosts are an error' "$rc" 64
mailq -q "$tmp/q" -p 1
is 'two ways to ask are an error' "$rc" 64
mailq -f '['
is 'a bad pattern of -f is an error that names it' \
    "$rc $(sed 1q "$tmp/err")" '64 mailq: -f [: the closing ] is missing'
mailq -V
like '-V prints the version' "$rc $(out)" '^0 mailq [0-9]'
for i in 0 86401; do
	mailq -w $i
	is "-w refuses a number of seconds: $i" "$rc $(sed 1q "$tmp/err")" \
	    '64 mailq: -w takes 1 to 86400 seconds'
done
if [ -w /dev/full ]; then
	POSTOFFICE=$po "$M" >/dev/full 2>"$tmp/err"
	is 'a listing that cannot be written is an error' $? 74
	"$M" -V >/dev/full 2>"$tmp/err"
	is 'a version that cannot be written is an error' $? 74
else
	skip 'a listing that cannot be written' 'no /dev/full'
	skip 'a version that cannot be written' 'no /dev/full'
fi
finish
