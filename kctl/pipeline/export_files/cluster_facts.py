"""ClusterFacts: partitions and configs of topics, and offsets of consumer groups, stored in manifests.

The newest facts of each topic and group apply.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

MOST_PARTITIONS: Final = 2**31 - 1
LARGEST_OFFSET: Final = 2**63 - 1
LARGEST_CONFIG: Final = 32767
"""Maximum length of a string in Kafka's CreateTopics request."""
OffsetsByTopic = Mapping[str, Mapping[int, int]]
"""Committed offsets of a group by topic and partition."""


class TopicFacts(NamedTuple):
    """Facts of a topic.

    Attributes:
        configs: configs set on the topic. None if they could not be read.
    """

    partitions: int
    configs: Mapping[str, str] | None


class ClusterFacts(NamedTuple):
    topics: Mapping[str, TopicFacts] = MappingProxyType({})
    groups: Mapping[str, OffsetsByTopic] = MappingProxyType({})

    def to_json(self) -> dict[str, Any]:
        topics = {
            name: {"partitions": each.partitions, **({} if each.configs is None else {"configs": dict(each.configs)})}
            for name, each in self.topics.items()
        }
        groups = {
            group: {topic: {str(number): at for number, at in some.items()} for topic, some in offsets.items()}
            for group, offsets in self.groups.items()
        }
        return {name: each for name, each in (("topics", topics), ("groups", groups)) if each}


NO_FACTS = ClusterFacts()


def facts_from(given: Any) -> ClusterFacts:
    topics = {name: _topic(name, each) for name, each in given.get("topics", {}).items()}
    groups = {
        group: {topic: _offsets(group, topic, some) for topic, some in offsets.items()}
        for group, offsets in given.get("groups", {}).items()
    }
    return ClusterFacts(topics, groups)


def _topic(name: str, given: Any) -> TopicFacts:
    configs = given.get("configs")
    known = None if configs is None else {key: _config(name, key, value) for key, value in configs.items()}
    return TopicFacts(
        _number(given["partitions"], 1, MOST_PARTITIONS, f"the number of partitions of topic {name}"), known
    )


def _offsets(group: str, topic: str, given: Any) -> dict[int, int]:
    return {
        _number(number, 0, MOST_PARTITIONS - 1, f"a partition of topic {topic} in group {group}"): _number(
            at, 0, LARGEST_OFFSET, f"the offset of {topic}-{number} in group {group}"
        )
        for number, at in given.items()
    }


def _number(given: Any, least: int, most: int, what: str) -> int:
    if not least <= (number := int(given)) <= most:
        raise ValueError(f"{what} is {number}, but must be from {least} to {most}")
    return number


def _config(topic: str, name: str, value: Any) -> str:
    if not isinstance(value, str) or max(len(name), len(value)) > LARGEST_CONFIG:
        raise ValueError(f"config {name[:100]} of topic {topic} is not a string of at most {LARGEST_CONFIG} characters")
    return value


def newest_facts(given: Iterable[ClusterFacts]) -> ClusterFacts:
    """Return the newest facts of each topic and group. `given` starts with the oldest."""
    topics: dict[str, TopicFacts] = {}
    groups: dict[str, OffsetsByTopic] = {}
    for each in given:
        topics |= each.topics
        groups |= each.groups
    return ClusterFacts(topics, groups)
