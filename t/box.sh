# box.sh - what the tests of mailbox share; read behind lib.sh.

A=${MAILBOX:-$top/ta/mailbox}
po=$tmp/po
mail=$tmp/mail
tab=$(printf '\t')
sep=$(printf '\001')
spool_new "$po"
mkdir "$mail"

need_python() {
	PYTHON=${PYTHON:-python3}
	"$PYTHON" -c 'import mailbox; f""' 2>/dev/null ||
	    skip_all 'no python3 (3.6 or later) with its library'
}
