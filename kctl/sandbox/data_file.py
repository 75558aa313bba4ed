"""Topics, records, and committed offsets of a sandbox in a file, from its stop to its next start.

Open transactions are aborted at the start. Groups have no members then, and fault settings, ACLs, and users are not
kept.
"""

import json
import os
import re
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kctl.client.records._hot.crc32c import crc32c
from kctl.posix import BINARY, CLOEXEC
from kctl.sandbox.batches import CRC_STARTS_AT, HEADER_BYTES, LENGTH_STARTS_AT, StoredBatch, header_of
from kctl.sandbox.cluster import Cluster, TopicRefused
from kctl.sandbox.compaction import Aborted
from kctl.sandbox.data_fields import Field
from kctl.sandbox.data_lock import DataLock
from kctl.sandbox.groups.offsets import Claim, CommittedOffset
from kctl.sandbox.groups.offsets_topic import OFFSETS_TOPIC

if TYPE_CHECKING:
    from kctl.sandbox.partition import Partition

FILE = "cluster.data"
_NEW = f"{FILE}.new"
_HEAD = struct.Struct(">8sI")
_MAGIC = b"kctlsbx1"
_NO_CLAIM = Claim("", None, -1, 0, ())
_MODE = 0o600
_ID = re.compile("[0-9a-f]{32}")
_GREATEST = 2**62
"""Greatest accepted offset and producer ID. The sandbox can still add records and producers."""
_INT32 = 2**31 - 1
_INT64 = 2**63 - 1


class DataRefused(Exception):
    """The file cannot be read or written, or is no data of this cluster; the message has its path."""


@contextmanager
def _named(path: Path, what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise DataRefused(f"cannot {what} {path}: {error.strerror or error}") from None


def lock_folder(folder: Path) -> DataLock:
    """Create a directory and lock it for one sandbox.

    Raises: DataRefused: another sandbox uses it, or it is not writable.
    """
    try:
        return DataLock(folder)
    except BlockingIOError as error:
        raise DataRefused(f"cannot use data directory {folder}: {error.strerror}") from None
    except OSError as error:
        raise DataRefused(f"cannot write {folder / FILE}: {error.strerror or error}") from None


def save(cluster: Cluster, folder: Path) -> None:
    """Replace the file in a directory, which `lock_folder` has locked.

    Internal topics are not saved: the sandbox writes __consumer_offsets again from the commits.

    Raises: DataRefused: the file cannot be written.
    """
    topics = [topic for name, topic in cluster.topics.items() if name != OFFSETS_TOPIC]
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
        with open(_new(folder), "wb") as file:
            file.write(_HEAD.pack(_MAGIC, len(text)) + text)
            for topic in topics:
                for index in range(len(topic.partitions)):
                    file.writelines(batch.data for batch in topic.partitions[index].log.batches)
            file.flush()
            os.fsync(file.fileno())
        (folder / _NEW).replace(folder / FILE)


def _new(folder: Path) -> int:
    """Create an empty private file for the next data in place of a leftover or planted link. Return its descriptor."""
    folder.mkdir(parents=True, exist_ok=True)  # even if it was deleted while the sandbox was running
    written = folder / _NEW
    written.unlink(missing_ok=True)
    return os.open(written, os.O_WRONLY | os.O_CREAT | os.O_EXCL | CLOEXEC | BINARY, _MODE)


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
        os.close(_new(folder))
    if not path.exists():
        return
    with _named(path, "read"):
        data = memoryview(path.read_bytes())
    try:
        described, at = _head_of(data)
        seen: set[str] = set()
        for topic in described["topics"].each():
            at = _load_topic(cluster, topic, data, at, seen)
        if at != len(data):
            raise ValueError(f"{len(data) - at} bytes follow the last record")
        next_producer_id = described["next_producer_id"].integer(0, _GREATEST)
        cluster.next_producer_id = max(cluster.next_producer_id, next_producer_id)
        for group, commits in described["commits"].items():
            offsets = dict(map(_commit_of, commits.each()))
            cluster.groups.check_commit(group, _NO_CLAIM)
            cluster.groups.commit(group, offsets)
    except (ValueError, struct.error, RecursionError) as error:
        raise DataRefused(f"cannot load {path}: invalid sandbox data: {error}") from None


def _head_of(data: memoryview) -> tuple[Field, int]:
    magic, size_bytes = _HEAD.unpack_from(data)
    if magic != _MAGIC or size_bytes > len(data) - _HEAD.size:
        raise ValueError("the file has another format or is incomplete")
    end = _HEAD.size + size_bytes
    return Field(json.loads(bytes(data[_HEAD.size : end])), ""), end


def _load_topic(cluster: Cluster, topic: Field, data: memoryview, at: int, seen: set[str]) -> int:
    """Create a topic, and return the position after its records.

    Args: seen: names and IDs of the earlier topics, to which this one is added.
    """
    name, topic_id, parts = topic["name"].text(), topic["id"].text(), topic["partitions"].each()
    if name in seen or name == OFFSETS_TOPIC:
        raise topic["name"].refused("a name that no other topic has")
    if not _ID.fullmatch(topic_id) or topic_id in seen:
        raise topic["id"].refused("32 hexadecimal digits that no other topic has")
    if not parts:
        raise topic["partitions"].refused("at least one partition")
    seen |= {name, topic_id}
    if name in cluster.topics:
        cluster.delete_topic(name)
    try:
        made = cluster.create_topic(
            name,
            properties={key: value.text() for key, value in topic["properties"].items()},
            assignment=[[one.integer(0, _INT32) for one in part["replicas"].each()] for part in parts],
            topic_id=bytes.fromhex(topic_id),
        )
    except TopicRefused as error:
        raise ValueError(f"{topic.place}: {error}") from None
    for index, part in enumerate(parts):
        at = _load_partition(made.partitions[index], part, data, at, cluster.scheduler.wall_ms())
    return at


def _load_partition(partition: "Partition", part: Field, data: memoryview, at: int, wall_ms: int) -> int:
    partition.leader_epoch = part["leader_epoch"].integer(0, _INT32)
    end_offset = part["end"].integer(0, _GREATEST)
    start_offset = part["start"].integer(0, end_offset)
    sizes = [one.integer(HEADER_BYTES, len(data)) for one in part["sizes"].each()]
    batches = _batches(data, at, sizes, part.place, partition.leader_epoch, end_offset)
    aborted = [_aborted_of(one, end_offset) for one in part["aborted"].each()]
    aborted.sort(key=lambda one: one.marker_offset)
    partition.log.restore(batches, start_offset, end_offset, aborted, wall_ms)
    partition.copy(partition.log.end_offset)
    partition.log.when_stored()
    return at + sum(sizes)


def _aborted_of(one: Field, end_offset: int) -> Aborted:
    producer_id, first_offset, marker_offset = one.each(3)
    marker = marker_offset.integer(0, end_offset - 1)
    return Aborted(producer_id.integer(0, _GREATEST), first_offset.integer(0, marker), marker)


def _batches(
    data: memoryview, at: int, sizes: list[int], place: str, leader_epoch: int, end_offset: int
) -> Iterator[StoredBatch]:
    """Yield the batches of a partition. Raises: ValueError: a batch is damaged or does not fit in the log."""
    next_offset = 0
    for size_bytes in sizes:
        where = f"{place}: the batch at byte {at}"
        if size_bytes > len(data) - at:
            raise ValueError(f"{where} is incomplete")
        batch = bytes(data[at : at + size_bytes])
        header = header_of(batch)
        if header.magic != 2 or header.length != size_bytes - LENGTH_STARTS_AT:
            raise ValueError(f"{where} is not a record batch of {size_bytes} bytes")
        if crc32c(batch, 0, CRC_STARTS_AT) != header.crc:
            raise ValueError(f"{where} has the wrong CRC32C")
        if not next_offset <= header.base_offset <= header.last_offset < end_offset:
            raise ValueError(f"{where} has offset {header.base_offset}: use {next_offset} to {end_offset - 1}")
        if not 0 <= header.leader_epoch <= leader_epoch:
            raise ValueError(f"{where} has leader epoch {header.leader_epoch}: use 0 to {leader_epoch}")
        yield StoredBatch(header, batch)
        next_offset = header.last_offset + 1
        at += size_bytes


def _commit_of(commit: Field) -> tuple[tuple[str, int], CommittedOffset]:
    topic, index, offset, leader_epoch, metadata = commit.each(5)
    return (topic.text(), index.integer(0, _INT32)), CommittedOffset(
        offset.integer(-_INT64 - 1, _INT64),
        leader_epoch.integer(-1, _INT32),
        None if metadata.value is None else metadata.text(),
    )
