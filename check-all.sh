#!/usr/bin/env bash
# Everything that takes too long for check.sh: results of all built-in scenes against the record, for 1, 2 and 3 threads, killed and
# resumed; the size of the program; reproductions and benchmarks build. Ends with code 0 if everything holds.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

./check.sh

step "release build"
cargo build --release --locked
cargo build --release --locked -p supple-reproduce
cargo bench --no-run --locked --workspace

step "size of the program"
bytes="$(stat -c %s target/release/supple)"
echo "$bytes bytes (at most 25000000)"
[ "$bytes" -le 25000000 ]

step "results of the built-in scenes"
tools/state-hashes check target/release/supple

step "all checks passed"
