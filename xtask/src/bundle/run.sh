#!/bin/sh
# Runs what `cargo xtask gpu-bundle` collected: ./run.sh [RECORDS]
# With RECORDS, everything that is printed is kept there too, one file a program.
set -u
here=$(cd "$(dirname "$0")" && pwd)
records=${1:-}
program="$here/bin/warpstride"
# Tests with real scans find them here (as ptycho/siemens-star.cxi and so on).
export WARPSTRIDE_SHARED_DATA="$here/data"
failed=""

step() {
    name=$1
    shift
    echo "=== $name"
    output=$(mktemp)
    "$@" >"$output" 2>&1
    status=$?
    cat "$output"
    if [ -n "$records" ]; then
        mkdir -p "$records" && cp "$output" "$records/$name.txt"
    fi
    rm -f "$output"
    if [ "$status" -ne 0 ]; then
        echo "=== $name FAILED ($status)"
        failed="$failed $name"
    fi
}

step devices "$program" devices
step selftest "$program" selftest
for test in "$here"/tests/*; do
    [ -x "$test" ] && step "test-$(basename "$test")" "$test" gpu_ --test-threads=1
done
for bench in "$here"/benches/*; do
    [ -x "$bench" ] && step "bench-$(basename "$bench")" "$bench"
done

if [ -n "$failed" ]; then
    echo "FAILED:$failed"
    exit 1
fi
echo "All of it ran."
