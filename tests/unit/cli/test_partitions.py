"""The grammar of -p."""

import pytest

from kctl.cli.partitions import parse_partitions


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], []),
        (["0"], [0]),
        (["2,0"], [0, 2]),
        (["2-4"], [2, 3, 4]),
        (["1", "0-2", "5"], [0, 1, 2, 5]),
        ([" 1 , 2 "], [1, 2]),
    ],
)
def test_reads(texts: list[str], expected: list[int]) -> None:
    assert parse_partitions(texts) == expected


@pytest.mark.parametrize("text", ["", "x", "-1", "1-", "4-2", "0-100000", "1,,2", "1.5", "9999999999"])
def test_refuses(text: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse_partitions([text])
