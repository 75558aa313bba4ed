"""Format of an input."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from kctl.cli.input.template_reader import InputTemplate
    from kctl.client.records import Header


STDIN = "-"


class InputRecord(NamedTuple):
    """Record to send. Missing parts are None, except missing headers, which are empty.

    Attributes:
        place: place in the input for messages, such as `orders.txt line 3`.
        key_schema: ID of the schema that encodes the key, which is then JSON.
        value_schema: ID of the schema that encodes the value, which is then JSON.
    """

    place: str
    value: bytes | None
    key: bytes | None = None
    headers: "tuple[Header, ...]" = ()
    topic: str | None = None
    partition: int | None = None
    timestamp_ms: int | None = None
    key_schema: "int | UUID | None" = None
    value_schema: "int | UUID | None" = None


class BlockPart(NamedTuple):
    """Rows of a block for one topic and partition, as columns.

    Attributes:
        first: index of the first row in the block.
        topic: topic; None if the records do not choose it.
        partition: partition; None if the records do not choose it.
        keys: key of each row; None if no row has a key.
        headers: headers of each row; None if no row has headers.
        timestamps_ms: timestamp of each row; None if no row has a timestamp.
    """

    first: int
    topic: str | None
    partition: int | None
    values: "Sequence[bytes | None]"
    keys: "Sequence[bytes | None] | None" = None
    headers: "Sequence[tuple[Header, ...]] | None" = None
    timestamps_ms: "Sequence[int | None] | None" = None


class Block(Protocol):
    """Consecutive records of one stream, as columns."""

    @property
    def values(self) -> "Sequence[bytes | None]":
        """Return the value of each row."""
        ...

    def row_bytes(self, row: int) -> int:
        """Return the size of a row in the input."""
        ...

    def record(self, row: int) -> InputRecord: ...

    def records(self, first: int = 0) -> "Iterator[InputRecord]":
        """Yield the records, starting with row `first`."""
        ...

    def parts(self, *, by_topic: bool, by_partition: bool) -> "Iterator[BlockPart]":
        """Yield parts with the same topic and partition.

        Args:
            by_topic: whether the records choose the topic.
            by_partition: whether the records choose the partition.
        """
        ...


LINE_FEED = b"\n"


class InputForm(Enum):
    """Kind of input."""

    LINES = "lines"
    JSONL = "jsonl"


class Form(NamedTuple):
    """Format of an input. The default is lines.

    Attributes:
        is_whole: each file is one record.
        key: key of records without a key.
        encoded: `key` and `value` if a schema encodes them. In jsonl they can be any JSON.
        by_record: `key` and `value` if only records that name a schema are encoded.
    """

    form: InputForm = InputForm.LINES
    delimiter: bytes = LINE_FEED
    key_separator: bytes | None = None
    template: "InputTemplate | None" = None
    is_whole: bool = False
    key: bytes | None = None
    encoded: frozenset[str] = frozenset()
    by_record: frozenset[str] = frozenset()
