"""Conversion of template fields into output fields of `kctl.client.records`."""

from collections.abc import Callable, Sequence

from kctl.cli.formats.decoded import NOT_DECODED, Sides, decoded_or
from kctl.cli.formats.numbers import ascii_number
from kctl.cli.formats.output import ChunkField, Part
from kctl.cli.formats.template import Attribute, Convert, Field, Template, Verb
from kctl.cli.formats.texts import JsonForm, header_name_bytes
from kctl.client.records import CODEC_IDS, Header, OutputField
from kctl.client.wording import harmless_bytes

_NUMBERS: dict[Verb, str] = {
    Verb.KEY_BYTES: "key_size",
    Verb.VALUE_BYTES: "value_size",
    Verb.TOPIC_BYTES: "topic_size",
    Verb.HEADER_COUNT: "header_count",
    Verb.PARTITION: "partition",
    Verb.OFFSET: "offset",
    Verb.LEADER_EPOCH: "leader_epoch",
    Verb.TIMESTAMP: "timestamp",
    Verb.PRODUCER_ID: "producer_id",
    Verb.PRODUCER_EPOCH: "producer_epoch",
    Verb.COUNT: "count",
}
_OF_A_CHUNK: dict[Verb, str] = {
    Verb.LOG_START_OFFSET: "log_start_offset",
    Verb.LAST_STABLE_OFFSET: "last_stable_offset",
    Verb.HIGH_WATERMARK: "high_watermark",
}
_TIMESTAMP_TYPES = {"none": -1, "create_time": 0, "log_append_time": 1}
"""Numbers of rpk and kcl."""

PRINTED_OFFSETS: tuple[Part, ...] = (
    b"Partition:",
    OutputField("partition"),
    b"\tOffset:",
    OutputField("offset"),
    b"\t",
)
"""Output of `--print-offsets`, as in Kafka's console consumer."""

HeaderStep = Callable[[bytes, bytes | None], bytes]


def template_parts(template: Template, *, null: bytes, for_terminal: bool, sides: Sides = NOT_DECODED) -> list[Part]:
    """Return the output parts of each record.

    Args:
        null: output for a null key, value or header value.
        for_terminal: escape control characters in record data, but not in literals of the template.
        sides: decoders. %k and %v are then decoded JSON, but with a modifier such as {hex} the bytes of the record.
    """
    forms = _Forms(null, sides, for_terminal=for_terminal)
    return [part if isinstance(part, bytes) else forms.part(part) for part in template]


class _Forms:
    def __init__(self, null: bytes, sides: Sides, *, for_terminal: bool) -> None:
        self._null = null
        self._sides = sides
        self._for_terminal = for_terminal
        self._json = JsonForm(is_ascii=for_terminal)

    def part(self, field: Field) -> Part:
        verb = field.verb
        if verb in _NUMBERS:
            return OutputField(_NUMBERS[verb], self._safe(field.convert))
        if verb in _OF_A_CHUNK:
            return ChunkField(_OF_A_CHUNK[verb], self._safe(field.convert) or ascii_number)
        if verb is Verb.HEADERS:
            steps = [self._header_step(part) for part in field.parts]
            return OutputField("headers", lambda headers: _write_headers(steps, headers))
        if verb is Verb.ATTRIBUTE:
            return self._attribute(field)
        write = self._text(field)
        if verb is Verb.TOPIC:
            return OutputField("topic", None if write is None else _of_text(write))
        name, side = ("key", self._sides.key) if verb is Verb.KEY else ("value", self._sides.value)
        if field.is_schema:
            return b"" if side is None else OutputField(name, side.schema_id, b"")
        if side is not None and field.convert is None:
            write = decoded_or(side, write)
        null = b"null" if field.is_json else self._null
        return OutputField(name, write, None if write is None else null)

    def _safe(self, convert: Convert | None) -> Convert | None:
        """Return a format that also escapes control characters if the output is a terminal."""
        if convert is None or not self._for_terminal:
            return convert
        return lambda given: harmless_bytes(convert(given))

    def _text(self, field: Field) -> Convert | None:
        if field.is_json:
            return self._json.text
        if field.convert is None:
            return harmless_bytes if self._for_terminal else None
        return self._safe(field.convert)

    def _attribute(self, field: Field) -> Part:
        convert = self._safe(field.convert)
        number = convert or ascii_number
        if field.attribute is Attribute.COMPRESSION:
            return OutputField("compression", None if convert is None else lambda name: number(CODEC_IDS[name]))
        if field.attribute is Attribute.TIMESTAMP_TYPE:
            return OutputField("timestamp_type", lambda name: number(_TIMESTAMP_TYPES[name]))
        if field.attribute is Attribute.TRANSACTIONAL:
            return OutputField("is_transactional", number)
        return number(0)  # control records are never returned

    def _header_step(self, part: bytes | Field) -> HeaderStep:
        if isinstance(part, bytes):
            return lambda _name, _value: part
        verb, number = part.verb, self._safe(part.convert) or ascii_number
        if verb is Verb.KEY_BYTES:
            return lambda name, _value: number(len(name))
        if verb is Verb.VALUE_BYTES:
            return lambda _name, value: number(len(value or b""))
        write = self._text(part) or bytes
        if verb is Verb.KEY:
            return lambda name, _value: write(name)
        null = b"null" if part.is_json else self._null
        return lambda _name, value: null if value is None else write(value)


def _of_text(write: Convert) -> Convert:
    return lambda text: write(text.encode())


def _write_headers(steps: Sequence[HeaderStep], headers: Sequence[Header]) -> bytes:
    return b"".join([step(header_name_bytes(name), value) for name, value in headers for step in steps])
