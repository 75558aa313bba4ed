"""The quorum of controllers: which node leads it, and the requests that brokers forward to its leader.

All nodes are voters. While more than half of them run, one of them leads; otherwise requests that need the controller
wait for the next leader.

Source: KRaft's combined mode; ForwardingManager of Kafka's brokers. Differs: an election takes no time.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kctl.sandbox.cluster import Cluster
    from kctl.sandbox.runtime import Handle

FORWARDING_MS = 60_000
"""Time after which a broker answers a request that no controller has taken."""


class Quorum:
    """The controllers of a cluster."""

    def __init__(self, cluster: "Cluster") -> None:
        self._cluster = cluster
        self._is_stopped = False
        self._waiting: dict[_Forwarded, None] = {}
        self.leader_id: int | None = next(iter(cluster.nodes))
        """The controller; None if there is none."""
        self.epoch = 1
        for node in cluster.nodes.values():
            node.faults.on_change(self._elect)

    def stop(self) -> None:
        """Let no node be the controller until `start`, as controllers on machines of their own that are down."""
        self._is_stopped = True
        self._elect()

    def start(self) -> None:
        """Let a majority of the nodes elect a controller again."""
        self._is_stopped = False
        self._elect()

    def forward(self, carry_out: Callable[[], None], refuse: Callable[[], None]) -> None:
        """Carry a request out while there is a controller; refuse it if none takes it in `FORWARDING_MS`."""
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
    """A request that waits for a controller."""

    __slots__ = ("_carry_out", "timer")

    def __init__(self, carry_out: Callable[[], None]) -> None:
        self._carry_out = carry_out
        self.timer: Handle | None = None

    def begin(self) -> None:
        """Carry it out."""
        if self.timer is not None:
            self.timer.cancel()
        self._carry_out()
