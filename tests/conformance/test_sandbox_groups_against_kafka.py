"""Groups of the sandbox stay honest: the same raw requests get the same outcomes from it and from the newest Kafka.

Member ids that a broker makes up are replaced by the order in which they appeared.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.protocol.api.consumer_groups import (
    TopicPartitions,
)
from kctl.client.protocol.api.group_membership import JoinGroupRequestProtocol, SyncGroupRequestAssignment
from tests.conformance.group_talk import PATIENCE_MS, GroupTalk, Outcome, outcomes_of_both
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until


def _no_group(talk: GroupTalk) -> Iterator[Outcome]:
    yield "heartbeat", talk.heartbeat("m", 1)
    yield "join", talk.join("m")[1]
    yield "sync", talk.sync("m", 1)
    yield "leave", talk.leave(("m", None), ("", "i"))
    yield "leave alone", talk.leave_alone("m")
    yield "describe", talk.describe()
    yield "describe before version 6", talk.describe(5)
    yield "describe consumers", talk.describe_consumers()
    yield "delete", talk.delete()
    yield "delete offset", talk.delete_offset()
    yield "commit", [talk.commit("m", 1, version=version) for version in (8, 9)]
    yield "committed", talk.committed()
    yield "committed as a member", talk.committed("m", 3)
    yield "beat", [talk.beat("m", epoch) for epoch in (1, -1, -2, -3)]
    yield "leave static", talk.beat("m", -2, instance_id="i")
    talk.group_id = ""
    yield "no name", [talk.heartbeat("m", 1), talk.delete(), talk.beat("m", 0), talk.join()[1], talk.sync("m", 1)]
    yield "no name, described", [talk.describe(), talk.describe_consumers(), talk.leave(("m", None))]


def _one_member(talk: GroupTalk) -> Iterator[Outcome]:
    for session_ms in (1, 499, 1_800_001):
        yield f"session of {session_ms} ms", talk.join(session_timeout_ms=session_ms)[1]
    yield "no protocols", talk.join(protocols=[])[1]
    yield "no protocol type", talk.join(protocol_type="")[1]
    first, outcome = talk.join()
    yield "join without id", outcome
    yield "promised", [talk.describe(), talk.list(), talk.heartbeat(first, 0), talk.sync(first, 0)]
    yield "join with id", talk.join(first)[1]
    yield "join again", talk.join(first)[1]
    yield "completing", [talk.describe(), talk.heartbeat(first, 1), talk.commit(first, 1), talk.delete()]
    yield "sync, wrong protocol", talk.sync(first, 1, protocol_name="x")
    yield "sync, wrong type", talk.sync(first, 1, protocol_type="x")
    yield "sync, no type", talk.sync(first, 1, protocol_type=None)
    yield "sync, wrong generation", talk.sync(first, 2)
    yield "sync, unknown", talk.sync("nobody", 1)
    yield "sync", talk.sync(first, 1, assignments=[SyncGroupRequestAssignment(member_id=first, assignment=b"mine")])
    yield "sync again", talk.sync(first, 1)
    yield "stable", [talk.describe(), talk.list(states_filter=["stable"]), talk.list(types_filter=["Consumer"])]
    yield "heartbeats", [talk.heartbeat(first, generation) for generation in (1, 0, 2, -1)]
    yield "heartbeat, unknown", [talk.heartbeat("nobody", 1), talk.heartbeat(first, 1, "i")]
    yield "commits", [talk.commit(first, generation) for generation in (1, 0, 2, -1)]
    yield "commits, unknown", [talk.commit("nobody", 1), talk.commit("", -1), talk.commit(first, 1, version=2)]
    yield "committed", [talk.committed(), talk.committed(first, 1), talk.committed("nobody", 9)]
    yield "delete", [talk.delete(), talk.delete_offset(), talk.delete_offset(9)]
    yield "another type", talk.join(protocol_type="connect")[1]
    yield "beat", talk.beat("m", 0)
    yield "describe consumers", talk.describe_consumers()
    other = [JoinGroupRequestProtocol(name="other", metadata=b"")]
    yield "another protocol", talk.join(protocols=other)[1]
    yield "the leader joins again", talk.join(first)[1]
    yield "leave", [talk.leave(("nobody", None), ("", "i"), (first, "i")), talk.leave_alone("nobody")]
    yield "leave", talk.leave((first, None))
    yield "empty", [talk.describe(), talk.list(), talk.heartbeat(first, 3), talk.join(first)[1]]
    yield "commits when empty", [talk.commit("", -1), talk.commit(first, -1), talk.commit(first, 3)]
    yield "delete", [talk.delete_offset(), talk.committed(), talk.delete(), talk.delete(), talk.list()]


def _two_members(talk: GroupTalk) -> Iterator[Outcome]:
    first, _ = talk.join()
    talk.join(first)
    talk.sync(first, 1)
    second, outcome = talk.join(peer=1)
    yield "second without id", outcome
    talk.send_join(second, peer=1)
    yield "nobody waits for it", talk.describe()[1][0][1] in ("Stable", "PreparingRebalance")
    wait_until(lambda: talk.heartbeat(first, 1) == "REBALANCE_IN_PROGRESS", PATIENCE_MS, "a rebalance")
    yield "preparing", [talk.describe(), talk.sync(first, 1), talk.commit(first, 1), talk.list()]
    both = [JoinGroupRequestProtocol(name=name, metadata=name.encode()) for name in ("other", "range")]
    yield "first again", talk.join(first, protocols=both)[1]
    yield "second", talk.joined(1)[1]
    talk.send_sync(second, 2, peer=1)
    yield "completing", [talk.heartbeat(first, 2), talk.commit(second, 2), talk.describe()]
    given = [SyncGroupRequestAssignment(member_id=second, assignment=b"all")]
    yield "leader syncs", [talk.sync(first, 2, assignments=given), talk.synced(1)]
    yield "follower joins again", talk.join(second, peer=1)[1]
    yield "stable", talk.describe()
    talk.send_join(second, peer=1, protocols=both)
    wait_until(lambda: talk.heartbeat(first, 2) == "REBALANCE_IN_PROGRESS", PATIENCE_MS, "a rebalance")
    yield "leader leaves", talk.leave((first, None))
    yield "follower leads", talk.joined(1)[1]
    yield "old member", [talk.heartbeat(first, 3), talk.heartbeat(second, 3), talk.commit(first, 3)]
    yield "leaves in completing", [talk.leave((second, None)), talk.describe()]


def _static(talk: GroupTalk) -> Iterator[Outcome]:
    first, outcome = talk.join(group_instance_id="a")
    yield "join", outcome
    yield (
        "sync",
        talk.sync(
            first, 1, group_instance_id="a", assignments=[SyncGroupRequestAssignment(member_id=first, assignment=b"x")]
        ),
    )
    yield "heartbeats", [talk.heartbeat(first, 1, instance) for instance in (None, "a", "b")]
    again, outcome = talk.join(group_instance_id="a")
    yield "leader is back", outcome
    yield (
        "old one",
        [talk.heartbeat(first, 1, "a"), talk.heartbeat(first, 1), talk.sync(first, 1, group_instance_id="a")],
    )
    yield "old one joins", talk.join(first, group_instance_id="a")[1]
    yield "old one commits", [talk.commit(first, 1, group_instance_id="a"), talk.commit(first, 1)]
    yield "old one leaves", talk.leave((first, "a"))
    yield "new one", [talk.heartbeat(again, 1, "a"), talk.sync(again, 1, group_instance_id="a"), talk.describe()]
    older, outcome = talk.join(group_instance_id="a", version=7)
    yield "leader is back, version 7", (outcome, talk.heartbeat(older, 1, "a"))
    more = [JoinGroupRequestProtocol(name="new", metadata=b""), JoinGroupRequestProtocol(name="range", metadata=b"")]
    yield "back with another wish", talk.join(group_instance_id="a", protocols=more)[1]
    yield "leave by instance", [talk.leave(("", "b")), talk.leave(("", "a")), talk.describe()]


def _strangers(talk: GroupTalk) -> Iterator[Outcome]:
    wishes: dict[str, dict[str, Any]] = {
        "no id": {"member_id": ""},
        "no timeout": {"rebalance_timeout_ms": -1},
        "partitions": {"topic_partitions": [TopicPartitions(topic_id=talk.topic_id, partitions=[0])]},
        "unknown partitions": {"topic_partitions": None},
        "no topics": {"subscribed_topic_names": None},
        "empty instance": {"instance_id": ""},
        "empty rack": {"rack_id": ""},
        "assignor": {"server_assignor": "sticky"},
        "regex": {"subscribed_topic_regex": "("},
    }
    for name, wrong in wishes.items():
        yield name, talk.beat("m", 0, **wrong)
    yield "nothing was made", talk.describe_consumers()


def _consumers(talk: GroupTalk) -> Iterator[Outcome]:
    yield "first joins", talk.beat("m1", 0)
    yield "first", [talk.beat("m1", 2), talk.beat("m1", 2, [0, 1, 2, 3]), talk.describe_consumers(), talk.list()]
    yield "first joins again", talk.beat("m1", 0)
    yield "wrong epochs", [talk.beat("m1", 7), talk.beat("nobody", 1), talk.beat("nobody", -1)]
    yield "classic", [talk.describe(), talk.heartbeat("m1", 2), talk.sync("m1", 2)]
    yield "second joins", talk.beat("m2", 0)
    yield "second waits", [talk.beat("m2", 3, []), talk.describe_consumers()]
    yield "commits", [talk.commit("m1", epoch) for epoch in (-1, 0, 1, 2, 3)]
    yield "commits of others", [talk.commit("", -1), talk.commit("nobody", 2), talk.commit("m1", 2, version=8)]
    yield "committed", [talk.committed(), talk.committed("m1", 2), talk.committed("m1", 3), talk.committed("x", 2)]
    yield "first is to revoke", talk.beat("m1", 2, [0, 1, 2, 3])
    yield "first still has them", [talk.beat("m1", 2), talk.beat("m1", 2, [0, 1, 2]), talk.beat("m2", 3)]
    yield "half way", talk.describe_consumers()
    yield "first has revoked", [talk.beat("m1", 2, [0, 1]), talk.beat("m1", 3, [0, 1])]
    yield "second gets them", [talk.beat("m2", 3), talk.describe_consumers()]
    yield "lost answer", [talk.beat("m1", 2, [0, 1]), talk.beat("m1", 2, [0, 1, 2]), talk.beat("m1", 2)]
    yield "commits in epoch 3", [talk.commit("m1", epoch) for epoch in (0, 1, 2, 3, 4)]
    yield "commits of the second", [talk.commit("m2", epoch, 3) for epoch in (2, 3)]
    yield "delete", [talk.delete(), talk.delete_offset()]
    yield "second leaves", [talk.beat("m2", -1), talk.describe_consumers(), talk.beat("m2", 3)]
    yield "first takes over", [talk.beat("m1", 3), talk.describe_consumers(), talk.committed("m1", 4)]
    yield (
        "commits in epoch 4",
        [talk.commit("m1", epoch, *parts) for epoch in (2, 3, 4) for parts in ((0,), (3,), (0, 3))],
    )
    yield "commits of nothing", [talk.commit("m1", 3, 9), talk.commit("m1", 4, 9, 0)]
    yield "first leaves", [talk.beat("m1", -1), talk.describe_consumers(), talk.list(), talk.commit("", -1)]
    yield "another joins", talk.beat("m3", 0)
    yield "leaves", [talk.leave(("m3", "a"), ("x", None), ("m3", None)), talk.delete(), talk.describe_consumers()]
    # Not listed: Kafka lists what is committed, and a promised member id writes nothing that would commit the change.
    yield "classic again", talk.join()[1]


def _static_consumers(talk: GroupTalk) -> Iterator[Outcome]:
    yield "join", talk.beat("m1", 0, instance_id="a")
    yield "wrong instance", [talk.beat("m1", 2, instance_id="b"), talk.beat("m1", 2)]
    yield "wrong id", [talk.beat("m2", 2, instance_id="a"), talk.beat("m2", 0, instance_id="a")]
    yield "not known", [talk.beat("m2", -2, instance_id="a"), talk.beat("m2", -2, instance_id="b")]
    yield "away", [talk.beat("m1", -2, instance_id="a"), talk.describe_consumers()]
    yield "while away", [talk.beat("m1", 2, instance_id="a"), talk.commit("m1", 2)]
    yield "back", [talk.beat("m2", 0, instance_id="a"), talk.describe_consumers()]
    yield "the old one", [talk.beat("m1", 2, instance_id="a"), talk.beat("m1", 0, instance_id="a")]
    yield "leave", [talk.beat("m2", -1, instance_id="a"), talk.describe_consumers()]


def _wishes(talk: GroupTalk) -> Iterator[Outcome]:
    yield "range", talk.beat("m1", 0, server_assignor="range")
    yield "uniform is asked for", talk.beat("m1", 2, server_assignor="uniform")
    yield "nothing new", [talk.beat("m1", 2), talk.describe_consumers()]
    yield "an unknown topic too", [talk.beat("m1", 2, subscribed_topic_names=[talk.topic, "x"]), talk.beat("m1", 3)]
    yield "no topic", talk.beat("m1", 3, subscribed_topic_names=[])
    yield "revoked", [talk.beat("m1", 3, []), talk.describe_consumers()]
    epochs = [4]

    def is_assigned() -> bool:
        _, (_, epoch, _, assigned) = talk.beat("m1", epochs[-1], subscribed_topic_regex=f"{talk.topic[:-1]}[^x]")
        epochs.append(epoch)
        return bool(assigned)

    wait_until(is_assigned, PATIENCE_MS, "topics of a pattern")
    described = talk.describe_consumers()[1]
    yield "a pattern", [part for part in described[2][0][-1] if part[0]]


SCENARIOS = [_no_group, _one_member, _two_members, _static, _strangers, _consumers, _static_consumers, _wishes]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_outcomes_are_those_of_kafka(kafka_impatient: KafkaCluster, scenario: Any) -> None:
    ours, theirs = outcomes_of_both(kafka_impatient, scenario)
    for outcome, expected in zip(ours, theirs, strict=True):
        assert outcome == expected
