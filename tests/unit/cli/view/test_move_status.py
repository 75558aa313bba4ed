"""The line of a move: partitions, bytes and the time left, as much as fits."""

import pytest

from kctl.cli.view.move_status import MoveProgress, progress_texts, size_text


def test_line_has_partitions_bytes_and_time_left_and_shrinks() -> None:
    texts = progress_texts(MoveProgress(3, 10, 1_200_000_000, 4_000_000_000, 725_000))
    assert texts == [
        "3 of 10 partitions moved, 1.2 GB of 4.0 GB copied, about 13m left",
        "3 of 10 partitions moved, about 13m left",
        "3/10",
    ]


def test_line_without_sizes_or_rate_says_less() -> None:
    assert progress_texts(MoveProgress(0, 1, 0, 0, None))[0] == "0 of 1 partitions moved"
    assert progress_texts(MoveProgress(0, 1, 0, 0, 1))[0] == "0 of 1 partitions moved, about 1s left"


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (25_300, "25 kB"), (10**12, "1.0 TB"), (10**16, "10000 TB")],
)
def test_size_is_in_the_largest_unit(size: int, text: str) -> None:
    assert size_text(size) == text
