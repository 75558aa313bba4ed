from collections import Counter
from itertools import pairwise
from random import Random

from kctl.client.clock import ManualClock
from kctl.client.cluster import NO_NODE, NO_TOPIC_ID, PartitionInfo, TopicInfo
from kctl.client.producer.murmur2 import partition_of_key
from kctl.client.producer.partitioner import Partitioner
from tests.unit.producer.records import Maker, config

MAKER = Maker(ManualClock())


def topic(leaders: list[int]) -> TopicInfo:
    parts = {number: PartitionInfo("t", number, leader) for number, leader in enumerate(leaders)}
    return TopicInfo("t", NO_TOPIC_ID, False, None, parts)


def test_the_partition_asked_for_is_taken() -> None:
    assert Partitioner(config(), Random(1)).choose(MAKER.record(partition=2, key=b"k"), topic([1, 1, 1])) == 2


def test_a_key_decides_whoever_leads() -> None:
    partitioner = Partitioner(config(), Random(1))
    for number in range(50):
        key = b"%d" % number
        chosen = partitioner.choose(MAKER.record(key=key), topic([1, NO_NODE, 1]))
        assert chosen == partition_of_key(key, 3)


def test_keys_can_be_ignored() -> None:
    partitioner = Partitioner(config(partitioner_ignore_keys=True), Random(1))
    chosen = {partitioner.choose(MAKER.record(key=b"%d" % number), topic([1] * 5)) for number in range(20)}
    assert len(chosen) == 1


def test_without_a_key_one_partition_gets_a_batch_and_then_another_one_does() -> None:
    partitioner = Partitioner(config(batch_size=1000), Random(1))
    info = topic([1, 1, 1])
    chosen = [partitioner.choose(MAKER.record(size_bytes=100), info) for _ in range(3000)]
    turns = [chosen[start : start + 10] for start in range(0, 3000, 10)]
    assert all(len(set(turn)) == 1 for turn in turns)
    assert all(one[0] != two[0] for one, two in pairwise(turns))
    assert all(800 < count < 1200 for count in Counter(chosen).values())


def test_a_partition_that_loses_its_leader_is_left_at_once() -> None:
    partitioner = Partitioner(config(), Random(1))
    first = partitioner.choose(MAKER.record(), topic([1, 1, 1]))
    leaders = [1, 1, 1]
    leaders[first] = NO_NODE
    assert partitioner.choose(MAKER.record(), topic(leaders)) != first


def test_new_metadata_alone_does_not_end_a_turn() -> None:
    partitioner = Partitioner(config(), Random(1))
    assert len({partitioner.choose(MAKER.record(), topic([1] * 9)) for _ in range(50)}) == 1


def test_without_any_leader_records_wait_somewhere() -> None:
    assert Partitioner(config(), Random(1)).choose(MAKER.record(), topic([NO_NODE] * 3)) in (0, 1, 2)


def test_round_robin_takes_each_in_turn_and_passes_over_leaderless_ones() -> None:
    partitioner = Partitioner(config(partitioner_class="round_robin"), Random(1))
    info = topic([1, NO_NODE, 1, 1])
    chosen = [partitioner.choose(MAKER.record(key=b"same"), info) for _ in range(9)]
    assert Counter(chosen) == {0: 3, 2: 3, 3: 3}
