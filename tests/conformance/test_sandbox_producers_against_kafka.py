"""What a partition knows of its producers: the same sequences get the same answers from the sandbox and from Kafka.

The broker forgets producers after 3 s, and ends overdue transactions several times a second.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from kctl.client.clock import SystemClock
from kctl.client.protocol.api.partition_offsets import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from kctl.client.protocol.api.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from kctl.sandbox import Sandbox
from kctl.sandbox.server import ServedSandbox
from tests.conformance.transaction_talk import NAMES, PATIENCE_MS, Held, Outcome, TransactionTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.broker_defaults import broker_default
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until
from tests.unit.sandbox.scenario import batch


@pytest.fixture(scope="module")
def forgetful(kafka_impatient: KafkaCluster) -> Iterator[KafkaCluster]:
    """One node of the newest Kafka that forgets producers soon."""
    with broker_default(kafka_impatient, "producer.id.expiration.ms", "3000"):
        yield kafka_impatient


class Side(NamedTuple):
    """One of the two that are compared."""

    talk: TransactionTalk
    expire: Callable[[], None]
    """Have producers without a transaction forgotten, and return when they are."""


def _send(talk: TransactionTalk, held: Held, sequence: int, count: int = 1, **more: Any) -> Outcome:
    records = batch(
        *[b"v"] * count, timestamps_ms=[SystemClock().wall_ms()] * count, producer=(*held, sequence), **more
    )
    data = [PartitionProduceData(index=0, records=records)]
    request = ProduceRequest(
        acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=talk.topic, partition_data=data)]
    )
    answer = talk.call(request, ProduceResponse, 9).responses[0].partition_responses[0]
    return NAMES[answer.error_code], answer.base_offset


def _delete_records(talk: TransactionTalk, offset: int, partition: int = 0) -> Outcome:
    asked = [DeleteRecordsPartition(partition_index=partition, offset=offset)]
    request = DeleteRecordsRequest(timeout_ms=5_000, topics=[DeleteRecordsTopic(name=talk.topic, partitions=asked)])
    got = talk.call(request, DeleteRecordsResponse, 2).topics[0].partitions[0]
    return NAMES[got.error_code], got.low_watermark


def _repetitions(side: Side) -> Iterator[Outcome]:
    talk = side.talk
    for sequence in range(7):
        yield f"batch {sequence}", _send(talk, (7, 0), 2 * sequence, 2)
    for sequence in range(7):
        yield f"batch {sequence} again", _send(talk, (7, 0), 2 * sequence, 2)
    yield "half of one", _send(talk, (7, 0), 12)
    yield "one and a half", _send(talk, (7, 0), 12, 3)
    yield "two as one", _send(talk, (7, 0), 10, 4)
    yield "the next", _send(talk, (7, 0), 14)
    yield "a gap", _send(talk, (7, 0), 16)
    yield "no sequence", _send(talk, (7, 0), -1)
    yield "no epoch", _send(talk, (7, -1), 15)
    yield "known", talk.producers()


def _epochs(side: Side) -> Iterator[Outcome]:
    talk = side.talk
    yield "first", _send(talk, (7, 3), 40)
    yield "older", _send(talk, (7, 2), 0)
    yield "newer, not at 0", _send(talk, (7, 4), 41)
    yield "newer", _send(talk, (7, 4), 0)
    yield "newer again", _send(talk, (7, 4), 0)
    yield "a repetition of the older", _send(talk, (7, 3), 40)
    yield "much newer", _send(talk, (7, 32_767), 0)
    yield "known", talk.producers()
    yield "to the end of sequences", _send(talk, (8, 0), 2**31 - 2, 2)
    yield "around", _send(talk, (8, 0), 0)
    yield "across", _send(talk, (9, 0), 2**31 - 1, 3)
    yield "behind", _send(talk, (9, 0), 2)
    yield "across again", _send(talk, (9, 0), 2**31 - 1, 3)
    yield "all known", talk.producers()


def _retention(side: Side) -> Iterator[Outcome]:
    talk = side.talk
    for sequence in range(3):
        yield f"batch {sequence}", _send(talk, (7, 0), sequence)
    for offset in (9, -2, 2, 1, -1):
        yield f"deleted below {offset}", _delete_records(talk, offset)
    yield "deleted of an unknown partition", _delete_records(talk, 0, 9)
    yield "a repetition of what is gone", _send(talk, (7, 0), 1)
    yield "a gap", _send(talk, (7, 0), 5)
    yield "known", talk.producers()
    yield "the next", _send(talk, (7, 0), 3)
    side.expire()
    yield "forgotten", talk.producers()
    yield "anywhere", _send(talk, (7, 0), 70)
    side.expire()
    yield "an older epoch starts, too", _send(talk, (7, 0), 5)


def _expiry_in_transactions(side: Side) -> Iterator[Outcome]:
    talk = side.talk
    held = talk.begin()
    yield "from 0", talk.produce(held, 0, version=12)
    talk.level = 2
    held = talk.ended(held)
    side.expire()
    yield "version 2 from 1", talk.produce(held, 1, version=12)
    yield "version 1 from 1", talk.produce(held, 1, version=11)
    yield "version 2 from 0", talk.produce(held, 0, version=12)
    held = talk.ended(held)
    side.expire()
    yield "added", talk.settled(lambda: talk.add(held))
    yield "version 1 from 5", talk.produce(held, 5, version=11)
    yield "known", talk.producers()


def _timeouts(side: Side) -> Iterator[Outcome]:
    talk = side.talk
    for version in (11, 12):
        suffix = f"-{version}"
        held: list[Held] = []

        def is_given(suffix: str = suffix, held: list[Held] = held) -> bool:
            code, given = talk.init(suffix, timeout_ms=300)
            held.append(given)
            return code == "NONE"

        wait_until(is_given, PATIENCE_MS, "a producer id")
        one = held[-1]
        if version == 11:
            yield "added", talk.add(one, suffix=suffix)
        yield "written", talk.produce(one, 0, suffix=suffix, version=version)
        wait_until(
            lambda suffix=suffix: talk.describe(suffix)[1][0] == "CompleteAbort",  # type: ignore[misc]  # a default has no type for mypy
            PATIENCE_MS,
            "the end of a transaction's time",
        )
        yield "described", talk.describe(suffix)
        yield "producers", talk.producers()
        yield "fetched", talk.fetch()
        yield "written late", talk.produce(one, 1, suffix=suffix, version=version)
        yield "added late", talk.add(one, suffix=suffix)
        for end_version in (4, 5):
            yield f"committed late {end_version}", talk.shown(talk.end(one, suffix=suffix, version=end_version))
        yield "aborted late", talk.shown(talk.end(one, commit=False, suffix=suffix, version=5 if version == 12 else 4))
        talk.wait_until_complete(suffix)
        yield "goes on", talk.shown(talk.init(suffix, expected=one))
        yield "described at last", talk.describe(suffix)


def _talk(peer: Peer, topic: str) -> TransactionTalk:
    talk = TransactionTalk(peer, topic, 2)
    # Kafka counts from the timestamps of records until it forgets a producer.
    talk.stamp_ms = SystemClock().wall_ms
    return talk


def _of_kafka(peer: Peer, topic: str) -> Side:
    talk = _talk(peer, topic)

    def expire() -> None:
        wait_until(lambda: talk.producers()[1] == [], PATIENCE_MS, "that producers are forgotten")

    return Side(talk, expire)


def _of_sandbox(served: ServedSandbox, peer: Peer, topic: str) -> Side:
    sandbox = served.sandbox
    return Side(
        _talk(peer, topic),
        lambda: sandbox.expire_producers(topic, 0),
    )


@pytest.mark.parametrize("scenario", [_repetitions, _epochs, _retention, _expiry_in_transactions, _timeouts])
def test_outcomes_are_those_of_kafka(forgetful: KafkaCluster, scenario: Any) -> None:
    topic = forgetful.create_topic(partitions=3)
    host, _, port = forgetful.bootstrap().partition(",")[0].rpartition(":")
    with Peer((host, int(port))) as peer:
        kafka = list(scenario(_of_kafka(peer, topic)))
    with Sandbox(nodes=1, topics={topic: 3}).serve() as served, Peer(served.listens_on(1)) as peer:
        ours = list(scenario(_of_sandbox(served, peer, topic)))
    assert ours == kafka
