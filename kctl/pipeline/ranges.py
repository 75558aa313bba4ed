"""OffsetRange: the offsets of one partition that a task reads, with the planning and cutting of ranges.

Planning sends each query once for all partitions, within one API timeout.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from kctl.client.admin import EARLIEST, LATEST, Admin
from kctl.client.broker_errors import ErrorCode
from kctl.client.clock import Timer
from kctl.client.cluster import NO_TOPIC_ID, TopicPartition
from kctl.client.config import ConsumerConfig
from kctl.client.errors import BrokerError, ConfigError, InvalidOffsetError
from kctl.client.events import EventSink, ignore_events
from kctl.client.network.system import system_runtime
from kctl.client.protocol.primitives import uuid_text
from kctl.client.runtime import Runtime
from kctl.pipeline.isolation import UNCOMMITTED, ReadingProperties
from kctl.pipeline.job_errors import listed
from kctl.pipeline.resume_point import NO_LOG_END, ResumePoint

MAX_OFFSET: Final = 2**63 - 1
"""Largest offset of a partition."""
Properties = Mapping[str, object]
Offsets = dict[TopicPartition, int]


class OffsetRange(NamedTuple):
    """Offsets of one partition that a task reads. Contains no secrets and may be logged.

    Attributes:
        start_offset: first offset.
        end_offset: offset after the last one. Offsets in between may be missing.
        topic_id: as Kafka prints it. Empty if the brokers have no IDs. A topic recreated with another ID is not read.
        log_end: end of the whole partition at planning time.
    """

    topic: str
    partition: int
    start_offset: int
    end_offset: int
    topic_id: str = ""
    log_end: int = NO_LOG_END

    @property
    def topic_partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        return self.end_offset - self.start_offset

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition} [{self.start_offset}, {self.end_offset})"


class Selection(NamedTuple):
    """Selected partitions. Exactly one attribute is set.

    Attributes:
        topics: all partitions of these topics.
        pattern: all partitions of topics whose whole name matches, except internal topics.
        partitions: exactly these partitions.
    """

    topics: tuple[str, ...] = ()
    pattern: str = ""
    partitions: tuple[TopicPartition, ...] = ()


class RangeBound(NamedTuple):
    """A start or end position in each partition.

    Attributes:
        anywhere: position in every partition. None uses `partitions`.
        is_time: whether a position is a time in ms since the epoch, which denotes the first record at or after it.
            Otherwise a position is an offset, LATEST or EARLIEST.
        option: name of the user's option, for errors.
        latest_if_none: whether a partition without a record at the time uses its end. If False, an error is raised.
    """

    anywhere: int | None = None
    partitions: tuple[tuple[TopicPartition, int], ...] = ()
    is_time: bool = False
    option: str = "offsets"
    latest_if_none: bool = True

    def of_each(self, partitions: Sequence[TopicPartition]) -> Offsets:
        if self.anywhere is not None:
            return dict.fromkeys(partitions, self.anywhere)
        named = dict(self.partitions)
        missing = [tp for tp in partitions if tp not in named]
        surplus = sorted(set(named) - set(partitions))
        if missing or surplus:
            what = f"lacks {listed(missing)}" if missing else f"has {listed(surplus)}, which the query does not read"
            raise ConfigError(
                f"option {self.option} {what}: set an offset for each partition that the query reads", key=self.option
            )
        return {tp: named[tp] for tp in partitions}


FROM_EARLIEST: Final = RangeBound(EARLIEST, option="startingOffsets")
TO_LATEST: Final = RangeBound(LATEST, option="endingOffsets")


class Cut(NamedTuple):
    """Limits for cutting ranges into smaller ones.

    Attributes:
        min_partitions: minimum number of ranges, reached by cutting the larger ones. 0 means no minimum.
        max_records: maximum number of offsets in a range. 0 means no limit.
    """

    min_partitions: int = 0
    max_records: int = 0


class Planner:
    """Queries for the partitions and offsets of one cluster, within one API timeout; a context manager.

    Attributes:
        topic_ids: dict from topic name to ID, from the last `partitions` call. IDs are empty if the brokers have none.
    """

    def __init__(
        self, properties: ReadingProperties, runtime: Runtime | None = None, *, events: EventSink = ignore_events
    ) -> None:
        runtime = runtime or system_runtime()
        self._clock = runtime.clock
        self._isolation_level = ConsumerConfig.parse(properties).isolation_level
        self._admin = Admin(properties, runtime, events=events)
        self.api_timeout_ms = self._admin.config.default_api_timeout_ms
        self._timer = Timer(self._clock, self.api_timeout_ms)
        self.topic_ids: dict[str, str] = {}

    def __enter__(self) -> "Planner":
        return self

    def __exit__(self, *_error: object) -> None:
        self._admin.close()

    def restart(self) -> None:
        self._timer = Timer(self._clock, self.api_timeout_ms)

    def partitions(self, selection: Selection) -> list[TopicPartition]:
        """Return the selected partitions, sorted by topic and number.

        Raises:
            BrokerError: a topic does not exist or is not authorized.
            ConfigError: a partition does not exist.
            ApiTimeout: the API timeout passed.
        """
        topics = self._topics(selection)
        self.topic_ids = {}
        if not topics:
            return []
        described = self._admin.describe_topics(topics, timeout=self._left_s())
        described.raise_first()
        ids = {name: described[name].topic_id for name in topics}
        self.topic_ids = {name: "" if each == NO_TOPIC_ID else uuid_text(each) for name, each in ids.items()}
        found = [TopicPartition(name, number) for name in topics for number in sorted(described[name].partitions)]
        if not selection.partitions:
            return found
        missing = sorted(set(selection.partitions) - set(found))
        if missing:
            raise ConfigError(f"option assign has {listed(missing)}, which does not exist", key="assign")
        return sorted(set(selection.partitions))

    def _topics(self, selection: Selection) -> list[str]:
        if not selection.pattern:
            return sorted({tp.topic for tp in selection.partitions} or set(selection.topics))
        pattern = re.compile(selection.pattern)
        return [name for name in self._admin.list_topic_names(timeout=self._left_s()) if pattern.fullmatch(name)]

    def ends(self, partitions: Sequence[TopicPartition], position: int, *, skip_unknown: bool = False) -> Offsets:
        """Return the EARLIEST or LATEST offset of each partition.

        Args:
            skip_unknown: leave out partitions that do not exist.
        """
        return self._ask(dict.fromkeys(partitions, position), skip_unknown=skip_unknown)

    def log_ends(self, points: Mapping[TopicPartition, ResumePoint], ends: Offsets) -> Offsets:
        """Return the ends against which copies are checked.

        For a partition that was copied beyond `ends`, return the read_uncommitted end, because an open transaction may
        hide its last records.
        """
        short = [tp for tp, point in points.items() if max(point.offset, point.log_end) > ends[tp]]
        return ends | self._ask(dict.fromkeys(short, LATEST), skip_unknown=True, isolation_level=UNCOMMITTED)

    def _at_times(self, positions: Offsets, place: RangeBound, latest: Offsets) -> dict[TopicPartition, int]:
        found = self._ask(positions)
        none = [tp for tp in positions if found[tp] < 0]
        if none and not place.latest_if_none:
            text = f"{place.option}: no record found at or after this time in {listed(none)}"
            raise ConfigError(text, key=place.option)
        return {tp: latest[tp] if found[tp] < 0 else found[tp] for tp in positions}

    def resolve(self, partitions: Sequence[TopicPartition], place: RangeBound, latest: Offsets) -> Offsets:
        """Return the offset of a bound in each partition.

        Args:
            latest: end of each partition.
        Raises:
            ConfigError: a required time has no record, or the bound names other partitions.
        """
        positions = place.of_each(partitions)
        if place.is_time:
            return self._at_times(positions, place, latest)
        early = self._ask({tp: EARLIEST for tp in partitions if positions[tp] == EARLIEST})
        return {
            tp: early[tp] if positions[tp] == EARLIEST else latest[tp] if positions[tp] == LATEST else positions[tp]
            for tp in partitions
        }

    def _ask(self, positions: Offsets, *, skip_unknown: bool = False, isolation_level: str | None = None) -> Offsets:
        if not positions:
            return {}
        level = isolation_level or self._isolation_level
        found = self._admin.list_offsets(positions, isolation_level=level, timeout=self._left_s())
        for error in found.failed.values():
            is_unknown = isinstance(error, BrokerError) and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if not (skip_unknown and is_unknown):
                raise error
        return {tp: found.done[tp].offset for tp in positions if tp in found.done}

    def _left_s(self) -> float:
        self._timer.update()
        return self._timer.remaining_ms / 1000


def plan_ranges(
    properties: ReadingProperties,
    selection: Selection,
    start: RangeBound = FROM_EARLIEST,
    end: RangeBound = TO_LATEST,
    *,
    cut: Cut | None = None,
    fail_on_data_loss: bool = True,
    keep_empty: bool = False,
    runtime: Runtime | None = None,
    events: EventSink = ignore_events,
) -> list[OffsetRange]:
    """Return the ranges to read, cut for tasks.

    Args:
        properties: Kafka properties with `bootstrap.servers`. default.api.timeout.ms limits the whole call.
        fail_on_data_loss: raise an error for bounds outside the log. If False, move the bounds into the log.
        keep_empty: if `cut` is None, also return empty ranges.

    Raises:
        ConfigError: a property is invalid, a partition does not exist or has no bound, or a start is behind its end.
        InvalidOffsetError: a bound is outside the log.
        ApiTimeout, TransportError, BrokerError: a query failed.
    """
    with Planner(properties, runtime, events=events) as planner:
        partitions = planner.partitions(selection)
        earliest = planner.ends(partitions, EARLIEST)
        latest = planner.ends(partitions, LATEST)
        starts = planner.resolve(partitions, start, latest)
        ends = planner.resolve(partitions, end, latest)
        for tp in partitions:
            starts[tp] = _within(tp, starts[tp], start.option, earliest[tp], latest[tp], strict=fail_on_data_loss)
            ends[tp] = _within(tp, ends[tp], end.option, earliest[tp], latest[tp], strict=fail_on_data_loss)
            if starts[tp] > ends[tp]:
                text = f"{start.option} of {tp} is {starts[tp]}, which is after {end.option} ({ends[tp]})"
                raise ConfigError(text, key=start.option)
        topic_ids = planner.topic_ids
    whole = [OffsetRange(*tp, starts[tp], ends[tp], topic_ids[tp.topic], latest[tp]) for tp in partitions]
    return whole if keep_empty and cut is None else cut_ranges(whole, cut or Cut())


def _within(tp: TopicPartition, offset: int, option: str, first: int, end: int, *, strict: bool) -> int:
    """Return the offset if it is inside the log, otherwise the log's nearest offset. If `strict`, raise
    InvalidOffsetError.
    """
    if first <= offset <= end:
        return offset
    if strict:
        has = f"has offsets {first} to {end - 1}" if first < end else f"is empty, and its next offset is {end}"
        text = f"{option}: {tp} {has}, not {offset}. To read the remaining records, set failOnDataLoss=false"
        raise InvalidOffsetError(text, partitions=(tp,))
    return min(max(first, offset), end)


def cut_ranges(ranges: Iterable[OffsetRange], cut: Cut) -> list[OffsetRange]:
    """Return the nonempty ranges, in order, cut into pieces of nearly equal size.

    Spark's Kafka connector likewise cuts to `max_records` first, and then in proportion to size into about
    `min_partitions` ranges. Unlike Spark, never returns fewer than `min_partitions` if there are enough offsets.
    """
    left = [each for each in ranges if each.size > 0]
    if cut.max_records > 0:
        left = [piece for each in left for piece in _pieces(each, -(-each.size // cut.max_records))]
    wanted, total = cut.min_partitions, sum(each.size for each in left)
    if len(left) >= wanted:
        return left
    return [piece for each in left for piece in _pieces(each, -(-each.size * wanted // total))]


def _pieces(whole: OffsetRange, count: int) -> list[OffsetRange]:
    count = min(count, whole.size)
    bounds = [whole.start_offset + whole.size * index // count for index in range(count + 1)]
    return [whole._replace(start_offset=start, end_offset=end) for start, end in pairwise(bounds)]
