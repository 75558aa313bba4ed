"""--jq: what a jq program makes of each record, a JSON line for each of its results."""

import json
from collections.abc import Sequence

from kctl.cli import click
from kctl.cli.decode.decoding import DecodedOutput
from kctl.cli.decode.jq_process import JqError, JqProcess
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import CommandError
from kctl.cli.formats.decoded import Sides
from kctl.cli.formats.output import Part
from kctl.client.consumer import FetchedChunk
from kctl.client.records import BatchReader, Condition
from kctl.serdes.libraries import import_library


class JqOutput(DecodedOutput):
    """Records as a program sees them: objects as `--output jsonl` prints them.

    A record of which the program makes nothing, such as one that `select` leaves out, counts as filtered.
    """

    def __init__(
        self, program: str, parts: Sequence[Part], conditions: Sequence[Condition], sides: Sides, *, for_terminal: bool
    ) -> None:
        super().__init__(parts, sides, head=b"", null=b"", conditions=conditions)
        try:
            import_library("jq", "jq").compile(program)
        except ValueError as e:
            raise click.UsageError(f"--jq: {' '.join(str(e).split())}"[:300]) from None
        self._process = JqProcess(program, is_ascii=for_terminal)

    def joined(self, reader: BatchReader, chunk: FetchedChunk, limit: int) -> bytes:
        lines = super().joined(reader, chunk, limit).splitlines()
        try:
            results = self._process.run(lines) if lines else []
        except JqError as e:
            offset = json.loads(lines[e.index])["offset"]
            raise CommandError(ExitCode.DATA, f"--jq: record at offset {offset}: {e}"[:400]) from None
        left_out = sum(not each for each in results)
        reader.count -= left_out
        reader.filtered_records += left_out
        return b"".join(results)
