"""NodeTimers: the instants at which nodes are due, as a heap: a poll looks at the nearest one and at no other node.

A node is due when a request of its connection expires or is abandoned, when its SASL session has to be renewed, or when
its throttling ends. `note` is called wherever one of these instants may have become earlier. Instants that become later
(a response came, a connection ended) stay in the heap; `next_at_ms` corrects them when they are the nearest.
"""

from heapq import heapify, heappop, heappush

from kctl.client.clock import FOREVER_MS
from kctl.client.network.nodes import NodeEntry

LEAST_KEPT = 64
"""Number of instants from which those that became later are removed."""


class NodeTimers:
    """The due instants of the nodes of one client.

    Never later than the node itself says (`NodeEntry.due_at_ms`): a timer that is late would be a poll that hangs.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, NodeEntry]] = []
        self._most = LEAST_KEPT
        """Number of instants at which the heap is cleaned: a broker that throttles each response adds one each time."""
        self._last_number = 0
        """Nodes that are due at the same instant come in the order of these numbers."""

    def note(self, entry: NodeEntry, at_ms: int) -> None:
        """Note that the node is due at this instant, if it is not due before."""
        if at_ms < entry.timer_at_ms:
            entry.timer_at_ms = at_ms
            self._last_number += 1
            heappush(self._heap, (at_ms, self._last_number, entry))
            if len(self._heap) > self._most:
                self._heap[:] = [each for each in self._heap if each[0] == each[2].timer_at_ms]
                heapify(self._heap)
                self._most = max(LEAST_KEPT, 2 * len(self._heap))

    def next_at_ms(self, now_ms: int) -> int:
        """Return the instant at which the first node is due."""
        heap = self._heap
        while heap:
            at_ms, _, entry = heap[0]
            if at_ms == entry.timer_at_ms:
                due_at_ms = entry.due_at_ms(now_ms)
                if due_at_ms <= at_ms:
                    return due_at_ms
                heappop(heap)
                entry.timer_at_ms = FOREVER_MS
                self.note(entry, due_at_ms)
            else:
                heappop(heap)
        return FOREVER_MS

    def pop_due(self, now_ms: int) -> list[NodeEntry]:
        """Return the nodes that are due, each once; the caller notes when they are due next."""
        due: list[NodeEntry] = []
        while self.next_at_ms(now_ms) <= now_ms:
            _, _, entry = heappop(self._heap)
            entry.timer_at_ms = FOREVER_MS
            due.append(entry)
        return due
