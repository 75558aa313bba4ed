"""Findings about brokers, controllers and disks, from looks made by hand, each with its healthy twin."""

import pytest

from kctl.client.admin import LogDir, MetadataView, QuorumDescription, QuorumReplica
from kctl.client.broker_errors import ErrorCode, broker_error
from kctl.client.cluster import PartitionInfo, TopicInfo, TopicPartition
from kctl.why import Look, Looks, Scope, diagnose
from kctl.why.gathering.topics import Leaders
from kctl.why.look import ConfigValue
from tests.unit.why.looks import NODES, WALL_MS, found, found_once, partition, topic

TB = 1_000_000_000_000


def view(*infos: PartitionInfo) -> MetadataView:
    return MetadataView(NODES, {"t": TopicInfo("t", b"", False, None, {info.partition: info for info in infos})})


def quorum(*replicas: tuple[int, bool, int, int]) -> QuorumDescription:
    """Each: node, whether it votes, lag, and how long ago it caught up in milliseconds."""
    return QuorumDescription(
        1,
        1,
        900,
        tuple(QuorumReplica(node, votes, 900 - lag, lag, WALL_MS, WALL_MS - age) for node, votes, lag, age in replicas),
    )


def test_replica_on_an_unregistered_broker_is_found() -> None:
    look = Look(WALL_MS, NODES, topics=topic(partition(0, 1), partition(1, 2, (2, 4), (2,))))
    assert found(look)["broker-missing"].sentence == (
        "broker 4 is not registered but has replicas of 1 partition, for example t-1"
    )
    assert found(look._replace(topics=topic(partition(0, 1)))) == {}


def test_broker_that_names_leaders_of_older_epochs_has_stale_metadata() -> None:
    new, old = partition(0, 2, epoch=7), partition(0, 1, epoch=6)
    before = {"newest_leaders": {TopicPartition("t", 0): new}}
    late = Look(WALL_MS, NODES, topics=topic(new), behind={1: {}, 3: {TopicPartition("t", 0): old}})
    assert found_once(late, **before)["stale-metadata"].sentence == (
        "broker 3 (b3:9092) has stale metadata for 1 partition. It reports broker 1 as the leader of t-0 (epoch 6), "
        "but broker 2 became the leader at least 10s ago (epoch 7)"
    )
    assert "stale-metadata" not in found_once(late._replace(behind={1: {}, 3: {}}), **before)


def test_leaders_are_compared_with_the_newest_of_the_first_look() -> None:
    old, new, newest, tp = (*(partition(0, 2, epoch=epoch) for epoch in (6, 7, 8)), TopicPartition("t", 0))
    first = Leaders(None)
    for node_id, info in ((1, new), (3, old)):
        first.take(node_id, view(info))
    assert (first.newest, first.behind) == ({tp: new}, {1: {}, 3: {}})
    second = Leaders(Look(WALL_MS, NODES, topics=topic(old), newest_leaders=first.newest))
    for node_id, info in ((1, newest), (2, new), (3, old)):
        second.take(node_id, view(info))
    assert (second.newest, second.behind) == ({tp: newest}, {1: {}, 2: {}, 3: {tp: old}})


def test_observer_behind_the_quorum_is_found() -> None:
    look = Look(WALL_MS, NODES, quorum=quorum((1, True, 0, 0), (2, True, 5, 100), (4, False, 40, 1_080_000)))
    assert found(look)["quorum-lag"].sentence == (
        "broker 4 is 40 records behind the metadata log, and last caught up 18m ago"
    )
    assert found(look._replace(quorum=quorum((1, True, 0, 0), (2, True, 5, 100)))) == {}


def test_clock_of_the_controller_that_is_ahead_is_found() -> None:
    look = Look(WALL_MS - 90_000, NODES, quorum=quorum((1, True, 0, 0)))
    assert found(look)["controller-clock"].sentence == (
        "the clock of controller 1 is 1m30s ahead of the clock of this machine"
    )
    assert found(look._replace(wall_ms=WALL_MS + 5_000)) == {}


def test_quorum_that_arrives_late_in_a_look_does_not_show_another_clock() -> None:
    late = quorum((1, True, 0, -60_000), (2, True, 0, -60_000))
    assert "controller-clock" in found(Look(WALL_MS, NODES, quorum=late))
    assert found(Look(WALL_MS, NODES, quorum=late, quorum_at_ms=WALL_MS + 60_000)) == {}


def test_disk_that_fills_is_found_with_its_rate() -> None:
    sizes = {TopicPartition("t", 0): 700_000_000_000, TopicPartition("u", 0): 100_000_000_000}
    full = LogDir("/data", None, TB, 60_000_000_000, sizes)
    earlier = LogDir("/data", None, TB, 61_000_000_000, sizes)
    look = Look(WALL_MS, NODES, log_dirs={2: [full]})
    finding = found_once(look, log_dirs={2: [earlier]})["disk-filling"]
    assert finding.sentence == (
        "broker 2 has 6% free space in /data (60 GB of 1 TB). The disk fills at a rate of 360 GB per hour and "
        "will be full in about 10m. The largest topic is t (74% of the used space)"
    )
    assert found(look._replace(log_dirs={2: [LogDir("/data", None, TB, TB // 2, sizes)]})) == {}


ENLARGE = "enlarge the disk, or move replicas to other brokers. List replicas with: kctl brokers log-dirs 2 --replicas"


@pytest.mark.parametrize(
    ("of_disk", "configs", "sentence_end", "fix"),
    [
        (
            {("t", 0): 30, ("u", 0): 20},
            {},
            "in /data (5 B of 100 B). The largest topic is t (31% of the used space)",
            ENLARGE,
        ),
        ({}, {}, " in /data (5 B of 100 B)", ENLARGE),
        ({("t", 0): 90}, {"cleanup.policy": "compact"}, ". The largest topic is t (94% of the used space)", ENLARGE),
        ({("t", 0): 90}, {"segment.bytes": "40"}, ". The largest topic is t (94% of the used space)", ENLARGE),
        ({("t", 0): 90}, {"retention.bytes": "45"}, ". The largest topic is t (94% of the used space)", ENLARGE),
        (
            {("t", 0): 900},
            {},
            ". The largest topic is t (100% of the used space)",
            "kctl configs set topic t retention.bytes=450",
        ),
        (
            {("t", 0): 80, ("t", 1): 10},
            {},
            ". The largest topic is t (94% of the used space)",
            "kctl configs set topic t retention.bytes=35",
        ),
        (
            {("t", 0): 45, ("t", 1): 45},
            {},
            ". The largest topic is t (94% of the used space)",
            "kctl configs set topic t retention.bytes=22",
        ),
    ],
)
def test_disk_is_emptied_by_retention_only_if_one_topic_fills_it(
    of_disk: dict[tuple[str, int], int], configs: dict[str, str], sentence_end: str, fix: str
) -> None:
    sizes = {TopicPartition(*at): size for at, size in of_disk.items()}
    known = {"cleanup.policy": "delete", "segment.bytes": "5", "retention.bytes": "-1", **configs}
    look = Look(WALL_MS, NODES, log_dirs={2: [LogDir("/data", None, 100, 5, sizes)]})
    look = look._replace(topic_configs={"t": {name: ConfigValue(value, 1) for name, value in known.items()}})
    finding = found(look)["disk-filling"]
    assert finding.sentence.endswith(sentence_end)
    assert finding.cure == fix


def test_directory_that_is_offline_is_found() -> None:
    error = broker_error(ErrorCode.KAFKA_STORAGE_ERROR, "describe log directories of broker 2")
    look = Look(WALL_MS, NODES, log_dirs={2: [LogDir("/data", error, -1, -1, {})]})
    assert found(look)["log-dir-offline"].sentence.startswith("log directory /data of broker 2 is offline: ")


def test_leaders_on_one_broker_are_found() -> None:
    skewed = topic(*(partition(number, 1, (1 + number % 3, 1 + (number + 1) % 3), (1, 2, 3)) for number in range(60)))
    result = found(Look(WALL_MS, NODES, topics=skewed))
    assert (
        result["leader-skew"].sentence
        == "broker 1 leads 60 of 60 partitions, but brokers lead 20 partitions on average"
    )
    assert result["leader-skew"].cure == "kctl partitions elect --all"
    assert result["preferred-leader-not-leading"].subject in ("broker 2", "broker 3")
    even = topic(*(partition(number, 1 + number % 3, (1 + number % 3,)) for number in range(60)))
    assert found(Look(WALL_MS, NODES, topics=even)) == {}


def test_throttle_in_the_defaults_of_brokers_is_found_once_and_removed_there() -> None:
    rate = {"leader.replication.throttled.rate": ConfigValue("1000", 3)}
    look = Look(WALL_MS, NODES, broker_configs={1: rate, 2: rate}, moving=frozenset())
    [finding] = [each for each in diagnose(Looks(look), tuple(Scope)).findings if each.id == "throttle-left-behind"]
    assert finding.subject == "broker-defaults"
    assert finding.cure == "kctl configs unset broker-defaults leader.replication.throttled.rate"
    assert finding.show == "kctl configs show broker 1 --changed"


def test_throttle_of_one_broker_hides_no_rate_in_the_defaults() -> None:
    leader, follower = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
    own = {leader: ConfigValue("2000", 2), follower: ConfigValue("1000", 3)}
    default = {leader: ConfigValue("1000", 3), follower: ConfigValue("1000", 3)}
    look = Look(WALL_MS, NODES, broker_configs={1: own, 2: default}, moving=frozenset())
    findings = [each for each in diagnose(Looks(look), tuple(Scope)).findings if each.id == "throttle-left-behind"]
    assert {each.cure for each in findings} == {
        f"kctl configs unset broker-defaults {follower} {leader}",
        f"kctl configs unset broker 1 {leader}",
    }


def test_throttle_without_a_move_is_left_behind() -> None:
    rate = {2: {"leader.replication.throttled.rate": ConfigValue("1000", 2)}}
    replicas = {"t": {"leader.replication.throttled.replicas": ConfigValue("0:1", 1)}, "u": {}}
    look = Look(WALL_MS, NODES, broker_configs=rate, topic_configs=replicas, moving=frozenset())
    [finding] = [each for each in found(look).values() if each.id == "throttle-left-behind"]
    assert finding.sentence == (
        "topic t still has leader.replication.throttled.replicas=0:1, but no reassignment is in progress"
    )
    assert finding.cure == "kctl configs unset topic t leader.replication.throttled.replicas"
    for moving in (None, frozenset({TopicPartition("t", 0)})):
        assert found(look._replace(moving=moving)) == {}
    empty = {"t": {"leader.replication.throttled.replicas": ConfigValue("", 1)}}
    assert found(look._replace(broker_configs={}, topic_configs=empty)) == {}
