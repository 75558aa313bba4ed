"""The topics of a cluster as `kctl apply` compares and exports them: partitions, replicas, and what is set of them.

Owns what counts as set: the properties of a topic itself, not those that it has from its broker.
Shown by tests/cli/test_apply.py.
"""

from collections.abc import Collection

from kctl.cli.apply.plan import FoundTopic
from kctl.cli.formats.listing import document_lines, write_lines
from kctl.cli.options import Common, Output
from kctl.client.admin import CONFIG_SOURCES, Admin, ConfigResource, ResourceType
from kctl.client.errors import BrokerError


def read_topics(admin: Admin, declared: Collection[str] | None) -> dict[str, FoundTopic]:
    """Return all topics by name, with the configs of those that are declared.

    Args: declared: None for all but internal ones.
    Raises: KafkaError: the brokers do not describe a topic.
    """
    listed = admin.list_topics(include_internal=True)
    described = [
        name for name, each in listed.items() if (name in declared if declared is not None else not each.is_internal)
    ]
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in described]
    results = admin.describe_configs(resources)
    results.raise_first()
    configs = {
        resource.name: {
            entry.name: entry.value
            for entry in sorted(entries.values())
            if CONFIG_SOURCES.get(entry.source) == "DYNAMIC_TOPIC_CONFIG"
        }
        for resource, entries in results.done.items()
    }
    return {
        name: FoundTopic(
            len(topic.partitions),
            max((len(each.replicas) for each in topic.partitions.values()), default=0),
            topic.is_internal,
            configs.get(name, {}),
        )
        for name, topic in listed.items()
    }


def export_topics(common: Common, output: Output, admin: Admin) -> None:
    """Print the topics as a file that `kctl apply -f` takes; those of Kafka itself are left out."""
    topics = [
        {
            "name": name,
            "partitions": topic.partitions,
            "replication_factor": topic.replication_factor,
            "configs": {key: _plain(value or "") for key, value in topic.configs.items()},
        }
        for name, topic in read_topics(admin, None).items()
        if not topic.is_internal
    ]
    document: dict[str, object] = {"topics": topics}
    try:
        rules = admin.describe_acls()
    except BrokerError as error:  # no authorizer, or not allowed: a file without ACLs leaves them alone
        common.say(f"{common.environment.program}: note: ACLs are left out: {error}")
    else:
        document["acls"] = [
            {
                "principal": rule.principal,
                "host": rule.host,
                "operation": rule.operation.name.lower(),
                "permission": rule.permission.name.lower(),
                "resource_type": rule.resource_type.name.lower(),
                "name": rule.resource_name,
                "pattern": rule.pattern_type.name.lower(),
            }
            for rule in rules
        ]
    write_lines(common.environment, document_lines(output, document))


def _plain(text: str) -> object:
    """Return a value as YAML writes it without quotes, where it is read as the same text again."""
    if text in ("true", "false"):
        return text == "true"
    return int(text) if text.removeprefix("-").isdecimal() and len(text) < 20 and str(int(text)) == text else text
