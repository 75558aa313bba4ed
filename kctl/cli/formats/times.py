"""Timestamp formats `%d{iso}`, `%d{local}` and `%d{strftime[%F %T]}`, from milliseconds.

`local` has the time zone of the machine ($TZ), other formats UTC. Names are English. Times outside years 1 to 9999 are
printed as numbers.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from kctl.cli.formats.template_error import LayoutError

TimeForm = Callable[[int], bytes]
Piece = Callable[[datetime], str]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_REMEMBERED = 1024
"""Size of the cache: records of one batch often share timestamps."""

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)


def compile_strftime(layout: str) -> TimeForm:
    """Return the function that formats timestamps by strftime(3) directives.

    Raises: LayoutError: a directive is unknown.
    """
    pieces: list[Piece | str] = []
    position = 0
    while position < len(layout):
        if layout[position] != "%":
            pieces.append(layout[position])
            position += 1
            continue
        pieces.append(_directive(layout[position + 1 : position + 2], position))
        position += 2
    return _writer(pieces)


def _directive(letter: str, position: int) -> Piece:
    if letter not in DIRECTIVES or not letter:
        known = " ".join(f"%{known}" for known in DIRECTIVES)
        raise LayoutError(f"strftime does not support %{letter}: use {known}", position, 1 + len(letter))
    return DIRECTIVES[letter]


def _writer(pieces: list[Piece | str]) -> TimeForm:
    return _at_instant(lambda at: "".join(piece if isinstance(piece, str) else piece(at) for piece in pieces))


def _at_instant(show: Piece) -> TimeForm:
    @lru_cache(_REMEMBERED)
    def write(timestamp_ms: int) -> bytes:
        try:
            text = show(_EPOCH + timedelta(milliseconds=timestamp_ms))
        except (OverflowError, OSError):  # OSError: calendar of the machine
            return b"%d" % timestamp_ms
        return text.encode("utf-8", "surrogateescape")

    return write


ISO: TimeForm = _at_instant(lambda at: at.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z")
"""RFC 3339 in UTC, such as 2026-11-22T09:30:00.000Z."""
LOCAL: TimeForm = _at_instant(lambda at: at.astimezone().isoformat(timespec="milliseconds"))
"""RFC 3339 in the time zone of the machine, with its offset."""


# --- strftime -------------------------------------------------------------------------------------------------------


def _hour12(at: datetime) -> int:
    return at.hour % 12 or 12


def _half(at: datetime) -> str:
    return "AM" if at.hour < 12 else "PM"


def _week(at: datetime, first_weekday: int) -> int:
    """Return the week of the year. Week 1 starts at the first `first_weekday` of the year (0 is Monday)."""
    day_of_year = at.timetuple().tm_yday
    return (day_of_year + 6 - (at.weekday() - first_weekday) % 7) // 7


def _seconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(seconds=1)


DIRECTIVES: dict[str, Piece] = {
    "A": lambda at: _DAYS[at.weekday()],
    "a": lambda at: _DAYS[at.weekday()][:3],
    "B": lambda at: _MONTHS[at.month - 1],
    "b": lambda at: _MONTHS[at.month - 1][:3],
    "C": lambda at: f"{at.year // 100:02}",
    "c": lambda at: f"{_DAYS[at.weekday()][:3]} {_MONTHS[at.month - 1][:3]} {at.day:2} {at:%H:%M:%S} {at.year}",
    "D": lambda at: f"{at:%m/%d}/{at.year % 100:02}",
    "d": lambda at: f"{at.day:02}",
    "e": lambda at: f"{at.day:2}",
    "F": lambda at: f"{at.year:04}-{at:%m-%d}",
    "f": lambda at: f"{at.microsecond:06}",
    "G": lambda at: f"{at.isocalendar().year:04}",
    "g": lambda at: f"{at.isocalendar().year % 100:02}",
    "H": lambda at: f"{at.hour:02}",
    "h": lambda at: _MONTHS[at.month - 1][:3],
    "I": lambda at: f"{_hour12(at):02}",
    "j": lambda at: f"{at.timetuple().tm_yday:03}",
    "k": lambda at: f"{at.hour:2}",
    "l": lambda at: f"{_hour12(at):2}",
    "M": lambda at: f"{at.minute:02}",
    "m": lambda at: f"{at.month:02}",
    "n": lambda _: "\n",
    "p": _half,
    "R": lambda at: f"{at:%H:%M}",
    "r": lambda at: f"{_hour12(at):02}:{at:%M:%S} {_half(at)}",
    "S": lambda at: f"{at.second:02}",
    "s": lambda at: str(_seconds(at)),
    "T": lambda at: f"{at:%H:%M:%S}",
    "t": lambda _: "\t",
    "U": lambda at: f"{_week(at, 6):02}",
    "u": lambda at: str(at.isoweekday()),
    "V": lambda at: f"{at.isocalendar().week:02}",
    "v": lambda at: f"{at.day:2}-{_MONTHS[at.month - 1][:3]}-{at.year:04}",
    "W": lambda at: f"{_week(at, 0):02}",
    "w": lambda at: str(at.isoweekday() % 7),
    "X": lambda at: f"{at:%H:%M:%S}",
    "x": lambda at: f"{at:%m/%d}/{at.year % 100:02}",
    "Y": lambda at: f"{at.year:04}",
    "y": lambda at: f"{at.year % 100:02}",
    "Z": lambda _: "UTC",
    "z": lambda _: "+0000",
    "%": lambda _: "%",
}
"""Directives by letter."""
