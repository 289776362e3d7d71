#!/bin/sh
# Input of any kind: what the fuzzed programs (t/fuzz) were given once, and
# what ever broke them, in t/corpus; and the same changed at random a little.
#
#	sh t/fuzz/run 600	looks for more, guided by coverage
#	FUZZ_RUNS=1000000 FUZZ_SEED=7 sh t/fuzz.t
#				the same without a fuzzer, at random
. "${0%/*}/lib.sh"

runs=${FUZZ_RUNS:-300}
seed=${FUZZ_SEED:-1}
TMPDIR=$tmp
export TMPDIR

replay() {	# name [option ...]
	fuzzed=$1 seeds=$1
	shift
	[ $fuzzed != ctlfile ] || seeds=ctl
	"$top/t/fuzz/$fuzzed" "$@" "$top/t/corpus/$seeds"/* >"$tmp/said" \
	    2>"$tmp/err" || {
		diag "$(tail -n 3 "$tmp/err")"
		return 1
	}
}

for name in cf feedback ctl ctlfile report request submit dump dsn smtp; do
	ok "$name takes all of t/corpus" replay $name
	ok "$name takes changes at random, seed $seed" \
	    replay $name -r "$seed" "$runs"
done
is 'the fuzzed programs leave no file' "$(ls -d "$tmp"/fuzz* 2>/dev/null)" ''
finish
