"""Gatherer: reads a `Look` with read-only requests, in a fixed order.

Metadata of each broker comes first. It shows silent brokers, for which later requests do not wait. Requests to each
broker come last, because a large cluster may leave no time for them.
"""

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.runtime import Runtime
from kctl.client.wording import counted
from kctl.why.gathering.asker import Asker
from kctl.why.gathering.brokers import probe_brokers, with_brokers
from kctl.why.gathering.compaction import with_old_keys
from kctl.why.gathering.epochs import with_epoch_ends
from kctl.why.gathering.glimpses import Glimpses
from kctl.why.gathering.groups import read_groups
from kctl.why.gathering.offsets import with_expiring, with_markers, with_offsets, with_records
from kctl.why.gathering.quotas import with_quotas
from kctl.why.gathering.selection import Selection
from kctl.why.gathering.topics import (
    with_checked_leaders,
    with_configs,
    with_eligible_leaders,
    with_topics,
    with_views,
)
from kctl.why.gathering.transactions import with_open_transactions
from kctl.why.look import Gap, Look, Looks
from kctl.why.throttles import Throttles

RESERVE, RESERVE_EACH = 15, 15
"""Requests to keep for the part after the groups: in total, and for each broker."""
MOST_ASKED = 1_000
"""Maximum number of brokers that get requests. Further brokers are a gap."""
_READ_ONCE = frozenset({"DescribeClientQuotas", "DescribeConfigs", "ListPartitionReassignments"})


class Gatherer:
    """Reader of looks.

    Args:
        admin: client whose calls are limited by `timer`.
        timer: time for all looks.
        throttles: counts the throttle events of `admin`.
        is_repeated: whether a second look needs half of the budget.
    """

    def __init__(
        self,
        admin: Admin,
        runtime: Runtime,
        timer: Timer,
        selection: Selection,
        throttles: Throttles | None = None,
        *,
        is_repeated: bool = False,
    ) -> None:
        self._throttles = throttles or Throttles()
        self._is_repeated = is_repeated
        self._admin = admin
        self._runtime = runtime
        self._selection = selection
        self._asker = Asker(admin, runtime.clock, timer)

    def look(self, before: Look | None = None, *, is_renewed: bool = False) -> Look:
        """Return a look, as complete as time allows.

        Args:
            before: earlier look to compare with. Supplies configs, quotas, and sampled keys.
            is_renewed: read configs, quotas, and sampled keys again.
        Raises: KafkaError: no broker responds, or a selected group or topic does not exist.
        """
        asker, selection = self._asker, self._selection
        kept = None if is_renewed else before
        asker.begin([] if kept is None else [gap for gap in kept.gaps if gap.request in _READ_ONCE])
        sent_before = self._admin.requests_sent
        look = Look(self._runtime.clock.wall_ms())
        cluster = self._admin.describe_cluster()
        asker.nodes = cluster.nodes[:MOST_ASKED]
        if len(cluster.nodes) > MOST_ASKED:
            further = counted(len(cluster.nodes) - MOST_ASKED, "more broker")
            asker.gaps.append(Gap("Metadata", further, None, f"kctl checks at most {MOST_ASKED:,} brokers"))
        look = look._replace(nodes=cluster.nodes, fenced=cluster.fenced_nodes)
        look = with_views(asker, look, selection, before)
        look = look._replace(groups=read_groups(asker, selection.groups, self._reserve(is_first=before is None)))
        look = with_topics(asker, look, selection)
        look = with_quotas(asker, look) if kept is None else look._replace(quotas=kept.quotas)
        look = with_configs(asker, look, selection, kept)
        look = with_checked_leaders(asker, look)
        look = with_eligible_leaders(asker, look)
        look = with_offsets(asker, look, selection)
        look = with_markers(asker, look)
        look = with_epoch_ends(asker, look, before)
        look = with_expiring(asker, look, selection)
        look = with_records(asker, look, before)
        if selection.has_brokers:
            look = with_brokers(asker, look._replace(probed=probe_brokers(asker, self._runtime)))
        look = with_old_keys(asker, look) if kept is None else look._replace(old_keys=kept.old_keys)
        look = with_open_transactions(asker, look)
        return look._replace(
            silent=dict(asker.silent),
            paused_ms=self._throttles.paused_ms(),
            gaps=tuple(asker.gaps),
            requests=self._admin.requests_sent - sent_before,
        )

    def glimpses(self, look: Look, apart_ms: int) -> Glimpses:
        return Glimpses(self._asker, look, apart_ms)

    def _reserve(self, *, is_first: bool) -> int:
        left = self._admin.requests_left or 0
        return RESERVE + RESERVE_EACH * len(self._asker.nodes) + (left // 2 if is_first and self._is_repeated else 0)


def take_looks(
    admin: Admin,
    runtime: Runtime,
    timer: Timer,
    selection: Selection,
    watch_ms: int,
    throttles: Throttles | None = None,
) -> Looks:
    """Return one look, or two looks with `watch_ms` between them.

    Raises: KafkaError: no broker responds, or a selected group or topic does not exist.
    """
    gatherer = Gatherer(admin, runtime, timer, selection, throttles, is_repeated=watch_ms > 0)
    next_at_ms = runtime.clock.start_ms() + watch_ms
    first = gatherer.look()
    if not watch_ms:
        return Looks(first)
    next_at_ms = min(next_at_ms, timer.deadline_at_ms)
    glimpses, waiter, clock = gatherer.glimpses(first, watch_ms), runtime.driver.waiter(), runtime.clock
    while not glimpses.is_done and clock.now_ms() + 2 * glimpses.apart_ms <= next_at_ms:
        runtime.driver.wait(waiter, clock.now_ms() + glimpses.apart_ms)
        glimpses.take(next_at_ms)
    runtime.driver.wait(waiter, next_at_ms)
    return Looks(gatherer.look(first), first, tuple(glimpses.taken))
