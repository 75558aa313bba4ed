"""The few Kafka requests that the fixtures need, written by hand so that they do not lean on what is tested.

Owns one blocking exchange and the request bodies in fixed, old versions that every broker from 2.8 on takes.
"""

import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tests.support.ports import HOST

_LIST_OFFSETS, _METADATA, _API_VERSIONS, _CREATE_TOPICS, _ELECT_LEADERS = 2, 3, 18, 19, 43
_ALTER_REASSIGNMENTS, _DESCRIBE_QUORUM = 45, 55
_EXCHANGE_TIMEOUT_S = 10.0
_CREATE_TIMEOUT_MS = 8_000
_ELECTION_NOT_NEEDED = 84
_NO_TAGS = b"\x00"


class WireError(Exception):
    """A broker answered with an error code or with something unreadable."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What one node says about the cluster."""

    nodes: tuple[int, ...]
    controller: int
    leaders: Mapping[str, Mapping[int, int]]
    """Topic to partition to leader; a topic that the node does not know is missing; -1 is no leader."""


def check_api_versions(port: int) -> None:
    """Return when the node at `port` answers ApiVersions v0 without an error.

    Raises:
        OSError, WireError: it does not (yet).
    """
    (error,) = struct.unpack_from(">h", _exchange(port, _API_VERSIONS, 0, b""))
    if error:
        raise WireError(f"ApiVersions at {port}: error {error}")


def fetch_view(port: int, *topics: str) -> ClusterView:
    """Return the cluster as the node at `port` sees it (Metadata v1)."""
    body = struct.pack(">i", len(topics)) + b"".join(_string(topic) for topic in topics)
    reader = _Reader(_exchange(port, _METADATA, 1, body))
    nodes = []
    for _ in range(reader.int32()):
        nodes.append(reader.int32())
        reader.string()
        reader.int32()
        reader.string()
    controller = reader.int32()
    leaders = {}
    for _ in range(reader.int32()):
        error, name, _internal = reader.int16(), reader.string(), reader.int8()
        partitions = _read_partitions(reader)
        if not error:
            leaders[name] = partitions
    return ClusterView(tuple(sorted(nodes)), controller, leaders)


def leads(port: int, topic: str, partitions: Sequence[int]) -> bool:
    """Tell whether the node at `port` answers for these partitions (ListOffsets v1), which it does later than it
    names itself their leader."""
    body = struct.pack(">ii", -1, 1) + _string(topic) + struct.pack(">i", len(partitions))
    body += b"".join(struct.pack(">iq", partition, -1) for partition in partitions)
    reader = _Reader(_exchange(port, _LIST_OFFSETS, 1, body))
    errors = []
    for _ in range(reader.int32()):
        reader.string()
        for _ in range(reader.int32()):
            reader.int32()
            errors.append(reader.int16())
            reader.int64()  # timestamp
            reader.int64()  # offset
    return not any(errors)


def create_topic(port: int, name: str, partitions: int, replication: int, configs: Mapping[str, str]) -> None:
    """Create a topic through the node at `port` (CreateTopics v2).

    Raises:
        WireError: refused; the message has the code and the broker's words.
    """
    body = struct.pack(">i", 1) + _string(name) + struct.pack(">ihii", partitions, replication, 0, len(configs))
    body += b"".join(_string(key) + _string(value) for key, value in configs.items())
    body += struct.pack(">i?", _CREATE_TIMEOUT_MS, False)
    reader = _Reader(_exchange(port, _CREATE_TOPICS, 2, body))
    reader.int32()  # throttle time
    for _ in range(reader.int32()):
        topic, error, message = reader.string(), reader.int16(), reader.string()
        if error:
            raise WireError(f"CreateTopics {topic} at {port}: error {error}: {message}")


def order_replicas(port: int, topic: str, partition: int, replicas: Sequence[int]) -> None:
    """Say on which nodes a partition is, the one that leads by preference first (AlterPartitionReassignments v0).

    Raises:
        WireError: refused.
    """
    nodes = _count(len(replicas)) + b"".join(struct.pack(">i", node) for node in replicas)
    partitions = _count(1) + struct.pack(">i", partition) + nodes + _NO_TAGS
    name = topic.encode()
    topics = _count(1) + _count(len(name)) + name + partitions + _NO_TAGS
    body = struct.pack(">i", _CREATE_TIMEOUT_MS) + topics + _NO_TAGS
    reader = _Reader(_exchange(port, _ALTER_REASSIGNMENTS, 0, body, is_flexible=True))
    reader.int32()  # throttle time
    errors = [reader.int16()]
    reader.compact_string()
    for _ in range(reader.count()):
        reader.compact_string()
        for _ in range(reader.count()):
            reader.int32()
            errors.append(reader.int16())
            reader.compact_string()
            reader.int8()
        reader.int8()
    if any(errors):
        raise WireError(f"AlterPartitionReassignments of {topic}-{partition} at {port}: errors {errors}")


def elect_leader(port: int, topic: str, partition: int, *, is_unclean: bool = False) -> None:
    """Let the first replica of a partition lead it, or any one that lives if no replica in sync does (ElectLeaders v1).

    Raises:
        WireError: refused, for example while that replica is behind.
    """
    body = struct.pack(">bi", is_unclean, 1) + _string(topic) + struct.pack(">iii", 1, partition, _CREATE_TIMEOUT_MS)
    reader = _Reader(_exchange(port, _ELECT_LEADERS, 1, body))
    reader.int32()  # throttle time
    errors = [reader.int16()]
    for _ in range(reader.int32()):
        reader.string()
        for _ in range(reader.int32()):
            reader.int32()
            errors.append(reader.int16())
            reader.string()
    if set(errors) - {0, _ELECTION_NOT_NEEDED}:
        raise WireError(f"ElectLeaders of {topic}-{partition} at {port}: errors {errors}")


def active_controller(port: int) -> int:
    """Return the node that leads the controllers of KRaft, as the node at `port` sees it (DescribeQuorum v0).

    Raises:
        WireError: none does at present.
    """
    name = b"__cluster_metadata"
    partition = _count(1) + struct.pack(">i", 0) + _NO_TAGS
    topics = _count(1) + _count(len(name)) + name + partition + _NO_TAGS
    reader = _Reader(_exchange(port, _DESCRIBE_QUORUM, 0, topics + _NO_TAGS, is_flexible=True))
    errors = [reader.int16()]
    reader.count()
    reader.compact_string()
    reader.count()
    reader.int32()
    errors.append(reader.int16())
    leader = reader.int32()
    if any(errors) or leader < 0:
        raise WireError(f"DescribeQuorum at {port}: errors {errors}, leader {leader}")
    return leader


def _read_partitions(reader: "_Reader") -> dict[int, int]:
    leaders = {}
    for _ in range(reader.int32()):
        reader.int16()
        index = reader.int32()
        leaders[index] = reader.int32()
        for _ in range(2):  # replicas, in-sync replicas
            for _ in range(reader.int32()):
                reader.int32()
    return leaders


def _exchange(port: int, api_key: int, version: int, body: bytes, *, is_flexible: bool = False) -> bytes:
    """Return the response body to one request on a fresh connection; flexible versions have tags in their headers."""
    tags = _NO_TAGS if is_flexible else b""
    request = struct.pack(">hhi", api_key, version, 1) + _string("kctl-fixtures") + tags + body
    with socket.create_connection((HOST, port), timeout=_EXCHANGE_TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        (size,) = struct.unpack(">i", _receive(connection, 4))
        if not 4 <= size <= 1 << 24:
            raise WireError(f"a response of {size} bytes from {port}")
        return _receive(connection, size)[4 + len(tags) :]


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        chunk = connection.recv(size - len(data))
        if not chunk:
            raise WireError(f"the connection ended after {len(data)} of {size} bytes")
        data += chunk
    return data


def _count(count: int) -> bytes:
    """Return the length of a compact array or string: small ones alone, one byte."""
    return bytes([count + 1])


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


class _Reader:
    """Takes big-endian values from the front of a response."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int8(self) -> int:
        return self._take(">b", 1)

    def int16(self) -> int:
        return self._take(">h", 2)

    def int32(self) -> int:
        return self._take(">i", 4)

    def int64(self) -> int:
        return self._take(">q", 8)

    def string(self) -> str:
        """Return a string; null reads as empty."""
        length = max(0, self.int16())
        text = self._data[self._at : self._at + length]
        self._at += length
        return text.decode()

    def count(self) -> int:
        """Return the length of a compact array or string that is short or null."""
        return max(0, self.int8() - 1)

    def compact_string(self) -> str:
        """Return a short compact string; null reads as empty."""
        length = self.count()
        text = self._data[self._at : self._at + length]
        self._at += length
        return text.decode()

    def _take(self, layout: str, size: int) -> int:
        try:
            value: int = struct.unpack_from(layout, self._data, self._at)[0]
        except struct.error as error:
            raise WireError(f"the response ends at byte {len(self._data)}") from error
        self._at += size
        return value
