"""KIP-848 members without their consumers, with the sandbox's coordinator, in virtual time.

Each member is the network side of a consumer. Its loop applies changes after a random delay, as an application does.
One table has the reader of each partition. Assigning a partition that another member still reads fails the test, unless
the coordinator had removed that member.
"""

import re
from collections.abc import Callable
from random import Random

import pytest

from kctl.client.broker_errors import ErrorCode
from kctl.client.cluster import TopicPartition
from kctl.client.cluster_client import ClusterClient
from kctl.client.config import ConsumerConfig
from kctl.client.consumer.group.consumer_membership import ConsumerMembership
from kctl.client.consumer.group.events import (
    AssignmentChanged,
    GroupFailed,
    GroupToApplication,
    MemberChanged,
    Subscribe,
)
from kctl.client.requests.coordinator import HELD, PROMPT, Coordinator
from kctl.client.requests.retry import FIND_COORDINATOR
from kctl.sandbox import Fault
from kctl.sandbox.groups.consumer import ConsumerGroup
from kctl.sandbox.settings import ClusterSettings
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub, sim_runtime

PARTITIONS = 12
SESSION_MS = 6000
INTERVAL_MS = 1000
SLOWEST_MS = 2500
"""Maximum time of an application to apply a change, in ms."""


class MembershipCluster(SimCluster):
    """A cluster, the network sides of its members, and who reads what."""

    def __init__(self, hub: Hub, seed: int) -> None:
        settings = ClusterSettings(
            group_consumer_session_timeout_ms=SESSION_MS, group_consumer_heartbeat_interval_ms=INTERVAL_MS
        )
        super().__init__(hub, topics={"t": PARTITIONS}, settings=settings)
        self.rng = Random(seed)
        self.readers: dict[TopicPartition, Member] = {}
        self.members: list[Member] = []

    def join(self, name: str, subscription: Subscribe, **properties: object) -> "Member":
        member = Member(self, name, subscription, {key.replace("_", "."): value for key, value in properties.items()})
        self.members.append(member)
        self.hub.spawn(name, member.run)
        return member

    def is_known(self, member: "Member") -> bool:
        """Return whether the coordinator still includes the member."""
        group = self.sandbox.cluster.groups.get("g")
        return isinstance(group, ConsumerGroup) and member.member_id in group.members

    def apply(self, member: "Member", owned: tuple[TopicPartition, ...]) -> None:
        for tp in [tp for tp, reader in self.readers.items() if reader is member and tp not in owned]:
            del self.readers[tp]
        for tp in owned:
            before = self.readers.get(tp, member)
            assert before is member or not self.is_known(before), f"{tp} is read by {before.name} and {member.name}"
            self.readers[tp] = member

    def wait(self, condition: Callable[[], bool], limit_ms: int) -> int:
        """Wait in virtual time until `condition`, and return how long that took."""
        began_ms = self.hub.now_ms
        while not condition():
            assert self.hub.now_ms - began_ms < limit_ms, {str(tp): each.name for tp, each in self.readers.items()}
            self.hub.sleep_ms(10)
        return self.hub.now_ms - began_ms

    def is_shared(self) -> bool:
        """Return whether every partition has a reader, and live members have an even share."""
        sizes = [sum(reader is member for reader in self.readers.values()) for member in self.live()]
        return len(self.readers) == PARTITIONS and max(sizes) - min(sizes) <= 1 and sum(sizes) == PARTITIONS

    def live(self) -> list["Member"]:
        return [member for member in self.members if not member.is_leaving and not member.is_crashed]


class Member:
    """The network side of one consumer and an application that polls all the time."""

    def __init__(
        self, cluster: MembershipCluster, name: str, subscription: Subscribe, properties: dict[str, object]
    ) -> None:
        self.name = name
        self.member_id = ""
        self.epochs: list[int] = []
        self.failures: list[GroupFailed] = []
        self.is_leaving = self.is_crashed = False
        self._cluster = cluster
        config = ConsumerConfig.parse(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": "g",
                "group.protocol": "consumer",
                "request.timeout.ms": 2000,
                **properties,
            }
        )
        runtime = sim_runtime(cluster.hub, name, cluster.network)
        self._client = ClusterClient(config, runtime)
        self._coordinator = Coordinator(
            config, self._client, runtime.rng, "g", FIND_COORDINATOR, connections=(PROMPT, HELD)
        )
        self.membership = ConsumerMembership(
            config, self._coordinator, self._client, runtime.rng, runtime.entropy, self._on_report
        )
        self._pending: list[tuple[int, AssignmentChanged]] = []
        self.membership.subscribe(subscription)
        self.membership.poll_began()

    def run(self) -> None:
        """Be a member until it leaves or crashes."""
        while not self.is_crashed and not (self.is_leaving and self.membership.has_left is not None):
            self._apply_due()
            now_ms = self._client.clock.now_ms()
            deadline_at_ms = min([now_ms + 50, *(at_ms for at_ms, _ in self._pending)])
            for manager in (self.membership, self._coordinator):
                wanted = manager.poll(now_ms)
                deadline_at_ms = min(deadline_at_ms, wanted.next_deadline_at_ms)
                for each in wanted.requests:
                    self._client.send(each)
            self._client.poll(deadline_at_ms)
        self._client.close()

    def leave(self, *, keeps_place: bool = False) -> None:
        self._cluster.apply(self, ())
        self._pending.clear()
        end = self.membership.remain if keeps_place else self.membership.leave
        end(self._cluster.hub.now_ms + 5000)
        self.is_leaving = True

    def crash(self) -> None:
        self.is_crashed = True

    def _on_report(self, event: GroupToApplication) -> None:
        if isinstance(event, AssignmentChanged) and not self.is_leaving:
            self._pending.append(
                (self._cluster.hub.now_ms + self._cluster.rng.choice([0, 0, 40, 300, SLOWEST_MS]), event)
            )
        elif isinstance(event, MemberChanged):
            self.member_id = event.metadata.member_id
            if event.metadata.generation < 0:
                self.epochs.clear()
            else:
                self.epochs.append(event.metadata.generation)
                assert self.epochs == sorted(self.epochs)
        elif isinstance(event, GroupFailed):
            self.failures.append(event)

    def _apply_due(self) -> None:
        while self._pending and self._pending[0][0] <= self._cluster.hub.now_ms:
            _, change = self._pending.pop(0)
            self._cluster.apply(self, change.owned)
            self.membership.applied(change.number)


def play(seed: int, body: Callable[[MembershipCluster], None]) -> None:
    """Run `body` in parallel to the members, then let all members leave."""
    with Hub(seed=seed) as hub:
        cluster = MembershipCluster(hub, seed)

        def script() -> None:
            body(cluster)
            for member in cluster.live():
                member.leave()

        cluster.run(script)


TOPICS = Subscribe(("t",))


def test_members_share_and_hand_over() -> None:
    def body(cluster: MembershipCluster) -> None:
        cluster.join("a", TOPICS)
        cluster.wait(cluster.is_shared, 10_000)
        cluster.join("b", TOPICS)
        cluster.join("c", TOPICS)
        cluster.wait(cluster.is_shared, 5 * INTERVAL_MS + 4 * SLOWEST_MS)
        cluster.members[0].leave()
        cluster.wait(cluster.is_shared, 2 * INTERVAL_MS + 2 * SLOWEST_MS)

    play(1, body)


def test_a_pattern_is_matched_by_the_broker() -> None:
    def body(cluster: MembershipCluster) -> None:
        cluster.join("a", Subscribe((), re.compile("[t]")))
        cluster.join("b", Subscribe((), re.compile("T", re.IGNORECASE)))
        cluster.wait(cluster.is_shared, 10_000)

    play(2, body)


def test_a_crashed_member_is_replaced_after_its_session() -> None:
    def body(cluster: MembershipCluster) -> None:
        cluster.join("a", TOPICS)
        cluster.join("b", TOPICS)
        cluster.wait(cluster.is_shared, 10_000)
        cluster.members[0].crash()
        took_ms = cluster.wait(cluster.is_shared, SESSION_MS + 3 * INTERVAL_MS + 2 * SLOWEST_MS)
        assert took_ms >= SESSION_MS - INTERVAL_MS - 100

    play(3, body)


def test_a_static_member_that_comes_back_gets_what_it_had() -> None:
    def body(cluster: MembershipCluster) -> None:
        first = cluster.join("a", TOPICS, group_instance_id="i1")
        other = cluster.join("b", TOPICS, group_instance_id="i2")
        cluster.wait(cluster.is_shared, 10_000)
        had = sorted(tp for tp, reader in cluster.readers.items() if reader is first)
        changes = len(other.epochs)
        first.leave(keeps_place=True)
        cluster.hub.sleep_ms(2 * INTERVAL_MS)
        again = cluster.join("a2", TOPICS, group_instance_id="i1")
        cluster.wait(cluster.is_shared, 3 * INTERVAL_MS + 2 * SLOWEST_MS)
        assert sorted(tp for tp, reader in cluster.readers.items() if reader is again) == had
        assert len(other.epochs) == changes

    play(4, body)


def test_a_broker_without_the_protocol_is_told() -> None:
    def body(cluster: MembershipCluster) -> None:
        cluster.sandbox.cluster.settings = cluster.sandbox.cluster.settings._replace(group_version=0)
        member = cluster.join("a", TOPICS)
        cluster.wait(lambda: bool(member.failures), 5000)

    play(5, body)


@pytest.mark.parametrize("seed", [*range(5), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(5, 20))])
def test_random_groups(seed: int) -> None:
    """Members come, go and crash while the coordinator moves, fails and freezes; then all is shared within limits."""

    def body(cluster: MembershipCluster) -> None:
        rng = cluster.rng
        for number in range(rng.randint(8, 25)):
            what = rng.choice(["join", "join", "leave", "crash", "move", "trouble", "freeze", "heal"])
            live = cluster.live()
            if what == "join" and len(live) < 6:
                cluster.join(f"m{number}", TOPICS)
            elif what == "leave" and live:
                rng.choice(live).leave()
            elif what == "crash" and live:
                rng.choice(live).crash()
            elif what == "move":
                cluster.sandbox.move_coordinator("g", rng.choice([1, 2, 3]))
            elif what == "trouble":
                codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, None]
                cluster.sandbox.trouble_coordinator("g", rng.choice(codes))
            elif what == "freeze":
                cluster.sandbox.start_fault(rng.choice([1, 2, 3]), Fault.FREEZE)
            elif what == "heal":
                cluster.sandbox.heal()
            cluster.hub.sleep_ms(rng.choice([0, 10, 200, 1500, 4000]))
        cluster.sandbox.heal()
        cluster.sandbox.trouble_coordinator("g", None)
        if not cluster.live():
            cluster.join("last", TOPICS)
        cluster.wait(cluster.is_shared, SESSION_MS + 10 * INTERVAL_MS + 6 * SLOWEST_MS)
        cluster.hub.sleep_ms(10_000)
        assert cluster.is_shared()

    play(seed, body)
