"""InputRecord: one record as it was read, and where it was. Shown by the tests of all readers."""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kctl.client.records import Header

STDIN = "-"


class InputRecord(NamedTuple):
    """What to send; what the input does not say is None, and of the headers nothing.

    Attributes:
        place: for messages, such as `orders.txt line 3`.
    """

    place: str
    value: bytes | None
    key: bytes | None = None
    headers: "tuple[Header, ...]" = ()
    topic: str | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
