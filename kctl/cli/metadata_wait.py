"""The end of a change: until each broker knows it, so that what comes next sees it at any of them.

In a KRaft cluster a change is made once the controller has made it; each broker hears of it a moment later. Owns which
broker is waited for: one that does not respond is named, and not waited for. Shown by
tests/sim/admin/test_metadata_wait.py, tests/sim/admin/test_apply.py and tests/broker/test_operator_changes.py.
"""

from collections.abc import Callable, Mapping, Sequence

from kctl.cli.failures import CommandError
from kctl.cli.options import Common
from kctl.cli.wait_loop import look_until
from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.cluster import NO_TOPIC_ID, TopicInfo
from kctl.client.config import AdminConfig
from kctl.client.errors import AuthorizationError, KafkaError
from kctl.client.network.system import system_runtime

INTERVAL_MS = 50
ANSWER_S = 2
"""How long brokers are given to answer."""

Look = Callable[[Sequence[int]], Mapping[int, bool]]
"""Asks brokers whether they know the changes; those that did not respond are left out."""
Knows = Callable[[TopicInfo | None], bool]
"""Whether what a broker says of a topic, None where it does not know it, has the change."""


def wait_for_brokers(common: Common, admin: Admin, look: Look) -> None:
    """Return once every broker knows the changes, or with a note at the API timeout: they are made anyway."""
    runtime = system_runtime()
    timer = Timer(runtime.clock, common.settings.parse(AdminConfig).default_api_timeout_ms)
    pending: list[int] = []
    silent: list[int] = []
    others = ""

    def missing() -> str:
        known = look(pending)
        silent.extend(node_id for node_id in pending if node_id not in known)
        pending[:] = [node_id for node_id in pending if not known.get(node_id, True)]
        return _names(pending)

    try:
        pending.extend(node.node_id for node in admin.describe_cluster().nodes)
        look_until(runtime, timer, "--api-timeout", "brokers to know the changes", missing, INTERVAL_MS)
    except (CommandError, KafkaError):
        others = "some brokers"
    names = _names(sorted([*silent, *pending])) or others
    if names:
        common.say(f"{common.environment.program}: note: {names} may not know all changes yet")


def wait_for_topics(common: Common, admin: Admin, expected: Mapping[str, Knows]) -> None:
    """Return as `wait_for_brokers`, once every broker reports the topics as they are expected.

    A topic that the user may not describe is not waited for.
    """

    def look(node_ids: Sequence[int]) -> dict[int, bool]:
        try:
            views = admin.metadata_views(node_ids, list(expected), timeout=ANSWER_S).done
        except KafkaError:  # no broker has responded
            return {}
        return {
            node_id: all(_is_known(view.topics.get(name), knows) for name, knows in expected.items())
            for node_id, view in views.items()
        }

    if expected:
        wait_for_brokers(common, admin, look)


def is_created(topic_id: bytes) -> Knows:
    """Return what is expected of a topic that was created, with its id where the broker gave one."""
    return lambda info: info is not None and topic_id in (NO_TOPIC_ID, info.topic_id)


def is_deleted(topic_id: bytes) -> Knows:
    """Return what is expected of a topic that was deleted; one of that name may be there again."""
    return lambda info: info is None or topic_id not in (NO_TOPIC_ID, info.topic_id)


def has_partitions(count: int) -> Knows:
    """Return what is expected of a topic that has got partitions."""
    return lambda info: info is not None and len(info.partitions) >= count


def _is_known(info: TopicInfo | None, knows: Knows) -> bool:
    if info is not None and isinstance(info.error, AuthorizationError):
        return True
    return knows(None if info is None or info.error is not None else info)


def _names(node_ids: Sequence[int]) -> str:
    return ", ".join(f"broker {node_id}" for node_id in node_ids)
