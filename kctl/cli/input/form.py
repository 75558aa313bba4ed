"""Form: what an input is made of, as the options say. Shown by tests/unit/cli/produce/test_produce.py."""

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kctl.cli.input.template_reader import InputTemplate

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
    """

    form: InputForm = InputForm.LINES
    delimiter: bytes = LINE_FEED
    key_separator: bytes | None = None
    template: "InputTemplate | None" = None
    is_whole: bool = False
