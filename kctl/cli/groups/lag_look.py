"""One sample of the lag of groups: rows of `kctl groups lag`, and notes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kctl.cli.admin_client import half_of_rest_s, nothing_found
from kctl.cli.exit_codes import ExitCode
from kctl.cli.failures import explain
from kctl.cli.formats.rows import Row, Value
from kctl.cli.groups import lag_rates, lag_times
from kctl.cli.groups.describe import partition_row
from kctl.cli.groups.lag import PartitionLag, no_lag_text, partition_lags
from kctl.cli.groups.lag_rates import LagRates, LagSamples
from kctl.cli.groups.lag_times import LagTimes
from kctl.cli.groups.lookup import chosen_groups, describe_in_half, late_lines
from kctl.cli.groups.view import filled_columns
from kctl.cli.named_partitions import find_partitions, with_matching
from kctl.cli.nearest_names import suggest_topics
from kctl.cli.options import Common
from kctl.client.admin import Admin, GroupDescription
from kctl.client.clock import duration_text
from kctl.client.errors import KafkaError
from kctl.client.wording import counted

COLUMNS = (
    "group", "topic", "partition", "committed", "end", "lag", "client", "note", "start_offset", "lag_ms", "rate_per_s",
    "produced_per_s", "catch_up_ms", "retention_left_ms",
)  # fmt: skip
SHOWN = (
    "group", "topic", "partition", "committed", "start_offset", "end", "lag", "age", "read_per_s",
    "written_per_s", "caught_up_in", "deleted_in", "client", "note",
)  # fmt: skip
WHERE_KNOWN = ("start_offset", "age", "read_per_s", "written_per_s", "caught_up_in", "deleted_in")
"""Columns that a table omits if no row has them."""
SOON_MS = 86_400_000
"""Maximum remaining retention of unread records that a table shows."""


class LagQuery(NamedTuple):
    """Groups and partitions of a sample.

    Attributes:
        group_ids: groups; None for all.
        topics: partition numbers by topic, None for all of a topic; an empty dict for all partitions of the groups.
        threshold: lag above which the exit code is 3; None for no threshold.
    """

    group_ids: list[str] | None
    topics: Mapping[str, list[int] | None]
    threshold: int | None


class LagLook(NamedTuple):
    """Result of a sample.

    Attributes:
        rates: rates by group and partition, if there are enough samples.
        errors: failed requests.
        notes: lines about errors and the threshold.
        has_found: whether any group was described.
        is_above: whether a partition is above the threshold; None without a threshold.
        is_measured: whether the lag of each given group was found.
    """

    lags: list[PartitionLag]
    times: Mapping[lag_times.Key, LagTimes]
    rates: dict[lag_rates.Key, LagRates]
    errors: list[KafkaError]
    notes: list[str]
    has_found: bool
    is_above: bool | None
    is_measured: bool

    def rows(self) -> list[Row]:
        return [self._row(lag) for lag in self.lags]

    def shown_rows(self) -> list[Row]:
        return [shown_row(self._row(lag)) for lag in self.lags]

    def _row(self, lag: PartitionLag) -> Row:
        key = lag.group_id, lag.partition
        times, rates = self.times.get(key, lag_times.UNKNOWN), self.rates.get(key, lag_rates.UNKNOWN)
        found = {**times._asdict(), **partition_row(lag), **rates._asdict()}
        found["note"] = found["note"] or times.note or None
        return {name: found[name] for name in COLUMNS}


def shown_row(row: Row) -> Row:
    """Return a row with durations and rates as text."""
    left_ms = row["retention_left_ms"]
    return {
        **row,
        "age": _duration(row["lag_ms"]),
        "read_per_s": _rate(row["rate_per_s"]),
        "written_per_s": _rate(row["produced_per_s"]),
        "caught_up_in": _duration(row["catch_up_ms"]),
        "deleted_in": _soon(left_ms) if isinstance(left_ms, int) and left_ms < SOON_MS else None,
    }


def shown_columns(rows: Sequence[Row]) -> list[str]:
    filled = filled_columns(WHERE_KNOWN, rows)
    return [name for name in SHOWN if name not in WHERE_KNOWN or name in filled]


def _duration(value: Value) -> str | None:
    return duration_text(value) if isinstance(value, int) else None


def _soon(left_ms: int) -> str:
    return duration_text(left_ms) if left_ms else "now"


def _rate(value: Value) -> str | None:
    if not isinstance(value, int | float):
        return None
    return f"{value:.0f}" if value >= 10 or value == 0 else f"{value:.1f}"


def look_at(common: Common, admin: Admin, query: LagQuery, samples: LagSamples) -> LagLook:
    """Take one sample, within the timeout of the caller.

    Raises: KafkaError: no broker responded, or a given topic does not exist.
    """
    notes: list[str] = []
    errors: list[KafkaError] = []
    group_ids = query.group_ids
    if group_ids is None:
        listed = admin.list_groups(partial_timeout=half_of_rest_s(admin))
        group_ids = list(listed.groups)
        errors += listed.failed.values()
        notes += [f"incomplete list: the groups of broker {node} are missing" for node in listed.failed]
    else:
        group_ids = chosen_groups(admin, group_ids)
    results = describe_in_half(admin, group_ids)
    notes += late_lines(results)
    groups = list(results.done.values())
    wanted = _wanted(admin, query, groups)
    by_group = partition_lags(admin, groups, wanted)
    lags = [lag for of_group in by_group.values() for lag in of_group]
    clock = common.environment.clock
    records = lag_times.next_records(admin, lags)
    lags = lag_times.without_markers(lags, records)
    rates = samples.add(lags, clock.now_ms())
    times = lag_times.lag_times(admin, lags, records, clock.wall_ms())
    errors += results.failed.values()
    errors += [lag.error for lag in lags if lag.error is not None]
    behind = [] if query.threshold is None else [lag for lag in lags if (lag.unread or 0) > query.threshold]
    if behind:
        worst = max(behind, key=lambda lag: lag.unread or 0)
        notes.append(
            f"lag exceeds --threshold {query.threshold} on {counted(len(behind), 'partition')}: the largest lag is "
            f"{worst.unread}, on {worst.partition} of group {worst.group_id}"
        )
    is_above = None if query.threshold is None else bool(behind)
    if query.group_ids is None and not groups and not errors:
        notes.append(nothing_found(admin, "groups"))
    if query.group_ids is not None:
        notes += [no_lag_text(admin, group_id) for group_id in by_group if not by_group[group_id]]
    has_found = bool(groups) or query.group_ids is None
    is_measured = bool(lags) and (query.group_ids is None or all(by_group.values()))
    return LagLook(lags, times, rates, errors, notes, has_found, is_above, is_measured)


def code_of(look: LagLook, code: int) -> int:
    """Return the exit code of a sample. `code`: exit code of its errors.

    With a threshold, return 3 if a partition is above it or no lag was found. Otherwise an error of the sample has its
    own exit code.
    """
    if look.is_above is None:
        return code
    if not look.is_above and look.errors:
        return explain(look.errors[0]).code
    return ExitCode.OK if look.is_measured and not look.is_above else ExitCode.PARTIAL_FAILURE


def _wanted(admin: Admin, query: LagQuery, groups: Sequence[GroupDescription]) -> dict[str, list[int]] | None:
    """Return the given partitions, or None for all. A deleted topic counts if a group has committed offsets in it.

    Raises: KafkaError: a topic does not exist, and no group has committed offsets in it.
    """
    topics = with_matching(admin, query.topics)
    if not topics:
        return None
    described = admin.describe_topics(list(topics))
    named = {topic: topics[topic] for topic in described.done}
    wanted = find_partitions(admin, named) if named else {}
    for topic, error in described.failed.items():
        known = sorted(_committed_of(admin, groups, topic))
        if not known:
            suggest_topics(admin, {topic: error})
            raise error
        wanted[topic] = known if topics[topic] is None else list(topics[topic] or ())
    return wanted


def _committed_of(admin: Admin, groups: Sequence[GroupDescription], topic: str) -> list[int]:
    found: dict[int, None] = {}
    offsets = admin.list_offsets_of_groups([group.group_id for group in groups])
    for group in groups:
        found |= {tp.partition: None for tp in offsets[group.group_id].done if tp.topic == topic}
    return list(found)
