#!/usr/bin/env bash
# What `make run` shows: a sandbox cluster of three nodes, and the three commands against it.
set -euo pipefail
work=$(mktemp -d)
trap 'status=$?; [ -z "${sandbox:-}" ] || kill "$sandbox" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"; exit $status' EXIT

show() { printf '\n$ %s\n' "$*"; }

port=${KCTL_RUN_PORT:-19092}
servers="127.0.0.1:$port,127.0.0.1:$((port + 1)),127.0.0.1:$((port + 2))"
show "kctl sandbox start --nodes 3 --port $port"
kctl sandbox start --nodes 3 --port "$port" >"$work/sandbox.out" 2>"$work/sandbox.err" &
sandbox=$!
for _ in $(seq 100); do
    grep -q . "$work/sandbox.out" 2>/dev/null && break
    kill -0 "$sandbox" 2>/dev/null || { cat "$work/sandbox.err" >&2; exit 1; }
    read -r -t 0.1 <> <(:) || true
done
cat "$work/sandbox.out"

export KCTL_BOOTSTRAP_SERVERS="$servers"
show "printf 'hello\\nkafka\\n' | kctl produce greetings"
printf 'hello\nkafka\n' | kctl produce greetings --api-timeout 10s
show "kctl consume greetings -o start -e -f '%t-%p@%o %v\\n'"
kctl consume greetings -o start -e -f '%t-%p@%o %v\n' --api-timeout 10s
show "kctl probe --bootstrap $servers"
kctl probe --bootstrap "$servers" --connect-timeout 2s
