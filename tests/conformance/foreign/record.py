"""A record as the foreign clients' programs write and read it: one JSON line, all bytes in base64.

Owns that one line format; tests/conformance/java/RecordExchange.java has the other side of it.
"""

import base64
import json
from collections.abc import Iterable
from dataclasses import dataclass

Headers = tuple[tuple[str, bytes | None], ...]


@dataclass(frozen=True, slots=True)
class ForeignRecord:
    """One record, to send or as received."""

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    partition: int = 0
    timestamp_ms: int | None = None
    """None only on the way out: the client takes the present."""
    offset: int | None = None
    """None only on the way out."""

    @property
    def content(self) -> tuple[int, bytes | None, bytes | None, Headers, int | None]:
        """What must survive the way through the log: partition, key, value, headers, timestamp."""
        return self.partition, self.key, self.value, self.headers, self.timestamp_ms

    def to_line(self) -> str:
        """Return the record as one JSON line."""
        fields = {
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": self.timestamp_ms,
            "key": _to_text(self.key),
            "value": _to_text(self.value),
            "headers": [[name, _to_text(value)] for name, value in self.headers],
        }
        return json.dumps(fields) + "\n"

    @classmethod
    def from_line(cls, line: str) -> "ForeignRecord":
        """Return the record of one JSON line."""
        fields = json.loads(line)
        return cls(
            value=_to_bytes(fields["value"]),
            key=_to_bytes(fields["key"]),
            headers=tuple((name, _to_bytes(value)) for name, value in fields["headers"]),
            partition=fields["partition"],
            timestamp_ms=fields["timestamp"],
            offset=fields["offset"],
        )


def contents(records: Iterable[ForeignRecord]) -> list[object]:
    """Return the content of each, to compare what was sent with what was read."""
    return [record.content for record in records]


def in_log_order(records: Iterable[ForeignRecord]) -> list[ForeignRecord]:
    """Return records by partition, then offset."""
    return sorted(records, key=lambda record: (record.partition, record.offset or 0))


def _to_text(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _to_bytes(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text, validate=True)
