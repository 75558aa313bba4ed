"""RecordDiff: what was done to a target is what is found, in order of kinds, with bounded memory."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kctl.pipeline.fingerprints import Entry
from kctl.pipeline.record_diff import KINDS, MOST_SAMPLES, Differences, RecordDiff, Sample, _Side, _Waiting

Content = tuple[int, int]
"""Identity and content of a record."""


def entries(contents: list[Content], first: int = 0) -> list[Entry]:
    return [
        Entry(first + place, identity * 1000 + content, identity) for place, (identity, content) in enumerate(contents)
    ]


def diff(source: list[Content], target: list[Content], window: int = 1000) -> Differences:
    return RecordDiff(window).run(iter(entries(source)), iter(entries(target, 100_000)))


def counts(found: Differences) -> dict[str, int]:
    return {kind: getattr(found, kind) for kind in KINDS if getattr(found, kind)}


SOURCE = [(number, 0) for number in range(100)]


def test_equal() -> None:
    assert diff(SOURCE, SOURCE) == Differences()
    assert diff([(1, 0)] * 50, [(1, 0)] * 50) == Differences()


def test_each_kind_with_its_offsets() -> None:
    target = list(SOURCE)
    target[20] = (20, 7)  # changed
    target[70:70] = [(500, 0)]  # extra
    target[60:60] = [target[55]]  # twice
    target.insert(50, target.pop(40))  # moved
    del target[10]  # missing
    del target[-3:]  # behind
    found = diff(SOURCE, target)
    assert counts(found) == {"missing": 1, "changed": 1, "duplicate": 1, "reordered": 1, "extra": 1, "behind": 3}
    assert found.samples == (
        Sample("missing", 10, None),
        Sample("changed", 20, 100_019),
        Sample("duplicate", None, 100_059),
        Sample("reordered", 40, 100_049),
        Sample("extra", None, 100_070),
        Sample("behind", 97, None),
        Sample("behind", 98, None),
        Sample("behind", 99, None),
    )


def test_all_of_one_side() -> None:
    assert counts(diff(SOURCE, [])) == {"behind": 100}
    assert counts(diff([], SOURCE)) == {"extra": 100}
    assert len(diff([], SOURCE).samples) == MOST_SAMPLES


def test_the_source_may_repeat_records() -> None:
    assert counts(diff([(1, 0), (1, 0), (2, 0)], [(1, 0), (2, 0)])) == {"missing": 1}
    assert counts(diff([(1, 0), (2, 0)], [(1, 0), (1, 0), (2, 0)])) == {"duplicate": 1}


@pytest.mark.parametrize("seed", range(20))
def test_record_diff_finds_random_changes(seed: int) -> None:
    random = Random(seed)
    source = [(number, 0) for number in range(2000)]
    target, done = list(source), dict.fromkeys(("missing", "changed", "duplicate", "extra"), 0)
    for number in sorted(random.sample(range(1990), 60), reverse=True):  # from behind, so that places stay
        kind = random.choice(list(done))
        done[kind] += 1
        if kind == "missing":
            del target[number]
        elif kind == "changed":
            target[number] = (number, 9)
        else:
            target.insert(number + 1, source[number] if kind == "duplicate" else (5000 + number, 0))
    assert counts(diff(source, target, window=200)) == {kind: count for kind, count in done.items() if count}


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2))), st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)))
)
def test_the_account_is_right_whatever_comes(source: list[Content], target: list[Content]) -> None:
    for window in (2, 1000):
        found = diff(source, target, window)
        matched = len(source) - found.missing - found.changed - found.behind
        assert matched == len(target) - found.extra - found.changed - found.duplicate
        assert (found.all == 0) == (source == target)
    if sorted(source) == sorted(target):
        assert set(counts(found)) <= {"reordered"}


def test_a_record_that_moved_beyond_the_window_is_missing_and_there_again() -> None:
    target = [*SOURCE[30:], *SOURCE[:30]]
    assert counts(diff(SOURCE, target)) == {"reordered": 30}
    found = diff(SOURCE, target, window=10)
    assert found.reordered == 0
    assert found.missing + found.behind == found.extra == 100


def test_a_hole_of_many_windows_and_a_block_of_them_are_nothing_else() -> None:
    """Every record stands at its time, some at the same; a few at times that go back."""
    source = [Entry(place, place, place, place // 10 - 50 * (place % 97 == 0)) for place in range(5000)]
    holed = [one._replace(offset=one.offset + 7) for one in source if not 1000 <= one.offset < 3000]
    missing = RecordDiff(200).run(iter(source), iter(holed))
    assert (counts(missing), missing.samples[0]) == ({"missing": 2000}, Sample("missing", 1000, None))
    assert counts(RecordDiff(200).run(iter(holed), iter(source))) == {"extra": 2000}


def test_memory_is_bounded_by_the_window() -> None:
    side = _Side()
    for number in range(10_000):
        side.wait(_Waiting(Entry(number, number, number), number))
        if number % 2:
            side.pop_equal(number)
        list(side.evict(50))
        assert len(side._oldest) <= 102
    assert len(side.by_fingerprint) <= 51
