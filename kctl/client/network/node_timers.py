"""NodeTimers: the instants at which nodes are due, as a heap: a poll checks only the nearest one.

Code that may make an instant earlier calls `note`. Later instants stay in the heap until `next_at_ms` corrects them.
"""

from heapq import heapify, heappop, heappush

from kctl.client.clock import FOREVER_MS
from kctl.client.network.nodes import NodeEntry

LEAST_KEPT = 64
"""Least size of the heap for the removal of outdated instants."""


class NodeTimers:
    """Due instants of the nodes of one client.

    A timer is never later than `NodeEntry.due_at_ms`: with a late timer, the poll would hang.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, NodeEntry]] = []
        self._most = LEAST_KEPT
        """Size at which the heap is cleaned: a broker that throttles each response adds one instant each time."""
        self._last_number = 0
        """Order of nodes that are due at the same instant."""

    def note(self, entry: NodeEntry, at_ms: int) -> None:
        """Make the node due at this instant, unless it is due before."""
        if at_ms < entry.timer_at_ms:
            entry.timer_at_ms = at_ms
            self._last_number += 1
            heappush(self._heap, (at_ms, self._last_number, entry))
            if len(self._heap) > self._most:
                self._heap[:] = [each for each in self._heap if each[0] == each[2].timer_at_ms]
                heapify(self._heap)
                self._most = max(LEAST_KEPT, 2 * len(self._heap))

    def next_at_ms(self, now_ms: int) -> int:
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
        """Return the due nodes; the caller then calls `note`."""
        due: list[NodeEntry] = []
        while self.next_at_ms(now_ms) <= now_ms:
            _, _, entry = heappop(self._heap)
            entry.timer_at_ms = FOREVER_MS
            due.append(entry)
        return due
