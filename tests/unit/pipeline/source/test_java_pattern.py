"""Java's patterns, and which names of topics they match; the answers are Java 17's `Matcher.matches()`."""

import pytest

from kctl.pipeline.source.java_pattern import python_pattern

NAMES = ["orders", "orders-1", "orders.eu", "Orders", "a.b", "axb", "x_1", "ORDERS", "2024", "a]b"]


@pytest.mark.parametrize(
    ("java", "matched"),
    [
        ("orders.*", ["orders", "orders-1", "orders.eu"]),
        (r"\p{Alpha}+", ["orders", "Orders", "axb", "ORDERS"]),
        (r"\p{Lower}+", ["orders", "axb"]),
        (r"\P{Lower}+", ["ORDERS", "2024"]),
        (r"\p{Lu}+", ["ORDERS"]),
        (r"[\p{Digit}x]\p{Digit}+", ["2024"]),
        (r"\Qa.b\E", ["a.b"]),
        (r"a\Q.\Eb", ["a.b"]),
        (r"\Qa.b", ["a.b"]),
        ("(?<name>orders)-(\\d)", ["orders-1"]),
        ("(?i)orders", ["orders", "Orders", "ORDERS"]),
        ("[a-z]++", ["orders", "axb"]),
        ("a(?=x).b", ["axb"]),
        (r"[a\]b]+", ["a]b"]),
        (r"\w+", ["orders", "Orders", "axb", "x_1", "ORDERS", "2024"]),
    ],
)
def test_pattern_matches_what_java_matches(java: str, matched: list[str]) -> None:
    assert [name for name in NAMES if python_pattern(java).fullmatch(name)] == matched


@pytest.mark.parametrize(
    ("java", "said"),
    [
        ("[a-c&&[a]]", "intersection of classes"),
        ("[a[b]]", "class inside a class"),
        (r"\p{IsLatin}", r"kctl does not support \\p\{IsLatin\}"),
        (r"orders\Z", r"kctl does not support \\Z"),
        (r"\X", r"kctl does not support \\X"),
        ("(", "missing \\)"),
    ],
)
def test_pattern_without_equivalent_is_refused_by_name(java: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        python_pattern(java)
