"""Transactions of the sandbox stay honest: the same raw requests get the same outcomes from it and from Kafka."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from kctl.client.protocol.api.consumer_groups import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kctl.client.protocol.api.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from kctl.client.protocol.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kctl.client.protocol.api.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kctl.sandbox import Sandbox
from tests.conformance.transaction_talk import NAMES, NOW_MS, PATIENCE_MS, Held, Outcome, TransactionTalk
from tests.loopback.sandbox.peer import Peer
from tests.support.kafka.cluster import KafkaCluster
from tests.support.kafka.waiting import wait_until

pytestmark = pytest.mark.nightly

# --- scenarios ------------------------------------------------------------------------------------------------------


def _identities(talk: TransactionTalk) -> Iterator[Outcome]:
    yield "nameless", talk.shown(_nameless(talk))
    for timeout_ms in (0, -1, 900_000, 900_001):
        yield f"timeout {timeout_ms}", talk.shown(talk.init("-t", timeout_ms=timeout_ms))
    first = talk.begin()
    yield "first", (talk.label(first[0]), first[1])
    again = talk.begin()
    yield "again", (talk.label(again[0]), again[1])
    yield "half of an identity", talk.shown(talk.init(expected=(again[0], -1)))
    yield "other half of an identity", talk.shown(talk.init(expected=(-1, 0)))
    yield "old epoch goes on", talk.shown(talk.init(expected=first))
    yield "old epoch goes on, as told before version 4", talk.shown(talk.init(expected=first, version=3))
    yield "goes on", talk.shown(talk.init(expected=again))
    yield "goes on, having missed the answer", talk.shown(talk.init(expected=again))
    yield "somebody else goes on", talk.shown(talk.init(expected=(again[0] + 500, 0)))
    yield "a new name goes on", talk.shown(talk.init("-new", expected=(again[0], 7)))
    yield "starts", talk.shown(talk.init())
    yield "misses it too late", talk.shown(talk.init(expected=again))
    yield "described", talk.describe()
    yield "unknown", talk.describe("-unknown")
    for name in ("", "Ongoing", "Empty", "Nope"):
        yield f"listed {name}", talk.list(state_filters=[name] if name else [])
    yield "listed by pattern", talk.list(transactional_id_pattern=f"{talk.name('')}-n.*")


def _nameless(talk: TransactionTalk) -> tuple[str, Held]:
    got = talk.call(InitProducerIdRequest(transactional_id="", transaction_timeout_ms=1), InitProducerIdResponse, 4)
    return NAMES[got.error_code], (got.producer_id, got.producer_epoch)


def _partitions(talk: TransactionTalk) -> Iterator[Outcome]:
    held = talk.begin()
    stranger, zombie, ahead = (held[0] + 500, 0), (held[0], held[1] - 1), (held[0], held[1] + 1)
    yield "of nothing", talk.add(held, suffix="-unknown")
    yield "without a name", _nameless_add(talk, held)
    for what, who in (("stranger", stranger), ("zombie", zombie), ("ahead", ahead)):
        yield what, talk.add(who)
        yield f"{what} before version 2", talk.add(who, version=1)
        yield f"{what} is verified", talk.verify(who)
        yield f"offsets of a {what}", talk.add_offsets(who)
        yield f"offsets of a {what} before version 2", talk.add_offsets(who, version=1)
        yield f"end of a {what}", talk.shown(talk.end(who))
        yield f"end of a {what} before version 2", talk.shown(talk.end(who, version=1))
        yield f"end of a {what} before version 5", talk.shown(talk.end(who, version=4))
    yield "end of nothing", talk.shown(talk.end(held, suffix="-unknown"))
    yield "verified before", talk.verify(held)
    yield "verified before, by version 5", talk.verify(held, version=5)
    yield "added with an unknown one", talk.add(held, 0, 9)
    yield "verified with an unknown one", talk.verify(held, 0, 9)
    yield "described before", talk.describe()
    yield "added", talk.add(held, 0, 1)
    yield "added again", talk.add(held, 0)
    yield "verified", talk.verify(held, 0, 2)
    yield "added by a broker", talk.verify(held, 2, only=False)
    yield "described", talk.describe()
    yield "listed", talk.list(state_filters=["Ongoing", "Nope"])
    yield "listed by duration", talk.list(duration_filter=600_000)
    yield "nobody wrote", talk.producers()
    yield "committed", talk.shown(talk.end(held))
    talk.wait_until_complete()
    yield "fetched", talk.fetch()
    yield "all wrote", talk.producers()


def _nameless_add(talk: TransactionTalk, held: Held) -> Any:
    topics = [AddPartitionsToTxnTopic(name=talk.topic, partitions=[0])]
    request = AddPartitionsToTxnRequest(
        v3_and_below_producer_id=held[0], v3_and_below_producer_epoch=held[1], v3_and_below_topics=topics
    )
    got = talk.call(request, AddPartitionsToTxnResponse, 3).results_by_topic_v3_and_below[0].results_by_partition[0]
    return NAMES[got.partition_error_code]


def _writing(talk: TransactionTalk) -> Iterator[Outcome]:
    held = talk.begin()
    if talk.level == 1:
        for version in (10, 11):
            yield f"not added, version {version}", talk.produce(held, 0, version=version)
        yield "added", talk.add(held)
    yield "without a name", talk.produce(held, 0, suffix=None)
    yield "by another name", talk.produce(held, 0, suffix="-unknown")
    yield "a stranger", talk.produce((held[0] + 500, 0), 0)
    yield "a zombie", talk.produce((held[0], held[1] - 1), 0)
    yield "from the middle", talk.produce(held, 3)
    yield "first", talk.produce(held, 0, count=2)
    yield "repeated", talk.produce(held, 0, count=2)
    yield "a gap", talk.produce(held, 3)
    yield "outside of it", talk.produce(held, 2, suffix=None, attributes=0)
    if talk.level == 1:
        yield "added, too", talk.add(held, 1)
    yield "from the middle elsewhere", talk.produce(held, 3, partition=1)
    yield "another epoch", talk.produce((held[0], held[1] + 1), 0)
    yield "open", talk.producers()
    for isolation in (0, 1):
        yield f"fetched {isolation}", talk.fetch(isolation=isolation)
        yield f"fetched the end {isolation}", talk.fetch(2, isolation=isolation)
        yield f"fetched behind {isolation}", talk.fetch(3, isolation=isolation)
        for timestamp in (-1, -2, -3, NOW_MS, NOW_MS + 1):
            yield f"offset at {timestamp}, {isolation}", talk.list_offset(timestamp, isolation)
    yield "described", talk.describe()
    held = talk.ended(held)
    yield "fetched at the end", talk.fetch()
    yield "closed", talk.producers()
    for timestamp in (-1, -3, NOW_MS):
        yield f"offset at {timestamp}", talk.list_offset(timestamp)
    yield "a late batch", talk.produce(held, 2, version=10)
    yield "plainly", talk.produce(held, 0 if talk.level == 2 else 2, suffix=None, attributes=0)
    yield "after all", talk.producers()


def _aborting(talk: TransactionTalk) -> Iterator[Outcome]:
    one, two = talk.begin(), talk.begin("-2")

    def write(held: Held, sequence: int, suffix: str = "") -> Outcome:
        if talk.level == 1:
            talk.settled(lambda: talk.add(held, suffix=suffix))
        return talk.settled(lambda: talk.produce(held, sequence, suffix=suffix, count=2))  # type: ignore[no-any-return]  # TransactionTalk gives Any, for answers of any shape

    yield "one", write(one, 0)
    yield "two", write(two, 0, "-2")
    yield "one more", write(one, 2)
    yield "both open", talk.fetch()
    after = talk.ended(one, commit=False)
    yield "one aborted", talk.fetch()
    yield "seen by others", talk.fetch(isolation=0)
    yield "goes on", write(after, 4 if talk.level == 1 else 0)
    yield "fetched", talk.fetch()
    yield "two ends", talk.end(two, commit=False, suffix="-2")[0]
    talk.wait_until_complete("-2")
    yield "both aborted", talk.fetch()
    yield "a part", talk.fetch(2, max_bytes=100)
    yield "a later part", talk.fetch(6)
    after = talk.ended(after)
    yield "committed", talk.fetch()
    yield "behind all", talk.fetch(7)
    yield "end", talk.list_offset(-1)
    yield "states", (talk.describe(), talk.describe("-2"))


def _ending(talk: TransactionTalk) -> Iterator[Outcome]:
    held = talk.begin()
    yield "commit of nothing", talk.shown(talk.end(held))
    yield "abort of nothing", talk.shown(talk.end(held, commit=False))
    talk.wait_until_complete()
    yield "described", talk.describe()
    held = talk.begin()
    for commit in (True, False):
        yield "added", talk.settled(partial(talk.add, held))
        code, after = talk.end(held, commit)
        yield "ended", talk.shown((code, after))
        talk.wait_until_complete()
        yield "described", talk.describe()
        yield "the same again", talk.shown(talk.end(held, commit))
        yield "the opposite", talk.shown(talk.end(held, not commit))
        talk.wait_until_complete()
        if talk.level == 2:
            held = after
            yield "the next one, commit", talk.shown(talk.end(held))
            yield "the next one, abort", talk.shown(talk.end(held, commit=False))
            talk.wait_until_complete()
            yield "described then", talk.describe()
            held = talk.begin()
    yield "old words", talk.shown(talk.end(held, version=4))


def _fencing(talk: TransactionTalk) -> Iterator[Outcome]:
    held = talk.begin()
    if talk.level == 1:
        yield "added", talk.add(held)
    yield "written", talk.produce(held, 0)
    yield "another one starts", talk.shown(talk.init())
    code, other = talk.settled(talk.init)
    yield "another one has started", talk.shown((code, other))
    yield "fetched", talk.fetch()
    yield "producers", talk.producers()
    yield "described", talk.describe()
    yield "the first writes", talk.produce(held, 1)
    yield "the first writes, in old words", talk.produce(held, 1, version=10)
    yield "the first adds", talk.add(held)
    yield "the first commits", talk.shown(talk.end(held))
    yield "the first goes on", talk.shown(talk.init(expected=held))
    if talk.level == 1:
        yield "the other adds", talk.add(other)
    yield "the other writes", talk.produce(other, 0)
    yield "it goes on after an error", talk.shown(talk.init(expected=other))
    code, again = talk.settled(lambda: talk.init(expected=other))
    yield "it has gone on", talk.shown((code, again))
    yield "fetched at last", talk.fetch()


def _offsets(talk: TransactionTalk) -> Iterator[Outcome]:
    held = talk.begin()
    yield "before", talk.committed()
    if talk.level == 1:
        for version in (3, 4):
            yield f"not added, version {version}", talk.commit_in(held, version=version)
        yield "added", talk.add_offsets(held)
    yield "by a stranger", talk.commit_in((held[0] + 500, 0))
    yield "by a zombie", talk.commit_in((held[0], held[1] - 1))
    yield "no group", talk.commit_in(held, group_id="")
    yield "in a generation", talk.commit_in(held, generation_id=3, member_id="m")
    yield "an unknown partition", talk.commit_in(held, partition=9)
    yield "a novel", talk.commit_in(held, metadata="x" * 5_000)
    yield "nothing yet", talk.committed()
    yield "written", talk.commit_in(held, 7)
    yield "in a generation of none", talk.commit_in(held, generation_id=3, member_id="m")
    yield "as a member of none", talk.commit_in(held, member_id="m")
    yield "stable", talk.committed()
    yield "as it was", talk.committed(is_stable=False)
    yield "described", talk.describe()
    held = talk.ended(held)
    yield "committed", talk.settled(lambda: _first(talk.committed()))
    yield "after", talk.committed()
    if talk.level == 1:
        yield "added again", talk.settled(lambda: (talk.add_offsets(held), None))
    yield "written again", talk.settled(lambda: (talk.commit_in(held, 9), None))
    held = talk.ended(held, commit=False)
    yield "aborted", talk.settled(lambda: _first(talk.committed()))
    if talk.level == 1:
        yield "added at last", talk.settled(lambda: (talk.add_offsets(held), None))
    yield "written at last", talk.settled(lambda: (talk.commit_in(held, 11), None))
    yield "a commit beside it", talk.commit_beside(20)
    yield "still unstable", talk.committed()
    held = talk.ended(held)
    yield "the later one stays", talk.settled(lambda: _first(talk.committed()))
    yield "a late one", talk.commit_in(held, 30, version=3)


def _join(talk: TransactionTalk) -> tuple[str, int]:
    """Return member id and generation of the one member of a classic group."""
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    member_id, generation = "", -1
    for _ in range(2):
        request = JoinGroupRequest(
            group_id=talk.group_id,
            session_timeout_ms=30_000,
            rebalance_timeout_ms=30_000,
            member_id=member_id,
            protocol_type="consumer",
            protocols=protocols,
        )
        joined = talk.call(request, JoinGroupResponse, 5)
        member_id, generation = joined.member_id, joined.generation_id
    return member_id, generation


def _members_of_a_classic_group(talk: TransactionTalk) -> Iterator[Outcome]:
    member_id, generation = _join(talk)
    held = talk.begin()
    if talk.level == 1:
        yield "added", talk.add_offsets(held)
    member: Any = {"member_id": member_id, "generation_id": generation}
    yield "before it has its assignment", talk.commit_in(held, **member)
    given = SyncGroupRequest(group_id=talk.group_id, **member)
    yield "assigned", NAMES[talk.call(given, SyncGroupResponse, 3).error_code]
    yield "in another generation", talk.commit_in(held, **(member | {"generation_id": generation + 1}))
    yield "in none", talk.commit_in(held, **(member | {"generation_id": -1}))
    yield "somebody else", talk.commit_in(held, **(member | {"member_id": "else"}))
    yield "an instance", talk.commit_in(held, **(member | {"group_instance_id": "i"}))
    yield "nobody in the generation", talk.commit_in(held, generation_id=generation)
    yield "the member", talk.commit_in(held, **member)
    yield "nobody", talk.commit_in(held)


def _members_of_a_consumer_group(talk: TransactionTalk) -> Iterator[Outcome]:
    owned: dict[str, list[int]] = {"m": [], "n": []}
    epochs = {"m": 0, "n": 0}

    def beat(name: str) -> tuple[str, int]:
        first: Any = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": [talk.topic]}
        has = [TopicPartitions(topic_id=talk.topic_id, partitions=owned[name])] if owned[name] else []
        request = ConsumerGroupHeartbeatRequest(
            group_id=talk.group_id,
            member_id=name,
            member_epoch=epochs[name],
            topic_partitions=has,
            **(first if epochs[name] == 0 else {}),
        )
        got = talk.call(request, ConsumerGroupHeartbeatResponse, 1)
        if got.error_code == 0:
            epochs[name] = got.member_epoch
            if got.assignment is not None:
                owned[name] = [index for one in got.assignment.topic_partitions for index in one.partitions]
        return NAMES[got.error_code], got.member_epoch

    code, _ = talk.settled(lambda: beat("m"))
    wait_until(lambda: beat("m")[0] == "NONE" and len(owned["m"]) == 3, PATIENCE_MS, "an assignment")
    epoch = epochs["m"]
    held = talk.begin()
    yield "joined", code
    if talk.level == 1:
        yield "added", talk.add_offsets(held)
    member: Any = {"member_id": "m", "generation_id": epoch}
    yield "ahead", talk.commit_in(held, **(member | {"generation_id": epoch + 1}))
    yield "behind", talk.commit_in(held, **(member | {"generation_id": epoch - 1}))
    yield "in none", talk.commit_in(held, **(member | {"generation_id": -1}))
    yield "somebody else", talk.commit_in(held, **(member | {"member_id": "else"}))
    yield "nobody in the epoch", talk.commit_in(held, generation_id=epoch)
    yield "the member", talk.commit_in(held, **member)
    yield "in old words", talk.commit_in(held, version=3, **member)
    yield "nobody", talk.commit_in(held)
    beat("n")
    wait_until(lambda: beat("m")[1] > epoch and len(owned["m"]) < 3, PATIENCE_MS, "another epoch")
    yield "in an old epoch, what it still has", talk.commit_in(held, partition=owned["m"][0], **member)
    given_up = next(index for index in range(3) if index not in owned["m"])
    yield "in an old epoch, what it gave up", talk.commit_in(held, partition=given_up, **member)


def _first(got: Outcome) -> Outcome:
    return got[1][0][0], got


def _adding_with_a_batch(talk: TransactionTalk) -> Iterator[Outcome]:
    held = talk.begin()
    yield "not at 0", talk.produce(held, 5)
    yield "by id", talk.produce(held, 0, version=13)
    yield "old words, added", talk.produce(held, 1, version=10)
    yield "old words, not added", talk.produce(held, 0, partition=1, version=10)
    yield "less old words, not added", talk.produce(held, 0, partition=1, version=11)
    yield "an unknown partition", talk.produce(held, 0, partition=9)
    yield "described", talk.describe()
    code, after = talk.end(held)
    yield "ended", talk.shown((code, after))
    talk.wait_until_complete()
    yield "the same epoch", talk.produce(held, 2)
    yield "the next epoch", talk.produce(after, 0)
    yield "fetched", talk.fetch()
    yield "as of old", talk.shown(talk.end(after, version=4))
    talk.wait_until_complete()
    yield "described then", talk.describe()
    yield "it goes on", talk.settled(lambda: talk.produce(after, 1))


BOTH = [
    _identities,
    _partitions,
    _writing,
    _aborting,
    _ending,
    _fencing,
    _offsets,
    _members_of_a_classic_group,
    _members_of_a_consumer_group,
]


@pytest.mark.parametrize(
    ("scenario", "level"),
    [*[(one, level) for one in BOTH for level in (1, 2)], (_adding_with_a_batch, 2)],
)
def test_outcomes_are_those_of_kafka(kafka_newest: KafkaCluster, scenario: Any, level: int) -> None:
    topic = kafka_newest.create_topic(partitions=3)
    host, _, port = kafka_newest.bootstrap().partition(",")[0].rpartition(":")
    with Peer((host, int(port))) as peer:
        kafka = list(scenario(TransactionTalk(peer, topic, level)))
    with Sandbox(nodes=1, topics={topic: 3}).serve() as served, Peer(served.listens_on(1)) as peer:
        ours = list(scenario(TransactionTalk(peer, topic, level)))
    assert ours == kafka
