"""Throttle of a move, which a later kctl can remove if kctl is killed.

Two lists per topic contain the throttled replicas, and two configs per broker the bytes per second. Lists are set first
and removed last, because they lead to leftover rates. A rate stays if another move needs it.

Source: KIP-73.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from kctl.client.admin import Admin, ConfigResource, ListChange, Reassignment, ResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition, by_topic
from kctl.client.errors import KafkaError
from kctl.grammar.integers import integer_in

LISTS = LEADER_LIST, FOLLOWER_LIST = "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"
RATES = LEADER_RATE, FOLLOWER_RATE = "leader.replication.throttled.rate", "follower.replication.throttled.rate"
ALL = "*"
WILDCARD_FROM = 1000
"""Number of partitions of a topic from which all replicas are limited, since a list would be too long for brokers."""
SET_AT_RUNTIME = (1, 2)
"""Sources of configs that were set for one topic or broker."""


class Copy(NamedTuple):
    """Brokers that have a partition, and brokers that receive a copy."""

    sources: tuple[int, ...]
    targets: tuple[int, ...]


def copy_of(current: tuple[int, ...], target: tuple[int, ...], move: Reassignment | None) -> Copy:
    """Return the copies of a partition. During a move, `current` already includes the new replicas."""
    adding = move.adding if move is not None else tuple(each for each in target if each not in current)
    present = current if move is None else move.replicas
    return Copy(tuple(each for each in present if each not in adding), adding)


def list_changes(
    admin: Admin, copies: Mapping[TopicPartition, Copy]
) -> dict[ConfigResource, dict[str, str | ListChange | None]]:
    """Return the config changes that add copies to the lists of their topics. Items of other moves stay.

    Raises: KafkaError: the present lists are unknown.
    """
    found, unread = _lists(admin, copies)
    if unread:
        raise unread[0]
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
    return changes


def set_rates(admin: Admin, brokers: Collection[int], bytes_per_s: int) -> dict[int, KafkaError]:
    """Set the rates of brokers, and return the errors by broker."""
    rates: dict[str, str | ListChange | None] = dict.fromkeys(RATES, str(bytes_per_s))
    results = admin.alter_configs({_broker(each): rates for each in sorted(brokers)})
    return {int(resource.name): error for resource, error in results.failed.items()}


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
    """Return the throttle of a started move in bytes per second, or None if there is none.

    Raises: KafkaError: the configs of a throttle cannot be described.
    """
    keys = list(partitions)
    lists, unread = _lists(admin, keys)
    if _ours(lists, keys):
        rates, unread = _rates(admin, brokers)
        values = (integer_in(value) for found in rates.values() for value in found.values())
        known = [value for value in values if value is not None]
        if known:
            return max(known)
    if unread:
        raise unread[0]
    return None


def other_rates(admin: Admin, keys: Collection[TopicPartition], brokers: Collection[int]) -> dict[int, int]:
    """Return the lowest known rate of each broker that throttles moves of other partitions."""
    needed, _ = _needed_by_others(admin, keys)
    limited = needed & set(brokers)
    rates, _ = _rates(admin, limited) if limited else ({}, [])
    found = {each: [rate for value in values.values() if (rate := integer_in(value))] for each, values in rates.items()}
    return {each: min(values) for each, values in found.items() if values}


class ThrottleRemoval(NamedTuple):
    """Result of the removal of a throttle.

    Attributes:
        was_set: whether there was a throttle.
        left_on: brokers that are down and may keep their rates.
    """

    was_set: bool
    failed: list[KafkaError]
    left_on: list[int]


def remove_throttle(
    admin: Admin,
    partitions: Iterable[TopicPartition],
    brokers: Collection[int],
    used: Collection[int],
    *,
    finds_more: bool,
) -> ThrottleRemoval:
    """Remove the throttle of a move.

    Args:
        brokers: brokers that are up.
        used: brokers, up or down, whose rates this process set.
        finds_more: an earlier process may have set the rates of further brokers.
    """
    keys = list(partitions)
    lists, failed = _lists(admin, keys)
    ours = _ours(lists, keys)
    left_on = sorted((set(used) | (_named(ours) if finds_more else set())) - set(brokers))
    if not ours and not used:
        return ThrottleRemoval(False, failed, left_on)
    found, unread = _rates(admin, set(brokers) - set(used) if finds_more else ())
    wanted = {each for each, values in found.items() if values} | set(used)
    needed, unknown = _needed_by_others(admin, keys)
    failed += unknown if used else [*unread, *unknown]  # of brokers whose rates this run set, nothing is unknown
    wanted = set() if unknown else wanted - needed
    rates: dict[str, str | ListChange | None] = dict.fromkeys(RATES)
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
    """Return the list items of the partitions `keys`. Empty lists are included as leftovers."""
    found: dict[str, dict[str, list[str]]] = {}
    for topic, partitions in by_topic(keys).items():
        numbers = {str(each) for each in partitions}
        is_whole = len(partitions) >= WILDCARD_FROM
        for name, items in lists.get(topic, {}).items():
            mine = [each for each in items if each.partition(":")[0] in numbers or (each == ALL and is_whole)]
            if mine or not items:
                found.setdefault(topic, {})[name] = mine
    return found


def _needed_by_others(admin: Admin, keys: Collection[TopicPartition]) -> tuple[set[int], list[KafkaError]]:
    """Return brokers that throttle moves of other partitions, and the errors of topics that cannot be described."""
    others = list(admin.list_partition_reassignments().keys() - set(keys))
    lists, unread = _lists(admin, others)
    return _named(_ours(lists, others)), unread


def _named(lists: Mapping[str, Mapping[str, list[str]]]) -> set[int]:
    items = (each.partition(":")[2] for of_topic in lists.values() for found in of_topic.values() for each in found)
    return {broker for each in items if (broker := integer_in(each)) is not None}


def _lists(admin: Admin, keys: Iterable[TopicPartition]) -> tuple[dict[str, dict[str, list[str]]], list[KafkaError]]:
    resources = [ConfigResource(ResourceType.TOPIC, topic) for topic in by_topic(keys)]
    found, unread = _set_values(admin, resources, LISTS)
    lists = {
        resource.name: {name: [each for each in text.split(",") if each] for name, text in values.items()}
        for resource, values in found.items()
    }
    return lists, unread


def _rates(admin: Admin, brokers: Collection[int]) -> tuple[dict[int, dict[str, str]], list[KafkaError]]:
    found, unread = _set_values(admin, [_broker(each) for each in sorted(brokers)], RATES)
    return {int(resource.name): values for resource, values in found.items()}, unread


def _set_values(
    admin: Admin, resources: list[ConfigResource], names: Collection[str]
) -> tuple[dict[ConfigResource, dict[str, str]], list[KafkaError]]:
    if not resources:
        return {}, []
    try:
        results = admin.describe_configs(resources)
    except KafkaError as error:  # brokers that do not respond
        return {}, [error]
    values = {
        resource: {
            name: entry.value or ""
            for name in names
            if (entry := entries.get(name)) is not None and entry.source in SET_AT_RUNTIME
        }
        for resource, entries in results.done.items()
    }
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return values, [error for error in results.failed.values() if getattr(error, "code", None) != gone]


def _broker(broker_id: int) -> ConfigResource:
    return ConfigResource(ResourceType.BROKER, str(broker_id))
