"""One generation of a classic group: requests, wanted topics, and the leader's assignment."""

from collections.abc import Iterable, Mapping

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.assignors import Assignor, MemberSubscription, assignment_of, assignors_of, user_data_of
from kctl.client.consumer.assignors.protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_assignment_user_data,
    decode_partition_counts,
    decode_subscription,
    encode_assignment,
    encode_partition_counts,
    encode_subscription,
)
from kctl.client.consumer.group.events import Subscribe
from kctl.client.consumer.group.membership import MemberIdentity
from kctl.client.errors import RemoteProtocolError
from kctl.client.metadata import Metadata
from kctl.client.protocol.api.group_membership import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)

JOIN_MARGIN_MS = 5_000
"""Time in ms for a JoinGroup response in addition to max.poll.interval.ms, for which the broker may hold it."""
FIRST_VERSION_WITH_ID_FIRST = 4
"""First version in which brokers respond to a new member immediately, with only a member id (KIP-394)."""
UNKNOWN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
"""Codes of a group that has given this member's partitions to other members."""
FORGOTTEN = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID})
"""Codes after which the member id is invalid."""
JOIN_AGAIN = frozenset({ErrorCode.MEMBER_ID_REQUIRED, ErrorCode.REBALANCE_IN_PROGRESS})
"""Codes that require another join."""
ARRIVES_WITHIN_MS = 5_000
"""Time in ms in which a heartbeat on the other connection may overtake a JoinGroup request."""
MOST_REASON = 255
NO_GENERATION = -1


class ClassicRequests:
    """Builder of a classic member's requests, with their timeouts.

    The JoinGroup timeout is from KIP-266 and Java's AbstractCoordinator. Unlike Java, the first JoinGroup of a member
    has a shorter timeout, and a heartbeat has at most half of session.timeout.ms, to detect a silent coordinator in
    time.

    Attributes:
        joined_topics: topics of the last JoinGroup.
    """

    def __init__(self, config: ConsumerConfig, group_id: str) -> None:
        self.assignors = assignors_of(config.partition_assignment_strategy)
        self.joined_topics: tuple[str, ...] = ()
        self._request_timeout_ms = config.request_timeout_ms
        self.join_timeout_ms = max(config.request_timeout_ms, config.max_poll_interval_ms + JOIN_MARGIN_MS)
        self.heartbeat_timeout_ms = max(1, min(config.request_timeout_ms, config.session_timeout_ms // 2))
        self._config = config
        self._group_id = group_id
        self._previous: tuple[TopicPartition, ...] = ()
        self._previous_generation = NO_GENERATION

    def id_timeout_ms(self, failures: int) -> int:
        """Return the timeout of the first JoinGroup of a new member, which grows with the number of failures.

        Brokers usually respond to this request immediately.
        """
        return min(self._request_timeout_ms << min(failures, 10), self.join_timeout_ms)

    def got(self, assigned: tuple[TopicPartition, ...], generation: int) -> None:
        """Store the last assignment, which sticky assignors send in the next JoinGroup."""
        self._previous, self._previous_generation = assigned, generation

    def lost(self) -> None:
        self._previous, self._previous_generation = (), NO_GENERATION

    def join(
        self,
        member_id: str,
        generation: int,
        topics: tuple[str, ...],
        owned: tuple[TopicPartition, ...],
        reason: str,
    ) -> JoinGroupRequest:
        """Build a JoinGroup request.

        Raises: IllegalStateError: an assignor of the application failed.
        """
        self.joined_topics = topics
        rack = self._config.client_rack or None
        protocols = []
        for name, assignor in self.assignors.items():
            user_data = user_data_of(assignor, self._previous, self._previous_generation)
            subscription = MemberSubscription(topics, owned, generation, rack, user_data)
            protocols.append(JoinGroupRequestProtocol(name=name, metadata=encode_subscription(subscription)))
        return JoinGroupRequest(
            group_id=self._group_id,
            session_timeout_ms=self._config.session_timeout_ms,
            rebalance_timeout_ms=self._config.max_poll_interval_ms,
            member_id=member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=protocols,
            reason=reason[:MOST_REASON],
        )

    def sync(self, member_id: str, generation: int, protocol: str, shares: dict[str, bytes]) -> SyncGroupRequest:
        return SyncGroupRequest(
            group_id=self._group_id,
            generation_id=generation,
            member_id=member_id,
            group_instance_id=self._config.group_instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=protocol,
            assignments=[SyncGroupRequestAssignment(member_id=each, assignment=shares[each]) for each in shares],
        )

    def heartbeat(self, identity: MemberIdentity) -> HeartbeatRequest:
        return HeartbeatRequest(
            group_id=self._group_id,
            generation_id=identity.generation,
            member_id=identity.member_id,
            group_instance_id=identity.group_instance_id,
        )


class Joined:
    """A generation of the group, from a JoinGroup response.

    Attributes:
        members: subscriptions of all members if this member is the leader, otherwise empty.
        counts: partition counts that the assignment is based on. None before the assignment, or if an earlier process
            of the leader did not record them.
        keeps_assignment: whether this member leads, and the coordinator keeps an earlier assignment (KIP-814).
    """

    def __init__(
        self, member_id: str, protocol: str, members: dict[str, MemberSubscription], *, skip_assignment: bool
    ) -> None:
        self.member_id = member_id
        self.protocol = protocol
        self.members = members
        self.topics = tuple(sorted({topic for member in members.values() for topic in member.topics}))
        self.counts: dict[str, int] | None = None
        self.keeps_assignment = bool(members) and skip_assignment

    @classmethod
    def from_response(cls, response: JoinGroupResponse, assignors: Mapping[str, Assignor]) -> "Joined":
        """Return the generation of a response.

        Raises: RemoteProtocolError: a subscription is invalid, or this member leads but cannot assign.
        """
        is_leader = response.leader == response.member_id
        members = {
            each.member_id: decode_subscription(each.metadata, each.group_instance_id)
            for each in (response.members if is_leader else ())
        }
        protocol = response.protocol_name or ""
        if members and protocol not in assignors:
            raise RemoteProtocolError(
                f"the JoinGroup response contains the unknown assignor {protocol[:80]!r}", api="JoinGroup"
            )
        if members and response.member_id not in members:
            raise RemoteProtocolError(
                "the JoinGroup response does not contain the group leader as a member", api="JoinGroup"
            )
        return cls(response.member_id, protocol, members, skip_assignment=response.skip_assignment)

    def assign(self, counts: dict[str, int], assignors: Mapping[str, Assignor]) -> dict[str, bytes]:
        """Return the encoded assignments by member id, or an empty dict if this member does not assign.

        A static leader adds the partition counts to its own assignment, for its next process. It does not add them
        while partitions are unassigned between the two rounds of a cooperative rebalance. Unlike Java, a returning
        leader also assigns partitions that were added while it was down. Source: KIP-814.

        Raises: IllegalStateError: an assignor of the application failed.
        """
        if not self.members or self.keeps_assignment:
            return {}
        self.counts = counts
        assigned = assignment_of(assignors[self.protocol], self.members, counts)
        encoded = {member_id: encode_assignment(assigned[member_id]) for member_id in assigned}
        is_static = self.members[self.member_id].group_instance_id is not None
        if is_static and sum(map(len, assigned.values())) == sum(counts.values()):
            encoded[self.member_id] = encode_assignment(assigned[self.member_id], encode_partition_counts(counts))
        return encoded

    def assigned(self, assignment: bytes) -> tuple[TopicPartition, ...]:
        """Return the partitions of this member from its encoded assignment.

        Raises: RemoteProtocolError: the bytes are invalid.
        """
        if self.keeps_assignment:
            self.counts = decode_partition_counts(decode_assignment_user_data(assignment))
        return tuple(decode_assignment(assignment))


class TopicChoice:
    def __init__(self, subscription: Subscribe, metadata: Metadata, *, exclude_internal: bool) -> None:
        self.subscription = subscription
        self._metadata = metadata
        self._exclude_internal = exclude_internal
        self._asked_at_version = metadata.version
        if subscription.pattern is not None:  # the metadata of all topics may be older than the subscription
            metadata.request_update()

    @property
    def topics(self) -> tuple[str, ...] | None:
        """Topics that match the subscription, or None while a pattern waits for new metadata."""
        pattern = self.subscription.pattern
        if pattern is None:
            return self.subscription.topics
        if self._metadata.version == self._asked_at_version:
            return None
        known = self._metadata.cluster.topics
        return tuple(
            name
            for name in sorted(known)
            if pattern.fullmatch(name) and not (known[name].is_internal and self._exclude_internal)
        )

    def foreign(self, assigned: Iterable[TopicPartition]) -> list[str]:
        topics = {tp.topic for tp in assigned}
        pattern = self.subscription.pattern
        if pattern is None:
            return sorted(topics.difference(self.subscription.topics))
        return sorted(topic for topic in topics if not pattern.fullmatch(topic))


def partition_counts(metadata: Metadata, topics: tuple[str, ...]) -> dict[str, int] | None:
    """Return the partition counts by topic, without empty topics, or None if the metadata lacks a topic."""
    known = metadata.cluster.topics
    if any(topic not in known for topic in topics):
        return None
    return {topic: len(known[topic].partitions) for topic in topics if known[topic].partitions}
