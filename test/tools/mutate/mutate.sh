#!/bin/sh
# Changes the code of one package in small ways, runs its own tests for each change, and ends with the share of all changes
# that they notice. gremlins leaves out of its percentages what the tests never run.
#
#   mutate.sh GREMLINS PACKAGE WORKERS
#
# gremlins finds packages only from the module's root, and copies the module for each worker.
set -eu
gremlins=$1 package=${2#./} workers=$3
[ -n "$package" ] && [ -d "$package" ] || { echo "PACKAGE=$package names no folder; try: make mutate PACKAGE=policies/plan" >&2; exit 1; }

# A change runs out of time when its tests take ten times as long as all of them did, the build included. -count=1 because
# tests whose result is cached take no time, and then every change would run out of it. -vet=off because what vet refuses
# is not what a test notices.
export GOFLAGS="-trimpath -count=1 -vet=off"
MUTATE_GO=$(command -v go) && export MUTATE_GO PATH="$PWD/test/tools/mutate:$PATH"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
{ nice -n 10 "$gremlins" unleash --workers "$workers" --timeout-coefficient 10 "./$package" 2>&1 || echo "gremlins has failed"; } | tee "$log"
awk -v package="$package" '
	/^ *(KILLED|TIMED OUT) .* at / { killed++ }
	/^ *LIVED .* at / { lived++ }
	/^ *NOT COVERED .* at / { unseen++ }
	/^gremlins has failed/ { failed = 1 }
	END {
		all = killed + lived + unseen
		if (!failed && all)
			printf "%s: %d of %d mutants killed (%.1f %%), %d lived, %d in code that its own tests do not run\n", package, killed, all, 100 * killed / all, lived, unseen
		exit failed
	}' "$log"
