"""Offsets in files: what `--export` writes and `--from-file` reads.

    orders,0,42            CSV as of Kafka's own tool: topic,partition,offset; a group may stand first
    {"v": 1, "group": "g", "offsets": [{"topic": "orders", "partition": 0, "offset": 42}]}

Owns both formats and their limits; knows no brokers. Shown by tests/unit/cli/groups/test_files.py.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.client.cluster import TopicPartition
from kctl.client.config import read_input

FILE_VERSION = 1
"""Of the JSON; within a version fields are added, never renamed or removed."""
LARGEST_FILE_BYTES = 64 * 1024 * 1024
MOST_PARTITIONS = 1_000_000
LARGEST_OFFSET = 2**63 - 1
LARGEST_PARTITION = 2**31 - 1
HEADER = ("topic", "partition", "offset")


def write_offsets(path: Path, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Write offsets: JSON where the name ends so, else CSV.

    Raises: CommandError: the file cannot be written.
    """
    if path.suffix == ".json":
        import json  # wanted only here

        entries = [dict(zip(HEADER, (*tp, offset), strict=True)) for tp, offset in offsets.items()]
        text = json.dumps({"v": FILE_VERSION, "group": group_id, "offsets": entries}, indent=2) + "\n"
    else:
        import csv  # as above
        from io import StringIO

        written = StringIO()
        csv.writer(written, lineterminator="\n").writerows((*tp, offset) for tp, offset in offsets.items())
        text = written.getvalue()
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as e:
        raise CommandError(ExitCode.USAGE, f"cannot write {path}: {e.strerror or e}") from None


def read_offsets(path: Path, group_id: str) -> dict[TopicPartition, int]:
    """Return the offsets of a group in a file; lines of other groups are passed over.

    Raises: CommandError: it cannot be read, or says something that is not an offset; names the place.
    """
    try:
        content, _ = read_input(path, LARGEST_FILE_BYTES + 1)
    except OSError as e:
        raise CommandError(ExitCode.USAGE, f"cannot read {path}: {e.strerror or e}") from None
    if len(content) > LARGEST_FILE_BYTES:
        raise _bad(str(path), f"it is larger than {LARGEST_FILE_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise _bad(str(path), f"byte {e.start} is not UTF-8") from None
    is_json = text.lstrip()[:1] in ("{", "[")
    found = _checked(str(path), _of_json(str(path), text, group_id) if is_json else _of_csv(str(path), text, group_id))
    if not found:
        raise _bad(str(path), f"there is no offset of group {group_id} in it")
    return found


Entry = tuple[str, object, object, object]
"""The place in the file; topic, partition and offset as they stand there."""


def _of_csv(name: str, text: str, group_id: str) -> Iterable[Entry]:
    import csv  # wanted only here

    lines = csv.reader(text.splitlines(), strict=True)
    try:
        for fields in lines:
            cells = [field.strip() for field in fields]
            place = f"{name} line {lines.line_num}"
            if not any(cells) or cells in (list(HEADER), ["group", *HEADER]):
                continue
            if len(cells) not in (3, 4):
                raise _bad(place, f"{len(cells)} fields: topic,partition,offset or group,topic,partition,offset")
            if len(cells) == 3 or cells[0] == group_id:
                yield (place, *_three(cells[-3:]))
    except csv.Error as e:
        raise _bad(f"{name} line {lines.line_num}", str(e)) from None


def _three(cells: list[str]) -> tuple[object, object, object]:
    topic, partition, offset = cells
    return topic, _number(partition), _number(offset)


def _number(text: str) -> object:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else text


def _of_json(name: str, text: str, group_id: str) -> Iterable[Entry]:
    import json  # wanted only here

    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError) as e:
        raise _bad(name, f"it is not JSON: {e}") from None
    if isinstance(document, dict) and document.get("group", group_id) != group_id:
        raise _bad(name, f"it is about group {document['group']}, not {group_id}")
    entries = document.get("offsets") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise _bad(name, 'there is no list "offsets" in it')
    for number, entry in enumerate(entries):
        place = f"{name} offsets[{number}]"
        if not isinstance(entry, dict):
            raise _bad(place, "it is not an object with topic, partition and offset")
        if entry.get("group", group_id) == group_id:
            yield (place, entry.get("topic"), entry.get("partition"), entry.get("offset"))


def _checked(name: str, entries: Iterable[Entry]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for place, topic, partition, offset in entries:
        if not isinstance(topic, str) or not topic:
            raise _bad(place, f"{topic!r} is not a topic")
        if not _is_within(partition, LARGEST_PARTITION):
            raise _bad(place, f"{partition!r} is not a partition")
        if not _is_within(offset, LARGEST_OFFSET):
            raise _bad(place, f"{offset!r} is not an offset")
        assert isinstance(partition, int)
        assert isinstance(offset, int)
        key = TopicPartition(topic, partition)
        if found.get(key, offset) != offset:
            raise _bad(place, f"{key} appears twice, with {found[key]} and {offset}")
        found[key] = offset
        if len(found) > MOST_PARTITIONS:
            raise _bad(name, f"there are more than {MOST_PARTITIONS} partitions in it")
    return found


def _is_within(value: object, largest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= largest


def _bad(place: str, problem: str) -> CommandError:
    return CommandError(ExitCode.USAGE, f"{place}: {problem}")
