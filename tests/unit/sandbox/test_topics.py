"""Topics and leaders: rejected requests, effective settings, and reproducible IDs."""

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.errors import IllegalStateError
from kctl.sandbox.cluster import Cluster, ClusterNode, TopicRefused
from kctl.sandbox.settings import ClusterSettings, InvalidSetting, topic_settings


def _cluster(nodes: int = 3) -> Cluster:
    return Cluster([ClusterNode(node_id, "host", 9092) for node_id in range(1, nodes + 1)])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("",), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("a b",), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("..",), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("x" * 250,), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("ä",), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (("t",), ErrorCode.TOPIC_ALREADY_EXISTS),
        (("n", 0), ErrorCode.INVALID_PARTITIONS),
        (("n", -2), ErrorCode.INVALID_PARTITIONS),
        (("n", 2**31 - 1), ErrorCode.INVALID_PARTITIONS),
        (("n", 1, 4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (("n", 1, 0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (("n", 1, 1, {"no.such": "1"}), ErrorCode.INVALID_CONFIG),
        (("n", 1, 1, {"max.message.bytes": "many"}), ErrorCode.INVALID_CONFIG),
        (("n", 1, 1, {"message.timestamp.type": "Sometimes"}), ErrorCode.INVALID_CONFIG),
    ],
)
def test_impossible_topics_are_refused(arguments: tuple[str, int, int, dict[str, str]], code: ErrorCode) -> None:
    cluster = _cluster()
    cluster.create_topic("t")
    with pytest.raises(TopicRefused) as refused:
        cluster.create_topic(*arguments)
    assert refused.value.code is code
    assert list(cluster.topics) == ["t"]


def test_leaders_are_spread_and_replicas_follow() -> None:
    topic = _cluster().create_topic("t", 4, 2)
    assert [partition.replicas for partition in topic.partitions.values()] == [(1, 2), (2, 3), (3, 1), (1, 2)]
    assert [partition.leader_id for partition in topic.partitions.values()] == [1, 2, 3, 1]


def test_ids_differ_between_topics_and_lives_and_repeat_between_runs() -> None:
    def ids() -> list[bytes]:
        cluster = _cluster()
        first = cluster.create_topic("a").topic_id
        cluster.delete_topic("a")
        return [first, cluster.create_topic("a").topic_id, cluster.create_topic("b").topic_id]

    assert len(dict.fromkeys(ids())) == 3
    assert ids() == ids()
    assert all(one[6] >> 4 == 4 for one in ids())


def test_validate_only_leaves_nothing() -> None:
    cluster = _cluster()
    cluster.create_topic("t", validate_only=True)
    assert not cluster.topics


def test_a_moved_leader_has_a_new_epoch() -> None:
    cluster = _cluster()
    cluster.create_topic("t", 1, 2)
    cluster.move_leader("t", 0, 3)
    partition = cluster.partition("t", 0)
    assert partition is not None
    assert (partition.leader_id, partition.leader_epoch) == (3, 1)
    assert 3 in partition.replicas
    with pytest.raises(KeyError):
        cluster.move_leader("t", 0, 9)


def test_a_deleted_topic_takes_its_commits_along() -> None:
    cluster = _cluster()
    cluster.create_topic("t")
    cluster.groups.offsets["g"] = {("t", 0): None}  # type: ignore[dict-item]  # only the key matters
    cluster.delete_topic("t")
    assert cluster.groups.offsets == {"g": {}}
    with pytest.raises(KeyError):
        cluster.delete_topic("t")


def test_settings_of_topics() -> None:
    cluster = ClusterSettings(message_max_bytes=500)
    assert topic_settings({}, cluster).max_message_bytes == 500
    settings = topic_settings({"max.message.bytes": "7", "message.timestamp.type": "LogAppendTime"}, cluster)
    assert (settings.max_message_bytes, settings.is_log_append_time) == (7, True)
    assert topic_settings({"retention.ms": "-1"}, cluster).max_message_bytes == 500
    with pytest.raises(InvalidSetting, match=r"max\.message\.bytes must be a number of 0 or more, not '-1'"):
        topic_settings({"max.message.bytes": "-1"}, cluster)


def test_time_comes_from_whoever_runs_it_and_from_one_only() -> None:
    cluster = _cluster()
    with pytest.raises(IllegalStateError, match="neither served"):
        _ = cluster.scheduler
