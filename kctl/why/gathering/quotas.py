"""Client quotas as a part of a look, where a group has members that they may throttle."""

from kctl.why.gathering.asker import Asker
from kctl.why.look import Look


def with_quotas(asker: Asker, look: Look) -> Look:
    """Add the quotas of clients."""
    if not any(group.description.members for group in look.groups.values()):
        return look
    found = asker.ask("DescribeClientQuotas", "client quotas", lambda s: asker.admin.describe_client_quotas(timeout=s))
    return look if found is None else look._replace(quotas=found)
