import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.clock import ManualClock, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.chunk import FetchedChunk, walk_batches
from kctl.client.consumer.events import (
    EARLIEST_TIMESTAMP,
    Consumed,
    PartitionFailed,
    PositionMoved,
    ResolvePosition,
    StartFetch,
    ToNetwork,
    Truncated,
)
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.subscription import Stage, Subscription
from kctl.client.errors import BrokerError, CorruptBatchError, InvalidOffsetError, LogTruncationError
from kctl.client.events import ResetCause
from kctl.client.records import RecordBatchBuilder
from kctl.client.records.reader import OUTPUT_BYTES
from tests.unit.consumer.fakes import T0, T1, batch, pop_chunk, take, take_changes
from tests.unit.records import handmade


class Scenario:
    """Fetched data of T0 and T1, both being fetched from offset 0 on."""

    def __init__(self, *, has_reset_policy: bool = True) -> None:
        self.subscription = Subscription(has_reset_policy=has_reset_policy)
        self.subscription.assign([T0, T1])
        for tp in (T0, T1):
            self.subscription.seek(tp, 0)
        take_changes(self.subscription, None)
        self.released: list[Consumed] = []
        self.data = FetchedData(self.subscription, self.released.append)

    def bring(self, tp: TopicPartition, data: bytes, fetch_offset: int = 0) -> None:
        walk = walk_batches(data, fetch_offset)
        epoch = self.subscription.state(tp).epoch
        chunk = FetchedChunk(tp, epoch, fetch_offset, walk.next_offset, data, leader_epoch=walk.leader_epoch)
        self.data.add_chunk(chunk)

    def fail(self, tp: TopicPartition, code: int) -> None:
        error = broker_error(code, f"fetch {tp}")
        self.data.add_failure(PartitionFailed(tp, self.subscription.state(tp).epoch, 0, error))

    def cut(self, end_offset: int, *, epoch: int = 6) -> None:
        self.data.truncated(Truncated(T0, self.subscription.state(T0).epoch, 99, end_offset, epoch))

    def changes(self) -> list[ToNetwork]:
        return take_changes(self.subscription, EARLIEST_TIMESTAMP)

    def position(self, tp: TopicPartition) -> int | None:
        return self.subscription.state(tp).position


def test_positions_follow_what_is_delivered_and_room_is_made_at_the_end() -> None:
    scenario = Scenario()
    data = batch(0, 4) + batch(4, 4, gap=2)
    scenario.bring(T0, data)
    assert [record.offset for record in take(scenario.data, 3)] == [0, 1, 2]
    assert (scenario.position(T0), scenario.released) == (3, [])
    assert [record.offset for record in take(scenario.data, 3)] == [3, 4, 5]
    assert [record.offset for record in take(scenario.data, 100)] == [6, 7]
    assert scenario.position(T0) == 10
    assert scenario.released == [Consumed(T0, 3, 10)]
    assert take(scenario.data, 100) == []


def test_a_record_knows_its_topic_and_partition() -> None:
    scenario = Scenario()
    scenario.bring(T1, batch(0, 1))
    [record] = take(scenario.data, 9)
    assert (record.topic, record.partition, record.offset, record.value) == ("t", 1, 0, b"00000")


def test_partitions_take_turns_chunk_by_chunk() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 2))
    scenario.bring(T0, batch(2, 2), 2)
    scenario.bring(T1, batch(0, 2))
    order = [(record.partition, record.offset) for record in take(scenario.data, 100)]
    assert order == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3)]


def test_poll_passes_data_without_records_until_its_deadline() -> None:
    scenario = Scenario()
    for offset in range(3):
        marker = handmade.record(key=bytes((0, 0, 0, 1)), value=bytes(6))
        scenario.bring(T0, handmade.batch(marker, attributes=0x30, base_offset=offset, producer_id=7), offset)
    expired = Timer(ManualClock(), 0)
    assert scenario.data.pop_records(10, expired) is None
    assert scenario.position(T0) == 1
    assert scenario.data.pop_records(10, Timer(ManualClock(), 1)) is None
    assert scenario.position(T0) == 3


def test_poll_returns_after_as_many_decompressed_bytes_of_several_partitions_as_of_one() -> None:
    scenario = Scenario()
    builder = RecordBatchBuilder("zstd", batch_size_bytes=1 << 30)
    builder.try_append(None, bytes(OUTPUT_BYTES * 3 // 4), (), 1)
    data = builder.build()
    for tp, offset in ((T0, 0), (T0, 1), (T1, 0)):
        scenario.bring(tp, offset.to_bytes(8) + data[8:], offset)
    assert [(record.partition, record.offset) for record in take(scenario.data, 10)] == [(0, 0), (1, 0)]
    assert [(record.partition, record.offset) for record in take(scenario.data, 10)] == [(0, 1)]


def test_seek_drops_data_that_was_fetched_before() -> None:
    scenario = Scenario()
    old = FetchedChunk(T0, scenario.subscription.state(T0).epoch, 0, 2, batch(0, 2))
    scenario.subscription.seek(T0, 50)
    scenario.data.add_chunk(old)
    assert take(scenario.data, 100) == []
    assert scenario.position(T0) == 50


def test_a_paused_partition_keeps_its_data() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 2))
    scenario.bring(T1, batch(0, 1))
    scenario.subscription.set_paused(T0, True)
    assert [record.partition for record in take(scenario.data, 100)] == [1]
    scenario.subscription.set_paused(T0, False)
    assert [record.offset for record in take(scenario.data, 100)] == [0, 1]


def test_a_damaged_batch_is_raised_after_what_lies_before_it_and_names_the_way_past_it() -> None:
    scenario = Scenario()
    bad = bytearray(batch(3, 2))
    bad[-1] ^= 1
    scenario.bring(T0, batch(0, 3) + bytes(bad) + batch(5, 1))
    assert [record.offset for record in take(scenario.data, 100)] == [0, 1, 2]
    with pytest.raises(CorruptBatchError, match="t-0, batch at offset 3") as caught:
        take(scenario.data, 100)
    assert (caught.value.topic, caught.value.partition, caught.value.base_offset) == ("t", 0, 3)
    assert caught.value.resume_offset == 5
    assert scenario.position(T0) == 3
    assert scenario.subscription.state(T0).stage is Stage.POSITIONED, "the next poll fetches it again"


def test_damage_in_one_partition_leaves_the_others_flowing() -> None:
    scenario = Scenario()
    bad = bytearray(batch(0, 1))
    bad[-1] ^= 1
    scenario.bring(T0, bytes(bad))
    scenario.bring(T1, batch(0, 1))
    with pytest.raises(CorruptBatchError):
        take(scenario.data, 100)
    assert [record.partition for record in take(scenario.data, 100)] == [1]


def test_out_of_range_resets_by_the_policy_without_an_error() -> None:
    scenario = Scenario()
    scenario.fail(T0, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert take(scenario.data, 100) == []
    assert scenario.position(T0) is None
    assert scenario.subscription.state(T0).stage is Stage.UNPOSITIONED


def test_out_of_range_is_raised_without_a_policy() -> None:
    scenario = Scenario(has_reset_policy=False)
    scenario.fail(T0, ErrorCode.OFFSET_OUT_OF_RANGE)
    with pytest.raises(InvalidOffsetError, match="t-0 has no offset 0") as caught:
        take(scenario.data, 100)
    assert caught.value.partitions == (T0,)
    assert scenario.position(T0) == 0


def test_an_error_comes_in_its_turn() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 2))
    scenario.fail(T0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert len(take(scenario.data, 100)) == 2
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        take(scenario.data, 100)
    assert take(scenario.data, 100) == []


def test_a_chunk_is_handed_over_whole_with_the_position_after_it() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 4))
    take(scenario.data, 1)
    chunk = pop_chunk(scenario.data)
    assert chunk is not None
    assert [record.offset for record in chunk.reader().records()] == [1, 2, 3]
    assert scenario.position(T0) == 4
    assert pop_chunk(scenario.data) is None


# --- positions that move unasked ------------------------------------------------------------------------------------


def test_a_position_that_does_not_exist_is_told_of_when_its_successor_is_found() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 3))
    take(scenario.data, 100)
    scenario.fail(T0, ErrorCode.OFFSET_OUT_OF_RANGE)
    take(scenario.data, 100)
    [resolve] = scenario.changes()
    assert isinstance(resolve, ResolvePosition)
    scenario.subscription.resolved(T0, resolve.epoch, 40)
    assert scenario.changes() == [
        PositionMoved(T0, 3, 40, ResetCause.OUT_OF_RANGE),
        StartFetch(T0, resolve.epoch, 40),
    ]
    scenario.subscription.reset(T0, EARLIEST_TIMESTAMP)
    scenario.changes()
    scenario.subscription.resolved(T0, scenario.subscription.state(T0).epoch, 0)
    assert [type(each) for each in scenario.changes()] == [StartFetch], "asked for, so nothing to tell"


def test_a_seek_meanwhile_is_the_callers_wish_and_not_told() -> None:
    scenario = Scenario()
    scenario.fail(T0, ErrorCode.OFFSET_OUT_OF_RANGE)
    take(scenario.data, 100)
    scenario.changes()
    scenario.subscription.seek(T0, 7)
    assert [type(each) for each in scenario.changes()] == [StartFetch]


def test_positions_know_the_epoch_of_the_record_before_them() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 4))
    take(scenario.data, 2)
    assert scenario.subscription.state(T0).leader_epoch == 7
    scenario.subscription.refetch(T0)
    assert scenario.changes() == [StartFetch(T0, scenario.subscription.state(T0).epoch, 2, 7)]
    scenario.subscription.seek(T0, 1)
    assert scenario.subscription.state(T0).leader_epoch == -1
    scenario.bring(T0, batch(0, 4))
    pop_chunk(scenario.data)
    assert scenario.subscription.state(T0).leader_epoch == 7


# --- truncation -----------------------------------------------------------------------------------------------------


def test_a_log_cut_behind_the_position_drops_what_was_fetched_and_goes_on() -> None:
    scenario = Scenario(has_reset_policy=False)
    scenario.bring(T0, batch(0, 4))
    scenario.bring(T0, batch(4, 4), 4)
    take(scenario.data, 4)
    scenario.cut(6)
    assert take(scenario.data, 100) == []
    assert scenario.changes() == [StartFetch(T0, scenario.subscription.state(T0).epoch, 4, 7)]


def test_a_log_cut_before_the_position_takes_it_back_to_the_cut_and_says_so() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 4))
    take(scenario.data, 100)
    scenario.cut(2)
    assert scenario.position(T0) == 2
    epoch = scenario.subscription.state(T0).epoch
    assert scenario.changes() == [PositionMoved(T0, 4, 2, ResetCause.TRUNCATED), StartFetch(T0, epoch, 2, 6)]


def test_a_cut_that_nobody_can_place_is_left_to_the_policy() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 4))
    take(scenario.data, 100)
    scenario.cut(-1)
    [resolve] = scenario.changes()
    assert isinstance(resolve, ResolvePosition)
    scenario.subscription.resolved(T0, resolve.epoch, 0)
    assert scenario.changes()[0] == PositionMoved(T0, 4, 0, ResetCause.TRUNCATED)


def test_without_a_policy_truncation_is_raised_until_the_caller_seeks() -> None:
    scenario = Scenario(has_reset_policy=False)
    scenario.bring(T0, batch(0, 4))
    take(scenario.data, 100)
    for end_offset, divergent in ((2, 2), (-1, None)):
        scenario.cut(end_offset)
        with pytest.raises(
            LogTruncationError, match="cannot continue t-0 at offset 4: the log was truncated"
        ) as caught:
            take(scenario.data, 100)
        error = caught.value
        assert (error.topic, error.partition, error.offset, error.divergent_offset) == ("t", 0, 4, divergent)
        assert error.partitions == (T0,)
        epoch = scenario.subscription.state(T0).epoch
        assert scenario.changes() == [StartFetch(T0, epoch, 4, 7, is_after_error=True)], "and checked again"
    scenario.cut(2)
    scenario.subscription.seek(T0, 2)
    scenario.data.drop(T0)
    assert take(scenario.data, 100) == []


def test_a_cut_of_an_earlier_decision_is_no_news() -> None:
    scenario = Scenario()
    event = Truncated(T0, scenario.subscription.state(T0).epoch, 9, 2, 6)
    scenario.subscription.seek(T0, 50)
    scenario.data.truncated(event)
    assert scenario.position(T0) == 50


# --- room -----------------------------------------------------------------------------------------------------------


def test_a_paused_partition_gives_back_what_is_unread() -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 4))
    scenario.bring(T1, batch(0, 4))
    take(scenario.data, 2)
    scenario.subscription.set_paused(T0, True)
    scenario.changes()
    for tp in (T0, T1):
        scenario.data.give_back(tp, scenario.subscription.state(tp).epoch)
    assert not scenario.data.has(T0)
    assert scenario.data.has(T1), "not paused any more, or never"
    [start, _] = scenario.changes()
    assert start == StartFetch(T0, scenario.subscription.state(T0).epoch, 2, 7)


# --- past damage ----------------------------------------------------------------------------------------------------


def raised(scenario: Scenario) -> CorruptBatchError:
    with pytest.raises(CorruptBatchError) as caught:
        take(scenario.data, 100)
    return caught.value


def damaged(base_offset: int, count: int) -> bytes:
    bad = bytearray(batch(base_offset, count))
    bad[-1] ^= 1
    return bytes(bad)


@pytest.mark.parametrize("offset", [4, 5, 6])
def test_a_seek_into_a_damaged_batch_goes_past_it(offset: int) -> None:
    scenario = Scenario()
    scenario.bring(T0, batch(0, 3) + damaged(3, 3) + batch(6, 1))
    take(scenario.data, 100)
    raised(scenario)
    scenario.bring(T0, damaged(3, 3), 3)
    raised(scenario)  # polling again tries again
    scenario.subscription.seek(T0, offset)
    assert scenario.position(T0) == 6


def test_seek_skips_no_damaged_batch_that_is_not_in_front() -> None:
    scenario = Scenario()
    scenario.bring(T0, damaged(0, 3))
    raised(scenario)
    scenario.subscription.seek(T0, 0)
    assert scenario.position(T0) == 0, "the batch itself may be wanted again"
    scenario.subscription.seek(T0, 1)
    assert scenario.position(T0) == 1, "this seek is not about the error"
    scenario.subscription.seek(T0, 0)
    scenario.bring(T0, damaged(0, 3))
    raised(scenario)
    scenario.bring(T0, batch(0, 3))
    assert len(take(scenario.data, 2)) == 2, "damaged on the way only"
    scenario.subscription.seek(T0, 1)
    assert scenario.position(T0) == 1
