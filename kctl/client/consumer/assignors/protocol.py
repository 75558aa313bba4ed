"""Encoding of subscriptions and assignments that members of a classic group exchange."""

from collections.abc import Iterable

from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.consumer.assignors.assignor import MemberSubscription
from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol.api import consumer_protocol_assignment, consumer_protocol_subscription
from kctl.client.protocol.api.consumer_protocol_assignment import ConsumerProtocolAssignment
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription
from kctl.client.protocol.codec import decode_member_data, encode_member_data

PROTOCOL_TYPE = "consumer"
"""Protocol type of consumers in JoinGroup."""
NEWEST_VERSION = ConsumerProtocolSubscription.VALID_VERSIONS[1]


def encode_subscription(subscription: MemberSubscription, version: int = NEWEST_VERSION) -> bytes:
    """Encode a subscription without its instance id. Raises: LocalProtocolError: a value cannot be encoded."""
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
    """Decode a subscription, and add the instance id from the JoinGroup response.

    Raises: RemoteProtocolError: the bytes are invalid.
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
    """Encode an assignment. Raises: LocalProtocolError: a value cannot be encoded."""
    assigned = [
        consumer_protocol_assignment.TopicPartition(topic=topic, partitions=partitions)
        for topic, partitions in by_topic(topic_partitions).items()
    ]
    message = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=user_data or None)
    return encode_member_data(message, version)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """Decode an assignment; empty bytes mean no partitions. Raises: RemoteProtocolError: the bytes are invalid."""
    if not data:
        return []
    message = decode_member_data(ConsumerProtocolAssignment, data)
    return [
        TopicPartition(each.topic, partition) for each in message.assigned_partitions for partition in each.partitions
    ]


def decode_assignment_user_data(data: bytes) -> bytes:
    return (decode_member_data(ConsumerProtocolAssignment, data).user_data or b"") if data else b""


def encode_partition_counts(counts: dict[str, int]) -> bytes:
    """Encode the partition counts as user data, for a later process of the same static leader."""
    return encode_assignment(TopicPartition(topic, count) for topic, count in counts.items())


def decode_partition_counts(user_data: bytes) -> dict[str, int] | None:
    """Decode the result of `encode_partition_counts`; return None for user data of other clients."""
    try:
        return dict(decode_assignment(user_data)) or None
    except RemoteProtocolError:
        return None
