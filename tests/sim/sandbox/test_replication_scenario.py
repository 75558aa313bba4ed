"""The story of replicas in trouble on the sandbox, in virtual time; tests/broker has it on Kafka."""

from collections.abc import Callable, Sequence

from kctl.client.protocol.schema import Request
from kctl.sandbox import ClusterSettings, Fault
from tests.support.scenarios.replication import R, replicas_in_trouble
from tests.unit.sandbox.scenario import Client, Scenario

STEP_MS = 10
PATIENCE_STEPS = 6_000


class BenchLine:
    """Connection whose responses arrive as time passes."""

    def __init__(self, bench: Scenario, client: Client) -> None:
        self._bench = bench
        self._client = client
        self._sent: list[int] = []

    def send(self, request: Request, version: int) -> None:
        self._sent.append(self._client.send(request, version))

    def answer(self, response: type[R], version: int) -> R:
        for _ in range(PATIENCE_STEPS):
            if self._client.frames:
                break
            self._bench.scheduler.advance(STEP_MS)
        return self._client.take(response, version, self._sent.pop(0))


class BenchCluster:
    """The sandbox, with the elections that Kafka's controller would hold."""

    def __init__(self) -> None:
        self._bench = Scenario(nodes=3, settings=ClusterSettings(replication_delay_ms=STEP_MS))
        self._crashed: list[int] = []

    def number(self, node: int) -> int:
        return node

    def line(self, node: int) -> BenchLine:
        return BenchLine(self._bench, self._bench.connect(node))

    def wait_until(self, is_true: Callable[[], bool], what: str) -> None:
        for _ in range(PATIENCE_STEPS):
            if is_true():
                return
            self._bench.scheduler.advance(STEP_MS)
        raise AssertionError(what)

    def freeze(self, node: int) -> None:
        self._bench.sandbox.start_fault(node, Fault.FREEZE)

    def thaw(self, node: int) -> None:
        self._bench.sandbox.stop_fault(node, Fault.FREEZE)

    def crash(self, node: int) -> None:
        self.freeze(node)
        self._crashed.append(node)
        for topic in self._bench.cluster.topics.values():
            partition = topic.partitions[0]
            alive = [one for one in partition.in_sync if one not in self._crashed]
            if alive:
                self._lead(topic.name, partition.leader_id if partition.leader_id in alive else alive[0])

    def start(self, node: int) -> None:
        self._crashed.remove(node)
        self.thaw(node)
        for topic in self._bench.cluster.topics:
            self._bench.sandbox.release_follower(topic, 0, node)

    def move_leader(self, topic: str, replicas: Sequence[int]) -> None:
        self._bench.sandbox.move_leader(topic, 0, replicas[0])

    def elect_uncleanly(self, topic: str, node: int) -> None:
        self._lead(topic, node)

    def _lead(self, topic: str, node: int) -> None:
        self._bench.sandbox.move_leader(topic, 0, node)
        for crashed in self._crashed:
            self._bench.sandbox.hold_follower(topic, 0, crashed)


def test_replicas_in_trouble() -> None:
    replicas_in_trouble(BenchCluster(), "replicas")
