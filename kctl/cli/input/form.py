"""Form: what an input is made of, as the options say."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from uuid import UUID

    from kctl.cli.input.template_reader import InputTemplate
    from kctl.client.records import Header


STDIN = "-"


class InputRecord(NamedTuple):
    """What to send; what the input does not say is None, and of the headers nothing.

    Attributes:
        place: for messages, such as `orders.txt line 3`.
        key_schema, value_schema: the schema that the key or value was decoded by, which then is a JSON text.
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
        first: the row of the block that is the first one here.
        topic, partition: None if the records do not choose it.
        keys, headers, timestamps_ms: None if no row has one.
    """

    first: int
    topic: str | None
    partition: int | None
    values: "Sequence[bytes | None]"
    keys: "Sequence[bytes | None] | None" = None
    headers: "Sequence[tuple[Header, ...]] | None" = None
    timestamps_ms: "Sequence[int | None] | None" = None


class Block(Protocol):
    """Records that follow each other in one stream, as columns."""

    @property
    def values(self) -> "Sequence[bytes | None]":
        """The value of each row."""
        ...

    def row_bytes(self, row: int) -> int:
        """Return the bytes of a row in the stream."""
        ...

    def record(self, row: int) -> InputRecord:
        """Return one record."""
        ...

    def records(self, first: int = 0) -> "Iterator[InputRecord]":
        """Yield one record after the other, from row `first` on."""
        ...

    def parts(self, *, by_topic: bool, by_partition: bool) -> "Iterator[BlockPart]":
        """Yield the rows in parts of one topic and partition, as far as the record chooses them."""
        ...


LINE_FEED = b"\n"


class InputForm(Enum):
    """What an input is made of."""

    LINES = "lines"
    JSONL = "jsonl"


class Form(NamedTuple):
    """How to read: lines unless something else is said.

    Attributes:
        template: read by it.
        is_whole: a file is one record.
        key: of the records that have none of their own.
        encoded: `key` and `value`, as far as they are encoded by a schema: of jsonl they may be any JSON.
        by_record: those of them of which only what names its schema in the record is encoded.
    """

    form: InputForm = InputForm.LINES
    delimiter: bytes = LINE_FEED
    key_separator: bytes | None = None
    template: "InputTemplate | None" = None
    is_whole: bool = False
    key: bytes | None = None
    encoded: frozenset[str] = frozenset()
    by_record: frozenset[str] = frozenset()
