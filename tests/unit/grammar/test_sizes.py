"""Sizes: what is read, what is refused and with which words."""

import pytest

from kctl.grammar.sizes import parse_size_bytes, show_size


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0B", 0),
        ("512B", 512),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("64MiB", 67_108_864),
        ("64mib", 67_108_864),
        ("1.5GiB", 1_610_612_736),
        (" 2 MB ", 2_000_000),
    ],
)
def test_reads(text: str, expected: int) -> None:
    assert parse_size_bytes(text) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("64", "use 64B for bytes or 64MiB for mebibytes"),
        ("64M", "64MB or 64MiB"),
        ("64k", "64kB or 64KiB"),
        ("64XB", "unknown unit 'XB'"),
        ("-1MiB", "not a size"),
        ("", "not a size"),
        ("٣MiB", "not a size"),
        ("1.5B", "not an integer number of bytes"),
        ("9" * 30 + "GiB", "is too large"),
        ("9" * 41, "too many characters"),
    ],
)
def test_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_size_bytes(text)


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (99_949, "99.9 kB"),
        (99_951, "100 kB"),
        (999_499, "999 kB"),
        (999_999, "1.0 MB"),
        (12_345_678_901_234_567, "12346 TB"),
    ],
)
def test_size_is_shown_with_three_digits(size: int, text: str) -> None:
    assert show_size(size) == text
