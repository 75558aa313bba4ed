"""Controller quorum, and the requests that brokers forward to the controller.

All nodes are voters. Without a majority that is up, there is no controller, and requests wait. Source: KRaft's combined
mode; ForwardingManager of Kafka's brokers. Unlike Kafka, elections are immediate.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster
    from kctl.sandbox.runtime import Handle

FORWARDING_MS = 60_000
"""Time in ms that a forwarded request waits for a controller."""


class Quorum:
    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._is_stopped = False
        self._waiting: dict[_Forwarded, None] = {}
        self.leader_id: int | None = next(iter(cluster.nodes))
        """Node ID of the controller, or None."""
        self.epoch = 1
        for node in cluster.nodes.values():
            node.faults.on_change(self._elect)

    def stop(self) -> None:
        """Stop all controllers until `start`. The brokers of the nodes keep running."""
        self._is_stopped = True
        self._elect()

    def start(self) -> None:
        self._is_stopped = False
        self._elect()

    def forward(self, carry_out: Callable[[], None], refuse: Callable[[], None]) -> None:
        """Execute a request on the controller. Call `refuse` if there is no controller for `FORWARDING_MS`."""
        if self.leader_id is not None:
            carry_out()
            return
        forwarded = _Forwarded(carry_out)
        self._waiting[forwarded] = None

        def expire() -> None:
            del self._waiting[forwarded]
            refuse()

        forwarded.timer = self._cluster.scheduler.call_later(FORWARDING_MS, expire)

    def _elect(self) -> None:
        running = [] if self._is_stopped else [each.node_id for each in self._cluster.nodes.values() if each.is_running]
        has_majority = 2 * len(running) > len(self._cluster.nodes)
        if not has_majority:
            self.leader_id = None
        elif self.leader_id not in running:
            self.leader_id = running[0]
            self.epoch += 1
        if self.leader_id is not None:
            waiting, self._waiting = list(self._waiting), {}
            for each in waiting:
                each.begin()


class _Forwarded:
    __slots__ = ("_carry_out", "timer")

    def __init__(self, carry_out: Callable[[], None]) -> None:
        self._carry_out = carry_out
        self.timer: Handle | None = None

    def begin(self) -> None:
        if self.timer is not None:
            self.timer.cancel()
        self._carry_out()
