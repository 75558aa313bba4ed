"""Reader of `produce -f` templates: delimited fields, sized fields (`%V{big32}%v`) and JSON (`%v{json}`).

A field ends at the next literal, unless its length precedes it or it is JSON. `%t %p %d` set topic, partition and
timestamp; other numbers are ignored.

Differs from rpk and kcl: `{json}` reads `{"base64":"..."}` as bytes, and lengths count bytes of data, not of hex or
base64.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.template import Field, Template, Verb, parse_template
from kctl.cli.formats.template_error import TemplateError
from kctl.cli.input.field_reading import NUMBER_READERS, OPEN_NUMBERS, TEXT_READERS
from kctl.cli.input.form import InputRecord
from kctl.cli.input.input_bytes import BytesRead, InputBytes, Source, show_bytes
from kctl.cli.input.json_values import JsonError, JsonScan, bytes_of, parse_json
from kctl.client.records import Header

ROOM = 8
"""Maximum ratio of a text to max.request.size: hex, base64 and escapes need more bytes."""

_LENGTHS = {Verb.TOPIC_BYTES: Verb.TOPIC, Verb.KEY_BYTES: Verb.KEY, Verb.VALUE_BYTES: Verb.VALUE}
_TEXTS = {text: length for length, text in _LENGTHS.items()}
_MOST_HEADERS = 1_000_000
_MOST_PARTITION = 2**31 - 1
_LEAST_TIMESTAMP, _MOST_TIMESTAMP = -(2**63), 2**63 - 1


class InputTemplate(NamedTuple):
    parts: Template
    null: bytes | None

    @property
    def has_topic(self) -> bool:
        return any(isinstance(part, Field) and part.verb is Verb.TOPIC for part in self.parts)


def parse_input_template(text: str, null: bytes | None = None) -> InputTemplate:
    """Return a template for reading.

    Args: null: text that represents null in keys, values and header values without a length.
    Raises: TemplateError: the template is invalid, or the end of a field is ambiguous.
    """
    parts = parse_template(text, _check)
    if not parts:
        raise TemplateError("the template is empty: use %v for the value", text, 0, 1)
    if all(isinstance(part, bytes) for part in parts):
        raise TemplateError("the template has no verb: use %v for the value", text, 0, len(text))
    last = parts[-1]
    if isinstance(last, Field) and last.verb is Verb.HEADERS and not _has(parts, Verb.HEADER_COUNT):
        raise TemplateError(_headers_end(), text, len(text) - 1, 1)
    return InputTemplate(parts, null)


def _check(field: Field, before: Sequence[bytes | Field], *, inside_header: bool) -> str:
    """Return why a field after the parts `before` cannot be read, or ""."""
    letter = field.verb.value
    if field.verb is Verb.ATTRIBUTE or field.form in ("strftime", "unpack"):
        return f"%{letter}{{{field.form or '...'}}} is supported only for output"
    if _has(before, field.verb):
        return f"%{letter} appears twice"
    text = _LENGTHS.get(field.verb)
    if text is not None and _has(before, text):
        return f"%{letter} must come before %{text.value}: it is the length of %{text.value}"
    if field.verb is Verb.HEADER_COUNT and _has(before, Verb.HEADERS):
        return "%H must come before %h: it is the number of headers"
    last = before[-1] if before else b""
    if isinstance(last, Field) and (why := _open_end(last, before[:-1])):
        return f"{why}, or a delimiter between %{last.verb.value} and %{letter}"
    if field.verb is Verb.HEADERS:
        if not field.parts:
            return "%h{} has no verbs: use %k for header names and %v for header values"
        inner = field.parts[-1]
        if isinstance(inner, Field) and (why := _open_end(inner, field.parts[:-1])):
            return f"{why}, or a delimiter after %{inner.verb.value} inside %h{{...}}"
        if not inside_header and not _has(field.parts, Verb.KEY):
            return "%h{...} needs %k for the names of headers"
    return ""


def _open_end(field: Field, before: Sequence[bytes | Field]) -> str:
    """Return how to define the end of `field` if its end is unknown, or ""."""
    verb = field.verb
    if verb in _TEXTS:
        if field.is_json or _has(before, _TEXTS[verb]):
            return ""
        return f"the end of %{verb.value} is unknown: put the length %{_TEXTS[verb].value} before %{verb.value}"
    if verb is Verb.HEADERS:
        return "" if _has(before, Verb.HEADER_COUNT) else _headers_end()
    open_number = field.form in OPEN_NUMBERS
    return f"the end of %{verb.value} is unknown: add a size such as {{big32}}" if open_number else ""


def _headers_end() -> str:
    return "the end of the headers is unknown: put the number of headers %H before %h"


def _has(parts: Sequence[bytes | Field], verb: Verb) -> bool:
    return any(isinstance(part, Field) and part.verb is verb for part in parts)


class _Found:
    def __init__(self) -> None:
        self.texts: dict[Verb, bytes | None] = {}
        self.numbers: dict[Verb, int] = {}
        self.headers: list[Header] = []


Step = Callable[[InputBytes, _Found], None]


class TemplateReader:
    def __init__(self, template: InputTemplate, longest_bytes: int) -> None:
        self._null = template.null
        self._longest_bytes = longest_bytes
        self._steps = self._steps_of(template.parts)
        self._has_lines = _has_lines(template.parts)

    def read(self, source: Source, name: str, progress: BytesRead | None = None) -> Iterator[InputRecord]:
        """Yield the records of one stream.

        Raises: CommandError: the input does not match the template. The message contains record, line and byte.
        """
        stream = InputBytes(source, name, self._longest_bytes * ROOM, progress)
        number = 0
        while stream.has_more():
            number += 1
            stream.mark()
            offset = stream.offset
            found = _Found()
            try:
                for step in self._steps:
                    step(stream, found)
                record = _record(f"{name} record {number} (byte {offset})", found)
            except CommandError as e:
                line = f"line {stream.marked_line()}, " if self._has_lines else ""
                raise CommandError(e.code, f"{name} record {number} ({line}byte {offset}): {e}", e.hint) from None
            yield record

    # --- steps ----------------------------------------------------------------------------------------------------

    def _steps_of(self, parts: Template, *, inside_header: bool = False) -> list[Step]:
        steps: list[Step] = []
        pending: Field | None = None
        for position, part in enumerate(parts):
            is_last = position == len(parts) - 1 and not inside_header
            if isinstance(part, Field) and self._ends_at_literal(part, parts[:position]):
                pending = part
                if is_last:
                    steps.append(self._text_up_to(part, None, is_last=True))
            elif isinstance(part, Field):
                following = parts[position + 1] if position + 1 < len(parts) else b""
                steps.append(self._field(part, following if isinstance(following, bytes) else b""))
            elif pending is not None:
                steps.append(self._text_up_to(pending, part, is_last=is_last))
                pending = None
            else:
                steps.append(_literal(part, is_last=is_last))
        return steps

    @staticmethod
    def _ends_at_literal(field: Field, before: Template) -> bool:
        return field.verb in _TEXTS and bool(_open_end(field, before))

    def _field(self, field: Field, following: bytes) -> Step:
        verb, what = field.verb, f"%{field.verb.value}"
        if verb is Verb.HEADERS:
            return self._headers(self._steps_of(field.parts, inside_header=True), following)
        if field.is_json:
            return _json(verb, what)
        if verb in _TEXTS:
            return self._sized_text(field, what)
        read = NUMBER_READERS[field.form]

        def step(stream: InputBytes, found: _Found) -> None:
            found.numbers[verb] = read(stream, what)

        return step

    def _text_up_to(self, field: Field, delimiter: bytes | None, *, is_last: bool) -> Step:
        verb, what, decode = field.verb, f"%{field.verb.value}", TEXT_READERS[field.form].decode

        def step(stream: InputBytes, found: _Found) -> None:
            at = stream.offset
            text = None if delimiter is None else stream.read_until(delimiter)
            if text is None:
                if not is_last:
                    assert delimiter is not None
                    raise stream.bad(f"the input ends inside {what}, before {show_bytes(delimiter)}")
                text = stream.read_rest()
            is_null = text == self._null
            found.texts[verb] = None if is_null else _decoded(stream, at, what, field.form, decode, text)

        return step

    def _sized_text(self, field: Field, what: str) -> Step:
        verb, length, form = field.verb, _TEXTS[field.verb], TEXT_READERS[field.form]

        def step(stream: InputBytes, found: _Found) -> None:
            size = found.numbers[length]
            if not 0 <= size <= self._longest_bytes:
                allowed = f"0 to {self._longest_bytes} (max.request.size)"
                raise stream.bad(f"invalid length of {what}: %{length.value} is {size}, use {allowed}")
            at = stream.offset
            text = stream.read(form.size(size))
            if text is None:
                raise stream.bad(f"the input ends inside {what}, which has {size} bytes")
            found.texts[verb] = _decoded(stream, at, what, field.form, form.decode, text)

        return step

    def _headers(self, steps: Sequence[Step], following: bytes) -> Step:
        def read_one(stream: InputBytes, found: _Found) -> None:
            header = _Found()
            for step in steps:
                step(stream, header)
            name = header.texts[Verb.KEY]
            if name is None:
                raise stream.bad("a header needs a name")
            found.headers.append((name.decode("utf-8", "surrogateescape"), header.texts.get(Verb.VALUE)))
            if len(found.headers) > _MOST_HEADERS:
                raise stream.bad(f"the record has more than {_MOST_HEADERS} headers")

        def step(stream: InputBytes, found: _Found) -> None:
            count = found.numbers.get(Verb.HEADER_COUNT)
            if count is None:
                while not stream.starts_with(following) and stream.has_more():
                    read_one(stream, found)
                return
            if not 0 <= count <= _MOST_HEADERS:
                raise stream.bad(f"invalid number of headers: %H is {count}, use 0 to {_MOST_HEADERS}")
            for _ in range(count):
                read_one(stream, found)

        return step


def _literal(text: bytes, *, is_last: bool) -> Step:
    def step(stream: InputBytes, _found: _Found) -> None:
        if stream.starts_with(text):
            stream.read(len(text))
        elif not is_last or stream.has_more():  # the last record needs no final literal
            raise stream.bad(f"expected {show_bytes(text)} here")

    return step


def _json(verb: Verb, what: str) -> Step:
    def step(stream: InputBytes, found: _Found) -> None:
        at = stream.offset
        text = stream.read_scanned(JsonScan())
        if text is None:
            raise stream.bad(f"the input ends inside the JSON of {what}")
        try:
            value = parse_json(text)
            plain = value is None or isinstance(value, str) or (isinstance(value, dict) and list(value) == ["base64"])
            found.texts[verb] = bytes_of(value) if plain else text.strip()
        except JsonError as e:
            raise stream.bad(f"{what}: {e}", at + e.at) from None

    return step


def _decoded(stream: InputBytes, at: int, what: str, form: str, decode: Callable[[bytes], bytes], text: bytes) -> bytes:
    try:
        return decode(text)
    except ValueError as e:
        raise stream.bad(f"{what} is not valid {form}: {e}", at) from None


def _has_lines(parts: Template) -> bool:
    return any(b"\n" in part if isinstance(part, bytes) else _has_lines(part.parts) for part in parts)


def _record(place: str, found: _Found) -> InputRecord:
    topic = found.texts.get(Verb.TOPIC)
    return InputRecord(
        place,
        found.texts.get(Verb.VALUE),
        found.texts.get(Verb.KEY),
        tuple(found.headers),
        None if topic is None else topic.decode("utf-8", "surrogateescape"),
        _bounded(found, Verb.PARTITION, _MOST_PARTITION),
        _bounded(found, Verb.TIMESTAMP, _MOST_TIMESTAMP),
    )


def _bounded(found: _Found, verb: Verb, most: int) -> int | None:
    number = found.numbers.get(verb)
    least = _LEAST_TIMESTAMP if verb is Verb.TIMESTAMP else 0
    if number is None or least <= number <= most:
        return number
    raise CommandError(ExitCode.DATA, f"%{verb.value} is {number}: use {least} to {most}")
