"""What decodes keys and values while records are printed, as the formats see it.

Imports no format of values; kctl/cli/decode/decoding.py makes the sides.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kctl.cli.formats.texts import JsonForm
from kctl.client.records import Condition, QuotedText


class DecodedSide(Protocol):
    """The keys or the values."""

    @property
    def failed(self) -> int:
        """How many could not be decoded."""
        ...

    def conditions(self) -> list[Condition]:
        """Return what each record must be shown to first."""
        ...

    def json(self, data: bytes) -> bytes | None:
        """Return the decoded value as JSON; None where it is not decoded."""
        ...

    def peek(self, data: bytes) -> bytes | None:
        """Return the same of data that may be of the other side; a failure does not count."""
        ...

    def schema(self, data: bytes) -> bytes:
        """Return the schema as JSON."""
        ...

    def schema_id(self, data: bytes) -> bytes:
        """Return the schema's id."""
        ...


class Sides(NamedTuple):
    """What decodes keys, and what decodes values; None: they are as they are."""

    key: DecodedSide | None = None
    value: DecodedSide | None = None

    @property
    def decodes(self) -> bool:
        """Whether anything is decoded."""
        return self.key is not None or self.value is not None


NOT_DECODED = Sides()


class DecodedForm(JsonForm):
    """The decoded JSON of keys and values; text or base64 of what is not decoded."""

    def __init__(self, sides: Sides, *, is_ascii: bool) -> None:
        super().__init__(is_ascii=is_ascii)
        self.key = _json_or_null(sides.key, self.text)
        self.value = _json_or_null(sides.value, self.text)


def _json_or_null(side: DecodedSide | None, text: QuotedText) -> Callable[[bytes | None], bytes]:
    if side is None:
        return text
    convert = _json_or(side, text.of)
    return lambda data: text(None) if data is None else convert(data)


def decoded_or(side: DecodedSide, write: Callable[[bytes], bytes] | None) -> Callable[[bytes], bytes]:
    """Return what writes the decoded JSON, and what is not decoded by `write`, or as it is."""
    return _json_or(side, write or bytes)


def _json_or(side: DecodedSide | None, write: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    if side is None:
        return write

    def convert(data: bytes) -> bytes:
        json = side.json(data)
        return write(data) if json is None else json

    return convert


def decoded_texts(sides: Sides, subject: str, data: bytes) -> list[bytes]:
    """Return what a condition on a subject, of those of `Condition`, is to search: the decoded JSON, or the bytes."""
    if subject == "key_or_value":
        found = [side.peek(data) for side in (sides.value, sides.key) if side is not None]
    else:
        side = {"key": sides.key, "value": sides.value}.get(subject)
        found = [] if side is None else [side.json(data)]
    return [text for text in found if text is not None] or [data]
