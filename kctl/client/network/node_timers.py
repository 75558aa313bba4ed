"""NodeTimers: the times at which nodes are due, as a heap, so that a poll checks only the nearest time.

Code that may make a time earlier calls `note`. If a time becomes later, the heap is corrected by `next_at_ms`.
"""

from heapq import heapify, heappop, heappush

from kctl.client.clock import FOREVER_MS
from kctl.client.network.nodes import NodeEntry

LEAST_KEPT = 64
"""Minimum size of the heap for the removal of outdated times."""


class NodeTimers:
    """Due times of the nodes of one client.

    A timer is never later than `NodeEntry.due_at_ms`; a late timer would let the poll hang.
    """

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, NodeEntry]] = []
        self._most = LEAST_KEPT
        """Size at which the heap is cleaned. A broker that throttles each response adds one time with each."""
        self._last_number = 0
        """Number that orders nodes with the same due time."""

    def note(self, entry: NodeEntry, at_ms: int) -> None:
        """Make the node due at `at_ms`, unless it is due earlier."""
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
        """Return the due nodes; the caller then calls `note` for each."""
        due: list[NodeEntry] = []
        while self.next_at_ms(now_ms) <= now_ms:
            _, _, entry = heappop(self._heap)
            entry.timer_at_ms = FOREVER_MS
            due.append(entry)
        return due
