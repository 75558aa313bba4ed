"""File formats of `--export` and `--from-file`.

orders,0,42            CSV of Kafka's own tool: topic,partition,offset; optionally after the group
{"v": 1, "group": "g", "offsets": [{"topic": "orders", "partition": 0, "offset": 42}]}
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from kctl.cli.document_file import LONGEST_SHOWN, document_error, is_number, is_topic, read_document, shown
from kctl.cli.failures import file_error
from kctl.cli.private_file import write_private
from kctl.client.cluster import TopicPartition
from kctl.client.wording import one_line
from kctl.grammar.integers import integer_in

FILE_VERSION = 1
"""Version of the JSON; within a version fields are added, never renamed or removed."""
LARGEST_FILE_BYTES = 64 * 1024 * 1024
MOST_PARTITIONS = 1_000_000
LARGEST_OFFSET = 2**63 - 1
LARGEST_PARTITION = 2**31 - 1
HEADER = ("topic", "partition", "offset")


def write_offsets(path: Path, group_id: str, offsets: Mapping[TopicPartition, int]) -> None:
    """Write offsets as JSON if the file name ends with .json, otherwise as CSV.

    Raises: CommandError: the file cannot be written.
    """
    text = _json_text(group_id, offsets) if path.suffix == ".json" else _csv_text(offsets)
    try:
        write_private(path, text)
    except OSError as e:
        raise file_error(f"cannot write {path}", e) from None


def _json_text(group_id: str, offsets: Mapping[TopicPartition, int]) -> str:
    import json  # wanted only here

    entries = [dict(zip(HEADER, (*tp, offset), strict=True)) for tp, offset in offsets.items()]
    return json.dumps({"v": FILE_VERSION, "group": group_id, "offsets": entries}, indent=2) + "\n"


def _csv_text(offsets: Mapping[TopicPartition, int]) -> str:
    import csv  # as above
    from io import StringIO

    written = StringIO()
    csv.writer(written, lineterminator="\n").writerows((*tp, offset) for tp, offset in offsets.items())
    return written.getvalue()


def read_offsets(path: Path, group_id: str) -> dict[TopicPartition, int]:
    """Return the offsets of a group in a file. Other groups are ignored.

    Raises: CommandError: the file cannot be read, has an invalid value, or has no offset of the group.
    """
    try:
        text = read_document(path, LARGEST_FILE_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as e:
        raise document_error(str(path), f"byte {e.start} is not UTF-8") from None
    is_json = text.lstrip()[:1] in ("{", "[")
    found = _checked(str(path), _of_json(str(path), text, group_id) if is_json else _of_csv(str(path), text, group_id))
    if not found:
        raise document_error(str(path), f"no offsets of group {group_id} found")
    return found


Entry = tuple[str, object, object, object]
"""Place in the file, and topic, partition and offset as written."""


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
                raise document_error(
                    place, f"found {len(cells)} fields: use topic,partition,offset or group,topic,partition,offset"
                )
            if len(cells) == 3 or cells[0] == group_id:
                yield (place, *_three(cells[-3:]))
    except csv.Error as e:
        raise document_error(f"{name} line {lines.line_num}", str(e)) from None


def _three(cells: list[str]) -> tuple[object, object, object]:
    topic, partition, offset = cells
    return topic, _number(partition), _number(offset)


def _number(text: str) -> object:
    number = integer_in(text)
    return text if number is None else number


def _parse_json(name: str, text: str) -> Any:
    import json  # wanted only here

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as e:
        raise document_error(name, f"the file is not JSON: {e}") from None


def _of_json(name: str, text: str, group_id: str) -> Iterable[Entry]:
    document = _parse_json(name, text)
    if isinstance(document, dict) and document.get("group", group_id) != group_id:
        raise document_error(
            name, f"the file has offsets of group {one_line(str(document['group']))[:LONGEST_SHOWN]}, not {group_id}"
        )
    entries = document.get("offsets") if isinstance(document, dict) else document
    if not isinstance(entries, list):
        raise document_error(name, 'the list "offsets" is missing')
    for number, entry in enumerate(entries):
        place = f"{name} offsets[{number}]"
        if not isinstance(entry, dict):
            raise document_error(place, "expected an object with topic, partition, and offset")
        if entry.get("group", group_id) == group_id:
            yield (place, entry.get("topic"), entry.get("partition"), entry.get("offset"))


def _entry(place: str, topic: object, partition: object, offset: object) -> tuple[str, TopicPartition, int]:
    if not is_topic(topic):
        raise document_error(place, f"invalid topic {shown(topic)}: use the name of a topic")
    if not is_number(partition, LARGEST_PARTITION):
        raise document_error(place, f"invalid partition {shown(partition)}: use an integer from 0")
    if not is_number(offset, LARGEST_OFFSET):
        raise document_error(place, f"invalid offset {shown(offset)}: use an integer from 0")
    assert isinstance(partition, int)
    assert isinstance(offset, int)
    return place, TopicPartition(topic, partition), offset


def _checked(name: str, entries: Iterable[Entry]) -> dict[TopicPartition, int]:
    found: dict[TopicPartition, int] = {}
    for entry in entries:
        place, key, offset = _entry(*entry)
        if found.get(key, offset) != offset:
            raise document_error(place, f"partition {key} has two offsets: {found[key]} and {offset}")
        found[key] = offset
        if len(found) > MOST_PARTITIONS:
            raise document_error(name, f"the file has more than {MOST_PARTITIONS} partitions")
    return found
