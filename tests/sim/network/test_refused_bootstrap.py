"""bootstrap.refused.timeout.ms: when every bootstrap server refuses, every kind of client fails before its deadline."""

from collections.abc import Iterator

import pytest

from kctl.client.admin import Admin
from kctl.client.cluster import TopicPartition
from kctl.client.errors import AdvertisedAddressError, ApiTimeout, ConnectionRefused
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from tests.sim.kit import SimCluster
from tests.sim.virtual import Hub, sim_runtime

LIMIT_MS = 5000
LATE_MS = 1300
"""The failure is seen when a server is dialled again, after a back-off of up to 1.2 s."""


@pytest.fixture
def cluster() -> Iterator[SimCluster]:
    with Hub(seed=7) as hub:
        made = SimCluster(hub)
        for node in (1, 2, 3):
            made.sandbox.start_fault(node, Fault.REFUSE)
        yield made


def _config(cluster: SimCluster, limit_ms: int) -> dict[str, object]:
    return {"bootstrap.servers": cluster.bootstrap, "bootstrap.refused.timeout.ms": limit_ms}


def test_consumer_fails_after_the_timeout_and_again_in_the_next_call(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(bootstrap_refused_timeout_ms=LIMIT_MS) as consumer:
            for _ in range(2):
                before_ms = cluster.hub.now_ms
                with pytest.raises(ConnectionRefused, match="no bootstrap server accepted a connection for 5s"):
                    consumer.partitions_for("t")
                assert LIMIT_MS <= cluster.hub.now_ms - before_ms <= LIMIT_MS + LATE_MS
            cluster.sandbox.heal()
            assert len(consumer.partitions_for("t")) == 3, "a new call is a new chance"

    cluster.run(body)


def test_admin_fails_after_the_timeout(cluster: SimCluster) -> None:
    def body() -> None:
        with Admin(_config(cluster, LIMIT_MS), sim_runtime(cluster.hub, "a", cluster.network)) as admin:
            with pytest.raises(ConnectionRefused):
                admin.list_topics()
            assert LIMIT_MS <= cluster.hub.now_ms <= LIMIT_MS + LATE_MS

    cluster.run(body)


def test_producer_fails_after_the_timeout(cluster: SimCluster) -> None:
    def body() -> None:
        producer = Producer(_config(cluster, LIMIT_MS), sim_runtime(cluster.hub, "p", cluster.network))
        with pytest.raises(ConnectionRefused):
            producer.send("t", b"x")
        assert LIMIT_MS <= cluster.hub.now_ms <= LIMIT_MS + LATE_MS
        producer.close(0)

    cluster.run(body)


def test_without_it_the_whole_call_is_used(cluster: SimCluster) -> None:
    def body() -> None:
        with cluster.consumer(default_api_timeout_ms=20_000) as consumer:
            with pytest.raises(ApiTimeout):
                consumer.partitions_for("t")
            assert cluster.hub.now_ms == 20_000

    cluster.run(body)


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.BLACKHOLE])
def test_one_server_that_is_only_slow_is_waited_for(cluster: SimCluster, fault: Fault) -> None:
    def body() -> None:
        cluster.sandbox.heal(2)
        cluster.sandbox.start_fault(2, fault)
        with cluster.consumer(bootstrap_refused_timeout_ms=1000, default_api_timeout_ms=8000) as consumer:
            with pytest.raises(ApiTimeout):
                consumer.partitions_for("t")
            assert cluster.hub.now_ms == 8000

    cluster.run(body)


def test_servers_that_refuse_after_a_connection_are_waited_for(cluster: SimCluster) -> None:
    def body() -> None:
        cluster.sandbox.heal()
        with cluster.consumer(bootstrap_refused_timeout_ms=1000, default_api_timeout_ms=8000) as consumer:
            consumer.partitions_for("t")
            for node in (1, 2, 3):
                cluster.sandbox.start_fault(node, Fault.RESET_ON_REQUEST)
                cluster.sandbox.start_fault(node, Fault.REFUSE)
            with pytest.raises(ApiTimeout):
                consumer.beginning_offsets([("t", 0)])  # type: ignore[list-item]  # as a plain tuple

    cluster.run(body)


@pytest.mark.parametrize("limit_ms", [LIMIT_MS, -1])
def test_leader_whose_advertised_name_does_not_resolve_fails_its_partitions_after_the_timeout(limit_ms: int) -> None:
    with Hub(seed=7) as hub:
        cluster = SimCluster(hub)
        cluster.sandbox.advertise(2, "kafka-2.invalid", 9092)
        config = {**_config(cluster, limit_ms), "default.api.timeout.ms": 60_000}

        def body() -> None:
            with Admin(config, sim_runtime(hub, "a", cluster.network)) as admin:
                found = admin.list_offsets({TopicPartition("t", partition): -1 for partition in range(3)})
                assert sorted(tp.partition for tp in found.done) == [0, 2]
                [error] = found.failed.values()
                assert "kafka-2.invalid" in str(error)
                assert (hub.now_ms <= LIMIT_MS + LATE_MS) == (limit_ms > 0)
                assert isinstance(error, AdvertisedAddressError) == (limit_ms > 0)

        cluster.run(body)


def test_controller_whose_advertised_name_does_not_resolve_fails_a_change_after_the_timeout() -> None:
    with Hub(seed=7) as hub:
        cluster = SimCluster(hub, nodes=1)
        cluster.sandbox.advertise(1, "kafka-1.invalid", 9092)

        def body() -> None:
            with Admin(_config(cluster, LIMIT_MS), sim_runtime(hub, "a", cluster.network)) as admin:
                with pytest.raises(AdvertisedAddressError, match=r"kafka-1\.invalid"):
                    admin.delete_topics(["t"])
                assert hub.now_ms <= LIMIT_MS + LATE_MS

        cluster.run(body)
