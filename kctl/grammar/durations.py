"""Durations such as `5s`, `500ms`, `1m30s`, and `PT1H`. A number without a unit is rejected."""

import re

from kctl.client.config import iso_duration_ms

UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1}
LONGEST_MS = 2**53
LONGEST_TEXT = 40

_PART = r"(?P<{0}>\d+(?:\.\d+)?){0}"
_DURATION = re.compile("".join(f"(?:{_PART.format(unit)})?" for unit in UNITS_MS), re.ASCII)
_BARE = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_EXAMPLES = "use a form such as 5s, 500ms, or 1m30s"


def parse_duration_ms(text: str) -> int:
    """Return the milliseconds of a duration such as `1m30s` (units d, h, m, s, ms, the larger first) or `PT1H30M`.

    Raises: ValueError: the text is not a duration. The message has the expected form.
    """
    text = text.strip()
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"the duration has too many characters ({len(text)}): {_EXAMPLES}")
    if _BARE.fullmatch(text):
        raise ValueError(f"{text!r} has no unit: use {text}s for seconds or {text}ms for milliseconds")
    if text.startswith("-") and text[1:2].isdigit():
        raise ValueError(f"{text!r} is negative: {_EXAMPLES}")
    if text[:1] in ("P", "p"):
        return iso_duration_ms(text)
    match = _DURATION.fullmatch(text)
    if match is None or not text:
        raise ValueError(f"{text!r} is not a duration: {_EXAMPLES}")
    total = 0
    for unit, number in match.groupdict().items():
        if number is not None:
            total += _whole_ms(number, unit)
    if total > LONGEST_MS:
        raise ValueError(f"{text!r} is too long")
    return total


def _whole_ms(number: str, unit: str) -> int:
    whole, _, fraction = number.partition(".")
    precision: int = 10 ** len(fraction)
    scaled, rest = divmod(int(whole + fraction) * UNITS_MS[unit], precision)
    if rest:
        raise ValueError(f"'{number}{unit}' is not an integer number of milliseconds")
    return scaled


def show_duration(duration_ms: int) -> str:
    """Return the shortest exact text of a duration, the inverse of `parse_duration_ms`."""
    if duration_ms == 0:
        return "0s"
    parts = []
    for unit, unit_ms in UNITS_MS.items():
        count, duration_ms = divmod(duration_ms, unit_ms)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts)
