"""Throttle of a move, set before its start and removed after its end, even for a killed kctl.

Two lists of each topic contain the limited replicas, and two configs of each broker the bytes per second. Lists are set
first and removed last, so that they lead to rates that were left behind. A rate is kept if another move needs it.

Source: KIP-73.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kctl.client.admin import Admin, ConfigResource, ListChange, Reassignment, ResourceType
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.grammar.integers import integer_in

LISTS = LEADER_LIST, FOLLOWER_LIST = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATES = LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
ALL = "*"
WILDCARD_FROM = 1000
"""Number of partitions of a topic from which all replicas are limited: a list would be too long for a broker."""
SET_AT_RUNTIME = (1, 2)
"""Sources of configs that were set for one topic or broker."""


class Copy(NamedTuple):
    """Brokers that have a partition, and brokers that receive it."""

    sources: tuple[int, ...]
    targets: tuple[int, ...]


def copy_of(current: tuple[int, ...], target: tuple[int, ...], move: Reassignment | None) -> Copy:
    """Return the copies of a partition. During a move, `current` already includes the new replicas."""
    adding = move.adding if move is not None else tuple(each for each in target if each not in current)
    present = current if move is None else move.replicas
    return Copy(tuple(each for each in present if each not in adding), adding)


def set_throttle(
    admin: Admin, copies: Mapping[TopicPartition, Copy], bytes_per_s: int, brokers: Collection[int]
) -> list[KafkaError]:
    """Limit copies, and return the errors.

    Args: brokers: brokers that are up; the others copy nothing.
    """
    found = _lists(admin, copies)
    changes: dict[ConfigResource, dict[str, str | ListChange | None]] = {}
    for topic, wanted in _entries(copies).items():
        present = found.get(topic, {})
        entries = {}
        for name, items in wanted.items():
            before = present.get(name, [])
            new = [each for each in items if each not in before]
            if new and ALL not in before:
                text = ",".join(new)
                entries[name] = ListChange(text) if before and new != [ALL] else text
        if entries:
            changes[ConfigResource(ResourceType.TOPIC, topic)] = {**entries}
    failed = list(admin.alter_configs(changes).failed.values()) if changes else []
    if failed:
        return failed
    used = {broker for copy in copies.values() for broker in (*copy.sources, *copy.targets)}
    rates: dict[str, str | ListChange | None] = dict.fromkeys(RATES, str(bytes_per_s))
    return list(admin.alter_configs({_broker(each): rates for each in sorted(used & set(brokers))}).failed.values())


def _entries(copies: Mapping[TopicPartition, Copy]) -> dict[str, dict[str, list[str]]]:
    found: dict[str, dict[str, list[str]]] = {}
    for topic, partitions in by_topic(copies).items():
        if len(partitions) >= WILDCARD_FROM:
            found[topic] = {LEADER_LIST: [ALL], FOLLOWER_LIST: [ALL]}
            continue
        of_topic = {index: copies[TopicPartition(topic, index)] for index in partitions}
        found[topic] = {
            LEADER_LIST: [f"{index}:{each}" for index, copy in of_topic.items() for each in copy.sources],
            FOLLOWER_LIST: [f"{index}:{each}" for index, copy in of_topic.items() for each in copy.targets],
        }
    return found


def find_rate(admin: Admin, partitions: Iterable[TopicPartition], brokers: Collection[int]) -> int | None:
    """Return the throttle of a started move in bytes per second, or None."""
    keys = list(partitions)
    if not _ours(_lists(admin, keys), keys):
        return None
    values = (integer_in(value) for found in _rates(admin, brokers).values() for value in found.values())
    return max((value for value in values if value is not None), default=None)


class ThrottleRemoval(NamedTuple):
    """Result of the removal of a throttle.

    Attributes:
        was_set: a throttle existed.
        failed: errors.
        left_on: brokers that are down and keep their rates.
    """

    was_set: bool
    failed: list[KafkaError]
    left_on: list[int]


def remove_throttle(
    admin: Admin, partitions: Iterable[TopicPartition], brokers: Collection[int], used: Collection[int] = ()
) -> ThrottleRemoval:
    """Remove the throttle of a move.

    Args:
        brokers: brokers that are up.
        used: further brokers whose rates were set, up or down.
    """
    keys = list(partitions)
    lists = _lists(admin, keys)
    ours = _ours(lists, keys)
    left_on = sorted((_named(ours) | set(used)) - set(brokers))
    if not ours and not used:
        return ThrottleRemoval(False, [], left_on)
    wanted = {each for each, found in _rates(admin, brokers).items() if found} | set(used)
    wanted -= _needed_by_others(admin, keys)
    rates: dict[str, str | ListChange | None] = dict.fromkeys(RATES)
    failed: list[KafkaError] = []
    if wanted:
        failed += admin.alter_configs({_broker(each): rates for each in sorted(wanted)}).failed.values()
    changes: dict[ConfigResource, dict[str, str | ListChange | None]] = {}
    for topic, of_topic in ours.items():
        changes[ConfigResource(ResourceType.TOPIC, topic)] = {
            name: None if items == lists[topic][name] else ListChange(",".join(items), is_removal=True)
            for name, items in of_topic.items()
        }
    if changes:
        failed += admin.alter_configs(changes).failed.values()
    return ThrottleRemoval(True, failed, left_on)


def _ours(
    lists: Mapping[str, Mapping[str, list[str]]], keys: Iterable[TopicPartition]
) -> dict[str, dict[str, list[str]]]:
    """Return the list items of these partitions. Empty lists are included as leftovers."""
    found: dict[str, dict[str, list[str]]] = {}
    for topic, partitions in by_topic(keys).items():
        numbers = {str(each) for each in partitions}
        is_whole = len(partitions) >= WILDCARD_FROM
        for name, items in lists.get(topic, {}).items():
            mine = [each for each in items if each.partition(":")[0] in numbers or (each == ALL and is_whole)]
            if mine or not items:
                found.setdefault(topic, {})[name] = mine
    return found


def _needed_by_others(admin: Admin, keys: Collection[TopicPartition]) -> set[int]:
    """Return brokers whose rates limit a move of other partitions."""
    others = [key for key in admin.list_partition_reassignments() if key not in set(keys)]
    lists = _lists(admin, others)
    return _named(_ours(lists, others))


def _named(lists: Mapping[str, Mapping[str, list[str]]]) -> set[int]:
    """Return the brokers in list items."""
    items = (each.partition(":")[2] for of_topic in lists.values() for found in of_topic.values() for each in found)
    return {broker for each in items if (broker := integer_in(each)) is not None}


def _lists(admin: Admin, keys: Iterable[TopicPartition]) -> dict[str, dict[str, list[str]]]:
    """Return the throttle lists of each topic, without topics that cannot be described."""
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in by_topic(keys)]
    found = _set_values(admin, resources, LISTS)
    return {
        resource.name: {name: [each for each in text.split(",") if each] for name, text in values.items()}
        for resource, values in found.items()
    }


def _rates(admin: Admin, brokers: Collection[int]) -> dict[int, dict[str, str]]:
    """Return the rates of each broker, without brokers that cannot be described."""
    found = _set_values(admin, [_broker(each) for each in sorted(brokers)], RATES)
    return {int(resource.name): values for resource, values in found.items()}


def _set_values(
    admin: Admin, resources: list[ConfigResource], names: Collection[str]
) -> dict[ConfigResource, dict[str, str]]:
    if not resources:
        return {}
    results = admin.describe_configs(resources)
    return {
        resource: {
            name: entry.value or ""
            for name in names
            if (entry := entries.get(name)) is not None and entry.source in SET_AT_RUNTIME
        }
        for resource, entries in results.done.items()
    }


def _broker(broker_id: int) -> ConfigResource:
    return ConfigResource(ResourceType.BROKER, str(broker_id))
