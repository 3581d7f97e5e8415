#!/usr/bin/env bash
# Turns the pages of this folder into HTML: docs/build.sh [FOLDER], target/manual without it. Needs the Rust tool chain only.
set -euo pipefail
cd "$(dirname "$0")"
out="${1:-../target/manual}"
mkdir -p "$out"

style='<style>body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif; color: #222 }
code, pre { font: 14px/1.4 monospace; background: #f4f4f2 } pre { padding: 0.8rem; overflow-x: auto }
table { border-collapse: collapse } td, th { border: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }</style>'
header="$(mktemp)"
trap 'rm -f "$header"' EXIT
printf '%s\n' "$style" > "$header"

for page in *.md; do
    rustdoc --edition 2024 --markdown-no-toc --html-in-header "$header" --output "$out" "$page"
    # Pages point to each other as files; outside the manual, to the files of the project.
    html="$out/${page%.md}.html"
    sed -i -E 's/href="([a-z-]+)\.md/href="\1.html/g' "$html"
done
cp -r images "$out/"
echo "the manual is in $(cd "$out" && pwd)/index.html"
