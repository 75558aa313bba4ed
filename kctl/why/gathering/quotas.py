"""Part of a look about client quotas, for groups with members."""

from kctl.why.gathering.asker import Asker
from kctl.why.look import Look


def with_quotas(asker: Asker, look: Look) -> Look:
    if not any(group.description.members for group in look.groups.values()):
        return look
    found = asker.ask("DescribeClientQuotas", "client quotas", lambda s: asker.admin.describe_client_quotas(timeout=s))
    return look if found is None else look._replace(quotas=found)
