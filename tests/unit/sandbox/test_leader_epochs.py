"""Start and end of leader epochs."""

import pytest

from kctl.sandbox.leader_epochs import NO_EPOCH, EpochEnd, LeaderEpochs


def _epochs(*starts: tuple[int, int]) -> LeaderEpochs:
    made = LeaderEpochs()
    for epoch, start_offset in starts:
        made.begin(epoch, start_offset)
    return made


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        (-1, NO_EPOCH),
        (0, EpochEnd(0, 0)),
        (1, EpochEnd(1, 10)),
        (2, EpochEnd(1, 10)),
        (4, EpochEnd(4, 25)),
        (6, EpochEnd(6, 40)),
        (7, NO_EPOCH),
    ],
)
def test_the_end_of_an_epoch(epoch: int, expected: EpochEnd) -> None:
    epochs = _epochs((1, 0), (4, 10), (6, 25))
    assert epochs.end_of(epoch, 40) == expected


def test_an_epoch_in_which_nothing_was_written_is_forgotten() -> None:
    epochs = _epochs((0, 0), (1, 10), (2, 10))
    assert epochs.end_of(1, 10) == EpochEnd(0, 10)
    assert epochs.at(9) == 0
    assert epochs.at(10) == 2


def test_an_old_epoch_does_not_begin() -> None:
    epochs = _epochs((3, 0), (3, 10), (2, 20))
    assert (epochs.latest, epochs.at(30)) == (3, 3)


def test_cutting_the_end() -> None:
    epochs = _epochs((0, 0), (1, 10), (2, 20))
    epochs.cut(20)
    assert epochs.latest == 1
    epochs.cut(15)
    assert epochs.latest == 1
    epochs.cut(0)
    assert epochs.latest == -1


def test_cutting_the_start() -> None:
    epochs = _epochs((0, 0), (1, 10), (2, 20))
    epochs.advance(15)
    assert epochs.end_of(0, 30) == EpochEnd(0, 15)
    assert epochs.end_of(1, 30) == EpochEnd(1, 20)
    assert epochs.at(14) == -1
