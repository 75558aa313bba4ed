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
from kctl.client.protocol.api.consumer_groups import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    TopicPartitions,
)
from kctl.client.protocol.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from tests.unit.consumer.fakes import T0, T2, TOPIC_ID, answer, fail, topic
from tests.unit.consumer.group.heartbeat_scenario import (
    INTERVAL_MS,
    MEMBER_ID,
    OTHER_ID,
    TOPICS,
    Scenario,
    owned,
    said,
    shared,
)

# --- joining --------------------------------------------------------------------------------------------------------


def test_member_joins_when_the_application_polls() -> None:
    scenario = Scenario()
    scenario.member.subscribe(TOPICS)
    assert scenario.polled() == []
    scenario.member.poll_began()
    request = scenario.beat()
    assert said(request).member_epoch == 0
    assert said(request).member_id == MEMBER_ID
    assert said(request).subscribed_topic_names == ["t"]
    assert said(request).rebalance_timeout_ms == 60_000
    assert owned(request) == []
    assert scenario.member.identity is None
    assert list(scenario.member.topics) == ["t"]


def test_the_assignment_is_reported_and_acknowledged_at_once_when_applied() -> None:
    scenario = Scenario()
    scenario.start()
    scenario.hear(scenario.beat(), [0, 2])
    assert scenario.polled() == []
    assert MemberChanged(GroupMetadata("g", 1, MEMBER_ID)) in scenario.reports
    assert scenario.changes() == [shared(1, T0, T2)]
    assert scenario.member.identity == MemberIdentity(MEMBER_ID, 1, None, 0)
    scenario.member.applied(1)
    request = scenario.beat()
    assert (said(request).member_epoch, owned(request)) == (1, [0, 2])
    assert said(request).subscribed_topic_names is None


def test_an_empty_first_assignment_is_reported_too() -> None:
    scenario = Scenario()
    scenario.start()
    scenario.hear(scenario.beat(), [])
    scenario.polled()
    assert scenario.changes() == [AssignmentChanged(1, ())]
    assert scenario.reports[-1] == GroupWaiting("group g has no partition for this member yet", WaitKind.NO_SHARE)


def test_heartbeats_come_in_the_brokers_interval_from_sending_to_sending() -> None:
    scenario = Scenario()
    scenario.joined(0)
    assert scenario.deadline_at_ms == INTERVAL_MS
    scenario.now_ms = INTERVAL_MS - 1
    assert scenario.polled() == []
    scenario.now_ms = INTERVAL_MS
    request = scenario.beat()
    assert said(request) == ConsumerGroupHeartbeatRequest(group_id="g", member_id=MEMBER_ID, member_epoch=1)
    scenario.now_ms += 300
    scenario.hear(request)
    assert scenario.deadline_at_ms == 2 * INTERVAL_MS


def test_one_heartbeat_at_a_time() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.beat()
    scenario.now_ms += 2 * INTERVAL_MS
    assert scenario.polled() == []


def test_a_broker_that_wants_no_interval_does_not_make_a_storm() -> None:
    scenario = Scenario()
    scenario.start()
    scenario.answer(scenario.beat(), member_epoch=1, heartbeat_interval_ms=0)
    assert scenario.polled() == []
    assert scenario.deadline_at_ms == 100


# --- reconciliation -------------------------------------------------------------------------------------------------


def test_revoked_partition_stays_in_the_heartbeats_until_it_is_applied() -> None:
    scenario = Scenario()
    scenario.joined(0, 1)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [0])
    assert scenario.polled() == []
    assert scenario.changes() == [shared(2, T0)]
    scenario.now_ms = 2 * INTERVAL_MS
    request = scenario.beat()
    assert owned(request) is None
    fail(request, ConnectionLost("gone"), scenario.now_ms)
    scenario.now_ms += 100
    request = scenario.beat()
    assert owned(request) == [0, 1]
    scenario.member.applied(2)
    scenario.hear(request)
    assert owned(scenario.beat()) == [0]


def test_reported_partition_is_owned_in_heartbeats_before_it_is_applied() -> None:
    """Else the group takes it for given up, hands it on, and the application takes it nevertheless."""
    scenario = Scenario()
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [1, 2])
    scenario.polled()
    scenario.now_ms += INTERVAL_MS
    fail(scenario.beat(), ConnectionLost("gone"), scenario.now_ms)
    scenario.now_ms += 100
    request = scenario.beat()
    assert owned(request) == [0, 1, 2]
    scenario.hear(request)
    scenario.member.applied(2)
    assert owned(scenario.beat()) == [1, 2]


def test_a_newer_target_waits_until_the_change_before_is_applied() -> None:
    scenario = Scenario()
    scenario.joined(0, 1)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [0])
    scenario.polled()
    scenario.now_ms = 2 * INTERVAL_MS
    scenario.hear(scenario.beat(), [2])
    scenario.polled()
    assert [change.number for change in scenario.changes()] == [2]
    scenario.member.applied(2)
    scenario.polled()
    assert scenario.changes()[-1] == shared(3, T2)


def test_the_same_assignment_again_is_no_change_but_is_acknowledged() -> None:
    scenario = Scenario()
    scenario.joined(0, 1)
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [1, 0])
    request = scenario.beat()
    assert owned(request) == [0, 1]
    assert said(request).subscribed_topic_names is None
    scenario.hear(request)
    assert scenario.polled() == []
    assert scenario.changes() == []


def test_partition_assigned_and_revoked_before_it_was_reported_is_acknowledged() -> None:
    """The coordinator waits for that word, and others for the partition."""
    scenario = Scenario()
    scenario.start()
    scenario.hear(scenario.beat(), [])
    scenario.polled()
    scenario.now_ms = INTERVAL_MS
    scenario.hear(scenario.beat(), [0])
    scenario.now_ms += INTERVAL_MS
    scenario.hear(scenario.beat(), [])
    scenario.polled()
    scenario.member.applied(1)
    assert owned(scenario.beat()) == []
    assert [change.owned for change in scenario.changes()] == [()]


def test_a_topic_that_was_made_anew_is_another_one_and_the_application_is_told_so() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.client.know(topic("t", [1, 1, 1], topic_id=OTHER_ID))
    scenario.now_ms += INTERVAL_MS
    scenario.hear(scenario.beat(), [])
    scenario.polled()
    assert scenario.changes() == [AssignmentChanged(2, (), topic_ids={"t": OTHER_ID})], "what goes is of a topic before"
    scenario.apply()
    request = scenario.beat()
    assert owned(request) == []
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    scenario.answer(request, member_epoch=3, assignment=Assignment(topic_partitions=assigned))
    scenario.polled()
    assert scenario.changes()[-1] == AssignmentChanged(3, (T0,), topic_ids={"t": OTHER_ID})


def test_topics_that_are_known_by_id_alone_are_asked_for() -> None:
    scenario = Scenario()
    scenario.start(Subscribe((), re.compile("t|u")))
    request = scenario.beat()
    assert (said(request).subscribed_topic_names, said(request).subscribed_topic_regex) == ([], "t|u")
    assigned = [TopicPartitions(topic_id=each, partitions=[0]) for each in (OTHER_ID, TOPIC_ID)]
    scenario.answer(request, member_epoch=1, assignment=Assignment(topic_partitions=assigned))
    [metadata] = scenario.polled()
    assert isinstance(metadata.request, MetadataRequest)
    assert scenario.changes() == [shared(1, T0)]
    assert GroupWaiting("waiting for the names of 1 assigned topics", WaitKind.METADATA) in scenario.reports
    scenario.member.applied(1)
    request = scenario.beat()
    assert owned(request) == [0]
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    scenario.hear(request)
    scenario.polled()
    assert scenario.changes()[-1] == shared(2, T0, TopicPartition("u", 0))


def given_an_unknown_topic(scenario: Scenario) -> Outgoing:
    """t-0 goes, partition 0 of a topic without a name comes; return the heartbeat that tells that t-0 is gone."""
    scenario.joined(0)
    scenario.now_ms = INTERVAL_MS
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    scenario.answer(scenario.beat(), member_epoch=2, assignment=Assignment(topic_partitions=assigned))
    [metadata] = scenario.polled()
    scenario.member.applied(2)
    telling = scenario.beat()
    assert owned(telling) == []
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    return telling


def test_an_assignment_is_not_acknowledged_before_its_topics_have_names() -> None:
    scenario = Scenario()
    scenario.start(Subscribe((), re.compile("u")))
    assigned = [TopicPartitions(topic_id=OTHER_ID, partitions=[0])]
    scenario.answer(scenario.beat(), member_epoch=1, assignment=Assignment(topic_partitions=assigned))
    [metadata] = scenario.polled()
    scenario.member.applied(1)
    assert scenario.polled() == []
    answer(metadata, MetadataResponse(topics=[MetadataResponseTopic(topic_id=OTHER_ID, name="u")]))
    scenario.apply()
    assert owned(scenario.beat()) == [0]


def test_partition_left_out_of_a_heartbeat_is_not_assigned_before_its_response() -> None:
    scenario = Scenario()
    telling = given_an_unknown_topic(scenario)
    scenario.polled()
    assert [change.owned for change in scenario.changes()] == [()]
    scenario.hear(telling)
    scenario.polled()
    assert [change.owned for change in scenario.changes()] == [(), (TopicPartition("u", 0),)]


def test_a_target_counts_no_more_when_a_heartbeat_was_not_answered() -> None:
    scenario = Scenario()
    fail(given_an_unknown_topic(scenario), ConnectionLost("gone"), scenario.now_ms)
    scenario.now_ms += 100
    scenario.hear(scenario.beat(), [])
    scenario.polled()
    assert [change.owned for change in scenario.changes()] == [()]


def test_a_changed_subscription_is_told_at_once() -> None:
    scenario = Scenario()
    scenario.joined(0)
    scenario.member.subscribe(Subscribe(("t", "u")))
    request = scenario.beat()
    assert (said(request).member_epoch, said(request).subscribed_topic_names) == (1, ["t", "u"])
    assert said(request).rebalance_timeout_ms == -1


def test_a_subscription_that_changes_while_a_heartbeat_is_under_way_is_told_right_after() -> None:
    scenario = Scenario()
    scenario.start()
    request = scenario.beat()
    scenario.member.subscribe(Subscribe(("u",)))
    scenario.hear(request, [0])
    assert said(scenario.beat()).subscribed_topic_names == ["u"]
