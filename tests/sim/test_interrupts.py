"""The harness of interrupts: it reaches every boundary once, and nothing but the code that it is to interrupt."""

import contextlib
from threading import Lock

import pytest

from tests.sim import interrupts
from tests.sim.interrupts import Interrupted, each_boundary, some_boundaries
from tests.sim.kit import SimCluster, run

HERE = __file__


def append_three(to: list[int]) -> None:
    for number in range(3):
        to.append(number)


def append_sixty(to: list[int]) -> None:
    for _ in range(20):
        append_three(to)


def test_each_boundary_interrupts_before_between_and_after_the_calls() -> None:
    seen: list[int] = []

    def scene(interrupted: Interrupted) -> None:
        numbers: list[int] = []
        interrupted(lambda: append_three(numbers))
        seen.append(len(numbers))

    assert each_boundary(scene, folder=HERE) == len(seen) - 1
    assert sorted(set(seen)) == [0, 1, 2, 3]
    assert seen == sorted(seen)
    assert seen[-1] == 3  # the last scene is not interrupted


def test_some_boundaries_are_the_first_the_last_and_others_between() -> None:
    seen: list[int] = []

    def scene(interrupted: Interrupted) -> None:
        numbers: list[int] = []
        interrupted(lambda: append_sixty(numbers))
        seen.append(len(numbers))

    assert some_boundaries(scene, points=5, folder=HERE) == 5
    assert seen[:2] == [60, 60]  # the scenes that count
    assert seen[2] == 0
    assert all(part * 20 - 1 <= seen[3 + part] <= part * 20 + 21 for part in range(3))
    assert seen[6] == 60
    assert len(seen) == 7


def test_failed_check_of_some_boundaries_names_what_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    numbers: list[int] = []

    def scene(interrupted: Interrupted) -> None:
        if interrupted(lambda: append_three([])):
            numbers.append(interrupted.boundary)
            raise ValueError

    for _ in range(2):
        with pytest.raises(ValueError) as caught:
            some_boundaries(scene, points=3, folder=HERE)
        monkeypatch.setattr(interrupts, "_AT", "3")
        assert caught.value.__notes__[0].startswith(f"KCTL_INTERRUPT_AT={numbers[-1]} of ")
    assert numbers == [1, 3]


def test_interrupt_leaves_no_lock_behind() -> None:
    lock = Lock()
    numbers: list[int] = []

    def locked() -> bool:
        with lock:
            numbers.append(1)
            return bool(numbers)

    def scene(interrupted: Interrupted) -> None:
        interrupted(locked)
        assert not lock.locked()

    assert each_boundary(scene, folder=HERE) >= 3


def test_failed_check_names_the_interrupted_line() -> None:
    def scene(interrupted: Interrupted) -> None:
        numbers: list[int] = []
        interrupted(lambda: append_three(numbers))
        assert len(numbers) != 2

    with pytest.raises(AssertionError) as caught:
        each_boundary(scene, folder=HERE)
    assert "test_interrupts.py" in caught.value.__notes__[-1]
    assert "append_three" in caught.value.__notes__[-1]


def test_swallowed_interrupt_is_reported() -> None:
    def swallow() -> None:
        with contextlib.suppress(KeyboardInterrupt):
            append_three([])

    def scene(interrupted: Interrupted) -> None:
        interrupted(swallow)

    with pytest.raises(AssertionError, match="was swallowed"):
        each_boundary(scene, folder=HERE)


def test_network_loop_is_not_interrupted() -> None:
    def app(cluster: SimCluster) -> None:
        producer = cluster.producer()
        producer.send("t", b"warm").result()
        assert producer.close(5).undelivered == 0
        places: set[str] = set()

        def scene(interrupted: Interrupted) -> None:
            other = cluster.producer()
            interrupted(lambda: other.send("t", b"x").result())
            places.add((interrupted.at or "").partition(":")[0])
            other.close(5)

        assert each_boundary(scene) > 50
        assert "producer.py" in places
        assert not places & {"sender.py", "batch_sender.py", "record_router.py", "connection.py"}

    run(app)
