"""Part of a look about brokers: connections, disks, controller quorum, features, and transactional.ids."""

import math
from collections.abc import Collection, Sequence
from functools import partial

from kctl.client.admin import Admin, LogDir, Results
from kctl.client.runtime import Runtime
from kctl.why.finding import PROBE
from kctl.why.gathering.asker import BUDGET_SPENT, LEAST_STEP_MS, TIME_UP, Asker
from kctl.why.gathering.transactions import with_transactions
from kctl.why.look import Gap, Look, is_filling
from kctl.why.probing import GAPS, REQUESTS_EACH, Probed, probe

MOST_BROKERS = 20
"""Number of brokers that report their disks in parallel."""


def with_brokers(asker: Asker, look: Look) -> Look:
    dirs = _log_dirs(asker, look)
    for node_id, silence in asker.silent.items():
        asker.gap("DescribeLogDirs", f"broker {node_id}", silence.error)
    quorum = asker.ask("DescribeQuorum", "the cluster", lambda s: asker.admin.describe_quorum(timeout=s))
    quorum_at_ms = asker.clock.wall_ms()
    features = asker.ask("ApiVersions", "features", lambda s: asker.admin.describe_features(timeout=s)) or []
    levels = {each.name: each.level for each in features}
    look = look._replace(log_dirs=dirs, quorum=quorum, quorum_at_ms=quorum_at_ms, features=levels)
    return with_transactions(asker, look)


def _log_dirs(asker: Asker, look: Look) -> dict[int, list[LogDir]]:
    """Return the log directories. Drop sizes that no finding needs, because there may be 600,000 replicas."""
    alive = asker.alive
    compacted = look.compacted_topics
    found: dict[int, list[LogDir]] = {}
    for at in range(0, len(alive), MOST_BROKERS):
        call = partial(_describe_log_dirs, asker.admin, alive[at : at + MOST_BROKERS])
        dirs = asker.each("DescribeLogDirs", "disks", call)
        found |= {node_id: [_reduced(each, compacted) for each in of_node] for node_id, of_node in dirs.items()}
    return found


def _describe_log_dirs(admin: Admin, broker_ids: Sequence[int], timeout_s: float) -> Results[int, list[LogDir]]:
    return admin.describe_log_dirs(broker_ids, timeout=timeout_s)


def _reduced(found: LogDir, compacted: Collection[str]) -> LogDir:
    if is_filling(found):
        return found
    return found._replace(replica_bytes={tp: size for tp, size in found.replica_bytes.items() if tp.topic in compacted})


def probe_brokers(asker: Asker, runtime: Runtime) -> Probed:
    """Return the result of the probe, if the request budget suffices for all brokers."""
    admin = asker.admin
    most = REQUESTS_EACH * (len(asker.nodes) + len(admin.config.bootstrap_servers))
    left = admin.requests_left
    share_ms = int(min(asker.share_s(), asker.partial_s() or math.inf) * 1000)
    if share_ms < LEAST_STEP_MS or (left is not None and left < most):
        asker.gaps.append(Gap(PROBE, "every broker", None, TIME_UP if share_ms < LEAST_STEP_MS else BUDGET_SPENT))
        return Probed()
    probed = probe(admin.config, runtime, asker.timer.sub(share_ms))
    admin.count_requests(min(most, REQUESTS_EACH * len(probed.reports)))
    for each in probed.findings:
        if each.id in GAPS and each.error is not None:
            asker.gap(PROBE, each.where, each.error)
        elif each.id in GAPS:
            asker.gaps.append(Gap(PROBE, each.where or "every broker", None, each.text))
    return probed
