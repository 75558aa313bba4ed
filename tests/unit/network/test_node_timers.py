"""NodeTimers: the nearest instant of all nodes, without a look at the others."""

from kctl.client.clock import FOREVER_MS
from kctl.client.cluster import Node
from kctl.client.network.node_timers import LEAST_KEPT, NodeTimers
from kctl.client.network.nodes import NodeEntry


class _Entry(NodeEntry):
    """A node that is due when the test says, and counts how often it is asked."""

    def __init__(self, node_id: int, at_ms: int) -> None:
        super().__init__(Node(node_id, "h", 1))
        self.at_ms = at_ms
        self.looks = 0

    def due_at_ms(self, now_ms: int) -> int:
        self.looks += 1
        return self.at_ms


def _timers(*entries: _Entry) -> NodeTimers:
    timers = NodeTimers()
    for entry in entries:
        timers.note(entry, entry.at_ms)
    return timers


def test_the_nearest_node_is_due_first() -> None:
    late, soon, never = _Entry(1, 300), _Entry(2, 100), _Entry(3, FOREVER_MS)
    timers = _timers(late, soon, never)
    assert timers.next_at_ms(0) == 100
    assert timers.pop_due(99) == []
    assert timers.pop_due(100) == [soon]
    assert timers.next_at_ms(100) == 300


def test_an_instant_that_became_later_is_corrected_when_it_is_the_nearest() -> None:
    first, second = _Entry(1, 100), _Entry(2, 200)
    timers = _timers(first, second)
    first.at_ms = 500
    assert timers.next_at_ms(0) == 200
    assert timers.pop_due(499) == [second]
    assert timers.next_at_ms(499) == 500
    first.at_ms = FOREVER_MS
    assert timers.next_at_ms(499) == FOREVER_MS
    assert timers.pop_due(500) == []


def test_an_instant_that_became_earlier_counts_once_it_is_noted() -> None:
    entry = _Entry(1, 500)
    timers = _timers(entry)
    entry.at_ms = 50
    timers.note(entry, 50)
    assert timers.next_at_ms(0) == 50
    assert timers.pop_due(500) == [entry]
    timers.note(entry, 600)
    assert timers.next_at_ms(500) == 50


def test_a_node_with_an_unknown_instant_is_asked_for_it() -> None:
    entry = _Entry(1, 700)
    timers = NodeTimers()
    timers.note(entry, 0)
    assert timers.pop_due(10) == []
    assert timers.next_at_ms(10) == 700


def test_all_nodes_that_are_due_come_once_each() -> None:
    entries = [_Entry(number, 100) for number in range(5)]
    timers = _timers(*entries)
    timers.note(entries[3], 20)
    assert timers.pop_due(100) == entries
    for entry in entries:
        entry.at_ms = FOREVER_MS
    assert timers.pop_due(10**6) == []


def test_one_look_takes_one_node_however_many_there_are() -> None:
    entries = [_Entry(number, 100 + number) for number in range(1000)]
    timers = _timers(*entries)
    for _ in range(10):
        assert timers.next_at_ms(0) == 100
    assert [entry.looks for entry in entries] == [10, *[0] * 999]


def test_instants_that_became_later_are_not_kept() -> None:
    entries = [_Entry(number, 30_000) for number in range(10)]
    timers = _timers(*entries)
    for now_ms in range(5000):  # each response throttles, and the next request has its deadline
        for entry in entries:
            entry.at_ms = now_ms + 1
            timers.note(entry, now_ms + 1)
        assert timers.pop_due(now_ms + 1) == entries
        for entry in entries:
            entry.at_ms = now_ms + 30_000
            timers.note(entry, entry.at_ms)
    assert len(timers._heap) <= LEAST_KEPT
    assert timers.next_at_ms(5000) == 34_999
    assert timers.pop_due(34_999) == entries
