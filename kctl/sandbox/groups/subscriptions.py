"""What the embedded consumer protocol says inside JoinGroup: two bytes of version, then the message of that version."""

import struct

from kctl.client.errors import RemoteProtocolError
from kctl.client.protocol import codec
from kctl.client.protocol.api.consumer_protocol_subscription import ConsumerProtocolSubscription


def subscribed_topics(metadata: bytes) -> list[str]:
    """Return the topics of a consumer's metadata; none when it is no such metadata, which a broker does not mind."""
    if len(metadata) < 2:
        return []
    (version,) = struct.unpack_from(">h", metadata)
    first, last = ConsumerProtocolSubscription.VALID_VERSIONS
    try:
        said, _ = codec.decode_header(ConsumerProtocolSubscription, metadata[2:], min(max(version, first), last))
    except RemoteProtocolError:
        return []
    return said.topics
