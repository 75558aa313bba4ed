"""JSON text of decoded values."""

import json
import math
from typing import Any

from kctl.client.records import MOST_JSON_BYTES
from kctl.serdes.errors import DecodeError, EncodeError, SerdesError


def show_json(value: Any, *, is_ascii: bool = False) -> str:
    """Return a value as compact JSON, with NaN and infinities as strings, as in Protobuf and Avro.

    Args:
        is_ascii: escape non-ASCII characters, for a terminal. Lone surrogates are always escaped.
    Raises: SerdesError: the value is nested too deeply.
    """
    try:
        return _text_of(value, is_ascii=is_ascii)
    except RecursionError:
        raise SerdesError("the value is nested too deeply") from None


def _text_of(value: Any, *, is_ascii: bool) -> str:
    try:
        text = json.dumps(value, ensure_ascii=is_ascii, allow_nan=False, separators=(",", ":"))
    except ValueError:
        value = _finite(value)
        text = json.dumps(value, ensure_ascii=is_ascii, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        text = json.dumps(value, separators=(",", ":"))
    return text


def check_json_size(value: Any) -> None:
    """Raise DecodeError if the approximate size of a value as JSON is too large.

    JSON repeats the names of fields and symbols, so it can be much larger than the data.
    """
    size_bytes = 0
    left = [value]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            size_bytes += sum(map(len, value)) + 4 * len(value)
            left += value.values()
        elif isinstance(value, list | tuple):
            size_bytes += len(value)
            left += value
        else:
            size_bytes += len(value) if isinstance(value, str) else 4
        if size_bytes > MOST_JSON_BYTES:
            raise DecodeError(f"the value is larger than {MOST_JSON_BYTES >> 20} MiB as JSON")


def parse_json(data: bytes) -> Any:
    """Return the value of JSON in UTF-8. Raise ValueError or RecursionError if it is not JSON.

    json.loads would also accept UTF-16 and UTF-32, and read bytes with a schema ID as text.
    """
    return json.loads(data.decode("utf-8-sig"))


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text. Raise EncodeError if it is not JSON."""
    try:
        return parse_json(data)
    except (ValueError, RecursionError) as e:
        raise EncodeError(f"not JSON: {e}") from None


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    return [_finite(each) for each in value] if isinstance(value, list | tuple) else value
