"""Parser of JSON values, for lines of `-i jsonl` and `%v{json}` in templates.

It reverses kctl.cli.formats.texts.JsonForm: strings are UTF-8, `{"base64":"..."}` is bytes, and null is null.
"""

import binascii
import json
import re
from base64 import b64decode
from collections import Counter
from typing import Any

_STRING_REST = re.compile(rb'(?:[^"\\]|\\.)*', re.DOTALL)
_UNTIL_TOKEN = re.compile(rb'[^"\[\]{}]*')
_SCALAR = re.compile(rb"[-+.0-9a-zA-Z]*")
_SPACE = re.compile(rb"[ \t\r\n]*")


class JsonError(ValueError):
    """Invalid or unexpected JSON; `at`: index of the byte."""

    def __init__(self, problem: str, at: int = 0) -> None:
        super().__init__(problem)
        self.at = at


class JsonScan:
    """Search for the end of a JSON value in a growing buffer. Each byte is scanned once."""

    def __init__(self) -> None:
        self._seen = 0
        self._depth = 0
        self._in_string = False
        self._is_scalar: bool | None = None

    def __call__(self, buffer: bytearray, start: int, *, is_whole: bool) -> int | None:
        """Return the size of the value with leading white space, or None if the value is incomplete."""
        if self._is_scalar is None:
            self._seen = self._match(_SPACE, buffer, start)
            first = bytes(buffer[start + self._seen : start + self._seen + 1])
            if not first:
                return None
            self._is_scalar = first not in b'"[{'
        if self._is_scalar:
            self._seen = self._match(_SCALAR, buffer, start)
            return self._seen if is_whole or start + self._seen < len(buffer) else None
        return self._find_end(buffer, start)

    def _find_end(self, buffer: bytearray, start: int) -> int | None:
        while start + self._seen < len(buffer):
            if self._in_string:
                self._seen = self._match(_STRING_REST, buffer, start)
                if buffer[start + self._seen : start + self._seen + 1] != b'"':
                    return None
                self._in_string = False
            else:
                self._seen = self._match(_UNTIL_TOKEN, buffer, start)
                token = buffer[start + self._seen : start + self._seen + 1]
                if not token:
                    return None
                self._in_string = token == b'"'
                self._depth += 1 if token in b"[{" else -1 if token in b"]}" else 0
            self._seen += 1
            if self._depth <= 0 and not self._in_string:
                return self._seen
        return None

    def _match(self, pattern: re.Pattern[bytes], buffer: bytearray, start: int) -> int:
        found = pattern.match(buffer, start + self._seen)
        assert found is not None, "the patterns do not match"
        return found.end() - start


def parse_json(data: bytes) -> Any:
    """Parse JSON.

    Raises: JsonError: JSON is invalid or nested too deeply, or has duplicate names or a number with too many digits.
    """
    try:
        text = data.decode()
    except UnicodeDecodeError as e:
        raise JsonError("the line is not UTF-8", e.start) from None
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as e:
        raise JsonError(f"not valid JSON: {e.msg[:1].lower()}{e.msg[1:]}", len(text[: e.pos].encode())) from None
    except JsonError:
        raise
    except RecursionError:
        raise JsonError("unsupported JSON: nested too deeply") from None
    except ValueError:
        raise JsonError("unsupported JSON: a number has too many digits") from None


def bytes_of(value: Any) -> bytes | None:
    """Return the bytes of a parsed string, null, or `{"base64":"..."}`. Raises: JsonError: another value."""
    if value is None:
        return None
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError:
            raise JsonError("half of a surrogate pair is not valid text: write the bytes as base64") from None
    if isinstance(value, dict) and list(value) == ["base64"] and isinstance(value["base64"], str):
        try:
            return b64decode(value["base64"], validate=True)
        except (binascii.Error, ValueError) as e:
            raise JsonError(f"not valid base64: {e}") from None
    raise JsonError(f'expected a string, null, or {{"base64":"..."}}, found {show_json(value)}')


def show_json(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:37]}..."


def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with these members. Raises: JsonError: a name appears twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise JsonError(f"{json.dumps(twice)} appears twice")
    return found


def _refuse_constant(name: str) -> Any:
    raise JsonError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=distinct, parse_constant=_refuse_constant)
"""Shared decoder: creating one costs as much as decoding a value."""
