"""The ways bytes are written as text: hex, base64, and JSON that keeps every byte."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable, Sequence
from io import BytesIO
from json.encoder import encode_basestring, encode_basestring_ascii

from kctl.client.records import MOST_JSON_BYTES, FieldError, Header, QuotedText

PART_BYTES = 1024 * 1024
TextForm = Callable[[bytes], bytes]


def base64_raw(data: bytes) -> bytes:
    """Return base64 without the padding."""
    return b64encode(data).rstrip(b"=")


def base64_between(before: bytes, data: bytes, behind: bytes) -> bytes:
    """Return base64 between two literals; of large data without a second copy."""
    out = BytesIO()
    out.write(before)
    for at in range(0, len(data), 3 * PART_BYTES):
        out.write(b64encode(data[at : at + 3 * PART_BYTES]))
    out.write(behind)
    return out.getvalue()


def header_name_bytes(name: str) -> bytes:
    """Return a header's name as it is on the wire."""
    return name.encode("utf-8", "surrogateescape")


class JsonForm:
    """Bytes as one JSON value: text where they are UTF-8, else `{"base64":"..."}`; null is null.

    Args:
        is_ascii: write all but ASCII as escapes, since JSON leaves some control characters bare.
        most_bytes: the largest JSON of one key, value or header.
        part_bytes: more bytes than this are escaped in parts.
    """

    def __init__(self, *, is_ascii: bool, most_bytes: int = MOST_JSON_BYTES, part_bytes: int = PART_BYTES) -> None:
        self._quote = encode_basestring_ascii if is_ascii else encode_basestring
        self._most_bytes = most_bytes
        self._part_bytes = part_bytes
        self.text = QuotedText(self._escaped, most_bytes, part_bytes)
        """Writes bytes that are a text, such as a header's."""
        self.key: Callable[[bytes | None], bytes] = self.text
        """Writes a record's key; `value` its value."""
        self.value: Callable[[bytes | None], bytes] = self.text

    def _escaped(self, data: bytes) -> bytes:
        if len(data) > self._part_bytes:
            parts = self.text.parts(data, 0, len(data))  # a `str` of all of it may take four bytes for each letter
            return b"".join(parts) if parts else self._base64(data)
        try:
            quoted: str = self._quote(data.decode())
        except UnicodeDecodeError:
            return self._base64(data)
        return quoted.encode()

    def _base64(self, data: bytes) -> bytes:
        if len(data) // 3 * 4 > self._most_bytes:
            raise FieldError(f"{len(data)} bytes are more than {self._most_bytes} bytes as JSON")
        return base64_between(b'{"base64":"', data, b'"}')

    def headers(self, headers: Sequence[Header]) -> bytes:
        """Return all headers as an array of arrays of two."""
        if not headers:
            return b"[]"
        text = self.text
        return b"[%b]" % b",".join(b"[%b,%b]" % (text(header_name_bytes(name)), text(data)) for name, data in headers)


TEXT_FORMS: dict[str, TextForm] = {"hex": hexlify, "base64": b64encode, "base64raw": base64_raw}
"""By modifier; `json` and `unpack` are besides."""
