"""ChaosCluster: nodes that faults act on, with a plan, a phase, and a history of what happened.

Faults and the frame of runs act on it; the clusters of consumers and of producers know what their clients did.
"""

from abc import ABC, abstractmethod
from enum import Enum

from kctl.client.cluster import TopicPartition
from kctl.sandbox import Sandbox
from tests.sim.chaos.coverage import Coverage
from tests.sim.chaos.history import CLUSTER, History
from tests.sim.chaos.plan import Plan
from tests.sim.chaos.replies import Replies
from tests.sim.chaos_producer.plan import ProducerPlan
from tests.sim.kit.nodes import SimNodes
from tests.sim.virtual import Hub, SimResolver
from tests.sim.virtual.event_loop import sleep_ms


class Phase(Enum):
    """Phase of a run."""

    CHAOS = "chaos"
    HEAL = "heal"
    STABLE = "stable"
    OVER = "over"


class ChaosCluster(SimNodes, ABC):
    """The nodes of one run; their names are known to `resolver`."""

    def __init__(self, hub: Hub, plan: Plan | ProducerPlan, sandbox: Sandbox, coverage: Coverage) -> None:
        self.plan = plan
        self.phase = Phase.CHAOS
        self.history = History(hub)
        self.resolver = SimResolver(hub)
        super().__init__(hub, sandbox, self.resolver)
        self.replies = Replies()
        self.coverage = coverage
        self.network.on_dial = lambda client, ip: self.history.event(CLUSTER, "dial", [client, ip])

    def sleep_ms(self, ms: int) -> None:
        """Let time pass for the application that calls, on its event loop if it has one."""
        sleep_ms(self.hub, ms)

    def partitions(self, topic: str | None = None) -> list[TopicPartition]:
        """Return the partitions there are now."""
        topics = self.sandbox.cluster.topics
        return [
            TopicPartition(name, index) for name in topics if topic in (None, name) for index in topics[name].partitions
        ]

    @abstractmethod
    def start(self, tp: TopicPartition) -> int:
        """Return where a partition starts."""

    @abstractmethod
    def end(self, tp: TopicPartition) -> int:
        """Return where a partition ends."""

    @abstractmethod
    def trim(self, tp: TopicPartition, before_offset: int) -> None:
        """Let retention pass."""

    @abstractmethod
    def cut(self, tp: TopicPartition, node_id: int, count: int) -> None:
        """Let a node lead that lacks the last `count` records."""

    @abstractmethod
    def elect_where_nobody_leads(self) -> None:
        """End all late elections."""

    @abstractmethod
    def delete_topic(self, topic: str) -> None:
        """Delete a topic."""

    @abstractmethod
    def create_topic(self, topic: str) -> None:
        """Create a topic again where it was deleted."""

    @abstractmethod
    def add_partitions(self, topic: str, count: int, most: int) -> None:
        """Let a topic have more partitions, up to `most` in all."""
