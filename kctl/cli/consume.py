"""`kctl consume`: the records of topics to stdout, by a template or as lossless JSON lines.

Owns when to stop and when to flush; records are decoded and written by a plan, without an object each.
Shown by tests/unit/cli/test_consume_run.py and tests/cli/test_produce_consume.py.
"""

from collections.abc import Iterable
from typing import Annotated

import click
import typer

from kctl.cli.data_out import DataOut
from kctl.cli.exit_codes import ExitCode
from kctl.cli.formats.plans import jsonl_plan, template_plan
from kctl.cli.formats.template import parse_template
from kctl.cli.offsets import Position, parse_position
from kctl.cli.options import Common, Output, with_common
from kctl.cli.partitions import Offsets, choose_partitions, find_starts, parse_partitions
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.chunk import FetchedChunk
from kctl.client.consumer.consumer import Consumer
from kctl.client.errors import ApiTimeout
from kctl.client.records import OutputPlan

IDLE_S = 0.5
"""How often an idle consumer looks whether its reader has left."""
TELL_AFTER_MS = 2000
"""An idle wait is told after so long, unless there is simply nothing more to read."""
NOTHING_MORE = "at the end"
"""How the consumer's reason starts where it has read everything."""
WRITE_RECORDS = 500
FOREVER = 2**63 - 1

DEFAULTS = {"auto.offset.reset": "none", "allow.auto.create.topics": "false"}
"""Properties that a command line wants otherwise than a library: nothing is skipped or created without a word."""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@with_common
def consume(
    common: Common,
    topics: Annotated[list[str], typer.Argument(metavar="TOPIC...", help="What to read.", show_default=False)],
    offset: Annotated[
        str,
        typer.Option(
            "--offset",
            "-o",
            metavar="POSITION",
            help="Where to start: start, end, 42, -10 (the last 10), @2024-05-01T12:00:00Z, @-1h.",
        ),
    ] = "start",
    limit: Annotated[
        int | None, typer.Option("--max", "-n", min=0, metavar="N", help="Stop after N records.", show_default=False)
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit-at-end", "-e", help="Stop at what was the end at the start.")
    ] = False,
    template: Annotated[
        str | None,
        typer.Option(
            "--format",
            "-f",
            metavar="TEMPLATE",
            help="%t topic, %p partition, %o offset, %k key, %v value, %h headers, %d timestamp, %i count, "
            "%T %K %V lengths, %H number of headers; \\n \\t \\xNN. Default: %v\\n.",
        ),
    ] = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option("--partition", "-p", metavar="N", help="Only these: 0, 0,2 or 2-4; repeatable."),
    ] = None,
) -> int:
    """Print the records of topics.

    Without -n or -e it goes on until Ctrl-C. With --output jsonl each record is one object from which it can be made
    again: {topic, partition, offset, timestamp, key, value, headers: [[name, value], ...]}, null where null, and
    {"base64": "..."} where the bytes are not UTF-8.
    """
    position = _read_position(offset, common.environment.clock.wall_ms())
    wanted = _read_partitions(partitions or ())
    plan = _choose_plan(common, template)
    config = common.settings.with_defaults(DEFAULTS).parse(ConsumerConfig)
    common.note_ignored(config)
    consumer = Consumer(config, events=common.events)
    reading = Reading(common, config, consumer, plan, FOREVER if limit is None else limit)
    try:
        reading.start(choose_partitions(consumer, topics, wanted), position, exit_at_end=exit_at_end)
        reading.follow()
    finally:
        closed = consumer.close(common.close_timeout_s)
    if common.verbose:
        common.say(f"kctl consume: {reading.written} record{'' if reading.written == 1 else 's'}")
    if closed.expired_in is None:
        return ExitCode.OK
    common.environment.say(f"kctl consume: {closed.elapsed_ms} ms (--close-timeout) passed while {closed.expired_in}")
    return ExitCode.CLOSE_TIMEOUT


def _read_position(text: str, wall_ms: int) -> Position:
    try:
        return parse_position(text, wall_ms)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--offset' / '-o'") from None


def _read_partitions(texts: Iterable[str]) -> list[int]:
    try:
        return parse_partitions(texts)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--partition' / '-p'") from None


def _choose_plan(common: Common, template: str | None) -> OutputPlan:
    for_terminal = common.environment.stdout_is_tty
    if common.output is not None:
        common.choose_output(Output.JSONL)
        if template is not None:
            raise click.UsageError("--format and --output jsonl cannot both hold: each says what a record looks like.")
        return jsonl_plan(for_terminal=for_terminal)
    try:
        return template_plan(parse_template("%v\\n" if template is None else template), for_terminal=for_terminal)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint="'--format' / '-f'") from None


class Reading:
    """One reading: from the start offsets until the limit, the end, or for ever."""

    def __init__(
        self, common: Common, config: ConsumerConfig, consumer: Consumer, plan: OutputPlan, limit: int
    ) -> None:
        self.written = 0
        self._common = common
        self._config = config
        self._consumer = consumer
        self._plan = plan
        self._limit = limit
        self._out = DataOut(common.environment.stdout)
        self._ends: Offsets | None = None
        """With -e: the partitions not yet read to their end, and that end."""
        self._told = ""

    def start(self, partitions: list[TopicPartition], position: Position, *, exit_at_end: bool) -> None:
        """Assign the partitions at their start offsets; with -e only those that have anything to read."""
        starts = find_starts(self._consumer, partitions, position, lambda text: self._common.say(f"kctl: note: {text}"))
        if exit_at_end:
            ends = self._consumer.end_offsets(partitions)
            self._ends = {tp: end for tp, end in ends.items() if starts[tp] < end}
            starts = {tp: starts[tp] for tp in self._ends}
        self._consumer.assign(starts)
        for tp, offset in starts.items():
            self._consumer.seek(tp, offset)

    @property
    def _is_done(self) -> bool:
        return self.written >= self._limit or self._ends == {}

    def follow(self) -> None:
        """Write what comes until there is nothing more to write; flush whenever nothing is there at once."""
        try:
            idle = Timer(self._common.environment.clock, self._config.api_timeout_ms)
            while not self._is_done:
                chunk = self._consumer.poll_chunk(0)
                if chunk is None:
                    self._out.flush()
                    chunk = self._consumer.poll_chunk(IDLE_S)
                if chunk is None:
                    self._on_idle(idle)
                    continue
                self._write(chunk)
                idle = Timer(self._common.environment.clock, self._config.api_timeout_ms)
        finally:
            self._out.flush()

    def _write(self, chunk: FetchedChunk) -> None:
        tp = chunk.topic_partition
        end = FOREVER if self._ends is None else self._ends.get(tp, 0)
        reader = chunk.reader(end)
        reader.count = already = self.written  # so that %i goes on counting
        while not reader.exhausted and self.written < self._limit:
            self._out.write(reader.output(self._plan, min(WRITE_RECORDS, self._limit - self.written)))
            self.written = max(already, reader.count)
        if chunk.next_offset >= end:
            self._reached_end(tp)

    def _reached_end(self, tp: TopicPartition) -> None:
        if self._ends is not None and self._ends.pop(tp, None) is not None:
            self._consumer.assign(self._ends)

    def _on_idle(self, idle: Timer) -> None:
        """Notice that the reader left, that compaction moved us to the end, or that a reason to wait should be told."""
        self._out.check_reader()
        for tp, end in list((self._ends or {}).items()):
            if self._consumer.position(tp) >= end:
                self._reached_end(tp)
        idle.update()
        if idle.elapsed_ms < TELL_AFTER_MS:
            return
        waiting = [
            f"{tp}: {why}" for tp, why in self._consumer.waiting_for().items() if not why.startswith(NOTHING_MORE)
        ]
        reasons = "; ".join(waiting)
        if self._ends and idle.is_expired:
            raise ApiTimeout(f"waiting for records: {reasons}", timeout_ms=idle.timeout_ms, elapsed_ms=idle.elapsed_ms)
        if reasons != self._told:
            self._told = reasons
            self._common.say(f"kctl consume: waiting: {reasons}" if reasons else "kctl consume: going on")
