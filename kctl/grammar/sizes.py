"""Sizes and rates such as `64MiB` and `500/s`. A number without a unit and the ambiguous `64M` are rejected."""

import re

UNITS_BYTES = {
    "B": 1,
    "kB": 1000,
    "MB": 1000**2,
    "GB": 1000**3,
    "KiB": 1024,
    "MiB": 1024**2,
    "GiB": 1024**3,
}
LARGEST_BYTES = 2**53
LONGEST_TEXT = 40

_SHOWN_UNITS = ("B", "kB", "MB", "GB", "TB")
_BY_LOWER = {unit.lower(): size for unit, size in UNITS_BYTES.items()}
_SIZE = r"([0-9]+(?:\.[0-9]+)?)\s?([A-Za-z]*)"
_RATE = r"([0-9]{1,9}(?:\.[0-9]{1,6})?)/(ms|s|m|h)"
_PERIODS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000}
_EXAMPLES = "use a form such as 64MiB, 500kB, or 1GiB"


def parse_size_bytes(text: str) -> int:
    """Return the bytes of a size such as `64MiB`. Units: B, kB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024).

    Raises: ValueError: the text is not a size. The message has the expected form.
    """
    text = text.strip()
    if len(text) > LONGEST_TEXT:
        raise ValueError(f"the size has too many characters ({len(text)}): {_EXAMPLES}")
    match = re.fullmatch(_SIZE, text)
    if match is None:
        raise ValueError(f"{text!r} is not a size: {_EXAMPLES}")
    number, unit = match.groups()
    if not unit:
        raise ValueError(f"{text!r} has no unit: use {text}B for bytes or {text}MiB for mebibytes")
    unit_bytes = _BY_LOWER.get(unit.lower())
    if unit_bytes is None and unit.upper() in ("K", "M", "G"):
        decimal = "kB" if unit.upper() == "K" else f"{unit.upper()}B"
        raise ValueError(f"{text!r} is ambiguous: use {number}{decimal} or {number}{unit.upper()}iB")
    if unit_bytes is None:
        raise ValueError(f"{text!r} has an unknown unit {unit!r}: {_EXAMPLES}")
    whole, _, fraction = number.partition(".")
    precision: int = 10 ** len(fraction)
    size, rest = divmod(int(whole + fraction) * unit_bytes, precision)
    if rest:
        raise ValueError(f"{text!r} is not an integer number of bytes")
    if size > LARGEST_BYTES:
        raise ValueError(f"{text!r} is too large")
    return size


def show_size(size_bytes: float) -> str:
    """Return a size in decimal units with up to three digits: `512 B`, `4.1 GB`."""
    unit = 0
    while abs(size_bytes) >= 999.5 and unit < len(_SHOWN_UNITS) - 1:
        size_bytes /= 1000
        unit += 1
    digits = 0 if unit == 0 or abs(size_bytes) >= 99.95 else 1
    return f"{size_bytes:.{digits}f} {_SHOWN_UNITS[unit]}"


def parse_rate(text: str) -> float:
    """Return the records per second of a rate such as `500/s`, `2.5/s`, or `30/m`.

    Raises: ValueError: the text is not a rate, has no unit, or is 0.
    """
    match = re.fullmatch(_RATE, text.strip())
    if match is None:
        hint = f" ({text}/s for records per second)" if text.strip().isdecimal() else ""
        raise ValueError(f"{text!r} is not a rate: use a form such as 500/s, 2.5/s, or 30/m{hint}")
    rate = float(match[1]) * 1000 / _PERIODS_MS[match[2]]
    if not rate:
        raise ValueError(f"{text!r} must be greater than 0")
    return rate
