#!/usr/bin/env bash
# The one test command: formatting, lints, tests, documentation, licences, the Python package, and that ARCHITECTURE.md is true.
# Needs a Rust tool chain on Debian; installs the rest if it is missing. Ends with code 0 if everything holds.
set -euo pipefail
cd "$(dirname "$0")"

# The first build of a clone gains nothing from being incremental, and is slower by it.
[ -d target/debug/incremental ] || export CARGO_INCREMENTAL=0

step() { printf '\n== %s\n' "$*"; }

# Installs Debian packages as root or by sudo; without either it says what is missing.
install_packages() {
    local become=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "not root and no sudo: please install $* (apt-get install $*), then run this again" >&2
            exit 1
        fi
        become=(sudo)
    fi
    if ! command -v apt-get >/dev/null; then
        echo "no apt-get here: please install $* with your package manager, then run this again" >&2
        exit 1
    fi
    "${become[@]}" apt-get update && "${become[@]}" apt-get install -y "$@"
}

# The exports are opened by other people's readers, which are Python packages; they are installed once, into a virtual environment
# under target/.
readers=target/readers
if ! "$readers/bin/python" -c 'import meshio, numpy, pxr, pygltflib' 2>/dev/null; then
    step "readers of the exports (usd-core, meshio) into $readers"
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        install_packages python3 python3-venv
    fi
    python3 -m venv --clear "$readers"
    "$readers/bin/pip" install --quiet --disable-pip-version-check usd-core meshio numpy pygltflib
fi
SUPPLE_PYTHON="$(pwd)/$readers/bin/python"
export SUPPLE_PYTHON

# The viewer's page is driven in a real browser.
page=target/page-tests
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
    step "node"
    install_packages nodejs npm
fi
if ! command -v chromium >/dev/null; then
    step "chromium"
    install_packages chromium
fi
if [ ! -d "$page/node_modules/playwright-core" ]; then
    step "playwright-core into $page"
    mkdir -p "$page"
    npm install --prefix "$page" --no-save --no-audit --no-fund --silent playwright-core@1
fi
SUPPLE_NODE_MODULES="$(pwd)/$page/node_modules"
SUPPLE_CHROMIUM="$(command -v chromium)"
export SUPPLE_NODE_MODULES SUPPLE_CHROMIUM

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

# The database of known vulnerabilities lives on the network; where it cannot be reached, the rest still holds.
step "known vulnerabilities"
if ! found="$(cargo deny --log-level error check advisories 2>&1)"; then
    printf '%s\n' "$found"
    if ! grep -q 'failed to fetch advisory database' <<<"$found"; then
        exit 1
    fi
    echo "the advisory database cannot be reached from here: known vulnerabilities are not checked"
fi

step "every path named in the documents exists"
missing=0
for document in ARCHITECTURE.md README.md CONTRIBUTING.md docs/*.md docs/howto/*.md; do
    while read -r path; do
        [ -e "$path" ] || { echo "$document names $path, which does not exist"; missing=1; }
    done < <(grep -oE '`(crates|scenes|docs|examples|fuzz|tools|viewer|\.ci)/[A-Za-z0-9_./-]*`|`(check|check-all)\.sh`' "$document" \
        | tr -d '`' | grep -vE 'NAME|PAPER|TOPIC' | sort -u)
done
[ "$missing" -eq 0 ]

step "imports go down the layers"
tools/layers check
tools/layers current

step "names and phrases are the field's"
tools/language

step "the crate packages with its scenes"
packaged="$(cargo package -p supple --list --allow-dirty --quiet)"
for scene in scenes/*.toml; do
    grep -qx "$scene" <<<"$packaged" || { echo "$scene would not be in the package"; exit 1; }
done

step "the program packages with its page"
packaged="$(cargo package -p supple-cli --list --allow-dirty --quiet)"
for file in $(cd viewer && find . -type f | sed 's,^./,,'); do
    grep -qx "viewer/$file" <<<"$packaged" || { echo "viewer/$file would not be in the package"; exit 1; }
done

# A placeholder for libFuzzer, which takes a C++ compiler to build and is not needed to type-check the targets.
step "fuzz targets compile"
CUSTOM_LIBFUZZER_PATH=/nowhere/libfuzzer.a \
    cargo check --quiet --locked --manifest-path fuzz/Cargo.toml --target-dir fuzz/target

step "documentation"
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

step "documentation tests"
cargo test --doc --workspace --locked --quiet

# Ignored tests need the readers and the browser of above, so they run here; those for a quiet machine (`by_hand`) do not.
step "tests"
if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --workspace --locked --no-fail-fast \
        --run-ignored all -E 'not test(/(^|::)by_hand::/)'
else
    cargo test --workspace --lib --bins --tests --locked --no-fail-fast \
        -- --include-ignored --skip by_hand::
fi

# Parallel loops go through one thin layer; a loop by rayon's own iterators would instantiate its scheduler once more.
step "instantiations of rayon's join"
joins="$(nm target/debug/supple | grep -c 'rayon_core4join' || true)"
echo "$joins (at most 20)"
[ "$joins" -le 20 ]

# The Python package: a wheel with the profile of the tests, in a virtual environment of its own under target/.
python=target/python
needed='import matplotlib, meshio, mypy, numpy, pytest, scipy, trimesh'
if ! "$python/bin/python" -c "$needed" 2>/dev/null || [ ! -x "$python/bin/maturin" ]; then
    step "tools of the Python package into $python"
    python3 -m venv --clear "$python"
    "$python/bin/pip" install --quiet --disable-pip-version-check \
        maturin matplotlib meshio mypy numpy pytest scipy trimesh
fi

step "the Python package builds as a wheel"
rm -rf target/wheels
"$python/bin/maturin" build --quiet --locked --profile dev --manifest-path crates/supple-py/Cargo.toml --out target/wheels
"$python/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps target/wheels/supple-*-abi3-*.whl

step "types of the Python package and its examples"
(cd crates/supple-py && "../../$python/bin/mypy" --strict python/supple ../../examples/python)

# The program beside it is that of the tests before.
step "tests and examples of the Python package"
SUPPLE_PROGRAM="$(pwd)/target/debug/supple" "$python/bin/pytest" crates/supple-py

step "the manual builds"
docs/build.sh

step "instruction sets of these tests"
# Built for the whole workspace, so that it shares the crates of the tests.
cargo build --quiet --locked --workspace --example instruction_sets
target/debug/examples/instruction_sets

step "all checks passed"
