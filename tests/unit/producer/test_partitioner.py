from collections import Counter
from itertools import pairwise
from random import Random

from kctl.client.clock import ManualClock
from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, PartitionInfo, TopicInfo
from kctl.client.producer.partitioner import Load, NodeProgress, Partitioner, QueueState, queue_weights
from kctl.client.producer.record import ENCODED_OVERHEAD_BYTES
from kctl.client.producer.record_run import RecordRun
from kctl.client.records import partition_of_key
from tests.unit.producer.records import Maker, config

MAKER = Maker(ManualClock())
NOTHING_WAITS = Load(lambda *_: None, lambda _: 0)


def partitioner_of(load: Load = NOTHING_WAITS, rng: Random | None = None, **properties: object) -> Partitioner:
    return Partitioner(config(**properties), rng or Random(1), load)


def choose(partitioner: Partitioner, run: RecordRun, info: TopicInfo) -> int:
    """The partition of a record that `send` has sent."""
    (assigned,) = partitioner.assign(run, info)
    return assigned.partition


def encoded(size_bytes: int) -> bytes:
    """The value of a record that is counted with so many bytes of a batch."""
    return bytes(size_bytes - ENCODED_OVERHEAD_BYTES)


def topic(leaders: list[int]) -> TopicInfo:
    parts = {number: PartitionInfo("t", number, leader) for number, leader in enumerate(leaders)}
    return TopicInfo("t", NO_TOPIC_ID, False, None, parts)


def test_the_partition_asked_for_is_taken() -> None:
    assert choose(partitioner_of(), MAKER.sent(partition=2, key=b"k"), topic([1, 1, 1])) == 2


def test_a_key_decides_whoever_leads() -> None:
    partitioner = partitioner_of()
    for number in range(50):
        key = b"%d" % number
        chosen = choose(partitioner, MAKER.sent(key=key), topic([1, NO_NODE, 1]))
        assert chosen == partition_of_key(key, 3)


def test_keys_can_be_ignored() -> None:
    partitioner = partitioner_of(partitioner_ignore_keys=True)
    chosen = {choose(partitioner, MAKER.sent(key=b"%d" % number), topic([1] * 5)) for number in range(20)}
    assert len(chosen) == 1


def test_without_a_key_one_partition_gets_a_batch_and_then_the_next_is_drawn_anew() -> None:
    partitioner = partitioner_of(batch_size=1000)
    info = topic([1, 1, 1])
    chosen = [choose(partitioner, MAKER.sent(encoded(100)), info) for _ in range(6000)]
    turns = [chosen[start : start + 10] for start in range(0, 6000, 10)]
    assert all(len(set(turn)) == 1 for turn in turns)
    assert any(one[0] == two[0] for one, two in pairwise(turns))  # as in Java, the same one may be drawn again
    assert all(1700 < count < 2300 for count in Counter(chosen).values())


def test_a_turn_goes_on_while_a_batch_has_begun_but_not_beyond_two() -> None:
    """Leaving a batch half full would cost as much as it saves: Java waits for its end, or for twice batch.size."""
    waiting = {"bytes": 500}
    partitioner = partitioner_of(Load(lambda *_: QueueState(1, waiting["bytes"]), lambda _: 0), batch_size=1000)
    info = topic([1] * 50)

    def turn(count: int) -> int:
        return len({choose(partitioner, MAKER.sent(encoded(100)), info) for _ in range(count)})

    assert turn(20) == 1
    assert turn(1) == 1
    first = choose(partitioner, MAKER.sent(encoded(100)), info)
    assert turn(8) == 1
    waiting["bytes"] = 950  # the next record does not fit into the batch: it is full
    assert choose(partitioner, MAKER.sent(encoded(100)), info) != first


def test_weights_are_javas_inverted_queue_sizes() -> None:
    """The example in the source of Java's updatePartitionLoadStats: queues of 0, 3 and 1 have weights 4, 1 and 3."""
    assert queue_weights([0, 3, 1], 3) == [4, 1, 3]
    assert queue_weights([2, 2, 2], 3) is None
    assert queue_weights([2, 2], 3) == [1, 1]  # one was left out: the others are drawn by weight
    assert queue_weights([5], 1) is None
    assert queue_weights([5], 2) == [1]
    assert queue_weights([], 3) is None


def test_longer_queues_are_drawn_less_often() -> None:
    sizes = [0, 3, 1, 7]
    load = Load(lambda _, partition: QueueState(sizes[partition], 0), lambda _: 0)
    info = topic([1] * 4)
    chosen = Counter(
        choose(partitioner_of(load, Random(seed), batch_size=0), MAKER.sent(), info) for seed in range(8000)
    )
    weights = [8, 5, 7, 1]
    for partition, weight in enumerate(weights):
        assert abs(chosen[partition] - 8000 * weight / sum(weights)) < 200


def test_without_adaptive_partitioning_or_before_every_partition_had_a_record_the_choice_is_uniform() -> None:
    info = topic([1] * 4)
    load = Load(lambda _, partition: None if partition == 3 else QueueState([50, 0, 0, 0][partition], 0), lambda _: 0)
    full = Load(lambda _, partition: QueueState([50, 0, 0, 0][partition], 0), lambda _: 0)
    for known, adaptive in ((load, True), (full, False)):
        chosen = Counter(
            choose(
                partitioner_of(known, Random(seed), batch_size=0, partitioner_adaptive_partitioning_enable=adaptive),
                MAKER.sent(),
                info,
            )
            for seed in range(4000)
        )
        assert all(900 < chosen[partition] < 1100 for partition in range(4))


def test_partitions_of_a_node_that_takes_no_data_are_left_out() -> None:
    load = Load(lambda *_: QueueState(1, 0), {1: 0, 2: 501}.__getitem__)
    info = topic([1, 2, 1, 2])
    for limit_ms, expected in ((500, {0, 2}), (501, {0, 1, 2, 3}), (0, {0, 1, 2, 3})):
        chosen = {
            choose(
                partitioner_of(load, Random(seed), batch_size=0, partitioner_availability_timeout_ms=limit_ms),
                MAKER.sent(),
                info,
            )
            for seed in range(200)
        }
        assert chosen == expected


def test_how_long_a_node_has_left_its_data_alone() -> None:
    progress = NodeProgress()
    assert progress.waited_ms(1) == 0
    progress.note_data(1, 100)
    progress.note_data(1, 700)
    assert progress.waited_ms(1) == 600
    progress.took_data(1, 900)
    assert progress.waited_ms(1) == 0
    progress.note_data(1, 950)
    assert progress.waited_ms(1) == 50


def test_a_partition_that_loses_its_leader_is_left_at_once() -> None:
    partitioner = partitioner_of()
    first = choose(partitioner, MAKER.sent(), topic([1, 1, 1]))
    leaders = [1, 1, 1]
    leaders[first] = NO_NODE
    assert choose(partitioner, MAKER.sent(), topic(leaders)) != first


def test_new_metadata_alone_does_not_end_a_turn() -> None:
    partitioner = partitioner_of()
    assert len({choose(partitioner, MAKER.sent(), topic([1] * 9)) for _ in range(50)}) == 1


def test_without_any_leader_records_wait_somewhere() -> None:
    assert choose(partitioner_of(), MAKER.sent(), topic([NO_NODE] * 3)) in (0, 1, 2)


def test_round_robin_takes_each_in_turn_and_passes_over_leaderless_ones() -> None:
    partitioner = partitioner_of(partitioner_class="round_robin")
    info = topic([1, NO_NODE, 1, 1])
    chosen = [choose(partitioner, MAKER.sent(key=b"same"), info) for _ in range(9)]
    assert Counter(chosen) == {0: 3, 2: 3, 3: 3}
