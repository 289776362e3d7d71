#!/bin/sh
# What scheduler -n, submit -bn and submit -bv find before mail does.
. "${0%/*}/lib.sh"

MAILSHARE=$tmp/share MAILBIN=$tmp/bin POSTOFFICE=$tmp/po
PATH=$tmp/path:$PATH
export MAILSHARE MAILBIN POSTOFFICE PATH
mkdir "$tmp/share" "$tmp/path" "$tmp/forms"
spool_new "$POSTOFFICE"
ln -s "$SCHEDULER" "$tmp/path/scheduler"
ln -s "$top/submit" "$tmp/path/submit"
ln -s "$top/ta/sm" "$top/ta/errormail" "$tmp/bin/ta"
tab=$(printf '\t')
cf=$tmp/share/scheduler.cf
check() {	# sets rc and said, without the name of scheduler.cf
	said=$("$SCHEDULER" -n "$@" 2>&1 </dev/null)
	rc=$?
	said=$(printf '%s\n' "$said" | sed "s,^$cf:,,;s,$tmp,,g")
}
program() {	# name
	printf '#!/bin/sh\n' >"$tmp/bin/ta/$1"
	chmod 755 "$tmp/bin/ta/$1"
}

# ---- commands ----------------------------------------------------------------

program good
program closed
chmod 644 "$tmp/bin/ta/closed"
mkdir "$tmp/bin/ta/dir"
conf "$cf" <<END
*/*	interval=1m
good/*	command="good -x"
path/*	command="A=b $tmp/bin/ta/good"
none/*	command="nothere -x"
away/*	command="$tmp/no/such"
shut/*	command="closed"
dir/*	command="dir"
name/*	command="good \${NOSUCH}"
known/*	command="good \${POSTOFFICE} \$host"
typo/*	command="good -o \$hots \$channel"
plain/*	command="good 'a\$hots' \\\\\$hots \$1 \$"
END
check
is 'mistakes in commands: the exit code of -n is 0' $rc 0
is 'each mistake in a command is shown, and nothing else' "$said" \
'4: command: /bin/ta/nothere: No such file or directory; its mail would wait
5: command: /no/such: No such file or directory; its mail would wait
6: command: /bin/ta/closed: Permission denied; its mail would wait
7: command: /bin/ta/dir is no program; its mail would wait
8: command: has a ${NAME} that is not known; its mail would wait
10: command: $hots is not replaced; only $channel, $host and ${NAME} are'
echo "NOSUCH=1" >"$tmp/env"
check -Z "$tmp/env"
unlike 'a name that the file of -Z has is not shown as unknown' "$said" 'not known'
check good/h
like 'with an address its clauses are checked' "$said" '^good/h$'
unlike 'with an address other commands are not looked at' "$said" nothere
printf 'PARAMdestdb ${NOWHERE}/x\n*/*\tmaxta=1\n' >"$cf"
check
is 'a path of a PARAM with an unknown name is an error' "$rc $said" \
    '78 1: PARAMdestdb: ${NOWHERE}/x has a ${NAME} that is not known'
printf 'PARAMdestdb %s/none/db\n*/*\tmaxta=1\n' "$tmp" >"$cf"
check
like 'the missing directory of a path of a PARAM is named' "$said" \
    'PARAMdestdb: the directory of /none/db: No such file'
printf 'PARAMdestdb ${POSTOFFICE}.old/db\n*/*\tmaxta=1\n' >"$cf"
check
like 'a directory whose name begins like the post office is none of its own' \
    "$said" 'PARAMdestdb: the directory of /po.old/db: No such file'
printf 'PARAMdestdb %s/db\nPARAMnotifysock ${POSTOFFICE}/s\n*/*\tmaxta=1\n' \
    "$tmp" >"$cf"
check
unlike 'a path of a PARAM in a directory or the post office is good' "$said" PARAM

# ---- clauses that nothing reaches ---------------------------------------------

conf "$cf" <<'END'
*/*	interval=1m
smtp/*.org	command="good"
smtp/a.org	maxring=2
smtp/*	command="good"
smtp/{x,y}.com	command="good"
smtp	maxta=1
smtp/?.net	interval=2m
uucp/z?	command="good"
uucp/h*	command="good"
uucp/h1	command="good"
{smtp,uucp}/a.net	interval=3m
mixed/[ab]	command="good"
mixed/[ab]	command="good"
mixed/a	command="good"
*	command="good"
dsn/*	interval=10s
last/*	interval=10s
END
check
is 'clauses that nothing reaches are shown, with the one in the way' "$said" \
'3: smtp/a.org: is never reached, as smtp/*.org in line 2 matches its addresses and has a command; put this clause first
5: smtp/{x,y}.com: is never reached, as smtp/* in line 4 matches its addresses and has a command; put this clause first
6: smtp: is never reached, as smtp/* in line 4 matches its addresses and has a command; put this clause first
7: smtp/?.net: is never reached, as smtp/* in line 4 matches its addresses and has a command; put this clause first
10: uucp/h1: is never reached, as uucp/h* in line 9 matches its addresses and has a command; put this clause first
13: mixed/[ab]: is never reached, as mixed/[ab] in line 12 matches its addresses and has a command; put this clause first
17: last/*: is never reached, as * in line 15 matches its addresses and has a command; put this clause first'
for a in smtp/a.org smtp/x.com smtp/q.net uucp/h1 last/h; do
	n=$("$SCHEDULER" -n $a | sed -n 's/^#.line \([0-9]*\):.*/\1/p' |
	    tr '\n' ' ')
	case $a in
	smtp/a.org) want='1 2 ' ;;
	uucp/h1) want='1 9 ' ;;
	last/h) want='1 15 ' ;;
	*) want='1 4 ' ;;
	esac
	is "$a does not reach its own clause" "$n" "$want"
done

# ---- the program that checks ---------------------------------------------------

said=$(MAILBIN=$tmp/none scheduler -n 2>&1)
is 'without scheduler-check the exit code of -n is 72' $? 72
is '-n names the scheduler-check that is missing' \
    "$(printf '%s\n' "$said" | sed "s,$tmp,,")" 'scheduler: /none/scheduler-check: No such file or directory; without it nothing is checked'
is 'scheduler-check is found beside a scheduler that has a path' \
    "$(MAILBIN=$tmp/none "$top/scheduler" -n last/h 2>&1 | sed -n 1p)" \
    '# last/h matches'
"$top/scheduler-check" 2>/dev/null
is 'scheduler-check alone takes nothing' $? 64

# ---- tables of others ------------------------------------------------------------

conf "$cf" <<END
*/*	interval=1m
local/*	command="good"
smtp/*.org	command="good"
error/*	command="errormail -d $tmp/forms"
prog/*	command="sm -0f $tmp/share/sm.cf prog"
lost/*	command="sm -0f $tmp/share/sm.cf lost"
gone/*	command="sm -0f $tmp/share/sm.cf gone"
user/*	command="sm -f $tmp/share/sm.cf -u no-such-user prog"
END
printf 'prog\tS\t%s\tgood $u\ngone\tS\t%s\tgone $u\n' \
    "$tmp/bin/ta/good" "$tmp/bin/none" >"$tmp/share/sm.cf"
mkfifo "$tmp/forms/refused" 2>/dev/null || mkdir "$tmp/forms/refused"
cat >"$tmp/share/routes" <<'END'
root = anna
*@$d		local	-
*@*.org		smtp	$h
*@box.org	smtp	box.org
*@*.uucp	uucp	hub
*@bad.example	!	no
*		local	-
END
check
is 'mistakes in tables of agents: the exit code of -n is 0' $rc 0
like 'a form that cannot be read is named' "$said" \
    '^errormail: form /forms/refused: '
sed "s,$tmp/forms,$tmp/nowhere," "$cf" >"$tmp/cf2"
check -f "$tmp/cf2"
like 'a missing directory of forms is named' "$said" \
    '^errormail: forms /nowhere: No such'
check
like 'an agent that lacks something is shown with its line' "$said" \
    '^4: command: errormail could not work, for the reason above$'
unlike 'a program of sm.cf that is there is not named' "$said" '^5:|, for prog'
like 'a name that sm.cf does not have is shown' "$said" '^sm: .*lost'
like 'an unknown user of sm is named' "$said" \
    '^sm: there is no user no-such-user, '
root='sm as root without -u and -0 is named'
other='sm with user= is not taken for one that runs as root'
if [ "$(id -u)" -eq 0 ] && as_nobody true >"$tmp/code.out"; then
	printf '#!/bin/sh\n[ $(id -u)$1 != 0-N ] || exec "%s" "$@"\n%s\n' \
	    "$top/ta/sm" '[ "$1" != -V ] || echo sm 1' >"$tmp/bin/ta/sm.new"
	chmod 755 "$tmp/bin/ta/sm.new"
	mv "$tmp/bin/ta/sm.new" "$tmp/bin/ta/sm"
	sed "s/-0f/-f/; s/^gone.*/& user=$(id -u nobody)/" "$cf" >"$tmp/cf2"
	check -f "$tmp/cf2"
	is "$root" "$(printf '%s\n' "$said" |
	    grep -c '^sm: no program is run as root; in scheduler.cf, add -u user')" 2
	unlike "$other" "$said" '/cf2:7:'
	ln -sf "$top/ta/sm" "$tmp/bin/ta/sm"
	check
else
	skip "$root" 'needs root'
	skip "$other" 'needs root'
fi
like 'a missing program of sm.cf is named' "$said" \
    '^sm: /share/sm.cf: /bin/none, for gone: No such file'
is 'routes without a clause are shown' "$(printf '%s\n' "$said" |
    grep '/routes:')" \
"/share/routes:3: mail would wait, as no clause of /share/scheduler.cf with a command matches smtp/*
/share/routes:5: mail would wait, as no clause of /share/scheduler.cf with a command matches uucp/hub"
smart() {	# host: lines that warn
	echo 'smart/*	maxthr=2 command="smtp -k x -R hub.example"' >"$tmp/cf2"
	echo "*@* smart $1" >>"$tmp/share/routes"
	check -f "$tmp/cf2"
	sed '/smart/d' "$tmp/share/routes" >"$tmp/cf2"
	cp "$tmp/cf2" "$tmp/share/routes"
	printf '%s\n' "$said" | grep -c 'routes:[0-9]*: with smtp -R, a host of - makes a queue'
}
ln -s "$top/ta/smtp" "$tmp/bin/ta/smtp"
is 'smtp -R with a host of "-" is shown' "$(smart -)" 1
is 'smtp -R with the name of a host is good' "$(smart hub)" 0
sed 's,^error/,no&,' "$cf" >"$tmp/cf2"
check -f "$tmp/cf2"
like 'a channel error without a clause is shown' "$said" \
    '^/share/routes: mail would wait, .* matches error/refused$'
echo 'nonsense' >>"$tmp/share/routes"
check
like 'a wrong line of routes is shown' "$said" '^submit: /share/routes:8: '
rm "$tmp/path/submit"
mkdir "$tmp/empty"
said=$(PATH=$tmp/empty "$SCHEDULER" -n 2>&1)
like 'without submit a line says that routes is not checked' "$said" \
    'routes is not checked: PATH has no submit'
ln -s "$top/submit" "$tmp/path/submit"

# ---- submit ------------------------------------------------------------------------

out=$(submit -bn 2>&1)
is 'submit -bn finds a wrong table' $? 78
sed '/nonsense/d' "$tmp/share/routes" >"$tmp/routes"
cp "$tmp/routes" "$tmp/share/routes"
is 'submit -bn shows where a table leads' \
    "$(submit -bn -C "$tmp/routes" | sed "s,$tmp,,g"; echo $?)" \
'/routes:2: local/-
/routes:3: smtp/*
/routes:4: smtp/box.org
/routes:5: uucp/hub
/routes:7: local/-
/routes: error/refused
0'
echo '* = anna@box.org' >>"$tmp/routes"
unlike 'submit -bn shows no route of names that an alias replaces' \
    "$(submit -bn -C "$tmp/routes")" local
submit -bn anna >"$tmp/out" 2>&1
is 'submit -bn takes no addresses' $? 64
for b in -bv -bt; do
	is "$b shows route, channel, host, user, clauses and command" \
	    "$(submit $b joe@far.org root; echo $?)" \
"joe@far.org: smtp far.org joe@far.org
${tab}route line 3
${tab}clause line 1: */*
${tab}clause line 3: smtp/*.org
${tab}command=\"good\"
root: local - anna
${tab}route line 7
${tab}clause line 1: */*
${tab}clause line 2: local/*
${tab}command=\"good\"
0"
done
is '-bv says that no clause has a command' \
    "$(submit -bv joe@x.uucp | sed 1,2d)" \
"${tab}clause line 1: */*
${tab}no command: such mail waits"
for text in '' '# nothing' 'PARAMlogaddresses no'; do
	echo "$text" >"$cf"
	check
	is "a configuration without a clause is an error: '$text'" \
	    "$rc $(echo "$said" | sed 1q)" \
	    '78  it has no clause, so no mail would be delivered'
done
echo oops >>"$cf"
printf '\toops=1\n' >>"$cf"
is '-bv says that a configuration cannot be read' \
    "$(submit -bv joe@x.uucp | sed 1,2d)" \
    "${tab}clause not known: scheduler -n says why"
finish
