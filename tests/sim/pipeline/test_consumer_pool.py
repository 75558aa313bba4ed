"""Consumers that are kept for the next range: made once, dropped after an error, bounded in number."""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.pipeline import range_reader
from kctl.pipeline.consumer_pool import MOST_IDLE, ConsumerPool
from kctl.pipeline.range_reader import read_range
from kctl.pipeline.ranges import OffsetRange
from kctl.sandbox import Fault
from tests.sim.consumer.scene import Scene
from tests.sim.pipeline.test_ranges import LIMIT_MS, break_all, expected, properties, run, runtime
from tests.sim.virtual import Hub


@pytest.fixture
def scene() -> Iterator[Scene]:
    with Hub(seed=7) as hub:
        yield Scene(hub)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Consumer]:
    """The consumers that were made for ranges, in their order."""
    found: list[Consumer] = []

    def make(*given: Any, **more: Any) -> Consumer:
        found.append(Consumer(*given, **more))
        return found[-1]

    monkeypatch.setattr(range_reader, "Consumer", make)
    return found


def test_one_consumer_reads_many_ranges_until_one_of_them_fails(scene: Scene, made: list[Consumer]) -> None:
    pool = ConsumerPool()

    def read(start: int, end: int, partition: int = 0) -> list[bytes]:
        offsets, task = OffsetRange("t", partition, start, end), runtime(scene, f"task {scene.hub.now_ms}")
        batches = read_range(properties(scene), offsets, ["value"], pool=pool, runtime=task)
        return [value for batch in batches for value in batch.column("value").to_pylist()]

    def body() -> None:
        scene.write(0, 100)
        scene.write(1, 100)
        assert read(0, 10) == expected(0, 10)
        assert read(10, 40) == expected(10, 40)
        assert read(5, 7) == expected(5, 7), "an earlier range of the same partition"
        assert read(0, 10, partition=1) == expected(0, 10)
        assert len(made) == 1
        break_all(scene, Fault.FREEZE)
        before_ms = scene.hub.now_ms
        with pytest.raises(ApiTimeout):
            read(50, 60)
        assert scene.hub.now_ms - before_ms == LIMIT_MS
        for node_id in (1, 2, 3):
            scene.sandbox.stop_fault(node_id, Fault.FREEZE)
        assert read(50, 60) == expected(50, 60)
        assert len(made) == 2, "the consumer whose range failed is not used again"
        pool.close()

    run(scene, body)


def test_pool_keeps_a_bounded_number_of_consumers(scene: Scene, made: list[Consumer]) -> None:
    pool = ConsumerPool()

    def body() -> None:
        scene.write(0, 10)
        for number in range(MOST_IDLE + 3):
            given = {**properties(scene), "client.id": f"client {number}"}
            task = runtime(scene, f"task {number}")
            batches = read_range(given, OffsetRange("t", 0, 0, 10), ["value"], pool=pool, runtime=task)
            assert sum(batch.num_rows for batch in batches) == 10
        still_open = [consumer for consumer in made if not consumer._side.close_result]
        assert still_open == made[-MOST_IDLE:]
        pool.close()

    run(scene, body)
