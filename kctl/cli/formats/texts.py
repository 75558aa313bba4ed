"""The ways bytes are written as text: hex, base64, and JSON that keeps every byte."""

from base64 import b64encode
from binascii import hexlify
from collections.abc import Callable, Sequence
from json.encoder import encode_basestring, encode_basestring_ascii

from kctl.client.records import Header, QuotedText

TextForm = Callable[[bytes], bytes]


def base64_raw(data: bytes) -> bytes:
    """Return base64 without the padding."""
    return b64encode(data).rstrip(b"=")


def header_name_bytes(name: str) -> bytes:
    """Return a header's name as it is on the wire."""
    return name.encode("utf-8", "surrogateescape")


class JsonForm:
    """Bytes as one JSON value: text where they are UTF-8, else `{"base64":"..."}`; null is null.

    Args: is_ascii: write all but ASCII as escapes, since JSON leaves some control characters bare.
    """

    def __init__(self, *, is_ascii: bool) -> None:
        self._quote = encode_basestring_ascii if is_ascii else encode_basestring
        self.text = QuotedText(self._escaped)
        """Writes bytes that are a text, such as a header's."""
        self.key: Callable[[bytes | None], bytes] = self.text
        """Writes a record's key; `value` its value."""
        self.value: Callable[[bytes | None], bytes] = self.text

    def _escaped(self, data: bytes) -> bytes:
        try:
            quoted: str = self._quote(data.decode())
        except UnicodeDecodeError:
            return b'{"base64":"%b"}' % b64encode(data)
        return quoted.encode()

    def headers(self, headers: Sequence[Header]) -> bytes:
        """Return all headers as an array of arrays of two."""
        if not headers:
            return b"[]"
        text = self.text
        return b"[%b]" % b",".join(b"[%b,%b]" % (text(header_name_bytes(name)), text(data)) for name, data in headers)


TEXT_FORMS: dict[str, TextForm] = {"hex": hexlify, "base64": b64encode, "base64raw": base64_raw}
"""By modifier; `json` and `unpack` are besides."""
