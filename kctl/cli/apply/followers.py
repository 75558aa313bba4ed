"""Checks whether brokers have applied the changes of `kctl apply`."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from kctl.cli.apply.declaration import Declaration
from kctl.cli.apply.plan import ApplyChange, acl_changes, make_plan
from kctl.cli.apply.state import with_configs
from kctl.cli.metadata_wait import ANSWER_S, Look
from kctl.client.admin import AclRule, Admin
from kctl.client.errors import AuthorizationError, KafkaError


def knows_changes(admin: Admin, declaration: Declaration, made: AbstractSet[ApplyChange]) -> Look:
    """Return a function that returns, for each broker that responds, whether it has applied the changes."""

    def look(node_ids: Sequence[int]) -> dict[int, bool]:
        known: dict[int, bool] = {}
        for node_id in node_ids:
            try:
                known[node_id] = not _unknown_changes(admin, declaration, made, node_id)
            except KafkaError:
                continue
        return known

    return look


def _unknown_changes(
    admin: Admin, declaration: Declaration, made: AbstractSet[ApplyChange], node_id: int
) -> AbstractSet[ApplyChange]:
    """Return the changes that the broker has not applied yet. Raises: KafkaError: the broker does not respond."""
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
