"""Lines of block characters: heights, gaps, and the last values only."""

import pytest

from kctl.cli.view.sparkline import sparkline


@pytest.mark.parametrize(
    ("values", "width", "line"),
    [
        ([], 5, ""),
        ([0, 0], 5, "\u2581\u2581"),
        ([0, 50, 100], 5, "\u2581\u2585\u2588"),
        ([100, 7, None, 7], 3, "\u2588x\u2588"),
        ([None], 5, "x"),
        ([1, 2], 0, ""),
    ],
)
def test_heights_are_shares_of_the_largest_value_that_is_shown(values: list[int | None], width: int, line: str) -> None:
    assert sparkline(values, width) == line
