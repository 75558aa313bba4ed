"""Calls of one turn of a network loop, counted, without the selector: their number does not depend on the cluster."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from kctl.client import TopicPartition
from kctl.client.loop.client_loop import ClientLoop
from tests.sim.kit import SimCluster, run

FEW, MANY = 2, 12
"""Numbers of connected nodes."""


def calls_of(function: Callable[[], object]) -> int:
    """Return how many calls of Python and C functions a call makes, itself included."""
    calls = 0

    def on_event(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(on_event)
    try:
        function()
    finally:
        sys.setprofile(before)
    return calls - 1  # the end of the count


def _producer(cluster: SimCluster, nodes: int) -> ClientLoop[Any]:
    producer = cluster.enter(cluster.producer())
    for number in range(nodes):
        producer.send("t", b"x", partition=number).result(30)
    return producer._sender


def _consumer(cluster: SimCluster, nodes: int) -> ClientLoop[Any]:
    consumer = cluster.enter(cluster.consumer(fetch_max_wait_ms=30_000))
    consumer.assign([TopicPartition("t", number) for number in range(nodes)])
    consumer.seek_to_end()
    for _ in range(20):
        assert consumer.poll(0.1) == []
    loop: ClientLoop[Any] = consumer._side._counts.__self__  # type: ignore[attr-defined]  # a bound method
    return loop


def _calls(
    connect: Callable[[SimCluster, int], ClientLoop[Any]],
    nodes: int,
    monkeypatch: pytest.MonkeyPatch,
    *,
    is_nudged: bool,
) -> int:
    """Return the calls of a turn of a loop that is connected to all nodes and has nothing to do."""
    found: list[int] = []

    def app(cluster: SimCluster) -> None:
        loop = connect(cluster, nodes)
        network = loop._client.network
        assert sum(entry.connection is not None for entry in network._entries.values()) == nodes
        with monkeypatch.context() as patch:
            patch.setattr(network.selector, "poll", lambda _: [])
            for _ in range(3):
                if is_nudged:
                    loop._mailbox.nudge()
                calls = calls_of(loop.turn)
            found.append(calls)

    run(app, topics={"t": nodes}, nodes=nodes)
    return found[0]


@pytest.mark.slow
@pytest.mark.parametrize("connect", [_producer, _consumer])
def test_a_turn_after_a_wake_up_alone_costs_a_dozen_calls(
    connect: Callable[[SimCluster, int], ClientLoop[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = [_calls(connect, nodes, monkeypatch, is_nudged=False) for nodes in (FEW, MANY)]
    assert costs[0] == costs[1] <= 14


@pytest.mark.slow
@pytest.mark.parametrize(("connect", "most"), [(_producer, 92), (_consumer, 104)])
def test_a_turn_that_runs_everything_costs_as_much_with_many_nodes_as_with_few(
    connect: Callable[[SimCluster, int], ClientLoop[Any]], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    costs = [_calls(connect, nodes, monkeypatch, is_nudged=True) for nodes in (FEW, MANY)]
    assert costs[0] == costs[1] <= most
