"""EXAMPLES: what the pages of commands show; each is run by tests/cli/test_manuals.py on a cluster with `orders`."""

EXAMPLES: dict[str, tuple[tuple[str, str], ...]] = {
    "kctl consume": (
        ("The newest ten records in total, then stop:", "kctl consume orders --tail 10"),
        ("What came in the last hour, as JSON lines:", "kctl consume orders -o @-1h:end --output jsonl"),
        ("Offsets 0 to 4 of partition 0, with their keys:", "kctl consume orders -o 0=0:5 -p 0 -f '%o %k %v\\n'"),
    ),
    "kctl produce": (
        ("A line is a record, with its key before the colon:", "printf 'ann:2 apples\\n' | kctl produce orders -K :"),
        (
            "A lossless copy of a topic:",
            "kctl consume orders -e --output jsonl | kctl produce copies -i jsonl",
        ),
    ),
    "kctl probe": (
        ("Is every address of every broker well? Answered in 2 seconds:", "kctl probe --connect-timeout 2s --strict"),
        ("One line for a health check:", "kctl probe -q"),
    ),
    "kctl topics": (
        ("Leaders, replicas and who is in sync:", "kctl topics describe orders"),
        ("Whether a topic could be made, without making it:", "kctl topics create invoices --partitions 6 --dry-run"),
    ),
    "kctl groups": (
        ("Exit with 3 when a partition is more than 1000 records behind:", "kctl groups lag billing --threshold 1000"),
        (
            "Show what going back to the start would change; --execute does it:",
            "kctl groups reset-offsets billing --topic orders --to-earliest",
        ),
    ),
    "kctl bench": (("Records a second of this cluster, in short:", "kctl bench produce -n 1000 --topic orders"),),
    "kctl explain": (
        ("An exit code:", "kctl explain 12"),
        ("A broker's error:", "kctl explain NOT_ENOUGH_REPLICAS"),
        ("A property:", "kctl explain linger.ms"),
    ),
    "kctl completion": (("Completion for your shell:", "kctl completion install fish"),),
    "kctl help-json": (("The names of all commands:", 'kctl help-json | grep \'"name": "kctl\''),),
}
