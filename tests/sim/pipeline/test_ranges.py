"""Ranges planned, read and written in virtual time: limits to the millisecond, gaps, losses, and what attempts get."""

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa
import pytest

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout, ConfigError, InvalidOffsetError, KafkaTimeoutError
from kctl.client.events import Event, RequestSent
from kctl.client.runtime import Runtime
from kctl.pipeline import range_fetch
from kctl.pipeline.isolation import ReadingProperties, as_given
from kctl.pipeline.range_reader import LOOKS_BEFORE_SKIPPING, RECREATED_AFTER_MS, RangeReader, read_range
from kctl.pipeline.ranges import Cut, OffsetRange, RangeBound, Selection, plan_ranges
from kctl.pipeline.record_writer import PartialWriteError, write_batches
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub, sim_runtime

LIMIT_MS = 3000
FAULTS = [Fault.BLACKHOLE, Fault.REFUSE, Fault.RESET, Fault.SILENCE, Fault.FREEZE, Fault.RESET_ON_REQUEST]


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=7) as hub:
        yield SimCluster(hub)


def properties(cluster: SimCluster) -> ReadingProperties:
    return as_given(
        {"bootstrap.servers": cluster.bootstrap, "default.api.timeout.ms": LIMIT_MS, "max.block.ms": LIMIT_MS}
    )


def runtime(cluster: SimCluster, name: str = "driver") -> Runtime:
    return sim_runtime(cluster.hub, name, cluster.network)


def run(cluster: SimCluster, body: Callable[[], None]) -> None:
    """Run the body, and check a second later that all threads of closed clients have ended."""
    cluster.hub.spawn("app", body)
    cluster.hub.run()
    cluster.hub.run(until_ms=cluster.hub.now_ms + 1000)
    assert cluster.hub.live_actors == (), "a thread is left"


def values(cluster: SimCluster, offset_range: OffsetRange, *, fails: bool = True) -> list[bytes]:
    """Read a range whole."""
    batches = read_range(
        properties(cluster),
        offset_range,
        ["value"],
        fail_on_data_loss=fails,
        runtime=runtime(cluster, f"task {cluster.hub.now_ms}"),
    )
    return [value for batch in batches for value in batch.column("value").to_pylist()]


def expected(start: int, end: int) -> list[bytes]:
    return [b"%d" % n for n in range(start, end)]


# --- planning ---------------------------------------------------------------------------------------------------------


def test_ranges_cover_topics_once(cluster: SimCluster) -> None:
    def body() -> None:
        for partition in range(3):
            cluster.write(partition, 10 * (partition + 1))
        found = plan_ranges(properties(cluster), Selection(("t",)), cut=Cut(6, 15), runtime=runtime(cluster))
        assert [each.log_end for each in found] == [10 * (each.partition + 1) for each in found]
        read = dict.fromkeys(range(3), b"")
        for each in found:
            read[each.partition] += b",".join([*values(cluster, each), b""])
        assert read == {n: b",".join([*expected(0, 10 * (n + 1)), b""]) for n in range(3)}
        assert len(found) >= 6

    run(cluster, body)


@pytest.mark.parametrize("fault", FAULTS)
def test_planning_ends_on_its_limit(cluster: SimCluster, fault: Fault) -> None:
    def body() -> None:
        cluster.break_all(fault)
        before_ms = cluster.hub.now_ms
        with pytest.raises(ApiTimeout) as caught:
            plan_ranges(properties(cluster), Selection(("t",)), runtime=runtime(cluster))
        assert cluster.hub.now_ms - before_ms == LIMIT_MS
        assert caught.value.time_breakdown

    run(cluster, body)


def test_offsets_that_are_not_there_are_refused_or_moved(cluster: SimCluster) -> None:
    tp = TopicPartition("t", 0)

    def plan(start: int, end: int, *, fails: bool) -> list[tuple[int, int]]:
        found = plan_ranges(
            properties(cluster),
            Selection(partitions=(tp,)),
            RangeBound(None, ((tp, start),), option="startingOffsets"),
            RangeBound(None, ((tp, end),), option="endingOffsets"),
            fail_on_data_loss=fails,
            runtime=runtime(cluster),
        )
        return [(each.start_offset, each.end_offset) for each in found]

    def body() -> None:
        cluster.write(0, 10)
        assert plan(2, 8, fails=True) == [(2, 8)]
        assert plan(8, 99, fails=False) == [(8, 10)]
        assert plan(50, 99, fails=False) == []
        with pytest.raises(
            InvalidOffsetError,
            match=r"endingOffsets: t-0 has offsets 0 to 9, not 99. To read the remaining "
            "records, set failOnDataLoss=false",
        ):
            plan(8, 99, fails=True)
        with pytest.raises(ConfigError, match="option assign has t-7, which does not exist"):
            plan_ranges(
                properties(cluster), Selection(partitions=(tp, TopicPartition("t", 7))), runtime=runtime(cluster)
            )

    run(cluster, body)


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", FAULTS)
def test_first_data_has_the_whole_limit(cluster: SimCluster, fault: Fault) -> None:
    def body() -> None:
        cluster.write(0, 10)
        cluster.break_all(fault)
        before_ms = cluster.hub.now_ms
        with pytest.raises(ApiTimeout, match=r"default.api.timeout.ms") as caught:
            values(cluster, OffsetRange("t", 0, 0, 10))
        assert cluster.hub.now_ms - before_ms == LIMIT_MS
        assert caught.value.time_breakdown

    run(cluster, body)


def test_range_of_deleted_and_recreated_topic_is_not_read(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        (planned,) = plan_ranges(properties(cluster), Selection(("t",)), runtime=runtime(cluster))
        assert planned.topic_id, "the sandbox has topic ids"
        assert values(cluster, planned) == expected(0, 10)
        cluster.sandbox.cluster.delete_topic("t")
        cluster.sandbox.cluster.create_topic("t", 3)
        cluster.write(0, 20)
        before_ms = cluster.hub.now_ms
        patient = as_given({**properties(cluster), "default.api.timeout.ms": 60_000})
        with pytest.raises(InvalidOffsetError, match="topic t was recreated"):
            list(read_range(patient, planned, runtime=runtime(cluster, "late")))
        assert cluster.hub.now_ms - before_ms < RECREATED_AFTER_MS + 1000
        with pytest.raises(InvalidOffsetError, match="topic t was recreated"):
            values(cluster, planned)
        assert values(cluster, planned._replace(topic_id="")) == expected(0, 10), "a broker without topic ids"

    run(cluster, body)


@pytest.mark.parametrize("limit_ms", [LIMIT_MS, 60_000])
@pytest.mark.parametrize("is_recreated", [False, True], ids=["deleted", "recreated"])
def test_range_of_a_topic_that_is_gone_is_skipped_where_loss_is_allowed(
    cluster: SimCluster, is_recreated: bool, limit_ms: int
) -> None:
    patient = as_given({**properties(cluster), "default.api.timeout.ms": limit_ms})

    def skip(planned: OffsetRange, when: str) -> None:
        before_ms = cluster.hub.now_ms
        batches = read_range(patient, planned, fail_on_data_loss=False, runtime=runtime(cluster, when))
        assert sum(batch.num_rows for batch in batches) == (10 if when == "while reading" else 0)
        most_ms = min(limit_ms, LOOKS_BEFORE_SKIPPING * RECREATED_AFTER_MS)
        assert most_ms <= cluster.hub.now_ms - before_ms < most_ms + 1000

    def lose() -> None:
        cluster.sandbox.cluster.delete_topic("t")
        if is_recreated:
            cluster.sandbox.cluster.create_topic("t", 3)
            cluster.write(0, 20)

    def body() -> None:
        cluster.write(0, 10)
        (planned,) = plan_ranges(properties(cluster), Selection(("t",)), runtime=runtime(cluster))
        cluster.hub.call_later_ms(500, "loss", lose)
        skip(planned._replace(end_offset=20), "while reading")
        skip(planned, "before reading")

    run(cluster, body)


def test_topic_that_one_broker_misses_for_a_moment_is_read(cluster: SimCluster) -> None:
    """A broker whose metadata is out of date does not make a range count as lost."""
    patient = as_given({**properties(cluster), "default.api.timeout.ms": 60_000})

    def body() -> None:
        cluster.write(0, 10)
        (planned,) = plan_ranges(properties(cluster), Selection(("t",)), runtime=runtime(cluster))
        topic = cluster.sandbox.cluster.topics.pop("t")
        back_ms = LOOKS_BEFORE_SKIPPING * RECREATED_AFTER_MS - 1000
        cluster.hub.call_later_ms(back_ms, "metadata", lambda: cluster.sandbox.cluster.topics.update(t=topic))
        batches = read_range(patient, planned, ["value"], fail_on_data_loss=False, runtime=runtime(cluster, "late"))
        assert [value for batch in batches for value in batch.column("value").to_pylist()] == expected(0, 10)

    run(cluster, body)


def test_the_limit_is_for_silence_and_not_for_the_whole(cluster: SimCluster) -> None:
    def body() -> None:
        for turn in range(5):
            later_ms = turn * (LIMIT_MS - 500)
            cluster.hub.call_later_ms(later_ms, f"writer {turn}", partial(cluster.write, 0, 2, first=turn * 2))
        before_ms = cluster.hub.now_ms
        assert values(cluster, OffsetRange("t", 0, 0, 10)) == expected(0, 10)
        assert cluster.hub.now_ms - before_ms >= 4 * (LIMIT_MS - 500)
        before_ms = cluster.hub.now_ms
        with pytest.raises(ApiTimeout, match=r"waiting for offset 10 of t-0 \[8, 12\): reached the end"):
            values(cluster, OffsetRange("t", 0, 8, 12))
        assert LIMIT_MS <= cluster.hub.now_ms - before_ms < LIMIT_MS + 100

    run(cluster, body)


def test_ranges_within_batches_and_empty_ones(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 100)
        for start, end in ((0, 1), (37, 63), (99, 100), (5, 5)):
            assert values(cluster, OffsetRange("t", 0, start, end)) == expected(start, end)

    run(cluster, body)


def test_nothing_is_fetched_behind_a_range(cluster: SimCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    events: list[Event] = []
    monkeypatch.setattr(range_fetch, "Consumer", partial(Consumer, events=events.append))

    def body() -> None:
        for first in range(0, 100, 10):
            cluster.write(0, 10, first=first)
        reader = RangeReader(properties(cluster), OffsetRange("t", 0, 5, 25), ["value"], runtime=runtime(cluster))
        for _ in reader:
            cluster.hub.sleep_ms(1000)  # time to fetch ahead
        reader.close()
        assert len([each for each in events if isinstance(each, RequestSent) and each.api == "Fetch"]) == 1

    run(cluster, body)


def test_offsets_that_went_meanwhile(cluster: SimCluster) -> None:
    def body() -> None:
        for first in range(0, 30, 10):
            cluster.write(0, 10, first=first)
        cluster.log(0).delete_records(20)
        whole = OffsetRange("t", 0, 5, 25)
        with pytest.raises(
            InvalidOffsetError,
            match=r"cannot read offset 5 of t-0 \[5, 25\): it was deleted, and "
            "the first offset is 20",
        ):
            values(cluster, whole)
        assert values(cluster, whole, fails=False) == expected(20, 25)
        assert values(cluster, OffsetRange("t", 0, 5, 15), fails=False) == []

    run(cluster, body)


def test_a_reader_tells_how_far_it_is(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.write(0, 10)
        reader = RangeReader(properties(cluster), OffsetRange("t", 0, 2, 9), ["offset"], runtime=runtime(cluster))
        assert [batch.num_rows for batch in reader] == [7]
        assert (reader.records, reader.position) == (7, 9)
        reader.close()

    run(cluster, body)


# --- writing ----------------------------------------------------------------------------------------------------------


def rows(count: int) -> pa.RecordBatch:
    return pa.record_batch(
        {
            "value": pa.array(expected(0, count), pa.binary()),
            "partition": pa.array([n % 3 for n in range(count)], pa.int32()),
        }
    )


def test_write_batches_counts_acknowledged_rows(cluster: SimCluster) -> None:
    def body() -> None:
        assert write_batches(properties(cluster), [rows(10), rows(2)], topic="t", runtime=runtime(cluster)) == 12
        assert values(cluster, OffsetRange("t", 0, 0, 5)) == [b"0", b"3", b"6", b"9", b"0"]
        assert values(cluster, OffsetRange("t", 1, 0, 4)) == [b"1", b"4", b"7", b"1"]
        assert values(cluster, OffsetRange("t", 2, 0, 3)) == [b"2", b"5", b"8"]

    run(cluster, body)


@pytest.mark.parametrize("fault", FAULTS)
def test_writing_to_nobody_ends_on_its_limit(cluster: SimCluster, fault: Fault) -> None:
    def body() -> None:
        cluster.break_all(fault)
        before_ms = cluster.hub.now_ms
        with pytest.raises(KafkaTimeoutError):
            write_batches(properties(cluster), [rows(10)], topic="t", runtime=runtime(cluster))
        assert cluster.hub.now_ms - before_ms == LIMIT_MS

    run(cluster, body)


def test_offsets_that_are_not_written_are_named(cluster: SimCluster) -> None:
    """Only the leader of partition 1 is frozen; rows of other partitions stay written."""

    def body() -> None:
        cluster.sandbox.start_fault(2, Fault.FREEZE)
        before_ms = cluster.hub.now_ms
        with pytest.raises(PartialWriteError) as caught:
            write_batches(properties(cluster), [rows(10)], topic="t", runtime=runtime(cluster))
        assert LIMIT_MS <= cluster.hub.now_ms - before_ms <= LIMIT_MS + 50
        error = caught.value
        assert (error.delivered, error.undelivered) == (7, 3)
        assert str(error).startswith("3 of 10 rows not delivered: t-1: 3 ")
        assert "(delivery.timeout.ms)" in str(error)
        cluster.sandbox.heal()

    run(cluster, body)
