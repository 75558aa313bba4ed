"""Parser of `produce -i jsonl`: one object per line, as written by `consume --output jsonl`."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kctl.cli.failures import CommandError
from kctl.cli.formats.template_error import nearest
from kctl.cli.input.form import Form, InputForm, InputRecord
from kctl.cli.input.input_bytes import BytesRead, Source, bad_input
from kctl.cli.input.json_values import JsonError, bytes_of, parse_json, show_json
from kctl.cli.input.lines import read_lines
from kctl.client.records import Header

if TYPE_CHECKING:
    from uuid import UUID

JSONL = Form(InputForm.JSONL)

FIELDS = ("topic", "partition", "offset", "timestamp", "key", "value", "headers", "key_schema", "value_schema")
OF_THE_UNDELIVERED = ("cause", "perhaps_written")
"""Further fields of `--undelivered`, which are ignored."""
ROOM = 8
"""Maximum ratio of a line to max.request.size: base64 and escapes need more bytes."""

_MOST_PARTITION = 2**31 - 1
_LEAST_TIMESTAMP, _MOST_TIMESTAMP = -(2**63), 2**63 - 1
"""Brokers store negative timestamps; records without a timestamp have -1."""


def read_jsonl(
    source: Source, name: str, longest_bytes: int, progress: BytesRead | None = None, form: Form = JSONL
) -> Iterator[InputRecord]:
    """Yield the records of one stream. Empty lines are skipped.

    Args: form: default key and encoding.
    Raises: CommandError: a line is invalid. The message contains line and column.
    """
    for line in read_lines(source, name, longest_bytes * ROOM, progress=progress):
        assert line.value is not None
        if not line.value.strip():
            continue
        try:
            yield read_record(line.place, line.value, form)
        except JsonError as e:
            raise bad_line(line.place, line.value, e) from None


def bad_line(place: str, line: bytes, error: JsonError) -> CommandError:
    return bad_input(f"{place}, column {error.at + 1}: {error}", line, error.at)


def _check_fields(given: Any) -> None:
    if not isinstance(given, dict):
        raise JsonError(f"a record must be an object, not {show_json(given)}")
    for field in given:
        if field not in FIELDS and field not in OF_THE_UNDELIVERED:
            raise JsonError(f"unknown field {show_json(field)}{nearest(field, FIELDS)}")
    if "value" not in given:
        raise JsonError('the field "value" is missing: use null for a tombstone, or "" for an empty value')


def read_record(place: str, line: bytes, form: Form = JSONL) -> InputRecord:
    """Return the record of one line. Raises: JsonError: the record is invalid."""
    given = parse_json(line)
    _check_fields(given)
    record = InputRecord(
        place,
        _data(given, "value", form),
        _data(given, "key", form),
        headers_of(given.get("headers")),
        _topic(given.get("topic")),
        _number(given, "partition", _MOST_PARTITION),
        _number(given, "timestamp", _MOST_TIMESTAMP, least=_LEAST_TIMESTAMP),
    )
    if not form.encoded:
        return record
    return record._replace(key_schema=_schema(given, "key", form), value_schema=_schema(given, "value", form))


def _data(given: dict[str, Any], field: str, form: Form) -> bytes | None:
    text = given.get(field)
    if type(text) is str and text.isascii() and not form.encoded and f"{field}_schema" not in given:
        return text.encode()  # fast path for most fields
    if field in form.encoded and given.get(field) is not None:
        if field not in form.by_record or given.get(f"{field}_schema") is not None:
            return json.dumps(given[field], ensure_ascii=False).encode("utf-8", "surrogatepass")
    elif given.get(f"{field}_schema") is not None:
        raise JsonError(
            f'cannot send decoded "{field}": encode with the schema in "{field}_schema" by --encode {field}=auto'
        )
    try:
        return bytes_of(given.get(field))
    except JsonError as e:
        raise JsonError(f'"{field}": {e}') from None


def _schema(given: dict[str, Any], field: str, form: Form) -> "int | UUID | None":
    if field not in form.encoded:
        return None
    from kctl.serdes.encoder import check_schema_of  # deferred import: only for encoding
    from kctl.serdes.errors import EncodeError

    try:
        return check_schema_of(given.get(f"{field}_schema"))
    except EncodeError as e:
        raise JsonError(f'"{field}_schema": {e}') from None


def _topic(topic: Any) -> str | None:
    if topic is None or (isinstance(topic, str) and topic):
        return topic
    raise JsonError(f'"topic" must be a name, not {show_json(topic)}')


def _number(given: dict[str, Any], field: str, most: int, *, least: int = 0) -> int | None:
    number = given.get(field)
    if number is None:
        return None
    if not isinstance(number, int) or isinstance(number, bool) or not least <= number <= most:
        raise JsonError(f'"{field}" must be a number from {least} to {most}, or null, not {show_json(number)}')
    return number


def headers_of(given: Any) -> tuple[Header, ...]:
    """Return the headers of a parsed value. Raises: JsonError: the headers are invalid."""
    if given is None:
        return ()
    if not isinstance(given, list):
        raise JsonError(f'"headers" must be [[name, value], ...], not {show_json(given)}')
    return tuple(_header(position, each) for position, each in enumerate(given))


def _header(position: int, given: Any) -> Header:
    if not isinstance(given, list) or len(given) != 2:
        raise JsonError(f'"headers"[{position}] must be [name, value], not {show_json(given)}')
    try:
        name, value = bytes_of(given[0]), bytes_of(given[1])
    except JsonError as e:
        raise JsonError(f'"headers"[{position}]: {e}') from None
    if name is None:
        raise JsonError(f'"headers"[{position}]: a header needs a name')
    return name.decode("utf-8", "surrogateescape"), value
