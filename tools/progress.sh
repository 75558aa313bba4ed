# Print a line, and how long the command of the other arguments has been running, every four seconds until it exits.
#     sh tools/progress.sh TEXT COMMAND [ARGUMENT ...]
text=$1
shift
echo "$text"
(
    trap 'kill $! 2>/dev/null; exit' TERM
    seconds=0
    while :; do
        sleep 4 >/dev/null &
        wait $!
        seconds=$((seconds + 4))
        echo "  $seconds s: $text"
    done
) &
reporter=$!
trap 'kill $reporter 2>/dev/null' EXIT
"$@"
