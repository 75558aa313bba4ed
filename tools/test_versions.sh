#!/usr/bin/env bash
# What `make versions` runs: the tiers without Java on each Python of Debian's releases, in a copy of what git tracks.
# With arguments: these tiers alone, such as `tools/test_versions.sh unit fuzz`.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
tiers=("$@")
[ $# -gt 0 ] || tiers=(unit sim loopback fuzz cli)
packages=python3-venv,python3-dev,gcc,g++,libc6-dev,git,openssl,zsh,fish,man-db,procps,tmux,make,default-jre-headless
failed=()
for release in trixie:3.13 sid:3.14; do
    suite=${release%:*} version=${release#*:}
    tree=$PWD/build/versions/$version
    mkdir -p "$tree"
    git ls-files -z | tar --null --files-from=- --create --ignore-failed-read | tar --extract --directory="$tree"
    in_root() { "$python" tools/debian_root.py "$suite" --packages "$packages" --at "$tree" -- "$@"; }
    in_root sh -c "python$version --version && [ -x .venv/bin/python ] || python$version -m venv .venv"
    in_root sh -c '.venv/bin/python -m pip install --quiet --editable . $(python3 tools/extra_requirements.py dev)'
    for tier in "${tiers[@]}"; do
        many=
        [ "$tier" != cli ] || many="-n 4 --dist loadfile"
        echo "== Python $version: $tier"
        in_root sh -c ".venv/bin/python -m pytest -q -m 'not nightly' --hypothesis-profile=test $many tests/$tier" || failed+=("$version/$tier")
    done
    echo "== Python $version: records without compiled code"
    in_root sh -c "KCTL_PURE=1 .venv/bin/python -m pytest -q tests/unit/records" || failed+=("$version/pure")
done
[ ${#failed[@]} = 0 ] || { echo "failed: ${failed[*]}"; exit 1; }
