"""Which range a partition gets when several -o were given: the later one wins, bound by bound."""

import pytest

from kctl.grammar.offset_grammar import parse_offset
from kctl.grammar.offsets import END, START, Absolute, AtTime, Range, range_of


@pytest.mark.parametrize(
    ("texts", "partition", "expected"),
    [
        ([], 0, Range(START, None)),
        (["5"], 0, Range(Absolute(5), None)),
        (["5:9"], 0, Range(Absolute(5), Absolute(9))),
        ([":9"], 0, Range(START, Absolute(9))),
        (["5", "7"], 0, Range(Absolute(7), None)),
        (["5:9", "7"], 0, Range(Absolute(7), Absolute(9))),
        (["5:9", "7:"], 0, Range(Absolute(7), None)),
        (["5", ":9"], 0, Range(Absolute(5), Absolute(9))),
        (["s@5", "e@9"], 0, Range(AtTime(5), AtTime(9))),
        (["e@9", "s@5"], 0, Range(AtTime(5), AtTime(9))),
        (["end", "1=5:9"], 0, Range(END, None)),
        (["end", "1=5:9"], 1, Range(Absolute(5), Absolute(9))),
        (["1=5:9", "end:"], 1, Range(END, None)),
        (["0-2=1", "1,4=2"], 1, Range(Absolute(2), None)),
        (["0-2=1", "1,4=2"], 2, Range(Absolute(1), None)),
        (["0-2=1", "1,4=2"], 3, Range(START, None)),
    ],
)
def test_the_later_wins_bound_by_bound(texts: list[str], partition: int, expected: Range) -> None:
    assert range_of([parse_offset(text, 0) for text in texts], partition) == expected
