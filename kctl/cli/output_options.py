"""Output formats of commands, and the options --output and --json."""

from collections.abc import Sequence
from enum import Enum
from typing import Annotated, Any, Never

import typer

from kctl.cli import click


class Output(Enum):
    """Output format."""

    TABLE = "table"
    JSON = "json"
    JSONL = "jsonl"
    YAML = "yaml"
    CSV = "csv"
    RAW = "raw"
    HEX = "hex"
    BASE64 = "base64"


class Words:
    """Parser of an option whose value is one of several words."""

    def __init__(self, words: Sequence[str]) -> None:
        self.words = tuple(words)
        self.metavar = f"[{'|'.join(words)}]"
        self.__name__ = "word"  # as typer names the type

    def __call__(self, value: str) -> str:
        if value not in self.words:
            raise click.BadParameter(f"{value!r} is not one of {', '.join(self.words)}.")
        return value


class Shapes(Words):
    """Parser of --output, which accepts the formats that a command offers."""

    def __init__(self, offered: Sequence[Output]) -> None:
        super().__init__([shape.value for shape in offered])

    def __call__(self, value: str) -> str:
        shape = value.lower()
        if shape == Output.JSON.value and shape not in self.words and Output.JSONL.value in self.words:
            return Output.JSONL.value  # a stream is no document
        if shape not in self.words:
            refuse_shape(value, self.words)
        return shape


def output_option(*offered: Output) -> Any:
    shapes = Shapes(offered)
    *others, last = shapes.words or ("",)
    words = f"Format: {', '.join(others)}, or {last}." if others else f"Format: {last}."
    return typer.Option("--output", parser=shapes, metavar=shapes.metavar, hidden=not offered, help=words)


AsJson = Annotated[bool, typer.Option("--json", help="Select --output json, or --output jsonl for streams.")]
"""The option --json of a command with --output."""


def shape_of_json(
    output: Output | None, offered: Sequence[Output] = (Output.JSON,), *, is_stream: bool = False
) -> Output:
    """Return the format that --json selects. Raises: click.UsageError: --output selects another format."""
    shape = Output.JSON if Output.JSON in offered and not is_stream else Output.JSONL
    if output not in (None, shape):
        raise click.UsageError(
            f"--json cannot be combined with --output {output.value}: it selects --output {shape.value}."
        )
    return shape


def refuse_shape(shape: str, offered: Sequence[str]) -> Never:
    if not offered:
        raise click.UsageError(f"--output {shape}: this command prints no data.")
    raise click.UsageError(f"--output {shape}: this command offers {', '.join(offered)}.")
