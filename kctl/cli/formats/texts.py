"""Text formats of bytes: base64, and JSON from which the bytes can be restored."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable, Sequence
from io import BytesIO
from json.encoder import encode_basestring, encode_basestring_ascii

from kctl.client.records import MOST_JSON_BYTES, FieldError, Header, QuotedText

PART_BYTES = 1024 * 1024
TextForm = Callable[[bytes], bytes]


def base64_raw(data: bytes) -> bytes:
    return b64encode(data).rstrip(b"=")


def base64_between(before: bytes, data: bytes, behind: bytes) -> bytes:
    """Return base64 between two literals, without a second copy of large data."""
    out = BytesIO()
    out.write(before)
    for at in range(0, len(data), 3 * PART_BYTES):
        out.write(b64encode(data[at : at + 3 * PART_BYTES]))
    out.write(behind)
    return out.getvalue()


def header_name_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


class JsonForm:
    """Conversion of bytes to JSON: a string if the bytes are UTF-8, otherwise `{"base64":"..."}`.

    Args:
        is_ascii: escape non-ASCII characters, because some of them are control characters.
        most_bytes: maximum JSON size of a key, value or header.
        part_bytes: size above which data is escaped in parts.
    """

    def __init__(self, *, is_ascii: bool, most_bytes: int = MOST_JSON_BYTES, part_bytes: int = PART_BYTES) -> None:
        self._quote = encode_basestring_ascii if is_ascii else encode_basestring
        self._most_bytes = most_bytes
        self._part_bytes = part_bytes
        self.text = QuotedText(self._escaped, most_bytes, part_bytes)
        """Writes text, such as header values."""
        self.key: Callable[[bytes | None], bytes] = self.text
        """Writes keys; `value` writes values."""
        self.value: Callable[[bytes | None], bytes] = self.text

    def _escaped(self, data: bytes) -> bytes:
        if len(data) > self._part_bytes:
            parts = self.text.parts(data, 0, len(data))  # one `str` may take four bytes for each character
            return b"".join(parts) if parts else self._base64(data)
        try:
            quoted: str = self._quote(data.decode())
        except UnicodeDecodeError:
            return self._base64(data)
        return quoted.encode()

    def _base64(self, data: bytes) -> bytes:
        if len(data) // 3 * 4 > self._most_bytes:
            raise FieldError(f"the field of {len(data)} bytes is larger than {self._most_bytes} bytes in JSON")
        return base64_between(b'{"base64":"', data, b'"}')

    def headers(self, headers: Sequence[Header]) -> bytes:
        if not headers:
            return b"[]"
        text = self.text
        return b"[%b]" % b",".join(b"[%b,%b]" % (text(header_name_bytes(name)), text(data)) for name, data in headers)


TEXT_FORMS: dict[str, TextForm] = {"hex": hexlify, "base64": b64encode, "base64raw": base64_raw}
"""Formats by modifier, without `json` and `unpack`."""
