"""Grammar of `-o`.

    SPEC  := [P[,P|P-P]=]RANGE                 0=100:200    3-5=@-1h:end
    RANGE := BOUND | BOUND: | :BOUND | BOUND:BOUND | @:TS
    BOUND := POS | @TS                         after an @TS, the second bound is a TS; its @ is optional
    POS   := start | start+N | +N | end | end-N | -N | stored | stored+N | stored-N | N | -DURATION (@-DURATION)
    TS    := 13 digits (ms) | 9-10 digits (s) | YYYY-MM-DD | RFC 3339 | now | -DURATION (ago) | end
             and as the second bound DURATION (after the first)
    kcat  := s@MS | e@MS                       @MS and :@MS

Aliases: beginning earliest oldest; latest newest. Errors point to the position in the text.
"""

import re
from datetime import UTC, datetime

from kctl.grammar.durations import LONGEST_TEXT as LONGEST_DURATION
from kctl.grammar.durations import parse_duration_ms
from kctl.grammar.offsets import END, Absolute, Anchor, AtTime, OffsetSpec, PartitionSpan, Position, Relative

LARGEST_OFFSET = 2**63 - 1
LONGEST_TEXT = 200
MOST_PARTITIONS = 100_000
EXAMPLES = "use start, end, 42, -10 (the last 10), 100:200, @2024-05-01T12:00:00Z, @-1h, or 0=100:200"

_WORDS = {
    **dict.fromkeys(("start", "beginning", "earliest", "oldest"), Anchor.START),
    **dict.fromkeys(("end", "latest", "newest"), Anchor.END),
    "stored": Anchor.STORED,
}
# `re` compiles patterns on first use and caches them: most commands have no -o
_BOUND_END = r"(?=:|$)"
_ANCHORED = rf"(?i:({'|'.join(_WORDS)})(?:([+-])([0-9]+))?{_BOUND_END})"
_NUMBER = rf"([+-]?)([0-9]+){_BOUND_END}"
_KCAT = r"(?i:([se])@([0-9]{1,19}))"
_SPAN = r"([0-9]{1,9})(?:-([0-9]{1,9}))?"

_INSTANT_MS = rf"[0-9]{{13}}{_BOUND_END}"
_INSTANT_S = rf"[0-9]{{9,10}}{_BOUND_END}"
_ISO = (
    r"(?a:\d{4}-\d{2}-\d{2}"
    r"(?:[Tt ]\d{2}:\d{2}(?::\d{2}(?=[:.Zz+-]|$)(?:\.\d{1,9})?)?(?:[Zz]|[+-]\d{2}:\d{2})?)?)" + _BOUND_END
)
_NOW = rf"(?i:now{_BOUND_END})"
_END_WORD = rf"(?i:(?:end|latest|newest){_BOUND_END})"
_DURATION = rf"(-?)([0-9Pp][0-9A-Za-z.]{{0,{LONGEST_DURATION}}}){_BOUND_END}"
_AGO = rf"(-)(?=[0-9.]*[A-Za-z])([0-9Pp][0-9A-Za-z.]{{0,{LONGEST_DURATION}}}){_BOUND_END}"
_TIMES = "use ms (13 digits), s (10 digits), a date, an RFC 3339 time, now, or -1h"
_EPOCH = datetime.fromtimestamp(0, UTC)
_MILLISECOND = datetime.resolution * 1000


class OffsetError(ValueError):
    """Invalid `-o` value; the message marks the position with a caret."""

    def __init__(self, problem: str, text: str, at: int) -> None:
        shown = "".join(c if c.isprintable() else " " for c in text[:LONGEST_TEXT])
        super().__init__(f"{problem}\n  {shown}\n  {' ' * at}^")
        self.at = at


def parse_offset(text: str, wall_ms: int) -> OffsetSpec:
    """Return the offset spec of one -o value.

    Args:
        wall_ms: the present in milliseconds since the epoch, for `now` and `@-1h`.
    Raises: OffsetError: with the reason, the position, and the expected form.
    """
    if len(text) > LONGEST_TEXT:
        raise OffsetError(f"the offset has too many characters ({len(text)}): {EXAMPLES}", text, 0)
    return _Parser(text, wall_ms).spec()


class _Parser:
    def __init__(self, text: str, wall_ms: int) -> None:
        self._text = text.rstrip()
        self._at = len(text) - len(text.lstrip())
        self._wall_ms = wall_ms

    def spec(self) -> OffsetSpec:
        spans = self._spans() if "=" in self._text else ()
        kcat = self._take(_KCAT)
        if kcat is not None:
            self._expect_end()
            position = AtTime(int(kcat[2]))
            if len(str(position.at_ms)) > 16:
                raise self._error(f"{kcat[2]} is not a time in milliseconds", kcat.start(2))
            return OffsetSpec(spans, start=position) if kcat[1] in "sS" else OffsetSpec(spans, end=position)
        began_at = self._at
        is_time = self._is_at("@:")
        self._at += is_time
        start = None if self._is_at(":") else self._bound()
        if not self._is_at(":"):
            return OffsetSpec(spans, start=start)
        self._at += 1
        if self._at == len(self._text):
            if start is None:
                raise self._error("add an offset or a time before or after the colon", began_at)
            return OffsetSpec(spans, start=start, is_open=True)
        end_at = self._at
        end = self._time(None) if is_time else self._bound(after=start)
        self._expect_end()
        if _is_before(end, start):
            raise self._error("the end must not be before the start", end_at)
        return OffsetSpec(spans, start, end)

    # --- partitions ---------------------------------------------------------------------------------------------------

    def _spans(self) -> tuple[PartitionSpan, ...]:
        spans = []
        while True:
            match = self._take(_SPAN)
            if match is None:
                raise self._error("use partitions before '=', such as 0, 0,2, or 2-4")
            first, last = int(match[1]), int(match[2] or match[1])
            if last < first or last - first >= MOST_PARTITIONS:
                raise self._error(f"{match[0]} is not a valid range of partitions", match.start())
            spans.append((first, last))
            if self._is_at("="):
                self._at += 1
                return tuple(spans)
            if not self._is_at(","):
                raise self._error("use partitions before '=', such as 0, 0,2, or 2-4")
            self._at += 1

    # --- bounds -------------------------------------------------------------------------------------------------------

    def _bound(self, after: Position | None = None) -> Position:
        if self._is_at("@"):
            self._at += 1
            return self._time(after)
        if isinstance(after, AtTime):
            return self._time(after)
        return self._position()

    def _position(self) -> Position:
        began_at = self._at
        match = self._take(_ANCHORED)
        if match is not None:
            anchor = _WORDS[match[1].lower()]
            if (anchor, match[2]) in ((Anchor.START, "-"), (Anchor.END, "+")):
                beyond = "before the first" if anchor is Anchor.START else "after the last"
                raise self._error(f"{match[0]} is {beyond} record", match.start(2))
            shift = self._number(match[3] or "0", match.start(3))
            return Relative(anchor, -shift if match[2] == "-" else shift)
        if self._is_at("-"):
            ago = self._take(_AGO)
            if ago is not None:
                return AtTime(self._moved(ago, None))
        match = self._take(_NUMBER)
        if match is None and re.compile(_ISO).match(self._text, began_at):
            raise self._error(f"{self._rest(began_at)!r} is a time: use @{self._rest(began_at)}", began_at)
        if match is None:
            raise self._error(f"{self._rest(began_at)!r} is not an offset: {EXAMPLES}", began_at)
        number = self._number(match[2], match.start(2))
        if match[1] == "-":
            return Relative(Anchor.END, -number)
        return Relative(Anchor.START, number) if match[1] == "+" else Absolute(number)

    def _number(self, digits: str, at: int) -> int:
        if len(digits) > 19 or int(digits) > LARGEST_OFFSET:
            raise self._error(f"{digits} is larger than the maximum offset", at)
        return int(digits)

    def _time(self, after: Position | None) -> Position:
        began_at = self._at
        if self._take(_END_WORD) is not None:
            return END
        if self._take(_NOW) is not None:
            return AtTime(self._wall_ms)
        match = self._take(_INSTANT_MS)
        if match is not None:
            return AtTime(int(match[0]))
        match = self._take(_INSTANT_S)
        if match is not None:
            return AtTime(int(match[0]) * 1000)
        match = self._take(_ISO)
        if match is not None:
            return AtTime(self._instant(match))
        match = self._take(_DURATION)
        if match is None:
            raise self._error(f"{self._rest(began_at)!r} is not a time: {_TIMES}", began_at)
        return AtTime(self._moved(match, after))

    def _instant(self, match: re.Match[str]) -> int:
        try:
            instant = datetime.fromisoformat(match[0].upper())
        except ValueError as e:
            raise self._error(str(e), match.start()) from None
        if instant.tzinfo is None:
            instant = instant.replace(tzinfo=UTC)
        return max(0, (instant - _EPOCH) // _MILLISECOND)

    def _moved(self, match: re.Match[str], after: Position | None) -> int:
        try:
            duration_ms = parse_duration_ms(match[2])
        except ValueError as e:
            problem = str(e) if match[1] or after else f"{match[0]!r} is not a time: {_TIMES}"
            raise self._error(problem, match.start()) from None
        if match[1]:
            return max(0, self._wall_ms - duration_ms)
        if not isinstance(after, AtTime):
            raise self._error(f"{match[0]} is a duration: use @-{match[0]} for a time in the past", match.start())
        return after.at_ms + duration_ms

    # --- text ---------------------------------------------------------------------------------------------------------

    def _take(self, pattern: str) -> re.Match[str] | None:
        match = re.compile(pattern).match(self._text, self._at)
        if match is not None:
            self._at = match.end()
        return match

    def _is_at(self, character: str) -> bool:
        return self._text.startswith(character, self._at)

    def _rest(self, at: int) -> str:
        return self._text[at : at + 40]

    def _expect_end(self) -> None:
        if self._at < len(self._text):
            raise self._error(f"unexpected {self._rest(self._at)!r}")

    def _error(self, problem: str, at: int | None = None) -> OffsetError:
        return OffsetError(problem, self._text, self._at if at is None else at)


def _is_before(end: Position, start: Position | None) -> bool:
    if isinstance(end, Absolute) and isinstance(start, Absolute):
        return end.offset < start.offset
    if isinstance(end, AtTime) and isinstance(start, AtTime):
        return end.at_ms < start.at_ms
    if isinstance(end, Relative) and isinstance(start, Relative):
        return end.anchor is start.anchor and end.shift < start.shift
    return False
