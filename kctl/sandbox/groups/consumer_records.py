"""Records of a consumer group in __consumer_offsets, as in Kafka 4.3."""

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from kctl.client.protocol import codec
from kctl.client.protocol.schema import ZERO_UUID, Message, Struct, field
from kctl.sandbox.groups.consumer_member import ConsumerMember
from kctl.sandbox.groups.member_records import Layout, Snapshot
from kctl.sandbox.groups.reconciliation import MemberState, Slot
from kctl.sandbox.groups.surroundings import CLIENT_HOST

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Topic
    from kctl.sandbox.groups.consumer import ConsumerGroup

REGEX = 16
_STATES = {MemberState.STABLE: 0, MemberState.UNREVOKED: 1, MemberState.UNRELEASED: 2}


class ConsumerGroupMetadataValue(Message, versions=(0, 0), flexible_from=0):
    epoch: int = field("int32", "0+", default=0)
    metadata_hash: int = field("int64", "0+", default=0, tag=0, tagged="0+")


class ClassicProtocol(Struct):
    name: str = field("string", "0+", default="")
    metadata: bytes = field("bytes", "0+", default=b"")


class ClassicMemberMetadata(Message, versions=(0, 0), flexible_from=0):
    """Session timeout and protocols of a classic member, a tagged field of ConsumerGroupMemberMetadataValue."""

    session_timeout_ms: int = field("int32", "0+", default=0)
    supported_protocols: list[ClassicProtocol] = field([ClassicProtocol], "0+", factory=list)


class ConsumerGroupMemberMetadataValue(Message, versions=(0, 0), flexible_from=0):
    instance_id: str | None = field("string", "0+", default=None, nullable="0+")
    rack_id: str | None = field("string", "0+", default=None, nullable="0+")
    client_id: str = field("string", "0+", default="")
    client_host: str = field("string", "0+", default="")
    subscribed_topic_names: list[str] = field(["string"], "0+", factory=list)
    subscribed_topic_regex: str | None = field("string", "0+", default=None, nullable="0+")
    rebalance_timeout_ms: int = field("int32", "0+", default=-1)
    server_assignor: str | None = field("string", "0+", default=None, nullable="0+")


class TargetTopicPartitions(Struct):
    topic_id: bytes = field("uuid", "0+", default=ZERO_UUID)
    partitions: list[int] = field(["int32"], "0+", factory=list)


class ConsumerGroupTargetAssignmentMemberValue(Message, versions=(0, 0), flexible_from=0):
    topic_partitions: list[TargetTopicPartitions] = field([TargetTopicPartitions], "0+", factory=list)


class CurrentTopicPartitions(Struct):
    """Partitions of a topic, and the epoch in which each was assigned."""

    topic_id: bytes = field("uuid", "0+", default=ZERO_UUID)
    partitions: list[int] = field(["int32"], "0+", factory=list)
    assignment_epochs: list[int] | None = field(["int32"], "0+", default=None, nullable="0+", tag=0, tagged="0+")


class ConsumerGroupCurrentMemberAssignmentValue(Message, versions=(0, 0), flexible_from=0):
    member_epoch: int = field("int32", "0+", default=0)
    previous_member_epoch: int = field("int32", "0+", default=0)
    state: int = field("int8", "0+", default=0)
    assigned_partitions: list[CurrentTopicPartitions] = field([CurrentTopicPartitions], "0+", factory=list)
    partitions_pending_revocation: list[CurrentTopicPartitions] = field([CurrentTopicPartitions], "0+", factory=list)


class ConsumerGroupRegularExpressionValue(Message, versions=(0, 0), flexible_from=0):
    """Topics that match a regular expression of members."""

    topics: list[str] = field(["string"], "0+", factory=list)
    version: int = field("int64", "0+", default=0)
    timestamp: int = field("int64", "0+", default=0)


class _Metadata(NamedTuple):
    """Subscription of a member. `session_timeout_ms` is None for the consumer protocol."""

    instance_id: str | None
    rack_id: str | None
    client_id: str
    topic_names: tuple[str, ...]
    regex: str
    rebalance_timeout_ms: int
    assignor: str | None
    session_timeout_ms: int | None
    protocols: tuple[tuple[str, bytes], ...]


class _Current(NamedTuple):
    epoch: int
    previous_epoch: int
    state: MemberState
    assigned: tuple[tuple[Slot, int], ...]
    revoking: tuple[tuple[Slot, int], ...]


def snapshot(group: "ConsumerGroup", topics: "Mapping[str, Topic]") -> Snapshot:
    members = group.members
    wishes = {one.subscription: one for one in members.values()}
    read = {wish: group.topics_of(one) for wish, one in wishes.items()}
    names = {name for of_wish in read.values() for name in of_wish}
    regexes = {one.regex: read[wish] for wish, one in wishes.items() if one.regex}
    return Snapshot(
        (group.epoch, _hash({name: topics[name] for name in sorted(names)})),
        group.target_epoch,
        {member_id: _metadata(one) for member_id, one in members.items()},
        {member_id: tuple(sorted(slots)) for member_id, slots in group.target.items()},
        {member_id: _current(one) for member_id, one in members.items()},
        {regex: tuple(sorted(names)) for regex, names in regexes.items()},
        group.is_assigned,
    )


def _hash(topics: "Mapping[str, Topic]") -> int:
    """Return a hash of topic metadata, or 0 without topics. Kafka uses another hash."""
    text = repr([(name, topic.topic_id, len(topic.partitions)) for name, topic in topics.items()])
    digest = blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) if topics else 0


def _metadata(member: ConsumerMember) -> _Metadata:
    return _Metadata(
        member.instance_id,
        member.rack_id,
        member.client_id,
        member.topic_names,
        member.regex,
        member.rebalance_timeout_ms,
        member.assignor,
        member.session_timeout_ms,
        tuple((member.classic_protocols or {}).items()),
    )


def _current(member: ConsumerMember) -> _Current:
    state, epoch, assigned, revoking = member.progress

    def since(slots: Iterable[Slot]) -> tuple[tuple[Slot, int], ...]:
        return tuple((slot, member.epochs[slot]) for slot in sorted(slots))

    return _Current(epoch, member.previous_epoch, state, since(assigned), since(revoking))


# --- values -----------------------------------------------------------------------------------------------------------


def _group_value(value: tuple[int, int]) -> Message:
    epoch, topics_hash = value
    return ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=topics_hash)


def _member_value(metadata: _Metadata) -> Message:
    value = ConsumerGroupMemberMetadataValue(
        instance_id=metadata.instance_id,
        rack_id=metadata.rack_id,
        client_id=metadata.client_id,
        client_host=CLIENT_HOST,
        subscribed_topic_names=list(metadata.topic_names),
        subscribed_topic_regex=metadata.regex,
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        server_assignor=metadata.assignor,
    )
    value.unknown_tagged_fields = {0: _classic(metadata)}
    return value


def _classic(metadata: _Metadata) -> bytes:
    """Return the tagged field, with the marker byte that Kafka writes even without a value."""
    if metadata.session_timeout_ms is None:
        return b"\0"
    protocols = [ClassicProtocol(name=name, metadata=data) for name, data in metadata.protocols]
    classic = ClassicMemberMetadata(session_timeout_ms=metadata.session_timeout_ms, supported_protocols=protocols)
    return b"\1" + codec.encode(classic, 0)


def _target_value(slots: tuple[Slot, ...]) -> Message:
    by_topic: dict[bytes, list[int]] = {}
    for topic_id, partition in slots:
        by_topic.setdefault(topic_id, []).append(partition)
    topics = [TargetTopicPartitions(topic_id=each, partitions=indexes) for each, indexes in by_topic.items()]
    return ConsumerGroupTargetAssignmentMemberValue(topic_partitions=topics)


def _current_value(current: _Current) -> Message:
    return ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=current.epoch,
        previous_member_epoch=current.previous_epoch,
        state=_STATES[current.state],
        assigned_partitions=_with_epochs(current.assigned),
        partitions_pending_revocation=_with_epochs(current.revoking),
    )


def _with_epochs(held: tuple[tuple[Slot, int], ...]) -> list[CurrentTopicPartitions]:
    by_topic: dict[bytes, CurrentTopicPartitions] = {}
    for (topic_id, partition), epoch in held:
        found = by_topic.setdefault(topic_id, CurrentTopicPartitions(topic_id=topic_id, assignment_epochs=[]))
        found.partitions.append(partition)
        assert found.assignment_epochs is not None
        found.assignment_epochs.append(epoch)
    return [*by_topic.values()]


def _regex_value(names: tuple[str, ...], wall_ms: int) -> Message:
    return ConsumerGroupRegularExpressionValue(topics=list(names), timestamp=wall_ms)


LAYOUT = Layout(
    epoch=(3, _group_value),
    target_epoch=6,
    member=(5, _member_value),
    target=(7, _target_value),
    current=(8, _current_value),
    other=(REGEX, _regex_value),
    on_delete=(6, 4, 3),
)
