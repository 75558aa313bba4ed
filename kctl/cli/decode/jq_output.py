"""Output of --jq: a JSON line for each result of a jq program."""

import json
from collections.abc import Iterator, Sequence

from kctl.cli import click
from kctl.cli.decode.decoding import DecodedOutput
from kctl.cli.decode.jq_process import JqFailure, JqProcess
from kctl.cli.formats.decoded import Sides
from kctl.cli.formats.output import Part, Skip
from kctl.client.consumer import FetchedChunk
from kctl.client.errors import CorruptBatchError
from kctl.client.records import BatchReader, Condition
from kctl.serdes.libraries import import_library


class JqOutput(DecodedOutput):
    """Output of a jq program. Its input is the record as in `--output jsonl`.

    Records without results, such as those that `select` excludes, count as filtered.
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

    def read(self, reader: BatchReader, chunk: FetchedChunk, limit: int, skip: Skip | None = None) -> Iterator[bytes]:
        found = super().read(reader, chunk, limit, skip)
        lines = b"".join(map(bytes, found)).splitlines()
        results: list[bytes] = []
        for line, result in zip(lines, self._process.run(lines), strict=True):
            if isinstance(result, bytes):
                results.append(result)
                if not result:
                    reader.count -= 1
                    reader.filtered_records += 1
                continue
            error = _error(chunk, json.loads(line)["offset"], result)
            reader.count -= 1
            if skip is None:
                yield b"".join(results)
                raise error
            skip(error, error.resume_offset or 0)
        yield b"".join(results)


def _error(chunk: FetchedChunk, offset: int, failure: JqFailure) -> CorruptBatchError:
    topic, partition = chunk.topic_partition
    text = f"{topic}-{partition}, offset {offset}: --jq: {failure.reason}"[:400]
    return CorruptBatchError(text, topic=topic, partition=partition, resume_offset=offset + 1)
