"""State of a cluster for `kctl apply`: topics with their partitions, replicas and configs."""

from collections.abc import Collection, Mapping

from kctl.cli.apply.plan import FoundTopic
from kctl.cli.formats.listing import document_lines, write_lines
from kctl.cli.options import Common
from kctl.cli.output_options import Output
from kctl.client.admin import CONFIG_SOURCES, AclRule, Admin, ConfigResource, ResourceType, TopicListing
from kctl.client.cluster import TopicInfo
from kctl.client.errors import BrokerError


def read_topics(admin: Admin, declared: Collection[str] | None) -> dict[str, FoundTopic]:
    """Return all topics by name. Only declared topics have configs.

    Args: declared: topic names; None for all topics except internal ones.
    Raises: KafkaError: topics cannot be listed, or their configs cannot be described.
    """
    listed = admin.list_topics(include_internal=True)
    described = [
        name for name, each in listed.items() if (name in declared if declared is not None else not each.is_internal)
    ]
    return with_configs(admin, listed, described)


def with_configs(
    admin: Admin,
    listed: Mapping[str, TopicListing | TopicInfo],
    described: Collection[str],
    broker_id: int | None = None,
) -> dict[str, FoundTopic]:
    """Return the listed topics by name. Only topics in `described` have configs.

    Args: broker_id: broker to query; None for any broker.
    Raises: KafkaError: the configs of a topic cannot be described.
    """
    configs = _own_configs(admin, described, broker_id)
    return {name: _found(topic, configs.get(name, {})) for name, topic in listed.items()}


def _found(topic: TopicListing | TopicInfo, configs: dict[str, str | None]) -> FoundTopic:
    factor = max((len(each.replicas) for each in topic.partitions.values()), default=0)
    return FoundTopic(len(topic.partitions), factor, topic.is_internal, configs)


def _own_configs(admin: Admin, names: Collection[str], broker_id: int | None) -> dict[str, dict[str, str | None]]:
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    results = admin.describe_configs(resources, broker_id=broker_id)
    results.raise_first()
    return {
        resource.name: {
            entry.name: entry.value
            for entry in sorted(entries.values())
            if CONFIG_SOURCES.get(entry.source) == "DYNAMIC_TOPIC_CONFIG"
        }
        for resource, entries in results.done.items()
    }


def export_topics(common: Common, output: Output, admin: Admin) -> None:
    """Print topics and ACLs for `kctl apply -f`, without internal topics."""
    found = read_topics(admin, None)
    topics = [_topic_entry(name, topic) for name, topic in found.items() if not topic.is_internal]
    document: dict[str, object] = {"topics": topics}
    try:
        rules = admin.describe_acls()
    except BrokerError as error:  # no authorizer or no permission: apply ignores ACLs if the file has none
        common.say(f"{common.environment.program}: note: the export does not include ACLs: {error}")
    else:
        document["acls"] = [rule_entry(rule) for rule in rules]
    document = {kind: found for kind, found in document.items() if found} or {
        "topics": []
    }  # --prune rejects empty lists
    write_lines(common.environment, document_lines(output, document))


def _topic_entry(name: str, topic: FoundTopic) -> dict[str, object]:
    return {
        "name": name,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "configs": {key: _plain(value or "") for key, value in topic.configs.items()},
    }


def rule_entry(rule: AclRule) -> dict[str, str]:
    return {
        "principal": rule.principal,
        "host": rule.host,
        "operation": rule.operation.name.lower(),
        "permission": rule.permission.name.lower(),
        "resource_type": rule.resource_type.name.lower(),
        "name": rule.resource_name,
        "pattern": rule.pattern_type.name.lower(),
    }


def _plain(text: str) -> object:
    """Return the bool or integer that YAML would read from the text, otherwise the text."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 and str(int(text)) == text else text
