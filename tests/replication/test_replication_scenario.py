"""The story of replicas in trouble on three Kafka nodes; tests/sim/sandbox has it on the sandbox."""

import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import pytest

from kctl.client.protocol.schema import Request
from tests.loopback.sandbox.peer import Peer
from tests.support.bounds import bound
from tests.support.kafka import wire
from tests.support.kafka.cluster import KafkaCluster, KafkaNode
from tests.support.kafka.waiting import wait_until
from tests.support.ports import HOST
from tests.support.scenarios.replication import STILL, A, B, R, replicas_in_trouble

PATIENCE_MS = bound(60_000)
_SILENT_S = 30.0


class SocketLine:
    """A connection; an acks=all that waits may take its whole limit."""

    def __init__(self, peer: Peer) -> None:
        self._peer = peer
        peer.socket.settimeout(_SILENT_S)

    def send(self, request: Request, version: int) -> None:
        self._peer.send(request, version)

    def answer(self, response: type[R], version: int) -> R:
        return self._peer.receive(response, version)


class StoryCluster:
    """Three Kafka nodes; B, which lives all the time, is the active controller."""

    def __init__(self, kafka: KafkaCluster, ends: ExitStack) -> None:
        self._kafka = kafka
        self._ends = ends
        controller = wire.active_controller(kafka.node(1).ports["PLAINTEXT"])
        first, last = (node.number for node in kafka.nodes if node.number != controller)
        self._numbers = {A: first, B: controller, STILL: last}

    def number(self, node: int) -> int:
        return self._numbers[node]

    def _node(self, node: int) -> KafkaNode:
        return self._kafka.node(self._numbers[node])

    def line(self, node: int) -> SocketLine:
        return SocketLine(self._ends.enter_context(Peer((HOST, self._node(node).ports["PLAINTEXT"]))))

    def wait_until(self, is_true: Callable[[], bool], what: str) -> None:
        wait_until(is_true, PATIENCE_MS, what)

    def freeze(self, node: int) -> None:
        self._node(node).freeze()

    def thaw(self, node: int) -> None:
        self._node(node).thaw()

    def crash(self, node: int) -> None:
        self._node(node).kill()

    def start(self, node: int) -> None:
        self._node(node).start()

    def move_leader(self, topic: str, replicas: Sequence[int]) -> None:
        wire.order_replicas(self._port, topic, 0, list(map(self.number, replicas)))
        self._elect(topic, replicas[0])

    def elect_uncleanly(self, topic: str, node: int) -> None:
        self._elect(topic, node, is_unclean=True)

    @property
    def _port(self) -> int:
        return self._node(B).ports["PLAINTEXT"]

    def _elect(self, topic: str, node: int, *, is_unclean: bool = False) -> None:
        def is_elected() -> bool:
            try:
                wire.elect_leader(self._port, topic, 0, is_unclean=is_unclean)
            except wire.WireError:  # not noticed yet that the old one is gone, or that this one is back
                return False
            return wire.fetch_view(self._port, topic).leaders[topic][0] == self.number(node)

        self.wait_until(is_elected, f"node {node} to lead {topic}")


@pytest.fixture
def story(kafka_three: KafkaCluster) -> Iterator[StoryCluster]:
    with ExitStack() as ends:
        yield StoryCluster(kafka_three, ends)
    for node in kafka_three.nodes:
        if not node.process.is_running:
            node.launch()
        else:
            node.thaw()
    kafka_three.wait_ready()


_numbers = itertools.count()


def test_replicas_in_trouble(story: StoryCluster) -> None:
    replicas_in_trouble(story, f"replicas-{os.getpid()}-{next(_numbers)}")
