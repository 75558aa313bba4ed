"""`kctl consume`: the records of topics to stdout, by a template or as lossless JSON lines.

Owns the options and what they mean together; the reading itself is reading.py's, with a group group_reading.py's.
Shown by tests/cli/test_produce_consume.py and tests/cli/test_consume_group.py.
"""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import click
import typer

from kctl.cli.bounds import find_bounds
from kctl.cli.consume_end import tell_close
from kctl.cli.formats.choice import (
    FormatOption,
    GrepOption,
    KcatFormatOption,
    NullOption,
    PrintOffsetsOption,
    choose_record_output,
)
from kctl.cli.group_reading import GroupReading
from kctl.cli.offset_grammar import parse_offset
from kctl.cli.offsets import END, START, Anchor, OffsetSpec, Position, Relative, range_of
from kctl.cli.options import Common, DurationType, with_common
from kctl.cli.partitions import choose_partitions, parse_partitions
from kctl.cli.reading import FOREVER, Limits, Reading
from kctl.cli.settings import Setting
from kctl.cli.sizes import parse_size_bytes
from kctl.cli.tail_reading import MOST_TAIL, TailReading
from kctl.cli.topic_watch import TopicWatch
from kctl.cli.topic_words import parse_topics
from kctl.client.clock import FOREVER_MS
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.consumer import Consumer
from kctl.client.consumer.managers.fetch import PREFETCH_BYTES

T = TypeVar("T")
R = TypeVar("R")
LEAST_MEMORY_BYTES = 64 * 1024
DEFAULTS = {"auto.offset.reset": "none", "allow.auto.create.topics": "false", "enable.auto.commit": "false"}
"""Properties that a command line wants otherwise than a library: nothing is skipped or created without a word."""

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
@with_common
def consume(
    common: Common,
    topics: Annotated[
        list[str],
        typer.Argument(metavar="TOPIC...", help="What to read: names, or '/orders-.*/' for all that match."),
    ],
    offset: Annotated[
        list[str] | None,
        typer.Option(
            "--offset",
            "-o",
            metavar="RANGE",
            help="Where to start and end: start, 42, -10 (the last 10), 100:200, @-1h:end, stored; 0=5 for one "
            "partition. Repeatable, the later wins. Default: start.",
            show_default=False,
        ),
    ] = None,
    from_beginning: Annotated[bool, typer.Option("--from-beginning", help="The same as -o start.")] = False,
    tail: Annotated[
        int | None,
        typer.Option("--tail", min=0, max=MOST_TAIL, metavar="N", help="The newest N records in total, then stop."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="With --tail: go on with what comes after them.")] = False,
    limit: Annotated[
        int | None, typer.Option("--max", "-n", min=0, metavar="N", help="Stop after N records.", show_default=False)
    ] = None,
    exit_at_end: Annotated[
        bool, typer.Option("--exit-at-end", "-e", help="Stop at what was the end at the start.")
    ] = False,
    idle_timeout: Annotated[
        int | None,
        typer.Option(
            "--idle-timeout", click_type=DurationType(), metavar="DURATION", help="Stop when nothing came for so long."
        ),
    ] = None,
    isolation: Annotated[
        str | None,
        typer.Option("--isolation", metavar="LEVEL", help="read_uncommitted (default) or read_committed."),
    ] = None,
    max_memory: Annotated[
        str | None,
        typer.Option("--max-memory", metavar="SIZE", help="Most that is fetched ahead, such as 16MiB (64MiB)."),
    ] = None,
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
            help="Share the partitions with this group's other members, and commit what was written. -o then says "
            "where to start without a commit.",
        ),
    ] = None,
) -> int:
    """Print the records of topics.

    Without -n or -e it goes on until Ctrl-C. With --output jsonl each record is one object from which it can be made
    again: {topic, partition, offset, timestamp, key, value, headers: [[name, value], ...]}, null where null, and
    {"base64": "..."} where the bytes are not UTF-8.
    """
    words = _parsed(parse_topics, topics, "TOPIC")
    specs = _read_offsets(offset or (), common.environment.clock.wall_ms(), from_beginning=from_beginning)
    wanted = _parsed(parse_partitions, partitions or (), "'--partition' / '-p'")
    memory_bytes = PREFETCH_BYTES if max_memory is None else _parsed(_memory_bytes, max_memory, "'--max-memory'")
    if tail is not None and (offset or from_beginning or group is not None):
        raise click.UsageError("--tail says where to start, and of what: no --offset, --from-beginning or --group.")
    if follow and (tail is None or exit_at_end):
        raise click.UsageError("--follow goes on after --tail, which it needs, and not with --exit-at-end.")
    output = choose_record_output(
        common,
        template=template,
        kcat_format=kcat_format,
        print_offsets=print_offsets,
        null=null,
        greps=grep or (),
    )
    config = _config(common, isolation, group, specs, wanted)
    consumer = Consumer(config, events=common.events, prefetch_bytes=memory_bytes)
    kind = TailReading if tail is not None else Reading if group is None else GroupReading
    limits = Limits(FOREVER if limit is None else limit, FOREVER_MS if idle_timeout is None else idle_timeout)
    reading = kind(common, config, consumer, output, limits)
    try:
        if isinstance(reading, GroupReading):
            reading.join(words, specs, exit_at_end=exit_at_end)
        else:
            chosen = choose_partitions(consumer, words, wanted, specs, may_be_none=not exit_at_end and tail is None)
            if isinstance(reading, TailReading):
                reading.start_tail(chosen, tail or 0, follows=follow)
            else:
                ranges = {tp: range_of(specs, tp.partition) for tp in chosen}
                reading.start(find_bounds(consumer, ranges, reading.note, exit_at_end=exit_at_end))
            if words.patterns and not exit_at_end and not wanted and (tail is None or follow):
                reading.watch(TopicWatch(consumer, words, common.environment.clock, config.metadata_max_age_ms))
        reading.follow()
    finally:
        closed = consumer.close(common.close_timeout_s)
        code = tell_close(common, config, closed, reading.commit_error if isinstance(reading, GroupReading) else None)
    if common.verbose:
        common.say(f"kctl consume: {reading.written} record{'' if reading.written == 1 else 's'}")
    return code


def _config(
    common: Common,
    isolation: str | None,
    group: str | None,
    specs: Sequence[OffsetSpec],
    partitions: Sequence[int],
) -> ConsumerConfig:
    """Return the consumer's properties; UsageError for what the group decides, or kctl itself."""
    defaults = DEFAULTS
    flags = {"isolation.level": None if isolation is None else Setting(isolation, "--isolation")}
    if group is not None:
        if partitions:
            raise click.UsageError("--partition and --group cannot both hold: the group shares the partitions out.")
        start = range_of([spec for spec in specs if not spec.spans], 0).start
        if any(_is_stored(spec.start) for spec in specs):
            how = "-X group.id=NAME -o stored-10 reads from there without joining"
            raise click.UsageError(f"With --group reading starts at what is stored anyway; {how}.")
        reset = "earliest" if start == START else "latest" if start == END else "none"
        defaults = DEFAULTS | {"auto.offset.reset": reset}
        flags["group.id"] = Setting(group, "--group")
    config = common.settings.with_flags(flags).with_defaults(defaults).parse(ConsumerConfig)
    if config.enable_auto_commit:
        raise click.UsageError("enable.auto.commit=true would commit what is not written yet; kctl commits by itself.")
    if config.group_id is None and any(_is_stored(spec.start) or _is_stored(spec.end) for spec in specs):
        raise click.UsageError("-o stored needs a group: -X group.id=NAME, whose committed offsets are then read.")
    common.note_ignored(config)
    return config


def _is_stored(position: Position | None) -> bool:
    return isinstance(position, Relative) and position.anchor is Anchor.STORED


def _read_offsets(texts: Sequence[str], wall_ms: int, *, from_beginning: bool) -> list[OffsetSpec]:
    if from_beginning and texts:
        raise click.UsageError("--from-beginning and --offset both say where to start: give one of them.")
    return [_parsed(lambda each: parse_offset(each, wall_ms), text, "'--offset' / '-o'") for text in texts]


def _memory_bytes(text: str) -> int:
    size = parse_size_bytes(text)
    if size < LEAST_MEMORY_BYTES:
        raise ValueError(f"{text!r} is too little to fetch anything: at least {LEAST_MEMORY_BYTES // 1024}KiB")
    return size


def _parsed(parse: Callable[[T], R], given: T, name: str) -> R:
    """Return what a parser makes of what was given; its ValueError becomes a mistake in the option of that name."""
    try:
        return parse(given)
    except ValueError as e:
        raise click.BadParameter(str(e), param_hint=name) from None
