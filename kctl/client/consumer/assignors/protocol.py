"""The bytes that members of a classic group hand each other through JoinGroup and SyncGroup.

Owns what ConsumerProtocolSubscription and ConsumerProtocolAssignment hold; protocol/codec.py writes and reads them
behind their version.
"""

from collections.abc import Iterable

from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.consumer.assignors.assignor import MemberSubscription
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.api import consumer_protocol_assignment, consumer_protocol_subscription
from kctl.client.protocol.api.consumer_protocol_assignment import ConsumerProtocolAssignment
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.codec import decode_member_data, encode_member_data

PROTOCOL_TYPE = "consumer"
"""What consumers call themselves in JoinGroup."""
NEWEST_VERSION = ConsumerProtocolSubscription.VALID_VERSIONS[1]


def encode_subscription(subscription: MemberSubscription, version: int = NEWEST_VERSION) -> bytes:
    """Return the metadata that a member joins with; its instance id is a field of the request.

    Raises: LocalProtocolError: a value does not fit.
    """
    owned = [
        consumer_protocol_subscription.TopicPartition(topic=topic, partitions=partitions)
        for topic, partitions in by_topic(subscription.owned).items()
    ]
    message = ConsumerProtocolSubscription(
        topics=list(subscription.topics),
        user_data=subscription.user_data or None,
        owned_partitions=owned,
        generation_id=subscription.generation,
        rack_id=subscription.rack,
    )
    return encode_member_data(message, version)


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> MemberSubscription:
    """Return the metadata that a member joined with.

    Args: group_instance_id: from the member's entry in the JoinGroup answer.
    Raises: RemoteProtocolError: the bytes are no subscription.
    """
    message = decode_member_data(ConsumerProtocolSubscription, data)
    return MemberSubscription(
        topics=tuple(message.topics),
        owned=tuple(
            TopicPartition(each.topic, partition) for each in message.owned_partitions for partition in each.partitions
        ),
        generation=message.generation_id,
        rack=message.rack_id,
        user_data=message.user_data or b"",
        group_instance_id=group_instance_id,
    )


def encode_assignment(
    topic_partitions: Iterable[TopicPartition], user_data: bytes = b"", version: int = NEWEST_VERSION
) -> bytes:
    """Return what the leader gives one member.

    Raises: LocalProtocolError: a value does not fit.
    """
    assigned = [
        consumer_protocol_assignment.TopicPartition(topic=topic, partitions=partitions)
        for topic, partitions in by_topic(topic_partitions).items()
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data or None)
    return encode_member_data(message, version)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Return what the leader gave us; no bytes at all is what a leader sends who gives nothing.

    Raises: RemoteProtocolError: the bytes are no assignment.
    """
    if not data:
        return []
    message = decode_member_data(ConsumerProtocolAssignment, data)
    return [
        TopicPartition(each.topic, partition) for each in message.assigned_partitions for partition in each.partitions
    ]


def decode_assignment_user_data(data: bytes) -> bytes:
    """Return what the leader added to an assignment for its member; see `decode_assignment`."""
    return (decode_member_data(ConsumerProtocolAssignment, data).user_data or b"") if data else b""


def encode_partition_counts(counts: dict[str, int]) -> bytes:
    """Return partition counts as the user data of a static leader's own assignment, for the process that follows it."""
    return encode_assignment(TopicPartition(topic, count) for topic, count in counts.items())


def decode_partition_counts(user_data: bytes) -> dict[str, int] | None:
    """Return the partition counts of `encode_partition_counts`; None where another client made the assignment."""
    try:
        return dict(decode_assignment(user_data)) or None
    except RemoteProtocolError:
        return None
