"""Looks: one or two looks at the same subjects, and the questions that several findings ask of them. Pure."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from kctl.client.admin import CONFIG_SOURCES, GroupDescription, MemberDescription
from kctl.client.clock import duration_text
from kctl.client.cluster import PartitionInfo, TopicPartition
from kctl.client.wording import counted
from kctl.why.finding import Value
from kctl.why.look import ConfigValue, Glimpse, GroupLook, Look

MOST_EVIDENCE = 10
"""Partitions of which the evidence has the values; further ones are counted in the sentence."""
STABLE = "Stable"
"""The state of a group that does not rebalance."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS, _YEAR_DAYS = 86_400_000, 365
_SOURCES = {
    1: "set on the topic",
    2: "set on the broker",
    3: "set for all brokers",
    4: "server.properties",
    5: "Kafka's default",
}


class Looks(NamedTuple):
    """The present look and, with --watch, an earlier one, and glimpses at the groups between them."""

    now: Look
    before: Look | None = None
    between: tuple[Glimpse, ...] = ()

    @property
    def apart_ms(self) -> int:
        """The time between the two looks."""
        return 0 if self.before is None else max(0, self.now.wall_ms - self.before.wall_ms)

    @property
    def apart(self) -> str:
        return duration_text(self.apart_ms)

    def lag(self, group: GroupLook, tp: TopicPartition) -> int | None:
        """Return how many records of a partition wait for a group; None where that is not known."""
        committed, end = group.committed.get(tp), self.now.ends.get(tp)
        return None if committed is None or end is None else max(0, end.offset - committed.offset)

    def arrived(self, tp: TopicPartition) -> int:
        """Return how many records came between the looks."""
        before = None if self.before is None else self.before.ends.get(tp)
        end = self.now.ends.get(tp)
        return 0 if before is None or end is None else max(0, end.offset - before.offset)

    def both(self, group_id: str) -> tuple[GroupLook, GroupLook] | None:
        """Return a group as it was in both looks, or None."""
        before = None if self.before is None else self.before.groups.get(group_id)
        now = self.now.groups.get(group_id)
        return None if before is None or now is None else (before, now)

    def history(self, group_id: str) -> list[GroupDescription]:
        """Return a group each time that it was seen, the first first."""
        both = self.both(group_id)
        if both is None:
            return []
        between = [each.groups[group_id] for each in self.between if group_id in each.groups]
        return [both[0].description, *between, both[1].description]


def frozen_partitions(looks: Looks, group_id: str) -> dict[TopicPartition, MemberDescription]:
    """Return the partitions on which a stable group did not move though records wait, with their owners.

    Not those at which a reader of committed records has to wait for a transaction.
    """
    both = looks.both(group_id)
    if both is None or any(group.description.state != STABLE for group in both):
        return {}
    before, now = both
    owners_before, owners = before.owners, now.owners
    found: dict[TopicPartition, MemberDescription] = {}
    for tp, member in owners.items():
        old, new, stable = before.committed.get(tp), now.committed.get(tp), looks.now.stable_ends.get(tp)
        was = owners_before.get(tp)
        if old is None or new is None or was is None or was.member_id != member.member_id:
            continue
        end_before = looks.before.ends.get(tp) if looks.before is not None else None
        waited = end_before is not None and end_before.offset > old.offset
        if old.offset == new.offset and waited and stable is not None and stable.offset > new.offset:
            found[tp] = member
    return found


def age_text(ms: int) -> str:
    """Return a duration as people speak of it: `45s`, `3h12m`, `6d 23h`, `54,000 years`."""
    days, rest_ms = divmod(ms, _DAY_MS)
    if days >= _YEAR_DAYS:
        return f"{days // _YEAR_DAYS:,} {'year' if days < 2 * _YEAR_DAYS else 'years'}"
    if days >= 1:
        hours = rest_ms // 3_600_000
        return f"{days}d {hours}h" if hours else f"{days}d"
    return duration_text(ms if ms < 60_000 else ms // 1000 * 1000)


def date_text(timestamp_ms: int) -> str:
    """Return an instant as ISO 8601; one that no calendar has as milliseconds since 1970."""
    try:
        at = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms after 1970"
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def member_name(member: MemberDescription) -> str:
    """Return how people know a member: its instance id, its client id, or the id that the group gave it."""
    return member.group_instance_id or member.client_id or member.member_id


def source_text(config: ConfigValue) -> str:
    """Return in words where a config value was set."""
    return _SOURCES.get(config.source, CONFIG_SOURCES.get(config.source, "its source is not reported"))


def more_text(count: int, noun: str = "partition") -> str:
    """Return `; likewise 3 more partitions` for those that a sentence does not name."""
    return f"; likewise {counted(count, f'more {noun}')}" if count > 0 else ""


def named(partitions: Iterable[TopicPartition], most: int = 3) -> str:
    """Return the first partitions by name, and how many there are beyond."""
    every = sorted(partitions)
    more = f" and {len(every) - most} more" if len(every) > most else ""
    return ", ".join(map(str, every[:most])) + more


def counts_text(counts: Mapping[TopicPartition, int], most: int = 3) -> str:
    """Return `1,204 on orders-3, 7 on orders-0`, the largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    more = (
        f", and {sum(count for _, count in ordered[most:]):,} on {len(ordered) - most} more" if ordered[most:] else ""
    )
    return ", ".join(f"{count:,} on {tp}" for tp, count in ordered[:most]) + more


def brokers_text(node_ids: Iterable[int]) -> str:
    """Return `broker 1`, `brokers 1 and 2`, `brokers 1, 2 and 3`."""
    ids = [str(node_id) for node_id in sorted(node_ids)]
    if len(ids) <= 1:
        return f"broker {ids[0]}" if ids else "no broker"
    return f"brokers {', '.join(ids[:-1])} and {ids[-1]}"


def by_partition(values: Mapping[TopicPartition, Value]) -> dict[str, Value]:
    """Return values of partitions as evidence: at most `MOST_EVIDENCE` of them."""
    return {str(tp): value for tp, value in sorted(values.items())[:MOST_EVIDENCE]}


def in_sync_missing(info: PartitionInfo) -> list[int]:
    """Return the replicas that are not in sync."""
    return [node_id for node_id in info.replicas if node_id not in info.isr]


def place(tp: TopicPartition) -> dict[str, Value]:
    """Return the names under which templates know a partition."""
    return {"partition": str(tp), "topic": tp.topic, "number": tp.partition}
