"""`kctl consume`: the records of topics to stdout, by a template or as lossless JSON lines.

Owns the options and what they mean together; the reading itself is reading.py's, with a group group_reading.py's.
Shown by tests/cli/test_produce_consume.py and tests/cli/test_consume_group.py.
"""

from collections.abc import Iterable
from typing import Annotated

import click
import typer

from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import exit_code
from kctl.cli.formats.choice import (
    FormatOption,
    GrepOption,
    KcatFormatOption,
    NullOption,
    PrintOffsetsOption,
    choose_record_output,
)
from kctl.cli.group_reading import GroupReading
from kctl.cli.offsets import Edge, Position, parse_position
from kctl.cli.options import Common, with_common
from kctl.cli.partitions import choose_partitions, parse_partitions
from kctl.cli.reading import FOREVER, Reading
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.consumer import Consumer

DEFAULTS = {"auto.offset.reset": "none", "allow.auto.create.topics": "false", "enable.auto.commit": "false"}
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
    template: FormatOption = None,
    kcat_format: KcatFormatOption = None,
    print_offsets: PrintOffsetsOption = False,
    null: NullOption = None,
    grep: GrepOption = None,
    partitions: Annotated[
        list[str] | None,
        typer.Option("--partition", "-p", metavar="N", help="Only these: 0, 0,2 or 2-4; repeatable."),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group",
            "-g",
            metavar="GROUP",
            help="Share the partitions with the other members of this group, from its committed offsets on; what was "
            "written is committed. -o start or end says where to begin without a commit.",
        ),
    ] = None,
) -> int:
    """Print the records of topics.

    Without -n or -e it goes on until Ctrl-C. With --output jsonl each record is one object from which it can be made
    again: {topic, partition, offset, timestamp, key, value, headers: [[name, value], ...]}, null where null, and
    {"base64": "..."} where the bytes are not UTF-8.
    """
    position = _read_position(offset, common.environment.clock.wall_ms())
    wanted = _read_partitions(partitions or ())
    output = choose_record_output(
        common,
        template=template,
        kcat_format=kcat_format,
        print_offsets=print_offsets,
        null=null,
        greps=grep or (),
    )
    defaults = DEFAULTS if group is None else DEFAULTS | _group_defaults(group, position, wanted)
    config = common.settings.with_defaults(defaults).parse(ConsumerConfig)
    if config.enable_auto_commit:
        raise click.UsageError("enable.auto.commit=true would commit what is not written yet; kctl commits by itself.")
    common.note_ignored(config)
    consumer = Consumer(config, events=common.events)
    kind = Reading if group is None else GroupReading
    reading = kind(common, config, consumer, output, FOREVER if limit is None else limit)
    try:
        if isinstance(reading, GroupReading):
            reading.join(topics, exit_at_end=exit_at_end)
        else:
            reading.start(choose_partitions(consumer, topics, wanted), position, exit_at_end=exit_at_end)
        reading.follow()
    finally:
        closed = consumer.close(common.close_timeout_s)
    if common.verbose:
        common.say(f"kctl consume: {reading.written} record{'' if reading.written == 1 else 's'}")
    if closed.expired_in is None:
        return _tell_uncommitted(common, reading) if closed.committed is False else ExitCode.OK
    common.environment.say(f"kctl consume: {closed.elapsed_ms} ms (--close-timeout) passed while {closed.expired_in}")
    return ExitCode.CLOSE_TIMEOUT


def _tell_uncommitted(common: Common, reading: Reading) -> int:
    """Say why the group will read again what was written, and return the exit code of that."""
    error = reading.commit_error if isinstance(reading, GroupReading) else None
    common.environment.say(f"kctl consume: the last offsets are not committed: {error or 'there was no time'}")
    return ExitCode.UNEXPECTED if error is None else exit_code(error)


def _group_defaults(group: str, position: Position, partitions: Iterable[int]) -> dict[str, str]:
    """Return the properties of a member; UsageError for what the group decides instead of the user."""
    if partitions:
        raise click.UsageError("--partition and --group cannot both hold: the group shares the partitions out.")
    if not isinstance(position, Edge):
        raise click.UsageError("With --group, --offset is start or end, and holds where the group has no commit.")
    return {"group.id": group, "auto.offset.reset": "earliest" if position is Edge.START else "latest"}


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
