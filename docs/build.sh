#!/usr/bin/env bash
# Converts the manual to HTML: docs/build.sh [FOLDER] [default: target/manual]. Needs only the Rust toolchain.
#
# The pages of docs, docs/howto and docs/decisions keep their folders; the pages at the root of the project are placed next to index.html.
set -euo pipefail
cd "$(dirname "$0")"
out="${1:-../target/manual}"
mkdir -p "$out"
out="$(cd "$out" && pwd)"
project="$(realpath --relative-to="$out" ..)"

style='<style>body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; font: 16px/1.5 sans-serif; color: #222 }
code, pre { font: 14px/1.4 monospace; background: #f4f4f2 } pre { padding: 0.8rem; overflow-x: auto } img { max-width: 100% }
table { border-collapse: collapse } td, th { border: 1px solid #ccc; padding: 0.3rem 0.6rem; text-align: left; vertical-align: top }</style>'
header="$(mktemp)"
trap 'rm -f "$header"' EXIT
printf '%s\n' "$style" > "$header"

# convert PAGE FOLDER: the HTML of a page into a folder of the manual.
convert() {
    mkdir -p "$2"
    rustdoc --edition 2024 --markdown-no-toc --html-in-header "$header" --output "$2" "$1"
}

# Pages link to each other as .md files; other relative links lead to files of the project.
root_pages='README|ARCHITECTURE|CONTRIBUTING|CHANGELOG'
for page in *.md; do
    convert "$page" "$out"
    sed -i -E "s,(href=\")\.\./($root_pages)\.md,\1\2.html,g; s,(href=\")((howto|decisions)/)?([a-z0-9-]+)\.md,\1\2\4.html,g
               s,(href=\")\.\./,\1$project/,g" "$out/${page%.md}.html"
done
for folder in howto decisions; do
    for page in "$folder"/*.md; do
        convert "$page" "$out/$folder"
        sed -i -E "s,(href=\")\.\./\.\./($root_pages)\.md,\1../\2.html,g
                   s,(href=\")(\.\./)?((howto|decisions)/)?([a-z0-9-]+)\.md,\1\2\3\5.html,g" "$out/${page%.md}.html"
    done
done
for page in README ARCHITECTURE CONTRIBUTING CHANGELOG; do
    convert "../$page.md" "$out"
    sed -i -E "s,(href=\")($root_pages)\.md,\1\2.html,g; s,(href=\")docs/((howto|decisions)/)?([a-z0-9-]+)\.md,\1\2\4.html,g
               s,(src=\")docs/images/,\1images/,g; s,(href=\")([A-Za-z]+/|CITATION),\1$project/\2,g
               s,$project/(howto|decisions)/,\1/,g" "$out/$page.html"
done
cp -r images "$out/"
echo "the manual is in $out/index.html"
