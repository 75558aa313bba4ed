"""Plan files in the JSON format of kafka-reassign-partitions.

{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2, 3], "log_dirs": ["any", "any"]}]}
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from kctl.cli.document_file import document_error, is_number, is_topic, read_document, shown
from kctl.cli.failures import file_error
from kctl.cli.overtime import interrupted_after
from kctl.cli.private_file import write_private
from kctl.client.clock import Clock
from kctl.client.cluster import TopicPartition

VERSION = 1
LARGEST_FILE_BYTES = 64 * 1024 * 1024
MOST_PARTITIONS = 1_000_000
LARGEST_NUMBER = 2**31 - 1
ANY = "any"

Targets = Mapping[TopicPartition, tuple[int, ...]]


def plan_lines(targets: Targets) -> Iterator[str]:
    entries = [
        {"topic": key.topic, "partition": key.partition, "replicas": list(replicas), "log_dirs": [ANY] * len(replicas)}
        for key, replicas in targets.items()
    ]
    yield f'{{"version": {VERSION}, "partitions": ['
    for number, entry in enumerate(entries, start=1):
        yield f"  {json.dumps(entry)}{'' if number == len(entries) else ','}"
    yield "]}"


def write_plan(path: Path, targets: Targets) -> None:
    try:
        write_private(path, "".join(f"{line}\n" for line in plan_lines(targets)))
    except OSError as e:
        raise file_error(f"cannot write {path}", e) from None


def read_plan(path: Path, clock: Clock, timeout_ms: int) -> dict[TopicPartition, tuple[int, ...]]:
    """Return the new replicas of each partition in a plan file. Reads from a pipe until the timeout.

    Raises:
        CommandError: the file cannot be read or is invalid. The message contains the place.
        ApiTimeout: the pipe did not end in time.
    """
    try:
        with interrupted_after(timeout_ms, clock, f"reading {path}"):
            content = read_document(path, LARGEST_FILE_BYTES)
        document: Any = json.loads(content)
    except (ValueError, RecursionError) as e:
        raise document_error(str(path), f"the file is not JSON: {e}") from None
    return _targets(str(path), document)


def _targets(name: str, document: Any) -> dict[TopicPartition, tuple[int, ...]]:
    if not isinstance(document, dict) or not isinstance(document.get("partitions"), list):
        raise document_error(name, 'the list "partitions" is missing')
    if document.get("version", VERSION) != VERSION:
        raise document_error(name, f"invalid version {shown(document['version'])}: use {VERSION}")
    if len(document["partitions"]) > MOST_PARTITIONS:
        raise document_error(name, f"the plan has more than {MOST_PARTITIONS} partitions")
    found: dict[TopicPartition, tuple[int, ...]] = {}
    for number, entry in enumerate(document["partitions"]):
        place = f"{name} partitions[{number}]"
        if not isinstance(entry, dict):
            raise document_error(place, "expected an object with topic, partition, and replicas")
        key = _partition(place, entry)
        replicas = _replicas(place, key, entry.get("replicas"))
        if key in found:
            raise document_error(place, f"partition {key} appears twice")
        _check_log_dirs(place, key, entry.get("log_dirs") or [])
        found[key] = replicas
    return found


def _partition(place: str, entry: dict[str, Any]) -> TopicPartition:
    topic, partition = entry.get("topic"), entry.get("partition")
    if not is_topic(topic):
        raise document_error(place, f"invalid topic {shown(topic)}: use the name of a topic")
    if not isinstance(partition, int) or not is_number(partition, LARGEST_NUMBER):
        raise document_error(place, f"invalid partition {shown(partition)}: use an integer from 0")
    return TopicPartition(topic, partition)


def _replicas(place: str, key: TopicPartition, replicas: Any) -> tuple[int, ...]:
    if not isinstance(replicas, list) or not replicas or not all(is_number(each, LARGEST_NUMBER) for each in replicas):
        raise document_error(place, f"invalid replicas {shown(replicas)}: use a list of broker IDs")
    if len(set(replicas)) < len(replicas):
        raise document_error(place, f"invalid replicas {shown(replicas)} of {key}: use each broker only once")
    return tuple(replicas)


def _check_log_dirs(place: str, key: TopicPartition, log_dirs: object) -> None:
    if not isinstance(log_dirs, list):
        raise document_error(place, f"invalid log_dirs {shown(log_dirs)}: use a list of strings")
    if any(each != ANY for each in log_dirs):
        raise document_error(place, f'cannot move {key} between log directories: use "{ANY}" in log_dirs')
