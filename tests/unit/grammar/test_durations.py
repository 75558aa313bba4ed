"""Durations: what is read, what is refused and with which words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.grammar.durations import LONGEST_MS, parse_duration_ms, show_duration


@pytest.mark.parametrize(
    ("text", "expected_ms"),
    [
        ("5s", 5000),
        ("500ms", 500),
        ("1m30s", 90_000),
        ("2h", 7_200_000),
        ("1d", 86_400_000),
        ("1.5s", 1500),
        ("0.001s", 1),
        ("0s", 0),
        (" 5s ", 5000),
        ("1m500ms", 60_500),
        ("PT1H", 3_600_000),
        ("P2DT1.5S", 172_801_500),
        ("p7d", 604_800_000),
    ],
)
def test_reads(text: str, expected_ms: int) -> None:
    assert parse_duration_ms(text) == expected_ms


@pytest.mark.parametrize("text", ["5", "1500", "0", "1.5"])
def test_bare_number_is_refused_with_both_readings(text: str) -> None:
    with pytest.raises(ValueError) as e:
        parse_duration_ms(text)
    assert f"{text}s for seconds" in str(e.value)
    assert f"{text}ms for milliseconds" in str(e.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not a duration"),
        ("s", "not a duration"),
        ("5x", "not a duration"),
        ("30s1m", "not a duration"),
        ("5s5s", "not a duration"),
        ("٥s", "not a duration"),
        ("5 s", "not a duration"),
        ("-5s", "negative"),
        ("-b", "not a duration"),
        ("P", "not an ISO 8601 duration"),
        ("P1DT", "not an ISO 8601 duration"),
        ("P1Y", "not an ISO 8601 duration"),
        ("0.0001s", "not an integer number of milliseconds"),
        ("9" * 41 + "s", "too many characters"),
        ("9" * 30 + "d", "is too long"),
    ],
)
def test_refuses(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        parse_duration_ms(text)


@given(st.integers(0, LONGEST_MS))
def test_printed_duration_is_parsed_back(duration_ms: int) -> None:
    assert parse_duration_ms(show_duration(duration_ms)) == duration_ms
