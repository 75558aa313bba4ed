"""What groups leave in __consumer_offsets stays honest: after each request, the records of Kafka and of the sandbox.

Instants, and numbers that stand for the topics of a group, are replaced by words: each broker makes up its own.
"""

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

import pytest

from kctl.client.protocol.api.group_membership import SyncGroupRequestAssignment
from kctl.sandbox import ClusterSettings, Sandbox
from kctl.sandbox.record_walk import records_of
from tests.conformance.group_talk import PATIENCE_MS, GroupTalk
from tests.conformance.log_talk import OFFSETS, LogTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

PARTITIONS = 10
ASSIGNED = b"\0\0\0\0\0\1%s\0\0\0\4\0\0\0\0\0\0\0\1\0\0\0\2\0\0\0\3\xff\xff\xff\xff"
_MADE_UP = re.compile(rb"\x01\x00\x08.{8}", re.DOTALL)
"""A tagged number of 8 bytes: the hash of the topics of a group, and the instant of an assignment."""
_VERSION_OF_METADATA = re.compile(rb"(?<=none-such.{4}).{8}(?=now)", re.DOTALL)
_UUID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = re.compile(rb"\x00\x00\x01[\x90-\xff].{4}", re.DOTALL)

Records = list[bytes]


class GroupRecords:
    """The partition of __consumer_offsets that has a group, read to its end after each request."""

    def __init__(self, talk: GroupTalk) -> None:
        self.talk = talk
        self._log = LogTalk(talk.peers[0], talk.topic, lambda _: 0)
        self._ends = [self._log.offset_at(OFFSETS, index, -1) for index in range(PARTITIONS)]

    def new(self) -> Records:
        """Return the records that were appended since the last call."""
        found: Records = []
        for index, end in enumerate(self._ends):
            if self._log.offset_at(OFFSETS, index, -1) == end:
                continue
            for header, data in self._log.fetched(OFFSETS, index):
                if header.base_offset >= end:
                    found += [self._hide(one.content) for one in records_of(header, data)]
                    self._ends[index] = header.last_offset + 1
        return found

    def until(self, count: int) -> Records:
        """Return the new records once there are that many: Kafka looks patterns up after its response."""
        found: Records = []

        def are_there() -> bool:
            found.extend(self.new())
            return len(found) >= count

        wait_until(are_there, PATIENCE_MS, f"{count} records")
        return found

    def _hide(self, content: bytes) -> bytes:
        hidden = _MADE_UP.sub(b"made up", content).replace(self.talk.topic_id, b"the topic's id")
        hidden = _INSTANT.sub(b"now", _UUID.sub(b"made up", hidden))
        return _VERSION_OF_METADATA.sub(b"made up", hidden)


def _in_order(records: Records) -> Records:
    """Return records with neighbours of one type sorted: members are in the order of a hash table in Kafka."""
    by_type = groupby(records, key=lambda content: content[1:3])
    return [content for _, neighbours in by_type for content in sorted(neighbours)]


def _consumer_group(talk: GroupTalk) -> Iterator[Any]:
    yield talk.beat("m1", 0, server_assignor="uniform")
    yield talk.beat("m1", 2, [0, 1, 2, 3])
    yield talk.beat("m1", 2, rack_id="r")
    yield talk.commit("m1", 2)
    yield talk.beat("m2", 0)
    yield talk.beat("m2", 3, [])
    yield talk.beat("m1", 2, [0, 1, 2, 3])
    yield talk.beat("m1", 2, [0, 1])
    yield talk.beat("m1", 3, [0, 1])
    yield talk.beat("m2", 3)
    yield talk.beat("m2", -1)
    yield talk.beat("m1", 3)
    yield talk.beat("m1", 4, subscribed_topic_names=[talk.topic, "x"])
    yield talk.beat("m1", -1)
    yield talk.beat("m1", -1)
    yield talk.delete()


def _static_members(talk: GroupTalk) -> Iterator[Any]:
    yield talk.beat("m1", 0, instance_id="a")
    yield talk.beat("m1", -2, instance_id="a")
    yield talk.beat("m2", 0, instance_id="a")
    yield talk.beat("m2", 2, [0, 1, 2, 3], instance_id="a")
    yield talk.beat("m2", -1, instance_id="a")


def _patterns(talk: GroupTalk) -> Iterator[Any]:
    yield talk.beat("m1", 0)
    yield talk.beat("m1", 2, subscribed_topic_names=[], subscribed_topic_regex="none-such")
    yield talk.beat("m1", -1)


def _classic_member_beside(talk: GroupTalk) -> Iterator[Any]:
    first, _ = talk.join()
    yield talk.join(first)[1]
    assignments = [
        SyncGroupRequestAssignment(
            member_id=first, assignment=ASSIGNED % (len(talk.topic).to_bytes(2, "big") + talk.topic.encode())
        )
    ]
    yield talk.sync(first, 1, assignments=assignments)
    yield talk.beat("z", 0)
    yield talk.heartbeat(first, 1)
    yield talk.join(first)[1]
    yield talk.sync(first, 2)
    yield talk.beat("z", -1)
    yield talk.leave((first, None))


SCENARIOS = (_consumer_group, _static_members, _patterns, _classic_member_beside)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_records_after_each_request_are_those_of_kafka(
    kafka_impatient: KafkaCluster, scenario: Callable[[GroupTalk], Iterator[Any]]
) -> None:
    topic = kafka_impatient.create_topic(partitions=4)
    host, _, port = kafka_impatient.bootstrap().partition(",")[0].rpartition(":")
    settings = ClusterSettings(offsets_topic_num_partitions=PARTITIONS)
    sandbox = Sandbox(nodes=1, topics={topic: 4}, settings=settings)
    with sandbox.serve() as served, Peer((host, int(port))) as their_peer, Peer(served.listens_on(1)) as our_peer:
        theirs, ours = (GroupRecords(GroupTalk([peer], topic)) for peer in (their_peer, our_peer))
        for expected, outcome in zip(scenario(theirs.talk), scenario(ours.talk), strict=True):
            assert outcome == expected
            own = ours.new()
            assert _in_order(theirs.until(len(own))) == _in_order(own), expected
        assert theirs.new() == []
