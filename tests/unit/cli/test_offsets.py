"""The grammar of -o."""

import pytest

from kctl.cli.offsets import Absolute, AtTime, Edge, Last, Position, parse_position

NOW_MS = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("start", Edge.START),
        ("beginning", Edge.START),
        ("Earliest", Edge.START),
        ("end", Edge.END),
        ("latest", Edge.END),
        ("newest", Edge.END),
        ("0", Absolute(0)),
        ("42", Absolute(42)),
        ("-10", Last(10)),
        ("-0", Last(0)),
        ("@1700000000123", AtTime(1_700_000_000_123)),
        ("@1700000000", AtTime(1_700_000_000_000)),
        ("@170000000", AtTime(170_000_000_000)),
        ("@-1h", AtTime(NOW_MS - 3_600_000)),
        ("@2024-05-01", AtTime(1_714_521_600_000)),
        ("@2024-05-01T12:00:00Z", AtTime(1_714_564_800_000)),
        ("@2024-05-01T12:00:00.123Z", AtTime(1_714_564_800_123)),
        ("@2024-05-01T14:00:00+02:00", AtTime(1_714_564_800_000)),
        ("@2024-05-01t12:00:00z", AtTime(1_714_564_800_000)),
        ("@2024-05-01 12:00", AtTime(1_714_564_800_000)),
        ("@-99999d", AtTime(0)),
    ],
)
def test_reads(text: str, expected: Position) -> None:
    assert parse_position(text, NOW_MS) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not an offset"),
        ("strat", "not an offset"),
        ("1.5", "not an offset"),
        ("+5", "not an offset"),
        ("--5", "not an offset"),
        ("٣", "not an offset"),
        ("9223372036854775808", "larger than any offset"),
        ("9" * 65, "too long"),
        ("@", "not a time"),
        ("@12345", "not a time"),
        ("@2024-13-01", "month must be"),
        ("@2024-05-01T25:00Z", "hour must be"),
        ("@-5", "has no unit"),
        ("@tomorrow", "not a time"),
    ],
)
def test_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_position(text, NOW_MS)
