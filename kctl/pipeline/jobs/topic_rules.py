"""Topic rules: configs with which a target deletes or rejects records that the source keeps.

Copied records keep their timestamps and sizes. So a target with a shorter retention deletes them minutes after the
copy, and a target with lower limits rejects them.
"""

from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Final

from kctl.client.admin import Admin, ConfigResource, ResourceType
from kctl.pipeline.export_files.cluster_facts import TopicFacts
from kctl.pipeline.job_errors import RecordLossError, listed
from kctl.pipeline.jobs.cluster_facts import RefusedConfig, create_topics, set_configs

Rules = Mapping[str, str]
"""Effective configs of a topic by name."""

DEFAULTS: Final[Rules] = MappingProxyType(
    {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "max.message.bytes": "1048588",
    }
)
"""Kafka's defaults, for topics of an export, which has only the configs set on the topic."""
LIMITS: Final = ("message.timestamp.before.max.ms", "message.timestamp.after.max.ms", "max.message.bytes")
TIMES: Final = frozenset({"retention.ms", *LIMITS[:2]})
"""Rules that depend on timestamps."""
RULES: Final = frozenset({"cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", *LIMITS})
OF_CLUSTER: Final = frozenset(
    {"min.insync.replicas", "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
)
"""Configs that depend on the brokers of a cluster."""


def read_rules(admin: Admin, topics: Iterable[str]) -> dict[str, Rules | None]:
    """Return the rules of topics; None without permission to read them."""
    names = sorted(topics)
    found = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names]).done if names else {}
    rules: dict[str, Rules | None] = {}
    for name in names:
        configs = found.get(ConfigResource(ResourceType.TOPIC, name))
        known = {} if configs is None else {entry.name: entry.value for entry in configs.values()}
        rules[name] = None if configs is None else {key: known[key] or "" for key in RULES if key in known}
    return rules


def rules_of(facts: TopicFacts | None) -> Rules:
    """Return the rules of an exported topic."""
    configs = (facts.configs if facts is not None else None) or {}
    return {**DEFAULTS, **{name: value for name, value in configs.items() if name in RULES}}


def conflicts(source: Rules, target: Rules) -> dict[str, str]:
    """Return the effects of a target's configs on records that the source keeps, by config name."""
    found: dict[str, str] = {}
    policy, kept = _policy(target), _policy(source)
    if "compact" in policy and "compact" not in kept:
        found["cleanup.policy"] = f"{target['cleanup.policy']} deletes older records of a key"
    if "delete" in policy:
        for name in ("retention.ms", "retention.bytes"):
            limit = _number(target.get(name))
            most = _number(source.get(name)) if "delete" in kept else -1
            if limit is not None and most is not None and limit >= 0 and not 0 <= most <= limit:
                found[name] = f"{limit} deletes records that the source keeps ({_shown(most, name)})"
    names = LIMITS[2:] if target.get("message.timestamp.type") == "LogAppendTime" else LIMITS
    for name in names:
        limit, most = _number(target.get(name)), _number(source.get(name))
        if limit is not None and most is not None and limit < most:
            found[name] = f"{limit} rejects records that the source accepts ({most})"
    return found


def problems(source: Rules | None, target: Rules | None, topic: str, names: Container[str] = RULES) -> list[str]:
    """Return the conflicts of a target topic with its source, one line for each config.

    Args: names: configs to compare.
    """
    if source is None or target is None:
        return [
            f"{topic}: the configs of the {'source' if source is None else 'target'} cannot be read (DescribeConfigs)"
        ]
    found = sorted(conflicts(source, target).items())
    return [f"{topic}: {name}={text}" for name, text in found if name in names]


def refuse(found: Iterable[str]) -> None:
    """Raise RecordLossError if there are problems."""
    if known := list(found):
        raise RecordLossError(
            f"the target would lose records: {listed(known)}",
            "change the configs of the target, or add --allow-loss",
        )


def create_alike(
    admin: Admin, missing: Mapping[str, TopicFacts], rules: Mapping[str, Rules | None]
) -> list[RefusedConfig]:
    """Create topics with the configs set on their sources, and return the rejected configs.

    If defaults of the two clusters conflict, the rule of the source is set on the topic.

    Args: rules: rules of the source by target topic.
    """
    refused = create_topics(admin, {name: _portable(facts) for name, facts in missing.items()})
    for name, made in read_rules(admin, missing).items():
        wanted = rules.get(name)
        if made is not None and wanted is not None and (changed := conflicts(wanted, made)):
            refused += set_configs(admin, name, {key: wanted[key] for key in changed.keys() | _policy_of(wanted, made)})
    return refused


def _portable(facts: TopicFacts) -> TopicFacts:
    configs = facts.configs
    if configs is None:
        return facts
    return facts._replace(configs={name: value for name, value in configs.items() if name not in OF_CLUSTER})


def _policy_of(wanted: Rules, made: Rules) -> set[str]:
    """Return the config name of the policy if it differs, because retention applies only if the policy deletes."""
    return {"cleanup.policy"} if _policy(wanted) != _policy(made) else set()


def _policy(rules: Rules) -> set[str]:
    return {word.strip() for word in rules.get("cleanup.policy", "delete").split(",") if word.strip()}


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _shown(most: int, name: str) -> str:
    return f"{name}={most}" if most >= 0 else "without a limit"
