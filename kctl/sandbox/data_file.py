"""Topics, records, and committed offsets of a sandbox in a file, from its stop to its next start.

Open transactions are aborted at the start. Groups have no members then, and fault settings, ACLs, and users are not
kept.
"""

import json
import os
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kctl.sandbox.batches import StoredBatch, header_of
from kctl.sandbox.cluster import Cluster, TopicRefused
from kctl.sandbox.compaction import Aborted
from kctl.sandbox.groups.offsets import Claim, CommittedOffset

if TYPE_CHECKING:
    from kctl.sandbox.partition import Partition

FILE = "cluster.data"
_HEAD = struct.Struct(">8sI")
_MAGIC = b"kctlsbx1"
_NO_CLAIM = Claim("", None, -1, 0, ())
_BATCH_BYTES = 61
"""Size of a batch without records."""


class DataRefused(Exception):
    """The file cannot be read or written, or is no data of this cluster; the message has its path."""


@contextmanager
def _named(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataRefused(f"cannot {what} {path}: {error.strerror or error}") from None


def save(cluster: Cluster, folder: Path) -> None:
    """Replace the file in a directory.

    Raises: DataRefused: the file cannot be written.
    """
    topics = [topic for name, topic in cluster.topics.items() if not name.startswith("__")]
    described = {
        "next_producer_id": cluster.next_producer_id,
        "topics": [
            {
                "name": topic.name,
                "id": topic.topic_id.hex(),
                "properties": topic.properties,
                "partitions": [_described(topic.partitions[index]) for index in range(len(topic.partitions))],
            }
            for topic in topics
        ],
        "commits": {
            group: [[*at, *committed] for at, committed in offsets.items()]
            for group, offsets in cluster.groups.offsets.items()
        },
    }
    text = json.dumps(described).encode()
    with _named(folder / FILE, "write"):
        written = _new(folder)
        with written.open("wb") as file:
            file.write(_HEAD.pack(_MAGIC, len(text)) + text)
            for topic in topics:
                for index in range(len(topic.partitions)):
                    file.writelines(batch.data for batch in topic.partitions[index].log.batches)
            file.flush()
            os.fsync(file.fileno())
        written.replace(folder / FILE)


def _new(folder: Path) -> Path:
    """Create an empty file for the next data."""
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"{FILE}.new"
    written.touch()
    return written


def _described(partition: "Partition") -> dict[str, object]:
    log = partition.log
    return {
        "replicas": partition.replicas,
        "leader_epoch": partition.leader_epoch,
        "start": log.start_offset,
        "end": log.end_offset,
        "aborted": log.aborted,
        "sizes": [len(batch.data) for batch in log.batches],
    }


def load(cluster: Cluster, folder: Path) -> None:
    """Add the content of the file, if there is one. It replaces topics of the same names.

    Raises: DataRefused: the file is damaged or cannot be read, or its topics need more brokers.
    """
    path = folder / FILE
    with _named(path, "write"):
        _new(folder)
    if not path.exists():
        return
    with _named(path, "read"):
        data = memoryview(path.read_bytes())
    try:
        described, at = _head_of(data)
        for topic in described["topics"]:
            at = _load_topic(cluster, topic, data, at)
        if at != len(data):
            raise ValueError(f"{len(data) - at} bytes follow the last record")
        cluster.next_producer_id = max(cluster.next_producer_id, int(described["next_producer_id"]))
        for group, commits in described["commits"].items():
            cluster.groups.check_commit(group, _NO_CLAIM)
            cluster.groups.commit(group, dict(_commits_of(commits)))
    except TopicRefused as error:
        raise DataRefused(f"{path}: {error}") from None
    except (ValueError, KeyError, TypeError, AttributeError, struct.error, RecursionError) as error:
        raise DataRefused(f"cannot load {path}: invalid sandbox data: {error}") from None


def _head_of(data: memoryview) -> tuple[Mapping[str, Any], int]:
    magic, size_bytes = _HEAD.unpack_from(data)
    if magic != _MAGIC or size_bytes > len(data) - _HEAD.size:
        raise ValueError("the file has another format or is incomplete")
    end = _HEAD.size + size_bytes
    described: Mapping[str, Any] = json.loads(bytes(data[_HEAD.size : end]))
    return described, end


def _load_topic(cluster: Cluster, topic: Mapping[str, Any], data: memoryview, at: int) -> int:
    """Create a topic, and return the position after its records."""
    name, parts = topic["name"], topic["partitions"]
    if name in cluster.topics:
        cluster.delete_topic(name)
    made = cluster.create_topic(
        name,
        properties=topic["properties"],
        assignment=[part["replicas"] for part in parts],
        topic_id=bytes.fromhex(topic["id"]),
    )
    wall_ms = cluster.scheduler.wall_ms()
    for index, part in enumerate(parts):
        partition, sizes = made.partitions[index], part["sizes"]
        partition.leader_epoch = part["leader_epoch"]
        batches = _batches(data, at, sizes)
        aborted = [Aborted(*one) for one in part["aborted"]]
        partition.log.restore(batches, part["start"], part["end"], aborted, wall_ms)
        partition.copy(partition.log.end_offset)
        partition.log.when_stored()
        at += sum(sizes)
    return at


def _batches(data: memoryview, at: int, sizes: list[int]) -> Iterator[StoredBatch]:
    for size_bytes in sizes:
        if not _BATCH_BYTES <= size_bytes <= len(data) - at:
            raise ValueError(f"invalid batch size {size_bytes} at byte {at}")
        batch = bytes(data[at : at + size_bytes])
        yield StoredBatch(header_of(batch), batch)
        at += size_bytes


def _commits_of(commits: list[list[Any]]) -> Iterator[tuple[tuple[str, int], CommittedOffset]]:
    for topic, index, *committed in commits:
        yield (topic, index), CommittedOffset(*committed)
