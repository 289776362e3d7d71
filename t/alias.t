#!/bin/sh
# Aliases in the table of submit: where an address leads by them, loops, wrong
# lines, and what the queue gets.
. "${0%/*}/lib.sh"

tab=$(printf '\t')
unset POSTOFFICE MAILSHARE
po=$tmp/po
spool_new "$po"
chmod 1777 "$po/public" "$po/router"
mkdir "$tmp/bin"
S=$tmp/bin/submit
cp "${SUBMIT:-$top/submit}" "$S" || exit 1
chmod 755 "$S"
mine=$(id -u)
sub() {
	"$S" -P "$po" -C "$tmp/routes" "$@" 2>&1
}
ctl() {
	cat "$po"/transport/[1-9]*
	find "$po" -type f -exec rm -f {} +
}
table() {	# <lines
	{
		printf 'domain our.example\nspam@* ! we know you # say no more\n'
		cat
		printf '%s\n' '*@{$d,localhost} local -' '*@club.example local -' \
		    '*@list.example boxes - $u' '*@* smtp -' '* local -'
	} >"$tmp/routes"
}
printf 'Subject: test\n\nthe body\n' >"$tmp/m"

# ---- where an address leads ----------------------------------------------------

leads() {	# title address line ...
	title=$1 addr=$2
	shift 2
	"$S" -bv -C "$tmp/routes" "$addr" >"$tmp/led" 2>&1
	is "$title" "$?|$(grep -v "^$tab" "$tmp/led")" \
	    "0|$(printf '%s\n' "$@")"
}
wrong() {	# title address status pattern
	out=$("$S" -bv -C "$tmp/routes" "$2" 2>&1)
	is "$1" $? "$3"
	like "$1: a line says so" "$out" "$4"
}
table <<'END'
root = Anna Berg <anna>, bert@Far.example	# she reads it
anna = anna, copy@far.example
info@club.example = carl
*@old.example = dora, *@x.old.example
{abuse,hostmaster*} = root
END
# a pattern is none in a list
wrong 'a list with a pattern is routed as it is' x@old.example 0 \
    'smtp - \*@x.old.example'
leads '-bv shows the way of an address without an alias' 'carl, x@far.example' \
    'carl: local - carl' 'x@far.example: smtp - x@far.example'
leads 'an alias leads to others' abuse 'abuse: local - anna' \
    'abuse: smtp - copy@far.example' 'abuse: smtp - bert@far.example'
leads 'a name in its own list stands for itself' anna \
    'anna: local - anna' 'anna: smtp - copy@far.example'
leads 'an alias is for a name at our domain' ANNA@our.example \
    'ANNA@our.example: local - anna' \
    'ANNA@our.example: smtp - copy@far.example'
leads 'an alias is for a name at each local domain' hostmaster2@club.example \
    'hostmaster2@club.example: local - anna' \
    'hostmaster2@club.example: smtp - copy@far.example' \
    'hostmaster2@club.example: smtp - bert@far.example'
leads 'an alias of an address is for that alone' info@club.example \
    'info@club.example: local - carl'
leads 'an alias of an address is not for its name at other domains' \
    info@our.example \
    'info@our.example: local - info'
leads 'an alias of a name is not for other hosts' root@far.example \
    'root@far.example: smtp - root@far.example'
leads 'an alias of a name is not for other channels' root@list.example \
    'root@list.example: boxes - root'
leads 'who is named twice is there once' 'root, bert@far.example, abuse' \
    'root: local - anna' 'root: smtp - copy@far.example' \
    'root: smtp - bert@far.example'
wrong 'a refusal comes before an alias' spam@our.example 67 'we know you$'

# ---- the postmaster --------------------------------------------------------------

leads 'postmaster is root, who has an alias' PostMaster@localhost \
    'PostMaster@localhost: local - anna' \
    'PostMaster@localhost: smtp - copy@far.example' \
    'PostMaster@localhost: smtp - bert@far.example'
table </dev/null
leads 'postmaster is root, who has none' postmaster 'postmaster: local - root'
table <<'END'
postmaster = emil
END
leads 'postmaster has an alias' postmaster 'postmaster: local - emil'
table <<'END'
postmaster = postmaster
END
leads 'postmaster is a box of that name' postmaster \
    'postmaster: local - postmaster'
table <<'END'
root = postmaster
END
leads 'postmaster is root, whose alias is postmaster' postmaster \
    'postmaster: local - root'
leads 'root whose alias is postmaster is root' root 'root: local - root'
out=$("$S" -bv -C "$top/routes" postmaster 2>&1 | grep -v "^$tab")
is 'the table that is installed has a way for postmaster' "$out" \
    'postmaster: local - root'

# ---- loops -----------------------------------------------------------------------

table <<'END'
a = b
b = good, c@club.example
c@club.example = a@localhost
lost = good, spam@far.example
all = good, lost
* = anna
END
wrong 'aliases that lead back are found' a 67 'a: its alias leads back to itself'
wrong 'a name that is no alias is routed, though its address leads back' \
    c 0 'c: local - anna'
wrong 'aliases that lead back are found from an address' c@club.example 67 \
    'c@club.example: its alias leads back to itself'
wrong 'a member that is refused is named' all 67 \
    'all: spam@far.example: we know you'
leads 'an alias for all names ends' xaver 'xaver: local - anna'
printf 'from s@a.org\nto a\nto b\nenv-end\n\n' >"$po/router/77"
sub -q >/dev/null
is 'each address whose aliases lead back gets a DSN' \
    "$(ctl | grep '^r')" "r           local - anna $mine
r           error refused a $mine
r           error refused b $mine"
awk 'BEGIN { for (i = 0; i < 30; i++) {
	printf "n%d = n%d, n%d@localhost\n", i, i + 1, i + 1
	printf "m%d = m%d, k%d\nk%d = m%d, x%d\n", i, i + 1, i, i, i + 1, i } }' |
    table
wrong 'more than 20 aliases in a row are refused' n0 67 'more than 20 aliases'
leads '19 aliases in a row are not too many' n12 'n12: local - n30'
printf 'from s@a.org\nto n0\nto n12\nenv-end\n\n' >"$po/router/77"
sub -q >/dev/null
is 'an address is delivered behind one whose aliases are too many' \
    "$(ctl | grep '^r')" "r           error refused n0 $mine
r           local - n30 $mine"
is 'each alias is followed once' "$("$S" -bv -C "$tmp/routes" m12 2>&1 |
    grep -v "^$tab" | wc -l | tr -d ' ')" 19

# ---- lines that are wrong ---------------------------------------------------------

table <<'END'
a = |/bin/true
a = /etc/passwd
a = :include:/etc/list
a =
a = # b
a = b c
[a = b
a = "|/bin/x"@our.example
END
out=$("$S" -bv -C "$tmp/routes" x 2>&1)
is 'a wrong alias is a mistake in the table' $? 78
is 'each wrong line of the table is named' "$(printf '%s\n' "$out" |
    sed -n 's/.*routes:\([0-9]*\): [[a-z]*: .*/\1/p' | tr '\n' ' ')" \
    '3 4 5 6 7 8 9 10 '
like 'a program in an alias is refused' "$out" ':3: .*: an alias has no programs'
out=$("$S" -bv -C "$tmp/none" x 2>&1)
is '-bv without a table fails' "$?$(printf %s "$out" | grep -c queued)" 780

# ---- mail ------------------------------------------------------------------------

table <<'END'
root = anna, bert@far.example
lost = anna, spam@far.example
END
is 'mail for an alias is queued' "$(sub -N success root anna <"$tmp/m")" ''
is 'the queue has the alias as the original recipient' "$(ctl | grep '^[rN]')" \
"r           local - anna $mine
N NOTIFY=SUCCESS ORCPT=rfc822;root
r           smtp - bert@far.example $mine
N NOTIFY=SUCCESS ORCPT=rfc822;root"
out=$(sub lost <"$tmp/m")
is 'a member that is refused has a DSN, the others get the message' \
    "$?$(ctl | grep '^r')" "0r           local - anna $mine
r           error refused spam@far.example $mine"
printf 'from <s@a.example>\nto <lost>\nto <postmaster>\nenv-end\n\nx\n' \
    >"$po/router/7"
sub -q >/dev/null
is 'submit -q follows aliases' "$(ctl | grep '^r')" \
"r           local - anna $mine
r           error refused spam@far.example $mine
r           smtp - bert@far.example $mine"

nobody=$(id -u nobody 2>/dev/null)
if [ "$mine" -eq 0 ] && [ -n "$nobody" ] && as_nobody true; then
	out=$(as_nobody "$S" -v -P "$po" -C "$tmp/routes" carl root <"$tmp/m")
	is 'the envelope in router/ has the alias once' \
	    "$(grep '^to' "$po/router/${out##*/}" | tr '\n' ' ')" \
	    'to <carl> to <root> '
	is 'submit -q takes a message for an alias' "$(sub -q)" ''
	is 'submit -q queues the message for all members of the alias' \
	    "$(ctl | grep '^r')" \
"r           local - carl $nobody
r           local - anna $nobody
r           smtp - bert@far.example $nobody"
else
	skip 'a user who may not write to the queue' 'not root, or no nobody'
fi
finish
