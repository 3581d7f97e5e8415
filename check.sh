#!/usr/bin/env bash
# The one test command: formatting, lints, tests, documentation, licences, and that ARCHITECTURE.md is true.
# Needs a Rust tool chain on Debian; installs the rest if it is missing. Ends with code 0 if everything holds.
set -euo pipefail
cd "$(dirname "$0")"

step() { printf '\n== %s\n' "$*"; }

# The exports are opened by other people's readers, which are Python packages; they live in a virtual environment
# under target/, and are left alone once they are there.
readers=target/readers
if ! "$readers/bin/python" -c 'import meshio, numpy, pxr, pygltflib' 2>/dev/null; then
    step "readers of the exports (usd-core, meshio) into $readers"
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        apt-get update && apt-get install -y python3 python3-venv
    fi
    python3 -m venv --clear "$readers"
    "$readers/bin/pip" install --quiet --disable-pip-version-check usd-core meshio numpy pygltflib
fi
SUPPLE_PYTHON="$(pwd)/$readers/bin/python"
export SUPPLE_PYTHON

if ! cargo deny --version >/dev/null 2>&1; then
    step "cargo-deny"
    # Unoptimised: it runs for a second, and would take minutes to optimise.
    CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
        cargo install --quiet --locked cargo-deny
fi

step "format"
cargo fmt --all --check

step "lints"
cargo clippy --workspace --all-targets --locked --quiet -- -D warnings

step "licences"
cargo deny --log-level error check licenses bans sources

step "every path named in ARCHITECTURE.md exists"
missing=0
while read -r path; do
    [ -e "$path" ] || { echo "ARCHITECTURE.md names $path, which is not there"; missing=1; }
done < <(grep -oE '`(crates|scenes|docs|fuzz|\.ci)[A-Za-z0-9_./-]*`|`[a-z_-]+\.(sh|toml|md)`' ARCHITECTURE.md | tr -d '`' | sort -u)
[ "$missing" -eq 0 ]

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

step "documentation tests"
cargo test --doc --workspace --locked --quiet

step "tests"
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --locked --no-fail-fast
else
    cargo test --workspace --lib --bins --tests --locked --no-fail-fast
fi

step "everything holds"
