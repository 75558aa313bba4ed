"""Topic rules: configs with which a target may delete or reject records that the source keeps.

Copies keep timestamps and sizes. A target with a shorter retention deletes them minutes later, and a target with lower
limits rejects them. Default limits differ by version: Kafka 3.x accepts every timestamp, and 4.x accepts it only until
one hour after the broker's clock. Default limits conflict only if the source has a record that the target would reject.
"""

from collections.abc import Container, Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from kctl.client.admin import MAX_TIMESTAMP, Admin, ConfigResource, ResourceType
from kctl.client.broker_errors import AUTHORIZATION_FAILED
from kctl.client.clock import SystemClock, duration_text
from kctl.client.errors import BrokerError, UnsupportedVersionError
from kctl.pipeline.export_files.cluster_facts import TopicFacts
from kctl.pipeline.job_errors import RecordLossError, listed
from kctl.pipeline.jobs.cluster_facts import RefusedConfig, create_topics, set_configs
from kctl.pipeline.ranges import OffsetRange

Configs = Mapping[str, str]


class Rules(NamedTuple):
    """Effective configs of a topic.

    Attributes:
        defaults: names of configs that neither the topic nor a broker sets.
    """

    configs: Configs
    defaults: frozenset[str] = frozenset()


DEFAULTS: Final[Configs] = MappingProxyType(
    {
        "cleanup.policy": "delete",
        "retention.ms": "604800000",
        "retention.bytes": "-1",
        "max.message.bytes": "1048588",
    }
)
"""Kafka's defaults, for topics of an export, which has only the configs that are set on the topic."""
AFTER: Final = "message.timestamp.after.max.ms"
LIMITS: Final = ("message.timestamp.before.max.ms", AFTER, "max.message.bytes")
TIMES: Final = frozenset({"retention.ms", *LIMITS[:2]})
"""Configs that depend on timestamps."""
RULES: Final = frozenset({"cleanup.policy", "retention.ms", "retention.bytes", "message.timestamp.type", *LIMITS})
OF_CLUSTER: Final = frozenset(
    {"min.insync.replicas", "leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
)
"""Configs that depend on the brokers of a cluster."""
_OF_KAFKA: Final = 5
"""Source number of a config with Kafka's default."""


def read_rules(admin: Admin, topics: Iterable[str]) -> dict[str, Rules | None]:
    """Return a dict from topic to rules. The value is None if reading them is not permitted."""
    names = sorted(topics)
    if not names:
        return {}
    found = admin.describe_configs([ConfigResource(ResourceType.TOPIC, name) for name in names])
    for error in found.failed.values():
        if not (isinstance(error, BrokerError) and error.code in AUTHORIZATION_FAILED):
            raise error
    rules: dict[str, Rules | None] = dict.fromkeys(names)
    for resource, configs in found.done.items():
        known = [entry for entry in configs.values() if entry.name in RULES]
        rules[resource.name] = Rules(
            {entry.name: entry.value or "" for entry in known},
            frozenset(entry.name for entry in known if entry.source == _OF_KAFKA),
        )
    return rules


def rules_of(facts: TopicFacts | None) -> Rules:
    configs = (facts.configs if facts is not None else None) or {}
    return Rules({**DEFAULTS, **{name: value for name, value in configs.items() if name in RULES}})


def conflicts(source: Configs, target: Configs) -> dict[str, str]:
    """Return a dict from config name to the effect of the target's config on records that the source keeps."""
    found: dict[str, str] = {}
    policy, kept = _policy(target), _policy(source)
    if "compact" in policy and "compact" not in kept:
        found["cleanup.policy"] = f"{target['cleanup.policy']} deletes all but the newest record of a key"
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

    Limits that are defaults on both sides are left to `late_records`.
    """
    if source is None or target is None:
        return [
            f"{topic}: cannot read the configs of the {'source' if source is None else 'target'} (no permission "
            f"DescribeConfigs)"
        ]
    found = conflicts(source.configs, target.configs)
    if AFTER in source.defaults & target.defaults:
        found.pop(AFTER, None)
    return [f"{topic}: {name}={text}" for name, text in sorted(found.items()) if name in names]


def latest_accepted_ms(source: Rules | None, target: Rules | None) -> int | None:
    """Return how far in the future, in ms, a target accepts timestamps, if this is a default limit lower than the
    source's.

    Return None if the limit is not lower, is set on one side, or is unknown.
    """
    if source is None or target is None or AFTER not in source.defaults & target.defaults:
        return None
    is_lower = AFTER in conflicts(source.configs, target.configs)
    return _number(target.configs[AFTER]) if is_lower else None


def late_records(admin: Admin, ranges: Iterable[OffsetRange], limits_ms: Mapping[str, int]) -> list[str]:
    """Return one line for each partition with a record that the target would reject by `latest_accepted_ms`.

    Skips brokers before Kafka 3.0, which do not know their latest timestamps. A rejected record then fails the job, and
    is not lost.

    Args:
        limits_ms: dict from source topic to limit. Other topics are not checked.
    """
    asked = {each.topic_partition: each for each in ranges if each.topic in limits_ms}
    if not asked:
        return []
    newest = admin.list_offsets(dict.fromkeys(asked, MAX_TIMESTAMP))
    for error in newest.failed.values():
        if not isinstance(error, UnsupportedVersionError):
            raise error
    now_ms, found = SystemClock().wall_ms(), []
    for tp, record in sorted(newest.done.items()):
        ahead_ms = record.timestamp_ms - now_ms
        if record.offset >= asked[tp].start_offset and ahead_ms > limits_ms[tp.topic]:
            found.append(
                f"{tp}: {AFTER}={limits_ms[tp.topic]} (default) rejects the record at offset {record.offset}, whose "
                f"timestamp is {duration_text(ahead_ms)} in the future"
            )
    return found


def refuse(found: Iterable[str]) -> None:
    if known := list(found):
        raise RecordLossError(
            f"the target would lose records: {listed(known)}",
            "change the configs of the target, or add --allow-loss",
        )


def create_alike(
    admin: Admin, missing: Mapping[str, TopicFacts], rules: Mapping[str, Rules | None]
) -> list[RefusedConfig]:
    """Create topics with the configs set on their sources, and return the rejected configs.

    If a default of the target conflicts with the source, the source's value is set on the topic.
    """
    refused = create_topics(admin, {name: _portable(facts) for name, facts in missing.items()})
    if missing:
        admin.wait_for_topics(sorted(missing))
    for name, made in read_rules(admin, missing).items():
        wanted = rules.get(name)
        if made is not None and wanted is not None:
            changed = set(conflicts(wanted.configs, made.configs))
            if changed:
                changed |= _policy_of(wanted.configs, made.configs)
            refused += set_configs(admin, name, {key: wanted.configs[key] for key in changed})
    return refused


def _portable(facts: TopicFacts) -> TopicFacts:
    configs = facts.configs
    if configs is None:
        return facts
    return facts._replace(configs={name: value for name, value in configs.items() if name not in OF_CLUSTER})


def _policy_of(wanted: Configs, made: Configs) -> set[str]:
    """Return `cleanup.policy` if the policies differ, because retention applies only if the policy deletes."""
    return {"cleanup.policy"} if _policy(wanted) != _policy(made) else set()


def _policy(configs: Configs) -> set[str]:
    return {word.strip() for word in configs.get("cleanup.policy", "delete").split(",") if word.strip()}


def _number(text: str | None) -> int | None:
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def _shown(most: int, name: str) -> str:
    return f"{name}={most}" if most >= 0 else "no limit"
