"""Brokers as a part of a look: connections, disks, the quorum of controllers, features, transactional.ids."""

import math

from kctl.client.runtime import Runtime
from kctl.why.finding import PROBE
from kctl.why.gathering.asker import BUDGET_SPENT, LEAST_STEP_MS, TIME_UP, Asker
from kctl.why.gathering.transactions import with_transactions
from kctl.why.look import Gap, Look
from kctl.why.probing import REQUESTS_EACH, Probed, probe


def with_brokers(asker: Asker, look: Look) -> Look:
    """Add what each broker and the controllers report of themselves."""
    alive = asker.alive
    dirs = asker.each("DescribeLogDirs", "disks", lambda s: asker.admin.describe_log_dirs(alive, timeout=s))
    for node_id, silence in asker.silent.items():
        asker.gap("DescribeLogDirs", f"broker {node_id}", silence.error)
    quorum = asker.ask("DescribeQuorum", "the cluster", lambda s: asker.admin.describe_quorum(timeout=s))
    features = asker.ask("ApiVersions", "features", lambda s: asker.admin.describe_features(timeout=s)) or []
    look = look._replace(log_dirs=dirs, quorum=quorum, features={each.name: each.level for each in features})
    return with_transactions(asker, look)


def probe_brokers(asker: Asker, runtime: Runtime) -> Probed:
    """Return what the probe finds, in a share of the time and only where the budget has room for all brokers."""
    admin = asker.admin
    most = REQUESTS_EACH * (len(asker.nodes) + len(admin.config.bootstrap_servers))
    left = admin.requests_left
    share_ms = int(min(asker.share_s(), asker.partial_s() or math.inf) * 1000)
    if share_ms < LEAST_STEP_MS or (left is not None and left < most):
        asker.gaps.append(Gap(PROBE, "every broker", None, TIME_UP if share_ms < LEAST_STEP_MS else BUDGET_SPENT))
        return Probed()
    probed = probe(admin.config, runtime, asker.timer.sub(share_ms))
    admin.count_requests(min(most, REQUESTS_EACH * len(probed.reports)))
    return probed
