"""Cluster facts of an export, read by `export` and restored by `import`.

`import` translates committed offsets as `mirror --groups` does, by counting records back from the end.
"""

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from kctl.client.admin import EARLIEST, Admin, ConfigEntry, ConfigResource, NewTopic, ResourceType
from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.errors import BrokerError, ConfigError
from kctl.pipeline import isolation
from kctl.pipeline.export_files.cluster_facts import ClusterFacts, TopicFacts
from kctl.pipeline.export_files.manifests import ExportedRange
from kctl.pipeline.group_selection import GroupSelection
from kctl.pipeline.job_errors import listed
from kctl.pipeline.jobs.mirror_groups import (
    GroupOffset,
    commit_offsets,
    committed_in,
    find_places,
    group_offset,
    offsets_by_partition,
    offsets_of,
)
from kctl.pipeline.jobs.offset_translation import TranslationTask
from kctl.pipeline.locations import StoreUrl
from kctl.pipeline.ranges import OffsetRange
from kctl.pipeline.references import resolve
from kctl.pipeline.running import OnProgress
from kctl.pipeline.session import Session

SET_ON_TOPIC = 1
"""Source of a config that is set on the topic."""


class RefusedConfig(NamedTuple):
    """A config that the target rejects."""

    topic: str
    name: str
    value: str
    reason: str


class GroupImport(NamedTuple):
    """Data for the translation of groups in an import.

    Attributes:
        ranges: all imported ranges.
        targets: dict from exported topic to target topic.
        properties: Kafka properties of the target.
    """

    folder: Path | StoreUrl
    ranges: Sequence[ExportedRange]
    targets: Mapping[str, str]
    properties: Mapping[str, object]


# --- export ---------------------------------------------------------------------------------------------------------


def read_facts(admin: Admin, topics: Iterable[str], groups: GroupSelection) -> ClusterFacts:
    """Return the facts of topics, and the offsets of groups in these topics. Configs that cannot be read are None."""
    names = sorted(topics)
    if not names:
        return ClusterFacts()
    described = admin.describe_topics(names)
    described.raise_first()
    configs = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
    found = {}
    for name in names:
        known = configs.done.get(ConfigResource(ResourceType.TOPIC, name))
        own = None if known is None else _own_configs(known.values())
        found[name] = TopicFacts(len(described[name].partitions), own)
    offsets: dict[str, dict[str, dict[int, int]]] = {}
    for (group, tp), offset in offsets_of(admin, groups, found).items():
        offsets.setdefault(group, {}).setdefault(tp.topic, {})[tp.partition] = offset
    return ClusterFacts(found, offsets)


def _own_configs(entries: Iterable[ConfigEntry]) -> dict[str, str]:
    return {
        each.name: each.value
        for each in entries
        if each.source == SET_ON_TOPIC and each.value is not None and not each.is_sensitive
    }


# --- import ---------------------------------------------------------------------------------------------------------


def create_topics(admin: Admin, missing: Mapping[str, TopicFacts]) -> list[RefusedConfig]:
    """Create topics as exported, and return the configs that the target rejects."""
    refused = []
    for name, facts in missing.items():
        try:
            admin.create_topics([NewTopic(name, facts.partitions, configs=dict(facts.configs or {}))]).raise_first()
        except BrokerError as e:
            if e.code != ErrorCode.INVALID_CONFIG or not facts.configs:
                raise
            admin.create_topics([NewTopic(name, facts.partitions)]).raise_first()
            refused += set_configs(admin, name, facts.configs)
    return refused


def set_configs(admin: Admin, topic: str, configs: Mapping[str, str]) -> list[RefusedConfig]:
    """Set configs one at a time, and return the rejected ones."""
    resource, refused = ConfigResource(ResourceType.TOPIC, topic), []
    for name, value in sorted(configs.items()):
        for error in admin.alter_configs({resource: {name: value}}).failed.values():
            refused.append(RefusedConfig(topic, name, value, str(error)))
    return refused


def chosen_groups(facts: ClusterFacts, groups: GroupSelection, place: str) -> list[str]:
    for name in groups.names:
        if name not in facts.groups:
            known = listed(sorted(facts.groups)) or "none (export groups with: kctl pipeline export --groups)"
            raise ConfigError(f"group {name} is not in {place}. Exported groups: {known}", key="--groups")
    pattern = re.compile(groups.pattern)
    matching = [name for name in sorted(facts.groups) if groups.pattern and pattern.fullmatch(name)]
    return list(dict.fromkeys([*groups.names, *matching]))


def _wanted(
    facts: ClusterFacts, groups: Iterable[str], topics: Container[str]
) -> dict[tuple[str, TopicPartition], int]:
    return {
        (group, TopicPartition(topic, number)): offset
        for group in groups
        for topic, some in facts.groups[group].items()
        if topic in topics
        for number, offset in some.items()
    }


def restore_groups(
    given: GroupImport, facts: ClusterFacts, groups: Iterable[str], session: Session, on_progress: OnProgress
) -> list[GroupOffset]:
    """Commit the translated offsets of groups in the target, and return the outcome of each offset."""
    wanted = _wanted(facts, groups, given.targets)
    with Admin(resolve(given.properties)) as admin:
        tasks = _tasks(admin, given, offsets_by_partition(wanted))
        places = find_places(session, "kctl import: groups", tasks, on_progress)
        committed = committed_in(admin, wanted, given.targets)
        found = [
            group_offset(group, tp, places[tp, offset], committed.get((group, tp)))
            for (group, tp), offset in sorted(wanted.items())
        ]
        return commit_offsets(admin, found, given.targets)


def _tasks(admin: Admin, given: GroupImport, asked: Mapping[TopicPartition, Sequence[int]]) -> list[TranslationTask]:
    named = {tp: TopicPartition(given.targets[tp.topic], tp.partition) for tp in asked}
    starts = admin.list_offsets(dict.fromkeys(named.values(), EARLIEST))
    starts.raise_first()
    ends = isolation.committed_ends(admin, named.values())
    ranges: dict[tuple[str, int], list[ExportedRange]] = {}
    for each in sorted(given.ranges):
        ranges.setdefault((each.topic, each.partition), []).append(each)
    tasks = []
    for tp, offsets in asked.items():
        own = tuple(ranges.get(tp, ()))
        source = OffsetRange(*tp, own[0].start if own else 0, own[-1].end if own else 0)
        target = OffsetRange(*named[tp], starts[named[tp]].offset, ends[named[tp]])
        tasks.append(TranslationTask(source, target, tuple(offsets), {}, dict(given.properties), own, given.folder))
    return tasks
