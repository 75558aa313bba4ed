"""Execution of `kctl consume`: config, consumer, kind of reading, and exit code."""

from collections.abc import Sequence
from typing import NamedTuple

from kctl.cli import click
from kctl.cli.consume.bounds import BoundsLookup
from kctl.cli.consume.group_reading import GroupReading
from kctl.cli.consume.partitions import choose_partitions
from kctl.cli.consume.reading import Limits, Reading
from kctl.cli.consume.tail_reading import TailReading
from kctl.cli.consume.targets import FOREVER
from kctl.cli.consume.topic_watch import TopicWatch
from kctl.cli.data_out import OutputClosed
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import Failure, explain
from kctl.cli.formats.output import RecordOutput
from kctl.cli.interrupts import Interrupted
from kctl.cli.options import Common
from kctl.cli.setting import Setting
from kctl.cli.uncompiled import note_uncompiled
from kctl.client.clock import FOREVER_MS, Timer
from kctl.client.cluster import TopicPartition
from kctl.client.config import ConsumerConfig, RegistryConfig
from kctl.client.consumer import COMMITTING, LEAVING, PREFETCH_BYTES, CloseResult, Consumer
from kctl.client.errors import ApiTimeout, KafkaError
from kctl.client.events import is_of_commit
from kctl.client.wording import counted
from kctl.grammar.durations import show_duration
from kctl.grammar.offsets import Anchor, OffsetSpec, Position, Relative, range_of
from kctl.grammar.topics import TopicWords

_PHASES = {COMMITTING: "commit", LEAVING: "leave-group"}
DEFAULTS = {"auto.offset.reset": "none", "allow.auto.create.topics": "false", "enable.auto.commit": "false"}
"""Defaults of the command, which skips or creates nothing without a notice."""
_RESET = "auto.offset.reset"
"""If the user sets it, the client decides where to start without a commit and where to continue after a loss."""

BULK_FETCH = {"max.partition.fetch.bytes": "8388608", "fetch.max.bytes": "8388608"}
"""Without -n or --tail: larger and fewer responses, with the same limit per broker for any number of partitions."""
SMALL_FETCH = {"max.partition.fetch.bytes": "65536"}
"""For small -n: a single batch, which comes whole in any case, is enough."""
FEW_RECORDS = 10
LEAST_DECOMPRESSED_BYTES = 16 * 1024 * 1024
"""Minimum limit of a decompressed batch: brokers limit only compressed sizes, to 1 MB."""


class ReadRequest(NamedTuple):
    """Options of the command.

    Attributes:
        partitions: partition numbers; empty for all.
        group: group to join, or None.
        isolation: isolation.level, if given.
        tail: number of newest records to print; None to start at `specs`.
        follow: whether to continue after the newest records.
        records: maximum number of records, if given.
        idle_ms: maximum time without a record, if given.
        prefetch_bytes: memory limit for fetched records, if given.
        decodes: whether keys or values are decoded.
        exits_on_loss: fail if offsets are deleted before they are read.
    """

    topics: TopicWords
    specs: Sequence[OffsetSpec]
    partitions: Sequence[int]
    group: str | None
    isolation: str | None
    exit_at_end: bool
    tail: int | None
    follow: bool
    records: int | None
    idle_ms: int | None
    prefetch_bytes: int | None
    decodes: bool = False
    exits_on_loss: bool = False
    skips_bad_records: bool = False

    @property
    def ends_by_itself(self) -> bool:
        """Return whether a condition other than Ctrl-C ends the reading."""
        if self.tail is not None:
            return not self.follow
        has_end = any(spec.end is not None for spec in self.specs)
        return self.exit_at_end or self.records is not None or self.idle_ms is not None or has_end


def run_reading(common: Common, request: ReadRequest, output: RecordOutput) -> int:
    config = _config(common, request)
    close_timeout_s = common.close_timeout_ms / 1000
    prefetch_bytes = PREFETCH_BYTES if request.prefetch_bytes is None else request.prefetch_bytes
    consumer = Consumer(
        config,
        events=common.events,
        prefetch_bytes=prefetch_bytes,
        max_decompressed_bytes=max(prefetch_bytes, LEAST_DECOMPRESSED_BYTES),
    )
    try:
        return _read(common, request, output, config, consumer)
    finally:
        consumer.close(close_timeout_s)  # it is closed, unless Ctrl-C came between two steps of its end


def _read(
    common: Common, request: ReadRequest, output: RecordOutput, config: ConsumerConfig, consumer: Consumer
) -> int:
    kind = TailReading if request.tail is not None else Reading if request.group is None else GroupReading
    limits = Limits(
        FOREVER if request.records is None else request.records,
        FOREVER_MS if request.idle_ms is None else request.idle_ms,
        request.exit_at_end,
        request.exits_on_loss or (config.auto_offset_reset == "none" and _RESET in common.settings.by_name),
        request.skips_bad_records,
    )
    reading = kind(common, config, consumer, output, limits)
    try:
        _begin(common, config, consumer, request, reading)
        common.end_notices()
        reading.follow()
        if request.exit_at_end:
            reading.report_end()
    except Interrupted:
        if not common.quiet:
            reading.report_interrupt()
        raise
    except OutputClosed:
        if isinstance(reading, GroupReading):
            reading.report_reader_gone()
        raise
    finally:
        for note in output.end():
            reading.note(note)
        reading.note_number_skipped()
        closed, interrupted = close_consumer(consumer, Timer(common.environment.clock, common.close_timeout_ms))
        code = report_close(common, config, closed, reading.commit_error if isinstance(reading, GroupReading) else None)
        if interrupted is not None:  # the exit code is that of the signal, whatever ended the reading
            raise interrupted
    if common.verbose:
        common.say(f"kctl consume: {counted(reading.written, 'record')}")
    note_uncompiled(common, reading.written)
    return code


def _begin(common: Common, config: ConsumerConfig, consumer: Consumer, request: ReadRequest, reading: Reading) -> None:
    try:
        if isinstance(reading, GroupReading):
            starts_itself = _RESET not in common.settings.by_name
            reading.join(request.topics, request.specs, exit_at_end=request.exit_at_end, starts_itself=starts_itself)
        else:
            _start(common, config, consumer, request, reading)
    except ApiTimeout as error:
        raise reading.start_error(error) from error


def _start(common: Common, config: ConsumerConfig, consumer: Consumer, request: ReadRequest, reading: Reading) -> None:
    follows = request.follow if request.tail is not None else not request.exit_at_end
    topics, specs = request.topics, request.specs
    may_be_none = follows and request.tail is None
    chosen = choose_partitions(
        consumer, topics, request.partitions, specs, may_be_none=may_be_none, timeout_s=reading.start_timeout_s
    )
    is_named = bool(specs) and all(spec.spans for spec in specs) and not request.partitions
    if is_named:  # -o 0=20:21 is about that partition and no other
        chosen = [tp for tp in chosen if any(spec.is_about(tp.partition) for spec in specs)]
    if isinstance(reading, TailReading):
        reading.start_tail(chosen, request.tail or 0, follows=request.follow)
    else:
        hides_open = request.exit_at_end and config.isolation_level == "read_committed"
        _look_up(consumer, request, reading, chosen, finds_open=hides_open)
    if topics.patterns and follows and not request.partitions and not is_named:
        reading.watch(TopicWatch(consumer, topics, common.environment.clock, config.metadata_max_age_ms))


def _look_up(
    consumer: Consumer, request: ReadRequest, reading: Reading, chosen: list[TopicPartition], *, finds_open: bool
) -> None:
    ranges = {tp: range_of(request.specs, tp.partition) for tp in chosen}
    has_ends = bool(ranges) and all(each.end is not None for each in ranges.values())
    if not request.exit_at_end and not has_ends:
        reading.note_followed([tp for tp, each in ranges.items() if each.end is None], of=len(ranges))
    lookup = BoundsLookup(consumer, ranges, reading.note, exit_at_end=request.exit_at_end, finds_open=finds_open)
    reading.look_up(lookup, is_bounded=request.exit_at_end or has_ends)


def _config(common: Common, request: ReadRequest) -> ConsumerConfig:
    isolation, group, defaults = request.isolation, request.group, DEFAULTS
    if request.exits_on_loss and _RESET in common.settings.by_name:
        raise click.UsageError(f"--exit-on-loss cannot be combined with {_RESET}.")
    flags = {"isolation.level": None if isolation is None else Setting(isolation, "--isolation-level")}
    if group is not None:
        _check_group(request)
        flags["group.id"] = Setting(group, "--group")
    if request.records is None and request.tail is None:
        defaults = defaults | BULK_FETCH
    elif request.records is not None and request.records <= FEW_RECORDS:
        defaults = defaults | SMALL_FETCH
    settings = common.fail_fast_settings if request.ends_by_itself else common.settings
    if request.decodes:
        settings = settings.without(RegistryConfig.names())
    config = settings.with_flags(flags).with_defaults(defaults).parse(ConsumerConfig)
    _check_config(config, request)
    common.note_ignored(config)
    return config


def _check_group(request: ReadRequest) -> None:
    if request.partitions:
        raise click.UsageError("--partition cannot be combined with --group: the group assigns partitions.")
    if any(_is_stored(spec.start) for spec in request.specs):
        how = "-X group.id=NAME -o stored-10"
        raise click.UsageError(
            "-o stored cannot be combined with --group, which starts at the committed offsets. "
            f"To read from the committed offsets without joining the group, use {how}."
        )


def _check_config(config: ConsumerConfig, request: ReadRequest) -> None:
    if config.enable_auto_commit:
        raise click.UsageError(
            "enable.auto.commit=true is not supported: kctl consume commits offsets after printing the records."
        )
    if config.group_id is None and any(_is_stored(spec.start) or _is_stored(spec.end) for spec in request.specs):
        raise click.UsageError("-o stored needs a group with committed offsets: add -X group.id=NAME.")


def _is_stored(position: Position | None) -> bool:
    return isinstance(position, Relative) and position.anchor is Anchor.STORED


def close_consumer(consumer: Consumer, timer: Timer) -> tuple[CloseResult, Interrupted | None]:
    """Close the consumer within `timer`. After a signal, close it within the remaining time and return the signal."""
    try:
        return consumer.close(timer.remaining_ms / 1000), None
    except Interrupted as interrupted:
        timer.update()
        return consumer.close(timer.remaining_ms / 1000), interrupted


def report_close(common: Common, config: ConsumerConfig, closed: CloseResult, commit_error: KafkaError | None) -> int:
    """Report a failed close, and return the exit code.

    Args: commit_error: error of the latest commit, if it failed.
    """
    if closed.expired_in is not None:
        failure = Failure(ExitCode.CLOSE_TIMEOUT, _stopped(common, config, closed, commit_error))
    elif closed.committed is False:
        failure = (
            Failure(ExitCode.UNEXPECTED, "no time was left for the commit")
            if commit_error is None
            else explain(commit_error)
        )
        if not is_of_commit(failure.message):
            failure = failure._replace(message=f"cannot commit the last offsets: {failure.message}")
    else:
        return ExitCode.OK
    common.environment.say_failure(failure, is_error=False)
    return failure.code


def _stopped(common: Common, config: ConsumerConfig, closed: CloseResult, commit_error: KafkaError | None) -> str:
    phase = _PHASES.get(closed.expired_in or "", "end-of-network-thread")
    if common.close_timeout_ms:
        parts = [f"close timed out after {closed.elapsed_ms}ms (--close-timeout) in phase {phase}"]
    else:
        parts = [f"closed without waiting for the response to {phase} (--close-timeout 0s)"]
    if closed.committed is not None:
        cause = None if closed.committed else getattr(commit_error, "cause", None)
        why = "" if cause is None else f" ({cause})"
        parts.append(f"offsets committed: {'yes' if closed.committed else 'no'}{why}")
    if closed.left_group is False:
        classic = config.group_protocol == "classic"
        session = show_duration(config.session_timeout_ms)
        parts.append(
            f"the group removes this member in {session}"
            if classic
            else "the group removes this member after the session timeout"
        )
    return "; ".join(parts)
