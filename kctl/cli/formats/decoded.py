"""Interfaces of decoders for the formats, free of heavy imports."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

from kctl.cli.formats.texts import JsonForm
from kctl.client.records import Condition, QuotedText


class DecodedSide(Protocol):
    """Decoder of keys or of values."""

    @property
    def failed(self) -> int:
        """Return the number of values that could not be decoded."""
        ...

    def conditions(self) -> list[Condition]:
        """Return conditions that must be checked first on each record."""
        ...

    def json(self, data: bytes) -> bytes | None:
        """Return the decoded value as JSON, or None if it cannot be decoded."""
        ...

    def peek(self, data: bytes) -> bytes | None:
        """Return the decoded value as JSON, or None. Failures are not counted, since keys are tried as values."""
        ...

    def schema(self, data: bytes) -> bytes: ...

    def schema_id(self, data: bytes) -> bytes: ...


class Sides(NamedTuple):
    """Decoders of keys and values; None leaves them unchanged."""

    key: DecodedSide | None = None
    value: DecodedSide | None = None

    @property
    def decodes(self) -> bool:
        return self.key is not None or self.value is not None


NOT_DECODED = Sides()


class DecodedForm(JsonForm):
    """JSON form of decoded keys and values. Parts without a decoder are strings or base64."""

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
    """Return a function that writes decoded JSON.

    Args: write: writes data that cannot be decoded; None to leave it unchanged.
    """
    return _json_or(side, write or bytes)


def _json_or(side: DecodedSide | None, write: Callable[[bytes], bytes]) -> Callable[[bytes], bytes]:
    if side is None:
        return write

    def convert(data: bytes) -> bytes:
        json = side.json(data)
        return write(data) if json is None else json

    return convert


def decoded_texts(sides: Sides, subject: str, data: bytes) -> list[bytes]:
    """Return the texts that a condition searches: decoded JSON, or `data` if nothing can be decoded."""
    if subject == "key_or_value":
        found = [side.peek(data) for side in (sides.value, sides.key) if side is not None]
    else:
        side = {"key": sides.key, "value": sides.value}.get(subject)
        found = [] if side is None else [side.json(data)]
    return [text for text in found if text is not None] or [data]
