"""NodeChoice: chooses a node for requests to any node, and connects to nodes one by one while none is ready.

The in-flight limit applies to requests to a certain node, such as Produce. Requests to any node (Metadata,
InitProducerId, FindCoordinator, telemetry) ignore it, so that a producer at its limit still gets new leaders and
topics.

Source: KIP-601's LeastLoadedNodeProvider. Differs: Java needs a node below its limit.
"""

from collections.abc import Callable, Sequence

from kctl.client.clock import FOREVER_MS, Clock
from kctl.client.cluster import Node
from kctl.client.network.cluster_connection_states import ClusterConnectionStates
from kctl.client.network.dialer import Dialer
from kctl.client.network.nodes import NodeEntry
from kctl.client.network.races import CandidateRace


class NodeChoice:
    def __init__(
        self,
        members: Callable[[], list[NodeEntry]],
        states: ClusterConnectionStates,
        dialer: Dialer,
        clock: Clock,
        *,
        attempt_delay_ms: int,
    ) -> None:
        self._members = members
        self._states = states
        self._dialer = dialer
        self._clock = clock
        self._race = CandidateRace(attempt_delay_ms)

    def any_ready_node(self, avoid: Sequence[int] = ()) -> Node | None:
        """Return the least loaded ready node; if there is none, connect to the next candidate when it is due."""
        ready = self._least_loaded_ready(avoid)
        if ready is not None:
            return ready.node
        self._race.is_running = True
        now_ms = self._clock.now_ms()
        if self._race.is_due(now_ms, connecting=len(self._dialer.under_way)):
            candidate = self._next_candidate()
            if candidate is not None:
                self._race.started(now_ms)
                self._dialer.start(candidate)
        return None

    def all_unavailable(self) -> bool:
        now_ms = self._clock.now_ms()
        members = self._members()
        return bool(members) and all(self._states.is_backing_off(entry.node.node_id, now_ms) for entry in members)

    def next_deadline_at_ms(self, now_ms: int) -> int:
        """Return the time at which to connect to the next candidate for a waiting caller."""
        if not self._race.is_running:
            return FOREVER_MS
        idle = [node_id for entry in self._members() if self._states.is_idle(node_id := entry.node.node_id)]
        may_start = any(self._states.can_connect(node_id, now_ms) for node_id in idle)
        backed_off = [at for node_id in idle if (at := self._states.may_connect_at_ms(node_id)) > now_ms]
        return min([self._race.next_deadline_at_ms(may_start=may_start), *backed_off])

    def wait_ended(self) -> None:
        """End the wait for any node. Callers that still wait call again before the next poll."""
        self._race.is_running = False

    def _least_loaded_ready(self, avoid: Sequence[int] = ()) -> NodeEntry | None:
        now_ms = self._clock.now_ms()
        members = [entry for entry in self._members() if entry.node.node_id not in avoid]
        open_now = [entry for entry in members if entry.connection is not None and now_ms >= entry.throttled_until_ms]
        ready = [
            entry for entry in open_now if entry.connection is not None and entry.connection.takes_requests(now_ms)
        ]
        return min(ready, key=lambda e: len(e.connection.in_flight) if e.connection else 0, default=None)

    def _next_candidate(self) -> NodeEntry | None:
        members, now_ms = self._members(), self._clock.now_ms()
        for _ in members:
            entry = members[self._states.next_node_idx(len(members))]
            if entry.connection is None and self._states.can_connect(entry.node.node_id, now_ms):
                return entry
        return None
