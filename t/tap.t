#!/bin/sh
# The driver: what it counts, what it takes for a failure.
. "${0%/*}/lib.sh"
unset TAP_LIMIT JOBS

mkdir "$tmp/f" "$tmp/run" || exit 1

t() {		# name <script
	{ echo '#!/bin/sh'; cat; } >"$tmp/f/$1.t"
	chmod 755 "$tmp/f/$1.t"
}

drive() {	# [argument ...]
	(cd "$tmp/f" && TMPDIR=$tmp/run $TAP_SHELL "$top/t/tap-driver" "$@") \
	    >"$tmp/out" 2>"$tmp/err"
	rc=$?
	out=$(cat "$tmp/out")
	last=$(tail -n 1 "$tmp/out")
}

# A file that must fail, whatever it says it passed.
bad() {		# name summary ERE
	drive "$1.t"
	is "$1.t: the exit status is 1" $rc 1
	is "$1.t: the summary counts its failure" "$last" "$2"
	like "$1.t: the output has the reason" "$out" "$3"
}

t good <<'T'
echo 1..2; echo 'ok 1 - a'; echo '# about a'; echo 'ok 2 - b'
T
t late_plan <<'T'
echo 'ok'; echo 'ok - unnumbered'; echo 'ok 3'; echo 1..3
T
t failing <<'T'
echo 1..3; echo 'ok 1'; echo 'not ok 2 - two'; echo '# because'
echo 'ok 3'; echo '# not of two'; echo oops >&2; exit 1
T
t todo <<'T'
echo 1..1; echo 'not ok 1 # TODO later'
T
t short <<'T'
echo 1..3; echo 'ok 1'; echo 'ok 2'
T
t long <<'T'
echo 1..1; echo 'ok 1'; echo 'ok 2'
T
t noplan <<'T'
echo 'ok 1'
T
t silent <<'T'
exit 0
T
t status <<'T'
echo 1..1; echo 'ok 1'; exit 3
T
t killed <<'T'
echo 1..1; echo 'ok 1'; kill -9 $$
T
t twice <<'T'
echo 1..2; echo 'ok 1'; echo 'ok 1'
T
t order <<'T'
echo 1..2; echo 'ok 2'; echo 'ok 1'
T
t plans <<'T'
echo 1..1; echo 'ok 1'; echo 1..1
T
t empty <<'T'
echo 1..0
T
t bail <<'T'
echo 1..2; echo 'ok 1'; echo 'Bail out! no disk'; exit 1
T
t skipped <<'T'
echo '1..0 # skip no tool'
T
t some <<'T'
echo 1..2; echo 'ok 1'; echo 'ok 2 - b # skip no need'
T
t slow <<'T'
sleep 1; echo 1..1; echo 'ok 1'
T
t hang <<T
trap 'echo cleaned >"$tmp/cleaned"; exit 1' 15
echo 1..1; echo 'ok 1'
while :; do sleep 1; done
T
t strays <<T
sleep 99 & echo \$! >"$tmp/stray"
echo 1..1; echo 'ok 1'
T
t mess <<'T'
mkdir "$TMPDIR/left"; : >"$TMPDIR/left/file"; echo 1..1; echo 'ok 1'
T

drive good.t
is 'good tests: the exit status is 0' $rc 0
is 'good tests: the output counts them' "$out" 'good.t ... ok 2
2 passed, 0 failed'
drive late_plan.t
is 'a plan at the end and tests without numbers are accepted' \
    "$rc $last" '0 3 passed, 0 failed'
drive -v good.t
like '-v shows the output of a file' "$out" '^# about a'

bad failing '2 passed, 1 failed' '^ *not ok 2 - two$'
like 'the diagnostics of a failed test are shown' "$out" '# because'
unlike 'the diagnostics of other tests are not shown' "$out" 'not of two'
like 'the end of stderr of a failed file is shown' "$out" 'stderr: oops'
bad todo '0 passed, 1 failed' 'not ok 1'
bad short '2 passed, 1 failed' 'planned 3 tests, ran 2'
bad long '2 passed, 1 failed' 'planned 1 tests, ran 2'
bad noplan '1 passed, 1 failed' 'no plan after 1'
bad silent '0 passed, 1 failed' 'no plan after 0'
bad status '1 passed, 1 failed' 'exit status 3'
bad killed '1 passed, 1 failed' 'died, status'
bad twice '2 passed, 1 failed' 'test 1 comes after test 1'
bad order '2 passed, 1 failed' 'test 2 comes after test 0'
bad plans '1 passed, 1 failed' 'more than one plan'
bad empty '0 passed, 1 failed' 'no tests'
bad bail '1 passed, 1 failed' 'Bail out! no disk'
bad missing '0 passed, 1 failed' 'missing.t ... FAILED'

drive skipped.t
is 'a skipped file: the output has the reason' \
    "$out" 'skipped.t ... skipped: no tool
0 passed, 0 failed, 1 skipped'
is 'a skipped file: the exit status is 0' $rc 0
drive some.t
is 'a skipped test is counted' "$out" 'some.t ... ok 1, 1 skipped
1 passed, 0 failed, 1 skipped'

drive -j 3 slow.t failing.t good.t
is 'the order is that of the files' "$(sed -n 's/ \.\.\..*//p' "$tmp/out")" \
    'slow.t
failing.t
good.t'
is 'the results of several files are summed up' \
    "$rc $last" '1 5 passed, 1 failed'

for f in first second third; do
	t $f <<T
$([ $f != third ] || echo '# Takes long')
echo $f >>"$tmp/started"; echo 1..1; echo 'ok 1'
T
done
drive -j 1 first.t second.t third.t
is 'a file that takes long is started first, the others in their order' \
    "$rc $(tr '\n' ' ' <"$tmp/started")" '0 third first second '
is 'a file that was started first is shown in its place' \
    "$(sed -n 's/ \.\.\..*//p' "$tmp/out" | tr '\n' ' ')" \
    'first.t second.t third.t '

TAP_LIMIT=1
export TAP_LIMIT
bad hang '1 passed, 1 failed' 'longer than 1 seconds'
unset TAP_LIMIT
ok 'hang: the file can clean up at the time limit' test -s "$tmp/cleaned"

drive strays.t mess.t
is 'background processes and files left behind do not matter' \
    "$rc $last" '0 2 passed, 0 failed'
shell=${TAP_SHELL:-sh}
if command -v setsid >/dev/null 2>&1 &&
    [ "$($shell -c 'command -v kill')" = kill ]; then
	# dead, or a corpse that nobody has taken away yet
	stray_gone() {
		set -- "$(ps -o stat= -p "$(cat "$tmp/stray")" 2>/dev/null)"
		case $1 in
		'' | Z*) return 0 ;;
		esac
		return 1
	}
	ok 'background processes are killed' wait_for 30 stray_gone
else
	skip 'background processes are killed' \
	    'no setsid, or kill is not built in'
	kill "$(cat "$tmp/stray")"
fi

mkdir "$tmp/d" "$tmp/e"
cp "$top/t/tap-driver" "$tmp/d"
cp "$top/t/tap-driver" "$tmp/f/good.t" "$tmp/f/some.t" "$tmp/e"
(cd "$tmp/d" && TMPDIR=$tmp/run $shell ./tap-driver) \
    >"$tmp/out" 2>&1
is 'no tests at all: the exit status is 1' $? 1
out=$(cd "$tmp/e" && TMPDIR=$tmp/run $shell ./tap-driver)
is 'without names the files beside the driver are run' "$out" 'good.t ... ok 2
some.t ... ok 1, 1 skipped
3 passed, 0 failed, 1 skipped'

# A signal ends the tests too.
: >"$tmp/cleaned"
{
	cd "$tmp/f"
	exec env TMPDIR="$tmp/run" $TAP_SHELL "$top/t/tap-driver" hang.t
} >"$tmp/out" 2>&1 </dev/null &
driver=$!
lib_pids="$lib_pids $driver"
running() { grep ok "$tmp/run"/*/1.out; }
ok 'a hanging test runs' wait_for 30 running
kill "$driver"
wait_for 30 gone "$driver"
wait "$driver" 2>/dev/null
nok 'a signal ends the driver' test $? -eq 0
ok 'a signal to the driver ends the test' test -s "$tmp/cleaned"

is 'nothing is left in TMPDIR' "$(ls -A "$tmp/run")" ''
finish
