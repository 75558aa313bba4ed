"""Findings about quotas that slow down groups, by the client IDs of members.

Ignores quotas of specific users, because the users of members are unknown.
"""

import shlex
from collections.abc import Iterator

from kctl.client.admin import MemberDescription
from kctl.client.quotas import EffectiveQuota, effective_quotas
from kctl.client.wording import counted
from kctl.why.finding import Evidence, Finding
from kctl.why.look import Look, Looks
from kctl.why.table import FINDINGS
from kctl.why.wording import by_partition, member_values, more_text

LEAST = {"consumer_byte_rate": 10_240, "request_percentage": 1}
"""Quotas below which a consumer mostly waits, in bytes per second or percent of a thread."""
_LIMITS = {"consumer_byte_rate": "{:g} bytes/s", "request_percentage": "{:g}% of a request thread"}


def group_quotas(looks: Looks) -> Iterator[Finding]:
    for group_id, group in looks.now.groups.items():
        by_client: dict[str, list[MemberDescription]] = {}
        for member in group.description.members:
            by_client.setdefault(member.client_id, []).append(member)
        for client_id, members in by_client.items():
            lags = {tp: lag for member in members for tp in member.assignment or () if (lag := looks.lag(group, tp))}
            low = {key: each for key, each in quotas_of(looks.now, client_id).items() if each.value < LEAST[key]}
            if not lags or not low:
                continue
            key, quota = next(iter(low.items()))
            yield FINDINGS["group-throttled"].found(
                {
                    "group": group_id,
                    "client": client_id,
                    "host": members[0].host,
                    "key": key,
                    "limit": _LIMITS[key].format(quota.value),
                    "entity": str(quota.source),
                    "waiting": sum(lags.values()),
                    "partitions": counted(len(lags), "partition"),
                    "options": _options(quota),
                    "more": more_text(len(members) - 1, "member"),
                },
                [
                    quota_evidence(looks.now, client_id),
                    Evidence("DescribeGroups", f"group {group_id}", member_values(members[0])),
                    Evidence("ListOffsets", "lag by partition", by_partition(lags)),
                ],
            )


def quotas_of(look: Look, client_id: str) -> dict[str, EffectiveQuota]:
    found = effective_quotas(look.quotas, client_id=client_id)
    return {key: found[key] for key in LEAST if key in found}


def quota_evidence(look: Look, client_id: str) -> Evidence:
    values = {key: f"{each.value:g} ({each.source})" for key, each in quotas_of(look, client_id).items()}
    return Evidence("DescribeClientQuotas", f"client-id {client_id}", dict(values))


def _options(quota: EffectiveQuota) -> str:
    return " ".join(
        f"--{kind}-default" if name is None else f"--{kind} {shlex.quote(name)}" for kind, name in quota.source.parts
    )
