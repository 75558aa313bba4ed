"""Inputs of a command: stdin and files in sequence."""

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from io import BufferedIOBase
from typing import TypeVar

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError, file_error
from kctl.cli.input.form import STDIN, Block, Form, InputForm, InputRecord
from kctl.cli.input.input_bytes import BytesRead, Source
from kctl.cli.input.lines import read_line_blocks, read_lines
from kctl.posix import set_pipe_size

T = TypeVar("T")


PIPE_BYTES = 1 << 20
"""Maximum size of a pipe in Linux by default, so that one read fills a batch."""


def widen_pipe(stream: BufferedIOBase) -> None:
    """Enlarge a pipe, so that its writer continues while kctl encodes records."""
    try:
        descriptor = stream.fileno()
        if stat.S_ISFIFO(os.fstat(descriptor).st_mode):
            set_pipe_size(descriptor, PIPE_BYTES)
    except (OSError, OverflowError, ValueError):
        pass  # stream in memory, or the user's limit for pipes is reached


class Inputs:
    """All inputs of a command.

    Args: names: files; `-` means stdin. An empty list means stdin too.
    """

    def __init__(self, names: Sequence[str], stdin: BufferedIOBase, form: Form, longest_bytes: int) -> None:
        self.progress = BytesRead()
        self._names = names or (STDIN,)
        self._stdin = stdin
        self._form = form
        self._longest_bytes = longest_bytes

    @property
    def total_bytes(self) -> int | None:
        """Return the total size of all inputs, or None if unknown."""
        total = 0
        for name in self._names:
            try:
                found = os.fstat(self._stdin.fileno()) if name == STDIN else os.stat(name)
            except (OSError, ValueError):  # missing file, which fails later, or stream in memory
                return None
            if not stat.S_ISREG(found.st_mode):
                return None
            total += found.st_size
        return total

    @property
    def are_blocks(self) -> bool:
        """Return whether `read_blocks` supports the format: no template, whole files or encoding."""
        form = self._form
        return form.template is None and not form.is_whole and not form.encoded

    def read(self) -> Iterator[InputRecord]:
        """Yield all records.

        Raises: CommandError: a file cannot be read or has another format. The message contains the place.
        """
        records = self._each_source(self._records)
        key = self._form.key
        return records if key is None else (r if r.key is not None else r._replace(key=key) for r in records)

    def read_blocks(self) -> Iterator[Block]:
        """Yield all records as blocks. Raises: see `read`."""
        assert self.are_blocks
        return self._each_source(self._blocks)

    def _each_source(self, read: Callable[[BufferedIOBase, str], Iterator[T]]) -> Iterator[T]:
        for name in self._names:
            shown = "stdin" if name == STDIN else name
            try:
                with nullcontext(self._stdin) if name == STDIN else open(name, "rb") as source:
                    widen_pipe(source)
                    yield from read(source, shown)
            except OSError as e:
                raise file_error(f"cannot read {shown}", e) from None

    def _blocks(self, source: BufferedIOBase, name: str) -> Iterator[Block]:
        form = self._form
        if form.form is InputForm.JSONL:
            from kctl.cli.input.json_blocks import read_json_blocks  # deferred import: lines need no expressions

            return read_json_blocks(source, name, self._longest_bytes, self.progress, form)
        longest_bytes, key = self._longest_bytes, form.key
        blocks = read_line_blocks(source, name, longest_bytes, form.delimiter, form.key_separator, self.progress)
        return blocks if key is None else (block._replace(given_key=key) for block in blocks)

    def _records(self, source: BufferedIOBase, name: str) -> Iterator[InputRecord]:
        form, longest_bytes = self._form, self._longest_bytes
        if form.is_whole:
            yield self._whole(source, name)
        elif form.template is not None:
            from kctl.cli.input.template_reader import TemplateReader

            yield from TemplateReader(form.template, longest_bytes).read(source, name, self.progress)
        elif form.form is InputForm.JSONL:
            from kctl.cli.input.jsonl import read_jsonl  # deferred import: loads json

            yield from read_jsonl(source, name, longest_bytes, self.progress, form)
        else:
            yield from read_lines(source, name, longest_bytes, form.delimiter, form.key_separator, self.progress)

    def _whole(self, source: Source, name: str) -> InputRecord:
        content = bytearray()
        while data := source.read1(self._longest_bytes + 1 - len(content)):
            content += data
            self.progress.read_bytes += len(data)
            if len(content) > self._longest_bytes:
                raise CommandError(
                    ExitCode.DATA,
                    f"{name} is longer than {self._longest_bytes} bytes (max.request.size)",
                    "raise the limit with -X max.request.size=BYTES",
                )
        return InputRecord(name, bytes(content))
