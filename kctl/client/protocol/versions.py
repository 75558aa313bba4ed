"""NodeVersions: API versions of a node, and the choice of the highest version that both sides support."""

from typing import Final

from kctl.client.errors import UnsupportedVersionError
from kctl.client.protocol.api.api_versions import ApiVersionsResponse
from kctl.client.protocol.schema import Request, Versions


class NodeVersions:
    """Version ranges that a node supports.

    Attributes:
        ranges: first and last version by API key.
        features: level by finalized feature (metadata.version, group.version, ...).
    """

    def __init__(self, ranges: dict[int, Versions], features: dict[str, int] | None = None) -> None:
        self.ranges = ranges
        self.features = features or {}

    @classmethod
    def from_response(cls, response: ApiVersionsResponse) -> "NodeVersions":
        """Return the ranges of a successful ApiVersions response."""
        ranges = {entry.api_key: (entry.min_version, entry.max_version) for entry in response.api_keys}
        features = {entry.name: entry.max_version_level for entry in response.finalized_features}
        return cls(ranges, features)

    def supports(self, request_cls: type[Request], at_least: int = 0) -> bool:
        return self._common(request_cls, None) >= at_least

    def choose(self, request_cls: type[Request], at_most: int | None = None) -> int:
        """Return the highest version that both sides support, except versions that Kafka marks as unstable.

        Args: at_most: highest version that the request can use.
        Raises: UnsupportedVersionError: there is no common version; the message has the API and both ranges.
        """
        version = self._common(request_cls, at_most)
        if version >= 0:
            return version
        low, high = _spoken(request_cls, at_most)
        name = f"{request_cls.NAME} (API key {request_cls.API_KEY})"
        offer = self.ranges.get(request_cls.API_KEY)
        text = f"the broker does not support {name}{_since(request_cls.NAME)}"
        if offer:
            supported = f"the broker supports version {offer[0]} to {offer[1]}"
            text = f"kctl needs {name} in version {low} to {high}, but {supported}"
        raise UnsupportedVersionError(text, api=request_cls.NAME)

    def _common(self, request_cls: type[Request], at_most: int | None) -> int:
        low, high = _spoken(request_cls, at_most)
        offered_low, offered_high = self.ranges.get(request_cls.API_KEY, (0, -1))
        best = min(high, offered_high)
        return best if best >= max(low, offered_low) else -1


def _since(api: str) -> str:
    """Return the release that introduced an API, as a part of error messages; empty if unknown."""
    release = FIRST_RELEASE.get(api)
    return "" if release is None else f", which needs Kafka {release} or later"


def _spoken(request_cls: type[Request], at_most: int | None) -> Versions:
    low, high = request_cls.VALID_VERSIONS
    if request_cls.LATEST_VERSION_UNSTABLE:
        high -= 1
    return low, high if at_most is None else min(high, at_most)


FIRST_RELEASE: Final = {
    "DescribeCluster": "2.8",
    "DescribeQuorum": "3.0",
    "DescribeTransactions": "3.0",
    "ListTransactions": "3.0",
    "GetTelemetrySubscriptions": "3.7",
    "PushTelemetry": "3.7",
    "ListConfigResources": "3.7",
    "ConsumerGroupHeartbeat": "4.0",
    "ConsumerGroupDescribe": "4.0",
    "DescribeTopicPartitions": "3.8",
    "AddRaftVoter": "3.9",
    "RemoveRaftVoter": "3.9",
    "ShareGroupHeartbeat": "4.1",
    "ShareGroupDescribe": "4.1",
    "ShareFetch": "4.1",
    "ShareAcknowledge": "4.1",
    "DescribeShareGroupOffsets": "4.1",
    "AlterShareGroupOffsets": "4.1",
    "DeleteShareGroupOffsets": "4.1",
    "StreamsGroupHeartbeat": "4.1",
    "StreamsGroupDescribe": "4.1",
}
"""First release in which clients can rely on an API, by Kafka's name of the API."""
