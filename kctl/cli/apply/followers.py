"""The end of `kctl apply`: until each broker knows what was changed, so that what comes next sees it at any of them.

In a KRaft cluster a change is made once the controller has made it; each broker hears of it a moment later. Owns which
broker is waited for: one that does not respond is not, it hears of all changes before it serves clients again.
Shown by tests/sim/admin/test_apply.py and tests/broker/test_operator_changes.py.
"""

from collections.abc import Set as AbstractSet

from kctl.cli.apply.declaration import Declaration
from kctl.cli.apply.plan import ApplyChange, acl_changes, make_plan
from kctl.cli.apply.state import with_configs
from kctl.cli.failures import CommandError
from kctl.cli.options import Common
from kctl.cli.wait_loop import look_until
from kctl.client.admin import AclRule, Admin
from kctl.client.clock import Timer
from kctl.client.config import AdminConfig
from kctl.client.errors import ApiTimeout, AuthorizationError, KafkaError
from kctl.client.network.system import system_runtime

INTERVAL_MS = 50
ANSWER_S = 2
"""How long one broker is given to answer."""


def wait_for_brokers(common: Common, admin: Admin, declaration: Declaration, made: AbstractSet[ApplyChange]) -> None:
    """Return once every broker knows the changes made, or with a note at the API timeout: they are made anyway."""
    runtime = system_runtime()
    timer = Timer(runtime.clock, common.settings.parse(AdminConfig).default_api_timeout_ms)
    pending: list[int] = []
    responded: set[int] = set()

    def is_behind(node_id: int) -> bool:
        try:
            unknown = _unknown_changes(admin, declaration, made, node_id)
        except KafkaError as error:
            if isinstance(error, ApiTimeout) and node_id in responded:
                raise
            return False
        responded.add(node_id)
        return bool(unknown)

    def missing() -> str:
        pending[:] = [node_id for node_id in pending if is_behind(node_id)]
        return ", ".join(f"broker {node_id}" for node_id in pending)

    try:
        pending.extend(node.node_id for node in admin.describe_cluster().nodes)
        look_until(runtime, timer, "--api-timeout", "brokers to know the changes", missing, INTERVAL_MS)
    except (CommandError, KafkaError):
        names = ", ".join(f"broker {node_id}" for node_id in pending) or "some brokers"
        common.say(f"{common.environment.program}: note: {names} may not know all changes yet")


def _unknown_changes(
    admin: Admin, declaration: Declaration, made: AbstractSet[ApplyChange], node_id: int
) -> AbstractSet[ApplyChange]:
    """Return the changes that a broker does not know. Raises: KafkaError: it does not say."""
    unknown: set[ApplyChange] = set()
    names = sorted({change.item for change in made if isinstance(change.item, str)})
    if names:
        described = admin.describe_topics(names, broker_id=node_id, timeout=ANSWER_S)
        hidden = {name for name, error in described.failed.items() if isinstance(error, AuthorizationError)}
        declared = {n: each for n, each in (declaration.topics or {}).items() if n in names and n not in hidden}
        existing = [name for name in described.done if name in declared]
        found = with_configs(admin, described.done, existing, broker_id=node_id)
        unknown.update(make_plan(declared, found, prune=True).changes)
    if any(isinstance(change.item, AclRule) for change in made):
        rules = admin.describe_acls(broker_id=node_id, timeout=ANSWER_S)
        unknown.update(acl_changes(declaration.acls or (), rules, prune=True))
    return unknown & made
