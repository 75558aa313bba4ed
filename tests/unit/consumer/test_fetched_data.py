import pytest

from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.chunk import FetchedChunk, walk_batches
from kctl.client.consumer.events import Consumed, PartitionFailed
from kctl.client.consumer.fetched_data import FetchedData
from kctl.client.consumer.subscription import Stage, Subscription
from kctl.client.errors import BrokerError, CorruptBatchError, InvalidOffsetError
from tests.unit.consumer.fakes import T0, T1, batch


class Desk:
    """Fetched data of T0 and T1, both being fetched from offset 0 on."""

    def __init__(self, *, has_reset_policy: bool = True) -> None:
        self.subscription = Subscription(has_reset_policy=has_reset_policy)
        self.subscription.assign([T0, T1])
        for tp in (T0, T1):
            self.subscription.seek(tp, 0)
        self.subscription.take_changes(None)
        self.released: list[Consumed] = []
        self.data = FetchedData(self.subscription, self.released.append)

    def bring(self, tp: TopicPartition, data: bytes, fetch_offset: int = 0) -> None:
        walk = walk_batches(data, fetch_offset)
        self.data.add_chunk(FetchedChunk(tp, self.subscription.state(tp).epoch, fetch_offset, walk.next_offset, data))

    def fail(self, tp: TopicPartition, code: int) -> None:
        error = broker_error(code, f"Fetch of {tp}")
        self.data.add_failure(PartitionFailed(tp, self.subscription.state(tp).epoch, 0, error))

    def position(self, tp: TopicPartition) -> int | None:
        return self.subscription.state(tp).position


def test_positions_follow_what_is_delivered_and_room_is_made_at_the_end() -> None:
    desk = Desk()
    data = batch(0, 4) + batch(4, 4, gap=2)
    desk.bring(T0, data)
    assert [record.offset for record in desk.data.take_records(3)] == [0, 1, 2]
    assert (desk.position(T0), desk.released) == (3, [])
    assert [record.offset for record in desk.data.take_records(3)] == [3, 4, 5]
    assert [record.offset for record in desk.data.take_records(100)] == [6, 7]
    assert desk.position(T0) == 10
    assert desk.released == [Consumed(T0, 3, len(data))]
    assert desk.data.take_records(100) == []


def test_a_record_knows_its_topic_and_partition() -> None:
    desk = Desk()
    desk.bring(T1, batch(0, 1))
    [record] = desk.data.take_records(9)
    assert (record.topic, record.partition, record.offset, record.value) == ("t", 1, 0, b"00000")


def test_partitions_take_turns_chunk_by_chunk() -> None:
    desk = Desk()
    desk.bring(T0, batch(0, 2))
    desk.bring(T0, batch(2, 2), 2)
    desk.bring(T1, batch(0, 2))
    order = [(record.partition, record.offset) for record in desk.data.take_records(100)]
    assert order == [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2), (0, 3)]


def test_what_was_fetched_before_a_seek_is_dropped() -> None:
    desk = Desk()
    old = FetchedChunk(T0, desk.subscription.state(T0).epoch, 0, 2, batch(0, 2))
    desk.subscription.seek(T0, 50)
    desk.data.add_chunk(old)
    assert desk.data.take_records(100) == []
    assert desk.position(T0) == 50


def test_a_paused_partition_keeps_its_data() -> None:
    desk = Desk()
    desk.bring(T0, batch(0, 2))
    desk.bring(T1, batch(0, 1))
    desk.subscription.set_paused(T0, True)
    assert [record.partition for record in desk.data.take_records(100)] == [1]
    desk.subscription.set_paused(T0, False)
    assert [record.offset for record in desk.data.take_records(100)] == [0, 1]


def test_a_damaged_batch_is_raised_after_what_lies_before_it_and_names_the_way_past_it() -> None:
    desk = Desk()
    bad = bytearray(batch(3, 2))
    bad[-1] ^= 1
    desk.bring(T0, batch(0, 3) + bytes(bad) + batch(5, 1))
    assert [record.offset for record in desk.data.take_records(100)] == [0, 1, 2]
    with pytest.raises(CorruptBatchError, match="t-0, batch at offset 3") as caught:
        desk.data.take_records(100)
    assert (caught.value.topic, caught.value.partition, caught.value.base_offset) == ("t", 0, 3)
    assert caught.value.resume_offset == 5
    assert desk.position(T0) == 3
    assert desk.subscription.state(T0).stage is Stage.POSITIONED, "the next poll fetches it again"


def test_damage_in_one_partition_leaves_the_others_flowing() -> None:
    desk = Desk()
    bad = bytearray(batch(0, 1))
    bad[-1] ^= 1
    desk.bring(T0, bytes(bad))
    desk.bring(T1, batch(0, 1))
    with pytest.raises(CorruptBatchError):
        desk.data.take_records(100)
    assert [record.partition for record in desk.data.take_records(100)] == [1]


def test_out_of_range_resets_by_the_policy_without_an_error() -> None:
    desk = Desk()
    desk.fail(T0, ErrorCode.OFFSET_OUT_OF_RANGE)
    assert desk.data.take_records(100) == []
    assert desk.position(T0) is None
    assert desk.subscription.state(T0).stage is Stage.UNPOSITIONED


def test_out_of_range_is_raised_without_a_policy() -> None:
    desk = Desk(has_reset_policy=False)
    desk.fail(T0, ErrorCode.OFFSET_OUT_OF_RANGE)
    with pytest.raises(InvalidOffsetError, match="t-0 has no offset 0") as caught:
        desk.data.take_records(100)
    assert caught.value.partitions == (T0,)
    assert desk.position(T0) == 0


def test_an_error_comes_in_its_turn() -> None:
    desk = Desk()
    desk.bring(T0, batch(0, 2))
    desk.fail(T0, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert len(desk.data.take_records(100)) == 2
    with pytest.raises(BrokerError, match="TOPIC_AUTHORIZATION_FAILED"):
        desk.data.take_records(100)
    assert desk.data.take_records(100) == []


def test_a_chunk_is_handed_over_whole_with_the_position_after_it() -> None:
    desk = Desk()
    desk.bring(T0, batch(0, 4))
    desk.data.take_records(1)
    chunk = desk.data.take_chunk()
    assert chunk is not None
    assert [record.offset for record in chunk.reader().records()] == [1, 2, 3]
    assert desk.position(T0) == 4
    assert desk.data.take_chunk() is None
