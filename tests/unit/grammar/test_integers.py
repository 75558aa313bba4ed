"""Integers in text that no command checked before."""

import pytest

from kctl.grammar.integers import integer_in


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("0", 0), ("007", 7), (str(2**63 - 1), 2**63 - 1)),
        *((text, None) for text in ("", "-1", "+1", " 1", "1 ", "1_0", "x", "\u0661", "\u00b2", "9" * 20, "9" * 5000)),
    ],
)
def test_integer_has_at_most_nineteen_decimal_digits(text: str, number: int | None) -> None:
    assert integer_in(text) == number
