"""Texts of durations, times, partitions, brokers, and members in findings."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from kctl.client.admin import CONFIG_SOURCES, MemberDescription
from kctl.client.clock import duration_text
from kctl.client.cluster import TopicPartition
from kctl.client.wording import counted, listed
from kctl.grammar.command_lines import Words, fill_command
from kctl.why.finding import Value, fill
from kctl.why.look import ConfigValue, GroupLook

MOST_EVIDENCE = 10
"""Maximum number of partitions in evidence."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DAY_MS, _YEAR_DAYS = 86_400_000, 365
_SOURCES = {
    1: "set on the topic",
    2: "set on the broker",
    3: "set for all brokers",
    4: "server.properties",
    5: "Kafka's default",
}


def age_text(ms: int) -> str:
    """Return a duration for people: `45s`, `3h12m`, `6d 23h`, `54,000 years`."""
    days, rest_ms = divmod(ms, _DAY_MS)
    if days >= _YEAR_DAYS:
        return f"{days // _YEAR_DAYS:,} {'year' if days < 2 * _YEAR_DAYS else 'years'}"
    if days >= 1:
        hours = rest_ms // 3_600_000
        return f"{days}d {hours}h" if hours else f"{days}d"
    return duration_text(ms if ms < 60_000 else ms // 1000 * 1000)


def date_text(timestamp_ms: int) -> str:
    """Return a time in ISO 8601, or as milliseconds since 1970 if out of range."""
    try:
        at = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return f"{timestamp_ms} ms since 1970-01-01"
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def member_name(member: MemberDescription) -> str:
    return member.group_instance_id or member.client_id or member.member_id


def member_values(member: MemberDescription) -> dict[str, Value]:
    found: dict[str, Value] = {"member": member.member_id, "client_id": member.client_id, "host": member.host}
    return found if member.group_instance_id is None else found | {"group_instance_id": member.group_instance_id}


def source_text(config: ConfigValue) -> str:
    return _SOURCES.get(config.source, CONFIG_SOURCES.get(config.source, "unknown source"))


def worst_of(found: Mapping[TopicPartition, int]) -> tuple[TopicPartition, dict[str, Value]]:
    worst = max(found, key=lambda tp: found[tp])
    return worst, {"more": more_text(len(found) - 1), **place(worst)}


def further(sentence: str) -> str:
    """Return a sentence to append to another one, or an empty text."""
    return f". {sentence}" if sentence else ""


def more_text(count: int, noun: str = "partition") -> str:
    """Return `. Also affected: 3 more partitions`, or an empty text."""
    return further(f"Also affected: {counted(count, f'more {noun}')}" if count > 0 else "")


def named(partitions: Iterable[TopicPartition], most: int = 3) -> str:
    return listed(sorted(partitions), most)


def counts_text(counts: Mapping[TopicPartition, int], most: int = 3) -> str:
    """Return `1,204 on orders-3, 7 on orders-0`, the largest first."""
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    shown = [f"{count:,} on {tp}" for tp, count in ordered[:most]]
    if ordered[most:]:
        others = counted(len(ordered) - most, "other partition")
        shown.append(f"{sum(count for _, count in ordered[most:]):,} on {others}")
    return ", ".join(shown)


def by_partition(values: Mapping[TopicPartition, Value]) -> dict[str, Value]:
    return {str(tp): value for tp, value in sorted(values.items())[:MOST_EVIDENCE]}


def all_of(worst: TopicPartition, found: Iterable[TopicPartition]) -> dict[str, Value]:
    """Return the fields of `--topic {topic}:{numbers}{others}`, for a command about all partitions."""
    by_topic: dict[str, list[int]] = {worst.topic: []}
    for tp in sorted(found):
        by_topic.setdefault(tp.topic, []).append(tp.partition)
    options = {topic: ",".join(map(str, numbers)) for topic, numbers in by_topic.items()}
    numbers = options.pop(worst.topic)
    others = [fill_command(" --topic {topic}:{numbers}", {"topic": t, "numbers": of}) for t, of in options.items()]
    return {"numbers": numbers, "others": Words("".join(others))}


def stop_text(group: GroupLook) -> str:
    """Return the instruction before a reset of offsets, which brokers reject if the group has members."""
    if not group.description.members:
        return ""
    return fill("stop the consumers of {group}, then: ", {"group": group.description.group_id})


def each_of(template: str, rest: Iterable[Mapping[str, Value]]) -> Words:
    return Words("".join(f" && {fill_command(template, values)}" for values in rest))


def place(tp: TopicPartition) -> dict[str, Value]:
    return {"partition": str(tp), "topic": tp.topic, "number": tp.partition}
