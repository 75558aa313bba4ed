"""No finding about healthy clusters: groups of both protocols under load, brokers that restart one after the other."""

import os
from collections.abc import Callable
from random import Random

import pytest

from kctl.client.admin import Admin
from kctl.client.clock import Timer
from kctl.client.cluster import TopicPartition
from kctl.client.consumer.consumer import Consumer
from kctl.sandbox import ClusterSettings, Fault
from kctl.why import Finding, Gatherer, Looks, Scope, Selection, diagnose
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub, sim_runtime

EVERYTHING = Selection(groups=None, topics=None, has_brokers=True, is_compared=True)
TRUE_NOTES = {"preferred-leader-not-leading", "members-idle"}
"""Leaders stay where a restart has moved them, and some groups have more members than partitions: both are so."""
TRANSACTED = 0.1
"""The share of turns in which a transaction is written."""
APART_MS, SETTLED_MS, TIMEOUT_MS, BUDGET = 10_000, 20_000, 60_000, 2_000
QUICK = (2,)
MANY = sorted({*range(int(os.environ.get("KCTL_HEALTHY_CLUSTERS", "40")))} - {*QUICK})
"""`make sim-long` has 200; these take a minute."""
TESTED = (0, 3, 8, 9)
"""Seeds of `make test`: the smallest of the first ten."""


class Healthy:
    """A cluster drawn from a seed, its load, and its restarts."""

    def __init__(self, cluster: SimCluster, draw: Random) -> None:
        self.world = cluster
        self.draw = draw
        self.nodes = list(cluster.sandbox.cluster.nodes)
        self.topics: dict[str, int] = {}
        for number in range(draw.randint(1, 4)):
            name, count = f"t{number}", draw.randint(1, 6)
            replicas = draw.randint(1, len(self.nodes))
            least = str(draw.randint(1, max(1, replicas - 1)))
            cluster.sandbox.cluster.create_topic(name, count, replicas, {"min.insync.replicas": least})
            self.topics[name] = count
        self.producer = cluster.enter(cluster.producer())
        self.transactional = cluster.enter(cluster.producer({"transactional.id": "copier"}))
        self.transactional.init_transactions(timeout=30)
        self.members: list[Consumer] = []
        for number in range(draw.randint(1, 3)):
            topic = draw.choice(list(self.topics))
            join = draw.choice([cluster.classic_member, cluster.kip_848_member])
            for _ in range(draw.randint(1, 3)):
                self.members.append(cluster.enter(join(f"g{number}", topic)))
        topic = draw.choice(list(self.topics))
        self.careful = cluster.enter(cluster.classic_member("careful", topic, enable_auto_commit=False))
        """Commits the offset behind the last record that it has read, in front of any marker."""
        self.read: dict[TopicPartition, int] = {}

    def run(self, ms: int, *, is_calm: bool = True) -> None:
        """Produce and consume for a while; every group reads faster than records arrive.

        Args: is_calm: whether all brokers are available, so that blocking calls return immediately.
        """
        until_ms = self.world.clock.now_ms() + ms
        while self.world.clock.now_ms() < until_ms:
            for _ in range(self.draw.randint(0, 5)):
                topic = self.draw.choice(list(self.topics))
                self.producer.send(topic, b"x" * 20, partition=self.draw.randrange(self.topics[topic]))
            if is_calm and self.draw.random() < TRANSACTED:
                self.transact()
            for member in self.members:
                member.poll(timeout=0.1)
            for record in self.careful.poll(timeout=0.1):
                self.read[TopicPartition(record.topic, record.partition)] = record.offset + 1
            if is_calm and self.read:
                self.careful.commit_sync(self.read, timeout=30)
                self.read.clear()

    def transact(self) -> None:
        """Write a transaction of one record to a partition of each topic."""
        self.transactional.begin_transaction()
        for topic, count in self.topics.items():
            self.transactional.send(topic, b"x" * 20, partition=self.draw.randrange(count))
        self.transactional.commit_transaction(timeout=30)

    def restart_each_broker(self) -> None:
        """Move the leaders of each broker away, and let it be gone for two seconds."""
        for node_id in self.nodes:
            if len(self.nodes) == 1:
                return
            for topic in (self.world.sandbox.cluster.topics[name] for name in self.topics):
                for number, partition in topic.partitions.items():
                    others = [each for each in partition.replicas if each != node_id]
                    if partition.leader_id == node_id and others:
                        self.world.sandbox.move_leader(topic.name, number, self.draw.choice(others))
            for fault in (Fault.REFUSE, Fault.RESET_ON_REQUEST):
                self.world.sandbox.start_fault(node_id, fault)
            self.run(2_000, is_calm=False)
            self.world.sandbox.heal(node_id)
            self.run(1_000)


def play(seed: int, use: Callable[[Healthy, Callable[[], Looks]], None]) -> None:
    """Run a healthy cluster; `use` gets a function that looks twice."""
    with Hub(seed=seed) as hub:
        draw = Random(seed)
        settings = ClusterSettings(default_replication_factor=1)
        cluster = SimCluster(hub, topics={}, nodes=draw.randint(1, 5), settings=settings)

        def app() -> None:
            runtime = sim_runtime(hub, "admin", cluster.network)
            admin = cluster.enter(Admin({"bootstrap.servers": cluster.bootstrap}, runtime))
            healthy = Healthy(cluster, draw)

            def look_twice() -> Looks:
                gatherer = Gatherer(admin, runtime, Timer(runtime.clock, TIMEOUT_MS), EVERYTHING)
                with admin.request_budget(BUDGET):
                    first = gatherer.look()
                    healthy.run(APART_MS)
                    return Looks(gatherer.look(first), first)

            use(healthy, look_twice)

        cluster.run(app)


def false_findings(looks: Looks) -> list[Finding]:
    """Return the findings about a healthy cluster; all findings must be checked."""
    diagnosis = diagnose(looks, tuple(Scope))
    assert diagnosis.unchecked == ()
    return [finding for finding in diagnosis.findings if finding.id not in TRUE_NOTES]


def check(seed: int) -> None:
    def use(healthy: Healthy, look_twice: Callable[[], Looks]) -> None:
        healthy.run(SETTLED_MS)
        assert false_findings(look_twice()) == []
        healthy.restart_each_broker()
        healthy.run(SETTLED_MS)
        assert false_findings(look_twice()) == []

    play(seed, use)


@pytest.mark.parametrize("seed", QUICK)
def test_healthy_cluster_has_no_finding(seed: int) -> None:
    check(seed)


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [seed if seed in TESTED else pytest.param(seed, marks=pytest.mark.nightly) for seed in MANY]
)
def test_many_healthy_clusters_have_no_finding(seed: int) -> None:
    check(seed)


def test_a_member_that_stops_reading_in_such_a_cluster_is_found() -> None:
    """The check can fail: the same clusters with one member that no longer reads."""
    found: list[str] = []

    def use(healthy: Healthy, look_twice: Callable[[], Looks]) -> None:
        healthy.run(SETTLED_MS)
        stopped = next(member for member in healthy.members if member.assignment)
        assigned = list(stopped.assignment)
        stopped.pause(assigned)
        for tp in assigned:
            healthy.producer.send(tp.topic, b"x", partition=tp.partition)
        healthy.run(1_000)
        found.extend(each.id for each in false_findings(look_twice()))

    play(3, use)
    assert "group-stuck" in found
