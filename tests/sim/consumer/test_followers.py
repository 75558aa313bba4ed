"""Reading from the nearest replica (KIP-392), and from the leader when that replica is in trouble."""

from collections.abc import Iterator

import pytest

from kctl.client.cluster import TopicPartition
from kctl.sandbox import ClusterSettings, Fault
from tests.sim.kit import SimCluster, drain
from tests.sim.virtual import Hub

R0 = TopicPartition("r", 0)


class Racks:
    """Topic r on three nodes in the racks a, b and c; the consumer is in rack b, the leader is node 1."""

    def __init__(self, hub: Hub) -> None:
        settings = ClusterSettings(replica_lag_time_max_ms=500)  # limits the delay by a frozen follower
        self.scene = SimCluster(hub, racks=["a", "b", "c"], settings=settings)
        self.scene.sandbox.create_topic("r", 1, 3)
        self.scene.sandbox.move_leader("r", 0, 1)
        self._seen = 0

    def write(self, count: int, *, first: int) -> None:
        self.scene.write(0, count, first=first, topic="r")

    def read_from(self) -> set[int]:
        """Return the nodes that received a Fetch since the last call."""
        fetches = self.scene.sent("Fetch")
        new, self._seen = fetches[self._seen :], len(fetches)
        return {each.target.node_id for each in new}


@pytest.fixture
def racks() -> Iterator[Racks]:
    with Hub(seed=31) as hub:
        yield Racks(hub)


def test_the_replica_in_the_own_rack_is_read(racks: Racks) -> None:
    def body() -> None:
        racks.write(10, first=0)
        with racks.scene.consumer(client_rack="b") as consumer:
            consumer.assign([R0])
            drain(consumer, 10)
            consumer.poll(timeout=2)
            racks.read_from()
            racks.write(10, first=10)
            assert [record.offset for record in drain(consumer, 10)] == list(range(10, 20))
            consumer.poll(timeout=2)
            assert racks.read_from() == {2}

    racks.scene.run(body)


def test_without_a_rack_or_in_one_of_its_own_the_leader_is_read(racks: Racks) -> None:
    def body() -> None:
        racks.write(10, first=0)
        for rack in ("", "a", "elsewhere"):
            with racks.scene.consumer(client_rack=rack) as consumer:
                consumer.assign([R0])
                drain(consumer, 10)
                consumer.poll(timeout=2)
            assert racks.read_from() == {1}

    racks.scene.run(body)


def test_the_leader_is_asked_again_when_the_metadata_is_old(racks: Racks) -> None:
    def body() -> None:
        with racks.scene.consumer(client_rack="b", metadata_max_age_ms=20_000) as consumer:
            consumer.assign([R0])
            consumer.poll(timeout=2)
            racks.read_from()
            consumer.poll(timeout=15)
            assert racks.read_from() == {2}
            consumer.poll(timeout=15)
            assert racks.read_from() == {1, 2}

    racks.scene.run(body)


def test_offset_that_a_follower_lacks_comes_from_the_leader_without_a_reset(racks: Racks) -> None:
    def body() -> None:
        racks.write(10, first=0)
        with racks.scene.consumer(client_rack="b") as consumer:
            consumer.assign([R0])
            drain(consumer, 10)
            racks.scene.sandbox.hold_follower("r", 0, 2)
            racks.write(10, first=10)
            consumer.seek(R0, 15)
            assert [record.offset for record in drain(consumer, 5)] == list(range(15, 20))
            assert racks.scene.resets() == []

    racks.scene.run(body)


@pytest.mark.parametrize("fault", [Fault.FREEZE, Fault.RESET_ON_REQUEST])
def test_a_follower_in_trouble_is_left_for_the_leader(racks: Racks, fault: Fault) -> None:
    def body() -> None:
        racks.write(10, first=0)
        with racks.scene.consumer(client_rack="b", request_timeout_ms=3000) as consumer:
            consumer.assign([R0])
            drain(consumer, 10)
            consumer.poll(timeout=1)
            racks.scene.sandbox.start_fault(2, fault)
            racks.write(10, first=10)
            before_ms = racks.scene.hub.now_ms
            assert [record.offset for record in drain(consumer, 10)] == list(range(10, 20))
            assert racks.scene.hub.now_ms - before_ms <= 3100
            racks.scene.sandbox.heal()
            racks.read_from()
            for turn in range(2, 30):
                racks.write(10, first=10 * turn)
                assert len(drain(consumer, 10)) == 10
                consumer.poll(timeout=1)
            assert 2 in racks.read_from(), "and found again when it is well"

    racks.scene.run(body)
