"""ConsumerMembership against a scripted coordinator, in virtual time."""

import re

from kctl.client.cluster import TopicPartition
from kctl.client.consumer.group.events import (
    AssignmentChanged,
    GroupMetadata,
    GroupWaiting,
    MemberChanged,
    Subscribe,
)
from kctl.client.consumer.group.membership import MemberIdentity
from kctl.client.consumer.waiting import WaitKind
from kctl.client.errors import ConnectionLost
from kctl.client.network.in_flight import Outgoing
from kctl.client.protocol.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from tests.unit.consumer.fakes import T0, T2, TOPIC_ID, answer, fail, topic
from tests.unit.consumer.group.heartbeat_bench import (
    INTERVAL_MS,
    MEMBER_ID,
    OTHER_ID,
    TOPICS,
    Bench,
    owned,
    said,
    shared,
)

# --- joining --------------------------------------------------------------------------------------------------------


def test_member_joins_when_the_application_polls() -> None:
    bench = Bench()
    bench.member.subscribe(TOPICS)
    assert bench.polled() == []
    bench.member.poll_began()
    request = bench.beat()
    assert said(request).member_epoch == 0
    assert said(request).member_id == MEMBER_ID
    assert said(request).subscribed_topic_names == ["t"]
    assert said(request).rebalance_timeout_ms == 60_000
    assert owned(request) == []
    assert bench.member.identity is None
    assert list(bench.member.topics) == ["t"]


def test_the_assignment_is_reported_and_acknowledged_at_once_when_applied() -> None:
    bench = Bench()
    bench.start()
    bench.hear(bench.beat(), [0, 2])
    assert bench.polled() == []
    assert MemberChanged(GroupMetadata("g", 1, MEMBER_ID)) in bench.reports
    assert bench.changes() == [shared(1, T0, T2)]
    assert bench.member.identity == MemberIdentity(MEMBER_ID, 1, None, 0)
    bench.member.applied(1)
    request = bench.beat()
    assert (said(request).member_epoch, owned(request)) == (1, [0, 2])
    assert said(request).subscribed_topic_names is None


def test_an_empty_first_assignment_is_reported_too() -> None:
    bench = Bench()
    bench.start()
    bench.hear(bench.beat(), [])
    bench.polled()
    assert bench.changes() == [AssignmentChanged(1, ())]
    assert bench.reports[-1] == GroupWaiting("group g has no partition for this member yet", WaitKind.NO_SHARE)


def test_heartbeats_come_in_the_brokers_interval_from_sending_to_sending() -> None:
    bench = Bench()
    bench.joined(0)
    assert bench.deadline_at_ms == INTERVAL_MS
    bench.now_ms = INTERVAL_MS - 1
    assert bench.polled() == []
    bench.now_ms = INTERVAL_MS
    request = bench.beat()
    assert said(request) == ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=1)
    bench.now_ms += 300
    bench.hear(request)
    assert bench.deadline_at_ms == 2 * INTERVAL_MS


def test_one_heartbeat_at_a_time() -> None:
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.beat()
    bench.now_ms += 2 * INTERVAL_MS
    assert bench.polled() == []


def test_a_broker_that_wants_no_interval_does_not_make_a_storm() -> None:
    bench = Bench()
    bench.start()
    bench.answer(bench.beat(), member_epoch=1, heartbeat_interval_ms=0)
    assert bench.polled() == []
    assert bench.deadline_at_ms == 10


# --- reconciliation -------------------------------------------------------------------------------------------------


def test_revoked_partition_stays_in_the_heartbeats_until_it_is_applied() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    assert bench.polled() == []
    assert bench.changes() == [shared(2, T0)]
    bench.now_ms = 2 * INTERVAL_MS
    request = bench.beat()
    assert owned(request) is None
    fail(request, ConnectionLost("gone"), bench.now_ms)
    bench.now_ms += 100
    request = bench.beat()
    assert owned(request) == [0, 1]
    bench.member.applied(2)
    bench.hear(request)
    assert owned(bench.beat()) == [0]


def test_reported_partition_is_owned_in_heartbeats_before_it_is_applied() -> None:
    """Else the group takes it for given up, hands it on, and the application takes it nevertheless."""
    bench = Bench()
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [1, 2])
    bench.polled()
    bench.now_ms += INTERVAL_MS
    fail(bench.beat(), ConnectionLost("gone"), bench.now_ms)
    bench.now_ms += 100
    request = bench.beat()
    assert owned(request) == [0, 1, 2]
    bench.hear(request)
    bench.member.applied(2)
    assert owned(bench.beat()) == [1, 2]


def test_a_newer_target_waits_until_the_change_before_is_applied() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    bench.polled()
    bench.now_ms = 2 * INTERVAL_MS
    bench.hear(bench.beat(), [2])
    bench.polled()
    assert [change.number for change in bench.changes()] == [2]
    bench.member.applied(2)
    bench.polled()
    assert bench.changes()[-1] == shared(3, T2)


def test_the_same_assignment_again_is_no_change_but_is_acknowledged() -> None:
    bench = Bench()
    bench.joined(0, 1)
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [1, 0])
    request = bench.beat()
    assert owned(request) == [0, 1]
    assert said(request).subscribed_topic_names is None
    bench.hear(request)
    assert bench.polled() == []
    assert bench.changes() == []


def test_partition_assigned_and_revoked_before_it_was_reported_is_acknowledged() -> None:
    """The coordinator waits for that word, and others for the partition."""
    bench = Bench()
    bench.start()
    bench.hear(bench.beat(), [])
    bench.polled()
    bench.now_ms = INTERVAL_MS
    bench.hear(bench.beat(), [0])
    bench.now_ms += INTERVAL_MS
    bench.hear(bench.beat(), [])
    bench.polled()
    bench.member.applied(1)
    assert owned(bench.beat()) == []
    assert [change.owned for change in bench.changes()] == [()]


def test_a_topic_that_was_made_anew_is_another_one_and_the_application_is_told_so() -> None:
    bench = Bench()
    bench.joined(0)
    bench.client.know(topic("t", [1, 1, 1], topic_id=OTHER_ID))
    bench.now_ms += INTERVAL_MS
    bench.hear(bench.beat(), [])
    bench.polled()
    assert bench.changes() == [AssignmentChanged(2, (), topic_ids={"t": OTHER_ID})], "what goes is of a topic before"
    bench.apply()
    request = bench.beat()
    assert owned(request) == []
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    bench.answer(request, member_epoch=3, assignment=Assignment(topic_partitions=assigned))
    bench.polled()
    assert bench.changes()[-1] == AssignmentChanged(3, (T0,), topic_ids={"t": OTHER_ID})


def test_topics_that_are_known_by_id_alone_are_asked_for() -> None:
    bench = Bench()
    bench.start(Subscribe((), re.compile("t|u")))
    request = bench.beat()
    assert (said(request).subscribed_topic_names, said(request).subscribed_topic_regex) == ([], "t|u")
    assigned = [TopicPartitions(topic_id=each, partitions=[0]) for each in (OTHER_ID, TOPIC_ID)]
    bench.answer(request, member_epoch=1, assignment=Assignment(topic_partitions=assigned))
    [metadata] = bench.polled()
    assert isinstance(metadata.request, MetadataRequest)
    assert bench.changes() == [shared(1, T0)]
    assert GroupWaiting("waiting for the names of 1 assigned topics", WaitKind.METADATA) in bench.reports
    bench.member.applied(1)
    request = bench.beat()
    assert owned(request) == [0]
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    bench.hear(request)
    bench.polled()
    assert bench.changes()[-1] == shared(2, T0, TopicPartition("u", 0))


def given_an_unknown_topic(bench: Bench) -> Outgoing:
    """t-0 goes, partition 0 of a topic without a name comes; return the heartbeat that tells that t-0 is gone."""
    bench.joined(0)
    bench.now_ms = INTERVAL_MS
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    bench.answer(bench.beat(), member_epoch=2, assignment=Assignment(topic_partitions=assigned))
    [metadata] = bench.polled()
    bench.member.applied(2)
    telling = bench.beat()
    assert owned(telling) == []
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    return telling


def test_an_assignment_is_not_acknowledged_before_its_topics_have_names() -> None:
    bench = Bench()
    bench.start(Subscribe((), re.compile("u")))
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    bench.answer(bench.beat(), member_epoch=1, assignment=Assignment(topic_partitions=assigned))
    [metadata] = bench.polled()
    bench.member.applied(1)
    assert bench.polled() == []
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    bench.apply()
    assert owned(bench.beat()) == [0]


def test_partition_left_out_of_a_heartbeat_is_not_assigned_before_its_response() -> None:
    bench = Bench()
    telling = given_an_unknown_topic(bench)
    bench.polled()
    assert [change.owned for change in bench.changes()] == [()]
    bench.hear(telling)
    bench.polled()
    assert [change.owned for change in bench.changes()] == [(), (TopicPartition("u", 0),)]


def test_a_target_counts_no_more_when_a_heartbeat_was_not_answered() -> None:
    bench = Bench()
    fail(given_an_unknown_topic(bench), ConnectionLost("gone"), bench.now_ms)
    bench.now_ms += 100
    bench.hear(bench.beat(), [])
    bench.polled()
    assert [change.owned for change in bench.changes()] == [()]


def test_a_changed_subscription_is_told_at_once() -> None:
    bench = Bench()
    bench.joined(0)
    bench.member.subscribe(Subscribe(("t", "u")))
    request = bench.beat()
    assert (said(request).member_epoch, said(request).subscribed_topic_names) == (1, ["t", "u"])
    assert said(request).rebalance_timeout_ms == -1


def test_a_subscription_that_changes_while_a_heartbeat_is_under_way_is_told_right_after() -> None:
    bench = Bench()
    bench.start()
    request = bench.beat()
    bench.member.subscribe(Subscribe(("u",)))
    bench.hear(request, [0])
    assert said(bench.beat()).subscribed_topic_names == ["u"]
