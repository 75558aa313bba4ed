"""Conditions on a record: which records an output plan is run for at all.

Owns what of a record a condition looks at, and the loop over conditions. Must not know patterns or their grammar: a
condition is given the search to call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from kctl.client.errors import LocalProtocolError
from kctl.client.records._hot.cursor import RecordCursor
from kctl.client.records._hot.native_types import i64
from kctl.client.records._hot.record import Header

KEY_OR_VALUE: Final = 0
KEY: Final = 1
VALUE: Final = 2
TOPIC: Final = 3
HEADER_NAME: Final = 4
HEADER_VALUE: Final = 5
NAMED_HEADER: Final = 6

_SUBJECTS: Final[dict[str, int]] = {
    "key_or_value": KEY_OR_VALUE,
    "key": KEY,
    "value": VALUE,
    "topic": TOPIC,
    "header_name": HEADER_NAME,
    "header_value": HEADER_VALUE,
    "named_header": NAMED_HEADER,
}
SUBJECT_NAMES: Final = tuple(_SUBJECTS)
"""What a condition can look at."""


@final
class Condition:
    """Something that holds for a record or does not.

    Args:
        subject: one of SUBJECT_NAMES. Of several headers one is enough; null is looked at as if it were empty.
        search: given the bytes, returns None where the condition does not hold, such as the `search` of a pattern.
        negated: the condition holds where it otherwise would not.
        header_name: whose values a `named_header` condition looks at.
    """

    def __init__(
        self, subject: str, search: Callable[[bytes], object], negated: bool = False, header_name: str = ""
    ) -> None:
        if subject not in _SUBJECTS:
            raise LocalProtocolError(f"{subject!r} is not a subject of a condition: {', '.join(SUBJECT_NAMES)}")
        self.code: i64 = _SUBJECTS[subject]
        self.search = search
        self.negated = negated
        self.header_name = header_name

    @property
    def wants_headers(self) -> bool:
        """Whether the headers have to be decoded for it."""
        return self.code >= HEADER_NAME

    def holds(self, topic: bytes, cursor: RecordCursor, headers: tuple[Header, ...]) -> bool:
        """Whether it holds for the record at hand."""
        return self._is_found(topic, cursor, headers) != self.negated

    def _is_found(self, topic: bytes, cursor: RecordCursor, headers: tuple[Header, ...]) -> bool:
        code = self.code
        search = self.search
        if code == VALUE:
            return search(cursor.value() or b"") is not None
        if code == KEY:
            return search(cursor.key() or b"") is not None
        if code == KEY_OR_VALUE:
            return search(cursor.value() or b"") is not None or search(cursor.key() or b"") is not None
        if code == TOPIC:
            return search(topic) is not None
        return self._is_in_headers(headers)

    def _is_in_headers(self, headers: tuple[Header, ...]) -> bool:
        code = self.code
        for name, value in headers:
            if code == HEADER_NAME:
                if self.search(name.encode("utf-8", "surrogateescape")) is not None:
                    return True
            elif (code == HEADER_VALUE or name == self.header_name) and self.search(value or b"") is not None:
                return True
        return False


def all_hold(conditions: list[Condition], topic: bytes, cursor: RecordCursor, headers: tuple[Header, ...]) -> bool:
    """Whether every condition holds for the record at hand."""
    for condition in conditions:  # noqa: SIM110 - all() with a generator would be an object a record
        if not condition.holds(topic, cursor, headers):
            return False
    return True
