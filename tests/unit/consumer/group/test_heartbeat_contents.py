"""HeartbeatContents: everything at first and after a failure, then only what changed."""

import re

import pytest

from kctl.client.consumer.group.events import Subscribe
from kctl.client.consumer.group.heartbeat_contents import HeartbeatContents, Slots, broker_pattern
from kctl.client.errors import LocalProtocolError
from kctl.client.protocol.api.consumer_groups import ConsumerGroupHeartbeatRequest, TopicPartitions
from tests.unit.consumer.fakes import TOPIC_ID, config

TOPICS = Subscribe(("u", "t"))
OWNED: Slots = {TOPIC_ID: (0, 2)}


def contents(**properties: object) -> HeartbeatContents:
    return HeartbeatContents(config(group_protocol="consumer", **properties), "g", "m")


def said(told: HeartbeatContents, epoch: int, subscription: Subscribe, owned: Slots) -> ConsumerGroupHeartbeatRequest:
    """The next heartbeat, which is heard."""
    request, news = told.next(epoch, subscription, owned)
    told.confirm(news)
    return request


def test_the_first_says_everything_and_owns_nothing() -> None:
    told = contents(group_remote_assignor="uniform", client_rack="r1", max_poll_interval_ms=7000)
    assert said(told, 0, TOPICS, {}) == ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=0,
        rack_id="r1",
        rebalance_timeout_ms=7000,
        subscribed_topic_names=["t", "u"],
        server_assignor="uniform",
        topic_partitions=[],
    )


def test_the_next_says_nothing_unless_something_changed() -> None:
    told = contents()
    said(told, 0, TOPICS, {})
    assert not told.has_changes(TOPICS, {})
    assert said(told, 3, TOPICS, {}) == ConsumerGroupHeartbeatRequest(group_id="g", member_id="m", member_epoch=3)
    assert told.has_changes(TOPICS, OWNED)
    assert said(told, 3, TOPICS, OWNED) == ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        member_epoch=3,
        topic_partitions=[TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])],
    )
    assert said(told, 3, Subscribe(("t",)), OWNED) == ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=3, subscribed_topic_names=["t"]
    )
    assert not told.has_changes(Subscribe(("t",)), OWNED)


def test_fields_of_an_unanswered_heartbeat_are_sent_again() -> None:
    told = contents()
    said(told, 0, TOPICS, {})
    told.next(3, TOPICS, OWNED)
    assert told.has_changes(TOPICS, OWNED)
    told.forget()
    request = said(told, 3, TOPICS, OWNED)
    assert (request.member_epoch, request.subscribed_topic_names, request.rebalance_timeout_ms) == (
        3,
        ["t", "u"],
        300_000,
    )
    assert request.topic_partitions == [TopicPartitions(topic_id=TOPIC_ID, partitions=[0, 2])]


def test_a_pattern_is_for_the_broker_and_is_taken_back_when_topics_are_named() -> None:
    told = contents()
    request = said(told, 0, Subscribe((), re.compile("t.*")), {})
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == ([], "t.*")
    request = said(told, 1, TOPICS, {})
    assert (request.subscribed_topic_names, request.subscribed_topic_regex) == (["t", "u"], "")


def test_a_goodbye_is_for_good_or_for_now() -> None:
    assert contents().leave(keeps_place=False) == ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=-1
    )
    assert contents(group_instance_id="i").leave(keeps_place=True) == ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=-2, instance_id="i"
    )


def test_static_members_say_so_in_every_heartbeat() -> None:
    told = contents(group_instance_id="i")
    assert said(told, 0, TOPICS, {}).instance_id == "i"
    assert said(told, 1, TOPICS, {}).instance_id == "i"


def test_flags_are_written_into_the_pattern() -> None:
    assert broker_pattern(re.compile("a.b")) == "a.b"
    assert broker_pattern(re.compile("a.b", re.IGNORECASE | re.DOTALL)) == "(?is)a.b"
    with pytest.raises(LocalProtocolError, match="VERBOSE"):
        broker_pattern(re.compile("a b", re.VERBOSE))
