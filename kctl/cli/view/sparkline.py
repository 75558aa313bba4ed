"""Sparklines: block characters that show a figure over time."""

from collections.abc import Iterable

_LEVELS = "\u2581\u2582\u2583\u2584\u2585\u2586\u2587\u2588"
UNKNOWN = "x"


def sparkline(values: Iterable[float | None], width: int) -> str:
    """Return the last `width` values, one character each, scaled from 0 to the largest value.

    Args: values: figures; None is shown as UNKNOWN.
    """
    shown = list(values)[-width:] if width > 0 else []
    largest = max((value for value in shown if value is not None), default=0)
    return "".join(UNKNOWN if value is None else _level(value, largest) for value in shown)


def _level(value: float, largest: float) -> str:
    return _LEVELS[round(value / largest * (len(_LEVELS) - 1)) if largest > 0 else 0]
