"""Start positions of a consumer, and resets if its offset does not exist, which are always reported."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.errors import InvalidOffsetError
from kctl.client.events import ResetCause
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

T0 = TopicPartition("t", 0)
HOUR_MS = 3_600_000


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=41) as hub:
        hub.wall_offset_ms = 0  # scenes stamp records with the time since the start
        yield SimCluster(hub, topics={"t": 1})


def write_three_hours(cluster: SimCluster) -> None:
    """Ten records each, 3 h 30 min, 2 h 30 min and 1 h 30 min ago; the first five are gone."""
    for hour in range(3):
        cluster.write(0, 10, first=10 * hour)
        cluster.hub.sleep_ms(HOUR_MS)
    cluster.sandbox.delete_records("t", 0, 5)
    cluster.hub.sleep_ms(HOUR_MS // 2)


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("earliest", 5),
        ("latest", 30),
        ("by_duration:PT1H", 30),
        ("by_duration:PT2H", 20),
        ("by_duration:PT3H", 10),
        ("by_duration:P1D", 5),
        ("by_duration:PT0.001S", 30),
    ],
)
def test_the_start_and_the_way_on_from_an_offset_that_does_not_exist(
    cluster: SimCluster, policy: str, expected: int
) -> None:
    def body() -> None:
        write_three_hours(cluster)
        with cluster.consumer(auto_offset_reset=policy) as consumer:
            consumer.assign([T0])
            assert consumer.position(T0) == expected
            assert cluster.resets() == [], "a start is no reset"
            for lost in (2, 99):
                consumer.seek(T0, lost)
                consumer.poll(timeout=3) if expected == 30 else drain(consumer, 30 - expected)
                assert consumer.position(T0) == 30
                reported = cluster.resets().pop()
                assert (reported.old_offset, reported.new_offset, reported.policy) == (lost, expected, policy)
                assert reported.cause is ResetCause.OUT_OF_RANGE
                assert f"moved the position from {lost} to {expected}" in str(reported)
            assert len(cluster.resets()) == 2

    cluster.run(body)


def test_a_poll_starts_where_the_policy_says_without_a_question_before(cluster: SimCluster) -> None:
    def body() -> None:
        write_three_hours(cluster)
        with cluster.consumer(auto_offset_reset="by_duration:PT2H") as consumer:
            consumer.assign([T0])
            assert [record.offset for record in drain(consumer, 10)] == list(range(20, 30))

    cluster.run(body)


def test_without_a_policy_nothing_moves_and_nothing_is_told(cluster: SimCluster) -> None:
    def body() -> None:
        write_three_hours(cluster)
        with cluster.consumer(auto_offset_reset="none") as consumer:
            consumer.assign([T0])
            consumer.seek(T0, 2)
            for _ in range(2):
                with pytest.raises(InvalidOffsetError, match="t-0 has no offset 2"):
                    consumer.poll(timeout=3)
            assert consumer.position(T0) == 2
            assert cluster.resets() == []

    cluster.run(body)


def test_records_that_retention_takes_from_under_a_slow_reader_are_told_of(cluster: SimCluster) -> None:
    def body() -> None:
        for turn in range(10):
            cluster.write(0, 10, first=10 * turn)
        with cluster.consumer(max_poll_records=10, max_partition_fetch_bytes=200) as consumer:
            consumer.assign([T0])
            drain(consumer, 10)
            cluster.sandbox.delete_records("t", 0, 80)
            offsets = []
            while consumer.position(T0) < 100:
                offsets += [record.offset for record in consumer.poll(timeout=5)]
            assert offsets[-20:] == list(range(80, 100))
            [reported] = cluster.resets()
            assert (reported.old_offset, reported.new_offset) == (10 + len(offsets) - 20, 80)

    cluster.run(body)
