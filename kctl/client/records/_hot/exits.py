"""Records of a batch as objects, as values, or as output bytes in the format of a plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, final

from kctl.client.errors import CorruptBatchError, LocalProtocolError
from kctl.client.records._hot.conditions import Condition, all_hold
from kctl.client.records._hot.cursor import RecordCursor
from kctl.client.records._hot.native_types import i64
from kctl.client.records._hot.places import ValuePlaces
from kctl.client.records._hot.record import BatchInfo, Header, Record, parse_headers
from kctl.client.records._hot.varint import FieldError


def read_records(cursor: RecordCursor, out: list[Record], limit: i64) -> None:
    batch = cursor.batch
    while limit > 0 and cursor.advance():
        out.append(
            Record(batch, cursor.offset, cursor.timestamp_ms, cursor.key(), cursor.value(), cursor.raw_headers())
        )
        limit -= 1


def read_values(
    cursor: RecordCursor, out: list[bytes | ValuePlaces], separator: bytes, null: bytes, in_place: bool, limit: i64
) -> None:
    """Append the values of up to `limit` records to `out`, each followed by the separator.

    Args: in_place: whether large values may be appended as places in the batch.
    """
    while limit > 0:
        values: bytes | ValuePlaces
        if in_place and cursor.has_large_values:
            values, taken = cursor.place_values(limit, separator, null)
        else:
            values, taken = cursor.take_values(limit, separator, null)
        if taken > 0:
            out.append(values)
            limit -= taken
        if limit <= 0 or not cursor.advance():
            break
        value = cursor.value()
        out.append(null if value is None else value)
        out.append(separator)
        limit -= 1


NOTHING: Final = 0
KEY: Final = 1
VALUE: Final = 2
HEADERS: Final = 3
OFFSET: Final = 4
TIMESTAMP: Final = 5
KEY_SIZE: Final = 6
VALUE_SIZE: Final = 7
HEADER_COUNT: Final = 8
COUNT: Final = 9

_RECORD_FIELDS: Final[dict[str, int]] = {
    "key": KEY,
    "value": VALUE,
    "headers": HEADERS,
    "offset": OFFSET,
    "timestamp": TIMESTAMP,
    "key_size": KEY_SIZE,
    "value_size": VALUE_SIZE,
    "header_count": HEADER_COUNT,
    "count": COUNT,
}
_BATCH_FIELDS: Final[dict[str, Callable[[BatchInfo], str | int]]] = {
    "topic": lambda batch: batch.topic,
    "topic_size": lambda batch: len(batch.topic.encode()),
    "partition": lambda batch: batch.partition,
    "leader_epoch": lambda batch: batch.leader_epoch,
    "timestamp_type": lambda batch: batch.timestamp_type,
    "compression": lambda batch: batch.compression,
    "producer_id": lambda batch: batch.producer_id,
    "producer_epoch": lambda batch: batch.producer_epoch,
    "is_transactional": lambda batch: int(batch.is_transactional),
}
FIELD_NAMES: Final = (*_RECORD_FIELDS, *_BATCH_FIELDS)
"""Names of the fields that an output plan can show."""


_PART_BYTES: Final[i64] = 1024 * 1024
MOST_JSON_BYTES: Final[i64] = 96 * 1024 * 1024
"""Maximum JSON size of a key, value, or header. By default, kctl decompresses batches of up to 64 MiB."""


@final
class QuotedText:
    """Converter of bytes to a JSON string. Bytes that need no escapes, as in most text, are only quoted.

    Args:
        escape: returns the JSON of bytes with control characters, DEL, or non-ASCII characters.
        most_bytes: maximum size of the JSON; an escape has up to six bytes for one.
        part_bytes: bytes of input for each part.
    """

    def __init__(
        self, escape: Callable[[bytes], bytes], most_bytes: i64 = MOST_JSON_BYTES, part_bytes: i64 = _PART_BYTES
    ) -> None:
        self._escape = escape
        self._most_bytes: i64 = most_bytes
        self._part_bytes: i64 = part_bytes

    def __call__(self, data: bytes | None) -> bytes:
        return b"null" if data is None else self.of(data)

    def of(self, data: bytes) -> bytes:
        if data.translate(_AS_IT_IS) == data:
            return b'"%b"' % data
        if data.translate(_PRINTABLE) == data:
            return b'"%b"' % data.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
        return self._escape(data)

    def parts(self, data: bytes, first: i64, limit: i64) -> list[bytes]:
        """Return the JSON of `data[first:limit]` in parts, without a copy of the whole; empty if it is not text.

        Raises: FieldError: the JSON is larger than `most_bytes`.
        """
        found = [b'"']
        at: i64 = first
        size_bytes: i64 = 2
        while at < limit:
            end: i64 = min(at + self._part_bytes, limit)
            while at + 1 < end < limit and data[end] & 0xC0 == 0x80:  # split between characters
                end -= 1
            part = self.of(data[at:end])
            if not part.startswith(b'"'):
                return []
            size_bytes += len(part) - 2
            if size_bytes > self._most_bytes:
                raise FieldError(f"{limit - first} bytes are more than {self._most_bytes} bytes as JSON")
            found.append(part[1:-1])
            at = end
        found.append(b'"')
        return found


_PRINTABLE: Final = bytes([code if 0x20 <= code < 0x7F else 0x20 for code in range(256)])
"""Translation table that leaves only ASCII without control characters unchanged."""
_AS_IT_IS: Final = bytes([0x20 if code in b'"\\' else _PRINTABLE[code] for code in range(256)])
"""Translation table that leaves only bytes without a JSON escape unchanged."""


@final
class OutputField:
    """A field of a record in an output plan.

    Args:
        name: one of FIELD_NAMES. `count` numbers the returned records from 1.
        convert: function that returns the output for bytes or None (key, value), a tuple of headers, a string, or a
            number. By default, strings and numbers are written plainly, headers as `name=value,...`.
        null: output for a null key or value, or for no headers, in place of the result of `convert` and the plan's
            null.
    """

    def __init__(self, name: str, convert: Callable[[Any], bytes] | None = None, null: bytes | None = None) -> None:
        if name not in FIELD_NAMES:
            raise LocalProtocolError(f"{name!r} is not a field of a record: {', '.join(FIELD_NAMES)}")
        self.name = name
        self.convert = convert
        self.null = null


@final
class Step:
    """A field by its code, and the literal before it.

    Attributes: is_number: whether `head_of` and `_LAST_DIGITS` write the field.
    """

    def __init__(
        self, before: bytes, code: i64, convert: Callable[[Any], bytes] | None = None, null: bytes | None = None
    ) -> None:
        self.before = before
        self.code: i64 = code
        self.convert = convert
        self.quoted: QuotedText | None = convert if isinstance(convert, QuotedText) else None
        self.null = null
        self.is_number = code >= OFFSET and convert is None
        self._thousands: i64 = -1
        self._head = b""

    def head_of(self, thousands: i64) -> bytes:
        """Return the literal and a number without its last three digits; the last result is cached."""
        if thousands != self._thousands:
            self._thousands = thousands
            self._head = self.before + str(thousands).encode()
        return self._head


_LAST_DIGITS: Final = [b"%03d" % number for number in range(1000)]


@final
class OutputPlan:
    """Format of output bytes for records, used for many batches.

    Args:
        parts: literal bytes and fields, in the order of output.
        null: output for a null key, value, or header value.
        conditions: conditions that all must hold; otherwise the record is left out.
    """

    def __init__(
        self, parts: Sequence[bytes | OutputField], null: bytes = b"", conditions: Sequence[Condition] = ()
    ) -> None:
        self.parts = list(parts)
        self.null = null
        self.conditions = list(conditions)
        self.value_separator: bytes | None = None if self.conditions else _value_separator(self.parts)

    def steps_for(self, batch: BatchInfo) -> tuple[list[Step], bytes]:
        """Return the fields that differ between records of the batch, and the literal after the last field.

        Other fields become literals. The literal after the last field is also included in the first step.
        """
        steps: list[Step] = []
        literal = b""
        for part in self.parts:
            if isinstance(part, bytes):
                literal += part
            elif part.name in _BATCH_FIELDS:
                value = _BATCH_FIELDS[part.name](batch)
                literal += str(value).encode() if part.convert is None else part.convert(value)
            else:
                steps.append(Step(literal, _RECORD_FIELDS[part.name], part.convert, part.null))
                literal = b""
        if not steps:
            steps.append(Step(b"", NOTHING))
        steps[0].before = literal + steps[0].before
        return steps, literal


def _value_separator(parts: list[bytes | OutputField]) -> bytes | None:
    """Return the literal after each value if the plan has only values, such as `%v\\n`; otherwise None."""
    if not parts or len(parts) > 2:
        return None
    first = parts[0]
    last = parts[1] if len(parts) == 2 else b""
    if not isinstance(first, OutputField) or not isinstance(last, bytes):
        return None
    return last if first.name == "value" and first.convert is None and first.null is None else None


_MOST_READ_BYTES: Final[i64] = 1024 * 1024
"""Size of records after which output is returned; the output may be ten times as large."""
_BLOCK_RECORDS: Final = 64
"""Number of records whose pieces are joined together.

`bytes.join` needs 80 bytes per piece, which should fit in caches.
"""


def read_output(cursor: RecordCursor, plan: OutputPlan, out: list[bytes], limit: i64, count: i64) -> None:
    """Append the output of up to `limit` records to `out`.

    Stops after `_MOST_READ_BYTES`. Large values are several parts. A FieldError of a condition or converter becomes a
    CorruptBatchError.

    Args: count: number of records returned before.
    """
    steps, tail = plan.steps_for(cursor.batch)
    conditions, null = plan.conditions, plan.null
    topic = cursor.batch.topic.encode() if conditions else b""
    wants_headers = any(step.code in (HEADERS, HEADER_COUNT) for step in steps) or any(
        condition.wants_headers for condition in conditions
    )
    headers: tuple[Header, ...] = ()
    first, count_before = len(out), count
    pieces: list[bytes] = []
    block_end, stop_at = limit - _BLOCK_RECORDS, cursor.position + _MOST_READ_BYTES
    mark, out_mark = 0, first
    try:
        while limit > 0 and cursor.position < stop_at and cursor.advance():
            if cursor.value_size > _PART_BYTES and pieces:
                _move(pieces, out)
            mark, out_mark = len(pieces), len(out)
            headers = _headers(cursor) if wants_headers else headers
            if conditions and not all_hold(conditions, topic, cursor, headers):
                cursor.leave_out()
                continue
            for step in steps:
                if step.is_number:
                    _append_number(step, _number(step.code, cursor, headers, count + 1), pieces)
                elif step.code == VALUE and step.quoted is not None and cursor.value_size > _PART_BYTES:
                    _append_large(step, step.quoted, cursor, pieces, out)
                else:
                    pieces.append(step.before)
                    pieces.append(_field(step, cursor, headers, null, count + 1))
            count += 1
            limit -= 1
            if limit == block_end:
                _move(pieces, out)
                block_end = limit - _BLOCK_RECORDS
    except FieldError as error:
        del pieces[mark:], out[out_mark:]
        raise _passed(cursor, str(error), error.__cause__) from error.__cause__
    finally:  # includes the output before damage; pieces of few records may be large and are not copied
        out += pieces if len(pieces) <= _BLOCK_RECORDS else [b"".join(pieces)]
        if count > count_before:
            out[first] = out[first][len(tail) :]
            out.append(tail)


def _append_large(step: Step, quoted: QuotedText, cursor: RecordCursor, pieces: list[bytes], out: list[bytes]) -> None:
    pieces.append(step.before)
    _move(pieces, out)
    value_at, end = cursor.value_at, cursor.value_at + cursor.value_size
    out.extend(quoted.parts(cursor.buf, value_at, end) or [quoted.of(cursor.buf[value_at:end])])


def _move(pieces: list[bytes], out: list[bytes]) -> None:
    out.append(b"".join(pieces))
    pieces.clear()


def _append_number(step: Step, number: i64, pieces: list[bytes]) -> None:
    if number >= 1000:
        thousands = number // 1000
        pieces.append(step.head_of(thousands))
        pieces.append(_LAST_DIGITS[number - 1000 * thousands])
    else:
        pieces.append(step.before)
        pieces.append(str(number).encode())


def _headers(cursor: RecordCursor) -> tuple[Header, ...]:
    try:
        return parse_headers(cursor.raw_headers())
    except (IndexError, FieldError) as error:
        raise _passed(cursor, f"headers: {error}") from None


def _passed(cursor: RecordCursor, problem: str, cause: BaseException | None = None) -> CorruptBatchError:
    """Return the error for the current record; reading can continue after it."""
    resume_offset = cursor.next_offset
    problem = f"offset {cursor.offset}: {problem}"
    cursor.give_back()
    error = cursor.damaged(problem)
    error.__cause__ = cause  # compiled modules ignore the cause in `raise ... from`
    error.resume_offset = resume_offset
    return error


def _field(step: Step, cursor: RecordCursor, headers: tuple[Header, ...], null: bytes, count: i64) -> bytes:
    code = step.code
    convert = step.convert
    if code in (KEY, VALUE):
        data = cursor.key() if code == KEY else cursor.value()
        if data is None and step.null is not None:
            return step.null
        if convert is None:
            return null if data is None else data
        quoted = step.quoted
        return quoted.of(data) if quoted is not None and data is not None else convert(data)
    if code == HEADERS:
        if not headers and step.null is not None:
            return step.null
        return convert(headers) if convert is not None else _plain_headers(headers, null)
    if convert is None:  # NOTHING; numbers without a converter are written elsewhere
        return b""
    return convert(_number(code, cursor, headers, count))


def _number(code: i64, cursor: RecordCursor, headers: tuple[Header, ...], count: i64) -> i64:
    if code == OFFSET:
        return cursor.offset
    if code == TIMESTAMP:
        return cursor.timestamp_ms
    if code == KEY_SIZE:
        return max(cursor.key_size, 0)
    if code == VALUE_SIZE:
        return max(cursor.value_size, 0)
    if code == HEADER_COUNT:
        return len(headers)
    return count


def _plain_headers(headers: tuple[Header, ...], null: bytes) -> bytes:
    return b",".join(
        [name.encode("utf-8", "surrogateescape") + b"=" + (null if value is None else value) for name, value in headers]
    )
