#!/usr/bin/env bash
# Makes every picture of the README and of docs/ by `supple render`: the animation at the top, one picture for each built-in
# scene, the colourings, and a screenshot of the viewer's page.
#
#   docs/pictures.sh             all of them (about an hour of one core)
#   docs/pictures.sh flag twist  only these; `demo`, `stretch`, `hierarchy` and `viewer` are names too
#
# The screenshot needs node with playwright-core and Chromium, as check.sh installs them; without them it is skipped.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --quiet
supple() { target/release/supple --quiet "$@"; }
images=docs/images
mkdir -p "$images"
wanted=("$@")

is_wanted() {
    [ "${#wanted[@]}" -eq 0 ] && return 0
    local name
    for name in "${wanted[@]}"; do [ "$name" = "$1" ] && return 0; done
    return 1
}

# The frame and the resolution at which a scene looks best for its cost; others are drawn at the end, at half.
options_of() {
    case "$1" in
        hanging-cloth) echo "--frame 28 --resolution 0.4" ;;
        flag | flag-hpbd) echo "--frame 50 --resolution 0.75" ;;
        cloth-on-sphere) echo "--resolution 1" ;;
        spring-octopus) echo "--resolution 1" ;;
        octopus) echo "--resolution 0.75" ;;
        twist) echo "--resolution 0.8" ;;
        bar) echo "--frame 30 --resolution 1" ;;
        balloon | heterogeneous-bar | dress) echo "--resolution 1" ;;
        pachinko) echo "--resolution 0.6" ;;
        t-shirt) echo "--resolution 0.35" ;;
        stacked-cloth) echo "--frame 40 --resolution 0.3" ;;
        cloth-drop) echo "--frame 60 --resolution 0.3" ;;
        knot) echo "--frame 4 --resolution 0.5 --camera 1.9,1.4,-0.7,0,1.0,0" ;;
        armadillo-bowl) echo "--frame 80 --resolution 1" ;;
        tear-by-weight) echo "--frame 20 --resolution 0.5" ;;
        *) echo "--resolution 0.5" ;;
    esac
}

picture() {
    local name=$1
    shift
    is_wanted "$name" || return 0
    echo "$name"
    supple render "$@"
}

picture demo demo --out "$images/demo.gif" --size 640x480
for scene in $(supple scenes --json | sed -E 's/.*"scene":"([^"]+)".*/\1/'); do
    [ "$scene" = demo ] && continue
    # shellcheck disable=SC2046
    picture "$scene" "$scene" --out "$images/$scene.png" --size 640x480 $(options_of "$scene")
done
picture stretch hanging-cloth --out "$images/stretch.png" --size 640x480 --resolution 0.4 --frame 28 --color stretch
picture hierarchy hanging-cloth --out "$images/hierarchy.png" --size 640x480 --resolution 0.4 --frame 24 \
    --solver galerkin --color hierarchy

if is_wanted viewer; then
    modules=${SUPPLE_NODE_MODULES:-target/page-tests/node_modules}
    chromium=${SUPPLE_CHROMIUM:-$(command -v chromium || true)}
    if [ -d "$modules/playwright-core" ] && [ -n "$chromium" ]; then
        echo viewer
        SUPPLE_NODE_MODULES="$(realpath "$modules")" SUPPLE_CHROMIUM="$chromium" \
            node docs/screenshot.mjs target/release/supple "$images"
    else
        echo "no picture of the viewer: ./check.sh installs playwright-core and Chromium" >&2
    fi
fi
