"""Form: what an input is made of, as the options say. Shown by tests/unit/cli/produce/test_produce.py."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kctl.cli.input.template_reader import InputTemplate
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
    """

    form: InputForm = InputForm.LINES
    delimiter: bytes = LINE_FEED
    key_separator: bytes | None = None
    template: "InputTemplate | None" = None
    is_whole: bool = False
    key: bytes | None = None
