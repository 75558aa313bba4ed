"""Decoded values as JSON text."""

import json
import math
from typing import Any

from kctl.serdes.errors import EncodeError, SerdesError


def show_json(value: Any, *, is_ascii: bool = False) -> str:
    """Return a value as compact JSON; NaN and infinities, which JSON has not, as the texts that Protobuf and Avro use.

    Args: is_ascii: write everything but ASCII as escapes, for a terminal; so is half a surrogate pair, always.
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


def parse_json(data: bytes) -> Any:
    """Return the value of a JSON text in UTF-8. Raises: ValueError, RecursionError: it is none.

    json.loads reads bytes as UTF-16 or UTF-32, too, where they look so: text of an id in front of other data does.
    """
    return json.loads(data.decode("utf-8-sig"))


def read_json(data: bytes) -> Any:
    """Return the value of a JSON text. Raises: EncodeError: it is none."""
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
