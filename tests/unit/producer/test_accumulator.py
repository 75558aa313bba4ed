from kctl.client.clock import FOREVER_MS, ManualClock
from kctl.client.producer.accumulator import Accumulator, PartitionQueue
from kctl.client.records import decode_batches
from tests.unit.producer.records import Maker, config


class Setup:
    def __init__(self, **properties: object) -> None:
        self.clock = ManualClock()
        self.maker = Maker(self.clock)
        self.accumulator = Accumulator(config(**properties))

    def add(self, value: bytes = b"v", partition: int = 0, size_bytes: int = 100) -> PartitionQueue:
        self.accumulator.add(self.maker.record(value, partition=partition, size_bytes=size_bytes))
        return next(queue for queue in self.accumulator.active() if queue.topic_partition.partition == partition)


def values(data: bytes) -> list[bytes | None]:
    reader = decode_batches(data, topic="t", partition=0, fetch_offset=0, aborted=None)
    return [record.value for record in reader.records(1000)]


def test_a_batch_is_due_after_linger_or_when_it_is_full() -> None:
    setup = Setup(linger_ms=50, batch_size=1000)
    setup.clock.advance(7)
    queue = setup.add(size_bytes=400)
    assert setup.accumulator.due_at_ms(queue) == 57
    setup.add(size_bytes=600)
    assert setup.accumulator.due_at_ms(queue) == 0


def test_hurry_ends_lingering() -> None:
    setup = Setup(linger_ms=50)
    queue = setup.add()
    setup.accumulator.is_hurried = True
    assert setup.accumulator.due_at_ms(queue) == 0


def test_nothing_is_due_behind_a_batch_in_flight_and_a_retry_waits() -> None:
    setup = Setup(linger_ms=0)
    queue = setup.add()
    batch = setup.accumulator.freeze(queue)
    setup.add()
    batch.sent(1)
    assert setup.accumulator.due_at_ms(queue) == FOREVER_MS
    batch.is_in_flight = False
    batch.retry_at_ms = 123
    assert setup.accumulator.due_at_ms(queue) == 123


def test_a_batch_takes_records_in_order_until_it_is_full() -> None:
    setup = Setup(batch_size=200)
    for number in range(30):
        queue = setup.add(b"%02d" % number + bytes(18))
    first = setup.accumulator.freeze(queue)
    assert len(first.data) <= 200
    queue.batch = None
    second = setup.accumulator.freeze(queue)
    taken = [value[:2] for value in values(first.data) + values(second.data) if value is not None]
    assert taken == [b"%02d" % number for number in range(len(taken))]
    assert [record.offset_in_batch for record in first.records] == list(range(len(first.records)))


def test_what_was_unfrozen_comes_first_and_frees_its_sequences() -> None:
    setup = Setup(batch_size=150)
    for number in range(6):
        queue = setup.add(b"%d" % number + bytes(30))
    queue.sequence.adopt(7, 0)
    batch = setup.accumulator.freeze(queue)
    before = (batch.base_sequence, queue.sequence.next_sequence)
    queue.unfreeze()
    assert queue.queued_bytes == 600
    again = setup.accumulator.freeze(queue)
    assert again.data == batch.data
    assert (again.base_sequence, queue.sequence.next_sequence) == before == (0, len(batch.records))


def test_splitting_makes_smaller_batches_of_the_same_records() -> None:
    setup = Setup(batch_size=16_000)
    for number in range(20):
        queue = setup.add(b"%02d" % number + bytes(100))
    whole = setup.accumulator.freeze(queue)
    queue.split()
    half = setup.accumulator.freeze(queue)
    assert 0 < len(half.records) <= len(whole.records) // 2
    assert values(half.data) == values(whole.data)[: len(half.records)]


def test_a_batch_of_unknown_fate_starts_a_new_epoch_and_another_does_not() -> None:
    setup = Setup()
    queue = setup.add()
    queue.sequence.adopt(7, 3)
    setup.accumulator.freeze(queue).may_be_written = True
    queue.drop_batch()
    assert (queue.sequence.epoch, queue.sequence.next_sequence) == (4, 0)
    setup.add()
    setup.accumulator.freeze(queue)
    queue.drop_batch()
    assert (queue.sequence.epoch, queue.sequence.next_sequence) == (4, 0)


def test_the_queue_served_last_is_asked_last() -> None:
    setup = Setup()
    queues = [setup.add(partition=number) for number in range(3)]
    setup.accumulator.settle(queues[0])
    assert setup.accumulator.active() == [queues[1], queues[2], queues[0]]
    queues[1].take_all()
    setup.accumulator.settle(queues[1])
    assert setup.accumulator.active() == [queues[2], queues[0]]


def test_the_levels_of_compression_are_used() -> None:
    sizes = {}
    for level in (1, 19):
        setup = Setup(compression_type="zstd", compression_zstd_level=level, batch_size=100_000)
        queue = setup.add(b"".join(b"%d," % number for number in range(9000)))
        sizes[level] = len(setup.accumulator.freeze(queue).data)
    assert sizes[19] < sizes[1]
