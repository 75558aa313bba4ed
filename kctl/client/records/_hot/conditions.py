"""Conditions that select records for an output plan."""

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
"""Names of the parts of a record that a condition can search."""


@final
class Condition:
    """A condition on one part of a record.

    Args:
        subject: one of SUBJECT_NAMES. One matching header is enough; null is searched as an empty value.
        search: returns None for bytes that do not match, as the method `search` of a pattern does.
        negated: whether to invert the result.
        header_name: name of the headers to search, for the subject `named_header`.
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
        return self.code >= HEADER_NAME

    def holds(self, topic: bytes, cursor: RecordCursor, headers: tuple[Header, ...]) -> bool:
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
    for condition in conditions:  # noqa: SIM110 - all() with a generator would be an object a record
        if not condition.holds(topic, cursor, headers):
            return False
    return True
