from random import Random

import pytest

from kctl.client.clock import ManualClock
from kctl.client.cluster import NO_TOPIC_ID, PartitionInfo, TopicInfo
from kctl.client.errors import KafkaError
from kctl.client.producer.accumulator import Accumulator
from kctl.client.producer.batch import Batch
from kctl.client.producer.delivery_tracker import DeliveryTracker
from kctl.client.producer.future import Outcome
from kctl.client.producer.metrics import ProducerCounters
from kctl.client.producer.partition_queue import PartitionQueue
from kctl.client.producer.record import ENCODED_OVERHEAD_BYTES
from kctl.client.records import BatchReader
from kctl.sandbox.batches import produced_batch
from tests.unit.producer.records import Maker, config


class Scenario:
    def __init__(self, **properties: object) -> None:
        self.clock = ManualClock()
        self.maker = Maker(self.clock)
        counters = ProducerCounters()
        self.deliveries = DeliveryTracker(self.maker.memory, counters)
        self.accumulator = Accumulator(config(**properties), counters, self.deliveries)

    def add(self, value: bytes = b"v", partition: int = 0) -> PartitionQueue:
        run = self.maker.sent(value, partition=partition)
        self.deliveries.accept(run)
        self.accumulator.add(run)
        return next(queue for queue in self.accumulator.active() if queue.topic_partition.partition == partition)


def encoded(size_bytes: int) -> bytes:
    """The value of a record that is counted with so many bytes of a batch."""
    return bytes(size_bytes - ENCODED_OVERHEAD_BYTES)


def numbers(data: bytes) -> tuple[int, int, int]:
    """Producer id, epoch and base sequence as a broker reads them; the CRC is right."""
    header = produced_batch(data)
    return header.producer_id, header.producer_epoch, header.base_sequence


def values(data: bytes) -> list[bytes | None]:
    reader = BatchReader(data, topic="t", partition=0, fetch_offset=0, aborted=None)
    return [record.value for record in reader.records(1000)]


def test_a_batch_is_due_after_linger_or_when_it_is_full() -> None:
    scenario = Scenario(linger_ms=50, batch_size=1000)
    scenario.clock.advance(7)
    queue = scenario.add(encoded(400))
    assert scenario.accumulator.due_at_ms(queue) == 57
    scenario.add(encoded(529))
    assert scenario.accumulator.due_at_ms(queue) == 57
    scenario.add(encoded(10))  # with the header of the batch that makes 1000
    assert scenario.accumulator.due_at_ms(queue) == 0


def test_room_is_what_the_fullest_batch_that_is_not_full_can_take() -> None:
    scenario = Scenario(batch_size=1061)
    assert scenario.accumulator.room_bytes() == 1000
    scenario.add(encoded(300))
    scenario.add(encoded(400), partition=1)
    scenario.add(encoded(1000), partition=2)
    assert scenario.accumulator.room_bytes() == 600


def topics(*partitions: int) -> dict[str, TopicInfo]:
    return {
        "t": TopicInfo("t", NO_TOPIC_ID, False, None, {number: PartitionInfo("t", number, 1) for number in partitions})
    }


def test_topic_awaits_responses_when_each_of_its_partitions_has_its_window_in_flight() -> None:
    scenario = Scenario(max_in_flight_requests_per_connection=2, enable_idempotence=False)
    accumulator = scenario.accumulator
    assert accumulator.topics_awaiting_responses(topics(0)) == frozenset()
    queue = scenario.add()
    assert accumulator.topics_awaiting_responses(topics(0)) == frozenset()
    first = accumulator.freeze(queue)
    first.sent(1)
    assert accumulator.topics_awaiting_responses(topics(0)) == frozenset()  # one more batch may be sent
    scenario.add()
    accumulator.freeze(queue).sent(1)
    assert accumulator.topics_awaiting_responses(topics(0)) == {"t"}
    assert accumulator.topics_awaiting_responses(topics(0, 1)) == frozenset()
    assert accumulator.topics_awaiting_responses(topics(1)) == frozenset()  # created again with other partitions
    assert accumulator.topics_awaiting_responses({}) == frozenset()
    scenario.add()
    assert accumulator.topics_awaiting_responses(topics(0)) == {"t"}
    scenario.add(partition=1)
    assert accumulator.topics_awaiting_responses(topics(0)) == frozenset()
    other = next(each for each in accumulator.active() if each is not queue)
    accumulator.fail(other, accumulator.freeze(other), KafkaError("refused"))
    first.is_in_flight = False  # it is to be sent again
    assert accumulator.topics_awaiting_responses(topics(0)) == frozenset()


def test_hurry_ends_lingering() -> None:
    scenario = Scenario(linger_ms=50)
    queue = scenario.add()
    scenario.accumulator.is_linger_over = True
    assert scenario.accumulator.due_at_ms(queue) == 0


def test_a_batch_takes_records_in_order_until_it_is_full() -> None:
    scenario = Scenario(batch_size=200)
    for number in range(30):
        queue = scenario.add(b"%02d" % number + bytes(18))
    first = scenario.accumulator.freeze(queue)
    assert len(first.data) <= 200
    second = scenario.accumulator.freeze(queue)
    taken = [value[:2] for value in values(bytes(first.data)) + values(bytes(second.data)) if value is not None]
    assert taken == [b"%02d" % number for number in range(len(taken))]
    assert [run.offset_in_batch for run in first.runs] == list(range(len(first.runs)))


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd", "snappy"])
def test_compressed_batches_come_to_fill_batch_size(codec: str) -> None:
    scenario = Scenario(compression_type=codec, batch_size=2000, linger_ms=50, max_request_size=100_000)
    value = b"abcd" * 50
    queue = scenario.add(value)
    sizes: list[int] = []
    counts: list[int] = []
    for _ in range(250):
        while scenario.accumulator.due_at_ms(queue) > 0:
            scenario.add(value)
        batch = scenario.accumulator.freeze(queue)
        sizes.append(len(batch.data))
        counts.append(batch.record_count)
        assert values(bytes(batch.data)) == [value] * batch.record_count
        assert batch.plain_bytes >= 200 * batch.record_count
        scenario.accumulator.acknowledge(queue, batch, Outcome())
        scenario.add(value)
    assert counts[0] <= 10, "nothing is known of the first"
    assert counts[-1] > 4 * counts[0]
    assert max(sizes) <= 2000
    noise = Random(1).randbytes(200)
    for _ in range(counts[-1]):
        scenario.add(Random(noise).randbytes(200))
        noise = noise[1:]
    scenario.accumulator.freeze(queue)
    before = queue.ratio
    scenario.accumulator.freeze(queue)
    assert queue.ratio > before, "what compresses badly makes the next batch smaller"


def test_batch_that_a_broker_finds_too_large_ends_the_expectation_of_compression() -> None:
    scenario = Scenario(compression_type="zstd", batch_size=2000, max_request_size=100_000)
    for _ in range(200):
        scenario.accumulator.ratios.observe("t", 0.1)
    for _ in range(60):
        queue = scenario.add(bytes(200))
    batch = scenario.accumulator.freeze(queue)
    assert batch.record_count > 40
    assert batch.plain_bytes > 8000
    scenario.accumulator.split(queue, batch)
    assert all(piece.plain_bytes <= 1000 for piece in queue.batches)
    assert sum(piece.record_count for piece in queue.batches) == batch.record_count
    assert scenario.accumulator.ratios.expected("t") == 1.0


def test_splitting_makes_smaller_batches_of_the_same_records_and_numbers() -> None:
    scenario = Scenario(batch_size=16_000)
    for number in range(20):
        queue = scenario.add(b"%02d" % number + bytes(100))
    queue.sequence.adopt(7, 3)
    whole = scenario.accumulator.freeze(queue)
    scenario.add(b"behind")
    behind = scenario.accumulator.freeze(queue)
    behind.sent(1)
    scenario.accumulator.split(queue, whole)
    pieces = list(queue.batches)[:-1]
    assert len(pieces) > 1
    assert all(len(piece.data) <= queue.batch_size_bytes <= len(whole.data) // 2 for piece in pieces)
    assert [value for piece in pieces for value in values(bytes(piece.data))] == values(bytes(whole.data))
    starts = [piece.base_sequence for piece in pieces]
    assert starts == [sum(earlier.record_count for earlier in pieces[:at]) for at in range(len(pieces))]
    assert (queue.batches[-1], behind.base_sequence, queue.sequence.next_sequence) == (behind, 20, 21)
    assert all(numbers(bytes(piece.data)) == (7, 3, piece.base_sequence) for piece in pieces)


def test_a_batch_cut_anew_leaves_out_what_is_done_and_those_behind_it_move_up() -> None:
    scenario = Scenario(batch_size=16_000)
    for number in range(3):
        queue = scenario.add(b"%d" % number)
        scenario.clock.advance(1)
    queue.sequence.adopt(7, 0)
    first = scenario.accumulator.freeze(queue)
    scenario.add(b"behind")
    behind = scenario.accumulator.freeze(queue)
    late = first.pop_expired(10, 10)
    assert [run.rows.values[run.first : run.end] for run in late] == [[b"0"]]
    assert [(run.offset_in_batch, run.count) for run in first.runs] == [(0, 1), (1, 2)]
    assert first.expires_at_ms(10) == 11
    late[0].outcome = Outcome()
    first = Batch(first.runs, first.data, 0, 0)
    queue.batches[0] = first
    first.retry_at_ms, first.failures = 70, 2
    scenario.accumulator._cut_again(queue, first)
    again = queue.batches[0]
    assert values(bytes(again.data)) == [b"1", b"2"]
    assert (again.retry_at_ms, again.failures) == (70, 2)
    assert [(run.offset_in_batch, run.count) for run in again.runs] == [(0, 2)]
    assert (behind.base_sequence, numbers(bytes(behind.data)), queue.sequence.next_sequence) == (2, (7, 0, 2), 3)
    assert values(bytes(behind.data)) == [b"behind"]


def test_the_queue_served_last_is_asked_last() -> None:
    scenario = Scenario()
    queues = [scenario.add(partition=number) for number in range(3)]
    scenario.accumulator.served(queues[0])
    assert scenario.accumulator.active() == [queues[1], queues[2], queues[0]]


def test_queue_whose_last_batch_is_acknowledged_is_no_longer_active() -> None:
    scenario = Scenario()
    queues = [scenario.add(partition=number) for number in range(2)]
    scenario.accumulator.acknowledge(queues[0], scenario.accumulator.freeze(queues[0]), Outcome())
    assert scenario.accumulator.active() == queues[1:]


@pytest.mark.parametrize(("codec", "low", "high"), [("gzip", 1, 9), ("lz4", 1, 12), ("zstd", 1, 19)])
def test_the_levels_of_compression_are_used(codec: str, low: int, high: int) -> None:
    assert frozen_bytes(codec, high) < frozen_bytes(codec, low)


def test_the_default_level_of_lz4_is_its_fast_compressor_as_in_java() -> None:
    assert frozen_bytes("lz4", 9) == frozen_bytes("lz4", 1) > frozen_bytes("lz4", 10)


def frozen_bytes(codec: str, level: int) -> int:
    scenario = Scenario(**{"compression_type": codec, f"compression_{codec}_level": level, "batch_size": 100_000})
    queue = scenario.add(b"".join(b"%d," % (number * 7919 % 10007) for number in range(9000)))
    return len(scenario.accumulator.freeze(queue).data)
