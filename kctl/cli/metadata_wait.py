"""Waits until every broker has applied a change, so that the next command sees it on any broker.

In KRaft clusters, brokers apply changes after the controller. kctl does not wait for brokers that do not respond.
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from kctl.cli.config_values import has_value
from kctl.cli.failures import CommandError
from kctl.cli.options import Common
from kctl.cli.wait_loop import look_until
from kctl.client.admin import (
    AclRule,
    Admin,
    ConfigResource,
    Credential,
    MetadataView,
    QuotaEntity,
)
from kctl.client.clock import Timer, duration_text
from kctl.client.cluster import NO_TOPIC_ID, TopicInfo
from kctl.client.config import AdminConfig
from kctl.client.errors import AuthorizationError, BrokerError, KafkaError
from kctl.client.network.system import system_runtime
from kctl.client.wording import brokers_text

INTERVAL_MS = 50
ANSWER_S = 2
"""Timeout of requests to brokers."""
MOST_BROKERS = 1_000
"""Maximum number of brokers to query; a response can list any number."""

Look = Callable[[Sequence[int]], Mapping[int, bool]]
"""Returns whether each given broker knows the changes, without brokers that did not respond."""
Knows = Callable[[TopicInfo | None], bool]
"""Returns whether a broker's metadata of a topic, None if unknown to the broker, has the change."""


def wait_for_brokers(common: Common, admin: Admin, look: Look) -> None:
    """Wait until every broker has applied the changes. At the API timeout, only print a note.

    Args: look: for brokers that respond, return whether they have applied the changes.
    """
    runtime = system_runtime()
    timer = Timer(runtime.clock, common.settings.parse(AdminConfig).default_api_timeout_ms)
    pending: list[int] = []
    heard: set[int] = set()
    left: list[int] = []

    def missing() -> str:
        known = look(pending)
        heard.update(known)
        left.extend(node_id for node_id in pending if node_id not in known)
        pending[:] = [node_id for node_id in pending if not known.get(node_id, True)]
        return brokers_text(pending) if pending else ""

    try:
        with admin.within():  # each broker has ANSWER_S, and any number of them may fall silent
            nodes = admin.describe_cluster().nodes
            if len(nodes) > MOST_BROKERS:
                common.say(
                    f"{common.environment.program}: note: kctl checks the changes on only {MOST_BROKERS:,} of "
                    f"{len(nodes):,} brokers"
                )
            pending.extend(node.node_id for node in nodes[:MOST_BROKERS])
            look_until(runtime, timer, "--api-timeout", "brokers to apply the changes", missing, INTERVAL_MS)
    except (CommandError, KafkaError) as error:
        if not pending:
            common.say(
                f"{common.environment.program}: note: cannot confirm that all brokers have applied the change: {error}"
            )
    unsure = sorted({*left, *pending})
    silent, late = [each for each in unsure if each not in heard], [each for each in unsure if each in heard]
    if silent:
        who = brokers_text(silent)
        common.say(
            f"{common.environment.program}: note: {who} did not respond, and may not have applied the changes yet"
        )
    if late:
        who, within = brokers_text(late), f"{duration_text(timer.timeout_ms)} (--api-timeout)"
        common.say(f"{common.environment.program}: note: {who} did not confirm the changes within {within}")


def wait_for_topics(common: Common, admin: Admin, expected: Mapping[str, Knows]) -> None:
    """Wait, as `wait_for_brokers`, until every broker reports the expected state of the topics.

    Topics that the user may not describe are skipped.
    """

    def look(node_ids: Sequence[int]) -> dict[int, bool]:
        views = _views(admin, node_ids, list(expected), ANSWER_S)
        return {
            node_id: all(_is_known(view.topics.get(name), knows) for name, knows in expected.items())
            for node_id, view in views.items()
        }

    if expected:
        wait_for_brokers(common, admin, look)


def wait_for_configs(common: Common, admin: Admin, changes: Mapping[ConfigResource, Mapping[str, str | None]]) -> None:
    """Wait, as `wait_for_brokers`, until brokers report the values. For broker configs, wait only for that broker.

    Resources that a broker does not describe are skipped.
    """

    def knows(node_id: int) -> bool:
        own = {each: entries for each, entries in changes.items() if each.node_id in (None, node_id)}
        found = admin.describe_configs(list(own), broker_id=node_id, timeout=ANSWER_S).done if own else {}
        return all(
            has_value(each.type, found[each].get(key), value)
            for each, entries in own.items()
            if each in found
            for key, value in entries.items()
        )

    wait_for_brokers(common, admin, _each(admin, knows))


def wait_for_rules(common: Common, admin: Admin, rules: Collection[AclRule], *, are_there: bool) -> None:
    """Wait, as `wait_for_brokers`, until brokers report all of the ACL rules, or none unless `are_there`."""

    def knows(node_id: int) -> bool:
        found = set(admin.describe_acls(broker_id=node_id, timeout=ANSWER_S))
        return found.issuperset(rules) if are_there else found.isdisjoint(rules)

    wait_for_brokers(common, admin, _each(admin, knows))


def wait_for_users(common: Common, admin: Admin, credentials: Collection[Credential], *, are_there: bool) -> None:
    """Wait, as `wait_for_brokers`, until brokers report all of the credentials, or none unless `are_there`."""

    def knows(node_id: int) -> bool:
        found = admin.describe_user_scram_credentials(broker_id=node_id, timeout=ANSWER_S).done
        return all((each.mechanism in found.get(each.user, ())) is are_there for each in credentials)

    wait_for_brokers(common, admin, _each(admin, knows))


def wait_for_quotas(common: Common, admin: Admin, entity: QuotaEntity, values: Mapping[str, float | None]) -> None:
    """Wait, as `wait_for_brokers`, until brokers report the quotas of an entity; None for a removed quota."""
    kinds = [kind for kind, _ in entity.parts]

    def knows(node_id: int) -> bool:
        found = admin.describe_client_quotas(kinds, broker_id=node_id, timeout=ANSWER_S).get(entity, {})
        return all(found.get(key) == value for key, value in values.items())

    wait_for_brokers(common, admin, _each(admin, knows))


def _each(admin: Admin, knows: Callable[[int], bool]) -> Look:
    """Return a function for `wait_for_brokers` that calls `knows` for each broker that responds.

    Metadata requests are sent in parallel first, so that silent brokers share one timeout. Brokers that reject the
    request of `knows` count as up to date.
    """
    responding: set[int] = set()

    def look(node_ids: Sequence[int]) -> dict[int, bool]:
        unheard = [node_id for node_id in node_ids if node_id not in responding]
        if unheard:
            responding.update(_views(admin, unheard, [], min(ANSWER_S, admin.remaining_ms() / 2000)))
        known: dict[int, bool] = {}
        for node_id in node_ids:
            if node_id not in responding:
                continue
            try:
                known[node_id] = knows(node_id)
            except BrokerError:
                known[node_id] = True
            except KafkaError:
                continue
        return known

    return look


def _views(admin: Admin, node_ids: Sequence[int], topics: Sequence[str], timeout: float) -> Mapping[int, MetadataView]:
    try:
        return admin.metadata_views(node_ids, topics, timeout=timeout).done
    except KafkaError:  # no broker has responded
        return {}


def is_created(topic_id: bytes) -> Knows:
    """Return a function that tells whether metadata shows the topic with this ID."""
    return lambda info: info is not None and topic_id in (NO_TOPIC_ID, info.topic_id)


def is_deleted(topic_id: bytes) -> Knows:
    """Return a function that tells whether metadata no longer shows the topic with this ID."""
    return lambda info: info is None or topic_id not in (NO_TOPIC_ID, info.topic_id)


def has_partitions(count: int) -> Knows:
    return lambda info: info is not None and len(info.partitions) >= count


def _is_known(info: TopicInfo | None, knows: Knows) -> bool:
    if info is not None and isinstance(info.error, AuthorizationError):
        return True
    return knows(None if info is None or info.error is not None else info)
