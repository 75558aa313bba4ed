"""Groups that change protocols while members of both are in them: the sandbox does as the newest Kafka does."""

import struct
from collections.abc import Iterator
from typing import Any

import pytest

from kctl.client.protocol import codec
from kctl.client.protocol.api.consumer_protocol_assignment import ConsumerProtocolAssignment
from kctl.client.protocol.api.consumer_protocol_assignment import TopicPartition as Assigned
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.api.consumer_protocol_subscription import TopicPartition as Owned
from kctl.client.protocol.api.group_membership import JoinGroupRequestProtocol, SyncGroupRequestAssignment
from tests.conformance.group_talk import GroupTalk, outcomes_of_both
from tests.support.kafka.cluster import KafkaCluster


def _offers(topic: str, owned: list[int] | None = None, name: str = "range") -> list[JoinGroupRequestProtocol]:
    partitions = [Owned(topic=topic, partitions=owned)] if owned else []
    said = ConsumerProtocolSubscription(topics=[topic], owned_partitions=partitions, user_data=None)
    return [JoinGroupRequestProtocol(name=name, metadata=struct.pack(">h", 3) + codec.encode(said, 3))]


def _assignment(topic: str, partitions: list[int], user_data: bytes | None = None) -> bytes:
    said = ConsumerProtocolAssignment(
        assigned_partitions=[Assigned(topic=topic, partitions=partitions)], user_data=user_data
    )
    return struct.pack(">h", 3) + codec.encode(said, 3)


def _alone(talk: GroupTalk, user_data: bytes | None = None) -> str:
    """Let one classic member have all partitions in generation 1."""
    offers = _offers(talk.topic)
    first, _ = talk.join(protocols=offers)
    talk.join(first, protocols=offers)
    given = _assignment(talk.topic, [0, 1, 2, 3], user_data)
    talk.sync(first, 1, assignments=[SyncGroupRequestAssignment(member_id=first, assignment=given)])
    return first


def _look(talk: GroupTalk) -> list[Any]:
    """Describe the group; a classic member's id is made up by the broker."""
    _, (message, epochs, members) = talk.describe_consumers()
    named = sorted([[talk.label(one[0][0]), *one[0][1:]], *one[1:]] for one in members)
    return [message, epochs, named, talk.list(), talk.describe()]


def _up_and_down(talk: GroupTalk) -> Iterator[Any]:
    first = _alone(talk)
    yield "before", [talk.heartbeat(first, 1), talk.list()]
    yield "a consumer comes", talk.beat("m2", 0)
    yield "mixed", _look(talk)
    yield "the classic one hears it", [talk.heartbeat(first, 1), talk.heartbeat(first, 2), talk.heartbeat("m2", 2)]
    yield "it may not sync before it joins", [talk.sync(first, 1), talk.sync("m2", 2)]
    yield "commits", [talk.commit(first, epoch, version=version) for epoch in (1, 2) for version in (8, 9)]
    yield "joins with all", talk.join(first, protocols=_offers(talk.topic, [0, 1, 2, 3]))[1]
    yield "it is to give two up", [talk.heartbeat(first, 1), talk.sync(first, 1), _look(talk)]
    yield "the consumer waits", talk.beat("m2", 2, [])
    yield "joins with two", talk.join(first, protocols=_offers(talk.topic, [0, 1]))[1]
    yield "settled", [talk.sync(first, 2), talk.heartbeat(first, 2), _look(talk)]
    yield "wrong words", [talk.sync(first, 2, protocol_name="x"), talk.sync(first, 2, protocol_type="x")]
    yield "the consumer gets two", [talk.beat("m2", 2, []), talk.beat("m2", 2, [2, 3]), _look(talk)]
    yield "commits then", [talk.commit(first, epoch) for epoch in (1, 2, 3)]
    yield "committed", [talk.committed(), talk.committed("m2", 2)]
    yield "no other protocol", talk.join(first, protocols=_offers(talk.topic, [0, 1], "sticky"))[1]
    yield "the consumer goes", talk.beat("m2", -1)
    yield "classic again", _look(talk)
    yield "is called", [talk.heartbeat(first, 2), talk.heartbeat(first, 3), talk.commit(first, 2)]
    yield "joins", talk.join(first, protocols=_offers(talk.topic, [0, 1]))[1]
    given = [SyncGroupRequestAssignment(member_id=first, assignment=_assignment(talk.topic, [0, 1, 2, 3]))]
    yield "has all", [talk.sync(first, 3, assignments=given), talk.heartbeat(first, 3), talk.list()]
    yield "goes", [talk.leave((first, None)), talk.delete()]


def _newcomers(talk: GroupTalk) -> Iterator[Any]:
    yield "a consumer group", [talk.beat("m1", 0), talk.beat("m1", 2, [0, 1, 2, 3])]
    yield "nobody knows it", [talk.heartbeat("nobody", 1), talk.sync("nobody", 1)]
    first, outcome = talk.join(protocols=_offers(talk.topic))
    yield "a classic member needs an id", outcome
    yield "joins", talk.join(first, protocols=_offers(talk.topic))[1]
    yield "has nothing yet", [talk.sync(first, 3), talk.heartbeat(first, 3), _look(talk)]
    yield "the consumer gives two up", [talk.beat("m1", 2, [0, 1, 2, 3]), talk.beat("m1", 2, [0, 1])]
    yield "they are free", [talk.heartbeat(first, 3), _look(talk)]
    yield "joins for them", talk.join(first, protocols=_offers(talk.topic))[1]
    yield "has two", [talk.sync(first, 3), talk.heartbeat(first, 3), talk.beat("m1", 3)]
    yield "not the consumer's protocol", talk.join(protocols=_offers(talk.topic), protocol_type="connect")[1]
    second, _ = talk.join(protocols=_offers(talk.topic))
    yield "another", talk.join(second, protocols=_offers(talk.topic))[1]
    yield "the first hears it", [talk.heartbeat(first, 3), talk.heartbeat(second, 4)]
    yield "the classic ones go", talk.leave((first, None), (second, None), ("x", None))
    yield "alone", [talk.beat("m1", 3, [0, 1]), talk.beat("m1", 5), _look(talk)]
    yield "the consumer goes", [talk.beat("m1", -1), _look(talk), talk.delete()]


def _sticky(talk: GroupTalk) -> Iterator[Any]:
    said = ConsumerProtocolSubscription(topics=[talk.topic], user_data=b"\0\0\0\1")
    offers = [JoinGroupRequestProtocol(name="sticky", metadata=struct.pack(">h", 1) + codec.encode(said, 1))]
    first, _ = talk.join(protocols=offers)
    talk.join(first, protocols=offers)
    given = [SyncGroupRequestAssignment(member_id=first, assignment=_assignment(talk.topic, [0, 1, 2, 3]))]
    talk.sync(first, 1, assignments=given, protocol_name="sticky")
    yield "data in a subscription", [talk.beat("m2", 0), talk.heartbeat(first, 1), _look(talk)]


def _refusals(talk: GroupTalk) -> Iterator[Any]:
    first = _alone(talk, user_data=b"x")
    yield "an assignor's own data", [talk.beat("m2", 0), talk.list(), talk.heartbeat(first, 1)]
    yield "leave", talk.leave((first, None))
    offers = [JoinGroupRequestProtocol(name="range", metadata=b"x")]
    first, _ = talk.join(protocols=offers)
    yield "join", talk.join(first, protocols=offers)[1][0]
    yield "not synced", [talk.beat("m2", 0), talk.list()]


@pytest.mark.parametrize("scenario", [_up_and_down, _newcomers, _sticky, _refusals])
def test_outcomes_are_those_of_kafka(kafka_impatient: KafkaCluster, scenario: Any) -> None:
    ours, theirs = outcomes_of_both(kafka_impatient, scenario)
    assert [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]] == []
