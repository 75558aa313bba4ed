"""Transactions and producers as brokers report them, in virtual time: per item, filtered, with a broker missing."""

import pytest

from kctl.client.admin import Admin
from kctl.client.broker_errors import ErrorCode, error_class
from kctl.client.cluster import TopicPartition
from kctl.client.errors import ApiTimeout, KafkaError, UnsupportedVersionError
from kctl.client.producer import Producer
from kctl.sandbox import Fault
from kctl.sandbox.apis import HANDLERS, api_versions
from tests.sim.kit import SimCluster, run, run_with_admin

PARTITIONS = [TopicPartition("t", index) for index in range(3)]
DESCRIBE_AND_LIST = (65, 66)
IDS = ("alpha", "beta", "gamma", "delta")


def begin(cluster: SimCluster, transactional_id: str, *partitions: int) -> Producer:
    """Leave a transaction open that has written to these partitions."""
    producer = cluster.producer({"transactional.id": transactional_id})
    producer.init_transactions(timeout=10)
    producer.begin_transaction()
    for index in partitions:
        producer.send("t", b"x", partition=index)
    producer.flush(10)
    return producer


def coordinator(cluster: SimCluster, transactional_id: str) -> int:
    return cluster.sandbox.cluster.transactions.node_of(transactional_id).node_id


def test_transactions_of_all_brokers_are_listed_and_filtered() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        opened = [begin(cluster, name, 0) for name in IDS[:3]]
        opened[0].commit_transaction(timeout=10)
        assert len({coordinator(cluster, name) for name in IDS[:3]}) > 1
        found = admin.list_transactions()
        assert {name: each.state for name, each in found.transactions.items()} == {
            "alpha": "CompleteCommit",
            "beta": "Ongoing",
            "gamma": "Ongoing",
        }
        for name, each in found.transactions.items():
            assert each.coordinator.node_id == coordinator(cluster, name)
        assert found.failed == {}
        assert list(admin.list_transactions(states=["Ongoing"]).transactions) == ["beta", "gamma"]
        beta = found.transactions["beta"].producer_id
        assert list(admin.list_transactions(producer_ids=[beta]).transactions) == ["beta"]
        assert list(admin.list_transactions(pattern="[ab].*").transactions) == ["alpha", "beta"]
        assert not admin.list_transactions(longer_than_ms=60_000).transactions
        for one in opened:
            one.close(0)

    run_with_admin(use, topics={"t": 3})


def test_list_without_a_broker_has_the_others_and_names_it() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        opened = [begin(cluster, name, 0) for name in IDS]
        down = coordinator(cluster, "alpha")
        cluster.sandbox.start_fault(down, Fault.REFUSE)
        found = admin.list_transactions(timeout=10)
        assert [node.node_id for node in found.failed] == [down]
        assert list(found.transactions) == sorted(name for name in IDS if coordinator(cluster, name) != down)
        cluster.sandbox.heal()
        for each in opened:
            each.close(0)

    run_with_admin(use, topics={"t": 3})


def test_transactions_are_described_each_by_its_coordinator() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        producer = begin(cluster, "alpha", 0, 2)
        results = admin.describe_transactions(["alpha", "none"])
        found = results["alpha"]
        assert (found.state, found.partitions) == ("Ongoing", (PARTITIONS[0], PARTITIONS[2]))
        assert found.coordinator is not None
        assert found.coordinator.node_id == coordinator(cluster, "alpha")
        assert found.started_at_ms is not None
        assert 0 <= cluster.clock.wall_ms() - found.started_at_ms < 1000
        assert isinstance(results.failed["none"], error_class(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND))
        producer.commit_transaction(timeout=10)
        assert admin.describe_transactions(["alpha"])["alpha"].state == "CompleteCommit"
        cluster.sandbox.move_transaction_coordinator("alpha", 1 + coordinator(cluster, "alpha") % 3)
        assert admin.describe_transactions(["alpha"])["alpha"].state == "CompleteCommit"
        producer.close(0)

    run_with_admin(use, topics={"t": 3})


def test_producers_of_partitions_of_several_leaders_are_described() -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        with cluster.producer() as plain:
            plain.send("t", b"x", partition=0)
        producer = begin(cluster, "alpha", 0, 1)
        missing = TopicPartition("t", 9)
        results = admin.describe_producers([*PARTITIONS, missing])
        plain_state, open_state = sorted(results[PARTITIONS[0]])
        assert plain_state.transaction_start_offset is None
        assert (open_state.transaction_start_offset, open_state.last_sequence, open_state.coordinator_epoch) == (
            1,
            0,
            None,
        )
        assert open_state.last_timestamp_ms > 0
        assert [each.producer_id for each in results[PARTITIONS[1]]] == [open_state.producer_id]
        assert results[PARTITIONS[2]] == ()
        assert isinstance(results.failed[missing], error_class(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        producer.abort_transaction(timeout=10)
        producer.close(0)

    run_with_admin(use, topics={"t": 3})


@pytest.mark.parametrize("fault", [Fault.SILENCE, Fault.FREEZE, Fault.BLACKHOLE])
def test_every_call_ends_at_its_deadline(fault: Fault) -> None:
    def use(cluster: SimCluster, admin: Admin) -> None:
        for node_id in (1, 2, 3):
            cluster.sandbox.start_fault(node_id, fault)
        for call in (
            lambda: admin.list_transactions(timeout=3),
            lambda: admin.describe_transactions(["alpha"], timeout=3),
            lambda: admin.describe_producers(PARTITIONS, timeout=3),
            lambda: admin.open_transactions(PARTITIONS, timeout=3),
            lambda: admin.abort_transaction(PARTITIONS[0], 0, timeout=3),
            lambda: admin.find_records({PARTITIONS[0]: 0}, timeout=3),
        ):
            before_ms = cluster.clock.now_ms()
            with pytest.raises(ApiTimeout):
                call()
            assert cluster.clock.now_ms() - before_ms == 3000

    run_with_admin(use, topics={"t": 3})


def test_brokers_that_lack_an_api_are_named_with_the_release_that_has_it() -> None:
    api_versions.offer(api for key, api in HANDLERS.items() if key not in DESCRIBE_AND_LIST)

    def app(cluster: SimCluster) -> None:
        with Admin({"bootstrap.servers": cluster.bootstrap}, cluster.runtime) as admin:
            with pytest.raises(UnsupportedVersionError, match=r"ListTransactions version 0 \(Kafka 3.0\)"):
                admin.list_transactions()
            with pytest.raises(KafkaError, match=r"DescribeTransactions .*Kafka 3\.0"):
                admin.describe_transactions(["a"]).raise_first()

    try:
        run(app, topics={"t": 1})
    finally:
        api_versions.offer(HANDLERS.values())
