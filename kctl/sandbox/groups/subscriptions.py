"""Topics in the embedded consumer protocol of JoinGroup, after a version of two bytes."""

import struct

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription


def subscribed_topics(metadata: bytes) -> list[str]:
    """Return the topics of a consumer's metadata. As in Kafka, invalid metadata has no topics."""
    if len(metadata) < 2:
        return []
    (version,) = struct.unpack_from(">h", metadata)
    first, last = ConsumerProtocolSubscription.VALID_VERSIONS
    try:
        said, _ = codec.decode_header(ConsumerProtocolSubscription, metadata[2:], min(max(version, first), last))
    except RemoteProtocolError:
        return []
    return said.topics
