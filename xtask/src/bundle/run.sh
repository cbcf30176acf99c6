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
# Tests and benches are packed, since each of them contains the kernels.
unpacked=$(mktemp -d)
trap 'rm -rf "$unpacked"' EXIT
for packed in "$here"/tests/*.gz "$here"/benches/*.gz; do
    [ -f "$packed" ] || continue
    name=$(basename "$packed" .gz)
    gunzip -c "$packed" >"$unpacked/$name" && chmod +x "$unpacked/$name" || failed="$failed $name"
    case "$packed" in
    "$here"/benches/*) step "bench-$name" "$unpacked/$name" ;;
    # All tests of such a file are about GPUs, whatever their names.
    */gpu_*) step "test-$name" "$unpacked/$name" --test-threads=1 ;;
    *) step "test-$name" "$unpacked/$name" gpu_ --test-threads=1 ;;
    esac
    rm -f "$unpacked/$name"
done

if [ -n "$failed" ]; then
    echo "FAILED:$failed"
    exit 1
fi
echo "All of it ran."
